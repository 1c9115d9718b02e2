"""The sweep kept for more questions, against the oracle."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, make_scene, simd_level, simd_levels

AXES = ["auto", "principal", 0, (1.0, 0.5)]


def partners(expected, row):
    return sorted(np.concatenate([expected[expected[:, 0] == row, 1], expected[expected[:, 1] == row, 0]]).tolist())


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scene", ["rects", "diagonal", "line", "tiles"])
def test_sweep_of_a_scene_equals_brute_force(scene, dtype, axis):
    boxes = make_scene(scene, 700, dtype=dtype)
    if boxes.shape[2] == 3 and not isinstance(axis, str | int):
        axis = (*axis, -0.25)
    sweep = bp.SweepAndPrune(boxes, axis=axis)
    expected = bp.pairs(boxes, method="brute_force", sort=True)
    assert_same_pairs(sweep.pairs(), expected)
    assert_same_pairs(sweep.pairs(workers=3), expected)
    found = sweep.query_rows(np.arange(len(boxes)), workers=2)
    rows, offsets = found.rows, found.offsets
    for row in range(0, len(boxes), 7):
        assert rows[offsets[row] : offsets[row + 1]].tolist() == partners(expected, row)


def test_query_of_other_boxes_equals_cross_pairs():
    boxes, other = make_scene("rects", 500, seed=1), make_scene("rects", 90, seed=2)
    found = bp.SweepAndPrune(boxes).query(other)
    rows, offsets = found.rows, found.offsets
    found = np.stack([rows, np.repeat(np.arange(len(other)), np.diff(offsets))], axis=1)
    assert_same_pairs(found, bp.pairs(boxes, other, method="brute_force"))


@pytest.mark.parametrize("length", [1e-3, 1.0, 7.0])
def test_void_borders_along_a_direction_are_lengths_whatever_its_length(length):
    boxes = [[0, 0, 1, 1], [2, 2, 3, 3]]
    borders = bp.SweepAndPrune(boxes, axis=(length, length)).void_borders
    np.testing.assert_allclose(borders, [[np.sqrt(2), np.sqrt(8)]], rtol=1e-14)
    steep = bp.SweepAndPrune(np.array(boxes, np.float32), axis=(0.6 * length, 0.8 * length)).void_borders
    assert steep.dtype == np.float32
    np.testing.assert_allclose(steep, [[1.4, 2.8]], rtol=1e-6)


def test_void_borders_are_where_no_box_is():
    boxes = np.array([[0, 0, 1, 1], [0.5, 0, 2, 1], [5, 0, 6, 1], [6, 0, 7, 1], [9, 0, 9, 1]], dtype=float)
    assert bp.SweepAndPrune(boxes, axis=0).void_borders.tolist() == [[2, 5], [7, 9]]
    assert bp.SweepAndPrune(boxes, axis=1).void_borders.shape == (0, 2)


def test_principal_direction_follows_the_boxes():
    along = np.linspace(0, 100, 300)
    boxes = bp.boxes.from_centers(np.stack([along, along], axis=1), 0.2)
    sweep = bp.SweepAndPrune(boxes, axis="principal")
    assert sweep.axis is None
    assert np.allclose(np.abs(sweep.direction), np.sqrt(0.5), atol=1e-3)


def test_sweep_with_bad_input_says_what_is_wrong():
    with pytest.raises(bp.errors.InvalidBoxError, match=r"row 1: .* is NaN"):
        bp.SweepAndPrune([[0, 0, 1, 1], [0, np.nan, 1, 1]])
    with pytest.raises(ValueError, match="axis must be 0 to 1"):
        bp.SweepAndPrune([[0, 0, 1, 1]], axis=2)
    with pytest.raises(ValueError, match="not all zero"):
        bp.SweepAndPrune([[0, 0, 1, 1]], axis=(0.0, 0.0))
    sweep = bp.SweepAndPrune([[0, 0, 1, 1]])
    with pytest.raises(bp.errors.UnknownRowError, match="row 1 does not exist"):
        sweep.query_rows([1])
    with pytest.raises(bp.errors.InvalidBoxError, match=r"row 0: lower\[\d\] > upper"):
        sweep.query([[2, 0, 1, 1]])
    with pytest.raises(ValueError, match="dimensions"):
        sweep.query([[0, 0, 0, 1, 1, 1]])


def boxes_with_near_ones(n, dimension, origin):
    """Make evenly spread boxes of size 1, and a few that end where others begin, or one unit in the last place off."""
    rng = np.random.default_rng(n + dimension)
    lower = origin + rng.random((n, dimension)) * (2 * n) ** (1 / dimension)
    boxes = np.stack([lower, lower + 1], axis=1)
    for k in range(0, n // 2, 20):
        axis = rng.integers(dimension)
        boxes[k + 1] = boxes[k]
        start = boxes[k, 1, axis]
        boxes[k + 1, :, axis] = start, start + 1
        step = rng.integers(3) - 1
        boxes[k + 1, 0, axis] = start if step == 0 else np.nextafter(start, step * np.inf)
    return boxes


@pytest.mark.parametrize("level", simd_levels())
@pytest.mark.parametrize("origin", [0.0, 1e9, -1e-3])
@pytest.mark.parametrize("dimension", [3, 4])
def test_doubles_that_are_equal_as_floats_are_compared_as_doubles(dimension, origin, level):
    boxes = boxes_with_near_ones(4000, dimension, origin)
    boxes[7], boxes[9, 0], boxes[11, 1] = 1e300, -np.inf, np.inf
    first, second = boxes[::2], boxes[1::2]
    with simd_level(level):
        for options in ({}, {"touching": False}, {"margin": 0.125}, {"margin": 1e-17, "touching": False}):
            expected = bp.pairs(boxes, method="brute_force", **options)
            assert_same_pairs(bp.pairs(boxes, method="sweep_and_prune", **options), expected)
            assert bp.count_pairs(boxes, method="sweep_and_prune", **options) == len(expected)
            expected = bp.pairs(first, second, method="brute_force", **options)
            assert_same_pairs(bp.pairs(first, second, method="sweep_and_prune", workers=2, **options), expected)
            assert_same_pairs(bp.pairs(second, first, method="sweep_and_prune", **options), expected[:, ::-1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_long_runs_of_boxes_on_many_scales_equal_brute_force(dtype):
    boxes = make_scene("huge_tiny", 6000, dtype=dtype)
    for touching in (True, False):
        expected = bp.pairs(boxes, method="brute_force", touching=touching)
        assert_same_pairs(bp.pairs(boxes, method="sweep_and_prune", touching=touching), expected)
        expected = bp.pairs(boxes[:3000], boxes[3000:], method="brute_force", touching=touching)
        assert_same_pairs(bp.pairs(boxes[:3000], boxes[3000:], method="sweep_and_prune", touching=touching), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("axis", [0, 1, (0.6, 0.8), (1, -2), "auto", "principal"])
def test_delimiters_are_the_ends_of_boxes_in_order_with_the_gaps_between_them(axis, dtype):
    random = np.random.default_rng(2)
    lower = (random.random((40, 2)) * [90, 30]).round(1)
    boxes = np.concatenate([lower, lower + (random.random((40, 2)) * 4).round(1)], axis=1).astype(dtype)
    sweep = bp.SweepAndPrune(boxes, axis=axis)
    sweep.remove([5, 20])
    found = sweep.delimiters()
    along = sweep.direction
    corners = np.array([[[box[i], box[j]] for i in (0, 2) for j in (1, 3)] for box in boxes.astype(np.float64)])
    reach = corners @ along
    for values, rows, wanted in (
        (found.values[found.is_begin], found.rows[found.is_begin], reach.min(axis=1)),
        (found.values[~found.is_begin], found.rows[~found.is_begin], reach.max(axis=1)),
    ):
        assert sorted(rows.tolist()) == sweep.rows.tolist()
        assert np.allclose(values, wanted[rows], rtol=1e-12, atol=1e-12)
    keys = list(zip(found.values.tolist(), (~found.is_begin).tolist(), found.rows.tolist(), strict=True))
    assert keys == sorted(keys)
    is_open = np.cumsum(np.where(found.is_begin, 1, -1))
    gaps = np.flatnonzero(is_open[:-1] == 0)
    assert np.allclose(np.stack([found.values[gaps], found.values[gaps + 1]], axis=1), sweep.void_borders)


def test_delimiters_of_infinite_and_of_no_boxes():
    endless = bp.SweepAndPrune([[-np.inf, 0, np.inf, 1], [2, 0, 3, np.inf]], axis=0).delimiters()
    assert endless.values.tolist() == [-np.inf, 2, 3, np.inf]
    assert endless.rows.tolist() == [0, 1, 1, 0]
    across = bp.SweepAndPrune([[-np.inf, 0, np.inf, 1], [2, 0, 3, 5]], axis=(0.0, 2.0)).delimiters()
    assert across.values.tolist() == [0, 0, 1, 5]
    assert len(bp.SweepAndPrune(np.empty((0, 2, 2))).delimiters().values) == 0
