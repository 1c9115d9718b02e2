"""The boxes that an index keeps: one array of corners, and which of its rows are in use."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.boxes.forms import as_corners, describe_invalid
from broadphase.errors import InvalidBoxError, UnknownRowError
from broadphase.filters import as_attribute

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Rows"]

_MOST_SLOTS = 2**31 - 64
_LAST_GENERATION = 2**31 - 1
_ALL_BITS = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
# Up to here, taking single numbers from the heap of free slots is cheaper than sorting it.
_A_FEW = 8


class Rows:
    """Boxes by slot number. A slot that becomes free is used again, the lowest first.

    Nothing here locks, and every change is checked before anything is written: a change that raises changed nothing.

    Parameters
    ----------
    boxes : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
        The first boxes, copied. They decide dimension and dtype.
    layer, mask : array_like of uint64, shape (n,), or int, optional
        Bits for filtering. Unset: all.

    Attributes
    ----------
    corners : ndarray, shape (capacity, 2, d), float32 or float64
        Lower and upper corner of each slot. Those of a free slot are what they last were.
    slots : int
        Slots that have ever been in use: all rows are below.
    living : int
        Slots in use.
    alive : ndarray, shape (capacity,), bool
        Which are.
    generation : ndarray, shape (capacity,), int64
        How often the box of a slot has been removed, plus one: what makes a handle stale.
    layer, mask : ndarray, shape (capacity,), uint64, or None
        None as long as no box was given one.
    """

    def __init__(self, boxes: Any, layer: Any = None, mask: Any = None) -> None:
        lower, upper = checked_corners(boxes, "boxes")
        count, dimension = lower.shape
        _require_room(count)
        self.corners: NDArray[Any] = np.empty((count, 2, dimension), lower.dtype)
        self.layer = None if layer is None else as_attribute("layer", layer, count, np.uint64).copy()
        self.mask = None if mask is None else as_attribute("mask", mask, count, np.uint64).copy()
        _native.keep_boxes(lower, upper, None, self.corners)
        self.slots: int = count
        self.living: int = count
        self.alive: NDArray[np.bool_] = np.ones(count, np.bool_)
        self.generation: NDArray[np.int64] = np.ones(count, np.int64)
        self._free: list[int] = []  # a heap
        self._numbers: NDArray[np.int32] | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = {**vars(self), "_numbers": None}
        # What lies beyond the slots has never been written to: whatever was in memory.
        for name in ("corners", "alive", "generation", "layer", "mask"):
            state[name] = None if state[name] is None else state[name][: self.slots]
        return state

    @property
    def dimension(self) -> int:
        """Number of axes."""
        dimension: int = self.corners.shape[2]
        return dimension

    @property
    def views(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Lower and upper corners of all slots, (slots, d), to be read by the core."""
        corners = self.corners[: self.slots]
        return corners[:, 0], corners[:, 1]

    @property
    def bits(self) -> tuple[NDArray[np.uint64] | None, NDArray[np.uint64] | None]:
        """Layer and mask of all slots, (slots,) each, or None where no box was given any."""
        layer, mask = self.layer, self.mask
        return None if layer is None else layer[: self.slots], None if mask is None else mask[: self.slots]

    @property
    def numbers(self) -> NDArray[np.int32]:
        """The rows in use, ascending. Not to be written to."""
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
        """Lower and upper corners of the boxes in use, and their rows; None, and no copy, where that is all slots."""
        lower, upper = self.views
        if self.living == self.slots:
            return lower, upper, None
        return lower[self.numbers], upper[self.numbers], self.numbers

    def known(self, rows: Any) -> NDArray[np.int32]:
        """Rows as the caller names them, in any order, checked to be in use."""
        array = np.atleast_1d(np.asarray(rows))
        if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
            raise TypeError(f"rows must be integers of shape (k,), not {array.dtype} of shape {array.shape}")
        if array.size and not 0 <= array.min() <= array.max() < self.slots:
            row = int(array[np.argmax((array < 0) | (array >= self.slots))])
            raise UnknownRowError(f"row {row} does not exist: there are {self.slots} rows, from 0")
        numbers = np.ascontiguousarray(array, dtype=np.int32)
        if self.living != self.slots:
            alive = self.alive.take(numbers)
            if np.count_nonzero(alive) != len(numbers):
                raise UnknownRowError(f"row {numbers[np.argmin(alive)]} has been removed")
        return numbers

    def distinct(self, rows: Any) -> NDArray[np.int32]:
        """As `known`, and no row twice."""
        numbers = self.known(rows)
        if len(numbers) > 1 and not (numbers[1:] > numbers[:-1]).all():
            ordered = np.sort(numbers)
            if (twice := ordered[1:] == ordered[:-1]).any():
                raise ValueError(f"row {ordered[np.argmax(twice)]} is named twice")
        return numbers

    def insert(self, boxes: Any, layer: Any = None, mask: Any = None) -> NDArray[np.int32]:
        """Give each box a slot, and say which."""
        lower, upper = self.converted(boxes)
        count = len(lower)
        layers = None if layer is None else as_attribute("layer", layer, count, np.uint64)
        masks = None if mask is None else as_attribute("mask", mask, count, np.uint64)
        _require_room(self.slots + max(0, count - len(self._free)))
        self._reserve(self.slots + max(0, count - len(self._free)))
        if layers is not None and self.layer is None:
            self.layer = np.full(len(self.corners), _ALL_BITS)
        if masks is not None and self.mask is None:
            self.mask = np.full(len(self.corners), _ALL_BITS)
        rows = self._take_slots(count)
        _native.keep_boxes(lower, upper, rows, self.corners)
        for kept, given in ((self.layer, layers), (self.mask, masks)):
            if kept is not None:
                kept[rows] = _ALL_BITS if given is None else given
        self.alive[rows] = True
        self.living += count
        self._numbers = None
        return rows

    def withdraw(self, rows: NDArray[np.int32]) -> None:
        """Undo the last `insert`, of which nobody has heard: its slots are as if they had not been taken."""
        self.alive[rows] = False
        self.living -= len(rows)
        self._numbers = None
        again = [row for row in rows.tolist() if self.generation[row] > 1]
        self.slots -= len(rows) - len(again)
        self._free = sorted(self._free + again)

    def remove(self, rows: NDArray[np.int32]) -> None:
        """Free the slots of `distinct` rows."""
        self.alive[rows] = False
        self.generation[rows] += 1
        self.living -= len(rows)
        self._numbers = None
        # A slot whose generations are used up is left alone: its handles must stay stale for ever.
        freed = [row for row in rows.tolist() if self.generation[row] <= _LAST_GENERATION]
        if len(freed) <= _A_FEW:
            for row in freed:
                heapq.heappush(self._free, row)
        else:
            self._free = sorted(self._free + freed)  # sorted is a heap

    def move(self, rows: NDArray[np.int32] | None, boxes: Any) -> None:
        """Give boxes of `distinct` rows, or all, other corners."""
        lower, upper = self.converted(boxes)
        count = self.living if rows is None else len(rows)
        if len(lower) != count:
            wanted = "rows" if rows is not None else "living rows"
            raise ValueError(f"{len(lower)} boxes for {count} {wanted}")
        if rows is None and self.living != self.slots:
            rows = self.numbers
        _native.keep_boxes(lower, upper, rows, self.corners)

    def restore(self, alive: NDArray[np.bool_], generation: NDArray[np.int64]) -> None:
        """Become rows of which these are in use, and have been removed so often; their boxes are at the origin.

        Takes over the arrays.
        """
        self.slots, self.living = len(alive), int(np.count_nonzero(alive))
        self.alive, self.generation = alive, generation
        self.corners = np.zeros((self.slots, 2, self.dimension), self.corners.dtype)
        self.layer = self.mask = None
        self._free = np.flatnonzero(~alive & (generation <= _LAST_GENERATION)).tolist()  # in order, so a heap
        self._numbers = None

    def set_filters(self, rows: NDArray[np.int32], layer: Any, mask: Any) -> None:
        """Give boxes of `known` rows other bits; None leaves them as they are."""
        layers = None if layer is None else as_attribute("layer", layer, len(rows), np.uint64)
        masks = None if mask is None else as_attribute("mask", mask, len(rows), np.uint64)
        if layers is not None:
            self.layer = np.full(len(self.corners), _ALL_BITS) if self.layer is None else self.layer
            self.layer[rows] = layers
        if masks is not None:
            self.mask = np.full(len(self.corners), _ALL_BITS) if self.mask is None else self.mask
            self.mask[rows] = masks

    def handles(self, rows: Any) -> NDArray[np.int64]:
        """Name boxes for ever: ``generation << 32 | row``."""
        numbers = self.known(rows)
        named: NDArray[np.int64] = (self.generation[numbers] << 32) | numbers
        return named

    def rows_of(self, handles: Any) -> NDArray[np.int32]:
        """Rows of the boxes that `handles` named, unless one is gone."""
        array = np.atleast_1d(np.asarray(handles))
        if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
            raise TypeError(f"handles must be integers of shape (k,), not {array.dtype} of shape {array.shape}")
        array = array.astype(np.int64, copy=False)
        rows = array & 0xFFFF_FFFF
        exists = (array >= 0) & (rows < self.slots)
        there = np.where(exists, rows, 0)
        valid = exists if not self.slots else exists & self.alive[there] & (self.generation[there] == array >> 32)
        if not valid.all():
            handle = int(array[np.argmin(valid)])
            raise UnknownRowError(f"handle {handle} is stale: the box that was row {handle & 0xFFFF_FFFF} is gone")
        return rows.astype(np.int32)

    def converted(self, boxes: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Corners of valid boxes in the dtype of these; float32 takes only what it holds exactly."""
        lower, upper = checked_corners(boxes, "boxes", self.dimension)
        dtype = self.corners.dtype
        if lower.dtype == dtype:
            return lower, upper
        with np.errstate(over="ignore"):
            narrow = lower.astype(dtype), upper.astype(dtype)
        if dtype == np.float32:
            for given, kept in ((lower, narrow[0]), (upper, narrow[1])):
                if (wrong := given != kept).any():
                    row, axis = np.argwhere(wrong)[0]
                    raise ValueError(
                        f"boxes: row {row} has {given[row, axis]}, which is not a float32, and the index was made from"
                        " float32 boxes: convert to float32, or make the index from float64 boxes"
                    )
        return narrow

    def fault(self) -> str:
        """Say what is wrong with the bookkeeping, if anything."""
        alive = self.alive[: self.slots]
        free = np.array(self._free, np.int64)
        if int(alive.sum()) != self.living or self.alive[self.slots :].any():
            return f"{int(alive.sum())} slots are in use, not {self.living}"
        if len(np.unique(free)) != len(free) or (len(free) and (free.max() >= self.slots or alive[free].any())):
            return "the free slots are not those that are free"
        retired = int((~alive & (self.generation[: self.slots] > _LAST_GENERATION)).sum())
        if len(free) + retired + self.living != self.slots:
            return "a slot is neither in use nor free"
        lower, upper = self.views
        return "" if (lower <= upper)[alive].all() else "a box has NaN or lower > upper"

    def _take_slots(self, count: int) -> NDArray[np.int32]:
        used_again = min(count, len(self._free))
        if used_again <= _A_FEW:
            taken = [heapq.heappop(self._free) for _ in range(used_again)]
        else:
            self._free.sort()
            taken = self._free[:used_again]
            del self._free[:used_again]
        begin, self.slots = self.slots, self.slots + count - used_again
        rows = np.empty(count, np.int32)
        rows[:used_again] = taken
        rows[used_again:] = np.arange(begin, self.slots)
        return rows

    def _reserve(self, slots: int) -> None:
        """Make room, half as much again at a time. All arrays or none: memory may run out in between."""
        if slots <= len(self.corners):
            return
        capacity = max(slots, len(self.corners) * 3 // 2, 16)
        more = capacity - len(self.corners)
        corners = np.concatenate([self.corners, np.empty((more, 2, self.dimension), self.corners.dtype)])
        alive = np.concatenate([self.alive, np.zeros(more, np.bool_)])
        generation = np.concatenate([self.generation, np.ones(more, np.int64)])
        layer, mask = (
            None if bits is None else np.concatenate([bits, np.full(more, _ALL_BITS)])
            for bits in (self.layer, self.mask)
        )
        self.corners, self.alive, self.generation, self.layer, self.mask = corners, alive, generation, layer, mask


def checked_corners(boxes: Any, name: str, dimension: int | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Corners of boxes in any form, which must be valid, and of so many dimensions."""
    lower, upper = as_corners(boxes, name=name, empty_dim=dimension or 2)
    if dimension is not None and lower.shape[1] != dimension:
        raise ValueError(f"{name} have {lower.shape[1]} dimensions, and the index has {dimension}")
    row = _native.first_invalid(lower, upper)
    if row >= 0:
        raise InvalidBoxError(f"{name}: {describe_invalid(lower, upper, row)}", row=row)
    return lower, upper


def _require_room(slots: int) -> None:
    if slots > _MOST_SLOTS:
        raise ValueError(f"at most {_MOST_SLOTS} boxes: row numbers are int32")
