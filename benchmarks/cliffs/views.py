"""Many views, single queries, and things added one by one: what they cost, and that none of it grows with the scene."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import Timing, median_times
from benchmarks.queries import frustum_queries
from benchmarks.query_peers import numpy_planes
from benchmarks.rows import Row, ratio
from broadphase.testing import make_scene

Call = Callable[[], Any]

VIEWS = 4.0  # times as fast as six planes in NumPy
ALIKE = 2.0  # a view of anything, to one of the ordinary scene, by box found
QUERY, NEAREST, ADD = 4.0, 8.0, 15.0  # microseconds
FLAT = 1.5  # with ten times as many things there


def rows(pace: float) -> Iterator[Row]:
    """Measure views, single queries, memory while asking, and things added one by one."""
    yield from view_rows(pace)
    yield from single_rows(pace)
    yield from memory_rows()
    yield from adding_rows(pace)


def view_rows(pace: float) -> Iterator[Row]:
    """Compare a hundred views of 100 000 boxes with six planes in NumPy, and views off the road with them."""
    setting = frustum_queries(100_000)
    planes = setting.queries[0]
    index = bp.BVH(setting.boxes)
    calls: dict[str, Call] = {"numpy": partial(numpy_planes, setting), "views": partial(index.frustum, planes=planes)}
    times = median_times(calls, budget=4 * pace)
    yield faster("100 views of 100,000 boxes", times["views"], times["numpy"], VIEWS)

    far = setting.boxes.copy()
    far[0] += np.float32(1e9)
    with_far = bp.BVH(far)
    box = np.concatenate([np.eye(3), -np.eye(3)])
    views = {
        "one far box": (with_far, planes),
        "everything": (index, all_around(box, 10.0)),
        "nothing": (index, all_around(box, -5.0)),
        "half space": (index, np.array([[[1.0, 1, 1, -1.5]]])),
        "touching a corner": (index, np.array([[[-1.0, -1, -1, 1e-3]]])),
    }
    calls = {name: partial(tree.frustum, planes=of) for name, (tree, of) in views.items()}
    calls["ordinary"] = partial(index.frustum, planes=planes)
    times = median_times(calls, budget=2 * pace)
    normal = 1e6 * times["ordinary"].milliseconds / (len(index.frustum(planes=planes).rows) + 1000 * len(planes))
    for name, (tree, of) in views.items():
        work = len(tree.frustum(planes=of).rows) + 1000 * len(of)
        cost = 1e6 * times[name].milliseconds / work
        note = f"per row found and 1,000 for each view; ordinary {normal:.0f} ns"
        yield Row(f"  views: {name}", cost / normal, "×", ALIKE, False, times[name].milliseconds, None, note)


def all_around(box: Any, reach: float) -> Any:
    """Return the planes of a cube around the scene."""
    return np.column_stack([box, np.full(6, reach)])[np.newaxis]


def faster(what: str, own: Timing, other: Timing, least: float) -> Row:
    """Make a row of how many times as fast as something else this is."""
    value = other.milliseconds / own.milliseconds
    return Row(what, value, "× as fast", least, True, own.milliseconds, other.milliseconds)


def single_rows(pace: float) -> Iterator[Row]:
    """Time one query and one nearest alone, and the same in a scene of ten times as many boxes."""
    small, large = make_scene("uniform", 100_000), make_scene("uniform", 1_000_000)
    calls: dict[str, Call] = {}
    for name in ("BVH", "Index", "Octree", "LinearTree"):
        for label, boxes in (("", small), (" of ten times as many", large)):
            if label and name != "BVH":
                continue
            index = getattr(bp, name)(boxes)
            asked, points = boxes[:500, None].copy(), boxes[:500, None, 0].astype(np.float64) + 1e-4
            calls[f"query {name}{label}"] = in_turn(index.query, asked)
            calls[f"nearest {name}{label}"] = in_turn(index.nearest, points)
            calls[f"masked {name}{label}"] = in_turn(partial(index.query, mask=1), asked)
    for call in calls.values():
        call()  # builds; median_times takes the first run as the length of all
    times = median_times(calls, budget=4 * pace)
    for name in ("BVH", "Index", "Octree", "LinearTree"):
        for kind, target in (("query", QUERY), ("nearest", NEAREST)):
            timing = times[f"{kind} {name}"]
            yield Row(f"one {kind} alone, {name}", timing.milliseconds * 1e3, "µs", target, False, timing.milliseconds)
    for kind in ("query", "nearest", "masked"):
        what = f"one {'query with a mask' if kind == 'masked' else kind}: 1,000,000 boxes to 100,000"
        yield ratio(what, times[f"{kind} BVH of ten times as many"], times[f"{kind} BVH"], 2.0)


def in_turn(query: Callable[[Any], Any], queries: Any) -> Call:
    """Return a call that asks the next of some queries each time."""
    following = cycle(list(queries))
    return lambda: query(next(following))


def memory_rows() -> Iterator[Row]:
    """Measure what Python holds at most during a small query of many boxes."""
    boxes = make_scene("uniform", 200_000)
    box, point = boxes[:1].copy(), boxes[:1, 0].astype(np.float64)
    for name in ("BVH", "Octree", "LinearTree", "SweepAndPrune"):
        index = getattr(bp, name)(boxes)
        calls = [partial(index.query, box), partial(index.query, box, mask=1), partial(index.query_ball, point, 1e-3)]
        if name != "SweepAndPrune":
            calls += [partial(index.nearest, point), partial(index.nearest, point, mask=1)]
        for call in calls:
            call()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for call in calls:
            call()
        most = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        yield Row(f"memory while asking {name} of 200,000", most / 1024, "KiB", 64.0)


def adding_rows(pace: float) -> Iterator[Row]:
    """Add bodies and boxes one by one, to few and to many."""
    shape, lone = bp.Sphere(0.5), np.array([[0.5, 0.5, 0.5, 0.6, 0.6, 0.6]], np.float32)
    places = np.random.default_rng(0).random((100_000, 3)) * 100
    calls: dict[str, Call] = {}
    for label, many in (("", 0), (" to 100,000", 100_000)):
        world = bp.World(dim=3)
        if many:
            world.add_many(shape, places)
        calls[f"add{label}"] = partial(world.add, shape, position=(1.0, 2.0, 3.0))
        calls[f"insert{label}"] = partial(bp.Index(make_scene("uniform", max(many, 1000))).insert, lone)
    times = median_times(calls, budget=2 * pace)
    yield Row("add to a world, one by one", 1e3 * times["add"].milliseconds, "µs", ADD)
    yield ratio("  with 100,000 bodies there, to none", times["add to 100,000"], times["add"], FLAT)
    yield Row("insert into an Index, one by one", 1e3 * times["insert"].milliseconds, "µs", ADD)
    yield ratio("  with 100,000 boxes there, to 1,000", times["insert to 100,000"], times["insert"], FLAT)
