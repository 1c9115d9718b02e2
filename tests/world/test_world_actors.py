"""Actors: views of rows that cost nothing when unused, their hooks, and what becomes of those that are removed."""

import gc
import itertools
import re
import sys
import weakref

import numpy as np
import pytest

import broadphase as bp
from broadphase.world.actor import EXIT


def two_circles():
    """Give a world with two circles that touch."""
    world = bp.World(dim=2)
    world.add_many(bp.Circle([1.0, 2.0]), [[0, 0], [2, 0]], velocities=[[1, 0], [0, 0]], layer=["ball", "wall"])
    return world


class Recorder(bp.Actor):
    """Writes down what it is told."""

    def __init__(self, name="", log=None):
        self.name, self.log = name, [] if log is None else log

    def update(self, info):
        self.log.append(("update", self.name, info.number, info.dt))

    def on_enter(self, other):
        self.log.append(("enter", self.name, getattr(other, "name", other.handle)))

    def on_stay(self, other):
        self.log.append(("stay", self.name, getattr(other, "name", other.handle)))

    def on_exit(self, other):
        self.log.append(("exit", self.name, getattr(other, "name", other.handle)))

    def render(self, context):
        context.append(self.name)


@pytest.mark.parametrize("name", ["position", "velocity"])
def test_actor_vectors_are_views_of_the_world(name):
    world = two_circles()
    actor, column = world.actor(0), {"position": "positions", "velocity": "velocities"}[name]
    setattr(actor, name, (3, 4))
    assert getattr(world, column)[0].tolist() == [3, 4]
    vector = getattr(actor, name)
    vector += (1, 0)
    setattr(actor, name, vector)  # what `actor.position += (1, 0)` does
    getattr(actor, name)[1] = 9
    assert getattr(world, column).tolist()[0] == [4, 9]
    getattr(world, column)[0] = 7
    assert getattr(actor, name).tolist() == [7, 7]


def test_actor_position_plus_equals_is_seen_by_the_next_step():
    world = two_circles()
    actor = world.actor(0)
    assert len(world.step().enter) == 1
    actor.position += (-9, 0)
    assert world.step().exit.tolist() == [[0, 1]]


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_actor_position_of_what_nobody_looks_at_is_noticed(kind):
    world = bp.World(dim=2)
    thing = world.add(bp.Circle(1), position=(0, 0), body_type=kind)
    world.add(bp.Circle(1), position=(9, 0))
    if kind == "dynamic":
        world.sleep(thing)
    assert len(world.step().enter) == 0
    thing.position = (8, 0)
    assert world.step().enter.tolist() == [[0, 1]]


def test_actor_turns_in_the_plane_and_in_space():
    world = bp.World(dim=2)
    stick = world.add(bp.Segment((-1, 0), (1, 0)), position=(0, 0), rotation=np.pi / 2, angular_velocity=2.0)
    stick.rotation += 0.25
    assert (stick.rotation, stick.angular_velocity) == (np.pi / 2 + 0.25, 2.0)
    space = bp.World(dim=3)
    box = space.add(bp.Box(1, 2, 3), position=(0, 0, 0))
    box.rotation = (0, 1, 0, 0)
    box.angular_velocity[2] = 3.0
    assert box.rotation.tolist() == [0, 1, 0, 0]
    assert space.angular_velocities.tolist() == [[0, 0, 3]]


@pytest.mark.parametrize("value", [(1, 2, 3), 5, (np.nan, 0), (np.inf, 0), [[1, 2]]])
def test_actor_position_refuses_what_is_no_place(value):
    world = two_circles()
    with pytest.raises(ValueError, match="positions"):
        world.actor(0).position = value
    assert world.positions[0].tolist() == [0, 0]


def test_actor_tells_and_changes_its_filters_and_shape():
    world = two_circles()
    ball = world.actor(0)
    assert (ball.layer, ball.mask, ball.body_type, ball.sensor) == ("ball", "all", "dynamic", False)
    assert ball.shape == bp.Circle(1.0)
    ball.shape = bp.Circle(0.1)
    assert ball.shape == bp.Circle(0.1)
    ball.layer = {"ball", "ghost"}
    assert ball.layer == {"ball", "ghost"}
    assert len(world.step().enter) == 1
    with pytest.raises(ValueError, match="unknown layer 'nobody'"):
        ball.mask = "nobody"
    world.layer("nobody")
    ball.mask = "nobody"
    ball.position += (0, 0)
    assert ball.mask == "nobody"
    assert world.step().exit.tolist() == [[0, 1]]


