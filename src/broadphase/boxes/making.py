"""Make boxes from other forms: centers and sizes, spheres, points, segments, triangles, parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.boxes.checking import (
    as_elements,
    as_integers,
    as_points,
    as_radius,
    as_reach,
    first_bad_row,
    require_boxes,
    require_finite,
    require_no_nan,
)
from broadphase.boxes.numbers import as_numbers
from broadphase.boxes.rounding import boxes_around
from broadphase.errors import InvalidBoxError
from broadphase.floats import MAX_DIMENSION

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["from_centers", "from_parts", "from_points", "from_segments", "from_spheres", "from_triangles"]


def from_centers(centers: ArrayLike, half_sizes: ArrayLike) -> NDArray[Any]:
    """Make the boxes that reach `half_sizes` from their centers along each axis.

    Parameters
    ----------
    centers : array_like, shape (n, d)
        Finite.
    half_sizes : array_like, shape (n, d), (n, 1), (d,) or one number
        Half the width of each box along each axis; finite, at least 0.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d), float32 or float64
        ``center - half`` rounded down, ``center + half`` rounded up; exact where representable.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        NaN, an infinity or a negative size; names the first bad row. Wrong shape or dtype.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.boxes.from_centers([[5, 5], [0, 1]], [2, 1])
    array([[[ 3.,  4.], [ 7.,  6.]], [[-2.,  0.], [ 2.,  2.]]])
    """
    centers = as_points(centers, "centers")
    require_finite(centers, "centers")
    return boxes_around(centers, as_reach(half_sizes, centers, "half_sizes"))


def from_spheres(centers: ArrayLike, radii: ArrayLike) -> NDArray[Any]:
    """Make the boxes around circles (d = 2) or spheres.

    Parameters
    ----------
    centers : array_like, shape (n, d)
        Finite.
    radii : array_like, shape (n,) or one number
        Finite, at least 0.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d), float32 or float64
        Rounded as by `from_centers`.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        As `from_centers`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.boxes.from_spheres([[5, 5, 0]], 2)
    array([[[ 3.,  3., -2.], [ 7.,  7.,  2.]]])
    """
    centers = as_points(centers, "centers")
    require_finite(centers, "centers")
    return boxes_around(centers, as_radius(radii, centers, "radii"))


def from_points(points: ArrayLike, radius: ArrayLike = 0.0) -> NDArray[Any]:
    """Make the boxes of points, of zero width unless a radius is given.

    Parameters
    ----------
    points : array_like, shape (n, d)
        No NaN; infinite coordinates are legal.
    radius : array_like, shape (n,) or one number
        Finite, at least 0.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d), float32 or float64
        Rounded as by `from_centers`.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        As `from_centers`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.boxes.from_points([[1, 2]])
    array([[[1., 2.], [1., 2.]]])
    """
    points = as_points(points, "points")
    require_no_nan(points, "points")
    return boxes_around(points, as_radius(radius, points, "radius"))


def from_segments(starts: ArrayLike, ends: ArrayLike, radius: ArrayLike = 0.0) -> NDArray[Any]:
    """Make the boxes of line segments, or of capsules if a radius is given.

    Parameters
    ----------
    starts, ends : array_like, shape (n, d)
        The two ends of each segment, in any order. No NaN.
    radius : array_like, shape (n,) or one number
        Finite, at least 0.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d), float32 or float64
        With ``radius=0`` exact; otherwise rounded as by `from_centers`.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        As `from_centers`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.boxes.from_segments([[0, 3]], [[2, 1]])
    array([[[0., 1.], [2., 3.]]])
    """
    starts, ends = as_points(starts, "starts"), as_points(ends, "ends")
    if starts.shape != ends.shape:
        raise ValueError(f"starts have shape {starts.shape}, but ends have shape {ends.shape}")
    require_no_nan(starts, "starts")
    require_no_nan(ends, "ends")
    return boxes_around(np.minimum(starts, ends), as_radius(radius, starts, "radius"), np.maximum(starts, ends))


def from_triangles(vertices: ArrayLike, faces: ArrayLike | None = None) -> NDArray[Any]:
    """Make the boxes of a mesh's triangles, or of its edges, quads or tetrahedra.

    Parameters
    ----------
    vertices : array_like, shape (v, d), or (m, k, d) without `faces`
        Vertices of the mesh; or the k corners of each of the m elements. Those in use must not be NaN.
    faces : array_like of int, shape (m, k), optional
        Row numbers of the vertices of each element: k = 3 for triangles, 2 for edges, any k.

    Returns
    -------
    boxes : ndarray, shape (m, 2, d), float32 or float64
        Exact.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        NaN in a vertex that is in use, a vertex number out of range, with the first face. Wrong shape or dtype.

    Notes
    -----
    O(m k) time; at most the memory of the result beside it.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.boxes.from_triangles([[0, 0], [4, 0], [0, 3], [4, 3]], [[0, 1, 2], [1, 3, 2]])
    array([[[0., 0.], [4., 3.]], [[0., 0.], [4., 3.]]])
    """
    values = as_numbers(vertices, name="vertices")
    if faces is None:
        if values.ndim != 3 or values.shape[1] < 1 or not 0 < values.shape[2] <= MAX_DIMENSION:
            raise ValueError(f"without faces, vertices must have shape (m, k, d), d = 1 to 4, not {values.shape}")
        corners = [values[:, corner] for corner in range(values.shape[1])]
        return require_boxes(_hull(corners), "vertices")
    values = as_points(values, "vertices")
    elements = as_elements(faces, len(values))
    boxes = _hull([values[elements[:, corner]] for corner in range(elements.shape[1])])
    bad = first_bad_row(np.isnan(boxes[:, 0]))
    if bad is not None:
        vertex = next(int(vertex) for vertex in elements[bad] if np.isnan(values[vertex]).any())
        raise InvalidBoxError(f"faces: row {bad} uses vertex {vertex}, which has NaN", bad)
    return boxes


def from_parts(points: ArrayLike, parts: ArrayLike) -> NDArray[Any]:
    """Make the box of each part of a scene: the box around all points that carry its number.

    Parameters
    ----------
    points : array_like, shape (v, d)
        No NaN.
    parts : array_like of int, shape (v,)
        The part that each point belongs to. Every number from 0 to the largest must occur.

    Returns
    -------
    boxes : ndarray, shape (k, 2, d), float32 or float64
        Exact; row p is the box of part p, k is the largest part number plus one.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        NaN, a negative part number, with the first bad point; a part without points. Wrong shape or dtype.

    Notes
    -----
    O(v) time if the points of each part are consecutive and ascending, O(v log v) otherwise.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.boxes.from_parts([[0, 0], [9, 9], [2, 1], [8, 7]], [0, 1, 0, 1])
    array([[[0., 0.], [2., 1.]], [[8., 7.], [9., 9.]]])
    """
    points = as_points(points, "points")
    numbers = as_integers(parts, "parts")
    if numbers.shape != points.shape[:1]:
        raise ValueError(f"parts must have shape ({len(points)},), one number for each point, not {numbers.shape}")
    require_no_nan(points, "points")
    bad = first_bad_row(numbers < 0)
    if bad is not None:
        raise ValueError(f"parts: row {bad} has the negative number {numbers[bad]}")
    if not numbers.size:
        return np.empty((0, 2, points.shape[1]), points.dtype)
    if (numbers[1:] < numbers[:-1]).any():
        order = np.argsort(numbers, kind="stable")
        numbers, points = numbers[order], points[order]
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    empty = first_bad_row(numbers[begins] != np.arange(len(begins)))
    if empty is not None:
        raise ValueError(f"parts: no point belongs to part {empty}, yet the largest part number is {numbers[-1]}")
    return np.stack((np.minimum.reduceat(points, begins), np.maximum.reduceat(points, begins)), axis=1)


def _hull(corners: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the boxes whose corners are given one array of shape (m, d) at a time; NaN stays NaN."""
    boxes = np.stack((corners[0], corners[0]), axis=1)
    for corner in corners[1:]:
        np.minimum(boxes[:, 0], corner, out=boxes[:, 0])
        np.maximum(boxes[:, 1], corner, out=boxes[:, 1])
    return boxes
