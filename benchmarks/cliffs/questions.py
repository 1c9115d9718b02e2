"""What games and agents ask of a world: one question at a time beside pymunk, and many beside an index and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import thread_time
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import Timing, load, median_times
from benchmarks.rows import Row, ratio

# Questions in a call that is timed.
_QUESTIONS = 100

Call = Callable[[], Any]


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows of single questions, of many, and of environments."""
    yield from _single(pace)
    yield from _forms(pace)
    yield from _of_an_index(pace)
    yield from _of_two_shapes(pace)
    yield from _many(pace)
    yield from _environments(pace)
    yield from _flock(pace)


def _single(pace: float) -> Iterator[Row]:
    """One question about 1,000 discs at a time."""
    rng = np.random.default_rng(3)
    edge = 100.0
    places = rng.uniform(0, edge, (1000, 2))
    world = bp.World(2)
    world.add_many(bp.Circle(0.5), places)
    world.step(0.0)
    asked = [tuple(place) for place in rng.uniform(0, edge, (_QUESTIONS, 2)).tolist()]
    ways = [tuple(way) for way in rng.normal(size=(_QUESTIONS, 2)).tolist()]
    boxes = [(x - 10, y - 10, x + 10, y + 10) for x, y in rng.uniform(10, edge - 10, (_QUESTIONS, 2)).tolist()]
    calls: dict[str, Call] = {
        "raycast": _each(world.raycast, zip(asked, ways, strict=True)),
        "nearest": _each(world.nearest, ((place,) for place in asked)),
        "query": _each(world.query, ((box,) for box in boxes)),
    }
    calls |= _of_pymunk(places, asked, ways, boxes)
    found = median_times(calls, budget=6 * pace, clock=thread_time)
    musts = {"raycast": (8.0, 3.0), "nearest": (8.0, 3.0), "query": (12.0, 1.0)}
    for name, (most, share) in musts.items():
        yield _microseconds(f"one {name}, 1,000 discs", found[name], most)
        if f"pymunk, {name}" in found:
            yield ratio(f"one {name}, of pymunk's time", found[name], found[f"pymunk, {name}"], share)


def _forms(pace: float) -> Iterator[Row]:
    """One question of each other form about 1,000 discs at a time, and questions about a torus of them."""
    rng = np.random.default_rng(3)
    places = rng.uniform(0, 100, (1000, 2))
    world, torus = bp.World(2), bp.World(2, bounds=[[0, 0], [100, 100]], boundary="wrap")
    for one in (world, torus):
        one.add_many(bp.Circle(0.5), places)
        one.step(0.0)
    asked = [tuple(place) for place in rng.uniform(0, 100, (_QUESTIONS, 2)).tolist()]
    ways = [tuple(way) for way in (10 * rng.normal(size=(_QUESTIONS, 2))).tolist()]
    blade = bp.Capsule((-4, 0), (4, 0), 0.5)
    poses = [(blade, place, 0.3) for place in asked]
    boxes = [(x - 5, y - 5, x + 5, y + 5) for x, y in asked]
    calls: dict[str, Call] = {
        "query_ball": _each(world.query_ball, ((place, 5.0) for place in asked)),
        "query_obb": _each(world.query_obb, ((place, (5.0, 1.0), 0.3) for place in asked)),
        "query_shape": _each(world.query_shape, poses),
        "shapecast": _each(world.shapecast, ((blade, *ends, 0.3) for ends in zip(asked, ways, strict=True))),
        "frustum": _each(world.frustum, ((_view(place, 10.0),) for place in asked)),
        "query in a torus": _each(torus.query, ((box,) for box in boxes)),
        "nearest in a torus": _each(torus.nearest, ((place, 7) for place in asked)),
        "query_ball in a torus": _each(torus.query_ball, ((place, 5.0) for place in asked)),
        "query_obb in a torus": _each(torus.query_obb, ((place, (5.0, 1.0), 0.3) for place in asked)),
        "query_shape in a torus": _each(torus.query_shape, poses),
    }
    found = median_times(calls, budget=5 * pace, clock=thread_time)
    for name in calls:
        yield _microseconds(f"one {name}, 1,000 discs", found[name], 10.0 if "torus" in name else 12.0)


