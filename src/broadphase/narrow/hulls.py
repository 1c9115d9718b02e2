"""The narrow phase of pairs with a convex hull, by coal, one pair after the other.

A shape is the hull of some points, its core, and a radius around that. Coal (https://github.com/coal-library/coal) runs
GJK on the cores, and trees over the triangles of meshes. A mesh against a hull is the nearest or deepest of its
triangles against the hull.

What coal finds of two cores is accepted if the gap along its normal is the distance that it says, which proves both.
Cores that overlap or touch, where GJK and EPA may not converge, are separated along the normals of their faces and the
cross products of their edges: one of these is the shortest way out, by the theorem of separating axes.

Coordinates are scaled by a power of two to the size of the hull, and moved near the origin, so that tolerances mean the
same at every scale. The two of each pair are always computed in the same order, so that swapping them swaps the normal.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.boxes import from_triangles
from broadphase.errors import MissingExtraError
from broadphase.index.bvh import BVH
from broadphase.narrow.poses import KeptByGeometry, RowPairs, kinds_of, pose_of
from broadphase.shapes.kinds import ShapeKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from broadphase.shapes import Shapes
    from broadphase.shapes.solids import Geometry

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]
    Found = tuple[Floats, Floats]
    Place = tuple[float, float]

__all__ = ["contacts_of", "impacts", "overlap_mask", "ray_hits", "separations"]

_TOLERANCE = 1e-12  # of coal; with its default of 1e-6, a gap of 1e-9 would be zero
# What coal finds of cores apart is accepted if it is so exact, relative to the coordinates.
_EXACT = 1e-11
# Two hulls with more products of directions and corners, a tenth of a second, are tried by coal's EPA first.
_MANY_PRODUCTS = 20_000_000
_AT_ONCE = 1 << 14  # directions: some megabytes
_ROUNDING = 1e-15  # of gaps along a direction
# In sizes of the hull: shapes nearer than `_NEAR` touch. A motion that has not got there after `_MOST_STEPS` steps is
# grazing; the time reached so far is returned, which is not too late.
_NEAR, _WIDE, _MOST_STEPS = 1e-12, 1e-6, 100
_MOST_CONTACTS = 1 << 20  # of a hull with the triangles of a mesh


class _Pair(NamedTuple):
    """The convex parts of two shapes, in one frame: a hull, and the other."""

    frame: _Frame
    first: list[_Solid]
    second: list[_Solid]
    sign: float  # -1: the hull is the second of the pair, or of two hulls they are swapped


class _Gap(NamedTuple):
    """How far apart two solids are, in their frame."""

    distance: float
    normal: Floats
    first: _Solid
    second: _Solid
    middle: Floats  # (3,): midway between the nearest points of both, or those that are the deepest in the other


def overlap_mask(asked: RowPairs) -> NDArray[np.bool_]:
    """Find which pairs overlap."""
    return np.array([_closest(pair).distance <= 0 for pair in _pairs(asked)], np.bool_)


def separations(asked: RowPairs) -> Found:
    """Compute the signed distance of each pair, and the direction of the second."""
    gaps, normals = np.empty(len(asked.first)), np.empty((len(asked.first), 3))
    for k, pair in enumerate(_pairs(asked)):
        gap = _closest(pair)
        gaps[k], normals[k] = np.ldexp(gap.distance, pair.frame.exponent), pair.sign * gap.normal
    return gaps, normals


def contacts_of(asked: RowPairs) -> tuple[Floats, Floats, NDArray[np.int8], Floats]:
    """Find the contacts of each pair."""
    count = len(asked.first)
    normals, depths = np.empty((count, 3)), np.empty(count)
    counts, points = np.empty(count, np.int8), np.full((count, 4, 3), np.nan)
    for k, pair in enumerate(_pairs(asked)):
        gap = _closest(pair)
        where = _common_points(gap)
        normals[k], depths[k], counts[k] = (
            pair.sign * gap.normal,
            np.ldexp(max(-gap.distance, 0.0), pair.frame.exponent) + 0.0,
            len(where),
        )
        points[k, : len(where)] = np.ldexp(where, pair.frame.exponent) + pair.frame.origin
    return normals, depths, counts, points


def impacts(asked: RowPairs, motions: Floats) -> Found:
    """Find when the two of each pair first touch, while the first moves."""
    times, normals = np.full(len(asked.first), np.inf), np.zeros((len(asked.first), 3))
    for k, pair in enumerate(_pairs(asked, motions)):
        motion = pair.frame.lengths(pair.sign * motions[k])
        for first in pair.first:
            for second in pair.second:
                time, normal = _first_touch(first, second, motion, times[k])
                if time < times[k]:
                    times[k], normals[k] = time, pair.sign * normal
    return times, normals


def ray_hits(shapes: Shapes, rows: Rows, origins: Floats, directions: Floats) -> Found:
    """Find where each ray enters a hull: where it is behind all planes of the hull's faces."""
    times, normals = np.full(len(rows), np.inf), np.zeros((len(rows), 3))
    for row in np.unique(rows):
        rays = np.flatnonzero(rows == row)
        pose = pose_of(shapes, int(row))
        planes, limits = _facets(shapes.geometries[pose.number])
        beyond = (origins[rays] - pose.origin) @ pose.axes.T @ planes.T - limits
        speeds = directions[rays] @ pose.axes.T @ planes.T
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            crossed = -beyond / speeds
        enters = np.where(speeds < 0, crossed, np.where((speeds == 0) & (beyond > 0), np.inf, -np.inf))
        leaves = np.where(speeds > 0, crossed, np.inf).min(axis=1)
        face = enters.argmax(axis=1)
        time = np.maximum(enters.max(axis=1), 0.0)
        hit = np.flatnonzero((time <= leaves) & np.isfinite(time))
        inside = np.all(beyond[hit] <= 0, axis=1, keepdims=True)
        times[rays[hit]] = np.where(inside[:, 0], 0.0, time[hit])
        back = -directions[rays[hit]]
        lengths = np.linalg.norm(back, axis=1, keepdims=True)
        against = back / np.where(lengths > 0, lengths, 1.0)  # the normal of a ray that begins inside
        normals[rays[hit]] = np.where(inside, against, planes[face[hit]] @ pose.axes)
    return times, normals


