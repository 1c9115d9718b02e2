"""Queries and pairs of boxes from 10^3 to the largest float away, and of the smallest: against whole numbers."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.methods import METHODS
from cases import DTYPES
from far_cases import KINDS, check_far, check_pairs
from index_cases import CAPABILITIES, CLASSES

WITH_RAYS = [name for name in CLASSES if {"raycast", "nearest"} <= CAPABILITIES[name]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CLASSES)
def test_queries_of_far_and_minute_boxes_are_those_of_whole_numbers(name, kind):
    for seed in range(2):
        for dimension in (1, 2, 3, 4):
            check_far(name, kind, seed, 7 + 9 * seed, dimension, DTYPES[(seed + dimension) % 2], count=3)


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_of_far_and_minute_boxes_are_those_of_whole_numbers(kind):
    for name in (*CLASSES, *(method.name for method in METHODS)):
        for dimension in (1, 2, 3, 4):
            check_pairs(name, kind, 0, 9, dimension, DTYPES[dimension % 2])


def test_nearest_beside_one_far_box_is_in_order():
    boxes = [[100, 100, 101, 101], [0, 0, 1, 1], [-1e200, -1e200, -5e199, -5e199]]
    for name in WITH_RAYS:
        found = getattr(bp, name)(boxes).nearest([[2.0, 2.0]], k=3)
        assert found.rows.tolist() == [[1, 0, 2]]
        np.testing.assert_allclose(found.distances, [[np.sqrt(2), 98 * np.sqrt(2), 5e199 * np.sqrt(2)]])


def test_rays_that_leave_a_box_farther_than_any_float_miss_what_they_reach_later():
    # Along y the ray has left the box long before it comes near along x; the way out along y is no float.
    boxes = [[-4, -1.7e308, -3, 2]]
    for name in WITH_RAYS:
        index = getattr(bp, name)(boxes)
        for directions in ([-3e203, -1.3e308], [-1e-200, -1e108]):
            assert index.raycast([[1.7e308, 1.3e308]], directions).rows.tolist() == [-1], name
        assert index.shapecast([[1.7e308, 1.3e308, 1.7e308, 1.3e308]], [-1e308, -1.3e308]).rows.tolist() == [-1]


@pytest.mark.parametrize("turned", [1, -1])
def test_rays_from_beyond_all_floats_meet_what_is_there(turned):
    # Beside boxes near 1, where the ray starts and the box it meets are both farther than any float.
    far = np.array([[-2e60, -2e60], [-1e60, -1e60]])
    unit = np.array([[0, 0], [1, 1]])
    boxes = np.stack([*(unit + i for i in range(8)), far])
    boxes = np.sort(boxes * turned, axis=1)
    start, direction = np.array([0, -1.9e60]) * turned, np.array([-1, 0.1]) * turned
    for name in WITH_RAYS:
        index = getattr(bp, name)(boxes)
        assert index.raycast([start], [direction]).rows.tolist() == [8], name
        assert index.raycast_all([start], [direction]).rows.tolist() == [8], name
        assert index.raycast_any([start], [direction]).tolist() == [True], name
        assert index.shapecast([[start, start]], [direction * 2e60]).rows.tolist() == [8], name


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rays_along_an_axis_meet_what_is_there_however_far(dtype):
    unit = np.array([[[i, j], [i + 0.5, j + 0.5]] for i in range(6) for j in range(6)], dtype)
    axis, farthest = np.eye(2), 37 if dtype is np.float32 else 300
    for far in 10.0 ** np.arange(9, farthest):
        for k in (0, 1):
            # One that the rays touch with its border, one that they enter, and one that hides how far those are.
            touched, entered, endless = np.array(
                [[[far, -5], [2 * far, 0]], [[far, -5], [far, 2]], [[-5, 8], [np.inf, 9]]]
            )
            boxes = np.concatenate([unit, np.stack([touched, entered, endless])[:, :, [k, 1 - k]]]).astype(dtype)
            starts, ways = -3 * axis[[k, k]] + np.array([[0.0], [1.75]]) * axis[1 - k], axis[[k, k]]
            met = [row for row in range(36) if boxes[row, 0, 1 - k] == 0] + [36, 37]
            for name in WITH_RAYS:
                index = getattr(bp, name)(boxes)
                assert sorted(index.raycast_all(starts[:1], ways[:1]).rows.tolist()) == met, (name, far)
                assert (
                    index.raycast(np.repeat(starts[1:], 70, 0), np.repeat(ways[1:], 70, 0)).rows.tolist() == [37] * 70
                )
                assert index.raycast_any(starts, ways).all()
                assert index.shapecast([np.repeat(starts[1:], 2, 0)], far * 1.5 * ways[1:]).rows.tolist() == [37]


def test_nearest_of_more_rows_than_there_are_has_k_columns():
    for boxes in (np.zeros((2, 2, 2)), np.zeros((0, 2, 2))):
        index = bp.Index(boxes)
        world = bp.World(dim=2)
        world.add_many(bp.AABB(np.ones(2)), boxes[:, 0])
        for searched in (index, world):
            rows, distances = searched.nearest(np.zeros((3, 2)), k=50)
            assert rows.tolist() == [[*range(len(boxes)), *[-1] * (50 - len(boxes))]] * 3
            assert distances.tolist() == [[*[0.0] * len(boxes), *[np.inf] * (50 - len(boxes))]] * 3
    for k in (0, -1, 1.5, np.inf, np.nan):
        with pytest.raises(ValueError, match=r"k must be (a whole number|from 1 to)"):
            index.nearest([[0, 0]], k=k)
