"""The guard of indexes and worlds: who is refused, and that no exception, wherever it falls, leaves it held."""

import signal
import sys
import threading
import time

import pytest

import broadphase as bp
from broadphase._native import Guard

SIDES = ("reading", "changing", "building")


def is_free(guard):
    """Whether nobody reads, changes or builds."""
    with guard.changing, guard.building:
        return True


def test_guard_allows_many_readers():
    guard = Guard()
    with guard.reading, guard.reading, guard.reading:
        pass
    assert is_free(guard)


def test_guard_with_readers_refuses_a_change_and_counts_them():
    guard = Guard("world")
    with guard.reading:
        with pytest.raises(RuntimeError, match=r"^cannot modify the world: 1 query is running in another thread$"):
            guard.changing.__enter__()
        with (
            guard.reading,
            pytest.raises(RuntimeError, match=r"^cannot modify the world: 2 queries are running in other threads$"),
        ):
            guard.changing.__enter__()
    assert is_free(guard)


def test_guard_during_a_change_refuses_all_others():
    guard = Guard()
    with guard.changing:
        with pytest.raises(RuntimeError, match=r"^cannot query the index while it is being modified$"):
            guard.reading.__enter__()
        with pytest.raises(RuntimeError, match=r"^cannot modify the index while it is being modified$"):
            guard.changing.__enter__()
    assert is_free(guard)


def test_guard_while_a_thread_builds_lets_the_others_wait_for_it():
    guard, order, building = Guard(), [], threading.Event()

    def build():
        with guard.building:
            building.set()
            time.sleep(0.05)
            order.append("first")

    thread = threading.Thread(target=build)
    thread.start()
    assert building.wait(10)
    with guard.building:
        order.append("second")
    thread.join()
    assert order == ["first", "second"]


def test_guard_while_the_same_thread_builds_refuses_instead_of_waiting_for_ever():
    guard = Guard()
    with guard.building, pytest.raises(RuntimeError, match="while it is being built"):
        guard.building.__enter__()
    assert is_free(guard)


@pytest.mark.parametrize("side", SIDES)
def test_hold_is_released_by_an_error_in_its_body(side):
    guard = Guard()
    with pytest.raises(ZeroDivisionError), getattr(guard, side):
        raise ZeroDivisionError
    assert is_free(guard)


@pytest.mark.parametrize("side", SIDES)
def test_hold_that_is_forgotten_is_released(side):
    guard = Guard()
    hold = getattr(guard, side)
    hold.__enter__()
    del hold
    assert is_free(guard)


def test_hold_entered_twice_raises_and_is_released_once():
    guard = Guard()
    with guard.reading as _, guard.reading:
        hold = guard.reading
        with hold, pytest.raises(RuntimeError, match="already"):
            hold.__enter__()
        with pytest.raises(RuntimeError, match="2 queries"):
            guard.changing.__enter__()
    assert is_free(guard)


class Interruption(BaseException):
    """Raised where nobody expects it."""


def interrupted_at_each_step(function):
    """Call the function again and again, raising at the first, second, third ... instruction of the calls under it."""
    place = 0
    while True:
        left = place

        def trace(frame, event, _):
            nonlocal left
            frame.f_trace_opcodes = True
            if event == "opcode":
                left -= 1
                if left < 0:
                    raise Interruption
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            function()
            return
        except Interruption:
            pass
        finally:
            sys.settrace(before)
        yield place
        place += 1


@pytest.mark.parametrize("side", SIDES)
def test_interruption_at_any_instruction_of_a_with_statement_leaves_the_guard_free(side):
    guard = Guard()

    def use():
        with getattr(guard, side):
            _ = [1, 2, 3]

    places = [place for place in interrupted_at_each_step(use) if is_free(guard)]
    assert len(places) > 8


@pytest.mark.parametrize(
    "use",
    [
        lambda index: index.query([[0, 0, 9, 9]]),
        lambda index: index.move([0], [[0, 0, 1, 1]]),
        lambda index: index.boxes_of([0]),
        lambda index: index.changes(),
    ],
    ids=["query", "update", "boxes_of", "changes"],
)
def test_interruption_at_any_instruction_of_an_index_leaves_it_usable(use):
    boxes = [[0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]]
    index = bp.BVH(boxes)
    for _ in interrupted_at_each_step(lambda: use(index)):
        index.update(boxes)
        assert index.pairs().tolist() == [[0, 1]]
        index.validate()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_signal_at_any_moment_leaves_the_guard_free():
    guard, index, raised = Guard(), bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3]]), 0

    def interrupt(*_):
        raise Interruption

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0002)
                while True:
                    with guard.reading:
                        pass
                    with guard.changing:
                        pass
                    index.query([[0, 0, 1, 1]])
            except Interruption:
                raised += 1
            assert is_free(guard)
            index.move([0], [[0, 0, 2, 2]])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert raised > 20
    assert index.pairs().tolist() == [[0, 1]]
