"""The overlapping pairs of one set of boxes, or of two: all at once, counted, or a chunk at a time."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast, overload

import numpy as np

from broadphase import _native
from broadphase.arguments import as_flag, as_real, as_whole, is_on_device
from broadphase.batches import batched_rows
from broadphase.boxes.detections import FormName, as_detections, is_rotated, require_without_degrees
from broadphase.boxes.forms import Boxes, advice_on_invalid, as_corners, as_rows, find_invalid
from broadphase.capacity import PaddedPairs, capacity_of, padded_pairs
from broadphase.errors import InvalidBoxError, TooManyPairsError, clipped, unknown_name
from broadphase.filters import NO_FILTER, PairFilter, without_invalid
from broadphase.options import PairKeywords, require_known, shows_pair_options
from broadphase.periods import Period, out_of_cell, periods_of
from broadphase.progress import Progress, reporting, searching
from broadphase.returned import as_given
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.filters import ByRow

__all__ = ["count_pairs", "iter_pairs", "of_device", "pair_limit", "pairs", "prepare"]

NO_LIMIT = 2**64 - 1
_MOST_BOXES = 2**31 - 64
_METHODS = dict(_native.Method.__members__)


@overload
def pairs(
    boxes: Boxes,
    other: Boxes | None = None,
    *,
    form: FormName = "xyxy",
    degrees: bool = False,
    sort: bool = False,
    max_pairs: int | None = None,
    capacity: None = None,
    progress: Progress = None,
    **options: Unpack[PairKeywords],
) -> NDArray[np.int32]: ...


@overload
def pairs(
    boxes: Boxes,
    other: Boxes | None = None,
    *,
    form: FormName = "xyxy",
    degrees: bool = False,
    sort: bool = False,
    max_pairs: int | None = None,
    capacity: int,
    progress: Progress = None,
    **options: Unpack[PairKeywords],
) -> PaddedPairs: ...


@shows_pair_options
def pairs(
    boxes: Boxes,
    other: Boxes | None = None,
    *,
    form: FormName = "xyxy",
    degrees: bool = False,
    sort: bool = False,
    max_pairs: int | None = None,
    capacity: int | None = None,
    progress: Progress = None,
    **options: Unpack[PairKeywords],
) -> NDArray[np.int32] | PaddedPairs:
    """Find every pair of overlapping boxes.

    Boxes are closed: boxes that only touch overlap (see `touching`). With `other`, find every pair of a box of the
    first set and a box of the second. Boxes of two or three axes on a CUDA device are searched there, and the pairs are
    an array of the same library on the same device: see `broadphase.gpu.pairs`.

    Parameters
    ----------
    boxes, other : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
        Lower and upper corner of each box, any one length unit, d = 1 to 4. float32 and float64 are used as they are,
        and so are int32 and int64 of shape (n, 2, 1) without `batch`; other integers are converted to float64, and so
        are two sets of different dtypes. Any strides; never modified. Corners may be infinite. Also tensors, Arrow
        data, DataFrames by the names of their columns, and geometries or anything else with ``bounds``: the table in
        docs/boxes.md has all.
    form, degrees
        What the numbers of a box are, as in `nms`: ``"xywh"``, ``"cxcywh"``, or with an angle ``"cxcywhr"`` and
        ``"xyzlwhr"``, for which `margin`, `period` and ``invalid="skip"`` are refused.
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

    With an angle, boxes are turned and compared in float64, along the sides of both: those that are within a few
    roundings of touching may be found either way.

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

    A long box, turned by 45 degrees, and two small ones, of which it meets the second:

    >>> bp.pairs([[0, 0, 9, 1, 45], [2, -2, 1, 1, 0], [2, 2, 1, 1, 0]], form="cxcywhr", degrees=True)
    array([[0, 2]], dtype=int32)
    """
    if form != "xyxy" or degrees is not False:
        of_form: Any = {**options, "progress": progress}
        in_form = _pairs_of_form(boxes, other, form, degrees, max_pairs, sort=sort, **of_form)
        rows_in_form = in_form if capacity is None else padded_pairs(in_form, capacity_of(capacity, max_pairs))
        return as_given(boxes, rows_in_form)
    if type(boxes) is not np.ndarray and is_on_device(boxes):
        more: Any = of_device({**options, "progress": progress})
        from broadphase.gpu.searches import pairs as on_device  # imported where there is a device

        made: NDArray[np.int32] | PaddedPairs
        made = on_device(boxes, other, sort=sort, max_pairs=max_pairs, capacity=capacity, **more)
        return made
    search = _search("pairs", boxes, other, options, progress)
    room = None if capacity is None else capacity_of(capacity, max_pairs)
    try:
        if isinstance(search, _WholeSearch):
            whole: Any = _native.interval_pairs(*search.arguments, as_flag(sort, "sort"), pair_limit(max_pairs))
            return as_given(boxes, whole if room is None else padded_pairs(whole, room))
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
    return as_given(boxes, rows if room is None else padded_pairs(rows, room))


def _pairs_of_form(
    boxes: Any, other: Any, form: FormName, degrees: bool, max_pairs: int | None, **options: Any
) -> NDArray[np.int32]:
    """Find the pairs of boxes of another form than corners."""
    is_in_degrees = as_flag(degrees, "degrees")
    sets = [as_detections(boxes, form, "boxes")]
    if other is not None:
        sets.append(as_detections(other, form, "other", empty_dim=sets[0].shape[-1] if sets[0].ndim == 3 else 2))
    if not is_rotated(form):
        require_without_degrees(is_in_degrees)
        of_corners: NDArray[np.int32] = pairs(*sets, max_pairs=max_pairs, **options)
        return of_corners
    for name, usual in (("margin", 0.0), ("period", None), ("invalid", "raise")):
        given = options.get(name, usual)
        if given is not usual and given != usual:
            raise ValueError(f"{name}= is not for boxes with an angle (form={form!r})")
    turned = [_native.RotatedBoxes(numbers, is_in_degrees) for numbers in sets]
    near = pairs(*(cast("Boxes", one.enclosing()) for one in turned), **options)
    first, second = np.ascontiguousarray(near[:, 0]), np.ascontiguousarray(near[:, 1])
    meet: Any = turned[0].meet(turned[-1], first, second, as_flag(options.get("touching", True), "touching"))
    found: NDArray[np.int32] = near[meet.view(np.bool_)]
    if len(found) > pair_limit(max_pairs):
        raise TooManyPairsError(f"there are more than max_pairs={max_pairs} pairs")
    return found


# Options that boxes in host memory have, and those on a device have not: the default, and advice.
_OF_HOST: dict[str, tuple[Any, str]] = {
    "method": ("auto", "a device has one method; leave it out"),
    "workers": (1, "a device uses no threads of the host; leave it out"),
    "ignore_pairs": (None, "use group=, of which rows with one negative number are no pairs, or ignore_shared="),
    "period": (None, "use broadphase.gpu.neighbors for points, or copy the boxes to host memory"),
    "progress": (False, "a device does not report progress; leave it out"),
}


def of_device(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that boxes on a device have too; ValueError for another that is not its default."""
    for name, (usual, instead) in _OF_HOST.items():
        value = options.get(name)
        is_usual = value is None or value is usual or (isinstance(value, str | int | np.integer) and value == usual)
        if not is_usual:
            raise ValueError(f"{name} is not for boxes on a device: {instead}")
    return {name: value for name, value in options.items() if name not in _OF_HOST}


