"""Bodies that come and go one by one: as those of calls that take many, whatever the world has."""

import copy

import numpy as np
import pytest

import broadphase as bp
from broadphase.world.columns import COLUMNS

NAMES = ["ball", "wall", "mud"]


class Loud(bp.Actor):
    """Has hooks."""

    heard = 0

    def on_enter(self, other):
        self.heard += 1

    def on_exit(self, other):
        self.heard += 1


def shape_of(rng, dim):
    size = float(rng.uniform(0.2, 1.5))
    if dim == 2:
        return [bp.Circle(size), bp.Rectangle(size, 1), bp.AABB(1, size), bp.Capsule((0, 0), (size, 1), 1), bp.Point(),
                bp.ConvexPolygon([[0, 0], [size, 0], [size, 1], [0, 1]]), bp.Compound([bp.Circle(size), bp.AABB(1, 2)]),
                ][rng.integers(0, 7)]  # fmt: skip
    hull = bp.ConvexHull(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, size]]))
    return [bp.Sphere(size), bp.Box(size, 1, 1), bp.AABB(1, size, 1), bp.Segment((0, 0, 0), (size, 1, 0)), hull,
            bp.Sphere(size, offset=(1, 0, 0))][rng.integers(0, 6 if rng.random() < 0.3 else 4)]  # fmt: skip


def options_of(rng, dim, is_bounded):
    """Options of one body, as `World.add` takes them."""
    given = {"position": rng.uniform(1, 11, dim)}
    if rng.random() < 0.4:
        given["position"] = tuple(given["position"].tolist())
    if rng.random() < 0.5:
        given["velocity"] = rng.normal(0, 3, dim).tolist()
    if rng.random() < 0.2:
        given["rotation"] = float(rng.normal()) if dim == 2 else rng.normal(size=4)
    if rng.random() < 0.1:
        given["angular_velocity"] = float(rng.normal()) if dim == 2 else rng.normal(size=3).tolist()
    if rng.random() < 0.4:
        given["layer"] = [NAMES[0], NAMES[1], {"ball", "mud"}, 6, 0, -1][rng.integers(0, 6)]
    if rng.random() < 0.2:
        given["mask"] = ["wall", "all", {"ball", "mud", "default"}, 7, 0][rng.integers(0, 5)]
    if rng.random() < 0.2:
        given["body_type"] = ["static", "kinematic", "dynamic"][rng.integers(0, 3)]
    for name, values in (("group", [-1, 0, 2]), ("sensor", [True, False]), ("ccd", [True, False]),
                         ("update_interval", [1, 3]), ("batch", [0, 0, 5])):  # fmt: skip
        if rng.random() < 0.07:
            given[name] = values[rng.integers(0, len(values))]
    if is_bounded and rng.random() < 0.1:
        given["boundary"] = ["none", "bounce", "remove"][rng.integers(0, 3)]
    return given


PLURALS = {
    "position": "positions", "velocity": "velocities", "rotation": "rotations", "angular_velocity": "angular_velocities"
}  # fmt: skip


def add_as_many(world, shape, actor=bp.Actor, data=None, **given):
    """Add one body by the call that takes many."""
    many = {PLURALS.get(name, name): [value] if name in PLURALS else value for name, value in given.items()}
    return world.add_many([shape], **many, data=[data], actor=actor)[0]


