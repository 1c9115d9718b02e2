"""How questions to a world are answered: candidates among the boxes, then the narrow phase on the shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase.index.results import Nearest, QueryResult
from broadphase.narrow.row_pairs import distances, overlap_mask
from broadphase.shapes import Circle, Shapes, Sphere
from broadphase.world.images import images_of
from broadphase.world.state import WorldState

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase.shapes import Shape

    Bits: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.uint64]] | None
    Floats: TypeAlias = NDArray[np.float64]
    Rows: TypeAlias = NDArray[np.int32]

__all__ = ["ROOM", "WorldSearches"]

# Shapes lie in their boxes up to rounding; what is looked for among boxes reaches a little farther, and is then tested.
ROOM = 1 + 1e-9


class WorldSearches(WorldState):
    """What all questions are made of; for the inside of the guard."""

    def _nearest_images(self, at: Floats, k: int, limit: Floats, bits: Bits, workers: int) -> Nearest:
        if (bounds := self._periodic) is None:
            return self._nearest(at, k, limit, bits, workers)
        # The nearest image of anything is within half a period along each axis.
        half = (bounds[1] - bounds[0]) / 2
        origin, shifts = images_of(at - half, at + half, self._around(), bounds)
        bits = None if bits is None else (bits[0][origin], bits[1][origin])
        found = self._nearest(at[origin] + shifts, k, limit[origin], bits, workers)
        some = found.rows.ravel() >= 0
        rows, near = found.rows.ravel()[some], found.distances.ravel()[some]
        questions = np.repeat(origin.astype(np.int32), k)[some]
        return _k_nearest(rows, questions, near, k, limit, has_doubles=True)

    def _nearest(self, at: Floats, k: int, limit: Floats, bits: Bits, workers: int) -> Nearest:
        index, count, most = self.index, len(at), max(1, len(self))
        taken = min(k, most)
        while True:
            boxes = index.nearest(at, taken, limit, workers=workers).rows
            places = np.flatnonzero(self._are_allowed(boxes.ravel(), np.arange(boxes.size) // taken, bits))
            questions = (places // taken).astype(np.int32)
            is_all = boxes[:, -1] < 0
            if taken >= most or (is_all | (np.bincount(questions, minlength=count) >= k)).all():
                break
            taken = min(taken * 4, most)  # the layers asked for are rare here
        rows, balls, shapes = boxes.ravel()[places], self._balls(at, np.zeros(count)), self.shapes
        near = np.maximum(distances(shapes, balls, rows, questions), 0.0)
        if taken >= most or is_all.all():
            return _k_nearest(rows, questions, near, k, limit)
        # A box that is farther off may hold a shape that is nearer: but none beyond the k-th distance.
        first = np.full(boxes.shape, np.inf)
        first.ravel()[places] = near
        first[first > limit[:, np.newaxis]] = np.inf
        first = np.sort(first, axis=1)[:, :k]
        some = np.flatnonzero(~is_all)
        within = index.query_ball(at[some], np.minimum(first[some, -1], limit[some]) * ROOM, workers=workers)
        more, asking = self._allowed(within.rows, some[within.query_rows].astype(np.int32), bits)
        rest = is_all[questions]
        rows_found, asking = np.concatenate([rows[rest], more]), np.concatenate([questions[rest], asking])
        near_found = np.concatenate([near[rest], np.maximum(distances(shapes, balls, more, asking[rest.sum() :]), 0.0)])
        found = _k_nearest(rows_found, asking, near_found, k, limit)
        if (found.distances > first).any():  # a shape that is huge, a little out of its box by rounding
            rows, questions = np.concatenate([rows, rows_found]), np.concatenate([questions, asking])
            found = _k_nearest(rows, questions, np.concatenate([near, near_found]), k, limit, has_doubles=True)
        return found

    def _balls(self, centers: Floats, radii: Floats) -> Shapes:
        return Shapes((Circle if self.dim == 2 else Sphere)(radii), centers)

    def _placed(self, shape: Shape, positions: ArrayLike, rotations: ArrayLike | None) -> Shapes:
        placed = Shapes(shape, positions, rotations)
        if placed.dim != self.dim:
            raise ValueError(f"what is asked about has {placed.dim} dimensions, and the world {self.dim}")
        return placed

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
        with self._arranging:
            self._place_displaced()
        boxes = self.shapes.boxes[self.rows]
        if not len(boxes):
            return np.zeros((2, self.dim))
        return np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])

    def _overlapping(self, placed: Shapes, workers: int, layer: Any, mask: Any) -> QueryResult:
        count, boxes = len(placed), placed.boxes
        bits = self._bits_of_questions(count, layer, mask)
        if (bounds := self._periodic) is None:
            found = self.index.query(boxes, workers=workers)
            rows, questions = self._allowed(found.rows, found.query_rows, bits)
            hit = overlap_mask(self.shapes, placed, rows, questions)
            return _answers_of(rows[hit], questions[hit], count)
        index = self.index
        origin, shifts = images_of(boxes[:, 0], boxes[:, 1], self._around(), bounds)
        found = index.query(boxes[origin] + shifts[:, np.newaxis], workers=workers)
        bits = None if bits is None else (bits[0][origin], bits[1][origin])
        rows, images = self._allowed(found.rows, found.query_rows, bits)
        questions = origin[images].astype(np.int32)
        hit = overlap_mask(self.shapes, placed, rows, questions, shifts[images])
        # What is large may be met by several images of a question.
        keys = np.unique(questions[hit].astype(np.int64) << 32 | rows[hit])
        return _answers_of((keys & 0xFFFF_FFFF).astype(np.int32), (keys >> 32).astype(np.int32), count)

    def _answers(self, rows: Rows, questions: Rows, bits: Bits, count: int) -> QueryResult:
        return _answers_of(*self._allowed(rows, questions, bits), count)

    def _bits_of_questions(self, count: int, layer: Any, mask: Any) -> Bits:
        if layer is None and mask is None:
            return None
        names = self._layers
        return names.bits_of_questions(layer, count, "layer"), names.bits_of_questions(mask, count, "mask")

    def _allowed(self, rows: Rows, questions: Rows, bits: Bits) -> tuple[Rows, Rows]:
        """Keep the rows that layers and masks allow; -1 is none."""
        allowed = self._are_allowed(rows, questions, bits)
        return (rows, questions) if allowed.all() else (rows[allowed], questions[allowed])

    def _are_allowed(self, rows: Rows, questions: NDArray[Any], bits: Bits) -> NDArray[np.bool_]:
        of_layer, of_mask = self._columns.rows.bits
        allowed: NDArray[np.bool_] = rows >= 0
        if len(self) and not (bits is None and of_layer is None and of_mask is None):
            layers, masks = self.layers[rows], self.masks[rows]
            if bits is not None:
                layers, masks = layers & bits[1][questions], masks & bits[0][questions]
            allowed &= (layers != 0) & (masks != 0)
        return allowed


def _answers_of(rows: Rows, questions: Rows, count: int) -> QueryResult:
    """Put rows, in the order of their questions, into the form of answers."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(questions, minlength=count), out=offsets[1:])
    return QueryResult(rows, offsets)


def _k_nearest(
    rows: Rows, questions: Rows, near: Floats, k: int, limit: Floats, *, has_doubles: bool = False
) -> Nearest:
    """Choose the k nearest of each question, of equally near ones the least row."""
    count = len(limit)
    within = np.flatnonzero(near <= limit[questions])
    order = within[np.lexsort((rows[within], near[within], questions[within]))]
    if has_doubles:
        order = _once(order, rows, questions)
    rows, questions, near = rows[order], questions[order], near[order]
    places = np.arange(len(rows)) - np.searchsorted(questions, np.arange(count))[questions]
    first = places < k
    found = Nearest(np.full((count, k), -1, np.int32), np.full((count, k), np.inf))
    found.rows[questions[first], places[first]] = rows[first]
    found.distances[questions[first], places[first]] = near[first]
    return found


def _once(order: NDArray[np.intp], rows: Rows, questions: Rows) -> NDArray[np.intp]:
    """Keep the first of those that are the same row of the same question."""
    keys = questions[order].astype(np.int64) << 32 | rows[order]
    kept: NDArray[np.intp] = order[np.sort(np.unique(keys, return_index=True)[1])]
    return kept
