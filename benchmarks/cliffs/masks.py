"""Queries by a mask that few rows match, and among rows that are equal: each beside the same without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import broadphase as bp
from benchmarks.measuring import Timing, load, median_times
from benchmarks.rows import Row, ratio
from broadphase.errors import MissingExtraError

COUNT, QUERIES = 100_000, 1000
FEW = 3.0  # of the time without a mask, or of an index of the rows that match, whichever is longer
ALIKE = 3.0  # of the time with one box of each kind
SCIPY = 1.2  # of its time, in the same process
# One question at a time also pays for the call.
_ALONE = slice(0, 50)

Call = Callable[[], Any]
Options = dict[str, Any]


def rows(pace: float) -> Iterator[Row]:
    """Measure masks in an index and in a world, rows to ignore, and equal boxes and bodies."""
    yield from _masks(pace)
    yield from _ignored(pace)
    yield from _world(pace)
    yield from _copies(pace)
    yield from _bodies(pace)
    yield from _batches_and_masks(pace)
    yield from _points(pace)
    yield from _decades(pace)


def _masks(pace: float) -> Iterator[Row]:
    rng = np.random.default_rng(1)
    centers, half = rng.random((COUNT, 2)), np.sqrt(8 / COUNT) / 4
    boxes = np.stack([centers - half, centers + half], axis=1)
    points, ways = rng.random((QUERIES, 2)), rng.normal(size=(QUERIES, 2))
    places, directions = [tuple(p) for p in points[_ALONE].tolist()], [tuple(w) for w in ways[_ALONE].tolist()]
    plain, numbers = bp.Index(boxes), np.arange(COUNT)
    shares = {
        "none": numbers < 0,
        "1 box": numbers == 5,
        "1 of 1,000": rng.random(COUNT) < 1e-3,
        "1 of 100": rng.random(COUNT) < 1e-2,
        "1 of 10": rng.random(COUNT) < 0.1,
        "1 of 2": rng.random(COUNT) < 0.5,
        "a corner": centers[:, 0] < 0.01,
    }
    for name, matches in shares.items():
        index = bp.Index(boxes, layer=np.where(matches, 2, 1).astype(np.uint64))
        subset = bp.Index(boxes[matches])
        calls: dict[str, Call] = {}
        asked: list[tuple[str, bp.Index, Options]]
        asked = [("mask", index, {"mask": 2}), ("plain", plain, {}), ("subset", subset, {})]
        for query, given in {"nearest": (points, 1), "raycast": (points, ways), "raycast_any": (points, ways)}.items():
            for whose, one, bits in asked:
                calls[f"{query}, {whose}"] = partial(getattr(one, query), *given, **bits)
        for whose, one, bits in asked:
            nearest, ray = partial(one.nearest, **bits), partial(one.raycast, **bits)
            calls[f"single nearest, {whose}"] = partial(_each, nearest, [(place,) for place in places])
            calls[f"single raycast, {whose}"] = partial(_each, ray, list(zip(places, directions, strict=True)))
        times = _times(calls, 3 * pace)
        for query in ("nearest", "raycast", "raycast_any", "single nearest", "single raycast"):
            yield _by_mask(f"{query}, {name} match a mask", times, query)


def _ignored(pace: float) -> Iterator[Row]:
    rng = np.random.default_rng(2)
    points, asked = rng.random((COUNT, 2)), rng.random((QUERIES, 2))
    index, ignored = bp.Index((points, points)), rng.permutation(COUNT)[None, 100:]
    calls: dict[str, Call] = {
        "ignoring": partial(index.nearest, asked, ignore=ignored),
        # The check of the rows to ignore takes a part of either.
        "plain": lambda: (index.nearest(asked), index.nearest(asked[:1], max_distance=0.0, ignore=ignored)),
    }
    times = _times(calls, pace)
    yield ratio("nearest, all but 100 rows ignored", times["ignoring"], times["plain"], FEW)


def _world(pace: float) -> Iterator[Row]:
    rng = np.random.default_rng(3)
    world = bp.World(2)
    world.add_many(bp.Circle(0.002), rng.random((20_000, 2)))
    world.add(bp.Circle(0.01), position=(0.5, 0.5), layer="rare")
    world.step(0.0)
    points, ways = rng.random((200, 2)), rng.normal(size=(200, 2))
    places, directions = [tuple(p) for p in points[_ALONE].tolist()], [tuple(w) for w in ways[_ALONE].tolist()]
    calls: dict[str, Call] = {}
    options: dict[str, Options] = {"mask": {"mask": "rare"}, "plain": {}}
    for whose, bits in options.items():
        calls[f"nearest, {whose}"] = partial(world.nearest, points, 1, **bits)
        calls[f"raycast, {whose}"] = partial(world.raycast, points, ways, **bits)
        calls[f"raycast_any, {whose}"] = partial(world.raycast_any, points, ways, **bits)
        calls[f"shapecast, {whose}"] = partial(world.shapecast, bp.Circle(0.001), points, ways * 0.3, **bits)
        nearest, ray = partial(world.nearest, **bits), partial(world.raycast, **bits)
        calls[f"single nearest, {whose}"] = partial(_each, nearest, [(place,) for place in places])
        calls[f"single raycast, {whose}"] = partial(_each, ray, list(zip(places, directions, strict=True)))
    times = _times(calls, 3 * pace)
    for query in ("nearest", "raycast", "raycast_any", "shapecast", "single nearest", "single raycast"):
        yield ratio(f"{query}, one of 20,001 bodies", times[f"{query}, mask"], times[f"{query}, plain"], FEW)


def _copies(pace: float) -> Iterator[Row]:
    rng = np.random.default_rng(4)
    for copies in (100, 1000, 10_000):
        count = COUNT // copies
        centers, half = rng.random((count, 3)), 0.15 * count ** (-1 / 3)
        boxes = np.stack([centers - half, centers + half], axis=1)
        scenes = {"copies": bp.Index(boxes[np.arange(COUNT) % count]), "one": bp.Index(boxes)}
        at, ways = centers[rng.integers(0, count, 100)], rng.normal(size=(100, 3))
        moving = np.stack([at - half / 10, at + half / 10], axis=1)
        calls: dict[str, Call] = {}
        for name, index in scenes.items():
            calls[f"raycast, {name}"] = partial(index.raycast, at, ways)
            calls[f"shapecast, {name}"] = partial(index.shapecast, moving, ways)
            calls[f"nearest, {name}"] = partial(index.nearest, at, 1)
        times = _times(calls, 2 * pace)
        for query in ("raycast", "shapecast", "nearest"):
            what = f"{query}, {copies:,} copies of each box"
            yield ratio(what, times[f"{query}, copies"], times[f"{query}, one"], ALIKE)


def _bodies(pace: float) -> Iterator[Row]:
    rng = np.random.default_rng(7)
    for copies in (100, 1000, 10_000):
        count = COUNT // copies
        centers, radius = rng.random((count, 3)), 0.15 * count ** (-1 / 3)
        worlds = {"copies": bp.World(3), "one": bp.World(3)}
        worlds["copies"].add_many(bp.Sphere(radius), centers[np.arange(COUNT) % count])
        worlds["one"].add_many(bp.Sphere(radius), centers)
        at, ways = rng.random((QUERIES, 3)), rng.normal(size=(QUERIES, 3))
        calls: dict[str, Call] = {}
        for name, world in worlds.items():
            calls[f"raycast, {name}"] = partial(world.raycast, at, ways)
            calls[f"shapecast, {name}"] = partial(world.shapecast, bp.Sphere(radius / 10), at, ways)
            calls[f"nearest, {name}"] = partial(world.nearest, at, 1)
        times = _times(calls, 2 * pace)
        for query in ("raycast", "shapecast", "nearest"):
            what = f"{query}, {copies:,} copies of each body"
            yield ratio(what, times[f"{query}, copies"], times[f"{query}, one"], ALIKE)
    # Of 1,000 copies of each, one matches, and the other queries go on among all.
    matches = rng.random(COUNT) < 1e-3
    layers, places = np.where(matches, 2, 1), rng.random((COUNT // 1000, 3))[np.arange(COUNT) % (COUNT // 1000)]
    many, few = bp.World(3), bp.World(3)
    many.add_many(bp.Sphere(0.02), places, layer=layers)
    few.add_many(bp.Sphere(0.02), places[matches], layer=layers[matches])
    for _ in range(3):
        many.nearest(at, 4)
    asked: dict[str, Call] = {
        name: partial(world.nearest, at, 4, mask=2) for name, world in (("many", many), ("few", few))
    }
    times = _times(asked, pace)
    yield ratio("nearest by mask, 1 of 1,000 copies, of the subset", times["many"], times["few"], 3.0)


def _batches_and_masks(pace: float) -> Iterator[Row]:
    """Measure queries among copies that are in batches, or of which a mask leaves some, beside one of each kind."""
    rng = np.random.default_rng(9)
    at, ways = rng.random((QUERIES, 3)), rng.normal(size=(QUERIES, 3))
    for copies in (10, 100, 10_000):
        count = COUNT // copies
        centers, radius, kind = rng.random((count, 3)), 0.15 * count ** (-1 / 3), np.arange(COUNT) % count
        keys, layers = np.arange(count) % 10, np.where(rng.random(COUNT) < 0.1, 2, 1)
        boxes = np.stack([centers - radius, centers + radius], axis=1)
        worlds = {name: bp.World(3) for name in ("copies", "one", "masked", "all")}
        worlds["copies"].add_many(bp.Sphere(radius), centers[kind], batch=keys[kind])
        worlds["one"].add_many(bp.Sphere(radius), centers, batch=keys)
        worlds["masked"].add_many(bp.Sphere(radius), centers[kind], layer=layers)
        worlds["all"].add_many(bp.Sphere(radius), centers)
        indexes = {
            "copies": bp.Index(boxes[kind], batch=keys[kind]),
            "one": bp.Index(boxes, batch=keys),
            "masked": bp.Index(boxes[kind], layer=layers.astype(np.uint64)),
            "all": bp.Index(boxes),
        }
        own = {"batch": rng.integers(0, 10, QUERIES)}
        options: dict[str, Options] = {"copies": own, "one": own, "masked": {"mask": 2}, "all": {}}
        for what, targets in (("body", worlds), ("box", indexes)):
            calls: dict[str, Call] = {}
            for name, target in targets.items():
                asked: Any = target
                calls[f"raycast, {name}"] = partial(asked.raycast, at, ways, **options[name])
                calls[f"nearest, {name}"] = partial(asked.nearest, at, 4, **options[name])
            times = _times(calls, 2 * pace)
            for query in ("raycast", "nearest"):
                found, plain = times[f"{query}, copies"], times[f"{query}, one"]
                yield ratio(f"{query} in 10 batches, {copies:,} copies of each {what}", found, plain, ALIKE)
                if copies > 10:  # or those that match are farther apart than the others are
                    found, plain = times[f"{query}, masked"], times[f"{query}, all"]
                    yield ratio(f"{query}, 10 % of {copies:,} copies of each {what} match", found, plain, ALIKE)


def _points(pace: float) -> Iterator[Row]:
    """Equal points, beside SciPy's tree: asked where they are and elsewhere."""
    try:
        of_scipy = load("scipy.spatial", "scipy").cKDTree
    except MissingExtraError:
        return
    rng = np.random.default_rng(5)
    for dimension in (2, 3):
        for copies in (100, 1000):
            count = COUNT // copies
            places = rng.random((count, dimension))
            asked = {"at": places[rng.integers(0, count, 200)], "off": rng.random((200, dimension))}
            yield from _beside(of_scipy, places[np.arange(COUNT) % count], asked, f"{copies:,} copies", pace)


