"""Worlds that move on by themselves: velocities, spins, and the four kinds of borders."""

import numpy as np
import pytest

import broadphase as bp

UNIT = [[0.0, 0.0], [16.0, 16.0]]
KINDS = ["dynamic", "static", "kinematic"]


def pairs_of(array):
    return set(map(tuple, array.tolist()))


def torus_pairs(positions, radii, size):
    """Balls that touch in a periodic world, by the nearest image of each."""
    apart = np.abs(positions[:, None] - positions[None])
    apart = np.minimum(apart, size - apart)
    touch = (apart**2).sum(axis=2) <= (radii[:, None] + radii[None]) ** 2
    return pairs_of(np.argwhere(np.triu(touch, 1)))


def test_step_moves_and_turns_what_should_move():
    world = bp.World(dim=2)
    rows = world.add_many(bp.Capsule((-1, 0), (1, 0), 0.5), [[0, 0]] * 4, velocities=(2, 1), angular_velocities=0.5,
                          body_type=["dynamic", "static", "kinematic", "dynamic"])  # fmt: skip
    world.sleep(rows[3])
    world.step(0.5)
    assert world.positions.tolist() == [[1, 0.5], [0, 0], [1, 0.5], [0, 0]]
    assert world.rotations.tolist() == [0.25, 0, 0.25, 0]


def test_step_in_space_turns_boxes_with_their_spin():
    world = bp.World(dim=3)
    row = world.add_many(bp.Box(4, 2, 2), [[0, 0, 0]], angular_velocities=[[0, 0, np.pi]])[0]
    world.step(0.5)
    np.testing.assert_allclose(world.rotations[row], [np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    np.testing.assert_allclose(world.boxes[row], [[-1, -2, -1], [1, 2, 1]], atol=1e-12)


def test_step_that_would_lose_a_number_says_which_row_and_moves_nothing():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [9e39, 0]], velocities=[[1, 0], [1e308, 0]])
    with pytest.raises(ValueError, match="row 1 cannot move"):
        world.step(10.0)
    assert world.positions.tolist() == [[0, 0], [9e39, 0]]
    assert world.time == 0.0


def test_bounce_keeps_boxes_of_dynamic_things_within():
    rng = np.random.default_rng(1)
    world = bp.World(dim=2, bounds=UNIT, boundary="bounce")
    shapes = [bp.Circle(1), bp.Rectangle(1, 3), bp.Capsule((-1, 0), (2, 0), 0.25), bp.Circle(0.5, offset=(1, 0))] * 25
    rows = world.add_many(shapes, rng.uniform(3, 13, (100, 2)), velocities=rng.normal(0, 40, (100, 2)),
                          angular_velocities=rng.normal(size=100))  # fmt: skip
    free = world.add_many(bp.Circle(1), [[8, 8]], velocities=(100, 0), body_type="kinematic")
    speeds = np.abs(world.velocities[rows])
    for k in range(200):
        world.step(0.125 if k % 10 else 1e6)
        assert (world.boxes[rows, 0] >= -1e-13).all()
        assert (world.boxes[rows, 1] <= 16 + 1e-13).all()
        assert (np.abs(world.velocities[rows]) == speeds).all()
    assert world.positions[free[0], 0] > 1e6


def test_bounce_holds_for_what_is_put_outside_but_not_for_what_sleeps_or_is_static():
    world = bp.World(dim=2, bounds=UNIT, boundary="bounce")
    rows = world.add_many(
        bp.Circle(1), [[20, 8], [20, 8], [20, 8], [8, 8]], body_type=["dynamic", "static", "dynamic", "dynamic"]
    )
    world.sleep(rows[2])
    world.step()
    assert world.positions[:, 0].tolist() == pytest.approx([15, 20, 20, 8], rel=1e-14)
    world.move(rows[3], [[8, -100]])
    world.positions[rows[0]] = (-5, 8)
    frame = world.step()
    np.testing.assert_allclose(world.positions, [[1, 8], [20, 8], [20, 8], [8, 1]], rtol=1e-14)
    assert len(frame.pairs) == 1


def test_bounce_tells_of_pairs_where_things_end():
    world = bp.World(dim=2, bounds=UNIT, boundary="bounce")
    world.add_many(bp.Circle(1), [[14, 8], [12, 8]], velocities=[[3, 0], [0, 0]])
    assert world.step(0.25).enter.tolist() == []
    assert world.step(1.0).enter.tolist() == [[0, 1]]  # it has come back
    assert world.positions[0].tolist() == pytest.approx([12.25, 8], rel=1e-14)
    assert world.velocities[0].tolist() == [-3, 0]


def test_remove_takes_out_what_has_left_wholly_and_ends_its_pairs():
    world = bp.World(dim=2, bounds=UNIT, boundary="remove")
    kinds = ["dynamic", "dynamic", "static", "kinematic", "dynamic"]
    rows = world.add_many(bp.Circle(1), [[15, 8], [15.5, 8], [99, 0], [15, 2], [8, 8]], body_type=kinds,
                          velocities=[[1, 0], [0, 0], [1, 0], [9, 0], [-3, 0]])  # fmt: skip
    assert world.step().enter.tolist() == [[0, 1]]
    frame = world.step(2.0)
    assert len(frame.removed) == 0  # still touches the border
    handles = world.handles()
    frame = world.step(0.5)
    assert frame.removed.tolist() == [0]
    assert frame.removed_handles.tolist() == [handles[0]]
    assert frame.exit.tolist() == [[0, 1]]
    assert len(world) == 4
    assert rows[0] not in world.rows
    assert len(world.step(0.1).removed) == 0


