"""A step happens as a whole or not at all, wherever it fails; subscribers see every frame."""

import inspect
import sys

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native
from broadphase.world import broad_phase, columns, step, values as world_values
from busy_worlds import change, make_world, rotations, shapes_of
from index_cases import generator
from world_histories import small_thresholds

EVENTS = ("enter", "stay", "exit", "exit_handles", "pairs", "deferred", "removed_handles")
MODULES = (broad_phase, columns, step, world_values)


class StepError(Exception):
    """What a call inside a step raises."""


class FailAtCall:
    """Raise at the call of a function of the step, counted from 0; or at its end."""

    FILES = frozenset(inspect.getsourcefile(module) for module in MODULES)

    def __init__(self, number, event):
        self.left, self.event = number, event

    def __call__(self, frame, event, _):
        if frame.f_code.co_filename not in self.FILES or event != self.event:
            return
        self.left -= 1
        if self.left < 0:
            sys.setprofile(None)
            raise StepError


def busy_world(boundary, method):
    bounds = None if boundary == "none" else [[-0.5, -0.5], [8.5, 8.5]]
    world = make_world(2, 5, method=method, bounds=bounds, boundary=boundary)
    world.add_many(bp.Circle(0.3), [[4, 4], [0.2, 7], [8, 8]], velocities=(60, 3), ccd=True)
    if bounds is not None:
        world.add_many(bp.Circle(0.2), [[8.4, 1], [8.4, 5]], velocities=(30, 0), boundary="remove", layer="balls")
    return world


@pytest.mark.parametrize("event", ["call", "return"])
@pytest.mark.parametrize(
    ("boundary", "method", "budget"),
    [
        ("bounce", "auto", None),
        ("wrap", "bvh", bp.Budget(tests=30)),
        ("remove", "octree", None),
        ("none", "grid", None),
    ],
)
def test_step_that_fails_at_any_call_changes_nothing(boundary, method, budget, event):
    rng = np.random.default_rng(3)
    world, twin = (busy_world(boundary, method) for _ in range(2))
    failed = 0
    for turn in range(4):
        seed = int(rng.integers(1000))
        for each in (world, twin):
            for _ in range(3):
                change(each, np.random.default_rng(seed))
        for number in range(2000):
            before, last, count = world.to_bytes(), world.frame, world.number
            boxes = world.boxes.tobytes()
            sys.setprofile(FailAtCall(number, event))
            try:
                frame = world.step(0.1, budget=budget)
            except StepError:
                failed += 1
                if world.number > count:  # what follows the commit
                    frame = world.frame
                    break
                assert world.to_bytes() == before
                assert world.boxes.tobytes() == boxes
                assert world.frame is last
                if number % 5 == 0:
                    world.validate()
                    everywhere = [[-np.inf, -np.inf, np.inf, np.inf]]
                    assert world.query(everywhere).rows.tolist() == twin.query(everywhere).rows.tolist()
                continue
            finally:
                sys.setprofile(None)
            break
        expected = twin.step(0.1, budget=budget)
        for name in EVENTS:
            assert getattr(frame, name).tobytes() == getattr(expected, name).tobytes(), (turn, name)
        assert world.to_bytes() == twin.to_bytes()
        world.validate()
    assert failed > 20


def test_contacts_of_the_last_frame_outlive_a_step_that_fails():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [1.5, 0]], velocities=[[0, 0], [0.25, 0]])
    frame = world.step()
    world.positions[0] = np.nan
    with pytest.raises(ValueError, match="row 0 cannot move"):
        world.step(1.0)
    world.positions[0] = 0
    with pytest.raises(ValueError, match="dt"):
        world.step(np.inf)
    assert frame.contacts.depths.tolist() == [0.5]
    assert world.step(1.0).contacts.depths.tolist() == [0.25]


def test_frame_of_the_last_step_is_kept_though_nobody_holds_it():
    world = bp.World(dim=2)
    assert world.frame is None
    world.add_many(bp.Circle(1), [[0, 0], [1.5, 0]])
    world.step()
    assert world.frame.enter.tolist() == [[0, 1]]
    assert world.frame.contacts.depths.tolist() == [0.5]
    held = world.frame
    assert world.frame is held
    world.move([1], [[9, 9]])
    world.query([[0, 0, 1, 1]])
    assert held.contacts.depths.tolist() == [0.5]  # computed before the shapes moved


