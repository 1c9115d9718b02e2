"""Handlers of touches: who is told what, in which order, and that nothing is ever lost or told twice."""

import gc
import weakref

import numpy as np
import pytest

import broadphase as bp
from handler_histories import play


def world_of(*positions, layers=None, **options):
    """Give a world of circles of radius 1."""
    world = bp.World(dim=2, **options)
    for place, position in enumerate(positions):
        world.add(bp.Circle(1), position=position, layer=None if layers is None else layers[place])
    return world


def written(world, *names):
    """Register handlers of all three kinds; give what they write down."""
    log = []
    for kind in ("enter", "stay", "exit"):
        getattr(world, f"on_{kind}")(*names)(
            lambda event: log.append((event.kind, event.actor.handle & 0xFFFF_FFFF, event.other.handle & 0xFFFF_FFFF))
        )
    return log


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

    ball.on_enter(told("any"))
    ball.on_enter("wall")(told("wall"))
    ball.on_enter("mud")(told("mud"))
    ball.on_enter(wall)(told("this wall"))
    world.on_enter("wall", ball)(told("from the wall"))
    world.on_enter(wall, ball)(told("both"))

    @wall.on_enter
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
        def hit(self, other):
            log.append("hook")

    world = bp.World(dim=2)
    one = world.add(bp.Circle(1), position=(0, 0), actor=Loud)
    world.add(bp.Circle(1), position=(0, 0), actor=Loud)
    world.on_enter()(lambda event: log.append("first"))
    one.on_enter(lambda event: log.append("second"))
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


def test_event_has_a_contact_from_actor_to_other():
    world = world_of((0, 0), (1.5, 0), layers=["ball", "wall"])
    events = []
    world.on_enter("wall", "ball")(lambda event: events.append((event, event.contact)))
    world.step(0.25)
    event, contact = events[0]
    assert (event.actor.row, event.other.row, event.number, event.time) == (1, 0, 1, 0.25)
    np.testing.assert_allclose(contact.normal, [-1, 0])
    np.testing.assert_allclose(contact.position, [0.75, 0])
    assert contact.depth == 0.5
    other_way = event.flipped()
    np.testing.assert_allclose(other_way.contact.normal, [1, 0])
    assert "wall" not in repr(event)


def test_events_are_equal_whichever_is_named_first():
    world = world_of((0, 0), (0, 0), (0, 0), layers=["ball", "wall", "wall"])
    events = []
    for names in (("ball", "wall"), ("wall", "ball")):
        world.on_enter(*names)(events.append)
    world.step()
    first, same, second, _ = events  # two of one pair, two of the next
    assert first.actor == same.other
    assert first == same == first.flipped()
    assert hash(first) == hash(same)
    assert first != second
    assert first != "event"
    assert len(set(events)) == 2


def test_event_contact_is_right_after_an_earlier_handler_moved_and_removed():
    world = world_of((0, 0), (1.5, 0), (0, 1.5))
    depths = []

    @world.on_enter
    def meddle(event):
        world.move([0, 1], positions=[[100, 100], [200, 200]])
        world.remove(2) if world.alive[2] else None

    @world.on_enter
    def look(event):
        depths.append(event.contact.depth)

    world.step()
    assert depths == [0.5, 0.5]


@pytest.mark.parametrize("border", ["bounce", "wrap"])
def test_event_contacts_are_those_of_the_frame(border):
    rng = np.random.default_rng(8)
    world = bp.World(dim=2, bounds=[[0, 0], [10, 10]], border=border)
    world.add_many(
        bp.Circle(rng.uniform(0.2, 0.9, 40)), rng.uniform(1, 9, (40, 2)), velocities=rng.normal(0, 2, (40, 2))
    )
    told = []
    for kind in (world.on_enter, world.on_stay):
        kind(lambda event: told.append((event.actor.row, event.other.row, event.contact)))
    for _ in range(20):
        contacts = world.step(0.1).contacts
        assert sorted([one, other] for one, other, _ in told) == contacts.pairs.tolist()
        for one, other, contact in told:
            place = contacts.pairs.tolist().index([one, other])
            assert contact.depth == contacts.depths[place]
            np.testing.assert_array_equal(contact.normal, contacts.normals[place])
            np.testing.assert_array_equal(contact.points, contacts.points[place, : contacts.counts[place]])
        told.clear()


def test_event_of_something_fast_tells_how_it_met_the_other():
    world = bp.World(dim=2)
    world.add(bp.Circle(0.1), position=(0, 0), velocity=(1000, 0), layer="bullet", fast=True)
    world.add(bp.Rectangle(1, 10), position=(50, 0), kind="static", layer="wall")
    world.add(bp.Rectangle(1, 10), position=(100.3, 0), kind="static", layer="wall")
    events = []
    for kind in (world.on_enter, world.on_exit):
        kind("wall", "bullet")(lambda event: events.append((event, event.impact, event.contact, event.normal)))
    world.step(0.1)
    (through, impact, contact, normal), (into, end, touch, _) = events
    assert (through.actor.row, into.actor.row) == (1, 2)
    assert impact.time == pytest.approx(0.494)
    assert end.time == pytest.approx(0.997)
    np.testing.assert_array_equal([impact.normal, normal, end.normal, touch.normal], [[-1, 0]] * 4)
    assert contact is None  # it is past that wall
    np.testing.assert_array_equal(through.flipped().impact.normal, [1, 0])
    events.clear()
    world.step(0.1)
    assert [(event.kind, impact, normal) for event, impact, _, normal in events] == [("exit", None, None)] * 2


