"""Distances and contacts of shapes in space: against an oracle, and closed forms."""

import numpy as np
import pytest

from narrow_3d_cases import FORMS, PAIRS_OF_KINDS, contacts, distances, gaps_along, moved
from narrow_3d_checks import check_contacts, check_distances, check_oracle, check_touching

every_pair = pytest.mark.parametrize("kinds", PAIRS_OF_KINDS, ids="-".join)
every_form = pytest.mark.parametrize("form", FORMS)


@every_form
@every_pair
def test_distances_are_the_greatest_gaps(kinds, form):
    check_distances([0], kinds, form, 400)


@every_pair
def test_what_touches_on_a_lattice_overlaps(kinds):
    check_touching([8], kinds, 2000)


@every_pair
def test_distances_equal_the_oracle(kinds):
    for form in FORMS:
        check_oracle([1], kinds, form, 12)


@every_form
@every_pair
def test_contacts_lie_in_both(kinds, form):
    check_contacts([4], kinds, form, 400)


def boxes(*corners):
    return "BOX", np.array(corners, dtype=float)


def test_boxes_touch_at_the_corners_of_their_common_face():
    rng = np.random.default_rng(0)
    first, second = (
        np.concatenate([at, at + rng.uniform(0.5, 2, (500, 3))], axis=1) for at in rng.uniform(-1, 1, (2, 500, 3))
    )
    lower, upper = np.maximum(first[:, :3], second[:, :3]), np.minimum(first[:, 3:], second[:, 3:])
    rows = np.flatnonzero((lower < upper).all(axis=1))
    assert len(rows) > 50
    normals, depths, counts, points = contacts(("BOX", first[rows]), ("BOX", second[rows]))
    assert (counts == 4).all()
    for k, row in enumerate(rows):
        axis = np.abs(normals[k]).argmax()
        ways = np.stack([first[row, 3:] - second[row, :3], second[row, 3:] - first[row, :3]])
        assert depths[k] == pytest.approx(ways.min(), abs=1e-14)
        assert depths[k] == pytest.approx(ways[int(normals[k, axis] < 0), axis], abs=1e-14)
        others = [other for other in range(3) if other != axis]
        expected = {(x, y) for x in (0, 1) for y in (0, 1)}
        spans = np.stack([lower[row, others], upper[row, others]])
        found = {tuple(np.abs(spans - point[others]).argmin(axis=0)) for point in points[k]}
        assert found == expected
        assert np.abs(points[k][:, others] - spans[0]).min(axis=0) == pytest.approx([0, 0], abs=1e-14)
        # Between the face of the first and that of the second.
        face = first[row, axis + 3 * (normals[k, axis] > 0)] - normals[k, axis] * depths[k] / 2
        assert points[k][:, axis] == pytest.approx(face, abs=1e-14)


FLOOR = boxes([-10, -10, -2, 10, 10, 0])
HALF = np.sqrt(0.5)


@pytest.mark.parametrize(
    ("name", "thing", "count", "depth"),
    [
        ("a ball", ("BALL", [1, 2, 0.9, 1]), 1, 0.1),
        ("a ball within", ("BALL", [1, 2, -0.5, 1]), 1, 1.5),
        ("a standing capsule", ("CAPSULE", [0, 0, 0.9, 0, 0, 5, 1]), 1, 0.1),
        ("a lying capsule", ("CAPSULE", [0, 0, 0.9, 5, 0, 0.9, 1]), 2, 0.1),
        ("a leaning capsule", ("CAPSULE", [0, 0, 0.9, 5, 0, 4, 1]), 1, 0.1),
        ("a lying segment", ("SEGMENT", [0, 0, 0, 5, 0, 0]), 2, 0),
        ("a segment over the rim", ("SEGMENT", [0, 0, 0, 50, 0, 0]), 2, 0),
        ("a lying triangle", ("TRIANGLE", [0, 0, -0.1, 1, 0, -0.1, 0, 1, -0.1]), 3, 0.1),
        ("a triangle on its edge", ("TRIANGLE", [0, 0, -0.1, 1, 0, -0.1, 0, 1, 5]), 2, 0.1),
        ("a triangle on its corner", ("TRIANGLE", [0, 0, -0.1, 1, 0, 4, 0, 1, 5]), 1, 0.1),
        ("a box", ("ORIENTED_BOX", [0, 0, 0.9, 2, 3, 1, HALF, HALF, 0, -HALF, HALF, 0, 0, 0, 1]), 4, 0.1),
        ("a box on its edge", ("ORIENTED_BOX", [0, 0, 1.4, 1, 1, 1, 1, 0, 0, 0, HALF, HALF, 0, -HALF, HALF]), 2, None),
        ("a point", ("POINT", [0, 0, -0.5]), 1, 0.5),
    ],
)
def test_things_on_a_floor_touch_it_where_they_lie(name, thing, count, depth):
    thing = thing[0], np.array([thing[1]], dtype=float)
    for first, second, side in ((FLOOR, thing, 1), (thing, FLOOR, -1)):
        normals, depths, counts, points = contacts(first, second)
        assert normals[0] == pytest.approx([0, 0, side], abs=1e-12)
        assert counts[0] == count
        assert depths[0] == pytest.approx(2 * HALF + 0 - 1.4 if depth is None else depth, abs=1e-12)
        assert points[0][0][2] == pytest.approx(-depths[0] / 2, abs=1e-12)


