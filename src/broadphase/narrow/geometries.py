"""The narrow phase of pairs that the core leaves: with a convex hull or a mesh, or of a type of the user's own.

A mesh is the union of its triangles: a pair overlaps if one of them does, and distance, depth and contact are those of
the nearest or deepest triangle. The core answers, with what it keeps of each hull and mesh, whose records have only the
pose and a box. The functions are those of `row_pairs`, for such pairs only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.narrow import custom

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.shapes import Shapes

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]

__all__ = ["contacts_of", "distances", "impacts", "overlap_mask", "overlapping_faces", "ray_hits"]


def overlap_mask(a: Shapes, b: Shapes, first: Rows, second: Rows, offsets: Floats | None = None) -> NDArray[np.bool_]:
    """Find which pairs of shapes overlap, as `row_pairs.overlap_mask` does."""
    of_custom = custom.are_custom(a, first) | custom.are_custom(b, second)
    if of_custom.any():
        mask = np.empty(len(first), np.bool_)
        for some, test in ((of_custom, custom.overlap_mask), (~of_custom, overlap_mask)):
            if some.any():
                mask[some] = test(a, b, first[some], second[some], None if offsets is None else offsets[some])
        return mask
    found: Any = _native.geometry_overlaps(*_both(a, b), first, second, offsets)
    answers: NDArray[np.bool_] = found.view(np.bool_)
    return answers


def overlapping_faces(a: Shapes, b: Shapes, first: Rows, second: Rows, most: int) -> Rows:
    """Find which faces of the shapes of each pair overlap: places of pairs and faces, not sorted."""
    _require_known(a, b, first, second, "faces that overlap")
    found: Any = _native.geometry_faces(*_both(a, b), first, second, most)
    faces: Rows = found
    return faces


def distances(
    a: Shapes,
    b: Shapes,
    first: Rows,
    second: Rows,
    offsets: Floats | None = None,
    within: float = np.inf,
    workers: int = 1,
) -> tuple[Floats, Floats]:
    """Find how far apart the shapes of each pair are, and in which direction, as `row_pairs.separations` does."""
    _require_known(a, b, first, second, "distance")
    found: Any = _native.geometry_distances(*_both(a, b), first, second, offsets, within, workers)
    gaps, normals = found
    return gaps, normals


def contacts_of(
    a: Shapes, b: Shapes, first: Rows, second: Rows, offsets: Floats | None = None
) -> tuple[Floats, Floats, NDArray[np.int8], Floats]:
    """Find where the shapes of each pair touch: normals, depths, counts and points, as the core does."""
    _require_known(a, b, first, second, "contact")
    found: Any = _native.geometry_contacts(*_both(a, b), first, second, offsets)
    normals, depths, counts, points = found
    return normals, depths, counts, points


def impacts(
    a: Shapes, b: Shapes, first: Rows, second: Rows, motions: Floats, offsets: Floats | None = None
) -> tuple[Floats, Floats]:
    """Find when the shapes of each pair first touch, as `row_pairs.impacts` does."""
    _require_known(a, b, first, second, "time of impact")
    found: Any = _native.geometry_impacts(*_both(a, b), first, second, motions, offsets)
    times, normals = found
    return times, normals


def ray_hits(shapes: Shapes, rows: Rows, origins: Floats, directions: Floats) -> tuple[Floats, Floats]:
    """Find where each ray enters a shape, as `row_pairs.ray_hits` does."""
    custom.refuse(shapes, rows, "raycast")
    found: Any = _native.geometry_rays(*_known(shapes), rows, origins, directions)
    times, normals = found
    return times, normals


def _require_known(a: Shapes, b: Shapes, first: Rows, second: Rows, what: str) -> None:
    for shapes, rows in ((a, first), (b, second)):
        custom.refuse(shapes, rows, what)


def _both(a: Shapes, b: Shapes) -> tuple[Any, list[Any], Any, list[Any]]:
    known = _known(a)
    return *known, *(known if b is a else _known(b))


def _known(shapes: Shapes) -> tuple[Any, list[Any]]:
    """Return the store, and what the core keeps of all geometries, by number."""
    return shapes.store, shapes.geometries.prepared