def test_remove_ends_pairs_in_the_same_step():
    world = bp.World(dim=2, bounds=UNIT, boundary="remove")
    world.add_many(bp.Circle(1), [[15, 8], [15.5, 8]], velocities=(4, 0))
    world.step()
    handles = world.handles()
    frame = world.step(1.0)
    assert frame.removed.tolist() == [0, 1]
    assert frame.exit.tolist() == [[0, 1]]
    assert frame.exit_handles.tolist() == [handles.tolist()]
    assert len(world) == 0
    assert world.add_many(bp.Circle(1), [[1, 1]]).tolist() == [0]


def test_wrap_brings_in_what_leaves():
    world = bp.World(dim=2, bounds=UNIT, boundary="wrap")
    world.add_many(bp.Circle(1), [[15, 8], [1, 8], [15, 8]], velocities=[[2, 0], [-1600, 3], [2, 0]],
                   body_type=["dynamic", "dynamic", "kinematic"])  # fmt: skip
    world.step(1.0)
    assert world.positions.tolist() == [[1, 8], [1, 11], [17, 8]]


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("method", ["auto", "bvh", "brute_force"])
def test_wrap_moving_balls_touch_as_on_a_torus(dimension, method):
    rng = np.random.default_rng(dimension)
    n, size = 150, 16.0
    bounds = np.array([[0.0] * dimension, [size] * dimension])
    world = bp.World(dim=dimension, bounds=bounds, boundary="wrap", method=method)
    radii = rng.integers(1, 4, n) / 2.0
    shape = bp.Circle(radii) if dimension == 2 else bp.Sphere(radii)
    world.add_many(shape, rng.integers(0, 64, (n, dimension)) / 4, velocities=rng.integers(-8, 9, (n, dimension)) / 4)
    before, across = set(), 0
    for _ in range(40):
        frame = world.step(1.0)
        expected = torus_pairs(world.positions, radii, size)
        assert pairs_of(frame.pairs) == expected
        assert pairs_of(frame.enter) == expected - before
        assert pairs_of(frame.exit) == before - expected
        before = expected
        contacts = frame.contacts
        assert pairs_of(contacts.pairs) == expected
        i, j = contacts.pairs.T
        apart = world.positions[j] - world.positions[i]
        around = np.where(np.abs(apart) > size / 2, apart - np.sign(apart) * size, apart)
        across += (apart != around).any(axis=1).sum()
        np.testing.assert_allclose(contacts.depths, radii[i] + radii[j] - np.linalg.norm(around, axis=1), atol=1e-12)
    assert across > 100


def test_wrap_what_does_not_move_keeps_touching_across_and_filters_hold():
    world = bp.World(dim=2, bounds=UNIT, boundary="wrap")
    rows = world.add_many(bp.Circle(1), [[0.5, 8], [15.5, 8], [8, 8], [8, 15.5], [8, 0.5], [15.5, 8]],
                          body_type=["dynamic", "static", "dynamic", "static", "static", "dynamic"],
                          group=[0, 0, 0, 0, 0, -1])  # fmt: skip
    world.set_filters(rows[0], group=-1)
    assert world.step().enter.tolist() == [[0, 1], [1, 5]]
    world.velocities[rows[2]] = (0, 0.5)
    for _ in range(3):
        frame = world.step(1.0)
        assert frame.stay.tolist() == [[0, 1], [1, 5]]
        assert len(frame.exit) == 0
    world.ignore([[0, 1]])
    assert world.step().exit.tolist() == [[0, 1]]
    world.unignore([[0, 1]])
    assert world.step().enter.tolist() == [[0, 1]]
    world.remove(rows[1])
    assert world.step().exit.tolist() == [[0, 1], [1, 5]]


def test_wrap_a_thing_as_wide_as_the_world_meets_others_once_and_wider_ones_are_refused():
    world = bp.World(dim=2, bounds=UNIT, boundary="wrap")
    world.add_many([bp.Rectangle(16, 1), bp.Circle(1)], [[8, 8], [0, 9]])
    assert world.step().enter.tolist() == [[0, 1]]
    world.set_shapes([0], bp.Rectangle(17, 1))
    with pytest.raises(ValueError, match="row 0 is wider than the periodic world"):
        world.step()
    world.set_shapes([0], bp.Rectangle(1, 1))
    assert world.step().exit.tolist() == [[0, 1]]


@pytest.mark.parametrize("border", ["none", "bounce", "wrap", "remove"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_borders_do_not_hide_what_is_nowhere(border, bad):
    world = bp.World(dim=2, bounds=UNIT, boundary=border)
    world.add_many(bp.Circle(0.5), [[1, 1], [2, 2]], velocities=(1, 0))
    world.positions[1, 0] = bad
    for dt in (0.0, 1.0):
        with pytest.raises(ValueError, match="row 1 "):
            world.step(dt)
    assert world.positions[0].tolist() == [1, 1]


@pytest.mark.parametrize("border", ["bounce", "wrap", "remove"])
def test_borders_with_rows_that_are_seldom_looked_at_stay_sound(border):
    rng = np.random.default_rng(5)
    world = bp.World(dim=2, bounds=UNIT, boundary=border)
    world.add_many(bp.Circle(0.5), rng.uniform(1, 15, (60, 2)), velocities=rng.normal(0, 2, (60, 2)),
                   update_interval=rng.integers(1, 4, 60))  # fmt: skip
    before = set()
    for _ in range(60):
        frame = world.step(0.25)
        assert pairs_of(frame.enter) == pairs_of(frame.pairs) - before
        assert pairs_of(frame.exit) == before - pairs_of(frame.pairs)
        before = pairs_of(frame.pairs)
