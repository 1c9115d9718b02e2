"""Make boxes from what other libraries have: rectangles of games and images, geometries, tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.arguments import require_unmasked
from broadphase.boxes.checking import first_bad_row, require_boxes, require_finite
from broadphase.boxes.numbers import as_numbers
from broadphase.boxes.objects import SIDES, bounds_of, boxes_of, column_numbers, is_rectangle, names_of, side_by_side
from broadphase.boxes.rounding import boxes_around
from broadphase.errors import InvalidBoxError, quoted, unknown_name
from broadphase.floats import MAX_DIMENSION
from broadphase.tables import arrow
from broadphase.tables.names import SIZES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["from_frame", "from_geometries", "from_rects", "from_xywh"]

_sides_of = attrgetter(*SIDES)


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
    InvalidBoxError, ValueError, TypeError
        NaN, an infinite position, a negative or infinite size, with the first bad row. Wrong shape or dtype.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.boxes.from_xywh([[10, 20, 5, 2]])
    array([[[10., 20.], [15., 22.]]])
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
        their y axis points up or down; or with ``x``, ``y``, ``width`` (``w``) and ``height`` (``h``), or ``left``,
        ``top``, ``width`` and ``height``, as attributes or methods; or with a ``rect`` that is one of these, as
        sprites; or sequences of four numbers x, y, width, height.

    Returns
    -------
    boxes : ndarray, shape (n, 2, 2), float64
        One for each, in their order. What has sides has exactly these; one of negative size is turned the right way, as
        pygame does when it looks for collisions. The far corner of a corner and a size is rounded up, see `from_xywh`.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        NaN; a negative size of a tuple, or of an object without sides; something that is no rectangle: names the first
        bad row.

    Notes
    -----
    In pygame, a rectangle covers the pixels from ``left`` to ``right - 1``: two that share an edge do not collide, and
    one of no width or height never does. In arcade, rectangles that share an edge do not overlap either. So
    ``bp.pairs(boxes, touching=False)`` gives the pairs for which ``Rect.colliderect``, or ``Rect.overlaps``, is True.
    (pygame rounds the sums of an `FRect` to float32; here they are float64.)

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
    if is_rectangle(rects):
        raise TypeError(f"rects is one rectangle, {quoted(rects)}; pass a list: [rect]")
    require_unmasked(rects, "rects")
    given = list(rects)
    require_unmasked(given, "rects")
    sides = _sides(given)
    if sides is not None:
        return sides
    try:
        return from_xywh(np.asarray(given, np.float64).reshape(len(given), 4))
    except (TypeError, ValueError):
        pass  # one by one, to name the row
    return np.stack([_box_of_rectangle(rect, row) for row, rect in enumerate(given)])


def _sides(given: list[Any]) -> NDArray[np.float64] | None:
    """Return the boxes of objects that all have sides; None if others are among them, or none are numbers."""
    if not given or not all(hasattr(given[0], side) for side in SIDES):
        return None
    try:
        sides = np.fromiter(chain.from_iterable(map(_sides_of, given)), np.float64, 4 * len(given)).reshape(-1, 2, 2)
    except (AttributeError, TypeError, ValueError):
        return None
    boxes = np.stack((sides.min(axis=2), sides.max(axis=2)), axis=1)
    return require_boxes(boxes, "rects")


def _box_of_rectangle(rect: Any, row: int) -> NDArray[np.float64]:
    one = rect if not hasattr(rect, "rect") or hasattr(rect, "left") else rect.rect
    names = next((names for names in (SIDES, *SIZES) if all(hasattr(one, name) for name in names)), None)
    if names == SIDES and not callable(one.left):
        left, right, top, bottom = (_number(getattr(one, side), f"rects: row {row}, {side}") for side in SIDES)
        box: NDArray[np.float64] = np.array(
            [[min(left, right), min(top, bottom)], [max(left, right), max(top, bottom)]]
        )
        if np.isnan(box).any():
            raise InvalidBoxError(f"rects: row {row} has NaN", row)
        return box
    numbers = one
    if names is not None:  # of Qt, they are methods, and `right` is the last pixel
        sizes = next((names for names in SIZES if all(hasattr(one, name) for name in names)), names)
        values = [getattr(one, name) for name in sizes]
        numbers = [
            _number(value() if callable(value) else value, f"rects: row {row}, {name}")
            for name, value in zip(sizes, values, strict=True)
        ]
    try:
        box = from_xywh(np.asarray(numbers, np.float64).reshape(1, 4))[0]
    except InvalidBoxError as error:
        raise InvalidBoxError(str(error).replace("xywh: row 0", f"rects: row {row}"), row) from None
    except (TypeError, ValueError):
        raise TypeError(
            f"rects: row {row} is {quoted(rect)}; needed are left, right, top and bottom, or x, y, width and height"
        ) from None
    return box


def from_geometries(geometries: Any) -> NDArray[np.float64]:
    """Make the bounding boxes of geometries: of shapely, GeoPandas, trimesh, or anything with bounds.

    Parameters
    ----------
    geometries : iterable
        Objects with ``bounds``: the lower corner followed by the upper one, shape (2*d,) or (2, d), all of one
        dimension. Arrays and lists of shapely geometries, a `GeoSeries` and a `GeoDataFrame` are done at once; WKB
        (bytes, or an Arrow array of them) is decoded by shapely.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d), float64
        One for each, in their order. Exact.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        An empty geometry, None, NaN, lower > upper; bounds of another form or dimension; an object without bounds;
        bytes that are no WKB: names the first bad row.
    MissingExtraError
        WKB without shapely.

    Notes
    -----
    `broadphase.pairs` and all others take such objects as they are, but for WKB; the rows of empty ones are NaN there,
    which ``invalid="skip"`` leaves out.

    Examples
    --------
    >>> import broadphase as bp
    >>> from types import SimpleNamespace
    >>> bp.boxes.from_geometries([SimpleNamespace(bounds=(0, 0, 2, 1))])
    array([[[0., 0.], [2., 1.]]])
    """
    return _boxes_of_geometries(geometries, "geometries")


def from_frame(
    frame: Any, lower: Sequence[str] | None = None, upper: Sequence[str] | None = None, *, geometry: str | None = None
) -> NDArray[Any]:
    """Make boxes from the columns of a table: of pandas, polars, PyArrow, GeoPandas, a dict of arrays, or records.

    Parameters
    ----------
    frame : DataFrame, Table, structured array, mapping of columns by name, or sequence of dict
        One row for each box.
    lower, upper : sequence of str
        Names of the columns with the lower and the upper corner, one for each axis. Default: the columns ``xmin, ymin,
        xmax, ymax``, or others that files of tables may have, see `broadphase.io.read_boxes`; the geometries of a
        GeoDataFrame.
    geometry : str, optional
        Name of a column of geometries, or of WKB, in place of `lower` and `upper`; see `from_geometries`.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d)
        float32 if all columns are float32, otherwise float64. Rows count from 0, whatever the index of the table.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        NaN or a missing value, lower > upper: names the first bad row and its columns. No such column, which suggests
        the nearest; columns of different numbers for `lower` and `upper`, or that hold no numbers.

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
    if not isinstance(frame, Mapping) and isinstance(frame, list | tuple) and frame:
        frame = _columns_of_records(frame)
    if geometry is not None:
        if lower is not None or upper is not None:
            raise ValueError("give either lower and upper, or geometry")
        return _boxes_of_geometries(_column(frame, geometry), f"column {quoted(geometry)}")
    if lower is None and upper is None:
        if names_of(frame) is None and not arrow.is_arrow(frame):
            raise TypeError(f"frame must be a table or a mapping of columns, not {type(frame).__name__}")
        plain = boxes_of(frame, "frame")
        if hasattr(frame, "geometry"):
            return _without_blank(plain, "frame")
        return require_boxes(_stacked(plain), "frame")
    if lower is None or upper is None:
        raise ValueError("give both lower= and upper=, the names of the columns of the corners")
    names = _names(lower), _names(upper)
    if len(names[0]) != len(names[1]) or not 0 < len(names[0]) <= MAX_DIMENSION:
        raise ValueError(
            f"lower and upper must name as many columns, 1 to {MAX_DIMENSION}, not {len(names[0])} and {len(names[1])}"
        )
    columns = [_complete(_column(frame, name), name) for side in names for name in side]
    boxes = _stacked(side_by_side(columns))
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


