"""The narrow phase of pairs with a convex hull, by coal, one pair after the other.

Coal (https://github.com/coal-library/coal) runs GJK and EPA, and trees over the triangles of meshes. A mesh against a
hull is the nearest or deepest of its triangles against the hull.

Coordinates are scaled by a power of two to the size of the hull, and moved near the origin, so that coal's tolerances
mean the same at every scale.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.boxes import from_triangles
from broadphase.errors import MissingExtraError
from broadphase.index.bvh import BVH
from broadphase.narrow.poses import KeptByGeometry, RowPairs, kinds_of, pose_of
from broadphase.shapes.kinds import ShapeKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from broadphase.shapes import Shapes
    from broadphase.shapes.solids import Geometry

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]
    Found = tuple[Floats, Floats]
    Place = tuple[float, float]

__all__ = ["contacts_of", "impacts", "overlap_mask", "ray_hits", "separations"]

# With coal's default of 1e-6, a gap of 1e-9 would be zero. If coal does not converge at the first, the next is tried.
_TOLERANCES = (1e-12, 1e-9, 1e-6)
_FAILED = 1e300
# In sizes of the hull: shapes nearer than `_NEAR` touch. A motion that has not got there after `_MOST_STEPS` steps is
# grazing; the time reached so far is returned, which is not too late.
_NEAR, _WIDE, _MOST_STEPS = 1e-12, 1e-6, 100
_MOST_CONTACTS = 1 << 20  # of a hull with the triangles of a mesh


class _Pair(NamedTuple):
    """The convex parts of two shapes, in one frame."""

    frame: _Frame
    first: list[_Solid]
    second: list[_Solid]


class _Gap(NamedTuple):
    """How far apart two solids are, in their frame."""

    distance: float
    normal: Floats
    first: _Solid
    second: _Solid
    nearest: Floats  # (2, 3): a point of each


def overlap_mask(asked: RowPairs) -> NDArray[np.bool_]:
    """Find which pairs overlap."""
    return np.array([_closest(pair).distance <= 0 for pair in _pairs(asked)], np.bool_)


def separations(asked: RowPairs) -> Found:
    """Compute the signed distance of each pair, and the direction of the second."""
    gaps, normals = np.empty(len(asked.first)), np.empty((len(asked.first), 3))
    for k, pair in enumerate(_pairs(asked)):
        gap = _closest(pair)
        gaps[k], normals[k] = np.ldexp(gap.distance, pair.frame.exponent), gap.normal
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
            gap.normal,
            np.ldexp(max(-gap.distance, 0.0), pair.frame.exponent) + 0.0,
            len(where),
        )
        points[k, : len(where)] = np.ldexp(where, pair.frame.exponent) + pair.frame.origin
    return normals, depths, counts, points


def impacts(asked: RowPairs, motions: Floats) -> Found:
    """Find when the two of each pair first touch, while the first moves."""
    times, normals = np.full(len(asked.first), np.inf), np.zeros((len(asked.first), 3))
    for k, pair in enumerate(_pairs(asked, motions)):
        motion = pair.frame.lengths(motions[k])
        for first in pair.first:
            for second in pair.second:
                time, normal = _first_touch(first, second, motion, times[k])
                if time < times[k]:
                    times[k], normals[k] = time, normal
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
    is_hull = kinds_of(asked.a, asked.first) == ShapeKind.HULL
    frames: dict[tuple[bool, int], _Frame] = {}
    kinds = kinds_of(asked.a, asked.first), kinds_of(asked.b, asked.second)
    for k, (row, other) in enumerate(zip(asked.first.tolist(), asked.second.tolist(), strict=True)):
        hull = (True, row) if is_hull[k] else (False, other)
        if hull not in frames:
            frames[hull] = _frame_of(asked.a if is_hull[k] else asked.b, hull[1])
        frame = frames[hull]
        offset = None if asked.offsets is None else asked.offsets[k]
        first, second = _solids_of(asked.a, row, frame), _solids_of(asked.b, other, frame, offset)
        one = asked.some(np.array([k]))
        moving = None if motions is None else motions[k : k + 1]
        if kinds[0][k] == ShapeKind.MESH:
            first = _triangles(one, frame, second[0], first[0], moving, True)
        elif kinds[1][k] == ShapeKind.MESH:
            second = _triangles(one, frame, first[0], second[0], moving, False)
        yield _Pair(frame, first, second)


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
    if library.collide(*mesh, *hull, request, result):
        return int(min(result.getContacts(), key=lambda contact: (contact.penetration_depth, contact.b1)).b1)
    nearest = library.DistanceResult()
    library.distance(*mesh, *hull, _request(_TOLERANCES[0]), nearest)
    return int(nearest.b1)


def _closest(pair: _Pair) -> _Gap:
    """Find the parts that are nearest to each other, or deepest in each other."""
    gaps = (_gap(first, second) for first in pair.first for second in pair.second)
    return min(gaps, key=lambda gap: gap.distance)


def _gap(first: _Solid, second: _Solid) -> _Gap:
    library = coal()
    for tolerance in _TOLERANCES:
        result = library.DistanceResult()
        distance = library.distance(*first, *second, _request(tolerance), result)
        normal = np.array(result.normal)
        if abs(distance) < _FAILED and np.isfinite(normal).all():
            break
    nearest: Floats = np.array([result.getNearestPoint1(), result.getNearestPoint2()])
    return _Gap(float(distance), normal, first, second, nearest)


@cache
def _request(tolerance: float) -> Any:
    request = coal().DistanceRequest()
    request.gjk_tolerance, request.gjk_max_iterations = tolerance, 1000
    request.epa_tolerance, request.epa_max_iterations = tolerance, 1000
    return request


def _common_points(gap: _Gap) -> Floats:
    """Find the corners of the area in which two solids touch, midway between them, (k, 3), in the frame."""
    # Not by coal's contact patches: those of edges reach beyond the shapes.
    return _common_area(_corners(gap.first)[0], _corners(gap.second)[0], gap.normal, gap.nearest.mean(axis=0))


def _first_touch(first: _Solid, second: _Solid, motion: Floats, before: float) -> tuple[float, Floats]:
    """Advance as far as the planes across the gap allow, again and again: both are convex."""
    moved = _Solid(first.geometry, coal().Transform3s(first.transform))
    start, time = np.array(first.transform.getTranslation()), 0.0
    (corners, radius), (others, other_radius) = _corners(first), _corners(second)
    normal: Floats = np.zeros(3)
    for _ in range(_MOST_STEPS):
        gap = _gap(moved, second)
        way = gap.normal
        # Where the gap is next to nothing, its normal is little but rounding, and that of a wider one is the better.
        if time == 0 or gap.distance > _WIDE:
            normal = way
        # The first may go this far along the normal, whatever rounding did to that, before it touches.
        free = float((others @ way).min() - (corners @ way).max() - radius - other_radius - time * (motion @ way))
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


def _corners(solid: _Solid) -> tuple[Floats, float]:
    """Return the points whose hull a convex solid is, in the frame, and its radius around that hull."""
    geometry, transform = solid
    at, axes = np.array(transform.getTranslation()), np.array(transform.getRotation())
    if isinstance(geometry, coal().Sphere):
        return at[np.newaxis], geometry.radius
    if isinstance(geometry, coal().Capsule):
        return at + np.outer([-geometry.halfLength, geometry.halfLength], axes[:, 2]), geometry.radius
    return np.array(geometry.points()) @ axes.T + at, 0.0


# Shapes as coal has them: convex sets of points with a radius, and meshes.

_BOX_CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
_BOX_FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))


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


class _Solid(NamedTuple):
    """A geometry of coal and its transform."""

    geometry: Any
    transform: Any


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
        return _Solid(coal().Sphere(float(radius)), _transform(None, frame.places(places[:3])))
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
        return _Solid(coal().Sphere(radius), _transform(None, middle))
    along = along / length
    side = np.cross(along, np.eye(3)[int(np.abs(along).argmin())])
    side /= np.linalg.norm(side)
    return _Solid(coal().Capsule(radius, length), _transform(np.stack([side, np.cross(along, side), along]), middle))


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


def _triangle(corners: Floats) -> _Solid:
    middle = corners.mean(axis=0)
    return _Solid(_convex(corners - middle, [(0, 1, 2), (0, 2, 1)]), _transform(None, middle))


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
    side = np.eye(3)[int(np.abs(normal).argmin())]
    side = np.cross(normal, side)
    side /= np.linalg.norm(side)
    axes = np.stack([side, np.cross(normal, side)])
    faces = [_face(corners - middle, way, axes) for corners, way in ((first, normal), (second, -normal))]
    common = _common(*faces)
    if len(common) < 2:
        return middle[np.newaxis]
    points: Floats = _four_of(np.array(common)) @ axes + middle
    return points


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


def _four_of(points: Floats) -> Floats:
    """Select at most four: the nearest to the origin, the farthest from it, and the extreme one on either side."""
    points = points[np.argsort((points**2).sum(axis=1), kind="stable")]
    if len(points) > 4:
        far = int(((points - points[0]) ** 2).sum(axis=1).argmax())
        along, others = points[far] - points[0], points - points[0]
        sides = along[0] * others[:, 1] - along[1] * others[:, 0]
        points = points[list(dict.fromkeys([0, far, int(sides.argmax()), int(sides.argmin())]))]
    return points
