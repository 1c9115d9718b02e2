"""What a camera sees: how far away it is, and in how much detail it is to be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Visible", "eye_of", "levels_of"]


class Visible(NamedTuple):
    """What is in view.

    Attributes
    ----------
    rows : ndarray, shape (m,), int32
        What is to be drawn, ascending.
    levels : ndarray, shape (m,), int32
        In how little detail: 0 for what is nearer than the first distance given, 1 up to the second, and so on.
    distances : ndarray, shape (m,), float64
        From the eye to the box of each, 0 within; infinite where there is no eye.
    culled : int
        How many are out of view.
    """

    rows: NDArray[np.int32]
    levels: NDArray[np.int32]
    distances: Floats
    culled: int

    @property
    def drawn(self) -> int:
        """How many are in view."""
        return len(self.rows)

    def of_level(self, level: int) -> NDArray[np.int32]:
        """Rows to be drawn in one level of detail."""
        rows: NDArray[np.int32] = self.rows[self.levels == level]
        return rows


def eye_of(matrix: Floats) -> Floats | None:
    """Find where a camera is by its matrix; None for one that is nowhere, because it sees everything in its size.

    The eye is the point that is projected to nothing: across the picture, and in what everything is divided by.
    """
    dimension = len(matrix) - 1
    across = np.delete(matrix, dimension - 1, axis=0) if dimension == 3 else matrix[[0, 2]]
    if len(across) != dimension or not across[-1, :-1].any():
        return None
    lengths = np.linalg.norm(across[:, :-1], axis=1, keepdims=True)
    if not lengths.all():
        return None
    across = across / lengths
    try:
        eye: Floats = np.linalg.solve(across[:, :-1], -across[:, -1])
    except np.linalg.LinAlgError:
        return None
    return eye


def levels_of(boxes: Floats, eye: Floats | None, lod: ArrayLike) -> tuple[NDArray[np.int32], Floats]:
    """Give the level of detail and the distance of each box (m, 2, d) from an eye."""
    limits = np.asarray(lod, np.float64).ravel()
    if not (limits >= 0).all() or (np.diff(limits) < 0).any():
        raise ValueError(f"lod must be distances from 0 on, ascending, not {limits.tolist()}")
    if eye is None:
        return np.zeros(len(boxes), np.int32), np.full(len(boxes), np.inf)
    gaps = np.maximum(np.maximum(boxes[:, 0] - eye, eye - boxes[:, 1]), 0.0)
    squares = (gaps * gaps).sum(axis=1)
    return np.searchsorted(limits * limits, squares, side="right").astype(np.int32), np.sqrt(squares)
