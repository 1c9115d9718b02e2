"""Height fields against their prisms in plain NumPy, closed formulas, and a mesh of the same triangles."""

import pickle

import numpy as np
import pytest

import broadphase as bp
from oracles.height_fields import prisms_of, ray_hits, surface
from oracles.shapes import parts_of, shape_distance
from shape_cases import Numbers, quaternions, shape_of

CONVEX = ["Point", "Sphere", "Segment", "Capsule", "AABB", "Box", "Triangle", "ConvexHull"]
FORMS = ["hills", "ridges", "flat", "plate", "cliffs"]


def field_of(rng, form, rows, columns, **placing):
    heights = {
        "hills": lambda: rng.normal(size=(rows, columns)) * 0.5,
        "ridges": lambda: rng.integers(-1, 2, (rows, columns)).astype(float),
        "flat": lambda: np.full((rows, columns), 0.25),
        "plate": lambda: np.zeros((rows, columns)),
        "cliffs": lambda: rng.choice([0.0, 30.0], (rows, columns)),
    }[form]()
    bottom = {"plate": 0.0, "hills": None}.get(form, heights.min() - 0.5)
    return bp.HeightField(heights, (1.0, 0.75), bottom, **placing)


def mesh_of(field, **placing):
    return bp.Mesh(field.vertices, field.faces, **placing)


def placed(shape, position=(0, 0, 0), rotation=None):
    return bp.Shapes(shape, [position], None if rotation is None else [rotation])


def meet(one, other):
    found = len(bp.overlaps(one, other)) == 1
    assert len(bp.overlaps(other, one)) == len(bp.overlaps(one, other, [[0, 0]])) == found
    return found


def moved(parts, by):
    return [part._replace(points=part.points + by) for part in parts]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CONVEX)
def test_a_convex_shape_beside_a_field_is_as_far_as_from_its_prisms(form, name):
    rng = np.random.default_rng([FORMS.index(form), CONVEX.index(name)])
    checked = {True: 0, False: 0}
    for case in range(24):
        turns = {"rotation": quaternions(rng), "offset": rng.normal(size=3)} if case % 2 else {}
        field = field_of(rng, form, *rng.integers(2, 5, 2), **turns)
        shape = shape_of(name, Numbers(rng, 3))
        prisms = prisms_of(field)
        at = rng.normal(prisms[rng.integers(len(prisms))].points.mean(axis=0), 0.8)
        at -= parts_of(shape, np.zeros(3))[0].points.mean(axis=0)
        a, b = placed(shape, at), placed(field)
        parts = parts_of(shape, at)
        wanted = shape_distance(prisms, parts)
        scale = 1e-9 * max(1, np.abs(field.bounds).max())
        (found,), (normal,) = bp.narrow.row_pairs.separations(a, b, *np.zeros((2, 1), np.int32))
        assert bp.distance(b, a)[0] == bp.distance(a, b)[0] == found
        if wanted > scale:
            assert found == pytest.approx(wanted, abs=scale)
            assert not meet(a, b)
        elif wanted < -scale:
            assert meet(a, b)
            # At least as deep as in any of the prisms, and out of all of them after moving so far.
            assert found <= wanted + scale
            assert shape_distance(prisms, moved(parts, normal * (found - scale))) >= -scale
        checked[bool(wanted > 0)] += 1
    assert all(checked.values()) or form in ("plate", "cliffs")


def test_the_depth_of_a_ball_on_a_plane_is_exact():
    rng = np.random.default_rng(2)
    x, y = np.meshgrid(np.arange(9.0), np.arange(7.0))
    for _ in range(20):
        slopes = rng.normal(size=2)
        field = bp.HeightField(slopes[0] * x + slopes[1] * y)
        up = np.array([*-slopes, 1]) / np.hypot(1, np.hypot(*slopes))
        foot = np.append(rng.uniform(-1, 1, 2), 0)
        foot[2] = surface(field, *foot[:2])
        for height in (0.3, 0.1, 0.0, -0.2, -1.0):
            ball = placed(bp.Sphere(0.25), foot + height * up)
            assert bp.distance(ball, placed(field))[0] == pytest.approx(height - 0.25, abs=1e-9)
            if height < 0.25:
                hit = bp.contacts(ball, placed(field), [[0, 0]])
                assert np.allclose(hit.normals, -up, atol=1e-7)
                assert hit.depths[0] == pytest.approx(0.25 - height, abs=1e-9)
                assert np.allclose(hit.points[0, 0], foot + up * (height - 0.25) / 2, atol=1e-7)


