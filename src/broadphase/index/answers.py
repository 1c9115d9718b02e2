"""What questions to an index are answered with: named tuples of arrays, all of which belong to the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Answers", "Changes", "Nearest", "Outline", "RayHits", "RayHitsAll", "SweepHits"]


class Answers(NamedTuple):
    """Rows for each of q questions, one after the other.

    Attributes
    ----------
    rows : ndarray, shape (m,), int32
        The rows found, ascending within each question.
    offsets : ndarray, shape (q + 1,), int64
        The rows of question j are ``rows[offsets[j]:offsets[j + 1]]``.

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3]])
    >>> answers = index.query_points([[1.5, 1.5], [9, 9], [0, 0]])
    >>> [answers.of(question).tolist() for question in range(3)]
    [[0, 1], [], [0]]
    """

    rows: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def of(self, question: int) -> NDArray[np.int32]:
        """Rows of one question, a view."""
        return _part(self.rows, self.offsets, question)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many rows each question has, shape (q,)."""
        return np.diff(self.offsets)

    @property
    def questions(self) -> NDArray[np.int32]:
        """The question of each row, shape (m,): with `rows`, the answers as pairs."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), self.counts)


class Nearest(NamedTuple):
    """The boxes nearest to each of q points.

    Attributes
    ----------
    index : ndarray, shape (q, k), int32
        Their rows, the nearest first, of equally near ones the least row; -1 where there are no more.
    distance : ndarray, shape (q, k), float64
        How far away they are: 0 for a box that holds the point; infinite where there are no more.
    """

    index: NDArray[np.int32]  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    distance: NDArray[np.float64]


class RayHits(NamedTuple):
    """The first box on each of q rays.

    Attributes
    ----------
    index : ndarray, shape (q,), int32
        Its row, of several at one distance the least; -1 for a miss.
    distance : ndarray, shape (q,), float64
        Where the ray enters it; 0 for a ray that begins in it; infinite for a miss.
    """

    index: NDArray[np.int32]  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    distance: NDArray[np.float64]


class RayHitsAll(NamedTuple):
    """Every box on each of q rays, in the order in which the ray enters them.

    Attributes
    ----------
    rows : ndarray, shape (m,), int32
        The boxes of one ray after those of another; of several at one distance the least row first.
    offsets : ndarray, shape (q + 1,), int64
        Those of ray j are ``rows[offsets[j]:offsets[j + 1]]``.
    distances : ndarray, shape (m,), float64
        Where the ray enters each.
    """

    rows: NDArray[np.int32]
    offsets: NDArray[np.int64]
    distances: NDArray[np.float64]

    def of(self, ray: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Rows and distances of one ray, views."""
        return _part(self.rows, self.offsets, ray), _part(self.distances, self.offsets, ray)


class SweepHits(NamedTuple):
    """What each of q moving boxes touches first.

    Attributes
    ----------
    index : ndarray, shape (q,), int32
        Its row, of several at one time the least; -1 for none.
    time : ndarray, shape (q,), float64
        The share of the motion after which they touch, 0 to 1; infinite for none.
    """

    index: NDArray[np.int32]  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    time: NDArray[np.float64]


class Changes(NamedTuple):
    """The pairs that came and went between two calls.

    Attributes
    ----------
    began, ended : ndarray, shape (m, 2), int32
        Row numbers, first < second, in lexicographic order.
    """

    began: NDArray[np.int32]
    ended: NDArray[np.int32]


class Outline(NamedTuple):
    """The cells or nodes of an index, to be drawn.

    Attributes
    ----------
    lower, upper : ndarray, shape (c, d), float64
        Their corners.
    level : ndarray, shape (c,), int32
        How deep each lies: 0 for the root, or for the cells of a method that has no levels.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    level: NDArray[np.int32]


def _part(values: NDArray[Any], offsets: NDArray[np.int64], question: int) -> NDArray[Any]:
    count = len(offsets) - 1
    if not 0 <= question < count:
        raise IndexError(f"question {question} of {count}")
    return values[offsets[question] : offsets[question + 1]]
