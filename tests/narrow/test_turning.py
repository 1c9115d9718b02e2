"""Times of impact of shapes that move and rotate: against samples of their gap, closed forms and each other."""

import re
import time

import numpy as np
import pytest

import broadphase as bp
from turning_cases import check_pairs, narrow_impacts, random_pairs

NEVER = np.inf


def impact(shape, other, place=None, *, dimension=2, rotations=None, other_rotations=None, **given):
    """Let the first shape move from the origin, the second from `place`: when they meet, and the normal."""
    given.setdefault("motions", [0.0] * dimension)
    found = bp.time_of_impact(
        bp.Shapes(shape, [[0.0] * dimension], rotations),
        bp.Shapes(other, [[0.0] * dimension if place is None else place], other_rotations),
        pairs=[[0, 0]],
        **given,
    )
    return float(found.times[0]), found.normals[0]


@pytest.mark.parametrize(("dimension", "count"), [(2, 300), (3, 80)])
def test_nothing_is_missed_and_nothing_is_invented_among_random_motions(dimension, count):
    rng = np.random.default_rng([1, dimension])
    made = random_pairs(rng, dimension, count, grazing=0.3)
    hits, later, _ = check_pairs(made, narrow_impacts(made), f"dimension {dimension}")
    assert hits > count / 10
    assert later > count / 20


def test_blade_meets_a_coin_at_the_time_of_the_closed_form():
    place, reach = np.array([4.0, 4.0]), np.linalg.norm([4, 4])
    for turn in (np.pi / 2, 2 * np.pi, -3 * np.pi, 40 * np.pi):
        angle = np.pi / 4 if turn > 0 else 2 * np.pi - np.pi / 4
        when = (angle - np.arcsin(1 / reach)) / abs(turn)
        found, normal = impact(bp.Segment((0, 0), (9, 0)), bp.Circle(1), place, angular_motions=turn)
        assert found == pytest.approx(when, abs=1e-12)
        along = np.sign(turn) * when * abs(turn)
        np.testing.assert_allclose(normal, np.array([-np.sin(along), np.cos(along)]) * np.sign(turn), atol=1e-9)
    # The same, seen from the blade.
    found, _ = impact(bp.Segment((0, 0), (9, 0)), bp.Circle(1), place, angular_motions=np.pi / 4)
    back, _ = impact(bp.Circle(1), bp.Segment((0, 0), (9, 0)), -place, other_angular_motions=np.pi / 4)
    assert found == back


def test_end_of_an_arm_meets_a_wall_in_space_at_the_time_of_the_closed_form():
    wall = bp.Box(1, 100, 100)
    for axis in ([0, 0, 1], [0, 3, 0], [0, 0, -1], [1, 0, 0]):
        # An arm along y, of length 2, a ball at its end; the wall begins at x = -1 - 0.25.
        turn = np.array(axis) * (np.pi / 2)
        arm = bp.Sphere(0.25, offset=(0, 2, 0))
        found, normal = impact(arm, wall, [-1.75, 0, 0], dimension=3, angular_motions=turn)
        if axis != [0, 0, 1]:
            assert found == NEVER
            continue
        assert found == pytest.approx(np.arcsin(0.5) / (np.pi / 2), abs=1e-11)
        np.testing.assert_allclose(normal, [-1, 0, 0], atol=1e-12)


def test_rotation_vectors_of_several_turns_end_where_they_say():
    # A capsule whose end comes to a point at the very end, after whole turns.
    for turns in (0, 1, 2, 7):
        angle = 2 * np.pi * turns + 1.0
        at = 2 * np.array([np.cos(1.0), np.sin(1.0), 0])
        rod = bp.Segment((0, 0, 0), (2, 0, 0))
        found, _ = impact(rod, bp.Sphere(1e-3), at, dimension=3, angular_motions=(0, 0, angle))
        assert found == pytest.approx((1.0 - 5e-4) / angle, abs=1e-7)
        # Beside its plane it never comes.
        assert (
            impact(rod, bp.Sphere(1e-3), at + np.array([0, 0, 2e-3]), dimension=3, angular_motions=(0, 0, angle))[0]
            == NEVER
        )


