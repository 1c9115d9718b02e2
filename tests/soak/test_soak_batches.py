"""Full numbers: boxes in batches of all sizes against a loop over the batches; queries with keys against the oracle."""

import numpy as np
import pytest

import broadphase as bp
from cases import DIMENSIONS, DTYPES, lattice
from seeds import seeds
from test_batch_pairs import check, uneven_keys
from test_batch_queries import asked_of, check_queries, check_trees_follow

pytestmark = pytest.mark.soak


def sizes_of(rng):
    """Sizes of batches: many tiny ones, a few, or one that is far larger than the others."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.integers(0, 4, rng.integers(1, 400))
    if kind == 1:
        return rng.integers(0, 70, rng.integers(1, 30))
    if kind == 2:
        return np.append(rng.integers(0, 9, 50), rng.integers(200, 3000))
    return np.round(2 ** rng.uniform(0, 10, rng.integers(1, 12))).astype(int)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_batches_of_all_sizes_equal_a_loop_over_them(dimension, dtype):
    for seed in seeds(1250):
        rng = np.random.default_rng([dimension, seed])
        keys = uneven_keys(rng, sizes_of(rng))
        if seed % 2:
            keys = np.sort(keys)
        reach = int(rng.choice([9, 40])) * (30 if dimension == 1 else 1)
        boxes = lattice(rng, len(keys), dimension, dtype, reach=reach)
        label = f"seed={seed} d={dimension} {dtype}"
        check(boxes, keys, label=label, touching=bool(seed % 3), margin=float(seed % 5 == 0))
        other_keys = rng.permutation(np.append(keys[:: rng.integers(1, 9)], [123, 123]))
        other = lattice(rng, len(other_keys), dimension, dtype, reach=reach)
        check(boxes, keys, other, other_keys, label=label, touching=bool(seed % 3))


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_queries_with_keys_equal_the_oracle_among_rows_of_the_key(dimension):
    for seed in seeds(200):
        rng = np.random.default_rng([dimension, seed])
        keys = uneven_keys(rng, np.append(sizes_of(rng), 1))
        index = bp.BVH(lattice(rng, len(keys), dimension, DTYPES[seed % 2], reach=12), batch=keys)
        check_queries(index, keys, asked_of(rng, keys, 12), rng, workers=1 + seed % 2)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_trees_of_batches_follow_all_changes(dimension):
    for seed in seeds(200):
        rng = np.random.default_rng([dimension, seed])
        check_trees_follow(rng, np.append(sizes_of(rng), [2, 3]), dimension, DTYPES[seed % 2], 60)
