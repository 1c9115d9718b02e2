"""Whatever happens to a world: it tells what touches, and events balance."""

import numpy as np
import pytest

import broadphase as bp
from world_histories import METHODS, AnyShapes, History, RoundedBoxes, small_thresholds

LOCK_STEP = [
    {"method": "auto"},
    {"method": "auto", "margin": 0.0, "workers": 2},
    {"method": "bvh", "margin": 0.5},
    {"method": "brute_force", "margin": 3.0},
    {"method": "grid", "workers": 2},
]


@pytest.fixture(autouse=True)
def _small_thresholds(monkeypatch):
    small_thresholds(monkeypatch)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dimension", [2, 3])
def test_random_histories_have_the_events_of_the_oracle(dimension, method):
    for seed in range(4):
        history = History(seed, dimension, [{"method": method, "margin": [None, 0.0, 0.7, None][seed]}])
        history.run(25)
        history.end()


@pytest.mark.parametrize("kind", [RoundedBoxes, AnyShapes])
@pytest.mark.parametrize("dimension", [2, 3])
def test_worlds_in_lock_step_tell_the_same_to_the_byte(dimension, kind):
    for seed in range(3):
        history = History(1000 + seed, dimension, LOCK_STEP, kind)
        history.run(20, first=40)
        history.end()


@pytest.mark.parametrize("dimension", [2, 3])
def test_histories_of_all_shapes_have_the_events_of_the_oracle(dimension):
    for seed in range(5):
        history = History(2000 + seed, dimension, [{"method": "auto"}], AnyShapes)
        history.run(25)
        history.end()


def test_a_mask_without_layers_meets_what_is_in_the_layer_default():
    for first in (True, False):
        world = bp.World(dim=2)
        if first:
            world.add_many(bp.Circle(1), [[0, 0], [0.5, 0]], mask=[26, 27])
        else:
            world.add_many(bp.Circle(1), [[0, 0], [0.5, 0]])
            world.set_filters([0, 1], mask=[26, 27])
        world.add(bp.Circle(1), position=(1, 0))
        assert world.layers.tolist() == [1, 1, 1]
        assert world.step().pairs.tolist() == [[1, 2]]


def test_nothing_may_be_added_moved_and_reshaped():
    world = bp.World(dim=3)
    assert world.add_many(bp.Sphere(1), np.empty((0, 3)), rotations=np.empty((0, 4))).tolist() == []
    world.add(bp.Sphere(1), position=(0, 0, 0))
    world.move([], np.empty((0, 3)), rotations=np.empty((0, 4)))
    world.set_shapes([], [])
    world.remove([])
    assert len(world.step().pairs) == 0
    world.validate()
