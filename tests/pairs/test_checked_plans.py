"""Plans that the sample of boxes misleads: given up as soon as boxes are filed, and made again."""

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native
from broadphase.errors import TooManyPairsError
from broadphase.testing import make_scene

N = 40_000
METHODS = ("auto", "grid")


def disguised(n: int = N) -> np.ndarray:
    """Make long sticks along each axis, of which the first sample sees points."""
    rng = np.random.default_rng(0)
    sizes = np.full((n, 3), 1e-4)
    sizes[np.arange(n), rng.integers(0, 3, n)] = 0.5
    sizes[_native.planned_rows(n)] = 0
    centers = rng.random((n, 3))
    return np.stack([centers - sizes / 2, centers + sizes / 2], axis=1)


def shuffled(boxes: np.ndarray) -> np.ndarray:
    return boxes[np.random.default_rng(1).permutation(len(boxes))]


def as_set(pairs: np.ndarray) -> np.ndarray:
    return np.unique(pairs.astype(np.int64) @ np.array([1 << 32, 1]))


def test_rows_of_a_plan_are_different():
    rows = _native.planned_rows(N)
    assert len(set(rows.tolist())) == len(rows) == 512
    assert rows.max() < N


def test_explain_says_that_a_plan_was_given_up():
    found, usual = bp.explain(disguised()), bp.explain(shuffled(disguised()))
    assert usual.plans == 1
    assert found.plans > 1
    assert "given up" in found.reason
    assert "given up" not in usual.reason
    assert "plans" in str(found)
    assert found.method == usual.method
    for name, cost in usual.costs.items():
        assert cost / 3 <= found.costs[name] <= 3 * cost, (name, found.costs, usual.costs)


@pytest.mark.parametrize("method", METHODS)
def test_plan_that_is_given_up_leaves_no_trace_in_any_answer(method):
    boxes = disguised()
    expected = bp.pairs(boxes, method="bvh")
    found = bp.pairs(boxes, method=method)
    assert np.array_equal(as_set(found), as_set(expected))
    assert bp.pairs(boxes, method=method, workers=3).tobytes() == found.tobytes()
    assert bp.count_pairs(boxes, method=method) == len(found)
    assert bp.count_pairs(boxes, method=method, workers=2) == len(found)
    assert np.concatenate(list(bp.iter_pairs(boxes, method=method, chunk=5000))).tobytes() == found.tobytes()
    assert bp.pairs(boxes, method=method, max_pairs=len(found)).tobytes() == found.tobytes()
    with pytest.raises(TooManyPairsError):
        bp.pairs(boxes, method=method, max_pairs=len(found) - 1)
    padded = bp.pairs(boxes, method=method, capacity=len(found) + 1)
    assert int(padded.count) == len(found)
    static = np.arange(N) % 2 == 0
    kept = found[~(static[found[:, 0]] & static[found[:, 1]])]
    assert np.array_equal(as_set(bp.pairs(boxes, method=method, static=static)), as_set(kept))


def test_batches_and_cells_are_planned_again_too():
    boxes = disguised()
    found = as_set(bp.pairs(boxes))
    twice = np.concatenate([boxes, boxes])
    keys = np.repeat([5, 3], N)
    assert np.array_equal(
        as_set(bp.pairs(twice, batch=keys)), np.unique(np.concatenate([found, found + (N << 32) + N]))
    )
    assert np.array_equal(as_set(bp.pairs(boxes, period=[4.0] * 3)), found)


def test_grid_of_a_misleading_sample_has_as_many_cells_as_that_of_shuffled_rows():
    found, usual = (np.prod(bp.explain(boxes).cells) for boxes in (disguised(), shuffled(disguised())))
    assert usual / 3 <= found <= 3 * usual


@pytest.mark.parametrize("name", ["uniform", "clusters", "sticks", "rects", "tiles", "dense_spot"])
@pytest.mark.parametrize("n", [2000, 50_000])
def test_plans_of_ordinary_scenes_hold(name, n):
    found = bp.explain(make_scene(name, n))
    assert "given up" not in found.reason


def test_sample_of_huge_boxes_among_small_ones_is_not_believed():
    n = 400_000
    lower = np.random.default_rng(0).random((n, 2))
    boxes = np.stack([lower, lower + 0.001], axis=1)
    rows = _native.planned_rows(n)
    boxes[rows, 0], boxes[rows, 1] = -1.0, 2.0  # each of them meets all others
    small = np.delete(boxes, rows, axis=0)
    assert bp.explain(boxes).plans > 1
    assert bp.count_pairs(boxes) == bp.count_pairs(small) + len(rows) * len(small) + len(rows) * (len(rows) - 1) // 2
