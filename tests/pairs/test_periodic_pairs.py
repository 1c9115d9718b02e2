"""Pairs of boxes in orthogonal periodic cells, against a plain loop over exact fractions."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.errors import InvalidBoxError, TooManyPairsError
from cases import DIMENSIONS, DTYPES, METHOD_NAMES
from oracles import periodic_boxes as oracle

PERIODS = (1.0, 10.0, 0.1, 1 / 3, 7e-5, 1e5)


def told(found):
    assert found.dtype == np.int32
    return sorted(map(tuple, found.tolist()))


def lattice_boxes(rng, n, period):
    """Corners at quarters of the period: touching, on faces, across them, as wide as the cell and wider, outside."""
    lower = rng.integers(-12, 12, (n, len(period))) * period / 4
    return lower, lower + rng.integers(0, 6, lower.shape) * period / 4


def small_boxes(rng, n, period):
    lower = rng.random((n, len(period))) * period
    return lower, lower + rng.exponential(0.1, lower.shape) * period


def wide_boxes(rng, n, period):
    lower = rng.random((n, len(period))) * period
    return lower, lower + rng.uniform(0.3, 1.1, lower.shape) * period


def far_boxes(rng, n, period):
    lower = rng.normal(size=(n, len(period))) * period * 10.0 ** rng.integers(-3, 9, (n, len(period)))
    return lower, lower + rng.exponential(0.3, lower.shape) * period


def far_cell_boxes(rng, n, period):
    lower, upper = small_boxes(rng, n, period)
    return lower + 1e6 * period, upper + 1e6 * period


def few_far_boxes(rng, n, period):
    lower, upper = small_boxes(rng, n, period)
    lower[: n // 5] *= 1e12
    return lower, np.maximum(lower, upper)


def boxes_a_bit_apart(rng, n, period):
    """Near multiples of the period and of its thirds, up to their last digits."""
    last = np.spacing(period)
    lower = rng.integers(-3, 4, (n, len(period))) * period + rng.integers(-2, 3, (n, len(period))) * last
    return lower, lower + rng.integers(0, 3, lower.shape) * period / 3 + rng.integers(0, 3, lower.shape) * last


def boxes_a_bit_wider_spread(rng, n, period):
    """Over a little more than one period, so that none has to be moved; a few of them wide."""
    lower = rng.random((n, len(period))) * period * rng.choice([1.02, 1.1])
    size = np.where(rng.random(lower.shape) < 0.1, 0.9, 0.2) * rng.random(lower.shape)
    return lower, lower + size * period


KINDS = (
    lattice_boxes,
    small_boxes,
    wide_boxes,
    far_boxes,
    far_cell_boxes,
    few_far_boxes,
    boxes_a_bit_apart,
    boxes_a_bit_wider_spread,
)


def draw(rng, kind, n, period, dtype):
    lower, upper = (corner.astype(dtype) for corner in kind(rng, n, np.where(np.isinf(period), 10.0, period)))
    upper = np.maximum(lower, upper)
    infinite = rng.random(lower.shape) < 0.03
    lower[infinite & (rng.random(lower.shape) < 0.5)] = -np.inf
    upper[infinite] = np.inf
    return np.stack([lower, upper], axis=1)


def check_random_scenes(seeds, kind):
    for seed in seeds:
        rng = np.random.default_rng([seed, KINDS.index(kind)])
        dimension, dtype = 1 + seed % 4, DTYPES[seed // 4 % 2]
        period = rng.choice(PERIODS, dimension)
        period[rng.random(dimension) < 0.2] = np.inf
        boxes = draw(rng, kind, int(rng.integers(0, 26)), period, dtype)
        other = draw(rng, kind, int(rng.integers(0, 26)), period, dtype) if seed % 3 == 0 else None
        options = {"touching": bool(rng.integers(2)), "margin": float(rng.choice([0, 0, 0.1, 1.0])), "period": period}
        expected = oracle.pairs(boxes, other, **options)
        for method in METHOD_NAMES:
            found = told(bp.pairs(boxes, other, method=method, **options))
            assert found == expected, (seed, method, dimension, dtype, options)
        assert bp.count_pairs(boxes, other, **options) == len(expected), seed


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_periodic_pairs_of_random_scenes_equal_exact_fractions(kind):
    check_random_scenes(range(32), kind)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_periodic_pairs_of_enough_boxes_for_every_method_equal_plain_loops_over_images(dimension, dtype):
    """Whole numbers, so that sums are exact in NumPy as well; every count is beyond the methods' small cases."""
    rng = np.random.default_rng([dimension, 3])
    period = np.array([[4096], [128, 64], [64, 48, 32], [32, 32, 16, 16]][dimension - 1])
    lower = (rng.random((600, dimension)) * 3 * period - period).astype(int)
    boxes = np.stack([lower, lower + rng.integers(0, 9, lower.shape)], axis=1).astype(dtype)
    meets = np.ones((600, 600), np.bool_)
    for axis, length in enumerate(period):
        low, high = boxes[:, 0, axis], boxes[:, 1, axis]
        shifts = [k * length for k in range(-3, 4)]
        meets &= np.any([(low[:, None] <= high + s) & (low + s <= high[:, None]) for s in shifts], axis=0)
    expected = [(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(meets, 1)), strict=True)]
    for method in METHOD_NAMES:
        assert told(bp.pairs(boxes, period=period, method=method)) == expected, method
        assert told(bp.pairs(boxes, period=period, method=method, workers=3)) == expected, method
    chunks = list(bp.iter_pairs(boxes, period=period, chunk=100))
    assert all(len(chunk) == 100 for chunk in chunks[:-1])
    assert told(np.concatenate(chunks)) == expected
    assert len(bp.pairs(boxes, period=period, max_pairs=len(expected))) == len(expected)
    with pytest.raises(TooManyPairsError):
        bp.pairs(boxes, period=period, max_pairs=len(expected) - 1)
    group = rng.integers(0, 5, 600)
    wanted = [(i, j) for i, j in expected if group[i] == 0 or group[i] != group[j]]
    filtered = told(bp.pairs(boxes, period=period, group=-group))
    assert filtered == wanted
    assert bp.count_pairs(boxes, period=period, group=-group) == len(wanted)