def _pairs(asked: RowPairs, motions: Floats | None = None) -> Iterator[_Pair]:
    """Make the solids of each pair; of a mesh, the triangle that is nearest or deepest, or all that are on the way."""
    frames: dict[tuple[bool, int], _Frame] = {}
    kinds = kinds_of(asked.a, asked.first), kinds_of(asked.b, asked.second)
    for k, (row, other) in enumerate(zip(asked.first.tolist(), asked.second.tolist(), strict=True)):
        offset = None if asked.offsets is None else asked.offsets[k]
        leads = kinds[0][k] == ShapeKind.HULL
        if leads and kinds[1][k] == ShapeKind.HULL:
            leads = _order_of(asked.a, row) <= _order_of(asked.b, other, offset)
        hull = (True, row) if leads else (False, other)
        if hull not in frames:
            frames[hull] = _frame_of(asked.a if leads else asked.b, hull[1])
        frame = frames[hull]
        first, second = _solids_of(asked.a, row, frame), _solids_of(asked.b, other, frame, offset)
        one = asked.some(np.array([k]))
        moving = None if motions is None else motions[k : k + 1]
        if kinds[0][k] == ShapeKind.MESH:
            first = _triangles(one, frame, second[0], first[0], moving, True)
        elif kinds[1][k] == ShapeKind.MESH:
            second = _triangles(one, frame, first[0], second[0], moving, False)
        yield _Pair(frame, first, second, 1.0) if leads else _Pair(frame, second, first, -1.0)


def _order_of(shapes: Shapes, row: int, offset: Floats | None = None) -> tuple[list[float], bytes]:
    """Order hulls by their places, and those in one place by their points."""
    record: Any = shapes.store.placed(row)
    place = record[1:].copy()
    if offset is not None:
        place[:3] += offset
    return place.tolist(), shapes.geometries[int(record[0])].vertices.tobytes()


