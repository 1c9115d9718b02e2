"""Unit solids and outlines that things are drawn with, scaled and turned into their places."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Faces = NDArray[np.int32]

__all__ = ["Form", "ball", "capsule_outline", "hull_faces", "unit_form"]

CORNERS_OF_DISC = 48
CORNERS_OF_CYLINDER = 20


class Form(NamedTuple):
    """What a piece of a thing is drawn as, before it is scaled, turned and moved.

    Attributes
    ----------
    name : str
        "dot", "line", "disc", "box", "ball", "cylinder", or "" for one that is like no other.
    vertices : ndarray, shape (v, d), float64
        In the plane, in turn around the outline.
    faces : ndarray, shape (f, 3), int32
        Triangles, counter-clockwise from outside; none in the plane, and for dots and lines.
    """

    name: str
    vertices: Floats
    faces: Faces


_NO_FACES = np.empty((0, 3), np.int32)


def unit_form(name: str, dimension: int) -> Form:
    """Make a form of radius, half size or length 1: boxes and balls around the origin, lines and cylinders from it on.

    Parameters
    ----------
    name : str
        "dot", "line" (along the first axis), "disc", "box", "ball", "cylinder" (along the third axis, without ends).
    dimension : int
        2 or 3.

    Returns
    -------
    Form

    Examples
    --------
    >>> unit_form("box", 2).vertices.tolist()
    [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]
    """
    if name == "dot":
        return Form(name, np.zeros((1, dimension)), _NO_FACES)
    if name == "line":
        return Form(name, np.eye(2, dimension)[::-1] * [[0.0], [1.0]], _NO_FACES)
    if dimension == 2:
        corners = _ring(CORNERS_OF_DISC) if name == "disc" else np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
        return Form(name, corners, _NO_FACES)
    return {"box": _cube, "ball": ball, "cylinder": _cylinder}[name]()


def capsule_outline(along: Floats, radius: float) -> Form:
    """Draw the line around a capsule of the plane that goes from the origin along a vector."""
    start = np.arctan2(along[1], along[0]) + np.pi / 2
    angles = np.linspace(0.0, np.pi, CORNERS_OF_DISC // 2 + 1)
    back, front = (np.stack([np.cos(turn), np.sin(turn)], axis=1) for turn in (start + angles, start + np.pi + angles))
    return Form("", np.concatenate([radius * back, along + radius * front]), _NO_FACES)


def hull_faces(points: Floats) -> Faces:
    """Find triangles that make up the surface of the hull of points, one point after the other.

    Parameters
    ----------
    points : ndarray, shape (k, 3), float64
        Not all in a plane.

    Returns
    -------
    ndarray, shape (f, 3), int32
        Counter-clockwise from outside. To be looked at: points nearly in a plane with others may be left out.

    Examples
    --------
    >>> len(hull_faces(np.concatenate([unit_form("box", 3).vertices, [[0.1, 0.2, 0.3]]])))
    12
    """
    points = np.asarray(points, np.float64)
    near = 1e-10 * float(np.ptp(points, axis=0).max())
    first = _first_tetrahedron(points)
    middle = points[first].mean(axis=0)
    faces = [(first[a], first[b], first[c]) for a, b, c in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))]
    corners = np.array(faces)
    normals, offsets = _planes(points, corners)
    inwards = normals @ middle > offsets
    corners[inwards] = corners[inwards, ::-1]
    for row in range(len(points)):
        normals, offsets = _planes(points, corners)
        seen = normals @ points[row] > offsets + near
        if not seen.any():
            continue
        visible = corners[seen]
        edges = visible[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
        known = {(int(a), int(b)) for a, b in edges}
        horizon = [(a, b, row) for a, b in known if (b, a) not in known]
        corners = np.concatenate([corners[~seen], np.array(horizon, corners.dtype).reshape(-1, 3)])
    return corners.astype(np.int32)


def _first_tetrahedron(points: Floats) -> list[int]:
    """Choose four points that are far apart."""
    a = int(points[:, 0].argmin())
    b = int(np.linalg.norm(points - points[a], axis=1).argmax())
    along = points[b] - points[a]
    c = int(np.linalg.norm(np.cross(points - points[a], along), axis=1).argmax())
    d = int(np.abs((points - points[a]) @ np.cross(along, points[c] - points[a])).argmax())
    return [a, b, c, d]


def _planes(points: Floats, corners: NDArray[np.int64]) -> tuple[Floats, Floats]:
    a, b, c = points[corners[:, 0]], points[corners[:, 1]], points[corners[:, 2]]
    normals = np.cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = normals / np.where(length > 0, length, 1.0)
    return normals, (normals * a).sum(axis=1)


def _ring(corners: int) -> Floats:
    angles = np.linspace(0.0, 2 * np.pi, corners, endpoint=False)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _cube() -> Form:
    vertices = np.array([[x, y, z] for z in (-1.0, 1) for y in (-1.0, 1) for x in (-1.0, 1)])
    quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
    faces = [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    return Form("box", vertices, np.array(faces, np.int32))


def ball(refinements: int = 2) -> Form:
    """Make a ball of an octahedron whose triangles are cut in four so many times."""
    vertices = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    faces = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
    for _ in range(refinements):
        edges, which = np.unique(
            np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0, return_inverse=True
        )
        ab, bc, ca = (which.reshape(-1, 3) + len(vertices)).T
        a, b, c = faces.T
        parts = ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
        faces = np.concatenate([np.stack(part, axis=1) for part in parts])
        vertices = np.concatenate([vertices, vertices[edges].mean(axis=1)])
        vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
    return Form("ball", vertices, faces.astype(np.int32))


def _cylinder() -> Form:
    ring = _ring(CORNERS_OF_CYLINDER)
    ends = [np.concatenate([ring, np.full((len(ring), 1), height)], axis=1) for height in (0.0, 1.0)]
    here, there = np.arange(len(ring)), np.roll(np.arange(len(ring)), -1)
    below, above = np.stack([here, there, there + len(ring)]), np.stack([here, there + len(ring), here + len(ring)])
    return Form("cylinder", np.concatenate(ends), np.concatenate([below.T, above.T]).astype(np.int32))
