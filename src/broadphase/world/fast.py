"""What fast things touch on their way from one step to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from broadphase.narrow import Impacts
from broadphase.narrow.row_pairs import impacts
from broadphase.pairs import pairs as box_pairs
from broadphase.world.periodic import image_pairs
from broadphase.world.ways import Ways

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.shapes import Shapes

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]
    Numbers = NDArray[np.int64]

__all__ = ["meetings"]

# What rounding may take from a sum of a few numbers, relative to the largest of them.
_SLACK = 2.0**-48


class Parts:
    """All that moves, and all that does not: rows by their numbers, and behind them parts of ways.

    A row that has parts of a way is only there with these. All the others moved straight to where they are.
    """

    def __init__(self, shapes: Shapes, places: Floats, motions: Floats, alive: NDArray[np.bool_], ways: Ways) -> None:
        self.boxes, self.places, self.motions, self.ways = shapes.boxes, places, motions, ways
        self.count = len(places)
        self.is_plain = alive.copy()
        self.is_plain[ways.rows] = False
        moved = np.abs(motions)
        moved[~self.is_plain] = 0.0
        # Column by column: NumPy is slow at rows of two or three numbers.
        self.farthest: Floats = np.array([moved[:, axis].max(initial=0.0) for axis in range(places.shape[1])])
        begin = self.boxes[ways.rows] + (ways.begin - places[ways.rows])[:, np.newaxis]
        end = begin + ways.motion[:, np.newaxis]
        slack = _SLACK * (np.abs(begin) + np.abs(end) + np.abs(self.boxes[ways.rows])).max(axis=1)
        self.way_boxes = np.stack(
            [np.minimum(begin[:, 0], end[:, 0]) - slack, np.maximum(begin[:, 1], end[:, 1]) + slack], axis=1
        )

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
    is_fast: NDArray[np.bool_],
    ways: Ways,
    bounds: Floats | None = None,
    allows: Callable[[Rows, Rows], NDArray[np.bool_]] | None = None,
) -> Impacts:
    """Find what touched a fast thing during a step, and when it first did.

    Things move straight, at an even pace, and turned as they are at the end of the step. All move at once: what counts
    is how they move against each other.

    Parameters
    ----------
    shapes : Shapes
        All shapes, where they are after the step.
    places : ndarray, shape (n, d), float64
        Positions of all rows after the step.
    motions : ndarray, shape (n, d), float64
        How far each has moved; not read for rows that are in `ways`.
    alive, is_fast : ndarray, shape (n,), bool
        Which rows there are, and for which of them touching on the way counts.
    ways : Ways
        Of all rows that are fast, and of those whose way is bent.
    bounds : ndarray, shape (2, d), float64, optional
        Of a periodic world.
    allows : callable, optional
        ``allows(first, second)`` says which pairs of rows count, shape (m,).

    Returns
    -------
    Impacts
        Each pair once, first < second, in lexicographic order; times are shares of the step.

    Notes
    -----
    Nothing is missed at any speed: boxes around the ways, rounded outwards, find candidates; each is then narrowed to
    the time in which the boxes overlap, so that the exact test is on numbers of the size of the shapes.
    """
    parts = Parts(shapes, places, motions, alive, ways)
    first, second, offsets = _candidates(parts, is_fast, bounds)
    nothing = Impacts(np.empty((0, 2), np.int32), np.empty(0), np.empty((0, places.shape[1])))
    if not len(first):
        return nothing
    rows, others = parts.rows_of(first), parts.rows_of(second)
    swap = rows > others
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    rows, others = np.where(swap, others, rows), np.where(swap, rows, others)
    offsets[swap] *= -1
    kept = rows != others
    if allows is not None:
        kept &= allows(rows, others)
    starts, ends = parts.times_of(first), parts.times_of(second)
    since, until = np.maximum(starts[0], ends[0]), np.minimum(starts[1], ends[1])
    kept &= since <= until
    first, second, rows, others, offsets = first[kept], second[kept], rows[kept], others[kept], offsets[kept]
    since, until = since[kept], until[kept]

    shift, motion = parts.between(first, rows, since, until)
    other_shift, other_motion = parts.between(second, others, since, until)
    motion -= other_motion
    offsets += other_shift - shift
    begin, end = _times_of_boxes(shapes.boxes[rows], shapes.boxes[others], motion, offsets)
    kept = begin <= end
    if not kept.any():
        return nothing
    rows, others, motion, offsets = rows[kept], others[kept], motion[kept], offsets[kept]
    since, until, begin, end = since[kept], until[kept], begin[kept], end[kept]
    offsets -= motion * begin[:, np.newaxis]
    times, normals = impacts(shapes, shapes, rows, others, motion * (end - begin)[:, np.newaxis], offsets)
    times = since + (until - since) * (begin + (end - begin) * times)

    kept = np.isfinite(times)
    rows, others, times, normals = rows[kept], others[kept], times[kept], normals[kept]
    order = np.lexsort([times, others, rows])
    pairs = np.stack([rows[order], others[order]], axis=1)
    earliest = np.append(True, (pairs[1:] != pairs[:-1]).any(axis=1))[: len(pairs)]
    return Impacts(pairs[earliest], np.minimum(times[order][earliest], 1.0), normals[order][earliest])


def _candidates(parts: Parts, is_fast: NDArray[np.bool_], bounds: Floats | None) -> tuple[Numbers, Numbers, Floats]:
    """Find pairs of parts whose boxes overlap, one of a fast row, and what brings the second to the first."""
    ways, n, d = parts.ways, parts.count, parts.places.shape[1]
    fast = np.flatnonzero(is_fast[ways.rows])
    boxes = parts.way_boxes[fast]
    # The others move, too, and are looked for where they are at the end.
    reach = parts.farthest + _SLACK * (parts.farthest + np.abs(boxes).max(axis=(0, 1), initial=0.0))
    grown = np.stack([boxes[:, 0] - reach, boxes[:, 1] + reach], axis=1)
    plain = box_pairs(grown, parts.boxes).astype(np.int64)
    plain = plain[parts.is_plain[plain[:, 1]]]
    among = box_pairs(boxes, parts.way_boxes).astype(np.int64)
    twice = is_fast[ways.rows[among[:, 1]]] & (among[:, 1] <= fast[among[:, 0]])
    among = among[~twice]
    first = [n + fast[plain[:, 0]], n + fast[among[:, 0]]]
    second = [plain[:, 1], n + among[:, 1]]
    offsets = [np.zeros((len(plain) + len(among), d))]
    if bounds is not None:
        counts = np.zeros(n + len(ways.rows), np.bool_)
        counts[n + fast] = True

        def with_fast(one: Rows, other: Rows) -> NDArray[np.bool_]:
            found: NDArray[np.bool_] = counts[one] | counts[other]
            return found

        around = np.stack([parts.boxes[:, 0] - reach, parts.boxes[:, 1] + reach], axis=1)
        there = np.concatenate([parts.is_plain, np.ones(len(ways.rows), np.bool_)]).view(np.uint8)
        found, way = image_pairs(np.concatenate([around, parts.way_boxes]), bounds, there, with_fast)
        first.append(found[:, 0].astype(np.int64))
        second.append(found[:, 1].astype(np.int64))
        offsets.append(way)
    return np.concatenate(first), np.concatenate(second), np.concatenate(offsets)


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
