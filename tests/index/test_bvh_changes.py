"""Pairs that began or ended, as the tree finds them, against the difference of two lists of pairs."""

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native
from broadphase.testing import make_scene

CAPACITY = 250


class Watched:
    """A tree, its store, and plain sets of pairs for comparison: a box is named by its row and its generation."""

    def __init__(self, dimension, dtype, seed):
        self.rng = np.random.default_rng([seed, dimension])
        lower = self.rng.random((CAPACITY, dimension))
        size = self.rng.exponential(0.05, (CAPACITY, dimension))
        self.store = np.stack([lower, lower + size], axis=1).astype(dtype)
        self.alive = self.rng.random(CAPACITY) < 0.5
        self.generation = np.zeros(CAPACITY, int)
        self.tree = _native.Bvh(dimension)
        self.tree.build(self.store[:, 0], self.store[:, 1], self.living())
        self.before = set()

    def living(self):
        return np.flatnonzero(self.alive).astype(np.int32)

    def some(self, rows, most):
        count = min(len(rows), int(self.rng.integers(1, most + 1)))
        return self.rng.choice(rows, count, replace=False).astype(np.int32)

    def change(self, most):
        action = self.rng.integers(4)
        if action == 0 and not self.alive.all():
            rows = self.some(np.flatnonzero(~self.alive), most)
            self.alive[rows] = True
            self.tree.insert(self.store[:, 0], self.store[:, 1], rows)
        elif action == 1 and self.alive.any():
            rows = self.some(self.living(), most)
            self.alive[rows] = False
            self.generation[rows] += 1
            self.tree.remove(rows)
        elif self.alive.any():
            rows = self.some(self.living(), most)
            scale = 0.03 if action == 2 else 0.7
            self.store[rows] += self.rng.normal(0, scale, (len(rows), 1, self.store.shape[2])).astype(self.store.dtype)
            self.tree.update(self.store[:, 0], self.store[:, 1], rows)

    def check(self, touching, workers):
        living = self.living()
        pairs = living[bp.pairs(self.store[living], method="brute_force", touching=touching)]
        now = {(i, j, self.generation[i], self.generation[j]) for i, j in pairs.tolist()}
        reports = []
        self.tree.changes(self.store[:, 0], self.store[:, 1], touching, workers, reports)
        ((began, ended),) = reports
        assert began.tolist() == sorted([i, j] for i, j, *_ in now - self.before)
        assert ended.tolist() == sorted([i, j] for i, j, *_ in self.before - now)
        self.before = now


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_changes_of_a_random_history_are_the_difference_of_the_pairs(seed, dimension, dtype):
    watched = Watched(dimension, dtype, seed)
    for _ in range(40):
        watched.check(touching=seed % 2 == 0, workers=1 + seed % 3)
        for _ in range(watched.rng.integers(4)):
            watched.change(most=5 if watched.rng.random() < 0.7 else CAPACITY)


def test_changes_of_many_moved_rows_use_all_tasks():
    boxes = make_scene("uniform", 20_000)
    index = _native.Bvh(3)
    rows = np.arange(len(boxes), dtype=np.int32)
    store = np.ascontiguousarray(boxes)
    index.build(store[:, 0], store[:, 1], rows)
    before = bp.pairs(store, sort=True)
    reports = []
    index.changes(store[:, 0], store[:, 1], True, 2, reports)
    assert np.array_equal(reports[0][0], before)
    store += np.random.default_rng(3).normal(0, 0.003, (len(store), 1, 3)).astype(store.dtype)
    index.update(store[:, 0], store[:, 1], rows)
    index.changes(store[:, 0], store[:, 1], True, 2, reports)
    began, ended = reports[1]
    keys_before, keys_now = (p[:, 0].astype(np.int64) << 32 | p[:, 1] for p in (before, bp.pairs(store, sort=True)))
    keys_began, keys_ended = (p[:, 0].astype(np.int64) << 32 | p[:, 1] for p in (began, ended))
    assert np.array_equal(keys_began, np.setdiff1d(keys_now, keys_before))
    assert np.array_equal(keys_ended, np.setdiff1d(keys_before, keys_now))
