"""Pairs between two sets: every method, dtype, dimension and scene against the oracle."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import SCENES, assert_same_pairs
from cases import DIMENSIONS, DTYPES, METHOD_NAMES, check_pairs, lattice, scene


@pytest.mark.parametrize("name", SCENES)
def test_two_sets_of_every_scene_equal_the_oracle(name):
    n = 200 if SCENES[name].quadratic else 900
    for seed, dtype in enumerate(DTYPES):
        check_pairs(
            scene(name, n, seed, dtype), scene(name, n // 2, seed + 8, dtype), label=f"{name} seed={seed} {dtype}"
        )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_two_sets_of_all_sizes_equal_the_oracle(dimension, dtype):
    sizes = (0, 1, 2, 3, 15, 16, 17, 33, 64, 65, 257)
    for count in sizes:
        for other_count in sizes:
            a = scene("lattice", count, 1, dtype, dimension)
            b = scene("lattice", other_count, 2, dtype, dimension)
            check_pairs(a, b, label=f"lattice {count} x {other_count} {dtype} d={dimension}")


@pytest.mark.parametrize(("count", "other_count"), [(1, 3000), (3000, 1), (5, 4000), (4000, 5), (1500, 1501)])
def test_two_sets_of_unlike_sizes_equal_the_oracle(count, other_count):
    for name in ("rects", "uniform", "giant", "infinite"):
        check_pairs(scene(name, count, 1), scene(name, other_count, 2), label=f"{name} {count} x {other_count}")


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_two_sets_of_random_small_lattices_equal_the_oracle(dimension):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        a = lattice(rng, int(rng.integers(0, 40)), dimension, "float32")
        b = lattice(rng, int(rng.integers(0, 40)), dimension, "float32")
        check_pairs(a, b, label=f"lattices seed={seed} d={dimension}")


def test_two_sets_of_mixed_dtypes_are_compared_as_float64():
    exact = np.array([[[0.1, 0.0], [1.0, 1.0]]])
    rounded = np.array([[[-1.0, 0.0], [0.1, 1.0]]], np.float32)  # float32(0.1) > 0.1
    below = np.array([[[-1.0, 0.0], [np.nextafter(0.1, 0.0), 1.0]]])
    for method in METHOD_NAMES:
        assert len(bp.pairs(exact, rounded, method=method)) == 1
        assert len(bp.pairs(rounded, exact, method=method)) == 1
        assert len(bp.pairs(exact, below, method=method)) == 0
    for seed in range(4):
        check_pairs(
            scene("uniform", 300, seed, "float32"), scene("uniform", 300, seed, "float64"), label=f"seed={seed}"
        )


def test_two_sets_that_are_apart_have_no_pairs():
    a, b = scene("uniform", 2000, 1), scene("uniform", 2000, 2) + np.float32(3.0)
    check_pairs(a, b, label="apart")


def test_two_sets_of_very_unlike_extent_equal_the_oracle():
    a, b = scene("uniform", 1000, 1, "float64"), scene("uniform", 1000, 2, "float64") * 1e6 - 5e5
    check_pairs(a, b, label="small and large world")
    check_pairs(b, a, label="large and small world")


def test_two_sets_one_and_the_same_give_both_orders_and_the_diagonal():
    boxes = scene("rects", 400)
    one = bp.pairs(boxes)
    diagonal = np.repeat(np.arange(400), 2).reshape(-1, 2)
    for method in METHOD_NAMES:
        assert_same_pairs(bp.pairs(boxes, boxes, method=method), np.concatenate([one, one[:, ::-1], diagonal]))


def test_two_sets_swapped_give_swapped_pairs():
    a, b = scene("clusters", 1200, 1), scene("clusters", 700, 2)
    for method in METHOD_NAMES:
        assert_same_pairs(bp.pairs(b, a, method=method)[:, ::-1], bp.pairs(a, b, method=method))


def test_two_sets_one_empty_have_no_pairs():
    empty, some = np.empty((0, 2, 3), np.float32), scene("uniform", 100)
    for method in METHOD_NAMES:
        assert bp.pairs(empty, some, method=method).shape == (0, 2)
        assert bp.pairs(some, empty, method=method).shape == (0, 2)
        assert bp.count_pairs(empty, empty, method=method) == 0
