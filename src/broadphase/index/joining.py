"""Queries answered by joining two sets of boxes: candidates are found by their boxes, and each is tested exactly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.errors import InvalidBoxError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.index.store import BoxStore
    from broadphase.index.walks import Found, Walk

__all__ = ["KeptCells", "boxes_around", "boxes_as_seen_by", "in_one_dtype", "join", "keep_found"]


def boxes_around(walk: Walk) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a box around each query for boxes, balls, regions or moving boxes, with lower > upper for none."""
    if walk.kind == "boxes":
        return walk.given[0], walk.given[1]
    if walk.kind == "balls":
        centers, radii = walk.given
        # Farther than a distance is rounded, so that no box on the border is lost.
        with np.errstate(over="ignore"):
            reach = (radii * (1 + 2.0**-40))[:, np.newaxis]
            return np.nextafter(centers - reach, -np.inf), np.nextafter(centers + reach, np.inf)
    if walk.kind == "sweep":  # boxes that move
        lower, upper, motions = walk.given[:3]
        with np.errstate(over="ignore"):
            return np.minimum(lower, lower + motions), np.maximum(upper, upper + motions)
    lower, upper = walk.given[-2:]
    # The box around an empty region may have lower > upper.
    empty = ~(lower <= upper).all(axis=1, keepdims=True)
    return np.where(empty, np.inf, lower), np.where(empty, np.inf, upper)


def keep_found(
    walk: Walk, found: Found, store: BoxStore, query_filter: _native.QueryFilter | None, workers: int
) -> Any:
    """Keep the rows that a walk looks for, of those whose boxes overlap the boxes around its queries."""
    if walk.kind == "boxes":
        return found if query_filter is None else _native.keep_allowed(*found, *store.views, query_filter, workers)
    keep: Any = _native.keep_near if walk.kind == "balls" else _native.keep_convex
    return keep(*found, *store.views, *walk.given, query_filter, workers)


class FiledBoxes(NamedTuple):
    """Boxes in cells, their corners as they are compared, and their rows where some are not in use."""

    cells: _native.BoxCells
    lower: NDArray[Any]
    upper: NDArray[Any]
    rows: NDArray[np.int32] | None


class KeptCells:
    """The boxes of an index in cells, for queries that come again without a change between them.

    Used inside queries; a change replaces it by an empty one.
    """

    def __init__(self, store: BoxStore, guard: _native.Guard) -> None:
        self._store, self._guard = store, guard
        # By the dtype of the comparisons: how many searches there were, then the boxes.
        self._kept: dict[np.dtype[Any], int | FiledBoxes] = {}

    def find(
        self,
        lower: NDArray[Any],
        upper: NDArray[Any],
        workers: int,
        *,
        searches: int,
        several: float = math.inf,
        too_many: float = math.inf,
        method: str = "grid",
    ) -> Found | None:
        """Find the rows that overlap each box, as `join`.

        Boxes are filed after so many `searches`, and at once if a query overlaps `several` boxes. None if cells do not
        suit them, and a query overlaps `too_many` boxes for joining.
        """
        dtype = max(self._store.corners.dtype, lower.dtype, key=lambda one: one.itemsize)
        lower, upper = lower.astype(dtype, copy=False), upper.astype(dtype, copy=False)
        kept = self._kept.get(dtype, 0)
        found: Any = None
        if isinstance(kept, int):
            own_lower, own_upper, rows = self._store.living_corners()
            own_lower, own_upper = own_lower.astype(dtype, copy=False), own_upper.astype(dtype, copy=False)
            if kept < searches and not _overlaps(own_lower, own_upper, lower, upper, several):
                self._kept[dtype] = kept + 1
            else:
                kept = self._file(dtype, own_lower, own_upper, rows, workers)
        if isinstance(kept, FiledBoxes):
            own_lower, own_upper, rows = kept[1:]
            found = kept.cells.find(own_lower, own_upper, lower, upper, workers)
            if found is None and _overlaps(own_lower, own_upper, lower, upper, too_many):
                return None
        found, offsets = join(own_lower, own_upper, lower, upper, workers, method=method) if found is None else found
        return (found if rows is None else rows[found]), offsets

    def _file(
        self,
        dtype: np.dtype[Any],
        lower: NDArray[Any],
        upper: NDArray[Any],
        rows: NDArray[np.int32] | None,
        workers: int,
    ) -> FiledBoxes:
        with self._guard.building:  # several threads may come here at once
            kept = self._kept.get(dtype)
            if not isinstance(kept, FiledBoxes):
                kept = self._kept[dtype] = FiledBoxes(_native.BoxCells(lower, upper, workers), lower, upper, rows)
        return kept

    @property
    def nbytes(self) -> int:
        """Bytes of memory used, beside those of the store."""
        total = 0
        for kept in self._kept.values():
            if isinstance(kept, FiledBoxes):
                # Corners are kept as they are compared: converting them takes as long as a search.
                is_copy = not np.may_share_memory(kept.lower, self._store.corners)
                total += kept.cells.memory_bytes + is_copy * (kept.lower.nbytes + kept.upper.nbytes)
        return total


