"""Many queries at once, which are sorted and walked in groups: the answers are those of one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import broadphase as bp
from index_cases import CAPABILITIES, CLASSES
from oracles import queries as oracle

COUNT = 520  # more than so few that they are asked one by one


def scene(kind: str, dim: int, dtype: Any, random: np.random.Generator) -> NDArray[Any]:
    """Return boxes that a walk may stumble over."""
    n = 400 if kind == "equal" else 150
    lower = random.random((n, dim))
    size = random.random((n, dim)) * 0.05
    if kind == "points":
        size[:] = 0
    if kind == "equal":
        lower[:], size[:] = 0.25, 0
    if kind == "twice":
        lower[n // 2 :], size[:] = lower[: n // 2], 0
    if kind == "line":
        lower[:, 1:], size[:] = 0.5, 0
    if kind == "lattice":
        lower, size = np.floor(lower * 5), np.zeros_like(size)
    if kind == "one far":
        lower[7] = 1e12
    if kind == "far origin":
        lower = np.float64(lower * 64).astype(np.float32) + np.float64(2.0**22)
    if kind == "infinite":
        lower[::50] = -np.inf
        size[::50] = np.inf
        boxes = np.stack([lower, np.where(np.isinf(lower), 0.3, lower + np.where(np.isinf(size), 0, size))], axis=1)
        boxes[::60] = np.inf
        return boxes.astype(dtype)
    return np.stack([lower, lower + size], axis=1).astype(dtype)


KINDS = ("boxes", "points", "equal", "twice", "line", "lattice", "one far", "far origin", "infinite")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_nearest_of_any_scene_are_those_of_the_oracle(kind: str, dtype: Any) -> None:
    random = np.random.default_rng([len(kind), np.dtype(dtype).itemsize])
    for dim in (1, 2, 3, 4):
        boxes = scene(kind, dim, dtype, random)
        points = asked(boxes, random)
        wanted = int(random.choice([1, 2, 4, 5, 8, 11, 16, 17]))
        limits = np.where(random.random(COUNT) < 0.5, np.inf, random.random(COUNT) * 0.3)
        found = bp.Index(boxes).nearest(points, wanted, limits)
        oracle.assert_same_answers(found, oracle.nearest(boxes, points, wanted, limits), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_balls_in_any_scene_are_those_of_the_oracle(kind: str, dtype: Any) -> None:
    random = np.random.default_rng([len(kind), np.dtype(dtype).itemsize, 1])
    for dim in (1, 2, 3, 4):
        boxes = scene(kind, dim, dtype, random)
        points = asked(boxes, random)
        radii = np.choose(random.integers(0, 4, COUNT), [0.0, 0.05, 1.0, 100.0])
        radii[0], radii[1] = 1e13, 2.0**60
        oracle.assert_same_answers(bp.Index(boxes).query_ball(points, radii), oracle.query_ball(boxes, points, radii))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_rays_through_any_scene_hit_what_the_oracle_says(kind: str, dtype: Any) -> None:
    random = np.random.default_rng([len(kind), np.dtype(dtype).itemsize, 2])
    for dim in (1, 2, 3, 4):
        boxes = scene(kind, dim, dtype, random)[:66]  # a ray is crowded from 65 on
        origins, ways = asked(boxes, random), random.normal(size=(COUNT, dim))
        ways[::5, 0], ways[::7] = 0.0, ways[::7] * 1e-30
        lengths = np.where(random.random(COUNT) < 0.5, np.inf, random.random(COUNT))
        index, rays = bp.Index(boxes), (origins, ways, lengths)
        expected = oracle.raycast(boxes, *rays)
        oracle.assert_same_answers(index.raycast(*rays), expected, kind)
        for workers in (1, 2):
            assert np.array_equal(index.raycast_any(*rays, workers=workers), expected[0] >= 0), kind


@pytest.mark.parametrize("kind", [name for name in CLASSES if "raycast" in CAPABILITIES[name]])
def test_many_rays_hit_any_box_of_their_layer_or_key_as_the_oracle_says(kind: str) -> None:
    random = np.random.default_rng(7)
    for name in ("boxes", "lattice", "one far", "equal"):
        boxes = scene(name, 2, np.float64, random)
        boxes[3] = [-1e9, 1e9]
        origins, ways = asked(boxes, random), random.normal(size=(COUNT, 2))
        bits, wanted = random.integers(1, 4, len(boxes)), random.integers(0, 4, COUNT)
        keys, of_ray = random.integers(0, 3, len(boxes)), random.integers(0, 4, COUNT)
        every = np.full(1, -1)
        layered, keyed = (getattr(bp, kind)(boxes, **given) for given in ({"layer": bits}, {"batch": keys}))
        for lengths in (np.inf, random.random(COUNT)):
            rays = origins, ways, lengths
            expected = oracle.raycast_any(boxes, *rays, layers=(bits, every, every, wanted))
            assert np.array_equal(layered.raycast_any(*rays, mask=wanted), expected)
            found = keyed.raycast_any(*rays, batch=of_ray)
            for key in range(4):
                chosen = of_ray == key
                some = [part if np.ndim(part) == 0 else part[chosen] for part in rays]
                assert np.array_equal(found[chosen], oracle.raycast_any(boxes[keys == key], *some))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_many_rays_at_few_boxes_without_extent_hit_as_the_oracle_says(count: int, dtype: Any) -> None:
    random = np.random.default_rng(count)
    for dim in (1, 2, 3, 4):
        boxes = random.integers(0, 3, (count, 2, dim)).cumsum(axis=1).astype(dtype)
        boxes[::2, 1] = boxes[::2, 0]
        origins, ways = random.integers(-3, 5, (COUNT, dim)), random.integers(-1, 2, (COUNT, dim))
        for lengths in (np.inf, 2.0, 0.0):
            expected = oracle.raycast_any(boxes, origins, ways, lengths)
            assert np.array_equal(bp.Index(boxes).raycast_any(origins, ways, lengths), expected)


def asked(boxes: NDArray[Any], random: np.random.Generator) -> NDArray[np.float64]:
    """Return points near the boxes, on their corners, and some far away."""
    corners = boxes.reshape(-1, boxes.shape[2]).astype(np.float64)
    corners = corners[np.isfinite(corners).all(axis=1)]
    points = corners[random.integers(0, len(corners), COUNT)]
    points[::2] += random.normal(scale=0.05, size=points[::2].shape)
    points[::97] *= 1e6
    points[5] = 1e30
    points[6, 0] = -1e200
    return points


@pytest.mark.parametrize("wanted", [3, 16])
def test_layers_of_many_queries_are_respected(wanted: int) -> None:
    random = np.random.default_rng(4)
    boxes = scene("boxes", 3, np.float64, random)
    points = asked(boxes, random)
    layers = np.uint64(1) << random.integers(0, 3, len(boxes), dtype=np.uint64)
    index = bp.Index(boxes, layer=layers)
    for mask in (1, 3):
        chosen = np.flatnonzero(layers & np.uint64(mask))
        nearest = oracle.nearest(boxes[chosen], points, wanted, np.full(COUNT, np.inf))
        found = index.nearest(points, wanted, mask=mask)
        assert np.array_equal(found.rows, chosen[nearest[0]])
        balls, expected = index.query_ball(points, 0.2, mask=mask), oracle.query_ball(boxes[chosen], points, 0.2)
        assert np.array_equal(balls.rows, chosen[expected[0]])
        joined, plain = index.query(boxes, mask=mask), oracle.query(boxes[chosen], boxes)
        assert np.array_equal(joined.rows, chosen[plain[0]])
        assert np.array_equal(joined.offsets, plain[1])


def test_many_queries_on_two_threads_are_those_on_one() -> None:
    random = np.random.default_rng(5)
    boxes = scene("points", 3, np.float64, random)
    points = asked(boxes, random)
    index = bp.Index(boxes)
    oracle.assert_same_answers(index.nearest(points, 4, workers=2), index.nearest(points, 4))
    oracle.assert_same_answers(index.query_ball(points, 0.1, workers=2), index.query_ball(points, 0.1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_boxes_asked_again_find_what_the_oracle_finds(kind: str, dtype: Any) -> None:
    random = np.random.default_rng([len(kind), np.dtype(dtype).itemsize, 3])
    for dim in (1, 2, 3, 4):
        boxes = scene(kind, dim, dtype, random)
        centers = asked(boxes, random)
        reach = random.choice([0.0, 0.02, 0.3], (COUNT, 1))
        index = bp.Index(boxes)
        for queries in (np.stack([centers - reach, centers + reach], axis=1), boxes):
            expected = oracle.query(boxes, queries)
            for workers in (1, 1, 2):  # from the second time on, the boxes are kept in cells
                oracle.assert_same_answers(index.query(queries, workers=workers), expected, kind)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 600])
def test_many_boxes_that_find_many_at_once_find_what_the_oracle_finds(count: int, dtype: Any) -> None:
    random = np.random.default_rng(count)
    for dim in (1, 2, 3, 4):
        lower = random.random((count, dim))
        lower[:, -1] = 0.5  # a sheet
        boxes = np.stack([lower, lower + 0.05], axis=1).astype(dtype)
        if count > 3:
            boxes[0], boxes[1] = [[-9.0], [9.0]], 1e6  # a huge one and a far one
        for reach in (0.2, 20.0):
            middles = random.random((COUNT, dim))
            queries = np.stack([middles - reach, middles + reach], axis=1).astype(dtype)
            expected = oracle.query(boxes, queries)
            for workers in (1, 2):
                oracle.assert_same_answers(bp.Index(boxes).query(queries, workers=workers), expected)


def test_boxes_changed_between_many_queries_are_found_where_they_are() -> None:
    random = np.random.default_rng(6)

    def some(count: int, dtype: Any) -> NDArray[Any]:
        lower = random.random((count, 2))
        return np.stack([lower, lower + random.random((count, 2)) * 0.1], axis=1).astype(dtype)

    index = bp.Index(some(400, np.float32))
    changes = (
        lambda: index.update(some(400, np.float32)),
        lambda: index.remove(index.rows[::3]),
        lambda: index.insert(some(30, np.float32) + np.float32(0.5)),
        lambda: index.move(index.rows[:2], some(2, np.float32)),
        lambda: index.remove(index.rows),
        lambda: index.insert(some(200, np.float32)),
    )
    for change in changes:
        for queries in (some(300, np.float32), some(300, np.float64)):
            for _ in range(3):
                found, expected = index.query(queries), oracle.query(index.boxes_of(), queries)
                assert np.array_equal(found.rows, index.rows[expected[0]])
                assert np.array_equal(found.offsets, expected[1])
        change()


def test_boxes_asked_again_take_memory_until_they_change() -> None:
    lower = np.random.default_rng(7).random((5000, 2))
    boxes = np.stack([lower, lower + 0.01], axis=1)
    index = bp.Index(boxes)
    index.query(boxes)
    at_first = index.memory_bytes
    index.query(boxes)
    assert index.memory_bytes > at_first + 4 * len(boxes)
    index.move([0], boxes[:1])
    assert index.memory_bytes == at_first


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_boxes_that_suit_no_cells_are_looked_up_in_a_tree_where_answers_are_long(dtype: Any) -> None:
    random = np.random.default_rng(5)
    places = 10.0 ** (6 * random.random((2000, 1)) - 6) * (1 + random.random((2000, 3)))
    boxes, asked = np.stack([places, places * 1.05], axis=1), np.stack([places * 0.7, places * 1.5], axis=1)
    boxes, asked = boxes.astype(dtype), asked.astype(dtype)
    index = bp.Index(boxes)
    found = index.query(asked)
    assert len(found.rows) > 24 * len(asked)
    assert "nodes" in index.stats()
    oracle.assert_same_answers(found, oracle.query(boxes, asked))
    few = bp.Index(boxes)
    few.query(boxes)
    assert "nodes" not in few.stats()
