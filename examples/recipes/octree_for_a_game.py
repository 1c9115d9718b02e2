"""
An octree for a game: a forest, a flock and a camera
====================================================

In a game, most bodies rest, some move, and a few are added and removed. Every frame
asks what the camera sees, what is ahead, what is near and what touches. ``bp.Octree``
keeps boxes by row, updates only those that moved, and answers many queries in one call.
See :doc:`/methods/octree` for how it works, and :doc:`/world` for bodies with shapes
and events.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

import broadphase as bp

random = np.random.default_rng(2)
trees, birds, edge = 20_000, 1_500, 1000.0


def boxes_around(places, sizes):
    """Return boxes, shape (n, 6), by their centers and their sizes."""
    return np.concatenate([places - sizes / 2, places + sizes / 2], axis=1)


# %%
# A forest in clumps, and a flock above it. ``layer=`` marks trees and birds by bits, so
# that a query can find only one of them.

TREE, BIRD = 1, 2
clumps = random.uniform(0, edge, (60, 2))
ground = clumps[random.integers(60, size=trees)] + random.normal(0, 35, (trees, 2))
height = random.uniform(5, 25, trees)
forest = boxes_around(
    np.column_stack([ground, height / 2]),
    np.column_stack([0.4 * height, 0.4 * height, height]),
)
places = random.uniform([0, 0, 10], [edge, edge, 60], (birds, 3))
ways = random.normal(0, 12, (birds, 3)) * [1, 1, 0.1]
octree = bp.Octree(
    np.concatenate([forest, boxes_around(places, 1.5)]),
    layer=np.repeat([TREE, BIRD], [trees, birds]),
    minimum=2.0,
)
flock = octree.rows[trees:]

# %%
# A frame: the birds move, and only their rows are updated. Then each query of the frame
# is one call. Trees are static: two of them are never a pair.

projection = bp.cameras.perspective(np.radians(60), 16 / 9, 1, 450)
seconds = {"move": 0.0, "see": 0.0, "touch": 0.0, "near": 0.0, "ahead": 0.0}
eye, gaze = np.array([120.0, 100.0, 45.0]), np.array([1, 0.9, -0.12])
frames, felled, is_tree = 120, 0, np.arange(trees + birds) < trees


def timed(name, call, *given, **options):
    """Return what the call returns, and add its time."""
    begin = perf_counter()
    result = call(*given, **options)
    seconds[name] += perf_counter() - begin
    return result


for number in range(frames):
    camera = projection @ bp.cameras.look_at(eye, eye + gaze, up=[0, 0, 1])
    places += ways / 60
    timed("move", octree.move, flock, boxes_around(places, 1.5))
    seen = timed("see", octree.frustum, camera)
    touching = timed("touch", octree.pairs, static=is_tree)
    near = timed("near", octree.nearest, rows=flock, k=3, mask=BIRD)
    ahead = timed("ahead", octree.raycast, eye, gaze, mask=TREE)
    if number % 30 == 29 and ahead.rows >= 0:  # the tree in the middle is cut down
        octree.remove(ahead.rows)
        felled += 1
    eye += [1.2, 1.0, 0]
print(f"{len(octree):,} boxes, {len(seen):,} in view, {felled} trees felled")
print(f"{len(touching)} pairs of birds, or of a bird and a tree")
for name, value in seconds.items():
    print(f"{name:5} {1e3 * value / frames:6.3f} ms a frame")

# %%
# From above: what the camera sees, and the cells of the tree. Empty space has no cells.

lower, upper, level = octree.outline()
middle = octree.boxes_of(octree.rows).reshape(-1, 2, 3).mean(axis=1)
is_seen = np.isin(octree.rows, seen)
figure, axes = plt.subplots(figsize=(7.5, 7), layout="constrained")
for low, high in zip(lower[level < 7, :2], upper[level < 7, :2], strict=True):
    axes.add_patch(plt.Rectangle(low, *(high - low), fill=False, lw=0.3, ec="#B8BEC6"))
axes.scatter(*middle[~is_seen, :2].T, s=1, color="#9DB8A0", label="out of view")
axes.scatter(*middle[is_seen, :2].T, s=2, color="#1E7A3C", label="in view")
axes.scatter(*places[:, :2].T, s=2, color="#2B6C99", label="birds")
axes.scatter(*eye[:2], marker="*", s=30, color="#C0392B", label="camera", zorder=3)
axes.set(xlim=(0, edge), ylim=(0, edge), aspect="equal")
axes.legend(loc="upper left", markerscale=2.5)
axes.set_title(f"{len(seen):,} of {len(octree):,} boxes in view")
plt.show()
