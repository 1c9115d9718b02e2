"""Full numbers: periodic worlds against all images, fast things against closed forms, long runs at borders."""

import numpy as np
import pytest

import broadphase as bp
from seeds import seeds
from test_ccd import meetings_of_balls
from test_periodic import most_pairs_of_lattice_scenes

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("widest", [0.3, 0.5, 1.0])
def test_fifty_thousand_periodic_lattices_equal_all_images(dimension, widest):
    full = 50_000 if dimension == 2 else 5_000
    assert most_pairs_of_lattice_scenes(dimension, widest, seeds(full, 1000, least=50))


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("speed", [0.1, 1.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9])
def test_thousands_of_scenes_of_fast_balls_equal_the_closed_form(dimension, speed):
    assert meetings_of_balls(dimension, speed, seeds(2_000, 1000, least=20)) > 0


@pytest.mark.parametrize("border", ["bounce", "wrap"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_a_hundred_thousand_steps_keep_things_within(border, dimension):
    for seed in seeds(10):
        check_borders(border, dimension, np.random.default_rng([dimension, seed]), 10_000)


def check_borders(border, dimension, rng, steps):
    world = bp.World(dim=dimension, bounds=[[0.0] * dimension, [16.0] * dimension], boundary=border)
    half = [0.5] * dimension
    capsule = bp.Capsule(np.negative(half), half, 0.25)
    plane, space = [bp.Circle(1), bp.Rectangle(2, 1), capsule], [bp.Sphere(1), bp.Box(2, 1, 1), capsule]
    shapes = (plane if dimension == 2 else space) * 10
    spins = rng.normal(size=30 if dimension == 2 else (30, 3))
    rows = world.add_many(shapes, rng.uniform(3, 13, (30, dimension)), velocities=rng.normal(0, 9, (30, dimension)),
                          angular_velocities=spins, ccd=np.arange(30) % 5 == 0)  # fmt: skip
    speeds = np.abs(world.velocities[rows])
    entered = left = 0
    for _ in range(steps):
        frame = world.step(rng.choice([1 / 60, 1.0]))
        entered, left = entered + len(frame.enter), left + len(frame.exit)
        assert entered - left == len(frame.pairs)
        assert (np.abs(world.velocities[rows]) == speeds).all()
        if border == "bounce":
            assert (world.boxes[rows, 0] >= -1e-12).all()
            assert (world.boxes[rows, 1] <= 16 + 1e-12).all()
        else:
            assert ((world.positions >= 0) & (world.positions < 16)).all()
