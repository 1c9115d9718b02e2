"""Medians of interleaved runs, as milliseconds and as multiples of a sort by NumPy in the same minute.

Machines differ and the same machine differs from hour to hour, so every time is also given as a multiple of T, the
time of ``np.argsort`` of as many random float32, taken in between the others.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Timing", "argsort_call", "median_times", "one_core", "timed"]

# Seconds; a quicker call is repeated this long. Some processors need half a millisecond to wake the widest vector units
# after a pause, which would otherwise fall on every short call that follows somebody else's long one.
SHORTEST_SAMPLE = 0.005


@dataclass(frozen=True, slots=True)
class Timing:
    """What repeated runs of one call took: median and quickest in milliseconds, and how many runs there were."""

    milliseconds: float
    quickest: float
    runs: int


def argsort_call(n: int) -> Callable[[], Any]:
    """Give the yardstick: a call that sorts `n` random float32 by ``np.argsort``."""
    values = np.random.default_rng(0).random(n, dtype=np.float32)
    return lambda: np.argsort(values)


@contextmanager
def one_core(active: bool = True) -> Iterator[None]:
    """Keep this thread, and those that it starts, on one core inside a `with` block, where the system can.

    Some libraries start threads unasked; a comparison of one thread with one thread needs this.
    """
    if not active or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Run a call once, with the garbage collector quiet, and give its seconds and its result."""
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        result = call()
        return time.perf_counter() - start, result
    finally:
        gc.enable()


def sample(call: Callable[[], Any], repeats: int) -> float:
    """Run a call some times and give the seconds of one run."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def median_times(
    calls: Mapping[str, Callable[[], Any]],
    *,
    budget: float = 1.0,
    least: int = 3,
    most: int = 200,
    first: Mapping[str, float] | None = None,
) -> dict[str, Timing]:
    """Time several calls against one another, each in turn, round after round.

    Slow spells of the machine then fall on all alike, and the medians leave them out.

    Parameters
    ----------
    calls : mapping of str to callable
        What to run. Each is run once more at the start, unless `first` tells what that took; it does not count.
    budget : float
        Seconds for all. Every call gets an equal share; one that cannot run `least` times in its share and half as
        much again runs as often as fits, and at least once.
    least, most : int
        Fewest and most samples of one call.
    first : mapping of str to float, optional
        Seconds of a run that was made already. Where it alone is more than the share, it is the one sample.

    Returns
    -------
    timings : dict of str to Timing
        In the order of `calls`.

    Examples
    --------
    >>> from broadphase.bench import median_times
    >>> timings = median_times({"sum": lambda: sum(range(1000)), "nothing": lambda: None}, budget=0.05)
    >>> timings["nothing"].milliseconds < timings["sum"].milliseconds
    True
    """
    share = budget / max(1, len(calls))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    repeats, wanted, spent = {}, {}, dict.fromkeys(calls, 0.0)
    for name, call in calls.items():
        seconds = first[name] if first and name in first else timed(call)[0]
        repeats[name] = max(1, int(SHORTEST_SAMPLE / max(seconds, 1e-7)))
        wanted[name] = least if least * seconds <= 1.5 * share else max(1, int(share / seconds))
        if first and name in first and seconds > share:
            samples[name].append(seconds)
            spent[name] = seconds
    gc.collect()
    gc.disable()
    try:
        for _ in range(most):
            due = [name for name in calls if len(samples[name]) < wanted[name] or spent[name] < share]
            if not due:
                break
            for name in due:
                seconds = sample(calls[name], repeats[name])
                samples[name].append(seconds)
                spent[name] += seconds * repeats[name]
    finally:
        gc.enable()
    return {
        name: Timing(statistics.median(seconds) * 1e3, min(seconds) * 1e3, len(seconds))
        for name, seconds in samples.items()
    }
