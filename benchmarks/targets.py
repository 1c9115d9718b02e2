"""Measure every speed target of the project and say which are met.

Times are medians of interleaved runs of the public calls, NumPy in to NumPy out, one thread but for the shares of
`benchmarks.cores`. T is the time of ``np.argsort`` of as many random float32, taken in between, so that the figures
travel from machine to machine.

    python -m benchmarks.targets              # about five minutes
    python -m benchmarks.targets --quick      # about a minute
    python -m benchmarks.targets --cliffs     # only what is off the road: far and huge boxes, crowds, fast bodies ...
    python -m benchmarks.targets --json results.json --data FOLDER_WITH_sccd_cloth-ball.npz
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks import cliffs, coast, cores
from benchmarks.cliffs.pairs import HARDEST
from benchmarks.measuring import argsort_call, describe_machine, median_times, timed
from benchmarks.queries import best_other, compare_queries, first_own, ratio as query_ratio
from benchmarks.rows import Row, in_t, ratio
from benchmarks.tables import grouped, show_table
from broadphase import data
from broadphase.testing import SCENES, checksum, make_scene

Call = Callable[[], Any]

# What one call may cost at 100 000 boxes, in T.
MULTIPLES = {
    "rects": 3.0,
    "uniform": 2.5,
    "power": 3.0,
    "clusters": 4.0,
    "flat": 3.5,
    "giant": 4.0,
    "sticks": 6.0,
    "lognormal": 4.5,
}
# sort=True, to unsorted: a search finds a pair in some 10 ns, and three passes put it in order, of 2 to 4 ns each.
SORTED = 2.2
# pairs(a, b), to the pairs of both put together: as many boxes in the same space.
TWO_SETS = 1.1
PEER = 3.0  # an index with its queries must be this many times faster than the fastest other library
REBUILD = 10.0  # following a hundredth of the boxes, against rebuilding
ONE_SHOT = 1.2  # following all boxes, against the one-shot call
FLOAT64 = 1.2  # float64 in a tree, against float32
DEAREST = 4.0  # no scene may cost more than this many times what the uniform one does, per box and pair; but for these
HARD = ("frames", "huge_tiny")
TOO_SLOW = 0.1  # seconds for 10 000 boxes; a scene that takes more is not tried at ten times as many
TARGET_DATA = {"EE": 5_197_332, "VF": 1_655_541}  # published counts of the cloth-ball set


def uniform_rows(pace: float) -> Iterator[Row]:
    """Even cubes from a thousand to a million, two threads, and the thousand rectangles of a small game."""
    for n, target in ((1_000, None), (10_000, 3.5)):
        cubes, rects = make_scene("uniform", n), make_scene("rects", n)
        calls: dict[str, Call] = {
            "sort": argsort_call(n),
            "uniform": partial(bp.pairs, cubes),
            "rects": partial(bp.pairs, rects),
        }
        times = median_times(calls, budget=1.5 * pace, most=2000)
        yield in_t(f"uniform {grouped(n)}", times["uniform"], times["sort"], target)
        if n == 1_000:
            milliseconds = times["rects"].milliseconds
            yield Row("rects 1,000", milliseconds * 1e3, "µs", 30.0, milliseconds=milliseconds)
        target, note = (3.33, "30 µs where T is 9 µs") if n == 1_000 else (None, "")
        yield in_t(f"rects {grouped(n)}", times["rects"], times["sort"], target, note)
    million = make_scene("uniform", 1_000_000)
    calls = {
        "sort": argsort_call(1_000_000),
        "one": partial(bp.pairs, million),
        "two": partial(bp.pairs, million, workers=2),
    }
    times = median_times(calls, budget=14 * pace, least=5)
    yield in_t("uniform 1,000,000", times["one"], times["sort"], 2.5)
    speedup = times["one"].milliseconds / times["two"].milliseconds
    yield Row("  speedup by workers=2", speedup, "×", 1.7, True, times["two"].milliseconds, times["one"].milliseconds)


def hundred_thousand_rows(pace: float) -> Iterator[Row]:
    """Every everyday scene at 100 000 boxes, and what the options cost there."""
    n = 100_000
    scenes = {name: make_scene(name, n) for name in MULTIPLES}
    doubles = {name: make_scene(name, n, dtype=np.float64) for name in MULTIPLES}
    calls: dict[str, Call] = {"sort": argsort_call(n)}
    for name, boxes in scenes.items():
        calls[name] = partial(bp.pairs, boxes)
        calls[f"{name}, float64"] = partial(bp.pairs, doubles[name])
        calls[f"{name}, sort=True"] = partial(bp.pairs, boxes, sort=True)
        calls[f"{name}, count_pairs"] = partial(bp.count_pairs, boxes)
        others = make_scene(name, n, seed=8)
        calls[f"{name}, two sets"] = partial(bp.pairs, boxes, others)
        calls[f"{name}, together"] = partial(bp.pairs, np.concatenate([boxes, others]))
    times = median_times(calls, budget=30 * pace)
    for name, target in MULTIPLES.items():
        count = bp.count_pairs(scenes[name])
        yield in_t(f"{name} 100,000", times[name], times["sort"], target, f"{grouped(count)} pairs")
        mine = times[name]
        yield ratio("  float64, to float32", times[f"{name}, float64"], mine, 1.6)
        yield ratio("  sort=True, to unsorted", times[f"{name}, sort=True"], mine, SORTED)
        yield ratio("  count_pairs, to pairs", times[f"{name}, count_pairs"], mine, 1.0)
        together = times[f"{name}, together"]
        yield ratio("  pairs(a, b), to those of both together", times[f"{name}, two sets"], together, TWO_SETS)


def tree_rows(pace: float) -> Iterator[Row]:
    """Compare float64 with float32 in each tree: pairs, and queries of many boxes and of one at a time."""
    n = 100_000
    scene = make_scene("uniform", n)
    middles = scene.mean(axis=1, keepdims=True)
    scenes = {"uniform": scene, "dense": middles + 2 * (scene - middles)}
    calls: dict[str, Call] = {}
    for name, boxes in scenes.items():
        for method, kind in (("bvh", bp.BVH), ("octree", bp.Octree), ("linear_tree", bp.LinearTree)):
            for dtype in ("float32", "float64"):
                of_type = boxes.astype(dtype)
                index, some = kind(of_type), of_type[::2]
                what = f"{method}, {name}"
                calls[f"{what}: pairs, {dtype}"] = partial(bp.pairs, of_type, method=method)
                calls[f"{what}: queries, {dtype}"] = partial(index.query, some)
                calls[f"{what}: one query, {dtype}"] = partial(one_at_a_time, index, some[:500])
    times = median_times(calls, budget=30 * pace)
    for call in calls:
        if call.endswith("float64"):
            base = times[call.replace("float64", "float32")]
            yield ratio(f"{call.removesuffix(', float64')}: float64, to float32", times[call], base, FLOAT64)


def one_at_a_time(index: Any, boxes: Any) -> None:
    """Query an index for one box after the other."""
    for box in boxes:
        index.query(box)


def density_rows(pace: float) -> Iterator[Row]:
    """Nanoseconds per box and pair on every scene, against the uniform one of the same size."""
    linear = [name for name, scene in SCENES.items() if not scene.quadratic]
    slow = [name for name in linear if timed(partial(bp.pairs, make_scene(name, 10_000)))[0] > TOO_SLOW]
    groups = {
        100_000: [name for name in linear if name not in slow],
        10_000: ["uniform", *slow],
        3_000: ["uniform", *(name for name, scene in SCENES.items() if scene.quadratic)],
    }
    for n, names in groups.items():
        if names == ["uniform"]:
            continue
        scenes = {name: make_scene(name, n) for name in names}
        works = {name: n + bp.count_pairs(boxes) for name, boxes in scenes.items()}
        times = median_times({name: partial(bp.pairs, boxes) for name, boxes in scenes.items()}, budget=25 * pace)
        costs = {name: times[name].milliseconds * 1e6 / works[name] for name in scenes}
        for name in sorted(scenes, key=lambda name: -costs[name]):
            value = costs[name] / costs["uniform"]
            note = f"{costs[name]:.1f} ns, {grouped(works[name] - n)} pairs{'' if is_right(name) else ', WRONG'}"
            what = f"per box and pair: {name} {grouped(n)}"
            most = HARDEST if name in HARD or name.startswith("worst_") else DEAREST
            yield Row(what, value, "× uniform", most, False, times[name].milliseconds, None, note)


def is_right(scene: str) -> bool:
    """Return whether auto and brute force find the same pairs in a scene large enough for every code path."""
    boxes = make_scene(scene, 3_000 if SCENES[scene].quadratic else 12_000)
    return np.array_equal(bp.pairs(boxes, sort=True), bp.pairs(boxes, sort=True, method="brute_force"))


def real_rows(pace: float, folder: Path) -> Iterator[Row]:
    """Time the counties, the coasts, and the swept cloth over a ball where it is at hand."""
    counties = data.load("us_counties"), data.describe("us_counties")
    for boxes, known in (counties, (coast.load(), coast.describe())):
        same = checksum(bp.pairs(boxes)) == known.pair_checksum
        narrow = boxes.astype(np.float32)
        calls: dict[str, Call] = {
            "sort": argsort_call(len(boxes)),
            "64": partial(bp.pairs, boxes),
            "32": partial(bp.pairs, narrow),
        }
        times = median_times(calls, budget=4 * pace)
        note = f"{grouped(known.pair_count)} pairs, {'right' if same else 'WRONG'}"
        yield in_t(f"{known.name}, float64", times["64"], times["sort"], None, note)
        yield in_t(f"{known.name}, float32", times["32"], times["sort"], None)
    path = folder / "sccd_cloth-ball.npz"
    if not path.exists():
        return
    kinds = swept_cloth(path)
    for name, (sets, shared) in kinds.items():
        found = bp.count_pairs(*sets, ignore_shared=shared)
        right = "right" if found == TARGET_DATA[name] else f"WRONG, published: {grouped(TARGET_DATA[name])}"
        n = sum(len(lower) for lower, _ in sets)
        for dtype in (np.float64, np.float32):
            cast: list[Any] = [tuple(np.ascontiguousarray(part, dtype) for part in one) for one in sets]
            calls = {"sort": argsort_call(n), "call": partial(bp.pairs, *cast, ignore_shared=shared)}
            times = median_times(calls, budget=3 * pace)
            note = f"{grouped(found)} pairs, {right}" if dtype is np.float64 else ""
            yield in_t(f"cloth-ball {name} {np.dtype(dtype).name}", times["call"], times["sort"], None, note)


def swept_cloth(path: Path) -> dict[str, tuple[list[Any], Any]]:
    """Return the swept boxes of edges against edges, and of vertices against faces, with the vertices of each."""
    with np.load(path) as arrays:
        before, after = arrays["v0"].astype(np.float64), arrays["v1"].astype(np.float64)
        edges, faces = arrays["E"].astype(np.int64), arrays["F"].astype(np.int64)
    # The published counts are for boxes moved out by one step of float64 and the smallest number.
    lower = np.nextafter(np.minimum(before, after), -np.inf) - 5e-324
    upper = np.nextafter(np.maximum(before, after), np.inf) + 5e-324
    edge_boxes = (lower[edges].min(axis=1), upper[edges].max(axis=1))
    face_boxes = (lower[faces].min(axis=1), upper[faces].max(axis=1))
    vertices = np.arange(len(lower))
    return {"EE": ([edge_boxes], edges), "VF": ([(lower, upper), face_boxes], (vertices, faces))}


def index_rows(pace: float) -> Iterator[Row]:
    """Compare the indexes with the quickest other library of each kind, and what moves with starting rebuilt."""
    comparison = compare_queries(budget=100 * pace)
    if absent := comparison.not_installed:
        yield Row("libraries that are not installed", len(absent), "", note=", ".join(absent))
    for task in dict.fromkeys(outcome.task for outcome in comparison.outcomes):
        outcomes = {outcome.contestant: outcome for outcome in comparison.of(task)}
        ours, other = first_own(comparison.of(task)), best_other(comparison.of(task))
        if ours is None or other is None:
            continue
        note = f"{ours.title}; {other.verdict}"
        times = {name: outcome.milliseconds or float("nan") for name, outcome in outcomes.items()}
        mine = times[ours.contestant]
        yield Row(f"{task}: {other.title}", query_ratio(other, ours), "×", PEER, True, mine, other.milliseconds, note)
        if task == "few_move":
            again = times["BVH_rebuilt"]
            yield Row("  a BVH rebuilt", again / mine, "×", REBUILD, True, mine, again)
            yield Row("  pairs, rebuilt", times["pairs"] / mine, "×", None, True, mine, times["pairs"])
        if task == "all_move":
            yield Row("  against pairs, rebuilt", mine / times["pairs"], "×", ONE_SHOT, False, mine, times["pairs"])


IMPORT = (
    "import numpy, time; start = time.perf_counter(); import broadphase; print((time.perf_counter() - start) * 1e3)"
)
# The peak of resident memory is reset after the input is made; where that is impossible the script prints nothing.
MEMORY = """
import numpy, broadphase
from broadphase.testing import make_scene
def resident(key):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(key)) * 1024
boxes = make_scene({scene!r}, {n}, dtype={dtype!r})
broadphase.pairs(boxes[:1000])
open("/proc/self/clear_refs", "w").write("5")
before = resident("VmRSS")
pairs = broadphase.pairs(boxes)
print((resident("VmHWM") - before - pairs.nbytes) / len(boxes))
steady = None
for call in range(12):
    broadphase.pairs(boxes)
    if call == 3:
        steady = resident("VmRSS")
