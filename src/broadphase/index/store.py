"""The boxes of an index: one array of corners, and which of its rows are in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.arguments import as_own_array
from broadphase.boxes.forms import Boxes, advice_on_invalid, as_corners, as_rows, describe_invalid
from broadphase.errors import InvalidBoxError, UnknownRowError
from broadphase.filters import ALL_BITS, as_attribute
from broadphase.index.spheres import Spheres, boxes_with_spheres

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.change import Change
    from broadphase.filters import ByRow

    Rows: TypeAlias = NDArray[np.int32]

__all__ = ["BoxStore", "NewBoxes", "checked_corners"]

_MOST_SLOTS = 2**31 - 64
_LAST_GENERATION = 2**31 - 1
_LARGEST_ROW, _LOW = 2**31 - 1, 0xFFFF_FFFF
_ALL_BITS = np.uint64(ALL_BITS)
_NO_ROWS = np.empty(0, np.int32)
_GROWING = ("corners", "alive", "generation", "layer", "mask", "batch", "spheres")
# Layer, mask, key and sphere of boxes that were given none: an infinite radius.
_BLANKS: dict[str, np.generic] = {
    "layer": _ALL_BITS, "mask": _ALL_BITS, "batch": np.int64(0), "spheres": np.float64(np.inf),
}  # fmt: skip


class NewBoxes(NamedTuple):
    """Boxes checked by `BoxStore.checked`, in its dtype: corners, (k, d), and what they were given, (k, ...)."""

    lower: NDArray[Any]
    upper: NDArray[Any]
    layer: NDArray[np.uint64] | None = None
    mask: NDArray[np.uint64] | None = None
    batch: NDArray[np.int64] | None = None
    spheres: NDArray[np.float64] | None = None


class BoxStore:
    """Boxes by slot number, with the parameters of `BoxIndex`. Free slots are used again, the lowest first.

    Nothing here locks. `checked`, `known` and `distinct` check input before a change begins. Arrays have room for more
    slots than there are.
    """

    def __init__(
        self,
        boxes: Boxes | None,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        spheres: Any = None,
        workers: int = 1,
    ) -> None:
        boxes, batch, column = _with_keys_and_spheres(boxes, batch, spheres)
        lower, upper = checked_corners(boxes, "boxes", workers=workers)
        count, dim = lower.shape
        _require_room(count)
        self.corners: NDArray[Any] = np.empty((count, 2, dim), lower.dtype)  # a free slot keeps those of its last box
        given = _attributes(count, layer, mask, batch)
        # None while no box was given one.
        self.layer, self.mask, self.batch = (None if values is None else values.copy() for values in given)
        self.spheres: NDArray[np.float64] | None = column  # (slots, d + 1): center and radius, infinite for none
        self.alive: NDArray[np.bool_] = np.empty(count, np.bool_)  # which slots are in use
        # One more than the number of boxes removed from each slot; makes handles stale.
        self.generation: NDArray[np.int64] = np.empty(count, np.int64)
        written = [(self.corners, (lower, upper)), (self.alive, True), (self.generation, 1)]
        _native.commit(written, [], workers=workers)
        self.slots: int = count  # that have ever been in use; upper bound of all rows
        self.living: int = count  # slots in use
        self._first_free: int = count  # no slot below it is free
        # Caches.
        self._numbers: NDArray[np.int32] | None = _first_rows(count, workers)
        self._views: tuple[NDArray[Any], NDArray[Any]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = {**vars(self), "_numbers": None, "_views": None}
        # Behind the slots, the arrays have only room.
        for name in _GROWING:
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
    def keys(self) -> NDArray[np.int64] | None:
        """Key of all slots, (slots,), or None where no box was given one."""
        return None if self.batch is None else self.batch[: self.slots]

    @property
    def balls(self) -> Spheres | None:
        """The sphere of each row, or None where no box was given one."""
        return None if self.spheres is None else Spheres.of(self.spheres)

    @property
    def numbers(self) -> NDArray[np.int32]:
        """The rows in use, ascending. Read-only."""
        if self._numbers is None:
            if self.living == self.slots:
                self._numbers = _first_rows(self.slots, 1)
            else:
                self._numbers = np.flatnonzero(self.alive[: self.slots]).astype(np.int32)
                self._numbers.flags.writeable = False
        return self._numbers

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in (*self._arrays(), self._numbers) if array is not None)

    def living_corners(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int32] | None]:
        """Lower and upper corners of the boxes in use, and their rows; if all slots are in use, views, and None."""
        lower, upper = self.views
        if self.living == self.slots:
            return lower, upper, None
        corners = np.take(self.corners, self.numbers, axis=0)  # once for both corners, which lie together
        return corners[:, 0], corners[:, 1], self.numbers

    def known(self, rows: Any) -> NDArray[np.int32]:
        """Check that rows are in use; in any order, also repeated."""
        return self._checked_rows(rows)[0]

    def distinct(self, rows: Any) -> NDArray[np.int32]:
        """Check rows as `known` does, and that no row is repeated."""
        numbers, ascend = self._checked_rows(rows)
        if not ascend:
            ordered = np.sort(numbers)
            if (twice := ordered[1:] == ordered[:-1]).any():
                raise ValueError(f"row {ordered[np.argmax(twice)]} is repeated")
        return numbers

    def _checked_rows(self, rows: Any) -> tuple[NDArray[np.int32], bool]:
        """Return rows in use, and whether they ascend."""
        array = as_own_array(rows, "rows")
        if array.ndim == 0:
            array = array.reshape(1)
        if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
            raise TypeError(f"rows must be integers of shape (k,), not {array.dtype} of shape {array.shape}")
        given = array
        if array.dtype != np.int32:
            array = array.astype(np.int64, copy=False)  # uint64 beyond int64 becomes negative, and so unknown
        found = _native.check_rows(array, self.alive, self.slots)
        if found >= 0:
            row = int(given[found])
            if not 0 <= row < self.slots:
                raise UnknownRowError(f"row {row} does not exist: there are {self.slots} rows")
            raise UnknownRowError(f"row {row} has been removed")
        return np.ascontiguousarray(array, dtype=np.int32), found == -1

    def checked(
        self, boxes: Boxes | None, layer: ByRow = None, mask: ByRow = None, batch: ByRow = None, spheres: Any = None
    ) -> NewBoxes:
        """Check boxes, and convert them to the dtype of the store; to float32 only numbers that it holds exactly."""
        boxes, batch, column = _with_keys_and_spheres(boxes, batch, spheres)
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
        if layer is None and mask is None and batch is None:
            return NewBoxes(lower, upper, spheres=column)
        layers, masks, keys = _attributes(count, layer, mask, batch)
        return NewBoxes(lower, upper, layers, masks, keys, column)

    # The following add to a change; nothing is written before it is committed.

    def insert(self, change: Change, boxes: NewBoxes, leaves: Any = slice(0, 0)) -> tuple[Rows, Rows]:
        """Give `checked` boxes slots; return these, and those freed again, which `leaves` selects.

        Room is made before the change is committed, which has no effect.
        """
        rows = self.next_rows(len(boxes.lower))
        freed = rows[leaves]
        if len(rows):
            if rows[-1] >= len(self.corners):
                _native.commit([], [(vars(self), self.grown(int(rows[-1]) + 1))])
            change.write_boxes(self.corners, boxes.lower, boxes.upper, rows)
            for name in _BLANKS:
                self._write_attribute(change, name, rows, getattr(boxes, name), blank=True)
            self.insert_rows(change, rows, freed)
        return rows, freed

    def move(self, change: Change, rows: Rows | None, boxes: NewBoxes) -> None:
        """Give `distinct` rows, or all, the corners of as many `checked` boxes.

        Raises ValueError if these have keys, by their shape, other than those of the rows; and for a row that has a
        sphere, and is given none.
        """
        if rows is None and self.living != self.slots:
            rows = self.numbers
        if boxes.batch is not None:
            own = np.zeros(self.slots, np.int64) if self.keys is None else self.keys
            if (other := (own if rows is None else own[rows]) != boxes.batch).any():
                first = int(np.argmax(other))
                row, given = first if rows is None else rows[first], boxes.batch[first]
                raise ValueError(
                    f"boxes: row {row} has the key {own[row]}, and not {given} as by the shape (E, n, 2, d)"
                )
        if boxes.spheres is not None:
            self._write_attribute(change, "spheres", self.numbers if rows is None else rows, boxes.spheres)
        elif self.spheres is not None:
            has_sphere = np.isfinite(self.spheres[: self.slots, -1] if rows is None else self.spheres[rows, -1])
            if has_sphere.any():
                first = int(has_sphere.argmax())
                row = first if rows is None else rows[first]
                raise ValueError(f"row {row} has a sphere: give the new ones by spheres=, an infinite radius for none")
        change.write_boxes(self.corners, boxes.lower, boxes.upper, rows)

    def set_filters(self, change: Change, rows: Rows, layer: Any, mask: Any) -> None:
        """Set the bits of the boxes of `known` rows; None leaves them as they are."""
        layers, masks, _ = _attributes(len(rows), layer, mask, None)
        self._write_attribute(change, "layer", rows, layers)
        self._write_attribute(change, "mask", rows, masks)

    def next_rows(self, count: int) -> Rows:
        """Return the slots for so many boxes: free ones, the lowest first, then new ones."""
        _require_room(self.living + count)
        if count == 1 and self.living == self.slots:
            return np.array([self.slots], np.int32)
        found: Any = _native.next_rows(
            self.alive, self.generation, self.slots, self._first_free, _LAST_GENERATION, count
        )
        rows: Rows = found
        return rows

    def grown(self, slots: int) -> dict[str, Any]:
        """Return the arrays, by name, with room for so many slots."""
        capacity = max(slots, len(self.corners) * 3 // 2, 16)
        more = capacity - len(self.corners)
        return {
            "corners": np.concatenate([self.corners, np.zeros((more, 2, self.dim), self.corners.dtype)]),
            "alive": np.concatenate([self.alive, np.zeros(more, np.bool_)]),
            "generation": np.concatenate([self.generation, np.ones(more, np.int64)]),
            **{
                name: None if kept is None else np.concatenate([kept, np.full((more, *kept.shape[1:]), blank)])
                for name, blank in _BLANKS.items()
                for kept in (getattr(self, name),)
            },
            "_views": None,
        }

    def insert_rows(self, change: Change, rows: Rows, freed: Rows = _NO_ROWS) -> None:
        """Take slots from `next_rows` into use, and free some of them again."""
        if not len(rows):
            return
        end = int(rows[-1]) + 1
        change.flag(self.alive, True, rows)
        first_free = self._free(change, freed, end) if len(freed) else end
        living = self.living + len(rows) - len(freed)
        if end > self.slots:
            change.assign(self, slots=end, living=living, _first_free=first_free, _numbers=None, _views=None)
        else:
            change.assign(self, living=living, _first_free=first_free, _numbers=None)

    def remove_rows(self, change: Change, rows: Rows) -> None:
        """Free the slots of `distinct` rows."""
        if len(rows):
            first_free = self._free(change, rows, self._first_free)
            change.assign(self, living=self.living - len(rows), _first_free=first_free, _numbers=None)

    def _free(self, change: Change, rows: Rows, first_free: int) -> int:
        """Free slots; return the number below which none will be free."""
        change.flag(self.alive, False, rows)
        change.write(self.generation, self.generation.take(rows) + 1, rows)
        return min(first_free, int(rows[0]) if len(rows) == 1 else int(rows.min()))

    def _write_attribute(
        self, change: Change, name: str, rows: Rows, values: NDArray[Any] | None, *, blank: bool = False
    ) -> None:
        """Set bits, keys or spheres of rows; None leaves them as they are, or with `blank` resets them."""
        kept: NDArray[Any] | None = getattr(self, name)
        if values is None:
            if blank and kept is not None:
                change.write(kept, np.full((len(rows), *kept.shape[1:]), _BLANKS[name]), rows)
            return
        if kept is None:
            kept = np.full((len(self.corners), *values.shape[1:]), _BLANKS[name])
            setattr(self, name, kept)  # means the same as None
        change.write(kept, values, rows)

    def restore(self, alive: NDArray[np.bool_], generation: NDArray[np.int64]) -> None:
        """Take over which slots are in use, and their generations; all boxes are then at the origin."""
        self.slots, self.living = len(alive), int(np.count_nonzero(alive))
        self.alive, self.generation = alive, generation
        self.corners = np.zeros((self.slots, 2, self.dim), self.corners.dtype)
        self.layer = self.mask = self.batch = self.spheres = None
        self._first_free = 0
        self._numbers = self._views = None

    def handles(self, rows: Any) -> NDArray[np.int64]:
        """Return the handles of rows: ``generation << 32 | row``, never used twice."""
        numbers = self.known(rows)
        return (self.generation[numbers] << 32) | numbers

    def rows_of(self, handles: Any) -> NDArray[np.int32]:
        """Return the rows of handles; raises for a removed box."""
        array = np.atleast_1d(as_own_array(handles, "handles"))
        if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
            raise TypeError(f"handles must be integers of shape (k,), not {array.dtype} of shape {array.shape}")
        array = array.astype(np.int64, copy=False)
        rows = array & _LOW
        exists = (array >= 0) & (rows < self.slots)
        there = np.where(exists, rows, 0)
        valid = exists if not self.slots else exists & self.alive[there] & (self.generation[there] == array >> 32)
        if not valid.all():
            handle = int(array[np.argmin(valid)])
            raise UnknownRowError(f"handle {handle} is stale: the box of row {handle & _LOW} was removed")
        return rows.astype(np.int32)

    def centers(self, rows: Any) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Check rows as `known` does, and return them with the centers of their boxes, (k, d), which must be finite."""
        numbers = self.known(rows)
        halves = self.corners.take(numbers, axis=0).astype(np.float64, copy=False)
        halves /= 2
        with np.errstate(invalid="ignore"):
            centers = halves[:, 0] + halves[:, 1]  # finite where the corners are
        is_finite = np.isfinite(centers)
        if not is_finite.all():
            row = int(numbers[is_finite.all(axis=1).argmin()])
            raise ValueError(f"rows: the box of row {row} is infinite and has no center; give points instead")
        return numbers, centers

    def ignored(self, ignore: Any, count: int, own: NDArray[np.int32] | None = None) -> NDArray[np.int32] | None:
        """Return the rows that each of `count` queries ignores, (count, k) or (1, k), ascending in each; None for none.

        `ignore` has rows, and handles, which are larger than all rows; `own` are the rows that query for themselves.
        """
        if ignore is None:
            return None if own is None else own[:, np.newaxis]
        given = as_own_array(ignore, "ignore")
        if given.dtype.kind not in "iu" and given.size:
            raise TypeError(f"ignore must hold rows or handles, which are integers, not {given.dtype}")
        if given.ndim == 0:
            given = given.reshape(1, 1)
        elif given.ndim == 1 and count == 1:
            given = given.reshape(1, -1)
        elif given.shape == (count,):
            given = given.reshape(count, 1)
        elif given.ndim != 2 or len(given) not in (1, count):
            raise ValueError(f"ignore has shape {given.shape}; ({count},), ({count}, k) or (1, k) is needed")
        named = given.astype(np.int64, copy=False).ravel()
        is_row = named <= _LARGEST_ROW
        some = is_row & (named != -1)
        rows = named.astype(np.int32) if is_row.all() else np.where(is_row, named, named & _LOW).astype(np.int32)
        try:
            self._checked_rows(named[some])
            self.rows_of(named[~is_row])
        except UnknownRowError as error:
            raise UnknownRowError(f"ignore: {error.args[0]}") from None
        lists: NDArray[np.int32] = rows.reshape(given.shape)
        if own is not None:
            lists = np.column_stack([own, np.broadcast_to(lists, (count, lists.shape[1]))])
        return np.sort(lists, axis=1)

    def fault(self) -> str:
        """Describe what is wrong with the bookkeeping; an empty string if nothing is."""
        alive = self.alive[: self.slots]
        rows = np.flatnonzero(alive)
        if len(rows) != self.living or self.alive[self.slots :].any():
            return f"{len(rows)} slots are in use, not {self.living}"
        if not all(len(array) == len(self.corners) for array in self._arrays()):
            return "the arrays are not of one length"
        usable = np.flatnonzero(~alive & (self.generation[: self.slots] <= _LAST_GENERATION))
        if len(usable) and usable[0] < self._first_free:
            return f"slot {usable[0]} is free, and none below {self._first_free} should be"
        if self._numbers is not None and not np.array_equal(self._numbers, rows):
            return "the rows are not those of the slots in use"
        if len(self.views[0]) != self.slots or (self.slots and not np.may_share_memory(self.views[0], self.corners)):
            return "the corners are not those of the slots"
        lower, upper = self.views
        return "" if (lower <= upper)[alive].all() else "a box has NaN or lower > upper"

    def _arrays(self) -> list[NDArray[Any]]:
        return [array for name in _GROWING if (array := getattr(self, name)) is not None]


