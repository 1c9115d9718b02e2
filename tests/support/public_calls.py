"""Every public callable with arguments that work, and the wrong values that each argument is replaced by."""

import functools
import pathlib
import random
import re
import tempfile
import warnings

import numpy as np

import broadphase as bp
from broadphase import boxes as box_functions, io, morton, scenes, testing
from broadphase.index import queries
from query_cases import arguments_of
from shape_cases import ARGUMENTS, CLASSES, Numbers

BOXES = np.array([[0.0, 0, 2, 2], [1, 1, 3, 3], [9, 9, 10, 10]]).reshape(3, 2, 2)
TURNED = np.array([[1.0, 1, 2, 2, 0], [2, 2, 2, 2, 45], [9, 9, 1, 1, 90]])
POINTS = BOXES[:, 0]
SPHERES = (POINTS, [1.0, 1, 1])
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
MATRIX = np.eye(4)
NAN, INF = float("nan"), float("inf")


class Thing:
    """An object that nothing knows."""

    def __repr__(self):
        return "<a thing>"


WRONG = {
    "None": lambda: None,
    "object": Thing,
    "text": lambda: "x",
    "nan": lambda: NAN,
    "inf": lambda: INF,
    "minus": lambda: -1,
    "huge": lambda: 10**400,
    "large": lambda: 2**64,
    "fraction": lambda: 1.5,
    "empty": lambda: [],
    "ragged": lambda: [[1, 2], [3]],
    "dtype": lambda: np.array([["a", "b"]]),
    "shape": lambda: np.zeros((2, 3, 4, 5)),
    "nans": lambda: np.full((3, 2, 2), NAN),
    "complex": lambda: 1j,
    "complexes": lambda: np.zeros((3, 2), complex),
    "objects": lambda: np.array([None, Thing()], object),
    "bytes": lambda: b"x",
    "class": lambda: bp.BVH,
    "dict": lambda: {"a": 1},
    "date": lambda: np.array(["2020-01-01"], "datetime64[D]"),
    "true": lambda: True,
    "set": lambda: {1, 2},
    "function": lambda: len,
    "iterator": lambda: iter([1]),
    "whole": lambda: 1.0,
    "array": lambda: np.array(3),
}

# Messages that come from below: they name no argument of ours.
FOREIGN = re.compile(
    r"incompatible function arguments|nanobind|has no attribute|NoneType|_core|_native|object is not (iterable"
    r"|subscriptable|callable)|unsupported operand|not supported between|missing \d+ required|inhomogeneous"
    r"|could not be broadcast|could not convert|setting an array element|ufunc|cannot be interpreted|truth value"
    r"|must be real number|unhashable|cannot convert float|int too large|has no len|only (length|0-dim|integer)"
)
ACCEPTED = (
    TypeError,
    ValueError,
    bp.errors.UnknownRowError,
    bp.errors.UnsupportedQueryError,
    bp.errors.TooManyPairsError,
    OSError,
)


def world():
    made = bp.World(dim=2, bounds=[[0, 0], [20, 20]])
    made.add_many(bp.Circle(1), [[5, 5], [5.5, 5], [15, 15]], layer="ball")
    made.step()
    return made


def shapes():
    return bp.Shapes(bp.Circle(1), [[0, 0], [1, 0], [9, 9]])


def solids():
    return bp.Shapes(bp.Sphere(1), [[0, 0, 0], [1, 0, 0], [9, 9, 9]])


def filters(both=False):
    given = {"layer": np.ones(3, np.uint64), "mask": np.ones(3, np.uint64)}
    if both:
        given |= {
            "group": [0, 0, 1],
            "static": [False, True, False],
            "ignore_pairs": [[0, 1]],
            "ignore_shared": [1, 2, 3],
        }
    return given


PAIR_OPTIONS = {"workers": 1, "touching": True, "margin": 0.5}
ONE = {"layer": 1, "mask": 1, "batch": 0, "workers": 1}


