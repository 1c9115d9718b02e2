"""The methods of finding pairs: a registry, and one file for each that has more to offer than `pairs`."""

from broadphase.capacity import PaddedPairs
from broadphase.index.box_index import BoxIndex
from broadphase.index.brute_force import BruteForce
from broadphase.index.bvh import BVH
from broadphase.index.cells import TreeCells
from broadphase.index.chosen import Index
from broadphase.index.grid import Grid
from broadphase.index.linear_tree import Cells, LinearTree
from broadphase.index.octree import Octree
from broadphase.index.options import IndexOptions
from broadphase.index.results import (
    Changes,
    Nearest,
    Outline,
    PaddedHits,
    PaddedResult,
    QueryResult,
    RayHits,
    RayHitsAll,
    ShapecastHits,
)
from broadphase.index.stats import IndexStats
from broadphase.index.sweep_and_prune import Delimiters, SweepAndPrune
from broadphase.methods import METHODS

__all__ = [
    "BVH", "METHODS", "BoxIndex", "BruteForce", "Cells", "Changes", "Delimiters", "Grid", "Index", "IndexOptions",
    "IndexStats", "LinearTree", "Nearest", "Octree", "Outline", "PaddedHits", "PaddedPairs", "PaddedResult",
    "QueryResult", "RayHits", "RayHitsAll", "ShapecastHits", "SweepAndPrune", "TreeCells",
]  # fmt: skip
