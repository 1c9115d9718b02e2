"""The index that chooses how to answer each query."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

from broadphase import _native
from broadphase.filters import PairFilter
from broadphase.index.box_index import BoxIndex
from broadphase.index.bvh import BVH
from broadphase.index.joining import join
from broadphase.index.results import QueryResult
from broadphase.pairs import count_pairs, pairs
from broadphase.workers import worker_count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Index"]

# From so many query boxes for each box of the index on, the two sets are joined; fewer are looked up in the tree.
# Measured with 10 000 and 100 000 boxes of the scenes uniform, lognormal and clusters: the two take the same time at
# shares of 0.1 to 0.4; with as many queries as boxes, joining takes half the time, and with a tenth as many twice the
# time. If the tree has to be built first, joining pays sooner.
_JOINED_SHARE = 0.3
_JOINED_SHARE_WITHOUT_TREE = 0.1
_FEWEST_JOINED = 64


class Index(BoxIndex):
    """Boxes that are kept to be queried, each query in the way that suits it.

    Pairs are found as by `broadphase.pairs`; many query boxes at once are joined with those of the index; every other
    query uses a tree (see `BVH`), which is built at the first such query, and kept up to date only while it is used.

    Parameters
    ----------
    boxes, layer, mask
        As in `BoxIndex`, which documents all queries.
    workers : int
        Threads to build the tree with, and to move many boxes; -1 for one per core.

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
    """

    __slots__ = ("_changed_since_query", "_core_options", "_settings")
    method = "auto"
    _capabilities = BVH._capabilities

    def __init__(self, boxes: Any, *, layer: Any = None, mask: Any = None, batch: Any = None, workers: int = 1) -> None:
        self._settings = self._checked(workers)
        self._core_options = {"workers": worker_count(workers)}
        self._changed_since_query = 0
        super().__init__(boxes, layer=layer, mask=mask, batch=batch)

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

    def _find_boxes(self, lower: NDArray[Any], upper: NDArray[Any], workers: int, layer: Any, mask: Any) -> QueryResult:
        count, share = len(lower), _JOINED_SHARE_WITHOUT_TREE if self._is_stale else _JOINED_SHARE
        if count < max(_FEWEST_JOINED, share * len(self)):
            return super()._find_boxes(lower, upper, workers, layer, mask)
        began = perf_counter()
        with self._guard.reading:
            own_lower, own_upper, numbers = self._store.living_corners()
            rows, offsets = join(own_lower, own_upper, lower, upper, workers, method="auto")
            rows = rows if numbers is None else numbers[rows]
            query_filter = self._query_filter(count, layer, mask)
            if query_filter is not None:
                kept: Any = _native.keep_allowed(rows, offsets, *self._store.views, query_filter, workers)
                rows, offsets = kept
        self._seconds["query"] = perf_counter() - began
        return QueryResult(rows, offsets)
