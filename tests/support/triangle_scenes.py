"""Triangles that are hard to tell apart, each kind a function of a random generator and a count: (n, 3, 3) float64."""

import numpy as np


def lattice(width):
    def make(rng, count):
        return rng.integers(0, width, (count, 3, 3)).astype(np.float64)

    return make


def in_a_plane(rng, count):
    corners = rng.integers(0, 5, (count, 3, 3)).astype(np.float64)
    corners[..., rng.integers(3)] = 1.0
    return corners


def in_a_turned_plane(rng, count):
    # Combinations of two directions with whole coordinates: exactly in a plane that no axis is square to.
    weights = rng.integers(-3, 4, (count, 3, 2))
    return np.add(weights @ np.array([[3, 1, -2], [1, -4, 7]]), [5.0, 0.0, 1e6])


def thirds(rng, count):
    # Rounded: what would be in a plane or on a line is an ulp off, one way or the other.
    return 0.1 + rng.integers(0, 3, (count, 3, 3)) / 3


def far_away(rng, count):
    return thirds(rng, count) + np.array([1e5, -7e9, 1e12])


def random_floats(rng, count):
    return rng.random((count, 3, 3))


def slivers(rng, count):
    # Almost segments, an ulp or a few wide.
    corners = rng.integers(0, 3, (count, 3, 3)).astype(np.float64)
    corners[:, 2] = (corners[:, 0] + corners[:, 1]) / 2
    wobble = rng.integers(-1, 2, corners.shape)
    return np.where(wobble == 0, corners, np.nextafter(corners, 9.0 * wobble))


def any_exponents(rng, count):
    mantissas = rng.choice([-3, -1, 0, 1, 2], (count, 3, 3)).astype(np.float64)
    return np.ldexp(mantissas, rng.choice([-1074, -40, 0, 500, 1000], (count, 3, 3)))


KINDS = {
    "lattice of 2": lattice(2),
    "lattice of 3": lattice(3),
    "lattice of 5": lattice(5),
    "in a plane": in_a_plane,
    "in a turned plane": in_a_turned_plane,
    "thirds": thirds,
    "far away": far_away,
    "random": random_floats,
    "slivers": slivers,
    "any exponents": any_exponents,
}


def as_mesh(corners):
    """Return triangles (n, 3, 3) as a mesh without common vertices."""
    return corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3)
