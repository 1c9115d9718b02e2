"""What is in view of a camera, and in which level of detail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from broadphase.arguments import as_reals
from broadphase.representations import html_of_result, short_repr

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase.world.scene import Scene

    Floats: TypeAlias = NDArray[np.float64]
    Rows: TypeAlias = NDArray[np.int32]

__all__ = ["Visible", "visible"]


class Visible(NamedTuple):
    """The bodies in view.

    Attributes
    ----------
    rows : ndarray, shape (m,), int32
        Rows in view, ascending.
    levels : ndarray, shape (m,), int32
        Level of detail: 0 for bodies nearer than the first distance given, 1 up to the second, and so on.
    distances : ndarray, shape (m,), float64
        From the eye to the box of each, 0 within; infinite where there is no eye.
    culled : int
        How many bodies are out of view.
    """

    rows: NDArray[np.int32]
    levels: NDArray[np.int32]
    distances: Floats
    culled: int

    def __repr__(self) -> str:
        return short_repr(self)

    def _repr_html_(self) -> str:
        return html_of_result(self)

    def of_level(self, level: int) -> NDArray[np.int32]:
        """Rows of one level of detail."""
        rows: NDArray[np.int32] = self.rows[self.levels == level]
        return rows


def visible(scene: Scene, rows: Rows, matrix: ArrayLike | None, eye: ArrayLike | None, lod: Any) -> Visible:
    """Say how far away the rows in view of one camera are, and in which level of detail."""
    dim = scene.columns.dim
    place: Floats | None = None
    if eye is not None:
        place = as_reals(eye, "eye")
        if place.shape != (dim,) or not np.isfinite(place).all():
            raise ValueError(f"eye must be finite and have shape ({dim},), not {place.tolist()}")
    elif matrix is not None:
        place = _eye_of(as_reals(matrix, "matrix"))
    levels, away = _levels_of(scene.columns.view.boxes[rows], place, lod)
    return Visible(rows, levels, away, scene.columns.rows.living - len(rows))


def _eye_of(matrix: Floats) -> Floats | None:
    """Find where a camera is by its matrix; None for an orthographic one, which has no position.

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


def _levels_of(boxes: Floats, eye: Floats | None, lod: ArrayLike) -> tuple[NDArray[np.int32], Floats]:
    """Give the level of detail and the distance of each box (m, 2, d) from an eye."""
    limits = as_reals(lod, "lod").ravel()
    if not (limits >= 0).all() or (np.diff(limits) < 0).any():
        raise ValueError(f"lod must be ascending distances of at least 0, not {limits.tolist()}")
    if eye is None:
        return np.zeros(len(boxes), np.int32), np.full(len(boxes), np.inf)
    gaps = np.maximum(np.maximum(boxes[:, 0] - eye, eye - boxes[:, 1]), 0.0)
    squares = (gaps * gaps).sum(axis=1)
    return np.searchsorted(limits * limits, squares, side="right").astype(np.int32), np.sqrt(squares)
