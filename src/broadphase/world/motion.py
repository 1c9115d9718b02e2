"""What moves by itself: positions by velocities, rotations by angular velocities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from broadphase import _native

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["integrate", "refuse_motion"]


def integrate(
    positions: Floats,
    velocities: Floats,
    rotations: Floats | None,
    angular_velocities: Floats | None,
    moves: NDArray[np.uint8],
    dt: float,
    to_positions: Floats,
    to_rotations: Floats | None = None,
    workers: int = 1,
) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
    """Write where rows are after a time; give the rows that have moved, and those that have rotated, if these are few.

    ``positions + velocities * dt``. In the plane ``rotations + angular_velocities * dt``, without wrapping. In space a
    rotation is rotated about the axis of its angular velocity, given in the world, by its length times `dt`: exactly,
    by the exponential map; the quaternion is then of length 1. A row without velocity, or angular velocity, keeps its
    position, or rotation, to the bit.

    Parameters
    ----------
    positions, velocities : ndarray, shape (n, d), float64, C order
        Of `velocities`, length per time.
    rotations : ndarray, shape (n,) radians or (n, 4) quaternions (w, x, y, z), or None
        None: nothing rotates.
    angular_velocities : ndarray, shape (n,) or (n, 3), or None
        Radians per time.
    moves : ndarray, shape (n,), uint8
        1, or 0 for rows that stay where they are.
    dt : float
        The time; may be negative.
    to_positions, to_rotations : ndarray
        Other arrays, where the results of all rows are written. `to_rotations` is written to only where there are
        rotations and angular velocities.
    workers : int, optional
        Threads.

    Returns
    -------
    moved, rotated : ndarray, shape (k,), int32, or None
        Rows whose position, or rotation, is not the same to the bit, ascending; None for more than an eighth of all,
        and for rotations where nothing rotates.

    Raises
    ------
    ValueError
        A result is not finite, or a zero quaternion would have to rotate; names such a row. What has been written
        means nothing.

    Notes
    -----
    One pass over all rows, in blocks that stay in the cache: about 1 ns a number. Releases the GIL.

    Examples
    --------
    >>> import numpy as np
    >>> positions, after = np.zeros((2, 2)), np.empty((2, 2))
    >>> _ = integrate(positions, np.ones((2, 2)), None, None, np.array([1, 0], np.uint8), 0.5, after)
    >>> after
    array([[0.5, 0.5],
           [0. , 0. ]])
    """
    if rotations is None or angular_velocities is None or to_rotations is None:
        found: Any = _native.integrate(positions, velocities, None, None, moves, dt, to_positions, None, workers)
    else:
        count = len(rotations)
        found = _native.integrate(
            positions,
            velocities,
            rotations.reshape(count, -1),
            angular_velocities.reshape(count, -1),
            moves,
            dt,
            to_positions,
            to_rotations.reshape(count, -1),
            workers,
        )
    row, moved, rotated = found
    if row >= 0:
        refuse_motion(row, positions, velocities, rotations, angular_velocities, dt)
    return moved, rotated


def refuse_motion(
    row: int,
    positions: Floats,
    velocities: Floats,
    rotations: Floats | None,
    angular_velocities: Floats | None,
    dt: float,
) -> NoReturn:
    """Say that a row cannot move."""
    values = f"position {positions[row].tolist()}, velocity {velocities[row].tolist()}"
    if rotations is not None and angular_velocities is not None:
        values += f", rotation {rotations[row].tolist()}, angular velocity {angular_velocities[row].tolist()}"
    raise ValueError(f"row {row} cannot move for a time of {dt}: {values}; the result is not finite")
