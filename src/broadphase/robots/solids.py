"""Shapes of descriptions of robots that have no counterpart here, as convex hulls around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.arguments import as_length
from broadphase.shapes import ConvexHull

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["cylinder", "ellipsoid"]

_DIVISIONS = 3  # of the faces of an icosahedron: the hull sticks out of its ellipsoid by 0.5 % at most
_SIDES = 64  # a prism of 64 sides sticks out of its cylinder by 0.12 % of the radius


def cylinder(radius: float, length: float, **where: Any) -> ConvexHull:
    """Make a prism around a cylinder about the z axis, with its middle at the origin.

    >>> prism = cylinder(1.0, 4.0)
    >>> round(float(np.linalg.norm(prism.points[:, :2], axis=1).max()), 4), float(prism.points[:, 2].max())
    (1.0012, 2.0)
    """
    angles = 2 * np.pi * (np.arange(_SIDES) + 0.5) / _SIDES
    around = as_length(radius, "radius") / np.cos(np.pi / _SIDES)
    ring = np.stack([around * np.cos(angles), around * np.sin(angles)], axis=1)
    half = as_length(length, "length") / 2
    ends = [np.column_stack([ring, np.full(_SIDES, z)]) for z in (-half, half)]
    return ConvexHull(np.concatenate(ends), **where)


def ellipsoid(half_sizes: Floats, **where: Any) -> ConvexHull:
    """Make a hull around an ellipsoid about the origin.

    >>> hull = ellipsoid(np.array([1.0, 2.0, 3.0]))
    >>> len(hull.points), round(float(np.linalg.norm(hull.points / [1, 2, 3], axis=1).max()), 3)
    (642, 1.005)
    """
    points, faces = _ball()
    corners = points[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    # The least distance of a face from the middle is what lies inside; scaled to 1, all of the ball does.
    inner = np.abs((normals * corners[:, 0]).sum(axis=1) / np.linalg.norm(normals, axis=1)).min()
    return ConvexHull(points / inner * half_sizes, **where)


def _ball() -> tuple[Floats, NDArray[np.int64]]:
    """Give points on the unit ball, and triangles of them: an icosahedron, its faces divided into four repeatedly."""
    golden = (1 + np.sqrt(5)) / 2
    signs = [(a, b) for a in (-1.0, 1.0) for b in (-golden, golden)]
    points = np.array([np.roll((0.0, a, b), turn) for turn in range(3) for a, b in signs])
    points /= np.linalg.norm(points[0])
    apart = np.linalg.norm(points[:, np.newaxis] - points, axis=2)
    edge = apart[apart > 1e-9].min() * 1.01
    faces = np.array(
        [
            (i, j, k)
            for i in range(12)
            for j in range(i + 1, 12)
            for k in range(j + 1, 12)
            if max(apart[i, j], apart[j, k], apart[i, k]) < edge
        ]
    )
    for _ in range(_DIVISIONS):
        corners = points[faces]
        middles = [corners[:, a] + corners[:, b] for a, b in ((0, 1), (1, 2), (2, 0))]
        middles = [middle / np.linalg.norm(middle, axis=1, keepdims=True) for middle in middles]
        (a, b, c), (ab, bc, ca) = (corners[:, k] for k in range(3)), middles
        triangles = np.concatenate([np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
        points, places = np.unique(triangles.reshape(-1, 3).round(12), axis=0, return_inverse=True)
        faces = places.reshape(-1, 3)
    return points, faces
