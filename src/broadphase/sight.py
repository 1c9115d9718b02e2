"""What lies within an angle of a heading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.arguments import as_array, as_reals
from broadphase.boxes.checking import first_bad_row, require_finite

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Sight", "as_sight"]

#: Where each looks, (n, d), and how far to either side it sees, in radians: (n,), or (1,) for all.
Sight = tuple["NDArray[np.float64]", "NDArray[np.float64]"]


def as_sight(headings: ArrayLike | None, angle: Any, count: int, dimension: int, of: str = "points") -> Sight | None:
    """Check the headings of so many points, and the angle to either side of them; None where neither is given."""
    if headings is None or angle is None:
        if headings is None and angle is None:
            return None
        raise TypeError("headings= and angle= belong together")
    looking = np.array(as_reals(headings, "headings"), order="C")
    if looking.ndim == 3:
        looking = looking.reshape(-1, looking.shape[2])
    if looking.shape != (count, dimension):
        raise ValueError(f"headings must have shape ({count}, {dimension}), as {of}, not {looking.shape}")
    require_finite(looking, "headings")
    angles = np.array(as_reals(angle, "angle"), order="C")
    if angles.shape not in {(), (count,)}:
        raise ValueError(f"angle must be one number or have shape ({count},), not {angles.shape}")
    bad = first_bad_row(~((angles.reshape(-1) >= 0) & (angles.reshape(-1) <= np.pi)))
    if bad is not None:
        row = f": row {bad}" if as_array(angle, "angle").ndim else ""
        raise ValueError(f"angle{row} is {angles.reshape(-1)[bad]}, and must be from 0 to pi radians")
    return looking, angles.reshape(-1)
