"""The standard scenes hold the same boxes on every machine, with every version of NumPy: figures can be compared."""

import zlib

import numpy as np
import pytest

from broadphase.testing import SCENES, make_scene, moving
from broadphase.testing.draws import Draws, exponential, root

# CRC-32 of 1,000 boxes in float32, then in float64, then of the fourth frame in motion.
SUMS = {
    "rects": 0xFEDD36A6,
    "uniform": 0xC9763337,
    "uniform_1d": 0x6CD08F0D,
    "uniform_2d": 0x42374303,
    "uniform_4d": 0x8D8E0FE7,
    "lognormal": 0xC3B6D93C,
    "power": 0x173FE362,
    "clusters": 0x7F281711,
    "flat": 0x6FCC5A8D,
    "giant": 0x317C4B26,
    "sticks": 0x5BFD2DBA,
    "mixed_1d": 0x6A3660BD,
    "tiles": 0xEBD7D15B,
    "voxels": 0x59F8EEA1,
    "line": 0x5CA85FBB,
    "diagonal": 0x6F635C53,
    "plane_tilted": 0xD80E2243,
    "identical": 0x97346AF0,
    "half_identical": 0x5AF9CCB3,
    "doubled": 0xB73671E7,
    "points": 0x1FD9DEE8,
    "nested": 0xCA87424D,
    "lattice": 0xC9B508BC,
    "lattice_1d": 0x7BD96EE7,
    "lattice_2d": 0xEF17C26A,
    "lattice_4d": 0xE270D989,
    "tiny_steps": 0xCA1192B4,
    "far": 0x3D36F1F8,
    "very_far": 0xA6A0324B,
    "two_scales": 0x88A4F7A3,
    "outliers": 0x54AF092A,
    "infinite": 0x11FC0C8B,
    "huge_tiny": 0xC3605229,
    "log_distances": 0x12D13CB6,
    "nested_decades": 0x47541175,
    "log_clusters": 0x6AE64E70,
    "dense_spot": 0x2354126F,
    "far_clusters": 0x015C9D8C,
    "far_share": 0x9DBA33FB,
    "huge_share": 0x00CA15AA,
    "log_axes": 0x2BBA0A0E,
    "woven": 0x8AE787A2,
    "frames": 0x9BE58227,
    "eleven_boxes": 0x65EE6402,
    "spread_1d": 0x9294826B,
    "unlike_clusters": 0xBC340BC2,
    "unlike_clusters_4d": 0x57C1BC66,
    "worst_1": 0x8710CC7C,
    "worst_2": 0x8857845C,
    "worst_3": 0x37B2D153,
    "worst_4": 0xF1684AE1,
    "worst_5": 0x8BD449CE,
    "worst_6": 0x9F570A23,
    "worst_7": 0x04441711,
    "worst_8": 0x3355C3B0,
    "worst_9": 0x7EC12D26,
    "worst_10": 0xCE90D7DA,
}


def test_sums_are_of_every_scene():
    assert list(SUMS) == list(SCENES)


@pytest.mark.parametrize("name", SUMS)
def test_scene_is_the_same_for_ever(name):
    total = 0
    for dtype in ("<f4", "<f8"):
        total = zlib.crc32(make_scene(name, 1000, dtype=dtype).tobytes(), total)
    scene = moving(name, 1000, dtype="<f8")
    for _ in range(3):
        scene.step()
    assert f"0x{zlib.crc32(scene.boxes.tobytes(), total):08X}" == f"0x{SUMS[name]:08X}"


def test_draws_are_spread_as_they_should():
    draws = Draws(3)
    numbers = draws.random((50_000,))
    assert 0.0 <= numbers.min() <= numbers.max() < 1.0
    assert abs(numbers.mean() - 0.5) < 0.01
    assert (np.bincount(draws.integers(0, 5, 50_000), minlength=5) > 9_000).all()
    assert draws.integers(-3, 3, 1_000).min() == -3
    assert np.sort(draws.permutation(999)).tolist() == list(range(999))
    normal = draws.normal((50_000,))
    assert abs(normal.mean()) < 0.02
    assert abs(normal.std() - 1.0) < 0.02


def test_exponential_and_roots_are_those_of_numpy_but_for_the_last_digits():
    values = np.linspace(-700.0, 700.0, 10_001)
    np.testing.assert_allclose(exponential(values), np.exp(values), rtol=1e-15)
    large = np.exp(values / 2.0)
    for degree in (1, 2, 3, 4):
        np.testing.assert_allclose(root(large, degree), large ** (1.0 / degree), rtol=1e-13)
    assert [float(root(float(n**3), 3)) for n in range(1, 200)] == list(range(1, 200))
