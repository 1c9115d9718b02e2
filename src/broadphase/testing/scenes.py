"""The standard scenes by name: seeded, reproducible boxes for tests and benchmarks.

Each factory takes ``(n, seed, dtype)`` and makes `(n, 2, d)` boxes in random order. Corners are computed in float64 and
rounded once to `dtype`. The number of overlaps per box hardly depends on `n`: sizes shrink, or the world grows, as
boxes are added, and at `n` = 100 000 every scene has the sizes written in its code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase.arguments import as_whole
from broadphase.errors import unknown_name
from broadphase.testing.draws import Draws, exponential, root
from broadphase.testing.recipes import Recipe

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    Boxes: TypeAlias = NDArray[Any]

Factory = Callable[[int, int, "DTypeLike"], "NDArray[Any]"]

LOG_OF_2 = 0.6931471805599453
LOG_OF_10 = 2.302585092994046
REFERENCE_COUNT = 100_000  # the box count at which the sizes below hold as written

# Scenes as in applications: even and uneven sizes, clusters, flat worlds, long sticks -----------------------------


def from_centers(centers: NDArray[Any], halves: NDArray[Any] | float, dtype: DTypeLike) -> Boxes:
    """Build `(n, 2, d)` boxes from centres `(n, d)` and half sizes, rounding each corner once to `dtype`."""
    boxes = np.empty((len(centers), 2, centers.shape[1]), dtype)
    np.subtract(centers, halves, out=boxes[:, 0], casting="same_kind")
    np.add(centers, halves, out=boxes[:, 1], casting="same_kind")
    return boxes


def even_half(n: int, dim: int) -> float:
    """Compute the half size at which `n` equal cubes in the unit cube have four overlaps each, on average."""
    # Two cubes of edge e overlap when their centres are closer than e on each axis: n (2 e)^d = 4.
    return float(0.25 * root(4.0 / max(n, 1), dim))


def density(n: int, dim: int) -> float:
    """Compute the factor on lengths that keeps the overlaps per box as they are at `REFERENCE_COUNT` boxes."""
    return float(root(REFERENCE_COUNT / max(n, 1), dim))


def uniform_in(dim: int, n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes spread evenly over the unit cube of `dim` axes, four overlaps each."""
    return from_centers(Draws(seed).random((n, dim)), even_half(n, dim), dtype)


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


# Scenes made to break a broad phase: ties, degenerate shapes, extreme coordinates, uneven distributions --------------


