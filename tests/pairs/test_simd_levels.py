"""SIMD levels: each that this machine can run, and the scalar twin, gives the pairs of the oracle."""

import os

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native
from broadphase.testing import SCENES, simd_level, simd_levels
from cases import DIMENSIONS, DTYPES, METHOD_NAMES, check_pairs, lattice, run_script, scene


@pytest.fixture(params=simd_levels())
def level(request):
    """Force one level during a test."""
    with simd_level(request.param):
        yield request.param


def test_known_levels_only_and_a_scalar_twin_always():
    assert set(simd_levels()) <= {"scalar", "sse2", "avx2", "avx512", "neon"}
    assert simd_levels()[0] == "scalar"
    assert len(set(simd_levels())) == len(simd_levels())


def test_strongest_level_is_taken_unless_one_is_forced():
    environment = {name: value for name, value in os.environ.items() if name != "BROADPHASE_SIMD"}
    script = "from broadphase import _native; print(_native.simd_level(), _native.simd_levels()[-1])"
    taken, strongest = run_script(script, environment=environment).split()
    assert taken == strongest


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SCENES)
def test_pairs_of_every_scene_equal_the_oracle_on_each_level(level, name, dtype):
    n = 150 if SCENES[name].quadratic else 700
    check_pairs(scene(name, n, 9, dtype), label=f"{level} {name} n={n} seed=9 {dtype}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_small_lattices_of_all_sizes_equal_the_oracle_on_each_level(level, dimension, dtype):
    for n in (*range(20), 31, 32, 33, 63, 64, 65, 127, 128, 129):
        rng = np.random.default_rng(n)
        boxes, other = lattice(rng, n, dimension, dtype), lattice(rng, 21, dimension, dtype)
        for touching in (True, False):
            check_pairs(boxes, label=f"{level} n={n} seed={n} {dtype}", touching=touching)
            check_pairs(boxes, other, label=f"{level} n={n} x 21 seed={n} {dtype}", touching=touching)


@pytest.mark.parametrize("dtype", DTYPES)
def test_filters_margins_and_chunks_equal_the_oracle_on_each_level(level, dtype):
    boxes = scene("lattice", 500, 1, dtype)
    rng = np.random.default_rng(1)
    options = {
        "layer": rng.integers(1, 8, 500).astype(np.uint64),
        "mask": rng.integers(1, 8, 500).astype(np.uint64),
        "group": rng.integers(-2, 3, 500),
        "static": rng.random(500) < 0.5,
        "ignore_shared": rng.integers(0, 200, (500, 2)),
    }
    found = check_pairs(boxes, label=level, margin=0.3, **options)
    for method in METHOD_NAMES:
        chunks = list(bp.iter_pairs(boxes, method=method, chunk=37, margin=0.3, **options))
        assert sum(map(len, chunks)) == len(found)


def test_nan_is_refused_on_each_level(level):
    for n in (1, 2, 15, 16, 17, 100, 3000):
        for row in {0, n // 2, n - 1}:
            for dtype in DTYPES:
                bad = scene("uniform", n, 1, dtype).copy()
                bad[row, 1, 2] = np.nan
                for method in METHOD_NAMES:
                    with pytest.raises(bp.errors.InvalidBoxError, match=f"row {row}: "):
                        bp.pairs(bad, method=method)


def test_level_is_that_of_the_environment():
    for name in simd_levels():
        script = "from broadphase import _native; print(_native.simd_level())"
        assert run_script(script, environment={**os.environ, "BROADPHASE_SIMD": name}).strip() == name


def test_level_is_put_back_after_use_and_after_an_error():
    before = _native.simd_level()
    for name in simd_levels():
        with simd_level(name):
            assert _native.simd_level() == name
        assert _native.simd_level() == before
        with pytest.raises(ZeroDivisionError), simd_level(name):
            raise ZeroDivisionError
        assert _native.simd_level() == before


def test_unknown_level_is_refused():
    before = _native.simd_level()
    with pytest.raises(ValueError, match="mmx"), simd_level("mmx"):
        pass
    assert _native.simd_level() == before
