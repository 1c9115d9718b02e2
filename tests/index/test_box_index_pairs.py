"""Pairs of an index are those of the one-shot call on its living boxes, by row."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, make_scene, oracle
from cases import EACH_INDEX, living_pairs

N = 300
GONE = np.arange(0, N, 5)


def filters(rng, slots):
    return {
        "layer": rng.integers(0, 8, slots),
        "mask": rng.integers(0, 8, slots),
        "group": rng.integers(-2, 3, slots),
        "static": rng.random(slots) < 0.3,
        "ignore_shared": rng.integers(0, 40, (slots, 2)),
    }


def made(kind, gone=GONE, **options):
    index = kind(make_scene("clusters", N, dtype=np.float64), **options)
    index.remove(gone)
    return index


@EACH_INDEX
@pytest.mark.parametrize("gone", [[], GONE], ids=["all rows live", "some rows are free"])
@pytest.mark.parametrize("options", [{}, {"touching": False}, {"margin": 3.0}, {"workers": 2}])
def test_pairs_are_those_of_the_living_boxes(kind, gone, options):
    index = made(kind, gone)
    options = dict(options)
    workers = options.pop("workers", 1)
    expected = living_pairs(index, **options)
    assert len(expected) > 20
    assert_same_pairs(index.pairs(workers=workers, **options), expected)
    assert np.array_equal(index.pairs(sort=True, **options), expected)
    assert index.count_pairs(workers=workers, **options) == len(expected)


@EACH_INDEX
@pytest.mark.parametrize("name", ["layer", "mask", "group", "static", "ignore_shared"])
@pytest.mark.parametrize("margin", [0.0, 3.0])
def test_filters_have_one_value_for_each_slot(kind, name, margin):
    index = made(kind)
    option = {name: filters(np.random.default_rng(1), N)[name]}
    expected = living_pairs(index, margin=margin, **option)
    assert 0 < len(expected) < index.count_pairs(margin=margin)
    assert_same_pairs(index.pairs(margin=margin, **option), expected)
    assert index.count_pairs(margin=margin, **option) == len(expected)


@EACH_INDEX
@pytest.mark.parametrize("margin", [0.0, 3.0])
def test_pairs_to_leave_out_are_named_by_row(kind, margin):
    index = made(kind)
    every = index.pairs(sort=True, margin=margin)
    left = index.pairs(sort=True, margin=margin, ignore_pairs=np.concatenate([every[::3, ::-1], [[0, 5]]]))
    assert np.array_equal(left, np.delete(every, np.arange(0, len(every), 3), axis=0))


@EACH_INDEX
def test_layers_of_the_index_are_used_unless_others_are_given(kind):
    rng = np.random.default_rng(2)
    layer, mask = rng.integers(0, 8, N), rng.integers(0, 8, N)
    index = made(kind, layer=layer, mask=mask)
    for margin in (0.0, 3.0):
        assert_same_pairs(index.pairs(margin=margin), living_pairs(index, layer=layer, mask=mask, margin=margin))
        assert_same_pairs(index.pairs(layer=7, margin=margin), living_pairs(index, layer=7, mask=mask, margin=margin))
        assert_same_pairs(index.pairs(layer=1, mask=1, margin=margin), living_pairs(index, margin=margin))
    layer[[1, 2, 3]] = 5
    index.set_filters([1, 2, 3], layer=5)
    assert_same_pairs(index.pairs(), living_pairs(index, layer=layer, mask=mask))
    row = index.insert(index.boxes_of(1), layer=4)
    assert row.tolist() == [0]
    layer[0], mask[0] = 4, -1
    assert_same_pairs(index.pairs(), living_pairs(index, layer=layer, mask=mask))


@EACH_INDEX
def test_bits_given_late_leave_the_others_at_all_bits(kind):
    index = kind([[0, 0, 1, 1]] * 3)
    assert index.insert([[0, 0, 1, 1]], layer=2, mask=2).tolist() == [3]
    index.set_filters(0, layer=1)
    assert index.pairs(sort=True).tolist() == [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]


@EACH_INDEX
@pytest.mark.parametrize("there", ["boxes", "index", "index of another kind"])
def test_pairs_with_others_are_named_by_the_rows_of_both(kind, there):
    index = made(kind)
    other = make_scene("clusters", N, dtype=np.float64)[-120:] + 0.25
    rows = np.arange(120)
    if there == "index":
        other = kind(other)
    elif there == "index of another kind":
        other = bp.SweepAndPrune(other) if issubclass(bp.SweepAndPrune, bp.index.BoxIndex) else bp.BVH(other)
    if there != "boxes":
        other.remove([0, 50, 119])
        rows = other.rows
    boxes = other if there == "boxes" else other.boxes_of()
    bits = np.random.default_rng(3).integers(0, 4, N), np.random.default_rng(4).integers(0, 4, 120)
    for options in ({}, {"touching": False}, {"margin": 2.0}):
        expected = oracle.pairs(index.boxes_of(), boxes, **options)
        expected = np.stack([index.rows[expected[:, 0]], rows[expected[:, 1]]], axis=1)
        assert len(expected)
        assert np.array_equal(index.pairs(other, sort=True, **options), expected)
        assert index.count_pairs(other, **options) == len(expected)
        allowed = (bits[0][expected[:, 0]] & bits[1][expected[:, 1]]) != 0
        assert np.array_equal(index.pairs(other, sort=True, layer=bits, mask=bits, **options), expected[allowed])
        left_out = expected[allowed][::2]
        assert np.array_equal(
            index.pairs(other, sort=True, layer=bits, mask=bits, ignore_pairs=left_out, **options),
            expected[allowed][1::2],
        )


def test_pairs_with_another_index_use_the_layers_of_both():
    boxes = make_scene("clusters", 200)
    bits = np.arange(200) % 8
    left, right, plain = bp.BVH(boxes, layer=bits), bp.BVH(boxes, mask=bits[::-1].copy()), bp.BVH(boxes)
    every = plain.pairs(plain, sort=True)
    expected = every[(bits[every[:, 0]] & bits[::-1][every[:, 1]]) != 0]
    assert np.array_equal(left.pairs(right, sort=True), expected)
    assert np.array_equal(left.pairs(plain, sort=True), every[bits[every[:, 0]] != 0])
    assert np.array_equal(left.pairs(right, sort=True, layer=-1), every[bits[::-1][every[:, 1]] != 0])


@EACH_INDEX
@pytest.mark.parametrize("sort", [False, True])
def test_few_boxes_against_many_are_found_as_many_are(kind, sort):
    rng = np.random.default_rng(6)
    boxes = make_scene("clusters", 2000)
    index, few = kind(boxes, layer=rng.integers(0, 8, 2000)), bp.BVH(boxes[::40] * 1.0, mask=rng.integers(0, 8, 50))
    index.remove([0, 100, 1999])
    few.remove([7])
    index.query(boxes[:1]) if kind is bp.Index else None  # which is when it gets its tree
    for many, other in ((index, few), (few, index), (index, boxes[:30].astype(np.float64))):
        every = many.pairs(other, sort=sort, max_pairs=10**9)  # counting them, it looks nothing up
        assert len(every) > 50
        found = many.pairs(other, sort=sort)
        assert found.dtype == np.int32
        if sort:
            assert np.array_equal(found, every)
        else:
            assert_same_pairs(found, every)
    with pytest.raises(bp.errors.InvalidBoxError, match=r"other: row 1: .* is NaN"):
        index.pairs(np.full((2, 2, boxes.shape[2]), [[[0.0]], [[np.nan]]]))
    with pytest.raises(ValueError, match="dimensions"):
        index.pairs(np.zeros((1, 2, 4)))


def test_pairs_of_an_index_with_itself_are_those_of_two_sets():
    index = bp.BVH([[0, 0, 1, 1], [1, 1, 2, 2]])
    assert index.pairs(index, sort=True).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
