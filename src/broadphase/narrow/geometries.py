"""The narrow phase of pairs with a convex hull or a mesh: the core knows only the pose and a box of these.

A mesh is the union of its triangles: a pair overlaps if one of them does, and distance, depth and contact are those of
the nearest or deepest triangle. The core answers for meshes, triangle by triangle, and coal for hulls (`hulls`). The
functions are those of `row_pairs`, for such pairs only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.narrow.poses import KeptByGeometry, RowPairs, kinds_of
from broadphase.shapes.kinds import ShapeKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.shapes import Shapes

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]

__all__ = ["contacts_of", "distances", "impacts", "overlap_mask", "ray_hits"]


def overlap_mask(a: Shapes, b: Shapes, first: Rows, second: Rows, offsets: Floats | None = None) -> NDArray[np.bool_]:
    """Find which pairs of shapes overlap, as `row_pairs.overlap_mask` does."""
    asked = RowPairs(a, b, first, second, offsets)
    mask = np.zeros(len(first), np.bool_)
    hulls, meshes = _by_library(asked)
    if len(hulls):
        mask[hulls] = _coal().overlap_mask(asked.some(hulls))
    if len(meshes):
        mask[meshes] = _with_trees(_native.mesh_overlaps, asked.some(meshes))
    return mask


def distances(a: Shapes, b: Shapes, first: Rows, second: Rows, offsets: Floats | None = None) -> tuple[Floats, Floats]:
    """Find how far apart the shapes of each pair are, and in which direction, as `row_pairs.separations` does."""
    asked = RowPairs(a, b, first, second, offsets)
    gaps, normals = np.empty(len(first)), np.empty((len(first), 3))
    hulls, meshes = _by_library(asked)
    if len(hulls):
        gaps[hulls], normals[hulls] = _coal().separations(asked.some(hulls))
    if len(meshes):
        gaps[meshes], normals[meshes] = _with_trees(_native.mesh_distances, asked.some(meshes))
    return gaps, normals


def contacts_of(
    a: Shapes, b: Shapes, first: Rows, second: Rows, offsets: Floats | None = None
) -> tuple[Floats, Floats, NDArray[np.int8], Floats]:
    """Find where the shapes of each pair touch: normals, depths, counts and points, as the core does."""
    asked = RowPairs(a, b, first, second, offsets)
    normals, depths = np.empty((len(first), 3)), np.empty(len(first))
    counts, points = np.zeros(len(first), np.int8), np.full((len(first), 4, 3), np.nan)
    hulls, meshes = _by_library(asked)
    if len(hulls):
        found = _coal().contacts_of(asked.some(hulls))
        normals[hulls], depths[hulls], counts[hulls], points[hulls] = found
    if len(meshes):
        found = _with_trees(_native.mesh_contacts, asked.some(meshes))
        normals[meshes], depths[meshes], counts[meshes], points[meshes] = found
    return normals, depths, counts, points


def impacts(
    a: Shapes, b: Shapes, first: Rows, second: Rows, motions: Floats, offsets: Floats | None = None
) -> tuple[Floats, Floats]:
    """Find when the shapes of each pair first touch, as `row_pairs.impacts` does."""
    asked = RowPairs(a, b, first, second, offsets)
    times, normals = np.empty(len(first)), np.empty((len(first), 3))
    hulls, meshes = _by_library(asked)
    if len(hulls):
        times[hulls], normals[hulls] = _coal().impacts(asked.some(hulls), motions[hulls])
    if len(meshes):
        times[meshes], normals[meshes] = _with_trees(_native.mesh_impacts, asked.some(meshes), motions[meshes])
    return times, normals


def ray_hits(shapes: Shapes, rows: Rows, origins: Floats, directions: Floats) -> tuple[Floats, Floats]:
    """Find where each ray enters a shape, as `row_pairs.ray_hits` does."""
    times, normals = np.full(len(rows), np.inf), np.zeros((len(rows), 3))
    is_hull = kinds_of(shapes, rows) == ShapeKind.HULL
    if len(some := np.flatnonzero(is_hull)):
        times[some], normals[some] = _coal().ray_hits(shapes, rows[some], origins[some], directions[some])
    if len(some := np.flatnonzero(~is_hull)):
        found: Any = _native.mesh_rays(shapes.store, _trees(shapes), rows[some], origins[some], directions[some])
        times[some], normals[some] = found
    return times, normals


def _by_library(asked: RowPairs) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split the pairs into those with a hull, for coal, and those with meshes only, for the core."""
    has_hull = (kinds_of(asked.a, asked.first) == ShapeKind.HULL) | (kinds_of(asked.b, asked.second) == ShapeKind.HULL)
    return np.flatnonzero(has_hull), np.flatnonzero(~has_hull)


def _coal() -> Any:
    """Import `hulls` on first use: coal takes a while to load, and is optional."""
    return import_module("broadphase.narrow.hulls")


def _with_trees(query: Any, asked: RowPairs, *more: Any) -> Any:
    a, b = asked.a, asked.b
    return query(a.store, _trees(a), b.store, _trees(b), asked.first, asked.second, *more, asked.offsets)


def _trees(shapes: Shapes) -> list[_native.MeshTree | None]:
    """Return the trees of all meshes among the geometries, by number."""
    trees: list[Any] = []
    for number, geometry in shapes.geometries.items():
        trees += [None] * (number - len(trees))
        trees.append(_tree_of(geometry) if geometry.kind == ShapeKind.MESH else None)
    return trees


def _make_tree(mesh: Any) -> _native.MeshTree:
    return _native.MeshTree(np.ascontiguousarray(mesh.vertices), np.ascontiguousarray(mesh.faces))


_tree_of = KeptByGeometry(_make_tree)
