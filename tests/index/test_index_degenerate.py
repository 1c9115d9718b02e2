"""Scenes made to break an index: all in one place, on a line, one in another, giants; deep trees in a small stack."""

import threading

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, oracle
from cases import capabilities_of
from index_cases import CLASSES, QUESTIONS, Asker, ask, check_with_the_oracle, generator, questions_of
from oracles import queries as query_oracle
from oracles.queries import assert_same_answers

each_class = pytest.mark.parametrize("name", CLASSES)
STACK = 256 * 1024


def degenerate(kind, n):
    """Boxes (n, 2, 2) of which all, or far too many, are alike to a tree."""
    numbers = np.arange(n, dtype=float)
    zero = np.zeros(n)
    if kind == "equal points":
        columns = [zero, zero, zero, zero]
    elif kind == "equal points but one":
        columns = [np.where(numbers == n // 2, 1e30, 0.0)] * 4
    elif kind == "points on a line":
        columns = [numbers, zero, numbers, zero]
    elif kind == "points on a diagonal":
        columns = [numbers] * 4
    elif kind == "nested around a point":
        columns = [-numbers, -numbers, numbers, numbers]
    elif kind == "nested in a corner":
        columns = [zero, zero, numbers, numbers]
    elif kind == "halving to a point":  # deeper than any tree may go
        edge = np.ldexp(1.0, -(np.arange(n) % 1040).astype(np.int64))
        columns = [edge, edge, edge * 1.5, edge * 1.5]
    elif kind == "neighbours in the last bit":
        columns = [1 + numbers * 2.0**-52, zero, 1 + numbers * 2.0**-52, zero]
    elif kind == "one giant over points":
        columns = [np.where(numbers == 0, -1.0, numbers), zero - 1, np.where(numbers == 0, n, numbers), zero + 1]
    elif kind == "all over the middle":  # every cell border cuts every box
        columns = [-1 - numbers % 7, -1 - numbers % 5, 1 + numbers % 3, 1 + numbers % 11]
    elif kind == "without end":
        columns = [np.full(n, -np.inf), numbers, np.full(n, np.inf), numbers]
    else:
        columns = [np.full(n, np.inf)] * 4
    return np.stack(columns, axis=1).reshape(n, 2, 2)


KINDS = {
    "equal points": 0.0,
    "equal points but one": 0.0,
    "points on a line": 1.0,
    "points on a diagonal": 1.0,
    "nested around a point": 0.0,
    "nested in a corner": 0.0,
    "halving to a point": 1.0,
    "neighbours in the last bit": 1.0,
    "one giant over points": 1.0,
    "all over the middle": 0.0,
    "without end": 1.0,
    "at infinity": 0.0,
}  # 1.0: the pairs grow as the boxes, not as their square


def expected_count(boxes):
    return bp.count_pairs(boxes, method="sweep_and_prune")


@pytest.mark.parametrize("kind", KINDS)
@each_class
def test_degenerate_scenes_answer_as_the_oracle(name, kind):
    boxes = degenerate(kind, 200)
    index = getattr(bp, name)(boxes)
    index.validate()
    assert_same_pairs(index.pairs(), oracle.pairs(boxes), f"{name} {kind}")
    check_with_the_oracle(index, generator(kind), f"{name} {kind}", count=4)
    rows = generator(kind).permutation(200)[:100]
    index.move(rows, boxes[rows][::-1])
    index.remove(rows[:50])
    index.insert(boxes[:20])
    index.validate()
    assert_same_pairs(index.pairs(), index.rows[oracle.pairs(index.boxes_of())], f"{name} {kind} changed")
    check_with_the_oracle(index, generator(kind, 2), f"{name} {kind} changed", count=4)


@pytest.mark.parametrize("kind", KINDS)
@each_class
def test_degenerate_scenes_need_little_stack(name, kind):
    boxes = degenerate(kind, 2000)
    failures, counts = [], []

    def use():
        try:
            index = getattr(bp, name)(boxes)
            counts.append(index.count_pairs())
            if KINDS[kind]:
                counts.append(len(index.pairs(sort=True)))
            asker = Asker(generator(kind), boxes)
            for question in questions_of(index):
                ask(index, question, QUESTIONS[question][2](asker, 5))
            index.move(np.arange(500), boxes[:500])
            index.remove(np.arange(0, 2000, 3))
            index.insert(boxes[:1000])
            index.validate()
            counts.append(index.count_pairs())
            if "outline" in capabilities_of(type(index)):
                index.outline()
        except BaseException as error:  # to be raised where it fails the test
            failures.append(error)

    before = threading.stack_size(STACK)
    try:
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    if failures:
        raise failures[0]
    assert set(counts[:-1]) == {expected_count(boxes)}


@each_class
def test_many_equal_points_are_counted_and_asked_without_listing_their_pairs(name):
    n = 10_000
    boxes = np.zeros((n, 2, 3), np.float32)
    index = getattr(bp, name)(boxes)
    assert index.count_pairs() == n * (n - 1) // 2
    with pytest.raises(bp.errors.TooManyPairsError):
        index.pairs(max_pairs=1000)
    able = questions_of(index)
    if "query_points" in able:
        found = index.query_points([[0, 0, 0], [0, 0, 1e-30]])
        rows, offsets = found.rows, found.offsets
        assert np.array_equal(rows, np.arange(n))
        assert offsets.tolist() == [0, n, n]
    if "nearest" in able:
        found = index.nearest([[0, 0, 0], [3, 4, 0]], k=3)
        assert found.rows.tolist() == [[0, 1, 2]] * 2
        assert found.distances.tolist() == [[0.0] * 3, [5.0] * 3]
    if "raycast" in able:
        found = index.raycast([[-2, 0, 0], [-2, 0, 1]], [1, 0, 0])
        assert (found.rows.tolist(), found.distances.tolist()) == ([0, -1], [2.0, np.inf])
    assert len(index.remove(np.arange(0, n, 2)) or index) == n // 2


@each_class
def test_one_box_may_have_every_other_as_partner(name):
    n = 5000
    rng = generator("hub")
    boxes = np.repeat(rng.random((n, 1, 3)), 2, axis=1)
    boxes[n // 2] = [[-1] * 3, [2] * 3]
    index = getattr(bp, name)(boxes)
    pairs = index.pairs()
    assert len(pairs) == n - 1
    assert (pairs == n // 2).any(axis=1).all()
    if "query" in questions_of(index):
        assert_same_answers(index.query(boxes[n // 2 : n // 2 + 1]), query_oracle.query(boxes, boxes[n // 2][None]))


@each_class
def test_boxes_that_gather_in_one_place_and_spread_again_are_kept(name):
    rng = generator("gather")
    spread = np.repeat(rng.random((400, 1, 2)) * 100, 2, axis=1)
    spread[:, 1] += 2
    index = getattr(bp, name)(spread)
    for pull in (0.5, 0.9, 1.0, 1.0, 0.9, 0.0):
        boxes = spread + pull * (np.array([50.0, 50.0]) - spread[:, :1])
        index.update(boxes)
        index.validate()
        assert index.count_pairs() == oracle.count_pairs(boxes)
        check_with_the_oracle(index, rng, f"{name} {pull}", count=4)
