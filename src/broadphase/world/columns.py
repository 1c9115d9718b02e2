"""What the world knows of each row: arrays by slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from broadphase import _native
from broadphase.index.store import BoxStore
from broadphase.shapes import Geometries
from broadphase.shapes.parameters import LARGEST
from broadphase.world.given import has_length
from broadphase.world.kinds import KINDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DYNAMIC", "SELDOM", "STATIC", "Columns"]

DYNAMIC, STATIC = KINDS.index("dynamic"), KINDS.index("static")

# Columns that few worlds need, and what a row has there that was given nothing. They exist once a row was given more.
SELDOM: dict[str, tuple[type[np.generic], int]] = {
    "groups": (np.int64, 0),
    "sensors": (np.bool_, 0),
    "fast": (np.bool_, 0),
    "every": (np.int32, 1),
    "asleep": (np.bool_, 0),
}


class Columns:
    """Positions, velocities and all else by slot, and the boxes of the shapes as of the last look.

    Attributes
    ----------
    rows : Rows
        Boxes, slots, generations, layers and masks.
    positions, velocities : ndarray, shape (capacity, d), float64
        What the user may write.
    rotations, spins : ndarray, shape (capacity,) or (capacity, 4) and (capacity, 3), or None
        None as long as nobody asked for them, and nothing was turned.
    seen_positions, seen_rotations : ndarray or None
        Where the shapes were placed last.
    kinds : ndarray, shape (capacity,), uint8
        Numbers of `KINDS`.
    groups, sensors, fast, every, asleep : ndarray, shape (capacity,), or None
        None where no row has anything but nothing.
    changed : ndarray, shape (capacity,), uint8
        Rows whose pairs must be looked for at the next step.
    behind : ndarray, shape (capacity,), uint8
        Rows whose boxes may have left those that the index has of them.
    renewed : ndarray, shape (capacity,), uint8
        Rows that were removed since the last step, whether or not they are in use again.
    shapes : _native.ShapeStore
        Their shapes.
    geometries : Geometries
        What the shapes name by number.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.rows = BoxStore(np.empty((0, 2, dimension)))
        self.shapes = _native.ShapeStore(dimension)
        self.geometries = Geometries()
        self.positions = np.empty((0, dimension))
        self.velocities = np.empty((0, dimension))
        self.seen_positions = np.empty((0, dimension))
        self.rotations: NDArray[np.float64] | None = None
        self.seen_rotations: NDArray[np.float64] | None = None
        self.spins: NDArray[np.float64] | None = None
        self.kinds = np.empty(0, np.uint8)
        self.changed = np.empty(0, np.uint8)
        self.behind = np.empty(0, np.uint8)
        self.renewed = np.empty(0, np.uint8)
        self.groups: NDArray[np.int64] | None = None
        self.sensors: NDArray[np.bool_] | None = None
        self.fast: NDArray[np.bool_] | None = None
        self.every: NDArray[np.int32] | None = None
        self.asleep: NDArray[np.bool_] | None = None

    @property
    def slots(self) -> int:
        """Every row is below."""
        return self.rows.slots

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, and of the shapes but hulls and meshes."""
        arrays = sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))
        return arrays + self.rows.nbytes + self.shapes.memory_bytes

    def reserve(self) -> None:
        """Make all arrays as long as those of `rows`, which has just grown."""
        capacity = len(self.rows.corners)
        more = capacity - len(self.positions)
        if more <= 0:
            return
        grown: dict[str, NDArray[Any]] = {}
        for name, blank in self._blanks(more).items():
            grown[name] = np.concatenate([getattr(self, name), blank])
        vars(self).update(grown)

    def _blanks(self, count: int) -> dict[str, NDArray[Any]]:
        d = self.dimension
        blanks: dict[str, NDArray[Any]] = {name: np.zeros((count, d)) for name in ("positions", "velocities")}
        blanks["seen_positions"] = np.zeros((count, d))
        blanks.update({name: np.zeros(count, np.uint8) for name in ("kinds", "changed", "behind", "renewed")})
        if self.rotations is not None:
            blanks["rotations"] = blanks["seen_rotations"] = unturned(count, d)
        if self.spins is not None:
            blanks["spins"] = np.zeros(count if d == 2 else (count, 3))
        for name, (dtype, value) in SELDOM.items():
            if getattr(self, name) is not None:
                blanks[name] = np.full(count, value, dtype)
        return blanks

    def with_rotations(self) -> NDArray[np.float64]:
        """Rotations by slot, made if need be."""
        if self.rotations is None:
            self.seen_rotations = unturned(len(self.positions), self.dimension)
            self.rotations = self.seen_rotations.copy()
        return self.rotations

    def with_spins(self) -> NDArray[np.float64]:
        """Spins by slot, made if need be."""
        if self.spins is None:
            count = len(self.positions)
            self.spins = np.zeros(count if self.dimension == 2 else (count, 3))
        return self.spins

    def set_seldom(self, name: str, rows: NDArray[np.int32], values: NDArray[Any]) -> None:
        """Write to one of the columns that few worlds need; all it takes to keep it away is that nobody needs it."""
        dtype, nothing = SELDOM[name]
        column = getattr(self, name)
        if column is None:
            if (values == nothing).all():
                return
            column = np.full(len(self.positions), nothing, dtype)
            setattr(self, name, column)
        column[rows] = values

    def seldom(self, name: str) -> NDArray[Any]:
        """One of those columns, up to the last slot in use, to be read only."""
        dtype, nothing = SELDOM[name]
        column = getattr(self, name)
        shown: NDArray[Any] = np.full(self.slots, nothing, dtype) if column is None else column[: self.slots].view()
        shown.flags.writeable = False
        return shown

    def place(self, rows: NDArray[np.int32]) -> None:
        """Put the shapes of rows where these are, make their boxes, and count them as changed."""
        self.changed[rows] = self.behind[rows] = 1  # first, whatever comes between
        self.shapes.place(
            rows, self.positions, self.rotations, self.seen_positions, self.seen_rotations, self.rows.corners
        )

    def place_where_seen(self, rows: NDArray[np.int32]) -> None:
        """Put shapes that are others now where those before them were seen last, and make their boxes."""
        self.changed[rows] = self.behind[rows] = 1
        self.shapes.place(
            rows, self.seen_positions, self.seen_rotations, self.seen_positions, self.seen_rotations, self.rows.corners
        )

    def notice(self, look: NDArray[np.uint8]) -> int:
        """Place the shapes of those rows that were moved, of those to be looked at; give their number."""
        noticed = self.shapes.notice(
            self.positions, self.rotations, self.seen_positions, self.seen_rotations, self.rows.corners, look,
            self.changed, self.behind,
        )  # fmt: skip
        if noticed < 0:  # those before it have been placed
            self._refuse(-1 - noticed)
        return noticed

    def require_places(self, rows: NDArray[np.int32]) -> None:
        """Refuse rows that have no place or no rotation."""
        nowhere = ~(np.abs(self.positions[rows]) <= LARGEST).all(axis=1)
        if self.rotations is not None:
            turns = self.rotations[rows]
            nowhere |= ~(np.abs(turns) <= LARGEST).all(axis=tuple(range(1, turns.ndim)))
            if self.dimension == 3:
                with np.errstate(over="ignore", invalid="ignore"):
                    nowhere |= ~has_length(turns)
        if nowhere.any():
            self._refuse(int(rows[np.argmax(nowhere)]))

    def known(self, rows: Any) -> NDArray[np.int32]:
        """Rows as the caller names them, checked to be in use, none twice."""
        return self.rows.distinct(rows)

    def _refuse(self, row: int) -> NoReturn:
        turn = "" if self.rotations is None else f", rotation {self.rotations[row]}"
        raise ValueError(f"row {row} is nowhere: position {self.positions[row]}{turn}")


def unturned(count: int, dimension: int) -> NDArray[np.float64]:
    """Rotations that turn nothing."""
    if dimension == 2:
        return np.zeros(count)
    rotations = np.zeros((count, 4))
    rotations[:, 0] = 1.0
    return rotations
