"""Shapes as coal knows them: convex sets of points with a radius, and meshes.

Everything is brought to the size of the hull that it is compared with, by a power of two, and near the origin, so that
coal's tolerances mean the same for ants and for planets.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.contacts.geometry_poses import KeptByGeometry
from broadphase.errors import MissingExtraError
from broadphase.shapes.kinds import ShapeKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.shapes import Shapes
    from broadphase.shapes.solids import Geometry

    Floats = NDArray[np.float64]

__all__ = ["Frame", "Solid", "coal", "facets_of", "frame_of", "solids_of", "triangle_solid"]

_BOX_CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
_BOX_FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))


@cache
def coal() -> Any:
    """Import coal, or say how to install it.

    Raises
    ------
    MissingExtraError
        It is not installed.
    """
    try:
        return import_module("coal")
    except ModuleNotFoundError as error:
        raise MissingExtraError('convex hulls need coal: pip install "broadphase[coal]"', name=error.name) from error


class Frame(NamedTuple):
    """Where and how large the world is for coal: a place x of the world is at ``(x - origin) / 2**exponent``."""

    origin: Floats
    exponent: int

    def lengths(self, values: Any) -> Any:
        """Bring lengths or directions into the frame."""
        return np.ldexp(values, -self.exponent)

    def places(self, values: Floats) -> Floats:
        """Bring places into the frame."""
        placed: Floats = np.ldexp(values - self.origin, -self.exponent)
        return placed


class Solid(NamedTuple):
    """A geometry of coal and its transform."""

    geometry: Any
    transform: Any


def frame_of(shapes: Shapes, row: int) -> Frame:
    """Choose the frame in which a hull or a mesh is at the origin, and of size 1 to 2."""
    record: Any = shapes.store.placed(row)
    return Frame(record[1:4].copy(), int(np.frexp(np.abs(record[13:19]).max())[1]))


def solids_of(shapes: Shapes, row: int, frame: Frame, offset: Floats | None = None) -> list[Solid]:
    """Make a row's shape for coal; a compound is one solid for each of its parts."""
    record: Any = shapes.store.placed(row)
    kind = ShapeKind(shapes.store.kind(row))
    if kind in (ShapeKind.HULL, ShapeKind.MESH):
        geometry: Any = shapes.geometries[int(record[0])]
        make = _hull if kind == ShapeKind.HULL else _mesh
        origin = record[1:4] if offset is None else record[1:4] + offset
        return [Solid(make(geometry, frame.exponent), _transform(record[4:13].reshape(3, 3), frame.places(origin)))]
    if kind != ShapeKind.COMPOUND:
        return [_simple(kind, record, frame, offset)]
    parts, at = [], 0
    while at < len(record):
        length = int(record[at + 1])
        parts.append(_simple(ShapeKind(int(record[at])), record[at + 2 : at + 2 + length], frame, offset))
        at += 2 + length
    return parts


def triangle_solid(corners: Floats, frame: Frame) -> Solid:
    """Make a triangle, placed in the world."""
    return _triangle(frame.places(corners))


def facets_of(hull: Geometry) -> tuple[Floats, Floats]:
    """Give the planes of a hull in its own frame: it is where ``normals @ x <= limits``; made once."""
    return _facets(hull)