def integer_tiling(dim: int, n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Fill a block of `dim` axes with unit cells, in random order: neighbours only touch."""
    side = 1
    while side**dim < n:
        side += 1
    cells = np.stack(np.unravel_index(np.arange(n), (side,) * dim), axis=1)
    lower = cells[Draws(seed).permutation(n)]
    return np.stack([lower, lower + 1], axis=1).astype(dtype)


def tiles(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Squares that tile a plane: each only touches its eight neighbours."""
    return integer_tiling(2, n, seed, dtype)


def voxels(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes that fill a block: each only touches its 26 neighbours."""
    return integer_tiling(3, n, seed, dtype)


def line(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes with their centres on a line along one axis, four overlaps each."""
    rng = Draws(seed)
    centers = np.zeros((n, 3))
    centers[:, rng.integers(0, 3, 1)] = rng.random((n, 1))
    return from_centers(centers, even_half(n, 1), dtype)


def diagonal(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes along the main diagonal, four overlaps each: no axis separates better than another."""
    return from_centers(Draws(seed).random((n, 1)) * np.ones(3), even_half(n, 1), dtype)


def plane_tilted(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Thin boxes on a plane that is parallel to no axis."""
    rng = Draws(seed)
    u, v = rng.random((2, n, 1))
    centers = u * np.array([0.8, -0.4, -0.4]) + v * np.array([0.1, 0.7, -0.8])
    return from_centers(centers, even_half(n, 2) * np.array([2.0, 2.0, 0.5]), dtype)


def identical(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """One box, repeated: every pair overlaps."""
    return from_centers(Draws(seed).random((1, 3)) * np.ones((n, 1)), 0.25, dtype)


def half_identical(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes, half of them copies of one."""
    boxes = uniform(n, seed, dtype)
    return np.where((np.arange(n) % 2 == 0)[:, None, None], boxes[:1], boxes)


def doubled(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes, each present twice."""
    boxes = uniform((n + 1) // 2, seed, dtype)
    return np.concatenate([boxes, boxes])[Draws(seed).permutation(2 * len(boxes))][:n]


def points(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Boxes of zero size; every fourth one is a copy of another."""
    rng = Draws(seed)
    centers = rng.random((n, 3))
    rows = np.arange(0, n, 4)
    centers[rows] = centers[rng.integers(0, max(n, 1), len(rows))]
    return from_centers(centers, 0.0, dtype)


def nested(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Families of 64 concentric boxes, each inside the next."""
    rng = Draws(seed)
    families = (n + 63) // 64
    middles = rng.random((families, 3)) * root(max(families, 1), 3)
    order = rng.permutation(n)
    return from_centers(middles[order // 64], (1.0 + order[:, None] % 64) / 128.0, dtype)


def lattice_in(dim: int, n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Small integer corners around zero: touching, duplicates, zero size and minus zero are common."""
    rng = Draws(seed)
    reach = int(root(2.0 * n, dim)) // 2 + 1
    boxes = np.empty((n, 2, dim), dtype)
    boxes[:, 0] = rng.integers(-reach, reach + 1, (n, dim))
    boxes[:, 1] = boxes[:, 0] + rng.integers(0, 3, (n, dim))
    boxes[(boxes == 0) & (rng.random(boxes.shape) < 0.5)] = -0.0
    return boxes


def lattice(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Small integer corners around zero: touching, duplicates, zero size and minus zero are common."""
    return lattice_in(3, n, seed, dtype)


def lattice_1d(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Small integer intervals around zero: touching, duplicates, zero size and minus zero are common."""
    return lattice_in(1, n, seed, dtype)


def lattice_2d(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Small integer rectangles around zero: touching, duplicates, zero size and minus zero are common."""
    return lattice_in(2, n, seed, dtype)


def lattice_4d(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Small integer boxes of four axes: touching, duplicates, zero size and minus zero are common."""
    return lattice_in(4, n, seed, dtype)


def shifted(by: float, n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes of edge 0.8, four overlaps each, in a world that starts at `by` on every axis."""
    side = root(max(n, 1), 3)
    centers = Draws(seed).random((n, 3)) * side + by
    return from_centers(centers, even_half(n, 3) * side, dtype)


def far(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes of edge 0.8 a million from the origin: float32 has steps of 1/16 there."""
    return shifted(1e6, n, seed, dtype)


def very_far(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes of edge 0.8 at 1e12 from the origin; in float32 they all round to one point."""
    return shifted(1e12, n, seed, dtype)


def two_scales(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes: half of them in a unit cube, the others spread over a million times its edge."""
    rng = Draws(seed)
    centers = rng.random((n, 3))
    centers[rng.permutation(n)[: n // 2]] *= 1e6
    return from_centers(centers, even_half((n + 1) // 2, 3), dtype)


def outliers(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes in a unit cube, except up to eight at a distance of 1e9."""
    rng = Draws(seed)
    centers = rng.random((n, 3))
    few = rng.permutation(n)[: min(8, n // 4)]
    centers[few] += rng.integers(-1, 2, (len(few), 3)) * 1e9
    return from_centers(centers, even_half(n, 3), dtype)


def infinite(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes, except up to 32 that extend to infinity on some sides, or lie there."""
    rng = Draws(seed)
    boxes = uniform(n, seed, dtype)
    rows = rng.permutation(n)[: min(32, (n + 3) // 4)]
    reaches = boxes[rows]
    lowest, highest = rng.random((2, len(rows), 3)) < 0.4
    reaches[:, 0][lowest], reaches[:, 1][highest] = -np.inf, np.inf
    reaches[::8, 0], reaches[::8, 1] = np.inf, np.inf
    boxes[rows] = reaches
    return boxes


def huge_tiny(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes whose size and distance from the origin span most of the exponents of the dtype."""
    rng = Draws(seed)
    octaves = 120 if np.dtype(dtype) == np.float32 else 1000
    scales = np.ldexp(rng.between(1.0, 2.0, (n, 1)), rng.integers(-octaves, octaves, (n, 1)).astype(np.int32))
    places = rng.between(-1.0, 1.0, (n, 3))
    places[np.arange(n), rng.integers(0, 3, n)] = rng.integers(0, 2, n) * 2.0 - 1.0
    # Less than 1, so that no cube covers the origin: it would overlap every smaller one there.
    halves = 0.8 * min(1.0, float(root(8.0 * octaves / max(n, 1), 3)))
    return from_centers(places * scales, halves * scales, dtype)


def tiny_steps(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes whose faces lie within a few ulps of each other."""
    rng = Draws(seed)
    boxes = integer_tiling(3, n, seed, dtype)
    ulps = rng.integers(-1, 2, boxes.shape)
    return np.where(ulps == 0, boxes, np.nextafter(boxes, np.where(ulps < 0, -np.inf, np.inf).astype(dtype)))


def centers_on_scales(rng: Draws, n: int, octaves: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw centres in random directions, at log-uniform distances of 2**-octaves to 2**octaves, and the distances."""
    distances = exponential(rng.between(-octaves, octaves, (n, 1)) * LOG_OF_2)
    return rng.between(-1.0, 1.0, (n, 3)) * distances, distances


def log_distances(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes at log-uniform distances from 2**-30 to 2**30, with sizes in proportion to their distance."""
    centers, distances = centers_on_scales(Draws(seed), n, 30.0)
    return from_centers(centers, distances * 0.6 * root(30.0 / max(n, 1), 3), dtype)


def nested_decades(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Boxes around one place, at distances over five decades, with sizes in proportion to their distance."""
    centers, distances = centers_on_scales(Draws(seed), n, 8.3)
    return from_centers(centers + 0.25, distances * 0.6 * root(8.3 / max(n, 1), 3), dtype)


def log_clusters(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Forty clusters around one place, each with half the distance and size of the one before."""
    rng = Draws(seed)
    scales = np.ldexp(1.0, -rng.integers(0, 40, (n, 1)).astype(np.int32))
    return from_centers((1.0 + rng.random((n, 3))) * scales, even_half((n + 39) // 40, 3) * scales, dtype)


def dense_spot(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes, half of them in one spot of a billionth of the size; float32 rounds those to a few places."""
    rng = Draws(seed)
    scales = np.where(rng.permutation(n) < n // 2, 1e-9, 1.0)[:, None]
    return from_centers(rng.random((n, 3)) * scales, even_half((n + 1) // 2, 3) * scales, dtype)


def far_clusters(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Two clusters of equal cubes, 1e9 apart, each around an origin of its own."""
    rng = Draws(seed)
    half = even_half((n + 1) // 2, 3)
    shift = np.where(rng.permutation(n) < n // 2, 1e9, 0.0)[:, None] * np.array([1.0, 0.0, 0.0])
    return from_centers(rng.random((n, 3)) + shift, half, dtype)


def far_share(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes, 3 % of them at distances up to 1e30."""
    rng = Draws(seed)
    centers = rng.random((n, 3))
    rows = rng.permutation(n)[: 3 * n // 100]
    centers[rows] = rng.between(-1e30, 1e30, (len(rows), 3))
    return from_centers(centers, even_half(n, 3), dtype)


def huge_share(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes, up to 16 of them 1e30 in size."""
    rng = Draws(seed)
    halves = np.full((n, 1), even_half(n, 3))
    halves[rng.permutation(n)[: min(16, n // 4)]] = 1e30
    return from_centers(rng.random((n, 3)), halves, dtype)


def log_axes(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Boxes whose centres are log-uniform on each axis by itself, over 30 octaves and both signs."""
    rng = Draws(seed)
    places = exponential(rng.between(-15.0, 15.0, (n, 3)) * LOG_OF_2)
    places *= rng.integers(0, 2, (n, 3)) * 2.0 - 1.0
    return from_centers(places, np.abs(places) * np.minimum(0.9, 13.0 * root(1.0 / max(n, 1), 3)), dtype)


def woven(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Long sticks along two axes, side by side in thin layers, as threads are woven."""
    rng = Draws(seed)
    halves = np.full((n, 3), 0.5 / max(n, 1))
    halves[np.arange(n), np.arange(n) % 2] = 1.0
    return from_centers(rng.random((n, 3)), halves, dtype)


def frames(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Sides of concentric square frames, each a thin plate that crosses all smaller frames on one axis."""
    order = Draws(seed).permutation(n)
    sides, reach = order % 4, (order // 4 + 1.0)[:, None]
    along = (sides % 2)[:, None] == np.arange(2)
    centers = np.where(along, 0.0, reach * np.where(sides < 2, -1.0, 1.0)[:, None])
    return from_centers(centers, np.where(along, reach, 0.25), dtype)


# In a root of 64, classic cells: 29 tests along the way down, instead of 121, for 4 pairs.
_ELEVEN = [
    [51, 5, 64, 14], [40, 0, 48, 4], [37, 56, 41, 62], [51, 20, 56, 32], [20, 33, 31, 42], [0, 17, 7, 28],
    [31, 27, 42, 32], [20, 29, 31, 36], [25, 51, 35, 64], [2, 10, 10, 20], [14, 50, 26, 60],
]  # fmt: skip


def eleven_boxes(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Eleven boxes in a square of 64, as the article on a dynamic octree draws it; a square more for every eleven."""
    square, which = np.divmod(Draws(seed).permutation(n), len(_ELEVEN))
    side = max(1, math.isqrt(n // len(_ELEVEN)))
    places = 64.0 * np.stack([square % side, square // side], axis=1)
    boxes = np.array(_ELEVEN, np.float64).reshape(-1, 2, 2)[which]
    return (boxes + places[:, np.newaxis]).astype(dtype)


def spread_1d(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Intervals in ten clusters of equal width, at log-uniform distances over four decades."""
    rng = Draws(seed)
    places = exponential(rng.between(0.0, 4.0 * LOG_OF_10, (10, 1)))
    chosen = rng.integers(0, 10, n)
    return from_centers(places[chosen] + rng.random((n, 1)), even_half((n + 9) // 10, 1), dtype)


def clusters_of_any_width(n: int, seed: int, dtype: DTypeLike, dim: int) -> Boxes:
    """Make cubes in 60 clusters, whose widths span five decades, with sizes in proportion to the width."""
    rng = Draws(seed)
    widths = exponential(rng.between(-2.5 * LOG_OF_10, 2.5 * LOG_OF_10, (60, 1)))
    places, chosen = rng.between(-12.0, 12.0, (60, dim)), rng.integers(0, 60, n)
    centers = places[chosen] + widths[chosen] * rng.between(-0.5, 0.5, (n, dim))
    return from_centers(centers, widths[chosen] * even_half((n + 59) // 60, dim), dtype)


def unlike_clusters(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes in 60 clusters, whose widths span five decades, with sizes in proportion to the width."""
    return clusters_of_any_width(n, seed, dtype, 3)


def unlike_clusters_4d(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Unlike clusters along four axes."""
    return clusters_of_any_width(n, seed, dtype, 4)


# The worst that hill climbs over recipes have found, see `make climb` ------------------------------------------------


def worst_1(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes of any size in 8 clusters at distances over 2.6 decades, and 18 % of them far away."""
    return Recipe(3, 8, place_spread=2.6, size_spread=0.9, sizes_by_width=True, overlaps=1.3, far=0.176).boxes(
        n, seed, dtype
    )


def worst_2(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Long boxes side by side in 33 clusters whose widths span five decades, in the order of the first axis."""
    return Recipe(3, 33, width_spread=4.8, axis_spread=3.2, sizes_by_width=True, overlaps=0.4, axis_order=True).boxes(
        n, seed, dtype
    )


def worst_3(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Sticks and plates of any size in 134 clusters whose widths and distances span 2.5 decades, and a few huge."""
    return Recipe(3, 134, 2.5, 2.4, 1.6, 3.8, shuffled=True, sizes_by_width=True, overlaps=0.3, huge=0.0001).boxes(
        n, seed, dtype
    )


def worst_4(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Squares in two clusters, and 15 % of them far away."""
    return Recipe(2, 2, place_spread=3.6, size_spread=0.5, overlaps=0.5, far=0.146).boxes(n, seed, dtype)


def worst_5(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes of any size in 293 clusters at distances over 5.6 decades."""
    return Recipe(3, 293, place_spread=5.6, size_spread=1.6, overlaps=0.1).boxes(n, seed, dtype)


def worst_6(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes in three clusters at distances over eight decades."""
    return Recipe(3, 3, place_spread=8.2, overlaps=0.6).boxes(n, seed, dtype)


def worst_7(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Sticks and plates of any size in 58 clusters at distances over nine decades, and a few huge."""
    return Recipe(3, 58, 0.0, 8.7, 1.4, 2.0, shuffled=True, sizes_by_width=True, overlaps=0.2, huge=0.0003).boxes(
        n, seed, dtype
    )


def worst_8(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Boxes in 209 clusters whose widths span five decades and their distances eight."""
    return Recipe(3, 209, 4.6, 8.3, 0.0, 0.5, shuffled=True, sizes_by_width=True, overlaps=0.1).boxes(n, seed, dtype)


def worst_9(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Squares in 19 clusters whose widths span five decades and their distances seven."""
    return Recipe(2, 19, 5.1, 7.0, 0.9, sizes_by_width=True, overlaps=0.5).boxes(n, seed, dtype)


def worst_10(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Long boxes in 81 clusters at distances over eight decades, a few of them huge or far away."""
    return Recipe(2, 81, 2.2, 8.1, 0.6, 2.5, sizes_by_width=True, overlaps=0.1, far=0.016, huge=0.001).boxes(
        n, seed, dtype
    )


# The registry ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scene:
    """A seeded distribution of boxes, in any number.

    Attributes
    ----------
    name : str
        The key in `SCENES`.
    dim : int
        Number of axes of its boxes, 1 to 4.
    factory : callable
        ``factory(n, seed, dtype)`` makes the `(n, 2, dim)` boxes; the same arguments give the same boxes.
    quadratic : bool
        True when the pairs grow as the square of the box count (for `very_far`, `dense_spot`,
        `far_clusters` and `spread_1d`: in float32). Keep such a scene small.
    """

    name: str
    dim: int
    factory: Factory
    quadratic: bool = False

    @property
    def summary(self) -> str:
        """What the scene is like, in one line."""
        return (self.factory.__doc__ or self.name).splitlines()[0]


SCENES: dict[str, Scene] = {
    scene.name: scene
    for scene in (
        Scene("rects", 2, rects),
        Scene("uniform", 3, uniform),
        Scene("uniform_1d", 1, uniform_1d),
        Scene("uniform_2d", 2, uniform_2d),
        Scene("uniform_4d", 4, uniform_4d),
        Scene("lognormal", 3, lognormal),
        Scene("power", 3, power),
        Scene("clusters", 3, clusters),
        Scene("flat", 3, flat),
        Scene("giant", 3, giant),
        Scene("sticks", 3, sticks),
        Scene("mixed_1d", 1, mixed_1d),
        Scene("tiles", 2, tiles),
        Scene("voxels", 3, voxels),
        Scene("line", 3, line),
        Scene("diagonal", 3, diagonal),
        Scene("plane_tilted", 3, plane_tilted),
        Scene("identical", 3, identical, quadratic=True),
        Scene("half_identical", 3, half_identical, quadratic=True),
        Scene("doubled", 3, doubled),
        Scene("points", 3, points),
        Scene("nested", 3, nested),
        Scene("lattice", 3, lattice),
        Scene("lattice_1d", 1, lattice_1d),
        Scene("lattice_2d", 2, lattice_2d),
        Scene("lattice_4d", 4, lattice_4d),
        Scene("tiny_steps", 3, tiny_steps),
        Scene("far", 3, far),
        Scene("very_far", 3, very_far, quadratic=True),
        Scene("two_scales", 3, two_scales),
        Scene("outliers", 3, outliers),
        Scene("infinite", 3, infinite),
        Scene("huge_tiny", 3, huge_tiny),
        Scene("log_distances", 3, log_distances),
        Scene("nested_decades", 3, nested_decades),
        Scene("log_clusters", 3, log_clusters),
        Scene("dense_spot", 3, dense_spot, quadratic=True),
        Scene("far_clusters", 3, far_clusters, quadratic=True),
        Scene("far_share", 3, far_share),
        Scene("huge_share", 3, huge_share),
        Scene("log_axes", 3, log_axes),
        Scene("woven", 3, woven),
        Scene("frames", 2, frames),
        Scene("eleven_boxes", 2, eleven_boxes),
        Scene("spread_1d", 1, spread_1d, quadratic=True),
        Scene("unlike_clusters", 3, unlike_clusters),
        Scene("unlike_clusters_4d", 4, unlike_clusters_4d),
        Scene("worst_1", 3, worst_1),
        Scene("worst_2", 3, worst_2),
        Scene("worst_3", 3, worst_3),
        Scene("worst_4", 2, worst_4),
        Scene("worst_5", 3, worst_5),
        Scene("worst_6", 3, worst_6),
        Scene("worst_7", 3, worst_7),
        Scene("worst_8", 3, worst_8),
        Scene("worst_9", 2, worst_9),
        Scene("worst_10", 2, worst_10),
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
        Corners are computed in float64 and rounded once.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d), of `dtype`
        Lower and upper corner of each box. A new array.

    Raises
    ------
    ValueError
        No scene has that name; the message suggests the nearest.

    Examples
    --------
    >>> from broadphase.testing import make_scene
    >>> make_scene("tiles", 2, dtype="float64").shape
    (2, 2, 2)
    """
    if not isinstance(name, str) or name not in SCENES:
        raise ValueError(unknown_name("scene", name, SCENES))
    return SCENES[name].factory(as_whole(n, "n", 0, 2**31 - 1), as_whole(seed, "seed", 0), dtype)
