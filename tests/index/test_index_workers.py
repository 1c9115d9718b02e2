"""Indexes made by several threads are those that one makes. Sizes are above those from which threads are used."""

import numpy as np
import pytest

import broadphase as bp
from cases import DTYPES, EACH_INDEX, scene

COUNT = 70_000  # places are parted by threads from 65,536 on
WORKERS = (2, 3, 8)


def boxes_of(name, dtype):
    if name == "planes":  # most numbers are equal
        rng = np.random.default_rng(3)
        lower = rng.integers(0, 3, (COUNT, 3)) * np.array([1, 50, 50])
        lower[::2, 0] = np.arange(0, COUNT, 2) % 1000
        return np.stack([lower, lower + 1], axis=1).astype(dtype)
    return np.asarray(scene(name, COUNT)).astype(dtype)


@EACH_INDEX
@pytest.mark.parametrize("name", ["uniform", "clusters", "sticks", "planes"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_making_an_index_with_any_workers_gives_the_same_index(kind, name, dtype):
    boxes = boxes_of(name, dtype)
    some = boxes[:: COUNT // 600][:600] if name != "planes" else boxes[: 10 * (COUNT // 20) : COUNT // 20]
    expected = kind(boxes)
    found = expected.query(some)
    numbers = {
        key: value for key, value in expected.stats().items() if key.startswith(("nodes", "depth", "cost", "fill"))
    }
    for workers in WORKERS:
        index = kind(boxes, workers=workers)
        again = index.query(some)
        assert np.array_equal(again.rows, found.rows)
        assert np.array_equal(again.offsets, found.offsets)
        assert {key: index.stats()[key] for key in numbers} == numbers
        index.validate()


@pytest.mark.parametrize("quality", ["fast", "balanced", "sah"])
def test_trees_of_each_quality_are_the_same_with_any_workers(quality):
    boxes = boxes_of("uniform", np.float32)
    expected = bp.BVH(boxes, quality=quality)
    for workers in WORKERS:
        index = bp.BVH(boxes, quality=quality, workers=workers)
        assert index.stats()["cost"] == expected.stats()["cost"]
        assert all(np.array_equal(a, b) for a, b in zip(index.outline(), expected.outline(), strict=True))
        index.validate()


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
@pytest.mark.parametrize("bad", [[50_000, 40_000, 66_000], [69_999], [0]])
def test_the_first_bad_box_is_named_with_any_workers(workers, bad):
    boxes = boxes_of("uniform", np.float64)
    boxes[bad, 0, 1] = np.nan
    with pytest.raises(bp.errors.InvalidBoxError, match=f"row {min(bad)}\\b") as raised:
        bp.BVH(boxes, workers=workers)
    assert raised.value.row == min(bad)


@pytest.mark.parametrize("ask", ["query", "query_ball", "query_points"])
def test_answers_to_many_queries_are_the_same_with_any_workers(ask):
    boxes = boxes_of("uniform", np.float32)
    index = bp.BVH(boxes)
    places = boxes.mean(axis=1)
    given = {
        "query": (boxes,),
        "query_ball": (places, float(np.median(boxes[:, 1] - boxes[:, 0]))),
        "query_points": (places,),
    }[ask]
    expected = getattr(index, ask)(*given)
    for workers in WORKERS:
        found = getattr(index, ask)(*given, workers=workers)
        assert np.array_equal(found.rows, expected.rows)
        assert np.array_equal(found.offsets, expected.offsets)
