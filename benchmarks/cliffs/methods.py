"""Rows of methods with settings: who is quicker at 300 spheres, trees that tune themselves, spheres that decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import median_times
from benchmarks.rows import Row, ratio
from broadphase import scenes
from broadphase.methods import MethodName
from broadphase.testing.recipes import Recipe


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows of few bodies, of settings in worlds, and of spheres in an octree."""
    yield from _few_bodies(pace)
    yield from _tuned_worlds(pace)
    yield from _spheres(pace)
    yield from _needles(pace)


def _few_bodies(pace: float) -> Iterator[Row]:
    """Time a frame of an index of 300 spheres: all move, and all pairs are found."""
    world = scenes.load("bouncing_spheres").run(50).world
    boxes = world.boxes[world.rows]
    indexes = {method.name: bp.index.IndexOptions.of(method.name).make(boxes) for method in bp.METHODS}
    found = median_times({name: partial(_frame, index, boxes) for name, index in indexes.items()}, budget=2 * pace)
    brute_force = found.pop("brute_force")
    for name, timing in found.items():
        value = timing.milliseconds / brute_force.milliseconds
        what = f"{name}, a frame of 300 spheres, of brute force's time"
        yield Row(what, value, "×", None, False, timing.milliseconds, brute_force.milliseconds)


def _tuned_worlds(pace: float) -> Iterator[Row]:
    """Time steps of a world of 10,000 spheres by a linear tree of tuned depth, beside one of measured depth.

    A tree that tunes itself is searched in each step; otherwise, the pairs of a step follow from those of the last one.
    """
    methods = {"measured": bp.LinearTree.options(), "tuned": bp.LinearTree.options(tuning="origin", tune_every=10)}
    steps: dict[str, Callable[[], Any]] = {}
    for name, method in methods.items():
        rng = np.random.default_rng(3)
        world = bp.World(dim=3, method=method, bounds=[[0] * 3, [60] * 3], boundary="bounce")
        world.add_many(bp.Sphere(0.4), rng.uniform(1, 59, (10_000, 3)), velocities=rng.normal(0, 1, (10_000, 3)))
        for _ in range(45):  # until the depth has settled
            world.step(0.01)
        steps[name] = partial(world.step, 0.01)
    found = median_times(steps, budget=2 * pace)
    yield ratio("step of 10,000 spheres, depth tuned, of measured", found["tuned"], found["measured"], 4.0)


def _spheres(pace: float) -> Iterator[Row]:
    """Ask an octree of 20,000 spheres where spheres decide, and where their boxes do."""
    rng = np.random.default_rng(4)
    tree = bp.Octree.from_spheres(rng.uniform(0, 60, (20_000, 3)), rng.uniform(0.2, 0.6, 20_000))
    origins, directions = rng.uniform(0, 60, (5000, 3)), rng.normal(0, 1, (5000, 3))
    view = bp.cameras.perspective(1.0, 1.5, 1.0, 80.0) @ bp.cameras.look_at([30, 30, 90], [30, 30, 30])
    questions: dict[str, Callable[..., Any]] = {
        "pairs": tree.pairs,
        "5,000 balls": partial(tree.query_ball, origins, 1.0),
        "5,000 rays, all hits": partial(tree.raycast_all, origins, directions, 20.0),
        "a view": partial(tree.frustum, view),
    }
    for name, ask in questions.items():
        found = median_times({"sphere": partial(ask, by="sphere"), "box": ask}, budget=pace)
        row = ratio(f"{name} by spheres, of by boxes", found["sphere"], found["box"], 4.0)
        # Boxes wholly in view are found without being tested, and pairs of boxes that have not moved are kept; those of
        # spheres are not.
        yield replace(row, target=None) if name in ("a view", "pairs") else row


def _needles(pace: float) -> Iterator[Row]:
    """Find the pairs of 20,000 needles, along one axis or crossing in 4D, per box and pair, to those of cubes."""
    along, crossing = Recipe(3, 1, axis_spread=3.9), Recipe(4, 1, axis_spread=3.0, shuffled=True, overlaps=0.1)
    targets: dict[MethodName, tuple[float, float]] = {
        "bvh": (3.0, 5.0),
        "linear_tree": (2.5, 5.0),
        "octree": (4.0, 4.0),
    }
    for number, (what, recipe) in enumerate({"needles": along, "needles that cross in 4D": crossing}.items()):
        cubes, needles = (made.boxes(20_000, 7, "float64") for made in (Recipe(recipe.dim, 1), recipe))
        works = [len(boxes) + bp.count_pairs(boxes) for boxes in (cubes, needles)]
        for name, target in targets.items():
            calls = {"cubes": partial(bp.pairs, cubes, method=name), "needles": partial(bp.pairs, needles, method=name)}
            found = median_times(calls, budget=pace)
            row = ratio(
                f"{name}, pairs of {what}", found["needles"], found["cubes"], 1.0, works[0] / works[1], "to cubes"
            )
            yield replace(row, target=target[number])


def _frame(index: bp.index.BoxIndex, boxes: Any) -> None:
    index.update(boxes)
    index.pairs()
