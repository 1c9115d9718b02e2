"""Full numbers: a million damaged snapshots, and many that lie."""

import random

import pytest

import broadphase as bp
from broadphase.world.snapshot_format import unpack
from busy_worlds import go_on, make_world
from seeds import seeds
from test_snapshot_format import SMALL
from test_world_snapshot_damage import FULL, lie_and_go_on

pytestmark = pytest.mark.soak


def mutated(rng: random.Random, data: bytes) -> bytes:
    broken = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        begin = rng.randint(0, len(broken))
        what = rng.randrange(3)
        if what == 0:  # other bytes in place
            end = min(len(broken), begin + rng.randint(1, 8))
            broken[begin:end] = rng.randbytes(end - begin)
        elif what == 1:  # bytes put in, or left out
            broken[begin : begin + rng.randint(0, 8)] = rng.randbytes(rng.randint(0, 8))
        else:  # a piece from elsewhere
            source = rng.randint(0, len(broken))
            broken[begin : begin + 16] = broken[source : source + 16]
    return bytes(broken)


def test_a_million_random_mutations_of_a_container_are_value_errors():
    for seed in seeds(1_000_000):
        broken = mutated(random.Random(seed), SMALL)
        if broken != SMALL:
            with pytest.raises(ValueError, match="snapshot"):
                unpack(broken)


def test_a_million_random_mutations_of_a_world_are_value_errors():
    for seed in seeds(1_000_000):
        broken = mutated(random.Random(seed), FULL)
        if broken != FULL:
            with pytest.raises(ValueError, match="snapshot"):
                bp.World.from_bytes(broken)


def test_a_hundred_thousand_lies_with_the_right_checksum_are_refused_or_make_a_world_that_works():
    refused = [lie_and_go_on(random.Random(seed)) for seed in seeds(100_000, least=100)]
    assert 0 < sum(refused) < len(refused)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_thousand_worlds_go_on_after_loading_as_they_would_have(dimension):
    for seed in seeds(1000):
        world = make_world(dimension, seed)
        go_on(world, seed, seed % 20)
        loaded = bp.World.from_bytes(world.to_bytes())
        assert go_on(loaded, seed + 1, 20) == go_on(world, seed + 1, 20), seed
        assert loaded.to_bytes() == world.to_bytes(), seed
