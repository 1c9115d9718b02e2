"""Pairs that came and went between two calls."""

import pickle

import numpy as np
import pytest

from broadphase.testing import make_scene, moving
from cases import each_index_with

UNIT = [[0.0, 0, 1, 1]]


def as_set(pairs):
    return {tuple(pair) for pair in pairs.tolist()}


@each_index_with("changes")
def test_changes_of_a_moving_scene_balance_with_its_pairs(kind):
    steps = moving("rects", 300, speed=0.5)
    index, known = kind(steps.boxes), set()
    rng = np.random.default_rng(0)
    for step in range(12):
        enter, exit_ = (as_set(part) for part in index.changes())
        now = as_set(index.pairs())
        assert enter == now - known
        assert exit_ == known - now
        known = now
        steps.step()
        if step % 3:
            index.update(steps.boxes)
        else:
            some = rng.choice(300, 20, replace=False)
            index.move(some, steps.boxes[some])


@each_index_with("changes")
def test_changes_over_random_removal_and_insertion_balance_by_handle(kind):
    rng = np.random.default_rng(1)
    scene = make_scene("clusters", 400)
    index, known = kind(scene[:100]), set()
    for _ in range(30):
        enter, exit_ = index.changes()
        # What exits was known, and what enters was not: also where rows were used again.
        exit_, enter = as_set(exit_), as_set(enter)
        assert exit_ <= known
        assert not enter & (known - exit_)
        known = (known - exit_) | enter
        assert known == as_set(index.pairs())
        index.remove(rng.choice(index.rows, rng.integers(0, 20), replace=False))
        index.insert(scene[rng.choice(400, rng.integers(0, 20))])


def named(index, pairs):
    """Give pairs by handle: a box that took the row of another is not the same."""
    handles = dict(zip(index.rows.tolist(), index.handles().tolist(), strict=True))
    return {(handles[i], handles[j]) for i, j in pairs.tolist()}


def by_row(pairs):
    return sorted([i & 0xFFFF_FFFF, j & 0xFFFF_FFFF] for i, j in pairs)


