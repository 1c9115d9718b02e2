"""A tree of boxes around boxes."""

from __future__ import annotations

from typing import Any

from broadphase import _native
from broadphase.index.box_index import BoxIndex
from broadphase.workers import worker_count

__all__ = ["BVH"]

_QUALITIES = {name: getattr(_native.BvhQuality, name) for name in ("fast", "balanced", "sah")}


class BVH(BoxIndex):
    """Boxes in boxes, eight to a node: answers every question, whatever the sizes of the boxes.

    Parameters
    ----------
    boxes, layer, mask
        As in `BoxIndex`, which has all questions.
    quality : {"balanced", "fast", "sah"}
        How it is built: "balanced" packs the boxes by medians, along the axis on which they lie furthest apart; "fast"
        along a Hilbert curve, in half the time, but questions then look at twice as many nodes; "sah" cuts them by the
        surface-area heuristic, which takes longest and pays for boxes of very different sizes.
    workers : int
        Threads to build it with, and to move many boxes; -1 for one per core.

    Raises
    ------
    ValueError
        Another quality, or as `BoxIndex`.

    Notes
    -----
    O(n log n) time to build, about 40 bytes a box in three dimensions. Moving a few boxes costs O(log n) each; moving
    many, one pass over all. Once moves have made the tree worse by half, it is built anew by itself. A question takes
    O(log n + answers) where the boxes do not lie on top of each other.

    References
    ----------
    .. [1] I. Kamel, C. Faloutsos, "Hilbert R-tree: An Improved R-tree Using Fractals", VLDB 1994.
       https://www.vldb.org/conf/1994/P500.PDF
    .. [2] J. L. Bentley, "Multidimensional Binary Search Trees Used for Associative Searching", Communications of the
       ACM 18(9), 1975. https://doi.org/10.1145/361002.361007
    .. [3] I. Wald, "On fast Construction of SAH-based Bounding Volume Hierarchies", IEEE Symposium on Interactive Ray
       Tracing 2007. https://doi.org/10.1109/RT.2007.4342588

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

    def __init__(
        self, boxes: Any, *, layer: Any = None, mask: Any = None, quality: str = "balanced", workers: int = 1
    ) -> None:
        if quality not in _QUALITIES:
            raise ValueError(f"quality must be one of {', '.join(map(repr, _QUALITIES))}, not {quality!r}")
        self._quality = quality
        self._core_options = {"workers": worker_count(workers)}
        super().__init__(boxes, layer=layer, mask=mask)

    def _make_core(self) -> Any:
        return _native.Bvh(self.dimension, _QUALITIES[self._quality])

    def optimize(self, rounds: int = 1) -> int:
        """Regroup the nodes where that makes questions cheaper: for idle moments.

        Parameters
        ----------
        rounds : int
            How often to go through the tree, at most; ends where nothing is gained any more.

        Returns
        -------
        int
            How many nodes gained.

        Raises
        ------
        ValueError
            Fewer than 0 rounds.
        RuntimeError
            Another thread asks or changes the index.

        Notes
        -----
        A round takes time O(n), about as long as a build of quality "sah". The answers stay the same.

        References
        ----------
        .. [1] T. Karras, T. Aila, "Fast Parallel Construction of High-Quality Bounding Volume Hierarchies", HPG 2013.
           https://doi.org/10.1145/2492045.2492055

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3]]).optimize()
        0
        """
        if rounds < 0:
            raise ValueError(f"rounds must be 0 or more, not {rounds}")
        gained = 0
        with self._guard.changing:
            for _ in range(rounds):
                now: int = self._arranged().optimize()
                gained += now
                if not now:
                    break
        return gained
