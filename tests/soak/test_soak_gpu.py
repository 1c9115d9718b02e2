"""Full numbers: pairs by the kernels for GPUs on Warp's CPU device, of 100,000 lattices and of large scenes."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import SCENES, assert_same_pairs, make_scene
from cases import DIMENSIONS, DTYPES, lattice
from seeds import compared, seeds

pytest.importorskip("warp", reason="NVIDIA Warp is not installed")

from broadphase import gpu
from broadphase.gpu import searches

pytestmark = pytest.mark.soak


def drawn(rng, n, m=None):
    """Draw some options for one set of n boxes, or for two of n and m."""

    def values(make):
        return make(n) if m is None else (make(n), make(m))

    every = {
        "touching": bool(rng.integers(0, 2)),
        "margin": float(rng.integers(0, 3)),
        "layer": values(lambda k: rng.integers(0, 8, k).astype(np.uint64)),
        "mask": values(lambda k: rng.integers(0, 8, k)),
        "group": values(lambda k: rng.integers(-2, 3, k)),
        "static": values(lambda k: rng.random(k) < 0.5),
        "ignore_shared": values(lambda k: rng.integers(0, max(2 * k, 1), (k, 2))),
        "batch": values(lambda k: rng.integers(-2, 3, k)),
    }
    return {name: value for name, value in every.items() if rng.random() < 0.4}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_a_hundred_thousand_lattices_on_a_device_equal_the_core(dimension, dtype, monkeypatch):
    monkeypatch.setattr(searches, "FEW_TESTS", 0)
    for seed in seeds(100_000):
        rng = np.random.default_rng([dimension, seed])
        monkeypatch.setattr(searches, "SMALL_SCENE", int(rng.choice([0, 2**30])))
        n, m = (int(k) for k in rng.integers(0, 150, 2))
        reach = int(rng.integers(1, 9))
        boxes = lattice(rng, n, dimension, dtype, reach)
        other = lattice(rng, m, dimension, dtype, reach) if rng.random() < 0.5 else None
        options = drawn(rng, n, None if other is None else m)
        label = f"seed={seed} d={dimension} {sorted(options)}"
        expected = bp.pairs(boxes, other, sort=True, **options)
        assert np.array_equal(gpu.pairs(boxes, other, device="cpu", sort=True, **options), expected), label
        padded, count = gpu.pairs(boxes, other, device="cpu", capacity=len(expected), **options)
        assert count == len(expected), label
        assert_same_pairs(padded, expected, label)
        compared(n, None if other is None else m, 2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name, scene in SCENES.items() if not scene.quadratic])
def test_large_scenes_on_a_device_equal_the_core(name, dtype):
    boxes = make_scene(name, 100_000, dtype=dtype)
    assert np.array_equal(gpu.pairs(boxes, device="cpu", sort=True), bp.pairs(boxes, sort=True))
    first, second = boxes[:30_000], boxes[30_000:]
    expected = bp.pairs(first, second, sort=True)
    assert np.array_equal(gpu.pairs(first, second, device="cpu", sort=True), expected)
