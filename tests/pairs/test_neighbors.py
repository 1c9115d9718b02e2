"""Points within a cutoff, in open space and in periodic cells, against the formula image by image, and against ASE."""

from itertools import product

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import simd_levels
from oracles.neighbors import as_matrix, plain_neighbors

WANTED = {"distances": True, "vectors": True, "shifts": True}


def listed(found):
    """Rows like those of the oracle, sorted."""
    columns = [found.pairs, found.shifts, found.distances[:, None], found.vectors]
    return sorted(tuple(row) for row in np.concatenate(columns, axis=1).tolist())


def half(full, dimension):
    """Of a full list, each pair once."""
    return [row for row in full if row[0] < row[1] or (row[0] == row[1] and row[2 : 2 + dimension] > (0,) * dimension)]


def require_as_the_formula(points, cutoff, other=None, **options):
    expected = plain_neighbors(points, cutoff, other, **options)
    dimension = np.asarray(points).shape[1]
    found = bp.neighbors(points, cutoff, other, **WANTED, **options)
    assert listed(found) == (expected if other is not None else half(expected, dimension))
    full = bp.neighbors(points, cutoff, other, full=True, **WANTED, **options)
    assert listed(full) == expected
    assert not np.signbit(full.vectors[full.vectors == 0]).any()
    assert full.offsets.tolist() == np.searchsorted([row[0] for row in expected], range(len(points) + 1)).tolist()
    assert full.rows.tolist() == full.pairs[:, 1].tolist()
    ordered = bp.neighbors(points, cutoff, other, full=True, sort=True, **WANTED, **options)
    assert np.concatenate([ordered.pairs, ordered.shifts], axis=1).tolist() == [
        list(row[: 2 + dimension]) for row in expected
    ]
    cell = as_matrix(options.get("cell"), dimension)
    second = points if other is None else other
    vectors = np.asarray(second)[full.rows] - np.asarray(points)[full.pairs[:, 0]] + full.shifts @ cell
    assert np.allclose(vectors, full.vectors, rtol=1e-9, atol=1e-9 * (1 + np.abs(full.vectors).max(initial=0)))
    return len(expected)


def random_cell(rng, dimension):
    while True:
        cell = rng.normal(size=(dimension, dimension)) * rng.choice([1, 1, 1, 3])
        if rng.random() < 0.2:  # sheared by several cells
            cell[0] += rng.integers(-5, 6) * cell[1]
        if abs(np.linalg.det(cell)) > 0.3:
            return cell


@pytest.mark.parametrize("dimension", [2, 3])
def test_neighbors_random_cells_as_the_formula(dimension):
    total = 0
    for seed in range(40):
        rng = np.random.default_rng([dimension, seed])
        cell = random_cell(rng, dimension)
        if seed % 4 == 0:
            cell = np.abs(np.diag(cell)) + 0.2
        periodic = list(product([False, True], repeat=dimension))[seed % 2**dimension]
        points = rng.uniform(-0.7, 1.6, (rng.integers(0, 14), dimension)) @ as_matrix(cell, dimension)
        cutoff = rng.choice([0.3, 0.8, 1.5])
        total += require_as_the_formula(points, cutoff, cell=cell, periodic=periodic)
        if seed % 3 == 0:
            other = rng.uniform(-0.7, 1.6, (rng.integers(0, 9), dimension)) @ as_matrix(cell, dimension)
            require_as_the_formula(points, cutoff, other, cell=cell, periodic=periodic)
    assert total > 1500


@pytest.mark.parametrize("dimension", [2, 3])
def test_neighbors_open_space_as_the_formula(dimension):
    rng = np.random.default_rng(dimension)
    for count in (0, 1, 2, 3, 9, 60):
        points = rng.integers(0, 5, (count, dimension)) * 0.5  # many at the cutoff, and some equal
        for cutoff in (0.0, 0.5, 1.0, 7.0):
            require_as_the_formula(points, cutoff)
            require_as_the_formula(points, cutoff, points[::2] + 0.5)


def test_neighbors_of_one_point_are_its_own_images():
    found = bp.neighbors([[7.0, -3.0]], 1.0, cell=[1, 1], **WANTED)
    assert found.pairs.tolist() == [[0, 0], [0, 0]]
    assert sorted(found.shifts.tolist()) == [[0, 1], [1, 0]]
    assert found.distances.tolist() == [1.0, 1.0]
    assert len(bp.neighbors([[7.0, -3.0]], 1.0, cell=[1, 1], full=True).rows) == 4


