"""Rotations: angles in the plane, quaternions (w, x, y, z) in space, and their matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from broadphase import _native
from broadphase.shapes.parameters import Parameter, as_rows, as_vectors, require_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["as_matrices", "as_placement", "as_rotations", "quaternions_of", "with_exact_quarters"]

_ANY = float(np.finfo(np.float64).max)  # an angle may have any size

# What counts as a quarter turn, as in core/shapes/shape.hpp: a matrix within a few units in the last place of whole
# numbers.
_MATRIX_ROUNDING = 2.0**-50


def as_rotations(values: Any, dim: int, name: str = "rotation") -> Parameter:
    """Check rotations, in the form that `Shapes` takes; they are not normalised."""
    if dim == 2:
        return as_rows(values, name, (), "one angle or (n,) angles, in radians", _ANY)
    given = as_rows(values, name, (4,), "a quaternion (w, x, y, z) or (n, 4) of them", _ANY)
    require_rows(given.rows.any(axis=1), name, given, "is a zero quaternion")
    return given


def as_matrices(rotations: Floats, dim: int) -> Floats:
    """Make matrices (n, dim, dim), for column vectors, of checked angles (n,) or quaternions (n, 4).

    The core makes them, as those of bodies. What is a multiple of a quarter turn about coordinate axes up to rounding
    becomes exactly that: such as the angle ``np.pi / 2`` and the quaternion ``[np.sqrt(0.5), np.sqrt(0.5), 0, 0]``.

    >>> as_matrices(np.array([np.pi / 2]), 2) + 0.0
    array([[[ 0., -1.], [ 1.,  0.]]])
    """
    return cast("Floats", _native.rotation_matrices(dim, rotations))


def as_placement(offset: Any, rotation: Any, dim: int) -> tuple[dict[str, Parameter], Floats | None, Floats | None]:
    """Check an offset and a rotation, if they are given; return them by name, and the translations and matrices."""
    given: dict[str, Parameter] = {}
    if offset is not None:
        given["offset"] = as_vectors(offset, "offset", dim)
    if rotation is not None:
        given["rotation"] = as_rotations(rotation, dim)
    shift = given["offset"].rows if offset is not None else None
    return given, shift, None if rotation is None else as_matrices(given["rotation"].rows, dim)


def with_exact_quarters(matrices: Floats) -> Floats:
    """Make matrices (n, d, d) exact that are multiples of quarter turns about coordinate axes up to rounding."""
    first = matrices[:, 0, 0]
    if not (np.abs(first - np.rint(first)) <= _MATRIX_ROUNDING).any():
        return matrices
    whole = np.rint(matrices)
    exact: NDArray[np.bool_] = np.abs(matrices - whole).max(axis=(1, 2), initial=0.0) <= _MATRIX_ROUNDING
    return np.where(exact[:, np.newaxis, np.newaxis], whole, matrices)


def quaternions_of(matrices: Floats) -> Floats:
    """Return the unit quaternions (n, 4) of rotation matrices (n, 3, 3); the largest number of each is positive.

    S. W. Shepperd, "Quaternion from Rotation Matrix", Journal of Guidance and Control 1 (3), 1978. 10.2514/3.55767b
    """
    m = matrices
    # Four times the products of each number of the quaternion with the others; the row of the largest is the safest.
    ww, xx, yy, zz = (
        1 + sign_x * m[:, 0, 0] + sign_y * m[:, 1, 1] + sign_z * m[:, 2, 2]
        for sign_x, sign_y, sign_z in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
    )
    wx, wy, wz = m[:, 2, 1] - m[:, 1, 2], m[:, 0, 2] - m[:, 2, 0], m[:, 1, 0] - m[:, 0, 1]
    xy, xz, yz = m[:, 0, 1] + m[:, 1, 0], m[:, 0, 2] + m[:, 2, 0], m[:, 1, 2] + m[:, 2, 1]
    products = np.array([[ww, wx, wy, wz], [wx, xx, xy, xz], [wy, xy, yy, yz], [wz, xz, yz, zz]])
    largest = np.argmax(np.stack([ww, xx, yy, zz]), axis=0)
    chosen = products[largest, :, np.arange(len(m))]
    result: Floats = chosen / np.linalg.norm(chosen, axis=1, keepdims=True)
    return result
