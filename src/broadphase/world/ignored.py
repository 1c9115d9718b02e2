"""Pairs of rows that are never reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.world.memory import keys_of, pairs_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pairs = NDArray[np.int32]

__all__ = ["Ignored"]


class Ignored:
    """A set of pairs, first < second.

    Attributes
    ----------
    pairs : ndarray, shape (k, 2), int32, or None
        In lexicographic order; None if there is none.
    """

    def __init__(self, pairs: Pairs | None = None) -> None:
        self.pairs = pairs

    def add(self, pairs: Pairs) -> None:
        """Ignore more pairs."""
        self._keep(np.union1d(self._keys(), keys_of(pairs)))

    def discard(self, pairs: Pairs) -> None:
        """Do not ignore these any more."""
        self._keep(np.setdiff1d(self._keys(), keys_of(pairs), assume_unique=False))

    def forget(self, rows: NDArray[np.int32]) -> None:
        """Drop the pairs of rows that are removed."""
        if self.pairs is not None:
            self._keep(keys_of(self.pairs[~np.isin(self.pairs, rows).any(axis=1)]))

    def _keys(self) -> NDArray[np.int64]:
        return np.empty(0, np.int64) if self.pairs is None else keys_of(self.pairs)

    def _keep(self, keys: NDArray[np.int64]) -> None:
        self.pairs = pairs_of(keys) if len(keys) else None


def as_pairs(pairs: Any) -> NDArray[Any]:
    """Pairs of different rows as the caller writes them, shape (k, 2), each with the lesser row first.

    Whether they are rows is for the caller to check, before they are made numbers of 32 bits.
    """
    array = np.asarray(pairs)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"pairs must be row numbers, not {array.dtype}")
    array = array.reshape(1, 2) if array.shape == (2,) else array.reshape(0, 2) if array.size == 0 else array
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"pairs must have the shape (k, 2), not {array.shape}")
    same = array[:, 0] == array[:, 1]
    if same.any():
        raise ValueError(f"pairs: entry {np.argmax(same)} names row {array[np.argmax(same), 0]} twice")
    return np.sort(array, axis=1) if array.size else np.empty((0, 2), np.int32)
