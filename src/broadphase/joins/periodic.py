"""Rows of two tables that overlap where axes repeat: of time of day, the week, or longitudes.

Each row begins in one period, counted from 0, and ends in the same or the next. A row that reaches the next one is also
there a period earlier, as a copy. So two rows overlap in the periodic axis where they, or copies, do in a plain one.

Corners become whole numbers, in which a period is whole too, so that no comparison is rounded. Integers are reduced as
they are. Of floating-point numbers, the remainder is exact, and the sum of a negative one and the period is a pair of
floats; ranks take their place, since the order of corners and of their images decides what overlaps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.errors import InvalidBoxError
from broadphase.joins.search import SIDES, Search
from broadphase.searches import pair_limit
from broadphase.tables.corners import Axis, holds_exactly, require_intervals
from broadphase.tables.lengths import length_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from broadphase.joins.search import Rows

    Mask = NDArray[np.bool_] | None
    Whole = NDArray[np.int64]

__all__ = ["PeriodicSearch", "periods_along"]

_MOST_PERIOD = 1 << 61
_MOST_TURNS = 2.0**50  # periods from 0, up to which quotients are the right whole numbers


def periods_along(given: Any, axes: Sequence[Axis]) -> list[Fraction | None]:
    """Return the period along each axis, in its unit, or None for an axis that does not repeat.

    >>> periods_along((24, None), [Axis([], [], "number", "", "left, column 'x'")] * 2)
    [Fraction(24, 1), None]
    """
    several = list(given) if isinstance(given, list | tuple | np.ndarray) else [given] * len(axes)
    if len(several) != len(axes):
        raise ValueError(
            f"period has {len(several)} lengths, and there are {len(axes)} axes: give one for each, or None"
        )
    periods: list[Fraction | None] = []
    for one, axis in zip(several, axes, strict=True):
        length = None if one is None else length_of(one, "period", axis)
        if length == 0:
            raise ValueError(f"period must be above 0, or None along an axis that does not repeat, not {one}")
        periods.append(length if isinstance(length, Fraction) else None)
    return periods


@dataclass(frozen=True)
class PeriodicSearch:
    """A search in rows and their copies: `rows` are those of both tables of which they are."""

    search: Search
    rows: list[Rows]
    heights: list[int]
    is_one: bool

    @classmethod
    def of(cls, search: Search, periods: Sequence[Fraction | None]) -> PeriodicSearch:
        """Reduce the axes that repeat; InvalidBoxError and ValueError name a row that has no place in a period."""
        heights = [len(search.axes[0].values[2 * side]) for side in range(2)]
        skipped = [search.skipped(side) for side in range(2)]
        reduced = [
            (axis, None) if period is None else _reduced(axis, period, skipped, names)
            for axis, names, period in zip(search.axes, search.ends, periods, strict=True)
        ]
        values = [list(axis.values) for axis, _ in reduced]
        rows = [np.arange(height, dtype=np.int32) for height in heights]
        for side in range(2):
            corners = slice(2 * side, 2 * side + 2)
            for place, (_, length) in enumerate(reduced):
                if length is None:
                    continue
                crossing = np.flatnonzero(values[place][2 * side + 1] >= length)
                for axis, numbers in enumerate(values):
                    step = length if axis == place else 0
                    numbers[corners] = [np.concatenate((x, x[crossing] - step)) for x in numbers[corners]]
                rows[side] = np.concatenate((rows[side], rows[side][crossing]))
        axes = [
            replace(
                axis,
                values=numbers,
                missing=[None] * 4,
                endless=tuple(None if x is None else x[rows[at // 2]] for at, x in enumerate(axis.endless)),
            )
            for (axis, _), numbers in zip(reduced, values, strict=True)
        ]
        keys = [None if of_side is None else of_side[of] for of_side, of in zip(search.keys, rows, strict=True)]
        return cls(replace(search, axes=axes, keys=keys, is_one=False), rows, heights, search.is_one)

    def pairs(self, workers: int, limit: int) -> Rows:
        """Return rows of the left and the right table that overlap, in order, each pair once."""
        # Of each pair there are at most four times as many for each axis, and of one table also the reverse, and rows
        # with themselves.
        most = 2 * 4 ** len(self.search.axes) * (limit + sum(self.heights))
        found = self.search.pairs(workers, min(most, pair_limit(None)))
        is_copied = (found[:, 0] >= self.heights[0]) | (found[:, 1] >= self.heights[1])
        pairs, more = found[~is_copied], found[is_copied]
        if self.is_one:
            pairs = pairs[pairs[:, 0] < pairs[:, 1]]
        if len(more):
            more = np.stack([of[more[:, side]] for side, of in enumerate(self.rows)], axis=1)
            pairs = self._merged(pairs, more[more[:, 0] < more[:, 1]] if self.is_one else more)
        if len(pairs) > limit:
            raise _native.TooManyPairs
        return pairs

    def _merged(self, pairs: Rows, more: Rows) -> Rows:
        """Return pairs in order, and others that are not among them."""
        height = max(self.heights[1], 1)
        known: Whole = pairs[:, 0] * np.int64(height) + pairs[:, 1]
        others, one_of = np.unique(more[:, 0] * np.int64(height) + more[:, 1], return_index=True)
        places: Whole = np.asarray(np.searchsorted(known, others))
        is_new = np.ones(len(others), np.bool_)
        inside = places < len(known)
        is_new[inside] = known[places[inside]] != others[inside]
        merged: Rows = np.insert(pairs, places[is_new], more[one_of[is_new]], axis=0)
        return merged

    def counts(self, workers: int) -> Whole:
        """Return how many rows of the right table overlap each of the left one; a row itself is not counted."""
        pairs = self.pairs(workers, pair_limit(None))
        counts = np.bincount(pairs[:, 0], minlength=self.heights[0])
        return counts + np.bincount(pairs[:, 1], minlength=self.heights[0]) if self.is_one else counts

    def have_partners(self, workers: int) -> NDArray[np.bool_]:
        """Return which rows of the left table overlap some row of the right one, other than themselves."""
        if self.is_one:
            return self.counts(workers) > 0
        have = np.zeros(self.heights[0], np.bool_)
        have[self.rows[0][self.search.have_partners(workers)]] = True
        return have


def _reduced(
    axis: Axis, period: Fraction, skipped: Sequence[Mask], names: tuple[tuple[str, str], tuple[str, str]]
) -> tuple[Axis, int]:
    """Return an axis of whole numbers in which rows begin in [0, length), and that length."""
    corners = [_cleared(x, (skipped[place // 2], axis.endless[place])) for place, x in enumerate(axis.values)]
    if _is_reducible(corners, period):
        length = period.numerator
        parts = [x.astype(np.int64) * period.denominator for x in corners]
        places, turns = [x % length for x in parts], [x // length for x in parts]
    else:
        places, turns, length = _ranked(corners, period, axis.title)
    values: list[NDArray[Any]] = []
    for side in range(2):
        both = slice(2 * side, 2 * side + 2)
        lower, upper = axis.values[both]
        begin, end = places[both]
        is_all = np.isinf(lower) | np.isinf(upper) if lower.dtype.kind == "f" else np.zeros(len(lower), np.bool_)
        _require_placed(lower, upper, is_all, skipped[side], side)
        for mask in axis.endless[both]:
            is_all = is_all if mask is None else is_all | mask
        # A row that is longer than a period is everywhere, as one that is a little longer.
        size = np.clip(turns[both][1] - turns[both][0], -2, 2) * length + (end - begin)
        is_back = (upper < lower) & (size > -length) & ~is_all
        size[is_back] += length
        require_intervals(
            lower, np.where(is_back, lower, upper), skipped[side], SIDES[side], (names[0][side], names[1][side])
        )
        begin, size = np.where(is_all, 0, begin), np.where(is_all, length + 1, np.clip(size, 0, length + 1))
        values += [begin, begin + size]
    return replace(axis, values=values, endless=(None,) * 4, family="number", unit=""), length


def _cleared(values: NDArray[Any], masks: Sequence[Mask]) -> NDArray[Any]:
    """Return corners with 0 where they do not matter, and at infinity, which is checked elsewhere."""
    unused = ~np.isfinite(values) if values.dtype.kind == "f" else np.zeros(len(values), np.bool_)
    for mask in masks:
        unused = unused if mask is None else unused | mask
    return np.where(unused, values.dtype.type(0), values)


def _is_reducible(corners: Sequence[NDArray[Any]], period: Fraction) -> bool:
    """Return whether corners are integers, and in parts of their unit, of which a period is a whole number, too."""
    if corners[0].dtype.kind == "f" or period.numerator >= _MOST_PERIOD:
        return False
    parts = period.denominator
    return parts == 1 or all(not len(x) or max(int(x.max()), -int(x.min())) * parts < _MOST_PERIOD for x in corners)


def _require_placed(
    lower: NDArray[Any], upper: NDArray[Any], is_far: NDArray[np.bool_], skipped: Mask, side: int
) -> None:
    """Raise InvalidBoxError for a point at infinity."""
    bad = is_far & (lower == upper)
    if skipped is not None:
        bad &= ~skipped
    if bad.any():
        row = int(np.argmax(bad))
        raise InvalidBoxError(f"{SIDES[side]}: row {row} is at {lower[row]}, which is nowhere in a period", row)


def _ranked(corners: Sequence[NDArray[Any]], period: Fraction, title: str) -> tuple[list[Whole], list[Whole], int]:
    """Return where in its period each corner is, as ranks, in which period, and how many ranks there are."""
    step = float(period)
    if corners[0].dtype.kind != "f" and not holds_exactly(corners):
        raise ValueError(f"period: {title} holds integers beyond 2**53: give a whole number, below 2**61")
    if Fraction(step) != period:
        raise ValueError(f"period: {title}: float64 cannot hold {period} exactly")
    residues, errors, turns = [], [], []
    for place, values in enumerate(corners):
        floats = values.astype(np.float64)
        residue = np.fmod(floats, step)
        turn = np.rint((floats - residue) / step)
        if (is_far := abs(turn) > _MOST_TURNS).any():
            row = int(np.argmax(is_far))
            raise ValueError(f"{SIDES[place // 2]}: row {row} is at {floats[row]}, more than 2**50 periods from 0")
        total = residue + step
        is_negative = residue < 0
        # Knuth's two-sum, of numbers of which the second is larger.
        error = residue - (total - step)
        residues.append(np.where(is_negative, total, residue + 0.0))
        errors.append(np.where(is_negative, error, 0.0))
        turns.append((turn - is_negative).astype(np.int64))
    sums, rest = np.concatenate(residues), np.concatenate(errors)
    order = np.lexsort((rest, sums)) if rest.any() else np.argsort(sums)
    is_next = np.zeros(len(order), np.int64)
    is_next[1:] = (np.diff(sums[order]) != 0) | (np.diff(rest[order]) != 0)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(is_next)
    places = np.split(ranks, np.cumsum([len(x) for x in residues])[:-1])
    return places, turns, int(ranks.max(initial=0)) + 1
