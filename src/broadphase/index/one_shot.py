"""Search for pairs with `broadphase.pairs`: the boxes of an index as its input, and its result in rows of the index."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.searches import iter_pairs, pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from broadphase.filters import PairFilter
    from broadphase.index.store import BoxStore

__all__ = ["BoxSet", "find_at_once", "set_of"]


class BoxSet(NamedTuple):
    """One side of a search: boxes without gaps; bits and keys by slot."""

    corners: tuple[NDArray[Any], NDArray[Any]]  # (n, d), lower and upper
    rows: NDArray[np.int32] | None  # of each box; None if rows are 0 to n - 1
    slots: int  # upper bound of all rows
    layer: NDArray[np.uint64] | None  # (slots,), as those below; None: all bits
    mask: NDArray[np.uint64] | None
    batch: NDArray[np.int64] | None  # None: all 0

    def bits(self) -> tuple[NDArray[np.uint64] | None, NDArray[np.uint64] | None]:
        """Layer and mask of each box, shape (n,), or None."""
        layer, mask = self.layer, self.mask
        if self.rows is None:
            return layer, mask
        return None if layer is None else layer[self.rows], None if mask is None else mask[self.rows]


def set_of(store: BoxStore) -> BoxSet:
    """Return the boxes in use; no copy where no slot is free."""
    lower, upper, rows = store.living_corners()
    return BoxSet((lower, upper), rows, store.slots, *store.bits, store.keys)


def find_at_once(
    function: Callable[..., Any], first: BoxSet, second: BoxSet | None, pair_filter: PairFilter, **options: Any
) -> Any:
    """Call `broadphase.pairs`, `iter_pairs` or `count_pairs` for one set or two, with a filter by slot."""
    layer, mask = pair_filter.layer, pair_filter.mask
    if second is None:
        layer, mask = first.layer if layer is None else layer, first.mask if mask is None else mask
    else:
        if layer is None and not (first.layer is None and second.layer is None):
            layer = first.layer, second.layer
        if mask is None and not (first.mask is None and second.mask is None):
            mask = first.mask, second.mask
    if layer is not pair_filter.layer or mask is not pair_filter.mask:
        pair_filter = replace(pair_filter, layer=layer, mask=mask)
    sets = [first] if second is None else [first, second]
    if any(one.batch is not None for one in sets):
        keys = tuple(0 if one.batch is None else one.batch for one in sets)
        pair_filter = replace(pair_filter, batch=keys[0] if second is None else keys)
    pair_filter = pair_filter.of_rows([one.rows for one in sets], [one.slots for one in sets])
    other = None if second is None else second.corners
    found = function(first.corners, other, **pair_filter.given(), **options)
    rows = first.rows, sets[-1].rows
    if function is iter_pairs and (first.rows is not None or sets[-1].rows is not None):
        kept = [None if own is None else own.copy() for own in rows]  # the index may change meanwhile
        return (_renamed(some, kept) for some in found)
    return _renamed(found, rows) if function is pairs else found


def _renamed(found: NDArray[np.int32], rows: Sequence[NDArray[np.int32] | None]) -> NDArray[np.int32]:
    """Replace places by rows, in place."""
    for column, own in enumerate(rows):
        if own is not None:
            found[:, column] = np.take(own, found[:, column])
    return found