@pytest.mark.parametrize("seed", range(24))
def test_random_histories_of_single_bodies_are_those_of_many(seed):
    rng = np.random.default_rng(seed)
    dim, is_bounded = 2 + seed % 2, seed % 3 > 0
    options = {"method": ["auto", "octree", "bvh"][seed // 2 % 3]}
    if is_bounded:
        options |= {"bounds": [[0] * dim, [12] * dim], "boundary": ["none", "bounce", "remove", "wrap"][seed % 4]}
    one, many = (bp.World(dim, **options) for _ in range(2))
    for world in (one, many):
        for name in NAMES:
            world.layer(name)
    if seed % 5 == 0:
        shown = one.shapes, many.shapes  # views, which follow
        assert [len(view) for view in shown] == [0, 0]
    for step in range(150):
        wish = rng.random()
        if wish < 0.55 or len(one) < 3:
            shape, given = shape_of(rng, dim), options_of(rng, dim, is_bounded and seed % 4 != 3)
            actor = Loud if rng.random() < 0.2 else bp.Actor
            data = "data" if rng.random() < 0.2 else None
            made = one.add(shape, **given, actor=actor, data=data)
            assert made.row == add_as_many(many, shape, actor, data, **given)
            assert type(made) is actor
            assert one.actor(made.row) is made
        elif wish < 0.85:
            row = int(rng.choice(one.rows))
            how = rng.integers(0, 4)
            if how == 0:
                assert one.actor(row).remove() is True
            else:
                one.remove([row, [row], one.actor(row)][how - 1])
            many.remove(np.array([row]))
        elif wish < 0.9:
            pair = rng.choice(one.rows, 2, replace=False)
            one.ignore(pair)
            many.ignore(pair)
        elif wish < 0.95:
            rows = rng.choice(one.rows, 2)
            one.sleep(rows)
            many.sleep(rows)
        else:
            box = [[0] * dim + [6] * dim]
            np.testing.assert_array_equal(one.query(box).rows, many.query(box).rows)
        if step % 4 == 0:
            frame, other = one.step(0.05), many.step(0.05)
            for name in ("enter", "stay", "exit", "exit_handles", "removed"):
                np.testing.assert_array_equal(getattr(frame, name), getattr(other, name))
            held = frame.contacts if rng.random() < 0.5 else None
            if held is not None:
                np.testing.assert_array_equal(held.depths, other.contacts.depths)
        assert one.to_bytes() == many.to_bytes()
        assert one._actors._counts == many._actors._counts
    np.testing.assert_array_equal(one.boxes[one.rows], many.boxes[many.rows])
    one.validate()
    many.validate()
    heard = [[actor.heard for actor in map(world.actor, world.rows.tolist()) if type(actor) is Loud]
             for world in (one, many)]  # fmt: skip
    assert heard[0] == heard[1]


WRONG = [
    ({"position": (1, np.nan)}, ValueError, "position: row 0 is not finite"),
    ({"position": (1, 1e41)}, ValueError, "position: row 0 is not finite, or beyond 1e"),
    ({"position": (1, 2, 3)}, ValueError, "position must have shape"),
    ({"position": "here"}, TypeError, "position must be numbers"),
    ({"velocity": (np.inf, 0)}, ValueError, "velocities: row 0 is not finite"),
    ({"velocity": 3}, ValueError, "velocities must have shape"),
    ({"rotation": np.nan}, ValueError, "rotations: row 0 is not finite"),
    ({"angular_velocity": np.inf}, ValueError, "angular_velocities: row 0 is not finite"),
    ({"body_type": "stat"}, ValueError, "unknown body_type 'stat'"),
    ({"boundary": "bounce"}, ValueError, "needs the bounds of the world"),
    ({"boundary": "bonce"}, ValueError, "unknown boundary 'bonce'"),
    ({"mask": "heros"}, ValueError, "mask: unknown layer 'heros'"),
    ({"mask": 2.5}, TypeError, "mask"),
    ({"layer": 1 << 64}, ValueError, "layer"),
    ({"group": 1.5}, TypeError, "group must be whole numbers"),
    ({"group": 1 << 63}, ValueError, "group"),
    ({"sensor": 1}, TypeError, "sensor must be True or False"),
    ({"ccd": None}, TypeError, "ccd must be True or False"),
    ({"update_interval": 0}, ValueError, "update_interval must lie between 1 and"),
    ({"batch": "a"}, TypeError, "batch must be whole numbers"),
    ({"shape": bp.Sphere(1)}, ValueError, "a Sphere of 3 dimensions, where 2 are needed"),
    ({"shape": bp.Circle([1, 2])}, ValueError, "2 shapes for 1 positions"),
    ({"shape": "ball"}, TypeError, "shapes"),
]


@pytest.mark.parametrize(("given", "error", "message"), WRONG, ids=[str(one[0])[:40] for one in WRONG])
@pytest.mark.parametrize("is_rich", [False, True])
def test_body_that_is_refused_changes_nothing(given, error, message, is_rich):
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [1, 0], [2, 0]])
    if is_rich:  # all columns are there
        world.add(bp.Circle(1), position=(9, 9), layer="ball", mask="ball", group=1, sensor=True, ccd=True,
                  update_interval=2, batch=1, rotation=1.0, angular_velocity=1.0)  # fmt: skip
        world.query_points([[0, 0]])
    frame = world.step()
    world.remove(0)
    before = world.to_bytes()
    with pytest.raises(error, match=message):
        world.add(**({"shape": bp.Circle(1), "position": (0, 0), "actor": Loud} | given))
    assert world.to_bytes() == before
    assert len(frame.contacts.pairs) == 3
    assert world.add(bp.Circle(1), position=(0, 0)).row == 0
    world.validate()


