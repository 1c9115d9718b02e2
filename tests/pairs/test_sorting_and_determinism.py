"""Order: sorted output is byte-identical whatever found it, and unsorted output is the same on every run."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import SCENES, oracle, simd_level, simd_levels
from cases import DTYPES, METHOD_NAMES, run_script, scene

NAMES = ("uniform", "rects", "clusters", "giant", "tiles", "points", "infinite", "sticks", "uniform_1d", "uniform_4d")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_sorted_pairs_are_byte_identical_whatever_finds_them(name, dtype):
    boxes = scene(name, 2100, 1, dtype)
    expected = bp.pairs(boxes, method="brute_force", sort=True)
    assert (np.diff(expected[:, 0].astype(np.int64) << 32 | expected[:, 1]) > 0).all()
    for level in simd_levels():
        with simd_level(level):
            for method in METHOD_NAMES:
                for workers in (1, 2, 3, 4, 5, 6, 7, 8):
                    found = bp.pairs(boxes, method=method, workers=workers, sort=True)
                    assert found.tobytes() == expected.tobytes(), (level, method, workers)


@pytest.mark.parametrize("name", ["uniform", "rects", "identical", "lattice_1d"])
def test_sorted_pairs_of_two_sets_are_byte_identical_whatever_finds_them(name):
    n = 150 if SCENES[name].quadratic else 2000
    boxes, other = scene(name, n, 1), scene(name, n // 2, 2)
    expected = oracle.pairs(boxes, other)
    for level in simd_levels():
        with simd_level(level):
            for method in METHOD_NAMES:
                for workers in (1, 2, 5):
                    found = bp.pairs(boxes, other, method=method, workers=workers, sort=True)
                    assert found.tobytes() == expected.tobytes(), (level, method, workers)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17, 600])
def test_sorted_pairs_of_small_sets_equal_the_oracle_in_order(n):
    for name in SCENES:
        boxes = scene(name, n, 2)
        expected = oracle.pairs(boxes)
        for method in METHOD_NAMES:
            assert np.array_equal(bp.pairs(boxes, method=method, sort=True), expected), (name, method)


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_unsorted_pairs_are_the_same_on_every_run(method):
    for name in NAMES:
        boxes = scene(name, 3000)
        first = bp.pairs(boxes, method=method)
        for _ in range(3):
            assert bp.pairs(boxes.copy(), method=method).tobytes() == first.tobytes(), name


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_unsorted_pairs_are_the_same_for_any_number_of_workers(method):
    for name in NAMES:
        boxes = scene(name, 20_000)
        first = bp.pairs(boxes, method=method, workers=2)
        for workers in (1, 2, 3, 8):
            assert bp.pairs(boxes, method=method, workers=workers).tobytes() == first.tobytes(), (name, workers)


def test_unsorted_pairs_are_the_same_in_another_process():
    script = (
        "import broadphase as bp, zlib; from broadphase.testing import make_scene\n"
        "print([zlib.crc32(bp.pairs(make_scene(name, 5000), workers=w).tobytes())"
        " for name in ('uniform', 'rects') for w in (1, 2)])"
    )
    assert run_script(script) == run_script(script)


@pytest.mark.parametrize("sort", [False, True])
def test_pairs_are_int32_with_first_below_second(sort):
    for method in METHOD_NAMES:
        found = bp.pairs(scene("clusters", 3000), method=method, sort=sort)
        assert found.dtype == np.int32
        assert (found[:, 0] < found[:, 1]).all()
        assert found.min() >= 0
        assert found.max() < 3000


def test_sorting_many_pairs_equals_lexsort():
    boxes = scene("half_identical", 3000)  # more than a million pairs
    for method in METHOD_NAMES:
        found = bp.pairs(boxes, method=method)
        expected = found[np.lexsort((found[:, 1], found[:, 0]))]
        assert np.array_equal(bp.pairs(boxes, method=method, sort=True), expected)
        assert np.array_equal(bp.pairs(boxes, method=method, sort=True, workers=2), expected)


# Sorted by insertion, by counting (on one thread), and in stretches, on any number of threads.
@pytest.mark.parametrize(
    ("name", "count"), [("uniform", 200), ("uniform", 3000), ("uniform", 20_000), ("flat", 20_000)]
)
def test_sorted_pairs_are_the_same_for_any_number_of_threads(name, count):
    boxes, other = scene(name, count), scene(name, count // 3, seed=5)
    for found, options in ((bp.pairs(boxes), {}), (bp.pairs(other, boxes), {"other": boxes})):
        expected = found[np.lexsort((found[:, 1], found[:, 0]))]
        own = other if options else boxes
        for workers in (1, 2, 3, 8):
            assert np.array_equal(bp.pairs(own, **options, sort=True, workers=workers), expected), workers
