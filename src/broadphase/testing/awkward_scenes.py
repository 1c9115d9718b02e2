"""Scenes made to break a broad phase: ties, degenerate shapes, extreme coordinates, and lopsided distributions.

Each factory takes ``(n, seed, dtype)`` and gives `(n, 2, d)` boxes in random order, as in
`broadphase.testing.everyday_scenes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.testing.draws import Draws, root
from broadphase.testing.everyday_scenes import even_half, from_centers, uniform

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    Boxes = NDArray[Any]


def integer_tiling(dimension: int, n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Give unit cells of a square block of `dimension` axes, in random order; neighbours touch and nothing more."""
    side = 1
    while side**dimension < n:
        side += 1
    cells = np.stack(np.unravel_index(np.arange(n), (side,) * dimension), axis=1)
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
    """Equal cubes along the main diagonal, four overlaps each: no axis tells more than another."""
    return from_centers(Draws(seed).random((n, 1)) * np.ones(3), even_half(n, 1), dtype)


def plane_tilted(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Thin boxes on a plane that is parallel to no axis."""
    rng = Draws(seed)
    u, v = rng.random((2, n, 1))
    centers = u * np.array([0.8, -0.4, -0.4]) + v * np.array([0.1, 0.7, -0.8])
    return from_centers(centers, even_half(n, 2) * np.array([2.0, 2.0, 0.5]), dtype)


def identical(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """One box again and again: every pair overlaps."""
    return from_centers(Draws(seed).random((1, 3)) * np.ones((n, 1)), 0.25, dtype)


def half_identical(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes of which half are one and the same."""
    boxes = uniform(n, seed, dtype)
    return np.where((np.arange(n) % 2 == 0)[:, None, None], boxes[:1], boxes)


def doubled(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes, each of which is there twice."""
    boxes = uniform((n + 1) // 2, seed, dtype)
    return np.concatenate([boxes, boxes])[Draws(seed).permutation(2 * len(boxes))][:n]


def points(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Boxes of no size; every fourth one repeats another."""
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


def lattice_in(dimension: int, n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Small integer corners around zero: touching, duplicates, zero size and minus zero are common."""
    rng = Draws(seed)
    reach = int(root(2.0 * n, dimension)) // 2 + 1
    boxes = np.empty((n, 2, dimension), dtype)
    boxes[:, 0] = rng.integers(-reach, reach + 1, (n, dimension))
    boxes[:, 1] = boxes[:, 0] + rng.integers(0, 3, (n, dimension))
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
    """Give cubes of edge 0.8, four overlaps each, in a world that starts at `by` on every axis."""
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
    """Equal cubes in a unit cube, but for a handful at a distance of 1e9."""
    rng = Draws(seed)
    centers = rng.random((n, 3))
    few = rng.permutation(n)[: min(8, n // 4)]
    centers[few] += rng.integers(-1, 2, (len(few), 3)) * 1e9
    return from_centers(centers, even_half(n, 3), dtype)


def infinite(n: int, seed: int, dtype: DTypeLike) -> Boxes:
    """Equal cubes, but for up to 32 that reach to infinity on some sides, or lie there."""
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
    """Cubes whose faces lie within a few ulps of one another."""
    rng = Draws(seed)
    boxes = integer_tiling(3, n, seed, dtype)
    ulps = rng.integers(-1, 2, boxes.shape)
    return np.where(ulps == 0, boxes, np.nextafter(boxes, np.where(ulps < 0, -np.inf, np.inf).astype(dtype)))
