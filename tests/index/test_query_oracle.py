"""The plain answers to questions, by cases worked out by hand and by loops in plain Python."""

import math
from itertools import pairwise

import numpy as np
import pytest

from cases import lattice
from oracles import queries as query_oracle
from oracles.queries import assert_same_answers

INF = np.inf
# Along a line: one box apart from two that touch, one of no size, and one that reaches to infinity.
LINE = np.array([[[0.0], [1.0]], [[3.0], [4.0]], [[4.0], [6.0]], [[5.0], [5.0]], [[8.0], [INF]]])
SQUARES = np.array([[[0.0, 0.0], [2.0, 2.0]], [[4.0, 0.0], [6.0, 2.0]], [[4.0, 4.0], [6.0, 6.0]]])


def answers(found):
    rows, offsets, *_ = found
    return [rows[begin:end].tolist() for begin, end in pairwise(offsets)]


def test_query_takes_boxes_that_touch():
    asked = [[[1.0], [3.0]], [[1.5], [2.5]], [[5.0], [5.0]], [[-INF], [INF]]]
    assert answers(query_oracle.query(LINE, asked)) == [[0, 1], [], [2, 3], [0, 1, 2, 3, 4]]


def test_query_compares_float32_with_float64_as_numbers():
    boxes = np.array([[[0.0], [0.1]]], np.float32)
    above = np.float64(np.float32(0.1))
    asked = [[[above], [1.0]], [[np.nextafter(above, 1)], [1.0]]]
    assert answers(query_oracle.query(boxes, asked)) == [[0], []]


def test_points_on_the_border_are_in():
    assert answers(query_oracle.query_points(LINE, [[4.0], [5.0], [7.0], [1e300]])) == [[1, 2], [2, 3], [], [4]]


def test_ball_takes_boxes_at_its_radius():
    found = query_oracle.query_ball(SQUARES, [[3.0, 3.0], [3.0, 3.0], [1.0, 1.0], [3.0, 1.0]], [1.0, 1.5, 0.0, 1.0])
    assert answers(found) == [[], [0, 1, 2], [0], [0, 1]]


def test_nearest_takes_the_lower_row_of_two_at_one_distance():
    index, distance = query_oracle.nearest(SQUARES, [[3.0, 1.0], [5.0, 3.0], [9.0, 6.0]], k=2)
    assert index.tolist() == [[0, 1], [1, 2], [2, 1]]
    assert distance.tolist() == [[1.0, 1.0], [1.0, 1.0], [3.0, 5.0]]


def test_nearest_fills_up_with_minus_one():
    index, distance = query_oracle.nearest(SQUARES, [[3.0, 1.0], [99.0, 9.0]], k=4, max_distance=[1.0, 90.0])
    assert index.tolist() == [[0, 1, -1, -1], [-1, -1, -1, -1]]
    assert distance.tolist() == [[1.0, 1.0, INF, INF], [INF] * 4]
    assert query_oracle.nearest(np.empty((0, 2, 2)), [[0.0, 0.0]])[0].tolist() == [[-1]]


def test_nearest_to_a_point_inside_is_at_zero():
    index, distance = query_oracle.nearest(LINE, [[5.0], [1e9]], k=2)
    assert index.tolist() == [[2, 3], [4, 2]]
    assert distance.tolist() == [[0.0, 0.0], [0.0, 1e9 - 6]]


def test_nothing_is_near_what_lies_at_infinity():
    boxes = np.array([[[INF, 0.0], [INF, 9.0]], [[3.0, 0.0], [INF, 1.0]]])
    assert answers(query_oracle.query_ball(boxes, [[0.0, 0.0]], 1e300)) == [[1]]
    index, distance = query_oracle.nearest(boxes, [[0.0, 0.0]], k=2)
    assert (index.tolist(), distance.tolist()) == ([[1, -1]], [[3.0, INF]])


