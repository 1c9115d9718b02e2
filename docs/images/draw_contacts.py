"""Draw overlapping shapes of every type in the plane: their contacts, with normals and points.

    python docs/images/draw_contacts.py              # contacts.svg beside this file

Needs the extra ``plot``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure

import broadphase as bp
from broadphase.testing.draws import Draws

HERE = Path(__file__).resolve().parent


def one_of_each_type() -> list[bp.shapes.Shape]:
    """Make one shape of each type, up to two units large."""
    hexagon = [[np.cos(turn), 0.7 * np.sin(turn)] for turn in np.arange(6) * np.pi / 3]
    return [
        bp.Circle(0.8),
        bp.Capsule((-0.9, 0), (0.9, 0), 0.4),
        bp.AABB((1.7, 1.2)),
        bp.Rectangle(2.2, 0.9),
        bp.Triangle([[-1, -0.7], [1, -0.7], [0, 1]]),
        bp.ConvexPolygon(hexagon),
        bp.Segment((-1.1, 0), (1.1, 0)),
        bp.Compound([bp.Rectangle(0.3, 1.8), bp.Rectangle(1.5, 0.6, offset=(0, 0.8))]),
        bp.Point(),
    ]


def crowd(rows: int = 5, columns: int = 11) -> bp.Shapes:
    """Place shapes of all types on a lattice that is too narrow for them, rotated at random."""
    draws, types = Draws(3), one_of_each_type()
    shapes = [types[(3 * row + 4 * column) % len(types)] for row in range(rows) for column in range(columns)]
    places = np.array([[1.55 * column, 1.5 * row] for row in range(rows) for column in range(columns)])
    places = places + 0.45 * draws.normal(places.shape)
    crowded = bp.Shapes(shapes, places, 7.0 * draws.random(len(places)))
    crowded.extend(bp.HalfSpace((0, 1)), [(0, -0.6)])  # what they stand on
    return crowded


def draw(path: Path) -> None:
    """Draw the shapes and their contacts."""
    figure = Figure(figsize=(10, 4.6))
    panel = figure.add_axes((0.01, 0.01, 0.98, 0.98))
    bp.plot(crowd(), contacts=True, ax=panel)
    panel.set_axis_off()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    rcParams["svg.hashsalt"] = "broadphase"  # the same file every time
    draw(HERE / "contacts.svg")
