"""Questions to a world about places, answered for the shapes of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.index.queries import finite_points, nonnegative, radii_of
from broadphase.index.results import Nearest, QueryResult
from broadphase.index.store import checked_corners
from broadphase.shapes import Box, Point, Rectangle, Shapes
from broadphase.world.world_searches import WorldSearches

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from broadphase.shapes import Shape

__all__ = ["WorldQueries"]


class WorldQueries(WorldSearches):
    """The questions about places; see `broadphase.World` for the whole."""

    def query(self, boxes: Any, *, workers: int = 1, layer: Any = None, mask: Any = None) -> QueryResult:
        """Find the rows whose shapes overlap each of these boxes.

        Shapes are closed: those that only touch overlap. All questions answer for the world as it was last seen: at the
        last `step`, `refresh`, `add`, `remove` or `move`. In a world that wraps, what reaches across a border is found,
        too; only rays, casts and cameras see things just where they are.

        Parameters
        ----------
        boxes : array_like, shape (q, 2, d) or (q, 2*d), or tuple of two (q, d)
            What to ask about.
        workers : int
            Threads to use for the boxes of the shapes; -1 for one per core. The answer does not depend on it.
        layer, mask : str, set of str, int, or array_like of shape (q,), optional
            A row is an answer if its mask has a bit in common with the question's layer, and its layer with the
            question's mask: ``mask="wall"`` finds walls. Names must exist. Unset: all bits.

        Returns
        -------
        QueryResult
            ``rows`` and ``offsets``: ``rows[offsets[j]:offsets[j + 1]]`` for question j, ascending.

        Raises
        ------
        ValueError, TypeError
            Wrong shape or dtype, a layer that nobody has named; NaN and lower > upper name the row in `boxes`.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> world.add_many(bp.Circle(1), [[0, 0], [4, 0]])
        array([0, 1], dtype=int32)
        >>> world.query([[0.8, 0.8, 4, 4], [1, -1, 2, 1]]).offsets.tolist()  # a corner of a circle's box is no circle
        [0, 1, 2]
        """
        lower, upper = checked_corners(boxes, "boxes", self.dim)
        corners = np.stack([lower, upper], axis=1).astype(np.float64)
        with self._guard.reading:
            return self._overlapping(Shapes._of_boxes(self._cut(corners)), workers, layer, mask)

    def query_points(self, points: ArrayLike, *, workers: int = 1, layer: Any = None, mask: Any = None) -> QueryResult:
        """Find the rows whose shapes hold each point, on their border too.

        Parameters
        ----------
        points : array_like, shape (q, d)
            Finite.
        workers, layer, mask
            As in `query`.

        Returns
        -------
        QueryResult
            As `query`.

        Raises
        ------
        ValueError, TypeError
            As `query`.
        """
        placed = Shapes(Point(), finite_points(points, "points", self.dim))
        with self._guard.reading:
            return self._overlapping(placed, workers, layer, mask)

    def query_ball(
        self, centers: ArrayLike, radii: ArrayLike, *, workers: int = 1, layer: Any = None, mask: Any = None
    ) -> QueryResult:
        """Find the rows whose shapes are within a distance of each point: those that meet a closed ball.

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
        QueryResult
            As `query`.

        Raises
        ------
        ValueError, TypeError
            As `query`.
        """
        places = finite_points(centers, "centers", self.dim)
        placed = self._balls(places, radii_of(radii, "radii", len(places)))
        with self._guard.reading:
            return self._overlapping(placed, workers, layer, mask)

    def query_shape(
        self,
        shape: Shape,
        positions: ArrayLike,
        rotations: ArrayLike | None = None,
        *,
        workers: int = 1,
        layer: Any = None,
        mask: Any = None,
    ) -> QueryResult:
        """Find the rows whose shapes overlap a shape, wherever it is put.

        Parameters
        ----------
        shape : Shape
            One for all questions, or one for each.
        positions : array_like, shape (q, d), or (d,) for all
            Where it is put.
        rotations : array_like, optional
            How it is turned, as in `World.rotations`: angles, or quaternions w, x, y, z. Unset: not at all.
        workers, layer, mask
            As in `query`.

        Returns
        -------
        QueryResult
            As `query`.

        Raises
        ------
        ValueError, TypeError
            As `query`.

        Examples
        --------
        >>> import numpy as np
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> world.add_many(bp.Circle(1), [[0, 0], [4, 0]])
        array([0, 1], dtype=int32)
        >>> world.query_shape(bp.Capsule((0, 0), (5, 0), 0.5), [[0, 1.4], [-6, 0]], [0, np.pi / 2])[0]
        array([0, 1], dtype=int32)
        """
        placed = self._placed(shape, positions, rotations)
        with self._guard.reading:
            return self._overlapping(placed, workers, layer, mask)

    def query_obb(
        self,
        centers: ArrayLike,
        half_sizes: ArrayLike,
        rotations: ArrayLike,
        *,
        workers: int = 1,
        layer: Any = None,
        mask: Any = None,
    ) -> QueryResult:
        """Find the rows whose shapes meet each of some turned boxes.

        Parameters
        ----------
        centers : array_like, shape (q, d)
            Finite.
        half_sizes : array_like, shape (q, d) or (d,)
            Half the width of each along its own axes.
        rotations : array_like, shape (q,) or (); in space (q, 4) or (4,)
            As in `World.rotations`: angles, or quaternions w, x, y, z.
        workers, layer, mask
            As in `query`.

        Returns
        -------
        QueryResult
            As `query`.

        Raises
        ------
        ValueError, TypeError
            As `query`.
        """
        half = np.asarray(half_sizes, np.float64)
        sizes = 2 * np.broadcast_to(half, (*half.shape[:-1], self.dim))
        placed = self._placed((Rectangle if self.dim == 2 else Box)(*np.moveaxis(sizes, -1, 0)), centers, rotations)
        with self._guard.reading:
            return self._overlapping(placed, workers, layer, mask)

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
        """Find the rows whose shapes are nearest to each point.

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
            ``rows`` and ``distances``, each of shape (q, k), the nearest first: the distance to the shape, 0 within.
            Of equally near ones, the least row. -1 and infinity where there are no more.

        Raises
        ------
        ValueError, TypeError
            As `query`.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> world.add_many(bp.Circle(1), [[0, 0], [4, 0]])
        array([0, 1], dtype=int32)
        >>> world.nearest([[3.5, 4]], k=2).distances.round(3)
        array([[3.031, 4.315]])
        """
        if k != int(k) or k < 1:
            raise ValueError(f"k must be a positive number, not {k!r}")
        at = finite_points(points, "points", self.dim)
        limit = nonnegative(max_distance, "max_distance", len(at))
        bits = self._bits_of_questions(len(at), layer, mask)
        with self._guard.reading:
            return self._nearest_images(at, int(k), limit, bits, workers)
