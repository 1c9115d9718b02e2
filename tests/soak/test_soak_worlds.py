"""Worlds that live long: histories beside the oracle, frames by the million, rows used again and again."""

import gc

import numpy as np
import pytest

import broadphase as bp
from seeds import seeds
from test_batch_worlds import meetings_of_scenes
from test_soak_runs import resident_bytes
from test_world_budgets import live_with_budgets
from world_histories import METHODS, AnyShapes, History, RoundedBoxes, small_thresholds
from world_seasons import Season, heaviest

pytestmark = pytest.mark.soak

LOCK_STEP = [{"method": "auto"}, {"method": "auto", "margin": 0.0, "workers": 2}, {"method": "bvh", "margin": 0.5}]


@pytest.fixture(autouse=True)
def _small_thresholds(monkeypatch):
    small_thresholds(monkeypatch)


@pytest.mark.parametrize("dimension", [2, 3])
def test_histories_of_a_hundred_frames_have_the_events_of_the_oracle(dimension):
    # In two dimensions and a world of each method: 10 000 histories.
    for seed in seeds(715):
        margin = [None, 0.0, 0.7][seed % 3]
        history = History(10_000 + seed, dimension, [{"method": method, "margin": margin} for method in METHODS])
        history.run(100, first=seed % 40)
        history.end()


@pytest.mark.parametrize("kind", [RoundedBoxes, AnyShapes])
@pytest.mark.parametrize("dimension", [2, 3])
def test_histories_in_lock_step_tell_the_same_to_the_byte(dimension, kind):
    for seed in seeds(500):
        history = History(20_000 + seed, dimension, LOCK_STEP, kind)
        history.run(100, first=seed % 60)
        history.end()


@pytest.mark.parametrize("dimension", [2, 3])
def test_histories_with_budgets_have_the_events_of_the_oracle_but_for_what_waits(dimension):
    for seed in seeds(500):
        live_with_budgets(30_000 + seed, dimension, 100)


@pytest.mark.parametrize("boundary", ["none", "wrap", "bounce"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_scenes_in_one_world_live_as_in_a_world_each(dimension, boundary):
    for seed in seeds(1000):
        rng = np.random.default_rng([dimension, seed])
        meetings_of_scenes(rng, dimension, boundary, int(rng.integers(1, 20)), 100)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_million_frames_take_the_memory_of_a_few(dimension):
    season = Season("auto", dimension)
    early = heaviest(season, range(2000))
    gc.collect()
    before = resident_bytes()
    late = heaviest(season, range(2000, 1_002_000))
    gc.collect()
    assert resident_bytes() - before < 5_000_000
    assert late < 1.25 * early
    season.world.validate()


def test_a_row_used_a_million_times_makes_stale_handles_only():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [1, 0]])
    stale = []
    for number in range(1_000_000):
        if number % 1000 == 0:
            stale.append(int(world.handles([1])[0]))
        world.remove([1])
        world.add_many(bp.Circle(1), [[1, 0]])
        if number % 100 == 0:
            frame = world.step()
            assert (frame.enter.tolist(), len(frame.exit)) == ([[0, 1]], min(number, 1))
    for handle in stale:
        with pytest.raises(KeyError):
            world.rows_of([handle])
    world.validate()
