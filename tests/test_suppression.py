"""Non-maximum suppression, against a plain loop over exact fractions."""

import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import broadphase as bp
from cases import DTYPES, lattice, run_script


def plain_ratio(a, b, to="iou"):
    """Divide volumes without rounding, then round once."""
    sides = [
        tuple(Fraction(float(value)) for value in (min(ua, ub) - max(la, lb), ua - la, ub - lb))
        for la, lb, ua, ub in zip(a[0].tolist(), b[0].tolist(), a[1].tolist(), b[1].tolist(), strict=True)
    ]
    if min(both for both, _, _ in sides) <= 0:
        return 0.0
    common, first, second = (np.prod([side[k] for side in sides], initial=Fraction(1)) for k in range(3))
    return float(common / (first + second - common if to == "iou" else min(first, second)))


def plain_nms(boxes, scores, threshold, metric="iou", batch=None):
    keys = np.zeros(len(boxes), int) if batch is None else batch
    kept = []
    for row in sorted(range(len(boxes)), key=lambda row: (-scores[row], row)):
        rivals = [other for other in kept if keys[other] == keys[row]]
        if all(plain_ratio(boxes[other], boxes[row], metric) <= threshold for other in rivals):
            kept.append(row)
    return kept


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_nms_random_lattices_as_the_loop(dimension, dtype):
    rng = np.random.default_rng(dimension)
    for threshold, metric in product((0.0, 0.2, 1 / 3, 0.5, 1.0), ("iou", "ios")):
        boxes = lattice(rng, 45, dimension, dtype)
        scores = rng.integers(-4, 5, 45).astype(rng.choice(["int8", "uint64", "float32", "float64"]))  # with ties
        batch = None if rng.random() < 0.5 else rng.integers(-(2**62), 2**62, 3)[rng.integers(0, 3, 45)]
        found = bp.nms(boxes, scores, threshold, metric=metric, batch=batch)
        assert found.dtype == np.int32
        assert found.tolist() == plain_nms(boxes, scores.tolist(), threshold, metric, batch)


@pytest.mark.parametrize("most", [1, 4, 12])
def test_nms_in_portions_as_the_loop(monkeypatch, most):
    # As if a few pairs were too many to hold: small portions, and the rest compared with what they keep.
    rng = np.random.default_rng(most)
    real = bp.pairs
    seen = []

    def few_pairs(boxes, *, max_pairs, **options):
        seen.append(max_pairs)
        return real(boxes, max_pairs=most, **options)

    monkeypatch.setattr("broadphase.suppression.pairs", few_pairs)
    for threshold in (0.1, 0.6, 1.0):
        boxes, scores = lattice(rng, 60, 2, "float64", reach=2), rng.integers(0, 9, 60)
        batch = rng.integers(0, 2, 60)
        assert bp.nms(boxes, scores, threshold, batch=batch).tolist() == plain_nms(
            boxes, scores, threshold, batch=batch
        )
    assert len(seen) > 6  # more than one a call


def test_nms_ratio_at_the_threshold_is_kept():
    # The shares of the last box with the first: 0.3 exactly, and the next float above it, times the width.
    first, apart = [0.0, 0.0, 10.0, 1.0], [50.0, 0.0, 60.0, 1.0]
    inside = [0.0, 0.0, 3.0, 1.0]
    assert bp.nms([first, apart, inside], [3, 2, 1], 0.3).tolist() == [0, 1, 2]
    assert bp.nms([first, apart, inside], [3, 2, 1], np.nextafter(0.3, 0)).tolist() == [0, 1]
    assert bp.nms([first, apart, inside], [3, 2, 1], 0.99, metric="ios").tolist() == [0, 1]


def test_nms_a_suppressed_box_suppresses_nothing():
    chain = [[0, 0, 4, 1], [2, 0, 6, 1], [4, 0, 8, 1]]  # each overlaps the next by a third
    assert bp.nms(chain, [3, 2, 1], 0.3).tolist() == [0, 2]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_nms_few_boxes(count):
    boxes = np.array([[0, 0, 1, 1]] * count).reshape(count, 4)
    assert bp.nms(boxes, np.arange(count), 0.5).tolist() == ([] if count == 0 else [count - 1])
    assert bp.nms(boxes, np.arange(count), 0.5, batch=np.arange(count)).tolist() == list(range(count))[::-1]


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-300, 2.0**300, 2.0**1020])
def test_ratios_at_any_scale_are_the_same(scale):
    rng = np.random.default_rng(5)
    for dimension in (1, 2, 3, 4):
        boxes = lattice(rng, 30, dimension, "float64")
        pairs = bp.pairs(boxes)
        assert bp.iou(boxes * scale, pairs=pairs).tolist() == bp.iou(boxes, pairs=pairs).tolist()
        scores = rng.random(30)
        assert bp.nms(boxes * scale, scores, 0.25).tolist() == bp.nms(boxes, scores, 0.25).tolist()


