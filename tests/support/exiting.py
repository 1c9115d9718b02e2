"""A program that ends while daemon threads are inside calls: `python exiting.py WORKERS [CALL ...]`.

Calls with a plus sign in front are left to a pool and to `atexit` instead. Files are left in the temporary folder, for
whoever runs the program to delete: threads are inside calls until the very end.
"""

import atexit
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import broadphase as bp
from broadphase import scale
from broadphase.index import queries
from broadphase.testing import make_scene
from query_cases import arguments_of

METHODS = tuple(method.name for method in bp.METHODS)
CLASSES = tuple(method.index_class for method in bp.METHODS)
QUERIES = tuple(row.name for row in queries.QUERIES)
OTHERS = (
    *(
        "count_pairs",
        "iter_pairs",
        "batches",
        "periodic",
        "join",
        "overlaps",
        "contacts",
        "clashes",
        "nms",
        "neighbors",
    ),
    *("neighbor list", "step", "step of meshes", "progress", "scale", "first queries at once"),
)
CALLS = (
    *(f"pairs {method}" for method in METHODS),
    *(f"changes {name}" for name in CLASSES),
    *(f"index {name}" for name in QUERIES),
    *OTHERS,
)


CORNERS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
LOWER, UPPER = ("x0", "y0", "z0"), ("x1", "y1", "z1")
FACES = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]


def say(*now: object) -> None:
    """Stand for what users do with the progress of a call."""


def make_call(name: str, workers: int) -> Callable[[], object]:
    """Give a function that runs calls of this name, some milliseconds of them."""
    boxes = make_scene("uniform", 3000)
    points = np.ascontiguousarray(boxes[:, 0])
    if name in OTHERS:
        return make_other(name, workers, boxes, points)
    name, _, what = name.partition(" ")
    if name == "pairs":
        return lambda: bp.pairs(boxes, method=what, workers=workers, sort=True)
    if name == "changes":

        def change() -> None:
            index = getattr(bp, what)(boxes[:2000])
            rows = index.insert(boxes[2000:2200])
            index.pairs(workers=workers)
            index.move(rows, boxes[2200:2400])
            index.query(boxes[:50])
            index.remove(rows)
            index.count_pairs(workers=workers)

        return change
    index = bp.BVH(boxes)
    arguments = arguments_of(boxes, np.ones((len(boxes), 3)))[what]
    return lambda: getattr(index, what)(**arguments, workers=workers)


def make_other(name: str, workers: int, boxes: np.ndarray, points: np.ndarray) -> Callable[[], object]:
    keys = np.arange(len(boxes)) % 7
    span = points.max(axis=0) + 5.0
    if name in {"join", "neighbor list"}:
        grid, near = bp.Grid(boxes), bp.NeighborList(1.5, skin=0.1)
        return (lambda: grid.query(boxes, workers=workers)) if name == "join" else (lambda: near.update(points))
    if name in {"overlaps", "contacts"}:
        placed = bp.Shapes(bp.Sphere(np.full(2000, 0.5)), points[:2000])
        return lambda: getattr(bp, name)(placed)
    if name in {"clashes", "step of meshes"}:
        solid = bp.Mesh(CORNERS, FACES)
        if name == "clashes":
            solids = bp.Shapes([solid] * 200, points[:200])
            return lambda: bp.clashes(solids, clearance=0.1, workers=workers)
    if name in {"step", "step of meshes"}:
        world = bp.World(dim=3, bounds=[[0, 0, 0], [30, 30, 30]], boundary="bounce", workers=workers)
        rng = np.random.default_rng(0)
        shapes = bp.Sphere(np.full(500, 0.5)) if name == "step" else [solid] * 500
        world.add_many(shapes, rng.uniform(1, 29, (500, 3)), velocities=rng.normal(0, 3, (500, 3)))
        world.on_enter(lambda event: None)
        return lambda: world.step(1 / 60)
    if name == "scale":
        folder = Path(tempfile.mkdtemp())
        np.save(folder / "boxes.npy", boxes.reshape(len(boxes), -1))

        def between_files() -> None:
            scale.pairs(
                folder / "boxes.npy",
                output=folder / f"pairs-{time.monotonic_ns()}",
                id=None,
                lower=LOWER,
                upper=UPPER,
                workers=workers,
                progress=say,
            )

        return between_files
    calls = {
        "count_pairs": lambda: bp.count_pairs(boxes, workers=workers),
        "iter_pairs": lambda: list(bp.iter_pairs(boxes, chunk=1000, workers=workers)),
        "batches": lambda: bp.pairs(boxes, batch=keys, workers=workers),
        "periodic": lambda: bp.pairs(boxes, period=span, workers=workers),
        "nms": lambda: bp.nms(boxes, np.linspace(0, 1, len(boxes)), 0.2),
        "neighbors": lambda: bp.neighbors(points, 1.5, cell=span, workers=workers),
        "progress": lambda: bp.pairs(boxes, workers=workers, progress=say),
    }
    if name in calls:
        return calls[name]

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
        try:
            call()
        except RuntimeError as error:
            if "shutdown" not in str(error) and "new thread" not in str(error):
                raise
            time.sleep(60)  # Python starts no threads at its end


def once_each(calls: list[Callable[[], object]]) -> None:
    for call in calls:
        call()


def main(workers: int, names: list[str]) -> None:
    begin = threading.Event()
    late = [make_call(name[1:], workers) for name in names if name.startswith("+")]
    for name in names:
        if not name.startswith("+"):
            threading.Thread(target=repeat, args=(make_call(name, workers), begin), daemon=True).start()
    atexit.register(once_each, late)
    pool = ThreadPoolExecutor(2)  # which Python waits for
    begin.set()
    for call in late:
        pool.submit(once_each, [call] * 5)
    time.sleep(0.2)
    print("ready")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:] or list(CALLS))
