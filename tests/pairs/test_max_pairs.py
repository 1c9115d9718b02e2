"""A limit on the pairs: all of them or an error, never a part."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import SCENES
from cases import METHOD_NAMES, run_script, scene


@pytest.mark.parametrize("method", METHOD_NAMES)
@pytest.mark.parametrize("name", ["uniform", "rects", "identical", "uniform_1d", "giant"])
def test_one_pair_too_many_is_refused(name, method):
    n = 100 if SCENES[name].quadratic else 2500
    boxes = scene(name, n)
    total = bp.count_pairs(boxes)
    for workers in (1, 2):
        for limit in (total, total + 1, 2**40):
            assert len(bp.pairs(boxes, method=method, workers=workers, max_pairs=limit)) == total
        for limit in (0, 1, total // 2, total - 1):
            with pytest.raises(bp.errors.TooManyPairsError, match=str(limit)):
                bp.pairs(boxes, method=method, workers=workers, max_pairs=limit)


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_limit_on_two_sets_is_kept(method):
    boxes, other = scene("rects", 800, 1), scene("rects", 500, 2)
    total = bp.count_pairs(boxes, other)
    assert len(bp.pairs(boxes, other, method=method, max_pairs=total)) == total
    with pytest.raises(bp.errors.TooManyPairsError):
        bp.pairs(boxes, other, method=method, max_pairs=total - 1)


def test_limit_counts_pairs_that_pass_the_filters_only():
    boxes = scene("identical", 300)
    static = np.ones(300, bool)
    static[:2] = False
    total = bp.count_pairs(boxes, static=static)
    for method in METHOD_NAMES:
        assert len(bp.pairs(boxes, method=method, static=static, max_pairs=total)) == total == 298 * 2 + 1
        with pytest.raises(bp.errors.TooManyPairsError):
            bp.pairs(boxes, method=method, static=static, max_pairs=total - 1)


def test_limit_of_zero_lets_no_pairs_pass():
    apart = np.arange(20.0).reshape(10, 2, 1)
    for method in METHOD_NAMES:
        assert len(bp.pairs(apart, method=method, max_pairs=0)) == 0


def test_limit_stops_before_memory_does():
    script = """
import resource, numpy as np, broadphase as bp
boxes = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]]), (60_000, 2, 2)).copy()
bp.pairs(boxes[:100])
for method in METHODS:
    for workers in (1, 2):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            bp.pairs(boxes, method=method, workers=workers, max_pairs=100_000)
        except bp.errors.TooManyPairsError:
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    growths = run_script(script.replace("METHODS", repr(METHOD_NAMES))).split()
    assert len(growths) == 2 * len(METHOD_NAMES)
    # In KB: 64 bytes a box are 4 MB, and two workers hold 16 bytes for each pair of the limit, 3 MB. All pairs would
    # take 14 GB, and those of the first task of each worker, 4 million, in buffers that grow, 200 MB.
    assert all(int(growth) < 25_000 for growth in growths), growths


@pytest.mark.parametrize("method", METHOD_NAMES)
@pytest.mark.parametrize("passing", [30, 2000])
def test_limit_counts_what_the_filter_lets_pass_however_little_it_is(method, passing):
    boxes = np.concatenate([scene("identical", 2000), scene("identical", 2000) + 100])
    group = np.where(np.arange(4000) % 2000 < passing, 0, -1)  # without the filter, a task passes the limit at once
    total = bp.count_pairs(boxes, group=group)
    for workers in (1, 2):
        options = {"method": method, "group": group, "workers": workers}
        assert len(bp.pairs(boxes, max_pairs=total, **options)) == total
        with pytest.raises(bp.errors.TooManyPairsError):
            bp.pairs(boxes, max_pairs=total - 1, **options)


def test_work_goes_on_after_the_limit():
    boxes = scene("uniform", 5000)
    expected = bp.pairs(boxes, sort=True)
    for _ in range(20):
        with pytest.raises(bp.errors.TooManyPairsError):
            bp.pairs(boxes, max_pairs=10)
        assert np.array_equal(bp.pairs(boxes, sort=True), expected)


@pytest.mark.parametrize("method", METHOD_NAMES)
@pytest.mark.parametrize("room", [0, 1, 3, 4, 5, 100])
def test_capacity_pads_the_pairs_and_tells_their_number(method, room):
    boxes = np.array([[0, 0, 2, 2], [1, 1, 3, 3], [2, 2, 4, 4], [9, 9, 9, 9], [3, 3, 9, 9]])
    expected = [[0, 1], [0, 2], [1, 2], [1, 4], [2, 4], [3, 4]]
    padded, count = bp.pairs(boxes, method=method, sort=True, capacity=room)
    kept = expected[:room]
    assert padded.dtype == np.int32
    assert padded.tolist() == kept + [[-1, -1]] * (room - len(kept))
    assert (count, type(count)) == (len(expected), np.int32)


def test_capacity_and_max_pairs_exclude_each_other():
    with pytest.raises(ValueError, match="give one"):
        bp.pairs([[0, 0, 1, 1]] * 3, capacity=3, max_pairs=3)
    with pytest.raises(ValueError, match="capacity"):
        bp.pairs([[0, 0, 1, 1]] * 3, capacity=-1)
