"""Solids of .stl files, binary or text."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from broadphase.errors import FileFormatError, clipped
from broadphase.mesh_formats.nodes import PlacedMesh, line_error, named_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.mesh_formats.nodes import LeftOut, MeshNode

__all__ = ["parse_stl"]

_HEADER, _TRIANGLE = 84, 50  # bytes
_LAYOUT = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_MOST_WORDS = {b"facet": 5, b"outer": 2, b"endloop": 1, b"endfacet": 1, b"endsolid": 1 << 30}  # of statements


def parse_stl(content: bytes, stem: str, left: LeftOut) -> list[MeshNode]:
    """Return the solids with triangles: those of a text file by name, the one of a binary file as `stem`.

    The length tells which of the two it is: the text at the beginning of a binary file may begin with "solid" too.
    """
    count = int.from_bytes(content[80:84], "little")
    needed = _HEADER + _TRIANGLE * count
    is_text = content.lstrip()[:5].lower() == b"solid"
    if len(content) == needed or (not is_text and _HEADER <= needed < len(content) and count):
        if len(content) > needed:
            left.add("bytes behind the last triangle", f"from byte {needed} on")
        rows = np.frombuffer(content, _LAYOUT, count, _HEADER)
        return _nodes([""], [rows["corners"].reshape(-1, 3).astype(np.float64)], stem, left)
    if is_text:
        return _nodes(*_solids(content), stem, left)
    if len(content) < _HEADER:
        raise FileFormatError("not an .stl file: it is too short for a binary one, and does not begin with solid")
    raise FileFormatError(
        f"not a whole .stl file: it declares {count:,} triangles, which need {needed:,} bytes, and has {len(content):,}"
    )


def _solids(content: bytes) -> tuple[list[str], list[NDArray[np.float64]]]:
    names, solids = [], []
    corners = array("d")
    for number, line in enumerate(content.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        key = words[0].lower()
        if key == b"vertex":
            try:
                x, y, z = words[1:]
                corners.extend((float(x), float(y), float(z)))
            except ValueError as error:
                raise line_error(number, line, "a vertex needs three numbers") from error
        elif key == b"solid" and not len(corners) % 9:
            corners = array("d")
            names.append(line.split(None, 1)[1].decode("utf-8", "replace").strip() if len(words) > 1 else "")
            solids.append(corners)
        elif len(words) > _MOST_WORDS.get(key, 0):
            raise line_error(number, line, "not one statement of an .stl file")
        elif len(corners) % 9:
            raise FileFormatError(f"line {number}: a triangle of solid {clipped(names[-1])} has not three vertices")
    if len(corners) % 9:
        raise FileFormatError(f"the last triangle of solid {clipped(names[-1])} has not three vertices")
    return names, [np.array(one).reshape(-1, 3) for one in solids]


def _nodes(names: list[str], solids: list[NDArray[np.float64]], stem: str, left: LeftOut) -> list[MeshNode]:
    left.empty += [name or stem for name, corners in zip(names, solids, strict=False) if not len(corners)]
    found = [
        PlacedMesh(row, None, name, corners, np.arange(len(corners)).reshape(-1, 3), np.eye(4))
        for row, (name, corners) in enumerate(zip(names, solids, strict=False))
        if len(corners)
    ]
    return named_nodes(found, {}, stem)
