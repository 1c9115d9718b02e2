"""How the pairs of a world are found: by which method and why, with how many tests, in which cells."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import broadphase as bp

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["METHODS", "Examination", "Sweep", "all_pairs_of", "cells_of", "examine", "seconds_of_search"]

_STATIC = 1  # in World.body_types
_FANOUT = 8  # children of a node of the tree
_RUNS = 3
METHODS = {str(method.name): method for method in bp.METHODS}
"""The rows of the registry by name."""


class Sweep(NamedTuple):
    """The line along which boxes are sorted."""

    direction: NDArray[np.float64]  # (d,), of length 1
    ends: NDArray[np.float64]  # (n, 2), where each box begins and ends on it
    voids: NDArray[np.float64]  # (k, 2), the gaps where no box is


@dataclass(frozen=True)
class Examination:
    """How the pairs of a world are found."""

    used: str  # the method that does the work: its name in the registry
    why: str  # why this method, in one sentence
    tests: int  # of boxes, that this method takes to find all pairs of these boxes
    depth: int  # levels of its cells; 1 for methods without levels
    parts: int  # number of its cells or nodes
    parts_name: str  # "cells" or "nodes"
    bytes: int  # memory of the index
    tuning: str  # how the method tunes its depth; empty if it does not
    cells_idle: int  # empty cells that an octree keeps; 0 for other methods
    cells_freed: int  # those that it has freed so far
    outline: bp.index.Outline | None  # the cells; None if the method has none, or if they were not requested
    sweep: Sweep | None  # where boxes are sorted; None for other methods, or if no cells were requested


def examine(world: bp.World, frame: bp.world.Frame | None, *, outline: bool = False) -> Examination:
    """Examine how the pairs of a world are found; `frame` is the result of its last step, `outline` adds the cells.

    With "auto", most steps find pairs without an index: here one is built, of the same method. So this takes about as
    long as a step.
    """
    options = bp.index.IndexOptions.of(world.method)
    method, boxes = options.method, world.boxes[world.rows]
    is_auto = method == "auto"
    source: bp.World | bp.index.BoxIndex = world
    if not is_auto:
        stats = world.index_stats()
        why = METHODS[method].idea
    elif frame is not None and "tree" in str(frame.stats["reason"]):
        stats, method = world.index_stats(), "bvh"
        last = frame.stats
        why = f"{last['changed']:,} of {last['bodies']:,} bodies moved: only these are looked up, in a tree."
    else:
        method = bp.explain(boxes).method
        why = METHODS[method].idea
        options = bp.index.IndexOptions.of(method)
        source = index = options.make(boxes)
        index.pairs()
        stats = index.stats()
    tests = stats.get("tests")
    if method == "bvh" and is_auto and frame is not None:
        tests = _tests_of_queries(world, source.outline())
    elif not tests:  # the index of the world has not found all pairs yet
        index = options.make(boxes)
        index.pairs()
        tests = index.stats()["tests"]
    parts_name = "cells" if "cells" in stats else "nodes"
    shape = source.outline() if outline and "outline" in METHODS[method].capabilities else None
    return Examination(
        used=method,
        why=why,
        tests=int(tests),
        depth=int(stats["depth"]),
        parts=int(stats[parts_name]),
        parts_name=parts_name,
        bytes=int(stats["bytes"]),
        tuning=_tuning(options, stats),
        cells_idle=len(stats.get("lives", ())),
        cells_freed=int(stats.get("cells_freed", 0)),
        outline=shape,
        sweep=_sweep_of(boxes, options) if outline and method == "sweep_and_prune" else None,
    )


def _sweep_of(boxes: NDArray[np.float64], options: bp.index.IndexOptions) -> Sweep:
    index: Any = options.make(boxes)
    direction = index.direction
    middles, reach = boxes.mean(axis=1) @ direction, (boxes[:, 1] - boxes[:, 0]) @ np.abs(direction) / 2
    return Sweep(direction, np.stack([middles - reach, middles + reach], axis=1), index.void_borders)


def _tuning(options: bp.index.IndexOptions, stats: bp.index.IndexStats) -> str:
    settings = dict(options.settings)
    if settings.get("tuning") != "origin" or settings.get("depth", "auto") != "auto":
        return ""
    every, frames = settings.get("tune_every", 60), stats["frames"]
    return f"{stats['depth']} ({stats['leaf_share']:.0%} leaves, next in {every - (frames - 1) % every})"


def all_pairs_of(rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """List every two of some rows, shape (k, 2): two columns, first < second where the rows ascend."""
    first, second = np.triu_indices(len(rows), 1)
    return np.stack([rows[first], rows[second]]).T


def seconds_of_search(world: bp.World, options: bp.index.IndexOptions) -> float:
    """Time how long it takes to find the shapes that overlap. The best of a few.

    By brute force, the shapes of all pairs are tested. Otherwise all boxes of an index of its own are moved, all pairs
    of boxes are found, and their shapes tested.
    """
    rows, boxes, shapes, best = world.rows, world.boxes[world.rows], world.shapes, np.inf
    index = options.make(boxes)
    every = all_pairs_of(rows) if isinstance(index, bp.BruteForce) else None
    for _ in range(_RUNS):
        began = perf_counter()
        if every is None:
            index.update(boxes)
        bp.overlaps(shapes, pairs=rows[index.pairs()] if every is None else every)
        best = min(best, perf_counter() - began)
    return best


def cells_of(outline: bp.index.Outline, places: Any) -> NDArray[np.int64]:
    """Find the number of the deepest cell that each point, (k, d), is in; -1 for points in no cell."""
    found = bp.BVH((outline.lower, outline.upper)).query_points(places)
    rank = outline.level[found.rows].astype(np.int64) * (len(outline.level) + 1) + found.rows
    best = np.full(len(places), -1, np.int64)
    np.maximum.at(best, found.query_rows, rank)
    return np.where(best < 0, -1, best % (len(outline.level) + 1))


def _tests_of_queries(world: bp.World, nodes: bp.index.Outline) -> int:
    """Count the box tests of querying a tree with each moving box: all children of each node that it meets."""
    rows = world.rows[world.body_types[world.rows] != _STATIC]
    return _FANOUT * bp.count_pairs(world.boxes[rows], (nodes.lower, nodes.upper))
