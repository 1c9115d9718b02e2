"""The index that chooses how to answer each query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, cast

from broadphase import _native, thresholds
from broadphase.errors import UnsupportedQueryError
from broadphase.index.box_index import BoxIndex, IndexKeywords, shows_index_options
from broadphase.index.bvh import BVH
from broadphase.index.joining import KeptCells
from broadphase.index.options import checked_options
from broadphase.index.periodic import CellSearch
from broadphase.periods import periods_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from broadphase.change import Change
    from broadphase.index.box_index import Need, PairWay
    from broadphase.index.walks import Found, Walk
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
    boxes, **options
        As in `BoxIndex`, which documents all queries.
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

    __slots__ = ("_cells", "_changed_since_query", "_in_cell", "_periods")
    method = "auto"
    options = classmethod(checked_options)
    _capabilities = BVH._capabilities

    @shows_index_options
    def __init__(
        self,
        boxes: Any,
        *,
        period: Period = None,
        **options: Unpack[IndexKeywords],
    ) -> None:
        self._changed_since_query = 0
        self._periods = None
        super().__init__(boxes, **options)
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

    def _make_core(self) -> Any:
        return _native.Bvh(self.dim)

    def _build_first(self) -> None:
        pass

    def _keeps_up(self, changed: int) -> bool:
        # Building is cheaper than moving most boxes, and than moving a few again and again between two queries.
        self._changed_since_query += changed
        return self._changed_since_query <= len(self) // 2

    def _arranged(self, need: Need = "all") -> Any:
        self._changed_since_query = 0
        return super()._arranged()

    @property
    def _pair_way(self) -> PairWay:
        return "once"

    def _core_stats(self) -> dict[str, Any]:
        return {"rows": len(self)} if self._is_stale else super()._core_stats()

    def _candidates(self, walk: Walk, workers: int) -> Found | None:
        share = thresholds.JOINED_SHARE_WITHOUT_TREE if self._is_stale else thresholds.JOINED_SHARE
        if walk.kind != "boxes" or walk.query_count < max(thresholds.FEWEST_JOINED, share * len(self)):
            return None
        lower, upper = walk.given
        several, too_many = thresholds.SEVERAL, thresholds.TOO_MANY_JOINED
        return self._cells.find(lower, upper, workers, searches=1, several=several, too_many=too_many, method="auto")

    def _nbytes(self) -> int:
        in_cell = 0 if self._in_cell is None else self._in_cell.nbytes
        return super()._nbytes() + in_cell + self._cells.nbytes
