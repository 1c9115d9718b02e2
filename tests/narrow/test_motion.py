"""What moves by itself: exactly, in place, and not at all where a number would be lost."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.narrow.row_pairs import ray_hits

SIZES = [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 100]  # on both sides of the eight rows that are looked at together


def bits(array):
    return array.view(np.int64).tolist()


def everybody(n):
    return np.ones(n, np.uint8)


def multiply(p, q):
    w, x, y, z = p.T
    a, b, c, d = q.T
    return np.stack([w * a - x * b - y * c - z * d, w * b + x * a + y * d - z * c,
                     w * c - x * d + y * a + z * b, w * d + x * c - y * b + z * a], axis=1)  # fmt: skip


def integrate(positions, velocities, rotations, spins, moves, dt):
    """Have a world move rows that it does not look at: they may be anywhere. Write the results to the arrays."""
    n, d = positions.shape
    world = bp.World(d)
    never = 2**31 - 1
    world.add_many(bp.Circle(0.5) if d == 2 else bp.Sphere(0.5), np.zeros((n, d)), update_interval=never)
    columns = {"positions": positions, "velocities": velocities, "rotations": rotations, "angular_velocities": spins}
    columns = {name: values for name, values in columns.items() if values is not None}
    for name, values in columns.items():
        getattr(world, name)[:] = values
    world.sleep(np.flatnonzero(moves == 0))
    try:
        world.step(dt)
    finally:
        for name, values in columns.items():
            values[:] = getattr(world, name)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dimension", [2, 3])
def test_integrate_any_number_of_rows_moves_those_with_a_flag(n, dimension):
    rng = np.random.default_rng(n)
    for share in (0.0, 0.1, 0.5, 1.0):
        positions, velocities = rng.normal(size=(2, n, dimension))
        moves = (rng.random(n) < share).astype(np.uint8)
        expected = np.where(moves[:, None] > 0, positions + velocities * 0.25, positions)
        integrate(positions, velocities, None, None, moves, 0.25)
        assert bits(positions) == bits(expected), (n, share)


@pytest.mark.parametrize("dimension", [2, 3])
def test_integrate_without_velocity_and_spin_leaves_every_bit(dimension):
    values = [-0.0, 0.0, 5e-324, -5e-324, 1e308, 0.1, -1e-300]
    positions = np.array([[x] * dimension for x in values])
    rotations = np.array(values if dimension == 2 else [[x, 0.5, -0.0, x] for x in values])
    zeros = np.where(np.arange(len(values)) % 2, 0.0, -0.0)
    velocities = np.repeat(zeros[:, None], dimension, axis=1)
    spins = zeros if dimension == 2 else np.repeat(zeros[:, None], 3, axis=1)
    before = bits(positions), bits(rotations)
    integrate(positions, velocities, rotations, spins, everybody(len(values)), 0.5)
    integrate(positions, np.ones_like(positions), rotations, np.ones_like(spins), everybody(len(values)), 0.0)
    assert (bits(positions), bits(rotations)) == before


def test_integrate_in_the_plane_adds_angles_without_end():
    rotations, spins = np.array([0.0, 3.0, -1.0]), np.array([1.0, 100.0, -2.0])
    integrate(np.zeros((3, 2)), np.zeros((3, 2)), rotations, spins, everybody(3), 0.5)
    assert rotations.tolist() == [0.5, 53.0, -2.0]


@pytest.mark.parametrize("size", [1e-300, 1e-12, 1e-3, 0.1, 0.99, 1.0, 1.01, 3.0, 50.0])
def test_integrate_in_space_turns_by_the_exponential_map(size):
    rng = np.random.default_rng(3)
    n = 200
    rotations = rng.normal(size=(n, 4))
    rotations /= np.linalg.norm(rotations, axis=1, keepdims=True)
    axes = rng.normal(size=(n, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    half = rng.uniform(-size, size, n)[:, None] / 2
    expected = multiply(np.hstack([np.cos(half), np.sin(half) * axes]), rotations)
    integrate(np.zeros((n, 3)), np.zeros((n, 3)), rotations, axes * half * 8, everybody(n), 0.25)
    np.testing.assert_allclose(rotations, expected, atol=1e-15 * max(1.0, size), rtol=0)
    np.testing.assert_allclose(np.linalg.norm(rotations, axis=1), 1.0, atol=4e-16)


def test_integrate_in_space_turns_about_an_axis_of_the_world():
    # A quarter about z takes what points along x to y, however it came to point along x.
    half = np.sqrt(0.5)
    rotations = np.array([[1.0, 0, 0, 0], [half, 0, -half, 0]])  # the second: z to -x
    integrate(np.zeros((2, 3)), np.zeros((2, 3)), rotations, np.array([[0, 0, np.pi / 2]] * 2), everybody(2), 1.0)

    def turned(q, v):
        conjugate = q * [1, -1, -1, -1]
        return multiply(multiply(q[None], np.array([[0.0, *v]])), conjugate[None])[0, 1:]

    np.testing.assert_allclose(turned(rotations[0], [1, 0, 0]), [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(turned(rotations[1], [0, 0, -1]), [0, 1, 0], atol=1e-15)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 0.1, 7.0, 1e200, 1e307])
def test_integrate_in_space_any_length_of_quaternion_becomes_one(scale):
    rotations = np.array([[1.0, 0, 0, 0]]) * scale
    integrate(np.zeros((1, 3)), np.zeros((1, 3)), rotations, np.array([[0.0, 0, 1.0]]), everybody(1), 0.5)
    np.testing.assert_allclose(rotations, [[np.cos(0.25), 0, 0, np.sin(0.25)]], atol=1e-15)


def test_integrate_ten_thousand_steps_stay_a_rotation():
    rotations, spins = np.array([[1.0, 0, 0, 0]]), np.array([[0.3, -0.2, 0.9]])
    for _ in range(10_000):
        integrate(np.zeros((1, 3)), np.zeros((1, 3)), rotations, spins, everybody(1), 1 / 60)
    angle = np.linalg.norm(spins) * 10_000 / 60 / 2
    axis = spins[0] / np.linalg.norm(spins)
    np.testing.assert_allclose(rotations[0], [np.cos(angle), *np.sin(angle) * axis], atol=1e-11)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("what", ["positions", "velocities", "rotations", "angular_velocities"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1.7e308])
def test_integrate_what_would_be_lost_is_named_and_nothing_changes(dimension, what, bad):
    rng = np.random.default_rng(5)
    for n in (1, 8, 9, 30):
        for row in {0, n // 2, n - 1}:
            given = {
                "positions": rng.normal(size=(n, dimension)),
                "velocities": rng.normal(size=(n, dimension)),
                "rotations": rng.normal(size=(n,) if dimension == 2 else (n, 4)),
                "angular_velocities": rng.normal(size=(n,) if dimension == 2 else (n, 3)),
            }
            if bad == 1.7e308:
                # Finite numbers, whose sum is not, or whose product.
                given["positions" if what == "positions" else "velocities"][row] = bad
                given["velocities"][row] = bad
            else:
                given[what][(row,) + (() if given[what].ndim == 1 else (-1,))] = bad
            moves = everybody(n)
            before = {name: array.tobytes() for name, array in given.items()}
            with pytest.raises(ValueError, match=f"^row {row} cannot move for a time of 10.0: position"):
                integrate(*given.values(), moves, 10.0)
            assert {name: array.tobytes() for name, array in given.items()} == before
            moves[row] = 0
            integrate(*given.values(), moves, 10.0)  # what does not move is not looked at


def test_integrate_large_numbers_that_stay_finite_are_no_error():
    positions, velocities = np.full((8, 3), 1.7e308), np.full((8, 3), -1.7e308)
    integrate(positions, velocities, None, None, everybody(8), 1.0)
    assert (positions == 0).all()


def test_integrate_no_rotation_to_turn_is_an_error():
    rotations = np.zeros((3, 4))
    rotations[:2, 0] = 1
    with pytest.raises(ValueError, match=r"row 2 .*rotation .*angular velocity"):
        integrate(np.zeros((3, 3)), np.zeros((3, 3)), rotations, np.ones((3, 3)), everybody(3), 1.0)
    integrate(np.zeros((3, 3)), np.zeros((3, 3)), rotations, None, everybody(3), 1.0)


def test_columns_that_do_not_fit_are_refused():
    for bad in (np.zeros((3, 2)), np.zeros((4, 3)), np.zeros((4, 2), np.float32), np.zeros((4, 4))[:, ::2]):
        world = bp.World(2)
        world.add_many(bp.Circle(1), np.zeros((4, 2)))
        for owner in (world._columns, world._columns.spare):
            good, owner.positions = owner.positions, bad
            with pytest.raises((ValueError, TypeError, RuntimeError)):
                world.step()
            owner.positions = good
        assert world.step().number == 1


def test_ray_meets_a_disc_when_a_moving_point_does_bit_for_bit():
    rng, count = np.random.default_rng(17), 3000
    scale = 10.0 ** rng.integers(-9, 9, count)[:, np.newaxis]
    centers, radii = rng.normal(size=(count, 2)) * scale, np.abs(rng.normal(size=count)) * scale[:, 0]
    origins = rng.normal(size=(count, 2)) * 3 * scale
    motions = 2 * (centers + rng.normal(size=(count, 2)) * 1.2 * radii[:, np.newaxis] - origins)
    motions[:300, 0] = 0  # along an axis
    pairs = np.repeat(np.arange(count, dtype=np.int32)[:, np.newaxis], 2, axis=1)
    points, discs = bp.Shapes(bp.Point(), origins), bp.Shapes(bp.Circle(radii), centers)
    impacts = bp.time_of_impact(points, discs, pairs=pairs, motions=motions)
    times, normals = ray_hits(discs, np.arange(count, dtype=np.int32), origins, motions)
    met = impacts.times < 1
    assert 0.3 < met.mean() < 1
    assert times[met].tolist() == impacts.times[met].tolist()
    apart = met & (times > 0)
    assert normals[apart].tolist() == (0.0 - impacts.normals[apart]).tolist()
