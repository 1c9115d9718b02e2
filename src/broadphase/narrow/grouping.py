"""Groups of clashes: many bolts of one flange are one line of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.arguments import as_length
from broadphase.errors import quoted
from broadphase.representations import shown

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

__all__ = ["ClashGroups", "group_cells", "group_keys"]


@shown
class ClashGroups(NamedTuple):
    """Groups of clashes, that of the worst clash first.

    Attributes
    ----------
    keys : list of tuple
        What the clashes of each group have in common: the keys of both parts, or the cell, three whole numbers.
    rows : ndarray, shape (m,), int64
        Rows of the clashes, one group after the other, the worst first in each.
    offsets : ndarray, shape (g + 1,), int64
        Where each group begins in `rows`, and the end.
    """

    keys: list[tuple[Hashable, ...]]
    rows: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of clashes of each group."""
        return np.diff(self.offsets)

    @property
    def worst(self) -> NDArray[np.int64]:
        """Row of the worst clash of each group."""
        return self.rows[self.offsets[:-1]]

    def rows_of(self, group: int) -> NDArray[np.int64]:
        """Return the rows of the clashes of one group, the worst first."""
        return self.rows[self.offsets[group] : self.offsets[group + 1]]


def group_keys(
    pairs: NDArray[np.int32], order: NDArray[np.int64], keys: Sequence[Any], other: Sequence[Any] | None
) -> ClashGroups:
    """Group pairs by the keys of both parts, in either order if they are of one set; `order` is worst first."""
    numbers: dict[Any, int] = {}
    first = _numbered("keys", keys, pairs[:, 0] if other is not None else pairs.ravel(), numbers)
    second = first if other is None else _numbered("other", other, pairs[:, 1], numbers)
    names = {number: None if isinstance(key, _Alone) else key for key, number in numbers.items()}
    of_pairs = np.stack([first[pairs[:, 0]], second[pairs[:, 1]]], axis=1) if len(pairs) else np.empty((0, 2), int)
    if other is None:
        of_pairs.sort(axis=1)
    return _grouped(
        [(one, two) for one, two in of_pairs.tolist()], order, lambda pair: (names[pair[0]], names[pair[1]])
    )


def group_cells(points: NDArray[np.float64], order: NDArray[np.int64], size: float) -> ClashGroups:
    """Group clashes by the cell of a regular grid that the middle of their two points is in."""
    edge = as_length(size, "cell")
    if edge == 0:
        raise ValueError("cell must be above 0")
    cells = np.floor((points[:, 0] / 2 + points[:, 1] / 2) / edge)
    return _grouped([tuple(int(x) for x in cell) for cell in cells], order, lambda cell: cell)


class _Alone(NamedTuple):
    """The key of a part without one: equal to no other."""

    which: str
    row: int


def _numbered(name: str, keys: Sequence[Any], rows: NDArray[np.int32], numbers: dict[Any, int]) -> NDArray[np.int64]:
    """Return the number of the key of each part; a part of the key None has a number of its own."""
    if isinstance(keys, str | bytes) or not hasattr(keys, "__len__"):
        raise TypeError(f"{name} must be a list with a key for each part, not {quoted(keys)}")
    if len(rows) and rows.max() >= len(keys):
        raise ValueError(f"{name} has {len(keys):,} keys, and there is a clash of part {rows.max()}")
    found = np.empty(len(keys), np.int64)
    for row, key in enumerate(keys.tolist() if isinstance(keys, np.ndarray) else keys):
        try:
            found[row] = numbers.setdefault(_Alone(name, row) if key is None else key, len(numbers))
        except TypeError:
            raise TypeError(f"{name}[{row}] is no key of a group: {quoted(key)} is not hashable") from None
    return found


def _grouped(of_pairs: list[Any], order: NDArray[np.int64], key_of: Any) -> ClashGroups:
    members: dict[Any, list[int]] = {}
    for row in order.tolist():
        members.setdefault(of_pairs[row], []).append(row)
    rows = np.array([row for listed in members.values() for row in listed], np.int64)
    offsets = np.cumsum([0, *(len(listed) for listed in members.values())])
    return ClashGroups([key_of(pair) for pair in members], rows, offsets.astype(np.int64))
