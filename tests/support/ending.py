"""A program that leaves everything to the end of Python, and lists what that leaves: `python ending.py [leak]`.

Indexes and worlds are in modules, in cycles, in closures, in exceptions and in the frames of generators that wait.
"""

import ctypes
import importlib
import pickle
import sys

import numpy as np

import broadphase as bp
from broadphase.recording import Replay
from broadphase.testing import make_scene

BOXES = make_scene("uniform", 400)
POINTS = np.ascontiguousarray(BOXES[:, 0])
KEPT = []
CORE = importlib.import_module("broadphase._core")


class Ball(bp.Actor):
    """Refers to its world, and to what it has met."""

    def __init__(self, world):
        self.owner, self.met = world, []

    def on_enter(self, other):
        self.met.append(other)


class Disk(bp.CustomShape, dim=2, parameters=("radius",)):
    """A shape of the user's own, whose class refers to an index."""

    index = bp.BVH(BOXES)

    @staticmethod
    def bounds(values):
        corner = np.stack([values["radius"], values["radius"]], axis=1)
        return -corner, corner

    @staticmethod
    def overlaps(disks, others):
        return np.ones(len(disks), bool)


def keep_indexes():
    for make in (getattr(bp, method.index_class) for method in bp.METHODS):
        index = make(BOXES, layer=np.arange(len(BOXES)) % 3 + 1)
        index.move(index.rows[:20], BOXES[:20] + 1)
        index.query(BOXES[:5])
        index.query_ball(POINTS, 1.0)
        if make is bp.BVH:
            KEPT.append(index.changes())
        found = [index, index.query(BOXES), index.pairs(), pickle.loads(pickle.dumps(index))]
        found.append(found)
        KEPT.append(found)


def keep_worlds():
    for dimension, shape in ((2, bp.Circle(0.6)), (3, bp.Sphere(0.6))):
        world = bp.World(dimension, bounds=[[0] * dimension, [10] * dimension], boundary="bounce", method="bvh")
        places = np.random.default_rng(5).uniform(0, 10, (150, dimension))
        world.add_many(shape, places, velocities=places - 5, ccd=[True, False, False] * 50)
        KEPT.append(world.add(shape, position=[5] * dimension, actor=Ball(world)))
        world.on_enter(lambda event, world=world: KEPT.append((event, world)))
        world.on_step(lambda frame, world=world: KEPT.append((frame, world.number)))
        world.step(0.1)
        world.query([[0] * dimension + [9] * dimension])
        world.nearest([[4.0] * dimension], k=3)
        world.step(0.1, budget=bp.Budget(tests=5))
        KEPT.append(bp.World.from_bytes(world.to_bytes()))
        KEPT.append(Replay(world))


def keep_exceptions():
    def fail(event):
        raise KeyError(event)

    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [1, 0]])
    world.on_enter(fail)
    for call in (world.step, lambda: world.move([99], [[0, 0]]), lambda: bp.BVH(BOXES).remove([10**6])):
        try:
            call()
        except Exception as error:
            KEPT.append(error)  # with the frames that it came through
    assert len(KEPT) > 2


def keep_searches():
    chunks = bp.iter_pairs(BOXES, chunk=10, layer=np.arange(len(BOXES)) % 2 + 1)
    next(chunks)
    KEPT.append(chunks)
    found = bp.neighbors(POINTS, 2.0)
    shapes = bp.Shapes(bp.ConvexHull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), POINTS)
    disks = bp.Shapes(Disk(radius=1), [[0, 0], [1, 0]])
    KEPT.extend((disks, bp.overlaps(disks), found, shapes, bp.contacts(shapes), bp.clashes(shapes), KEPT))


def main():
    CORE.set_leak_warnings(True)
    keep_indexes()
    keep_worlds()
    keep_exceptions()
    keep_searches()
    sys.last_value = KEPT  # as the interactive interpreter does
    if "leak" in sys.argv:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(CORE.Guard("nobody gives this back")))
    print(len(KEPT) > 10)


if __name__ == "__main__":
    main()