def functions():
    """Functions and classes: (name, callable, arguments), each with every parameter."""
    yield "pairs", bp.pairs, {
        "boxes": BOXES, **PAIR_OPTIONS, **filters(True), "method": "auto", "sort": False, "max_pairs": 9,
        "invalid": "raise", "batch": [1, 1, 2],
    }  # fmt: skip
    yield "pairs", bp.pairs, {"boxes": BOXES, "other": BOXES, "batch": ([1, 1, 2], 1)}
    yield "count_pairs", bp.count_pairs, {
        "boxes": BOXES, **PAIR_OPTIONS, **filters(True), "method": "auto", "invalid": "raise", "batch": [1, 1, 2],
    }  # fmt: skip
    yield "count_pairs", bp.count_pairs, {"boxes": BOXES, "other": BOXES}
    yield "iter_pairs", lambda **given: list(bp.iter_pairs(**given)), {
        "boxes": BOXES, **PAIR_OPTIONS, **filters(True), "method": "auto", "chunk": 5, "invalid": "raise",
        "batch": [1, 1, 2],
    }  # fmt: skip
    yield "iter_pairs", lambda **given: list(bp.iter_pairs(**given)), {"boxes": BOXES, "other": BOXES}
    yield "explain", bp.explain, {"boxes": BOXES, "workers": 1, "batch": [1, 1, 2]}
    yield "explain", bp.explain, {"boxes": BOXES, "other": BOXES}
    mesh = {"vertices": CUBE, "faces": np.array([[0, 1, 2], [1, 2, 3]])}
    yield "triangle_pairs", bp.triangle_pairs, {
        "mesh": (CUBE, mesh["faces"]), "other": (CUBE, mesh["faces"]), "touching": True, "workers": 1,
    }  # fmt: skip
    yield "triangle_pairs", bp.triangle_pairs, {"mesh": (CUBE, mesh["faces"]), "ignore_shared": True}
    yield "neighbors", bp.neighbors, {
        "points": CUBE, "cutoff": 1.0, "other": CUBE, "cell": [2, 2, 2], "periodic": True, "combine": "sum",
        "full": True, "distances": True, "vectors": True, "shifts": True, "sort": True, "workers": 1,
    }  # fmt: skip
    yield "neighbors", bp.neighbors, {"points": CUBE, "cutoff": np.ones(8)}
    yield "neighbors", bp.neighbors, {
        "points": CUBE, "cutoff": np.ones((2, 2)), "species": np.arange(8) % 2, "ignore_pairs": np.array([[0, 1]]),
        "headings": CUBE, "angle": 1.0,
    }  # fmt: skip
    yield "neighbors", bp.neighbors, {"points": CUBE, "k": 3, "cell": [2, 2, 2], "batch": [0, 1] * 4}
    yield "NeighborList", bp.NeighborList, {
        "cutoff": 1.0, "skin": 0.2, "periodic": True, "full": True, "distances": True, "vectors": True, "shifts": True,
        "sort": True, "workers": 1,
    }  # fmt: skip
    yield "NeighborList.update", lambda **given: bp.NeighborList(1.0, skin=0.2).update(**given), {
        "points": CUBE, "cell": [2, 2, 2],
    }  # fmt: skip
    yield "nms", bp.nms, {
        "boxes": BOXES, "scores": [1, 2, 3], "threshold": 0.5, "metric": "iou", "batch": [1, 1, 2], "workers": 1,
        "form": "xyxy", "degrees": False, "score_threshold": 0.5, "max_output": 2,
    }  # fmt: skip
    yield "nms", bp.nms, {"boxes": TURNED, "scores": [1, 2, 3], "threshold": 0.5, "form": "cxcywhr", "degrees": True}
    yield "soft_nms", bp.soft_nms, {
        "boxes": BOXES, "scores": [1, 2, 3], "decay": "gaussian", "sigma": 0.5, "threshold": 0.3, "min_score": 0.1,
        "form": "xyxy", "degrees": False, "batch": [1, 1, 2], "workers": 1,
    }  # fmt: skip
    yield "soft_nms", bp.soft_nms, {"boxes": TURNED, "scores": [1, 2, 3], "decay": "linear", "form": "cxcywhr"}
    yield "iou", bp.iou, {
        "boxes": BOXES, "other": BOXES, "pairs": [[0, 1]], "form": "xyxy", "degrees": False, "kind": "giou",
    }  # fmt: skip
    yield "iou", bp.iou, {"boxes": BOXES, "threshold": 0.1, "batch": [1, 1, 1], "workers": 1}
    yield "iou", bp.iou, {"boxes": TURNED, "other": TURNED, "form": "cxcywhr", "degrees": True}
    yield "overlaps", bp.overlaps, {"shapes": shapes(), "other": shapes(), "pairs": [[0, 1]]}
    yield "overlaps", bp.overlaps, {"shapes": shapes(), "batch": [1, 1, 2]}
    balls = bp.Shapes(bp.Sphere([1, 2]), [[0, 0, 0], [1, 0, 0]])
    yield "overlapping_faces", bp.overlapping_faces, {"shapes": balls, "other": balls, "pairs": [[0, 1]], "most": 5}
    yield "contacts", bp.contacts, {"shapes": shapes(), "other": shapes(), "batch": ([1, 1, 2], 1)}
    yield "distance", bp.distance, {"shapes": shapes(), "other": shapes(), "pairs": [[0, 1]]}
    yield "contacts", bp.contacts, {"shapes": shapes(), "other": shapes(), "pairs": [[0, 1]]}
    yield "time_of_impact", bp.time_of_impact, {
        "shapes": shapes(), "other": shapes(), "pairs": [[0, 1]], "motions": [[1, 0]], "other_motions": [[0, 1]],
    }  # fmt: skip
    yield "time_of_impact", bp.time_of_impact, {
        "shapes": shapes(), "other": shapes(), "pairs": [[0, 1]], "motions": [[1, 0]], "angular_motions": [3.0],
        "other_angular_motions": [-3.0], "target": [0.5],
    }  # fmt: skip
    yield "raycast", bp.raycast, {
        "shapes": shapes(), "origins": [[-5, 0]], "directions": [[1, 0]], "rows": [0], "max_distance": 9.0,
        "every": True, "workers": 1,
    }  # fmt: skip
    some = {
        "solid": True,
        "workers": 1,
        **filters(),
        "group": [0, 0, 1],
        "ignore_pairs": [[0, 2]],
        "parent": [1, 1, -1],
    }
    yield "clearances", bp.clearances, {"shapes": solids(), "max_distance": 1.0, **some}
    yield "clearances", bp.clearances, {"shapes": solids(), "other": solids(), "parent": ([1, 1, -1], [1, 2, 3])}
    yield "clashes", bp.clashes, {"shapes": solids(), "clearance": 1.0, "tolerance": 0.1, **some}
    yield "clashes", bp.clashes, {"shapes": solids(), "other": solids()}
    links = [bp.Link("a", bp.Sphere(1)), bp.Link("b", bp.Sphere(1), joint="prismatic")]
    yield "Articulated", bp.Articulated, {
        "links": links, "allowed": [("a", "b")], "neighbors": True, "pairs": [[0, 1]],
    }  # fmt: skip
    yield "Obstacles", bp.Obstacles, {"shapes": [solids(), bp.Sphere(1)], "points": [[1, 1, 1]], "radius": 0.1}
    hinge = {"joint": "revolute", "axis": (0, 0, 1), "limits": (0, 1), "joint_name": "hinge", "mimic": None}
    frame = {"position": (0, 0, 0), "rotation": (1, 0, 0, 0)}
    yield "Link", lambda **given: bp.Articulated([bp.Link(**given)]), {
        "name": "a", "shapes": bp.Sphere(1), "parent": None, **hinge, **frame,
    }  # fmt: skip
    yield "cameras.look_at", bp.cameras.look_at, {"eye": (0, 0, 5), "target": (0, 0, 0), "up": (0, 1, 0)}
    yield "cameras.perspective", bp.cameras.perspective, {"fov": 1.0, "aspect": 1.5, "near": 0.1, "far": 10.0}
    yield (
        "cameras.orthographic",
        bp.cameras.orthographic,
        {"left": -1, "right": 1, "bottom": -1, "top": 1, "near": 0.1, "far": 10},
    )
    yield "cameras.selection_matrix", bp.cameras.selection_matrix, {
        "matrix": MATRIX, "rectangle": (0, 0, 10, 10), "viewport": (0, 0, 100, 100),
    }  # fmt: skip
    for name, d in {name: d for d, names in CLASSES.items() for name in names}.items():
        yield name, getattr(bp, name), ARGUMENTS[name](Numbers(np.random.default_rng(1), d))
    yield "Shapes", bp.Shapes, {"shapes": bp.Rectangle(1, 2), "positions": POINTS, "rotations": [0, 1, 2]}
    yield "Budget", bp.Budget, {"seconds": 1.0, "tests": 5}
    yield "World", bp.World, {
        "dim": 2, "method": "auto", "bounds": [[0, 0], [1, 1]], "boundary": "bounce", "margin": 0.1, "workers": 1,
    }  # fmt: skip
    for name in ("Index", *(method.index_class for method in bp.METHODS)):
        yield name, getattr(bp, name), {"boxes": BOXES, **filters(), "spheres": SPHERES}
    yield "Index", bp.Index, {"boxes": BOXES, "workers": 1}
    yield "BVH", bp.BVH, {"boxes": BOXES, "workers": 1, "quality": "sah"}
    yield "SweepAndPrune", bp.SweepAndPrune, {"boxes": BOXES, "axis": 0}
    yield "LinearTree", bp.LinearTree, {
        "boxes": BOXES, "storage": "sparse", "traversal": "ancestors", "depth": 4, "bounds": [[0, 0], [20, 20]],
    }  # fmt: skip
    yield "Octree", bp.Octree, {
        "boxes": None, "spheres": SPHERES, "minimum": 1.0, "leaf_capacity": 8, "looseness": 1.5,
    }  # fmt: skip
    yield "IndexOptions", bp.index.IndexOptions.of, {"method": {"name": "octree", "leaf_capacity": 1}}
    yield "IndexOptions.with_texts", bp.Octree.options().with_texts, {"settings": ["leaf_capacity=1"]}
    yield "BVH.options", bp.BVH.options, {"quality": "sah", "workers": 2}
    yield "SweepAndPrune.options", bp.SweepAndPrune.options, {"axis": [1, 2]}
    yield "LinearTree.options", bp.LinearTree.options, {
        "storage": "flat", "traversal": "ancestors", "depth": "auto", "tuning": "origin", "most_depth": 5,
        "first_depth": 2, "least_depth": 1, "tune_every": 10, "tune_shares": (0.2, 0.6), "bounds": [[0, 0], [20, 20]],
    }  # fmt: skip
    yield "Octree.options", bp.Octree.options, {
        "minimum": 1.0, "leaf_capacity": 8, "looseness": 1.5, "bounds": [0, 0, 9, 9],
    }  # fmt: skip
    yield "Octree.from_spheres", bp.Octree.from_spheres, {"centers": POINTS, "radii": [1.0, 1, 1]}
    yield from box_calls()
    yield from file_calls()
    yield "morton.number_of", morton.number_of, {"cell": (1, 2)}
    yield "morton.cell_of", morton.cell_of, {"number": 5, "dim": 2}
    yield "morton.ancestors", morton.ancestors, {"number": 5, "level": 3, "dim": 2}
    yield "morton.common_ancestor", morton.common_ancestor, {"a": 5, "b": 7, "level": 3, "dim": 2}
    yield "morton.level_start", morton.level_start, {"level": 3, "dim": 2}


