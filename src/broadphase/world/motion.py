"""What moves by itself: positions by velocities, rotations by spins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broadphase import _native

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["integrate"]


def integrate(
    positions: NDArray[np.float64],
    velocities: NDArray[np.float64],
    rotations: NDArray[np.float64] | None,
    spins: NDArray[np.float64] | None,
    moves: NDArray[np.uint8],
    dt: float,
) -> None:
    """Let rows go on for a time, in place.

    ``positions += velocities * dt``. In the plane ``rotations += spins * dt``, without end. In space a rotation is
    turned about the axis of its spin, given in the world, by its length times `dt`: exactly, by the exponential map;
    the quaternion is then of length 1. What has no velocity, or no spin, stays as it is to the bit.

    Parameters
    ----------
    positions, velocities : ndarray, shape (n, d), float64, C order
        Of `velocities`, length per time.
    rotations : ndarray, shape (n,) radians or (n, 4) quaternions (w, x, y, z), or None
        None: nothing turns.
    spins : ndarray, shape (n,) or (n, 3), or None
        Radians per time.
    moves : ndarray, shape (n,), uint8
        1, or 0 for rows that are not looked at.
    dt : float
        The time; may be negative.

    Raises
    ------
    ValueError
        A number of a row would be NaN or infinite, or it is to turn and its quaternion is zero. Names the first such
        row; nothing was changed.

    Notes
    -----
    Two passes over what moves: about 2 ns a number. Releases the GIL.

    Examples
    --------
    >>> import numpy as np
    >>> positions = np.zeros((2, 2))
    >>> integrate(positions, np.ones((2, 2)), None, None, np.array([1, 0], np.uint8), 0.5)
    >>> positions
    array([[0.5, 0.5],
           [0. , 0. ]])
    """
    turns = rotations is not None and spins is not None
    row = _native.integrate(
        positions,
        velocities,
        rotations.reshape(len(rotations), -1) if rotations is not None and turns else None,
        spins.reshape(len(spins), -1) if spins is not None and turns else None,
        moves,
        dt,
    )
    if row < 0:
        return
    told = f"position {positions[row].tolist()}, velocity {velocities[row].tolist()}"
    if rotations is not None and spins is not None:
        told += f", rotation {rotations[row].tolist()}, spin {spins[row].tolist()}"
    raise ValueError(f"row {row} cannot go on for a time of {dt}: {told}")
