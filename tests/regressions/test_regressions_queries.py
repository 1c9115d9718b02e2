"""Defects of queries that were found once: each test failed before its defect was mended."""

from fractions import Fraction

import numpy as np
import pytest

from cases import each_index_with


@each_index_with("nearest")
def test_box_that_is_far_for_the_scale_of_the_others_is_measured_where_it_is(kind):
    # In local coordinates, which are near 1 for the others, its corners are beyond the largest float.
    most = float(np.finfo(np.float32).max)
    near = np.random.default_rng(3).integers(-4, 5, (60, 2, 2))
    boxes = np.sort(near, axis=1).astype(np.float32) * np.float32(2.0**-26)
    boxes[0] = [[-most, -most], [-most / 2, -most / 2]]
    found = kind(boxes).nearest([[-most, 0]])
    assert (found.rows.tolist(), found.distances.tolist()) == ([[0]], [[most / 2]])


@each_index_with("query")
@pytest.mark.parametrize("far", [-1e308, np.finfo(float).min])
def test_box_across_more_than_the_range_of_floats_is_found(kind, far):
    # In doubles, its distance from the middle of the others is infinite.
    boxes = np.repeat(1.4e308 + 1e306 * np.random.default_rng(4).random((60, 1, 2)), 2, axis=1)
    boxes[7] = far
    assert kind(boxes).query(boxes[7:8]).rows.tolist() == [7]


@each_index_with("raycast")
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("beside", [1e-17, 1e-30])
def test_ray_along_an_axis_is_not_stopped_by_a_box_right_beside_it(kind, sign, beside):
    # Where many rays take turns: of the first box they met, the distance was said to be 10^21 at most.
    far, near = [[-1, -1e31], [1, -1e30]], [[beside, -1e33], [1, -1]]
    boxes = np.array([far, near, *([[i, 0], [i + 1, 1]] for i in range(10, 80))], np.float32)
    boxes = np.sort(boxes * sign, axis=1)
    found = kind(boxes).raycast(np.zeros((1000, 2)), [0, -1] * np.full((1000, 1), sign))
    assert set(found.rows.tolist()) == {0}
    np.testing.assert_allclose(found.distances, 1e30)


@each_index_with("query")
@pytest.mark.parametrize("far", [5e307, 1e308, 1.79e308])
@pytest.mark.parametrize("normal", [(-1, -1, -1), (-1, -1, 1), (-1, 0, 1), (1, 2, 1)])
def test_region_at_the_largest_doubles_holds_what_fractions_say(kind, far, normal):
    # Sums of such coordinates along a direction are beyond all doubles, and so were bounds of what rounding may move.
    points = far * np.stack(np.meshgrid(*[[-1, -0.5, 0, 0.5, 1]] * 3), axis=-1).reshape(-1, 3)
    plane = [*np.array(normal) / 2, 0.7 * far]
    sums = [sum(Fraction(n) * Fraction(x) for n, x in zip(plane, (*point, 1), strict=True)) for point in points]
    expected = [row for row, value in enumerate(sums) if value >= 0]
    assert 20 < len(expected) < len(points)
    found = kind(np.repeat(points[:, None], 2, axis=1)).frustum(planes=np.array([[plane]]))
    assert found.rows.tolist() == expected


@each_index_with("query")
@pytest.mark.parametrize("sine", [0.13, 0.2, 0.24])
def test_oriented_box_within_an_infinite_one_is_answered(kind, sine):
    # The product of an axis of each, which might part them, is 1/8 to 1/4 long: sums along it were taken for ever.
    boxes = np.repeat(np.random.default_rng(5).random((40, 1, 3)), 2, axis=1)
    boxes[7] = [[0, 0, 0], [np.inf, np.inf, np.inf]]
    cosine = np.sqrt(1 - sine**2)
    about_z = np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]])
    about_y = np.array([[cosine, 0, -sine], [0, 1, 0], [sine, 0, cosine]])
    assert kind(boxes).query_obb([[1e6, 1e6, 1e6]], 1e-3, about_z @ about_y).rows.tolist() == [7]
