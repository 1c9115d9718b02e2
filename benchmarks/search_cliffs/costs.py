"""What a case costs beside its plain case, and which of its features are the cause."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.search_cliffs.cases import Case
from benchmarks.search_cliffs.subjects import FILTERS, Call, Work, work_of

CLIFF = 4.0  # × the plain case, or the other way
DENSITIES = (1.0, 30.0)  # overlaps of a box in the plain cases
FIXED = 5e-5  # seconds of a call, whatever its size; more where two boxes take more
LEAST = 5e-9  # seconds of a row of output: plain cases of little output do not tell it


class TooLongError(Exception):
    """The time for one call is over."""


# What a case raises that cannot be measured.
REFUSED = (
    *(ValueError, TooLongError),
    *(getattr(bp.errors, f"{name}Error") for name in ("TooManyPairs", "UnknownRow", "UnsupportedQuery")),
)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TooLongError` in a `with` block after some seconds of the processor."""

    def end(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def seconds_of(call: Call, limit: float, least: int = 3) -> float:
    """Return the least time of the thread for a call; for the part that was done where it is over the limit."""
    best, begun = np.inf, time.thread_time()
    while least > 0 or best * 3 > time.thread_time() - begun < 0.02:
        start = time.thread_time()
        try:
            with at_most(limit):
                call()
        except TooLongError:
            return min(best, time.thread_time() - start)
        best, least = min(best, time.thread_time() - start), least - 1
        if time.thread_time() - begun > limit / 2:
            break
    return best


def found_by(work: Work) -> int:
    """Run a call, and return the number of rows of output."""
    count = found(work.call())
    return count if work.output is None else work.output


def found(result: Any) -> int:
    """Return the number of rows of a result."""
    if isinstance(result, (int, np.integer)):
        return int(result)
    if isinstance(result, (list, np.ndarray)):
        return sum(result) if isinstance(result, list) else result.size if result.dtype != np.int32 else len(result)
    for name in ("pairs", "rows", "distances", "first"):
        if isinstance(getattr(result, name, None), np.ndarray):
            return getattr(result, name).size if name != "pairs" else len(result.pairs)
    return len(result) if hasattr(result, "__len__") else 0


@cache
def plain_costs(subject: str, n: int, dim: int, dtype: str, kind: str, fresh: int) -> tuple[float, float, float]:
    """Measure what a call, a row of input and one of output cost in plain cases, in seconds; once for each `fresh`."""
    fixed = max(FIXED, seconds_of(work_of(Case(subject, 0, 2, dim, dtype, kind)).call, 5.0))
    lines = []
    for density in DENSITIES:
        work = work_of(Case(subject, 0, n, dim, dtype, kind, density))
        lines.append((work.given, found_by(work), seconds_of(work.call, 5.0)))
    (g1, f1, t1), (g2, f2, t2) = lines
    both = f2 * g1 - f1 * g2
    each = max(0.0, (t2 * g1 - t1 * g2) / both) if both > 0.05 * f2 * g1 else 0.0
    return fixed, max((t2 - each * f2) / g2, 0.3 * t1 / g1), max(each, LEAST)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a case takes, its plain case, and the other way where there is one, in seconds."""

    case: Case
    seconds: float
    plain: float
    peer: float | None

    @property
    def ratio(self) -> float:
        """Return the time in that of the plain case; in the other way's where it tells of a cliff, or excuses it."""
        bound = self.plain if self.peer is None else float(np.clip(self.plain, self.peer / CLIFF, self.peer))
        return self.seconds / bound


def cost_of(case: Case, limit: float, fresh: int = 0) -> Cost:
    """Measure a case and its plain case, again for each `fresh`.

    Raises
    ------
    ValueError
        The call does not take these features together.
    TooLongError
        What is called cannot be made in the time.
    """
    fixed, given, each = plain_costs(case.subject, case.n, case.dim, case.dtype, case.kind, fresh)
    with at_most(limit):
        work = work_of(case)
    outputs = list[int]()
    for one in (case, case.without(*FILTERS)) if set(FILTERS) & set(case.features) else (case,):
        try:
            with at_most(limit):
                outputs.append(found_by(work if one is case else work_of(one)))
        except TooLongError:
            continue
    if not outputs:
        raise TooLongError("found too much, or takes too long")
    peer = seconds_of(work.peer, limit) if work.peer else None
    return Cost(case, seconds_of(work.call, limit), work.given * given + max(outputs) * each + fixed, peer)


def cause_of(cost: Cost, limit: float) -> Cost:
    """Leave out features one by one, as long as it is a cliff, and not one of a third of the height."""
    for name in cost.case.features:
        try:
            less = cost_of(cost.case.without(name), limit, fresh=1)
        except REFUSED:
            continue
        if less.ratio > max(CLIFF, cost.ratio / 3):
            cost = less
    return cost