def test_subscribers_are_all_called_after_handlers_and_the_first_exception_is_raised():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [1, 0]])
    calls = []

    @world.on_enter
    def handler(event):
        calls.append("handler")
        raise KeyError("of the handler")

    @world.on_step
    def first(frame):
        calls.append(("first", frame.number))
        raise ValueError("of the first")

    @world.on_step
    def second(frame):
        calls.append(("second", frame.number))

    with pytest.raises(KeyError, match="of the handler") as caught:
        world.step()
    assert calls == ["handler", ("first", 1), ("second", 1)]
    assert caught.value.__notes__ == ["then a subscriber of on_step raised ValueError: of the first"]
    with pytest.raises(ValueError, match="of the first"):
        world.step()
    assert world.remove_handler(first) == 1
    assert world.step().number == 3
    assert calls[-1] == ("second", 3)


def test_boundary_of_single_bodies_decides_what_happens_to_them():
    world = bp.World(dim=2, bounds=[[0, 0], [10, 10]])
    leaves = [world.add(bp.Circle(0.5), position=(x, 5), velocity=(4, 0), boundary="remove") for x in (2, 9.8)]
    stays = world.add(bp.Circle(0.5), position=(9.8, 5), velocity=(4, 0), boundary="bounce")
    free = world.add(bp.Circle(0.5), position=(9.8, 5), velocity=(4, 0))
    assert [actor.boundary for actor in (*leaves, stays, free)] == ["remove", "remove", "bounce", "none"]
    frame = world.step(0.5)
    assert (frame.removed.tolist(), [actor.alive for actor in leaves]) == ([1], [True, False])
    assert stays.position[0] < 9.6
    assert free.position[0] == pytest.approx(11.8)
    loaded = bp.World.from_bytes(world.to_bytes())
    assert loaded.boundaries[[0, 2, 3]].tolist() == world.boundaries[[0, 2, 3]].tolist() == [3, 1, 0]
    assert loaded.to_bytes() == world.to_bytes()
    assert loaded.step(2.0).removed.tolist() == world.step(2.0).removed.tolist() == [0]


@pytest.mark.parametrize("boundary", ["bounce", "wrap", "remove", "none"])
def test_boundary_of_a_body_is_what_that_of_the_world_would_be(boundary):
    rng = np.random.default_rng(1)
    places, speeds = rng.uniform(1, 9, (60, 2)), rng.normal(0, 5, (60, 2))
    bounds = [[0, 0], [10, 10]]
    whole = bp.World(dim=2, bounds=bounds, boundary=boundary)
    single = bp.World(dim=2, bounds=bounds, boundary="none" if boundary != "none" else "bounce")
    whole.add_many(bp.Point(), places, velocities=speeds)
    single.add_many(bp.Point(), places, velocities=speeds, boundary=boundary)
    for _ in range(20):
        one, other = whole.step(0.2), single.step(0.2)
        assert one.removed_handles.tolist() == other.removed_handles.tolist()
        np.testing.assert_array_equal(whole.positions, single.positions)
        np.testing.assert_array_equal(whole.velocities, single.velocities)


