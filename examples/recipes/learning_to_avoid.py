"""
Learning: observations of one shape
===================================

Twelve discs cross a room, and learn not to touch each other. 64 rooms are one world,
and each tries its own policy; the best quarter gives the next generation (the
cross-entropy method). A disc sees its four nearest neighbors: an array of fixed shape,
as networks, JAX and ``torch.compile`` need it. See :doc:`/learners`.
"""

import matplotlib.pyplot as plt
import numpy as np

import broadphase as bp

random = np.random.default_rng(3)
rooms, discs, sees, radius, edge = 64, 12, 4, 0.3, 10.0
world = bp.World(dim=2)
keys = np.repeat(np.arange(rooms), discs)
rows = world.add_many(
    bp.Circle(np.full(len(keys), radius)),
    np.zeros((len(keys), 2)),
    batch=keys,
)

# %%
# One call finds the neighbors of all discs in all rooms: ``rows=`` are the bodies, each
# without itself, and ``batch=`` keeps rooms apart.


def observe(goals):
    """Return the way to the goal, and to the nearest discs and their motions."""
    places, ways = world.positions[rows], world.velocities[rows]
    near = world.nearest(rows=rows, k=sees, batch=keys)
    to_others = world.positions[near.rows] - places[:, np.newaxis]
    towards = world.velocities[near.rows] - ways[:, np.newaxis]
    to_goal = goals - places
    length = np.linalg.norm(to_goal, axis=1, keepdims=True)
    return to_goal / np.maximum(length, 1.0), to_others, towards, near.distances


def act(policies, seen):
    """Return velocities: to the goal, away from others, past them, and from motions."""
    goal, others, towards, distances = seen
    pull, push, reach, side, lead = policies[keys].T[:, :, np.newaxis]
    weight = np.exp(-distances / np.maximum(reach, 0.05))[:, :, np.newaxis]
    past = np.stack([-others[:, :, 1], others[:, :, 0]], axis=2)
    moved = others + lead[:, :, np.newaxis] * towards
    turn = weight * (side[:, :, np.newaxis] * past - push[:, :, np.newaxis] * moved)
    ways = pull * goal + turn.sum(axis=1)
    return ways / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1.0)


def play(policies, steps=90):
    """Return how many discs touched in each room, how far from goals, and the paths."""
    angles = np.arange(discs) * 2 * np.pi / discs + random.normal(0, 0.1, discs)
    start = edge / 2 + 4.3 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    begin, goals = np.tile(start, (rooms, 1)), np.tile(edge - start, (rooms, 1))
    world.move(rows, begin)
    world.velocities[rows] = 0
    touched, path = np.zeros(rooms), [begin]
    for _ in range(steps):
        world.velocities[rows] = act(policies, observe(goals))
        contacts = world.step(dt=0.12).contacts
        table = contacts.padded(1, rooms, batch=world.batches)
        touched += table.counts
        path.append(world.positions[rows].copy())
    away = np.linalg.norm(goals - path[-1], axis=1).reshape(rooms, discs).mean(axis=1)
    return touched, away, np.array(path).reshape(-1, rooms, discs, 2)


# %%
# Twelve generations. The first room of each keeps the mean of the best policies.

mean, spread = np.array([1.0, 0.0, 0.5, 0.0, 0.0]), np.array([0.2, 0.6, 0.5, 0.6, 0.5])
history = []
for generation in range(12):
    policies = mean + spread * random.normal(size=(rooms, 5))
    policies[0] = mean
    touched, away, path = play(policies)
    if generation == 0:
        first = path[:, 0]
    history.append((touched[0], away[0], np.median(touched)))
    best = policies[np.argsort(touched + 4 * away)[: rooms // 4]]
    mean, spread = best.mean(axis=0), best.std(axis=0) + 0.02
print(f"{len(world)} discs in {rooms} rooms, 90 steps a generation")
print(f"contacts in a room: {history[0][0]:.0f} at first, {history[-1][0]:.0f} at last")

# %%
# The same room before and after, and the contacts on the way there.

figure, panels = plt.subplots(1, 3, figsize=(10.5, 3.7), layout="constrained")
for panel, paths, title in (
    (panels[0], first, "Before"),
    (panels[1], path[:, 0], "After"),
):
    for disc in range(discs):
        colour = plt.get_cmap("twilight")(disc / discs)
        panel.plot(*paths[:, disc].T, color=colour, linewidth=2)
        panel.add_patch(plt.Circle(paths[-1, disc], radius, color=colour))
    panel.set(
        xlim=(0, edge),
        ylim=(0, edge),
        aspect="equal",
        xticks=[],
        yticks=[],
        title=title,
    )
panels[2].plot([row[0] for row in history], color="#C0392B", label="the mean policy")
panels[2].plot([row[2] for row in history], color="#2B6C99", label="median of rooms")
panels[2].set(xlabel="generation", ylabel="contacts in 90 steps", ylim=(0, None))
panels[2].legend(frameon=False)
plt.show()
