"""What becomes of things at the borders of the world: they bounce, come in at the other side, or are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from broadphase import _native

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["bounce", "gone", "wrap"]


def bounce(
    positions: NDArray[np.float64],
    velocities: NDArray[np.float64],
    boxes: NDArray[np.float64],
    relative_boxes: Callable[[NDArray[np.int32]], NDArray[np.float64]],
    bounds: NDArray[np.float64],
    moves: NDArray[np.uint8],
) -> NDArray[np.int32]:
    """Reflect what sticks out of the world, in place.

    A shape is reflected where its box meets the border, each axis on its own, as often as it would have been on its
    way: a shape that is many times as fast as the world is wide ends up where it should. What sticks out but is not on
    its way out (it was put there, or it turned and a corner came out) is set back to the border, its velocity
    untouched. A shape too large for the world is put in its middle along that axis, its velocity untouched.

    Parameters
    ----------
    positions, velocities : ndarray, shape (n, d), float64, C order
        After the step.
    boxes : ndarray, shape (n, 2, d), float64
        Of the shapes there.
    relative_boxes : callable
        ``relative_boxes(rows)`` gives the boxes of the shapes of some rows relative to their positions, shape
        (k, 2, d). Not ``boxes - positions``: far out, there is not much left of the shape in that difference.
    bounds : ndarray, shape (2, d), float64
        Lower and upper, closed. May be infinite.
    moves : ndarray, shape (n,), uint8
        1, or 0 for rows that are not looked at.

    Returns
    -------
    rows : ndarray, shape (m,), int32
        Those whose position or velocity is another now, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> positions, velocities = np.array([[9.5, 5.0]]), np.array([[2.0, 1.0]])
    >>> around = np.array([[[-1.0, -1.0], [1.0, 1.0]]])
    >>> bounds = np.array([[0.0, 0.0], [10.0, 10.0]])
    >>> bounce(positions, velocities, positions[:, None] + around, lambda rows: around[rows], bounds,
    ...        np.ones(1, np.uint8))
    array([0], dtype=int32)
    >>> positions, velocities
    (array([[8.5, 5. ]]), array([[-2.,  1.]]))
    """
    rows: Any = _native.sticking_out(boxes, bounds, moves)
    if len(rows) > 0:
        rows = _native.bounce(positions, velocities, rows, relative_boxes(rows), bounds)
    return cast("NDArray[np.int32]", rows)


def wrap(positions: NDArray[np.float64], bounds: NDArray[np.float64], moves: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Let what left the world come in at the other side, in place.

    Positions are moved into ``[lower, upper)`` by multiples of the size of the world, from however far; those in there
    stay as they are, to the bit. What would round to the upper border becomes the lower one.

    Parameters
    ----------
    positions : ndarray, shape (n, d), float64, C order
        Finite.
    bounds : ndarray, shape (2, d), float64
        Lower and upper, finite.
    moves : ndarray, shape (n,), uint8
        1, or 0 for rows that are not looked at.

    Returns
    -------
    rows : ndarray, shape (m,), int32
        Those that were moved, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> positions = np.array([[10.0, 5.0], [-21.0, -1e-30]])
    >>> wrap(positions, np.array([[0.0, 0.0], [10.0, 10.0]]), np.ones(2, np.uint8))
    array([0, 1], dtype=int32)
    >>> positions
    array([[0., 5.],
           [9., 0.]])
    """
    return cast("NDArray[np.int32]", _native.wrap(positions, bounds, moves))


def gone(boxes: NDArray[np.float64], bounds: NDArray[np.float64], moves: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Find what has left the world: boxes that do not even touch it.

    Parameters
    ----------
    boxes : ndarray, shape (n, 2, d), float64
        Of the shapes.
    bounds : ndarray, shape (2, d), float64
        Lower and upper, closed. May be infinite.
    moves : ndarray, shape (n,), uint8
        1, or 0 for rows that are not looked at.

    Returns
    -------
    rows : ndarray, shape (m,), int32
        Ascending.

    Examples
    --------
    >>> import numpy as np
    >>> boxes = np.array([[[9.0, 0.0], [12.0, 1.0]], [[11.0, 0.0], [12.0, 1.0]]])
    >>> gone(boxes, np.array([[0.0, 0.0], [10.0, 10.0]]), np.ones(2, np.uint8))
    array([1], dtype=int32)
    """
    return cast("NDArray[np.int32]", _native.outside(boxes, bounds, moves))