def test_boundary_of_kinematic_and_static_bodies_is_none_unless_given():
    world = bp.World(dim=2, bounds=[[0, 0], [10, 10]], boundary="bounce")
    types = ["dynamic", "kinematic", "static"]
    world.add_many(bp.Circle(1), [[5, 5]] * 3, body_type=types)
    assert world.boundaries.tolist() == [1, 0, 0]
    world.add(bp.Circle(1), position=(9.5, 5), velocity=(1, 0), body_type="kinematic", boundary="bounce")
    assert world.boundaries.tolist() == [1, 0, 0, 1]
    world.step(1.0)
    assert world.velocities[3].tolist() == [-1, 0]
    assert bp.World.from_bytes(world.to_bytes()).boundaries.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("boundary", ["none", "bounce", "wrap", "remove"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_step_that_fails_leaves_nothing_behind_when_bodies_are_put_back(dimension, boundary):
    rng = np.random.default_rng(dimension)
    bounds = None if boundary == "none" else [[-0.5] * dimension, [8.5] * dimension]
    world, twin = (make_world(dimension, 7, bounds=bounds, boundary=boundary, method="bvh") for _ in range(2))
    shape = bp.AABB([1] * dimension)
    wall, _ = (each.add(shape, position=[4] * dimension, body_type="static").row for each in (world, twin))
    for turn in range(30):
        for each in (world, twin):
            each.refresh()
        columns = (world.positions, world.rotations, world.velocities)
        kept = [column.copy() for column in columns]
        some = rng.choice(world.rows, 8, replace=False)
        some[-1] = wall
        world.positions[some] += rng.uniform(-3, 3, (8, dimension))
        world.rotations[some] += rng.uniform(0, 1, world.rotations[some].shape)
        world.velocities[some] *= 3
        columns[int(rng.integers(2))][some[-1]] = np.nan
        with pytest.raises(ValueError, match="row"):
            world.step(float(rng.choice([0.0, 0.3])))
        for column, values in zip(columns, kept, strict=True):
            column[...] = values
        one, other = world.step(0.1 if turn % 3 else 0.0), twin.step(0.1 if turn % 3 else 0.0)
        for name in EVENTS:
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), (turn, name)
        assert world.boxes[world.rows].tobytes() == twin.boxes[twin.rows].tobytes(), turn
        assert world.to_bytes() == twin.to_bytes(), turn
        world.validate()


@pytest.mark.parametrize("boundary", ["none", "wrap", "bounce"])
def test_step_on_threads_finds_the_same_in_the_same_order(boundary):
    rng = np.random.default_rng(6)
    n, edge = 26_000, 150.0
    places, speeds, angles = rng.random((n, 2)) * edge, rng.uniform(-1, 1, (n, 2)), rng.uniform(0, 6, n)
    bounds = None if boundary == "none" else [[0.0, 0.0], [edge, edge]]
    worlds = []
    for workers in (1, 3):
        world = bp.World(bounds=bounds, boundary=boundary, workers=workers)
        world.add_many(bp.Circle(0.6), places[::2], velocities=speeds[::2])
        world.add_many(bp.Rectangle(1.0, 0.5), places[1::2], velocities=speeds[1::2], rotations=angles[1::2])
        worlds.append(world)
    for dt in (0.0, 0.3, 0.3):
        frames = [world.step(dt) for world in worlds]
        assert len(frames[0].pairs) > 40_000
        for frame, world in zip(frames[1:], worlds[1:], strict=True):
            for name in ("pairs", "enter", "exit", "exit_handles"):
                assert np.array_equal(getattr(frame, name), getattr(frames[0], name)), name
            assert np.array_equal(world.positions, worlds[0].positions)
            assert np.array_equal(world.velocities, worlds[0].velocities)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize(
    "scene", ["none", "one", "two", "all in one place", "one huge", "one part moves", "an eighth moves"]
)
def test_steps_of_odd_worlds_are_the_same_on_any_number_of_threads(scene, dimension):
    # From 16,384 rows on, 4,096 at a time are moved on threads; what has moved is listed up to an eighth of all rows.
    rng = np.random.default_rng(11)
    count = {"none": 0, "one": 1, "two": 2, "all in one place": 300}.get(scene, 20_000)
    edge = (50 * count) ** (1 / dimension)
    places, speeds = rng.uniform(0, edge, (count, dimension)), rng.normal(0, 1, (count, dimension))
    kind = bp.Circle if dimension == 2 else bp.Sphere
    shapes = [kind(1.5)] * count
    if scene == "all in one place":
        places[:] = 0.25
    elif scene == "one huge":
        shapes[7] = kind(edge)
    elif scene == "one part moves":
        speeds[: 3 * 4096] = speeds[3 * 4096 + 2000 :] = 0.0
    elif scene == "an eighth moves":
        speeds[rng.permutation(count)[count // 8 + 1 :]] = 0.0
    worlds = []
    for workers in (1, 2, 3, 8):
        world = bp.World(dimension, workers=workers)
        if count:
            world.add_many(shapes, places, velocities=speeds)
        worlds.append(world)
    first = worlds[0]
    for turn, dt in enumerate((0.0, 0.02, 0.02, 0.02, 0.02, 0.3)):
        if turn == 4 and scene == "an eighth moves":
            for world in worlds:
                world.positions[:3] += 0.25
        frame = first.step(dt)
        for world in worlds[1:]:
            other = world.step(dt)
            for name in EVENTS:
                assert getattr(other, name).tobytes() == getattr(frame, name).tobytes(), (turn, name)
            for name in ("positions", "velocities", "boxes"):
                assert getattr(world, name).tobytes() == getattr(first, name).tobytes(), (turn, name)
    for world in worlds:
        world.validate()
        assert np.array_equal(world.positions, first.positions)
    if scene == "one huge":
        assert len(frame.pairs) >= count - 1


def test_step_on_threads_names_the_first_row_that_cannot_move():
    world = bp.World(workers=3)
    world.add_many(bp.Circle(0.1), np.zeros((30_000, 2)) + np.arange(30_000)[:, None])
    for name, fault in (("velocities", "row 20000 cannot move"), ("positions", "position of row 20000 is not finite")):
        values = getattr(world, name)
        kept = values.copy()
        values[[20_000, 20_001, 29_000]] = np.nan
        with pytest.raises(ValueError, match=fault):
            world.step(0.0 if name == "positions" else 1.0)
        values[:] = kept
    assert len(world.step(1.0).pairs) == 0


def changed_at_random(world, rng, held):
    """Do what users do between two steps; the same for the same random numbers and the same world."""
    rows, d, what = world.rows, world.dim, int(rng.integers(12))
    some = rng.choice(rows, min(4, len(rows)), replace=False)
    if what == 0:
        world.move(some, rng.uniform(-2, 12, (len(some), d)), velocities=rng.uniform(-1, 1, (len(some), d)))
    elif what == 1:
        world.positions[some] += 0.75
    elif what == 2:
        world.velocities[some] = rng.uniform(-2, 2, (len(some), d)) * rng.integers(0, 2, (len(some), 1))
    elif what == 3:
        held.append(world.positions)
    elif what == 4 and held:
        array = held.pop()
        array[rng.integers(len(array), size=3)] = rng.uniform(0, 9, (3, d))
    elif what == 5:
        world.remove(some[:2])
    elif what == 6:
        world.add_many(shapes_of(d, rng, 3), rng.uniform(0, 9, (3, d)), velocities=[[0.0] * d, [0.5] * d, [-0.0] * d])
    elif what == 7:
        (world.sleep if rng.integers(2) else world.wake)(some)
    elif what == 8:
        world.set_shapes(some, shapes_of(d, rng, len(some)))
    elif what == 9:
        world.move(some, rotations=rotations(d, rng, len(some)))
        world.query_points(rng.uniform(0, 9, (1, d)))
    elif what == 10 and rng.integers(2):
        world.angular_velocities[some[0]] += 0.5


@pytest.mark.parametrize("boundary", ["none", "wrap"])
def test_step_with_threads_shared_by_its_parts_is_as_one_without(boundary):
    frames = []
    for workers in (1, 3):
        rng = np.random.default_rng(6)
        world = bp.World(3, bounds=[[0.0] * 3, [40.0] * 3], boundary=boundary, workers=workers)
        world.add_many(bp.Sphere(0.5), rng.uniform(0, 40, (30_000, 3)), velocities=rng.normal(0, 0.2, (30_000, 3)))
        frames.append([world.step(0.1) for _ in range(3)])
        world.positions[7] = np.nan
        with pytest.raises(ValueError, match="row 7 cannot move"):
            world.step(0.1)
    for one, other in zip(*frames, strict=True):
        assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in EVENTS)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("boundary", ["none", "wrap", "bounce", "remove"])
def test_step_that_looks_at_few_rows_is_as_one_that_looks_at_all(boundary, dimension, monkeypatch):
    looks = []
    bounds = None if boundary == "none" else [[-1.0] * dimension, [11.0] * dimension]
    for seed in range(2):
        worlds, helds = [], [[], []]
        for _ in range(2):
            rng = np.random.default_rng(seed)
            world = bp.World(dimension, bounds=bounds, boundary=boundary)
            for k in range(8):
                speeds = rng.uniform(-1, 1, (6, dimension)) if k == 0 else None
                world.add_many(shapes_of(dimension, rng, 6), rng.uniform(0, 10, (6, dimension)), velocities=speeds)
            worlds.append(world)
        for number in range(40):
            frames = []
            for world, held, share in zip(worlds, helds, (1.0, -1.0), strict=True):
                rng = np.random.default_rng([seed, number])
                if rng.integers(3) == 0:
                    changed_at_random(world, rng, held)
                monkeypatch.setattr(_native.step_limits, "steady", share)
                frames.append(world.step(0.0 if number % 7 == 6 else 0.3))
            assert frames[1].stats["looked_at"] == worlds[1].slots
            if frames[0].stats["looked_at"] < worlds[0].slots:
                looks.append(frames[0].stats["looked_at"])
            for name in EVENTS:
                assert getattr(frames[0], name).tolist() == getattr(frames[1], name).tolist(), (seed, number, name)
            parts = [world._columns for world in worlds]
            for name in ("positions", "velocities", "rotations", "angular_velocities", "changed"):
                one, other = (getattr(part, name) for part in parts)
                rows = worlds[0].rows
                same = one is other or one[rows].tobytes() == other[rows].tobytes()
                assert same, (seed, number, name)
            assert worlds[0].boxes[worlds[0].rows].tobytes() == worlds[1].boxes[worlds[1].rows].tobytes()
            worlds[0].validate()
    assert len(looks) > 20
    assert 0 < np.mean(looks) < 25


def test_step_looks_at_nothing_where_nothing_moves():
    world = bp.World()
    world.add_many(bp.Circle(0.6), np.arange(64.0).reshape(32, 2), velocities=[[0, 0]] * 31 + [[1, 0]])
    assert [world.step(0.1).stats["looked_at"] for _ in range(3)] == [32, 1, 1]
    view = world.positions
    world.step(0.1)  # it is held: what is written to it at any time must be seen
    view[3] = view[4]
    assert world.step(0.1).enter.tolist() == [[3, 4]]
    del view
    assert [world.step(0.1).stats["looked_at"] for _ in range(2)] == [32, 1]
    world.move([5], world.shapes.positions[[6]])
    frame = world.step(0.1)
    assert (frame.enter.tolist(), frame.stats["looked_at"]) == ([[5, 6]], 2)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("method", ["auto", "grid", "octree"])
def test_open_boxes_touch_only_where_they_overlap(method, dimension, monkeypatch):
    small_thresholds(monkeypatch)
    rng = generator("open", method, dimension)
    size = rng.integers(0, 4, (60, dimension)) * 2.0
    world = bp.World(dimension, method=method, touching=False)
    rows = world.add_many([bp.AABB(one) for one in size], rng.integers(0, 9, (60, dimension)) * 1.0)
    before, only_touch = set(), 0
    for number in range(12):
        if number % 3:
            world.positions[rows[: 60 if number % 2 else 2]] += rng.integers(-1, 2, dimension)
        else:
            world.positions[rows] = rng.integers(0, 9, (60, dimension))
        limit = bp.Budget(tests=10**6) if number % 4 == 1 else None
        frame = world.step(budget=limit)
        lower, upper = world.positions - size / 2, world.positions + size / 2
        expected, closed = (
            {
                (i, j)
                for i in range(60)
                for j in range(i + 1, 60)
                if below(0, np.minimum(upper[i], upper[j]) - np.maximum(lower[i], lower[j])).all()
            }
            for below in (np.less, np.less_equal)
        )
        assert set(map(tuple, frame.pairs.tolist())) == expected
        assert set(map(tuple, frame.enter.tolist())) == expected - before
        assert set(map(tuple, frame.exit.tolist())) == before - expected
        before, only_touch = expected, only_touch + len(closed - expected)
        world.validate()
        world = bp.World.from_bytes(world.to_bytes())
    assert only_touch > 50


def test_open_boxes_are_refused_where_they_have_no_meaning():
    with pytest.raises(ValueError, match="periodic"):
        bp.World(2, touching=False, boundary="wrap", bounds=[[0, 0], [1, 1]])
    with pytest.raises(TypeError, match="touching"):
        bp.World(2, touching="no")
    world = bp.World(2, touching=False)
    with pytest.raises(ValueError, match="ccd"):
        world.add(bp.Circle(1), position=(0, 0), ccd=True)
    assert len(world) == 0
