"""Every overlapping pair of one set of boxes, or of two: at once, counted, or a portion at a time."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.boxes.forms import as_corners, find_invalid
from broadphase.errors import InvalidBoxError, TooManyPairsError
from broadphase.filters import make_filter, without_invalid
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["count_pairs", "iter_pairs", "pairs"]

_NO_LIMIT = 2**64 - 1
_MOST_BOXES = 2**31 - 64
_METHODS = dict(_native.Method.__members__)


def pairs(
    boxes: Any,
    other: Any = None,
    *,
    method: str = "auto",
    workers: int = 1,
    sort: bool = False,
    touching: bool = True,
    margin: float = 0.0,
    layer: Any = None,
    mask: Any = None,
    group: Any = None,
    static: Any = None,
    ignore_pairs: Any = None,
    ignore_shared: Any = None,
    max_pairs: int | None = None,
    invalid: str = "raise",
) -> NDArray[np.int32]:
    """Find every pair of overlapping boxes.

    Boxes are closed: boxes that only touch overlap (see `touching`). With `other`, find every pair of a box of the
    first set and a box of the second.

    Parameters
    ----------
    boxes, other : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
        Lower and upper corner of each box, any one length unit, d = 1 to 4. float32 and float64 are taken as they are,
        integers as float64; if the two sets differ, both as float64. Any strides; never modified. Corners may be
        infinite.
    method : str
        "auto", or a name in ``bp.METHODS``. The answer does not depend on it.
    workers : int
        Threads to use; -1 for one per core. The answer does not depend on it.
    sort : bool
        Order the pairs by their first, then by their second number.
    touching : bool
        False: only boxes whose interiors meet, so that boxes that share no more than a border are not a pair, and
        a box of zero width is in none.
    margin : float
        Each box is first grown by ``margin / 2`` on every side (rounded once, in the boxes' dtype).
    layer, mask : array_like of uint64, shape (n,), or int, optional
        A pair counts if each one's mask has a bit in common with the other's layer. Unset: all bits.
        With `other`, this and the next four are tuples (for `boxes`, for `other`).
    group : array_like of int, shape (n,), optional
        Two boxes in the same group other than 0: a pair if positive, whatever the masks; none if negative.
    static : array_like of bool, shape (n,), optional
        Two static boxes are never a pair.
    ignore_pairs : array_like of int, shape (k, 2), optional
        Pairs to leave out. Not a tuple of two.
    ignore_shared : array_like of int, shape (n, k) or (n,), optional
        Numbers of what each box is made of, such as the vertices of a triangle: pairs with one in common are left out.
    max_pairs : int, optional
        Raise as soon as there are more.
    invalid : {"raise", "skip"}
        What to do with boxes that have NaN or lower > upper. "skip" leaves them out with a warning; the numbers of the
        others stay.

    Returns
    -------
    pairs : ndarray, shape (m, 2), int32
        Row numbers, first < second, each pair once; with `other`, row of `boxes` and row of `other`. A new array, made
        of two contiguous columns. Without `sort`, in an order that is the same on every run.

    Raises
    ------
    ValueError
        Wrong shape or option; as `InvalidBoxError`, NaN or lower > upper, with the first bad row.
    TypeError
        A dtype that is not a real number of at most 64 bits.
    TooManyPairsError
        More than `max_pairs`.
    MemoryError
        The pairs do not fit; see `iter_pairs`.

    See Also
    --------
    count_pairs : Only their number.
    iter_pairs : More pairs than memory holds.
    explain : Which method "auto" takes, and why.

    Notes
    -----
    Exact: no pair is missed and none is extra. O(n + m) for boxes of like sizes; memory below 64 bytes a box besides
    the result. Releases the GIL; Ctrl-C works. Threads are made for the call and end with it.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.pairs([[[0, 0], [2, 2]], [[1, 1], [3, 3]], [[9, 9], [9, 9]]])
    array([[0, 1]], dtype=int32)
    """
    question = ask(boxes, other, method, workers, touching, margin, invalid,
                    layer, mask, group, static, ignore_pairs, ignore_shared)  # fmt: skip
    try:
        found: Any = _native.pairs(*question.arguments, sort, pair_limit(max_pairs))
    except _native.InvalidBoxes:
        raise question.invalid_box() from None
    except _native.TooManyPairs:
        raise TooManyPairsError(f"there are more than max_pairs={max_pairs} pairs") from None
    return question.rows_of_input(found)


def count_pairs(
    boxes: Any,
    other: Any = None,
    *,
    method: str = "auto",
    workers: int = 1,
    touching: bool = True,
    margin: float = 0.0,
    layer: Any = None,
    mask: Any = None,
    group: Any = None,
    static: Any = None,
    ignore_pairs: Any = None,
    ignore_shared: Any = None,
    invalid: str = "raise",
) -> int:
    """Count the pairs of overlapping boxes, in memory that does not depend on their number.

    Parameters
    ----------
    boxes, other, method, workers, touching, margin, layer, mask, group, static, ignore_pairs, ignore_shared, invalid
        As in `pairs`.

    Returns
    -------
    int
        What ``len(pairs(...))`` would be, also far beyond 2**31.

    Raises
    ------
    ValueError, TypeError
        As `pairs`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.count_pairs([[0, 0, 1, 1]] * 1000)
    499500
    """
    question = ask(boxes, other, method, workers, touching, margin, invalid,
                    layer, mask, group, static, ignore_pairs, ignore_shared)  # fmt: skip
    try:
        return _native.count(*question.arguments)
    except _native.InvalidBoxes:
        raise question.invalid_box() from None


def iter_pairs(
    boxes: Any,
    other: Any = None,
    *,
    chunk: int = 1_000_000,
    method: str = "auto",
    workers: int = 1,
    touching: bool = True,
    margin: float = 0.0,
    layer: Any = None,
    mask: Any = None,
    group: Any = None,
    static: Any = None,
    ignore_pairs: Any = None,
    ignore_shared: Any = None,
    invalid: str = "raise",
) -> Iterator[NDArray[np.int32]]:
    """Find the pairs of overlapping boxes a chunk at a time, for more pairs than memory holds.

    The input is checked and copied at the call, so that it may be edited while the pairs are read.

    Parameters
    ----------
    boxes, other, method, touching, margin, layer, mask, group, static, ignore_pairs, ignore_shared, invalid
        As in `pairs`.
    chunk : int
        The most pairs to hold at a time. All chunks but the last have so many.
    workers : int
        Threads for the preparation; the chunks are then found one after the other.

    Yields
    ------
    ndarray, shape (k, 2), int32
        The next pairs, in the order of ``pairs(..., sort=False)``.

    Raises
    ------
    ValueError, TypeError
        As `pairs`, at the call and not at the first step.

    Examples
    --------
    >>> import broadphase as bp
    >>> [len(ij) for ij in bp.iter_pairs([[0, 0, 1, 1]] * 100, chunk=2000)]
    [2000, 2000, 950]
    """
    if chunk < 1:
        raise ValueError(f"chunk must be at least 1, not {chunk}")
    filters = copy.deepcopy((layer, mask, group, static, ignore_pairs, ignore_shared))
    question = ask(boxes, other, method, workers, touching, margin, invalid, *filters).with_own_arrays()
    try:
        stream = _native.PairStream(*question.arguments)
    except _native.InvalidBoxes:
        raise question.invalid_box() from None
    return _chunks(stream, question, chunk)


def _chunks(stream: _native.PairStream, question: _Question, chunk: int) -> Iterator[NDArray[np.int32]]:
    rest = np.empty((0, 2), np.int32)
    while True:
        found = question.rows_of_input(stream.next(chunk - len(rest)))
        if len(found) == 0:
            break
        rest = np.concatenate([rest, found]) if len(rest) else found
        while len(rest) >= chunk:
            yield rest[:chunk]
            rest = rest[chunk:]
    if len(rest):
        yield rest


class _Question(NamedTuple):
    """The core's arguments, and what is needed to speak to the caller in the caller's row numbers."""

    arguments: tuple[Any, Any, Any, Any, Any, bool, float, Any, int]
    kept_rows: tuple[NDArray[np.int64] | None, NDArray[np.int64] | None] = (None, None)

    @property
    def corners(self) -> tuple[Any, ...]:
        return self.arguments[1:5]

    def rows_of_input(self, found: Any) -> NDArray[np.int32]:
        first, second = self.kept_rows
        if first is not None:
            found[:, 0] = first[found[:, 0]]
        if second is not None:
            found[:, 1] = second[found[:, 1]]
        kept: NDArray[np.int32] = found
        return kept

    def with_own_arrays(self) -> _Question:
        method, *corners = self.arguments[:5]
        copies = [None if corner is None else corner.copy() for corner in corners]
        return self._replace(arguments=(method, *copies, *self.arguments[5:]))

    def invalid_box(self) -> InvalidBoxError:
        lower, upper, other_lower, other_upper = self.corners
        for name, corners in (("boxes", (lower, upper)), ("other", (other_lower, other_upper))):
            if corners[0] is None:
                continue
            rows, reasons = find_invalid(corners, limit=1)
            if len(rows):
                more = f" ({len(rows) - 1} more such rows)" if len(rows) > 1 else ""
                return InvalidBoxError(f"{name}: {reasons[0]}{more}", row=int(rows[0]))
        return InvalidBoxError("the boxes were changed while they were read")


def ask(
    boxes: Any, other: Any, method: str, workers: int, touching: bool, margin: float, invalid: str, *filters: Any
) -> _Question:
    lower, upper = as_corners(boxes)
    other_lower = other_upper = None
    if other is not None:
        other_lower, other_upper = as_corners(other, name="other", empty_dim=lower.shape[1])
        if other_lower.shape[1] != lower.shape[1]:
            if len(lower):
                raise ValueError(f"boxes have {lower.shape[1]} dimensions and other has {other_lower.shape[1]}")
            lower = upper = np.empty((0, other_lower.shape[1]), lower.dtype)
        if other_lower.dtype != lower.dtype:
            lower, upper, other_lower, other_upper = (
                corner.astype(np.float64, copy=False) for corner in (lower, upper, other_lower, other_upper)
            )
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(_METHODS)}, not {method!r}")
    if workers != 1:
        workers = worker_count(workers)
    if margin != 0.0 and not 0.0 <= margin / 2 <= np.finfo(lower.dtype).max:
        raise ValueError(f"margin must not be negative, and half of it must be a finite {lower.dtype}, not {margin}")
    first_rows = second_rows = None
    if invalid != "raise":
        if invalid != "skip":
            raise ValueError(f'invalid must be "raise" or "skip", not {invalid!r}')
        filters, (lower, upper, first_rows), (other_lower, other_upper, second_rows) = without_invalid(
            filters, (lower, upper), (other_lower, other_upper)
        )
        if other_lower is None:
            second_rows = first_rows
    if len(lower) > _MOST_BOXES or (other_lower is not None and len(other_lower) > _MOST_BOXES):
        raise ValueError(f"at most {_MOST_BOXES} boxes a set: row numbers are int32")
    counts = (len(lower),) if other_lower is None else (len(lower), len(other_lower))
    return _Question(
        (_METHODS[method], lower, upper, other_lower, other_upper, bool(touching), margin,
         make_filter(counts, *filters), workers),
        (first_rows, second_rows),
    )  # fmt: skip


def pair_limit(max_pairs: int | None) -> int:
    """Turn ``max_pairs=`` into the core's number."""
    if max_pairs is None:
        return _NO_LIMIT
    if max_pairs < 0:
        raise ValueError(f"max_pairs must not be negative, not {max_pairs}")
    return int(max_pairs)
