"""The standard scenes by name: seeded, reproducible boxes for tests and benchmarks.

Each factory takes ``(n, seed, dtype)`` and makes `(n, 2, d)` boxes in random order. Corners are computed in float64 and
rounded once to `dtype`. The number of overlaps per box hardly depends on `n`: sizes shrink, or the world grows, as
boxes are added, and at `n` = 100 000 every scene has the sizes written in its code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase.arguments import as_whole
from broadphase.errors import unknown_name
from broadphase.testing.draws import Draws, exponential, root
from broadphase.testing.recipes import Recipe, from_centers

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    Boxes: TypeAlias = NDArray[Any]

Factory = Callable[[int, int, "DTypeLike"], "NDArray[Any]"]

LOG_OF_2 = 0.6931471805599453
LOG_OF_10 = 2.302585092994046
REFERENCE_COUNT = 100_000  # the box count at which the sizes below hold as written


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


SCENES: dict[str, Scene] = {}


def add(name: str, dim: int, summary: str, factory: Factory, *, quadratic: bool = False) -> None:
    """Put a scene into `SCENES`."""
    factory.__doc__ = summary
    SCENES[name] = Scene(name, dim, factory, quadratic)


def scene(dim: int, *, quadratic: bool = False) -> Callable[[Factory], Factory]:
    """Put a factory into `SCENES` by its name; its docstring is the summary."""

    def put(factory: Factory) -> Factory:
        add(factory.__name__, dim, factory.__doc__ or "", factory, quadratic=quadratic)
        return factory

    return put


# Scenes as in applications: even and uneven sizes, clusters, flat worlds, long sticks -----------------------------


def even_half(n: int, dim: int) -> float:
    """Compute the half size at which `n` equal cubes in the unit cube have four overlaps each, on average."""
    # Two cubes of edge e overlap when their centres are closer than e on each axis: n (2 e)^d = 4.
    return float(0.25 * root(4.0 / max(n, 1), dim))


def density(n: int, dim: int) -> float:
    """Compute the factor on lengths that keeps the overlaps per box as they are at `REFERENCE_COUNT` boxes."""
    return float(root(REFERENCE_COUNT / max(n, 1), dim))


@scene(2)
def rects(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Rectangles of 10 by 10 in a square of 500 by 500 for each thousand."""
    side = 500.0 * np.sqrt(n / 1000.0)
    return from_centers(Draws(seed).random((n, 2)) * side, 5.0, dtype)


