"""The k nearest neighbors of each point, image by image, by the documented formula."""

import itertools

import numpy as np

from oracles.neighbors import as_matrix


def plain_nearest(points, k, other=None, cell=None, periodic=True, cutoff=np.inf, most=4):
    """Return rows (i, j, shift..., distance, vector...), by i, distance, j and shift: at most k of each i.

    Looks at shifts up to `most` from those that bring both points into the cell, along each vector of a cell that is
    not very skewed: the caller takes care that this suffices for k.
    """
    points = np.asarray(points, float)
    second = points if other is None else np.asarray(other, float)
    dimension = points.shape[1]
    flags = np.broadcast_to(np.asarray(periodic) if cell is not None else False, (dimension,))
    matrix = as_matrix(cell, dimension)
    found = []
    if flags.any():
        inverse = np.linalg.pinv(matrix * flags[:, None])
        own_cells, cells = (np.floor(some @ inverse).astype(int) * flags for some in (points, second))
    else:
        own_cells, cells = (np.zeros(some.shape, int) for some in (points, second))
    ranges = [range(-most, most + 1) if flag else range(1) for flag in flags]
    steps = np.array(list(itertools.product(*ranges)))
    for i, point in enumerate(points):
        shifts = (steps[None] + (own_cells[i] - cells)[:, None]).reshape(-1, dimension)
        rows = np.repeat(np.arange(len(second)), len(steps))
        moved = shifts[:, :1] * matrix[0] + shifts[:, 1:2] * matrix[1]
        if dimension == 3:
            moved = moved + shifts[:, 2:] * matrix[2]
        vectors = (second[rows] - point) + moved
        square = vectors[:, 0] * vectors[:, 0] + vectors[:, 1] * vectors[:, 1]
        if dimension == 3:
            square = square + vectors[:, 2] * vectors[:, 2]
        distances = np.sqrt(square)
        keep = distances <= cutoff
        if other is None:
            keep &= (rows != i) | shifts.any(axis=1)
        order = np.lexsort((*shifts.T[::-1], rows, distances))
        order = order[keep[order]][:k]
        found += [(i, int(rows[at]), *shifts[at].tolist(), distances[at], *vectors[at]) for at in order]
    return found
