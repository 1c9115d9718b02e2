"""The triangles of placed meshes that come into question, as shapes of the core.

A mesh is to the narrow phase what a compound is: what one of its triangles holds. A tree over its triangles, in its own
frame, is made once for each mesh; it tells which of them are near something, and these are placed and handed to the
core. Placing rounds, and exact is what is said of the triangles as they are placed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.boxes import from_triangles
from broadphase.contacts.geometry_poses import KeptByGeometry, poses_of
from broadphase.index.bvh import BVH
from broadphase.pairs import pairs
from broadphase.shapes.kinds import ShapeKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.contacts.geometry_poses import Poses
    from broadphase.shapes import Mesh, Shapes

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]

__all__ = [
    "Triangles",
    "joined",
    "least_of_each",
    "nearest_triangle",
    "placed_faces",
    "triangles_across",
    "triangles_near",
]

# The boxes of triangles in the frame of the mesh are this much larger, relative to the mesh: what was asked for in the
# world comes there rounded, by 1e-16 of its distance.
_SLACK = 1e-9


class Triangles(NamedTuple):
    """Triangles of meshes, placed.

    Attributes
    ----------
    of : ndarray, shape (e,), int64
        The question that each is part of, ascending.
    faces : ndarray, shape (e,), int32
        Which triangle of its mesh it is.
    corners : ndarray, shape (e, 3, 3), float64
        In the world.
    """

    of: NDArray[np.int64]
    faces: Rows
    corners: Floats

    def as_store(self) -> _native.ShapeStore:
        """Hand them to the core: row e is triangle e."""
        count = len(self.of)
        store, rows = _native.ShapeStore(3), np.arange(count, dtype=np.int32)
        kinds, sizes = np.full(count, ShapeKind.TRIANGLE, np.uint8), np.full(count, 9, np.int32)
        store.set(rows, kinds, sizes, self.corners.reshape(-1))
        nowhere = np.zeros((count, 3))
        store.place(rows, nowhere, None, nowhere, None, np.empty((count, 2, 3)))
        return store

    def some(self, which: Any) -> Triangles:
        """Pick some of them."""
        return Triangles(self.of[which], self.faces[which], self.corners[which])


def _make_tree(mesh: Mesh) -> BVH:
    boxes = from_triangles(mesh.vertices, mesh.faces)
    slack = _SLACK * float(np.abs(mesh.vertices).max())
    boxes[:, 0] -= slack
    boxes[:, 1] += slack
    return BVH(boxes)


_tree_of = KeptByGeometry(_make_tree)


def triangles_near(shapes: Shapes, rows: Rows, boxes: Floats, offsets: Floats | None = None) -> Triangles:
    """Find the triangles of meshes near boxes of the world; none that touches its box is left out.

    Parameters
    ----------
    shapes, rows
        The mesh of each question.
    boxes : ndarray, shape (m, 2, 3)
        One for each question.
    offsets : ndarray, shape (m, 3), optional
        Added to the places of the meshes.

    Returns
    -------
    Triangles
    """
    poses = poses_of(shapes, rows)
    around = poses if offsets is None else poses._replace(origins=poses.origins + offsets)
    center, half = boxes.mean(axis=1), (boxes[:, 1] - boxes[:, 0]) / 2
    own_center = around.into_own(center)
    own_half = np.einsum("kij,kj->ki", np.abs(around.axes), half)
    # Rounding on the way there, for boxes and meshes far from the origin of the world.
    own_half += 1e-14 * (np.abs(center) + half + np.abs(around.origins)).max(axis=1, keepdims=True)
    found: list[tuple[NDArray[np.int64], Rows]] = []
    for number, questions in _by_number(poses):
        middle, reach = own_center[questions], own_half[questions]
        tree = _tree_of(shapes.geometries[number])
        answers = tree.query(np.stack([middle - reach, middle + reach], axis=1))
        found.append((questions[answers.questions], answers.rows))
    return _placed(shapes, poses, offsets, found)


def triangles_across(shapes: Shapes, rows: Rows, origins: Floats, directions: Floats) -> Triangles:
    """Find the triangles of meshes near rays of the world; none that a ray hits is left out.

    Parameters
    ----------
    shapes, rows
        The mesh of each ray.
    origins, directions : ndarray, shape (m, 3)
        The rays.

    Returns
    -------
    Triangles
    """
    poses = poses_of(shapes, rows)
    own_origins, own_directions = poses.into_own(origins), poses.turned_into_own(directions)
    found: list[tuple[NDArray[np.int64], Rows]] = []
    for number, rays in _by_number(poses):
        # A ray without a direction is a point.
        tree = _tree_of(shapes.geometries[number])
        still = ~directions[rays].any(axis=1)
        moving = rays[~still]
        hits = tree.raycast_all(own_origins[moving], own_directions[moving])
        found.append((np.repeat(moving, np.diff(hits.offsets)), hits.rows))
        at = tree.query_points(own_origins[rays[still]])
        found.append((rays[still][at.questions], at.rows))
    return _placed(shapes, poses, None, found)


def nearest_triangle(shapes: Shapes, rows: Rows, places: Floats, offsets: Floats | None = None) -> Triangles:
    """Give for each place of the world the triangle of a mesh whose box is nearest.

    Parameters
    ----------
    shapes, rows, offsets
        As in `triangles_near`.
    places : ndarray, shape (m, 3)
        One for each question.

    Returns
    -------
    Triangles
        One for each question, in order.
    """
    poses = poses_of(shapes, rows)
    own = poses.into_own(places if offsets is None else places - offsets)
    faces = np.empty(len(rows), np.int32)
    for number, questions in _by_number(poses):
        faces[questions] = _tree_of(shapes.geometries[number]).nearest(own[questions]).index[:, 0]
    return placed_faces(shapes, rows, faces, offsets)


def placed_faces(shapes: Shapes, rows: Rows, faces: Rows, offsets: Floats | None = None) -> Triangles:
    """Place one triangle of the mesh of each question.

    Parameters
    ----------
    shapes, rows, offsets
        As in `triangles_near`.
    faces : ndarray, shape (m,), int32
        Which.
    """
    of = np.arange(len(rows), dtype=np.int64)
    return _place(shapes, poses_of(shapes, rows), offsets, of, faces)


def joined(
    first: Triangles, second: Triangles, motions: Floats | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the triangles of the same question whose boxes overlap.

    Parameters
    ----------
    first, second : Triangles
        The question is the fourth coordinate of their boxes, so that one search finds the pairs of all.
    motions : ndarray, shape (m, 3), optional
        How far the first of each question move: they are looked for all along the way.

    Returns
    -------
    first_rows, second_rows : ndarray, shape (e,), int64
        Ascending.
    """
    boxes = _boxes_by_question(first)
    if motions is not None:
        moved = motions[first.of]
        boxes[:, 0, :3] += np.minimum(moved, 0)
        boxes[:, 1, :3] += np.maximum(moved, 0)
        boxes[:, 0, :3] = np.nextafter(boxes[:, 0, :3], -np.inf)
        boxes[:, 1, :3] = np.nextafter(boxes[:, 1, :3], np.inf)
    found = pairs(boxes, _boxes_by_question(second), sort=True).astype(np.int64)
    return found[:, 0], found[:, 1]