def test_actor_equals_by_thing():
    world, other = two_circles(), two_circles()
    assert world.actor(0) is world.actor(0)
    assert world.actor(0) == world.actor(0) != world.actor(1)
    assert world.actor(0) != other.actor(0)
    assert len({world.actor(0), world.actor(0), world.actor(1), other.actor(0)}) == 3
    assert world.actor(0) != "actor"


def test_actor_repr_says_where_it_is():
    world = two_circles()
    actor = world.actor(0)
    assert repr(actor) == "<Actor in row 0 at (0.0, 0.0)>"
    actor.remove()
    assert repr(actor) == "<Actor, removed>"
    assert repr(Recorder()) == "<Recorder, in no world yet>"


@pytest.mark.parametrize(
    "use",
    [
        lambda a: a.position,
        lambda a: a.row,
        lambda a: a.shape,
        lambda a: a.layer,
        lambda a: a.body_type,
        lambda a: a.touched(),
        lambda a: setattr(a, "position", (0, 0)),
        lambda a: a.world.on_enter(a),
        lambda a: a.world.remove(a),
    ],
)
def test_actor_removed_is_stale_for_ever(use):
    world = two_circles()
    actor = world.actor(0)
    assert actor.remove() is True
    assert world.add(bp.Circle(1), position=(5, 5)).row == 0  # the row is in use again
    assert (actor.alive, actor.remove(), actor == world.actor(0)) == (False, False, False)
    with pytest.raises(bp.errors.UnknownRowError):
        use(actor)
    with pytest.raises(KeyError):
        use(actor)


def test_actor_in_no_world_yet_says_so():
    actor = Recorder()
    assert not actor.alive
    for use in (lambda: actor.position, lambda: actor.world):
        with pytest.raises(bp.errors.UnknownRowError, match="in no world yet"):
            use()
    with pytest.raises(TypeError):
        hash(actor)


def test_actor_given_twice_is_refused_and_nothing_is_added():
    world = bp.World(dim=2)
    actor = world.add(bp.Circle(1), position=(0, 0), actor=Recorder("a"))
    for wrong, error in ((actor, ValueError), (int, TypeError), ("Recorder", TypeError)):
        with pytest.raises(error):
            world.add(bp.Circle(1), position=(0, 0), actor=wrong)
    assert len(world) == 1


def test_actor_of_another_world_is_refused():
    world, other = two_circles(), two_circles()
    with pytest.raises(bp.errors.UnknownRowError, match="another world"):
        world.remove(other.actor(0))
    assert len(world) == 2


def test_actors_are_made_when_asked_for_and_not_kept():
    def count():
        gc.collect()
        return sum(isinstance(known, bp.Actor) for known in gc.get_objects())

    world, others = two_circles(), count()
    actor = world.actor(0)
    assert count() == others + 1
    reference = weakref.ref(actor)
    del actor
    assert count() == others
    assert reference() is None


def test_actors_with_data_or_a_class_are_kept():
    world = two_circles()
    world.actor(0).data = {"health": 3}
    world.add(bp.Circle(1), position=(0, 0), actor=Recorder("kept"))
    gc.collect()
    assert world.actor(0).data == {"health": 3}
    assert world.actor(2).name == "kept"
    reference = weakref.ref(world.actor(0))
    assert reference() is not None
    world.actor(0).data = None
    gc.collect()
    assert reference() is None


def test_actor_data_can_be_read_after_removal():
    world = bp.World(dim=2)
    coin = world.add(bp.Circle(1), position=(0, 0), data="gold")
    coin.remove()
    assert coin.data == "gold"


