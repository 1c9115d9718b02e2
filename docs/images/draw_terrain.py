"""Draw the terrain of docs/shapes.md: a height field with shapes on it, and rays from a tower.

    python docs/images/draw_terrain.py               # terrain.png beside this file

Needs the extra ``plot``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

import broadphase as bp

HERE = Path(__file__).resolve().parent


def terrain() -> bp.HeightField:
    """Make hills around a valley."""
    x, y = np.meshgrid(np.linspace(-3, 3, 41), np.linspace(-2, 2, 29))
    return bp.HeightField(0.5 * np.cos(1.6 * x) * np.cos(2.2 * y) + 0.15 * x, cell=(0.15, 1 / 7), bottom=-1.5)


def dropped(shapes: list[bp.shapes.Shape], ground: bp.Shapes, places: np.ndarray) -> bp.Shapes:
    """Let shapes fall straight down until they touch the ground."""
    high = bp.Shapes(shapes, np.column_stack([places, np.full(len(places), 4.0)]))
    times = bp.time_of_impact(high, ground, motions=(0.0, 0.0, -6.0)).times
    return bp.Shapes(shapes, np.column_stack([places, 4.0 - 6.0 * times]))


def main() -> None:
    """Draw the picture."""
    field = terrain()
    ground = bp.Shapes(field, [[0, 0, 0]])
    random = np.random.default_rng(5)
    kinds = [bp.Sphere(0.2), bp.Box(0.4, 0.3, 0.3), bp.Capsule((-0.2, 0, 0), (0.2, 0, 0), 0.12)]
    shapes = [kinds[k % 3] for k in range(12)]
    fallen = dropped(shapes, ground, random.uniform([-2.6, -1.6], [2.6, 1.6], (12, 2)))

    figure = Figure(figsize=(8, 4.4))
    axes = figure.add_axes((-0.17, -0.52, 1.34, 1.9), projection="3d", computed_zorder=False)
    triangles = field.vertices[field.faces]
    shade = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    shade = shade @ [-0.3, -0.4, 0.8] / np.linalg.norm(shade, axis=1)
    colors = np.clip(0.25 + 0.75 * shade, 0, 1)[:, np.newaxis] * [0.62, 0.74, 0.45]
    axes.add_collection3d(Poly3DCollection(triangles, facecolors=colors, edgecolors="none"))
    bp.plot(fallen, ax=axes)
    tower = np.array([-2.5, 0, 1.6])
    turns = np.linspace(-1.1, 1.1, 23)
    ways = np.column_stack([np.cos(turns), np.sin(turns), np.full(len(turns), -0.45)])
    hits = bp.raycast(ground, tower, ways, rows=np.zeros(len(turns), int))
    met = hits.rows >= 0
    ends = tower + ways[met] / np.linalg.norm(ways[met], axis=1, keepdims=True) * hits.distances[met, np.newaxis]
    lines = np.stack([np.broadcast_to(tower, ends.shape), ends], axis=1)
    axes.add_collection3d(Line3DCollection(lines, colors="tab:red", linewidths=0.7))
    axes.scatter(*ends.T, color="tab:red", s=8)
    axes.set(xlim=(-3, 3), ylim=(-2, 2), zlim=(-1.2, 1.6))
    axes.set_box_aspect((6, 4, 2.8), zoom=1.08)
    axes.view_init(32, -62)
    axes.set_axis_off()
    figure.savefig(HERE / "terrain.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
