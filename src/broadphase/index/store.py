"""The boxes of an index: one array of corners, and which of its rows are in use."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.arguments import as_array
from broadphase.boxes.forms import Boxes, as_corners, describe_invalid
from broadphase.errors import InvalidBoxError, UnknownRowError
from broadphase.filters import as_attribute

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BoxStore", "NewBoxes", "checked_corners"]

_MOST_SLOTS = 2**31 - 64
_LAST_GENERATION = 2**31 - 1
_ALL_BITS = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
# Up to here, taking single numbers from the heap of free slots is cheaper than sorting it.
_A_FEW = 8


class NewBoxes(NamedTuple):
    """Boxes that have been checked by `BoxStore.checked`, in its dtype.

    Attributes
    ----------
    lower, upper : ndarray, shape (k, d)
        Their corners.
    layer, mask : ndarray, shape (k,), uint64, or None
        Their bits; None where none were given.
    """

    lower: NDArray[Any]
    upper: NDArray[Any]
    layer: NDArray[np.uint64] | None = None
    mask: NDArray[np.uint64] | None = None


class BoxStore:
    """Boxes by slot number. A free slot is used again, the lowest first.

    Nothing here locks. Input is checked, by `checked`, `known` and `distinct`, before a change begins: a change of
    checked input fails for lack of memory only, and then before anything is written.

    Parameters
    ----------
    boxes : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
        The first boxes, copied. They decide `dim` and the dtype.
    layer, mask : array_like of uint64, shape (n,), or int, optional
        Bits for filtering. Default: all bits.

    Attributes
    ----------
    corners : ndarray, shape (capacity, 2, d), float32 or float64
        Lower and upper corner of each slot. A free slot keeps those of its last box.
    slots : int
        Number of slots that have ever been in use: all rows are below.
    living : int
        Number of slots in use.
    alive : ndarray, shape (capacity,), bool
        Which slots are in use.
    generation : ndarray, shape (capacity,), int64
        How often the box of a slot has been removed, plus one: this makes a handle stale.
    layer, mask : ndarray, shape (capacity,), uint64, or None
        None while no box was given one.
    """

    def __init__(self, boxes: Boxes, layer: Any = None, mask: Any = None) -> None:
        lower, upper = checked_corners(boxes, "boxes")
        count, dim = lower.shape
        _require_room(count)
        self.corners: NDArray[Any] = np.empty((count, 2, dim), lower.dtype)
        self.layer = None if layer is None else as_attribute("layer", layer, count, np.uint64).copy()
        self.mask = None if mask is None else as_attribute("mask", mask, count, np.uint64).copy()
        _native.keep_boxes(lower, upper, None, self.corners)
        self.slots: int = count
        self.living: int = count
        self.alive: NDArray[np.bool_] = np.ones(count, np.bool_)
        self.generation: NDArray[np.int64] = np.ones(count, np.int64)
        self._free: list[int] = []  # a heap
        # Made when they are needed; None: to be made again.
        self._numbers: NDArray[np.int32] | None = None
        self._views: tuple[NDArray[Any], NDArray[Any]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = {**vars(self), "_numbers": None, "_views": None}
        # Beyond the slots, the arrays were never written to.
        for name in ("corners", "alive", "generation", "layer", "mask"):
            state[name] = None if state[name] is None else state[name][: self.slots]
        return state

    @property
    def dim(self) -> int:
        """Number of axes."""
        dim: int = self.corners.shape[2]
        return dim

    @property
    def views(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Lower and upper corners of all slots, (slots, d), for the core to read."""
        if self._views is None:
            corners = self.corners[: self.slots]
            self._views = corners[:, 0], corners[:, 1]
        return self._views

    @property
    def bits(self) -> tuple[NDArray[np.uint64] | None, NDArray[np.uint64] | None]:
        """Layer and mask of all slots, (slots,) each, or None where no box was given one."""
        layer, mask = self.layer, self.mask
        return None if layer is None else layer[: self.slots], None if mask is None else mask[: self.slots]

    @property
    def numbers(self) -> NDArray[np.int32]:
        """The rows in use, ascending. Read-only."""
        if self._numbers is None:
            every = self.living == self.slots
            numbers = np.arange(self.slots) if every else np.flatnonzero(self.alive[: self.slots])
            self._numbers = numbers.astype(np.int32)
            self._numbers.flags.writeable = False
        return self._numbers

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.corners, self.alive, self.generation, self.layer, self.mask, self._numbers)
        return sum(array.nbytes for array in arrays if array is not None)

    def living_corners(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int32] | None]:
        """Lower and upper corners of the boxes in use, and their rows; views, and None, if all slots are in use."""
        lower, upper = self.views
        if self.living == self.slots:
            return lower, upper, None
        return lower[self.numbers], upper[self.numbers], self.numbers

    def known(self, rows: Any) -> NDArray[np.int32]:
        """Check that rows, in any order, are in use."""
        array = np.atleast_1d(as_array(rows, "rows"))
        if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
            raise TypeError(f"rows must be integers of shape (k,), not {array.dtype} of shape {array.shape}")
        if array.size and not 0 <= array.min() <= array.max() < self.slots:
            row = int(array[np.argmax((array < 0) | (array >= self.slots))])
            raise UnknownRowError(f"row {row} does not exist: there are {self.slots} rows")
        numbers = np.ascontiguousarray(array, dtype=np.int32)
        if self.living != self.slots:
            alive = self.alive.take(numbers)
            if np.count_nonzero(alive) != len(numbers):
                raise UnknownRowError(f"row {numbers[np.argmin(alive)]} has been removed")
        return numbers

    def distinct(self, rows: Any) -> NDArray[np.int32]:
        """Check rows as `known` does, and that no row is repeated."""
        numbers = self.known(rows)
        if len(numbers) > 1 and not (numbers[1:] > numbers[:-1]).all():
            ordered = np.sort(numbers)
            if (twice := ordered[1:] == ordered[:-1]).any():
                raise ValueError(f"row {ordered[np.argmax(twice)]} is repeated")
        return numbers

    def checked(self, boxes: Boxes, layer: Any = None, mask: Any = None) -> NewBoxes:
        """Check boxes, and convert them to the dtype of these; float32 takes only numbers that it holds exactly."""
        lower, upper = checked_corners(boxes, "boxes", self.dim)
        dtype, count = self.corners.dtype, len(lower)
        if lower.dtype != dtype:
            with np.errstate(over="ignore"):
                narrow = lower.astype(dtype), upper.astype(dtype)
            if dtype == np.float32:
                for given, kept in ((lower, narrow[0]), (upper, narrow[1])):
                    if (wrong := given != kept).any():
                        row, axis = np.argwhere(wrong)[0]
                        raise ValueError(
                            f"boxes: row {row} has {given[row, axis]}, which float32, the dtype of the index, does not"
                            " hold exactly: convert the boxes to float32, or make the index from float64 boxes"
                        )
            lower, upper = narrow
        if layer is None and mask is None:
            return NewBoxes(lower, upper)
        return NewBoxes(
            lower,
            upper,
            None if layer is None else as_attribute("layer", layer, count, np.uint64),
            None if mask is None else as_attribute("mask", mask, count, np.uint64),
        )

    def insert(self, boxes: NewBoxes) -> NDArray[np.int32]:
        """Give each of some `checked` boxes a slot, and return the slots."""
        count = len(boxes.lower)
        fresh = max(0, count - len(self._free))
        _require_room(self.slots + fresh)
        self._reserve(self.slots + fresh)
        if boxes.layer is not None and self.layer is None:
            self.layer = np.full(len(self.corners), _ALL_BITS)
        if boxes.mask is not None and self.mask is None:
            self.mask = np.full(len(self.corners), _ALL_BITS)
        rows, places = np.empty(count, np.int32), np.empty(count, np.intp)
        again = count - fresh
        rows[again:] = np.arange(self.slots, self.slots + fresh)
        if again > _A_FEW:
            ordered = sorted(self._free)
            rows[:again], self._free = ordered[:again], ordered[again:]
        else:
            for place in range(again):
                rows[place] = heapq.heappop(self._free)
        places[:] = rows
        _native.keep_boxes(boxes.lower, boxes.upper, rows, self.corners)
        for kept, given in ((self.layer, boxes.layer), (self.mask, boxes.mask)):
            if kept is not None:
                kept[places] = _ALL_BITS if given is None else given
        self.alive[places] = True
        self.slots += fresh
        self.living += count
        self._numbers = self._views = None
        return rows

    def next_rows(self, count: int) -> NDArray[np.int32]:
        """Return the slots that so many boxes would get."""
        again = heapq.nsmallest(count, self._free)
        fresh = count - len(again)
        _require_room(self.slots + fresh)
        return np.concatenate([again, np.arange(self.slots, self.slots + fresh)]).astype(np.int32)

    def grown(self, slots: int) -> dict[str, Any]:
        """Return the arrays, by name, with room for so many slots."""
        capacity = max(slots, len(self.corners) * 3 // 2, 16)
        more = capacity - len(self.corners)
        return {
            "corners": np.concatenate([self.corners, np.zeros((more, 2, self.dim), self.corners.dtype)]),
            "alive": np.concatenate([self.alive, np.zeros(more, np.bool_)]),
            "generation": np.concatenate([self.generation, np.ones(more, np.int64)]),
            "layer": None if self.layer is None else np.concatenate([self.layer, np.full(more, _ALL_BITS)]),
            "mask": None if self.mask is None else np.concatenate([self.mask, np.full(more, _ALL_BITS)]),
            "_views": None,
        }

    def insert_rows(self, change: Any, rows: NDArray[np.int32]) -> None:
        """Take slots from `next_rows` into use."""
        taken = set(rows.tolist())
        change.flag(self.alive, True, rows)
        change.assign(
            self,
            slots=max(self.slots, int(rows[-1]) + 1 if len(rows) else 0),
            living=self.living + len(rows),
            _free=sorted(row for row in self._free if row not in taken),
            _numbers=None,
            _views=None,
        )

    def remove_rows(self, change: Any, rows: NDArray[np.int32]) -> None:
        """Free slots."""
        generation = self.generation[rows] + 1
        change.flag(self.alive, False, rows)
        change.write(self.generation, generation, rows)
        change.assign(
            self,
            living=self.living - len(rows),
            _free=sorted(self._free + rows[generation <= _LAST_GENERATION].tolist()),
            _numbers=None,
        )

    def remove(self, rows: NDArray[np.int32]) -> None:
        """Free the slots of `distinct` rows."""
        places = rows.astype(np.intp)
        generation = self.generation[places] + 1
        # A slot whose generations are used up is never used again: its handles must stay stale for ever.
        freed = rows[generation <= _LAST_GENERATION].tolist()
        free = self._free if len(freed) <= _A_FEW else sorted(self._free + freed)  # sorted is a heap
        self.alive[places] = False
        self.generation[places] = generation
        self.living -= len(rows)
        self._numbers = None
        self._free = free
        if len(freed) <= _A_FEW:
            for row in freed:
                heapq.heappush(free, row)

    def move(self, rows: NDArray[np.int32] | None, boxes: NewBoxes) -> None:
        """Give the boxes of `distinct` rows, or of all, the corners of as many `checked` boxes."""
        if rows is None and self.living != self.slots:
            rows = self.numbers
        _native.keep_boxes(boxes.lower, boxes.upper, rows, self.corners)

    def restore(self, alive: NDArray[np.bool_], generation: NDArray[np.int64]) -> None:
        """Become a store whose slots are in use, and of a generation, as these arrays say; all boxes at the origin.

        Keeps the arrays.
        """
        self.slots, self.living = len(alive), int(np.count_nonzero(alive))
        self.alive, self.generation = alive, generation
        self.corners = np.zeros((self.slots, 2, self.dim), self.corners.dtype)
        self.layer = self.mask = None
        self._free = np.flatnonzero(~alive & (generation <= _LAST_GENERATION)).tolist()  # in order, so a heap
        self._numbers = self._views = None

    def set_filters(self, rows: NDArray[np.int32], layer: Any, mask: Any) -> None:
        """Set the bits of the boxes of `known` rows; None leaves them as they are."""
        layers = None if layer is None else as_attribute("layer", layer, len(rows), np.uint64)
        masks = None if mask is None else as_attribute("mask", mask, len(rows), np.uint64)
        if layers is not None:
            self.layer = np.full(len(self.corners), _ALL_BITS) if self.layer is None else self.layer
            self.layer[rows] = layers
        if masks is not None:
            self.mask = np.full(len(self.corners), _ALL_BITS) if self.mask is None else self.mask
            self.mask[rows] = masks

    def handles(self, rows: Any) -> NDArray[np.int64]:
        """Return the handles of rows: ``generation << 32 | row``, never used twice."""
        numbers = self.known(rows)
        named: NDArray[np.int64] = (self.generation[numbers] << 32) | numbers
        return named

    def rows_of(self, handles: Any) -> NDArray[np.int32]:
        """Return the rows of handles; a removed box raises."""
        array = np.atleast_1d(as_array(handles, "handles"))
        if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
            raise TypeError(f"handles must be integers of shape (k,), not {array.dtype} of shape {array.shape}")
        array = array.astype(np.int64, copy=False)
        rows = array & 0xFFFF_FFFF
        exists = (array >= 0) & (rows < self.slots)
        there = np.where(exists, rows, 0)
        valid = exists if not self.slots else exists & self.alive[there] & (self.generation[there] == array >> 32)
        if not valid.all():
            handle = int(array[np.argmin(valid)])
            raise UnknownRowError(f"handle {handle} is stale: the box of row {handle & 0xFFFF_FFFF} was removed")
        return rows.astype(np.int32)

    def fault(self) -> str:
        """Describe what is wrong with the bookkeeping; an empty string if nothing is."""
        alive = self.alive[: self.slots]
        free = np.array(self._free, np.int64)
        if int(alive.sum()) != self.living or self.alive[self.slots :].any():
            return f"{int(alive.sum())} slots are in use, not {self.living}"
        if len(np.unique(free)) != len(free) or (len(free) and (free.max() >= self.slots or alive[free].any())):
            return "the list of free slots has a slot twice, or one that is in use"
        retired = int((~alive & (self.generation[: self.slots] > _LAST_GENERATION)).sum())
        if len(free) + retired + self.living != self.slots:
            return "a slot is neither in use nor free"
        lower, upper = self.views
        return "" if (lower <= upper)[alive].all() else "a box has NaN or lower > upper"

    def _reserve(self, slots: int) -> None:
        """Make room, half as much again at a time: in all arrays or in none, because memory may run out in between."""
        if slots <= len(self.corners):
            return
        capacity = max(slots, len(self.corners) * 3 // 2, 16)
        more = capacity - len(self.corners)
        corners = np.concatenate([self.corners, np.empty((more, 2, self.dim), self.corners.dtype)])
        alive = np.concatenate([self.alive, np.zeros(more, np.bool_)])
        generation = np.concatenate([self.generation, np.ones(more, np.int64)])
        layer, mask = (
            None if bits is None else np.concatenate([bits, np.full(more, _ALL_BITS)])
            for bits in (self.layer, self.mask)
        )
        self.corners, self.alive, self.generation, self.layer, self.mask = corners, alive, generation, layer, mask
        self._views = None


def checked_corners(boxes: Boxes, name: str, dim: int | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the corners of boxes in any form, which must be valid and, if `dim` is given, have so many axes."""
    lower, upper = as_corners(boxes, name=name, empty_dim=dim or 2)
    if dim is not None and lower.shape[1] != dim:
        raise ValueError(f"{name} have {lower.shape[1]} dimensions; {dim} are needed")
    row = _native.first_invalid(lower, upper)
    if row >= 0:
        raise InvalidBoxError(f"{name}: {describe_invalid(lower, upper, row)}", row=row)
    return lower, upper


def _require_room(slots: int) -> None:
    if slots > _MOST_SLOTS:
        raise ValueError(f"at most {_MOST_SLOTS} boxes: row numbers are int32")
