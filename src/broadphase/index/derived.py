"""Queries that an index answers by its more general ones, with keys or without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from broadphase import _native
from broadphase.index.queries import Answers
from broadphase.index.regions import regions_of_boxes
from broadphase.index.results import QueryResult, RayHits, RayHitsAll, ShapecastHits

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from broadphase.filters import QueryFilter

    Floats = NDArray[np.float64]

__all__ = [
    "General", "IndexAnswers", "find_all_hits", "find_any_hits", "find_first_hits", "find_first_touches", "find_obbs",
    "find_points",
]  # fmt: skip


class IndexAnswers(Answers, Protocol):
    """What answers the queries of an index."""

    def _find_first_touches(
        self, lower: Floats, upper: Floats, motions: Floats, workers: int, allowed: QueryFilter
    ) -> ShapecastHits:
        """First row that each moving box touches, finite, (q, d)."""


class General(IndexAnswers, Protocol):
    """What these functions need: an index, or a view of one for queries with keys."""

    def _sweep(
        self, sweep: Callable[..., Any], moving: tuple[Floats, ...], is_ray: bool, workers: int, allowed: QueryFilter
    ) -> Any:
        """Call a sweep of the core for moving boxes: lower, upper, motions, limits; rays are boxes without extent."""


def find_points(self: General, points: NDArray[Any], workers: int, allowed: QueryFilter) -> QueryResult:
    """Find the rows that contain each point."""
    return self._find_boxes(points, points, workers, allowed)


def find_obbs(
    self: General, centers: Floats, half_sizes: Floats, rotations: ArrayLike, workers: int, allowed: QueryFilter
) -> QueryResult:
    """Find the rows that overlap each oriented box."""
    return self._find_regions(regions_of_boxes(centers, half_sizes, rotations), workers, allowed)


def find_first_hits(
    self: General, origins: Floats, directions: Floats, limits: Floats, workers: int, allowed: QueryFilter
) -> RayHits:
    """Find the first row on each ray."""
    found = self._sweep(_native.sweep_first, (origins, origins, directions, limits), True, workers, allowed)
    return RayHits(*found)


def find_all_hits(
    self: General, origins: Floats, directions: Floats, limits: Floats, workers: int, allowed: QueryFilter
) -> RayHitsAll:
    """Find all rows on each ray."""
    found = self._sweep(_native.sweep_all, (origins, origins, directions, limits), True, workers, allowed)
    return RayHitsAll(*found)


def find_any_hits(
    self: General, origins: Floats, directions: Floats, limits: Floats, workers: int, allowed: QueryFilter
) -> NDArray[np.bool_]:
    """Return which rays hit a row."""
    found = self._sweep(_native.sweep_any, (origins, origins, directions, limits), True, workers, allowed)
    hits: NDArray[np.bool_] = found.view(np.bool_)
    return hits


def find_first_touches(
    self: General, lower: Floats, upper: Floats, motions: Floats, workers: int, allowed: QueryFilter
) -> ShapecastHits:
    """Find the first row that each moving box touches."""
    moving = lower, upper, motions, np.ones(len(lower))
    return ShapecastHits(*self._sweep(_native.sweep_first, moving, False, workers, allowed))
