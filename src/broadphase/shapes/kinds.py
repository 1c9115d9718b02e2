"""The kinds of records, as the core numbers them, and one row for each: what its numbers mean."""

from __future__ import annotations

from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from broadphase import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["RECORDS", "Layout", "RecordRow", "ShapeKind", "are_kept_elsewhere", "layout_of", "moved"]


class ShapeKind(IntEnum):
    """What a record describes; `RECORDS` says with which numbers, as does `core/shapes/shape.hpp`."""

    POINT = 0
    BALL = 1
    SEGMENT = 2
    CAPSULE = 3
    BOX = 4
    ORIENTED_BOX = 5
    TRIANGLE = 6
    POLYGON = 7
    COMPOUND = 8
    HULL = 9
    MESH = 10
    CUSTOM = 11
    CYLINDER = 12
    CONE = 13
    ELLIPSOID = 14
    SECTOR = 15
    HALF_SPACE = 16
    HEIGHT_FIELD = 17
    POINT_CLOUD = 18


class RecordRow(NamedTuple):
    """The local records of one kind: points, then lengths, then axes. The same row as in `core/shapes/shape.hpp`.

    Attributes
    ----------
    dimensions : tuple of int
        Where there are such shapes.
    points : int
        How many points there are; if `is_open`, at least.
    lengths : int
        How many numbers follow that must not be negative, whatever the dimension.
    has_halves : bool
        Whether one more length follows for each axis of space.
    has_axes : bool
        Whether one unit vector for each axis of space follows.
    has_normal : bool
        Whether one unit vector follows: that of a boundary beyond which the shape has no end.
    is_open : bool
        Whether more points may follow, or other numbers where it is kept elsewhere.
    is_kept_elsewhere : bool
        Whether the record begins with the number of a geometry that Python keeps (`Geometries`), and ends with its box.
    has_parts : bool
        Whether the record is a sequence of others, each after its kind and its length.
    is_curved : bool
        Whether it is more than the hull of a few points with a radius: its pairs are tested by its support function.
    """

    dimensions: tuple[int, ...] = (2, 3)
    points: int = 1
    lengths: int = 0
    has_halves: bool = False
    has_axes: bool = False
    has_normal: bool = False
    is_open: bool = False
    is_kept_elsewhere: bool = False
    has_parts: bool = False
    is_curved: bool = False


RECORDS = MappingProxyType(
    {
        ShapeKind.POINT: RecordRow(),
        ShapeKind.BALL: RecordRow(lengths=1),
        ShapeKind.SEGMENT: RecordRow(points=2),
        ShapeKind.CAPSULE: RecordRow(points=2, lengths=1),
        ShapeKind.BOX: RecordRow(has_halves=True),
        ShapeKind.ORIENTED_BOX: RecordRow(has_halves=True, has_axes=True),
        ShapeKind.TRIANGLE: RecordRow(points=3),
        ShapeKind.POLYGON: RecordRow((2,), points=3, is_open=True),
        ShapeKind.COMPOUND: RecordRow(points=0, has_parts=True),
        ShapeKind.HULL: RecordRow((3,), has_axes=True, is_kept_elsewhere=True),
        ShapeKind.MESH: RecordRow((3,), has_axes=True, is_kept_elsewhere=True),
        ShapeKind.CUSTOM: RecordRow(has_axes=True, is_open=True, is_kept_elsewhere=True),
        ShapeKind.CYLINDER: RecordRow((3,), points=2, lengths=1, is_curved=True),
        ShapeKind.CONE: RecordRow((3,), points=2, lengths=1, is_curved=True),
        ShapeKind.ELLIPSOID: RecordRow((3,), has_halves=True, has_axes=True, is_curved=True),
        ShapeKind.SECTOR: RecordRow((2,), points=3, is_curved=True),
        ShapeKind.HALF_SPACE: RecordRow(has_normal=True),
        ShapeKind.HEIGHT_FIELD: RecordRow((3,), has_axes=True, is_kept_elsewhere=True),
        ShapeKind.POINT_CLOUD: RecordRow((3,), has_axes=True, is_kept_elsewhere=True),
    }
)
"""One row for each kind."""

_KEPT_ELSEWHERE = np.array([RECORDS[kind].is_kept_elsewhere for kind in ShapeKind])


def are_kept_elsewhere(kinds: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Say which records begin with the number of a geometry.

    >>> are_kept_elsewhere(np.array([ShapeKind.BALL, ShapeKind.MESH], np.uint8))
    array([False,  True])
    """
    kept: NDArray[np.bool_] = _KEPT_ELSEWHERE[kinds]
    return kept


class Layout(NamedTuple):
    """Which numbers of a record are points, which rotate and move, lengths, or directions, which rotate."""

    points: slice
    lengths: slice
    directions: slice


def layout_of(kind: ShapeKind, dim: int, length: int) -> Layout:
    """Return the layout of a local record of a kind other than a compound, of `length` numbers.

    >>> layout_of(ShapeKind.ORIENTED_BOX, 2, 8)
    Layout(points=slice(0, 2, None), lengths=slice(2, 4, None), directions=slice(4, 8, None))
    """
    row = RECORDS[kind]
    begin = int(row.is_kept_elsewhere)
    lengths = length if row.is_open and not row.is_kept_elsewhere else begin + row.points * dim
    directions = lengths + row.lengths + row.has_halves * dim
    end = directions + row.has_axes * dim**2 + row.has_normal * dim
    return Layout(slice(begin, lengths), slice(lengths, directions), slice(directions, end))


def moved(kind: ShapeKind, records: Floats, dim: int, shift: Floats | None, turn: Floats | None) -> Floats:
    """Rotate, then move local records (n, length) of a kind other than a compound; each n may be 1, which fits all.

    Returns a new array, or the records themselves if `shift` and `turn` are None.

    >>> moved(ShapeKind.BALL, np.array([[1.0, 0.0, 5.0]]), 2, np.array([[10.0, 20.0]]), None)
    array([[11., 20.,  5.]])
    """
    if shift is None and turn is None:
        return records
    return cast("Floats", _native.moved_records(kind, dim, records, shift, turn))
