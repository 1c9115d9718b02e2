"""Boxes in no order at all, compared one by one."""

from __future__ import annotations

from typing import Any

from broadphase import _native
from broadphase.index.box_index import BoxIndex
from broadphase.index.options import checked_options

__all__ = ["BruteForce"]


class BruteForce(BoxIndex):
    """Boxes in a plain array: every query compares all of them, eight at a time.

    The fastest to build and to change. For a few hundred boxes, and to check other indexes.

    Parameters
    ----------
    boxes, **options
        As in `BoxIndex`, which documents all queries.

    Notes
    -----
    O(1) to insert, move or remove a box; O(n) for a query, O(n^2) for all pairs.

    References
    ----------
    .. [1] C. Ericson, "Real-Time Collision Detection", Morgan Kaufmann, 2005, section 7.1. 10.1201/b14581

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BruteForce([[0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]])
    >>> index.pairs()
    array([[0, 1]], dtype=int32)
    >>> index.nearest([[6, 6]]).rows
    array([[2]], dtype=int32)
    """

    __slots__ = ()
    method = "brute_force"
    options = classmethod(checked_options)

    def _make_core(self) -> Any:
        return _native.BruteForceIndex(self.dim)
