"""The overlapping pairs of one set of boxes, or of two: all at once, counted, or a chunk at a time."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, overload

import numpy as np

from broadphase import _native
from broadphase.arguments import as_flag, as_real, as_whole, is_on_device
from broadphase.batches import batched_rows
from broadphase.boxes.forms import Boxes, advice_on_invalid, as_corners, as_rows, find_invalid
from broadphase.errors import InvalidBoxError, TooManyPairsError, clipped, unknown_name
from broadphase.filters import NO_FILTER, PairFilter, filter_of, without_invalid
from broadphase.periods import out_of_cell, periods_of
from broadphase.progress import Progress, reporting, searching
from broadphase.representations import html_facts
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase.filters import ByRow
    from broadphase.periods import Period

__all__ = [
    "DeviceExplanation", "Explanation", "MethodName", "PaddedPairs", "count_pairs", "explain", "iter_pairs", "pairs",
]  # fmt: skip

#: What ``method=`` takes.
MethodName: TypeAlias = Literal["auto", "brute_force", "sweep_and_prune", "grid", "linear_tree", "bvh", "octree"]

NO_LIMIT = 2**64 - 1
_MOST_BOXES = 2**31 - 64
_METHODS = dict(_native.Method.__members__)


class PaddedPairs(NamedTuple):
    """Pairs in memory of a fixed size; the result of `pairs` with ``capacity=``.

    Attributes
    ----------
    pairs : array, shape (capacity, 2), int32
        Row numbers; -1 behind the last pair.
    count : int32
        How many pairs there are; more than `capacity` if some are missing. For boxes on a device it is there too, an
        array of shape (), or of shape (1,) of Warp; ``-1 - row`` if the box of that row is invalid.
    """

    pairs: Any
    count: Any


@overload
def pairs(
    boxes: Boxes,
    other: Boxes | None = None,
    *,
    method: MethodName = "auto",
    workers: int = 1,
    sort: bool = False,
    touching: bool = True,
    margin: float = 0.0,
    layer: ByRow = None,
    mask: ByRow = None,
    group: ByRow = None,
    static: ByRow = None,
    ignore_pairs: ArrayLike | None = None,
    ignore_shared: ByRow = None,
    batch: ByRow = None,
    period: Period = None,
    max_pairs: int | None = None,
    capacity: None = None,
    invalid: Literal["raise", "skip"] = "raise",
    progress: Progress = None,
) -> NDArray[np.int32]: ...


@overload
def pairs(
    boxes: Boxes,
    other: Boxes | None = None,
    *,
    method: MethodName = "auto",
    workers: int = 1,
    sort: bool = False,
    touching: bool = True,
    margin: float = 0.0,
    layer: ByRow = None,
    mask: ByRow = None,
    group: ByRow = None,
    static: ByRow = None,
    ignore_pairs: ArrayLike | None = None,
    ignore_shared: ByRow = None,
    batch: ByRow = None,
    period: Period = None,
    max_pairs: int | None = None,
    capacity: int,
    invalid: Literal["raise", "skip"] = "raise",
    progress: Progress = None,
) -> PaddedPairs: ...


def pairs(
    boxes: Boxes,
    other: Boxes | None = None,
    *,
    method: MethodName = "auto",
    workers: int = 1,
    sort: bool = False,
    touching: bool = True,
    margin: float = 0.0,
    layer: ByRow = None,
    mask: ByRow = None,
    group: ByRow = None,
    static: ByRow = None,
    ignore_pairs: ArrayLike | None = None,
    ignore_shared: ByRow = None,
    batch: ByRow = None,
    period: Period = None,
    max_pairs: int | None = None,
    capacity: int | None = None,
    invalid: Literal["raise", "skip"] = "raise",
    progress: Progress = None,
) -> NDArray[np.int32] | PaddedPairs:
    """Find every pair of overlapping boxes.

    Boxes are closed: boxes that only touch overlap (see `touching`). With `other`, find every pair of a box of the
    first set and a box of the second. Boxes on a CUDA device are searched there, and the pairs are an array of the same
    library on the same device: see `broadphase.gpu.pairs`.

    Parameters
    ----------
    boxes, other : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
        Lower and upper corner of each box, any one length unit, d = 1 to 4. float32 and float64 are used as they are,
        and so are int32 and int64 of shape (n, 2, 1) without `batch`; other integers are converted to float64, and so
        are two sets of different dtypes. Any strides; never modified. Corners may be infinite. Also tensors, Arrow
        data, DataFrames by the names of their columns, and geometries or anything else with ``bounds``: the table in
        docs/boxes.md has all.
    method : str
        "auto", or a name in ``bp.METHODS``. Does not change the result.
    workers : int
        Threads to use; -1 for one per core. Does not change the result.
    sort : bool
        Sort the pairs by their first, then by their second row.
    touching : bool
        False: only boxes whose interiors overlap are a pair; boxes that share only a border are not, and a box of zero
        width is in no pair.
    margin : float
        Each box is first grown by ``margin / 2`` on every side (rounded once, in the boxes' dtype).
    layer, mask : array_like of uint64, shape (n,), or int, optional
        A pair counts if each one's mask has a bit in common with the other's layer. Default: all bits.
        With `other`, this and the next two and `ignore_shared` are tuples (for `boxes`, for `other`).
    group : array_like of int, shape (n,), optional
        Two boxes in the same group other than 0: a pair if positive, whatever the masks; none if negative.
    static : array_like of bool, shape (n,), optional
        Two static boxes are never a pair.
    ignore_pairs : array_like of int, shape (k, 2), optional
        Pairs to ignore, as rows; with `other`, row of `boxes` and row of `other`.
    ignore_shared : array_like of int, shape (n, k) or (n,), optional
        Numbers of the parts of each box, such as the vertices of a triangle: pairs with a common part are ignored.
    batch : array_like of int, shape (n,), or int, optional
        A key for each box, any int64: boxes of different keys are never compared. With `other`, a tuple (for `boxes`,
        for `other`). Arrays of shape (E, n, 2, d) are E batches of n, where box i of batch e is row ``e * n + i``.
    period : float, or sequence of float, shape (d,), optional
        Edge lengths of a periodic cell: what lies at x also lies at ``x + k * period`` for every whole k, along each
        axis. Infinite, or None, for axes that do not repeat; one number for all axes. Two boxes are a pair, once, if
        any images of them overlap; a box is no pair with its own images. Boxes may lie outside of the cell, and may be
        wider than it. Default: open space.
    max_pairs : int, optional
        Raise TooManyPairsError as soon as there are more. Until then, each worker holds at most about
        ``16 * max_pairs`` bytes of pairs.
    capacity : int, optional
        Return `PaddedPairs`: room for `capacity` pairs, and how many there are.
    invalid : {"raise", "skip"}
        What to do with boxes that have NaN or lower > upper. "skip" ignores them with a warning; the rows of the others
        stay the same.
    progress : bool or callable, optional
        True: print on stderr how far the search has come, and the time that is left. Or a function, called now and
        then in this thread with the name of a stage ("prepare", "find"), how many boxes are done in it, and how many
        there are; what it raises ends the call. Default: neither.

    Returns
    -------
    pairs : ndarray, shape (m, 2), int32
        Row numbers, first < second, each pair once; with `other`, row of `boxes` and row of `other`. A new array of
        two contiguous columns. Without `sort`, in an order that is the same in every run. With `capacity`,
        `PaddedPairs`.

    Raises
    ------
    ValueError, TypeError
        Wrong shape, unknown option, or a dtype that is not a real number of at most 64 bits; InvalidBoxError for NaN or
        lower > upper, with the first bad row.
    TooManyPairsError, MemoryError
        More than `max_pairs`; more pairs than fit into memory, see `iter_pairs`.

    See Also
    --------
    count_pairs : Only the number of pairs.
    iter_pairs : For more pairs than fit into memory.
    explain : Which method "auto" chooses, and why.

    Notes
    -----
    Exact: no pair is missed and none is extra. O(n + m) time for boxes of similar sizes; less than 64 bytes a box
    besides the result. Releases the GIL; Ctrl-C works. Threads are started for the call and end with it. With `batch`,
    each batch is searched by itself: small ones are compared pair by pair, larger ones by `method`, which "auto"
    chooses for each of them. O(n) more time where the keys do not ascend.

    With `period`, exact sums of the numbers given decide, after `margin` was added: no image is rounded, however far
    away. Boxes are copied to their places in the cell; those that cross a face are searched once more below it.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.pairs([[[0, 0], [2, 2]], [[1, 1], [3, 3]], [[9, 9], [9, 9]]])
    array([[0, 1]], dtype=int32)

    Two scenes in the same place:

    >>> bp.pairs([[0, 0, 2, 2], [1, 1, 3, 3], [0, 0, 2, 2], [1, 1, 3, 3]], batch=[7, 8, 8, 8])
    array([[1, 2], [1, 3], [2, 3]], dtype=int32)

    Across the border of a cell that repeats every 10 along the first axis:

    >>> bp.pairs([[0, 0, 1, 1], [9, 0, 10, 1], [5, 0, 6, 1]], period=[10, None])
    array([[0, 1]], dtype=int32)
    """
    if type(boxes) is not np.ndarray and is_on_device(boxes):
        _refuse_on_device(method, workers, ignore_pairs, period, progress)
        from broadphase.gpu.pairs import pairs as on_device  # imported where there is a device

        made: NDArray[np.int32] | PaddedPairs = on_device(
            boxes,
            other,
            sort=sort,
            touching=touching,
            margin=margin,
            layer=layer,
            mask=mask,
            group=group,
            static=static,
            ignore_shared=ignore_shared,
            batch=batch,
            max_pairs=max_pairs,
            capacity=capacity,
            invalid=invalid,
        )
        return made
    pair_filter = filter_of(layer, mask, group, static, ignore_pairs, ignore_shared)
    search: _Search | _WholeSearch | None = None
    if type(boxes) is np.ndarray and boxes.dtype.kind == "i" and margin == 0 and batch is period is progress is None:
        search = _whole_intervals(boxes, other, method, workers, touching, invalid, pair_filter)
    if search is None:
        search = prepare(boxes, other, method, workers, touching, margin, invalid, pair_filter, batch, period)
    room = None if capacity is None else capacity_of(capacity, max_pairs)
    try:
        if isinstance(search, _WholeSearch):
            whole: Any = _native.interval_pairs(*search.arguments, as_flag(sort, "sort"), pair_limit(max_pairs))
            return whole if room is None else _padded(whole, room)
        arguments = *search.arguments, as_flag(sort, "sort"), pair_limit(max_pairs), search.periods
        if progress is None:
            found: Any = _native.pairs(*arguments)
        else:
            with reporting(progress) as told, searching(told, "find", search.box_count, "prepare"):
                found = _native.pairs(*arguments)
    except _native.InvalidBoxes:
        raise search.invalid_box() from None
    except _native.TooManyPairs:
        raise TooManyPairsError(f"there are more than max_pairs={max_pairs} pairs") from None
    rows = search.rows_of_input(found)
    return rows if room is None else _padded(rows, room)


def capacity_of(capacity: int, max_pairs: int | None) -> int:
    """Check ``capacity=``, which does not go with ``max_pairs=``."""
    if max_pairs is not None:
        raise ValueError("max_pairs and capacity are two ways to limit pairs; give one")
    return as_whole(capacity, "capacity", 0, 2**31 - 1)


def _padded(found: NDArray[np.int32], capacity: int) -> PaddedPairs:
    padded = np.full((capacity, 2), -1, np.int32)
    padded[: len(found)] = found[:capacity]
    return PaddedPairs(padded, np.int32(min(len(found), np.iinfo(np.int32).max)))


def _refuse_on_device(method: Any, workers: Any, ignore_pairs: Any, period: Any, progress: Any) -> None:
    """Raise ValueError for options that boxes in host memory have, and those on a device have not."""
    advice = {
        "method": (method != "auto", "a device has one method; leave it out"),
        "workers": (workers != 1, "a device uses no threads of the host; leave it out"),
        "ignore_pairs": (
            ignore_pairs is not None,
            "use group=, of which rows with one negative number are no pairs, or ignore_shared=",
        ),
        "period": (period is not None, "use broadphase.gpu.neighbors for points, or copy the boxes to host memory"),
        "progress": (progress not in (None, False), "a device does not report progress; leave it out"),
    }
    for name, (is_given, instead) in advice.items():
        if is_given:
            raise ValueError(f"{name} is not for boxes on a device: {instead}")


def count_pairs(
    boxes: Boxes,
    other: Boxes | None = None,
    *,
    method: MethodName = "auto",
    workers: int = 1,
    touching: bool = True,
    margin: float = 0.0,
    layer: ByRow = None,
    mask: ByRow = None,
    group: ByRow = None,
    static: ByRow = None,
    ignore_pairs: ArrayLike | None = None,
    ignore_shared: ByRow = None,
    batch: ByRow = None,
    period: Period = None,
    invalid: Literal["raise", "skip"] = "raise",
    progress: Progress = None,
) -> int:
    """Count the pairs of overlapping boxes, in memory that does not depend on their number.

    Boxes on a CUDA device are counted there.

    Parameters
    ----------
    boxes, other, method, workers, touching, margin, invalid, progress
        As in `pairs`.
    layer, mask, group, static, ignore_pairs, ignore_shared, batch, period
        As in `pairs`.

    Returns
    -------
    int
        The same as ``len(pairs(...))``, also far beyond 2**31.

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
    if type(boxes) is not np.ndarray and is_on_device(boxes):
        _refuse_on_device(method, workers, ignore_pairs, period, progress)
        from broadphase.gpu.pairs import count_pairs as on_device

        return on_device(
            boxes,
            other,
            touching=touching,
            margin=margin,
            layer=layer,
            mask=mask,
            group=group,
            static=static,
            ignore_shared=ignore_shared,
            batch=batch,
            invalid=invalid,
        )
    pair_filter = filter_of(layer, mask, group, static, ignore_pairs, ignore_shared)
    search: _Search | _WholeSearch | None = None
    if type(boxes) is np.ndarray and boxes.dtype.kind == "i" and margin == 0 and batch is period is progress is None:
        search = _whole_intervals(boxes, other, method, workers, touching, invalid, pair_filter)
    if search is None:
        search = prepare(boxes, other, method, workers, touching, margin, invalid, pair_filter, batch, period)
    try:
        if isinstance(search, _WholeSearch):
            return _native.count_intervals(*search.arguments)
        if progress is None:
            return _native.count(*search.arguments, search.periods)
        with reporting(progress) as told, searching(told, "find", search.box_count, "prepare"):
            return _native.count(*search.arguments, search.periods)
    except _native.InvalidBoxes:
        raise search.invalid_box() from None


def iter_pairs(
    boxes: Boxes,
    other: Boxes | None = None,
    *,
    chunk: int = 1_000_000,
    method: MethodName = "auto",
    workers: int = 1,
    touching: bool = True,
    margin: float = 0.0,
    layer: ByRow = None,
    mask: ByRow = None,
    group: ByRow = None,
    static: ByRow = None,
    ignore_pairs: ArrayLike | None = None,
    ignore_shared: ByRow = None,
    batch: ByRow = None,
    period: Period = None,
    invalid: Literal["raise", "skip"] = "raise",
) -> Iterator[NDArray[np.int32]]:
    """Find the pairs of overlapping boxes a chunk at a time, for more pairs than fit into memory.

    The input is checked and copied at the call, so that it may be edited while the pairs are read.

    Parameters
    ----------
    boxes, other, method, touching, margin, invalid
        As in `pairs`, and so are errors, which are raised at the call.
    layer, mask, group, static, ignore_pairs, ignore_shared, batch, period
        As in `pairs`.
    chunk : int
        Number of pairs in each chunk; the last may have fewer.
    workers : int
        Threads for the preparation; chunks are then found one after the other.

    Yields
    ------
    ndarray, shape (k, 2), int32
        The next pairs, in the order of ``pairs(..., sort=False)``.

    Examples
    --------
    >>> import broadphase as bp
    >>> [len(ij) for ij in bp.iter_pairs([[0, 0, 1, 1]] * 100, chunk=2000)]
    [2000, 2000, 950]
    """
    chunk = as_whole(chunk, "chunk", 1)
    pair_filter = copy.deepcopy(filter_of(layer, mask, group, static, ignore_pairs, ignore_shared))
    search = prepare(
        boxes, other, method, workers, touching, margin, invalid, pair_filter, batch, period
    ).with_own_arrays()
    try:
        stream = _native.PairStream(*search.arguments, search.periods)
    except _native.InvalidBoxes:
        raise search.invalid_box() from None
    return _chunks(stream, search, chunk)


def _chunks(stream: _native.PairStream, search: _Search, chunk: int) -> Iterator[NDArray[np.int32]]:
    rest = np.empty((0, 2), np.int32)
    while True:
        found = search.rows_of_input(stream.next(min(chunk - len(rest), NO_LIMIT)))
        if len(found) == 0:
            break
        rest = np.concatenate([rest, found]) if len(rest) else found
        while len(rest) >= chunk:
            yield rest[:chunk]
            rest = rest[chunk:]
    if len(rest):
        yield rest


class _WholeSearch(NamedTuple):
    """The arguments of the core for intervals of whole numbers."""

    arguments: tuple[Any, Any, int, bool, Any, int]

    def invalid_box(self) -> InvalidBoxError:
        for name, columns in zip(("boxes", "other"), self.arguments[:2], strict=True):
            if columns is None:
                continue
            lower, upper, _ = columns
            rows = np.flatnonzero(lower > upper)
            if len(rows):
                row = int(rows[0])
                more = f" ({len(rows) - 1} more such rows)" if len(rows) > 1 else ""
                return InvalidBoxError(
                    f"{name}: row {row}: lower[0] > upper[0] ({lower[row]} > {upper[row]}){more}", row
                )
        return InvalidBoxError("the boxes were modified while they were read")


def _whole_intervals(
    boxes: NDArray[Any], other: Any, method: Any, workers: Any, touching: Any, invalid: Any, pair_filter: PairFilter
) -> _WholeSearch | None:
    """Return a search among int32 or int64 boxes of one axis, which are read as they are; None for anything else."""
    if method not in ("auto", "sweep_and_prune") or invalid != "raise":
        return None
    dtype = boxes.dtype
    if dtype not in (np.int32, np.int64):  # False for the other byte order
        return None
    sets = [boxes] if other is None else [boxes, other]
    for one in sets:
        if type(one) is not np.ndarray or one.dtype != dtype or one.shape[1:] != (2, 1) or not one.flags.aligned:
            return None
        if one.strides[0] % dtype.itemsize or len(one) > _MOST_BOXES:
            return None
    columns = [(one[:, 0, 0], one[:, 1, 0], None) for one in sets]
    native_filter = None if pair_filter is NO_FILTER else pair_filter.native(*map(len, sets))
    second = columns[1] if len(columns) > 1 else None
    return _WholeSearch((columns[0], second, 1, as_flag(touching, "touching"), native_filter, worker_count(workers)))


@dataclass(slots=True)  # not frozen: making one would take a tenth of the time of a search of ten boxes
class _Search:
    """The arguments of the core, and the rows of the caller by those of the core."""

    arguments: tuple[Any, Any, Any, Any, Any, bool, float, Any, Any, int]
    kept_rows: tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]
    periods: NDArray[np.float64] | None

    @property
    def corners(self) -> tuple[Any, ...]:
        return self.arguments[1:5]

    @property
    def box_count(self) -> int:
        return sum(len(corner) for corner in self.corners[::2] if corner is not None)

    def rows_of_input(self, found: Any) -> NDArray[np.int32]:
        first, second = self.kept_rows
        if first is not None:
            found[:, 0] = first[found[:, 0]]
        if second is not None:
            found[:, 1] = second[found[:, 1]]
        kept: NDArray[np.int32] = found
        return kept

    def with_own_arrays(self) -> _Search:
        method, *corners = self.arguments[:5]
        copies = [None if corner is None else corner.copy() for corner in corners]
        return _Search((method, *copies, *self.arguments[5:]), self.kept_rows, self.periods)

    def invalid_box(self) -> InvalidBoxError:
        lower, upper, other_lower, other_upper = self.corners
        for name, corners in (("boxes", (lower, upper)), ("other", (other_lower, other_upper))):
            if corners[0] is None:
                continue
            rows, reasons = find_invalid(corners, limit=1)
            if len(rows):
                more = f" ({len(rows) - 1} more such rows)" if len(rows) > 1 else ""
                row = int(rows[0])
                is_blank = all(np.isnan(corner[row]).all() for corner in corners)  # such as an empty geometry
                advice = '; invalid="skip" leaves out rows without numbers' if is_blank else advice_on_invalid(*corners)
                return InvalidBoxError(f"{name}: {reasons[0]}{more}{advice}", row=row)
            error = None if self.periods is None else out_of_cell(name, *corners, self.periods)
            if error is not None:
                return error
        return InvalidBoxError("the boxes were modified while they were read")


