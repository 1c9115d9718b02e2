"""Matrices of cameras, for queries of what is visible: projections, views, and a part of the picture.

All multiply column vectors, as in OpenGL: ``projection @ view @ [x, y, z, 1]``. The camera looks along its -z axis,
with y up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from broadphase.arguments import as_real, as_reals
from broadphase.boxes import as_numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["look_at", "orthographic", "perspective", "selection_matrix"]


def perspective(fov: float, aspect: float, near: float, far: float = np.inf) -> Floats:
    """Make the matrix of a perspective projection.

    Parameters
    ----------
    fov : float
        The angle from the lower edge of the picture to the upper one, in radians, below pi.
    aspect : float
        Width of the picture divided by its height.
    near, far : float
        Distances of the near and far plane; 0 < `near` < `far`, which may be infinite.

    Returns
    -------
    matrix : ndarray, shape (4, 4), float64
        Depth runs from -1 to 1.

    Raises
    ------
    ValueError, TypeError
        A number out of range.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.cameras.perspective(np.pi / 2, 1.5, 0.5, 100.0).round(3) + 0.0
    array([[ 0.667,  0.   ,  0.   ,  0.   ],
           [ 0.   ,  1.   ,  0.   ,  0.   ],
           [ 0.   ,  0.   , -1.01 , -1.005],
           [ 0.   ,  0.   , -1.   ,  0.   ]])
    """
    fov, aspect, near, far = (
        as_real(value, name) for name, value in (("fov", fov), ("aspect", aspect), ("near", near), ("far", far))
    )
    if not (0 < fov < np.pi and 0 < aspect < np.inf and 0 < near < far and near < np.inf):
        raise ValueError(
            f"a perspective needs 0 < fov < pi, aspect > 0 and 0 < near < far; got {fov=} {aspect=} {near=} {far=}"
        )
    up = 1 / np.tan(fov / 2)
    ratio = near / far
    return np.array(
        [
            [up / aspect, 0.0, 0.0, 0.0],
            [0.0, up, 0.0, 0.0],
            [0.0, 0.0, -(1 + ratio) / (1 - ratio), -2 * near / (1 - ratio)],
            [0.0, 0.0, -1.0, 0.0],
        ]
    )


def orthographic(left: float, right: float, bottom: float, top: float, near: float, far: float) -> Floats:
    """Make the matrix of an orthographic projection: a box in front of the camera.

    Parameters
    ----------
    left, right, bottom, top : float
        The edges of the box across the view.
    near, far : float
        Its ends along the view; behind the camera where negative. Each two must be finite and differ.

    Returns
    -------
    matrix : ndarray, shape (4, 4), float64
        Depth runs from -1 to 1.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.cameras.orthographic(-4, 4, -2, 2, 0, 10) @ [4, 2, -10, 1]
    array([1., 1., 1., 1.])
    """
    sides = {"left": left, "right": right, "bottom": bottom, "top": top, "near": near, "far": far}
    left, right, bottom, top, near, far = (as_real(value, name) for name, value in sides.items())
    low, high = np.array([left, bottom, -near]), np.array([right, top, -far])
    if not (np.isfinite(low) & np.isfinite(high) & (low != high)).all():
        raise ValueError(
            "left and right, bottom and top, near and far must be finite and differ;"
            f" got {left, right}, {bottom, top}, {near, far}"
        )
    matrix = np.eye(4)
    matrix[[0, 1, 2], [0, 1, 2]] = 2 / (high - low)
    matrix[:3, 3] = -(high + low) / (high - low)
    return matrix


def look_at(eye: ArrayLike, target: ArrayLike, up: ArrayLike = (0.0, 1.0, 0.0)) -> Floats:
    """Make the view matrix of a camera at one point that looks at another.

    Parameters
    ----------
    eye, target : array_like, shape (3,)
        Position of the camera, and the point in the middle of its picture.
    up : array_like, shape (3,)
        Direction that is up in the picture; not along the line of sight.

    Returns
    -------
    matrix : ndarray, shape (4, 4), float64
        From the world to the camera.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; `eye` equals `target`, or `up` is along the line of sight.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.cameras.look_at([0, 0, 5], [0, 0, 0]) @ [1, 2, 3, 1]
    array([ 1.,  2., -2.,  1.])
    """
    place, aim, upward = (_vector(name, part) for name, part in (("eye", eye), ("target", target), ("up", up)))
    back = place - aim
    right = np.cross(upward, back)
    if not right.any():
        raise ValueError("eye equals target, or up is along the line of sight")
    matrix = np.eye(4)
    for row, axis in enumerate((right, np.cross(back, right), back)):
        matrix[row, :3] = axis / np.linalg.norm(axis)
    matrix[:3, 3] = -matrix[:3, :3] @ place
    return matrix


def selection_matrix(matrix: ArrayLike, rectangle: ArrayLike, viewport: ArrayLike | None = None) -> Floats:
    """Narrow a camera to a rectangle of its picture, such as a mouse selection.

    Parameters
    ----------
    matrix : array_like, shape (4, 4), or (3, 3) in 2D
        Of the whole picture: projection times view.
    rectangle : array_like, shape (4,)
        ``x0, y0, x1, y1`` of any two opposite corners; from -1 to 1 across the picture, y upwards, or in pixels.
    viewport : array_like, shape (2,) or (4,), optional
        The picture in pixels: ``width, height`` or ``x, y, width, height``. The rectangle is in pixels then, with y
        downwards from the upper edge, as mice report.

    Returns
    -------
    matrix : ndarray, of the shape given, float64
        For `frustum`.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a rectangle or a viewport of zero area. (For a single point, cast a ray.)

    Examples
    --------
    >>> import broadphase as bp
    >>> whole = bp.cameras.orthographic(0, 640, 0, 480, -1, 1)
    >>> part = bp.cameras.selection_matrix(whole, [160, 120, 320, 240], viewport=[640, 480])
    >>> part @ [320, 240, 0, 1], part @ [160, 360, 0, 1]
    (array([ 1., -1.,  0.,  1.]), array([-1.,  1.,  0.,  1.]))
    """
    whole = as_numbers(matrix, name="matrix").astype(np.float64)
    if whole.shape not in ((3, 3), (4, 4)):
        raise ValueError(f"matrix must have shape (4, 4), in 2D (3, 3), not {whole.shape}")
    corners = _vector("rectangle", rectangle, 4).reshape(2, 2)
    if viewport is not None:
        window = _vector("viewport", viewport, 2 if as_reals(viewport, "viewport").size == 2 else 4)
        origin, size = (window[:2], window[2:]) if len(window) == 4 else (np.zeros(2), window)
        if not (size > 0).all():
            raise ValueError(f"viewport of {size[0]} by {size[1]} pixels")
        corners = (2 * (corners - origin) / size - 1) * [1, -1]
    middle, half = (corners[0] + corners[1]) / 2, np.abs(corners[1] - corners[0]) / 2
    if not half.all():
        raise ValueError("the rectangle has no area; for one point, cast a ray")
    part = whole.copy()
    part[:2] = (whole[:2] - middle[:, None] * whole[-1]) / half[:, None]
    return part


def _vector(name: str, values: ArrayLike, length: int = 3) -> Floats:
    vector: Floats = as_numbers(values, name=name).astype(np.float64)
    if vector.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), not {vector.shape}")
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} must be finite, not {vector.tolist()}")
    return vector
