"""Points within a cutoff on a device: the kernels on Warp's CPU device, against `broadphase.neighbors`, bit by bit."""

import numpy as np
import pytest

import broadphase as bp

wp = pytest.importorskip("warp", reason="NVIDIA Warp is not installed: pip install 'broadphase[gpu]'")

from broadphase import gpu  # noqa: E402

ALL = {"distances": True, "vectors": True, "shifts": True}


def listed(found):
    """List pairs with all that is told of them, sorted: the same in any order."""
    columns = [found.pairs, found.shifts, found.distances[:, None], found.vectors]
    return sorted(map(tuple, np.concatenate(columns, axis=1).tolist()))


def check(points, cutoff, other=None, *, label="", **options):
    expected = bp.neighbors(points, cutoff, other, sort=True, **ALL, **options)
    for full in (False, True):
        wanted = bp.neighbors(points, cutoff, other, sort=True, full=full, **ALL, **options)
        found = gpu.neighbors(points, cutoff, other, sort=True, full=full, device="cpu", **ALL, **options)
        for name, one, two in zip(wanted._fields, wanted, found, strict=True):
            assert (one.dtype, one.shape) == (two.dtype, two.shape), f"{label} {name}"
            assert np.array_equal(one, two), f"{label} {name} full={full}"
        loose = gpu.neighbors(points, cutoff, other, full=full, device="cpu", **ALL, **options)
        assert listed(loose) == listed(wanted), f"{label} full={full}"
    count = len(expected.pairs)
    for room in {0, max(count - 1, 0), count, count + 7}:
        padded = gpu.neighbors(points, cutoff, other, capacity=room, sort=True, device="cpu", **ALL, **options)
        kept = min(room, count)
        assert int(padded.count) == count, label
        assert (padded.pairs[kept:] == -1).all()
        assert np.isinf(padded.distances[kept:]).all()
        assert not padded.vectors[kept:].any()
        assert not padded.shifts[kept:].any()
        if room >= count:
            for name in ("pairs", "distances", "vectors", "shifts"):
                assert np.array_equal(getattr(padded, name)[:kept], getattr(expected, name)), f"{label} {name}"
    return expected


def random_cell(rng, dim):
    while True:
        cell = rng.normal(size=(dim, dim)) * rng.choice([1, 3])
        if rng.random() < 0.3:
            cell[0] += rng.integers(-50, 60) * cell[1]
        if abs(np.linalg.det(cell)) > 0.3:
            return cell


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 40, 300])
def test_gpu_neighbors_in_open_space_equal_those_of_the_core(n, dim, dtype):
    rng = np.random.default_rng([n, dim])
    points, other = (rng.random((k, dim)).astype(dtype) * 3 for k in (n, 50))
    for cutoff in (0.0, 0.2, 0.7, 5.0):
        check(points, cutoff)
        check(points, cutoff, other)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_gpu_neighbors_in_periodic_cells_equal_those_of_the_core(seed, dim, dtype):
    rng = np.random.default_rng([seed, dim])
    cell = random_cell(rng, dim) if seed % 3 else np.abs(rng.normal(size=dim)) + 0.5
    basis = np.diag(cell) if cell.ndim == 1 else cell
    periodic = rng.random(dim) < 0.8 if seed % 2 else True
    points, other = (rng.uniform(-0.7, 1.6, (n, dim)) @ basis for n in (60, 25))
    for cutoff in (0.2, 0.8, 1.7):
        check(points.astype(dtype), cutoff, cell=cell, periodic=periodic)
        check(points.astype(dtype), cutoff, other.astype(dtype), cell=cell, periodic=periodic)


@pytest.mark.parametrize("dim", [2, 3])
def test_gpu_neighbors_at_exactly_the_cutoff_are_found(dim):
    rng = np.random.default_rng(dim)
    for dtype in ("float32", "float64"):
        points = (rng.integers(0, 5, (80, dim)) * 0.5).astype(dtype)
        for cutoff in (0.5, 1.0, 2.0):
            expected = check(points, cutoff)
            assert (expected.distances == cutoff).any()
            check(points, cutoff, cell=[2.5] * dim)


@pytest.mark.parametrize("scale", [2.0**-450, 2.0**-30, 2.0**30, 2.0**450])
def test_gpu_neighbors_do_not_change_with_the_scale(scale):
    rng = np.random.default_rng(0)
    points = rng.random((100, 3))
    check(points * scale, 0.3 * scale)
    check(points * scale, 0.3 * scale, cell=np.array([1, 1.2, 0.9]) * scale)


def test_gpu_neighbors_far_and_crowded_points_equal_those_of_the_core():
    rng = np.random.default_rng(1)
    points = rng.random((200, 3))
    points[::40] *= 10.0 ** rng.integers(3, 15, (5, 1))
    check(points, 0.2)
    check(np.concatenate([points, points[:50]]), 0.2)
    check(np.full((60, 3), 0.5), 0.1)
    check(rng.random((300, 3)) * 1e-6, 1e-7)
    check(rng.random((30, 3)) * 1e6, 0.5, cell=[1.0, 1.0, 1.0])


def test_gpu_neighbors_of_batches_equal_those_of_the_core():
    rng = np.random.default_rng(2)
    points, other = rng.random((150, 3)), rng.random((70, 3))
    keys, others = (np.array([7, -3, 2**62, -(2**63)])[rng.integers(0, 4, n)] for n in (150, 70))
    check(points, 0.3, batch=keys)
    check(points, 0.3, other, batch=(keys, others))
    check(points, 0.3, cell=[1, 1, 1], batch=keys)
    check(points.reshape(50, 3, 3), 0.5)
    cells = np.array([np.diag(rng.random(3) + 0.8) for _ in range(5)])
    check(points.reshape(5, 30, 3), 0.4, cell=cells)
    check(rng.random((1000, 1, 3)), 0.5)


def test_gpu_neighbors_of_arrays_of_warp_are_arrays_of_warp():
    points = np.random.default_rng(3).random((100, 3)).astype(np.float32)
    expected = bp.neighbors(points, 0.3, cell=[1, 1, 1], sort=True, **ALL)
    given = wp.array(points, dtype=wp.vec3, device="cpu")
    found = gpu.neighbors(given, 0.3, cell=[1, 1, 1], sort=True, **ALL)
    for name in expected._fields:
        assert isinstance(getattr(found, name), wp.array)
        assert np.array_equal(getattr(found, name).numpy(), getattr(expected, name)), name


def test_gpu_neighbors_name_what_is_wrong():
    points = np.random.default_rng(4).random((20, 3))
    bad = points.copy()
    bad[13, 1] = np.nan
    with pytest.raises(bp.InvalidBoxError, match="13") as error:
        gpu.neighbors(bad, 0.3, device="cpu")
    assert error.value.row == 13
    assert int(gpu.neighbors(bad, 0.3, capacity=5, device="cpu").count) == -14
    cases = [
        ("cutoff", lambda: gpu.neighbors(points, -1.0, device="cpu")),
        ("cutoff must be one number", lambda: gpu.neighbors(points, np.full(20, 0.1), device="cpu")),
        ("volume", lambda: gpu.neighbors(points, 0.1, cell=np.zeros((3, 3)), device="cpu")),
        ("shape", lambda: gpu.neighbors(points[:, :1], 0.1, device="cpu")),
    ]
    for text, call in cases:
        with pytest.raises(ValueError, match=text):
            call()