def prepare(
    boxes: Boxes,
    other: Boxes | None,
    method: str,
    workers: int,
    touching: bool,
    margin: float,
    invalid: str,
    pair_filter: PairFilter = NO_FILTER,
    batch: ByRow = None,
    period: Period = None,
) -> _Search:
    """Check the options of `pairs`, and convert them to the arguments of the core."""
    size = other_lower = other_upper = other_size = counts = None
    if type(boxes) is not np.ndarray or boxes.ndim == 4:
        boxes, size = as_rows(boxes, "boxes")
    if other is None:
        lower, upper = as_corners(boxes)
        if len(lower) == 1:
            _refuse_one_object(boxes)
    else:
        if type(other) is not np.ndarray or other.ndim == 4:
            other, other_size = as_rows(other, "other")
        try:
            lower, upper = as_corners(boxes)
            dim = lower.shape[1]
            other_lower, other_upper = as_corners(other, name="other", empty_dim=dim)
        except ValueError:
            _refuse_corners(boxes, other)
            raise
        if type(boxes) is not np.ndarray and type(other) is not np.ndarray:
            _refuse_different_maps(boxes, other)
        if dim == 1:
            _refuse_corners(boxes, other)
        other_dim = other_lower.shape[1]
        if other_dim != dim:
            if len(lower):
                raise ValueError(f"boxes have {dim} dimensions and other has {other_dim}")
            lower = upper = np.empty((0, other_dim), lower.dtype)
        if other_lower.dtype != lower.dtype:
            lower, upper, other_lower, other_upper = (
                corner.astype(np.float64, copy=False) for corner in (lower, upper, other_lower, other_upper)
            )
    if not isinstance(method, str) or method not in _METHODS:
        raise ValueError(unknown_name("method", method, _METHODS))
    if type(workers) is not int or workers != 1:
        workers = worker_count(workers)
    if type(margin) is not float or margin != 0.0:
        margin = as_real(margin, "margin")
        if not 0.0 <= margin / 2 <= np.finfo(lower.dtype).max:
            raise ValueError(
                f"margin must not be negative, and half of it must be a finite {lower.dtype}, not {margin}"
            )
    if touching is not True:
        touching = as_flag(touching, "touching")
    first_rows = second_rows = None
    if not isinstance(invalid, str) or invalid != "raise":
        if not isinstance(invalid, str) or invalid != "skip":
            raise ValueError(unknown_name("invalid", invalid, ("raise", "skip")))
        counts = _counts(lower, other_lower)
        pair_filter, (lower, upper, first_rows), (other_lower, other_upper, second_rows) = without_invalid(
            pair_filter, (lower, upper), (other_lower, other_upper)
        )
        if other_lower is None:
            second_rows = first_rows
    if len(lower) > _MOST_BOXES or (other_lower is not None and len(other_lower) > _MOST_BOXES):
        raise ValueError(f"at most {_MOST_BOXES} boxes a set: row numbers are int32")
    native_filter = batches = None
    if pair_filter is not NO_FILTER:
        native_filter = pair_filter.native(*_counts(lower, other_lower))
    if batch is not None or size is not None or other_size is not None:
        counts = _counts(lower, other_lower) if counts is None else counts
        batches = batched_rows(batch, counts, (size, other_size), (first_rows, second_rows))
    return _Search(
        (_METHODS[method], lower, upper, other_lower, other_upper, touching, margin, native_filter, batches, workers),
        (first_rows, second_rows),
        None if period is None else periods_of(period, lower.shape[1]),
    )


