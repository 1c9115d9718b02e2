"""Soft-NMS, against the loop of the paper."""

import math
from itertools import product

import numpy as np
import pytest

import broadphase as bp
from broadphase import thresholds
from broadphase.suppression import SoftNMS
from cases import DTYPES
from oracles.rotated_boxes import plain_rotated_iou


def plain_iou(a, b):
    """Divide what two upright boxes share, d lower and d upper numbers each, by their union."""
    dimension = len(a) // 2
    sides = [min(a[dimension + k], b[dimension + k]) - max(a[k], b[k]) for k in range(dimension)]
    if min(sides) <= 0:
        return 0.0
    common, first, second = (
        math.prod(of) for of in (sides, *([box[dimension + k] - box[k] for k in range(dimension)] for box in (a, b)))
    )
    return common / (first + second - common)


def plain_soft_nms(boxes, scores, *, decay, sigma=0.5, threshold=0.3, min_score=0.001, batch=None, ratio=plain_iou):
    """Figure 2 of the paper: take the best, multiply the scores of all others, go on with the rest."""
    boxes, scores = boxes.tolist(), [float(score) for score in scores]
    keys = [0] * len(boxes) if batch is None else batch.tolist()
    left, taken = set(range(len(boxes))), []
    while left:
        best = min(left, key=lambda row: (-scores[row], row))
        left.remove(best)
        if scores[best] < min_score:
            continue
        taken.append(best)
        for row in left:
            if keys[row] != keys[best]:
                continue
            overlap = ratio(boxes[best], boxes[row])
            if decay == "gaussian":
                scores[row] *= math.exp(-(overlap**2) / sigma)
            elif overlap >= threshold:
                scores[row] *= 1 - overlap
    return taken, [scores[row] for row in taken]


def require_same(found, expected):
    rows, scores = found
    assert (rows.dtype, scores.dtype) == (np.int32, np.float64)
    assert rows.tolist() == expected[0]
    assert scores == pytest.approx(np.array(expected[1]), rel=1e-12, abs=0)


