"""What is in the world, and how it gets in, out and about."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.shapes import Shapes, shape_from_record
from broadphase.world.broad_phase import BroadPhase
from broadphase.world.columns import STATIC, Columns
from broadphase.world.ignored import Ignored
from broadphase.world.layers import Layers
from broadphase.world.memory import Memory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase.index.box_index import BoxIndex
    from broadphase.shapes import Shape
    from broadphase.world.actors import Actors
    from broadphase.world.frame import Frame
    from broadphase.world.handlers import Handlers

__all__ = ["WorldState"]


class WorldState:
    """Rows of the world; see `broadphase.World` for the whole."""

    _actors: Actors
    _handlers: Handlers

    def __init__(
        self,
        dimension: int,
        method: str,
        bounds: NDArray[np.float64] | None,
        border: str,
        margin: float | None,
        workers: int,
    ) -> None:
        self._bounds, self._border = bounds, border
        self._columns = Columns(dimension)
        self._memory = Memory()
        self._guard = _native.Guard("world")
        self._layers = Layers()
        self._broad_phase = BroadPhase(self._columns, method, margin, workers)
        self._arranging = threading.RLock()
        self._ignored = Ignored()
        self._number, self._time = 0, 0.0
        self._last_frame: weakref.ref[Frame] | None = None
        # Rows that were put elsewhere, and whose shapes are not there yet.
        self._displaced: list[NDArray[np.int32]] = []
        # Handles of what has left the world, and has not been told of.
        self._gone = np.empty(0, np.int64)
        # Flags by slot that follow from kinds, sleep and life; None: to be made again.
        self._moving: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return self._columns.rows.living

    @property
    def dim(self) -> int:
        """Number of axes: 2 or 3."""
        return self._columns.dimension

    @property
    def slots(self) -> int:
        """Every row is below this number: the length of all arrays by row."""
        return self._columns.slots

    @property
    def bounds(self) -> NDArray[np.float64] | None:
        """Lower and upper corner of the world, shape (2, d), or None. Read-only."""
        return self._bounds

    @property
    def border(self) -> str:
        """What happens at the bounds: "none", "bounce", "wrap" or "remove"."""
        return self._border

    @property
    def method(self) -> str:
        """How pairs are found. Set it to another method at will: events do not depend on it."""
        return self._broad_phase.method

    @method.setter
    def method(self, method: str) -> None:
        with self._guard.changing:
            self._broad_phase = BroadPhase(self._columns, method, self._broad_phase.margin, self._broad_phase.workers)

    @property
    def time(self) -> float:
        """Seconds that all steps took together."""
        return self._time

    @property
    def frame_number(self) -> int:
        """Of the last step; 0 before the first."""
        return self._number

    @property
    def frame(self) -> Frame | None:
        """What the last step found, as long as somebody holds it."""
        return None if self._last_frame is None else self._last_frame()

    @property
    def touching(self) -> NDArray[np.int32]:
        """Pairs that touched at the last step, less those of rows removed since: shape (m, 2), lexicographic order."""
        pairs = self._memory.touching
        if self._memory.generations is None:
            return pairs
        renewed = self._columns.renewed
        lasting: NDArray[np.int32] = pairs[(renewed[pairs[:, 0]] | renewed[pairs[:, 1]]) == 0]
        return lasting

    @property
    def rows(self) -> NDArray[np.int32]:
        """The rows that are in use, ascending. Read-only."""
        return self._columns.rows.numbers

    @property
    def positions(self) -> NDArray[np.float64]:
        """Where things are, shape (slots, d): a view, to be written to at will. Get it anew after adding things."""
        return self._columns.positions[: self.slots]

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Length units a second, shape (slots, d): a view, to be written to at will."""
        return self._columns.velocities[: self.slots]

    @property
    def rotations(self) -> NDArray[np.float64]:
        """Radians, shape (slots,), or quaternions (w, x, y, z), shape (slots, 4): a view, to be written to at will."""
        return self._columns.with_rotations()[: self.slots]

    @property
    def spins(self) -> NDArray[np.float64]:
        """Radians a second, shape (slots,), or about each axis, (slots, 3): a view, to be written to at will."""
        self._columns.with_rotations()
        return self._columns.with_spins()[: self.slots]

    @property
    def boxes(self) -> NDArray[np.float64]:
        """Boxes around the shapes where the world saw them last, shape (slots, 2, d). Read-only."""
        return _shown(self._columns.rows.corners[: self.slots])

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which rows are in use, shape (slots,). Read-only."""
        return _shown(self._columns.rows.alive[: self.slots])

    @property
    def generations(self) -> NDArray[np.int64]:
        """How often each row was removed, plus one, shape (slots,). Read-only."""
        return _shown(self._columns.rows.generation[: self.slots])

    @property
    def kinds(self) -> NDArray[np.uint8]:
        """Places in ("dynamic", "static", "kinematic"), shape (slots,). Read-only."""
        return _shown(self._columns.kinds[: self.slots])

    @property
    def layers(self) -> NDArray[np.uint64]:
        """Bits of the layers of each row, shape (slots,). Read-only: see `set_filters`."""
        bits = self._columns.rows.bits[0]
        return _shown(np.ones(self.slots, np.uint64) if bits is None else bits)

    @property
    def masks(self) -> NDArray[np.uint64]:
        """Bits of the layers that each row meets, shape (slots,). Read-only: see `set_filters`."""
        bits = self._columns.rows.bits[1]
        return _shown(np.full(self.slots, ~np.uint64(0)) if bits is None else bits)

    @property
    def groups(self) -> NDArray[np.int64]:
        """Group of each row, shape (slots,), 0 for none. Read-only: see `set_filters`."""
        return self._columns.seldom("groups")

    @property
    def sensors(self) -> NDArray[np.bool_]:
        """Which rows have events but no contacts, shape (slots,). Read-only."""
        return self._columns.seldom("sensors")

    @property
    def fast(self) -> NDArray[np.bool_]:
        """Which rows are looked for along their whole way, shape (slots,). Read-only."""
        return self._columns.seldom("fast")

    @property
    def every(self) -> NDArray[np.int32]:
        """In how many steps each row is looked at once, shape (slots,). Read-only."""
        return self._columns.seldom("every")

    @property
    def asleep(self) -> NDArray[np.bool_]:
        """Which rows sleep, shape (slots,). Read-only: see `sleep` and `wake`."""
        return self._columns.seldom("asleep")

    @property
    def shapes(self) -> Shapes:
        """The shapes where the world saw them last, by row."""
        columns = self._columns
        return Shapes._around(
            columns.shapes,
            columns.geometries,
            columns.dimension,
            columns.rows.corners[: self.slots],
            columns.seen_positions[: self.slots],
            None if columns.seen_rotations is None else columns.seen_rotations[: self.slots],
            columns.rows.alive[: self.slots],
        )

    @property
    def index(self) -> BoxIndex:
        """The boxes of the world as an index, with the same rows. Boxes may be larger than those of the shapes."""
        with self._arranging:  # several threads may ask first
            self._place_displaced()
            return self._broad_phase.up_to_date()

    def stats(self) -> dict[str, Any]:
        """Say what is in the world, and what the last step was.

        Returns
        -------
        dict
            ``things``, ``static``, ``asleep``, ``pairs`` that touch, ``frame`` (the number of the last step), ``time``,
            ``method`` and ``bytes``; after a step also what `Frame.stats` has.
        """
        frame = self.frame
        of_step = {} if frame is None else dict(frame.stats)
        columns, rows = self._columns, self.rows
        return {
            **of_step,
            "method": self.method,
            "things": len(self),
            "static": int(np.count_nonzero(columns.kinds[rows] == STATIC)),
            "asleep": int(np.count_nonzero(self.asleep[rows])),
            "pairs": len(self.touching),
            "frame": self._number,
            "time": self._time,
            "bytes": columns.nbytes + self._broad_phase.nbytes + self._memory.touching.nbytes,
        }

    def handles(self, rows: ArrayLike | None = None) -> NDArray[np.int64]:
        """Name rows so that they are never taken for others, shape (k,); all `rows` if unset.

        Raises
        ------
        UnknownRowError
            A row that is not in use, by number.
        """
        return self._columns.rows.handles(self.rows if rows is None else rows)

    def rows_of(self, handles: ArrayLike) -> NDArray[np.int32]:
        """Find rows by their handles, shape (k,).

        Raises
        ------
        UnknownRowError
            A handle whose thing has been removed, for ever. It is a KeyError.
        """
        return self._columns.rows.rows_of(handles)

    def _moves(self) -> NDArray[np.uint8]:
        """Flag the rows, by slot, that a step moves and looks at."""
        if self._moving is None:
            columns, slots = self._columns, self.slots
            moving = columns.rows.alive[:slots] & (columns.kinds[:slots] != STATIC)
            if columns.asleep is not None:
                moving &= ~columns.asleep[:slots]
            self._moving = moving.view(np.uint8)
        return self._moving

    def _place_displaced(self) -> None:
        """Let shapes follow rows that were put elsewhere."""
        if self._displaced:
            self._settle()
            rows = np.unique(np.concatenate(self._displaced))
            rows = rows[self._columns.rows.alive[rows]]
            self._columns.require_places(rows)
            self._columns.place(rows)
            self._displaced.clear()

    def _settle(self) -> None:
        """Let who holds the last frame have its contacts, before shapes are changed."""
        if (frame := self.frame) is not None:
            frame._settle()

    def _shape_of(self, row: int) -> Shape:
        columns = self._columns
        records: Any = columns.shapes.records(np.array([row], np.int32))
        kinds, _, numbers = records
        return shape_from_record(int(kinds[0]), numbers, columns.dimension, columns.geometries)


def _shown(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
