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
    for threshold, metric in product((0.0, 0.2, 1 / 3, 0.5, 1.0), ("iou", "ios", "diou")):
        boxes = lattice(rng, 45, dimension, dtype)
        scores = rng.integers(-4, 5, 45).astype(rng.choice(["int8", "uint64", "float32", "float64"]))  # with ties
        batch = None if rng.random() < 0.5 else rng.integers(-(2**62), 2**62, 3)[rng.integers(0, 3, 45)]
        found = bp.nms(boxes, scores, threshold, metric=metric, batch=batch)
        assert found.dtype == np.int32
        loop = plain_nms if dtype == "float64" and metric != "diou" else nms_in_dtype
        assert found.tolist() == loop(boxes, scores.tolist(), threshold, metric, batch)


def nms_in_dtype(boxes, scores, threshold, metric="iou", batch=None):
    """Compute ratios in the dtype of the boxes, operation by operation, as torchvision does."""
    keys = np.zeros(len(boxes), int) if batch is None else np.asarray(batch)
    volumes = np.multiply.reduce((boxes[:, 1] - boxes[:, 0]).T)
    kept = []
    for row in sorted(range(len(boxes)), key=lambda row: (-scores[row], row)):
        rivals = np.array(kept, int)[keys[np.array(kept, int)] == keys[row]]
        lower, upper = boxes[rivals].transpose(1, 0, 2)
        sides = np.minimum(upper, boxes[row, 1]) - np.maximum(lower, boxes[row, 0])
        common = np.multiply.reduce(sides.T)
        sums = volumes[rivals] + volumes[row] - common
        whole = np.minimum(volumes[rivals], volumes[row]) if metric == "ios" else sums
        meet = (sides > 0).all(axis=1)
        ratios = common[meet] / whole[meet]
        if metric == "diou":
            apart = ((lower - boxes[row, 0]) + (upper - boxes[row, 1])) / 2
            around = np.maximum(upper, boxes[row, 1]) - np.minimum(lower, boxes[row, 0])
            squares = (np.add.reduce(np.square(one[meet]).T) for one in (apart, around))
            ratios = ratios - np.divide(*squares)
        if not (ratios.astype(float) > threshold).any():
            kept.append(row)
    return kept


