"""Many questions at once: candidates by their boxes, then those that are answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.index.answers import Answers
from broadphase.index.region_questions import RegionQuestions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.index.regions import Regions

__all__ = ["JoinedQuestions", "join"]


def join(
    lower: NDArray[Any],
    upper: NDArray[Any],
    asked_lower: NDArray[Any],
    asked_upper: NDArray[Any],
    workers: int = 1,
    *,
    method: str = "grid",
) -> Answers:
    """Find the boxes that overlap each of those asked about, by one search for pairs of the two sets.

    Parameters
    ----------
    lower, upper : ndarray, shape (n, d), float32 or float64
        Corners of valid boxes, as `as_corners` returns them.
    asked_lower, asked_upper : ndarray, shape (q, d), float32 or float64
        Likewise; compared as they are, exactly.
    workers : int
        A number of threads.
    method : str
        A method of `broadphase.pairs`, or "auto".

    Returns
    -------
    Answers
        Rows ascending for each question.

    Notes
    -----
    O(n + q + answers) for boxes of like sizes: quicker than an index that is asked one question at a time where there
    are about as many questions as boxes.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.arange(4.0)[:, np.newaxis]
    >>> join(corners, corners + 1, corners[:2], corners[:2])
    Answers(rows=array([0, 0, 1], dtype=int32), offsets=array([0, 1, 3], dtype=int64))
    """
    if asked_lower.dtype != lower.dtype and lower.dtype == np.float32:
        lower, upper = lower.astype(np.float64), upper.astype(np.float64)
    asked_lower, asked_upper = (corner.astype(lower.dtype, copy=False) for corner in (asked_lower, asked_upper))
    found: Any = _native.join(getattr(_native.Method, method), lower, upper, asked_lower, asked_upper, workers)
    return Answers(*found)


def boxes_as_seen_by(dtype: np.dtype[Any], lower: NDArray[Any], upper: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Corners in another dtype that compare with its numbers as the given ones do.

    A float32 is at least a float64 exactly if it is at least the next float32 above: so lower corners are rounded up
    and upper ones down. What comes of a box narrower than a float32 can tell has lower > upper.
    """
    if lower.dtype == dtype or dtype == np.float64:
        return lower.astype(dtype, copy=False), upper.astype(dtype, copy=False)
    with np.errstate(over="ignore"):
        low, high = lower.astype(dtype), upper.astype(dtype)
    low = np.where(low < lower, np.nextafter(low, dtype.type(np.inf)), low)
    return low, np.where(high > upper, np.nextafter(high, dtype.type(-np.inf)), high)


class JoinedQuestions(RegionQuestions):
    """Questions about places for an index that can only tell which boxes overlap others."""

    # For subclasses: the boxes that overlap each of these, whatever the dtypes.
    def _candidates(self, lower: NDArray[Any], upper: NDArray[Any], workers: int) -> tuple[Any, Any]:
        raise NotImplementedError

    def _query_boxes(
        self, lower: NDArray[Any], upper: NDArray[Any], query_filter: _native.QueryFilter | None, workers: int
    ) -> Any:
        found = self._candidates(lower, upper, workers)
        if query_filter is None:
            return found
        return _native.keep_allowed(*found, *self._rows.views, query_filter, workers)

    def _query_balls(
        self,
        centers: NDArray[np.float64],
        radii: NDArray[np.float64],
        query_filter: _native.QueryFilter | None,
        workers: int,
    ) -> Any:
        # More than the roundings of a distance: no box at the very border is left out.
        reach = (radii * (1 + 2.0**-40))[:, np.newaxis]
        with np.errstate(over="ignore"):
            lower, upper = np.nextafter(centers - reach, -np.inf), np.nextafter(centers + reach, np.inf)
        found = self._candidates(lower, upper, workers)
        return _native.keep_near(*found, *self._rows.views, centers, radii, query_filter, workers)

    def _query_convex(self, regions: Regions, query_filter: _native.QueryFilter | None, workers: int) -> Any:
        offsets, axes, least, most, lower, upper = regions
        # A region that holds nothing may have a box around it that is none.
        empty = ~(lower <= upper).all(axis=1, keepdims=True)
        found = self._candidates(np.where(empty, np.inf, lower), np.where(empty, np.inf, upper), workers)
        corners = self._rows.views
        return _native.keep_convex(*found, *corners, offsets, axes, least, most, lower, upper, query_filter, workers)
