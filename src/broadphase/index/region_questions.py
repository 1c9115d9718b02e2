"""Questions to an index about places: what overlaps, what is near, what is in view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.filters import as_attribute
from broadphase.index import asked
from broadphase.index.answers import Answers, Nearest
from broadphase.index.kept_boxes import KeptBoxes
from broadphase.index.regions import Regions, regions_of_boxes, regions_of_planes, regions_of_views
from broadphase.index.rows import checked_corners
from broadphase.index.timed import Timed
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["RegionQuestions"]

_ALL_BITS = 0xFFFF_FFFF_FFFF_FFFF


class RegionQuestions(KeptBoxes):
    """The questions about places; see `broadphase.BoxIndex` for the whole."""

    def query(self, boxes: Any, *, workers: int = 1, layer: Any = None, mask: Any = None) -> Answers:
        """Find the boxes that overlap each of these.

        Boxes are closed: those that only touch overlap.

        Parameters
        ----------
        boxes : array_like, shape (q, 2, d) or (q, 2*d), or tuple of two (q, d)
            What to ask about. float32 or float64, whatever the index has: compared as they are, exactly.
        workers : int
            Threads to use; -1 for one per core. The answer does not depend on it.
        layer, mask : array_like of uint64, shape (q,), or int, optional
            A box is an answer if its mask has a bit in common with the question's layer, and its layer with the
            question's mask. Unset: all bits.

        Returns
        -------
        Answers
            ``rows`` and ``offsets``: ``rows[offsets[j]:offsets[j + 1]]`` for question j, ascending.

        Raises
        ------
        ValueError, TypeError
            As `broadphase.pairs`; NaN and lower > upper name the row in `boxes`.
        UnsupportedQueryError
            An index of a kind that does not have it.
        RuntimeError
            Another thread changes the index.

        Notes
        -----
        Releases the GIL; Ctrl-C works. Any number of threads may ask at once.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]])
        >>> index.query([[2, 2, 4, 4], [5, 5, 8, 8]])
        Answers(rows=array([0, 1, 2], dtype=int32), offsets=array([0, 2, 3], dtype=int64))
        """
        self._require("query")
        lower, upper = checked_corners(boxes, "boxes", self.dimension)
        return self._answer_boxes(lower, upper, workers, layer, mask)

    def query_points(self, points: ArrayLike, *, workers: int = 1, layer: Any = None, mask: Any = None) -> Answers:
        """Find the boxes that hold each point, on their border too.

        Parameters
        ----------
        points : array_like, shape (q, d)
            No NaN.
        workers, layer, mask
            As in `query`.

        Returns
        -------
        Answers
            As `query`.

        Raises
        ------
        ValueError, TypeError, UnsupportedQueryError, RuntimeError
            As `query`.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3]]).query_points([[2, 1]]).rows
        array([0, 1], dtype=int32)
        """
        self._require("query")
        corners = asked.point_boxes(points, "points", self.dimension)
        return self._answer_boxes(corners, corners, workers, layer, mask)

    def query_ball(
        self, centers: ArrayLike, radii: ArrayLike, *, workers: int = 1, layer: Any = None, mask: Any = None
    ) -> Answers:
        """Find the boxes within a distance of each point: those that meet a closed ball.

        Parameters
        ----------
        centers : array_like, shape (q, d)
            Finite.
        radii : array_like, shape (q,), or one number
            Finite, at least 0.
        workers, layer, mask
            As in `query`.

        Returns
        -------
        Answers
            As `query`.

        Raises
        ------
        ValueError, TypeError, UnsupportedQueryError, RuntimeError
            As `query`.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.BVH([[0, 0, 2, 2], [8, 8, 9, 9]]).query_ball([[5, 6]], 5).rows
        array([0, 1], dtype=int32)
        """
        self._require("query_ball")
        points = asked.places(centers, "centers", self.dimension)
        radius = asked.radii(radii, "radii", len(points))
        with self._guard.reading, Timed(self._seconds, "query"):
            found = self._query_balls(
                points, radius, self._query_filter(len(points), layer, mask), worker_count(workers)
            )
        return Answers(*found)

    def query_obb(
        self,
        centers: ArrayLike,
        half_sizes: ArrayLike,
        rotations: ArrayLike,
        *,
        workers: int = 1,
        layer: Any = None,
        mask: Any = None,
    ) -> Answers:
        """Find the boxes that meet each of some turned boxes. In 2D and 3D.

        Parameters
        ----------
        centers : array_like, shape (q, d)
            Finite.
        half_sizes : array_like, shape (q, d), (d,) or one number
            Half the width of each along its own axes; finite, at least 0.
        rotations : array_like
            Matrices whose columns are the own axes of the box, of shape (q, d, d) or (d, d). In 2D also angles of shape
            (q,) or one number, in radians, counterclockwise; in 3D also quaternions w, x, y, z, of shape (q, 4) or
            (4,).
        workers, layer, mask
            As in `query`.

        Returns
        -------
        Answers
            As `query`. Boxes that touch are never missed; one that misses by less than rounding may be taken to touch.

        Raises
        ------
        ValueError, TypeError, UnsupportedQueryError, RuntimeError
            As `query`; a matrix that does not rotate.

        References
        ----------
        .. [1] S. Gottschalk, M. C. Lin, D. Manocha, "OBBTree: A Hierarchical Structure for Rapid Interference
           Detection", SIGGRAPH 1996. 10.1145/237170.237244

        Examples
        --------
        >>> import numpy as np
        >>> import broadphase as bp
        >>> index = bp.BVH([[3, 3, 4, 4], [3, -1, 4, 0]])
        >>> index.query_obb([[0, 0]], [5, 0.5], np.pi / 4).rows
        array([0], dtype=int32)
        """
        self._require("convex")
        return self._answer_convex(regions_of_boxes(centers, half_sizes, rotations), workers, layer, mask)

    def frustum(
        self,
        matrix: ArrayLike | None = None,
        *,
        planes: ArrayLike | None = None,
        depth: str = "minus_one_to_one",
        workers: int = 1,
        layer: Any = None,
        mask: Any = None,
    ) -> Answers:
        """Find the boxes that a camera sees, or that meet what some planes enclose. In 2D and 3D.

        Parameters
        ----------
        matrix : array_like, shape (4, 4) or (q, 4, 4); in 2D (3, 3) or (q, 3, 3)
            Projection times view, which multiplies column vectors. `perspective`, `orthographic` and `look_at` make
            such, and `selection_matrix` narrows one to a rectangle dragged with a mouse.
        planes : array_like, shape (p, d + 1) or (q, p, d + 1)
            Instead of `matrix`: rows ``n, c``, where inside is ``n . x + c >= 0``; at most 64 a region.
        depth : {"minus_one_to_one", "zero_to_one"}
            What the matrix makes of near and far: -1 to 1, as OpenGL has it, or 0 to 1, as Vulkan, Direct3D and Metal.
        workers, layer, mask
            As in `query`.

        Returns
        -------
        Answers
            As `query`, one question for each matrix. Exact: a box that no single plane keeps out, but that
            lies beside the edge of two, is not an answer. Boxes that touch are never missed; one that misses by
            less than rounding may be taken to touch.

        Raises
        ------
        ValueError, TypeError, UnsupportedQueryError, RuntimeError
            As `query`; both `matrix` and `planes`, or neither; a singular matrix.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[-1, -1, -6, 1, 1, -5], [-1, -1, 5, 1, 1, 6]])
        >>> camera = bp.perspective(1.0, 4 / 3, 0.1, 100.0) @ bp.look_at([0, 0, 0], [0, 0, -1])
        >>> index.frustum(camera).rows
        array([0], dtype=int32)
        """
        self._require("convex")
        if matrix is not None and planes is None:
            return self._answer_convex(regions_of_views(matrix, depth=depth), workers, layer, mask)
        if matrix is None and planes is not None:
            return self._answer_convex(regions_of_planes(planes), workers, layer, mask)
        raise ValueError("frustum takes either a matrix or planes")

    def nearest(
        self,
        points: ArrayLike,
        k: int = 1,
        max_distance: ArrayLike = np.inf,
        *,
        workers: int = 1,
        layer: Any = None,
        mask: Any = None,
    ) -> Nearest:
        """Find the boxes nearest to each point.

        Parameters
        ----------
        points : array_like, shape (q, d)
            Finite.
        k : int
            How many of them.
        max_distance : array_like, shape (q,), or one number
            None farther away than this.
        workers, layer, mask
            As in `query`.

        Returns
        -------
        Nearest
            ``index`` and ``distance``, each of shape (q, k), the nearest first. Of equally near ones, the least row.

        Raises
        ------
        ValueError, TypeError, UnsupportedQueryError, RuntimeError
            As `query`.

        Notes
        -----
        The distance is that of the point to the closed box, computed in float64; 0 inside.

        References
        ----------
        .. [1] N. Roussopoulos, S. Kelley, F. Vincent, "Nearest Neighbor Queries", SIGMOD 1995. 10.1145/223784.223794

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[0, 0, 2, 2], [8, 8, 9, 9]])
        >>> index.nearest([[3, 2], [8, 8]], k=2, max_distance=5)
        Nearest(index=array([[ 0, -1],
               [ 1, -1]], dtype=int32), distance=array([[ 1., inf],
               [ 0., inf]]))
        """
        self._require("nearest")
        if k != int(k) or k < 1:
            raise ValueError(f"k must be a positive number, not {k!r}")
        at = asked.places(points, "points", self.dimension)
        limit = asked.limits(max_distance, "max_distance", len(at))
        with self._guard.reading, Timed(self._seconds, "query"):
            query_filter = self._query_filter(len(at), layer, mask)
            found: Any = _native.nearest(
                self._arranged(), *self._rows.views, at, int(k), limit, query_filter, worker_count(workers)
            )
        return Nearest(*(part.reshape(len(at), int(k)) for part in found))

    # For subclasses that are no trees of blocks: the answers to checked boxes, of either dtype.
    def _query_boxes(
        self, lower: NDArray[Any], upper: NDArray[Any], query_filter: _native.QueryFilter | None, workers: int
    ) -> Any:
        return _native.query_boxes(self._arranged(), *self._rows.views, lower, upper, query_filter, workers)

    # For who tests the answers: rows whose boxes meet those asked about, and perhaps some whose boxes nearly do.
    def _near_boxes(self, lower: NDArray[Any], upper: NDArray[Any], workers: int) -> Answers:
        with self._guard.reading, Timed(self._seconds, "query"):
            core, corners = self._arranged(), self._rows.views
            found: Any = _native.query_boxes(core, *corners, lower, upper, None, worker_count(workers), True)
        return Answers(*found)

    # Likewise: to balls around finite points.
    def _query_balls(
        self,
        centers: NDArray[np.float64],
        radii: NDArray[np.float64],
        query_filter: _native.QueryFilter | None,
        workers: int,
    ) -> Any:
        return _native.query_balls(self._arranged(), *self._rows.views, centers, radii, query_filter, workers)

    # Likewise: to convex regions.
    def _query_convex(self, regions: Regions, query_filter: _native.QueryFilter | None, workers: int) -> Any:
        offsets, axes, least, most, lower, upper = regions
        core, corners = self._arranged(), self._rows.views
        return _native.query_convex(core, *corners, offsets, axes, least, most, lower, upper, query_filter, workers)

    def _answer_boxes(self, lower: NDArray[Any], upper: NDArray[Any], workers: int, layer: Any, mask: Any) -> Answers:
        with self._guard.reading, Timed(self._seconds, "query"):
            found = self._query_boxes(lower, upper, self._query_filter(len(lower), layer, mask), worker_count(workers))
        return Answers(*found)

    def _answer_convex(self, regions: Regions, workers: int, layer: Any, mask: Any) -> Answers:
        count, dimension = regions.around_lower.shape
        if dimension != self.dimension:
            raise ValueError(f"a region of {dimension} dimensions, and the index has {self.dimension}")
        with self._guard.reading, Timed(self._seconds, "query"):
            found = self._query_convex(regions, self._query_filter(count, layer, mask), worker_count(workers))
        return Answers(*found)

    def _query_filter(self, count: int, layer: Any, mask: Any) -> _native.QueryFilter | None:
        kept_layer, kept_mask = self._rows.bits
        if layer is None and mask is None and kept_layer is None and kept_mask is None:
            return None
        every = np.broadcast_to(np.uint64(_ALL_BITS), (self._rows.slots,))
        return _native.QueryFilter(
            np.ascontiguousarray(every if kept_layer is None else kept_layer),
            np.ascontiguousarray(every if kept_mask is None else kept_mask),
            as_attribute("layer", _ALL_BITS if layer is None else layer, count, np.uint64),
            as_attribute("mask", _ALL_BITS if mask is None else mask, count, np.uint64),
        )
