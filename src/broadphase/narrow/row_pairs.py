"""The narrow phase over arrays of pairs of rows: by the core, and by `geometries` for what it leaves.

Rows are int32, (m,), and must exist: nothing is checked here. `offsets`, (m, d) or None, move the second shape of each
pair, as the images of bodies across a periodic boundary are moved.
"""

from __future__ import annotations

from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.narrow.results import Contacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.shapes import Shapes

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]

__all__ = ["contacts_of", "distances", "impacts", "overlap_mask", "overlapping_faces", "ray_hits", "separations"]

_ANY_NUMBER = np.iinfo(np.int64).max
_PORTION = 1 << 17  # pairs: some 50 ms for the slowest shapes
_UNKNOWN = (
    2  # the answer of the core for a pair that it leaves, with a hull, mesh or custom shape, if its boxes overlap
)


def overlap_mask(
    a: Shapes, b: Shapes, first: Rows, second: Rows, offsets: Floats | None = None, boxes_overlap: bool = False
) -> NDArray[np.bool_]:
    """Find which pairs of shapes overlap: their boxes, unless it is known that these do, and the shapes."""
    ask = partial(_native.shape_overlaps, a.store, b.store)
    if not boxes_overlap:
        ask = partial(ask, boxes_a=a.boxes, boxes_b=b.boxes)
    answers = _in_portions(ask, first, second, offsets)
    mask: NDArray[np.bool_] = answers == 1
    if _may_be_unknown(a, b) and len(some := np.flatnonzero(answers == _UNKNOWN)):
        mask[some] = _elsewhere().overlap_mask(a, b, first[some], second[some], _of(offsets, some))
    return mask


def overlapping_faces(a: Shapes, b: Shapes, first: Rows, second: Rows, most: int | None) -> Rows:
    """Find which faces of pairs overlap, at most `most` of each: places and faces (m, 3), -1 for no mesh; sorted."""
    limit = _ANY_NUMBER if most is None else min(most, _ANY_NUMBER)
    found: Rows = _elsewhere().overlapping_faces(a, b, first, second, limit)
    return found[np.lexsort((found[:, 2], found[:, 1], found[:, 0]))]


def distances(
    a: Shapes,
    b: Shapes,
    first: Rows,
    second: Rows,
    offsets: Floats | None = None,
    within: float = np.inf,
    workers: int = 1,
) -> Floats:
    """Compute the signed distance of each pair: below 0, minus the penetration depth; infinite beyond `within`."""
    gaps = separations(a, b, first, second, offsets, within, workers)[0]
    if within < np.inf:
        gaps[gaps > within] = np.inf
    return gaps


def separations(
    a: Shapes,
    b: Shapes,
    first: Rows,
    second: Rows,
    offsets: Floats | None = None,
    within: float = np.inf,
    workers: int = 1,
) -> tuple[Floats, Floats]:
    """Compute the signed distance of each pair, and the direction, a unit vector, from the first to the second.

    Distances of hulls and meshes beyond `within` may be infinite; then there is no direction.
    """
    gaps, normals = _in_portions(partial(_native.shape_distances, a.store, b.store), first, second, offsets)
    normals += 0.0  # makes 0.0 of -0.0
    if _may_be_unknown(a, b) and len(some := np.flatnonzero(np.isnan(gaps))):
        gaps[some], normals[some] = _elsewhere().distances(
            a, b, first[some], second[some], _of(offsets, some), within, workers
        )
    return gaps, normals


def contacts_of(a: Shapes, b: Shapes, first: Rows, second: Rows, offsets: Floats | None = None) -> Contacts:
    """Find the contacts of each pair, whose shapes overlap, in the order given."""
    ask = partial(_native.shape_contacts, a.store, b.store)
    normals, depths, counts, points = _in_portions(ask, first, second, offsets)
    normals += 0.0  # makes 0.0 of -0.0
    if _may_be_unknown(a, b) and len(some := np.flatnonzero(counts < 0)):
        found = _elsewhere().contacts_of(a, b, first[some], second[some], _of(offsets, some))
        normals[some], depths[some], counts[some], points[some] = found
    return Contacts(np.stack([first, second], axis=1), normals, depths, points, counts)


def ray_hits(shapes: Shapes, rows: Rows, origins: Floats, directions: Floats) -> tuple[Floats, Floats]:
    """Find where each ray enters its shape, and the unit vector out of the surface there.

    Times are the least t from 0 on at which ``origin + t * direction`` is in the shape; infinite if there is none.
    """
    times, normals = _in_portions(partial(_native.shape_rays, shapes.store), rows, origins, directions)
    normals += 0.0  # makes 0.0 of -0.0
    if _may_be_unknown(shapes, shapes) and len(some := np.flatnonzero(np.isnan(times))):
        times[some], normals[some] = _elsewhere().ray_hits(shapes, rows[some], origins[some], directions[some])
    return times, normals


def impacts(
    a: Shapes, b: Shapes, first: Rows, second: Rows, motions: Floats, offsets: Floats | None = None
) -> tuple[Floats, Floats]:
    """Find when the shapes of each pair first touch, while the first moves by `motions` relative to the second.

    Times are shares of the motion, infinite if they do not touch; normals point from the first to the second then.
    """
    ask = partial(_native.shape_impacts, a.store, b.store)
    times, normals = _in_portions(ask, first, second, motions, offsets)
    normals += 0.0  # makes 0.0 of -0.0
    if _may_be_unknown(a, b) and len(some := np.flatnonzero(np.isnan(times))):
        asked = a, b, first[some], second[some], motions[some], _of(offsets, some)
        times[some], normals[some] = _elsewhere().impacts(*asked)
    return times, normals


def _in_portions(ask: Callable[..., Any], *columns: Any) -> Any:
    """Call the core for a limited number of pairs at a time, so that Ctrl-C works between calls."""
    count = len(columns[0])
    if count <= _PORTION:
        return ask(*columns)
    found = [
        ask(*(None if column is None else column[begin : begin + _PORTION] for column in columns))
        for begin in range(0, count, _PORTION)
    ]
    return tuple(map(np.concatenate, zip(*found, strict=True))) if type(found[0]) is tuple else np.concatenate(found)


def _may_be_unknown(a: Shapes, b: Shapes) -> bool:
    return bool(a.geometries or b.geometries)


def _of(offsets: Floats | None, some: NDArray[np.intp]) -> Floats | None:
    return None if offsets is None else offsets[some]


@cache
def _elsewhere() -> Any:
    """Import the narrow phase of what the core leaves on first use: few programs need it."""
    return import_module("broadphase.narrow.geometries")
