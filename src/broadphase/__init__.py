"""Find what collides among many moving bodies: every overlapping pair of boxes, at native speed.

Boxes are NumPy arrays of shape (n, 2, d): lower corner, upper corner. Start with `pairs`:

>>> import broadphase as bp
>>> bp.pairs([[[0, 0], [2, 2]], [[1, 1], [3, 3]], [[9, 9], [9, 9]]])
array([[0, 1]], dtype=int32)

Pairs of boxes
    pairs, count_pairs, iter_pairs, explain, triangle_pairs
Tables
    join (rows of pandas, polars, PyArrow and DuckDB that overlap)
Points
    neighbors (within a cutoff, also in periodic cells), NeighborList
Detections
    nms (non-maximum suppression), soft_nms, iou; also of boxes with an angle
Boxes that are kept, and queried
    Index; one method each: BVH, Octree, LinearTree, Grid, SweepAndPrune, BruteForce
Bodies that move, and events when they touch
    World, Actor, Frame, Event, Contact, Hit, Impact, Budget
Shapes
    Circle, Rectangle, ConvexPolygon in the plane; Sphere, Box, ConvexHull, Mesh in space;
    AABB, Point, Segment, Capsule, Triangle, Compound in both; CustomShape, CustomRows for types of your own
Placed shapes, pair by pair
    Shapes, overlaps, overlapping_faces, contacts, distance, raycast, time_of_impact
Parts in space, broad and narrow phase together
    clearances, clashes
Robots
    Articulated, Link: trees of links in thousands of configurations at once; Obstacles
Cameras
    perspective, orthographic, look_at, selection_matrix
Pictures
    plot, save_replay (a page that plays a run in any browser)
Submodules, imported on first use
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

# At once: this submodule is named as a function, which it would hide if it were imported later.
from broadphase.neighbors import NeighborList as NeighborList, Neighbors as Neighbors, neighbors as neighbors

if TYPE_CHECKING:  # what _HOMES says, for type checkers and editors
    from broadphase import (
        adapters as adapters,
        boxes as boxes,
        data as data,
        demo as demo,
        gpu as gpu,
        io as io,
        morton as morton,
        recording as recording,
        scale as scale,
        scenes as scenes,
        testing as testing,
    )
    from broadphase.cameras import (
        look_at as look_at,
        orthographic as orthographic,
        perspective as perspective,
        selection_matrix as selection_matrix,
    )
    from broadphase.capacity import PaddedPairs as PaddedPairs
    from broadphase.errors import (
        FileFormatError as FileFormatError,
        InvalidBoxError as InvalidBoxError,
        InvalidBoxWarning as InvalidBoxWarning,
        MissingExtraError as MissingExtraError,
        PartialFileWarning as PartialFileWarning,
        TooManyPairsError as TooManyPairsError,
        UnknownRowError as UnknownRowError,
        UnsupportedQueryError as UnsupportedQueryError,
    )
    from broadphase.explanation import Explanation as Explanation, explain as explain
    from broadphase.index import (
        BVH as BVH,
        METHODS as METHODS,
        BoxIndex as BoxIndex,
        BruteForce as BruteForce,
        Cells as Cells,
        Changes as Changes,
        Delimiters as Delimiters,
        Grid as Grid,
        Index as Index,
        IndexOptions as IndexOptions,
        IndexStats as IndexStats,
        LinearTree as LinearTree,
        Nearest as Nearest,
        Octree as Octree,
        Outline as Outline,
        PaddedHits as PaddedHits,
        PaddedResult as PaddedResult,
        QueryResult as QueryResult,
        RayHits as RayHits,
        RayHitsAll as RayHitsAll,
        SweepAndPrune as SweepAndPrune,
        SweepHits as SweepHits,
        TreeCells as TreeCells,
    )
    from broadphase.joins import join as join
    from broadphase.narrow import (
        Clashes as Clashes,
        Clearances as Clearances,
        Contacts as Contacts,
        Impacts as Impacts,
        PaddedContacts as PaddedContacts,
        ShapeRayHits as ShapeRayHits,
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
    from broadphase.recording import save_replay as save_replay
    from broadphase.robots import Articulated as Articulated, Link as Link, Obstacles as Obstacles, Poses as Poses
    from broadphase.searches import count_pairs as count_pairs, iter_pairs as iter_pairs, pairs as pairs
    from broadphase.shapes import (
        AABB as AABB,
        Box as Box,
        Capsule as Capsule,
        Circle as Circle,
        Compound as Compound,
        ConvexHull as ConvexHull,
        ConvexPolygon as ConvexPolygon,
        CustomRows as CustomRows,
        CustomShape as CustomShape,
        Mesh as Mesh,
        Point as Point,
        Rectangle as Rectangle,
        Segment as Segment,
        Shape as Shape,
        Shapes as Shapes,
        Sphere as Sphere,
        Triangle as Triangle,
    )
    from broadphase.suppression import iou as iou, nms as nms, soft_nms as soft_nms
    from broadphase.world.actor import Actor as Actor
    from broadphase.world.budget import Budget as Budget
    from broadphase.world.events import Contact as Contact, Event as Event, Impact as Impact, StepInfo as StepInfo
    from broadphase.world.frame import Frame as Frame
    from broadphase.world.queries import Hit as Hit, Visible as Visible
    from broadphase.world.world import World as World

__version__ = "0.2.0"

# Where each public name stands. Most are imported on first use, which keeps ``import broadphase`` short.
_HOMES = {
    "cameras": "look_at orthographic perspective selection_matrix",
    "capacity": "PaddedPairs",
    "errors": (
        "FileFormatError InvalidBoxError InvalidBoxWarning MissingExtraError PartialFileWarning TooManyPairsError "
        "UnknownRowError UnsupportedQueryError"
    ),
    "explanation": "Explanation explain",
    "index": (
        "BVH BoxIndex BruteForce Cells Changes Delimiters Grid Index IndexOptions IndexStats LinearTree "
        "METHODS Nearest Octree Outline PaddedHits PaddedResult QueryResult RayHits RayHitsAll SweepAndPrune "
        "SweepHits TreeCells"
    ),
    "joins": "join",
    "narrow": (
        "Clashes Clearances Contacts Impacts PaddedContacts ShapeRayHits clashes clearances contacts distance "
        "overlapping_faces overlaps raycast time_of_impact"
    ),
    "narrow.triangles": "triangle_pairs",
    "neighbors": "NeighborList Neighbors neighbors",
    "plotting": "plot",
    "recording": "save_replay",
    "robots": "Articulated Link Obstacles Poses",
    "searches": "count_pairs iter_pairs pairs",
    "shapes": (
        "AABB Box Capsule Circle Compound ConvexHull ConvexPolygon CustomRows CustomShape Mesh Point "
        "Rectangle Segment Shape Shapes Sphere Triangle"
    ),
    "suppression": "iou nms soft_nms",
    "world.actor": "Actor",
    "world.budget": "Budget",
    "world.events": "Contact Event Impact StepInfo",
    "world.frame": "Frame",
    "world.queries": "Hit Visible",
    "world.world": "World",
}

_SUBMODULES = frozenset(
    {"adapters", "boxes", "data", "demo", "gpu", "io", "morton", "recording", "scale", "scenes", "testing"}
)
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
