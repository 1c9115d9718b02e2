"""Corners in columns of tables as arrays of one dtype, in which they are compared exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import InvalidBoxError, clipped, quoted
from broadphase.tables.libraries import FOR_GEOMETRIES, Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "UNITS",
    "Axis",
    "alike",
    "as_floats",
    "axis_of",
    "filled_axis",
    "finest",
    "holds_exactly",
    "ranks_of",
    "require_intervals",
]

_EXACT = 2**53
UNITS = {"D": 86_400_000_000_000, "s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}  # nanoseconds


@dataclass(frozen=True)
class Axis:
    """Where the boxes of both tables begin and end along an axis.

    `values` are lower and upper corners in the left table, then in the right one, all float32, float64, int32 or int64.
    `missing` has for each of these the rows without one, or None; `endless` those of them that are taken for endless:
    their corners are infinite, or the least or greatest number. `family` and `unit` are as of `Column`; `title` is what
    messages call the first column.
    """

    values: list[NDArray[Any]]
    missing: list[NDArray[np.bool_] | None]
    family: str
    unit: str
    title: str
    endless: tuple[NDArray[np.bool_] | None, ...] = (None,) * 4


def axis_of(tables: Sequence[Table], lower: Sequence[str], upper: Sequence[str], is_unbounded: bool) -> Axis:
    """Make an axis of the columns with the lower and the upper corner in each table.

    With `is_unbounded`, rows without a lower or an upper corner are endless, but for those of a single column.
    TypeError and ValueError name the column that has another kind or time zone, or the row that the dtype cannot hold.
    """
    given, titles = [], []
    for table, *names in zip(tables, lower, upper, strict=True):
        for name in names:
            column = table.column(name)
            if column is None or (column.family == "number" and column.values.dtype.kind == "b"):
                kind = table.type_of(name)
                advice = FOR_GEOMETRIES if kind == "geometry" else "; convert it to one of these"
                raise TypeError(
                    f"{table.at(name)} has the type {clipped(kind)}, and corners are integers, floats, dates,"
                    f" datetimes, durations or times of day{advice}"
                )
            given.append(column)
            titles.append(table.at(name))
    values = alike(given, titles, "give all corners as int64")
    typed = [column for column in given if column.family != "null"] or given
    axis = Axis(values, [x.missing for x in given], typed[0].family, finest(typed), titles[0])
    if not is_unbounded:
        return axis
    is_endless = [lower[side] != upper[side] for side in range(2) for _ in range(2)]
    endless = tuple(x if of_end else None for x, of_end in zip(axis.missing, is_endless, strict=True))
    missing = [None if of_end else x for x, of_end in zip(axis.missing, is_endless, strict=True)]
    return filled_axis(replace(axis, endless=endless, missing=missing), values)


def filled_axis(axis: Axis, values: Sequence[NDArray[Any]]) -> Axis:
    """Return an axis with other values, of which those of endless rows reach as far as any number."""
    filled = list(values)
    for place, mask in enumerate(axis.endless):
        if mask is not None:
            dtype = filled[place].dtype
            far: Any = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
            filled[place] = np.where(mask, dtype.type(far[place % 2]), filled[place])
    return replace(axis, values=filled)


def alike(columns: Sequence[Column], titles: Sequence[str], advice: str) -> list[NDArray[Any]]:
    """Return the numbers of columns in one dtype and unit, without rounding; errors end with `advice`."""
    first = next((column for column in columns if column.family != "null"), columns[0])
    columns = [replace(first, values=x.values, missing=x.missing) if x.family == "null" else x for x in columns]
    for column, title in zip(columns, titles, strict=True):
        if column.family != first.family:
            raise TypeError(f"{titles[0]} is {first}, and {title} is {column}: convert one of them")
        if column.zone != first.zone:
            raise ValueError(f"{titles[0]} is {first}, and {title} is {column}: convert one to the zone of the other")
    if first.family not in ("number", "null"):
        unit = finest(columns)
        return [_in_unit(column, unit, title) for column, title in zip(columns, titles, strict=True)]
    kinds = {column.values.dtype.kind for column in columns}
    sizes = {column.values.dtype.itemsize for column in columns}
    if kinds == {"f"}:
        dtype = np.dtype(np.float32 if max(sizes) <= 4 else np.float64)
    elif "f" in kinds:
        dtype = np.dtype(np.float64)
    else:
        is_small = all(np.can_cast(column.values.dtype, np.int32) for column in columns)
        dtype = np.dtype(np.int32 if is_small else np.int64)
    return [_as_dtype(column, dtype, title, advice) for column, title in zip(columns, titles, strict=True)]


def _as_dtype(column: Column, dtype: np.dtype[Any], title: str, advice: str) -> NDArray[Any]:
    values = column.values
    if values.dtype == dtype and values.flags.aligned and values.strides[0] % values.itemsize == 0:
        return values
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        if dtype.kind == "f":
            bad = (values > _EXACT) | (values < -_EXACT if values.dtype.kind == "i" else False)
            _refuse(column, bad, title, "integer", dtype, advice)
        elif values.dtype.kind == "u":
            _refuse(column, values > np.iinfo(np.int64).max, title, "integer", dtype, advice)
    elif values.dtype.kind == "f" and values.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            bad = (values.astype(dtype) != values) & ~np.isnan(values)
        _refuse(column, bad, title, "number", dtype, "round it before")
    return values.astype(dtype)


def _refuse(column: Column, bad: NDArray[np.bool_], title: str, what: str, dtype: np.dtype[Any], advice: str) -> None:
    if column.missing is not None:
        bad = bad & ~column.missing
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{title}: row {row} has the {what} {column.values[row]}, which {dtype} cannot hold exactly; {advice}"
        )


def finest(columns: Sequence[Column]) -> str:
    """Return the finest unit of columns of times."""
    return min((column.unit for column in columns), key=lambda unit: UNITS.get(unit, 0))


def _in_unit(column: Column, unit: str, title: str) -> NDArray[Any]:
    values = column.values.astype(np.int64, copy=False)
    factor = UNITS[column.unit] // UNITS[unit]
    if factor == 1:
        return values
    most = np.iinfo(np.int64).max // factor
    bad = (values > most) | (values < -most)
    if column.missing is not None:
        bad &= ~column.missing
    if bad.any():
        raise ValueError(f"{title}: row {int(np.argmax(bad))} is a time that {unit} in 64 bits cannot hold")
    return values * factor


def as_floats(axis: Axis) -> list[NDArray[Any]]:
    """Return the corners as float32 or float64: the numbers, or their ranks where float64 cannot hold them all."""
    if axis.values[0].dtype.kind == "f":
        return axis.values
    # The ends of endless rows are set at last.
    plain = [x if mask is None else np.where(mask, 0, x) for x, mask in zip(axis.values, axis.endless, strict=True)]
    if holds_exactly(plain):
        floats = [x.astype(np.float64) for x in plain]
    else:
        floats = [x.astype(np.float64) for x in ranks_of(plain)]
    return filled_axis(axis, floats).values


def ranks_of(values: Sequence[NDArray[Any]]) -> list[NDArray[np.intp]]:
    """Return whole numbers from 0 on that compare as some numbers do."""
    ranks = np.unique(np.concatenate(values), return_inverse=True)[1]
    return np.split(ranks, np.cumsum([len(x) for x in values])[:-1])


def holds_exactly(values: Sequence[NDArray[Any]]) -> bool:
    """Return whether float64 holds all of some whole numbers."""
    return all(not len(x) or (x.max() <= _EXACT and x.min() >= -_EXACT) for x in values)


def require_intervals(
    lower: NDArray[Any], upper: NDArray[Any], skipped: NDArray[np.bool_] | None, side: str, names: tuple[str, str]
) -> None:
    """Raise InvalidBoxError for NaN, or a lower corner above the upper one, in a row that is not skipped."""
    bad = ~(lower <= upper)  # True for NaN
    if skipped is not None:
        bad &= ~skipped
    if not bad.any():
        return
    row = int(np.argmax(bad))
    low, high = lower[row], upper[row]
    for name, value in zip(names, (low, high), strict=True):
        if value != value:
            raise InvalidBoxError(f"{side}: row {row}: {quoted(name)} is NaN", row)
    raise InvalidBoxError(f"{side}: row {row}: {quoted(names[0])} > {quoted(names[1])} ({low} > {high})", row)
