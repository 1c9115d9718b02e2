"""Writes to the arrays of a world take effect, whichever rows and whichever views they are made through."""

import weakref

import numpy as np
import pytest

import broadphase as bp
from broadphase.shapes.records import Geometries

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])


@pytest.mark.parametrize("how", ["static", "asleep"])
def test_write_to_a_row_that_steps_do_not_move_takes_effect(how):
    world = bp.World(dim=2)
    wall = world.add(bp.Rectangle(2, 2), position=(0, 0), body_type="static" if how == "static" else "dynamic")
    world.add(bp.Circle(1), position=(50, 0))
    if how == "asleep":
        world.sleep(wall)
    world.step()
    wall.position[0] = 50
    assert world.step().enter.tolist() == [[0, 1]]
    assert world.boxes[0].tolist() == [[49, -1], [51, 1]]
    wall.position[0] = 9
    world.refresh()
    assert world.query_points([(9, 0)]).rows.tolist() == [wall.row]
    assert world.step().exit.tolist() == [[0, 1]]


@pytest.mark.parametrize("name", ["positions", "velocities", "rotations", "angular_velocities"])
@pytest.mark.parametrize("dim", [2, 3])
def test_write_to_a_view_that_the_array_has_outgrown_takes_effect(name, dim):
    world = bp.World(dim=dim)
    ball = bp.Circle(1) if dim == 2 else bp.Sphere(1)
    world.add_many(ball, np.zeros((3, dim)))
    stale = getattr(world, name)
    older = stale[1:2]
    for _ in range(3):
        world.add_many(ball, np.full((40, dim), 9.0))
    stale[0] = 0.25
    older[...] = 0.5
    live = getattr(world, name)
    assert live is not stale
    assert (live[0] == 0.25).all()
    assert (live[1] == 0.5).all()
    world.step(0.0)
    live[0] = 0.75
    world.step(0.0)
    assert (stale[0] == 0.75).all()
    stale[2] = 0.125
    world.step(0.0)
    assert (getattr(world, name)[2] == 0.125).all()
    assert (getattr(world, name)[0] == 0.75).all()
    world.validate()


def test_held_position_of_an_actor_stays_valid_when_the_world_grows():
    world = bp.World(dim=2)
    ball = world.add(bp.Circle(1), position=(0, 0), velocity=(1, 0))
    position = ball.position
    world.add_many(bp.Circle(0.1), np.random.default_rng(0).uniform(20, 90, (500, 2)))
    position += (100, 0)
    world.step(1.0)
    assert ball.position.tolist() == position.tolist() == [101, 0]
    position[1] = -3
    assert bp.World.from_bytes(world.to_bytes()).positions[0].tolist() == [101, -3]


def test_views_that_nobody_holds_are_not_kept():
    world = bp.World(dim=2)
    arrays = []
    for count in range(200):
        world.add(bp.Circle(1), position=(count * 3, 0))
        arrays.append(weakref.ref(world.positions.base))
    _ = world.positions
    alive = {id(array()) for array in arrays if array() is not None}
    assert alive == {id(world.positions.base)}


def test_held_shapes_follow_the_world():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [5, 0]], velocities=[[1, 0], [0, 0]])
    shapes = world.shapes
    for _ in range(3):
        world.step(1.0)
    assert shapes.positions.tolist() == world.positions.tolist()
    world.add_many(bp.Circle(1), [[50, 0]] * 100)
    assert len(shapes) == 102
    assert shapes.positions.tolist()[:2] == [[3, 0], [5, 0]]


# Hulls and meshes ---------------------------------------------------------------------------------------------------


def grid_mesh(number, side=20):
    """Give a mesh of its own of some 400 vertices."""
    x, y = np.meshgrid(np.arange(side, dtype=float), np.arange(side, dtype=float))
    vertices = np.stack([x.ravel(), y.ravel(), np.full(x.size, float(number))], axis=1)
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    return bp.Mesh(vertices, np.stack([corner, corner + 1, corner + side], axis=1))


def test_adding_a_body_does_not_hash_the_meshes_that_are_there(monkeypatch):
    world = bp.World(dim=3)
    for number in range(5):
        world.add(grid_mesh(number), position=(0, 0, 40 * number))
    hashed = []
    content = bp.Mesh.content

    def counted(self):
        hashed.append(self)
        return content.fget(self)

    monkeypatch.setattr(bp.Mesh, "content", property(counted))
    for x in range(10):
        world.add(bp.Sphere(1), position=(x, 500, 0))
    world.remove([5, 6])
    world.step()
    assert not hashed


def test_meshes_of_removed_bodies_are_freed():
    world = bp.World(dim=3)
    empty = len(world.to_bytes())
    for number in range(10):
        world.remove(world.add(grid_mesh(number), position=(0, 0, 0)))
    assert len(world.to_bytes()) < empty + 1000
    kept = world.add(grid_mesh(3), position=(0, 0, 0))
    world.add(grid_mesh(3), position=(99, 0, 0)).remove()
    assert kept.shape == grid_mesh(3)
    kept.shape = grid_mesh(4)
    assert kept.shape == grid_mesh(4)
    loaded = bp.World.from_bytes(world.to_bytes())
    assert loaded.actor(kept.row).shape == grid_mesh(4)
    world.validate()


