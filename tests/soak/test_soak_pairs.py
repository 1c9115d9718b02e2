"""Full numbers: the exact pairs of a million small scenes and of thousands of larger ones."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import SCENES, assert_same_pairs, checksum, make_scene, oracle, simd_level, simd_levels
from cases import DIMENSIONS, DTYPES, METHOD_NAMES, lattice
from seeds import compared, seeds

pytestmark = pytest.mark.soak


def check(boxes, other=None, *, label, methods=METHOD_NAMES, expected=None, **options):
    """Compare with the oracle, at the least cost: a sorted answer must be equal, element by element.

    `expected` is what the oracle has answered before, of the same numbers.
    """
    workers = options.pop("workers", 1)
    expected = oracle.pairs(boxes, other, **options) if expected is None else expected
    for method in methods:
        found = bp.pairs(boxes, other, method=method, workers=workers, sort=True, **options)
        if not np.array_equal(found, expected):
            assert_same_pairs(found, expected, f"{label} method={method} {options}")
            raise AssertionError(f"{label} method={method}: not in order")
    compared(len(boxes), None if other is None else len(other), len(methods))
    return expected


def random_filters(rng, n):
    """Make a random choice of filters for one set."""
    filters = {
        "layer": rng.integers(0, 8, n).astype(np.uint64),
        "mask": rng.integers(0, 8, n).astype(np.uint64),
        "group": rng.integers(-2, 3, n),
        "static": rng.random(n) < 0.5,
        "ignore_shared": rng.integers(0, max(2 * n, 1), (n, 2)),
        "ignore_pairs": rng.integers(0, max(n, 1), (n if n else 0, 2)),
    }
    return {name: values for name, values in filters.items() if rng.random() < 0.5}


def check_both(boxes, **options):
    """Compare boxes of small whole numbers, which are the same in both dtypes, with one answer of the oracle."""
    expected = check(boxes, **options)
    check(boxes.astype(np.float32), expected=expected, **options)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_a_million_small_lattices_equal_the_oracle(dimension):
    for seed in seeds(1_000_000):
        rng = np.random.default_rng([dimension, seed])
        boxes = lattice(rng, int(rng.integers(0, 65)), dimension, "float64", int(rng.integers(1, 9)))
        check_both(boxes, label=f"seed={seed} d={dimension}")


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_twenty_thousand_larger_lattices_equal_the_oracle(dimension):
    for seed in seeds(20_000):
        rng = np.random.default_rng([dimension, 1, seed])
        n = int(rng.integers(65, 2001))
        reach = int((rng.uniform(0.5, 20) * n) ** (1 / dimension)) + 1
        boxes = lattice(rng, n, dimension, "float64", reach)
        level, workers = simd_levels()[seed % len(simd_levels())], 1 + seed % 3
        with simd_level(level):
            check_both(boxes, label=f"seed={seed} n={n} d={dimension} {level} {workers=}", workers=workers)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_a_hundred_thousand_small_lattices_with_options_equal_the_oracle(dimension):
    for seed in seeds(100_000):
        rng = np.random.default_rng([dimension, 2, seed])
        n = int(rng.integers(0, 65))
        boxes = lattice(rng, n, dimension, DTYPES[seed % 2])
        options = {
            "touching": bool(rng.random() < 0.5),
            "margin": float(rng.choice([0.0, 0.1, 0.5, 1.0, 3.0])),
            "workers": int(rng.integers(1, 4)),
        }
        check(boxes, label=f"seed={seed} d={dimension}", **options, **random_filters(rng, n))


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_a_hundred_thousand_pairs_of_small_lattices_equal_the_oracle(dimension):
    for seed in seeds(100_000):
        rng = np.random.default_rng([dimension, 3, seed])
        boxes = lattice(rng, int(rng.integers(0, 65)), dimension, DTYPES[seed % 2])
        other = lattice(rng, int(rng.integers(0, 65)), dimension, DTYPES[seed // 2 % 2])
        check(boxes, other, label=f"seed={seed} d={dimension}", touching=bool(seed % 3))


@pytest.mark.parametrize("level", simd_levels())
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_ten_thousand_lattices_on_each_simd_level_equal_the_oracle(level, dimension):
    with simd_level(level):
        for seed in seeds(10_000):
            rng = np.random.default_rng([dimension, 4, seed])
            n = int(rng.integers(0, 300))
            boxes = lattice(rng, n, dimension, DTYPES[seed % 2], int(rng.integers(1, 12)))
            check(boxes, label=f"{level} seed={seed} d={dimension}", touching=bool(seed % 3))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SCENES)
def test_every_scene_at_many_sizes_equals_the_oracle(name, dtype):
    for seed in seeds(300):
        rng = np.random.default_rng([5, seed])
        n = int(rng.integers(0, 400 if SCENES[name].quadratic else 4000))
        check(make_scene(name, n, seed=seed, dtype=dtype), label=f"{name} n={n} seed={seed} {dtype}")


@pytest.mark.parametrize("name", [name for name, scene in SCENES.items() if not scene.quadratic])
def test_scenes_of_a_hundred_thousand_boxes_agree_between_methods_levels_and_workers(name):
    boxes = make_scene(name, 100_000, seed=3)
    expected = checksum(bp.pairs(boxes, method="brute_force", workers=-1))
    for level in simd_levels():
        with simd_level(level):
            for method in METHOD_NAMES:
                if method == "brute_force":
                    continue
                for workers in (1, 2, 4):
                    found = bp.pairs(boxes, method=method, workers=workers)
                    assert checksum(found) == expected, (level, method, workers)
                    assert bp.count_pairs(boxes, method=method, workers=workers) == len(found)


# Around these numbers of boxes, n, n**2 / 2 and n**2 leave the ranges of 16, 31, 32 and 33 bits.
@pytest.mark.parametrize("n", [46_341, 65_535, 65_536, 65_537, 92_683, 100_000])
@pytest.mark.parametrize("method", METHOD_NAMES)
def test_counts_around_powers_of_two_are_exact(method, n):
    boxes = np.broadcast_to(np.array([[0, 0], [1, 1]], np.float32), (n, 2, 2))
    for workers in (1, 2):
        assert bp.count_pairs(boxes, method=method, workers=workers) == n * (n - 1) // 2
    assert bp.count_pairs(boxes, boxes[: n - 1], method=method) == n * (n - 1)
