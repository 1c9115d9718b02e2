"""Make boxes from what other libraries have: rectangles of games and images, geometries, tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.boxes.checking import first_bad_row, require_boxes, require_finite
from broadphase.boxes.forms import MAX_DIMENSION, as_numbers
from broadphase.boxes.rounding import boxes_around
from broadphase.errors import InvalidBoxError, MissingExtraError, quoted, unknown_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["from_frame", "from_geometries", "from_rects", "from_xywh"]

_SIDES = ("left", "right", "top", "bottom")


def from_xywh(xywh: ArrayLike) -> NDArray[Any]:
    """Make boxes from positions and sizes: x, y, width, height.

    Parameters
    ----------
    xywh : array_like, shape (n, 4), or (n, 2*d)
        The lower corner of each box, then its size along each axis; sizes finite and at least 0. In the plane x, y,
        width, height, as in COCO data sets.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d), float32 or float64
        The upper corner is ``lower + size``, rounded up; exact where representable.

    Raises
    ------
    InvalidBoxError
        NaN, an infinite position, a negative or infinite size; names the first bad row.
    ValueError, TypeError
        Wrong shape or dtype.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.boxes.from_xywh([[10, 20, 5, 2]])
    array([[[10., 20.],
            [15., 22.]]])
    """
    numbers = as_numbers(xywh, name="xywh")
    if numbers.shape == (0,):
        numbers = numbers.reshape(0, 4)
    if numbers.ndim != 2 or numbers.shape[1] not in (2, 4, 6, 8):
        raise ValueError(f"xywh must have shape (n, 4), or (n, 2*d), d = 1 to 4, not {numbers.shape}")
    dim = numbers.shape[1] // 2
    require_finite(numbers, "xywh")
    negative = numbers[:, dim:] < 0
    bad = first_bad_row(negative)
    if bad is not None:
        axis = int(np.argmax(negative[bad]))
        raise InvalidBoxError(f"xywh: row {bad} has the negative size {numbers[bad, dim + axis]}, axis {axis}", bad)
    corners = numbers[:, :dim]
    boxes = boxes_around(corners, numbers[:, dim:])
    boxes[:, 0] = corners
    return boxes


def from_rects(rects: Iterable[Any]) -> NDArray[np.float64]:
    """Make boxes from rectangles of game libraries, such as `pygame.Rect`, or from tuples (x, y, width, height).

    Parameters
    ----------
    rects : iterable
        Objects with the attributes ``left``, ``right``, ``top`` and ``bottom``, as those of pygame and arcade, whether
        their y axis points up or down; or sequences of four numbers x, y, width, height.

    Returns
    -------
    boxes : ndarray, shape (n, 2, 2), float64
        One for each, in their order.

    Raises
    ------
    InvalidBoxError
        NaN, a negative size; names the first bad row.
    ValueError, TypeError
        Something that is no rectangle; names the first bad row.

    Notes
    -----
    In pygame, rectangles that only share an edge do not collide: use ``bp.pairs(boxes, touching=False)`` for that.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.boxes.from_rects([(0, 0, 2, 1), (5, 5, 1, 1)])
    array([[[0., 0.],
            [2., 1.]],
    <BLANKLINE>
           [[5., 5.],
            [6., 6.]]])
    """
    if not isinstance(rects, Iterable) or (isinstance(rects, np.ndarray) and not rects.ndim):
        raise TypeError(f"rects must be rectangles, not {quoted(rects)}")
    given = list(rects)
    if not any(hasattr(rect, "left") for rect in given):
        try:
            return from_xywh(np.asarray(given, np.float64).reshape(len(given), 4))
        except (TypeError, ValueError):
            pass  # one by one, to name the row
    boxes = np.empty((len(given), 2, 2))
    for row, rect in enumerate(given):
        if all(hasattr(rect, side) for side in _SIDES):
            left, right, top, bottom = (_number(getattr(rect, side), f"rects: row {row}, {side}") for side in _SIDES)
            boxes[row] = (left, min(top, bottom)), (right, max(top, bottom))
            continue
        try:
            boxes[row] = from_xywh(np.asarray(rect, np.float64).reshape(1, 4))[0]
        except InvalidBoxError as error:
            raise InvalidBoxError(str(error).replace("xywh: row 0", f"rects: row {row}"), row) from None
        except (TypeError, ValueError):
            raise TypeError(
                f"rects: row {row} is {quoted(rect)}; needed are left, right, top and bottom, or (x, y, width, height)"
            ) from None
    return require_boxes(boxes, "rects")


def from_geometries(geometries: Iterable[Any]) -> NDArray[np.float64]:
    """Make the bounding boxes of geometries: of shapely, GeoPandas, trimesh, or anything with bounds.

    Parameters
    ----------
    geometries : iterable
        Objects with ``bounds``: the lower corner followed by the upper one, shape (2*d,) or (2, d), all of one
        dimension. Arrays and lists of shapely geometries, and a `GeoSeries`, are done at once; WKB (bytes) is decoded
        by shapely.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d), float64
        One for each, in their order. Exact.

    Raises
    ------
    InvalidBoxError
        An empty geometry, NaN, lower > upper; names the first bad row.
    ValueError, TypeError
        Bounds of another form or dimension; an object without bounds; names the first bad row.
    MissingExtraError
        WKB without shapely.

    Examples
    --------
    >>> import broadphase as bp
    >>> from types import SimpleNamespace
    >>> bp.boxes.from_geometries([SimpleNamespace(bounds=(0, 0, 2, 1))])
    array([[[0., 0.],
            [2., 1.]]])
    """
    return _boxes_of_geometries(geometries, "geometries")


def from_frame(
    frame: Any, lower: Sequence[str] | None = None, upper: Sequence[str] | None = None, *, geometry: str | None = None
) -> NDArray[Any]:
    """Make boxes from the columns of a table: of pandas, polars, PyArrow, GeoPandas, or a dict of arrays.

    Parameters
    ----------
    frame : DataFrame, Table or mapping of columns by name
        One row for each box.
    lower, upper : sequence of str
        Names of the columns with the lower and the upper corner, one for each axis.
    geometry : str, optional
        Name of a column of geometries, or of WKB, in place of `lower` and `upper`; see `from_geometries`.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d)
        float32 if all columns are float32, otherwise float64.

    Raises
    ------
    InvalidBoxError
        NaN or a missing value, lower > upper; names the first bad row and its columns.
    ValueError
        No such column, which suggests the nearest; columns of different numbers for `lower` and `upper`.
    TypeError
        A column that does not hold numbers; names it.

    Examples
    --------
    >>> import broadphase as bp
    >>> table = {"x0": [0.0, 4.0], "y0": [0.0, 4.0], "x1": [1.0, 5.0], "y1": [2.0, 9.0]}
    >>> bp.boxes.from_frame(table, lower=["x0", "y0"], upper=["x1", "y1"])
    array([[[0., 0.],
            [1., 2.]],
    <BLANKLINE>
           [[4., 4.],
            [5., 9.]]])
    """
    if geometry is not None:
        if lower is not None or upper is not None:
            raise ValueError("give either lower and upper, or geometry")
        return _boxes_of_geometries(_column(frame, geometry), f"column {quoted(geometry)}")
    if lower is None or upper is None:
        raise ValueError("name the columns of the corners, lower= and upper=, or a column of geometries, geometry=")
    names = _names(lower), _names(upper)
    if len(names[0]) != len(names[1]) or not 0 < len(names[0]) <= MAX_DIMENSION:
        raise ValueError(
            f"lower and upper must name as many columns, 1 to {MAX_DIMENSION}, not {len(names[0])} and {len(names[1])}"
        )
    corners = [[_numbers_of(_column(frame, name), name) for name in side] for side in names]
    counts = {len(column) for side in corners for column in side}
    if len(counts) > 1:
        raise ValueError(f"the columns must be of one length, not of {', '.join(map(str, sorted(counts)))}")
    boxes = np.stack([np.stack(side, axis=1) for side in corners], axis=1)
    for low, high, axis in zip(*names, range(len(names[0])), strict=True):
        bad = first_bad_row(boxes[:, 0, axis] > boxes[:, 1, axis])
        if bad is not None:
            raise InvalidBoxError(
                f"row {bad}: {quoted(low)} > {quoted(high)} ({boxes[bad, 0, axis]} > {boxes[bad, 1, axis]})", bad
            )
    return boxes


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is not a number but {quoted(value)}") from None


def _names(names: Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _column(frame: Any, name: str) -> Any:
    known = getattr(frame, "column_names", None)  # of PyArrow
    if known is None:
        known = frame.columns if hasattr(frame, "columns") else frame.keys() if hasattr(frame, "keys") else None
    if known is None:
        raise TypeError(f"frame must be a table or a mapping of columns, not {type(frame).__name__}")
    if name not in list(known):
        raise ValueError(unknown_name("column", name, map(str, known)))
    return frame[name]


def _numbers_of(column: Any, name: str) -> NDArray[Any]:
    """Convert a column of numbers to float32 or float64; a missing value is named by its row."""
    values = np.asarray(column)
    if values.dtype == object:
        missing = np.array([value is None or type(value).__name__ == "NAType" for value in values], np.bool_)
        if missing.any():
            row = int(missing.argmax())
            raise InvalidBoxError(f"row {row}: {quoted(name)} has no value", row)
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"column {quoted(name)} must hold numbers") from None
    numbers = as_numbers(values, name=f"column {quoted(name)}")
    if numbers.ndim != 1:
        raise ValueError(
            f"column {quoted(name)} must hold one number for each row, not an array of shape {numbers.shape}"
        )
    bad = first_bad_row(np.isnan(numbers))
    if bad is not None:
        raise InvalidBoxError(f"row {bad}: {quoted(name)} is NaN", bad)
    return numbers


def _boxes_of_geometries(geometries: Any, name: str) -> NDArray[np.float64]:
    if hasattr(geometries, "to_pylist"):  # a column of PyArrow
        geometries = geometries.to_pylist()
    given = list(geometries)
    if not given:
        return np.empty((0, 2, 2))
    bounds = _shapely_bounds(given)
    if bounds is None:
        rows = [_bounds_of(geometry, row, name) for row, geometry in enumerate(given)]
        other = next((row for row, values in enumerate(rows) if len(values) != len(rows[0])), None)
        if other is not None:
            raise ValueError(
                f"{name}: row 0 has {len(rows[0]) // 2} dimensions and row {other} has {len(rows[other]) // 2}"
            )
        bounds = np.array(rows)
    bad = first_bad_row(np.isnan(bounds))
    if bad is not None:
        raise InvalidBoxError(f"{name}: row {bad} is empty or missing: it has no bounds", bad)
    return require_boxes(bounds.reshape(len(bounds), 2, bounds.shape[1] // 2), name)


def _shapely_bounds(given: list[Any]) -> NDArray[np.float64] | None:
    """Get the bounds of shapely geometries at once, (n, 4), NaN for empty ones; None if some are not of shapely."""
    if any(isinstance(geometry, bytes) for geometry in given):
        try:
            shapely: Any = import_module("shapely")
        except ModuleNotFoundError as error:
            raise MissingExtraError("geometries as WKB need shapely: pip install shapely", name=error.name) from error
    else:
        shapely = sys.modules.get("shapely")  # imported, if any of these is of it
        if shapely is None:
            return None
    array = np.empty(len(given), object)
    array[:] = [shapely.from_wkb(geometry) if isinstance(geometry, bytes) else geometry for geometry in given]
    if not all(geometry is None or isinstance(geometry, shapely.Geometry) for geometry in array):
        return None
    bounds: NDArray[np.float64] = shapely.bounds(array)
    return bounds


def _bounds_of(geometry: Any, row: int, name: str) -> NDArray[np.float64]:
    bounds = getattr(geometry, "bounds", None)
    if bounds is None:
        raise TypeError(f"{name}: row {row} is a {type(geometry).__name__}, which has no bounds")
    values = as_numbers(bounds, name=f"{name}: bounds of row {row}").astype(np.float64)
    if values.size % 2 or not 0 < values.size <= 2 * MAX_DIMENSION or values.shape not in (
        (values.size,), (2, values.size // 2)
    ):  # fmt: skip
        raise ValueError(f"{name}: bounds of row {row} must have shape (2*d,) or (2, d), not {values.shape}")
    return values.reshape(-1)