def box_calls():
    b = box_functions
    yield "boxes.as_boxes", b.as_boxes, {"boxes": BOXES}
    yield "boxes.as_corners", b.as_corners, {"boxes": BOXES}
    yield "boxes.as_numbers", functools.partial(b.as_numbers, name="values"), {"values": BOXES}
    yield "boxes.find_invalid", b.find_invalid, {"boxes": BOXES, "limit": 3}
    yield "boxes.from_centers", b.from_centers, {"centers": POINTS, "half_sizes": 1}
    yield "boxes.from_spheres", b.from_spheres, {"centers": POINTS, "radii": 1}
    yield "boxes.from_points", b.from_points, {"points": POINTS, "radius": 1}
    yield "boxes.from_segments", b.from_segments, {"starts": POINTS, "ends": POINTS + 1, "radius": 1}
    yield "boxes.from_triangles", b.from_triangles, {"vertices": SQUARE, "faces": [[0, 1, 2]]}
    yield "boxes.from_parts", b.from_parts, {"points": SQUARE, "parts": [0, 0, 1]}
    yield "boxes.from_rects", b.from_rects, {"rects": [(0, 0, 1, 1)]}
    yield "boxes.from_xywh", b.from_xywh, {"xywh": [[0, 0, 1, 1]]}
    yield "boxes.grow", b.grow, {"boxes": BOXES, "margin": 1}
    yield "boxes.merge", b.merge, {"boxes": BOXES}
    yield "boxes.swept", b.swept, {"before": BOXES, "after": BOXES + 1}