def detections(rng, name, count, dimension):
    """Draw boxes as detectors and careless users give them."""
    center = rng.random((count, dimension)) * 40
    sides = rng.uniform(0.5, 5, (count, dimension))
    if name == "clusters":
        objects = rng.integers(0, max(count // 12, 1), count)
        center = rng.random((count, dimension))[objects] * 60 + rng.normal(0, 0.3, center.shape)
        sides = rng.uniform(3, 6, sides.shape)[objects] * rng.uniform(0.8, 1.25, sides.shape)
    elif name == "one spot":
        center /= 40
    elif name == "sizes":
        sides = np.exp(rng.uniform(-12, 5, sides.shape))
    elif name == "sticks":
        sides[np.arange(count), rng.integers(0, dimension, count)] *= 30
    elif name == "equal":
        center[:], sides[:] = center[0], sides[0]
    elif name == "nearly equal":
        center, sides[:] = center[0] + rng.random(center.shape) / 50, sides[0]
    elif name == "far":
        center[0], sides[1] = 1e9, 1e9
    elif name == "flat":
        sides[::2, 0] = 0
    elif name == "late crowd":
        center[::2] *= 50
        center[1::2] = 3000 + center[1::2] / 20
    return np.stack([center - sides / 2, center + sides / 2], axis=1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "name", ["uniform", "clusters", "one spot", "sizes", "sticks", "equal", "nearly equal", "far", "flat", "pixels"]
)
def test_nms_of_many_boxes_as_the_loop(name, dimension, dtype):
    rng = np.random.default_rng(dimension)
    for threshold, metric in product((0.0, 0.05, 0.5, 0.7, 0.95, 0.999, 1.0), ("iou", "ios", "diou")):
        boxes = detections(rng, name, 260, dimension)
        if name == "pixels":
            boxes = np.floor(boxes * 4)
        boxes, scores = boxes.astype(dtype), rng.integers(0, 200, 260) / 8
        batch = None if rng.random() < 0.7 else rng.integers(0, 3, 260)
        found = bp.nms(boxes, scores, threshold, metric=metric, batch=batch, workers=int(rng.integers(1, 3)))
        assert found.tolist() == nms_in_dtype(boxes, scores, threshold, metric, batch)


@pytest.mark.parametrize("order", ["any", "by place", "chain"])
@pytest.mark.parametrize(
    "name", ["uniform", "clusters", "one spot", "sizes", "sticks", "equal", "nearly equal", "far", "flat", "late crowd"]
)
def test_nms_of_one_large_class_is_the_same_for_any_number_of_workers(name, order):
    rng = np.random.default_rng(7)
    count = 6000
    boxes = detections(rng, name, count, 2)
    if name in ("uniform", "sizes", "flat"):
        boxes = boxes + rng.integers(0, 3, (count, 1, 2)) * 12.0
    if order == "chain":
        boxes[:2000] = np.stack([np.arange(2000) / 50, np.zeros(2000)], axis=1)[:, np.newaxis] + [[0, 0], [4, 1]]
    scores = rng.integers(0, 4000, count) / 8 if order == "any" else -boxes[:, 0, 0] - (boxes[:, 0, 1] > 5) * 1e3
    batch = np.where(rng.random(count) < 0.9, 5, rng.integers(-3, 3, count))
    for threshold, metric, keys in product((0.0, 0.4, 0.97), ("iou", "ios", "diou"), (None, batch)):
        alone = bp.nms(boxes, scores, threshold, metric=metric, batch=keys)
        if keys is None and len(alone) < 500:
            assert alone.tolist() == nms_in_dtype(boxes, scores, threshold, metric)
        for workers in (2, 3, 8):
            found = bp.nms(boxes, scores, threshold, metric=metric, batch=keys, workers=workers)
            assert np.array_equal(found, alone), workers


@pytest.mark.parametrize("count", [0, 1, 2, 4095, 4096, 4097])
def test_nms_of_few_or_just_many_rows_is_the_same_for_any_number_of_workers(count):
    rng = np.random.default_rng(count)
    boxes, scores = detections(rng, "uniform", count, 2), rng.random(count)
    boxes += rng.integers(0, 5, (count, 1, 2)) * 40.0
    for threshold in (0.1, 0.5, 0.9):
        alone = nms_in_dtype(boxes, scores, threshold, "iou")
        for workers in (1, 2, 3, 8):
            assert bp.nms(boxes, scores, threshold, workers=workers).tolist() == alone


@pytest.mark.parametrize("form", ["cxcywhr", "xyzlwhr"])
def test_nms_of_many_rotated_boxes_is_the_same_for_any_number_of_workers(form):
    rng = np.random.default_rng(8)
    dimension, count = (2, 3)[form == "xyzlwhr"], 7000
    center, sides = rng.random((count, dimension)) * 60, rng.uniform(1, 9, (count, dimension))
    boxes = np.column_stack([center, sides, rng.uniform(-9, 9, count)])
    scores = rng.random(count)
    for threshold in (0.0, 0.2, 0.6):
        alone = bp.nms(boxes, scores, threshold, form=form)
        assert np.array_equal(bp.nms(boxes, scores, threshold, form=form, workers=4), alone)


def test_nms_of_a_million_tiny_batches_keeps_all():
    boxes = np.tile(np.array([[0, 0, 2, 2]], np.float32), (200_000, 1))
    keys = np.arange(200_000) // 2 * (2**40)
    kept = bp.nms(boxes, np.arange(200_000), 0.5, batch=keys, workers=2)
    assert kept.tolist() == list(range(199_999, 0, -2))


@pytest.mark.parametrize("form", ["xyxy", "cxcywhr"])
def test_nms_of_many_boxes_of_which_none_excludes_another_keeps_all(form):
    rng = np.random.default_rng(6)
    equal = np.tile([0.0, 0, 3, 3] if form == "xyxy" else [0.0, 0, 3, 3, 0.7], (50_000, 1))
    scores = rng.random(50_000)
    best = np.argsort(-scores)
    assert np.array_equal(bp.nms(equal, scores, 1.0, form=form), best)
    equal[:, :2] += rng.random((50_000, 2))
    if form == "xyxy":
        equal[:, 2:] = equal[:, :2] + 3
    assert np.array_equal(bp.nms(equal, scores, 1 - 1e-7, form=form), best)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble", "int64", "uint64", "int8", "bool"])
def test_nms_takes_scores_of_any_type_in_their_order(dtype):
    boxes = np.arange(6)[:, np.newaxis] * 10.0 + [0, 1]
    few = {"b": [1, 0, 1, 1, 0, 1], "u": [3, 2**64 - 1, 0, 2**63, 2**63 - 1, 3]}
    values = few.get(np.dtype(dtype).kind, [3, -1, 0, 100, -128, 3])
    if dtype == "int64":
        values = [3, -(2**63), 2**63 - 1, 2**62, 2**62 + 1, 3]
    expected = sorted(range(6), key=lambda row: (-int(values[row]), row))
    assert bp.nms(boxes, np.array(values, dtype), 0.5).tolist() == expected
    if np.dtype(dtype).kind == "f":
        with pytest.raises(ValueError, match="scores: row 2 is NaN"):
            bp.nms(boxes, np.array([1, 2, np.nan, 4, 5, 6], dtype), 0.5)


def test_nms_ratio_at_the_threshold_is_kept():
    # The shares of the last box with the first: 0.3 exactly, and the next float above it, times the width.
    first, apart = [0.0, 0.0, 10.0, 1.0], [50.0, 0.0, 60.0, 1.0]
    inside = [0.0, 0.0, 3.0, 1.0]
    assert bp.nms([first, apart, inside], [3, 2, 1], 0.3).tolist() == [0, 1, 2]
    assert bp.nms([first, apart, inside], [3, 2, 1], np.nextafter(0.3, 0)).tolist() == [0, 1]
    assert bp.nms([first, apart, inside], [3, 2, 1], 0.99, metric="ios").tolist() == [0, 1]


def test_nms_by_diou_keeps_boxes_whose_centers_are_apart():
    # IoU 1/3 of both pairs; DIoU less 4/40 where the centers are 2 apart, and nothing where they are one.
    beside, within = [[0, 0, 4, 2], [2, 0, 6, 2]], [[0, 0, 6, 2], [2, 0, 4, 2]]
    assert bp.nms(beside, [2, 1], 0.3).tolist() == bp.nms(within, [2, 1], 0.3).tolist() == [0]
    assert bp.nms(beside, [2, 1], 0.3, metric="diou").tolist() == [0, 1]
    assert bp.nms(beside, [2, 1], 1 / 3 - 0.1 - 1e-12, metric="diou").tolist() == [0]
    assert bp.nms(within, [2, 1], 0.3, metric="diou").tolist() == [0]
    assert bp.nms([[0, 1], [0.25, 1.25]], [2, 1], 0.55, metric="diou").tolist() == [0]  # 0.6 - 0.04
    assert bp.nms([[0, 1], [0.25, 1.25]], [2, 1], 0.57, metric="diou").tolist() == [0, 1]


@pytest.mark.parametrize("form", ["xywh", "cxcywh"])
def test_nms_by_diou_of_other_forms_images_and_classes(form):
    rng = np.random.default_rng(11)
    boxes = rng.integers(0, 12, (3, 40, 4)) / 2.0 + [0, 0, 0.5, 0.5]
    scores = rng.random((3, 40, 2))
    lower = boxes[..., :2] - (boxes[..., 2:] / 2 if form == "cxcywh" else 0)
    corners = np.stack([lower, lower + boxes[..., 2:]], axis=2)
    found = bp.nms(boxes, scores, 0.3, form=form, metric="diou", workers=2)
    expected = [
        (image, label, row)
        for image, label in product(range(3), range(2))
        for row in nms_in_dtype(corners[image], scores[image, :, label].tolist(), 0.3, "diou")
    ]
    assert sorted(map(tuple, found.tolist())) == sorted(expected)


def exact_diou(a, b):
    """Return DIoU of two boxes with a common interior, from fractions."""
    (la, ua), (lb, ub) = ([[Fraction(value) for value in corner] for corner in box.tolist()] for box in (a, b))
    apart = sum(((p + q - r - s) / 2) ** 2 for p, q, r, s in zip(la, ua, lb, ub, strict=True))
    around = sum((max(q, s) - min(p, r)) ** 2 for p, q, r, s in zip(la, ua, lb, ub, strict=True))
    return plain_ratio(a, b) - float(apart / around)


@pytest.mark.parametrize("scale", [2.0**-1060, 2.0**-600, 1.0, 2.0**600, 2.0**1019])
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_diou_at_any_scale_as_fractions(dimension, scale):
    rng = np.random.default_rng(dimension)
    boxes = lattice(rng, 40, dimension, "float64") * scale
    pairs = bp.pairs(boxes, touching=False)
    ratios = bp.iou(boxes, pairs=pairs, kind="diou")
    for (i, j), ratio in zip(pairs.tolist(), ratios.tolist(), strict=True):
        assert ratio == pytest.approx(exact_diou(boxes[i], boxes[j]), abs=1e-15)
        if 1e-12 < ratio < 1 - 1e-12:
            two = boxes[[i, j]]
            assert len(bp.nms(two, [2, 1], ratio, metric="diou")) == 2
            assert len(bp.nms(two, [2, 1], np.nextafter(ratio, 0), metric="diou")) == 1


def test_diou_of_boxes_across_all_of_float64_is_finite():
    most = np.finfo(np.float64).max
    ends, tiny = [[-most, -most], [most, most]], [[most, most], [most, most]]
    assert bp.iou([ends, ends], [ends, tiny], kind="diou").tolist() == [1.0, -0.25]
    assert bp.nms([ends, [[-most, -most], [most, 0]]], [2, 1], 0.4, metric="diou").tolist() == [0]  # 1/2 - 1/32


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
        (([[0, 0, 1, 1, 0]], [1], 0.5), {"metric": "diou", "form": "cxcywhr"}, "without an angle, not for form="),
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
        (([[0, 0, 1, 1]],), {"pairs": [[0, 0], [0, 1]]}, r"pairs: row 1 is \[0, 1\], but there are 1 boxes"),
        (([[0, 0, 1, 1]],), {"pairs": [[0, -1]]}, r"pairs: row 0 is \[0, -1\], but"),
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
