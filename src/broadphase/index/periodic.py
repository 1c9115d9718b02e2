"""Queries of boxes in a periodic cell, by trees of the boxes at their places in the cell."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native, thresholds
from broadphase.errors import InvalidBoxError, UnsupportedQueryError
from broadphase.filters import as_attribute
from broadphase.index.bvh import BVH
from broadphase.periods import out_of_cell
from broadphase.searches import pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.index.results import Nearest
    from broadphase.index.store import BoxStore
    from broadphase.index.walks import Walk
    from broadphase.options import QueryOptions

    Floats = NDArray[np.float64]

__all__ = ["CellSearch"]

# More than a distance is rounded by.
_MORE = 1 + 2.0**-40
_POINTS_AT_ONCE = 4096


class CellSearch:
    """The boxes of an index at their places in a periodic cell.

    Any number of threads may query at once, while the store does not change. `periods`, (d,), are infinite along axes
    that do not repeat. Raises InvalidBoxError for a box that has no place in the cell.
    """

    def __init__(self, store: BoxStore, periods: Floats) -> None:
        lower, upper, rows = store.living_corners()
        self._lower, self._upper = _doubles(lower), _doubles(upper)
        self._periods, self._rows = periods, rows
        self._placed = self._checked("boxes", self._lower, self._upper)
        boxes, numbers = self._placed.placed()
        slots = numbers if rows is None else rows[numbers]
        self._attributes = [None if array is None else array[slots] for array in (*store.bits, store.keys)]
        layer, mask, batch = self._attributes
        self._tree = BVH(boxes, layer=layer, mask=mask, batch=batch)
        # A tree of the boxes without images, for distances, and the box around all.
        self._places: BVH | None = None
        self._around = np.zeros((2, len(periods)))

    @property
    def nbytes(self) -> int:
        """Bytes of the trees."""
        return self._tree.memory_bytes + (0 if self._places is None else self._places.memory_bytes)

    def answer(self, walk: Walk, store: BoxStore, options: QueryOptions, workers: int) -> tuple[Any, ...]:
        """Find the rows of which an image is what a walk looks for, with the rows of `store` that options ignore."""
        if options.sight is not None:
            raise UnsupportedQueryError("headings are not supported in a periodic cell; in a world that wraps they are")
        ignored = store.ignored(options.ignore, walk.query_count, options.own)
        given = *walk.given, workers, replace(options, ignore=ignored, own=None)
        if walk.kind == "boxes":
            return self._boxes(*given)
        return self._balls(*given) if walk.kind == "balls" else self._nearest(*given)

    def _boxes(
        self, lower: NDArray[Any], upper: NDArray[Any], workers: int, options: QueryOptions
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Find the rows of which an image overlaps each box; exact."""
        found = self._overlapping(lower, upper, workers, replace(options, ignore=None))
        if options.ignore is not None:
            query_filter = _native.QueryFilter()
            query_filter.set_ignored(self._places_of(options.ignore))
            kept: Any = _native.keep_allowed(*found, self._lower, self._upper, query_filter, workers)
            found = kept
        return self._numbers(found[0]), found[1]

    def _overlapping(
        self, lower: NDArray[Any], upper: NDArray[Any], workers: int, allowed: QueryOptions
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        lower, upper = _doubles(lower), _doubles(upper)
        if len(lower) >= max(thresholds.FEWEST_JOINED, thresholds.JOINED_SHARE * len(self._lower)):
            return self._joined(lower, upper, workers, allowed)
        try:
            asked = self._placed.others(lower, upper)
        except _native.InvalidBoxes:
            raise self._error("boxes", lower, upper) from None
        images, numbers = asked.placed()
        found = self._tree.query(images, workers=workers, **self._of_queries(allowed, len(lower), numbers))
        kept: Any = self._placed.keep(asked, found.rows, found.offsets, workers)
        return kept[0], kept[1]

    def _joined(
        self, lower: Floats, upper: Floats, workers: int, allowed: QueryOptions
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        names, own = ("layer", "mask", "batch"), self._attributes
        options: dict[str, Any] = {}
        for name, given, mine, usual in zip(
            names, (allowed.layer, allowed.mask, allowed.batch), own, (None, None, 0), strict=True
        ):
            if name == "batch" and given is None:
                continue  # all batches
            if given is not None or mine is not None:
                options[name] = given, usual if mine is None else mine[: len(self._lower)]
        found = pairs(
            (lower, upper), (self._lower, self._upper), period=self._periods, workers=workers, sort=True, **options
        )
        offsets = np.searchsorted(found[:, 0], np.arange(len(lower) + 1))
        return np.ascontiguousarray(found[:, 1]), offsets

    def _balls(
        self, centers: Floats, radii: Floats, workers: int, allowed: QueryOptions
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Find the rows of which an image is within each radius of a point; distances are rounded."""
        tree, centers, count = self._tree_of_places(), self._within(centers), len(centers)
        options = self._of_queries(allowed, count, np.arange(count))
        here = tree.query_ball(centers, radii, workers=workers, **options)
        queries, moved = self._images(centers, radii)
        if not len(queries):
            return self._numbers(here.rows), here.offsets
        options = self._of_queries(allowed, count, queries)
        there = tree.query_ball(moved, radii[queries], workers=workers, **options)
        owners = queries.astype(np.int64, copy=False)
        united: Any = _native.united_answers(here.rows, here.offsets, there.rows, there.offsets, owners)
        return self._numbers(united[0]), united[1]

    def _nearest(
        self, points: Floats, k: int, limits: Floats, workers: int, allowed: QueryOptions
    ) -> tuple[NDArray[np.int32], Floats]:
        """Find the rows whose images are nearest to each point; distances are rounded."""
        count, width = len(points), max(1, min(k, len(self._lower)))
        tree, points = self._tree_of_places(), self._within(points)
        options = self._of_queries(allowed, count, np.arange(count))
        rows, distances = tree.nearest(points, width, limits, workers=workers, **options)
        limits = np.minimum(limits, distances[:, -1] * _MORE)  # infinite where there are fewer
        queries, moved = self._images(points, limits)
        if len(queries):
            options = self._of_queries(allowed, count, queries)
            there = tree.nearest(moved, width, limits[queries], workers=workers, **options)
            _merge(rows, distances, queries, there)
        return np.where(rows < 0, np.int32(-1), self._numbers(np.maximum(rows, 0))), distances

    def _images(self, points: Floats, reach: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Return the images of points, except the points, that are within a reach of the boxes at their places."""
        steps = [np.array([0.0] if np.isinf(p) else [0.0, -p, p]) for p in self._periods]
        every, found = np.array(list(product(*steps))), []
        for begin in range(0, len(points), _POINTS_AT_ONCE):
            some = points[begin : begin + _POINTS_AT_ONCE]
            squares = np.zeros((1, len(some)))
            with np.errstate(over="ignore", invalid="ignore"):
                for axis, (low, high) in enumerate(self._around.T):
                    x = some[:, axis] + steps[axis][:, np.newaxis]
                    along = np.maximum(np.maximum(low - x, x - high), 0.0) ** 2
                    squares = (squares[:, np.newaxis] + along).reshape(-1, len(some))
                near = squares <= (reach[begin : begin + _POINTS_AT_ONCE] * _MORE) ** 2
            found.append(np.argwhere(near[1:]) + np.array([1, begin]))
        images = np.concatenate(found) if found else np.empty((0, 2), np.intp)
        return images[:, 1], points[images[:, 1]] + every[images[:, 0]]

    def _tree_of_places(self) -> BVH:
        if self._places is None:
            layer, mask, batch = (None if one is None else one[: len(self._lower)] for one in self._attributes)
            with np.errstate(invalid="ignore", over="ignore"):
                width = np.minimum(self._upper - self._lower, self._periods)
                lower = self._within(np.where(width < self._periods, self._lower, 0.0))
                lower = np.where(np.isinf(self._periods), self._lower, lower)
                upper = np.where(np.isinf(self._periods), self._upper, lower + width)
            self._around = np.stack([lower.min(axis=0, initial=np.inf), upper.max(axis=0, initial=-np.inf)])
            self._places = BVH((lower, upper), layer=layer, mask=mask, batch=batch)
        return self._places

    def _within(self, points: Floats) -> Floats:
        """Move points into [0, period], rounded."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(self._periods), points, np.mod(points, self._periods))

    def _numbers(self, places: NDArray[np.int32]) -> NDArray[np.int32]:
        return places if self._rows is None else self._rows[places]

    def _places_of(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the places of rows in use; -1 stays -1."""
        if self._rows is None:
            return rows
        return np.where(rows < 0, np.int32(-1), np.searchsorted(self._rows, rows)).astype(np.int32)

    def _of_queries(self, allowed: QueryOptions, count: int, numbers: NDArray[Any]) -> dict[str, Any]:
        """Return the attributes of the images of queries, with rows to ignore as places."""
        options: dict[str, Any] = {
            name: as_attribute(name, value, count, kind)[numbers]
            for name, kind in (("layer", np.uint64), ("mask", np.uint64), ("batch", np.int64))
            if (value := getattr(allowed, name)) is not None
        }
        if allowed.ignore is not None:
            places = self._places_of(allowed.ignore)
            options["ignore"] = places if len(places) == 1 else places[numbers]
        return options

    def _checked(self, name: str, lower: Floats, upper: Floats) -> _native.PlacedBoxes:
        try:
            return _native.PlacedBoxes.in_cell(lower, upper, self._periods)
        except _native.InvalidBoxes:
            raise self._error(name, lower, upper) from None

    def _error(self, name: str, lower: Floats, upper: Floats) -> InvalidBoxError:
        modified = InvalidBoxError("the boxes were modified while they were read")
        return out_of_cell(name, lower, upper, self._periods) or modified


def _merge(rows: NDArray[np.int32], distances: Floats, queries: NDArray[np.intp], there: Nearest) -> None:
    """Merge the rows nearest to images of points into those nearest to the points, each row once; in place."""
    involved, place = np.unique(queries, return_inverse=True)
    width = rows.shape[1]
    owners = np.concatenate([np.repeat(np.arange(len(involved)), width), np.repeat(place, width)])
    numbers = np.concatenate([rows[involved].ravel(), there.rows.ravel()])
    ways = np.concatenate([distances[involved].ravel(), there.distances.ravel()])
    order = np.lexsort((ways, numbers, owners))
    order = order[numbers[order] >= 0]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (numbers[order][1:] != numbers[order][:-1]) | (owners[order][1:] != owners[order][:-1])
    order = order[is_first]
    order = order[np.lexsort((numbers[order], ways[order], owners[order]))]
    owners = owners[order]
    rank = np.arange(len(order)) - np.searchsorted(owners, owners)
    order, owners, rank = order[rank < width], owners[rank < width], rank[rank < width]
    rows[involved[owners], rank] = numbers[order]
    distances[involved[owners], rank] = ways[order]


def _doubles(corners: NDArray[Any]) -> Floats:
    return np.ascontiguousarray(corners, np.float64)
