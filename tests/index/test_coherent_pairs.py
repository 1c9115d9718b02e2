"""Indexes whose boxes move a little from one search for pairs to the next: each answers as a search of all would."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.index.options import INDEX_CLASSES as CLASSES
from broadphase.testing.oracle import pairs as oracle

COUNT = 300  # above what is kept at all
INDEX_CLASSES = list(CLASSES.values())


def told(found):
    return sorted(map(tuple, found.tolist()))


def uses(index):
    """How many searches the near pairs that are kept have served."""
    return 0 if index._coherent is None else index._coherent.uses


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", INDEX_CLASSES)
def test_lattice_boxes_that_move_by_steps_have_the_pairs_of_the_oracle(kind, dim, dtype):
    # All numbers are multiples of 2^-10: many boxes touch just so, and begin to.
    rng = np.random.default_rng(dim)
    edge = {1: 150, 2: 24, 3: 8, 4: 5}[dim]
    lower = rng.integers(0, edge * 8, (COUNT, dim)) / 8
    boxes = np.stack([lower, lower + rng.integers(0, 9, (COUNT, dim)) / 8], axis=1).astype(dtype)
    index, served = kind(boxes), 0
    layers = rng.integers(1, 4, COUNT).astype(np.uint64)
    for number in range(40):
        motion = rng.integers(-1, 2, (COUNT, 1, dim)) / 1024
        if number % 15 == 14:
            motion *= 800
        boxes = (boxes + motion * (number % 7 != 3)).astype(dtype)
        if number % 5 == 4:
            rows = rng.choice(COUNT, 40, replace=False)
            index.move(rows, boxes[rows])
            boxes = index.boxes_of()
        else:
            index.update(boxes)
        touching = bool(number % 3)
        given = {"layer": layers, "mask": layers} if number % 4 == 1 else {}
        found = index.pairs(touching=touching, workers=1 + number % 2, sort=number % 2 == 0, **given)
        expected = oracle(boxes, touching=touching, **given)
        assert told(found) == told(expected), number
        if number % 2 == 0:
            assert found.tolist() == sorted(found.tolist())
        served += uses(index) > 0
        if number % 11 == 10:
            asked = boxes[:20]
            assert index.query(asked).rows.tolist() == type(index)(boxes).query(asked).rows.tolist()
    assert served > 8
    index.validate()


@pytest.mark.parametrize("kind", INDEX_CLASSES)
def test_boxes_that_come_and_go_between_searches_are_found(kind):
    rng = np.random.default_rng(8)
    places = rng.random((COUNT, 2)) * 12
    index = kind(np.stack([places, places + 0.8], axis=1))
    for number in range(30):
        boxes = index.boxes_of()
        index.update(boxes + rng.uniform(-1e-3, 1e-3, (len(boxes), 1, 2)))
        if number % 6 == 5:
            gone = rng.choice(index.rows, 3, replace=False)
            index.remove(gone)
            if number % 12 == 11:
                assert told(index.pairs()) == told(pairs_of(index))  # with rows that are not in use
            corner = rng.random((3, 1, 2)) * 12
            index.insert(np.concatenate([corner, corner + 2], axis=1))
        assert told(index.pairs()) == told(pairs_of(index)), number


def pairs_of(index):
    return index.rows[oracle(index.boxes_of())]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", INDEX_CLASSES)
def test_infinite_far_and_equal_boxes_that_move_are_found(kind, dtype):
    rng = np.random.default_rng(4)
    for scene in ("infinite", "far", "equal", "points", "huge"):
        places = rng.random((COUNT, 2)) * 20
        boxes = np.stack([places, places + 1.0], axis=1).astype(dtype)
        if scene == "infinite":
            boxes[3, 0, 0], boxes[4, 1, 1], boxes[5] = -np.inf, np.inf, [[-np.inf] * 2, [np.inf] * 2]
        elif scene == "far":
            boxes[7] += dtype(1e30)
        elif scene == "equal":
            boxes[: COUNT // 4] = boxes[0]
        elif scene == "points":
            boxes[:, 1] = boxes[:, 0]
        elif scene == "huge":
            boxes[9] = [[-1e6] * 2, [1e6] * 2]
        index = kind(boxes)
        for number in range(6):
            boxes = (boxes + rng.uniform(-1e-4, 1e-4, (COUNT, 1, 2))).astype(dtype)
            if scene == "infinite" and number == 4:
                boxes[3, 0, 0], boxes[6, 0, 1] = 2.0 if boxes[3, 1, 0] > 2 else boxes[3, 1, 0], -np.inf
            index.update(boxes)
            assert told(index.pairs()) == told(oracle(boxes)), (scene, number)


def test_searches_that_near_pairs_serve_keep_to_the_limit_of_pairs():
    places = np.arange(COUNT)[:, None] * np.array([0.5, 0.0])
    index = bp.SweepAndPrune(np.stack([places, places + 0.75], axis=1))
    for _ in range(5):
        count = len(index.pairs())
    assert uses(index) > 0
    assert len(index.pairs(max_pairs=count)) == count
    with pytest.raises(bp.errors.TooManyPairsError, match=f"max_pairs={count - 1}"):
        index.pairs(max_pairs=count - 1)


def test_pairs_of_an_index_that_only_moves_need_no_arrangement():
    rng = np.random.default_rng(3)
    places = rng.random((2000, 3)) * 20
    for kind in INDEX_CLASSES:
        index = kind(np.stack([places, places + 1], axis=1))
        for _ in range(4):
            builds = index._builds
            index.update(np.stack([places, places + 1], axis=1) + rng.random((2000, 1, 3)) * 20)
            found = index.pairs()
            assert told(found) == told(bp.pairs(index.boxes_of()))
        assert index._builds == builds
        assert (
            index.query([[0, 0, 0, 30, 30, 30]]).rows.tolist()
            == bp.BruteForce(index.boxes_of()).query([[0, 0, 0, 30, 30, 30]]).rows.tolist()
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", INDEX_CLASSES)
def test_near_pairs_serve_beside_rows_that_are_not_in_use(kind, dtype):
    rng = np.random.default_rng(9)
    places = rng.random((COUNT + 20, 2)) * 12
    index, served = kind(np.stack([places, places + 0.8], axis=1).astype(dtype)), 0
    index.remove(rng.choice(COUNT + 20, 15, replace=False))
    for number in range(24):
        boxes = index.boxes_of()
        index.update((boxes + rng.uniform(-1e-3, 1e-3, (len(boxes), 1, 2))).astype(dtype))
        if number == 11:  # as many rows as before, but others
            index.remove(index.rows[[3, 200]])
            index.insert(np.array([[[5, 5], [8, 8]], [[1, 1], [2, 9]]], dtype))
        expected = pairs_of(index)
        assert told(index.pairs(workers=1 + number % 2)) == told(expected), number
        assert index.pairs(sort=True).tolist() == expected.tolist()
        served += uses(index) > 0
    assert served > 12
