"""Hulls and meshes in a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.shapes import ConvexHull, Mesh

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from broadphase.shapes.solids import Geometry
    from broadphase.world.snapshot_checks import Stored

__all__ = ["pack_geometries", "unpack_geometries"]


def pack_geometries(geometries: Iterable[Geometry]) -> dict[str, NDArray[Any]]:
    """Give the vertices of hulls, and the vertices and faces of meshes, by number."""
    arrays: dict[str, NDArray[Any]] = {}
    for number, geometry in enumerate(geometries):
        if isinstance(geometry, Mesh):
            arrays[f"mesh_vertices_{number}"], arrays[f"mesh_faces_{number}"] = geometry.vertices, geometry.faces
        else:
            arrays[f"hull_points_{number}"] = geometry.vertices
    return arrays


def unpack_geometries(stored: Stored) -> list[Geometry]:
    """Take hulls and meshes out of a snapshot, and make them again.

    Raises
    ------
    ValueError
        One that cannot be.
    """
    geometries: list[Geometry] = []
    while True:
        number = len(geometries)
        points = stored.maybe(f"hull_points_{number}", np.float64, (None, 3))
        vertices = stored.maybe(f"mesh_vertices_{number}", np.float64, (None, 3))
        if points is not None:
            geometries.append(ConvexHull(points))
        elif vertices is not None:
            geometries.append(Mesh(vertices, stored.take(f"mesh_faces_{number}", np.int32, (None, 3))))
        else:
            return geometries
