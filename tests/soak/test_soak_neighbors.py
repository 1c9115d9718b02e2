"""Full numbers: points in periodic cells of every shape against the formula and against ASE; lists kept along walks."""

from itertools import product

import numpy as np
import pytest

import broadphase as bp
from seeds import seeds
from test_neighbors import WANTED, random_cell, random_walk, require_as_ase, require_as_the_formula

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("periodic", list(product([False, True], repeat=3)))
def test_neighbors_random_cells_as_ase(periodic):
    total = 0
    for seed in seeds(1250, least=10):
        rng = np.random.default_rng([1, seed])
        cell = random_cell(rng, 3)
        count = rng.integers(1, 40)
        points = rng.uniform(-0.6, 1.6, (count, 3))
        if seed % 4 == 0:
            points = np.round(points * 4) / 4  # on faces, and several in one place
        edge = np.abs(np.linalg.det(cell)) ** (1 / 3)
        cell *= 3 / (edge * rng.choice([0.1, 0.3, 0.6]))  # ASE goes through all images up to 3 away
        total += require_as_ase(points @ cell, cell, periodic, 3.0)
    assert total > 0


@pytest.mark.parametrize("dimension", [2, 3])
def test_neighbors_random_cells_as_the_formula(dimension):
    for seed in seeds(2000):
        rng = np.random.default_rng([dimension, seed])
        cell = random_cell(rng, dimension)
        periodic = (rng.random(dimension) < 0.7).tolist()
        points = rng.uniform(-0.7, 1.6, (rng.integers(0, 40), dimension)) @ cell
        other = rng.uniform(-0.7, 1.6, (rng.integers(0, 20), dimension)) @ cell if seed % 3 == 0 else None
        cutoff = rng.choice([0.05, 0.3, 0.8, 1.5])
        if seed % 5 == 1:
            cutoff = rng.choice([0.0, 0.1, 0.4, 0.9], len(points))
            cutoff = cutoff if other is None else (cutoff, rng.choice([0.0, 0.2, 0.7], len(other)))
        require_as_the_formula(
            points, cutoff, other, cell=cell, periodic=periodic, combine=str(rng.choice(["sum", "max"]))
        )


@pytest.mark.parametrize("dimension", [2, 3])
def test_neighbor_lists_along_walks_as_searches(dimension):
    for seed in seeds(100):
        rng = np.random.default_rng([dimension, seed])
        periodic = (rng.random(dimension) < 0.7).tolist()
        skin = (0.0, 0.05, 0.3, "auto")[rng.integers(4)]
        kept = bp.NeighborList(0.5, skin=skin, periodic=periodic, sort=True, **WANTED)
        cell = np.eye(dimension) + np.tri(dimension, k=-1) * rng.uniform(-1, 1)
        for points, now in random_walk(rng, 60, rng.integers(1, 60), dimension, cell):
            expected = bp.neighbors(points, 0.5, cell=now, periodic=periodic, sort=True, **WANTED)
            for found, right in zip(kept.update(points, now), expected, strict=True):
                assert np.array_equal(found, right), seed
