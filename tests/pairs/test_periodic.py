"""Pairs across the borders of a periodic world: against every image of every box."""

from itertools import product

import numpy as np
import pytest

from broadphase.filters import PairFilter
from broadphase.testing import oracle
from broadphase.world.boundary import image_pairs
from periodic_worlds import periodic_pairs


def everybody(boxes):
    return np.ones(len(boxes), np.uint8)


def brute_force(boxes, bounds, reach=1):
    """All (first, second, *worlds between) with an overlap, but for those where the boxes are."""
    size = bounds[1] - bounds[0]
    found = set()
    for worlds in product(range(-reach, reach + 1), repeat=boxes.shape[2]):
        if not any(worlds):
            continue
        way = np.array(worlds) * size
        meet = ((boxes[:, None, 0] <= boxes[None, :, 1] + way) & (boxes[None, :, 0] + way <= boxes[:, None, 1])).all(2)
        found |= {(int(i), int(j), *worlds) for i, j in zip(*np.nonzero(meet), strict=True) if i < j}
    return found


def told(answer, bounds):
    rows, offsets = answer
    worlds = offsets / (bounds[1] - bounds[0])
    assert (worlds == np.rint(worlds)).all()
    assert (rows[:, 0] < rows[:, 1]).all()
    table = [(*pair, *map(int, way)) for pair, way in zip(rows.tolist(), worlds.tolist(), strict=True)]
    assert len(set(table)) == len(table)
    return set(table)


def in_order(answer):
    rows, offsets = answer
    order = np.lexsort([*offsets.T[::-1], *rows.T[::-1]])
    return rows[order], offsets[order]


def lattice_scene(rng, dimension, widest):
    """Whole numbers in a small world: touching, at borders and across them, as wide as the world, and outside."""
    size = rng.integers(3, 7, dimension)
    bounds = np.array([low := rng.integers(-3, 3, dimension), low + size]).astype(float)
    n = rng.integers(0, 12)
    lower = bounds[0] + rng.integers(-1, size + 1, (n, dimension))
    width = rng.integers(0, np.maximum(1, (size * widest).astype(int)) + 1, (n, dimension))
    return np.stack([lower, lower + width], axis=1), bounds


def most_pairs_of_lattice_scenes(dimension, widest, seeds):
    """Compare some scenes with all images; gives the largest number of pairs of one."""
    most = 0
    for seed in seeds:
        rng = np.random.default_rng([dimension, int(widest * 10), seed])
        boxes, bounds = lattice_scene(rng, dimension, widest)
        expected = brute_force(boxes, bounds, 2)
        assert told(periodic_pairs(boxes, bounds, everybody(boxes)), bounds) == expected, seed
        most = max(most, len(expected))
    return most


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("widest", [0.3, 0.5, 1.0])
def test_periodic_pairs_lattice_scenes_equal_all_images(dimension, widest):
    assert most_pairs_of_lattice_scenes(dimension, widest, range(300 if dimension == 2 else 60)) > 10


@pytest.mark.parametrize("dimension", [2, 3])
def test_periodic_pairs_random_scenes_equal_all_images(dimension):
    rng = np.random.default_rng(dimension)
    for trial in range(30):
        n = int(rng.integers(1, 120))
        bounds = np.array([low := rng.normal(size=dimension), low + rng.uniform(1, 3, dimension)])
        centers = rng.uniform(bounds[0], bounds[1], (n, dimension))
        half = rng.exponential(0.08, (n, dimension)).clip(max=0.49)
        boxes = np.stack([centers - half, centers + half], axis=1)
        assert told(periodic_pairs(boxes, bounds, everybody(boxes)), bounds) == brute_force(boxes, bounds), trial


