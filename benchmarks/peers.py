"""Compare with every library that is installed, and write the figures that the README shows.

Use:

    python benchmarks/peers.py              # a minute and a half; into benchmarks/results: peers.json and speed.svg
    python benchmarks/readme_table.py       # then puts the table into README.md
    python docs/images/draw_overview.py     # and the plot into its picture
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from broadphase.bench import as_json, compare, contestants, plot_comparison, progress_bar, show_comparison

ROOT = Path(__file__).resolve().parents[1]
SCENES = ("rects", "uniform", "lognormal")
SIZES = (1_000, 10_000, 100_000)


def main() -> int:
    """Compare, print, and write; the exit code is 1 when an answer was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=75.0, help="seconds for everything, roughly (75)")
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks/results/peers.json", metavar="FILE")
    parser.add_argument("--plot", type=Path, default=ROOT / "benchmarks/results/speed.svg", metavar="FILE")
    chosen = parser.parse_args()
    with progress_bar() as progress:
        comparison = compare(SCENES, SIZES, contestants(), budget=chosen.budget, slowest=20.0, progress=progress)
    show_comparison(comparison)
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(json.dumps(as_json(comparison), indent=1) + "\n")
    plot_comparison(comparison, chosen.plot)
    return 1 if comparison.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
