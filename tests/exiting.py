"""A program that ends while daemon threads are inside calls: `python exiting.py WORKERS [CALL ...]`."""

import sys
import threading
import time
from collections.abc import Callable

import numpy as np

import broadphase as bp
from broadphase.testing import make_scene

METHODS = ("brute_force", "sweep_and_prune", "grid", "linear_tree", "bvh", "octree")
CLASSES = ("BVH", "Octree", "LinearTree", "SweepAndPrune", "Grid", "BruteForce")
QUERIES = ("query", "query_ball", "nearest", "raycast", "raycast_any", "raycast_all", "query_obb")
OTHERS = ("count_pairs", "iter_pairs", "join", "overlaps", "contacts", "step", "first queries at once")
CALLS = (
    *(f"pairs {method}" for method in METHODS),
    *(f"changes {name}" for name in CLASSES),
    *(f"index {name}" for name in QUERIES),
    *OTHERS,
)


def make_call(name: str, workers: int) -> Callable[[], object]:
    """Give a function that runs calls of this name, some milliseconds of them."""
    boxes = make_scene("uniform", 3000)
    points = np.ascontiguousarray(boxes[:, 0])
    name, _, what = name.partition(" ")
    if name == "pairs":
        return lambda: bp.pairs(boxes, method=what, workers=workers, sort=True)
    if name == "changes":

        def change() -> None:
            index = getattr(bp, what)(boxes[:2000])
            rows = index.insert(boxes[2000:2200])
            index.pairs(workers=workers)
            index.update(boxes[2200:2400], rows)
            index.query(boxes[:50])
            index.remove(rows)
            index.count_pairs(workers=workers)

        return change
    if name == "index":
        index = bp.BVH(boxes)
        arguments = {
            "query": (boxes,),
            "query_ball": (points, 1.0),
            "nearest": (points, 3),
            "query_obb": (points, [1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]),
        }.get(what, (points, np.ones(3)))
        return lambda: getattr(index, what)(*arguments, workers=workers)
    if name == "count_pairs":
        return lambda: bp.count_pairs(boxes, workers=workers)
    if name == "iter_pairs":
        return lambda: list(bp.iter_pairs(boxes, chunk=1000, workers=workers))
    if name == "join":
        grid = bp.Grid(boxes)
        return lambda: grid.query(boxes, workers=workers)
    if name in {"overlaps", "contacts"}:
        placed = bp.Shapes(bp.Sphere(np.full(2000, 0.5)), points[:2000])
        return lambda: getattr(bp, name)(placed)
    if name == "step":
        world = bp.World(dim=3, bounds=[[0, 0, 0], [30, 30, 30]], boundary="bounce")
        rng = np.random.default_rng(0)
        world.add_many(
            bp.Sphere(np.full(500, 0.5)), rng.uniform(1, 29, (500, 3)), velocities=rng.normal(0, 3, (500, 3))
        )
        return lambda: world.step(1 / 60)

    def query_first() -> None:
        index = bp.BVH(boxes)
        others = [threading.Thread(target=index.query, args=(boxes[:1],), daemon=True) for _ in range(2)]
        for other in others:
            other.start()
        index.query(boxes[:1])

    return query_first


def repeat(call: Callable[[], object], begin: threading.Event) -> None:
    begin.wait()
    while True:
        call()


def main(workers: int, names: list[str]) -> None:
    begin = threading.Event()
    for name in names:
        threading.Thread(target=repeat, args=(make_call(name, workers), begin), daemon=True).start()
    begin.set()
    time.sleep(0.2)
    print("ready")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:] or list(CALLS))
