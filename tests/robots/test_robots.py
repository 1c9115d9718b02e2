"""Robots: poses against matrices, collisions against `overlaps`, clearances against `distance`, ways by samples."""

import copy
import pickle

import numpy as np
import pytest

import broadphase as bp

CUBE = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
CUBE_FACES = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
              [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]  # fmt: skip


# ---- Oracles ----


def matrix_of(rotation):
    """The matrix of a quaternion of any length, by the sandwich of products."""
    w, x, y, z = np.asarray(rotation, float) / np.linalg.norm(rotation)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def about(axis, angle):
    """The matrix of a rotation, by Rodrigues."""
    x, y, z = np.asarray(axis, float) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def value_of(links, name, values):
    """The value of a joint by name, over all joints that it mimics."""
    link = next(one for one in links if (one.joint_name or one.name) == name and one.joint != "fixed")
    if link.mimic is None:
        return values[name]
    other, factor, offset = link.mimic
    return factor * value_of(links, other, values) + offset


def frames_of(links, values):
    """The frame of each link, (4, 4), of joint values by name."""
    frames = {}

    def frame(link):
        if link.name not in frames:
            above = np.eye(4) if link.parent is None else frame(next(one for one in links if one.name == link.parent))
            own, moved = np.eye(4), np.eye(4)
            own[:3, :3], own[:3, 3] = matrix_of(link.rotation), link.position
            name = link.joint_name or link.name
            if link.joint in ("revolute", "continuous"):
                moved[:3, :3] = about(link.axis, value_of(links, name, values))
            elif link.joint == "prismatic":
                moved[:3, 3] = np.asarray(link.axis, float) / np.linalg.norm(link.axis) * value_of(links, name, values)
            elif link.joint in ("ball", "floating"):
                moved[:3, :3] = matrix_of([values[f"{name}.{k}"] for k in ("qw", "qx", "qy", "qz")])
                moved[:3, 3] = [values.get(f"{name}.{k}", 0.0) for k in "xyz"]
            frames[link.name] = above @ own @ moved
        return frames[link.name]

    return np.array([frame(link) for link in links])


def pairs_between(robot, allowed=(), *, neighbors=True):
    """Pairs of shapes that are compared: neither fixed to each other, nor neighbors, nor allowed."""
    links = {link.name: link for link in robot.links}
    names = [robot.links[k].name for k in robot.part_links]

    def rigid(name):
        link = links[name]
        return rigid(link.parent) if link.joint == "fixed" and link.parent else name

    def is_static(name):
        return links[rigid(name)].joint == "fixed"

    with_shapes = {rigid(name) for name in names}

    def above(name):
        """The next moving part above that has shapes."""
        parent = links[rigid(name)].parent
        while parent is not None and rigid(parent) not in with_shapes:
            parent = links[rigid(parent)].parent
        return None if parent is None else rigid(parent)

    found = []
    for j in range(len(names)):
        for i in range(j):
            a, b = rigid(names[i]), rigid(names[j])
            may_touch = (names[i], names[j]) in allowed or (names[j], names[i]) in allowed
            near = neighbors and (above(a) == b or above(b) == a)
            if a != b and not (is_static(a) and is_static(b)) and not may_touch and not near:
                found.append((i, j))
    return np.array(found, np.int32).reshape(-1, 2)


def collides_by_overlaps(robot, q, obstacles):
    found = []
    for row in q:
        placed = robot.placed(row)
        hit = len(bp.overlaps(placed, pairs=robot.pairs)) > 0
        found.append(hit or (obstacles is not None and len(bp.overlaps(placed, obstacles)) > 0))
    return np.array(found, bool)


def least_distances(robot, row, obstacles):
    """The least distance among the links, and from obstacles."""
    placed = robot.placed(row)
    own = bp.distance(placed, pairs=robot.pairs).min(initial=np.inf)
    everything = np.stack(np.meshgrid(np.arange(len(placed)), np.arange(len(obstacles)), indexing="ij"), axis=-1)
    return own, bp.distance(placed, obstacles, pairs=everything.reshape(-1, 2)).min(initial=np.inf)


# ---- Scenes ----


def random_shape(random, size=0.3):
    where = {"offset": random.uniform(-size, size, 3), "rotation": random.normal(size=4)}
    a, b, c = random.uniform(0.1, 1, 3) * size
    ends = random.uniform(-size, size, (2, 3))
    points = random.normal(size=(8, 3)) * size / 2
    return [
        lambda: bp.Sphere(a, offset=where["offset"]),
        lambda: bp.Box(a, b, c, **where),
        lambda: bp.Box(a, b, c),
        lambda: bp.Capsule(*ends, a / 2, **where),
        lambda: bp.Segment(*ends),
        lambda: bp.Point(offset=where["offset"]),
        lambda: bp.AABB((a, b, c), offset=where["offset"]),
        lambda: bp.Triangle(np.vstack([ends, where["offset"]])),
        lambda: bp.ConvexHull(points, **where),
        lambda: bp.Mesh(CUBE * (a, b, c), CUBE_FACES, **where),
        lambda: bp.Compound([bp.Sphere(a), bp.Box(b, c, a, offset=ends[0])], **where),
    ][random.integers(11)]()


KINDS = ("fixed", "revolute", "continuous", "prismatic")


def random_links(random, count, kinds=KINDS):
    links = []
    for k in range(count):
        joint = kinds[random.integers(len(kinds))]
        shapes = [random_shape(random) for _ in range(random.integers(3))]
        parent = None if k == 0 or random.random() < 0.1 else f"link {random.integers(k)}"
        turned = {} if random.random() < 0.5 else {"rotation": random.normal(size=4)}
        links.append(
            bp.Link(f"link {k}", shapes, parent, joint, axis=random.normal(size=3),
                    position=random.uniform(-0.5, 0.5, 3), **turned)
        )  # fmt: skip
    random.shuffle(links)
    return links


