"""Worlds that keep the pairs of boxes near each other: every step tells what a search would."""

import itertools

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native
from broadphase.world.broad_phase import BroadPhase


@pytest.fixture(autouse=True)
def compared(monkeypatch):
    """Take small worlds for large ones; list how many pairs each step compares with what is known of them."""
    limits, counts, step = _native.step_limits, [], bp.World.step
    for name, value in (("rows_for_near_pairs", 4), ("rows_for_a_tree", 4), ("steps_before_a_tree", 1), ("few", 0.7)):
        monkeypatch.setattr(limits, name, value)

    def counted(world, *given, **options):
        frame = step(world, *given, **options)
        if frame.stats["compared"]:
            counts.append(frame.stats["compared"])
        return frame

    monkeypatch.setattr(bp.World, "step", counted)
    return counts


def kept(frame, has_few=False):
    """Whether a step tested pairs that an earlier one had found."""
    near = "near them" if has_few else "near each other"
    return near in frame.stats["reason"] and f" {near} 0 " not in frame.stats["reason"]


def touching_balls(positions, radii, period=None):
    """List the pairs of balls that touch, in any image of a periodic world."""
    first, second = np.triu_indices(len(positions), 1)
    ways = np.abs(positions[second] - positions[first])
    if period is not None:
        ways = np.minimum(ways, period - ways)
    touch = (ways**2).sum(axis=1) <= (radii[first] + radii[second]) ** 2
    return np.stack([first[touch], second[touch]], axis=1).tolist()