def test_a_ball_that_slides_over_flat_ground_has_the_same_normal_everywhere():
    field = placed(bp.HeightField(np.zeros((6, 6))))
    places = np.stack([*np.meshgrid(np.linspace(-2, 2, 33), np.linspace(-2, 2, 33)), np.full((33, 33), 0.4)], axis=2)
    balls = bp.Shapes(bp.Sphere(0.5), places.reshape(-1, 3))
    pairs = np.stack([np.zeros(len(balls), int), np.arange(len(balls))], axis=1)
    hits = bp.contacts(field, balls, pairs)
    assert (hits.normals == [0, 0, 1]).all()
    assert np.allclose(hits.depths, 0.1, rtol=0, atol=1e-12)
    assert (hits.counts == 1).all()


@pytest.mark.parametrize("size", [0.3, 1.0, 2.6])
@pytest.mark.parametrize("deep", [0.0, 0.05, 0.2])
def test_a_box_on_flat_ground_rests_on_four_corners(size, deep):
    rng = np.random.default_rng(3)
    field = placed(bp.HeightField(np.zeros((14, 15)), 0.5))
    for _ in range(10):
        at, turn = rng.uniform(-0.3, 0.3, 2), rng.uniform(0, np.pi)
        box = placed(bp.Box(size, size, 1), [*at, 0.5 - deep], [np.cos(turn / 2), 0, 0, np.sin(turn / 2)])
        hit = bp.contacts(field, box, [[0, 0]])
        assert np.allclose(hit.normals, [0, 0, 1], rtol=0, atol=1e-12)
        assert hit.depths[0] == pytest.approx(deep, abs=1e-12)
        assert hit.counts[0] == 4
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * size / 2
        corners = corners @ [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]] + at
        apart = np.linalg.norm(hit.points[0, :, np.newaxis, :2] - corners, axis=2).min(axis=0)
        assert np.allclose(apart, 0, atol=1e-9)
        assert np.allclose(hit.points[0, :, 2], -deep / 2, atol=1e-9)


def test_a_box_against_a_step_is_pushed_back_from_it():
    heights = np.zeros((5, 6))
    heights[:, 3:] = 10
    field = placed(bp.HeightField(heights))  # the step is between x = -0.5 and x = 0.5
    slope = np.array([-10, 0, 1]) / np.sqrt(101)
    box = placed(bp.Box(1, 1, 1), [-0.5 - 0.5, 0, 5.0])
    gap = ((-1.0 + 0.5) * -10 + 5 - 0.5 - 5) / np.sqrt(101)  # of its lower corner from the plane through (0, 5)
    assert bp.distance(box, field)[0] == pytest.approx(gap, abs=1e-12)
    for deep in (1e-6, 1e-3, 0.1):
        inside = placed(bp.Box(1, 1, 1), [-1, 0, 5] - slope * (gap + deep))
        hit = bp.contacts(inside, field, [[0, 0]])
        assert hit.depths[0] == pytest.approx(deep, abs=1e-9)
        assert np.allclose(hit.normals[0], -slope, atol=1e-9)


