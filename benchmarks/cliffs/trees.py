"""Trees beside the road: far and huge boxes, many scales in one scene, and updates that scatter the boxes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import Timing, median_times
from benchmarks.rows import Row, ratio
from broadphase.testing import make_scene
from broadphase.testing.recipes import Recipe

COUNT = 20_000
QUESTIONS = 1_000
TREES: dict[str, Callable[..., Any]] = {
    "BVH": bp.BVH,
    "LinearTree": bp.LinearTree,
    "Octree": bp.Octree,
}


def cubes(centers: np.ndarray, edges: Any = 1.0) -> np.ndarray:
    """Make `(n, 2, d)` boxes of centres and edges."""
    halves = np.broadcast_to(np.asarray(edges) / 2, centers.shape)
    return np.stack([centers - halves, centers + halves], axis=1)


def even(n: int, seed: int = 0) -> np.ndarray:
    """Make unit cubes, with 0.9 pairs to each, whatever their number."""
    return cubes(np.random.default_rng(seed).random((n, 3)) * n ** (1 / 3) * 1.6)


def replaced(rows: Any, boxes: Any) -> np.ndarray:
    """Return the even scene with other boxes in some rows."""
    scene = even(COUNT)
    scene[rows] = boxes
    return scene


def shifted(rows: Any, by: Any) -> np.ndarray:
    """Return the even scene with some rows moved."""
    scene = even(COUNT)
    scene[rows] += by
    return scene


def octaves(exponent: int) -> np.ndarray:
    """Boxes at log-uniform distances around the origin, in proportion to them."""
    rng = np.random.default_rng(1)
    ways = rng.normal(size=(COUNT, 3))
    far = np.exp2(rng.uniform(-exponent, exponent, COUNT))[:, None]
    return cubes(ways / np.linalg.norm(ways, axis=1)[:, None] * far, 0.05 * far)


def long_boxes(n: int, long_axes: int) -> np.ndarray:
    """Boxes of thickness 0.5 and without end along one or two axes, in turns, 200 a unit of what they cross."""
    rng = np.random.default_rng(5)
    boxes = cubes(rng.random((n, 3)) * n / 200, 0.5)
    endless = (rng.integers(0, 3, n)[:, None] == np.arange(3)) == (long_axes == 1)
    boxes[:, 0][endless], boxes[:, 1][endless] = -np.inf, np.inf
    return boxes


def scenes() -> dict[str, np.ndarray]:
    """Make every scene by name, the even one first."""
    rng = np.random.default_rng(3)
    few, some = (rng.choice(COUNT, COUNT * share // 100, replace=False) for share in (3, 9))
    spot = even(COUNT)
    spot[: COUNT // 3] = even(COUNT // 3, 5) * 1e-9 + 3.3
    whole = np.array([[[-np.inf] * 3, [np.inf] * 3]])
    plates = even(COUNT)
    plates[: COUNT // 50] = long_boxes(COUNT // 50, 2)
    cube = even(COUNT) / even(COUNT).max()
    cube[7] += 1e7
    return {
        "even": even(COUNT),
        "one at 1e12": shifted(7, 1e12),
        "one of 1e30": replaced(7, [[-1e30] * 3, [1e30] * 3]),
        "3 % at ±1e30": shifted(few, rng.choice([-1e30, 1e30], (len(few), 1, 3))),
        "9 % far all around": shifted(some, rng.uniform(-1e9, 1e9, (len(some), 1, 3))),
        "8 without end": replaced(slice(0, 8), whole),
        "one at the origin of a map": np.concatenate([cubes(np.zeros((1, 3))), shifted(slice(None), [5e5, 4.5e6, 0])]),
        "two clusters 1e9 apart": shifted(slice(0, COUNT // 2), 1e9),
        "16 clusters on a log scale": np.concatenate([even(COUNT // 16, k) + 10.0**k for k in range(16)]),
        "distances of 2^-300 to 2^300": octaves(300),
        "a dense spot": spot,
        "a unit cube and one at 1e7": cube,
        "woven sticks": make_scene("woven", COUNT, dtype=np.float64),
        "rods without end along all axes": long_boxes(2_000, 1),
        "slabs without end along all axes": long_boxes(1_000, 2),
        "2 % slabs without end": plates,
    }


def answers(index: Any, boxes: np.ndarray) -> dict[str, tuple[Callable[[], Any], int]]:
    """Return the calls to time, and how many boxes, pairs or rows each is about."""
    rng = np.random.default_rng(9)
    chosen = boxes[rng.permutation(len(boxes))[:QUESTIONS]]
    with np.errstate(invalid="ignore"):
        middles = chosen[:, 0] / 2 + chosen[:, 1] / 2
    points = np.where(np.isfinite(middles), middles, 0.0)
    ways = rng.normal(size=points.shape)
    # All boxes around a point are at distance 0 of it, and at the start of a ray: the first row of them is found.
    found = QUESTIONS + len(index.query_points(points).rows)
    return {
        "points": (lambda: index.query_points(points), found),
        "4 nearest": (lambda: index.nearest(points, k=4), found),
        "rays": (lambda: index.raycast(points, ways, max_distance=10.0), found),
    }


def of_scene(make: Callable[..., Any], boxes: np.ndarray, pace: float) -> dict[str, tuple[Timing, int]]:
    """Time a build with all pairs, and queries."""
    index = make(boxes)
    calls = answers(index, boxes)
    pairs = index.count_pairs()
    calls["pairs"] = (lambda: make(boxes).count_pairs(), len(boxes) + pairs)
    times = median_times({name: call for name, (call, _) in calls.items()}, budget=0.5 * pace)
    return {name: (times[name], size) for name, (_, size) in calls.items()}


def rows(pace: float) -> Iterator[Row]:
    """Measure trees on scenes far from even, each against an even one."""
    made = scenes()
    for tree, make in TREES.items():
        base = of_scene(make, made["even"], pace)
        for name, boxes in made.items():
            if name == "even":
                continue
            bound = 4.0 if tree == "BVH" else 10.0
            for question, (timing, size) in of_scene(make, boxes, pace).items():
                even_timing, even_size = base[question]
                yield ratio(f"{tree}, {name}: {question}", timing, even_timing, bound, even_size / size)
    yield from of_updates(pace)
    yield from of_few_boxes(pace)


def moved_and_asked(boxes: np.ndarray, moved: int) -> Callable[[], Any]:
    """Return a call that moves some boxes of an octree to and fro by half their size, and then queries 100 points."""
    tree, order = bp.Octree(boxes), np.random.default_rng(2).permutation(len(boxes))
    rows, points = order[:moved], boxes[order[-100:]].mean(axis=1)
    places = itertools.cycle([boxes[rows] + np.diff(boxes[rows], axis=1) / 2, boxes[rows]])

    def call() -> Any:
        tree.move(rows, next(places))
        return tree.query_points(points)

    return call


def of_updates(pace: float) -> Iterator[Row]:
    """Measure what updates leave behind: a box far away and back, a few moved in a crowd, and half of all scattered."""
    boxes = even(COUNT)
    gone = shifted(7, 1e12)
    for tree, make in TREES.items():
        fresh, back = make(boxes), make(boxes)
        for at in (gone, boxes):
            back.update(at)
            back.count_pairs()
        queries, again = answers(fresh, boxes), answers(back, boxes)
        for question in ("points", "4 nearest"):
            times = median_times({"fresh": queries[question][0], "back": again[question][0]}, budget=0.5 * pace)
            yield ratio(f"{tree}, one box far away and back: {question}", times["back"], times["fresh"], 2.0)
    crowds = {"woven sticks": scenes()["woven sticks"], "needles": Recipe(3, 1, axis_spread=3.9).boxes(COUNT, 7, float)}
    for share, moved in (("one box", 1), ("1 % of the boxes", COUNT // 100)):
        calls = {name: moved_and_asked(of, moved) for name, of in {"even": boxes, **crowds}.items()}
        times = median_times(calls, budget=0.5 * pace)
        for name in crowds:
            yield ratio(f"Octree, {name}: {share} moved, 100 points", times[name], times["even"], 4.0)
    for count in (20_000, 80_000):
        boxes = even(count).astype(np.float32)
        index = bp.BVH(boxes)
        half = np.random.default_rng(0).permutation(count)[: count // 2]
        places = cubes(np.random.default_rng(1).random((len(half), 3)) * float(boxes.max()))
        index.move(half, places.astype(np.float32))
        boxes[half] = places
        fresh = bp.BVH(boxes)
        times = median_times({"fresh": fresh.count_pairs, "scattered": index.count_pairs}, budget=0.5 * pace)
        yield ratio(f"BVH, half of {count:,} boxes scattered: pairs", times["scattered"], times["fresh"], 2.0)


def of_few_boxes(pace: float) -> Iterator[Row]:
    """Measure the 4 nearest of 3,000 boxes where a search visits most of a small tree, though no distance is alike."""
    made = {"even": even(3_000), "woven sticks": make_scene("woven", 3_000, dtype=np.float64)}
    for tree, make in TREES.items():
        calls = {}
        for name, boxes in made.items():
            points = boxes[:200].mean(axis=1)
            calls[name] = partial(make(boxes).nearest, points, k=4)
        times = median_times(calls, budget=0.5 * pace)
        yield ratio(f"{tree}, 3,000 woven sticks: 4 nearest", times["woven sticks"], times["even"], 8.0)
