"""The nearest boxes to each of some boxes, along two to four axes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.boxes.rounding import boxes_around
from broadphase.index import BVH
from broadphase.tables.keys import NO_KEY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Corners = tuple[NDArray[np.float64], NDArray[np.float64]]

__all__ = ["nearest_boxes"]

# Boxes are searched for a few at a time, and then so many that about 2**22 others have to be tested.
_FEW, _MANY, _MOST_TESTED = 8, 1 << 14, 1 << 22
# Where a box overlaps more others than this on average, the first of them are found in some rows after the other.
_CROWD = 256
_ABOVE = 1 + 2.0**-50  # more than what a distance can be rounded down


def nearest_boxes(
    left: Corners,
    right: Corners,
    overlapping: Sequence[Corners] | None,
    keys: Sequence[NDArray[np.uint32] | None],
    k: int,
    with_ties: bool,
    max_distance: float,
    workers: int,
    limit: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return for each left box where its right ones begin, these by distance, overlap and row, and the distances.

    Distances are those of the nearest points, in float64. `overlapping` are corners of both that overlap, as closed
    boxes, where the rows do; None if all boxes that touch overlap. OverflowError for more than `limit` rows.
    """
    height = len(left[0])
    there = [np.arange(len(one[0])) if of is None else np.flatnonzero(of != NO_KEY)
             for one, of in zip((left, right), keys, strict=True)]  # fmt: skip
    batches: list[Any] = [None, None]
    if any(of is not None for of in keys):
        batches = [np.zeros(len(rows), np.int64) if of is None else of[rows].astype(np.int64)
                   for rows, of in zip(there, keys, strict=True)]  # fmt: skip
    counts = np.zeros(height, np.int64)
    found, gaps = [np.empty(0, np.int32)], [np.empty(0)]
    others = right[0][there[1]], right[1][there[1]]
    if len(there[1]):
        k = min(k, len(there[1]))
        index = BVH(others, batch=batches[1], workers=workers)
        search = _Search(index, others, batches[1], k, with_ties, max_distance, workers)
        begin, size, is_crowded = 0, _FEW, False
        while begin < len(there[0]):
            rows = there[0][begin : begin + size]
            boxes = left[0][rows], left[1][rows]
            batch = None if batches[0] is None else batches[0][begin : begin + size]
            inner = None
            if overlapping is not None:
                inner = [(one[0][of], one[1][of]) for one, of in zip(overlapping, (rows, there[1]), strict=True)]
            of_boxes, near, distances, tested = search.near(boxes, batch, inner, is_crowded)
            counts[rows] = np.bincount(of_boxes, minlength=len(rows))
            limit -= len(near)
            if limit < 0:
                raise OverflowError
            found.append(there[1][near].astype(np.int32))
            gaps.append(distances)
            begin += len(rows)
            size = max(_FEW, min(_MANY, 16 * size, _MOST_TESTED * len(rows) // (tested + 1)))
            is_crowded |= not with_ties and tested > _CROWD * len(rows)
    return np.concatenate(([0], np.cumsum(counts))), np.concatenate(found), np.concatenate(gaps)


@dataclass(frozen=True)
class _Search:
    """The right boxes, and which of them are wanted."""

    index: BVH
    others: Corners
    keys: Any
    k: int
    with_ties: bool
    max_distance: float
    workers: int
    parts: list[BVH] = field(default_factory=list)  # of `first_overlapping`

    def near(
        self, boxes: Corners, batch: Any, inner: Sequence[Corners] | None, is_crowded: bool
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64], int]:
        """Return pairs of a box and one of the index, by box, distance, overlap and row, and their distances.

        Also how many pairs were tested.
        """
        # Some k boxes, those nearest to a point of the box, show how far it is to the k-th at most.
        some = self.index.nearest(_inner_points(*boxes), k=self.k, batch=batch)
        # Of a box that is a point they are the nearest ones, unless some touch it that do not overlap it.
        is_point = np.full(len(some.rows), not self.with_ties)
        if not self.with_ties:
            is_point &= (boxes[0] == boxes[1]).all(axis=1) & np.isfinite(boxes[0]).all(axis=1)
            if inner is not None:
                is_point &= some.distances[:, 0] > 0
        is_wanted = (some.rows >= 0) & (some.distances <= self.max_distance) & is_point[:, np.newaxis]
        first, second, distances = np.nonzero(is_wanted)[0], some.rows[is_wanted], some.distances[is_wanted]
        rest = np.flatnonzero(~is_point)
        tested = len(first)
        for search in (self._first_overlapping, self._within) if is_crowded else (self._within,):
            if not len(rest):
                break
            of_rest, more, farther, count = search(
                (boxes[0][rest], boxes[1][rest]),
                some.rows[rest],
                None if batch is None else batch[rest],
                None if inner is None else [(inner[0][0][rest], inner[0][1][rest]), inner[1]],
            )
            tested += count
            first = np.concatenate((first, rest[of_rest]))
            second, distances = np.concatenate((second, more)), np.concatenate((distances, farther))
            rest = np.setdiff1d(rest, rest[of_rest])
        order = np.argsort(first, kind="stable")
        return first[order], second[order], distances[order], tested

    def _first_overlapping(
        self, boxes: Corners, some: NDArray[np.int32], batch: Any, inner: Sequence[Corners] | None
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64], int]:
        """Return what `near` does, of those boxes that overlap k others or more: the first k of these."""
        rest, counts, tested = np.arange(len(some)), np.zeros(len(some), np.int64), 0
        firsts, seconds = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        begin, size = 0, _CROWD
        for part in range(len(self.others[0])):
            if not len(rest) or begin >= len(self.others[0]):
                break
            rows = slice(begin, begin + size)
            if part == len(self.parts):
                corners = self.others[0][rows], self.others[1][rows]
                keys = None if self.keys is None else self.keys[rows]
                self.parts.append(BVH(corners, batch=keys, workers=self.workers))
            near = self.parts[part].query(
                (boxes[0][rest], boxes[1][rest]), batch=None if batch is None else batch[rest]
            )
            first, second = np.repeat(rest, near.counts), near.rows.astype(np.int64) + begin
            tested += len(first)
            if inner is not None:
                overlap = ~_touching(inner, first, second, np.zeros(len(first)))
                first, second = first[overlap], second[overlap]
            order = np.lexsort((second, first))
            first, second = first[order], second[order]
            place = np.arange(len(first)) - np.searchsorted(first, first)
            is_wanted = place < self.k - counts[first]
            firsts.append(first[is_wanted])
            seconds.append(second[is_wanted])
            counts += np.bincount(firsts[-1], minlength=len(counts))
            rest = rest[counts[rest] < self.k]
            begin, size = begin + size, 8 * size
        first, second = np.concatenate(firsts), np.concatenate(seconds)
        order = np.argsort(first, kind="stable")[counts[np.sort(first)] == self.k]
        return first[order], second[order], np.zeros(len(order)), tested

    def _within(
        self, boxes: Corners, some: NDArray[np.int32], batch: Any, inner: Sequence[Corners] | None
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64], int]:
        """Return what `near` does, of boxes and some k others of each, by all boxes as near as these."""
        is_found = some >= 0
        of_some = np.nonzero(is_found)[0]
        reach = np.zeros(len(some))
        np.maximum.at(reach, of_some, _distances(boxes, self.others, of_some, some[is_found]))
        reach = np.minimum(np.where(is_found.all(axis=1), reach, np.inf), self.max_distance)
        with np.errstate(over="ignore", under="ignore"):
            far = np.minimum(reach * _ABOVE, np.finfo(np.float64).max)
        around = boxes_around(boxes[0], far[:, np.newaxis], boxes[1])
        around[np.isinf(reach)] = np.array([[-np.inf], [np.inf]])
        near = self.index.query(around, batch=batch)
        first, second = np.repeat(np.arange(len(some)), near.counts), near.rows
        tested = len(second)
        distances = _distances(boxes, self.others, first, second)
        is_near = distances <= reach[first]
        first, second, distances = first[is_near], second[is_near], distances[is_near]
        order = np.lexsort((second, _touching(inner, first, second, distances), distances, first))
        first, second, distances = first[order], second[order], distances[order]
        begins = np.searchsorted(first, np.arange(len(some)))
        place = np.arange(len(first)) - begins[first]
        is_wanted = place < self.k
        if self.with_ties:
            last = np.minimum(begins + self.k, np.append(begins[1:], len(first))) - 1
            is_wanted |= distances == distances[last[first]]
        return first[is_wanted], second[is_wanted], distances[is_wanted], tested