def _overlaps(
    lower: NDArray[Any], upper: NDArray[Any], query_lower: NDArray[Any], query_upper: NDArray[Any], least: float
) -> bool:
    """Whether a query overlaps at least so many boxes on average, by a sample."""
    return least < math.inf and _native.boxes_of_query(lower, upper, query_lower, query_upper) >= least


def join(
    lower: NDArray[Any],
    upper: NDArray[Any],
    query_lower: NDArray[Any],
    query_upper: NDArray[Any],
    workers: int = 1,
    *,
    method: str = "grid",
) -> Found:
    """Find the boxes that overlap each query box, by one search for pairs of the two sets.

    Corners are those of valid boxes, (n, d) and (q, d), float32 or float64, compared exactly; `method` is one of
    `broadphase.pairs`, or "auto". Rows and offsets are as in `QueryResult`. Raises InvalidBoxError if another thread
    writes to the boxes meanwhile.

    O(n + q + m) for boxes of similar sizes: faster than queries of a tree if there are about as many queries as boxes.

    >>> import numpy as np
    >>> corners = np.arange(4.0)[:, np.newaxis]
    >>> join(corners, corners + 1, corners[:2], corners[:2])
    (array([0, 0, 1], dtype=int32), array([0, 1, 3], dtype=int64))
    """
    corners = in_one_dtype(lower, upper, query_lower, query_upper)
    try:
        found: Any = _native.join(getattr(_native.Method, method), *corners, workers)
    except _native.InvalidBoxes:
        raise InvalidBoxError("the boxes were modified while they were read") from None
    rows, offsets = found
    return rows, offsets


def in_one_dtype(
    lower: NDArray[Any], upper: NDArray[Any], query_lower: NDArray[Any], query_upper: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return all corners in the first dtype, or in float64 if they differ and it is float32."""
    if query_lower.dtype != lower.dtype and lower.dtype == np.float32:
        lower, upper = lower.astype(np.float64), upper.astype(np.float64)
    dtype = lower.dtype
    return lower, upper, query_lower.astype(dtype, copy=False), query_upper.astype(dtype, copy=False)


def boxes_as_seen_by(dtype: np.dtype[Any], lower: NDArray[Any], upper: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return corners in a dtype, such that comparisons with its numbers stay the same.

    A float32 is at least a float64 if, and only if, it is at least the next float32 above. So lower corners are rounded
    up and upper ones down. A box narrower than the spacing of float32 gets lower > upper.
    """
    if lower.dtype == dtype or dtype == np.float64:
        return lower.astype(dtype, copy=False), upper.astype(dtype, copy=False)
    with np.errstate(over="ignore"):
        low, high = lower.astype(dtype), upper.astype(dtype)
        low = np.where(low < lower, np.nextafter(low, dtype.type(np.inf)), low)
        return low, np.where(high > upper, np.nextafter(high, dtype.type(-np.inf)), high)
