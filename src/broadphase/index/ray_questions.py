"""Questions to an index about motion: what a ray hits, what a moving box touches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.index import asked
from broadphase.index.answers import RayHits, RayHitsAll, SweepHits
from broadphase.index.region_questions import RegionQuestions
from broadphase.index.rows import checked_corners
from broadphase.index.timed import Timed
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["RayQuestions"]


class RayQuestions(RegionQuestions):
    """The questions about motion; see `broadphase.BoxIndex` for the whole."""

    def raycast(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        max_distance: ArrayLike = np.inf,
        *,
        workers: int = 1,
        layer: Any = None,
        mask: Any = None,
    ) -> RayHits:
        """Find the first box on each ray.

        Boxes are closed: a ray that grazes one hits it, and one that begins in a box hits that at distance 0.

        Parameters
        ----------
        origins : array_like, shape (q, d)
            Finite.
        directions : array_like, shape (q, d), or (d,) for all
            Finite, of any length. A ray without direction hits what it begins in.
        max_distance : array_like, shape (q,), or one number
            How far each ray goes, in the unit of the boxes, whatever the length of its direction.
        workers, layer, mask
            As in `query`.

        Returns
        -------
        RayHits
            ``index`` and ``distance``, of shape (q,). Of several boxes at one distance, the least row.

        Raises
        ------
        ValueError, TypeError, UnsupportedQueryError, RuntimeError
            As `query`.

        References
        ----------
        .. [1] T. L. Kay, J. T. Kajiya, "Ray Tracing Complex Scenes", SIGGRAPH 1986. 10.1145/15922.15916

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[2, 0, 3, 1], [5, 0, 6, 1]])
        >>> index.raycast([[0, 0.5], [9, 0.5], [0, 2]], [[1, 0], [-1, 0], [1, 0]])
        RayHits(index=array([ 0,  1, -1], dtype=int32), distance=array([ 2.,  3., inf]))
        """
        found = self._cast_rays(_native.sweep_first, origins, directions, max_distance, workers, layer, mask)
        return RayHits(*found)

    def raycast_all(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        max_distance: ArrayLike = np.inf,
        *,
        workers: int = 1,
        layer: Any = None,
        mask: Any = None,
    ) -> RayHitsAll:
        """Find every box on each ray, in the order in which the ray enters them.

        Parameters
        ----------
        origins, directions, max_distance, workers, layer, mask
            As in `raycast`.

        Returns
        -------
        RayHitsAll
            ``rows``, ``offsets`` and ``distances``: those of ray j from ``offsets[j]`` to ``offsets[j + 1]``. Of
            several boxes at one distance, the least row first.

        Raises
        ------
        ValueError, TypeError, UnsupportedQueryError, RuntimeError
            As `query`.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.BVH([[2, 0, 3, 1], [5, 0, 6, 1]]).raycast_all([[9, 0.5]], [[-1, 0]]).of(0)
        (array([1, 0], dtype=int32), array([3., 6.]))
        """
        found = self._cast_rays(_native.sweep_all, origins, directions, max_distance, workers, layer, mask)
        return RayHitsAll(*found)

    def raycast_any(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        max_distance: ArrayLike = np.inf,
        *,
        workers: int = 1,
        layer: Any = None,
        mask: Any = None,
    ) -> NDArray[np.bool_]:
        """Find out whether each ray hits anything: for shadows, and lines of sight.

        Parameters
        ----------
        origins, directions, max_distance, workers, layer, mask
            As in `raycast`.

        Returns
        -------
        ndarray, shape (q,), bool
            What ``raycast(...).index >= 0`` would be, sooner.

        Raises
        ------
        ValueError, TypeError, UnsupportedQueryError, RuntimeError
            As `query`.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.BVH([[2, 0, 3, 1]]).raycast_any([[0, 0.5], [0, 0.5]], [1, 0], max_distance=[1, 2])
        array([False,  True])
        """
        found = self._cast_rays(_native.sweep_any, origins, directions, max_distance, workers, layer, mask)
        hits: NDArray[np.bool_] = found.view(np.bool_)
        return hits

    def shapecast(
        self, boxes: Any, motion: ArrayLike, *, workers: int = 1, layer: Any = None, mask: Any = None
    ) -> SweepHits:
        """Find what each moving box touches first: nothing is missed, however fast it moves.

        Parameters
        ----------
        boxes : array_like, shape (q, 2, d) or (q, 2*d), or tuple of two (q, d)
            Where they begin. Finite.
        motion : array_like, shape (q, d), or (d,) for all
            How far each goes, along a straight line. Finite.
        workers, layer, mask
            As in `query`.

        Returns
        -------
        SweepHits
            ``index`` and ``time``, of shape (q,); time is 0 for boxes that touch at the beginning, and 1 at the end of
            the motion. Of several boxes at one time, the least row.

        Raises
        ------
        ValueError, TypeError, UnsupportedQueryError, RuntimeError
            As `query`.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[5, 0, 5.1, 9]])  # a thin wall
        >>> index.shapecast([[0, 0, 1, 1], [0, 0, 1, 1]], [[8, 0], [0, 8]])
        SweepHits(index=array([ 0, -1], dtype=int32), time=array([0.5, inf]))
        """
        self._require("shapecast")
        lower, upper = (
            np.ascontiguousarray(corner, dtype=np.float64) for corner in checked_corners(boxes, "boxes", self.dimension)
        )
        endless = ~(np.isfinite(lower) & np.isfinite(upper)).all(axis=1)
        if endless.any():
            raise ValueError(f"boxes: row {endless.argmax()} reaches to infinity, and cannot move")
        moved = asked.motions(motion, "motion", len(lower), self.dimension)
        found = self._sweep(_native.sweep_first, lower, upper, moved, np.ones(len(lower)), False, workers, layer, mask)
        return SweepHits(*found)

    def _cast_rays(
        self,
        ask: Callable[..., Any],
        origins: ArrayLike,
        directions: ArrayLike,
        max_distance: ArrayLike,
        workers: int,
        layer: Any,
        mask: Any,
    ) -> Any:
        self._require("raycast")
        begin = asked.places(origins, "origins", self.dimension)
        along = asked.in_range(asked.motions(directions, "directions", len(begin), self.dimension))
        limit = asked.limits(max_distance, "max_distance", len(begin))
        return self._sweep(ask, begin, begin, along, limit, True, workers, layer, mask)

    def _sweep(
        self,
        ask: Callable[..., Any],
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        motion: NDArray[np.float64],
        limit: NDArray[np.float64],
        is_ray: bool,
        workers: int,
        layer: Any,
        mask: Any,
    ) -> Any:
        with self._guard.reading, Timed(self._seconds, "query"):
            query_filter = self._query_filter(len(lower), layer, mask)
            core, corners, threads = self._arranged(), self._rows.views, worker_count(workers)
            found = ask(core, *corners, lower, upper, motion, limit, is_ray, query_filter, threads)
        return found
