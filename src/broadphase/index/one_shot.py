"""The boxes of an index as input of `broadphase.pairs`, and its answer in their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.filters import filters_of_rows
from broadphase.pairs import pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.index.rows import Rows

__all__ = ["FILTERS", "BoxSet", "ask_at_once", "set_of"]

FILTERS = ("layer", "mask", "group", "static", "ignore_pairs", "ignore_shared")


class BoxSet(NamedTuple):
    """One side of a question: boxes without gaps, and by slot what filters them.

    Attributes
    ----------
    corners : tuple of two ndarray, shape (n, d)
        Lower and upper.
    rows : ndarray, shape (n,), int32, or None
        The row of each; None if that is its number.
    slots : int
        All rows are below it.
    layer, mask : ndarray, shape (slots,), uint64, or None
        None: all bits.
    """

    corners: tuple[NDArray[Any], NDArray[Any]]
    rows: NDArray[np.int32] | None
    slots: int
    layer: NDArray[np.uint64] | None
    mask: NDArray[np.uint64] | None

    def bits(self) -> tuple[NDArray[np.uint64] | None, NDArray[np.uint64] | None]:
        """Layer and mask of each box, shape (n,), or None."""
        if self.rows is None:
            return self.layer, self.mask
        return None if self.layer is None else self.layer[self.rows], None if self.mask is None else self.mask[
            self.rows
        ]


def set_of(kept: Rows) -> BoxSet:
    """Give the living boxes of an index, and no copy where no slot is free."""
    lower, upper, rows = kept.living_corners()
    return BoxSet((lower, upper), rows, kept.slots, *kept.bits)


def ask_at_once(
    function: Callable[..., Any], first: BoxSet, second: BoxSet | None, filters: tuple[Any, ...], **options: Any
) -> Any:
    """Ask `broadphase.pairs` or `broadphase.count_pairs`; filters are by slot, in the order of `make_filter`."""
    layer, mask, *others = filters
    if second is None:
        layer, mask = first.layer if layer is None else layer, first.mask if mask is None else mask
    else:
        if layer is None and not (first.layer is None and second.layer is None):
            layer = first.layer, second.layer
        if mask is None and not (first.mask is None and second.mask is None):
            mask = first.mask, second.mask
    sets = [first] if second is None else [first, second]
    shares = filters_of_rows((layer, mask, *others), [one.rows for one in sets], [one.slots for one in sets])
    found = function(
        first.corners,
        None if second is None else second.corners,
        **dict(zip(FILTERS, shares, strict=True)),
        **options,
    )
    if function is pairs:
        for column, rows in enumerate((first.rows, sets[-1].rows)):
            if rows is not None:
                found[:, column] = rows[found[:, column]]
    return found
