"""Joins of geometries: `broadphase.adapters.shapely` beside shapely and geopandas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.adapters import faster
from benchmarks.measuring import load
from benchmarks.rows import Row

COUNT = 100_000
_FORM = np.array([(-1, -1), (0.2, -1), (0.2, -0.3), (1, -0.3), (1, 1), (-1, 1), (-1, -1)])


def buildings(shapely: Any, side: float, seed: int = 0) -> NDArray[np.object_]:
    """Make turned L shapes, 8 to 24 wide, each on `side` squared of ground."""
    rng = np.random.default_rng(seed)
    turns = np.exp(1j * rng.random(COUNT) * np.pi)
    sizes = rng.uniform(4, 12, (COUNT, 1, 2))
    corners = (_FORM * sizes) @ np.array([1, 1j]) * turns[:, None]
    corners += ((rng.random((COUNT, 2)) * side * np.sqrt(COUNT)) @ np.array([1, 1j]))[:, None]
    made: NDArray[np.object_] = shapely.polygons(np.stack((corners.real, corners.imag), axis=2))
    return made


def nearest_scenes(shapely: Any) -> Iterator[tuple[str, Any, Any, float]]:
    """Make addresses, roads, plots and lakes of one town: what is searched for, among what, and the least ratio."""
    random = np.random.default_rng(2)
    side = 1000.0

    def walks(count: int, vertices: int) -> Any:
        turns = np.cumsum(random.normal(0, 0.4, (count, vertices)), axis=1) + random.uniform(0, 2 * np.pi, (count, 1))
        steps = np.stack((np.cos(turns), np.sin(turns)), axis=2) * 2
        return shapely.linestrings(random.uniform(0, side, (count, 1, 2)) + np.cumsum(steps, axis=1))

    def stars(count: int, vertices: int) -> Any:
        angles = np.linspace(0, 2 * np.pi, vertices, endpoint=False)
        radii = random.uniform(1, 3, (count, vertices, 1))
        rings = radii * np.stack((np.cos(angles), np.sin(angles)), axis=1)
        return shapely.polygons(random.uniform(0, side, (count, 1, 2)) + rings)

    addresses = shapely.points(random.uniform(0, side, (COUNT, 2)))
    roads, lakes = walks(20_000, 12), stars(20_000, 16)
    low = random.uniform(0, side, (2, 20_000))
    plots = shapely.box(*low, *(low + random.uniform(0.5, 4, (2, 20_000))))
    yield "20,000 roads to 10⁵ addresses", roads, addresses, 5.0
    yield "20,000 lakes to 10⁵ addresses", lakes, addresses, 3.0
    yield "20,000 plots to 10⁵ addresses", plots, addresses, 3.0
    yield "10⁵ addresses to 20,000 lakes", addresses, lakes, 3.0
    yield "20,000 roads to 20,000 roads", roads, walks(20_000, 12), 3.0
    yield "20,000 lakes to 20,000 lakes", lakes, stars(20_000, 16), 3.0
    yield "20,000 plots to 20,000 roads", plots, roads, 3.0
    yield "20,000 points to 10⁵ addresses", shapely.points(random.uniform(0, side, (20_000, 2))), addresses, 3.0


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows; each takes some seconds times `pace`."""
    shapely, ours = load("shapely", "shapely"), load("broadphase.adapters.shapely", "shapely")
    geopandas = load("geopandas", "geopandas")
    geometries = buildings(shapely, 60.0)
    for name, made in (("", geometries), ("dense ", buildings(shapely, 20.0))):
        for predicate, least in ((None, 1.0), ("intersects", 5.0), ("within", 1.0)):
            yield faster(
                f"tree of 10⁵ {name}buildings, and its self-join, {predicate or 'boxes only'}",
                lambda g=made, p=predicate: shapely.STRtree(g).query(g, p),  # type: ignore[misc]
                lambda g=made, p=predicate: ours.STRtree(g).query(g, p),  # type: ignore[misc]
                least,
                2 * pace,
            )
    frame = geopandas.GeoDataFrame({"number": np.arange(COUNT)}, geometry=geometries)

    def join(sjoin: Any) -> None:
        fresh = frame.copy()  # without the tree of the last join
        sjoin(fresh, fresh)

    yield faster(
        "sjoin of 10⁵ buildings with themselves", lambda: join(geopandas.sjoin), lambda: join(ours.sjoin), 5.0, 2 * pace
    )
    others = geopandas.GeoDataFrame({"other": np.arange(COUNT)}, geometry=buildings(shapely, 60.0, seed=1))

    def overlap(areas: Any) -> None:
        areas(frame.copy(), others.copy())

    yield faster(
        "areas of overlap of 10⁵ buildings and as many",
        lambda: overlap(lambda one, other: geopandas.overlay(one, other).area),
        lambda: overlap(lambda one, other: ours.sjoin(one, other, area_col="area")),
        3.0,
        2 * pace,
    )
    their_tree, our_tree = shapely.STRtree(geometries), ours.STRtree(geometries)
    windows = shapely.buffer(shapely.centroid(geometries[:1000]), 100.0)
    for what, asked, options in (
        ("1000 circles in a tree of 10⁵, dwithin", windows, {"predicate": "dwithin", "distance": 10.0}),
        ("1000 circles in a tree of 10⁵, intersects", windows, {"predicate": "intersects"}),
        ("10 circles in a tree of 10⁵, intersects", windows[:10], {"predicate": "intersects"}),
    ):
        yield faster(
            what,
            lambda a=asked, o=options: their_tree.query(a, **o),  # type: ignore[misc]
            lambda a=asked, o=options: our_tree.query(a, **o),  # type: ignore[misc]
            1.0,
            pace,
        )
    random = np.random.default_rng(1)
    turn = np.linspace(0, 2 * np.pi, 5000, endpoint=False)
    ring = np.stack((np.cos(turn), np.sin(turn)), axis=1) * (1 + 0.1 * np.sin(50 * turn[:, None]))
    outlines = shapely.polygons(ring * 0.3 + random.uniform(-3, 3, (300, 1, 2)))
    points = shapely.points(random.uniform(-1, 1, (COUNT, 2)))
    around = shapely.box(-4, -4, *np.full((2, 64), 4.0))
    for what, searched, asked in (
        ("300 outlines of 5000 vertices and themselves", outlines, outlines),
        ("64 windows around 300 outlines of 5000 vertices", outlines, around),
        ("10⁵ points in one polygon of 5000 vertices", points, np.resize(shapely.polygons(ring), 64)),
        ("1000 coincident circles and themselves", np.resize(windows[:1], 1000), np.resize(windows[:1], 1000)),
    ):
        yield faster(
            f"{what}, intersects",
            lambda s=searched, a=asked: shapely.STRtree(s).query(a, "intersects"),  # type: ignore[misc]
            lambda s=searched, a=asked: ours.STRtree(s).query(a, "intersects"),  # type: ignore[misc]
            1.0,
            pace,
        )
    for what, searched, asked, least in nearest_scenes(shapely):
        yield faster(
            f"the nearest of {what}",
            lambda s=searched, a=asked: shapely.STRtree(s).query_nearest(a),  # type: ignore[misc]
            lambda s=searched, a=asked: ours.STRtree(s).query_nearest(a),  # type: ignore[misc]
            least,
            pace,
        )
    places = shapely.points(random.uniform(0, 400, (COUNT, 2)))
    discs = shapely.buffer(shapely.points(random.uniform(0, 400, (4000, 2))), random.uniform(2, 10, 4000), quad_segs=16)
    steps = random.normal(0, 1.4, (30_000, 5, 2))
    lines = shapely.linestrings(random.uniform(0, 400, (30_000, 1, 2)) + steps.cumsum(axis=1))
    for what, searched, asked, predicate, least in (
        ("10⁵ points in a tree of 4,000 discs", discs, places, "within", 6.0),
        ("10⁵ points in a tree of 4,000 discs", discs, places, "intersects", 6.0),
        ("4,000 discs in a tree of 10⁵ points", places, discs, "contains", 4.0),
        ("30,000 lines in a tree of 4,000 discs", discs, lines, "intersects", 2.0),
        ("30,000 lines in a tree of 4,000 discs", discs, lines, "crosses", 2.0),
        ("outlines of 5000 vertices and themselves", outlines, outlines, "contains_properly", 0.9),
    ):
        yield faster(
            f"{what}, {predicate}",
            lambda s=searched, a=asked, p=predicate: shapely.STRtree(s).query(a, p),  # type: ignore[misc]
            lambda s=searched, a=asked, p=predicate: ours.STRtree(s).query(a, p),  # type: ignore[misc]
            least,
            pace,
        )
    for name in ("query", "nearest"):
        yield faster(
            f"{name} by one, in a tree of 10⁵",
            lambda name=name: [getattr(their_tree, name)(one) for one in windows[:50]],  # type: ignore[misc]
            lambda name=name: [getattr(our_tree, name)(one) for one in windows[:50]],  # type: ignore[misc]
            1.0,
            pace,
        )
