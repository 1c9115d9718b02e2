"""Counts: what `len(pairs)` would be, in 64 bits, in memory that does not depend on them."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import SCENES, oracle
from cases import METHOD_NAMES, run_script, scene


@pytest.mark.parametrize("name", SCENES)
def test_counts_of_every_scene_equal_the_oracle(name):
    n = 300 if SCENES[name].quadratic else 1200
    boxes, other = scene(name, n, 1), scene(name, n // 3, 2)
    expected, expected_two = oracle.count_pairs(boxes), oracle.count_pairs(boxes, other)
    for method in METHOD_NAMES:
        for workers in (1, 2):
            assert bp.count_pairs(boxes, method=method, workers=workers) == expected, method
            assert bp.count_pairs(boxes, other, method=method, workers=workers) == expected_two, method


def test_counts_are_plain_integers():
    for method in METHOD_NAMES:
        assert type(bp.count_pairs(scene("rects", 1000), method=method)) is int
        assert type(bp.count_pairs(np.empty((0, 2, 2)), method=method)) is int


# Around these numbers of boxes, n, n**2 / 2 and n**2 leave the ranges of 16, 31, 32 and 33 bits.
@pytest.mark.parametrize("n", [46_341, 65_535, 65_536, 65_537, 92_683])
def test_counts_beyond_32_bits_are_exact(n):
    boxes = np.broadcast_to(np.array([[0, 0], [1, 1]], np.float32), (n, 2, 2))
    for method in METHOD_NAMES if n == 65_537 else ("auto", "brute_force"):
        assert bp.count_pairs(boxes, method=method) == n * (n - 1) // 2, method


def test_counts_of_two_sets_beyond_32_bits_are_exact():
    boxes = np.broadcast_to(np.array([[0, 0], [1, 1]], np.float32), (70_000, 2, 2))
    for method in METHOD_NAMES:
        assert bp.count_pairs(boxes, boxes[:65_537], method=method) == 70_000 * 65_537, method


def test_counting_1e5_equal_boxes_takes_little_memory():
    script = """
import resource, numpy as np, broadphase as bp
boxes = np.broadcast_to(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], np.float32), (100_000, 2, 3)).copy()
bp.count_pairs(boxes[:1000])
for method in METHODS:
    for workers in (1, 2) if method == "auto" else (2,):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert bp.count_pairs(boxes, method=method, workers=workers) == 4_999_950_000
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    for growth in run_script(script.replace("METHODS", repr(METHOD_NAMES))).split():
        assert int(growth) < 50_000, f"{growth} KiB"
