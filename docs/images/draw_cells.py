"""Draw what each method makes of one and the same scene: its cells, nodes or intervals.

    python docs/images/draw_cells.py                 # one SVG and one PNG for each method that is an index
    python docs/images/draw_cells.py bvh octree

Needs the extra ``plot``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps, rcParams
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

import broadphase as bp
from broadphase.testing.draws import Draws

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HERE = Path(__file__).resolve().parent
Boxes = np.ndarray[Any, Any]
BOX_FACE, BOX_EDGE = "#9EC9E2", "#2B6C99"
CELL_EDGE = "#C0392B"
DEEPEST_SHOWN = 9
TIMES_FOR_GRID = 40  # a grid leaves 300 boxes in one cell: its picture shows the cells of as many times more


def scene(times: int = 1) -> Boxes:
    """Make 300 boxes of a world of 100 by 60: three clusters, a thin spread over all, some large ones and a giant.

    With `times`, so many more boxes in the same manner, smaller as they are more.
    """
    draws, crowd, thin, few = Draws(5), 210 * times, 78 * times, 11 * times
    middles = np.array([[22.0, 42.0], [70.0, 18.0], [80.0, 46.0]])
    widths = np.array([6.0, 9.0, 3.5])
    chosen = draws.integers(0, 3, crowd)
    crowded = middles[chosen] + widths[chosen, None] * draws.normal((crowd, 2))
    spread = draws.random((thin, 2)) * [100.0, 60.0]
    large = draws.random((few, 2)) * [90.0, 52.0] + [5.0, 4.0]
    centers = np.concatenate([crowded, spread, large, [[45.0, 24.0]]])
    small, wide = 0.35 + 0.5 * draws.random((crowd + thin, 2)), 1.5 + 2.5 * draws.random((few, 2))
    halves = np.concatenate([small / times**0.5, wide / times**0.5, [[17.0, 11.0]]])
    centers = np.clip(centers, 0.5 + halves, np.array([99.5, 59.5]) - halves)
    return np.stack([centers - halves, centers + halves], axis=1)


def corners(lower: Boxes, upper: Boxes) -> Boxes:
    """Give the four corners of each box, in turn."""
    (x0, y0), (x1, y1) = lower.T, upper.T
    return np.stack([np.stack(corner, axis=1) for corner in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))], axis=1)


def draw_boxes(panel: Axes, boxes: Boxes) -> None:
    """Draw the boxes, large ones below."""
    order = np.argsort(-(boxes[:, 1] - boxes[:, 0]).prod(axis=1), kind="stable")
    faces = PolyCollection(corners(boxes[order, 0], boxes[order, 1]), facecolors=BOX_FACE, edgecolors=BOX_EDGE)
    faces.set(linewidth=0.6, alpha=0.75)
    panel.add_collection(faces)


def draw_outline(panel: Axes, outline: bp.index.Outline) -> None:
    """Draw cells or nodes, the deeper the thinner and the lighter; infinite ones as far as the picture goes."""
    lower, upper = np.maximum(outline.lower, [-1.0, -1.0]), np.minimum(outline.upper, [101.0, 61.0])
    levels = np.minimum(outline.level, DEEPEST_SHOWN)
    deepest = max(1, int(levels.max(initial=0)))
    for level in np.unique(levels)[::-1]:
        depth = level / deepest
        at = levels == level
        cells = PolyCollection(corners(lower[at], upper[at]), facecolors="none")
        cells.set(edgecolor=colormaps["inferno"](0.12 + 0.62 * depth), linewidth=1.9 - 1.2 * depth)
        panel.add_collection(cells)


def draw_sweep(panel: Axes, boxes: Boxes, index: bp.SweepAndPrune) -> None:
    """Draw each box's interval below the scene, along the axis that the sweep is along."""
    axis = index.axis or 0
    order = np.argsort(boxes[:, 0, axis], kind="stable")
    heights = -3.0 - 12.0 * np.arange(len(boxes)) / len(boxes)
    places = np.zeros((len(boxes), 2, 2))
    places[:, :, axis] = boxes[order, :, axis]
    places[:, :, 1 - axis] = heights[:, None]
    panel.add_collection(LineCollection(list(places), colors=CELL_EDGE, linewidths=0.7))
    for begin, end in index.void_borders:
        panel.axvspan(begin, end, color="0.9", zorder=0)


def draw(name: str, class_name: str, boxes: Boxes) -> None:
    """Draw one method and write its pictures."""
    times = TIMES_FOR_GRID if name == "grid" else 1
    index = getattr(bp, class_name)(scene(times) if times > 1 else boxes)
    index.pairs()
    figure = Figure(figsize=(8.0, 5.2), layout="constrained")
    panel = figure.subplots()
    draw_boxes(panel, boxes)
    bottom = -1.5
    if name == "sweep_and_prune":
        draw_sweep(panel, boxes, index)
        bottom = -16.0
        figure.set_size_inches(8.0, 6.2)
        note = "below: the interval of each box along the axis, in the order of the sweep"
    else:
        outline = index.outline()
        draw_outline(panel, outline)
        levels = int(outline.level.max()) + 1
        word = "nodes" if name == "bvh" else "cells"
        note = f"{len(outline.level):,} {word}" + (f" on {levels} levels" if levels > 1 else "")
    panel.set(xlim=(-1.5, 101.5), ylim=(bottom, 61.5))
    panel.set_aspect("equal")
    panel.set_axis_off()
    title = next(row.title for row in bp.METHODS if row.name == name)
    shown = "" if times == 1 else f" ({len(boxes)} such boxes are drawn)"
    panel.set_title(f"{title}: {len(index):,} boxes, {note}{shown}", loc="left", fontsize=10)
    figure.savefig(HERE / f"cells_{name}.svg", metadata={"Date": None})
    figure.savefig(HERE / f"cells_{name}.png", dpi=130)


def main() -> None:
    """Draw every method that is an index, or those that are named."""
    known = {row.name: row.index_class for row in bp.METHODS if row.index_class and row.name != "brute_force"}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", metavar="METHOD", help=f"of {', '.join(known)}; by default all")
    rcParams["svg.hashsalt"] = "broadphase"  # the same picture gives the same file
    boxes = scene()
    for name in parser.parse_args().methods or known:
        draw(name, known[name], boxes)


if __name__ == "__main__":
    main()
