"""The simple shapes: points, segments, balls, capsules, cones, ellipsoids, boxes, polygons, half spaces ..."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.shapes.kinds import ShapeKind
from broadphase.shapes.parameters import (
    LARGEST,
    Parameter,
    as_rows,
    as_sizes,
    as_vectors,
    common_count,
    require_positive,
    require_rows,
    side_by_side,
)
from broadphase.shapes.shape import Shape, parameter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "AABB", "Box", "Capsule", "Circle", "Cone", "ConvexPolygon", "Cylinder", "Ellipsoid", "HalfSpace", "Point",
    "Rectangle", "Sector", "Segment", "Sphere", "Triangle",
]  # fmt: skip

# Corners that were computed, such as those of a rotated polygon, may bend inwards by this much.
_BEND = 1e-9  # radians
_ROUNDING = 16 * float(np.finfo(np.float64).eps)  # of the coordinates


class Point(Shape):
    """A point, in the plane or in space.

    Parameters
    ----------
    offset : array_like, shape (d,) or (n, d), optional
        Position relative to its actor. Default: at its position. Rotates with the actor.

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
    """A disc: all points within a radius of its center, in the plane.

    Parameters
    ----------
    radius : array_like, one number or (n,)
        At least 0.
    offset : array_like, shape (2,) or (n, 2), optional
        As in `Shape`, and so are errors.

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
    radius: Any = parameter("radius", "The radius, or the radii of many, shape (n,).")

    def __init__(self, radius: ArrayLike, *, offset: ArrayLike | None = None) -> None:
        _keep_ball(self, 2, radius, offset)


class Sphere(Shape):
    """A ball: all points within a radius of its center, in space.

    Parameters
    ----------
    radius : array_like, one number or (n,)
        At least 0.
    offset : array_like, shape (3,) or (n, 3), optional
        As in `Shape`, and so are errors.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Sphere(2, offset=(0, 0, 1))
    Sphere(radius=2.0, offset=[0.0, 0.0, 1.0])
    """

    __slots__ = ()
    kind = ShapeKind.BALL
    radius: Any = parameter("radius", "The radius, or the radii of many, shape (n,).")

    def __init__(self, radius: ArrayLike, *, offset: ArrayLike | None = None) -> None:
        _keep_ball(self, 3, radius, offset)


class Segment(Shape):
    """A line segment, in the plane or in space.

    Parameters
    ----------
    start, end : array_like, shape (d,) or (n, d)
        Relative to the actor. They may coincide.
    offset, rotation : array_like, optional
        As in `Shape`, and so are errors.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Segment((-1, 0), (1, 0))
    Segment(start=[-1.0, 0.0], end=[1.0, 0.0])
    """

    __slots__ = ()
    kind = ShapeKind.SEGMENT
    start: Floats = parameter("start", "Its first end, shape (d,), or (n, d) for many.")
    end: Floats = parameter("end", "Its second end, shape (d,), or (n, d) for many.")

    def __init__(
        self, start: ArrayLike, end: ArrayLike, *, offset: ArrayLike | None = None, rotation: ArrayLike | None = None
    ) -> None:
        ends = _ends(start, end)
        self._place(ends["start"].rows.shape[1], side_by_side(ends), ends, offset, rotation)


class Capsule(Shape):
    """All points within a radius of a segment, in the plane or in space.

    Parameters
    ----------
    start, end : array_like, shape (d,) or (n, d)
        Centers of its round ends, relative to the actor. They may coincide.
    radius : array_like, one number or (n,)
        At least 0.
    offset, rotation : array_like, optional
        As in `Shape`, and so are errors.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Capsule((0, 0, 0), (0, 0, 1.2), 0.3)
    Capsule(start=[0.0, 0.0, 0.0], end=[0.0, 0.0, 1.2], radius=0.3)
    """

    __slots__ = ()
    kind = ShapeKind.CAPSULE
    start: Floats = parameter("start", "Center of the first end, shape (d,), or (n, d) for many.")
    end: Floats = parameter("end", "Center of the second end, shape (d,), or (n, d) for many.")
    radius: Any = parameter("radius", "The radius, or the radii of many, shape (n,).")

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


class Cylinder(Shape):
    """All points within a radius of an axis, between two flat ends, in space.

    Parameters
    ----------
    start, end : array_like, shape (3,) or (n, 3)
        Centers of its ends, relative to the actor. They may not coincide.
    radius : array_like, one number or (n,)
        At least 0.
    offset, rotation : array_like, optional
        As in `Shape`, and so are errors.

    See Also
    --------
    Capsule : One with round ends, which is faster.

    Notes
    -----
    Distances from it are true to a billionth of the size of the larger shape.

    Examples
    --------
    >>> import broadphase as bp
    >>> drum = bp.Cylinder((0, 0, 0), (0, 0, 2), 0.5)
    >>> bp.distance(drum, bp.Box(1, 1, 1, offset=(0, 0, 4)))
    1.5
    """

    __slots__ = ()
    kind = ShapeKind.CYLINDER
    start: Floats = parameter("start", "Center of the first end, shape (3,), or (n, 3) for many.")
    end: Floats = parameter("end", "Center of the second end, shape (3,), or (n, 3) for many.")
    radius: Any = parameter("radius", "The radius, or the radii of many, shape (n,).")

    def __init__(
        self,
        start: ArrayLike,
        end: ArrayLike,
        radius: ArrayLike,
        *,
        offset: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ) -> None:
        own = _about_axis({"start": start, "end": end}, radius)
        self._place(3, side_by_side(own), own, offset, rotation)


class Cone(Shape):
    """A circular cone: all points between the disc at its base and its apex, in space.

    Parameters
    ----------
    base, apex : array_like, shape (3,) or (n, 3)
        The center of its base, and its tip, relative to the actor. They may not coincide.
    radius : array_like, one number or (n,)
        That of the base; at least 0.
    offset, rotation : array_like, optional
        As in `Shape`, and so are errors.

    Notes
    -----
    Distances from it are true to a billionth of the size of the larger shape.

    Examples
    --------
    >>> import broadphase as bp
    >>> hat = bp.Cone((0, 0, 0), (0, 0, 2), 0.5)
    >>> bp.distance(hat, bp.Point(offset=(0, 0, 5)))
    3.0
    """

    __slots__ = ()
    kind = ShapeKind.CONE
    base: Floats = parameter("base", "Center of the base, shape (3,), or (n, 3) for many.")
    apex: Floats = parameter("apex", "The tip, shape (3,), or (n, 3) for many.")
    radius: Any = parameter("radius", "The radius of the base, or the radii of many, shape (n,).")

    def __init__(
        self,
        base: ArrayLike,
        apex: ArrayLike,
        radius: ArrayLike,
        *,
        offset: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ) -> None:
        own = _about_axis({"base": base, "apex": apex}, radius)
        self._place(3, side_by_side(own), own, offset, rotation)


class Ellipsoid(Shape):
    """An ellipsoid, in space.

    Parameters
    ----------
    radii : array_like, shape (3,) or (n, 3)
        How far it reaches from its center along the axes while it is not rotated; at least 0. MuJoCo's sizes of one.
    offset, rotation : array_like, optional
        As in `Shape`, and so are errors.

    Notes
    -----
    Distances from it are true to a billionth of the size of the larger shape.

    Examples
    --------
    >>> import broadphase as bp
    >>> egg = bp.Ellipsoid((1, 1, 2))
    >>> bp.distance(egg, bp.Point(offset=(0, 0, 5)))
    3.0
    """

    __slots__ = ()
    kind = ShapeKind.ELLIPSOID
    radii: Floats = parameter("radii", "How far it reaches along its axes, shape (3,), or (n, 3) for many.")

    def __init__(self, radii: ArrayLike, *, offset: ArrayLike | None = None, rotation: ArrayLike | None = None) -> None:
        given = as_vectors(radii, "radii", 3)
        require_positive(given, "radii")
        self._place(3, _oriented_records(given.rows), {"radii": given}, offset, rotation)


class Sector(Shape):
    """A sector of a disc, in the plane: what an eye or a radar sees, from its center.

    Parameters
    ----------
    radius : array_like, one number or (n,)
        At least 0.
    angle : array_like, one number or (n,)
        Between its two straight sides, in radians: at least 0 and at most pi. Of a wider one, make a `Compound` of two.
    offset : array_like, shape (2,) or (n, 2), optional
        Of its center, which is its tip. As in `Shape`, and so are errors.
    rotation : array_like, one number or (n,), optional
        Where it looks: along the x axis by default.

    Notes
    -----
    Distances from it are true to a billionth of the size of the larger shape.

    Examples
    --------
    >>> import broadphase as bp
    >>> import numpy as np
    >>> sight = bp.Sector(10, np.pi / 2)
    >>> [bp.overlaps(sight, bp.Point(offset=place)) for place in ((8, 3), (3, 8))]
    [True, False]
    """

    __slots__ = ()
    kind = ShapeKind.SECTOR
    radius: Any = parameter("radius", "The radius, or the radii of many, shape (n,).")
    angle: Any = parameter("angle", "The angle between its sides, or the angles of many, shape (n,).")

    def __init__(
        self,
        radius: ArrayLike,
        angle: ArrayLike,
        *,
        offset: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ) -> None:
        own = {"radius": as_sizes(radius, "radius"), "angle": as_sizes(angle, "angle")}
        angles = own["angle"].rows
        if (angles > np.pi).any():
            row = int(np.argmax(angles > np.pi))
            fault = f"is {angles[row]}, which is more than pi: a Compound of two sectors makes a wider one"
            require_rows(angles <= np.pi, "angle", own["angle"], fault)
        numbers = side_by_side(own)
        half = numbers[:, 1] / 2
        across, along = numbers[:, 0] * np.sin(half), numbers[:, 0] * np.cos(half)
        along[numbers[:, 1] == np.pi] = 0.0
        tip = np.zeros_like(along)
        self._place(2, np.stack([tip, tip, along, -across, along, across], axis=1), own, offset, rotation)


class HalfSpace(Shape):
    """All points on one side of a plane, or of a line in the plane: a ground or a wall that never ends.

    Parameters
    ----------
    normal : array_like, shape (d,) or (n, d)
        Out of it, of any length but 0. Its dimension is that of the shape.
    height : array_like, one number or (n,), optional
        How far its boundary is along the normal, from the actor. Default: 0, at the actor.
    offset, rotation : array_like, optional
        As in `Shape`, and so are errors. The offset is that of a point of its boundary where ``height`` is 0.

    See Also
    --------
    Box : A ground that ends, where bodies may fall past it.

    Notes
    -----
    Its points x, relative to its actor, are those with ``normal @ x <= height``.

    Its box is infinite: on all sides, but on that of a boundary across an axis. In a world, each body that moves in
    such a box takes some 50 ns more; periodic worlds refuse it.

    Distances have closed forms. Two half spaces are apart or in each other by the distance of their boundaries if their
    normals are opposite; otherwise they overlap, and their depth is infinite: no translation separates them.

    Examples
    --------
    >>> import broadphase as bp
    >>> ground = bp.HalfSpace((0, 0, 1))
    >>> bp.distance(ground, bp.Sphere(1, offset=(5, 9, 3)))
    2.0
    >>> bp.HalfSpace((3, 4), 2)
    HalfSpace(normal=[0.6, 0.8], height=2.0)
    """

    __slots__ = ()
    kind = ShapeKind.HALF_SPACE
    normal: Floats = parameter("normal", "The unit vector out of it, shape (d,), or (n, d) for many.")
    height: Any = parameter("height", "How far its boundary is along the normal, one number, or (n,) for many.")

    def __init__(
        self,
        normal: ArrayLike,
        height: ArrayLike = 0.0,
        *,
        offset: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ) -> None:
        given = as_vectors(normal, "normal")
        require_rows(given.rows.any(axis=1), "normal", given, "is 0, which is no direction")
        units = given.rows / np.abs(given.rows).max(axis=1, keepdims=True)  # so that no square is out of range
        units /= np.sqrt((units * units).sum(axis=1, keepdims=True))
        own = {
            "normal": Parameter(units, given.single),
            "height": as_rows(height, "height", (), "one number or (n,) numbers"),
        }
        common_count(own.items())  # before they are multiplied
        boundary = units * own["height"].rows[:, np.newaxis]
        normals = np.broadcast_to(units, boundary.shape)
        self._place(units.shape[1], np.concatenate([boundary, normals], axis=1), own, offset, rotation)


class AABB(Shape):
    """An axis-aligned box, in the plane or in space: it never rotates, whatever its actor does.

    Parameters
    ----------
    size : array_like, shape (d,) or (n, d); or one for each axis, each one number or (n,)
        Full sizes along the axes; at least 0. Two of them make a rectangle, three a box.
    offset : array_like, shape (d,) or (n, d), optional
        As in `Shape`, and so are errors. It rotates with the actor; the box itself does not.

    See Also
    --------
    Rectangle, Box : Those that rotate; as fast and as exact as long as they are not rotated.

    Examples
    --------
    >>> import broadphase as bp
    >>> import numpy as np
    >>> bp.AABB((4, 2)), bp.AABB(4, 2)
    (AABB(size=[4.0, 2.0]), AABB(size=[4.0, 2.0]))
    >>> square = bp.AABB((2, 2)), bp.Rectangle(2, 2)
    >>> [bp.Shapes(shape, [0, 0], rotations=np.pi / 4).boxes[0, 1].round(2).tolist() for shape in square]
    [[1.0, 1.0], [1.41, 1.41]]
    """

    __slots__ = ()
    kind = ShapeKind.BOX
    size: Floats = parameter("size", "Full sizes along the axes, shape (d,), or (n, d) for many.")

    def __init__(self, size: ArrayLike, *more: ArrayLike, offset: ArrayLike | None = None) -> None:
        if more:
            if len(more) > 2:
                raise TypeError(f"AABB takes one size for each of 2 or 3 axes, not {1 + len(more)} sizes")
            own = {name: as_sizes(one, name) for name, one in zip("xyz", (size, *more), strict=False)}
            given = Parameter(side_by_side(own), all(one.single for one in own.values()))
        else:
            given = as_vectors(size, "size")
            require_positive(given, "size")
        count, dim = given.rows.shape
        records = np.zeros((count, 2 * dim))
        records[:, dim:] = given.rows / 2
        self._place(dim, records, {"size": given}, offset, None)


class Rectangle(Shape):
    """A rectangle that rotates with its actor, in the plane.

    Parameters
    ----------
    width, height : array_like, one number or (n,)
        Full sizes along x and y while it is not rotated; at least 0. Or one array of shape (2,) or (n, 2).
    offset, rotation : array_like, optional
        As in `Shape`, and so are errors.

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
    width: Any = parameter("width", "Size along x, or those of many, shape (n,).")
    height: Any = parameter("height", "Size along y, or those of many, shape (n,).")

    def __init__(
        self,
        width: ArrayLike,
        height: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ) -> None:
        own = _sizes({"width": width, "height": height})
        self._place(2, _oriented_records(side_by_side(own) / 2), own, offset, rotation)


