"""Which boxes or points are compared at all: those with the same key, one integer each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.filters import as_attribute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["KeyedSet", "batch_of_each", "batched_rows", "keyed_sets"]

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
    given = batch_of_each(batch, counts, sizes, what, shape)
    return [_keys(*each) for each in zip(given, counts, sizes, kept, strict=False)]


def batch_of_each(
    batch: Any, counts: Sequence[int], sizes: Sequence[int | None], what: str, shape: str
) -> list[tuple[str, Any]]:
    """Return the name and the value of ``batch=`` for each set: None for those that came as scenes of one size."""
    names, form = (what, "other"), f"of shape {shape} are E batches of n already"
    if len(counts) == 1:
        given = [("batch", batch)]
    else:
        if batch is None and None in sizes:
            plain = names[sizes.index(None)]
            raise ValueError(f"batch: {what} {form}, and {plain} is not; give the keys of {plain} in a tuple with None")
        both = (batch, batch) if batch is None or np.isscalar(batch) else batch
        if not isinstance(both, tuple) or len(both) != 2:
            raise ValueError("batch: for two sets, give a tuple (for the first, for the second)")
        given = [(f"batch[{k}]", both[k]) for k in range(2)]
    for (name, value), size in zip(given, sizes, strict=False):
        if size is not None and value is not None:
            raise ValueError(f"{name}: {what} {form}; leave it out")
        if size is None and value is None:
            raise ValueError(f"{name} is None; one key per row is needed")
    scenes = [count // max(size, 1) for count, size in zip(counts, sizes, strict=False) if size is not None]
    if len(scenes) == 2 and scenes[0] != scenes[1] and all(counts):
        raise ValueError(f"{what} has {scenes[0]} batches, and other has {scenes[1]}")
    return given


def _keys(given: tuple[str, Any], count: int, size: int | None, kept: NDArray[np.int64] | None) -> KeyedSet:
    name, batch = given
    if size is not None:
        if kept is None:
            return count, None, max(size, 1)
        keys = kept // max(size, 1)
    else:
        keys = as_attribute(name, batch, count, np.int64)
        if kept is not None:
            keys = keys[kept]
    return len(keys), keys, 1
