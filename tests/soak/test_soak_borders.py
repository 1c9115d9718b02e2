"""Full numbers: borders one ulp apart, infinite corners, bad boxes, far worlds, huge and tiny boxes."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import make_scene
from cases import DIMENSIONS, DTYPES, METHOD_NAMES, lattice
from seeds import seeds
from test_soak_pairs import check

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_ten_thousand_scenes_within_an_ulp_equal_the_oracle(dimension, dtype):
    infinity = np.array(np.inf, dtype)
    for seed in seeds(1250):
        rng = np.random.default_rng([dimension, 10, seed])
        boxes = lattice(rng, int(rng.integers(2, 80)), dimension, dtype)
        boxes *= boxes.dtype.type(rng.choice([1.0, 0.1, 1e-30, 1e6, 2.0**100]))
        boxes += boxes.dtype.type(rng.choice([0.0, 0.0, 1.0, 1e6]))
        for way in (-infinity, infinity):
            boxes = np.where(rng.random(boxes.shape) < 0.3, np.nextafter(boxes, way), boxes)
        boxes = np.sort(boxes, axis=1)
        check(boxes, label=f"seed={seed} d={dimension} {dtype}", touching=bool(seed % 2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_a_hundred_thousand_scenes_with_infinite_corners_equal_the_oracle(dimension, dtype):
    for seed in seeds(12_500):
        rng = np.random.default_rng([dimension, 11, seed])
        boxes = lattice(rng, int(rng.integers(0, 50)), dimension, dtype)
        boxes = np.where(
            rng.random(boxes.shape) < rng.choice([0.02, 0.3]), rng.choice([-np.inf, np.inf], boxes.shape), boxes
        )
        boxes = np.sort(boxes.astype(dtype), axis=1)
        check(boxes, label=f"seed={seed} d={dimension} {dtype}", touching=bool(seed % 2), margin=float(seed % 3) / 2)


@pytest.mark.parametrize("fault", ["NaN", "lower > upper"])
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_a_hundred_thousand_bad_boxes_are_named(dimension, fault):
    for seed in seeds(25_000):
        rng = np.random.default_rng([dimension, 12, seed])
        n = int(rng.integers(1, 70))
        boxes = lattice(rng, n, dimension, DTYPES[seed % 2])
        row, axis, corner = int(rng.integers(n)), int(rng.integers(dimension)), int(rng.integers(2))
        boxes[row, corner, axis] = np.nan if fault == "NaN" else (99.0, -99.0)[corner]
        place = rf"lower\[{axis}\] " if fault == "lower > upper" else rf"{('lower', 'upper')[corner]}\[{axis}\] is NaN"
        for method in METHOD_NAMES:
            with pytest.raises(bp.errors.InvalidBoxError, match=f"row {row}: {place}"):
                bp.pairs(boxes, method=method)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", range(16))
def test_worlds_far_from_the_origin_equal_the_oracle(exponent, dtype):
    for seed in seeds(200):
        for name in ("uniform", "rects", "lattice", "points", "uniform_1d"):
            boxes = make_scene(name, 300, seed=seed, dtype="float64") + 10.0**exponent
            check(boxes.astype(dtype), label=f"{name} seed={seed} shift=1e{exponent}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_worlds_of_every_scale_equal_the_oracle(dtype):
    reach = 140 if dtype == "float32" else 1060
    for seed in seeds(2 * reach):
        exponent = seed * 37 % (2 * reach) - reach  # all of them, here and there
        for name in ("lattice", "lattice_1d", "lattice_2d", "tiny_steps", "huge_tiny"):
            with np.errstate(all="ignore"):
                boxes = np.ldexp(make_scene(name, 300, seed=exponent + reach, dtype=dtype), exponent)
            check(boxes, label=f"{name} 2**{exponent} {dtype}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_boxes_of_any_bits_equal_the_oracle(dtype):
    # Corners of random bits: every exponent, subnormal and infinite numbers.
    bits = np.uint32 if dtype == "float32" else np.uint64
    for seed in seeds(50_000):
        rng = np.random.default_rng([13, seed])
        n, dimension = int(rng.integers(0, 60)), int(rng.integers(1, 5))
        boxes = rng.integers(0, np.iinfo(bits).max, (n, 2, dimension), bits, endpoint=True).view(dtype)
        boxes = np.sort(np.where(np.isnan(boxes), boxes.dtype.type(0), boxes), axis=1)
        check(boxes, label=f"seed={seed} {dtype}", touching=bool(seed % 2))
