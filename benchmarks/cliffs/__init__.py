"""Scenes off the road, where methods fall: each subject is a module with `rows(pace)`, which yields `Row` by `Row`.

A bound is a ratio to the same work on an ordinary scene, to another library, or to T, timed in turns in the same
process. `pace` scales the seconds spent: 1 for a full report, 0.2 for a quick one.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Sequence
from importlib import import_module

from benchmarks.rows import Row


def rows(pace: float, subjects: Sequence[str] | None = None) -> Iterator[Row]:
    """Measure the subjects named, or all of them.

    Raises
    ------
    ModuleNotFoundError
        There is no such subject.
    """
    for name in subjects or sorted(module.name for module in pkgutil.iter_modules(__path__)):
        yield from import_module(f"{__name__}.{name}").rows(pace)