def random_obstacles(random, count, room=2.0):
    shapes = [random_shape(random) for _ in range(count)]
    turns = random.normal(size=(count, 4))
    turns[::3] = (1, 0, 0, 0)
    return bp.Shapes(shapes, random.uniform(-room, room, (count, 3)), turns)


def arm(**options):
    """Six joints; capsules and a box."""
    z, y = (0, 0, 1), (0, 1, 0)
    sizes = [("shoulder", z, 0.1, 0.3), ("upper", y, 0.35, 0.4), ("lower", y, 0.45, 0.35), ("wrist", z, 0.4, 0.15),
             ("bend", y, 0.2, 0.1), ("hand", z, 0.12, 0.2)]  # fmt: skip
    links, parent = [], None
    for name, axis, up, long in sizes:
        shape = bp.Box(0.1, 0.05, long, offset=(0, 0, long / 2)) if name == "hand" else None
        shape = shape or bp.Capsule((0, 0, 0), (0, 0, long), 0.05)
        links.append(bp.Link(name, shape, parent, "revolute", axis, (0, 0, up), limits=(-3, 3)))
        parent = name
    return bp.Articulated(links, **options)


def rail(shape=None):
    """One shape that slides along x."""
    return bp.Articulated([bp.Link("cart", shape or bp.Sphere(0.5), joint="prismatic", axis=(1, 0, 0))])


# ---- Poses ----


@pytest.mark.parametrize("seed", range(20))
def test_poses_of_random_trees_equal_products_of_matrices(seed):
    random = np.random.default_rng(seed)
    links = random_links(random, int(random.integers(1, 9)))
    robot = bp.Articulated(links)
    q = random.uniform(-4, 4, (5, len(robot.joint_names)))
    positions, rotations = robot.poses(q)
    assert positions.shape == (5, len(links), 3)
    assert rotations.shape == (5, len(links), 4)
    for row in range(5):
        frames = frames_of(links, dict(zip(robot.joint_names, q[row], strict=True)))
        np.testing.assert_allclose(positions[row], frames[:, :3, 3], atol=1e-13)
        for k in range(len(links)):
            np.testing.assert_allclose(matrix_of(rotations[row, k]), frames[k, :3, :3], atol=1e-13)
    one = robot.poses(q[0])
    assert np.array_equal(one.positions, positions[0])
    assert np.array_equal(one.rotations, rotations[0])


def test_poses_joints_that_mimic_follow_with_factor_and_offset():
    links = [
        bp.Link("left", joint="prismatic", axis=(1, 0, 0), joint_name="grip", limits=(0, 0.1)),
        bp.Link("right", joint="prismatic", axis=(1, 0, 0), mimic=("grip", -1, 0.25)),
        bp.Link("lid", joint="continuous", axis=(0, 0, 2), mimic=("grip", 10, 0)),
    ]
    robot = bp.Articulated(links)
    assert robot.joint_names == ("grip",)
    assert robot.limits.tolist() == [[0, 0.1]]
    positions, rotations = robot.poses([[0.05]])
    np.testing.assert_allclose(positions[0, :, 0], [0.05, 0.2, 0])
    np.testing.assert_allclose(matrix_of(rotations[0, 2]), about((0, 0, 1), 0.5), atol=1e-15)


@pytest.mark.parametrize("seed", range(10))
def test_poses_of_joints_that_mimic_in_chains_equal_products_of_matrices(seed):
    random = np.random.default_rng(seed)
    links = [bp.Link("0", joint="revolute", axis=random.normal(size=3)), bp.Link("x", (), "0", "prismatic")]
    for k in range(1, 6):
        followed = str(random.integers(k))
        kind = ("revolute", "prismatic")[random.integers(2)]
        links.append(
            bp.Link(str(k), (), str(k - 1), kind, random.normal(size=3), random.normal(size=3),
                    mimic=(followed, *random.normal(size=2)))
        )  # fmt: skip
    random.shuffle(links)
    robot = bp.Articulated(links)
    assert set(robot.joint_names) == {"0", "x"}
    q = random.uniform(-3, 3, (5, 2))
    for row, positions in zip(q, robot.poses(q).positions, strict=True):
        frames = frames_of(links, dict(zip(robot.joint_names, row, strict=True)))
        np.testing.assert_allclose(positions, frames[:, :3, 3], atol=1e-12)


ALL_KINDS = (*KINDS, "ball", "floating", "ball", "floating")


@pytest.mark.parametrize("seed", range(20))
def test_poses_of_ball_and_floating_joints_equal_products_of_matrices(seed):
    random = np.random.default_rng(seed)
    links = random_links(random, int(random.integers(1, 7)), ALL_KINDS)
    robot = bp.Articulated(links)
    q = random.normal(size=(5, len(robot.joint_names))) * 10.0 ** random.integers(-3, 3)
    positions, rotations = robot.poses(q)
    for row in range(5):
        frames = frames_of(links, dict(zip(robot.joint_names, q[row], strict=True)))
        np.testing.assert_allclose(positions[row], frames[:, :3, 3], atol=1e-9, rtol=1e-13)
        for k in range(len(links)):
            np.testing.assert_allclose(matrix_of(rotations[row, k]), frames[k, :3, :3], atol=1e-12)


