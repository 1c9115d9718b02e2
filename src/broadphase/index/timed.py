"""How long the last piece of work of each kind took."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import MutableMapping

__all__ = ["Timed"]


# A class rather than a generator: entering and leaving is a part of every small question.
class Timed:
    """A context whose body's time is kept under a name, unless it raises.

    Parameters
    ----------
    seconds : MutableMapping of str to float or None
        Where it is kept.
    work : str
        The name.

    Examples
    --------
    >>> seconds = {"query": None}
    >>> with Timed(seconds, "query"):
    ...     pass
    >>> seconds["query"] < 1
    True
    """

    __slots__ = ("_began", "_seconds", "_work")

    def __init__(self, seconds: MutableMapping[str, float | None], work: str) -> None:
        self._seconds = seconds
        self._work = work

    def __enter__(self) -> None:
        self._began = perf_counter()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._seconds[self._work] = perf_counter() - self._began
