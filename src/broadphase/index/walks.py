"""What the queries of an index look for, as walks of the core; each is given what its leaves test.

The core tests the boxes of rows. Where spheres decide, it finds rows by their boxes, which hold the spheres, and the
spheres of these are tested here; a row without a sphere needs no test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from broadphase import _native
from broadphase.index.regions import regions_of_boxes, rotation_matrices
from broadphase.index.results import query_rows_of
from broadphase.index.spheres import (
    ball_meets_box,
    ball_meets_region,
    ball_meets_turned_box,
    entry_of_box,
    entry_of_ray,
    lengths_of,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase.index.regions import Regions
    from broadphase.index.store import BoxStore

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]
    Flags = NDArray[np.bool_]
    #: Rows, and the offsets of those of each query.
    Found: TypeAlias = tuple[Rows, NDArray[np.int64]]

__all__ = [
    "Walk", "keep", "of_balls", "of_boxes", "of_every_ray", "of_first_ray", "of_motions", "of_nearest", "of_points",
    "of_regions", "of_some_ray", "of_turned_boxes", "search_spheres",
]  # fmt: skip

_FARTHER = 1 + 2.0**-40  # than a distance that is rounded


@dataclass(slots=True)  # not frozen: making one would take twice as long
class Walk:
    """Queries of one kind, with checked and contiguous arguments.

    ``search(core, lower, upper, *given, filter, workers)`` answers them by an arrangement of boxes, as a tuple: the
    fields of the result.
    """

    kind: Literal["boxes", "balls", "regions", "nearest", "sweep"]
    search: Callable[..., Any]
    given: tuple[Any, ...]
    query_count: int
    # Of the first three kinds: whether balls, by centers and radii, are what the queries look for, by their numbers.
    meet: Callable[[Floats, Floats, Rows], Flags] | None = None


def of_boxes(lower: NDArray[Any], upper: NDArray[Any]) -> Walk:
    """Look for rows that overlap each valid box, (q, d) float32 or float64, possibly infinite."""

    def meet(center: Floats, radius: Floats, of: Rows) -> Flags:
        return ball_meets_box(center, radius, lower.astype(np.float64)[of], upper.astype(np.float64)[of])

    return Walk("boxes", _native.query_boxes, (lower, upper), len(lower), meet)


def of_points(points: NDArray[Any]) -> Walk:
    """Look for rows that contain each point, (q, d) float32 or float64; no NaN."""
    return of_boxes(points, points)


def of_balls(centers: Floats, radii: Floats) -> Walk:
    """Look for rows within each finite radius, (q,), of a finite point, (q, d)."""

    def meet(center: Floats, radius: Floats, of: Rows) -> Flags:
        return ball_meets_box(center, radius, centers[of], centers[of], radii[of])

    return Walk("balls", _native.query_balls, (centers, radii), len(centers), meet)


def of_turned_boxes(centers: Floats, half_sizes: Floats, rotations: ArrayLike) -> Walk:
    """Look for rows that overlap each oriented box; centers and half sizes are (q, d), rotations unchecked."""

    def meet(center: Floats, radius: Floats, of: Rows) -> Flags:
        axes = rotation_matrices(rotations, *centers.shape)[of]
        return ball_meets_turned_box(center, radius, centers[of], half_sizes[of], axes)

    regions = regions_of_boxes(centers, half_sizes, rotations)
    return Walk("regions", _native.query_convex, regions.slabs, len(centers), meet)


def of_regions(regions: Regions) -> Walk:
    """Look for rows that overlap each convex region, of any dimension."""

    def meet(center: Floats, radius: Floats, of: Rows) -> Flags:
        ends = np.searchsorted(of, np.arange(len(regions.planes) + 1))
        parts = [slice(*some) for some in pairwise(ends.tolist())]
        each = zip(parts, regions.planes, strict=True)
        return np.concatenate([ball_meets_region(center[some], radius[some], planes) for some, planes in each])

    return Walk("regions", _native.query_convex, regions.slabs, len(regions.around_lower), meet)


def of_nearest(points: Floats, k: int, limits: Floats) -> Walk:
    """Look for up to k rows nearest to each finite point, (q, d), none beyond its limit, (q,)."""
    return Walk("nearest", _nearest, (points, k, limits), len(points))


def of_first_ray(origins: Floats, directions: Floats, limits: Floats) -> Walk:
    """Look for the first row on each ray; all of shape (q, d), limits (q,)."""
    return _of_rays(_native.sweep_first, origins, directions, limits)


def of_every_ray(origins: Floats, directions: Floats, limits: Floats) -> Walk:
    """Look for all rows on each ray."""
    return _of_rays(_native.sweep_all, origins, directions, limits)


def of_some_ray(origins: Floats, directions: Floats, limits: Floats) -> Walk:
    """Find out whether each ray hits a row."""
    return _of_rays(_sweep_any, origins, directions, limits)


def _of_rays(search: Callable[..., Any], origins: Floats, directions: Floats, limits: Floats) -> Walk:
    return Walk("sweep", search, (origins, origins, directions, limits, True), len(origins))


def of_motions(lower: Floats, upper: Floats, motions: Floats) -> Walk:
    """Look for the first row that each moving box touches, finite, (q, d)."""
    return Walk("sweep", _native.sweep_first, (lower, upper, motions, np.ones(len(lower)), False), len(lower))


def _nearest(core: Any, lower: Any, upper: Any, points: Floats, k: int, *rest: Any) -> tuple[Any, Any]:
    columns = max(1, min(k, len(lower)))  # there are no more rows
    found: Any = _native.nearest(core, lower, upper, points, columns, *rest)
    rows, distances = found
    return rows.reshape(len(points), columns), distances.reshape(len(points), columns)


def _sweep_any(*given: Any) -> tuple[Flags]:
    found: Any = _native.sweep_any(*given)
    return (found.view(np.bool_),)


# Spheres -------------------------------------------------------------------------------------------------------------


def search_spheres(walk: Walk, store: BoxStore, search: Callable[[Walk], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Answer a walk by the spheres of a store, where `search` answers walks by the boxes."""
    if walk.meet is None:
        return (_nearest_spheres if walk.kind == "nearest" else _first_spheres)(walk, store, search)
    rows, offsets = search(walk)
    some, center, radius = _balls_of(rows, store)
    is_kept = np.ones(len(rows), np.bool_)
    if len(some):
        is_kept[some] = walk.meet(center, radius, query_rows_of(offsets)[some])
    return keep(rows, offsets, is_kept)


