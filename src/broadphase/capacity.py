"""Pairs in memory of a fixed size: the result of searches with ``capacity=``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.arguments import as_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PaddedPairs", "capacity_of", "padded_pairs"]


class PaddedPairs(NamedTuple):
    """Pairs in memory of a fixed size; the result of `pairs` with ``capacity=``.

    Attributes
    ----------
    pairs : array, shape (capacity, 2), int32
        Row numbers; -1 behind the last pair.
    count : int32
        How many pairs there are; more than `capacity` if some are missing. For boxes on a device it is there too, an
        array of shape (), or of shape (1,) of Warp; ``-1 - row`` if the box of that row is invalid.
    """

    pairs: Any
    count: Any


def capacity_of(capacity: int, max_pairs: int | None) -> int:
    """Check ``capacity=``, which does not go with ``max_pairs=``."""
    if max_pairs is not None:
        raise ValueError("max_pairs and capacity are two ways to limit pairs; give one")
    return as_whole(capacity, "capacity", 0, 2**31 - 1)


def padded_pairs(found: NDArray[np.int32], capacity: int) -> PaddedPairs:
    """Return as many pairs as there is room for, and their number."""
    padded = np.full((capacity, 2), -1, np.int32)
    padded[: len(found)] = found[:capacity]
    return PaddedPairs(padded, np.int32(min(len(found), np.iinfo(np.int32).max)))
