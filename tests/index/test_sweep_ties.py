"""The first row that rays and moving boxes touch where many rows are alike: at once, after changes, in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import broadphase as bp
from oracles import queries as oracle

TREES = ("Index", "BVH", "Octree", "LinearTree")
COUNT = 2000  # blocks enough for a walk to leave out those that tie
FEW = 24
TURNS = 22  # so often the same queries, which are then enough to be walked in turns


def boxes_of(kind: str, dimension: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return boxes of which many are touched at the same time."""
    kinds = {"all equal": 1, "40 of each": COUNT // 40, "pairs": COUNT // 2}
    count = kinds.get(kind, COUNT)
    lower = random.random((count, 1, dimension))
    if kind == "one wall":  # touched at one time, and no two alike
        lower[:, :, 0] = 0.5
    boxes = np.concatenate([lower, lower + 0.1], axis=1)[np.arange(COUNT) % count]
    return boxes if kind == "one wall" else boxes[random.permutation(COUNT)]


def queries_of(boxes: NDArray[Any], count: int, random: np.random.Generator) -> tuple[NDArray[Any], ...]:
    """Return points in boxes and elsewhere, boxes around them, and motions, some of them along an axis."""
    dimension = boxes.shape[2]
    points = random.random((count, dimension)) * 1.5 - 0.25
    points[::3] = boxes.mean(axis=1)[random.integers(0, COUNT, len(points[::3]))]
    ways = random.normal(size=(count, dimension))
    ways[::4, 1:] = 0
    half = 0.01 + 0.02 * random.random((count, dimension))
    return points, np.stack([points - half, points + half], axis=1), ways


@pytest.mark.parametrize("kind", ["all equal", "40 of each", "pairs", "one wall"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_of_rows_that_tie_is_the_lowest(kind: str, dtype: Any) -> None:
    for dimension in (1, 2, 3):
        random = np.random.default_rng([len(kind), dimension, np.dtype(dtype).itemsize])
        boxes = boxes_of(kind, dimension, random).astype(dtype)
        points, moving, ways = queries_of(boxes, FEW, random)
        rays, casts = oracle.raycast(boxes, points, ways), oracle.shapecast(boxes, moving, ways)
        many = tuple(np.tile(part, TURNS) for part in rays)
        for name in TREES:
            index = getattr(bp, name)(boxes)
            for _ in range(2):
                label = f"{name}, {kind}, {dimension}"
                found = index.raycast(np.tile(points, (TURNS, 1)), np.tile(ways, (TURNS, 1)))
                oracle.assert_same_answers(found, many, label)
                oracle.assert_same_answers(index.raycast(points, ways), rays, f"{label}, few")
                oracle.assert_same_answers(index.shapecast(moving, ways), casts, f"{label}, casts")


@pytest.mark.parametrize("name", TREES)
def test_the_first_of_rows_that_tie_follows_every_change(name: str) -> None:
    random = np.random.default_rng(3)
    boxes = boxes_of("40 of each", 3, random)
    index = getattr(bp, name)(boxes)
    points, _, ways = queries_of(boxes, FEW, random)

    def check(what: str) -> None:
        expected = oracle.raycast(index.boxes_of(), points, ways, rows=index.rows)
        for _ in range(2):
            oracle.assert_same_answers(index.raycast(points, ways), expected, f"{name}: {what}")

    check("at first")
    index.remove(np.arange(0, 60))
    check("after a removal")
    index.insert(boxes[:40])
    check("after an insertion")
    index.move(np.arange(100, 130), boxes[-30:])
    check("after a few moves")
    index.update(index.boxes_of()[::-1])
    check("after all have moved")


def test_the_first_of_rows_that_tie_is_one_that_a_mask_allows() -> None:
    random = np.random.default_rng(4)
    boxes = boxes_of("40 of each", 2, random)
    layer = np.uint64(1) << random.integers(0, 3, COUNT).astype(np.uint64)
    points, _, ways = queries_of(boxes, FEW, random)
    index, every = bp.BVH(boxes, layer=layer), 2**64 - 1
    for mask in (1, 2, 6):
        expected = oracle.raycast(boxes, points, ways, layers=(layer, every, every, mask))
        for _ in range(3):
            oracle.assert_same_answers(index.raycast(points, ways, mask=mask), expected)


@pytest.mark.parametrize("name", TREES)
def test_nearest_of_points_over_sixteen_decades(name: str) -> None:
    for dimension in (1, 2, 3, 4):
        random = np.random.default_rng([5, dimension])
        points = 10.0 ** random.uniform(-8, 8, (6000, dimension)) * random.choice([-1, 1], (6000, dimension))
        points[::50] = points[1::50]  # some twice
        asked = np.concatenate(
            [points[:40] * (1 + 1e-6), points[40:60], 10.0 ** random.uniform(-9, 9, (40, dimension))]
        )
        index = getattr(bp, name)((points, points))
        for k in (1, 8):
            expected = oracle.nearest(np.stack([points, points], axis=1), asked, k)
            oracle.assert_same_answers(index.nearest(asked, k), expected, f"{name}, {dimension}")
        around = np.abs(asked) * 1e-3
        corners = np.stack([asked - around, asked + around], axis=1)
        oracle.assert_same_answers(index.query(corners), oracle.query(np.stack([points, points], axis=1), corners))
