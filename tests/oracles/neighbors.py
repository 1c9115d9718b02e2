"""All pairs of points within a cutoff, image by image, by the documented formula."""

import itertools

import numpy as np


def as_matrix(cell, dimension):
    """Lattice vectors as rows; open space has none."""
    if cell is None:
        return np.zeros((dimension, dimension))
    cell = np.asarray(cell, float)
    return np.diag(cell) if cell.ndim == 1 else cell


def images(points, other, cutoff, cell, periodic):
    """All shifts that can matter, and more."""
    dimension = cell.shape[1]
    axes = np.flatnonzero(periodic)
    ranges = [range(1)] * dimension
    if len(axes):
        # Heights of the periodic vectors over the span of the others, and how far points are apart along each.
        dual = np.linalg.pinv(cell[axes]).T
        for axis, row in zip(axes, dual, strict=True):
            apart = np.ptp(np.concatenate([points, other]) @ row) if len(points) + len(other) else 0
            most = int(np.ceil(cutoff * np.linalg.norm(row) + apart)) + 1
            ranges[axis] = range(-most, most + 1)
    return itertools.product(*ranges)


def plain_neighbors(points, cutoff, other=None, cell=None, periodic=True, combine="sum"):
    """Return rows (i, j, shift...) with the distance and vector of each, sorted; a pair of one set both ways round."""
    points = np.asarray(points, float)
    second = points if other is None else np.asarray(other, float)
    dimension = points.shape[1]
    flags = np.broadcast_to(np.asarray(periodic) if cell is not None else False, (dimension,))
    cell = as_matrix(cell, dimension)
    limits = cutoff
    if isinstance(cutoff, tuple) or np.ndim(cutoff):
        own, others = cutoff if other is not None else (cutoff, cutoff)
        own, others = np.asarray(own, float)[:, None], np.asarray(others, float)[None]
        limits = own + others if combine == "sum" else np.maximum(own, others)
    found = []
    for shift in images(points, second, float(np.max(limits, initial=0.0)), cell, flags):
        moved = shift[0] * cell[0] + shift[1] * cell[1]
        if dimension == 3:
            moved = moved + shift[2] * cell[2]
        vectors = (second[None] - points[:, None]) + moved
        with np.errstate(over="ignore"):
            square = vectors[..., 0] * vectors[..., 0] + vectors[..., 1] * vectors[..., 1]
            if dimension == 3:
                square = square + vectors[..., 2] * vectors[..., 2]
        distances = np.sqrt(square)
        for i, j in np.argwhere(distances <= limits).tolist():
            if other is None and i == j and not any(shift):
                continue
            found.append((i, j, *shift, distances[i, j], *vectors[i, j]))
    return sorted(found)
