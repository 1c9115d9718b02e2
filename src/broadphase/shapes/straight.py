"""Boxes that never rotate and boxes that do, and triangles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.shapes.kinds import ShapeKind
from broadphase.shapes.parameters import Parameter, as_rows, as_sizes, as_vectors, require_rows, side_by_side
from broadphase.shapes.shape import Shape

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["AABB", "Box", "Rectangle", "Triangle"]


class AABB(Shape):
    """An axis-aligned box, in the plane or in space: it never rotates, whatever its actor does.

    Parameters
    ----------
    size : array_like, shape (d,) or (n, d)
        Full sizes along the axes; at least 0. Two of them make a rectangle, three a box.
    offset : array_like, shape (d,) or (n, d), optional
        Position of its center relative to its actor. It rotates with the actor; the box itself does not.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a number that is not finite, a negative size: names the row.

    See Also
    --------
    Rectangle, Box : Those that rotate; as fast and as exact as long as they are not rotated.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.AABB((4, 2))
    AABB(size=[4.0, 2.0])
    >>> square = bp.AABB((2, 2)), bp.Rectangle(2, 2)
    >>> [bp.Shapes(shape, [0, 0], rotations=np.pi / 4).boxes[0, 1].round(2).tolist() for shape in square]
    [[1.0, 1.0], [1.41, 1.41]]
    """

    __slots__ = ()
    kind = ShapeKind.BOX

    def __init__(self, size: ArrayLike, *, offset: ArrayLike | None = None) -> None:
        given = as_vectors(size, "size")
        _require_sizes(given)
        half = given.rows / 2
        self._place(half.shape[1], np.concatenate([np.zeros_like(half), half], axis=1), {"size": given}, offset, None)

    @property
    def size(self) -> Floats:
        """Full sizes along the axes, shape (d,), or (n, d) for many."""
        return np.asarray(self._value("size"))


class Rectangle(Shape):
    """A rectangle that rotates with its actor, in the plane.

    Parameters
    ----------
    width, height : array_like, one number or (n,)
        Full sizes along x and y while it is not rotated; at least 0.
    offset : array_like, shape (2,) or (n, 2), optional
        Position of its center relative to its actor. Rotates with the actor.
    rotation : array_like, one number or (n,), optional
        Its rotation relative to its actor; radians, counterclockwise.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a number that is not finite, a negative size: names the row.

    See Also
    --------
    AABB : One that never rotates.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Rectangle(10, 5)
    Rectangle(width=10.0, height=5.0)
    >>> bp.Rectangle(4, 2, rotation=0.5)
    Rectangle(width=4.0, height=2.0, rotation=0.5)
    """

    __slots__ = ()
    kind = ShapeKind.ORIENTED_BOX

    def __init__(
        self,
        width: ArrayLike,
        height: ArrayLike,
        *,
        offset: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ) -> None:
        own = {"width": as_sizes(width, "width"), "height": as_sizes(height, "height")}
        self._place(2, _oriented_records(own), own, offset, rotation)

    @property
    def width(self) -> Any:
        """Size along x, or those of many, shape (n,)."""
        return self._value("width")

    @property
    def height(self) -> Any:
        """Size along y, or those of many, shape (n,)."""
        return self._value("height")


class Box(Shape):
    """A box that rotates with its actor, in space.

    Parameters
    ----------
    x, y, z : array_like, one number or (n,)
        Full sizes along the axes while it is not rotated; at least 0.
    offset : array_like, shape (3,) or (n, 3), optional
        Position of its center relative to its actor. Rotates with the actor.
    rotation : array_like, shape (4,) or (n, 4), optional
        Its rotation relative to its actor: a quaternion (w, x, y, z) of any length but 0.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a number that is not finite, a negative size, a zero quaternion: names the row.

    See Also
    --------
    AABB : One that never rotates.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Box(1, 2, [3, 4])[1]
    Box(x=1.0, y=2.0, z=4.0)
    """

    __slots__ = ()
    kind = ShapeKind.ORIENTED_BOX

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        z: ArrayLike,
        *,
        offset: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ) -> None:
        own = {name: as_sizes(size, name) for name, size in (("x", x), ("y", y), ("z", z))}
        self._place(3, _oriented_records(own), own, offset, rotation)

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


def _oriented_records(sizes: dict[str, Parameter]) -> Floats:
    """Make the local records of boxes that rotate: center, half sizes, axes."""
    half = side_by_side(sizes) / 2
    count, dim = half.shape
    axes = np.broadcast_to(np.eye(dim).ravel(), (count, dim**2))
    return np.concatenate([np.zeros_like(half), half, axes], axis=1)


def _require_sizes(given: Parameter) -> None:
    negative = given.rows < 0
    if negative.any():
        row = int(negative.any(axis=1).argmax())
        fault = f"has {given.rows[row][negative[row]][0]}, which is negative"
        require_rows(~negative.any(axis=1), "size", given, fault)
