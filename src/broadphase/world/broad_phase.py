"""Candidates for touching: pairs of boxes, found anew or by asking about what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.filters import PairFilter
from broadphase.index.box_index import BoxIndex
from broadphase.index.brute_force import BruteForce
from broadphase.index.bvh import BVH
from broadphase.index.chosen import Index
from broadphase.index.grid import Grid
from broadphase.index.linear_tree import LinearTree
from broadphase.index.octree import Octree
from broadphase.index.sweep_and_prune import SweepAndPrune
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.world.columns import Columns

__all__ = ["BroadPhase"]

# "auto" asks a tree about the rows that have changed, if these are few: it then takes 1-2 us a changed row, where
# finding all pairs anew takes 60-100 ns a row. And not at once: the tree must be built first, which takes as long as
# two or three searches, and may be needed once only.
_FEW = 1 / 30
_STEPS_BEFORE_A_TREE = 3
_FEWEST_FOR_A_TREE = 1000
# How far the boxes in a tree reach beyond those of the shapes, in their largest extents, unless the user says: what
# moves by less need not be moved in the tree. As in Box2D: a tenth of a metre for things of about one metre.
_MARGIN = 0.1
_NO_LIMIT = 2**64 - 1
_INDEXES: dict[str, type[BoxIndex]] = {
    kind.method: kind for kind in (BruteForce, SweepAndPrune, Grid, LinearTree, Octree, BVH, Index)
}


class BroadPhase:
    """The boxes of the world in an index, kept up to date as far as it is asked.

    Parameters
    ----------
    columns : Columns
        The world.
    method : str
        A method of the registry, or "auto".
    margin : float, optional
        By how much boxes in the index are larger than those of the shapes, in length units. Unset: a tenth of their
        size for "auto", nothing for others.
    workers : int
        Threads.
    """

    def __init__(self, columns: Columns, method: str, margin: float | None, workers: int) -> None:
        if method not in _INDEXES:
            raise ValueError(f"method must be one of {', '.join(sorted(_INDEXES))}, not {method!r}")
        if margin is not None and not 0 <= margin < np.inf:
            raise ValueError(f"margin must be finite and not negative, not {margin}")
        worker_count(workers)  # raises here, rather than at the first step
        self.method, self.margin, self.workers = method, margin, workers
        self._columns = columns
        self._index: BoxIndex | None = None
        self.steps_with_few_changes = 0
        self.is_tight = False
        self.reason = "nothing was looked for yet"

    @property
    def nbytes(self) -> int:
        """Bytes of the index."""
        return 0 if self._index is None else self._index.memory_bytes

    def inserted(self, rows: NDArray[np.int32]) -> None:
        """Take up rows that have just come into the world."""
        if self._index is None:
            return
        try:
            known = len(self._index) > 0 and np.array_equal(self._index.insert(self._fat(rows)), rows)
        except MemoryError:
            known = False
        if not known:
            self._index = None  # made again when it is needed

    def removed(self, rows: NDArray[np.int32]) -> None:
        """Let rows go that are about to leave the world."""
        if self._index is None:
            return
        try:
            self._index.remove(rows)
        except MemoryError:
            self._index = None  # made again when it is needed

    def up_to_date(self) -> BoxIndex:
        """Give the index, whose boxes hold those of the shapes."""
        columns, slots = self._columns, self._columns.slots
        if self._index is None:
            index = _INDEXES[self.method](self._fat(None))
            if columns.rows.living != slots:
                index.remove(np.flatnonzero(~columns.rows.alive[:slots]))
            self._index = index
        else:
            behind = np.flatnonzero(columns.behind[:slots].view(np.bool_) & columns.rows.alive[:slots]).astype(np.int32)
            if len(behind):
                self._move(self._index, behind)
        columns.behind[:slots] = 0
        return self._index

    def candidates(self, filters: dict[str, Any], changed: int) -> NDArray[np.int32]:
        """Find pairs of boxes, of which at least one is that of a changed row, that pass the filters.

        Parameters
        ----------
        filters : dict
            By the names that `broadphase.pairs` has.
        changed : int
            How many rows have changed; the others are static by the filters.

        Returns
        -------
        ndarray, shape (m, 2), int32
            First < second, each pair once. Their boxes overlap; if not `is_tight`, those in the index do.
        """
        living = self._columns.rows.living
        self.is_tight = False
        if self.method != "auto":
            self.reason = "as told"
            found: NDArray[np.int32] = self.up_to_date().pairs(workers=self.workers, **filters)
            return found
        if changed > _FEW * living or living < _FEWEST_FOR_A_TREE:
            self.steps_with_few_changes = 0
        elif self.steps_with_few_changes < _STEPS_BEFORE_A_TREE:
            self.steps_with_few_changes += 1
        if self.steps_with_few_changes < _STEPS_BEFORE_A_TREE:
            self.reason = f"{changed} of {living} changed: all pairs anew"
            self.is_tight = True
            return self._anew(filters)
        self.reason = f"{changed} of {living} changed: these asked about in a tree"
        return self._around_changed(filters)

    def _anew(self, filters: dict[str, Any]) -> NDArray[np.int32]:
        # What `broadphase.pairs` does, less the checks: for a thousand boxes they take as long as finding the pairs.
        kept = self._columns.rows
        lower, upper, rows = kept.living_corners()
        pair_filter = PairFilter(**filters).of_rows([rows], [kept.slots]).native(len(lower))
        pairs: Any = _native.pairs(
            _native.Method.auto, lower, upper, None, None, True, 0.0, pair_filter, self.workers, False, _NO_LIMIT
        )
        found: NDArray[np.int32] = pairs if rows is None else rows[pairs]
        return found

    def _around_changed(self, filters: dict[str, Any]) -> NDArray[np.int32]:
        columns, slots = self._columns, self._columns.slots
        rows = np.flatnonzero(columns.changed[:slots].view(np.bool_)).astype(np.int32)
        corners = columns.rows.corners[rows]
        found_near = self.up_to_date()._near_boxes(corners[:, 0], corners[:, 1], self.workers)
        partners, asked = found_near.rows, np.repeat(rows, np.diff(found_near.offsets))
        # A pair of two changed rows is found from both.
        kept = (columns.changed[partners] == 0) | (asked < partners)
        asked, partners = asked[kept], partners[kept]
        found: NDArray[np.int32] = np.stack([np.minimum(asked, partners), np.maximum(asked, partners)])
        pair_filter = PairFilter(**{**filters, "static": None}).native(slots)
        if pair_filter is not None:
            allowed: Any = pair_filter.allows(found[0], found[1])
            found = found[:, allowed.view(np.bool_)]
        return found.T

    def _fat(self, rows: NDArray[np.int32] | None) -> NDArray[np.float64]:
        columns = self._columns
        corners: NDArray[np.float64] = (
            columns.rows.corners[: columns.slots] if rows is None else columns.rows.corners[rows]
        )
        if self.margin is None:
            if self.method != "auto":
                return corners
            reach = _MARGIN * (corners[:, 1] - corners[:, 0]).max(axis=1, initial=0.0)[:, np.newaxis]
        elif self.margin == 0.0:
            return corners
        else:
            reach = np.full((len(corners), 1), self.margin)
        return np.stack([corners[:, 0] - reach, corners[:, 1] + reach], axis=1)

    def _move(self, index: BoxIndex, rows: NDArray[np.int32]) -> None:
        kept, boxes = index.boxes_of(rows), self._columns.rows.corners[rows]
        left = ((boxes[:, 0] < kept[:, 0]) | (boxes[:, 1] > kept[:, 1])).any(axis=1)
        if left.any():
            rows = rows[left]
            index.update(self._fat(rows), rows)
