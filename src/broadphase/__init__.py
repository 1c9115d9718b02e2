"""Find what collides among many moving things: every overlapping pair of boxes, at native speed.

Start with `pairs`. Boxes are NumPy arrays of shape (n, 2, d): lower corner, upper corner.
"""

from broadphase import boxes, morton
from broadphase.cameras import look_at, orthographic, perspective, selection_matrix
from broadphase.errors import (
    InvalidBoxError,
    InvalidBoxWarning,
    MissingExtraError,
    TooManyPairsError,
    UnknownRowError,
    UnsupportedQueryError,
)
from broadphase.explaining import Explanation, explain
from broadphase.index.answers import Answers, Changes, Nearest, Outline, RayHits, RayHitsAll, SweepHits
from broadphase.index.box_index import BoxIndex
from broadphase.index.brute_force import BruteForce
from broadphase.index.bvh import BVH
from broadphase.index.chosen import Index
from broadphase.index.grid import Grid
from broadphase.index.linear_tree import Cells, LinearTree
from broadphase.index.octree import Octree
from broadphase.index.registry import METHODS
from broadphase.index.stats import IndexStats
from broadphase.index.sweep_and_prune import SweepAndPrune
from broadphase.narrow import Contacts, Impacts, ShapeRayHits, contacts, distance, overlaps, raycast, time_of_impact
from broadphase.narrow.triangles import triangle_pairs
from broadphase.pairs import count_pairs, iter_pairs, pairs
from broadphase.plotting import plot
from broadphase.shapes import (
    AABB,
    Box,
    Capsule,
    Circle,
    Compound,
    ConvexHull,
    ConvexPolygon,
    Mesh,
    Point,
    Rectangle,
    Segment,
    Shape,
    Shapes,
    Sphere,
    Triangle,
)
from broadphase.world.actor import Actor
from broadphase.world.budgets import Budget
from broadphase.world.frame import Frame
from broadphase.world.records import Contact, Event, Hit, Impact, StepInfo
from broadphase.world.viewing import Visible
from broadphase.world.world import World

__all__ = [
    "AABB",
    "BVH",
    "METHODS",
    "Actor",
    "Answers",
    "Box",
    "BoxIndex",
    "BruteForce",
    "Budget",
    "Capsule",
    "Cells",
    "Changes",
    "Circle",
    "Compound",
    "Contact",
    "Contacts",
    "ConvexHull",
    "ConvexPolygon",
    "Event",
    "Explanation",
    "Frame",
    "Grid",
    "Hit",
    "Impact",
    "Impacts",
    "Index",
    "IndexStats",
    "InvalidBoxError",
    "InvalidBoxWarning",
    "LinearTree",
    "Mesh",
    "MissingExtraError",
    "Nearest",
    "Octree",
    "Outline",
    "Point",
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
    "Triangle",
    "UnknownRowError",
    "UnsupportedQueryError",
    "Visible",
    "World",
    "boxes",
    "contacts",
    "count_pairs",
    "distance",
    "explain",
    "iter_pairs",
    "look_at",
    "morton",
    "orthographic",
    "overlaps",
    "pairs",
    "perspective",
    "plot",
    "raycast",
    "selection_matrix",
    "time_of_impact",
    "triangle_pairs",
]

__version__ = "0.1.0"