def test_ball_and_floating_joints_have_a_column_for_each_value():
    robot = bp.Articulated([bp.Link("base", joint="floating", joint_name="root"), bp.Link("hip", (), "base", "ball")])
    assert robot.joint_names == ("root.x", "root.y", "root.z", "root.qw", "root.qx", "root.qy", "root.qz",
                                 "hip.qw", "hip.qx", "hip.qy", "hip.qz")  # fmt: skip
    assert robot.limits.tolist() == [[-np.inf, np.inf]] * 3 + [[-1, 1]] * 8
    assert repr(robot) == "<a robot of 2 links, 0 shapes and 2 joints>"
    # Of any length, as far as numbers go; as (w, x, y, z).
    for length in (1e-300, 1.0, 1e40):
        turned = robot.poses([1, 2, 3, 0, 0, 0, length, 0, length, 0, 0])
        assert turned.positions.tolist() == [[1, 2, 3]] * 2
        np.testing.assert_allclose(turned.rotations, [[0, 0, 0, 1], [0, 0, 1, 0]], atol=1e-15)


def test_quaternions_of_zeros_are_named():
    robot = bp.Articulated([bp.Link("a", joint="revolute"), bp.Link("hip", (), "a", "ball")])
    with pytest.raises(ValueError, match="q: row 1, joint 'hip' has a quaternion of zeros"):
        robot.collides([[0, 1, 0, 0, 0], [0, 0, 0, 0, 0]])
    with pytest.raises(ValueError, match="q1: joint 'hip' has a quaternion of zeros"):
        robot.first_contact([0, 1, 0, 0, 0], [0] * 5)


def test_poses_at_zero_are_exact():
    robot = bp.Articulated([bp.Link("a", joint="revolute", position=(0.1, 0.2, 0.3)),
                            bp.Link("b", bp.Box(1, 1, 1), "a", "revolute", position=(1, 0, 0))])  # fmt: skip
    positions, rotations = robot.poses([0, 0])
    assert positions.tolist() == [[0.1, 0.2, 0.3], [1.1, 0.2, 0.3]]
    assert rotations.tolist() == [[1, 0, 0, 0]] * 2
    wall = bp.Shapes(bp.AABB((1, 1, 1)), [2.1, 0.2, 0.3])
    assert robot.collides([0, 0], wall)  # they only touch


def test_poses_of_links_in_any_order_have_columns_in_that_order():
    links = [bp.Link("tip", None or (), "arm", "revolute"), bp.Link("arm", (), "base", "prismatic"), bp.Link("base")]
    robot = bp.Articulated(links)
    assert robot.joint_names == ("tip", "arm")
    assert robot.poses([0.0, 2.0]).positions.tolist() == [[0, 0, 2], [0, 0, 2], [0, 0, 0]]


@pytest.mark.parametrize("q", [[[1, 2]], np.array([[1, 2]], np.float32), np.array([[1, 2]], np.int8)])
def test_poses_take_numbers_of_any_kind(q):
    robot = bp.Articulated([bp.Link("a", joint="prismatic"), bp.Link("b", (), "a", "prismatic")])
    assert robot.poses(q).positions[0, :, 2].tolist() == [1, 3]


def test_poses_of_a_view_that_is_not_contiguous_equal_those_of_a_copy():
    robot = arm()
    q = np.random.default_rng(1).uniform(-3, 3, (20, 12))[::2, ::2]
    assert np.array_equal(robot.poses(q).positions, robot.poses(q.copy()).positions)


# ---- Collisions ----


@pytest.mark.parametrize("seed", range(60))
def test_collides_of_random_robots_equals_overlaps_of_the_placed_shapes(seed):
    random = np.random.default_rng(seed)
    robot = bp.Articulated(random_links(random, int(random.integers(1, 8))))
    scene = random_obstacles(random, int(random.integers(0, 60)))
    q = random.uniform(-3, 3, (40, len(robot.joint_names)))
    q[:5] = np.round(q[:5])
    q[0] = 0
    known = bp.Obstacles(scene)
    wanted = collides_by_overlaps(robot, q, scene)
    found = robot.collides(q, known)
    assert found.dtype == np.bool_
    assert np.array_equal(found, wanted)
    assert np.array_equal(robot.collides(q, scene, workers=2), wanted)
    assert np.array_equal(robot.collides(q), collides_by_overlaps(robot, q, None))


def test_collides_scenes_have_both_answers():
    random = np.random.default_rng(5)
    scene = random_obstacles(random, 100)
    robot = arm(allowed=[("shoulder", None), ("upper", None)])
    found = robot.collides(random.uniform(-3, 3, (2000, 6)), scene)
    assert 100 < found.sum() < 1900


@pytest.mark.parametrize("count", [1, 4, 5, 16, 17, 500])
def test_collides_finds_each_of_many_obstacles(count):
    places = np.arange(count) * 3.0
    robot = rail()
    near = np.column_stack([places, np.zeros((count, 2))])
    known = bp.Obstacles(bp.Shapes(bp.Sphere(0.5), near))
    q = np.concatenate([places + 1.0, places + 1.25])[:, np.newaxis]
    assert robot.collides(q, known).tolist() == [True] * count + [False] * count


def test_collides_far_from_the_origin_is_as_exact_as_overlaps():
    random = np.random.default_rng(2)
    for far in (1e6, 1e12, 1e30):
        scene = random_obstacles(random, 30)
        moved = bp.Shapes([scene[k] for k in range(30)], scene.positions + far, scene.rotations)
        robot = bp.Articulated([bp.Link("base", position=(far, far, far)),
                                bp.Link("ball", random_shape(random), "base", "prismatic", position=(0, 0, 0.25)),
                                bp.Link("box", bp.Box(1, 1, 1), "ball", "revolute", position=(1, 0, 0))])  # fmt: skip
        q = random.uniform(-2, 2, (50, 2))
        assert np.array_equal(robot.collides(q, moved), collides_by_overlaps(robot, q, moved))


