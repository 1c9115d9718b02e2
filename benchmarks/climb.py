"""Search for scenes on which a method or a step of a world falls, by climbing towards the most expensive box and pair.

A scene is a recipe: clusters, how far their widths and places spread over scales, how unlike sizes and axes are,
copies, far and huge boxes, the order of rows, and for worlds the speed. From random recipes, changes that raise the
cost of a box and a pair are kept. Costs are seconds of the processor, so that other programs disturb little, and are
relative to the uniform scene of as many boxes and axes and of the same dtype. The growth is the exponent between n and
4 n boxes: 1 is linear, 2 quadratic.

    python -m benchmarks.climb                                   # every method and worlds, 20 seconds each
    python -m benchmarks.climb --seconds 300 --seed 3 grid       # longer, for one of them
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.tables import show_table
from broadphase.testing import make_scene
from broadphase.testing.recipes import Recipe

SEED = 7  # of every scene, as in `make_scene`
MOST_PAIRS = 30  # for each box; where there are more, they are most of the time
TOO_SLOW = 2.0  # seconds; such a call is measured once
UNIFORM = {1: "uniform_1d", 2: "uniform_2d", 3: "uniform", 4: "uniform_4d"}
SUBJECTS = ("auto", *(method.name for method in bp.METHODS if method.name != "brute_force"), "world")


@dataclass(frozen=True, slots=True)
class Case:
    """A scene to measure. `speed`: sizes of a box in a step of a world, at most; 0: one body in a hundred moves."""

    recipe: Recipe
    dtype: str
    speed: float = 0.1

    def changed(self, rng: np.random.Generator, dims: range) -> Case:
        """Return a neighbour: one number changed."""
        other = random_case(rng, dims)
        name = str(rng.choice([field.name for field in fields(Recipe)] + ["dtype", "speed"]))
        if name in ("dtype", "speed"):
            return replace(self, **{name: getattr(other, name)})
        return replace(self, recipe=replace(self.recipe, **{name: getattr(other.recipe, name)}))


def random_case(rng: np.random.Generator, dims: range) -> Case:
    """Draw a point of the space."""

    def seldom(number: float) -> float:
        return number if rng.random() < 0.2 else 0.0

    recipe = Recipe(
        dim=int(rng.choice(dims)),
        clusters=int(10 ** rng.uniform(0, 3.5)),
        width_spread=round(rng.choice([0.0, rng.uniform(0, 6)]), 1),
        place_spread=round(rng.choice([0.0, rng.uniform(0, 9)]), 1),
        size_spread=round(rng.choice([0.0, rng.uniform(0, 2)]), 1),
        axis_spread=round(rng.choice([0.0, rng.uniform(0, 4)]), 1),
        shuffled=bool(rng.random() < 0.5),
        sizes_by_width=bool(rng.random() < 0.5),
        overlaps=round(10 ** rng.uniform(-1, 1), 1),
        copies=int(rng.choice([1, 1, 1, 2, 8])),
        far=round(seldom(rng.uniform(0, 0.2)), 3),
        huge=round(seldom(rng.uniform(0, 0.002)), 4),
        axis_order=bool(rng.random() < 0.3),
    )
    return Case(recipe, str(rng.choice(["float32", "float64"])), float(rng.choice([0.0, 0.01, 0.1, 1.0])))


def world_call(boxes: Any, speed: float) -> tuple[Callable[[], Any], int]:
    """Return a call that steps a world of these boxes, which go to and fro, and the number of its contacts."""
    dim = boxes.shape[2]
    boxes = boxes.astype(np.float64)
    centers, sizes = boxes.mean(axis=1), boxes[:, 1] - boxes[:, 0]
    world = bp.World(dim=dim)
    rows = world.add_many(bp.AABB(sizes), centers)
    moving = rows if speed > 0 else rows[::100]
    random = np.random.default_rng(1)
    world.velocities[moving] = random.uniform(-1, 1, (len(moving), dim)) * (speed or 0.1) * sizes[moving]

    def call() -> Any:
        world.velocities[moving] *= -1
        return world.step(1.0)

    for _ in range(3):
        frame = call()
    return call, len(frame.touching)


def call_of(boxes: Any, subject: Any, speed: float) -> tuple[Callable[[], Any], int]:
    """Return the call to measure, and how many boxes and pairs its cost is divided by."""
    pairs = len(bp.pairs(boxes, max_pairs=MOST_PAIRS * len(boxes)))
    if subject == "world":
        call, pairs = world_call(boxes, speed)
        return call, len(boxes) + pairs
    return lambda: bp.pairs(boxes, method=subject), len(boxes) + pairs


def seconds_of(call: Callable[[], Any], times: int) -> float:
    """Return the least time of the processor that a call takes."""
    least = math.inf
    for _ in range(times):
        start = time.process_time()
        call()
        least = min(least, time.process_time() - start)
        if least > TOO_SLOW:
            break
    return least


@cache
def uniform_cost(n: int, dim: int, dtype: str, subject: Any, speed: float) -> float:
    """Measure a box and pair of the uniform scene, in seconds."""
    call, work = call_of(make_scene(UNIFORM[dim], n, dtype=dtype), subject, speed)
    return seconds_of(call, 15) / work


def cost_of(case: Case, n: int, subject: Any, worth: float = 0.0) -> float:
    """Measure a box and pair, in those of the uniform scene: roughly, where it is not `worth` more.

    0 where there are too many pairs.
    """
    boxes = case.recipe.boxes(n, SEED, case.dtype)
    speed = case.speed if subject == "world" else 0.0
    if not np.isfinite(boxes).all():
        return 0.0
    base = uniform_cost(n, case.recipe.dim, case.dtype, subject, speed)
    try:
        call, work = call_of(boxes, subject, speed)
    except bp.TooManyPairsError:
        return 0.0
    ratio = seconds_of(call, 2) / work / base
    return ratio if ratio < worth else min(ratio, seconds_of(call, 6) / work / base)


def growth_of(case: Case, n: int, subject: Any) -> float:
    """Measure the exponent of the cost of a box and pair between n and 4 n boxes, and add 1: 2 is quadratic."""
    costs = []
    for count in (n, 4 * n):
        call, work = call_of(case.recipe.boxes(count, SEED, case.dtype), subject, case.speed)
        costs.append(seconds_of(call, 4) / work)
    return 1 + math.log(costs[1] / costs[0]) / math.log(4)


def climb(n: int, seconds: float, seed: int, subject: Any) -> dict[Case, float]:
    """Climb from random points until the time is over; return the top of each climb."""
    rng = np.random.default_rng(seed)
    dims = range(2, 4) if subject == "world" else range(1, 5)
    end = time.perf_counter() + seconds
    tops: dict[Case, float] = {}
    while time.perf_counter() < end:
        best = random_case(rng, dims)
        cost = cost_of(best, n, subject)
        since = 0
        while since < 20 and time.perf_counter() < end:
            other = best.changed(rng, dims)
            more = cost_of(other, n, subject, 1.05 * cost)
            since += 1
            if more > 1.05 * cost:
                best, cost, since = other, more, 0
        tops[best] = cost
    return tops


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=f"of {', '.join(SUBJECTS)}; default: all")
    parser.add_argument("--boxes", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=20.0, help="for each subject")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shown", type=int, default=10, help="scenes of each subject")
    given = parser.parse_args()
    if unknown := set(given.subjects) - set(SUBJECTS):
        parser.error(f"no such subject: {', '.join(sorted(unknown))}")
    names = [item.name for item in fields(Recipe)]
    for subject in given.subjects or SUBJECTS:
        n = given.boxes if subject != "world" else given.boxes // 4
        tops = climb(n, given.seconds, given.seed, subject)
        worst = sorted(tops.items(), key=lambda item: -item[1])[: given.shown]
        rows = [
            [f"{cost:.2f}", f"{growth_of(case, n, subject):.2f}", case.dtype, f"{case.speed:g}"]
            + [str(value) for value in astuple(case.recipe)]
            for case, cost in worst
            if cost > 0
        ]
        show_table(["× uniform", "growth", "dtype", "speed", *names], rows, f"{subject}, {n:,} boxes")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
