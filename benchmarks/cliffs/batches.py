"""Many separate scenes in one place: pairs, a world, rays and lidars, each of its own scene."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import argsort_call, median_times
from benchmarks.rows import Row, in_t, ratio


def rows(pace: float) -> Iterator[Row]:
    """Compare scenes with a key with the same boxes side by side, and with T."""
    yield from pair_rows(pace)
    yield from world_rows(pace)
    yield from moving_rows(pace)
    yield from ray_rows(pace)
    yield from lidar_rows(pace)
    yield from nearest_rows(pace)


def scenes_of(count: int, boxes: int) -> np.ndarray:
    """Make scenes of unit density in one place, shape (count, boxes, 2, 3)."""
    lower = np.random.default_rng(1).random((count, boxes, 1, 3)) * boxes ** (1 / 3)
    return np.concatenate([lower, lower + 0.7], axis=2).astype(np.float32)


def side_by_side(scenes: np.ndarray) -> np.ndarray:
    """Put the scenes on a grid, so that none meets another; as rows."""
    count, along = len(scenes), int(np.ceil(len(scenes) ** 0.5))
    cell = np.stack([np.arange(count) % along, np.arange(count) // along, np.zeros(count)], axis=1)
    width = scenes.max() + 1
    apart: np.ndarray = scenes + (cell * width)[:, None, None].astype(np.float32)
    return apart.reshape(-1, 2, 3)


def pair_rows(pace: float) -> Iterator[Row]:
    """Find the pairs of many small scenes, of shuffled ones, and of one large scene beside many tiny ones."""
    scenes, fifty = scenes_of(8192, 24), scenes_of(4096, 50)
    random = np.random.default_rng(2)
    order = random.permutation(4096 * 50)
    shuffled, keys = fifty.reshape(-1, 2, 3)[order], np.repeat(np.arange(4096), 50)[order]
    apart = side_by_side(scenes)
    calls = {
        "T": argsort_call(100_000),
        "side by side": lambda: bp.pairs(apart),
        "8192": lambda: bp.pairs(scenes),
        "4096": lambda: bp.pairs(fifty),
        "shuffled": lambda: bp.pairs(shuffled, batch=keys),
    }
    found = median_times(calls, budget=6 * pace)
    yield ratio("pairs of 8,192 scenes × 24 boxes / side by side", found["8192"], found["side by side"], 1.3)
    yield in_t("pairs of 4,096 scenes × 50 boxes", found["4096"], found["T"], 8.0)
    yield in_t("pairs of 4,096 scenes × 50 boxes, keys in no order", found["shuffled"], found["T"], 12.0)

    large = scenes_of(1, 1_000_000)[0]
    uneven = np.concatenate([large, scenes_of(100_000, 3).reshape(-1, 2, 3)])
    names = np.concatenate([np.full(len(large), -1), np.repeat(np.arange(100_000), 3)])
    calls = {"large": lambda: bp.pairs(large), "uneven": lambda: bp.pairs(uneven, batch=names)}
    found = median_times(calls, budget=6 * pace)
    yield ratio("pairs of a scene of 10⁶ beside 10⁵ of 3 / of the large one", found["uneven"], found["large"], 1.5)


def world_rows(pace: float) -> Iterator[Row]:
    """Step a world of 4,096 scenes of 50 discs that all move."""
    random = np.random.default_rng(3)
    count = 4096 * 50
    world = bp.World(dim=2)
    places, speeds = random.random((count, 2)) * 10, random.normal(size=(count, 2))
    world.add_many(bp.Circle(np.full(count, 0.5)), places, velocities=speeds, batch=np.repeat(np.arange(4096), 50))
    world.step(dt=1e-4)
    calls = {"T": argsort_call(100_000), "step": lambda: world.step(dt=1e-4)}
    found = median_times(calls, budget=4 * pace)
    yield in_t("step of a world of 4,096 scenes × 50 discs, all moving", found["step"], found["T"], 15.0)


def moving_rows(pace: float) -> Iterator[Row]:
    """Step scenes in which few bodies move out of their boxes in the tree, and cast rays after one has moved."""
    random = np.random.default_rng(5)
    keys = np.repeat(np.arange(4096), 50)
    count = len(keys)
    places, speeds = random.random((count, 2)) * 10, np.zeros((count, 2))
    speeds[random.permutation(count)[: count // 100]] = random.normal(size=(count // 100, 2))
    apart = np.stack([keys % 64, keys // 64], axis=1) * 20.0
    worlds = {}
    for name, positions, batch in (("with keys", places, keys), ("side by side", places + apart, 0)):
        worlds[name] = bp.World(dim=2)
        worlds[name].add_many(bp.Circle(0.5), positions, velocities=speeds, batch=batch)
        for _ in range(8):
            worlds[name].step(dt=0.05)
    steps = {name: partial(world.step, dt=0.05) for name, world in worlds.items()}
    found = median_times(steps, budget=4 * pace)
    what = "step of 4,096 scenes × 50 discs, 1 % moving / side by side without keys"
    yield ratio(what, found["with keys"], found["side by side"], 1.5)

    steps = {}
    for scenes in (1024, 4096):
        some = slice(scenes * 50)
        world, is_first = bp.World(dim=2), np.arange(scenes * 50) % 50 == 0
        ways = random.normal(size=(scenes * 50, 2))
        world.add_many(bp.Circle(0.3), places[some], velocities=ways, batch=keys[some], ccd=is_first)
        world.step(dt=0.02)
        steps[str(scenes)] = partial(world.step, dt=0.02)
    found = median_times(steps, budget=4 * pace)
    what = "step of 4,096 scenes × 50 discs, one of each with ccd / of 1,024, each by its number"
    yield ratio(what, found["4096"], found["1024"], 1.5, scale=1024 / 4096)

    steps = {}
    for boundary in ("none", "wrap"):
        bounds = None if boundary == "none" else [[0.0] * 2, [10.0] * 2]
        world = bp.World(2, bounds=bounds, boundary=boundary)
        world.add_many(bp.Circle(0.3), places, velocities=random.normal(size=(count, 2)), batch=keys)
        world.step(dt=0.02)
        steps[boundary] = partial(world.step, dt=0.02)
    found = median_times(steps, budget=4 * pace)
    what = "step of 4,096 scenes × 50 discs in a periodic world / in an open one"
    yield ratio(what, found["wrap"], found["none"], 2.0)

    index = bp.BVH(scenes_of(4096, 50))
    origins, ways, robots = random.random((4096, 3)) * 50 ** (1 / 3), random.normal(size=(4096, 3)), np.arange(4096)

    def rays() -> None:
        index.raycast(origins, ways, 4.0, batch=robots)

    def move_and_rays() -> None:
        index.move(17, index.boxes_of(17) + np.float32(0.01))
        rays()

    found = median_times({"still": rays, "moved": move_and_rays}, budget=2 * pace)
    yield ratio("a ray in each of 4,096 scenes, one box has moved / none has", found["moved"], found["still"], 1.3)


def ray_rows(pace: float) -> Iterator[Row]:
    """Cast rays among the boxes of their own scene, and as many among all boxes side by side."""
    robots, beams = (4096, 360) if pace >= 1 else (512, 360)
    scenes, random = scenes_of(robots, 50), np.random.default_rng(4)
    index, apart = bp.BVH(scenes), side_by_side(scenes)
    plain, width = bp.BVH(apart), np.float64(scenes.max() + 1)
    keys, along = np.repeat(np.arange(robots), beams), int(np.ceil(robots**0.5))
    origins = np.repeat(random.random((robots, 3)) * 50 ** (1 / 3), beams, axis=0)
    ways = random.normal(size=(len(keys), 3))
    moved = origins + np.stack([keys % along, keys // along, 0 * keys], axis=1) * width
    calls = {
        "with keys": lambda: index.raycast(origins, ways, 4.0, batch=keys),
        "side by side": lambda: plain.raycast(moved, ways, 4.0),
    }
    found = median_times(calls, budget=6 * pace)
    what = f"rays of {robots:,} robots × {beams} with keys / side by side"
    yield ratio(what, found["with keys"], found["side by side"], 1.3)

    world, discs = bp.World(dim=2), robots * 50
    world.add_many(bp.Circle(0.3), random.random((discs, 2)) * 10, batch=np.repeat(np.arange(robots), 50))
    index, flat = bp.BVH(world.boxes, batch=world.batches), np.repeat(random.random((robots, 2)) * 10, beams, axis=0)
    angles = np.tile(np.linspace(0, 2 * np.pi, beams, endpoint=False), robots)
    fans = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    calls = {
        "world": lambda: world.raycast(flat, fans, 10.0, batch=keys),
        "boxes": lambda: index.raycast(flat, fans, 10.0, batch=keys),
    }
    found = median_times(calls, budget=6 * pace)
    # Two walks, and tests of the shapes in between.
    what = f"rays of {robots:,} robots × {beams} among discs of a world / among their boxes"
    yield ratio(what, found["world"], found["boxes"], 5.0)


def lidar_rows(pace: float) -> Iterator[Row]:
    """Cast a fan of beams from each of 30 discs in each scene, beside all distances of NumPy in float32."""
    scenes, discs, beams = (4096, 30, 64) if pace >= 1 else (512, 30, 64)
    places = np.random.default_rng(6).random((scenes, discs, 2)) * 10
    world = bp.World(dim=2)
    keys = np.repeat(np.arange(scenes), discs)
    rows = world.add_many(bp.Circle(0.3), places.reshape(-1, 2), batch=keys)
    angles = np.linspace(0, 2 * np.pi, beams, endpoint=False)
    calls: dict[str, Callable[[], Any]] = {
        "lidar": partial(world.lidar, rows, angles, dtype=np.float32),
        "NumPy": partial(lidar_of_numpy, places.astype(np.float32), 0.3, angles.astype(np.float32)),
    }
    ours, theirs = calls["lidar"]().distances.reshape(scenes, discs, beams), calls["NumPy"]()
    differ = np.count_nonzero(~np.isclose(ours, theirs, rtol=1e-3, atol=1e-3))
    found = median_times(calls, budget=8 * pace)
    what = f"lidar of {scenes:,} scenes × {discs} discs × {beams} beams / of NumPy, dense in float32"
    yield ratio(what, found["lidar"], found["NumPy"], 0.25, note=f"{differ:,} beams that graze differ")


def lidar_of_numpy(places: np.ndarray, radius: float, angles: np.ndarray) -> np.ndarray:
    """Return the distances (scenes, discs, beams) by testing every disc with every beam."""
    to = places[:, np.newaxis] - places[:, :, np.newaxis]  # (scenes, from, to, 2)
    found = np.empty((*places.shape[:2], len(angles)), np.float32)
    own = np.arange(places.shape[1])
    for beam, (x, y) in enumerate(zip(np.cos(angles), np.sin(angles), strict=True)):
        ahead, aside = to[..., 0] * x + to[..., 1] * y, to[..., 0] * y - to[..., 1] * x
        inside = np.float32(radius * radius) - aside * aside
        leave = np.sqrt(np.maximum(inside, 0))
        enter = np.where((inside >= 0) & (ahead + leave >= 0), np.maximum(ahead - leave, 0), np.float32(np.inf))
        enter[:, own, own] = np.inf
        found[:, :, beam] = enter.min(axis=2)
    return found


def nearest_rows(pace: float) -> Iterator[Row]:
    """Find the nearest agents of each one in each scene, beside all distances of NumPy."""
    scenes = 4096 if pace >= 1 else 512
    for agents, dim, wanted in ((24, 2, 4), (24, 2, 8), (30, 3, 4)):
        places = np.random.default_rng(7).random((scenes, agents, dim)) * (agents * 0.8) ** (1 / dim)
        flat, keys = places.reshape(-1, dim), np.repeat(np.arange(scenes), agents)
        index, world = bp.Index((flat, flat), batch=keys), bp.World(dim=dim)
        rows = world.add_many((bp.Circle if dim == 2 else bp.Sphere)(0.3), flat, batch=keys)
        calls: dict[str, Callable[[], Any]] = {
            "index": partial(index.nearest, rows=rows, k=wanted, batch=keys),
            "world": partial(world.nearest, rows=rows, k=wanted, batch=keys),
            "NumPy": partial(nearest_of_numpy, places, wanted),
        }
        ours, theirs = calls["index"](), calls["NumPy"]()
        shape = scenes, agents, wanted
        differ = np.count_nonzero(~np.isclose(ours.distances.reshape(shape), theirs[1]))
        found = median_times(calls, budget=6 * pace)
        what = f"{wanted} nearest of {agents} agents, {scenes:,} scenes, d = {dim}"
        note = f"{differ:,} distances differ"
        yield ratio(f"{what}: index / NumPy, all distances", found["index"], found["NumPy"], 0.125, note=note)
        yield ratio(f"{what}: world of balls / NumPy, all distances", found["world"], found["NumPy"], 0.2)


def nearest_of_numpy(places: np.ndarray, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and distances (scenes, agents, wanted) by all distances, a partition, and a sort of what is left."""
    squared = ((places[:, :, np.newaxis] - places[:, np.newaxis]) ** 2).sum(axis=-1)
    own = np.arange(places.shape[1])
    squared[:, own, own] = np.inf
    near = np.argpartition(squared, wanted, axis=-1)[..., :wanted]
    away = np.take_along_axis(squared, near, axis=-1)
    order = np.argsort(away, axis=-1)
    return np.take_along_axis(near, order, axis=-1), np.sqrt(np.take_along_axis(away, order, axis=-1))
