"""Defects of worlds that were found once: each test failed before its defect was mended."""

import time

import numpy as np
import pytest

import broadphase as bp


def world_with(*positions, **options):
    world = bp.World(dim=2, **options)
    for position in positions:
        world.add(bp.Circle(1.0), position=position)
    return world


def mesh_of(count, seed=0):
    rng = np.random.default_rng(seed)
    return bp.Mesh(rng.random((count, 3)), rng.integers(0, count, (count, 3)))


def seconds_to_add(world, count=20):
    def add():
        begin = time.thread_time()
        world.add(bp.Sphere(0.1), position=(9.0, 9.0, 9.0))
        return time.thread_time() - begin

    return min(add() for _ in range(count))


def test_add_with_large_meshes_in_the_world_does_not_read_them_again():
    empty, full = bp.World(dim=3), bp.World(dim=3)
    for seed in range(20):
        full.add(mesh_of(20_000, seed), position=(0.0, 0.0, 0.0), body_type="static")
    assert seconds_to_add(full) < 5 * seconds_to_add(empty) + 0.0005


def test_geometries_of_removed_bodies_are_freed():
    world = bp.World(dim=3)
    bodies = [world.add(mesh_of(500, seed), position=(0.0, 0.0, 0.0)) for seed in range(10)]
    assert len(world.to_bytes()) > 50_000
    for body in bodies:
        body.remove()
    world.step()
    assert len(world.to_bytes()) < len(bp.World(dim=3).to_bytes()) + 5_000


class Ball(bp.Actor):
    hits = 0

    def on_enter(self, other):
        self.hits += 1


def test_loaded_world_with_actor_classes_can_step():
    world = bp.World(dim=2)
    world.add(bp.Circle(1.0), position=(0, 0), layer="ball", actor=Ball)
    world.add(bp.Circle(1.0), position=(5, 0), layer="ball", actor=Ball)
    world.step()
    data = world.to_bytes()
    loaded = bp.World.from_bytes(data, actors={"ball": Ball})
    loaded.positions[1] = [1, 0]
    assert loaded.step().enter.tolist() == [[0, 1]]
    assert loaded.actor(0).hits == 1


def test_index_of_a_world_cannot_be_changed_from_outside():
    world = world_with((0, 0), (1, 0))
    world.step()
    index = getattr(world, "index", None)
    if index is not None:
        with pytest.raises((AttributeError, TypeError, ValueError, RuntimeError)):
            index.remove([0])
    assert world.step().pairs.tolist() == [[0, 1]]


@pytest.mark.parametrize("write", ["world", "actor"])
def test_writes_to_arrays_held_over_growth_take_effect_or_raise(write):
    world = world_with((0, 0))
    held = world.positions if write == "world" else world.actor(0).position
    world.add_many(bp.Circle(1.0), np.full((5000, 2), 100.0))
    row = held[0] if write == "world" else held
    try:
        row[:] = 50.0
    except ValueError:
        return  # refused: read-only, or no longer the world's array
    assert world.positions[0].tolist() == [50.0, 50.0]


def test_written_position_of_a_static_body_is_seen_or_refused():
    world = bp.World(dim=2)
    wall = world.add(bp.Rectangle(1, 1), position=(0, 0), body_type="static")
    world.step()
    try:
        wall.position[0] = 50.0
    except ValueError:
        return
    world.step()
    assert world.query_points([[50.0, 0.0]]).rows.tolist() == [0]


def test_contacts_of_the_last_frame_outlive_a_step_that_fails():
    world = world_with((0, 0), (1, 0))
    frame = world.step()
    world.positions[0] = [np.nan, 0.0]
    with pytest.raises(ValueError, match="not finite"):
        world.step()
    assert len(frame.contacts.pairs) == 1


def test_bodies_that_left_stay_when_the_step_fails():
    world = world_with((0, 0), (9, 9), bounds=[[0, 0], [10, 10]], boundary="remove")
    world.step()
    world.positions[0] = [50.0, 50.0]
    world.positions[1] = [np.nan, 0.0]
    with pytest.raises(ValueError, match="not finite"):
        world.step()
    assert world.rows.tolist() == [0, 1]
    world.positions[1] = [9.0, 9.0]
    assert world.step().removed.tolist() == [0]


def test_frame_of_a_step_whose_result_was_dropped_is_kept():
    world = world_with((0, 0), (1, 0))
    world.step()
    assert world.frame is not None
    assert world.frame.pairs.tolist() == [[0, 1]]


def test_refused_add_leaves_no_layer_behind():
    world = bp.World(dim=2)
    with pytest.raises((TypeError, ValueError)):
        world.add(bp.Circle(1.0), position=(0, 0), layer="a", mask=object())
    assert len(world) == 0
    with pytest.raises((KeyError, ValueError), match="'a'"):
        world.on_enter("a")


def test_handler_for_a_misspelt_layer_is_refused():
    world = bp.World(dim=2)
    world.add(bp.Circle(1.0), position=(0, 0), layer="ball")
    with pytest.raises((KeyError, ValueError), match=r"unknown layer 'bal' \(did you mean 'ball'\?\)"):
        world.on_enter("bal")


def test_world_and_index_take_one_half_size_for_all_oriented_boxes():
    world = world_with((0, 0), (20, 0))
    index = bp.Index(world.boxes)
    assert world.query_obb([[0.0, 0.0]], 5.0, [0.0]).rows.tolist() == [0]
    assert index.query_obb([[0.0, 0.0]], 5.0, [0.0]).rows.tolist() == [0]


@pytest.mark.parametrize("dim", [2, 3])
def test_oriented_box_query_of_a_world_by_matrix_finds_what_an_index_finds(dim):
    turn = np.eye(dim)
    turn[:2, :2] = [[0.8, -0.6], [0.6, 0.8]]
    at = np.random.default_rng(dim).uniform(-5, 5, (200, dim))
    world = bp.World(dim=dim)
    world.add_many(bp.AABB(np.full(dim, 0.5)), at)
    query = (np.zeros((1, dim)), [4.0, 0.5, 2.0][:dim], turn)
    expected = bp.BVH(world.boxes).query_obb(*query).rows
    assert len(expected) > 0
    assert np.array_equal(world.query_obb(*query).rows, expected)


@pytest.mark.parametrize("boundary", ["bounce", "wrap"])
def test_body_that_crosses_the_world_too_often_does_not_stop_one_that_is_followed(boundary):
    world = bp.World(dim=2, bounds=[[0, 0], [10, 10]], boundary=boundary)
    world.add(bp.Circle(0.5), position=(3, 1), velocity=(0, 1e9))
    world.add(bp.Circle(0.1), position=(1, 1), velocity=(8, 0), ccd=True)
    world.add(bp.AABB((0.1, 1.0)), position=(5, 1), body_type="static")
    assert [1, 2] in world.step(1.0).enter.tolist()


def test_position_none_is_named():
    world = bp.World(dim=2)
    with pytest.raises(TypeError, match="position must be numbers"):
        world.add(bp.Circle(0.5), position=None)
    assert len(world) == 0
