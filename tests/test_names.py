"""Each idea has one name: the names of version 0.1 raise, and those that replaced them work."""

import importlib

import numpy as np
import pytest

import broadphase as bp
from broadphase import testing

BOXES = np.array([[[0.0, 0.0], [2.0, 2.0]], [[1.0, 1.0], [3.0, 3.0]], [[9.0, 9.0], [9.0, 9.0]]])
CENTER, AHEAD = (0.0, 0.0), (1.0, 0.0)


def new_world(**options):
    return bp.World(dim=2, **options)


def new_body(**options):
    return new_world().add(bp.Circle(1.0), position=CENTER, **options)


def stepped_body():
    body = new_body()
    body.world.step()
    return body


def new_index():
    return bp.Index(BOXES)


def hear_nothing(world):
    world.on_enter(print)
    return world


def import_package(name):
    return importlib.import_module(f"broadphase.{name}")


# What is called, the name of 0.1 in it, and the name that replaced it.
CALLS = {
    "Answers": (lambda name: getattr(bp.index, name), "Answers", "QueryResult"),
    "Answers.of": (lambda name: getattr(new_index().query_points([CENTER]), name)(0), "of", "__getitem__"),
    "Answers.questions": (lambda name: getattr(new_index().query(BOXES), name), "questions", "query_rows"),
    "Nearest.index": (lambda name: getattr(new_index().nearest([CENTER]), name)[0], "index", "rows"),
    "Nearest.distance": (lambda name: getattr(new_index().nearest([CENTER]), name), "distance", "distances"),
    "RayHits.index": (lambda name: getattr(new_index().raycast([CENTER], [AHEAD]), name)[0], "index", "rows"),
    "RayHits.distance": (lambda name: getattr(new_index().raycast([CENTER], [AHEAD]), name), "distance", "distances"),
    "ShapecastHits.index": (lambda name: getattr(new_index().shapecast(BOXES, [AHEAD] * 3), name)[0], "index", "rows"),
    "ShapecastHits.time": (lambda name: getattr(new_index().shapecast(BOXES, [AHEAD] * 3), name), "time", "times"),
    "Changes.began": (lambda name: getattr(new_index().changes(), name), "began", "enter"),
    "Changes.ended": (lambda name: getattr(new_index().changes(), name), "ended", "exit"),
    "World(border=)": (lambda name: new_world(**{name: "none"}), "border", "boundary"),
    "World.border": (lambda name: getattr(new_world(), name), "border", "boundary"),
    "World.dimension": (lambda name: getattr(new_world(), name), "dimension", "dim"),
    "Index.dimension": (lambda name: getattr(new_index(), name), "dimension", "dim"),
    "World.frame_number": (lambda name: getattr(new_world(), name), "frame_number", "number"),
    "World.off": (lambda name: getattr(hear_nothing(new_world()), name)(print), "off", "remove_handler"),
    "World.at": (lambda name: getattr(new_world(), name)([CENTER]), "at", "query_points"),
    "World.pick": (lambda name: getattr(new_world(), name)(CENTER, AHEAD), "pick", "raycast"),
    "World.hits": (lambda name: getattr(new_world(), name)(CENTER, AHEAD), "hits", "raycast_all"),
    "World.update_filters": (lambda name: getattr(new_world(), name)([]), "update_filters", "set_filters"),
    "Index.update_filters": (lambda name: getattr(new_index(), name)([]), "update_filters", "set_filters"),
    "World.spins": (lambda name: getattr(new_world(), name), "spins", "angular_velocities"),
    "World.kinds": (lambda name: getattr(new_world(), name), "kinds", "body_types"),
    "World.every": (lambda name: getattr(new_world(), name), "every", "update_intervals"),
    "World.fast": (lambda name: getattr(new_world(), name), "fast", "ccd"),
    "add(kind=)": (lambda name: new_body(**{name: "static"}), "kind", "body_type"),
    "add(every=)": (lambda name: new_body(**{name: 2}), "every", "update_interval"),
    "add(fast=)": (lambda name: new_body(**{name: True}), "fast", "ccd"),
    "add(spin=)": (lambda name: new_body(**{name: 1.0}), "spin", "angular_velocity"),
    "Actor.kind": (lambda name: getattr(new_body(), name), "kind", "body_type"),
    "Actor.spin": (lambda name: getattr(new_body(), name), "spin", "angular_velocity"),
    "World.alive": (lambda name: getattr(new_world(), name), "alive", "rows"),
    "World.generations": (lambda name: getattr(new_world(), name), "generations", "handles"),
    "World.query_point": (lambda name: getattr(new_world(), name)([CENTER]), "query_point", "query_points"),
    "World.touching": (lambda name: getattr(new_world(), name), "touching", "pairs"),
    "Frame.touching": (lambda name: getattr(new_world().step(), name), "touching", "pairs"),
    "Actor.touching": (lambda name: getattr(stepped_body(), name)(), "touching", "touched"),
    "Actor.hit": (lambda name: getattr(bp.Actor, name), "hit", "on_enter"),
    "Actor.separated": (lambda name: getattr(bp.Actor, name), "separated", "on_exit"),
    "Budget": (lambda name: bp.Budget(**{name: 0.004}), "milliseconds", "seconds"),
    "broadphase.view": (import_package, "view", "demo"),
    "broadphase.contacts": (import_package, "contacts.narrow", "narrow"),
    "broadphase.convex": (import_package, "convex", "cameras"),
    "broadphase.bench": (import_package, "bench", "testing"),
    "testing.world_oracle": (lambda name: getattr(testing, name), "world_oracle", "oracle"),
}


@pytest.mark.parametrize(("call", "old", "new"), CALLS.values(), ids=CALLS)
def test_name_of_the_first_version_raises_and_its_successor_works(call, old, new):
    with pytest.raises((AttributeError, TypeError, ModuleNotFoundError)):
        call(old)
    call(new)


def test_rectangles_and_boxes_turn_and_axis_aligned_ones_do_not():
    turned = bp.Shapes(bp.Rectangle(2.0, 0.0), [CENTER], [np.pi / 2]).boxes
    assert np.allclose(turned, [[[0.0, -1.0], [0.0, 1.0]]])
    stays = bp.Shapes(bp.AABB((2.0, 0.0)), [CENTER], [np.pi / 2]).boxes
    assert np.allclose(stays, [[[-1.0, 0.0], [1.0, 0.0]]])


def test_index_of_a_world_is_private():
    assert not hasattr(new_world(), "index")