def _touching(
    inner: Sequence[Corners] | None, first: NDArray[Any], second: NDArray[Any], distances: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return which pairs touch without overlapping."""
    touching = np.zeros(len(first), np.bool_)
    if inner is not None:
        (lower, upper), (other_lower, other_upper) = inner
        touching = distances == 0
        one, other = first[touching], second[touching]
        overlap = (lower[one] <= other_upper[other]) & (other_lower[other] <= upper[one])
        touching[touching] = ~overlap.all(axis=1)
    return touching


def _inner_points(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a finite point of each box; of a box at infinity, the outermost one."""
    most = np.finfo(np.float64).max
    low, high = np.clip(lower, -most, most), np.clip(upper, -most, most)
    is_long = np.isinf(lower) | np.isinf(upper)
    ends = np.where(np.isinf(lower), np.where(np.isinf(upper), np.clip(0, low, high), high), low)
    return np.where(is_long, ends, low / 2 + high / 2)


def _distances(boxes: Corners, others: Corners, first: Any, second: Any) -> NDArray[np.float64]:
    gaps = np.empty((boxes[0].shape[1], len(first)))
    # Of boxes that begin or end at infinity, or are farther apart than any number.
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        for axis, gap in enumerate(gaps):
            behind = others[0][second, axis] - boxes[1][first, axis]
            before = boxes[0][first, axis] - others[1][second, axis]
            np.fmax(np.fmax(behind, before), 0, out=gap)
        # By powers of two, which round nothing, the largest gap comes near 1, so that its square is a number. Squares
        # of small whole numbers are exact, so that equal distances are equal; those of hypot would not be.
        exponents = np.frexp(gaps.max(axis=0))[1]
        gaps = np.ldexp(gaps, -exponents)
        squares = gaps[0] * gaps[0]
        for gap in gaps[1:]:
            squares += gap * gap
        distances: NDArray[np.float64] = np.ldexp(np.sqrt(squares), exponents)
    return distances
