"""Worlds off the road: bodies far away or far too fast, budgets, queries from far off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter, thread_time
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import median_times
from benchmarks.rows import Row, ratio
from broadphase.testing.recipes import Recipe

DT = 1 / 60


def stepping(world: bp.World, dt: float = DT, budget: Any = None) -> Callable[[], Any]:
    """Return a call that steps a world."""
    return lambda: world.step(dt, budget=budget)


def shuttling(world: bp.World, moving: Any) -> Callable[[], Any]:
    """Return a call that steps a world in which some bodies go to and fro."""

    def call() -> Any:
        world.velocities[moving] *= -1
        return world.step(DT)

    return call


def with_one_far(distance: float | None) -> Callable[[], Any]:
    """10,000 spheres, of which 149 move; one more that is still."""
    rng = np.random.default_rng(1)
    world = bp.World(dim=3)
    rows = world.add_many(bp.Sphere(0.5), rng.uniform(0, 50, (10_000, 3)))
    if distance is not None:
        world.add(bp.Sphere(0.5), position=(distance, 0, 0), body_type="static")
    world.velocities[rows[:149]] = rng.normal(0, 1, (149, 3))
    call = shuttling(world, rows[:149])
    for _ in range(5):
        call()
    return call


def crowd(shape: Any, with_priorities: bool, n: int = 20_000) -> bp.World:
    """Bodies each of which meets a few others, all moving."""
    rng = np.random.default_rng(2)
    world = bp.World(dim=3)
    layers = None
    if with_priorities:
        world.layer("smoke", priority=-1)
        world.layer("bullet", priority=100)
        layers = [("smoke", "bullet", "default")[row % 3] for row in range(n)]
    positions, velocities = rng.uniform(0, n ** (1 / 3), (n, 3)), rng.normal(0, 1, (n, 3))
    world.add_many(shape, positions, velocities=velocities, layer=layers)
    world.step(DT)
    return world


def runaway_calls() -> dict[str, Callable[[], Any]]:
    """200 fast bodies among 2,000, with and without one that is as fast as 100 worlds a step, and not followed."""
    calls = {}
    for name in ("without", "with"):
        rng = np.random.default_rng(3)
        world = bp.World(dim=3)
        world.add_many(bp.Sphere(0.5), rng.uniform(0, 100, (2000, 3)), velocities=rng.normal(0, 1, (2000, 3)))
        fast = rng.uniform(0, 100, (200, 3))
        world.add_many(bp.Sphere(0.2), fast, velocities=rng.normal(0, 100, (200, 3)), ccd=True)
        if name == "with":
            world.add(bp.Sphere(0.5), position=(50, 50, 50), velocity=(6e5, 1e5, 3e4))
        calls[name] = shuttling(world, world.rows.copy())
    return calls


def turning_calls() -> dict[str, Callable[[], Any]]:
    """1,000 long boxes that are all followed, at rest in their rotations, and turning by 0.05 rad a step."""
    calls = {}
    for name, speed in (("still", 0.0), ("turning", 3.0)):
        rng = np.random.default_rng(6)
        world = bp.World(dim=3)
        rotations, axes = rng.normal(size=(1000, 4)), rng.normal(size=(1000, 3))
        axes /= np.linalg.norm(axes, axis=1, keepdims=True)
        world.add_many(bp.Box(2, 0.4, 0.4), rng.uniform(0, 19, (1000, 3)), velocities=rng.normal(0, 1, (1000, 3)),
                       rotations=rotations, angular_velocities=speed * axes, ccd=True)  # fmt: skip
        calls[name] = shuttling(world, world.rows.copy())
    return calls


def crossing_call(boundary: Any, times: float) -> Callable[[], Any]:
    """1,000 bodies, and one that crosses the world so many times in a step."""
    rng = np.random.default_rng(4)
    world = bp.World(dim=3, bounds=[[0] * 3, [100] * 3], boundary=boundary)
    world.add_many(bp.Sphere(0.5), rng.uniform(1, 99, (1000, 3)), velocities=rng.normal(0, 1, (1000, 3)))
    velocity = np.array([0.5, 0.35, 0.15]) * 100 / DT * times
    world.add(bp.Sphere(0.5), position=(50, 50, 50), velocity=velocity, ccd=True)
    return stepping(world)


def periodic_world(with_far: bool) -> bp.World:
    """1,000 bodies in a periodic world of 10 by 10; perhaps one more that is 10,000 worlds away."""
    world = bp.World(dim=2, bounds=[[0, 0], [10, 10]], boundary="wrap")
    world.add_many(bp.Circle(0.1), np.random.default_rng(5).uniform(0, 10, (1000, 2)))
    if with_far:
        world.add(bp.Circle(0.1), position=(1e5, 1e5), body_type="kinematic")
    world.step()
    return world


def call_with_zones(zones: int) -> Callable[[], Any]:
    """20,000 discs that move, and static bodies as large as the world that a mask keeps from them."""
    rng = np.random.default_rng(1)
    world = bp.World(dim=2)
    world.add_many(bp.Circle(0.002), rng.random((20_000, 2)), velocities=rng.normal(size=(20_000, 2)) * 0.5)
    if zones:
        places = np.full((zones, 2), 0.5)
        world.add_many(bp.Rectangle(2, 2), places, body_type="static", layer="zone", mask="zone")
    call = stepping(world, 1e-3)
    for _ in range(5):
        call()
    return call


def environments(boundary: Any) -> bp.World:
    """1,024 scenes of 50 fast discs in one place."""
    rng = np.random.default_rng(7)
    keys = np.repeat(np.arange(1024), 50)
    world = bp.World(dim=2, bounds=[[0, 0], [5, 5]], boundary=boundary)
    positions, velocities = rng.random((len(keys), 2)) * 5, rng.normal(0, 20, (len(keys), 2))
    world.add_many(bp.Circle(0.3), positions, velocities=velocities, batch=keys)
    return world


def world_with_plate(is_long: bool, n: int = 50_000) -> bp.World:
    """Spheres that move in a periodic world, and a plate there that may be nearly as long as the world."""
    rng = np.random.default_rng(8)
    edge = n ** (1 / 3)
    world = bp.World(dim=3, bounds=[[0] * 3, [edge] * 3], boundary="wrap")
    world.add_many(bp.Sphere(0.4), rng.uniform(0, edge, (n, 3)), velocities=rng.normal(0, 1, (n, 3)))
    world.add(bp.Box(0.9 * edge if is_long else 1, 1, 1), position=[0.7 * edge] * 3, velocity=(0.1, 0.1, 0.1))
    return world


def few_that_move(recipe: Recipe, margin: float | None = None, n: int = 20_000) -> Callable[[], Any]:
    """Make the call of a step of a world of a scene's boxes, one in a hundred of which goes to and fro."""
    boxes = recipe.boxes(n, 7, "float64")
    centers, sizes = boxes.mean(axis=1), boxes[:, 1] - boxes[:, 0]
    world = bp.World(dim=boxes.shape[2], margin=margin)
    moving = world.add_many(bp.AABB(sizes), centers)[::100]
    shifts = np.random.default_rng(1).uniform(-0.1, 0.1, (len(moving), world.dim)) / DT
    world.velocities[moving] = shifts * sizes[moving]
    call = shuttling(world, moving)
    for _ in range(8):
        call()
    return call


