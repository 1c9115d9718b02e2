"""The nearest intervals to each of some intervals: those that overlap come before those that only touch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from broadphase import _native
from broadphase.tables.keys import NO_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from broadphase.tables.lengths import Length

    #: Lower and upper corners, and the keys of a table.
    Columns = tuple[NDArray[Any], NDArray[Any], NDArray[np.uint32] | None]
    #: Returns corners that overlap as closed intervals where the rows do.
    Moved = Callable[[], Sequence[Columns]]
    #: Where the rows of each left one begin, the rows, and their gaps.
    Near = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]

__all__ = ["Wanted", "nearest_interval", "nearest_intervals"]

_MOST = 2**64 - 1  # a gap of whole numbers, and a number of rows


@dataclass(frozen=True)
class Wanted:
    """Which of the nearest rows are wanted; the distance is in the unit of the axis."""

    k: int
    with_ties: bool
    max_distance: Length
    direction: Literal["both", "backward", "forward"]

    @property
    def sides(self) -> tuple[bool, bool]:
        """Return whether rows may lie before, and behind."""
        return self.direction != "forward", self.direction != "backward"

    @property
    def whole_most(self) -> int:
        """Return the largest distance of whole numbers."""
        return _MOST if math.isinf(self.max_distance) else min(math.floor(self.max_distance), _MOST)


def nearest_interval(
    columns: Sequence[Columns], moved: Moved | None, key_count: int, wanted: Wanted
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the nearest interval of the right columns to each of the left ones, -1 for none, and the gap.

    The first by gap, overlap, begin and row; `moved` is None for closed intervals, which touch only if they overlap.
    """
    rows: NDArray[np.int32]
    rows, gaps = _native.nearest_intervals(columns[0], columns[1], key_count, *wanted.sides)
    if not math.isinf(wanted.max_distance):
        most = wanted.max_distance if gaps.dtype.kind == "f" else wanted.whole_most
        rows[gaps > gaps.dtype.type(most)] = -1
    if moved is not None:
        left = np.flatnonzero((rows >= 0) & (gaps == 0))
        others = moved() if len(left) else columns
        left = left[~_overlap(others, left, rows[left])]
        if len(left):
            found, overlapping = _overlapping(columns, others, key_count, left, 1)
            found, first = np.unique(found, return_index=True)
            rows[found] = overlapping[first]
    return rows, gaps


def nearest_intervals(
    columns: Sequence[Columns], moved: Moved | None, key_count: int, wanted: Wanted, limit: int
) -> Near:
    """Return all that are wanted, in the order of left row, gap, overlap, begin and row.

    ``_native.TooManyPairs`` for more than `limit` rows.
    """
    near: Near = _native.near_intervals(
        columns[0], columns[1], key_count, *wanted.sides, wanted.k, wanted.with_ties, float(wanted.max_distance),
        wanted.whole_most, limit,
    )  # fmt: skip
    offsets, rows, gaps = near
    if moved is None or not (gaps == 0).any():
        return near
    others = moved()
    left = _left_of(offsets)
    touches = (gaps == 0) & ~_overlap(others, left, rows)
    if not touches.any():
        return near
    if wanted.with_ties:  # the same rows, in another order
        order = np.lexsort((touches, gaps, left))
        return offsets, rows[order], gaps[order]
    # For rows with such a neighbor: those that overlap, then the nearest ones, without repeating the former.
    some = np.unique(left[touches])
    found, overlapping = _overlapping(columns, others, key_count, some, wanted.k)
    more = _native.near_intervals(
        _only(columns[0], some), columns[1], key_count, *wanted.sides, 2 * wanted.k, False, float(wanted.max_distance),
        wanted.whole_most, _MOST,
    )  # fmt: skip
    is_kept = ~np.isin(left, some)
    lefts = np.concatenate((left[is_kept], found, _left_of(more[0])))
    rows = np.concatenate((rows[is_kept], overlapping, more[1]))
    gaps = np.concatenate((gaps[is_kept], np.zeros(len(found), gaps.dtype), more[2]))
    order = np.argsort(lefts, kind="stable")
    pairs = lefts[order] * (len(columns[1][0]) + 1) + rows[order]
    order = order[np.sort(np.unique(pairs, return_index=True)[1])]
    place = np.arange(len(order)) - np.searchsorted(lefts[order], lefts[order])
    order = order[place < wanted.k]
    counts = np.bincount(lefts[order], minlength=len(offsets) - 1)
    return np.concatenate(([0], np.cumsum(counts))), rows[order], gaps[order]


def _overlapping(
    columns: Sequence[Columns], others: Sequence[Columns], key_count: int, some: NDArray[Any], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return pairs of some left rows and those that overlap them, by begin and row: the first k of each, or more."""
    lower, upper, _ = columns[1]
    left, rows = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    # Points and longer rows one after the other: among either, moved corners are in the order of the corners.
    for of in (lower == upper, lower < upper):
        if of.any():
            right = _only(others[1], np.flatnonzero(of))
            near = _native.near_intervals(
                _only(others[0], some), right, key_count, True, True, k, False, 0, 0, _MOST
            )  # fmt: skip
            left.append(_left_of(near[0]))
            rows.append(near[1])
    lefts, found = np.concatenate(left), np.concatenate(rows)
    order = np.lexsort((found, lower[found], lefts))
    return lefts[order], found[order]


def _left_of(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def _overlap(columns: Sequence[Columns], left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether rows of both overlap, as closed intervals."""
    (lower, upper, _), (other_lower, other_upper, _) = columns
    overlap: NDArray[np.bool_] = (lower[left] <= other_upper[right]) & (other_lower[right] <= upper[left])
    return overlap


def _only(columns: Columns, rows: NDArray[Any]) -> Columns:
    """Return columns of which only some rows have keys."""
    lower, upper, keys = columns
    some = np.full(len(lower), NO_KEY, np.uint32)
    some[rows] = 0 if keys is None else keys[rows]
    return lower, upper, some
