"""No arrangement at all."""

from __future__ import annotations

from typing import Any

from broadphase import _native
from broadphase.index.box_index import BoxIndex

__all__ = ["BruteForce"]


class BruteForce(BoxIndex):
    """Boxes in a row: every question goes through all of them, eight at a time.

    Nothing is quicker to build or to change. It is for a few hundred boxes, and to check others by.

    Parameters
    ----------
    boxes, layer, mask
        As in `BoxIndex`, which has all questions.

    Notes
    -----
    O(1) to insert, move or remove a box; O(n) for a question, O(n^2) for all pairs.

    References
    ----------
    .. [1] C. Ericson, "Real-Time Collision Detection", Morgan Kaufmann, 2005, section 7.1. 10.1201/b14581

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BruteForce([[0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]])
    >>> index.pairs()
    array([[0, 1]], dtype=int32)
    >>> index.nearest([[6, 6]]).index
    array([[2]], dtype=int32)
    """

    method = "brute_force"

    def _make_core(self) -> Any:
        return _native.BruteForceIndex(self.dimension)
