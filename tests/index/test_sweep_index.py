"""What the sweep promises while boxes come, go and move."""

import os
import signal
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, make_scene, oracle


def moved(boxes, rng, share):
    """Shift each box by up to a share of its size, along each axis."""
    size = boxes[:, 1] - boxes[:, 0]
    return (boxes + ((2 * rng.random(size.shape) - 1) * share * size)[:, np.newaxis]).astype(boxes.dtype)


def partners(pairs, row):
    return np.sort(np.concatenate([pairs[pairs[:, 0] == row, 1], pairs[pairs[:, 1] == row, 0]]))


def check_against_fresh(sweep):
    sweep.validate()
    boxes = sweep.boxes_of()
    assert_same_pairs(sweep.pairs(), sweep.rows[bp.pairs(boxes)])
    fresh = bp.SweepAndPrune(boxes, axis=sweep.direction if sweep.axis is None else sweep.axis)
    assert np.array_equal(sweep.void_borders, fresh.void_borders)


def test_delimiters_are_sorted_along_one_axis_for_boxes_and_spheres():
    rng = np.random.default_rng(1)
    spheres = bp.boxes.from_spheres(rng.random((300, 3)), 0.05)
    for axis in (0, 1, 2):
        sweep = bp.SweepAndPrune(spheres, axis=axis)
        assert sweep.axis == axis
        sweep.validate()
        assert_same_pairs(sweep.pairs(), oracle.pairs(spheres))


def test_both_ways_to_ask_agree_after_every_change():
    rng = np.random.default_rng(2)
    sweep = bp.SweepAndPrune(make_scene("rects", 400, seed=1))
    for step in range(12):
        if step % 3 == 0:
            sweep.update(moved(sweep.boxes_of(), rng, 0.3))
        elif step % 3 == 1:
            sweep.remove(rng.permutation(sweep.rows)[:30])
        else:
            sweep.insert(make_scene("rects", 30, seed=step))
        pairs = sweep.pairs()
        found = sweep.query_rows(sweep.rows)
        rows, offsets = found.rows, found.offsets
        for k, row in enumerate(sweep.rows):
            assert np.array_equal(rows[offsets[k] : offsets[k + 1]], partners(pairs, row))


def test_one_object_may_be_asked_about_from_many_threads_right_after_a_change():
    rng = np.random.default_rng(3)
    sweep = bp.SweepAndPrune(make_scene("clusters", 2000, seed=1))
    for _ in range(5):
        sweep.update(moved(sweep.boxes_of(), rng, 0.1))
        pairs = bp.pairs(sweep.boxes_of())
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda row: sweep.query_rows([row]).rows, range(0, 2000, 41)))
        for row, answer in zip(range(0, 2000, 41), answers, strict=True):
            assert np.array_equal(answer, partners(pairs, row))


def test_void_borders_follow_the_boxes():
    sweep = bp.SweepAndPrune([[[0.0], [1.0]], [[3.0], [4.0]], [[6.0], [7.0]]])
    assert sweep.void_borders.tolist() == [[1, 3], [4, 6]]
    sweep.move([1], [[[2.0], [6.0]]])
    assert sweep.void_borders.tolist() == [[1, 2]]
    row = sweep.insert([[[0.5], [2.5]]])
    assert sweep.void_borders.shape == (0, 2)
    sweep.remove(row)
    sweep.remove([0])
    assert sweep.void_borders.shape == (0, 2)
    sweep.move([2], [[[9.0], [9.5]]])
    assert sweep.void_borders.tolist() == [[6, 9]]


def test_axis_is_chosen_again_as_the_boxes_cluster():
    rng = np.random.default_rng(4)
    spread = rng.random((3000, 3)) * [100, 1, 1]
    sweep = bp.SweepAndPrune(bp.boxes.from_centers(spread, 0.05))
    sweep.pairs()
    assert sweep.axis == 0
    for share in np.linspace(0, 1, 30):
        centers = spread * [1 - 0.99 * share, 1, 1 + 99 * share]
        sweep.update(bp.boxes.from_centers(centers, 0.05))
        sweep.pairs()
    assert sweep.axis == 2
    assert sweep.stats()["direction_changes"] == 1
    check_against_fresh(sweep)


def test_direction_that_is_no_axis_is_chosen_where_it_leaves_fewer_tests():
    rng = np.random.default_rng(5)
    square, i, j = np.arange(3000) % 4, np.arange(3000) // 4 % 3, np.arange(3000) // 12 % 3
    corners = np.stack([20 * square + i, 10 * square + j * 2 / 3], axis=1) + 0.05 * rng.random((3000, 2))
    boxes = np.stack([corners, corners + 0.01], axis=1)
    sweep = bp.SweepAndPrune(boxes)
    assert sweep.axis is None
    sweep.pairs()
    tests = sweep.stats()["tests"]
    for axis in (0, 1):
        along = bp.SweepAndPrune(boxes, axis=axis)
        assert_same_pairs(along.pairs(), sweep.pairs())
        assert 2 * tests < along.stats()["tests"]


