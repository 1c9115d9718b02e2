"""The narrow phase of pairs with a hull or a mesh, which the core knows only by number.

A mesh is what one of its triangles holds: overlap with any of them is overlap, and distance, depth and contact are
those of the nearest or deepest. Meshes are answered by the core, triangle by triangle (`mesh_pairs`), and hulls by coal
(`with_coal`). The functions are those of `narrow`, for such pairs only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.contacts import mesh_pairs
from broadphase.contacts.geometry_poses import Asked, kinds_of
from broadphase.shapes.kinds import ShapeKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.shapes import Shapes

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]
    Found = tuple[Floats, Floats]

__all__ = ["contacts_of", "distances", "impacts", "overlap_mask", "ray_hits"]


def overlap_mask(a: Shapes, b: Shapes, first: Rows, second: Rows, offsets: Floats | None = None) -> NDArray[np.bool_]:
    """Say which pairs of shapes overlap, as `narrow.overlap_mask` does."""
    asked = Asked(a, b, first, second, offsets)
    mask = np.zeros(len(first), np.bool_)
    for ask, some in _by_kind(asked):
        mask[some] = ask.overlap_mask(asked.some(some))
    return mask


def distances(a: Shapes, b: Shapes, first: Rows, second: Rows, offsets: Floats | None = None) -> Found:
    """Say how far apart the shapes of each pair are, and in which direction, as `narrow.separations` does."""
    asked = Asked(a, b, first, second, offsets)
    gaps, normals = _nothing(len(first))
    for ask, some in _by_kind(asked):
        gaps[some], normals[some] = ask.separations(asked.some(some))
    return gaps, normals


def contacts_of(
    a: Shapes, b: Shapes, first: Rows, second: Rows, offsets: Floats | None = None
) -> tuple[Floats, Floats, NDArray[np.int8], Floats]:
    """Say where the shapes of each pair touch: normals, depths, counts and points, as the core does."""
    asked = Asked(a, b, first, second, offsets)
    depths, normals = _nothing(len(first))
    counts, points = np.zeros(len(first), np.int8), np.full((len(first), 4, 3), np.nan)
    for ask, some in _by_kind(asked):
        normals[some], depths[some], counts[some], points[some] = ask.contacts_of(asked.some(some))
    return normals, depths, counts, points


def impacts(a: Shapes, b: Shapes, first: Rows, second: Rows, motions: Floats, offsets: Floats | None = None) -> Found:
    """Say when the shapes of each pair first touch, as `narrow.impacts` does."""
    asked = Asked(a, b, first, second, offsets)
    times, normals = _nothing(len(first))
    for ask, some in _by_kind(asked):
        times[some], normals[some] = ask.impacts(asked.some(some), motions[some])
    return times, normals


def ray_hits(shapes: Shapes, rows: Rows, origins: Floats, directions: Floats) -> Found:
    """Say where each ray enters a shape, as `narrow.ray_hits` does."""
    times, normals = np.full(len(rows), np.inf), np.zeros((len(rows), 3))
    is_hull = kinds_of(shapes, rows) == ShapeKind.HULL
    if len(some := np.flatnonzero(is_hull)):
        times[some], normals[some] = _coal().ray_hits(shapes, rows[some], origins[some], directions[some])
    if len(some := np.flatnonzero(~is_hull)):
        times[some], normals[some] = mesh_pairs.ray_hits(shapes, rows[some], origins[some], directions[some])
    return times, normals


def _nothing(count: int) -> Found:
    return np.empty(count), np.empty((count, 3))


def _by_kind(asked: Asked) -> list[tuple[Any, NDArray[np.intp]]]:
    """Share the pairs out among those who answer."""
    has_hull = (kinds_of(asked.a, asked.first) == ShapeKind.HULL) | (kinds_of(asked.b, asked.second) == ShapeKind.HULL)
    shares: list[tuple[Any, NDArray[np.intp]]] = []
    if len(with_hull := np.flatnonzero(has_hull)):
        shares.append((_coal(), with_hull))
    if len(meshes_only := np.flatnonzero(~has_hull)):
        shares.append((mesh_pairs, meshes_only))
    return shares


def _coal() -> Any:
    # Here and not above: importing coal takes a while, and not everybody has it.
    from broadphase.contacts import with_coal

    return with_coal
