"""Small random worlds that bodies leave at the boundary, beside a plain account of their events."""

import copy

import numpy as np

import broadphase as bp


def random_world(rng):
    """Make a world of a few bodies, in and around the bounds, slow and fast."""
    dimension = int(rng.integers(2, 4))
    world = bp.World(
        dimension, bounds=[[0] * dimension, [4] * dimension], boundary=str(rng.choice(["remove", "bounce", "none"])),
        method=str(rng.choice(["auto", "bvh", "grid"])),
    )  # fmt: skip
    add(world, rng, int(rng.integers(2, 7)))
    return world


def add(world, rng, count):
    d = world.dim
    ball, box = (bp.Circle, bp.Rectangle) if d == 2 else (bp.Sphere, bp.Box)
    world.add_many(
        [ball(0.5) if rng.random() < 0.6 else box(*rng.integers(1, 3, d)) for _ in range(count)],
        rng.integers(-4, 9, (count, d)) * 1.0 if rng.random() < 0.5 else rng.uniform(-4, 8, (count, d)),
        velocities=rng.choice([0.0, 1.0, -3.0, 8.0, -20.0], (count, d)),
        ccd=rng.random(count) < 0.6,
        boundary=None if rng.random() < 0.5 else rng.choice(["remove", "bounce", "none"], count).tolist(),
        body_type=rng.choice(["dynamic", "dynamic", "static", "kinematic"], count).tolist(),
        update_interval=rng.choice([1, 1, 2], count),
    )  # fmt: skip


def handles_of(world, pairs):
    return set(map(tuple, world.handles(pairs.ravel()).reshape(-1, 2).tolist()))


def play(seed, steps=6):
    """Step a world, and keep account of what touches by handles; return how many bodies left it."""
    rng = np.random.default_rng(seed)
    world, open_pairs, left = random_world(rng), set(), 0
    for turn in range(steps):
        alive = set(world.handles().tolist())
        budget = bp.Budget(tests=2) if rng.random() < 0.2 else None
        frame = world.step(float(rng.choice([0.0, 0.25, 1.0])), budget=budget)
        where = seed, turn
        removed, exits = set(frame.removed_handles.tolist()), set(map(tuple, frame.exit_handles.tolist()))
        enters = handles_of(world, frame.enter)
        assert removed <= alive, where
        assert set(world.handles().tolist()) == alive - removed, where
        assert exits <= open_pairs, where
        assert not enters & open_pairs, where
        open_pairs = open_pairs - exits | enters
        assert open_pairs == handles_of(world, world.pairs), where
        assert {handle for pair in open_pairs for handle in pair} <= alive - removed, where
        world.validate()
        left += len(removed)
        again = copy.deepcopy(world) if rng.random() < 0.3 else bp.World.from_bytes(world.to_bytes())
        assert again.to_bytes() == world.to_bytes(), where
        if rng.random() < 0.3:
            world = again
        if rng.random() < 0.5:
            add(world, rng, int(rng.integers(1, 3)))  # into rows that have become free
        if rng.random() < 0.3 and len(world):
            gone = world.rows[: int(rng.integers(1, 3))]
            world.remove(gone.copy())
    return left