def _balls_of(rows: Rows, store: BoxStore) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Return which rows have spheres, and the centers and radii of these."""
    column = cast("Floats", store.spheres)[rows]
    some = np.flatnonzero(np.isfinite(column[:, -1]))
    return some, column[some, :-1], column[some, -1]


def _away(rows: Rows, points: Floats, store: BoxStore) -> Floats:
    """Return the distance of each point to the sphere of a row, 0 within; 0 for rows without a sphere. Rounded."""
    some, center, radius = _balls_of(rows, store)
    found = np.zeros(len(rows))
    found[some] = np.maximum(lengths_of(points[some] - center) - radius, 0.0)
    return found


def keep(rows: Rows, offsets: NDArray[np.int64], is_kept: Flags) -> Found:
    """Keep some of the rows that queries found."""
    counts = np.bincount(query_rows_of(offsets)[is_kept], minlength=len(offsets) - 1)
    return rows[is_kept], np.concatenate([[0], np.cumsum(counts)])


def _nearest_spheres(walk: Walk, store: BoxStore, search: Callable[[Walk], Any]) -> tuple[Any, ...]:
    points, k, limits = walk.given
    wanted = max(1, min(k, store.living))
    nearest, distances = search(walk)
    queries, places = (part.astype(np.int32) for part in np.nonzero(nearest >= 0))
    found = nearest[queries, places]
    away = np.maximum(distances[queries, places], _away(found, points[queries], store))
    # Other boxes may be nearer than the last of these spheres, and so may be their spheres.
    last = np.zeros(len(points))
    np.maximum.at(last, queries, away)
    reach = np.where(nearest[:, -1] >= 0, np.minimum(last, limits), 0.0)
    reach = np.minimum(np.nextafter(reach * _FARTHER, np.inf), np.finfo(np.float64).max)
    more, offsets = search(of_balls(points, reach))
    asking = query_rows_of(offsets)
    corners = store.corners[more].astype(np.float64)
    gaps = np.maximum(np.maximum(corners[:, 0] - points[asking], points[asking] - corners[:, 1]), 0.0)
    both = np.concatenate([away, np.maximum(lengths_of(gaps), _away(more, points[asking], store))])
    asked, rows = np.concatenate([queries, asking]), np.concatenate([found, more])
    least: Any = _native.least_of_each(rows, asked, both, limits, wanted)
    return tuple(least)


def _first_spheres(walk: Walk, store: BoxStore, search: Callable[[Walk], Any]) -> tuple[Any, ...]:
    lower, upper, motions, limits, is_ray = walk.given
    # Distances to boxes are rounded. Search a little farther, so that no sphere at the end is missed.
    with np.errstate(over="ignore"):
        reach = np.nextafter(limits * _FARTHER, np.inf)
    every = replace(walk, search=_native.sweep_all, given=(lower, upper, motions, reach, is_ray))
    rows, offsets, distances = search(every)
    of = query_rows_of(offsets)
    entries = np.where(distances <= limits[of], distances, np.inf)
    some, *ball = _balls_of(rows, store)
    begin, along = lower[of[some]], motions[of[some]]
    if is_ray:
        entries[some] = entry_of_ray(begin, along, limits[of[some]], *ball)
    else:
        entries[some] = entry_of_box(begin, upper[of[some]], along, *ball)
    order = np.lexsort((rows, entries, of))
    order = order[np.isfinite(entries[order])]
    rows, entries = rows[order], entries[order]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(of[order], minlength=walk.query_count))])
    if walk.search is _native.sweep_all:
        return rows, offsets, entries
    is_hit, first = np.diff(offsets) > 0, offsets[:-1]
    if walk.search is _sweep_any:
        return (is_hit,)
    hits, at = np.full(walk.query_count, -1, np.int32), np.full(walk.query_count, np.inf)
    hits[is_hit], at[is_hit] = rows[first[is_hit]], entries[first[is_hit]]
    return hits, at
