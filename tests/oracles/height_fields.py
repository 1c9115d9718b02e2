"""Height fields in plain NumPy: each half cell is a convex prism, and a field is all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from oracles.shapes import Part, _turned

__all__ = ["prisms_of", "ray_hits", "surface"]


def grid(field: Any) -> tuple[np.ndarray, np.ndarray]:
    """The x of the columns and the y of the rows: the middle of the grid is the origin."""
    rows, columns = field.heights.shape
    dx, dy = field.cell
    return (np.arange(columns) - (columns - 1) / 2) * dx, (np.arange(rows) - (rows - 1) / 2) * dy


def prisms_of(field: Any, position: Any = (0, 0, 0), rotation: Any = None) -> list[Part]:
    """The prisms of a placed field: six points each, three of them above the others."""
    x, y = grid(field)
    found = []
    for i in range(len(y) - 1):
        for j in range(len(x) - 1):
            for half in (((i, j), (i, j + 1), (i + 1, j + 1)), ((i, j), (i + 1, j + 1), (i + 1, j))):
                top = np.array([[x[c], y[r], field.heights[r, c]] for r, c in half])
                points = np.concatenate([top, [[*corner[:2], field.bottom] for corner in top]])
                points = _turned(points, field.rotation) + field.offset
                found.append(Part(_turned(points, rotation) + np.asarray(position, float), 0.0))
    return found


def surface(field: Any, x: float, y: float) -> float:
    """The height at a place of the grid, in the frame of the field; NaN outside."""
    columns, rows = grid(field)
    u, v = (x - columns[0]) / field.cell[0], (y - rows[0]) / field.cell[1]
    if not (0 <= u <= len(columns) - 1 and 0 <= v <= len(rows) - 1):
        return np.nan
    j, i = min(int(u), len(columns) - 2), min(int(v), len(rows) - 2)
    u, v = u - j, v - i
    a, b, c, d = field.heights[i : i + 2, j : j + 2].ravel()
    return a + u * (b - a) + v * (d - b) if u >= v else a + v * (c - a) + u * (d - c)


def ray_hits(prisms: list[Part], origin: Any, direction: Any) -> float:
    """Where a ray, of unit direction, enters the first of some prisms: by the planes of their sides."""
    first = np.inf
    for prism in prisms:
        a, b, c, p, q, r = prism.points
        middle = prism.points.mean(axis=0)
        enters, leaves = 0.0, np.inf
        above, below = (a, b, c), (p, r, q)
        for corner, one, other in (above, below, (p, q, b), (q, r, c), (r, p, a), (p, q, a), (q, r, b), (r, p, c)):
            normal = np.cross(one - corner, other - corner)
            length = np.linalg.norm(normal)
            if length < 1e-12:
                continue
            normal /= length
            if normal @ (middle - corner) > 0:
                normal = -normal
            height, speed = normal @ (origin - corner), normal @ direction
            if abs(speed) < 1e-15:
                if height > 1e-12:
                    leaves = -np.inf
                continue
            if speed < 0:
                enters = max(enters, -height / speed)
            else:
                leaves = min(leaves, -height / speed)
        if enters <= leaves + 1e-12:
            first = min(first, enters)
    return first
