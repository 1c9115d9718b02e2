"""Parts of a mesh file, and boxes of its triangles or parts."""

from __future__ import annotations

import logging
import re
import warnings
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, get_args

import numpy as np

from broadphase.boxes import from_parts, from_triangles, merge
from broadphase.errors import FileFormatError, MissingExtraError, PartialFileWarning, clipped, unknown_name
from broadphase.extras import import_extra
from broadphase.files import files_beside, path_of, require_file
from broadphase.io.box_file import BoxFile
from broadphase.io.dae import read_dae
from broadphase.io.ifc import read_products
from broadphase.io.part_file import PartFile, parts_of
from broadphase.mesh_formats import PARSED, LeftOut, MeshNode, ObjParts, PlacedMesh, named_nodes, parse_nodes
from broadphase.progress import Progress, reporting

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

OBJ_PARTS = get_args(ObjParts)
"""What a part of an .obj file can be."""


def read_mesh(path: Path, *, parts: bool = False) -> BoxFile:
    """Read the boxes of a mesh file's triangles, or of its parts, where the scene places them.

    With `parts`, one box for each part, as of `read_parts`; if there is only one, for each connected piece of it
    (vertices at the same position are the same vertex). `owners` is the number of the part of each box.
    """
    nodes, _ = _read_nodes(path, "object")
    names = np.array([node.name for node in nodes], dtype=object)
    meshes = [(node.placed(), node.faces) for node in nodes]
    try:
        boxes = [from_triangles(vertices, faces) for vertices, faces in meshes]
        if not parts:
            owners = np.repeat(np.arange(len(meshes)), [len(one) for one in boxes])
            return BoxFile(np.concatenate(boxes), str(path), "triangle", None, owners)
        if len(meshes) > 1:
            owners = np.arange(len(meshes))
            return BoxFile(np.stack([merge(one) for one in boxes]), str(path), "mesh part", names, owners)
    except ValueError as error:
        raise FileFormatError(f"{path}: {error}") from error
    pieces = from_parts(*_label_pieces(*meshes[0]))
    return BoxFile(pieces, str(path), "mesh part", None, np.zeros(len(pieces), np.int64))


def read_parts(path: str | os.PathLike[str], *, parts: ObjParts = "object", progress: Progress = None) -> PartFile:
    r"""Read the parts of a file: the nodes or objects of a mesh file, where they are; the products of an IFC file.

    A part is, whatever the number of its materials,

    - .glb, .gltf, .dae: a node of the scene with triangles; of a node with instances, each of them;
    - .obj: an object (``o``), or as `parts` says;
    - .stl: a solid; .ply, .off: the whole file;
    - .ifc: a product with a body, except spaces and openings;
    - other formats that trimesh reads: a node of its scene.

    Parts have the names and the order of the file. A name that is there before gets a number: ``bolt``, ``bolt (2)``.
    Parts without a name are called as their mesh, or as the file.

    Parameters
    ----------
    path : path-like
        .glb, .gltf, .obj, .stl, .off; .dae; .ply and whatever else trimesh reads; .ifc.
    parts : {"object", "group", "material"}
        What a part of an .obj file is: the faces below one ``o``, or those of one ``g`` or ``usemtl`` in it. Other
        formats have one kind of parts only.
    progress : bool or callable, optional
        As in `broadphase.pairs`; the stage is "read", which counts the products of an .ifc file.

    Returns
    -------
    PartFile
        The parts, and the unit of their lengths. Parts of the same geometry, not scaled, have the same arrays.

    Raises
    ------
    FileFormatError
        Not a mesh file, or it has no triangles, or a vertex that is not finite, or it is compressed or written in a way
        that is not read; names the file and the element.
    MissingExtraError
        The library that reads the format is not installed: trimesh, pycollada for .dae, ifcopenshell for .ifc, DracoPy
        for glTF that is compressed by ``KHR_draco_mesh_compression``.
    ValueError
        `parts` is unknown, or the format has no such parts.

    Warns
    -----
    PartialFileWarning
        The file has geometry that is not read: points and lines, free-form curves and surfaces, skins and morph
        targets, meshes outside of the scene. The message names it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "signs.obj")
    >>> corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
    >>> _ = path.write_text(corners + "o stop\nf 1 2 3\no go\nf 3 2 1\n")
    >>> [part.name for part in read_parts(path).parts]
    ['stop', 'go']
    """
    path = path_of(path)
    if parts not in OBJ_PARTS:
        raise ValueError(unknown_name("parts", parts, OBJ_PARTS))
    if parts != "object" and path.suffix.lower() != ".obj":
        shown = clipped(str(path))
        raise ValueError(f"{shown}: parts={parts!r} is for .obj files; {path.suffix} files have no {parts}s")
    require_file(path)
    if path.suffix.lower() == ".ifc":
        with reporting(progress) as told:
            return read_products(path, told)
    nodes, unit = _read_nodes(path, parts)
    with np.errstate(over="ignore", invalid="ignore"):
        found = parts_of(nodes)
    for part in found:
        are_finite = np.isfinite(part.vertices).all(axis=1)
        if not (are_finite.all() and np.isfinite(part.position).all()):
            vertex = int(np.argmin(are_finite))
            raise FileFormatError(
                f"{path}: part {clipped(part.name)}: vertex {vertex} is not finite where it is placed"
            )
    return PartFile(found, str(path), unit)


_ENDINGS = (".obj", ".stl", ".ply", ".off", ".glb", ".gltf", ".ifc")
_IN_METRES = (".glb", ".gltf")  # the format says so


