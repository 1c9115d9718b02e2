"""Fork: a child process can go on finding pairs, also after its parent used threads."""

import contextlib
import os
import signal
import threading
import time

import numpy as np
import pytest

import broadphase as bp
from cases import METHOD_NAMES, scene
from index_cases import CAPABILITIES, CLASSES

pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of Python 3.12, with threads

FORKS = 12


def in_child(work):
    """Run `work` in a forked child and give its exit status; a child that hangs is killed by an alarm."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(30)
            status = 0 if work() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_forked_children_find_the_same_pairs(method):
    boxes = scene("uniform", 7_000 if method == "brute_force" else 20_000)  # several tasks for the threads to share
    expected = bp.pairs(boxes, method=method, workers=2, sort=True).tobytes()

    def work():
        return all(
            bp.pairs(boxes, method=method, workers=workers, sort=True).tobytes() == expected for workers in (1, 2, 4)
        )

    for _ in range(FORKS):
        assert in_child(work) == 0
        assert work()


def test_forked_child_goes_on_with_the_chunks_of_its_parent():
    boxes = scene("uniform", 5000)
    total = bp.count_pairs(boxes)
    chunks = bp.iter_pairs(boxes, chunk=100, workers=2)
    next(chunks)
    assert in_child(lambda: sum(map(len, chunks)) == total - 100) == 0
    assert sum(map(len, chunks)) == total - 100


def test_child_of_a_forked_child_finds_the_same_pairs():
    boxes = scene("rects", 5000)
    expected = bp.pairs(boxes, workers=2).tobytes()

    def work():
        return bp.pairs(boxes, workers=2).tobytes() == expected

    assert in_child(lambda: work() and in_child(work) == 0) == 0


def forked_beside(call, work, seconds=0.15):
    """Run `work` in a child that is forked while threads are inside `call`; give its exit status."""
    go_on = [True]

    def repeat():
        while go_on[0]:
            call()

    threads = [threading.Thread(target=repeat, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    try:
        return in_child(work)
    finally:
        go_on[0] = False
        for thread in threads:
            thread.join()


def hits(index, boxes):
    """Give what each box meets, in ascending order."""
    return [sorted(index.query([box]).rows.tolist()) for box in boxes]


DENSE = np.random.default_rng(3).random((6_000, 2, 2)).cumsum(axis=1)
INDEXES = {name: getattr(bp, name) for name in CLASSES}


@pytest.mark.parametrize("name", INDEXES)
def test_child_forked_beside_queries_can_query_and_change_the_index(name):
    index, points = INDEXES[name](DENSE), np.ascontiguousarray(DENSE[:, 0])
    calls = [lambda: index.count_pairs(), lambda: index.query(DENSE[:500])]
    if "nearest" in CAPABILITIES[name]:
        calls.append(lambda: index.nearest(points[:500], k=3))

    def work():
        rows = index.rows[3:]
        assert hits(index, DENSE[:50]) == hits(bp.BruteForce(DENSE), DENSE[:50])
        index.remove([0, 1, 2])
        moved = DENSE[3:] + 1
        index.move(rows, moved)
        assert index.count_pairs() == bp.count_pairs(moved)
        assert index.insert(DENSE[:3]).tolist() != []
        return index.count_pairs(workers=2) == bp.count_pairs(np.concatenate([moved, DENSE[:3]]))

    for call in calls:
        for _ in range(3):
            assert forked_beside(call, work, 0.05) == 0


def test_child_forked_while_an_index_is_built_builds_it():
    for moment in (0.001, 0.003, 0.01):
        index = bp.BVH(DENSE)

        def move_and_query(index=index):
            with contextlib.suppress(RuntimeError):  # another thread queries or updates
                index.move(index.rows, DENSE)
                index.query(DENSE[:1])

        def work(index=index):
            try:
                index.move(index.rows, DENSE + 1)
            except RuntimeError as error:
                return "was modifying it when this process was forked" in str(error)
            return index.count_pairs() == bp.count_pairs(DENSE + 1)

        assert forked_beside(move_and_query, work, moment) == 0


def test_child_forked_beside_queries_of_a_world_can_step_and_query_it():
    world = bp.World(2)
    places = np.random.default_rng(4).random((5_000, 2)) * 60
    world.add_many(bp.Circle(1), places, velocities=places - 30)
    world.step(0.01)

    def work():
        other = bp.World.from_bytes(world.to_bytes())
        for one in (world, other):
            one.step(0.1)
            one.move(one.rows[:10], np.zeros((10, 2)))
        boxes = [[0, 0, 9, 9], [20, 20, 30, 30]]
        return hits(world, boxes) == hits(other, boxes)

    for _ in range(3):
        assert forked_beside(lambda: world.nearest(places, k=2), work, 0.05) == 0
        assert forked_beside(lambda: world.query([[0, 0, 60, 60]]), work, 0.05) == 0


def test_child_forked_within_a_query_is_refused_a_change_until_the_query_ends():
    index, codes = bp.BruteForce(np.concatenate([DENSE] * 4)), []

    def work():
        refused.append(is_refused(lambda: index.remove([0])))
        return refused[0]

    def fork(number, frame):
        codes.append(in_child(work))

    refused = []
    before = signal.signal(signal.SIGALRM, fork)
    try:
        while 0 not in codes:  # within a query, not between two
            assert len(codes) < 50
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            index.count_pairs()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    index.remove([0])


def is_refused(change):
    try:
        change()
    except RuntimeError:
        return True
    return False
