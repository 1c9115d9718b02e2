"""What the queries of an index look for, as walks of the core; each is given what its leaves test.

The core tests the boxes of rows. Where spheres decide, it finds rows by their boxes, which hold the spheres, and the
spheres of these are tested here; a row without a sphere needs no test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from broadphase import _native
from broadphase.index.regions import regions_of_boxes, rotation_matrices
from broadphase.index.spheres import Spheres, lengths_of

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


class Walk(NamedTuple):
    """Queries of one kind, with checked and contiguous arguments.

    ``search(core, lower, upper, *given, filter, workers)`` answers them by an arrangement of boxes, as a tuple: the
    fields of the result.
    """

    kind: Literal["boxes", "balls", "regions", "nearest", "sweep"]
    search: Callable[..., Any]
    given: tuple[Any, ...]
    query_count: int
    # Of the first three kinds: whether the sphere of each row is in the answer of the query that has found it.
    meet: Callable[[Spheres, Rows, Rows], Flags] | None = None


def of_boxes(lower: NDArray[Any], upper: NDArray[Any]) -> Walk:
    """Look for rows that overlap each valid box, (q, d) float32 or float64, possibly infinite."""

    def meet(balls: Spheres, rows: Rows, of: Rows) -> Flags:
        return balls.meet(rows, lower.astype(np.float64)[of], upper.astype(np.float64)[of])

    return Walk("boxes", _native.query_boxes, (lower, upper), len(lower), meet)


def of_points(points: NDArray[Any]) -> Walk:
    """Look for rows that contain each point, (q, d) float32 or float64; no NaN."""
    return of_boxes(points, points)


def of_balls(centers: Floats, radii: Floats) -> Walk:
    """Look for rows within each finite radius, (q,), of a finite point, (q, d)."""

    def meet(balls: Spheres, rows: Rows, of: Rows) -> Flags:
        return balls.meet(rows, centers[of], centers[of], radii[of])

    return Walk("balls", _native.query_balls, (centers, radii), len(centers), meet)


def of_turned_boxes(centers: Floats, half_sizes: Floats, rotations: ArrayLike) -> Walk:
    """Look for rows that overlap each oriented box; centers and half sizes are (q, d), rotations unchecked."""

    def meet(balls: Spheres, rows: Rows, of: Rows) -> Flags:
        axes = rotation_matrices(rotations, *centers.shape)[of]
        return balls.meet_turned(rows, centers[of], half_sizes[of], axes)

    return of_regions(regions_of_boxes(centers, half_sizes, rotations))._replace(meet=meet)


def of_regions(regions: Regions) -> Walk:
    """Look for rows that overlap each convex region, of any dimension."""

    def meet(balls: Spheres, rows: Rows, of: Rows) -> Flags:
        ends = np.searchsorted(of, np.arange(1, len(regions.planes)))
        parts = zip(np.split(rows, ends), regions.planes, strict=True) if len(regions.planes) else ()
        return np.concatenate([np.empty(0, np.bool_), *(balls.inside(some, planes) for some, planes in parts)])

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
    balls = cast("Spheres", store.balls)
    if walk.meet is not None:
        rows, offsets = search(walk)
        return keep(rows, offsets, walk.meet(balls, rows, _queries_of(offsets)))
    return (_nearest_spheres if walk.kind == "nearest" else _first_spheres)(walk, balls, store, search)


def keep(rows: Rows, offsets: NDArray[np.int64], is_kept: Flags) -> Found:
    """Keep some of the rows that queries found."""
    counts = np.bincount(_queries_of(offsets)[is_kept], minlength=len(offsets) - 1)
    return rows[is_kept], np.concatenate([[0], np.cumsum(counts)])


def _queries_of(offsets: NDArray[np.int64]) -> Rows:
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))


def _nearest_spheres(walk: Walk, balls: Spheres, store: BoxStore, search: Callable[[Walk], Any]) -> tuple[Any, ...]:
    points, k, limits = walk.given
    wanted = max(1, min(k, store.living))
    nearest, distances = search(walk)
    queries, places = (part.astype(np.int32) for part in np.nonzero(nearest >= 0))
    found = nearest[queries, places]
    away = np.maximum(distances[queries, places], balls.away(found, points[queries]))
    # Other boxes may be nearer than the last of these spheres, and so may be their spheres.
    last = np.zeros(len(points))
    np.maximum.at(last, queries, away)
    reach = np.where(nearest[:, -1] >= 0, np.minimum(last, limits), 0.0)
    reach = np.minimum(np.nextafter(reach * _FARTHER, np.inf), np.finfo(np.float64).max)
    more, offsets = search(of_balls(points, reach))
    asking = _queries_of(offsets)
    corners = store.corners[more].astype(np.float64)
    gaps = np.maximum(np.maximum(corners[:, 0] - points[asking], points[asking] - corners[:, 1]), 0.0)
    both = np.concatenate([away, np.maximum(lengths_of(gaps), balls.away(more, points[asking]))])
    asked, rows = np.concatenate([queries, asking]), np.concatenate([found, more])
    least: Any = _native.least_of_each(rows, asked, both, limits, wanted)
    return tuple(least)


def _first_spheres(walk: Walk, balls: Spheres, store: BoxStore, search: Callable[[Walk], Any]) -> tuple[Any, ...]:
    lower, upper, motions, limits, is_ray = walk.given
    # Distances to boxes are rounded. Search a little farther, so that no sphere at the end is missed.
    with np.errstate(over="ignore"):
        reach = np.nextafter(limits * _FARTHER, np.inf)
    every = walk._replace(search=_native.sweep_all, given=(lower, upper, motions, reach, is_ray))
    rows, offsets, distances = search(every)
    of = _queries_of(offsets)
    to_boxes = np.where(distances <= limits[of], distances, np.inf)
    if is_ray:
        entries = balls.enter(rows, lower[of], motions[of], limits[of], to_boxes)
    else:
        entries = balls.touched(rows, lower[of], upper[of], motions[of], to_boxes)
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
