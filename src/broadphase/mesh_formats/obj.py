"""Objects of Wavefront .obj files."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from broadphase.errors import FileFormatError, clipped
from broadphase.mesh_formats.nodes import PlacedMesh, line_error, named_nodes, text_of
from broadphase.mesh_formats.polygons import cut_into_triangles

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from broadphase.mesh_formats.nodes import LeftOut, MeshNode, PartKind

__all__ = ["parse_obj"]

_LEFT_OUT = {
    b"p": "points", b"l": "lines", b"curv": "curves", b"curv2": "curves", b"surf": "surfaces", b"call": "other files",
}  # fmt: skip
_NO_GEOMETRY = frozenset(
    b"vt vn vp s mg lod mtllib maplib usemap shadow_obj trace_obj bevel c_interp d_interp cstype deg bmat step parm"
    b" trim hole scrv sp end con ctech stech csh".split()
)


class _Part(NamedTuple):
    """What is above a face: the number and the name of the object, and the names of the group and the material."""

    number: int
    name: str
    group: str = ""
    material: str = ""

    def split_by(self, parts: PartKind) -> tuple[int, str]:
        """Return what is the same for all faces of one part."""
        return self.number, {"group": self.group, "material": self.material}.get(parts, "")


class _Faces:
    """The faces of one part: corners one after the other, and the number of corners of each."""

    def __init__(self) -> None:
        self.corners, self.sizes = array("q"), array("q")


def parse_obj(content: bytes, stem: str, parts: PartKind, left: LeftOut) -> list[MeshNode]:
    """Return the objects with faces, or their groups or materials, in the order of the file.

    Faces above the first name are called `stem`.

    Materials are not read, so no other file is opened. Each ``o`` begins an object, also under a name that was there
    before; a group or a material is the same wherever its name returns in an object.
    """
    positions = array("d")
    count = 0  # vertices so far
    found: dict[tuple[int, str], tuple[_Part, _Faces]] = {}
    here = _Part(0, "")
    objects: dict[int, str] = {}
    faces: _Faces | None = None
    for number, line in _lines(content):
        words = line.split()
        if not words:
            continue
        key = words[0]
        try:
            if key == b"v":
                x, y, z = words[1:4]
                positions.extend((float(x), float(y), float(z)))
                count += 1
            elif key in (b"f", b"fo"):
                corners = [int(word.partition(b"/")[0]) for word in words[1:]]
                if len(corners) < 3:
                    left.add("faces of less than three corners", f"line {number}")
                    continue
                if faces is None:
                    faces = found.setdefault(here.split_by(parts), (here, _Faces()))[1]
                faces.corners.extend([corner - 1 if corner > 0 else _from_the_end(corner, count) for corner in corners])
                faces.sizes.append(len(corners))
            elif key in (b"o", b"g", b"usemtl"):
                here, faces = _below(here, key, line), None
                objects.setdefault(here.number, here.name)
            elif key in _LEFT_OUT:
                left.add(_LEFT_OUT[key], f"line {number}")
            elif key not in _NO_GEOMETRY and not key.startswith(b"#"):
                left.add("unknown statements", f"line {number}, {clipped(text_of(key), 20)}")
        except (ValueError, OverflowError) as error:
            why = "needs three numbers" if key == b"v" else "needs row numbers of vertices, from 1 on"
            raise line_error(number, line, f"a {'vertex' if key == b'v' else 'face'} {why}") from error
    with_faces = {number for number, _ in found}
    left.empty += [name or stem for number, name in objects.items() if number and number not in with_faces]
    return _nodes(np.array(positions).reshape(-1, 3), found.values(), stem, parts)


def _from_the_end(corner: int, count: int) -> int:
    if not -count <= corner < 0:
        raise ValueError(f"there is no vertex {corner}")
    return count + corner


def _lines(content: bytes) -> Iterable[tuple[int, bytes]]:
    """Return the lines that hold anything and their numbers; one that ends with a backslash goes on in the next one."""
    lines = enumerate(content.splitlines(), 1)
    if b"\\" not in content:
        return lines
    return _joined(lines)


def _joined(lines: Iterable[tuple[int, bytes]]) -> Iterable[tuple[int, bytes]]:
    begun: list[bytes] = []
    first = 0
    for number, line in lines:
        first = first if begun else number
        if line.endswith(b"\\") and not line.lstrip().startswith(b"#"):
            begun.append(line[:-1])
            continue
        yield first, b" ".join([*begun, line])
        begun = []
    if begun:
        yield first, b" ".join(begun)


def _below(here: _Part, key: bytes, line: bytes) -> _Part:
    name = text_of(line.strip()[len(key) :].strip())
    if key == b"o":
        return here._replace(number=here.number + 1, name=name)
    return here._replace(group=name) if key == b"g" else here._replace(material=name)


def _nodes(
    positions: NDArray[np.float64], found: Collection[tuple[_Part, _Faces]], stem: str, parts: PartKind
) -> list[MeshNode]:
    named = []
    for row, (part, faces) in enumerate(found):
        corners = np.array(faces.corners)
        if corners.max() >= len(positions):
            raise FileFormatError(
                f"{_called(part)}: a face has vertex {corners.max() + 1}, which does not exist: there are"
                f" {len(positions):,}"
            )
        used, rows = np.unique(corners, return_inverse=True)
        mesh = positions[used], cut_into_triangles(rows.reshape(-1), np.array(faces.sizes), positions[used])
        is_whole = parts not in ("group", "material")
        name = part.name if is_whole else getattr(part, parts) or part.name
        above = None if is_whole or not part.name else -1 - part.number  # negative: no row of a part
        named.append(PlacedMesh(row, above, name, *mesh, np.eye(4)))
    return named_nodes(named, {-1 - part.number: part.name for part, _ in found}, stem)


def _called(part: _Part) -> str:
    return f"object {clipped(part.name)}" if part.name else "an object without a name"
