"""Point clouds beside SciPy's tree of the same points, and beside compounds of balls at a few of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import load, median_times
from benchmarks.rows import Row, ratio

_COUNT, _FEW, _QUERIES = 50_000, 500, 2000


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows of points all over a room, then those of its walls, as a scanner sees them."""
    rng = np.random.default_rng(0)
    room = rng.uniform(-10, 10, (_COUNT, 3))
    walls = room.copy()
    axes = rng.integers(0, 3, _COUNT)
    walls[np.arange(_COUNT), axes] = np.where(walls[np.arange(_COUNT), axes] > 0, 10, -10)
    for name, points in (("all over a room", room), ("on the walls of a room", walls)):
        yield from _cloud_rows(rng, name, points, pace)


def _cloud_rows(rng: np.random.Generator, name: str, points: Any, pace: float) -> Iterator[Row]:
    what = f"{_COUNT:,} points {name}"
    places = points[rng.integers(0, _COUNT, _QUERIES)] + rng.normal(size=(_QUERIES, 3)) * 0.3
    cloud = bp.Shapes(bp.PointCloud(points, 0.05), [[0, 0, 0]])
    balls = bp.Shapes(bp.Sphere(0.2), places)
    boxes = bp.Shapes(bp.Box(0.4, 0.3, 0.2), places, rng.normal(size=(_QUERIES, 4)))
    pairs = np.column_stack([np.arange(_QUERIES), np.zeros(_QUERIES, int)])
    spatial = load("scipy.spatial", "scipy")
    tree = spatial.cKDTree(points)
    of_scipy: dict[str, tuple[Callable[[], Any], Callable[[], Any], float]] = {
        "made": (lambda: bp.PointCloud(points, 0.05).prepared, lambda: spatial.cKDTree(points), 1.0),
        "distances of balls": (lambda: bp.distance(balls, cloud, pairs=pairs), lambda: tree.query(places), 2.5),
        "overlaps of balls": (
            lambda: bp.overlaps(balls, cloud, pairs),
            lambda: tree.query(places, distance_upper_bound=0.25),
            2.0,
        ),
    }
    for query, (ours, scipy, target) in of_scipy.items():
        found = median_times({"ours": ours, "scipy": scipy}, budget=pace, clock=time.thread_time)
        yield ratio(
            f"{query}: {what}", found["ours"], found["scipy"], target, note="to SciPy's tree, which has points alone"
        )

    few = points[:_FEW]
    compound = bp.Shapes(bp.Compound([bp.Sphere(0.05, offset=point) for point in few]), [[0, 0, 0]])
    scan = bp.Shapes(bp.PointCloud(few, 0.05), [[0, 0, 0]])
    ways = rng.normal(size=(_QUERIES, 3))
    queries: dict[str, tuple[Callable[[bp.Shapes], Any], float]] = {
        "overlaps of boxes": (lambda of: bp.overlaps(boxes, of, pairs), 0.3),
        "distances of boxes": (lambda of: bp.distance(boxes, of, pairs=pairs), 0.3),
        "casts of balls": (lambda of: bp.time_of_impact(balls, of, pairs=pairs, motions=ways), 0.3),
        "rays": (lambda of: bp.raycast(of, places, ways), 0.3),
    }
    for query, (call, target) in queries.items():
        both = {"ours": partial(call, scan), "compound": partial(call, compound)}
        found = median_times(both, budget=pace, clock=time.thread_time)
        yield ratio(
            f"{query}: {_FEW} points {name}", found["ours"], found["compound"], target, note="to a compound of balls"
        )
