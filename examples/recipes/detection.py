"""
Detection: the best box of each object
======================================

A detector proposes many boxes for each object, with a score for each. ``bp.nms`` keeps
the best of overlapping boxes, for all classes and images of a batch in one call. See
:doc:`/detections`.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection

import broadphase as bp

random = np.random.default_rng(6)
objects = np.concatenate(
    [random.uniform([40, 40], [600, 420], (14, 2)), random.uniform(40, 110, (14, 2))],
    axis=1,
)
kinds = random.integers(0, 2, 14)  # two classes, such as cars and people
of = np.repeat(np.arange(14), 40)
proposals = objects[of] + random.normal(0, 6, (len(of), 4))
quality = bp.iou(
    bp.boxes.from_xywh(proposals),
    bp.boxes.from_xywh(objects),
    pairs=np.stack([np.arange(len(of)), of], axis=1),
)
scores = np.clip(quality + random.normal(0, 0.05, len(of)), 0, 1)
boxes = bp.boxes.from_xywh(proposals)

# %%
# Boxes of different classes do not suppress each other: ``batch`` is the class, or
# image and class in one number.

kept = bp.nms(boxes, scores, threshold=0.3, batch=kinds[of])
kept = kept[scores[kept] > 0.5]
print(f"{len(boxes)} proposals, {len(kept)} kept, for {len(objects)} objects")

# %%


def corners(rows):
    """Return the four corners of boxes, for drawing."""
    lower, upper = bp.boxes.as_corners(boxes[rows])
    return np.stack(
        [
            lower,
            np.stack([upper[:, 0], lower[:, 1]], 1),
            upper,
            np.stack([lower[:, 0], upper[:, 1]], 1),
        ],
        axis=1,
    )


figure, panels = plt.subplots(
    1, 2, figsize=(10, 4), layout="constrained", sharex=True, sharey=True
)
for panel, rows, title in zip(
    panels, (np.arange(len(boxes)), kept), ("proposals", "kept"), strict=True
):
    colours = np.where(
        kinds[of[rows]][:, np.newaxis] == 1, (0.75, 0.22, 0.17, 1), (0.17, 0.42, 0.6, 1)
    )
    colours[:, 3] = 0.25 if title == "proposals" else 1
    panel.add_collection(
        PolyCollection(corners(rows), facecolors="none", edgecolors=colours)
    )
    panel.set(
        xlim=(0, 720),
        ylim=(540, 0),
        aspect="equal",
        xticks=[],
        yticks=[],
        title=f"{len(rows)} {title}",
    )
for row in kept:
    panels[1].text(
        *boxes[row].reshape(-1)[:2], f"{scores[row]:.2f}", fontsize=7, va="bottom"
    )
plt.show()

# %%
# Boxes with an angle
# -------------------
#
# Ships at a quay, seen from above: rotated boxes overlap less than axis-aligned boxes
# around them.

along = np.arange(8.0)
ships = np.stack(
    [
        120 + 44 * along,
        100 + 12 * along,
        0 * along + 160,
        0 * along + 34,
        0 * along + 125,
    ],
    axis=1,
)
of = np.repeat(np.arange(8), 15)
proposals = ships[of] + random.normal(0, 1, (len(of), 5)) * [4, 4, 8, 3, 2]
scores = random.random(len(of))
kept = bp.nms(proposals, scores, threshold=0.3, form="cxcywhr", degrees=True)

turn = np.radians(proposals[:, 4])
half = proposals[:, 2:4] / 2
reach = np.abs(np.cos(turn))[:, np.newaxis] * half
reach += np.abs(np.sin(turn))[:, np.newaxis] * half[:, ::-1]
enclosing = bp.boxes.from_centers(proposals[:, :2], reach)
by_enclosing = bp.nms(enclosing, scores, threshold=0.3)
print(f"{len(kept)} kept for 8 ships; {len(by_enclosing)} by the boxes around them")

# %%
figure, panels = plt.subplots(
    1, 2, figsize=(10, 3.2), layout="constrained", sharex=True, sharey=True
)
for panel, rows in zip(panels, (np.arange(len(of)), kept), strict=True):
    along = np.stack([np.cos(turn), np.sin(turn)], axis=1)[rows] * half[rows, :1]
    across = np.stack([-np.sin(turn), np.cos(turn)], axis=1)[rows] * half[rows, 1:]
    center = proposals[rows, :2]
    outlines = np.stack(
        [
            center - along - across,
            center + along - across,
            center + along + across,
            center - along + across,
        ],
        axis=1,
    )
    panel.add_collection(
        PolyCollection(outlines, facecolors="none", edgecolors="#2b6c99")
    )
    panel.set(xlim=(0, 560), ylim=(290, 0), aspect="equal", xticks=[], yticks=[])
    panel.set_title(f"{len(rows)} boxes")
plt.show()
