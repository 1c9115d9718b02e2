"""Boxes of what is no array of numbers: tables, geometries and meshes, Arrow data; and errors for what is no box.

An object is known by what it has, never by its library: columns with names, ``bounds``, the Arrow interface.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.arguments import require_undamaged
from broadphase.boxes.numbers import as_numbers, as_plain_array
from broadphase.errors import clipped, quoted
from broadphase.extras import import_extra
from broadphase.floats import MAX_DIMENSION, as_float
from broadphase.tables import arrow
from broadphase.tables.names import SIZES, WANTED, find_box_columns, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "SIDES", "bounds_of", "boxes_of", "column_numbers", "has_own_bounds", "is_rectangle", "names_of", "side_by_side",
]  # fmt: skip

SIDES = ("left", "right", "top", "bottom")
_PLAIN = frozenset({list, tuple, int, float, bool, np.ndarray, np.float64, np.float32, np.int64, np.int32, np.bool_})


def boxes_of(values: Any, name: str) -> Any:
    """Return boxes of any kind in a form that NumPy reads: an array, nested sequences, or a tuple of two corners.

    What has boxes, but not in a form whose meaning is certain, such as rectangles, raises TypeError or ValueError with
    the function to call.
    """
    kind = type(values)
    if kind is list or kind is tuple:
        if {*map(type, values)} <= _PLAIN:
            return values
        return _boxes_of_items(values, name)
    if isinstance(values, np.ndarray):
        if values.dtype.names:
            return _boxes_of_columns(values, name)
        return _boxes_of_items(values, name) if values.dtype == object and values.ndim == 1 else values
    if isinstance(values, str | bytes) or values is None:
        return values
    if kind.__module__.startswith("broadphase."):
        advice = "; pass its boxes" if hasattr(kind, "boxes") else ""
        raise TypeError(f"{name} must be boxes, not a {kind.__name__}{advice}")
    if is_rectangle(values):
        raise TypeError(_for_rectangles(name))
    if has_own_bounds(values):
        return bounds_of([values], name)
    bounds = getattr(values, "bounds", None)
    if bounds is not None and not callable(bounds):
        return _boxes_of_columns(bounds, name) if hasattr(bounds, "columns") else bounds
    if isinstance(values, Mapping) or hasattr(values, "iloc"):
        if not hasattr(values, "columns") and not isinstance(values, Mapping):  # a Series
            return _boxes_of_items(as_plain_array(values, name), name)
        return _boxes_of_columns(values, name)
    if arrow.is_arrow(values):
        data = arrow.opened(values, name)
        if data is not None:
            return arrow.corners_of(data, name)
    if hasattr(values, "columns") and hasattr(values, "__getitem__"):
        return _boxes_of_columns(values, name)
    if isinstance(values, Iterable) and not hasattr(values, "__len__") and not hasattr(values, "__array__"):
        raise TypeError(f"{name} is a {kind.__name__}, which can be read only once; pass list({name})")
    return values


def has_own_bounds(values: Any) -> bool:
    """Return whether an object has the bounds of one box: not those of each of many geometries, as in GeoPandas."""
    bounds = getattr(values, "bounds", None)
    if bounds is None or callable(bounds) or hasattr(bounds, "columns"):
        return False
    return not (hasattr(values, "geom_type") and np.ndim(bounds) == 2)


def _boxes_of_items(values: Any, name: str) -> Any:
    """Return boxes of a sequence of objects; the sequence if they are for NumPy to read."""
    known = ((row, one) for row, one in enumerate(values) if one is not None and type(one) not in _PLAIN)
    row, first = next(known, (0, None))
    if isinstance(first, bytes):
        raise TypeError(f"{name}: row {row} is bytes; for geometries as WKB use bp.boxes.from_geometries")
    if isinstance(first, Mapping):
        if "geometry" in first or "coordinates" in first:
            raise TypeError(
                f"{name}: row {row} is a GeoJSON object; use bp.io.read_boxes for files,"
                " or bp.boxes.from_geometries with shapely.geometry.shape of each"
            )
        raise TypeError(f"{name}: row {row} is a dict; for records use bp.boxes.from_frame")
    if first is not None and (is_rectangle(first) or is_rectangle(getattr(first, "rect", None))):
        raise TypeError(_for_rectangles(f"{name}: row {row}"))
    if getattr(first, "bounds", None) is not None or (hasattr(first, "bounds") and not hasattr(first, "__array__")):
        return bounds_of(values, name)
    if type(first).__module__.startswith("broadphase."):
        raise TypeError(
            f"{name}: row {row} is a {type(first).__name__}; place shapes by bp.Shapes, which has boxes,"
            " and which bp.overlaps compares"
        )
    return values


def is_rectangle(value: Any) -> bool:
    """Return whether an object has the sides, or a corner and the size, of one rectangle."""
    if value is None or isinstance(value, np.ndarray) or hasattr(value, "columns"):
        return False
    try:
        return any(all(hasattr(value, one) for one in names) for names in (SIDES, *SIZES))
    except Exception:  # of an attribute that is computed, such as x of an empty point
        return False


def _for_rectangles(name: str) -> str:
    return (
        f"{name} is a rectangle, which is not read as corners; use bp.boxes.from_rects,"
        " and touching=False in bp.pairs if those that only share an edge do not collide, as in pygame and arcade"
    )


def bounds_of(geometries: Any, name: str) -> NDArray[np.float64]:
    """Return the bounds of objects that have them, shape (n, 2*d); NaN where one is None, empty or without any."""
    given = geometries if isinstance(geometries, np.ndarray) else list(geometries)
    bounds = _shapely_bounds(given, name)
    if bounds is not None:
        return bounds
    rows = [_bounds_of_one(one, row, name) for row, one in enumerate(given)]
    first = next((row for row, values in enumerate(rows) if values is not None), None)
    if first is None:
        return np.full((len(rows), 4), np.nan)
    size = len(rows[first])  # type: ignore[arg-type]
    array = np.full((len(rows), size), np.nan)
    for row, values in enumerate(rows):
        if values is None:
            continue
        if len(values) != size:
            raise ValueError(f"{name}: row {first} has {size // 2} dimensions and row {row} has {len(values) // 2}")
        array[row] = values
    return array


def _shapely_bounds(given: Sequence[Any] | NDArray[Any], name: str) -> NDArray[np.float64] | None:
    """Get the bounds of shapely geometries at once, (n, 4), NaN for empty ones; None if some are not of shapely."""
    kinds = {*map(type, given)}
    if bytes in kinds:
        shapely: Any = import_extra("shapely", purpose="reading geometries as WKB", extra="gis")
    else:
        shapely = sys.modules.get("shapely")  # imported, if any of these is of it
        if shapely is None:
            return None
    if not all(kind in (bytes, type(None)) or issubclass(kind, shapely.Geometry) for kind in kinds):
        return None
    array = np.empty(len(given), object)
    array[:] = given
    if bytes in kinds:
        for row, one in enumerate(given):
            if isinstance(one, bytes):
                try:
                    array[row] = shapely.from_wkb(one)
                except shapely.errors.ShapelyError as error:
                    raise ValueError(f"{name}: row {row} is not WKB: {clipped(str(error))}") from None
    bounds: NDArray[np.float64] = shapely.bounds(array)
    return bounds


def _bounds_of_one(geometry: Any, row: int, name: str) -> NDArray[np.float64] | None:
    if geometry is None:
        return None
    if not hasattr(geometry, "bounds") or callable(geometry.bounds):
        raise TypeError(f"{name}: row {row} is a {type(geometry).__name__}, which has no bounds")
    # The bounds of Matplotlib's boxes are a corner and a size.
    is_of_plot = type(geometry).__module__ == "matplotlib.transforms"
    bounds = geometry.extents if is_of_plot else geometry.bounds
    if bounds is None or np.size(bounds) == 0:  # an empty mesh of trimesh, an empty geometry of shapely before 2
        return None
    values = as_numbers(bounds, name=f"{name}: bounds of row {row}").astype(np.float64)
    if values.size % 2 or not 0 < values.size <= 2 * MAX_DIMENSION or values.shape not in (
        (values.size,), (2, values.size // 2)
    ):  # fmt: skip
        raise ValueError(f"{name}: bounds of row {row} must have shape (2*d,) or (2, d), not {values.shape}")
    return values.reshape(-1)


def names_of(frame: Any) -> list[Any] | None:
    """Return the labels of a table's columns; None if it is no table."""
    if isinstance(frame, np.ndarray):
        return None if frame.dtype.names is None else list(frame.dtype.names)
    known = getattr(frame, "column_names", None)  # of PyArrow
    if known is None or callable(known):
        known = frame.columns if hasattr(frame, "columns") else frame.keys() if isinstance(frame, Mapping) else None
    return None if known is None or callable(known) else list(known)


