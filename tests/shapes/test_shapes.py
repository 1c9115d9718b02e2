"""Shapes: what they are made from, how rows of them behave, and the records that the core gets."""

import pickle
import re

import numpy as np
import pytest

import broadphase as bp
from broadphase.shapes.kinds import ShapeKind
from broadphase.shapes.records import Geometries, dimension_of, records_of, shape_from_record
from shape_cases import EVERY_KIND, KINDS, convex_corners, hull, mesh, mixed, quaternions, rotations

NAN, INF = float("nan"), float("inf")
STILL = (1.0, 0.0, 0.0, 0.0)


def test_parameters_given_for_one_shape_are_shown_for_one():
    capsule = bp.Capsule((0, 1), (2, 3), 4, offset=(5, 6), rotation=7)
    assert len(capsule) == 1
    assert (capsule.start.tolist(), capsule.end.tolist(), capsule.radius) == ([0, 1], [2, 3], 4.0)
    assert (capsule.offset.tolist(), capsule.rotation) == ([5, 6], 7.0)
    assert repr(capsule) == "Capsule(start=[0.0, 1.0], end=[2.0, 3.0], radius=4.0, offset=[5.0, 6.0], rotation=7.0)"


def test_parameters_given_for_many_go_with_those_given_for_one():
    capsules = bp.Capsule((0, 1), [[2, 3], [4, 5], [6, 7]], 4)
    assert len(capsules) == 3
    assert capsules.start.tolist() == [[0, 1]] * 3
    assert capsules.radius.tolist() == [4.0] * 3
    assert capsules.offset.tolist() == [[0, 0]] * 3
    assert capsules.rotation.tolist() == [0.0] * 3
    assert capsules[1] == bp.Capsule((0, 1), (4, 5), 4)
    assert capsules[-1].end.tolist() == [6, 7]
    assert [each.end[0] for each in capsules] == [2, 4, 6]


@pytest.mark.parametrize("take", [slice(1, 3), slice(None, None, -1), [0, 0, 2], [True, False, True], slice(0)])
def test_rows_of_a_shape_are_those_that_numpy_takes(take):
    discs = bp.Circle([1, 2, 3], offset=[[0, 0], [0, 1], [0, 2]])
    taken = discs[take]
    wanted = np.arange(3)[take]
    assert taken.radius.tolist() == (wanted + 1.0).tolist()
    assert taken.offset[:, 1].tolist() == wanted.tolist()
    assert np.array_equal(taken.records(2), discs.records(2)[wanted])
    assert len(discs[[]]) == 0


def test_rows_of_a_compound_are_compounds_of_rows():
    two = bp.Compound([bp.Circle([1, 2]), bp.Segment((0, 0), (1, 0))], offset=(0, 5))
    assert len(two) == 2
    assert two[1] == bp.Compound([bp.Circle(2), bp.Segment((0, 0), (1, 0))], offset=(0, 5))
    assert two[1].parts[0].radius == 2.0
    assert two[:0].records(2).shape == (0, two.records(2).shape[1])


def test_a_row_that_there_is_not_raises():
    with pytest.raises(IndexError, match="row 3 of 3"):
        bp.Circle([1, 2, 3])[3]
    with pytest.raises(TypeError, match="a row, a slice, or an array"):
        bp.Circle([1, 2, 3])["a"]


@pytest.mark.parametrize(("dimension", "name"), EVERY_KIND)
def test_shapes_are_equal_if_they_describe_the_same(dimension, name):
    shape, other = (KINDS[dimension][name](np.random.default_rng(seed)) for seed in (1, 2))
    same = KINDS[dimension][name](np.random.default_rng(1))
    assert shape == same
    assert hash(shape) == hash(same)
    assert shape != other
    assert shape != 3
    assert pickle.loads(pickle.dumps(shape)) == shape


def test_shapes_cannot_be_changed_by_anybody():
    radii = np.array([1.0, 2.0])
    discs = bp.Circle(radii)
    radii[:] = 9
    assert discs.radius.tolist() == [1.0, 2.0]
    with pytest.raises(AttributeError, match="is immutable"):
        discs.radius = 3
    with pytest.raises(AttributeError, match="is immutable"):
        del discs.radius
    for array in (discs.radius, discs.records(2), pickle.loads(pickle.dumps(discs)).records(2)):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 5


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint64", "bool", ">f8"])
def test_numbers_of_any_dtype_become_float64(dtype):
    size = np.array([1, 0, 1], dtype)
    assert np.array_equal(bp.Circle(size).records(2), bp.Circle([1.0, 0.0, 1.0]).records(2))
    assert bp.Circle(size).radius.dtype == np.float64


