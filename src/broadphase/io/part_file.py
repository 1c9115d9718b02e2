"""What a file of parts holds, once read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from broadphase.errors import quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Part", "PartFile", "part_of"]


class Part(NamedTuple):
    """One part of a file; see `read_parts`.

    Attributes
    ----------
    name : str
        That of its node or object, with a number if it is there before: ``bolt``, ``bolt (2)``. Without a name, that of
        its mesh, or of the file without its ending.
    vertices : ndarray, shape (v, 3), float64
        Before it is placed.
    faces : ndarray, shape (f, 3), int64
        Rows of the vertices.
    position : ndarray, shape (3,), float64
        Where the scene places it.
    rotation : ndarray, shape (4,), float64
        A quaternion (w, x, y, z).
    parent : str, optional
        The node above it; None for the root of the scene.
    """

    name: str
    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]
    position: NDArray[np.float64]
    rotation: NDArray[np.float64]
    parent: str | None

    def __repr__(self) -> str:
        return f"Part({self.name!r}, <{len(self.vertices)} vertices>, <{len(self.faces)} faces>)"

    def placed_vertices(self) -> NDArray[np.float64]:
        """Return the vertices where the scene places them."""
        (w, axis) = self.rotation[0], self.rotation[1:]
        twice = 2 * np.cross(axis, self.vertices)
        placed: NDArray[np.float64] = self.vertices + w * twice + np.cross(axis, twice) + self.position
        return placed


class PartFile(NamedTuple):
    """The parts of a mesh file.

    Attributes
    ----------
    parts : list of Part
    source : str
        Name of the file.
    unit : str, optional
        Of its lengths: "m" for glTF; None if the file does not say.
    """

    parts: list[Part]
    source: str
    unit: str | None

    def __repr__(self) -> str:
        return f"<{len(self.parts)} parts of {quoted(self.source)}>"


def part_of(
    name: str, vertices: NDArray[np.float64], faces: NDArray[np.int64], pose: NDArray[np.float64], parent: str | None
) -> Part:
    """Return a part whose place is a matrix of shape (4, 4): as a rotation if it is one, otherwise in the vertices."""
    turn, place = pose[:3, :3], pose[:3, 3]
    if _is_rotation(turn):
        return Part(name, vertices, faces, place.astype(np.float64), _quaternion(turn), parent)
    return Part(name, vertices @ turn.T + place, faces, np.zeros(3), np.eye(4)[0], parent)


def _is_rotation(turn: NDArray[np.float64]) -> bool:
    # Of single precision, they are a little less than that: then the vertices are moved.
    return bool(np.abs(turn @ turn.T - np.eye(3)).max() < 1e-12 and np.linalg.det(turn) > 0)


def _quaternion(turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quaternion (w, x, y, z) of a rotation: an eigenvector, after Bar-Itzhack."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = turn
    matrix = np.array(
        [
            [xx - yy - zz, 0, 0, 0],
            [yx + xy, yy - xx - zz, 0, 0],
            [zx + xz, zy + yz, zz - xx - yy, 0],
            [zy - yz, xz - zx, yx - xy, xx + yy + zz],
        ]
    )
    x, y, z, w = np.linalg.eigh(matrix)[1][:, -1]
    return np.array([w, x, y, z])
