"""Boxes made from other shapes: right, never too small, and no larger than they must be."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

import broadphase as bp
from broadphase.boxes import from_centers, from_parts, from_points, from_segments, from_spheres, from_triangles

DTYPES = [np.float32, np.float64]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_centers_of_representable_corners_give_exact_boxes(dtype, dimension):
    rng = np.random.default_rng(5)
    lower = rng.integers(-1000, 1000, (20_000, dimension)).astype(dtype)
    half = rng.integers(0, 50, (20_000, dimension)).astype(dtype)
    boxes = from_centers(lower + half, half)
    assert boxes.dtype == dtype
    np.testing.assert_array_equal(boxes[:, 0], lower)
    np.testing.assert_array_equal(boxes[:, 1], lower + 2 * half)


def assert_tightest(boxes, centers, half_sizes):
    """No box is smaller than the exact one, and none would hold it still if a corner were one number further in."""
    for box, center, half in zip(boxes, centers, half_sizes, strict=True):
        for axis in range(len(center)):
            exact = Fraction(float(center[axis])) + Fraction(float(half[axis]))
            assert_next_above(box[1, axis], exact)
            exact = Fraction(float(center[axis])) - Fraction(float(half[axis]))
            assert_next_above(-box[0, axis], -exact)


def assert_next_above(corner, exact):
    assert np.isinf(corner) or Fraction(float(corner)) >= exact
    below = np.nextafter(corner, corner.dtype.type(-np.inf))
    assert Fraction(float(below)) < exact


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_centers_in_general_give_the_tightest_boxes_that_hold_them(dtype, scale):
    rng = np.random.default_rng(11)
    centers = (rng.normal(size=(300, 3)) * scale).astype(dtype)
    half = np.abs(rng.normal(size=(300, 3)) * scale * 10.0 ** rng.integers(-9, 9, (300, 3)).clip(-9, 7)).astype(dtype)
    assert_tightest(from_centers(centers, half), centers, half)


@given(
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.floats(min_value=0.0, width=32, allow_nan=False, allow_infinity=False),
)
def test_centers_of_any_float32_give_the_tightest_boxes(center, half):
    centers, half_sizes = np.array([[center]], np.float32), np.array([[half]], np.float32)
    assert_tightest(from_centers(centers, half_sizes), centers, half_sizes)


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(min_value=0.0, allow_nan=False, allow_infinity=False),
)
def test_centers_of_any_float64_give_the_tightest_boxes(center, half):
    centers, half_sizes = np.array([[center]]), np.array([[half]])
    assert_tightest(from_centers(centers, half_sizes), centers, half_sizes)


def test_sizes_on_both_sides_of_a_block_are_all_filled():
    for count in (0, 1, 16_383, 16_384, 16_385, 40_000):
        centers = np.random.default_rng(3).random((count, 2))
        boxes = from_spheres(centers, 0.25)
        assert boxes.shape == (count, 2, 2)
        assert (boxes[:, 0] <= centers - 0.25).all()
        assert (boxes[:, 1] >= centers + 0.25).all()
        assert np.allclose(boxes[:, 1] - boxes[:, 0], 0.5)


def test_half_sizes_of_every_shape_fit():
    centers = np.zeros((4, 3))
    for half in (2, [1, 2, 3], np.full((4, 3), 2.0), np.arange(4.0)[:, None], np.float32(2)):
        boxes = from_centers(centers, half)
        np.testing.assert_array_equal(boxes[:, 1], np.broadcast_to(half, (4, 3)))
        np.testing.assert_array_equal(boxes[:, 0], -np.broadcast_to(half, (4, 3)))


def test_plain_number_beside_float32_keeps_float32_and_is_rounded_up():
    boxes = from_spheres(np.zeros((1, 2), np.float32), 0.1)
    assert boxes.dtype == np.float32
    assert 0.1 <= boxes[0, 1, 0] < 0.1 + 1e-7
    assert from_spheres(np.zeros((1, 2), np.float32), np.array([0.1])).dtype == np.float64
    assert from_spheres(np.zeros((1, 2)), np.float32(0.5)).dtype == np.float64
    assert from_spheres([[0, 0]], 1).dtype == np.float64


def test_radius_beyond_float32_gives_infinite_boxes():
    assert np.isinf(from_spheres(np.zeros((1, 2), np.float32), 1e300)).all()
    assert np.isinf(from_spheres(np.full((1, 2), 3e38, np.float32), np.float32(3e38))[0, 1]).all()


@pytest.mark.parametrize("function", [from_centers, from_spheres])
@pytest.mark.parametrize(
    ("centers", "radii", "message"),
    [
        ([[0, 0], [1, np.nan]], 1, "centers: row 1 has NaN, axis 1"),
        ([[0, 0], [-np.inf, 1]], 1, "centers: row 1 is infinite, axis 0"),
        ([[0, 0], [1, 1]], -1, "has -1|: -1.0, which is not"),
        ([[0, 0], [1, 1]], np.nan, "nan, which is not finite"),
        ([[0, 0], [1, 1]], np.inf, "inf, which is not finite"),
    ],
)
def test_centers_that_are_bad_name_the_row(function, centers, radii, message):
    with pytest.raises(bp.errors.InvalidBoxError, match=message):
        function(centers, radii)


def test_radii_that_are_bad_name_the_row():
    with pytest.raises(bp.errors.InvalidBoxError, match=r"radii: row 2 has -1\.0") as caught:
        from_spheres(np.zeros((4, 2)), [1, 2, -1, np.nan])
    assert caught.value.row == 2
    with pytest.raises(bp.errors.InvalidBoxError, match=r"half_sizes: axis 1 has -1\.0"):
        from_centers(np.zeros((4, 2)), [1, -1])


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (from_centers, ([1, 2], 1)),
        (from_centers, (np.zeros((3, 5)), 1)),
        (from_centers, (np.zeros((3, 2)), np.zeros((4, 2)))),
        (from_centers, (np.zeros((3, 2)), np.zeros((1, 3, 2)))),
        (from_spheres, (np.zeros((3, 2)), np.zeros((3, 1)))),
        (from_spheres, (np.zeros((3, 2)), np.zeros(2))),
        (from_points, (np.zeros((3, 2, 2)),)),
        (from_segments, (np.zeros((3, 2)), np.zeros((4, 2)))),
        (from_triangles, (np.zeros((3, 2)),)),
        (from_triangles, (np.zeros((3, 2)), np.zeros(3, int))),
        (from_parts, (np.zeros((3, 2)), [0, 1])),
    ],
)
def test_wrong_shapes_raise_value_error(function, arguments):
    with pytest.raises(ValueError, match=r"shape|fit"):
        function(*arguments)


@pytest.mark.parametrize("function", [from_points, lambda points: from_segments(points, points), from_triangles])
def test_complex_numbers_raise_type_error(function):
    with pytest.raises(TypeError, match="float32, float64 or integer"):
        function(np.zeros((3, 3), complex))


def test_points_without_radius_are_boxes_of_zero_width():
    points = np.array([[1.5, -np.inf], [np.inf, 2]], np.float32)
    boxes = from_points(points)
    assert boxes.dtype == np.float32
    np.testing.assert_array_equal(boxes[:, 0], points)
    np.testing.assert_array_equal(boxes[:, 1], points)


def test_points_with_nan_name_the_row():
    with pytest.raises(bp.errors.InvalidBoxError, match="points: row 1 has NaN, axis 0"):
        from_points([[0, 0], [np.nan, 0]])


def test_segments_in_any_direction_give_the_same_boxes():
    rng = np.random.default_rng(1)
    starts, ends = rng.random((2, 1000, 3))
    boxes = from_segments(starts, ends)
    np.testing.assert_array_equal(boxes, from_segments(ends, starts))
    np.testing.assert_array_equal(boxes[:, 0], np.minimum(starts, ends))
    np.testing.assert_array_equal(boxes[:, 1], np.maximum(starts, ends))
    capsules = from_segments(starts, ends, 0.5)
    assert (capsules[:, 0] <= boxes[:, 0] - 0.5).all()
    with pytest.raises(bp.errors.InvalidBoxError, match="ends: row 0 has NaN"):
        from_segments([[0.0]], [[np.nan]])


@pytest.mark.parametrize("corner_count", [1, 2, 3, 4])
def test_elements_of_a_mesh_give_the_boxes_of_their_corners(corner_count):
    rng = np.random.default_rng(2)
    vertices = rng.random((100, 3)).astype(np.float32)
    faces = rng.integers(0, 100, (500, corner_count))
    corners = vertices[faces]
    for boxes in (
        from_triangles(vertices, faces),
        from_triangles(corners),
        from_triangles(vertices, faces.astype("u2")),
    ):
        assert boxes.dtype == np.float32
        np.testing.assert_array_equal(boxes[:, 0], corners.min(axis=1))
        np.testing.assert_array_equal(boxes[:, 1], corners.max(axis=1))


def test_triangles_of_nothing_are_no_boxes():
    assert from_triangles(np.zeros((0, 3)), np.zeros((0, 3), int)).shape == (0, 2, 3)
    assert from_triangles(np.zeros((4, 2)), []).shape == (0, 2, 2)
    assert from_triangles(np.zeros((0, 3, 2))).shape == (0, 2, 2)


@pytest.mark.parametrize("bad", [-1, 4, 2**40])
def test_triangles_with_a_wrong_vertex_name_the_face(bad):
    with pytest.raises(ValueError, match=f"faces: row 1 uses vertex {bad}, but there are 4"):
        from_triangles(np.zeros((4, 3)), [[0, 1, 2], [1, bad, 2]])


def test_triangles_with_nan_name_face_and_vertex():
    vertices = np.zeros((5, 3))
    vertices[2, 1] = vertices[4, 1] = np.nan
    with pytest.raises(bp.errors.InvalidBoxError, match="faces: row 1 uses vertex 2, which has NaN"):
        from_triangles(vertices, [[0, 1, 3], [3, 2, 1]])
    assert from_triangles(vertices, [[0, 1, 3]]).shape == (1, 2, 3)  # vertices that are not in use do not matter
    with pytest.raises(TypeError, match="faces must be integers"):
        from_triangles(vertices, [[0.0, 1.0, 3.0]])


def test_parts_in_any_order_give_the_box_of_each():
    rng = np.random.default_rng(4)
    points = rng.random((1000, 3))
    parts = rng.integers(0, 20, 1000)
    boxes = from_parts(points, parts)
    for part in range(20):
        np.testing.assert_array_equal(boxes[part, 0], points[parts == part].min(axis=0))
        np.testing.assert_array_equal(boxes[part, 1], points[parts == part].max(axis=0))
    order = np.argsort(parts)
    np.testing.assert_array_equal(from_parts(points[order], parts[order]), boxes)
    assert from_parts(np.zeros((0, 3)), []).shape == (0, 2, 3)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([0, 2, 2], "no point belongs to part 1"),
        ([1, 1, 2], "no point belongs to part 0"),
        ([0, -1, 0], "row 1 has the neg"),
    ],
)
def test_parts_with_a_gap_name_it(parts, message):
    with pytest.raises(ValueError, match=message):
        from_parts(np.zeros((3, 2)), parts)


def test_sources_are_not_changed_and_not_shared():
    points = np.random.default_rng(0).random((50, 2))
    before = points.copy()
    for boxes in (
        from_points(points),
        from_centers(points, 1),
        from_segments(points, points),
        from_parts(points, [0] * 50),
    ):
        assert not np.shares_memory(boxes, points)
    np.testing.assert_array_equal(points, before)
