"""A grid that is made anew for each question: that takes less time than keeping one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broadphase import _native
from broadphase.index.box_index import BoxIndex
from broadphase.index.joining import JoinedQuestions, join
from broadphase.pairs import count_pairs, pairs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from broadphase.index.rows import Rows

__all__ = ["Grid"]


class Grid(JoinedQuestions, BoxIndex):
    """Boxes that are filed in columns for each question: for all pairs, and for many questions at once.

    The quickest there is where all boxes move between two questions, since nothing is kept but the boxes. A single
    question takes as long as thousands: for few, take `BVH`.

    Parameters
    ----------
    boxes, layer, mask
        As in `BoxIndex`. Of its questions it has those about pairs, and those about places but `nearest`.

    Notes
    -----
    O(1) to change a box; O(n + q + answers) for q questions together, O(n + pairs) for all pairs, among boxes of like
    sizes. `stats` and `outline` lay the grid out to look at it; for `tests`, all cells are gone through.

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

    method = "grid"

    def _make_core(self) -> Any:
        return _Columns(self._rows)

    def _pairs(
        self, filters: tuple[Any, ...], touching: bool, workers: int, sort: bool, max_pairs: int | None
    ) -> NDArray[np.int32]:
        if len(self) == self.slots:
            return super()._pairs(filters, touching, workers, sort, max_pairs)
        options = {"touching": touching, "workers": workers, "sort": sort, "max_pairs": max_pairs}
        found: NDArray[np.int32] = self._at_once(pairs, None, filters, **options)
        self._arranged().pairs_found = len(found)
        return found

    def _count_pairs(self, filters: tuple[Any, ...], touching: bool, workers: int) -> int:
        if len(self) == self.slots:
            return super()._count_pairs(filters, touching, workers)
        count: int = self._at_once(count_pairs, None, filters, touching=touching, workers=workers)
        return count

    def _candidates(self, lower: NDArray[Any], upper: NDArray[Any], workers: int) -> tuple[Any, Any]:
        own_lower, own_upper, rows = self._rows.living_corners()
        found = join(own_lower, own_upper, lower, upper, workers)
        return (found.rows if rows is None else rows[found.rows]), found.offsets


class _Columns:
    """What stands where other indexes have their arrangement: there is none."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.pairs_found = 0
        self.memory_bytes = 0

    def build(self, lower: NDArray[Any], upper: NDArray[Any], rows: NDArray[np.int32]) -> None:
        """Change nothing, like the next three: the boxes are where they are."""

    insert = update = build

    def remove(self, rows: NDArray[np.int32]) -> None:
        """Change nothing."""

    def pairs(self, lower: NDArray[Any], upper: NDArray[Any], touching: bool, *rest: Any) -> Any:
        """Search, where all slots are in use."""
        found: Any = _native.pairs(_native.Method.grid, lower, upper, None, None, touching, 0.0, *rest)
        self.pairs_found = len(found)
        return found

    def count(self, lower: NDArray[Any], upper: NDArray[Any], touching: bool, *rest: Any) -> int:
        """Count, where all slots are in use."""
        return _native.count(_native.Method.grid, lower, upper, None, None, touching, 0.0, *rest)

    def stats(self) -> dict[str, Any]:
        """Lay the grid out and count what a search for pairs tests."""
        lower, upper, _ = self._rows.living_corners()
        seen: dict[str, Any] = _native.describe_grid(lower, upper, True)
        del seen["outline"]
        count = len(lower)
        return {"rows": count, **seen, "pairs": self.pairs_found, "brute_force_tests": count * (count - 1) // 2}

    def outline(self) -> tuple[Any, Any, Any]:
        """Lay the grid out: the cells that have pairs to look for."""
        lower, upper, _ = self._rows.living_corners()
        outline: tuple[Any, Any, Any] = _native.describe_grid(lower, upper, False)["outline"]
        return outline

    def validate(self, lower: NDArray[Any], upper: NDArray[Any], rows: NDArray[np.int32]) -> str:
        """Find nothing wrong."""
        return ""
