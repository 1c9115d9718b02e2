"""Borders: boxes that touch, are one ulp apart, have no size, lie at minus zero, or are grown by a margin."""

import numpy as np
import pytest

import broadphase as bp
from cases import DIMENSIONS, DTYPES, METHOD_NAMES, check_pairs, lattice, scene

BORDERS = (0.0, 1.0, -3.0, 0.1, 1e6, -1e6, 1e-30, 2.0**100, 2.0**-100)


def in_dimension(intervals, axis, dimension, dtype):
    """Make boxes that are the given intervals along `axis`, and the unit interval along the others."""
    boxes = np.zeros((len(intervals), 2, dimension), dtype)
    boxes[:, 1] = 1.0
    boxes[:, :, axis] = intervals
    return boxes


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_borders_one_ulp_apart_decide_the_pair(dimension, dtype):
    for border in BORDERS:
        at = np.array(border, dtype)
        below, above = np.nextafter(at, np.array(-np.inf, dtype)), np.nextafter(at, np.array(np.inf, dtype))
        for axis in range(dimension):
            for other_lower, touches, meets in ((below, 1, 1), (at, 1, 0), (above, 0, 0)):
                start, end = at - abs(at) - 1, at + abs(at) + 1
                boxes = in_dimension([[start, at], [other_lower, end]], axis, dimension, dtype)
                for method in METHOD_NAMES:
                    case = (border, axis, method, float(other_lower))
                    assert bp.count_pairs(boxes, method=method) == touches, case
                    assert bp.count_pairs(boxes, method=method, touching=False) == meets, case
                    assert bp.count_pairs(boxes[:1], boxes[1:], method=method) == touches, case
                    assert bp.count_pairs(boxes[1:], boxes[:1], method=method, touching=False) == meets, case


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("touching", [True, False])
def test_faces_within_an_ulp_of_each_other_equal_the_oracle(touching, dtype):
    for seed in range(10):
        boxes = scene("tiny_steps", 300, seed, dtype)
        check_pairs(boxes, label=f"tiny_steps seed={seed} {dtype}", touching=touching)
        shift = np.array(2.0 ** (seed * 3), dtype)
        check_pairs(boxes + shift, label=f"tiny_steps + {shift} seed={seed} {dtype}", touching=touching)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_interiors_only_equals_the_oracle(dimension, dtype):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        boxes, other = lattice(rng, 60, dimension, dtype), lattice(rng, 40, dimension, dtype)
        check_pairs(boxes, label=f"lattice seed={seed}", touching=False)
        check_pairs(boxes, other, label=f"lattices seed={seed}", touching=False)


@pytest.mark.parametrize("name", ["tiles", "voxels", "points", "lattice", "line", "infinite", "identical", "nested"])
def test_interiors_only_of_awkward_scenes_equals_the_oracle(name):
    check_pairs(scene(name, 400), label=name, touching=False)


def test_tiles_that_only_touch_have_no_common_interior():
    for method in METHOD_NAMES:
        assert bp.count_pairs(scene("tiles", 10_000), method=method, touching=False) == 0
        assert bp.count_pairs(scene("voxels", 9261), method=method, touching=False) == 0


def test_tiles_that_touch_are_pairs():
    # A block of k x k cells: 2 k (k - 1) share a side, 2 (k - 1)**2 a corner.
    for method in METHOD_NAMES:
        assert bp.count_pairs(scene("tiles", 10_000), method=method) == 2 * 100 * 99 + 2 * 99 * 99


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_minus_zero_touches_zero(dimension, dtype):
    minus, plus = np.array([-0.0, 0.0], dtype)
    for axis in range(dimension):
        boxes = in_dimension(
            [[-1, minus], [plus, 1], [minus, minus], [plus, plus], [plus, minus]], axis, dimension, dtype
        )
        for method in METHOD_NAMES:
            assert bp.count_pairs(boxes, method=method) == 10, (axis, method)
            assert bp.count_pairs(boxes, method=method, touching=False) == 0, (axis, method)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_boxes_of_no_size_match_where_they_touch(dimension):
    corner = np.ones(dimension)
    boxes = np.array([[0 * corner, corner], [corner, corner], [corner, corner], [corner * 0.5] * 2, [corner * 2] * 2])
    for method in METHOD_NAMES:
        assert bp.pairs(boxes, method=method, sort=True).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2]]
        assert bp.pairs(boxes, method=method, touching=False).tolist() == []


def test_flat_boxes_have_no_interior():
    boxes = np.array([[[0, 0, 0], [2, 2, 0]], [[1, 1, -1], [3, 3, 1]], [[0, 0, -1], [2, 2, 1]]], float)
    for method in METHOD_NAMES:
        assert bp.pairs(boxes, method=method, touching=False).tolist() == [[1, 2]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("margin", [0.0, 0.1, 1.0 / 3.0, 2.0, 1e-30, 1e-300, 1e30, 5e-324, 1e308])
def test_margins_equal_the_oracle(margin, dtype):
    margin = min(margin, float(np.finfo(dtype).max))
    for name in ("lattice", "lattice_1d", "lattice_2d", "lattice_4d", "tiny_steps", "infinite", "points"):
        boxes = scene(name, 250, 4, dtype)
        for touching in (True, False):
            check_pairs(boxes, label=f"{name} margin={margin} {dtype}", margin=margin, touching=touching)
        check_pairs(
            boxes, boxes[:90], label=f"{name} two sets {margin}", margin=margin, touching=np.dtype(dtype).itemsize == 4
        )


def test_margin_equal_to_the_gap_makes_a_pair():
    boxes = np.array([[[0.0, 0.0], [1.0, 1.0]], [[1.5, 0.0], [2.0, 1.0]]])
    for method in METHOD_NAMES:
        assert bp.count_pairs(boxes, method=method, margin=0.5) == 1
        assert bp.count_pairs(boxes, method=method, margin=0.5, touching=False) == 0
        assert bp.count_pairs(boxes, method=method, margin=0.499999999) == 0
        assert bp.count_pairs(boxes, method=method, margin=0.500000001, touching=False) == 1


def test_margin_gives_points_an_interior():
    boxes = np.array([[[0.0, 0.0]] * 2, [[0.5, 0.0]] * 2, [[2.0, 0.0]] * 2])
    for method in METHOD_NAMES:
        assert bp.pairs(boxes, method=method, touching=False, margin=1.0).tolist() == [[0, 1]]


def test_margin_is_rounded_as_numpy_rounds_it():
    rng = np.random.default_rng(3)
    for dtype in DTYPES:
        boxes = rng.integers(0, 50, (400, 1, 2)) * np.ones((1, 2, 1)) * 0.1
        boxes = boxes.astype(dtype)
        for margin in (0.1, 0.2, 0.3, 0.7):
            check_pairs(boxes, label=f"{dtype} {margin}", margin=margin)