def test_thousands_of_meshes_that_come_and_go_take_no_memory():
    world = bp.World(dim=3)
    hull = bp.ConvexHull(TETRAHEDRON)
    world.add(hull, position=(0, 0, 0))
    sizes = []
    for number in range(3000):
        actor = world.add(bp.ConvexHull(TETRAHEDRON + number), position=(9, 9, 9))
        actor.remove()
        if number % 500 == 499:
            sizes.append((len(world.to_bytes()), world.stats()["bytes"], world.slots))
    assert len(set(sizes)) == 1


def test_add_that_fails_keeps_no_mesh_and_no_layer():
    world = bp.World(dim=3)
    before = world.to_bytes()
    with pytest.raises(ValueError, match="3 shapes for 2"):
        world.add_many([grid_mesh(1), grid_mesh(2), grid_mesh(3)], np.zeros((2, 3)))
    with pytest.raises(TypeError, match="mask"):
        world.add(grid_mesh(1), position=(0, 0, 0), layer="a", mask=object())
    assert world.to_bytes() == before
    assert world.layer("b") == 2


def test_geometries_reuse_the_numbers_of_dropped_ones():
    known = Geometries()
    hulls = [bp.ConvexHull(TETRAHEDRON * size) for size in (1, 2, 3)]
    numbers = np.array([known.number_of(hull) for hull in hulls])
    known.references = known.counted(used=numbers)
    known.references = known.counted(released=numbers[1:2])
    known.drop_unused()
    assert (1 in known, len(known), bool(known)) == (False, 2, True)
    with pytest.raises(KeyError):
        known[1]
    assert known.number_of(bp.ConvexHull(TETRAHEDRON * 9)) == 1
    assert known.number_of(bp.ConvexHull(TETRAHEDRON * 3)) == 2
    known.drop_unused()
    assert [number for number, _ in known.items()] == [0, 2]


# Actors of loaded worlds --------------------------------------------------------------------------------------------


class Ball(bp.Actor):
    """Counts the bodies that it begins to touch."""

    met = 0

    def on_enter(self, other):
        self.met += 1


def test_classes_of_actors_by_layer_and_by_row_are_given_once():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [1, 0]], layer="ball")
    loaded = bp.World.from_bytes(world.to_bytes(), actors={"ball": Ball, 0: bp.Actor})
    assert [type(loaded.actor(row)) for row in (0, 1)] == [bp.Actor, Ball]
    loaded.step()
    assert loaded.actor(1).met == 1


def test_classes_of_actors_of_an_unknown_layer_are_an_error_that_suggests_the_nearest():
    world = bp.World(dim=2)
    world.add(bp.Circle(1), position=(0, 0), layer="ball")
    with pytest.raises(ValueError, match="did you mean 'ball'"):
        bp.World.from_bytes(world.to_bytes(), actors={"bal": Ball})


@pytest.mark.parametrize("dim", [2, 3])
def test_query_obb_takes_one_number_for_the_size(dim):
    world = bp.World(dim=dim)
    ball = bp.Circle(1) if dim == 2 else bp.Sphere(1)
    world.add_many(ball, np.eye(3)[:, :dim] * 8)
    turn = 0.3 if dim == 2 else [1, 0, 0, 0.1]
    index = bp.BVH(world.boxes)
    found = world.query_obb(np.zeros((1, dim)), half_sizes=8.5, rotations=turn)
    assert found.rows.tolist() == index.query_obb(np.zeros((1, dim)), half_sizes=8.5, rotations=turn).rows.tolist()
    assert len(found.rows) == 3


def test_world_is_one_class_and_hides_its_index():
    assert [one.__name__ for one in bp.World.__mro__] == ["World", "Queries", "object"]
    assert not hasattr(bp.World(), "index")


def test_arrays_that_have_grown_are_kept_only_while_somebody_holds_them():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), np.zeros((20, 2)))
    world.step()
    outgrown = [weakref.ref(world._columns.positions), weakref.ref(world._columns.velocities)]
    held = world.positions
    world.add_many(bp.Circle(1), np.zeros((100, 2)))
    assert [array() is None for array in outgrown] == [False, True]
    held[0] = 5, 5  # takes effect
    assert world.actor(0).position.tolist() == [5, 5]
    del held
    assert outgrown[0]() is None


@pytest.mark.parametrize("name", ["position", "velocity", "rotation", "angular_velocity"])
def test_actor_and_a_view_that_the_array_has_outgrown_write_to_one_body(name):
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), np.zeros((20, 2)))
    older = getattr(world, {"velocity": "velocities", "angular_velocity": "angular_velocities"}.get(name, f"{name}s"))
    world.add_many(bp.Circle(1), np.zeros((100, 2)))
    actor, other = world.actor(3), world.actor(4)
    one, two = ((1.0, 2.0), (3.0, 4.0)) if older.ndim == 2 else (1.0, 2.0)
    older[3] = one
    assert np.array_equal(getattr(actor, name), one)
    older[3], older[4] = two, one
    setattr(actor, name, one)  # later than what was written to the view
    assert np.array_equal(getattr(actor, name), one)
    assert np.array_equal(getattr(other, name), one)
    world.step()
    assert np.array_equal(older[3], one)
    assert np.array_equal(older[4], one)
    older[4] = np.nan
    assert np.isnan(getattr(other, name)).all()