def test_collides_one_huge_obstacle_hides_no_other():
    scene = bp.Shapes([bp.Box(1, 1, 1), bp.AABB((1e30, 1e30, 1)), bp.Sphere(1e-9)],
                      [[9, 0, 0], [0, 0, 50], [20, 0, 0]])  # fmt: skip
    assert rail().collides([[0], [9], [20], [30]], scene).tolist() == [False, True, True, False]


@pytest.mark.parametrize("count", [1, 40, 400])
def test_obstacles_far_away_change_nothing_nearby(count):
    random = np.random.default_rng(count)
    near, robot = random_obstacles(random, 40), arm()
    far = random.normal(size=(count, 3)) * 10.0 ** random.uniform(3, 40, (count, 1))
    every = bp.Shapes(
        [near[k] for k in range(40)] + [bp.Sphere(1.0)] * count,
        np.concatenate([near.positions, far]),
        np.concatenate([near.rotations, np.tile([1.0, 0, 0, 0], (count, 1))]),
    )
    q = random.uniform(-3, 3, (200, 6))
    assert np.array_equal(robot.collides(q, every), collides_by_overlaps(robot, q, near))
    assert robot.clearance(q, every) == pytest.approx(robot.clearance(q, near), rel=1e-9, abs=1e-12)


def test_collides_equal_obstacles_in_one_place():
    scene = bp.Shapes(bp.Box(1, 1, 1), np.tile([[2.0, 0, 0]], (100, 1)))
    assert rail().collides([[0], [1], [3.5]], scene).tolist() == [False, True, False]


@pytest.mark.parametrize("seed", range(10))
def test_collides_with_padding_equals_distances(seed):
    random = np.random.default_rng(seed)
    robot = bp.Articulated(random_links(random, 4))
    scene = random_obstacles(random, 40, 3.0)
    q = random.uniform(-3, 3, (30, len(robot.joint_names)))
    for padding in (1e-6, 0.05, 0.4):
        wanted = []
        for row in q:
            others = least_distances(robot, row, scene)[1]
            wanted.append(others <= padding or len(bp.overlaps(robot.placed(row), pairs=robot.pairs)) > 0)
            assert abs(others - padding) > 1e-9
        assert robot.collides(q, scene, padding=padding).tolist() == wanted


def test_collides_padding_is_closed_and_not_for_the_robot_itself():
    robot = bp.Articulated([bp.Link("a", bp.AABB((1, 1, 1))), bp.Link("b", bp.AABB((1, 1, 1)), None, "prismatic")])
    scene = bp.Shapes(bp.AABB((1, 1, 1)), [1.5, 0, 0])
    assert not robot.collides([1.25])
    assert not robot.collides([1.25], scene, padding=0.25)
    assert robot.collides([1.25], scene, padding=0.5)


def test_collides_with_a_mesh_around_it_is_as_overlaps_a_surface():
    scene = bp.Shapes([bp.Mesh(CUBE * 20, CUBE_FACES)], [0, 0, 0])
    assert rail().collides([[0], [9.6], [30]], scene).tolist() == [False, True, False]
    solid = bp.Shapes([bp.ConvexHull(CUBE * 20)], [0, 0, 0])
    assert rail().collides([[0], [9.6], [30]], solid).tolist() == [True, True, False]


# ---- Who is compared with whom ----


@pytest.mark.parametrize("seed", range(30))
def test_pairs_of_random_trees_leave_out_what_is_fixed_or_next_to_each_other(seed):
    random = np.random.default_rng(seed)
    links = random_links(random, 9)
    names = [link.name for link in links]
    allowed = [(names[0], names[3]), (names[5], names[1])]
    for neighbors in (True, False):
        robot = bp.Articulated(links, allowed=allowed, neighbors=neighbors)
        wanted = pairs_between(robot, allowed, neighbors=neighbors)
        assert {tuple(pair) for pair in robot.pairs.tolist()} == {tuple(pair) for pair in wanted.tolist()}


def test_pairs_over_a_link_without_shapes_are_neighbors():
    ball = bp.Sphere(1)
    links = [bp.Link("a", ball), bp.Link("cross", (), "a", "revolute"), bp.Link("b", ball, "cross", "revolute"),
             bp.Link("plate", ball, "b"), bp.Link("c", ball, "plate", "revolute")]  # fmt: skip
    assert bp.Articulated(links).pairs.tolist() == [[0, 3]]
    assert len(bp.Articulated(links, neighbors=False).pairs) == 5  # all but b and plate


def test_allowed_links_may_touch_each_other_and_obstacles():
    ball = bp.Sphere(1)
    links = [bp.Link("base", ball), bp.Link("x", (), "base", "prismatic", axis=(1, 0, 0)), bp.Link("y", ball, "x"),
             bp.Link("z", ball, "y", "revolute"), bp.Link("far", ball, "z", "revolute")]  # fmt: skip
    table = bp.Obstacles(bp.Shapes(bp.Box(1, 1, 1), [0, 0, -1]))
    free = [9.0, 0, 0]
    assert bp.Articulated(links).collides(free, table)
    loose = bp.Articulated(links, allowed=[("base", None), ("far", "y")])
    assert not loose.collides(free, table)
    assert loose.collides([0.0, 0, 0], table)
    assert loose.clearance(free, table) > 1


