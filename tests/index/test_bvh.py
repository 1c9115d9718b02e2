"""The public BVH in both qualities."""

import pickle

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, make_scene


@pytest.mark.parametrize("quality", ["fast", "balanced", "sah"])
@pytest.mark.parametrize("workers", [1, 3])
def test_bvh_of_any_quality_is_sound_and_finds_the_pairs(quality, workers):
    boxes = make_scene("lognormal", 30_000)
    index = bp.BVH(boxes, quality=quality, workers=workers)
    index.validate()
    assert_same_pairs(index.pairs(workers=workers), bp.pairs(boxes))
    again = pickle.loads(pickle.dumps(index))
    again.validate()
    assert again.stats()["nodes"] == index.stats()["nodes"]


def test_bvh_of_a_quality_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="unknown quality 'best': must be 'balanced', 'fast' or 'sah'"):
        bp.BVH([[0, 0, 1, 1]], quality="best")


@pytest.mark.parametrize("quality", ["fast", "balanced", "sah"])
def test_worn_tree_is_built_anew(quality):
    rng = np.random.default_rng(5)
    boxes = make_scene("uniform", 3000)
    index = bp.BVH(boxes, quality=quality)
    cost = index.stats()["cost"]
    moved = boxes + (rng.random((3000, 1, 3)) - boxes[:, :1]).astype(boxes.dtype)
    index.update(moved)
    index.validate()
    assert index.stats()["rebuilds"] == 1
    assert index.stats()["cost"] < 1.3 * cost
    assert_same_pairs(index.pairs(), bp.pairs(moved))


@pytest.mark.parametrize("scene", ["uniform", "lognormal", "clusters", "uniform_2d"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_optimized_tree_is_sound_cheaper_and_answers_the_same(scene, dtype):
    boxes = make_scene(scene, 5000, dtype=dtype)
    index = bp.BVH(boxes)
    before = index.stats()
    assert index.optimize(rounds=4) > 0
    index.validate()
    assert index.stats()["cost"] < before["cost"]
    assert index.stats()["depth"] == before["depth"]
    assert_same_pairs(index.pairs(), bp.pairs(boxes))
    index.move(np.arange(50), boxes[:50] + dtype(0.01))
    index.remove(np.arange(100, 900))
    index.optimize()
    index.validate()
