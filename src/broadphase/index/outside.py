"""The settings `bounds` and `outside`: what an index does with boxes that are not wholly in its world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.arguments import as_reals
from broadphase.errors import unknown_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["as_bounds", "as_policy", "leaving", "require_fit"]

_POLICIES = ("grow", "drop", "raise")


def as_bounds(bounds: ArrayLike | None) -> tuple[tuple[float, ...], ...] | None:
    """Return two opposite corners, in any order, as tuples."""
    if bounds is None:
        return None
    corners = as_reals(bounds, "bounds").astype(np.float64)
    if not (corners.ndim == 2 and len(corners) == 2) and not (corners.ndim == 1 and corners.size % 2 == 0):
        raise ValueError(f"bounds must be two corners, not of shape {corners.shape}")
    if np.isnan(corners).any():
        raise ValueError("bounds must not be NaN")
    first, second = corners.reshape(2, -1).tolist()
    return tuple(first), tuple(second)


def require_fit(bounds: tuple[tuple[float, ...], ...] | None, dim: int) -> None:
    """Raise ValueError if checked bounds do not fit boxes of so many dimensions."""
    if bounds is not None and len(bounds[0]) != dim:
        raise ValueError(f"bounds must be two corners of {dim} numbers, not of {len(bounds[0])}")


def as_policy(outside: Any) -> str:
    """Check a value of `outside`."""
    if not isinstance(outside, str) or outside not in _POLICIES:
        raise ValueError(unknown_name("outside", outside, _POLICIES))
    return outside


def leaving(
    lower: NDArray[Any],
    upper: NDArray[Any],
    world: NDArray[np.float64] | None,
    outside: str,
    rows: NDArray[np.int32] | None = None,
) -> NDArray[np.bool_] | slice:
    """Return which boxes are not wholly in a world and so dropped: flags of boxes, or a slice of none.

    Raises ValueError if `outside` is "raise" and a box is outside; it names the box by `rows`, or by its place.
    """
    if world is None or outside == "grow":
        return slice(0, 0)
    is_outside: NDArray[np.bool_] = ~((lower >= world[0]) & (upper <= world[1])).all(axis=1)
    if outside == "raise" and is_outside.any():
        first = int(is_outside.argmax())
        raise ValueError(f"row {first if rows is None else rows[first]} is not inside the world")
    return is_outside
