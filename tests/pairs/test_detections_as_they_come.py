"""Detections of images and classes at once, and ratios with penalties, against plain loops over NumPy and shapely."""

import sys
import types

import numpy as np
import pytest

import broadphase as bp

shapely = pytest.importorskip("shapely")


def plain_ratio(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    common = np.prod(np.clip(high - low, 0, None))
    whole = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common
    return common / whole if whole > 0 else 0.0


def plain_of_class(boxes, scores, threshold, least):
    kept = []
    for row in sorted(range(len(boxes)), key=lambda row: (-scores[row], row)):
        if scores[row] > least and all(plain_ratio(boxes[row], boxes[one]) <= threshold for one in kept):
            kept.append(row)
    return kept


def plain_of_image(boxes, scores, threshold, least, most):
    """Return [class, row] of one image; boxes (n, C, 4), scores (n, C)."""
    found = [
        (-scores[row, label], row, label)
        for label in range(scores.shape[1])
        for row in plain_of_class(boxes[:, label], scores[:, label], threshold, least)
    ]
    return [[label, row] for _, row, label in sorted(found)][:most]


def drawn(rng, *shape):
    low = rng.integers(0, 14, (*shape, 2))
    return np.concatenate([low, low + rng.integers(1, 9, (*shape, 2))], axis=-1).astype(float)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(
    ("images", "count", "classes"), [(3, 20, 4), (1, 1, 1), (2, 30, 1), (0, 5, 2), (3, 0, 2), (2, 4, 0)]
)
def test_nms_of_images_and_classes_as_the_loop(images, count, classes, own):
    rng = np.random.default_rng([images, count, classes])
    boxes = drawn(rng, images, count, classes) if own else drawn(rng, images, count)
    scores = rng.integers(0, 12, (images, count, classes)) / 4  # with ties
    if scores.size > 3:
        scores.flat[:3] = [np.inf, -np.inf, 1]
    each = boxes if own else np.repeat(boxes[:, :, np.newaxis], classes, axis=2)
    for least, most in ((None, None), (1.25, None), (None, 4), (0.5, 7), (9.0, 2), (0.5, 0)):
        floor = -np.inf if least is None else least
        # No score is below the least: -inf itself takes part where there is no threshold.
        plain = [
            plain_of_image(each[k], scores[k], 0.3, np.nextafter(floor, -1) if least is None else floor, most)
            if least is not None
            else plain_of_image(each[k], np.where(np.isneginf(scores[k]), -1e300, scores[k]), 0.3, floor, most)
            for k in range(images)
        ]
        found = bp.nms(boxes, scores, 0.3, score_threshold=least, max_output=most, workers=int(rng.integers(1, 3)))
        assert found.dtype == np.int32
        if most is None:
            assert found.tolist() == [[k, *row] for k in range(images) for row in plain[k]]
            assert found.shape[1] == 3
        else:
            assert found.tolist() == [rows + [[-1, -1]] * (most - len(rows)) for rows in plain]
            assert found.shape == (images, most, 2)
        if images and not own:
            one = bp.nms(boxes[0], scores[0], 0.3, score_threshold=least, max_output=most)
            assert one.tolist() == plain[0]
        if classes == 1:
            alone = bp.nms(
                boxes.reshape(images, count, 4), scores[:, :, 0], 0.3, score_threshold=least, max_output=most
            )
            if most is None:
                assert alone.tolist() == [[k, row] for k in range(images) for _, row in plain[k]]
            else:
                assert alone.tolist() == [[row for _, row in rows] + [-1] * (most - len(rows)) for rows in plain]


@pytest.mark.parametrize("form", ["xywh", "cxcywhr", "xyzlwhr"])
def test_nms_of_images_takes_any_form_and_any_blocks(form, monkeypatch):
    rng = np.random.default_rng(4)
    width = {"xywh": 4, "cxcywhr": 5, "xyzlwhr": 7}[form]
    boxes, scores = rng.uniform(1, 6, (4, 40, width)), rng.random((4, 40, 3))
    expected = []
    for k in range(4):
        rows = [
            (-scores[k, row, label], row, label)
            for label in range(3)
            for row in bp.nms(boxes[k], scores[k, :, label], 0.2, form=form).tolist()
        ]
        expected += [[k, label, row] for _, row, label in sorted(rows)]
    for size in (1, 250, 2**20):
        monkeypatch.setattr("broadphase.suppression._ENTRIES_AT_ONCE", size)
        assert bp.nms(boxes, scores, 0.2, form=form).tolist() == expected


def test_nms_batch_of_images_and_labels_limits_each_image():
    rng = np.random.default_rng(5)
    boxes, scores = drawn(rng, 80), rng.integers(0, 30, 80) / 8
    image, label = rng.integers(-3, 1, 80) * 2**61, rng.integers(-2, 2, 80)
    for least, most in ((-1.0, None), (1.0, None), (-1.0, 5), (1.0, 3)):
        best = []
        for one in np.unique(image):
            rows = []
            for other in np.unique(label):
                own = np.flatnonzero((image == one) & (label == other))
                rows += own[plain_of_class(boxes[own], scores[own], 0.2, least)].tolist()
            best += sorted(rows, key=lambda row: (-scores[row], row))[:most]
        best.sort(key=lambda row: (-scores[row], row))
        found = bp.nms(boxes, scores, 0.2, batch=(image, label), score_threshold=least, max_output=most)
        assert found.tolist() == best
    both = np.unique(np.column_stack([image, label]), axis=0, return_inverse=True)[1].reshape(-1)
    for a, b in zip(
        bp.soft_nms(boxes, scores, batch=(image, label)), bp.soft_nms(boxes, scores, batch=both), strict=True
    ):
        assert a.tolist() == b.tolist()
    assert bp.nms(boxes[:2], [1, 2], 0.5, batch=(7, 8)).tolist() == [1, 0]  # one key for each of two boxes


@pytest.mark.parametrize(
    ("boxes", "scores", "options", "text"),
    [
        (np.ones((2, 3, 4)), np.ones((2, 4)), {}, r"boxes have shape \(2, 3, 4\) and scores \(2, 4\)"),
        (np.ones((2, 3, 4)), np.ones((2, 3, 4, 5)), {}, "scores must have shape"),
        (np.ones((2, 3, 4)), [[1, 2, 3], [4, np.nan, 6]], {}, r"scores: row \(1, 1\) is NaN"),
        ([[[0, 0, 1, 1]], [[0, 0, -1, 1]]], [[1], [2]], {}, r"boxes: row 1: lower\[0\] > upper\[0\]"),
        ([[0, 0, 1, 1], [0, 0, -1, 1]], [2, 0], {"score_threshold": 1}, "boxes: row 1"),
        ([[0, 0, 1, 1]] * 2, [2, np.nan], {"score_threshold": 1}, "scores: row 1 is NaN"),
        (np.ones((2, 3, 4)), np.ones((2, 3)), {"batch": [1, 2]}, "are batches already"),
        (np.ones((2, 3, 4)), np.ones((2, 3)), {"degrees": True}, "degrees=True needs a form"),
        (np.ones((2, 4)), [1, 2], {"max_output": -1}, "max_output must not be negative"),
        (np.ones((2, 4)), [1, 2], {"score_threshold": np.nan}, "score_threshold must not be NaN"),
        (np.ones((2, 4)), [1, 2], {"batch": ([1, 2], [0.5, 1])}, r"batch\[1\] must be integer"),
    ],
)
def test_nms_of_images_bad_input_is_named(boxes, scores, options, text):
    with pytest.raises((ValueError, TypeError), match=text):
        bp.nms(boxes, scores, 0.5, **options)


def plain_kinds(a, b):
    """Return iou, giou, diou and ciou of two boxes by their definitions."""
    iou = plain_ratio(a, b)
    low, high = np.minimum(a[:2], b[:2]), np.maximum(a[2:], b[2:])
    common = np.prod(np.clip(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0, None))
    union = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common
    around = np.prod(high - low)
    far = (((a[:2] + a[2:] - b[:2] - b[2:]) / 2) ** 2).sum() / ((high - low) ** 2).sum()
    turns = [np.arctan((c[2] - c[0]) / (c[3] - c[1])) for c in (a, b)]
    v = 4 / np.pi**2 * (turns[0] - turns[1]) ** 2
    return iou, iou - (around - union) / around, iou - far, iou - far - (v * v / (1 - iou + v) if v else 0)


def test_iou_kinds_by_their_definitions():
    rng = np.random.default_rng(6)
    boxes, other = drawn(rng, 300), drawn(rng, 300)
    other[:20] = boxes[:20]
    expected = np.array([plain_kinds(*both) for both in zip(boxes, other, strict=True)])
    for column, kind in enumerate(("iou", "giou", "diou", "ciou")):
        assert bp.iou(boxes, other, kind=kind) == pytest.approx(expected[:, column], abs=1e-14)
        assert bp.iou(boxes * 2.0**1000, other * 2.0**1000, kind=kind) == pytest.approx(expected[:, column], abs=1e-14)
        found = bp.iou(boxes, other, kind=kind, threshold=0.1)
        assert found.ratios.tolist() == bp.iou(boxes, other, found.pairs, kind=kind).tolist()
        assert bp.iou([[1, 1, 1, 1]], [[1, 1, 1, 1]], kind=kind).tolist() == [0.0]
        assert bp.iou(boxes[:0], other[:0], kind=kind).tolist() == []
    for options, text in (({"kind": "eiou"}, "kind"), ({"kind": "giou", "form": "cxcywhr"}, "without an angle")):
        numbers = np.ones((1, 5 if "form" in options else 4))
        with pytest.raises(ValueError, match=text):
            bp.iou(numbers, numbers, **options)
    with pytest.raises(ValueError, match="two axes"):
        bp.iou(np.ones((1, 6)), np.ones((1, 6)), kind="ciou")


@pytest.mark.parametrize("form", ["cxcywh", "cxcywhr"])
def test_iou_above_a_threshold_finds_the_pairs_of_shapely(form):
    rng = np.random.default_rng(7)
    sets = []
    for count in (150, 90):
        boxes = np.column_stack(
            [rng.random((count, 2)) * 20, rng.uniform(0.3, 6, (count, 2)), rng.uniform(-4, 4, count)]
        )
        sets.append(boxes if form == "cxcywhr" else boxes[:, :4])
    polygons = []
    for boxes in sets:
        angle = boxes[:, 4] if form == "cxcywhr" else np.zeros(len(boxes))
        across = np.column_stack([np.cos(angle), np.sin(angle)]) * boxes[:, 2:3] / 2
        along = np.column_stack([-np.sin(angle), np.cos(angle)]) * boxes[:, 3:4] / 2
        ring = [boxes[:, :2] + u * across + v * along for u, v in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
        polygons.append(shapely.polygons(np.stack(ring, axis=1)))
    keys = [rng.integers(0, 3, len(boxes)) for boxes in sets]
    for second in (0, 1):
        a, b = polygons[0][:, np.newaxis], polygons[second][np.newaxis]
        common = shapely.area(shapely.intersection(a, b))
        ratios = common / (shapely.area(a) + shapely.area(b) - common)
        alike = keys[0][:, np.newaxis] == keys[second]
        if second == 0:
            alike &= np.triu(np.ones_like(alike), 1)
        for threshold in (1e-9, 0.1, 0.45, 1.0):
            expected = np.argwhere(alike & (ratios > threshold))
            more = {"other": sets[1], "batch": tuple(keys)} if second else {"batch": keys[0]}
            found = bp.iou(sets[0], form=form, threshold=threshold, workers=2, **more)
            assert found.pairs.tolist() == expected.tolist()
            assert found.ratios == pytest.approx(ratios[tuple(expected.T)], abs=1e-12)
    for options, text in (
        ({"threshold": -0.1}, "at least 0"),
        ({"threshold": 0.1, "pairs": [[0, 1]]}, "leave out pairs"),
        ({"pairs": [[0, 1]], "batch": 1}, "batch needs threshold"),
    ):
        with pytest.raises(ValueError, match=text):
            bp.iou(sets[0], form=form, **options)


def test_tensors_of_torch_give_tensors(monkeypatch):
    class Tensor:
        __module__ = "torch"

        def __init__(self, array):
            self.array = array

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.array, dtype)

        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=Tensor, from_numpy=Tensor))
    rng = np.random.default_rng(8)
    boxes, scores = drawn(rng, 2, 9), rng.random((2, 9))
    for given in ((boxes, scores), (boxes[0], scores[0])):
        found = bp.nms(*map(Tensor, given), 0.5)
        assert isinstance(found, Tensor)
        assert found.array.tolist() == bp.nms(*given, 0.5).tolist()
    soft = bp.soft_nms(Tensor(boxes[0]), Tensor(scores[0]))
    assert isinstance(soft.rows, Tensor)
    assert isinstance(bp.iou(Tensor(boxes[0]), Tensor(boxes[1])), Tensor)
    assert isinstance(bp.iou(Tensor(boxes[0]), threshold=0.1).pairs, Tensor)