def _first_rows(count: int, workers: int) -> NDArray[np.int32]:
    found: Any = _native.first_rows(count, workers)
    rows: NDArray[np.int32] = found
    rows.flags.writeable = False
    return rows


def _with_keys_and_spheres(boxes: Any, batch: Any, spheres: Any) -> tuple[Any, Any, NDArray[np.float64] | None]:
    """Return boxes as rows, those of spheres where there is no other, their keys, and the checked spheres."""
    if boxes is not None:
        boxes, batch = keys_by_shape(boxes, batch)
    boxes, column = boxes_with_spheres(boxes, spheres)
    return boxes, batch, column


def keys_by_shape(boxes: Any, batch: Any) -> tuple[Any, Any]:
    """Return boxes as rows, and their keys: 0, 1, 2, ... for batches of one size, else as given."""
    boxes, size = as_rows(boxes, "boxes")
    if size is None:
        return boxes, batch
    if batch is not None:
        raise ValueError("batch: boxes of shape (E, n, 2, d) are E batches of n already; leave it out")
    count = len(boxes[0] if isinstance(boxes, tuple) else boxes)
    return boxes, np.arange(count) // max(size, 1)


def checked_corners(
    boxes: Boxes, name: str, dim: int | None = None, *, own: bool = False, workers: int = 1
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the corners of boxes in any form, which must be valid and, if given, of `dim` axes.

    Copies if `own`. Otherwise another thread may write to them after the check, as also to what `commit` stores, which
    sees to that itself.
    """
    if own and type(boxes) is np.ndarray:
        boxes, own = boxes.copy(), False
    lower, upper = as_corners(boxes, name=name, empty_dim=dim or 2)
    if own:
        lower, upper = lower.copy(), upper.copy()
    if dim is not None and lower.shape[1] != dim:
        raise ValueError(f"{name} have {lower.shape[1]} dimensions; {dim} are needed")
    row = _native.first_invalid(lower, upper, workers)
    if row >= 0:
        fault = f"{describe_invalid(lower, upper, row)}{advice_on_invalid(lower, upper)}"
        raise InvalidBoxError(f"{name}: {fault}", row=row)
    return lower, upper


def _attributes(count: int, layer: ByRow, mask: ByRow, batch: ByRow) -> tuple[NDArray[Any] | None, ...]:
    """Return the layers, masks and keys of boxes; None where none were given."""
    given = (("layer", layer, np.uint64), ("mask", mask, np.uint64), ("batch", batch, np.int64))
    return tuple(None if value is None else as_attribute(name, value, count, kind) for name, value, kind in given)


def _require_room(slots: int) -> None:
    if slots > _MOST_SLOTS:
        raise ValueError(f"at most {_MOST_SLOTS} boxes: row numbers are int32")
