"""Faces of any number of corners, cut into triangles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from broadphase.errors import FileFormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["cut_into_triangles"]

_MOST_VISITS = (
    30_000_000  # of corners of one face, which take less than a second: more than a gear of 3,000 corners needs
)


def cut_into_triangles(
    corners: NDArray[np.int64], sizes: NDArray[np.int64], vertices: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return triangles, shape (n, 3), that cover the same area as polygons, in their order.

    Polygons are `sizes` corners each, one after the other; corners are rows of the vertices. Most are cut from their
    first corner. Where a triangle of these would lie outside of a polygon, a quadrangle is cut from its second corner,
    and ears are cut off others, as seen along the normal.

    >>> notched = np.array([[0, 0, 0], [4, 0, 0], [4, 4, 0], [2, 1, 0]], float)
    >>> cut_into_triangles(np.arange(4), np.array([4]), notched).tolist()
    [[1, 2, 3], [1, 3, 0]]
    """
    counts = sizes - 2
    begins, first = np.cumsum(sizes) - sizes, np.cumsum(counts) - counts
    base = np.repeat(begins, counts)
    step = base + np.arange(counts.sum()) - np.repeat(first, counts)
    faces: NDArray[np.int64] = corners[np.stack([base, step + 1, step + 2], axis=1)]
    is_polygon = np.repeat(sizes > 3, counts)
    if not is_polygon.any():
        return faces
    with np.errstate(invalid="ignore", over="ignore"):
        areas = _areas(vertices[faces[is_polygon]])
        polygon = np.repeat(np.arange(len(sizes)), counts)[is_polygon]
        normals = np.stack([np.bincount(polygon, area, len(sizes)) for area in areas.T], axis=1)
        outside = np.unique(polygon[(areas * normals[polygon]).sum(axis=1) < 0])
    quads = outside[sizes[outside] == 4]
    one, two, three = begins[quads] + 1, begins[quads] + 2, begins[quads] + 3
    faces[first[quads]] = corners[np.stack([one, two, three], axis=1)]
    faces[first[quads] + 1] = corners[np.stack([one, three, begins[quads]], axis=1)]
    for number in outside[sizes[outside] > 4].tolist():
        own = corners[begins[number] : begins[number] + sizes[number]]
        axis = int(np.argmax(np.abs(normals[number])))
        flat = np.delete(vertices[own], axis, axis=1)
        if (normals[number, axis] < 0) != (axis == 1):  # seen from the other side: (x, z) is left-handed
            flat = flat[:, ::-1]
        faces[first[number] : first[number] + counts[number]] = own[_ears(flat)]
    return faces


def _areas(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    areas: NDArray[np.float64] = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return areas


def _ears(points: NDArray[np.float64]) -> list[list[int]]:
    """Cut a polygon in the plane, counter-clockwise, into triangles that each have two of its sides when cut off.

    What crosses itself has no such triangles: then the next corner is cut off.
    """
    left = np.arange(len(points))
    ears: list[list[int]] = []
    at, failed, visits = 0, 0, 0
    while len(left) > 3:
        visits += len(left)
        if visits > _MOST_VISITS:
            raise FileFormatError(
                f"a face of {len(points):,} corners takes too long to cut into triangles: triangulate the mesh"
            )
        triple = left[[at - 1, at, (at + 1) % len(left)]]
        if failed < len(left) and not _is_ear(points[triple], points[left]):
            at, failed = (at + 1) % len(left), failed + 1
            continue
        ears.append(triple.tolist())
        left = np.delete(left, at)
        at, failed = at % len(left), 0
    return [*ears, left.tolist()]


def _is_ear(triangle: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Return whether a corner points outwards, and no corner of the polygon elsewhere lies in its triangle."""
    a, b, c = triangle
    if not _turn(a, b, c) > 0:
        return False
    inside = (_turn(a, b, others) >= 0) & (_turn(b, c, others) >= 0) & (_turn(c, a, others) >= 0)
    return all((one == triangle).all(axis=1).any() for one in others[inside])


def _turn(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
    (x, y), (to_x, to_y) = b - a, (c - a).T
    turned: NDArray[np.float64] = x * to_y - y * to_x
    return turned
