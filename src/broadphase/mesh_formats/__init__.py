"""Readers of mesh formats: bytes in, nodes out, and a word about what is not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broadphase.mesh_formats.gltf import parse_gltf
from broadphase.mesh_formats.nodes import (
    PART_KINDS,
    LeftOut,
    MeshNode,
    PartKind,
    PlacedMesh,
    joined,
    named_nodes,
    nodes_by_mesh,
)
from broadphase.mesh_formats.obj import parse_obj
from broadphase.mesh_formats.off import parse_off
from broadphase.mesh_formats.pieces import split_into_pieces
from broadphase.mesh_formats.stl import parse_stl

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "PARSED", "PART_KINDS", "LeftOut", "MeshNode", "PartKind", "PlacedMesh", "joined", "named_nodes", "nodes_by_mesh",
    "parse_nodes", "split_into_pieces",
]  # fmt: skip

PARSED = (".glb", ".gltf", ".obj", ".off", ".stl")
"""The formats of `parse_nodes`."""


def parse_nodes(
    content: bytes, suffix: str, stem: str, left: LeftOut, *, folder: Path | None = None, parts: PartKind = "object"
) -> list[MeshNode]:
    """Return the nodes with triangles of a file of one of the formats `PARSED`, in the order of the file.

    `stem` is the name of nodes without any; `left` gets what is not read. `folder` is where the files lie that this one
    names; None refuses them. `parts` other than "group", "material" and "mesh", where the format has them, gives whole
    objects. Errors name the element, not the file.
    """
    if suffix == ".obj":
        return parse_obj(content, stem, parts, left)
    if suffix in (".off", ".stl"):
        return parse_off(content, stem, left) if suffix == ".off" else parse_stl(content, stem, left)
    return parse_gltf(content, folder, stem, left, parts)