@pytest.mark.parametrize("exponent", [-1060, -1000, -500, 500, 1000, 1019])
def test_distances_of_any_scale_are_those_of_one_scaled(exponent):
    rng = np.random.default_rng(3)
    boxes, points = lattice(rng, 30, 3, "float64"), rng.integers(-9, 10, (20, 3)) / 2
    scaled = np.ldexp(boxes, exponent), np.ldexp(points, exponent)
    assert_same_answers(
        query_oracle.query_ball(*scaled, np.ldexp(1.5, exponent)), query_oracle.query_ball(boxes, points, 1.5)
    )
    index, distance = query_oracle.nearest(boxes, points, k=4, max_distance=5.0)
    expected = index, np.ldexp(distance, exponent)
    assert_same_answers(query_oracle.nearest(*scaled, k=4, max_distance=np.ldexp(5.0, exponent)), expected)


def test_ray_distance_does_not_depend_on_the_length_of_the_direction():
    for length in (1.0, 0.1, 3.0, 1e-300, 1e300):
        index, distance = query_oracle.raycast(SQUARES, [[1.0, 8.0], [-3.0, 1.0]], [[0.0, -length], [length, 0.0]])
        assert index.tolist() == [0, 0]
        np.testing.assert_allclose(distance, [6.0, 3.0], rtol=1e-15)
    assert query_oracle.raycast(SQUARES, [[7.0, 7.0]], [[-4.0, -4.0]])[1].tolist() == [math.sqrt(2)]


def test_rays_meet_boxes_in_order():
    rows, offsets, distance = query_oracle.raycast_all(LINE, [[7.0], [3.5], [-1.0]], [[-2.0], [1.0], [1.0]], 6.0)
    assert offsets.tolist() == [0, 4, 8, 12]
    assert rows.tolist() == [2, 3, 1, 0, 1, 2, 3, 4, 0, 1, 2, 3]
    assert distance.tolist() == [1.0, 2.0, 3.0, 6.0, 0.0, 0.5, 1.5, 4.5, 1.0, 4.0, 5.0, 6.0]


def test_rays_along_a_face_meet_the_box():
    origins, directions = [[-1.0, 2.0], [-1.0, 2.5], [0.0, 3.0]], [[1.0, 0.0], [1.0, 0.0], [0.0, -1.0]]
    assert query_oracle.raycast(SQUARES, origins, directions)[0].tolist() == [0, -1, 0]
    assert query_oracle.raycast_any(SQUARES, origins, directions).tolist() == [True, False, True]


def test_rays_through_a_corner_meet_the_box_and_near_misses_do_not():
    index, distance = query_oracle.raycast(SQUARES[:1], [[3.0, 1.0], [3.0, 1.0]], [[-1.0, 1.0], [-1.0, 1.0001]])
    assert index.tolist() == [0, -1]
    assert distance.tolist() == [math.sqrt(2), INF]


def test_rays_stop_at_their_greatest_distance():
    found = query_oracle.raycast(SQUARES, [[-3.0, 1.0]] * 3, [[5.0, 0.0]] * 3, [3.0, 2.999, 0.0])
    assert found[0].tolist() == [0, -1, -1]


def test_a_ray_without_direction_is_a_point():
    index, distance = query_oracle.raycast(SQUARES, [[1.0, 1.0], [3.0, 1.0]], [[0.0, 0.0]] * 2)
    assert index.tolist() == [0, -1]
    assert distance.tolist() == [0.0, INF]


def test_no_ray_reaches_infinity_but_boxes_that_reach_there_are_met():
    boxes = np.array([[[INF], [INF]], [[-INF], [-INF]], [[-INF], [3.0]]])
    index, distance = query_oracle.raycast(boxes, [[4.0], [4.0], [0.0]], [[1.0], [-1.0], [1.0]])
    assert index.tolist() == [-1, 2, 2]
    assert distance.tolist() == [INF, 1.0, 0.0]


