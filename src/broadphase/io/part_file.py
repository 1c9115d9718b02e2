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

__all__ = ["Part", "PartFile", "metres_of", "parts_of", "unit_named"]


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
    given_name : str, optional
        The name in the file, which others may have too; None without one.
    """

    name: str
    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]
    position: NDArray[np.float64]
    rotation: NDArray[np.float64]
    parent: str | None
    type: str | None = None
    guid: str | None = None
    given_name: str | None = None

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
    part_type : str
        What a part is in this file: "node", "object", "solid", "product" and so on.
    empty : tuple of str
        Names of what would be parts, but has no triangles.
    """

    parts: list[Part]
    source: str
    unit: str | None
    part_type: str = "part"
    empty: tuple[str, ...] = ()

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
    for node, turn, place, rotation, is_rotation in zip(nodes, turns, places, rotations, are_rotations, strict=True):
        vertices = node.vertices
        if not is_rotation:
            vertices, place = vertices @ turn.T + place, np.zeros(3)
        parts.append(Part(node.name, vertices, node.faces, place, rotation, node.parent, given_name=node.given_name))
    return parts


_METRES = {
    "m": 1.0, "meter": 1.0, "meters": 1.0, "metre": 1.0, "metres": 1.0, "km": 1e3, "kilometers": 1e3, "dm": 0.1,
    "cm": 0.01, "centimeter": 0.01, "centimeters": 0.01, "mm": 1e-3, "millimeter": 1e-3, "millimeters": 1e-3,
    "um": 1e-6, "micron": 1e-6, "microns": 1e-6, "in": 0.0254, "inch": 0.0254, "inches": 0.0254, "ft": 0.3048,
    "foot": 0.3048, "feet": 0.3048, "yd": 0.9144, "yard": 0.9144, "yards": 0.9144,
}  # fmt: skip
_SHORT = ("m", "mm", "cm", "dm", "km", "um", "in", "ft", "yd")


def metres_of(unit: str) -> float:
    """Return the metres of a unit, such as "mm" or "0.001 * meters"; raise ValueError if it is unknown.

    >>> metres_of("in"), metres_of("2.5 * cm")
    (0.0254, 0.025)
    """
    factor, _, name = unit.lower().rpartition(" * ")
    try:
        return float(factor or 1.0) * _METRES[name]
    except (KeyError, ValueError):
        raise ValueError(f"{quoted(unit)} is no unit that is known") from None


def unit_named(unit: str | float) -> str:
    """Return the short name of a unit that is given by a name or in metres, so that equal ones are called alike.

    >>> unit_named("millimeter"), unit_named(0.0254), unit_named(0.5)
    ('mm', 'in', '0.5 * m')
    """
    try:
        metres = metres_of(unit) if isinstance(unit, str) else unit
    except ValueError:
        return str(unit)
    near = next((name for name in _SHORT if abs(metres / _METRES[name] - 1) < 1e-9), None)
    return f"{float(metres)!r} * m" if near is None else near
