"""Many nearest rows of each point, and those nearest to points far away: the answers are those of the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import broadphase as bp
from oracles import queries as oracle

COUNT = 2000
FEW, SEVERAL, MANY = 6, 60, 520  # queries: in their own order, several in turn, and along a curve
WANTED = (5, 16, 17, 64, 300)
KINDS = ("even", "boxes", "crowds", "decades", "on a line", "along an axis", "in a plane", "twice", "equal")


def scene(kind: str, dim: int, dtype: Any, random: np.random.Generator) -> NDArray[Any]:
    """Return boxes, most of them points, that lie evenly or badly."""
    places = random.random((COUNT, dim))
    size = np.zeros_like(places)
    if kind == "boxes":
        size = random.random((COUNT, dim)) * 0.2
    if kind == "crowds":
        places = places[random.integers(0, 20, COUNT)] + random.normal(scale=1e-3, size=places.shape)
    if kind == "decades":
        places = 10.0 ** (16 * places - 8)
    if kind == "on a line":
        places[:] = places[:, :1]
    if kind == "along an axis":
        places[:, 1:] = 0.5
    if kind == "in a plane":
        places[:, -1] = 0.5
    if kind == "twice":
        places[COUNT // 2 :] = places[: COUNT // 2]
    if kind == "equal":
        places[:] = 0.3
    return np.stack([places, places + size], axis=1).astype(dtype)


def points_of(boxes: NDArray[Any], count: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return points beside the boxes, on them, and from 10^3 to 10^300 away."""
    points: NDArray[np.float64] = boxes[random.integers(0, COUNT, count), 0].astype(np.float64)
    points[::2] *= 1 + random.normal(scale=0.05, size=points[::2].shape)
    far = np.arange(1, count, 5)
    ways = random.normal(size=(len(far), points.shape[1]))
    ways[::3, 1:] = 0
    points[far] += ways * 10.0 ** random.choice([1, 3, 6, 9, 12, 15, 18, 100, 300], len(far))[:, np.newaxis]
    return points


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_many_nearest_of_any_scene_are_those_of_the_oracle(kind: str, dtype: Any) -> None:
    random = np.random.default_rng([KINDS.index(kind), np.dtype(dtype).itemsize])
    for dim in (1, 2, 3, 4):
        boxes = scene(kind, dim, dtype, random)
        index = bp.Index(boxes)
        for count, wanted in ((MANY, int(random.choice(WANTED))), (FEW, int(random.choice(WANTED)))):
            points = points_of(boxes, count, random)
            limits = np.where(random.random(count) < 0.7, np.inf, random.random(count) * 0.3)
            expected = oracle.nearest(boxes, points, wanted, limits)
            oracle.assert_same_answers(index.nearest(points, wanted, limits), expected, f"{kind}, {dim}, {wanted}")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_several_nearest_of_points_far_from_each_other_are_those_of_the_oracle(kind: str, dtype: Any) -> None:
    random = np.random.default_rng([KINDS.index(kind), np.dtype(dtype).itemsize, 1])
    for dim in (1, 2, 3, 4):
        boxes = scene(kind, dim, dtype, random)
        index = bp.Index(boxes)
        for wanted in (1, 2, 4, 8, 9, 16):
            points = points_of(boxes, SEVERAL, random)
            limits = np.where(random.random(SEVERAL) < 0.7, np.inf, random.random(SEVERAL) * 0.3)
            expected = oracle.nearest(boxes, points, wanted, limits)
            label = f"{kind}, {dim}, {wanted}"
            oracle.assert_same_answers(index.nearest(points, wanted, limits), expected, label)
            oracle.assert_same_answers(index.nearest(points, wanted, limits, workers=2), expected, label)


@pytest.mark.parametrize("tree", ["BVH", "Octree", "LinearTree"])
def test_each_tree_finds_the_same_many_nearest(tree: str) -> None:
    random = np.random.default_rng(3)
    boxes = scene("boxes", 3, np.float64, random)
    points = points_of(boxes, MANY, random)
    oracle.assert_same_answers(getattr(bp, tree)(boxes).nearest(points, 40), oracle.nearest(boxes, points, 40))


