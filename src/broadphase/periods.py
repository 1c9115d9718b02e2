"""The cell in which boxes are compared: how far it is, along each axis, until everything repeats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from broadphase.arguments import as_array, as_real
from broadphase.errors import InvalidBoxError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Period", "out_of_cell", "periods_of"]

#: The width of the cell along each axis, or along all of them; None: does not repeat.
Period: TypeAlias = npt.ArrayLike | Sequence[float | None] | None


def periods_of(period: Any, dim: int) -> NDArray[np.float64] | None:
    """Convert ``period=`` of `broadphase.pairs`: a length for each axis, infinite or None for none.

    >>> periods_of([10, None], 2)
    array([10., inf])
    """
    if period is None:
        return None
    if np.ndim(as_array(period, "period")) == 0:
        period = [period] * dim
    elif len(period) != dim:
        raise ValueError(f"period has {len(period)} lengths, and boxes have {dim} dimensions: give one for each axis")
    lengths = np.array([np.inf if length is None else as_real(length, "period") for length in period])
    for length in lengths:
        if not length > 0:
            raise ValueError(f"period must be positive, or infinite along axes that do not repeat, not {length}")
    return None if np.isinf(lengths).all() else lengths


def out_of_cell(
    name: str, lower: NDArray[Any], upper: NDArray[Any], periods: NDArray[np.float64]
) -> InvalidBoxError | None:
    """Make the error for the first box that is nowhere in the cell, or None.

    Such a box has both corners at the same infinity, along an axis that repeats.
    """
    found = np.argwhere((lower == upper) & np.isinf(lower) & np.isfinite(periods))
    if not len(found):
        return None
    row, axis = found[0].tolist()
    why = f"row {row} is at {lower[row, axis]} along axis {axis}, which is nowhere in a periodic cell"
    return InvalidBoxError(f"{name}: {why}", row=row)
