"""Which pairs of a robot collide and where it is nearest, against single shapes that are placed one by one."""

import numpy as np
import pytest

import broadphase as bp
from test_robots import arm, least_distances, matrix_of, rail, random_links, random_obstacles


def parts_of(robot):
    """The shapes of a robot one by one, with the number of their link."""
    found = []
    for number, link in enumerate(robot.links):
        for shape in [link.shapes] if isinstance(link.shapes, bp.shapes.Shape) else link.shapes:
            found += [(number, one) for one in shape]
    return found


def placed_one_by_one(robot, row):
    """Each part in one configuration, as placed shapes of their own."""
    positions, rotations = robot.poses(row)
    return [bp.Shapes(shape, positions[link], rotations[link]) for link, shape in parts_of(robot)]


def all_pairs(robot, row, scene, padding=0.0):
    """Every pair that collides, by tests of two shapes: (part, other part or -1, obstacle or -1)."""
    parts = placed_one_by_one(robot, row)
    found = [(a, b, -1) for a, b in robot.pairs.tolist() if bp.overlaps(parts[a], parts[b])]
    turns = [None] * len(scene) if scene.rotations is None else scene.rotations
    for place in range(len(scene)):
        one = bp.Shapes(scene[place], scene.positions[place], turns[place])
        for part, shape in enumerate(parts):
            near = bp.distance(shape, one) <= padding if padding else bp.overlaps(shape, one)
            found += [(part, -1, place)] if near else []
    return sorted(found)


@pytest.mark.parametrize("padding", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(8))
def test_collides_with_pairs_gives_all_that_overlap_one_by_one(seed, padding):
    random = np.random.default_rng(seed)
    robot = bp.Articulated(random_links(random, int(random.integers(2, 7))), neighbors=bool(seed % 2))
    scene = random_obstacles(random, 12)
    q = random.uniform(-3, 3, (15, len(robot.joint_names)))
    found = robot.collides(q, bp.Obstacles(scene), padding=padding, pairs=True)
    assert np.array_equal(found.collides, robot.collides(q, scene, padding=padding))
    assert found.rows.dtype == found.parts.dtype == found.obstacles.dtype == np.int32
    every = [(row, *pair) for row in range(len(q)) for pair in all_pairs(robot, q[row], scene, padding)]
    assert np.column_stack([found.rows, found.parts, found.obstacles]).tolist() == [list(pair) for pair in every]
    assert np.array_equal(np.unique(found.rows), np.flatnonzero(found.collides))
    names = [robot.links[link].name for link, _ in parts_of(robot)]
    assert found.links.tolist() == [[names[a], None if b < 0 else names[b]] for _, a, b, _ in every]


@pytest.mark.parametrize("least", ["_MOST_PARTS", "_MOST_PAIRS"])
def test_collides_with_pairs_has_both_kinds_in_many_portions(monkeypatch, least):
    random = np.random.default_rng(0)
    robot, scene = arm(), random_obstacles(random, 60, 1.0)
    q = random.uniform(-3, 3, (300, 6))
    whole = robot.collides(q, scene, pairs=True)
    assert (whole.obstacles >= 0).sum() > 50
    assert (whole.obstacles < 0).sum() > 50
    near = robot.clearance(q, scene, points=True)
    monkeypatch.setattr(bp.robots.collisions, least, 40)
    for one, other in ((robot.collides(q, scene, pairs=True), whole), (robot.clearance(q, scene, points=True), near)):
        for some, every in zip(one, other, strict=True):
            np.testing.assert_array_equal(some, every)


def test_pairs_that_collide_are_allowed_as_they_are():
    random = np.random.default_rng(2)
    robot, scene = arm(), random_obstacles(random, 20)
    q = random.uniform(-3, 3, (200, 6))
    found = robot.collides(q, scene, pairs=True)
    assert found.collides.any()
    assert not arm(allowed=found.links).collides(q, scene).any()


