"""Who may touch an index: many readers at a time, or one writer, and nobody waits."""

from __future__ import annotations

import threading

__all__ = ["Guard"]


class Guard:
    """Refuses a change while somebody reads, and reading while somebody changes.

    Refusing is the point: a lock that waits would answer from a scene that is half of one moment and half of another,
    or deadlock where a signal handler changes what it interrupted.

    Parameters
    ----------
    guarded : str
        What to call it in messages.

    Attributes
    ----------
    reading, changing : context manager
        What a question, or a change, runs in.

    Examples
    --------
    >>> guard = Guard()
    >>> with guard.reading, guard.reading:
    ...     with guard.changing:
    ...         pass
    Traceback (most recent call last):
        ...
    RuntimeError: the index was to be changed while 2 questions to it run
    """

    __slots__ = ("_guarded", "_lock", "_readers", "_writing", "changing", "reading")

    def __init__(self, guarded: str = "index") -> None:
        self._guarded = guarded
        self._lock = threading.Lock()
        self._readers = 0
        self._writing = False
        self.reading = _Reading(self)
        self.changing = _Changing(self)

    def enter_reading(self) -> None:
        """Count a reader, unless somebody changes the index."""
        with self._lock:
            if self._writing:
                raise RuntimeError(f"the {self._guarded} was asked while it is being changed")
            self._readers += 1

    def leave_reading(self) -> None:
        """Count a reader less."""
        with self._lock:
            self._readers -= 1

    def enter_changing(self) -> None:
        """Let nobody else in, unless somebody is in."""
        with self._lock:
            if self._writing:
                raise RuntimeError(f"the {self._guarded} was to be changed while it is being changed")
            if self._readers:
                questions = "a question to it runs" if self._readers == 1 else f"{self._readers} questions to it run"
                raise RuntimeError(f"the {self._guarded} was to be changed while {questions}")
            self._writing = True

    def leave_changing(self) -> None:
        """Let others in again."""
        with self._lock:
            self._writing = False


# Classes rather than generators: entering and leaving is a part of every small question.
class _Reading:
    __slots__ = ("_guard",)

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def __enter__(self) -> None:
        self._guard.enter_reading()

    def __exit__(self, *_: object) -> None:
        self._guard.leave_reading()


class _Changing:
    __slots__ = ("_guard",)

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def __enter__(self) -> None:
        self._guard.enter_changing()

    def __exit__(self, *_: object) -> None:
        self._guard.leave_changing()