def in_cell(n: int, dim: int) -> tuple[Any, Any]:
    """Make boxes that meet three others each, around a cell of edge 1; and the same, each in another cell."""
    rng = np.random.default_rng(9)
    centers, half = rng.random((n, dim)), rng.uniform(0.25, 0.5, (n, dim)) * (8 / n) ** (1 / dim) / 2
    boxes = np.stack([centers - half, centers + half], axis=1)
    return boxes.astype(np.float32), (boxes + rng.integers(-3, 4, (n, 1, dim))).astype(np.float32)


def cell_rows(pace: float) -> Iterator[Row]:
    """Measure `pairs` in periodic cells."""
    # The images of boxes at the faces of the cell are searched, too: in space, 12 % as many as boxes, and 6 %; in the
    # plane 1 %.
    for n, dim, most in ((10_000, 3, 1.6), (100_000, 3, 1.5), (100_000, 2, 1.3)):
        boxes, apart = in_cell(n, dim)
        far = boxes.copy()
        far[7] += 1e6
        calls: dict[str, Callable[[], Any]] = {
            "open": partial(bp.pairs, boxes),
            "cell": partial(bp.pairs, boxes, period=1.0),
            "far": partial(bp.pairs, far, period=1.0),
            "apart": partial(bp.pairs, apart, period=1.0),
        }
        timings = median_times(calls, budget=2 * pace)
        what = f"`pairs` of {n:,} boxes in a periodic cell, {dim}D"
        yield ratio(what, timings["cell"], timings["open"], most, note="to open space")
        if n == 100_000:
            yield ratio(f"{what}, one 10⁶ cells away", timings["far"], timings["open"], 1.5, note="to open space")
            yield ratio(f"{what}, each in another cell", timings["apart"], timings["open"], 5, note="to open space")


