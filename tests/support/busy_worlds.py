"""Worlds with something of everything, and what users do to them: the same for the same seed."""

import numpy as np

import broadphase as bp
from shape_cases import BOUNDED, RECORDED, Numbers, shape_of


def shapes_of(dimension, rng, count):
    """Give one shape for all, or a list of them, of a type that has no geometry of its own."""
    name = rng.choice([name for name in RECORDED[dimension] if name in BOUNDED[dimension]])  # for periodic worlds, too
    numbers = Numbers(rng, dimension)
    return shape_of(name, numbers) if rng.random() < 0.5 else [shape_of(name, numbers) for _ in range(count)]


def make_world(dimension, seed, **options):
    """Make a world with something of everything."""
    rng = np.random.default_rng(seed)
    world = bp.World(dimension, **options)
    world.layer("walls", priority=3)
    for layer in ("balls", "walls", None):
        count = 20
        world.add_many(
            shapes_of(dimension, rng, count),
            rng.uniform(0, 8, (count, dimension)),
            velocities=rng.uniform(-1, 1, (count, dimension)),
            rotations=None if layer is None else rotations(dimension, rng, count),
            angular_velocities=None
            if layer != "balls"
            else rng.uniform(-1, 1, count if dimension == 2 else (count, 3)),
            body_type=["dynamic", "static", "kinematic"][int(rng.integers(3))],
            layer=layer,
            mask={"balls", "walls"} if layer == "walls" else None,
            group=int(rng.integers(-1, 2)),
            sensor=bool(rng.integers(2)),
            update_interval=int(rng.integers(1, 4)),
        )
    return world


def rotations(dimension, rng, count):
    return rng.uniform(0, 6, count) if dimension == 2 else rng.normal(size=(count, 4))


def change(world, rng):
    """Do what users do, at random; the same for the same random numbers and the same world."""
    dimension = world.dim
    rows = world.rows
    some = rng.choice(rows, min(5, len(rows)), replace=False)
    what = int(rng.integers(9))
    if what == 0:
        world.remove(some)
    elif what == 1:
        world.add_many(shapes_of(dimension, rng, 7), rng.uniform(0, 8, (7, dimension)), velocities=np.ones(dimension))
    elif what == 2:
        world.move(some, rng.uniform(0, 8, (len(some), dimension)))
    elif what == 3:
        world.positions[some] += 0.5
    elif what == 4:
        world.sleep(some)
    elif what == 5:
        world.wake(some)
    elif what == 6:
        world.ignore(some[:2])
    elif what == 7:
        world.set_shapes(some, shapes_of(dimension, rng, len(some)))
    else:
        world.set_filters(some, layer="balls")


def events(frame):
    return [
        frame.number,
        frame.time,
        frame.enter.tolist(),
        frame.stay.tolist(),
        frame.exit.tolist(),
        frame.exit_handles.tolist(),
        frame.deferred.tolist(),
        frame.removed.tolist(),
    ]


def go_on(world, seed, steps, budget=None):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(steps):
        change(world, rng)
        found.append(events(world.step(0.1, budget=budget)))
    return found
