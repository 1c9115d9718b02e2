"""What queries return: new arrays, which belong to the caller."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.arguments import as_whole
from broadphase.representations import shown
from broadphase.returned import as_given, in_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from typing_extensions import TypeVar
else:
    from typing import TypeVar

__all__ = [
    "RESULTS", "Changes", "Nearest", "Outline", "PaddedHits", "PaddedResult", "QueryResult", "RayHits", "RayHitsAll",
    "ShapecastHits", "query_rows_of", "with_columns",
]  # fmt: skip

#: A row and a number for each of many, or of one.
if TYPE_CHECKING:
    Row = TypeVar("Row", default=NDArray[np.int32])
    Number = TypeVar("Number", default=NDArray[np.float64])
else:
    Row, Number = TypeVar("Row"), TypeVar("Number")

_MOST_NUMBERS = 2**48  # of an array; beyond 2**60, NumPy says something else than that there is no memory


@shown
class PaddedResult(NamedTuple):
    """The rows found by each of q queries in a table of a fixed shape; see `QueryResult.padded`.

    Attributes
    ----------
    rows : ndarray, shape (q, width), int32
        The first rows of each query, then the fill value.
    counts : ndarray, shape (q,), int64
        Number of rows that each query found; more than `width` if some are missing.
    """

    rows: NDArray[np.int32]
    counts: NDArray[np.int64]


@shown
class PaddedHits(NamedTuple):
    """The rows on each of q rays in tables of a fixed shape; see `RayHitsAll.padded`.

    Attributes
    ----------
    rows : ndarray, shape (q, width), int32
        The first rows on each ray, then the fill value.
    distances : ndarray, shape (q, width), float64
        Distance at which the ray enters each; then infinity.
    counts : ndarray, shape (q,), int64
        Number of rows on each ray; more than `width` if some are missing.
    """

    rows: NDArray[np.int32]
    distances: NDArray[np.float64]
    counts: NDArray[np.int64]


@shown
class QueryResult:
    """The rows found by each of q queries, as a sequence of arrays: ``result[i]`` has the rows of query i.

    Attributes
    ----------
    rows : ndarray, shape (m,), int32
        The rows of all queries, one query after another, ascending within each.
    offsets : ndarray, shape (q + 1,), int64
        The rows of query i are ``rows[offsets[i]:offsets[i + 1]]``.

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3]])
    >>> result = index.query_points([[1.5, 1.5], [9, 9], [0, 0]])
    >>> result[0]
    array([0, 1], dtype=int32)
    >>> [rows.tolist() for rows in result]
    [[0, 1], [], [0]]
    >>> result.rows, result.query_rows
    (array([0, 1, 0], dtype=int32), array([0, 0, 2], dtype=int32))
    """

    __slots__ = ("offsets", "rows")

    def __init__(self, rows: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        self.rows = rows
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, query: int) -> NDArray[np.int32]:
        begin, end = _range_of(self.offsets, query)
        return self.rows[begin:end]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        offsets = self.offsets.tolist()
        return (self.rows[begin:end] for begin, end in pairwise(offsets))

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows of each query, shape (q,)."""
        return self.offsets[1:] - self.offsets[:-1]

    @property
    def query_rows(self) -> NDArray[np.int32]:
        """Number of the query that found each of `rows`, shape (m,)."""
        return as_given(self.rows, query_rows_of(np.asarray(self.offsets)))

    def padded(self, width: int, fill: int = -1) -> PaddedResult:
        """Return the result in one shape, whatever the queries found, as ``jax.jit`` and ``torch.compile`` need it.

        O(q width) time.

        Parameters
        ----------
        width : int
            Number of columns, 0 or more: room for so many rows of each query, the lowest ones if there are more.
        fill : int
            Fills the table after the last row. Any int32.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3]])
        >>> index.query_points([[1.5, 1.5], [9, 9], [0, 0]]).padded(3).rows
        array([[ 0,  1, -1], [-1, -1, -1], [ 0, -1, -1]], dtype=int32)
        """
        offsets = np.asarray(self.offsets)
        return as_given(self.rows, PaddedResult(_padded_rows(self.rows, offsets, width, fill), np.diff(offsets)))


@shown
class Nearest(NamedTuple):
    """The rows nearest to each of q points, or to one.

    Attributes
    ----------
    rows : ndarray, shape (q, k), of one point (k,), int32
        The nearest first, of equally near ones the lower row first; -1 where there are fewer than k.
    distances : ndarray, shape (q, k), of one point (k,), float64
        Distance to each; 0 for a row that contains the point; infinite where there are fewer than k.
    """

    rows: NDArray[np.int32]
    distances: NDArray[np.float64]


