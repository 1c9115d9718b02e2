"""Shapes on a lattice: they touch, coincide, and have no size as often as not. Against plain NumPy."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.narrow import row_pairs
from oracles.shapes import parts_of, shape_distance

QUARTERS = {
    2: np.arange(8) * np.pi / 4,
    3: [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, np.tan(np.pi / 8)]],
}
ROUNDING = 1e-9


def lattice_shape(rng, dimension):
    """Make a shape of whole numbers, often of no size in some direction, turned by a quarter or half of one at most."""

    def place(*shape):
        return rng.integers(-2, 3, (*shape, dimension)).astype(float)

    kind = rng.integers(8)
    turned = {"offset": place(), "rotation": QUARTERS[dimension][rng.integers(len(QUARTERS[dimension]))]}
    if kind == 0:
        return bp.Point(offset=place())
    if kind == 1:
        return (bp.Circle if dimension == 2 else bp.Sphere)(rng.integers(0, 3), offset=place())
    if kind == 2:
        return bp.Segment(*place(2), **turned)
    if kind == 3:
        return bp.Capsule(*place(2), rng.integers(0, 3), **turned)
    if kind == 4:
        return bp.AABB(rng.integers(0, 3, dimension), offset=place())
    if kind == 5:
        return (bp.Rectangle if dimension == 2 else bp.Box)(*rng.integers(0, 3, dimension), **turned)
    if kind == 6:
        return bp.Triangle(place(3), **turned)
    if dimension == 3:
        return bp.Compound([bp.AABB(rng.integers(0, 3, 3), offset=place()), bp.Segment(*place(2))], **turned)
    while True:
        try:
            return bp.ConvexPolygon(place(rng.integers(3, 6)), **turned)
        except ValueError:  # most are not convex
            continue


def check_scene(dimension, seed, pair_count):
    """Compare what is said of random pairs of 60 shapes."""
    rng = np.random.default_rng(seed)
    shapes = [lattice_shape(rng, dimension) for _ in range(60)]
    placed = bp.Shapes(shapes, np.zeros(dimension))
    parts = [parts_of(shape, np.zeros(dimension)) for shape in shapes]
    pairs = rng.integers(60, size=(pair_count, 2)).astype(np.int32)
    first, second = pairs.T.copy()
    expected = np.array([shape_distance(parts[i], parts[j]) for i, j in pairs.tolist()])
    distances, normals = row_pairs.separations(placed, placed, first, second)
    assert np.abs(distances - expected).max() < ROUNDING, seed
    assert np.abs(np.linalg.norm(normals, axis=1) - 1).max() < ROUNDING, seed
    overlap = row_pairs.overlap_mask(placed, placed, first, second)
    assert not (overlap != (expected <= 0))[np.abs(expected) > ROUNDING].any(), seed
    assert np.array_equal(overlap, row_pairs.overlap_mask(placed, placed, second, first)), seed
    assert np.array_equal(distances, row_pairs.distances(placed, placed, second, first)), seed
    found = bp.contacts(placed, pairs=pairs)
    assert np.array_equal(found.pairs, pairs[overlap]), seed
    assert np.abs(found.depths + np.minimum(expected[overlap], 0)).max() < ROUNDING, seed
    for k, (i, j) in enumerate(found.pairs.tolist()):
        if len(parts[i]) == len(parts[j]) == 1:
            apart = [part._replace(points=part.points + found.normals[k] * found.depths[k]) for part in parts[j]]
            assert abs(shape_distance(parts[i], apart)) < ROUNDING, (seed, shapes[i], shapes[j])
        for point in found.points[k, : found.counts[k]]:
            place = parts_of(bp.Point(), point)
            outside = max(shape_distance(parts[i], place), shape_distance(parts[j], place))
            assert outside < found.depths[k] / 2 + ROUNDING, (seed, shapes[i], shapes[j])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dimension", [2, 3])
def test_shapes_on_a_lattice_are_as_far_apart_as_plain_numpy_says(dimension, seed):
    check_scene(dimension, seed, 60)
