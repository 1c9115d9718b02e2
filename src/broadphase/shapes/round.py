"""Points and segments, and what is within a radius of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.shapes.kinds import ShapeKind
from broadphase.shapes.parameters import Parameter, as_sizes, as_vectors, side_by_side
from broadphase.shapes.shape import Shape

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Capsule", "Circle", "Point", "Segment", "Sphere"]


class Point(Shape):
    """A point, in the plane or in space.

    Parameters
    ----------
    offset : array_like, shape (d,) or (n, d), optional
        Where it lies relative to its actor: in its middle if left out. Turns with the actor.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a number that is not finite: names the row.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Point(), bp.Point(offset=(0, 2))
    (Point(), Point(offset=[0.0, 2.0]))
    """

    __slots__ = ()
    kind = ShapeKind.POINT

    def __init__(self, *, offset: ArrayLike | None = None) -> None:
        if offset is None:
            self._keep(None, np.zeros((1, 0)), {})
        else:
            given = as_vectors(offset, "offset")
            self._keep(given.rows.shape[1], given.rows, {"offset": given})


class Circle(Shape):
    """A disc: all within a radius of a place in the plane.

    Parameters
    ----------
    radius : array_like, one number or (n,)
        At least 0.
    offset : array_like, shape (2,) or (n, 2), optional
        Where its centre lies relative to its actor. Turns with the actor.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a number that is not finite, a negative radius: names the row.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Circle(0.5)
    Circle(radius=0.5)
    >>> bp.Circle([1, 2, 3]).radius
    array([1., 2., 3.])
    """

    __slots__ = ()
    kind = ShapeKind.BALL

    def __init__(self, radius: ArrayLike, *, offset: ArrayLike | None = None) -> None:
        _keep_ball(self, 2, radius, offset)

    @property
    def radius(self) -> Any:
        """The radius, or the radii of many, shape (n,)."""
        return self._value("radius")


class Sphere(Shape):
    """A ball: all within a radius of a place in space.

    Parameters
    ----------
    radius : array_like, one number or (n,)
        At least 0.
    offset : array_like, shape (3,) or (n, 3), optional
        Where its centre lies relative to its actor. Turns with the actor.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a number that is not finite, a negative radius: names the row.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Sphere(2, offset=(0, 0, 1))
    Sphere(radius=2.0, offset=[0.0, 0.0, 1.0])
    """

    __slots__ = ()
    kind = ShapeKind.BALL

    def __init__(self, radius: ArrayLike, *, offset: ArrayLike | None = None) -> None:
        _keep_ball(self, 3, radius, offset)

    @property
    def radius(self) -> Any:
        """The radius, or the radii of many, shape (n,)."""
        return self._value("radius")


class Segment(Shape):
    """A straight line from one place to another, in the plane or in space.

    Parameters
    ----------
    start, end : array_like, shape (d,) or (n, d)
        Relative to the actor. They may be one place.
    offset : array_like, shape (d,) or (n, d), optional
        Moves it relative to its actor.
    rotation : array_like, optional
        Turns it about the origin of `start` and `end`, before it is moved: radians, one or (n,), in the plane;
        quaternions (w, x, y, z), (4,) or (n, 4), in space.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a number that is not finite, a quaternion of length 0: names the row.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Segment((-1, 0), (1, 0))
    Segment(start=[-1.0, 0.0], end=[1.0, 0.0])
    """

    __slots__ = ()
    kind = ShapeKind.SEGMENT

    def __init__(
        self, start: ArrayLike, end: ArrayLike, *, offset: ArrayLike | None = None, rotation: ArrayLike | None = None
    ) -> None:
        ends = _ends(start, end)
        self._place(ends["start"].rows.shape[1], side_by_side(ends), ends, offset, rotation)

    @property
    def start(self) -> Floats:
        """Where it begins, shape (d,), or (n, d) for many."""
        return np.asarray(self._value("start"))

    @property
    def end(self) -> Floats:
        """Where it ends, shape (d,), or (n, d) for many."""
        return np.asarray(self._value("end"))


class Capsule(Shape):
    """All within a radius of a segment, in the plane or in space.

    Parameters
    ----------
    start, end : array_like, shape (d,) or (n, d)
        The middles of its round ends, relative to the actor. They may be one place.
    radius : array_like, one number or (n,)
        At least 0.
    offset, rotation : array_like, optional
        Where it lies and how it is turned relative to its actor, as in `Segment`.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a number that is not finite, a negative radius: names the row.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Capsule((0, 0, 0), (0, 0, 1.2), 0.3)
    Capsule(start=[0.0, 0.0, 0.0], end=[0.0, 0.0, 1.2], radius=0.3)
    """

    __slots__ = ()
    kind = ShapeKind.CAPSULE

    def __init__(
        self,
        start: ArrayLike,
        end: ArrayLike,
        radius: ArrayLike,
        *,
        offset: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ) -> None:
        own = {**_ends(start, end), "radius": as_sizes(radius, "radius")}
        self._place(own["start"].rows.shape[1], side_by_side(own), own, offset, rotation)

    @property
    def start(self) -> Floats:
        """The middle of one end, shape (d,), or (n, d) for many."""
        return np.asarray(self._value("start"))

    @property
    def end(self) -> Floats:
        """The middle of the other end, shape (d,), or (n, d) for many."""
        return np.asarray(self._value("end"))

    @property
    def radius(self) -> Any:
        """The radius, or the radii of many, shape (n,)."""
        return self._value("radius")


def _keep_ball(shape: Circle | Sphere, dimension: int, radius: Any, offset: Any) -> None:
    own = {"radius": as_sizes(radius, "radius")}
    records = np.zeros((len(own["radius"].rows), dimension + 1))
    records[:, dimension] = own["radius"].rows
    shape._place(dimension, records, own, offset, None)


def _ends(start: Any, end: Any) -> dict[str, Parameter]:
    begin = as_vectors(start, "start")
    return {"start": begin, "end": as_vectors(end, "end", begin.rows.shape[1])}
