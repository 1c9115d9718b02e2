"""A quadtree or an octree without nodes: boxes sorted by the number of their cell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.boxes.forms import as_corners
from broadphase.index.box_index import BoxIndex

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Cells", "LinearTree"]

# What fits a key of 64 bits, with its level; and a table that is not mistaken for a wish to fill the memory.
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
    """A quadtree, octree, or whatever it is called in one and four dimensions, stored as a sorted array.

    The world is halved along every axis at every level, and each box belongs to the smallest cell that wholly contains
    it. Cells are numbered in Z order, so the boxes sorted by cell are the tree.

    Parameters
    ----------
    boxes, layer, mask
        As in `BoxIndex`, which has all questions.
    storage : {"sparse", "flat"}
        Memory for the occupied cells only, or a table of all cells that there could be besides.
    traversal : {"ancestors", "covered_leaves"}
        How `pairs` goes about it: one walk that takes along those boxes of larger cells that reach into the one it is
        in; or, from each box of a cell with others in it, to the deepest cells that it covers.
    depth : "auto" or int
        Levels below the root. At most 57, 29, 19 and 14 in 1, 2, 3 and 4 dimensions, and less with flat storage: its
        table has at most 2**28 cells.
    tuning : {"measured", "origin"}
        What "auto" means: from a sample of the boxes, whenever they are all filed anew; or from 3 levels on, one more
        at every 60th update if at least 57 % of the occupied cells are of the deepest level, one less if at most 30 %
        are.
    most_depth : int, optional
        How deep "auto" may go. Unset: 6 for "origin", and for "measured" as deep as there can be.
    bounds : array_like, shape (2, d) or (2*d,), or tuple of two (d,), optional
        Opposite corners of the world, in any order; infinite where the boxes are to decide. Unset: they do. What lies
        outside is filed in the cells at the border. Any world gives the same answers.

    Raises
    ------
    ValueError
        An option out of range; bounds that are NaN.

    Notes
    -----
    O(n) time to build and to change, the digits of the depth being a constant; 12 bytes a box, 20 bytes a cell that is
    occupied, and the blocks that questions walk.

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
        boxes: Any,
        *,
        layer: Any = None,
        mask: Any = None,
        storage: str = "sparse",
        traversal: str = "ancestors",
        depth: int | str = "auto",
        tuning: str = "measured",
        most_depth: int | None = None,
        bounds: ArrayLike | None = None,
    ) -> None:
        self._flat = _one_of("storage", storage, ("sparse", "flat")) == 1
        self._covered = _one_of("traversal", traversal, ("ancestors", "covered_leaves")) == 1
        self._tuned = _one_of("tuning", tuning, ("measured", "origin")) == 1
        self._wanted_depth = depth
        self._wanted_most_depth = most_depth
        self._wanted_bounds = bounds
        super().__init__(boxes, layer=layer, mask=mask)

    def _make_core(self) -> Any:
        most = _MOST_DEPTH[self.dimension]
        if self._flat:
            most = min(most, int(math.log2(_MOST_FLAT_CELLS)) // self.dimension)
        if isinstance(self._wanted_depth, str):
            if self._wanted_depth != "auto":
                raise ValueError(f'depth must be "auto" or a number, not {self._wanted_depth!r}')
            depth = -1
        else:
            depth = _in_range("depth", self._wanted_depth, 0, most)
        if self._wanted_most_depth is not None:
            most_tuned = _in_range("most_depth", self._wanted_most_depth, 1, most)
        else:
            most_tuned = min(_TUNED_MOST, most) if self._tuned else most
            # A table far larger than the boxes would be mostly void.
            if self._flat and not self._tuned:
                most_tuned = min(most_tuned, max(1, math.ceil(math.log2(max(len(self), 1) * 8) / self.dimension)))
        low, high = self._corners(self._wanted_bounds)
        return _native.LinearTree(self.dimension, self._flat, self._covered, self._tuned, depth, most_tuned, low, high)

    # Only a small change is cheaper to file than all.
    def _keeps_up(self, changed: int) -> bool:
        return changed <= len(self) // 8

    def _corners(self, bounds: ArrayLike | None) -> tuple[list[float], list[float]]:
        if bounds is None:
            return [-math.inf] * 4, [math.inf] * 4
        corners = np.asarray(bounds, dtype=np.float64)
        if corners.shape not in ((2, self.dimension), (2 * self.dimension,)):
            raise ValueError(f"bounds must be two corners of {self.dimension} numbers, not of shape {corners.shape}")
        corners = corners.reshape(2, self.dimension)
        if np.isnan(corners).any():
            raise ValueError("bounds must not be NaN")
        rest = [0.0] * (4 - self.dimension)
        return corners.min(axis=0).tolist() + rest, corners.max(axis=0).tolist() + rest

    @property
    def bounds(self) -> NDArray[np.float64]:
        """The world that is halved: lower and upper corner, shape (2, d).

        Set it as the parameter, at any time: the boxes are then filed anew. None: the boxes decide.
        """
        with self._guard.reading:
            return np.array(self._arranged().bounds)

    @bounds.setter
    def bounds(self, bounds: ArrayLike | None) -> None:
        corners = self._corners(bounds)
        with self._guard.changing:
            self._wanted_bounds = bounds
            if self._arrangement is not None:
                self._arrangement.set_bounds(*corners)
            self._stale = True

    def cells_of(self, boxes: Any) -> Cells:
        """Say in which cells boxes, or points, belong.

        Parameters
        ----------
        boxes : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
            As in `broadphase.pairs`. For points, both corners are the same.

        Returns
        -------
        Cells
            The smallest cell that wholly contains each, as the tree is now.

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
        lower, upper = as_corners(boxes, empty_dim=self.dimension)
        if lower.shape[1] != self.dimension:
            raise ValueError(f"boxes have {lower.shape[1]} dimensions, those of the tree have {self.dimension}")
        with self._guard.reading:
            return Cells(*self._arranged().cells_of(lower, upper))


def _one_of(name: str, value: str, values: tuple[str, ...]) -> int:
    if value not in values:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, values))}, not {value!r}")
    return values.index(value)


def _in_range(name: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise ValueError(f"{name} must be from {least} to {most} here, not {value}")
    return int(value)
