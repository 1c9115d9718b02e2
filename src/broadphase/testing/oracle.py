"""The plain oracle: every pair tested with NumPy, as the definition reads.

It is simple enough to be checked by reading. Pairs are tested in blocks of rows: O(n**2) time, a few seconds for 20 000
boxes, and O(n) memory beyond the result. Input is not checked: boxes must be free of NaN and have lower <= upper.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 1 << 20  # box tests at a time: a few Boolean arrays of this size stay in the cache of the processor


def pairs(boxes: Any, other: Any = None, **options: Any) -> NDArray[np.int32]:
    """Find every overlapping pair by testing every pair.

    Parameters
    ----------
    boxes, other : array_like
        As in `broadphase.pairs`: all pairs within `boxes`, or those of a row of `boxes` and a row of `other`.
    **options
        `touching`, `margin`, `layer`, `mask`, `group`, `static`, `ignore_pairs`, `ignore_shared`, as in
        `broadphase.pairs`.

    Returns
    -------
    pairs : ndarray, shape (m, 2), int32
        In lexicographic order. A new array.

    Examples
    --------
    >>> from broadphase.testing import oracle
    >>> oracle.pairs([[0, 0, 2, 2], [1, 1, 3, 3], [9, 9, 9, 9]])
    array([[0, 1]], dtype=int32)
    """
    return np.concatenate([np.empty((0, 2), np.int32), *pair_blocks(boxes, other, **options)])


def count_pairs(boxes: Any, other: Any = None, **options: Any) -> int:
    """Count the pairs that `pairs` finds, without holding all of them."""
    return sum(len(block) for block in pair_blocks(boxes, other, **options))


def pair_blocks(
    boxes: Any, other: Any = None, *, touching: bool = True, margin: float = 0.0, **filters: Any
) -> Iterator[NDArray[np.int32]]:
    """Yield the pairs of `pairs` in blocks, in order."""
    lower, upper = grown(*corners(boxes), margin)
    lower2, upper2 = (lower, upper) if other is None else grown(*corners(other), margin)
    rows = max(1, BLOCK // max(1, len(lower2)))
    for start in range(0, len(lower), rows):
        here = slice(start, start + rows)
        i, j = np.nonzero(overlaps(lower[here], upper[here], lower2, upper2, touching))
        i += start
        keep = allowed(i, j, other is not None, **filters)
        if other is None:
            keep &= i < j
        yield np.stack([i[keep], j[keep]], axis=1).astype(np.int32)


def corners(boxes: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Take lower and upper corners, each `(n, d)`, of boxes in any of the forms that `broadphase.pairs` takes."""
    if isinstance(boxes, tuple):
        lower, upper = (np.asarray(part) for part in boxes)
    else:
        array = np.asarray(boxes)
        dim = array.shape[2] if array.ndim == 3 else array.shape[1] // 2
        lower, upper = array.reshape(len(array), 2, dim).swapaxes(0, 1)
    dtype = np.float32 if lower.dtype == upper.dtype == np.float32 else np.float64
    return lower.astype(dtype), upper.astype(dtype)


def grown(lower: NDArray[Any], upper: NDArray[Any], margin: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Grow boxes by half of `margin` on each side, rounded to their dtype."""
    with np.errstate(over="ignore"):  # a corner may round to infinity
        half = lower.dtype.type(margin / 2)
        return lower - half, upper + half


def overlaps(
    lower: NDArray[Any], upper: NDArray[Any], lower2: NDArray[Any], upper2: NDArray[Any], touching: bool
) -> NDArray[np.bool_]:
    """Test each box of one set against each of another; one Boolean per pair, in a matrix."""
    meet = np.ones((len(lower), len(lower2)), bool)
    for axis in range(lower.shape[1]):
        l1, u1, l2, u2 = lower[:, axis, None], upper[:, axis, None], lower2[None, :, axis], upper2[None, :, axis]
        meet &= (l1 <= u2) & (l2 <= u1) if touching else np.maximum(l1, l2) < np.minimum(u1, u2)
    return meet


def allowed(
    i: NDArray[Any],
    j: NDArray[Any],
    two_sets: bool,
    *,
    layer: Any = None,
    mask: Any = None,
    group: Any = None,
    static: Any = None,
    ignore_pairs: Any = None,
    ignore_shared: Any = None,
) -> NDArray[np.bool_]:
    """Tell which of the pairs of rows `i`, `j` pass the filters."""

    def values(option: Any, default: int, dtype: Any = None) -> tuple[NDArray[Any], NDArray[Any]]:
        both = option if two_sets and isinstance(option, tuple) else (option, option)
        first, second = (np.asarray(default if part is None else part, dtype) for part in both)
        return first[i] if first.ndim else first, second[j] if second.ndim else second

    all_bits = 2**64 - 1
    (layer1, layer2), (mask1, mask2) = values(layer, all_bits, np.uint64), values(mask, all_bits, np.uint64)
    keep: NDArray[np.bool_] = np.broadcast_to(((layer1 & mask2) != 0) & ((layer2 & mask1) != 0), i.shape)
    group1, group2 = values(group, 0)
    keep = np.where((group1 == group2) & (group1 != 0), group1 > 0, keep)
    static1, static2 = values(static, False, bool)
    keep = keep & ~(static1 & static2)
    if ignore_pairs is not None:
        ignored = np.asarray(ignore_pairs, np.int64).reshape(-1, 2)
        ignored = ignored if two_sets else np.sort(ignored, axis=1)
        keep &= ~np.isin((i << 32) | j, (ignored[:, 0] << 32) | ignored[:, 1])
    if ignore_shared is not None:
        shared1, shared2 = (part[:, None] if part.ndim == 1 else part for part in values(ignore_shared, 0))
        keep &= ~(shared1[:, :, None] == shared2[:, None, :]).any(axis=(1, 2))
    return keep
