"""The smallest mesh files, built number by number, for tests of what is read from them."""

from __future__ import annotations

import base64
import json
import os
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np

from cases import run_script

BOX = np.array([[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))], float)
BOX_FACES = np.array([[0, 2, 1], [0, 3, 2], [4, 5, 6], [4, 6, 7], *(
    face for k in range(4) for face in ([k, (k + 1) % 4, (k + 1) % 4 + 4], [k, (k + 1) % 4 + 4, k + 4])
)])  # fmt: skip
"""A closed box from (0, 0, 0) to (1, 1, 1)."""

_TYPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}
_COMPONENTS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}


class Gltf:
    """A glTF file that is built element by element; each method returns the number of what it adds."""

    def __init__(self) -> None:
        self.tree: dict[str, Any] = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": []}]}
        self.body = b""

    def add(self, kind: str, **entry: Any) -> int:
        entries = self.tree.setdefault(kind, [])
        entries.append(entry)
        return len(entries) - 1

    def view(self, content: bytes, **more: Any) -> int:
        self.body += bytes(-len(self.body) % 4)
        at = len(self.body)
        self.body += content
        return self.add("bufferViews", buffer=0, byteOffset=at, byteLength=len(content), **more)

    def accessor(self, numbers: Any, dtype: str = "f4", **more: Any) -> int:
        rows = np.asarray(numbers, f"<{dtype}")
        rows = rows.reshape(len(rows), -1)
        return self.add(
            "accessors", bufferView=self.view(rows.tobytes()), componentType=_COMPONENTS[dtype], count=len(rows),
            type=_TYPES[rows.shape[1]], **more,
        )  # fmt: skip

    def primitive(self, vertices: Any, faces: Any = None, **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = {"attributes": {"POSITION": self.accessor(vertices)}, **more}
        if faces is not None:
            found["indices"] = self.accessor(np.ravel(faces), "u2")
        return found

    def node(self, *primitives: dict[str, Any], mesh: dict[str, Any] | None = None, **more: Any) -> int:
        """Add a node of the scene, with a mesh of its own if there are primitives."""
        if primitives:
            more["mesh"] = self.add("meshes", primitives=list(primitives), **(mesh or {}))
        number = self.add("nodes", **more)
        self.tree["scenes"][0]["nodes"].append(number)
        return number

    def below(self, parent: int, child: int) -> None:
        self.tree["scenes"][0]["nodes"].remove(child)
        self.tree["nodes"][parent].setdefault("children", []).append(child)

    def as_gltf(self) -> bytes:
        uri = "data:application/octet-stream;base64," + base64.b64encode(self.body).decode()
        return json.dumps(self.tree | {"buffers": [{"byteLength": len(self.body), "uri": uri}]}).encode()

    def as_glb(self, more_buffers: list[dict[str, Any]] | None = None) -> bytes:
        buffers = [{"byteLength": len(self.body)}, *(more_buffers or [])]
        text = json.dumps(self.tree | {"buffers": buffers}).encode()
        text += b" " * (-len(text) % 4)
        body = self.body + bytes(-len(self.body) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(body), b"BIN\0") + body
        return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks


def names_in_runs(path: Path, seeds: str = "12") -> set[str]:
    """Return what the names of the parts of a file are in processes that hash texts in different ways."""
    script = f"from broadphase.io import read_parts; print([part.name for part in read_parts({str(path)!r}).parts])"
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    return {run_script(script, environment={**os.environ, **paths, "PYTHONHASHSEED": seed}).strip() for seed in seeds}


def triangles_of(vertices: Any, faces: Any) -> list[Any]:
    """Return the corners of all triangles, sorted: what does not depend on how vertices are numbered."""
    corners = np.asarray(vertices, float)[np.asarray(faces, int)]
    return sorted(sorted(map(tuple, one)) for one in corners.tolist())


def obj_of_box(name: str, lower: tuple[float, float, float], first: int, size: float = 1.0) -> str:
    """Return the lines of a box below an ``o``; `first` is the number of its first vertex, from 1 on."""
    vertices = "".join("v {} {} {}\n".format(*row) for row in (BOX * size + lower).tolist())
    return f"o {name}\n{vertices}" + "".join("f {} {} {}\n".format(*row) for row in (BOX_FACES + first).tolist())
