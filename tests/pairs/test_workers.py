"""Workers: any number of them gives the same answer, and none is left behind."""

import os
import threading

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import SCENES, checksum
from cases import DTYPES, METHOD_NAMES, check_pairs, scene


@pytest.mark.parametrize("workers", [2, 3, 8, -1])
@pytest.mark.parametrize("name", SCENES)
def test_any_number_of_workers_equals_the_oracle(name, workers):
    n = 200 if SCENES[name].quadratic else 1100
    check_pairs(scene(name, n, 6, DTYPES[workers % 2]), label=f"{name} n={n} seed=6", workers=workers)


@pytest.mark.parametrize("name", ["uniform", "rects", "lattice_1d"])
def test_more_workers_than_boxes_equals_the_oracle(name):
    for n in (0, 1, 2, 3, 5, 17, 100):
        check_pairs(scene(name, n), label=f"{name} n={n}", workers=64)
        check_pairs(scene(name, n), scene(name, 7, 1), label=f"{name} {n} x 7", workers=64)


@pytest.mark.parametrize("method", METHOD_NAMES)
@pytest.mark.parametrize("name", ["uniform", "rects", "power", "clusters", "sticks", "giant", "tiles", "two_scales"])
def test_workers_on_large_scenes_find_what_one_finds(name, method):
    boxes = scene(name, 20_000 if method == "brute_force" else 40_000)
    pairs = bp.pairs(boxes, method=method)
    expected = checksum(pairs)
    for workers in (2, 4):
        assert checksum(bp.pairs(boxes, method=method, workers=workers)) == expected
        assert bp.count_pairs(boxes, method=method, workers=workers) == len(pairs)


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_workers_on_two_large_sets_find_what_one_finds(method):
    boxes, other = scene("uniform", 30_000, 1), scene("uniform", 20_000, 2)
    expected = checksum(bp.pairs(boxes, other, method=method))
    for workers in (2, 4):
        assert checksum(bp.pairs(boxes, other, method=method, workers=workers)) == expected


@pytest.mark.parametrize("workers", [np.int64(2), np.int8(1), 2.0, True])
def test_workers_may_be_any_whole_number(workers):
    if workers is True:
        with pytest.raises(TypeError, match="workers"):
            bp.pairs(scene("rects", 100), workers=np.bool_(False))
    else:
        assert np.array_equal(bp.pairs(scene("rects", 100), workers=workers), bp.pairs(scene("rects", 100)))


def test_many_workers_are_accepted():
    assert bp.count_pairs(scene("rects", 5000), workers=10_000) == bp.count_pairs(scene("rects", 5000))


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads can be counted on Linux only")
def test_no_thread_outlives_a_call():
    before = set(os.listdir("/proc/self/task"))
    for method in METHOD_NAMES:
        bp.pairs(scene("uniform", 50_000), method=method, workers=4)
        bp.count_pairs(scene("uniform", 50_000), method=method, workers=4)
        chunks = bp.iter_pairs(scene("uniform", 20_000), method=method, workers=4, chunk=100)
        next(chunks)
        assert set(os.listdir("/proc/self/task")) == before, method
    assert threading.active_count() == 1 or before
