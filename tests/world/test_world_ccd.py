"""Fast things of a world: what they meet on their way is told, once, at any speed, and at every border."""

import itertools
import math

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native

UNIT = [[0.0, 0.0], [16.0, 16.0]]


def world_with_wall(**options):
    """Make a wall of no thickness at x = 8, in row 0."""
    world = bp.World(dim=2, **options)
    world.add_many(bp.Segment((0, -1e4), (0, 1e4)), [[8, 0]], body_type="static")
    return world


def events(frame):
    return frame.enter.tolist(), frame.stay.tolist(), frame.exit.tolist()


@pytest.mark.parametrize("speed", [10.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("method", ["auto", "bvh"])
def test_fast_thing_that_flies_through_a_wall_enters_and_exits(speed, method):
    world = world_with_wall(method=method)
    world.add_many(bp.Circle(0.5), [[4, 1], [4, 3]], velocities=(speed, 0), ccd=[True, False])
    frame = world.step(1.0)
    assert events(frame) == ([[0, 1]], [], [])
    assert frame.impacts.pairs.tolist() == [[0, 1]]
    assert frame.impacts.times[0] == pytest.approx(3.5 / speed, rel=1e-6)
    np.testing.assert_allclose(frame.impacts.normals, [[-1, 0]], atol=1e-9)
    assert len(frame.contacts.pairs) == 0  # they do not touch any more
    world.validate()
    frame = world.step(1.0)
    assert events(frame) == ([], [], [[0, 1]])
    assert len(frame.impacts.pairs) == 0
    world.validate()


def test_fast_thing_that_stays_in_what_it_met_is_told_of_once():
    world = world_with_wall()
    row = world.add_many(bp.Circle(0.5), [[4, 1]], velocities=(4, 0), ccd=True)[0]
    frame = world.step(1.0)
    assert events(frame) == ([[0, 1]], [], [])
    assert frame.impacts.times.tolist() == pytest.approx([3.5 / 4])
    assert frame.contacts.pairs.tolist() == [[0, 1]]
    world.velocities[row] = 0.1, 0
    frame = world.step(1.0)
    assert events(frame) == ([], [[0, 1]], [])
    assert len(frame.impacts.pairs) == 0
    world.velocities[row] = 100, 0
    assert events(world.step(1.0)) == ([], [], [[0, 1]])  # it leaves, and that is all


def test_fast_thing_that_goes_there_and_back_keeps_touching():
    world = world_with_wall()
    row = world.add_many(bp.Circle(0.5), [[4, 1]], velocities=(8, 0), ccd=True)[0]
    assert events(world.step(1.0)) == ([[0, 1]], [], [])
    for _ in range(3):
        world.velocities[row] *= -1
        frame = world.step(1.0)
        assert events(frame) == ([], [[0, 1]], [])
        assert frame.impacts.times.tolist() == pytest.approx([3.5 / 8])
    assert events(world.step(1.0)) == ([], [], [[0, 1]])


def test_fast_thing_written_to_is_swept_and_moved_is_not():
    world = world_with_wall()
    row = world.add_many(bp.Circle(0.5), [[4, 1]], ccd=True)[0]
    world.step()
    world.positions[row] = 12, 1
    frame = world.step()
    assert events(frame) == ([[0, 1]], [], [])
    assert frame.impacts.times.tolist() == pytest.approx([3.5 / 8])
    world.step()
    world.move(row, [[4, 1]])
    assert events(world.step()) == ([], [], [])
    # What is moved goes on from there.
    world.move(row, [[6, 1]], velocities=(4, 0))
    assert world.step(1.0).impacts.times.tolist() == pytest.approx([1.5 / 4])


def test_fast_thing_meets_what_moves_and_what_is_fast_too():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(0.5), [[0, 0], [20, 0], [0, 5], [20, 5], [0, 9], [20, 9]],
                   ccd=[True] * 3 + [False] * 3, velocities=[[30, 0], [-30, 0]] * 3)  # fmt: skip
    world.set_filters([4, 5], group=1)
    frame = world.step(1.0)
    assert frame.enter.tolist() == [[0, 1], [2, 3]]
    assert frame.impacts.times.tolist() == pytest.approx([19 / 60, 19 / 60])


def test_fast_thing_that_is_looked_for_seldom_is_looked_for_always():
    world = world_with_wall()
    world.add_many(bp.Circle(0.5), [[4, 1]], velocities=(8, 0), ccd=True, update_interval=5)
    assert events(world.step(1.0)) == ([[0, 1]], [], [])


def test_fast_thing_obeys_layers_groups_and_ignored_pairs():
    world = world_with_wall()
    world.layer("wall")
    rows = world.add_many(bp.Circle(0.5), [[4, k] for k in range(0, 12, 3)], velocities=(100, 0), ccd=True,
                          mask=["wall", "default", "default", "default"], group=[0, -1, 0, 0])  # fmt: skip
    world.set_filters([0], group=-1)
    world.ignore([[0, rows[2]]])
    assert world.step(1.0).enter.tolist() == [[0, rows[3]]]


def test_fast_thing_that_is_removed_or_asleep_meets_nothing():
    world = world_with_wall()
    world.layer("wall")
    rows = world.add_many(bp.Circle(0.5), [[4, k] for k in range(0, 9, 3)], velocities=(100, 0), ccd=True)
    world.sleep(rows[0])
    world.remove(rows[1])
    assert world.step(1.0).enter.tolist() == [[0, rows[2]]]
    world.remove(rows[2])
    assert events(world.step(1.0)) == ([], [], [[0, rows[2]]])


def test_fast_thing_that_leaves_the_world_meets_what_is_on_its_way():
    world = world_with_wall(bounds=UNIT, boundary="remove")
    rows = world.add_many(bp.Circle(0.5), [[4, 4], [4, 8]], velocities=(100, 0), ccd=[True, False])
    frame = world.step(1.0)
    assert frame.enter.tolist() == [[0, rows[0]]]
    assert frame.removed.tolist() == [rows[1]]
    world.velocities[rows[0]] = 0
    frame = world.step(1.0)
    assert frame.exit.tolist() == [[0, rows[0]]]
    assert frame.removed.tolist() == [rows[0]]


def test_fast_thing_that_bounces_meets_what_is_before_the_border_only():
    world = bp.World(dim=2, bounds=UNIT, boundary="bounce")
    world.add_many(bp.Circle(0.5), [[14.5, 8], [18, 8], [12, 8]], body_type="static", velocities=(0, 0))
    row = world.add_many(bp.Circle(0.5), [[4, 8]], velocities=(0, 0), ccd=True)[0]
    world.ignore([[2, row]])
    world.velocities[row] = 18, 0
    frame = world.step(1.0)
    # There at 15.5 after 11.5, back by 6.5 to 9.
    assert world.positions[row].tolist() == pytest.approx([9, 8])
    assert frame.enter.tolist() == [[0, row]]
    assert frame.impacts.times.tolist() == pytest.approx([9.5 / 18])
    world.move(row, [[4, 4]], velocities=[[0, 100]])
    frame = world.step(1.0)
    assert frame.enter.tolist() == []
    assert frame.exit.tolist() == [[0, row]]


def test_fast_thing_that_wraps_meets_what_is_on_both_sides():
    world = bp.World(dim=2, bounds=UNIT, boundary="wrap")
    world.add_many(bp.Circle(0.5), [[15.75, 8], [1, 8], [8, 8], [1, 3]], body_type="static")
    row = world.add_many(bp.Circle(0.25), [[12, 8]], velocities=(6.5, 0), ccd=True)[0]
    frame = world.step(1.0)
    assert world.positions[row].tolist() == [2.5, 8]
    assert frame.enter.tolist() == [[0, row], [1, row]]
    assert frame.impacts.times.tolist() == pytest.approx([3 / 6.5, 4.25 / 6.5])
    # Round the world, to where it was.
    world.velocities[row] = 16, 0
    frame = world.step(1.0)
    assert world.positions[row].tolist() == [2.5, 8]
    assert frame.pairs.tolist() == [[0, row], [1, row], [2, row]]
    world.velocities[row] = 0
    assert world.step(1.0).exit.tolist() == [[0, row], [1, row], [2, row]]


def test_fast_thing_that_reaches_over_the_upper_corner_meets_what_is_at_the_lower_one():
    # On its way past the corner, and at neither end of it; the center stays inside.
    world = bp.World(dim=2, bounds=UNIT, boundary="wrap")
    world.add_many(bp.Circle(0.25), [[0.3, 0.3]], body_type="static")
    row = world.add_many(bp.Circle(0.55), [[15.95, 15.55]], velocities=(-0.4, 0.4), ccd=True)[0]
    frame = world.step(1.0)
    assert world.positions[row] == pytest.approx([15.55, 15.95])
    assert frame.enter.tolist() == [[0, row]]
    # The centers are (0.35 + 0.4 t, 0.75 - 0.4 t) apart.
    assert frame.impacts.times.tolist() == pytest.approx([0.5 - np.sqrt(0.64 / 2 - 0.55**2) / 0.4])


@pytest.mark.parametrize("border", ["bounce", "wrap"])
def test_fast_thing_that_crosses_the_world_too_often_is_an_error(border):
    world = bp.World(dim=2, bounds=UNIT, boundary=border)
    world.add_many(bp.Circle(0.5), [[4, 4], [4, 8]], velocities=[[1e9, 0], [1e9, 0]], ccd=[True, False])
    with pytest.raises(ValueError, match="row 0 has ccd=True and crosses the world more than 10000 times"):
        world.step(1.0)


@pytest.mark.parametrize(("border", "room"), [("bounce", 15.0), ("wrap", 16.0)])
@pytest.mark.parametrize("dimension", [2, 3])
def test_fast_thing_that_crosses_the_world_10000_times_is_followed_and_once_more_is_an_error(border, room, dimension):
    for crossings in (10_000, 10_001, -10_000, -10_001):
        world = bp.World(dim=dimension, bounds=[[0.0] * dimension, [16.0] * dimension], boundary=border)
        ball = (bp.Circle if dimension == 2 else bp.Sphere)(0.5)
        world.add_many(ball, [[9.0] + [4.0] * (dimension - 1)], body_type="static")
        place, velocity = [4.0] * dimension, [crossings * room] + [0.0] * (dimension - 1)
        row = world.add_many(ball, [place], velocities=velocity, ccd=True)[0]
        if abs(crossings) == 10_000:
            frame = world.step(1.0)
            assert frame.enter.tolist() == [[0, row]]
            gap = 4.0 if crossings > 0 or border == "bounce" else 10.0  # to the ball, around the world
            gap += 0 if crossings > 0 or border == "wrap" else 7.0  # there and back
            assert frame.impacts.times == pytest.approx(gap / (10_000 * room))
            continue
        message = f"row {row} has ccd=True and crosses the world more than 10000 times in one step: from "
        with pytest.raises(ValueError, match="crosses the world") as error:
            world.step(1.0)
        assert str(error.value) == f"{message}{place} by {velocity}"


@pytest.mark.parametrize("border", ["bounce", "wrap"])
def test_fast_thing_as_wide_as_the_world_meets_what_is_there(border):
    world = bp.World(dim=2, bounds=UNIT, boundary=border)
    world.add_many(bp.Circle(0.5), [[12, 8]], body_type="static")
    row = world.add_many(bp.AABB((15.999 if border == "wrap" else 16, 1)), [[8, 2]], velocities=(5, 8), ccd=True)[0]
    frame = world.step(1.0)
    assert frame.enter.tolist() == [[0, row]]
    assert frame.impacts.times == pytest.approx([5 / 8])


@pytest.mark.parametrize("border", ["none", "bounce", "wrap", "remove"])
def test_fast_thing_that_rests_meets_nothing_on_its_way(border):
    world = bp.World(dim=2, bounds=UNIT, boundary=border)
    rows = world.add_many(bp.Circle(0.5), [[4, 8], [4.5, 8], [9, 9]], ccd=True)
    for dt in (1.0, 0.0):
        frame = world.step(dt)
        assert frame.pairs.tolist() == [rows[:2].tolist()]
    assert len(frame.impacts.pairs) == 0


@pytest.mark.parametrize("border", ["none", "bounce", "wrap", "remove"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_fast_things_events_of_large_steps_hold_those_of_small_ones(border, dimension):
    rng = np.random.default_rng(dimension)
    n, size = 40, 16.0
    bounds = np.array([[0.0] * dimension, [size] * dimension])
    ball = bp.Circle if dimension == 2 else bp.Sphere
    positions = rng.uniform(1, 15, (n, dimension))
    velocities = rng.normal(0, 2, (n, dimension))
    fast = np.arange(n) < 12
    velocities[fast] *= 6

    def made(is_fast):
        world = bp.World(dim=dimension, bounds=bounds, boundary=border)
        world.add_many(ball(0.6), positions, velocities=velocities, ccd=is_fast)
        return world

    large, small = made(fast), made(False)
    steps, met = 128, 0
    before = set()
    for _ in range(6):
        frame = large.step(1.0)
        told = set(map(tuple, frame.pairs.tolist()))
        assert set(map(tuple, frame.enter.tolist())) == told - before
        assert set(map(tuple, frame.exit.tolist())) == before - told
        before = told
        seen = set()
        for _ in range(steps):
            seen |= set(map(tuple, small.step(1.0 / steps).enter.tolist()))
        # Others that left the world in this step are gone at once.
        seen = {pair for pair in seen if fast[list(pair)].any() and np.isin(pair, large.rows).all()}
        assert seen <= told, sorted(seen - told)
        met += len(seen)
        large.validate()
        if border == "remove":
            break  # what is fast is taken out a step later
        np.testing.assert_allclose(large.positions, small.positions, atol=1e-9)
    assert met > (0 if border in ("none", "remove") else 5)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("boundary", ["none", "wrap", "bounce", "remove"])
def test_impacts_do_not_depend_on_which_rows_are_left_out(boundary, dimension, monkeypatch):
    shares = []
    met = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, edge, bounds = 150, (60.0, 20.0)[dimension - 2], None
        if boundary != "none":
            bounds = [[0.0] * dimension, [edge] * dimension]
        given = {
            "velocities": rng.normal(size=(n, dimension)) * 10.0 ** rng.uniform(-1, 2.3, (n, 1)),
            "ccd": rng.random(n) < 0.08,
            "update_interval": np.where(rng.random(n) < 0.1, 3, 1),
            "boundary": None if bounds is None else rng.choice([boundary] * 8 + ["none", "bounce"], n).tolist(),
        }
        places, sizes = rng.random((n, dimension)) * edge, rng.uniform(0.2, 1.5, n)
        world, every = (bp.World(dimension, bounds=bounds, boundary=boundary) for _ in range(2))
        for each in (world, every):
            rows = each.add_many((bp.Circle if dimension == 2 else bp.Sphere)(sizes), places, **given)
        again = np.random.default_rng(seed)
        for _ in range(6):
            frame, alive = world.step(0.25), len(world)
            with monkeypatch.context() as patch:
                patch.setattr(_native.step_limits, "followed", -1.0)
                expected = every.step(0.25)
            for one, other in zip(frame.impacts, expected.impacts, strict=True):
                assert one.tolist() == other.tolist()
            assert expected.stats["followed"] >= alive
            shares.append(frame.stats["followed"] / alive)
            met += len(frame.impacts.pairs)
            some = np.unique(again.choice(np.intersect1d(rows, world.rows), 3))
            places = again.random((len(some), dimension)) * edge
            for each in (world, every):
                each.move(some, places)
    assert len(shares) == 24
    assert met > 30
    assert np.min(shares) < 0.9


def touching_balls(begin, motions, radii, period):
    """Which balls touch during a step, and which at its begin and at its end; all in question by rounding is True."""
    rows = len(begin)
    gaps = begin[np.newaxis] - begin[:, np.newaxis]
    relative = motions[:, np.newaxis] - motions[np.newaxis]
    reach = radii[:, np.newaxis] + radii
    during, at_begin, at_end, is_unsure = (np.zeros((rows, rows), bool) for _ in range(4))
    worlds = [-1, 0, 1] if period is not None else [0]
    for image in np.stack(np.meshgrid(*[worlds] * begin.shape[1], indexing="ij"), -1).reshape(-1, begin.shape[1]):
        between = gaps + image * (0 if period is None else period)
        length = (relative**2).sum(axis=-1)
        time = np.clip((between * relative).sum(axis=-1) / np.where(length > 0, length, 1), 0, 1)
        for share, found in ((time[..., np.newaxis], during), (0.0, at_begin), (1.0, at_end)):
            apart = np.linalg.norm(between - relative * share, axis=-1)
            found |= apart <= reach
            is_unsure |= np.abs(apart - reach) < 1e-9
    return during, at_begin, at_end, is_unsure


@pytest.mark.parametrize("limit", [-1.0, 0.25, 2.0])
@pytest.mark.parametrize("boundary", ["none", "wrap"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_balls_that_rest_move_a_little_or_far_meet_what_plain_numpy_says(dimension, boundary, limit, monkeypatch):
    monkeypatch.setattr(_native.step_limits, "followed", limit)
    met = passed = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, edge = 70, 4.0
        bounds = None if boundary == "none" else [[0.0] * dimension, [edge] * dimension]
        world = bp.World(dimension, bounds=bounds, boundary=boundary)
        radii = rng.uniform(0.03, 0.25, n)
        is_followed = rng.random(n) < (0.1, 0.5, 1.0, 1.0)[seed % 4]
        velocities = rng.normal(size=(n, dimension)) * (0.05, 0.3, 1.0)[seed % 3]
        velocities[rng.random(n) < 0.5] = 0
        rows = world.add_many(
            (bp.Circle if dimension == 2 else bp.Sphere)(radii), rng.random((n, dimension)) * edge,
            velocities=velocities, ccd=is_followed,
        )  # fmt: skip
        may_meet = np.triu(is_followed[:, np.newaxis] | is_followed, 1)
        world.step(0.0)
        known, asleep, begin = world.pairs.tolist(), np.zeros(n, bool), np.array(world.positions)
        for step in range(10):
            some = rng.choice(rows, 9, replace=False)
            written = np.array(world.positions)
            if step % 5 == 1:
                world.sleep(some)
                asleep[some] = True
            elif step % 5 == 2:
                velocities[some] = rng.normal(size=(9, dimension))
                world.velocities[:] = velocities
            elif step % 5 == 3:
                written[some] += rng.normal(size=(9, dimension)) * 0.1
                world.positions[some] = written[some]
            elif step % 5 == 4:
                world.wake(rows)
                asleep[:] = False
            frame = world.step(0.5)
            moving = np.where(asleep[:, np.newaxis], 0, velocities * 0.5)
            during, at_begin, at_end, is_unsure = touching_balls(
                begin, written + moving - begin, radii, None if boundary == "none" else edge
            )
            last = np.zeros((n, n), bool)
            last[tuple(np.array(known, int).reshape(-1, 2).T)] = True
            impacts = may_meet & during & ~(at_begin & last)
            wanted = np.triu(at_end, 1) | impacts
            is_unsure |= np.triu(is_unsure).T
            for found, expected in ((frame.pairs, wanted), (frame.impacts.pairs, impacts)):
                got = np.zeros((n, n), bool)
                got[tuple(found.T)] = True
                assert np.array_equal(got & ~is_unsure, expected & ~is_unsure), (seed, step)
            assert len(frame.impacts.times) == len(frame.impacts.pairs)
            met += len(frame.impacts.pairs)
            passed += np.count_nonzero(wanted & ~at_end)
            known, begin = frame.pairs.tolist(), np.array(world.positions)
    assert met > 60
    assert passed > 5


def folded(places, room):
    """Where what is reflected at the sides of its room, from 0 on, is instead of these places."""
    return room - np.abs(np.mod(places, 2 * room) - room)


def least_distance(begins, motions, rooms):
    """How near the centres of two balls come, by the parts of their routes between reflections."""
    times = [0.0, 1.0]
    for begin, motion, room in zip(begins, motions, rooms, strict=True):
        for x, route in zip(begin, motion, strict=True):
            low, high = sorted((x, x + route))
            times += [(side * room - x) / route for side in range(math.ceil(low / room), math.floor(high / room) + 1)]
    shares = np.unique(np.clip(times, 0, 1))
    one, other = (folded(b + m * shares[:, np.newaxis], r) for b, m, r in zip(begins, motions, rooms, strict=True))
    least = np.inf
    between = other - one + (rooms[0] - rooms[1]) / 2
    for p, q in itertools.pairwise(between):
        length = ((q - p) ** 2).sum()
        share = np.clip(-(p * (q - p)).sum() / length, 0, 1) if length > 0 else 0
        least = min(least, np.linalg.norm(p + (q - p) * share))
    return least


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("speed", [0.02, 0.4, 1.5, 12.0])
def test_balls_that_bounce_meet_what_plain_numpy_says(dimension, speed):
    edge, n, bounced, passed = 4.0, 40, 0, 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        radii = rng.uniform(0.05, 0.3, n)
        rooms = edge - 2 * radii
        begin = radii[:, np.newaxis] + rng.random((n, dimension)) * rooms[:, np.newaxis]
        world = bp.World(dimension, bounds=[[0.0] * dimension, [edge] * dimension], boundary="bounce")
        velocities = rng.normal(size=(n, dimension)) * speed
        is_followed = rng.random(n) < (1.0, 0.7, 1.0)[seed]
        shape = (bp.Circle if dimension == 2 else bp.Sphere)(radii)
        world.add_many(shape, begin, velocities=velocities, ccd=is_followed)
        world.step(0.0)
        last = {tuple(pair) for pair in world.pairs.tolist()}
        for step in range(5):
            begin, motions = np.array(world.positions), np.array(world.velocities)
            frame = world.step(1.0)
            end = np.array(world.positions)
            bounced += np.count_nonzero((motions != world.velocities).any(axis=1))
            met = {tuple(pair) for pair in frame.impacts.pairs.tolist()}
            touching = {tuple(pair) for pair in frame.pairs.tolist()}
            for i, j in itertools.combinations(range(n), 2):
                reach, pair = radii[i] + radii[j], [i, j]
                least = least_distance(begin[pair] - radii[pair, np.newaxis], motions[pair], rooms[pair])
                at_end = np.linalg.norm(end[i] - end[j]) - reach
                if min(abs(least - reach), abs(at_end)) < 1e-9:
                    continue
                is_known = (i, j) in last and np.linalg.norm(begin[i] - begin[j]) <= reach
                is_met = bool(is_followed[i] | is_followed[j]) and least < reach and not is_known
                assert ((i, j) in met) == is_met, (seed, step, i, j)
                assert ((i, j) in touching) == (is_met or at_end < 0), (seed, step, i, j)
                passed += is_met and at_end > 0
            last = touching
    assert bounced > (0 if speed < 0.1 else 20)
    assert passed > (-1 if speed < 0.1 else 20)


@pytest.mark.parametrize("rest", ["still", "asleep"])
def test_followed_bodies_that_rest_cost_nothing_and_are_still_met(rest):
    rng = np.random.default_rng(3)
    world = bp.World(2)
    places = rng.random((400, 2)) * 40
    rows = world.add_many(bp.Circle(0.4), places, velocities=(1, 0) if rest == "asleep" else None, ccd=True)
    if rest == "asleep":
        world.sleep(rows)
    first = world.step(1.0)
    for _ in range(5):
        frame = world.step(1.0)
        assert frame.stats["followed"] == frame.stats["route_pairs"] == 0
        assert frame.pairs.tolist() == first.pairs.tolist()
    bullet = world.add(bp.Circle(0.1), position=(-1, 20), velocity=(50, 0))  # not followed: those that rest are
    frame = world.step(1.0)
    on_the_way = np.flatnonzero(np.abs(places[:, 1] - 20) < 0.5)
    assert frame.impacts.pairs[:, 0].tolist() == on_the_way.tolist()
    assert set(frame.impacts.pairs[:, 1].tolist()) == {bullet.row}
    assert 0 < frame.stats["followed"] < 100


def test_followed_body_that_left_the_world_and_rests_is_removed_although_nothing_moves():
    world = bp.World(2, bounds=[[0, 0], [10, 10]], boundary="remove")
    rows = world.add_many(bp.Circle(0.1), np.random.default_rng(0).random((50, 2)) * 9, ccd=True)
    for _ in range(4):
        world.step(1.0)
    world.positions[rows[3]] = 50, 5  # part of its route is in the world
    assert world.step(1.0).removed.tolist() == []
    assert world.step(1.0).removed.tolist() == [3]


@pytest.mark.parametrize("boundary", ["none", "bounce"])
def test_bodies_that_graze_on_their_way_leave_the_pairs_near_each_other_in_use(boundary):
    rng = np.random.default_rng(2)
    world = bp.World(2, bounds=None if boundary == "none" else [[-9, -9], [99, 99]], boundary=boundary)
    world.add(bp.Circle(1), position=(0, 0), ccd=True)
    world.add(bp.Circle(1), position=(-0.305, 2 - 1e-6), velocity=(0.01, 0), ccd=True)  # they touch for 0.004
    places = np.stack(np.meshgrid(np.arange(10), np.arange(10)), -1).reshape(-1, 2) * 2.5 + 20
    world.add_many(bp.Circle(1), places, velocities=rng.uniform(-0.004, 0.004, (100, 2)), ccd=True)
    for step in range(45):
        frame = world.step(1.0)
        assert frame.enter.tolist() == frame.impacts.pairs.tolist() == ([[0, 1]] if step == 30 else [])
        assert frame.exit.tolist() == ([[0, 1]] if step == 31 else [])
        if step > 20:
            assert "near each other" in frame.stats["reason"], step
        if step == 30:
            assert frame.impacts.times.tolist() == pytest.approx([0.3], abs=0.01)
    world.validate()


def test_impacts_of_one_body_are_looked_for_near_its_way():
    world = bp.World(3)
    rng = np.random.default_rng(1)
    places = rng.uniform(0, 100, (4_000, 3))
    velocities = np.zeros((4_000, 3))
    places[0], velocities[0] = (0, 0, 0), (100, 100, 100)
    velocities[1] = (1e9, 0, 0)
    world.add_many(bp.Sphere(0.5), places, velocities=velocities, ccd=np.arange(4_000) == 0)
    frame = world.step(1.0)
    gaps = np.linalg.norm(np.cross(places, np.ones(3)), axis=1) / np.sqrt(3)
    assert set(frame.impacts.pairs[:, 1].tolist()) >= set(np.flatnonzero(gaps[2:] < 0.99) + 2)
    assert frame.stats["followed"] < 200


@pytest.mark.parametrize(("followed", "looked_at"), [(0, 0), (25, 25), (26, 99)])
def test_rows_are_left_out_where_at_most_a_quarter_is_followed(followed, looked_at):
    world = bp.World(2)
    places = np.column_stack([np.arange(100) * 9.0, np.zeros(100)])
    world.add_many(bp.Circle(0.1), places, velocities=(1, 1), ccd=np.arange(100) < followed)
    world.remove(60)
    frame = world.step(1.0)
    assert len(frame.impacts.pairs) == 0
    assert frame.stats["followed"] == looked_at


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("is_periodic", [False, True])
@pytest.mark.parametrize("origin", [0.0, -1e6, 1e9])
def test_impacts_are_looked_for_among_those_whose_own_way_may_meet_one(dimension, is_periodic, origin):
    rng = np.random.default_rng([dimension, is_periodic, int(abs(origin))])
    edge, most = 20.0, 0
    for n in (1, 15, 16, 17, 700):
        before = origin + rng.uniform(0, edge, (n, dimension))
        after = before + rng.normal(0, 0.1, (n, dimension)) * np.where(rng.random(n) < 0.05, 40.0, 1.0)[:, None]
        half = np.where(rng.random(n) < 0.03, 3.0, 0.1)[:, None] * rng.random((n, dimension))
        followed, alive = rng.random(n) < 0.06, rng.random(n) < 0.9
        alive |= followed
        bounds = origin + np.array([[0.0] * dimension, [edge] * dimension]) if is_periodic else None
        world = bp.World(dimension, bounds=bounds, boundary="wrap" if is_periodic else "none", workers=2)
        world.add_many(bp.AABB(2 * half), before, velocities=after - before, ccd=followed)
        world.remove(np.flatnonzero(~alive))
        looked_at = world.step(1.0).stats["followed"]
        lower, upper = np.minimum(before, after) - half, np.maximum(before, after) + half
        bodies = before[followed], after[followed] - before[followed], half[followed]

        def meeting(begin, end, bodies=bodies, lower=lower, upper=upper):
            """Flag rows whose box and motion overlap those of followed ones, on a part of the ways of these."""
            places, ways, sizes = bodies
            ends = np.stack([places + ways * begin, places + ways * end])
            low = (lower[:, None] - (ends.max(axis=0) + sizes)) / edge
            high = (upper[:, None] - (ends.min(axis=0) - sizes)) / edge
            meet = np.floor(high) >= np.ceil(low) if is_periodic else (low <= 0) & (high >= 0)
            return meet.all(axis=2).any(axis=1)

        on_the_way = np.any([meeting(share, share) for share in np.linspace(0, 1, 65)], axis=0)
        least = np.count_nonzero((on_the_way & alive) | followed)
        assert least <= looked_at <= np.count_nonzero((meeting(0.0, 1.0) & alive) | followed) + 0.02 * n
        most = max(most, least)
    assert 20 < most < 500
