"""Convex hulls in the narrow phase: boxes as the core knows them, and Minkowski differences as Qhull makes them."""

import pickle

import numpy as np
import pytest

import broadphase as bp
from broadphase.narrow import row_pairs
from solid_scenes import CUBE, any_solids, as_compound, every_pair, quaternions, rough_sphere

scipy_spatial = pytest.importorskip("scipy.spatial")

HALF = np.array([0.5, 0.75, 1.25])


def boxes_twice(rng, count, spread=1.5, origin=0.0):
    """Boxes that turn, as hulls of their corners and as the core knows them."""
    places, turns = rng.normal(size=(count, 3)) * spread + origin, quaternions(rng, count)
    hulls = bp.Shapes(bp.ConvexHull(CUBE * HALF, offset=(0.25, 0, 0)), places, turns)
    return hulls, bp.Shapes(bp.Box(*2 * HALF, offset=(0.25, 0, 0)), places, turns)


def others_around(rng, count, spread=1.5, origin=0.0):
    shapes = any_solids(rng, count)
    total = len(shapes)
    return bp.Shapes(shapes, rng.normal(size=(total, 3)) * spread + origin, quaternions(rng, total))


@pytest.mark.parametrize("origin", [0.0, 1000.0])
@pytest.mark.parametrize("seed", range(2))
def test_the_hull_of_a_box_is_that_box(seed, origin):
    rng = np.random.default_rng(seed)
    (hulls, boxes), others = boxes_twice(rng, 6, origin=origin), others_around(rng, 6, origin=origin)
    exact = 1e-12 * (1 + origin)
    for theirs, reference in ((others, others), (hulls, boxes)):
        pairs = every_pair(hulls, theirs)
        if theirs is hulls:
            pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        wanted = bp.distance(boxes, reference, pairs=pairs)
        assert np.abs(bp.distance(hulls, theirs, pairs=pairs) - wanted).max() < exact
        assert np.abs(bp.distance(theirs, hulls, pairs=pairs[:, ::-1]) - wanted).max() < exact
        clear = np.abs(wanted) > exact
        assert (wanted[clear] < 0).sum() > 5 < (wanted[clear] > 0).sum()
        found = bp.overlaps(hulls, theirs, pairs).tolist()
        assert np.array_equal(np.array([pair in found for pair in pairs.tolist()])[clear], (wanted < 0)[clear])


@pytest.mark.parametrize("seed", range(3))
def test_contacts_of_the_hull_of_a_box_are_those_of_the_box(seed):
    rng = np.random.default_rng(seed)
    (hulls, boxes), others = boxes_twice(rng, 8), others_around(rng, 8)
    found, wanted = bp.contacts(hulls, others), bp.contacts(boxes, others)
    assert np.array_equal(found.pairs, wanted.pairs)
    assert len(found.pairs) > 30
    assert np.allclose(found.depths, wanted.depths, atol=1e-9)
    assert (found.depths >= 0).all()
    along = np.einsum("kj,kj->k", found.normals, wanted.normals)
    assert (along > 1 - 1e-6).mean() > 0.95  # but where two ways out are equally long
    turned = bp.contacts(others, hulls, found.pairs[:, ::-1])
    assert np.allclose(turned.depths, found.depths, atol=1e-9)
    assert (found.counts >= 1).all()
    for row, count in enumerate(found.counts):
        points = found.points[row, :count]
        assert np.isfinite(points).all()
        assert np.isnan(found.points[row, count:]).all()
        # Midway between the surfaces: no farther from either than half of what they are in each other.
        probes = bp.Shapes(bp.Point(), points)
        sides = ((hulls, found.pairs[row, 0]), (others, found.pairs[row, 1]))
        for shapes, shape in sides:
            pairs = [[shape, probe] for probe in range(count)]
            assert bp.distance(shapes, probes, pairs=pairs).max() < found.depths[row] + 1e-9