def test_motions_without_rotation_and_balls_that_rotate_are_those_of_straight_ones_bit_by_bit():
    rng = np.random.default_rng(3)
    n = 400
    hull = bp.ConvexHull(rng.normal(size=(9, 3)))
    plane = [bp.Rectangle(2, 1), bp.Circle(1), bp.Capsule((0, 0), (1, 1), 0.2), bp.AABB(1, 2)]
    space = [bp.Box(2, 1, 1), bp.Sphere(1), hull, bp.AABB(1, 2, 1)]
    for dimension, shapes in ((2, plane), (3, space)):
        rotations = rng.uniform(0, 6, n) if dimension == 2 else rng.normal(size=(n, 4))
        placed = bp.Shapes(shapes * (n // 4), rng.normal(0, 3, (n, dimension)), rotations)
        pairs, motions = rng.integers(0, n, (n, 2)), rng.normal(0, 5, (n, dimension))
        expected = bp.time_of_impact(placed, pairs=pairs, motions=motions)
        turns = np.zeros(n) if dimension == 2 else np.zeros((n, 3))
        found = bp.time_of_impact(placed, pairs=pairs, motions=motions, angular_motions=turns)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        round_ones = (pairs % 4 % 2 == 1).all(1)  # balls, and boxes that never turn
        turns = turns + 1.0
        turned = bp.time_of_impact(
            placed, pairs=pairs, motions=motions, angular_motions=turns, other_angular_motions=turns
        )
        for one, other in zip(turned, expected, strict=True):
            np.testing.assert_array_equal(one[round_ones], other[round_ones])
        assert np.isfinite(expected.times).sum() > 20


def test_target_is_a_distance_at_which_shapes_count_as_met():
    discs = bp.Shapes(bp.Circle(1), [[0, 0], [10, 0]])
    for target, when in ((0.0, 0.5), (2.0, 0.375), (8.0, 0.0), (9.0, 0.0)):
        found = bp.time_of_impact(discs, pairs=[[0, 1]], motions=(16, 0), target=target)
        assert found.times == pytest.approx([when], abs=1e-12)
        np.testing.assert_allclose(found.normals, [[1, 0]], atol=1e-12)
    found = bp.time_of_impact(discs, pairs=[[0, 1]] * 3, motions=(16, 0), target=[0, 2, 4])
    assert found.times == pytest.approx([0.5, 0.375, 0.25], abs=1e-12)
    # They pass each other at a gap of 1.7, and at the corner of a box at one of 0.5.
    assert bp.time_of_impact(discs, pairs=[[0, 1]], motions=(20, 8), target=0.5).times.tolist() == [NEVER]
    when, _ = impact(bp.Rectangle(2, 2), bp.Circle(1), (0, 5), angular_motions=np.pi / 4, target=4 - np.sqrt(2))
    assert when == pytest.approx(1.0, abs=1e-6)
    assert impact(bp.Rectangle(2, 2), bp.Circle(1), (0, 5), angular_motions=7.0, target=2.58)[0] == NEVER
    assert impact(bp.Box(2, 2, 2), bp.Sphere(1), (0, 0, 5), dimension=3, motions=(0, 0, 6), target=1.0)[
        0
    ] == pytest.approx(1 / 3)


@pytest.mark.parametrize("dimension", [2, 3])
def test_shapes_that_touch_at_the_start_have_time_0_and_the_normal_of_their_distance(dimension):
    rng = np.random.default_rng(dimension)
    made = random_pairs(rng, dimension, 150, grazing=0.0)
    found = narrow_impacts(made)
    at_once = found.times == 0
    assert at_once.sum() > 5
    for k in np.flatnonzero(at_once):
        shape, a, other, b = made[k]
        turned = [body.rotation if dimension == 3 else body.rotation[0] for body in (a, b)]
        sides = bp.Shapes(shape, [a.place - b.place], [turned[0]]), bp.Shapes(other, [b.place * 0], [turned[1]])
        if any(isinstance(each, bp.Mesh | bp.Compound) for each in (shape, other)):
            continue  # of several parts, other ones may be as near
        gaps, normals = bp.narrow.row_pairs.separations(*sides, *np.zeros((2, 1), np.int32))
        assert gaps[0] <= 1e-12
        np.testing.assert_allclose(found.normals[k], normals[0], atol=1e-6)


def test_answers_do_not_depend_on_size_place_and_order():
    rng = np.random.default_rng(5)
    for dimension, count in ((2, 60), (3, 40)):
        made = random_pairs(rng, dimension, count, grazing=0.0)
        expected = narrow_impacts(made)
        swapped = narrow_impacts([(other, b, shape, a) for shape, a, other, b in made])
        np.testing.assert_allclose(swapped.times, expected.times, rtol=1e-9, atol=1e-9)
        clear = np.isfinite(expected.times) & (expected.times > 0)
        np.testing.assert_allclose(swapped.normals[clear], -expected.normals[clear], atol=1e-5)
        far = [
            (shape, a._replace(place=a.place + 1e3), other, b._replace(place=b.place + 1e3))
            for shape, a, other, b in made
        ]
        np.testing.assert_allclose(narrow_impacts(far).times, expected.times, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1e9, 1e30])
def test_times_of_tiny_and_huge_shapes_are_those_of_others(scale):
    blade = bp.Rectangle(9 * scale, 0.25 * scale)
    found, normal = impact(blade, bp.Circle(scale), (0, 3 * scale), angular_motions=2.0, motions=(0, -scale))
    expected, expected_normal = impact(
        bp.Rectangle(9, 0.25), bp.Circle(1), (0, 3), angular_motions=2.0, motions=(0, -1)
    )
    assert found == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(normal, expected_normal, atol=1e-9)


def test_hulls_meshes_and_compounds_meet_when_boxes_of_their_form_do():
    rng = np.random.default_rng(8)
    corners = np.array([[x, y, z] for x in (-1.0, 1) for y in (-0.2, 0.2) for z in (-0.5, 0.5)])
    faces = bp.ConvexHull(corners)
    triangles = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6],
                 [0, 6, 4], [1, 5, 7], [1, 7, 3]]  # fmt: skip
    halves = bp.Compound([bp.Box(1, 0.4, 1, offset=(-0.5, 0, 0)), bp.Box(1, 0.4, 1, offset=(0.5, 0, 0))])
    forms = [bp.Box(2, 0.4, 1), faces, bp.Mesh(corners, np.array(triangles)), halves]
    n = 150
    places, others = rng.normal(0, 0.8, (n, 3)), rng.normal(0, 0.8, (n, 3))
    rotations, other_rotations = rng.normal(size=(n, 4)), rng.normal(size=(n, 4))
    given = {
        "pairs": np.stack([np.arange(n)] * 2, 1),
        "motions": rng.normal(0, 2, (n, 3)),
        "angular_motions": rng.normal(0, 2, (n, 3)),
        "other_angular_motions": rng.normal(0, 2, (n, 3)),
    }
    found = [
        [
            bp.time_of_impact(
                bp.Shapes(one, places, rotations), bp.Shapes(other, others, other_rotations), **given
            ).times
            for other in forms
        ]
        for one in forms
    ]
    expected = found[0][0]
    apart = expected > 0  # inside each other meshes do not touch
    assert (np.isfinite(expected) & apart).sum() > 30
    for row in found:
        for times in row:
            np.testing.assert_allclose(times[apart], expected[apart], atol=1e-9)


