"""The connected pieces of meshes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.mesh_formats.nodes import numbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from broadphase.mesh_formats.nodes import MeshNode

    Mesh = tuple[NDArray[np.float64], NDArray[np.int64]]

__all__ = ["split_into_pieces"]


def split_into_pieces(nodes: Sequence[MeshNode]) -> tuple[list[MeshNode], NDArray[np.int64]]:
    """Return the connected pieces of each node, in the order of their first triangles, and the node of each.

    Triangles are connected if they have a vertex in common; vertices at the same position are one. The pieces of a node
    of several are called ``engine (1)``, ``engine (2)``, and have it as their parent. Nodes with the same mesh share
    those of its pieces.
    """
    known: dict[tuple[int, int], list[Mesh]] = {}
    found: list[MeshNode] = []
    owners: list[int] = []
    for row, node in enumerate(nodes):
        key = id(node.vertices), id(node.faces)
        if key not in known:
            known[key] = _pieces(node.vertices, node.faces)
        pieces = known[key]
        owners += [row] * len(pieces)
        if len(pieces) == 1:
            found.append(node)
            continue
        found.extend(
            node._replace(name=f"{node.name} ({number})", vertices=vertices, faces=faces, parent=node.name)
            for number, (vertices, faces) in enumerate(pieces, 1)
        )
    names = numbered(node.name for node in found)
    return [node._replace(name=name) for node, name in zip(found, names, strict=True)], np.array(owners, np.int64)


def _pieces(vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> list[Mesh]:
    piece_of = _labels(vertices, faces)
    if not piece_of.any():
        return [(vertices, faces)]
    of_vertex = np.full(len(vertices), -1)
    of_vertex[faces] = piece_of[:, np.newaxis]
    vertex_order = np.argsort(of_vertex, kind="stable")
    vertex_order = vertex_order[np.count_nonzero(of_vertex < 0) :]  # those of no triangle are of no piece
    face_order = np.argsort(piece_of, kind="stable")
    face_counts = np.bincount(piece_of)
    vertex_counts = np.bincount(of_vertex[vertex_order], minlength=len(face_counts))
    first = np.cumsum(vertex_counts) - vertex_counts
    row_of = np.empty(len(vertices), np.int64)
    row_of[vertex_order] = np.arange(len(vertex_order)) - np.repeat(first, vertex_counts)
    return list(
        zip(
            np.split(vertices[vertex_order], np.cumsum(vertex_counts)[:-1]),
            np.split(row_of[faces[face_order]], np.cumsum(face_counts)[:-1]),
            strict=True,
        )
    )


def _labels(vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the piece of each face, in the order of first faces."""
    label = np.arange(len(vertices))
    corners = _first_of_equal(vertices)[faces]
    one, two = corners[:, [0, 1]].reshape(-1), corners[:, [1, 2]].reshape(-1)
    while len(one):
        # The larger label of each edge is given to a smaller one, which cannot close a circle; then all follow.
        low, high = np.minimum(one, two), np.maximum(one, two)
        np.minimum.at(label, high, low)
        while True:
            further = label[label]
            if np.array_equal(further, label):
                break
            label = further
        one, two = label[one], label[two]
        is_open = one != two
        one, two = one[is_open], two[is_open]
    _, first, number = np.unique(label[corners[:, 0]], return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number.reshape(-1)]


_MIX = np.uint64(0x9E3779B97F4A7C15)  # any odd number whose bits look random


def _first_of_equal(vertices: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each vertex a vertex at the same position, the same one for all of them."""
    bits = np.ascontiguousarray(vertices + 0.0).view(np.uint64)  # -0.0 is 0.0
    key = np.zeros(len(bits), np.uint64)
    for column in bits.T:
        key = (key ^ column) * _MIX
        key ^= key >> np.uint64(32)
    order = np.argsort(key)
    differs = _differ(bits[order])
    if (differs & (np.diff(key[order]) == 0)).any():  # different positions of one key may lie in between
        order = np.lexsort(bits.T)
        differs = _differ(bits[order])
    begins = np.flatnonzero(np.concatenate([[True], differs]))
    first = np.empty(len(bits), np.int64)
    first[order] = np.repeat(order[begins], np.diff(begins, append=len(bits)))
    return first


def _differ(rows: NDArray[Any]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (rows[1:] != rows[:-1]).any(axis=1)
    return found