def test_neighbors_points_on_faces_are_found_once():
    for dimension, cutoffs in ((2, (0.0, 0.5, 0.75, 1.0)), (3, (0.0, 0.5))):
        points = np.array(list(product([0.0, 0.5, 1.0], repeat=dimension)))
        for cutoff in cutoffs:
            require_as_the_formula(points, cutoff, cell=[1] * dimension)
            require_as_the_formula(points - 1e-17, cutoff, cell=np.roll(np.eye(dimension), 1, axis=1))


def test_neighbors_distance_of_the_cutoff_counts_and_the_next_does_not():
    rng = np.random.default_rng(4)
    points = rng.random((2, 3))
    distance = float(bp.neighbors(points, 2.0, distances=True).distances[0])
    assert len(bp.neighbors(points, distance).pairs) == 1
    assert len(bp.neighbors(points, np.nextafter(distance, 0)).pairs) == 0


@pytest.mark.parametrize("scale", [2.0**-450, 2.0**-30, 2.0**30, 2.0**450])
def test_neighbors_at_any_scale_are_the_same(scale):
    rng = np.random.default_rng(6)
    points, cell = rng.normal(size=(30, 3)), random_cell(rng, 3)
    expected = bp.neighbors(points, 0.9, cell=cell, **WANTED)
    found = bp.neighbors(points * scale, 0.9 * scale, cell=cell * scale, **WANTED)
    assert found.pairs.tolist() == expected.pairs.tolist()
    assert found.shifts.tolist() == expected.shifts.tolist()
    assert (found.distances == expected.distances * scale).all()


def test_neighbors_far_points_hide_no_others():
    rng = np.random.default_rng(7)
    near = rng.random((60, 3))
    far = np.array([[1e17, 0, 0], [0, -1e17, 0], [3e150, 1e150, -1e200], [1e17, 0, 0]])
    points = np.concatenate([near, far])
    require_as_the_formula(points, 0.3)
    require_as_the_formula(points, 0.3, cell=[[1, 0, 0], [0.3, 1, 0], [0, 0, 1]], periodic=[False, False, False])
    require_as_the_formula(near * [1, 1, 1e12], 0.3, cell=[1, 1, 1], periodic=[True, True, False])


@pytest.mark.parametrize("combine", ["sum", "max"])
def test_neighbors_own_cutoffs_as_the_formula(combine):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        cell = [[2, 0, 0], [1, 2, 0], [0.5, 0.3, 2]] if seed % 2 else None
        points = rng.normal(size=(14, 3))
        reaches = rng.choice([0.0, 0.1, 0.3, 0.9], 14)
        require_as_the_formula(points, reaches, cell=cell, combine=combine)
        require_as_the_formula(points, (reaches, reaches[:6]), points[:6] + 0.1, cell=cell, combine=combine)