def _refuse_corners(boxes: Any, other: Any) -> None:
    """Raise ValueError if two sets may be the lower and the upper corners of one: both of shape (n, d), d < 4.

    With d = 2, they could be intervals too; which is meant must not depend on their values.
    """
    try:
        shapes = [np.shape(one) for one in (boxes, other) if not isinstance(one, tuple) and not hasattr(one, "columns")]
    except ValueError:  # of rows of different lengths
        return
    if len(shapes) < 2 or any(len(shape) != 2 for shape in shapes) or shapes[0][1] != shapes[1][1] or shapes[0][1] > 3:
        return
    intervals = " If they are two sets of intervals, pass each as shape (n, 2, 1)." if shapes[0][1] == 2 else ""
    raise ValueError(
        f"boxes and other have shapes {shapes[0]} and {shapes[1]}, and are two sets of boxes. If they are the lower and"
        f" the upper corners of one set, pass them as one tuple, (lower, upper).{intervals}"
    )


def _refuse_different_maps(boxes: Any, other: Any) -> None:
    """Raise ValueError for geometries of GeoPandas in two coordinate systems; one that is unknown fits all."""
    first: Any = getattr(boxes, "crs", None)
    second: Any = getattr(other, "crs", None)
    if not hasattr(first, "equals") or not hasattr(second, "equals"):
        return
    if not first.equals(second, ignore_axis_order=True):
        names = [clipped(one.to_string(), 60) for one in (first, second)]
        raise ValueError(
            f"boxes are in {names[0]} and other in {names[1]}: bring them into one, such as by other.to_crs(boxes.crs)"
        )


