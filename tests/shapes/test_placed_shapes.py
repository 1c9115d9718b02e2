"""Shapes in their places: where the core puts them, the boxes around them, moving them."""

import copy
import pickle
import re

import numpy as np
import pytest

import broadphase as bp
from broadphase.shapes.placed import shapes_of_boxes
from oracles.shapes import parts_of
from shape_cases import EVERY_KIND, KINDS, WITH_ORACLE, hull, mesh, mixed, quaternions, rotations

NAN = float("nan")


def turn_of(rotation, dimension):
    """The rotation, by SciPy."""
    transform = pytest.importorskip("scipy.spatial.transform")
    if dimension == 3:
        return transform.Rotation.from_quat(np.roll(rotation, -1)).as_matrix()
    return transform.Rotation.from_euler("z", rotation).as_matrix()[:2, :2]


@pytest.mark.parametrize(
    ("dimension", "name"), [(d, n) for d, n in EVERY_KIND if n not in ("Compound", "ConvexPolygon")]
)
def test_shapes_are_where_an_independent_calculation_puts_them(dimension, name):
    rng = np.random.default_rng(8)
    for _ in range(50):
        shape = KINDS[dimension][name](rng)
        position, rotation = rng.normal(size=dimension) * 10, rotations(rng, dimension)
        record = bp.Shapes(shape, position, rotation).store.placed(0)
        outer = turn_of(rotation, dimension)
        inner = turn_of(shape.rotation, dimension)

        def place(point, shape=shape, inner=inner, outer=outer, position=position):
            return position + outer @ (shape.offset + inner @ point)

        middle = place(np.zeros(dimension))
        if name == "AABB":
            wanted = [middle - shape.size / 2, middle + shape.size / 2]
        elif name in ("Rectangle", "Box"):
            half = np.array([getattr(shape, size) for size in (("width", "height") if dimension == 2 else "xyz")]) / 2
            wanted = [middle, half, (outer @ inner).T]
        elif name == "Ellipsoid":
            wanted = [middle, shape.radii, (outer @ inner).T]
        elif name == "HalfSpace":
            wanted = [place(shape.height * shape.normal), outer @ inner @ shape.normal]
        elif name == "Cone":
            wanted = [place(shape.base), place(shape.apex), [shape.radius]]
        elif name == "Sector":
            ways = [(np.cos(half), np.sin(half)) for half in (-shape.angle / 2, shape.angle / 2)]
            wanted = [middle, *(place(shape.radius * np.array(way)) for way in ways)]
        elif name == "Triangle":
            wanted = [place(corner) for corner in shape.corners]
        else:
            ends = [place(shape.start), place(shape.end)] if hasattr(shape, "start") else [middle]
            wanted = [*ends, [getattr(shape, "radius", [])]]
        assert np.allclose(record, np.concatenate([np.ravel(numbers) for numbers in wanted]), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("dimension", "name"), [(d, n) for d, n in EVERY_KIND if n in WITH_ORACLE[d]])
def test_boxes_hold_the_shapes_and_are_tight(dimension, name):
    rng = np.random.default_rng(9)
    for scale in (1.0, 1e6):
        for _ in range(30):
            shape = KINDS[dimension][name](rng)
            position, rotation = rng.normal(size=dimension) * scale, rotations(rng, dimension)
            placed = bp.Shapes(shape, position, rotation)
            parts = parts_of(shape, position, rotation)
            lower = np.min([part.points.min(axis=0) - part.radius for part in parts], axis=0)
            upper = np.max([part.points.max(axis=0) + part.radius for part in parts], axis=0)
            rounding = 1e-15 * (4 + np.abs(placed.boxes).max())  # of the other calculation
            assert (placed.boxes[0, 0] <= lower + rounding).all()
            assert (placed.boxes[0, 1] >= upper - rounding).all()
            assert np.abs(placed.boxes[0] - [lower, upper]).max() <= 4 * rounding


