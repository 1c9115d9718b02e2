"""The compiled tree of `method="bvh"`: what it is made of, and that nothing is lost."""

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native
from broadphase.testing import assert_same_pairs, make_scene

KNOWN = 2**63
QUALITIES = [_native.BvhQuality.fast, _native.BvhQuality.sah]


def built(boxes, rows=None, **options):
    lower, upper = np.ascontiguousarray(boxes[:, 0]), np.ascontiguousarray(boxes[:, 1])
    rows = np.arange(len(boxes), dtype=np.int32) if rows is None else np.asarray(rows, dtype=np.int32)
    tree = _native.Bvh(boxes.shape[2], **options)
    tree.build(lower, upper, rows)
    return tree, lower, upper, rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 63, 64, 65, 511, 513, 3000])
@pytest.mark.parametrize("scene", ["uniform_1d", "uniform_2d", "uniform", "uniform_4d", "lognormal"])
@pytest.mark.parametrize("quality", QUALITIES)
def test_built_tree_of_a_scene_is_sound_and_finds_all_pairs(quality, scene, count, dtype):
    boxes = make_scene(scene, count, dtype=dtype)
    tree, lower, upper, rows = built(boxes, quality=quality)
    assert tree.validate(lower, upper, rows) == ""
    expected = bp.pairs(boxes, method="brute_force", sort=True)
    assert_same_pairs(tree.pairs(lower, upper, True, None, 1, False, KNOWN), expected)
    assert tree.count(lower, upper, True, None, 2) == len(expected)
    stats = tree.stats()
    assert (stats["rows"], stats["pairs"]) == (count, len(expected))
    assert sum(stats["nodes_by_level"]) == stats["nodes"]


def test_some_rows_of_a_store_are_the_only_ones_found():
    boxes = make_scene("uniform", 400)
    tree, lower, upper, rows = built(boxes, rows=np.arange(0, 400, 3))
    assert tree.validate(lower, upper, rows) == ""
    found = tree.pairs(lower, upper, True, None, 1, True, KNOWN)
    expected = bp.pairs(boxes[::3], method="brute_force", sort=True) * 3
    assert_same_pairs(found, expected)


def test_outline_contains_the_boxes_and_has_one_root():
    boxes = make_scene("clusters", 500)
    tree, *_ = built(boxes)
    lower, upper, level = tree.outline()
    assert lower.shape == upper.shape == (tree.stats()["nodes"], 3)
    assert level.shape == (len(lower),)
    assert (level == 0).sum() == 1
    assert (lower[level == 0] <= boxes[:, 0].min(axis=0)).all()
    assert (upper[level == 0] >= boxes[:, 1].max(axis=0)).all()


def moved(rng, boxes, far):
    if far:
        shift = rng.random((len(boxes), 1, boxes.shape[2])) - boxes[:, :1]
    else:
        shift = rng.normal(0, 0.02, (len(boxes), 1, boxes.shape[2]))
    return (boxes + shift).astype(boxes.dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_random_history_leaves_a_sound_tree_with_the_pairs_of_a_fresh_one(seed, dimension, dtype):
    rng = np.random.default_rng([seed, dimension])
    capacity = 300
    lower = rng.random((capacity, dimension))
    store = np.stack([lower, lower + rng.exponential(0.02, (capacity, dimension))], axis=1).astype(dtype)
    if seed == 3:
        store[rng.random(store.shape) < 0.01] *= np.inf
        store = np.nan_to_num(np.sort(store, axis=1), nan=0.0, posinf=np.inf, neginf=-np.inf)
    alive = rng.random(capacity) < 0.3
    tree = _native.Bvh(dimension, QUALITIES[seed % 2])
    first = np.flatnonzero(alive).astype(np.int32)
    tree.build(store[:, 0], store[:, 1], first)
    for step in range(60):
        dead, living = np.flatnonzero(~alive), np.flatnonzero(alive)
        action = rng.integers(4)
        most = 3 if rng.random() < 0.7 else capacity
        if action == 0 and len(dead):
            rows = rng.choice(dead, min(len(dead), rng.integers(1, most + 1)), replace=False).astype(np.int32)
            alive[rows] = True
            tree.insert(store[:, 0], store[:, 1], rows)
        elif action == 1 and len(living):
            rows = rng.choice(living, min(len(living), rng.integers(1, most + 1)), replace=False).astype(np.int32)
            alive[rows] = False
            tree.remove(rows)
        elif len(living):
            rows = rng.choice(living, min(len(living), rng.integers(1, most + 1)), replace=False).astype(np.int32)
            store[rows] = moved(rng, store[rows], far=action == 2)
            tree.update(store[:, 0], store[:, 1], rows)
        if rng.random() < 0.2:
            tree.optimize()
        living = np.flatnonzero(alive).astype(np.int32)
        assert tree.validate(store[:, 0], store[:, 1], living) == "", (seed, step)
        found = tree.pairs(store[:, 0], store[:, 1], True, None, 1, True, KNOWN)
        expected = living[bp.pairs(store[living], method="brute_force", sort=True)]
        assert np.array_equal(found, expected), (seed, step)


@pytest.mark.parametrize("count", [1, 8, 9, 64, 65, 700])
def test_rows_that_come_one_by_one_and_go_leave_nothing_behind(count):
    boxes = make_scene("clusters", count, dtype=np.float64)
    lower, upper = np.ascontiguousarray(boxes[:, 0]), np.ascontiguousarray(boxes[:, 1])
    tree = _native.Bvh(3)
    for row in range(count):
        tree.insert(lower, upper, np.array([row], np.int32))
    rows = np.arange(count, dtype=np.int32)
    assert tree.validate(lower, upper, rows) == ""
    assert_same_pairs(tree.pairs(lower, upper, True, None, 1, False, KNOWN), bp.pairs(boxes))
    for row in np.random.default_rng(1).permutation(rows):
        tree.remove(np.array([row], np.int32))
    assert tree.validate(lower, upper, rows[:0]) == ""
    assert tree.stats()["nodes"] == 0


@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_degenerate_scenes_give_shallow_trees(quality, dimension):
    count = 5000
    equal = np.full((count, 2, dimension), 3.0)
    halving = np.repeat((2.0 ** -np.arange(count / 5))[:, None, None], 5, axis=0) * np.ones((1, 2, dimension))
    nested = np.arange(1, count + 1)[:, None, None] * np.array([-1.0, 1.0])[None, :, None] * np.ones((1, 1, dimension))
    everywhere = np.array([-np.inf, np.inf])[None, :, None] * np.ones((count, 1, dimension))
    for boxes in (equal, halving, nested, everywhere):
        tree, lower, upper, rows = built(boxes, quality=quality)
        assert tree.validate(lower, upper, rows) == ""
        assert tree.stats()["depth"] <= 60
        assert tree.count(lower, upper, True, None, 1) == bp.count_pairs(boxes)
