"""What cannot be is refused by name and row, and the world goes on as if nobody had asked."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import broadphase as bp
from broadphase.world import world as world_module
from index_cases import generator
from world_histories import METHODS

EVENTS = ("enter", "stay", "exit", "exit_handles", "pairs", "deferred", "removed")
BALLS = {2: bp.Circle, 3: bp.Sphere}


def crowd(dimension=2, things=30, seed=0, **options):
    rng = generator("errors", dimension, things, seed)
    world = bp.World(dimension, **options)
    world.layer("wall", priority=3)
    world.add_many(
        BALLS[dimension](rng.uniform(0.2, 0.8, things)),
        rng.uniform(-2, 2, (things, dimension)),
        velocities=rng.uniform(-1, 1, (things, dimension)),
        angular_velocities=rng.uniform(-1, 1, things if dimension == 2 else (things, 3)),
        body_type=["dynamic", "dynamic", "kinematic"] * (things // 3),
        layer=["wall", "default", "default"] * (things // 3),
    )
    return world


def assert_same_frames(one, other, label=""):
    for name in EVENTS:
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), (label, name)
    assert (one.number, one.time) == (other.number, other.time), label


def assert_goes_on(world, twin, label="", steps=3):
    for _ in range(steps):
        assert_same_frames(world.step(0.1), twin.step(0.1), label)
        assert np.array_equal(world.positions, twin.positions), label
    world.validate()


# Written directly --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e41])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dimension", [2, 3])
def test_rows_written_to_nowhere_are_named_and_no_event_is_lost(dimension, method, value):
    world, twin = (crowd(dimension, method=method, margin=0.2) for _ in range(2))
    rng = generator("nowhere", dimension)
    for turn in range(12):
        moves = rng.uniform(-0.3, 0.3, world.positions.shape)
        for each in (world, twin):
            each.positions[:] += moves
        row, axis, dt = int(rng.integers(world.slots)), int(rng.integers(dimension)), float(rng.choice([0.0, 0.5]))
        kept = world.positions[row, axis]
        world.positions[row, axis] = value
        before = world.positions.copy(), world.velocities.copy(), world.rotations.copy(), world.pairs.copy()
        for call in (lambda dt=dt: world.step(dt), world.refresh, lambda dt=dt: world.step(dt, budget=0.005)):
            with pytest.raises(ValueError, match=rf"row {row}\b"):
                call()
            after = world.positions, world.velocities, world.rotations, world.pairs
            assert all(map(lambda one, other: np.array_equal(one, other, equal_nan=True), before, after)), turn
        world.positions[row, axis] = kept
        assert_same_frames(world.step(dt), twin.step(dt), turn)
        world.validate()


@pytest.mark.parametrize("value", [np.nan, np.inf, None])
@pytest.mark.parametrize("dimension", [2, 3])
def test_rotations_and_velocities_that_are_none_are_named(dimension, value):
    world, twin = crowd(dimension), crowd(dimension)
    for row in (0, 7, 29):
        for name in ("rotations", "velocities", "angular_velocities"):
            column = getattr(world, name)
            kept = column[row].copy()
            if value is None and (name != "rotations" or dimension == 2):
                continue
            column[row] = 0.0 if value is None else value
            with pytest.raises(ValueError, match=rf"row {row}\b"):
                world.step(0.25)
            getattr(world, name)[row] = kept
        assert_same_frames(world.step(0.25), twin.step(0.25))
        assert np.array_equal(world.rotations, twin.rotations)
    assert_goes_on(world, twin)


def test_what_was_put_somewhere_and_then_written_to_nowhere_is_named():
    world, twin = crowd(), crowd()
    for each in (world, twin):
        each.step()
        each.add_many(bp.Circle(1), [[0, 0]], body_type="static")
        each.step()
        each.move([30, 4], [[1, 0], [0, 0]])
    world.positions[30] = np.nan
    for call in (world.step, world.refresh, lambda: world.query([[-1, -1, 1, 1]])):
        with pytest.raises(ValueError, match="row 30 "):
            call()
    world.positions[30] = 1, 0
    assert_goes_on(world, twin)


def test_removed_rows_may_have_any_position_and_sleeping_ones_may_not():
    world = crowd()
    world.step()
    world.sleep([3])
    world.remove([4])
    world.positions[4] = np.inf
    for _ in range(3):
        world.step(0.5)
        world.validate()
    world.positions[3] = np.nan
    with pytest.raises(ValueError, match="position of row 3 is not finite"):
        world.step()


# Given -------------------------------------------------------------------------------------------------------------

NAN_PLACES = [[0, 0], [1, 1], [np.nan, 2], [3, 3]]
BAD_CALLS = {
    "add_many: nan": (ValueError, "row 2", lambda w: w.add_many(bp.Circle(1), NAN_PLACES)),
    "add_many: inf velocity": (ValueError, "velocities: row 1",
                               lambda w: w.add_many(bp.Circle(1), [[0, 0], [1, 1]], velocities=[[0, 0], [np.inf, 0]])),
    "add_many: nan rotation": (ValueError, "rotations: row 0",
                               lambda w: w.add_many(bp.Circle(1), [[0, 0], [1, 1]], rotations=[np.nan, 0])),
    "add_many: far": (ValueError, "positions: row 1", lambda w: w.add_many(bp.Circle(1), [[0, 0], [1e41, 1]])),
    "add_many: rows": (ValueError, "3", lambda w: w.add_many(bp.Circle([1, 2, 3]), [[0, 0], [1, 1]])),
    "add_many: axes": (ValueError, "positions", lambda w: w.add_many(bp.Circle(1), [[0, 0, 0]])),
    "add_many: in space": (ValueError, "Sphere of 3", lambda w: w.add_many(bp.Sphere(1), [[0, 0]])),
    "add_many: no shape": (TypeError, "row 0", lambda w: w.add_many("ball", [[0, 0]])),
    "add_many: text": (TypeError, "positions", lambda w: w.add_many(bp.Circle(1), [["a", "b"]])),
    "add_many: complex": (TypeError, "positions", lambda w: w.add_many(bp.Circle(1), [[1j, 0]])),
    "add_many: body_type": (ValueError, "body_type", lambda w: w.add_many(bp.Circle(1), [[0, 0]], body_type="ghost")),
    "add_many: body_types": (ValueError, "body_type",
                             lambda w: w.add_many(bp.Circle(1), [[0, 0]], body_type=["static"] * 2)),
    "add_many: layer": ((ValueError, TypeError), "layer", lambda w: w.add_many(bp.Circle(1), [[0, 0]], layer=[1, 2])),
    "add_many: float layer": (TypeError, "layer", lambda w: w.add_many(bp.Circle(1), [[0, 0]], layer=1.5)),
    "add_many: group": (TypeError, "group", lambda w: w.add_many(bp.Circle(1), [[0, 0]], group=0.5)),
    "add_many: sensor": (TypeError, "sensor", lambda w: w.add_many(bp.Circle(1), [[0, 0]], sensor=3)),
    "add_many: ccd": ((ValueError, TypeError), "ccd", lambda w: w.add_many(bp.Circle(1), [[0, 0]], ccd=[True] * 3)),
    "add_many: update_interval": (ValueError, "update_interval",
                                  lambda w: w.add_many(bp.Circle(1), [[0, 0]], update_interval=0)),
    "add_many: angular_velocities": (ValueError, "angular_velocities",
                                     lambda w: w.add_many(bp.Circle(1), [[0, 0]], angular_velocities=[1, 2])),
    "add: nan": (ValueError, "position", lambda w: w.add(bp.Circle(1), position=(0, np.nan))),
    "add: two": (ValueError, "2 shapes", lambda w: w.add(bp.Circle([1, 2]), position=(0, 0))),
    "add: actor": (TypeError, "class", lambda w: w.add(bp.Circle(1), position=(0, 0), actor=int)),
    "remove: gone": (KeyError, "row 5", lambda w: w.remove([0, 5])),
    "remove: twice": (ValueError, "row 1", lambda w: w.remove([1, 2, 1])),
    "remove: beyond": (KeyError, "row 99", lambda w: w.remove([99])),
    "remove: negative": (KeyError, "row -1", lambda w: w.remove(-1)),
    "remove: floats": (TypeError, "integer", lambda w: w.remove([0.5])),
    "move: gone": (KeyError, "row 5", lambda w: w.move([5], [[0, 0]])),
    "move: nan": (ValueError, "positions: row 1", lambda w: w.move([0, 1], [[0, 0], [0, np.nan]])),
    "move: far": (ValueError, "positions: row 0", lambda w: w.move([0, 1], [[-1e41, 0], [0, 0]])),
    "move: rows": (ValueError, "positions", lambda w: w.move([0, 1], [[0, 0]] * 3)),
    "move: late nan": (ValueError, "velocities: row 0",
                       lambda w: w.move([0], [[9, 9]], rotations=[1], angular_velocities=[np.nan])),
    "set_shapes: gone": (KeyError, "row 5", lambda w: w.set_shapes([5], bp.Circle(1))),
    "set_shapes: count": (ValueError, "3 shapes", lambda w: w.set_shapes([0, 1], bp.Circle([1, 2, 3]))),
    "set_shapes: in space": (ValueError, "Sphere of 3", lambda w: w.set_shapes([0], bp.Sphere(1))),
    "set_filters: gone": (KeyError, "row 5", lambda w: w.set_filters([5], layer=1)),
    "set_filters: count": ((ValueError, TypeError), "mask", lambda w: w.set_filters([0], layer=2, mask=[1, 2, 3])),
    "set_filters: group": (TypeError, "group", lambda w: w.set_filters([0], layer=2, group="a")),
    "sleep: gone": (KeyError, "row 5", lambda w: w.sleep([1, 5])),
    "wake: beyond": (KeyError, "row 30", lambda w: w.wake([30])),
    "ignore: itself": (ValueError, "row 1", lambda w: w.ignore([[0, 1], [1, 1]])),
    "ignore: gone": (KeyError, "row 5", lambda w: w.ignore([[0, 5]])),
    "ignore: far too large": (KeyError, str(2**32), lambda w: w.ignore([[2**32, 1]])),
    "ignore: shape": (ValueError, "shape", lambda w: w.ignore([[0, 1, 2]])),
    "ignore: floats": (TypeError, "pairs", lambda w: w.ignore([[0.0, 1.0]])),
    "unignore: gone": (KeyError, "row 5", lambda w: w.unignore([[0, 5]])),
    "handles: gone": (KeyError, "row 5", lambda w: w.handles([5])),
    "rows_of: stale": (KeyError, "stale", lambda w: w.rows_of([1 << 32 | 5])),
    "rows_of: nobody": (KeyError, "stale", lambda w: w.rows_of([7 << 32 | 1])),
    "step: nan": (ValueError, "dt", lambda w: w.step(np.nan)),
    "step: inf": (ValueError, "dt", lambda w: w.step(np.inf)),
    "step: text": (TypeError, "dt must be a number", lambda w: w.step("1")),
    "step: too far": (ValueError, "row", lambda w: w.step(1e300)),
    "step: budget": (ValueError, "budget", lambda w: w.step(0.5, budget=-1)),
    "step: tests": (ValueError, "tests must be a whole number", lambda w: w.step(0.5, budget=bp.Budget(tests=0.5))),
    "add_many: boundary": (ValueError, "boundary", lambda w: w.add_many(bp.Circle(1), [[0, 0]], boundary="soft")),
    "add_many: no bounds": (ValueError, "bounds", lambda w: w.add_many(bp.Circle(1), [[0, 0]], boundary="remove")),
    "add_many: mask": (ValueError, r"did you mean 'wall'", lambda w: w.add_many(bp.Circle(1), [[0, 0]], mask="wal")),
    "add: late mask": (TypeError, "mask", lambda w: w.add(bp.Circle(1), position=(0, 0), layer="a", mask=object())),
    "set_filters: late mask": (TypeError, "mask", lambda w: w.set_filters([0], layer="a", mask=object())),
    "on_enter: layer": (ValueError, r"did you mean 'wall'", lambda w: w.on_enter("wal", "default")),
    "on_exit: layer": (ValueError, r"unknown layer 'bal'", lambda w: w.on_exit(w.actor(0), "bal")),
    "method": (ValueError, "method", lambda w: setattr(w, "method", "fastest")),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_CALLS)
def test_what_cannot_be_is_refused_and_changes_nothing(name):
    error, message, call = BAD_CALLS[name]
    world, twin = crowd(), crowd()
    for each in (world, twin):
        each.step(0.1)
        each.remove([5, 11])
        each.positions[2] += 0.1
    before = world.to_bytes()
    with pytest.raises(error, match=message):
        call(world)
    world.validate()
    if not name.startswith("step"):
        assert world.to_bytes() == before
    assert_goes_on(world, twin, name)


@pytest.mark.parametrize("options", [
    {"dim": 4}, {"dim": 1}, {"method": "fastest"}, {"boundary": "bounce"},
    {"boundary": "soft", "bounds": [[0, 0], [1, 1]]},
    {"bounds": [[0, 0], [0, 1]]}, {"bounds": [[0, 0], [np.nan, 1]]}, {"bounds": [[0, 0, 0], [1, 1, 1]]},
    {"bounds": [[1, 1], [0, 0]]}, {"margin": -1}, {"margin": np.nan}, {"workers": 0}, {"workers": -2},
])  # fmt: skip
def test_worlds_that_cannot_be_are_not_made(options):
    with pytest.raises(ValueError, match=r".+"):
        bp.World(**options)


# Ctrl-C ------------------------------------------------------------------------------------------------------------


class InterruptAtLine:
    """Raise KeyboardInterrupt before a line of the world's own code, counted from 0, as Ctrl-C might."""

    FOLDER = str(Path(world_module.__file__).parent)

    def __init__(self, number):
        self.left = number

    def __call__(self, frame, event, _):
        code = frame.f_code
        # What opens and closes the guard is not interrupted: see the tests of the guard.
        if not code.co_filename.startswith(self.FOLDER) or code is bp.World.step.__code__:
            return None
        if event == "line":
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


