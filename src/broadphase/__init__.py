"""Find what collides among many moving bodies: every overlapping pair of boxes, at native speed.

Boxes are NumPy arrays of shape (n, 2, d): lower corner, upper corner. Start with `pairs`:

>>> import broadphase as bp
>>> bp.pairs([[[0, 0], [2, 2]], [[1, 1], [3, 3]], [[9, 9], [9, 9]]])
array([[0, 1]], dtype=int32)

Pairs of boxes
    pairs, count_pairs, iter_pairs, explain, triangle_pairs
Tables
    join (rows of pandas, polars, PyArrow and DuckDB that overlap)
    intervals (merge, cluster, coverage, subtract, complement and split them; also of arrays)
Points
    neighbors (within a cutoff, also in periodic cells), NeighborList
Detections
    nms (non-maximum suppression), soft_nms, iou; also of boxes with an angle
Boxes that are kept, and queried
    Index; one method each: BVH, Octree, LinearTree, Grid, SweepAndPrune, BruteForce
Bodies that move, and events when they touch
    World, Actor, Budget
Shapes
    Circle, Rectangle, ConvexPolygon, Sector in the plane;
    Sphere, Box, Cylinder, Cone, Ellipsoid, ConvexHull, Mesh, HeightField, PointCloud in space;
    AABB, Point, Segment, Capsule, Triangle, HalfSpace, Compound in both; CustomShape for types of your own
Placed shapes, pair by pair
    Shapes, overlaps, overlapping_faces, contacts, distance, raycast, time_of_impact
Parts in space, broad and narrow phase together
    clearances, clashes
Robots
    Articulated, Link: trees of links in thousands of configurations at once; Obstacles
Pictures
    plot, save_replay (a page that plays a run in any browser)
Submodules, imported on first use
    index, world, shapes, narrow, points, robots, explanation (the types of what indexes, worlds and so on return),
    errors (exceptions and warnings), cameras (matrices of views),
    boxes (make and change box arrays), io (files), data (bundled boxes), scenes (worlds from files),
    recording (Rerun files and replay pages), demo (the live page), testing (scenes and the oracle for your tests),
    morton (Z order), scale (more boxes than fit into memory, from files to files),
    gpu (boxes on a CUDA device, which pairs takes too),
    adapters (functions of pygame and other libraries, faster)

``help(bp.pairs)`` and so on describe each. Documentation: docs/index.md of the repository.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

# Before NumPy: it refuses subinterpreters, and NumPy that one of them has loaded does not load in another.
import broadphase._native  # noqa: F401

if TYPE_CHECKING:  # what _HOMES says, for type checkers and editors
    from broadphase import (
        adapters as adapters,
        boxes as boxes,
        cameras as cameras,
        data as data,
        demo as demo,
        errors as errors,
        explanation as explanation,
        gpu as gpu,
        index as index,
        intervals as intervals,
        io as io,
        morton as morton,
        narrow as narrow,
        points as points,
        recording as recording,
        robots as robots,
        scale as scale,
        scenes as scenes,
        shapes as shapes,
        testing as testing,
        world as world,
    )
    from broadphase.explanation import explain as explain
    from broadphase.index import (
        BVH as BVH,
        METHODS as METHODS,
        BruteForce as BruteForce,
        Grid as Grid,
        Index as Index,
        LinearTree as LinearTree,
        Octree as Octree,
        SweepAndPrune as SweepAndPrune,
    )
    from broadphase.joins import join as join
    from broadphase.narrow import (
        clashes as clashes,
        clearances as clearances,
        contacts as contacts,
        distance as distance,
        overlapping_faces as overlapping_faces,
        overlaps as overlaps,
        raycast as raycast,
        time_of_impact as time_of_impact,
    )
    from broadphase.narrow.triangles import triangle_pairs as triangle_pairs
    from broadphase.plotting import plot as plot
    from broadphase.points import NeighborList as NeighborList, neighbors as neighbors
    from broadphase.recording import save_replay as save_replay
    from broadphase.robots import Articulated as Articulated, Link as Link, Obstacles as Obstacles
    from broadphase.searches import count_pairs as count_pairs, iter_pairs as iter_pairs, pairs as pairs
    from broadphase.shapes import (
        AABB as AABB,
        Box as Box,
        Capsule as Capsule,
        Circle as Circle,
        Compound as Compound,
        Cone as Cone,
        ConvexHull as ConvexHull,
        ConvexPolygon as ConvexPolygon,
        CustomShape as CustomShape,
        Cylinder as Cylinder,
        Ellipsoid as Ellipsoid,
        HalfSpace as HalfSpace,
        HeightField as HeightField,
        Mesh as Mesh,
        Point as Point,
        PointCloud as PointCloud,
        Rectangle as Rectangle,
        Sector as Sector,
        Segment as Segment,
        Shapes as Shapes,
        Sphere as Sphere,
        Triangle as Triangle,
    )
    from broadphase.suppression import iou as iou, nms as nms, soft_nms as soft_nms
    from broadphase.world import Actor as Actor, Budget as Budget, World as World

__version__ = "0.2.0"

# Where each public name stands. Most are imported on first use, which keeps ``import broadphase`` short.
_HOMES = {
    "explanation": "explain",
    "index": "BVH BruteForce Grid Index LinearTree METHODS Octree SweepAndPrune",
    "joins": "join",
    "narrow": "clashes clearances contacts distance overlapping_faces overlaps raycast time_of_impact",
    "narrow.triangles": "triangle_pairs",
    "plotting": "plot",
    "points": "NeighborList neighbors",
    "recording": "save_replay",
    "robots": "Articulated Link Obstacles",
    "searches": "count_pairs iter_pairs pairs",
    "shapes": (
        "AABB Box Capsule Circle Compound Cone ConvexHull ConvexPolygon CustomShape Cylinder Ellipsoid HalfSpace "
        "HeightField Mesh Point PointCloud Rectangle Sector Segment Shapes Sphere Triangle"
    ),
    "suppression": "iou nms soft_nms",
    "world": "Actor Budget World",
}

_SUBMODULES = frozenset(
    {
        "adapters", "boxes", "cameras", "data", "demo", "errors", "explanation", "gpu", "index", "intervals", "io",
        "morton", "narrow", "points", "recording", "robots", "scale", "scenes", "shapes", "testing", "world",
    }
)  # fmt: skip
_MODULE_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
_PUBLIC = sorted({"__version__", *_SUBMODULES, *_MODULE_OF})

if not TYPE_CHECKING:  # for them any other name is an error

    def __getattr__(name):
        if name in _SUBMODULES:
            return import_module(f"broadphase.{name}")
        if name in _MODULE_OF:
            return globals().setdefault(name, getattr(import_module(f"broadphase.{_MODULE_OF[name]}"), name))
        if name == "__all__" and sys._getframe(1).f_globals.get("__name__") != "pydoc":
            return list(_PUBLIC)  # pydoc would print each of them in full, half a million characters
        from broadphase.errors import quoted

        raise AttributeError(
            f"module 'broadphase' has no attribute {quoted(name)}", name=name, obj=sys.modules[__name__]
        )


def __dir__() -> list[str]:
    return list(_PUBLIC)
