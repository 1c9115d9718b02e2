"""Any tiling; runs from files to files, killed again and again, in little memory, as `make scale` at full size."""

import shutil

import numpy as np
import pytest
from benchmarks import scale as bench

from broadphase.scale.planning import divide
from cases import DIMENSIONS, DTYPES, lattice
from seeds import compared, seeds
from test_scale_tiles import columns_of, pairs_of_all_tiles, plain_pairs, plan_at, table_of

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("city", ["0", "0.1"])
def test_scale_killed_at_random_times_gives_the_same_pairs(city, tmp_path):
    options = ["--boxes", "1e6", "--memory", "50MB", "--kills", "10", "--city", city]
    for seed in seeds(10):
        assert bench.main(["kills", *options, "--seed", str(seed), "--folder", str(tmp_path / str(seed))]) == 0
        shutil.rmtree(tmp_path / str(seed))


@pytest.mark.parametrize("memory", ["50MB", "200MB", "2GB"])
def test_scale_keeps_its_memory(memory, tmp_path):
    options = ["--boxes", "1e7", "--memory", memory, "--city", "0.1", "--folder", str(tmp_path)]
    assert bench.main(["memory", *options]) == 0


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_ten_thousand_tilings_give_each_pair_once(dimension):
    for seed in seeds(2500):
        rng = np.random.default_rng([dimension, seed])
        boxes = lattice(rng, rng.integers(0, 60), dimension, DTYPES[seed % 2], reach=8)
        wide = rng.random(len(boxes)) < 0.1
        boxes[wide, 1, 0] = rng.choice([np.inf, 100])
        if seed % 3 == 0 and len(boxes):
            plan = divide(boxes[:, 0], boxes[:, 1], len(boxes), rng.integers(1, 20))
        else:
            places = rng.choice([*range(-8, 9), 0.5, np.nan], 2 ** rng.integers(0, 6) - 1)
            plan = plan_at(dimension, [(int(rng.integers(dimension)), at) for at in places])
        columns = columns_of(dimension, touching=bool(seed % 2))
        expected = plain_pairs(boxes, touching=columns.touching)
        assert sorted(pairs_of_all_tiles(table_of(boxes), plan, columns)) == expected
        compared(len(boxes))
        other = lattice(rng, rng.integers(0, 60), dimension, DTYPES[seed % 2], reach=8)
        expected = plain_pairs(boxes, other, touching=columns.touching)
        assert sorted(pairs_of_all_tiles(table_of(boxes), plan, columns, table_of(other))) == expected
        compared(len(boxes), len(other))
