"""A quadtree or octree without nodes: boxes sorted by the number of their cell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

import numpy as np

from broadphase import _native, thresholds
from broadphase.arguments import as_reals, as_whole
from broadphase.boxes.forms import as_corners
from broadphase.change import Change
from broadphase.errors import quoted, unknown_name
from broadphase.index.box_index import BoxIndex, IndexKeywords, shows_index_options
from broadphase.index.cells import TreeCells, tree_cells
from broadphase.index.options import checked_options
from broadphase.index.outside import as_bounds, as_policy, leaving, require_fit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from broadphase.boxes.forms import Boxes
    from broadphase.index.box_index import Need, PairWay
    from broadphase.index.protocol import Arrangement

__all__ = ["Cells", "LinearTree"]

# The deepest levels whose cell number and level fit into 64 bits, by dimension; and the largest table, 2 GiB.
_MOST_DEPTH = {1: 57, 2: 29, 3: 19, 4: 14}
_MOST_FLAT_CELLS = 1 << 28
# As in the system that tuning="origin" comes from.
_TUNED_MOST = 6
_SHARES = (0.30, 0.57)
_TUNING = {"first_depth": 3, "least_depth": 1, "tune_every": 60, "tune_shares": _SHARES}


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
    """A quadtree, an octree, or its like in 1D and 4D, stored as a sorted array.

    Every level halves the cells of the one above along each axis. A box belongs to the smallest cell that contains it.
    Cells are numbered in Z order: the boxes sorted by cell are the tree.

    Parameters
    ----------
    boxes, **options
        As in `BoxIndex`, which documents all queries.
    storage : {"sparse", "flat"}
        "sparse" stores occupied cells, "flat" also a table of all cells.
    traversal : {"ancestors", "covered_leaves"}
        How `pairs` searches. "ancestors": one walk that carries the boxes of larger cells that reach into the current
        one. "covered_leaves": from each box to the deepest cells that it covers.
    depth : "auto" or int
        Levels below the root: at most 57, 29, 19 and 14 in 1D to 4D. A flat table has at most 2**28 cells.
    tuning : {"measured", "origin"}
        What "auto" means. "measured": chosen from a sample of the boxes whenever all are filed. "origin": `first_depth`
        levels; in the first frame, and then in every `tune_every`-th, one more if at least 57 % of the occupied cells
        are on the deepest level, one less if at most 30 % are. A frame is a search for all pairs, such as a step of a
        world.
    most_depth : int, optional
        The largest depth for "auto". Default: 6 for "origin", the largest possible for "measured".
    first_depth, least_depth : int
        For "origin": the depth at first, and the smallest one.
    tune_every : int
        For "origin": number of frames from one tuning to the next.
    tune_shares : tuple of float
        For "origin": the largest share of deepest cells for one level less, and the smallest for one more.
    bounds : array_like, shape (2, d) or (2*d,), or tuple of two (d,), optional
        Opposite corners of the world, in any order; where infinite, the boxes decide. Default: the boxes decide.
    outside : {"grow", "drop", "raise"}
        What to do with a box that is not wholly within `bounds`. "grow": cells at the border hold it, and it is found
        like all others; see `outside_rows`. "drop": it is removed; see `dropped`. "raise": a ValueError names it, and
        nothing changes.

    Raises
    ------
    ValueError
        An option out of range; bounds that are NaN; `outside` other than "grow" without bounds.

    Notes
    -----
    O(n) time to build and to change at a constant depth; 12 bytes a box, 20 bytes an occupied cell, and the blocks that
    queries walk.

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

    __slots__ = ("_deeper", "_edits_since_query", "_frames", "_settings", "_shallower", "_tuned_depth")
    method = "linear_tree"
    options = classmethod(checked_options)

    @shows_index_options
    def __init__(
        self,
        boxes: Boxes | None,
        *,
        storage: Literal["sparse", "flat"] = "sparse",
        traversal: Literal["ancestors", "covered_leaves"] = "ancestors",
        depth: int | Literal["auto"] = "auto",
        tuning: Literal["measured", "origin"] = "measured",
        most_depth: int | None = None,
        first_depth: int = 3,
        least_depth: int = 1,
        tune_every: int = 60,
        tune_shares: tuple[float, float] = _SHARES,
        bounds: ArrayLike | None = None,
        outside: Literal["grow", "drop", "raise"] = "grow",
        **options: Unpack[IndexKeywords],
    ) -> None:
        self._settings = self._checked(
            storage,
            traversal,
            depth,
            tuning,
            most_depth,
            first_depth,
            least_depth,
            tune_every,
            tune_shares,
            bounds,
            outside,
        )
        self._tuned_depth: int | None = None
        self._frames = self._deeper = self._shallower = 0
        self._edits_since_query = 0
        super().__init__(boxes, **options)
        self._remove_outside()

    @staticmethod
    def _checked(
        storage: Any = "sparse",
        traversal: Any = "ancestors",
        depth: Any = "auto",
        tuning: Any = "measured",
        most_depth: Any = None,
        first_depth: Any = _TUNING["first_depth"],
        least_depth: Any = _TUNING["least_depth"],
        tune_every: Any = _TUNING["tune_every"],
        tune_shares: Any = _TUNING["tune_shares"],
        bounds: Any = None,
        outside: Any = "grow",
    ) -> dict[str, Any]:
        deepest = _MOST_DEPTH[1]
        if isinstance(depth, str):
            if depth != "auto":
                raise ValueError(f"{unknown_name('depth', depth, ('auto',))} or a number")
        else:
            depth = as_whole(depth, "depth", 0, deepest)
        settings = {
            "storage": _one_of("storage", storage, ("sparse", "flat")),
            "traversal": _one_of("traversal", traversal, ("ancestors", "covered_leaves")),
            "depth": depth,
            "tuning": _one_of("tuning", tuning, ("measured", "origin")),
            "most_depth": None if most_depth is None else as_whole(most_depth, "most_depth", 1, deepest),
            "first_depth": as_whole(first_depth, "first_depth", 0, deepest),
            "least_depth": as_whole(least_depth, "least_depth", 0, deepest),
            "tune_every": as_whole(tune_every, "tune_every", 1),
            "tune_shares": _shares(tune_shares),
            "bounds": as_bounds(bounds),
            "outside": as_policy(outside),
        }
        if bounds is None and outside != "grow":
            raise ValueError(f'outside="{outside}" needs bounds')
        for name, usual in _TUNING.items():
            if settings[name] != usual and tuning != "origin":
                raise ValueError(f'{name} is for tuning="origin"')
        return settings

    @property
    def _is_tuned(self) -> bool:
        return bool(self._settings["tuning"] == "origin" and self._settings["depth"] == "auto")

    def _make_core(self) -> Arrangement:
        if not self._is_tuned:
            return self._core_of(self._settings)
        if self._tuned_depth is None:
            self._tuned_depth = self._within_limits(self._settings["first_depth"])
        return self._core_of({**self._settings, "depth": self._tuned_depth})

    @staticmethod
    def _require_fit(settings: Mapping[str, Any], dim: int) -> None:
        most = _deepest(settings, dim)
        for name, least in (("depth", 0), ("most_depth", 1)):
            wanted = settings[name]
            if isinstance(wanted, int) and wanted > most:
                raise ValueError(f"{name} must be from {least} to {most}, not {wanted}")
        require_fit(settings["bounds"], dim)

    def _core_of(self, settings: Mapping[str, Any]) -> Arrangement:
        """Make an arrangement by settings."""
        self._require_fit(settings, self.dim)
        flat, covered = settings["storage"] == "flat", settings["traversal"] == "covered_leaves"
        most = settings["most_depth"]
        if most is None:
            most = _deepest(settings, self.dim)
            if flat:  # a table far larger than the boxes would be mostly empty
                most = min(most, max(1, math.ceil(math.log2(max(len(self), 1) * 8) / self.dim)))
        depth = -1 if settings["depth"] == "auto" else settings["depth"]
        low, high = [-math.inf] * 4, [math.inf] * 4
        if (world := self._bounds_of(settings)) is not None:
            low, high = ([*corner, *[0.0] * (4 - self.dim)] for corner in world.tolist())
        return _native.LinearTree(self.dim, flat, covered, depth, most, low, high, self._threads)

    def _within_limits(self, depth: int) -> int:
        """Clip a depth to the limits of the tuning."""
        most = self._settings["most_depth"] or min(_TUNED_MOST, _deepest(self._settings, self.dim))
        return int(min(max(depth, self._settings["least_depth"]), most))

    # The depth is tuned by what searches find in the tree.
    @property
    def _pair_way(self) -> PairWay:
        return "tree" if self._is_tuned else "any"

    def _begin_frame(self) -> None:
        """Count a frame of a tuned tree; if tuning is due and changes the depth, file the boxes again."""
        core = self._arranged()
        with self._guard.building:  # several threads may search at once
            is_due, self._frames = self._frames % self._settings["tune_every"] == 0, self._frames + 1
            if not is_due or not len(self):
                return
            shallower, deeper = self._settings["tune_shares"]
            step = int(core.leaf_share >= deeper) - int(core.leaf_share <= shallower)
            depth = self._within_limits(core.depth + step)
            if depth == core.depth:
                return
            # Another arrangement: other threads may be reading this one.
            core = self._core_of({**self._settings, "depth": depth})
            core.build(*self._store.views, self._store.numbers)
            self._tuned_depth, self._arrangement = depth, core
            if step > 0:
                self._deeper += 1
            else:
                self._shallower += 1

    def _core_stats(self) -> dict[str, Any]:
        tuning = {"frames": self._frames, "tuned_deeper": self._deeper, "tuned_shallower": self._shallower}
        return super()._core_stats() | tuning

    # Few changed rows are kept beside the sorted ones, until something but a query comes. To file rows passes over the
    # whole order, which takes half the time of a build: only the first such edit between two queries is followed.
    def _keeps_up(self, changed: int) -> bool:
        self._edits_since_query += changed
        few = self._edits_since_query <= thresholds.MOST_BESIDE
        return few or (self._edits_since_query == changed and changed <= len(self) // 8)

    def _arranged(self, need: Need = "all") -> Any:
        if need == "pairs" and self._is_tuned:
            self._begin_frame()
        self._edits_since_query = 0
        core = super()._arranged()
        if need != "queries" and not core.is_settled:
            with self._guard.building:  # several threads may come here at once
                if not self._arrangement.is_settled:
                    # Another arrangement: other threads may be reading this one.
                    core = self._make_core()
                    core.build(*self._store.views, self._store.numbers)
                    self._builds += 1
                    self._arrangement = core
        return self._arrangement

    @property
    def depth(self) -> int:
        """Levels below the root.

        It can be set at any time: a number, or "auto", which restarts the tuning. All boxes are then filed again.
        """
        with self._guard.reading:
            depth: int = self._arranged().depth
        return depth

    @depth.setter
    def depth(self, depth: int | Literal["auto"]) -> None:
        self._set(depth=depth)

    @property
    def bounds(self) -> NDArray[np.float64]:
        """Lower and upper corner of the world, shape (2, d).

        It can be set at any time; None: the boxes decide. All boxes are then filed again, and those outside dropped or
        refused, as `outside` says.
        """
        with self._guard.reading:
            return np.array(self._arranged().bounds)

    @bounds.setter
    def bounds(self, bounds: ArrayLike | None) -> None:
        self._set(bounds=bounds)

    @property
    def outside_rows(self) -> NDArray[np.int32]:
        """Rows of boxes that are not wholly within `bounds`, ascending. Queries find them like all others.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.LinearTree([[1, 1, 2, 2], [9, 9, 12, 12]], bounds=(0, 0, 10, 10)).outside_rows
        array([1], dtype=int32)
        """
        with self._guard.reading:
            low, high = np.array(self._arranged().bounds)
            rows, (lower, upper) = self._store.numbers, self._store.views
            found: NDArray[np.int32] = rows[~((lower[rows] >= low) & (upper[rows] <= high)).all(axis=1)]
            return found

    @property
    def dropped(self) -> NDArray[np.int32]:
        """Rows that were outside and so removed: by the last `insert`, `move`, `update` or setting of `bounds`."""
        return self._dropped

    def _set(self, **settings: Any) -> None:
        """Change settings; the next query files all boxes again."""
        wanted = self._checked(**{**self._settings, **settings})
        self._require_fit(wanted, self.dim)
        with self._guard.changing:
            change = Change()
            change.set_slot(self, "_settings", wanted)
            change.set_slot(self, "_arrangement", None)
            rows, (lower, upper) = self._store.numbers, self._store.views
            lower, upper, world = lower[rows], upper[rows], self._bounds_of(wanted)
            dropped = rows[leaving(lower, upper, world, wanted["outside"], rows)]
            self._free(change, dropped)
            self._fall_behind(change, dropped)
            if "bounds" in settings:
                self._note_dropped(change, dropped)
            if "depth" in settings:
                change.set_slot(self, "_tuned_depth", None)
                change.set_slot(self, "_frames", 0)
            change.commit()

    def cells_of(self, boxes: Boxes) -> Cells:
        """Return the smallest cells of the tree that wholly contain boxes.

        Parameters
        ----------
        boxes : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
            As in `broadphase.pairs`. Points are boxes with equal corners.

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

    def cells(self) -> TreeCells:
        """Return the cells that hold boxes, and their ancestors: see `TreeCells`.

        Examples
        --------
        >>> import broadphase as bp
        >>> tree = bp.LinearTree([[60, 10, 90, 40], [60, 10, 60, 10]], bounds=(0, 0, 100, 100), depth=2)
        >>> cells = tree.cells()
        >>> cells.level, cells.number, cells.children, cells.flat
        (array([0, 1, 2], dtype=int32), array([0, 1, 4], dtype=uint64), array([2, 1, 0], dtype=uint16), \
        array([0, 2, 9], dtype=uint64))
        """
        with self._guard.reading:
            rows, (lower, upper) = self._store.numbers, self._store.views
            found = Cells(*self._arranged().cells_of(lower[rows], upper[rows]))
        root = np.zeros(1, np.int32), np.zeros(1, np.uint64)
        return tree_cells(self.dim, root, rows, (found.level, found.number))


def _deepest(settings: Mapping[str, Any], dim: int) -> int:
    """Return the largest possible depth."""
    most = _MOST_DEPTH[dim]
    return min(most, int(math.log2(_MOST_FLAT_CELLS)) // dim) if settings["storage"] == "flat" else most


def _shares(values: Any) -> tuple[float, float]:
    shares = as_reals(values, "tune_shares")
    if shares.shape != (2,) or not 0 <= shares[0] < shares[1] <= 1:
        raise ValueError(f"tune_shares must be two numbers from 0 to 1, the smaller one first, not {quoted(values)}")
    return float(shares[0]), float(shares[1])


def _one_of(name: str, value: Any, values: tuple[str, str]) -> str:
    if not isinstance(value, str) or value not in values:
        raise ValueError(unknown_name(name, value, values))
    return str(value)
