"""Continuous detection: what bodies marked `ccd` touch on their way from one step to the next.

A way is the path of a body during a step, in straight parts: it bends where the body bounces, or comes in at the other
side of a periodic world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from broadphase.narrow import Impacts
from broadphase.narrow.row_pairs import impacts
from broadphase.pairs import pairs as box_pairs
from broadphase.world.boundary import images_around
from broadphase.world.touching import NO_PAIRS, keys_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.shapes import Shapes

    Floats: TypeAlias = NDArray[np.float64]
    Rows: TypeAlias = NDArray[np.int32]
    Numbers: TypeAlias = NDArray[np.int64]

__all__ = [
    "MOST_BENDS", "Trace", "Ways", "bends_of", "bent_ways", "chosen", "joined", "meetings", "no_impacts",
    "straight_ways", "ways_of",
]  # fmt: skip

# Of one way: a body that crosses the world more often in one step has a wrong velocity, or the step is wrong.
MOST_BENDS = 10_000
# Parts of ways that are searched for at a time, in the order of time: a few, and then twice as many each time. So what
# meets a body early is not looked for later, and scratch memory is bounded however often bodies cross the world.
_FIRST_PORTION, _LARGEST_PORTION = 256, 4096
# The box around a part that goes askew is mostly empty. It is searched for in so many pieces at most, each some times
# as long as the shape is wide.
_MOST_PIECES, _LENGTH_OF_PIECES = 32, 3.0
# What rounding may take from a sum of a few numbers, relative to the largest of them.
_SLACK = 2.0**-48


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
        Positions after it, as if there were no boundary.
    bounced, wrapped : ndarray, shape (k,), int32
        Rows that were reflected; rows that came in at the other side.
    numbers : ndarray, shape (slots,), int32, or None
        Rows of the world that these are, ascending; None: the same.
    """

    __slots__ = ("after", "before", "bounced", "is_ccd", "numbers", "wrapped")

    def __init__(self, is_ccd: NDArray[np.bool_], before: Floats, after: Floats, numbers: Rows | None = None) -> None:
        self.is_ccd, self.before, self.after, self.numbers = is_ccd, before, after, numbers
        self.bounced = self.wrapped = np.empty(0, np.int32)

    def of(self, rows: Rows) -> Trace:
        """Give the same of some rows, ascending, under new numbers."""
        some = Trace(self.is_ccd[rows], self.before[rows], self.after[rows], rows)
        some.bounced, some.wrapped = (
            np.flatnonzero(np.isin(rows, these, assume_unique=True)).astype(np.int32)
            for these in (self.bounced, self.wrapped)
        )
        return some


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


class Parts:
    """All that moves, and all that does not: rows by their numbers, and behind them parts of ways.

    A row that has parts of a way is only there with these. All the others moved straight to where they are.
    """

    def __init__(self, boxes: Floats, places: Floats, motions: Floats, alive: NDArray[np.bool_], ways: Ways) -> None:
        self.row_boxes, self.places, self.motions, self.ways = boxes, places, motions, ways
        self.count = len(places)
        self.is_plain = alive.copy()
        self.is_plain[ways.rows] = False
        self.is_bent = bool((ways.since > 0.0).any())
        self.boxes: Floats = np.concatenate([self._of_rows(boxes), self._of_ways(boxes)])

    def _of_rows(self, boxes: Floats) -> Floats:
        """Give the box around the motion of each row: of its own, so one that is far off makes no other larger."""
        around = np.empty_like(boxes)
        # Column by column: NumPy is slow at rows of two or three numbers.
        for axis in range(boxes.shape[2]):
            motion, low, high = self.motions[:, axis] * self.is_plain, boxes[:, 0, axis], boxes[:, 1, axis]
            slack = _SLACK * (np.abs(motion) + np.maximum(np.abs(low), np.abs(high)))
            around[:, 0, axis] = low - np.maximum(motion, 0.0) - slack
            around[:, 1, axis] = high - np.minimum(motion, 0.0) + slack
        return around

    def _of_ways(self, boxes: Floats) -> Floats:
        ways = self.ways
        begin = boxes[ways.rows] + (ways.begin - self.places[ways.rows])[:, np.newaxis]
        end = begin + ways.motion[:, np.newaxis]
        slack = _SLACK * (np.abs(begin) + np.abs(end) + np.abs(boxes[ways.rows])).max(axis=1)
        return np.stack([np.minimum(begin[:, 0], end[:, 0]) - slack, np.maximum(begin[:, 1], end[:, 1]) + slack], 1)

    def rows_of(self, parts: Numbers) -> Rows:
        """Give the row of each part."""
        rows: Rows = np.where(parts < self.count, parts, 0).astype(np.int32)
        of_way = parts >= self.count
        rows[of_way] = self.ways.rows[parts[of_way] - self.count]
        return rows

    def times_of(self, parts: Numbers) -> tuple[Floats, Floats]:
        """Give begin and end of each part."""
        since, until = np.zeros(len(parts)), np.ones(len(parts))
        of_way = parts >= self.count
        since[of_way] = self.ways.since[parts[of_way] - self.count]
        until[of_way] = self.ways.until[parts[of_way] - self.count]
        return since, until

    def between(self, parts: Numbers, rows: Rows, since: Floats, until: Floats) -> tuple[Floats, Floats]:
        """Give how far each part is from where its row is now, at the begin of a time within it, and what it moves."""
        motion = self.motions[rows]
        shift = -motion
        from_, to = self.times_of(parts)
        of_way = parts >= self.count
        ways = parts[of_way] - self.count
        motion[of_way] = self.ways.motion[ways]
        shift[of_way] = self.ways.begin[ways] - self.places[rows[of_way]]
        length = np.where(to > from_, to - from_, 1.0)
        shift += motion * ((since - from_) / length)[:, np.newaxis]
        return shift, motion * ((until - since) / length)[:, np.newaxis]


