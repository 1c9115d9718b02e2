"""Handlers of touches: who is told what, and in which order."""

import gc
import weakref

import numpy as np
import pytest

import broadphase as bp
from handler_histories import world_of, written


def test_handlers_hear_of_a_touch_from_beginning_to_end():
    world = world_of((0, 0), (1, 0))
    log = written(world)
    for x in (1, 1, 5, 5):
        world.positions[1] = x, 0
        world.step()
    assert log == [("enter", 0, 1), ("stay", 0, 1), ("exit", 0, 1)]


def test_handlers_by_layers_get_the_first_name_first():
    world = world_of((0, 0), (0, 0), (0, 0), (0, 0), layers=["wall", "ball", "ball", "mud"])
    log = written(world, "ball", "wall")
    pairs = written(world, "ball", "ball")
    anything = written(world, "mud")
    several = written(world, {"mud", "wall"}, "ball")
    world.step()
    assert log == [("enter", 1, 0), ("enter", 2, 0)]
    assert pairs == [("enter", 1, 2)]
    assert anything == [("enter", 3, 0), ("enter", 3, 1), ("enter", 3, 2)]
    assert several == [("enter", 0, 1), ("enter", 0, 2), ("enter", 3, 1), ("enter", 3, 2)]


def test_handlers_of_names_do_not_hear_of_what_has_no_layer():
    world = world_of((0, 0), (0, 0), (0, 0), layers=["ball", None, "wall"])
    log = written(world, "ball", "wall")
    world.step()
    assert log == [("enter", 0, 2)]


def test_handlers_of_actors():
    world = world_of((0, 0), (0, 0), (0, 0), layers=["wall", "ball", "wall"])
    wall, ball, _ = (world.actor(row) for row in range(3))
    log = []

    def told(name):
        return lambda event: log.append((name, event.actor.row, event.other.row))

    world.layer("mud")
    world.on_enter(ball)(told("any"))
    world.on_enter(ball, "wall")(told("wall"))
    world.on_enter(ball, "mud")(told("mud"))
    world.on_enter(ball, wall)(told("this wall"))
    world.on_enter("wall", ball)(told("from the wall"))
    world.on_enter(wall, ball)(told("both"))

    @world.on_enter(wall)
    def bare(event):
        log.append(("bare", event.actor.row, event.other.row))

    world.step()
    assert log == [
        ("any", 1, 0),
        ("wall", 1, 0),
        ("this wall", 1, 0),
        ("from the wall", 0, 1),
        ("both", 0, 1),
        ("bare", 0, 1),
        ("bare", 0, 2),
        ("any", 1, 2),
        ("wall", 1, 2),
        ("from the wall", 2, 1),
    ]
    assert callable(bare)


def test_handlers_are_called_after_hooks_and_in_the_order_of_registration():
    log = []

    class Loud(bp.Actor):
        def on_enter(self, other):
            log.append("hook")

    world = bp.World(dim=2)
    one = world.add(bp.Circle(1), position=(0, 0), actor=Loud)
    world.add(bp.Circle(1), position=(0, 0), actor=Loud)
    world.on_enter()(lambda event: log.append("first"))
    world.on_enter(one)(lambda event: log.append("second"))
    world.on_enter("default")(lambda event: log.append("third"))
    world.step()
    assert log == ["hook", "hook", "first", "second", "third"]


def test_events_are_told_in_the_order_of_exits_enters_stays():
    world = world_of((0, 0), (0, 0), (9, 0), (9, 0))
    log = written(world)
    world.step()
    log.clear()
    world.add(bp.Circle(1), position=(0, 0))
    world.positions[3] = 20, 0
    world.step()
    assert log == [("exit", 2, 3), ("enter", 0, 4), ("enter", 1, 4), ("stay", 0, 1)]


def test_handlers_hear_of_the_end_of_the_removed():
    world = world_of((0, 0), (0, 0), layers=["ball", "wall"])
    log = written(world, "ball", "wall")
    by_actor = []
    world.on_exit(world.actor(0), "wall")(
        lambda event: by_actor.append((event.actor.alive, event.other.alive, event.contact))
    )
    world.step()
    world.remove(0)
    world.add(bp.Circle(1), position=(0, 0), layer="wall")  # in the same row
    world.step()
    assert log == [("enter", 0, 1), ("exit", 0, 1)]
    assert by_actor == [(False, True, None)]


def test_handlers_hear_of_the_end_of_what_left_over_the_border():
    class Leaf(bp.Actor):
        parted = 0

        def on_exit(self, other):
            self.parted += 1

    world = bp.World(dim=2, bounds=[[0, 0], [10, 10]], boundary="remove")
    leaf = world.add(bp.Circle(1), position=(10.2, 5), velocity=(1, 0), actor=Leaf, data="leaf")
    stone = world.add(bp.Circle(1), position=(9, 5))
    ends = []
    world.on_exit(stone)(lambda event: ends.append((event.other.data, event.other.alive)))
    world.step()
    world.step(5.0)
    assert not leaf.alive
    world.step()
    assert ends == [("leaf", False)]
    assert leaf.parted == 1
    reference = weakref.ref(leaf)
    del leaf
    world.step()
    gc.collect()
    assert reference() is None