def crowds(rng, count, dimension, objects):
    """Draw boxes of several detections each."""
    center, size = rng.random((objects, dimension)) * 3 * objects**0.5, rng.uniform(1, 3, (objects, dimension))
    of = rng.integers(0, objects, count)
    size = size[of] * rng.uniform(0.8, 1.25, (count, dimension))
    center = center[of] + rng.normal(0, 0.2, (count, dimension))
    return np.concatenate([center - size / 2, center + size / 2], axis=1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("objects", [1, 9, 300])
@pytest.mark.parametrize("fewest", [0, 1500])  # on both sides of where pairs are found first, if they are few
def test_soft_nms_of_crowds_as_the_paper(fewest, objects, dimension, dtype, monkeypatch):
    monkeypatch.setattr(thresholds, "FEWEST_WITH_PAIRS", fewest)
    rng = np.random.default_rng([objects, dimension])
    for decay, min_score in product(("gaussian", "linear"), (0.0, 0.001, 0.4)):
        boxes = crowds(rng, 220, dimension, objects).astype(dtype)
        scores = rng.random(220).astype(dtype)
        options = {"decay": decay, "min_score": min_score, "sigma": rng.choice([0.05, 0.5]), "threshold": 0.45}
        options["batch"] = None if rng.random() < 0.6 else rng.integers(-1, 2, 220)
        require_same(bp.soft_nms(boxes, scores, **options), plain_soft_nms(boxes, scores, **options))


@pytest.mark.parametrize("form", ["cxcywhr", "xyzlwhr"])
@pytest.mark.parametrize("fewest", [0, 1500])
def test_soft_nms_of_rotated_boxes_as_the_paper(fewest, form, monkeypatch):
    monkeypatch.setattr(thresholds, "FEWEST_WITH_PAIRS", fewest)
    dimension = 2 if form == "cxcywhr" else 3
    rng = np.random.default_rng(dimension)
    for decay in ("gaussian", "linear"):
        upright = crowds(rng, 70, dimension, 5)
        center, size = (
            (upright[:, :dimension] + upright[:, dimension:]) / 2,
            upright[:, dimension:] - upright[:, :dimension],
        )
        boxes, scores = np.concatenate([center, size, rng.uniform(-4, 4, (70, 1))], axis=1), rng.random(70)
        expected = plain_soft_nms(boxes, scores, decay=decay, ratio=plain_rotated_iou)
        require_same(bp.soft_nms(boxes, scores, decay=decay, form=form), expected)
        boxes[:, -1] = np.degrees(boxes[:, -1])
        require_same(bp.soft_nms(boxes, scores, decay=decay, form=form, degrees=True), expected)


def test_soft_nms_result_has_names_and_unpacks():
    boxes = [[0, 0, 10, 10, 0], [1, 1, 11, 11, 0], [20, 20, 30, 30, 0]]
    for found in (bp.soft_nms(np.array(boxes)[:, :4], [0.8, 0.9, 0.7]), bp.soft_nms(boxes, [1, 1, 1], form="cxcywhr")):
        assert isinstance(found, SoftNMS)
        assert found._fields == ("rows", "scores")
        rows, scores = found
        assert rows is found.rows
        assert scores is found.scores


def test_soft_nms_ties_are_by_row():
    # Each overlaps the next one by a third, and rows 0 and 3 are apart from all.
    boxes = np.array([[90, 0, 94, 1], [2, 0, 6, 1], [0, 0, 4, 1], [80, 0, 84, 1], [4, 0, 8, 1]], float)
    scores = np.full(5, 0.75)
    found = bp.soft_nms(boxes, scores, decay="linear", threshold=0.25)
    assert found[0].tolist() == [0, 1, 3, 2, 4]
    require_same(found, plain_soft_nms(boxes, scores, decay="linear", threshold=0.25))
    equal = np.tile([[0.0, 0, 1, 1]], (300, 1))
    rows, after = bp.soft_nms(equal, np.ones(300), decay="linear", min_score=0)
    assert (rows.tolist(), after.tolist()) == ([*range(300)], [1.0] + [0.0] * 299)
    assert bp.soft_nms(equal, np.ones(300), decay="linear")[0].tolist() == [0]


def test_soft_nms_ratio_at_the_threshold_counts():
    boxes, half = np.array([[0, 0, 2, 1], [0, 0, 1, 1]], float), 0.5
    assert bp.soft_nms(boxes, [1, 1], decay="linear", threshold=half)[1].tolist() == [1.0, 0.5]
    assert bp.soft_nms(boxes, [1, 1], decay="linear", threshold=np.nextafter(half, 1))[1].tolist() == [1.0, 1.0]
    assert bp.soft_nms(boxes, [1, 1], decay="linear", threshold=half, min_score=half)[0].tolist() == [0, 1]
    assert bp.soft_nms(boxes, [1, 1], decay="linear", threshold=half, min_score=0.51)[0].tolist() == [0]


def test_soft_nms_is_the_same_for_all_workers_and_orders_of_batches():
    rng = np.random.default_rng(4)
    boxes, scores = crowds(rng, 20_000, 2, 900), rng.random(20_000)
    batch = rng.integers(0, 40, 20_000)
    rows, after = bp.soft_nms(boxes, scores, batch=batch)
    for workers in (2, 3, -1):
        again = bp.soft_nms(boxes, scores, batch=batch, workers=workers)
        assert (again[0].tolist(), again[1].tolist()) == (rows.tolist(), after.tolist())
    for key in (0, 39):
        members = np.flatnonzero(batch == key)
        alone = bp.soft_nms(boxes[members], scores[members])
        assert members[alone[0]].tolist() == rows[batch[rows] == key].tolist()
        assert alone[1].tolist() == after[batch[rows] == key].tolist()


@pytest.mark.parametrize("decay", ["gaussian", "linear"])
def test_soft_nms_of_slabs_is_the_same_by_pairs_and_by_places(decay, monkeypatch):
    rng = np.random.default_rng(5)
    low, sides = rng.random((5000, 2)) * 60, np.where(rng.random((5000, 1)) < 0.5, (3.0, 0.01), (0.01, 3.0))
    boxes, scores, batch = np.concatenate([low, low + sides], axis=1), rng.random(5000), rng.integers(0, 3, 5000)
    for options in ({"threshold": 0.0}, {"threshold": 1e-3, "min_score": 0.0}, {"batch": batch, "workers": 2}):
        found = bp.soft_nms(boxes, scores, decay=decay, sigma=1e-5, **options)
        assert 0 < len(found.rows) <= 5000
        with monkeypatch.context() as patch:
            patch.setattr(thresholds, "FEWEST_WITH_PAIRS", 10_000)
            by_places = bp.soft_nms(boxes, scores, decay=decay, sigma=1e-5, **options)
        assert np.array_equal(found.rows, by_places.rows)
        assert np.array_equal(found.scores, by_places.scores)


def test_soft_nms_of_flat_boxes_and_zero_scores():
    boxes = np.array([[0, 0, 0, 5], [0, 0, 0, 5], [0, 0, 9, 9], [0, 0, 9, 9]], float)
    rows, after = bp.soft_nms(boxes, [0.5, 0.5, 0, 0.25], min_score=0)
    assert (rows.tolist(), after.tolist()) == ([0, 1, 3, 2], [0.5, 0.5, 0.25, 0.0])
    rows, after = bp.soft_nms([], [])
    assert (rows.tolist(), after.tolist()) == ([], [])


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64", "uint8", "bool", "longdouble"])
def test_soft_nms_takes_scores_of_any_type(dtype):
    boxes = np.arange(4)[:, np.newaxis] * 10.0 + [0, 1]
    rows, after = bp.soft_nms(boxes, np.array([0, 1, 0, 1], dtype), min_score=0)
    assert (rows.tolist(), after.tolist()) == ([1, 3, 0, 2], [1.0, 1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("scores", "options", "text"),
    [
        ([1, -0.5], {}, "scores: row 1 is -0.5, which is not finite and at least 0"),
        ([np.nan, 1], {}, "scores: row 0 is nan"),
        ([1, np.inf], {}, "scores: row 1 is inf"),
        ([1], {}, r"scores must have shape \(2,\)"),
        (["a", "b"], {}, "scores must be numbers"),
        ([1, 1], {"decay": "hard"}, "decay"),
        ([1, 1], {"decay": None}, "decay"),
        ([1, 1], {"sigma": 0}, "sigma must be finite and above 0, not 0.0"),
        ([1, 1], {"sigma": np.nan}, "sigma must be"),
        ([1, 1], {"threshold": 1.5}, "threshold must be from 0 to 1, not 1.5"),
        ([1, 1], {"min_score": -1}, "min_score must be finite and at least 0, not -1.0"),
        ([1, 1], {"batch": [0.5, 1]}, "batch must be integer"),
        ([1, 1], {"boxes": [[0, 0, 1, 1], [0, 0, -1, 1]]}, r"boxes: row 1: lower\[0\] > upper\[0\]"),
        ([1, 1], {"boxes": [[0, 0, 1, 1], [0, 0, np.inf, 1]]}, "boxes: row 1 is infinite"),
    ],
)
def test_soft_nms_bad_input_is_named(scores, options, text):
    given = {"boxes": [[0, 0, 1, 1], [0, 0, 1, 2]], "scores": scores} | options
    with pytest.raises((ValueError, TypeError), match=text):
        bp.soft_nms(**given)