def test_collides_with_pairs_of_one_configuration_and_of_none():
    scene = bp.Shapes(bp.Sphere(1), [[0, 0, 0], [1, 0, 0], [9, 0, 0]])
    one = rail().collides([0.5], scene, pairs=True)
    assert one.collides is np.True_
    assert one.rows.tolist() == [0, 0]
    assert one.parts.tolist() == [[0, -1]] * 2
    assert one.obstacles.tolist() == [0, 1]
    for q, given in (([5.0], scene), (np.empty((0, 1)), scene), ([[0.0], [5.0]], None), ([[0.0]], [])):
        none = rail().collides(q, given, pairs=True)
        assert not np.any(none.collides)
        assert [len(column) for column in none[1:]] == [0] * 4
        assert none.links.shape == (0, 2)
    bare = bp.Articulated([bp.Link("only", joint="prismatic")])
    assert not bare.collides([[1.0]], scene, pairs=True).collides.any()


def test_collides_with_pairs_names_each_of_equal_obstacles_and_no_links_that_may_touch_them():
    scene = bp.Shapes(bp.Box(1, 1, 1), np.zeros((3, 3)))
    links = [bp.Link("base", bp.Sphere(1)), bp.Link("arm", bp.Sphere(1), "base", "prismatic")]
    found = bp.Articulated(links, allowed=[("base", None)]).collides([[0.5]], scene, pairs=True)
    assert found.links.tolist() == [["arm", None]] * 3
    assert found.obstacles.tolist() == [0, 1, 2]


# ---- Nearest points ----


def is_on(shape, point, tolerance):
    """Whether a point is in or on a placed shape, up to a tolerance."""
    return bp.distance(bp.Shapes(bp.Point(), point), shape) <= tolerance


@pytest.mark.parametrize("seed", range(12))
def test_clearance_with_points_is_the_least_distance_and_its_points_are_that_far_apart(seed):
    random = np.random.default_rng(seed)
    robot = bp.Articulated(random_links(random, int(random.integers(1, 6))), neighbors=bool(seed % 2))
    scene = random_obstacles(random, 8, 3.0)
    q = random.uniform(-3, 3, (15, len(robot.joint_names)))
    found = robot.clearance(q, bp.Obstacles(scene), points=True)
    assert np.array_equal(found.distances, robot.clearance(q, scene))
    names = [robot.links[link].name for link, _ in parts_of(robot)]
    for row in range(len(q)):
        if not len(names):
            assert found.distances[row] == np.inf
            continue
        parts = placed_one_by_one(robot, q[row])
        first, second, place = *found.parts[row].tolist(), int(found.obstacles[row])
        if place >= 0:
            assert second == -1
            other = bp.Shapes(scene[place], scene.positions[place], scene.rotations[place])
        else:
            assert [first, second] in robot.pairs.tolist()
            other = parts[second]
        assert found.links[row].tolist() == [names[first], None if place >= 0 else names[second]]
        gap, (here, there) = found.distances[row], found.points[row]
        assert max(0.0, bp.distance(parts[first], other)) == pytest.approx(gap, abs=1e-9)
        if gap > 0:
            assert np.linalg.norm(there - here) == pytest.approx(gap, abs=1e-9)
            assert is_on(parts[first], here, 1e-7)
            assert is_on(other, there, 1e-7)
        else:
            least = min(least_distances(robot, q[row], scene))
            assert bp.distance(parts[first], other) == pytest.approx(least, abs=1e-9)
            assert np.array_equal(here, there)
            assert is_on(parts[first], here, -least / 2 + 1e-7)
            assert is_on(other, there, -least / 2 + 1e-7)


def test_clearance_with_points_of_one_configuration():
    scene = bp.Shapes(bp.AABB((1, 9, 9)), [[5, 0, 0], [-9, 0, 0]])
    found = rail().clearance([1.0], scene, points=True)
    assert found.distances == 3
    assert found.parts.tolist() == [0, -1]
    assert found.obstacles == 0
    assert found.links.tolist() == ["cart", None]
    assert found.points.tolist() == [[1.5, 0, 0], [4.5, 0, 0]]


