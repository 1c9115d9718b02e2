"""Progress of long calls: what ``progress=`` takes, lines on stderr, and what the core reports while it searches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from broadphase import _native
from broadphase.errors import quoted

__all__ = ["Progress", "Told", "reporting", "searching"]

#: Called with the name of a stage, what is done in it, and all there is to do.
Told: TypeAlias = Callable[[str, int, int], object]
#: What ``progress=`` takes.
Progress: TypeAlias = Told | bool | None

_BETWEEN_UPDATES = 0.1, 10.0  # seconds, on a terminal, and where each is a line of its own


@contextmanager
def reporting(progress: Progress) -> Iterator[Told]:
    """Yield the function that a call reports its progress to: the one that was given, or one that prints.

    >>> with reporting(lambda stage, done, total: print(stage, done, total)) as told:
    ...     told("find", 3, 10)
    find 3 10
    """
    if callable(progress):
        yield progress
    elif progress is True:
        lines = _Lines()
        try:
            yield lines.show
        finally:
            lines.end()
    elif progress is None or progress is False:
        yield lambda stage, done, total: None
    else:
        raise TypeError(
            f"progress must be True, False or a function of a stage, what is done and all, not {quoted(progress)}"
        )


@contextmanager
def searching(told: Told, stage: str, count: int, first: str = "") -> Iterator[None]:
    """Report how far the core has come in a `with` block, as a share of `count` boxes, pairs ...

    `stage` is the name of the tasks, which can be counted; `first` that of what comes before them, which cannot.
    """
    told(first or stage, 0, count)
    before_tasks = bool(first)

    def watch(done: int, total: int) -> None:
        nonlocal before_tasks
        if before_tasks:
            before_tasks = False
            told(first, count, count)
        told(stage, count * done // total, count)

    watcher = _native.watch(watch)
    try:
        yield
    finally:
        _native.watch(watcher)
    watch(1, 1)


class _Lines:
    """A line for each stage: how much of it is done, and the time that is left."""

    def __init__(self) -> None:
        self._out = sys.stderr
        self._rewrites = self._out.isatty()
        self._stage: str | None = None
        self._begin = self._shown = 0.0
        self._first = 0  # what an earlier run had done
        self._is_open = False  # a line that the next one is to replace

    def show(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self.end()
            self._stage, self._first, self._begin, self._shown = stage, done, now, now
        has_ended = done >= total
        if not has_ended and now - self._shown < _BETWEEN_UPDATES[not self._rewrites]:
            return
        self._shown = now
        elapsed = now - self._begin
        if has_ended:
            rest = f"in {in_words(elapsed)}"
        elif done > self._first:
            rest = f"{done / total:.0%}, {in_words(elapsed * (total - done) / (done - self._first))} left"
        else:
            rest = f"{done / total:.0%}"
        begin, end = ("\r", "\x1b[K") if self._rewrites else ("", "\n")
        print(f"{begin}{stage}: {done:,} of {total:,}, {rest}", end=end, file=self._out, flush=True)
        self._is_open = self._rewrites
        if has_ended:
            self.end()
            self._stage = None

    def end(self) -> None:
        if self._is_open:
            print(file=self._out, flush=True)
        self._is_open = False


def in_words(seconds: float) -> str:
    """Write a time in the unit that suits it.

    >>> [in_words(seconds) for seconds in (0.0123, 2.345, 61, 3725)]
    ['0.01 s', '2.3 s', '1 min 1 s', '1 h 2 min']
    """
    if seconds < 60:
        return f"{seconds:.{2 if seconds < 1 else 1}f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
