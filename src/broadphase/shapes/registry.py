"""The types of shapes, one row each: read by records, scene files, the demo, pictures and tests."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from broadphase.shapes.compound import Compound
from broadphase.shapes.height_field import HeightField
from broadphase.shapes.point_cloud import PointCloud
from broadphase.shapes.simple import (
    AABB,
    Box,
    Capsule,
    Circle,
    Cone,
    ConvexPolygon,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Point,
    Rectangle,
    Sector,
    Segment,
    Sphere,
    Triangle,
)
from broadphase.shapes.solids import ConvexHull, Mesh
from broadphase.shapes.turning import quaternions_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from broadphase.shapes.kinds import ShapeKind
    from broadphase.shapes.shape import Shape

    Floats = NDArray[np.float64]

__all__ = ["TYPES", "Drawn", "Outlines", "ShapeType", "rotation_of", "type_of", "unless_zero"]

KeyForm: TypeAlias = Literal["length", "number", "vector", "corners", "grid"]
CORNERS_OF_CAPSULE = 25  # of each round end


class Drawn(NamedTuple):
    """Pieces of one form that n shapes are drawn with: vertex v of the form at ``anchor + matrix @ v``.

    `form` is a name of `broadphase.plotting.pieces.unit_form`; `anchors` have shape (n, d), `matrices` (n, d, d). With
    `aligned`, a piece does not rotate with its body.
    """

    form: str
    anchors: Floats
    matrices: Floats
    aligned: bool = False


class Outlines(NamedTuple):
    """Pieces with a form of their own: the corners of n polygons in order, one array (k, d) each, from `anchors` on."""

    corners: list[Floats]
    anchors: Floats


@dataclass(frozen=True, slots=True)
class ShapeType:
    """A type of shapes.

    Attributes
    ----------
    shape_class : type
        Its class. The kind of its records is ``shape_class.kind``.
    dimensions : tuple of int
        Where there are such shapes: 2, 3 or both.
    make : callable, optional
        Makes a shape from its local record and the dimension. Default: `shape_from_record` has more to look up, for
        compounds and for what is kept elsewhere.
    picture : callable, optional
        Gives the pieces that local records (n, length) of a dimension are drawn with. Default: as `make`.
    keys : mapping of str to str, optional
        The keys in scene files, which are arguments of the class, and the form of each value: ``"length"``,
        ``"number"``, which may be left out, ``"vector"``, ``"corners"`` or ``"grid"``. Default: not in scene files in
        this way.
    rotates : bool
        Whether the class takes a rotation.
    solid : str
        The mesh that the demo draws it with, stretched to its box: ``"box"``, ``"ball"`` or ``"capsule"``.
    """

    shape_class: type[Shape]
    dimensions: tuple[int, ...]
    make: Callable[[Floats, int], Shape] | None = None
    picture: Callable[[Floats, int], list[Drawn | Outlines]] | None = None
    keys: Mapping[str, KeyForm] | None = None
    rotates: bool = True
    solid: Literal["box", "ball", "capsule"] = "box"

    @property
    def name(self) -> str:
        """Name of the class."""
        return self.shape_class.__name__

    @property
    def scene_name(self) -> str:
        """Its type in scene files: the name of the class in small letters, with underscores.

        >>> [row.scene_name for row in TYPES if row.name in ("AABB", "ConvexPolygon")]
        ['aabb', 'convex_polygon']
        """
        name = self.name
        return name.lower() if name.isupper() else "".join(f"_{c}" if c.isupper() else c for c in name).lower()[1:]


def unless_zero(offset: Floats) -> Floats | None:
    """Return an offset, or None where it is 0."""
    return offset if offset.any() else None


def rotation_of(axes: Floats, dim: int) -> Any:
    """Return the rotation that takes the coordinate axes to these; None if they are the same."""
    turn = axes.reshape(dim, dim).T
    if np.array_equal(turn, np.eye(dim)):
        return None
    return np.arctan2(turn[1, 0], turn[0, 0]) if dim == 2 else quaternions_of(turn[np.newaxis])[0]


# ---- Pictures ----


def _dots(numbers: Floats, dim: int) -> list[Drawn | Outlines]:
    return [Drawn("dot", numbers, np.zeros((len(numbers), dim, dim)))]


def _balls(numbers: Floats, dim: int) -> list[Drawn | Outlines]:
    return [Drawn("disc" if dim == 2 else "ball", numbers[:, :dim], numbers[:, dim, None, None] * np.eye(dim))]


def _lines(numbers: Floats, dim: int) -> list[Drawn | Outlines]:
    along = numbers[:, dim:] - numbers[:, :dim]
    return [Drawn("line", numbers[:, :dim], along[:, :, np.newaxis] * np.eye(1, dim))]


def _capsules(numbers: Floats, dim: int) -> list[Drawn | Outlines]:
    start, end, radii = numbers[:, :dim], numbers[:, dim : 2 * dim], numbers[:, 2 * dim]
    along = end - start
    if dim == 2:
        return [Outlines([_capsule(*each) for each in zip(along, radii.tolist(), strict=True)], start)]
    round_ends, side = radii[:, None, None] * np.eye(3), Drawn("cylinder", start, _about_axis(numbers))
    return [Drawn("ball", start, round_ends), Drawn("ball", end, round_ends), side]


def _cylinders(numbers: Floats, dim: int) -> list[Drawn | Outlines]:
    start, end, about = numbers[:, :3], numbers[:, 3:6], _about_axis(numbers)
    return [
        Drawn("cylinder", start, about),
        Drawn("plate", start, about * [1.0, -1.0, -1.0]),
        Drawn("plate", end, about),
    ]


def _cones(numbers: Floats, dim: int) -> list[Drawn | Outlines]:
    base, about = numbers[:, :3], _about_axis(numbers)
    return [Drawn("cone", base, about), Drawn("plate", base, about * [1.0, -1.0, -1.0])]


def _about_axis(numbers: Floats) -> Floats:
    """Make the matrices that take the z axis to axes, from one point to the next, and unit circles to their radii."""
    along = numbers[:, 3:6] - numbers[:, :3]
    length = np.linalg.norm(along, axis=1, keepdims=True)
    ahead = along / np.where(length > 0, length, 1.0)
    across = np.cross(ahead, np.eye(3)[np.abs(ahead).argmin(axis=1)])
    width = np.linalg.norm(across, axis=1, keepdims=True)
    across *= numbers[:, 6:7] / np.where(width > 0, width, 1.0)
    return np.stack([across, np.cross(ahead, across), along], axis=2)


def _sectors(numbers: Floats, dim: int) -> list[Drawn | Outlines]:
    tips = numbers[:, :2]
    outlines = []
    for begin, end in (numbers[:, 2:].reshape(-1, 2, 2) - tips[:, np.newaxis]).tolist():
        first, last = np.arctan2(begin[1], begin[0]), np.arctan2(end[1], end[0])
        angles = first + np.linspace(0.0, (last - first) % (2 * np.pi), CORNERS_OF_CAPSULE)
        arc = np.hypot(*begin) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        outlines.append(np.concatenate([np.zeros((1, 2)), arc]))
    return [Outlines(outlines, tips)]


def _boundaries(numbers: Floats, dim: int) -> list[Drawn | Outlines]:
    normals = numbers[:, dim:]
    if dim == 2:
        along = np.stack([normals[:, 1], -normals[:, 0]], axis=1)
        return [Drawn("boundary", numbers[:, :2], np.stack([along, normals], axis=2))]
    across = np.cross(normals, np.eye(3)[np.abs(normals).argmin(axis=1)])
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    return [Drawn("boundary", numbers[:, :3], np.stack([across, np.cross(normals, across), normals], axis=2))]


def _capsule(along: Floats, radius: float) -> Floats:
    """Make the outline of a capsule in the plane that goes from the origin along a vector."""
    ahead = np.arctan2(along[1], along[0]) + np.pi / 2
    angles = np.linspace(0.0, np.pi, CORNERS_OF_CAPSULE)
    back, front = (np.stack([np.cos(turn), np.sin(turn)], axis=1) for turn in (ahead + angles, ahead + np.pi + angles))
    return np.concatenate([radius * back, along + radius * front])


def _aligned_boxes(numbers: Floats, dim: int) -> list[Drawn | Outlines]:
    return [Drawn("box", numbers[:, :dim], numbers[:, dim:, np.newaxis] * np.eye(dim), aligned=True)]


def _oriented(form: str) -> Callable[[Floats, int], list[Drawn | Outlines]]:
    """Make the picture of what has a center, half sizes and axes."""

    def picture(numbers: Floats, dim: int) -> list[Drawn | Outlines]:
        axes = np.swapaxes(numbers[:, 2 * dim :].reshape(-1, dim, dim), 1, 2)
        return [Drawn(form, numbers[:, :dim], axes * numbers[:, np.newaxis, dim : 2 * dim])]

    return picture


def _polygons(numbers: Floats, dim: int) -> list[Drawn | Outlines]:
    return [Outlines(list(numbers.reshape(len(numbers), -1, dim)), np.zeros((len(numbers), dim)))]


# ---- The rows ----


def _oriented_box(rotates: Any) -> Callable[[Floats, int], Shape]:
    def make(numbers: Floats, dim: int) -> Shape:
        sizes, rotation = 2 * numbers[dim : 2 * dim], rotation_of(numbers[2 * dim :], dim)
        shape: Shape = rotates(*sizes, offset=unless_zero(numbers[:dim]), rotation=rotation)
        return shape

    return make


def _ellipsoid(numbers: Floats, dim: int) -> Shape:
    return Ellipsoid(numbers[3:6], offset=unless_zero(numbers[:3]), rotation=rotation_of(numbers[6:], dim))


def _sector(numbers: Floats, dim: int) -> Shape:
    tip = numbers[:2]
    begin, end = numbers[2:4] - tip, numbers[4:] - tip
    angle = np.arctan2(begin[0] * end[1] - begin[1] * end[0], begin @ end) % (2 * np.pi)
    along = np.array([end[1] - begin[1], begin[0] - end[0]]) + begin + end  # across and along the chord: one may be 0
    rotation = np.arctan2(along[1], along[0])
    return Sector(np.hypot(*begin), min(angle, np.pi), offset=unless_zero(tip), rotation=rotation or None)


def _half_space(numbers: Floats, dim: int) -> Shape:
    point, normal = numbers[:dim], numbers[dim:]
    height = point @ normal
    if np.array_equal(normal * height, point):
        return HalfSpace(normal, height)
    return HalfSpace(normal, offset=point)


TYPES = (
    ShapeType(
        Point, (2, 3), lambda numbers, dim: Point(offset=unless_zero(numbers)), _dots, keys={}, rotates=False
    ),
    ShapeType(
        Circle, (2,), lambda numbers, dim: Circle(numbers[dim], offset=unless_zero(numbers[:dim])), _balls,
        keys={"radius": "length"}, rotates=False, solid="ball",
    ),
    ShapeType(
        Sphere, (3,), lambda numbers, dim: Sphere(numbers[dim], offset=unless_zero(numbers[:dim])), _balls,
        keys={"radius": "length"}, rotates=False, solid="ball",
    ),
    ShapeType(
        Segment, (2, 3), lambda numbers, dim: Segment(numbers[:dim], numbers[dim:]), _lines,
        keys={"start": "vector", "end": "vector"},
    ),
    ShapeType(
        Capsule, (2, 3), lambda numbers, dim: Capsule(numbers[:dim], numbers[dim:-1], numbers[-1]), _capsules,
        keys={"start": "vector", "end": "vector", "radius": "length"}, solid="capsule",
    ),
    ShapeType(
        Cylinder, (3,), lambda numbers, _: Cylinder(numbers[:3], numbers[3:6], numbers[6]), _cylinders,
        keys={"start": "vector", "end": "vector", "radius": "length"}, solid="capsule",
    ),
    ShapeType(
        Cone, (3,), lambda numbers, _: Cone(numbers[:3], numbers[3:6], numbers[6]), _cones,
        keys={"base": "vector", "apex": "vector", "radius": "length"}, solid="capsule",
    ),
    ShapeType(Ellipsoid, (3,), _ellipsoid, _oriented("ball"), keys={"radii": "vector"}, solid="ball"),
    ShapeType(Sector, (2,), _sector, _sectors, keys={"radius": "length", "angle": "length"}),
    ShapeType(HalfSpace, (2, 3), _half_space, _boundaries, keys={"normal": "vector", "height": "number"}),
    ShapeType(
        Rectangle, (2,), _oriented_box(Rectangle), _oriented("box"), keys={"width": "length", "height": "length"}
    ),
    ShapeType(Box, (3,), _oriented_box(Box), _oriented("box"), keys={"x": "length", "y": "length", "z": "length"}),
    ShapeType(
        AABB, (2, 3), lambda numbers, dim: AABB(2 * numbers[dim:], offset=unless_zero(numbers[:dim])), _aligned_boxes,
        keys={"size": "vector"}, rotates=False,
    ),
    ShapeType(
        Triangle, (2, 3), lambda numbers, dim: Triangle(numbers.reshape(3, dim)), _polygons, keys={"corners": "corners"}
    ),
    ShapeType(
        ConvexPolygon, (2,), lambda numbers, dim: ConvexPolygon(numbers.reshape(-1, dim)), _polygons,
        keys={"corners": "corners"},
    ),
    ShapeType(Compound, (2, 3)),
    ShapeType(ConvexHull, (3,)),
    ShapeType(Mesh, (3,)),
    ShapeType(HeightField, (3,), keys={"heights": "grid", "cell": "length"}),
    ShapeType(PointCloud, (3,), keys={"points": "corners", "radius": "number"}),
)  # fmt: skip
"""One row for each class but `CustomShape`."""

_OF_RECORD = MappingProxyType({(row.shape_class.kind, dim): row for row in TYPES for dim in row.dimensions})


def type_of(kind: ShapeKind, dim: int) -> ShapeType:
    """Return the type that records of a kind have in a dimension.

    >>> from broadphase.shapes.kinds import ShapeKind
    >>> type_of(ShapeKind.BALL, 3).name
    'Sphere'
    """
    return _OF_RECORD[kind, dim]
