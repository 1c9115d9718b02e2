"""
Robots: 2,048 lidars in one call
================================

Robot learning steps thousands of separate environments. Here, 256 rooms with eight
robots each are one world: ``batch=`` keeps bodies of different rooms apart, one step
moves all robots, and one call of ``lidar`` gives what all of them see: an array of
shape (robots, beams). A simple rule steers by it, where a network would. See
:doc:`/learners` and :doc:`/batches`.
"""

import matplotlib.pyplot as plt
import numpy as np

import broadphase as bp

random = np.random.default_rng(8)
rooms, crates, each, beams, reach, size = 256, 12, 8, 61, 5.0, 10.0
fan = np.linspace(-2, 2, beams)  # angles from straight ahead, counter-clockwise


def make_world():
    """Return a world of rooms with walls, crates and robots, and the rows of these."""
    world, keys = bp.World(dim=2), np.arange(rooms)
    for x, y, width, height in (
        (0, size / 2, 0.2, size),
        (size, size / 2, 0.2, size),
        (size / 2, 0, size, 0.2),
        (size / 2, size, size, 0.2),
    ):
        walls, places = bp.Rectangle(width, height), np.full((rooms, 2), (x, y))
        world.add_many(walls, places, body_type="static", batch=keys)
    shapes = bp.Rectangle(*random.uniform(0.4, 1.4, (2, rooms * crates)))
    places = random.uniform(0.5, size - 0.5, (rooms * crates, 2))
    turns = random.uniform(0, np.pi, rooms * crates)
    world.add_many(
        shapes, places, rotations=turns, body_type="static", batch=keys.repeat(crates)
    )
    # Robots begin where nothing is.
    places = random.uniform(0.5, size - 0.5, (rooms, 400, 2)).reshape(-1, 2)
    taken = world.query_ball(places, 0.6, batch=keys.repeat(400)).counts
    free = np.argsort(taken.reshape(rooms, 400) > 0, axis=1, kind="stable")[:, :each]
    places = np.take_along_axis(places.reshape(rooms, 400, 2), free[..., None], axis=1)
    robots = world.add_many(
        bp.Circle(np.full(rooms * each, 0.2)),
        places.reshape(-1, 2),
        rotations=random.uniform(-np.pi, np.pi, rooms * each),
        layer="robot",
        batch=keys.repeat(each),
    )
    return world, robots


# %%
# An observation is one call. Beams that hit nothing are infinite: networks rather get
# the reach. Directions are angles from straight ahead, because the frame is that of the
# body unless ``frame="world"``.


def observe(world, robots):
    """Return how far each beam of each robot sees, shape (robots, beams)."""
    scan = world.lidar(robots, fan, max_distance=reach, dtype=np.float32)
    return np.minimum(scan.distances, reach)


def act(seen):
    """Return how fast each robot drives, and how it turns: to where there is room."""
    # What a robot as wide as a few beams can pass: the least distance of neighbors.
    wide = np.pad(seen, ((0, 0), (3, 3)), mode="edge")
    room = np.lib.stride_tricks.sliding_window_view(wide, 7, axis=1).min(axis=2)
    wanted = fan[np.argmax(room - 0.8 * np.abs(fan), axis=1)]
    ahead = seen[:, np.abs(fan) < 0.6].min(axis=1)
    return np.clip(1.5 * (ahead - 0.35), 0.0, 1.5), np.clip(3 * wanted, -3.0, 3.0)


def drive(look, steps=180, dt=1 / 30):
    """Return contacts that began in each step, and the paths of the robots."""
    world, robots = make_world()
    collisions, path = [], []
    for _ in range(steps):
        speed, turn = act(look(world, robots))
        heading = world.rotations[robots] + turn * dt
        world.rotations[robots] = heading
        ahead = np.stack([np.cos(heading), np.sin(heading)], axis=1)
        world.velocities[robots] = speed[:, np.newaxis] * ahead
        frame = world.step(dt=dt)
        collisions.append(len(frame.enter))
        path.append(world.positions[robots].copy())
    return world, robots, np.array(collisions), np.array(path)


def blind(world, robots):
    """See nothing but free space."""
    return np.full((len(robots), beams), reach)


_, _, without, _ = drive(blind)
world, robots, collisions, path = drive(observe)
print(f"{len(robots):,} robots, {len(robots) * beams:,} beams a step")
print(f"collisions: {without.sum():,} blind, {collisions.sum():,} by lidar")

# %%
# One room at the end: what its robots see, and where they have been.

mine = robots[world.batches[robots] == 0]
seen = observe(world, mine)
room = bp.World.from_bytes(world.to_bytes())
room.remove(room.rows[room.batches != 0])
figure, (axes, panel) = plt.subplots(1, 2, figsize=(10.5, 5), layout="constrained")
for row, distances in zip(mine, seen, strict=True):
    angles = world.rotations[row] + fan
    ends = world.positions[row] + distances[:, np.newaxis] * np.stack(
        [np.cos(angles), np.sin(angles)], axis=1
    )
    axes.fill(
        *np.vstack([world.positions[row], ends]).T, color="#F3D9A4", alpha=0.35, lw=0
    )
bp.plot(room, ax=axes, pairs=False)
for way in path[:, world.batches[robots] == 0].swapaxes(0, 1):
    axes.plot(*way.T, color="#C0392B", linewidth=1)
axes.set(
    xlim=(-0.3, size + 0.3), ylim=(-0.3, size + 0.3), aspect="equal", title="One room"
)
panel.plot(without.cumsum(), color="#C8CDD2", label="blind")
panel.plot(collisions.cumsum(), color="#C0392B", label="by lidar")
panel.set(xlabel="step", title="Collisions in all rooms")
panel.legend(frameon=False)
plt.show()