def _decades(pace: float) -> Iterator[Row]:
    """Points over sixteen decades along each axis, beside SciPy's tree."""
    try:
        of_scipy = load("scipy.spatial", "scipy").cKDTree
    except MissingExtraError:
        return
    rng = np.random.default_rng(6)
    for dimension in (2, 3):
        points = 10.0 ** rng.uniform(-8, 8, (COUNT, dimension))
        yield from _beside(of_scipy, points, {"near": points[:2000] * (1 + 1e-6)}, "sixteen decades", pace)


def _beside(
    of_scipy: Any, points: NDArray[Any], asked: dict[str, NDArray[Any]], what: str, pace: float
) -> Iterator[Row]:
    index, tree = bp.Index((points, points)), of_scipy(points)
    for name, queries in asked.items():
        for k in (1, 8):
            calls: dict[str, Call] = {
                "ours": partial(index.nearest, queries, k),
                "theirs": partial(tree.query, queries, k),
            }
            times = _times(calls, pace)
            label = f"{k} nearest {name} points of {points.shape[1]}, {what}, of SciPy's time"
            yield ratio(label, times["ours"], times["theirs"], SCIPY)


def _by_mask(what: str, times: dict[str, Timing], query: str) -> Row:
    slower = max((times[f"{query}, {whose}"] for whose in ("plain", "subset")), key=lambda one: one.milliseconds)
    return ratio(what, times[f"{query}, mask"], slower, FEW)


def _times(calls: dict[str, Call], budget: float) -> dict[str, Timing]:
    for call in calls.values():  # the first queries arrange
        call()
        call()
    found: dict[str, Timing] = median_times(calls, budget=budget, clock=thread_time)
    return found


def _each(ask: Callable[..., Any], questions: list[Any]) -> None:
    for question in questions:
        ask(*question)
