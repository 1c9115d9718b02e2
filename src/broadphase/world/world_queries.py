"""Questions to a world about places, answered for the shapes of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase.contacts.narrow import distances, overlap_mask
from broadphase.index import asked
from broadphase.index.answers import Answers, Nearest
from broadphase.index.rows import checked_corners
from broadphase.shapes import Circle, OrientedBox, Point, Shapes, Sphere
from broadphase.world.images import images_of
from broadphase.world.state import WorldState

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase.shapes import Shape

    Bits: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.uint64]] | None
    Floats: TypeAlias = NDArray[np.float64]
    Rows: TypeAlias = NDArray[np.int32]

__all__ = ["ROOM", "WorldQueries"]

# Shapes lie in their boxes up to rounding; what is looked for among boxes reaches a little farther, and is then tested.
ROOM = 1 + 1e-9


class WorldQueries(WorldState):
    """The questions about places; see `broadphase.World` for the whole."""

    def query(self, boxes: Any, *, workers: int = 1, layer: Any = None, mask: Any = None) -> Answers:
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
        Answers
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
        lower, upper = checked_corners(boxes, "boxes", self.dimension)
        corners = np.stack([lower, upper], axis=1).astype(np.float64)
        with self._guard.reading:
            return self._overlapping(Shapes._of_boxes(self._cut(corners)), workers, layer, mask)

    def query_points(self, points: ArrayLike, *, workers: int = 1, layer: Any = None, mask: Any = None) -> Answers:
        """Find the rows whose shapes hold each point, on their border too.

        Parameters
        ----------
        points : array_like, shape (q, d)
            Finite.
        workers, layer, mask
            As in `query`.

        Returns
        -------
        Answers
            As `query`.

        Raises
        ------
        ValueError, TypeError
            As `query`.
        """
        placed = Shapes(Point(), asked.places(points, "points", self.dimension))
        with self._guard.reading:
            return self._overlapping(placed, workers, layer, mask)

    def query_ball(
        self, centers: ArrayLike, radii: ArrayLike, *, workers: int = 1, layer: Any = None, mask: Any = None
    ) -> Answers:
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
        Answers
            As `query`.

        Raises
        ------
        ValueError, TypeError
            As `query`.
        """
        places = asked.places(centers, "centers", self.dimension)
        placed = self._balls(places, asked.radii(radii, "radii", len(places)))
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
    ) -> Answers:
        """Find the rows whose shapes overlap a shape, wherever it is put.

        Parameters
        ----------
        shape : Shape
            One for all questions, or one for each.
        positions : array_like, shape (q, d) or (d,)
            Where it is put.
        rotations : array_like, optional
            How it is turned, as in `World.rotations`: angles, or quaternions w, x, y, z. Unset: not at all.
        workers, layer, mask
            As in `query`.

        Returns
        -------
        Answers
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
        >>> world.query_shape(bp.Capsule((0, 0), (5, 0), 0.5), [[0, 1.4], [-6, 0]], [0, np.pi / 2]).of(0)
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
    ) -> Answers:
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
        Answers
            As `query`.

        Raises
        ------
        ValueError, TypeError
            As `query`.
        """
        placed = self._placed(OrientedBox(2 * np.asarray(half_sizes, np.float64)), centers, rotations)
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
            ``index`` and ``distance``, each of shape (q, k), the nearest first: the distance to the shape, 0 within.
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
        >>> world.nearest([[3.5, 4]], k=2).distance.round(3)
        array([[3.031, 4.315]])
        """
        if k != int(k) or k < 1:
            raise ValueError(f"k must be a positive number, not {k!r}")
        at = asked.places(points, "points", self.dimension)
        limit = asked.limits(max_distance, "max_distance", len(at))
        bits = self._bits_of_questions(len(at), layer, mask)
        with self._guard.reading:
            bounds = self._periodic
            if bounds is None:
                return self._nearest(at, int(k), limit, bits, workers)
            # The nearest image of anything is within half a period along each axis.
            half = (bounds[1] - bounds[0]) / 2
            origin, shifts = images_of(at - half, at + half, self._around(), bounds)
            bits = None if bits is None else (bits[0][origin], bits[1][origin])
            found = self._nearest(at[origin] + shifts, int(k), limit[origin], bits, workers)
        some = found.index.ravel() >= 0
        questions = np.repeat(origin.astype(np.int32), int(k))
        return _k_nearest(found.index.ravel()[some], questions[some], found.distance.ravel()[some], int(k), limit)

    def _nearest(self, at: Floats, k: int, limit: Floats, bits: Bits, workers: int) -> Nearest:
        index, count, most = self.index, len(at), max(1, len(self))
        taken = min(k, most)
        while True:
            boxes = index.nearest(at, taken, limit, workers=workers).index
            rows, questions = self._allowed(boxes.ravel(), np.repeat(np.arange(count, dtype=np.int32), taken), bits)
            is_all = boxes[:, -1] < 0
            if taken >= most or (is_all | (np.bincount(questions, minlength=count) >= k)).all():
                break
            taken = min(taken * 4, most)  # the layers asked for are rare here
        balls, shapes = self._balls(at, np.zeros(count)), self.shapes
        near = np.maximum(distances(shapes, balls, rows, questions), 0.0)
        found = _k_nearest(rows, questions, near, k, limit)
        if taken >= most:
            return found
        # A box that is farther off may hold a shape that is nearer: but none beyond the k-th distance.
        some = np.flatnonzero(~is_all)
        within = index.query_ball(at[some], np.minimum(found.distance[some, -1], limit[some]) * ROOM, workers=workers)
        more, places = self._allowed(within.rows, some[within.questions].astype(np.int32), bits)
        rows, questions = np.concatenate([rows, more]), np.concatenate([questions, places])
        near = np.concatenate([near, np.maximum(distances(shapes, balls, more, places), 0.0)])
        return _k_nearest(rows, questions, near, k, limit)

    def _balls(self, centers: Floats, radii: Floats) -> Shapes:
        return Shapes((Circle if self.dimension == 2 else Sphere)(radii), centers)

    def _placed(self, shape: Shape, positions: ArrayLike, rotations: ArrayLike | None) -> Shapes:
        places = np.asarray(positions, np.float64)
        places = asked.places(places[np.newaxis] if places.ndim == 1 else places, "positions", self.dimension)
        if rotations is not None:
            turns = np.asarray(rotations, np.float64)
            shape_of_all = (len(places),) if self.dimension == 2 else (len(places), 4)
            rotations = np.broadcast_to(turns, shape_of_all)
        return Shapes(shape, places, rotations)

    def _cut(self, corners: Floats) -> Floats:
        """Cut boxes that are endless off beyond everything in the world, because a shape is finite."""
        if np.isfinite(corners).all():
            return corners
        least, most = self._around()
        beyond = np.maximum(most - least, 1.0)
        return np.clip(corners, least - beyond, most + beyond)

    @property
    def _periodic(self) -> Floats | None:
        """Bounds that wrap, if they do."""
        return self.bounds if self.border == "wrap" else None

    def _around(self) -> Floats:
        """Give a box around everything in the world, shape (2, d)."""
        boxes = self.shapes.boxes[self.rows]
        if not len(boxes):
            return np.zeros((2, self.dimension))
        return np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])

    def _overlapping(self, placed: Shapes, workers: int, layer: Any, mask: Any) -> Answers:
        count, boxes = len(placed), placed.boxes
        bits = self._bits_of_questions(count, layer, mask)
        if (bounds := self._periodic) is None:
            found = self.index.query(boxes, workers=workers)
            rows, questions = self._allowed(found.rows, found.questions, bits)
            hit = overlap_mask(self.shapes, placed, rows, questions)
            return _answers_of(rows[hit], questions[hit], count)
        index = self.index
        origin, shifts = images_of(boxes[:, 0], boxes[:, 1], self._around(), bounds)
        found = index.query(boxes[origin] + shifts[:, np.newaxis], workers=workers)
        bits = None if bits is None else (bits[0][origin], bits[1][origin])
        rows, images = self._allowed(found.rows, found.questions, bits)
        questions = origin[images].astype(np.int32)
        hit = overlap_mask(self.shapes, placed, rows, questions, shifts[images])
        # What is large may be met by several images of a question.
        keys = np.unique(questions[hit].astype(np.int64) << 32 | rows[hit])
        return _answers_of((keys & 0xFFFF_FFFF).astype(np.int32), (keys >> 32).astype(np.int32), count)

    def _answers(self, rows: Rows, questions: Rows, bits: Bits, count: int) -> Answers:
        return _answers_of(*self._allowed(rows, questions, bits), count)

    def _bits_of_questions(self, count: int, layer: Any, mask: Any) -> Bits:
        if layer is None and mask is None:
            return None
        names = self._layers
        return names.bits_of_questions(layer, count, "layer"), names.bits_of_questions(mask, count, "mask")

    def _allowed(self, rows: Rows, questions: Rows, bits: Bits) -> tuple[Rows, Rows]:
        """Keep the rows that layers and masks allow; -1 is none."""
        if (none := rows < 0).any():
            rows, questions = rows[~none], questions[~none]
        of_layer, of_mask = self._columns.rows.bits
        if bits is None and of_layer is None and of_mask is None:
            return rows, questions
        layers, masks = self.layers[rows], self.masks[rows]
        if bits is not None:
            layers, masks = layers & bits[1][questions], masks & bits[0][questions]
        allowed = (layers != 0) & (masks != 0)
        return rows[allowed], questions[allowed]


def _answers_of(rows: Rows, questions: Rows, count: int) -> Answers:
    """Put rows, in the order of their questions, into the form of answers."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(questions, minlength=count), out=offsets[1:])
    return Answers(rows, offsets)


def _k_nearest(rows: Rows, questions: Rows, near: Floats, k: int, limit: Floats) -> Nearest:
    """Choose the k nearest of each question, of equally near ones the least row; a row that is named twice, once."""
    count = len(limit)
    within = np.flatnonzero(near <= limit[questions])
    order = within[np.lexsort((near[within], rows[within], questions[within]))]
    same = (rows[order[1:]] == rows[order[:-1]]) & (questions[order[1:]] == questions[order[:-1]])
    order = np.delete(order, np.flatnonzero(same) + 1)
    order = order[np.lexsort((rows[order], near[order], questions[order]))]
    rows, questions, near = rows[order], questions[order], near[order]
    places = np.arange(len(rows)) - np.searchsorted(questions, np.arange(count))[questions]
    first = places < k
    found = Nearest(np.full((count, k), -1, np.int32), np.full((count, k), np.inf))
    found.index[questions[first], places[first]] = rows[first]
    found.distance[questions[first], places[first]] = near[first]
    return found
