"""The index that chooses how to answer each query."""

from __future__ import annotations

from dataclasses import replace
from functools import partialmethod
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from broadphase import _native, thresholds
from broadphase.errors import UnsupportedQueryError
from broadphase.filters import PairFilter
from broadphase.index.box_index import BoxIndex
from broadphase.index.bvh import BVH
from broadphase.index.joining import KeptCells
from broadphase.index.options import checked_options
from broadphase.index.periodic import CellSearch
from broadphase.index.results import QueryResult
from broadphase.periods import periods_of
from broadphase.searches import count_pairs, pairs
from broadphase.workers import worker_count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from broadphase.change import Change
    from broadphase.filters import ByRow, QueryFilter
    from broadphase.index.spheres import SphereArrays
    from broadphase.periods import Period

__all__ = ["Index"]

# What an index in a periodic cell supports.
_IN_CELLS = frozenset({"query", "query_ball", "nearest", "pairs"})


class Index(BoxIndex):
    """Boxes that are kept to be queried, with a suitable method for each query.

    Pairs are found as by `broadphase.pairs`. Many query boxes at once are joined with the boxes of the index; these are
    kept in cells until they change (some 25 to 50 bytes a box), from the second such query on, or from the first that
    finds several boxes each. All other queries use a tree (see `BVH`), which the first of them builds, and which is
    kept up to date only while it is used.

    Parameters
    ----------
    boxes, layer, mask, batch, spheres
        As in `BoxIndex`, which documents all queries.
    workers : int
        Threads to build the tree with, and to move many boxes; -1 for one per core.
    period : float, or sequence of float, shape (d,), optional
        Edge lengths of a periodic cell, as in `broadphase.pairs`: queries find the rows of which any image matches.
        `query` and `query_points` are exact; `query_ball` and `nearest` round distances, and points into the cell.
        Other queries raise UnsupportedQueryError. Default: open space.

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.Index([[0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]])
    >>> index
    <Index of 3 boxes, 2-d float64>
    >>> index.pairs()
    array([[0, 1]], dtype=int32)
    >>> index.nearest([[4, 4]]).rows
    array([[1]], dtype=int32)

    In a cell of 10 by 10, where the third box is next to the first:

    >>> bp.Index([[0, 0, 2, 2], [1, 1, 3, 3], [9, 9, 10, 10]], period=10).nearest([[-1, -1]], 2)
    Nearest(rows=array([[2, 0]], dtype=int32), distances=array([[0.        , 1.41421356]]))
    """

    __slots__ = ("_cells", "_changed_since_query", "_core_options", "_in_cell", "_periods", "_settings")
    method = "auto"
    options = classmethod(checked_options)
    _capabilities = BVH._capabilities

    def __init__(
        self,
        boxes: Any,
        *,
        workers: int = 1,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        spheres: SphereArrays = None,
        period: Period = None,
    ) -> None:
        self._settings = self._checked(workers)
        self._core_options = {"workers": worker_count(workers)}
        self._changed_since_query = 0
        self._periods = None
        super().__init__(boxes, layer=layer, mask=mask, batch=batch, spheres=spheres)
        self._periods = periods_of(period, self.dim)

    def _begin(self) -> None:
        super()._begin()
        self._in_cell: CellSearch | None = None  # made when it is needed
        self._cells = KeptCells(self._store, self._guard)  # for many queries at once

    @property
    def period(self) -> NDArray[np.float64] | None:
        """Edge lengths of the periodic cell, infinite along axes that do not repeat; None in open space. A copy."""
        return None if self._periods is None else self._periods.copy()

    def _forget(self, change: Change) -> None:
        change.set_slot(self, "_in_cell", None)
        change.set_slot(self, "_cells", KeptCells(self._store, self._guard))

    def _cell(self) -> CellSearch:
        """Return what answers queries in the periodic cell. Only inside a query."""
        found = self._in_cell
        if found is None:
            with self._guard.building:  # several threads may come here at once
                found = self._in_cell
                if found is None:
                    found = self._in_cell = CellSearch(self._store, cast("NDArray[np.float64]", self._periods))
        return found

    def _require(self, capability: str) -> None:
        if self._periods is not None and capability not in _IN_CELLS:
            raise UnsupportedQueryError(f"{capability} is not supported in a periodic cell; a world that wraps may do")
        super()._require(capability)

    def _in_batches(self, batch: Any) -> Any:
        return super()._in_batches(batch) if self._periods is None else CellQueries(self, batch)

    @staticmethod
    def _checked(workers: Any = 1) -> dict[str, Any]:
        worker_count(workers)
        return {"workers": int(workers)}

    def _make_core(self) -> Any:
        return _native.Bvh(self.dim)

    def _build_first(self) -> None:
        pass

    def _keeps_up(self, changed: int) -> bool:
        # Building is cheaper than moving most boxes, and than moving a few again and again between two queries.
        self._changed_since_query += changed
        return self._changed_since_query <= len(self) // 2

    def _arranged(self) -> Any:
        self._changed_since_query = 0
        return super()._arranged()

    def _core_stats(self) -> dict[str, Any]:
        return {"rows": len(self)} if self._is_stale else super()._core_stats()

    def _pairs(
        self, pair_filter: PairFilter, touching: bool, workers: int, sort: bool, max_pairs: int | None
    ) -> NDArray[np.int32]:
        found: NDArray[np.int32] = self._at_once(
            pairs, None, pair_filter, workers=workers, touching=touching, sort=sort, max_pairs=max_pairs
        )
        return found

    def _count_pairs(self, pair_filter: PairFilter, touching: bool, workers: int) -> int:
        count: int = self._at_once(count_pairs, None, pair_filter, workers=workers, touching=touching)
        return count

    def _find_boxes(self, lower: NDArray[Any], upper: NDArray[Any], workers: int, allowed: QueryFilter) -> Any:
        if self._periods is not None:
            return CellQueries(self, None)._find_boxes(lower, upper, workers, allowed)
        count = len(lower)
        share = thresholds.JOINED_SHARE_WITHOUT_TREE if self._is_stale else thresholds.JOINED_SHARE
        if count < max(thresholds.FEWEST_JOINED, share * len(self)):
            return super()._find_boxes(lower, upper, workers, allowed)
        began = perf_counter()
        with self._guard.reading:
            several = thresholds.SEVERAL
            rows, offsets = self._cells.find(lower, upper, workers, searches=1, several=several, method="auto")
            query_filter = self._native_filter(count, allowed)
            if query_filter is not None:
                kept: Any = _native.keep_allowed(rows, offsets, *self._store.views, query_filter, workers)
                rows, offsets = kept
        self._seconds["query"] = perf_counter() - began
        return QueryResult(rows, offsets)

    def _find_balls(
        self, centers: NDArray[np.float64], radii: NDArray[np.float64], workers: int, allowed: QueryFilter
    ) -> Any:
        if self._periods is not None:
            return CellQueries(self, None)._find_balls(centers, radii, workers, allowed)
        return super()._find_balls(centers, radii, workers, allowed)

    def _find_nearest(
        self, points: NDArray[np.float64], k: int, limits: NDArray[np.float64], workers: int, allowed: QueryFilter
    ) -> Any:
        if self._periods is not None:
            return CellQueries(self, None)._find_nearest(points, k, limits, workers, allowed)
        return super()._find_nearest(points, k, limits, workers, allowed)

    def _nbytes(self) -> int:
        in_cell = 0 if self._in_cell is None else self._in_cell.nbytes
        return super()._nbytes() + in_cell + self._cells.nbytes


