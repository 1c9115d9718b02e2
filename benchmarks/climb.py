"""Search for scenes on which a method or a step of a world falls, by climbing towards the most expensive box and pair.

A scene is a recipe: clusters, how far their widths and places spread over scales, how unlike sizes and axes are,
copies, far and huge boxes, the order of rows; and for worlds how bodies move, come and leave. From random recipes,
changes that raise the cost of a box and a pair are kept. Costs are seconds of the processor, so that other programs
disturb little, and are relative to the uniform scene of as many boxes and axes, of the same dtype and motion. The
growth is the exponent between n and 4 n boxes: 1 is linear, 2 quadratic.

    python -m benchmarks.climb                                   # every method and worlds, 20 seconds each
    python -m benchmarks.climb --seconds 300 --seed 3 grid       # longer, for one of them
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.tables import show_table
from broadphase.testing import make_scene
from broadphase.testing.recipes import Recipe
from broadphase.world.values import Boundary

SEED = 7  # of every scene, as in `make_scene`
MOST_PAIRS = 30  # for each box; where there are more, they are most of the time
STEPS = 4  # of a world, measured as one
TOO_SLOW = 2.0  # seconds; such a call is measured once
BOUNDARIES: tuple[Boundary, ...] = ("none", "none", "wrap", "bounce")
UNIFORM = {1: "uniform_1d", 2: "uniform_2d", 3: "uniform", 4: "uniform_4d"}
SUBJECTS = ("auto", *(method.name for method in bp.METHODS if method.name != "brute_force"), "world")


@dataclass(frozen=True, slots=True)
class Motion:
    """What happens in each step of a world.

    Attributes
    ----------
    speed : float
        Sizes of a box in a step, at most. Bodies go to and fro.
    moving : float
        Share of the bodies that move.
    written : bool
        They are put there, and have no velocity.
    spins : bool
        They spin as well.
    renewed : float
        Share of the bodies that are removed and added again.
    followed : float
        Share of the bodies that are followed on their way (ccd).
    margin : float or None
        That of the world, in sizes of a usual body.
    boundary : {"none", "wrap", "bounce"}
        That of the world.
    batches : int
        Bodies are in so many batches, at random.
    """

    speed: float = 0.1
    moving: float = 1.0
    written: bool = False
    spins: bool = False
    renewed: float = 0.0
    followed: float = 0.0
    margin: float | None = None
    boundary: Boundary = "none"
    batches: int = 1


@dataclass(frozen=True, slots=True)
class Case:
    """A scene to measure; of a world, how its bodies move."""

    recipe: Recipe
    dtype: str
    motion: Motion | None = None

    def changed(self, rng: np.random.Generator, dims: range) -> Case:
        """Return a neighbour: one number changed."""
        other = random_case(rng, dims, self.motion is not None)
        parts = [("recipe", field.name) for field in fields(Recipe)] + [("dtype", "")]
        if self.motion is not None:
            parts += [("motion", field.name) for field in fields(Motion)] * 2
        part, name = parts[int(rng.integers(len(parts)))]
        new: Any = getattr(other, part)
        return replace(self, **{part: replace(getattr(self, part), **{name: getattr(new, name)}) if name else new})


def random_motion(rng: np.random.Generator) -> Motion:
    """Draw how bodies move."""
    return Motion(
        speed=float(rng.choice([0.001, 0.01, 0.1, 1.0, 10.0])),
        moving=float(rng.choice([1.0, 1.0, 0.3, 0.04, 0.03, 0.01, 0.001])),
        written=bool(rng.random() < 0.2),
        spins=bool(rng.random() < 0.3),
        renewed=float(rng.choice([0.0, 0.0, 0.0, 0.001, 0.02, 0.2])),
        followed=float(rng.choice([0.0, 0.0, 0.0, 0.001, 0.03, 1.0])),
        margin=[None, None, None, 0.0, 0.1, 1.0][rng.integers(6)],
        boundary=BOUNDARIES[rng.integers(4)],
        batches=int(rng.choice([1, 1, 1, 10, 1000])),
    )


def random_case(rng: np.random.Generator, dims: range, with_motion: bool = False) -> Case:
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
    return Case(recipe, str(rng.choice(["float32", "float64"])), random_motion(rng) if with_motion else None)


def world_call(boxes: Any, motion: Motion) -> tuple[Callable[[], Any], int]:
    """Return a call of some steps of a world of these boxes, and the pairs of each: of boxes, of events, of impacts.

    Raises
    ------
    ValueError
        They do not fit into a periodic world.
    """
    n, dim = len(boxes), boxes.shape[2]
    boxes = boxes.astype(np.float64)
    centers, sizes = boxes.mean(axis=1), boxes[:, 1] - boxes[:, 0]
    random = np.random.default_rng(1)
    usual = float(np.median(sizes.max(axis=1)))
    bounds = None
    if motion.boundary != "none":
        bounds = boxes[:, 0].min(axis=0) - usual, boxes[:, 1].max(axis=0) + usual
    margin = None if motion.margin is None else motion.margin * usual
    world = bp.World(dim=dim, margin=margin, bounds=bounds, boundary=motion.boundary)
    mover = random.permutation(n)[: max(1, round(motion.moving * n))].astype(np.int32)
    shift = np.zeros((n, dim))
    shift[mover] = random.uniform(-1, 1, (len(mover), dim)) * motion.speed * sizes[mover]
    turns = np.zeros((n, 3) if dim == 3 else n)
    if motion.spins:
        turns[mover] = random.uniform(-0.1, 0.1, turns[mover].shape)
    shapes: Any = bp.AABB(sizes)
    if motion.spins:
        shapes = bp.Box(*sizes.T) if dim == 3 else bp.Rectangle(*sizes.T)
    ccd = np.zeros(n, bool)
    ccd[random.permutation(n)[: round(motion.followed * n)]] = True
    keys = random.integers(0, motion.batches, n)
    world.add_many(shapes, centers, angular_velocities=turns if motion.spins else None, ccd=ccd, batch=keys)
    if not motion.written:
        world.velocities[:] = shift
    renewed = np.sort(random.permutation(n)[: round(motion.renewed * n)]).astype(np.int32)

    def call() -> Any:
        found = 0
        for _ in range(STEPS):
            if motion.written:
                world.positions[mover] += shift[mover]
            if len(renewed):
                world.remove(renewed)
                world.add_many(bp.AABB(sizes[renewed]), centers[renewed], ccd=ccd[renewed], batch=keys[renewed])
            frame = world.step(1.0)
            found += len(frame.enter) + len(frame.exit) + len(frame.impacts.pairs)
            shift[:] *= -1
            if not motion.written:
                world.velocities[:] = shift
        return found

    world.step(0.0)
    if len(world.pairs) > MOST_PAIRS * n:
        raise bp.errors.TooManyPairsError("of boxes that bodies have when they are turned")
    call()
    overlaps = bp.count_pairs(world.boxes, touching=True, batch=keys)
    return call, call() // STEPS + max(overlaps, len(world.pairs))


def call_of(boxes: Any, subject: Any, motion: Motion | None) -> tuple[Callable[[], Any], int]:
    """Return the call to measure, and how many boxes and pairs its cost is divided by."""
    pairs = len(bp.pairs(boxes, max_pairs=MOST_PAIRS * len(boxes)))
    if motion is not None:
        call, pairs = world_call(boxes, motion)
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
def uniform_cost(n: int, dim: int, dtype: str, subject: Any, motion: Motion | None) -> float:
    """Measure a box and pair of the uniform scene, in seconds."""
    call, work = call_of(make_scene(UNIFORM[dim], n, dtype=dtype), subject, motion)
    return seconds_of(call, 15 if motion is None else 5) / work


def cost_of(case: Case, n: int, subject: Any, worth: float = 0.0) -> float:
    """Measure a box and pair, in those of the uniform scene: roughly, where it is not `worth` more.

    0 where there are too many pairs, or the world cannot be.
    """
    boxes = case.recipe.boxes(n, SEED, case.dtype)
    if not np.isfinite(boxes).all():
        return 0.0
    try:
        call, work = call_of(boxes, subject, case.motion)
    except (bp.errors.TooManyPairsError, ValueError):
        return 0.0
    base = uniform_cost(n, case.recipe.dim, case.dtype, subject, case.motion)
    ratio = seconds_of(call, 2) / work / base
    return ratio if ratio < worth else min(ratio, seconds_of(call, 6) / work / base)


def growth_of(case: Case, n: int, subject: Any) -> float:
    """Measure the exponent of the cost of a box and pair between n and 4 n boxes, and add 1: 2 is quadratic."""
    costs = []
    for count in (n, 4 * n):
        try:
            call, work = call_of(case.recipe.boxes(count, SEED, case.dtype), subject, case.motion)
        except (bp.errors.TooManyPairsError, ValueError):
            return math.nan
        costs.append(seconds_of(call, 4) / work)
    return 1 + math.log(costs[1] / costs[0]) / math.log(4)


def climb(n: int, seconds: float, seed: int, subject: Any) -> dict[Case, float]:
    """Climb from random points until the time is over; return the top of each climb."""
    rng = np.random.default_rng(seed)
    dims = range(2, 4) if subject == "world" else range(1, 5)
    end = time.perf_counter() + seconds
    tops: dict[Case, float] = {}
    while time.perf_counter() < end:
        best = random_case(rng, dims, subject == "world")
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


def described(case: Case) -> str:
    """Give what is not by default."""
    parts: list[Any] = [case.recipe] if case.motion is None else [case.recipe, case.motion]
    return ", ".join(
        f"{item.name}={getattr(part, item.name)}"
        for part in parts
        for item in fields(part)
        if getattr(part, item.name) != item.default
    )


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
    for subject in given.subjects or SUBJECTS:
        n = given.boxes if subject != "world" else given.boxes // 4
        tops = climb(n, given.seconds, given.seed, subject)
        worst = sorted(tops.items(), key=lambda item: -item[1])[: given.shown]
        rows = [
            [f"{cost:.2f}", f"{growth_of(case, n, subject):.2f}", case.dtype, described(case)]
            for case, cost in worst
            if cost > 0
        ]
        show_table(["× uniform", "growth", "dtype", "scene"], rows, f"{subject}, {n:,} boxes")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
