"""
Molecular dynamics: argon in a periodic box
===========================================

216 Lennard-Jones atoms in reduced units. ``bp.NeighborList`` searches with a skin, and
tests the same pairs again until an atom has moved by half of it. It chooses the skin
itself. Its results are exact at every step. See :doc:`/neighbors`.
"""

import matplotlib.pyplot as plt
import numpy as np

import broadphase as bp

edge, cutoff, dt, steps = 10.2, 2.5, 0.004, 600
grid = np.arange(6) * 1.7
positions = np.stack(np.meshgrid(grid, grid, grid), axis=-1).reshape(-1, 3)
velocities = np.random.default_rng(1).normal(0, 0.9, positions.shape)
velocities -= velocities.mean(axis=0)
near = bp.NeighborList(cutoff, distances=True, vectors=True)


def forces_and_energy(positions):
    """Return the force on each atom, and the potential energy."""
    nb = near.update(positions, [edge, edge, edge])
    sixth = nb.distances**-6
    push = (24 * sixth * (2 * sixth - 1) / nb.distances**2)[:, np.newaxis] * nb.vectors
    forces = np.zeros_like(positions)
    np.add.at(forces, nb.pairs[:, 1], push)
    np.subtract.at(forces, nb.pairs[:, 0], push)
    return forces, (4 * sixth * (sixth - 1) - 4 * cutoff**-6 * (cutoff**-6 - 1)).sum()


# %%
# Velocity Verlet.

forces, potential = forces_and_energy(positions)
energies = []
for _ in range(steps):
    velocities += forces * dt / 2
    positions = (positions + velocities * dt) % edge
    forces, potential = forces_and_energy(positions)
    velocities += forces * dt / 2
    kinetic = (velocities**2).sum() / 2
    energies.append((kinetic, potential, kinetic + potential))
energies = np.array(energies) / len(positions)
drift = abs(energies[-1, 2] - energies[0, 2])
print(f"{near.updates} updates, {near.rebuilds} searches; energy drifts by {drift:.1e}")

# %%
# One more call gives the radial distribution function: the density of atoms by their
# distance.

nb = bp.neighbors(positions, 5.0, cell=[edge] * 3, distances=True)
counts, bins = np.histogram(nb.distances, bins=100, range=(0, 5))
middles, density = (bins[1:] + bins[:-1]) / 2, len(positions) / edge**3
shells = 4 * np.pi * middles**2 * np.diff(bins)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for name, values, colour in zip(
    ("kinetic", "potential", "total"),
    energies.T,
    ("#2B6C99", "#9EC9E2", "#C0392B"),
    strict=True,
):
    left.plot(np.arange(steps) * dt, values, label=name, color=colour)
left.set(xlabel="time", ylabel="energy of an atom")
left.legend()
right.plot(middles, 2 * counts / (len(positions) * density * shells), color="#2B6C99")
right.axhline(1, color="#C8CDD2", linewidth=0.8)
right.set(xlabel="distance", ylabel="g(r)")
plt.show()