def test_a_moving_box_touches_at_a_part_of_its_motion():
    asked = [[[-3.0, 0.0], [-2.0, 1.0]]] * 4
    index, time = query_oracle.shapecast(SQUARES, asked, [[4.0, 0.0], [2.0, 0.0], [1.9, 0.0], [-4.0, 0.0]])
    assert index.tolist() == [0, 0, -1, -1]
    assert time.tolist() == [0.5, 1.0, INF, INF]


def test_a_moving_box_does_not_tunnel_and_takes_the_lowest_row():
    index, time = query_oracle.shapecast(SQUARES, [[[7.0, -9.0], [8.0, 99.0]]], [[-1000.0, 0.0]])
    assert (index.tolist(), time.tolist()) == ([1], [0.001])


def test_a_box_that_overlaps_at_the_start_touches_at_zero():
    index, time = query_oracle.shapecast(SQUARES, [[[2.0, 1.0], [3.0, 1.0]]] * 2, [[0.0, 0.0], [1.0, 1.0]])
    assert (index.tolist(), time.tolist()) == ([0, 0], [0.0, 0.0])


def test_boxes_at_one_infinity_touch_whatever_the_motion():
    boxes = np.array([[[INF, 0.0], [INF, 1.0]]])
    asked = [[[5.0, 0.0], [INF, 1.0]], [[5.0, 2.0], [INF, 3.0]], [[5.0, 0.0], [6.0, 1.0]]]
    index, time = query_oracle.shapecast(boxes, asked, [[-1.0, 0.0], [-1.0, -4.0], [9.0, 0.0]])
    assert index.tolist() == [0, 0, -1]
    assert time.tolist() == [0.0, 0.25, INF]


def test_slabs_separate_by_their_projection():
    # A square on its corner around (3, 3), of half diagonal 1.5, as two slabs and the box around it.
    axes, most = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([7.5, 1.5])
    regions = ([0, 2], axes, np.array([4.5, -1.5]), most, [[1.5, 1.5]], [[4.5, 4.5]])
    assert answers(query_oracle.convex(SQUARES, regions)) == [[]]
    boxes = np.concatenate([SQUARES, [[[2.25, 0.0], [9.0, 2.25]], [[2.5, 2.5], [2.5, 2.5]]]])
    assert answers(query_oracle.convex(boxes, regions)) == [[3, 4]]


def test_slabs_do_not_separate_what_reaches_to_both_infinities():
    regions = ([0, 1], [[1.0, 1.0]], [5.0], [6.0], [[-INF, -INF]], [[INF, INF]])
    boxes = [[-INF, -INF, INF, INF], [INF, -INF, INF, -INF], [0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.5, 2.5]]
    assert answers(query_oracle.convex(boxes, regions)) == [[0, 1, 3]]


def test_layers_pass_both_ways_or_not_at_all():
    boxes = np.zeros((4, 2, 2))
    layers = ([1, 2, 3, 1], [1, 1, 2, 2], [1, 2], [3, 1])
    assert answers(query_oracle.query_points(boxes, [[0.0, 0.0]] * 2, layers=layers)) == [[0, 1], [2, 3]]
    index, _ = query_oracle.nearest(boxes, [[0.0, 0.0]] * 2, layers=layers)
    assert index.tolist() == [[0], [2]]
    assert query_oracle.raycast(boxes, [[0, 0]] * 2, [[1, 0]] * 2, layers=layers)[0].tolist() == [0, 2]
    assert query_oracle.shapecast(boxes, [[0, 0, 0, 0]] * 2, [[1, 0]] * 2, layers=layers)[0].tolist() == [0, 2]


def test_rows_are_numbered_as_given():
    rows = [3, 7, 8]
    assert answers(query_oracle.query_points(SQUARES, [[4, 4], [1, 1]], rows=rows)) == [[8], [3]]
    assert query_oracle.nearest(SQUARES, [[5.0, 3.0]], k=2, rows=rows)[0].tolist() == [[7, 8]]
    assert query_oracle.raycast_all(SQUARES, [[7, 7]], [[-1, -1]], rows=rows)[0].tolist() == [8, 3]