print((resident("VmRSS") - steady) / 1024)
"""


def process_rows() -> Iterator[Row]:
    """Measure in separate processes: import time, memory, and the size of the package."""
    run = partial(subprocess.run, capture_output=True, text=True, check=True)
    imports = [float(run([sys.executable, "-c", IMPORT]).stdout) for _ in range(5)]
    yield Row("import broadphase, after NumPy", statistics.median(imports), "ms", 60.0)
    for scene, n, dtype in (
        ("uniform", 1_000_000, "float32"),
        ("uniform", 1_000_000, "float64"),
        ("lognormal", 300_000, "float32"),
    ):
        try:
            answer = run([sys.executable, "-c", MEMORY.format(scene=scene, n=n, dtype=dtype)]).stdout.split()
        except subprocess.CalledProcessError:
            continue
        most = 64.0 if scene == "uniform" else 96.0  # boxes of many sizes lie in more cells
        yield Row(f"memory, {scene} {grouped(n)} {dtype}", float(answer[0]), "bytes per box", most)
        yield Row("  growth over 8 more calls", float(answer[1]), "KB", 1024.0)
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in Path(bp.__file__).parent.rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path)
    yield Row("package, zipped as in a wheel", packed.tell() / 1e6, "MB", 4.0)  # five levels of SIMD


def main() -> int:
    """Measure, print, and write JSON if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a fifth of the runs")
    parser.add_argument("--cliffs", nargs="*", metavar="SUBJECT", help="only scenes off the road; default: all of them")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON")
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), metavar="FOLDER", help="where sccd_cloth-ball.npz is"
    )
    chosen = parser.parse_args()
    pace = 0.2 if chosen.quick else 1.0

    rows: list[Row] = []
    parts: list[Iterator[Row]] = [cliffs.rows(pace, chosen.cliffs or None)]
    if chosen.cliffs is None:
        parts = [
            uniform_rows(pace),
            hundred_thousand_rows(pace),
            tree_rows(pace),
            density_rows(pace),
            real_rows(pace, chosen.data),
            process_rows(),
            index_rows(pace),
            cores.rows(pace),
            *parts,
        ]
    for part in parts:
        for row in part:
            rows.append(row)
            if sys.stderr.isatty():
                print(f"\r{row.what:<60}", end="\r", file=sys.stderr, flush=True)
    machine = describe_machine()
    columns = ["what", "time", "against", "measured", "unit", "target", "", "note"]
    show_table(columns, [row.cells() for row in rows], f"Targets on {machine['processor']}, NumPy {machine['numpy']}")
    judged = [row for row in rows if row.met is not None]
    print(f"{sum(bool(row.met) for row in judged)} of {len(judged)} targets met")
    if chosen.json:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"machine": machine, "rows": [{**asdict(row), "met": row.met} for row in rows]}, indent=1)
        chosen.json.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