def test_faces_that_touch_overlap_and_are_told_by_four_points():
    cube = bp.ConvexHull(CUBE)
    steps = np.array([[2.0, 0, 0], [0, -2, 0.5], [2, 2, 0], [2, 2, 2], [-2.0000001, 0, 0]])
    hulls = bp.Shapes(cube, [[0, 0, 0]])
    for others in (bp.Shapes(cube, steps), bp.Shapes(bp.Box(2, 2, 2), steps)):
        found = bp.contacts(hulls, others)
        assert found.pairs[:, 1].tolist() == [0, 1, 2, 3]
        assert found.depths.tolist() == [0, 0, 0, 0]
        assert found.normals[:2].tolist() == [[1, 0, 0], [0, -1, 0]]
        assert found.counts[:2].tolist() == [4, 4]
        corners = {(0, -1, -0.5), (0, -1, 1)}
        assert {tuple(point * [0, 1, 1]) for point in found.points[1].round(9)} == corners


def random_points(rng, lattice):
    if lattice:
        return rng.integers(-2, 3, (int(rng.integers(8, 14)), 3)).astype(np.float64)
    points = rng.normal(size=(int(rng.integers(8, 40)), 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True) ** rng.uniform(0, 1)


def check_minkowski(seed, lattice, exponent, rounds):
    rng = np.random.default_rng(seed)
    kinds = {"apart": 0, "touch": 0, "deep": 0}
    for _ in range(rounds):
        first, second = random_points(rng, lattice), random_points(rng, lattice)
        step = rng.integers(-4, 5, 3).astype(np.float64) if lattice else rng.normal(size=3) * 1.3
        a = bp.Shapes(bp.ConvexHull(np.ldexp(first, exponent)), [[0, 0, 0]])
        b = bp.Shapes(bp.ConvexHull(np.ldexp(second, exponent)), [np.ldexp(step, exponent)])
        gap, normal = row_pairs.separations(a, b, np.zeros(1, np.int32), np.zeros(1, np.int32))
        gap, normal = np.ldexp(gap[0], -exponent), normal[0]
        difference = (second + step)[:, np.newaxis] - first
        planes = scipy_spatial.ConvexHull(difference.reshape(-1, 3)).equations
        limit = planes[:, 3].max()  # the origin is outside if this is above 0, and so deep inside if below
        overlap = len(bp.overlaps(a, b)) == 1
        # By its definition, whichever the case: along the normal, the nearest point of the difference.
        assert np.isclose((difference @ normal).min(), gap, atol=1e-9)
        assert np.isclose(np.linalg.norm(normal), 1)
        if limit > 1e-9:
            kinds["apart"] += 1
            assert not overlap
            assert gap >= limit - 1e-9
        else:
            kinds["touch" if limit > -1e-9 else "deep"] += 1
            assert np.isclose(gap, limit, atol=1e-9)
            assert overlap
    return kinds


def test_points_of_a_face_of_many_corners_are_four_that_lie_far_apart():
    angles = np.arange(12) * np.pi / 6 + 0.1
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    prism = bp.ConvexHull(np.concatenate([np.insert(ring, 2, height, axis=1) for height in (0.0, 1.0)]))
    shapes = bp.Shapes([bp.Box(8, 8, 2), prism], [[0, 0, -1], [0, 0, -0.125]])
    found = bp.contacts(shapes, pairs=[[0, 1], [1, 0]])
    assert found.depths.tolist() == [0.125] * 2
    assert found.counts.tolist() == [4] * 2
    for points in found.points:
        assert np.isclose(scipy_spatial.ConvexHull(points[:, :2]).volume, 2, rtol=0, atol=1e-12)  # a square


@pytest.mark.parametrize("exponent", [0, -60, 80])
@pytest.mark.parametrize("lattice", [True, False])
def test_two_hulls_are_as_far_apart_as_their_minkowski_difference_says(lattice, exponent):
    kinds = check_minkowski(5, lattice, exponent, 60)
    assert kinds["apart"] > 5 < kinds["deep"]
    assert not lattice or kinds["touch"] > 1


def test_inner_points_and_repeated_points_do_no_harm():
    rng = np.random.default_rng(2)
    more = np.concatenate([CUBE, CUBE * 0.5, CUBE, rng.uniform(-1, 1, (50, 3)), CUBE[:4] * [1, 1, 0]])
    hulls, others = bp.Shapes([bp.ConvexHull(more), bp.ConvexHull(CUBE)], [[0, 0, 0]] * 2), others_around(rng, 3)
    pairs = every_pair(hulls, others)
    gaps = bp.distance(hulls, others, pairs=pairs).reshape(2, -1)
    assert np.allclose(gaps[0], gaps[1], atol=1e-12)


def test_rays_hit_the_hull_of_a_box_where_they_hit_the_box():
    rng = np.random.default_rng(3)
    hulls, boxes = boxes_twice(rng, 5, spread=0.5)
    origins = rng.normal(size=(500, 3)) * 2
    directions = -origins + rng.normal(size=(500, 3)) * 0.5
    directions[-9:] = 0
    rows = np.arange(500, dtype=np.int32) % 5
    found, wanted = (bp.raycast(shapes, origins, directions, rows=rows) for shapes in (hulls, boxes))
    assert 200 < np.isfinite(wanted.distances).sum() < 490
    assert (wanted.distances == 0).any()
    assert np.allclose(found.distances, wanted.distances, atol=1e-9)
    assert np.allclose(found.normals, wanted.normals, atol=1e-9, equal_nan=True)


def test_rays_along_the_faces_of_a_hull_touch_it():
    hull = bp.Shapes(bp.ConvexHull(CUBE), [[0, 0, 0]])
    origins = [[-3, 1, 0], [-3, 1, 1], [-3, np.nextafter(1, 2), 0], [1, 1, 1], [2, 0, 0]]
    hits = bp.raycast(hull, origins, [[1, 0, 0]], rows=[0] * len(origins))
    assert hits.distances.tolist() == [2, 2, np.inf, 0, np.inf]


@pytest.mark.parametrize("seed", range(2))
def test_moving_hulls_of_boxes_hit_when_the_boxes_do(seed):
    rng = np.random.default_rng(seed)
    (hulls, boxes), others = boxes_twice(rng, 9, spread=2), others_around(rng, 8, spread=2)
    for theirs, reference in ((others, others), (hulls, boxes)):
        pairs = every_pair(hulls, theirs).astype(np.int32)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        first, second = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        motions, offsets = rng.normal(size=(2, len(pairs), 3)) * [[[3]], [[0.5]]]
        times, normals = row_pairs.impacts(hulls, theirs, first, second, motions, offsets)
        wanted, _ = row_pairs.impacts(boxes, reference, first, second, motions, offsets)
        back, _ = row_pairs.impacts(theirs, hulls, second, first, -motions, -offsets)
        assert np.array_equal(np.isinf(times), np.isinf(wanted))
        assert np.array_equal(np.isinf(back), np.isinf(wanted))
        hit = np.isfinite(wanted)
        assert 5 < hit.sum() < len(pairs), seed
        assert np.allclose(times[hit], wanted[hit], atol=1e-9)
        assert np.allclose(back[hit], wanted[hit], atol=1e-9)
        # Those that were apart touch with the normal along which they came.
        assert (np.einsum("kj,kj->k", normals, motions)[hit & (wanted > 0)] > 0).all()


def entry_of(planes, motion):
    """When the origin, moved, enters the planes around a difference, when it leaves them, and by which it enters."""
    speeds, beyond = planes[:, :3] @ motion, planes[:, 3]
    speeds[np.abs(speeds) < 1e-12] = 0  # along a plane, but for rounding
    with np.errstate(divide="ignore", invalid="ignore"):
        times = -beyond / speeds
    entering = np.where(speeds < 0, times, -np.inf)
    leaves = np.where(speeds > 0, times, np.inf).min()
    if ((speeds == 0) & (beyond > 0)).any():
        leaves = -np.inf
    return entering.max(), leaves, planes[entering > entering.max() - 1e-6, :3]


@pytest.mark.parametrize("scale", [2.0**-60, 1.0, 2.0**80])
@pytest.mark.parametrize(("lattice", "most_corners"), [(True, 13), (False, 20), (False, 80)])
def test_hulls_that_move_hit_when_the_origin_enters_their_difference(lattice, most_corners, scale):
    rng = np.random.default_rng([9, most_corners])
    kinds = {"hit": 0, "miss": 0, "late": 0, "inside": 0}
    row = np.zeros(1, np.int32)
    for _ in range(80):
        first, second = (
            random_points(rng, lattice)
            if lattice
            else on_sphere(rng, rng.integers(4, most_corners)) * rng.uniform(0, 2, 3)
            for _ in range(2)
        )
        place, aside, away = rng.normal(size=(3, 3)) * [[2.0], [1.0], [50.0]]
        motion = place * rng.uniform(0, 3) + aside
        if lattice:
            place, motion, away = np.round(1.5 * place), np.round(motion), np.round(away)
        difference = ((second + place)[:, np.newaxis] - first).reshape(-1, 3)
        enters, leaves, faces = entry_of(scipy_spatial.ConvexHull(difference).equations, motion)
        if abs(leaves - max(enters, 0)) < 1e-6 or abs(enters - 1) < 1e-6 or abs(enters) < 1e-6:
            continue
        # The points of the first are far from the position of its body.
        a = bp.Shapes(bp.ConvexHull((first + away) * scale), [-away * scale])
        b = bp.Shapes(bp.ConvexHull(second * scale), [place * scale])
        times, normals = row_pairs.impacts(a, b, row, row, motion[np.newaxis] * scale)
        back, opposite = row_pairs.impacts(b, a, row, row, -motion[np.newaxis] * scale)
        assert (back[0], *opposite[0]) == (times[0], *(0.0 - normals[0]))
        if leaves < max(enters, 0):
            kinds["miss"] += 1
            assert times[0] == np.inf
        elif enters > 1:
            kinds["late"] += 1
            assert times[0] == np.inf
        elif enters < 0:
            kinds["inside"] += 1
            assert times[0] == 0
        else:
            kinds["hit"] += 1
            assert np.isclose(times[0], enters, rtol=0, atol=1e-9)
            assert normals[0] @ motion > 0
            reached = (difference - times[0] * motion) @ normals[0]
            assert np.isclose(reached.min(), 0, atol=1e-9)
            if len(faces) == 1:
                assert np.allclose(normals[0], -faces[0], atol=1e-6)
    assert min(kinds.values()) > 1, kinds


@pytest.mark.parametrize("radius", [0.0, 0.3])
def test_shapes_that_move_past_a_hull_at_its_height_touch_it(radius):
    """A ball comes along a face, at its height but for rounding or a billionth of it."""
    hull, ball = bp.Shapes(bp.ConvexHull(CUBE), [[0, 0, 0]]), bp.Sphere(radius) if radius else bp.Point()
    heights = 1 + radius + np.array([0.0, -1e-9, 1e-9])
    balls = bp.Shapes(ball, np.stack([np.full(3, -3.0), np.zeros(3), heights], axis=1))
    rows = np.arange(3, dtype=np.int32)
    times, _ = row_pairs.impacts(balls, hull, rows, np.zeros(3, np.int32), np.tile([4.0, 0, 0], (3, 1)))
    assert np.isfinite(times).tolist() == [True, True, False]
    assert np.allclose(times[:2], [0.5, 0.5], atol=1e-4)


def test_nothing_is_too_fast_for_a_thin_hull():
    sheet = bp.Shapes(bp.ConvexHull(CUBE * [5, 5, 1e-6]), [[0, 0, 0]])
    bullets = bp.Shapes(bp.ConvexHull(CUBE * 1e-3), [[0.1, 0.2, 1000]])
    row = np.zeros(1, np.int32)
    times, normals = row_pairs.impacts(bullets, sheet, row, row, np.array([[0.0, 0, -1e6]]))
    assert np.isclose(times[0], (1000 - 1e-3 - 1e-6) / 1e6, rtol=1e-9)
    assert np.allclose(normals, [[0, 0, -1]])


@pytest.mark.parametrize("seed", range(3))
def test_a_hull_against_a_mesh_is_against_its_triangles(seed):
    rng = np.random.default_rng(seed)
    vertices, faces = rough_sphere(rng, rounds=1)
    places, turns = rng.normal(size=(4, 3)), quaternions(rng, 4)
    meshes, compounds = (
        bp.Shapes(shape, places, turns) for shape in (bp.Mesh(vertices, faces), as_compound(vertices, faces))
    )
    hulls, _ = boxes_twice(rng, 10)
    pairs = every_pair(hulls, meshes)
    wanted = bp.distance(hulls, compounds, pairs=pairs)
    assert (wanted < 0).sum() > 3 < (wanted > 0).sum()
    assert np.allclose(bp.distance(hulls, meshes, pairs=pairs), wanted, atol=1e-9)
    assert np.allclose(bp.distance(meshes, hulls, pairs=pairs[:, ::-1]), wanted, atol=1e-9)
    assert bp.overlaps(hulls, meshes, pairs).tolist() == pairs[wanted <= 0].tolist()
    found, reference = bp.contacts(hulls, meshes), bp.contacts(hulls, compounds)
    assert np.array_equal(found.pairs, reference.pairs)
    assert np.allclose(found.depths, reference.depths, atol=1e-9)
    asked = (np.ascontiguousarray(pairs[:, column].astype(np.int32)) for column in (0, 1))
    first, second = asked
    motions, offsets = rng.normal(size=(2, len(pairs), 3)) * [[[2]], [[0.5]]]
    times, _ = row_pairs.impacts(hulls, meshes, first, second, motions, offsets)
    wanted, _ = row_pairs.impacts(hulls, compounds, first, second, motions, offsets)
    back, _ = row_pairs.impacts(meshes, hulls, second, first, -motions, -offsets)
    assert np.array_equal(np.isinf(times), np.isinf(wanted))
    hit = np.isfinite(wanted)
    assert 3 < hit.sum() < len(pairs)
    assert np.allclose(times[hit], wanted[hit], atol=1e-9)
    assert np.allclose(back[hit], wanted[hit], atol=1e-9)


def test_offsets_move_the_second():
    rng = np.random.default_rng(4)
    (hulls, _), others = boxes_twice(rng, 3), others_around(rng, 2)
    pairs = every_pair(hulls, others).astype(np.int32)
    first, second = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    offsets = np.tile([[0.5, -1.0, 2.0]], (len(pairs), 1))
    gaps, normals = row_pairs.separations(hulls, others, first, second, offsets)
    others.move(others.positions + offsets[0])
    wanted, wanted_normals = row_pairs.separations(hulls, others, first, second)
    assert np.allclose(gaps, wanted, atol=1e-12)
    assert np.allclose(normals, wanted_normals, atol=1e-6)


def test_what_the_core_makes_of_a_hull_is_made_once_and_lives_as_long_as_the_hull():
    hull = bp.ConvexHull(CUBE)
    shapes = bp.Shapes([hull, hull.placed((1, 2, 3), None), hull[:1][0]], np.zeros((3, 3)))
    bp.overlaps(shapes)
    made = hull.prepared
    assert shapes.geometries[0].prepared is made is hull.placed(None, None).prepared is hull[:1].prepared
    assert pickle.loads(pickle.dumps(hull)).prepared is not made
    assert made.memory_bytes > 0


def test_hulls_as_thin_as_they_may_be_are_made_and_found():
    rng = np.random.default_rng(0)
    gaps = []  # of corners of the hull from it
    for power in range(1, 12):
        for axis in range(3):
            points = rng.normal(size=(8, 3))
            points[:, axis] *= 10.0**-power
            for hull in (bp.ConvexHull(points), bp.ConvexHull(points @ np.linalg.qr(rng.normal(size=(3, 3)))[0])):
                hulls, corners = bp.Shapes(hull, [[0, 0, 0]]), bp.Shapes(bp.Point(), hull.points)
                gaps.append(bp.distance(corners, hulls, pairs=[[row, 0] for row in range(8)]).max())
    assert len(gaps) == 66
    assert max(gaps) < 1e-14


def on_sphere(rng, count):
    points = rng.normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def difference_limit(first, second):
    """How far the origin is beyond the planes of the difference of two hulls: minus the depth, if it is inside."""
    difference = (second[:, np.newaxis] - first).reshape(-1, 3)
    return scipy_spatial.ConvexHull(difference).equations[:, 3].max()


def signed(first, second, place=(0, 0, 0)):
    """The signed distance of two hulls, the second at a place, and whether they overlap, in either order."""
    a, b = bp.Shapes(bp.ConvexHull(first), [[0, 0, 0]]), bp.Shapes(bp.ConvexHull(second), [place])
    gaps = bp.distance(a, b, pairs=[[0, 0]])[0], bp.distance(b, a, pairs=[[0, 0]])[0]
    assert gaps[0] == gaps[1]
    assert len(bp.overlaps(a, b)) == len(bp.overlaps(b, a))
    return gaps[0], len(bp.overlaps(a, b)) == 1


@pytest.mark.parametrize("count", [31, 33, 70])
def test_hulls_of_many_corners_are_as_deep_as_their_minkowski_difference_says(count):
    rng = np.random.default_rng(count)
    for _ in range(6):
        first, second = on_sphere(rng, count), on_sphere(rng, count) + rng.normal(size=3) * 0.6
        limit = difference_limit(first, second)
        gap, overlap = signed(first, second)
        assert overlap == (limit <= 0)
        assert np.isclose(gap, limit, atol=1e-12) if overlap else gap >= limit - 1e-12


@pytest.mark.parametrize("sides", [5, 64, 300])
def test_prisms_of_many_sides_that_touch_overlap_and_those_an_ulp_apart_are_as_near(sides):
    angles = np.arange(sides) * (2 * np.pi / sides)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    prism = np.concatenate([np.column_stack([ring, np.full(sides, z)]) for z in (-1.0, 1.0)])
    for height in (2.0, 2 - 2.0**-40, 2 + 2.0**-40, 2 + 2.0**-20):
        gap, overlap = signed(prism, prism, (0.25, 0.125, height))
        assert overlap == (height <= 2)
        assert np.isclose(gap, height - 2, rtol=0, atol=1e-15)


def test_a_hull_upon_itself_and_one_inside_another_are_as_deep_as_the_shortest_way_out():
    rng = np.random.default_rng(5)
    points = on_sphere(rng, 40)
    for other in (points, points * 0.25, points[rng.permutation(40)] * 1.0):
        gap, overlap = signed(points, other)
        assert overlap
        assert np.isclose(gap, difference_limit(points, other), atol=1e-12)
    assert signed(CUBE, CUBE) == (-2, True)
    assert signed(CUBE, CUBE * 0.5) == (-1.5, True)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("apart", [1e-9, 3.0, 1e9])
def test_boxes_as_hulls_of_any_size_and_at_any_distance(size, apart):
    steps = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]]) * (2 * size + apart)
    gaps = [signed(CUBE * size, CUBE * size, step)[0] for step in steps]
    exact = 1e-15 * (size + apart)
    assert np.allclose(gaps, (2 * size + apart - 2 * size) * np.sqrt([1, 2, 3]), rtol=1e-12, atol=4 * exact)


