"""The nearest of many rows that floats, or distances, do not tell apart: at once, after changes, from any distance."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import broadphase as bp
from oracles import queries as oracle

TREES = ("Index", "BVH", "Octree", "LinearTree")
COUNT = 2500  # blocks enough for a walk to turn to exact bounds
MANY = 520  # queries enough to be walked in groups


def boxes_of(kind: str, dtype: Any, random: np.random.Generator) -> NDArray[Any]:
    """Return boxes of which many are as near as others."""
    places = random.random((COUNT, 3))
    if kind == "equal":
        places[:] = 0.1
    if kind == "half equal":
        places[::2] = [0.1, 0.7, 0.3]
    if kind == "lattice":
        places = np.floor(places * 4)
    if kind == "sphere":
        places = (places - 0.5) / np.sqrt(((places - 0.5) ** 2).sum(axis=1, keepdims=True))
    size = 3.0 * random.random((COUNT, 3)) if kind == "around all" else np.zeros((COUNT, 3))
    return np.stack([places - size, places + size], axis=1).astype(dtype)


def points_of(random: np.random.Generator) -> NDArray[np.float64]:
    """Return points near and far, each twice along an axis and across all."""
    near = random.random((2, 3))
    away = np.array([0.0, 1e3, 1e6, 1e12, 1e200])[:, None, None] * np.array([[1.0, 1.0, 1.0], [0.0, -1.0, 0.0]])
    return np.concatenate([(near + away).reshape(-1, 3), [[0.0, 0.0, 0.0], [0.1, 0.7, 0.3]]])


KINDS = ("equal", "half equal", "lattice", "sphere", "around all", "points")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearest_of_rows_that_are_equally_near_are_the_lowest(kind: str, dtype: Any) -> None:
    random = np.random.default_rng([len(kind), np.dtype(dtype).itemsize])
    boxes, points = boxes_of(kind, dtype, random), points_of(random)
    for wanted, limit in ((1, np.inf), (5, np.inf), (40, 1e6)):
        expected = oracle.nearest(boxes, points, wanted, limit)
        for name in TREES:
            found = getattr(bp, name)(boxes).nearest(points, wanted, limit)
            oracle.assert_same_answers(found, expected, f"{name} {kind} {wanted}")
    many = np.resize(points, (MANY, 3))
    expected = oracle.nearest(boxes, points, 3)
    found = bp.BVH(boxes).nearest(many, 3)
    for part, wanted_part in zip((found.rows, found.distances), expected, strict=True):
        assert np.array_equal(part, np.resize(wanted_part, (MANY, 3)))


@pytest.mark.parametrize("name", TREES)
def test_nearest_of_equal_rows_follow_every_change(name: str) -> None:
    random = np.random.default_rng(1)
    boxes, points = boxes_of("equal", np.float64, random), points_of(random)
    index = getattr(bp, name)(boxes)

    def check(what: str) -> None:
        rows = index.rows
        expected = oracle.nearest(index.boxes_of(), points, 4, rows=rows)
        oracle.assert_same_answers(index.nearest(points, 4), expected, f"{name}: {what}")

    check("at first")
    index.remove([0, 1, 7])
    check("after a removal")
    index.insert(boxes[:2] + 0.001)
    check("after an insertion")
    index.move([5, 6, 2000], boxes[:3] - 0.001)
    check("after a few moves")
    index.update(boxes[: len(index)] + np.arange(len(index))[::-1, None, None] % 3)
    check("after all have moved")
    if name == "BVH":
        index.optimize()
        check("after better grouping")


def test_nearest_of_equal_rows_with_layers_are_the_lowest_allowed() -> None:
    random = np.random.default_rng(2)
    boxes, points = boxes_of("equal", np.float32, random), points_of(random)
    layers = np.uint64(1) << random.integers(0, 3, COUNT, dtype=np.uint64)
    for mask in (1, 6):
        allowed = np.flatnonzero(layers & np.uint64(mask))
        rows, distances = bp.BVH(boxes, layer=layers).nearest(points, 6, mask=mask)
        expected = oracle.nearest(boxes[allowed], points, 6)
        assert np.array_equal(rows, allowed[expected[0]])
        assert np.array_equal(distances, expected[1])


def test_nearest_of_equal_rows_in_many_threads_are_those_of_one() -> None:
    random = np.random.default_rng(3)
    boxes, points = boxes_of("equal", np.float64, random), points_of(random)
    expected = oracle.nearest(boxes, points, 4)
    for _ in range(5):
        index = bp.BVH(boxes)
        with ThreadPoolExecutor(4) as threads:
            for found in threads.map(index.nearest, [points] * 8, [4] * 8):
                oracle.assert_same_answers(found, expected)