def _read_nodes(path: Path, parts: ObjParts) -> tuple[list[MeshNode], str | None]:
    """Return the nodes of a file, at least one, and the unit of lengths; warn of what is left out."""
    suffix = path.suffix.lower()
    left = LeftOut()
    unit = "m" if suffix in _IN_METRES else None
    try:
        with path.open("rb") as stream:
            if suffix in PARSED:
                nodes = parse_nodes(stream.read(), suffix, path.stem, left, folder=path.parent, parts=parts)
            else:
                nodes, unit = _by_library(stream, suffix, path.stem, left)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except MissingExtraError as error:
        raise MissingExtraError(f"{path}: {error}", name=error.name) from error
    except MemoryError as error:  # a damaged length, more likely than a file so large
        raise FileFormatError(f"{path}: reading it takes more memory than there is") from error
    said = str(left)
    if not nodes:
        raise FileFormatError(f"{path}: has no triangles{'; ' if said else ''}{said}")
    if said:
        warnings.warn(f"{path}: {said}", PartialFileWarning, stacklevel=3)
    return nodes, unit


def _by_library(stream: IO[bytes], suffix: str, stem: str, left: LeftOut) -> tuple[list[MeshNode], str | None]:
    """Return the nodes of the scene that pycollada or trimesh makes of a file, in its order, and the unit."""
    trimesh = None if suffix == ".dae" else import_extra("trimesh", purpose=f"reading {suffix} files")
    try:
        if trimesh is None:
            return read_dae(stream, stem, left)
        with _noting_log(left):
            beside = files_beside(trimesh, stream.name)
            scene = trimesh.load_scene(stream, file_type=suffix.lstrip("."), resolver=beside, process=False)
        if suffix == ".ply":
            stream.seek(0)
            _note_elements(stream, left)
        unit = None if scene.units is None else str(scene.units)
        return _nodes_of(scene, stem, left), "m" if unit == "meters" else unit  # as other formats call it
    except MissingExtraError:
        raise
    except ImportError as error:
        # What it has no reader for is known by the text alone.
        library = error.name or "".join(re.findall(r"No module named '(\w+)", str(error)))
        advice = f"needs {library} to read it: pip install {library}" if library else f"cannot read it: {error}"
        raise MissingExtraError(f"trimesh {advice}") from error
    except NotImplementedError as error:
        raise FileFormatError(
            f"no meshes are read from {suffix} files; known are {', '.join(_ENDINGS)} and others that trimesh reads"
        ) from error
    except (FileFormatError, MemoryError):
        raise
    except Exception as error:  # damaged files make these libraries raise all kinds of exceptions
        raise FileFormatError(
            f"not a readable {suffix} file ({type(error).__name__}: {clipped(str(error))})"
        ) from error


@contextmanager
def _noting_log(left: LeftOut) -> Iterator[None]:
    """Record what trimesh logs as warnings, such as parts that are not defined, and print none of it."""
    log = logging.getLogger("trimesh")
    level, propagates = log.level, log.propagate
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: left.add("what trimesh warns of", record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    log.setLevel(logging.WARNING)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        log.propagate = propagates


def _note_elements(stream: IO[bytes], left: LeftOut) -> None:
    """Record what a .ply file has besides vertices and faces."""
    for line in stream:
        words = line.split()
        if words[:1] == [b"end_header"]:
            return
        if words[:1] == [b"element"] and len(words) > 2 and words[1] not in (b"vertex", b"face") and words[2] != b"0":
            left.add("elements of .ply files", words[1].decode("latin-1"))


def _nodes_of(scene: Any, stem: str, left: LeftOut) -> list[MeshNode]:
    known: dict[str, tuple[NDArray[np.float64], NDArray[np.int64]]] = {}
    numbers = {node: number for number, node in enumerate(scene.graph.nodes)}
    parents = scene.graph.transforms.parents
    base = scene.graph.base_frame
    found = []
    for node in scene.graph.nodes_geometry:
        pose, key = scene.graph[node]
        mesh = scene.geometry[key]
        name = _name_of(node, stem)
        if not hasattr(mesh, "faces"):
            left.add({"PointCloud": "points"}.get(type(mesh).__name__, "lines"), name)
            continue
        if key not in known:
            _check_corners(mesh, name)
            known[key] = np.array(mesh.vertices, np.float64), np.array(mesh.faces, np.int64).reshape(-1, 3)
        if len(known[key][1]):
            parent = parents.get(node)
            above = None if parent in (None, base) else numbers[parent]
            found.append(PlacedMesh(numbers[node], above, name, *known[key], np.array(pose, np.float64)))
    return named_nodes(found, {number: str(node) for node, number in numbers.items()})


def _check_corners(mesh: Any, name: str) -> None:
    """Raise FileFormatError if a mesh has no proper vertices, or a triangle has one that does not exist."""
    if not len(mesh.faces):
        return
    if mesh.vertices.ndim != 2 or mesh.vertices.shape[1] != 3:
        raise FileFormatError(f"part {clipped(name)}: vertices of shape {mesh.vertices.shape}")
    if mesh.faces.min() < 0 or mesh.faces.max() >= len(mesh.vertices):
        raise FileFormatError(f"part {clipped(name)}: a triangle has a vertex that does not exist")


def _name_of(node: Any, stem: str) -> str:
    """Return the name of a node; where the file has none, that of the file."""
    name = str(node)
    return stem if re.fullmatch(r"geometry_\d+", name) else name  # what trimesh calls the meshes without names


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