@each_index_with("changes")
@pytest.mark.parametrize("seed", range(6))
def test_changes_over_any_history_are_the_difference_of_two_states(kind, seed):
    rng = np.random.default_rng(seed)
    scene = make_scene("lattice_2d", 4000, seed=seed)
    index, known = kind(scene[:60]), set()
    filters = {}
    for _ in range(60):
        for _ in range(rng.integers(0, 4)):
            action = rng.integers(0, 7)
            some = rng.choice(index.rows, rng.integers(0, len(index) // 4 + 1), replace=False)
            if action == 0:
                index.remove(some)
            elif action == 1:
                index.insert(scene[rng.choice(4000, rng.integers(0, 15))], layer=int(rng.integers(1, 4)))
            elif action == 2:
                index.move(some, scene[rng.choice(4000, len(some))])
            elif action == 3:
                index.update(scene[rng.choice(4000, len(index))])
            elif action == 4:
                index.set_filters(some, layer=1, mask=int(rng.integers(1, 4)))
            elif action == 5:
                index = pickle.loads(pickle.dumps(index))
            else:
                pickle.dumps(index)
        if rng.random() < 0.2:
            filters = {"touching": bool(rng.integers(2))}
            if rng.random() < 0.5:
                filters["group"] = rng.integers(0, 3, 200)
            if rng.random() < 0.3:
                filters["ignore_shared"] = rng.integers(0, 40, (200, 2))
            if rng.random() < 0.3:
                filters["ignore_pairs"] = rng.integers(0, 30, (20, 2))
        now_filters = {name: value[: index.slots] if np.ndim(value) and name != "ignore_pairs" else value
                       for name, value in filters.items()}  # fmt: skip
        now = named(index, index.pairs(**now_filters))
        enter, exit_ = index.changes(**now_filters)
        assert enter.dtype == exit_.dtype == np.int32
        assert enter.tolist() == by_row(now - known)
        assert exit_.tolist() == by_row(known - now)
        known = now
        index.validate()


@each_index_with("changes")
def test_filters_may_be_edited_after_the_call(kind):
    index = kind(UNIT * 3)
    group = np.zeros(3, np.int64)
    assert len(index.changes(group=group).enter) == 3
    group[:] = -1
    enter, exit_ = index.changes(group=group)
    assert (len(enter), len(exit_)) == (0, 3)


@each_index_with("changes")
def test_pair_of_a_box_that_took_the_row_of_another_ends_and_begins(kind):
    index = kind(UNIT * 3)
    assert index.changes().enter.tolist() == [[0, 1], [0, 2], [1, 2]]
    index.remove(1)
    index.insert(UNIT)
    enter, exit_ = index.changes()
    assert enter.tolist() == exit_.tolist() == [[0, 1], [1, 2]]
    assert [len(part) for part in index.changes()] == [0, 0]


@each_index_with("changes")
def test_changes_go_on_through_pickling(kind):
    index = kind(UNIT * 2)
    index.changes()
    twin = pickle.loads(pickle.dumps(index))
    twin.remove(0)
    assert twin.changes().exit.tolist() == [[0, 1]]
    assert [len(part) for part in index.changes()] == [0, 0]


@each_index_with("changes")
def test_changes_that_raise_are_not_lost(kind):
    index = kind(UNIT * 2)
    with pytest.raises(ValueError, match="layer has shape"):
        index.changes(layer=[1, 2, 3])
    assert index.changes().enter.tolist() == [[0, 1]]


@each_index_with("changes")
def test_filters_of_changes_are_those_of_pairs(kind):
    index = kind(UNIT * 3, layer=[1, 2, 2], mask=[1, 2, 2])
    assert index.changes().enter.tolist() == [[1, 2]]
    index.set_filters([0], layer=2, mask=2)
    assert index.changes().enter.tolist() == [[0, 1], [0, 2]]
    enter, exit_ = index.changes(ignore_pairs=[[2, 1]])
    assert (enter.tolist(), exit_.tolist()) == ([], [[1, 2]])
    enter, exit_ = index.changes(touching=False, static=[True, True, False])
    assert (enter.tolist(), exit_.tolist()) == ([[1, 2]], [[0, 1]])


@each_index_with("changes")
def test_a_pair_that_counts_by_both_calls_is_in_neither_part(kind):
    index = kind([[0.0, 0, 2, 2], [1, 1, 3, 3]])
    assert index.changes(touching=False).enter.tolist() == [[0, 1]]
    index.update([[0.0, 0, 1, 1], [1, 1, 3, 3]])  # they overlapped; now they only touch
    assert [len(part) for part in index.changes(touching=True)] == [0, 0]
    index.update([[0.0, 0, 2, 2], [1, 1, 3, 3]])
    assert [len(part) for part in index.changes(touching=False)] == [0, 0]


@each_index_with("changes")
@pytest.mark.parametrize("seed", range(8))
def test_changes_of_options_between_calls_are_the_difference_of_what_counts(kind, seed):
    rng = np.random.default_rng(seed)

    def some_boxes(count):
        """Boxes on a small lattice: half of the pairs that meet only touch."""
        lower = rng.integers(0, 5, (count, 2)).astype(float)
        return np.concatenate([lower, lower + rng.integers(0, 3, (count, 2))], axis=1)

    keys = rng.integers(0, 2, 30) if seed % 2 else None
    index, known = kind(some_boxes(30), batch=keys), set()
    for step in range(25):
        options = {"touching": bool(rng.integers(2))}
        if rng.random() < 0.6:
            options |= {name: rng.integers(1, 4, index.slots) for name in ("layer", "mask")}
        if rng.random() < 0.4:
            options["group"] = rng.integers(0, 3, index.slots)
        if rng.random() < 0.4:
            options["ignore_pairs"] = rng.integers(0, index.slots, (20, 2))
        if rng.random() < 0.4:
            options["static"] = rng.random(index.slots) < 0.3
        now = named(index, index.pairs(**options))
        enter, exit_ = index.changes(**options, workers=1 + step % 2)
        assert enter.tolist() == by_row(now - known), (seed, step)
        assert exit_.tolist() == by_row(known - now), (seed, step)
        known = now
        some = rng.choice(index.rows, rng.integers(0, len(index) + 1), replace=False)
        index.move(some, some_boxes(len(some)))
        if rng.random() < 0.4:
            gone = rng.choice(index.rows, 4, replace=False)
            index.remove(gone)
            index.insert(some_boxes(4), batch=None if keys is None else rng.integers(0, 2, 4))
        if rng.random() < 0.2:
            index = pickle.loads(pickle.dumps(index))