def _view(place: tuple[float, ...], size: float) -> Any:
    """Make the matrix of a camera in the plane that sees a square around a place."""
    x, y = place
    return np.array([[1 / size, 0, -x / size], [0, 1 / size, -y / size], [0, 0, 1]])


def _of_pymunk(places: Any, asked: list[Any], ways: list[Any], boxes: list[Any]) -> dict[str, Call]:
    try:
        pymunk = load("pymunk")
    except ImportError:
        return {}
    space, every = pymunk.Space(), pymunk.ShapeFilter()
    for place in places.tolist():
        body = pymunk.Body(1.0, 1.0)
        body.position = tuple(place)
        space.add(body, pymunk.Circle(body, 0.5))
    space.step(1e-9)
    far = 200.0
    lengths = [np.hypot(*way) for way in ways]
    ends = [
        (x + far * dx / length, y + far * dy / length)
        for (x, y), (dx, dy), length in zip(asked, ways, lengths, strict=True)
    ]

    return {
        "pymunk, raycast": _each(
            space.segment_query_first, ((a, b, 0.0, every) for a, b in zip(asked, ends, strict=True))
        ),
        "pymunk, nearest": _each(space.point_query_nearest, ((place, 1e3, every) for place in asked)),
        "pymunk, query": _each(space.bb_query, ((pymunk.BB(*box), every) for box in boxes)),
    }


def _of_an_index(pace: float) -> Iterator[Row]:
    """One question about 100,000 boxes at a time."""
    rng = np.random.default_rng(4)
    lower = rng.uniform(0, 300, (100_000, 2))
    index = bp.BVH(np.stack([lower, lower + 0.5], axis=1))
    places = [tuple(place) for place in rng.uniform(0, 300, (_QUESTIONS, 2)).tolist()]
    ways = [tuple(way) for way in rng.normal(size=(_QUESTIONS, 2)).tolist()]
    boxes = [(x, y, x + 1, y + 1) for x, y in places]
    calls = {
        "box query": _each(index.query, ((box,) for box in boxes)),
        "nearest": _each(index.nearest, ((place,) for place in places)),
        "ray": _each(index.raycast, zip(places, ways, strict=True)),
        "oriented box": _each(index.query_obb, ((place, (1.0, 0.5), 0.3) for place in places)),
        "frustum": _each(index.frustum, ((_view(place, 1.0),) for place in places)),
    }
    found = median_times(calls, budget=4 * pace, clock=thread_time)
    most_of = {"box query": 4.0, "nearest": 5.0, "ray": 6.0, "oriented box": 12.0, "frustum": 12.0}
    for name, most in most_of.items():
        yield _microseconds(f"one {name} of an index, 100,000 boxes", found[name], most)


def _of_two_shapes(pace: float) -> Iterator[Row]:
    hull = bp.ConvexHull(np.random.default_rng(4).normal(size=(20, 3)))
    for what, one, other in (
        ("two single shapes", bp.Shapes(bp.Circle(1), (0, 0)), bp.Shapes(bp.Rectangle(1, 2), (1.5, 0.5))),
        ("two single hulls", hull, bp.Shapes(hull, (1.5, 0.5, 0.0))),
        ("two single hulls that are apart", hull, bp.Shapes(hull, (9.0, 0.5, 0.0))),
    ):
        calls = {
            "overlaps": _each(bp.overlaps, [(one, other)] * _QUESTIONS),
            "distance": _each(bp.distance, [(one, other)] * _QUESTIONS),
        }
        found = median_times(calls, budget=pace, clock=thread_time)
        for name in calls:
            yield _microseconds(f"{name} of {what}", found[name], 8.0)


