"""The sweep kept for more questions: every scene, axis, dtype and kind of query against the oracle."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import SCENES, assert_same_pairs, oracle, simd_level, simd_levels
from cases import DIMENSIONS, DTYPES, lattice, scene


def axes_of(dimension):
    """Give every axis by number, both choices by name, and directions across, along and against the axes."""
    slanted = np.linspace(1.0, -0.5, dimension)
    along = np.eye(dimension)[-1]
    return ["auto", "principal", *range(dimension), slanted, -slanted, along, -3e-200 * along, 1e200 * slanted]


def as_pairs(result):
    """Return (query, row) for each row found."""
    rows, offsets = result.rows, result.offsets
    assert rows.dtype == np.int32
    assert offsets.dtype == np.int64
    assert offsets[0] == 0
    assert offsets[-1] == len(rows)
    return np.stack([result.query_rows, rows], axis=1)


def both_orders(pairs):
    return np.concatenate([pairs, pairs[:, ::-1]])


def check_sweep(boxes, other, axis, label):
    sweep = bp.SweepAndPrune(boxes, axis=axis)
    expected = oracle.pairs(boxes)
    assert len(sweep) == len(boxes)
    assert_same_pairs(sweep.pairs(), expected, label)
    result = sweep.query_rows(np.arange(len(boxes)))
    found = as_pairs(result)
    assert_same_pairs(found, both_orders(expected), label)
    assert (np.diff(found[:, 0].astype(np.int64) << 32 | found[:, 1]) > 0).all(), "answers are ascending"
    assert_same_pairs(as_pairs(sweep.query(other)), oracle.pairs(other, boxes), label)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SCENES)
def test_sweep_of_every_scene_along_any_axis_equals_the_oracle(name, dtype):
    n = 100 if SCENES[name].quadratic else 400
    boxes, other = scene(name, n, 1, dtype), scene(name, n // 4, 2, dtype)
    for axis in axes_of(boxes.shape[2]):
        check_sweep(boxes, other, axis, f"{name} n={n} {dtype} axis={axis}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_sweep_of_small_lattices_along_any_axis_equals_the_oracle(dimension, dtype):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        boxes, other = (lattice(rng, int(rng.integers(0, 40)), dimension, dtype) for _ in range(2))
        for axis in axes_of(dimension):
            check_sweep(boxes, other, axis, f"lattice seed={seed} d={dimension} {dtype} axis={axis}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_sweep_of_infinite_and_largest_boxes_along_any_axis_equals_the_oracle(dtype):
    largest = np.finfo(dtype).max
    for seed in range(20):
        rng = np.random.default_rng(seed)
        corners = rng.choice([-np.inf, -largest, -1.0, 0.0, 1.0, largest, np.inf], (30, 2, 2))
        boxes = np.sort(corners, axis=1).astype(dtype)
        for axis in axes_of(2):
            check_sweep(boxes, boxes[:9], axis, f"extremes seed={seed} {dtype} axis={axis}")


@pytest.mark.parametrize("workers", [2, 5, -1])
def test_sweep_with_workers_finds_what_one_finds(workers):
    for name in ("uniform", "rects", "clusters", "line"):
        boxes = scene(name, 20_000)
        sweep = bp.SweepAndPrune(boxes)
        assert sweep.pairs(workers=workers, sort=True).tobytes() == sweep.pairs(sort=True).tobytes()
        one, many = sweep.query_rows(np.arange(20_000)), sweep.query_rows(np.arange(20_000), workers=workers)
        assert one.rows.tobytes() == many.rows.tobytes()
        assert one.offsets.tobytes() == many.offsets.tobytes()
        assert_same_pairs(sweep.pairs(), bp.pairs(boxes))


def test_sweep_on_each_simd_level_equals_the_oracle():
    for level in simd_levels():
        with simd_level(level):
            for dimension in DIMENSIONS:
                boxes = scene("lattice", 300, 1, "float32", dimension)
                check_sweep(boxes, boxes[:50], "auto", level)


def test_rows_may_be_asked_in_any_order_and_more_than_once():
    boxes = scene("rects", 500)
    sweep = bp.SweepAndPrune(boxes)
    expected = both_orders(oracle.pairs(boxes))
    asked = np.random.default_rng(1).integers(0, 500, 900)
    for form in (asked, asked.astype(np.uint8) if asked.max() < 256 else asked.astype(np.int16), asked.tolist()):
        found = sweep.query_rows(form)
        rows, offsets = found.rows, found.offsets
        for number, row in enumerate(asked):
            answer = rows[offsets[number] : offsets[number + 1]]
            assert np.array_equal(answer, np.sort(expected[expected[:, 0] == row, 1]))


def test_no_queries_have_an_empty_result():
    sweep = bp.SweepAndPrune(scene("rects", 50))
    for result in (sweep.query_rows([]), sweep.query(np.empty((0, 2, 2)))):
        assert len(result) == 0
        assert result.rows.shape == (0,)
        assert result.offsets.tolist() == [0]


def test_sweep_of_no_boxes_finds_nothing():
    for dimension in DIMENSIONS:
        empty = bp.SweepAndPrune(np.empty((0, 2, dimension)))
        assert len(empty) == 0
        assert empty.pairs().shape == (0, 2)
        assert empty.void_borders.shape == (0, 2)
        assert [rows.tolist() for rows in empty.query(scene("uniform", 3, 1, "float64", dimension))] == [[], [], []]


def test_sweep_keeps_its_own_copy_of_the_boxes():
    boxes = scene("uniform", 2000).copy()
    sweep = bp.SweepAndPrune(boxes)
    expected = bp.pairs(boxes)
    boxes[:] = np.nan
    del boxes
    gc.collect()
    assert_same_pairs(sweep.pairs(), expected)
    assert_same_pairs(as_pairs(sweep.query_rows(np.arange(2000))), both_orders(expected))


def test_results_outlive_the_sweep():
    sweep = bp.SweepAndPrune(scene("uniform", 2000))
    found, result, borders = sweep.pairs(), sweep.query_rows(np.arange(2000)), sweep.void_borders
    rows, offsets = result.rows, result.offsets
    copies = [found.copy(), rows.copy(), offsets.copy(), borders.copy()]
    del sweep
    gc.collect()
    clutter = [np.full(5000, -1, np.int32) for _ in range(20)]
    for kept, copy in zip((found, rows, offsets, borders), copies, strict=True):
        assert np.array_equal(kept, copy)
    assert len(clutter) == 20


def test_questions_from_many_threads_are_answered_right():
    boxes = scene("clusters", 3000)
    sweep = bp.SweepAndPrune(boxes)
    pairs, every = sweep.pairs(sort=True), sweep.query_rows(np.arange(3000))

    def ask(number):
        if number % 3 == 0:
            return np.array_equal(sweep.pairs(sort=True), pairs)
        asked = np.arange(number, 3000, 7)
        found = sweep.query_rows(asked)
        return all(np.array_equal(rows, every[row]) for rows, row in zip(found, asked, strict=True))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(60)))


@pytest.mark.parametrize("name", ["rects", "uniform_1d", "line", "mixed_1d", "points", "two_scales", "lattice_1d"])
def test_void_borders_are_the_gaps_of_the_union_of_the_intervals(name):
    boxes = scene(name, 300, 1, "float64")
    for axis in range(boxes.shape[2]):
        intervals = boxes[np.argsort(boxes[:, 0, axis]), :, axis]
        reach = np.maximum.accumulate(intervals[:, 1])
        gaps = np.stack([reach[:-1], intervals[1:, 0]], axis=1)
        expected = gaps[gaps[:, 0] < gaps[:, 1]]
        assert np.array_equal(bp.SweepAndPrune(boxes, axis=axis).void_borders, expected)


def test_auto_takes_the_axis_along_which_fewest_boxes_meet():
    for axis in range(3):
        centers = np.zeros((500, 3))
        centers[:, axis] = np.linspace(0, 100, 500)
        assert bp.SweepAndPrune(bp.boxes.from_centers(centers, 0.5)).axis == axis


@pytest.mark.parametrize(
    "axis", ["x", "best", None, -1, 3, 1.5, (1.0,), (1.0, np.nan, 0.0), (0.0, 0.0, 0.0), (np.inf, 0, 0)]
)
def test_axes_that_cannot_be_are_refused(axis):
    with pytest.raises((ValueError, TypeError)):
        bp.SweepAndPrune(scene("uniform", 10), axis=axis)


@pytest.mark.parametrize("rows", [[10], [-1], [0, 2**40], [[0, 1]], [0.5], ["a"], 2**70])
def test_rows_that_cannot_be_are_refused(rows):
    with pytest.raises((bp.errors.UnknownRowError, TypeError)):
        bp.SweepAndPrune(scene("uniform", 10)).query_rows(rows)