def test_hulls_of_thousands_of_corners_are_nearly_balls():
    rng = np.random.default_rng(6)
    points = on_sphere(rng, 3000)
    for apart in (0.01, 1.0, 50.0):
        gap, overlap = signed(points, points, (0, 2 + apart, 0))
        assert not overlap
        assert apart <= gap < apart + 0.01
    for deep in (0.1, 1.0):
        gap, overlap = signed(points, points, (0, 2 - deep, 0))
        assert overlap
        assert -deep <= gap < 0.01 - deep


@pytest.mark.parametrize("offset", [(0, 0, 0), (1e-12, 0, 0), (1e-3, 0, 0), (0, 0.3, 0), (0, 0, 1.9), (0.2, -0.5, 0.4)])
def test_depth_of_round_hulls_is_that_of_their_difference(offset):
    spatial = pytest.importorskip("scipy.spatial")
    half = np.random.default_rng(7).normal(size=(150, 3))
    points = np.concatenate([half, -half]) / np.linalg.norm(np.concatenate([half, -half]), axis=1, keepdims=True)
    # The difference of a symmetric hull and itself is itself, twice as large.
    planes = spatial.ConvexHull(2 * points).equations
    depth = -(planes[:, :3] @ offset + planes[:, 3]).max()
    hulls = bp.Shapes(bp.ConvexHull(points), [(0, 0, 0), offset])
    assert np.allclose(bp.distance(hulls, pairs=[[0, 1], [1, 0]]), -depth, rtol=0, atol=1e-11)
    found = bp.contacts(hulls)
    assert np.allclose(found.depths, depth, rtol=0, atol=1e-11)
    moved = bp.Shapes(bp.ConvexHull(points), [(0, 0, 0), offset + found.normals[0] * (depth + 1e-9)])
    assert not len(bp.overlaps(moved))


