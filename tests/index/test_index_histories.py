"""Whatever happened to an index before: it answers as one built from its boxes, and as the oracle."""

import copy
import pickle

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, moving, oracle
from cases import DTYPES
from index_cases import CAPABILITIES, CLASSES, SCENES, check_pairs_of, check_with_the_oracle, generator, scene
from index_histories import History

each_class = pytest.mark.parametrize("name", CLASSES)
KINDS = tuple(kind for kind in SCENES if kind not in ("huge", "tiny", "very_far"))


@pytest.mark.parametrize("seed", range(11))
@each_class
def test_random_histories_end_in_the_answers_of_a_fresh_build(name, seed):
    history = History(getattr(bp, name), seed, kind=KINDS[seed % len(KINDS)], dimension=1 + seed % 4)
    for _ in range(30):
        history.step()
        history.check()
    history.check_questions()
    history.check_fresh()


@each_class
def test_histories_of_one_box_at_a_time_are_right(name):
    # From nothing up to 70 boxes and back to nothing, twice: every size of node on the way.
    for dimension in (2, 3):
        rng = generator("one by one", dimension)
        index = getattr(bp, name)(np.empty((0, 2, dimension)))
        for _ in range(2):
            for number, box in enumerate(scene("lattice", rng, 70, dimension)):
                assert index.insert(box[None]).tolist() == [number]
                if number % 7 == 0:
                    index.validate()
                    check_pairs_of(index, f"{name} up {number}")
            for number, row in enumerate(rng.permutation(70)):
                index.remove(row)
                if number % 7 == 0:
                    index.validate()
                    check_pairs_of(index, f"{name} down {number}")
            assert len(index) == 0
            check_with_the_oracle(index, rng, name, count=3)


@pytest.mark.parametrize("dtype", DTYPES)
@each_class
def test_boxes_that_leave_the_world_and_come_back_are_found(name, dtype):
    for dimension in (1, 3) if dtype == "float32" else (2, 4):
        rng = generator("far and back", dimension)
        boxes = scene("lattice", rng, 60, dimension, dtype)
        index = getattr(bp, name)(boxes)
        endless = np.repeat([[[-np.inf] * dimension, [np.inf] * dimension]], 20, axis=0)
        # Away, to where the dtype has large steps, to sizes that a tree's own floats do not hold, and back.
        for place in (1e3, -1e9, 1e150 if dtype == "float64" else 1e36, endless, 1e-9, None):
            if place is None:
                index.update(boxes)
            else:
                rows = rng.choice(60, 20, replace=False)
                index.move(rows, (boxes[rows] + place).astype(dtype) if np.ndim(place) == 0 else place.astype(dtype))
            label = f"{name} {dtype} {'endless' if np.ndim(place) else place}"
            index.validate()
            check_pairs_of(index, label)
            check_with_the_oracle(index, rng, label, count=3)


@each_class
def test_numbers_that_come_late_and_are_far_smaller_are_kept(name):
    # float32 boxes that a tree holds exactly, until there come some that its scale does not reach.
    for n in (2, 9, 40):
        rng = generator("late", n)
        lower = rng.integers(1, 20, (n, 2)).astype(np.float32)
        boxes = np.stack([lower, lower + 2], axis=1) * np.float32(2.0**100)
        few = np.array([[[2.0**-140, 2.0**-120], [2.0**100, 1]]], np.float32)
        for change in (lambda index, few=few: index.insert(few), lambda index, few=few: index.move([0], few)):
            index = getattr(bp, name)(boxes)
            change(index)
            index.validate()
            check_pairs_of(index, f"{name} n={n}")
            check_with_the_oracle(index, rng, f"{name} n={n}")


@each_class
def test_a_number_too_small_beside_numbers_of_one_is_kept(name):
    # Lanes filed before it came are exact, those after it are not.
    corners = [[-1, 1, -1, 1], [4 * 2.0**-100, -1, 5 * 2.0**-100, -1], [1, 1, 1, 1], [1, -1, 1, -1], [-1, -1, -1, -1]]
    index = getattr(bp, name)(np.array(corners, np.float32))
    index.insert(np.array([[2.0**-100, 3 * 2.0**-100, 2.0**-100, 4 * 2.0**-100]], np.float32))
    index.validate()
    check_with_the_oracle(index, generator("too small"), name)


@each_class
def test_an_index_built_from_nothing_on_any_scale_grows_with_its_boxes(name):
    for exponent in (-900, 0, 900):
        index = getattr(bp, name)(np.empty((0, 2, 2)))
        rng = generator("scale", exponent)
        for _ in range(4):
            index.insert(np.ldexp(scene("lattice", rng, 20, 2), exponent))
            index.validate()
            check_pairs_of(index, f"{name} 2**{exponent}")


