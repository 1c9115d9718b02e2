"""The result of `nearest` has k columns, whatever there is to be found; and rows in place of points."""

import warnings

import numpy as np
import pytest

import broadphase as bp
from cases import each_index_with

COUNTS = [0, 1, 2, 5]
KS = [1, 2, 3, 7, 200]


def squares(count, dim=2):
    lower = np.arange(count * float(dim)).reshape(count, dim) * 3
    return np.stack([lower, lower + 1], axis=1)


def check(found, boxes, points, k, allowed=None):
    """Compare with distances in plain NumPy; `allowed`, (q, n), says which boxes may be found."""
    gaps = np.maximum(np.maximum(boxes[:, 0] - points[:, None], points[:, None] - boxes[:, 1]), 0.0)
    away = np.sqrt((gaps**2).sum(axis=2))
    if allowed is not None:
        away = np.where(allowed, away, np.inf)
    rows, distances = np.full((len(points), k), -1), np.full((len(points), k), np.inf)
    order = np.argsort(away, axis=1, kind="stable")[:, :k]
    near = np.take_along_axis(away, order, axis=1)
    rows[:, : order.shape[1]] = np.where(np.isfinite(near), order, -1)
    distances[:, : order.shape[1]] = near
    assert found.rows.dtype == np.int32
    assert found.distances.dtype == np.float64
    assert np.array_equal(found.rows, rows)
    assert np.allclose(found.distances, distances, rtol=1e-14, atol=0)


@each_index_with("nearest")
@pytest.mark.parametrize("count", COUNTS)
def test_nearest_of_an_index_has_k_columns(kind, count):
    boxes = squares(count)
    index = kind(boxes)
    for k in KS:
        for asked in (0, 1, 3, 80):
            points = np.random.default_rng(asked).uniform(-3, 20, (asked, 2))
            for _ in range(3):  # the third time on the short way for few queries
                check(index.nearest(points, k), boxes, points, k)
            check(index.nearest(points, k, workers=2), boxes, points, k)
            bits = 1 + np.arange(count) % 2
            found = kind(boxes, layer=bits).nearest(points, k, mask=1)
            check(found, boxes, points, k, np.broadcast_to(bits == 1, (asked, count)))
            near = index.nearest(points, k, 4.0)
            assert near.rows.shape == near.distances.shape == (asked, k)
            assert ((near.rows < 0) == np.isinf(near.distances)).all()


@each_index_with("nearest")
def test_nearest_of_rows_batches_and_ignored_rows_has_k_columns(kind):
    boxes = squares(5)
    index, centers = kind(boxes), boxes.mean(axis=1)
    others, everything = ~np.eye(5, dtype=bool), np.ones((5, 5), bool)
    for k in KS:
        check(index.nearest(rows=np.arange(5), k=k), boxes, centers, k, others)
        check(index.nearest(rows=np.arange(5), k=k, exclude_self=False), boxes, centers, k, everything)
        check(index.nearest(centers, k, ignore=np.arange(5)), boxes, centers, k, others)
        keys = np.array([1, 1, 2, 2, 2])
        batched = kind(boxes, batch=keys)
        check(batched.nearest(centers, k, batch=keys), boxes, centers, k, keys[:, None] == keys)
        check(batched.nearest(rows=np.arange(5), k=k, batch=keys), boxes, centers, k, (keys[:, None] == keys) & others)
        check(batched.nearest(centers, k, batch=9), boxes, centers, k, ~everything)
    index.remove(np.arange(5))
    assert index.nearest(centers, 3).rows.tolist() == [[-1] * 3] * 5


def test_nearest_of_periodic_indexes_and_of_spheres_has_k_columns():
    boxes = squares(3)
    for k in KS:
        index = bp.Index(boxes, period=[100, 100])
        check(index.nearest(boxes[:, 0], k), boxes, boxes[:, 0], k)
        check(index.nearest(rows=[0, 1], k=k), boxes, boxes[:2].mean(axis=1), k, np.eye(3)[:2] == 0)
        tree = bp.Octree.from_spheres([[0, 0], [9, 9]], [1, 2])
        for by in ("box", "sphere"):
            found = tree.nearest([[2, 0], [9, 9]], k, by=by)
            assert found.rows.shape == found.distances.shape == (2, k)
            assert found.rows[:, 0].tolist() == [0, 1]
            assert (found.rows[:, 2:] == -1).all()
            assert np.isinf(found.distances[:, 2:]).all()


@pytest.mark.parametrize("boundary", ["none", "wrap"])
@pytest.mark.parametrize("dim", [2, 3])
def test_nearest_of_a_world_has_k_columns(dim, boundary):
    ball = bp.Circle(1) if dim == 2 else bp.Sphere(1)
    for count in COUNTS:
        world = bp.World(dim=dim, bounds=[[0] * dim, [100] * dim], boundary=boundary)
        places = np.full((count, dim), 10.0)
        places[:, 0] = 10 + 5 * np.arange(count)
        world.add_many(ball, places, batch=np.arange(count) % 2)
        away = np.abs(places[:, 0] - places[:, :1])
        for k in KS:
            for found, is_allowed in (
                (world.nearest(places, k), np.ones((count, count), bool)),
                (world.nearest(rows=np.arange(count), k=k), ~np.eye(count, dtype=bool)),
                (world.nearest(places, k, batch=np.arange(count) % 2), (away % 10 == 0)),
            ):
                assert found.rows.shape == found.distances.shape == (count, k)
                order = np.argsort(np.where(is_allowed, away, np.inf), axis=1, kind="stable")
                wanted = [[row for row in order[query] if is_allowed[query, row]][:k] for query in range(count)]
                assert found.rows.tolist() == [some + [-1] * (k - len(some)) for some in wanted]
                assert ((found.rows < 0) == np.isinf(found.distances)).all()


def test_a_result_beyond_all_memory_is_a_memory_error():
    with pytest.raises(MemoryError, match="does not fit"):
        bp.BVH(squares(3)).nearest(np.zeros((2**18, 2)), 2**31 - 1)


@each_index_with("nearest")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_of_infinite_boxes_are_named(kind, dtype):
    inf = np.inf
    boxes = [[1, 1, 2, 2], [-inf, 0, inf, 2], [3, -inf, 4, inf], [5, 5, inf, 6], [-inf, 5, 5, 6], [7, 7, 8, 8]]
    index = kind(np.array(boxes, dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for row in (1, 2, 3, 4):
            with pytest.raises(ValueError, match=f"rows: the box of row {row} is infinite"):
                index.nearest(rows=[0, row, 5])
        assert index.nearest(rows=[0, 5], k=1).rows.shape == (2, 1)
        largest = float(np.finfo(dtype).max)
        assert kind(np.array([[-largest, 0, largest, 1], [0, 5, largest, 6]], dtype)).nearest(
            rows=[0, 1]
        ).rows.tolist() == [
            [1],
            [0],
        ]
