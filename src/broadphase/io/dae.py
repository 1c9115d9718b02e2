"""Nodes of COLLADA files (.dae), by pycollada."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import FileFormatError, clipped
from broadphase.extras import import_extra
from broadphase.io.part_file import unit_named
from broadphase.mesh_formats import PlacedMesh, named_nodes, nodes_by_mesh
from broadphase.mesh_formats.polygons import cut_into_triangles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.mesh_formats import LeftOut, MeshNode, PartKind

    Mesh = tuple[NDArray[np.float64], NDArray[np.int64]]

__all__ = ["read_dae"]

_MOST_PLACES = 1 << 20  # nodes may hold copies of nodes, which hold copies


def read_dae(stream: IO[bytes], stem: str, left: LeftOut, parts: PartKind) -> tuple[list[MeshNode], str]:
    """Return the nodes with triangles or polygons in the order of the file, and the unit of lengths.

    A node is one part, whatever its materials, unless `parts` is "material" or "mesh". A node that is instanced is one
    for each place. Raises whatever pycollada does on damaged files.
    """
    collada = import_extra("collada", purpose="reading .dae files", install="pycollada")
    file = collada.Collada(stream, ignore=[collada.common.DaeError])
    for error in file.errors:
        left.add("damaged elements", str(error))
    meshes: dict[int, dict[str | None, Mesh]] = {}
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
        own: list[tuple[str, Mesh]] = []  # of this node, by the name of the geometry or the material
        for child in node.children or ():
            if isinstance(child, collada.scene.GeometryNode):
                geometry = child.geometry
                if id(geometry) not in meshes:
                    meshes[id(geometry)] = _meshes_of(collada, geometry, left, parts == "material")
                label = geometry.name or geometry.id or ""
                for symbol, mesh in meshes[id(geometry)].items():
                    own.append((label if parts != "material" else _material(child, symbol), mesh))
                name = name or label
            elif isinstance(child, collada.scene.ControllerNode):
                left.add("skins", names[number])
        below = [child for child in node.children or () if isinstance(child, collada.scene.Node)]
        waiting.extend((child, pose, number) for child in reversed(below))
        with_faces = [(label, mesh) for label, mesh in own if len(mesh[1])]
        if own and not with_faces:
            left.empty.append(name or stem)
        if parts == "material":
            materials: dict[str, list[Mesh]] = {}
            for label, mesh in with_faces:
                materials.setdefault(label, []).append(mesh)
            for label, same in materials.items():
                found.append(PlacedMesh(-1 - len(found), number, label or name, *_joined(same), pose))
        elif parts == "mesh":
            found.extend(PlacedMesh(number, above, name, *mesh, pose, label) for label, mesh in with_faces)
        elif with_faces:
            found.append(PlacedMesh(number, above, name, *_joined([mesh for _, mesh in with_faces]), pose))
    unit = unit_named(file.assetInfo.unitmeter or 1.0)
    return nodes_by_mesh(found, stem) if parts == "mesh" else named_nodes(found, names, stem), unit


def _name_of(node: Any) -> str:
    """Return the name of a node; that of a copy is the name of its original."""
    return str(getattr(node, "node", node).name or node.id or "")


def _material(child: Any, symbol: str | None) -> str:
    """Return the name of the material that an instance of a geometry has for one of its symbols."""
    for bound in child.materials or ():
        if bound.symbol == symbol:
            return str(getattr(bound.target, "name", None) or getattr(bound.target, "id", None) or symbol)
    return symbol or ""


def _meshes_of(collada: Any, geometry: Any, left: LeftOut, by_material: bool) -> dict[str | None, Mesh]:
    """Return the triangles of a geometry: those of each material, or all by the key None."""
    meshes: dict[str | None, list[Mesh]] = {}
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
        mesh = vertices, cut_into_triangles(corners, sizes, vertices)
        meshes.setdefault(primitive.material if by_material else None, []).append(mesh)
    nothing = np.empty((0, 3)), np.empty((0, 3), np.int64)
    return {symbol: _joined(own) for symbol, own in meshes.items()} or {None: nothing}


def _joined(meshes: list[Mesh]) -> Mesh:
    if len(meshes) == 1:
        return meshes[0]
    first = np.cumsum([0, *(len(vertices) for vertices, _ in meshes)])
    return (
        np.concatenate([vertices for vertices, _ in meshes]),
        np.concatenate([faces + start for start, (_, faces) in zip(first, meshes, strict=False)]),
    )
