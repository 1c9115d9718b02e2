"""Draw the picture of docs/scale.md: tiles over the counties of the United States, and over a country with one city.

    python docs/images/draw_tiles.py                 # tiles.png beside this file; prints how even the tiles are

Needs the extra ``plot``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from broadphase import data
from broadphase.scale import Plan
from broadphase.scale.planning import divide

HERE = Path(__file__).resolve().parent
BLUE, DARK, RED = "#9EC9E2", "#2B6C99", "#C0392B"
SAMPLE = 65_536
COUNT = 1_000_000


def country(power: float, city: float, count: int, seed: int) -> np.ndarray:
    """Make footprints whose density falls with a power of the distance to 60 towns, and a share of them in one city."""
    rng = np.random.default_rng(seed)
    towns = np.random.default_rng(1).random((60, 2))
    sizes = (1 + np.arange(60)) ** -1.0
    town = rng.choice(60, count, p=sizes / sizes.sum())
    far = 0.002 * ((1 - rng.random(count)) ** (-1 / power) - 1)
    angle = 2 * np.pi * rng.random(count)
    places = towns[town] + far[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    dense = int(city * count)
    places[:dense] = [0.6, 0.4] + 0.01 * rng.standard_normal((dense, 2))
    places = places[np.all((places >= 0) & (places < 1), axis=1)]
    return np.stack([places, places + 1e-5 * (0.2 + rng.random((len(places), 1)))], axis=1)


def balance(power: float, city: float, tiles: int) -> tuple[Plan, float, float]:
    """Plan by a sample, as `scale.plan`; return the largest tile as a multiple of the mean, and copies per box."""
    sample = country(power, city, SAMPLE, 2)
    boxes = country(power, city, COUNT, 3)
    plan = divide(sample[:, 0], sample[:, 1], len(boxes), len(boxes) / tiles)
    found: Any = plan.tiling.assign(boxes[:, 0], boxes[:, 1], plan.most_copies)
    met = np.diff(found[0])
    return plan, float(met.max() / met.mean()), float((met.sum() + len(found[3])) / len(boxes) - 1)


def draw(panel: Any, boxes: np.ndarray, plan: Plan, color: str) -> None:
    """Draw boxes, and tiles cut off at their ends."""
    low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
    middle = boxes.mean(axis=1)
    panel.scatter(*middle.T, s=0.3, color=DARK, linewidths=0)
    for corners, options in (
        (boxes, {"facecolors": BLUE, "edgecolors": DARK, "linewidths": 0.15, "alpha": 0.5}),
        (np.clip(plan.bounds, low, high), {"facecolors": "none", "edgecolors": color, "linewidths": 0.8}),
    ):
        (x0, y0), (x1, y1) = corners[:, 0].T, corners[:, 1].T
        shapes = np.stack([np.stack(corner, 1) for corner in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))], 1)
        panel.add_collection(PolyCollection(list(shapes), **options))
    panel.set_xlim(low[0], high[0])
    panel.set_ylim(low[1], high[1])


def main() -> None:
    """Draw both, and print the balance of tiles."""
    for power in (3.0, 1.5, 1.0):
        for city in (0.0, 0.1):
            for tiles in (32, 256):
                plan, largest, copies = balance(power, city, tiles)
                print(
                    f"density with power {power}, {city:.0%} in one city: {plan.tile_count} tiles, "
                    f"largest {largest:.2f} of the mean, {copies:.2%} copies"
                )
    counties = data.load("us_counties")
    counties = counties[(counties[:, 0, 0] > -126) & (counties[:, 1, 0] < -66) & (counties[:, 0, 1] > 24)]
    figure = Figure(figsize=(8.0, 3.2))
    left, right = figure.add_axes((0.005, 0.02, 0.58, 0.96)), figure.add_axes((0.60, 0.02, 0.395, 0.96))
    for panel in (left, right):
        panel.set_axis_off()
    draw(left, counties, divide(counties[:, 0], counties[:, 1], len(counties), 100), RED)
    left.set_aspect(1.27)
    boxes = country(1.5, 0.1, 30_000, 3)
    draw(right, boxes, balance(1.5, 0.1, 64)[0], RED)
    right.set_aspect("equal")
    figure.savefig(HERE / "tiles.png", dpi=150)


if __name__ == "__main__":
    main()
