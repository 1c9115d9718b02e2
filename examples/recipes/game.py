"""
A game: ships, bullets and a hall
=================================

Ships drift through a hall with pillars, and a gun sprays bullets. Each frame is one
``world.step``. Who may hit whom is said by layers, and what happens then by handlers.
Bullets are so fast that they would pass through a ship between two frames; ``ccd=True``
finds what they meet on their way.

For a window, see ``examples/rectangles_pygame.py``: 5000 rectangles at 60 frames a
second.
"""

import matplotlib.pyplot as plt
import numpy as np

import broadphase as bp

random = np.random.default_rng(4)
world = bp.World(dim=2, bounds=[[0, 0], [120, 70]], boundary="bounce")
for layer in ("ship", "bullet", "pillar"):
    world.layer(layer)

pillars = world.add_many(
    bp.Circle(4),
    [[40, 20], [40, 50], [80, 20], [80, 50]],
    body_type="static",
    layer="pillar",
    mask={"ship", "bullet"},
)
ships = [
    world.add(
        bp.ConvexPolygon([[3, 0], [-2, 1.6], [-2, -1.6]]),
        position=random.uniform([10, 10], [110, 60]),
        velocity=random.normal(0, 6, 2),
        rotation=random.uniform(0, 2 * np.pi),
        layer="ship",
        data={"hits": 0},
    )
    for _ in range(24)
]

# %%
# What happens when bodies begin to touch. Handlers are called after the step, once for
# each event, and may add and remove bodies. ``event.actor`` is of the layer that is
# named first.

hits = []


@world.on_enter("bullet", "ship")
def hit(event):
    """Count the hit where it happened, and spend the bullet."""
    event.other.data["hits"] += 1
    hits.append(event.other.position.copy())
    event.actor.remove()


@world.on_enter("bullet", "pillar")
def spent(event):
    """Bullets end at pillars."""
    event.actor.remove()


@world.on_enter("ship", "pillar")
def bounce(event):
    """Send the ship away from the middle of the pillar."""
    away = event.actor.position - event.other.position
    event.actor.velocity = (
        np.linalg.norm(event.actor.velocity) * away / np.linalg.norm(away)
    )


# %%
# The loop of the game: three seconds, with three bullets a frame from the middle of the
# hall.

trails = []
for number in range(180):
    angles = 0.07 * number + np.array([0, 2, 4]) * np.pi / 3
    ways = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    world.add_many(
        bp.Circle(0.3),
        np.array([60, 35]) + ways,
        velocities=90 * ways,
        layer="bullet",
        mask={"ship", "pillar"},
        ccd=True,
        boundary="remove",
    )
    frame = world.step(dt=1 / 60)
    trails.append([ship.position.copy() for ship in ships])

milliseconds = 1e3 * frame.stats["seconds"]
print(f"{len(world)} bodies, {len(hits)} hits; last step {milliseconds:.2f} ms")

# %%
# ``bp.plot`` draws a world by its exact shapes. The paths of the ships and the hits are
# added to the same axes.

axes = bp.plot(world, pairs=False)
for path in np.swapaxes(trails, 0, 1):
    axes.plot(*path.T, color="#2B6C99", linewidth=0.8, alpha=0.6)
if hits:
    axes.scatter(*np.transpose(hits), marker="x", s=30, color="#C0392B", label="hits")
axes.set_title(f"{len(hits)} hits in three seconds")
plt.show()
