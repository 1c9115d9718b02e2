"""Steps of worlds: periodic ones, on two threads, where few or all bodies move, and where some are followed."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable, Iterator
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import broadphase as bp
from benchmarks.measuring import Timing, argsort_call, median_times
from benchmarks.robots import ball
from benchmarks.rows import Row, in_t, ratio

_COUNT = 100_000
_MANY = 12


def _balls(count: int, moving: int, **options: Any) -> bp.World:
    """Make a world of balls that hardly touch, the first of which move slowly."""
    random = np.random.default_rng(5)
    edge = count ** (1 / 3)
    if "boundary" in options:
        options["bounds"] = [[0.0] * 3, [edge] * 3]
    ccd = np.arange(count) < options.pop("followed", 0)
    world = bp.World(3, **options)
    velocities = np.zeros((count, 3))
    velocities[:moving] = random.uniform(-0.016, 0.016, (moving, 3))
    world.add_many(bp.Sphere(0.4), random.random((count, 3)) * edge, velocities=velocities, ccd=ccd)
    return world


def _step_of(world: bp.World) -> Callable[[], Any]:
    for _ in range(8):  # by then it has the buffers and trees that it is going to use
        world.step(1.0)
    return lambda: world.step(1.0)


def _many_steps_of(world: bp.World, jumps: bool) -> Callable[[], Any]:
    """Make a call of many steps; one body may be put elsewhere before each."""
    step, random = _step_of(world), np.random.default_rng(6)

    def run() -> None:
        for _ in range(_MANY):
            if jumps:
                world.positions[7] = random.random(3) * _COUNT ** (1 / 3)
            step()

    return run


def _followed_bodies(
    dimension: int,
    radii: float,
    is_followed: bool,
    boundary: Any = "none",
    asleep: bool = False,
    are_hulls: bool = False,
) -> Callable[[], Any]:
    """Make the call of a step of 20,000 balls, or hulls in them, that move so many radii in it, with or without ccd."""
    random, count, radius = np.random.default_rng(7), 20_000, 0.4
    edge = 200.0 if dimension == 2 else count ** (1 / 3)
    bounds = None if boundary == "none" else [[0.0] * dimension, [edge] * dimension]
    world = bp.World(dimension, bounds=bounds, boundary=boundary)
    ball_shape = bp.Circle(radius) if dimension == 2 else bp.Sphere(radius)
    shape = bp.ConvexHull(ball(1)[0] * radius) if are_hulls else ball_shape
    velocities = random.normal(size=(count, dimension)) * radii * radius
    rows = world.add_many(shape, random.random((count, dimension)) * edge, velocities=velocities, ccd=is_followed)
    if asleep:
        world.sleep(rows)
    for _ in range(4):
        world.step(1.0)
    return lambda: world.step(1.0)


def _route_pairs(dimension: int, radii: float) -> float:
    """Count how often the boxes of routes of such balls overlap, for each time that their own do."""
    random, count, radius = np.random.default_rng(7), 20_000, 0.4
    edge = 200.0 if dimension == 2 else count ** (1 / 3)
    motions = random.normal(size=(count, dimension)) * radii * radius
    places = random.random((count, dimension)) * edge
    lower, upper = places - radius, places + radius
    swept = lower + np.minimum(motions, 0), upper + np.maximum(motions, 0)
    return bp.count_pairs(swept) / bp.count_pairs((lower, upper))


def _followed_rows(budget: float) -> Iterator[Row]:
    """Compare steps in which all bodies are followed to those in which none is.

    As long as bodies move less than they are wide, that must not take three times as long; what moves farther passes by
    more than it is near at the end, and so many pairs must be looked at. Bodies without a boundary spread: few steps.

    At 2.5 radii, the search for boxes around routes is a tenth of the step, and the test of moving balls another one:
    a test in the leaves of the search could save no more. What is left is 0.22 to 0.28 µs for each pair that the
    balls leave, two of which are one impact, spread over its tests, their order, and the answer.
    """
    for what, dimension, radii, options in (
        ("discs, still", 2, 0.0, {}),
        ("discs, asleep", 2, 0.25, {"asleep": True}),
        ("discs, moving a quarter of their radius", 2, 0.25, {}),
        ("discs, moving a quarter of their radius and bouncing", 2, 0.25, {"boundary": "bounce"}),
        ("discs, moving a quarter of their radius on a torus", 2, 0.25, {"boundary": "wrap"}),
        ("balls, moving a quarter of their radius and bouncing", 3, 0.25, {"boundary": "bounce"}),
        ("balls, moving a quarter of their radius on a torus", 3, 0.25, {"boundary": "wrap"}),
        ("hulls, moving a quarter of their radius and bouncing", 3, 0.25, {"boundary": "bounce", "are_hulls": True}),
        ("discs, moving 2.5 radii", 2, 2.5, {}),
        ("discs, moving 2.5 radii and bouncing", 2, 2.5, {"boundary": "bounce"}),
        ("discs, moving 2.5 radii on a torus", 2, 2.5, {"boundary": "wrap"}),
        ("balls, moving 2.5 radii and bouncing", 3, 2.5, {"boundary": "bounce"}),
        ("balls, moving 2.5 radii on a torus", 3, 2.5, {"boundary": "wrap"}),
        ("hulls, moving 2.5 radii and bouncing", 3, 2.5, {"boundary": "bounce", "are_hulls": True}),
    ):
        calls = {name: _followed_bodies(dimension, radii, name == "ccd", **options) for name in ("ccd", "plain")}
        found = median_times(calls, budget=budget, most=12, clock=thread_time)
        more = _route_pairs(dimension, radii) if radii > 1 else 1.0
        note = "to the same without" if more == 1.0 else f"to the same without; of pairs of boxes {more:.1f} ×"
        yield ratio(f"ccd of all of 20,000 {what}", found["ccd"], found["plain"], max(3.0, 1.2 * more), note=note)
    # It reports 147,600 impacts with their normals besides: as much as the contacts of these pairs.
    calls = {"half": _first_step(0.5), "plain": _first_step(0.0), "contacts": _contacts_of_impacts()}
    found = median_times(calls, budget=budget, clock=thread_time)
    contacts = found["contacts"].milliseconds / found["plain"].milliseconds
    what = "ccd of half of 4,000 balls that touch 100 each, first step"
    note = f"to the same without; the contacts of what it reports take {contacts:.1f} ×"
    yield ratio(what, found["half"], found["plain"], max(3.0, 1 + contacts), note=note)


def _touching_balls() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Draw 4,000 balls, each of which touches 100 others: places, radii, and a number of each below 1."""
    random, count = np.random.default_rng(1), 4_000
    places, radii = random.random((count, 3)) * count ** (1 / 3), np.where(random.random(count) < 1 / 3, 0.001, 2.0)
    return places, radii, random.random(count)


