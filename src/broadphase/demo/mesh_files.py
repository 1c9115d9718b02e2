"""Read mesh files that may be hostile: checked before they are parsed, and parsed in a process of its own.

The process runs this module, with limits of time and, except on Windows, of memory. Its input is the content of the
file, its output the arrays behind one line of JSON, so nothing that it sends is executed.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import threading
import warnings
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.demo.meshes import Triangles
from broadphase.errors import FileFormatError, PartialFileWarning, TooManyPairsError, clipped
from broadphase.extras import import_extra
from broadphase.mesh_formats import LeftOut, parse_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Part = tuple[NDArray[Any], NDArray[Any]]  # vertices and faces

__all__ = ["MESH_SUFFIXES", "MOST_FILE_BYTES", "MOST_TRIANGLES", "fault_of_file", "read_mesh_file"]

MOST_TRIANGLES = 100_000
MOST_FILE_BYTES = 32 << 20
"""A binary STL file of the most triangles has 5 MB, a text file about 25 MB."""
_MOST_NODES = 10_000  # of a glb file: trimesh needs 0.1 ms for each
_MOST_OVERLAPS = 200  # per triangle: meshes have some ten, and steps take time for each
_SECONDS = 20.0  # until the process is ended; a file of the largest size takes some 5
_MEMORY = 3 << 30  # bytes of addresses; NumPy and trimesh take some 0.5 GB, the largest file some 1 GB
_MOST_OUTPUT = 4096 + 12 * (3 * MOST_TRIANGLES + MOST_TRIANGLES)  # vertices and faces


def read_mesh_file(name: str, content: bytes) -> Triangles:
    """Read the triangles of a mesh file in a process of its own; the suffix of its name gives the format.

    Raises MissingExtraError if trimesh is not installed, and FileFormatError if the file is of another kind or too
    large, is not a readable mesh, has no triangles or more than the demo can show, or takes too much time or memory.
    A PartialFileWarning names what is not read.
    """
    import_extra("trimesh", purpose="reading meshes", extra="demo")
    shown = clipped(name)
    suffix, fault = _suffix_of(name), fault_of_file(name, len(content))
    if fault is None and not MESH_SUFFIXES[suffix](content):
        fault = f"not a {suffix} file, or one with more than the demo can show"
    if fault is not None:
        raise FileFormatError(f"{shown}: {fault}")
    answer = _ask_process(shown, suffix, content)
    line, _, block = answer.partition(b"\n")
    try:
        head = json.loads(line)
        if "error" in head:
            raise FileFormatError(f"{shown}: {clipped(str(head['error']))}")
        vertices = np.frombuffer(block, np.float32, 3 * head["vertices"]).reshape(-1, 3)
        faces = np.frombuffer(block, np.uint32, 3 * head["faces"], offset=vertices.nbytes).reshape(-1, 3)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{shown}: reading it took more than {_SECONDS:.0f} s or too much memory") from error
    if not len(faces) or int(faces.max()) >= len(vertices):
        raise FileFormatError(f"{shown}: not a readable mesh")
    if head.get("left"):
        warnings.warn(f"{shown}: {clipped(str(head['left']), 1000)}", PartialFileWarning, stacklevel=2)
    return Triangles(vertices, faces)


def fault_of_file(name: str, size: int) -> str | None:
    """Say why a file of this name and of so many bytes is not read, or None."""
    if _suffix_of(name) not in MESH_SUFFIXES:
        return f"the demo reads {', '.join(MESH_SUFFIXES)} files"
    if size > MOST_FILE_BYTES:
        return f"the demo reads files of at most {MOST_FILE_BYTES >> 20} MB"
    return None if size else "the file is empty"


def _suffix_of(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _is_stl(content: bytes) -> bool:
    count = int.from_bytes(content[80:84], "little")
    return (len(content) == 84 + 50 * count and count <= MOST_TRIANGLES) or content.lstrip()[:5].lower() == b"solid"


def _is_glb(content: bytes) -> bool:
    size = int.from_bytes(content[12:16], "little")
    if content[:8] != b"glTF\x02\0\0\0" or content[16:20] != b"JSON" or 20 + size > len(content):
        return False
    try:
        tree = json.loads(content[20 : 20 + size])
        return isinstance(tree, dict) and len(tree.get("nodes", ())) <= _MOST_NODES
    except (ValueError, TypeError, RecursionError):
        return False


MESH_SUFFIXES: dict[str, Callable[[bytes], bool]] = {
    ".stl": _is_stl,
    ".obj": lambda content: b"\0" not in content,
    ".ply": lambda content: content[:4] in (b"ply\n", b"ply\r"),
    ".glb": _is_glb,
}
"""The kinds of files, and what tells from the first bytes whether a file is of that kind."""


def _ask_process(shown: str, suffix: str, content: bytes) -> bytes:
    """Return what the process writes; less than that if it had to be ended."""
    paths = os.pathsep.join(path for path in sys.path if path)
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = os.environ | one_thread | {"PYTHONPATH": paths}
    command = [sys.executable, "-P", "-m", __name__, suffix]  # -P: modules of the current folder are not imported
    silent = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=silent, env=environment
        )
    except OSError as error:
        raise FileFormatError(f"{shown}: no process could be started to read it ({error.strerror})") from error
    with process:
        end = threading.Timer(_SECONDS, process.kill)
        end.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(OSError), process.stdin as pipe:  # it may have ended already
                pipe.write(content)
            return process.stdout.read(_MOST_OUTPUT)
        finally:
            end.cancel()
            process.kill()


def _limit() -> None:
    """Limit memory and time of this process, and forbid that it writes files. Windows has no such limits."""
    if sys.platform == "win32":
        return
    import resource

    seconds = int(_SECONDS)
    for name, most in (("RLIMIT_AS", _MEMORY), ("RLIMIT_CPU", seconds), ("RLIMIT_FSIZE", 0), ("RLIMIT_CORE", 0)):
        with contextlib.suppress(ValueError, OSError):  # macOS knows no limit of addresses
            resource.setrlimit(getattr(resource, name), (most, most))


def _parse(suffix: str, content: bytes) -> tuple[Triangles, str]:
    """Return the triangles, and what is not read."""
    import broadphase as bp

    left = LeftOut()
    parts = _parts_of_ply(content) if suffix == ".ply" else _placed_parts(suffix, content, left)
    count = sum(len(faces) for _, faces in parts)
    if count > MOST_TRIANGLES:
        raise FileFormatError(f"has {count:,} triangles; the demo shows at most {MOST_TRIANGLES:,}")
    if not count:
        raise FileFormatError("has no triangles")
    with np.errstate(over="ignore", invalid="ignore"):
        placed = np.concatenate([vertices[faces] for vertices, faces in parts]).reshape(-1, 3).astype(np.float32)
    vertices, rows = np.unique(placed, axis=0, return_inverse=True)  # those in the same place are one
    faces = rows.reshape(-1, 3).astype(np.uint32)
    if not np.isfinite(vertices).all():
        raise FileFormatError("a vertex is not finite")
    corners = vertices[faces]
    boxes = np.stack([corners.min(axis=1), corners.max(axis=1)], axis=1)
    try:
        bp.pairs(boxes, max_pairs=_MOST_OVERLAPS * len(faces))
    except TooManyPairsError:
        raise FileFormatError("too many of its triangles overlap") from None
    return Triangles(vertices, faces), str(left)


def _parts_of_ply(content: bytes) -> list[Part]:
    import trimesh

    scene = trimesh.load_scene(io.BytesIO(content), file_type="ply", process=False)
    parts = [(one.vertices, one.faces) for one in scene.geometry.values() if hasattr(one, "faces")]
    if any(np.shape(vertices)[1:] != (3,) or np.min(faces, initial=0) < 0 for vertices, faces in parts):
        raise FileFormatError("not a readable mesh")
    return parts


def _placed_parts(suffix: str, content: bytes, left: LeftOut) -> list[Part]:
    return [(node.placed(), node.faces) for node in parse_nodes(content, suffix, "mesh", left)]


def _answer(suffix: str, content: bytes) -> bytes:
    """Return what `read_mesh_file` expects: a line of JSON, and the arrays."""
    try:
        mesh, left = _parse(suffix, content)
    except FileFormatError as error:
        head: dict[str, Any] = {"error": str(error)}
    except MemoryError:
        head = {"error": "reading it takes too much memory"}
    except Exception as error:  # trimesh raises all kinds of exceptions on damaged files
        head = {"error": clipped(f"not a readable mesh ({type(error).__name__}: {error})")}
    else:
        head = {"vertices": len(mesh.vertices), "faces": len(mesh.faces), "left": left}
        return json.dumps(head).encode() + b"\n" + mesh.vertices.tobytes() + mesh.faces.tobytes()
    return json.dumps(head).encode() + b"\n"


def _main() -> None:
    content = sys.stdin.buffer.read(MOST_FILE_BYTES)
    _limit()
    sys.stdout.buffer.write(_answer(sys.argv[1], content))
    sys.stdout.buffer.flush()
    os._exit(0)  # nothing needs to be cleaned up, and damaged files may leave what cannot be


if __name__ == "__main__":
    _main()
