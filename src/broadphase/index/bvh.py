"""A tree of boxes around boxes: a bounding volume hierarchy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack

from broadphase import _native
from broadphase.arguments import as_whole
from broadphase.errors import unknown_name
from broadphase.index.box_index import BoxIndex, IndexKeywords, shows_index_options
from broadphase.index.options import checked_options

if TYPE_CHECKING:
    from broadphase.boxes.forms import Boxes

__all__ = ["BVH"]

_QUALITIES = {name: getattr(_native.BvhQuality, name) for name in ("fast", "balanced", "sah")}


class BVH(BoxIndex):
    """Boxes around boxes, eight to a node: supports every query, whatever the sizes of the boxes.

    Parameters
    ----------
    boxes, **options
        As in `BoxIndex`, which documents all queries.
    quality : {"balanced", "fast", "sah"}
        How it is built. "balanced": by medians along the axis of largest extent. "fast": along a Hilbert curve, in half
        the time, but queries visit twice as many nodes. "sah": by the surface-area heuristic, which takes longest and
        pays off for boxes of very different sizes.

    Raises
    ------
    ValueError
        An unknown quality, or as `BoxIndex`.

    Notes
    -----
    O(n log n) time to build, about 40 bytes a box in 3D. Moving a few boxes costs O(log n) each; moving many, one pass
    over all. The tree is rebuilt once moves have made it worse by half. A query takes O(log n + m) for m rows found,
    unless boxes lie on top of each other.

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

    __slots__ = ("_settings",)
    method = "bvh"
    options = classmethod(checked_options)

    @shows_index_options
    def __init__(
        self,
        boxes: Boxes | None,
        *,
        quality: Literal["balanced", "fast", "sah"] = "balanced",
        **options: Unpack[IndexKeywords],
    ) -> None:
        self._settings = self._checked(quality)
        super().__init__(boxes, **options)

    @staticmethod
    def _checked(quality: Any = "balanced") -> dict[str, Any]:
        if not isinstance(quality, str) or quality not in _QUALITIES:
            raise ValueError(unknown_name("quality", quality, _QUALITIES))
        return {"quality": str(quality)}

    def _make_core(self) -> Any:
        return _native.Bvh(self.dim, _QUALITIES[self._settings["quality"]])

    def optimize(self, rounds: int = 1) -> int:
        """Regroup nodes to make queries cheaper, in idle moments. Results stay the same.

        Parameters
        ----------
        rounds : int
            Most passes over the tree, 0 or more; stops early when nothing improves. Each takes O(n), about as long as a
            build of quality "sah".

        Returns
        -------
        int
            How many nodes improved.

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
        rounds = as_whole(rounds, "rounds", 0)
        gained = 0
        with self._guard.changing:
            for _ in range(rounds):
                now: int = self._arranged().optimize()
                gained += now
                if not now:
                    break
        return gained
