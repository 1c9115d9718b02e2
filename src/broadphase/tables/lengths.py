"""Margins, least overlaps and distances along axes: numbers, or spans of time in the unit of an axis."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import quoted
from broadphase.tables.corners import UNITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from broadphase.tables.corners import Axis

__all__ = ["Length", "as_lengths", "length_of", "lengths_of"]

#: An exact number, or infinity.
Length = Fraction | float

_SPANS = {"W": 604_800 * 10**9, "h": 3_600 * 10**9, "m": 60 * 10**9} | UNITS  # nanoseconds


def lengths_of(given: Any, what: str, axes: Sequence[Axis]) -> list[Fraction]:
    """Return a finite length along each axis, in its unit: of a list each one, otherwise the same for all.

    Errors name the option, and the column that needs a length of another kind.

    >>> from broadphase.tables.corners import Axis
    >>> lengths_of(2.5, "margin", [Axis([], [], "number", "", "left, column 'x'")])
    [Fraction(5, 2)]
    """
    several = given if isinstance(given, list) else [given] * len(axes)
    if len(several) != len(axes):
        raise ValueError(f"{what} has {len(several)} lengths, and there are {len(axes)} axes")
    lengths = []
    for one, axis in zip(several, axes, strict=True):
        length = length_of(one, what, axis)
        if not isinstance(length, Fraction):
            raise ValueError(f"{what} must be finite, not {one}")
        lengths.append(length)
    return lengths


def length_of(given: Any, what: str, axis: Axis) -> Length:
    """Return a length along an axis, in its unit, or infinity."""
    is_time = axis.family not in ("number", "null")
    span = _nanoseconds(given, what)
    if span is not None:
        if axis.family == "number":
            raise TypeError(f"{what}: {axis.title} holds numbers: give a number, not {quoted(given)}")
        length: Length = Fraction(span, UNITS.get(axis.unit, 1))
    elif isinstance(given, bool | np.bool_) or not isinstance(given, int | float | np.integer | np.floating | Fraction):
        kinds = "a number or a timedelta" if axis.family == "null" else "a timedelta" if is_time else "a number"
        raise TypeError(f"{what} must be {kinds}, not {quoted(given)}")
    elif math.isnan(given):
        raise ValueError(f"{what} must be at least 0, not {given}")
    elif is_time and given != 0 and not math.isinf(given):
        raise TypeError(f"{what}: {axis.title} holds times ({axis.family}): give a timedelta, not {quoted(given)}")
    elif math.isinf(given):
        length = float(given)
    else:
        length = Fraction(given if isinstance(given, Fraction) else given.item() if hasattr(given, "item") else given)
    if length < 0:
        raise ValueError(f"{what} must be at least 0, not {given}")
    return length


def _nanoseconds(given: Any, what: str) -> int | None:
    """Return how long a span of time of Python, pandas or NumPy is; None for anything else."""
    if isinstance(given, dt.timedelta):  # of pandas, too
        micro = (given.days * 86_400 + given.seconds) * 10**6 + given.microseconds
        return micro * 1000 + int(getattr(given, "nanoseconds", 0))
    if not isinstance(given, np.timedelta64):
        return None
    unit, count = np.datetime_data(given.dtype)
    if np.isnat(given) or unit not in _SPANS:
        raise ValueError(f"{what} must be a span of weeks, days, hours or less, down to nanoseconds, not {given!r}")
    return int(given.astype(np.int64)) * count * _SPANS[unit]


def as_lengths(axis: Axis, lengths: NDArray[Any], title: str, rows: NDArray[np.int32] | None = None) -> NDArray[Any]:
    """Return what the core measured along an axis as numbers, or durations.

    Each is of a row of the table `title`: of `rows` (None: of all, once), which a message names.
    """
    if lengths.dtype.kind == "f":
        return lengths
    if len(lengths) and lengths.max() > np.iinfo(np.int64).max:
        place = int(np.argmax(lengths))
        row = place if rows is None else rows[place]
        raise ValueError(f"{title}: row {row}: int64 cannot hold the length {lengths.max()}")
    whole = lengths.astype(np.int64)
    if axis.family in ("number", "null"):
        return whole
    if axis.unit == "D":  # which not all libraries have durations of
        return (whole * 86_400_000).view("m8[ms]")
    return whole.view(f"m8[{axis.unit}]")