def test_pairs_that_are_given_are_all_that_are_compared():
    ball = bp.Sphere(1)
    links = [bp.Link(name, [ball, ball], None, "prismatic") for name in "abc"]
    assert len(bp.Articulated(links).pairs) == 12
    # Not those within a link, and not those that may touch; in any order, and more than once.
    only = [(5, 0), (0, 1), (2, 4), (1, 3), (3, 1), (2, 0)]
    robot = bp.Articulated(links, pairs=only, allowed=[("b", "c")])
    assert robot.pairs.tolist() == [[0, 2], [1, 3], [0, 5]]
    assert np.array_equal(pickle.loads(pickle.dumps(robot)).pairs, robot.pairs)
    assert len(bp.Articulated(links, pairs=[]).pairs) == 0
    assert not bp.Articulated(links, pairs=[]).collides([0, 0, 0])
    for wrong, error, message in [
        ([(0, 6)], ValueError, r"pairs: row 0 is \[0, 6\], but there are 6 shapes"),
        ([(0, 1), (-1, 0)], ValueError, r"pairs: row 1 is \[-1, 0\]"),
        ([0, 1], ValueError, r"pairs must have shape \(m, 2\), not \(2,\)"),
        ([(0.0, 1.0)], TypeError, "pairs must be integers, not float64"),
    ]:
        with pytest.raises(error, match=message):
            bp.Articulated(links, pairs=wrong)


def test_two_robots_are_compared_as_one():
    ball = bp.Sphere(1)
    links = [bp.Link("base", ball), bp.Link("arm", ball, "base", "prismatic", position=(0, 5, 0)),
             bp.Link("other base", ball, position=(0, 0, 9)),
             bp.Link("other arm", ball, "other base", "prismatic", position=(0, 5, 0))]  # fmt: skip
    robot = bp.Articulated(links)
    assert robot.pairs.tolist() == [[1, 2], [0, 3], [1, 3]]
    assert robot.collides([[0, 0], [7, 0], [3, -4.5]]).tolist() == [False, True, True]


# ---- Clearances ----


@pytest.mark.parametrize("seed", range(20))
def test_clearance_of_random_robots_is_the_least_distance(seed):
    random = np.random.default_rng(seed)
    robot = bp.Articulated(random_links(random, 4))
    scene = random_obstacles(random, 30, 3.0)
    q = random.uniform(-3, 3, (25, len(robot.joint_names)))
    wanted = np.array([max(0.0, min(least_distances(robot, row, scene))) for row in q])
    found = robot.clearance(q, bp.Obstacles(scene))
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    assert (found[robot.collides(q, scene)] == 0).all()
    assert np.array_equal(robot.clearance(q, scene, workers=2), found)
    for limit in (0.0, 0.1, 0.5):
        assert np.array_equal(robot.clearance(q, scene, max_distance=limit), np.where(found <= limit, found, np.inf))


def test_clearance_without_anything_to_compare_is_infinite():
    assert rail().clearance([3.0]) == np.inf
    assert rail().clearance([3.0], []) == np.inf
    assert bp.Articulated([bp.Link("a")]).clearance(np.empty((2, 0)), bp.Shapes(bp.Sphere(1), (0, 0, 0))).tolist() == [
        np.inf,
        np.inf,
    ]


# ---- First contacts ----


def test_first_contact_of_a_slide_is_where_it_touches():
    wall = bp.Shapes(bp.AABB((1, 9, 9)), [5, 0, 0])
    found = rail().first_contact([[0], [0], [0], [9], [4.4]], [[8], [3], [4], [1], [9]], wall, tolerance=1e-9)
    np.testing.assert_allclose(found, [0.5, np.inf, 1.0, 3 / 8, 0], atol=1e-9)
    assert rail().first_contact([0], [8], wall, padding=0.4, tolerance=1e-9) == pytest.approx(0.45)


def test_first_contact_of_a_turn_is_where_it_touches():
    link = bp.Link("hand", bp.Sphere(0.1, offset=(2, 0, 0)), joint="revolute")
    scene = bp.Shapes(bp.Sphere(0.2), [0, 2, 0])
    angle = np.pi / 2 - 2 * np.arcsin(0.3 / 4)
    found = bp.Articulated([link]).first_contact([0], [3], scene, tolerance=1e-8)
    assert angle / 3 - 1e-7 < found <= angle / 3


def test_first_contact_passes_no_thin_wall():
    wall = bp.Shapes(bp.Triangle([[5, -9, -9], [5, 9, -9], [5, 0, 20]]), [0, 0, 0])
    found = rail(bp.Sphere(1e-5)).first_contact([0], [1e3], wall, tolerance=1e-6)
    assert found == pytest.approx(5e-3, abs=1e-7)
    assert not rail(bp.Sphere(1e-5)).collides([[0], [1e3]], wall).any()


@pytest.mark.parametrize("seed", range(12))
def test_first_contact_of_random_robots_equals_fine_samples(seed):
    random = np.random.default_rng(seed)
    robot = bp.Articulated(random_links(random, 5), neighbors=bool(seed % 2))
    scene = random_obstacles(random, 25, 3.0)
    known, count = bp.Obstacles(scene), len(robot.joint_names)
    q0, q1 = random.uniform(-2, 2, (2, 30, count))
    tolerance = 1e-5
    shares = robot.first_contact(q0, q1, known, tolerance=tolerance)
    assert np.array_equal(robot.first_contact(q0, q1, scene, tolerance=tolerance, workers=2), shares)
    for begin, end, share in zip(q0, q1, shares, strict=True):
        times = np.linspace(0, 1, 400)
        samples = robot.collides(begin + times[:, np.newaxis] * (end - begin), known)
        assert not samples[times < min(share, 1.0)].any()
        if share == np.inf:
            assert not samples.any()
        else:
            assert robot.clearance(begin + share * (end - begin), known) <= tolerance * (1 + 1e-9)


