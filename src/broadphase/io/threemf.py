"""Objects of 3MF files, where the build places them.

A package is a zip archive of models in XML; with the production extension, build items and components name objects of
other models in it.

References
----------
.. [1] 3MF Consortium, "3D Manufacturing Format, Core Specification" and "Production Extension",
   https://github.com/3MFConsortium.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from array import array
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from xml.parsers import expat

import numpy as np

from broadphase.errors import FileFormatError, clipped, quoted
from broadphase.io.part_file import unit_named
from broadphase.mesh_formats import PlacedMesh, named_nodes, nodes_by_mesh

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.mesh_formats import LeftOut, MeshNode, PartKind

__all__ = ["read_3mf"]

_CORE = "http://schemas.microsoft.com/3dmanufacturing/core/2015/02"
_PATH = "http://schemas.microsoft.com/3dmanufacturing/production/2015/06 path"
_RESOLUTION = "http://schemas.microsoft.com/3dmanufacturing/slice/2015/07 meshresolution"
_READ = re.compile(
    r"http://schemas\.microsoft\.com/3dmanufacturing/(core|production|material|slice|beamlattice|trianglesets)/.*"
)
"""Extensions that a file may require: those that change no triangles, or are recorded as left out."""

_UNITS = ("micron", "millimeter", "centimeter", "inch", "foot", "meter")
_CHUNK = 1 << 20  # bytes
_MOST_GROWTH = 200  # bytes of XML for each byte of the archive
_MOST_PLACES = 1 << 18  # objects may hold objects, which hold objects


class _Use(NamedTuple):
    """An object in the build or in another object: the model that it is in, its id, and its place."""

    model: str
    id: str
    pose: NDArray[np.float64]
    where: str


class _Object:
    """An object of a model: triangles, or other objects."""

    def __init__(self, name: str, kind: str, where: str) -> None:
        self.name, self.kind, self.where = name, kind, where
        self.positions, self.corners = array("d"), array("q")
        self.uses: list[_Use] = []
        self.mesh: tuple[NDArray[np.float64], NDArray[np.int64]] | None = None  # of the arrays above

    def as_mesh(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return vertices and faces, the same arrays each time."""
        if self.mesh is None:
            faces = np.array(self.corners, np.int64).reshape(-1, 3)
            self.mesh = np.array(self.positions, np.float64).reshape(-1, 3), faces
            out = (faces < 0) | (faces >= len(self.mesh[0]))
            if out.any():
                row = int(np.argmax(out.any(axis=1)))
                raise FileFormatError(
                    f"{self.where}: triangle {row} has vertex {faces[row][out[row]][0]}, which does not exist: there"
                    f" are {len(self.mesh[0]):,}"
                )
        return self.mesh


class _Model:
    """What one model of the package says."""

    def __init__(self) -> None:
        self.objects: dict[str, _Object] = {}
        self.build: list[_Use] = []
        self.unit = "millimeter"


def read_3mf(stream: IO[bytes], stem: str, left: LeftOut, parts: PartKind) -> tuple[list[MeshNode], str]:
    """Return the objects with triangles as the build places them, in its order, and the unit of lengths.

    An object that holds others is the parent of these. With `parts` "mesh", all places of an object are one node.
    Errors name the model in the package, and the object.
    """
    try:
        with zipfile.ZipFile(BytesIO(stream.read())) as package:
            return _Package(package, left).nodes(stem, parts)
    except (FileFormatError, MemoryError):
        raise
    except Exception as error:  # damaged archives make zipfile raise all kinds of exceptions
        raise FileFormatError(f"not a whole .3mf file, which is a zip archive ({clipped(str(error))})") from error


