"""Put the figures of ``benchmarks/results/peers.json`` into README.md, between the marks of the speed table.

python benchmarks/readme_table.py            # rewrite
python benchmarks/readme_table.py --check    # exit with 1 if README.md does not show the figures
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from broadphase.bench import Comparison, Outcome, duration, factor, from_json, peer

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- speed table: written by benchmarks/readme_table.py -->", "<!-- end of the speed table -->"
COLUMNS = {
    ("rects", 1_000): "1,000 rectangles",
    ("rects", 100_000): "100,000 rectangles",
    ("uniform", 100_000): "100,000 equal cubes",
    ("lognormal", 100_000): "100,000 boxes, sizes over 3 decades",
}
PEERS = ("geoindex", "scipy", "shapely", "ipctk_lbvh", "fastquadtree", "fcl", "rtree", "numpy_sweep")


def cell(outcome: Outcome | None, ours: Outcome) -> str:
    """Write a time, and how many times ours it is."""
    if outcome is not None and outcome.verdict.startswith("would take"):
        return outcome.verdict.replace("would take", "about")
    if outcome is None or outcome.milliseconds is None or ours.milliseconds is None:
        return "–"
    time = duration(outcome.milliseconds)
    return f"**{time}**" if outcome is ours else f"{time} ({factor(outcome.milliseconds / ours.milliseconds)}×)"


def table(comparison: Comparison) -> str:
    """Write the table and what it was taken on."""
    found = {(o.scene, o.box_count, o.contestant): o for o in comparison.outcomes}
    lines = ["| | " + " | ".join(COLUMNS.values()) + " |", "|---|" + "---:|" * len(COLUMNS)]
    for name in ("auto", *PEERS):
        title = next((o.title for o in comparison.outcomes if o.contestant == name), None)
        if title is not None:
            cells = [cell(found.get((*column, name)), found[*column, "auto"]) for column in COLUMNS]
            lines.append(f"| {'**broadphase**' if name == 'auto' else title} | " + " | ".join(cells) + " |")
    machine, named = comparison.machine, {peer(name).distribution for name in PEERS} - {"numpy"}
    versions = [f"{name} {version}" for name, version in comparison.versions.items() if name in named]
    lines += [
        "",
        f"One thread of an {machine['processor']}, Python {machine['python']}, NumPy {machine['numpy']}, "
        + ", ".join(versions)
        + ". Medians, from float32 arrays to the array of all pairs, each answer checked pair by pair. "
        + "Where there is no time, the library cannot do it (2D only, or equal cubes only).",
    ]
    return "\n".join(lines)


def main() -> int:
    """Rewrite the table, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if the table differs")
    chosen = parser.parse_args()
    comparison = from_json(json.loads((ROOT / "benchmarks/results/peers.json").read_text()))
    readme = ROOT / "README.md"
    text = readme.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    new = f"{before}{BEGIN}\n{table(comparison)}\n{END}{after}"
    if chosen.check and new != text:
        print("README.md does not show the figures of benchmarks/results/peers.json", file=sys.stderr)
        return 1
    if not chosen.check:
        readme.write_text(new)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
