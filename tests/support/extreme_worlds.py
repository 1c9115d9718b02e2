"""Small random worlds of extreme numbers: tiny and huge positions, sizes, velocities and bounds."""

import warnings

import numpy as np

import broadphase as bp


def some_size(rng, most):
    """Give a number of any size up to 10^most, or 0."""
    return (
        0.0
        if rng.random() < 0.1
        else float(10.0 ** (rng.uniform(-3, 3) if rng.random() < 0.5 else rng.uniform(-300, most)))
    )


def some_vectors(rng, shape, most):
    return np.array([some_size(rng, most) for _ in range(int(np.prod(shape)))]).reshape(shape) * rng.choice(
        [-1, 1], shape
    )


def step_extreme_world(seed):
    """Step such a world where warnings are errors; return whether a step was refused."""
    rng = np.random.default_rng(seed)
    d, count = int(rng.integers(2, 4)), int(rng.integers(2, 7))
    low = np.clip(some_vectors(rng, (d,), 20), -1e38, 1e38)
    bounds = [low, np.maximum(np.nextafter(low, np.inf), low + [some_size(rng, 30) for _ in range(d)])]
    world = bp.World(d, bounds=bounds, boundary=str(rng.choice(["none", "bounce", "wrap", "remove"])))
    ball = bp.Circle if d == 2 else bp.Sphere
    inside = bounds[0] + (bounds[1] - bounds[0]) * rng.random((count, d))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        balls = [ball(some_size(rng, 30)) for _ in range(count)]
        boxes = [bp.AABB(np.abs(some_vectors(rng, (d,), 30))) for _ in range(count)]
        world.add_many(
            [one if rng.random() < 0.7 else other for one, other in zip(balls, boxes, strict=True)],
            inside if rng.random() < 0.5 else some_vectors(rng, (count, d), 40),
            velocities=some_vectors(rng, (count, d), rng.choice([3, 39, 308])),
            angular_velocities=some_vectors(rng, (count,) if d == 2 else (count, 3), rng.choice([3, 300])),
            ccd=rng.random(count) < 0.6,
            body_type=rng.choice(["dynamic", "dynamic", "static", "kinematic"], count).tolist(),
        )
        for _ in range(3):
            refusal, before, dt = "", world.to_bytes(), float(rng.choice([0.0, 1.0, 1e-300, -1.0, some_size(rng, 10)]))
            try:
                world.step(dt)
            except ValueError as error:
                refusal = str(error)
            if refusal:
                assert "row " in refusal, (seed, refusal)
                assert world.to_bytes() == before, seed
                return True
            world.validate()
    return False
