"""Calls whose array arguments are written meanwhile: `python written_inputs.py SECONDS FIRST [NAME ...]`; see `main`.

Each array lies in memory that a second process shares and writes to without a lock, so that a call meets the writes at
any moment, whether it holds the GIL or not, as it would meet those of a thread of Python without the GIL. Arrays that a
world hands out are written by a thread. Whatever the call answers or raises is right, as long as the process survives
and the call ends.
"""

import contextlib
import functools
import itertools
import mmap
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings

import numpy as np

import broadphase as bp
from broadphase import boxes as box_functions, io
from broadphase.index.queries import QUERIES
from public_calls import calls as public_calls
from query_cases import arguments_of
from shape_cases import ARGUMENTS, RECORDED, Rows

FOLDER = pathlib.Path(tempfile.mkdtemp())
GARBAGE = {
    "f": (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, -0.0, 1e30, -3.0),
    "i": (-1, 0, 1, 2**31 - 1, -(2**31), 2**62, -(2**62), 10**9, 7),
    "u": (0, 1, 2**64 - 1, 2**63, 255, 7),
    "b": (0, 1, 2, 255),
}


def shared(values):
    """Copy an array to memory that child processes share."""
    values = np.ascontiguousarray(values)
    memory = mmap.mmap(-1, max(values.nbytes, 1))
    array = np.frombuffer(memory, values.dtype, values.size).reshape(values.shape)
    array[...] = values
    return array


def patterns(valid, rng, least=0.0):
    """Give what is written to an array, without end: garbage, none of it but 0 nearer to 0 than `least`."""
    kind, bits = valid.dtype.kind, np.uint8
    if kind == "b":
        valid = valid.view(np.uint8)
    garbage = [value for value in GARBAGE[kind] if kind != "i" or np.iinfo(valid.dtype).min <= value]
    if kind == "i":
        garbage = [min(value, int(np.iinfo(valid.dtype).max)) for value in garbage]
    flat = valid.ravel()
    noise = [rng.integers(0, 256, flat.nbytes, bits).view(flat.dtype) for _ in range(8)]
    mixed = []
    for _ in range(8):
        some = flat.copy()
        some[rng.random(flat.size) < 0.1] = garbage[rng.integers(len(garbage))]
        mixed.append(some)
    orders = [flat[rng.permutation(flat.size)] for _ in range(4)]
    with np.errstate(all="ignore"):
        scaled = [flat * 2, flat * 1000, -flat, flat[::-1].copy()] if kind in "fi" else []
    whole = [*noise, *mixed, *orders, *scaled, *(np.full_like(flat, value) for value in garbage)]
    if least:
        with np.errstate(invalid="ignore"):
            whole = [np.where((np.abs(some) < least) & (some != 0), least, some) for some in whole]
    while True:
        for number in rng.permutation(len(whole)):
            yield whole[number]


def write(array, valid, seed, goes_on, least=0.0):
    """Write to an array until `goes_on` is false."""
    rng = np.random.default_rng(seed)
    to = array.view(np.uint8) if array.dtype.kind == "b" else array
    flat, right = to.reshape(-1), valid.view(to.dtype).reshape(-1)
    each = patterns(valid, rng, least)
    while goes_on():
        for _ in range(20):
            values = next(each)
            way = rng.integers(4)
            if way == 0:
                flat[:] = values
            elif way == 1:
                begin = rng.integers(flat.size + 1)
                flat[begin : begin + rng.integers(1, 64)] = values[begin : begin + 1] if begin < flat.size else 0
            elif way == 2:
                for at in rng.integers(0, flat.size, 8):
                    flat[at] = values[at]
                    flat[at] = right[at]
            else:
                flat[::2] = values[::2]
            for _ in range(rng.integers(3)):
                flat[:] = right
    flat[:] = right


class Writer:
    """Writes to an array while it is open: by a process where the memory is shared, else by a thread."""

    def __init__(self, array, seed=0, process=True, least=0.0):
        self.array, self.valid, self.seed, self.least = array, array.copy(), seed, least
        self.process = process and hasattr(os, "fork")
        self.number, self.thread, self.goes_on = 0, None, True

    def __enter__(self):
        if not self.array.size:
            return
        if self.process:
            self.number = os.fork()
            if self.number == 0:
                parent = os.getppid()
                try:
                    write(self.array, self.valid, self.seed, lambda: os.getppid() == parent, self.least)
                finally:
                    os._exit(0)
        else:
            arguments = self.array, self.valid, self.seed, lambda: self.goes_on, self.least
            self.thread = threading.Thread(target=write, args=arguments, daemon=True)
            self.thread.start()

    def __exit__(self, *_):
        if self.number:
            os.kill(self.number, signal.SIGKILL)
            os.waitpid(self.number, 0)
        self.goes_on = False
        if self.thread is not None:
            self.thread.join()
        self.array[...] = self.valid


def scene(n=1500, dim=2, dtype=np.float64, seed=1, size=60.0):
    """Give boxes (n, 2, dim) with a few partners each."""
    rng = np.random.default_rng(seed)
    lower = rng.uniform(0, size, (n, dim))
    return np.stack([lower, lower + rng.uniform(0, 2, (n, dim))], axis=1).astype(dtype)


def attributes(n, names):
    rng = np.random.default_rng(2)
    made = {
        "layer": rng.integers(0, 2**63, n, np.uint64),
        "mask": rng.integers(0, 2**63, n, np.uint64),
        "group": rng.integers(-3, 3, n),
        "static": rng.random(n) < 0.3,
        "ignore_pairs": rng.integers(0, n, (200, 2)),
        "ignore_shared": rng.integers(0, n // 2, (n, 3)),
        "batch": rng.integers(0, 5, n),
        "parent": rng.integers(-1, 20, n),
    }
    return {name: made[name] for name in names}


PAIR_FILTERS = ("layer", "mask", "group", "static", "ignore_pairs", "ignore_shared")
METHODS = ("auto", *(method.name for method in bp.METHODS))
CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])


