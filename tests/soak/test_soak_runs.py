"""Full numbers: long runs, many forks, many threads, Ctrl-C at any moment, duplicates by the million."""

import gc
import resource
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import SCENES, make_scene, moving, oracle, simd_level, simd_levels
from cases import METHOD_NAMES, run_script
from seeds import seeds
from test_fork import in_child
from test_interrupt import CALLS, seconds_to_stop

pytestmark = pytest.mark.soak

FAST_METHODS = tuple(name for name in METHOD_NAMES if name != "brute_force")


def resident_bytes():
    if sys.platform == "linux":
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def test_a_million_frames_take_the_memory_of_a_few():
    world = moving("uniform", 500)
    frames = [world.step() for _ in range(100)]
    for frame in frames:
        bp.pairs(frame)
    gc.collect()
    before = resident_bytes()
    for number in range(1_000_000):
        bp.pairs(frames[number % 100])
    assert resident_bytes() - before < 5_000_000


def test_ten_thousand_frames_of_many_workers_take_the_memory_of_a_few():
    frames = [make_scene("uniform", 20_000, seed=seed) for seed in range(4)]
    for number in range(100):
        bp.pairs(frames[number % 4], workers=4)
    before = resident_bytes()
    for number in range(10_000):
        bp.pairs(frames[number % 4], workers=4)
    assert resident_bytes() - before < 20_000_000


def test_results_of_a_hundred_thousand_calls_outlive_their_inputs():
    for turn in seeds(100):
        kept = []
        for seed in range(1000 * turn, 1000 * turn + 1000):
            boxes = make_scene("rects", 30, seed=seed)
            kept.append((seed, bp.pairs(boxes, method=METHOD_NAMES[seed % len(METHOD_NAMES)], sort=True)))
            boxes[:] = 0
        for seed, found in kept:
            assert np.array_equal(found, oracle.pairs(make_scene("rects", 30, seed=seed))), seed


def test_two_hundred_forks_find_the_same_pairs():
    boxes = make_scene("uniform", 30_000)
    expected = bp.pairs(boxes, workers=4, sort=True).tobytes()

    def work():
        return bp.pairs(boxes, workers=4, sort=True).tobytes() == expected

    for _ in seeds(200):
        assert in_child(work) == 0
        assert work()


@pytest.mark.parametrize("method", FAST_METHODS)
def test_twenty_thousand_million_pairs_of_equal_points_are_counted(method):
    n = 200_000
    boxes = np.zeros((n, 2, 3), np.float32)
    assert bp.count_pairs(boxes, method=method, workers=-1) == n * (n - 1) // 2


@pytest.mark.parametrize("method", FAST_METHODS)
def test_a_million_partners_of_one_box_are_found(method):
    n = 1_000_001
    boxes = make_scene("points", n)
    boxes[n // 2] = [[-1] * 3, [2] * 3]
    partners = bp.pairs(boxes, method=method)
    of_the_giant = partners[(partners == n // 2).any(axis=1)]
    assert len(np.unique(of_the_giant.sum(axis=1))) == n - 1


def test_threads_at_the_same_time_find_the_right_pairs():
    scenes = {name: make_scene(name, 150 if scene.quadratic else 3000) for name, scene in SCENES.items()}
    expected = {name: oracle.pairs(boxes).tobytes() for name, boxes in scenes.items()}
    names = list(scenes)

    def ask(number):
        name = names[number % len(names)]
        method = METHOD_NAMES[number // len(names) % len(METHOD_NAMES)]
        return bp.pairs(scenes[name], method=method, workers=1 + number % 3, sort=True).tobytes() == expected[name]

    with ThreadPoolExecutor(16) as pool:
        for seed in seeds(100):
            assert all(pool.map(ask, range(500 * seed, 500 * seed + 500)))


@pytest.mark.parametrize("call", CALLS)
def test_every_long_call_stops_at_ctrl_c_at_any_moment(call):
    for seed in seeds(20):
        workers = 1 + seed % 2
        call_now = call.replace("group=group", f"group=group, workers={workers}")
        if seed % 3 == 2:
            call_now = call_now.replace("boxes,", "boxes, boxes,").replace("group=group", "group=(group, group)")
        calls = f"for method in {METHOD_NAMES}:\n    stop(method, lambda: {call_now}, {workers}, {0.05 + 0.03 * seed})"
        assert max(seconds_to_stop(calls)) < 2


@pytest.mark.parametrize("name", ["uniform", "rects", "clusters", "power", "sticks", "tiles", "points", "two_scales"])
def test_large_sorted_answers_are_byte_identical_on_all_levels_and_workers(name):
    boxes = make_scene(name, 100_000)
    expected = bp.pairs(boxes, sort=True).tobytes()
    for level in simd_levels():
        with simd_level(level):
            for method in FAST_METHODS:
                for workers in range(1, 9):
                    found = bp.pairs(boxes, method=method, workers=workers, sort=True)
                    assert found.tobytes() == expected, (level, method, workers)


def test_counting_a_hundred_thousand_equal_boxes_again_and_again_takes_little_memory():
    script = """
import resource, numpy as np, broadphase as bp
boxes = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]], np.float32), (100_000, 2, 2)).copy()
bp.count_pairs(boxes[:1000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for workers in [1, 2, 3, 4] * 5:
    assert bp.count_pairs(boxes, workers=workers) == 4_999_950_000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    assert int(run_script(script)) < 50_000
