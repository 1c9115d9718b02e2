"""The compiled tree of `method="bvh"`: what it is made of, and that nothing is lost."""

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native
from broadphase.testing import assert_same_pairs, make_scene

KNOWN = 2**63


def built(boxes, rows=None, **options):
    lower, upper = np.ascontiguousarray(boxes[:, 0]), np.ascontiguousarray(boxes[:, 1])
    rows = np.arange(len(boxes), dtype=np.int32) if rows is None else np.asarray(rows, dtype=np.int32)
    tree = _native.Bvh(boxes.shape[2], **options)
    tree.build(lower, upper, rows)
    return tree, lower, upper, rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 63, 64, 65, 511, 513, 3000])
@pytest.mark.parametrize("scene", ["uniform_1d", "uniform_2d", "uniform", "uniform_4d", "lognormal"])
def test_built_tree_of_a_scene_is_sound_and_finds_all_pairs(scene, count, dtype):
    boxes = make_scene(scene, count, dtype=dtype)
    tree, lower, upper, rows = built(boxes)
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
