"""Draw the pictures of docs/neighbors.md, docs/batches.md, docs/detections.md, docs/joins.md and docs/world.md.

    python docs/images/draw_recipes.py               # neighbors.svg, batches.svg ... beside this file

Needs the extras ``plot`` and ``io``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from matplotlib import rcParams
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon, Rectangle

import broadphase as bp
from broadphase.testing.draws import Draws

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HERE = Path(__file__).resolve().parent
BLUE, DARK, RED, PALE = "#9EC9E2", "#2B6C99", "#C0392B", "#C8CDD2"


def panels(count: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Make a row of empty panels of equal size."""
    figure = Figure(figsize=(width, height))
    axes = [figure.add_axes(((k + 0.01) / count, 0.0, 0.98 / count, 1.0)) for k in range(count)]
    for panel in axes:
        panel.set_axis_off()
        panel.set_aspect("equal")
    return figure, axes


def draw_neighbors() -> Figure:
    """Draw a skewed periodic cell, its images, and the neighbors of three points with the images that are near."""
    cell, cutoff = np.array([[10.0, 0.0], [3.0, 7.0]]), 1.9
    fractions = Draws(14).random((34, 2))
    chosen = [int(np.argmin(np.abs(fractions - near).sum(axis=1))) for near in ((0.45, 0.5), (0.0, 0.3), (0.95, 0.97))]
    points = fractions @ cell
    nb = bp.neighbors(points, cutoff, cell=cell, full=True, vectors=True)
    figure, [panel] = panels(1, 8.0, 4.2)
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            shift = np.array([i, j]) @ cell
            corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) @ cell + shift
            inside = i == j == 0
            panel.add_patch(Polygon(corners, fill=False, edgecolor=DARK if inside else PALE, zorder=2 if inside else 1))
            panel.scatter(*(points + shift).T, s=18, color=DARK if inside else PALE, zorder=3)
    assert nb.offsets is not None
    assert nb.vectors is not None
    for point in chosen:
        ways = nb.vectors[nb.offsets[point] : nb.offsets[point + 1]]
        lines = [(points[point], points[point] + way) for way in ways]
        panel.add_patch(Circle(points[point], cutoff, facecolor=BLUE, alpha=0.35, edgecolor="none", zorder=0))
        panel.add_collection(LineCollection(lines, colors=RED, linewidths=1.3, zorder=2.5))
        panel.scatter(*points[point], s=34, color=RED, zorder=4)
    panel.set_xlim(-3.2, 16.2)
    panel.set_ylim(-2.4, 9.4)
    return figure


