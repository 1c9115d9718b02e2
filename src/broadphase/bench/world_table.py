"""The figures of a comparison of worlds for the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from broadphase.bench.table import duration, factor, show_table
from broadphase.bench.world_scenes import world_scene

if TYPE_CHECKING:
    from broadphase.bench.world_contest import WorldComparison, WorldOutcome

__all__ = ["own_step", "scene_title", "show_worlds"]


def own_step(outcomes: list[WorldOutcome]) -> WorldOutcome | None:
    """Give the outcome of `broadphase.World`."""
    return next((o for o in outcomes if o.contestant == "broadphase" and o.milliseconds is not None), None)


def scene_title(outcome: WorldOutcome) -> str:
    """Say what a scene is, with its number of things."""
    usual = world_scene(outcome.scene)
    return usual.title.replace(f"{usual.count:,}", f"{outcome.count:,}")


def show_worlds(comparison: WorldComparison) -> None:
    """Print one table for each scene, and the machine."""
    sort = comparison.argsort_milliseconds
    for name in dict.fromkeys(outcome.scene for outcome in comparison.outcomes):
        outcomes = comparison.of(name)
        ours, rows = own_step(outcomes), []
        for outcome in outcomes:
            took = outcome.milliseconds
            times = factor(took / ours.milliseconds) if took and ours and ours.milliseconds else ""
            in_sorts = f"{took / sort:.2f}" if took and sort else ""
            notes = "; ".join(note for note in (outcome.verdict, outcome.remark) if note)
            row = [
                outcome.title,
                duration(took),
                duration(outcome.quickest),
                in_sorts,
                str(outcome.steps),
                times,
                notes,
            ]
            rows.append(row)
        columns = ["", "median step", "least", "sorts", "steps", "times ours", "what touches"]
        show_table(columns, rows, scene_title(outcomes[0]), strong=0)
    machine = comparison.machine
    print(
        f"{machine['processor']}, {machine['instruction sets']}; Python {machine['python']}, NumPy {machine['numpy']}, "
        f"broadphase {machine['broadphase']}. One thread; a sort: np.argsort of 100,000 float32, {sort:.2f} ms."
    )
    if comparison.not_installed:
        print(f"Not installed: {', '.join(comparison.not_installed)}. To compare: pip install 'broadphase[bench]'")
    for outcome in comparison.wrong:
        print(f"{outcome.title}, {outcome.scene}: {outcome.verdict}", file=sys.stderr)