@pytest.mark.parametrize(
    ("at", "normal", "depth"),
    [
        ([0, 0, 0.3], [0, 0, 1], 0.2),  # above
        ([0, 0, -3.9], [0, 0, -1], 0.6),  # sticks out below
        ([2.2, 0, -2], [1, 0, 0], 0.3),  # at each wall
        ([-2.2, 0, -2], [-1, 0, 0], 0.3),
        ([0, 2.2, -2], [0, 1, 0], 0.3),
        ([0, -2.2, -2], [0, -1, 0], 0.3),
        ([2.3, 2.3, -2], np.array([1, 1, 0]) / 2**0.5, 0.5 - 0.3 * 2**0.5),  # at an edge between walls
        ([0, 0, -1.0], [0, 0, 1], 1.5),  # wholly in the ground
        ([0, 2.3, 0.3], np.array([0, 1, 1]) / 2**0.5, 0.5 - 0.3 * 2**0.5),
    ],
)
def test_a_ball_leaves_a_block_of_ground_by_the_shortest_way(at, normal, depth):
    field, ball = placed(bp.HeightField(np.zeros((5, 5)))), placed(bp.Sphere(0.5), at)
    hit = bp.contacts(field, ball, [[0, 0]])
    assert hit.depths[0] == pytest.approx(depth, abs=1e-9)
    assert np.allclose(hit.normals[0], normal, atol=1e-6)


@pytest.mark.parametrize("turned", [False, True])
def test_round_shapes_over_many_cells_only_touch_after_the_motion_of_their_depth(turned):
    rng = np.random.default_rng([9, turned])
    heights = rng.normal(size=(40, 50)) * 0.1 + np.sin(np.arange(50) / 4)
    field = placed(bp.HeightField(heights, 0.1), rotation=quaternions(rng) if turned else None)
    for shape in (bp.Sphere(0.45), bp.Capsule((0, 0, 0), (0.3, 0.2, 0.1), 0.25)):
        centre = (field.boxes[0, 0] + field.boxes[0, 1]) / 2
        shapes = bp.Shapes(shape, centre + rng.uniform(-1, 1, (40, 3)))
        pairs = np.stack([np.arange(40), np.zeros(40, int)], axis=1)
        hits = bp.contacts(shapes, field, pairs)
        assert len(hits.pairs) > 10
        rows = hits.pairs[:, 0]
        assert np.allclose(bp.distance(shapes, field, pairs=hits.pairs), -hits.depths, rtol=0, atol=1e-9)
        out = bp.Shapes(shape, shapes.positions[rows] - hits.normals * (hits.depths + 1e-7)[:, np.newaxis])
        left = bp.distance(out, field, pairs=np.stack([np.arange(len(rows)), np.zeros(len(rows), int)], axis=1))
        assert (left >= 0).all()
        assert (left <= 2e-7).all()


@pytest.mark.parametrize("form", [form for form in FORMS if form != "plate"])
def test_rays_enter_where_they_enter_the_first_prism(form):
    rng = np.random.default_rng(5)
    for case in range(12):
        turns = {"rotation": quaternions(rng), "offset": rng.normal(size=3)} if case % 2 else {}
        field = field_of(rng, form, *rng.integers(2, 7, 2), **turns)
        prisms = prisms_of(field)
        targets = np.concatenate([prism.points for prism in prisms])
        origins = rng.normal(size=(40, 3)) * 4
        aims = targets[rng.integers(len(targets), size=40)] + rng.normal(size=(40, 3)) * rng.choice([0.1, 1.0])
        ways = aims - origins
        ways[rng.random(40) < 0.2, :2] = 0
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        shapes = bp.Shapes(field, np.zeros((1, 3)))
        hits = bp.raycast(shapes, origins, ways, rows=np.zeros(40, int))
        wanted = np.array([ray_hits(prisms, *ray) for ray in zip(origins, ways, strict=True)])
        assert np.array_equal(np.isfinite(wanted), hits.rows >= 0)
        hit = hits.rows >= 0
        assert np.allclose(hits.distances[hit], wanted[hit], rtol=0, atol=1e-9)
        ahead = (hits.normals[hit] * ways[hit]).sum(axis=1)
        assert (ahead <= 1e-12).all()
        assert np.allclose(np.linalg.norm(hits.normals[hit], axis=1), 1)


