"""Ask the indexes and every library that is installed the same questions, and write the figures that the README shows.

Use:

    python benchmarks/queries.py            # two minutes; into benchmarks/results: queries.json and queries.svg
    python benchmarks/readme_table.py       # then puts them into README.md
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from broadphase.bench import compare_queries, plot_queries, progress_bar, queries_as_json, show_queries

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Compare, print, and write; the exit code is 1 when an answer was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=120.0, help="seconds for everything, roughly (120)")
    parser.add_argument("--boxes", type=int, default=100_000, help="boxes (100000)")
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks/results/queries.json", metavar="FILE")
    parser.add_argument("--plot", type=Path, default=ROOT / "benchmarks/results/queries.svg", metavar="FILE")
    chosen = parser.parse_args()
    with progress_bar() as progress:
        comparison = compare_queries(box_count=chosen.boxes, budget=chosen.budget, progress=progress)
    show_queries(comparison)
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(json.dumps(queries_as_json(comparison), indent=1) + "\n")
    plot_queries(comparison, chosen.plot)
    return 1 if comparison.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