def test_mesh_of_many_triangles_meets_as_finely_as_sampled():
    around, across = (np.linspace(0, 2 * np.pi, count, endpoint=False) for count in (40, 12))
    rings = [
        np.stack([np.cos(around) * out, np.sin(around) * out, np.full(40, 0.5 * np.sin(angle))], 1)
        for angle, out in zip(across, 2 + 0.5 * np.cos(across), strict=True)
    ]
    i, j = np.meshgrid(np.arange(12), np.arange(40), indexing="ij")
    a, b, c, d = ((i + di) % 12 * 40 + (j + dj) % 40 for di, dj in ((0, 0), (0, 1), (1, 0), (1, 1)))
    torus = bp.Mesh(
        np.concatenate(rings), np.concatenate([np.stack(t, -1).reshape(-1, 3) for t in ((a, b, d), (a, d, c))])
    )
    rng = np.random.default_rng(2)
    for other in (torus, bp.Box(3, 0.3, 0.3), bp.ConvexHull(rng.normal(0, 0.4, (12, 3)))):
        for _ in range(4):
            place, motion, turn, back = rng.normal(0, 1.6, 3), rng.normal(0, 2, 3), *rng.normal(0, 2, (2, 3))
            when, _ = impact(torus, other, place, dimension=3, motions=motion, angular_motions=turn,
                             other_angular_motions=back)  # fmt: skip

            def gap(share, other=other, place=place, motion=motion, turn=turn, back=back):
                def quaternion(v):
                    angle = max(np.linalg.norm(v), 1e-100)
                    return [np.cos(angle / 2), *(np.sin(angle / 2) * v / angle)]

                return bp.distance(
                    bp.Shapes(torus, [motion * share], [quaternion(turn * share)]),
                    bp.Shapes(other, [place], [quaternion(back * share)]),
                    pairs=[[0, 0]],
                )[0]

            if when < NEVER:
                assert gap(when) < 1e-9
            if when > 0:
                assert min(gap(share) for share in np.linspace(0, min(when, 1.0), 60)) > -1e-9


