"""Pairs and shared elements that searches leave out, against the plain search; queries of a periodic cell."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import broadphase as bp
from benchmarks.measuring import median_times
from benchmarks.rows import Row, ratio
from benchmarks.tables import grouped
from broadphase.testing import make_scene

COUNT = 100_000
MOST = 3.0  # × plain, per number that is read and per pair


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows of filters by what they leave out, and of queries in a cell."""
    boxes, rng = make_scene("uniform_2d", COUNT, dtype=np.float64), np.random.default_rng(1)
    found = bp.pairs(boxes)
    plain, several = partial(bp.pairs, boxes), rng.permutation(found)
    for count in (1000, len(found) // 2, len(found)):
        calls = {"plain": plain, "filtered": partial(bp.pairs, boxes, ignore_pairs=several[:count])}
        times = median_times(calls, budget=2 * pace)
        scale = (COUNT + len(found)) / (COUNT + len(found) + count)
        what = f"pairs, ignore_pairs of {grouped(count)} of {grouped(len(found))}, per row and pair"
        yield ratio(what, times["filtered"], times["plain"], MOST, scale)
    for width in (3, 16, 64, 128):
        shared = rng.integers(0, 1 << 30, (COUNT, width))
        times = median_times(
            {"plain": plain, "filtered": partial(bp.pairs, boxes, ignore_shared=shared)}, budget=2 * pace
        )
        scale = (COUNT + len(found)) / (COUNT + len(found) + shared.size)
        what = f"pairs, ignore_shared of {width} columns, per number and pair"
        yield ratio(what, times["filtered"], times["plain"], MOST, scale)
    yield from cell_rows(pace)


def cell_rows(pace: float) -> Iterator[Row]:
    """Compare queries of an index in a periodic cell with those of a plain one."""
    for scene in ("uniform_2d", "uniform"):
        boxes = make_scene(scene, COUNT, dtype=np.float64)
        boxes -= boxes[:, 0].min(axis=0)
        plain = bp.Index(boxes)
        cell = bp.Index(boxes, period=boxes.max(axis=(0, 1)))
        some = boxes[:5000]
        centers, radii = some.mean(axis=1), np.ptp(some, axis=1)[:, 0]
        for name, given in {"query": (some,), "query_ball": (centers, radii), "nearest": (centers, 8)}.items():
            calls = {"plain": partial(getattr(plain, name), *given), "cell": partial(getattr(cell, name), *given)}
            for _ in range(3):  # until both have what they keep for queries
                calls["plain"]()
                calls["cell"]()
            times = median_times(calls, budget=pace)
            what = f"{name} with a period, 5,000 of {scene} {grouped(COUNT)}"
            yield ratio(what, times["cell"], times["plain"], MOST)
