"""Questions to a world about motion: what a ray hits, what a moving shape touches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.index.queries import rays, vectors
from broadphase.index.results import RayHits, RayHitsAll, SweepHits
from broadphase.narrow.row_pairs import impacts, ray_hits
from broadphase.world.world_queries import WorldQueries
from broadphase.world.world_searches import ROOM

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase.shapes import Shape
    from broadphase.world.world_searches import Bits, Floats, Rows

__all__ = ["WorldRays"]


class WorldRays(WorldQueries):
    """The questions about motion; see `broadphase.World` for the whole."""

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
        """Find the first row on each ray whose shape it hits.

        Shapes are closed: a ray that grazes one hits it, and one that begins in a shape hits that at distance 0. Rays
        do not go on at the other side of a periodic world.

        Parameters
        ----------
        origins : array_like, shape (q, d)
            Finite.
        directions : array_like, shape (q, d), or (d,) for all
            Finite, of any length. A ray without direction hits what it begins in.
        max_distance : array_like, shape (q,), or one number
            How far each ray goes, in the unit of the world, whatever the length of its direction.
        workers, layer, mask
            As in `query`.

        Returns
        -------
        RayHits
            ``rows`` and ``distances``, of shape (q,). Of several rows at one distance, the least.

        Raises
        ------
        ValueError, TypeError
            As `query`.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> world.add_many(bp.Circle(1), [[4, 0], [8, 0]])
        array([0, 1], dtype=int32)
        >>> world.raycast([[0, 0], [0, 0.9], [0, 2]], [1, 0])
        RayHits(rows=array([ 0,  0, -1], dtype=int32), distances=array([3.        , 3.56411011,        inf]))
        """
        return self._first_hits(origins, directions, max_distance, workers, layer, mask)

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
        """Find every row on each ray whose shape it hits, in the order in which the ray enters them.

        Parameters
        ----------
        origins, directions, max_distance, workers, layer, mask
            As in `raycast`.

        Returns
        -------
        RayHitsAll
            ``rows``, ``offsets`` and ``distances``: those of ray j from ``offsets[j]`` to ``offsets[j + 1]``. Of
            several rows at one distance, the least first.

        Raises
        ------
        ValueError, TypeError
            As `query`.
        """
        rays = self._rays(origins, directions, max_distance)
        bits = self._bits_of_questions(len(rays[0]), layer, mask)
        with self._guard.reading:
            rows, questions, distances, _ = self._sorted_hits(*rays, workers, bits)
        offsets = np.searchsorted(questions, np.arange(len(rays[0]) + 1)).astype(np.int64)
        return RayHitsAll(rows, offsets, distances)

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
            What ``raycast(...).rows >= 0`` would be.

        Raises
        ------
        ValueError, TypeError
            As `query`.
        """
        hits: NDArray[np.bool_] = self._first_hits(origins, directions, max_distance, workers, layer, mask).rows >= 0
        return hits

    def shapecast(
        self,
        shape: Shape,
        positions: ArrayLike,
        motions: ArrayLike,
        rotations: ArrayLike | None = None,
        *,
        workers: int = 1,
        layer: Any = None,
        mask: Any = None,
    ) -> SweepHits:
        """Find what each moving shape touches first: nothing is missed, however fast it moves.

        Parameters
        ----------
        shape : Shape
            One for all questions, or one for each.
        positions : array_like, shape (q, d), or (d,) for all
            Where it begins.
        motions : array_like, shape (q, d), or (d,) for all
            How far it goes, along a straight line and without turning. Finite.
        rotations : array_like, optional
            As in `query_shape`.
        workers, layer, mask
            As in `query`.

        Returns
        -------
        SweepHits
            ``rows`` and ``times``, of shape (q,): the share of the motion after which they touch; 0 for shapes that
            touch at the beginning, infinite for none. Of several rows at one time, the least.

        Raises
        ------
        ValueError, TypeError
            As `query`.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> wall = world.add(bp.Rectangle(0.1, 9), position=(5, 0), kind="static")
        >>> world.shapecast(bp.Circle(1), [[0, 0], [0, 7]], [100, 0])
        SweepHits(rows=array([ 0, -1], dtype=int32), times=array([0.0395,    inf]))
        """
        moving = self._placed(shape, positions, rotations)
        count = len(moving)
        moved = vectors(motions, "motions", count, self.dim)
        begin = moving.boxes
        swept = np.stack(
            [np.minimum(begin[:, 0], begin[:, 0] + moved), np.maximum(begin[:, 1], begin[:, 1] + moved)], axis=1
        )
        bits = self._bits_of_questions(count, layer, mask)
        with self._guard.reading:
            found = self.index.query(swept, workers=workers)
            rows, questions = self._allowed(found.rows, found.query_rows, bits)
            near = _may_touch(begin, moved, self.shapes.boxes, rows, questions)
            rows, questions = rows[near], questions[near]
            times, _ = impacts(moving, self.shapes, questions, rows, moved[questions])
        return SweepHits(*_first_of_each(rows, questions, times, count))

    def _rays(
        self, origins: ArrayLike, directions: ArrayLike, max_distance: ArrayLike
    ) -> tuple[Floats, Floats, Floats]:
        return rays(self.dim, origins, directions, max_distance)

    def _first_hits(
        self, origins: ArrayLike, directions: ArrayLike, max_distance: ArrayLike, workers: int, layer: Any, mask: Any
    ) -> RayHits:
        begin, along, limit = self._rays(origins, directions, max_distance)
        count = len(begin)
        bits = self._bits_of_questions(count, layer, mask)
        with self._guard.reading:
            # How far the shape in the first box is, if the ray hits it: whatever is behind need not be looked at.
            boxes = self.index.raycast(begin, along, limit, workers=workers).rows
            rows, questions = self._allowed(boxes, np.arange(count, dtype=np.int32), bits)
            distance, _ = self._distances(rows, begin[questions], along[questions])
            reach = limit.copy()
            reach[questions] = np.minimum(reach[questions], distance)
            rows, questions, distances, _ = self._hits(begin, along, reach, workers, bits)
        return RayHits(*_first_of_each(rows, questions, distances, count))

    def _sorted_hits(
        self, begin: Floats, along: Floats, limit: Floats, workers: int, bits: Bits
    ) -> tuple[Rows, Rows, Floats, Floats]:
        """Give rows, rays, distances and normals of all hits, in the order of rays, distances and rows."""
        rows, questions, distances, normals = self._hits(begin, along, limit, workers, bits)
        order = np.lexsort((rows, distances, questions))
        return rows[order], questions[order], distances[order], normals[order]

    def _hits(
        self, begin: Floats, along: Floats, limit: Floats, workers: int, bits: Bits
    ) -> tuple[Rows, Rows, Floats, Floats]:
        found = self.index.raycast_all(begin, along, limit * ROOM, workers=workers)
        questions = found.query_rows
        rows, questions = self._allowed(found.rows, questions, bits)
        distances, normals = self._distances(rows, begin[questions], along[questions])
        hit = np.flatnonzero((distances <= limit[questions]) & (distances < np.inf))
        return rows[hit], questions[hit], distances[hit], normals[hit]

    def _distances(self, rows: Rows, begin: Floats, along: Floats) -> tuple[Floats, Floats]:
        """Give distances and normals of the hits of single rays and rows; infinity for a miss."""
        times, normals = ray_hits(self.shapes, rows, begin, along)
        lengths = np.sqrt((along * along).sum(axis=1))
        hit = times < np.inf
        return np.where(hit, np.where(hit, times, 0.0) * lengths, np.inf), normals