def test_rays_from_above_hit_what_they_hit_of_a_mesh():
    rng = np.random.default_rng(6)
    field = bp.HeightField(rng.normal(size=(70, 90)).cumsum(axis=1) * 0.2, (0.5, 0.25))
    origins = rng.uniform(field.bounds[0], field.bounds[1], (3000, 3))
    origins[:, 2] = field.heights.max() + 0.1
    ways = rng.normal(size=(3000, 3)) * [1, 1, 0.1]
    ways[:, 2] = -np.abs(ways[:, 2])
    rows = np.zeros(3000, int)
    found = bp.raycast(bp.Shapes(field, [[0, 0, 0]]), origins, ways, rows=rows)
    wanted = bp.raycast(bp.Shapes(mesh_of(field), [[0, 0, 0]]), origins, ways, rows=rows)
    assert np.array_equal(found.rows, wanted.rows)
    hit = found.rows >= 0
    assert hit.sum() > 200
    assert np.allclose(found.distances[hit], wanted.distances[hit], rtol=0, atol=1e-9)
    assert np.allclose(found.normals[hit], wanted.normals[hit], rtol=0, atol=1e-6)


def test_rays_along_grid_lines_and_through_grid_points_do_not_slip_through():
    rng = np.random.default_rng(7)
    field = bp.HeightField(rng.integers(0, 3, (17, 17)))
    points = field.vertices
    for way in ([0, 0, -1], [1, 0, -1], [1, 1, -1], [-1, 1, -2], [0, 1, -3], [1, 2, -4]):
        origins = points - 8.0 * np.array(way) - [0, 0, 1e-7]
        hits = bp.raycast(bp.Shapes(field, [[0, 0, 0]]), origins, way, rows=np.zeros(len(points), int))
        assert (hits.rows == 0).all()
        assert (hits.distances <= 8 * np.linalg.norm(way) + 1e-9).all()


def test_a_ray_that_starts_in_the_ground_hits_at_once():
    field = bp.Shapes(bp.HeightField([[1, 1], [1, 1]]), [[0, 0, 0]])
    hits = bp.raycast(field, [[0, 0, 0.5]], [[0, 3, 4]])
    assert hits.distances[0] == 0
    assert np.allclose(hits.normals[0], [0, -0.6, -0.8])


@pytest.mark.parametrize("form", ["hills", "ridges", "cliffs"])
@pytest.mark.parametrize("name", ["Sphere", "Box", "Capsule", "Triangle", "ConvexHull"])
def test_a_cast_ends_where_the_shape_first_touches(form, name):
    rng = np.random.default_rng([8, FORMS.index(form), CONVEX.index(name)])
    hits = 0
    for case in range(12):
        turns = {"rotation": quaternions(rng)} if case % 2 else {}
        field = field_of(rng, form, 4, 4, **turns)
        shape, begin = shape_of(name, Numbers(rng, 3)), rng.normal(size=3) * 4 + [0, 0, 4]
        motion = rng.normal(size=3) - begin
        time = bp.time_of_impact(placed(shape, begin), placed(field), motions=[motion])
        found = float(time.times[0])
        prisms, parts = prisms_of(field), parts_of(shape, begin)
        gaps = [shape_distance(prisms, moved(parts, motion * t)) for t in np.linspace(0, min(found, 1), 12)[:-1]]
        assert min(gaps) > 0 or found == 0
        if 0 < found <= 1:
            hits += 1
            assert abs(shape_distance(prisms, moved(parts, motion * found))) <= 1e-8
    assert hits > 2


def gap_on_the_way(prisms, shape, begin, motion, turn, share):
    angle = np.linalg.norm(turn)
    rotation = [np.cos(share * angle / 2), *np.sin(share * angle / 2) * turn / angle]
    return shape_distance(prisms, parts_of(shape, begin + share * motion, rotation))


@pytest.mark.parametrize("name", ["Box", "Capsule", "ConvexHull"])
def test_a_cast_that_turns_ends_where_the_shape_first_touches(name):
    rng = np.random.default_rng([9, CONVEX.index(name)])
    hits = 0
    for case in range(12):
        turns = {"rotation": quaternions(rng)} if case % 2 else {}
        field = field_of(rng, "hills", 4, 5, **turns)
        shape, begin = shape_of(name, Numbers(rng, 3)), rng.normal(size=3) * 3 + [0, 0, 4]
        motion, turn = rng.normal(size=3) - begin, rng.normal(size=3)
        time = bp.time_of_impact(placed(shape, begin), placed(field), motions=[motion], angular_motions=[turn])
        found = float(time.times[0])
        parts = prisms_of(field), shape, begin, motion, turn
        gaps = [gap_on_the_way(*parts, t) for t in np.linspace(0, min(found, 1), 25)[:-1]]
        assert min(gaps) > -1e-9 or found == 0
        if 0 < found <= 1:
            hits += 1
            assert abs(gap_on_the_way(*parts, found)) <= 1e-8
    assert hits > 2


