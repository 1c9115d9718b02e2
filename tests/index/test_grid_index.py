"""What the grid promises as an index: the boxes are kept, the columns are not."""

import pickle

import numpy as np
import pytest

import broadphase as bp
from broadphase.index.joining import boxes_as_seen_by, join
from broadphase.index.store import BoxStore
from broadphase.testing import assert_same_pairs, make_scene, oracle
from oracles import queries as query_oracle


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pairs_are_those_of_the_one_shot_call_while_boxes_come_and_go(dtype):
    rng = np.random.default_rng(1)
    grid = bp.Grid(make_scene("uniform", 3000, dtype=dtype, seed=1))
    for step in range(6):
        if step % 2:
            grid.remove(rng.permutation(grid.rows)[:100])
        else:
            grid.insert(make_scene("uniform", 60, dtype=dtype, seed=step))
        expected = grid.rows[bp.pairs(grid.boxes_of(), method="grid")]
        assert_same_pairs(grid.pairs(), expected)
        assert grid.count_pairs() == len(expected)
        assert_same_pairs(grid.pairs(touching=False, workers=2), expected)
        assert grid.stats()["pairs"] == len(expected)


def test_pairs_without_gaps_make_no_copy_of_the_boxes():
    store = BoxStore(make_scene("uniform", 2000))
    lower, upper, rows = store.living_corners()
    assert rows is None
    assert np.shares_memory(lower, store.corners)
    assert np.shares_memory(upper, store.corners)


def test_stats_say_how_the_scene_is_cut_and_what_is_tested():
    boxes = make_scene("uniform", 5000, seed=1)
    grid = bp.Grid(boxes)
    found = grid.pairs()
    stats = grid.stats()
    assert len(stats["cells_by_axis"]) == 3
    assert stats["cells"] <= np.prod(stats["cells_by_axis"])
    assert stats["records"] >= 5000
    assert stats["pairs"] == len(found)
    assert len(found) <= stats["tests"] < stats["brute_force_tests"] / 10
    assert stats["tests_saved"] == stats["brute_force_tests"] - stats["tests"]
    assert "cells by axis" in str(stats)


def test_outline_covers_the_boxes():
    boxes = make_scene("uniform", 5000, seed=1).astype(float)
    lower, upper, level = bp.Grid(boxes).outline()
    assert (lower < upper).all()
    assert set(level) == {0}
    centers = boxes.mean(axis=1)
    inside = ((lower <= centers[:200, np.newaxis]) & (centers[:200, np.newaxis] <= upper)).all(axis=2)
    assert (inside.sum(axis=1) >= 1).mean() > 0.95  # the outermost cells go on for ever, which is not drawn


def test_outline_of_crowded_cells_has_levels():
    grid = bp.Grid(make_scene("unlike_clusters", 40_000, seed=1))
    assert grid.outline().level.max() >= 1
    assert grid.stats()["grids"] > 1
    assert grid.stats()["depth"] == grid.outline().level.max() + 1


def test_empty_grid_has_stats_and_no_cells():
    grid = bp.Grid(np.empty((0, 2, 3)))
    assert grid.stats()["rows"] == 0
    assert grid.outline().lower.shape == (0, 3)
    assert grid.query([[0, 0, 0, 1, 1, 1]]).offsets.tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["uniform", "lattice", "nested", "huge_tiny", "identical", "uniform_1d", "lattice_4d"])