def on_the_way(robot, begin, end, times):
    """The configurations of a way: all values change evenly, and quaternions turn evenly the shorter way."""
    rows = begin + np.asarray(times)[:, np.newaxis] * (end - begin)
    for k in [k for k, name in enumerate(robot.joint_names) if name.endswith(".qw")]:
        a, b = (q[k : k + 4] / np.linalg.norm(q[k : k + 4]) for q in (begin, end))
        b = -b if a @ b < 0 else b
        angle = np.arccos(min(a @ b, 1.0))
        across = b - (a @ b) * a
        across /= max(np.linalg.norm(across), 1e-300)
        rows[:, k : k + 4] = np.cos(np.outer(times, angle)) * a + np.sin(np.outer(times, angle)) * across
    return rows


@pytest.mark.parametrize("seed", range(12))
def test_first_contact_of_floating_robots_equals_fine_samples(seed):
    random = np.random.default_rng(seed)
    links = [bp.Link("base", bp.Box(0.3, 0.2, 0.1), None, "floating", position=random.uniform(-0.3, 0.3, 3),
                     rotation=random.normal(size=4)),
             bp.Link("arm", bp.Capsule((0, 0, 0), (0.6, 0, 0), 0.05), "base", "ball", position=(0.3, 0, 0)),
             bp.Link("hand", bp.Box(0.1, 0.1, 0.3, offset=(0, 0, 0.2)), "arm", "revolute", random.normal(size=3),
                     (0.6, 0, 0))]  # fmt: skip
    robot = bp.Articulated(links)
    known, tolerance = bp.Obstacles(random_obstacles(random, 12, 1.5)), 1e-5
    reached = 0
    for _ in range(10):
        begin, end = random.normal(size=(2, len(robot.joint_names)))
        share = robot.first_contact(begin, end, known, tolerance=tolerance)
        times = np.linspace(0, 1, 1000)
        samples = robot.collides(on_the_way(robot, begin, end, times), known)
        assert not samples[times < min(share, 1.0)].any()
        if share == np.inf:
            assert not samples.any()
        else:
            reached += share > 0
            at = on_the_way(robot, begin, end, [share])[0]
            assert robot.clearance(at, known) <= tolerance * (1 + 1e-9)
    assert reached


def test_first_contact_of_a_ball_joint_takes_the_shorter_way_at_an_even_speed():
    robot = bp.Articulated([bp.Link("arm", bp.Sphere(0.1, offset=(2, 0, 0)), joint="ball")])
    scene = bp.Shapes(bp.Sphere(0.2), [np.sqrt(2), np.sqrt(2), 0])
    angle = np.pi / 4 - 2 * np.arcsin(0.3 / 4)
    a_quarter = [np.cos(np.pi / 4), 0, 0, np.sin(np.pi / 4)]
    for begin, end in (([1, 0, 0, 0], a_quarter), ([-3, 0, 0, 0], a_quarter), ([1, 0, 0, 0], -np.array(a_quarter))):
        found = robot.first_contact(begin, end, scene, tolerance=1e-9)
        assert found == pytest.approx(angle / (np.pi / 2), abs=1e-8)
    assert robot.first_contact([1, 0, 0, 0], [-1, 0, 0, 0], scene) == np.inf  # the same rotation


def test_first_contact_of_a_start_in_contact_is_zero_and_of_no_motion_as_it_is():
    scene = bp.Shapes(bp.Sphere(1), [0, 0, 0])
    found = rail().first_contact([[0.5], [3.0], [1.5]], [[9.0], [3.0], [1.5]], scene)
    assert found.tolist() == [0, np.inf, 0]


def test_first_contact_of_links_with_each_other():
    robot = bp.Articulated(
        [bp.Link("a", bp.Sphere(1), joint="prismatic"), bp.Link("b", bp.Sphere(1), joint="prismatic")]
    )
    found = robot.first_contact([0, 10], [10, 0], tolerance=1e-9)
    assert found == pytest.approx(0.4, abs=1e-9)
    assert robot.first_contact([0, 10], [50, 60]) == np.inf


# ---- The edges ----


def test_no_configurations_have_empty_answers():
    robot = arm()
    for q in (np.empty((0, 6)), []):
        assert robot.collides(q, bp.Shapes(bp.Sphere(1), [0, 0, 0])).shape == (0,)
        assert robot.clearance(q).shape == (0,)
        assert robot.first_contact(q, q).shape == (0,)
        assert robot.poses(q).positions.shape == (0, 6, 3)


def test_robot_without_joints_or_shapes():
    bare = bp.Articulated([bp.Link("only")])
    assert bare.collides([]).shape == ()
    assert not bare.collides([], bp.Shapes(bp.Sphere(9), [0, 0, 0]))
    assert bare.collides(np.empty((3, 0))).tolist() == [False] * 3
    assert bare.first_contact(np.empty((1, 0)), np.empty((1, 0))).tolist() == [np.inf]
    block = bp.Articulated([bp.Link("only", bp.Sphere(1))])
    assert block.collides(np.empty((2, 0)), bp.Shapes(bp.Sphere(1), [1, 0, 0])).tolist() == [True, True]


def test_one_configuration_gives_one_answer():
    robot, scene = rail(), bp.Shapes(bp.Sphere(1), [0, 0, 0])
    assert robot.collides([0], scene) is np.True_
    assert isinstance(robot.clearance([9], scene), np.float64)
    assert isinstance(robot.first_contact([9], [0], scene), np.float64)


