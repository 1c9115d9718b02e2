"""Scenes in motion: the same boxes frame after frame, bouncing inside their world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.testing.draws import Draws, root
from broadphase.testing.scenes import make_scene

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


class MovingScene:
    """Boxes that move a little in each step and bounce off the bounds of the scene.

    A box moves `speed` of the mean box size on each axis, at most, in one step. It keeps its size up to rounding, as
    its corners are moved in float64 and rounded to the dtype of the scene. On an axis where a box has an infinite
    corner or fills the whole world, it stays where it is.

    Parameters
    ----------
    boxes : ndarray, shape (n, 2, d), float32 or float64
        The first frame. It is not modified.
    seed : int
        Seed of the velocities.
    speed : float
        Greatest movement in one step, in mean box sizes.
    """

    def __init__(self, boxes: NDArray[Any], seed: int = 7, speed: float = 0.1) -> None:
        self.boxes = boxes
        finite = np.where(np.isfinite(boxes), boxes, np.nan).astype(np.float64)
        sizes = finite[:, 1] - finite[:, 0]
        known = np.isfinite(sizes)
        self._world_lower = np.min(finite[:, 0], axis=0, initial=np.inf, where=known)
        self._world_upper = np.max(finite[:, 1], axis=0, initial=-np.inf, where=known)
        mean_size = np.where(known, sizes, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        if not mean_size.any():  # points: the mean distance between them does as well
            mean_size = (self._world_upper - self._world_lower) / root(max(len(boxes), 1), boxes.shape[2])
        self._first = boxes.astype(np.float64)
        self._offsets = np.zeros(sizes.shape)
        self._velocities = Draws(seed).between(-speed, speed, sizes.shape) * mean_size
        self._velocities[~known | (sizes >= self._world_upper - self._world_lower)] = 0.0

    def step(self) -> NDArray[Any]:
        """Move every box once and give the boxes of the frame: a new `(n, 2, d)` array, also kept in `boxes`."""
        self._offsets += self._velocities
        lower, upper = self._first[:, 0] + self._offsets, self._first[:, 1] + self._offsets
        moves = self._velocities != 0.0
        below = np.where(moves, np.maximum(self._world_lower - lower, 0.0), 0.0)
        above = np.where(moves, np.maximum(upper - self._world_upper, 0.0), 0.0)
        self._offsets += 2.0 * (below - above)
        self._velocities[(below > 0.0) | (above > 0.0)] *= -1.0
        self.boxes = (self._first + self._offsets[:, None]).astype(self.boxes.dtype)
        return self.boxes


def moving(name: str, n: int, *, seed: int = 7, dtype: DTypeLike = np.float32, speed: float = 0.1) -> MovingScene:
    """Make a standard scene that moves: call `step` for each next frame, or read `boxes`.

    Parameters
    ----------
    name : str
        A key of `broadphase.testing.SCENES`.
    n : int
        Number of boxes.
    seed : int
        Seed of places, sizes and velocities.
    dtype : float32 or float64
        Type of the boxes.
    speed : float
        Greatest movement in one step, in mean box sizes.

    Returns
    -------
    scene : MovingScene
        With the first frame in `boxes`.

    Examples
    --------
    >>> from broadphase.testing import moving
    >>> scene = moving("uniform", 100)
    >>> scene.step().shape
    (100, 2, 3)
    """
    return MovingScene(make_scene(name, n, seed=seed, dtype=dtype), seed, speed)
