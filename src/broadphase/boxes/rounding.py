"""Corners computed from a center and a reach, rounded away from the box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 16384  # rows at a time: the scratch of `_offset`, about six arrays of d numbers a row, stays in the L2 cache


def boxes_around(lower: NDArray[Any], reach: NDArray[Any], upper: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return the tightest boxes (n, 2, d) that hold ``lower - reach`` to ``upper + reach``.

    `upper` is `lower` by default; `reach` is finite, at least 0, and broadcasts to the points.
    """
    upper = lower if upper is None else upper
    dtype = np.result_type(lower, upper, reach)
    boxes = np.empty((len(lower), 2, lower.shape[1]), dtype)
    reach = np.broadcast_to(reach.astype(dtype), lower.shape)
    for begin in range(0, len(lower), _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        boxes[rows, 0] = _offset(lower[rows].astype(dtype, copy=False), -reach[rows], upwards=False)
        boxes[rows, 1] = _offset(upper[rows].astype(dtype, copy=False), reach[rows], upwards=True)
    return boxes


def _offset(start: NDArray[Any], step: NDArray[Any], *, upwards: bool) -> NDArray[Any]:
    """Return start + step, rounded up or down.

    Knuth's two-sum gives the exact error of the sum rounded to nearest; where the exact sum lies further up (down), the
    next number is taken. Infinities make the error NaN, and leave the sum as it is.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total: NDArray[Any] = start + step
        part = total - start
        error = (step - part) + (start - (total - part))
    short = error > 0 if upwards else error < 0
    # Numbers of one sign are ordered as their bits. A sum that rounds to zero is exact, so the sign is never crossed.
    bits: NDArray[np.signedinteger[Any]] = total.view(np.int32 if total.itemsize == 4 else np.int64)
    away_from_zero = (bits >> (8 * total.itemsize - 1)) | 1
    bits += np.where(short, away_from_zero if upwards else -away_from_zero, 0)
    return total
