"""Fork: a child process can go on finding pairs, also after its parent used threads."""

import os
import signal

import pytest

import broadphase as bp
from cases import METHOD_NAMES, scene

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
