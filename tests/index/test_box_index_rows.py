"""Rows of an index: which are used again, and that a handle never names another box."""

import copy
import pickle

import numpy as np
import pytest

import broadphase as bp
from broadphase.change import Change
from broadphase.index.store import BoxStore
from broadphase.testing import assert_same_pairs, make_scene
from cases import EACH_INDEX, living_pairs

UNIT = [[0, 0, 1, 1]]


def insert(store, boxes):
    change = Change()
    rows, _ = store.insert(change, store.checked(boxes))
    change.commit()
    return rows


def remove(store, rows):
    change = Change()
    store.remove_rows(change, store.distinct(rows))
    change.commit()


def test_rows_are_those_of_the_array_and_insert_continues_them():
    index = bp.BVH(make_scene("rects", 5))
    assert index.rows.tolist() == [0, 1, 2, 3, 4]
    assert index.insert(make_scene("rects", 2)).tolist() == [5, 6]
    assert (len(index), index.slots) == (7, 7)


def test_freed_rows_are_used_again_the_lowest_first():
    index = bp.BVH(make_scene("rects", 30))
    index.remove([20, 3, 11])
    assert index.insert(UNIT).tolist() == [3]
    assert index.insert(UNIT * 3).tolist() == [11, 20, 30]
    index.remove(np.arange(30, 2, -1))
    assert index.insert(UNIT * 20).tolist() == list(range(3, 23))
    assert index.insert(UNIT * 10).tolist() == list(range(23, 33))
    assert index.slots == 33


def test_store_after_random_history_keeps_the_lowest_rows_in_use():
    rng = np.random.default_rng(5)
    store, model = BoxStore(np.zeros((0, 2, 2))), {}
    for step in range(300):
        if model and rng.random() < 0.5:
            removed = rng.choice(sorted(model), rng.integers(1, len(model) + 1), replace=False)
            remove(store, removed)
            for row in removed:
                del model[row]
        count = int(rng.integers(0, 30))
        expected = [row for row in range(len(model) + count) if row not in model][:count]
        taken = insert(store, np.full((count, 2, 2), step))
        assert taken.tolist() == expected
        model.update(dict.fromkeys(taken.tolist(), step))
        assert store.numbers.tolist() == sorted(model)
        assert store.fault() == ""
        assert all((store.corners[row] == value).all() for row, value in model.items())


def test_handles_of_removed_boxes_are_stale_for_ever():
    index = bp.BVH(UNIT)
    seen = []
    for _ in range(200):
        handle = int(index.handles(0)[0])
        assert handle not in seen
        assert index.rows_of(handle).tolist() == [0]
        seen.append(handle)
        index.remove(0)
        with pytest.raises(bp.errors.UnknownRowError, match=f"handle {handle} is stale: the box of row 0 was removed"):
            index.rows_of(handle)
        index.insert(UNIT)
    for handle in seen:
        with pytest.raises(KeyError):
            index.rows_of([handle])


def test_slot_whose_generations_are_used_up_is_not_used_again():
    store = BoxStore(np.zeros((2, 2, 2)))
    store.generation[0] = 2**31 - 1
    handle = store.handles(0)
    assert handle > 0
    remove(store, 0)
    assert insert(store, np.zeros((1, 2, 2))).tolist() == [2]
    assert store.fault() == ""
    with pytest.raises(bp.errors.UnknownRowError):
        store.rows_of(handle)


@pytest.mark.parametrize("handle", [-1, 0, 1, 2**32 + 3, 2 * 2**32, 2**63 - 1])
def test_handle_that_never_existed_is_refused(handle):
    with pytest.raises(bp.errors.UnknownRowError, match="stale"):
        bp.BVH(UNIT).rows_of(handle)
    with pytest.raises(bp.errors.UnknownRowError, match="stale"):
        bp.BVH(np.zeros((0, 2, 2))).rows_of(handle)


def test_handles_and_rows_of_many_boxes_are_inverse():
    index = bp.BVH(make_scene("uniform", 100))
    index.remove(np.arange(0, 100, 7))
    assert np.array_equal(index.rows_of(index.handles()), index.rows)
    assert index.rows_of(index.handles([5, 3])).tolist() == [5, 3]


def test_boxes_of_rows_are_a_copy_of_their_corners():
    boxes = make_scene("uniform", 20)
    index = bp.BVH(boxes)
    index.remove([4])
    assert np.array_equal(index.boxes_of(), np.delete(boxes, 4, axis=0))
    assert np.array_equal(index.boxes_of([7, 2]), boxes[[7, 2]])
    index.boxes_of()[:] = 0
    boxes[:] = 0
    assert index.boxes_of([7]).any()


def test_rows_are_read_only():
    index = bp.BVH(make_scene("uniform", 20))
    with pytest.raises(ValueError, match="read-only"):
        index.rows[0] = 1


@EACH_INDEX
@pytest.mark.parametrize("make", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy])
def test_copy_of_an_index_has_all_and_shares_nothing(kind, make):
    boxes = make_scene("rects", 200)
    index = kind(boxes, layer=np.arange(200) % 4 + 1, mask=3)
    index.remove([0, 17])
    handles = index.handles()
    twin = make(index)
    assert type(twin) is kind
    assert (len(twin), twin.dtype, twin.dim) == (198, boxes.dtype, 2)
    assert np.array_equal(twin.rows_of(handles), index.rows)
    assert_same_pairs(twin.pairs(), index.pairs())
    twin.remove(twin.rows[:100])
    assert_same_pairs(index.pairs(), living_pairs(index, layer=np.arange(200) % 4 + 1, mask=3))
    assert twin.insert(boxes[:1]).tolist() == [0]
    twin.validate()
    index.validate()


def test_pickle_holds_nothing_but_the_rows_in_use():
    index = bp.BVH(make_scene("uniform", 10))
    small = len(pickle.dumps(index))
    index.insert(make_scene("uniform", 1))
    assert len(pickle.dumps(index)) < 1.3 * small


@EACH_INDEX
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_index_that_begins_empty_accepts_boxes(kind, dimension, dtype):
    index = kind(np.empty((0, 2, dimension), dtype))
    assert len(index) == 0
    assert index.pairs().shape == (0, 2)
    assert index.count_pairs() == 0
    assert index.insert(np.zeros((3, 2, dimension), dtype)).tolist() == [0, 1, 2]
    assert (index.dtype, index.dim, len(index)) == (dtype, dimension, 3)
    assert index.pairs(sort=True).tolist() == [[0, 1], [0, 2], [1, 2]]
    index.remove([0, 1, 2])
    assert index.pairs().shape == (0, 2)
    index.validate()


def test_index_prints_as_what_it_is():
    assert repr(bp.BVH(make_scene("uniform", 1000))) == "<BVH of 1000 boxes, 3-d float32>"
    assert repr(bp.BVH(UNIT)) == "<BVH of 1 box, 2-d float64>"