def least_of_each(of: NDArray[np.int64], values: Floats) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Find the element with the least value of each question that has any; of several, the first.

    Parameters
    ----------
    of : ndarray, shape (e,), int64
        The question of each element, ascending.
    values : ndarray, shape (e,)

    Returns
    -------
    questions : ndarray, shape (k,), int64
        Those that have elements.
    elements : ndarray, shape (k,), int64
        The one of each.
    """
    order = np.lexsort((values, of))
    begins = np.flatnonzero(np.diff(of[order], prepend=-1))
    best = order[begins]
    return of[best], best


def _boxes_by_question(triangles: Triangles) -> Floats:
    boxes = np.empty((len(triangles.of), 2, 4))
    boxes[:, 0, :3], boxes[:, 1, :3] = triangles.corners.min(axis=1), triangles.corners.max(axis=1)
    boxes[..., 3] = triangles.of[:, np.newaxis]
    return boxes


def _by_number(poses: Poses) -> list[tuple[int, NDArray[np.intp]]]:
    return [(int(number), np.flatnonzero(poses.numbers == number)) for number in np.unique(poses.numbers)]


def _placed(
    shapes: Shapes, poses: Poses, offsets: Floats | None, found: list[tuple[NDArray[np.int64], Rows]]
) -> Triangles:
    of = np.concatenate([questions for questions, _ in found]).astype(np.int64)
    faces = np.concatenate([faces for _, faces in found])
    order = np.lexsort((faces, of))
    return _place(shapes, poses, offsets, of[order], faces[order])


def _place(shapes: Shapes, poses: Poses, offsets: Floats | None, of: NDArray[np.int64], faces: Rows) -> Triangles:
    own = np.empty((len(of), 3, 3))
    numbers = poses.numbers[of]
    for number in np.unique(numbers):
        here = np.flatnonzero(numbers == number)
        mesh: Any = shapes.geometries[int(number)]
        own[here] = mesh.vertices[mesh.faces[faces[here]]]
    corners = poses.some(of).into_world(own)
    if offsets is not None:
        corners += offsets[of][:, np.newaxis]
    return Triangles(of, faces, corners)
