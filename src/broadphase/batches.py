"""Which boxes or points are compared at all: those with the same key, one integer each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.filters import as_attribute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["KeyedSet", "batched_rows", "keyed_sets"]

#: How many rows, and the key of each, or None: then so many in a row are a batch.
KeyedSet: TypeAlias = "tuple[int, NDArray[np.int64] | None, int]"


def batched_rows(
    batch: Any, counts: Sequence[int], sizes: Sequence[int | None], kept: Sequence[NDArray[np.int64] | None]
) -> _native.BatchedRows:
    """Convert ``batch=`` of `broadphase.pairs` for the core; see `keyed_sets`."""
    own, *other = keyed_sets(batch, counts, sizes, kept, "boxes", "(E, n, 2, d)")
    return _native.BatchedRows(own, other[0] if other else None)


def keyed_sets(
    batch: Any,
    counts: Sequence[int],
    sizes: Sequence[int | None],
    kept: Sequence[NDArray[np.int64] | None],
    what: str,
    shape: str,
) -> list[KeyedSet]:
    """Convert ``batch=`` of one set or two: the keys of the rows that are `kept` of each (None: all of `counts`).

    `sizes` has the size of the scenes of a set that came as scenes of one size. `what` and `shape` are the name of the
    first set, and its shape then. A key that is missing, or no integer, raises ValueError or TypeError.
    """
    form = f"{what} of shape {shape} are E batches of n already"
    if len(counts) == 1:
        return [_keys("batch", batch, counts[0], sizes[0], kept[0], form)]
    if batch is None:
        if sizes[0] is None or sizes[1] is None:
            plain = "other" if sizes[1] is None else what
            raise ValueError(f"batch: {form}, and {plain} is not; give the keys of {plain} in a tuple with None")
        scenes = [count // max(size, 1) for count, size in zip(counts, sizes, strict=True) if size is not None]
        if scenes[0] != scenes[1] and all(counts):
            raise ValueError(f"{what} has {scenes[0]} batches, and other has {scenes[1]}")
        batch = (None, None)
    elif np.isscalar(batch):
        batch = (batch, batch)
    if not isinstance(batch, tuple) or len(batch) != 2:
        raise ValueError("batch: for two sets, give a tuple (for the first, for the second)")
    return [_keys(f"batch[{k}]", batch[k], counts[k], sizes[k], kept[k], form) for k in range(2)]


def _keys(name: str, batch: Any, count: int, size: int | None, kept: NDArray[np.int64] | None, form: str) -> KeyedSet:
    if size is not None:
        if batch is not None:
            raise ValueError(f"{name}: {form}; leave it out")
        if kept is None:
            return count, None, max(size, 1)
        keys = kept // max(size, 1)
    elif batch is None:
        raise ValueError(f"{name} is None; one key per row is needed")
    else:
        keys = as_attribute(name, batch, count, np.int64)
        if kept is not None:
            keys = keys[kept]
    return len(keys), keys, 1
