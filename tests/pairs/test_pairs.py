"""All pairs within one set: every method, dtype, dimension and scene against the oracle."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import SCENES, checksum, moving, oracle
from cases import DIMENSIONS, DTYPES, LINEAR_SCENES, METHOD_NAMES, check_pairs, lattice, scene

SMALL_SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257)
LARGE_SIZES = (511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SCENES)
def test_pairs_of_every_scene_equal_the_oracle(name, dtype):
    n = 300 if SCENES[name].quadratic else 1500
    check_pairs(scene(name, n, 3, dtype), label=f"{name} n={n} seed=3 {dtype}")


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("name", SCENES)
def test_pairs_of_every_scene_in_other_dimensions_equal_the_oracle(name, dimension):
    n = 200 if SCENES[name].quadratic else 600
    dtype = DTYPES[dimension % 2]
    check_pairs(scene(name, n, 5, dtype, dimension), label=f"{name} n={n} seed=5 {dtype} d={dimension}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("name", ["uniform", "lattice", "infinite"])
def test_pairs_of_small_sets_around_thresholds_equal_the_oracle(name, dimension, dtype):
    for n in SMALL_SIZES:
        check_pairs(scene(name, n, n, dtype, dimension), label=f"{name} n={n} seed={n} {dtype} d={dimension}")


@pytest.mark.parametrize("n", LARGE_SIZES)
def test_pairs_of_large_sets_around_thresholds_equal_the_oracle(n):
    check_pairs(scene("rects", n, n, "float32"), label=f"rects n={n}")
    check_pairs(scene("uniform", n, n, "float64"), label=f"uniform n={n}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_pairs_of_random_small_lattices_equal_the_oracle(dimension, dtype):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(0, 65))
        check_pairs(lattice(rng, n, dimension, dtype), label=f"lattice n={n} seed={seed} {dtype} d={dimension}")


@pytest.mark.parametrize("n", [3000, 5000, 7000, 10_000, 14_000, 30_000, 50_000, 70_000, 100_000])
def test_pairs_of_large_sets_of_every_dimension_agree_between_methods(n):
    for name in ("uniform_1d", "uniform_2d", "uniform", "uniform_4d", "lattice_4d"):
        boxes = scene(name, n, 3, DTYPES[n // 1000 % 2])
        # Brute force on more boxes: in the soak tests.
        methods = [method for method in METHOD_NAMES if method != "brute_force" or n <= 30_000]
        answers = {method: checksum(bp.pairs(boxes, method=method)) for method in methods}
        assert len(set(answers.values())) == 1, f"{name} n={n} seed=3: {answers}"


@pytest.mark.parametrize("name", LINEAR_SCENES)
def test_pairs_of_large_scenes_agree_between_methods(name):
    n = 20_000
    boxes = scene(name, n, 11, "float32")
    answers = {method: checksum(bp.pairs(boxes, method=method)) for method in METHOD_NAMES}
    assert len(set(answers.values())) == 1, f"{name} n={n} seed=11: {answers}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", range(0, 16, 3))
def test_pairs_far_from_the_origin_equal_the_oracle(exponent, dtype):
    boxes = (scene("uniform", 400, 1, "float64") + 10.0**exponent).astype(dtype)
    check_pairs(boxes, label=f"shift 1e{exponent} {dtype}")


@pytest.mark.parametrize(("dtype", "exponents"), [("float32", (-140, -126, 120)), ("float64", (-1060, -1000, 1000))])
def test_pairs_of_huge_and_tiny_boxes_equal_the_oracle(dtype, exponents):
    for exponent in exponents:
        boxes = np.ldexp(scene("lattice", 400, 1, dtype), exponent)
        check_pairs(boxes, label=f"scale 2**{exponent} {dtype}")


def test_pairs_of_boxes_over_the_whole_range_of_a_dtype_equal_the_oracle():
    for dtype in DTYPES:
        limit = np.finfo(dtype).max
        boxes = scene("uniform", 200, 1, dtype).copy()
        boxes[::7] = [[-limit] * 3, [limit] * 3]
        boxes[1::7] = limit
        check_pairs(boxes, label=f"largest numbers of {dtype}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_pairs_of_boxes_that_reach_the_largest_numbers_equal_the_oracle(dimension, dtype):
    most = np.finfo(dtype).max
    for n in (2, 40, 600):
        rng = np.random.default_rng(n)
        ends = np.sort(rng.choice([-most, -most / 2, -1, 0, 1, most / 2, most], (n, dimension, 2)), axis=2)
        check_pairs(
            ends.transpose(0, 2, 1).astype(dtype), label=f"largest numbers n={n} seed={n} {dtype} d={dimension}"
        )


def test_pairs_of_infinite_boxes_overlap_everything_on_that_side():
    inf = np.inf
    boxes = np.array([[[-inf, 0], [inf, 1]], [[5, 1], [6, 2]], [[7, 1.5], [8, 2]], [[inf, 0], [inf, 0]]])
    for method in METHOD_NAMES:
        assert bp.pairs(boxes, method=method, sort=True).tolist() == [[0, 1], [0, 3]]


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_pairs_of_no_boxes_are_an_empty_array(dimension):
    for dtype in DTYPES:
        for method in METHOD_NAMES:
            found = bp.pairs(np.empty((0, 2, dimension), dtype), method=method)
            assert found.shape == (0, 2)
            assert found.dtype == np.int32


def test_pairs_of_moving_boxes_equal_the_oracle_in_every_frame():
    for name in ("uniform", "clusters", "rects"):
        world = moving(name, 500, seed=2)
        for frame in range(8):
            check_pairs(world.step(), label=f"moving {name} seed=2 frame={frame}")


def test_pairs_when_one_box_has_a_million_partners_finds_them_all():
    boxes = scene("points", 1_000_001, 1, "float32").copy()
    boxes[500_000] = [[-1] * 3, [2] * 3]
    partners = bp.pairs(boxes, max_pairs=3_000_000)
    of_the_giant = partners[(partners == 500_000).any(axis=1)]
    assert len(np.unique(of_the_giant.sum(axis=1))) == 1_000_000


@pytest.mark.parametrize("n", [2, 3, 40])
def test_pairs_that_all_overlap_name_each_pair_once(n):
    expected = np.stack(np.triu_indices(n, 1), axis=1)
    for method in METHOD_NAMES:
        assert np.array_equal(bp.pairs(scene("identical", n), method=method, sort=True), expected)


def test_oracle_and_pairs_take_the_same_forms():
    boxes = scene("rects", 100)
    lower, upper = boxes[:, 0], boxes[:, 1]
    for form in (boxes, boxes.reshape(100, 4), (lower, upper), boxes.tolist()):
        assert np.array_equal(bp.pairs(form, sort=True), oracle.pairs(form))