def pair_calls():
    limited = functools.partial(bp.pairs, max_pairs=200_000)
    for method in METHODS:
        for dim, dtype in ((2, np.float64), (3, np.float32), (4, np.float64), (1, np.float32)):
            boxes = scene(1500, dim, dtype)
            name = f"pairs[{method}-{dim}-{np.dtype(dtype)}]"
            call = functools.partial(limited, method=method)
            yield name, call, {"boxes": boxes}
            yield name, functools.partial(call, sort=True, touching=False, margin=0.5), {
                "boxes": boxes, "other": scene(1000, dim, dtype, 3),
            }  # fmt: skip
        large = scene(5000 if method == "brute_force" else 60_000, 3, np.float64, 5, 150.0)
        yield f"pairs[{method}-threads]", functools.partial(limited, method=method, workers=2), {"boxes": large}
        clusters = np.concatenate([scene(3000, 2, size=5.0), 1e6 + scene(3000, 2, size=0.01), scene(3000, 2, size=1e5)])
        yield f"pairs[{method}-clusters]", functools.partial(limited, method=method), {"boxes": clusters}
        yield f"count_pairs[{method}]", functools.partial(bp.count_pairs, method=method), {"boxes": scene(3000)}
        yield f"iter_pairs[{method}]", lambda method=method, **given: list(bp.iter_pairs(method=method, **given)), {
            "boxes": scene(1500),
        }  # fmt: skip
        small = {"boxes": scene(9), "other": scene(7, seed=4)}
        yield f"pairs[{method}-small]", functools.partial(limited, method=method), small
    boxes = scene(2000)
    yield "pairs", limited, {"boxes": boxes, **attributes(2000, (*PAIR_FILTERS, "batch"))}
    yield "pairs", limited, {"boxes": boxes, "batch": np.sort(attributes(2000, ["batch"])["batch"])}
    yield "pairs", limited, {"boxes": boxes, "batch": np.random.default_rng(1).integers(-(2**62), 2**62, 2000)}
    yield "pairs", lambda mine, others, **given: limited(batch=(mine, others), **given), {
        "boxes": boxes, "other": scene(1000), "mine": np.arange(2000) % 7, "others": np.arange(1000) % 9,
    }  # fmt: skip
    yield "pairs", lambda lower, upper: limited((lower, upper)), {"lower": boxes[:, 0], "upper": boxes[:, 1]}
    yield "pairs", functools.partial(limited, invalid="skip"), {
        "boxes": boxes, **attributes(2000, ("layer", "ignore_pairs", "batch")),
    }  # fmt: skip
    yield "pairs", functools.partial(limited, workers=2), {"boxes": boxes, "period": np.array([60.0, 60.0])}
    yield "pairs[whole]", limited, {"boxes": (scene(3000, 1) * 1000).astype(np.int64)}
    yield "pairs[whole]", limited, {
        "boxes": (scene(3000, 1) * 1000).astype(np.int32), "other": (scene(3000, 1) * 1000).astype(np.int32),
    }  # fmt: skip
    yield "pairs[scenes]", limited, {"boxes": scene(2000).reshape(20, 100, 2, 2)}
    yield "count_pairs", bp.count_pairs, {"boxes": boxes, "other": boxes, "period": np.array([60.0, 60.0])}
    yield "count_pairs", bp.count_pairs, {"boxes": boxes, **attributes(2000, (*PAIR_FILTERS, "batch"))}
    yield "iter_pairs", lambda **given: list(bp.iter_pairs(**given)), {
        "boxes": boxes, **attributes(2000, (*PAIR_FILTERS, "batch")),
    }  # fmt: skip
    yield "iter_pairs", lambda **given: list(bp.iter_pairs(**given)), {"boxes": boxes, "other": boxes}
    yield "explain", bp.explain, {"boxes": boxes, "other": boxes}
    yield "explain", bp.explain, {"boxes": boxes, "batch": np.arange(2000) % 7}
    yield "explain", bp.explain, {"boxes": boxes, "period": np.array([60.0, 60.0])}
    rng = np.random.default_rng(4)
    vertices, faces = rng.random((500, 3)), rng.integers(0, 500, (300, 3), dtype=np.int32)
    yield "triangle_pairs", lambda vertices, faces: bp.triangle_pairs((vertices, faces)), {
        "vertices": vertices, "faces": faces,
    }  # fmt: skip
    yield "triangle_pairs", lambda vertices, faces, other: bp.triangle_pairs((vertices, faces), (other, faces)), {
        "vertices": vertices, "faces": faces.astype(np.int64), "other": vertices.astype(np.float32),
    }  # fmt: skip