def adding(there: int, count: int) -> float:
    """Add bodies one by one to a world that has some, and has just grown; give the milliseconds that one takes."""
    places = np.random.default_rng(6).uniform(0, 50, (there + count, 3))
    world, shape = bp.World(dim=3), bp.Sphere(0.5)
    world.add_many(shape, places[:there])
    world.add(shape, position=places[0])
    began = perf_counter()
    for place in places[there:]:
        world.add(shape, position=place)
    return (perf_counter() - began) / count * 1e3


def adding_rows(pace: float) -> Iterator[Row]:
    """Measure `World.add`."""
    turns = max(3, int(9 * pace))
    few, many = (float(np.median([adding(there, 10_000) for _ in range(turns)])) for there in (0, 300_000))
    yield Row("10,000 calls of `World.add`, each", few * 1e3, "µs", 15.0, False, few)
    yield Row("the same where 300,000 bodies are there already", many / few, "×", 1.3, False, many, few)


def looking_calls() -> dict[str, Callable[[], Any]]:
    """50 lidars among 1,000 spheres, in a scene of size 1 and one of size 1e-30."""
    rng = np.random.default_rng(10)
    places, beams = rng.random((1000, 3)), rng.normal(size=(64, 3))
    calls: dict[str, Callable[[], Any]] = {}
    for size in (1.0, 1e-30):
        world = bp.World(dim=3)
        world.add_many(bp.Sphere(0.02 * size), places * size)
        world.step(0.0)
        calls[str(size)] = partial(world.lidar, world.rows[:50], beams, max_distance=0.6 * size)
    return calls


