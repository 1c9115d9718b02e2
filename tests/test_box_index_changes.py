"""Pairs that came and went between two calls."""

import pickle

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import make_scene, moving
from cases import EACH_INDEX

UNIT = [[0.0, 0, 1, 1]]


def able(kind):
    row = next(row for row in bp.METHODS if row.name == ("bvh" if kind is bp.Index else kind.method))
    if "changes" not in row.capabilities:
        pytest.skip("this kind has no changes")
    return kind


def as_set(pairs):
    return {tuple(pair) for pair in pairs.tolist()}


@EACH_INDEX
def test_changes_of_a_moving_scene_balance_with_its_pairs(kind):
    steps = moving("rects", 300, speed=0.5)
    index, known = able(kind)(steps.boxes), set()
    rng = np.random.default_rng(0)
    for step in range(12):
        began, ended = (as_set(part) for part in index.changes())
        now = as_set(index.pairs())
        assert began == now - known
        assert ended == known - now
        known = now
        steps.step()
        if step % 3:
            index.update(steps.boxes)
        else:
            some = rng.choice(300, 20, replace=False)
            index.update(steps.boxes[some], rows=some)


@EACH_INDEX
def test_changes_over_random_removal_and_insertion_balance_by_handle(kind):
    rng = np.random.default_rng(1)
    scene = make_scene("clusters", 400)
    index, known = able(kind)(scene[:100]), set()
    for _ in range(30):
        began, ended = index.changes()
        # A pair that ended is one that was known, and one that began was not: also where rows were used again.
        ended, began = as_set(ended), as_set(began)
        assert ended <= known
        assert not began & (known - ended)
        known = (known - ended) | began
        assert known == as_set(index.pairs())
        index.remove(rng.choice(index.rows, rng.integers(0, 20), replace=False))
        index.insert(scene[rng.choice(400, rng.integers(0, 20))])


@EACH_INDEX
def test_pair_of_a_box_that_took_the_row_of_another_ends_and_begins(kind):
    index = able(kind)(UNIT * 3)
    assert index.changes().began.tolist() == [[0, 1], [0, 2], [1, 2]]
    index.remove(1)
    index.insert(UNIT)
    began, ended = index.changes()
    assert began.tolist() == ended.tolist() == [[0, 1], [1, 2]]
    assert [len(part) for part in index.changes()] == [0, 0]


@EACH_INDEX
def test_changes_go_on_through_pickling(kind):
    index = able(kind)(UNIT * 2)
    index.changes()
    twin = pickle.loads(pickle.dumps(index))
    twin.remove(0)
    assert twin.changes().ended.tolist() == [[0, 1]]
    assert [len(part) for part in index.changes()] == [0, 0]


@EACH_INDEX
def test_changes_that_raise_are_not_lost(kind):
    index = able(kind)(UNIT * 2)
    with pytest.raises(ValueError, match="layer has shape"):
        index.changes(layer=[1, 2, 3])
    assert index.changes().began.tolist() == [[0, 1]]


@EACH_INDEX
def test_filters_of_changes_are_those_of_pairs(kind):
    index = able(kind)(UNIT * 3, layer=[1, 2, 2], mask=[1, 2, 2])
    assert index.changes().began.tolist() == [[1, 2]]
    index.update_filters([0], layer=2, mask=2)
    assert index.changes().began.tolist() == [[0, 1], [0, 2]]
    began, ended = index.changes(ignore_pairs=[[2, 1]])
    assert (began.tolist(), ended.tolist()) == ([], [[1, 2]])
    began, ended = index.changes(touching=False, static=[True, True, False])
    assert (began.tolist(), ended.tolist()) == ([[1, 2]], [[0, 1]])
