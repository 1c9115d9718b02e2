"""A change of an index or a world: everything that it writes is collected first, and then written at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Change"]


class Change:
    """What a change writes.

    The methods write nothing: they collect. `commit` is one call of the core, which checks everything, gets all the
    memory that it needs, and then writes. Signals are handled only between such calls: an exception finds everything
    as it was, or as it is to be.
    """

    __slots__ = ("_arrays", "_dictionaries", "_items", "_shapes")

    def __init__(self) -> None:
        self._arrays: list[tuple[Any, ...]] = []
        self._dictionaries: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self._items: list[tuple[Any, ...]] = []
        self._shapes: list[tuple[Any, ...]] = []

    def write(self, to: NDArray[Any], values: NDArray[Any], rows: NDArray[np.int32] | None = None) -> None:
        """Write values of the same dtype to an array, or to some of its rows."""
        self._arrays.append((to, np.ascontiguousarray(values), rows))

    def write_boxes(
        self, to: NDArray[Any], lower: NDArray[Any], upper: NDArray[Any], rows: NDArray[np.int32] | None
    ) -> None:
        """Write boxes of the same dtype to rows of an array of shape (n, 2, d), or to the first ones."""
        self._arrays.append((to, (lower, upper), rows))

    def flag(self, to: NDArray[Any], value: bool, rows: NDArray[np.int32]) -> None:
        """Write a flag to rows of an array of bool or uint8."""
        self._arrays.append((to, value, rows))

    def clear(self, to: NDArray[Any], rows: NDArray[np.int32] | None = None) -> None:
        """Write zeros to an array, or to some of its rows."""
        self._arrays.append((to, None, rows))

    def assign(self, owner: object, **values: Any) -> None:
        """Give attributes that exist other values."""
        self._dictionaries.append((vars(owner), values))

    def update(self, dictionary: dict[Any, Any], values: dict[Any, Any]) -> None:
        """Give keys that exist other values."""
        self._dictionaries.append((dictionary, values))

    def set_item(self, dictionary: dict[Any, Any], key: Any, value: Any) -> None:
        """Set an entry of a dictionary, which may be a new one."""
        self._items.append((dictionary, key, value))

    def delete_item(self, dictionary: dict[Any, Any], key: Any) -> None:
        """Delete an entry that exists."""
        self._items.append((dictionary, key))

    def set_slot(self, owner: object, name: str, value: Any) -> None:
        """Give an attribute that is declared in ``__slots__`` another value."""
        self._items.append((owner, name, value))

    def set_shapes(self, store: _native.ShapeStore, rows: NDArray[np.int32], records: Any, *place: Any) -> None:
        """Give rows other shapes; `place` has positions, rotations and boxes by row, for them to be placed there."""
        self._shapes.append((store, rows, *records, *place))

    def place_shapes(self, store: _native.ShapeStore, rows: NDArray[np.int32], *place: Any) -> None:
        """Place the shapes of rows at positions and rotations by row, and write their boxes, which are `place`."""
        self._shapes.append((store, rows, None, None, None, *place))

    def commit(self, workers: int = 1) -> None:
        """Write everything, or raise and write nothing. Large arrays are copied on threads."""
        _native.commit(self._arrays, self._dictionaries, self._items, self._shapes, workers)
