"""Nodes of STEP files, whose surfaces cascadio turns into triangles."""

from __future__ import annotations

import json
import struct
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from broadphase.errors import FileFormatError
from broadphase.extras import import_extra
from broadphase.files import require_unicode
from broadphase.mesh_formats import parse_nodes

if TYPE_CHECKING:
    from broadphase.mesh_formats import LeftOut, MeshNode, PartKind

__all__ = ["read_step"]


def read_step(path: Path, left: LeftOut, parts: PartKind) -> list[MeshNode]:
    """Return the parts of the assembly in metres, under the names of their places.

    Triangles are at most 0.01 mm off a surface, and 0.5 radians. Positions are rounded to single precision.
    """
    with path.open("rb") as stream:  # a missing file is an OSError, and another kind of file never reaches the library
        if b"ISO-10303-21" not in stream.read(4096):
            raise FileFormatError("not a STEP file: it does not begin with ISO-10303-21")
    cascadio = import_extra("cascadio", purpose="reading .step files", extra="step")
    require_unicode(path, "cascadio")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "parts.glb")
        failed = cascadio.step_to_glb(str(path), str(target), tol_linear=0.01, tol_angular=0.5)
        if failed or not target.exists():
            raise FileFormatError("not a readable STEP file: cascadio finds no shapes in it")
        return parse_nodes(_with_one_of_each(target.read_bytes()), ".glb", path.stem, left, parts=parts)


def _with_one_of_each(content: bytes) -> bytes:
    """Let all nodes with equal meshes name the first of them: cascadio writes a mesh of the same numbers for each."""
    end = 20 + int.from_bytes(content[12:16], "little")
    tree = json.loads(content[20:end])
    first: dict[str, int] = {}
    meshes = [first.setdefault(json.dumps(mesh), len(first)) for mesh in tree.get("meshes", ())]
    tree["meshes"] = [json.loads(mesh) for mesh in first]
    for node in tree.get("nodes", ()):
        if "mesh" in node:
            node["mesh"] = meshes[node["mesh"]]
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    whole = struct.pack("<I4s", len(text), b"JSON") + text + content[end:]
    return struct.pack("<4sII", b"glTF", 2, 12 + len(whole)) + whole
