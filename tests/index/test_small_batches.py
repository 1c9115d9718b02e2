"""The nearest rows of small batches, whose rows are compared side by side, as the oracle finds them."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import simd_level, simd_levels
from oracles import queries as plain

# Around those at which the kernel takes eight points, numbers its rows with eight bits, and keeps more.
SIZES = (1, 2, 7, 8, 9, 24, 65, 255, 256, 257)


def scene(rng, sizes, dim, *, reach=6, thick=True, dtype="float64"):
    """Return boxes on a lattice, where many distances are equal, and their keys, in any order."""
    keys = rng.permutation(np.repeat(rng.choice(2**40, len(sizes), replace=False) - 2**39, sizes))
    lower = rng.integers(0, reach + 1, (len(keys), dim)) / 2
    wide = rng.integers(0, 3, lower.shape) / 2 if thick else 0
    return np.stack([lower, lower + wide], axis=1).astype(dtype), keys


def check(index, boxes, keys, points, asked, k, *, limits=np.inf, ignored=None, **given):
    """Compare the nearest with the oracle among the rows of each key that the queries do not ignore."""
    found = index.nearest(points, k, limits, batch=asked, ignore=ignored, **given)
    assert found.rows.shape == found.distances.shape == (len(points), k)
    limits = np.broadcast_to(limits, len(points))
    for query, key in enumerate(asked):
        own = np.flatnonzero(keys == key)
        if ignored is not None:
            own = np.setdiff1d(own, np.atleast_1d(ignored[query]))
        rows, away = plain.nearest(boxes[own], points[query : query + 1], k, limits[query], rows=own)
        np.testing.assert_array_equal(found.rows[query], rows[0], err_msg=f"query {query}")
        np.testing.assert_array_equal(found.distances[query], away[0], err_msg=f"query {query}")


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
@pytest.mark.parametrize("level", simd_levels())
def test_nearest_of_small_batches_equal_the_oracle_on_each_level(level, dim):
    rng = np.random.default_rng(dim)
    boxes, keys = scene(rng, SIZES, dim, dtype=("float32", "float64")[dim % 2])
    points = boxes.mean(axis=1, dtype=np.float64)
    some = rng.choice(len(keys), 48)
    with simd_level(level):
        index = bp.BVH(boxes, batch=keys)
        for k in (1, 2, 3, 5, 8, 9, 15, 16, 17):
            check(index, boxes, keys, points[some], keys[some], k)
            own = some[:, np.newaxis]
            check(index, boxes, keys, points[own[:, 0]], keys[own[:, 0]], k, ignored=own)


@pytest.mark.parametrize("workers", [1, 3])
def test_nearest_of_rows_leave_themselves_out(workers):
    rng = np.random.default_rng(1)
    boxes, keys = scene(rng, [1, 2, 20, 24, 30, 33, 257], 2, thick=False)
    index = bp.Index(boxes, batch=keys)
    rows = np.arange(len(keys), dtype=np.int32)
    by_rows = index.nearest(rows=rows, k=4, batch=keys, workers=workers)
    check(index, boxes, keys, boxes[:, 0], keys, 4, ignored=rows[:, np.newaxis], workers=workers)
    others = index.nearest(boxes[:, 0], 4, batch=keys, ignore=rows)
    np.testing.assert_array_equal(by_rows.rows, others.rows)
    np.testing.assert_array_equal(by_rows.distances, others.distances)


@pytest.mark.parametrize("dim", [2, 3])
def test_limits_that_touch_are_decided_exactly(dim):
    rng = np.random.default_rng(2)
    boxes, keys = scene(rng, [24] * 5, dim)
    points = boxes[:, 0] + 0.5
    index = bp.Index(boxes, batch=keys)
    below = np.nextafter(np.sqrt(5) / 2, 0)
    for limits in (0.0, 0.5, 1.0, np.sqrt(0.5), np.sqrt(2), below, rng.integers(0, 5, 120) / 2):
        check(index, boxes, keys, points, keys, 6, limits=limits)
    tenths = boxes / 10  # distances of which squares are rounded
    check(bp.Index(tenths, batch=keys), tenths, keys, points / 10, keys, 6, limits=0.1)


def test_far_small_and_infinite_places_are_left_to_the_trees():
    rng = np.random.default_rng(3)
    boxes, keys = scene(rng, [20] * 8, 2)
    order = np.argsort(keys, kind="stable").reshape(8, 20)
    for batch, factor in zip(order, (1.0, 1e-200, 1e-320, 1e200, 1.7e307, 1.0, 1.0, 1.0), strict=True):
        boxes[batch] *= factor
    boxes[order[5][3]] = 1e300  # one is far away
    boxes[order[6][3], 1] = np.inf
    boxes[order[7][:3]] = np.inf
    points = np.where(np.isfinite(boxes[:, 0]), boxes[:, 0], 1.0)
    points[order[0][0]] = 1e300
    check(bp.Index(boxes, batch=keys), boxes, keys, points, keys, 5)
    check(bp.Index(boxes, batch=keys), boxes, keys, points, keys, 25, limits=1e290)


def test_ties_of_values_that_nearly_agree_are_decided_by_all_their_bits():
    rng = np.random.default_rng(4)
    nearly = 1 + rng.integers(0, 300, (160, 2)) * 2.0**-52
    keys = np.repeat(np.arange(8), 20)
    boxes = np.stack([nearly, nearly], axis=1)
    check(bp.Index(boxes, batch=keys), boxes, keys, np.zeros((160, 2)), keys, 4)
    one_place = np.ones((160, 2, 2))
    check(bp.Index(one_place, batch=keys), one_place, keys, np.zeros((160, 2)), keys, 4)
    check(bp.Index(one_place, batch=keys), one_place, keys, np.ones((160, 2)), keys, 30)


def test_batches_that_change_are_compared_as_they_are():
    rng = np.random.default_rng(5)
    boxes, keys = scene(rng, [3, 20, 30], 3)
    index = bp.BVH(boxes, batch=keys)
    for _ in range(4):
        moved = rng.choice(len(keys), 20, replace=False)
        boxes[moved], _ = scene(rng, [20], 3)
        index.move(moved, boxes[moved])
        check(index, boxes, keys, boxes[:, 1], keys, 4)
    index.remove(np.flatnonzero(keys == keys[0])[:2])
    gone = np.flatnonzero(~np.isin(np.arange(len(keys)), index.rows))
    keys[gone] = 2**50
    check(index, boxes, keys, boxes[:, 1], np.where(keys == 2**50, 7, keys), 4)


def test_no_queries_no_rows_and_places_that_are_no_numbers():
    index = bp.Index(np.empty((0, 2, 2)), batch=np.empty(0, int))
    assert (index.nearest(np.zeros((40, 2)), 3, batch=np.arange(40)).rows == -1).all()
    boxes, keys = scene(np.random.default_rng(6), [20, 20], 2)
    index = bp.Index(boxes, batch=keys)
    assert index.nearest(np.empty((0, 2)), 3, batch=np.empty(0, int)).rows.shape == (0, 3)
    points = boxes[:, 0].copy()
    points[17, 1] = np.nan
    with pytest.raises(bp.errors.InvalidBoxError, match="points: row 17"):
        index.nearest(points, 3, batch=keys)


# Worlds --------------------------------------------------------------------------------------------------------------


def nearest_bodies(centers, sizes, are_balls, rows, point, k, limit):
    """Return rows and distances of the nearest balls and boxes, each tested."""
    gaps = np.abs(point - centers[rows])
    boxed = np.maximum(gaps - sizes[rows, np.newaxis], 0.0)
    dim = centers.shape[1]
    rooted = np.hypot(*boxed.T) if dim == 2 else np.sqrt(sum(gap * gap for gap in boxed.T))
    away = np.maximum(np.sqrt(sum(gap * gap for gap in gaps.T)) - sizes[rows], 0.0)
    away = np.where(are_balls[rows], away, rooted)
    order = np.lexsort((rows, away))
    order = order[away[order] <= limit][:k]
    found, distances = np.full(k, -1, np.int32), np.full(k, np.inf)
    found[: len(order)], distances[: len(order)] = rows[order], away[order]
    return found, distances


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("level", simd_levels())
def test_nearest_bodies_of_small_batches_equal_those_of_all_tests(level, dim):
    rng = np.random.default_rng(7)
    sizes = [1, 2, 9, 24, 30, 256, 257]
    keys = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    centers = rng.integers(0, 13, (len(keys), dim)) / 2.0
    halves = rng.integers(1, 4, len(keys)) / 4
    are_balls = (rng.random(len(keys)) < 0.7) | (keys == 3)
    with simd_level(level):
        world = bp.World(dim=dim)
        for row, (center, half, is_ball, key) in enumerate(zip(centers, halves, are_balls, keys, strict=True)):
            ball, box = (bp.Circle, bp.Rectangle) if dim == 2 else (bp.Sphere, bp.Box)
            shape = ball(half) if is_ball else box(*[2 * half] * dim)
            assert world.add(shape, position=center, batch=int(key)).row == row
        for k, limit in ((1, np.inf), (4, np.inf), (4, 1.0), (16, 2.5), (20, np.inf)):
            found = world.nearest(centers + 0.25, k, limit, batch=keys)
            by_rows = world.nearest(rows=np.arange(len(keys)), k=k, max_distance=limit, batch=keys)
            for query, key in enumerate(keys):
                own = np.flatnonzero(keys == key)
                expected = nearest_bodies(centers, halves, are_balls, own, centers[query] + 0.25, k, limit)
                np.testing.assert_array_equal(found.rows[query], expected[0])
                np.testing.assert_array_equal(found.distances[query], expected[1])
                others = own[own != query]
                expected = nearest_bodies(centers, halves, are_balls, others, centers[query], k, limit)
                np.testing.assert_array_equal(by_rows.rows[query], expected[0])
                np.testing.assert_array_equal(by_rows.distances[query], expected[1])


def test_bodies_of_other_shapes_and_of_layers_are_found_in_small_batches():
    rng = np.random.default_rng(8)
    keys = np.repeat(np.arange(10), 20)
    centers = rng.random((200, 2)) * 4
    world = bp.World(dim=2)
    world.add_many(bp.Circle(np.full(200, 0.25)), centers, batch=keys, layer=rng.integers(1, 4, 200).astype(np.uint64))
    world.add(bp.Capsule((0, 0), (1, 1), 0.2), position=(2, 2), batch=4)
    whole = world.nearest(rows=np.arange(200), k=4, batch=keys)
    some = world.nearest(rows=np.arange(200), k=4, batch=keys, mask=1)
    for query in range(200):
        one = world.nearest(centers[query], 4, batch=keys[query], ignore=query)
        np.testing.assert_array_equal(whole.rows[query], one.rows)
        np.testing.assert_array_equal(whole.distances[query], one.distances)
        of_layer = world.nearest(centers[query], 4, batch=keys[query], ignore=query, mask=1)
        np.testing.assert_array_equal(some.rows[query], of_layer.rows)


@pytest.mark.parametrize("boundary", ["wrap", None])
def test_bodies_in_small_batches_of_a_world_that_wraps(boundary):
    rng = np.random.default_rng(9)
    keys = np.repeat(np.arange(6), 20)
    centers = rng.random((120, 2)) * 4
    options = {} if boundary is None else {"bounds": ((0, 0), (4, 4)), "boundary": boundary}
    world = bp.World(dim=2, **options)
    world.add_many(bp.Circle(np.full(120, 0.25)), centers, batch=keys)
    found = world.nearest(centers, 4, batch=keys)
    for query in range(120):
        gaps = centers[keys == keys[query]] - centers[query]
        if boundary:
            gaps -= 4 * np.round(gaps / 4)
        away = np.maximum(np.sqrt((gaps**2).sum(axis=1)) - 0.25, 0)
        np.testing.assert_allclose(found.distances[query], np.sort(away)[:4], rtol=1e-12)
