"""Put the figures of ``benchmarks/results`` into README.md, between the marks of the tables.

python -m benchmarks.readme_table            # rewrite
python -m benchmarks.readme_table --check    # exit with 1 if README.md does not show the figures
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.pairs import Comparison, Outcome, from_json
from benchmarks.peers import peer
from benchmarks.queries import QueryComparison, best_other, first_own, queries_from_json, ratio
from benchmarks.tables import duration, factor, grouped
from benchmarks.worlds import WorldComparison, own_step, scene_title, worlds_from_json

ROOT = Path(__file__).resolve().parents[1]
QUERIES = ROOT / "benchmarks/results/queries.json"
WORLDS = ROOT / "benchmarks/results/worlds.json"
BEGIN, END = "<!-- speed table: written by benchmarks/readme_table.py -->", "<!-- end of the speed table -->"
QUERIES_BEGIN = "<!-- query table: written by benchmarks/readme_table.py -->"
QUERIES_END = "<!-- end of the query table -->"
WORLDS_BEGIN = "<!-- world table: written by benchmarks/readme_table.py -->"
WORLDS_END = "<!-- end of the world table -->"
QUESTIONS = {  # what is asked, and by whom it is shown to be answered
    "boxes_2d": "{q} rectangles asked of {n}",
    "boxes_3d": "{q} cubes asked of {n}",
    "balls": "points in balls, {q} of {n}",
    "nearest_1": "the nearest of {n} points to {q}",
    "nearest_8": "the 8 nearest of {n} points to {q}",
    "rays": "first hits of {q} rays, {n} boxes",
    "views": "{q} views of {n} boxes",
    "few_move": "{q} of {n} boxes move: pairs that changed",
    "all_move": "all of {n} boxes move by 1 %: all pairs",
}
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


def query_table(comparison: QueryComparison) -> str:
    """Write one line for each kind of question: our time, and the quickest other library's."""
    lines = ["| build and ask | broadphase | quickest other | |", "|---|---:|---:|---:|"]
    named = set()
    for name, words in QUESTIONS.items():
        outcomes = comparison.of(name)
        ours, other = first_own(outcomes), best_other(outcomes)
        if ours is None or other is None:
            continue
        what = words.format(n=grouped(ours.box_count), q=grouped(ours.question_count))
        named.add(other.title)
        theirs = f"{duration(other.milliseconds)}, {other.title}"
        lines.append(f"| {what} | **{duration(ours.milliseconds)}** | {theirs} | {factor(ratio(other, ours))}× |")
    versions = ", ".join(f"{name} {version}" for name, version in comparison.versions.items() if name != "numpy")
    lines += [
        "",
        f"`bp.Index`, one thread, as above; compared were {versions} and NumPy; the quickest is shown. Every answer "
        "is checked. Embree tests 12 triangles for each box, in float32; NumPy tests the six planes of a view alone.",
    ]
    return "\n".join(lines)


def world_table(comparison: WorldComparison) -> str:
    """Write one line for each scene: our step, and those of all others."""
    lines = ["| a step of the whole world | broadphase | others |", "|---|---:|---|"]
    for name in dict.fromkeys(outcome.scene for outcome in comparison.outcomes):
        outcomes = comparison.of(name)
        ours = own_step(outcomes)
        if ours is None or ours.milliseconds is None:
            continue
        others = [o for o in outcomes if o.contestant not in ("broadphase", "anew") and o.milliseconds is not None]
        cells = [
            f"{o.title} {duration(o.milliseconds)} ({factor(o.milliseconds / ours.milliseconds)}×)"
            for o in sorted(others, key=lambda o: o.milliseconds or 0.0)
        ]
        lines.append(f"| {scene_title(ours)} | **{duration(ours.milliseconds)}** | {', '.join(cells)} |")
    versions = ", ".join(f"{name} {version}" for name, version in comparison.versions.items() if name != "numpy")
    lines += [
        "",
        f"`bp.World.step`: things move, and what began and ceased to touch is known; one thread, as above; {versions}. "
        "What touches is checked. pygame-ce, arcade and python-fcl give pairs only; Rapier works in float32.",
    ]
    return "\n".join(lines)


def put(text: str, begin: str, end: str, table: str) -> str:
    """Write a table between its marks."""
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{table}\n{end}{after}"


def main() -> int:
    """Rewrite the table, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if the table differs")
    chosen = parser.parse_args()
    comparison = from_json(json.loads((ROOT / "benchmarks/results/pairs.json").read_text()))
    readme = ROOT / "README.md"
    text = readme.read_text()
    new = put(text, BEGIN, END, table(comparison))
    if QUERIES.exists():
        new = put(new, QUERIES_BEGIN, QUERIES_END, query_table(queries_from_json(json.loads(QUERIES.read_text()))))
    if WORLDS.exists():
        new = put(new, WORLDS_BEGIN, WORLDS_END, world_table(worlds_from_json(json.loads(WORLDS.read_text()))))
    if chosen.check and new != text:
        print("README.md does not show the figures of benchmarks/results", file=sys.stderr)
        return 1
    if not chosen.check:
        readme.write_text(new)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
