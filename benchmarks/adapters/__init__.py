"""Our drop-ins beside the libraries that they stand in for: each library is a module with `rows(pace)`.

    python -m benchmarks.adapters              # every library that is installed: one table, about five minutes
    python -m benchmarks.adapters --quick      # about a minute
    python -m benchmarks.adapters pygame       # one

A row is a ratio: the library's time to ours, both timed in turns in one process, on the same objects. Each library has
a process of its own, so that figures do not depend on what ran before.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks.measuring import median_times, one_core
from benchmarks.rows import Row

LIBRARIES = tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name[0] != "_"))


def faster(what: str, theirs: Callable[[], Any], ours: Callable[[], Any], least: float | None, seconds: float) -> Row:
    """Time two calls in turns, and give how many times as long theirs takes.

    Parameters
    ----------
    what : str
        Name of the row.
    theirs, ours : callable
        The same work. What they return is not compared: that is what the tests are for.
    least : float, optional
        The least ratio.
    seconds : float
        Time to spend on both.
    """
    timings = median_times({"theirs": theirs, "ours": ours}, budget=seconds)
    their_time, our_time = timings["theirs"].milliseconds, timings["ours"].milliseconds
    return Row(what, their_time / our_time, "× faster", least, True, our_time, their_time)


def measure(library: str, pace: float) -> list[Row]:
    """Measure the drop-in for one library, on one core.

    Raises
    ------
    ImportError
        The library is not installed.
    """
    with one_core():
        return list(import_module(f"{__name__}.{library}").rows(pace))
