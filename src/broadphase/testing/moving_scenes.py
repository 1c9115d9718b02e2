"""Scenes in motion: the boxes of a scene move step by step and bounce inside its bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.testing.draws import Draws, root
from broadphase.testing.scenes import make_scene

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


class MovingScene:
    """Boxes that move a little in each step and bounce off the bounds of the scene.

    In one step, a box moves at most `speed` times the mean box size along each axis. It keeps its size up to rounding:
    corners are computed in float64 and rounded to the dtype of the scene. A box does not move along an axis on which it
    has an infinite corner or spans the whole scene.

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
        if not mean_size.any():  # points: take the mean distance between them
            mean_size = (self._world_upper - self._world_lower) / root(max(len(boxes), 1), boxes.shape[2])
        self._first = boxes.astype(np.float64)
        self._offsets = np.zeros(sizes.shape)
        self._room = np.where(known, np.maximum((self._world_upper - self._world_lower) - sizes, 0.0), 0.0)
        self._velocities = Draws(seed).between(-speed, speed, sizes.shape) * mean_size
        self._velocities[~known | (sizes >= self._world_upper - self._world_lower)] = 0.0

    def step(self) -> NDArray[Any]:
        """Move every box once; return the boxes as a new `(n, 2, d)` array, also kept in `boxes`."""
        self._offsets += self._velocities
        lower, upper = self._first[:, 0] + self._offsets, self._first[:, 1] + self._offsets
        moves = self._velocities != 0.0
        below = np.where(moves, np.maximum(self._world_lower - lower, 0.0), 0.0)
        above = np.where(moves, np.maximum(upper - self._world_upper, 0.0), 0.0)
        # A box nearly as large as the world goes back to the other side at most.
        self._offsets += np.minimum(2.0 * below, below + self._room) - np.minimum(2.0 * above, above + self._room)
        self._velocities[(below > 0.0) | (above > 0.0)] *= -1.0
        self.boxes = (self._first + self._offsets[:, None]).astype(self.boxes.dtype)
        return self.boxes


def moving(name: str, n: int, *, seed: int = 7, dtype: DTypeLike = np.float32, speed: float = 0.1) -> MovingScene:
    """Make a standard scene that moves: `step` gives the next boxes, `boxes` the current ones.

    Parameters
    ----------
    name, n, seed, dtype
        As in `make_scene`; the seed is that of the velocities, too.
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
