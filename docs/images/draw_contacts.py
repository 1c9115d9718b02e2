"""Draw shapes of every kind in the plane that fell on a heap: their contacts, with normals and points.

    python docs/images/draw_contacts.py              # contacts.svg beside this file

Needs the extra ``plot``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import rcParams
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon

import broadphase as bp
from broadphase.testing.draws import Draws
from broadphase.testing.shape_oracle import parts_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HERE = Path(__file__).resolve().parent
FACE, EDGE, ALONE, CONTACT = "#9EC9E2", "#2B6C99", "#E4EBF0", "#C0392B"


def shapes_of_every_kind() -> list[bp.Shape]:
    """Make one of each, some two units large."""
    hexagon = [[np.cos(turn), 0.7 * np.sin(turn)] for turn in np.arange(6) * np.pi / 3]
    return [
        bp.Circle(0.8),
        bp.Capsule((-0.9, 0), (0.9, 0), 0.4),
        bp.Rectangle(1.7, 1.2),
        bp.OrientedBox((2.2, 0.9)),
        bp.Triangle([[-1, -0.7], [1, -0.7], [0, 1]]),
        bp.ConvexPolygon(hexagon),
        bp.Segment((-1.1, 0), (1.1, 0)),
        bp.Compound([bp.OrientedBox((0.3, 1.8)), bp.OrientedBox((1.5, 0.6), offset=(0, 0.8))]),
        bp.Point(),
    ]


def heap(rows: int = 5, columns: int = 11) -> tuple[list[bp.Shape], bp.Shapes]:
    """Put shapes of all kinds on a lattice that is too narrow for them, turned at random."""
    draws, kinds = Draws(3), shapes_of_every_kind()
    shapes = [kinds[(3 * row + 4 * column) % len(kinds)] for row in range(rows) for column in range(columns)]
    places = np.array([[1.55 * column, 1.5 * row] for row in range(rows) for column in range(columns)])
    places = places + 0.45 * draws.normal(places.shape)
    return shapes, bp.Shapes(shapes, places, 7.0 * draws.random(len(places)))


def draw_shape(panel: Axes, shape: bp.Shape, place: np.ndarray, turn: float, touches: bool) -> None:
    """Draw all parts: the hull of their corners, and all within a radius of it."""
    look = {"facecolor": FACE if touches else ALONE, "edgecolor": EDGE, "linewidth": 0.9, "alpha": 0.8, "zorder": 1}
    for points, radius in parts_of(shape, place, turn):
        if radius > 0 and len(points) == 2:
            along = points[1] - points[0]
            start = np.arctan2(along[1], along[0]) + np.pi / 2
            arcs = np.concatenate([start + np.linspace(0, np.pi, 24), start + np.pi + np.linspace(0, np.pi, 24)])
            middles = np.repeat(points, 24, axis=0)
            panel.add_patch(Polygon(middles + radius * np.stack([np.cos(arcs), np.sin(arcs)], axis=1), **look))
        elif radius > 0:
            panel.add_patch(Circle(tuple(points[0]), radius, **look))
        elif len(points) > 2:
            middle = points.mean(axis=0)
            order = np.argsort(np.arctan2(*(points - middle).T[::-1]))
            panel.add_patch(Polygon(points[order], **look))
        else:
            panel.plot(*points.T, color=EDGE, linewidth=1.6, marker="o", markersize=2.5, zorder=1)


def draw(path: Path) -> None:
    """Draw the heap, and what `contacts` says of it."""
    shapes, placed = heap()
    found = bp.contacts(placed)
    figure = Figure(figsize=(10, 4.6))
    panel = figure.add_axes((0.01, 0.01, 0.98, 0.98))
    touching = set(found.pairs.ravel().tolist())
    for row, shape in enumerate(shapes):
        draw_shape(panel, shape, placed.positions[row], float(placed.rotations[row]), row in touching)
    deepest = found.points[:, 0]
    reach = np.maximum(found.depths, 0.3)[:, np.newaxis] * found.normals / 2
    panel.add_collection(LineCollection(np.stack([deepest - reach, deepest + reach], axis=1), color=CONTACT, zorder=2))
    panel.scatter(*found.points.reshape(-1, 2).T, s=11, color=CONTACT, zorder=3)
    panel.set_aspect("equal")
    panel.set_axis_off()
    panel.autoscale_view()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    rcParams["svg.hashsalt"] = "broadphase"  # the same file every time
    draw(HERE / "contacts.svg")
