"""Check the arrays that boxes are made from, and name the first bad row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.arguments import as_own_array
from broadphase.boxes.forms import advice_on_invalid, describe_invalid
from broadphase.boxes.numbers import as_numbers
from broadphase.boxes.objects import column_numbers, names_of, side_by_side
from broadphase.errors import InvalidBoxError, quoted
from broadphase.floats import MAX_DIMENSION
from broadphase.tables.names import listed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def as_points(values: ArrayLike, name: str, *, or_one: bool = False) -> NDArray[Any]:
    """Return points as a float array of shape (n, d), of a table by its columns x, y, z, w; an empty list has d = 2.

    `or_one`: a point of shape (d,) is returned as it is.
    """
    is_array = type(values) is np.ndarray and not values.dtype.hasobject
    points = as_numbers(values if is_array else _plain_points(values, name), name=name)
    if points.shape == (0,):
        points = points.reshape(0, 2)
    is_one = points.ndim == 1 and points.size <= MAX_DIMENSION
    if is_one and or_one:
        return points
    if points.ndim != 2 or not 0 < points.shape[1] <= MAX_DIMENSION:
        one = f"; one of them is [[{', '.join('xyzw'[: points.size])}]]" if is_one else ""
        raise ValueError(f"{name} must have shape (n, d), d = 1 to 4, not {points.shape}{one}")
    return points


def _plain_points(values: Any, name: str) -> Any:
    """Return the points of a table by the names of its columns, and refuse geometries; anything else as it is."""
    if type(values) is list or type(values) is tuple:
        first = values[0] if values else None
    else:
        labels = None if isinstance(values, np.ndarray) else names_of(values)
        if labels is not None and labels != list(range(len(labels))):
            return _columns_of_points(values, labels, name)
        first = values[0] if isinstance(values, np.ndarray) and values.dtype == object and values.size else values
    if first is not None and hasattr(first, "geom_type"):
        raise TypeError(f"{name} must be numbers, not geometries; pass shapely.get_coordinates({name})")
    return values


def _columns_of_points(frame: Any, labels: list[Any], name: str) -> NDArray[Any]:
    by_text = {str(label).strip().lower(): label for label in labels}
    if hasattr(frame, "geometry"):
        raise TypeError(f"{name} must be numbers, not geometries; pass shapely.get_coordinates({name}.geometry)")
    axes = "xyzw"[: len(labels)]
    if len(labels) > MAX_DIMENSION or {*by_text} != {*axes}:
        raise ValueError(
            f"{name} has columns {listed(map(str, labels))}, not {', '.join(axes)};"
            " pass an array of the coordinates in order"
        )
    columns = [column_numbers(frame[by_text[axis]], f"{name}, column {quoted(by_text[axis])}") for axis in axes]
    return side_by_side(columns)


def as_reach(values: ArrayLike, points: NDArray[Any], name: str, *, round_up: bool = True) -> NDArray[Any]:
    """Return half sizes that broadcast against the points; one number takes the points' dtype, rounded up."""
    reach = as_numbers(values, name=name)
    try:
        fits = np.broadcast_shapes(reach.shape, points.shape) == points.shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{name} of shape {reach.shape} do not fit {len(points)} points of {points.shape[1]} axes")
    wrong = ~(np.isfinite(reach) & (reach >= 0))
    bad = first_bad_row(np.atleast_1d(wrong))
    if bad is not None:
        value = reach[wrong].flat[0]
        where = "" if reach.ndim == 0 else f"axis {bad} has " if reach.ndim == 1 else f"row {bad} has "
        raise InvalidBoxError(
            f"{name}: {where}{value}, which is not finite and at least 0", bad if reach.ndim == 2 else 0
        )
    if reach.ndim or reach.dtype == points.dtype:
        return reach
    with np.errstate(over="ignore"):  # too large for float32: infinite, so the box holds everything
        narrow = reach.astype(points.dtype)
        if round_up and narrow < reach:
            return np.asarray(np.nextafter(narrow, points.dtype.type(np.inf)))
    return narrow


def as_radius(values: ArrayLike, points: NDArray[Any], name: str, *, round_up: bool = True) -> NDArray[Any]:
    """Return radii, one for each point or one for all, shaped to broadcast against the points."""
    radii = as_numbers(values, name=name)
    if radii.ndim > 1 or (radii.ndim == 1 and len(radii) != len(points)):
        raise ValueError(f"{name} must be one number or have shape ({len(points)},), not {radii.shape}")
    return as_reach(radii if radii.ndim == 0 else radii[:, np.newaxis], points, name, round_up=round_up)


def as_integers(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return an integer array of any shape, a copy."""
    array = as_own_array(values, name)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    return array


def as_elements(faces: ArrayLike, vertex_count: int) -> NDArray[Any]:
    """Return faces as an integer array of shape (m, k), every number a row of the vertices."""
    elements = as_integers(faces, "faces")
    if elements.shape == (0,):
        elements = elements.reshape(0, 3)
    if elements.ndim != 2 or not elements.shape[1]:
        raise ValueError(f"faces must have shape (m, k), not {elements.shape}")
    bad = first_bad_row((elements < 0) | (elements >= vertex_count))
    if bad is not None:
        vertex = next(int(vertex) for vertex in elements[bad] if not 0 <= vertex < vertex_count)
        raise ValueError(f"faces: row {bad} uses vertex {vertex}, but there are {vertex_count} vertices, from 0")
    return elements


def as_row_pairs(values: ArrayLike, counts: tuple[int, int], things: str) -> NDArray[np.int32]:
    """Return pairs of rows, shape (m, 2), of so many things on either side; an empty list has none."""
    rows = as_integers(values, "pairs")
    if rows.shape == (0,):
        rows = rows.reshape(0, 2)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"pairs must have shape (m, 2), not {rows.shape}")
    for side, count in enumerate(counts):
        bad = first_bad_row((rows[:, side] < 0) | (rows[:, side] >= count))
        if bad is not None:
            raise ValueError(f"pairs: row {bad} is {rows[bad].tolist()}, but there are {count} {things}, from 0")
    return rows.astype(np.int32, copy=False)


def first_bad_row(bad: NDArray[np.bool_]) -> int | None:
    """Return the first row with anything True, or None."""
    if not bad.any():
        return None
    return int(np.argmax(bad if bad.ndim == 1 else bad.any(axis=1)))


def require_no_nan(points: NDArray[Any], name: str) -> None:
    """Raise InvalidBoxError if a point has NaN."""
    bad = first_bad_row(np.isnan(points))
    if bad is not None:
        raise InvalidBoxError(f"{name}: row {bad} has NaN, axis {int(np.argmax(np.isnan(points[bad])))}", bad)


def require_finite(points: NDArray[Any], name: str) -> None:
    """Raise InvalidBoxError if a point has NaN or an infinity."""
    require_no_nan(points, name)
    bad = first_bad_row(np.isinf(points))
    if bad is not None:
        raise InvalidBoxError(f"{name}: row {bad} is infinite, axis {int(np.argmax(np.isinf(points[bad])))}", bad)


def require_boxes(boxes: NDArray[Any], name: str) -> NDArray[Any]:
    """Return boxes of shape (n, 2, d) unchanged; raise InvalidBoxError if a row is not a box."""
    lower, upper = boxes[:, 0], boxes[:, 1]
    bad = first_bad_row(~(lower <= upper))
    if bad is not None:
        raise InvalidBoxError(f"{name}: {describe_invalid(lower, upper, bad)}{advice_on_invalid(lower, upper)}", bad)
    return boxes
