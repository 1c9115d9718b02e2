"""The dtypes of corners, float32 and float64, and what is converted to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FLOAT32", "FLOAT64", "MAX_DIMENSION", "as_float"]

MAX_DIMENSION = 4

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
_EXACT_INTEGER = 2**53  # every integer up to here is a float64; beyond, conversion would move corners


def as_float(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Convert an array of real numbers to native float32 or float64; see `broadphase.boxes.as_numbers`."""
    dtype = array.dtype
    if dtype in (FLOAT32, FLOAT64):  # False for the other byte order
        return array
    kind = dtype.kind
    if kind == "f" and dtype.itemsize <= 8:
        return array.astype(FLOAT32 if dtype.itemsize == 4 else FLOAT64)
    if kind == "b":
        return array.astype(FLOAT64)
    if kind in "iu":
        if dtype.itemsize == 8 and array.size and (array.max() > _EXACT_INTEGER or array.min() < -_EXACT_INTEGER):
            too_large = (array > _EXACT_INTEGER) | ((array < -_EXACT_INTEGER) if kind == "i" else False)
            place = np.unravel_index(int(np.argmax(too_large)), array.shape)
            where = f"row {place[0]} has" if place else "got"
            raise ValueError(
                f"{name}: {where} the integer {array[place]}, which float64 cannot hold exactly;"
                " subtract an origin first, or convert to float64 if rounding is acceptable"
            )
        return array.astype(FLOAT64)
    raise TypeError(f"{name} must be float32, float64 or integer, not {dtype}")
