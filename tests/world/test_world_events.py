"""What an event knows: the two, their contact, how they met, the cell; and that it is one, whoever is named first."""

import numpy as np
import pytest

import broadphase as bp
from handler_histories import world_of


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
        world.remove(2) if 2 in world.rows else None

    @world.on_enter
    def look(event):
        depths.append(event.contact.depth)

    world.step()
    assert depths == [0.5, 0.5]


@pytest.mark.parametrize("border", ["bounce", "wrap"])
def test_event_contacts_are_those_of_the_frame(border):
    rng = np.random.default_rng(8)
    world = bp.World(dim=2, bounds=[[0, 0], [10, 10]], boundary=border)
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
    world.add(bp.Circle(0.1), position=(0, 0), velocity=(1000, 0), layer="bullet", ccd=True)
    world.add(bp.Rectangle(1, 10), position=(50, 0), body_type="static", layer="wall")
    world.add(bp.Rectangle(1, 10), position=(100.3, 0), body_type="static", layer="wall")
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
