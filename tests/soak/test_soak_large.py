"""Numbers beyond 2^31: of corners, of pairs, of candidates. Each test looks for the memory that it needs first."""

import re
from pathlib import Path

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native

pytestmark = pytest.mark.soak
MANY = 2**31 + 4


def needs(gigabytes):
    """Skip where so much memory is not free: nothing may be swapped, or taken from others."""
    facts = Path("/proc/meminfo")
    free = int(re.search(r"MemAvailable:\s+(\d+)", facts.read_text())[1]) / 1e6 if facts.exists() else 0
    if free < gigabytes:
        pytest.skip(f"needs {gigabytes} GB of free memory; there are {free:.1f}")


# What is given takes no memory: all but the last rows are zeros that nothing has written to.
@pytest.mark.parametrize(
    ("method", "numbers", "dimension", "gigabytes"),
    [
        ("brute_force", 2**31, 4, 11), ("sweep_and_prune", 2**31, 4, 12), ("grid", 2**31, 4, 12), ("bvh", 2**31, 4, 20),
        ("brute_force", 2**32, 2, 22), ("sweep_and_prune", 2**32, 2, 32), ("grid", 2**32, 2, 32),
    ],
)  # fmt: skip
def test_boxes_of_so_many_numbers_are_found_at_the_end(method, numbers, dimension, gigabytes):
    needs(gigabytes)
    rows = numbers // (2 * dimension) + 5
    boxes = np.zeros((rows, 2, dimension), np.float32)
    boxes[-2:, 0], boxes[-2:, 1] = 1, 2
    other = np.array([[[0.5] * dimension, [3] * dimension]], np.float32)
    assert bp.pairs(boxes, other, method=method).tolist() == [[rows - 2, 0], [rows - 1, 0]]


def test_pairs_of_equal_boxes_in_chunks_are_all_there():
    boxes, last = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]]), (70_000, 2, 2)), 69_999
    count = total = 0
    for chunk in bp.iter_pairs(boxes, workers=2):
        count, total = count + len(chunk), total + int(chunk.sum(dtype=np.int64))
    assert count == 70_000 * last // 2 > 2**31
    assert total == 70_000 * last // 2 * last  # each row is in as many pairs as there are other rows


def test_array_of_pairs_of_so_many_numbers_is_whole():
    needs(12)
    boxes, last = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]]), (47_000, 2, 2)), 46_999
    pairs = bp.pairs(boxes, workers=2)
    assert pairs.size == 47_000 * last > 2**31
    assert int(pairs.sum(dtype=np.int64)) == 47_000 * last // 2 * last


def test_candidates_of_a_periodic_world_that_touch_across_a_seam_are_found_at_the_end():
    needs(2)
    shapes = bp.Shapes([bp.Capsule([0, 0], [1, 0], 0.1), bp.Circle(0.6), bp.Circle(0.6)], [[5, 5], [0.5, 5], [9.5, 5]])
    boxes = np.array([[1, 1, 0, 0], [0, 4, 1, 6], [9, 4, 10, 6]], np.float64)  # the first meets nothing, not itself
    first, second = np.zeros(MANY, np.int32), np.zeros(MANY, np.int32)
    first[-1], second[-1] = 1, 2
    touching, _, _ = _native.shape_touching(shapes.store, first, second, boxes, np.array([10.0, 10.0]), None, 1)
    assert touching.tolist() == [[1, 2]]
