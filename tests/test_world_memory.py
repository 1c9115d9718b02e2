"""The memory of a world whose bodies come and go does not grow."""

import gc
import tracemalloc
import weakref

import pytest

import broadphase as bp
from shape_cycles import check_cycles
from traced_memory import traced_memory
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