def test_what_slides_along_a_surface_at_a_small_gap_does_not_touch_and_takes_no_time():
    began = time.thread_time()
    for gap in (1e-2, 1e-5, 1e-8):
        # A box that spins on a floor, a shaft in its bearing, and an arm around a disc.
        floor, box = bp.Box(100, 100, 2), bp.Box(2, 1, 1)
        assert impact(box, floor, (0, 0, -1.5 - gap), dimension=3, angular_motions=(0, 0, 100.0))[0] == NEVER
        bearing = bp.Compound(
            [bp.Rectangle(9, 1, offset=(0, side * (1.5 + gap))) for side in (1, -1)]
            + [bp.Rectangle(1, 9, offset=(side * (1.5 + gap), 0)) for side in (1, -1)]
        )
        shaft = bp.Circle(1)
        assert impact(bearing, shaft, angular_motions=100.0)[0] == NEVER
        assert impact(bp.Segment((-3, 1 + gap), (3, 1 + gap)), shaft, angular_motions=100.0)[0] == NEVER
        assert impact(bp.Point(offset=(1 + gap, 0)), shaft, angular_motions=100.0)[0] == NEVER
        assert impact(bp.Point(offset=(1 + gap, 0)), shaft, angular_motions=100.0, motions=(2 * gap, 0.0))[0] < 1
    assert time.thread_time() - began < 2.0


def test_fast_shapes_meet_at_any_speed():
    for speed in (10.0, 1e6, 1e12):
        blade, coin = bp.Rectangle(4, 0.2), bp.Circle(0.1)
        when, _ = impact(blade, coin, (speed / 2, 0.0), motions=(speed, 0.0), angular_motions=np.pi)
        # At half the time it stands upright.
        assert when == pytest.approx(0.5 - 0.2 / speed, abs=1.0 / speed)
        assert impact(blade, coin, (speed / 2, 2.2), motions=(speed, 0.0), angular_motions=np.pi)[0] == NEVER


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"angular_motions": [0.0, np.nan]}, "angular_motions: row 1 has nan, which is not finite"),
        ({"angular_motions": 1e9}, "angular_motions: row 0 has 1000000000.0, which is beyond 62831.853071795864"),
        ({"other_angular_motions": [1.0, np.inf]}, "other_angular_motions: row 1 has inf, which is not finite"),
        ({"angular_motions": [1.0, 2, 3]}, "angular_motions must be one angle or have shape (2,), not (3,)"),
        ({"target": -1.0}, "target: row 0 has -1.0, which is not from 0 to 1e+40"),
        ({"target": [0.0, np.nan]}, "target: row 1 has nan, which is not from 0 to 1e+40"),
        ({"target": np.inf}, "target: row 0 has inf, which is not from 0 to 1e+40"),
        ({"target": [[1.0]]}, "target must be one number or have shape (2,), not (1, 1)"),
    ],
)
def test_angular_motions_and_targets_that_are_wrong_name_the_row(given, error):
    discs = bp.Shapes(bp.Rectangle(1, 1), [[0, 0], [5, 0]])
    with pytest.raises(ValueError, match=re.escape(error)):
        bp.time_of_impact(discs, pairs=[[0, 1], [1, 0]], motions=(1, 0), **given)


def test_rotation_vectors_that_are_wrong_name_the_row():
    boxes = bp.Shapes(bp.Box(1, 1, 1), [[0, 0, 0], [5, 0, 0]])
    with pytest.raises(ValueError, match=re.escape("angular_motions must have shape (1, 3) or (3,), not (2,)")):
        bp.time_of_impact(boxes, pairs=[[0, 1]], motions=(1, 0, 0), angular_motions=(1, 2))
    assert (
        len(bp.time_of_impact(boxes, pairs=np.empty((0, 2), int), motions=(1, 0, 0), angular_motions=(1, 2, 3)).times)
        == 0
    )
