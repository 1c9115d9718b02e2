"""The command ``python -m benchmarks.adapters``."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from importlib.metadata import packages_distributions, version
from pathlib import Path

from benchmarks.adapters import LIBRARIES, measure
from benchmarks.measuring import describe_machine, footnote
from benchmarks.rows import Row
from benchmarks.tables import duration, show_table

COLUMNS = ("adapter", "scene", "library", "ours", "ratio", "must", "")


def main() -> int:
    """Measure, and print one table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.adapters", description="Our drop-ins beside the originals."
    )
    parser.add_argument(
        "libraries", nargs="*", metavar="LIBRARY", help=f"of {', '.join(LIBRARIES)}; default: all that are installed"
    )
    parser.add_argument("--quick", action="store_true", help="a fifth of the time")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to a file")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.libraries if name not in LIBRARIES]:
        parser.error(f"no drop-in for {unknown[0]!r}; there are {', '.join(LIBRARIES)}")
    names, measured, absent = chosen.libraries or LIBRARIES, dict[str, list[Row]](), []
    for number, name in enumerate(names):
        print(f"{name} ({number + 1} of {len(names)}) ...", file=sys.stderr)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            try:
                measured[name] = process.submit(measure, name, 0.2 if chosen.quick else 1.0).result()
            except ImportError as error:
                absent.append(f"{name}: {error}")
    machine = describe_machine()
    show_table(COLUMNS, [cells(name, row) for name, rows in measured.items() for row in rows], "Drop-ins", left=2)
    versions = {name: version(packages_distributions()[name][0]) for name in measured}
    bound = [row for rows in measured.values() for row in rows if row.met is not None]
    print(f"{sum(bool(row.met) for row in bound)} of {len(bound)} met")
    print(f"{footnote(machine)}; {', '.join(f'{name} {number}' for name, number in versions.items())}")
    for line in absent:
        print(f"left out: {line}")
    if chosen.json:
        figures = {name: [asdict(row) for row in rows] for name, rows in measured.items()}
        chosen.json.write_text(json.dumps({"machine": machine, "versions": versions, "rows": figures}, indent=1) + "\n")
    return 1 if absent and chosen.libraries else 0


def cells(name: str, row: Row) -> list[str]:
    """Return the cells of a row."""
    must = "" if row.target is None else f"≥ {row.target:g} ×"
    met = {None: "", True: "met", False: "MISSED"}[row.met]
    return [
        name,
        row.what,
        duration(row.yardstick),
        duration(row.milliseconds),
        f"{row.measured:#.3g}".rstrip(".") + " ×",
        must,
        met,
    ]


if __name__ == "__main__":
    sys.exit(main())
