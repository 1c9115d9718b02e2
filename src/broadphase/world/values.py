"""Values that users give for rows, checked: one value for all rows, or one for each; and pairs of rows."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from broadphase import thresholds
from broadphase.arguments import as_own_array
from broadphase.errors import quoted, unknown_name
from broadphase.shapes.parameters import LARGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "BODY_TYPES", "BOUNDARIES", "DYNAMIC", "NO_PAIRS", "STATIC", "BodyType", "Boundary", "as_bounds", "as_flags",
    "as_pairs", "as_places", "as_rotations", "as_table", "as_whole_numbers", "is_rotation", "keys_of",
    "numbers_of_names", "pairs_of",
]  # fmt: skip

BodyType: TypeAlias = Literal["dynamic", "static", "kinematic"]
Boundary: TypeAlias = Literal["none", "bounce", "wrap", "remove"]

# Columns hold the places of the names in these.
BODY_TYPES: tuple[BodyType, ...] = get_args(BodyType)
BOUNDARIES: tuple[Boundary, ...] = get_args(Boundary)
DYNAMIC, STATIC = BODY_TYPES.index("dynamic"), BODY_TYPES.index("static")

NO_PAIRS = np.empty((2, 0), np.int32).T
NO_PAIRS.flags.writeable = False

_LARGEST_FLOAT = float(np.finfo(np.float64).max)


def as_table(
    values: Any, name: str, item: tuple[int, ...], count: int | None = None, largest: float = _LARGEST_FLOAT
) -> NDArray[np.float64]:
    """Check finite numbers of shape (count, *item): one item for all rows, if `count` is known, or one for each."""
    array = as_own_array(values, name)
    if array.dtype.kind not in "fiu" and array.size:
        raise TypeError(f"{name} must be numbers, not {array.dtype}")
    if array.dtype != np.float64:
        array = array.astype(np.float64)
    if array.size == 0 and not count and array.ndim <= 1:
        array = array.reshape(0, *item)
    if count is not None and array.shape == item:
        array = array[np.newaxis] if count == 1 else np.broadcast_to(array, (count, *item))
    if array.ndim != 1 + len(item) or array.shape[1:] != item:
        wanted = ", ".join(("n", *map(str, item)))
        raise ValueError(f"{name} must have shape ({wanted}), not {array.shape}")
    if count is not None and len(array) != count:
        raise ValueError(f"{name} has {len(array)} rows for {count} bodies")
    if array.size <= thresholds.FEW_NUMBERS and sum(map(abs, array.ravel().tolist())) <= largest:
        return array
    near = (np.abs(array) <= largest).all(axis=tuple(range(1, array.ndim)))
    if not near.all():
        row = int(np.argmin(near))
        far = f", or beyond {largest:g}" if largest < _LARGEST_FLOAT else ""
        raise ValueError(f"{name}: row {row} is not finite{far}: {array[row]}")
    return array


def as_places(values: Any, name: str, dim: int, count: int | None = None) -> NDArray[np.float64]:
    """Check positions, shape (count, d), no farther from the origin than shapes may be."""
    return as_table(values, name, (dim,), count, LARGEST)


def as_rotations(values: Any, name: str, dim: int, count: int | None = None) -> NDArray[np.float64]:
    """Check rotations: radians, shape (count,), or quaternions other than zero, (count, 4)."""
    rotations = as_table(values, name, () if dim == 2 else (4,), count, LARGEST)
    if dim == 3 and not (good := is_rotation(rotations)).all():
        row = int(np.argmin(good))
        raise ValueError(f"{name}: row {row} is a zero quaternion: {rotations[row]}")
    return rotations


def is_rotation(quaternions: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say which quaternions are not zero: the sum of their squares does not vanish."""
    squared: NDArray[np.float64] = np.einsum("ij,ij->i", quaternions, quaternions)
    return squared >= 2.0**-900


