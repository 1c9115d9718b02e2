"""What a file of parts holds, once read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from broadphase.errors import quoted
from broadphase.shapes.turning import quaternions_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from broadphase.mesh_formats import MeshNode

__all__ = ["Part", "PartFile", "parts_of"]


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
        The node above it, or the assembly; None for the root of the scene.
    type : str, optional
        The IFC class, such as "IfcWall"; None in other formats.
    guid : str, optional
        The GlobalId of an IFC product, 22 characters; None in other formats.
    """

    name: str
    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]
    position: NDArray[np.float64]
    rotation: NDArray[np.float64]
    parent: str | None
    type: str | None = None
    guid: str | None = None

    def __repr__(self) -> str:
        return f"Part({self.name!r}, <{len(self.vertices)} vertices>, <{len(self.faces)} faces>)"

    @property
    def base_name(self) -> str:
        """The name without a number at its end, which copies have: ``bolt`` for ``bolt (2)``, ``bolt.003``, ``bolt-4``.

        The number stands in brackets, or behind a space or one of ``. _ - : #``; so ``M8`` is a name.
        """
        return re.sub(r"(?:\s*\(\d+\)|[\s._:#-]+\d+)$", "", self.name) or self.name

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


def parts_of(nodes: Sequence[MeshNode]) -> list[Part]:
    """Return the parts of nodes, whose places are matrices: as a rotation if it is one, otherwise in the vertices."""
    poses = np.array([node.pose for node in nodes], np.float64).reshape(-1, 4, 4)
    turns, places = poses[:, :3, :3], poses[:, :3, 3]
    # Of single precision, they are a little less than that: then the vertices are moved.
    off = np.abs(turns @ turns.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2), initial=0.0)
    are_rotations = (off < 1e-12) & (np.linalg.det(turns) > 0)
    rotations = quaternions_of(np.where(are_rotations[:, np.newaxis, np.newaxis], turns, np.eye(3)))
    parts = []
    for (name, vertices, faces, _, parent), turn, place, rotation, is_rotation in zip(
        nodes, turns, places, rotations, are_rotations, strict=True
    ):
        if not is_rotation:
            vertices, place = vertices @ turn.T + place, np.zeros(3)
        parts.append(Part(name, vertices, faces, place, rotation, parent))
    return parts
