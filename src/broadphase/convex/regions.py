"""What every convex region comes down to, and the arithmetic of its axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.boxes import as_numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

EPSILON = float(np.finfo(np.float64).eps)
AXIS_ROUNDING = 32 * EPSILON  # of the sums that axes are multiplied out to, on both sides of a comparison


class Regions(NamedTuple):
    """Convex regions, as the core takes them.

    Attributes
    ----------
    offsets : ndarray, shape (q + 1,), int64
        The slabs of region j are rows ``offsets[j]`` to ``offsets[j + 1]`` of `axes`, `least` and `most`.
    axes : ndarray, shape (s, d), float64
        Of any length.
    least, most : ndarray, shape (s,), float64
        Where the region begins and ends on each axis; infinite where it does not.
    around_lower, around_upper : ndarray, shape (q, d), float64
        The box around each region; infinite where it has no bounds.
    """

    offsets: NDArray[np.int64]
    axes: Floats
    least: Floats
    most: Floats
    around_lower: Floats
    around_upper: Floats


def across_coordinate_axes(edges: Floats) -> Floats:
    """Give the cross products of the three coordinate axes with each edge (..., 3)."""
    x, y, z = np.moveaxis(edges, -1, 0)
    zero = np.zeros_like(x)
    products = [np.stack(parts, axis=-1) for parts in ((zero, -z, y), (z, zero, -x), (-y, x, zero))]
    return np.concatenate(products, axis=-2)


def unit(vectors: Floats) -> Floats:
    """Bring vectors to length 1; those without length stay so."""
    vectors = np.ldexp(vectors, -exponents(vectors))
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Floats = vectors / np.where(length > 0, length, 1.0)
    return result


def exponents(vectors: Floats) -> NDArray[np.int32]:
    """Give the binary exponent of the largest number of each row, as a column."""
    result: NDArray[np.int32] = np.frexp(np.abs(vectors).max(axis=1, initial=0.0))[1][:, None]
    return result


def checked(name: str, values: ArrayLike) -> Floats:
    """Bring finite numbers to float64."""
    array: Floats = as_numbers(values, name=name).astype(np.float64)
    wrong = ~np.isfinite(array)
    if wrong.any():
        raise ValueError(f"{name}: {first_row(wrong)}{array[wrong].flat[0]} is not finite")
    return array


def first_row(wrong: NDArray[Any]) -> str:
    """Name the first row with anything wrong, to begin a message with."""
    return f"row {int(np.argwhere(wrong)[0, 0])}: " if wrong.ndim else ""
