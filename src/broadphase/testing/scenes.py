"""The standard scenes by name: seeded, reproducible boxes for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.testing import awkward_scenes as awkward
from broadphase.testing import everyday_scenes as everyday

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

Factory = Callable[[int, int, "DTypeLike"], "NDArray[Any]"]


@dataclass(frozen=True, slots=True)
class Scene:
    """A kind of scene, of which any number of boxes can be made.

    Attributes
    ----------
    name : str
        The key in `SCENES`.
    dimension : int
        Number of axes of its boxes, 1 to 4.
    factory : callable
        ``factory(n, seed, dtype)`` makes the `(n, 2, dimension)` boxes; the same arguments give the same boxes.
    quadratic : bool
        True when the pairs grow as the square of the box count (for `very_far`: in float32). Keep such a scene small.
    """

    name: str
    dimension: int
    factory: Factory
    quadratic: bool = False

    @property
    def summary(self) -> str:
        """One line on what the scene is like."""
        return (self.factory.__doc__ or self.name).splitlines()[0]


SCENES: dict[str, Scene] = {
    scene.name: scene
    for scene in (
        Scene("rects", 2, everyday.rects),
        Scene("uniform", 3, everyday.uniform),
        Scene("uniform_1d", 1, everyday.uniform_1d),
        Scene("uniform_2d", 2, everyday.uniform_2d),
        Scene("uniform_4d", 4, everyday.uniform_4d),
        Scene("lognormal", 3, everyday.lognormal),
        Scene("power", 3, everyday.power),
        Scene("clusters", 3, everyday.clusters),
        Scene("flat", 3, everyday.flat),
        Scene("giant", 3, everyday.giant),
        Scene("sticks", 3, everyday.sticks),
        Scene("mixed_1d", 1, everyday.mixed_1d),
        Scene("tiles", 2, awkward.tiles),
        Scene("voxels", 3, awkward.voxels),
        Scene("line", 3, awkward.line),
        Scene("diagonal", 3, awkward.diagonal),
        Scene("plane_tilted", 3, awkward.plane_tilted),
        Scene("identical", 3, awkward.identical, quadratic=True),
        Scene("half_identical", 3, awkward.half_identical, quadratic=True),
        Scene("doubled", 3, awkward.doubled),
        Scene("points", 3, awkward.points),
        Scene("nested", 3, awkward.nested),
        Scene("lattice", 3, awkward.lattice),
        Scene("lattice_1d", 1, awkward.lattice_1d),
        Scene("lattice_2d", 2, awkward.lattice_2d),
        Scene("lattice_4d", 4, awkward.lattice_4d),
        Scene("tiny_steps", 3, awkward.tiny_steps),
        Scene("far", 3, awkward.far),
        Scene("very_far", 3, awkward.very_far, quadratic=True),
        Scene("two_scales", 3, awkward.two_scales),
        Scene("outliers", 3, awkward.outliers),
        Scene("infinite", 3, awkward.infinite),
        Scene("huge_tiny", 3, awkward.huge_tiny),
    )
}


def make_scene(name: str, n: int, *, seed: int = 7, dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Make the boxes of a standard scene.

    Parameters
    ----------
    name : str
        A key of `SCENES`.
    n : int
        Number of boxes.
    seed : int
        The same seed gives the same boxes, on every machine.
    dtype : float32 or float64
        Corners are worked out in float64 and rounded once.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d), of `dtype`
        Lower and upper corner of each box. A new array.

    Raises
    ------
    ValueError
        No scene has that name.

    Examples
    --------
    >>> from broadphase.testing import make_scene
    >>> make_scene("tiles", 2, dtype="float64").shape
    (2, 2, 2)
    """
    if name not in SCENES:
        raise ValueError(f"no scene is named {name!r}; the scenes are {', '.join(sorted(SCENES))}")
    return SCENES[name].factory(n, seed, dtype)
