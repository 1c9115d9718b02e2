"""Full numbers: a million damaged snapshots."""

import random

import pytest
from scale import times

from broadphase.world.snapshot_format import unpack
from test_snapshot_format import SMALL

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
    rng = random.Random(5)
    for _ in range(times(1_000_000)):
        broken = mutated(rng, SMALL)
        if broken != SMALL:
            with pytest.raises(ValueError, match="snapshot"):
                unpack(broken)
