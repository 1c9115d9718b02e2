"""``rtree.index.Index`` over `broadphase.Index`: same methods, same results, also for many boxes at a time.

Docstrings say what differs from rtree. What only files and moving boxes need (``filename``, custom storage, TPR-trees)
is left to rtree.
"""

from __future__ import annotations

import ctypes
import pickle
import warnings
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import chain
from math import inf, isfinite, nextafter
from operator import index as as_index
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase import _native
from broadphase.errors import quoted
from broadphase.extras import import_extra

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Index", "Item", "Rtree"]

theirs: Any = import_extra("rtree.index", purpose=__name__, install="rtree")
RTreeError: Any = import_module("rtree.exceptions").RTreeError

_MOST_DIMENSIONS = 4
# Objects of these types cannot change, so that one is as good as the copy that pickle makes of it. Of others, bytes are
# kept, made by `dumps`; of dicts and lists in a stream that hold such objects only, copies.
_CONSTANT = frozenset((type(None), bool, int, float, complex, str))
# Boxes that queries compare one by one, inserted or loaded, before they are put into the index; and boxes of an index
# that are all compared for the nearest ones. To put them there, and to walk the tree, takes as long.
_FEW = 256
_PLACES = np.arange(_FEW, dtype=np.int32)
# Queries that compare all boxes before a tree is built, which takes as long as some 20 of them.
_SCANS = 4
# Indexes begin with these, which are read only: the first boxes make one of their own.
_EMPTY = [bp.Index(np.empty((0, 2, dimension))) for dimension in range(1, _MOST_DIMENSIONS + 1)]


class Item:
    """One entry of an index, as ``objects=True`` returns it; `object` is a copy, made by pickle."""

    __slots__ = ("bounds", "id", "object")

    def __init__(self, id: int, object: Any, bounds: list[float]) -> None:
        self.id, self.object, self.bounds = id, object, bounds

    def __lt__(self, other: Item) -> bool:
        return self.id < other.id

    def __gt__(self, other: Item) -> bool:
        return self.id > other.id

    @property
    def bbox(self) -> list[float]:
        """Lower corner, then upper corner."""
        return self.bounds[::2] + self.bounds[1::2]

    def get_object(self, loads: Any) -> Any:
        """Return ``object``; `loads` is taken, and not called, as in rtree."""
        return self.object


