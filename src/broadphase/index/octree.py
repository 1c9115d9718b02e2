"""A tree of cubes that halve, for scenes in which things come, move and go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from broadphase import _native
from broadphase.boxes.forms import as_corners
from broadphase.index.octree_records import OctreeRecords
from broadphase.index.octree_spheres import SphereBounds, boxes_with_spheres
from broadphase.index.timed import Timed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Octree"]

_POLICIES = ("grow", "drop", "raise")


class Octree(OctreeRecords):
    """Boxes, each in the smallest cube that contains it; only those that move are filed anew. In 2-d a quadtree.

    Changes only take note. The tree is built, or brought up to date, when something is asked of it: a thousand inserts
    cost one build.

    Parameters
    ----------
    boxes : as in `BoxIndex`, or None
        None: the boxes of `spheres`.
    layer, mask
        As in `BoxIndex`.
    spheres : tuple of array_like (centers, shape (n, d), radii, shape (n,) or float), optional
        A sphere around each object besides its box; an infinite radius means none. An object whose box is infinite
        along all axes has only its sphere, and gets the box of that. See `pairs`.
    minimum : "auto" or float
        Edge of the smallest cells, in the unit of the boxes. The root's edge is this times a power of two.
    leaf_capacity : int
        A cell with more boxes is split, if smaller cells would contain some of them. 1: at every opportunity.
    looseness : float, 1 or more
        A cell takes boxes that lie within its cube enlarged so many times about its centre. With 1, boxes that straddle
        a border between two cells stay in the smallest cell that has both.
    world : array_like, shape (2, d) or (2*d,), optional
        What the root encloses from the beginning, though boxes do not fill it.
    outside : {"grow", "drop", "raise"}
        What becomes of a box that is not wholly in the world, which is `world`, or else the cube of the root: the root
        grows; the box is removed, and its row is in `dropped`; or ValueError names it, and nothing has changed.

    Raises
    ------
    ValueError, TypeError
        As `BoxIndex`; an option out of its range.

    Notes
    -----
    O(n log n) time to build, O(moved · depth) to update. A leaf that stays empty for 8 updates is given back, one that
    was in use again in between only after twice as many as the time before, up to 64. Boxes with infinite corners are
    kept outside the root.

    References
    ----------
    .. [1] D. Meagher, "Geometric Modeling Using Octree Encoding", Computer Graphics and Image Processing 19, 1982.
       https://doi.org/10.1016/0146-664X(82)90104-6
    .. [2] T. Ulrich, "Loose Octrees", Game Programming Gems, Charles River Media, 2000.

    Examples
    --------
    >>> import broadphase as bp
    >>> tree = bp.Octree([[0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]], minimum=1)
    >>> tree.pairs()
    array([[0, 1]], dtype=int32)
    >>> tree.update([[8, 9, 10, 10]], rows=1)
    >>> tree.pending, tree.pairs().tolist(), tree.pending
    (1, [[1, 2]], 0)
    """

    method = "octree"

    def __init__(
        self,
        boxes: Any,
        *,
        layer: Any = None,
        mask: Any = None,
        spheres: tuple[ArrayLike, ArrayLike] | None = None,
        minimum: float | str = "auto",
        leaf_capacity: int = 32,
        looseness: float = 2.0,
        world: ArrayLike | None = None,
        outside: str = "grow",
    ) -> None:
        if outside not in _POLICIES:
            raise ValueError(f'outside must be "grow", "drop" or "raise", not {outside!r}')
        self._outside = outside
        self._minimum = 0.0 if isinstance(minimum, str) and minimum == "auto" else _number("minimum", minimum, 0.0)
        self._leaf_capacity = _count("leaf_capacity", leaf_capacity)
        self._looseness = float(looseness)
        if not 1 <= self._looseness < np.inf:
            raise ValueError(f"looseness must be 1 or more, and finite, not {looseness}")
        self._spheres: SphereBounds | None = None
        self._dropped: NDArray[np.int32] = np.empty(0, np.int32)
        boxes, bounds = boxes_with_spheres(boxes, spheres)
        self._given_world = _world(world)
        rows = np.arange(0 if boxes is None else len(as_corners(boxes)[0]), dtype=np.int32)
        leaving = np.flatnonzero(self._leaves_given_world(boxes))
        if outside == "raise" and len(leaving):
            raise _left(leaving[0])
        super().__init__(boxes, layer=layer, mask=mask)
        if self._given_world is not None and self._given_world.shape[1] != self.dimension:
            raise ValueError(f"world has {self._given_world.shape[1]} dimensions, the boxes have {self.dimension}")
        if bounds is not None:
            self._spheres = SphereBounds(self.dimension)
            self._spheres.set(rows, bounds)
        if outside == "drop" and len(leaving):
            self._drop(rows[leaving])

    @classmethod
    def from_spheres(cls, centers: ArrayLike, radii: ArrayLike, **options: Any) -> Self:
        """Make an octree of spheres: objects without boxes but those of the spheres.

        Parameters
        ----------
        centers : array_like, shape (n, d)
            Their centres; finite.
        radii : array_like, shape (n,), or float
            Their radii; finite, 0 or more.
        **options
            As for the class.

        Returns
        -------
        Octree
            Of the boxes of the spheres.

        Raises
        ------
        ValueError
            A centre or a radius that is not finite, or a negative radius.

        Examples
        --------
        >>> import broadphase as bp
        >>> tree = bp.Octree.from_spheres([[0, 0, 0], [1.5, 1.5, 0]], 1)
        >>> len(tree.pairs()), len(tree.pairs(bounds="sphere"))
        (1, 0)
        """
        return cls(None, spheres=(centers, radii), **options)

    def insert(
        self, boxes: Any, *, layer: Any = None, mask: Any = None, spheres: tuple[ArrayLike, ArrayLike] | None = None
    ) -> NDArray[np.int32]:
        """Add boxes, as `BoxIndex.insert`; where the world is left, as `outside` says.

        Parameters
        ----------
        boxes, layer, mask
            As in `BoxIndex.insert`.
        spheres : optional
            As in the class.

        Returns
        -------
        ndarray, shape (k,), int32
            Their rows, those dropped among them.

        Raises
        ------
        ValueError, TypeError, RuntimeError
            As `BoxIndex.insert`; a box that leaves the world, where `outside` is "raise".
        """
        boxes, bounds = boxes_with_spheres(boxes, spheres)
        leaving = self._leaving(boxes)
        rows = super().insert(boxes, layer=layer, mask=mask)
        self._keep_spheres(rows, bounds)
        self._drop(rows[leaving])
        return rows

    def update(
        self, boxes: Any, rows: ArrayLike | None = None, *, spheres: tuple[ArrayLike, ArrayLike] | None = None
    ) -> None:
        """Move boxes, as `BoxIndex.update`; where the world is left, as `outside` says.

        Parameters
        ----------
        boxes, rows
            As in `BoxIndex.update`.
        spheres : optional
            As in the class. Unset: these objects have no spheres any more.

        Raises
        ------
        ValueError, TypeError, RuntimeError
            As `BoxIndex.update`; a box that leaves the world, where `outside` is "raise".
        """
        boxes, bounds = boxes_with_spheres(boxes, spheres)
        leaving = self._leaving(boxes)
        super().update(boxes, rows)
        numbers = self.rows if rows is None else np.atleast_1d(np.asarray(rows, dtype=np.int32))
        self._keep_spheres(numbers, bounds)
        self._drop(numbers[leaving])

    def pairs(self, other: Any = None, *, bounds: str = "box", **options: Any) -> NDArray[np.int32]:
        """Find every pair of overlapping boxes, as `BoxIndex.pairs`.

        Parameters
        ----------
        other, **options
            As in `BoxIndex.pairs`.
        bounds : {"box", "sphere"}
            "sphere": the spheres must touch, too; of an object without one, its box takes that place. Not with `other`.

        Returns
        -------
        ndarray, shape (m, 2), int32
            As `BoxIndex.pairs`.

        Raises
        ------
        ValueError, TypeError, TooManyPairsError, RuntimeError
            As `BoxIndex.pairs`.
        """
        if bounds not in ("box", "sphere"):
            raise ValueError(f'bounds must be "box" or "sphere", not {bounds!r}')
        if bounds == "sphere" and other is not None:
            raise ValueError('bounds="sphere" is for pairs within one index')
        found = super().pairs(other, **options)
        if bounds == "sphere" and self._spheres is not None:
            found = found[self._spheres.touch(found, self._rows.corners)]
        return found

    @property
    def pending(self) -> int:
        """How many rows came, moved or went since the tree was last brought up to date."""
        if self._arrangement is None or self._stale:
            return len(self)
        pending: int = self._arrangement.pending
        return pending

    @property
    def dropped(self) -> NDArray[np.int32]:
        """The rows that the last `insert` or `update` dropped, because they left the world."""
        return self._dropped

    @property
    def world(self) -> NDArray[np.float64]:
        """Lower and upper corner of the root's cube, shape (2, d)."""
        with self._guard.reading:
            return np.stack(self._arranged().world())

    def _make_core(self) -> Any:
        lower, upper = ([], []) if self._given_world is None else self._given_world.tolist()
        return _native.Octree(self.dimension, self._minimum, self._looseness, self._leaf_capacity, lower, upper)

    def _build_first(self) -> None:
        """Put it off: the first question builds."""

    def _arranged(self) -> Any:
        core = super()._arranged()
        if not core.is_settled:
            with self._arranging:  # several threads may ask first
                if self._is_arranging:
                    raise RuntimeError("the index was asked by a signal handler, while it is brought up to date")
                if not core.is_settled:
                    self._is_arranging = True
                    try:
                        self._settle(core)
                    finally:
                        self._is_arranging = False
        return core

    def _settle(self, core: Any) -> None:
        with Timed(self._seconds, "build" if core.needs_build else "update"):
            core.settle(*self._rows.views)

    def _leaves_given_world(self, boxes: Any) -> NDArray[np.bool_]:
        if self._given_world is None or boxes is None:
            return np.zeros(0, np.bool_)
        return _is_outside(boxes, self._given_world)

    def _leaving(self, boxes: Any) -> NDArray[np.bool_] | slice:
        """Which boxes leave the world; raises if none may."""
        if self._outside == "grow" or (self._given_world is None and not len(self)):
            return slice(0, 0)
        world = self.world if self._given_world is None else self._given_world
        leaving = _is_outside(boxes, world)
        if self._outside == "raise" and leaving.any():
            raise _left(leaving.argmax())
        return leaving

    def _drop(self, rows: NDArray[np.int32]) -> None:
        self._dropped = rows
        if len(rows):
            self.remove(rows)

    def _keep_spheres(self, rows: NDArray[np.int32], bounds: Any) -> None:
        if bounds is not None and self._spheres is None:
            self._spheres = SphereBounds(self.dimension)
        if self._spheres is not None:
            self._spheres.set(rows, bounds)


def _is_outside(boxes: Any, world: NDArray[np.float64]) -> NDArray[np.bool_]:
    lower, upper = as_corners(boxes, empty_dim=world.shape[1])
    if lower.shape[1] != world.shape[1]:
        return np.zeros(len(lower), np.bool_)  # refused further on
    is_outside: NDArray[np.bool_] = ~((lower >= world[0]) & (upper <= world[1])).all(axis=1)
    return is_outside


def _left(row: Any) -> ValueError:
    return ValueError(f"box {int(row)} leaves the world")


def _world(world: ArrayLike | None) -> NDArray[np.float64] | None:
    if world is None:
        return None
    lower, upper = as_corners([np.asarray(world)])
    if not (np.isfinite(lower).all() and np.isfinite(upper).all() and (lower <= upper).all()):
        raise ValueError(f"world must be finite, lower corner first, not {world!r}")
    return np.concatenate([lower, upper]).astype(np.float64)


def _number(name: str, value: Any, above: float) -> float:
    number = float(value)
    if not above < number < np.inf:
        raise ValueError(f"{name} must be more than {above:g}, and finite, not {value}")
    return number


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be 1 or more, not {value}")
    return int(value)