def test_contacts_of_a_held_frame_are_those_of_the_shapes_that_were_there():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [1, 0]])
    frame, other = world.step(), copy.copy(world).step()
    world.remove(1)
    world.add(bp.Circle(0.1), position=(7, 7))
    np.testing.assert_array_equal(frame.contacts.depths, [1.0])
    assert other.stay.tolist() == [[0, 1]]


@pytest.mark.parametrize("rows", [-1, 2, 1 << 31, 1 << 70, [5], True, 0.0])
def test_row_that_is_no_single_row_in_use_is_refused_as_before(rows):
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [1, 0]])
    before = world.to_bytes()
    with pytest.raises((bp.errors.UnknownRowError, TypeError)):
        world.remove(rows)
    assert world.to_bytes() == before


def test_ints_of_numpy_and_zero_dimensional_arrays_name_a_row():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), np.zeros((3, 2)))
    world.remove(np.int32(1))
    world.remove(np.array(2))
    world.remove([0])
    assert len(world) == 0


def test_actor_whose_own_data_was_set_before_keeps_it():
    class Named(bp.Actor):
        def __init__(self):
            self.data = "own"

    world = bp.World(dim=2)
    assert world.add(bp.Circle(1), position=(0, 0), actor=Named).data == "own"
    assert world.add(bp.Circle(1), position=(0, 0), actor=Named, data="given").data == "given"


@pytest.mark.parametrize("radius", [0, 0.0, 3, 1e40, 2.5])
def test_disc_of_one_number_is_as_that_of_an_array_of_one(radius):
    for kind in (bp.Circle, bp.Sphere):
        one, other = kind(radius), kind(np.array([radius]))[0]
        assert one == other
        assert repr(one) == repr(other)
        assert one.records(one.dim).tobytes() == other.records(one.dim).tobytes()
        assert not one.records(one.dim).flags.writeable
        assert isinstance(one.radius, float)


@pytest.mark.parametrize("radius", [-1, -1e-300, float("nan"), float("inf"), 2e40])
def test_disc_of_no_size_is_refused(radius):
    with pytest.raises(ValueError, match="radius"):
        bp.Circle(radius)


@pytest.mark.parametrize("kind", ["static", "asleep"])
@pytest.mark.parametrize("place", [(5.0, 6.0), [5, 6], np.array([5.0, 6.0]), np.array([5, 6], np.int32)])
def test_position_of_a_body_that_steps_do_not_move_is_seen_at_once(kind, place):
    world = bp.World(dim=2)
    body = world.add(bp.Circle(1), position=(0, 0), body_type="static" if kind == "static" else "dynamic")
    world.add(bp.Circle(1), position=(5, 6))
    if kind == "asleep":
        world.sleep(body)
    world.step()
    body.position = place
    assert world.query_points([[5, 6]])[0].tolist() == [0, 1]
    assert world.step().enter.tolist() == [[0, 1]]
    before = world.to_bytes()
    for wrong in ((np.nan, 1), (1e41, 1), (1, 2, 3), "here", (1, "a")):
        with pytest.raises((ValueError, TypeError)):
            body.position = wrong
    assert world.to_bytes() == before
    world.validate()


def test_position_of_a_static_body_cannot_be_written_while_the_world_is_queried():
    world = bp.World(dim=2)
    body = world.add(bp.Circle(1), position=(0, 0), body_type="static")
    with world._guard.reading, pytest.raises(RuntimeError, match="cannot modify the world"):
        body.position = (1, 1)
    assert body.position.tolist() == [0, 0]


@pytest.mark.parametrize("value", [0.5, np.float64(0.5), 1, np.array(0.5), np.float32(0.5)])
def test_rotation_in_the_plane_takes_any_number(value):
    world = bp.World(dim=2)
    body = world.add(bp.Rectangle(4, 1), position=(0, 0))
    body.rotation = value
    body.angular_velocity = value
    assert body.rotation == body.angular_velocity == float(value)
    for wrong in (np.nan, np.inf, (1, 2), "a", None):
        with pytest.raises((ValueError, TypeError)):
            body.rotation = wrong
    assert body.rotation == float(value)


def test_single_bodies_get_a_value_in_every_column():
    """Each is written by core/bindings/bodies.hpp: a further one has to be written there, too."""
    assert {*COLUMNS} == {
        *("positions", "velocities", "seen_positions", "body_types", "rotations", "seen_rotations"),
        *("angular_velocities", "layer", "mask", "boundaries", "groups", "sensors", "ccd", "update_intervals"),
        *("asleep", "batches"),
    }
    assert [one.argument for one in COLUMNS.values() if one.argument] == [
        *("group", "sensor", "ccd", "update_interval", "batch"),
    ]
