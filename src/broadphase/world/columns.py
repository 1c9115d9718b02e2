"""Every array of a world that has a row for each body."""

from __future__ import annotations

import weakref
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, cast

import numpy as np

from broadphase import _native
from broadphase.change import Change
from broadphase.filters import ALL_BITS, PairFilter
from broadphase.index.store import BoxStore
from broadphase.shapes import Shapes
from broadphase.shapes.parameters import LARGEST
from broadphase.shapes.records import Geometries, Records, geometry_numbers
from broadphase.world.layers import Layers
from broadphase.world.values import (
    BODY_TYPES,
    BOUNDARIES,
    DYNAMIC,
    as_flags,
    as_whole_numbers,
    is_rotation,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.world.values import Boundary

    Floats = NDArray[np.float64]
    Flags = NDArray[np.uint8]

__all__ = ["COLUMNS", "Column", "Columns", "Placement"]


class Column(NamedTuple):
    """An array with an entry for each row, as snapshots hold it; its name is the key in the table."""

    dtype: type[np.generic]
    blank: Any = 0  # what rows have that were given nothing
    in_space: Any = None  # the same in space, if it differs
    argument: str | None = None  # of `World.add`, for what few bodies need; "": it is not given there
    least: float = -np.inf
    most: float = np.inf
    part: str = ""  # the attribute of `Columns` that has the array, if these have it not themselves
    is_always: bool = False  # others are allocated on first write, and None while all rows are blank

    def may_hold(self, values: NDArray[Any]) -> bool:
        """Say whether rows may have these values; where there are limits, NaN is not among them."""
        low, high = self.least == -np.inf or values >= self.least, self.most == np.inf or values <= self.most
        return bool(np.all(low) and np.all(high))


_VECTOR = (0.0, 0.0), (0.0, 0.0, 0.0)
_TURN = 0.0, (1.0, 0.0, 0.0, 0.0)
_SEEN: Any = {"part": "seen", "least": -LARGEST, "most": LARGEST}
COLUMNS: dict[str, Column] = {
    "positions": Column(np.float64, *_VECTOR, is_always=True),
    "velocities": Column(np.float64, *_VECTOR, is_always=True),
    "seen_positions": Column(np.float64, *_VECTOR, **_SEEN, is_always=True),
    "body_types": Column(np.uint8, most=len(BODY_TYPES) - 1, is_always=True),  # places in `BODY_TYPES`
    "rotations": Column(np.float64, *_TURN),
    "seen_rotations": Column(np.float64, *_TURN, **_SEEN),
    "angular_velocities": Column(np.float64, 0.0, (0.0, 0.0, 0.0)),
    "layer": Column(np.uint64, 1, part="rows"),
    "mask": Column(np.uint64, ALL_BITS, part="rows"),
    "boundaries": Column(np.uint8, most=len(BOUNDARIES) - 1),  # places in `BOUNDARIES`; blank is that of the world
    "groups": Column(np.int64, argument="group"),
    "sensors": Column(np.bool_, False, argument="sensor"),
    "ccd": Column(np.bool_, False, argument="ccd"),
    "update_intervals": Column(np.int32, 1, argument="update_interval", least=1),
    "asleep": Column(np.bool_, False, argument=""),
    "batches": Column(np.int64, argument="batch"),
}
# What `World.add` takes for few bodies, in this order, and its default.
_PLAIN = {one.argument: one.blank for one in COLUMNS.values() if one.argument}
_BLANKS = {
    dim: {
        name: one.dtype(one.blank if dim == 2 or one.in_space is None else one.in_space)
        for name, one in COLUMNS.items()
    }
    for dim in (2, 3)
}
# Flags of rows that are not given: see `Columns`.
_MARKS = ("displaced", "changed", "renewed", "stale", "next_changed", "moved")
# What users may write to. Their views stay valid when the arrays grow: see `Columns.take_up_writes`.
_WRITABLE = ("positions", "velocities", "rotations", "angular_velocities")


class _Shown(Protocol):
    """What shows the contacts of a step, until shapes change."""

    @property
    def number(self) -> int: ...

    @property
    def contacts(self) -> object: ...


class Placement:
    """Shapes at the poses where they were placed, and their boxes; arrays by row. No rotations: nothing is rotated."""

    def __init__(self, dim: int, geometries: Geometries) -> None:
        self.store = _native.ShapeStore(dim, geometries.vertices)
        self.boxes: Floats = np.empty((0, 2, dim))
        self.positions: Floats = np.empty((0, dim))
        self.rotations: Floats | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays and the shapes."""
        turned = 0 if self.rotations is None else self.rotations.nbytes
        return self.boxes.nbytes + self.positions.nbytes + turned + self.store.memory_bytes


class Columns:
    """The bodies of a world: one row in each array, which has room for more rows than there are.

    There are two placements of the shapes. `seen` is what queries, contacts and frames are about; a step places what
    has moved in `spare`, and swaps the two when it has succeeded.
    """

    def __init__(self, dim: int, bounds: Floats | None, boundary: Boundary, closed: bool) -> None:
        self.dim, self.bounds = dim, bounds
        self.boundary = boundary  # of dynamic bodies that were given no other
        self.closed = closed  # whether bodies touch whose boxes only touch
        self.rows = BoxStore(np.empty((0, 2, dim)))  # slots, generations, bits; its corners are `seen.boxes`
        self.layers = Layers()
        self.geometries = Geometries()  # hulls, meshes and types of custom shapes that shapes refer to by number
        self.seen, self.spare = Placement(dim, self.geometries), Placement(dim, self.geometries)
        self.seen.boxes = self.rows.corners
        # What the user may write to.
        self.positions: Floats = np.empty((0, dim))
        self.velocities: Floats = np.empty((0, dim))
        # None as long as nobody asked for them and nothing is rotated.
        self.rotations: Floats | None = None
        self.angular_velocities: Floats | None = None
        self.body_types = np.empty(0, np.uint8)  # places in `BODY_TYPES`
        # None where all rows have the default.
        self.groups: NDArray[np.int64] | None = None
        self.sensors: NDArray[np.bool_] | None = None
        self.ccd: NDArray[np.bool_] | None = None
        self.update_intervals: NDArray[np.int32] | None = None
        self.asleep: NDArray[np.bool_] | None = None
        self.batches: NDArray[np.int64] | None = None
        self.boundaries: NDArray[np.uint8] | None = None
        # Pairs that are never reported, (k, 2), in lexicographic order; None for none.
        self.ignored: NDArray[np.int32] | None = None
        # Flags of rows: those that `World.move` put elsewhere, and whose shapes are not there yet,
        self.displaced, self.has_displaced = np.empty(0, np.uint8), False
        self.changed = np.empty(0, np.uint8)  # whose pairs must be searched for at the next step,
        self.renewed = np.empty(0, np.uint8)  # that were removed since the last step, even if they are in use again,
        self.stale = np.empty(0, np.uint8)  # that are elsewhere in `spare` than in `seen`.
        # A step computes into these, besides `spare`: rows that have changed; rows that have other boxes.
        self.next_changed, self.moved = np.empty(0, np.uint8), np.empty(0, np.uint8)
        # Generations of the rows at the last step. None: as they are, because nothing was removed since.
        self.generation_then: NDArray[np.int64] | None = None
        self.version = 1  # larger whenever rows come or leave, or begin or stop moving
        self.writes = 0  # larger whenever arrays are given out to be written to, or velocities are written
        self.frame: weakref.ref[_Shown] | None = None  # of the last step, if somebody holds it
        # Number of the frame whose contacts can be computed: its shapes are still where they were. 0: none.
        self.contacts_of = 0
        # Arrays that have been replaced by longer ones, and that somebody still holds: name, array, values when last
        # compared.
        self._replaced: list[tuple[str, weakref.ref[Floats], Floats]] = []
        self._view: Shapes | None = None

    @property
    def slots(self) -> int:
        """Every row is below this number."""
        return self.rows.slots

    @property
    def period_bounds(self) -> Floats | None:
        """The bounds of a periodic world, or None."""
        return self.bounds if self.boundary == "wrap" else None

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, and of the shapes but for hulls and meshes."""
        arrays = sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))
        return arrays + self.rows.nbytes + self.seen.nbytes + self.spare.nbytes - self.seen.boxes.nbytes

    @property
    def view(self) -> Shapes:
        """The placed shapes by row. One object, which follows every change."""
        if self._view is None:
            self._view = self.shapes_of(self.seen)
        return self._view

    def shapes_of(self, placement: Placement, slots: int | None = None) -> Shapes:
        """Give the shapes of a placement by row."""
        slots, rotations = self.slots if slots is None else slots, placement.rotations
        return Shapes._around(
            placement.store,
            self.geometries,
            self.dim,
            placement.boxes[:slots],
            placement.positions[:slots],
            None if rotations is None else rotations[:slots],
            self.rows.alive[:slots],
        )

    def show(self, change: Change, placement: Placement, slots: int | None = None) -> None:
        """Have the `view` of shapes show a placement."""
        if self._view is not None:
            change.update(vars(self._view), vars(self.shapes_of(placement, slots)))

    # Room -----------------------------------------------------------------------------------------------------------

    def free_rows(self, count: int) -> NDArray[np.int32]:
        """Give the rows that so many new bodies get, and make room for them in all arrays."""
        kept = self.rows
        if count == 1 and kept.living == kept.slots < len(self.positions):  # many are added one by one
            return np.array([kept.slots], np.int32)
        rows = kept.next_rows(count)
        if count and rows[-1] >= len(self.positions):
            change, grown = Change(), kept.grown(int(rows[-1]) + 1)
            change.assign(kept, **grown)
            self._lengthen(change, grown["corners"], grown["alive"])
            change.commit()
        return rows

    def reserve(self) -> None:
        """Make all arrays as long as those of `rows`."""
        change = Change()
        self._lengthen(change, self.rows.corners, self.rows.alive)
        change.commit()

    def _lengthen(self, change: Change, corners: Floats, alive: NDArray[np.bool_]) -> None:
        """Make all arrays as long as those of the rows, of which the corners are the boxes that are seen."""
        more = len(corners) - len(self.positions)
        change.assign(self.seen, boxes=corners)
        if more <= 0:
            return
        grown: dict[str, Any] = {name: _longer(getattr(self, name), np.zeros(more, np.uint8)) for name in _MARKS}
        for name, one in COLUMNS.items():
            if not one.part and (column := getattr(self, name)) is not None:
                grown[name] = _longer(column, self.blanks(name, more))
        for place in (self.spare, self.seen):
            positions = _longer(place.positions, self.blanks("positions", more))
            rotations = None if place.rotations is None else _longer(place.rotations, self.blanks("rotations", more))
            change.assign(place, positions=positions, rotations=rotations)
        if self._view is not None:
            slots = self.slots
            turned = None if rotations is None else rotations[:slots]
            change.assign(
                self._view,
                _boxes=corners[:slots],
                _positions=positions[:slots],
                _rotations=turned,
                _alive=alive[:slots],
            )
        change.assign(self.spare, boxes=_longer(self.spare.boxes, np.zeros((more, 2, self.dim))))
        replaced = [(name, getattr(self, name)) for name in _WRITABLE if name in grown]
        grown["_replaced"] = self._replaced + [(name, weakref.ref(old), old.copy()) for name, old in replaced]
        change.assign(self, **grown)

    def given_out(self, column: Floats) -> Floats:
        """Give a view of a column to somebody, who may write to it."""
        self.take_up_writes()
        self.writes += 1
        return column[: self.slots]

    def take_up_writes(self) -> None:
        """Write to the columns what users have written to arrays that these have replaced."""
        if not self._replaced:
            return
        self._replaced = [entry for entry in self._replaced if entry[1]() is not None]
        for name, reference, known in self._replaced:
            array = reference()
            if array is None:
                continue
            written = array.view(np.uint64) != known.view(np.uint64)
            if written.any():
                column, change = getattr(self, name), Change()
                values = column.copy()
                values[: len(array)][written] = array[written]
                change.write(column, values)
                change.write(known, array.copy())
                change.commit()

    def take_up_row(self, row: int) -> None:
        """Do what `take_up_writes` does, if anything was written to a row: the rest can wait for the next call."""
        for _, reference, known in self._replaced:
            array = reference()
            if array is not None and row < len(array) and array[row].tobytes() != known[row].tobytes():
                self.take_up_writes()
                return

    def refresh_replaced(self) -> None:
        """Show the values of the columns in arrays that these have replaced, and that somebody holds."""
        if not self._replaced:
            return
        change = Change()
        for name, reference, known in self._replaced:
            array = reference()
            if array is not None:
                values = getattr(self, name)[: len(array)]
                change.write(array, values)
                change.write(known, values)
        change.commit()

    def with_rotations(self) -> Floats:
        """Give the rotations, allocated if need be."""
        if self.rotations is None:
            change = Change()
            first, second, third = (self.blanks("rotations", len(self.positions)) for _ in range(3))
            change.assign(self.seen, rotations=first)
            change.assign(self.spare, rotations=second)
            change.assign(self, rotations=third)
            if self._view is not None:
                change.assign(self._view, _rotations=first[: self.slots])
            change.commit()
        return cast("Floats", self.rotations)

    def with_angular_velocities(self) -> Floats:
        """Give the angular velocities, allocated if need be, and rotations with them."""
        self.with_rotations()
        if self.angular_velocities is None:
            self.angular_velocities = self.blanks("angular_velocities", len(self.positions))
        return self.angular_velocities

    def checked_rare(self, given: dict[str, Any], count: int) -> dict[str, NDArray[Any]]:
        """Check values of new rows, by argument as in `_PLAIN`; give those of the columns that must be written."""
        checked: dict[str, NDArray[Any]] = {}
        if all(map(is_, given.values(), _PLAIN.values())) and (
            self.groups is None and self.sensors is None and self.ccd is None and self.update_intervals is None
            and self.asleep is None and self.batches is None
        ):  # fmt: skip
            return checked
        for name, one in COLUMNS.items():
            if one.argument is None:
                continue
            value = given.get(one.argument, one.blank)
            if getattr(self, name) is None and type(value) is type(one.blank) and value == one.blank:
                continue
            if one.dtype is np.bool_:
                checked[name] = as_flags(value, one.argument, count)
            else:
                least = None if one.least == -np.inf else int(one.least)
                checked[name] = as_whole_numbers(value, one.argument, count, cast("Any", one.dtype), least)
        return checked

    def set_rare(self, change: Change, name: str, rows: NDArray[np.int32], values: NDArray[Any]) -> None:
        """Write to such a column, or to `boundaries`; it is allocated when a value differs from the default."""
        column: NDArray[Any] | None = getattr(self, name)
        if column is not None:
            change.write(column, values, rows)
        elif (values != self.defaults(name, self.body_types[rows])).any():
            column = self.defaults(name, self.body_types)
            column[rows] = values
            change.assign(self, **{name: column})

    def rare(self, name: str) -> NDArray[Any]:
        """Give a column up to the last slot in use, read-only."""
        column: NDArray[Any] | None = getattr(self.rows if name in ("layer", "mask") else self, name)
        shown = self.defaults(name, self.body_types[: self.slots]) if column is None else column[: self.slots].view()
        shown.flags.writeable = False
        return shown

    def owner_of(self, name: str) -> tuple[Any, str]:
        """Give what has a column, and its attribute."""
        part = COLUMNS[name].part
        return getattr(self, part) if part else self, name.removeprefix("seen_")

    def defaults(self, name: str, body_types: NDArray[np.uint8]) -> NDArray[Any]:
        """Give what bodies of these types have in such a column if they were given nothing."""
        if name == "boundaries":
            return np.where(body_types == DYNAMIC, self.blank(name), np.uint8(0))
        one = COLUMNS[name]
        return np.full(len(body_types), one.blank, one.dtype)

    def blank(self, name: str) -> Any:
        """Give what a column has in a row that was given nothing: a number, or a few."""
        return np.uint8(BOUNDARIES.index(self.boundary)) if name == "boundaries" else _BLANKS[self.dim][name]

    def blanks(self, name: str, count: int) -> NDArray[Any]:
        """Give a column of so many rows that were given nothing."""
        blank = self.blank(name)
        return np.full((count, *blank.shape), blank, blank.dtype)

    # Bodies that come and go -----------------------------------------------------------------------------------------

    def fill(
        self,
        rows: NDArray[np.int32],
        records: Records,
        body_types: NDArray[np.uint8],
        positions: Floats,
        velocities: Floats | None,
        rotations: Floats | None,
        angular_velocities: Floats | None,
    ) -> None:
        """Write to rows that are not in use what they are to be: nobody sees that."""
        if self.rows.living < self.slots:
            self.settle()  # shapes of removed rows make room
        if rotations is not None or angular_velocities is not None:
            self.with_rotations()
        if angular_velocities is not None:
            self.with_angular_velocities()
        seen = self.seen
        _native.fill(
            seen.store, self.spare.store, rows, *records, body_types, positions, velocities, rotations,
            angular_velocities, self.positions, self.velocities, self.rotations, self.angular_velocities,
            seen.positions, seen.rotations, seen.boxes, self.body_types, self.stale,
        )  # fmt: skip

    def insert(self, change: Change, rows: NDArray[np.int32], records: Records) -> None:
        """Take into use the rows that `fill` has filled."""
        self.rows.insert_rows(change, rows)
        change.flag(self.changed, True, rows)
        change.assign(self, version=self.version + 1)
        if self._view is not None:
            self.show(change, self.seen, max(self.slots, int(rows[-1]) + 1 if len(rows) else 0))
        self.count_geometries(change, used=records)

    def remove(self, change: Change, rows: NDArray[np.int32]) -> None:
        """Take rows out of use."""
        self.rows.remove_rows(change, rows)
        for column in (self.changed, self.velocities, self.displaced):
            change.clear(column, rows)
        ignored = self.ignored
        if ignored is not None:
            kept = ignored[~np.isin(ignored, rows).any(axis=1)]
            ignored = kept if len(kept) else None
        change.assign(self, ignored=ignored, version=self.version + 1)
        if self.geometries:
            self.count_geometries(change, released=self.seen.store.records(rows))

    def count_geometries(self, change: Change, used: Any = None, released: Any = None) -> None:
        """Count hulls and meshes that records use, and others that they use no longer."""
        if self.geometries:
            numbers = (None if records is None else geometry_numbers(*records) for records in (used, released))
            change.assign(self.geometries, references=self.geometries.counted(*numbers))

    def set_bits(
        self, change: Change, rows: NDArray[np.int32], layer: NDArray[np.uint64] | None, mask: NDArray[np.uint64] | None
    ) -> None:
        """Write layers and masks; None leaves them as they are."""
        if layer is None and mask is None:
            return
        # Without layers, rows are in the layer "default"; to the index, none would mean all.
        for name, bits, blank in (("layer", layer, 1), ("mask", mask, ALL_BITS)):
            kept = getattr(self.rows, name)
            if kept is None and (name == "layer" or bits is not None):
                kept = np.full(len(self.positions), blank, np.uint64)
                if bits is not None:
                    kept[rows] = bits
                change.assign(self.rows, **{name: kept})
            elif bits is not None:
                change.write(kept, bits, rows)

    # Shapes ---------------------------------------------------------------------------------------------------------

    def set_shapes(self, change: Change, rows: NDArray[np.int32], records: Records) -> None:
        """Give rows other shapes, and place them where those before them were seen last."""
        seen = self.seen
        change.set_shapes(seen.store, rows, records, seen.positions, seen.rotations, seen.boxes)
        change.set_shapes(self.spare.store, rows, records)
        change.flag(self.changed, True, rows)
        change.flag(self.stale, True, rows)

    def settle(self) -> None:
        """Compute the contacts of the last frame, if somebody holds it: shapes are about to be changed.

        If nobody does, these contacts have expired, whatever becomes of the change.
        """
        if self.contacts_of:
            frame = None if self.frame is None else self.frame()
            if frame is not None and frame.number == self.contacts_of:
                _ = frame.contacts
            self.contacts_of = 0

    def place_displaced(self, rows: NDArray[np.int32]) -> None:
        """Place the shapes of the rows that were put elsewhere. May be repeated."""
        # Copies: other threads may write to the columns meanwhile.
        positions, rotations = self.positions[rows], None if self.rotations is None else self.rotations[rows]
        self._require_places(rows, positions, rotations)
        self.settle()
        seen, change = self.seen, Change()
        change.write(seen.positions, positions, rows)
        if seen.rotations is not None and rotations is not None:
            change.write(seen.rotations, rotations, rows)
        change.place_shapes(seen.store, rows, seen.positions, seen.rotations, seen.boxes)
        change.flag(self.changed, True, rows)
        change.flag(self.stale, True, rows)
        change.clear(self.displaced)
        change.assign(self, has_displaced=False)
        change.commit()

    def _require_places(self, rows: NDArray[np.int32], positions: Floats, rotations: Floats | None) -> None:
        """Refuse rows without a finite position or rotation."""
        bad = ~(np.abs(positions) <= LARGEST).all(axis=1)
        if rotations is not None:
            bad |= ~(np.abs(rotations) <= LARGEST).all(axis=tuple(range(1, rotations.ndim)))
            if self.dim == 3:
                with np.errstate(over="ignore", invalid="ignore"):
                    bad |= ~is_rotation(rotations)
        if bad.any():
            at = int(np.argmax(bad))
            self.refuse(int(rows[at]), positions[at], None if rotations is None else rotations[at])

    # Which pairs count ----------------------------------------------------------------------------------------------

    def filters(self) -> PairFilter:
        """Return which pairs count, by row; static rows are left to the caller."""
        layer, mask = self.rows.bits
        group = None if self.groups is None else self.groups[: self.slots]
        batch = None if self.batches is None else self.batches[: self.slots]
        return PairFilter(layer=layer, mask=mask, group=group, ignore_pairs=self.ignored, batch=batch)

    def refuse(self, row: int, position: Floats, rotation: Any) -> NoReturn:
        """Say that a row has no place."""
        if not (np.abs(position) <= LARGEST).all():
            far = "not finite" if not np.isfinite(position).all() else f"beyond {LARGEST:g}"
            raise ValueError(f"position of row {row} is {far}: {position}")
        fault = "not finite" if not (np.abs(rotation) <= LARGEST).all() else "a zero quaternion"
        raise ValueError(f"rotation of row {row} is {fault}: {rotation}")


def _longer(array: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([array, more])
