"""The narrow phase of meshes, with each other and with what the core knows: triangle by triangle, in the core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.contacts.geometry_poses import Asked, kinds_of
from broadphase.contacts.mesh_triangles import (
    Triangles,
    joined,
    least_of_each,
    nearest_triangle,
    placed_faces,
    triangles_near,
)
from broadphase.shapes.kinds import ShapeKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]
    Found = tuple[Floats, Floats]

__all__ = ["contacts_of", "impacts", "overlap_mask", "separations"]


class _Side(NamedTuple):
    """Shapes of the core: rows of a store; triangles, if they are of a mesh."""

    store: _native.ShapeStore
    rows: Rows
    triangles: Triangles | None = None

    @staticmethod
    def of_mesh(triangles: Triangles) -> _Side:
        return _Side(triangles.as_store(), np.arange(len(triangles.of), dtype=np.int32), triangles)

    def some(self, which: Any) -> _Side:
        return _Side(self.store, self.rows[which], None if self.triangles is None else self.triangles.some(which))


class _Elements(NamedTuple):
    """What stands for some pairs: for each, pairs of shapes of the core."""

    of: NDArray[np.int64]
    first: _Side
    second: _Side
    offsets: Floats | None

    def some(self, which: Any) -> _Elements:
        offsets = None if self.offsets is None else self.offsets[which]
        return _Elements(self.of[which], self.first.some(which), self.second.some(which), offsets)

    def ask(self, question: Any, *more: Any) -> Any:
        first, second = self.first, self.second
        return question(first.store, second.store, first.rows, second.rows, *more, self.offsets)


def overlap_mask(asked: Asked) -> NDArray[np.bool_]:
    """Say which pairs overlap; of two meshes, exactly for the triangles as they are placed."""
    mask = np.zeros(len(asked.first), np.bool_)
    for pairs, some, meshes in _groups(asked):
        elements = _near(pairs, meshes)
        if elements.first.triangles is not None and elements.second.triangles is not None:
            hits = _exactly(elements)
        else:
            hits = np.flatnonzero(elements.ask(_native.shape_overlaps) == 1)
        mask[some[elements.of[hits]]] = True
    return mask


def separations(asked: Asked) -> Found:
    """Say how far apart the two of each pair are, and in which direction the second lies."""
    gaps, normals = np.empty(len(asked.first)), np.empty((len(asked.first), 3))
    for pairs, some, meshes in _groups(asked):
        gaps[some], normals[some] = _closest(pairs, meshes).ask(_native.shape_distances)
    return gaps, normals


def contacts_of(asked: Asked) -> tuple[Floats, Floats, NDArray[np.int8], Floats]:
    """Say where the two of each pair touch."""
    count = len(asked.first)
    normals, depths = np.empty((count, 3)), np.empty(count)
    counts, points = np.empty(count, np.int8), np.empty((count, 4, 3))
    for pairs, some, meshes in _groups(asked):
        found = _closest(pairs, meshes).ask(_native.shape_contacts)
        normals[some], depths[some], counts[some], points[some] = found
    return normals, depths, counts, points


def impacts(asked: Asked, motions: Floats) -> Found:
    """Say when the two of each pair first touch, while the first is moved."""
    times, normals = np.full(len(asked.first), np.inf), np.zeros((len(asked.first), 3))
    for pairs, some, meshes in _groups(asked):
        elements = _near(pairs, meshes, motions=motions[some])
        found = elements.ask(_native.shape_impacts, motions[some[elements.of]])
        of, first = least_of_each(elements.of, found[0])
        times[some[of]], normals[some[of]] = found[0][first], found[1][first]
    return times, normals


def _groups(asked: Asked) -> Iterator[tuple[Asked, NDArray[np.intp], tuple[bool, bool]]]:
    """Share the pairs out by which of the two is a mesh."""
    is_mesh_a = kinds_of(asked.a, asked.first) == ShapeKind.MESH
    is_mesh_b = kinds_of(asked.b, asked.second) == ShapeKind.MESH
    for meshes in ((True, False), (False, True), (True, True)):
        if len(some := np.flatnonzero((is_mesh_a == meshes[0]) & (is_mesh_b == meshes[1]))):
            yield asked.some(some), some, meshes


def _near(
    asked: Asked, meshes: tuple[bool, bool], *, reach: Floats | None = None, motions: Floats | None = None
) -> _Elements:
    """Find the triangles that come into question: within `reach`, or on the way of the first along `motions`."""
    boxes_a, boxes_b = asked.boxes(reach)
    if motions is not None:
        # Seen from the first, it is the second that comes: the other way.
        boxes_a, boxes_b = _swept(boxes_a, motions), _swept(boxes_b, -motions)
    if meshes == (True, False):
        triangles = triangles_near(asked.a, asked.first, boxes_b)
        return _against_second(asked, triangles)
    if meshes == (False, True):
        triangles = triangles_near(asked.b, asked.second, boxes_a, asked.offsets)
        return _against_first(asked, triangles)
    first = triangles_near(asked.a, asked.first, boxes_b)
    second = triangles_near(asked.b, asked.second, boxes_a, asked.offsets)
    a, b = joined(first, second, motions)
    return _Elements(first.of[a], _Side.of_mesh(first).some(a), _Side.of_mesh(second).some(b), None)


def _against_second(asked: Asked, triangles: Triangles) -> _Elements:
    of = triangles.of
    offsets = None if asked.offsets is None else asked.offsets[of]
    return _Elements(of, _Side.of_mesh(triangles), _Side(asked.b.store, asked.second[of]), offsets)


def _against_first(asked: Asked, triangles: Triangles) -> _Elements:
    return _Elements(
        triangles.of, _Side(asked.a.store, asked.first[triangles.of]), _Side.of_mesh(triangles), None
    )  # fmt: skip


def _closest(asked: Asked, meshes: tuple[bool, bool]) -> _Elements:
    """Find the nearest or deepest pair of elements of each pair: one for each, in order."""
    if meshes == (True, True):
        return _closest_of_two_meshes(asked)
    # Some triangle that is not far tells how far to look.
    boxes_a, boxes_b = asked.boxes()
    if meshes == (True, False):
        start = _against_second(asked, nearest_triangle(asked.a, asked.first, boxes_b.mean(axis=1)))
    else:
        nearby = nearest_triangle(asked.b, asked.second, boxes_a.mean(axis=1), asked.offsets)
        start = _against_first(asked, nearby)
    bound: Floats = start.ask(_native.shape_distances)[0]
    elements = _near(asked, meshes, reach=np.maximum(bound, 0.0))
    of, best = least_of_each(elements.of, elements.ask(_native.shape_distances)[0])
    # The one that told is within reach, but for rounding.
    faces = (start.first if meshes[0] else start.second).triangles.faces.copy()  # type: ignore[union-attr]
    found = (elements.first if meshes[0] else elements.second).triangles.faces  # type: ignore[union-attr]
    faces[of] = found[best]
    if meshes[0]:
        return _against_second(asked, placed_faces(asked.a, asked.first, faces))
    return _against_first(asked, placed_faces(asked.b, asked.second, faces, asked.offsets))


def _closest_of_two_meshes(asked: Asked) -> _Elements:
    elements = _near(asked, (True, True))
    gaps: Floats = elements.ask(_native.shape_distances)[0]
    gaps[_exactly(elements)] = np.minimum(gaps[_exactly(elements)], 0.0)
    of, best = least_of_each(elements.of, gaps)
    faces = np.full((len(asked.first), 2), -1, np.int32)
    touching = gaps[best] <= 0
    best, of = best[touching], of[touching]
    faces[of, 0] = elements.first.triangles.faces[best]  # type: ignore[union-attr]
    faces[of, 1] = elements.second.triangles.faces[best]  # type: ignore[union-attr]
    apart = np.flatnonzero(faces[:, 0] < 0)
    if len(apart):
        from broadphase.contacts import with_coal

        faces[apart] = with_coal.nearest_faces(asked.some(apart))
    first = placed_faces(asked.a, asked.first, faces[:, 0])
    second = placed_faces(asked.b, asked.second, faces[:, 1], asked.offsets)
    return _Elements(first.of, _Side.of_mesh(first), _Side.of_mesh(second), None)


def _exactly(elements: _Elements) -> NDArray[np.intp]:
    """Find the elements, triangles both, that intersect."""
    first: Any = elements.first.triangles
    second: Any = elements.second.triangles
    count = len(elements.of)
    corners = np.arange(3 * count, dtype=np.int32).reshape(-1, 3)
    rows = np.arange(count, dtype=np.int32)
    vertices = (np.ascontiguousarray(side.corners.reshape(-1, 3)) for side in (first, second))
    a, b = vertices
    found: Any = _native.triangle_pairs(a, corners, b, corners, rows, rows, True, 1)
    hits: NDArray[np.intp] = found[:, 0].astype(np.intp)
    return hits


def _swept(boxes: Floats, motions: Floats) -> Floats:
    swept = boxes.copy()
    swept[:, 0] = np.nextafter(boxes[:, 0] + np.minimum(motions, 0), -np.inf)
    swept[:, 1] = np.nextafter(boxes[:, 1] + np.maximum(motions, 0), np.inf)
    return swept
