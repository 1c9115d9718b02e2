"""Meshes for the demo: unit solids that are scaled to things, and a knot to fly through."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Triangles", "ball", "box", "capsule", "disc", "knot", "tile"]

_EDGE_OF_TILE = 0.88  # of the width: the rest slopes, so that light shows where one tile ends and the next begins


class Triangles(NamedTuple):
    """A mesh.

    Attributes
    ----------
    vertices : ndarray, shape (v, 3), float32
    faces : ndarray, shape (f, 3), uint32
        Counter-clockwise, seen from outside.
    """

    vertices: NDArray[np.float32]
    faces: NDArray[np.uint32]


def box() -> Triangles:
    """Make the cube of edge 1 around the origin, each side with vertices of its own: light shows its edges."""
    return _of_quads(_quads(1.0))


def tile() -> Triangles:
    """Make a cube of edge 1 whose upper side is smaller: a rectangle of the plane, seen from above."""
    return _of_quads(_quads(_EDGE_OF_TILE)[:-1])  # nobody sees it from below


def ball(refinements: int) -> Triangles:
    """Make the ball of diameter 1 from an octahedron whose triangles are cut in four so many times."""
    vertices = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float64)
    faces = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
    for _ in range(refinements):
        edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        edges, which = np.unique(edges, axis=0, return_inverse=True)
        middles = vertices[edges].mean(axis=1)
        ab, bc, ca = (which.reshape(-1, 3) + len(vertices)).T
        a, b, c = faces.T
        quarters = (a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)
        faces = np.concatenate([np.stack(corners, axis=1) for corners in quarters])
        vertices = np.concatenate([vertices, middles])
        vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
    return _as_triangles(vertices / 2, faces)


def disc(corners: int = 24) -> Triangles:
    """Make a flat cone frustum of diameter and height 1: a circle of the plane, seen from above."""
    angles = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(corners)], axis=1) / 2
    top = ring * _EDGE_OF_TILE + [0, 0, 0.5]
    low = ring - [0, 0, 0.5]
    here, there = np.arange(corners), np.roll(np.arange(corners), -1)
    # The upper side has vertices of its own: light shows its edge.
    vertices = np.concatenate([low, top, top, [[0, 0, 0.5]]])
    faces = np.concatenate(
        [
            np.stack([here, there, there + corners], axis=1),
            np.stack([here, there + corners, here + corners], axis=1),
            np.stack([here + 2 * corners, there + 2 * corners, np.full(corners, 3 * corners)], axis=1),
        ]
    )
    return _as_triangles(vertices, faces)


def capsule(share: float = 0.3, corners: int = 12) -> Triangles:
    """Make a capsule along the second axis in the cube of edge 1; each end takes a share of the height."""
    bend = np.linspace(0, np.pi / 2, 4)
    bends = np.concatenate([-bend[::-1], bend])
    ends = np.repeat([share - 0.5, 0.5 - share], len(bend))
    heights = ends + share * np.sin(bends)
    angles = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    rings = [
        np.stack([radius * np.cos(angles), np.full(corners, height), -radius * np.sin(angles)], axis=1)
        for radius, height in zip(np.cos(bends) / 2, heights, strict=True)
    ]
    here, there = np.arange(corners), np.roll(np.arange(corners), -1)
    faces = [
        np.concatenate(
            [
                np.stack([here, there, there + corners], axis=1),
                np.stack([here, there + corners, here + corners], axis=1),
            ]
        )
        + ring * corners
        for ring in range(len(bends) - 1)
    ]
    return _as_triangles(np.concatenate(rings), np.concatenate(faces))


def knot(around: int = 400, across: int = 24) -> Triangles:
    """Make a tube along a trefoil knot, within the cube from -10 to 10."""
    t = np.linspace(0, 2 * np.pi, around, endpoint=False)
    line = np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], axis=1)
    ahead = np.roll(line, -1, axis=0) - np.roll(line, 1, axis=0)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    side = np.cross(ahead, [0.0, 0.0, 1.0])  # the knot is nowhere upright
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(side, ahead)
    angles = np.linspace(0, 2 * np.pi, across, endpoint=False)
    tube = 0.55 * (np.cos(angles)[:, None] * side[:, None] + np.sin(angles)[:, None] * up[:, None])
    vertices = 2.7 * (line[:, None] + tube).reshape(-1, 3)
    ring, spoke = np.divmod(np.arange(around * across), across)
    right = ring * across + (spoke + 1) % across
    on = (ring + 1) % around * across
    a, b, c, d = ring * across + spoke, right, on + spoke, on + (spoke + 1) % across
    return _as_triangles(vertices, np.concatenate([np.stack([a, c, b], axis=1), np.stack([b, c, d], axis=1)]))


def _quads(top: float) -> NDArray[np.float64]:
    """Give the six sides (6, 4, 3) of a cube whose upper side is so wide; that below is the last."""
    low = np.array([[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1]], np.float64)
    high = low * [top, top, -1]
    sides = [[low[k], low[(k + 1) % 4], high[(k + 1) % 4], high[k]] for k in range(4)]
    quads: NDArray[np.float64] = np.array([*sides, high, low[::-1]]) / 2
    return quads


def _of_quads(quads: NDArray[np.float64]) -> Triangles:
    first = 4 * np.arange(len(quads))[:, None]
    faces = np.concatenate([first + np.array([0, 1, 2]), first + np.array([0, 2, 3])])
    return _as_triangles(quads.reshape(-1, 3), faces)


def _as_triangles(vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> Triangles:
    return Triangles(vertices.astype(np.float32), faces.astype(np.uint32))
