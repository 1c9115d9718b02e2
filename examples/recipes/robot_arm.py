"""
A robot's arm: which of 10,000 configurations are free
======================================================

A planner asks many times: does the arm, in this configuration, touch an obstacle or
itself? ``bp.Articulated`` answers for thousands of configurations in one call, and
finds the first contact on a path between two of them; see :doc:`/robots`.
"""

import matplotlib.pyplot as plt
import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

import broadphase as bp

# Six joints, each turning about z or y; every link is a capsule along its own z axis.
links, parent, height = [], None, 0.0
for name, axis, length, radius in (
    ("shoulder", (0, 0, 1), 0.35, 0.07),
    ("upper", (0, 1, 0), 0.45, 0.06),
    ("lower", (0, 1, 0), 0.40, 0.05),
    ("forearm", (0, 0, 1), 0.20, 0.05),
    ("wrist", (0, 1, 0), 0.12, 0.045),
    ("hand", (0, 0, 1), 0.15, 0.03),
):
    shape = bp.Capsule((0, 0, 0), (0, 0, length), radius)
    links.append(
        bp.Link(name, shape, parent, "revolute", axis, (0, 0, height), limits=(-2, 2))
    )
    parent, height = name, length
# Neighbors may touch; so may these two, which the short wrist keeps close together.
arm = bp.Articulated(links, allowed=[("forearm", "hand")])

# A table with boxes on it, and a rack; all of them prepared once.
random = np.random.default_rng(4)
places = random.uniform((-1.3, -1.3, 0.02), (1.3, 1.3, 0.02), (60, 3))
places = places[np.hypot(*places[:, :2].T) > 0.35]
sizes = random.uniform(0.06, 0.22, (len(places), 3))
places[:, 2] += sizes[:, 2] / 2
shapes = [bp.Box(sizes), bp.Box(0.1, 1.6, 0.04), bp.Box(0.1, 1.6, 0.04)]
centers = np.vstack([places, [(0.75, 0, 0.6), (0.75, 0, 1.0)]])
obstacles = bp.Obstacles(bp.Shapes(shapes, centers))

# %%
# One call for all configurations, and one for the clearance of the free ones.

low, high = arm.limits.T
q = random.uniform(low, high, (10_000, 6))
hit = arm.collides(q, obstacles)
room = arm.clearance(q[~hit], obstacles, max_distance=0.2)
print(f"{hit.mean():.0%} collide; {np.mean(room > 0.05):.0%} of the others have 5 cm")

# %%
# A planner connects free configurations by straight paths in joint space. Where does
# each path first touch something? No obstacle is missed, however thin it is.

free = q[~hit]
ways = free[:-1], free[1:]
share = arm.first_contact(*ways, obstacles)
print(f"{np.isinf(share).mean():.0%} of {len(share)} ways are free")

# %%
# The picture: thirty of the configurations, red if they collide; and one path, up to
# its first contact.


def draw_scene(axes):
    """Draw the table, and the obstacles as the boxes around them."""
    table = np.array([(-1.35, -1.35), (1.35, -1.35), (1.35, 1.35), (-1.35, 1.35)])
    top = Poly3DCollection([np.c_[table, [0] * 4]], color="#EEF1F3", zorder=-1)
    axes.add_collection3d(top)
    faces = np.array([[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6]])
    faces = np.vstack([faces, [[0, 2, 6, 4], [1, 3, 7, 5]]])
    for lower, upper in obstacles.shapes.boxes:
        corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)])
        corners = lower + corners * (upper - lower)
        axes.add_collection3d(
            Poly3DCollection(corners[faces], color="#9EC9E2", alpha=0.35, linewidth=0)
        )
    axes.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), zlim=(0, 1.6))
    axes.set_box_aspect((2.6, 2.6, 1.6), zoom=1.35)
    axes.view_init(24, -58)
    axes.set_axis_off()


def draw_arm(axes, q, colour, **options):
    """Draw the middles of the links, from the base to the tip."""
    positions, rotations = arm.poses(q)
    capsule = arm.placed(q)[len(links) - 1]
    tip = capsule.end  # of the hand, in its own frame
    w, x, y, z = rotations[-1]
    up = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    line = np.vstack([positions, positions[-1] + tip[2] * up])
    axes.plot(*line.T, color=colour, solid_capstyle="round", **options)


figure = plt.figure(figsize=(10, 5))
panels = [
    figure.add_subplot(1, 2, k + 1, projection="3d", computed_zorder=False)
    for k in range(2)
]
for row in range(30):
    colour = "#C0392B" if hit[row] else "#2B6C99"
    draw_arm(panels[0], q[row], colour, linewidth=2, alpha=0.8)
panels[0].set_title(f"{hit.mean():.0%} of the configurations collide", y=0.96)

row = np.flatnonzero((share > 0.5) & (share < 0.9))[1]
begin, end = ways[0][row], ways[1][row]
for part in np.linspace(0, 1, 12):
    at = begin + part * share[row] * (end - begin)
    draw_arm(panels[1], at, "#2B6C99", linewidth=2, alpha=0.2 + 0.6 * part)
contact = begin + share[row] * (end - begin)
draw_arm(panels[1], contact, "#C0392B", linewidth=3)
panels[1].set_title(f"first contact after {share[row]:.0%} of the way", y=0.96)
for axes in panels:
    draw_scene(axes)
plt.tight_layout()
plt.show()