def _triangles(
    one: RowPairs, frame: _Frame, hull: _Solid, mesh: _Solid, motions: Floats | None, is_first: bool
) -> list[_Solid]:
    """Make the triangles of a mesh that count against a hull; `motions` are those of the first of both."""
    shapes, row = (one.a, int(one.first[0])) if is_first else (one.b, int(one.second[0]))
    offset = None if is_first or one.offsets is None else one.offsets[0]
    if motions is None:
        faces = np.array([_closest_face(hull, mesh)], np.int32)
    else:
        coming = -motions[0] if is_first else motions[0]  # the hull, seen from the mesh
        box = one.boxes(np.zeros(1))[1 if is_first else 0][0].copy()
        box[0] += np.minimum(coming, 0)
        box[1] += np.maximum(coming, 0)
        faces = _triangles_near(shapes, row, box + np.array([[-1e-15], [1e-15]]) * np.abs(box).max(), offset)
    return [_triangle_solid(corners, frame) for corners in _placed_triangles(shapes, row, faces, offset)]


def _closest_face(hull: _Solid, mesh: _Solid) -> int:
    library = coal()
    request, result = library.CollisionRequest(), library.CollisionResult()
    request.num_max_contacts = _MOST_CONTACTS
    if library.collide(*mesh.parts, *hull.parts, request, result):
        return int(min(result.getContacts(), key=lambda contact: (contact.penetration_depth, contact.b1)).b1)
    nearest = library.DistanceResult()
    library.distance(*mesh.parts, *hull.parts, _request(), nearest)
    return int(nearest.b1)


def _closest(pair: _Pair) -> _Gap:
    """Find the parts that are nearest to each other, or deepest in each other."""
    gaps = (_gap(first, second) for first in pair.first for second in pair.second)
    return min(gaps, key=lambda gap: gap.distance)


def _gap(first: _Solid, second: _Solid) -> _Gap:
    """Find how far apart two solids are, and in which direction."""
    corners, others = _corners(first), _corners(second)
    radii = first.radius + second.radius
    result = coal().DistanceResult()
    distance = float(coal().distance(*first.parts, *second.parts, _request(), result))
    normal = np.array(result.normal)
    tolerance = _EXACT * (1 + np.abs(others).max())
    is_unit = abs(np.linalg.norm(normal) - 1) < _EXACT
    if tolerance < distance < np.inf and is_unit and _gap_along(normal, corners, others) > distance - tolerance:
        nearest = np.array([result.getNearestPoint1(), result.getNearestPoint2()])
        middle = (nearest + np.outer([first.radius, -second.radius], normal)).mean(axis=0)
        return _Gap(distance - radii, normal, first, second, middle)
    distance, normal = _shortest_way_out(first, second, normal)
    if distance > 0:
        found, way = _apart(first, second)
        if _gap_along(way, corners, others) >= distance:  # not where their faces touch but for rounding
            distance, normal = found, way
    return _Gap(distance - radii, normal, first, second, _meeting_point(first, second, normal))


def _gap_along(normal: Floats, corners: Floats, others: Floats) -> float:
    return float((others @ normal).min() - (corners @ normal).max())


