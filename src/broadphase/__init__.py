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

from broadphase.cameras import look_at, orthographic, perspective, selection_matrix
from broadphase.errors import (
    FileFormatError,
    InvalidBoxError,
    InvalidBoxWarning,
    MissingExtraError,
    TooManyPairsError,
    UnknownRowError,
    UnsupportedQueryError,
)
from broadphase.index.box_index import BoxIndex
from broadphase.index.brute_force import BruteForce
from broadphase.index.bvh import BVH
from broadphase.index.cells import TreeCells
from broadphase.index.chosen import Index
from broadphase.index.grid import Grid
from broadphase.index.linear_tree import Cells, LinearTree
from broadphase.index.octree import Octree
from broadphase.index.options import IndexOptions
from broadphase.index.registry import METHODS
from broadphase.index.results import (
    Changes,
    Nearest,
    Outline,
    PaddedHits,
    PaddedResult,
    QueryResult,
    RayHits,
    RayHitsAll,
    SweepHits,
)
from broadphase.index.stats import IndexStats
from broadphase.index.sweep_and_prune import Delimiters, SweepAndPrune
from broadphase.joins import join
from broadphase.narrow import (
    Clashes,
    Clearances,
    Contacts,
    Impacts,
    PaddedContacts,
    ShapeRayHits,
    clashes,
    clearances,
    contacts,
    distance,
    overlapping_faces,
    overlaps,
    raycast,
    time_of_impact,
)
from broadphase.narrow.triangles import triangle_pairs
from broadphase.neighbors import NeighborList, Neighbors, neighbors
from broadphase.pairs import Explanation, PaddedPairs, count_pairs, explain, iter_pairs, pairs
from broadphase.robots import Articulated, Link, Obstacles, Poses
from broadphase.shapes import (
    AABB,
    Box,
    Capsule,
    Circle,
    Compound,
    ConvexHull,
    ConvexPolygon,
    CustomRows,
    CustomShape,
    Mesh,
    Point,
    Rectangle,
    Segment,
    Shape,
    Shapes,
    Sphere,
    Triangle,
)
from broadphase.suppression import iou, nms, soft_nms
from broadphase.world.actor import Actor
from broadphase.world.budget import Budget
from broadphase.world.events import Contact, Event, Impact, StepInfo
from broadphase.world.frame import Frame
from broadphase.world.queries import Hit, Visible
from broadphase.world.world import World

if TYPE_CHECKING:
    from broadphase import adapters, boxes, data, demo, gpu, io, morton, recording, scale, scenes, testing
    from broadphase.plotting import plot
    from broadphase.recording import save_replay

__all__ = [
    "AABB",
    "BVH",
    "METHODS",
    "Actor",
    "Articulated",
    "Box",
    "BoxIndex",
    "BruteForce",
    "Budget",
    "Capsule",
    "Cells",
    "Changes",
    "Circle",
    "Clashes",
    "Clearances",
    "Compound",
    "Contact",
    "Contacts",
    "ConvexHull",
    "ConvexPolygon",
    "CustomRows",
    "CustomShape",
    "Delimiters",
    "Event",
    "Explanation",
    "FileFormatError",
    "Frame",
    "Grid",
    "Hit",
    "Impact",
    "Impacts",
    "Index",
    "IndexOptions",
    "IndexStats",
    "InvalidBoxError",
    "InvalidBoxWarning",
    "LinearTree",
    "Link",
    "Mesh",
    "MissingExtraError",
    "Nearest",
    "NeighborList",
    "Neighbors",
    "Obstacles",
    "Octree",
    "Outline",
    "PaddedContacts",
    "PaddedHits",
    "PaddedPairs",
    "PaddedResult",
    "Point",
    "Poses",
    "QueryResult",
    "RayHits",
    "RayHitsAll",
    "Rectangle",
    "Segment",
    "Shape",
    "ShapeRayHits",
    "Shapes",
    "Sphere",
    "StepInfo",
    "SweepAndPrune",
    "SweepHits",
    "TooManyPairsError",
    "TreeCells",
    "Triangle",
    "UnknownRowError",
    "UnsupportedQueryError",
    "Visible",
    "World",
    "adapters",
    "boxes",
    "clashes",
    "clearances",
    "contacts",
    "count_pairs",
    "data",
    "demo",
    "distance",
    "explain",
    "gpu",
    "io",
    "iou",
    "iter_pairs",
    "join",
    "look_at",
    "morton",
    "neighbors",
    "nms",
    "orthographic",
    "overlapping_faces",
    "overlaps",
    "pairs",
    "perspective",
    "plot",
    "raycast",
    "recording",
    "save_replay",
    "scale",
    "scenes",
    "selection_matrix",
    "soft_nms",
    "testing",
    "time_of_impact",
    "triangle_pairs",
]

__version__ = "0.2.0"

_SUBMODULES = frozenset(
    {"adapters", "boxes", "data", "demo", "gpu", "io", "morton", "recording", "scale", "scenes", "testing"}
)
_FUNCTIONS = {"plot": "plotting", "save_replay": "recording"}  # imported on first use, from these submodules
_PUBLIC = frozenset(__all__) | {"__version__"}

# Type checkers read the list above. At run time it goes: pydoc prints every name of __all__ in full, which made
# help(broadphase) half a million characters. The public names are those of dir(broadphase).
del __all__

if not TYPE_CHECKING:  # for them the submodules are imported above, and any other name is an error

    def __getattr__(name):
        if name in _SUBMODULES:
            return import_module(f"broadphase.{name}")
        if name in _FUNCTIONS:
            return getattr(import_module(f"broadphase.{_FUNCTIONS[name]}"), name)
        from broadphase.errors import quoted

        raise AttributeError(
            f"module 'broadphase' has no attribute {quoted(name)}", name=name, obj=sys.modules[__name__]
        )


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