def test_parallel_capsules_touch_at_two_points_and_crossed_ones_at_one():
    first = "CAPSULE", np.array([[0, 0, 0, 4, 0, 0, 1], [0, 0, 0, 4, 0, 0, 1.0]])
    second = "CAPSULE", np.array([[1, 0, 1.5, 9, 0, 1.5, 1], [2, -3, 1.5, 2, 3, 1.5, 1.0]])
    normals, depths, counts, points = contacts(first, second)
    assert normals == pytest.approx(np.array([[0, 0, 1], [0, 0, 1]]))
    assert depths == pytest.approx([0.5, 0.5])
    assert counts.tolist() == [2, 1]
    assert sorted(points[0, :2, 0]) == pytest.approx([1, 4])
    assert points[1, 0] == pytest.approx([2, 0, 0.75])


def test_edges_that_cross_touch_at_one_point():
    rod = "ORIENTED_BOX", np.array([[0, 0, 0, 5, 1, 1, 1, 0, 0, 0, HALF, HALF, 0, -HALF, HALF]])
    other = "ORIENTED_BOX", np.array([[0, 0, 2.5, 1, 5, 1, HALF, 0, HALF, 0, 1, 0, -HALF, 0, HALF]])
    normals, depths, counts, points = contacts(rod, other)
    assert normals[0] == pytest.approx([0, 0, 1])
    assert depths[0] == pytest.approx(4 * HALF - 2.5)
    assert counts[0] == 1
    assert points[0, 0] == pytest.approx([0, 0, 1.25])


@pytest.mark.parametrize("kind", ["BOX", "ORIENTED_BOX"])
@pytest.mark.parametrize(("shift", "count"), [((2, 0.5, 0.5), 4), ((2, 2, 0.5), 2), ((2, 2, 2), 1), ((2, 2, 0), 2)])
def test_boxes_that_meet_in_an_edge_or_a_corner_touch_at_no_point_twice(kind, shift, count):
    if kind == "BOX":
        box = np.array([[-1, -1, -1, 1, 1, 1.0]])
    else:
        box = np.array([[0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1.0]])
    _, depths, counts, points = contacts((kind, box), (kind, moved(kind, box, np.array([shift], dtype=float))))
    assert depths[0] == 0
    assert counts[0] == count
    assert len(np.unique(points[0, :count], axis=0)) == count


BETWEEN_NEEDLE = [
    *(-2.0000003586644377, 1.9999996989235227, -0.9999998848239625),
    *(-2.0000003092768592, 0.9999996989235443, -0.9999996825225932),
    *(-2.000000161114124, -2.000000301076391, -0.9999990756184853),
]
BETWEEN_TRIANGLE = [
    *(1.999999998132631, -1.0000000037347379, -2.335895179842133e-09),
    *(-1.9999999993590352, 2.6807723305401695e-09, 1.0000000012819297),
    *(1.867368960364409e-09, 1.0, 1.053965587640621e-09),
]


@pytest.mark.parametrize(
    ("box", "triangle"),
    [([1.0, 1.0, 0.0, 2.0, 2.0, 2.0], BETWEEN_NEEDLE), ([-2.0, 2.0, -1.0, -1.0, 4.0, -1.0], BETWEEN_TRIANGLE)],
)
def test_normal_between_an_edge_and_its_end_is_that_of_the_widest_gap(box, triangle):
    # A corner of the box is as near to the end of an edge as to the edge, but for rounding.
    first, second = ("BOX", np.array([box])), ("TRIANGLE", np.array([triangle]))
    found, normals = distances(first, second)
    np.testing.assert_allclose(gaps_along(normals, first, second), found, rtol=1e-12)