@pytest.mark.parametrize("offset", [0.0, 1e-9, 0.02, 0.5])
@pytest.mark.parametrize("count", [6, 7, 12, 18, 60, 120])
def test_hulls_turned_about_one_middle_are_as_deep_as_their_difference_says(count, offset):
    rng = np.random.default_rng([3, count])
    half = on_sphere(rng, count // 2)
    for points in (on_sphere(rng, count), np.concatenate([half, -half])):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        second, place = points @ turn, offset * on_sphere(rng, 1)
        shapes = bp.Shapes([bp.ConvexHull(points), bp.ConvexHull(second)], [(0, 0, 0), place[0]])
        limit = difference_limit(points, second + place)
        found = bp.contacts(shapes, pairs=[[0, 1], [1, 0]])
        assert limit < 0
        assert np.allclose(found.depths, -limit, rtol=0, atol=1e-12)
        heights = ((second + place)[:, np.newaxis] - points) @ found.normals[0]
        assert np.isclose(heights.min(), limit, rtol=0, atol=1e-12)
        assert np.array_equal(found.normals[1], 0.0 - found.normals[0])


@pytest.mark.parametrize("exponent", [-40, 0, 40])
@pytest.mark.parametrize("count", [3, 4, 9, 20])
def test_equal_hulls_that_are_symmetric_overlap_within_twice_their_size(count, exponent):
    """The difference of two of them is the hull itself, twice as large: it says where the second may be."""
    rng, scale = np.random.default_rng(count), 2.0**exponent
    half = on_sphere(rng, count) * rng.uniform(0.8, 1.2, 3)
    points = np.concatenate([half, -half])
    faces = scipy_spatial.ConvexHull(points).equations
    inner = rng.normal(size=(40, 3)) * 1e-9
    weights = rng.dirichlet(np.ones(3), 40)
    on_faces = np.einsum(
        "nk,nkd->nd", weights, points[scipy_spatial.ConvexHull(points).simplices][rng.integers(0, 4, 40)]
    )
    edges = np.concatenate([points, on_faces]) * 2
    places = np.concatenate([np.zeros((1, 3)), inner, *(edges * far for far in (0.5, 1 - 1e-9, 1 + 1e-9, 1.5))])
    depth = -(places @ faces[:, :3].T + 2 * faces[:, 3]).max(axis=1)
    hull = bp.ConvexHull(points * scale)
    first, second = bp.Shapes(hull, np.zeros((1, 3))), bp.Shapes(hull, places * scale)
    pairs = np.stack([np.zeros(len(places), np.int32), np.arange(len(places), dtype=np.int32)], axis=1)
    met = np.isin(pairs[:, 1], bp.overlaps(first, second, pairs=pairs)[:, 1])
    np.testing.assert_array_equal(met, depth > 0)
    found = bp.distance(first, second, pairs=pairs)[depth > 0] / scale
    np.testing.assert_allclose(getattr(found, "distances", found), -depth[depth > 0], atol=1e-12)
