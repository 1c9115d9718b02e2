"""Scenes like those that people have: even and uneven sizes, clusters, flat worlds, long sticks.

Each factory takes ``(n, seed, dtype)`` and gives `(n, 2, d)` boxes in random order. Corners are worked out in
float64 and rounded once to `dtype`. The number of overlaps per box hardly depends on `n`: sizes shrink (or the world
grows) as boxes are added, and at `n` = 100 000 every scene has the sizes written in its code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.testing.draws import Draws, exponential, root

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    Boxes = NDArray[Any]

REFERENCE_COUNT = 100_000  # the box count at which the sizes below hold as written


def from_centers(centers: NDArray[Any], halves: NDArray[Any] | float, dtype: DTypeLike) -> Boxes:
    """Build `(n, 2, d)` boxes from centres `(n, d)` and half sizes, rounding each corner once to `dtype`."""
    boxes = np.empty((len(centers), 2, centers.shape[1]), dtype)
    np.subtract(centers, halves, out=boxes[:, 0], casting="same_kind")
    np.add(centers, halves, out=boxes[:, 1], casting="same_kind")
    return boxes


def even_half(n: int, dimension: int) -> float:
    """Give the half size at which `n` equal cubes in the unit cube have four overlaps each, on average."""
    # Two cubes of edge e overlap when their centres are closer than e on each axis: n (2 e)^d = 4.
    return float(0.25 * root(4.0 / max(n, 1), dimension))


def density(n: int, dimension: int) -> float:
    """Give the factor on lengths that keeps the overlaps per box as they are at `REFERENCE_COUNT` boxes."""
    return float(root(REFERENCE_COUNT / max(n, 1), dimension))


def uniform_in(dimension: int, n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes spread evenly over the unit cube of `dimension` axes, four overlaps each."""
    return from_centers(Draws(seed).random((n, dimension)), even_half(n, dimension), dtype)


def uniform(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes spread evenly over the unit cube, four overlaps each."""
    return uniform_in(3, n, seed, dtype)


def uniform_1d(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal intervals spread evenly over the unit interval, four overlaps each."""
    return uniform_in(1, n, seed, dtype)


def uniform_2d(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal squares spread evenly over the unit square, four overlaps each."""
    return uniform_in(2, n, seed, dtype)


def uniform_4d(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes spread evenly over the unit cube of four axes, four overlaps each."""
    return uniform_in(4, n, seed, dtype)


def rects(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Rectangles of 10 by 10 in a square of 500 by 500 for each thousand."""
    side = 500.0 * np.sqrt(n / 1000.0)
    return from_centers(Draws(seed).random((n, 2)) * side, 5.0, dtype)


def mixed_1d(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Intervals whose lengths are log-normal over three decades."""
    rng = Draws(seed)
    halves = even_half(n, 1) * exponential(1.38 * rng.normal((n, 1)))
    return from_centers(rng.random((n, 1)), halves, dtype)


def lognormal(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Boxes whose sizes are log-normal over three decades."""
    rng = Draws(seed)
    sizes = 0.00155 * density(n, 3) * exponential(1.38 * rng.normal((n, 1)))
    return from_centers(rng.random((n, 3)), sizes * (0.7 + 0.6 * rng.random((n, 3))), dtype)


def power(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes whose sizes follow the power law s**-2.5 over three decades: many small, few large."""
    rng = Draws(seed)
    steepest = 1.0 / root(0.001**2 * 0.001, 2)  # 0.001 ** -1.5
    thirds = root(steepest + rng.random((n, 1)) * (1.0 - steepest), 3)
    halves = density(n, 3) / (thirds * thirds) / 2.0
    return from_centers(rng.random((n, 3)), halves, dtype)


def clusters(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes in 50 Gaussian clusters of different widths."""
    rng = Draws(seed)
    middles, widths = rng.random((50, 3)) * 10.0, 0.05 + 0.25 * rng.random((50, 1))
    chosen = rng.integers(0, 50, n)
    centers = middles[chosen] + widths[chosen] * rng.normal((n, 3))
    return from_centers(centers, 0.0125 * density(n, 3) * (0.5 + rng.random((n, 1))), dtype)


def flat(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Boxes of a game level: a wide ground, hardly any height."""
    rng = Draws(seed)
    side = 1000.0 / density(n, 2)
    halves = (0.5 + 2.0 * rng.random((n, 3))) * np.array([1.0, 0.5, 1.0])
    return from_centers(rng.random((n, 3)) * np.array([side, 2.0, side]), halves, dtype)


def giant(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal small cubes and one that covers them all."""
    rng = Draws(seed)
    halves = np.full((n, 1), even_half(n, 3))
    halves[n // 2 : n // 2 + 1] = 2.0
    return from_centers(rng.random((n, 3)), halves, dtype)


def sticks(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Sticks a hundred times as long as thick, each along an axis chosen at random."""
    rng = Draws(seed)
    halves = np.full((n, 3), 0.0005)
    halves[np.arange(n), rng.integers(0, 3, n)] = 0.05
    return from_centers(rng.random((n, 3)), halves * density(n, 3), dtype)