def column_numbers(column: Any, name: str) -> NDArray[Any]:
    """Convert a column of numbers to float32 or float64, shape (n,); a missing value is NaN."""
    require_undamaged(column, name)
    dtype = getattr(column, "dtype", None)
    if hasattr(dtype, "na_value") and getattr(dtype, "kind", "") in ("i", "u") and column.isna().any():
        column = column.to_numpy(dtype=object)  # integers of pandas with missing ones would be rounded to float64
    values = as_plain_array(column, name)
    if values.dtype == object and values.ndim == 1:
        missing = np.array([value is None or type(value).__name__ == "NAType" for value in values], np.bool_)
        given = as_plain_array(np.where(missing, 0, values).tolist(), name)
        if given.dtype == object or given.ndim != 1:
            raise TypeError(f"{name} must hold numbers")
        values = as_float(given, name).copy()
        values[missing] = np.nan
    numbers = as_float(values, name)
    if numbers.ndim != 1:
        raise ValueError(f"{name} must hold one number for each row, not an array of shape {numbers.shape}")
    return numbers


def side_by_side(corners: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Put columns side by side: those of lower corners, then those of upper ones; shape (n, 2*d)."""
    counts = sorted({len(column) for column in corners})
    if len(counts) > 1:
        raise ValueError(f"the columns must be of one length, not of {', '.join(map(str, counts))}")
    boxes = np.empty((counts[0], len(corners)), np.result_type(*corners))
    for place, column in enumerate(corners):
        boxes[:, place] = column
    return boxes


def _boxes_of_columns(frame: Any, name: str) -> NDArray[Any]:
    """Return the boxes of a table by the names of its columns, shape (n, 2*d)."""
    labels = names_of(frame) or []
    texts = [str(label) for label in labels]
    try:
        places = find_box_columns(texts)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if places is None:
        if not isinstance(frame, Mapping) and labels and labels == list(range(len(labels))):
            return as_plain_array(frame, name)  # a table without names is an array
        found = next((names for names in SIZES if {*names} <= {text.strip().lower() for text in texts}), None)
        if found is not None:
            raise ValueError(
                f"{name} has columns {listed(found)}, a corner and a size;"
                " use bp.boxes.from_xywh with an array of these columns"
            )
        raise ValueError(
            f"{name} needs columns {WANTED}; has {listed(texts) or 'none'}."
            " Use bp.boxes.from_frame with lower= and upper=, or geometry=, to name others"
        )
    return side_by_side([column_numbers(frame[labels[at]], f"{name}, column {quoted(labels[at])}") for at in places])