def test_limits_are_not_enforced():
    robot = bp.Articulated([bp.Link("a", joint="revolute", limits=(-1, 1)), bp.Link("b", joint="continuous")])
    assert robot.limits.tolist() == [[-1, 1], [-np.inf, np.inf]]
    assert robot.poses([9, 9]).positions.shape == (2, 3)


def test_obstacles_are_a_copy():
    scene = bp.Shapes(bp.Sphere(1), [[0, 0, 0], [20, 0, 0]], [[1, 0, 0, 0], [0, 1, 0, 0]])
    known = bp.Obstacles(scene)
    scene.move([[9, 9, 9], [9, 9, 9]])
    assert len(known) == 2
    assert rail().collides([[0], [10], [20]], known).tolist() == [True, False, True]


def test_obstacles_of_shapes_and_of_meshes_of_others():
    known = bp.Obstacles([bp.Sphere(1, offset=(5, 0, 0)), bp.Mesh(CUBE, CUBE_FACES)])
    assert rail().collides([[0.6], [3], [5]], known).tolist() == [True, False, True]
    assert repr(known) == "<2 obstacles>"


def test_robot_and_obstacles_survive_pickle_and_copy():
    random = np.random.default_rng(0)
    robot = arm(allowed=[("hand", None), ("hand", "upper")])
    known = bp.Obstacles(random_obstacles(random, 30, 1.0))
    q = random.uniform(-3, 3, (200, 6))
    wanted = robot.collides(q, known)
    assert 0 < wanted.sum() < 200
    for made in (pickle.loads(pickle.dumps((robot, known))), copy.deepcopy((robot, known))):
        assert np.array_equal(made[0].collides(q, made[1]), wanted)
    assert np.array_equal(copy.copy(robot).pairs, robot.pairs)
    assert repr(robot) == "<a robot of 6 links, 6 shapes and 6 joints>"


# ---- Errors ----


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ([[0] * 6, [0, 0, np.nan, 0, 0, 0]], "q: row 1, joint 'lower' is nan, which is not finite"),
        ([0, np.inf, 0, 0, 0, 0], "q: joint 'upper' is inf, which is not finite"),
        ([[1e41, 0, 0, 0, 0, 0]], r"q: row 0, joint 'shoulder' is 1e\+41, which is beyond 1e\+40"),
        ([[0] * 5], r"q must have shape \(n, 6\) or \(6,\), not \(1, 5\)"),
        (3.0, r"q must have shape \(n, 6\) or \(6,\), not \(\)"),
        (np.zeros((2, 2, 6)), r"q must have shape \(n, 6\) or \(6,\), not \(2, 2, 6\)"),
    ],
)
def test_configurations_that_are_wrong_are_named(q, message):
    for ask in (arm().collides, arm().poses, arm().clearance):
        with pytest.raises(ValueError, match=message):
            ask(q)
    with pytest.raises(ValueError, match=message.replace("q", "q1", 1)):
        arm().first_contact([[0.0] * 6] * 2, q)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([], "links: a robot has at least one"),
        ([bp.Link("a"), bp.Link("a")], "links: two are named 'a'"),
        ([bp.Link("a", parent="b")], "link 'a': there is no link 'b', its parent"),
        ([bp.Link("a", parent="b"), bp.Link("b", parent="a")], "link 'a' hangs on itself, over its parents"),
        ([bp.Link("a", joint="revolut")], r"link 'a': unknown joint 'revolut' \(did you mean 'revolute'\?\)"),
        ([bp.Link("a", axis=(0, 0, 0))], "link 'a': axis is zero"),
        ([bp.Link("a", axis=(0, np.nan, 0))], "link 'a': axis has nan, which is not finite"),
        ([bp.Link("a", position=(0, 1))], r"link 'a': position must be \(3,\)"),
        ([bp.Link("a", position=[(0, 0, 1)])], "link 'a': position must be one, not 1"),
        ([bp.Link("a", rotation=(0, 0, 0, 0))], "link 'a': rotation is a zero quaternion"),
        ([bp.Link("a", joint="revolute", limits=(2, 1))], "link 'a': limits are 2.0 and 1.0, not in order"),
        ([bp.Link("a", joint="revolute", limits=(0, 1, 2))], "link 'a': limits must be two numbers"),
        ([bp.Link("a", joint="revolute", mimic=("b", 1, 0))], "link 'a': there is no joint 'b' with values to mimic"),
        ([bp.Link("a", joint="revolute", mimic=("a", 1, 0))], "link 'a': joints mimic each other .*'a'"),
        ([bp.Link("c", joint="revolute", mimic=("a", 1, 0)), bp.Link("a", joint="revolute", mimic=("b", 1, 0)),
          bp.Link("b", joint="revolute", mimic=("a", 1, 0))], "link 'b': joints mimic each other .*'a'"),
        ([bp.Link("a", joint="ball"), bp.Link("b", joint="revolute", mimic=("a", 1, 0))],
         "link 'b': joint 'a' is ball and has no single value"),
        ([bp.Link("b", joint="revolute"), bp.Link("a", joint="ball", mimic=("b", 1, 0))],
         "link 'a': a ball joint cannot mimic another"),
        ([bp.Link("a", joint="floating", limits=(0, 1))], "link 'a': a floating joint has no limits"),
        ([bp.Link("a", joint="revolute", joint_name="j"), bp.Link("b", joint="revolute", joint_name="j")],
         "link 'b': there are two joints 'j'"),
        ([bp.Link("a", bp.Circle(1))], "link 'a': shapes: .*a Circle of 2 dimensions, where 3 are needed"),
        ([bp.Link("a", [bp.Sphere(1), bp.Circle(1)])], "link 'a': shapes: row 1, a Circle of 2 dimensions"),
    ],
)  # fmt: skip
def test_links_that_are_wrong_are_named(links, message):
    with pytest.raises(ValueError, match=message):
        bp.Articulated(links)