def test_periodic_pairs_in_batches_are_those_of_each_batch():
    for seed in range(12):
        rng = np.random.default_rng([seed, 5])
        period = np.array([1.0, np.inf, 3.0][: 1 + seed % 3])
        boxes, other = (draw(rng, KINDS[seed % 7], int(rng.integers(0, 60)), period, "float64") for _ in range(2))
        keys, other_keys = rng.integers(-2, 2, len(boxes)), rng.integers(-2, 2, len(other))
        for sort in (False, True):
            keys, other_keys = (np.sort(keys), np.sort(other_keys)) if sort else (keys, other_keys)
            expected = oracle.pairs(boxes, period=period, batch=keys)
            assert told(bp.pairs(boxes, period=period, batch=keys)) == expected, seed
            expected = oracle.pairs(boxes, other, period=period, batch=(keys, other_keys))
            assert told(bp.pairs(boxes, other, period=period, batch=(keys, other_keys))) == expected, seed


def test_periodic_pairs_of_one_large_batch_among_small_ones_equal_those_alone():
    rng = np.random.default_rng(8)
    lower = rng.random((3000, 2))
    boxes = np.stack([lower, lower + 0.02], axis=1)
    keys = np.where(np.arange(3000) < 2400, 7, np.arange(3000) % 50)
    alone = bp.pairs(boxes[keys == 7], period=1.0)
    rows = np.flatnonzero(keys == 7)
    found = bp.pairs(boxes, period=1.0, batch=keys)
    in_it = found[(keys[found] == 7).all(axis=1)]
    assert told(in_it) == told(rows[alone].astype(np.int32))
    assert len(found) > len(in_it) > 2000


