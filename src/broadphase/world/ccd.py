"""Continuous detection: how bodies marked `ccd` moved during a step. What they met on the way is found by the core."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Trace"]


class Trace(NamedTuple):
    """How bodies moved during a step.

    Attributes
    ----------
    is_ccd : ndarray, shape (slots,), uint8
        The rows that are followed along their ways.
    before : ndarray, shape (slots, d), float64
        Positions where the world saw the rows before the step.
    after : ndarray, shape (slots, d), float64
        Positions after it.
    turned : ndarray, shape (k,), int32
        Rows that were reflected, or came in at the other side, ascending.
    is_bounced : ndarray, shape (k,), uint8
        Which of these were reflected.
    ends : ndarray, shape (k, d), float64
        Where they would be after the step if there were no boundary.
    """

    is_ccd: NDArray[np.uint8]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    turned: NDArray[np.int32]
    is_bounced: NDArray[np.uint8]
    ends: NDArray[np.float64]
