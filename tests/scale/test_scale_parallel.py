"""Tasks on threads: all results, and no thread that still works when a call has ended, however it ends."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from broadphase.scale import parallel
from broadphase.scale.parallel import in_parallel
from cases import run_script

# What a signal raises comes between two steps of the main thread: when a function begins, or one of C has ended.
INTERRUPTED = """
import sys, threading, time
from broadphase.scale.parallel import in_parallel

def interrupted_at(step):
    at_work, passed, stopped = [], 0, threading.Event()

    def work(task):
        at_work.append(task)
        time.sleep(0.001)
        at_work.remove(task)

    def trace(frame, event, function):
        nonlocal passed
        passed += event in ("call", "c_return")
        if passed == step:
            raise KeyboardInterrupt

    results = in_parallel(work, range(5), 2, stopped)
    sys.setprofile(trace)
    try:
        for _ in results:
            pass
        sys.setprofile(None)
        return False
    except KeyboardInterrupt:
        assert not at_work, step
        return True

steps = 1
while interrupted_at(steps):
    steps += 1
print(steps)
"""


def test_interruption_at_any_step_ends_all_threads_and_is_raised_itself() -> None:
    assert int(run_script(INTERRUPTED, timeout=60)) > 20


@pytest.mark.parametrize(("count", "workers"), [(0, 2), (1, 4), (100, 1), (100, 3)])
def test_results_are_those_of_all_tasks(count: int, workers: int) -> None:
    stopped = threading.Event()
    found = in_parallel(lambda task: task * task, range(count), workers, stopped)
    assert sorted(found) == [task * task for task in range(count)]
    assert not stopped.is_set()


class Work:
    """Tasks of a millisecond each; notes which have begun, and how many have not ended."""

    def __init__(self, failing: int | None = None) -> None:
        self.failing, self.begun, self.going_on = failing, list[int](), 0
        self.stopped, self.lock = threading.Event(), threading.Lock()

    def __call__(self, task: int) -> int:
        with self.lock:
            self.begun.append(task)
            self.going_on += 1
        time.sleep(0.001)
        with self.lock:
            self.going_on -= 1
        if task == self.failing:
            raise ValueError(task)
        return task


def test_first_error_stops_the_other_threads() -> None:
    work, results = Work(failing=5), []
    with pytest.raises(ValueError, match="5"):
        results.extend(in_parallel(work, range(1000), 3, work.stopped))
    assert (work.going_on, work.stopped.is_set()) == (0, True)
    assert len(work.begun) < 1000


def test_consumer_that_raises_stops_the_threads() -> None:
    work = Work()
    with pytest.raises(ZeroDivisionError):
        sum(1 / task for task in in_parallel(work, range(1000), 3, work.stopped))
    assert (work.going_on, work.stopped.is_set()) == (0, True)
    assert len(work.begun) < 1000


def test_thread_that_cannot_start_ends_those_that_have(monkeypatch: pytest.MonkeyPatch) -> None:
    real, started = parallel.start_new_thread, []

    def start(*arguments: Any) -> int:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(real(*arguments))
        return started[-1]

    monkeypatch.setattr(parallel, "start_new_thread", start)
    work = Work()
    with pytest.raises(RuntimeError, match="can't start new thread"):
        list(in_parallel(work, range(1000), 4, work.stopped))
    assert (len(started), work.going_on) == (2, 0)
    assert len(work.begun) < 1000
