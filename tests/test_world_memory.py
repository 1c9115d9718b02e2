"""The memory of a world whose bodies come and go does not grow."""

import gc
import tracemalloc
import weakref

import pytest

from world_seasons import Season, heaviest


@pytest.mark.parametrize(("method", "dimension"), [("auto", 2), ("bvh", 3)])
def test_hundreds_of_frames_of_coming_and_going_take_the_memory_of_a_few(method, dimension):
    season = Season(method, dimension)
    early = heaviest(season, range(200))
    gc.collect()
    tracemalloc.start()
    try:
        heaviest(season, range(200, 250))
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        late = heaviest(season, range(250, 600))
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    season.world.validate()
    assert season.world.slots == Season.BODIES
    assert late < 1.25 * early
    assert grown < 50_000
    assert season.calls > 50
    world = weakref.ref(season.world)
    del season
    gc.collect()
    assert world() is None


def test_frames_let_go_of_the_world_and_its_contacts():
    season = Season("auto", 2)
    frames = []
    for number in range(50):
        season.live(number)
        frames.append(season.frame)
    kept = season.world.frame
    assert all(frame._shapes is None for frame in frames if frame is not kept)
    season.frame = kept = None
    frames.clear()
    gc.collect()
    assert season.world.frame is None