@pytest.mark.parametrize("scale", [1e300, 1e-300, 2.0**-1074])
def test_periodic_pairs_at_the_limits_of_floats_equal_exact_fractions(scale):
    numbers = np.array([0, 1, 2, 3, 5, 8, 13, -1, -4]) * scale
    boxes = np.array([[[a], [a + b]] for a in numbers for b in numbers if 0 <= b <= 3 * scale])
    for period in (3 * scale, 4 * scale, 1.0, 2.0**-1074):
        for touching in (True, False):
            expected = oracle.pairs(boxes, period=[period], touching=touching)
            assert told(bp.pairs(boxes, period=period, touching=touching)) == expected, (period, touching)
    far = np.array([[[1.7e308], [1.75e308]], [[-1.7e308], [1.7e308]], [[0.3], [0.4]]])
    for period in (1.0, 0.1, 1.5e308):
        assert told(bp.pairs(far, period=period)) == oracle.pairs(far, period=[period])


def test_periodic_pairs_own_images_are_no_pair_and_each_pair_comes_once():
    everything = np.array([[0.0, 0.0, 10.0, 10.0], [-30.0, 2.0, 30.0, 3.0], [4.0, 4.0, 14.0, 5.0]])
    assert told(bp.pairs(everything, period=10)) == [(0, 1), (0, 2)]
    assert len(bp.pairs(everything[:1], period=10)) == 0
    assert told(bp.pairs(everything, everything, period=10)) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2, 2)]


def test_periodic_pairs_work_grows_with_boxes_and_not_with_periods_or_widths():
    """A box far away needs no more images than one near by; a wide one none at all along its axis."""
    rng = np.random.default_rng(1)
    lower = rng.random((2000, 3))
    boxes = np.stack([lower, lower + 0.02], axis=1)
    few = bp.explain(boxes, period=1.0).image_count
    assert 0 < few < 300
    boxes[0] += 1e15
    boxes[1, 1] += 1e15
    boxes[2] = [[0.0, -np.inf, 0.0], [0.9, np.inf, 0.02]]
    assert bp.explain(boxes, period=1.0).image_count < few + 30
    assert bp.explain(boxes).image_count == 0


def test_period_that_is_wrong_is_told():
    boxes = np.array([[0.0, 0.0, 1.0, 1.0], [9.0, 0.0, 10.0, 1.0]])
    assert told(bp.pairs(boxes, period=(10, None))) == told(bp.pairs(boxes, period=10)) == [(0, 1)]
    assert len(bp.pairs(boxes, period=[np.inf, 10])) == len(bp.pairs(boxes, period=[None, None])) == 0
    for period, error, message in (
        ([10], ValueError, "1 lengths"),
        ([10, 0], ValueError, "positive"),
        (-1, ValueError, "positive"),
        (np.nan, ValueError, "positive"),
        ("10", TypeError, "number"),
        ([[10, 10], [10, 10]], TypeError, "number"),
    ):
        for function in (bp.pairs, bp.count_pairs, bp.iter_pairs, bp.explain):
            with pytest.raises(error, match=message):
                function(boxes, period=period)


def test_boxes_that_are_nowhere_in_a_cell_are_told():
    boxes = np.array([[0.0, 0.0, 1.0, 1.0], [np.inf, 0.0, np.inf, 1.0]])
    assert len(bp.pairs(boxes, period=[None, 10])) == 0
    with pytest.raises(InvalidBoxError, match="row 1 is at inf along axis 0") as raised:
        bp.pairs(boxes, period=10)
    assert raised.value.row == 1
    with pytest.raises(InvalidBoxError, match="other: row 1"):
        bp.pairs(boxes[:1], boxes, period=10)
    boxes[1] = [3.0, 0.0, 2.0, 1.0]
    with pytest.raises(InvalidBoxError, match="lower"):
        bp.pairs(boxes, period=10)
    boxes[1, 0] = np.nan
    with pytest.raises(InvalidBoxError, match="NaN"):
        bp.pairs(boxes, period=10)
    with pytest.warns(bp.errors.InvalidBoxWarning):
        assert len(bp.pairs(boxes, period=10, invalid="skip")) == 0
