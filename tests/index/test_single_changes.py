"""Indexes that are changed box by box, with queries in between: they answer as one that is built anew."""

import threading

import numpy as np
import pytest

import broadphase as bp
from broadphase.index.options import INDEX_CLASSES

TREES = [kind for kind in INDEX_CLASSES.values() if kind not in (bp.Grid, bp.SweepAndPrune, bp.BruteForce)]


def boxes_of(rng, count, dim, scene):
    lower = rng.integers(0, 96, (count, dim)) / 8
    boxes = np.stack([lower, lower + rng.integers(0, 12, (count, dim)) / 8], axis=1)
    if scene == "equal":
        boxes[:] = boxes[0]
    elif scene == "far" and count:
        boxes[rng.integers(count)] += 2.0**40
    elif scene == "huge" and count:
        boxes[rng.integers(count)] = [[-(2.0**20)] * dim, [2.0**20] * dim]
    return boxes


def check(index, rng):
    """Compare queries with those of a new index; rows are places among those in use."""
    rows = index.rows
    fresh = type(index)(index.boxes_of().copy())
    dim = index.dim
    asked = boxes_of(rng, 6, dim, "plain").astype(index.dtype)
    points, ways = rng.random((6, dim)) * 12, rng.normal(size=(6, dim))
    found, expected = index.query(asked), fresh.query(asked)
    assert [one.tolist() for one in found] == [rows[one].tolist() for one in expected]
    balls, others = index.query_ball(points, 1.5), fresh.query_ball(points, 1.5)
    assert [one.tolist() for one in balls] == [rows[one].tolist() for one in others]
    if len(rows):
        near, nearest = index.nearest(points, 3), fresh.nearest(points, 3)
        assert near.distances.tolist() == nearest.distances.tolist()
        hits, first = index.raycast(points, ways), fresh.raycast(points, ways)
        assert hits.distances.tolist() == first.distances.tolist()
        assert index.raycast_any(points, ways).tolist() == fresh.raycast_any(points, ways).tolist()


@pytest.mark.parametrize("scene", ["plain", "equal", "far", "huge"])
@pytest.mark.parametrize("dim", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", TREES)
def test_one_change_after_another_and_queries_between(kind, dim, scene):
    rng = np.random.default_rng([dim, len(scene)])
    dtype = np.float32 if dim % 2 else np.float64
    index = kind(boxes_of(rng, 60, dim, scene).astype(dtype))
    for number in range(340):
        what = rng.integers(4)
        if what < 2 or not len(index):
            index.insert(boxes_of(rng, 1 + number % 3, dim, scene).astype(dtype))
        elif what == 2:
            index.remove(rng.choice(index.rows, min(len(index), 1 + number % 2), replace=False))
        else:
            row = rng.choice(index.rows, 1)
            index.move(row, boxes_of(rng, 1, dim, scene).astype(dtype))
        if number % 17 == 0 or number > 325:
            check(index, rng)
        elif number % 3 == 0:
            index.query(index.boxes_of()[:1])  # so that the next change is followed
        if number % 61 == 60:
            expected = bp.pairs(index.boxes_of())
            assert sorted(map(tuple, index.pairs().tolist())) == sorted(map(tuple, index.rows[expected].tolist()))
            index.validate()
    index.remove(index.rows)
    check(index, rng)
    index.insert(boxes_of(rng, 20, dim, scene).astype(dtype))
    check(index, rng)
    index.validate()


def test_linear_tree_files_what_came_one_by_one_for_all_but_queries():
    rng = np.random.default_rng(7)
    tree = bp.LinearTree(boxes_of(rng, 500, 2, "plain"))
    for _ in range(5):
        row = tree.insert(boxes_of(rng, 1, 2, "plain"))
        tree.query(tree.boxes_of(row))
        assert not tree._arrangement.is_settled
        builds = tree._builds
        tree.remove(row)
        tree.query([[0, 0, 1, 1]])
        assert tree._builds == builds
    assert tree.stats()["rows"] == len(tree) == 500
    assert tree._arrangement.is_settled
    assert len(tree.outline().lower) == bp.LinearTree(tree.boxes_of()).stats()["cells"]


def test_threads_that_ask_a_linear_tree_while_another_files_it():
    rng = np.random.default_rng(9)
    tree, wrong = bp.LinearTree(boxes_of(rng, 3000, 3, "plain")), []
    asked = boxes_of(rng, 50, 3, "plain")
    for _ in range(10):
        tree.insert(boxes_of(rng, 20, 3, "plain"))
        expected = tree.query(asked).rows.tolist()

        def ask(expected=expected):
            for _ in range(20):
                if tree.query(asked).rows.tolist() != expected:
                    wrong.append(expected)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        count = tree.count_pairs()
        for thread in threads:
            thread.join()
        assert count == bp.count_pairs(tree.boxes_of())
    assert not wrong
