"""How the figures are taken: medians of interleaved runs, on which machine, beside which yardstick.

Machines differ and the same machine differs from hour to hour, so every time is also given as a multiple of T, the
time of ``np.argsort`` of as many random float32, taken in between the others.
"""

from __future__ import annotations

import gc
import importlib
import os
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import broadphase as bp
from broadphase.errors import MissingExtraError
from broadphase.testing import simd_levels


def load(module: str, distribution: str = "") -> Any:
    """Import an optional module quietly.

    Parameters
    ----------
    module : str
        Dotted name.
    distribution : str
        What ``pip install`` calls it. Default: the name of the module.

    Raises
    ------
    MissingExtraError
        It is not installed; the message says how to install it.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # pygame greets on standard output when imported
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except ImportError as error:
        name = distribution or module
        raise MissingExtraError(f"{name} is not installed: pip install --group bench, or pip install {name}") from error


def processor_name() -> str:
    """Return the processor's name as the system knows it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def describe_machine() -> dict[str, str]:
    """Return processor, cores, instruction set in use, system, and versions of Python, NumPy and broadphase."""
    return {
        "processor": processor_name(),
        "cores": str(os.cpu_count() or 1),
        "instruction sets": ", ".join(simd_levels()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "broadphase": bp.__version__,
    }


def footnote(machine: dict[str, str]) -> str:
    """Say below a plot where its figures come from."""
    return f"{machine['processor']}, Python {machine['python']}, NumPy {machine['numpy']}; medians, one thread"


@contextmanager
def progress_bar(wanted: bool | None = None) -> Iterator[Callable[[float, str], None] | None]:
    """Show a bar while a `with` block runs, where rich is installed.

    Parameters
    ----------
    wanted : bool, optional
        Default: if the error stream is a terminal.

    Yields
    ------
    advance : callable or None
        ``advance(done, what)`` with `done` from 0 to 1; None when nobody watches.
    """
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        yield None
        return
    # Drawn by the caller, never by a thread of its own, which would disturb the times.
    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=1.0)

        def advance(done: float, what: str) -> None:
            bar.update(task, completed=done, description=what)
            bar.refresh()

        yield advance


# Seconds; a faster call is repeated for this long. Some processors need half a millisecond to wake the widest vector
# units after a pause, which would otherwise slow down every short call after a long one.
SHORTEST_SAMPLE = 0.005


@dataclass(frozen=True, slots=True)
class Timing:
    """What repeated runs of one call took: median and quickest in milliseconds, and how many runs there were."""

    milliseconds: float
    quickest: float
    runs: int


def argsort_call(n: int) -> Callable[[], Any]:
    """Return the reference: a call that sorts `n` random float32 by ``np.argsort``."""
    values = np.random.default_rng(0).random(n, dtype=np.float32)
    return lambda: np.argsort(values)


@contextmanager
def one_core(active: bool = True) -> Iterator[None]:
    """Keep this thread, and those that it starts, on one core inside a `with` block, where the system can.

    Some libraries start threads by themselves; a comparison with one thread needs this.
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
    """Run a call once, with the garbage collector quiet, and return its seconds and its result."""
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        result = call()
        return time.perf_counter() - start, result
    finally:
        gc.enable()


def sample(call: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Run a call some times and return the seconds of one run."""
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats


def median_times(
    calls: Mapping[str, Callable[[], Any]],
    *,
    budget: float = 1.0,
    least: int = 3,
    most: int = 200,
    first: Mapping[str, float] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Time several calls against one another, each in turn, round after round.

    Slow spells of the machine then fall on all alike, and the medians leave them out.

    Parameters
    ----------
    calls : mapping of str to callable
        Functions to time. Each is run once more at the start, unless `first` has its time; it does not count.
    budget : float
        Seconds for all. Every call gets an equal share; one that cannot run `least` times in its share and half as
        much again runs as often as fits, and at least once.
    least, most : int
        Fewest and most samples of one call.
    first : mapping of str to float, optional
        Seconds of a run that was made already. Where it alone is more than the share, it is the one sample.
    clock : callable
        Returns seconds; ``time.process_time`` for calls of one thread on a machine that others use too.

    Returns
    -------
    timings : dict of str to Timing
        In the order of `calls`.

    Examples
    --------
    >>> from benchmarks.measuring import median_times
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
                seconds = sample(calls[name], repeats[name], clock)
                samples[name].append(seconds)
                spent[name] += seconds * repeats[name]
    finally:
        gc.enable()
    return {
        name: Timing(statistics.median(seconds) * 1e3, min(seconds) * 1e3, len(seconds))
        for name, seconds in samples.items()
    }


def version_of(distribution: str) -> str | None:
    """Return the version of a distribution, or None if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