def test_event_of_a_sensor_has_no_contact():
    world = bp.World(dim=2)
    world.add(bp.Circle(1), position=(0, 0), sensor=True)
    world.add(bp.Circle(1), position=(1, 0))
    contacts = []
    world.on_enter(lambda event: contacts.append(event.contact))
    world.step()
    assert contacts == [None]


def test_event_contact_not_asked_for_is_gone_with_the_next_step():
    world = world_of((0, 0), (1, 0))
    events = []
    world.on_enter(events.append)
    world.step()
    world.step()
    with pytest.raises(RuntimeError):
        events[0].contact  # noqa: B018


@pytest.mark.parametrize("method", ["octree", "linear_tree", "auto"])
def test_event_names_the_cell_of_methods_that_have_cells(method):
    world = world_of((0, 0), (1, 0), (50, 50), method=method)
    cells = []
    world.on_enter(lambda event: cells.append((event.cell, event.flipped().cell)))
    world.step()
    cell, same = cells[0]
    assert cell == same
    assert (cell is None) == (method == "auto")


def test_handlers_hear_of_the_end_of_the_removed():
    world = world_of((0, 0), (0, 0), layers=["ball", "wall"])
    log = written(world, "ball", "wall")
    by_actor = []
    world.actor(0).on_exit("wall")(lambda event: by_actor.append((event.actor.alive, event.other.alive, event.contact)))
    world.step()
    world.remove(0)
    world.add(bp.Circle(1), position=(0, 0), layer="wall")  # in the same row
    world.step()
    assert log == [("enter", 0, 1), ("exit", 0, 1)]
    assert by_actor == [(False, True, None)]


def test_handlers_hear_of_the_end_of_what_left_over_the_border():
    class Leaf(bp.Actor):
        parted = 0

        def separated(self, other):
            self.parted += 1

    world = bp.World(dim=2, bounds=[[0, 0], [10, 10]], border="remove")
    leaf = world.add(bp.Circle(1), position=(10.2, 5), velocity=(1, 0), actor=Leaf, data="leaf")
    stone = world.add(bp.Circle(1), position=(9, 5))
    ends = []
    stone.on_exit(lambda event: ends.append((event.other.data, event.other.alive)))
    world.step()
    world.step(5.0)
    assert not leaf.alive
    world.step()
    assert ends == [("leaf", False)]
    assert leaf.parted == 1
    assert not world._actors


def test_handlers_keep_to_a_pair_whose_layers_change():
    world = world_of((0, 0), (0, 0), layers=["ball", "wall"])
    log = written(world, "ball", "wall")
    by_actor = []
    world.actor(1).on_exit("ball")(by_actor.append)
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
    world.actor(0).on_exit("wall")(by_actor.append)
    world.positions[0] = 9, 9
    world.step()
    assert log == [("exit", 1, 0)]
    assert len(by_actor) == 1


def test_handlers_may_add_remove_move_and_register():
    world = world_of((0, 0), (0, 0))
    later = []

    @world.on_enter
    def meddle(event):
        event.actor.remove()
        world.add(bp.Circle(1), position=(50, 50))
        event.other.position = (50, 51)
        world.on_enter()(lambda event: later.append((event.actor.row, event.other.row)))
        world.off(meddle)

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
    with pytest.raises(RuntimeError, match="called by a handler"):
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
    assert len(world._handlers._queue) <= 3


def test_off_ends_all_registrations_at_once():
    world = world_of((0, 0), (0, 0), (0, 0))
    calls = []

    def handler(event):
        calls.append(event)
        assert world.off(handler) == 3

    world.on_enter(handler)
    world.on_exit("default", "default")(handler)
    world.actor(2).on_enter(handler)
    world.step()
    assert len(calls) == 1
    assert world.off(handler) == 0
    assert not world._handlers._by_actor
    assert not world._handlers._by_layers


def test_handlers_refuse_what_cannot_be_called():
    world = world_of((0, 0))
    with pytest.raises(TypeError, match="callable"):
        world.on_enter("default")(3)
    gone = world.actor(0)
    gone.remove()
    with pytest.raises(bp.UnknownRowError):
        world.on_enter(gone)


def test_handlers_of_removed_actors_are_let_go():
    world = world_of((0, 0), (0, 0))
    actor = world.actor(0)
    ends = []
    actor.on_exit(ends.append)
    world.step()
    actor.remove()
    for _ in range(4):
        world.step()
    assert len(ends) == 1
    assert not world._handlers._by_actor


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
    world.off(changes)
    frame = world.step()
    assert len(ends) == len(frame.exit) == 10
    assert len(frame.enter) == 21 * 20 // 2


def test_world_that_nobody_holds_is_let_go_with_its_handlers_and_actors():
    class Loud(bp.Actor):
        def hit(self, other):
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
        def separated(self, other):
            pass

    world, rng = bp.World(dim=2), np.random.default_rng(0)
    world.on_exit("default", "default")(lambda event: None)
    world.on_stay("default")(lambda event: event.other.handle)
    for _ in range(300):
        spark = world.add(bp.Circle(1), position=rng.uniform(0, 4, 2), actor=Spark)
        spark.on_enter(lambda event: None)
        if len(world) > 10:
            world.remove(rng.choice(world.rows, 2, replace=False))
        world.step()
    del spark
    gc.collect()
    kept = 11 + 2 * 3  # the living, and those that left in the last steps
    assert len(world._actors._seen) <= kept
    assert len(world._actors._held) == len(world)
    assert len(world._handlers._by_actor) <= kept
    (exits, stays) = world._handlers._by_layers.values()
    assert len(exits._keys) == len(stays._keys) == len(world.touching)


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
