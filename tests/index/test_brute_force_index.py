"""What brute force promises as an index: rows in blocks of eight, whatever comes and goes."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, make_scene, oracle


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 16, 17, 100])
def test_blocks_are_full_but_for_the_last_while_boxes_come_and_go(count):
    rng = np.random.default_rng(count)
    index = bp.BruteForce(make_scene("rects", count, seed=1))
    for step in range(30):
        if step % 3 == 2 and len(index):
            index.remove(rng.permutation(index.rows)[: rng.integers(1, len(index) + 1)])
        elif step % 3 == 1 and len(index):
            index.update(index.boxes_of()[::-1])
        else:
            index.insert(make_scene("rects", int(rng.integers(1, 20)), seed=step))
        index.validate()
        assert index.stats()["nodes"] == (len(index) + 7) // 8
        assert_same_pairs(index.pairs(), index.rows[oracle.pairs(index.boxes_of())])


def test_pairs_with_gaps_and_without_an_interior():
    rng = np.random.default_rng(1)
    lower = rng.integers(0, 9, (200, 2))
    index = bp.BruteForce(np.stack([lower, lower + rng.integers(0, 3, (200, 2))], axis=1))
    index.remove(np.arange(0, 200, 3))
    for touching in (True, False):
        expected = index.rows[oracle.pairs(index.boxes_of(), touching=touching)]
        assert_same_pairs(index.pairs(touching=touching), expected)
        assert index.count_pairs(touching=touching, workers=2) == len(expected)
    index.remove(index.rows.copy())
    assert index.pairs().shape == (0, 2)
    assert index.count_pairs() == 0


def test_stats_say_that_nothing_is_saved():
    index = bp.BruteForce(make_scene("rects", 121, seed=1))
    found = index.pairs()
    stats = index.stats()
    assert stats["tests"] == stats["brute_force_tests"] == 121 * 120 // 2
    assert stats["tests_saved"] == 0
    assert stats["pairs"] == len(found)


def test_boxes_on_scales_that_the_first_ones_did_not_have_are_found():
    index = bp.BruteForce(np.array([[[1, 1], [2, 2]]], np.float32))
    far = np.array([[[1e-38, 0], [1e30, 1e-44]], [[-1e38, -1e38], [1e38, 1e38]], [[0, 0], [1e-45, 1e-45]]], np.float32)
    index.insert(far)
    index.validate()
    assert index.query_points([[1e-40, 1e-45], [1.5, 1.5], [1e29, 0]])[0].tolist() == [2]
    assert index.query_points([[1.5, 1.5], [1e29, 0]]).rows.tolist() == [0, 2, 1, 2]
