"""Which boxes are compared at all: those with the same key, one integer per box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.filters import as_attribute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["batched_rows"]

_ARRAY_FORM = "boxes of shape (E, n, 2, d) are E batches of n already"


def batched_rows(
    batch: Any, counts: Sequence[int], sizes: Sequence[int | None], kept: Sequence[NDArray[np.int64] | None]
) -> _native.BatchedRows:
    """Convert ``batch=`` of `broadphase.pairs` for one set of boxes or two.

    Parameters
    ----------
    batch : array_like of int, or tuple of two for two sets
        As the caller gave it; None where all sets have a size.
    counts : sequence of int
        Boxes of each set, as they were given.
    sizes : sequence of int or None
        Where a set came as scenes of one size, that size.
    kept : sequence of ndarray of int64 or None
        The rows of each set that are left of those given; None: all.

    Raises
    ------
    ValueError, TypeError
        A key is missing, or is no integer.
    """
    if len(counts) == 1:
        return _native.BatchedRows(_keys("batch", batch, counts[0], sizes[0], kept[0]), None)
    if batch is None:
        if sizes[0] is None or sizes[1] is None:
            plain = "other" if sizes[1] is None else "boxes"
            raise ValueError(f"batch: {_ARRAY_FORM}, and {plain} is not; give the keys of {plain} in a tuple with None")
        scenes = [count // max(size, 1) for count, size in zip(counts, sizes, strict=True) if size is not None]
        if scenes[0] != scenes[1] and all(counts):
            raise ValueError(f"boxes has {scenes[0]} batches, and other has {scenes[1]}")
        batch = (None, None)
    elif np.isscalar(batch):
        batch = (batch, batch)
    if not isinstance(batch, tuple) or len(batch) != 2:
        raise ValueError("batch: for two sets of boxes, give a tuple (for the first, for the second)")
    first, second = (_keys(f"batch[{k}]", batch[k], counts[k], sizes[k], kept[k]) for k in range(2))
    return _native.BatchedRows(first, second)


def _keys(
    name: str, batch: Any, count: int, size: int | None, kept: NDArray[np.int64] | None
) -> tuple[int, NDArray[np.int64] | None, int]:
    if size is not None:
        if batch is not None:
            raise ValueError(f"{name}: {_ARRAY_FORM}; leave it out")
        if kept is None:
            return count, None, max(size, 1)
        keys = kept // max(size, 1)
    elif batch is None:
        raise ValueError(f"{name} is None; one key per box is needed")
    else:
        keys = as_attribute(name, batch, count, np.int64)
        if kept is not None:
            keys = keys[kept]
    return len(keys), keys, 1
