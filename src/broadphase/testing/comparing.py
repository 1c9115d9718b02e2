"""Compare and fingerprint sets of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from broadphase.arguments import as_array

SHOWN = 5  # pairs of each sort that a message names


def assert_same_pairs(actual: Any, expected: Any, label: str = "") -> None:
    """Check that two arrays hold the same set of pairs, each once, in any order.

    A pair is ordered: `(2, 1)` is not `(1, 2)`.

    Parameters
    ----------
    actual, expected : array_like, shape (m, 2), integer
        Row numbers, 0 to 2**31 - 1.
    label : str
        What was compared (scene, seed, method), put first in the message.

    Raises
    ------
    AssertionError
        Wrong shape or dtype, or a pair that is missing, extra or repeated. The message counts them and names the first
        few of each.

    Examples
    --------
    >>> import numpy as np
    >>> from broadphase.testing import assert_same_pairs
    >>> assert_same_pairs(np.array([[1, 2], [0, 1]]), np.array([[0, 1], [1, 2]]))
    >>> assert_same_pairs(np.array([[1, 2], [0, 3]]), np.array([[0, 1], [1, 2]]), "two boxes")
    Traceback (most recent call last):
    AssertionError: two boxes: 2 pairs where 2 were expected; 1 missing: (0, 1); 1 extra: (0, 3)
    """
    found, times = np.unique(keys(actual, "actual", label), return_counts=True)
    wanted = np.unique(keys(expected, "expected", label))
    faulty = {
        "missing": np.setdiff1d(wanted, found, assume_unique=True),
        "extra": np.setdiff1d(found, wanted, assume_unique=True),
        "more than once": found[times > 1],
    }
    faults = [f"{len(which)} {fault}: {listed(which)}" for fault, which in faulty.items() if len(which)]
    if faults:
        head = f"{label}: " if label else ""
        raise AssertionError(f"{head}{times.sum()} pairs where {len(wanted)} were expected; " + "; ".join(faults))


def keys(pairs: Any, name: str, label: str) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Pack each pair into one integer that orders as the pair does."""
    array = as_array(pairs, name)
    if array.ndim != 2 or array.shape[1] != 2 or not np.issubdtype(array.dtype, np.integer):
        head = f"{label}: " if label else ""
        raise AssertionError(f"{head}{name} must be (m, 2) integers, not {array.dtype} of shape {array.shape}")
    if array.size and not 0 <= int(array.min()) <= int(array.max()) < 2**31:
        raise AssertionError(f"{name} has row numbers from {array.min()} to {array.max()}")
    return (array[:, 0].astype(np.uint64) << np.uint64(32)) | array[:, 1].astype(np.uint64)


def listed(packed: np.ndarray[Any, np.dtype[np.uint64]]) -> str:
    """Write the first few of some packed pairs."""
    names = ", ".join(f"({int(key) >> 32}, {int(key) & 0xFFFFFFFF})" for key in packed[:SHOWN])
    return names + (", ..." if len(packed) > SHOWN else "")


def checksum(pairs: Any) -> str:
    """Fingerprint a set of pairs, independent of their order.

    Each pair is packed as ``first << 32 | second`` and scrambled by the finalizer of splitmix64 [1]_; the fingerprint
    is the sum modulo 2**64.

    Parameters
    ----------
    pairs : array_like, shape (m, 2), integer
        Row numbers, 0 to 2**31 - 1.

    Returns
    -------
    checksum : str
        16 hexadecimal digits.

    References
    ----------
    .. [1] G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
       https://doi.org/10.1145/2660193.2660195

    Examples
    --------
    >>> from broadphase.testing import checksum
    >>> checksum([[0, 1], [2, 3]]) == checksum([[2, 3], [0, 1]])
    True
    """
    mixed = keys(pairs, "pairs", "")
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return f"{int(mixed.sum(dtype=np.uint64)):016x}"