class Box(Shape):
    """A box that rotates with its actor, in space.

    Parameters
    ----------
    x, y, z : array_like, one number or (n,)
        Full sizes along the axes while it is not rotated; at least 0. Or one array of shape (3,) or (n, 3).
    offset, rotation : array_like, optional
        As in `Shape`, and so are errors.

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
    x: Any = parameter("x", "Size along x, or those of many, shape (n,).")
    y: Any = parameter("y", "Size along y, or those of many, shape (n,).")
    z: Any = parameter("z", "Size along z, or those of many, shape (n,).")

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike | None = None,
        z: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ) -> None:
        own = _sizes({"x": x, "y": y, "z": z})
        self._place(3, _oriented_records(side_by_side(own) / 2), own, offset, rotation)


class Triangle(Shape):
    """A triangle with its inside, in the plane or in space.

    Parameters
    ----------
    corners : array_like, shape (3, d) or (n, 3, d)
        Relative to the actor, in any order; they may lie on one line.
    offset, rotation : array_like, optional
        As in `Shape`, and so are errors.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Triangle([[0, 0], [2, 0], [0, 1]])
    Triangle(corners=[[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    """

    __slots__ = ()
    kind = ShapeKind.TRIANGLE
    corners: Floats = parameter("corners", "The corners, shape (3, d), or (n, 3, d) for many.")

    def __init__(
        self, corners: ArrayLike, *, offset: ArrayLike | None = None, rotation: ArrayLike | None = None
    ) -> None:
        given = as_rows(corners, "corners", (3, None), "(3, d) or (n, 3, d)")
        dim = given.rows.shape[2]
        if dim not in (2, 3):
            raise ValueError(f"corners must have 2 or 3 numbers each, not {dim}")
        self._place(dim, given.rows.reshape(len(given.rows), 3 * dim), {"corners": given}, offset, rotation)


class ConvexPolygon(Shape):
    """A convex polygon with its inside, in the plane.

    Parameters
    ----------
    corners : array_like, shape (k, 2) or (n, k, 2)
        Three or more, in order around the polygon, in either direction; relative to the actor. Corners on a straight
        edge, and corners that coincide, are allowed. Polygons with different numbers of corners go into a list.
    offset, rotation : array_like, optional
        As in `Shape`, and so are errors; a polygon that is not convex or crosses itself is one.

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
    corners: Floats = parameter("corners", "The corners as given, shape (k, 2), or (n, k, 2) for many.")

    def __init__(
        self, corners: ArrayLike, *, offset: ArrayLike | None = None, rotation: ArrayLike | None = None
    ) -> None:
        given = as_rows(corners, "corners", (None, 2), "(k, 2) or (n, k, 2)")
        if given.rows.shape[1] < 3:
            raise ValueError(f"corners must be three or more, not {given.rows.shape[1]}")
        records = _counter_clockwise(given).reshape(len(given.rows), 2 * given.rows.shape[1])
        self._place(2, records, {"corners": given}, offset, rotation)


def _keep_ball(shape: Circle | Sphere, dim: int, radius: Any, offset: Any) -> None:
    if type(radius) in (float, int) and offset is None and 0 <= radius <= LARGEST:  # as games make them, one by one
        records = np.zeros((1, dim + 1))
        records[0, dim] = radius + 0.0  # no -0.0
        shape._set(dim, records, {"radius": records[:, dim]}, True)
        return
    own = {"radius": as_sizes(radius, "radius")}
    records = np.zeros((len(own["radius"].rows), dim + 1))
    records[:, dim] = own["radius"].rows
    shape._place(dim, records, own, offset, None)


def _ends(start: Any, end: Any) -> dict[str, Parameter]:
    begin = as_vectors(start, "start")
    return {"start": begin, "end": as_vectors(end, "end", begin.rows.shape[1])}


def _oriented_records(half: Floats) -> Floats:
    """Make the local records of what rotates about its center: center, half sizes, axes."""
    count, dim = half.shape
    records = np.zeros((count, 2 * dim + dim**2))
    records[:, dim : 2 * dim] = half
    records[:, 2 * dim :: dim + 1] = 1.0
    return records


def _sizes(by_axis: dict[str, Any]) -> dict[str, Parameter]:
    """Read sizes along the axes, or the first one as sizes along all of them."""
    first, *others = by_axis.values()
    if any(one is not None for one in others):
        return {name: as_sizes(one, name) for name, one in by_axis.items()}
    if np.ndim(first) == 0:
        raise TypeError(f"needs {' and '.join(by_axis)}, or one array of {len(by_axis)} sizes")
    given = as_vectors(first, "size", len(by_axis))
    require_positive(given, "size")
    columns = zip(by_axis, np.ascontiguousarray(given.rows.T), strict=True)
    return {name: Parameter(column, given.single) for name, column in columns}


def _about_axis(ends: dict[str, Any], radius: Any) -> dict[str, Parameter]:
    """Read the ends of an axis, which must differ, and the radius around it."""
    own = {name: as_vectors(end, name, 3) for name, end in ends.items()}
    common_count(own.items())  # before they are compared
    start, end = own
    differ = (own[start].rows != own[end].rows).any(axis=1)
    require_rows(differ, end, own[end if len(own[end].rows) == len(differ) else start], f"is {start}: it has no axis")
    return own | {"radius": as_sizes(radius, "radius")}


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
    """Return the edges before and after each corner; an edge of zero length is replaced by the one before it."""
    count = corners.shape[1]
    edges = np.roll(corners, -1, axis=1) - corners
    long = np.where(edges.any(axis=2), np.arange(count), -1)
    last = np.maximum.accumulate(long, axis=1)
    last = np.where(last < 0, long.max(axis=1, keepdims=True), last)
    after = np.take_along_axis(edges, np.maximum(last, 0)[..., np.newaxis], axis=1)
    return np.roll(after, 1, axis=1), after
