"""The nearest boxes to each of some boxes, along two to four axes."""

from __future__ import annotations

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

_ROWS = 1 << 14  # boxes that are searched for at a time: what may be near them all is in memory
_ABOVE = 1 + 2.0**-50  # more than what a distance can be rounded down


def nearest_boxes(
    left: Corners,
    right: Corners,
    overlapping: Sequence[Corners] | None,
    keys: Sequence[NDArray[np.uint32] | None],
    k: int,
    with_ties: bool,
    max_distance: float,
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
        index = BVH(others, batch=batches[1])
        for begin in range(0, len(there[0]), _ROWS):
            rows = there[0][begin : begin + _ROWS]
            boxes = left[0][rows], left[1][rows]
            batch = None if batches[0] is None else batches[0][begin : begin + _ROWS]
            inner = None
            if overlapping is not None:
                inner = [tuple(x[of] for x in one) for one, of in zip(overlapping, (rows, there[1]), strict=True)]
            of_boxes, near, distances = _nearest_of(index, boxes, others, inner, batch, k, with_ties, max_distance)
            counts[rows] = np.bincount(of_boxes, minlength=len(rows))
            limit -= len(near)
            if limit < 0:
                raise OverflowError
            found.append(there[1][near].astype(np.int32))
            gaps.append(distances)
    return np.concatenate(([0], np.cumsum(counts))), np.concatenate(found), np.concatenate(gaps)


def _nearest_of(
    index: BVH, boxes: Corners, others: Corners, inner: Any, batch: Any, k: int, with_ties: bool, max_distance: float
) -> tuple[Any, Any, NDArray[np.float64]]:
    """Return pairs of a box and one of the index, by box, distance, overlap and row, and their distances."""
    # Some k boxes, those nearest to a point of the box, show how far it is to the k-th at most.
    some = index.nearest(_inner_points(*boxes), k=k, batch=batch).rows
    is_found = some >= 0
    of_some = np.repeat(np.arange(len(some)), is_found.sum(axis=1))
    reach = np.zeros(len(some))
    np.maximum.at(reach, of_some, _distances(boxes, others, of_some, some[is_found]))
    reach = np.minimum(np.where(is_found.all(axis=1), reach, np.inf), max_distance)
    # All boxes as near as that are among those that overlap the box with a margin.
    with np.errstate(over="ignore", under="ignore"):
        far = np.minimum(reach * _ABOVE, np.finfo(np.float64).max)
    around = boxes_around(boxes[0], far[:, np.newaxis], boxes[1])
    around[np.isinf(reach)] = np.array([[-np.inf], [np.inf]])
    near = index.query(around, batch=batch)
    first = np.repeat(np.arange(len(some)), near.counts)
    second = near.rows
    distances = _distances(boxes, others, first, second)
    is_near = distances <= reach[first]
    first, second, distances = first[is_near], second[is_near], distances[is_near]
    if inner is None:
        order = np.lexsort((second, distances, first))
    else:
        (lower, upper), (other_lower, other_upper) = inner
        touches = distances == 0
        pair = first[touches], second[touches]
        meet = (lower[pair[0]] <= other_upper[pair[1]]) & (other_lower[pair[1]] <= upper[pair[0]])
        touches[touches] = ~meet.all(axis=1)
        order = np.lexsort((second, touches, distances, first))
    first, second, distances = first[order], second[order], distances[order]
    begins = np.searchsorted(first, np.arange(len(some)))
    place = np.arange(len(first)) - begins[first]
    if with_ties:
        last = np.minimum(begins + k, np.append(begins[1:], len(first))) - 1
        is_wanted = (place < k) | (distances == distances[last[first]])
    else:
        is_wanted = place < k
    return first[is_wanted], second[is_wanted], distances[is_wanted]


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
