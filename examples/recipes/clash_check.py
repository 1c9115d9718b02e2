"""
A clash check: pipes, beams and a duct
======================================

Building services run through the same space as the structure. ``bp.clashes`` finds
parts that penetrate each other, that touch and that are nearer than a clearance. Meshes
from files work the same way: ``broadphase clash building.glb --clearance 0.05 -o
clashes.html``, see :doc:`/clashes`.
"""

import matplotlib.pyplot as plt
import numpy as np

import broadphase as bp

random = np.random.default_rng(2)
names, shapes, positions = [], [], []


def part(name, shape, position):
    """Add one part, in metres."""
    names.append(name)
    shapes.append(shape)
    positions.append(position)


for k in range(5):  # the structure: beams, and columns below them
    part(f"beam {k}", bp.Box(0.3, 8.0, 0.5), [2.5 * k, 4.0, 2.75])
    part(f"column {k}", bp.Box(0.3, 0.3, 2.5), [2.5 * k, 0.15, 1.25])
# The duct just fits under the beams: its upper side is at 2.45 of 2.5.
part("duct", bp.Box(10.5, 0.8, 0.4), [5.0, 3.0, 2.25])
pipe = bp.Capsule((-5.5, 0, 0), (5.5, 0, 0), 0.06)
for k in range(12):  # pipes along the hall, at uncoordinated heights
    part(f"pipe {k}", pipe, [5.0, 0.6 + 0.6 * k, random.uniform(1.9, 3.0)])
part("sprinkler", bp.Sphere(0.09), [6.2, 3.1, 2.30])

# %%
# All clashes in one call: 5 cm of clearance, and a millimetre of tolerance.

parts = bp.Shapes(shapes, positions)
found = bp.clashes(parts, clearance=0.05, tolerance=0.001)
print(found.counts())
for row in range(8):
    first, second = (names[part] for part in found.pairs[row])
    gap, depth = found.gaps[row], found.depths[row]
    how = f"{gap:.3f} m apart" if np.isnan(depth) else f"{depth:.3f} m deep"
    print(f"{first:10} {second:10} {found.kinds[row]:11} {how}")

# %%
# The picture: parts that are in a hard clash are red.

is_hard = np.isin(found.kinds, ["duplicate", "penetrates", "contains"])
hard = np.unique(found.pairs[is_hard])
clean = np.setdiff1d(np.arange(len(names)), hard)
figure = plt.figure(figsize=(8, 5))
axes = figure.add_subplot(projection="3d")
for rows, colour in ((clean, "#9EC9E2"), (hard, "#C0392B")):
    for row in rows:
        lower, upper = parts.boxes[row]
        size = upper - lower
        axes.bar3d(*lower, *size, color=colour, alpha=0.55, shade=True, linewidth=0)
axes.set_box_aspect((10.5, 8, 3), zoom=1.3)
axes.view_init(24, -62)
axes.set(
    xlabel="m",
    ylabel="m",
    zlabel="m",
    title=f"{len(found.pairs)} clashes, {len(hard)} parts",
)
plt.show()
