"""The memory of a world whose bodies come and go does not grow."""

import gc
import sys
import tracemalloc
import weakref

import numpy as np
import pytest

import broadphase as bp
from shape_cycles import check_cycles
from traced_memory import traced_memory
from world_histories import METHODS
from world_seasons import Season, heaviest


@pytest.mark.parametrize(("method", "dimension"), [("auto", 2), ("bvh", 3)])
def test_hundreds_of_frames_of_coming_and_going_take_the_memory_of_a_few(method, dimension):
    season = Season(method, dimension)
    early = heaviest(season, range(200))
    gc.collect()
    tracemalloc.start()
    try:
        heaviest(season, range(200, 250))
        before = traced_memory()
        late = heaviest(season, range(250, 600))
        grown = traced_memory() - before
    finally:
        tracemalloc.stop()
    season.world.validate()
    assert season.world.slots == Season.BODIES
    assert late < 1.25 * early
    assert grown < 10_000
    assert season.calls > 50
    world = weakref.ref(season.world)
    del season
    gc.collect()
    assert world() is None


def test_frames_but_the_last_have_no_contacts_to_compute():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [1.5, 0], [3, 0]], velocities=[[0, 0], [0.1, 0], [0, 0]])
    frames = [world.step(0.1) for _ in range(5)]
    for frame in frames[:-1]:
        with pytest.raises(RuntimeError, match=f"contacts of frame {frame.number} have expired: read them before"):
            _ = frame.contacts
    assert world.frame is frames[-1]
    assert len(frames[-1].contacts.pairs) == 2


@pytest.mark.parametrize("dimension", [2, 3])
def test_empty_world_is_as_small_as_before_whatever_shapes_have_come_and_gone(dimension):
    check_cycles(dimension, 5, 25)


def made_by_steady_steps(world):
    """Return the most traced bytes that each of three steps takes at a time, after the first ones."""
    for _ in range(8):
        world.step(1.0)
    gc.collect()
    tracemalloc.start()
    try:
        made = []
        for _ in range(3):
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            world.step(1.0)
            made.append(tracemalloc.get_traced_memory()[1] - before)
        return made
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("moving", [0, 200, 20_000])
def test_step_makes_no_arrays_of_all_rows(moving):
    rng = np.random.default_rng(3)
    count = 20_000
    world = bp.World(3)
    velocities = np.zeros((count, 3))
    velocities[:moving] = rng.uniform(-0.02, 0.02, (moving, 3))
    world.add_many(bp.Sphere(0.4), rng.random((count, 3)) * count ** (1 / 3), velocities=velocities)
    for made in made_by_steady_steps(world):
        # What is about the rows that have moved, where these are few; else no more than flags for all rows.
        assert made < 11_000 + (250 * moving if moving < count else 2 * count)
    assert len(world.frame.pairs) > count / 2


# What a step may find on its way, which makes pairs be filtered, or rows be free.
CROWDS = {
    "plain": {},
    "layers": {"layer": ["a", "b"], "mask": ["a", "b"]},
    "groups": {"group": [0, -1, 2]},
    "free rows": {},
    "static": {"body_type": ["dynamic", "dynamic", "static"]},
    "batches": {"batch": [0, 1, 2, 3]},
}


@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.parametrize("moving", [200, 8_000])
@pytest.mark.parametrize("method", METHODS)
def test_steady_step_allocates_no_more_than_its_frame_holds(method, moving, crowd):
    rng = np.random.default_rng(3)
    count = 8_000
    edge = count ** (1 / 3)
    world = bp.World(3, method=method)
    velocities = np.zeros((count, 3))
    velocities[:moving] = rng.uniform(-0.002, 0.002, (moving, 3))
    given = {name: [values[row % len(values)] for row in range(count)] for name, values in CROWDS[crowd].items()}
    rows = world.add_many(bp.Sphere(0.4), rng.random((count, 3)) * edge, velocities=velocities, **given)
    if crowd == "free rows":
        world.remove(rows[::7])
    if crowd == "layers":
        world.ignore([[0, 1], [5, 9]])
    for made in made_by_steady_steps(world):
        assert made < 12_000  # of objects, whatever their number; the arrays of a frame are made when they are read
    assert len(world.frame.pairs) > 100


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages are counted as Linux does")
@pytest.mark.parametrize("boundary", ["none", "wrap"])
@pytest.mark.parametrize("method", [name for name in METHODS if name != "brute_force"])
def test_steps_that_go_on_take_no_new_memory_from_the_system(boundary, method):
    rng = np.random.default_rng(4)
    count = 20_000
    edge = count ** (1 / 3)
    world = bp.World(3, bounds=[[0.0] * 3, [edge] * 3], boundary=boundary, method=method)
    followed = np.arange(count) < 50
    speeds = rng.uniform(-0.02, 0.02, (count, 3))
    world.add_many(bp.Sphere(0.4), rng.random((count, 3)) * edge, velocities=speeds, ccd=followed)
    for _ in range(12):
        world.step(1.0)
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        frame = world.step(1.0)
    pages = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    # A step reads and writes some 10 MB, which are 2,500 pages.
    assert pages < 10 * 60
    assert len(frame.pairs) > count / 2
