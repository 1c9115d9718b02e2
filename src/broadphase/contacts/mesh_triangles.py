"""The triangles of a placed mesh, one by one, for hulls: those are not answered by the core.

A tree over the triangles of a mesh, in its own frame, is made once; it tells which of them are near. Placing rounds in
the same way as the core does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.boxes import from_triangles
from broadphase.contacts.geometry_poses import KeptByGeometry, pose_of
from broadphase.index.bvh import BVH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.shapes import Shapes

    Floats = NDArray[np.float64]

__all__ = ["placed_triangles", "triangles_near"]

# The boxes of triangles in the frame of the mesh are this much larger, relative to the mesh: what was asked for in the
# world comes there rounded, by 1e-16 of its distance.
_SLACK = 1e-9


def triangles_near(shapes: Shapes, row: int, box: Floats, offset: Floats | None = None) -> NDArray[np.int32]:
    """Find the triangles of a mesh near a box of the world; none that touches it is left out.

    Parameters
    ----------
    shapes, row
        The mesh.
    box : ndarray, shape (2, 3)
        Where to look.
    offset : ndarray, shape (3,), optional
        Added to the place of the mesh.

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
    return _tree_of(shapes.geometries[pose.number]).query(np.stack([middle - reach, middle + reach])[np.newaxis]).rows


def placed_triangles(shapes: Shapes, row: int, faces: NDArray[np.int32], offset: Floats | None = None) -> Floats:
    """Place triangles of a mesh.

    Parameters
    ----------
    shapes, row, offset
        As in `triangles_near`.
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


def _make_tree(mesh: Any) -> BVH:
    boxes = from_triangles(mesh.vertices, mesh.faces)
    slack = _SLACK * float(np.abs(mesh.vertices).max())
    boxes[:, 0] -= slack
    boxes[:, 1] += slack
    return BVH(boxes)


_tree_of = KeptByGeometry(_make_tree)
