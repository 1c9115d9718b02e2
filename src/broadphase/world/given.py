"""What the world is given by row, checked: one value for all rows, or one for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.shapes.parameters import LARGEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["as_bounds", "as_flags", "as_places", "as_table", "as_turns", "as_whole_numbers", "has_length"]


_LARGEST_FLOAT = float(np.finfo(np.float64).max)
BORDERS = ("none", "bounce", "wrap", "remove")


def as_table(
    values: Any, name: str, item: tuple[int, ...], count: int | None = None, largest: float = _LARGEST_FLOAT
) -> NDArray[np.float64]:
    """Finite numbers, shape (count, *item): one item for all rows, if `count` is known, or one for each."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu" and array.size:
        raise TypeError(f"{name} must be numbers, not {array.dtype}")
    array = array.astype(np.float64, copy=False)
    if array.size == 0 and not count and array.ndim <= 1:
        array = array.reshape(0, *item)
    if count is not None and array.shape == item:
        array = np.broadcast_to(array, (count, *item))
    if array.ndim != 1 + len(item) or array.shape[1:] != item:
        wanted = ", ".join(("n", *map(str, item)))
        raise ValueError(f"{name} must have the shape ({wanted}), not {array.shape}")
    if count is not None and len(array) != count:
        raise ValueError(f"{name} has {len(array)} rows for {count} things")
    near = (np.abs(array) <= largest).all(axis=tuple(range(1, array.ndim)))
    if not near.all():
        row = int(np.argmin(near))
        far = f", or beyond {largest:g}" if largest < _LARGEST_FLOAT else ""
        raise ValueError(f"{name}: row {row} is not finite{far}: {array[row]}")
    return array


def as_places(values: Any, name: str, dimension: int, count: int | None = None) -> NDArray[np.float64]:
    """Positions, shape (count, d), no farther off than shapes may be."""
    return as_table(values, name, (dimension,), count, LARGEST)


def as_turns(values: Any, name: str, dimension: int, count: int | None = None) -> NDArray[np.float64]:
    """Rotations: radians, shape (count,), or quaternions that have a length, (count, 4)."""
    turns = as_table(values, name, () if dimension == 2 else (4,), count, LARGEST)
    if dimension == 3 and not (good := has_length(turns)).all():
        row = int(np.argmin(good))
        raise ValueError(f"{name}: row {row} is a quaternion of no length: {turns[row]}")
    return turns


def has_length(quaternions: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say which quaternions have a length: their squares do not vanish."""
    squared: NDArray[np.float64] = np.einsum("ij,ij->i", quaternions, quaternions)
    return squared >= 2.0**-900


def as_bounds(bounds: Any, border: str, dimension: int) -> NDArray[np.float64] | None:
    """Lower and upper corner of a world, shape (2, d), which a border needs."""
    if dimension not in (2, 3):
        raise ValueError(f"a world has 2 or 3 dimensions, not {dimension}")
    if border not in BORDERS:
        raise ValueError(f"border must be one of {', '.join(BORDERS)}, not {border!r}")
    if bounds is None:
        if border != "none":
            raise ValueError(f'border="{border}" needs bounds')
        return None
    corners = np.array(as_table(bounds, "bounds", (dimension,), None, LARGEST))
    if len(corners) != 2 or not (corners[0] < corners[1]).all():
        raise ValueError(f"bounds must be a lower and an upper corner, not {corners.tolist()}")
    corners.flags.writeable = False
    return corners


def as_flags(values: Any, name: str, count: int) -> NDArray[np.bool_]:
    """Booleans, shape (count,)."""
    array = np.asarray(values)
    if array.dtype != np.bool_:
        raise TypeError(f"{name} must be True or False, or an array of them, not {array.dtype}")
    return _for_each(array, name, count)


def as_whole_numbers(
    values: Any, name: str, count: int, dtype: type[np.integer[Any]], least: int | None = None, most: int | None = None
) -> NDArray[Any]:
    """Whole numbers of a dtype, shape (count,), within limits."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"{name} must be whole numbers, not {array.dtype}")
    limits = np.iinfo(dtype)
    low, high = limits.min if least is None else least, limits.max if most is None else most
    if array.size and not (low <= array.min() and array.max() <= high):
        raise ValueError(f"{name} must lie between {low} and {high}")
    return _for_each(array.astype(dtype), name, count)


def _for_each(array: NDArray[Any], name: str, count: int) -> NDArray[Any]:
    if array.ndim == 0:
        return np.broadcast_to(array, (count,))
    if array.shape != (count,):
        raise ValueError(f"{name} has the shape {array.shape} for {count} things")
    return array
