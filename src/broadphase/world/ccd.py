"""Continuous detection: what bodies marked `ccd` touch on their way from one step to the next.

A way is the path of a body during a step, in straight parts: it bends where the body bounces, or comes in at the other
side of a periodic world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.narrow import Impacts
from broadphase.narrow.row_pairs import impacts
from broadphase.world.touching import NO_PAIRS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.shapes import Shapes

    Floats: TypeAlias = NDArray[np.float64]
    Rows: TypeAlias = NDArray[np.int32]

__all__ = [
    "MOST_BENDS", "Trace", "Ways", "bends_of", "bent_ways", "chosen", "joined", "meetings", "no_impacts",
    "straight_ways", "ways_of",
]  # fmt: skip

# Of one way: a body that crosses the world more often in one step has a wrong velocity, or the step is wrong.
MOST_BENDS = 10_000


def no_impacts(dim: int) -> Impacts:
    """Give the impacts of a step without any."""
    return Impacts(NO_PAIRS, np.empty(0), np.empty((0, dim)))


class Trace:
    """How bodies moved during a step.

    Attributes
    ----------
    is_ccd : ndarray, shape (slots,), bool
        The rows that are followed along their ways.
    before : ndarray, shape (slots, d), float64
        Positions where the world saw the rows before the step.
    after : ndarray, shape (slots, d), float64
        Positions after it.
    bounced, wrapped : ndarray, shape (k,), int32
        Rows that were reflected; rows that came in at the other side.
    turned, ends : ndarray, shape (k,), int32, and shape (k, d), float64
        All of these, ascending, and where they would be after the step if there were no boundary.
    numbers : ndarray, shape (slots,), int32, or None
        Rows of the world that these are, ascending; None: the same.
    """

    __slots__ = ("after", "before", "bounced", "ends", "is_ccd", "numbers", "turned", "wrapped")

    def __init__(self, is_ccd: NDArray[np.bool_], before: Floats, after: Floats, numbers: Rows | None = None) -> None:
        self.is_ccd, self.before, self.after, self.numbers = is_ccd, before, after, numbers
        self.bounced = self.wrapped = self.turned = np.empty(0, np.int32)
        self.ends = np.empty((0, before.shape[1]))

    def turn(self, rows: Rows, ends: Floats) -> None:
        """Note where rows would be if the boundary had not turned them."""
        if len(self.turned):
            rows, ends = np.concatenate([self.turned, rows]), np.concatenate([self.ends, ends])
            order = np.argsort(rows, kind="stable")
            rows, ends = rows[order], ends[order]
        self.turned, self.ends = rows, ends

    def after_of(self, rows: Rows) -> Floats:
        """Give where rows, ascending, would be after the step if there were no boundary."""
        after = self.after[rows]
        if len(self.turned):
            places, found = _places_of(self.turned, rows)
            after[places] = self.ends[found]
        return after

    def of(self, rows: Rows) -> Trace:
        """Give the same of some rows, ascending, under new numbers, and all positions as if there were no boundary."""
        some = Trace(self.is_ccd[rows], self.before[rows], self.after_of(rows), rows)
        some.bounced, some.wrapped = (_places_of(these, rows)[0] for these in (self.bounced, self.wrapped))
        return some


def _places_of(some: Rows, rows: Rows) -> tuple[Rows, NDArray[np.bool_]]:
    """Give the places among ascending rows of those of some rows that are there, and which these are."""
    if not len(some) or not len(rows):
        return np.empty(0, np.int32), np.zeros(len(some), np.bool_)
    places = np.searchsorted(rows, some)
    found = rows[np.minimum(places, len(rows) - 1)] == some
    return places[found].astype(np.int32), found


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
    """Count the boundaries that each way crosses, shape (k,); infinity where there are more than can be counted.

    Parameters
    ----------
    begin, motion : ndarray, shape (k, d), float64
        Straight ways.
    origin, period : ndarray, shape (k, d) or (d,), float64
        Boundaries are at every origin + i * period.
    """
    first, last = _cells(begin, origin, period), _cells(begin + motion, origin, period)
    with np.errstate(invalid="ignore", over="ignore"):
        count: NDArray[np.float64] = np.abs(last - first).sum(axis=1)
    count[np.isnan(count)] = np.inf
    return count


def bent_ways(rows: Rows, begin: Floats, motion: Floats, origin: Floats, period: Floats, reflects: bool) -> Ways:
    """Fold straight ways into the world.

    Parameters
    ----------
    rows : ndarray, shape (k,), int32
        Whose ways they are.
    begin, motion : ndarray, shape (k, d), float64
        Ways as they would be without a boundary. They cross no more than `MOST_BENDS` each.
    origin, period : ndarray, shape (k, d), float64
        The world of each: from origin to origin + period along each axis.
    reflects : bool
        True: a way is reflected at the boundary. False: it comes in again at the other side.

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
        side = np.where(up, first[owner, axis] + 1 + step, first[owner, axis] - step)
        place = origin[owner, axis] + side * period[owner, axis]
        owners.append(owner)
        times.append(np.clip((place - begin[owner, axis]) / motion[owner, axis], 0.0, 1.0))
    of, since = np.concatenate(owners), np.concatenate(times)
    order = np.lexsort([since, of])
    of, since = of[order], since[order]
    until = np.where(np.append(of, -1)[1:] == of, np.append(since, 1.0)[1:], 1.0)

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


