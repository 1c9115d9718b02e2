"""Pairs with a hull as coal answers them, one after the other.

Coal (https://github.com/coal-library/coal) runs GJK and EPA, and trees over the triangles of meshes. A mesh against a
hull is what one of its triangles is, as against everything else.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.contacts.coal_solids import Frame, Solid, coal, facets_of, frame_of, solids_of, triangle_solid
from broadphase.contacts.common_area import common_area
from broadphase.contacts.geometry_poses import Asked, kinds_of, pose_of
from broadphase.contacts.mesh_triangles import placed_triangles, triangles_near
from broadphase.shapes.kinds import ShapeKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from broadphase.shapes import Shapes

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]
    Found = tuple[Floats, Floats]

__all__ = ["contacts_of", "impacts", "overlap_mask", "ray_hits", "separations"]

# With coal's own 1e-6, a gap of 1e-9 would be none. Should it not find its way to the first, it does to the last.
_TOLERANCES = (1e-12, 1e-9, 1e-6)
_FAILED = 1e300
# In sizes of the hull: what moves and is nearer than this touches. Who has not got there after so many steps is
# grazing, and is given the time it has got to, which is not too late.
_NEAR, _WIDE, _MOST_STEPS = 1e-12, 1e-6, 100
_MOST_CONTACTS = 1 << 20  # of a hull with the triangles of a mesh


class _Pair(NamedTuple):
    """The convex parts of two shapes, in one frame."""

    frame: Frame
    first: list[Solid]
    second: list[Solid]


class _Gap(NamedTuple):
    """How far apart two solids are, in their frame."""

    distance: float
    normal: Floats
    first: Solid
    second: Solid
    nearest: Floats  # (2, 3): a point of each


def overlap_mask(asked: Asked) -> NDArray[np.bool_]:
    """Say which pairs overlap."""
    return np.array([_closest(pair).distance <= 0 for pair in _pairs(asked)], np.bool_)


def separations(asked: Asked) -> Found:
    """Say how far apart the two of each pair are, and in which direction the second lies."""
    gaps, normals = np.empty(len(asked.first)), np.empty((len(asked.first), 3))
    for k, pair in enumerate(_pairs(asked)):
        gap = _closest(pair)
        gaps[k], normals[k] = np.ldexp(gap.distance, pair.frame.exponent), gap.normal
    return gaps, normals


def contacts_of(asked: Asked) -> tuple[Floats, Floats, NDArray[np.int8], Floats]:
    """Say where the two of each pair touch."""
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


def impacts(asked: Asked, motions: Floats) -> Found:
    """Say when the two of each pair first touch, while the first is moved."""
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
    """Say where each ray enters a hull: where it is behind all planes of the hull's faces."""
    times, normals = np.full(len(rows), np.inf), np.zeros((len(rows), 3))
    for row in np.unique(rows):
        rays = np.flatnonzero(rows == row)
        pose = pose_of(shapes, int(row))
        planes, limits = facets_of(shapes.geometries[pose.number])
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
        against = back / np.where(lengths > 0, lengths, 1.0)  # what a ray that begins inside is told
        normals[rays[hit]] = np.where(inside, against, planes[face[hit]] @ pose.axes)
    return times, normals


def _pairs(asked: Asked, motions: Floats | None = None) -> Iterator[_Pair]:
    """Make the solids of each pair; of a mesh, the triangle that is nearest or deepest, or all that are on the way."""
    is_hull = kinds_of(asked.a, asked.first) == ShapeKind.HULL
    frames: dict[tuple[bool, int], Frame] = {}
    kinds = kinds_of(asked.a, asked.first), kinds_of(asked.b, asked.second)
    for k, (row, other) in enumerate(zip(asked.first.tolist(), asked.second.tolist(), strict=True)):
        hull = (True, row) if is_hull[k] else (False, other)
        if hull not in frames:
            frames[hull] = frame_of(asked.a if is_hull[k] else asked.b, hull[1])
        frame = frames[hull]
        offset = None if asked.offsets is None else asked.offsets[k]
        first, second = solids_of(asked.a, row, frame), solids_of(asked.b, other, frame, offset)
        one = asked.some(np.array([k]))
        moving = None if motions is None else motions[k : k + 1]
        if kinds[0][k] == ShapeKind.MESH:
            first = _triangles(one, frame, second[0], first[0], moving, True)
        elif kinds[1][k] == ShapeKind.MESH:
            second = _triangles(one, frame, first[0], second[0], moving, False)
        yield _Pair(frame, first, second)


def _triangles(
    one: Asked, frame: Frame, hull: Solid, mesh: Solid, motions: Floats | None, is_first: bool
) -> list[Solid]:
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
        faces = triangles_near(shapes, row, box + np.array([[-1e-15], [1e-15]]) * np.abs(box).max(), offset)
    return [triangle_solid(corners, frame) for corners in placed_triangles(shapes, row, faces, offset)]


def _closest_face(hull: Solid, mesh: Solid) -> int:
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


def _gap(first: Solid, second: Solid) -> _Gap:
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
    return common_area(_corners(gap.first)[0], _corners(gap.second)[0], gap.normal, gap.nearest.mean(axis=0))


def _first_touch(first: Solid, second: Solid, motion: Floats, before: float) -> tuple[float, Floats]:
    """Advance as far as the planes across the gap allow, again and again: both are convex."""
    moved = Solid(first.geometry, coal().Transform3s(first.transform))
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


def _corners(solid: Solid) -> tuple[Floats, float]:
    """Give the points of which a convex solid is the hull, in the frame, and how far it reaches around that."""
    geometry, transform = solid
    at, axes = np.array(transform.getTranslation()), np.array(transform.getRotation())
    if isinstance(geometry, coal().Sphere):
        return at[np.newaxis], geometry.radius
    if isinstance(geometry, coal().Capsule):
        return at + np.outer([-geometry.halfLength, geometry.halfLength], axes[:, 2]), geometry.radius
    return np.array(geometry.points()) @ axes.T + at, 0.0
