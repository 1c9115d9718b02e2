"""Threads: calls at the same time do not disturb each other, do not hold the interpreter, and need little stack."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import SCENES, oracle
from cases import METHOD_NAMES, scene

NAMES = ("uniform", "rects", "clusters", "giant", "sticks", "points", "uniform_1d", "uniform_4d")


@pytest.mark.parametrize("workers", [1, 2])
def test_calls_at_the_same_time_find_the_right_pairs(workers):
    scenes = [scene(name, 2000) for name in NAMES]
    expected = [oracle.pairs(boxes).tobytes() for boxes in scenes]

    def ask(number):
        which = number % len(scenes)
        method = METHOD_NAMES[number % len(METHOD_NAMES)]
        found = bp.pairs(scenes[which], method=method, workers=workers, sort=True)
        return found.tobytes() == expected[which]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(400)))


def test_calls_of_all_kinds_on_the_same_boxes_at_the_same_time_are_right():
    boxes = scene("uniform", 5000)
    expected = bp.pairs(boxes, sort=True)
    bad = boxes.copy()
    bad[4321, 0, 0] = np.nan

    def ask(number):
        kind = number % 4
        if kind == 0:
            return np.array_equal(bp.pairs(boxes, sort=True), expected)
        if kind == 1:
            return bp.count_pairs(boxes) == len(expected)
        if kind == 2:
            return sum(map(len, bp.iter_pairs(boxes, chunk=777))) == len(expected)
        with pytest.raises(bp.errors.InvalidBoxError, match="row 4321"):
            bp.pairs(bad)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(200)))


def test_iterators_in_many_threads_are_right():
    boxes = scene("clusters", 3000)
    total = bp.count_pairs(boxes)
    with ThreadPoolExecutor(4) as pool:
        sums = pool.map(lambda chunk: sum(map(len, bp.iter_pairs(boxes, chunk=chunk))), range(1, 600, 9))
        assert set(sums) == {total}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("method", METHOD_NAMES)
def test_other_threads_run_during_a_call(method, workers):
    boxes = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]], np.float32), (40_000, 2, 2))
    turns, ended = [], threading.Event()

    def take_turns():
        while not ended.wait(0.001):
            turns.append(None)

    other = threading.Thread(target=take_turns)
    other.start()
    try:
        before = len(turns)
        bp.count_pairs(boxes, method=method, workers=workers)
        during = len(turns) - before
    finally:
        ended.set()
        other.join()
    assert during > 5  # if the call held the interpreter, there would be one turn or two


@pytest.mark.parametrize("name", SCENES)
def test_calls_run_in_a_stack_of_256_kib(name):
    boxes = scene(name, 2000 if SCENES[name].quadratic else 10_000)
    counts = []

    def ask():
        counts.extend(bp.count_pairs(boxes, method=method) for method in METHOD_NAMES if method != "brute_force")
        counts.append(len(bp.pairs(boxes, sort=True)))

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert len(counts) == len(METHOD_NAMES)
    assert len(set(counts)) == 1