def ways_of(
    trace: Trace,
    motions: Floats,
    now: Floats,
    alive: NDArray[np.bool_],
    bounds: Floats | None,
    is_periodic: bool,
    relative_boxes: Callable[[Rows], Floats],
) -> Ways:
    """Take apart the ways of followed bodies, and of those that came to a boundary.

    Where a way is unknown, a body goes straight from where it was to where it is: `motions` is written to then.

    Parameters
    ----------
    trace : Trace
    motions : ndarray, shape (slots, d), float64
        How far each row has moved, as if there were no boundary.
    now : ndarray, shape (slots, d), float64
        Positions after the step.
    alive : ndarray, shape (slots,), bool
    bounds : ndarray, shape (2, d), or None
    is_periodic : bool
        Whether rows outside the bounds came in at the other side.
    relative_boxes : callable
        ``relative_boxes(rows)`` gives the boxes of shapes relative to their positions, (k, 2, d).

    Raises
    ------
    ValueError
        A followed row that crosses the world too often.
    """
    before, groups = trace.before, []
    if bounds is not None and (is_periodic or len(trace.wrapped)):
        rows = _out_of(bounds, before, trace.after) if is_periodic else trace.wrapped
        rows = rows[alive[rows]]
        if len(trace.bounced):
            rows = rows[~np.isin(rows, trace.bounced)]
        origin = np.tile(bounds[0], (len(rows), 1))
        period = np.tile(bounds[1] - bounds[0], (len(rows), 1))
        crosses = bends_of(before[rows], motions[rows], origin, period) > 0
        groups.append((rows[crosses], origin[crosses], period[crosses], False))
    if bounds is not None and len(trace.bounced):
        rows = trace.bounced
        relative = relative_boxes(rows)
        origin = bounds[0] - relative[:, 0]
        period = bounds[1] - relative[:, 1] - origin
        has_room = (period > 0).all(axis=1)
        motions[rows[~has_room]] = (now - before)[rows[~has_room]]
        groups.append((rows[has_room], origin[has_room], period[has_room], True))
    straight, parts = trace.is_ccd.copy(), []
    for rows, origin, period, reflects in groups:
        if not len(rows):
            continue
        often = bends_of(before[rows], motions[rows], origin, period) > MOST_BENDS
        if (often & trace.is_ccd[rows]).any():
            row = rows[np.argmax(often & trace.is_ccd[rows])]
            number = row if trace.numbers is None else trace.numbers[row]
            raise ValueError(
                f"row {number} has ccd=True and crosses the world more than {MOST_BENDS} times in one step: "
                f"from {before[row].tolist()} by {motions[row].tolist()}"
            )
        motions[rows[often]] = 0.0
        rows, origin, period = rows[~often], origin[~often], period[~often]
        ways = bent_ways(rows, before[rows], motions[rows], origin, period, reflects)
        if reflects:
            ways, lost = _that_arrive(ways, now, period)
            motions[lost] = (now - before)[lost]
        straight[ways.rows] = False
        parts.append(ways)
    rows = np.flatnonzero(straight).astype(np.int32)
    return joined([straight_ways(rows, now[rows] - motions[rows], motions[rows]), *parts])


