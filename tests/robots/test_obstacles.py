"""Obstacles of points, shapes, meshes, worlds and other obstacles, and obstacles that move."""

import pickle
import threading

import numpy as np
import pytest

import broadphase as bp
from test_robots import arm, collides_by_overlaps, matrix_of, rail, random_obstacles

CUBE = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
CUBE_FACES = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
              [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]  # fmt: skip


class Surface:
    """What has vertices and faces, as meshes of trimesh."""

    def __init__(self, shift):
        self.vertices, self.faces = CUBE + shift, CUBE_FACES


# ---- Points ----


@pytest.mark.parametrize("radius", [0.0, 0.05, "each"])
def test_points_collide_as_distances_to_them_say(radius):
    random = np.random.default_rng(1)
    points = random.uniform(-1, 1, (1500, 3))
    points[:, :2] += 0.2 * np.sign(points[:, :2])  # not in the base
    radii = random.uniform(0, 0.05, 1500) if radius == "each" else np.full(1500, radius)
    cloud = bp.Obstacles(points=points, radius=radii if radius == "each" else radius)
    assert len(cloud) == 1500
    q = random.uniform(-3, 3, (40, 6))
    # The distance of a capsule, by its axis, from a point; the hand, a box, is left out.
    robot = bp.Articulated(arm().links, allowed=[("hand", None)], pairs=[])
    wanted = []
    for row in q:
        (positions, rotations), least = robot.poses(row), np.inf
        for part in range(5):
            start, way = positions[part], matrix_of(rotations[part]) @ robot.links[part].shapes.end
            shares = np.clip((points - start) @ way / (way @ way), 0, 1)
            gaps = np.linalg.norm(points - start - shares[:, np.newaxis] * way, axis=1) - 0.05 - radii
            least = min(least, gaps.min())
        wanted.append(least)
    wanted = np.array(wanted)
    assert 3 < (wanted <= 0).sum() < 40
    assert np.array_equal(robot.collides(q, cloud), wanted <= 0)
    np.testing.assert_allclose(robot.clearance(q, cloud), np.maximum(wanted, 0), atol=1e-12)


@pytest.mark.parametrize("far", [1e3, 1e9, 1e20])
@pytest.mark.parametrize("share", [0.001, 0.5])
def test_points_far_away_change_no_answer_near_the_others(far, share):
    random = np.random.default_rng(3)
    points = random.uniform(-1, 1, (4000, 3))
    points[:, :2] += 0.2 * np.sign(points[:, :2])
    radius = random.uniform(0, 0.02, 4000)
    is_far = random.random(4000) < share
    points[is_far] += np.array([far, 0, 0])
    robot, q = arm(), random.uniform(-3, 3, (200, 6))
    everything = bp.Obstacles(points=points, radius=radius)
    near = bp.Obstacles(points=points[~is_far], radius=radius[~is_far])
    collides = robot.collides(q, near)
    assert 20 < collides.sum() < 200
    assert np.array_equal(collides, collides_by_overlaps(robot, q, near.shapes))
    assert np.array_equal(robot.collides(q, everything), collides)
    assert np.array_equal(robot.collides(q, everything, padding=0.01), robot.collides(q, near, padding=0.01))
    assert np.array_equal(robot.clearance(q, everything), robot.clearance(q, near))
    shifted = q + random.uniform(-0.5, 0.5, q.shape)
    assert np.array_equal(robot.first_contact(q, shifted, everything), robot.first_contact(q, shifted, near))


