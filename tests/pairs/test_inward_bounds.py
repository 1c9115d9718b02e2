"""Boxes a few units in the last place apart, of floats and of doubles: trees round them, and lose no pair or query."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import simd_level, simd_levels
from cases import DIMENSIONS, DTYPES, check_pairs
from index_cases import CLASSES
from oracles import queries as query_oracle
from oracles.queries import assert_same_answers

ORIGINS = {"0": 0.0, "a third": 1 / 3, "2^24 + 1": 2.0**24 + 1}


@pytest.fixture(params=simd_levels())
def level(request):
    """Force one level during a test."""
    with simd_level(request.param):
        yield request.param


def near_boxes(rng, n, dimension, dtype, origin):
    """Give boxes whose corners are a few thirds, moved by a few steps of the type or by parts of a float's."""
    corners = np.float64(origin) + rng.integers(0, 5, (n, 2, dimension)) / 3
    parts = rng.integers(-20, 21, corners.shape) * 2.0**-26 * np.abs(corners)
    corners = np.where(rng.random(corners.shape) < 0.5, corners, corners + parts).astype(dtype)
    for _ in range(2):
        moved = np.nextafter(corners, rng.choice([-np.inf, np.inf], corners.shape).astype(dtype))
        corners = np.where(rng.random(corners.shape) < 0.5, corners, moved)
    flat = rng.random((n, dimension)) < 0.1
    corners[:, 1] = np.where(flat, corners[:, 0], corners[:, 1])
    return np.sort(corners, axis=1)


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_pairs_at_the_limit_of_floats_equal_the_oracle_on_each_level(level, dimension, dtype, origin):
    for n in (2, 9, 70, 300):
        rng = np.random.default_rng(n)
        boxes, other = (near_boxes(rng, count, dimension, dtype, ORIGINS[origin]) for count in (n, 40))
        for touching in (True, False):
            label = f"{level} n={n} seed={n} {dtype}"
            check_pairs(boxes, label=label, touching=touching)
            check_pairs(boxes, other, label=label, touching=touching, margin=1e-7)


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("kind", CLASSES)
def test_queries_at_the_limit_of_floats_equal_the_oracle_on_each_level(level, kind, dimension, dtype, origin):
    rng = np.random.default_rng(dimension)
    boxes = near_boxes(rng, 200, dimension, dtype, ORIGINS[origin])
    index = getattr(bp, kind)(boxes)
    for queries_dtype in DTYPES:
        queries = near_boxes(rng, 600, dimension, queries_dtype, ORIGINS[origin])
        for some in (queries, queries[:5]):
            found = index.query(some)
            assert_same_answers(found, query_oracle.query(boxes, some), f"{level} {kind} {len(some)} queries")
