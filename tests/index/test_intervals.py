"""Pairs of boxes of one axis: whole numbers as they are, crowds, keys, and all options, against plain comparisons."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.errors import InvalidBoxError, TooManyPairsError

METHODS = ["auto", "sweep_and_prune", "grid", "bvh"]


def intervals(layout, n, seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    lower = {
        "spread": rng.integers(0, 4 * n + 1, n),
        "equal": np.full(n, 7),
        "scales": np.floor(2.0 ** rng.uniform(0, 30, n)),
        "far": np.where(rng.random(n) < 0.02, rng.integers(-(10**9), 10**9, n), rng.integers(0, 50, n)),
    }[layout].astype(np.float64)
    size = np.where(rng.random(n) < 0.01, n, rng.integers(0, 4, n))
    return np.stack([lower, lower + size], axis=1).astype(dtype)[:, :, np.newaxis]


def plain_pairs(boxes, other, touching, keys=None, other_keys=None):
    a, b = boxes[:, :, 0], (boxes if other is None else other)[:, :, 0]
    if touching:
        meet = (a[:, None, 0] <= b[:, 1]) & (b[:, 0] <= a[:, None, 1])
    else:
        meet = (a[:, None, 0] < b[:, 1]) & (b[:, 0] < a[:, None, 1])
        meet &= (a[:, 0] < a[:, 1])[:, None] & (b[:, 0] < b[:, 1])
    if keys is not None:
        meet &= keys[:, None] == (keys if other is None else other_keys)
    return np.argwhere(np.triu(meet, 1) if other is None else meet)


@pytest.mark.parametrize("layout", ["spread", "equal", "scales", "far"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32])
def test_pairs_of_intervals_equal_plain_comparisons(layout, dtype):
    for n, m in [(0, 0), (1, 0), (1, 1), (2, 3), (17, 16), (700, 500)]:
        boxes, other = intervals(layout, n, 1, dtype), intervals(layout, m, 2, dtype)
        for second in (None, other):
            for touching in (True, False):
                expected = plain_pairs(boxes, second, touching)
                found = bp.pairs(boxes, second, touching=touching, sort=True, workers=2)
                assert found.dtype == np.int32
                assert np.array_equal(found, expected), (n, m, touching)
                assert bp.count_pairs(boxes, second, touching=touching) == len(expected)
                turned = bp.pairs(boxes[::-1], second, touching=touching, sort=True)  # a negative stride
                assert np.array_equal(turned, plain_pairs(boxes[::-1], second, touching))


@pytest.mark.parametrize("layout", ["spread", "scales"])
def test_intervals_by_key_equal_plain_comparisons(layout):
    rng = np.random.default_rng(4)
    boxes, other = intervals(layout, 900, 1), intervals(layout, 600, 2)
    for names in ([5], [-3, 10**15, 7], range(300)):
        keys, other_keys = rng.choice(names, 900), rng.choice(names, 600)
        for touching in (True, False):
            for method in METHODS:
                found = bp.pairs(
                    boxes, other, batch=(keys, other_keys), touching=touching, sort=True, method=method, workers=2
                )
                assert np.array_equal(found, plain_pairs(boxes, other, touching, keys, other_keys)), method
                found = bp.pairs(boxes, batch=keys, touching=touching, sort=True, method=method)
                assert np.array_equal(found, plain_pairs(boxes, None, touching, keys)), method


def test_fractions_infinite_ends_and_margins_equal_other_methods():
    rng = np.random.default_rng(5)
    lower = rng.normal(size=800)
    upper = lower + rng.exponential(0.01, 800)
    lower[::97], upper[::89] = -np.inf, np.inf
    boxes = np.stack([lower, upper], axis=1)[:, :, np.newaxis]
    for margin in (0.0, 0.02):
        expected = bp.pairs(boxes, margin=margin, method="brute_force", sort=True)
        assert np.array_equal(bp.pairs(boxes, margin=margin, sort=True), expected)
        chunks = np.concatenate(list(bp.iter_pairs(boxes, margin=margin, chunk=1000)))
        assert np.array_equal(chunks[np.lexsort(chunks.T[::-1])], expected)
        assert bp.count_pairs(boxes, margin=margin) == len(expected)
    assert np.array_equal(bp.pairs(boxes, sort=True), plain_pairs(boxes, None, True))


def test_whole_numbers_beyond_the_digits_of_float64_are_exact():
    at = 2**62 + np.arange(4)
    boxes = np.stack([at, at], axis=1)[:, :, np.newaxis]
    assert len(bp.pairs(boxes)) == 0
    assert bp.pairs(boxes, boxes[::-1], sort=True).tolist() == [[0, 3], [1, 2], [2, 1], [3, 0]]
    assert bp.count_pairs(boxes[::2], boxes) == 2


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float64])
def test_options_hold_for_intervals(dtype):
    boxes = intervals("spread", 400, 3, dtype)
    every = plain_pairs(boxes, None, True)
    group = np.arange(400) % 3
    together = group[every[:, 0]] == group[every[:, 1]]
    assert np.array_equal(bp.pairs(boxes, group=-group - 1, sort=True), every[~together])
    assert bp.count_pairs(boxes, group=-group - 1) == (~together).sum()
    with pytest.raises(TooManyPairsError, match="more than max_pairs=3"):
        bp.pairs(boxes, max_pairs=3)
    padded = bp.pairs(boxes, capacity=len(every) + 2)
    assert (padded.count, padded.pairs[-1, 0]) == (len(every), -1)
    wrong = boxes.copy()
    wrong[7, 1] = wrong[7, 0] - 1
    with pytest.raises(InvalidBoxError, match=r"boxes: row 7: lower\[0\] > upper\[0\]") as caught:
        bp.pairs(wrong)
    assert caught.value.row == 7
    with pytest.raises(InvalidBoxError, match=r"other: row 7"):
        bp.count_pairs(boxes, wrong, touching=False)


def test_long_intervals_and_crowds_are_counted_without_a_list():
    n = 60_000
    lower = np.arange(n)
    boxes = np.stack([lower, lower], axis=1)[:, :, np.newaxis]
    boxes[0, 1] = n
    assert len(bp.pairs(boxes)) == n - 1
    assert bp.count_pairs(np.zeros((300_000, 2, 1)), np.zeros((200_000, 2, 1))) == 300_000 * 200_000
    assert bp.count_pairs(np.zeros((300_000, 2, 1), np.int64)) == 300_000 * 299_999 // 2
