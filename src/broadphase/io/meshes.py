"""Parts of a mesh file, and boxes of its triangles or parts."""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from broadphase.boxes import from_parts, from_triangles, merge
from broadphase.errors import FileFormatError, MissingExtraError
from broadphase.extras import import_extra
from broadphase.files import path_of
from broadphase.io.box_file import BoxFile
from broadphase.io.ifc import read_products
from broadphase.io.part_file import PartFile, part_of
from broadphase.progress import Progress, reporting

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    Mesh = tuple[str, NDArray[Any], NDArray[Any]]

T = TypeVar("T")


def read_mesh(path: Path, *, parts: bool = False) -> BoxFile:
    """Read the boxes of a mesh file's triangles, or of its parts, where the scene places them.

    With `parts`, one box for each mesh of the scene; if there is only one, for each connected piece of it (vertices at
    the same position are the same vertex). `owners` is the number of the mesh of each box. Empty meshes are skipped.
    """
    meshes = _read_scene(path)
    names = np.array([name for name, _, _ in meshes], dtype=object)
    try:
        boxes = [from_triangles(vertices, faces) for _, vertices, faces in meshes]
        if not parts:
            owners = np.repeat(np.arange(len(meshes)), [len(one) for one in boxes])
            return BoxFile(np.concatenate(boxes), str(path), "triangle", None, owners)
        if len(meshes) > 1:
            owners = np.arange(len(meshes))
            return BoxFile(np.stack([merge(one) for one in boxes]), str(path), "mesh part", names, owners)
    except ValueError as error:
        raise FileFormatError(f"{path}: {error}") from error
    pieces = from_parts(*_label_pieces(*meshes[0][1:]))
    return BoxFile(pieces, str(path), "mesh part", None, np.zeros(len(pieces), np.int64))


def read_parts(path: str | os.PathLike[str], *, progress: Progress = None) -> PartFile:
    """Read the parts of a mesh file: the nodes of its scene, by name, where they are; the products of an IFC file.

    Parameters
    ----------
    path : path-like
        .obj, .stl, .ply, .glb, .gltf or whatever else trimesh reads; .ifc.
    progress : bool or callable, optional
        As in `broadphase.pairs`; the stage is "read", which counts the products of an .ifc file.

    Returns
    -------
    PartFile
        The parts, and the unit of their lengths. Parts of the same geometry, not scaled, have the same arrays.

    Raises
    ------
    FileFormatError
        Not a mesh file, or it has no triangles, or a vertex that is not finite.
    MissingExtraError
        trimesh is not installed; or ifcopenshell, for .ifc.
    """
    path = path_of(path)
    if path.suffix.lower() == ".ifc":
        with reporting(progress) as told:
            return read_products(path, told)
    found = _with_scene(path, lambda scene: _parts_of(scene, path.suffix.lower(), str(path)))
    if not found.parts:
        raise FileFormatError(f"{path}: has no triangles")
    return found


_IN_METRES = (".glb", ".gltf")  # the format says so


def _parts_of(scene: Any, suffix: str, source: str) -> PartFile:
    known: dict[int, tuple[NDArray[np.float64], NDArray[np.int64]]] = {}
    parents = scene.graph.transforms.parents
    parts = []
    for node, pose, mesh in _nodes_of(scene):
        if not len(mesh.faces):
            continue
        if id(mesh) not in known:
            known[id(mesh)] = np.array(mesh.vertices, np.float64), np.array(mesh.faces, np.int64)
            if not np.isfinite(known[id(mesh)][0]).all():
                raise ValueError("a vertex is not finite")
        vertices, faces = known[id(mesh)]
        parent = parents.get(node)
        of = None if parent in (None, scene.graph.base_frame) else str(parent)
        parts.append(part_of(_name_of(node, scene, source), vertices, faces, pose, of))
    unit = "m" if suffix in _IN_METRES else scene.units
    return PartFile(parts, source, None if unit is None else str(unit))


def _read_scene(path: Path) -> list[Mesh]:
    def meshes_of(scene: Any) -> list[Mesh]:
        return [
            (
                _name_of(node, scene, path),
                np.asarray(mesh.vertices) @ pose[:3, :3].T + pose[:3, 3],
                np.asarray(mesh.faces),
            )
            for node, pose, mesh in _nodes_of(scene)
        ]

    meshes = [mesh for mesh in _with_scene(path, meshes_of) if len(mesh[2])]
    if not meshes:
        raise FileFormatError(f"{path}: has no triangles")
    return meshes


