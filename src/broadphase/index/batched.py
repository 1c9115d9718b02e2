"""Queries with keys: each looks only at the boxes of its key."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from broadphase import _native
from broadphase.filters import QueryFilter, as_attribute
from broadphase.index import derived
from broadphase.index.results import Nearest, QueryResult
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.index.regions import Regions
    from broadphase.index.store import BoxStore

    Floats = NDArray[np.float64]

__all__ = ["BatchedSearch", "Keyed"]


class Keyed(Protocol):
    """What queries with keys, and by spheres, need of an index; see `BoxIndex`."""

    _guard: _native.Guard
    _seconds: dict[str, float | None]
    _store: BoxStore

    def __len__(self) -> int:
        """Return the number of boxes."""

    def _require(self, capability: str) -> None:
        """Raise if the index does not support such a query."""

    def _native_filter(self, count: int, allowed: QueryFilter) -> _native.QueryFilter | None:
        """Return a filter, if there is anything to filter by."""

    def _trees(self, workers: int) -> _native.Forest:
        """Return a tree for each key. Only inside a query."""


class BatchedSearch:
    """An index as queries with ``batch=`` see it: an `Answers` of `broadphase.index.queries`.

    Each query walks the tree of its key, whatever the method of the index. The first such query builds the trees; the
    first after a change updates them. `batch`, (q,) or one key, is not checked yet.
    """

    __slots__ = ("_batch", "_index")

    _few = None

    _find_points = derived.find_points
    _find_obbs = derived.find_obbs
    _find_first_hits = derived.find_first_hits
    _find_all_hits = derived.find_all_hits
    _find_any_hits = derived.find_any_hits
    _find_first_touches = derived.find_first_touches

    def __init__(self, index: Keyed, batch: Any) -> None:
        self._index, self._batch = index, batch

    def _ask(self, function: Callable[..., Any], capability: str, count: int, allowed: QueryFilter, *given: Any) -> Any:
        """Call a query of the core; the last of `given` is `workers`, before which the filter goes."""
        index = self._index
        index._require(capability)
        keys = as_attribute("batch", self._batch, count, np.int64)
        began = perf_counter()
        with index._guard.reading:
            query_filter = index._native_filter(count, allowed)
            core = _native.KeyedQueries(index._trees(given[-1]), keys)
            found = function(core, *index._store.views, *given[:-1], query_filter, given[-1])
        index._seconds["query"] = perf_counter() - began
        return found

    def _find_boxes(self, lower: NDArray[Any], upper: NDArray[Any], workers: int, allowed: QueryFilter) -> QueryResult:
        return QueryResult(*self._ask(_native.query_boxes, "query", len(lower), allowed, lower, upper, workers))

    def _find_balls(self, centers: Floats, radii: Floats, workers: int, allowed: QueryFilter) -> QueryResult:
        given = (centers, radii, workers)
        return QueryResult(*self._ask(_native.query_balls, "query_ball", len(centers), allowed, *given))

    def _find_regions(self, regions: Regions, workers: int, allowed: QueryFilter) -> QueryResult:
        count = len(regions.around_lower)
        return QueryResult(*self._ask(_native.query_convex, "convex", count, allowed, *regions.slabs, workers))

    def _find_nearest(self, points: Floats, k: int, limits: Floats, workers: int, allowed: QueryFilter) -> Nearest:
        if k > 1:
            k = max(1, min(k, len(self._index)))
        given = (points, k, limits, workers)
        rows, distances = self._ask(_native.nearest, "nearest", len(points), allowed, *given)
        return Nearest(rows.reshape(len(points), k), distances.reshape(len(points), k))

    def _sweep(
        self, sweep: Callable[..., Any], moving: tuple[Floats, ...], is_ray: bool, workers: int, allowed: QueryFilter
    ) -> Any:
        given = (*moving, is_ray, workers)
        return self._ask(sweep, "raycast" if is_ray else "shapecast", len(moving[0]), allowed, *given)

    # As of `BoxIndex`.
    def _near_boxes(self, lower: NDArray[Any], upper: NDArray[Any], workers: int) -> QueryResult:
        return self._find_boxes(lower, upper, worker_count(workers), QueryFilter())
