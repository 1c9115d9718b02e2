"""Nodes of glTF 2.0 files: .gltf, with its buffers in it or beside it, and .glb.

A node with a mesh is one part, whatever the number of primitives of the mesh. What is not read is either an error or
recorded as left out: a file that is compressed, or written for an extension that is not known here, must not pass for
an empty or flat one.
"""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.errors import FileFormatError, clipped, quoted
from broadphase.extras import import_extra
from broadphase.files import require_file
from broadphase.mesh_formats.meshopt import decompressed
from broadphase.mesh_formats.nodes import PlacedMesh, named_nodes, nodes_by_mesh

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from broadphase.mesh_formats.nodes import LeftOut, MeshNode, PartKind

    Mesh = tuple[NDArray[np.float64], NDArray[np.int64]]

__all__ = ["parse_gltf"]

_DRACO, _INSTANCES = "KHR_draco_mesh_compression", "EXT_mesh_gpu_instancing"
_MESHOPT = ("EXT_meshopt_compression", "KHR_meshopt_compression")
_READ = {_DRACO, _INSTANCES, *_MESHOPT, "KHR_mesh_quantization"}
_NO_GEOMETRY = re.compile(
    "[A-Z0-9]+_(materials?|textures?|lights?|animation|audio|xmp|techniques|gaussian|node_(visibility|selectability"
    "|hoverability)|interactivity|mesh_features|instance_features|structural_metadata|mesh_manifold"
    "|primitive_outline|ngon_encoding|lightmap|packing)(_.*)?"
)
"""Extensions that change neither triangles nor where they are."""

_COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}
_SINGULAR = {"meshes": "mesh"}  # of the others, the name without s
_NOT_TRIANGLES = {0: "points", 1: "lines", 2: "line loops", 3: "line strips"}
_TRIANGLES, _STRIP, _FAN = 4, 5, 6

# What a file of a few bytes could multiply without end:
_MOST_FILLED = 8  # numbers of sparse accessors, which need no bytes of their own, for each byte of the file
_MOST_CORNERS = 4  # of triangles for each byte: primitives may share their indices
_MOST_INSTANCES = 1  # for each byte: nodes may share them
_MOST_DECOMPRESSED = 32  # bytes for each byte of the file


def parse_gltf(
    content: bytes, folder: Path | None, stem: str, left: LeftOut, parts: PartKind = "object"
) -> list[MeshNode]:
    """Return the nodes with triangles of the scene, their materials, or the meshes, in the order of the file.

    `folder` holds the buffers that the file names; None refuses them. Nodes without a name are called as their mesh, or
    `stem`. Errors name the element, not the file.
    """
    binary = None
    if content[:4] == b"glTF":
        content, binary = _chunks(content)
    try:
        tree = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"not a glTF file: no readable JSON ({clipped(str(error))})") from error
    if not isinstance(tree, dict):
        raise FileFormatError(f"not a glTF file: its JSON is {quoted(tree)}, not an object")
    return _Gltf(tree, binary, folder, len(content), left).nodes(stem, parts)


def _chunks(content: bytes) -> tuple[bytes, bytes | None]:
    """Return the JSON and the binary chunk of a .glb file."""
    version = int.from_bytes(content[4:8], "little")
    if version != 2:
        raise FileFormatError(f"binary glTF of version {version}: only version 2 is read; convert the file to glTF 2.0")
    chunks: dict[bytes, bytes] = {}
    at = 12
    while at + 8 <= len(content):
        end = at + 8 + int.from_bytes(content[at : at + 4], "little")
        if end > len(content):
            raise FileFormatError(f"a chunk ends at byte {end}, after the end of the file at {len(content)}")
        chunks.setdefault(content[at + 4 : at + 8], content[at + 8 : end])
        at = end
    if b"JSON" not in chunks:
        raise FileFormatError("not a .glb file: it has no JSON chunk")
    return chunks[b"JSON"], chunks.get(b"BIN\0")


class _Place(NamedTuple):
    node: int
    above: int | None
    pose: NDArray[np.float64]


