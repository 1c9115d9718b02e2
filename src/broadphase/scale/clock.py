"""Where the time of threads goes."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Clock"]

T = TypeVar("T")


class Clock:
    """Seconds of all threads together, by what they did."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._lock = threading.Lock()

    @contextmanager
    def measure(self, what: str) -> Iterator[None]:
        """Count the time of a block."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - begin
            with self._lock:
                self.seconds[what] = self.seconds.get(what, 0.0) + seconds

    def each(self, what: str, items: Iterable[T]) -> Iterator[T]:
        """Yield items, and count the time that it takes to make them."""
        iterator = iter(items)
        while True:
            with self.measure(what):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item