@shows_pair_options
def count_pairs(
    boxes: Boxes, other: Boxes | None = None, *, progress: Progress = None, **options: Unpack[PairKeywords]
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
        more: Any = of_device({**options, "progress": progress})
        from broadphase.gpu.searches import count_pairs as on_device

        return on_device(boxes, other, **more)
    search = _search("count_pairs", boxes, other, options, progress)
    try:
        if isinstance(search, _WholeSearch):
            return _native.count_intervals(*search.arguments)
        if progress is None:
            return _native.count(*search.arguments, search.periods)
        with reporting(progress) as told, searching(told, "find", search.box_count, "prepare"):
            return _native.count(*search.arguments, search.periods)
    except _native.InvalidBoxes:
        raise search.invalid_box() from None


@shows_pair_options
def iter_pairs(
    boxes: Boxes, other: Boxes | None = None, *, chunk: int = 1_000_000, **options: Unpack[PairKeywords]
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
    require_known("iter_pairs", options, PairKeywords)
    search = prepare(boxes, other, **copy.deepcopy(options)).with_own_arrays()
    try:
        stream = _native.PairStream(*search.arguments, search.periods)
    except _native.InvalidBoxes:
        raise search.invalid_box() from None
    return chain.from_iterable(_blocks(stream, search, chunk))


def _blocks(stream: _native.PairStream, search: _Search, chunk: int) -> Iterator[NDArray[np.int32]]:
    """Yield chunks by the block, (k, chunk, 2): `chain` reads them out of it in the time of NumPy's own loop."""
    rest = np.empty((0, 2), np.int32)
    while True:
        found = search.rows_of_input(stream.next(min(chunk - len(rest), NO_LIMIT)))
        if len(found) == 0:
            break
        rest = np.concatenate([rest, found]) if len(rest) else found
        if whole := len(rest) - len(rest) % chunk:
            yield rest[:whole].reshape(-1, chunk, 2)
            rest = rest[whole:]
    if len(rest):
        yield rest[np.newaxis]


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
    boxes: NDArray[Any],
    other: Any,
    *,
    method: str = "auto",
    workers: int = 1,
    touching: bool = True,
    margin: float = 0.0,
    batch: ByRow = None,
    period: Period = None,
    invalid: str = "raise",
    **filters: Any,
) -> _WholeSearch | None:
    """Return a search among int32 or int64 boxes of one axis, which are read as they are; None for anything else."""
    if method not in ("auto", "sweep_and_prune") or invalid != "raise" or margin != 0 or batch is not None:
        return None
    dtype = boxes.dtype
    if period is not None or dtype not in (np.int32, np.int64):  # False for the other byte order
        return None
    sets = [boxes] if other is None else [boxes, other]
    for one in sets:
        if type(one) is not np.ndarray or one.dtype != dtype or one.shape[1:] != (2, 1) or not one.flags.aligned:
            return None
        if one.strides[0] % dtype.itemsize or len(one) > _MOST_BOXES:
            return None
    columns = [(one[:, 0, 0], one[:, 1, 0], None) for one in sets]
    native_filter = PairFilter(**filters).native(*map(len, sets)) if filters else None
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


def _search(
    function: str, boxes: Boxes, other: Boxes | None, options: Mapping[str, Any], progress: Progress
) -> _Search | _WholeSearch:
    """Prepare a search by the options that a function was given by keyword."""
    try:
        if type(boxes) is np.ndarray and boxes.dtype.kind == "i" and progress is None:
            whole = _whole_intervals(boxes, other, **options)
            if whole is not None:
                return whole
        return prepare(boxes, other, **options)
    except TypeError:
        require_known(function, options, PairKeywords)
        raise


def prepare(
    boxes: Boxes,
    other: Boxes | None,
    *,
    method: str = "auto",
    workers: int = 1,
    touching: bool = True,
    margin: float = 0.0,
    batch: ByRow = None,
    period: Period = None,
    invalid: str = "raise",
    **filters: Any,
) -> _Search:
    """Check the options of `pairs`, and convert them to the arguments of the core."""
    pair_filter = PairFilter(**filters) if filters else NO_FILTER
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