def meetings(
    shapes: Shapes,
    places: Floats,
    motions: Floats,
    alive: NDArray[np.bool_],
    is_ccd: NDArray[np.bool_],
    ways: Ways,
    bounds: Floats | None = None,
    allows: Callable[[Rows, Rows], NDArray[np.bool_]] | None = None,
    numbers: Rows | None = None,
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
    allows : callable, optional
        ``allows(first, second)`` says which pairs of rows of `shapes` count, shape (m,).
    numbers : ndarray, shape (n,), int32, optional
        Rows of `shapes` that all other arrays are about, ascending. Default: 0, 1, 2...

    Returns
    -------
    Impacts
        Each pair of rows of `shapes` once, first < second, in lexicographic order; times are shares of the step.

    Notes
    -----
    Nothing is missed at any speed: boxes around the ways, rounded outwards, find candidates; each is then narrowed to
    the time in which the boxes overlap, so that the exact test is on numbers of the size of the shapes.
    """
    parts = Parts(shapes.boxes if numbers is None else shapes.boxes[numbers], places, motions, alive, ways)
    pieces = _pieces_of(parts, bounds)
    followed = np.flatnonzero(is_ccd[ways.rows])
    if parts.is_bent:
        followed = followed[np.argsort(ways.since[followed], kind="stable")]
    known = no_impacts(places.shape[1])
    begin, count = 0, _FIRST_PORTION if parts.is_bent else len(followed)
    while begin < len(followed):
        portion = followed[begin : begin + count]
        begin, count = begin + count, min(2 * count, _LARGEST_PORTION)
        first, second, offsets = _candidates(parts, pieces, portion, is_ccd, bounds)
        if len(known.pairs):  # later parts are of no interest to pairs that have met before
            before = known.pairs[known.times <= ways.since[portion[0]]]
            pairs = np.sort(np.stack([parts.rows_of(first), parts.rows_of(second)], axis=1), axis=1)
            fresh = ~np.isin(keys_of(pairs), keys_of(before))
            first, second, offsets = first[fresh], second[fresh], offsets[fresh]
        found = _meetings_of(parts, shapes, first, second, offsets, allows, numbers)
        known = _earliest(
            np.concatenate([known.pairs, found.pairs]),
            np.concatenate([known.times, found.times]),
            np.concatenate([known.normals, found.normals]),
        )
    return known if numbers is None else known._replace(pairs=numbers[known.pairs])


def _meetings_of(
    parts: Parts,
    shapes: Shapes,
    first: Numbers,
    second: Numbers,
    offsets: Floats,
    allows: Callable[[Rows, Rows], NDArray[np.bool_]] | None,
    numbers: Rows | None,
) -> Impacts:
    """Find when parts meet, in any order; a pair of rows may be there several times."""
    nothing = no_impacts(offsets.shape[1])
    if not len(first):
        return nothing
    rows, others = parts.rows_of(first), parts.rows_of(second)
    swap = rows > others
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    rows, others = np.where(swap, others, rows), np.where(swap, rows, others)
    offsets[swap] *= -1
    kept = rows != others
    if allows is not None:
        kept &= allows(*(which if numbers is None else numbers[which] for which in (rows, others)))
    starts, ends = parts.times_of(first), parts.times_of(second)
    since, until = np.maximum(starts[0], ends[0]), np.minimum(starts[1], ends[1])
    kept &= since <= until
    first, second, rows, others, offsets = first[kept], second[kept], rows[kept], others[kept], offsets[kept]
    since, until = since[kept], until[kept]

    shift, motion = parts.between(first, rows, since, until)
    other_shift, other_motion = parts.between(second, others, since, until)
    motion -= other_motion
    offsets += other_shift - shift
    begin, end = _times_of_boxes(parts.row_boxes[rows], parts.row_boxes[others], motion, offsets)
    kept = begin <= end
    if not kept.any():
        return nothing
    rows, others, motion, offsets = rows[kept], others[kept], motion[kept], offsets[kept]
    since, until, begin, end = since[kept], until[kept], begin[kept], end[kept]
    offsets -= motion * begin[:, np.newaxis]
    one, other = (which if numbers is None else numbers[which] for which in (rows, others))
    times, normals = impacts(shapes, shapes, one, other, motion * (end - begin)[:, np.newaxis], offsets)
    kept = np.isfinite(times)
    times = since + (until - since) * (begin + (end - begin) * times)
    pairs = np.stack([rows[kept], others[kept]], axis=1)
    return Impacts(pairs, np.minimum(times[kept], 1.0), normals[kept])


def _earliest(pairs: Rows, times: Floats, normals: Floats) -> Impacts:
    """Keep the first of several impacts of a pair; in lexicographic order."""
    order = np.lexsort((times, pairs[:, 1], pairs[:, 0]))
    pairs = pairs[order]
    earliest = np.append(True, (pairs[1:] != pairs[:-1]).any(axis=1))[: len(pairs)]
    return Impacts(pairs[earliest], times[order][earliest], normals[order][earliest])


class _Pieces(NamedTuple):
    """What is searched for: parts, or pieces of them, and in a periodic world all their images that are needed."""

    parts: Numbers
    boxes: Floats
    times: Floats | None  # from when to when, shape (k, 2); None where that is the same for all
    worlds: Numbers | None  # how many worlds away from its part each is; None where there are no images


def _pieces_of(parts: Parts, bounds: Floats | None) -> _Pieces:
    of, boxes, times = np.arange(len(parts.boxes)), parts.boxes, None
    if parts.is_bent:
        of, boxes, times = _cut_up(parts)
    if bounds is None:
        return _Pieces(of, boxes, times, None)
    there = np.concatenate([parts.is_plain, np.ones(len(parts.ways.rows), np.bool_)])
    images = images_around(boxes, bounds, there[of].view(np.uint8))
    alone = np.delete(np.arange(len(of)), images.boxes_of)
    every = np.concatenate([alone, images.boxes_of])
    return _Pieces(
        of[every],
        np.concatenate([boxes[alone], images.boxes]),
        None if times is None else times[every],
        np.concatenate([np.zeros((len(alone), len(bounds[0])), np.int64), images.worlds]),
    )


def _cut_up(parts: Parts) -> tuple[Numbers, Floats, Floats]:
    """Cut up parts that go askew; give the part, the box and the times of each piece, those of rows first."""
    ways, n = parts.ways, parts.count
    motion, sizes = ways.motion, parts.row_boxes[ways.rows, 1] - parts.row_boxes[ways.rows, 0]
    across = np.sort(np.abs(motion), axis=1)[:, -2]
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.nan_to_num(across / (_LENGTH_OF_PIECES * sizes.max(axis=1)), nan=1.0)
    counts = np.clip(np.ceil(wanted), 1, _MOST_PIECES).astype(np.int64)
    of = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    begin, end = (((place + more) / counts[of])[:, np.newaxis] for more in (0, 1))
    # Between two boxes, each with the slack of the whole part.
    around, back = parts.boxes[n:][of], motion[of]
    low, high = around[:, 0] - np.minimum(back, 0.0), around[:, 1] - np.maximum(back, 0.0)
    slack = _SLACK * (np.abs(low) + np.abs(high) + np.abs(back))
    boxes = np.stack(
        [low + np.minimum(back * begin, back * end) - slack, high + np.maximum(back * begin, back * end) + slack], 1
    )
    long = (ways.until - ways.since)[of][:, np.newaxis]
    times = ways.since[of][:, np.newaxis] + long * np.concatenate([begin, end], axis=1)
    times += _SLACK * np.array([-1.0, 1.0])
    whole = np.tile([0.0, 1.0], (n, 1))
    return (
        np.concatenate([np.arange(n), n + of]),
        np.concatenate([parts.boxes[:n], boxes]),
        np.concatenate([whole, times]),
    )


def _candidates(
    parts: Parts, pieces: _Pieces, portion: Numbers, is_ccd: NDArray[np.bool_], bounds: Floats | None
) -> tuple[Numbers, Numbers, Floats]:
    """Find pairs of parts whose boxes overlap, one of some followed ones, and what brings the second to the first."""
    ways, n = parts.ways, parts.count
    since, until = ways.since[portion].min(), ways.until[portion].max()
    is_meant = np.zeros(len(parts.boxes), np.bool_)
    is_meant[n + portion] = True
    is_then = np.concatenate([parts.is_plain, (ways.since <= until) & (ways.until >= since)])
    one, other = np.flatnonzero(is_meant[pieces.parts]), np.flatnonzero(is_then[pieces.parts])
    boxes, other_boxes = pieces.boxes[one], pieces.boxes[other]
    if pieces.times is not None:  # time as one more axis: parts of one way, and of two, are seldom there at once
        boxes, other_boxes = (
            np.concatenate([some, pieces.times[which][:, :, np.newaxis]], axis=2)
            for some, which in ((boxes, one), (other_boxes, other))
        )
    found = box_pairs(boxes, other_boxes)
    one, other = one[found[:, 0]], other[found[:, 1]]
    first, second = pieces.parts[one], pieces.parts[other]
    # Two followed parts are found from both.
    kept = (second > first) | (second < n)
    kept[~kept] = ~is_ccd[ways.rows[second[~kept] - n]]
    first, second, one, other = first[kept], second[kept], one[kept], other[kept]
    dimension = parts.places.shape[1]
    if bounds is None and not parts.is_bent:
        return first, second, np.zeros((len(first), dimension))
    # Several pieces, and images at both sides, find the same.
    count = len(parts.boxes)
    keys = first * count + second
    if bounds is None or pieces.worlds is None:
        keys = np.unique(keys)
        return keys // count, keys % count, np.zeros((len(keys), dimension))
    worlds = pieces.worlds[other] - pieces.worlds[one]
    order = np.lexsort(np.vstack([worlds.T, keys]))
    keys, worlds = keys[order], worlds[order]
    fresh = np.append(True, (keys[1:] != keys[:-1]) | (worlds[1:] != worlds[:-1]).any(axis=1))[: len(keys)]
    keys, worlds = keys[fresh], worlds[fresh]
    return keys // count, keys % count, worlds * (bounds[1] - bounds[0])


def _times_of_boxes(a: Floats, b: Floats, motion: Floats, offsets: Floats) -> tuple[Floats, Floats]:
    """Say from when to when boxes overlap, as shares of the motion of the first, and never too short.

    Where the begin is behind the end, they never do.
    """
    slack = np.abs(a).max(axis=1) + np.abs(b).max(axis=1) + np.abs(offsets) + np.abs(motion)
    slack *= _SLACK
    low = b[:, 0] + offsets - a[:, 1] - slack
    high = b[:, 1] + offsets - a[:, 0] + slack
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        one, other = low / motion, high / motion
    still = motion == 0
    one[still] = np.where((low <= 0) & (high >= 0), -np.inf, np.inf)[still]
    other[still] = np.inf
    begin = np.minimum(one, other).max(axis=1, initial=0.0)
    end = np.maximum(one, other).min(axis=1, initial=1.0)
    return begin, end


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
