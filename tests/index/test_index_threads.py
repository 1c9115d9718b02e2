"""Many threads ask one index at a time; a change while somebody asks is refused."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import broadphase as bp
from index_cases import CLASSES, ask, check_questions, generator, make_questions, questions_of, scene
from oracles.queries import assert_same_answers

each_class = pytest.mark.parametrize("name", CLASSES)


@each_class
def test_questions_of_eight_threads_at_a_time_have_the_answers_of_one(name):
    rng = generator("threads")
    boxes = scene("lattice", rng, 800, 3)
    index = getattr(bp, name)(boxes)
    pairs = index.pairs(sort=True)
    questions = [asked for asked in make_questions(rng, boxes, count=40) if asked[0] in questions_of(index)]

    def work(number):
        for turn in range(6):
            if questions:
                asked, arguments, options, expected = questions[(number + turn) % len(questions)]
                assert_same_answers(ask(index, asked, arguments, **options), expected, asked)
            assert np.array_equal(index.pairs(sort=True, workers=1 + number % 2), pairs)
            assert index.count_pairs() == len(pairs)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


@each_class
def test_the_first_questions_may_come_from_many_threads(name):
    # An index may put its building off until somebody asks.
    rng = generator("first")
    boxes = scene("scattered", rng, 500, 2)
    expected = bp.pairs(boxes, sort=True)
    for _ in range(10):
        index = getattr(bp, name)(boxes)
        index.update(boxes)
        gate = threading.Barrier(8)

        def work(_, index=index, gate=gate):
            gate.wait()
            return np.array_equal(index.pairs(sort=True), expected)

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(8)))
        index.validate()


@each_class
def test_answers_do_not_depend_on_the_workers(name):
    rng = generator("workers")
    boxes = scene("clustered", rng, 1500, 3, "float32")
    index = getattr(bp, name)(boxes)
    pairs = index.pairs(sort=True).tobytes()
    questions = make_questions(rng, boxes, count=100)
    for workers in (1, 2, 8):
        assert index.pairs(sort=True, workers=workers).tobytes() == pairs
        assert index.pairs(workers=workers).tobytes() == index.pairs(workers=1).tobytes()
        again = [(asked, arguments, {"workers": workers}, expected) for asked, arguments, _, expected in questions]
        check_questions(index, again, f"{name} workers={workers}")


@each_class
def test_an_index_of_many_boxes_made_by_threads_is_that_of_one(name):
    rng = generator("made")
    boxes = scene("clustered", rng, 40_000, 3)
    boxes[::1000] *= 50
    asked = boxes[::400]
    alone = getattr(bp, name)(boxes)
    expected = alone.query(asked)
    for workers in (2, 5):
        index = getattr(bp, name)(boxes, workers=workers)
        index.validate()
        assert_same_answers(index.query(asked), expected, f"{name} workers={workers}")
        assert np.array_equal(index.rows, np.arange(len(boxes)))
        assert np.array_equal(index.handles(index.rows), alone.handles(alone.rows))
        index.remove([3, 39_999])
        assert np.array_equal(index.rows, np.delete(np.arange(len(boxes)), [3, 39_999]))
        index.validate()


@each_class
def test_changes_while_other_threads_query_are_refused_or_complete(name):
    # Every answer is that of one of the two states, and every change is either made or refused.
    rng = generator("changes")
    states = [scene("scattered", rng, 400, 2), scene("lattice", rng, 400, 2)]
    index = getattr(bp, name)(states[0])
    expected = {bp.pairs(state, sort=True).tobytes() for state in states}
    done = threading.Event()
    wrong = []

    def keep_asking():
        while not done.is_set():
            try:
                found = index.pairs(sort=True)
            except RuntimeError:
                continue
            if found.tobytes() not in expected:
                wrong.append(found)

    threads = [threading.Thread(target=keep_asking) for _ in range(3)]
    for thread in threads:
        thread.start()
    made, refused = 0, []
    try:
        for _ in range(400):
            try:
                index.update(states[(made + 1) % 2])
                made += 1
            except RuntimeError as error:
                refused.append(str(error))
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not wrong
    assert made + len(refused) == 400
    assert all(message.startswith("cannot modify the index") for message in refused)
    index.validate()
    assert np.array_equal(index.pairs(sort=True), bp.pairs(states[made % 2], sort=True))