@shown
class RayHits(NamedTuple, Generic[Row, Number]):
    """The first row on each of q rays, or on one.

    Attributes
    ----------
    rows : ndarray, shape (q,), int32; of one ray int
        The row that is hit first, of several at one distance the lowest; -1 for a miss.
    distances : ndarray, shape (q,), float64; of one ray float
        Distance at which the ray enters it; 0 for a ray that begins inside; infinite for a miss.
    """

    rows: Row
    distances: Number


@shown
class RayHitsAll:
    """Every row on each of q rays, as a sequence: ``hits[i]`` has the rows and the distances of ray i.

    Attributes
    ----------
    rows : ndarray, shape (m,), int32
        The rows of all rays, one ray after another, in the order in which the ray enters them; of several at one
        distance, the lower row first.
    offsets : ndarray, shape (q + 1,), int64
        The rows of ray i are ``rows[offsets[i]:offsets[i + 1]]``.
    distances : ndarray, shape (m,), float64
        Distance at which the ray enters each of `rows`.
    """

    __slots__ = ("distances", "offsets", "rows")

    def __init__(self, rows: NDArray[np.int32], offsets: NDArray[np.int64], distances: NDArray[np.float64]) -> None:
        self.rows = rows
        self.offsets = offsets
        self.distances = distances

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, ray: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        begin, end = _range_of(self.offsets, ray)
        return self.rows[begin:end], self.distances[begin:end]

    def __iter__(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        return (self[ray] for ray in range(len(self)))

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows on each ray, shape (q,)."""
        return self.offsets[1:] - self.offsets[:-1]

    @property
    def query_rows(self) -> NDArray[np.int32]:
        """Number of the ray that hits each of `rows`, shape (m,)."""
        return as_given(self.rows, query_rows_of(np.asarray(self.offsets)))

    def padded(self, width: int, fill: int = -1) -> PaddedHits:
        """Return the first hits of each ray in one shape; see `QueryResult.padded`."""
        offsets, reach = np.asarray(self.offsets), np.asarray(self.distances)
        rows = _padded_rows(self.rows, offsets, width, fill)
        distances: Any = _native.padded_values(reach.astype(np.float64, copy=False), offsets, rows.shape[1], np.inf)
        return as_given(self.rows, PaddedHits(rows, in_dtype(distances, reach.dtype), np.diff(offsets)))


@shown
class ShapecastHits(NamedTuple, Generic[Row, Number]):
    """The first row that each of q moving boxes or shapes touches, or that one does.

    Attributes
    ----------
    rows : ndarray, shape (q,), int32; of one box or shape int
        The row that is touched first, of several at one time the lowest; -1 for none.
    times : ndarray, shape (q,), float64; of one box or shape float
        Fraction of the motion after which they touch, 0 to 1; infinite for none.
    """

    rows: Row
    times: Number


@shown
class Changes(NamedTuple):
    """The pairs that began to overlap, and those that no longer overlap, since the last call.

    Attributes
    ----------
    enter, exit : ndarray, shape (m, 2), int32
        Row numbers, first < second, in lexicographic order.
    """

    enter: NDArray[np.int32]
    exit: NDArray[np.int32]


@shown
class Outline(NamedTuple):
    """The cells or nodes of an index, to be drawn.

    Attributes
    ----------
    lower, upper : ndarray, shape (c, d), float64
        Their corners.
    level : ndarray, shape (c,), int32
        Depth of each: 0 for the root, or for the cells of a method without levels.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    level: NDArray[np.int32]


#: Those of queries, in the order in which the core takes them.
RESULTS = (QueryResult, Nearest, RayHits, RayHitsAll, ShapecastHits)


def query_rows_of(offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the number of the query of each row, (m,), of which query i found ``offsets[i]`` to ``offsets[i + 1]``."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))


def with_columns(found: Nearest, k: int) -> Nearest:
    """Return a result with k columns: those that it has, which are not more, then -1 and infinity."""
    *count, there = found.rows.shape
    if there == k:
        return found
    if math.prod(count) * k > _MOST_NUMBERS:
        raise MemoryError(f"a result of {math.prod(count)} rows and {k} columns does not fit in memory")
    rows, distances = np.full((*count, k), -1, np.int32), np.full((*count, k), np.inf)
    rows[..., :there], distances[..., :there] = found
    return Nearest(rows, distances)


def _padded_rows(rows: NDArray[np.int32], offsets: NDArray[np.int64], width: int, fill: int) -> NDArray[np.int32]:
    columns, filled = as_whole(width, "width", 0, 2**63 - 1), as_whole(fill, "fill", -(2**31), 2**31 - 1)
    table: Any = _native.padded_values(np.ascontiguousarray(rows), offsets, columns, filled)
    padded: NDArray[np.int32] = table
    return padded


def _range_of(offsets: NDArray[np.int64], query: int) -> tuple[int, int]:
    count = len(offsets) - 1
    place = query + count if query < 0 else query
    if not 0 <= place < count:
        raise IndexError(f"query {query} is out of range: there are {count}")
    return int(offsets[place]), int(offsets[place + 1])
