"""A quadtree or octree without nodes: boxes sorted by the number of their cell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.arguments import as_reals, as_whole
from broadphase.boxes.forms import as_corners
from broadphase.change import Change
from broadphase.errors import unknown_name
from broadphase.index.box_index import BoxIndex

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase.boxes.forms import Boxes
    from broadphase.index.protocol import Arrangement

__all__ = ["Cells", "LinearTree"]

# The deepest levels whose cell number and level fit into 64 bits; and the largest table, 2 GiB.
_MOST_DEPTH = {1: 57, 2: 29, 3: 19, 4: 14}
_MOST_FLAT_CELLS = 1 << 28
_TUNED_MOST = 6


class Cells(NamedTuple):
    """Cells of a linear tree.

    Attributes
    ----------
    level : ndarray, shape (n,), int32
        0 is the whole world.
    number : ndarray, shape (n,), uint64
        The Morton number within the level; see `broadphase.morton`.
    """

    level: NDArray[np.int32]
    number: NDArray[np.uint64]


class LinearTree(BoxIndex):
    """A quadtree, an octree, or its like in one and four dimensions, stored as a sorted array.

    The world is halved along every axis at every level, and each box belongs to the smallest cell that wholly contains
    it. Cells are numbered in Z order: the boxes sorted by cell are the tree.

    Parameters
    ----------
    boxes, layer, mask
        As in `BoxIndex`, which documents all queries.
    storage : {"sparse", "flat"}
        Memory for occupied cells only, or also a table of all cells.
    traversal : {"ancestors", "covered_leaves"}
        How `pairs` searches: one walk that carries along the boxes of larger cells that reach into the current one; or
        from each box to the deepest cells that it covers.
    depth : "auto" or int
        Levels below the root. At most 57, 29, 19 and 14 in 1, 2, 3 and 4 dimensions, and less with flat storage: its
        table has at most 2**28 cells.
    tuning : {"measured", "origin"}
        What "auto" means. "measured": chosen from a sample of the boxes, whenever all of them are filed again.
        "origin": 3 levels at first; at every 60th update one more if at least 57 % of the occupied cells are of the
        deepest level, one less if at most 30 % are.
    most_depth : int, optional
        The largest depth for "auto". Default: 6 for "origin", the largest possible for "measured".
    bounds : array_like, shape (2, d) or (2*d,), or tuple of two (d,), optional
        Opposite corners of the world, in any order; infinite where the boxes decide. Default: the boxes decide
        everywhere. Boxes outside are filed in the cells at the border. The bounds never change a result.

    Raises
    ------
    ValueError
        An option out of range; bounds that are NaN.

    Notes
    -----
    O(n) time to build and to change, for a depth that is constant; 12 bytes a box, 20 bytes an occupied cell, and the
    blocks that queries walk.

    References
    ----------
    .. [1] I. Gargantini, "An Effective Way to Represent Quadtrees", Communications of the ACM 25 (12), 1982.
       10.1145/358728.358741
    .. [2] G. M. Morton, "A Computer Oriented Geodetic Data Base and a New Technique in File Sequencing", IBM, 1966.

    Examples
    --------
    >>> import broadphase as bp
    >>> tree = bp.LinearTree([[10, 10, 20, 20], [15, 15, 30, 30], [80, 80, 90, 90]], bounds=(0, 0, 100, 100), depth=2)
    >>> tree.pairs()
    array([[0, 1]], dtype=int32)
    >>> tree.cells_of([[27, 74, 27, 74]])
    Cells(level=array([2], dtype=int32), number=array([9], dtype=uint64))
    """

    method = "linear_tree"

    def __init__(
        self,
        boxes: Boxes,
        *,
        layer: Any = None,
        mask: Any = None,
        storage: Literal["sparse", "flat"] = "sparse",
        traversal: Literal["ancestors", "covered_leaves"] = "ancestors",
        depth: int | Literal["auto"] = "auto",
        tuning: Literal["measured", "origin"] = "measured",
        most_depth: int | None = None,
        bounds: ArrayLike | None = None,
    ) -> None:
        self._flat = _is_second("storage", storage, ("sparse", "flat"))
        self._covered = _is_second("traversal", traversal, ("ancestors", "covered_leaves"))
        self._tuned = _is_second("tuning", tuning, ("measured", "origin"))
        self._wanted_depth = depth
        self._wanted_most_depth = most_depth
        self._wanted_bounds = _copied(bounds)
        super().__init__(boxes, layer=layer, mask=mask)

    def _make_core(self) -> Arrangement:
        most = _MOST_DEPTH[self.dim]
        if self._flat:
            most = min(most, int(math.log2(_MOST_FLAT_CELLS)) // self.dim)
        if isinstance(self._wanted_depth, str):
            if self._wanted_depth != "auto":
                raise ValueError(f"{unknown_name('depth', self._wanted_depth, ('auto',))} or a number")
            depth = -1
        else:
            depth = _in_range("depth", self._wanted_depth, 0, most)
        if self._wanted_most_depth is not None:
            most_tuned = _in_range("most_depth", self._wanted_most_depth, 1, most)
        else:
            most_tuned = min(_TUNED_MOST, most) if self._tuned else most
            # A table far larger than the boxes would be mostly empty.
            if self._flat and not self._tuned:
                most_tuned = min(most_tuned, max(1, math.ceil(math.log2(max(len(self), 1) * 8) / self.dim)))
        low, high = self._corners(self._wanted_bounds)
        return _native.LinearTree(self.dim, self._flat, self._covered, self._tuned, depth, most_tuned, low, high)

    def _build(self) -> None:
        if self._arrangement is not None:
            self._arrangement.set_bounds(*self._corners(self._wanted_bounds))
        super()._build()

    # Above this share, filing all boxes again is cheaper.
    def _keeps_up(self, changed: int) -> bool:
        return changed <= len(self) // 8

    def _corners(self, corners: NDArray[np.float64] | None) -> tuple[list[float], list[float]]:
        if corners is None:
            return [-math.inf] * 4, [math.inf] * 4
        if corners.shape not in ((2, self.dim), (2 * self.dim,)):
            raise ValueError(f"bounds must be two corners of {self.dim} numbers, not of shape {corners.shape}")
        corners = corners.reshape(2, self.dim)
        if np.isnan(corners).any():
            raise ValueError("bounds must not be NaN")
        rest = [0.0] * (4 - self.dim)
        return corners.min(axis=0).tolist() + rest, corners.max(axis=0).tolist() + rest

    @property
    def bounds(self) -> NDArray[np.float64]:
        """Lower and upper corner of the world that is halved, shape (2, d).

        Set it like the parameter, at any time: all boxes are then filed again. None: the boxes decide.
        """
        with self._guard.reading:
            return np.array(self._arranged().bounds)

    @bounds.setter
    def bounds(self, bounds: ArrayLike | None) -> None:
        wanted = _copied(bounds)
        self._corners(wanted)
        with self._guard.changing:
            change = Change()
            change.assign(self, _wanted_bounds=wanted, _is_stale=True)
            change.commit()

    def cells_of(self, boxes: Boxes) -> Cells:
        """Return the cells to which boxes, or points, belong.

        Parameters
        ----------
        boxes : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
            As in `broadphase.pairs`. Points are boxes with equal corners.

        Returns
        -------
        Cells
            The smallest cell of the current tree that wholly contains each box.

        Raises
        ------
        ValueError, TypeError
            As `broadphase.pairs`.

        Examples
        --------
        >>> import broadphase as bp
        >>> tree = bp.LinearTree([[0, 0, 100, 100]], depth=2)
        >>> tree.cells_of([[60, 10, 90, 40], [60, 10, 60, 10]])
        Cells(level=array([1, 2], dtype=int32), number=array([1, 4], dtype=uint64))
        """
        lower, upper = as_corners(boxes, empty_dim=self.dim)
        if lower.shape[1] != self.dim:
            raise ValueError(f"boxes have {lower.shape[1]} dimensions; {self.dim} are needed")
        with self._guard.reading:
            return Cells(*self._arranged().cells_of(lower, upper))


def _copied(bounds: ArrayLike | None) -> NDArray[np.float64] | None:
    return None if bounds is None else as_reals(bounds, "bounds").astype(np.float64)


def _is_second(name: str, value: str, values: tuple[str, str]) -> bool:
    if not isinstance(value, str) or value not in values:
        raise ValueError(unknown_name(name, value, values))
    return value == values[1]


def _in_range(name: str, value: int, least: int, most: int) -> int:
    return as_whole(value, name, least, most)
