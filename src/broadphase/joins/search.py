"""Rows of two tables that overlap, or are nearest: of their intervals, or boxes, and keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from broadphase import _native
from broadphase.joins.nearest_boxes import nearest_boxes
from broadphase.joins.nearest_intervals import Wanted, nearest_interval, nearest_intervals
from broadphase.searches import iter_pairs, pair_limit, pairs
from broadphase.tables.corners import Axis, axis_of, filled_axis, holds_exactly, require_intervals
from broadphase.tables.keys import NO_KEY, keys_of_rows, take_key
from broadphase.tables.meeting import Meeting, Rule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.tables.libraries import Table

    Rows = NDArray[np.int32]
    Keys = list[NDArray[np.uint32] | None]

__all__ = ["SIDES", "Ends", "Search", "Share"]

SIDES = ("left", "right")
_MOST_PAIRS = 1 << 23  # that are compared with their lengths at a time: some hundred bytes each

#: Of each axis, the columns of lower and of upper corners: in the left, and in the right table.
Ends = list[tuple[tuple[str, str], tuple[str, str]]]


@dataclass(frozen=True)
class Share:
    """The least part of a row that has to lie in the other one: of the left row, the right one, or each of them."""

    of: Literal["left", "right", "both"]
    fraction: float


@dataclass(frozen=True)
class Search:
    """The intervals, or boxes, and keys of two tables: of one, twice. Rows without a key are in no pair."""

    axes: list[Axis]
    ends: Ends
    keys: Keys
    key_count: int
    is_one: bool
    rule: Rule
    share: Share | None = None

    @classmethod
    def of(cls, tables: Sequence[Table], ends: Ends, by: list[tuple[str, str]], is_one: bool, missing: str) -> Search:
        """Read the columns; the rule is that of closed intervals."""
        axes = [axis_of(tables, lower, upper, missing == "unbounded") for lower, upper in ends]
        keys, key_count = keys_of_rows(tables, by, axes)
        return cls(axes, ends, keys, key_count, is_one, Rule.plain(len(axes)))

    def pairs(self, workers: int, limit: int) -> Rows:
        """Return rows of the left and the right table that overlap, in order."""
        if self.share is None:
            return self._all_pairs(workers, limit)
        parts = [np.empty((0, 2), np.int32)]
        for found in self._chunks(workers):
            parts.append(self._sharing(found))
            limit -= len(parts[-1])
            if limit < 0:
                raise _native.TooManyPairs
        rows = np.concatenate(parts)
        return rows if len(self.axes) == 1 else rows[np.lexsort((rows[:, 1], rows[:, 0]))]

    def counts(self, workers: int) -> NDArray[np.int64]:
        """Return how many rows of the right table overlap each of the left one; a row itself is not counted."""
        if len(self.axes) == 1 and self.share is None:
            counts = self._counts_of_axis()
            return counts - (counts > 0) if self.is_one else counts
        counts = np.zeros(self._height(0), np.int64)
        for found in self._chunks(workers):
            if self.share is None:
                for rows in (found[:, 0], found[:, 1]) if self.is_one else (found[:, 0],):
                    counts += np.bincount(rows, minlength=len(counts))
                continue
            # Of one table, each row of a pair counts the other if this shares enough with it.
            for both in (found, found[:, ::-1]) if self.is_one else (found,):
                counts += np.bincount(self._sharing(both)[:, 0], minlength=len(counts))
        return counts

    def have_partners(self, workers: int) -> NDArray[np.bool_]:
        """Return which rows of the left table overlap some row of the right one, other than themselves."""
        return self.counts(workers) > 0

    def nearest(self, wanted: Wanted, workers: int, limit: int) -> tuple[Rows | None, Rows, NDArray[Any]]:
        """Return rows of the left table (None: each once), the nearest rows of the right one, and the gaps.

        A row of the left table without any is there once, with -1.
        """
        if len(self.axes) > 1:
            offsets, found, gaps = self._nearest_boxes(wanted, workers, limit)
        else:
            moved = None if self.rule.closed == "both" else self._moved_columns
            columns = _columns(self.axes[0].values, self.keys)
            if wanted.k == 1 and not wanted.with_ties:
                return None, *self._checked(nearest_interval, columns, moved, self.key_count, wanted)
            offsets, found, gaps = self._checked(nearest_intervals, columns, moved, self.key_count, wanted, limit)
        counts = np.diff(offsets)
        first = np.repeat(np.arange(len(counts), dtype=np.int32), np.maximum(counts, 1))
        is_there = np.repeat(counts > 0, np.maximum(counts, 1))
        second, distances = np.full(len(first), -1, np.int32), np.zeros(len(first), gaps.dtype)
        second[is_there], distances[is_there] = found, gaps
        return first, second, distances

    def _moved_columns(self) -> list[tuple[Any, Any, Any]]:
        return _columns(self._moved().numbers(), self.keys)

    def _moved(self) -> Meeting:
        return Meeting(self.axes, self.rule, None, self._require)

    def _nearest_boxes(self, wanted: Wanted, workers: int, limit: int) -> Any:
        if wanted.direction != "both":
            raise ValueError(f"direction={wanted.direction!r} is for one axis, not {len(self.axes)}")
        for axis in self.axes:
            if axis.family not in ("number", "null"):
                raise TypeError(
                    f"{axis.title} holds times ({axis.family}): along several axes, distances are those of numbers"
                )
            if axis.values[0].dtype.kind != "f":
                plain = [x if far is None else x[~far] for x, far in zip(axis.values, axis.endless, strict=True)]
                if not holds_exactly(plain):
                    raise ValueError(f"{axis.title}: along several axes, distances are of numbers up to 2**53")
        self._require()
        values = []
        for axis in self.axes:
            floats = [x.astype(np.float64) for x in axis.values]
            values.append(filled_axis(axis, floats).values)
        left, right = _boxes_of(values)
        overlapping = None if self.rule.closed == "both" else _boxes_of(self._moved().floats())
        try:
            return nearest_boxes(
                left, right, overlapping, self.keys, wanted.k, wanted.with_ties, float(wanted.max_distance), workers,
                limit,
            )  # fmt: skip
        except OverflowError:
            raise _native.TooManyPairs from None

    @cached_property
    def _meeting(self) -> Meeting:
        return Meeting(self.axes, self.rule, self.skipped, self._require)

    def skipped(self, side: int) -> NDArray[np.bool_] | None:
        """Return the rows that are in no pair."""
        keys = self.keys[side]
        return None if keys is None else keys == NO_KEY

    def _height(self, side: int) -> int:
        return len(self.axes[0].values[2 * side])

    def _keys(self) -> Keys:
        """Return the keys of the rows, of which those that are too short to share what they must have none."""
        keys = [None if x is None else x.copy() for x in self.keys] if any_there(self._meeting.short) else self.keys
        for side, short in enumerate(self._meeting.short):
            take_key(keys, side, short, self._height(side))
        return keys

    def _checked(self, ask: Any, *arguments: Any) -> Any:
        try:
            return ask(*arguments)
        except _native.InvalidBoxes:
            self._require()
            raise

    def _require(self) -> None:
        """Raise InvalidBoxError for the first invalid row."""
        for side, title in enumerate(SIDES):
            skipped = self.skipped(side)
            for axis, names in zip(self.axes, self.ends, strict=True):
                lower, upper = axis.values[2 * side : 2 * side + 2]
                require_intervals(lower, upper, skipped, title, (names[0][side], names[1][side]))

    def _all_pairs(self, workers: int, limit: int) -> Rows:
        if len(self.axes) == 1:
            first, second = _columns(self._meeting.numbers(), self._keys())
            other = None if self.is_one else second
            rows: Rows = self._checked(
                _native.interval_pairs, first, other, self.key_count, self._meeting.touching, None, workers, True, limit
            )
            return rows
        boxes, numbers, options = self._boxes()
        most = limit if limit < 2**63 else None
        return _renumbered(pairs(*boxes, **options, workers=workers, sort=True, max_pairs=most), numbers)

    def _counts_of_axis(self) -> NDArray[np.int64]:
        """Return how many rows overlap each row of the left table; of one table, also itself."""
        columns = _columns(self._meeting.numbers(), self._keys())
        counts: NDArray[np.int64] = self._checked(
            _native.count_each_interval, *columns, self.key_count, self._meeting.touching
        )
        return counts

    def _chunks(self, workers: int) -> Iterator[Rows]:
        """Yield the pairs, so many at a time as do not fill the memory; of intervals in order."""
        if len(self.axes) > 1:
            boxes, numbers, options = self._boxes()
            for found in iter_pairs(*boxes, **options, workers=workers):
                yield _renumbered(found, numbers)
            return
        ends = np.cumsum(self._counts_of_axis())
        total = int(ends[-1]) if len(ends) else 0
        if total <= _MOST_PAIRS:
            yield self._all_pairs(workers, pair_limit(None))
            return
        (lower, upper, keys), second = _columns(self._meeting.numbers(), self._keys())
        stops = np.searchsorted(ends, np.arange(_MOST_PAIRS, total, _MOST_PAIRS), "right")
        begin = 0
        for end in np.unique(np.append(stops, len(ends))).tolist():
            if end == begin:
                continue
            rows = slice(begin, end)
            first = lower[rows], upper[rows], None if keys is None else keys[rows]
            some: Any = _native.interval_pairs(
                first, second, self.key_count, self._meeting.touching, None, workers, True, pair_limit(None)
            )
            some[:, 0] += begin
            yield some[some[:, 0] < some[:, 1]] if self.is_one else some
            begin = end

    def _boxes(self) -> tuple[list[Any], list[Any], dict[str, Any]]:
        """Return the boxes that have keys, of one table or two, their rows (None: all), and options of `pairs`."""
        self._require()
        corners = _boxes_of(self._meeting.floats())
        of_sides = self._keys()
        boxes: list[Any] = []
        rows: list[Any] = []
        keys: list[Any] = []
        for side in range(1 if self.is_one else 2):
            of_side = of_sides[side]
            there = None if of_side is None else np.flatnonzero(of_side != NO_KEY)
            boxes.append(tuple(x if there is None else x[there] for x in corners[side]))
            rows.append(there)
            keys.append(None if of_side is None or there is None else of_side[there].astype(np.int64))
        batch: Any = None
        if keys[0] is not None or keys[-1] is not None:
            filled = [
                np.zeros(len(one[0]), np.int64) if key is None else key for key, one in zip(keys, boxes, strict=True)
            ]
            batch = filled[0] if self.is_one else tuple(filled)
        if self.is_one:
            boxes, rows = [boxes[0], None], [rows[0], rows[0]]
        return boxes, rows, {"batch": batch, "touching": self._meeting.touching}

    def _sharing(self, found: Rows) -> Rows:
        """Return those pairs of rows that share enough."""
        share = self.share
        if share is None or not len(found):
            return found
        enough = np.ones(len(found), np.bool_)
        for side in range(2):
            if share.of in (SIDES[side], "both"):
                enough &= self._shares(found, side) >= share.fraction
        return found[enough]

    def _shares(self, found: Rows, side: int) -> NDArray[np.float64]:
        """Return which part of a row of each pair lies in the other one; all of it, along an axis without length."""
        shares = np.ones(len(found))
        sides = (0, 0) if self.is_one else (0, 1)
        for axis in self.axes:
            lower, upper = (
                [axis.values[2 * at + end][found[:, place]] for place, at in enumerate(sides)] for end in range(2)
            )
            far_lower, far_upper = (
                [_of_rows(axis.endless[2 * at + end], found[:, place]) for place, at in enumerate(sides)]
                for end in range(2)
            )
            is_far = far_lower[0] & far_lower[1] | far_upper[0] & far_upper[1]  # what both share is endless
            shared = _length(np.maximum(*lower), np.minimum(*upper), is_far)
            own = _length(lower[side], upper[side], far_lower[side] | far_upper[side])
            with np.errstate(invalid="ignore", divide="ignore"):
                part = np.divide(shared, own, out=shared)
            part[np.isnan(part)] = 1
            shares *= part
        return shares


def _columns(values: Sequence[Any], keys: Keys) -> list[tuple[Any, Any, Any]]:
    """Return corners and keys for the core."""
    return [(values[2 * side], values[2 * side + 1], keys[side]) for side in range(2)]


def any_there(masks: Sequence[Any]) -> bool:
    """Return whether one of several masks is one."""
    return any(mask is not None for mask in masks)


def _of_rows(mask: Any, rows: Any) -> Any:
    return np.bool_(False) if mask is None else mask[rows]


def _length(lower: NDArray[Any], upper: NDArray[Any], is_far: Any) -> NDArray[np.float64]:
    """Return upper - lower, rounded once; infinite where it is endless."""
    if lower.dtype.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            length: NDArray[np.float64] = upper.astype(np.float64) - lower.astype(np.float64)
    else:  # which wraps around to the true difference
        length = (upper.astype(np.int64).view(np.uint64) - lower.astype(np.int64).view(np.uint64)).astype(np.float64)
    return np.where(is_far, np.inf, length) if np.any(is_far) else length


def _boxes_of(axes: Sequence[Sequence[NDArray[Any]]]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Return lower and upper corners, (n, d), of both tables."""
    corners = [np.stack([values[place] for values in axes], axis=1) for place in range(4)]
    return [(corners[0], corners[1]), (corners[2], corners[3])]


def _renumbered(found: Rows, rows: Sequence[Any]) -> Rows:
    parts = [found[:, side] if of_side is None else of_side[found[:, side]] for side, of_side in enumerate(rows)]
    return np.stack(parts, axis=1).astype(np.int32, copy=False)