def test_boxes_along_the_axes_that_are_not_turned_are_exact():
    rng = np.random.default_rng(10)
    sizes, places = rng.random((100, 2)), rng.normal(size=(100, 2))
    boxes = bp.Shapes(bp.Rectangle(*sizes.T), places).boxes
    assert np.array_equal(boxes, np.stack([places - sizes / 2, places + sizes / 2], axis=1))
    touching = bp.Shapes(bp.Rectangle(1, 1), [[0, 0], [1, 0], [1, 1]])
    assert bp.overlaps(touching).tolist() == [[0, 1], [0, 2], [1, 2]]


@pytest.mark.parametrize("make", [hull, mesh])
def test_boxes_of_geometry_hold_its_vertices(make):
    rng = np.random.default_rng(12)
    shape = make(rng, offset=rng.normal(size=(20, 3)), rotation=quaternions(rng, 20))
    places, turns = rng.normal(size=(20, 3)), quaternions(rng, 20)
    placed = bp.Shapes(shape, places, turns)
    for row in range(20):
        outer, inner = turn_of(turns[row], 3), turn_of(shape.rotation[row], 3)
        vertices = places[row] + (shape.offset[row] + shape.vertices @ inner.T) @ outer.T
        assert (placed.boxes[row, 0] <= vertices.min(axis=0) + 1e-12).all()
        assert (placed.boxes[row, 1] >= vertices.max(axis=0) - 1e-12).all()
        record = placed.store.placed(row)
        assert np.allclose(record[1:4] + shape.vertices @ record[4:13].reshape(3, 3), vertices, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_shapes_of_a_list_are_placed_as_each_alone(dimension):
    rng = np.random.default_rng(13)
    shapes = mixed(rng, dimension, 60)
    places, turns = rng.normal(size=(60, dimension)), rotations(rng, dimension, 60)
    together = bp.Shapes(shapes, places, turns)
    assert len(together) == 60
    for row, shape in enumerate(shapes):
        alone = bp.Shapes(shape, places[row], turns[row])
        assert np.array_equal(alone.store.placed(0), together.store.placed(row))
        assert np.array_equal(alone.boxes[0], together.boxes[row])
        assert np.allclose(together[row].records(dimension), shape.records(dimension), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_moving_shapes_is_placing_them_there(dimension):
    rng = np.random.default_rng(14)
    shapes = mixed(rng, dimension, 30)
    places, turns = rng.normal(size=(30, dimension)), rotations(rng, dimension, 30)
    moved = bp.Shapes(shapes, np.zeros((30, dimension)))
    moved.move(places)
    assert np.array_equal(moved.boxes, bp.Shapes(shapes, places).boxes)
    moved.move(rotations=turns[:10], rows=np.arange(10))
    moved.move(rotations=turns[10:], rows=range(10, 30))
    assert np.array_equal(moved.boxes, bp.Shapes(shapes, places, turns).boxes)
    moved.move(np.ones(dimension), turns[0], rows=[3, 4])
    assert np.array_equal(moved.boxes[3], bp.Shapes(shapes[3], np.ones(dimension), turns[0]).boxes[0])
    again = pickle.loads(pickle.dumps(moved))
    other = copy.deepcopy(moved)
    assert np.array_equal(again.boxes, moved.boxes)
    other.move(np.zeros(dimension))
    assert not np.array_equal(other.boxes, moved.boxes)


@pytest.mark.parametrize("dimension", [2, 3])
def test_shapes_that_are_added_are_placed_as_if_they_had_been_there(dimension):
    rng = np.random.default_rng(15)
    shapes = mixed(rng, dimension, 30)
    places, turns = rng.normal(size=(30, dimension)), rotations(rng, dimension, 30)
    grown = bp.Shapes(shapes[:3], places[:3])
    grown.extend(shapes[3:10], places[3:10])
    assert grown.rotations is None
    grown.extend(shapes[10:29], places[10:29], turns[10:29])
    grown.extend([], [])
    grown.extend(shapes[29], places[29])
    is_turned = (np.arange(30) >= 10) & (np.arange(30) < 29)
    grown.move(rotations=turns[~is_turned], rows=np.flatnonzero(~is_turned))
    whole = bp.Shapes(shapes, places, turns)
    assert len(grown) == 30
    assert np.array_equal(grown.boxes, whole.boxes)
    assert np.array_equal(bp.overlaps(grown), bp.overlaps(whole))
    assert np.array_equal(pickle.loads(pickle.dumps(grown)).boxes, whole.boxes)


def test_adding_what_does_not_fit_raises_and_changes_nothing():
    shapes = bp.Shapes(bp.Sphere([1, 2]), [[0, 0, 0], [1, 1, 1]])
    for arguments, message in (
        ((bp.Sphere(1), [[0, NAN, 0]]), "positions: row 0 has nan"),
        ((bp.Circle(1), [[0, 0]]), "a Circle of 2 dimensions, where 3 are needed"),
        ((bp.Sphere([1, 2]), [[0, 0, 0]] * 3), "2 shapes for 3 positions"),
        ((bp.Sphere(1), [[0, 0, 0]], [[0, 0, 0, 0]]), "rotations: row 0 is a zero quaternion"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            shapes.extend(*arguments)
    assert len(shapes) == len(shapes.boxes) == 2
    world = bp.World(dim=2)
    with pytest.raises(TypeError, match="a view of a world"):
        world.shapes.extend(bp.Circle(1), [[0, 0]])


def test_geometries_that_are_added_are_known_to_the_next_query():
    rng, places = np.random.default_rng(16), [[0.0, 0, 0], [0.5, 0, 0]]
    one, other = hull(rng), mesh(rng)
    grown = bp.Shapes(one, places[:1])
    assert len(bp.overlaps(grown, pairs=[[0, 0]])) == 1  # what is known of hulls is kept from here on
    grown.extend(other, places[1:])
    whole = bp.Shapes([one, other], places)
    assert np.array_equal(bp.distance(grown, pairs=[[0, 1]]), bp.distance(whole, pairs=[[0, 1]]))


def test_moving_what_cannot_be_moved_raises_and_changes_nothing():
    shapes = bp.Shapes(bp.Sphere([1, 2]), [[0, 0, 0], [1, 1, 1]])
    before = shapes.boxes.copy()
    for arguments, message in (
        (([[0, 0, 0], [0, NAN, 0]],), "positions: row 1 has nan"),
        (([[0, 0, 0], [0, 1, 0]], [[1, 0, 0, 0], [0, 0, 0, 0]]), "rotations: row 1 is a zero quaternion"),
        (([[0, 0, 0]] * 3,), "positions has 3 rows for 2 shapes"),
        (([[0, 0]] * 2,), "positions must be (3,) or (n, 3)"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            shapes.move(*arguments)
    for rows, message in (([2], "number 0 is 2, but there are 2 shapes"), ([0, -1], "number 1 is -1")):
        with pytest.raises(ValueError, match=message):
            shapes.move((5, 5, 5), rows=rows)
    with pytest.raises(TypeError, match="rows must be integers"):
        shapes.move((5, 5, 5), rows=[0.0])
    assert np.array_equal(shapes.boxes, before)
    with pytest.raises(ValueError, match="read-only"):
        shapes.boxes[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        shapes.positions[0] = 0


@pytest.mark.parametrize(
    ("shapes", "positions", "rotations", "count"),
    [
        (bp.Circle(1), [[0, 0]] * 4, None, 4),
        (bp.Circle([1, 2, 3]), (5, 5), None, 3),
        (bp.Circle(1), (5, 5), [0, 1, 2], 3),
        (bp.Circle([1, 2, 3]), [[0, 0]] * 3, 0.5, 3),
        ([bp.Circle([1, 2]), bp.Rectangle(1, 1)], [[0, 0]] * 3, None, 3),
        ([bp.Circle(1)], [[0, 0]] * 3, None, 3),
        (bp.Circle(1), (5, 5), None, 1),
        (bp.Circle(1), [], None, 0),
        ([], [], None, 0),
        (bp.Sphere(1), np.empty((0, 3)), np.empty((0, 4)), 0),
        (bp.Sphere(1), [], None, 0),
    ],
)
def test_what_is_given_once_goes_with_all_of_the_rest(shapes, positions, rotations, count):
    placed = bp.Shapes(shapes, positions, rotations)
    assert len(placed) == count
    assert placed.boxes.shape == (count, 2, placed.dim)
    assert (placed.rotations is None) == (rotations is None)


def test_points_without_offset_take_the_dimension_of_the_rest():
    assert bp.Shapes(bp.Point(), [[0, 0, 0]]).dim == 3
    assert bp.Shapes([bp.Point(), bp.Circle(1)], [[0, 0], [1, 1]]).dim == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((bp.Circle(1), [[0, 0, 0]]), "a Circle of 2 dimensions, where 3 are needed"),
        (([bp.Circle(1), bp.Sphere(1)], [[0, 0]] * 2), "row 1, a Sphere of 3 dimensions, where 2 are needed"),
        ((bp.Circle([1, 2]), [[0, 0]] * 3), "2 shapes for 3 positions"),
        ((bp.Circle(1), [[0, 0], [NAN, 0]]), "positions: row 1 has nan, which is not finite"),
        ((bp.Circle(1), [[0, 0], [0, 0]], [0, np.inf]), "rotations: row 1 has inf"),
        ((bp.Circle(1), [[0, 0], [0, 0]], [0, 1, 2]), "rotations has 3 rows for 2 shapes"),
        ((bp.Sphere(1), [[0, 0, 0]], [0, 0, 0, 0]), "rotations is a zero quaternion"),
        ((bp.Sphere(1), [[0, 0, 0]], 0.5), "rotations must be a quaternion"),
        ((bp.Point(), [[0], [1]]), "positions must have 2 or 3 numbers"),
        ((bp.Point(), 5), "positions must be (d,) or (n, d)"),
    ],
)
def test_what_cannot_be_placed_raises_and_names_the_row(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        bp.Shapes(*arguments)


def test_quaternions_of_any_length_turn_the_same():
    box = bp.Box(3, 2, 1)
    turn = np.array([0.3, -0.5, 0.2, 0.7])
    boxes = bp.Shapes(box, (0, 0, 0), [turn, turn * 2.0**-900, turn * 2.0**900, -turn]).boxes
    assert np.allclose(boxes, boxes[0], rtol=1e-15, atol=0)


def test_positions_and_float32_are_copied_to_float64():
    places = np.array([[0, 0], [5, 0]], np.float32)
    shapes = bp.Shapes(bp.Circle(np.float32(1)), places)
    places[:] = 9
    assert shapes.positions.dtype == np.float64
    assert shapes.positions.tolist() == [[0, 0], [5, 0]]


@pytest.mark.parametrize("dimension", [2, 3])
def test_boxes_given_corner_for_corner_are_those_boxes(dimension):
    corners = np.random.default_rng(4).normal(size=(50, 2, dimension))
    corners.sort(axis=1)
    shapes = shapes_of_boxes(corners)
    assert np.array_equal([shapes.store.placed(row) for row in range(50)], corners.reshape(50, 2 * dimension))
    assert np.array_equal(bp.overlaps(shapes), bp.pairs(corners, sort=True))
    with pytest.raises(TypeError, match="a view of a world"):
        shapes.move(np.zeros(dimension))


def test_shapes_of_a_world_are_asked_like_others_and_not_moved():
    world = bp.World(dim=2)
    rows = world.add_many(bp.Circle(1), [[0, 0], [1, 0], [2, 0], [9, 9]])
    world.remove(rows[1:2])
    world.step()
    assert bp.overlaps(world.shapes).tolist() == [[0, 2]]
    assert bp.overlaps(bp.Shapes(bp.Point(), [[1.5, 0]]), world.shapes).tolist() == [[0, 2]]
    with pytest.raises(ValueError, match="number 0 is 1, which has been removed"):
        bp.distance(world.shapes, pairs=[[1, 2]])
    with pytest.raises(TypeError, match="a view of a world"):
        world.shapes.move((0, 0))
    with pytest.raises(TypeError, match="a view of a world"):
        copy.copy(world.shapes)