def neighbor_calls():
    rng = np.random.default_rng(6)
    for dim in (2, 3):
        points = rng.uniform(0, 30 if dim == 2 else 10, (1500, dim))
        all_of = {"full": True, "distances": True, "vectors": True, "shifts": True, "sort": True}
        near = functools.partial(bp.neighbors, cutoff=1.0)
        name = f"neighbors[{dim}]"
        few = points[:90]  # a cell that is written may be tiny, and then has many images of each
        yield name, functools.partial(near, **all_of), {"points": few, "cell": np.eye(dim) * 30}
        yield name, functools.partial(near, **all_of, cell=np.eye(dim) * 30), {"points": points}
        yield name, functools.partial(near, workers=2), {"points": points, "other": points[::2].copy()}
        yield name, bp.neighbors, {"points": points, "cutoff": rng.uniform(0, 0.7, 1500)}
        yield name, bp.neighbors, {
            "points": points, "cutoff": np.ones((3, 3)), "species": rng.integers(0, 3, 1500),
            "ignore_pairs": rng.integers(0, 1500, (900, 2)),
        }  # fmt: skip
        yield name, near, {"points": points, "headings": rng.normal(size=(1500, dim)), "angle": np.full(1500, 1.0)}
        yield name, functools.partial(bp.neighbors, k=5, vectors=True, cell=np.eye(dim) * 30), {"points": points}
        yield name, lambda points, other, first, second: bp.neighbors(points, (first, second), other), {
            "points": points, "other": points[:700], "first": np.full(1500, 0.6), "second": np.full(700, 0.6),
        }  # fmt: skip
        yield name, near, {"points": points, "batch": rng.integers(0, 5, 1500)}
        yield name, near, {
            "points": few, "batch": rng.integers(0, 3, 90), "cell": np.array([np.eye(dim) * 30] * 3),
            "periodic": np.ones((3, dim), bool),
        }  # fmt: skip
        cells = np.array([np.eye(dim) * 30] * 3)
        yield name, functools.partial(near, cell=cells), {"points": points, "batch": rng.integers(0, 3, 1500)}
        yield name, near, {"points": few.reshape(3, 30, dim), "cell": cells}
        kept = bp.NeighborList(1.0, skin=0.3, shifts=True)
        yield "NeighborList.update", kept.update, {"points": few, "cell": np.eye(dim) * 30}
        yield "NeighborList.update", functools.partial(kept.update, cell=np.eye(dim) * 30), {"points": points}
        yield "NeighborList.update", bp.NeighborList(1.0, skin=0.3).update, {
            "points": points, "batch": rng.integers(0, 5, 1500),
        }  # fmt: skip
        yield "NeighborList.update", bp.NeighborList(1.0, skin=0.3).update, {
            "points": few, "batch": rng.integers(0, 3, 90), "cell": cells,
        }  # fmt: skip
        yield "NeighborList.update", functools.partial(bp.NeighborList(1.0, skin=0.3).update, cell=cells), {
            "points": points, "batch": rng.integers(0, 3, 1500),
        }  # fmt: skip


def suppression_calls():
    rng = np.random.default_rng(7)
    boxes, n = scene(3000), 3000
    batch, turned = rng.integers(0, 5, n), np.column_stack([rng.random((n, 2)) * 50, np.ones((n, 2)), rng.random(n)])
    for dtype in (np.float32, np.float64, np.int64, np.uint64):
        scores = (rng.random(n) * 1000).astype(dtype)
        yield f"nms[{np.dtype(dtype)}]", functools.partial(bp.nms, threshold=0.5), {"boxes": boxes, "scores": scores}
    scores = rng.random(n)
    for dtype in (np.float32, np.float64):
        yield "nms", functools.partial(bp.nms, threshold=0.5), {
            "boxes": boxes.astype(dtype), "scores": scores, "batch": batch,
        }  # fmt: skip
        for form in ("xywh", "cxcywh"):
            yield f"nms[{form}]", functools.partial(bp.nms, threshold=0.5, form=form), {
                "boxes": boxes.reshape(n, 4).astype(dtype), "scores": scores,
            }  # fmt: skip
    crowd = scene(3000, size=8.0)
    yield "nms[crowd]", functools.partial(bp.nms, threshold=0.2, workers=2), {"boxes": crowd, "scores": scores}
    many = scene(30_000, size=1000.0)
    yield "nms[many]", functools.partial(bp.nms, threshold=0.5), {
        "boxes": many, "scores": rng.random(30_000), "batch": rng.integers(0, 5, 30_000),
    }  # fmt: skip
    yield "nms[3]", functools.partial(bp.nms, threshold=0.5), {"boxes": scene(n, 3), "scores": scores}
    yield "nms[turned]", functools.partial(bp.nms, threshold=0.5, form="cxcywhr"), {
        "boxes": turned, "scores": scores, "batch": batch,
    }  # fmt: skip
    for decay in ("gaussian", "linear"):
        yield f"soft_nms[{decay}]", functools.partial(bp.soft_nms, decay=decay), {
            "boxes": boxes, "scores": scores, "batch": batch,
        }  # fmt: skip
        yield f"soft_nms[{decay}-turned]", functools.partial(bp.soft_nms, decay=decay, form="cxcywhr"), {
            "boxes": turned, "scores": scores, "batch": batch,
        }  # fmt: skip
    pairs = rng.integers(0, n, (5000, 2))
    yield "iou", bp.iou, {"boxes": boxes, "other": scene(n, seed=8), "pairs": pairs}
    yield "iou", functools.partial(bp.iou, threshold=0.1), {"boxes": boxes, "batch": batch}
    yield "nms[images]", functools.partial(bp.nms, threshold=0.5, score_threshold=0.2, max_output=50), {
        "boxes": boxes.reshape(3, 1000, 4), "scores": rng.random((3, 1000, 2)),
    }  # fmt: skip
    yield "iou", functools.partial(bp.iou, form="cxcywhr"), {
        "boxes": turned, "other": turned, "pairs": pairs.astype(np.int32),
    }  # fmt: skip


