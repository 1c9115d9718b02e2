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


def new_index():
    return bp.Index(BOXES)


def import_package(name):
    return importlib.import_module(f"broadphase.{name}")


# What is called, the name of 0.1 in it, and the name that replaced it.
CALLS = {
    "Answers": (lambda name: getattr(bp, name), "Answers", "QueryResult"),
    "Answers.of": (lambda name: getattr(new_index().query_points([CENTER]), name)(0), "of", "__getitem__"),
    "Answers.questions": (lambda name: getattr(new_index().query(BOXES), name), "questions", "query_rows"),
    "Nearest.index": (lambda name: getattr(new_index().nearest([CENTER]), name)[0], "index", "rows"),
    "Nearest.distance": (lambda name: getattr(new_index().nearest([CENTER]), name), "distance", "distances"),
    "RayHits.index": (lambda name: getattr(new_index().raycast([CENTER], [AHEAD]), name)[0], "index", "rows"),
    "RayHits.distance": (lambda name: getattr(new_index().raycast([CENTER], [AHEAD]), name), "distance", "distances"),
    "SweepHits.index": (lambda name: getattr(new_index().shapecast(BOXES, [AHEAD] * 3), name)[0], "index", "rows"),
    "SweepHits.time": (lambda name: getattr(new_index().shapecast(BOXES, [AHEAD] * 3), name), "time", "times"),
    "Changes.began": (lambda name: getattr(new_index().changes(), name), "began", "enter"),
    "Changes.ended": (lambda name: getattr(new_index().changes(), name), "ended", "exit"),
    "World.dimension": (lambda name: getattr(new_world(), name), "dimension", "dim"),
    "Index.dimension": (lambda name: getattr(new_index(), name), "dimension", "dim"),
    "World.update_filters": (lambda name: getattr(new_world(), name)([]), "update_filters", "set_filters"),
    "Index.update_filters": (lambda name: getattr(new_index(), name)([]), "update_filters", "set_filters"),
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
