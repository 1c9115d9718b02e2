"""Bodies of all types of shapes that come, change and go, also in worlds that refuse some of them."""

import gc
import tracemalloc

import numpy as np
import pytest

import broadphase as bp
from broadphase.world.snapshot_format import unpack

BODIES = 12


def some_shape(rng, dimension):
    size, d = float(rng.uniform(0.2, 2)), dimension
    points = rng.normal(size=(4 + int(rng.integers(8)), 3)) * size
    flat = [
        bp.Circle(size), bp.Rectangle(size, 1), bp.Capsule((0, 0), (1, 0), size),
        bp.Triangle([[0, 0], [size, 0], [0, 1]]),
        bp.ConvexPolygon([[0, 0], [2, 0], [2, size], [0, 1]]), bp.Compound([bp.Circle(size), bp.Rectangle(1, 2)]),
    ]  # fmt: skip
    solid = [
        bp.Sphere(size), bp.Box(size, 1, 1), bp.Capsule((0, 0, 0), (1, 0, 0), size), bp.ConvexHull(points),
        bp.ConvexHull(points), bp.Mesh(points, [[0, 1, 2], [1, 2, 3]]), bp.Compound([bp.Sphere(size), bp.Box(1, 1, 1)]),
    ]  # fmt: skip
    common = [bp.Point(), bp.AABB([size] * d), bp.Segment([0] * d, [size] * d)]
    choices = common + (flat if d == 2 else solid)
    return choices[int(rng.integers(len(choices)))]


def cycle(world, rng):
    """Fill a world, change it, let it refuse something, and empty it; return the world that goes on."""
    d = world.dim
    rows = world.add_many([some_shape(rng, d) for _ in range(BODIES)], rng.uniform(-50, 50, (BODIES, d)))
    some = rng.choice(rows, 4, replace=False).astype(np.int32)
    world.set_shapes(some, [some_shape(rng, d) for _ in some])
    with pytest.raises(ValueError, match="row 1"):
        world.add_many([some_shape(rng, d) for _ in range(2)], [[0] * d, [np.nan] * d])
    with pytest.raises(KeyError):
        world.set_shapes([rows[0], 99], [some_shape(rng, d) for _ in range(2)])
    with pytest.raises(ValueError, match=r"layers? "):
        world.add(some_shape(rng, d), position=[0] * d, mask="nobody")
    if rng.random() < 0.3:
        world = bp.World.from_bytes(world.to_bytes())
    if rng.random() < 0.5:
        world.step(0.1)
    world.remove(rng.permutation(world.rows))
    return world


def check_cycles(dimension, count):
    """Let bodies come and go; the empty world stays as small as it was after the first of them."""
    rng = np.random.default_rng(dimension)
    world, sizes, taken = bp.World(dimension), set(), []
    try:
        for number in range(count):
            world = cycle(world, rng)
            world.step()
            world.step()
            if number % 5 == 0:
                world.validate()
            if number >= count // 3:
                data = world.to_bytes()
                sizes.add(len(data))
                assert not [name for name in unpack(data)[1] if name.startswith(("hull", "mesh"))]
                taken.append(world.stats()["bytes"])
            if number == count // 3:
                gc.collect()
                tracemalloc.start()
                before = tracemalloc.get_traced_memory()[0]
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(sizes) == 1, sizes
    assert max(taken[len(taken) // 2 :]) < 1.5 * max(taken[: len(taken) // 2])
    # A hull that stays takes some thousand bytes; caches of Python grow a little.
    assert grown < 30_000 + 500 * count
