"""Oriented boxes as slabs, many at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from broadphase.convex.regions import AXIS_ROUNDING, Regions, across_coordinate_axes, checked, first_row
from broadphase.shapes.turning import as_matrices

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_ROTATION_ERROR = 1e-5  # of float32 matrices that have been multiplied a few times


def regions_of_boxes(centers: ArrayLike, half_sizes: ArrayLike, rotations: ArrayLike) -> Regions:
    """Make the regions of oriented boxes.

    Parameters
    ----------
    centers : array_like, shape (q, d)
        d = 2 or 3. Finite.
    half_sizes : array_like, shape (q, d), (d,) or one number
        Half the width along each axis of the box; finite, at least 0.
    rotations : array_like
        Matrices of shape (q, d, d) or (d, d), whose columns are the axes of the box. In 2D also angles of shape (q,) or
        one number, in radians, counterclockwise; in 3D also quaternions of shape (q, 4) or (4,), in the order
        w, x, y, z and of any length but 0.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a number out of range, or a matrix that does not rotate: names the first bad row.
    """
    middle = checked("centers", centers)
    if middle.ndim != 2 or middle.shape[1] not in (2, 3):
        raise ValueError(f"centers must have shape (q, 2) or (q, 3), not {middle.shape}")
    half = checked("half_sizes", half_sizes)
    if half.shape not in (middle.shape, middle.shape[1:], ()):
        raise ValueError(f"half_sizes of shape {half.shape} do not fit {len(middle)} boxes of {middle.shape[1]} axes")
    if (half < 0).any():
        raise ValueError(f"half_sizes: {first_row(half < 0)}{half[half < 0][0]} is negative")
    half = np.broadcast_to(half, middle.shape)
    turn = _rotation_matrices(rotations, *middle.shape)
    if middle.shape[1] == 2:
        axes = np.stack([-turn[:, 1], turn[:, 0]], axis=2)  # across each edge
    else:
        edges = turn.swapaxes(1, 2)
        faces = np.cross(edges[:, [1, 2, 0]], edges[:, [2, 0, 1]])
        axes = np.concatenate([faces, across_coordinate_axes(edges)], axis=1)
    axes[np.abs(axes) < 1e-15] = 0.0  # what a quarter of a turn leaves of a cosine
    reach = np.abs(turn) @ half[:, :, None]
    size = np.abs(middle) + reach[:, :, 0]
    center = np.einsum("qsk,qk->qs", axes, middle)
    radius = np.einsum("qsj,qj->qs", np.abs(axes @ turn), half)
    radius += AXIS_ROUNDING * np.einsum("qsk,qk->qs", np.abs(axes), size)
    turned = (turn != 0).sum(axis=2) > 1
    margin = reach[:, :, 0] + np.where(turned, AXIS_ROUNDING * size, 0.0)
    kept = (axes != 0).sum(axis=2) > 1
    return Regions(
        np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64),
        np.ascontiguousarray(axes[kept]),
        (center - radius)[kept],
        (center + radius)[kept],
        middle - margin,
        middle + margin,
    )


def _rotation_matrices(rotations: ArrayLike, count: int, dimension: int) -> Floats:
    """Bring rotations of any form to (q, d, d)."""
    array = checked("rotations", rotations)
    matrix, vector = (dimension, dimension), (4,) if dimension == 3 else ()
    if array.shape in (matrix, (count, *matrix)):
        turn = np.broadcast_to(array, (count, *matrix))
        wrong = np.abs(turn.swapaxes(1, 2) @ turn - np.eye(dimension)).max(axis=(1, 2)) > _ROTATION_ERROR
        if wrong.any():
            raise ValueError(
                f"rotations: row {int(wrong.argmax())} has columns that are not perpendicular unit vectors"
            )
        return turn
    if array.shape not in (vector, (count, *vector)):
        others = "quaternions (q, 4) or (4,)" if dimension == 3 else "angles (q,) or one number"
        raise ValueError(
            f"rotations of shape {array.shape} for {count} boxes; needed are matrices"
            f" (q, {dimension}, {dimension}) or ({dimension}, {dimension}), or {others}"
        )
    if dimension == 2:
        return np.broadcast_to(as_matrices(array, dimension), (count, 2, 2))
    array = np.broadcast_to(array, (count, 4))
    if not array.any(axis=1).all():
        raise ValueError(f"rotations: row {int((~array.any(axis=1)).argmax())} is a quaternion of length 0")
    return as_matrices(array, dimension)