@pytest.mark.parametrize("name", [name for name in CLASSES if "changes" in CAPABILITIES[name]])
def test_changes_are_the_differences_of_the_pairs(name):
    for seed in range(10):
        history = History(
            getattr(bp, name), seed, kind=("lattice", "scattered", "giants")[seed % 3], dimension=2 + seed % 2
        )
        for _ in range(25):
            history.step()
            history.check_changes()
        # What began and has not ended is what there is.
        assert history.standing == history.pairs_by_handle()
        history.index.remove(history.index.rows)
        history.check_changes()
        assert not history.standing


@each_class
def test_copies_and_pickles_live_on_their_own(name):
    for dtype in DTYPES:
        rng = generator("pickle", dtype)
        layers = rng.integers(1, 4, 80).astype(np.uint64)
        index = getattr(bp, name)(scene("lattice", rng, 80, 3, dtype), layer=layers)
        index.remove(rng.choice(80, 9, replace=False))
        handles, before = index.handles(), index.pairs(sort=True)
        for twin in (pickle.loads(pickle.dumps(index)), copy.deepcopy(index), copy.copy(index)):
            twin.validate()
            assert type(twin) is type(index)
            assert np.array_equal(twin.handles(), handles)
            assert np.array_equal(twin.pairs(sort=True), before)
            check_with_the_oracle(twin, rng, name, count=4)
            twin.update(twin.boxes_of() + 1)
            twin.remove(twin.rows[::2])
            twin.validate()
            check_pairs_of(twin, f"{name} twin", layer=layers)
        index.validate()
        assert np.array_equal(index.pairs(sort=True), before)


@each_class
def test_a_change_that_is_refused_changes_nothing(name):
    rng = generator("refused")
    boxes = scene("lattice", rng, 30, 2)
    index = getattr(bp, name)(boxes, layer=1)
    index.remove([3, 5])
    before = index.pairs(sort=True), index.handles(), index.boxes_of()
    bad, turned = boxes[:4].copy(), boxes[:4].copy()
    bad[2, 1, 0] = np.nan
    turned[1] = [[5, 5], [4, 4]]
    for error, message, change in (
        (ValueError, r"row 2: upper\[0\] is NaN", lambda: index.insert(bad)),
        (ValueError, r"row 1: lower\[0\] > upper\[0\]", lambda: index.insert(turned)),
        (ValueError, r"row 2: upper\[0\] is NaN", lambda: index.move([0, 1, 2, 4], bad)),
        (ValueError, r"row 1: lower\[0\] > upper\[0\]", lambda: index.move([0, 1, 2, 4], turned)),
        (ValueError, "4 boxes for 2", lambda: index.move([0, 1], boxes[:4])),
        (ValueError, "4 boxes for 28", lambda: index.update(boxes[:4])),
        (ValueError, "row 1 is repeated", lambda: index.move([1, 2, 1], boxes[:3])),
        (ValueError, "row 1 is repeated", lambda: index.remove([1, 2, 1])),
        (KeyError, "row 3 ", lambda: index.move([1, 3], boxes[:2])),
        (KeyError, "row 5 ", lambda: index.remove([0, 5])),
        (KeyError, "row 30 ", lambda: index.remove(30)),
        (KeyError, "row -1 ", lambda: index.remove(-1)),
        (ValueError, "3 dimensions", lambda: index.insert(np.zeros((1, 2, 3)))),
        (TypeError, "complex", lambda: index.insert(np.zeros((1, 2, 2), complex))),
        (ValueError, "layer", lambda: index.insert(boxes[:2], layer=[1, 2, 3])),
        (TypeError, "integer", lambda: index.remove([0.5])),
    ):
        with pytest.raises(error, match=message):
            change()
        index.validate()
        after = index.pairs(sort=True), index.handles(), index.boxes_of()
        assert all(map(np.array_equal, before, after)), message


@each_class
def test_stale_handles_are_refused_for_ever(name):
    index = getattr(bp, name)(np.zeros((3, 2, 2)))
    stale = []
    for _ in range(50):
        handle = index.handles([1])
        assert index.rows_of(handle).tolist() == [1]
        index.remove([1])
        stale.append(int(handle[0]))
        for old in stale:
            with pytest.raises(KeyError, match=str(old)):
                index.rows_of([old])
        assert index.insert([[1, 1, 2, 2]]).tolist() == [1]
    assert len(set(stale)) == 50


@each_class
def test_many_frames_of_small_motion_keep_the_pairs(name):
    world = moving("uniform", 300)
    index = getattr(bp, name)(world.step())
    for frame in range(60):
        boxes = world.step()
        index.update(boxes)
        if frame % 6 == 0:
            index.validate()
            assert_same_pairs(index.pairs(), oracle.pairs(boxes), f"{name} frame {frame}")