@pytest.mark.parametrize(("border", "method", "budget"), [
    ("none", "auto", None), ("bounce", "octree", bp.Budget(tests=20)), ("wrap", "grid", bp.Budget(tests=9)),
])  # fmt: skip
def test_a_step_that_is_interrupted_anywhere_may_be_repeated(border, method, budget):
    bounds = None if border == "none" else [[-2.5, -2.5], [2.5, 2.5]]
    world, twin = (crowd(things=9, method=method, boundary=border, bounds=bounds) for _ in range(2))
    for each in (world, twin):
        each.add_many(bp.Circle(0.2), [[0, 0], [1, 1]], ccd=True, velocities=[[9, 1], [-8, 3]],
                      update_interval=2, group=-1)  # fmt: skip
        each.step(0.1, budget=budget)
        each.remove([3, 4])
        each.add(bp.Rectangle(1, 1), position=(0, 0), body_type="static", sensor=True)
        each.move([0, 1], [[0.1, 0], [0, 0.1]])
    interrupted = 0
    for number in range(3000):
        before, count = world.to_bytes(), world.number
        sys.settrace(InterruptAtLine(number))
        try:
            frame = world.step(0.1, budget=budget)
        except KeyboardInterrupt:
            sys.settrace(None)
            interrupted += 1
            if world.number == count:  # nothing has happened
                assert world.to_bytes() == before, number
                if number % 5 == 0:
                    world.validate()
                continue
            frame = world.frame  # all of it has
        finally:
            sys.settrace(None)
        assert_same_frames(frame, twin.step(0.1, budget=budget))
        assert world.to_bytes() == twin.to_bytes()
        break
    assert interrupted > 10  # a step is one call of the core, and few lines before and after it
    assert_goes_on(world, twin)