@pytest.mark.parametrize("combine", ["sum", "max"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_neighbors_many_points_with_cutoffs_of_many_lengths_as_the_formula(dimension, combine):
    rng = np.random.default_rng(dimension)
    skewed = np.array([[2, 0, 0], [1.2, 2, 0], [0.5, -0.9, 2]])[:dimension, :dimension]
    points = rng.uniform(-0.5, 1.5, (80, dimension)) @ skewed
    reaches = 0.4 * 4.0 ** -rng.integers(0, 6, 80)
    reaches[:4] = 0.0
    points[:3] = points[0]
    require_as_the_formula(points, reaches, combine=combine)
    for cell in (skewed, [2.0] * dimension):
        for periodic in (True, [False, True, False][:dimension]):
            options = {"cell": cell, "periodic": periodic, "combine": combine}
            require_as_the_formula(points, reaches, **options)
            require_as_the_formula(points, (reaches, reaches[10:80]), points[10:] + 0.1, **options)
    # Cutoffs as long as the cell: there would be many more images than points.
    require_as_the_formula(points[:70], 4 * reaches[:70], cell=[2.0] * dimension, combine=combine)


def test_neighbors_with_cutoffs_of_many_lengths_the_same_with_threads():
    rng = np.random.default_rng(5)
    points, reaches = rng.random((30_000, 3)), np.minimum(0.05, 0.01 * rng.lognormal(0, 1.5, 30_000))
    for cell in (None, [1, 1, 1]):
        one, two = (bp.neighbors(points, reaches, cell=cell, workers=workers, **WANTED) for workers in (1, 2))
        for name in ("pairs", "shifts", "distances", "vectors"):
            assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


@pytest.mark.parametrize("combine", ["sum", "max"])
def test_neighbors_own_cutoffs_of_many_lengths_as_the_formula(combine):
    rng = np.random.default_rng(11)
    points = rng.random((60, 3)) * 4
    reaches = 2.0 ** rng.integers(-40, 1, 60)
    reaches[[3, 7, 9]] = 0.0, 1e-150, 2.0
    require_as_the_formula(points, reaches, combine=combine)
    require_as_the_formula(points, (reaches, reaches[:20]), points[20:40], combine=combine)
    require_as_the_formula(points[:12], reaches[:12], cell=[3, 3, 3], combine=combine)


def test_neighbors_skewed_and_mirrored_cells_give_the_same_distances():
    rng = np.random.default_rng(8)
    points = rng.random((50, 3)) * 3
    plain = np.sort(bp.neighbors(points, 1.2, cell=[3, 3, 3], distances=True).distances)
    for cell in ([[3, 0, 0], [3000, 3, 0], [-600, 900, 3]], [[0, 3, 0], [3, 0, 0], [0, 0, -3]]):
        found = bp.neighbors(points, 1.2, cell=cell, distances=True).distances
        assert np.allclose(np.sort(found), plain, atol=1e-9)


def test_neighbors_levels_and_workers_give_the_same_arrays():
    rng = np.random.default_rng(9)
    points = rng.random((9000, 3)) * 14 - 2
    options = {"cell": [[12, 0, 0], [3, 12, 0], [1, 2, 12]], **WANTED}
    expected = bp.neighbors(points, 1.0, **options)
    assert len(expected.pairs) > 9000
    for level in simd_levels():
        with bp.testing.simd_level(level):
            for workers in (1, 3):
                for found, right in zip(bp.neighbors(points, 1.0, workers=workers, **options), expected, strict=True):
                    assert np.array_equal(found, right)


@pytest.mark.parametrize("options", [{}, {"cell": [[90, 0, 0], [3, 90, 0], [1, 2, 90]]}, {"full": True}])
def test_neighbors_filed_by_threads_are_those_of_one(options):
    rng = np.random.default_rng(5)
    count = 40_000  # threads file points from 32,768 on
    scenes = {
        "spread": rng.random((count, 3)) * 90 - 10,
        "line": np.stack([rng.random(count) * 4e4, np.full(count, 0.5), np.full(count, 0.5)], axis=1),  # one row
        "heap": np.concatenate([np.full((1000, 3), 0.25), rng.random((count - 1000, 3)) * 300]),
    }
    for name, points in scenes.items():
        expected = bp.neighbors(points, 1.0, **options, **WANTED)
        assert len(expected.pairs) > 0
        for workers in (2, 3, 8):
            found = bp.neighbors(points, 1.0, workers=workers, **options, **WANTED)
            for one, right in zip(found, expected, strict=True):
                assert np.array_equal(one, right), (name, workers)


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_neighbors_name_the_first_point_too_far_away_with_any_workers(workers):
    points = np.zeros((40_000, 3))
    points[[33_000, 39_999, 20_000], 1] = 1e12
    with pytest.raises(ValueError, match="row 20000 is more than 10"):
        bp.neighbors(points, 0.1, cell=[1, 1, 1], workers=workers)


def test_neighbors_many_of_one_point_take_several_batches():
    points = np.zeros((1400, 2))
    points[700:] = 1
    assert len(bp.neighbors(points, 0.5).pairs) == 2 * (700 * 699 // 2)
    assert np.diff(bp.neighbors(points, 2.0, full=True).offsets).tolist() == [1399] * 1400


@pytest.mark.parametrize("wanted", [{}, {"distances": True}, {"vectors": True, "shifts": True}, WANTED])
def test_neighbors_sorted_are_the_others_in_order_for_any_workers(wanted):
    rng = np.random.default_rng(12)
    many = 2**17  # of more points, each stretch of lists is sorted by itself
    line = np.stack([rng.permutation(many + 999), rng.random(many + 999)], axis=1)
    scenes = [
        (rng.random((3000, 3)), 0.15, {"cell": [1, 1, 0.05], "full": True}),  # many images of each
        (rng.random((2, 2)), 0.15, {"cell": [0.01, 0.02]}),  # thousands of images of one pair
        (np.zeros((300, 3)), 0.15, {"full": True}),
        (rng.random((20_000, 2)), 0.03, {}),
        (line[:many], 1.1, {}),
        (line, 1.1, {"full": True}),
        (line, 1.1, {"cell": [1, 0.4], "periodic": [False, True]}),
    ]
    for points, cutoff, options in scenes:
        found = bp.neighbors(points, cutoff, **options, **wanted)
        keys = [found.pairs, *([] if found.shifts is None else [found.shifts])]
        order = np.lexsort(np.concatenate(keys, axis=1).T[::-1])
        for workers in (1, 3):
            ordered = bp.neighbors(points, cutoff, sort=True, workers=workers, **options, **wanted)
            for name in ("pairs", "distances", "vectors", "shifts"):
                one, two = getattr(found, name), getattr(ordered, name)
                assert (one is None) == (two is None)
                assert one is None or np.array_equal(one[order], two), name
            starts = np.searchsorted(found.pairs[order, 0], np.arange(len(points) + 1))
            assert np.array_equal(ordered.offsets, starts)


def test_neighbors_other_dtypes_and_layouts():
    points = np.arange(12, dtype=np.float32).reshape(4, 3)[:, ::-1] / 8
    assert bp.neighbors(points, 0.7).pairs.tolist() == bp.neighbors(points.astype(float), 0.7).pairs.tolist()
    assert bp.neighbors([[0, 0], [1, 0]], 1).pairs.tolist() == [[0, 1]]
    assert bp.neighbors(np.empty((0, 3)), 1.0, full=True).offsets.tolist() == [0]


def batch_by_batch(
    points, keys, cutoff, other=None, other_keys=None, *, cells=None, cell=None, periodic=True, **options
):
    """Rows of the oracle for each key's points by themselves; cell k is that of key k."""
    keys, found = np.asarray(keys), []
    for key in np.unique(keys):
        rows = np.flatnonzero(keys == key)
        own = cutoff[rows] if np.ndim(cutoff) else cutoff
        of_others, second = rows, None
        if other is not None:
            of_others = np.flatnonzero(np.asarray(other_keys) == key)
            second = other[of_others]
        mine = {"cell": cell, "periodic": periodic}
        if cells is not None:
            mine = {"cell": cells[key], "periodic": np.broadcast_to(periodic, np.shape(cells)[:2])[key]}
        for i, j, *rest in plain_neighbors(points[rows], own, second, **mine, **options):
            found.append((int(rows[i]), int(of_others[j]), *rest))
    return sorted(found)


@pytest.mark.parametrize("dimension", [2, 3])
def test_neighbors_in_batches_as_one_by_one(dimension):
    total = 0
    for seed in range(24):
        rng = np.random.default_rng([dimension, seed])
        names = np.array([7, -3, 2**62, -(2**63), 0])
        keys, other_keys = names[rng.integers(0, 5, 30)], names[rng.integers(0, 4, 9)]
        if seed % 3 == 0:
            keys = np.sort(keys)
        points, other = rng.uniform(-1, 2, (30, dimension)), rng.uniform(-1, 2, (9, dimension))
        options = (
            {} if seed % 2 else {"cell": random_cell(rng, dimension), "periodic": [True] * (dimension - 1) + [False]}
        )
        expected = batch_by_batch(points, keys, 0.8, **options)
        assert listed(bp.neighbors(points, 0.8, batch=keys, **WANTED, **options)) == half(expected, dimension)
        full = bp.neighbors(points, 0.8, batch=keys, full=True, **WANTED, **options)
        assert listed(full) == expected
        assert full.offsets.tolist() == np.searchsorted([row[0] for row in expected], range(31)).tolist()
        both = bp.neighbors(points, 0.8, other, batch=(keys, other_keys), **WANTED, **options)
        assert listed(both) == batch_by_batch(points, keys, 0.8, other, other_keys, **options)
        reaches = rng.choice([0.0, 0.1, 0.6], 30)
        own = bp.neighbors(points, reaches, batch=keys, **WANTED, **options)
        assert listed(own) == half(batch_by_batch(points, keys, reaches, **options), dimension)
        total += len(expected)
    assert total > 600


@pytest.mark.parametrize("dimension", [2, 3])
def test_neighbors_of_systems_with_their_own_cells_as_one_by_one(dimension):
    for seed in range(6):
        rng = np.random.default_rng([3, dimension, seed])
        cells = np.array([random_cell(rng, dimension) for _ in range(4)])
        periodic = rng.random((4, dimension)) < 0.6
        points = rng.uniform(-0.7, 1.6, (4, 6, dimension)) @ cells
        keys, rows = np.repeat(range(4), 6), points.reshape(-1, dimension)
        expected = batch_by_batch(rows, keys, 0.9, cells=cells, periodic=periodic)
        assert len(expected) > 10
        options = {"cell": cells, "periodic": periodic, "full": True, **WANTED}
        assert listed(bp.neighbors(points, 0.9, **options)) == expected
        mixed = rng.permutation(24)
        found = bp.neighbors(rows[mixed], 0.9, batch=keys[mixed], **options)
        found = found._replace(pairs=mixed[found.pairs])
        assert listed(found) == expected


def test_neighbors_array_of_scenes_counts_rows_through():
    points = np.random.default_rng(2).random((5, 4, 2))
    found = bp.neighbors(points, 0.4, points[:, :3] + 0.01, cell=[2, 2], **WANTED)
    keys = np.repeat(range(5), 4), np.repeat(range(5), 3)
    rows, other = points.reshape(-1, 2), (points[:, :3] + 0.01).reshape(-1, 2)
    assert listed(found) == batch_by_batch(rows, keys[0], 0.4, other, keys[1], cell=[2, 2])
    for empty in (np.zeros((0, 4, 2)), np.zeros((3, 0, 2))):
        assert bp.neighbors(empty, 1.0, full=True).offsets.tolist() == [0]
    assert bp.neighbors(np.zeros((3, 1, 2)), 1.0, cell=[1, 1]).pairs.tolist() == [[k, k] for k in (0, 0, 1, 1, 2, 2)]


def test_neighbors_batches_of_uneven_sizes_for_levels_and_workers_give_the_same_arrays():
    rng = np.random.default_rng(12)
    keys = np.concatenate([np.zeros(10_000, int), np.repeat(range(1, 1500), 3), np.full(300, 1500)])
    points = rng.random((len(keys), 3)) * 16
    points[10_000:] /= 8
    points[-2:] = 1e12  # far from all others of a small batch
    shuffled = rng.permutation(len(keys))
    points, keys = points[shuffled], keys[shuffled]
    expected = bp.neighbors(points, 1.0, batch=keys, full=True, **WANTED)
    apart = np.append(points, keys[:, None] * 2.0, axis=1)  # an axis more would keep them apart as well
    tree = pytest.importorskip("scipy.spatial").cKDTree(apart)
    assert {tuple(pair) for pair in expected.pairs.tolist() if pair[0] < pair[1]} == tree.query_pairs(1.0)
    for level in simd_levels():
        with bp.testing.simd_level(level):
            for workers in (1, 3):
                found = bp.neighbors(points, 1.0, batch=keys, full=True, workers=workers, **WANTED)
                for one, right in zip(found, expected, strict=True):
                    assert np.array_equal(one, right)


@pytest.mark.parametrize("combine", ["sum", "max"])
def test_neighbors_own_cutoffs_in_large_batches_as_one_by_one(combine):
    rng = np.random.default_rng(13)
    keys = rng.choice([3, 4, 4, 4], 120)
    points, reaches = rng.random((120, 2)) * 4, 2.0 ** rng.integers(-8, 1, 120)
    found = bp.neighbors(points, reaches, batch=keys, combine=combine, **WANTED)
    assert listed(found) == half(batch_by_batch(points, keys, reaches, combine=combine), 2)


def require_as_ase(points, cell, pbc, cutoff):
    """Compare with `neighbor_list` of ASE, which may round distances near the cutoff to the other side of it."""
    neighborlist = pytest.importorskip("ase.neighborlist", reason="part of the dependency group `test`")
    from ase import Atoms

    atoms = Atoms(numbers=np.ones(len(points)), positions=points, cell=cell, pbc=pbc)
    i, j, lengths, vectors, shifts = neighborlist.neighbor_list("ijdDS", atoms, cutoff + 1e-9)
    rows = map(tuple, np.column_stack([i, j, shifts]).tolist())
    theirs = dict(zip(rows, np.column_stack([lengths, vectors]), strict=True))
    assert len(theirs) == len(i)
    found = bp.neighbors(points, cutoff, cell=cell, periodic=pbc, full=True, **WANTED)
    rows = map(tuple, np.concatenate([found.pairs, found.shifts], axis=1).tolist())
    ours = dict(zip(rows, np.column_stack([found.distances, found.vectors]), strict=True))
    assert len(ours) == len(found.pairs)
    assert {row for row, values in theirs.items() if values[0] < cutoff - 1e-9} <= ours.keys() <= theirs.keys()
    assert np.allclose([theirs[row] for row in ours], list(ours.values()), rtol=0, atol=1e-9)
    return len(ours)


@pytest.mark.parametrize("pbc", list(product([False, True], repeat=3)))
def test_neighbors_random_cells_as_ase(pbc):
    rng = np.random.default_rng(5)
    skewed = np.array([[1.2, 0, 0], [0.7, -0.9, 0], [0.6, 0.8, 1.1]])
    on_faces = np.round(rng.random((6, 3)) * 2) / 2 @ skewed
    inside_and_out = rng.uniform(-0.3, 1.3, (5, 3)) @ skewed
    assert require_as_ase(on_faces, skewed, pbc, 0.6) > 0
    assert require_as_ase(inside_and_out, skewed, pbc, 1.4) > 0


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        (([[0, 0, 0, 0]], 1), {}, r"points must have shape \(n, d\) or \(E, n, d\), d = 2 or 3, not \(1, 4\)"),
        (([[0, 0], [0, np.nan]], 1), {}, "points: row 1 has NaN"),
        (([[0, 0], [0, np.inf]], 1), {}, "points: row 1 is infinite"),
        (([[0, 0]], 1, [[0, 0, 0]]), {}, "points have 2 dimensions and other has 3"),
        (([[0, 0]], -1), {}, "cutoff must be 0, or from 1e-150 to 1e150, not -1"),
        (([[0, 0]], np.nan), {}, "cutoff must be 0"),
        (([[0, 0]], [1, 2]), {}, r"cutoff must be one number or have shape \(1,\)"),
        (([[0, 0], [1, 1]], [1, -2]), {}, "cutoff: row 1 is -2"),
        (([[0, 0]], [1.0], [[0, 0]]), {}, "cutoff must be one number, or with other a tuple of two arrays"),
        (([[0, 0]], [1.0]), {"combine": "min"}, "unknown combine"),
        (([[0, 0]], 1), {"cell": [1, 1, 1]}, r"cell must have shape \(2,\), \(2, 2\) or \(E, 2, 2\), not \(3,\)"),
        (([[0, 0]], 1), {"cell": [1, np.inf]}, "cell must be finite"),
        (([[0, 0]], 1), {"cell": [1, 0]}, "cell: the periodic vectors do not span a volume"),
        (([[0, 0]], 1), {"cell": [[1, 1], [2, 2]]}, "cell: the periodic vectors do not span a volume"),
        (([[0, 0]], 1), {"cell": [1, 1], "periodic": [True]}, "periodic must be True, False or 2 of them"),
        (([[0, 0], [1e12, 0]], 1), {"cell": [1, 1]}, "points: row 1 is more than 10"),
        (([[0, 0]], 1e9), {"cell": [1, 1]}, "spans more than 10"),
        (([[0, 0]], 1), {"batch": [1, 2]}, r"batch has shape \(2,\)"),
        (([[0, 0]], 1), {"batch": [0.5]}, "batch must be integer, not float64"),
        (([[0, 0]], 1, [[0, 0]]), {"batch": [1]}, "batch: for two sets, give a tuple"),
        (([[[0, 0]]], 1), {"batch": [1]}, r"batch: points of shape \(E, n, d\) are E batches of n already"),
        (([[[0, 0]]], 1, [[0, 0]]), {}, "and other is not; give the keys of other"),
        (([[0, 0]], 1), {"cell": np.ones((2, 2, 2))}, "give batch=, or points of shape"),
        (([[[0, 0]]], 1), {"cell": [np.eye(2)] * 2}, "points has 1 batches, and cell has 2"),
        (([[0, 0], [0, 0]], 1), {"cell": [np.eye(2)] * 2, "batch": [1, 2]}, "batch: row 1 is 2; with 2 cells"),
        (([[0, 0], [0, 0]], 1), {"cell": [np.eye(2)] * 2, "batch": [-1, 1]}, "batch: row 0 is -1; with 2 cells"),
        (([[[0, 0]]] * 2, 1), {"cell": [np.eye(2), np.ones((2, 2))]}, "periodic vectors of cell 1 do not span"),
        (([[[0, 0]]] * 2, 1), {"cell": [np.eye(2)] * 2, "periodic": [[True, True]]}, "or that for each of E cells"),
        (([[0, 0], [1e12, 0]], 1), {"cell": [1, 1], "batch": [5, 4]}, "points: row 1 is more than 10"),
    ],
)
def test_neighbors_bad_input_is_named(arguments, options, text):
    with pytest.raises((ValueError, TypeError), match=text):
        bp.neighbors(*arguments, **options)


def random_walk(rng, steps, count, dimension, cell):
    """Yield points and cells: small moves, points put back into the cell, a cell that breathes, and one jump."""
    points = rng.random((count, dimension)) @ cell
    for step in range(steps):
        points = points + rng.normal(size=points.shape) * 0.006
        if step % 2:
            fractions = points @ np.linalg.inv(cell)
            points = (fractions - np.floor(fractions)) @ cell
        if step % 5 == 4:
            grow = np.eye(dimension) * rng.uniform(0.997, 1.003) + rng.normal(size=(dimension, dimension)) * 1e-3
            points, cell = points @ grow, cell @ grow
        if step == steps // 2:
            points[0] += 0.3
        yield points, cell


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("dimension", [2, 3])
def test_neighbor_list_along_a_walk_as_a_search(dimension, full):
    rng = np.random.default_rng(dimension)
    cell = np.eye(dimension) + np.tri(dimension, k=-1) * 0.4
    kept = bp.NeighborList(0.5, skin=0.12, full=full, sort=True, **WANTED)
    for points, now in random_walk(rng, 40, 25, dimension, cell):
        expected = bp.neighbors(points, 0.5, cell=now, full=full, sort=True, **WANTED)
        for found, right in zip(kept.update(points, now), expected, strict=True):
            assert np.array_equal(found, right)
    assert kept.updates == 40
    assert 3 <= kept.rebuilds <= 30


def test_neighbor_list_searches_again_where_it_must():
    rng = np.random.default_rng(3)
    points = rng.random((30, 3))
    kept = bp.NeighborList(0.3, skin=0.1)
    moves = [
        (points, None, 1),
        (points + 0.02, None, 1),
        (points + np.array([0, 0, 0.051]), None, 2),
        (points[:20], None, 3),
    ]
    moves += [
        (points[:20], [2, 2, 2], 4),
        (points[:20] + np.array([2, 0, -4]), [2, 2, 2], 4),
        (points[:20], [4, 4, 4], 5),
    ]
    moves += [(points[:20, :2], None, 6), (points[:0], None, 7)]
    for now, cell, rebuilds in moves:
        found = kept.update(now, cell).pairs
        assert sorted(found.tolist()) == sorted(bp.neighbors(now, 0.3, cell=cell).pairs.tolist())
        assert kept.rebuilds == rebuilds
    with pytest.raises(ValueError, match="do not span a volume"):
        kept.update(points, [1, 1, 0])
    assert (kept.updates, kept.rebuilds) == (9, 7)


def test_neighbor_list_points_put_back_from_far_away_may_have_moved_by_what_is_rounded_there():
    # Each has moved by a little more than half the skin; seen from 2^20, where numbers lie 2^-33 apart, by less.
    edge, grid = 16.0, 2.0**-33
    motion, skin = 0.03125 + 0.49 * grid, 0.0625 + 6e-11
    kept = bp.NeighborList(1 - 2 * motion + 1e-13, skin=skin)
    assert len(kept.update([[2**20 + 4, 1], [2**20 + 5, 1]], [edge, edge]).pairs) == 0
    assert kept.update([[4 + motion, 1], [5 - motion, 1]], [edge, edge]).pairs.tolist() == [[0, 1]]


@pytest.mark.parametrize("workers", [1, 3])
def test_neighbor_list_of_batches_as_a_search(workers):
    rng = np.random.default_rng(8)
    cells = np.array([random_cell(rng, 3) * 2 for _ in range(5)])
    points = rng.random((5, 12, 3)) @ cells
    kept = bp.NeighborList(0.9, skin=0.3, full=True, sort=True, workers=workers, **WANTED)
    for step in range(20):
        points = points + rng.normal(size=points.shape) * 0.015
        if step % 3 == 2:  # put back into their cells, which breathe
            fractions = points @ np.linalg.inv(cells)
            points = (fractions - np.floor(fractions)) @ cells
            grow = np.eye(3) + rng.normal(size=(5, 3, 3)) * 1e-3
            points, cells = points @ grow, cells @ grow
        expected = bp.neighbors(points, 0.9, cell=cells, full=True, sort=True, **WANTED)
        for found, right in zip(kept.update(points, cells), expected, strict=True):
            assert np.array_equal(found, right)
    assert 2 <= kept.rebuilds <= 15


def test_neighbor_list_searches_again_with_other_keys():
    rng = np.random.default_rng(9)
    points, keys = rng.random((40, 3)), rng.integers(0, 3, 40)
    kept = bp.NeighborList(0.4, skin=0.1)
    for now, rebuilds in ((keys, 1), (keys.copy(), 1), (keys + 5, 2), (None, 3), (keys, 4)):
        found = kept.update(points, batch=now).pairs
        assert sorted(found.tolist()) == sorted(bp.neighbors(points, 0.4, batch=now).pairs.tolist())
        assert kept.rebuilds == rebuilds
    keys[0] += 1  # in place
    assert sorted(kept.update(points, batch=keys).pairs.tolist()) == sorted(
        bp.neighbors(points, 0.4, batch=keys).pairs.tolist()
    )
    assert kept.rebuilds == 5


def test_neighbor_list_of_many_candidates_for_workers_gives_the_same_arrays():
    rng = np.random.default_rng(10)
    points = rng.random((6000, 3)) * 12
    moved = points + rng.uniform(-0.03, 0.03, points.shape)
    expected = None
    for workers in (1, 2, 3):
        kept = bp.NeighborList(1.5, skin=0.2, workers=workers, **WANTED)
        kept.update(points, [12, 12, 12])
        found = kept.update(moved % 12, [12, 12, 12])
        assert kept.rebuilds == 1
        expected = found if expected is None else expected
        assert all(np.array_equal(one, right) for one, right in zip(found, expected, strict=True) if right is not None)
    assert len(expected.pairs) > 40_000
    assert set(map(tuple, expected.pairs.tolist())) == set(
        map(tuple, bp.neighbors(moved % 12, 1.5, cell=[12] * 3).pairs.tolist())
    )


def test_neighbor_list_points_may_be_changed_in_place():
    points = np.random.default_rng(5).random((40, 3))
    kept = bp.NeighborList(0.3, skin=0.1)
    for _ in range(10):
        points += [0.03, 0, 0]
        points[0, 1] += 0.02
        assert sorted(kept.update(points).pairs.tolist()) == sorted(bp.neighbors(points, 0.3).pairs.tolist())
    assert 1 < kept.rebuilds < 10


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"cutoff": -1, "skin": 1}, "cutoff must be 0"),
        ({"cutoff": 1, "skin": -1}, "skin must be from 0"),
        ({"cutoff": 1, "skin": np.nan}, "skin must be from 0"),
        ({"cutoff": 1, "skin": None}, "skin must be a number"),
    ],
)
def test_neighbor_list_bad_input_is_named(arguments, text):
    with pytest.raises((ValueError, TypeError), match=text):
        bp.NeighborList(**arguments)


