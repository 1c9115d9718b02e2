"""Meshes of .off files, as text."""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING

import numpy as np

from broadphase.errors import FileFormatError
from broadphase.mesh_formats.nodes import MeshNode, line_error
from broadphase.mesh_formats.polygons import cut_into_triangles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broadphase.mesh_formats.nodes import LeftOut

__all__ = ["parse_off"]

_HEADER = re.compile(rb"(ST)?C?N?OFF")  # with texture coordinates, colours, normals behind the position


def parse_off(content: bytes, stem: str, left: LeftOut) -> list[MeshNode]:
    """Return the mesh, called `stem`; colours and the like are passed over. Errors name the line."""
    lines = _lines(content)
    number, words = next(lines, (1, []))
    if words and _HEADER.fullmatch(words[0]):
        words = words[1:]
        if not words:
            number, words = next(lines, (number, []))
    counts = [int(word) for word in words if re.fullmatch(rb"\d{1,18}", word)]
    if not 2 <= len(counts) == len(words):
        raise FileFormatError(
            f"line {number}: not an .off file as text: it must begin with OFF and the numbers of vertices and faces"
        )
    positions, corners, sizes = array("d"), array("q"), array("q")
    for kind, count in (("vertex", counts[0]), ("face", counts[1])):
        for row in range(count):
            number, words = next(lines, (0, []))
            if not number:
                raise FileFormatError(f"{kind} {row} is missing: the file declares {count:,}")
            try:
                if kind == "vertex":
                    x, y, z = words[:3]
                    positions.extend((float(x), float(y), float(z)))
                    continue
                own = [int(word) for word in words[1 : int(words[0]) + 1]]
                if len(own) != int(words[0]) or not all(0 <= one < counts[0] for one in own):
                    raise ValueError
            except ValueError as error:
                corners_of = f"its number of corners and rows of the {counts[0]} vertices"
                what = "three numbers" if kind == "vertex" else corners_of
                raise line_error(number, b" ".join(words), f"{kind} {row} needs {what}") from error
            if len(own) < 3:
                left.add("faces of less than three corners", f"line {number}")
                continue
            corners.extend(own)
            sizes.append(len(own))
    if not sizes:
        return []
    vertices = np.array(positions).reshape(-1, 3)
    return [MeshNode(stem, vertices, cut_into_triangles(np.array(corners), np.array(sizes), vertices), np.eye(4), None)]


def _lines(content: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Return the numbers and words of the lines that are not empty, without comments."""
    for number, line in enumerate(content.splitlines(), 1):
        words = line.partition(b"#")[0].split()
        if words:
            yield number, words