def test_points_of_any_kind_and_none():
    for points in ([[0, 0, 0]], np.zeros((1, 3), np.float32), (0, 0, 0)):
        assert rail().collides([[0.5], [0.6]], bp.Obstacles(points=points)).tolist() == [True, False]
    for points in ([], np.empty((0, 3))):
        assert len(bp.Obstacles(points=points, radius=0.1)) == 0
    assert len(bp.Obstacles()) == 0


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"points": [[0, 0]]}, ValueError, r"points must be \(3,\) or \(n, 3\)"),
        ({"points": [[0, 0, 0], [0, np.nan, 0]]}, ValueError, "points: row 1 has nan, which is not finite"),
        ({"points": [[0, 0, 0]], "radius": -1}, ValueError, "radius is -1.0, which is negative"),
        ({"points": np.zeros((3, 3)), "radius": [1, 2]}, ValueError, "radius has 2 rows for 3 points"),
        ({"shapes": bp.Shapes(bp.Circle(1), [0, 0])}, ValueError, "shapes must be in space, not in 2 dimensions"),
        ({"shapes": [bp.Obstacles(), bp.Sphere(1), "a"]}, TypeError, "shapes: 'a', at 2, is no shape"),
        ({"shapes": bp.Sphere(1)}, TypeError, "shapes must be Shapes or a list of shapes"),
        ({"shapes": 3}, TypeError, "shapes must be Shapes or a list of shapes"),
        ({"shapes": [bp.Shapes(bp.Circle(1), [0, 0]), bp.Sphere(1)]}, ValueError, "shapes must be in space"),
    ],
)
def test_obstacles_that_are_wrong_are_named(given, error, message):
    with pytest.raises(error, match=message):
        bp.Obstacles(**given)


# ---- Mixed ----


def test_obstacles_of_everything_in_one_call_are_in_the_order_given():
    world = bp.World(dim=3)
    world.add_many(bp.Sphere(0.5), [[10, 0, 0], [13, 0, 0], [16, 0, 0]])
    world.step(0.01)
    hull = bp.ConvexHull(CUBE)
    others = bp.Obstacles(bp.Shapes([hull, bp.Mesh(CUBE, CUBE_FACES)], [[20, 0, 0], [23, 0, 0]]))
    turned = bp.Shapes(bp.Box(1, 1, 1), [[30, 0, 0]], [[np.cos(0.4), 0, 0, np.sin(0.4)]])
    sources = [bp.Sphere([0.5, 0.25], offset=[[0, 0, 0], [3, 0, 0]]), Surface((6, 0, 0)), world, others, hull, turned]
    known = bp.Obstacles(sources, points=[[40, 0, 0]], radius=0.5)
    assert len(known) == 2 + 1 + 3 + 2 + 1 + 1 + 1
    boxes = [[[0, 0, 0]], [[3, 0, 0]], [[6, 0, 0]], [[10, 0, 0]], [[13, 0, 0]], [[16, 0, 0]], [[20, 0, 0]],
             [[23, 0, 0]], [[0, 0, 0]], [[30, 0, 0]], [[40, 0, 0]]]  # fmt: skip
    np.testing.assert_allclose(known.shapes.boxes.mean(axis=1), np.concatenate(boxes), atol=1e-12)
    places = np.array([0, 3, 6, 10, 13, 16, 20, 23, 30, 40.0])
    q = np.concatenate([places, [1.6, 26, 35]])[:, np.newaxis]
    assert rail().collides(q, known).tolist() == [True] * 10 + [False] * 3
    assert np.array_equal(rail().collides(q, sources), rail().collides(q, known) & (q[:, 0] != 40))
    again = pickle.loads(pickle.dumps(known))
    assert np.array_equal(again.shapes.boxes, known.shapes.boxes)


@pytest.mark.parametrize("seed", range(6))
def test_obstacles_of_several_sets_collide_as_each_of_them(seed):
    random = np.random.default_rng(seed)
    sets = [random_obstacles(random, int(count), 1.0) for count in random.integers(0, 12, 5)]
    q = random.uniform(-3, 3, (100, 6))
    robot = arm()
    known = bp.Obstacles(sets)
    wanted = np.any([robot.collides(q, one) for one in sets], axis=0)
    assert np.array_equal(robot.collides(q, known), wanted)
    assert np.array_equal(robot.clearance(q, known), np.min([robot.clearance(q, one) for one in sets], axis=0))
    assert np.array_equal(known.shapes.boxes, np.concatenate([one.boxes.reshape(-1, 2, 3) for one in sets]))


