"""Plans do not depend on the order of rows, such as that of a grid, of space, or of copies behind each other."""

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native
from broadphase.testing import make_scene

MOST = 1.5  # × the tests of the same rows shuffled
SHAPES = ((512, 512), (1024, 256), (511, 300), (64, 64, 16), (37, 50, 41))
ORDERS = ("C", "Fortran", "Z", "by x", "by y", "blocks", "snake", "reversed")


def grid(shape: tuple[int, ...], jitter: float = 1.0, seed: int = 0) -> np.ndarray:
    """Make a cube in each cell of a grid, rows in C order; `jitter` 1: anywhere in its cell."""
    corners = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1).reshape(-1, len(shape))
    centers = corners + jitter * np.random.default_rng(seed).random(corners.shape)
    return np.stack([centers - 0.4, centers + 0.4], axis=1)


def in_order(boxes: np.ndarray, order: str) -> np.ndarray:
    cells = np.floor(boxes.mean(axis=1)).astype(np.int64)
    if order == "Z":
        digits = [(cells[:, axis] >> bit) & 1 for bit in range(10, -1, -1) for axis in range(cells.shape[1])]
        return boxes[np.lexsort(digits[::-1])]
    if order == "snake":
        return boxes[np.lexsort([np.where(cells[:, 0] % 2, -cells[:, -1], cells[:, -1]), *cells.T[-2::-1]])]
    return {
        "C": lambda: boxes,
        "Fortran": lambda: boxes[np.lexsort(cells.T)],
        "by x": lambda: boxes[np.argsort(boxes[:, 0, 0], kind="stable")],
        "by y": lambda: boxes[np.argsort(boxes[:, 0, 1], kind="stable")],
        "blocks": lambda: boxes[np.lexsort([*cells.T[::-1], *(cells.T[::-1] // 16)])],
        "reversed": lambda: boxes[::-1],
    }[order]()


def shuffled(boxes: np.ndarray, seed: int = 0) -> np.ndarray:
    return boxes[np.random.default_rng(seed).permutation(len(boxes))]


def grid_tests(boxes: np.ndarray) -> int:
    return int(bp.Grid(boxes).stats()["tests"])


def most_tests_shuffled(boxes: np.ndarray) -> int:
    return max(grid_tests(shuffled(boxes, seed)) for seed in range(3))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_grid_tests_as_many_pairs_in_every_order_of_rows(shape, dtype):
    boxes = grid(shape).astype(dtype)
    most = MOST * most_tests_shuffled(boxes)
    tests = {order: grid_tests(in_order(boxes, order)) for order in ORDERS}
    assert all(found <= most for found in tests.values()), (most, tests)


@pytest.mark.parametrize("shape", SHAPES)
def test_explain_expects_about_the_same_costs_in_every_order_of_rows(shape):
    boxes = grid(shape)
    usual = bp.explain(shuffled(boxes))
    for order in ORDERS:
        found = bp.explain(in_order(boxes, order))
        assert found.method == usual.method, order
        for name, cost in usual.costs.items():
            assert cost / MOST <= found.costs[name] <= MOST * cost, (order, name, found.costs, usual.costs)


@pytest.mark.parametrize("shape", [(512, 512), (64, 64, 16)])
def test_sweep_along_the_same_axes_in_every_order_of_rows(shape):
    boxes = grid(shape)
    usual = max(bp.SweepAndPrune(shuffled(boxes, seed)).stats()["tests"] for seed in range(3))
    for order in ORDERS:
        assert bp.SweepAndPrune(in_order(boxes, order)).stats()["tests"] <= MOST * usual, order


@pytest.mark.parametrize("copies", [2, 3, 8])
@pytest.mark.parametrize("name", ["uniform", "rects", "tiles"])
def test_copies_behind_each_other_are_planned_as_shuffled(name, copies):
    one = make_scene(name, 120_000 // copies, dtype=np.float64)
    boxes = np.concatenate([one + 0.01 * k * np.median(one[:, 1] - one[:, 0]) for k in range(copies)])
    assert bp.explain(boxes).method == bp.explain(shuffled(boxes)).method
    assert grid_tests(boxes) <= MOST * most_tests_shuffled(boxes)


def test_set_and_its_copy_are_planned_as_shuffled():
    one = make_scene("uniform", 60_000, dtype=np.float64)
    usual, found = bp.explain(one, shuffled(one)), bp.explain(one, one)
    assert found.method == usual.method
    for name, cost in usual.costs.items():
        assert cost / MOST <= found.costs[name] <= MOST * cost, (name, found.costs, usual.costs)


def test_sampled_rows_are_the_same_each_time_and_at_no_stride():
    rows = _native.sample_rows(1 << 20, 512)
    assert np.array_equal(rows, _native.sample_rows(1 << 20, 512))
    assert rows[0] >= 0
    assert rows[-1] < 1 << 20
    assert np.all(np.diff(rows) > 0)
    for period in (2, 3, 64, 1000, 1024, 2048, 4096):
        turns = np.exp(2j * np.pi * (rows % period) / period)
        assert abs(turns.mean()) < 0.2, period
    assert np.array_equal(_native.sample_rows(5, 9), np.arange(5))
    assert len(_native.sample_rows(0, 9)) == len(_native.sample_rows(9, 0)) == 0