def _first_of_each(rows: Rows, questions: Rows, values: Floats, count: int) -> tuple[Rows, Floats]:
    """Choose for each question the row of the least finite value, of several the least row; and that value."""
    value = np.full(count, np.inf)
    np.minimum.at(value, questions, values)
    best = np.flatnonzero((values == value[questions]) & (values < np.inf))
    index = np.full(count, np.iinfo(np.int32).max, np.int32)
    np.minimum.at(index, questions[best], rows[best])
    index[np.isinf(value)] = -1
    return index, value


def _may_touch(begin: Floats, moved: Floats, boxes: Floats, rows: Rows, questions: Rows) -> NDArray[np.bool_]:
    """Tell which moving boxes come near which boxes on their way: a little generously, because of rounding."""
    enter, leave = np.zeros(len(rows)), np.ones(len(rows))
    for axis in range(begin.shape[2]):
        motion = moved[questions, axis]
        least, most = begin[questions, 0, axis], begin[questions, 1, axis]
        low, high = boxes[rows, 0, axis], boxes[rows, 1, axis]
        room = 1e-12 * (np.abs(least) + np.abs(most) + np.abs(motion))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            one, other = (low - most - room) / motion, (high - least + room) / motion
        still = motion == 0  # it overlaps along this axis, or the box that it sweeps would not
        enter = np.where(still, enter, np.fmax(enter, np.fmin(one, other)))
        leave = np.where(still, leave, np.fmin(leave, np.fmax(one, other)))
    near: NDArray[np.bool_] = enter <= leave
    return near
