"""Draw the picture of the README: the boxes of all US counties and their pairs, and the speed against other libraries.

    PYTHONPATH=. python docs/images/draw_overview.py

The speed comes from ``benchmarks/results/pairs.json``, which ``make bench`` writes. Needs the extra ``plot``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.pairs import from_json
from benchmarks.plots import draw_scene
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

import broadphase as bp
from broadphase.data import load

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "benchmarks" / "results" / "pairs.json"
CONTIGUOUS = (-125.5, 24.0, -66.5, 50.0)  # degrees: west, south, east, north


def corners(boxes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Give the four corners of each box, in turn."""
    (x0, y0), (x1, y1) = boxes[:, 0].T, boxes[:, 1].T
    return np.stack([np.stack(corner, axis=1) for corner in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))], axis=1)


def draw_counties(panel: Axes, boxes: np.ndarray[Any, Any], pairs: np.ndarray[Any, Any]) -> PolyCollection:
    """Draw the boxes, each in the colour of how many others it overlaps."""
    degrees = np.bincount(pairs.ravel(), minlength=len(boxes))
    order = np.argsort(-(boxes[:, 1] - boxes[:, 0]).prod(axis=1))  # small ones on top
    faces = PolyCollection(
        corners(boxes[order]), array=degrees[order], cmap="viridis", linewidths=0.25, edgecolors="white"
    )
    faces.set(alpha=0.9, clim=(0, 12))
    panel.add_collection(faces)
    west, south, east, north = CONTIGUOUS
    panel.set(xlim=(west, east), ylim=(south, north), xticks=[], yticks=[])
    panel.set_aspect(1 / np.cos(np.radians((south + north) / 2)))
    return faces


def main() -> None:
    """Draw both halves and write the picture."""
    boxes = load("us_counties")
    pairs = bp.pairs(boxes)
    figure = Figure(figsize=(12.6, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))

    faces = draw_counties(left, boxes, pairs)
    left.set_title(f"US counties: {len(boxes):,} boxes, {len(pairs):,} overlapping pairs", loc="left", fontsize=11)
    left.set_axis_off()
    bar = figure.colorbar(faces, cax=left.inset_axes((0.02, 0.11, 0.26, 0.025)), orientation="horizontal")
    bar.set_label("others that a box overlaps", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)

    comparison = from_json(json.loads(RESULTS.read_text()))
    draw_scene(right, comparison, "rects")
    largest = max(outcome.box_count for outcome in comparison.outcomes)
    right.set_title(f"All pairs of up to {largest:,} rectangles, one thread", loc="left", fontsize=11)
    right.text(
        1.0, 0.01, comparison.machine["processor"], transform=right.transAxes, ha="right", fontsize=7, color="0.4"
    )
    figure.savefig(HERE / "overview.png", dpi=160)


if __name__ == "__main__":
    main()
