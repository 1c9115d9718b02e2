"""Boxes near the smallest number of their type: the same pairs, in about the same time."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.errors import InvalidBoxError
from broadphase.testing import make_scene
from cases import METHOD_NAMES

SCALES = {"float64": (1e-305, 1e-308, 1e-310, 2.0**-1060), "float32": (1e-30, 1e-37, 1e-40)}


def as_set(pairs: np.ndarray) -> np.ndarray:
    return np.unique(pairs.astype(np.int64) @ np.array([1 << 32, 1]))


@pytest.mark.parametrize("method", METHOD_NAMES)
@pytest.mark.parametrize(("dtype", "scale"), [(dtype, scale) for dtype in SCALES for scale in SCALES[dtype]])
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_tiny_boxes_as_by_brute_force(dtype, scale, dimension, method):
    rng = np.random.default_rng(dimension)
    centers = rng.random((700, dimension))
    boxes = np.stack([centers - 0.05, centers + 0.05], axis=1) * scale
    boxes[:3] *= 1e3
    boxes[5, 1] = np.inf
    boxes[6, :, 0] = 0
    boxes = boxes.astype(dtype)
    for touching in (True, False):
        for margin in (0.0, 0.01 * scale):
            options = {"touching": touching, "margin": margin}
            expected = bp.pairs(boxes, method="brute_force", **options)
            found = bp.pairs(boxes, method=method, **options)
            assert np.array_equal(as_set(found), as_set(expected))
            across = bp.pairs(boxes[:400], boxes[400:], method=method, **options)
            expected = expected[(expected[:, 0] < 400) & (expected[:, 1] >= 400)] - [0, 400]
            assert np.array_equal(as_set(across), as_set(expected))


def test_tiny_boxes_off_the_road():
    boxes = make_scene("uniform", 3000, dtype=np.float64) * 1e-310
    expected = as_set(bp.pairs(boxes, method="brute_force"))
    far = np.concatenate([boxes, [[[1e300] * 3, [1e301] * 3], [[1.0] * 3, [2.0] * 3]]])
    assert np.array_equal(as_set(bp.pairs(far)), expected)
    assert np.array_equal(as_set(np.concatenate(list(bp.iter_pairs(boxes, chunk=100)))), expected)
    found = bp.explain(boxes)
    assert 0 < found.high[0] < 1e-307
    boxes[17, 0, 0] = np.nan
    with pytest.raises(InvalidBoxError, match="17"):
        bp.pairs(boxes)