@pytest.mark.parametrize("dimension", [2, 3])
def test_periodic_pairs_of_uneven_sizes_and_places_equal_all_images(dimension):
    """A few are far larger than the others, or were given in another world: found with any number of threads."""
    rng = np.random.default_rng([dimension, 7])
    n, bounds = 300 if dimension == 2 else 80, np.array([[-4.0] * dimension, [4.0] * dimension])
    for large, strays in ((0, 0), (3, 0), (0, 12), (5, n // 2)):
        centers = rng.integers(-256, 256, (n, dimension)) / 64
        half = rng.integers(0, 12, (n, dimension)) / 64
        half[:large] = rng.integers(1, 256, (large, dimension)) / 64
        centers[n - strays :] += 8.0 * rng.integers(-1, 2, (strays, dimension))
        order = rng.permutation(n)
        boxes = np.stack([centers - half, centers + half], axis=1)[order]
        expected = brute_force(boxes, bounds, 3)
        for workers in (1, 2):
            found = told(periodic_pairs(boxes, bounds, everybody(boxes), workers=workers), bounds)
            assert found == expected, (large, strays)


def test_periodic_pairs_with_what_overlaps_in_place_are_all_pairs_of_the_torus():
    rng = np.random.default_rng(4)
    bounds = np.array([[0.0, 0.0], [16.0, 16.0]])
    lower = rng.integers(0, 16, (200, 2)).astype(float)
    boxes = np.stack([lower, lower + rng.integers(0, 3, (200, 2))], axis=1)
    found, _ = periodic_pairs(boxes, bounds, everybody(boxes))
    everything = {(i, j) for i, j, *_ in brute_force(boxes, bounds)} | set(map(tuple, oracle.pairs(boxes).tolist()))
    assert set(map(tuple, found.tolist())) | set(map(tuple, oracle.pairs(boxes).tolist())) == everything
    # Moved along as a whole, the world has the same pairs.
    moved = boxes + 5.0
    away = moved[:, :1] >= 16
    moved -= np.where(away, 16.0, 0.0)
    elsewhere, _ = periodic_pairs(moved, bounds, everybody(moved))
    pairs = set(map(tuple, elsewhere.tolist())) | set(map(tuple, oracle.pairs(moved).tolist()))
    assert pairs == everything


def test_periodic_pairs_far_outside_count_by_what_they_are_images_of():
    bounds = np.array([[0.0, 0.0], [10.0, 10.0]])
    boxes = np.array([[[1, 1], [2, 2]], [[101, -998], [102, -997]], [[5, 5], [6, 6]], [[1e300, 0], [1e300, 1]]], float)
    rows, offsets = periodic_pairs(boxes, bounds, np.array([1, 1, 1, 0], np.uint8))
    assert (rows.tolist(), offsets.tolist()) == ([[0, 1]], [[-100.0, 1000.0]])
    periodic_pairs(boxes, bounds, everybody(boxes))  # where it is, nobody knows: it has no image, and is no error


def test_periodic_pairs_named_cases_are_brought_to_the_first():
    bounds = np.array([[0.0, 0.0], [10.0, 10.0]])
    boxes = np.array([[[0, 0], [6, 1]], [[4, 0], [10, 1]], [[9, 9], [11, 11]]], float)
    rows, offsets = in_order(periodic_pairs(boxes, bounds, everybody(boxes)))
    assert rows.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert offsets.tolist() == [[-10, 0], [-10, -10], [0, -10]]


def test_periodic_pairs_as_wide_as_the_world_together_meet_in_several_images():
    bounds = np.array([[0.0, 0.0], [10.0, 10.0]])
    boxes = np.array([[[0, 0], [6, 10]], [[6, 0], [10, 10]]], float)
    rows, offsets = in_order(periodic_pairs(boxes, bounds, everybody(boxes)))
    assert rows.tolist() == [[0, 1]] * 5
    assert offsets.tolist() == [[-10, -10], [-10, 0], [-10, 10], [0, -10], [0, 10]]


def test_periodic_pairs_own_images_are_no_pair():
    bounds = np.array([[0.0, 0.0], [10.0, 10.0]])
    boxes = np.array([[[0.0, 0.0], [10.0, 10.0]]])
    assert len(periodic_pairs(boxes, bounds, everybody(boxes))[0]) == 0


def test_periodic_pairs_wider_than_the_world_is_an_error_with_its_row():
    bounds = np.array([[0.0, 0.0], [10.0, 10.0]])
    boxes = np.array([[[0, 0], [1, 1]], [[0, 0], [1, 10.5]]], float)
    with pytest.raises(ValueError, match="row 1 is wider than the periodic world"):
        periodic_pairs(boxes, bounds, everybody(boxes))
    periodic_pairs(boxes, bounds, np.array([1, 0], np.uint8))


def test_periodic_pairs_dead_rows_are_in_none():
    rng = np.random.default_rng(8)
    bounds = np.array([[0.0, 0.0], [8.0, 8.0]])
    for _ in range(100):
        lower = rng.integers(-1, 9, (20, 2)).astype(float)
        boxes = np.stack([lower, lower + 1], axis=1)
        alive = (rng.random(20) < 0.6).astype(np.uint8)
        expected = {found for found in brute_force(boxes, bounds, 2) if alive[found[0]] and alive[found[1]]}
        boxes[alive == 0] = np.nan
        assert told(periodic_pairs(boxes, bounds, alive), bounds) == expected


def test_periodic_pairs_filters_hold_for_images():
    rng = np.random.default_rng(9)
    n, bounds = 60, np.array([[0.0, 0.0], [8.0, 8.0]])
    lower = rng.integers(0, 8, (n, 2)).astype(float)
    boxes = np.stack([lower, lower + 1], axis=1)
    plain, _ = in_order(periodic_pairs(boxes, bounds, everybody(boxes)))
    filters = {
        "layer": rng.integers(1, 8, n).astype(np.uint64),
        "mask": rng.integers(1, 8, n).astype(np.uint64),
        "group": rng.integers(-2, 3, n),
        "static": rng.random(n) < 0.5,
        "ignore_pairs": plain[::3],
    }
    pair_filter = PairFilter(**filters).native(n)
    rows, _ = in_order(periodic_pairs(boxes, bounds, everybody(boxes), wanted=pair_filter))
    expected = plain[oracle.allowed(*plain.T.astype(np.int64), False, **filters)]
    assert 0 < len(expected) < len(plain)
    assert rows.tolist() == expected.tolist()


@pytest.mark.parametrize("n", [0, 1, 2])
def test_periodic_pairs_few_boxes_in_the_middle_have_none(n):
    boxes = np.full((n, 2, 3), 5.0)
    rows, offsets = periodic_pairs(boxes, np.array([[0.0] * 3, [10.0] * 3]), everybody(boxes))
    assert rows.shape == (0, 2)
    assert rows.dtype == np.int32
    assert offsets.shape == (0, 3)


def test_image_pairs_wider_than_the_world_equal_all_images():
    rng = np.random.default_rng(11)
    for trial in range(120):
        boxes, bounds = lattice_scene(rng, 2, 2.5)
        boxes = boxes[:6]
        found = image_pairs(boxes, bounds, everybody(boxes))
        assert told(found, bounds) == brute_force(boxes, bounds, 5), trial
        assert all(map(np.array_equal, found, in_order(found)))


def test_periodic_pairs_in_batches_are_those_of_each_batch():
    rng = np.random.default_rng(6)
    bounds, n, keys = np.array([[0.0, 0.0], [8.0, 8.0]]), 400, np.array([3, -(2**60), 0, 7])
    centers, half = rng.uniform(0, 8, (n, 2)), rng.uniform(0.1, 0.6, (n, 2))
    centers[:5] += 8.0  # strays
    boxes, batch = np.stack([centers - half, centers + half], axis=1), keys[rng.integers(0, 4, n)]
    expected = {found for found in brute_force(boxes, bounds, 2) if batch[found[0]] == batch[found[1]]}
    found = periodic_pairs(boxes, bounds, everybody(boxes), None, PairFilter(batch=batch).native(n))
    assert told(found, bounds) == expected
    assert len(expected) > 50
