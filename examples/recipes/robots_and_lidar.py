"""
Robots: 256 rooms, one lidar for each
=====================================

Robot learning steps thousands of separate environments. Here, all of them are one
world: ``batch=`` keeps bodies and rays of different rooms apart, so one step and one
call of ``raycast`` serve all rooms. ``ignore=`` leaves out the robot that sends a beam.
See :doc:`/batches`.
"""

import matplotlib.pyplot as plt
import numpy as np

import broadphase as bp

random = np.random.default_rng(8)
rooms, crates, beams, reach = 256, 14, 180, 8.0
world = bp.World(dim=2)
keys = np.repeat(np.arange(rooms), crates)
shapes = bp.Rectangle(*random.uniform(0.4, 1.6, (2, len(keys))))
places, turns = (
    random.uniform(0, 10, (len(keys), 2)),
    random.uniform(0, np.pi, len(keys)),
)
world.add_many(shapes, places, rotations=turns, body_type="static", batch=keys)
robots = world.add_many(
    bp.Circle(np.full(rooms, 0.25)),
    random.uniform(1, 9, (rooms, 2)),
    batch=np.arange(rooms),
)
angles = np.linspace(0, 2 * np.pi, beams, endpoint=False)

# %%
# Each robot turns to the direction in which its lidar sees farthest, and drives there.
# Collisions are counted by room.


def look():
    """Return how far each beam of each robot sees, shape (rooms, beams)."""
    directions = np.tile(np.stack([np.cos(angles), np.sin(angles)], axis=1), (rooms, 1))
    origins = np.repeat(world.positions[robots], beams, axis=0)
    hits = world.raycast(
        origins,
        directions,
        reach,
        batch=np.repeat(np.arange(rooms), beams),
        ignore=np.repeat(robots, beams),
    )
    return np.minimum(hits.distances, reach).reshape(rooms, beams)


collisions = np.zeros(rooms, int)
path = []
for number in range(90):
    if number % 10 == 0:
        free = angles[look().argmax(axis=1)]
        world.velocities[robots] = 1.2 * np.stack([np.cos(free), np.sin(free)], axis=1)
    frame = world.step(dt=1 / 30)
    collisions += np.bincount(world.batches[frame.enter[:, 0]], minlength=rooms)
    path.append(world.positions[robots].copy())
print(f"{len(world):,} bodies in {rooms} rooms, {rooms * beams:,} rays a look")
print(f"{collisions.sum()} collisions")

# %%
# The room with the most collisions, what its robot sees at the end, and its path.

room = int(collisions.argmax())
seen, place = look()[room], world.positions[robots[room]]
ends = place + seen[:, np.newaxis] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
here = keys == room
crates_here = bp.Shapes(
    bp.Rectangle(shapes.width[here], shapes.height[here]), places[here], turns[here]
)
figure, axes = plt.subplots(figsize=(6, 6), layout="constrained")
axes.fill(*ends.T, color="#F3D9A4", alpha=0.7, linewidth=0)
bp.plot(crates_here, ax=axes, pairs=False)
axes.plot(*np.array(path)[:, room].T, color="#C0392B", linewidth=1.5)
axes.scatter(*place, color="#C0392B", zorder=4)
axes.set(
    xlim=(-1, 11),
    ylim=(-1, 11),
    aspect="equal",
    title=f"Room {room}: {collisions[room]} collisions",
)
plt.show()
