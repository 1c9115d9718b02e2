"""Boxes swept, grown and merged."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.boxes import from_centers, grow, merge, swept


def scene(count=500, dimension=3, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return from_centers(rng.random((count, dimension)).astype(dtype), rng.random((count, dimension)).astype(dtype) / 20)


def test_swept_boxes_hold_both_poses():
    before, after = scene(seed=1), scene(seed=2)
    boxes = swept(before, after)
    np.testing.assert_array_equal(boxes[:, 0], np.minimum(before[:, 0], after[:, 0]))
    np.testing.assert_array_equal(boxes[:, 1], np.maximum(before[:, 1], after[:, 1]))
    np.testing.assert_array_equal(boxes, swept(after, before))
    np.testing.assert_array_equal(swept(before, before), before)


def test_swept_boxes_of_two_dtypes_are_float64():
    assert swept(scene(dtype=np.float32), scene(dtype=np.float32)).dtype == np.float32
    assert swept(scene(dtype=np.float32), scene()).dtype == np.float64


def test_swept_boxes_need_as_many_before_as_after():
    with pytest.raises(ValueError, match="before has 5 boxes of 3 axes, after has 6"):
        swept(scene(5), scene(6))


def test_swept_boxes_name_the_bad_row():
    after = scene(5)
    after[3, 0, 1] = np.nan
    with pytest.raises(bp.errors.InvalidBoxError, match=r"after: row 3: lower\[1\] is NaN") as caught:
        swept(scene(5), after)
    assert caught.value.row == 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("margin", [0.0, 0.01, 0.1, 1 / 3])
def test_grown_boxes_have_the_pairs_that_margin_gives(dtype, margin):
    boxes = scene(dtype=dtype)
    grown = grow(boxes, margin)
    assert grown.dtype == dtype
    expected = bp.pairs(boxes, margin=margin, sort=True)
    np.testing.assert_array_equal(bp.pairs(grown, sort=True), expected)


def test_grown_boxes_each_by_its_own_margin():
    boxes = grow([[0, 0, 1, 1], [0, 0, 1, 1]], [0, 4])
    np.testing.assert_array_equal(boxes, [[[0, 0], [1, 1]], [[-2, -2], [3, 3]]])


def test_grown_boxes_may_become_infinite():
    boxes = np.array([[[-3e38], [3e38]]], np.float32)
    assert np.isinf(grow(boxes, 3e38)).all()


@pytest.mark.parametrize("margin", [-1, np.nan, np.inf, [0, -1]])
def test_grown_boxes_refuse_a_bad_margin(margin):
    with pytest.raises(ValueError, match=r"margin: .*not finite and at least 0"):
        grow(scene(2), margin)


def test_merged_boxes_give_the_box_around_all():
    boxes = scene(dtype=np.float32)
    around = merge(boxes)
    assert around.dtype == np.float32
    np.testing.assert_array_equal(around, [boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])


def test_merged_boxes_need_at_least_one():
    with pytest.raises(ValueError, match="zero boxes"):
        merge(np.empty((0, 2, 3)))


@pytest.mark.parametrize("function", [merge, lambda boxes: grow(boxes, 1), lambda boxes: swept(boxes, boxes)])
def test_inverted_boxes_name_the_row(function):
    with pytest.raises(bp.errors.InvalidBoxError, match=r"row 1: lower\[1\] > upper\[1\] \(5\.0 > 2\.0\)"):
        function([[0, 0, 1, 1], [0, 5, 1, 2]])
