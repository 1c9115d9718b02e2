"""Points within a cutoff: beside SciPy, and vesin where it is installed; steps with a skin; points off the road."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import Timing, median_times
from benchmarks.rows import Row, ratio

_WANTED: dict[str, Any] = {"distances": True, "shifts": True}


def rows(pace: float) -> Iterator[Row]:
    """Measure half and full lists, updates, and points that are not spread evenly."""
    for count, around in ((100, 20), (10_000, 12), (10_000, 60), (100_000, 40), (1_000_000, 12)):
        yield from _beside_others(count, around, pace)
    yield from _nearest(pace)
    yield from _in_batches(pace)
    yield from _in_tiny_cells(pace)
    yield from _own_cutoffs(pace)
    yield from _small_with_own_cutoffs(pace)
    yield from _updates_in_a_thin_cell(pace)
    points, edge, cutoff = _cube(100_000, 40)
    yield from _updates(points, edge, cutoff, pace)
    yield from _sorted(points, cutoff, pace)
    calls: dict[str, Callable[[], Any]] = {"even": lambda: bp.neighbors(points, cutoff, **_WANTED)}
    far = points.copy()
    far[::30_000] *= 1e12
    calls["far"] = lambda: bp.neighbors(far, cutoff, **_WANTED)
    skewed = [[edge, 0, 0], [40 * edge, edge, 0], [-7 * edge, 90 * edge, edge]]
    calls["skewed"] = lambda: bp.neighbors(points, cutoff, cell=skewed, **_WANTED)
    line = np.zeros((100_000, 3))
    line[:, 1] = np.arange(100_000) / 20
    calls["line"] = lambda: bp.neighbors(line, 1.0, **_WANTED)
    reaches = np.full(len(points), cutoff / 2)
    calls["own"] = lambda: bp.neighbors(points, reaches, **_WANTED)
    uneven = reaches.copy()
    uneven[:3] *= 10  # a pair of them and an ordinary one is found up to 5.5 cutoffs apart
    calls["uneven"] = lambda: bp.neighbors(points, uneven, **_WANTED)
    found = median_times(calls, budget=4 * pace)
    yield ratio("neighbors of 10⁵ points with own cutoffs, of one for all", found["own"], found["even"], 1.5)
    yield ratio("neighbors of 10⁵ points, cutoffs of three ten times as long", found["uneven"], found["own"], 1.5)
    yield ratio("neighbors of 10⁵ points, four of them far away", found["far"], found["even"], 1.2)
    yield ratio("neighbors of 10⁵ points in a skewed cell", found["skewed"], found["even"], 1.5)
    yield ratio("neighbors of 10⁵ points on a line", found["line"], found["even"], 2.0)


def _cube(count: int, around: float) -> tuple[Any, float, float]:
    """Make points with so many neighbors each in a periodic cube; return its edge and the cutoff, too."""
    edge = count ** (1 / 3)
    return np.random.default_rng(1).random((count, 3)) * edge, edge, (around * 3 / (4 * np.pi)) ** (1 / 3)


def _beside_others(count: int, around: int, pace: float) -> Iterator[Row]:
    points, edge, cutoff = _cube(count, around)
    what = f"{count:,} points, {around} neighbors"
    calls: dict[str, Callable[[], Any]] = {
        "half": lambda: bp.neighbors(points, cutoff, cell=[edge] * 3, **_WANTED),
        "full": lambda: bp.neighbors(points, cutoff, cell=[edge] * 3, full=True, **_WANTED),
    }
    if find_spec("scipy"):
        tree = import_module("scipy.spatial").cKDTree
        calls["SciPy"] = lambda: tree(points, boxsize=[edge] * 3).query_pairs(cutoff, output_type="ndarray")
    if find_spec("vesin"):
        vesin = import_module("vesin").NeighborList
        box = np.eye(3) * edge
        options: dict[str, Any] = {"periodic": True, "quantities": "ijSd"}
        calls["vesin"] = lambda: vesin(cutoff=cutoff, full_list=False).compute(points, box, **options)
        calls["vesin, full"] = lambda: vesin(cutoff=cutoff, full_list=True).compute(points, box, **options)
    found = median_times(calls, budget=2 * pace)
    least = 1.0 if count < 1000 else 5.0
    for name in ("SciPy", "vesin"):
        if name in found:
            yield _gain(f"{what}: half list, of {name}'s speed", found[name], found["half"], least)
    if "vesin" in found:
        yield _gain(f"{what}: full list, of vesin's speed", found["vesin, full"], found["full"], min(least, 3.0))


def _nearest(pace: float) -> Iterator[Row]:
    """Measure the k nearest of points beside SciPy's tree, which is built, too; and in a skewed cell."""
    points, edge, _ = _cube(100_000, 8)
    cell = np.array([[1, 0, 0], [0.45, 1, 0], [-0.4, 0.35, 1]]) * edge
    skewed = points / edge @ cell
    for k in (1, 8, 64):
        calls: dict[str, Callable[[], Any]] = {
            "open": partial(bp.neighbors, points, k=k, distances=True),
            "cell": partial(bp.neighbors, points, k=k, distances=True, cell=[edge] * 3),
            "skewed": partial(bp.neighbors, skewed, k=k, distances=True, cell=cell),
        }
        if find_spec("scipy"):
            calls["SciPy, open"] = partial(_nearest_by_scipy, points, k, None)
            calls["SciPy, cell"] = partial(_nearest_by_scipy, points, k, [edge] * 3)
        found = median_times(calls, budget=2 * pace)
        what = f"{k} nearest of 10⁵ points"
        for where in ("open", "cell"):
            if f"SciPy, {where}" in found:
                yield _gain(f"{what}, {where}, of SciPy's speed", found[f"SciPy, {where}"], found[where], 3.0)
        yield ratio(f"{what} in a skewed cell, of an orthogonal one", found["skewed"], found["cell"], 1.3)