class _Package:
    def __init__(self, package: zipfile.ZipFile, left: LeftOut) -> None:
        self.package, self.left = package, left
        self.members = {name.lower(): name for name in package.namelist()}  # names of parts have no case
        self.models: dict[str, _Model] = {}

    def nodes(self, stem: str, parts: PartKind) -> tuple[list[MeshNode], str]:
        root = self._root()
        model = self.model(root, "the package")
        found: list[PlacedMesh] = []
        names: dict[int, str] = {}
        used: set[int] = set()
        waiting: list[tuple[_Use, NDArray[np.float64], int | None, tuple[int, ...]]]
        waiting = [(use, np.eye(4), None, ()) for use in reversed(model.build)]
        while waiting:
            use, above_pose, above, within = waiting.pop()
            number = len(names)
            if number > _MOST_PLACES:
                raise FileFormatError(f"the build has more than {_MOST_PLACES:,} objects")
            one = self.model(use.model, use.where).objects.get(use.id)
            if one is None:
                raise FileFormatError(f"{use.where}: there is no object {quoted(use.id)} in {clipped(use.model)}")
            if id(one) in within:
                raise FileFormatError(f"{use.where}: {one.where} holds itself")
            used.add(id(one))
            with np.errstate(over="ignore", invalid="ignore"):
                pose = above_pose @ use.pose
            names[number] = one.name or f"object {use.id}"
            if one.kind in ("support", "solidsupport"):
                self.left.add("supports", one.where)
                continue
            waiting.extend((inner, pose, number, (*within, id(one))) for inner in reversed(one.uses))
            mesh = one.as_mesh()
            if len(mesh[1]):
                found.append(PlacedMesh(number, above, one.name, *mesh, pose, one.name))
            elif not one.uses:
                self.left.empty.append(one.name or stem)
        for one in [one for known in self.models.values() for one in known.objects.values()]:
            if id(one) not in used and one.kind != "other" and len(one.corners):
                self.left.add("objects outside of the build", one.where)
        nodes = nodes_by_mesh(found, stem) if parts == "mesh" else named_nodes(found, names, stem)
        return nodes, unit_named(model.unit)

    def _root(self) -> str:
        """Return the name of the model that the package begins with."""
        targets: list[str] = []

        def begin(name: str, values: dict[str, str]) -> None:
            if name.rpartition(" ")[2] == "Relationship" and values.get("Type", "").endswith("/3dmodel"):
                targets.append(values.get("Target", ""))

        if "_rels/.rels" in self.members:
            self._parse("_rels/.rels", begin)
        if len(targets) > 1:
            raise FileFormatError(f"the package begins with {len(targets)} models, and must with one")
        return _absolute(targets[0], "") if targets else "3D/3dmodel.model"

    def model(self, path: str, user: str) -> _Model:
        key = path.lower()
        if key not in self.models:
            if key not in self.members:
                raise FileFormatError(f"{user}: there is no {clipped(path)} in the package")
            model = self.models[key] = _Model()
            reader = _Reader(model, path, self.left)
            self._parse(path, reader.begin, reader.end, reader.namespaces)
        return self.models[key]

    def _parse(
        self,
        path: str,
        begin: Callable[[str, dict[str, str]], None],
        end: Callable[[str], None] | None = None,
        namespaces: dict[str, str] | None = None,
    ) -> None:
        """Call `begin` and `end` for the elements of a member; names are those of namespaces, a space between."""
        member = self.package.getinfo(self.members[path.lower()])
        if member.file_size > _MOST_GROWTH * member.compress_size + _CHUNK:
            raise FileFormatError(
                f"{clipped(path)}: {member.compress_size:,} bytes that declare {member.file_size:,}: no model is"
                " compressed so well"
            )
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = begin
        parser.EndElementHandler = end
        parser.StartDoctypeDeclHandler = _refuse_doctype
        if namespaces is not None:
            parser.StartNamespaceDeclHandler = lambda prefix, uri: namespaces.setdefault(prefix or "", uri or "")
        try:
            with self.package.open(member) as content:
                while chunk := content.read(_CHUNK):
                    parser.Parse(chunk, False)
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise FileFormatError(f"{clipped(path)}: not readable XML ({error})") from None
        except FileFormatError as error:
            raise FileFormatError(f"{clipped(path)}, line {parser.CurrentLineNumber}: {error}") from None