class Index:
    """Boxes with ids and objects, as ``rtree.index.Index`` in memory.

    Parameters
    ----------
    *args, interleaved
        As in rtree.
    properties : rtree.index.Property, optional
        Its ``dimension`` is used, 1 to 4. What describes pages and files has no effect.
    pagesize, overwrite
        Have no effect.

    Raises
    ------
    RTreeError
        A lower corner above its upper one, on any axis; NaN; an empty stream.
    NotImplementedError
        A file, custom storage, another type than ``RT_RTree``, or more than 4 dimensions.

    Notes
    -----
    Changes are collected, and made by the next query. Results are in the order in which the boxes came, until one is
    deleted; those of rtree are in that of its tree. See ``docs/adapters/rtree.md``.
    """

    _rows_of: dict[int, list[int]] | None  # by id; made by the first deletion
    _bounds: list[float] | None  # of all boxes, once asked for
    _scans = 0  # how many queries more compare all of `_scanned`
    _skipped = _most = 0  # `result_limit` and `result_offset`, in this order
    _tree: Any = None  # rtree's own index of the same boxes, without objects; made by `leaves`
    _bulk_count = 0  # boxes that it has begun with
    _has_deleted = False
    _tail_count: int  # of new boxes that `_tail` has

    def __init__(
        self,
        *args: Any,
        interleaved: bool = True,
        properties: Any = None,
        pagesize: int | None = None,
        overwrite: bool | None = None,
    ) -> None:
        self.properties = theirs.Property() if properties is None else properties
        self.interleaved = bool(interleaved)
        if len(args) > 1 or (args and isinstance(args[0], str | bytes | theirs.ICustomStorage)):
            raise NotImplementedError(
                "broadphase.adapters.rtree keeps boxes in memory: use rtree for files and storage"
            )
        if self.properties.type != theirs.RT_RTree:
            raise NotImplementedError("broadphase.adapters.rtree has no TPR-trees and MVR-trees: use rtree for them")
        self._dimension = int(self.properties.dimension)
        if not 1 <= self._dimension <= _MOST_DIMENSIONS:
            raise NotImplementedError(f"broadphase.adapters.rtree has 1 to 4 dimensions, not {self._dimension}")
        if pagesize:
            self.properties.pagesize = int(pagesize)
        self._clear()
        if args and isinstance(args[0], tuple):
            self._add_arrays(*args[0])
        elif args and args[0]:
            self._add_stream(args[0])

    # Changes

    def insert(self, id: int, coordinates: Any, obj: Any = None) -> None:
        """Add a box, or a point, with a copy of an object made by ``dumps``. An id that exists is there twice then."""
        corners = self._corners(coordinates)
        self._new.append((self._id(id), corners, self._stored(obj)))
        if self._tree is not None:
            self._tree.insert(self._new[-1][0], corners)
        if self._bounds is not None:
            half = self._dimension
            lower, upper = map(min, self._bounds[:half], corners), map(max, self._bounds[half:], corners[half:])
            self._bounds = [*lower, *upper]

    add = insert

    def delete(self, id: int, coordinates: Any) -> None:
        """Remove one box with this id and exactly these coordinates; nothing happens if there is none."""
        corners, id = self._corners(coordinates), self._id(id)
        if self._tree is not None:
            self._tree.delete(id, corners)
        for place, (number, box, _) in enumerate(self._new):
            if number == id and box == corners:
                del self._new[place]
                self._tail_count = min(self._tail_count, place)
                self._has_deleted = True
                self._bounds = None
                return
        if not len(self._index):
            return
        if self._rows_of is None:
            self._make_changes()
            self._rows_of = {}
            for row in self._index.rows.tolist():
                self._rows_of.setdefault(int(self._ids[row]), []).append(row)
        rows = self._rows_of.get(id)
        if not rows:
            return
        boxes = self._index.boxes_of(rows).reshape(len(rows), 2 * self._dimension).tolist()
        if corners not in boxes:
            return
        self._deleted.append(rows.pop(boxes.index(corners)))
        self._has_deleted = True
        self._bounds = None

    # Queries

    def intersection(self, coordinates: Any, objects: Any = False) -> Iterator[Any]:
        """Find the boxes that overlap a box, or only touch it: ids, items if `objects` is true, or "raw" objects."""
        corners = self._corners(coordinates)
        rows, tail = self._overlapping(corners), self._in_tail(corners)
        if self._most > 0:
            rows, tail = self._page(rows, tail)
        given = self._given(rows, objects) if len(rows) or not tail else iter(())
        return chain(given, self._given_of_tail(tail, objects)) if tail else given

    def contains(self, coordinates: Any, objects: Any = False) -> Iterator[Any]:
        """Find the boxes that lie within a box, its border included."""
        numbers = self._corners(coordinates)
        rows, tail = self._overlapping(numbers), self._in_tail(numbers, within=True)
        corners = np.array(numbers).reshape(2, self._dimension)
        boxes = self._index.boxes_of(rows)
        inside = (boxes[:, 0] >= corners[0]).all(axis=1) & (boxes[:, 1] <= corners[1]).all(axis=1)
        rows = rows[inside]
        if self._most > 0:
            rows, tail = self._page(rows, tail)
        return chain(self._given(rows, objects), self._given_of_tail(tail, objects))

    def count(self, coordinates: Any) -> int:
        """Count the boxes that overlap a box, or only touch it."""
        corners = self._corners(coordinates)
        return len(self._overlapping(corners)) + len(self._in_tail(corners))

    def nearest(self, coordinates: Any, num_results: int = 1, objects: Any = False) -> Iterator[Any]:
        """Find the boxes nearest to a box or a point, the nearest first; all that are as far as the last one, too."""
        corners = self._corners(coordinates)
        if self._deleted or len(self._new) > _FEW:
            self._make_changes()
        most = num_results if num_results >= 0 else len(self)
        if not len(self._index) and most > 0 and all(map(isfinite, corners)):
            places: Any = _native.nearest_to_box(_PLACES[: len(self._new)], self._boxes_of_tail(), corners, int(most))
            if self._most > 0:
                places, _ = self._page(places, [])
            return self._given_of_tail(np.asarray(places).tolist(), objects)
        rows = self._nearest_to_one(corners, most)
        if rows is None:
            self._make_changes()
            lower, upper = np.array(corners).reshape(2, 1, self._dimension)
            rows = self._nearest(lower, upper, most)[0]
        if self._most > 0:
            rows, _ = self._page(rows, [])
        if not self._new:
            return self._given(rows, objects)
        are_new = rows >= len(self._objects)
        given = self._given(rows[~are_new], objects)
        new = self._given_of_tail((rows[are_new] - len(self._objects)).tolist(), objects)
        return (next(new if is_new else given) for is_new in are_new.tolist())

    def intersection_v(self, mins: Any, maxs: Any) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Find the boxes that overlap each of many boxes: their ids, box by box, and how many each has."""
        lower, upper = self._many(mins, maxs)
        self._check(lower, upper)
        self._make_changes()
        found = self._index.query((lower, upper))
        return self._ids[found.rows], np.diff(found.offsets).astype(np.uint64)

    def nearest_v(
        self,
        mins: Any,
        maxs: Any,
        *,
        num_results: int = 1,
        max_dists: Any = None,
        strict: bool = False,
        return_max_dists: bool = False,
    ) -> tuple[NDArray[Any], ...]:
        """Find the boxes nearest to each of many boxes: ids, box by box, how many each has, and the distances."""
        lower, upper = self._many(mins, maxs)
        limits = None
        if max_dists is not None:
            limits = np.array(max_dists, np.float64)
            if limits.ndim != 1:
                raise ValueError("max_dists must have 1 dimension")
            if len(limits) != len(lower):
                raise ValueError(f"max_dists must have length {len(lower)}")
        self._check(lower, upper)
        self._make_changes()
        rows, counts, farthest = self._nearest(lower, upper, num_results, limits, strict)
        found = self._ids[rows], counts.astype(np.uint64)
        return (*found, farthest) if return_max_dists else found

    @property
    def bounds(self) -> list[float]:
        """The box around all boxes, in the order of `interleaved`; if there is none, the largest float to the least."""
        return self.get_bounds()

    def get_bounds(self, coordinate_interleaved: bool | None = None) -> list[float]:
        """Return the box around all boxes; `coordinate_interleaved` None: in the order of `interleaved`."""
        if self._bounds is None:
            self._make_changes()
            largest = float(np.finfo(np.float64).max)
            self._bounds = [largest] * self._dimension + [-largest] * self._dimension
            if len(self._index):
                boxes = self._index.boxes_of(self._index.rows)
                self._bounds = boxes[:, 0].min(axis=0).tolist() + boxes[:, 1].max(axis=0).tolist()
        is_interleaved = self.interleaved if coordinate_interleaved is None else coordinate_interleaved
        return self._bounds[:] if is_interleaved else self.deinterleave(self._bounds)

    def __len__(self) -> int:
        return len(self._index) + len(self._new) - len(self._deleted)

    def get_size(self) -> int:
        """Return how many boxes there are: rtree's old name of ``len(index)``."""
        warnings.warn("index.get_size() is deprecated, use len(index) instead", DeprecationWarning, stacklevel=2)
        return len(self)

    def valid(self) -> bool:
        """Return True, as an index in memory always is."""
        return True

    def __repr__(self) -> str:
        return f"broadphase.adapters.rtree.Index(bounds={self.bounds}, size={len(self)})"

    def __and__(self, other: Index) -> Index:
        """Make an index of what each box has in common with each box of another, with the objects of both."""
        result = self._like(other)
        rows = self._index.pairs(other._index, sort=True)
        own, its = self._index.boxes_of(rows[:, 0]), other._index.boxes_of(rows[:, 1])
        boxes = np.stack((np.maximum(own[:, 0], its[:, 0]), np.minimum(own[:, 1], its[:, 1])), axis=1)
        mine, theirs_own = self._objects, other._objects
        both = [self._stored((self._loaded(mine[a]), other._loaded(theirs_own[b]))) for a, b in rows.tolist()]
        result._begin_with(np.arange(len(rows)), boxes, both)
        return result

    def __or__(self, other: Index) -> Index:
        """Make an index of the boxes of both."""
        result = self._like(other)
        rows = [one._index.rows for one in (self, other)]
        boxes = np.concatenate((self._index.boxes_of(rows[0]), other._index.boxes_of(rows[1])))
        kept = [one._objects[row] for one, own in zip((self, other), rows, strict=True) for row in own.tolist()]
        result._begin_with(np.concatenate((self._ids[rows[0]], other._ids[rows[1]])), boxes, kept)
        return result

    def _like(self, other: Index) -> Index:
        assert self.interleaved == other.interleaved
        assert self._dimension == other._dimension
        self._make_changes()
        other._make_changes()
        return Index(interleaved=self.interleaved, properties=self.properties)

    def leaves(self) -> list[tuple[int, list[int], list[float]]]:
        """Return the leaves of the tree that rtree makes of the same boxes.

        The first call makes rtree's own tree, which takes as long as rtree takes to build it, and changes are made to
        both from then on. Leaves are those of rtree, unless a box was deleted before the first call: then they are
        those of the boxes that are left, loaded at once.
        """
        if self._tree is None:
            self._tree = self._made_by_rtree()
        return self._tree.leaves()  # type: ignore[no-any-return]

    # In rtree 1.4 these two are exchanged: the limit is the offset, and the offset is the limit.

    def get_result_limit(self) -> int:
        """Return `result_limit`."""
        return self._skipped

    def set_result_limit(self, value: int) -> None:
        """Set `result_limit`."""
        self._skipped = self._id(value, "result_limit")

    def get_result_offset(self) -> int:
        """Return `result_offset`."""
        return self._most

    def set_result_offset(self, value: int) -> None:
        """Set `result_offset`."""
        self._most = self._id(value, "result_offset")

    result_limit = property(
        get_result_limit,
        set_result_limit,
        doc="How many results `intersection`, `contains` and `nearest` leave out at first, if `result_offset` is set.",
    )
    result_offset = property(
        get_result_offset, set_result_offset, doc="How many results these give at most; 0: all of them."
    )

    # What rtree lets classes change, and what they use

    def dumps(self, obj: Any) -> bytes:
        """Make bytes of an object; a class of your own may do it in another way."""
        return pickle.dumps(obj)

    def loads(self, string: bytes) -> Any:
        """Make an object of the bytes of `dumps`."""
        return pickle.loads(string)

    @staticmethod
    def interleave(deinterleaved: Any) -> list[Any]:
        """Turn xmin, xmax, ymin, ymax into xmin, ymin, xmax, ymax."""
        assert len(deinterleaved) % 2 == 0, "must be a pairwise list"
        return [*deinterleaved[::2], *deinterleaved[1::2]]

    @staticmethod
    def deinterleave(interleaved: Any) -> list[Any]:
        """Turn xmin, ymin, xmax, ymax into xmin, xmax, ymin, ymax."""
        assert len(interleaved) % 2 == 0, "must be a pairwise list"
        half = len(interleaved) // 2
        return list(chain.from_iterable(zip(interleaved[:half], interleaved[half:], strict=True)))

    def flush(self) -> None:
        """Do nothing: there is no file."""

    def close(self) -> None:
        """Forget all boxes."""
        self._clear()
        self._tree, self._bulk_count, self._has_deleted = None, 0, False

    def __getstate__(self) -> dict[str, Any]:
        self._make_changes()
        return self.__dict__ | {"_tree": None}

    # Inside

    def _clear(self) -> None:
        self._index = _EMPTY[self._dimension - 1]
        self._ids = np.empty(0, np.int64)  # by row, as the next
        self._objects: list[Any] = []
        self._rows_of = None
        self._new: list[tuple[int, list[float], Any]] = []
        self._tail = np.empty((_FEW, 2, self._dimension))  # the boxes of the first `_tail_count` of these
        self._tail_count = 0
        self._deleted: list[int] = []
        self._bounds = None

    def _corners(self, coordinates: Any) -> list[float]:
        """Lower corner, then upper corner."""
        dimension = self._dimension
        numbers = coordinates.tolist() if isinstance(coordinates, np.ndarray) else coordinates
        corners = [number + 0.0 for number in numbers]
        if len(corners) == dimension:
            corners += corners
        elif len(corners) != 2 * dimension:
            raise ValueError(f"coordinates: must be {dimension} or {2 * dimension} numbers, got {len(corners)}")
        elif not self.interleaved:
            corners = corners[::2] + corners[1::2]
        for lower, upper in zip(corners, corners[dimension:], strict=False):
            if not lower <= upper:
                raise RTreeError(
                    f"Coordinates must not have minimums more than maximums, or NaN: {quoted(coordinates)}"
                )
        return corners

    def _many(self, mins: Any, maxs: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        lower, upper = np.atleast_2d(np.asarray(mins, np.float64)), np.atleast_2d(np.asarray(maxs, np.float64))
        if lower.ndim != 2 or upper.ndim != 2:
            raise ValueError("mins/maxs must have 2 dimensions: (n, d)")
        if lower.shape != upper.shape:
            raise ValueError("mins and maxs shapes not equal")
        if lower.shape[1] != self._dimension:
            raise ValueError(f"mins/maxs must have {self._dimension} columns, got {lower.shape[1]}")
        return lower, upper

    @staticmethod
    def _check(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
        valid = (lower <= upper).all(axis=1)
        if not valid.all():
            row = int(np.argmin(valid))
            raise RTreeError(
                f"Coordinates must not have minimums more than maximums, or NaN: row {row} is "
                f"{lower[row].tolist()} to {upper[row].tolist()}"
            )

    @staticmethod
    def _id(id: Any, name: str = "id") -> int:
        try:
            number = as_index(id)
        except TypeError as error:
            raise ctypes.ArgumentError(f"{name}: must be an integer, got {quoted(id)}") from error
        return number if -(2**63) <= number < 2**63 else ctypes.c_int64(number).value

    def _keeps_constants(self) -> bool:
        own = (getattr(self.dumps, "__func__", None), getattr(self.loads, "__func__", None))
        return own == (Index.dumps, Index.loads)

    def _stored(self, obj: Any) -> Any:
        if obj is None or (type(obj) in _CONSTANT and self._keeps_constants()):
            return obj
        return bytes(self.dumps(obj))

    def _loaded(self, stored: Any) -> Any:
        kind = type(stored)
        if kind is bytes:
            return self.loads(stored)
        return stored.copy() if kind is dict or kind is list else stored

    def _add_arrays(self, ids: Any, mins: Any, maxs: Any) -> None:
        lower, upper = self._many(mins, maxs)
        numbers = np.array(ids).astype(np.int64)
        if len(numbers) != len(lower):
            raise ValueError("index and point counts different")
        self._check(lower, upper)
        self._load(numbers, np.stack((lower, upper), axis=1), [None] * len(numbers))

    def _add_stream(self, stream: Iterable[Any]) -> None:
        ids, numbers, kept = _native.read_boxes(
            stream, self._dimension, self.interleaved, self._keeps_constants(), self._stored, self._other_item
        )
        if not kept:
            raise RTreeError("Empty data stream given")
        self._load(ids, numbers.reshape(len(kept), 2, self._dimension), kept)

    def _other_item(self, item: Any, number: int) -> tuple[int, list[float], Any]:
        """Read an item of a stream that is not simply an int, floats and an object, or say what is wrong with it."""
        id, coordinates, obj = item if len(item) == 3 else (*item, None)
        try:
            corners = self._corners(coordinates)
        except (RTreeError, ValueError) as error:
            raise type(error)(f"item {number} of the stream: {error}") from error
        return self._id(id), [float(one) for one in corners], self._stored(obj)

    def _load(self, ids: NDArray[np.int64], boxes: NDArray[np.float64], objects: list[Any]) -> None:
        self._bulk_count = len(ids)
        if len(ids) > _FEW:
            self._begin_with(ids, boxes, objects)
        else:
            self._new = list(zip(ids.tolist(), boxes.reshape(len(ids), -1).tolist(), objects, strict=True))

    def _begin_with(self, ids: NDArray[np.int64], boxes: NDArray[np.float64], objects: list[Any]) -> None:
        self._index, self._ids, self._objects = bp.Index(boxes), ids, objects
        self._scanned, self._scans = boxes, _SCANS
        self._bounds = None

    def _make_changes(self) -> None:
        if self._deleted or self._new:
            self._scanned, self._scans = np.empty(0), 0
        if self._deleted:
            deleted, self._deleted = self._deleted, []
            self._index.remove(deleted)
            for row in deleted:
                self._objects[row] = None
        if not self._new:
            return
        new, self._new, self._tail_count = self._new, [], 0
        boxes = np.array([corners for _, corners, _ in new]).reshape(len(new), 2, self._dimension)
        if not len(self._index):
            self._clear()
            ids = np.fromiter((id for id, _, _ in new), np.int64, len(new))
            self._begin_with(ids, boxes, [stored for _, _, stored in new])
            return
        rows = self._index.insert(boxes).tolist()
        missing = max(rows) + 1 - len(self._objects)
        if missing > 0:
            self._objects += [None] * missing
        if len(self._ids) < len(self._objects):
            self._ids = np.concatenate((self._ids, np.zeros(len(self._objects), np.int64)))
        for row, (id, _, stored) in zip(rows, new, strict=True):
            self._ids[row], self._objects[row] = id, stored
            if self._rows_of is not None:
                self._rows_of.setdefault(id, []).append(row)

    def _overlapping(self, corners: list[float]) -> NDArray[Any]:
        """Find the rows of boxes that overlap one; `_in_tail` finds those that have no row yet."""
        if self._deleted or len(self._new) > _FEW:
            self._make_changes()
        if not len(self._index):
            return np.empty(0, np.int32)
        if self._scans:
            self._scans -= 1
            half, overlap = self._dimension, np.ones(len(self._scanned), np.bool_)
            for axis in range(half):
                overlap &= self._scanned[:, 0, axis] <= corners[half + axis]
                overlap &= self._scanned[:, 1, axis] >= corners[axis]
            return np.flatnonzero(overlap)
        return self._index.query(corners)

    def _in_tail(self, corners: list[float], *, within: bool = False) -> list[int]:
        return _native.entries_in(self._new, corners, within) if self._new else []

    def _made_by_rtree(self) -> Any:
        """Make rtree's own index of the boxes, in the order in which they came."""
        if self._deleted:
            self._make_changes()
        rows, width = self._index.rows, 2 * self._dimension
        ids = np.concatenate((self._ids[rows], np.array([id for id, _, _ in self._new], np.int64)))
        new = np.array([corners for _, corners, _ in self._new]).reshape(-1, width)
        boxes = np.concatenate((self._index.boxes_of(rows).reshape(-1, width), new))
        bulk = len(ids) if self._has_deleted else self._bulk_count
        lower, upper = boxes[:bulk, : self._dimension], boxes[:bulk, self._dimension :]
        tree = theirs.Index(*([(ids[:bulk], lower, upper)] if bulk else []), properties=self.properties)
        for id, corners in zip(ids[bulk:].tolist(), boxes[bulk:].tolist(), strict=True):
            tree.insert(id, corners)
        return tree

    def _page(self, rows: NDArray[Any], tail: list[int]) -> tuple[NDArray[Any], list[int]]:
        """Take the results that `result_limit` and `result_offset` leave."""
        first = max(self._skipped, 0)
        end, count = first + self._most, len(rows)
        return rows[first:end], tail[max(first - count, 0) : max(end - count, 0)]

    def _given_of_tail(self, places: list[int], objects: Any) -> Iterator[Any]:
        entries = [self._new[place] for place in places]
        if not objects:
            return iter([id for id, _, _ in entries])
        if objects == "raw":
            return (self._loaded(stored) for _, _, stored in entries)
        return (Item(id, self._loaded(stored), self.deinterleave(corners)) for id, corners, stored in entries)

    def _given(self, rows: NDArray[Any], objects: Any) -> Iterator[Any]:
        if not objects:
            return iter(self._ids[rows].tolist())
        if objects == "raw":
            return (self._loaded(self._objects[row]) for row in rows.tolist())
        bounds = self._index.boxes_of(rows).transpose(0, 2, 1).reshape(len(rows), 2 * self._dimension).tolist()
        numbers, ids = rows.tolist(), self._ids[rows].tolist()
        return (
            Item(id, self._loaded(self._objects[row]), one) for id, row, one in zip(ids, numbers, bounds, strict=True)
        )

    def _nearest_to_one(self, corners: list[float], most: int) -> NDArray[np.int32] | None:
        """Do what `_nearest` does for one box; None where it has to. New boxes are rows from ``len(objects)`` on."""
        count = len(self._index)
        if most <= 0 or not count or not all(map(isfinite, corners)):
            return None
        if most >= count or count <= _FEW:
            rows = self._index.rows
        else:
            lower, upper = corners[: self._dimension], corners[self._dimension :]
            center = [one / 2 + other / 2 for one, other in zip(lower, upper, strict=True)]
            reach = float(self._index.nearest(np.array([center]), most).distances[0, -1]) * (1 + 1e-12)
            grown = [[nextafter(one - reach, -inf) for one in lower], [nextafter(one + reach, inf) for one in upper]]
            rows = self._index.query(np.array([grown]))[0]
        boxes = self._index.boxes_of(rows)
        if self._new:
            rows = np.concatenate((rows, _PLACES[: len(self._new)] + np.int32(len(self._objects))))
            boxes = np.concatenate((boxes, self._boxes_of_tail()))
        nearest: Any = _native.nearest_to_box(rows, boxes, corners, int(most))
        return np.asarray(nearest, np.int32)

    def _boxes_of_tail(self) -> NDArray[np.float64]:
        """Return the boxes that are not in the index yet."""
        begin, end = self._tail_count, len(self._new)
        if begin < end:
            self._tail[begin:end].reshape(end - begin, -1)[:] = [corners for _, corners, _ in self._new[begin:]]
            self._tail_count = end
        return self._tail[:end]

    def _nearest(
        self,
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        most: int,
        limits: NDArray[np.float64] | None = None,
        strict: bool = False,
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]:
        """Find the rows nearest to each box, how many each has, and how far the farthest is."""
        count = len(lower)
        strict, most = strict or most < 0, abs(most)
        reach = np.full(count, np.inf)
        if limits is not None:
            reach[limits != 0] = limits[limits != 0]  # rtree: 0 is no limit
        limit = reach.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            # The box is no farther from others than its centre is: the distance of the centre to its k-th box is
            # within reach of the box too.
            centers = lower / 2 + upper / 2
            if most == 0:
                reach[:] = 0.0
            elif most < len(self._index) and np.isfinite(centers).all():
                reach = np.fmin(reach, self._index.nearest(centers, most).distances[:, -1] * (1 + 1e-12))
            grown = np.nextafter(lower - reach[:, None], -np.inf), np.nextafter(upper + reach[:, None], np.inf)
            found = self._index.query((np.fmin(grown[0], lower), np.fmax(grown[1], upper)))
            rows, asking = found.rows, found.query_rows
            boxes = self._index.boxes_of(rows)
            gaps = np.fmax(np.fmax(boxes[:, 0] - upper[asking], lower[asking] - boxes[:, 1]), 0.0)
            squares = np.zeros(len(rows))
            for axis in range(self._dimension):
                squares += gaps[:, axis] * gaps[:, axis]
            distances = np.sqrt(squares)
        order = np.lexsort((rows, distances, asking))
        rows, asking, distances = rows[order], asking[order], distances[order]
        counts, starts = np.diff(found.offsets), found.offsets[:-1]
        last = np.zeros(count)
        has = (counts > 0) & (most > 0)
        last[has] = distances[(starts + np.minimum(counts, most) - 1)[has]]
        kept = (distances <= last[asking]) & (distances <= limit[asking])
        if strict:
            kept &= np.arange(len(rows)) - starts[asking] < most
        counts = np.bincount(asking[kept], minlength=count)
        farthest = np.zeros(count)
        farthest[counts > 0] = distances[kept][np.cumsum(counts)[counts > 0] - 1]
        return rows[kept], counts, farthest


#: Another name of `Index`, as in rtree.
Rtree = Index
