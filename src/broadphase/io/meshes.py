"""Parts of a mesh file, and boxes of its triangles or parts."""

from __future__ import annotations

import logging
import re
import warnings
from contextlib import contextmanager
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from broadphase.boxes import from_triangles, merge
from broadphase.errors import FileFormatError, MissingExtraError, PartialFileWarning, clipped, unknown_name
from broadphase.extras import import_extra
from broadphase.files import files_beside, path_of, require_file
from broadphase.io.box_file import BoxFile
from broadphase.io.dae import read_dae
from broadphase.io.ifc import read_products
from broadphase.io.part_file import PartFile, parts_of, unit_named
from broadphase.io.step import read_step
from broadphase.io.threemf import read_3mf
from broadphase.mesh_formats import (
    PARSED,
    PART_KINDS,
    LeftOut,
    MeshNode,
    PartKind,
    PlacedMesh,
    named_nodes,
    nodes_by_mesh,
    parse_nodes,
    split_into_pieces,
)
from broadphase.progress import Progress, reporting

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

_FILE: Mapping[PartKind, str] = {"object": "file", "connected": "connected piece"}
_SCENE: Mapping[PartKind, str] = {"object": "node", "mesh": "mesh", "connected": "connected piece of a node"}
_NODES: Mapping[PartKind, str] = {**_SCENE, "material": "material of a node"}
PARTS_OF: Mapping[str, Mapping[PartKind, str]] = MappingProxyType(
    {
        ".obj": {
            "object": "object", "group": "group", "material": "material", "connected": "connected piece of an object",
        },
        ".glb": _NODES,
        ".gltf": _NODES,
        ".dae": _NODES,
        ".stl": {"object": "solid", "connected": "connected piece of a solid"},
        ".ply": _FILE,
        ".off": _FILE,
        ".ifc": {"object": "product", "connected": "connected piece of a product"},
        ".step": _SCENE,
        ".stp": _SCENE,
        ".3mf": {"object": "object", "mesh": "mesh", "connected": "connected piece of an object"},
    }
)  # fmt: skip
"""What a part of a file can be, by the ending of its name, and what one is called."""


def read_mesh(path: Path, *, parts: bool | PartKind = False) -> BoxFile:
    """Read the boxes of a mesh file's triangles, or of its parts, where the scene places them.

    With `parts`, one box for each part, as of `read_parts`. True is "object" or, if there is only one, "connected".
    `owners` is the number of the part of each box.
    """
    kind: PartKind = "object" if isinstance(parts, bool) else parts
    nodes, _, _ = _read_nodes(path, kind)
    pieces = None
    if parts is True and len(nodes) == 1:
        nodes, pieces = split_into_pieces(nodes)
    names = np.array([node.name for node in nodes], dtype=object)
    try:
        boxes = [from_triangles(node.placed(), node.faces) for node in nodes]
        if not parts:
            owners = np.repeat(np.arange(len(nodes)), [len(one) for one in boxes])
            return BoxFile(np.concatenate(boxes), str(path), "triangle", None, owners)
        stacked = np.stack([merge(one) for one in boxes])
    except ValueError as error:
        raise FileFormatError(f"{path}: {error}") from error
    if pieces is not None:
        return BoxFile(stacked, str(path), "mesh part", None, pieces)
    return BoxFile(stacked, str(path), "mesh part", names, np.arange(len(nodes)))


