"""Which intervals meet: ends that belong to them or not, margins and least overlaps, all as closed intervals.

A row of a table is a set of points along each axis: all between its ends, with or without these, or a single point
where both ends are equal. Two rows meet where a point of one is at most a margin away from a point of the other, or
where they share a length. Corners are moved so that comparing them as those of closed intervals decides this exactly:

    a <= d + margin    and    c <= b + margin        of [a, b] and [c, d]

An end that does not belong to its row moves to the next number before it: 1 less, or the next floating-point number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from broadphase.tables.corners import Axis, as_floats, filled_axis, ranks_of
from broadphase.tables.libraries import either, if_any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Mask = NDArray[np.bool_] | None

__all__ = ["CLOSED", "Closed", "Meeting", "Rule"]

Closed: TypeAlias = Literal["both", "left", "right", "neither"]
CLOSED = ("both", "left", "right", "neither")

_NOTHING = Fraction(0)
_SIGN = np.uint64(1 << 63)
_MOST = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class Rule:
    """When rows meet: which ends belong to them, and along each axis how far apart they may be, or what they share."""

    closed: Closed
    margins: Sequence[Fraction]
    shared: Sequence[Fraction]

    @classmethod
    def plain(cls, axis_count: int, closed: Closed = "both") -> Rule:
        """Return the rule without margins and least overlaps."""
        return cls(closed, [Fraction(0)] * axis_count, [Fraction(0)] * axis_count)

    def is_plain(self) -> bool:
        """Return whether only the ends decide."""
        return not any(self.margins) and not any(self.shared)


class Meeting:
    """Intervals along axes, moved so that they are to be compared as closed ones, or as open ones if not `touching`.

    `short` are the rows of each table that are too short to share what they must, or None. Corners are moved for valid
    rows only, which `require` makes sure of, unless they stay where they are. `skipped` tells which rows of a table
    matter to no pair; with None, corners are always moved.
    """

    def __init__(
        self, axes: Sequence[Axis], rule: Rule, skipped: Callable[[int], Mask] | None, require: Callable[[], None]
    ) -> None:
        self.touching = True
        self.short: list[Mask] = [None, None]
        self._axes = list(axes)
        if rule.is_plain():
            if rule.closed == "both":
                return
            # Where no row is a point, open intervals overlap exactly where half-open ones do.
            if skipped is not None and not any(_has_points(axis, skipped) for axis in axes):
                self.touching = False
                return
        require()
        for place, (axis, margin, shared) in enumerate(zip(axes, rule.margins, rule.shared, strict=True)):
            if shared:
                values, short = _shortened(axis, shared)
                self.short = [either(one, two) for one, two in zip(self.short, short, strict=True)]
            else:
                values = _moved(axis, rule.closed, margin)
            self._axes[place] = filled_axis(axis, values)

    def numbers(self) -> list[NDArray[Any]]:
        """Return the lower and upper corners of the left and of the right table along the only axis."""
        return self._axes[0].values

    def floats(self) -> list[list[NDArray[Any]]]:
        """Return them along each axis, as floating-point numbers."""
        return [as_floats(axis) for axis in self._axes]


def _has_points(axis: Axis, skipped: Callable[[int], Mask]) -> bool:
    if any(mask is not None for mask in axis.endless):
        return True  # so that the ends of what is endless stay closed
    for side in range(2):
        lower, upper = axis.values[2 * side : 2 * side + 2]
        points = lower == upper
        if points.any():
            mask = skipped(side)
            if mask is None or (points & ~mask).any():
                return True
    return False


def _open_rows(axis: Axis, side: int) -> NDArray[np.bool_]:
    """Return which rows have a length, so that an end may not belong to them."""
    lower, upper = axis.values[2 * side : 2 * side + 2]
    longer: NDArray[np.bool_] = lower < upper
    endless = either(*axis.endless[2 * side : 2 * side + 2])
    return longer if endless is None else longer | endless


def _moved(axis: Axis, closed: Closed, margin: Fraction) -> list[NDArray[Any]]:
    """Return corners that are compared as closed ones; see the top of this file."""
    values = list(axis.values)
    if closed == "both":
        for place in (1, 3):
            values[place] = _sum_down(values[place], margin)[0]
        return _alike(values)
    is_open = [_open_rows(axis, side) for side in range(2)]
    if closed == "neither" and not all(x.all() for x in is_open):
        return _between(values, is_open, margin)
    for side in range(2):
        if closed == "right":
            lower = _reflected(values[2 * side])
            values[2 * side] = _reflected(_raised(lower, is_open[side], margin))
        else:
            values[2 * side + 1] = _raised(values[2 * side + 1], is_open[side], margin)
    return _alike(values)


def _raised(values: NDArray[Any], is_open: NDArray[np.bool_], margin: Fraction) -> NDArray[Any]:
    total, is_exact = _sum_down(values, margin)
    before: Any = total - 1 if total.dtype.kind != "f" else _next_below(total)
    return np.where(is_open & is_exact, before, total)


def _between(values: list[NDArray[Any]], is_open: list[NDArray[np.bool_]], margin: Fraction) -> list[NDArray[Any]]:
    """Return whole numbers that compare as the corners do: twice each number, so that there is one between any two.

    It stands for lower corners that do not belong to their rows, and for upper ones between two numbers.
    """
    sums = [_sum_down(upper, margin) for upper in values[1::2]]
    numbers = [x for side in range(2) for x in (values[2 * side], sums[side][0])]
    numbers = [x.astype(np.int64) for x in numbers] if _can_be_doubled(numbers) else ranks_of(numbers)
    for side in range(2):
        numbers[2 * side] = 2 * numbers[2 * side] + is_open[side]
        below = np.where(sums[side][1], 1 + is_open[side], 0)
        numbers[2 * side + 1] = 2 * numbers[2 * side + 1] + 1 - below
    return numbers


def _can_be_doubled(numbers: Sequence[NDArray[Any]]) -> bool:
    return all(x.dtype.kind != "f" and (not len(x) or (x.max() < 2**62 and x.min() > -(2**62))) for x in numbers)


def _shortened(axis: Axis, shared: Fraction) -> tuple[list[NDArray[Any]], list[Mask]]:
    """Return corners, the upper ones lowered by a length, and which rows are too short."""
    values, short = list(axis.values), list[Any]()
    if values[0].dtype.kind != "f":
        shared = Fraction(-floor(-shared))
    for side in range(2):
        lower, upper = values[2 * side : 2 * side + 2]
        total, is_exact = _sum_down(upper, -shared)
        reaches = lower <= total
        if total.dtype.kind != "f":
            reaches &= is_exact
        endless = either(*axis.endless[2 * side : 2 * side + 2])
        short.append(if_any(~reaches if endless is None else ~reaches & ~endless))
        values[2 * side + 1] = np.where(reaches, total, upper.astype(total.dtype, copy=False))
    return _alike(values), short


def _sum_down(values: NDArray[Any], step: Fraction) -> tuple[NDArray[Any], Any]:
    """Return numbers and a step added, rounded down, and where that is exact."""
    if step == 0:
        return values, np.bool_(True)
    if values.dtype.kind == "f":
        return _float_sum_down(values.astype(np.float64, copy=False), float(step))
    # As unsigned numbers, which wrap around.
    size = min(abs(floor(step)), 2**64 - 1)
    shifted = values.astype(np.int64).view(np.uint64) ^ _SIGN
    if step > 0:
        total = shifted + np.uint64(size)
        is_beyond = total < shifted
        total[is_beyond] = _MOST
    else:
        total = shifted - np.uint64(size)
        is_beyond = total > shifted
        total[is_beyond] = 0
    return (total ^ _SIGN).view(np.int64), ~is_beyond & (step.denominator == 1)


def _float_sum_down(values: NDArray[np.float64], step: float) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    # Knuth's two-sum gives the exact error of the sum rounded to nearest.
    with np.errstate(over="ignore", invalid="ignore"):
        total = values + step
        part = total - values
        error = (step - part) + (values - (total - part))
    is_whole = np.isfinite(values)
    is_beyond = is_whole & np.isinf(total)
    is_exact = ~is_beyond & ((error == 0) | ~is_whole)
    is_above = (is_beyond & (total > 0)) | (is_whole & ~is_beyond & (error < 0))
    return np.where(is_above, _next_below(total), total), is_exact


def _next_below(values: NDArray[Any]) -> Any:
    with np.errstate(over="ignore", under="ignore"):
        return np.nextafter(values, values.dtype.type(-np.inf))


def _reflected(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers in the opposite order; of whole ones, the complement, so that none is too large."""
    return -values if values.dtype.kind == "f" else ~values


def _alike(values: list[NDArray[Any]]) -> list[NDArray[Any]]:
    dtype = np.result_type(*values)
    return [x.astype(dtype, copy=False) for x in values]
