"""A program that gives work to processes: `python spawned.py spawn|forkserver|fork`. Prints what differs, then "done".

Indexes, worlds, shapes, lists of neighbours, results and errors travel both ways; both sides must answer alike.
"""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import broadphase as bp
from broadphase.testing import make_scene

BOXES = make_scene("uniform", 2000)
POINTS = np.ascontiguousarray(BOXES[:, 0])
INDEXES = tuple(getattr(bp, method.index_class) for method in bp.METHODS)


def make_world():
    world = bp.World(dim=3, bounds=[[0, 0, 0], [30, 30, 30]], boundary="bounce", workers=2)
    rng = np.random.default_rng(3)
    world.add_many(bp.Sphere(0.8), rng.uniform(1, 29, (300, 3)), velocities=rng.normal(0, 5, (300, 3)), layer=3)
    world.add(bp.ConvexHull(BOXES[:8, 0]), position=[9, 9, 9])
    world.step(0.1)
    return world


def answers(thing):
    """Ask what a thing can be asked, as arrays."""
    if isinstance(thing, bp.World):
        frames = [thing.step(0.1) for _ in range(5)]
        return [array for frame in frames for array in (frame.enter, frame.exit, frame.pairs)]
    if isinstance(thing, bp.index.BoxIndex):
        thing.move(np.arange(50), BOXES[:50] + 1)
        return [thing.pairs(workers=2, sort=True), thing.query(BOXES[:20]).rows, thing.rows]
    if isinstance(thing, bp.NeighborList):
        return list(thing.update(POINTS).pairs.T)
    if isinstance(thing, bp.Shapes):
        return [bp.overlaps(thing)]
    return [np.asarray(part) for part in thing]


def work(name):
    return {
        "pairs": lambda: bp.pairs(BOXES, workers=2, sort=True),
        "neighbors": lambda: bp.neighbors(POINTS, 1.5, distances=True),
        "contacts": lambda: tuple(bp.contacts(bp.Shapes(bp.Sphere(0.8), POINTS[:400]))),
    }[name]()


def fail(number):
    """Raise an error of ours in the process."""
    FAILURES[number]()


FAILURES = (
    lambda: bp.pairs([[0, 0, 1, 1], [3, 0, 1, 1]]),
    lambda: bp.pairs(BOXES, max_pairs=1),
    lambda: bp.BVH(BOXES).remove([5000]),
    lambda: bp.pairs(BOXES, method="grd"),
    lambda: bp.Grid(BOXES).raycast([[0, 0, 0]], [[1, 0, 0]]),
    lambda: bp.World.from_bytes(b"no snapshot"),
)


def things():
    yield from (kind(BOXES) for kind in INDEXES)
    yield bp.NeighborList(1.5, skin=0.2)
    yield bp.Shapes(bp.Sphere(0.8), POINTS[:400])
    yield make_world()


def same(first, second):
    return len(first) == len(second) and all(
        one.dtype == other.dtype and one.tobytes() == other.tobytes()
        for one, other in zip(map(np.asarray, first), map(np.asarray, second), strict=True)
    )


def parts(result):
    return [result] if isinstance(result, np.ndarray) else [part for part in result if part is not None]


def error_of(number):
    try:
        fail(number)
    except Exception as error:
        return error


def main(method):
    context = multiprocessing.get_context(method)
    bp.pairs(BOXES, workers=2)  # threads, before processes are made
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        sent = list(things())
        for thing, answer in zip(sent, pool.map(answers, sent), strict=True):
            if not same(answers(thing), answer):
                print(type(thing).__name__, "answers otherwise in a process")
        for name in ("pairs", "neighbors", "contacts"):
            mine, found = work(name), pool.submit(work, name).result()
            if type(mine) is not type(found) or not same(parts(mine), parts(found)):
                print(name, "is another in a process")
        for number in range(len(FAILURES)):
            own, error = error_of(number), pool.submit(fail, number).exception()
            if (type(error), str(error), getattr(error, "row", None)) != (
                type(own),
                str(own),
                getattr(own, "row", None),
            ):
                print(repr(own), "is", repr(error), "from a process")
    print("done")


if __name__ == "__main__":
    main(sys.argv[1])
