"""Bodies of all types of shapes that come, change and go, also in worlds that refuse some of them."""

import tracemalloc

import numpy as np
import pytest

import broadphase as bp
from broadphase.world.snapshot_format import unpack
from shape_cases import BOUNDED, CLASSES, Numbers, one_of_each, shape_of
from traced_memory import traced_memory

BODIES = 12


def some_shape(rng, dimension):
    """Give a shape of any type, hulls and compounds among them."""
    return shape_of(rng.choice(CLASSES[dimension]), Numbers(rng, dimension))


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


def meet_all(world, rng):
    """Let bodies of all types of shapes that have a middle touch each other, and remove them."""
    shapes = one_of_each(world.dim, Numbers(rng, world.dim), BOUNDED[world.dim])
    middles = bp.Shapes(shapes, np.zeros((len(shapes), world.dim))).boxes.mean(axis=1)
    rows = world.add_many(shapes, rng.uniform(-0.1, 0.1, middles.shape) - middles)
    contacts = world.step(0.1).contacts
    assert len(contacts.pairs)
    world.remove(rows)


def check_cycles(dimension, first, count):
    """Let bodies come and go `first` times, then `count` times more, after which nothing may have grown."""
    rng = np.random.default_rng(dimension)
    world, sizes, taken = bp.World(dimension), set(), [0, 0]
    meet_all(world, rng)  # untraced, as it imports what it needs
    tracemalloc.start()
    try:
        for number in range(-first, count):
            if number % 6 == 0:
                meet_all(world, rng)
            world = cycle(world, rng)
            world.step()
            world.step()
            assert not len(world)
            assert not len(world._columns.geometries)
            if number % 5 == 0:
                world.validate()
            if number >= 0:
                data = world.to_bytes()
                sizes.add(len(data))
                assert not [name for name in unpack(data)[1] if name.startswith(("hull", "mesh"))]
                half = 2 * number >= count
                taken[half] = max(taken[half], world.stats()["bytes"])
            if not number:
                before = traced_memory()
        grown = traced_memory() - before
    finally:
        tracemalloc.stop()
    assert len(sizes) == 1, sizes
    assert taken[1] < 1.5 * taken[0], taken
    assert grown < 10_000
