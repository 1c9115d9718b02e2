"""Bodies of a world that move and turn within a step: what they meet, and when, is found at once, and nothing else."""

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native
from oracles.turning import Body, Part, gaps, least_gap
from turning_cases import check_pairs, random_pairs, world_impacts

QUARTER = np.pi / 2


def coin_and_blade(followed="blade", **given):
    """Make a coin at (0, 4), in row 0, and a blade of length 10 and width 0.2 at the origin, in row 1."""
    world = bp.World(dim=2)
    world.add(bp.Circle(0.1), position=(0, 4), body_type="kinematic", ccd=followed == "coin")
    world.add(bp.Rectangle(10, 0.2), position=(0, 0), ccd=followed == "blade", **given)
    return world


@pytest.mark.parametrize(("dimension", "count"), [(2, 600), (3, 150)])
def test_nothing_is_missed_and_nothing_is_invented_by_steps(dimension, count):
    rng = np.random.default_rng([2, dimension])
    made = random_pairs(rng, dimension, count, grazing=0.1)
    hits, later, _ = check_pairs(made, world_impacts(rng, made, dimension), f"dimension {dimension}")
    assert hits > count / 10
    assert later > count / 20


@pytest.mark.parametrize("followed", ["blade", "coin", "neither"])
@pytest.mark.parametrize("turn", [3.0, -3.0, 2 * np.pi, 50.0])
def test_blade_that_turns_over_a_coin_meets_it_in_one_step(followed, turn):
    world = coin_and_blade(followed, angular_velocity=turn)
    frame = world.step(1.0)
    # It touches when the sine of the angle between its side and the coin is 0.2 / 4.
    angle = QUARTER - np.arcsin(0.2 / 4)
    if followed == "neither":
        assert frame.enter.tolist() == []
        return
    assert frame.enter.tolist() == [[0, 1]]
    assert frame.impacts.times == pytest.approx([angle / abs(turn)], abs=1e-9)
    side = np.sign(turn) * np.array([-np.sin(angle), np.cos(angle) * np.sign(turn)])
    np.testing.assert_allclose(frame.impacts.normals, [-side], atol=1e-6)
    world.validate()
    assert len(world.step(0.0).impacts.pairs) == 0


def test_coin_that_flies_through_where_the_blade_was_or_will_be_meets_it_only_there():
    for begin, spin, met in ((0.0, QUARTER, True), (0.0, 0.0, False), (QUARTER, -QUARTER, False), (QUARTER, 0.0, True)):
        world = bp.World(dim=2)
        world.add(bp.Circle(0.1), position=(1.5, -5), velocity=(0, 10), ccd=True)
        world.add(bp.Rectangle(0.2, 4), position=(0, 0), rotation=begin, angular_velocity=spin, body_type="kinematic")
        frame = world.step(1.0)
        # It crosses the axis at the half of the step: the blade is upright, level, or halfway between.
        coin = Body([Part(np.zeros((1, 2)), 0.1)], np.array([1.5, -5]), np.array([0, 10]), np.zeros(1), np.zeros(1))
        corners = np.array([[-0.1, -2], [0.1, -2], [0.1, 2], [-0.1, 2]])
        blade = Body([Part(corners)], np.zeros(2), np.zeros(2), np.array([begin]), np.array([spin]))
        assert (least_gap(coin, blade)[0] < 0) == (len(frame.enter) == 1)
        assert met == (len(frame.enter) == 1) or spin != 0


def test_body_that_is_written_to_turns_the_shortest_way_and_one_that_is_moved_does_not():
    for written, when in (
        (3.0, 1.5208 / 3),
        (3.0 + 2 * np.pi, 1.5208 / 3),
        (1.0, None),
        (2 * np.pi, None),
        (-40 * np.pi, None),
    ):
        world = coin_and_blade()
        world.step(1.0)
        world.rotations[1] = written
        frame = world.step(1.0)
        assert frame.impacts.times.tolist() == ([] if when is None else pytest.approx([when], abs=1e-4))
    world = coin_and_blade()
    world.step(1.0)
    world.move([1], rotations=[3.0])
    assert len(world.step(1.0).enter) == 0
    # What is moved turns on from there; and what is written to as well, as it spins.
    world.move([1], rotations=[0.0], angular_velocities=[3.0])
    assert world.step(1.0).impacts.times == pytest.approx([1.5208 / 3], abs=1e-4)
    world = coin_and_blade(angular_velocity=2 * np.pi)
    world.rotations[1] = 1e-3
    assert world.step(1.0).impacts.times == pytest.approx([1.5208 / (2 * np.pi + 1e-3)], abs=1e-3)


