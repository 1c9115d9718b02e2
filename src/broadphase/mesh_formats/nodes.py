"""What the readers of mesh formats return, and what they leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from broadphase.errors import FileFormatError, clipped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = [
    "PART_KINDS", "LeftOut", "MeshNode", "PartKind", "PlacedMesh", "joined", "line_error", "named_nodes",
    "nodes_by_mesh", "numbered", "text_of",
]  # fmt: skip

PartKind = Literal["object", "group", "material", "mesh", "connected"]
"""What a part of a file can be, where its format has these things; see `broadphase.io.read_parts`."""

PART_KINDS: tuple[PartKind, ...] = get_args(PartKind)

_MOST_KINDS = 8  # in one message


class MeshNode(NamedTuple):
    """A mesh, and where the scene of its file places it.

    `vertices`, shape (v, 3), and `faces`, shape (f, 3), are the same arrays for nodes with the same mesh. `pose` is a
    matrix of shape (4, 4). `name` is unique in the file; `parent` is the name of the node above. `given_name` is the
    name in the file, None without one.
    """

    name: str
    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]
    pose: NDArray[np.float64]
    parent: str | None
    given_name: str | None = None

    def placed(self) -> NDArray[np.float64]:
        """Return the vertices where the scene places them; what overflows is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            placed: NDArray[np.float64] = self.vertices @ self.pose[:3, :3].T + self.pose[:3, 3]
        return placed


class LeftOut:
    """The geometry that a reader leaves out, by kind, with the first element of each.

    `empty` has the names of parts that are no nodes because they have no triangles, which is no loss.
    """

    def __init__(self) -> None:
        self.empty: list[str] = []
        self._found: dict[str, tuple[str, int]] = {}

    def add(self, kind: str, element: str) -> None:
        """Record an element, such as "mesh 0, primitive 2", and the kind, such as "lines", that is not read."""
        first, count = self._found.get(kind, (element, 0))
        self._found[kind] = first, count + 1

    def __str__(self) -> str:
        texts = [
            f"{kind} ({clipped(first)}{f' and {count - 1:,} more' if count > 1 else ''})"
            for kind, (first, count) in self._found.items()
        ]
        more = f"; and {len(texts) - _MOST_KINDS:,} other kinds" if len(texts) > _MOST_KINDS else ""
        return f"not read: {'; '.join(texts[:_MOST_KINDS])}{more}" if texts else ""


class PlacedMesh(NamedTuple):
    """A mesh in the scene of a file: `node` and `above` tell nodes apart, by any numbers; None is the scene itself.

    Without a name in the file, `name` is empty. `mesh` is the name of the mesh, where nodes may share one.
    """

    node: int
    above: int | None
    name: str
    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]
    pose: NDArray[np.float64]
    mesh: str = ""


def joined(nodes: list[MeshNode]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the vertices of all nodes where they are placed, and their faces, as one mesh."""
    first = np.cumsum([0, *(len(node.vertices) for node in nodes)])
    faces = [node.faces + start for node, start in zip(nodes, first, strict=False)]
    return np.concatenate([node.placed() for node in nodes]), np.concatenate(faces)


def text_of(content: bytes) -> str:
    """Decode a text whose encoding no format names."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def line_error(number: int, line: bytes, fault: str) -> FileFormatError:
    """Make the error for a line of a text."""
    return FileFormatError(f"line {number}: {clipped(text_of(line.strip()), 60)}: {fault}")


def nodes_by_mesh(found: list[PlacedMesh], stem: str) -> list[MeshNode]:
    """Return one node for each mesh, called as it is, or as its first node: all places of the mesh together."""
    places: dict[tuple[int, int], list[PlacedMesh]] = {}
    for placed in found:
        places.setdefault((id(placed.vertices), id(placed.faces)), []).append(placed)
    meshes = []
    for number, same in enumerate(places.values()):
        first = same[0]._replace(node=number, above=None, name=same[0].mesh or same[0].name)
        if len(same) > 1:
            nodes = [MeshNode("", one.vertices, one.faces, one.pose, None) for one in same]
            vertices, faces = joined(nodes)
            first = first._replace(vertices=vertices, faces=faces, pose=np.eye(4))
        meshes.append(first)
    return named_nodes(meshes, {}, stem)


def named_nodes(found: list[PlacedMesh], names: dict[int, str], stem: str) -> list[MeshNode]:
    """Return nodes whose names differ, from those of each other and of what is above them.

    `names` has the names of nodes without meshes, in the order of the file; those with meshes are numbered first.
    Nodes without a name are called `stem`.
    """
    row_of: dict[int, int] = {}
    for row, placed in enumerate(found):
        row_of.setdefault(placed.node, row)
    used = {placed.above for placed in found}
    rest = [node for node in names if node in used and node not in row_of]
    row_of.update((node, len(found) + row) for row, node in enumerate(rest))
    unique = numbered([*(placed.name or stem for placed in found), *(names[node] for node in rest)])
    return [
        MeshNode(
            name,
            placed.vertices,
            placed.faces,
            placed.pose,
            None if placed.above is None else unique[row_of[placed.above]],
            placed.name or None,
        )
        for name, placed in zip(unique, found, strict=False)
    ]


def numbered(names: Iterable[str]) -> list[str]:
    """Return the names, with a number behind those that repeat.

    >>> numbered(["bolt", "nut", "bolt", "bolt (2)", "bolt"])
    ['bolt', 'nut', 'bolt (3)', 'bolt (2)', 'bolt (4)']
    """
    given = list(names)
    taken = set(given)
    last: dict[str, int] = {}
    unique = []
    for name in given:
        number = last.get(name, 0) + 1
        while number > 1 and f"{name} ({number})" in taken:
            number += 1
        last[name] = number
        unique.append(name if number == 1 else f"{name} ({number})")
    return unique