def test_obstacles_of_a_world_stay_when_its_bodies_go():
    world = bp.World(dim=3)
    rows = world.add_many(bp.ConvexHull(CUBE), [[0, 0, 0], [5, 0, 0]])
    world.step(0.01)
    known = bp.Obstacles(world)
    world.remove(rows)
    world.add_many(bp.ConvexHull(CUBE * 8), [[9, 9, 9]])
    world.step(0.01)
    found = rail().collides([[0], [3], [5]], known, pairs=True)
    assert found.collides.tolist() == [True, False, True]
    known.update([3, 0, 0], rows=[0])
    assert rail().collides([[0], [3], [5]], known).tolist() == [False, True, True]


# ---- Moves ----


@pytest.mark.parametrize("seed", range(8))
def test_obstacles_that_moved_collide_as_those_made_anew(seed):
    random = np.random.default_rng(seed)
    robot, count = arm(), 40
    scene = random_obstacles(random, count)
    if seed % 2:
        scene = bp.Shapes([scene[k] for k in range(count)], scene.positions)
    known = bp.Obstacles(scene)
    q = random.uniform(-3, 3, (100, 6))
    before = robot.clearance(q, known)
    for _ in range(4):
        rows = random.choice(count, 9, replace=False)
        positions, rotations = random.uniform(-2, 2, (9, 3)), random.normal(size=(9, 4))
        moves = [(positions, rotations), (positions, None), (None, rotations)][random.integers(3)]
        known.update(*moves, rows=rows)
        scene.move(*moves, rows=rows)
        assert np.array_equal(known.shapes.boxes, scene.boxes)
        assert np.array_equal(robot.collides(q, known), collides_by_overlaps(robot, q, scene))
        assert np.array_equal(robot.clearance(q, known), robot.clearance(q, bp.Obstacles(scene)))
    assert not np.array_equal(robot.clearance(q, known), before)


def test_update_moves_points_and_all_rows_and_changes_nothing_on_errors():
    known = bp.Obstacles(bp.Shapes(bp.Sphere(0.5), [0, 0, 0]), points=[[5, 0, 0], [9, 0, 0]], radius=0.25)
    known.update([[20, 0, 0]], rows=[2])
    q = [[0.0], [5], [9], [20]]
    assert rail().collides(q, known).tolist() == [True, True, False, True]
    for wrong, message in [
        ({"positions": [0, 0, 0], "rows": [3]}, "rows: number 0 is 3, but there are 3 shapes"),
        ({"positions": [0, np.inf, 0]}, "positions has inf"),
        ({"rotations": [0, 0, 0, 0], "rows": [1]}, "rotations is a zero quaternion"),
        ({"positions": np.zeros((2, 3))}, "positions has 2 rows for 3 shapes"),
    ]:
        with pytest.raises(ValueError, match=message):
            known.update(**wrong)
    assert rail().collides(q, known).tolist() == [True, True, False, True]
    known.update([[1, 50, 0], [2, 50, 0], [9, 0, 0]])
    assert rail().collides(q, known).tolist() == [False, False, True, False]


def test_update_leaves_the_shapes_that_were_given_and_the_copies_alone():
    scene = bp.Shapes(bp.Sphere(0.5), [[0, 0, 0], [9, 0, 0]])
    known = bp.Obstacles(scene)
    copied = bp.Obstacles([known])
    known.update([5, 0, 0], rows=[0])
    assert scene.positions[0].tolist() == [0, 0, 0]
    assert rail().collides([[0.0], [5]], known).tolist() == [False, True]
    assert rail().collides([[0.0], [5]], copied).tolist() == [True, False]


def test_update_while_other_threads_query_gives_answers_of_before_or_after():
    # The two obstacles are always together, so that answers which mix both states would be seen.
    known = bp.Obstacles(bp.Shapes(bp.Sphere(0.5), [[0, 0, 0], [3, 0, 0]]))
    q, seen, stop = [[0.0], [3], [30], [33]], [], threading.Event()

    def query():
        while not stop.is_set():
            found = rail().collides(q, known, pairs=True)
            seen.append((*found.collides.tolist(), *found.rows.tolist()))

    threads = [threading.Thread(target=query) for _ in range(3)]
    for thread in threads:
        thread.start()
    for step in range(200):
        known.update([[30, 0, 0], [33, 0, 0]] if step % 2 else [[0, 0, 0], [3, 0, 0]])
    stop.set()
    for thread in threads:
        thread.join()
    assert set(seen) <= {(True, True, False, False, 0, 1), (False, False, True, True, 2, 3)}


