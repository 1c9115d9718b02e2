"""The narrow phase over arrays of pairs of rows.

The core answers first from the records of shapes alone. It leaves pairs with a convex hull or a mesh, whose records
have only the pose and a box, and answers those from what it keeps of each hull and mesh. A mesh is the union of its
triangles: a pair overlaps if one of them does, and distance, depth and contact are those of the nearest or deepest
triangle; but where convex bodies meet, meshes or not, depth and contact are those of the bodies. Of custom shapes, the
test of their class says whether they overlap, and nothing else is known.

Rows are int32, (m,), and must exist: nothing is checked here. `offsets`, (m, d) or None, move the second shape of each
pair, as the images of bodies across a periodic boundary are moved.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.narrow import custom
from broadphase.narrow.results import Contacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.shapes import Shapes

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]

__all__ = [
    "MOST_TURNS", "contacts_of", "distance_of_two", "distances", "do_overlap", "impacts", "overlap_mask",
    "overlapping_faces", "ray_crossings", "ray_hits", "separations", "turning_impacts",
]  # fmt: skip

MOST_TURNS = 10_000  # during a motion: `kMostFullTurns` of the core

_ANY_NUMBER = np.iinfo(np.int64).max
_PORTION = 1 << 17  # pairs: some 50 ms for the slowest shapes
_FIRST = np.zeros(1, np.int32)
_FIRST.flags.writeable = False
_UNKNOWN = 2  # the answer of the core for a pair that it leaves, if its boxes overlap


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
        mask[some] = _overlap_mask_of_geometries(a, b, first[some], second[some], _of(offsets, some))
    return mask


def do_overlap(a: Shapes, b: Shapes) -> bool:
    """Find whether the only shape of each overlaps the other."""
    found: Any = _native.overlap_of_two(a.store, a.boxes, b.store, b.boxes)
    if found is None:
        found = _native.geometry_overlap_of_two(a.store, a.geometries.in_core, b.store, b.geometries.in_core)
    if found is None:
        found = custom.overlap_mask(a, b, _FIRST, _FIRST)[0]
    return bool(found)


def distance_of_two(a: Shapes, b: Shapes, max_distance: float) -> float:
    """Compute the signed distance of the only shapes of two sets: infinite beyond `max_distance`."""
    known = a.store, a.geometries.in_core, b.store, b.geometries.in_core
    found: Any = _native.distance_of_two(*known, max_distance)
    if found is None:
        found = distances(a, b, _FIRST, _FIRST, max_distance=max_distance)[0]
    return float(found)


def overlapping_faces(a: Shapes, b: Shapes, first: Rows, second: Rows, most: int | None) -> Rows:
    """Find which faces of pairs overlap, at most `most` of each: places and faces (m, 3), -1 for no mesh; sorted."""
    limit = _ANY_NUMBER if most is None else min(most, _ANY_NUMBER)
    ask = _native.geometry_faces
    found: Rows = _of_geometries(ask, "faces that overlap", a, b, first, second, limit)
    return found[np.lexsort((found[:, 2], found[:, 1], found[:, 0]))]


def distances(
    a: Shapes,
    b: Shapes,
    first: Rows,
    second: Rows,
    offsets: Floats | None = None,
    max_distance: float = np.inf,
    workers: int = 1,
) -> Floats:
    """Compute the signed distance of each pair: below 0, minus the depth; infinite beyond `max_distance`."""
    gaps = separations(a, b, first, second, offsets, max_distance, workers)[0]
    if max_distance < np.inf:
        gaps[gaps > max_distance] = np.inf
    return gaps


def separations(
    a: Shapes,
    b: Shapes,
    first: Rows,
    second: Rows,
    offsets: Floats | None = None,
    max_distance: float = np.inf,
    workers: int = 1,
) -> tuple[Floats, Floats]:
    """Compute the signed distance of each pair, and the direction, a unit vector, from the first to the second.

    Distances of hulls and meshes beyond `max_distance` may be infinite; then there is no direction.
    """
    gaps, normals = _in_portions(partial(_native.shape_distances, a.store, b.store), first, second, offsets)
    normals += 0.0  # makes 0.0 of -0.0
    if _may_be_unknown(a, b) and (unknown := np.isnan(gaps)).any():
        some: Any = slice(None) if unknown.all() else np.flatnonzero(unknown)
        asked = a, b, first[some], second[some], _of(offsets, some), max_distance, workers
        gaps[some], normals[some] = _of_geometries(_native.geometry_distances, "distance", *asked)
    return gaps, normals


def contacts_of(a: Shapes, b: Shapes, first: Rows, second: Rows, offsets: Floats | None = None) -> Contacts:
    """Find the contacts of each pair, whose shapes overlap, in the order given."""
    ask = partial(_native.shape_contacts, a.store, b.store)
    normals, depths, counts, points = _in_portions(ask, first, second, offsets)
    normals += 0.0  # makes 0.0 of -0.0
    if _may_be_unknown(a, b) and len(some := np.flatnonzero(counts < 0)):
        asked = a, b, first[some], second[some], _of(offsets, some)
        found = _of_geometries(_native.geometry_contacts, "contact", *asked)
        normals[some], depths[some], counts[some], points[some] = found
    return Contacts(np.stack([first, second], axis=1), normals, depths, points, counts)


def ray_hits(
    shapes: Shapes, rows: Rows, origins: Floats, directions: Floats, workers: int = 1
) -> tuple[Floats, Floats]:
    """Find where each ray enters its shape, and the unit vector out of the surface there.

    Times are the least t from 0 on at which ``origin + t * direction`` is in the shape; infinite if there is none.
    """
    times, normals = _in_portions(partial(_native.shape_rays, shapes.store), rows, origins, directions)
    if _may_be_unknown(shapes, shapes) and (unknown := np.isnan(times)).any():
        some: Any = slice(None) if unknown.all() else np.flatnonzero(unknown)
        custom.refuse(shapes, rows[some], "raycast")
        known = shapes.store, shapes.geometries.prepared
        times[some], normals[some] = _native.geometry_rays(  # type: ignore[misc]
            *known, rows[some], origins[some], directions[some], workers
        )
    normals += 0.0  # makes 0.0 of -0.0
    return times, normals


def ray_crossings(
    shapes: Shapes, rows: Rows, origins: Floats, directions: Floats, given: Floats, limits: Floats, workers: int
) -> tuple[NDArray[np.int64], Floats, Floats, Rows]:
    """Find where each ray crosses the surface of its shape: offsets (q + 1,); times, normals and faces of all rays.

    `given` are the directions of length 1 before they were scaled so, but for powers of two: largest numbers near 1.
    """
    custom.refuse(shapes, rows, "raycast")
    known = shapes.store, shapes.geometries.prepared
    found: Any = _native.ray_crossings(*known, rows, origins, directions, given, limits, workers)
    offsets, times, normals, faces = found
    normals += 0.0  # makes 0.0 of -0.0
    return offsets, times, normals, faces


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
        times[some], normals[some] = _of_geometries(_native.geometry_impacts, "time of impact", *asked)
    return times, normals


def turning_impacts(
    a: Shapes, b: Shapes, first: Rows, second: Rows, motions: Floats, targets: Floats
) -> tuple[Floats, Floats]:
    """Find when the shapes of each pair, which move and turn, are first at most a target apart, as `impacts`.

    A row of `motions` has the place of the first relative to the second and its motion, then the rotation of the first
    and by how much it turns, then those of the second.
    """
    ask = partial(_native.shape_turning_impacts, a.store, b.store)
    times, normals = _in_portions(ask, first, second, motions, targets)
    normals += 0.0  # makes 0.0 of -0.0
    if _may_be_unknown(a, b) and len(some := np.flatnonzero(np.isnan(times))):
        asked = a, b, first[some], second[some], motions[some], targets[some]
        times[some], normals[some] = _of_geometries(_native.geometry_turning_impacts, "time of impact", *asked)
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


def _of(offsets: Floats | None, some: NDArray[Any] | slice) -> Floats | None:
    return None if offsets is None else offsets[some]


def _overlap_mask_of_geometries(a: Shapes, b: Shapes, first: Rows, second: Rows, offsets: Floats | None) -> Any:
    of_custom = custom.are_custom(a, first) | custom.are_custom(b, second)
    if not of_custom.any():
        return _native.geometry_overlaps(*_both(a, b), first, second, offsets)
    mask = np.empty(len(first), np.bool_)
    for some, test in ((of_custom, custom.overlap_mask), (~of_custom, _overlap_mask_of_geometries)):
        if some.any():
            mask[some] = test(a, b, first[some], second[some], _of(offsets, some))
    return mask


def _of_geometries(
    ask: Callable[..., Any], what: str, a: Shapes, b: Shapes, first: Rows, second: Rows, *more: Any
) -> Any:
    """Ask the core about pairs with a hull or a mesh; custom shapes are refused."""
    custom.refuse(a, first, what)
    custom.refuse(b, second, what)
    return ask(*_both(a, b), first, second, *more)


def _both(a: Shapes, b: Shapes) -> tuple[Any, list[Any], Any, list[Any]]:
    """Return the stores, and what the core keeps of all geometries, by number."""
    return a.store, a.geometries.prepared, b.store, b.geometries.prepared