@pytest.mark.parametrize("has_few", [False, True])
@pytest.mark.parametrize("boundary", [None, "wrap", "bounce"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_balls_on_a_lattice_that_move_slowly_touch_as_their_distances_say(dimension, boundary, has_few, compared):
    # All numbers are multiples of 2^-7: distances are exact, and many are just those at which balls touch.
    rng, uses = np.random.default_rng(dimension), 0
    for edge, fastest in itertools.product([8, 16], [1, 3]):
        count = 60 if dimension == 2 else 150
        radii = rng.integers(1, 4, count) / 4
        positions = rng.integers(0, edge * 4, (count, dimension)) / 4
        velocities = rng.integers(-fastest, fastest + 1, (count, dimension)) / 128
        velocities[: count // 3] = np.sign(velocities[: count // 3]) * fastest / 128
        if has_few:
            velocities[rng.random(count) < 0.5] = 0
        options = {} if boundary is None else {"boundary": boundary, "bounds": [[0] * dimension, [edge] * dimension]}
        world = bp.World(dimension, workers=2, **options)
        kind = bp.Circle if dimension == 2 else bp.Sphere
        for radius in np.unique(radii):
            rows = np.flatnonzero(radii == radius)
            world.add_many(kind(radius), positions[rows], velocities=velocities[rows])
        radii = np.sort(radii, kind="stable")
        for _ in range(25):
            frame = world.step(1.0)
            period = edge if boundary == "wrap" else None
            assert frame.pairs.tolist() == touching_balls(world.positions, radii, period)
            uses += kept(frame, has_few)
    assert uses > 30
    assert (len(compared) > 15) == (not has_few or boundary != "wrap")  # then others touch across the seams
    world.validate()


def _mixed(rng, dimension, options, boundary, has_few):
    edge = 9.0
    world = bp.World(dimension, boundary=boundary, bounds=[[0] * dimension, [edge] * dimension], **options)
    shapes = (
        [bp.Circle(0.4), bp.Rectangle(0.7, 0.3), bp.Capsule([-0.3, 0], [0.3, 0], 0.2), bp.Point()]
        if dimension == 2
        else [bp.Sphere(0.4), bp.Box(0.7, 0.3, 0.5), bp.Capsule([-0.3, 0, 0], [0.3, 0, 0], 0.2), bp.Point()]
    )
    for kind, shape in enumerate(shapes):
        count = 40
        moves = {"velocities": rng.uniform(-0.006, 0.006, (count, dimension))}
        if kind in (1, 2):
            moves["angular_velocities"] = rng.uniform(-0.01, 0.01, count if dimension == 2 else (count, 3))
        for values in moves.values() if has_few else ():
            values[count // 2 :] = 0
        world.add_many(shape, rng.uniform(0, edge, (count, dimension)), **moves)
    return world


# A margin of 0: nothing is kept.
SEARCHING = {"method": "brute_force", "margin": 0.0}


@pytest.mark.parametrize("has_few", [False, True])
@pytest.mark.parametrize("boundary", ["none", "wrap", "bounce", "remove"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_any_shapes_and_what_is_done_to_them_have_the_events_of_a_world_that_searches(
    dimension, boundary, has_few, compared
):
    uses = 0
    for seed in range(2):
        options = ({"method": "auto"}, SEARCHING)
        worlds = [_mixed(np.random.default_rng(seed), dimension, of, boundary, has_few) for of in options]
        rng, found = np.random.default_rng(seed), []
        for number in range(40):
            rows = rng.choice(worlds[0].rows, 3, replace=False)
            deed = rng.integers(10) if number % 9 == 8 else -1
            place, mask = rng.uniform(0, 9, dimension), int(rng.integers(3))
            for world in worlds:
                if deed == 0:
                    world.positions[rows[0]] = place
                elif deed == 1:
                    world.remove(rows)
                elif deed == 2:
                    world.set_filters(rows, layer=1, mask=mask)
                elif deed == 3:
                    world.move(rows[:1], place[np.newaxis])
                    world.query_points([place])
                elif deed == 4:
                    world.ignore(found[:2])
                elif deed == 5:
                    world.velocities[rows] *= -2.0
                elif deed == 6:
                    world.refresh()
                elif deed == 7:
                    world.add((bp.Circle if dimension == 2 else bp.Sphere)(0.5), position=place)
                elif deed == 9:
                    world.velocities[rows] += 0.004
            frames = [world.step(1.0, budget=bp.Budget(tests=5) if deed == 8 else None) for world in worlds]
            found = frames[0].pairs
            for name in ("pairs", "enter", "exit", "exit_handles"):
                assert np.array_equal(getattr(frames[0], name), getattr(frames[1], name)), (seed, number, deed, name)
            uses += kept(frames[0], has_few)
        for world in worlds:
            world.validate()
    assert uses > 10
    assert len(compared) > 10 or (has_few and boundary == "wrap")


INSIDE = [[0.9, 0.9], [9.1, 8.1]]  # away from the lattice: boxes of circles are a few roundings larger
GIVEN = [
    *({"method": method.name} for method in bp.METHODS),
    {"method": bp.Octree.options(bounds=[[-30, -30], [30, 30]]), "workers": 2},
    {"method": bp.Octree.options(bounds=INSIDE, outside="drop")},
]


def _of_some_layers(world, radii, inside=None):
    """List the pairs of balls that touch and count: not two static ones, nor those that layers or groups keep apart."""
    found = np.array(touching_balls(world.positions, radii), np.int64).reshape(-1, 2)
    i, j = found.T
    layers, masks, groups = world.layers, world.masks, world.groups
    counts = (layers[i] & masks[j] != 0) & (layers[j] & masks[i] != 0)
    counts = np.where((groups[i] == groups[j]) & (groups[i] != 0), groups[i] > 0, counts)
    counts &= ~((world.body_types[i] == 1) & (world.body_types[j] == 1))
    if inside is not None:
        lower, upper = world.positions - radii[:, np.newaxis], world.positions + radii[:, np.newaxis]
        is_inside = ((lower >= inside[0]) & (upper <= inside[1])).all(axis=1)
        counts &= is_inside[i] & is_inside[j]
    alive = np.isin(np.arange(len(radii)), world.rows)
    return found[counts & alive[i] & alive[j]].tolist()


@pytest.mark.parametrize("options", GIVEN, ids=lambda options: str(options["method"])[:40])
def test_given_methods_with_static_bodies_and_layers_tell_what_distances_say(options):
    inside = np.array(INSIDE) if "drop" in str(options["method"]) else None
    uses, searches = 0, 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        world = bp.World(2, **options)
        radii = rng.integers(1, 4, 120) / 4
        for row, radius in enumerate(radii):  # every third is static
            place, speed = rng.integers(0, 40, 2) / 4, rng.integers(-2, 3, 2) / 128
            motion = {"body_type": "static"} if row % 3 == 0 else {"velocity": speed}
            world.add(bp.Circle(radius), position=place, layer=1 + row % 3, mask=7, **motion)
        for number in range(60):
            rows, place = rng.choice(world.rows, 4, replace=False), rng.integers(0, 40, 2) / 4
            deed = rng.integers(7) if number % 8 == 7 else -1
            if deed == 0:
                world.positions[rows[0]] = place  # also of static ones
            elif deed == 1:
                world.set_filters(rows, layer=int(rng.integers(1, 8)), mask=int(rng.integers(8)))
            elif deed == 2:
                world.set_filters(rows, group=int(rng.integers(-1, 2)))
            elif deed == 3:
                world.remove(rows)
            elif deed == 4:  # a moving body where there was a static one, or the other way round
                world.remove(rows[:1])
                kind = {"body_type": "static"} if rng.random() < 0.5 else {"velocity": (1 / 128, 0)}
                row = world.add(bp.Circle(0.5), position=place, layer=1, mask=7, **kind).row
                radii = np.append(radii, 0.5) if row == len(radii) else radii
                radii[row] = 0.5
            elif deed == 5:
                world.velocities[rows] *= -1
            frame = world.step(1.0)
            assert frame.pairs.tolist() == _of_some_layers(world, radii, inside), (seed, number, deed)
            uses += kept(frame)
            searches += "given" in frame.stats["reason"]
        world.validate()
    assert uses > 60
    assert searches > 10


@pytest.mark.parametrize("boundary", ["none", "wrap", "remove"])
@pytest.mark.parametrize("options", [*GIVEN[:-2], {"method": "octree", "workers": 2}], ids=str)
def test_given_methods_have_the_events_of_a_world_that_searches(options, boundary):
    worlds = [_mixed(np.random.default_rng(5), 2, of, boundary, False) for of in (options, SEARCHING)]
    for world in worlds:
        rng = np.random.default_rng(6)
        world.add_many(bp.Rectangle(1, 0.5), rng.uniform(0, 9, (30, 2)), body_type="static", batch=0)
    uses = 0
    for number in range(30):
        if number % 10 == 9:
            for world in worlds:
                world.set_filters(world.rows[number : number + 9], layer=number % 4, mask=3)
        frames = [world.step(1.0) for world in worlds]
        for name in ("pairs", "enter", "exit", "exit_handles"):
            assert np.array_equal(getattr(frames[0], name), getattr(frames[1], name)), (number, name)
        uses += kept(frames[0])
    assert uses > 5


@pytest.mark.parametrize("has_few", [False, True])
def test_boxes_that_reach_each_other_with_the_last_of_the_reach_are_told(has_few):
    # Two rows of balls come towards each other, by an equal step each, and touch just when one of the steps ends.
    for steps in range(3, 40):
        world = bp.World(2)
        count, way = 20, 1 / 128
        places = np.stack([np.zeros(count), np.arange(count) * 4.0], axis=1)
        world.add_many(bp.Circle(0.5), places, velocities=[[way, 0.0]] * count)
        world.add_many(bp.Circle(0.5), places + np.array([1 + 2 * way * steps, 0]), velocities=[[-way, 0.0]] * count)
        if has_few:
            world.add_many(bp.Circle(0.5), places + np.array([50, 0]))
        entered = [len(world.step(1.0).enter) for _ in range(steps + 1)]
        assert entered == [0] * (steps - 1) + [count, 0]


def test_balls_that_begin_to_move_one_after_the_other_are_searched_for_alone(monkeypatch):
    # Of three columns of balls, the outer ones come towards the middle one. It begins to move, too, ball by ball.
    searched, near = [], BroadPhase.near
    monkeypatch.setattr(
        BroadPhase, "near", lambda broad, corners, rows: searched.append(len(rows)) or near(broad, corners, rows)
    )
    count, way, rng = 24, 2.0**-8, np.random.default_rng(5)
    heights = np.arange(count) * 4.0
    for gap in (10, 20, 40):
        world, apart = bp.World(2), 1 + gap * way
        for column, speed in ((-1, way), (1, -way), (0, 0.0), (20, 0.0)):
            places = np.stack([np.full(count, column * apart), heights], axis=1)
            world.add_many(bp.Circle(0.5), places, velocities=[[speed, 0.0]] * count)
        positions, searched[:] = world.positions.copy(), []
        for number in range(gap + 4):
            if number > 5 and number % 3 == 0:
                world.velocities[2 * count + rng.integers(count), 0] = rng.choice([-way, way])
            positions += world.velocities
            frame = world.step(1.0)
            assert frame.pairs.tolist() == touching_balls(positions, np.full(4 * count, 0.5))
        assert 1 in searched
        assert sum(many >= 2 * count for many in searched) < gap / 4


@pytest.mark.parametrize("has_hull", [False, True])
def test_what_is_met_on_the_way_and_hulls_are_told_between_steps_that_compare(has_hull, compared):
    # A fast ball flies through balls that move slowly, and touches none of them when a step ends.
    worlds = []
    for method in ("auto", "brute_force"):
        rng = np.random.default_rng(6)
        world, shifts = bp.World(3, method=method), np.array([0.3, 0.45, 0])
        places = np.arange(40)[:, np.newaxis] * np.array([1.5, 0, 0])
        world.add_many(bp.Sphere(0.3), places, velocities=rng.uniform(-0.004, 0.004, (40, 3)))
        world.add_many(bp.Sphere(0.3), places + shifts, velocities=rng.uniform(-0.004, 0.004, (40, 3)))
        if has_hull:
            corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
            world.add(bp.ConvexHull(corners), position=(3.0, 0.2, 0.0), velocity=(0.002, 0.001, 0.0))
        world.add(bp.Sphere(0.1), position=(0.0, -1.2, 0.0), velocity=(0.004, 0.0, 0.0), ccd=True)
        worlds.append(world)
    passed = 0
    for number in range(60):
        if number % 13 == 9:
            for world in worlds:
                world.velocities[-1] = 0.0, 2.4 if world.positions[-1, 1] < 0 else -2.4, 0.0
        elif number % 13 == 10:
            for world in worlds:
                world.velocities[-1] = 0.004, 0.0, 0.0
        frames = [world.step(1.0) for world in worlds]
        for name in ("pairs", "enter", "exit"):
            assert np.array_equal(*(getattr(frame, name) for frame in frames)), (number, name)
        passed += len(frames[0].impacts.pairs)
    assert passed > 2
    assert (len(compared) > 10) != has_hull


def test_one_body_that_jumps_every_other_step_makes_no_search_twice():
    rng = np.random.default_rng(4)
    world = bp.World(2)
    world.add_many(bp.Circle(0.3), rng.uniform(0, 9, (50, 2)), velocities=rng.uniform(-0.01, 0.01, (50, 2)))
    searched = 0
    for number in range(130):
        if number % 2:
            world.positions[7] = rng.uniform(0, 9, 2)
        frame = world.step(1.0)
        assert frame.pairs.tolist() == touching_balls(world.positions, np.full(50, 0.3))
        searched += "near each other 0 " in frame.stats["reason"]
    assert searched < 10