@functools.cache
def folder():
    return pathlib.Path(tempfile.mkdtemp())


def file_calls():
    path = folder() / "boxes.csv"
    path.write_text("name,xmin,xmax\na,0,1\n")
    yield "io.read_boxes", io.read_boxes, {"path": path, "format": "csv", "name_column": "name"}
    yield "io.write_pairs", io.write_pairs, {"path": folder() / "a.csv", "pairs": [[0, 1]], "names": ["a", "b"]}
    yield "scenes.parse", scenes.parse, {"values": {"world": {"dim": 2}}, "source": "scene", "name": "scene"}
    yield "testing.make_scene", testing.make_scene, {"name": "uniform", "n": 5, "seed": 1}


def methods():
    """Methods: (name, function that makes the object, name of the method, arguments)."""
    indexes = (bp.Index, bp.BVH, *(getattr(bp, row.index_class) for row in bp.METHODS if row.index_class != "BVH"))
    for number, tree in enumerate(indexes):
        make, name = functools.partial(tree, BOXES), tree.__name__
        for method, given in QUERIES.items():
            yield name, make, method, {**given, **ONE, "by": "sphere"}
        if number < 2:  # shared by all
            for method, given in CHANGES.items():
                yield name, make, method, given
        yield name, make, "pairs", {**PAIR_OPTIONS, **filters(True), "sort": True, "max_pairs": 9, "by": "sphere"}
        yield name, make, "pairs", {"other": BOXES, "batch": 1}
        yield name, make, "count_pairs", {**PAIR_OPTIONS, **filters(True), "by": "sphere"}
        yield name, make, "changes", {"workers": 1, "touching": True, "by": "sphere", **filters(True)}
    yield "BVH", functools.partial(bp.BVH, BOXES), "optimize", {"rounds": 1}
    yield "LinearTree", functools.partial(bp.LinearTree, BOXES), "cells_of", {"boxes": BOXES}
    yield (
        "SweepAndPrune",
        functools.partial(bp.SweepAndPrune, BOXES),
        "query_rows",
        {"rows": [0], "workers": 1, "by": "box"},
    )
    for row in queries.QUERIES:
        method, given = row.name, QUERIES[row.name]
        if row.in_worlds:
            yield "World", world, method, {**given, "layer": "ball", "mask": "ball", "batch": 0, "workers": 1}
    for method, given in WORLD.items():
        yield "World", world, method, given
    yield "Shapes", shapes, "move", {"positions": [[1, 1]], "rotations": [1.0], "rows": [0]}
    yield "Shapes", shapes, "checked_rows", {"rows": [0]}
    yield "Shapes", shapes, "records", {"rows": [0]}
    slide = functools.partial(bp.Articulated, [bp.Link("a", bp.Sphere(1), joint="prismatic")])
    yield "Articulated", slide, "poses", {"q": [[1.0]]}
    yield "Articulated", slide, "placed", {"q": [1.0]}
    yield "Articulated", slide, "collides", {
        "q": [[1.0]], "obstacles": solids(), "padding": 0.1, "pairs": True, "workers": 1,
    }  # fmt: skip
    yield "Articulated", slide, "clearance", {
        "q": [[1.0]], "obstacles": solids(), "max_distance": 1.0, "points": True, "workers": 1,
    }  # fmt: skip
    yield "Articulated", slide, "attach", {
        "link": "a", "shapes": bp.Sphere(1), "position": (0, 0, 1), "rotation": (1, 0, 0, 0), "name": "b",
        "touch_links": ["a"],
    }  # fmt: skip
    yield "Articulated", lambda: slide().attach("a", bp.Sphere(1), name="b"), "detach", {"name": "b"}
    yield "Obstacles", lambda: bp.Obstacles(solids()), "update", {
        "positions": [[1, 1, 1]], "rotations": [[1, 0, 0, 0]], "rows": [0],
    }  # fmt: skip
    yield "Articulated", slide, "edges_collide", {
        "starts": [[1.0]], "ends": [[2.0]], "obstacles": solids(), "padding": 0.1, "tolerance": 1e-4, "workers": 1,
    }  # fmt: skip
    yield "Articulated", slide, "first_contact", {
        "q0": [[1.0]], "q1": [[2.0]], "obstacles": solids(), "padding": 0.1, "tolerance": 1e-4, "workers": 1,
    }  # fmt: skip
    points, discs = functools.partial(bp.BVH(BOXES).query_points, POINTS), bp.Shapes(bp.Circle(1), [[0, 0], [1, 0]])
    yield "QueryResult", points, "padded", {"width": 2, "fill": -1}
    yield "RayHitsAll", functools.partial(bp.BVH(BOXES).raycast_all, POINTS, (1, 0)), "padded", {"width": 2, "fill": -1}
    yield "Contacts", functools.partial(bp.contacts, discs), "padded", {"width": 2, "count": 2, "batch": [0, 1]}


