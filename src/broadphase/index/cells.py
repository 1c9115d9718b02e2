"""The cells of trees that halve space, as arrays: levels, Morton numbers, children and rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import UnsupportedQueryError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint64]

__all__ = ["TreeCells", "interleaved", "tree_cells"]

_MOST_BITS = 63


@dataclass(frozen=True, eq=False, repr=False)
class TreeCells:
    """The cells of an octree or a linear tree, by level and then in Z order: new arrays.

    ``tree.cells()`` returns them, in O(n log n).

    Attributes
    ----------
    dim : int
        Number of axes.
    level : ndarray, shape (c,), int32
        0 is the root.
    number : ndarray, shape (c,), uint64
        Morton number of each cell in its level; see `broadphase.morton`. That of its parent is ``number >> dim``.
    children : ndarray, shape (c,), uint16
        Which children exist: bit k is the child ``number << dim | k``.
    rows, offsets : ndarray, shape (m,), int32, and (c + 1,), int64
        Cell i itself holds ``rows[offsets[i]:offsets[i + 1]]``, ascending.
    outside : ndarray, int32
        Rows that no cell holds: far outside the root of an octree.
    """

    dim: int
    level: NDArray[np.int32]
    number: Numbers
    children: NDArray[np.uint16]
    rows: NDArray[np.int32]
    offsets: NDArray[np.int64]
    outside: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.level)

    def __repr__(self) -> str:
        return f"<TreeCells: {len(self):,} cells, {len(self.rows):,} rows, levels {self._levels()}>"

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows that each cell itself holds, shape (c,)."""
        return np.diff(self.offsets)

    @property
    def flat(self) -> Numbers:
        """The place of each cell in storage without pointers, (c,): level L begins at (2^(L d) - 1) / (2^d - 1)."""
        begins = np.array(
            [((1 << self.dim * int(at)) - 1) // ((1 << self.dim) - 1) for at in self._levels()], np.uint64
        )
        return begins[np.searchsorted(self._levels(), self.level)] + self.number

    @property
    def tests(self) -> int:
        """Number of pairs of rows in one cell, or in a cell and an ancestor: the tests of a plain search of the tree.

        `BoxIndex.pairs` makes fewer, see ``stats()["tests"]``: it skips rows that do not reach into a cell.
        """
        counts = self.counts
        around = np.zeros(len(self), np.int64)
        for level in self._levels()[1:]:
            here, above = np.flatnonzero(self.level == level), np.flatnonzero(self.level == level - 1)
            parent = above[np.searchsorted(self.number[above], self.number[here] >> np.uint64(self.dim))]
            around[here] = around[parent] + counts[parent]
        return int((counts * (counts - 1) // 2 + counts * around).sum())

    def _levels(self) -> list[int]:
        levels: list[int] = np.unique(self.level).tolist()
        return levels


def interleaved(coordinates: NDArray[np.uint64]) -> Numbers:
    """Return the Morton numbers of cells, (n,), from their coordinates, (n, d), axis 0 lowest."""
    count, dim = coordinates.shape
    numbers = np.zeros(count, np.uint64)
    for bit in range(int(coordinates.max(initial=0)).bit_length()):
        for axis in range(dim):
            numbers |= (coordinates[:, axis] >> np.uint64(bit) & np.uint64(1)) << np.uint64(bit * dim + axis)
    return numbers


def tree_cells(
    dim: int,
    cells: tuple[NDArray[np.int32], Numbers],
    rows: NDArray[np.int32],
    of_rows: tuple[NDArray[np.int32], Numbers],
) -> TreeCells:
    """Sort cells, add their ancestors, and put rows, ascending, into them.

    `cells` are levels and numbers of cells, with or without rows; `of_rows` those of the cell of each row, which need
    not be in `cells`; level -1 for none.
    """
    is_inside = of_rows[0] >= 0
    outside, rows = rows[~is_inside], rows[is_inside]
    own_level, own_number = (part[is_inside] for part in of_rows)
    level, number = np.concatenate([cells[0], own_level]), np.concatenate([cells[1], own_number])
    deepest = int(level.max(initial=0))
    if dim * deepest > _MOST_BITS:
        raise UnsupportedQueryError(f"cells of level {deepest} have numbers of more than {_MOST_BITS} bits")
    found: list[Any] = []
    up = np.empty(0, np.uint64)
    for at in range(deepest, -1, -1):
        here = np.unique(np.concatenate([number[level == at], up]))
        children = np.zeros(len(here), np.uint16)
        if found:
            below = found[-1][0]
            places = np.searchsorted(here, below >> np.uint64(dim))
            np.bitwise_or.at(children, places, np.uint16(1) << (below & np.uint64((1 << dim) - 1)).astype(np.uint16))
        found.append((here, children))
        up = here >> np.uint64(dim)
    found.reverse()
    levels = np.repeat(np.arange(len(found), dtype=np.int32), [len(here) for here, _ in found])
    starts = np.cumsum([0, *(len(here) for here, _ in found)])
    place = np.zeros(len(rows), np.int64)
    for at, (here, _) in enumerate(found):
        own = own_level == at
        place[own] = starts[at] + np.searchsorted(here, own_number[own])
    order = np.argsort(place, kind="stable")
    offsets = np.searchsorted(place[order], np.arange(len(levels) + 1)).astype(np.int64)
    numbers, masks = (np.concatenate(column) for column in zip(*found, strict=True))
    return TreeCells(dim, levels, numbers, masks, rows[order], offsets, outside)
