"""
Agents: a flock on a torus
==========================

2,000 birds follow three rules: keep apart from birds that are very near, fly in the
direction of the neighbors, and stay together. The plane is periodic along both axes.
One call per step finds all neighbors of all birds.
"""

import matplotlib.pyplot as plt
import numpy as np

import broadphase as bp

random = np.random.default_rng(5)
count, edge, sight, speed = 2000, 100.0, 3.0, 0.6
places = random.uniform(0, edge, (count, 2))
angles = random.uniform(-np.pi, np.pi, count)
ways = np.stack([np.cos(angles), np.sin(angles)], axis=1)


def mean_over_neighbors(nb, values):
    """Return the mean of ``values`` over the neighbors of each bird; 0 without any."""
    totals = np.zeros((count, 2))
    np.add.at(totals, nb.pairs[:, 0], values)
    return totals / np.maximum(np.diff(nb.offsets), 1)[:, np.newaxis]


# %%
# One step: ``full=True`` gives each pair in both directions, sorted by the first bird,
# and ``vectors`` point to the nearest image of the neighbor, also across the border.

order = []
for _ in range(200):
    nb = bp.neighbors(
        places, sight, cell=[edge, edge], full=True, distances=True, vectors=True
    )
    apart = -nb.vectors / np.maximum(nb.distances, 0.1)[:, np.newaxis] ** 2
    turn = mean_over_neighbors(nb, apart + ways[nb.pairs[:, 1]] + 0.1 * nb.vectors)
    ways = ways + 0.4 * turn + 0.1 * random.normal(size=ways.shape)
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    places = (places + speed * ways) % edge
    order.append(np.linalg.norm(ways.mean(axis=0)))
print(f"{len(nb.pairs):,} directed pairs in the last step")
print(f"order {order[0]:.2f} at the beginning, {order[-1]:.2f} at the end")

# %%
# The flock, coloured by direction, and the order of its directions over time.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(9.5, 4.6), width_ratios=(1.25, 1), layout="constrained"
)
left.quiver(
    *places.T, *ways.T, np.arctan2(*ways.T), cmap="twilight", scale=60, width=0.003
)
left.set(xlim=(0, edge), ylim=(0, edge), aspect="equal", xticks=[], yticks=[])
right.plot(order, color="#2B6C99")
right.set(xlabel="step", ylabel="length of the mean direction", ylim=(0, 1))
plt.show()