def test_flags_of_any_byte_count_as_true():
    points, cell = np.random.default_rng(0).uniform(0, 4, (60, 3)), np.eye(3) * 4
    flags = np.array([77, 0, 255], np.uint8).view(np.bool_)
    found = bp.neighbors(points, 1.0, cell=cell, periodic=flags, **WANTED)
    assert listed(found) == listed(bp.neighbors(points, 1.0, cell=cell, periodic=[True, False, True], **WANTED))


def test_single_points_in_cells_of_any_form_meet_their_images_as_in_a_cell_of_their_own():
    rng = np.random.default_rng(31)
    forms = [np.eye(3), np.tri(3), np.diag([1, 1, 0.02]), np.eye(3) + 0.9 * rng.random((3, 3)), np.eye(3)[[1, 0, 2]]]
    cells = np.concatenate([np.array(forms) * size for size in (1e-9, 0.04, 0.05, 0.0501, 1, 40)])
    flags = np.array([[axis in repeated for axis in range(3)] for repeated in ((0,), (1, 2), (0, 1, 2), ())])
    points = rng.normal(0, 30, (len(cells), 3))
    tiny = np.linalg.norm(cells, axis=2).max(axis=1) < 1e-6
    points[::3] = points[tiny] = 0
    for periodic in flags:
        for cutoff in (0.0, 1e-9, 0.05, np.full(len(cells), 0.025)):
            reach = cutoff if np.isscalar(cutoff) else 0.05
            chosen = np.flatnonzero(~tiny | (reach <= 1e-9))  # not billions of images
            own = cutoff if np.isscalar(cutoff) else cutoff[chosen]
            found = bp.neighbors(
                points[chosen, np.newaxis], own, cell=cells[chosen], periodic=periodic, sort=True, **WANTED
            )
            # Beside a point that is too far away to matter.
            for at, row in enumerate(chosen):
                pair = [points[row], points[row] + 0.1 * cells[row].sum(axis=0)]
                both = bp.neighbors(pair, reach, cell=cells[row], periodic=periodic, sort=True, **WANTED)
                mine = np.flatnonzero((both.pairs == 0).all(axis=1))
                here = slice(found.offsets[at], found.offsets[at + 1])
                assert found.shifts[here].tolist() == both.shifts[mine].tolist()
                assert found.distances[here].tolist() == both.distances[mine].tolist()


def test_single_point_too_many_cells_away_or_in_a_flat_cell_is_named():
    points = np.zeros((3, 1, 3))
    points[1] = 2.0**40
    with pytest.raises(ValueError, match="row 1 is more than"):
        bp.neighbors(points, 0.1, cell=np.array([np.eye(3)] * 3))
    cells = np.array([np.eye(3), np.ones((3, 3)), np.eye(3)])
    with pytest.raises(ValueError, match="cell 1 do not span"):
        bp.neighbors(points * 0, 0.1, cell=cells)
