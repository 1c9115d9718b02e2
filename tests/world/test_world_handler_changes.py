"""Handlers that change the world and raise: no event is lost or told twice, no beginning is without its end."""

import gc
import weakref

import numpy as np
import pytest

import broadphase as bp
from broadphase.world.frame import Frame
from handler_histories import play, world_of


def test_handlers_may_add_remove_move_and_register():
    world = world_of((0, 0), (0, 0))
    later = []

    @world.on_enter
    def meddle(event):
        event.actor.remove()
        world.add(bp.Circle(1), position=(50, 50))
        event.other.position = (50, 51)
        world.on_enter()(lambda event: later.append((event.actor.row, event.other.row)))
        world.remove_handler(meddle)

    frame = world.step()
    assert frame.enter.tolist() == [[0, 1]]
    assert later == []
    frame = world.step()
    assert (frame.exit.tolist(), frame.enter.tolist()) == ([[0, 1]], [[0, 1]])
    assert later == [(0, 1)]


def test_handlers_hear_of_events_whose_actor_an_earlier_one_removed():
    world = world_of((0, 0), (0, 0), (0, 0))
    alive, ends = [], []

    @world.on_enter
    def remove(event):
        event.actor.remove()
        event.other.remove()

    world.on_enter(lambda event: alive.append((event.actor.alive, event.other.alive)))
    world.on_exit(ends.append)
    world.step()
    assert alive == [(False, False)] * 3
    world.step()
    assert len(ends) == 3  # as many as began


def test_handlers_may_not_step():
    world = world_of((0, 0), (0, 0))
    world.on_enter(lambda event: world.step())
    with pytest.raises(RuntimeError, match="a handler cannot call step"):
        world.step()
    assert world.step().stay.tolist() == [[0, 1]]


def test_handler_that_raises_leaves_the_world_sound_and_the_rest_for_next_time():
    world = world_of((0, 0), (0, 0), (0, 0))
    told = []

    @world.on_enter
    def raises(event):
        told.append((event.actor.row, event.other.row))
        if len(told) == 2:
            raise KeyError("a slip")

    with pytest.raises(KeyError, match="a slip"):
        world.step(1.0)
    assert (world.time, world.frame.enter.tolist()) == (1.0, [[0, 1], [0, 2], [1, 2]])
    world.step(1.0)
    assert told == [(0, 1), (0, 2), (1, 2)]
    world.step(1.0)
    assert len(told) == 3


def test_events_left_over_have_contacts_and_actors_that_were_removed():
    world = bp.World(dim=2)
    world.add(bp.Circle(1), position=(0, 0), data="one")
    world.add(bp.Circle(1), position=(1.5, 0), data="two")
    seen = []

    @world.on_enter
    def raises(event):
        event.actor.remove()
        raise ZeroDivisionError

    world.on_enter(lambda event: seen.append((event.actor.data, event.other.data, event.contact.depth)))
    with pytest.raises(ZeroDivisionError):
        world.step()
    gc.collect()
    world.step()
    assert seen == [("one", "two", 0.5)]


def test_handler_that_always_raises_does_not_pile_up_events():
    world = world_of((0, 0), (0, 0), (0, 0))
    world.on_stay(lambda event: 1 / 0)
    world.step()
    steps = 0
    for _ in range(30):
        try:
            world.step(1.0)
        except ZeroDivisionError:
            steps += 1
    assert steps == 30
    gc.collect()
    assert sum(isinstance(known, Frame) for known in gc.get_objects()) <= 2  # events that wait keep their frame


def test_handlers_of_removed_actors_are_let_go():
    world = world_of((0, 0), (0, 0))
    actor = world.actor(0)
    ends = []

    def handler(event):
        ends.append(event.kind)

    world.on_exit(actor)(handler)
    world.step()
    actor.remove()
    for _ in range(4):
        world.step()
    assert ends == ["exit"]
    reference = weakref.ref(handler)
    del handler
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("seed", range(8))
def test_enters_and_exits_balance_over_any_history(seed):
    accounts, _ = play(seed, 60)
    assert accounts[0].ends
    for account in accounts:
        assert not +account.open, account.names


@pytest.mark.parametrize("which", range(1, 11))
def test_exception_at_any_event_loses_and_repeats_none(which):
    world = world_of(*[(0, 0)] * 5)
    told = []

    @world.on_enter
    def raises(event):
        told.append((event.actor.row, event.other.row))
        if len(told) == which:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        world.step()
    assert len(told) == which
    world.step()
    assert told == [(one, other) for one in range(5) for other in range(one + 1, 5)]


@pytest.mark.parametrize("which", range(1, 11))
def test_changes_in_a_handler_at_any_event_do_not_disturb_the_others(which):
    world = world_of(*[(0, 0)] * 5)
    told, ends = [], []
    world.on_exit(ends.append)

    @world.on_enter
    def changes(event):
        told.append((event.actor.handle & 0xFF, event.other.handle & 0xFF))
        if len(told) == which:
            world.remove(world.rows[1:])
            world.add_many(bp.Circle(1), np.full((20, 2), 50.0))
            world.move(world.rows, positions=np.full((len(world), 2), 99.0))
            world.set_shapes(world.rows, bp.Rectangle(1, 1))

    world.step()
    assert told == [(one, other) for one in range(5) for other in range(one + 1, 5)]
    world.remove_handler(changes)
    frame = world.step()
    assert len(ends) == len(frame.exit) == 10
    assert len(frame.enter) == 21 * 20 // 2


def test_world_that_nobody_holds_is_let_go_with_its_handlers_and_actors():
    class Loud(bp.Actor):
        def on_enter(self, other):
            self.last = other

    def play():
        world, events = bp.World(dim=2), []
        one, other = (world.add(bp.Circle(1), position=(0, 0), actor=Loud) for _ in range(2))
        world.on_enter(lambda event: events.append((world, event)))
        one.on_exit(lambda event: events.append((one, event)))
        world.step()
        return [weakref.ref(thing) for thing in (world, one, other)]

    references = play()
    gc.collect()
    assert [reference() for reference in references] == [None] * 3


def test_long_runs_keep_nothing():
    class Spark(bp.Actor):
        def on_exit(self, other):
            pass

    def count(kind):
        gc.collect()
        return sum(isinstance(known, kind) for known in gc.get_objects())

    class Handler:
        def __call__(self, event):
            pass

    world, rng = bp.World(dim=2), np.random.default_rng(0)
    world.on_exit("default", "default")(lambda event: None)
    world.on_stay("default")(lambda event: event.other.handle)
    others = count(bp.Actor)
    for _ in range(300):
        spark = world.add(bp.Circle(1), position=rng.uniform(0, 4, 2), actor=Spark)
        world.on_enter(spark)(Handler())
        if len(world) > 10:
            world.remove(rng.choice(world.rows, 2, replace=False))
        world.step()
    del spark
    kept = 11 + 2 * 3  # the living, and those that left in the last steps
    assert len(world) <= count(bp.Actor) - others <= kept
    assert count(Handler) <= kept
