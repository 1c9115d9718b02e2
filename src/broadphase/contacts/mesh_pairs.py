"""The narrow phase of meshes, with each other and with what the core knows: triangle by triangle, in the core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.contacts.geometry_poses import Asked, KeptByGeometry
from broadphase.shapes.kinds import ShapeKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.shapes import Shapes

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]
    Found = tuple[Floats, Floats]

__all__ = ["contacts_of", "impacts", "overlap_mask", "ray_hits", "separations"]


def overlap_mask(asked: Asked) -> NDArray[np.bool_]:
    """Say which pairs overlap; of two meshes, exactly for the triangles as they are placed."""
    found: Any = _ask(_native.mesh_overlaps, asked)
    mask: NDArray[np.bool_] = found.view(np.bool_)
    return mask


def separations(asked: Asked) -> Found:
    """Say how far apart the two of each pair are, and in which direction the second lies."""
    found: Found = _ask(_native.mesh_distances, asked)
    return found


def contacts_of(asked: Asked) -> tuple[Floats, Floats, NDArray[np.int8], Floats]:
    """Say where the two of each pair touch."""
    found: tuple[Floats, Floats, NDArray[np.int8], Floats] = _ask(_native.mesh_contacts, asked)
    return found


def impacts(asked: Asked, motions: Floats) -> Found:
    """Say when the two of each pair first touch, while the first is moved."""
    found: Found = _ask(_native.mesh_impacts, asked, motions)
    return found


def ray_hits(shapes: Shapes, rows: Rows, origins: Floats, directions: Floats) -> Found:
    """Say where each ray hits a mesh."""
    found: Any = _native.mesh_rays(shapes.store, _trees(shapes), rows, origins, directions)
    times, normals = found
    return times, normals


def _ask(question: Any, asked: Asked, *more: Any) -> Any:
    a, b = asked.a, asked.b
    return question(a.store, _trees(a), b.store, _trees(b), asked.first, asked.second, *more, asked.offsets)


def _trees(shapes: Shapes) -> list[_native.MeshTree | None]:
    """Give the trees of all meshes among the geometries, by number."""
    return [_tree_of(kept) if kept.kind == ShapeKind.MESH else None for kept in shapes.geometries]


def _make_tree(mesh: Any) -> _native.MeshTree:
    return _native.MeshTree(np.ascontiguousarray(mesh.vertices), np.ascontiguousarray(mesh.faces))


_tree_of = KeptByGeometry(_make_tree)
