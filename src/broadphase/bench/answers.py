"""The right answer for a scene, and a verdict on somebody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase.testing import oracle

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Reference"]

LARGEST_FOR_ORACLE = 5_000  # the oracle tests every pair: a third of a second here, and growing as the square


class Reference:
    """The pairs of a scene, worked out when first asked for.

    Up to `LARGEST_FOR_ORACLE` boxes they come from the oracle of `broadphase.testing`; above it from
    `broadphase.pairs` with ``method="grid"``, so that every other method and every exact peer is a second witness.
    """

    def __init__(self, boxes: NDArray[Any]) -> None:
        self.boxes = boxes
        self._keys: dict[bool, NDArray[np.int64]] = {}

    def keys(self, touching: bool) -> NDArray[np.int64]:
        """Give the right pairs as sorted integers, one for each pair."""
        if touching not in self._keys:
            if len(self.boxes) <= LARGEST_FOR_ORACLE:
                pairs = oracle.pairs(self.boxes, touching=touching)
            else:
                pairs = bp.pairs(self.boxes, method="grid", touching=touching)
            self._keys[touching] = np.unique(sorted_keys(pairs))  # a pair found twice is a fault of whoever found it
        return self._keys[touching]

    def judge(self, answer: Any, *, touching: bool = True) -> str:
        """Compare an answer with the right one, pair by pair.

        Parameters
        ----------
        answer : array_like, shape (m, 2)
            Row numbers, each pair in either order.
        touching : bool
            Whether boxes that only touch are pairs.

        Returns
        -------
        verdict : str
            ``"exact"``, ``"2 extra pairs"``, or ``"wrong: ..."`` when a pair is missing or there twice.

        Examples
        --------
        >>> import numpy as np
        >>> from broadphase.bench.answers import Reference
        >>> reference = Reference(np.array([[[0.0], [2.0]], [[1.0], [3.0]], [[9.0], [9.5]]]))
        >>> reference.judge([[0, 1]]), reference.judge([[1, 0], [0, 2]]), reference.judge(np.empty((0, 2)))
        ('exact', '1 extra pair', 'wrong: 1 missing')
        """
        right, given = self.keys(touching), sorted_keys(answer)
        if np.array_equal(right, given):
            return "exact"
        distinct = np.unique(given)
        repeated, given = len(given) - len(distinct), distinct
        missing = len(np.setdiff1d(right, given, assume_unique=True))
        extra = len(np.setdiff1d(given, right, assume_unique=True))
        if missing or repeated:
            faults = {"missing": missing, "twice": repeated, "extra": extra}
            return "wrong: " + ", ".join(f"{count} {what}" for what, count in faults.items() if count)
        return f"{extra} extra pair{'s' if extra > 1 else ''}"


def sorted_keys(pairs: Any) -> NDArray[np.int64]:
    """Pack each pair, smaller row first, into one integer, and sort them."""
    rows = np.asarray(pairs).astype(np.int64).reshape(-1, 2)
    keys = (rows.min(axis=1) << 32) | rows.max(axis=1) if len(rows) else np.empty(0, np.int64)
    keys.sort()
    return keys