def _refuse_one_object(boxes: Any) -> None:
    """Raise ValueError for the one box of an object with bounds, such as a mesh, which has no pairs with itself."""
    if not isinstance(boxes, np.ndarray | list | tuple) and hasattr(boxes, "bounds") and not hasattr(boxes, "__len__"):
        raise ValueError(
            f"boxes is one {type(boxes).__name__}, which has one box and so no pairs; pass a list of objects, or the"
            " boxes of its parts, such as bp.boxes.from_triangles(mesh.vertices, mesh.faces)"
        )


def _counts(lower: NDArray[Any], other_lower: NDArray[Any] | None) -> tuple[int, ...]:
    return (len(lower),) if other_lower is None else (len(lower), len(other_lower))


def pair_limit(max_pairs: int | None) -> int:
    """Convert ``max_pairs=`` to the limit of the core."""
    if max_pairs is None:
        return NO_LIMIT
    return min(as_whole(max_pairs, "max_pairs", 0), NO_LIMIT)


@dataclass(frozen=True)
class Explanation:
    """The result of `explain`; ``print`` it for a table.

    Attributes
    ----------
    method : str
        The method that ``method="auto"`` chooses.
    reason : str
        Why, in one sentence.
    box_count : int
        Number of boxes, of both sets together where there are two.
    dim : int
        Number of axes.
    dtype : str
        The dtype in which boxes are compared.
    low, high : tuple of float
        Corners of the region that holds nearly all boxes.
    extents : tuple of float
        Mean size of a box along each axis.
    meeting : tuple of float
        Fraction of all pairs of boxes that overlap along each axis.
    clustering : float
        Density around a box relative to an even spread: about 1 where boxes are spread evenly.
    cells : tuple of int
        Number of cells of the grid along each axis.
    costs : dict of str to float
        Expected time of each method that "auto" considers, in milliseconds on one core of the machine on which the
        model was fitted. Compare them with each other only.
    batch_count : int
        Number of batches; 1 where all boxes are compared. With more, `method` and the figures, but for `box_count`,
        are those of the batch with the most pairs of boxes.
    largest_batch : int
        Number of its boxes.
    image_count : int
        Boxes that cross faces of a periodic cell are searched more than once: how often, in all.
    """

    method: str
    reason: str
    box_count: int
    dim: int
    dtype: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    extents: tuple[float, ...]
    meeting: tuple[float, ...]
    clustering: float
    cells: tuple[int, ...]
    costs: dict[str, float]
    batch_count: int
    largest_batch: int
    image_count: int

    def __str__(self) -> str:
        lines = [
            f"{self.box_count:,} boxes in {self.dim} dimensions, {self.dtype}",
            *([f"  batches            {self.batch_count:,}; of the largest:"] if self.batch_count > 1 else []),
            *([f"  images             {self.image_count:,} across faces of the cell"] if self.image_count else []),
            f"  nearly all within  {_row(self.low)}  to  {_row(self.high)}",
            f"  mean size          {_row(self.extents)}",
            f"  pairs that meet    {'  '.join(f'{100 * share:.3g} %' for share in self.meeting)}  along each axis",
            f"  clustering         {self.clustering:.3g} (1: spread evenly)",
            f"  cells of the grid  {' x '.join(str(count) for count in self.cells)}",
            "expected cost",
        ]
        for name, cost in sorted(self.costs.items(), key=lambda item: item[1]):
            mark = "  <- chosen by auto" if name == self.method else ""
            lines.append(f"  {name:<16} {cost:>12,.3f} ms{mark}")
        return "\n".join([*lines, self.reason])

    def _repr_html_(self) -> str:
        costs = sorted(self.costs.items(), key=lambda item: item[1])
        return html_facts(
            f"{self.box_count:,} boxes in {self.dim} dimensions, {self.dtype}. {self.reason}",
            [(name, f"{cost:,.3f} ms{' (chosen by auto)' * (name == self.method)}") for name, cost in costs],
        )


