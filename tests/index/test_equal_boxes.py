"""Queries of an index with many exact copies of a few boxes: every answer is as if each row were tested."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import broadphase as bp
from oracles import queries as oracle

TREES = ("Index", "BVH", "Octree", "LinearTree")
KINDS, COPIES = 12, 250
FEW, MANY = 12, 540  # queries: one by one, and so many that they are walked together
ROUNDS = 3  # copies are found out by queries that visit many rows


def scene(dimension: int, dtype: Any, *, size: float = 0.2) -> tuple[NDArray[Any], dict[str, NDArray[np.float64]]]:
    """Return boxes, in a mixed order, and where to ask: in boxes, on them, and far away."""
    random = np.random.default_rng([dimension, np.dtype(dtype).itemsize, int(10 * size)])
    lower = random.random((KINDS, dimension))
    kinds = np.stack([lower, lower + size], axis=1).astype(dtype)
    points = random.random((FEW, dimension)) * 1.5 - 0.25
    points[:4] = kinds[:4, 0]
    points[4] += 1e9
    half = 0.01 + 0.02 * random.random((FEW, dimension))
    ways = random.normal(size=(FEW, dimension))
    ways[:3, 1:] = 0
    moving = np.stack([points - half, points + half], axis=1)
    boxes = kinds[random.permutation(np.repeat(np.arange(KINDS), COPIES))]
    return boxes, {"points": points, "ways": ways, "moving": moving}


def check(index: Any, asked: dict[str, NDArray[np.float64]], label: str, **allowed: Any) -> None:
    """Compare all that walks to a first row with the oracle: for few queries, for many, and one by one."""
    options, known = allowed.get("options", {}), allowed.get("known", {})
    rows = allowed.get("rows", index.rows)
    boxes = index.boxes_of(rows)
    points, ways, moving = asked["points"], asked["ways"], asked["moving"]
    known = {"rows": rows, **known}
    rays, casts = oracle.raycast(boxes, points, ways, **known), oracle.shapecast(boxes, moving, ways, **known)
    every, any_ = (
        oracle.raycast_all(boxes, points, ways, 2.0, **known),
        oracle.raycast_any(boxes, points, ways, **known),
    )
    near = {k: oracle.nearest(boxes, points, k, 2.0, **known) for k in (1, 3, COPIES + 20)}
    times = -(-MANY // FEW)

    def tiled(values: NDArray[Any]) -> NDArray[Any]:
        return np.tile(values, (times,) + (1,) * (values.ndim - 1))

    for _ in range(ROUNDS):
        oracle.assert_same_answers(index.raycast(points, ways, **options), rays, f"{label}, rays")
        oracle.assert_same_answers(index.shapecast(moving, ways, **options), casts, f"{label}, casts")
        oracle.assert_same_answers(index.raycast_all(points, ways, 2.0, **options), every, f"{label}, all on rays")
        assert np.array_equal(index.raycast_any(points, ways, **options), any_), label
        for k, expected in near.items():
            oracle.assert_same_answers(index.nearest(points, k, 2.0, **options), expected, f"{label}, {k} nearest")
        for k in (1, 3):
            found = index.nearest(tiled(points), k, 2.0, **options)
            oracle.assert_same_answers(found, tuple(tiled(part) for part in near[k]), f"{label}, many, {k} nearest")
        found = index.raycast(tiled(points), tiled(ways), **options)
        oracle.assert_same_answers(found, tuple(tiled(part) for part in rays), f"{label}, many rays")
        found = index.shapecast(tiled(moving), tiled(ways), **options)
        oracle.assert_same_answers(found, tuple(tiled(part) for part in casts), f"{label}, many casts")
        for query in range(FEW):
            point, way = points[query], ways[query]
            assert tuple(index.raycast(point, way, **options)) == tuple(part[query] for part in rays), label
            assert tuple(index.shapecast(moving[query], way, **options)) == tuple(part[query] for part in casts), label
            single = index.nearest(point, 3, 2.0, **options)
            assert all(np.array_equal(part, of[query]) for part, of in zip(single, near[3], strict=True)), label
            single, (hit, offsets, distances) = index.raycast_all(point, way, 2.0, **options), every
            part = slice(offsets[query], offsets[query + 1])
            assert np.array_equal(single[0], hit[part]), label
            assert np.array_equal(single[1], distances[part]), label


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0.2, 0.0])
def test_copies_are_found_in_the_order_of_rows(name: str, dtype: Any, size: float) -> None:
    for dimension in (1, 2, 3):
        boxes, asked = scene(dimension, dtype, size=size)
        check(getattr(bp, name)(boxes), asked, f"{name}, {dimension}")


@pytest.mark.parametrize("name", TREES)
def test_copies_are_found_after_every_change(name: str) -> None:
    boxes, asked = scene(3, np.float64)
    index = getattr(bp, name)(boxes)
    check(index, asked, f"{name}: at first")
    index.remove(np.arange(0, 200))
    check(index, asked, f"{name}: after a removal")
    index.insert(boxes[:90])
    check(index, asked, f"{name}: after an insertion")
    index.move(np.arange(300, 360), boxes[-60:])
    check(index, asked, f"{name}: after a few moves")
    index.move(index.rows[:1], boxes[:1] + 0.5)
    check(index, asked, f"{name}: after one move")
    index.update(index.boxes_of()[::-1])
    check(index, asked, f"{name}: after all have moved")
    lower = np.random.default_rng(1).random((len(index), 3))
    index.update((lower, lower + 0.1))
    check(index, asked, f"{name}: without copies")


@pytest.mark.parametrize("name", TREES)
def test_copies_that_a_filter_leaves_out_are_not_found(name: str) -> None:
    boxes, asked = scene(2, np.float64)
    random, every = np.random.default_rng(3), 2**64 - 1
    layer = np.uint64(1) << random.integers(0, 3, len(boxes)).astype(np.uint64)
    index = getattr(bp, name)(boxes, layer=layer)
    check(index, asked, f"{name}: all")
    for mask in (1, 6, 8):
        layers = (layer, every, every, mask)
        check(index, asked, f"{name}: mask {mask}", options={"mask": mask}, known={"layers": layers})
    for count in (1, 5, 40, 1500, len(boxes)):
        # The lowest row of each box that is touched is among these.
        ignored = np.sort(random.permutation(len(boxes))[:count] if count > 40 else np.arange(count))
        kept = np.setdiff1d(index.rows, ignored)
        check(index, asked, f"{name}: {count} ignored", options={"ignore": ignored[None]}, rows=kept)


def test_copies_that_single_queries_ignore_are_not_found() -> None:
    boxes, asked = scene(3, np.float64)
    others = np.random.default_rng(4).random((200, 1, 3)) + np.array([[0.0], [0.1]])
    boxes = np.concatenate([others, boxes])  # those have no copies that come in their place
    index = bp.Index(boxes)
    points, ways = np.tile(asked["points"], (50, 1)), np.tile(asked["ways"], (50, 1))
    for _ in range(ROUNDS):
        first = index.raycast(points, ways).rows, index.nearest(points).rows[:, 0]
        ignored = np.where(first[0] < 0, first[1], first[0])[:, None]
        rays, near = index.raycast(points, ways, ignore=ignored), index.nearest(points, 2, ignore=ignored)
        for query in range(FEW):
            kept = np.delete(np.arange(len(boxes)), ignored[query])
            expected = oracle.raycast(boxes[kept], points[[query]], ways[[query]], rows=kept)
            assert (rays.rows[query::FEW] == expected[0]).all()
            assert (near.rows[query::FEW] == oracle.nearest(boxes[kept], points[[query]], 2, rows=kept)[0]).all()


@pytest.mark.parametrize("name", TREES)
def test_copies_in_batches_are_found_in_the_order_of_rows_of_each(name: str) -> None:
    boxes, asked = scene(2, np.float64)
    random, every = np.random.default_rng(5), 2**64 - 1
    keys = random.choice([3, 7, 8, 2000], len(boxes), p=[0.5, 0.3, 0.199, 0.001])
    layer = np.uint64(1) << random.integers(0, 3, len(boxes)).astype(np.uint64)
    index = getattr(bp, name)(boxes, batch=keys, layer=layer)

    def check_all(label: str) -> None:
        for key in (3, 7, 8, 2000):
            own = index.rows[keys[index.rows] == key]
            check(index, asked, f"{name}, batch {key}: {label}", options={"batch": key}, rows=own)

    before = index._trees(1).memory_bytes
    check_all("at first")
    assert index._trees(1).memory_bytes > before  # what was checked is about the trees of boxes that differ
    own = index.rows[keys == 7]
    layers = {"layers": (layer[own], every, every, 6)}
    check(index, asked, f"{name}: with a mask", options={"batch": 7, "mask": 6}, rows=own, known=layers)
    index.remove(np.arange(0, 200))
    check_all("after a removal")
    index.move(np.arange(300, 360), boxes[-60:])
    check_all("after a few moves")


def test_many_queries_of_copies_in_batches_are_each_about_its_own() -> None:
    boxes, asked = scene(3, np.float64)
    random = np.random.default_rng(6)
    keys, of_query = random.integers(0, 4, len(boxes)), random.integers(0, 5, MANY)
    index = bp.Index(boxes, batch=keys)
    points, ways = np.resize(asked["points"], (MANY, 3)), np.resize(asked["ways"], (MANY, 3))
    expected = []
    for key in range(5):
        own, some = np.flatnonzero(keys == key), np.flatnonzero(of_query == key)
        hits = oracle.raycast(boxes[own], points[some], ways[some], rows=own)
        expected.append((some, hits, oracle.nearest(boxes[own], points[some], 3, rows=own)))
    for _ in range(ROUNDS):
        rays, near = index.raycast(points, ways, batch=of_query), index.nearest(points, 3, batch=of_query)
        hit = index.raycast_any(points, ways, batch=of_query)
        for key, (some, hits, nearest) in enumerate(expected):
            oracle.assert_same_answers((rays.rows[some], rays.distances[some]), hits, f"rays of {key}")
            assert np.array_equal(hit[some], hits[0] >= 0)
            oracle.assert_same_answers((near.rows[some], near.distances[some]), nearest, f"nearest of {key}")


def test_copies_that_differing_masks_leave_are_found() -> None:
    boxes, asked = scene(2, np.float64)
    random, every = np.random.default_rng(7), 2**64 - 1
    # By the first bits a half and less match, by the last one a single row of a kind.
    layer = np.uint64(1) << np.minimum(random.geometric(0.5, len(boxes)), 11).astype(np.uint64)
    index = bp.BVH(boxes, layer=layer)
    masks = np.resize(np.uint64(1) << np.arange(1, 13, dtype=np.uint64), MANY)
    points, ways = np.resize(asked["points"], (MANY, 2)), np.resize(asked["ways"], (MANY, 2))
    points, ways = random.permutation(points), random.permutation(ways)
    some_of = {int(mask): masks == mask for mask in np.unique(masks)}
    known = {mask: {"layers": (layer, every, every, mask)} for mask in some_of}
    hits = {mask: oracle.raycast(boxes, points[some], ways[some], **known[mask]) for mask, some in some_of.items()}
    nearest = {mask: oracle.nearest(boxes, points[some], 3, **known[mask]) for mask, some in some_of.items()}
    for _ in range(2 * ROUNDS):
        rays, near = index.raycast(points, ways, mask=masks), index.nearest(points, 3, mask=masks)
        for mask, some in some_of.items():
            oracle.assert_same_answers((rays.rows[some], rays.distances[some]), hits[mask], f"rays by {mask}")
            oracle.assert_same_answers((near.rows[some], near.distances[some]), nearest[mask], f"nearest by {mask}")