def _many(pace: float) -> Iterator[Row]:
    """200,000 rays and places, in a world of boxes and in an index of them."""
    count = 20_000
    for dim, where, edge in ((3, "in space", 50.0), (2, "in the plane", 150.0)):
        rng = np.random.default_rng(5)
        lower = rng.uniform(0, edge, (count, dim))
        boxes = np.stack([lower, lower + rng.uniform(0.2, 1.0, (count, dim))], axis=1)
        world, index = bp.World(dim), bp.BVH(boxes)
        world.add_many(bp.AABB(*(boxes[:, 1] - boxes[:, 0]).T), boxes.mean(axis=1))
        world.step(0.0)
        begin, along = rng.uniform(0, edge, (200_000, dim)), rng.normal(size=(200_000, dim))
        calls: dict[str, Call] = {}
        for name, asked in (("world", world), ("index", index)):
            calls[f"rays, {name}"] = partial(asked.raycast, begin, along)
            calls[f"nearest, {name}"] = partial(asked.nearest, begin, 4)
        found = median_times(calls, budget=12 * pace, clock=thread_time)
        for name in ("rays", "nearest"):
            what = f"200,000 {name} {where}, a world to an index"
            yield ratio(what, found[f"{name}, world"], found[f"{name}, index"], 1.3)


def _environments(pace: float) -> Iterator[Row]:
    """4,096 environments of 30 discs: what each sees by 64 beams, and the 8 nearest of each."""
    rng = np.random.default_rng(6)
    environments, each, beams = 4096, 30, 64
    places = rng.uniform(0, 10, (environments, each, 2))
    world = bp.World(2)
    batch = np.repeat(np.arange(environments), each)
    world.add_many(bp.Circle(0.3), places.reshape(-1, 2), batch=batch)
    world.step(0.0)
    every, angles = world.rows, np.linspace(0, 2 * np.pi, beams, endpoint=False)
    calls: dict[str, Call] = {
        "lidar": partial(world.lidar, every, angles),
        "nearest": partial(world.nearest, rows=every, k=8, batch=batch),
    }
    found = median_times(calls, budget=30 * pace, clock=thread_time)
    yield Row("lidar of 4,096 × 30 discs, 64 beams", found["lidar"].milliseconds, "ms", 500.0)
    yield Row("8 nearest of 4,096 × 30 discs", found["nearest"].milliseconds, "ms", 60.0)


def _flock(pace: float) -> Iterator[Row]:
    """Find the 7 nearest within a radius of each of 10,000 bodies in a torus, beside SciPy's tree."""
    rng = np.random.default_rng(7)
    places = rng.uniform(0, 100, (10_000, 2))
    world = bp.World(2, bounds=[[0, 0], [100, 100]], boundary="wrap")
    world.add_many(bp.Circle(0.1), places)
    world.step(0.0)
    calls: dict[str, Call] = {"ours": partial(world.nearest, rows=world.rows, k=7, max_distance=2.0)}
    try:
        tree = load("scipy.spatial").cKDTree
        calls["theirs"] = lambda: tree(places, boxsize=100.0).query(places, 8, distance_upper_bound=2.1)
    except ImportError:
        pass
    found = median_times(calls, budget=3 * pace, clock=thread_time)
    yield Row("7 nearest within a radius, 10,000 in a torus", found["ours"].milliseconds, "ms", 8.0)
    if "theirs" in found:
        yield ratio("7 nearest within a radius, of SciPy's time", found["ours"], found["theirs"], 0.6)


def _each(ask: Callable[..., Any], questions: Any) -> Call:
    questions = list(questions)

    def run() -> None:
        for question in questions:
            ask(*question)

    return run


def _microseconds(what: str, timing: Timing, most: float) -> Row:
    return Row(what, timing.milliseconds * 1000 / _QUESTIONS, "µs", most)
