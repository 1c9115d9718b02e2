"""What questions are asked with: points, radii, motions and limits, checked and as the core reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.boxes.checking import as_points, first_bad_row, require_finite, require_no_nan
from broadphase.boxes.forms import as_numbers
from broadphase.errors import InvalidBoxError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["limits", "motions", "places", "point_boxes", "radii"]

# Directions within these need no scaling: the time in which one of them crosses a scene of any size is in range.
_LARGEST, _SMALLEST = 2.0**10, 2.0**-10


def places(values: Any, name: str, dimension: int) -> NDArray[np.float64]:
    """Finite points as float64, (q, d)."""
    points = _points(values, name, dimension)
    if not np.isfinite(points).all():
        require_finite(points, name)
    return np.ascontiguousarray(points, dtype=np.float64)


def point_boxes(values: Any, name: str, dimension: int) -> NDArray[Any]:
    """Points, possibly infinite, in their own dtype: both corners of boxes."""
    points = _points(values, name, dimension)
    if np.isnan(points).any():
        require_no_nan(points, name)
    return np.ascontiguousarray(points)


def motions(values: Any, name: str, count: int, dimension: int) -> NDArray[np.float64]:
    """Finite vectors as float64, one for each question; one for all is repeated."""
    array = as_numbers(values, name=name)
    array = places(array[np.newaxis] if array.shape == (dimension,) else array, name, dimension)
    if len(array) != count:
        if len(array) != 1:
            raise ValueError(f"{name}: {len(array)} vectors for {count} questions")
        array = np.repeat(array, count, axis=0)
    return array


def in_range(directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Directions of rays, those of extreme length scaled by a power of two: the distances are the same."""
    if not len(directions):
        return directions
    largest = np.abs(directions).max(axis=1)
    if largest.max() <= _LARGEST and largest.min() >= _SMALLEST:
        return directions
    extreme = (largest > _LARGEST) | ((largest < _SMALLEST) & (largest > 0))
    _, exponent = np.frexp(np.where(extreme, largest, 1.0))
    scaled: NDArray[np.float64] = np.ldexp(directions, np.where(extreme, -exponent, 0)[:, np.newaxis])
    return scaled


def radii(values: Any, name: str, count: int) -> NDArray[np.float64]:
    """Finite numbers from 0 on, as float64, one for each question."""
    array = _one_each(values, name, count)
    bad = first_bad_row(~(np.isfinite(array) & (array >= 0)))
    if bad is not None:
        raise InvalidBoxError(f"{name}: row {bad} has {array[bad]}, which is not finite and at least 0", bad)
    return array


def limits(values: Any, name: str, count: int) -> NDArray[np.float64]:
    """Numbers from 0 on, possibly infinite, as float64, one for each question."""
    array = _one_each(values, name, count)
    bad = first_bad_row(~(array >= 0))
    if bad is not None:
        raise InvalidBoxError(f"{name}: row {bad} has {array[bad]}, which is not at least 0", bad)
    return array


def _points(values: Any, name: str, dimension: int) -> NDArray[Any]:
    points = as_points(values, name)
    if points.shape[1] != dimension:
        if len(points):
            raise ValueError(f"{name} have {points.shape[1]} dimensions, and the index has {dimension}")
        points = np.empty((0, dimension), points.dtype)
    return points


def _one_each(values: Any, name: str, count: int) -> NDArray[np.float64]:
    if isinstance(values, float | int):
        return np.full(count, float(values))
    array = as_numbers(values, name=name)
    if array.shape not in ((), (count,)):
        raise ValueError(f"{name} must be one number or have shape ({count},), not {array.shape}")
    return np.ascontiguousarray(np.broadcast_to(array, (count,)), dtype=np.float64)