class CellQueries:
    """An index in a periodic cell, an `Answers` of `broadphase.index.queries`; `batch` are unchecked keys, or None."""

    __slots__ = ("_batch", "_index")

    _few = None

    def __init__(self, index: Index, batch: Any) -> None:
        self._index, self._batch = index, batch

    def _ask(self, name: str, *given: Any) -> Any:
        index, (*others, allowed) = self._index, given
        began = perf_counter()
        with index._guard.reading:
            ignored = index._store.ignored(allowed.ignore, len(others[0]), allowed.own)
            known = replace(allowed, ignore=ignored, own=None)
            found = getattr(index._cell(), name)(*others, known, self._batch)
        index._seconds["query"] = perf_counter() - began
        return found

    def _find_points(self, points: NDArray[Any], *given: Any) -> Any:
        return self._ask("boxes", points, points, *given)

    def _refuse(self, capability: str, *given: Any) -> None:
        self._index._require(capability)

    _find_boxes = partialmethod(_ask, "boxes")
    _find_balls = partialmethod(_ask, "balls")
    _find_nearest = partialmethod(_ask, "nearest")
    _find_obbs = _find_regions = partialmethod(_refuse, "convex")
    _find_first_hits = _find_all_hits = _find_any_hits = partialmethod(_refuse, "raycast")
    _find_first_touches = _sweep = partialmethod(_refuse, "shapecast")