def _nearest_by_scipy(points: Any, k: int, box: list[float] | None) -> Any:
    return import_module("scipy.spatial").cKDTree(points, boxsize=box).query(points, k + 1)  # itself is the nearest


def _in_batches(pace: float) -> Iterator[Row]:
    """Measure systems in one place beside the same ones side by side, of equal and of very uneven sizes."""
    rng = np.random.default_rng(3)
    for count, each, around in ((4096, 50, 12), (100_000, 3, 2)):
        _, edge, cutoff = _cube(each, around)
        points = rng.random((count, each, 3)) * edge
        side = round(count ** (1 / 3) + 0.5)
        places = np.stack(np.unravel_index(np.arange(count), (side,) * 3), axis=1) * (edge + 1.01 * cutoff)
        apart = (points + places[:, np.newaxis]).reshape(-1, 3)
        calls = {"batches": partial(bp.neighbors, points, cutoff), "apart": partial(bp.neighbors, apart, cutoff)}
        found = median_times({name: partial(call, **_WANTED) for name, call in calls.items()}, budget=pace)
        yield ratio(
            f"neighbors of {count:,} systems of {each}, of them side by side", found["batches"], found["apart"], 1.0
        )
    large, edge, cutoff = _cube(100_000, 20)
    small = rng.random((300_000, 3)) * 2
    keys = np.concatenate([np.zeros(100_000, np.int64), np.repeat(np.arange(1, 100_001), 3)])
    points = np.concatenate([large, small])
    found = median_times(
        {
            "both": lambda: bp.neighbors(points, cutoff, batch=keys, **_WANTED),
            "each": lambda: (
                bp.neighbors(large, cutoff, **_WANTED),
                bp.neighbors(small.reshape(-1, 3, 3), cutoff, **_WANTED),
            ),
        },
        budget=pace,
    )
    yield ratio("neighbors of one system of 10⁵ beside 10⁵ of three, of two calls", found["both"], found["each"], 1.1)