QUERIES = arguments_of(BOXES, np.ones((3, 2)), 9.0)
QUERIES["nearest"]["k"] = 1
CHANGES = {
    "insert": {"boxes": BOXES, **filters(), "batch": [1, 1, 2], "spheres": SPHERES},
    "move": {"rows": [0, 1, 2], "boxes": BOXES, "spheres": SPHERES},
    "update": {"boxes": BOXES, "spheres": SPHERES},
    "remove": {"rows": [0]},
    "boxes_of": {"rows": [0]},
    "handles": {"rows": [0]},
    "rows_of": {"handles": [1 << 32]},
    "set_filters": {"rows": [0], "layer": 1, "mask": 1},
}
PLACED = {"shape": bp.Circle(1), "position": (1, 1), "velocity": (1, 0), "rotation": 0.5, "angular_velocity": 1.0}
WORLD = {
    "add": {
        **PLACED, "body_type": "dynamic", "layer": "ball", "mask": "ball", "group": 0, "ccd": False, "sensor": False,
        "batch": 1,
    },
    "add_many": {
        "shapes": bp.Circle(1), "positions": [[1, 1]], "velocities": [[1, 0]], "rotations": [0.5],
        "angular_velocities": [1.0], "body_type": "dynamic", "layer": "ball", "mask": "ball", "group": 0,
        "batch": 1, "actor": bp.Actor,
    },
    "actor": {"row": 0},
    "handles": {"rows": [0]},
    "ignore": {"pairs": [[0, 1]]},
    "unignore": {"pairs": [[0, 1]]},
    "layer": {"name": "wall", "priority": 1},
    "lidar": {
        "rows": [0], "directions": [0.0, 1.0], "max_distance": 5.0, "frame": "body", "layer": "ball", "mask": "ball",
        "ignore": [0], "workers": 1, "dtype": np.float32,
    },
    "move": {
        "rows": [0], "positions": [[1, 1]], "rotations": [1.0], "velocities": [[1, 0]], "angular_velocities": [1.0],
    },
    "query_shape": {
        "shape": bp.Circle(1), "positions": [[5, 5]], "rotations": [0.5], "workers": 1, "layer": "ball",
        "batch": 0,
    },
    "shapecast": {
        "shape": bp.Circle(1), "positions": [[5, 5]], "motions": [[1, 0]], "rotations": [0.5], "workers": 1,
        "layer": "ball", "batch": 0,
    },
    "remove": {"rows": [0]},
    "rows_in_layer": {"layer": "ball"},
    "rows_of": {"handles": [1 << 32]},
    "set_filters": {"rows": [0], "layer": "ball", "mask": "ball", "group": [1]},
    "set_shapes": {"rows": [0], "shapes": bp.Circle(1)},
    "sleep": {"rows": [0]},
    "wake": {"rows": [0]},
    "step": {"dt": 0.1, "budget": 1.0},
    "visible": {"planes": [[1.0, 0.0, 5.0]], "eye": (0, 0), "lod": (50.0, 200.0), "layer": "ball"},
    "on_enter": {"first": "ball", "second": "ball"},
    "remove_handler": {"handler": len},
}  # fmt: skip


