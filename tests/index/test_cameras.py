"""Matrices of cameras: where points come to lie in the picture."""

import numpy as np
import pytest

import broadphase as bp


def seen(matrix, point):
    clip = matrix @ [*point, 1]
    return clip[:-1] / clip[-1]


def test_perspective_maps_the_corners_of_its_view_to_those_of_the_picture():
    matrix = bp.cameras.perspective(np.pi / 2, 2, 1, 10)
    np.testing.assert_allclose(seen(matrix, [2, 1, -1]), [1, 1, -1])
    np.testing.assert_allclose(seen(matrix, [-20, 10, -10]), [-1, 1, 1])


def test_perspective_without_a_far_plane_is_the_limit():
    endless, long = bp.cameras.perspective(1, 1, 0.5), bp.cameras.perspective(1, 1, 0.5, 1e12)
    np.testing.assert_allclose(endless, long, atol=1e-11)


def test_orthographic_maps_its_box_to_the_picture():
    matrix = bp.cameras.orthographic(-1, 3, 5, 6, -2, 8)
    np.testing.assert_allclose(seen(matrix, [-1, 5, 2]), [-1, -1, -1])
    np.testing.assert_allclose(seen(matrix, [3, 6, -8]), [1, 1, 1])


def test_look_at_puts_the_target_in_the_middle_and_up_upwards():
    rng = np.random.default_rng(1)
    for _ in range(20):
        eye, target, up = rng.normal(size=(3, 3))
        matrix = bp.cameras.look_at(eye, target, up)
        np.testing.assert_allclose(seen(matrix, eye), 0, atol=1e-12)
        np.testing.assert_allclose(seen(matrix, target), [0, 0, -np.linalg.norm(target - eye)], atol=1e-12)
        above = seen(matrix, target + 0.1 * up)
        assert above[1] > 0
        assert abs(above[0]) < 1e-12
        np.testing.assert_allclose(matrix[:3, :3] @ matrix[:3, :3].T, np.eye(3), atol=1e-12)


def test_selection_fills_the_picture_with_its_rectangle():
    rng = np.random.default_rng(2)
    whole = bp.cameras.perspective(1, 1.5, 0.1, 50) @ bp.cameras.look_at([3, 4, 5], [0, 0, 0])
    for _ in range(20):
        rectangle = rng.uniform(-1, 1, 4)
        part = bp.cameras.selection_matrix(whole, rectangle)
        low, high = np.sort(rectangle.reshape(2, 2), axis=0)
        for point in rng.normal(size=(10, 3)):
            x, y, z = seen(whole, point)
            expected = [*((np.array([x, y]) - low) / (high - low) * 2 - 1), z]
            np.testing.assert_allclose(seen(part, point), expected, rtol=1e-6, atol=1e-9)


def test_selection_in_pixels_counts_from_the_upper_left():
    whole = np.eye(4)
    expected = bp.cameras.selection_matrix(whole, [-1, 0.5, 0, 1])
    assert np.array_equal(bp.cameras.selection_matrix(whole, [0, 0, 50, 20], [100, 80]), expected)
    assert np.array_equal(bp.cameras.selection_matrix(whole, [60, 25, 10, 5], [10, 5, 100, 80]), expected)


def test_selection_of_the_whole_picture_changes_nothing():
    for whole in (bp.cameras.perspective(1, 1.5, 0.1, 50), np.eye(3)):
        assert np.array_equal(bp.cameras.selection_matrix(whole, [-1, -1, 1, 1]), whole)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (bp.cameras.perspective, (0, 1, 1, 2), "0 < fov < pi"),
        (bp.cameras.perspective, (1, 1, 2, 2), "near < far"),
        (bp.cameras.perspective, (1, np.nan, 1, 2), "aspect > 0"),
        (bp.cameras.perspective, (1, 1, np.inf, np.inf), "near < far"),
        (bp.cameras.orthographic, (0, 0, 0, 1, 0, 1), "must be finite and differ"),
        (bp.cameras.orthographic, (0, np.inf, 0, 1, 0, 1), "must be finite and differ"),
        (bp.cameras.look_at, ([0, 0, 0], [0, 0, 0]), "eye equals target"),
        (bp.cameras.look_at, ([0, 0, 0], [0, 1, 0]), "along the line of sight"),
        (bp.cameras.look_at, ([0, 0], [0, 1, 0]), r"eye must have shape \(3,\), not \(2,\)"),
        (bp.cameras.look_at, ([0, 0, np.nan], [0, 1, 0]), "eye must be finite"),
        (bp.cameras.selection_matrix, (np.eye(4), [0, 0, 0, 1]), "no area"),
        (bp.cameras.selection_matrix, (np.eye(4), [0, 0, 1]), "rectangle must have shape"),
        (bp.cameras.selection_matrix, (np.eye(4), [0, 0, 1, 1], [640, 0]), "viewport of 640.0 by 0.0 pixels"),
        (bp.cameras.selection_matrix, (np.eye(2), [0, 0, 1, 1]), "matrix must have shape"),
    ],
)
def test_numbers_out_of_range_are_refused(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(*arguments)