def test_frames_without_new_boxes_take_no_memory_but_for_the_answer():
    rng = np.random.default_rng(6)
    sweep = bp.SweepAndPrune(make_scene("uniform", 5000, seed=1))
    frames = [moved(sweep.boxes_of(), rng, 0.02) for _ in range(4)]
    for k in range(100):
        sweep.update(frames[k % 4])
        sweep.pairs()
    before = sweep.memory_bytes
    tracemalloc.start()
    try:
        for k in range(200):
            sweep.update(frames[k % 4])
            sweep.pairs()
            if k == 50:
                settled = tracemalloc.get_traced_memory()[0]
        assert tracemalloc.get_traced_memory()[0] - settled < 10_000
    finally:
        tracemalloc.stop()
    assert sweep.memory_bytes == before


def test_answers_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(7)
    sweep = bp.SweepAndPrune(make_scene("uniform", 20_000, seed=1))
    for _ in range(3):
        sweep.update(moved(sweep.boxes_of(), rng, 0.02))
        one = sweep.pairs(sort=True)
        for workers in (2, 5):
            assert sweep.pairs(workers=workers, sort=True).tobytes() == one.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_world_has_no_borders_and_sizes_may_differ_as_they_like(dtype):
    rng = np.random.default_rng(8)
    largest = np.finfo(dtype).max
    size = 10.0 ** rng.uniform(-30, 30, (600, 1))
    lower = rng.normal(size=(600, 2)) * 10.0 ** rng.uniform(-30, 30, (600, 1))
    boxes = np.stack([lower, lower + size], axis=1).astype(dtype)
    boxes[:3] = [[[-np.inf, 0], [np.inf, 1]], [[-largest, -largest], [largest, largest]], [[np.inf, 5], [np.inf, 5]]]
    sweep = bp.SweepAndPrune(boxes)
    assert_same_pairs(sweep.pairs(), oracle.pairs(boxes))
    sweep.update(boxes[::-1])
    assert_same_pairs(sweep.pairs(), oracle.pairs(boxes[::-1]))
    sweep.validate()


def test_next_sort_starts_from_the_order_there_is():
    rng = np.random.default_rng(9)
    sweep = bp.SweepAndPrune(make_scene("line", 5000, seed=1))
    for _ in range(10):
        sweep.update(moved(sweep.boxes_of(), rng, 0.01))
        assert sweep.axis == 0  # sorts
    for _ in range(10):
        rows = rng.permutation(5000)[:50].astype(np.int32)
        sweep.move(rows, moved(sweep.boxes_of(rows), rng, 0.5))
        assert sweep.axis == 0  # sorts
    rows = sweep.rows[:40].copy()
    boxes = sweep.boxes_of(rows)
    sweep.remove(rows)
    assert sweep.axis == 0
    sweep.insert(boxes)
    check_against_fresh(sweep)
    stats = sweep.stats()
    assert stats["sorts_full"] == 1
    assert stats["sorts_nearly_sorted"] == 20
    assert stats["sorts_merged"] == 2
    assert stats["moves"] < 20 * 5000


def test_boxes_that_all_jump_are_sorted_anew():
    rng = np.random.default_rng(10)
    sweep = bp.SweepAndPrune(make_scene("uniform", 3000, seed=1), axis=0)
    for seed in range(3):
        sweep.update(make_scene("uniform", 3000, seed=10 + seed))
        check_against_fresh(sweep)
    assert sweep.stats()["sorts_full"] == 4
    sweep.update(moved(sweep.boxes_of(), rng, 0.0))
    check_against_fresh(sweep)


def test_open_boxes_without_an_interior_are_in_no_pair():
    boxes = np.array([[0, 0, 2, 2], [1, 1, 1, 1], [1, 0, 1, 2], [1, 1, 3, 3], [2, 2, 4, 4]], float)
    for axis in (0, 1, (1.0, 0.5)):
        sweep = bp.SweepAndPrune(boxes, axis=axis)
        for _ in range(2):
            assert_same_pairs(sweep.pairs(touching=False), oracle.pairs(boxes, touching=False))
            assert sweep.count_pairs(touching=False) == 2
            assert_same_pairs(sweep.pairs(), oracle.pairs(boxes))
            sweep.update(boxes)


def test_outline_is_what_lies_between_void_borders():
    sweep = bp.SweepAndPrune([[0, 0, 2, 1], [1, 4, 3, 5], [7, 0, 9, 1]], axis=0)
    lower, upper, level = sweep.outline()
    assert lower.tolist() == [[0, 0], [7, 0]]
    assert upper.tolist() == [[3, 5], [9, 1]]
    assert level.tolist() == [0, 0]
    assert sweep.stats()["cells"] == 2


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals to one thread")
@pytest.mark.parametrize("call", ["index", "pairs"])
def test_sorting_millions_of_boxes_stops_at_ctrl_c(call):
    lower = np.random.default_rng(11).random((4_000_000, 2), dtype=np.float32)
    boxes = np.stack([lower, lower], axis=1)
    sent = []

    def interrupt():
        time.sleep(0.3)
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    def sort_again_and_again():
        for _ in range(100):
            if call == "index":
                bp.SweepAndPrune(boxes, axis=0)
            else:
                bp.count_pairs(boxes, method="sweep_and_prune")

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            sort_again_and_again()
        assert time.process_time() - sent[0] < 1  # on a busy machine, too
    finally:
        thread.join()
