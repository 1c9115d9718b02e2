"""Parameters of shapes: numbers for one shape, or rows of them for many, checked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.boxes import as_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "LARGEST", "Parameter", "as_rows", "as_sizes", "as_vectors", "common_count", "require_positive", "require_rows",
    "side_by_side",
]  # fmt: skip


# Of coordinates and lengths. The narrow phase multiplies up to six of them, which float64 would not hold much beyond.
LARGEST = 1e40

# Single numbers that every float holds exactly.
_PLAIN = frozenset({int, float})
_EXACT = 2**53


class Parameter(NamedTuple):
    """One parameter of a shape: a row for each shape, or one for all; `single` if given without an axis for rows."""

    rows: Floats
    single: bool


def as_rows(values: Any, name: str, item: tuple[int | None, ...], form: str, largest: float = LARGEST) -> Parameter:
    """Convert finite numbers, one item or any number of them, to rows of items in an array of its own.

    `item` is the shape of an item, None for any length but 0; `form` says the shapes in words, for errors, which name
    the row. No number may be beyond `largest`, in either direction.

    >>> as_rows([1, 2], "radius", (), "one number or (n,)")
    Parameter(rows=array([1., 2.]), single=False)
    >>> as_rows(1, "radius", (), "one number or (n,)")
    Parameter(rows=array([1.]), single=True)
    """
    if not item and type(values) in _PLAIN and -_EXACT <= values <= _EXACT:  # as games give them, one by one
        return Parameter(np.array([float(values)]), True)
    array: Floats = as_numbers(values, name=name).astype(np.float64, order="C")  # always a copy
    single = array.ndim == len(item)
    rows = array[np.newaxis] if single else array
    sizes = rows.shape[1:]
    if sizes != item and (
        rows.ndim != len(item) + 1
        or any(size != wanted and (wanted is not None or size == 0) for size, wanted in zip(sizes, item, strict=True))
    ):
        raise ValueError(f"{name} must be {form}, not an array of shape {array.shape}")
    given = Parameter(rows, single)
    place = _native.first_outside(rows, -largest, largest)
    if place >= 0:
        number = float(rows.flat[place])
        fault = f"has {number}, which is {f'beyond {largest}' if np.isfinite(number) else 'not finite'}"
        raise _fault_at(place, name, given, fault)
    return given


def as_sizes(values: Any, name: str) -> Parameter:
    """Convert lengths to rows of one number, each at least 0; see `as_rows`."""
    given = as_rows(values, name, (), "one number or (n,) numbers")
    require_positive(given, name)
    return given


def as_vectors(values: Any, name: str, dim: int | None = None) -> Parameter:
    """Convert points to rows of `dim` numbers, or of 2 or 3 if that is not known; see `as_rows`."""
    sizes = "d" if dim is None else str(dim)
    given = as_rows(values, name, (dim,), f"({sizes},) or (n, {sizes})")
    if given.rows.shape[1] not in (2, 3):
        raise ValueError(f"{name} must have 2 or 3 numbers for each shape, not {given.rows.shape[1]}")
    return given


def require_positive(given: Parameter, name: str) -> None:
    """Raise ValueError with the first negative number, if there is one."""
    place = _native.first_outside(given.rows, 0.0, np.inf)
    if place >= 0:
        verb = "is" if given.rows.ndim == 1 else "has"
        raise _fault_at(place, name, given, f"{verb} {given.rows.flat[place]}, which is negative")


def _fault_at(place: int, name: str, given: Parameter, fault: str) -> ValueError:
    """Make the error of a number, by its place in all rows."""
    row = place // (given.rows.size // len(given.rows))
    return ValueError(f"{name}{'' if given.single else f': row {row}'} {fault}")


def require_rows(good: Any, name: str, given: Parameter, fault: str) -> None:
    """Raise ValueError with the fault of the first row that is not good, shape (n,), if any."""
    if not good.all():
        raise ValueError(f"{name}{'' if given.single else f': row {int(np.argmin(good))}'} {fault}")


def common_count(parameters: Iterable[tuple[str, Parameter]]) -> int:
    """Return the number of shapes that parameters describe: those of one row fit any; others must agree."""
    count, decided_by = 1, ""
    for name, given in parameters:
        rows = len(given.rows)
        if rows == 1:
            continue
        if decided_by and rows != count:
            raise ValueError(f"{decided_by} has {count} rows and {name} has {rows}")
        count, decided_by = rows, name
    return count


def side_by_side(parameters: dict[str, Parameter]) -> Floats:
    """Put the numbers of several parameters into one row for each shape, shape (n, length)."""
    count = common_count(parameters.items())
    columns = []
    for given in parameters.values():
        rows = given.rows
        if rows.ndim != 2:
            rows = rows.reshape(len(rows), math.prod(rows.shape[1:]))
        columns.append(rows if len(rows) == count else np.broadcast_to(rows, (count, rows.shape[1])))
    return np.concatenate(columns, axis=1)
