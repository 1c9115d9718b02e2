"""The scenes of the benchmarks of worlds: equal bodies that move on straight lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class WorldScene:
    """Equal bodies that move on straight lines.

    Attributes
    ----------
    name, title : str
        Key, and what it is called in tables.
    shape : str
        "rectangle", "disc" or "ball".
    size : float
        Width and height, or diameter.
    positions, velocities : ndarray, shape (n, d), float64
        At the beginning, in lengths and lengths a step.
    moving : int
        How many have a velocity: the first ones. Pairs of others do not count.
    """

    name: str
    title: str
    shape: str
    size: float
    positions: NDArray[np.float64]
    velocities: NDArray[np.float64]
    moving: int

    @property
    def count(self) -> int:
        """Number of bodies."""
        return len(self.positions)

    @property
    def dimension(self) -> int:
        """2 or 3."""
        dimension: int = self.positions.shape[1]
        return dimension

    def shape_of_bodies(self) -> Any:
        """Return the shape."""
        if self.shape == "rectangle":
            return bp.Rectangle(self.size, self.size)
        return bp.Circle(self.size / 2) if self.shape == "disc" else bp.Sphere(self.size / 2)

    def at(self, step: int) -> NDArray[np.float64]:
        """Return the positions after so many steps."""
        return self.positions + step * self.velocities


# Title, shape, size, dimension, how many, how many of them move, speed in sizes a step.
_KINDS: dict[str, tuple[str, str, float, int, int, int, float]] = {
    "rectangles": ("{n} rectangles", "rectangle", 10.0, 2, 1_000, 1_000, 0.5),
    "discs": ("{n} discs", "disc", 1.0, 2, 10_000, 10_000, 0.05),
    "balls": ("{n} balls", "ball", 0.8, 3, 100_000, 100_000, 0.02),
    "few": ("{n} balls, 1 % move", "ball", 0.8, 3, 100_000, 1_000, 0.02),
}
WORLD_SCENES = tuple(_KINDS)


def world_scene(name: str, share: float = 1.0) -> WorldScene:
    """Make a scene, with a share of its bodies at the same density.

    Parameters
    ----------
    name : str
        One of `WORLD_SCENES`.
    share : float
        Of the usual number.

    Raises
    ------
    ValueError
        There is no such scene.
    """
    if name not in _KINDS:
        raise ValueError(f"no world is named {name!r}; there are {', '.join(_KINDS)}")
    title, shape, size, dimension, count, moving, speed = _KINDS[name]
    count, moving = max(int(count * share), 2), max(int(moving * share), 1)
    random = np.random.default_rng(len(name))
    # The rectangles are those of the tutorial: 10 by 10, a thousand in 500 by 500; the others have one place each.
    edge = 500.0 * share**0.5 if name == "rectangles" else count ** (1 / dimension)
    velocities = np.zeros((count, dimension))
    velocities[:moving] = random.uniform(-speed, speed, (moving, dimension)) * size
    return WorldScene(
        name, title.format(n=f"{count:,}"), shape, size, random.random((count, dimension)) * edge, velocities, moving
    )
