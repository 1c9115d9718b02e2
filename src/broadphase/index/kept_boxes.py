"""Boxes kept for more than one question: how an index is made, changed and stored away."""

from __future__ import annotations

import copy
import threading
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from broadphase.errors import UnsupportedQueryError
from broadphase.index.guard import Guard
from broadphase.index.registry import METHODS
from broadphase.index.rows import Rows
from broadphase.index.timed import Timed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

__all__ = ["KeptBoxes"]

_FLEETING = ("_arrangement", "_guard", "_arranging", "_is_arranging", "_stale", "_seconds", "_builds")


class KeptBoxes:
    """The part of every index that holds its boxes; see `broadphase.BoxIndex` for the whole.

    What a subclass gives: `method`, `_make_core`, and `_incremental` where its core cannot be changed but only built.
    """

    #: Name of its row in the registry.
    method: ClassVar[str]
    #: False: after a change, the next question builds the core again.
    _incremental: ClassVar[bool] = True
    #: What the core's build, insert and update take by name.
    _core_options: Mapping[str, Any] = MappingProxyType({})
    _capabilities: ClassVar[frozenset[str]] = frozenset()
    _rows: Rows

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "method" in vars(cls) and "_capabilities" not in vars(cls):
            cls._capabilities = frozenset().union(*(row.capabilities for row in METHODS if row.name == cls.method))

    def __init__(self, boxes: Any, *, layer: Any = None, mask: Any = None) -> None:
        self._rows = Rows(boxes, layer, mask)
        self._begin()
        self._build_first()

    # For subclasses: the object of the compiled module that arranges the rows, from the subclass's own options.
    # It has build, insert, update, remove, pairs, count, stats, outline, validate and memory_bytes.
    def _make_core(self) -> Any:
        raise NotImplementedError

    # For subclasses: what the core has to say. It need not be built for that.
    def _core_stats(self) -> dict[str, Any]:
        return dict(self._arranged().stats())

    # For subclasses: whether the core is to be told of a change to so many rows, or rather built anew when it is asked.
    def _keeps_up(self, changed: int) -> bool:
        return self._incremental

    # For subclasses that put the building off.
    def _build_first(self) -> None:
        self._arranged()

    def _begin(self) -> None:
        self._arrangement: Any = None
        self._guard = Guard()
        self._arranging = threading.RLock()
        self._is_arranging = False
        self._stale = True
        self._builds = 0
        self._seconds: dict[str, float | None] = {"build": None, "update": None, "query": None}

    def __len__(self) -> int:
        return self._rows.living

    def __repr__(self) -> str:
        count = len(self)
        return f"<{type(self).__name__} of {count} box{'es' * (count != 1)}, {self.dimension}-d {self.dtype}>"

    def __getstate__(self) -> dict[str, Any]:
        with self._guard.reading:
            return {name: value for name, value in vars(self).items() if name not in _FLEETING}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # sharing the boxes would let one change them under the other

    @property
    def dimension(self) -> int:
        """Number of axes, 1 to 4."""
        return self._rows.dimension

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the corners: float32 or float64, as the boxes that the index was made from."""
        return self._rows.corners.dtype

    @property
    def slots(self) -> int:
        """Every row is below this number. Filters of pairs have so many entries."""
        return self._rows.slots

    @property
    def rows(self) -> NDArray[np.int32]:
        """The rows of the boxes in the index, ascending, shape (len(index),). Read-only."""
        return self._rows.numbers

    def boxes_of(self, rows: ArrayLike | None = None) -> NDArray[Any]:
        """Get the corners of boxes.

        Parameters
        ----------
        rows : array_like of int, shape (k,), optional
            Unset: all `rows`.

        Returns
        -------
        ndarray, shape (k, 2, d), of `dtype`
            A copy.

        Raises
        ------
        UnknownRowError
            A row that is not in use, by number.
        """
        with self._guard.reading:
            boxes: NDArray[Any] = self._rows.corners[self._rows.numbers if rows is None else self._rows.known(rows)]
            return boxes

    def insert(self, boxes: Any, *, layer: Any = None, mask: Any = None) -> NDArray[np.int32]:
        """Add boxes.

        Parameters
        ----------
        boxes : array_like, shape (k, 2, d) or (k, 2*d), or tuple of two (k, d)
            In float32, if the index is of float32: numbers that it cannot hold exactly are refused.
        layer, mask : array_like of uint64, shape (k,), or int, optional
            As when the index is made.

        Returns
        -------
        ndarray, shape (k,), int32
            Their rows: those that `remove` freed first, the lowest first, then new ones.

        Raises
        ------
        ValueError, TypeError
            As `broadphase.pairs`; NaN and lower > upper name the row in `boxes`. The index is as before.
        RuntimeError
            Another thread asks or changes the index.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[0, 0, 1, 1], [5, 5, 6, 6]])
        >>> index.remove(0)
        >>> index.insert([[5, 5, 7, 7], [8, 8, 9, 9]])
        array([0, 2], dtype=int32)
        """
        with self._guard.changing, Timed(self._seconds, "update"):
            rows = self._rows.insert(boxes, layer, mask)
            if len(rows) == self._rows.living:
                self._stale = True
                self._build_first()
            else:
                self._tell_core("insert", rows)
        return rows

    def remove(self, rows: ArrayLike) -> None:
        """Take boxes out. Their rows will be used again; their handles stay stale for ever.

        Parameters
        ----------
        rows : array_like of int, shape (k,), or int
            No row twice.

        Raises
        ------
        UnknownRowError
            A row that is not in use, by number. The index is as before.
        ValueError
            A row that is named twice.
        RuntimeError
            Another thread asks or changes the index.
        """
        with self._guard.changing, Timed(self._seconds, "update"):
            numbers = self._rows.distinct(rows)
            self._rows.remove(numbers)
            self._note_removed(numbers)
            self._tell_core("remove", numbers)

    def update(self, boxes: Any, rows: ArrayLike | None = None) -> None:
        """Move boxes: give them other corners.

        Parameters
        ----------
        boxes : array_like, shape (k, 2, d) or (k, 2*d), or tuple of two (k, d)
            As `insert` takes them.
        rows : array_like of int, shape (k,), or int, optional
            The row of each, no row twice. Unset: all `BoxIndex.rows`, in their order.

        Raises
        ------
        ValueError, TypeError
            As `insert`; a number of boxes that is not that of the rows; a row that is named twice. The index is as
            before.
        UnknownRowError
            A row that is not in use, by number. The index is as before.
        RuntimeError
            Another thread asks or changes the index.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[0, 0, 1, 1], [5, 5, 6, 6]])
        >>> index.update([[4, 4, 5, 5]], rows=[0])
        >>> index.pairs()
        array([[0, 1]], dtype=int32)
        """
        with self._guard.changing, Timed(self._seconds, "update"):
            numbers = None if rows is None else self._rows.distinct(rows)
            self._rows.move(numbers, boxes)
            self._tell_core("update", self._rows.numbers if numbers is None else numbers)

    def update_filters(self, rows: ArrayLike, *, layer: Any = None, mask: Any = None) -> None:
        """Give boxes other layers, or other masks.

        Parameters
        ----------
        rows : array_like of int, shape (k,), or int
            The boxes.
        layer, mask : array_like of uint64, shape (k,), or int, optional
            Unset: stays as it is.

        Raises
        ------
        ValueError, TypeError
            Wrong shape or dtype. The index is as before.
        UnknownRowError
            A row that is not in use, by number. The index is as before.
        RuntimeError
            Another thread asks or changes the index.
        """
        with self._guard.changing:
            self._rows.set_filters(self._rows.known(rows), layer, mask)

    def handles(self, rows: ArrayLike | None = None) -> NDArray[np.int64]:
        """Name boxes so that they are never taken for others.

        A row is used again after its box is removed; a handle is not.

        Parameters
        ----------
        rows : array_like of int, shape (k,), or int, optional
            Unset: all `rows`.

        Returns
        -------
        ndarray, shape (k,), int64
            Positive numbers, to be kept for as long as you like, through pickling too.

        Raises
        ------
        UnknownRowError
            A row that is not in use, by number.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[0, 0, 1, 1], [5, 5, 6, 6]])
        >>> handle = index.handles(1)
        >>> index.rows_of(handle)
        array([1], dtype=int32)
        >>> index.remove(1)
        >>> index.insert([[7, 7, 8, 8]])
        array([1], dtype=int32)
        >>> index.rows_of(handle)
        Traceback (most recent call last):
            ...
        broadphase.errors.UnknownRowError: handle 4294967297 is stale: the box that was row 1 is gone
        """
        with self._guard.reading:
            return self._rows.handles(self._rows.numbers if rows is None else rows)

    def rows_of(self, handles: ArrayLike) -> NDArray[np.int32]:
        """Find the rows of boxes by their handles.

        Parameters
        ----------
        handles : array_like of int64, shape (k,), or int
            What `handles` gave.

        Returns
        -------
        ndarray, shape (k,), int32
            Their rows.

        Raises
        ------
        UnknownRowError
            A box that has been removed, by its handle.
        """
        with self._guard.reading:
            return self._rows.rows_of(handles)

    # For what remembers rows.
    def _note_removed(self, rows: NDArray[np.int32]) -> None:
        pass

    def _tell_core(self, change: str, rows: NDArray[np.int32]) -> None:
        if not len(rows):
            return
        if self._stale or not self._keeps_up(len(rows)):
            self._stale = True
            return
        try:
            if change == "remove":
                self._arrangement.remove(rows)
            else:
                getattr(self._arrangement, change)(*self._rows.views, rows, **self._core_options)
        except MemoryError:
            self._stale = True  # the rows are right; the next question arranges them anew, or fails
        except BaseException:
            self._stale = True
            raise

    def _arranged(self) -> Any:
        """Return the core with every row in its place. For the inside of a question or a change."""
        if self._stale:
            with self._arranging:  # several threads may ask first
                if self._is_arranging:
                    raise RuntimeError("the index was asked by a signal handler, while it is being built")
                if self._stale:
                    self._is_arranging = True
                    try:
                        self._build()
                    finally:
                        self._is_arranging = False
        return self._arrangement

    def _build(self) -> None:
        with Timed(self._seconds, "build"):
            if self._arrangement is None:
                self._arrangement = self._make_core()
            self._arrangement.build(*self._rows.views, self._rows.numbers, **self._core_options)
            self._stale = False
            self._builds += 1

    def _require(self, question: str) -> None:
        if question not in self._capabilities:
            able = ", ".join(row.index_class for row in METHODS if question in row.capabilities and row.index_class)
            raise UnsupportedQueryError(f"{type(self).__name__} has no {question}; these have: {able}")
