"""Meshes of the user's."""

from __future__ import annotations

import io
from pathlib import PurePath

import numpy as np

from broadphase.demo.meshes import Triangles
from broadphase.io.extras import import_extra

__all__ = ["read_triangles"]

MOST_TRIANGLES = 100_000


def read_triangles(name: str, content: bytes) -> Triangles:
    """Read the triangles of a mesh file.

    Parameters
    ----------
    name : str
        Of the file; its ending says what it is: .stl, .obj, .ply, .glb and whatever else trimesh reads.
    content : bytes

    Returns
    -------
    Triangles

    Raises
    ------
    MissingExtraError
        trimesh is not installed.
    ValueError
        Not such a file, no triangles in it, or more than the demo shows.
    """
    trimesh = import_extra("trimesh", purpose=f"reading {name}", extra="demo")
    try:
        scene = trimesh.load_scene(io.BytesIO(content), file_type=PurePath(name).suffix.lower().lstrip("."))
        mesh = scene.to_mesh()
        vertices, faces = np.asarray(mesh.vertices, np.float32), np.asarray(mesh.faces, np.uint32)
    except MemoryError:
        raise
    except Exception as error:  # damaged files make trimesh fail in every way that Python knows
        raise ValueError(f"{name}: not a readable mesh ({type(error).__name__}: {error})") from error
    if not len(faces):
        raise ValueError(f"{name}: has no triangles")
    if len(faces) > MOST_TRIANGLES:
        raise ValueError(f"{name}: has {len(faces):,} triangles; the demo shows {MOST_TRIANGLES:,} at the most")
    if not np.isfinite(vertices).all():
        raise ValueError(f"{name}: has vertices that are nowhere")
    return Triangles(vertices, faces)