def test_compounds_and_meshes_meet_a_field_by_their_parts():
    rng = np.random.default_rng(10)
    touching = 0
    for case in range(30):
        turns = {"rotation": quaternions(rng)} if case % 2 else {}
        field = field_of(rng, "hills", 4, 4, **turns)
        at = rng.normal([0, 0, 2])
        corners = rng.normal(size=(6, 3))
        faces = [[0, 1, 2], [2, 3, 4], [3, 4, 5]]
        triangles = [bp.Triangle(corners[face]) for face in faces]
        wanted = np.array([bp.distance(placed(one, at), placed(field))[0] for one in triangles]).min()
        for whole in (bp.Compound(triangles), bp.Mesh(corners, faces)):
            assert bp.distance(placed(whole, at), placed(field))[0] == pytest.approx(wanted, abs=1e-12)
            assert bp.distance(placed(field), placed(whole, at))[0] == pytest.approx(wanted, abs=1e-12)
            assert meet(placed(whole, at), placed(field)) == (wanted <= 0)
            hit = bp.contacts(placed(whole, at), placed(field), [[0, 0]])
            assert len(hit.pairs) == (wanted <= 0)
            if wanted <= 0:
                assert hit.depths[0] == pytest.approx(-wanted, abs=1e-12)
        meeting = [k for k, one in enumerate(triangles) if meet(placed(one, at), placed(field))]
        found = bp.overlapping_faces(placed(bp.Mesh(corners, faces), at), placed(field), pairs=[[0, 0]])
        assert sorted(found[:, 1].tolist()) == meeting
        assert (found[:, 2] == -1).all()
        touching += wanted <= 0
    assert 3 < touching < 27


def test_two_fields_are_as_far_apart_as_their_prisms():
    rng = np.random.default_rng(11)
    touching = 0
    for case in range(24):
        one, other = field_of(rng, "hills", 3, 4), field_of(rng, "hills", 3, 3)
        turn = quaternions(rng) if case % 3 else [0, 1, 0, 0]
        at = rng.normal(size=3) * 2
        a, b = placed(one), placed(other, at, turn)
        wanted = shape_distance(prisms_of(one), prisms_of(other, at, turn))
        assert meet(a, b) == (wanted <= 0)
        assert bp.distance(a, b)[0] == bp.distance(b, a)[0]
        if wanted > 0:
            assert bp.distance(a, b)[0] == pytest.approx(wanted, abs=1e-9)
        else:
            touching += 1
            hit = bp.contacts(a, b, [[0, 0]])
            apart = prisms_of(other, at + hit.normals[0] * (hit.depths[0] + 1e-9), turn)
            assert hit.depths[0] >= 0
            assert shape_distance(prisms_of(one), apart) >= wanted
    assert 3 < touching < 21


def test_a_field_inside_of_another_one_touches_it():
    large, small = bp.HeightField(np.zeros((5, 5)), 2.0), bp.HeightField([[0, 0], [0, 0.1]], 0.5, -0.25)
    for a, b in ((large, small), (small, large)):
        shift = [0, 0, -1.0]
        one, other = (placed(a), placed(b, shift)) if a is large else (placed(a, shift), placed(b))
        assert meet(one, other)
        assert bp.distance(one, other)[0] < 0
        assert bp.contacts(one, other, [[0, 0]]).depths[0] == -bp.distance(one, other)[0]


