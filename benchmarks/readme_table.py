"""Put the figures of ``benchmarks/results`` into README.md and docs/speed.md, between the marks of the tables.

python -m benchmarks.readme_table            # rewrite
python -m benchmarks.readme_table --check    # exit with 1 if a page does not show the figures
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
RESULTS = ROOT / "benchmarks" / "results"
BEGIN, END = "<!-- speed table: written by benchmarks/readme_table.py -->", "<!-- end of the speed table -->"
QUERIES_BEGIN = "<!-- query table: written by benchmarks/readme_table.py -->"
QUERIES_END = "<!-- end of the query table -->"
WORLDS_BEGIN = "<!-- world table: written by benchmarks/readme_table.py -->"
WORLDS_END = "<!-- end of the world table -->"
QUERIES = {  # titles in the table
    "boxes_2d": "{q} rectangle queries of {n}",
    "boxes_3d": "{q} cube queries of {n}",
    "balls": "points in {q} balls of {n}",
    "nearest_1": "nearest of {n} points, {q} queries",
    "nearest_8": "8 nearest of {n} points, {q} queries",
    "rays": "first hit of {q} rays, {n} boxes",
    "frustums": "{q} frustum queries of {n} boxes",
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


def machine_name(machine: dict[str, str]) -> str:
    """Return the processor and the versions of Python and NumPy."""
    return f"{machine['processor']} (Python {machine['python']}, NumPy {machine['numpy']})"


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
        "Time to find all pairs, from a float32 array to an array of pairs, on one thread of the "
        + f"{machine_name(machine)}; "
        + ", ".join(versions)
        + ". –: not supported (2D only, or equal cubes only).",
    ]
    return "\n".join(lines)


def query_table(comparison: QueryComparison) -> str:
    """Write one line for each kind of query: our time, and the quickest other library's."""
    lines = ["| build and query | broadphase | fastest other library | |", "|---|---:|---:|---:|"]
    named = set()
    for name, words in QUERIES.items():
        outcomes = comparison.of(name)
        ours, other = first_own(outcomes), best_other(outcomes)
        if ours is None or other is None:
            continue
        what = words.format(n=grouped(ours.box_count), q=grouped(ours.query_count))
        named.add(other.title)
        theirs = f"{duration(other.milliseconds)}, {other.title}"
        lines.append(f"| {what} | **{duration(ours.milliseconds)}** | {theirs} | {factor(ratio(other, ours))}× |")
    versions = ", ".join(f"{name} {version}" for name, version in comparison.versions.items() if name != "numpy")
    lines += [
        "",
        f"`bp.Index` on the {machine_name(comparison.machine)}; compared with {versions} and NumPy; the fastest is "
        "shown. Embree tests 12 triangles for each box, in float32; NumPy tests the six planes only.",
    ]
    return "\n".join(lines)


def world_table(comparison: WorldComparison) -> str:
    """Write one line for each scene: our step, and those of all others."""
    lines = ["| one step of a world | broadphase | others |", "|---|---:|---|"]
    for name in dict.fromkeys(outcome.scene for outcome in comparison.outcomes):
        outcomes = comparison.of(name)
        ours = own_step(outcomes)
        if ours is None or ours.milliseconds is None:
            continue
        others = [o for o in outcomes if o.contestant not in ("broadphase", "rebuilt") and o.milliseconds is not None]
        cells = [
            f"{o.title} {duration(o.milliseconds)} ({factor((o.milliseconds or 0.0) / ours.milliseconds)}×)"
            for o in sorted(others, key=lambda o: o.milliseconds or 0.0)
        ]
        lines.append(f"| {scene_title(ours)} | **{duration(ours.milliseconds)}** | {', '.join(cells)} |")
    versions = ", ".join(f"{name} {version}" for name, version in comparison.versions.items() if name != "numpy")
    lines += [
        "",
        f"`bp.World.step` does motion, narrow phase, enter and exit events, on the {machine_name(comparison.machine)}; "
        f"{versions}. pygame-ce, arcade and python-fcl give pairs only; Rapier works in float32.",
    ]
    return "\n".join(lines)


def put(text: str, begin: str, end: str, table: str) -> str:
    """Write a table between its marks."""
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{table}\n{end}{after}"


def pages() -> dict[Path, str]:
    """Return the text of both pages with the last figures."""
    readme, speed = (ROOT / name for name in ("README.md", "docs/speed.md"))
    texts = {page: page.read_text("utf-8") for page in (readme, speed)}
    pairs, queries, worlds = (
        json.loads((RESULTS / f"{name}.json").read_text()) for name in ("pairs", "queries", "worlds")
    )
    texts[readme] = put(texts[readme], BEGIN, END, table(from_json(pairs)))
    texts[speed] = put(texts[speed], QUERIES_BEGIN, QUERIES_END, query_table(queries_from_json(queries)))
    texts[speed] = put(texts[speed], WORLDS_BEGIN, WORLDS_END, world_table(worlds_from_json(worlds)))
    return texts


def main() -> int:
    """Rewrite the tables, or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a table differs")
    chosen = parser.parse_args()
    stale = {page: text for page, text in pages().items() if text != page.read_text("utf-8")}
    for page, text in stale.items():
        if chosen.check:
            print(f"{page.relative_to(ROOT)} does not show the figures of benchmarks/results", file=sys.stderr)
        else:
            page.write_text(text, "utf-8")
    return int(chosen.check and bool(stale))


if __name__ == "__main__":
    raise SystemExit(main())
