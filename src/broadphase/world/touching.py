"""Pairs of rows as arrays, and which of them touch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pairs: TypeAlias = NDArray[np.int32]

__all__ = ["NO_PAIRS", "are_among", "boxes_meet", "joined", "keys_of", "pairs_of"]

NO_PAIRS = np.empty((2, 0), np.int32).T
NO_PAIRS.flags.writeable = False


def are_among(pairs: Pairs, others: Pairs, is_ordered: bool = False) -> NDArray[np.bool_]:
    """Say which of a few pairs are among many others, which may be in lexicographic order."""
    found: Any = _native.among(pairs[:, 0], pairs[:, 1], others[:, 0], others[:, 1], is_ordered)
    flags: NDArray[np.bool_] = found.view(np.bool_)
    return flags


def boxes_meet(boxes: NDArray[np.float64], pairs: Pairs, closed: bool = True) -> NDArray[np.bool_]:
    """Say which pairs of rows have boxes that overlap, or whose interiors do."""
    one, other = boxes[pairs[:, 0]], boxes[pairs[:, 1]]
    lower, upper = np.maximum(one[:, 0], other[:, 0]), np.minimum(one[:, 1], other[:, 1])
    below: Any = lower <= upper if closed else lower < upper
    meet: NDArray[np.bool_] = below.all(axis=1)
    return meet


def joined(pairs: Pairs, more: Pairs) -> Pairs:
    """Put pairs behind others, in columns, as the core takes them."""
    return np.concatenate([pairs.T, more.T], axis=1).T


def keys_of(pairs: Pairs) -> NDArray[np.int64]:
    """Give one number for each pair; the numbers have the lexicographic order of the pairs."""
    keys: NDArray[np.int64] = (pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1]
    return keys


def pairs_of(keys: NDArray[np.int64]) -> Pairs:
    """Undo `keys_of`."""
    return np.stack([keys >> 32, keys & 0xFFFF_FFFF]).astype(np.int32).T