@pytest.mark.parametrize("exponent", [-6, 0, 6])
def test_a_field_far_away_or_of_another_size_has_the_same_distances(exponent):
    rng = np.random.default_rng(12)
    heights, scale = rng.normal(size=(6, 5)), 2.0**exponent
    shift = np.array([2.0**20, -(2.0**19), 2.0**18])
    for _ in range(20):
        at, radius = rng.normal([0, 0, 1]), rng.random()
        near = bp.distance(placed(bp.Sphere(radius), at), placed(bp.HeightField(heights)))[0]
        field = bp.HeightField(heights * scale, scale)
        far = bp.distance(placed(bp.Sphere(radius * scale), at * scale + shift), placed(field, shift))[0]
        assert far == pytest.approx(near * scale, abs=1e-9)


def test_cliffs_of_a_million_do_not_blur_what_lies_below():
    heights = np.zeros((6, 6))
    heights[2, 3] = 1e6
    field = placed(bp.HeightField(heights))
    ball = placed(bp.Sphere(0.5), [-1.5, 1.5, 0.75])
    assert bp.distance(ball, field)[0] == pytest.approx(0.25, abs=1e-9)
    hits = bp.raycast(bp.Shapes(bp.HeightField(heights), [[0, 0, 0]]), [[-10, -0.5, 5e5]], [[1, 0, 0]])
    assert hits.distances[0] == pytest.approx(10, abs=1e-6)
    assert bp.distance(placed(bp.Sphere(0.5), [0.5, 0.3, 5e5]), field)[0] < 0


def test_shapes_larger_than_the_field_and_inside_of_it():
    field = bp.HeightField([[0, 0], [0, 0]], 1.0, -1.0)
    assert bp.distance(placed(bp.Sphere(50), [0, 0, 60]), placed(field))[0] == pytest.approx(10, abs=1e-9)
    assert bp.distance(placed(bp.Sphere(50), [0, 0, -61]), placed(field))[0] == pytest.approx(10, abs=1e-9)
    hit = bp.contacts(placed(bp.Box(9, 9, 9), [0, 0, 4.25]), placed(field), [[0, 0]])
    assert (hit.depths[0], hit.normals[0].tolist()) == (pytest.approx(0.25), [0, 0, -1])
    inside = bp.contacts(placed(bp.Point(), [0.1, 0, -0.25]), placed(field), [[0, 0]])
    assert inside.depths[0] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 1]],), r"heights must have shape \(rows, columns\), both at least 2, not \(1, 2\)"),
        (([0, 1],), "not \\(2,\\)"),
        (([[0, 1], [2, np.nan]],), "heights: row 1, column 1 is nan, which is not finite"),
        (([[0, 1, np.inf], [2, 0, 0]],), "heights: row 0, column 2 is inf, which is not finite"),
        (([[0, 1], [-1e41, 0]],), "heights: row 1, column 0 is -1e\\+41, which is beyond 1e\\+40"),
        (([[0, 1], [2, 0]], 0.0), "cell must be positive"),
        (([[0, 1], [2, 0]], (1.0, -1.0)), "cell must be positive"),
        (([[0, 1], [2, 0]], np.nan), "cell must be positive"),
        (([[0, 1], [2, 0]], (1.0, 1.0, 1.0)), r"cell must be one number or \(2,\)"),
        (([[0, 1], [2, 0]], 1.0, 0.5), "bottom must be finite and at most 0.0, the lowest height, not 0.5"),
        (([[0, 1], [2, 0]], 1.0, -np.inf), "bottom must be finite"),
    ],
)
def test_what_is_no_terrain_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        bp.HeightField(*arguments)


def test_a_field_keeps_a_copy_and_compares_by_what_it_is():
    heights = np.arange(6.0).reshape(2, 3)
    field = bp.HeightField(heights, (2, 1), offset=[0, 0, 1])
    heights[:] = 9
    assert field.heights.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (field.cell, field.bottom) == ((2.0, 1.0), -1.0)
    assert field == bp.HeightField(np.arange(6).reshape(2, 3), (2, 1), offset=[0, 0, 1])
    assert field != bp.HeightField(np.arange(6).reshape(3, 2), (2, 1), -1, offset=[0, 0, 1])
    assert field != bp.HeightField(np.arange(6).reshape(2, 3), (2, 1), -2, offset=[0, 0, 1])
    assert pickle.loads(pickle.dumps(field)) == field
    assert field.vertices[:4].tolist() == [[-2, -0.5, 0], [0, -0.5, 1], [2, -0.5, 2], [-2, 0.5, 3]]
    assert field.faces.tolist() == [[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]]
    assert repr(field) == "HeightField(<2 x 3 heights>, cell=(2.0, 1.0), bottom=-1.0, offset=[0.0, 0.0, 1.0])"