def test_actors_touching_are_those_of_the_last_step():
    world = bp.World(dim=2)
    one, two, three, far = (world.add(bp.Circle(1), position=(x, 0)) for x in (0, 1, 2, 9))
    assert one.touched() == []
    world.step()
    assert two.touched() == [one, three]
    assert far.touched() == []
    three.remove()
    world.add(bp.Circle(1), position=(0, 0))
    assert two.touched() == [one]


def test_actors_can_be_given_wherever_rows_can():
    world = bp.World(dim=2)
    one, two, three = (world.add(bp.Circle(1), position=(x, 0)) for x in (0, 5, 10))
    world.move(one, positions=[[4, 4]])
    world.move([two, three], positions=[[5, 5], [6, 6]])
    world.sleep([one, two])
    world.wake(two)
    assert world.asleep.tolist() == [True, False, False]
    world.remove([one, three])
    assert world.rows.tolist() == [1]
    assert two.position.tolist() == [5, 5]


def test_hooks_are_called_both_ways_and_in_order():
    world, log = bp.World(dim=2), []
    world.add(bp.Circle(1), position=(0, 0), actor=Recorder("a", log))
    world.add(bp.Circle(1), position=(1, 0), actor=Recorder("b", log))
    plain = world.add(bp.Circle(1), position=(2, 0))
    world.step(0.5)
    assert log == [
        ("update", "a", 1, 0.5),
        ("update", "b", 1, 0.5),
        ("enter", "a", "b"),
        ("enter", "b", "a"),
        ("enter", "a", plain.handle),
        ("enter", "b", plain.handle),
    ]
    log.clear()
    plain.position = (9, 9)
    world.step(0.25)
    # First what parts, then what goes on.
    assert log == [
        ("update", "a", 2, 0.25),
        ("update", "b", 2, 0.25),
        ("exit", "a", plain.handle),
        ("exit", "b", plain.handle),
        ("stay", "a", "b"),
        ("stay", "b", "a"),
    ]


def test_hooks_not_overridden_are_not_looked_for():
    class Named(bp.Actor):
        name = "only a name"

    def calls_of_a_step(actor):
        world, names = two_circles(), []
        world.add(bp.Circle(1), position=(0, 0), actor=actor)
        sys.setprofile(lambda frame, event, _: names.append(frame.f_code.co_name) if event == "call" else None)
        try:
            world.step()
        finally:
            sys.setprofile(None)
        return names

    assert calls_of_a_step(Named) == calls_of_a_step(bp.Actor)


def test_hook_update_may_move_and_remove():
    class Walker(bp.Actor):
        def update(self, info):
            self.position += (info.dt, 0)
            if self.position[0] > 2:
                self.remove()

    world = bp.World(dim=2)
    for x in (0, 1, 2):
        world.add(bp.Circle(0.1), position=(x, 0), actor=Walker)
    for left in (2, 1, 0):
        world.step(1.0)
        assert len(world) == left


def test_hook_update_that_raises_leaves_the_world_unstepped():
    class Broken(bp.Actor):
        def update(self, info):
            raise ZeroDivisionError

    world = two_circles()
    broken = world.add(bp.Circle(1), position=(0, 0), actor=Broken)
    with pytest.raises(ZeroDivisionError):
        world.step(1.0)
    assert (world.positions[0].tolist(), world.time) == ([0, 0], 0)
    broken.remove()
    assert len(world.step(1.0).enter) == 1


def test_hook_on_enter_is_not_called_for_what_an_earlier_one_removed():
    calls = []

    class Bullet(bp.Actor):
        def on_enter(self, other):
            calls.append(other)
            other.remove()
            self.remove()

    world = bp.World(dim=2)
    world.add(bp.Point(), position=(0, 0), actor=Bullet)
    enemies = [world.add(bp.Circle(1), position=(0, 0)) for _ in range(3)]
    world.step()
    assert calls == enemies[:1]
    assert len(world) == 2


