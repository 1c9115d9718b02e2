"""Points within a cutoff on a device: the kernels on Warp's CPU device, against the CPU's core and the formula."""

import threading
from itertools import product

import numpy as np
import pytest

import broadphase as bp
from cases import DTYPES
from oracles.neighbors import plain_neighbors

wp = pytest.importorskip("warp", reason="NVIDIA Warp is not installed: pip install 'broadphase[gpu]'")

from broadphase import gpu  # noqa: E402
from broadphase.gpu import points as gpu_points  # noqa: E402
from broadphase.gpu.arrays import Place  # noqa: E402
from broadphase.gpu.neighbors_kernels import (  # noqa: E402
    filing_kernels,
    neighbor_kernels,
    result_kernels,
)
from broadphase.gpu.points import PaddedNeighbors, neighbors  # noqa: E402

WANTED = {"distances": True, "vectors": True, "shifts": True}
FIELDS = ("pairs", "distances", "vectors", "shifts")
DIMENSIONS = (2, 3)
# Cells of a table that are numbered exactly, for each point: none, as by default, and more than there are.
TABLES = (0, 4, 10**6)


def listed(found, count=None):
    """Pairs with all that is told of each, sorted."""
    columns = [np.asarray(getattr(found, name))[:count] for name in ("pairs", "shifts", "distances", "vectors")]
    columns[2] = columns[2][:, None]
    return sorted(map(tuple, np.concatenate(columns, axis=1).tolist()))


def require_equal(found, expected, where):
    """All arrays, to the last bit."""
    for name, one, right in zip(expected._fields, found, expected, strict=True):
        assert (one is None) == (right is None), (where, name)
        if right is not None:
            assert one.dtype == right.dtype, (where, name)
            assert one.tobytes() == right.tobytes(), (where, name)


def check(points, cutoff, other=None, *, where="", **options):
    """Compare lists in every form with those of the CPU; gives the number of pairs."""
    for full in (False, True):
        chosen = {**options, **WANTED, "full": full}
        expected = bp.neighbors(points, cutoff, other, sort=True, **chosen)
        require_equal(neighbors(points, cutoff, other, sort=True, device="cpu", **chosen), expected, where)
        found = neighbors(points, cutoff, other, device="cpu", **chosen)
        assert listed(found) == listed(expected), where
        if full:
            assert np.array_equal(found.offsets, expected.offsets), where
            assert np.array_equal(found.rows, found.pairs[:, 1]), where
    return len(expected.pairs)


def random_cell(rng, dimension):
    while True:
        cell = rng.normal(size=(dimension, dimension)) * rng.choice([1, 1, 1, 3])
        if rng.random() < 0.3:  # sheared by several cells, or by very many
            cell[0] += rng.integers(-5, 6) * rng.choice([1, 1000]) * cell[1]
        if abs(np.linalg.det(cell)) > 0.3:
            return cell


@pytest.fixture(params=[1, 1 << 17], ids=["alone", "shared"])
def threads(request, monkeypatch):
    """Let each point have one thread, or one for each row around it."""
    monkeypatch.setattr(gpu_points, "THREADS", request.param)


