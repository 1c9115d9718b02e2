"""Many may ask an index at once; a change among questions, or a question in a change, is refused."""

import threading

import numpy as np
import pytest

import broadphase as bp
from broadphase.index.guard import Guard
from broadphase.testing import make_scene
from cases import EACH_INDEX


class Slow:
    """Holds up whoever reads its boxes, until told to go on."""

    def __init__(self, boxes):
        self.boxes, self.begun, self.go_on = boxes, threading.Event(), threading.Event()

    def __call__(self, *arguments, **options):
        self.begun.set()
        assert self.go_on.wait(10)
        return self.boxes(*arguments, **options)


def in_the_middle_of(index, hold, question):
    """Run a question in a thread, held up in method `hold` of the index; gives the thread and what holds it."""
    slow = Slow(getattr(index, hold))
    setattr(index, hold, slow)
    thread = threading.Thread(target=question)
    thread.start()
    assert slow.begun.wait(10)
    return thread, slow


CHANGES = [
    lambda index: index.insert([[0, 0, 1, 1]]),
    lambda index: index.remove([0]),
    lambda index: index.update([[0, 0, 1, 1]], rows=[0]),
    lambda index: index.update_filters([0], layer=1),
    lambda index: index.changes(),
]


@pytest.mark.parametrize("change", CHANGES)
def test_change_while_another_thread_asks_raises_and_changes_nothing(change):
    index = bp.BVH(make_scene("rects", 50, dtype=np.float64))
    before = index.boxes_of().tobytes(), index.handles().tolist()
    answers = []
    thread, slow = in_the_middle_of(index, "_query_boxes", lambda: answers.append(index.query([[0, 0, 9, 9]])))
    with pytest.raises(RuntimeError, match="the index was to be changed while a question to it runs"):
        change(index)
    assert index.nearest([[0, 0]]).index.shape == (1, 1)  # but asking is free
    slow.go_on.set()
    thread.join()
    assert len(answers) == 1
    assert (index.boxes_of().tobytes(), index.handles().tolist()) == before
    change(index)
    index.validate()


def test_question_while_another_thread_changes_raises():
    index = bp.BVH(make_scene("rects", 50, dtype=np.float64))
    thread, slow = in_the_middle_of(index, "_tell_core", lambda: index.update([[0, 0, 1, 1]], rows=[0]))
    for ask in (index.pairs, index.stats, index.boxes_of, index.validate, lambda: index.query([[0, 0, 1, 1]])):
        with pytest.raises(RuntimeError, match="the index was asked while it is being changed"):
            ask()
    with pytest.raises(RuntimeError, match="the index was to be changed while it is being changed"):
        index.remove(0)
    with pytest.raises(RuntimeError, match="asked while it is being changed"):
        bp.BVH(make_scene("rects", 5)).pairs(index)
    slow.go_on.set()
    thread.join()
    assert index.boxes_of([0]).tolist() == [[[0, 0], [1, 1]]]
    index.validate()


def test_guard_lets_others_in_after_an_error():
    guard = Guard()
    for side in (guard.reading, guard.changing):
        with pytest.raises(ZeroDivisionError), side:
            raise ZeroDivisionError
    with guard.changing:
        pass


@EACH_INDEX
def test_index_that_was_never_built_may_be_asked_by_many_at_once(kind):
    boxes = make_scene("uniform", 3000)
    index = kind(boxes)
    expected = index.pairs(sort=True)
    for _ in range(5):
        index.update(boxes)
        answers, barrier = [], threading.Barrier(6)

        def ask(index=index, answers=answers, barrier=barrier):
            barrier.wait()
            answers.append((index.pairs(sort=True), index.stats()["rows"]))

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(answers) == 6
        assert all(np.array_equal(found, expected) and rows == 3000 for found, rows in answers)


def test_core_that_fails_to_change_is_built_again():
    index = bp.BVH(make_scene("rects", 100, dtype=np.float64))

    class Failing:
        def __init__(self, error):
            self.error = error

        def update(self, *_, **__):
            raise self.error

    for error in (MemoryError(), KeyboardInterrupt()):
        index.pairs()
        index._arrangement, kept = Failing(error), index._arrangement
        if isinstance(error, MemoryError):
            index.update([[0, 0, 1, 1]], rows=[3])  # the rows are right: what is missing is made up for when asked
        else:
            with pytest.raises(KeyboardInterrupt):
                index.update([[0, 0, 1, 1]], rows=[3])
        index._arrangement = kept
        assert index.boxes_of(3).tolist() == [[[0, 0], [1, 1]]]
        index.validate()