# Meanwhile ---------------------------------------------------------------------------------------------------------


def test_handlers_may_change_everything():
    world = crowd()
    rng = generator("handlers")

    @world.on_enter()
    def change(event):
        what = rng.integers(5)
        rows = [actor.row for actor in (event.actor, event.other) if actor.alive]
        if what == 0 and rows:
            world.remove(rows[:1])
        elif what == 1:
            world.add(bp.Circle(0.3), position=rng.uniform(-2, 2, 2))
        elif what == 2 and rows:
            world.move(rows, rng.uniform(-2, 2, (len(rows), 2)))
        elif what == 3 and rows:
            world.set_shapes(rows, bp.Circle(0.4))
        else:
            world.query([[-1, -1, 1, 1]])

    for turn in range(20):
        world.step(0.1)
        if turn % 4 == 0:
            world.validate()
    world.remove_handler(change)
    world.remove(world.rows.copy())
    assert len(world.step().pairs) == 0


def test_many_threads_may_ask_at_once_and_the_first_arranges():
    world = crowd(things=300, seed=3)
    world.step()
    expected = world.query([[-1, -1, 1, 1]])[0]
    for _ in range(5):
        world.move(world.rows[:100].copy(), world.positions[world.rows[:100]])
        gate = threading.Barrier(8)

        def ask(_, gate=gate):
            gate.wait()
            return np.array_equal(world.query([[-1, -1, 1, 1]])[0], expected)

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(ask, range(8)))
    world.validate()