def test_float32_numbers_are_taken_as_they_are():
    assert bp.Circle(np.float32(0.1)).radius == float(np.float32(0.1))


def test_sizes_are_given_one_by_one_or_as_one_array():
    assert repr(bp.AABB(4, 2)) == repr(bp.AABB([4, 2])) == repr(bp.AABB(size=(4, 2)))
    assert repr(bp.Rectangle([4, 2])) == repr(bp.Rectangle(4, 2))
    assert repr(bp.Box((1, 2, 3))) == repr(bp.Box(1, 2, 3))
    many = np.array([[1.0, 2, 3], [4, 5, 6]])
    assert np.array_equal(bp.AABB(*many.T).records(3), bp.AABB(many).records(3))
    assert np.array_equal(bp.AABB(1, many[:, 1]).records(2), bp.AABB([[1, 2], [1, 5]]).records(2))
    assert np.array_equal(bp.Box(many).records(3), bp.Box(*many.T).records(3))
    assert np.array_equal(
        bp.Rectangle(many[:, :2], rotation=0.5).records(2), bp.Rectangle(*many.T[:2], rotation=0.5).records(2)
    )
    assert bp.AABB(1, 2, 3).size.tolist() == [1, 2, 3]


BAD = {
    "radius is -1.0, which is negative": lambda: bp.Circle(-1),
    "radius: row 1 is -2.0, which is negative": lambda: bp.Sphere([1, -2]),
    "radius: row 1 has nan, which is not finite": lambda: bp.Circle([1, NAN]),
    "radius has inf, which is not finite": lambda: bp.Capsule((0, 0), (1, 0), INF),
    "radius must be one number or (n,) numbers, not an array of shape (1, 1)": lambda: bp.Circle([[1]]),
    "radius has 2e+40, which is beyond 1e+40": lambda: bp.Circle(2e40),
    "height: row 2 is -1.0": lambda: bp.Rectangle(1, [1, 2, -1]),
    "z has nan": lambda: bp.Box(1, 1, NAN),
    "size: row 1 has -1.0, which is negative": lambda: bp.AABB([[1, 1], [1, -1]]),
    "y: row 1 is -1.0, which is negative": lambda: bp.AABB(1, [1, -1]),
    "x has 2 rows and y has 3": lambda: bp.AABB([1, 2], [1, 2, 3]),
    "size must be (2,) or (n, 2), not an array of shape (3,)": lambda: bp.Rectangle([1, 1, 1]),
    "size: row 1 has -3.0, which is negative": lambda: bp.Box([[1, 1, 1], [1, 1, -3]]),
    "size must have 2 or 3 numbers for each shape, not 4": lambda: bp.AABB([1, 1, 1, 1]),
    "start: row 1 has inf": lambda: bp.Segment([[0, 0], [INF, 0]], (0, 0)),
    "end must be (2,) or (n, 2), not an array of shape (3,)": lambda: bp.Segment((0, 0), (0, 0, 0)),
    "offset must be (2,) or (n, 2)": lambda: bp.Circle(1, offset=(0, 0, 0)),
    "offset: row 1 has nan": lambda: bp.Box(1, 1, 1, offset=[[0, 0, 0], [0, NAN, 0]]),
    "radius has 2 rows and offset has 3": lambda: bp.Sphere([1, 2], offset=np.zeros((3, 3))),
    "rotation is a zero quaternion": lambda: bp.Box(1, 1, 1, rotation=np.zeros(4)),
    "rotation: row 1 is a zero quaternion": lambda: bp.Box(1, 1, 1, rotation=[STILL, [0, 0, 0, 0]]),
    "rotation: row 0 has nan": lambda: bp.Rectangle(1, 1, rotation=[NAN, 1]),
    "rotation must be a quaternion (w, x, y, z)": lambda: bp.Box(1, 1, 1, rotation=0.5),
    "rotation must be one angle": lambda: bp.Segment((0, 0), (1, 1), rotation=[[1.0]]),
    "corners must be (3, d) or (n, 3, d)": lambda: bp.Triangle([[0, 0], [1, 0]]),
    "corners must be three or more, not 2": lambda: bp.ConvexPolygon([[0, 0], [1, 1]]),
    "corners: the rows have different lengths": lambda: bp.ConvexPolygon([[[0, 0]] * 3, [[0, 0]] * 4]),
    "the polygon bends inwards at corner 2": lambda: bp.ConvexPolygon([[0, 0], [2, 0], [0.1, 0.1], [0, 2]]),
    "corners: row 1 bends inwards": lambda: bp.ConvexPolygon(
        [[[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 0], [1, 1], [1, 0], [0, 1]]]
    ),
    "the polygon goes around more than once": lambda: bp.ConvexPolygon(star()),
    "a compound has at least one part": lambda: bp.Compound([]),
    "the parts of a compound are of one dimension, not of 2 and 3": lambda: bp.Compound([bp.Circle(1), bp.Sphere(1)]),
    "give one of the points an offset": lambda: bp.Compound([bp.Point()]),
    "parts[1] is a Mesh, which cannot be part": lambda: bp.Compound([bp.Sphere(1), mesh(np.random.default_rng(0))]),
    "parts[0] has 2 rows and parts[1] has 3": lambda: bp.Compound([bp.Circle([1, 2]), bp.Circle([1, 2, 3])]),
    "points lie in one plane": lambda: bp.ConvexHull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]),
    "points: row 3 has nan": lambda: bp.ConvexHull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, NAN, 0]]),
    "faces: row 1 uses vertex 3, but there are 3": lambda: bp.Mesh(np.eye(3), [[0, 1, 2], [0, 1, 3]]),
    "faces must have shape (m, 3), m at least 1": lambda: bp.Mesh(np.eye(3), np.empty((0, 3), int)),
    "vertices must have shape (k, 3)": lambda: bp.Mesh([[0, 0]], [[0, 0, 0]]),
}


