"""What moves by itself: positions by velocities, rotations by angular velocities; and where shapes are then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from broadphase import _native

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from broadphase.world.columns import Columns

    Floats = NDArray[np.float64]
    Flags = NDArray[np.uint8]
    Rows = NDArray[np.int32]

__all__ = ["Advanced", "advance"]


class Advanced(NamedTuple):
    """Where rows are after a motion.

    Attributes
    ----------
    positions : ndarray, shape (capacity, d), float64
    rotations : ndarray, shape (capacity,) or (capacity, 4), float64, or None
    wrapped : ndarray, shape (k,), int32
        Rows that came in at the other side of the world.
    shifted, rotated : ndarray, shape (k,), int32, or None
        Rows whose position, or rotation, the motion has changed, ascending; None for more than an eighth of all.
    growth : float
        By how much boxes reach beyond those that were seen, along any axis; in a periodic world, whole worlds apart.
    """

    positions: Floats
    rotations: Floats | None
    wrapped: Rows
    shifted: Rows | None
    rotated: Rows | None
    growth: float


def advance(
    columns: Columns,
    rows: Rows | None,
    look: Flags,
    changed: Flags,
    dt: float,
    wraps: Flags | None = None,
    workers: int = 1,
) -> Advanced:
    """Move what moves by itself, and place shapes that are elsewhere than they were seen in the spare placement.

    ``positions + velocities * dt``. In the plane ``rotations + angular_velocities * dt``, without wrapping. In space a
    rotation is rotated about the axis of its angular velocity, given in the world, by its length times `dt`: exactly,
    by the exponential map; the quaternion is then of length 1. A row without velocity, or angular velocity, keeps its
    position, or rotation, to the bit.

    Parameters
    ----------
    columns : Columns
    rows : ndarray, shape (k,), int32, or None
        Rows that can be elsewhere than they were seen, ascending; None: all. Of the arrays returned, only these rows
        mean anything.
    look : ndarray, shape (slots,), uint8
        Rows that may be placed.
    changed : ndarray, shape (slots or more,), uint8
        Those that are placed are flagged here, and in ``columns.moved``.
    dt : float
        The time; may be negative.
    wraps : ndarray, shape (slots,), uint8, optional
        Rows that come in at the other side of the world.
    workers : int, optional
        Threads.

    Raises
    ------
    ValueError
        A row whose position or rotation is not finite then; names it. What has been written to the spare placement is
        marked as stale.

    Notes
    -----
    One pass over the rows. Releases the GIL.
    """
    seen, spare = columns.seen, columns.spare
    # Rows that are seldom looked at move on, but their shapes do not.
    to_positions, to_rotations = columns.next_poses() if columns.update_intervals is not None else (None, None)
    found: Any = _native.advance(
        spare.store, rows, columns.positions, columns.velocities, columns.rotations, columns.angular_velocities,
        columns.moves(), dt, columns.bounds, wraps, to_positions, to_rotations, seen.positions,
        seen.rotations, spare.positions, spare.rotations, spare.boxes, look, columns.stale, changed, columns.moved,
        seen.boxes, columns.period, workers,
    )  # fmt: skip
    lost, nowhere, wrapped, shifted, rotated, growth = found
    if lost >= 0:
        _refuse_motion(columns, lost, dt)
    if nowhere >= 0:
        columns.refuse(nowhere, spare.positions[nowhere], None if spare.rotations is None else spare.rotations[nowhere])
    if to_positions is None:
        to_positions, to_rotations = spare.positions, spare.rotations
    return Advanced(to_positions, to_rotations, wrapped, shifted, rotated, growth)


def _refuse_motion(columns: Columns, row: int, dt: float) -> NoReturn:
    """Say that a row cannot move."""
    values = f"position {columns.positions[row].tolist()}, velocity {columns.velocities[row].tolist()}"
    if columns.rotations is not None and columns.angular_velocities is not None:
        values += f", rotation {columns.rotations[row].tolist()}"
        values += f", angular velocity {columns.angular_velocities[row].tolist()}"
    raise ValueError(f"row {row} cannot move for a time of {dt}: {values}; the result is not finite")