def test_body_in_space_that_is_written_to_turns_the_shortest_way_and_spins_as_often_as_it_says():
    for spin, written, when in (
        (0.0, [np.cos(1.5), 0, 0, np.sin(1.5)], 1.5208 / 3),
        (0.0, [-np.cos(1.5), 0, 0, -np.sin(1.5)], 1.5208 / 3),
        (0.0, [np.cos(1.5), 0, 0, -np.sin(1.5)], 1.5208 / 3),
        (0.0, [np.cos(0.5), 0, 0, np.sin(0.5)], None),
        (0.0, [-1.0, 0, 0, 0], None),
        (4 * np.pi, [1.0, 0, 0, 0], 1.5208 / (4 * np.pi)),
        (4 * np.pi, [2.0, 0, 0, 0], 1.5208 / (4 * np.pi)),
        (4 * np.pi, [-3.0, 0, 0, 1e-9], 1.5208 / (4 * np.pi)),
    ):
        world = bp.World(dim=3)
        world.add(bp.Sphere(0.1), position=(0, 4, 0), body_type="static")
        world.add(
            bp.Box(10, 0.2, 0.2), position=(0, 0, 0), ccd=True, rotation=(1.0, 0, 0, 0), angular_velocity=(0, 0, spin)
        )
        world.step(0.0)
        world.rotations[1] = written
        frame = world.step(1.0)
        assert frame.impacts.times.tolist() == ([] if when is None else pytest.approx([when], abs=1e-4)), (
            spin,
            written,
        )


def test_body_that_turns_too_often_is_named_and_others_may():
    world = coin_and_blade(angular_velocity=1e9)
    with pytest.raises(ValueError, match=r"row 1 has ccd=True and turns more than 10000 times in one step of 1\.0"):
        world.step(1.0)
    assert world.step(1e-9).number == 1
    world = coin_and_blade("coin", angular_velocity=1e9)
    assert world.step(1.0).number == 1


def test_body_that_touched_before_has_no_impact_and_stays():
    world = coin_and_blade()
    world.rotations[1] = QUARTER
    assert world.step(1.0).enter.tolist() == [[0, 1]]
    world.angular_velocities[1] = 0.01
    frame = world.step(1.0)
    assert (frame.stay.tolist(), len(frame.impacts.pairs)) == ([[0, 1]], 0)
    world.angular_velocities[1] = 1.0
    assert world.step(1.0).exit.tolist() == [[0, 1]]
    world.angular_velocities[1] = -2.0
    assert world.step(1.0).enter.tolist() == [[0, 1]]


@pytest.mark.parametrize("shape", ["hull", "mesh", "compound"])
def test_blade_of_any_shape_meets_a_ball_in_one_step(shape):
    corners = np.array([[x, y, z] for x in (-5.0, 5) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
    triangles = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6],
                 [0, 6, 4], [1, 5, 7], [1, 7, 3]]  # fmt: skip
    blade = {
        "hull": bp.ConvexHull(corners),
        "mesh": bp.Mesh(corners, np.array(triangles)),
        "compound": bp.Compound([bp.Box(5, 0.2, 0.2, offset=(side * 2.5, 0, 0)) for side in (1, -1)]),
    }[shape]
    world = bp.World(dim=3, bounds=[[-8.0] * 3, [8.0] * 3], boundary="wrap")
    world.add(bp.Sphere(0.1), position=(6.0, 0, 0), body_type="static")
    world.add(blade, position=(6.0, -4.0, 0), angular_velocity=(0, 0, 3.0), ccd=True)
    world.add(bp.Sphere(0.1), position=(-6.5, -4.0, 4.9), body_type="static")
    frame = world.step(1.0)
    assert frame.enter.tolist() == [[0, 1]]
    assert frame.impacts.times == pytest.approx([(QUARTER - np.arcsin(0.2 / 4)) / 3], abs=1e-9)
    np.testing.assert_allclose(frame.impacts.normals, [[np.sqrt(1 - 0.05**2), -0.05, 0]], atol=1e-6)


def test_custom_shape_near_a_body_that_turns_is_refused():
    class Ring(bp.CustomShape, dim=2, parameters=("radius",)):
        @staticmethod
        def bounds(values):
            corner = np.stack([values["radius"]] * 2, axis=1)
            return -corner, corner

        @staticmethod
        def overlaps(rows, other):
            return np.zeros(len(rows), bool)

    world = bp.World(dim=2)
    world.add(Ring(radius=1.0), position=(0, 4), body_type="static")
    world.add(bp.Rectangle(10, 0.2), position=(0, 0), angular_velocity=3.0, ccd=True)
    with pytest.raises(bp.errors.UnsupportedQueryError, match="row 0 is a Ring"):
        world.step(1.0)


def crowd(dimension, seed, n=120, share=0.3, **options):
    rng = np.random.default_rng(seed)
    edge = (24.0, 14.0)[dimension - 2]
    bounds = None if options.get("boundary", "none") == "none" else [[0.0] * dimension, [edge] * dimension]
    half = rng.uniform(0.1, 1.2, (n, dimension))
    shapes = [(bp.Rectangle if dimension == 2 else bp.Box)(*(2 * h)) for h in half]
    world = bp.World(dimension, bounds=bounds, **options)
    spins = rng.normal(0, 2, (n,) if dimension == 2 else (n, 3))
    spins[rng.random(n) < 0.3] = 0
    world.add_many(
        shapes,
        rng.uniform(2, edge - 2, (n, dimension)),
        velocities=rng.normal(0, 3, (n, dimension)),
        rotations=rng.uniform(0, 6, n) if dimension == 2 else rng.normal(size=(n, 4)),
        angular_velocities=spins,
        ccd=(is_ccd := rng.random(n) < share),
    )
    return world, is_ccd


