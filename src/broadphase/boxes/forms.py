"""The accepted forms of box arrays: check their shape and dtype, take them apart, find the bad rows.

A set of n boxes in d dimensions is an array of shape (n, 2, d), lower corner then upper corner, or (n, 2*d) with the
same numbers in a row, or a tuple ``(lower, upper)`` of two (n, d) arrays. The public names are re-exported by
`broadphase.boxes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from broadphase.arguments import as_whole
from broadphase.boxes.numbers import as_plain_array
from broadphase.boxes.objects import boxes_of, has_own_bounds
from broadphase.floats import FLOAT32, FLOAT64, MAX_DIMENSION, as_float

__all__ = [
    "Boxes", "advice_on_invalid", "as_boxes", "as_corners", "as_one_box", "as_rows", "describe_invalid",
    "find_invalid",
]  # fmt: skip

_Real: TypeAlias = np.bool_ | np.integer[Any] | np.floating[Any]


class _SupportsArray(Protocol):
    def __array__(self) -> NDArray[_Real]: ...


class _SupportsDLPack(Protocol):
    def __dlpack_device__(self) -> tuple[Any, Any]: ...


class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> Any: ...


class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class _SupportsBounds(Protocol):
    @property
    def bounds(self) -> Any: ...


_Array: TypeAlias = NDArray[_Real] | _SupportsArray | _SupportsDLPack | _ArrowArray | _ArrowStream
_Number: TypeAlias = float | _Real

# Boxes in any accepted form, for annotations: an array, whatever converts to one (such as a table of numbers), nested
# sequences of numbers, a tuple (lower, upper), objects with bounds, or columns by name. The array's shape is checked at
# run time. Text is never boxes.
# One sequence type at each depth: with several, type checkers do not infer lists that mix int and float.
Boxes: TypeAlias = (
    _Array
    | _SupportsBounds
    | Mapping[str, Any]
    | Sequence[_Array | _SupportsBounds | Sequence[_Array | _Number | Sequence[_Number]]]
)

_SEQUENCES = (list, tuple)

_FORMS = "boxes are an array of shape (n, 2, d) or (n, 2*d), or a tuple (lower, upper) of two (n, d) arrays, d = 1 to 4"


def as_corners(boxes: Boxes, *, name: str = "boxes", empty_dim: int = 2) -> tuple[NDArray[Any], NDArray[Any]]:
    """Split boxes into lower and upper corners, without copying where the layout allows.

    Only shape and dtype are checked, never the values: see `find_invalid`.

    Parameters
    ----------
    boxes : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
        float32 and float64 are kept; integers, bool and float16 become float64; a tuple of both becomes float64.
    name : str
        Name of the argument in error messages.
    empty_dim : int
        Number of dimensions of an empty list.

    Returns
    -------
    lower, upper : ndarray, shape (n, d), float32 or float64
        Of one dtype, aligned, in native byte order; numbers of a row side by side; rows a positive multiple of the
        item size apart. Views of the input if it is laid out so, new arrays otherwise. Treat them as read-only.

    Raises
    ------
    ValueError, TypeError
        Wrong shape; a masked value; an integer beyond 2**53, which float64 cannot hold exactly: names the row. A dtype
        that is not a real number of at most 64 bits.

    Notes
    -----
    O(1) for a native float array, O(n) when a copy is needed.

    Examples
    --------
    >>> import broadphase as bp
    >>> lower, upper = bp.boxes.as_corners([[0, 0, 2, 1], [5, 5, 6, 7]])
    >>> lower
    array([[0., 0.], [5., 5.]])
    >>> upper
    array([[2., 1.], [6., 7.]])
    """
    if type(boxes) is np.ndarray and (boxes.dtype == FLOAT32 or boxes.dtype == FLOAT64):
        # The plain case, kept short: this is the first step of every call on a few hundred boxes.
        # (An axis of length 1 may have any stride, even in a contiguous array: odd ones go the long way.)
        flags = boxes.flags
        if flags.c_contiguous and flags.aligned:
            shape = boxes.shape
            if (
                len(shape) == 3
                and shape[1] == 2
                and 1 < shape[2] <= MAX_DIMENSION
                and (shape[0] > 1 or boxes.strides[0] == boxes.nbytes)
            ):
                return boxes[:, 0], boxes[:, 1]
        plain: Any = boxes
    elif type(boxes) is tuple and len(boxes) == 2 and type(boxes[0]) is type(boxes[1]) is np.ndarray:
        plain = boxes
    else:
        plain = boxes_of(boxes, name)
    if isinstance(plain, tuple) and len(plain) == 2:
        lower, upper = _as_pair(plain, name, empty_dim)
    else:
        both = _as_three_axes(plain, name, empty_dim)
        lower, upper = both[:, 0], both[:, 1]
    return _lay_out(lower), _lay_out(upper)


def as_rows(boxes: Any, name: str) -> tuple[Any, int | None]:
    """Return the boxes of scenes of one size, shape (E, n, 2, d) or two (E, n, d), one after another, and n.

    Row ``e * n + i`` is box i of scene e. Anything else is returned as it is, with None.
    """
    if isinstance(boxes, tuple) and len(boxes) == 2:
        if _depth(boxes[0]) == 3:
            lower, upper = (as_plain_array(corner, name) for corner in boxes)
            if lower.shape == upper.shape and lower.ndim == 3 and 0 < lower.shape[2] <= MAX_DIMENSION:
                shape = (lower.shape[0] * lower.shape[1], lower.shape[2])
                return (lower.reshape(shape), upper.reshape(shape)), lower.shape[1]
    elif _depth(boxes) == 4:
        both = as_plain_array(boxes, name)
        if both.ndim == 4 and both.shape[2] == 2 and 0 < both.shape[3] <= MAX_DIMENSION:
            return both.reshape(both.shape[0] * both.shape[1], *both.shape[2:]), both.shape[1]
    return boxes, None


def as_one_box(boxes: Any, dim: int, name: str) -> NDArray[Any] | None:
    """Return a single box, (2 * dim,), (2, dim), a tuple of two (dim,), or an object with bounds, as (1, 2, dim).

    None where there are several, or none: then errors are those of `as_corners`, as for a box of another dimension.
    """
    depth = _depth(boxes)
    if depth == 0 and has_own_bounds(boxes):
        array = as_plain_array(boxes_of(boxes, name), name)
    elif depth == 1 or (depth == 2 and len(boxes) == 2):
        array = as_plain_array(boxes, name)
    else:
        return None
    is_one = array.shape == (2, dim) or array.size == array.shape[-1] in (2, 4, 6, 8)
    return array.reshape(1, 2, -1) if is_one else None


def _depth(values: Any) -> int:
    """Count axes, of sequences by what comes first."""
    if type(values) is np.ndarray:
        return values.ndim
    depth = 0
    while isinstance(values, _SEQUENCES):
        depth += 1
        if not values:
            break
        values = values[0]
    return depth + getattr(values, "ndim", 0)


def as_boxes(boxes: Boxes, *, name: str = "boxes", empty_dim: int = 2) -> NDArray[Any]:
    """Convert boxes in any accepted form to shape (n, 2, d).

    Parameters
    ----------
    boxes, name, empty_dim
        As in `as_corners`.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d), float32 or float64
        Native byte order, any strides. A view of an array that has such a dtype already, otherwise a new array.

    Raises
    ------
    ValueError, TypeError
        As `as_corners`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.boxes.as_boxes([[0, 0, 2, 1]])
    array([[[0., 0.], [2., 1.]]])
    """
    plain = boxes_of(boxes, name)
    if isinstance(plain, tuple) and len(plain) == 2:
        return np.stack(_as_pair(plain, name, empty_dim), axis=1)
    return _as_three_axes(plain, name, empty_dim)


def find_invalid(boxes: Boxes, *, limit: int | None = None) -> tuple[NDArray[np.int64], list[str]]:
    r"""Find the rows that are not boxes: NaN in a corner, or lower > upper.

    Infinite corners and boxes of zero width are valid.

    Parameters
    ----------
    boxes : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
        The boxes to check; errors are those of `as_corners`.
    limit : int, optional
        Describe only the first `limit` rows. All row numbers are always returned.

    Returns
    -------
    rows : ndarray, shape (k,), int64
        The bad rows, ascending.
    reasons : list of str
        The fault of each of them, its first bad axis; k of them, or `limit` if that is less.

    Notes
    -----
    O(n) time; n bytes of memory per axis and corner.

    Examples
    --------
    >>> import broadphase as bp
    >>> rows, reasons = bp.boxes.find_invalid([[0, 0, 1, 1], [0, 5, 1, 4], [0, 0, float("nan"), 1]])
    >>> rows
    array([1, 2])
    >>> print(*reasons, sep="\n")
    row 1: lower[1] > upper[1] (5.0 > 4.0)
    row 2: upper[0] is NaN
    """
    lower, upper = as_corners(boxes)
    valid = np.less_equal(lower, upper)  # False for NaN too
    rows = np.flatnonzero(~valid.all(axis=1)).astype(np.int64, copy=False)
    if limit is not None:
        limit = min(as_whole(limit, "limit", 0), len(rows))
    return rows, [describe_invalid(lower, upper, int(row)) for row in rows[:limit]]


def describe_invalid(lower: NDArray[Any], upper: NDArray[Any], row: int) -> str:
    """Describe the fault of one bad row, in the words of every error message; NaN is named before lower > upper.

    Parameters
    ----------
    lower, upper : ndarray, shape (n, d)
        The corners, as `as_corners` returns them.
    row : int
        A row with NaN or lower > upper.

    Examples
    --------
    >>> describe_invalid(np.array([[0.0, 2.0]]), np.array([[1.0, 1.0]]), 0)
    'row 0: lower[1] > upper[1] (2.0 > 1.0)'
    """
    for corner, values in (("lower", lower[row]), ("upper", upper[row])):
        bad = np.flatnonzero(np.isnan(values))
        if bad.size:
            return f"row {row}: {corner}[{bad[0]}] is NaN"
    bad = np.flatnonzero(lower[row] > upper[row])
    if not bad.size:
        return f"row {row} is a valid box"
    axis = int(bad[0])
    low, high = float(lower[row, axis]), float(upper[row, axis])
    return f"row {row}: lower[{axis}] > upper[{axis}] ({low} > {high})"


def advice_on_invalid(lower: NDArray[Any], upper: NDArray[Any]) -> str:
    """Return the end of a message where rows with lower > upper may be no corners, or degrees; else nothing."""
    if lower.shape[1] == 2 and (across := lower[:, 0] > upper[:, 0] + 180).any():
        west, east = lower[across, 0], upper[across, 0]
        if (west <= 180).all() and (east >= -180).all() and not (lower > upper)[~across].any():
            return (
                "; if these are degrees, add 360 to the east of boxes across the antimeridian, and give "
                "period=(360, None)"
            )
    if len(lower) < 4 or 2 * int((lower > upper).any(axis=1).sum()) < len(lower):
        return ""
    return "; if these are x, y, width, height, use bp.boxes.from_xywh; if they are points, bp.boxes.from_points"


def _as_three_axes(boxes: Any, name: str, empty_dim: int) -> NDArray[Any]:
    array = as_plain_array(boxes, name)
    shape = array.shape
    if len(shape) == 3 and shape[1] == 2 and 0 < shape[2] <= MAX_DIMENSION:
        return as_float(array, name)
    if len(shape) == 2 and shape[1] in (2, 4, 6, 8):
        return as_float(array, name).reshape(shape[0], 2, shape[1] // 2)
    if shape == (0,):
        return np.empty((0, 2, empty_dim))
    raise ValueError(f"{name} has shape {shape}; {_FORMS}")


def _as_pair(pair: tuple[Any, Any], name: str, empty_dim: int) -> tuple[NDArray[Any], NDArray[Any]]:
    lower, upper = as_plain_array(pair[0], f"{name}, lower"), as_plain_array(pair[1], f"{name}, upper")
    if lower.shape == upper.shape == (0,):
        lower = upper = np.empty((0, empty_dim))
    if lower.ndim != 2 or lower.shape != upper.shape or not 0 < lower.shape[1] <= MAX_DIMENSION:
        raise ValueError(f"{name} has corners of shape {lower.shape} and {upper.shape}; {_FORMS}")
    lower, upper = as_float(lower, f"{name}, lower"), as_float(upper, f"{name}, upper")
    if lower.dtype != upper.dtype:
        lower, upper = lower.astype(FLOAT64, copy=False), upper.astype(FLOAT64, copy=False)
    return lower, upper


def _lay_out(corner: NDArray[Any]) -> NDArray[Any]:
    """Return the corners as the core reads them: numbers of a row side by side, rows a positive step apart."""
    row_step, step = corner.strides
    size = corner.itemsize
    if row_step > 0 and row_step % size == 0 and corner.flags.aligned:
        if step == size:
            return corner
        if corner.shape[1] == 1:  # NumPy gives an axis of one number any step
            return as_strided(corner, strides=(row_step, size))
    return np.array(corner, order="C")