def _in_tiny_cells(pace: float) -> Iterator[Row]:
    """Measure systems of a few points, each in a periodic cell of its own, beside the same ones in open space.

    There a system of one point has nothing to be compared with: those are measured beside points that have.
    """
    rng = np.random.default_rng(4)
    for each in (1, 2, 4, 12):
        points, cells = rng.random((8192, each, 3)), np.eye(3) + 0.1 * rng.random((8192, 3, 3))
        others = points.reshape(-1, 3) * 8192 ** (1 / 3) if each == 1 else points
        calls = {
            "cells": partial(bp.neighbors, points, 0.05, cell=cells, **_WANTED),
            "open": partial(bp.neighbors, others, 0.05, **_WANTED),
        }
        found = median_times(calls, budget=pace)
        where = "so many spread over open space" if each == 1 else "them in open space"
        what = f"neighbors of {each} points in each of 8,192 cells, small cutoff, of {where}"
        yield ratio(what, found["cells"], found["open"], 3.0)


def _own_cutoffs(pace: float) -> Iterator[Row]:
    """Measure log-normal cutoffs beside boxes around the points, and a filter in NumPy."""
    rng = np.random.default_rng(0)
    points = rng.random((100_000, 3))
    for spread, share in ((3, 300), (1, 5)):
        reaches = np.minimum(np.exp(rng.normal(0, spread, len(points))) * 0.0206 / share, 0.05)

        def by_boxes(reaches: Any = reaches) -> Any:
            pairs = bp.pairs(bp.boxes.from_spheres(points, reaches))
            ways = points[pairs[:, 0]] - points[pairs[:, 1]]
            near = np.einsum("ij,ij->i", ways, ways) <= (reaches[pairs[:, 0]] + reaches[pairs[:, 1]]) ** 2
            return pairs[near]

        calls: dict[str, Callable[[], Any]] = {
            "neighbors": partial(bp.neighbors, points, reaches),
            "boxes": by_boxes,
            "periodic": partial(bp.neighbors, points, reaches, cell=[1, 1, 1]),
        }
        found = median_times(calls, budget=2 * pace)
        what = f"neighbors of 10⁵ points, log-normal cutoffs (s = {spread})"
        yield ratio(f"{what}, of boxes and a filter in NumPy", found["neighbors"], found["boxes"], 1.0)
        yield ratio(f"{what}, in a periodic cell, of open space", found["periodic"], found["neighbors"], 3.0)


def _small_with_own_cutoffs(pace: float) -> Iterator[Row]:
    """Measure 1,000 points with log-normal cutoffs in a periodic cell beside a cutoff for all in it, by the pair."""
    rng = np.random.default_rng(5)
    points = rng.random((1000, 3))
    factors = np.exp(rng.normal(0, 1, 1000))
    reaches = np.minimum(0.159 * factors / np.mean((2 * factors) ** 3) ** (1 / 3), 0.5)
    calls = {"own": partial(bp.neighbors, points, reaches, cell=[1, 1, 1], **_WANTED)}
    calls["one"] = partial(bp.neighbors, points, 0.11, cell=[1, 1, 1], **_WANTED)
    pairs = {name: len(call().pairs) for name, call in calls.items()}
    found = median_times(calls, budget=pace)
    what = "neighbors of 1,000 points in a cell, log-normal cutoffs, of one for all, each pair"
    yield ratio(what, found["own"], found["one"], 3.0, scale=pairs["one"] / pairs["own"])


def _updates_in_a_thin_cell(pace: float) -> Iterator[Row]:
    """Measure a list of a corner of a thin cell, whose skin is longer than the cutoff, by the pairs that it keeps."""
    points = np.random.default_rng(6).random((4000, 3))
    calls: dict[str, Callable[[], Any]] = {}
    kept: dict[str, int] = {}
    for name, some, cutoff, skin, cell in (
        ("thin", points**6, 5e-5, 0.005, [1, 1, 0.05]),
        ("even", points, 0.12, 0.005, None),
    ):
        near = bp.NeighborList(cutoff, skin=skin, **_WANTED)
        calls[name] = partial(near.update, some, cell)
        calls[name]()
        kept[name] = len(bp.neighbors(some, cutoff + skin, cell=cell).pairs)
    found = median_times(calls, budget=pace)
    what = "NeighborList of a corner of a thin cell, of even points in open space, each pair within the skin"
    yield ratio(what, found["thin"], found["even"], 3.0, scale=kept["even"] / kept["thin"])