def rows(pace: float) -> Iterator[Row]:
    """Measure, and yield the lines of the report."""
    yield from adding_rows(pace)
    timings = median_times(looking_calls(), budget=pace, clock=thread_time)
    yield ratio("50 lidars in a scene of size 1e-30", timings["1e-30"], timings["1.0"], 1.5, note="to size 1")
    calls = {"near": with_one_far(None), "1e9": with_one_far(1e9), "1e10": with_one_far(1e10)}
    timings = median_times(calls, budget=5 * pace)
    for far in ("1e9", "1e10"):
        what = f"world of 10,000 spheres, 149 moving, one still at {far}"
        yield ratio(what, timings[far], timings["near"], 1.5)

    cubes, needles = Recipe(3, 1), Recipe(3, 1, axis_spread=3.9)
    calls = {
        "cubes": few_that_move(cubes),
        "needles": few_that_move(needles),
        "wide": few_that_move(cubes, 1.0),  # the cluster is as wide as 1
    }
    timings = median_times(calls, budget=3 * pace)
    yield ratio("world of 20,000 needles, 1 % moving", timings["needles"], timings["cubes"], 2.0, note="to cubes")
    yield ratio("the same of cubes, with a margin as wide as all", timings["wide"], timings["cubes"], 2.0)

    timings = median_times(
        {str(zones): call_with_zones(zones) for zones in (0, 100)}, budget=3 * pace, clock=thread_time
    )
    what = "world of 20,000 discs, 100 static bodies as large as it that a mask excludes"
    yield ratio(what, timings["100"], timings["0"], 3.0, note="to none")

    capsule = bp.Capsule((-0.3, 0, 0), (0.3, 0, 0), 0.3)
    for shape, name in ((bp.Sphere(0.5), "spheres"), (capsule, "capsules")):
        for with_priorities in (False, True):
            free, ample = (crowd(shape, with_priorities) for _ in range(2))
            timings = median_times({"free": stepping(free), "ample": stepping(ample, budget=1.0)}, budget=5 * pace)
            what = f"ample budget, 20,000 {name}{', priorities' if with_priorities else ''}"
            yield ratio(what, timings["ample"], timings["free"], 1.15, note="to no budget")
            yield within_budget(ample, 0.5e-3 * timings["free"].milliseconds, what.removeprefix("ample "), pace)

    timings = median_times(runaway_calls(), budget=3 * pace)
    yield ratio("200 ccd bodies, and one that runs away", timings["with"], timings["without"], 1.5)
    timings = median_times(turning_calls(), budget=2 * pace)
    yield ratio("1,000 ccd boxes that rotate", timings["turning"], timings["still"], 5, note="to boxes that do not")
    for boundary in ("wrap", "bounce"):
        calls = {str(times): crossing_call(boundary, times) for times in (1, 9000)}
        timings = median_times(calls, budget=3 * pace)
        what = f"ccd body that crosses 9,000 worlds a step, {boundary}"
        yield ratio(what, timings["9000"], timings["1"], 0.02, 1 / 9000, "for each crossing, to one")

    yield from cell_rows(pace)
    calls = {boundary: stepping(environments(boundary)) for boundary in ("bounce", "wrap")}
    timings = median_times(calls, budget=2 * pace)
    what = "1,024 periodic scenes of 50 discs in one place"
    yield ratio(what, timings["wrap"], timings["bounce"], 3, note="to bouncing ones")
    calls = {str(is_long): stepping(world_with_plate(is_long)) for is_long in (False, True)}
    timings = median_times(calls, budget=3 * pace)
    what = "periodic world of 50,000 spheres, one plate nearly as long as the world"
    yield ratio(what, timings["True"], timings["False"], 1.5, note="to a short plate")

    near, with_far = periodic_world(False), periodic_world(True)
    calls = {
        "near": lambda: near.query([[1, 1, 2, 2]]),
        "wide": lambda: near.query([[0, 1, 2e4, 2]]),
        "away": lambda: near.query_ball([[1e5, 1e5]], 1.0),
        "body away": lambda: with_far.query([[1, 1, 2, 2]]),
        "short": lambda: near.query_obb([[3, 3]], [[500, 0.05]], [0.7]),
        "long": lambda: near.query_obb([[3, 3]], [[5000, 0.05]], [0.7]),
    }
    timings = median_times(calls, budget=2 * pace)
    yield ratio("periodic world: a box 2,000 periods wide", timings["wide"], timings["near"], 3)
    yield ratio("periodic world: a ball 10,000 periods away", timings["away"], timings["near"], 3)
    yield ratio("periodic world: a body 10,000 periods away", timings["body away"], timings["near"], 3)
    what = "periodic world: a slanted box 1,000 periods long"
    yield ratio(what, timings["long"], timings["short"], 1.5, 1 / 10, "for each period of its length, to one of 100")


def within_budget(world: bp.World, seconds: float, what: str, pace: float) -> Row:
    """Make a row of the time of a step beyond a budget that does not suffice, or beyond what is uncut, if that is more.

    0.1 ms of it do not count.
    """
    beyond = []
    for number in range(max(8, int(40 * pace))):
        stats = world.step(DT, budget=seconds).stats
        allowed = max(seconds, stats["seconds_uncut"])
        if number >= 4:
            beyond.append(max(0.0, stats["seconds"] - 1e-4) / allowed)
    return Row(f"half the {what}", float(np.median(beyond)), "×", 1.1, note="to the budget, or to what is uncut")
