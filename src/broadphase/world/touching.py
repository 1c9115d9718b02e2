"""Pairs of rows as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pairs: TypeAlias = NDArray[np.int32]

__all__ = ["NO_PAIRS", "keys_of", "pairs_of"]

NO_PAIRS = np.empty((2, 0), np.int32).T
NO_PAIRS.flags.writeable = False


def keys_of(pairs: Pairs) -> NDArray[np.int64]:
    """Give one number for each pair; the numbers have the lexicographic order of the pairs."""
    keys: NDArray[np.int64] = (pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1]
    return keys


def pairs_of(keys: NDArray[np.int64]) -> Pairs:
    """Undo `keys_of`."""
    return np.stack([keys >> 32, keys & 0xFFFF_FFFF]).astype(np.int32).T
