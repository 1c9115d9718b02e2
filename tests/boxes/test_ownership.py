"""Ownership: results stand on their own, and inputs are neither kept nor changed."""

import gc
import sys
import weakref

import numpy as np
import pytest

import broadphase as bp
from cases import DTYPES, METHOD_NAMES, scene

FORMS = {
    "(n, 2, d)": lambda boxes: boxes,
    "(n, 2 d)": lambda boxes: boxes.reshape(len(boxes), -1),
    "pair": lambda boxes: (boxes[:, 0], boxes[:, 1]),
    "transposed": lambda boxes: boxes.transpose(2, 1, 0).copy().transpose(2, 1, 0),
}


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_result_outlives_its_inputs(method):
    boxes = scene("uniform", 3000).copy()
    expected = bp.pairs(boxes, method=method).copy()
    found = bp.pairs(boxes, method=method)
    boxes[:] = 7.0
    del boxes
    gc.collect()
    clutter = [np.full(10_000, -1, np.int32) for _ in range(50)]
    assert np.array_equal(found, expected)
    assert len(clutter) == 50


def test_columns_of_a_result_outlive_it():
    boxes = scene("uniform", 3000)
    first, second = bp.pairs(boxes).T
    gc.collect()
    clutter = [bp.pairs(boxes) for _ in range(20)]
    assert np.array_equal(np.stack([first, second], axis=1), clutter[0])


@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("method", METHOD_NAMES)
def test_results_are_writable_and_share_nothing(method, sort):
    boxes = scene("uniform", 3000)
    one, two = bp.pairs(boxes, method=method, sort=sort), bp.pairs(boxes, method=method, sort=sort)
    assert not np.shares_memory(one, two)
    expected = two.copy()
    one[:] = -1
    assert np.array_equal(two, expected)


def test_empty_results_are_writable_arrays():
    found = bp.pairs(np.empty((0, 2, 2)))
    found[:] = 1
    assert found.shape == (0, 2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_inputs_are_never_modified(form, dtype):
    boxes, other = scene("lattice", 2000, 1, dtype).copy(), scene("lattice", 1000, 2, dtype).copy()
    before, other_before = boxes.tobytes(), other.tobytes()
    for method in METHOD_NAMES:
        for workers in (1, 2):
            for options in ({}, {"touching": False}, {"margin": 0.5}):
                bp.pairs(form(boxes), method=method, workers=workers, sort=True, **options)
                bp.pairs(form(boxes), form(other), method=method, workers=workers, **options)
                bp.count_pairs(form(boxes), method=method, workers=workers, **options)
                list(bp.iter_pairs(form(boxes), method=method, workers=workers, **options))
    assert boxes.tobytes() == before
    assert other.tobytes() == other_before


@pytest.mark.parametrize("invalid", ["raise", "skip"])
def test_bad_inputs_are_never_modified(invalid):
    boxes = scene("rects", 100).copy()
    boxes[50, 0, 0] = np.nan
    before = boxes.tobytes()
    with pytest.raises(bp.errors.InvalidBoxError) if invalid == "raise" else pytest.warns(bp.errors.InvalidBoxWarning):
        bp.pairs(boxes, invalid=invalid)
    assert boxes.tobytes() == before


def test_inputs_edited_after_the_call_do_not_change_the_result():
    boxes = scene("uniform", 3000).copy()
    found = bp.pairs(boxes)
    expected = found.copy()
    boxes[:] = 0.0
    assert np.array_equal(found, expected)
    assert bp.count_pairs(boxes) == 3000 * 2999 // 2  # and the edit is seen by the next call


def test_inputs_are_not_kept_alive():
    boxes = scene("uniform", 3000).copy()
    group = np.zeros(3000, np.int64)
    gone = [weakref.ref(boxes), weakref.ref(group)]
    found = bp.pairs(boxes, group=group)
    bp.count_pairs(boxes, group=group)
    del boxes, group
    gc.collect()
    assert [reference() for reference in gone] == [None, None]
    assert len(found)


def test_reference_counts_are_the_same_after_a_call():
    boxes, other = scene("uniform", 1000, 1).copy(), scene("uniform", 1000, 2).copy()
    bad = boxes.copy()
    bad[0] = np.nan
    options = {"layer": np.ones(1000, np.uint64), "static": np.zeros(1000, bool)}
    held = [boxes, bad, other, *options.values(), None, True]
    before = [sys.getrefcount(thing) for thing in held]
    for _ in range(50):
        bp.pairs(boxes, **options)
        bp.pairs(boxes, other)
        bp.count_pairs(boxes)
        with pytest.raises(ValueError, match="NaN"):
            bp.pairs(bad)
    gc.collect()
    after = [sys.getrefcount(thing) for thing in held]
    assert all(abs(b - a) < 50 for a, b in zip(before, after, strict=True)), (before, after)
    assert after[:5] == before[:5]