def test_handlers_keep_to_a_pair_whose_layers_change():
    world = world_of((0, 0), (0, 0), layers=["ball", "wall"])
    log = written(world, "ball", "wall")
    by_actor = []
    world.on_exit(world.actor(1), "ball")(by_actor.append)
    world.step()
    world.actor(0).layer = "ghost"
    world.step()
    world.positions[0] = 9, 9
    world.step()
    assert log == [("enter", 0, 1), ("stay", 0, 1), ("exit", 0, 1)]
    assert len(by_actor) == 1


def test_handlers_of_exits_registered_in_mid_touch_hear_of_the_end():
    world = world_of((0, 0), (0, 0), layers=["ball", "wall"])
    world.step()
    log = written(world, "wall", "ball")
    by_actor = []
    world.on_exit(world.actor(0), "wall")(by_actor.append)
    world.positions[0] = 9, 9
    world.step()
    assert log == [("exit", 1, 0)]
    assert len(by_actor) == 1


def test_off_ends_all_registrations_at_once():
    world = world_of((0, 0), (0, 0), (0, 0))
    calls = []

    def handler(event):
        calls.append(event)
        assert world.remove_handler(handler) == 3

    world.on_enter(handler)
    world.on_exit("default", "default")(handler)
    world.on_enter(world.actor(2))(handler)
    world.step()
    assert len(calls) == 1
    assert world.remove_handler(handler) == 0
    reference = weakref.ref(handler)
    handler = None
    gc.collect()
    assert reference() is None


def test_all_handlers_and_subscribers_are_cleared_at_once():
    hooks = []

    class Loud(bp.Actor):
        def on_enter(self, other):
            hooks.append(other.row)

    world = world_of((0, 0), (0, 0), layers=["ball", "wall"])
    loud = world.add(bp.Circle(1), position=(0, 0), actor=Loud)
    log = written(world, "ball", "wall")
    world.on_enter(loud)(log.append)
    world.on_step(log.append)
    assert world.clear_handlers() == 5
    assert world.clear_handlers() == 0
    world.step()
    assert log == []
    assert hooks == [0, 1]
    world.on_stay(log.append)
    world.step()
    assert len(log) == 3


def test_handlers_and_subscribers_that_a_handler_clears_are_not_called_any_more():
    world = world_of((0, 0), (0, 0), (0, 0))
    calls = []

    @world.on_enter
    def first(event):
        calls.append("first")
        assert world.clear_handlers() == 3

    world.on_enter(lambda event: calls.append("second"))
    world.on_step(lambda frame: calls.append("frame"))
    world.step()
    world.step()
    assert calls == ["first"]


def test_subscriber_that_a_handler_or_another_removes_is_not_called_for_this_frame_either():
    world = world_of((0, 0), (0, 0))
    frames = []

    def late(frame):
        frames.append(frame.number)

    @world.on_step
    def early(frame):
        if frame.number == 2:
            world.remove_handler(late)

    world.on_step(late)
    world.step()
    world.step()
    assert frames == [1]


def test_handlers_refuse_what_cannot_be_called():
    world = world_of((0, 0))
    with pytest.raises(TypeError, match="callable"):
        world.on_enter("default")(3)
    gone = world.actor(0)
    gone.remove()
    with pytest.raises(bp.errors.UnknownRowError):
        world.on_enter(gone)


@pytest.mark.parametrize("seed", range(4))
def test_handlers_are_told_just_what_the_arrays_say(seed):
    rng = np.random.default_rng(100 + seed)
    world = bp.World(dim=2)
    names = np.array(["ball", "wall", "mud"])
    of_rows = names[rng.integers(0, 3, 60)]
    world.add_many(
        bp.Circle(0.7), rng.uniform(0, 12, (60, 2)), velocities=rng.normal(0, 2, (60, 2)), layer=list(of_rows)
    )
    told = {key: [] for key in ("enter", "stay", "exit")}
    for kind, pairs in told.items():
        getattr(world, f"on_{kind}")("wall", "ball")(
            lambda event, pairs=pairs: pairs.append([event.actor.row, event.other.row])
        )
    for _ in range(30):
        frame = world.step(0.1)
        for kind, pairs in told.items():
            wanted = []
            for one, other in getattr(frame, kind).tolist():
                if of_rows[one] == "wall" and of_rows[other] == "ball":
                    wanted.append([one, other])
                elif of_rows[other] == "wall" and of_rows[one] == "ball":
                    wanted.append([other, one])
            assert pairs == wanted
            pairs.clear()