def _first_step(share: float) -> Callable[[], Any]:
    """Make a call that makes a world of such balls, a share of which are followed, and steps it once."""
    places, radii, drawn = _touching_balls()

    def run() -> Any:
        world = bp.World(3)
        world.add_many(bp.Sphere(radii), places, ccd=drawn < share)
        return world.step(0.0)

    return run


def _contacts_of_impacts() -> Callable[[], Any]:
    """Make a call that finds the contacts of the pairs of which such a step reports impacts."""
    places, radii, _ = _touching_balls()
    balls, pairs = bp.Shapes(bp.Sphere(radii), places), _first_step(0.5)().impacts.pairs
    return lambda: bp.contacts(balls, pairs=pairs)


def _ccd_row(what: str, followed: Timing, plain: Timing, sort: Timing) -> Row:
    more = followed.milliseconds - plain.milliseconds
    return Row(what, more / sort.milliseconds, "T", 1.5, False, more, sort.milliseconds, "beyond the step without ccd")


def _allocated(step: Callable[[], Any]) -> Row:
    """Measure what the arrays of NumPy that a step makes take at their most; those of its frame are not among them."""
    frame = step()
    tracemalloc.start()
    try:
        frame = step()
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        frame = step()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(frame.pairs)
    return Row("arrays made in a step of 10⁵ balls where 1 % move, beside its frame", (peak - before) / 1e6, "MB", 0.5)


def rows(pace: float) -> Iterator[Row]:
    """Measure the steps."""
    budget = 3.0 * pace
    few = _step_of(_balls(_COUNT, _COUNT // 100))
    # One world at a time, as in a program: a step of another one in between would empty the caches.
    for what, step, bound in (("1 % of 10⁵ balls move", few, 0.75), ("10⁵ balls all move", None, 5.0)):
        found = median_times(
            {"T": argsort_call(_COUNT), "step": step or _step_of(_balls(_COUNT, _COUNT))}, budget=2 * budget
        )
        yield in_t(f"{what}, step", found["step"], found["T"], bound)
    yield _allocated(few)
    # Some steps search for what the others test: all of them, and where none can do without.
    for moving, who, what, jumps, bound in (
        (_COUNT // 100, "1 % of 10⁵ balls move", "mean of 12 steps", False, 0.75),
        (_COUNT // 100, "1 % of 10⁵ balls move", "one of them jumps, mean of 12 steps", True, 1.5),
        (_COUNT, "10⁵ balls all move", "mean of 12 steps", False, 5.0),
        (_COUNT, "10⁵ balls all move", "one of them jumps, mean of 12 steps", True, 8.0),
    ):
        steps = _many_steps_of(_balls(_COUNT, moving), jumps)
        found = median_times({"T": argsort_call(_COUNT), "steps": steps}, budget=2 * budget)
        mean, sort = found["steps"].milliseconds / _MANY, found["T"].milliseconds
        yield Row(f"{who}, {what}", mean / sort, "T", bound, False, mean, sort)

    calls = {
        "open": _step_of(_balls(_COUNT // 2, _COUNT // 2)),
        "wrap": _step_of(_balls(_COUNT // 2, _COUNT // 2, boundary="wrap")),
    }
    found = median_times(calls, budget=2 * budget)
    yield ratio("step of a periodic world, 5·10⁴ spheres, to an open one", found["wrap"], found["open"], 1.2)

    if (os.cpu_count() or 1) > 1:
        calls = {str(workers): _step_of(_balls(_COUNT, _COUNT, workers=workers)) for workers in (1, 2)}
        found = median_times(calls, budget=2 * budget)
        gain = found["1"].milliseconds / found["2"].milliseconds
        yield Row(
            "10⁵ balls all move, one thread to two", gain, "×", 1.6, True, found["2"].milliseconds,
            found["1"].milliseconds,
        )  # fmt: skip

    for what, options in (("", {}), (" in a periodic world", {"boundary": "wrap"})):
        calls = {
            "T": argsort_call(_COUNT),
            "plain": _step_of(_balls(_COUNT, _COUNT, **options)),
            "ccd": _step_of(_balls(_COUNT, _COUNT, followed=100, **options)),
        }
        found = median_times(calls, budget=2 * budget)
        yield _ccd_row(f"ccd of 100 among 10⁵ balls{what}", found["ccd"], found["plain"], found["T"])
    yield from _followed_rows(budget)
