"""Single shapes, given without an axis of rows: they have the answers of the same shapes in arrays, without an axis."""

import copy
import pickle

import numpy as np
import pytest

import broadphase as bp
from shape_cases import CLASSES, Numbers, rotations, shape_of


@pytest.mark.parametrize("d", [2, 3])
def test_two_single_shapes_of_any_class_have_one_answer(d):
    rng = np.random.default_rng(d)
    touching = 0
    for name in CLASSES[d]:
        for second_name in CLASSES[d]:
            first, second = (shape_of(one, Numbers(rng, d)) for one in (name, second_name))
            position, rotation = rng.normal(size=d) / 4, rotations(rng, d)
            origin, zeros = np.zeros((1, d)), np.zeros(d)
            both = bp.Shapes(first, origin), bp.Shapes(second, position[np.newaxis], [rotation])
            hit, gap = len(bp.overlaps(*both)) == 1, bp.distance(*both, pairs=[[0, 0]])
            touching += hit
            for one in (first, bp.Shapes(first, zeros)):
                other = bp.Shapes(second, position, rotation)
                for _ in range(2):
                    assert bp.overlaps(one, other) is hit, (first, second)
                    assert bp.overlaps(other, one) is hit
                    found = bp.distance(one, other)
                    assert type(found) is float
                    assert found == gap[0]
                contact, impact = bp.contacts(one, other), bp.time_of_impact(one, other, motions=position)
                assert len(contact.pairs) == hit
                assert impact.times == bp.time_of_impact(*both, pairs=[[0, 0]], motions=position).times
            # Where their own offsets place them.
            at_origin = bp.Shapes(first, origin), bp.Shapes(second, origin)
            assert bp.overlaps(first, second) is (len(bp.overlaps(*at_origin)) == 1)
            assert bp.distance(first, second) == bp.distance(*at_origin, pairs=[[0, 0]])[0]
    assert touching > 3


def test_distances_of_two_beyond_the_limit_are_infinite_whatever_the_shapes_are():
    shapes = [bp.Sphere(1), bp.Box(2, 2, 2), bp.ConvexHull(np.vstack([np.eye(3), -np.eye(3)])),
              bp.Mesh(np.vstack([np.eye(3), np.zeros((1, 3))]), [[0, 1, 2], [0, 1, 3]])]  # fmt: skip
    for first in shapes:
        for second in shapes:
            apart = bp.Shapes(second, (4, 0.1, 0.2))
            far = bp.distance(first, apart)
            assert 1 < far < 5
            assert bp.distance(first, apart, max_distance=far) == far
            assert bp.distance(first, apart, max_distance=far / 2) == np.inf
            assert bp.overlaps(first, apart) is False
            assert bp.distance(first, second, max_distance=0.0) == bp.distance(first, second) <= 0
    with pytest.raises(ValueError, match="max_distance must be at least 0"):
        bp.distance(shapes[0], shapes[1], max_distance=-1)
    with pytest.raises(ValueError, match="workers"):
        bp.distance(shapes[0], shapes[1], workers=-3)


def test_a_point_is_in_the_dimension_of_the_other():
    for other, far in ((bp.Circle(1), 1), (bp.Sphere(2), 2), (bp.Point(), 0), (bp.Circle(3), 3)):
        point = bp.Point()
        assert bp.overlaps(point, other)
        assert bp.overlaps(other, point)
        assert bp.distance(point, other) == -far
    point = bp.Point()
    assert bp.distance(point, bp.Circle(1)) == -1
    assert bp.distance(point, bp.Sphere(1)) == -1
    with pytest.raises(ValueError, match="shapes have 2 dimensions and other 3"):
        bp.overlaps(bp.Circle(1), bp.Sphere(1))


def test_what_has_an_axis_of_rows_has_arrays():
    one, rows = bp.Circle(1), bp.Circle([1.0])
    apart = bp.Shapes(bp.Circle([1, 2]), [[0, 0], [9, 0]])
    for first, second in ((one, rows), (rows, one), (one, bp.Shapes(one, [[0, 0]])), (one, bp.Shapes([one], (0, 0)))):
        assert bp.overlaps(first, second).tolist() == [[0, 0]]
        assert bp.distance(first, second).tolist() == [-2]
    assert bp.overlaps(one, apart).tolist() == [[0, 0]]
    assert bp.overlaps(one, one, [[0, 0]]).tolist() == [[0, 0]]
    assert bp.overlaps(one).shape == (0, 2)
    grown = bp.Shapes(one, (0, 0))
    assert bp.overlaps(grown, one) is True
    grown.extend(one, [[5, 0]])
    assert bp.overlaps(grown, one).tolist() == [[0, 0]]


def test_without_pairs_distances_are_row_by_row_and_one_is_for_all():
    rng = np.random.default_rng(5)
    places = rng.normal(size=(2, 7, 2)) * 5
    first, second = (bp.Shapes(bp.Circle(rng.random(7)), at) for at in places)
    rows = np.stack([np.arange(7)] * 2, axis=1)
    assert np.array_equal(bp.distance(first, second), bp.distance(first, second, pairs=rows))
    for one in (bp.Rectangle(2, 1), bp.Shapes(bp.Rectangle(2, 1), (0, 0)), bp.Shapes(bp.Rectangle(2, 1), [[0, 0]])):
        assert np.array_equal(bp.distance(one, second), bp.distance(one, second, pairs=rows * [0, 1]))
        assert np.array_equal(bp.distance(second, one), bp.distance(second, one, pairs=rows * [1, 0]))
    found = bp.time_of_impact(bp.Circle(1), second, motions=(9, 0))
    assert found.pairs.tolist() == (rows * [0, 1]).tolist()
    none = bp.Shapes([], np.empty((0, 2)))
    assert bp.distance(none, none).shape == bp.distance(bp.Circle(1), none).shape == (0,)
    with pytest.raises(ValueError, match="shapes has 7 rows and other has 2: give pairs"):
        bp.distance(first, bp.Circle([1, 2]))
    with pytest.raises(TypeError, match="distance takes pairs, or two sets of shapes"):
        bp.distance(first)


def test_a_shape_is_the_same_after_it_was_compared():
    for shape in (bp.Circle(1, offset=(3, 0)), bp.Mesh(np.eye(3), [[0, 1, 2]])):
        before = repr(shape), hash(shape), pickle.dumps(shape)
        assert bp.distance(shape, shape) <= 0
        assert (repr(shape), hash(shape), pickle.dumps(shape)) == before
        for again in (copy.copy(shape), copy.deepcopy(shape), pickle.loads(pickle.dumps(shape)), shape[0]):
            assert again == shape
            assert bp.distance(again, shape) == bp.distance(shape, shape)


def test_single_placed_shapes_that_have_moved_or_been_pickled_are_where_they_are():
    one = bp.Shapes(bp.Circle(1), (0, 0))
    one.move((5, 0))
    for placed in (one, pickle.loads(pickle.dumps(one))):
        assert bp.distance(placed, bp.Circle(1)) == 3.0


def test_shapes_of_your_own_overlap_one_by_one():
    class Ring(bp.CustomShape, dim=2, parameters=("radius",)):
        @staticmethod
        def bounds(values):
            corner = np.stack([values["radius"]] * 2, axis=1)
            return -corner, corner

        @staticmethod
        def overlaps(rings, others):
            return np.ones(len(rings), np.bool_)

    ring = Ring(radius=1.0)
    assert bp.overlaps(ring, bp.Circle(1)) is True
    assert bp.overlaps(ring, bp.Circle(1, offset=(9, 0))) is False