def _updates(points: Any, edge: float, cutoff: float, pace: float) -> Iterator[Row]:
    moved = points + np.random.default_rng(2).uniform(-0.02, 0.02, points.shape)
    kept = bp.NeighborList(cutoff, skin=0.2, **_WANTED)
    kept.update(points, [edge] * 3)
    calls = {
        "update": lambda: kept.update(moved, [edge] * 3),
        "rebuild": lambda: bp.NeighborList(cutoff, skin=0.2, **_WANTED).update(points, [edge] * 3),
    }
    found = median_times(calls, budget=2 * pace)
    assert kept.rebuilds == 1
    yield _gain("update of 10⁵ points with a skin, of a rebuild's speed", found["rebuild"], found["update"], 3.0)
    for full in (False, True):
        for what, step, least in (("steps of 0.01 cutoffs", 0.01, 1.3), ("steps of half a cutoff", 0.5, 0.95)):
            found = median_times(_walks(points, edge, cutoff, step, full=full), budget=4 * pace)
            name = f"10⁵ points, {what}, {'full' if full else 'half'} list, of the speed of searches"
            yield _gain(f"NeighborList of its own skin: {name}", found["searches"], found["list"], least)


def _walks(points: Any, edge: float, cutoff: float, step: float, *, full: bool) -> dict[str, Callable[[], Any]]:
    """Follow points for 20 steps of a random walk, with a list and by searches."""
    rng, frames = np.random.default_rng(3), [points]
    for _ in range(19):
        ways = rng.normal(size=points.shape)
        ways *= step * cutoff / np.linalg.norm(ways, axis=1, keepdims=True)
        frames.append((frames[-1] + ways) % edge)
    wanted: dict[str, Any] = {"distances": True, "vectors": True, "full": full}

    def followed() -> None:
        near = bp.NeighborList(cutoff, **wanted)
        for frame in frames:
            near.update(frame, [edge] * 3)

    def searched() -> None:
        for frame in frames:
            bp.neighbors(frame, cutoff, cell=[edge] * 3, **wanted)

    return {"list": followed, "searches": searched}


def _sorted(points: Any, cutoff: float, pace: float) -> Iterator[Row]:
    """Measure sorted lists beside unsorted ones; and points in a thin cell beside so many pairs in open space."""
    crowd = np.random.default_rng(5).normal(0, 0.03, (1000, 3))
    few, _, short = _cube(1000, 20)
    all_of_it: dict[str, Any] = {"vectors": True, **_WANTED}
    for name, some, reach, more in (
        ("10⁵ points, 40 neighbors", points, cutoff, {}),
        ("10⁵ points, 40 neighbors, with details", points, cutoff, _WANTED),
        ("1,000 points, 800 neighbors", crowd, 0.1, {}),
        ("1,000 points, 800 neighbors, with details", crowd, 0.1, all_of_it),
        ("1,000 points, 20 neighbors, full, with vectors", few, short, {"full": True, "vectors": True}),
    ):
        calls: dict[str, Callable[[], Any]] = {
            "sorted": partial(bp.neighbors, some, reach, sort=True, **more),
            "unsorted": partial(bp.neighbors, some, reach, **more),
        }
        found = median_times(calls, budget=pace)
        yield ratio(f"neighbors(sort=True) of {name}", found["sorted"], found["unsorted"], 3.0)
    line = np.full((4000, 3), 0.5)
    line[:, 2] = np.linspace(0, 1, 4000)
    reaches, near = np.full(4000, 0.02), np.full(4000, 0.44)
    calls = {
        "thin": partial(bp.neighbors, line, reaches, cell=[1, 1, 0.05], **_WANTED),
        "open": partial(bp.neighbors, line, near, **_WANTED),
    }
    pairs = {name: len(call().pairs) for name, call in calls.items()}
    found = median_times(calls, budget=pace)
    each = {name: found[name].milliseconds / pairs[name] for name in calls}
    yield Row(
        "neighbors of a line in a thin cell, of open space, each pair", each["thin"] / each["open"], "×", 3.0, False
    )


def _gain(what: str, other: Timing, ours: Timing, least: float) -> Row:
    gain = other.milliseconds / ours.milliseconds
    return Row(what, gain, "×", least, True, ours.milliseconds, other.milliseconds)
