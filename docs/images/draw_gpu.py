"""Draw the picture of docs/gpu.md: boxes in Z order, and the nodes that the walk of one of them visits.

    python docs/images/draw_gpu.py               # gpu.svg beside this file

Needs the extras ``plot`` and ``gpu``; the tree is built on Warp's CPU device.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import warp as wp
from matplotlib import rcParams
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from broadphase.gpu.boxes import boxes_on
from broadphase.gpu.loading import load
from broadphase.gpu.tree import Keys, build
from broadphase.testing.draws import Draws

HERE = Path(__file__).resolve().parent
BLUE, DARK, RED, GREY = "#9EC9E2", "#2B6C99", "#C0392B", "#9AA3AB"


def tree_of(boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return corners, first children and followers of the nodes of a tree over boxes, and its leaves in order."""
    given = boxes_on(boxes, "boxes", "cpu")
    with given.place.running() as scratch:
        load(given.device, given.tree_kernels.module)
        counters = scratch.array("counters", 3, wp.int64)
        tree = build(given, 0.0, Keys(), scratch, "picture", counters=counters, checked=0)
        nodes = tree.nodes.numpy()[: 2 * len(boxes) - 1].copy()
        order = tree.order.numpy()[: len(boxes)].copy()
    links = nodes[:, 6:8].view(np.int32)  # of floats, as bits
    return nodes[:, [0, 1, 3, 4]], links[:, 0], links[:, 1], order


def walk(leaf: int, corners: np.ndarray, children: np.ndarray, follows: np.ndarray) -> list[tuple[int, bool]]:
    """Return the nodes that the walk of a leaf visits, and whether it goes into each."""
    inner = len(corners) // 2
    box, visited = corners[inner + leaf], []
    number = int(follows[inner + leaf])
    while number < len(corners):
        meets = bool((box[:2] <= corners[number, 2:]).all() and (corners[number, :2] <= box[2:]).all())
        visited.append((number, meets))
        number = int(children[number]) if meets and number < inner else int(follows[number])
    return visited


def draw() -> Figure:
    """Draw the order on the left, one walk on the right."""
    draws = Draws(5)
    centers = np.concatenate([draws.random((26, 2)), 0.55 + 0.16 * draws.random((14, 2))])
    half = 0.012 + 0.035 * draws.random((len(centers), 2))
    boxes = np.stack([centers - half, centers + half], axis=1).astype(np.float32)
    corners, children, follows, order = tree_of(boxes)
    inner = len(boxes) - 1
    own = max(range(len(boxes)), key=lambda leaf: len(walk(leaf, corners, children, follows)))
    figure = Figure(figsize=(8.0, 3.9))
    panels = [figure.add_axes(((k + 0.01) / 2, 0.0, 0.48, 1.0)) for k in range(2)]
    for panel in panels:
        panel.set_axis_off()
        panel.set_aspect("equal")
        panel.set_xlim(-0.08, 1.08)
        panel.set_ylim(-0.08, 1.08)
        for lower, upper in boxes:
            panel.add_patch(
                Rectangle(lower, *(upper - lower), facecolor=BLUE, edgecolor=DARK, linewidth=0.7, alpha=0.8)
            )
    path = boxes[order].mean(axis=1)
    panels[0].add_collection(
        LineCollection(np.stack([path[:-1], path[1:]], axis=1), array=np.arange(len(path) - 1), cmap="viridis")
    )
    box = corners[inner + own]
    for number, meets in walk(own, corners, children, follows):
        low, high = corners[number, :2], corners[number, 2:]
        look = (
            {"edgecolor": RED, "linewidth": 1.5} if meets else {"edgecolor": GREY, "linewidth": 1.1, "linestyle": "--"}
        )
        panels[1].add_patch(Rectangle(low, *(high - low), fill=False, zorder=2 + meets, **look))
    panels[1].add_patch(Rectangle(box[:2], *(box[2:] - box[:2]), facecolor=RED, edgecolor=RED, zorder=3))
    return figure


if __name__ == "__main__":
    rcParams["svg.hashsalt"] = "broadphase"
    draw().savefig(HERE / "gpu.svg", metadata={"Date": None})
