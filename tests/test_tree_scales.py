"""Trees do as little work where boxes lie over many scales as where they lie evenly, and recover from far boxes."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, make_scene, oracle

N = 3000


def even():
    return make_scene("uniform", N, dtype=np.float64)


def with_one_far():
    boxes = even()
    boxes[7] += 1e12
    return boxes


def with_many_far():
    boxes = even()
    boxes[::33] += np.random.default_rng(0).choice([-1e30, 1e30], (len(boxes[::33]), 1, 3))
    return boxes


def with_endless():
    boxes = even()
    boxes[:8] = [[-np.inf] * 3, [np.inf] * 3]
    return boxes


def on_a_map():
    boxes = even() + np.array([5e5, 4.5e6, 0.0])
    boxes[0] = [[0, 0, 0], [1, 1, 1]]
    return boxes


def on_a_log_scale():
    return np.concatenate([make_scene("uniform", N // 15, seed=k, dtype=np.float64) + 10.0**k for k in range(15)])


SCENES = {
    "one far": with_one_far,
    "many far": with_many_far,
    "endless": with_endless,
    "map": on_a_map,
    "log scale": on_a_log_scale,
    "outliers": lambda: make_scene("outliers", N, dtype=np.float64),
    "two_scales": lambda: make_scene("two_scales", N, dtype=np.float64),
    "far_clusters": lambda: make_scene("far_clusters", N, dtype=np.float64),
    "dense_spot": lambda: make_scene("dense_spot", N, dtype=np.float64),
    "huge_tiny": lambda: make_scene("huge_tiny", N, dtype=np.float64),
}


def work_each(index):
    """Tests of boxes for each box and pair of the index, when it counts its pairs."""
    found = index.count_pairs()
    return index.stats()["tests"] / (len(index) + found)


@pytest.mark.parametrize("kind", SCENES)
@pytest.mark.parametrize("quality", ["fast", "balanced", "sah"])
def test_pairs_over_many_scales_take_about_as_many_tests_as_of_even_boxes(quality, kind):
    boxes = SCENES[kind]()
    index = bp.BVH(boxes, quality=quality)
    index.validate()
    most = 15 if kind == "huge_tiny" else 4  # there, eight boxes span forty octaves around one point
    assert work_each(index) <= most * work_each(bp.BVH(even(), quality=quality))
    assert index.count_pairs() == bp.count_pairs(boxes, method="sweep_and_prune")


@pytest.mark.parametrize("kind", SCENES)
def test_one_call_over_many_scales_finds_the_pairs_of_the_oracle(kind):
    boxes = SCENES[kind]()[:400]
    assert_same_pairs(bp.pairs(boxes, method="bvh"), oracle.pairs(boxes), kind)
    half = len(boxes) // 2
    for first, second in ((boxes[:half], boxes[half:]), (boxes[half:], boxes[:half]), (boxes[:60], boxes)):
        expected = oracle.pairs(first, second)
        assert_same_pairs(bp.pairs(first, second, method="bvh"), expected, kind)
        assert_same_pairs(
            bp.pairs(first, second, method="bvh", margin=0.01, touching=False),
            oracle.pairs(first, second, margin=0.01, touching=False),
            f"{kind}, with a margin",
        )


def gone_and_back(index, boxes, away):
    for at in (away, boxes):
        index.update(at)
        index.count_pairs()
    index.validate()
    return index


@pytest.mark.parametrize("kind", SCENES)
@pytest.mark.parametrize("quality", ["fast", "balanced"])
def test_boxes_that_came_back_from_far_take_as_many_tests_as_ever(quality, kind):
    boxes = even()
    index = gone_and_back(bp.BVH(boxes, quality=quality), boxes, SCENES[kind]()[:N])
    assert work_each(index) <= 1.5 * work_each(bp.BVH(boxes, quality=quality))


@pytest.mark.parametrize("share", [0.3, 0.5, 1.0])
def test_update_that_scatters_boxes_leaves_a_tree_as_good_as_a_fresh_one(share):
    rng = np.random.default_rng(3)
    boxes = make_scene("uniform", N)
    index = bp.BVH(boxes)
    rows = rng.permutation(N)[: int(N * share)]
    places = make_scene("uniform", N, seed=8)[rows]
    index.update(places, rows)
    boxes[rows] = places
    assert index.stats()["rebuilds"] == 1
    assert work_each(index) <= 1.5 * work_each(bp.BVH(boxes))
    # Small moves take no rebuild.
    index.update(boxes + np.float32(1e-4))
    assert index.stats()["rebuilds"] == 1
