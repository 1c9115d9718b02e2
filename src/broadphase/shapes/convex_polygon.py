"""Convex polygons in the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from broadphase.shapes.kinds import ShapeKind
from broadphase.shapes.parameters import Parameter, as_rows, require_rows
from broadphase.shapes.shape import Shape

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["ConvexPolygon"]

# Corners that were computed, such as those of a turned polygon, may bend inwards by so little.
_BEND = 1e-9  # radians
_ROUNDING = 16 * float(np.finfo(np.float64).eps)  # of the coordinates


class ConvexPolygon(Shape):
    """A convex polygon with its inside, in the plane.

    Parameters
    ----------
    corners : array_like, shape (k, 2) or (n, k, 2)
        Three or more, one after the other around it, in either direction; relative to the actor. Corners on a straight
        edge, and corners that coincide, are allowed. Polygons with different numbers of corners go into a list.
    offset : array_like, shape (2,) or (n, 2), optional
        Moves it relative to its actor.
    rotation : array_like, one number or (n,), optional
        Turns it about the origin of `corners`, before it is moved; radians.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a number that is not finite, a polygon that is not convex or crosses itself: names the
        row.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.ConvexPolygon([[0, 0], [2, 0], [2, 1], [0, 1]]).corners.shape
    (4, 2)
    >>> bp.ConvexPolygon([[0, 0], [2, 0], [0.1, 0.1], [0, 2]])
    Traceback (most recent call last):
        ...
    ValueError: the polygon bends inwards at corner 2
    """

    __slots__ = ()
    kind = ShapeKind.POLYGON

    def __init__(
        self, corners: ArrayLike, *, offset: ArrayLike | None = None, rotation: ArrayLike | None = None
    ) -> None:
        given = as_rows(corners, "corners", (None, 2), "(k, 2) or (n, k, 2)")
        if given.rows.shape[1] < 3:
            raise ValueError(f"corners must be three or more, not {given.rows.shape[1]}")
        records = _counter_clockwise(given).reshape(len(given.rows), 2 * given.rows.shape[1])
        self._place(2, records, {"corners": given}, offset, rotation)

    @property
    def corners(self) -> Floats:
        """The corners as given, shape (k, 2), or (n, k, 2) for many."""
        return np.asarray(self._value("corners"))


def _counter_clockwise(given: Parameter) -> Floats:
    """Check that polygons are convex, and bring each into counter-clockwise order."""
    corners = given.rows
    if not len(corners):
        return corners
    name = "the polygon" if given.single else "corners"
    size = np.abs(corners).max(axis=(1, 2))
    exponents = -np.frexp(size)[1]
    scaled = np.ldexp(corners, exponents[:, np.newaxis, np.newaxis])  # so that no product is out of range
    before, after = _edges(scaled)
    cross = before[..., 0] * after[..., 1] - before[..., 1] * after[..., 0]
    lengths = np.hypot(*np.moveaxis(before, -1, 0)), np.hypot(*np.moveaxis(after, -1, 0))
    tolerated = _BEND * lengths[0] * lengths[1] + _ROUNDING * (lengths[0] + lengths[1])
    spokes = scaled - scaled[:, :1]
    area = (spokes[:, 1:-1, 0] * spokes[:, 2:, 1] - spokes[:, 1:-1, 1] * spokes[:, 2:, 0]).sum(axis=1)
    cross = np.where(area < 0, -1.0, 1.0)[:, np.newaxis] * cross
    inwards = cross < -tolerated
    if inwards.any():
        corner = int(inwards[int(inwards.any(axis=1).argmax())].argmax())
        require_rows(~inwards.any(axis=1), name, given, f"bends inwards at corner {corner}")
    bends = np.arctan2(np.where(cross <= tolerated, 0.0, cross), (before * after).sum(axis=2))
    require_rows(bends.sum(axis=1) < 3 * np.pi, name, given, "goes around more than once")
    return np.where((area < 0)[:, np.newaxis, np.newaxis], corners[:, ::-1], corners)


def _edges(corners: Floats) -> tuple[Floats, Floats]:
    """Give the edges before and after each corner; an edge of no length stands for the one before it."""
    count = corners.shape[1]
    edges = np.roll(corners, -1, axis=1) - corners
    long = np.where(edges.any(axis=2), np.arange(count), -1)
    last = np.maximum.accumulate(long, axis=1)
    last = np.where(last < 0, long.max(axis=1, keepdims=True), last)
    after = np.take_along_axis(edges, np.maximum(last, 0)[..., np.newaxis], axis=1)
    return np.roll(after, 1, axis=1), after
