"""Boxes, along the axes and turned, and triangles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.shapes.kinds import ShapeKind
from broadphase.shapes.parameters import as_rows, as_sizes, as_vectors, require_rows, side_by_side
from broadphase.shapes.shape import Shape

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Box", "OrientedBox", "Rectangle", "Triangle"]


class Rectangle(Shape):
    """A rectangle along the axes of the plane, however its actor is turned.

    Parameters
    ----------
    width, height : array_like, one number or (n,)
        Full sizes along x and y; at least 0.
    offset : array_like, shape (2,) or (n, 2), optional
        Where its middle lies relative to its actor. Turns with the actor; the rectangle itself does not.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a number that is not finite, a negative size: names the row.

    See Also
    --------
    OrientedBox : One that turns.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Rectangle(10, 10)
    Rectangle(width=10.0, height=10.0)
    """

    __slots__ = ()
    kind = ShapeKind.BOX

    def __init__(self, width: ArrayLike, height: ArrayLike, *, offset: ArrayLike | None = None) -> None:
        own = {"width": as_sizes(width, "width"), "height": as_sizes(height, "height")}
        half = side_by_side(own) / 2
        self._place(2, np.concatenate([np.zeros_like(half), half], axis=1), own, offset, None)

    @property
    def width(self) -> Any:
        """Size along x, or those of many, shape (n,)."""
        return self._value("width")

    @property
    def height(self) -> Any:
        """Size along y, or those of many, shape (n,)."""
        return self._value("height")


class Box(Shape):
    """A box along the axes of space, however its actor is turned.

    Parameters
    ----------
    x, y, z : array_like, one number or (n,)
        Full sizes along the axes; at least 0.
    offset : array_like, shape (3,) or (n, 3), optional
        Where its middle lies relative to its actor. Turns with the actor; the box itself does not.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a number that is not finite, a negative size: names the row.

    See Also
    --------
    OrientedBox : One that turns.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Box(1, 2, [3, 4])[1]
    Box(x=1.0, y=2.0, z=4.0)
    """

    __slots__ = ()
    kind = ShapeKind.BOX

    def __init__(self, x: ArrayLike, y: ArrayLike, z: ArrayLike, *, offset: ArrayLike | None = None) -> None:
        own = {name: as_sizes(size, name) for name, size in (("x", x), ("y", y), ("z", z))}
        half = side_by_side(own) / 2
        self._place(3, np.concatenate([np.zeros_like(half), half], axis=1), own, offset, None)

    @property
    def x(self) -> Any:
        """Size along x, or those of many, shape (n,)."""
        return self._value("x")

    @property
    def y(self) -> Any:
        """Size along y, or those of many, shape (n,)."""
        return self._value("y")

    @property
    def z(self) -> Any:
        """Size along z, or those of many, shape (n,)."""
        return self._value("z")


class OrientedBox(Shape):
    """A box that turns with its actor, in the plane or in space.

    Parameters
    ----------
    size : array_like, shape (d,) or (n, d)
        Full sizes along its own axes; at least 0. Two of them make a rectangle, three a box.
    offset : array_like, shape (d,) or (n, d), optional
        Where its middle lies relative to its actor. Turns with the actor.
    rotation : array_like, optional
        How it is turned relative to its actor: radians, one or (n,), in the plane; quaternions (w, x, y, z), (4,) or
        (n, 4), of any length but 0, in space.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a number that is not finite, a negative size: names the row.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.OrientedBox((4, 2), rotation=0.5)
    OrientedBox(size=[4.0, 2.0], rotation=0.5)
    """

    __slots__ = ()
    kind = ShapeKind.ORIENTED_BOX

    def __init__(self, size: ArrayLike, *, offset: ArrayLike | None = None, rotation: ArrayLike | None = None) -> None:
        given = as_vectors(size, "size")
        negative = given.rows < 0
        if negative.any():
            row = int(negative.any(axis=1).argmax())
            fault = f"has {given.rows[row][negative[row]][0]}, which is negative"
            require_rows(~negative.any(axis=1), "size", given, fault)
        count, dimension = given.rows.shape
        axes = np.broadcast_to(np.eye(dimension).ravel(), (count, dimension**2))
        records = np.concatenate([np.zeros((count, dimension)), given.rows / 2, axes], axis=1)
        self._place(dimension, records, {"size": given}, offset, rotation)

    @property
    def size(self) -> Floats:
        """Full sizes along its own axes, shape (d,), or (n, d) for many."""
        return np.asarray(self._value("size"))


class Triangle(Shape):
    """A triangle with its inside, in the plane or in space.

    Parameters
    ----------
    corners : array_like, shape (3, d) or (n, 3, d)
        Relative to the actor, in any order; they may lie on one line.
    offset : array_like, shape (d,) or (n, d), optional
        Moves it relative to its actor.
    rotation : array_like, optional
        Turns it about the origin of `corners`, before it is moved: radians, one or (n,), in the plane; quaternions
        (w, x, y, z), (4,) or (n, 4), in space.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a number that is not finite: names the row.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Triangle([[0, 0], [2, 0], [0, 1]])
    Triangle(corners=[[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    """

    __slots__ = ()
    kind = ShapeKind.TRIANGLE

    def __init__(
        self, corners: ArrayLike, *, offset: ArrayLike | None = None, rotation: ArrayLike | None = None
    ) -> None:
        given = as_rows(corners, "corners", (3, None), "(3, d) or (n, 3, d)")
        dimension = given.rows.shape[2]
        if dimension not in (2, 3):
            raise ValueError(f"corners must have 2 or 3 numbers each, not {dimension}")
        self._place(dimension, given.rows.reshape(len(given.rows), 3 * dimension), {"corners": given}, offset, rotation)

    @property
    def corners(self) -> Floats:
        """The corners, shape (3, d), or (n, 3, d) for many."""
        return np.asarray(self._value("corners"))