def _row(values: tuple[float, ...]) -> str:
    return "  ".join(f"{value:.6g}" for value in values)


@dataclass(frozen=True)
class DeviceExplanation:
    """The result of `broadphase.gpu.explain`; ``print`` it for a table.

    Attributes
    ----------
    method : str
        "tree", "scenes" where all boxes of a scene are compared, or "none" where there can be no pairs.
    reason : str
        Why, in one sentence.
    box_count : int
        Number of boxes, of both sets together where there are two.
    dim : int
        Number of axes.
    dtype : str
        The dtype in which boxes are compared.
    device : str
        Where.
    library : str
        Of which library results are.
    batch_count : int
        Number of scenes of one size; 1 where there are none.
    working_bytes : int
        Memory on the device that is kept for the next call on the stream.
    """

    method: str
    reason: str
    box_count: int
    dim: int
    dtype: str
    device: str
    library: str
    batch_count: int
    working_bytes: int

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.box_count:,} boxes in {self.dim} dimensions, {self.dtype}, on {self.device}",
                *([f"  batches            {self.batch_count:,}"] if self.batch_count > 1 else []),
                f"  results            arrays of {self.library}",
                f"  working memory     {self.working_bytes / 1e6:,.1f} MB, kept for the next call",
                self.reason,
            ]
        )


