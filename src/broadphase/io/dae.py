"""Nodes of COLLADA files (.dae), by pycollada."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import FileFormatError, clipped
from broadphase.extras import import_extra
from broadphase.mesh_formats import PlacedMesh, named_nodes
from broadphase.mesh_formats.polygons import cut_into_triangles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.mesh_formats import LeftOut, MeshNode

    Mesh = tuple[NDArray[np.float64], NDArray[np.int64]]

__all__ = ["read_dae"]

_MOST_PLACES = 1 << 20  # nodes may hold copies of nodes, which hold copies


def read_dae(stream: IO[bytes], stem: str, left: LeftOut) -> tuple[list[MeshNode], str]:
    """Return the nodes with triangles or polygons in the order of the file, and the unit of lengths.

    A node is one part, whatever its materials. Raises whatever pycollada does on damaged files.
    """
    collada = import_extra("collada", purpose="reading .dae files", install="pycollada")
    file = collada.Collada(stream, ignore=[collada.common.DaeError])
    for error in file.errors:
        left.add("damaged elements", str(error))
    meshes: dict[int, Mesh] = {}
    found: list[PlacedMesh] = []
    names: dict[int, str] = {}
    waiting: list[tuple[Any, NDArray[np.float64], int | None]]
    waiting = [(node, np.eye(4), None) for node in reversed([] if file.scene is None else file.scene.nodes)]
    while waiting:
        node, above_pose, above = waiting.pop()
        number = len(names)
        if number > _MOST_PLACES:
            raise FileFormatError(f"the scene has more than {_MOST_PLACES:,} nodes")
        pose = above_pose @ np.asarray(node.matrix, np.float64)
        name = _name_of(node)
        names[number] = name or f"node {number}"
        own = []
        for child in node.children or ():
            if isinstance(child, collada.scene.GeometryNode):
                geometry = child.geometry
                if id(geometry) not in meshes:
                    meshes[id(geometry)] = _mesh_of(collada, geometry, left)
                own.append(meshes[id(geometry)])
                name = name or geometry.name or geometry.id or ""
            elif isinstance(child, collada.scene.ControllerNode):
                left.add("skins", names[number])
        below = [child for child in node.children or () if isinstance(child, collada.scene.Node)]
        waiting.extend((child, pose, number) for child in reversed(below))
        own = [mesh for mesh in own if len(mesh[1])]
        if own:
            found.append(PlacedMesh(number, above, name or stem, *_joined(own), pose))
    size = file.assetInfo.unitmeter
    unit = "m" if size is None or np.isclose(size, 1.0) else f"{size} * meters"
    return named_nodes(found, names), unit


def _name_of(node: Any) -> str:
    """Return the name of a node; that of a copy is the name of its original."""
    return str(getattr(node, "node", node).name or node.id or "")


def _mesh_of(collada: Any, geometry: Any, left: LeftOut) -> Mesh:
    meshes = []
    for place, primitive in enumerate(geometry.primitives):
        where = f"geometry {clipped(geometry.id)}, primitive {place}"
        if isinstance(primitive, collada.triangleset.TriangleSet):
            sizes = np.full(len(primitive), 3)
        elif isinstance(primitive, collada.polylist.Polylist):  # and polygons
            sizes = np.asarray(primitive.vcounts, np.int64)
        else:
            left.add("lines" if isinstance(primitive, collada.lineset.LineSet) else "unknown primitives", where)
            continue
        if not len(sizes) or primitive.vertex is None:
            continue
        vertices = np.array(primitive.vertex, np.float64)
        corners = np.asarray(primitive.vertex_index, np.int64).reshape(-1)
        if vertices.ndim != 2 or vertices.shape[1] != 3:
            raise FileFormatError(f"{where}: vertices of shape {vertices.shape}")
        if sizes.min() < 0 or sizes.sum() != len(corners):
            raise FileFormatError(f"{where}: {len(corners)} corners, and {sizes.sum()} declared")
        if len(corners) and not 0 <= corners.min() <= corners.max() < len(vertices):
            raise FileFormatError(f"{where}: a face has a vertex that does not exist")
        if (sizes < 3).any():
            left.add("faces of less than three corners", where)
            corners, sizes = corners[np.repeat(sizes >= 3, sizes)], sizes[sizes >= 3]
        meshes.append((vertices, cut_into_triangles(corners, sizes, vertices)))
    return _joined(meshes) if meshes else (np.empty((0, 3)), np.empty((0, 3), np.int64))


def _joined(meshes: list[Mesh]) -> Mesh:
    if len(meshes) == 1:
        return meshes[0]
    first = np.cumsum([0, *(len(vertices) for vertices, _ in meshes)])
    return (
        np.concatenate([vertices for vertices, _ in meshes]),
        np.concatenate([faces + start for start, (_, faces) in zip(first, meshes, strict=False)]),
    )
