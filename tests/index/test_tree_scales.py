"""Trees do as little work where boxes lie over many scales as where they lie evenly, and recover from far boxes."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, make_scene, oracle
from oracles import queries as query_oracle
from oracles.queries import assert_same_answers

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


def as_plates(frames):
    """Frames of the plane as plates of a height."""
    return np.concatenate([frames, np.broadcast_to([[[0.0], [1.0]]], (len(frames), 2, 1))], axis=2)


def on_a_map():
    boxes = even() + np.array([5e5, 4.5e6, 0.0])
    boxes[0] = [[0, 0, 0], [1, 1, 1]]
    return boxes


def on_a_log_scale():
    return np.concatenate([make_scene("uniform", N // 15, seed=k, dtype=np.float64) + 10.0**k for k in range(15)])


def log_distances():
    rng = np.random.default_rng(1)
    ways = rng.normal(size=(N, 3))
    far = np.exp2(rng.uniform(-300, 300, N))[:, None]
    centers = ways / np.linalg.norm(ways, axis=1)[:, None] * far
    return np.stack([centers - 0.025 * far, centers + 0.025 * far], axis=1)


def endless_rods():
    rng = np.random.default_rng(2)
    lower = rng.random((N, 3)) * 50
    boxes = np.stack([lower, lower + 0.5], axis=1)
    along = rng.integers(0, 3, N)
    boxes[np.arange(N), 0, along], boxes[np.arange(N), 1, along] = -np.inf, np.inf
    return boxes


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
    "log distances": log_distances,
    "woven": lambda: make_scene("woven", N, dtype=np.float64),
    "frames": lambda: as_plates(make_scene("frames", N, dtype=np.float64)),
    "endless rods": endless_rods,
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
    # Eight boxes of "huge_tiny" span forty octaves around one point, and so few sticks are not worth another order.
    most = {"huge_tiny": 15, "woven": 10}.get(kind, 4)
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
    index.move(rows, places)
    boxes[rows] = places
    assert index.stats()["rebuilds"] == 1
    assert work_each(index) <= 1.5 * work_each(bp.BVH(boxes))
    # Small moves take no rebuild.
    index.update(boxes + np.float32(1e-4))
    assert index.stats()["rebuilds"] == 1


@pytest.mark.parametrize("kind", SCENES)
@pytest.mark.parametrize("make", [bp.BVH, bp.LinearTree, bp.Octree])
def test_queries_over_many_scales_and_of_long_boxes_equal_the_oracle(make, kind):
    boxes = SCENES[kind]()[:1500]
    rng = np.random.default_rng(5)
    asked = boxes[rng.permutation(len(boxes))[:16]]
    points = np.where(np.isfinite(asked[:, 0]), asked[:, 0], 0.5)
    ways = rng.normal(size=points.shape)
    index = make(even()[: len(boxes)])
    index.count_pairs()
    # There, some back one by one, and there again: crowds come, go in part, and come.
    for at, rows in ((boxes, None), (even()[:40], np.arange(40)), (boxes[:40], np.arange(40))):
        index.update(at) if rows is None else index.move(rows, at)
        index.count_pairs()
        index.validate()
    assert_same_pairs(index.pairs(), oracle.pairs(boxes), kind)
    assert_same_answers(index.query(asked), query_oracle.query(boxes, asked))
    assert_same_answers(index.query_points(points), query_oracle.query_points(boxes, points))
    assert_same_answers(index.nearest(points, k=3), query_oracle.nearest(boxes, points, k=3))
    assert_same_answers(index.raycast(points, ways), query_oracle.raycast(boxes, points, ways))


@pytest.mark.parametrize("kind", ["far_clusters", "dense_spot", "log distances", "woven", "endless rods"])
def test_octree_of_crowds_answers_after_they_have_come_and_gone(kind):
    crowd, boxes = SCENES[kind]()[:1500], even()[:1500]
    points = boxes[:20].mean(axis=1)
    tree = bp.Octree(boxes)
    tree.count_pairs()
    plain = tree.stats()["bytes"]
    tree.update(crowd)
    points_of_crowd = np.nan_to_num(crowd[:20, 1], posinf=3.0)
    assert_same_answers(tree.query_points(points_of_crowd), query_oracle.query_points(crowd, points_of_crowd))
    assert tree.stats()["bytes"] > plain + 1500 * 32  # a tree of blocks beside the cells
    tree.remove(tree.rows[100:])
    assert_same_answers(tree.query_points(points_of_crowd), query_oracle.query_points(crowd[:100], points_of_crowd))
    tree.insert(boxes[100:])
    tree.move(np.arange(100), boxes[:100])
    _, ends = query_oracle.query_points(boxes, points)
    assert np.array_equal(tree.query_points(points).offsets, ends)
