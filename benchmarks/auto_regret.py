"""Show that ``method="auto"`` is within 1.3 times of the best method on every standard scene.

python -m benchmarks.auto_regret            # about a minute
python -m benchmarks.auto_regret --quick --json regret.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import broadphase as bp
from benchmarks.measuring import describe_machine, median_times, timed
from benchmarks.tables import duration, factor, grouped, show_table
from broadphase.testing import SCENES, make_scene

SIZES = (30, 100, 300, 1_000, 10_000, 100_000)
MOST_QUADRATIC = 3_000  # boxes in a scene whose pairs grow as the square
WORST = 1.3
TOO_SLOW = 0.1  # seconds for auto on a tenth of the boxes; such a scene is reported as not measured
HOPELESS = 5.0  # a method this many times slower than the best so far, on a tenth of the boxes, is not tried on all


@dataclass(frozen=True, slots=True)
class Row:
    """What each method took on one scene at least, in milliseconds; `regret` is auto's time over the best.

    The least of many interleaved runs: whatever else a machine does only adds to a time.
    """

    scene: str
    box_count: int
    chosen: str
    milliseconds: dict[str, float]

    @property
    def best(self) -> str:
        """Name of the quickest method."""
        return min((name for name in self.milliseconds if name != "auto"), key=self.milliseconds.__getitem__)

    @property
    def regret(self) -> float:
        """How many times longer auto took than the best method."""
        return self.milliseconds["auto"] / self.milliseconds[self.best]


def measure(scene: str, n: int, budget: float) -> Row | None:
    """Time auto and every method that has a chance on a scene; None where auto would take many seconds."""
    few, boxes = make_scene(scene, max(30, n // 10)), make_scene(scene, n)
    methods: list[Any] = [method.name for method in bp.METHODS]
    if n > MOST_QUADRATIC and timed(partial(bp.pairs, few))[0] > TOO_SLOW:
        return None
    firsts = {name: min(timed(partial(bp.pairs, few, method=name))[0] for _ in range(2)) for name in methods}
    hopeful = [name for name in methods if n < 3_000 or firsts[name] <= HOPELESS * min(firsts.values())]
    calls: dict[str, Callable[[], Any]] = {name: partial(bp.pairs, boxes, method=name) for name in ("auto", *hopeful)}
    times = median_times(calls, budget=budget, least=5, most=1000)
    milliseconds = {name: timing.quickest for name, timing in times.items()}
    return Row(scene, n, bp.explain(boxes).method, milliseconds)


def main() -> int:
    """Measure, print the worst first, and write JSON if requested; the exit code is 1 when a regret is too large."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a fifth of the runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON")
    chosen = parser.parse_args()
    budget = 0.08 if chosen.quick else 0.4
    measured = [
        measure(name, n, budget)
        for name, scene in SCENES.items()
        for n in SIZES
        if n <= MOST_QUADRATIC or not scene.quadratic
    ]
    rows = [row for row in measured if row is not None]
    if skipped := len(measured) - len(rows):
        print(f"{skipped} cases are left out: auto takes too long even on a tenth of the boxes")
    rows.sort(key=lambda row: -row.regret)
    shown = [row for row in rows if row.regret > WORST] or rows[:10]
    cells = [
        [
            row.scene,
            grouped(row.box_count),
            row.chosen,
            duration(row.milliseconds["auto"]),
            row.best,
            duration(row.milliseconds[row.best]),
            factor(row.regret),
        ]
        for row in shown
    ]
    columns = ["scene", "boxes", "auto takes", "auto", "best", "best", "regret"]
    show_table(columns, cells, f"Where auto is furthest from the best of {len(rows)} cases")
    missed = sum(row.regret > WORST for row in rows)
    print(f"auto is within {WORST} times of the best method in {len(rows) - missed} of {len(rows)} cases")
    if chosen.json:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        lines = [{**asdict(row), "best": row.best, "regret": row.regret} for row in rows]
        chosen.json.write_text(json.dumps({"machine": describe_machine(), "rows": lines}, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