def meetings(
    shapes: Shapes,
    places: Floats,
    motions: Floats,
    alive: NDArray[np.bool_],
    is_ccd: NDArray[np.bool_],
    ways: Ways,
    bounds: Floats | None = None,
    wanted: _native.PairFilter | None = None,
    numbers: Rows | None = None,
    keys: NDArray[np.int64] | None = None,
) -> Impacts:
    """Find what touched a followed body during a step, and when it first did.

    Bodies move straight, at an even speed, rotated as they are at the end of the step. All move at once: what counts
    is their relative motion.

    Parameters
    ----------
    shapes : Shapes
        All shapes, where they are after the step.
    places : ndarray, shape (n, d), float64
        Positions of all rows after the step.
    motions : ndarray, shape (n, d), float64
        How far each has moved; not read for rows that are in `ways`.
    alive, is_ccd : ndarray, shape (n,), bool
        Which rows there are, and for which of them touching on the way counts.
    ways : Ways
        Of all rows that are followed, and of those whose way is bent.
    bounds : ndarray, shape (2, d), float64, optional
        Of a periodic world.
    wanted : PairFilter of the core, optional
        Which pairs of rows of `shapes` count.
    numbers : ndarray, shape (n,), int32, optional
        Rows of `shapes` that all other arrays are about, ascending. Default: 0, 1, 2...
    keys : ndarray, shape (n,), int64, optional
        Rows of different keys are never compared.

    Returns
    -------
    Impacts
        Each pair of rows of `shapes` once, first < second, in lexicographic order; times are shares of the step.

    Notes
    -----
    Nothing is missed at any speed: boxes around the ways, rounded outwards, find candidates; each is then narrowed to
    the time in which the boxes overlap, so that the exact test is on numbers of the size of the shapes.
    """
    if numbers is None:
        numbers = np.arange(len(places), dtype=np.int32)
    search = _search_of(shapes.boxes, numbers, places, motions, alive, is_ccd, ways, bounds, keys)
    while (approaches := search.next(wanted)) is not None:
        first, second, relative, offsets = approaches
        search.note(*impacts(shapes, shapes, first, second, relative, offsets))
    return Impacts(*search.meetings())


def _search_of(
    boxes: Floats,
    numbers: Rows,
    places: Floats,
    motions: Floats,
    alive: NDArray[np.bool_],
    is_ccd: NDArray[np.bool_],
    ways: Ways,
    bounds: Floats | None,
    keys: NDArray[np.int64] | None = None,
) -> Any:
    rows = boxes, numbers, places, motions, alive.view(np.uint8), is_ccd.view(np.uint8)
    return _native.WaySearch(*rows, ways.rows, ways.since, ways.until, ways.begin, ways.motion, bounds, keys)


def _cells(places: Floats, origin: Floats, period: Floats) -> Floats:
    with np.errstate(over="ignore"):  # more cells than there are numbers
        return np.floor((places - origin) / period)


def _out_of(bounds: Floats, *places: Floats) -> NDArray[np.int32]:
    """Find rows of which one place is not within the half-open bounds."""
    out = np.zeros(len(places[0]), np.bool_)
    for table in places:
        # Column by column: NumPy is slow at rows of two or three numbers.
        for axis in range(table.shape[1]):
            out |= (table[:, axis] < bounds[0, axis]) | (table[:, axis] >= bounds[1, axis])
    return np.flatnonzero(out).astype(np.int32)


def _that_arrive(ways: Ways, now: Floats, period: Floats) -> tuple[Ways, NDArray[np.int32]]:
    """Keep the ways that end where the bodies are; give the rows of the others, which were set back to the boundary."""
    last = np.append(ways.rows[1:] != ways.rows[:-1], True)[: len(ways.rows)]
    rows, end = ways.rows[last], ways.begin[last] + ways.motion[last]
    reach = np.bincount(ways.rows, np.abs(ways.motion).max(axis=1, initial=0.0), len(now))[rows]
    off = np.abs(end - now[rows]).max(axis=1, initial=0.0) > 1e-9 * (period.max(axis=1, initial=0.0) + reach)
    lost = rows[off]
    kept = ~np.isin(ways.rows, lost)
    return chosen(ways, kept), lost