def _shortest_way_out(first: _Solid, second: _Solid, guess: Floats) -> tuple[float, Floats]:
    """Find the largest gap of two cores along any direction that may separate them, and that direction.

    The gap is minus their penetration depth if they overlap. If they do not, it is above 0, and at most their distance.
    `guess` is what EPA says of the direction; it is taken if there are too many others and it is right.
    """
    corners, others = _corners(first), _corners(second)
    faces, edges = _turned(first, first.core.normals), _turned(first, first.core.edges)
    other_faces, other_edges = _turned(second, second.core.normals), _turned(second, second.core.edges)
    count = len(faces) + len(other_faces) + len(edges) * len(other_edges)
    if count * (len(corners) + len(others)) > _MANY_PRODUCTS and abs(np.linalg.norm(guess) - 1) < _EXACT:
        found = _gap_along(guess, corners, others)
        if -np.inf < found <= 0 and found >= _best_of([faces, other_faces], corners, others)[0]:
            return found, guess
    step = max(1, _AT_ONCE // max(1, len(other_edges)))
    crossed = (
        np.cross(edges[begin : begin + step, np.newaxis], other_edges).reshape(-1, 3)
        for begin in range(0, len(edges), step)
    )
    return _best_of(chain([faces, other_faces], crossed), corners, others)


def _best_of(portions: Iterable[Floats], corners: Floats, others: Floats) -> tuple[float, Floats]:
    """Find the direction with the largest gap, and that; of directions that are equal but for rounding the first."""
    best, way = -np.inf, np.array([1.0, 0.0, 0.0])
    for directions in portions:
        lengths = np.linalg.norm(directions, axis=1)
        some = lengths > 0
        normals = directions[some] / lengths[some, np.newaxis]
        if not len(normals):
            continue
        one, two = corners @ normals.T, others @ normals.T
        gaps = np.concatenate([two.min(axis=0) - one.max(axis=0), one.min(axis=0) - two.max(axis=0)])
        at = int((gaps > gaps.max() - _ROUNDING).argmax())
        if gaps[at] > best + _ROUNDING:
            best, way = float(gaps[at]), normals[at % len(normals)] * (1.0 if at < len(normals) else -1.0)
    return best, way


def _apart(first: _Solid, second: _Solid) -> tuple[float, Floats]:
    """Find the distance of two cores that do not overlap, and its direction: that of their nearest faces."""
    (faces, count), (others, other_count) = _faces_of(first), _faces_of(second)
    one, two = (rows.reshape(-1).astype(np.int32) for rows in np.indices((count, other_count)))
    found: Any = _native.shape_distances(faces, others, one, two, None)
    gaps, normals = found
    at = int(gaps.argmin())
    return float(gaps[at]), normals[at]


def _faces_of(solid: _Solid) -> tuple[_native.ShapeStore, int]:
    """Make the surface of a core, a point, a segment, or triangles, and the number of these."""
    corners = _corners(solid)
    kind = {1: ShapeKind.POINT, 2: ShapeKind.SEGMENT}.get(len(corners), ShapeKind.TRIANGLE)
    faces = solid.core.triangles if len(corners) > 2 else np.arange(len(corners))[np.newaxis]
    records = corners[faces].reshape(len(faces), -1)
    count, size = records.shape
    store = _native.ShapeStore(3)
    rows, at = np.arange(count, dtype=np.int32), np.zeros((count, 3))
    store.set(rows, np.full(count, kind, np.uint8), np.full(count, size, np.int32), records.ravel())
    store.place(rows, at, None, at.copy(), None, np.zeros((count, 2, 3)))
    return store, count


@cache
def _request() -> Any:
    request = coal().DistanceRequest()
    request.gjk_tolerance, request.gjk_max_iterations = _TOLERANCE, 1000
    request.epa_tolerance, request.epa_max_iterations = _TOLERANCE, 1000
    return request


def _common_points(gap: _Gap) -> Floats:
    """Find the corners of the area in which two solids touch, midway between them, (k, 3), in the frame."""
    # Not by coal's contact patches: those of edges reach beyond the shapes.
    return _common_area(_corners(gap.first), _corners(gap.second), gap.normal, gap.middle)


def _meeting_point(first: _Solid, second: _Solid, normal: Floats) -> Floats:
    """Find a point midway between the surfaces, where they first touch if the second comes against the normal."""
    corners, others = _corners(first), _corners(second)
    height = ((corners @ normal).max() + first.radius + (others @ normal).min() - second.radius) / 2
    axes = _across(normal)
    outlines = _face(corners, normal, axes), _face(others, -normal, axes)
    common = _common(*outlines)
    if not common and len(outlines[0]) == len(outlines[1]) == 2:
        common = [_crossing(*outlines)]
    place = np.array(common or min(outlines, key=len)).mean(axis=0)
    middle: Floats = place @ axes + height * normal
    return middle


def _first_touch(first: _Solid, second: _Solid, motion: Floats, before: float) -> tuple[float, Floats]:
    """Advance as far as the planes across the gap allow, again and again: both are convex."""
    moved = first._replace(transform=coal().Transform3s(first.transform))
    start, time = np.array(first.transform.getTranslation()), 0.0
    corners, others, radii = _corners(first), _corners(second), first.radius + second.radius
    normal: Floats = np.zeros(3)
    for _ in range(_MOST_STEPS):
        gap = _gap(moved, second)
        way = gap.normal
        # Where the gap is next to nothing, its normal is little but rounding, and that of a wider one is the better.
        if time == 0 or gap.distance > _WIDE:
            normal = way
        # The first may go this far along the normal, whatever rounding did to that, before it touches.
        free = _gap_along(way, corners, others) - radii - time * float(motion @ way)
        if gap.distance <= (_NEAR if time > 0 else 0.0) or free <= 0:
            return time, normal
        speed = float(motion @ way)
        if speed <= 0:
            return np.inf, normal
        time += free / speed
        if time > 1 or time >= before:
            return np.inf, normal
        moved.transform.setTranslation(start + time * motion)
    return time, normal


def _corners(solid: _Solid) -> Floats:
    """Return the points whose hull the core of a solid is, in the frame."""
    corners: Floats = _turned(solid, solid.core.points) + np.array(solid.transform.getTranslation())
    return corners


def _turned(solid: _Solid, directions: Floats) -> Floats:
    turned: Floats = directions @ np.array(solid.transform.getRotation()).T
    return turned


# Shapes as coal has them: convex sets of points, without their radius, and meshes.

_BOX_CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
_BOX_FACES = np.array([
    [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
    [1, 5, 7], [1, 7, 3],
])  # fmt: skip
_BOTH_SIDES = np.array([[0, 1, 2], [0, 2, 1]])


@cache
def coal() -> Any:
    """Import coal.

    Raises
    ------
    MissingExtraError
        It is not installed; the message says how to install it.
    """
    try:
        return import_module("coal")
    except ModuleNotFoundError as error:
        raise MissingExtraError('convex hulls need coal: pip install "broadphase[coal]"', name=error.name) from error


class _Frame(NamedTuple):
    """The scaled frame in which coal computes: a point x of the world is at ``(x - origin) / 2**exponent``."""

    origin: Floats
    exponent: int

    def lengths(self, values: Any) -> Any:
        """Convert lengths or directions to the frame."""
        return np.ldexp(values, -self.exponent)

    def places(self, values: Floats) -> Floats:
        """Convert points to the frame."""
        placed: Floats = np.ldexp(values - self.origin, -self.exponent)
        return placed


class _Core(NamedTuple):
    """A convex polytope, flat or not, or a mesh, as coal has it and as it is, both in a frame of its own."""

    geometry: Any
    points: Floats  # (k, 3)
    triangles: NDArray[np.int64]  # (m, 3): rows of `points`; empty if they are fewer than 3
    normals: Floats  # across faces, of any length; of two faces that are parallel one is enough
    edges: Floats  # along edges, of any length


_NONE, _NO_FACE = np.empty((0, 3)), np.empty((0, 3), np.int64)


class _Solid(NamedTuple):
    """A core or a mesh, its transform, and a radius around it."""

    core: _Core
    transform: Any
    radius: float = 0.0

    @property
    def parts(self) -> tuple[Any, Any]:
        """What coal takes."""
        return self.core.geometry, self.transform


def _frame_of(shapes: Shapes, row: int) -> _Frame:
    """Choose the frame in which a hull or a mesh is at the origin, and of size 1 to 2."""
    record: Any = shapes.store.placed(row)
    return _Frame(record[1:4].copy(), int(np.frexp(np.abs(record[13:19]).max())[1]))


def _solids_of(shapes: Shapes, row: int, frame: _Frame, offset: Floats | None = None) -> list[_Solid]:
    """Make a row's shape for coal; a compound is one solid for each of its parts."""
    record: Any = shapes.store.placed(row)
    kind = ShapeKind(shapes.store.placed_kind(row))
    if kind in (ShapeKind.HULL, ShapeKind.MESH):
        geometry: Any = shapes.geometries[int(record[0])]
        make = _hull if kind == ShapeKind.HULL else _mesh
        origin = record[1:4] if offset is None else record[1:4] + offset
        return [_Solid(make(geometry, frame.exponent), _transform(record[4:13].reshape(3, 3), frame.places(origin)))]
    if kind != ShapeKind.COMPOUND:
        return [_simple(kind, record, frame, offset)]
    parts, at = [], 0
    while at < len(record):
        length = int(record[at + 1])
        parts.append(_simple(ShapeKind(int(record[at])), record[at + 2 : at + 2 + length], frame, offset))
        at += 2 + length
    return parts


def _triangle_solid(corners: Floats, frame: _Frame) -> _Solid:
    """Make a triangle, placed in the world."""
    return _triangle(frame.places(corners))


def _simple(kind: ShapeKind, record: Floats, frame: _Frame, offset: Floats | None) -> _Solid:
    places = record if offset is None else record.copy()
    if offset is not None:
        count = {ShapeKind.POINT: 1, ShapeKind.BALL: 1, ShapeKind.ORIENTED_BOX: 1, ShapeKind.TRIANGLE: 3}.get(kind, 2)
        places[: 3 * count] += np.tile(offset, count)
    if kind in (ShapeKind.POINT, ShapeKind.BALL):
        radius = frame.lengths(record[3]) if kind == ShapeKind.BALL else 0.0
        return _Solid(_point(), _transform(None, frame.places(places[:3])), float(radius))
    if kind in (ShapeKind.SEGMENT, ShapeKind.CAPSULE):
        radius = frame.lengths(record[6]) if kind == ShapeKind.CAPSULE else 0.0
        return _capsule(frame.places(places[:3]), frame.places(places[3:6]), float(radius))
    if kind == ShapeKind.BOX:
        lower, upper = frame.places(places[:3]), frame.places(places[3:6])
        return _Solid(_box(*map(float, (upper - lower) / 2)), _transform(None, (lower + upper) / 2))
    if kind == ShapeKind.ORIENTED_BOX:
        half = frame.lengths(record[3:6])
        return _Solid(_box(*map(float, half)), _transform(record[6:15].reshape(3, 3), frame.places(places[:3])))
    return _triangle(frame.places(places[:9].reshape(3, 3)))


def _transform(axes: Floats | None, origin: Floats) -> Any:
    turned = np.eye(3) if axes is None else np.ascontiguousarray(axes.T)
    return coal().Transform3s(turned, np.ascontiguousarray(origin))


def _capsule(start: Floats, end: Floats, radius: float) -> _Solid:
    along = end - start
    length = float(np.linalg.norm(along))
    middle = (start + end) / 2
    if length == 0:
        return _Solid(_point(), _transform(None, middle), radius)
    along = along / length
    side = np.cross(along, np.eye(3)[int(np.abs(along).argmin())])
    side /= np.linalg.norm(side)
    axes = np.stack([side, np.cross(along, side), along])
    ends = np.array([[0.0, 0.0, -length / 2], [0.0, 0.0, length / 2]])
    core = _Core(coal().Capsule(0.0, length), ends, _NO_FACE, _NONE, ends[1:])
    return _Solid(core, _transform(axes, middle), radius)


@cache
def _point() -> _Core:
    return _Core(coal().Sphere(0.0), np.zeros((1, 3)), _NO_FACE, _NONE, _NONE)


def _convex(points: Floats, triangles: NDArray[np.int64]) -> Any:
    library = coal()
    vertices, faces = library.StdVec_Vec3s(), library.StdVec_Triangle()
    for point in points:
        vertices.append(point)
    for face in triangles.tolist():
        faces.append(library.Triangle(*face))
    return library.Convex(vertices, faces)


@lru_cache(maxsize=1024)
def _box(x: float, y: float, z: float) -> _Core:
    # Not coal's own Box, which is larger by 1e-10.
    points = _BOX_CORNERS * [x, y, z]
    return _Core(_convex(points, _BOX_FACES), points, _BOX_FACES, np.eye(3), np.eye(3))


def _triangle(corners: Floats) -> _Solid:
    middle = corners.mean(axis=0)
    points = corners - middle
    edges = np.roll(points, -1, axis=0) - points
    normal = np.cross(edges[0], edges[1])
    core = _Core(_convex(points, _BOTH_SIDES), points, _BOTH_SIDES[:1], normal[np.newaxis], edges)
    return _Solid(core, _transform(None, middle))


def _make_hull(hull: Geometry, exponent: int) -> _Core:
    corners = np.ldexp(hull.vertices, -exponent)
    triangles = _hull_triangles(corners)
    used, triangles = np.unique(triangles, return_inverse=True)
    corners, triangles = corners[used], triangles.reshape(-1, 3)
    sides = corners[triangles[:, 1:]] - corners[triangles[:, :1]]
    edges = np.unique(np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    along = corners[edges[:, 1]] - corners[edges[:, 0]]
    return _Core(_convex(corners, triangles), corners, triangles, np.cross(sides[:, 0], sides[:, 1]), along)


def _hull_triangles(points: Floats) -> NDArray[np.int64]:
    """Triangulate the surface of the hull of points, (m, 3), by the Qhull of coal."""
    # Scaled to one size along all its axes, which takes corners to corners and faces to faces: Qhull ends the process
    # by a segmentation fault where points are within 1e-8 of a plane.
    round_points = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[0]
    library = coal()
    vertices = library.StdVec_Vec3s()
    for point in round_points:
        vertices.append(point)
    convex = library.Convex.convexHull(vertices, True, "Qt")
    faces = np.array([[convex.polygons(k)[c] for c in range(3)] for k in range(convex.num_polygons)])
    corners = np.array(convex.points())
    rows = {tuple(point): row for row, point in enumerate(round_points.tolist())}
    triangles: NDArray[np.int64] = np.array([rows[tuple(point)] for point in corners.tolist()])[faces]
    return triangles


def _make_mesh(mesh: Any, exponent: int) -> _Core:
    model = coal().BVHModelOBBRSS()
    model.beginModel(len(mesh.faces), len(mesh.vertices))
    model.addVertices(np.ldexp(mesh.vertices, -exponent))
    model.addTriangles(mesh.faces.astype(np.int64))
    model.endModel()
    return _Core(model, _NONE, _NO_FACE, _NONE, _NONE)


def _make_facets(hull: Geometry) -> tuple[Floats, Floats]:
    exponent = int(np.frexp(np.abs(hull.vertices).max())[1])
    core = _hull(hull, exponent)
    points, normals, corners = core.points, core.normals, core.points[core.triangles]
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


# The triangles of a placed mesh near a hull.

# The boxes of triangles in the frame of the mesh are this much larger, relative to the mesh: the query box of the
# world comes there rounded, by 1e-16 of its distance.
_SLACK = 1e-9


def _triangles_near(shapes: Shapes, row: int, box: Floats, offset: Floats | None = None) -> NDArray[np.int32]:
    """Find the triangles of a mesh near a box in the world; none that touches it is missed.

    Parameters
    ----------
    shapes, row
        The mesh.
    box : ndarray, shape (2, 3)
        Where to look.
    offset : ndarray, shape (3,), optional
        Added to the position of the mesh.

    Returns
    -------
    ndarray, shape (k,), int32
        Rows of its faces, ascending.
    """
    pose = pose_of(shapes, row)
    origin = pose.origin if offset is None else pose.origin + offset
    center, half = box.mean(axis=0), (box[1] - box[0]) / 2
    # Rounding on the way there, for boxes and meshes far from the origin of the world.
    reach = np.abs(pose.axes) @ half + 1e-14 * (np.abs(center) + half + np.abs(origin)).max()
    middle = pose.axes @ (center - origin)
    return (
        _triangle_tree(shapes.geometries[pose.number])
        .query(np.stack([middle - reach, middle + reach])[np.newaxis])
        .rows
    )


def _placed_triangles(shapes: Shapes, row: int, faces: NDArray[np.int32], offset: Floats | None = None) -> Floats:
    """Place triangles of a mesh.

    Parameters
    ----------
    shapes, row, offset
        As in `_triangles_near`.
    faces : ndarray, shape (k,), int32
        Which.

    Returns
    -------
    ndarray, shape (k, 3, 3)
        Their corners in the world.
    """
    pose = pose_of(shapes, row)
    mesh: Any = shapes.geometries[pose.number]
    own = mesh.vertices[mesh.faces[faces]]
    corners: Floats = pose.origin + own[..., :1] * pose.axes[0]
    corners += own[..., 1:2] * pose.axes[1]
    corners += own[..., 2:] * pose.axes[2]
    if offset is not None:
        corners += offset
    return corners


def _make_triangle_tree(mesh: Any) -> BVH:
    boxes = from_triangles(mesh.vertices, mesh.faces)
    slack = _SLACK * float(np.abs(mesh.vertices).max())
    boxes[:, 0] -= slack
    boxes[:, 1] += slack
    return BVH(boxes)


_triangle_tree = KeptByGeometry(_make_triangle_tree)


# The area in which two convex solids touch.

# Corners at most this much below the highest belong to the face, so that a slightly tilted body rests on its face.
_FLAT = 1e-4


def _common_area(first: Floats, second: Floats, normal: Floats, middle: Floats) -> Floats:
    """Find the area of contact of two solids that overlap along a normal.

    Parameters
    ----------
    first, second : ndarray, shape (k, 3)
        The corners of two convex solids of size 1 or so.
    normal : ndarray, shape (3,)
        Unit vector, from the first to the second: the shortest way out.
    middle : ndarray, shape (3,)
        Midway between the points that are the deepest in the other.

    Returns
    -------
    ndarray, shape (1 to 4, 3)
        Corners of what the faces that look at each other have in common, seen along the normal, in the plane across it
        through `middle`; that itself, if it is not even a line. The nearest to `middle` first.
    """
    axes = _across(normal)
    faces = [_face(corners - middle, way, axes) for corners, way in ((first, normal), (second, -normal))]
    common = _common(*faces)
    if len(common) < 2:
        return middle[np.newaxis]
    points: Floats = _four_of(np.array(common)) @ axes + middle
    return points


def _across(normal: Floats) -> Floats:
    """Return two axes across a unit vector."""
    side = np.cross(normal, np.eye(3)[int(np.abs(normal).argmin())])
    side /= np.linalg.norm(side)
    return np.stack([side, np.cross(normal, side)])


def _face(corners: Floats, way: Floats, axes: Floats) -> list[Place]:
    """Return the outline of the corners that are the highest along `way`, counterclockwise: one point, two, or more."""
    heights = corners @ way
    places = sorted({(float(x), float(y)) for x, y in corners[heights >= heights.max() - _FLAT] @ axes.T})
    if len(places) < 3:
        return places
    chains = []
    for ordered in (places, places[::-1]):
        chain: list[Place] = []
        for place in ordered:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], place) <= 0:
                chain.pop()
            chain.append(place)
        chains.append(chain[:-1])
    return chains[0] + chains[1]


def _turn(a: Place, b: Place, c: Place) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _common(first: list[Place], second: list[Place]) -> list[Place]:
    """Clip one outline by the other."""
    if len(first) < len(second):
        first, second = second, first
    if len(first) < 3:
        return _common_line(first, second) if len(second) == 2 else second
    clipped = second
    for p, q in zip(first, first[1:] + first[:1], strict=True):
        inside = [_turn(p, q, place) for place in clipped]
        kept: list[Place] = []
        for k, (place, height) in enumerate(zip(clipped, inside, strict=True)):
            if height >= 0:
                kept.append(place)
            following = (k + 1) % len(clipped)
            # A line is not closed: it has no way back.
            if (height < 0 < inside[following] or inside[following] < 0 < height) and (len(clipped) > 2 or k == 0):
                kept.append(_between(place, clipped[following], height / (height - inside[following])))
        clipped = kept
    return clipped


def _between(p: Place, q: Place, share: float) -> Place:
    return p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1])