def test_clearance_with_points_beyond_the_limit_and_without_obstacles_has_no_pair():
    scene = bp.Shapes(bp.AABB((1, 9, 9)), [5, 0, 0])
    found = rail().clearance([[0.0], [3.5]], scene, max_distance=1, points=True)
    assert found.distances.tolist() == [np.inf, 0.5]
    assert found.parts.tolist() == [[-1, -1], [0, -1]]
    assert found.obstacles.tolist() == [-1, 0]
    assert found.links.tolist() == [[None, None], ["cart", None]]
    assert np.isnan(found.points[0]).all()
    assert np.isfinite(found.points[1]).all()
    for q in ([[0.0]], np.empty((0, 1))):
        none = rail().clearance(q, points=True)
        assert none.points.shape == (len(q), 2, 3)
        assert (none.distances == np.inf).all()


def test_clearance_with_points_far_from_the_origin_finds_the_pair():
    far = 2.0**30
    links = [bp.Link("base", position=(far, far, far)),
             bp.Link("cart", bp.Box(1, 1, 1), "base", "prismatic", (1, 0, 0))]  # fmt: skip
    scene = bp.Shapes([bp.Sphere(1), bp.Box(1, 1, 1)], [[far + 5, far, far], [far - 3, far, far]])
    found = bp.Articulated(links).clearance([[0.0], [2.0]], scene, points=True)
    assert found.obstacles.tolist() == [1, 0]
    np.testing.assert_allclose(found.points[:, :, 0] - far, [[-0.5, -2.5], [2.5, 4.0]], atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_pairs_and_nearest_points_are_those_of_fcl(seed):
    fcl = pytest.importorskip("fcl")
    random = np.random.default_rng(seed)
    robot = arm()
    sizes, centers = random.uniform(0.05, 0.4, (20, 3)), random.uniform(-1.5, 1.5, (20, 3))
    q = random.uniform(-3, 3, (40, 6))
    found = robot.collides(q, bp.Shapes(bp.Box(sizes), centers), pairs=True)
    near = robot.clearance(q, bp.Shapes(bp.Box(sizes), centers), points=True)
    static = [fcl.CollisionObject(fcl.Box(*size), fcl.Transform(center))
              for size, center in zip(sizes, centers, strict=True)]  # fmt: skip
    geometries = []  # in their own frames, and where that is in the link
    for _, shape in parts_of(robot):
        is_box = isinstance(shape, bp.Box)
        along = shape.offset if is_box else (shape.start + shape.end) / 2
        long = 0.2 if is_box else np.linalg.norm(shape.end - shape.start)
        geometries.append((fcl.Box(0.1, 0.05, long) if is_box else fcl.Capsule(0.05, long), along))
    assert len(found.rows) > 10
    positions, rotations = robot.poses(q)
    checked = 0
    for row in range(len(q)):
        moving = []
        for k, (geometry, along) in enumerate(geometries):
            turn = matrix_of(rotations[row, k])
            moving.append(fcl.CollisionObject(geometry, fcl.Transform(turn, positions[row, k] + turn @ along)))
        candidates = [(a, b, -1) for a, b in robot.pairs.tolist()]
        candidates += [(a, -1, place) for a in range(len(moving)) for place in range(len(static))]
        ours = found.rows == row
        pairs = {(*pair, place) for pair, place in
                 zip(found.parts[ours].tolist(), found.obstacles[ours].tolist(), strict=True)}  # fmt: skip
        for pair in candidates:
            a, b = moving[pair[0]], moving[pair[1]] if pair[2] < 0 else static[pair[2]]
            hit = fcl.collide(a, b, fcl.CollisionRequest(), fcl.CollisionResult()) > 0
            assert hit == (pair in pairs)
            if not found.collides[row] and pair == (*near.parts[row].tolist(), near.obstacles[row]):
                result = fcl.DistanceResult()
                least = fcl.distance(a, b, fcl.DistanceRequest(enable_nearest_points=True), result)
                assert np.linalg.norm(near.points[row, 1] - near.points[row, 0]) == pytest.approx(least, abs=1e-4)
                checked += 1
    assert checked > 2