def _simple(kind: ShapeKind, record: Floats, frame: Frame, offset: Floats | None) -> Solid:
    places = record if offset is None else record.copy()
    if offset is not None:
        count = {ShapeKind.POINT: 1, ShapeKind.BALL: 1, ShapeKind.ORIENTED_BOX: 1, ShapeKind.TRIANGLE: 3}.get(kind, 2)
        places[: 3 * count] += np.tile(offset, count)
    if kind in (ShapeKind.POINT, ShapeKind.BALL):
        radius = frame.lengths(record[3]) if kind == ShapeKind.BALL else 0.0
        return Solid(coal().Sphere(float(radius)), _transform(None, frame.places(places[:3])))
    if kind in (ShapeKind.SEGMENT, ShapeKind.CAPSULE):
        radius = frame.lengths(record[6]) if kind == ShapeKind.CAPSULE else 0.0
        return _capsule(frame.places(places[:3]), frame.places(places[3:6]), float(radius))
    if kind == ShapeKind.BOX:
        lower, upper = frame.places(places[:3]), frame.places(places[3:6])
        return Solid(_box(*map(float, (upper - lower) / 2)), _transform(None, (lower + upper) / 2))
    if kind == ShapeKind.ORIENTED_BOX:
        half = frame.lengths(record[3:6])
        return Solid(_box(*map(float, half)), _transform(record[6:15].reshape(3, 3), frame.places(places[:3])))
    return _triangle(frame.places(places[:9].reshape(3, 3)))


def _transform(axes: Floats | None, origin: Floats) -> Any:
    turned = np.eye(3) if axes is None else np.ascontiguousarray(axes.T)
    return coal().Transform3s(turned, np.ascontiguousarray(origin))


def _capsule(start: Floats, end: Floats, radius: float) -> Solid:
    along = end - start
    length = float(np.linalg.norm(along))
    middle = (start + end) / 2
    if length == 0:
        return Solid(coal().Sphere(radius), _transform(None, middle))
    along = along / length
    side = np.cross(along, np.eye(3)[int(np.abs(along).argmin())])
    side /= np.linalg.norm(side)
    return Solid(coal().Capsule(radius, length), _transform(np.stack([side, np.cross(along, side), along]), middle))


def _convex(points: Floats, faces: Any) -> Any:
    library = coal()
    vertices, triangles = library.StdVec_Vec3s(), library.StdVec_Triangle()
    for point in points:
        vertices.append(point)
    for face in faces:
        triangles.append(library.Triangle(*map(int, face)))
    return library.Convex(vertices, triangles)


@lru_cache(maxsize=1024)
def _box(x: float, y: float, z: float) -> Any:
    # Not coal's own Box, which is larger by 1e-10.
    faces = [(a, b, c) for a, b, c, _ in _BOX_FACES] + [(a, c, d) for a, _, c, d in _BOX_FACES]
    return _convex(_BOX_CORNERS * [x, y, z], faces)


def _triangle(corners: Floats) -> Solid:
    middle = corners.mean(axis=0)
    return Solid(_convex(corners - middle, [(0, 1, 2), (0, 2, 1)]), _transform(None, middle))


def _make_hull(hull: Geometry, exponent: int) -> Any:
    library = coal()
    points = library.StdVec_Vec3s()
    for point in np.ldexp(hull.vertices, -exponent):
        points.append(point)
    return library.Convex.convexHull(points, True, "Qt")


def _make_mesh(mesh: Any, exponent: int) -> Any:
    model = coal().BVHModelOBBRSS()
    model.beginModel(len(mesh.faces), len(mesh.vertices))
    model.addVertices(np.ldexp(mesh.vertices, -exponent))
    model.addTriangles(mesh.faces.astype(np.int64))
    model.endModel()
    return model


def _make_facets(hull: Geometry) -> tuple[Floats, Floats]:
    exponent = int(np.frexp(np.abs(hull.vertices).max())[1])
    solid = _hull(hull, exponent)
    points = np.array(solid.points())
    faces = np.array([[solid.polygons(k)[c] for c in range(3)] for k in range(solid.num_polygons)])
    corners = points[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    normals, corners = normals[lengths > 0] / lengths[lengths > 0, np.newaxis], corners[lengths > 0]
    outwards = np.einsum("kj,kj->k", normals, corners[:, 0] - points.mean(axis=0)) >= 0
    normals[~outwards] *= -1
    # No point of the hull is beyond.
    limits = (points @ normals.T).max(axis=0)
    return normals, np.ldexp(limits, exponent)


_hull = KeptByGeometry(_make_hull)
_mesh = KeptByGeometry(_make_mesh)
_facets = KeptByGeometry(_make_facets)
