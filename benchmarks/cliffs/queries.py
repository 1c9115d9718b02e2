"""Many queries at once: against the fastest other library, against `pairs`, and where points or queries lie badly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

import broadphase as bp
from benchmarks.measuring import Timing, load, median_times, one_core
from benchmarks.queries import box_queries, cloud, ray_queries
from benchmarks.query_peers import embree
from benchmarks.rows import Row, ratio
from broadphase.errors import MissingExtraError
from broadphase.testing import make_scene

COUNT = 100_000
PEER = 4.0  # times as fast as the other library, both with the building of the index
ANY = 0.8  # `raycast_any`, against `raycast`
IGNORING = 1.5  # queries that ignore the row that asks, against the same that find it
JOIN = 1.2  # `Index.query` of as many boxes as there are, against `pairs`
MANY = 3.0  # times as fast as SciPy's tree, without the building: many nearest points
BADLY = 2.0  # the same where points or queries lie badly
WORSE = 4.0  # a query where points or queries lie badly, against one where they are spread evenly
ALIKE = 10.0  # the same where neither floats nor distances tell most of the points apart


def rows(pace: float) -> Iterator[Row]:
    """Measure neighbours, many of them, balls, joins and rays."""
    yield from point_rows(pace)
    yield from many_rows(pace)
    yield from join_rows(pace)
    yield from ray_rows(pace)
    yield from ignoring_rows(pace)
    yield from misplaced_rows(pace)


def point_rows(pace: float) -> Iterator[Row]:
    """Build and find the four nearest, and the points in balls of eight, against SciPy."""
    points, queries = cloud(COUNT, 7), cloud(COUNT, 8)
    boxes, radius = (points, points), ball_of(8)
    calls: dict[str, Callable[[], Any]] = {
        "nearest": lambda: bp.Index(boxes).nearest(queries, 4),
        "balls": lambda: bp.Index(boxes).query_ball(queries, radius),
    }
    try:
        tree = load("scipy.spatial", "scipy").cKDTree
    except MissingExtraError:
        return
    calls["of SciPy"] = lambda: tree(points).query(queries, 4)
    calls["query_ball_point"] = lambda: lists_joined(tree(points).query_ball_point(queries, radius))
    calls["sparse_distance_matrix"] = lambda: tree(queries).sparse_distance_matrix(
        tree(points), radius, output_type="ndarray"
    )
    with one_core():
        times = median_times(calls, budget=12 * pace)
    yield faster("build and 4 nearest, to SciPy", times["nearest"], times["of SciPy"])
    yield faster("build and balls of 8, to query_ball_point", times["balls"], times["query_ball_point"])
    yield faster("build and balls of 8, to sparse_distance_matrix", times["balls"], times["sparse_distance_matrix"])


def many_rows(pace: float) -> Iterator[Row]:
    """Find many nearest points, also on a line, all in one place, and from far away, against SciPy's tree."""
    try:
        of_scipy = load("scipy.spatial", "scipy").cKDTree
    except MissingExtraError:
        return
    points, asked = cloud(COUNT, 7), cloud(COUNT // 5, 8)
    few, axis = asked[:1000], [1.0, 0.0, 0.0]
    scenes = {
        "": (points, asked, (16, 64, 256), MANY),
        " of a few": (points, few, (1, 4, 8), MANY),
        " of a few, but many": (points, few, (64,), BADLY),
        " in the plane": (points[:, :2], asked[:, :2], (16, 64, 256), MANY),
        " on a line": (points * axis, asked * axis, (16, 64, 256), BADLY),
        " of equal points": (np.full_like(points, 0.1), few, (16, 256), BADLY),
        " from 1,000 sizes away": (points, 1e3 * (2 * few - 1), (16, 64, 256), BADLY),
        " from 1,000,000 sizes away": (points, 1e6 * (2 * few - 1), (1, 4), BADLY),
    }
    for name, (places, queries, wanted, must) in scenes.items():
        index, tree = bp.Index((places, places)), of_scipy(places)
        for k in wanted:
            calls: dict[str, Callable[[], Any]] = {
                "ours": partial(index.nearest, queries, k),
                "theirs": partial(tree.query, queries, k),
            }
            index.nearest(queries[:1])
            with one_core():
                times = median_times(calls, budget=pace, least=1)
            yield faster(f"{k} nearest{name}, to SciPy", times["ours"], times["theirs"], must)


def join_rows(pace: float) -> Iterator[Row]:
    """Query an index for as many boxes as it has, against a search for the same pairs."""
    settings = {scene: box_queries(scene)(COUNT) for scene in ("rects", "uniform", "lognormal")}
    scenes = {scene: (setting.boxes, *setting.queries) for scene, setting in settings.items()}
    scenes["cloth, 50 hits each"] = around(cloth(), 0.018)
    scenes["cloth, 100 hits each"] = around(cloth(), 0.0285)
    scenes["a twisted rod, 100 hits each"] = around(rod(), 0.0135)
    for scene, (boxes, asked) in scenes.items():
        calls: dict[str, Callable[[], Any]] = {
            "query": partial(bp.Index(boxes).query, asked),
            "pairs": partial(bp.pairs, boxes, asked),
        }
        if scene not in settings:
            calls["first query"] = partial(first_query, boxes, asked)
        with one_core():
            times = median_times(calls, budget=2 * pace)
        yield ratio(f"Index.query of {scene}, to pairs", times["query"], times["pairs"], JOIN)
        if "first query" in times:
            yield ratio("  the first one of an index", times["first query"], times["pairs"], JOIN)


def ray_rows(pace: float) -> Iterator[Row]:
    """Say which of 200,000 rays hit anything, against the first hits; and cast a million, against Embree."""
    draws = np.random.default_rng(12)
    boxes, rays = make_scene("uniform", 80_000), (draws.random((200_000, 3)), draws.normal(size=(200_000, 3)))
    index = bp.Index(boxes)
    calls: dict[str, Callable[[], Any]] = {
        "any": partial(index.raycast_any, *rays),
        "first": partial(index.raycast, *rays),
    }
    with one_core():
        times = median_times(calls, budget=2 * pace)
    yield ratio("raycast_any, to raycast", times["any"], times["first"], ANY)
    setting = ray_queries(COUNT)
    calls = {"ours": lambda: bp.Index(setting.boxes).raycast(*setting.queries)}
    try:
        load("embreex.rtcore_scene", "embreex")
    except MissingExtraError:
        return
    calls["Embree"] = partial(embree, setting)
    with one_core():
        times = median_times(calls, budget=20 * pace, least=1)
    yield faster("build and 1,000,000 first hits, to Embree", times["ours"], times["Embree"])


def ignoring_rows(pace: float) -> Iterator[Row]:
    """Ask from within the boxes, and ignore the one that asks, against queries that find it."""
    boxes = make_scene("uniform", COUNT, dtype=np.float64)
    index, rows, centers = bp.BVH(boxes), np.arange(COUNT), boxes.mean(axis=1)
    ways, others = np.random.default_rng(13).normal(size=centers.shape), np.random.default_rng(14).random(centers.shape)
    bodies = bp.World(dim=3)
    bodies.add_many(bp.Sphere((boxes[:, 1, 0] - boxes[:, 0, 0]) / 2), centers)
    calls: dict[str, Callable[[], Any]] = {
        "first hits": partial(index.raycast, others, ways),
        "first hits, ignoring": partial(index.raycast, centers, ways, ignore=rows),
        "nearest": partial(index.nearest, centers, 4),
        "nearest, ignoring": partial(index.nearest, rows=rows, k=3),
        "of a world": partial(bodies.nearest, centers, 4),
        "of a world, ignoring": partial(bodies.nearest, rows=rows, k=3),
    }
    with one_core():
        times = median_times(calls, budget=6 * pace)
    yield ratio("raycast from within, ignore=, to others", times["first hits, ignoring"], times["first hits"], IGNORING)
    yield ratio("3 nearest to rows, to 4 to points", times["nearest, ignoring"], times["nearest"], IGNORING)
    yield ratio("  in a world", times["of a world, ignoring"], times["of a world"], IGNORING)


def misplaced_rows(pace: float) -> Iterator[Row]:
    """Ask where points lie on a line, in twos, in clusters of all sizes, all in one place, or far from the queries."""
    even, asked = cloud(COUNT, 7), cloud(COUNT, 8)
    line = even * [1.0, 0.0, 0.0]
    twice = np.repeat(even[: COUNT // 2], 2, axis=0)
    decades = even * 10.0 ** -np.floor(6 * cloud(COUNT, 9)[:, :1])
    one_in_ten, all_alike = slice(None, None, 10), np.full_like(even, 0.1)
    scenes = {
        "even": (even, asked, WORSE),
        "on a line": (line, asked * [1.0, 0.0, 0.0], WORSE),
        "each point twice": (twice, asked, WORSE),
        "over six decades": (decades, decades[::-1], WORSE),
        "far away by 1,000": (even, asked[one_in_ten] + 1e3, WORSE),
        "far away by 1,000,000": (even, asked[one_in_ten] + 1e6, ALIKE),
        "far away by 1,000,000 along an axis": (even, asked[one_in_ten] + [1e6, 0.0, 0.0], ALIKE),
        "all points equal": (all_alike, asked[one_in_ten], ALIKE),
    }
    calls: dict[str, Callable[[], Any]] = {}
    for name, (points, queries, _) in scenes.items():
        index = bp.Index((points, points))
        index.nearest(queries[:1])
        calls[name] = partial(index.nearest, queries, 4)
    with one_core():
        times = median_times(calls, budget=5 * pace)
    for name, (_, queries, bound) in scenes.items():
        if name != "even":
            yield ratio(f"4 nearest, {name}", times[name], times["even"], bound, COUNT / len(queries))


def first_query(boxes: NDArray[Any], asked: NDArray[Any]) -> bp.index.QueryResult:
    """Make an index and query it once."""
    found: bp.index.QueryResult = bp.Index(boxes).query(asked)
    return found


def cloth() -> NDArray[np.float64]:
    """Return corners of the 20,000 triangles of a wavy sheet, (n, 3, 3)."""
    at = np.linspace(0, 1, 101)
    x, y = np.meshgrid(at, at, indexing="ij")
    return triangles(np.stack([x, y, 0.05 * np.sin(7 * x) * np.cos(5 * y)], axis=-1))


def rod() -> NDArray[np.float64]:
    """Return corners of the 20,000 triangles of a twisted and bent rod with three ribs, (n, 3, 3)."""
    along, angle = np.meshgrid(np.linspace(0, 1, 401), np.linspace(0, 2 * np.pi, 26), indexing="ij")
    turned, radius = angle + 12 * along, 0.05 + 0.03 * np.cos(3 * (angle + 12 * along))
    x, y = radius * np.cos(turned) + 0.1 * np.sin(6 * along), radius * np.sin(turned)
    return triangles(np.stack([x, y, along], axis=-1))


def triangles(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Halve the squares between corners in rows and columns, (a, b, 3)."""
    below = corners[:-1, :-1], corners[1:, :-1], corners[1:, 1:]
    above = corners[:-1, :-1], corners[1:, 1:], corners[:-1, 1:]
    return np.concatenate([np.stack(three, axis=-2).reshape(-1, 3, 3) for three in (below, above)])


def around(faces: NDArray[np.float64], margin: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the boxes of triangles, and others that are larger by a margin."""
    lower, upper = faces.min(axis=1), faces.max(axis=1)
    larger = np.stack([lower - margin, upper + margin], axis=1)
    return np.stack([lower, upper], axis=1).astype(np.float32), larger.astype(np.float32)


def ball_of(count: int) -> float:
    """Return the radius of a ball that holds so many points on average."""
    return float(np.cbrt(count / (COUNT * 4 / 3 * np.pi)))


def lists_joined(lists: NDArray[Any]) -> NDArray[np.int64]:
    """Return what lists hold as one array."""
    return np.fromiter(chain.from_iterable(lists), np.int64)


def faster(what: str, ours: Timing, theirs: Timing, must: float = PEER) -> Row:
    """Make a row of how many times as fast as another library."""
    value = theirs.milliseconds / ours.milliseconds
    return Row(what, value, "× as fast", must, True, ours.milliseconds, theirs.milliseconds)