def calls():
    """All of them: (name, function of the arguments, arguments)."""
    for name, function, given in functions():
        yield name, function, given
    for name, make, method, given in methods():
        if isinstance(make, functools.partial) and method in QUERIES | {"changes": {}} and not supports(name, method):
            continue
        yield f"{name}.{method}", functools.partial(_call, make, method), given


def supports(name, method):
    row = next((row for row in bp.METHODS if row.name == re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()), None)
    needed = {row.name: row.capability for row in queries.QUERIES}.get(method, method)
    return row is None or needed in row.capabilities or needed == "query"


def _call(make, method, **given):
    return getattr(make(), method)(**given)


def complaint(name, function, given, parameter, wrong):
    """What is wrong with the answer to one wrong value; None if nothing is."""
    value = WRONG[wrong]()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(**{**given, parameter: value})
    except ACCEPTED as error:
        text = str(error)
        if FOREIGN.search(text):
            return f"{name}({parameter}={wrong}): foreign {type(error).__name__}: {text[:160]}"
        if not any(re.search(rf"\b{name}\b", text) for name in names_of(given)):
            return f"{name}({parameter}={wrong}): unnamed {type(error).__name__}: {text[:160]}"
        if len(text) > 1000:
            return f"{name}({parameter}={wrong}): long"
    except Exception as error:  # the point of the test
        return f"{name}({parameter}={wrong}): {type(error).__name__}: {str(error)[:160]}"
    return None


#: Other names of arguments in messages: those that they are handed on by, or the one that they belong to.
ALIASES = {
    "angular_velocity": "angular_velocities", "centers": "spheres", "directions": "direction", "first": "layer",
    "handles": "handle", "ignore_shared": "mesh", "name": "scene", "name_column": "column", "parts": "part",
    "path": "file", "point": "points", "position": "positions", "radii": "spheres", "rotation": "rotations",
    "row": "rows", "second": "layer", "shape": "shapes", "values": "top level", "velocity": "velocities",
}  # fmt: skip


def names_of(given):
    """What a message may call the arguments: a wrong one may not fit another that is right."""
    return [*given, *(ALIASES[name] for name in given if name in ALIASES)]


def complaints(seed, share):
    """All complaints about a share of all calls, and the number of calls."""
    rng = random.Random(seed)
    found, count = [], 0
    for name, function, given in calls():
        for parameter in given:
            for wrong in WRONG:
                if rng.random() < share:
                    count += 1
                    found.append(complaint(name, function, given, parameter, wrong))
    return [one for one in found if one], count