def star():
    angles = np.arange(5) * 4 * np.pi / 5
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


@pytest.mark.parametrize("message", BAD)
def test_what_cannot_be_a_shape_raises_and_names_the_row(message):
    with pytest.raises(ValueError, match=re.escape(message)):
        BAD[message]()


@pytest.mark.parametrize(
    "make",
    [
        lambda: bp.Circle("a"),
        lambda: bp.Circle(None),
        lambda: bp.Circle(1j),
        lambda: bp.Compound([3]),
        lambda: bp.Compound(3),
        lambda: bp.Mesh(np.eye(3), [[0.0, 1.0, 2.0]]),
        lambda: bp.Circle(1, rotation=2),
        lambda: bp.AABB(1, 2, 3, 4),
        lambda: bp.Rectangle(1),
        lambda: bp.Box(1, 2),
    ],
)
def test_what_is_of_the_wrong_type_raises_type_error(make):
    with pytest.raises(TypeError):
        make()


@pytest.mark.parametrize("scale", [2.0**-400, 1e-9, 1.0, 1e9, 2.0**100])
def test_polygons_that_were_turned_and_moved_are_still_convex(scale):
    rng = np.random.default_rng(7)
    for _ in range(40):
        corners = convex_corners(rng)
        cosine, sine = np.cos(turn := rng.uniform(0, 7)), np.sin(turn)
        moved = scale * (corners @ np.array([[cosine, sine], [-sine, cosine]]) + rng.normal(size=2) * 1e6)
        bp.ConvexPolygon(moved)
        bp.ConvexPolygon([np.repeat(moved, 2, axis=0)])


@pytest.mark.parametrize(
    "corners",
    [
        [[1, 1]] * 3,
        [[0, 0], [1, 0], [2, 0]],
        [[0, 0], [1, 0], [3, 0], [2, 0]],
        [[0, 0], [1, 0], [2, 0], [2, 1], [2, 2], [0, 2], [0, 1]],
        [[0, 0], [0, 0], [1, 0], [0, 1], [0, 0]],
    ],
)
def test_polygons_without_inside_and_with_spare_corners_are_convex(corners):
    for order in (corners, corners[::-1]):
        assert bp.ConvexPolygon(order).corners.tolist() == np.array(order).tolist()


def test_polygons_come_to_the_core_counter_clockwise():
    for corners in ([[0, 0], [2, 0], [2, 1]], [[2, 1], [2, 0], [0, 0]]):
        x, y = bp.ConvexPolygon(corners).records(2).reshape(3, 2).T
        assert ((np.roll(x, -1) - x) * (y + np.roll(y, -1))).sum() < 0