def draw_batches() -> Figure:
    """Draw 12 scenes over one another, and side by side with the pairs of each."""
    scenes, each, size = 12, 9, 0.17
    draws = Draws(9)
    places = draws.random((scenes, each, 2)) * 0.86 + 0.07
    lower = places - size / 2
    boxes = np.stack([lower, lower + size], axis=2)
    pairs = bp.pairs(boxes)
    overlapping = np.zeros(scenes * each, bool)
    overlapping[pairs.ravel()] = True
    figure = Figure(figsize=(8.0, 2.9))
    together, apart = figure.add_axes((0.005, 0.02, 0.33, 0.96)), figure.add_axes((0.37, 0.02, 0.625, 0.96))
    for panel in (together, apart):
        panel.set_axis_off()
        panel.set_aspect("equal")
    together.add_patch(Rectangle((0, 0), 1, 1, fill=False, edgecolor=PALE))
    for row, corner in enumerate(lower.reshape(-1, 2)):
        scene = row // each
        place = np.array([scene % 4 * 1.08, scene // 4 * 1.08])
        face = RED if overlapping[row] else BLUE
        together.add_patch(Rectangle(corner, size, size, facecolor=BLUE, edgecolor=DARK, alpha=0.5, linewidth=0.7))
        apart.add_patch(
            Rectangle(corner + place, size, size, facecolor=face, edgecolor=DARK, alpha=0.75, linewidth=0.7)
        )
        if row % each == 0:
            apart.add_patch(Rectangle(place, 1, 1, fill=False, edgecolor=PALE))
    together.set_xlim(-0.02, 1.02)
    together.set_ylim(-0.02, 1.02)
    apart.set_xlim(-0.02, 4.26)
    apart.set_ylim(-0.02, 3.18)
    return figure


def draw_detections() -> Figure:
    """Draw what a detector proposes for six objects, and what `nms` keeps."""
    draws = Draws(2)
    objects = np.array([[1.2, 1.4, 1.5, 2.0], [3.4, 3.5, 2.0, 1.3], [4.1, 1.2, 1.1, 1.5], [6.6, 2.2, 1.6, 3.0]])
    objects = np.concatenate([objects, [[1.3, 4.1, 1.5, 0.9], [6.0, 4.6, 1.2, 0.7]]])
    sizes = np.repeat(objects[:, 2:], 9, axis=0)
    middle = np.repeat(objects[:, :2], 9, axis=0) + 0.07 * sizes * draws.normal((54, 2))
    half = sizes / 2 * (1 + 0.08 * draws.normal((54, 2)))
    boxes = np.stack([middle - half, middle + half], axis=1)
    scores = 0.3 + 0.7 * draws.random(54)
    kept = bp.nms(boxes, scores, threshold=0.4)
    figure, [before, after] = panels(2, 8.0, 2.8)
    for panel, rows in ((before, np.arange(54)), (after, kept)):
        panel.add_collection(
            EllipseCollection(
                *(objects[:, 2:] * 0.92).T,
                np.zeros(6),
                offsets=objects[:, :2],
                units="xy",
                color=PALE,
                offset_transform=panel.transData,
            )
        )
        for row in rows:
            lower, upper = boxes[row]
            best = row in kept
            style = {"edgecolor": RED if best else DARK, "linewidth": 1.6 if best else 0.7, "zorder": 3 if best else 2}
            panel.add_patch(Rectangle(lower, *(upper - lower), fill=False, **style))
        for row in kept:
            panel.text(*(boxes[row, 0] + 0.06), f"{scores[row]:.2f}", color=RED, fontsize=7, zorder=4)
        panel.set_xlim(0.0, 7.8)
        panel.set_ylim(-0.1, 5.3)
    return figure


def draw_rotated_detections() -> Figure:
    """Draw what a detector proposes for two rows of ships at a quay, and what `nms` keeps with and without angles."""
    draws = Draws(5)
    along = np.arange(7.0)
    ships = np.concatenate(
        [
            np.column_stack(
                [0.9 + 0.78 * along, 1.3 + 0.26 * along, np.full(7, 2.2), np.full(7, 0.5), np.full(7, -65)]
            ),
            np.column_stack(
                [0.7 + 0.84 * along, 3.55 + 0.2 * along, np.full(7, 1.7), np.full(7, 0.45), np.full(7, 55.0)]
            ),
        ]
    )
    of = np.repeat(np.arange(14), 6)
    noise = draws.normal((84, 5)) * [0.05, 0.05, 0.12, 0.04, 3.0]
    boxes, scores = ships[of] + noise, 0.3 + 0.7 * draws.random(84)
    cosine, sine = (np.abs(turn(np.radians(boxes[:, 4]))) for turn in (np.cos, np.sin))
    reach = np.column_stack([cosine * boxes[:, 2] + sine * boxes[:, 3], sine * boxes[:, 2] + cosine * boxes[:, 3]]) / 2
    enclosing = np.stack([boxes[:, :2] - reach, boxes[:, :2] + reach], axis=1)
    kept = bp.nms(boxes, scores, threshold=0.2, form="cxcywhr", degrees=True)
    by_enclosing = bp.nms(enclosing, scores, threshold=0.2)
    figure, axes = panels(3, 9.0, 2.7)
    titles = ("84 proposals", f"with angles: {len(kept)} kept", f"by enclosing boxes: {len(by_enclosing)} kept")
    for panel, rows, title in zip(axes, (np.arange(84), kept, by_enclosing), titles, strict=True):
        for ship in ships:
            panel.add_patch(rectangle(ship, facecolor=PALE, edgecolor="none"))
        for row in rows:
            best = panel is not axes[0]
            panel.add_patch(
                rectangle(boxes[row], fill=False, edgecolor=RED if best else DARK, linewidth=1.4 if best else 0.6)
            )
            if panel is axes[2]:
                lower, upper = enclosing[row]
                panel.add_patch(
                    Rectangle(lower, *(upper - lower), fill=False, edgecolor=DARK, linewidth=0.7, linestyle=":")
                )
        panel.text(0.05, 5.35, title, fontsize=8, va="bottom")
        panel.set_xlim(-0.3, 6.7)
        panel.set_ylim(-0.1, 5.75)
    return figure


def rectangle(box: np.ndarray, **style: object) -> Rectangle:
    """Return a patch for center, sizes and angle in degrees."""
    x, y, width, height, angle = box
    corner = (x - width / 2, y - height / 2)
    return Rectangle(corner, width, height, angle=angle, rotation_point="center", **style)


def draw_joins() -> Figure:
    """Draw genes and reads on two chromosomes, and the pairs of them that `join` finds."""
    draws = Draws(5)
    tables = {}
    for name, count, shortest, longest in (("genes", 6, 8.0, 16.0), ("reads", 12, 2.0, 6.0)):
        start = np.floor(draws.random(count) * 84)
        size = np.floor(shortest + draws.random(count) * (longest - shortest))
        tables[name] = pa.table({"chrom": np.arange(count) % 2, "start": start, "end": start + size})
    genes, reads = tables["genes"], tables["reads"]
    hits = bp.join(genes, reads, lower="start", upper="end", by="chrom", closed="left").to_pydict()
    figure = Figure(figsize=(8.0, 3.0))
    panel = figure.add_axes((0.08, 0.0, 0.92, 1.0))
    panel.set_axis_off()
    for chrom in range(2):
        floor = -9.0 * chrom
        panel.text(-1, floor + 1.0, f"chr {chrom + 1}", ha="right", va="center", fontsize=9, color=DARK)
        if chrom == 0:
            for what, height in (("genes", 3.3), ("reads", 0.8), ("pairs", -1.2)):
                panel.text(101, height, what, ha="right", va="center", fontsize=9, color=DARK)
        for table, height, color in ((genes, 2.0, BLUE), (reads, 0.0, PALE)):
            rows = [row for row in table.to_pylist() if row["chrom"] == chrom]
            for level, row in enumerate(sorted(rows, key=lambda one: one["start"])):
                place = (row["start"], floor + height + 0.9 * (level % 2))
                size = row["end"] - row["start"]
                panel.add_patch(Rectangle(place, size, 0.7, facecolor=color, edgecolor=DARK, linewidth=0.7))
        level = 0
        for row, own in enumerate(hits["chrom"]):
            if own != chrom:
                continue
            low = max(hits["start"][row], hits["start_right"][row])
            high = min(hits["end"][row], hits["end_right"][row])
            panel.plot(
                [low, high], [floor - 1.0 - 0.6 * (level % 3)] * 2, color=RED, linewidth=3, solid_capstyle="butt"
            )
            for side in ("", "_right"):
                ends = [hits[f"start{side}"][row], hits[f"end{side}"][row]]
                panel.plot(ends, [floor - 1.0 - 0.6 * (level % 3)] * 2, color=RED, linewidth=0.7)
            level += 1
    panel.set_xlim(-1.0, 101.0)
    panel.set_ylim(-12.0, 4.2)
    return figure


def draw_lidar() -> Figure:
    """Draw two robots among crates, discs and capsules, the beams of their lidars, and what these hit."""
    world = bp.World(dim=2)
    robots = world.add_many(bp.Circle(0.28), [[2.3, 2.2], [7.4, 2.6]], rotations=[0.35, 2.7], layer="robot")
    for shape, place, turn in (
        (bp.Rectangle(1.1, 0.8), (4.6, 1.1), 0.4),
        (bp.Rectangle(0.6, 1.7), (5.3, 3.5), -0.3),
        (bp.Circle(0.5), (3.1, 4.1), 0.0),
        (bp.Circle(0.35), (6.1, 1.9), 0.0),
        (bp.Capsule((-0.6, 0), (0.6, 0), 0.25), (0.9, 3.6), 1.0),
        (bp.Capsule((-0.5, 0), (0.5, 0), 0.2), (8.6, 4.3), -0.5),
        (bp.Triangle([[0, 0], [1.3, 0], [0.3, 1.0]]), (6.6, 0.1), 0.2),
        (bp.Rectangle(1.6, 0.5), (1.6, 0.6), 0.0),
    ):
        world.add(shape, position=place, rotation=turn, body_type="static")
    fan, reach = np.linspace(-2.2, 2.2, 45), 4.2
    scan = world.lidar(robots, fan, max_distance=reach)
    figure, [panel] = panels(1, 8.0, 4.1)
    bp.plot(world.shapes, ax=panel, pairs=False)
    for row, distances in zip(robots, scan.distances, strict=True):
        angles = world.rotations[row] + fan
        ways = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        place = world.positions[row]
        ends = place + np.minimum(distances, reach)[:, np.newaxis] * ways
        hit = np.isfinite(distances)
        panel.add_collection(LineCollection([(place, end) for end in ends[~hit]], colors=PALE, linewidths=0.6))
        panel.add_collection(LineCollection([(place, end) for end in ends[hit]], colors=RED, linewidths=0.6, alpha=0.6))
        panel.scatter(*ends[hit].T, s=9, color=RED, zorder=4)
    panel.set_axis_off()
    panel.set_xlim(0.0, 9.8)
    panel.set_ylim(-0.1, 5.0)
    return figure


if __name__ == "__main__":
    rcParams["svg.hashsalt"] = "broadphase"  # the same file every time
    for draw in (draw_neighbors, draw_batches, draw_detections, draw_rotated_detections, draw_joins, draw_lidar):
        draw().savefig(HERE / f"{draw.__name__.removeprefix('draw_')}.svg", metadata={"Date": None})
