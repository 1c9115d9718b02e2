"""Lists that choose their skin: every update against a search, and what is chosen against what moves."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.skins import SkinChoice
from broadphase.testing import simd_level, simd_levels

WANTED = {"distances": True, "vectors": True, "shifts": True}
SPACE = np.array([6.0, 6.0, 6.0])


def directions(rng, count, dimension):
    ways = rng.normal(size=(count, dimension))
    return ways / np.linalg.norm(ways, axis=1, keepdims=True)


def walk(rng, points, step):
    while True:
        yield points
        points = points + step * directions(rng, *points.shape)


def flight(rng, points, step):
    ways = step * directions(rng, *points.shape)
    while True:
        yield points
        points = points + ways


def stand(rng, points, step):
    while True:
        yield points


def jumps(rng, points, step):
    """Stand still for some steps, and be elsewhere after that."""
    while True:
        for _ in range(rng.integers(1, 6)):
            yield points
        points = rng.permutation(points)


def race(rng, points, step):
    """One point crosses the cell in a few steps; all others stand."""
    while True:
        yield points
        points = points.copy()
        points[0] += 1.3


def bursts(rng, points, step):
    while True:
        for small in rng.choice([0.001, 0.001, 1.0], 5):
            yield points
            points = points + small * directions(rng, *points.shape)


def listed(found):
    columns = [found.pairs, found.shifts, found.distances[:, None], found.vectors]
    return sorted(map(tuple, np.concatenate(columns, axis=1).tolist()))


def require_as_searches(kept, frames, cutoff, **options):
    """Follow (points, cell, batch) with lists of one kind; the order is that of a search where it is a sorted one."""
    for step, (points, cell, batch) in enumerate(frames):
        found = kept.update(points, cell, batch=batch)
        right = bp.neighbors(points, cutoff, cell=cell, batch=batch, **WANTED, **options)
        if options.get("sort"):
            assert all(np.array_equal(one, other) for one, other in zip(found, right, strict=True)), step
        else:
            assert listed(found) == listed(right), step
        if options.get("full"):
            assert np.array_equal(found.offsets, right.offsets), step
            assert np.array_equal(found.pairs[:, 0], right.pairs[:, 0]), step
            assert np.array_equal(found.pairs[:, 1], found.rows), step


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("cell", [None, SPACE])
@pytest.mark.parametrize("move", [walk, flight, stand, jumps, race, bursts])
def test_neighbor_list_of_its_own_skin_as_a_search(move, cell, sort, full):
    rng = np.random.default_rng(4)
    kept = bp.NeighborList(1.0, full=full, sort=sort, **WANTED)
    points = rng.random((300, 3)) * 6
    steps = zip(range(30), move(rng, points, 0.015), strict=False)
    frames = ((now if cell is None else now % cell, cell, None) for _, now in steps)
    require_as_searches(kept, frames, 1.0, sort=sort, full=full)
    assert kept.updates == 30


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("level", simd_levels())
def test_neighbor_list_of_its_own_skin_in_cells_that_breathe(level, dimension):
    rng = np.random.default_rng(dimension)
    cell = np.eye(dimension) * 5 + np.tri(dimension, k=-1) * 1.7
    points = rng.random((400, dimension)) @ cell

    def frames():
        now, shape = points, cell
        for step in range(30):
            now = now + 0.01 * directions(rng, *now.shape)
            if step % 3 == 2:
                grow = np.eye(dimension) + rng.normal(size=(dimension, dimension)) * 2e-4
                now, shape = now @ grow, shape @ grow
            fractions = now @ np.linalg.inv(shape)
            if step % 2:
                now = (fractions - np.floor(fractions)) @ shape
            yield now, shape, None

    kept = bp.NeighborList(0.9, full=True, sort=True, **WANTED)
    with simd_level(level):
        require_as_searches(kept, frames(), 0.9, full=True, sort=True)
    assert kept.rebuilds < 20


@pytest.mark.parametrize("workers", [1, 3])
def test_neighbor_list_of_its_own_skin_for_other_points_and_keys_as_a_search(workers):
    rng = np.random.default_rng(6)
    few = [rng.random((count, 3)) * 3 for count in (0, 1, 2, 50, 50, 50, 2, 1, 0, 3000, 3000, 3000, 3000, 10)]
    frames = []
    for points in few:
        keys = rng.integers(0, 4, len(points))
        for step in range(4):
            frames.append((points + 0.002 * step, [3, 3, 3], None))
        frames.append((points + 0.008, [3, 3, 3], keys))
        frames.append((points + 0.01, [3, 3, 3], keys))
        frames.append((points + 0.01, None, keys))
    for full in (False, True):
        kept = bp.NeighborList(0.4, full=full, workers=workers, **WANTED)
        require_as_searches(kept, frames, 0.4, full=full)


def test_neighbor_list_of_its_own_skin_for_batches_with_their_own_cells_as_a_search():
    rng = np.random.default_rng(8)
    cells = np.array([np.diag(rng.uniform(2, 3, 3)) for _ in range(6)])
    points = rng.random((6, 40, 3)) @ cells
    kept = bp.NeighborList(0.8, full=True, sort=True, **WANTED)
    frames = []
    for _ in range(25):
        points = points + rng.normal(size=points.shape) * 0.002
        frames.append((points, cells, None))
    require_as_searches(kept, frames, 0.8, full=True, sort=True)
    assert kept.rebuilds < 10


@pytest.mark.parametrize("level", simd_levels())
def test_neighbor_list_of_its_own_skin_with_species_and_ignored_pairs_as_a_search(level):
    rng = np.random.default_rng(10)
    points, species = rng.random((500, 3)) * 5, rng.integers(0, 3, 500)
    table = np.array([[1.0, 0.8, 0.3], [0.8, 0.0, 0.9], [0.3, 0.9, 0.6]])
    ignored = rng.integers(0, 500, (300, 2))
    for rules, cutoff in (({"species": species}, table), ({"ignore_pairs": ignored}, 0.9)):
        kept = bp.NeighborList(cutoff, **rules, **WANTED)
        with simd_level(level):
            for _, now in zip(range(15), walk(rng, points, 0.01), strict=False):
                found = kept.update(now % 5, [5, 5, 5])
                right = bp.neighbors(now % 5, cutoff, cell=[5, 5, 5], **rules, **WANTED)
                assert listed(found) == listed(right)
        assert kept.rebuilds < 15


@pytest.mark.parametrize("full", [False, True])
def test_neighbor_list_of_points_outside_of_the_cell_as_a_search(full):
    rng = np.random.default_rng(12)
    points = rng.random((400, 3)) * 4 + rng.integers(-3, 4, (400, 3)) * 4.0
    kept = bp.NeighborList(1.0, skin=0.3, full=full, **WANTED)
    frames = []
    for _, now in zip(range(10), walk(rng, points, 0.01), strict=False):
        wrapped = now + rng.integers(-2, 3, (400, 3)) * 4.0 * (rng.random((400, 1)) < 0.1)
        frames.append((wrapped, [4, 4, 4], None))
    require_as_searches(kept, frames, 1.0, full=full)
    assert kept.rebuilds < 3


def test_neighbor_list_of_workers_and_levels_gives_the_same_arrays():
    rng = np.random.default_rng(13)
    points = rng.random((6000, 3)) * 12
    moves = [(points + 0.01 * k * directions(rng, 6000, 3)) % 12 for k in range(4)]
    for full in (False, True):
        expected = None
        for workers in (1, 2, 3):
            for level in simd_levels():
                kept = bp.NeighborList(1.2, full=full, workers=workers, **WANTED)
                with simd_level(level):
                    found = [kept.update(now, [12, 12, 12]) for now in moves]
                assert kept.rebuilds < 4
                expected = found if expected is None else expected
                for one, right in zip(found, expected, strict=True):
                    assert all(np.array_equal(a, b) for a, b in zip(one, right, strict=True) if b is not None)


def test_neighbor_list_keeps_nothing_where_points_move_far_and_begins_to_where_they_rest():
    rng = np.random.default_rng(14)
    kept = bp.NeighborList(1.0)
    points = rng.random((3000, 3)) * 7
    for _ in range(30):
        kept.update(rng.permutation(points), [7, 7, 7])
        assert kept.skin == 0
    assert kept.rebuilds == 30
    assert repr(kept) == "<NeighborList of cutoff 1 and skin 0 (auto): 30 searches in 30 updates>"
    for _ in range(60):
        kept.update(points, [7, 7, 7])
    assert kept.skin > 0
    assert kept.rebuilds < 60


def test_neighbor_list_is_not_misled_by_steps_that_are_small_by_turns():
    rng = np.random.default_rng(15)
    kept, points, built = bp.NeighborList(1.0), rng.random((3000, 3)) * 7, 0
    for step in range(400):
        points = points if step % 2 else rng.permutation(points)
        kept.update(points)
        built += kept.skin > 0
    assert built < 20


@pytest.mark.parametrize("full", [False, True])
def test_skins_grow_with_the_step_until_none_is_worth_it(full):
    chosen = []
    for step in (0.0, 1e-6, 1e-4, 0.001, 0.01, 0.5):
        choice = SkinChoice(2.0, full=full, sort=False)
        choice.skin(10_000, 3)
        choice.searched(200_000)
        choice.moved(step * 2.0)
        chosen.append(choice.skin(10_000, 3))
    assert chosen == [*sorted(chosen[:-1]), 0]
    assert 0.05 < chosen[-2] < 2.0


def test_neighbor_list_of_an_unknown_skin_names_it():
    with pytest.raises(ValueError, match="unknown skin 'aut'"):
        bp.NeighborList(1.0, skin="aut")