def _with_scene(path: Path, use: Callable[[Any], T]) -> T:
    """Return use(scene) of a file."""
    trimesh = import_extra("trimesh", purpose=f"reading {path.suffix} files")
    log = logging.getLogger("trimesh")
    level = log.level
    with path.open("rb") as stream:
        log.setLevel(logging.CRITICAL)  # it also logs failures, which are raised here
        try:
            kind = path.suffix.lower().lstrip(".")
            if kind in ("glb", "gltf"):
                _check_sizes(path, stream.read())
                stream.seek(0)
            resolver = (
                trimesh.resolvers.FilePathResolver(str(path)) if kind == "gltf" else None
            )  # numbers lie beside it
            scene = trimesh.load_scene(stream, file_type=kind, resolver=resolver, process=False)
            for mesh in scene.geometry.values():
                _check_corners(mesh)
            return use(scene)
        except ImportError as error:
            # What it has no reader for is known by the text alone.
            library = error.name or "".join(re.findall(r"No module named '(\w+)", str(error)))
            advice = f"needs {library} to read it: pip install {library}" if library else f"cannot read it: {error}"
            raise MissingExtraError(f"{path}: trimesh {advice}") from error
        except NotImplementedError as error:
            raise FileFormatError(
                f"{path}: no meshes are read from {path.suffix} files; known are {', '.join(_ENDINGS)}"
                " and others that trimesh reads"
            ) from error
        except MemoryError as error:  # a damaged length, more likely than a file so large
            raise FileFormatError(f"{path}: reading it takes more memory than there is") from error
        except Exception as error:  # damaged files make trimesh raise all kinds of exceptions
            raise FileFormatError(
                f"{path}: not a readable {path.suffix} file ({type(error).__name__}: {error})"
            ) from error
        finally:
            log.setLevel(level)


_ENDINGS = (".obj", ".stl", ".ply", ".glb", ".gltf", ".ifc")
_MOST_DECODED = 64  # numbers for each byte: more than extensions that compress meshes make of one
_NUMBERS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}


def _check_sizes(path: Path, content: bytes) -> None:
    """Raise ValueError if a glTF file declares more than it has: trimesh makes room before it reads."""
    text, at = content, 12
    if path.suffix.lower() == ".glb":
        while at + 8 <= len(content):
            end = at + 8 + int.from_bytes(content[at : at + 4], "little")
            if end > len(content):
                raise ValueError(f"a chunk ends at byte {end}, after the end of the file")
            if at == 12:
                text = content[at + 8 : end]
            at = end
    tree = json.loads(text)
    most = len(content)
    for buffer in tree.get("buffers", ()):
        beside = path.parent / buffer.get("uri", "")[:255]
        if beside.is_file():
            most += beside.stat().st_size
    # Numbers that lie nowhere: all 0, or put in later by an extension.
    numbers = sum(one["count"] * _NUMBERS[one["type"]] for one in tree.get("accessors", ()) if "bufferView" not in one)
    if numbers > _MOST_DECODED * most:
        raise ValueError(f"it declares {numbers} numbers without data, in {most} bytes")


def _check_corners(mesh: Any) -> None:
    """Raise ValueError if a mesh has no proper vertices, or a triangle has one that does not exist."""
    if not hasattr(mesh, "faces") or not len(mesh.faces):
        return
    if mesh.vertices.ndim != 2 or mesh.vertices.shape[1] != 3:
        raise ValueError(f"vertices of shape {mesh.vertices.shape}")
    if mesh.faces.min() < 0 or mesh.faces.max() >= len(mesh.vertices):
        raise ValueError("a triangle has a vertex that does not exist")


def _nodes_of(scene: Any) -> list[tuple[str, Any, Any]]:
    nodes = []
    for node in scene.graph.nodes_geometry:
        pose, key = scene.graph[node]
        mesh = scene.geometry[key]
        if hasattr(mesh, "faces"):  # not a point cloud or a path
            nodes.append((node, pose, mesh))
    return nodes


def _name_of(node: Any, scene: Any, source: str | Path) -> str:
    """Return the name of a node; where the file has none, that of the file."""
    name = str(node)
    path = path_of(source)
    numbered = re.fullmatch(r"geometry_(\d+)", name)  # what trimesh calls the meshes of files without names
    if numbered is None or path.suffix.lower() in _IN_METRES:
        return name
    return path.stem if len(scene.graph.nodes_geometry) == 1 else f"{path.stem}_{numbered[1]}"


def _label_pieces(vertices: NDArray[Any], faces: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the corners of all triangles, and for each the number of its piece, in the order of first triangles."""
    sparse = import_extra("scipy.sparse", purpose="finding the connected pieces of a mesh")
    csgraph = import_extra("scipy.sparse.csgraph", purpose="finding the connected pieces of a mesh")
    _, same = np.unique(vertices, axis=0, return_inverse=True)
    corners = same.reshape(-1)[faces]
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]]])
    graph = sparse.coo_array((np.ones(len(edges), np.bool_), edges.T), shape=(len(vertices), len(vertices)))
    _, label = csgraph.connected_components(graph, directed=False)
    _, first, number = np.unique(label[corners[:, 0]], return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return vertices[faces].reshape(-1, vertices.shape[1]), np.repeat(rank[number.reshape(-1)], faces.shape[1])
