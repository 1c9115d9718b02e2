"""The kinds of records, as the core numbers them, and the layout of each."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from broadphase.shapes.turning import turned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Layout", "ShapeKind", "layout_of", "moved"]


class ShapeKind(IntEnum):
    """What a record describes; `core/shapes/shape.hpp` says with which numbers."""

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


class Layout(NamedTuple):
    """Which numbers of a record are points, which rotate and move, or directions, which rotate; others are lengths."""

    points: slice
    directions: slice


def layout_of(kind: ShapeKind, dim: int, length: int) -> Layout:
    """Return the layout of a local record of a kind other than a compound, of `length` numbers.

    >>> layout_of(ShapeKind.ORIENTED_BOX, 2, 8)
    Layout(points=slice(0, 2, None), directions=slice(4, 8, None))
    """
    none = slice(0, 0)
    if kind in (ShapeKind.POINT, ShapeKind.BALL, ShapeKind.BOX):
        return Layout(slice(0, dim), none)
    if kind in (ShapeKind.SEGMENT, ShapeKind.CAPSULE):
        return Layout(slice(0, 2 * dim), none)
    if kind == ShapeKind.ORIENTED_BOX:
        return Layout(slice(0, dim), slice(2 * dim, 2 * dim + dim**2))
    if kind in (ShapeKind.TRIANGLE, ShapeKind.POLYGON):
        return Layout(slice(0, length), none)
    return Layout(slice(1, 1 + dim), slice(1 + dim, 1 + dim + dim**2))


def moved(kind: ShapeKind, records: Floats, dim: int, shift: Floats | None, turn: Floats | None) -> Floats:
    """Rotate, then move local records (n, length) of a kind other than a compound; each n may be 1, which fits all.

    Returns a new array, or the records themselves if `shift` and `turn` are None.

    >>> moved(ShapeKind.BALL, np.array([[1.0, 0.0, 5.0]]), 2, np.array([[10.0, 20.0]]), None)
    array([[11., 20.,  5.]])
    """
    if shift is None and turn is None:
        return records
    counts = {len(rows) for rows in (records, shift, turn) if rows is not None}
    result = np.repeat(records, counts.difference({1}).pop() if len(records) == 1 and counts != {1} else 1, axis=0)
    layout = layout_of(kind, dim, records.shape[1])
    points = turned(_vectors(records[:, layout.points], dim), turn)
    if shift is not None:
        points = points + shift[:, np.newaxis]
    result[:, layout.points] = points.reshape(len(points), points.shape[1] * points.shape[2])
    directions = turned(_vectors(records[:, layout.directions], dim), turn)
    result[:, layout.directions] = directions.reshape(len(directions), directions.shape[1] * directions.shape[2])
    return result


def _vectors(numbers: Floats, dim: int) -> Floats:
    return numbers.reshape(len(numbers), numbers.shape[1] // dim, dim)
