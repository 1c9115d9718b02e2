"""A grid of columns that is built for each search, which is faster than keeping one up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native, thresholds
from broadphase.index.box_index import BoxIndex
from broadphase.index.joining import KeptCells, boxes_around, join
from broadphase.index.options import checked_options

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.change import Change
    from broadphase.index.box_index import PairSearch, PairWay
    from broadphase.index.protocol import Arrangement
    from broadphase.index.store import BoxStore
    from broadphase.index.walks import Found, Walk

__all__ = ["Grid"]


class Grid(BoxIndex):
    """Boxes that are filed in columns for each search: for all pairs, and for many queries at once.

    The fastest index if all boxes move between two searches, because it keeps nothing but the boxes. A call with a few
    queries takes as long as one with thousands, but from the seventh on after a change, they are looked up in small
    cells that are kept until the next one: to query a few boxes after each change, use `BVH`.

    Parameters
    ----------
    boxes, **options
        As in `BoxIndex`. It supports pairs, and of the queries `query`, `query_points`, `query_ball`, `query_obb` and
        `frustum`.

    Notes
    -----
    O(1) to change a box. With similar sizes, q queries take O(n + q + m) for m results, and O(q + m) in the cells that
    are kept; all pairs O(n + m) for m pairs. `stats` and `outline` build a grid to describe it.

    References
    ----------
    .. [1] J.-P. Dittrich, B. Seeger, "Data Redundancy and Duplicate Detection in Spatial Join Processing", ICDE 2000.
       10.1109/ICDE.2000.839452

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.Grid([[0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]])
    >>> index.pairs()
    array([[0, 1]], dtype=int32)
    >>> index.query([[2, 2, 8, 8]]).rows
    array([0, 1, 2], dtype=int32)
    """

    __slots__ = ("_cells",)
    method = "grid"
    options = classmethod(checked_options)

    def _begin(self) -> None:
        super()._begin()
        self._cells = KeptCells(self._store, self._guard)

    def _forget(self, change: Change) -> None:
        change.set_slot(self, "_cells", KeptCells(self._store, self._guard))

    def _make_core(self) -> Arrangement:
        return _Columns(self._store)

    @property
    def _pair_way(self) -> PairWay:
        return "any" if len(self) == self.slots else "once"

    def _pairs_of_now(self, search: PairSearch, sort: bool, max_pairs: int | None) -> NDArray[np.int32]:
        found = super()._pairs_of_now(search, sort, max_pairs)
        if self._pair_way == "once":
            self._arranged().pairs_found = len(found)
        return found

    def _candidates(self, walk: Walk, workers: int) -> Found | None:
        lower, upper = boxes_around(walk)
        if thresholds.BOXES_FOR_EACH_OF_FEW * len(lower) <= len(self):
            return self._cells.find(lower, upper, workers, searches=thresholds.SEARCHES_BEFORE_CELLS)
        own_lower, own_upper, rows = self._store.living_corners()
        found, offsets = join(own_lower, own_upper, lower, upper, workers)
        return (found if rows is None else rows[found]), offsets

    def _nbytes(self) -> int:
        return super()._nbytes() + self._cells.nbytes


class _Columns:
    """The arrangement of an index that keeps none: every search files the boxes again."""

    def __init__(self, store: BoxStore) -> None:
        self._store = store
        self.pairs_found = 0
        self.memory_bytes = 0

    def build(self, lower: NDArray[Any], upper: NDArray[Any], rows: NDArray[np.int32]) -> None:
        """Do nothing."""

    insert = update = build

    def remove(self, rows: NDArray[np.int32]) -> None:
        """Do nothing."""

    def pairs(self, lower: NDArray[Any], upper: NDArray[Any], touching: bool, pair_filter: Any, *rest: Any) -> Any:
        """Search for pairs; all slots must be in use."""
        given = (lower, upper, None, None, touching, 0.0, pair_filter, None)
        found: Any = _native.pairs(_native.Method.grid, *given, *rest)
        self.pairs_found = len(found)
        return found

    def count(self, lower: NDArray[Any], upper: NDArray[Any], touching: bool, pair_filter: Any, workers: int) -> int:
        """Count pairs; all slots must be in use."""
        given = (lower, upper, None, None, touching, 0.0, pair_filter, None)
        return _native.count(_native.Method.grid, *given, workers)

    def stats(self) -> dict[str, Any]:
        """Build the grid, and count the tests of a search for pairs."""
        lower, upper, _ = self._store.living_corners()
        seen: dict[str, Any] = _native.describe_grid(lower, upper, True)
        del seen["outline"]
        count = len(lower)
        return {"rows": count, **seen, "pairs": self.pairs_found, "brute_force_tests": count * (count - 1) // 2}

    def outline(self) -> tuple[Any, Any, Any]:
        """Build the grid, and return the cells that may have pairs."""
        lower, upper, _ = self._store.living_corners()
        outline: tuple[Any, Any, Any] = _native.describe_grid(lower, upper, False)["outline"]
        return outline

    def validate(self, lower: NDArray[Any], upper: NDArray[Any], rows: NDArray[np.int32]) -> str:
        """Find nothing wrong."""
        return ""
