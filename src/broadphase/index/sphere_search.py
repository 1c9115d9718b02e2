"""Queries that spheres decide, in an index of any method, with keys or without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.index import derived
from broadphase.index.regions import rotation_matrices
from broadphase.index.results import Nearest, QueryResult, RayHits, RayHitsAll, ShapecastHits
from broadphase.index.spheres import lengths_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from broadphase.filters import QueryFilter
    from broadphase.index.batched import Keyed
    from broadphase.index.derived import General
    from broadphase.index.regions import Regions
    from broadphase.index.spheres import Spheres

    Floats = NDArray[np.float64]

__all__ = ["SphereSearch", "kept"]

_FARTHER = 1 + 2.0**-40  # than a distance that is rounded


class SphereSearch:
    """An index as queries with ``by="sphere"`` see it: an `Answers` of `broadphase.index.queries`.

    `searched` is the index, or what answers its queries with keys: it finds rows by their boxes, which contain the
    spheres. The spheres of these rows are then tested; a row without a sphere needs no test.
    """

    __slots__ = ("_index", "_searched")

    _few = None

    _find_points = derived.find_points

    def __init__(self, index: Keyed, searched: General) -> None:
        self._index, self._searched = index, searched

    def _tested(self, find: Callable[[], QueryResult], test: Callable[[Spheres, QueryResult], Any]) -> QueryResult:
        """Keep those rows of a query whose spheres pass a test."""
        with self._index._guard.reading:
            found, balls = find(), self._index._store.balls
            return found if balls is None else kept(found, test(balls, found))

    def _find_boxes(self, lower: NDArray[Any], upper: NDArray[Any], workers: int, allowed: QueryFilter) -> QueryResult:
        def meet(balls: Spheres, found: QueryResult) -> NDArray[np.bool_]:
            of = found.query_rows
            return balls.meet(found.rows, lower.astype(np.float64)[of], upper.astype(np.float64)[of])

        return self._tested(lambda: self._searched._find_boxes(lower, upper, workers, allowed), meet)

    def _find_balls(self, centers: Floats, radii: Floats, workers: int, allowed: QueryFilter) -> QueryResult:
        def meet(balls: Spheres, found: QueryResult) -> NDArray[np.bool_]:
            of = found.query_rows
            return balls.meet(found.rows, centers[of], centers[of], radii[of])

        return self._tested(lambda: self._searched._find_balls(centers, radii, workers, allowed), meet)

    def _find_obbs(
        self, centers: Floats, half_sizes: Floats, rotations: ArrayLike, workers: int, allowed: QueryFilter
    ) -> QueryResult:
        def meet(balls: Spheres, found: QueryResult) -> NDArray[np.bool_]:
            of = found.query_rows
            axes = rotation_matrices(rotations, *centers.shape)[of]
            return balls.meet_turned(found.rows, centers[of], half_sizes[of], axes)

        return self._tested(lambda: self._searched._find_obbs(centers, half_sizes, rotations, workers, allowed), meet)

    def _find_regions(self, regions: Regions, workers: int, allowed: QueryFilter) -> QueryResult:
        def meet(balls: Spheres, found: QueryResult) -> NDArray[np.bool_]:
            parts = [balls.inside(found[number], planes) for number, planes in enumerate(regions.planes)]
            return np.concatenate([np.empty(0, np.bool_), *parts])

        return self._tested(lambda: self._searched._find_regions(regions, workers, allowed), meet)

    def _find_nearest(self, points: Floats, k: int, limits: Floats, workers: int, allowed: QueryFilter) -> Nearest:
        index, searched = self._index, self._searched
        with index._guard.reading:
            balls = index._store.balls
            wanted = max(1, min(k, len(index)))
            boxes = searched._find_nearest(points, wanted, limits, workers, allowed)
            if balls is None:
                return boxes
            queries, places = np.nonzero(boxes.rows >= 0)
            found = boxes.rows[queries, places]
            away = np.maximum(boxes.distances[queries, places], balls.away(found, points[queries]))
            # Other boxes may be nearer than the last of these spheres, and so may be their spheres.
            last = np.zeros(len(points))
            np.maximum.at(last, queries, away)
            reach = np.where(boxes.rows[:, -1] >= 0, np.minimum(last, limits), 0.0)
            reach = np.minimum(np.nextafter(reach * _FARTHER, np.inf), np.finfo(np.float64).max)
            within = searched._find_balls(points, reach, workers, allowed)
            more, asking = within.rows, within.query_rows
            corners = index._store.corners[more].astype(np.float64)
            gaps = np.maximum(np.maximum(corners[:, 0] - points[asking], points[asking] - corners[:, 1]), 0.0)
            both = np.concatenate([away, np.maximum(lengths_of(gaps), balls.away(more, points[asking]))])
            least: Any = _native.least_of_each(
                np.concatenate([found, more]), np.concatenate([queries, asking]).astype(np.int32), both, limits, wanted
            )
        return Nearest(*least)

    def _find_first_hits(
        self, origins: Floats, directions: Floats, limits: Floats, workers: int, allowed: QueryFilter
    ) -> RayHits:
        found = self._find_all_hits(origins, directions, limits, workers, allowed)
        is_hit, first = np.diff(found.offsets) > 0, found.offsets[:-1]
        rows, distances = np.full(len(is_hit), -1, np.int32), np.full(len(is_hit), np.inf)
        rows[is_hit], distances[is_hit] = found.rows[first[is_hit]], found.distances[first[is_hit]]
        return RayHits(rows, distances)

    def _find_all_hits(
        self, origins: Floats, directions: Floats, limits: Floats, workers: int, allowed: QueryFilter
    ) -> RayHitsAll:
        with self._index._guard.reading:
            balls = self._index._store.balls
            if balls is None:
                return self._searched._find_all_hits(origins, directions, limits, workers, allowed)
            # Distances to boxes are rounded. Search a little farther, so that no sphere at the end of a ray is missed.
            with np.errstate(over="ignore"):
                reach = np.nextafter(limits * _FARTHER, np.inf)
            found = self._searched._find_all_hits(origins, directions, reach, workers, allowed)
            of = found.query_rows
            to_boxes = np.where(found.distances <= limits[of], found.distances, np.inf)
            entries = balls.enter(found.rows, origins[of], directions[of], limits[of], to_boxes)
        order = np.lexsort((found.rows, entries, of))
        order = order[np.isfinite(entries[order])]
        counts = np.bincount(of[order], minlength=len(found.offsets) - 1)
        return RayHitsAll(found.rows[order], np.concatenate([[0], np.cumsum(counts)]), entries[order])

    def _find_any_hits(self, *rays: Any) -> NDArray[np.bool_]:
        return np.diff(self._find_all_hits(*rays).offsets) > 0

    def _find_first_touches(
        self, lower: Floats, upper: Floats, motions: Floats, workers: int, allowed: QueryFilter
    ) -> ShapecastHits:
        # Times of boxes are rounded. Search a little later, so that no sphere at the end of a motion is missed.
        moving = lower, upper, motions, np.full(len(lower), _FARTHER)
        with self._index._guard.reading:
            balls = self._index._store.balls
            if balls is None:
                return self._searched._find_first_touches(lower, upper, motions, workers, allowed)
            hits = RayHitsAll(*self._searched._sweep(_native.sweep_all, moving, False, workers, allowed))
            of, times = hits.query_rows, np.where(hits.distances <= 1, hits.distances, np.inf)
            times = balls.touched(hits.rows, lower[of], upper[of], motions[of], times)
        least: Any = _native.least_of_each(hits.rows, of.astype(np.int32), times, np.ones(len(lower)), 1)
        return ShapecastHits(least[0][:, 0], least[1][:, 0])


def kept(found: QueryResult, is_kept: NDArray[np.bool_]) -> QueryResult:
    """Keep some of the rows that queries found."""
    counts = np.bincount(found.query_rows[is_kept], minlength=len(found))
    return QueryResult(found.rows[is_kept], np.concatenate([[0], np.cumsum(counts)]))
