"""The k nearest neighbors of points, against the formula image by image, and against SciPy."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import simd_level, simd_levels
from oracles.nearest_neighbors import plain_nearest

WANTED = {"distances": True, "vectors": True, "shifts": True}


def listed(found):
    columns = [found.pairs, found.shifts, found.distances[:, None], found.vectors]
    return [tuple(row) for row in np.concatenate(columns, axis=1).tolist()]


def random_scene(seed):
    """Points, other points or None, and the options of a scene; and how many images along a vector it needs."""
    rng = np.random.default_rng(seed)
    dimension, kind = int(rng.integers(2, 4)), int(rng.integers(4))
    count, k = int(rng.choice([0, 1, 2, 3, 5, 15, 16, 17, 33, 60])), int(rng.choice([1, 2, 3, 8, 9, 17, 20, 40]))
    options = {}
    cell, periodic = np.eye(dimension), np.zeros(dimension, bool)
    if kind:
        cell = np.eye(dimension) * rng.uniform(0.6, 1.6, dimension)
        if kind > 1:
            cell += rng.uniform(-0.3, 0.3, (dimension, dimension))
        periodic = rng.random(dimension) < 0.7
        options = {"cell": cell, "periodic": periodic}
    halves = rng.random() < 0.4  # many equal distances
    points = rng.integers(-2, 5, (count, dimension)) * 0.25 if halves else rng.uniform(-0.5, 1.5, (count, dimension))
    other = None
    if rng.random() < 0.4:
        other = rng.uniform(-0.5, 1.5, (int(rng.choice([0, 1, 2, 20])), dimension)) @ cell
    cutoff = None if rng.random() < 0.6 else float(rng.choice([0, 0.3, 0.7]))
    if cutoff is None and periodic.sum() < 2:
        k = min(k, 8)
    return points @ cell, cutoff, other, k, options, 5 if periodic.sum() > 2 else 12


def require_as_the_formula(seed, **more):
    points, cutoff, other, k, options, most = random_scene(seed)
    expected = plain_nearest(points, k, other, cutoff=np.inf if cutoff is None else cutoff, most=most, **options)
    found = bp.neighbors(points, cutoff, other, k=k, **options, **WANTED, **more)
    assert listed(found) == expected, f"seed {seed}"
    assert found.offsets.tolist() == np.searchsorted([row[0] for row in expected], range(len(points) + 1)).tolist()
    assert found.rows.tolist() == found.pairs[:, 1].tolist()
    assert not np.signbit(found.vectors[found.vectors == 0]).any()
    bare = bp.neighbors(points, cutoff, other, k=k, full=True, **options, **more)
    assert bare.pairs.tolist() == found.pairs.tolist()
    assert bare.distances is bare.vectors is bare.shifts is None
    return len(expected)


def test_nearest_neighbors_random_scenes_as_the_formula():
    assert sum(require_as_the_formula(seed) for seed in range(150)) > 10_000


@pytest.mark.parametrize("level", simd_levels())
def test_nearest_neighbors_levels_and_workers_as_the_formula(level):
    with simd_level(level):
        for seed in range(150, 190):
            require_as_the_formula(seed, workers=1 + seed % 3)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("k", [1, 8, 9, 64, 200])
def test_nearest_neighbors_many_points_as_scipy(dimension, periodic, k):
    tree = pytest.importorskip("scipy.spatial").cKDTree
    rng = np.random.default_rng([dimension, k])
    even, crowd = rng.random((1500, dimension)), rng.normal(0.4, 0.01, (1500, dimension))
    points = np.concatenate([even, crowd])
    box = [1.0] * dimension if periodic else None
    expected, rows = tree(points, boxsize=box).query(points, k + 1)
    for workers in (1, 3):
        found = bp.neighbors(points, k=k, cell=box, distances=True, workers=workers)
        assert found.offsets.tolist() == list(range(0, k * len(points) + 1, k))
        assert np.allclose(found.distances.reshape(-1, k), expected[:, 1:], rtol=1e-13, atol=1e-15)
        assert (found.rows.reshape(-1, k) == rows[:, 1:]).mean() > 0.999
    other = rng.random((700, dimension))
    expected, rows = tree(points, boxsize=box).query(other, k)
    found = bp.neighbors(other, None, points, k=k, cell=box, distances=True)
    assert np.allclose(found.distances, np.reshape(expected, -1), rtol=1e-13, atol=1e-15)


def test_nearest_neighbors_of_one_set_cap_a_cutoff():
    points = np.random.default_rng(3).random((400, 3))
    cell = [[1, 0, 0], [0.4, 1, 0], [-0.3, 0.4, 1]]
    full = bp.neighbors(points, 0.2, cell=cell, full=True, **WANTED)
    order = np.lexsort((full.rows, full.distances, full.pairs[:, 0]))
    place = np.arange(len(order)) - full.offsets[full.pairs[order, 0]]
    kept = order[place < 12]
    found = bp.neighbors(points, 0.2, k=12, cell=cell, **WANTED)
    assert np.array_equal(found.pairs, full.pairs[kept])
    assert np.array_equal(found.distances, full.distances[kept])
    assert np.array_equal(found.vectors, full.vectors[kept])
    assert np.array_equal(found.shifts, full.shifts[kept])
    assert len(bp.neighbors(points, 0.2, k=10**30, cell=cell).pairs) == len(full.pairs)


def test_nearest_neighbors_of_one_point_are_its_own_images():
    found = bp.neighbors([[7.0, -3.0]], k=6, cell=[1, 1], **WANTED)
    assert found.shifts.tolist() == [[-1, 0], [0, -1], [0, 1], [1, 0], [-1, -1], [-1, 1]]
    assert found.pairs.tolist() == [[0, 0]] * 6
    assert len(bp.neighbors([[0.0, 0.0, 0.0]], k=64, cell=[1e-3, 1, 1]).rows) == 64
    assert len(bp.neighbors([[7.0, -3.0]], k=6).rows) == 0
    assert len(bp.neighbors(np.empty((0, 3)), k=6, cell=[1, 1, 1]).rows) == 0
    assert bp.neighbors(np.empty((0, 3)), k=6).offsets.tolist() == [0]


@pytest.mark.parametrize("cell", [None, [1, 1, 1], [[1, 0, 0], [0.3, 1, 0], [0.1, 0.2, 1]]])
def test_nearest_neighbors_of_equal_points_are_those_of_the_lowest_rows(cell):
    points = np.full((20_000, 3), 0.3)
    found = bp.neighbors(points, k=4, cell=cell, distances=True)
    assert not found.distances.any()
    rows = found.rows.reshape(-1, 4)
    assert rows[:5].tolist() == [[1, 2, 3, 4], [0, 2, 3, 4], [0, 1, 3, 4], [0, 1, 2, 4], [0, 1, 2, 3]]
    assert (rows[4:] == [0, 1, 2, 3]).all()


def test_nearest_neighbors_off_the_road_as_scipy():
    tree = pytest.importorskip("scipy.spatial").cKDTree
    rng = np.random.default_rng(5)
    scenes = {
        "far": np.concatenate([rng.random((3000, 3)), [[1e9, 0, 0]]]),
        "line": rng.random((3000, 1)) * [[1.0, 2.0, 3.0]],
        "void": np.concatenate([rng.random((2000, 3)) * 1e-6, rng.random((50, 3)) * 100]),
        "lattice": np.stack(np.meshgrid(*[np.arange(12.0)] * 3), -1).reshape(-1, 3),
        "vanishing": rng.random((300, 3)) * 1e-200,
    }
    for name, points in scenes.items():
        for k in (1, 7, 30):
            expected, _ = tree(points).query(points, k + 1)
            found = bp.neighbors(points, k=k, distances=True)
            assert np.allclose(found.distances.reshape(-1, k), expected[:, 1:], rtol=1e-12), name


def test_nearest_neighbors_farther_than_numbers_reach_are_the_lowest_rows():
    points = np.array([[0.0, 0.0], [1e200, 0.0], [2e200, 0.0], [-1e200, 0.0]])
    found = bp.neighbors(points, k=2, distances=True)
    assert found.rows.tolist() == [1, 2, 0, 2, 0, 1, 0, 1]
    assert np.isinf(found.distances).all()


def test_nearest_neighbors_of_extremely_skewed_cells_are_those_of_plain_ones():
    rng = np.random.default_rng(6)
    points = rng.random((300, 3))
    plain = bp.neighbors(points, k=10, cell=[1, 1, 1], distances=True)
    skewed = bp.neighbors(points, k=10, cell=[[1, 0, 0], [1000, 1, 0], [-77, 5000, 1]], distances=True)
    assert np.allclose(plain.distances, skewed.distances, rtol=1e-9, atol=1e-9)
    assert (plain.rows == skewed.rows).mean() > 0.99


def test_nearest_neighbors_of_batches_are_those_of_each():
    rng = np.random.default_rng(7)
    sizes = rng.integers(1, 40, 60)
    keys = rng.permutation(np.repeat(np.arange(60), sizes))
    points, cells = rng.random((len(keys), 3)), np.eye(3) * rng.uniform(0.7, 1.5, (60, 1, 1))
    for cell, cutoff in ((None, None), (cells, None), (cells, 0.4), (None, 0.3)):
        for workers in (1, 3):
            found = bp.neighbors(points, cutoff, k=10, cell=cell, batch=keys, workers=workers, **WANTED)
            for key in range(60):
                rows = np.flatnonzero(keys == key)
                alone = bp.neighbors(points[rows], cutoff, k=10, cell=None if cell is None else cell[key], **WANTED)
                for at, row in enumerate(rows):
                    own = slice(*found.offsets[row : row + 2])
                    of_it = slice(*alone.offsets[at : at + 2])
                    assert found.rows[own].tolist() == rows[alone.rows[of_it]].tolist()
                    assert found.distances[own].tolist() == alone.distances[of_it].tolist()
                    assert found.shifts[own].tolist() == alone.shifts[of_it].tolist()
    systems = rng.random((500, 3, 2))
    found = bp.neighbors(systems, k=5, workers=2)
    assert (found.rows // 3 == found.pairs[:, 0] // 3).all()
    assert len(found.rows) == 500 * 3 * 2
    other = rng.random((500, 2, 2))
    assert len(bp.neighbors(systems, None, other, k=5).rows) == 500 * 3 * 2
    assert bp.neighbors([[0.0, 0], [1, 1]], None, [[0.0, 0]], k=2, batch=([0, 1], [1])).pairs.tolist() == [[1, 0]]


def test_nearest_neighbors_bad_arguments_are_named():
    points = np.random.default_rng(0).random((5, 3))
    for k in (0, -1, 1.5):
        with pytest.raises(ValueError, match="k must be"):
            bp.neighbors(points, k=k)
    for k in (True, "3", [3]):
        with pytest.raises(TypeError, match="k must be a whole number"):
            bp.neighbors(points, k=k)
    with pytest.raises(ValueError, match="give cutoff, k or both"):
        bp.neighbors(points)
    with pytest.raises(ValueError, match="cutoff must be one number"):
        bp.neighbors(points, np.ones(5), k=2)
    with pytest.raises(ValueError, match="sorted by distance"):
        bp.neighbors(points, k=2, sort=True)
    with pytest.raises(ValueError, match="do not span a volume"):
        bp.neighbors(points, k=2, cell=np.ones((3, 3)))
    with pytest.raises(ValueError, match="10⁶ periodic cells"):
        bp.neighbors([[0.0, 0.0]], None, [[0.0, 9.0]], k=1, cell=[1e-7, 1], periodic=[True, False])
    with pytest.raises(ValueError, match="row 4 is more than"):
        bp.neighbors(np.concatenate([points[:4], [[1e12, 0, 0]]]), k=2, cell=[1, 1, 1])
    with pytest.raises(MemoryError):
        bp.neighbors(points, k=2**60, cell=[1, 1, 1])