def test_hook_on_exit_is_called_for_the_removed_too_with_its_data():
    log = []
    world = bp.World(dim=2)
    one = world.add(bp.Circle(1), position=(0, 0), actor=Recorder("one", log))
    two = world.add(bp.Circle(1), position=(0, 0), actor=Recorder("two", log))
    world.step()
    log.clear()
    world.remove([one, two])
    references = [weakref.ref(one), weakref.ref(two)]
    del one, two
    gc.collect()
    world.add(bp.Circle(1), position=(0, 0), actor=Recorder("another", log))
    world.step()
    assert log == [("update", "another", 2, 0.0), ("exit", "one", "two"), ("exit", "two", "one")]
    world.step()
    world.step()
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_render_calls_those_that_are_wanted_in_the_order_of_rows():
    world = two_circles()
    for x in range(4):
        world.add(bp.Point(), position=(x, 5), actor=Recorder(str(x)))
    page = []
    assert world.render(page) == 4
    assert page == ["0", "1", "2", "3"]
    page = []
    assert world.render(page, rows=world.query([[1, 4, 2, 6]]).rows) == 2
    assert page == ["1", "2"]


def test_actors_of_many_rows_are_found_after_a_bulk_removal():
    world = bp.World(dim=2)
    rows = world.add_many(bp.Circle(0.1), np.random.default_rng(7).uniform(0, 50, (500, 2)))
    kept = [world.add(bp.Circle(0.1), position=(x, 0), actor=Recorder(str(x))) for x in range(5)]
    world.remove(rows)
    assert [actor.alive for actor in kept] == [True] * 5
    world.remove(world.rows)
    assert not any(actor.alive for actor in kept)
    references = [weakref.ref(actor) for actor in kept]
    del kept
    for _ in range(2):
        world.step()
    gc.collect()
    assert not any(reference() for reference in references)


def test_render_sums_what_actors_return():
    class Model(bp.Actor):
        def render(self, context):
            return self.data

    world = bp.World(dim=2)
    for row, count in enumerate((12, None, 0, np.int32(500))):
        world.add(bp.Point(), position=(row, 0), data=count, actor=Model)
    assert world.render() == 12 + 0 + 500 + 1
    assert world.render(rows=[0, 1]) == 13
    world.add(bp.Point(), position=(9, 9), data="many", actor=Model)
    with pytest.raises(TypeError, match=r"what Model\.render returned"):
        world.render()


def test_data_of_many_bodies_is_that_of_their_actors():
    world = bp.World(dim=2)
    rows = world.add_many(bp.Circle(1.0), np.zeros((4, 2)), data=["a", None, {"b": 1}, 0])
    assert [world.actor(row).data for row in rows] == ["a", None, {"b": 1}, 0]
    gc.collect()  # the world keeps the actors that have data
    assert world.actor(rows[0]).data == "a"
    names = np.array(["x", "y"], object)
    assert [world.actor(row).data for row in world.add_many(bp.Circle(1.0), np.zeros((2, 2)), data=names)] == ["x", "y"]
    world.remove(rows[:1])
    again = world.add_many(bp.Circle(1.0), [[5, 5]])
    assert (again[0], world.actor(again[0]).data) == (rows[0], None)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (["a"], "data has 1 objects, but there are 2 bodies"),
        ("ab", "data must be a sequence of 2 objects, one for each body, not 'ab'"),
        (5, "data must be a sequence of 2 objects, one for each body, not 5"),
        ({"a": 1, "b": 2}, "data must be a sequence of 2 objects"),
    ],
)
def test_data_of_many_bodies_that_is_not_one_each_changes_nothing(data, message):
    world = bp.World(dim=2)
    with pytest.raises((TypeError, ValueError), match=message):
        world.add_many(bp.Circle(1.0), np.zeros((2, 2)), data=data)
    assert len(world) == 0