@pytest.mark.parametrize("boundary", ["none", "wrap"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_events_of_large_steps_hold_those_of_small_ones(boundary, dimension):
    steps, met = 200, 0
    for seed in range(3):
        (large, is_ccd), (small, _) = (crowd(dimension, seed, boundary=boundary) for _ in range(2))
        at_first, _ = large.step(0.0), small.step(0.0)
        told = large.step(0.5)
        times = {tuple(pair): time for pair, time in zip(told.impacts.pairs.tolist(), told.impacts.times, strict=True)}
        seen = {}
        for k in range(steps):
            for pair in small.step(0.5 / steps).enter.tolist():
                seen.setdefault(tuple(pair), (k + 1) / steps)
        seen = {pair: when for pair, when in seen.items() if is_ccd[list(pair)].any()}
        entered = {pair for pair in seen if pair in times}
        assert set(seen) <= set(times) | set(map(tuple, at_first.pairs.tolist()))
        for pair in entered:
            assert times[pair] <= seen[pair] + 1e-9, pair
        # What small steps do not see is gone again between two of them.
        assert len(set(times) - set(seen)) <= 0.1 * len(times) + 2
        met += len(entered)
    assert met > 30


def test_blade_that_bounces_turns_on_while_its_way_is_reflected():
    rng = np.random.default_rng(4)
    met = passed = 0
    for _ in range(300):
        half = rng.uniform(0.05, 1.0, 2)
        begin, motion = np.array([6.0, 0.0]) + rng.normal(0, 1, 2), np.array([rng.uniform(2, 8), rng.normal(0, 2)])
        rotation, turn, place = rng.uniform(0, 6), rng.normal(0, 3), np.array([6.0, 0.0]) + rng.normal(0, 2, 2)
        world = bp.World(dim=2, bounds=[[-30.0, -30], [10, 30]], boundary="bounce")
        world.add(bp.Circle(0.2), position=place, body_type="static")
        world.add(bp.Rectangle(*(2 * half)), position=begin, rotation=rotation, velocity=motion, angular_velocity=turn,
                  ccd=True)  # fmt: skip
        frame = world.step(1.0)
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half
        end = rotation + turn
        reach = np.abs(np.cos(end)) * half[0] + np.abs(np.sin(end)) * half[1]
        room = 10.0 - reach  # as far as its middle goes
        share = (room - begin[0]) / motion[0]
        if not 0 < share < 1:
            continue
        coin = Body([Part(np.zeros((1, 2)), 0.2)], place, np.zeros(2), np.zeros(1), np.zeros(1))
        there = Body([Part(corners)], begin, motion, np.array([rotation]), np.array([turn]))
        back = Body([Part(corners)], np.array([2 * room - begin[0], begin[1]]), motion * [-1, 1], np.array([rotation]),
                    np.array([turn]))  # fmt: skip
        least = min(least_gap(coin, there, share)[0], min(gaps(coin, back, np.linspace(share, 1, 4000))))
        if len(frame.impacts.pairs):
            time = frame.impacts.times[0]
            assert gaps(coin, there if time <= share else back, np.array([time]))[0] < 1e-9
            assert time <= share + 1e-12 or least_gap(coin, there, share)[0] > -1e-9
            met += 1
        else:
            assert least > -1e-9
            passed += 1
    assert min(met, passed) > 40


@pytest.mark.parametrize("boundary", ["none", "wrap", "bounce", "remove"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_impacts_do_not_depend_on_which_rows_are_left_out_nor_on_threads(boundary, dimension, monkeypatch):
    met = 0
    for seed in range(3):
        worlds = [crowd(dimension, seed, 150, boundary=boundary, share=0.08, workers=workers)[0] for workers in (1, 2)]
        for _ in range(3):
            frame = worlds[0].step(0.25)
            with monkeypatch.context() as patch:
                patch.setattr(_native.step_limits, "followed", -1.0)
                expected = worlds[1].step(0.25)
            for one, other in zip(frame.impacts, expected.impacts, strict=True):
                np.testing.assert_array_equal(one, other)
            met += len(frame.impacts.pairs)
    assert met > 10


def test_blade_that_leaves_the_world_meets_what_it_sweeps_over_within():
    world = bp.World(dim=2, bounds=[[0.0, -10], [20, 10]], boundary="remove")
    world.add(bp.Circle(0.1), position=(1, 3), body_type="static")
    # At the begin and at the end it is outside, in between it reaches in.
    blade = world.add(bp.Segment((0, 0), (5, 0)), position=(-0.5, 0), rotation=1.7, angular_velocity=-3.4, ccd=True)
    frame = world.step(1.0)
    assert frame.enter.tolist() == [[0, 1]]
    assert blade.alive
