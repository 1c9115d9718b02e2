"""Bodies without an end, whose boxes are infinite, in worlds of every method."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.demo.stage import HIDDEN, Stage

METHODS = [method.name for method in bp.METHODS]


def world_of(d, method, seed=1, **options):
    """Balls and boxes above, across and below half spaces that stand still, move, and turn."""
    rng = np.random.default_rng(seed)
    world = bp.World(dim=d, method=method, **options)
    ball, box = (bp.Circle(0.3), bp.Rectangle(0.5, 0.3)) if d == 2 else (bp.Sphere(0.3), bp.Box(0.5, 0.3, 0.4))
    for shape in (ball, box):
        world.add_many(shape, rng.uniform(0, 6, (80, d)), velocities=rng.normal(size=(80, d)))
    up, slope = np.eye(d)[-1], np.arange(1.0, d + 1)
    world.add(bp.HalfSpace(up, 1), position=np.zeros(d), body_type="static")
    world.add(bp.HalfSpace(slope), position=np.ones(d), body_type="kinematic", velocity=0.2 * up)
    turning = world.add(bp.HalfSpace(-slope), position=np.full(d, 5.0), body_type="kinematic")
    world.angular_velocities[turning.row] = 0.3 if d == 2 else (0.1, 0.3, 0.2)
    return world


@pytest.mark.parametrize("method", ["auto", *METHODS])
@pytest.mark.parametrize("d", [2, 3])
def test_steps_find_every_pair_by_every_method(d, method):
    world, plain = world_of(d, method), world_of(d, "brute_force")
    for step in range(40):
        dt = 0.02 if step < 25 else 0.002  # until near pairs are kept
        frame, expected = world.step(dt), plain.step(dt)
        assert frame.enter.tolist() == expected.enter.tolist()
        assert frame.exit.tolist() == expected.exit.tolist()
        if step % 8 == 0:
            still = world.body_types != 0
            pairs = bp.overlaps(world.shapes)
            pairs = pairs[~(still[pairs[:, 0]] & still[pairs[:, 1]])]
            found = [pair for pair in world.pairs.tolist() if not still[pair].all()]
            assert sorted(found) == sorted(pairs.tolist())
        if step == 20:
            removed = world.rows[::9][:12]
            world.remove(removed)
            plain.remove(removed)
            world.add(bp.HalfSpace(np.eye(d)[0]), position=np.zeros(d), body_type="static")
            plain.add(bp.HalfSpace(np.eye(d)[0]), position=np.zeros(d), body_type="static")


@pytest.mark.parametrize("margin", [None, 0.0, 0.5])
@pytest.mark.parametrize("method", ["auto", "bvh", "octree", "linear_tree", "brute_force"])
@pytest.mark.parametrize("d", [2, 3])
def test_queries_find_what_every_pair_says(d, method, margin):
    world = world_of(d, method, margin=margin)
    rng = np.random.default_rng(2)
    for count in (1, 60):
        world.step(0.01)
        places, ways = rng.uniform(-4, 10, (count, d)), rng.normal(size=(count, d))
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        rows = world.rows
        each = np.repeat(np.arange(count), len(rows)), np.tile(rows, count)
        points = bp.Shapes(bp.Point(), places)
        gaps = bp.distance(points, world.shapes, pairs=np.stack(each, axis=1)).reshape(count, -1)
        assert [found.tolist() for found in world.query_points(places)] == [rows[gap <= 0].tolist() for gap in gaps]
        assert [found.tolist() for found in world.query_ball(places, 0.7)] == [
            rows[gap <= 0.7].tolist() for gap in gaps
        ]
        nearest = world.nearest(places, 3)
        assert np.allclose(nearest.distances, np.sort(np.maximum(gaps, 0), axis=1)[:, :3])
        hits = bp.raycast(world.shapes, places[each[0]], ways[each[0]], rows=each[1]).distances.reshape(count, -1)
        assert np.allclose(world.raycast(places, ways).distances, hits.min(axis=1))
        fall = np.tile(-20 * np.eye(d)[-1], (count, 1))
        ball = bp.Circle(0.2) if d == 2 else bp.Sphere(0.2)
        moving = bp.Shapes(ball, places)
        times = bp.time_of_impact(moving, world.shapes, pairs=np.stack(each, axis=1), motions=fall[each[0]]).times
        assert np.allclose(world.shapecast(ball, places, fall).times, times.reshape(count, -1).min(axis=1))


def test_nothing_falls_through_the_ground():
    for d in (2, 3):
        world, up = bp.World(dim=d), np.eye(d)[-1]
        ground = world.add(bp.HalfSpace(up), position=np.zeros(d), body_type="static")
        ball = bp.Circle(0.1) if d == 2 else bp.Sphere(0.1)
        bullet = world.add(ball, position=5 * up, velocity=-1000 * up, ccd=True)
        rod = bp.Rectangle(1, 0.1) if d == 2 else bp.Box(1, 0.1, 0.1)
        spin = 8.0 if d == 2 else (0, 8, 0)
        blade = world.add(rod, position=0.3 * up + 1e4 * np.eye(d)[0], angular_velocity=spin, ccd=True)
        miss = world.add(rod, position=0.8 * up - 50 * np.eye(d)[0], angular_velocity=spin, ccd=True)
        frame = world.step(0.1)
        pairs = [[ground.row, bullet.row], [ground.row, blade.row]]
        assert frame.enter.tolist() == pairs
        assert miss.row not in frame.enter


def test_a_half_space_that_moves_and_turns_is_followed():
    world = bp.World(dim=2)
    wall = world.add(bp.HalfSpace((1, 0)), position=(-3, 0), velocity=(0, 0), ccd=True, body_type="kinematic")
    wall.angular_velocity = np.pi  # sweeps over what is above it
    coin = world.add(bp.Circle(0.5), position=(0, 0))
    assert world.step(1.0).enter.tolist() == [[wall.row, coin.row]]


def test_periodic_worlds_refuse_what_has_no_end():
    world = bp.World(dim=3, boundary="wrap", bounds=[[0, 0, 0], [10, 10, 10]])
    world.add(bp.Sphere(1), position=(5, 5, 5))
    world.add(bp.HalfSpace((0, 0, 1)), position=(0, 0, 0), body_type="static")
    with pytest.raises(ValueError, match=r"row 1 is wider than the periodic world: \[inf inf inf\]"):
        world.step(0.1)
    with pytest.raises(ValueError, match="reaches across inf periods"):
        world.query_shape(bp.HalfSpace((0, 0, 1)), (0, 0, 0))


@pytest.mark.parametrize("boundary", ["bounce", "remove", "none"])
def test_what_has_no_end_stays_at_a_boundary(boundary):
    world = bp.World(dim=2, boundary=boundary, bounds=[[0, 0], [10, 10]])
    wall = world.add(bp.HalfSpace((0, 1), 1), position=(5, 0), velocity=(1, 1))
    coin = world.add(bp.Circle(1), position=(5, 5), velocity=(0, -1))
    for _ in range(4):
        world.step(0.5)
    assert wall.position.tolist() == [7, 2]
    assert coin.position.tolist() == [5, 3]
    assert world.pairs.tolist() == [[0, 1]]


def test_trees_with_limits_leave_out_what_has_no_end_or_refuse_it():
    for outside in ("drop", "raise"):
        world = bp.World(dim=2, method=bp.Octree.options(bounds=[[0, 0], [10, 10]], outside=outside))
        world.add(bp.HalfSpace((0, 1), 1), position=(0, 0), body_type="static")
        world.add(bp.Circle(1), position=(5, 1.5))
        if outside == "drop":
            assert world.step(0.1).enter.tolist() == []
            assert world.outside_rows.tolist() == [0]
        else:
            with pytest.raises(ValueError, match="row 0 is not inside the world of the octree"):
                world.step(0.1)


def test_snapshots_keep_half_spaces():
    for d in (2, 3):
        world = world_of(d, "auto")
        world.step(0.02)
        again = bp.World.from_bytes(world.to_bytes())
        assert again.shapes.boxes.tolist() == world.shapes.boxes.tolist()
        for _ in range(5):
            assert again.step(0.02).enter.tolist() == world.step(0.02).enter.tolist()


def test_the_demo_draws_a_ground_that_ends_outside_of_the_picture():
    world = bp.World(dim=3)
    world.add(bp.HalfSpace((0, 0, 1)), position=(2, 0, 0), body_type="static", layer="ground")
    world.add(bp.HalfSpace((0, 0, 1)), position=(0, 0, 0), rotation=(1, 0.2, 0, 0), layer="ramp", body_type="static")
    world.add(bp.HalfSpace((1, 0, 1)), position=(0, 0, 0), body_type="static", layer="slope")
    world.add(bp.Sphere(1), position=(0, 0, 3), layer="ball")
    stage = Stage(world, [[-5, -5, 0], [5, 5, 10]], 0.1)
    rows = world.rows
    assert np.isfinite(stage.sizes(rows)).all()
    assert np.isfinite(stage.positions(rows)).all()
    assert (stage.forms(rows) == HIDDEN).tolist() == [False, False, True, False]
    assert stage.sizes(rows)[0, :2].tolist() == pytest.approx([10.2, 10.2])
