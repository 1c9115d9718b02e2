"""Draw the pictures of docs/plots.md: boxes, an index, shapes and a world, by `bp.plot`.

    python docs/images/draw_plots.py                 # plot_*.svg beside this file

Needs the extra ``plot``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from draw_cells import scene
from draw_contacts import crowd
from matplotlib import rcParams, use

import broadphase as bp
from broadphase import scenes
from broadphase.testing.draws import Draws

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HERE = Path(__file__).resolve().parent


def boxes_in(dimension: int, count: int, world: float, largest: float) -> np.ndarray:
    """Make boxes of all sizes up to `largest`, uniformly distributed in a square or cube."""
    draws = Draws(11)
    lower = draws.random((count, dimension)) * (world - largest)
    return np.stack([lower, lower + largest * (0.3 + 0.7 * draws.random((count, dimension)))], axis=1)


def plot_boxes() -> Axes:
    """Draw boxes and their pairs."""
    return bp.plot(boxes_in(2, 60, 30.0, 4.0), pairs=True, legend=True)


def plot_cells() -> Axes:
    """Draw the nodes of a tree, and rays through it."""
    rays = ([[2.0, 4.0], [2.0, 30.0], [98.0, 4.0]], [[1.0, 0.42], [1.0, 0.2], [-0.4, 1.0]])
    return bp.plot(bp.BVH(scene()), cells=True, rays=rays, legend=True)


def plot_shapes() -> Axes:
    """Draw shapes and their contacts."""
    return bp.plot(crowd(), contacts=True, legend=True)


def plot_space() -> Axes:
    """Draw boxes in 3D, and the cells of an octree."""
    return bp.plot(bp.Octree(boxes_in(3, 40, 10.0, 2.0)), pairs=True, cells=True, legend=True)


def plot_spheres() -> Axes:
    """Draw a world of spheres after some steps."""
    return bp.plot(scenes.load("bouncing_spheres").run(20).world, legend=True)


def main() -> None:
    """Draw all of them."""
    use("Agg")
    rcParams["svg.hashsalt"] = "broadphase"  # the same file every time
    for draw in (plot_boxes, plot_cells, plot_shapes, plot_space):
        draw().figure.savefig(HERE / f"{draw.__name__}.svg", metadata={"Date": None})
    plot_spheres().figure.savefig(HERE / "plot_spheres.png", dpi=130)  # its triangles would make a large file


if __name__ == "__main__":
    main()