def test_a_world_with_ground_answers_as_the_narrow_phase():
    rng = np.random.default_rng(13)
    field = bp.HeightField(rng.normal(size=(20, 20)).cumsum(axis=0) * 0.2)
    world = bp.World(3)
    ground = world.add(field, position=(1, 0, 0), body_type="static")
    rows = world.add_many(bp.Sphere(0.4), rng.uniform([-8, -9, -1], [9, 9, 3], (60, 3)))
    frame = world.step(0.0)
    pairs = np.stack([np.zeros(60, int), rows], axis=1)
    touching = bp.overlaps(world.shapes, pairs=pairs)
    met = {tuple(pair) for pair in touching.tolist()}
    assert {tuple(pair) for pair in frame.enter.tolist() if 0 in pair} == met
    assert 5 < len(met) < 60
    origins = rng.uniform([-8, -9, 8], [9, 9, 9], (50, 3))
    hits = world.raycast(origins, np.broadcast_to([0.0, 0.0, -1.0], (50, 3)))
    alone = bp.raycast(bp.Shapes(field, [[1, 0, 0]]), origins, [0, 0, -1], rows=np.zeros(50, int))
    on_ground = hits.rows == 0
    assert on_ground.sum() > 20
    assert np.array_equal(hits.distances[on_ground], alone.distances[on_ground])
    again = bp.World.from_bytes(world.to_bytes())
    assert again.shapes[0] == field
    assert np.array_equal(again.raycast(origins, [0, 0, -1]).distances, hits.distances)
    # A fast ball does not tunnel.
    world.add(bp.Sphere(0.1), position=(0, 0, 50), velocity=(0, 0, -1000), ccd=True)
    assert any(0 in pair for pair in world.step(1.0).enter.tolist())
    assert ground is not None


def test_robots_touch_ground_as_shapes_do():
    rng = np.random.default_rng(14)
    field = bp.HeightField(rng.normal(size=(30, 30)) * 0.2, 0.25)
    leg = bp.Articulated(
        [
            bp.Link("hip", bp.Sphere(0.2), joint="floating"),
            bp.Link("shin", bp.Capsule((0, 0, 0), (0, 0, -0.5), 0.08), "hip", "revolute", axis=(0, 1, 0)),
        ]
    )
    q = rng.normal(size=(200, len(leg.joint_names)))
    scene = bp.Obstacles([field])
    found, gaps = leg.collides(q, scene), leg.clearance(q, scene)
    both = 0
    for values, hit, gap in zip(q, found, gaps, strict=True):
        shapes = leg.placed(values)
        distances = bp.distance(placed(field), shapes)
        assert hit == (distances.min() <= 0)
        assert gap == pytest.approx(max(0, distances.min()), abs=1e-9)
        both += hit
    assert 20 < both < 180


def test_clearances_name_the_nearest_points_of_a_field():
    field = bp.HeightField(np.zeros((4, 4)), bottom=-1)
    shapes = bp.Shapes([field, bp.Sphere(0.5), bp.Box(1, 1, 1)], [[0, 0, 0], [0.25, 0.5, 1.25], [0, 0, 0.25]])
    found = bp.clearances(shapes, max_distance=2.0)
    gaps = {tuple(pair): gap for pair, gap in zip(found.pairs.tolist(), found.gaps, strict=True)}
    assert gaps[0, 1] == pytest.approx(0.75)
    assert gaps[0, 2] == 0
    where = found.points[found.pairs.tolist().index([0, 1])]
    assert np.allclose(where, [[0.25, 0.5, 0], [0.25, 0.5, 0.75]])
