"""Step the same scenes in broadphase and in every library that is installed, and write the figures of the README.

Use:

    python benchmarks/worlds.py             # a minute and a half; into benchmarks/results: worlds.json
    python benchmarks/readme_table.py       # then puts them into README.md
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from broadphase.bench import compare_worlds, progress_bar, show_worlds, worlds_as_json

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Compare, print, and write; the exit code is 1 when an answer was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for all timed steps, roughly (60)")
    parser.add_argument("--share", type=float, default=1.0, help="of the things in each scene (1)")
    parser.add_argument("--scenes", nargs="*", help="by default all")
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks/results/worlds.json", metavar="FILE")
    chosen = parser.parse_args()
    with progress_bar() as progress:
        comparison = compare_worlds(chosen.scenes, share=chosen.share, budget=chosen.budget, progress=progress)
    show_worlds(comparison)
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(json.dumps(worlds_as_json(comparison), indent=1) + "\n")
    return 1 if comparison.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