def test_ratios_of_very_different_sides_as_fractions():
    rng = np.random.default_rng(6)
    for _ in range(200):
        sides = 2.0 ** rng.uniform(-340, 340, (2, 3))
        boxes = np.stack([np.zeros((2, 3)), sides], axis=1)
        for to in ("iou", "ios"):
            expected = plain_ratio(*boxes, to)
            keeps_both = bp.nms(boxes, [1, 0], min(expected * (1 + 1e-12), 1.0), metric=to)
            assert len(keeps_both) == 2
            if expected > 1e-300:
                assert len(bp.nms(boxes, [1, 0], expected * (1 - 1e-12), metric=to)) == 1
        assert bp.iou(boxes[:1], boxes[1:])[0] == pytest.approx(plain_ratio(*boxes), rel=1e-14, abs=5e-324)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_iou_random_lattices_as_fractions(dimension, dtype):
    rng = np.random.default_rng(dimension)
    boxes, other = lattice(rng, 60, dimension, dtype), lattice(rng, 50, dimension, dtype)
    rows = np.column_stack([rng.integers(0, 60, 200), rng.integers(0, 50, 200)])
    expected = [plain_ratio(boxes[i], other[j]) for i, j in rows]
    assert bp.iou(boxes, other, rows).tolist() == expected
    assert bp.iou(boxes[:50], other).tolist() == [plain_ratio(*both) for both in zip(boxes[:50], other, strict=True)]
    assert bp.iou(boxes, pairs=np.column_stack([np.arange(60)] * 2)).tolist() == [
        float((box[1] > box[0]).all()) for box in boxes
    ]
    assert bp.iou(boxes, other, np.empty((0, 2), int)).tolist() == []


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        (([[0, 0, 1, 1]], [1, 2], 0.5), {}, r"scores must have shape \(1,\)"),
        (([[0, 0, 1, 1]] * 2, [1, np.nan], 0.5), {}, "scores: row 1 is NaN"),
        (([[0, 0, 1, 1]], ["a"], 0.5), {}, "scores must be numbers"),
        (([[0, 0, 1, 1]], [1], 1.5), {}, "threshold must be from 0 to 1, not 1.5"),
        (([[0, 0, 1, 1]], [1], np.nan), {}, "threshold must be"),
        (([[0, 0, 1, 1]], [1], 0.5), {"metric": "giou"}, "metric"),
        (([[0, 0, 1, 1]], [1], 0.5), {"batch": [0.5]}, "batch must be integer, not float64"),
        (([[0, 0, 1, 1]], [1], 0.5), {"batch": [1, 2]}, r"batch has shape \(2,\); one per box is needed: \(1,\)"),
        (([[0, 0, 1, 1], [0, 0, -1, 1]], [1, 2], 0.5), {}, r"boxes: row 1: lower\[0\] > upper\[0\]"),
        (([[0, 0, 1, np.inf]], [1], 0.5), {}, "boxes: row 0 is infinite"),
        ((np.zeros((2, 2, 5)), [1, 2], 0.5), {}, "d = 1 to 4"),
    ],
)
def test_nms_bad_input_is_named(arguments, options, text):
    with pytest.raises((ValueError, TypeError), match=text):
        bp.nms(*arguments, **options)


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        (([[0, 0, 1, 1]],), {}, "needs other= or pairs="),
        (([[0, 0, 1, 1]], [[0, 0, 1, 1]] * 2), {}, "boxes has 1 rows and other has 2"),
        (([[0, 0, 1, 1]], [[0, 1]]), {}, "boxes have 2 dimensions and other has 1"),
        (([[0, 0, 1, 1]],), {"pairs": [[0, 0], [0, 1]]}, "pairs: row 1 names box 1, but there are 1 boxes"),
        (([[0, 0, 1, 1]],), {"pairs": [[0, -1]]}, "pairs: row 0 names box -1"),
        (([[0, 0, 1, 1]],), {"pairs": [0]}, "pairs must have shape"),
        (([[0, 0, 1, np.nan]], [[0, 0, 1, 1]]), {}, "boxes: row 0 has NaN"),
    ],
)
def test_iou_bad_input_is_named(arguments, options, text):
    with pytest.raises((ValueError, TypeError), match=text):
        bp.iou(*arguments, **options)


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
def test_nms_of_a_crowd_takes_little_memory():
    script = """
import resource, numpy as np, broadphase as bp
rng = np.random.default_rng(3)
low = 9 * rng.random((20_000, 2))
boxes = np.stack([low, low + 50], axis=1)  # 200 million pairs, 1.6 GB
scores = rng.random(20_000)
bp.nms(boxes[:100], scores[:100], 0.5)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(bp.nms(boxes, scores, 0.5)), len(bp.nms(boxes[:5000], scores[:5000], 0.99)))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024 < 150)
"""
    kept, strict, small = run_script(script).split()
    assert (kept, small) == ("1", "True")
    assert 100 < int(strict) < 5000