def gap(box, point):
    return max((max(a - x, x - b, 0) for a, b, x in zip(box[0], box[1], point, strict=True)), default=0)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_the_first_touch_is_the_first_time_at_which_the_boxes_overlap(dimension):
    # Compared with overlap itself: never before that time, on a fine division of the motion, and then.
    steps = np.arange(0, 2, 1 / 64)[:, None, None]
    for seed in range(8):
        rng = np.random.default_rng([dimension, seed])
        boxes, asked = (lattice(rng, count, dimension, "float64") for count in (20, 10))
        motion = rng.choice([0.0, 4.0, -8.0, 16.0, -16.0], (10, dimension))
        lower, upper = query_oracle.as_float64(boxes)
        times = query_oracle.touch_times(lower, upper, asked[:, 0], asked[:, 1], motion)
        for j, (low, high) in enumerate(asked):
            there = (low + steps * motion[j] <= upper) & (lower <= high + steps * motion[j])
            first = np.where(there.all(axis=2), steps[:, :, 0], np.inf).min(axis=0)
            assert np.array_equal(first, times[j]), (seed, j)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_balls_and_neighbours_agree_with_loops(dimension):
    for seed in range(20):
        rng = np.random.default_rng([dimension, seed])
        boxes, points = lattice(rng, 25, dimension, "float32"), rng.integers(-9, 10, (10, dimension)) / 2
        away = [
            [math.sqrt(sum(gap(b[:, [k]], p[[k]]) ** 2 for k in range(dimension))) for b in boxes.astype(float)]
            for p in points
        ]
        radius = rng.integers(0, 4, 10) * 0.5
        expected = [[row for row, d in enumerate(line) if d <= r] for line, r in zip(away, radius, strict=True)]
        assert answers(query_oracle.query_ball(boxes, points, radius)) == expected
        index, distance = query_oracle.nearest(boxes, points, k=5)
        expected = [sorted((d, row) for row, d in enumerate(line))[:5] for line in away]
        assert [
            list(zip(*pair, strict=True)) for pair in zip(distance.tolist(), index.tolist(), strict=True)
        ] == expected


def test_answers_that_differ_are_named():
    rows, offsets = np.array([4, 5, 6]), np.array([0, 1, 1, 3])
    assert_same_answers((rows, offsets), (rows, offsets))
    with pytest.raises(AssertionError, match=r"a scene: query 2: \[5, 6\] where \[5, 7\] was expected; 1 of 3"):
        assert_same_answers((rows, offsets), (np.array([4, 5, 7]), offsets), "a scene")
    with pytest.raises(AssertionError, match=r"query 0: \[\] where \[4\] was expected; 2 of 3"):
        assert_same_answers((rows, np.array([0, 0, 1, 3])), (rows, offsets))
    with pytest.raises(AssertionError, match="results of 2 queries where 3 were expected"):
        assert_same_answers((rows, np.array([0, 1, 3])), (rows, offsets))
    with pytest.raises(AssertionError, match="do not divide"):
        assert_same_answers((rows, np.array([0, 1, 1, 2])), (rows, offsets))
    with pytest.raises(AssertionError, match=r"query 1: 7 at 0.25 where 7 at 0.5 was"):
        assert_same_answers((np.array([1, 7]), np.array([1.0, 0.25])), (np.array([1, 7]), np.array([1.0, 0.5])))
    with pytest.raises(AssertionError, match="query 1: True where False was"):
        assert_same_answers(np.array([True, True]), np.array([True, False]))
    distances = np.array([1.0, 2.0, 3.0])
    assert_same_answers((rows, offsets, distances), (rows, offsets, distances))
    with pytest.raises(AssertionError, match=r"query 2: \[5, 6\] at \[2.0, 2.0\] where \[5, 6\] at \[2.0, 3.0\]"):
        assert_same_answers((rows, offsets, np.array([1.0, 2.0, 2.0])), (rows, offsets, distances))
