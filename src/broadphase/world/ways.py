"""The ways that things took during a step, in straight parts: they bend where things bounce, or come in again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]

__all__ = ["MOST_BENDS", "Ways", "bends_of", "bent_ways", "chosen", "joined", "straight_ways"]

# Of one way: a thing that crosses the world more often in one step has a wrong velocity, or the step is wrong.
MOST_BENDS = 10_000


class Ways(NamedTuple):
    """Straight parts of ways.

    Attributes
    ----------
    rows : ndarray, shape (k,), int32
        Whose way each is a part of.
    since, until : ndarray, shape (k,), float64
        Begin and end, as shares of the step.
    begin : ndarray, shape (k, d), float64
        Position at its begin.
    motion : ndarray, shape (k, d), float64
        From begin to end.
    """

    rows: Rows
    since: Floats
    until: Floats
    begin: Floats
    motion: Floats


def joined(parts: list[Ways]) -> Ways:
    """Put parts behind each other."""
    return Ways(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def chosen(ways: Ways, kept: NDArray[np.bool_]) -> Ways:
    """Keep some parts."""
    return Ways(ways.rows[kept], ways.since[kept], ways.until[kept], ways.begin[kept], ways.motion[kept])


def straight_ways(rows: Rows, begin: Floats, motion: Floats) -> Ways:
    """Give ways of one part each."""
    count = len(rows)
    return Ways(rows, np.zeros(count), np.ones(count), begin, motion)


def bends_of(begin: Floats, motion: Floats, origin: Floats, period: Floats) -> NDArray[np.float64]:
    """Count the borders that each way crosses, shape (k,).

    Parameters
    ----------
    begin, motion : ndarray, shape (k, d), float64
        Straight ways.
    origin, period : ndarray, shape (k, d) or (d,), float64
        Borders are at every origin + i * period.
    """
    count: NDArray[np.float64] = np.abs(_cells(begin + motion, origin, period) - _cells(begin, origin, period)).sum(1)
    return count


def bent_ways(rows: Rows, begin: Floats, motion: Floats, origin: Floats, period: Floats, reflects: bool) -> Ways:
    """Fold straight ways into the world.

    Parameters
    ----------
    rows : ndarray, shape (k,), int32
        Whose ways they are.
    begin, motion : ndarray, shape (k, d), float64
        Ways as they would be without borders. They cross no more than `MOST_BENDS` each.
    origin, period : ndarray, shape (k, d), float64
        The world of each: from origin to origin + period along each axis.
    reflects : bool
        True: a way is reflected at the borders. False: it comes in again at the other side.

    Returns
    -------
    Ways
        All within the world, row by row in the order of time.

    Examples
    --------
    >>> begin, motion, origin, period = np.array([[[8.0, 1.0]], [[4.0, 4.0]], [[0.0, 0.0]], [[10.0, 10.0]]])
    >>> ways = bent_ways(np.array([7], np.int32), begin, motion, origin, period, reflects=True)
    >>> ways.rows.tolist(), ways.since.tolist(), ways.begin.tolist(), ways.motion.tolist()
    ([7, 7], [0.0, 0.5], [[8.0, 1.0], [10.0, 3.0]], [[2.0, 2.0], [-2.0, 2.0]])
    """
    first, last = _cells(begin, origin, period), _cells(begin + motion, origin, period)
    owners, times = [np.arange(len(rows))], [np.zeros(len(rows))]
    for axis in range(begin.shape[1]):
        count = np.abs(last[:, axis] - first[:, axis]).astype(np.int64)
        owner = np.repeat(np.arange(len(rows)), count)
        step = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        up = motion[owner, axis] > 0
        border = np.where(up, first[owner, axis] + 1 + step, first[owner, axis] - step)
        place = origin[owner, axis] + border * period[owner, axis]
        owners.append(owner)
        times.append(np.clip((place - begin[owner, axis]) / motion[owner, axis], 0.0, 1.0))
    of, since = np.concatenate(owners), np.concatenate(times)
    order = np.lexsort([since, of])
    of, since = of[order], since[order]
    until = np.append(since[1:], 1.0)
    until[np.append(of[1:] != of[:-1], True)] = 1.0

    whole = motion[of]
    start = begin[of] + whole * since[:, np.newaxis]
    middle = begin[of] + whole * (0.5 * (since + until))[:, np.newaxis]
    cells = _cells(middle, origin[of], period[of])
    start, part = start - cells * period[of], whole * (until - since)[:, np.newaxis]
    if reflects:
        back = cells % 2 == 1
        start = np.where(back, 2 * origin[of] + period[of] - start, start)
        part = np.where(back, -part, part)
    return Ways(rows[of], since, until, start, part)


def _cells(places: Floats, origin: Floats, period: Floats) -> Floats:
    return np.floor((places - origin) / period)