@pytest.mark.parametrize("dimension", [2, 3])
def test_pose_of_an_actor_may_be_written_in_any_form_and_nothing_else(dimension):
    world = bp.World(dimension)
    rows = world.add_many(bp.Circle(1) if dimension == 2 else bp.Sphere(1), np.zeros((3, dimension)))
    actor, want = world.actor(int(rows[1])), np.arange(1.0, dimension + 1)
    forms = [tuple(want.tolist()), want.tolist(), want, want.astype(np.float32), np.repeat(want, 2)[::2], tuple(want)]
    for name, form in itertools.product(("position", "velocity"), [*forms, tuple(range(1, dimension + 1))]):
        setattr(actor, name, (9.0,) * dimension)
        setattr(actor, name, form)
        assert getattr(actor, name).tolist() == want.tolist()
        for bad in ((*want, 1.0), [np.nan] * dimension, (np.inf,) * dimension, 1.0, want[:1], [want], np.full(5, 2.0)):
            with pytest.raises(ValueError, match=r"must (have shape|be finite)"):
                setattr(actor, name, bad)
        assert getattr(actor, name).tolist() == want.tolist()
    assert (world.positions[[0, 2]] == 0).all()
    assert (world.velocities[[0, 2]] == 0).all()
    world.remove(actor)
    for name in ("position", "velocity", "rotation", "angular_velocity"):
        with pytest.raises(bp.errors.UnknownRowError, match="has been removed"):
            getattr(actor, name)
        with pytest.raises(bp.errors.UnknownRowError, match="has been removed"):
            setattr(actor, name, want)


def test_actors_of_many_bodies_are_of_the_class_and_their_hooks_run():
    log = []

    class Coin(bp.Actor):
        def __init__(self):
            self.worth = 1

        def on_enter(self, other):
            log.append((self.row, other.row))

    world = bp.World(dim=2)
    hero = world.add(bp.Circle(1), position=(0, 0))
    rows = world.add_many(bp.Circle(0.1), [[0, 0], [9, 0], [0.5, 0]], actor=Coin, data=["a", None, "c"])
    assert rows.tolist() == [1, 2, 3]
    gc.collect()
    coins = [world.actor(row) for row in rows]
    assert [type(coin) for coin in coins] == [Coin] * 3
    assert [(coin.data, coin.worth) for coin in coins] == [("a", 1), (None, 1), ("c", 1)]
    world.step()
    assert log == [(1, 0), (3, 0)]
    caught = []
    world.on_stay(Coin)(lambda event: caught.append(event.actor.data))
    world.step()
    assert caught == ["a", "c"]
    coins[0].remove()
    world.remove(rows[1:])
    assert world._actors._counts == dict.fromkeys(world._actors._counts, 0)
    world.step()
    assert not any(coin.alive for coin in coins)
    assert hero.touched() == []


def test_actors_of_many_bodies_may_be_added_where_rows_are_free_and_none_at_all():
    class Coin(bp.Actor):
        def on_exit(self, other):
            """Have a hook."""

    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [1, 0], [2, 0]])
    world.remove([0, 2])
    assert world.add_many(bp.Circle(1), [[0, 0], [1, 0], [2, 0]], actor=Coin).tolist() == [0, 2, 3]
    assert [type(world.actor(row)).__name__ for row in range(4)] == ["Coin", "Actor", "Coin", "Coin"]
    assert world.add_many(bp.Circle(1), np.empty((0, 2)), actor=Coin).tolist() == []
    assert world._actors.has(EXIT)
    world.validate()


class Once(bp.Actor):
    """Gives one object for ever."""

    only = None

    def __new__(cls):
        cls.only = cls.only or super().__new__(cls)
        return cls.only


class Broken(bp.Actor):
    """Cannot be made."""

    def __init__(self):
        raise ArithmeticError("no")


@pytest.mark.parametrize(
    ("actor", "error", "message"),
    [
        (
            bp.Actor(),
            TypeError,
            "actor must be a class derived from Actor, of which each gets one, not <Actor, in",
        ),
        ([bp.Actor] * 2, TypeError, "actor must be a class derived from Actor, of which each gets one, not "),
        (int, TypeError, "actor must be a class derived from Actor, of which each gets one, not <class 'int'>"),
        (None, TypeError, "actor must be a class derived from Actor, of which each gets one, not None"),
        (Once, ValueError, "gives the same actor twice"),
        (Broken, ArithmeticError, "no"),
    ],
)
def test_actors_of_many_bodies_that_are_no_class_change_nothing(actor, error, message):
    world = bp.World(dim=2)
    before = world.to_bytes()
    with pytest.raises(error, match=re.escape(message)):
        world.add_many(bp.Circle(1), [[0, 0], [1, 0]], actor=actor)
    assert world.to_bytes() == before
    world.validate()