def test_a_step_while_somebody_asks_is_refused_and_nothing_happens():
    world, twin = crowd(), crowd()
    before = world.to_bytes()
    changes = (
        world.step, world.refresh, lambda: world.add_many(bp.Circle(1), [[0, 0]]), lambda: world.remove([0]),
        lambda: world.move([0], [[0, 0]]), lambda: world.set_shapes([0], bp.Circle(1)), lambda: world.sleep([0]),
        lambda: world.set_filters([0], mask=0), lambda: world.ignore([[0, 1]]),
        lambda: setattr(world, "method", "grid"),
    )  # fmt: skip
    # By its guard: a query that lasts as long as this needs another thread, and a world of millions of bodies.
    with world._guard.reading:
        for change in changes:
            with pytest.raises(RuntimeError, match="world"):
                change()
    assert world.to_bytes() == before
    with world._guard.changing:
        questions = (lambda: world.query([[-1, -1, 1, 1]]), lambda: world.raycast([[0, 0]], [[1, 0]]))
        for question in (world.step, *questions):
            with pytest.raises(RuntimeError, match="world"):
                question()
    assert_goes_on(world, twin)


def test_steps_and_questions_of_many_threads_are_whole_or_refused():
    world, twin = crowd(things=150, seed=9), crowd(things=150, seed=9)
    done, wrong, asked = threading.Event(), [], []

    def ask():
        while not done.wait(1e-4):
            try:
                asked.append(len(world.query([[-1, -1, 1, 1]])))
            except RuntimeError:
                continue
            except Exception as error:
                wrong.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    steps = 0
    for _ in range(20_000):
        try:
            frame = world.step(0.01)
        except RuntimeError:
            done.wait(1e-4)
            continue
        assert_same_frames(frame, twin.step(0.01))
        steps += 1
        if steps >= 30 and asked:
            break
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert asked
    assert steps >= 30
    world.validate()