def _common_line(first: list[Place], second: list[Place]) -> list[Place]:
    """Return the segment that two collinear segments share; nothing if they cross."""
    (p, q), (r, s) = first, second
    along = (q[0] - p[0], q[1] - p[1])
    square = along[0] ** 2 + along[1] ** 2
    if max(abs(_turn(p, q, r)), abs(_turn(p, q, s))) > _FLAT * square**0.5:
        return []
    shares = sorted(((x - p[0]) * along[0] + (y - p[1]) * along[1]) / square for x, y in (r, s))
    begin, end = max(0.0, shares[0]), min(1.0, shares[1])
    return [_between(p, q, begin), _between(p, q, end)] if begin < end else []


def _crossing(first: list[Place], second: list[Place]) -> Place:
    """Return the point of the first segment at which it crosses the second, or its middle if they are parallel."""
    before, after = _turn(second[0], second[1], first[0]), _turn(second[0], second[1], first[1])
    share = before / (before - after) if before != after else 0.5
    return _between(first[0], first[1], min(max(share, 0.0), 1.0))


def _four_of(points: Floats) -> Floats:
    """Select at most four: the nearest to the origin, the farthest from it, and the extreme one on either side."""
    points = points[np.argsort((points**2).sum(axis=1), kind="stable")]
    if len(points) > 4:
        far = int(((points - points[0]) ** 2).sum(axis=1).argmax())
        along, others = points[far] - points[0], points - points[0]
        sides = along[0] * others[:, 1] - along[1] * others[:, 0]
        points = points[list(dict.fromkeys([0, far, int(sides.argmax()), int(sides.argmin())]))]
    return points
