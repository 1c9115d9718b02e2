"""A tree of boxes around boxes."""

from __future__ import annotations

from typing import Any

from broadphase import _native
from broadphase.index.box_index import BoxIndex
from broadphase.workers import worker_count

__all__ = ["BVH"]


class BVH(BoxIndex):
    """Boxes in boxes, eight to a node: answers every question, whatever the sizes of the boxes.

    Parameters
    ----------
    boxes, layer, mask
        As in `BoxIndex`, which has all questions.
    workers : int
        Threads to build it with, and to move many boxes; -1 for one per core.

    Notes
    -----
    O(n log n) time to build. A question takes O(log n + answers) where the boxes do not lie on top of each
    other.

    References
    ----------
    .. [1] I. Kamel, C. Faloutsos, "Hilbert R-tree: An Improved R-tree Using Fractals", VLDB 1994.
       https://www.vldb.org/conf/1994/P500.PDF

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]])
    >>> index
    <BVH of 3 boxes, 2-d float64>
    >>> index.query([[2, 2, 8, 8]]).rows
    array([0, 1, 2], dtype=int32)
    """

    method = "bvh"

    def __init__(self, boxes: Any, *, layer: Any = None, mask: Any = None, workers: int = 1) -> None:
        self._core_options = {"workers": worker_count(workers)}
        super().__init__(boxes, layer=layer, mask=mask)

    def _make_core(self) -> Any:
        return _native.Bvh(self.dimension)