class _Gltf:
    """The tree of a file; each method reads one kind of element, and names it in errors."""

    def __init__(
        self, tree: dict[str, Any], binary: bytes | None, folder: Path | None, size: int, left: LeftOut
    ) -> None:
        self.tree, self.binary, self.folder, self.left = tree, binary, folder, left
        self.size = size + len(binary or b"")
        self.filled, self.corners, self.instances, self.decompressed = 0, 0, 0, 0  # so far
        self.buffers: dict[int, bytes] = {}
        self.views: dict[int, bytes] = {}  # decompressed
        self.meshes: dict[int, dict[int | None, Mesh]] = {}
        self._check_version()
        self.required = self._check_extensions()

    def _check_version(self) -> None:
        asset = self.tree.get("asset")
        version = asset.get("version") if isinstance(asset, dict) else None
        if not isinstance(version, str) or not version.startswith("2."):
            said = "does not say its version (asset.version)" if version is None else f"is glTF {quoted(version)}"
            raise FileFormatError(f"the file {said}: only glTF 2.0 is read; convert the file to glTF 2.0")

    def _check_extensions(self) -> list[str]:
        """Raise FileFormatError for extensions without which the file must not be read (glTF 2.0, 3.12)."""
        required, used = (_texts(self.tree, key) for key in ("extensionsRequired", "extensionsUsed"))
        for name in required:
            if name not in _READ and not _NO_GEOMETRY.fullmatch(name):
                raise FileFormatError(
                    f"needs the extension {clipped(name)} (extensionsRequired), which is not read: save the file"
                    " without it"
                )
        for name in used:
            if name not in _READ and not _NO_GEOMETRY.fullmatch(name):
                self.left.add("extensions", name)
        return required

    # ---- elements ----

    def entry(self, kind: str, number: Any, user: str) -> tuple[dict[str, Any], str]:
        """Return an element of one of the arrays of the file, such as node 3, and what it is called in errors."""
        one = _SINGULAR.get(kind, kind.removesuffix("s"))
        entries = _list(self.tree, kind, "the file", ())
        if not _is_whole(number) or number >= len(entries):
            raise FileFormatError(f"{user}: there is no {one} {quoted(number)}; the file has {len(entries)}")
        number = int(number)
        entry = entries[number]
        if not isinstance(entry, dict):
            raise FileFormatError(f"{one} {number} is {quoted(entry)}, not an object")
        name = entry.get("name")
        return entry, f"{one} {number} ({clipped(name)})" if isinstance(name, str) and name else f"{one} {number}"

    def buffer(self, number: Any, user: str) -> bytes:
        """Return the bytes of a buffer: in the file, in a second chunk, or in a file beside it."""
        entry, where = self.entry("buffers", number, user)
        number = int(number)
        if number not in self.buffers:
            length = _whole(entry, "byteLength", where)
            uri = entry.get("uri")
            if uri is None and number == 0 and self.binary is not None:
                found = self.binary
            elif not isinstance(uri, str):
                raise FileFormatError(f"{where} has no data: its uri is {quoted(uri)}")
            elif uri.startswith("data:"):
                found = _decoded(uri, where)
            else:
                found = self._beside(uri, length, where)
            if len(found) < length:
                raise FileFormatError(f"{where} has {len(found):,} bytes, and declares {length:,} (byteLength)")
            self.size += len(found)
            self.buffers[number] = found
        return self.buffers[number]

    def _beside(self, uri: str, length: int, where: str) -> bytes:
        """Read a file that a buffer names: a regular file in the folder of this one, or below."""
        name = urllib.parse.unquote(uri)
        if self.folder is None:
            raise FileFormatError(f"{where} is in another file, {quoted(uri)}; only files that hold all are read here")
        try:
            folder = self.folder.resolve()
            path = (folder / name).resolve()
            if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", name) or not path.is_relative_to(folder):
                raise FileFormatError(f"{where} is not in the folder of the file or below: {quoted(uri)}")
            if not path.is_file():
                raise FileFormatError(f"{where} is missing: there is no file {quoted(uri)} beside this one")
            require_file(path)
            with path.open("rb") as stream:
                return stream.read(min(length, path.stat().st_size))
        except (OSError, ValueError, RuntimeError) as error:  # names too long, with a zero, links in a circle
            if isinstance(error, FileFormatError):
                raise
            raise FileFormatError(f"{where} cannot be read: {quoted(uri)} ({clipped(str(error))})") from error

    def _rows(
        self, table: dict[str, Any], where: str, count: int, width: int, dtype: str, stride: int | None = None
    ) -> NDArray[Any]:
        """Return `count` rows of numbers of the view that a table names, without a copy."""
        view, view_where = self.entry("bufferViews", table.get("bufferView"), where)
        extensions = _dict(view, "extensions", view_where, {})
        codec = next((one for one in _MESHOPT if one in extensions), None)
        if codec is not None and self._needs_meshopt(codec, view, view_where):
            content = self._decompressed_view(table["bufferView"], _dict(extensions, codec, view_where), view_where)
            begins, length = 0, len(content)
        else:
            content, begins, length = self._part_of_buffer(view, view_where)
        kind = np.dtype(dtype)
        row = width * kind.itemsize
        if stride is None:
            stride = _whole(view, "byteStride", view_where, 0) or row
        offset = _whole(table, "byteOffset", where, 0)
        needed = offset + (count - 1) * stride + row if count else offset
        if stride < row or needed > length:
            raise FileFormatError(
                f"{where} needs {needed:,} bytes of {view_where} ({count:,} rows of {row}, {stride} apart), which has"
                f" {length:,}"
            )
        rows: NDArray[Any] = np.ndarray((count, width), kind, content, begins + offset, (stride, kind.itemsize))
        return rows

    def _part_of_buffer(self, view: dict[str, Any], where: str) -> tuple[bytes, int, int]:
        """Return the buffer that a view is in, the first byte and the number of bytes."""
        content = self.buffer(view.get("buffer"), where)
        begins, length = _whole(view, "byteOffset", where, 0), _whole(view, "byteLength", where)
        if begins + length > len(content):
            raise FileFormatError(f"{where} ends at byte {begins + length} of {len(content)} of its buffer")
        return content, begins, length

    def _needs_meshopt(self, codec: str, view: dict[str, Any], where: str) -> bool:
        buffer, _ = self.entry("buffers", view.get("buffer"), where)
        is_chunk = view.get("buffer") == 0 and self.binary is not None
        return codec in self.required or ("uri" not in buffer and not is_chunk)

    def _decompressed_view(self, number: Any, extension: dict[str, Any], where: str) -> bytes:
        number = int(number)
        if number not in self.views:
            where = f"{where}, compressed by meshopt"
            content, begins, length = self._part_of_buffer(extension, where)
            count, stride = _whole(extension, "count", where), _whole(extension, "byteStride", where)
            self.decompressed += count * stride
            if self.decompressed > _MOST_DECOMPRESSED * self.size:
                raise FileFormatError(
                    f"{where}: {count:,} elements of {stride} bytes, in a file of {self.size:,} bytes"
                )
            mode, kind = extension.get("mode"), extension.get("filter", "NONE")
            try:
                self.views[number] = decompressed(content[begins : begins + length], count, stride, mode, kind)
            except FileFormatError as error:
                raise FileFormatError(f"{where}: {error}") from None
        return self.views[number]

    def numbers(self, number: Any, user: str, kind: str) -> NDArray[Any]:
        """Return the numbers of an accessor, shape (count, width), scaled if they are normalized."""
        accessor, where = self.entry("accessors", number, user)
        if accessor.get("type") != kind:
            raise FileFormatError(f"{where} of {user}: type must be {kind}, not {quoted(accessor.get('type'))}")
        dtype, width = _component(accessor, where), _WIDTHS[kind]
        count = _whole(accessor, "count", where)
        sparse = _dict(accessor, "sparse", where, {})
        if "bufferView" in accessor:
            rows = self._rows(accessor, where, count, width, dtype)
        elif not sparse:
            raise FileFormatError(f"{where} of {user} has no data: it names no bufferView")
        else:
            self.filled += count * width
            if self.filled > _MOST_FILLED * self.size:
                raise FileFormatError(f"{where} declares {count:,} rows without data, in a file of {self.size:,} bytes")
            rows = np.zeros((count, width), dtype)
        if sparse:
            rows = self._with_sparse(rows.copy(), sparse, where)
        if accessor.get("normalized") is True and rows.dtype.kind in "iu":
            return np.asarray(np.maximum(rows / np.iinfo(rows.dtype).max, -1.0))
        return rows

    def _with_sparse(self, rows: NDArray[Any], sparse: dict[str, Any], where: str) -> NDArray[Any]:
        where = f"{where}, sparse"
        count = _whole(sparse, "count", where)
        indices, values = (_dict(sparse, key, where) for key in ("indices", "values"))
        dtype = _component(indices, f"{where} indices", "u")
        row_numbers = self._rows(indices, f"{where} indices", count, 1, dtype, np.dtype(dtype).itemsize)[:, 0]
        row_numbers = row_numbers.astype(np.int64)
        if count and row_numbers.max() >= len(rows):
            raise FileFormatError(f"{where} indices: there is no row {row_numbers.max()}; it has {len(rows):,}")
        stride = rows.shape[1] * rows.dtype.itemsize
        rows[row_numbers] = self._rows(values, f"{where} values", count, rows.shape[1], rows.dtype.str, stride)
        return rows

    # ---- meshes ----

    def mesh(self, number: Any, user: str, *, by_material: bool = False) -> dict[int | None, Mesh]:
        """Return the vertices and faces of all primitives of a mesh that are triangles; the same arrays each time.

        Those of each material are by its number, None without one; otherwise there is one entry, None.
        """
        entry, where = self.entry("meshes", number, user)
        number = int(number)
        if number in self.meshes:
            return self.meshes[number]
        primitives: dict[int | None, list[tuple[NDArray[np.float64], NDArray[np.int64], Any]]] = {}
        for place, primitive in enumerate(_list(entry, "primitives", where)):
            here = f"{where}, primitive {place}"
            if not isinstance(primitive, dict):
                raise FileFormatError(f"{here} is {quoted(primitive)}, not an object")
            material = None
            if by_material and primitive.get("material") is not None:
                self.entry("materials", primitive["material"], here)
                material = int(primitive["material"])
            primitives.setdefault(material, []).append(self._primitive(primitive, here))
        self.meshes[number] = {material: _joined(own) for material, own in primitives.items()}
        return self.meshes[number]

    def _primitive(self, primitive: dict[str, Any], where: str) -> tuple[NDArray[np.float64], NDArray[np.int64], Any]:
        """Return vertices, faces, and what tells whether another primitive has the same vertices (None: no other)."""
        nothing = np.empty((0, 3)), np.empty((0, 3), np.int64), None
        mode = _whole(primitive, "mode", where, _TRIANGLES)
        if mode in _NOT_TRIANGLES:
            self.left.add(_NOT_TRIANGLES[mode], where)
            return nothing
        if mode > _FAN:
            raise FileFormatError(f"{where}: there is no mode {mode}; 4 is triangles")
        attributes = _dict(primitive, "attributes", where)
        if "POSITION" not in attributes:
            self.left.add("primitives without positions", where)
            return nothing
        if primitive.get("targets"):
            self.left.add("morph targets", where)
        extensions = _dict(primitive, "extensions", where, {})
        if _DRACO in extensions and self._needs_draco(attributes, where):
            return *self._decompressed(_dict(extensions, _DRACO, where), attributes, where), None
        vertices = self.numbers(attributes["POSITION"], where, "VEC3")
        if primitive.get("indices") is None:
            corners = np.arange(len(vertices))
        else:
            rows = self.numbers(primitive["indices"], f"{where}, indices", "SCALAR")
            if rows.dtype.kind != "u":
                raise FileFormatError(f"{where}: the indices must be unsigned integers, not {rows.dtype.name}")
            corners = rows[:, 0].astype(np.int64)
        if len(corners) and corners.max() >= len(vertices):
            raise FileFormatError(
                f"{where}: a triangle has vertex {corners.max()}, which does not exist: there are {len(vertices):,}"
            )
        if mode == _TRIANGLES and len(corners) % 3:
            self.left.add("corners behind the last triangle", where)
        self.corners += len(corners)
        if self.corners > _MOST_CORNERS * (self.size + self.decompressed):
            raise FileFormatError(f"{where}: more than {_MOST_CORNERS} corners of triangles for each byte of the file")
        if len(vertices) > len(corners):  # of an accessor that many meshes may share, keep what this one uses
            used, corners = np.unique(corners, return_inverse=True)
            return vertices[used].astype(np.float64), _faces(corners, mode), None
        return vertices.astype(np.float64), _faces(corners, mode), int(attributes["POSITION"])

    def _needs_draco(self, attributes: dict[str, Any], where: str) -> bool:
        accessor, _ = self.entry("accessors", attributes["POSITION"], where)
        return _DRACO in self.required or "bufferView" not in accessor

    def _decompressed(self, extension: dict[str, Any], attributes: dict[str, Any], where: str) -> Mesh:
        accessor, _ = self.entry("accessors", attributes["POSITION"], where)
        if accessor.get("componentType") != 5126:
            raise FileFormatError(f"{where}: positions of integers that are compressed by {_DRACO} are not read")
        view, view_where = self.entry("bufferViews", extension.get("bufferView"), f"{where}, {_DRACO}")
        length = _whole(view, "byteLength", view_where)
        content = self._rows({"bufferView": extension["bufferView"]}, where, length, 1, "<u1", 1).tobytes()
        draco = import_extra("DracoPy", purpose=f"reading {where}, compressed by {_DRACO},", extra="draco")
        try:
            decoded = draco.decode(content)
            vertices = np.array(decoded.points, np.float64).reshape(-1, 3)
            faces = np.array(decoded.faces, np.int64).reshape(-1, 3)
        except MemoryError:
            raise
        except Exception as error:  # whatever the library says about damaged bytes
            raise FileFormatError(
                f"{where}, compressed by {_DRACO}, cannot be decompressed ({clipped(str(error))})"
            ) from error
        if len(faces) and not 0 <= faces.min() <= faces.max() < len(vertices):
            raise FileFormatError(f"{where}: a triangle has a vertex that does not exist")
        return vertices, faces

    # ---- nodes ----

    def nodes(self, stem: str, parts: PartKind) -> list[MeshNode]:
        """Return the nodes of the scene that have triangles, those with instances once for each; or what `parts` says.

        The materials of a node have it as their parent.
        """
        by_material = parts == "material"
        found: list[PlacedMesh] = []
        names: dict[int, str] = {}
        places = sorted(self._places(), key=lambda place: place.node)
        seen = {place.node for place in places}
        used: set[int] = set()
        for place in places:
            node, where = self.entry("nodes", place.node, "the scene")
            names[place.node] = _name(node, where) or f"node {place.node}"
            if node.get("mesh") is None:
                continue
            meshes = self.mesh(node["mesh"], where, by_material=by_material)
            used.add(int(node["mesh"]))
            if "skin" in node:
                self.left.add("skins", where)
            mesh_name = _name(*self.entry("meshes", node["mesh"], where))
            name = _name(node, where) or mesh_name
            meshes = {material: mesh for material, mesh in meshes.items() if len(mesh[1])}
            if not meshes:
                self.left.empty.append(name or stem)
                continue
            for pose in self._instances(node, where, place.pose):
                for material, mesh in meshes.items():
                    if by_material:
                        label = "" if material is None else _name(*self.entry("materials", material, where))
                        found.append(PlacedMesh(-1 - len(found), place.node, label or name, *mesh, pose))
                    else:
                        found.append(PlacedMesh(place.node, place.above, name, *mesh, pose, mesh_name))
        self._note_unplaced(seen, used)
        return nodes_by_mesh(found, stem) if parts == "mesh" else named_nodes(found, names, stem)

    def _places(self) -> list[_Place]:
        """Return all nodes of the scene with their poses."""
        scenes = _list(self.tree, "scenes", "the file", ())
        if scenes:
            scene, where = self.entry("scenes", self.tree.get("scene", 0), "the file")
            roots = _list(scene, "nodes", where, ())
        else:  # a file of nodes only: all of them
            where, nodes = "the file", _list(self.tree, "nodes", "the file", ())
            below: set[int] = set()
            for number in range(len(nodes)):
                node, here = self.entry("nodes", number, where)
                below.update(int(child) for child in _list(node, "children", here, ()) if _is_whole(child))
            roots = [number for number in range(len(nodes)) if number not in below]
        found: dict[int, _Place] = {}
        waiting: list[tuple[Any, int | None, NDArray[np.float64], str]]
        waiting = [(number, None, np.eye(4), where) for number in roots]
        while waiting:
            number, above, pose, user = waiting.pop()
            node, where = self.entry("nodes", number, user)
            number = int(number)
            if number in found:
                raise FileFormatError(f"{where} is in the scene twice: below {user} too")
            with np.errstate(over="ignore", invalid="ignore"):
                pose = pose @ _local_pose(node, where)
            if not np.isfinite(pose).all():
                raise FileFormatError(f"{where} is placed at a position that is not finite")
            found[number] = _Place(number, above, pose)
            waiting.extend((child, number, pose, where) for child in _list(node, "children", where, ()))
        return list(found.values())

    def _instances(self, node: dict[str, Any], where: str, pose: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the poses of a node: one, or those of EXT_mesh_gpu_instancing."""
        extensions = _dict(node, "extensions", where, {})
        if _INSTANCES not in extensions:
            return [pose]
        where = f"{where}, {_INSTANCES}"
        attributes = _dict(_dict(extensions, _INSTANCES, where), "attributes", where)
        kinds = {"TRANSLATION": "VEC3", "ROTATION": "VEC4", "SCALE": "VEC3"}
        given = {
            name: self.numbers(attributes[name], f"{where}, {name}", kind).astype(np.float64)
            for name, kind in kinds.items()
            if name in attributes
        }
        counts = {len(rows) for rows in given.values()}
        if len(counts) != 1:
            raise FileFormatError(f"{where}: needs TRANSLATION, ROTATION or SCALE, each with the same number of rows")
        (count,) = counts
        self.instances += count
        if self.instances > _MOST_INSTANCES * self.size:
            raise FileFormatError(f"{where}: more instances than the file has bytes")
        poses = []
        for row in range(count):
            with np.errstate(over="ignore", invalid="ignore"):
                one = pose @ _composed({name.lower(): rows[row] for name, rows in given.items()}, f"{where}, row {row}")
            if not np.isfinite(one).all():
                raise FileFormatError(f"{where}, row {row}: the position is not finite")
            poses.append(one)
        return poses

    def _note_unplaced(self, seen: set[int], used: set[int]) -> None:
        for number, node in enumerate(_list(self.tree, "nodes", "the file", ())):
            if number not in seen and isinstance(node, dict) and node.get("mesh") is not None:
                self.left.add("nodes outside of the scene", self.entry("nodes", number, "the file")[1])
                if _is_whole(node["mesh"]):
                    used.add(int(node["mesh"]))
        for number in range(len(_list(self.tree, "meshes", "the file", ()))):
            if number not in used:
                self.left.add("meshes of no node", self.entry("meshes", number, "the file")[1])


def _joined(primitives: list[tuple[NDArray[np.float64], NDArray[np.int64], Any]]) -> Mesh:
    """Return the vertices and faces of primitives as one mesh; those of one key have the same vertices."""
    shared: dict[Any, int] = {}  # primitives of one object often have the same vertices
    all_vertices, all_faces, total = [np.empty((0, 3))], [np.empty((0, 3), np.int64)], 0
    for vertices, faces, key in primitives:
        if key is None or key not in shared:
            shared[key] = total
            total += len(vertices)
            all_vertices.append(vertices)
        all_faces.append(faces + shared[key])
    return np.concatenate(all_vertices), np.concatenate(all_faces)


def _faces(corners: NDArray[np.int64], mode: int) -> NDArray[np.int64]:
    """Return the triangles of a list of corners, of a strip, or of a fan."""
    if mode == _TRIANGLES:
        return corners[: len(corners) // 3 * 3].reshape(-1, 3)
    if len(corners) < 3:
        return np.empty((0, 3), np.int64)
    if mode == _FAN:
        faces = np.stack([corners[1:-1], corners[2:], np.full(len(corners) - 2, corners[0])], axis=1)
    else:
        faces = np.stack([corners[:-2], corners[1:-1], corners[2:]], axis=1)
        faces[1::2, 1:] = faces[1::2, :0:-1]
    first, second, third = faces.T
    # Strips are joined by triangles with a corner twice, which lie where nothing is drawn.
    drawn: NDArray[np.int64] = faces[(first != second) & (second != third) & (third != first)]
    return drawn


def _local_pose(node: dict[str, Any], where: str) -> NDArray[np.float64]:
    if "matrix" in node:
        return _floats(node, "matrix", 16, where).reshape(4, 4).T
    sizes = {"translation": 3, "rotation": 4, "scale": 3}
    return _composed({key: _floats(node, key, size, where) for key, size in sizes.items() if key in node}, where)


def _composed(given: dict[str, NDArray[np.float64]], where: str) -> NDArray[np.float64]:
    """Return the matrix of a translation, a rotation (x, y, z, w) and a scale."""
    pose = np.eye(4)
    if "rotation" in given:
        length = np.linalg.norm(given["rotation"])
        if not 0 < length < np.inf:
            raise FileFormatError(f"{where}: the rotation {given['rotation'].tolist()} is not a quaternion")
        x, y, z, w = given["rotation"] / length
        pose[:3, :3] = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    if "scale" in given:
        pose[:3, :3] *= given["scale"]
    if "translation" in given:
        pose[:3, 3] = given["translation"]
    return pose


def _decoded(uri: str, where: str) -> bytes:
    """Return the bytes of a data URI."""
    head, comma, body = uri.partition(",")
    try:
        if not comma:
            raise ValueError("there is no comma")
        if head.endswith(";base64"):
            return base64.b64decode(urllib.parse.unquote(body), validate=True)
        return urllib.parse.unquote_to_bytes(body)
    except ValueError as error:
        raise FileFormatError(f"{where}: the data URI {quoted(uri)} cannot be decoded ({error})") from error


# ---- typed values of JSON ----


def _is_whole(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer() and 0 <= value < 2**53
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _whole(table: dict[str, Any], key: str, where: str, default: int | None = None) -> int:
    value = table.get(key, default)
    if value is None or not _is_whole(value):
        raise FileFormatError(f"{where}: {key} must be an integer of at least 0, not {quoted(value)}")
    return int(value)


def _list(table: dict[str, Any], key: str, where: str, default: Any = None) -> Any:
    return _of_type(list | tuple, "an array", table, key, where, default)


def _dict(table: dict[str, Any], key: str, where: str, default: Any = None) -> dict[str, Any]:
    found: dict[str, Any] = _of_type(dict, "an object", table, key, where, default)
    return found


def _name(table: dict[str, Any], where: str) -> str:
    return str(_of_type(str, "a text", table, "name", where, ""))


def _of_type(kind: Any, called: str, table: dict[str, Any], key: str, where: str, default: Any) -> Any:
    value = table.get(key, default)
    if not isinstance(value, kind):
        raise FileFormatError(f"{where}: {key} must be {called}, not {quoted(value)}")
    return value


def _texts(table: dict[str, Any], key: str) -> list[str]:
    values = _list(table, key, "the file", ())
    if not all(isinstance(value, str) for value in values):
        raise FileFormatError(f"{key} must be an array of names, not {quoted(values)}")
    return list(values)


def _floats(table: dict[str, Any], key: str, size: int, where: str) -> NDArray[np.float64]:
    value = table[key]
    is_right = isinstance(value, list) and len(value) == size
    if is_right and all(isinstance(one, int | float) and not isinstance(one, bool) for one in value):
        try:
            numbers = np.array([float(one) for one in value])
        except OverflowError:
            numbers = np.array([np.inf])
        if np.isfinite(numbers).all():
            return numbers
    raise FileFormatError(f"{where}: {key} must be {size} finite numbers, not {quoted(value)}")


def _component(table: dict[str, Any], where: str, kinds: str = "iuf") -> str:
    value = table.get("componentType")
    dtype = _COMPONENTS.get(value) if isinstance(value, int) else None
    if dtype is None or dtype[1] not in kinds:
        raise FileFormatError(f"{where}: componentType {quoted(value)} is not one of glTF 2.0")
    return dtype