def as_bounds(bounds: Any, boundary: str, dim: int) -> NDArray[np.float64] | None:
    """Check the lower and upper corner of a world, shape (2, d), which every boundary but "none" needs."""
    if not isinstance(dim, int | np.integer) or dim not in (2, 3):
        raise ValueError(f"dim must be 2 or 3, not {quoted(dim)}")
    if not isinstance(boundary, str) or boundary not in BOUNDARIES:
        raise ValueError(unknown_name("boundary", boundary, BOUNDARIES))
    if bounds is None:
        if boundary != "none":
            raise ValueError(f'boundary="{boundary}" needs bounds')
        return None
    corners = np.array(as_table(bounds, "bounds", (dim,), None, LARGEST))
    if len(corners) != 2 or not (corners[0] < corners[1]).all():
        raise ValueError(f"bounds must be a lower and an upper corner, lower < upper, not {corners.tolist()}")
    corners.flags.writeable = False
    return corners


def as_flags(values: Any, name: str, count: int) -> NDArray[np.bool_]:
    """Check booleans, shape (count,)."""
    array = as_own_array(values, name)
    if array.dtype != np.bool_:
        raise TypeError(f"{name} must be True or False, or an array of them, not {array.dtype}")
    return _for_each(array, name, count)


def as_whole_numbers(
    values: Any, name: str, count: int, dtype: type[np.integer[Any]], least: int | None = None, most: int | None = None
) -> NDArray[Any]:
    """Check whole numbers within limits, shape (count,); bring them to a dtype."""
    array = as_own_array(values, name)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"{name} must be whole numbers, not {array.dtype}")
    limits = np.iinfo(dtype)
    low, high = limits.min if least is None else least, limits.max if most is None else most
    if array.size and not (low <= array.min() and array.max() <= high):
        raise ValueError(f"{name} must lie between {low} and {high}")
    return _for_each(array.astype(dtype), name, count)


def numbers_of_names(values: Any, name: str, count: int, known: Sequence[str]) -> NDArray[np.uint8]:
    """Check names, or their places among the known ones; give the places, shape (count,)."""
    if isinstance(values, str) and values in known:
        place = known.index(values)
        return _one_place(place) if count == 1 else np.full(count, place, np.uint8)
    names = as_own_array([values] if isinstance(values, str) else values, name)
    if names.dtype.kind == "U":
        listed = names.ravel().tolist()
        unknown = [one for one in listed if one not in known]
        if unknown:
            raise ValueError(unknown_name(name, unknown[0], known))
        names = np.array([known.index(one) for one in listed])
    one_for_all = names.shape == (1,) and isinstance(values, str)
    return as_whole_numbers(names[0] if one_for_all else names, name, count, np.uint8, most=len(known) - 1)


@cache
def _one_place(place: int) -> NDArray[np.uint8]:
    places = np.array([place], np.uint8)
    places.flags.writeable = False
    return places


def as_pairs(pairs: Any) -> NDArray[Any]:
    """Check pairs of different rows, shape (k, 2); put the lesser row first.

    Whether the rows exist is for the caller to check, before they are made numbers of 32 bits.
    """
    array = as_own_array(pairs, "pairs")
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"pairs must be row numbers, not {array.dtype}")
    array = array.reshape(1, 2) if array.shape == (2,) else array.reshape(0, 2) if array.size == 0 else array
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"pairs must have shape (k, 2), not {array.shape}")
    same = array[:, 0] == array[:, 1]
    if same.any():
        raise ValueError(f"pairs: entry {np.argmax(same)} names row {array[np.argmax(same), 0]} twice")
    return np.sort(array, axis=1) if array.size else np.empty((0, 2), np.int32)


def _for_each(array: NDArray[Any], name: str, count: int) -> NDArray[Any]:
    if array.ndim == 0:
        return np.broadcast_to(array, (count,))
    if array.shape != (count,):
        raise ValueError(f"{name} has shape {array.shape} for {count} bodies")
    return array


def keys_of(pairs: NDArray[np.int32]) -> NDArray[np.int64]:
    """Give one number for each pair; the numbers have the lexicographic order of the pairs."""
    return (pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1]


def pairs_of(keys: NDArray[np.int64]) -> NDArray[np.int32]:
    """Undo `keys_of`."""
    return np.stack([keys >> 32, keys & 0xFFFF_FFFF]).astype(np.int32).T