def _columns_of_records(records: Sequence[Any]) -> dict[str, list[Any]]:
    """Turn a list of dicts into columns by name."""
    odd = next((row for row, record in enumerate(records) if not isinstance(record, Mapping)), None)
    if odd is not None:
        raise TypeError(f"frame: row {odd} is {quoted(records[odd])}, not a dict of values by name")
    names = list(records[0])
    for row, record in enumerate(records):
        for name in names:
            if name not in record:
                raise ValueError(f"frame: row {row} has no {quoted(name)}, which row 0 has")
    return {name: [record[name] for record in records] for name in names}


def _column(frame: Any, name: str) -> Any:
    known = names_of(frame)
    if known is None:
        raise TypeError(f"frame must be a table or a mapping of columns, not {type(frame).__name__}")
    if name not in known:
        raise ValueError(unknown_name("column", name, map(str, known)))
    return frame[name]


def _complete(column: Any, name: str) -> NDArray[Any]:
    """Convert a column of numbers to float32 or float64; a missing value is named by its row."""
    numbers = column_numbers(column, f"column {quoted(name)}")
    bad = first_bad_row(np.isnan(numbers))
    if bad is not None:
        raise InvalidBoxError(f"row {bad}: {quoted(name)} is NaN or has no value", bad)
    return numbers


def _boxes_of_geometries(geometries: Any, name: str) -> NDArray[np.float64]:
    bounds: Any = None if isinstance(geometries, list | tuple | np.ndarray) else getattr(geometries, "bounds", None)
    if hasattr(bounds, "columns"):  # of GeoPandas
        return _without_blank(bounds.to_numpy(), name)
    if arrow.is_arrow(geometries):  # WKB
        data = arrow.opened(geometries, name)
        geometries = geometries if data is None else arrow.bytes_of(data, name)
    if not isinstance(geometries, Iterable):
        raise TypeError(f"{name} must be a sequence of geometries, not one {type(geometries).__name__}")
    given = geometries if isinstance(geometries, np.ndarray) else list(geometries)
    if not len(given):
        return np.empty((0, 2, 2))
    return _without_blank(bounds_of(given, name), name)


def _without_blank(bounds: NDArray[Any], name: str) -> NDArray[Any]:
    bad = first_bad_row(np.isnan(bounds))
    if bad is not None:
        raise InvalidBoxError(f"{name}: row {bad} is empty or missing: it has no bounds", bad)
    return require_boxes(_stacked(bounds), name)


def _stacked(boxes: Any) -> NDArray[Any]:
    """Return boxes in the form (n, 2, d)."""
    if isinstance(boxes, tuple):
        return np.stack(boxes, axis=1)
    return np.asarray(boxes).reshape(len(boxes), 2, -1)