def read_parts(path: str | os.PathLike[str], *, parts: PartKind = "object", progress: Progress = None) -> PartFile:
    r"""Read the parts of a file: the nodes or objects of a mesh file, where they are; the products of an IFC file.

    A part is, whatever the number of its materials,

    - .glb, .gltf, .dae: a node of the scene with triangles; of a node with instances, each of them;
    - .obj: an object (``o``);
    - .stl: a solid; .ply, .off: the whole file;
    - .3mf: an object with triangles, at each place of the build;
    - .step, .stp: a shape of the assembly, at each of its places;
    - .ifc: a product with a body, except spaces and openings;
    - other formats that trimesh reads: a node of its scene;

    or what `parts` says. Parts have the names and the order of the file. A name that is there before gets a number:
    ``bolt``, ``bolt (2)``. Parts without a name are called as their mesh, or as the file.

    Parameters
    ----------
    path : path-like
        .glb, .gltf, .obj, .stl, .off, .3mf; .dae; .step, .stp; .ply and whatever else trimesh reads; .ifc.
    parts : {"object", "group", "material", "mesh", "connected"}
        What a part is, where the format has a choice. "group": the faces of one ``g`` in an object of an .obj file.
        "material": those of one material in an object of an .obj file, or in a node of a .glb, .gltf or .dae file.
        "mesh": all places of one mesh together, in formats whose nodes share meshes. "connected", in any format: the
        pieces of an object, which have no vertex in common; vertices at the same position are one. Default: as above.
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
        The library that reads the format is not installed: trimesh, pycollada for .dae, cascadio for .step,
        ifcopenshell for .ifc, DracoPy for glTF that is compressed by ``KHR_draco_mesh_compression``.
    ValueError
        `parts` is unknown, or the format has no such parts: names the file and what the format has.

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
    part_type = part_type_of(path, parts)
    require_file(path)
    if path.suffix.lower() == ".ifc":
        with reporting(progress) as told:
            return read_products(path, told, part_type, split=parts == "connected")
    nodes, unit, empty = _read_nodes(path, parts)
    with np.errstate(over="ignore", invalid="ignore"):
        found = parts_of(nodes)
    for part in found:
        are_finite = np.isfinite(part.vertices).all(axis=1)
        if not (are_finite.all() and np.isfinite(part.position).all()):
            vertex = int(np.argmin(are_finite))
            raise FileFormatError(
                f"{path}: part {clipped(part.name)}: vertex {vertex} is not finite where it is placed"
            )
    return PartFile(found, str(path), unit, part_type, tuple(empty))


def part_type_of(path: Path, parts: PartKind) -> str:
    """Return what a part of a file is called, or raise ValueError if its format has no such parts."""
    if not isinstance(parts, str) or parts not in PART_KINDS:
        raise ValueError(unknown_name("parts", parts, PART_KINDS))
    known = PARTS_OF.get(path.suffix.lower(), _SCENE)
    if parts not in known:
        *others, last = map(repr, known)
        raise ValueError(
            f"{clipped(str(path))}: {path.suffix.lower()} files have no parts={parts!r}, only {', '.join(others)} and"
            f" {last}"
        )
    return known[parts]


_IN_METRES = (".glb", ".gltf", ".step", ".stp")


def _read_nodes(path: Path, parts: PartKind) -> tuple[list[MeshNode], str | None, list[str]]:
    """Return the nodes of a file, at least one, the unit of lengths, and what is empty; warn of what is left out."""
    suffix = path.suffix.lower()
    left = LeftOut()
    unit = "m" if suffix in _IN_METRES else None
    try:
        if suffix in (".step", ".stp"):
            nodes = read_step(path, left, parts)
        else:
            with path.open("rb") as stream:
                if suffix in PARSED:
                    nodes = parse_nodes(stream.read(), suffix, path.stem, left, folder=path.parent, parts=parts)
                elif suffix == ".3mf":
                    nodes, unit = read_3mf(stream, path.stem, left, parts)
                else:
                    nodes, unit = _by_library(stream, suffix, path.stem, left, parts)
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
    if parts == "connected":
        nodes, _ = split_into_pieces(nodes)
    return nodes, unit, left.empty


def _by_library(
    stream: IO[bytes], suffix: str, stem: str, left: LeftOut, parts: PartKind
) -> tuple[list[MeshNode], str | None]:
    """Return the nodes of the scene that pycollada or trimesh makes of a file, in its order, and the unit."""
    trimesh = None if suffix == ".dae" else import_extra("trimesh", purpose=f"reading {suffix} files")
    try:
        if trimesh is None:
            return read_dae(stream, stem, left, parts)
        with _noting_log(left):
            beside = files_beside(trimesh, stream.name)
            scene = trimesh.load_scene(stream, file_type=suffix.lstrip("."), resolver=beside, process=False)
        if suffix == ".ply":
            stream.seek(0)
            _note_elements(stream, left)
        unit = None if scene.units is None else unit_named(str(scene.units))
        return _nodes_of(scene, stem, left, parts), unit
    except MissingExtraError:
        raise
    except ImportError as error:
        # What it has no reader for is known by the text alone.
        library = error.name or "".join(re.findall(r"No module named '(\w+)", str(error)))
        advice = f"needs {library} to read it: pip install {library}" if library else f"cannot read it: {error}"
        raise MissingExtraError(f"trimesh {advice}") from error
    except NotImplementedError as error:
        raise FileFormatError(
            f"no meshes are read from {suffix} files; known are {', '.join(PARTS_OF)} and others that trimesh reads"
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


def _nodes_of(scene: Any, stem: str, left: LeftOut, parts: PartKind) -> list[MeshNode]:
    known: dict[str, tuple[NDArray[np.float64], NDArray[np.int64]]] = {}
    numbers = {node: number for number, node in enumerate(scene.graph.nodes)}
    parents = scene.graph.transforms.parents
    base = scene.graph.base_frame
    found = []
    for node in scene.graph.nodes_geometry:
        pose, key = scene.graph[node]
        mesh = scene.geometry[key]
        name, label = _name_of(node), _name_of(key)
        if not hasattr(mesh, "faces"):
            left.add({"PointCloud": "points"}.get(type(mesh).__name__, "lines"), name or stem)
            continue
        if key not in known:
            _check_corners(mesh, name or stem)
            known[key] = np.array(mesh.vertices, np.float64), np.array(mesh.faces, np.int64).reshape(-1, 3)
        if len(known[key][1]):
            parent = parents.get(node)
            above = None if parent in (None, base) else numbers[parent]
            found.append(PlacedMesh(numbers[node], above, name, *known[key], np.array(pose, np.float64), label))
        else:
            left.empty.append(name or stem)
    if parts == "mesh":
        return nodes_by_mesh(found, stem)
    return named_nodes(found, {number: str(node) for node, number in numbers.items()}, stem)


def _check_corners(mesh: Any, name: str) -> None:
    """Raise FileFormatError if a mesh has no proper vertices, or a triangle has one that does not exist."""
    if not len(mesh.faces):
        return
    if mesh.vertices.ndim != 2 or mesh.vertices.shape[1] != 3:
        raise FileFormatError(f"part {clipped(name)}: vertices of shape {mesh.vertices.shape}")
    if mesh.faces.min() < 0 or mesh.faces.max() >= len(mesh.vertices):
        raise FileFormatError(f"part {clipped(name)}: a triangle has a vertex that does not exist")


def _name_of(node: Any) -> str:
    """Return the name of a node or a mesh, empty where the file has none."""
    name = str(node)
    return "" if re.fullmatch(r"geometry_\d+", name) else name  # what trimesh calls the meshes without names