def explain(
    boxes: Boxes, other: Boxes | None = None, *, workers: int = 1, batch: ByRow = None, period: Period = None
) -> Explanation | DeviceExplanation:
    """Explain which method "auto" chooses for these boxes, why, and what each method would cost.

    Parameters
    ----------
    boxes, other, workers, batch, period
        As in `pairs`. Of batches, the one with the most pairs of boxes is explained; of a periodic cell, the boxes at
        their places in it, and their images.

    Returns
    -------
    Explanation
        Plain numbers by name; prints as a table. For boxes on a device, `broadphase.gpu.DeviceExplanation`.

    Raises
    ------
    ValueError, TypeError
        As `pairs`.

    Notes
    -----
    Checks all boxes and samples at most 512 of each set: O(n).

    Examples
    --------
    >>> import numpy as np
    >>> import broadphase as bp
    >>> corners = np.random.default_rng(0).random((10_000, 3))
    >>> bp.explain((corners, corners + 0.01)).method
    'grid'
    """
    if type(boxes) is not np.ndarray and is_on_device(boxes):
        _refuse_on_device("auto", workers, None, period, None)
        from broadphase.gpu.pairs import explain as on_device

        return on_device(boxes, other, batch=batch)
    search = prepare(boxes, other, "auto", workers, True, 0.0, "raise", batch=batch, period=period)
    lower, upper, other_lower, other_upper = search.corners
    batches = search.arguments[-2]
    try:
        found: dict[str, Any] = _native.report(lower, upper, other_lower, other_upper, batches, search.periods)
    except _native.InvalidBoxes:
        raise search.invalid_box() from None
    width = found["width"]
    batch_count = 1 if batches is None else max(batches.key_count, 1)
    return Explanation(
        method=found["method"].name,
        reason=_reason(found, batch_count),
        box_count=len(lower) + (0 if other_lower is None else len(other_lower)),
        dim=lower.shape[1],
        dtype=str(lower.dtype),
        low=tuple(found["low"]),
        high=tuple(low + size for low, size in zip(found["low"], width, strict=True)),
        extents=tuple(share * size for share, size in zip(found["share"], width, strict=True)),
        meeting=tuple(min(2 * share, 1.0) for share in found["meeting"]),
        clustering=found["clustering"],
        cells=tuple(int(count) for count in found["cells"]),
        costs={name: found[name] for name in ("brute_force", "sweep_and_prune", "grid", "bvh")},
        batch_count=batch_count,
        largest_batch=found["largest_batch"],
        image_count=found["image_count"],
    )


def _reason(found: dict[str, Any], batch_count: int) -> str:
    method = found["method"].name
    if batch_count > 1:
        searched = found["searched_batches"]
        return (
            f"{batch_count:,} batches: {searched:,} by a method that is chosen for each, the others pair by pair. "
            f"The largest, of {found['largest_batch']:,} boxes: {_reason(found, 1)}"
        )
    if method == "brute_force":
        count = max(0, round(found["pair_count"]))  # of no boxes, the product is -0.0
        return f"brute_force: testing all {count:,} pairs costs less than preparing another method."
    if method == "sweep_and_prune":
        axis = min(range(len(found["meeting"])), key=found["meeting"].__getitem__)
        return (
            f"sweep_and_prune: few boxes overlap along axis {axis}, and either cutting the other axes gains nothing,"
            " or the sizes in the scene differ too much for a grid."
        )
    if method == "bvh":
        return "bvh: boxes overlap on each axis, but seldom on all of them: neither cells nor a sweep keep them apart."
    cells = " x ".join(str(int(count)) for count in found["cells"])
    return f"grid: {cells} cells, swept along axis {found['sweep_axis']}, leave few candidates for each box."