# Exactness ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("table", TABLES)
def test_gpu_neighbors_random_cells_equal_those_of_the_core(table, dimension, dtype, monkeypatch, threads):
    monkeypatch.setattr(gpu_points, "TABLE_CELLS", table)
    total = 0
    for seed in range(12):
        rng = np.random.default_rng([dimension, seed, table])
        cell = random_cell(rng, dimension)
        if seed % 4 == 0:
            cell = np.abs(np.diag(cell)) + 0.2
        periodic = list(product([False, True], repeat=dimension))[-1 - seed % 2**dimension]
        matrix = np.diag(cell) if cell.ndim == 1 else cell
        away = rng.choice([1, 1, 30, 1e4])
        points, other = (
            (rng.uniform(-0.7, 1.6, (rng.choice(n), dimension)) * away @ matrix).astype(dtype)
            for n in ((0, 9, 70, 70), (0, 5, 20))
        )
        options = {"cell": cell, "periodic": periodic, "where": f"seed {seed}"}
        cutoff = float(rng.choice([0.1, 0.3, 0.8, 1.5]))
        total += check(points, cutoff, **options) + check(points, cutoff, other, **options)
    assert total > 700


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_gpu_neighbors_open_space_equals_the_core(dimension, dtype, threads):
    total = 0
    for seed in range(8):
        rng = np.random.default_rng([dimension, seed])
        points = rng.normal(size=(80, dimension)) * 10.0 ** rng.integers(-3, 4, (80, 1))
        points[40:] += 10.0 ** rng.integers(0, 12)
        points[60:] = points[40:60]
        points = points.astype(dtype)
        cutoff = 10.0 ** rng.integers(-4, 3)
        total += check(points, cutoff, where=f"seed {seed}") + check(points, cutoff, points[::3], where=f"seed {seed}")
    assert total > 5000


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_gpu_neighbors_of_few_points_equal_those_of_the_core(dimension, dtype):
    for n in (0, 1, 2, 3):
        points = (np.arange(n * dimension).reshape(n, dimension) / 8).astype(dtype)
        for cutoff in (0.0, 0.3, 1.0, 7.0):
            for options in ({}, {"cell": [1.0] * dimension}, {"cell": np.eye(dimension)[::-1] * 1.5}):
                check(points, cutoff, **options)
                for m in (0, 1, 2):
                    check(points, cutoff, points[:m] + np.float32(0.25), **options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("table", TABLES)
def test_gpu_neighbors_at_the_cutoff_count_and_the_next_do_not(table, dimension, dtype, monkeypatch):
    monkeypatch.setattr(gpu_points, "TABLE_CELLS", table)
    size = {2: 9, 3: 5}[dimension]
    grid = np.array(list(product(range(size), repeat=dimension)))
    for step in (0.5, 0.1):
        points = (grid * step).astype(dtype)
        skewed = np.eye(dimension) * size * step
        skewed[1, 0] = 3 * size * step
        for options in ({}, {"cell": [size * step] * dimension}, {"cell": skewed}):
            distances = np.unique(bp.neighbors(points, 2.3 * step, distances=True, **options).distances)
            cutoffs = [*distances[:: max(1, len(distances) // 6)], distances[-1]]
            for cutoff in (*cutoffs, np.nextafter(cutoffs[0], 0), np.nextafter(cutoffs[-1], 0)):
                found = neighbors(points, cutoff, sort=True, device="cpu", **WANTED, **options)
                require_equal(found, bp.neighbors(points, cutoff, sort=True, **WANTED, **options), (step, cutoff))


def test_gpu_neighbors_floats_that_cannot_tell_leave_it_to_doubles():
    for seed in range(25):
        rng = np.random.default_rng(seed)
        cell = random_cell(rng, 3) if seed % 2 else None
        points = rng.random((60, 3)) * 10.0 ** rng.integers(0, 6)
        longest = 0.5 * points.max() if cell is None else 0.9
        cutoff = float(rng.choice(bp.neighbors(points, longest, cell=cell, distances=True).distances))
        counts = []
        for limit in (np.nextafter(cutoff, 0), cutoff, np.nextafter(cutoff, 9e9)):
            found = neighbors(points, limit, cell=cell, sort=True, device="cpu", **WANTED)
            require_equal(found, bp.neighbors(points, limit, cell=cell, sort=True, **WANTED), (seed, limit))
            counts.append(len(found.pairs))
        assert counts[0] < counts[1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_gpu_neighbors_cutoffs_longer_than_the_cell_find_all_images(dtype):
    total = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        dimension = 2 + seed % 2
        cell = random_cell(rng, dimension) * np.array([0.15, 1.0, 0.6])[:dimension, None]
        points = (rng.uniform(-1, 2, (1 + seed % 4, dimension)) @ cell).astype(dtype)
        periodic = list(product([False, True], repeat=dimension))[-1 - seed // 2 % 3]
        total += check(points, 2.0, cell=cell, periodic=periodic, where=f"seed {seed}")
    assert total > 5000


@pytest.mark.parametrize("scale", [2.0**-450, 2.0**-30, 2.0**30, 2.0**450])
def test_gpu_neighbors_do_not_change_with_the_scale(scale):
    rng = np.random.default_rng(6)
    points, cell = rng.normal(size=(40, 3)), random_cell(rng, 3)
    for options in ({}, {"cell": cell}):
        plain = neighbors(points, 0.9, sort=True, device="cpu", **WANTED, **options)
        scaled = {name: value * scale for name, value in options.items()}
        found = neighbors(points * scale, 0.9 * scale, sort=True, device="cpu", **WANTED, **scaled)
        assert np.array_equal(found.pairs, plain.pairs)
        assert np.array_equal(found.shifts, plain.shifts)
        assert np.array_equal(found.distances, plain.distances * scale)
        assert len(plain.pairs) > 30


@pytest.mark.parametrize("power", [29, 30, 31, 40, 61, 62, 63, 200, 900])
@pytest.mark.parametrize("cutoff", [1.0, 0.37, 3e-7, 0.0])
def test_gpu_neighbors_so_far_that_cells_widen_equal_those_of_the_core(cutoff, power):
    rng = np.random.default_rng(power)
    step = cutoff / 2 or 1e-30
    for dimension in DIMENSIONS:
        # Some widths around the places where the width of cells changes, along one axis or more, on both sides.
        far = step * 2 * (1 + 2.0**-10) * 2.0**power * rng.choice([-1, 1, 0.5], (90, dimension))
        points = far * rng.choice([0, 1], (90, dimension)) + rng.integers(-9, 10, (90, dimension)) * step
        points[80:] = points[:10]
        check(points, cutoff)
        check(points[:50], cutoff, points[50:])


def test_gpu_neighbors_far_points_and_clusters_take_no_longer():
    rng = np.random.default_rng(7)
    points = rng.random((3000, 3)) * [40, 40, 1]
    points[::7] = rng.random((len(points[::7]), 3)) * 1e-9 + [1e9, -3, 0]
    points[:5] = [[1e17, 0, 0], [0, -1e17, 0], [3e150, 1e150, -1e200], [1e17, 0, 0], [-1e300, 1e300, 0]]
    points[5:105] = 10.0 ** rng.uniform(2, 300, (100, 3))
    assert check(points[:1500], 0.3) > 10_000
    assert len(neighbors(points, 1e-12, device="cpu").pairs) == len(bp.neighbors(points, 1e-12).pairs)
    assert check(points[105:1500] % [1, 1, 1e12], 0.05, cell=[1, 1, 1], periodic=[True, True, False]) > 10_000


def test_gpu_neighbors_equal_points_and_one_cell_for_all():
    points = np.zeros((300, 2))
    points[150:] = 1
    assert check(points, 0.5) == 2 * 150 * 149
    assert check(points, 2.0) == 300 * 299
    assert check(points, 0.0, cell=[1, 1]) == 300 * 299


def test_gpu_neighbors_of_cutoff_zero_are_those_whose_distance_rounds_to_it():
    points = np.array([[0.0, 0.0], [1e-200, 0.0], [0.0, 2e-162], [3.0, 3.0], [3.0, 3.0], [3.0, np.nextafter(3.0, 4)]])
    expected = plain_neighbors(points, 0.0)
    found = neighbors(points, 0.0, full=True, sort=True, device="cpu", **WANTED)
    assert found.pairs.tolist() == [list(row[:2]) for row in expected]
    assert [0, 1] in found.pairs.tolist()
    # In a periodic cell, zero has as many cells as there are numbers for.
    assert check(np.random.default_rng(0).integers(0, 5, (200, 3)) * 0.5, 0.0, cell=[2.5] * 3) > 50


def test_gpu_neighbors_with_many_points_equal_those_of_the_core():
    rng = np.random.default_rng(8)
    size = (4000 / (40 / 4.19)) ** (1 / 3)
    points = (rng.random((4000, 3)) * size).astype(np.float32)
    assert check(points, 1.0, cell=[size] * 3) > 150_000
    assert check(points, 1.0) > 100_000
    check(points + 50 * size, 0.5, cell=[[size, 0, 0], [size / 2, size, 0], [-size / 3, size / 5, size]])


@pytest.mark.parametrize("dtype", DTYPES)
def test_gpu_neighbors_two_dtypes_are_compared_in_double(dtype):
    rng = np.random.default_rng(9)
    points, other = rng.random((60, 3)).astype(dtype), rng.random((50, 3))
    check(points, 0.3, other)
    check(other, 0.3, points, cell=[1, 1, 1])


# Batches --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_gpu_neighbors_in_batches_equal_those_of_the_core(dimension, dtype, threads):
    names = np.array([7, -3, 2**62, -(2**63), 0])
    total = 0
    for seed in range(6):
        rng = np.random.default_rng([dimension, seed])
        points, other = (rng.uniform(-1, 2, (n, dimension)).astype(dtype) for n in (90, 30))
        keys, others = names[rng.integers(0, 5, 90)], names[rng.integers(0, 4, 30)]
        cell = random_cell(rng, dimension)
        options = {"cell": cell, "periodic": [True] * (dimension - 1) + [False]} if seed % 2 else {}
        total += check(points, 0.8, batch=keys, **options)
        total += check(points, 0.8, other, batch=(keys, others), **options)
        total += check(points, 0.8, other, batch=(7, others), **options)
        total += check(points, 0.8, batch=int(names[0]), **options)
        scenes, second = points.reshape(15, 6, dimension), other.reshape(15, 2, dimension)
        total += check(scenes, 0.8, **options)
        total += check(scenes, 0.8, second, **options)
        total += check(scenes, 0.8, other, batch=(None, others % 15), **options)
    assert total > 15_000


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_gpu_neighbors_of_systems_with_their_own_cells_equal_those_of_the_core(dimension, dtype):
    total = 0
    for seed in range(6):
        rng = np.random.default_rng([3, dimension, seed])
        cells = np.array([random_cell(rng, dimension) for _ in range(4)])
        points, other = ((rng.uniform(-0.7, 1.6, (4, n, dimension)) @ cells).astype(dtype) for n in (9, 3))
        options = {"cell": cells, "periodic": rng.random((4, dimension)) < 0.6}
        total += check(points, 0.9, **options) + check(points, 0.9, other, **options)
        mixed, keys = rng.permutation(36), np.repeat(range(4), 9).astype(rng.choice(["uint8", "int32", "int64"]))
        rows = points.reshape(-1, dimension)[mixed]
        total += check(rows, 0.9, batch=keys[mixed], **options)
        total += check(rows, 0.9, other, batch=(keys[mixed], None), **options)
        total += check(rows, 0.9, batch=2, **options) + check(rows, 0.9, other[0], batch=(1, [0, 1, 3]), **options)
        total += check(rows, 0.9, batch=0, cell=cells[:1])
    assert total > 2000


def test_gpu_neighbors_of_many_tiny_batches():
    points = np.zeros((100_000, 1, 3), np.float32)
    assert len(neighbors(points, 1.0, device="cpu").pairs) == 0
    assert len(neighbors(points[:, 0], 1.0, batch=np.arange(100_000) * 2**40, device="cpu").pairs) == 0
    cells = np.broadcast_to(np.eye(3) * [1, 1.5, 1.5], (20_000, 3, 3))
    found = neighbors(points[:20_000], 1.0, cell=cells, shifts=True, device="cpu")
    assert np.array_equal(found.pairs[:, 0], found.pairs[:, 1])
    assert np.array_equal(np.sort(found.pairs[:, 0]), np.arange(20_000))
    assert (found.shifts == [1, 0, 0]).all()


# Capacity -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("full", [False, True])
def test_gpu_neighbors_with_capacity_are_padded_and_counted(full, sort):
    rng = np.random.default_rng(4)
    points = rng.random((200, 3)) * 3
    for options in ({}, {"cell": [3.0, 3.0, 3.0]}, {"other": points[:50] + 0.1}):
        options = {**options, "full": full, "sort": sort, **WANTED}
        expected = bp.neighbors(points, 0.6, **options)
        count = len(expected.pairs)
        assert count > 100
        for capacity in (0, 1, count - 1, count, count + 1, 10_000):
            found = neighbors(points, 0.6, capacity=capacity, device="cpu", **options)
            assert isinstance(found, PaddedNeighbors)
            assert int(found.count) == count
            assert found.count.dtype == np.int32
            assert [len(getattr(found, name)) for name in FIELDS] == [capacity] * 4
            if capacity < count:
                assert set(listed(expected)).issuperset(listed(found))
                assert len(set(listed(found))) == capacity
                continue
            assert listed(found, count) == listed(expected)
            if sort:
                assert np.array_equal(found.pairs[:count], expected.pairs)
            assert (found.pairs[count:] == -1).all()
            assert np.isinf(found.distances[count:]).all()
            assert not found.vectors[count:].any()
            assert not found.shifts[count:].any()
        plain = neighbors(points, 0.6, options.get("other"), capacity=9, device="cpu")
        assert [plain.distances, plain.vectors, plain.shifts] == [None] * 3


def test_gpu_neighbors_with_capacity_of_no_points():
    for points, other in ((np.empty((0, 3)), None), (np.ones((2, 3)), np.empty((0, 3)))):
        found = neighbors(points, 1.0, other, capacity=3, distances=True, device="cpu")
        assert found.pairs.tolist() == [[-1, -1]] * 3
        assert int(found.count) == 0
        assert neighbors(points, 1.0, other, full=True, device="cpu").offsets.tolist() == [0] * (len(points) + 1)


@pytest.mark.parametrize("sort", [False, True])
def test_gpu_neighbors_with_capacity_allocate_only_the_result_and_read_nothing_back(sort, monkeypatch):
    rng = np.random.default_rng(5)
    points, other = (wp.array(rng.random((n, 3)), dtype=wp.vec3, device="cpu") for n in (300, 100))
    options = {"capacity": 4000, "sort": sort, "distances": True, "shifts": True}
    for arguments, cell in (((points, 0.2), [1, 1, 1]), ((points, 0.2, other), None), ((points, 0.6), np.eye(3))):
        expected = neighbors(*arguments, cell=cell, **options).count.numpy()[0]
        made, empty, read = [], wp.empty, wp.array.numpy

        def counted(*shape, _made=made, _empty=empty, **kind):
            _made.append(shape[0])
            return _empty(*shape, **kind)

        def refused(array):
            raise AssertionError("read back")

        monkeypatch.setattr(wp, "empty", counted)
        monkeypatch.setattr(wp.array, "numpy", refused)
        found = neighbors(*arguments, cell=cell, **options)
        monkeypatch.setattr(wp, "empty", empty)
        monkeypatch.setattr(wp.array, "numpy", read)
        assert made == [(4000, 2), (4000,), (4000, 3), (1,)]
        assert found.count.numpy()[0] == expected > 0


def test_gpu_neighbors_that_cannot_be_recorded_say_so(monkeypatch):
    points = wp.array(np.random.default_rng(0).random((2, 20, 3)), dtype=wp.float64, device="cpu")
    cell = wp.array(np.eye(3), dtype=wp.float64, device="cpu")
    expected = neighbors(points, 0.3, cell=np.eye(3), capacity=99).count.numpy()[0]
    assert neighbors(points, 0.3, cell=cell, capacity=99).count.numpy()[0] == expected
    monkeypatch.setattr(Place, "is_capturing", property(lambda place: True))
    assert neighbors(points, 0.3, cell=np.eye(3), capacity=99).count.numpy()[0] == expected
    for options, text in (
        ({}, "pass capacity="),
        ({"capacity": 9, "cell": cell}, "give it in host memory"),
        ({"capacity": 9, "cell": [np.eye(3)] * 2}, "give one cell for all"),
    ):
        with pytest.raises(ValueError, match=text):
            neighbors(points, 0.3, **options)


# Forms of arrays ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_gpu_neighbors_of_arrays_of_warp_are_arrays_of_warp(dtype):
    points = np.random.default_rng(1).random((120, 3)).astype(dtype)
    kind = wp.float32 if dtype == "float32" else wp.float64
    expected = bp.neighbors(points, 0.3, cell=[1, 1, 1], sort=True, **WANTED)
    wide = np.zeros((120, 5), dtype)
    wide[:, 1:4] = points
    deep = np.zeros((2, 70, 3), dtype)
    deep[:, 3:63] = points.reshape(2, 60, 3)
    forms = {
        "(n, d)": wp.array(points, dtype=kind, device="cpu"),
        "vectors": wp.array(points, dtype=wp.types.vector(length=3, dtype=kind), device="cpu"),
        "strided": wp.array(wide, dtype=kind, device="cpu")[:, 1:4],
        "one scene": wp.array(points[None], dtype=kind, device="cpu"),
    }
    for form, given in forms.items():
        found = neighbors(given, 0.3, cell=[1, 1, 1], sort=True, **WANTED)
        assert all(isinstance(one, wp.array) for one in found), form
        require_equal(type(expected)(*(one.numpy() for one in found)), expected, form)
    scenes = wp.array(deep, dtype=kind, device="cpu")[:, 3:63]
    assert not scenes.is_contiguous
    assert np.array_equal(
        neighbors(scenes, 0.3, sort=True).pairs.numpy(), bp.neighbors(points.reshape(2, 60, 3), 0.3, sort=True).pairs
    )
    assert "pairs=" in repr(found)


def test_gpu_neighbors_of_tensors_of_torch_are_tensors_of_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    points = np.random.default_rng(1).random((120, 3))
    expected = bp.neighbors(points, 0.3, cell=[1, 1, 1], sort=True, **WANTED)
    given = torch.from_numpy(points)
    found = neighbors(given, 0.3, cell=torch.ones(3), sort=True, **WANTED)
    assert all(isinstance(one, torch.Tensor) for one in found)
    require_equal(type(expected)(*(one.numpy() for one in found)), expected, "torch")
    padded = neighbors(given, 0.3, cell=[1, 1, 1], sort=True, capacity=5000)
    assert padded.count.shape == ()
    assert padded.count.item() == len(expected.pairs)
    keys = torch.arange(120) % 3
    assert np.array_equal(
        neighbors(given, 0.3, batch=keys, sort=True).pairs.numpy(),
        bp.neighbors(points, 0.3, batch=np.arange(120) % 3, sort=True).pairs,
    )
    with pytest.raises(TypeError, match="batch is a ndarray in host memory"):
        neighbors(given, 0.3, batch=np.arange(120) % 3)


def test_gpu_neighbors_in_host_memory_take_what_the_core_takes():
    assert neighbors([[0, 0], [1, 0]], 1, device="cpu").pairs.tolist() == [[0, 1]]
    assert neighbors([], 1, device="cpu").pairs.shape == (0, 2)
    assert neighbors(np.array([[0, 0], [1, 0]], ">f4"), 1, device="cpu").pairs.tolist() == [[0, 1]]
    points = np.arange(12, dtype=np.float32).reshape(4, 3)[:, ::-1] / 8
    check(points, 0.7)
    for empty in (np.zeros((0, 4, 2)), np.zeros((3, 0, 2))):
        assert neighbors(empty, 1.0, full=True, device="cpu").offsets.tolist() == [0]
        cells = np.broadcast_to(np.eye(2), (len(empty), 2, 2))
        assert neighbors(empty, 1.0, cell=cells, device="cpu").pairs.shape == (0, 2)
        assert int(neighbors(empty, 1.0, cell=cells, device="cpu", capacity=1).count) == 0


def test_gpu_neighbors_belong_to_the_caller():
    points = np.random.default_rng(2).random((200, 3))
    first = neighbors(points, 0.3, sort=True, device="cpu", **WANTED)
    kept = [one.copy() for one in first]
    neighbors(points + 0.1, 0.4, full=True, device="cpu", **WANTED)
    neighbors(points[:50], 0.4, capacity=1000, device="cpu", **WANTED)
    gpu.release()
    assert all(np.array_equal(one, right) for one, right in zip(first, kept, strict=True))


def test_gpu_neighbors_in_threads_do_not_mix():
    sets = [np.random.default_rng(seed).random((300, 3)) for seed in range(4)]
    expected = [bp.neighbors(points, 0.2, cell=[1, 1, 1], sort=True).pairs for points in sets]
    wrong = []

    def work(k):
        for _ in range(10):
            found = neighbors(sets[k], 0.2, cell=[1, 1, 1], sort=True, device="cpu").pairs
            if not np.array_equal(found, expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# Errors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_gpu_neighbors_of_points_that_are_none_name_the_row(dtype):
    good = np.random.default_rng(3).random((40, 3)).astype(dtype)
    for rows, values in (([7], [np.nan]), ([9], [np.inf]), ([3, 7], [-np.inf, np.nan]), ([0], [np.nan])):
        bad = good.copy()
        bad[rows, 1] = values
        for arguments, name in (((bad, 0.3), "points"), ((good, 0.3, bad), "other")):
            for options in ({}, {"cell": [1, 1, 1]}, {"batch": 1 if name == "points" else (1, 1)}):
                with pytest.raises(bp.errors.InvalidBoxError) as expected:
                    bp.neighbors(*arguments, **options)
                with pytest.raises(bp.errors.InvalidBoxError) as actual:
                    neighbors(*arguments, device="cpu", **options)
                assert str(actual.value) == str(expected.value)
                assert actual.value.row == expected.value.row
                told = neighbors(*arguments, device="cpu", capacity=10, **options)
                assert int(told.count) == -1 - expected.value.row
    # An empty set is checked all the same.
    with pytest.raises(bp.errors.InvalidBoxError, match=f"points: row {rows[0]}"):
        neighbors(bad, 0.3, good[:0], device="cpu")


def test_gpu_neighbors_of_very_many_points_that_are_none_are_not_compared():
    points = np.full((200_000, 3), np.nan, np.float32)
    for options in ({}, {"cell": [1, 1, 1]}):
        assert int(neighbors(points, 0.3, device="cpu", capacity=1, **options).count) == -1
    points[5:] = 1e30
    with pytest.raises(bp.errors.InvalidBoxError, match="row 0 has NaN"):
        neighbors(points, 0.3, cell=[1, 1, 1], device="cpu")
    with pytest.raises(ValueError, match="points: row 0 is more than 10"):
        neighbors(points[5:], 0.3, cell=[1, 1, 1], device="cpu")


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        (([[0, 0]], -1), {}, "cutoff must be 0, or from 1e-150 to 1e150"),
        (([[0, 0]], np.nan), {}, "cutoff must be 0, or from 1e-150 to 1e150"),
        (([[0, 0]], [1.0]), {}, "search with the longest of a pair and distances=True"),
        (([[0, 0]], "1"), {}, "cutoff must be a number"),
        (([[0, 0, 0, 0]], 1), {}, "d = 2 or 3"),
        (([[0]], 1), {}, "d = 2 or 3"),
        (([[0, 0]], 1, [[0, 0, 0]]), {}, "points have 2 dimensions and other has 3"),
        (([[0, 0]], 1), {"cell": [1, 1, 1]}, "cell must have shape"),
        (([[0, 0]], 1), {"cell": [1, np.inf]}, "cell must be finite"),
        (([[0, 0]], 1), {"cell": [1, 1], "periodic": [1, 1, 1]}, "periodic must be True, False or 2 of them"),
        (([[0, 0]], 1), {"cell": [1, 0]}, "cell: the periodic vectors do not span a volume"),
        (([[0, 0]], 1), {"cell": [[1, 1], [2, 2]]}, "cell: the periodic vectors do not span a volume"),
        (([[0, 0]], 1e9), {"cell": [1, 1]}, "spans more than 10"),
        (([[0, 0]], 1), {"full": "yes"}, "full must be True or False"),
        (([[0, 0]], 1), {"capacity": -1}, "capacity must be from 0"),
        (([[0, 0]], 1), {"batch": [1, 2]}, r"batch has shape \(2,\)"),
        (([[0, 0]], 1), {"batch": [0.5]}, "batch must be integer, not float64"),
        (([[0, 0]], 1, [[0, 0]]), {"batch": [1]}, "batch: for two sets, give a tuple"),
        (([[[0, 0]]], 1), {"batch": [1]}, r"batch: points of shape \(E, n, d\) are E batches of n already"),
        (([[[0, 0]]], 1, [[0, 0]]), {}, "and other is not; give the keys of other"),
        (([[[0, 0]]] * 2, 1, [[[0, 0]]]), {}, "points has 2 batches, and other has 1"),
        (([[0, 0]], 1), {"cell": np.ones((2, 2, 2))}, "give batch=, or points of shape"),
        (([[[0, 0]]], 1), {"cell": [np.eye(2)] * 2}, "points has 1 batches, and cell has 2"),
        (([[0, 0], [0, 0]], 1), {"cell": [np.eye(2)] * 2, "batch": [1, 2]}, "batch: row 1 is 2; with 2 cells"),
        (([[0, 0], [0, 0]], 1), {"cell": [np.eye(2)] * 2, "batch": [-1, 1]}, "batch: row 0 is -1; with 2 cells"),
        (([[0, 0], [0, 0]], 1), {"cell": [np.eye(2)] * 2, "batch": 2}, "batch: row 0 is 2; with 2 cells"),
        (([[[0, 0]]] * 2, 1), {"cell": [np.eye(2), np.ones((2, 2))]}, "periodic vectors of cell 1 do not span"),
        (([[0, 0]] * 2, 1), {"cell": [np.eye(2), np.ones((2, 2))], "batch": [0, 1]}, "vectors of cell 1 do not span"),
        (([[[0, 0]]] * 2, 1), {"cell": [np.eye(2)] * 2, "periodic": [[True, True]]}, "or that for each of E cells"),
        (([[0, 0], [1e12, 0]], 1), {"cell": [1, 1], "batch": [5, 4]}, "points: row 1 is more than 10"),
    ],
)
def test_gpu_neighbors_of_bad_input_fail_as_on_the_cpu(arguments, options, text):
    with pytest.raises((ValueError, TypeError), match=text):
        neighbors(*arguments, device="cpu", **options)
    if "capacity" not in options and "longest" not in text:
        with pytest.raises((ValueError, TypeError), match=text):
            bp.neighbors(*arguments, **options)


def test_gpu_neighbors_of_arrays_that_do_not_fit_say_what_to_do():
    points = wp.zeros((4, 3), dtype=wp.float32, device="cpu")
    for kind, text, call in (
        (TypeError, "float32 or float64", lambda: neighbors(wp.zeros((4, 3), dtype=wp.int32, device="cpu"), 1.0)),
        (TypeError, "both of one library", lambda: neighbors(points, 1.0, np.zeros((4, 3)))),
        (TypeError, "batch is a list in host memory", lambda: neighbors(points, 1.0, batch=[0, 0, 1, 1])),
        (ValueError, "in host memory", lambda: neighbors(points, wp.ones(4, dtype=wp.float32, device="cpu"))),
        (ValueError, "there is no device 'cuda:77'", lambda: neighbors(points, 1.0, device="cuda:77")),
    ):
        with pytest.raises(kind, match=text):
            call()


def test_gpu_neighbors_whose_cell_is_flat_count_only_where_it_has_points():
    cells = [np.eye(2), np.ones((2, 2)), np.eye(2) * 1e-8]
    points = [[0, 0], [0.5, 0]]
    assert neighbors(points, 0.5, cell=cells, batch=[0, 0], device="cpu").pairs.tolist() == [[0, 1]] * 2
    told = [int(neighbors(points, 0.5, cell=cells, batch=[0, k], device="cpu", capacity=4).count) for k in (0, 1, 2)]
    assert told == [2, -2, -2]


def test_gpu_neighbors_so_far_from_the_cell_that_rounding_hides_it_are_an_error():
    # The core would look at more images than there are numbers for.
    points = np.array([[1e30, -1e30], [0.0, 0.0]])
    with pytest.raises(ValueError, match="so far from the cell"):
        neighbors(points, 0.1, cell=[[1, 1], [1, -1]], periodic=[True, False], device="cpu")
    points = np.array([[1e13, -1e13], [1e13, -1e13], [0.0, 0.0], [0.5, 0.5]])
    assert check(points, 0.75, cell=[[1, 1], [1, -1]], periodic=[True, False]) > 2


def test_gpu_neighbors_without_memory_are_a_memory_error_and_change_nothing(monkeypatch):
    points = np.random.default_rng(3).random((100, 3))
    options = {"cell": [1, 1, 1], "sort": True, "device": "cpu", **WANTED}
    gpu.release()
    empty, left = wp.empty, 0

    def failing(*arguments, **kind):
        nonlocal left
        left -= 1
        if left == 0:
            raise RuntimeError("Failed to allocate 1 bytes on device 'cpu'")
        return empty(*arguments, **kind)

    monkeypatch.setattr(wp, "empty", failing)
    failed, found = 0, None
    while found is None:
        left = failed + 1
        try:
            found = neighbors(points, 0.3, **options)
        except MemoryError:
            gpu.release()
            failed += 1
    assert failed > 10
    require_equal(found, bp.neighbors(points, 0.3, cell=[1, 1, 1], sort=True, **WANTED), "after all")


# Compilation ----------------------------------------------------------------------------------------------------------


def test_gpu_neighbors_kernels_compile_for_cuda(tmp_path):
    modules = [result_kernels().module]
    for dimension in DIMENSIONS:
        modules.append(neighbor_kernels(dimension).module)
        modules += [filing_kernels(dimension, kind).module for kind in (wp.float32, wp.float64)]
    for module in modules:
        wp.compile_aot_module(module, arch=90, module_dir=tmp_path, use_ptx=True)
    assert len(list(tmp_path.glob("*.ptx"))) == len(modules)