@pytest.mark.parametrize("count", [1, 7, 16, 17, 40])
def test_more_nearest_than_there_are_rows_are_all_of_them(count: int) -> None:
    random = np.random.default_rng(count)
    boxes = scene("boxes", 2, np.float64, random)[:count]
    points = points_of(scene("boxes", 2, np.float64, random), MANY, random)
    found = bp.Index(boxes).nearest(points, 100)
    oracle.assert_same_answers(found, oracle.nearest(boxes, points, found.rows.shape[1]))


@pytest.mark.parametrize("kind", ["even", "twice", "equal"])
def test_many_nearest_of_few_rows_that_match_are_those_among_them(kind: str) -> None:
    random = np.random.default_rng(7)
    boxes = scene(kind, 3, np.float64, random)
    points = points_of(boxes, MANY, random)
    for share in (0.5, 0.02):
        layers = np.where(random.random(COUNT) < share, np.uint64(2), np.uint64(1))
        chosen = np.flatnonzero(layers == 2)
        rows, distances = oracle.nearest(boxes[chosen], points, 30)
        for asked in (points, points[:FEW]):
            found = bp.Index(boxes, layer=layers).nearest(asked, 30, mask=2)
            assert np.array_equal(found.rows, chosen[rows[: len(asked)]])
            assert np.array_equal(found.distances, distances[: len(asked)])


def test_many_nearest_to_rows_leave_out_these() -> None:
    random = np.random.default_rng(8)
    boxes = scene("even", 3, np.float64, random)
    rows = random.choice(COUNT, MANY, replace=False)
    index = bp.Index(boxes)
    everything = oracle.nearest(boxes, boxes[rows, 0], 31)[0]
    found = index.nearest(rows=rows, k=30)
    for own, among, of in zip(rows, everything, found.rows, strict=True):
        assert of.tolist() == among[among != own].tolist()
    ignored = np.arange(0, COUNT, 3)
    others = np.setdiff1d(np.arange(COUNT), ignored)
    expected = oracle.nearest(boxes[others], boxes[rows, 0], 30)[0]
    assert np.array_equal(index.nearest(boxes[rows, 0], 30, ignore=ignored[np.newaxis]).rows, others[expected])


def test_many_nearest_in_batches_are_those_of_each() -> None:
    random = np.random.default_rng(9)
    boxes = scene("even", 2, np.float64, random)
    keys, points = np.arange(COUNT) % 5, points_of(boxes, MANY, random)
    of_points = np.arange(MANY) % 5
    found = bp.Index(boxes, batch=keys).nearest(points, 20, batch=of_points)
    for key in range(5):
        own, asked = np.flatnonzero(keys == key), of_points == key
        expected = oracle.nearest(boxes[own], points[asked], 20)
        assert np.array_equal(found.rows[asked], own[expected[0]])
        assert np.array_equal(found.distances[asked], expected[1])


def test_many_nearest_are_the_same_on_each_thread_and_after_changes() -> None:
    random = np.random.default_rng(10)
    boxes = scene("boxes", 3, np.float64, random)
    index = bp.BVH(boxes)
    points = points_of(boxes, MANY, random)
    oracle.assert_same_answers(index.nearest(points, 50, workers=2), index.nearest(points, 50))
    moved = random.choice(COUNT, 300, replace=False)
    boxes[moved] += 5
    index.move(moved, boxes[moved])
    oracle.assert_same_answers(index.nearest(points, 50), oracle.nearest(boxes, points, 50))


def test_points_at_infinity_are_refused() -> None:
    index = bp.Index([[0, 0, 1, 1], [2, 2, 3, 3]])
    for far in (np.inf, -np.inf, np.nan):
        with pytest.raises(ValueError, match="points: row 0"):
            index.nearest([[0.0, far]], 20)