def uniform_in(dim: int, n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes spread evenly over the unit cube of `dim` axes, four overlaps each."""
    return from_centers(Draws(seed).random((n, dim)), even_half(n, dim), dtype)


for _name, _dim, _summary in (
    ("uniform", 3, "Equal cubes spread evenly over the unit cube, four overlaps each."),
    ("uniform_1d", 1, "Equal intervals spread evenly over the unit interval, four overlaps each."),
    ("uniform_2d", 2, "Equal squares spread evenly over the unit square, four overlaps each."),
    ("uniform_4d", 4, "Equal cubes spread evenly over the unit cube of four axes, four overlaps each."),
):
    add(_name, _dim, _summary, partial(uniform_in, _dim))


@scene(3)
def lognormal(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Boxes whose sizes are log-normal over three decades."""
    rng = Draws(seed)
    sizes = 0.00155 * density(n, 3) * exponential(1.38 * rng.normal((n, 1)))
    return from_centers(rng.random((n, 3)), sizes * (0.7 + 0.6 * rng.random((n, 3))), dtype)


@scene(3)
def power(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes whose sizes follow the power law s**-2.5 over three decades: many small, few large."""
    rng = Draws(seed)
    steepest = 1.0 / root(0.001**2 * 0.001, 2)  # 0.001 ** -1.5
    thirds = root(steepest + rng.random((n, 1)) * (1.0 - steepest), 3)
    halves = density(n, 3) / (thirds * thirds) / 2.0
    return from_centers(rng.random((n, 3)), halves, dtype)


@scene(3)
def clusters(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes in 50 Gaussian clusters of different widths."""
    rng = Draws(seed)
    middles, widths = rng.random((50, 3)) * 10.0, 0.05 + 0.25 * rng.random((50, 1))
    chosen = rng.integers(0, 50, n)
    centers = middles[chosen] + widths[chosen] * rng.normal((n, 3))
    return from_centers(centers, 0.0125 * density(n, 3) * (0.5 + rng.random((n, 1))), dtype)


@scene(3)
def flat(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Boxes of a game level: a wide ground, hardly any height."""
    rng = Draws(seed)
    side = 1000.0 / density(n, 2)
    halves = (0.5 + 2.0 * rng.random((n, 3))) * np.array([1.0, 0.5, 1.0])
    return from_centers(rng.random((n, 3)) * np.array([side, 2.0, side]), halves, dtype)


@scene(3)
def giant(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal small cubes and one that covers them all."""
    rng = Draws(seed)
    halves = np.full((n, 1), even_half(n, 3))
    halves[n // 2 : n // 2 + 1] = 2.0
    return from_centers(rng.random((n, 3)), halves, dtype)


@scene(3)
def sticks(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Sticks a hundred times as long as thick, each along an axis chosen at random."""
    rng = Draws(seed)
    halves = np.full((n, 3), 0.0005)
    halves[np.arange(n), rng.integers(0, 3, n)] = 0.05
    return from_centers(rng.random((n, 3)), halves * density(n, 3), dtype)


@scene(1)
def mixed_1d(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Intervals whose lengths are log-normal over three decades."""
    rng = Draws(seed)
    halves = even_half(n, 1) * exponential(1.38 * rng.normal((n, 1)))
    return from_centers(rng.random((n, 1)), halves, dtype)


# Scenes made to break a broad phase: ties, degenerate shapes, extreme coordinates, uneven distributions --------------


def integer_tiling(dim: int, n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Fill a block of `dim` axes with unit cells, in random order: neighbours only touch."""
    side = 1
    while side**dim < n:
        side += 1
    cells = np.stack(np.unravel_index(np.arange(n), (side,) * dim), axis=1)
    lower = cells[Draws(seed).permutation(n)]
    return np.stack([lower, lower + 1], axis=1).astype(dtype)


for _name, _dim, _summary in (
    ("tiles", 2, "Squares that tile a plane: each only touches its eight neighbours."),
    ("voxels", 3, "Cubes that fill a block: each only touches its 26 neighbours."),
):
    add(_name, _dim, _summary, partial(integer_tiling, _dim))


@scene(3)
def line(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes with their centres on a line along one axis, four overlaps each."""
    rng = Draws(seed)
    centers = np.zeros((n, 3))
    centers[:, rng.integers(0, 3, 1)] = rng.random((n, 1))
    return from_centers(centers, even_half(n, 1), dtype)


@scene(3)
def diagonal(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes along the main diagonal, four overlaps each: no axis separates better than another."""
    return from_centers(Draws(seed).random((n, 1)) * np.ones(3), even_half(n, 1), dtype)


@scene(3)
def plane_tilted(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Thin boxes on a plane that is parallel to no axis."""
    rng = Draws(seed)
    u, v = rng.random((2, n, 1))
    centers = u * np.array([0.8, -0.4, -0.4]) + v * np.array([0.1, 0.7, -0.8])
    return from_centers(centers, even_half(n, 2) * np.array([2.0, 2.0, 0.5]), dtype)


@scene(3, quadratic=True)
def identical(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """One box, repeated: every pair overlaps."""
    return from_centers(Draws(seed).random((1, 3)) * np.ones((n, 1)), 0.25, dtype)


@scene(3, quadratic=True)
def half_identical(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes, half of them copies of one."""
    boxes = uniform_in(3, n, seed, dtype)
    return np.where((np.arange(n) % 2 == 0)[:, None, None], boxes[:1], boxes)


@scene(3)
def doubled(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes, each present twice."""
    boxes = uniform_in(3, (n + 1) // 2, seed, dtype)
    return np.concatenate([boxes, boxes])[Draws(seed).permutation(2 * len(boxes))][:n]


@scene(3)
def points(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Boxes of zero size; every fourth one is a copy of another."""
    rng = Draws(seed)
    centers = rng.random((n, 3))
    rows = np.arange(0, n, 4)
    centers[rows] = centers[rng.integers(0, max(n, 1), len(rows))]
    return from_centers(centers, 0.0, dtype)


@scene(3)
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


_AROUND_ZERO = "around zero: touching, duplicates, zero size and minus zero are common."
for _name, _dim, _summary in (
    ("lattice", 3, f"Small integer corners {_AROUND_ZERO}"),
    ("lattice_1d", 1, f"Small integer intervals {_AROUND_ZERO}"),
    ("lattice_2d", 2, f"Small integer rectangles {_AROUND_ZERO}"),
    ("lattice_4d", 4, "Small integer boxes of four axes: touching, duplicates, zero size and minus zero are common."),
):
    add(_name, _dim, _summary, partial(lattice_in, _dim))


@scene(3)
def tiny_steps(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes whose faces lie within a few ulps of each other."""
    rng = Draws(seed)
    boxes = integer_tiling(3, n, seed, dtype)
    ulps = rng.integers(-1, 2, boxes.shape)
    return np.where(ulps == 0, boxes, np.nextafter(boxes, np.where(ulps < 0, -np.inf, np.inf).astype(dtype)))


def shifted(by: float, n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes of edge 0.8, four overlaps each, in a world that starts at `by` on every axis."""
    side = root(max(n, 1), 3)
    centers = Draws(seed).random((n, 3)) * side + by
    return from_centers(centers, even_half(n, 3) * side, dtype)


add("far", 3, "Cubes of edge 0.8 a million from the origin: float32 has steps of 1/16 there.", partial(shifted, 1e6))
add(
    "very_far",
    3,
    "Cubes of edge 0.8 at 1e12 from the origin; in float32 they all round to one point.",
    partial(shifted, 1e12),
    quadratic=True,
)


@scene(3)
def two_scales(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes: half of them in a unit cube, the others spread over a million times its edge."""
    rng = Draws(seed)
    centers = rng.random((n, 3))
    centers[rng.permutation(n)[: n // 2]] *= 1e6
    return from_centers(centers, even_half((n + 1) // 2, 3), dtype)


@scene(3)
def outliers(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes in a unit cube, except up to eight at a distance of 1e9."""
    rng = Draws(seed)
    centers = rng.random((n, 3))
    few = rng.permutation(n)[: min(8, n // 4)]
    centers[few] += rng.integers(-1, 2, (len(few), 3)) * 1e9
    return from_centers(centers, even_half(n, 3), dtype)


@scene(3)
def infinite(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes, except up to 32 that extend to infinity on some sides, or lie there."""
    rng = Draws(seed)
    boxes = uniform_in(3, n, seed, dtype)
    rows = rng.permutation(n)[: min(32, (n + 3) // 4)]
    reaches = boxes[rows]
    lowest, highest = rng.random((2, len(rows), 3)) < 0.4
    reaches[:, 0][lowest], reaches[:, 1][highest] = -np.inf, np.inf
    reaches[::8, 0], reaches[::8, 1] = np.inf, np.inf
    boxes[rows] = reaches
    return boxes


@scene(3)
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


def centers_on_scales(rng: Draws, n: int, octaves: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw centres in random directions, at log-uniform distances of 2**-octaves to 2**octaves, and the distances."""
    distances = exponential(rng.between(-octaves, octaves, (n, 1)) * LOG_OF_2)
    return rng.between(-1.0, 1.0, (n, 3)) * distances, distances


@scene(3)
def log_distances(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Cubes at log-uniform distances from 2**-30 to 2**30, with sizes in proportion to their distance."""
    centers, distances = centers_on_scales(Draws(seed), n, 30.0)
    return from_centers(centers, distances * 0.6 * root(30.0 / max(n, 1), 3), dtype)


@scene(3)
def nested_decades(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Boxes around one place, at distances over five decades, with sizes in proportion to their distance."""
    centers, distances = centers_on_scales(Draws(seed), n, 8.3)
    return from_centers(centers + 0.25, distances * 0.6 * root(8.3 / max(n, 1), 3), dtype)


@scene(3)
def log_clusters(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Forty clusters around one place, each with half the distance and size of the one before."""
    rng = Draws(seed)
    scales = np.ldexp(1.0, -rng.integers(0, 40, (n, 1)).astype(np.int32))
    return from_centers((1.0 + rng.random((n, 3))) * scales, even_half((n + 39) // 40, 3) * scales, dtype)


@scene(3, quadratic=True)
def dense_spot(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes, half of them in one spot of a billionth of the size; float32 rounds those to a few places."""
    rng = Draws(seed)
    scales = np.where(rng.permutation(n) < n // 2, 1e-9, 1.0)[:, None]
    return from_centers(rng.random((n, 3)) * scales, even_half((n + 1) // 2, 3) * scales, dtype)


@scene(3, quadratic=True)
def far_clusters(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Two clusters of equal cubes, 1e9 apart, each around an origin of its own."""
    rng = Draws(seed)
    half = even_half((n + 1) // 2, 3)
    shift = np.where(rng.permutation(n) < n // 2, 1e9, 0.0)[:, None] * np.array([1.0, 0.0, 0.0])
    return from_centers(rng.random((n, 3)) + shift, half, dtype)


@scene(3)
def far_share(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes, 3 % of them at distances up to 1e30."""
    rng = Draws(seed)
    centers = rng.random((n, 3))
    rows = rng.permutation(n)[: 3 * n // 100]
    centers[rows] = rng.between(-1e30, 1e30, (len(rows), 3))
    return from_centers(centers, even_half(n, 3), dtype)


@scene(3)
def huge_share(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes, up to 16 of them 1e30 in size."""
    rng = Draws(seed)
    halves = np.full((n, 1), even_half(n, 3))
    halves[rng.permutation(n)[: min(16, n // 4)]] = 1e30
    return from_centers(rng.random((n, 3)), halves, dtype)


@scene(3)
def log_axes(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Boxes whose centres are log-uniform on each axis by itself, over 30 octaves and both signs."""
    rng = Draws(seed)
    places = exponential(rng.between(-15.0, 15.0, (n, 3)) * LOG_OF_2)
    places *= rng.integers(0, 2, (n, 3)) * 2.0 - 1.0
    return from_centers(places, np.abs(places) * np.minimum(0.9, 13.0 * root(1.0 / max(n, 1), 3)), dtype)


@scene(3)
def woven(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Long sticks along two axes, side by side in thin layers, as threads are woven."""
    rng = Draws(seed)
    halves = np.full((n, 3), 0.5 / max(n, 1))
    halves[np.arange(n), np.arange(n) % 2] = 1.0
    return from_centers(rng.random((n, 3)), halves, dtype)


@scene(2)
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


@scene(2)
def eleven_boxes(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Eleven boxes in a square of 64, as the article on a dynamic octree draws it; a square more for every eleven."""
    square, which = np.divmod(Draws(seed).permutation(n), len(_ELEVEN))
    side = max(1, math.isqrt(n // len(_ELEVEN)))
    places = 64.0 * np.stack([square % side, square // side], axis=1)
    boxes = np.array(_ELEVEN, np.float64).reshape(-1, 2, 2)[which]
    return (boxes + places[:, np.newaxis]).astype(dtype)


@scene(1, quadratic=True)
def spread_1d(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Intervals in ten clusters of equal width, at log-uniform distances over four decades."""
    rng = Draws(seed)
    places = exponential(rng.between(0.0, 4.0 * LOG_OF_10, (10, 1)))
    chosen = rng.integers(0, 10, n)
    return from_centers(places[chosen] + rng.random((n, 1)), even_half((n + 9) // 10, 1), dtype)


def clusters_of_any_width(dim: int, n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Make cubes in 60 clusters, whose widths span five decades, with sizes in proportion to the width."""
    rng = Draws(seed)
    widths = exponential(rng.between(-2.5 * LOG_OF_10, 2.5 * LOG_OF_10, (60, 1)))
    places, chosen = rng.between(-12.0, 12.0, (60, dim)), rng.integers(0, 60, n)
    centers = places[chosen] + widths[chosen] * rng.between(-0.5, 0.5, (n, dim))
    return from_centers(centers, widths[chosen] * even_half((n + 59) // 60, dim), dtype)


add(
    "unlike_clusters",
    3,
    "Cubes in 60 clusters, whose widths span five decades, with sizes in proportion to the width.",
    partial(clusters_of_any_width, 3),
)
add("unlike_clusters_4d", 4, "Unlike clusters along four axes.", partial(clusters_of_any_width, 4))


# The worst that hill climbs over recipes have found, see `make climb` ------------------------------------------------


_WORST = {
    "Cubes of any size in 8 clusters at distances over 2.6 decades, and 18 % of them far away.": Recipe(
        3, 8, place_spread=2.6, size_spread=0.9, sizes_by_width=True, overlaps=1.3, far=0.176
    ),
    "Long boxes side by side in 33 clusters whose widths span five decades, in the order of the first axis.": Recipe(
        3, 33, width_spread=4.8, axis_spread=3.2, sizes_by_width=True, overlaps=0.4, axis_order=True
    ),
    "Sticks and plates of any size in 134 clusters of widths and distances over 2.5 decades; a few are huge.": Recipe(
        3, 134, 2.5, 2.4, 1.6, 3.8, shuffled=True, sizes_by_width=True, overlaps=0.3, huge=0.0001
    ),
    "Squares in two clusters, and 15 % of them far away.": Recipe(
        2, 2, place_spread=3.6, size_spread=0.5, overlaps=0.5, far=0.146
    ),
    "Cubes of any size in 293 clusters at distances over 5.6 decades.": Recipe(
        3, 293, place_spread=5.6, size_spread=1.6, overlaps=0.1
    ),
    "Equal cubes in three clusters at distances over eight decades.": Recipe(3, 3, place_spread=8.2, overlaps=0.6),
    "Sticks and plates of any size in 58 clusters at distances over nine decades, and a few huge.": Recipe(
        3, 58, 0.0, 8.7, 1.4, 2.0, shuffled=True, sizes_by_width=True, overlaps=0.2, huge=0.0003
    ),
    "Boxes in 209 clusters whose widths span five decades and their distances eight.": Recipe(
        3, 209, 4.6, 8.3, 0.0, 0.5, shuffled=True, sizes_by_width=True, overlaps=0.1
    ),
    "Squares in 19 clusters whose widths span five decades and their distances seven.": Recipe(
        2, 19, 5.1, 7.0, 0.9, sizes_by_width=True, overlaps=0.5
    ),
    "Long boxes in 81 clusters at distances over eight decades, a few of them huge or far away.": Recipe(
        2, 81, 2.2, 8.1, 0.6, 2.5, sizes_by_width=True, overlaps=0.1, far=0.016, huge=0.001
    ),
}
for _number, (_summary, _recipe) in enumerate(_WORST.items(), 1):
    add(f"worst_{_number}", _recipe.dim, _summary, partial(_recipe.boxes))


def make_scene(name: str, n: int, *, seed: int = 7, dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Make the boxes of a standard scene.

    Parameters
    ----------
    name : str
        A key of `SCENES`; an error suggests the nearest.
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

    Examples
    --------
    >>> from broadphase.testing import make_scene
    >>> make_scene("tiles", 2, dtype="float64").shape
    (2, 2, 2)
    """
    if not isinstance(name, str) or name not in SCENES:
        raise ValueError(unknown_name("scene", name, SCENES))
    return SCENES[name].factory(as_whole(n, "n", 0, 2**31 - 1), as_whole(seed, "seed", 0), dtype)