def test_few_queries_again_and_again_equal_the_oracle_through_changes(name, dtype):
    rng = np.random.default_rng(3)
    boxes = make_scene(name, 900, dtype=dtype, seed=1)
    layer = rng.integers(1, 8, 900)
    grid = bp.Grid(boxes, layer=layer)
    bytes_without_cells = grid.memory_bytes
    for change in range(4):
        for turn in range(9):
            rows = rng.choice(grid.rows, 5)
            asked = grid.boxes_of(rows).astype(rng.choice([dtype, "float64"]))
            found = grid.query(asked, mask=3)
            inside = grid.boxes_of()
            for k, box in enumerate(asked.astype(float)):
                overlap = ((inside[:, 0] <= box[1]) & (box[0] <= inside[:, 1])).all(axis=1)
                assert found[k].tolist() == grid.rows[overlap & (layer[grid.rows] & 3 != 0)].tolist(), (change, turn)
            near = grid.query_ball(asked[:, 0].astype(float), 0.0).rows
            points = grid.query_points(asked[:, 0].astype(float)).rows
            assert near.tolist() == points.tolist()
        assert grid.memory_bytes > bytes_without_cells or name not in ("uniform", "lattice", "uniform_1d")
        if change == 0:
            grid.move(grid.rows, grid.boxes_of())
        elif change == 1:
            grid.remove(grid.rows[::7])
        else:
            spot = grid.rows[:50]
            grid.move(spot, grid.boxes_of(spot) + np.ones(boxes.shape[2], dtype))


def test_many_queries_with_gaps_and_layers_equal_the_oracle():
    rng = np.random.default_rng(2)
    layer = rng.integers(1, 8, 800)
    grid = bp.Grid(make_scene("clusters", 800, seed=1), layer=layer)
    grid.remove(rng.permutation(800)[:200])
    asked = make_scene("clusters", 300, seed=2).astype(np.float64)
    boxes, rows = grid.boxes_of(), grid.rows
    expected = query_oracle.query(boxes, asked, rows=rows)
    found = grid.query(asked, workers=2)
    assert np.array_equal(found.rows, expected[0])
    assert np.array_equal(found.offsets, expected[1])
    every = np.full(600, 2**64 - 1, np.uint64)
    layers = (layer[rows].astype(np.uint64), every, np.full(300, 2**64 - 1, np.uint64), np.full(300, 5, np.uint64))
    expected = query_oracle.query(boxes, asked, rows=rows, layers=layers)
    found = grid.query(asked, mask=5)
    assert np.array_equal(found.rows, expected[0])
    assert np.array_equal(found.offsets, expected[1])


@pytest.mark.parametrize("method", ["grid", "brute_force", "auto"])
def test_join_sorts_short_long_and_very_long_results(method):
    rng = np.random.default_rng(3)
    boxes = bp.boxes.from_centers(rng.random((3000, 2)), 0.001)
    asked = bp.boxes.from_centers(rng.random((40, 2)), np.repeat([0.002, 0.1, 0.2, 2.0], 10)[:, np.newaxis])
    found = join(boxes[:, 0], boxes[:, 1], asked[:, 0], asked[:, 1], 2, method=method)
    expected = query_oracle.query(boxes, asked)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


def test_boxes_of_float64_are_seen_by_float32_as_they_are():
    rng = np.random.default_rng(4)
    near = rng.random((200, 1))
    stored = np.sort(near[rng.integers(0, 200, (300, 2)), 0].astype(np.float32), axis=1)
    asked = np.sort(near[rng.integers(0, 200, (100, 2)), 0] * (1 + rng.integers(-2, 3, (100, 2)) * 2.0**-26), axis=1)
    low, high = boxes_as_seen_by(np.dtype(np.float32), asked[:, :1], asked[:, 1:])
    assert low.dtype == high.dtype == np.float32
    exact = (stored[:, 0] <= asked[:, 1:]) & (asked[:, :1] <= stored[:, 1])
    assert np.array_equal((stored[:, 0] <= high) & (low <= stored[:, 1]), exact)
    extremes = np.array([[-1e300], [1e300], [-np.inf], [np.inf]])
    largest = np.finfo(np.float32).max
    low, high = boxes_as_seen_by(np.dtype(np.float32), extremes, extremes)
    assert low.tolist() == [[-largest], [np.inf], [-np.inf], [np.inf]]
    assert high.tolist() == [[-np.inf], [largest], [-np.inf], [np.inf]]


def test_pickled_grid_answers_the_same():
    grid = bp.Grid(make_scene("rects", 500, seed=1))
    grid.remove([3, 4])
    copy = pickle.loads(pickle.dumps(grid))
    assert copy.pairs().tobytes() == grid.pairs().tobytes()
    assert_same_pairs(copy.pairs(), copy.rows[oracle.pairs(copy.boxes_of())])
