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


# At 65 537 boxes n leaves 16 bits, n**2 / 2 leaves 31 and n**2 leaves 32; at 92 683 n**2 / 2 leaves 32. The soak tests
# have both sides of each.
@pytest.mark.parametrize(("n", "methods"), [(65_537, METHOD_NAMES), (92_683, ["auto"])])
def test_counts_beyond_32_bits_are_exact(n, methods):
    boxes = np.broadcast_to(np.array([[0, 0], [1, 1]], np.float32), (n, 2, 2))
    for method in methods:
        assert bp.count_pairs(boxes, method=method) == n * (n - 1) // 2, method


def test_counts_of_two_sets_beyond_32_bits_are_exact():
    boxes = np.broadcast_to(np.array([[0, 0], [1, 1]], np.float32), (70_000, 2, 2))
    assert bp.count_pairs(boxes, boxes[:65_537]) == 70_000 * 65_537


def test_counting_pairs_of_equal_boxes_takes_little_memory():
    script = """
import resource, numpy as np, broadphase as bp
boxes = np.broadcast_to(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], np.float32), (30_000, 2, 3)).copy()
bp.count_pairs(boxes[:1000])
for method in METHODS:
    for workers in (1, 2) if method == "auto" else (2,):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert bp.count_pairs(boxes, method=method, workers=workers) == 449_985_000
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    for growth in run_script(script.replace("METHODS", repr(METHOD_NAMES))).split():
        assert int(growth) < 50_000, f"{growth} KiB"