@pytest.mark.parametrize(("dimension", "name"), EVERY_KIND)
def test_shape_from_its_record_is_the_shape(dimension, name):
    rng = np.random.default_rng(5)
    for _ in range(20):
        shape = KINDS[dimension][name](rng)
        kinds, sizes, numbers = records_of(shape, 1, dimension, Geometries())
        assert sizes.tolist() == [len(numbers)]
        again = shape_from_record(int(kinds[0]), numbers, dimension, Geometries())
        assert type(again) is type(shape)
        assert np.allclose(again.records(dimension), shape.records(dimension), rtol=0, atol=1e-12)


@pytest.mark.parametrize("make", [hull, mesh])
def test_geometry_is_kept_once_whatever_its_placing(make):
    rng = np.random.default_rng(3)
    known = Geometries()
    shapes = [make(rng), make(rng)]
    many = make(np.random.default_rng(3), offset=rng.normal(size=(4, 3)), rotation=quaternions(rng, 4))
    numbers = [records_of(shape, len(shape), 3, known).numbers.reshape(len(shape), -1) for shape in [*shapes, many]]
    assert [rows[:, 0].tolist() for rows in numbers] == [[0], [1], [0, 0, 0, 0]]
    assert len(pickle.loads(pickle.dumps(known))) == len(known) == 2
    assert pickle.loads(pickle.dumps(known)).number_of(many) == 0
    again = shape_from_record(int(many.kind), numbers[2][3], 3, known)
    assert np.allclose(again.records(3), many[3].records(3), rtol=0, atol=1e-12)
    assert many[3] != many[2]
    assert many[3] == make(np.random.default_rng(3), offset=many.offset[3], rotation=many.rotation[3])


def test_records_of_a_list_are_those_of_its_rows_one_after_the_other():
    rng = np.random.default_rng(11)
    for dimension in (2, 3):
        shapes = mixed(rng, dimension, 50)
        together = records_of(shapes, 50, dimension, Geometries())
        single = [records_of(shape, 1, dimension, Geometries()) for shape in shapes]
        for field in ("kinds", "sizes", "numbers"):
            assert np.array_equal(getattr(together, field), np.concatenate([getattr(one, field) for one in single]))
    rows = records_of([bp.Circle([1, 2]), bp.Point()], 3, 2, Geometries())
    assert rows.numbers.tolist() == [0, 0, 1, 0, 0, 2, 0, 0]


def test_records_of_one_shape_serve_any_number():
    for shape in (bp.Circle(2), [bp.Circle([2])], iter([bp.Circle(2)])):
        rows = records_of(shape, 3, 2, Geometries())
        assert rows.kinds.tolist() == [ShapeKind.BALL] * 3
        assert rows.numbers.tolist() == [0, 0, 2] * 3
    for shape in (bp.Circle(2), bp.Circle([]), []):
        assert len(records_of(shape, 0, 2, Geometries()).numbers) == 0


def test_records_of_what_does_not_fit_raise():
    with pytest.raises(ValueError, match="row 1, a Sphere of 3 dimensions, where 2 are needed"):
        records_of([bp.Circle(1), bp.Sphere(2)], 2, 2, Geometries())
    with pytest.raises(ValueError, match="3 shapes for 2 positions"):
        records_of([bp.Circle(1)] * 3, 2, 2, Geometries())
    with pytest.raises(ValueError, match="0 shapes for 2 positions"):
        records_of([], 2, 2, Geometries())
    with pytest.raises(TypeError, match="row 1 is not a shape but 3"):
        records_of([bp.Circle(1), 3], 2, 2, Geometries())
    with pytest.raises(TypeError, match="shapes must be a Shape or a list"):
        records_of(3, 2, 2, Geometries())
    assert dimension_of(bp.Point()) is None
    assert dimension_of([bp.Point(), bp.Sphere(1)]) == 3


def test_rotation_about_the_origin_of_the_numbers_comes_before_the_offset():
    segment = bp.Segment((1, 0), (2, 0), offset=(10, 20), rotation=np.pi / 2)
    assert np.allclose(segment.records(2), [[10, 21, 10, 22]])
    rng = np.random.default_rng(2)
    turn = rotations(rng, 3)
    assert np.allclose(
        bp.Triangle(np.eye(3), rotation=turn).records(3), bp.Triangle(np.eye(3), rotation=-turn * 5).records(3)
    )