# ---- Half spaces ----


def test_half_spaces_are_obstacles_beside_others():
    random = np.random.default_rng(8)
    robot, q = arm(), random.uniform(-3, 3, (300, 6))
    ground, slope = bp.HalfSpace((0, 0, 1), -0.4), bp.HalfSpace((1, 2, 3), -1.0)
    boxes = random_obstacles(random, 20)
    for given in ([ground], [slope], [ground, slope, boxes], [boxes, slope]):
        scene = bp.Obstacles(given)
        found = robot.collides(q, scene)
        assert np.array_equal(found, collides_by_overlaps(robot, q, scene.shapes))
        gaps, near = robot.clearance(q, scene), robot.clearance(q, scene, max_distance=0.1)
        free = robot.clearance(q)
        for row in range(0, 300, 10):
            parts = robot.placed(q[row])
            pairs = np.stack(np.meshgrid(np.arange(len(parts)), np.arange(len(scene.shapes))), axis=2).reshape(-1, 2)
            least = min(free[row], bp.distance(parts, scene.shapes, pairs=pairs).min())
            assert gaps[row] == pytest.approx(max(least, 0), abs=1e-12)
        assert np.array_equal(near, np.where(gaps <= 0.1, gaps, np.inf))
        alone = bp.Articulated(robot.links, pairs=[])
        assert np.array_equal(alone.collides(q, scene, padding=0.05), alone.clearance(q, scene) <= 0.05)


def test_arms_stop_at_half_spaces():
    cart, floor = rail(), bp.HalfSpace((-1, 0, 0), -3.0)  # from 3 on
    share = cart.first_contact([0], [10], bp.Obstacles([floor]), tolerance=1e-9)
    assert share == pytest.approx(0.25, abs=1e-8)
    random = np.random.default_rng(9)
    robot = bp.Articulated(arm().links, pairs=[])
    start, end = random.uniform(-2, 2, (2, 60, 6))
    scene = bp.Obstacles([bp.HalfSpace((0, 0, 1), -0.2), bp.HalfSpace((1, 0, 1), -0.9)])
    shares = robot.first_contact(start, end, scene)
    for row, share in enumerate(shares):
        times = np.linspace(0, min(share, 1), 50)[:-1]
        assert (
            not robot.collides(start[row] + times[:, np.newaxis] * (end[row] - start[row]), scene).any() or share == 0
        )
    assert 5 < np.isfinite(shares).sum() < 60
    assert robot.edges_collide(start, end, scene).tolist() == np.isfinite(shares).tolist()


def test_half_spaces_belong_on_links_that_never_move():
    floor = bp.Link("floor", [bp.HalfSpace((0, 0, 1))], position=(0, 0, -1))
    cart = bp.Link("cart", bp.Sphere(0.5), joint="prismatic", axis=(0, 0, 1))
    robot = bp.Articulated([floor, cart], neighbors=False)
    assert robot.collides([[0], [-0.4], [-0.6]]).tolist() == [False, False, True]
    assert robot.clearance([0]) == 0.5
    assert robot.first_contact([0], [-1], tolerance=1e-9) == pytest.approx(0.5, abs=1e-8)
    assert robot.edges_collide([[0], [1], [1]], [[-1], [0], [-0.4]]).tolist() == [True, False, False]
    buried = bp.Obstacles([bp.Shapes(bp.Sphere(0.1), [[5, 0, -2]])])
    assert robot.edges_collide([[0.5]], [[0.6]], buried).tolist() == [True]  # the floor, which never moves
    message = "link 'blade': a HalfSpace, which has no end, needs a link that is fixed to the world"
    for shape in (bp.HalfSpace((0, 0, 1)), bp.Compound([bp.Sphere(1), bp.HalfSpace((1, 0, 0))])):
        with pytest.raises(ValueError, match=message):
            bp.Articulated([floor, cart, bp.Link("blade", shape, "cart")])
        with pytest.raises(ValueError, match=message):
            robot.attach("cart", shape, name="blade")