def shape_calls():
    rng = np.random.default_rng(9)
    n = 600
    places, turns = rng.uniform(0, 30, (n, 2)), rng.uniform(0, 6, n)
    flat = bp.Shapes(bp.Rectangle(1, 2), places, turns)
    mixed = bp.Shapes([bp.Circle(1), bp.Rectangle(1, 2)] * (n // 2), places, turns)
    solid_places = rng.uniform(0, 12, (n, 3))
    quaternions = rng.normal(size=(n, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    ball = bp.Mesh(*sphere_mesh())
    solids = bp.Shapes(
        [bp.Sphere(0.5), bp.Box(1, 1, 1), bp.ConvexHull(CUBE), ball] * (n // 4), solid_places, quaternions
    )
    pairs = rng.integers(0, n, (3000, 2))
    for name, shapes in (("2", mixed), ("3", solids)):
        for dtype in (np.int32, np.int64):
            given = {"pairs": pairs.astype(dtype)}
            yield f"overlaps[{name}]", functools.partial(bp.overlaps, shapes, shapes), given
            yield f"contacts[{name}]", functools.partial(bp.contacts, shapes, shapes), given
            yield (
                f"distance[{name}]",
                functools.partial(bp.distance, shapes, shapes),
                {"pairs": pairs[:300].astype(dtype)},
            )
        yield f"overlaps[{name}]", functools.partial(bp.overlaps, shapes), {"batch": rng.integers(0, 3, n)}
        yield f"contacts[{name}]", functools.partial(bp.contacts, shapes), {"batch": rng.integers(0, 3, n)}
        dim = shapes.dim
        moves = rng.normal(size=(3000, dim))
        yield f"time_of_impact[{name}]", functools.partial(bp.time_of_impact, shapes, shapes), {
            "pairs": pairs[:500], "motions": moves[:500], "other_motions": moves[500:1000],
        }  # fmt: skip
        spins = rng.normal(size=1000 if dim == 2 else (1000, 3))
        yield f"time_of_impact[{name}]", functools.partial(bp.time_of_impact, shapes, shapes, pairs=pairs[:500]), {
            "motions": moves[:500], "angular_motions": spins[:500], "other_angular_motions": spins[500:],
            "target": rng.uniform(0, 1, 500),
        }  # fmt: skip
        yield f"raycast[{name}]", functools.partial(bp.raycast, shapes), {
            "origins": rng.uniform(0, 12, (500, dim)), "directions": moves[:500],
            "rows": rng.integers(0, n, 500, dtype=np.int32), "max_distance": rng.uniform(1, 9, 500),
        }  # fmt: skip
        yield f"raycast, every[{name}]", functools.partial(bp.raycast, shapes, every=True), {
            "origins": rng.uniform(0, 12, (500, dim)), "directions": moves[:500],
            "rows": rng.integers(0, n, 500, dtype=np.int32), "max_distance": rng.uniform(1, 9, 500),
        }  # fmt: skip
        yield f"Shapes.checked_rows[{name}]", shapes.checked_rows, {"rows": rng.integers(0, n, 3000, dtype=np.int32)}
        yield f"Shapes.records[{name}]", shapes.records, {"rows": rng.integers(0, n, 3000, dtype=np.int32)}
    touching = bp.contacts(mixed)
    yield "Contacts.padded", functools.partial(touching.padded, 5, 9), {"batch": np.arange(n) % 9}
    yield "Contacts.padded", lambda pairs: touching._replace(pairs=pairs).padded(5, n), {"pairs": touching.pairs.copy()}
    yield "overlapping_faces", functools.partial(bp.overlapping_faces, solids, solids), {"pairs": pairs[:200]}
    rows = rng.integers(0, n, n, dtype=np.int32)
    yield "Shapes.move[2]", flat.move, {"positions": places, "rotations": turns, "rows": rows}
    moved = bp.Shapes(bp.Box(1, 1, 1), solid_places, quaternions)
    yield "Shapes.move[3]", moved.move, {
        "positions": solid_places, "rotations": quaternions, "rows": rows.astype(np.int64),
    }  # fmt: skip
    yield "Shapes[2]", functools.partial(bp.Shapes, bp.Rectangle(1, 2)), {"positions": places, "rotations": turns}
    yield "Shapes[3]", functools.partial(bp.Shapes, bp.Box(1, 1, 1)), {
        "positions": solid_places, "rotations": quaternions,
    }  # fmt: skip
    filters = attributes(n, ("layer", "mask", "group", "ignore_pairs", "parent"))
    yield "clearances", functools.partial(bp.clearances, solids, max_distance=0.2), filters
    yield "clearances", lambda mine, theirs: bp.clearances(solids, solids, 0.2, parent=(mine, theirs)), {
        "mine": np.arange(n) % 9, "theirs": np.arange(n) % 7,
    }  # fmt: skip
    yield "clashes", functools.partial(bp.clashes, solids, clearance=0.1), filters
    vertices, faces = sphere_mesh()
    yield "clearances", lambda vertices, faces: bp.clearances([bp.Mesh(vertices, faces)] * 3, max_distance=0.2), {
        "vertices": vertices, "faces": faces,
    }  # fmt: skip
    yield "Mesh", lambda **given: bp.Shapes(bp.Mesh(**given), [[0, 0, 0]]), {"vertices": vertices, "faces": faces}
    yield "HeightField", lambda **given: bp.Shapes(bp.HeightField(**given), [[0, 0, 0]]), {
        "heights": rng.normal(size=(40, 50)),
    }  # fmt: skip
    yield "PointCloud", lambda **given: bp.Shapes(bp.PointCloud(**given, radius=0.1), [[0, 0, 0]]), {
        "points": rng.normal(size=(200, 3)),
    }  # fmt: skip
    yield "ConvexHull", lambda **given: bp.Shapes(bp.ConvexHull(**given), [[0, 0, 0]]), {
        "points": rng.normal(size=(200, 3)),
    }  # fmt: skip
    for name, d in {name: d for d, names in RECORDED.items() for name in names}.items():
        if name == "Compound":
            continue
        shape_class = getattr(bp, name)
        yield (
            name,
            lambda d=d, of=shape_class, **given: bp.Shapes(of(**given), [0] * d),
            ARGUMENTS[name](Rows(rng, d, n)),
        )
    arm = bp.Articulated(
        [bp.Link("a", bp.Sphere(1))]
        + [bp.Link(f"b{k}", bp.Box(1, 0.2, 0.2), f"b{k - 1}" if k else "a", joint="revolute", axis=(0, 0, 1),
                   position=(1, 0, 0), joint_name=f"j{k}") for k in range(4)]
    )  # fmt: skip
    compared = np.array(list(itertools.combinations(range(5), 2)))
    yield "Articulated", functools.partial(bp.Articulated, arm.links), {"pairs": compared}
    configurations = rng.uniform(-3, 3, (500, 4))
    some = bp.Shapes(bp.Sphere(0.5), rng.uniform(-4, 4, (30, 3)))
    yield "Articulated.poses", arm.poses, {"q": configurations}
    yield "Articulated.placed", arm.placed, {"q": configurations[0]}
    yield "Articulated.collides", functools.partial(arm.collides, obstacles=some), {"q": configurations}
    yield "Articulated.clearance", functools.partial(arm.clearance, obstacles=some), {"q": configurations[:100]}
    yield "Articulated.edges_collide", functools.partial(arm.edges_collide, obstacles=some), {
        "starts": configurations[:50], "ends": configurations[50:100],
    }  # fmt: skip
    yield "Articulated.first_contact", functools.partial(arm.first_contact, obstacles=some), {
        "q0": configurations[:50], "q1": configurations[50:100],
    }  # fmt: skip
    cloud = {"points": rng.uniform(-4, 4, (500, 3)), "radius": rng.uniform(0.1, 0.2, 500)}
    yield "Obstacles", bp.Obstacles, cloud
    moving = bp.Obstacles(**cloud)
    yield "Obstacles.update", moving.update, {
        "positions": cloud["points"], "rotations": rng.normal(size=(500, 4)), "rows": np.arange(500),
    }  # fmt: skip
    yield "Articulated.attach", lambda **given: arm.attach("a", bp.Sphere(1), **given), {
        "position": rng.normal(size=3), "rotation": rng.normal(size=4),
    }  # fmt: skip


def sphere_mesh(rings=8, sides=12):
    """Give a closed mesh: vertices and faces."""
    polar = np.linspace(0, np.pi, rings + 1)[1:-1]
    around = np.arange(sides) * 2 * np.pi / sides
    ring = [[np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)] for t in polar for p in around]
    vertices = np.array([[0, 0, 1.0], *ring, [0, 0, -1.0]]) * 0.5
    faces, last = [], len(vertices) - 1
    for k in range(sides):
        faces.append([0, 1 + k, 1 + (k + 1) % sides])
        faces.append([last, last - sides + (k + 1) % sides, last - sides + k])
    for r in range(rings - 2):
        for k in range(sides):
            a, b = 1 + r * sides + k, 1 + r * sides + (k + 1) % sides
            faces += [[a, a + sides, b], [b, a + sides, b + sides]]
    return vertices, np.array(faces, np.int64)


INDEXES = ("Index", *(method.index_class for method in bp.METHODS))


def index_calls():
    rng = np.random.default_rng(10)
    n, q = 1500, 400
    boxes = scene(n)
    for name in INDEXES:
        kind = getattr(bp, name)
        yield name, kind, {"boxes": boxes, **attributes(n, ("layer", "mask", "batch"))}
        yield name, kind, {"boxes": scene(n, 3, np.float32)}
        index = kind(boxes)
        points = rng.uniform(0, 60, (q, 2))
        bits = {"layer": np.full(q, 2**64 - 1, np.uint64), "mask": np.full(q, 2**64 - 1, np.uint64)}
        ignore = rng.integers(0, n, (q, 3))
        queries = arguments_of(scene(q), rng.normal(size=(q, 2)), 3.0)
        for method, given in queries.items():
            call = getattr(index, method, None)
            try:
                call(**given)
            except (bp.errors.UnsupportedQueryError, TypeError, AttributeError):
                continue
            yield f"{name}.{method}", call, given
            yield f"{name}.{method}", call, {**given, **bits}
            yield f"{name}.{method}", call, {**given, "ignore": ignore}
        keyed = kind(boxes, batch=np.arange(n) % 5)
        yield f"{name}.query", keyed.query, {"boxes": scene(q), "batch": np.arange(q) % 5}
        yield (
            f"{name}.nearest",
            index.nearest if name != "Grid" else index.query,
            ({"rows": rng.integers(0, n, q)} if name not in ("Grid",) else {"boxes": scene(q)}),
        )
        filters = attributes(n, PAIR_FILTERS)
        yield f"{name}.pairs", functools.partial(index.pairs, max_pairs=200_000), filters
        yield f"{name}.pairs", functools.partial(index.pairs, max_pairs=200_000), {"other": scene(q)}
        yield f"{name}.count_pairs", index.count_pairs, filters
        yield f"{name}.changes", kind(boxes).changes, attributes(n, PAIR_FILTERS)
        changed = kind(boxes)
        rows = rng.permutation(n)

        def insert_and_remove(index=changed, **given):
            index.remove(index.insert(**given))

        yield f"{name}.insert", insert_and_remove, {"boxes": scene(q), **attributes(q, ("layer", "mask"))}
        keyed = functools.partial(insert_and_remove, kind(boxes, batch=np.arange(n) % 5))
        yield f"{name}.insert", keyed, {"boxes": scene(q), "batch": np.arange(q) % 4}

        def change(name, index=changed, **given):
            getattr(index, name)(**given)
            index.query(boxes[:50])
            index.count_pairs()

        move = functools.partial(change, "move")
        yield f"{name}.move", move, {"rows": rows, "boxes": boxes}
        yield f"{name}.move", move, {"rows": rows[:40].astype(np.int32), "boxes": boxes[:40]}
        yield f"{name}.update", functools.partial(change, "update"), {"boxes": boxes}
        yield f"{name}.boxes_of", changed.boxes_of, {"rows": rows}
        yield f"{name}.handles", changed.handles, {"rows": rows}
        yield f"{name}.rows_of", changed.rows_of, {"handles": changed.handles()}
        yield f"{name}.set_filters", changed.set_filters, {
            "rows": rows, "layer": np.full(n, 3, np.uint64), "mask": np.full(n, 3, np.uint64),
        }  # fmt: skip

        def remove(rows, kind=kind):
            index = kind(boxes)
            index.remove(rows)
            index.count_pairs()

        yield f"{name}.remove", remove, {"rows": rows[:700]}
    spheres = {"centers": rng.uniform(0, 60, (n, 2)), "radii": rng.uniform(0, 2, n)}
    yield "Octree.from_spheres", bp.Octree.from_spheres, spheres
    yield "Octree", lambda centers, radii: bp.Octree(None, spheres=(centers, radii)), spheres
    round_index = bp.Octree.from_spheres(**spheres)
    yield "Octree.pairs[spheres]", functools.partial(round_index.pairs, max_pairs=200_000), attributes(n, ("group",))
    yield (
        "Octree.query_ball[spheres]",
        round_index.query_ball,
        {"centers": spheres["centers"], "radii": spheres["radii"]},
    )
    yield "LinearTree.cells_of", bp.LinearTree(boxes).cells_of, {"boxes": boxes}
    yield "SweepAndPrune.query_rows", bp.SweepAndPrune(boxes).query_rows, {"rows": rng.integers(0, n, q)}
    found = bp.BVH(boxes).query(scene(q))
    yield "QueryResult.padded", functools.partial(found.padded, 5), {}
    yield "QueryResult.padded", lambda rows, offsets: type(found)(rows, offsets).padded(5), {
        "rows": found.rows.copy(), "offsets": found.offsets.copy(),
    }  # fmt: skip
    hits = bp.BVH(boxes).raycast_all(points, (1, 0))
    fields = ("rows", "offsets", "distances", "normals")
    fields = {name: np.array(getattr(hits, name)) for name in fields if hasattr(hits, name)}
    yield "RayHitsAll.padded", lambda **given: type(hits)(**given).padded(5), fields
    periodic = bp.Index(boxes, period=[60.0, 60.0])
    yield "Index.query[periodic]", periodic.query, {"boxes": scene(q)}
    yield "Index.pairs[periodic]", functools.partial(periodic.pairs, max_pairs=200_000), {"other": scene(q)}


def make_world(n=800, dim=2, **options):
    rng = np.random.default_rng(11)
    world = bp.World(dim, bounds=[[0] * dim, [40] * dim], boundary="bounce", **options)
    shapes = [bp.Circle(1), bp.Rectangle(1, 2)] if dim == 2 else [bp.Sphere(1), bp.Box(1, 1, 1)]
    world.add_many(
        shapes * (n // 2), rng.uniform(1, 39, (n, dim)), velocities=rng.normal(size=(n, dim)),
        angular_velocities=rng.normal(size=n if dim == 2 else (n, 3)), layer="ball",
    )  # fmt: skip
    world.step(0.01)
    return world


def world_calls():
    rng = np.random.default_rng(12)
    n = 800
    for dim in (2, 3):
        world = make_world(n, dim)
        places = rng.uniform(1, 39, (200, dim))
        turns = rng.random(200) if dim == 2 else rng.normal(size=(200, 4))
        spins = rng.random(200) if dim == 2 else rng.normal(size=(200, 3))
        body = bp.Circle(1) if dim == 2 else bp.Sphere(1)
        rows = rng.permutation(n)[:200]

        def add(world=world, body=body, **given):
            world.remove(world.add_many(body, **given))

        yield f"World.add_many[{dim}]", add, {
            "positions": places, "velocities": places, "rotations": turns, "angular_velocities": spins,
            "group": rng.integers(-3, 3, 200), "batch": rng.integers(0, 3, 200), "ccd": np.zeros(200, bool),
            "sensor": np.zeros(200, bool), "layer": np.full(200, 1, np.uint64), "mask": np.full(200, 1, np.uint64),
        }  # fmt: skip

        def move(world=world, **given):
            world.move(**given)
            world.step(0.01)

        yield f"World.move[{dim}]", move, {
            "rows": rows, "positions": places, "rotations": turns, "velocities": places, "angular_velocities": spins,
        }  # fmt: skip
        for method in ("handles", "sleep", "wake"):
            yield f"World.{method}[{dim}]", getattr(world, method), {"rows": rows}
        yield f"World.rows_of[{dim}]", world.rows_of, {"handles": world.handles()}
        pairs = rng.integers(0, n, (100, 2))

        def ignore(pairs, world=world):
            world.ignore(pairs)
            world.step(0.01)

        yield f"World.ignore[{dim}]", ignore, {"pairs": pairs}
        yield f"World.unignore[{dim}]", world.unignore, {"pairs": pairs}
        yield f"World.set_filters[{dim}]", world.set_filters, {
            "rows": rows, "layer": np.full(200, 1, np.uint64), "mask": np.full(200, 1, np.uint64),
            "group": rng.integers(-3, 3, 200),
        }  # fmt: skip
        yield (
            f"World.set_shapes[{dim}]",
            lambda rows, world=world, body=body: world.set_shapes(rows, body),
            {"rows": rows},
        )

        def remove(rows, n=n, dim=dim):
            world = make_world(n, dim)
            world.remove(rows)
            world.step(0.01)

        yield f"World.remove[{dim}]", remove, {"rows": rows}
        given_to = arguments_of(scene(200, dim), rng.normal(size=(200, dim)), 3.0)
        for method in (row.name for row in QUERIES if row.in_worlds):
            given = given_to[method]
            yield f"World.{method}[{dim}]", getattr(world, method), given
            if method == "query":
                yield f"World.{method}[{dim}]", world.query, {**given, "ignore": rng.integers(0, n, (200, 2))}
        yield f"World.query_shape[{dim}]", functools.partial(world.query_shape, body), {
            "positions": places, "rotations": turns,
        }  # fmt: skip
        yield f"World.shapecast[{dim}]", functools.partial(world.shapecast, body), {
            "positions": places, "motions": places, "rotations": turns,
        }  # fmt: skip
        fans = rng.uniform(0, 6, (len(rows), 9)) if dim == 2 else rng.normal(size=(len(rows), 9, 3))
        yield f"World.lidar[{dim}]", world.lidar, {
            "rows": rows, "directions": fans, "max_distance": rng.uniform(0, 9, len(rows)), "ignore": rows[::-1],
        }  # fmt: skip
        yield f"World.visible[{dim}]", world.visible, {"planes": rng.normal(size=(4, dim + 1)), "eye": places[0]}
    yield "World", lambda bounds: bp.World(2, bounds=bounds), {"bounds": np.array([[0.0, 0], [20, 20]])}


def column_calls():
    """Steps and queries of worlds whose own arrays are written to: (name, call, arrays that a thread writes to)."""
    for dim in (2, 3):
        for number, options in enumerate(({}, {"method": "grid"}, {"workers": 2}, {"method": "octree"})):
            world = make_world(600, dim, **options)
            if number == 0:
                world.add_many(bp.Circle(0.2) if dim == 2 else bp.Sphere(0.2), np.full((20, dim), 5.0), ccd=True,
                               velocities=np.full((20, dim), 90.0))  # fmt: skip
            columns = {name: getattr(world, name) for name in
                       ("positions", "velocities", "rotations", "angular_velocities")}  # fmt: skip
            for dt in (0.0, 0.01):
                yield f"World.step[{dim}-{number}-{dt}]", functools.partial(world.step, dt), columns
        yield f"World.query[{dim}-columns]", functools.partial(world.query_points, np.full((5, dim), 9.0)), columns
        for boundary in ("wrap", "remove"):
            seamed = bp.World(dim, bounds=[[0] * dim, [40] * dim], boundary=boundary)
            seamed.add_many(
                bp.Circle(1) if dim == 2 else bp.Sphere(1), np.random.default_rng(1).uniform(1, 39, (900, dim))
            )
            columns = {name: getattr(seamed, name) for name in ("positions", "velocities")}
            yield f"World.step[{dim}-{boundary}]", functools.partial(seamed.step, 0.01), columns


def box_calls():
    b = box_functions
    rng = np.random.default_rng(13)
    n = 2000
    points, boxes = rng.uniform(0, 9, (n, 2)), scene(n)
    yield "boxes.as_boxes", b.as_boxes, {"boxes": boxes}
    yield "boxes.as_corners", b.as_corners, {"boxes": boxes}
    yield "boxes.as_numbers", functools.partial(b.as_numbers, name="values"), {"values": np.arange(n)}
    yield "boxes.find_invalid", b.find_invalid, {"boxes": boxes}
    yield "boxes.from_centers", b.from_centers, {"centers": points, "half_sizes": points}
    yield "boxes.from_spheres", b.from_spheres, {"centers": points, "radii": points[:, 0].copy()}
    yield "boxes.from_points", b.from_points, {"points": points, "radius": points[:, 0].copy()}
    yield "boxes.from_segments", b.from_segments, {"starts": points, "ends": points + 1, "radius": points[:, 0].copy()}
    for dtype in (np.int32, np.int64):
        yield "boxes.from_triangles", b.from_triangles, {
            "vertices": points, "faces": rng.integers(0, n, (3000, 3)).astype(dtype),
        }  # fmt: skip
        yield "boxes.from_parts", b.from_parts, {
            "points": points, "parts": (np.arange(n) // 7).astype(dtype),
        }  # fmt: skip
    yield "boxes.from_rects", b.from_rects, {"rects": points.repeat(2, axis=1)}
    yield "boxes.from_xywh", b.from_xywh, {"xywh": points.repeat(2, axis=1)}
    yield "boxes.grow", b.grow, {"boxes": boxes, "margin": rng.uniform(0, 1, n)}
    yield "boxes.merge", b.merge, {"boxes": boxes}
    yield "boxes.swept", b.swept, {"before": boxes, "after": boxes + 1}
    yield "io.write_pairs", functools.partial(io.write_pairs, FOLDER / "pairs.csv"), {
        "pairs": rng.integers(0, 99, (200, 2)),
    }  # fmt: skip


def table_calls():
    pandas = imported("pandas")
    if pandas is None:
        return
    rng = np.random.default_rng(14)
    lower, key = rng.uniform(0, 900, 2000), rng.integers(0, 9, 2000)

    def join(lower, upper, key, how="inner"):
        tables = [pandas.DataFrame({"lower": lower, "upper": upper, "key": key}, copy=False) for _ in range(2)]
        bp.join(*tables, lower="lower", upper="upper", by="key", how=how)

    for how in ("inner", "nearest"):
        for dtype in (np.float64, np.int64, np.int32):
            yield f"join[{how}]", functools.partial(join, how=how), {
                "lower": lower.astype(dtype), "upper": (lower + 3).astype(dtype), "key": key,
            }  # fmt: skip


def imported(name):
    """Import a library if it is there."""
    try:
        return __import__(name)
    except ImportError:
        return None


def few_number_calls():
    """Give the public calls as they are tried with wrong values: each array has the few numbers of that example."""
    for name, call, given in public_calls():
        arrays = {argument: array for argument, value in given.items() if (array := array_in(value)) is not None}
        if arrays:
            rest = {argument: value for argument, value in given.items() if argument not in arrays}
            yield f"{name}[few]", functools.partial(call, **rest), arrays


#: Arguments of a few numbers in any call: `few_number_calls` has them.
FEW_NUMBERS = {
    ("Compound", "offset"), ("Compound", "rotation"), ("ConvexHull", "offset"),
    ("ConvexHull", "rotation"), ("ConvexPolygon", "offset"),
    ("HeightField", "cell"), ("HeightField", "offset"), ("HeightField", "rotation"),
    ("LinearTree", "bounds"), ("LinearTree.options", "bounds"), ("LinearTree.options", "tune_shares"),
    ("Link", "axis"), ("Link", "limits"), ("Link", "position"), ("Link", "rotation"), ("Mesh", "offset"),
    ("Mesh", "rotation"), ("PointCloud", "offset"), ("PointCloud", "rotation"),
    ("Octree.options", "bounds"), ("SweepAndPrune.options", "axis"), ("World.add", "position"),
    ("World.add", "velocity"), ("World.visible", "lod"), ("cameras.look_at", "eye"),
    ("cameras.look_at", "target"), ("cameras.look_at", "up"), ("morton.number_of", "cell"),
    ("cameras.selection_matrix", "matrix"),
    ("cameras.selection_matrix", "rectangle"), ("cameras.selection_matrix", "viewport"),
}  # fmt: skip


def uncovered():
    """Return the array arguments of public calls, (name, argument), that no call here has many numbers for."""
    many = [(name.partition("[")[0], arrays) for name, _, arrays, _ in calls() if not name.endswith("[few]")]
    covered = {(name, argument) for name, arrays in many for argument in arrays}
    needed = {
        (name, argument)
        for name, _, given in public_calls()
        for argument, value in given.items()
        if array_in(value) is not None
    }
    return needed - covered - FEW_NUMBERS


def array_in(value):
    """Return what is given as an array of numbers, with a row or more, as an array."""
    if not isinstance(value, np.ndarray | list | tuple):
        return None
    if isinstance(value, tuple) and any(isinstance(part, np.ndarray | list) for part in value):  # of two sets
        return None
    try:
        array = np.asarray(value)
    except ValueError:  # such as vertices and faces, which the large scenes take apart
        return None
    return array if array.ndim and array.size and array.dtype.kind in "biuf" else None


GROUPS = (
    pair_calls, neighbor_calls, suppression_calls, shape_calls, index_calls, world_calls, box_calls, table_calls,
    few_number_calls,
)  # fmt: skip


def calls():
    """Give all of them: (name, call, arrays by argument, whether they may lie in shared memory)."""
    for group in GROUPS:
        for name, call, arrays in group():
            yield name, call, arrays, True
    for name, call, arrays in column_calls():
        yield name, call, arrays, False


def labels():
    """Give what `main` attacks, in its order, each once: "name(argument)"."""
    return list(dict.fromkeys(f"{name}({argument})" for name, _, arrays, _ in calls() for argument in arrays))


def attack(call, arrays, argument, seconds, is_shared):
    """Write to one array while the call is made again and again; return how often, and how often it raised."""
    given = {key: shared(value) for key, value in arrays.items()} if is_shared else arrays
    sent = given if is_shared else {}
    count = raised = 0
    end = time.monotonic() + seconds
    least = 1.0 if argument == "cell" else 0.0  # tiny cells have billions of pairs
    with Writer(given[argument], count, is_shared, least):
        while count == 0 or time.monotonic() < end:
            count += 1
            try:
                call(**sent)
            except Exception:  # whatever it is
                raised += 1
    with contextlib.suppress(Exception):
        call(**sent)  # of an index or a world that has kept what was written
    return count, raised


def main(seconds, first, *names):
    """Attack all arguments from number `first` on, or those with a label, "name(argument)", or the begin of a name."""
    warnings.simplefilter("ignore")
    sys.setswitchinterval(1e-5)
    if "asan" not in os.environ.get("LD_PRELOAD", ""):
        with contextlib.suppress(ImportError, ValueError, OSError):
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    number = -1
    for name, call, arrays, is_shared in calls():
        for argument in arrays:
            label = f"{name}({argument})"
            if names and not any(label == one or ("(" not in one and label.startswith(one)) for one in names):
                continue
            number += 1
            if number >= first:
                print(number, label, end=" ", flush=True)
                print(*attack(call, arrays, argument, seconds, is_shared), flush=True)
    print("done")


def fault(seconds, *names, first=0, timeout=600):
    """Attack in a process of its own; return what ended it, or held it up, or None if it survived."""
    command = [sys.executable, __file__, str(seconds), str(first), *names]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err += f"\nnot done after {timeout} s"
    last = out.rstrip().rpartition("\n")[2]
    return None if last == "done" else f"{last}: exit status {process.returncode}\n{err[-3000:]}"


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
