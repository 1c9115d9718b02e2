"""Meshes for the demo: the unit solids that bodies are drawn with, and a knot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.extras import import_extra

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Triangles", "ball", "box", "capsule", "disc", "knot", "tile"]

_TOP = 0.88  # width of the upper side of flat solids: the rim slopes, so that shading shows where one ends


class Triangles(NamedTuple):
    """A mesh: vertices (v, 3), and faces (f, 3), counter-clockwise seen from outside."""

    vertices: NDArray[np.float32]
    faces: NDArray[np.uint32]


def box() -> Triangles:
    """Make the cube of edge 1 around the origin."""
    return _with_sharp_edges(_creation().box())


def tile() -> Triangles:
    """Make a 2D rectangle as seen from above: a cube of edge 1 with a smaller top and no bottom."""
    return _seen_from_above(_creation().box())


def disc(corners: int = 24) -> Triangles:
    """Make a 2D circle as seen from above: a cylinder of diameter and height 1 with a smaller top and no bottom."""
    return _seen_from_above(_creation().cylinder(radius=0.5, height=1.0, sections=corners))


def ball(subdivisions: int) -> Triangles:
    """Make the ball of diameter 1 around the origin, of 20 * 4**subdivisions triangles."""
    return _as_triangles(_creation().icosphere(subdivisions=subdivisions, radius=0.5))


def capsule(share: float = 0.3, corners: int = 12) -> Triangles:
    """Make a capsule along the second axis in the cube of edge 1; each end takes a share of the height."""
    mesh = _creation().capsule(height=0.5 / share - 1, radius=0.5, count=[corners // 2, corners])
    x, y, z = mesh.vertices.T
    mesh.vertices = np.stack([x, 2 * share * z, -y], axis=1)
    return _as_triangles(mesh)


def knot(around: int = 400, across: int = 24) -> Triangles:
    """Make a tube along a trefoil knot, within the cube from -10 to 10."""
    t = np.linspace(0, 2 * np.pi, around, endpoint=False)
    line = np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], axis=1)
    ahead = np.roll(line, -1, axis=0) - np.roll(line, 1, axis=0)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    side = np.cross(ahead, [0.0, 0.0, 1.0])  # the curve is never parallel to the third axis
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(side, ahead)
    angles = np.linspace(0, 2 * np.pi, across, endpoint=False)
    tube = 0.55 * (np.cos(angles)[:, None] * side[:, None] + np.sin(angles)[:, None] * up[:, None])
    vertices = 2.7 * (line[:, None] + tube).reshape(-1, 3)
    ring, spoke = np.divmod(np.arange(around * across), across)
    right = ring * across + (spoke + 1) % across
    on = (ring + 1) % around * across
    a, b, c, d = ring * across + spoke, right, on + spoke, on + (spoke + 1) % across
    faces = np.concatenate([np.stack([a, c, b], axis=1), np.stack([b, c, d], axis=1)])
    return Triangles(vertices.astype(np.float32), faces.astype(np.uint32))


def _creation() -> Any:
    return import_extra("trimesh.creation", purpose="the demo", extra="demo")


def _seen_from_above(mesh: Any) -> Triangles:
    """Make the top smaller and remove the bottom, which the camera never sees."""
    mesh.update_faces(mesh.face_normals[:, 2] > -0.5)
    vertices = mesh.vertices.copy()
    vertices[vertices[:, 2] > 0, :2] *= _TOP
    mesh.vertices = vertices
    return _with_sharp_edges(mesh)


def _with_sharp_edges(mesh: Any) -> Triangles:
    """Give each triangle vertices of its own: shading is flat then."""
    mesh.unmerge_vertices()
    return _as_triangles(mesh)


def _as_triangles(mesh: Any) -> Triangles:
    return Triangles(np.asarray(mesh.vertices, np.float32), np.asarray(mesh.faces, np.uint32))