def test_links_of_other_types_are_named():
    with pytest.raises(TypeError, match="links: number 1 is 'b', not a Link"):
        bp.Articulated([bp.Link("a"), "b"])
    with pytest.raises(TypeError, match="link 'a': mimic must be a name and two numbers, not 'b'"):
        bp.Articulated([bp.Link("a", joint="revolute", mimic="b")])
    with pytest.raises(TypeError, match="link 'a': parent must be a text, not 3"):
        bp.Articulated([bp.Link("a", parent=3)])
    with pytest.raises(TypeError, match="links must be an iterable of Link"):
        bp.Articulated(3)
    with pytest.raises(TypeError, match="link 'a': shapes must be a Shape or a list of them"):
        bp.Articulated([bp.Link("a", 7)])


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        ([("hand", "foot")], "allowed: row 0 names 'foot', which is no link"),
        ([("hand", "wrist"), (None, "hand")], "allowed: row 1 names None, which is no link"),
        ([("hand",)], r"allowed: row 0 is \('hand',\), not a pair of names"),
        (["hand"], r"allowed: row 0 is \('hand',\), not a pair of names"),
    ],
)
def test_allowed_pairs_that_are_wrong_are_named(allowed, message):
    with pytest.raises(ValueError, match=message):
        arm(allowed=allowed)


def test_options_out_of_range_are_named():
    robot = arm()
    for wrong in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match="padding must be finite and at least 0"):
            robot.collides([0] * 6, padding=wrong)
    with pytest.raises(ValueError, match="max_distance must be at least 0, not -1"):
        robot.clearance([0] * 6, max_distance=-1)
    with pytest.raises(ValueError, match="tolerance must be above 0"):
        robot.first_contact([0] * 6, [0] * 6, tolerance=0)
    with pytest.raises(ValueError, match="q0 and q1 must have the same shape"):
        robot.first_contact([0] * 6, [[0] * 6])
    with pytest.raises(ValueError, match="workers must be a positive number"):
        robot.collides([0] * 6, workers=0)
    with pytest.raises(ValueError, match="obstacles must be in space"):
        robot.collides([0] * 6, bp.Shapes(bp.Circle(1), [0, 0]))
    with pytest.raises(ValueError, match="q must be one configuration"):
        robot.placed([[0] * 6])


class Cloud(bp.CustomShape, dim=3, parameters=("size",)):
    """A shape of a user's own."""

    @staticmethod
    def bounds(values):
        corners = np.repeat(values["size"][:, np.newaxis], 3, axis=1)
        return -corners, corners

    @staticmethod
    def overlaps(clouds, others):
        return NotImplemented


def test_shapes_of_types_of_your_own_are_refused():
    with pytest.raises(bp.errors.UnsupportedQueryError, match="robots cannot have shapes of types of your own"):
        bp.Articulated([bp.Link("a", Cloud(size=1.0))])
    with pytest.raises(bp.errors.UnsupportedQueryError, match="types of your own"):
        bp.Obstacles(bp.Shapes(Cloud(size=1.0), [0, 0, 0]))


def test_bodies_of_a_world_are_obstacles_where_they_are():
    link = bp.Capsule((0, 0, 0), (1, 0, 0), 0.1)
    arm = bp.Articulated([bp.Link("arm", link, joint="revolute")])
    world = bp.World(dim=3)
    gone, wall = (world.add(bp.Box(0.2, 4, 4), position=(x, 0, 0)) for x in (0.9, 0.8))
    gone.remove()
    kept = bp.Obstacles(world)
    assert arm.collides([[0], [np.pi]], world).tolist() == arm.collides([[0], [np.pi]], kept).tolist() == [True, False]
    world.move([wall.row], [[-0.8, 0, 0]])
    world.refresh()
    assert arm.collides([[0], [np.pi]], world).tolist() == [False, True]
    assert arm.collides([[0], [np.pi]], kept).tolist() == [True, False]
    flat = bp.World(dim=2)
    flat.add(bp.Circle(1), position=(0, 0))
    with pytest.raises(ValueError, match="must be in space"):
        bp.Obstacles(flat)


@pytest.mark.parametrize("seed", range(3))
def test_copies_of_obstacles_change_no_answer(seed):
    random = np.random.default_rng(seed)
    robot = bp.Articulated(random_links(random, 5))
    shapes = [random_shape(random) for _ in range(8)]
    places, turns = random.uniform(-2, 2, (8, 3)), random.normal(size=(8, 4))
    # Of one place but turned otherwise, too: what only seems to be a copy.
    rows = np.concatenate([np.arange(8), random.integers(0, 8, 60)])
    turned = np.concatenate([turns[rows], random.normal(size=(8, 4))])
    rows = np.concatenate([rows, np.arange(8)])
    some = bp.Obstacles(bp.Shapes(shapes * 2, np.tile(places, (2, 1)), np.concatenate([turns, turned[-8:]])))
    copies = bp.Obstacles(bp.Shapes([shapes[row] for row in rows], places[rows], turned))
    q = random.uniform(-2, 2, (30, len(robot.joint_names)))
    for call in (robot.collides, robot.clearance):
        np.testing.assert_array_equal(call(q, copies), call(q, some))
    np.testing.assert_array_equal(robot.first_contact(q, q + 0.3, copies), robot.first_contact(q, q + 0.3, some))