def _refuse_doctype(*_: Any) -> None:
    raise FileFormatError("a document type declaration, which 3MF does not allow")


def _absolute(target: str, base: str) -> str:
    """Return the name of a part in the package, without the slash in front."""
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(base), target)).lstrip("/")


class _Reader:
    """Takes the elements of a model."""

    def __init__(self, model: _Model, path: str, left: LeftOut) -> None:
        self.model, self.path, self.left = model, path, left
        self.namespaces: dict[str, str] = {}
        self.here: _Object | None = None

    def begin(self, name: str, values: dict[str, str]) -> None:
        uri, _, name = name.rpartition(" ")
        if uri != _CORE:
            if name == "beamlattice" and self.here is not None:
                self.left.add("beams", self.here.where)
            return
        here = self.here
        if name == "vertex" and here is not None:
            try:
                here.positions.extend((float(values["x"]), float(values["y"]), float(values["z"])))
            except (KeyError, ValueError):
                row = len(here.positions) // 3
                raise FileFormatError(f"{here.where}: vertex {row} needs three numbers x, y and z") from None
        elif name == "triangle" and here is not None:
            try:
                here.corners.extend((int(values["v1"]), int(values["v2"]), int(values["v3"])))
            except (KeyError, ValueError, OverflowError):
                row = len(here.corners) // 3
                raise FileFormatError(f"{here.where}: triangle {row} needs three row numbers v1, v2 and v3") from None
        elif name == "component" and here is not None:
            here.uses.append(self._use(values, f"{here.where}, component {len(here.uses)}"))
        elif name == "item":
            self.model.build.append(self._use(values, f"build item {len(self.model.build)}"))
        elif name == "object":
            self._begin_object(values)
        elif name == "model":
            self._check(values)

    def end(self, name: str) -> None:
        if name == f"{_CORE} object":
            self.here = None

    def _begin_object(self, values: dict[str, str]) -> None:
        number = values.get("id", "")
        name = values.get("name") or values.get("partnumber") or ""
        where = f"object {clipped(number)}{f' ({clipped(name)})' if name else ''}"
        if not number or number in self.model.objects:
            raise FileFormatError(f"{where}: the id must be there, and once only")
        if values.get(_RESOLUTION) == "lowres":
            self.left.add("slices in place of triangles", where)
        self.here = self.model.objects[number] = _Object(name, values.get("type", "model"), where)

    def _use(self, values: dict[str, str], where: str) -> _Use:
        path = values.get(_PATH)
        model = self.path if path is None else _absolute(path, "")
        if "objectid" not in values:
            raise FileFormatError(f"{where}: needs an objectid")
        pose = np.eye(4)
        if values.get("transform"):
            try:
                rows = np.array([float(word) for word in values["transform"].split()]).reshape(4, 3)
            except ValueError:
                rows = np.full((4, 3), np.nan)
            if not np.isfinite(rows).all():
                raise FileFormatError(
                    f"{where}: transform must be 12 finite numbers, not {quoted(values['transform'])}"
                )
            pose[:3] = rows.T
        return _Use(model, values["objectid"], pose, where)

    def _check(self, values: dict[str, str]) -> None:
        """Raise FileFormatError for a model that must not be read without an extension, or in no unit of the format."""
        for prefix in values.get("requiredextensions", "").split():
            uri = self.namespaces.get(prefix, "")
            if not _READ.fullmatch(uri):
                raise FileFormatError(f"needs the extension {quoted(uri or prefix)}, which is not read")
        unit = values.get("unit", "millimeter")
        if unit not in _UNITS:
            raise FileFormatError(f"the unit {quoted(unit)} is none of {', '.join(_UNITS)}")
        self.model.unit = unit
