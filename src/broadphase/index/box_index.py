"""What every index of boxes is: a store of boxes, an arrangement of them, and queries."""

from __future__ import annotations

import copy
from dataclasses import replace
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, TypedDict, Unpack

import numpy as np

from broadphase import _native, thresholds
from broadphase.arguments import as_flag, as_real
from broadphase.boxes.forms import as_corners
from broadphase.change import Change
from broadphase.errors import TooManyPairsError, UnsupportedQueryError, unknown_name
from broadphase.filters import ALL_BITS, NO_FILTER, PairFilter, ReadyFilter, as_attribute
from broadphase.index import queries
from broadphase.index.joining import keep_found
from broadphase.index.one_shot import BoxSet, find_at_once, set_of
from broadphase.index.outside import leaving
from broadphase.index.pair_watch import PairWatch
from broadphase.index.results import RESULTS, Changes, Outline, QueryResult
from broadphase.index.spheres import Spheres
from broadphase.index.stats import IndexStats
from broadphase.index.store import BoxStore, keys_by_shape
from broadphase.index.walks import of_boxes, search_spheres
from broadphase.methods import METHODS
from broadphase.options import (
    PAIR_DEFAULTS,
    ChangeKeywords,
    IndexPairKeywords,
    PairFilterKeywords,
    QueryOptions,
    require_known,
    shows,
)
from broadphase.representations import html_facts
from broadphase.searches import count_pairs, iter_pairs, pair_limit, pairs
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    from broadphase.boxes.forms import Boxes
    from broadphase.filters import ByRow
    from broadphase.index.protocol import Arrangement
    from broadphase.index.spheres import SphereArrays
    from broadphase.index.walks import Found, Walk
    from broadphase.options import Bound

    Floats = NDArray[np.float64]
    #: What an arrangement is needed for.
    Need: TypeAlias = Literal["all", "queries", "pairs"]
    #: Where pairs are found: in the arrangement, without it, or where it is faster.
    PairWay: TypeAlias = Literal["tree", "once", "any"]
    _Behind: TypeAlias = tuple["_Behind | None", NDArray[np.int32]]

__all__ = ["BoxIndex", "IndexKeywords", "PairSearch", "shows_index_options"]


# State that is not pickled, but made again by `_begin`.
_FLEETING = (
    "__weakref__", "_arrangement", "_behind", "_behind_count", "_builds", "_cells", "_coherent", "_forest",
    "_guard", "_in_cell", "_is_asked", "_is_stale", "_quick", "_seconds", "_served",
)  # fmt: skip
# Pairs at once, where they are found in chunks.
_CHUNK = 1_000_000
# What searches for pairs show: None stands for the threads of the index.
_DEFAULTS = {**PAIR_DEFAULTS, "workers": None}
_NO_OPTIONS = QueryOptions()


# Capability and result of each query.
_QUERIES = {row.name: row for row in queries.QUERIES}


class IndexKeywords(TypedDict, total=False):
    """What every index class takes besides boxes and its settings; `BoxIndex` describes them."""

    workers: int
    layer: ByRow
    mask: ByRow
    batch: ByRow
    spheres: SphereArrays


#: Decorator of the `__init__` of an index class.
shows_index_options = shows(IndexKeywords, {"workers": 1})


class PairSearch(NamedTuple):
    """A search for pairs, checked but for `other` and the filter."""

    other: BoxIndex | Boxes | None
    filter: PairFilter
    touching: bool
    margin: float
    workers: int
    batch: ByRow
    by_spheres: bool

    @property
    def options(self) -> dict[str, Any]:
        """Options of `broadphase.pairs`."""
        return {"workers": self.workers, "touching": self.touching, "margin": self.margin}


# A search for all pairs, on one thread.
_EVERY_PAIR = PairSearch(None, NO_FILTER, True, 0.0, 1, None, False)


class BoxIndex(queries.Queries):
    """Boxes that are kept to be queried and changed; the base of all index classes.

    The boxes are copied. Each has a row: its row in the first array, or what `insert` returned. Rows of removed boxes
    are used again; `handles` are not.

    Any number of threads may query at once. A change during a query, and a query during a change, raise RuntimeError.
    Input is checked before a change begins: bad input changes nothing. If another exception ends a call, such as
    KeyboardInterrupt or MemoryError, the index is as before the call or as after it; after an interrupted `insert`,
    `slots` and `rows` tell which.

    Parameters
    ----------
    boxes : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d), or None
        As in `broadphase.pairs`. They decide `dim` and `dtype`; to begin without boxes, give
        ``np.empty((0, 2, d), dtype)``. None: the boxes of `spheres`.
    workers : int
        Threads of queries that are not given theirs; also to build the tree of `BVH`, `Index` and `Octree`, and to move
        many boxes of the first two. -1 for one per core.
    layer, mask : array_like of uint64, shape (n,), or int, optional
        Bits that filter queries and pairs. Default: all bits.
    batch : array_like of int, shape (n,), or int, optional
        A key for each box, any int64: boxes of different keys are never a pair, and a query with ``batch=`` finds boxes
        of its key only. Default: 0. Boxes of shape (E, n, 2, d) are E batches of n, with the keys 0 to E - 1.
    spheres : tuple of array_like (centers, shape (n, d), radii, shape (n,) or float), optional
        A sphere around each object besides its box; an infinite radius means none. A box that is infinite along all
        axes is replaced by that of the sphere. With ``by="sphere"``, spheres decide queries and pairs.

    Raises
    ------
    ValueError, TypeError
        As `broadphase.pairs`.

    See Also
    --------
    Index : Chooses a method for each query.
    """

    # A subclass names its row of the registry (`method`), checks its settings (`_checked`), gives them as a value
    # (`options`), and makes its arrangement from them (`_make_core`). It stores them before it calls `__init__` of this
    # class, which builds. All attributes are declared in `__slots__`, and pickled unless named in `_FLEETING`.
    #
    #     class Octree(BoxIndex):
    #         __slots__ = ("_settings",)
    #         method = "octree"
    #         options = classmethod(checked_options)
    #
    #         @shows_index_options
    #         def __init__(self, boxes, *, leaf_capacity=1, **options: Unpack[IndexKeywords]):
    #             self._settings = self._checked(leaf_capacity)
    #             super().__init__(boxes, **options)
    #
    #         @staticmethod
    #         def _checked(leaf_capacity=1):
    #             return {"leaf_capacity": as_whole(leaf_capacity, "leaf_capacity", 1)}
    #
    #         def _make_core(self):
    #             return _native.Octree(self.dim, **self._settings)
    #
    # See `Arrangement` for what that object must do. Inside queries and changes, `_arranged()` returns it, built if
    # needed; `_store.views` are the corners by slot, and `_store.numbers` the rows in use. Queries run in
    # `with self._guard.reading:`, and changes, whose writes a `Change` collects, in `with self._guard.changing:`.
    # A few classes replace more: how they find boxes (`_candidates`, `_cell`) and pairs (`_pair_way`), what they do
    # before they are searched (`_arranged`), when they build (`_build_first`, `_keeps_up`), and what they keep besides
    # (`_forget`, `_core_stats`, `_nbytes`).

    __slots__ = (
        "__weakref__",
        "_arrangement",
        "_behind",
        "_behind_count",
        "_builds",
        "_coherent",
        "_dropped",
        "_forest",
        "_guard",
        "_is_asked",
        "_is_stale",
        "_quick",
        "_seconds",
        "_served",
        "_store",
        "_threads",
        "_watch",
    )

    #: The index class of each method by name; "auto" is `Index`.
    _classes: ClassVar[dict[str, type[BoxIndex]]] = {}
    #: Name of its row in the registry.
    method: ClassVar[str]
    _capabilities: ClassVar[frozenset[str]] = frozenset()
    #: Edge lengths of a periodic cell, if any.
    _periods: NDArray[np.float64] | None = None
    #: Checked settings of the class, by name.
    _settings: Mapping[str, Any] = MappingProxyType({})
    #: Rows that were outside the bounds of a tree and so dropped by the last change.
    _dropped: NDArray[np.int32]
    #: What `changes` remembers, once it has been called.
    _watch: PairWatch | None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "method" in vars(cls):
            if "_capabilities" not in vars(cls):
                cls._capabilities = frozenset().union(*(row.capabilities for row in METHODS if row.name == cls.method))
            BoxIndex._classes.setdefault(cls.method, cls)

    def __init__(
        self,
        boxes: Boxes | None,
        *,
        workers: int = 1,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        spheres: SphereArrays = None,
    ) -> None:
        self._threads = worker_count(workers)
        self._store = BoxStore(boxes, layer, mask, batch, spheres, self._threads)
        self._watch = None
        self._dropped = np.empty(0, np.int32)
        self._begin()
        self._build_first()

    @classmethod
    def from_spheres(cls, centers: ArrayLike, radii: ArrayLike, **options: Any) -> Self:
        """Make an index of spheres and the boxes around them, with options of the class.

        Centers, (n, d), and radii, (n,) or one number, must be finite, radii 0 or more: ValueError names the first row.

        Examples
        --------
        >>> import broadphase as bp
        >>> tree = bp.Octree.from_spheres([[0, 0, 0], [1.5, 1.5, 0]], 1)
        >>> len(tree.pairs()), len(tree.pairs(by="sphere"))
        (1, 0)
        """
        return cls(None, spheres=(centers, radii), **options)

    def _begin(self) -> None:
        # NumPy imports this when it is first used, and Ctrl-C in that moment leaves NumPy broken for good.
        import numpy.ma  # noqa: F401

        self._arrangement: Any = None  # an Arrangement, once it is needed
        self._is_stale = True  # the next query builds
        self._is_asked = True  # whether a query has used the arrangement since the last update of all boxes
        self._coherent: _native.CoherentPairs | None = None  # made by the first search for pairs
        self._served: tuple[int, int] | None = None  # tests and pairs of the last search, if near pairs served it
        self._builds = 0
        self._quick: _native.FewQueries | None = None  # see `_few`
        self._forest: _native.Forest | None = None  # a tree for each batch, once a query has keys
        # Changed rows that those trees have not followed, as a linked list: (earlier ones, rows).
        self._behind: _Behind | None = None
        self._behind_count = 0
        self._guard = _native.Guard("index")
        self._seconds: dict[str, float | None] = {"build": None, "update": None, "query": None}

    # For subclasses: their own settings, checked as far as possible without boxes, as values that can be hashed.
    @staticmethod
    def _checked() -> dict[str, Any]:
        return {}

    @classmethod
    def _all_settings(cls, *, workers: Any = 1, **settings: Any) -> dict[str, Any]:
        """Check the settings of the class, and those that all classes have."""
        worker_count(workers)
        return {**cls._checked(**settings), "workers": int(workers)}

    # For subclasses: raises if checked settings do not fit boxes of so many dimensions.
    @staticmethod
    def _require_fit(settings: Mapping[str, Any], dim: int) -> None:
        pass

    # For subclasses: the object of the compiled module that arranges the rows.
    def _make_core(self) -> Arrangement:
        raise NotImplementedError

    @property
    def _core_options(self) -> dict[str, Any]:
        """What `build`, `insert` and `update` of the arrangement take by name."""
        return {"workers": self._threads} if isinstance(self._arrangement, _native.Bvh) else {}

    # For subclasses: numbers for `stats`.
    def _core_stats(self) -> dict[str, Any]:
        return dict(self._arranged().stats())

    # For subclasses: whether the arrangement follows a change of so many rows; if not, the next query builds it again.
    def _keeps_up(self, changed: int) -> bool:
        return True

    # For subclasses: adds to a change that their caches are dropped.
    def _forget(self, change: Change) -> None:
        pass

    @staticmethod
    def _bounds_of(settings: Mapping[str, Any]) -> Floats | None:
        """Return the corners of the world that settings name as `bounds`, in classes that have such, see `outside`."""
        bounds = settings.get("bounds")
        return None if bounds is None else np.sort(np.array(bounds), axis=0)

    # For subclasses: the bounds that boxes are held against, if there are any.
    def _limits(self) -> Floats | None:
        return self._bounds_of(self._settings)

    def _leaving(
        self, lower: NDArray[Any], upper: NDArray[Any], rows: NDArray[np.int32] | None = None
    ) -> NDArray[np.bool_] | slice:
        """Return which boxes leave the bounds, as flags, or a slice of none."""
        outside = self._settings.get("outside", "grow")
        return slice(0, 0) if outside == "grow" else leaving(lower, upper, self._limits(), outside, rows)

    def _note_dropped(self, change: Change, rows: NDArray[np.int32]) -> None:
        """Add to a change that these rows were dropped."""
        if "outside" in self._settings:
            change.set_slot(self, "_dropped", rows)

    # For subclasses that build at the first query.
    def _build_first(self) -> None:
        self._arranged()

    def __len__(self) -> int:
        return self._store.living

    def __repr__(self) -> str:
        count = len(self)
        return f"<{type(self).__name__} of {count} box{'es' * (count != 1)}, {self.dim}-d {self.dtype}>"

    def _repr_html_(self) -> str:
        with self._guard.reading:
            rows = self._store.numbers
            corners = self._store.corners[rows]
            facts = {"boxes": f"{len(rows):,}", "axes": str(self.dim), "dtype": str(self.dtype)}
            if len(rows):
                facts |= {"lower": str(corners[:, 0].min(axis=0)), "upper": str(corners[:, 1].max(axis=0))}
        return html_facts(type(self).__name__, facts.items())

    def __getstate__(self) -> dict[str, Any]:
        with self._guard.reading:
            declared = [name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ())]
            state = {name: getattr(self, name) for name in declared if name not in _FLEETING}
            state.update(getattr(self, "__dict__", {}))  # of classes derived by users
            if self._watch is not None:
                core = self._arranged()
                with self._guard.building:  # one thread at a time: the core reports every change once
                    state["_watch"] = self._watch.without_core(core, self._builds, self._store)
            return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._begin()

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # a shallow copy would share its boxes

    # Rows ------------------------------------------------------------------------------------------------------------

    @property
    def dim(self) -> int:
        """Number of axes, 1 to 4."""
        return self._store.dim

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the corners: float32 or float64, that of the boxes from which the index was made."""
        return self._store.corners.dtype

    @property
    def slots(self) -> int:
        """Upper bound of all rows, and the length of arrays that filter pairs."""
        return self._store.slots

    @property
    def rows(self) -> NDArray[np.int32]:
        """The rows of the boxes in the index, ascending, shape (len(index),). Read-only."""
        return self._store.numbers

    def boxes_of(self, rows: ArrayLike | None = None) -> NDArray[Any]:
        """Return a copy of the corners of rows, by default of all: shape (k, 2, d), of `dtype`.

        Raises UnknownRowError for a row that is not in use.
        """
        with self._guard.reading:
            return self._store.corners[self._store.numbers if rows is None else self._store.known(rows)]

    def handles(self, rows: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the handles of rows, by default of all: shape (k,), int64, positive.

        Unlike rows, handles are never used again. They stay valid while the boxes are in the index, also after
        pickling. Raises UnknownRowError for a row that is not in use.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[0, 0, 1, 1], [5, 5, 6, 6]])
        >>> handle = index.handles(1)
        >>> index.rows_of(handle)
        array([1], dtype=int32)
        >>> index.remove(1)
        >>> index.insert([[7, 7, 8, 8]])
        array([1], dtype=int32)
        >>> index.rows_of(handle)
        Traceback (most recent call last):
            ...
        broadphase.errors.UnknownRowError: handle 4294967297 is stale: the box of row 1 was removed
        """
        with self._guard.reading:
            return self._store.handles(self._store.numbers if rows is None else rows)

    def rows_of(self, handles: ArrayLike) -> NDArray[np.int32]:
        """Return the rows of handles, shape (k,), int32. Raises UnknownRowError for a box that has been removed."""
        with self._guard.reading:
            return self._store.rows_of(handles)

    # Changes ---------------------------------------------------------------------------------------------------------

    def insert(
        self,
        boxes: Boxes | None,
        *,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        spheres: SphereArrays = None,
    ) -> NDArray[np.int32]:
        """Add boxes.

        Parameters
        ----------
        boxes : array_like, shape (k, 2, d) or (k, 2*d), or tuple of two (k, d)
            An index of float32 accepts only numbers that float32 holds exactly.
        layer, mask : array_like of uint64, shape (k,), or int, optional
            As in the class.
        batch : array_like of int, shape (k,), or int, optional
            As in the class; boxes keep their keys until they are removed.
        spheres : optional
            As in the class.

        Returns
        -------
        ndarray, shape (k,), int32
            Their rows: first those that `remove` freed, the lowest first, then new ones; also of the boxes that a tree
            drops, see `Octree`.

        Raises
        ------
        ValueError, TypeError
            As `broadphase.pairs`; names the row in `boxes`. In a tree with `outside` "raise", a box that is not inside
            its bounds.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[0, 0, 1, 1], [5, 5, 6, 6]])
        >>> index.remove(0)
        >>> index.insert([[5, 5, 7, 7], [8, 8, 9, 9]])
        array([0, 2], dtype=int32)
        """
        with self._guard.changing:
            return self._insert(boxes, layer, mask, batch, spheres)

    def remove(self, rows: ArrayLike) -> None:
        """Remove the boxes of rows, (k,) or one. Rows will be used again, handles never.

        Raises UnknownRowError for a row that is not in use, and ValueError for one that is repeated.
        """
        with self._guard.changing:
            self._remove(self._store.distinct(rows))

    def move(self, rows: ArrayLike, boxes: Boxes | None, *, spheres: SphereArrays = None) -> None:
        """Move the boxes of some rows: replace their corners. `update` moves all.

        Parameters
        ----------
        rows : array_like of int, shape (k,), or int
            The row of each box, no row twice.
        boxes : array_like, shape (k, 2, d) or (k, 2*d), or tuple of two (k, d)
            As in `insert`. Rows keep their keys: boxes of shape (E, n, 2, d) need rows with the keys 0 to E - 1.
        spheres : optional
            As in the class. Rows that have spheres need new ones.

        Raises
        ------
        ValueError, TypeError
            As `insert`; another number of boxes than of rows; a repeated row; a row that has a sphere, and is given
            none.
        UnknownRowError
            A row that is not in use, by number.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[0, 0, 1, 1], [5, 5, 6, 6]])
        >>> index.move([0], [[4, 4, 5, 5]])
        >>> index.pairs()
        array([[0, 1]], dtype=int32)
        """
        with self._guard.changing:
            self._update(boxes, self._store.distinct(rows), spheres)

    def update(self, boxes: Boxes | None, *, spheres: SphereArrays = None) -> None:
        """Move all boxes: replace the corners of all rows in use, ascending. Parameters and errors as of `move`."""
        with self._guard.changing:
            self._update(boxes, None, spheres)

    def set_filters(self, rows: ArrayLike, *, layer: ByRow = None, mask: ByRow = None) -> None:
        """Set the layers or the masks of rows, (k,) or one; None leaves them unchanged. Errors are those of `insert`.

        Raises UnknownRowError for a row that is not in use.
        """
        with self._guard.changing:
            change = Change()
            self._store.set_filters(change, self._store.known(rows), layer, mask)
            self._forget(change)
            change.commit()

    def _follow(self, rows: NDArray[np.int32], boxes: NDArray[np.float64]) -> None:
        """Do what `move` does, for rows in use, each once, in an array that nobody else has."""
        with self._guard.changing:
            self._update(boxes, rows, None)

    def _starts_to_follow(self, count: int) -> bool:
        """Begin to move so many boxes for a query that comes next: the core does so, or the arrangement stays stale.

        False, and nothing has begun, if they are moved in the usual way. For the inside of a change.
        """
        is_usual = self._is_stale or self._forest is not None or count == len(self)
        if is_usual or not isinstance(self._arrangement, _native.Bvh) or not self._keeps_up(count):
            return False
        change = Change()
        self._fall_behind(change, self._store.numbers[:0])
        change.commit()
        return True

    # A change is checked, then computed beside the store, then committed: one call of the core writes the store and
    # marks the arrangement stale. Then the arrangement follows, and the mark is removed. After an exception before the
    # commit, nothing has changed; after the commit, everything, and the next query builds the arrangement if need be.

    def _insert(self, boxes: Boxes | None, layer: Any, mask: Any, batch: Any, spheres: Any) -> NDArray[np.int32]:
        began, change = perf_counter(), Change()
        new = self._store.checked(boxes, layer, mask, batch, spheres)
        rows, dropped = self._store.insert(change, new, self._leaving(new.lower, new.upper))
        self._note_removal(change, dropped)
        self._note_dropped(change, dropped)
        self._commit(change, began, "insert", rows, dropped)
        return rows

    def _remove(self, rows: NDArray[np.int32]) -> None:
        began = perf_counter()
        change = Change()
        self._free(change, rows)
        self._commit(change, began, "remove", rows)

    def _update(self, boxes: Boxes | None, rows: NDArray[np.int32] | None, spheres: Any) -> None:
        began, change = perf_counter(), Change()
        new, numbers = self._store.checked(boxes, spheres=spheres), self._store.numbers if rows is None else rows
        if len(new.lower) != len(numbers):
            raise ValueError(f"{len(new.lower)} boxes for {len(numbers)} rows")
        self._store.move(change, rows, new)
        dropped = numbers[self._leaving(new.lower, new.upper, numbers)]
        self._free(change, dropped)
        self._note_dropped(change, dropped)
        self._commit(change, began, "update", numbers, dropped)

    def _remove_outside(self) -> None:
        """Drop boxes outside the world, or raise. For the end of a constructor."""
        began, change = perf_counter(), Change()
        rows = self._store.numbers
        dropped = rows[self._leaving(*self._store.views)]
        self._free(change, dropped)
        self._note_dropped(change, dropped)
        self._commit(change, began, "remove", dropped)

    def _free(self, change: Change, rows: NDArray[np.int32]) -> None:
        """Add to a change that the boxes of rows are removed."""
        self._store.remove_rows(change, rows)
        self._note_removal(change, rows)

    def _note_removal(self, change: Change, rows: NDArray[np.int32]) -> None:
        if self._watch is not None and len(rows):
            self._watch.note_removal(change, rows)

    def _commit(
        self,
        change: Change,
        began: float,
        edit: Literal["insert", "remove", "update"],
        rows: NDArray[np.int32],
        dropped: NDArray[np.int32] | None = None,
    ) -> None:
        """Commit a change, and let the arrangement follow: it edits `rows`, then removes `dropped`."""
        count, was_empty = len(rows), self._store.living == 0
        if count == 0:
            change.commit()
            return
        moves_all = edit == "update" and count == self._store.living
        follows = not self._is_stale and self._keeps_up(count) and not was_empty
        if moves_all and count >= thresholds.FEWEST_KEPT and not self._is_asked and self._finds_pairs_at_once:
            follows = False
        self._fall_behind(change, rows, dropped)
        change.commit()
        if moves_all:
            self._is_asked = False
        try:
            if follows:
                core = self._arrangement
                if edit == "remove":
                    core.remove(rows)
                else:
                    follow = core.insert if edit == "insert" else core.update
                    follow(*self._store.views, rows, **self._core_options)
                if dropped is not None and len(dropped):
                    core.remove(dropped)
                self._is_stale = False
            elif was_empty:
                self._build_first()
        except MemoryError:
            pass  # the store has changed; the next query builds again, or raises
        self._seconds["update"] = perf_counter() - began

    def _fall_behind(self, change: Change, rows: NDArray[np.int32], dropped: NDArray[np.int32] | None = None) -> None:
        """Add to a change that arrangement, caches and trees of batches have not followed it."""
        change.set_slot(self, "_is_stale", True)
        change.set_slot(self, "_quick", None)
        self._forget(change)
        if self._forest is not None:
            self._leave_trees_behind(change, rows, dropped)

    # For subclasses: how pairs are found.
    @property
    def _pair_way(self) -> PairWay:
        return "any"

    # Whether pairs are found without the arrangement where all boxes have moved, and no query has used it since.
    @property
    def _finds_pairs_at_once(self) -> bool:
        return True

    # For subclasses that need less for some searches.
    def _arranged(self, need: Need = "all") -> Any:
        """Return the arrangement with every row in its place. For the inside of a query or a change."""
        self._is_asked = True
        if self._is_stale:
            with self._guard.building:  # several threads may come here at once
                if self._is_stale:
                    self._build()
        return self._arrangement

    def _build(self) -> None:
        began = perf_counter()
        if self._arrangement is None:
            self._arrangement = self._make_core()
        self._builds += 1
        self._arrangement.build(*self._store.views, self._store.numbers, **self._core_options)
        self._is_stale = False
        self._seconds["build"] = perf_counter() - began

    def _leave_trees_behind(self, change: Change, rows: NDArray[np.int32], dropped: NDArray[np.int32] | None) -> None:
        """Add to a change that the trees of the batches have to follow these rows."""
        kept = rows.copy() if dropped is None else np.concatenate([rows, dropped])  # not the caller's array
        count = self._behind_count + len(kept)
        if count > thresholds.MOST_CHANGES_BEHIND * len(self):  # they seem to be unused
            change.set_slot(self, "_forest", None)
            change.set_slot(self, "_behind", None)
            change.set_slot(self, "_behind_count", 0)
            return
        change.set_slot(self, "_behind", (self._behind, kept))
        change.set_slot(self, "_behind_count", count)

    def _trees(self, workers: int) -> _native.Forest:
        """Return a tree for each batch. For the inside of a query."""
        forest, behind = self._forest, self._behind
        if forest is not None and behind is None:
            return forest
        with self._guard.building:  # several threads may come here at once
            forest, behind, store = self._forest, self._behind, self._store
            keys = np.zeros(store.slots, np.int64) if store.keys is None else store.keys
            self._forest = None  # so that the trees are built again if this is interrupted
            if forest is None:
                forest = _native.Forest(self.dim)
                forest.build(*store.views, store.numbers, keys, workers)
            elif behind is not None:
                parts = []
                while behind is not None:
                    behind, rows = behind
                    parts.append(rows)
                changed = parts[0] if len(parts) == 1 else np.concatenate(parts)
                forest.follow(*store.views, changed, store.alive, keys, workers)
            self._behind, self._behind_count = None, 0
            self._forest = forest
        return forest

    def _are_spheres(self, by: Bound, other: Any = None) -> bool:
        """Check `by`, and return whether spheres decide."""
        if by is None:
            return False
        if not isinstance(by, str) or by not in ("box", "sphere"):
            raise ValueError(unknown_name("by", by, ("box", "sphere")))
        if by == "sphere" and other is not None:
            raise ValueError('by="sphere" is for pairs within one index')
        if by == "sphere" and self._periods is not None:
            raise UnsupportedQueryError('by="sphere" is not supported in a periodic cell')
        return by == "sphere"

    def _places(self, rows: ArrayLike) -> tuple[NDArray[np.int32], Floats]:
        with self._guard.reading:
            return self._store.centers(rows)

    # Queries ---------------------------------------------------------------------------------------------------------

    shapecast = queries.shapecast

    def _find(
        self,
        query: str,
        given: tuple[Any, ...],
        keywords: Mapping[str, Any],
        own: NDArray[np.int32] | None = None,
    ) -> Any:
        options = _NO_OPTIONS
        if keywords or own is not None:
            options = QueryOptions.of(query, keywords, own)
            if options.by is not None:
                self._are_spheres(options.by)
        workers = self._threads if options.workers is None else worker_count(options.workers)
        row = _QUERIES[query]
        walk = row.walk(*given)
        self._require(row.capability)
        began = perf_counter()
        with self._guard.reading:
            found = self._answer(walk, options, workers)
        self._seconds["query"] = perf_counter() - began
        return found[0] if row.result is np.ndarray else row.result(*found)

    def _answer(self, walk: Walk, options: QueryOptions, workers: int) -> tuple[Any, ...]:
        """Answer a walk in the first way of these that can. For the inside of a query."""
        store, core = self._store, None
        if self._periods is not None:
            periodic: tuple[Any, ...] = self._cell().answer(walk, store, options, workers)
            return periodic
        if options.by == "sphere" and store.spheres is not None:
            boxes = replace(options, by=None)
            return search_spheres(walk, store, lambda other: self._answer(other, boxes, workers))
        query_filter = self._native_filter(walk.query_count, options)
        if options.batch is not None:
            core = self._keyed(options.batch, walk.query_count, workers)
        elif (found := self._candidates(walk, workers)) is not None:
            return tuple(keep_found(walk, found, store, query_filter, workers))
        else:
            core = self._arranged("queries")
        answer: tuple[Any, ...] = walk.search(core, *store.views, *walk.given, query_filter, workers)
        return answer

    # For subclasses with periodic cells: what answers queries in the cell. Only inside a query.
    def _cell(self) -> Any:
        raise NotImplementedError

    # For subclasses that find boxes without a tree, or may: rows whose boxes overlap the boxes around the queries.
    def _candidates(self, walk: Walk, workers: int) -> Found | None:
        return None

    def _keyed(self, batch: Any, count: int, workers: int) -> _native.KeyedQueries:
        """Return the trees of the batches for queries with these keys."""
        return _native.KeyedQueries(self._trees(workers), as_attribute("batch", batch, count, np.int64))

    def _trees_of(self, capability: str, batch: NDArray[np.int64] | None, workers: int) -> _native.BlockIndex:
        """Return the tree, or those of the batches for queries with these keys: for callers that walk it themselves.

        Raises UnsupportedQueryError, as of a query that needs this.
        """
        self._require(capability)
        core: _native.BlockIndex = (
            self._arranged("queries") if batch is None else self._keyed(batch, len(batch), workers)
        )
        return core

    def _near(
        self, walk: Walk, batch: NDArray[np.int64] | None, workers: int
    ) -> tuple[_native.BlockIndex | None, Found | None]:
        """Return the tree, or those of the batches, or else rows whose boxes overlap the boxes around queries.

        For callers that have the leaves tested themselves: rows may be nearer or farther than the walk says.
        """
        if batch is not None:
            return self._keyed(batch, len(batch), workers), None
        with self._guard.reading:
            found = self._candidates(walk, workers)
            return (self._arranged("queries"), None) if found is None else (None, found)

    def _near_boxes(self, lower: NDArray[Any], upper: NDArray[Any], workers: int, batch: Any = None) -> QueryResult:
        """Find rows whose boxes overlap others, and perhaps some that nearly do: for callers that test them."""
        began, threads = perf_counter(), worker_count(workers)
        with self._guard.reading:
            core = self._arranged("queries") if batch is None else self._keyed(batch, len(lower), threads)
            roughly = () if batch is not None else (True,)
            found: Any = _native.query_boxes(core, *self._store.views, lower, upper, None, threads, *roughly)
        self._seconds["query"] = perf_counter() - began
        return QueryResult(*found)

    @property
    def _few(self) -> _native.FewQueries | None:
        """What answers a few queries of the boxes as they are, if they have a tree that is ready."""
        if self._quick is not None or self._is_stale or self._periods is not None:
            return self._quick
        if isinstance(self._arrangement, _native.BlockIndex):
            with self._guard.reading:
                core, store = self._arranged("queries"), self._store
                bits, alive = store.bits, store.alive[: store.slots]
                self._quick = _native.FewQueries(self._guard, core, *store.views, *bits, alive, RESULTS, self._seconds)
        return self._quick

    def _native_filter(self, count: int, allowed: QueryOptions) -> _native.QueryFilter | None:
        own_layer, own_mask = self._store.bits
        layer, mask = allowed.layer, allowed.mask
        ignored = self._store.ignored(allowed.ignore, count, allowed.own)
        has_layers = not (layer is None and mask is None and own_layer is None and own_mask is None)
        if not has_layers and ignored is None and allowed.sight is None:
            return None
        query_filter = _native.QueryFilter()
        if allowed.sight is not None:
            query_filter.set_sight_of_boxes(*allowed.sight, *self._store.views)
        if has_layers:
            every = np.array([ALL_BITS], np.uint64)  # for all rows
            query_filter.set_layers(
                every if own_layer is None else own_layer,
                every if own_mask is None else own_mask,
                as_attribute("layer", ALL_BITS if layer is None else layer, count, np.uint64),
                as_attribute("mask", ALL_BITS if mask is None else mask, count, np.uint64),
                self._guard.changes,
            )
        if ignored is not None:
            query_filter.set_ignored(ignored)
        return query_filter

    def _require(self, capability: str) -> None:
        if capability not in self._capabilities:
            able = ", ".join(row.index_class for row in METHODS if capability in row.capabilities)
            raise UnsupportedQueryError(f"{type(self).__name__} does not support {capability}; use one of {able}")

    # Pairs -----------------------------------------------------------------------------------------------------------

    @shows(IndexPairKeywords, _DEFAULTS)
    def pairs(
        self,
        other: BoxIndex | Boxes | None = None,
        *,
        sort: bool = False,
        max_pairs: int | None = None,
        **options: Unpack[IndexPairKeywords],
    ) -> NDArray[np.int32]:
        """Find every pair of overlapping boxes of the index, or of a box of the index and one of another set.

        Parameters
        ----------
        other : BoxIndex, or boxes as in `broadphase.pairs`, optional
            The other set: any index, or plain boxes.
        by : {"box", "sphere"}, optional
            As in `query`. "sphere": of overlapping boxes, the spheres must touch too; the box of a row without a sphere
            stands for it. Not with `other`. `touching`, `margin` and `max_pairs` are those of the boxes.
        workers : int, optional
            Threads to use; -1 for one per core. Default: those of the index.
        sort, touching, margin, max_pairs
            As in `broadphase.pairs`.
        layer, mask, group, static, ignore_pairs, ignore_shared : optional
            As in `broadphase.pairs`, by row: arrays have `slots` entries, of which those of free rows are ignored. With
            `other`, tuples of two. Default of `layer` and `mask`: those that the boxes were given.
        batch : array_like of int, shape (m,), or int, optional
            Keys of `other`, if it is plain boxes. Those of an index were given with its boxes.

        Returns
        -------
        ndarray, shape (m, 2), int32
            Rows, first < second, each pair once; with `other`, row of this index and row of the other. A new array.

        Raises
        ------
        ValueError, TypeError, TooManyPairsError
            As `broadphase.pairs`; `batch` without plain boxes as `other`; `by` "sphere" with `other`.
        UnsupportedQueryError
            `by` "sphere" in a periodic cell.

        Notes
        -----
        With a margin, or with `other`, the work is that of `broadphase.pairs`. But few boxes are looked up in the tree
        of many, if nothing filters the pairs but the layers that the boxes were given.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3], [9, 9, 9, 9]])
        >>> index.pairs()
        array([[0, 1]], dtype=int32)
        >>> index.pairs([[2, 2, 9, 9]], sort=True)
        array([[0, 0], [1, 0], [2, 0]], dtype=int32)
        """
        search = self._search("pairs", other, options)
        began = perf_counter()
        with self._guard.reading:
            found = self._pairs(search, as_flag(sort, "sort"), max_pairs)
            if search.by_spheres:
                found = self._with_touching_spheres(found)
        self._seconds["query"] = perf_counter() - began
        return found

    @shows(IndexPairKeywords, _DEFAULTS)
    def count_pairs(self, other: BoxIndex | Boxes | None = None, **options: Unpack[IndexPairKeywords]) -> int:
        """Count the pairs that `pairs` finds, in memory that does not depend on their number.

        Parameters and errors are those of `pairs`.
        """
        search = self._search("count_pairs", other, options)
        began = perf_counter()
        with self._guard.reading:
            if search.by_spheres:
                chunks = self._at_once(iter_pairs, search, chunk=_CHUNK)
                count = sum(len(self._with_touching_spheres(some)) for some in chunks)
            elif self._is_plain(search) and self._pair_way != "once":
                native_filter = self._with_layers(search.filter).native(self._store.slots)
                core = self._arranged("pairs")
                count = core.count(*self._store.views, search.touching, native_filter, search.workers)
            else:
                count = self._at_once(count_pairs, search)
        self._seconds["query"] = perf_counter() - began
        return count

    @shows(IndexPairKeywords, _DEFAULTS)
    def iter_pairs(
        self, other: BoxIndex | Boxes | None = None, *, chunk: int = _CHUNK, **options: Unpack[IndexPairKeywords]
    ) -> Iterator[NDArray[np.int32]]:
        """Find the pairs that `pairs` finds, a chunk at a time: for more than fit into memory.

        The boxes are copied at the call: the index may change while the pairs are read. Errors are those of `pairs`, at
        the call and not at the first iteration.

        Parameters
        ----------
        other, by, touching, margin, layer, mask, group, static, ignore_pairs, ignore_shared, batch
            As in `pairs`.
        chunk : int
            Number of pairs in each chunk; the last may have fewer. By spheres, all may have fewer, or none.
        workers : int
            Threads for the preparation; chunks are then found one after the other.

        Yields
        ------
        ndarray, shape (k, 2), int32
            The next pairs.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3], [2, 2, 4, 4]])
        >>> next(index.iter_pairs(chunk=1)).tolist()
        [[0, 1]]
        """
        search = self._search("iter_pairs", other, options)
        with self._guard.reading:
            stream: Iterator[NDArray[np.int32]] = self._at_once(iter_pairs, search, chunk=chunk)
            if not search.by_spheres or self._store.spheres is None:
                return stream
            balls, corners = Spheres.of(self._store.spheres.copy()), self._store.corners.copy()
        return (some[balls.touch(some, corners)] for some in stream)

    @shows(ChangeKeywords, _DEFAULTS)
    def changes(self, **options: Unpack[ChangeKeywords]) -> Changes:
        """Find the pairs that overlap since the last call, and those that no longer do.

        The first call reports all pairs as `enter`. Pairs of a removed box are in `exit`; if a new box has its row and
        overlaps the same boxes, they are in `enter` too.

        Parameters
        ----------
        **options
            As in `pairs`. Pairs that count only by the values of one of the two calls are changes too.

        Returns
        -------
        Changes
            ``enter`` and ``exit``, each of shape (m, 2), in lexicographic order.

        Raises
        ------
        UnsupportedQueryError
            An index whose method does not support it.
        ValueError, TypeError
            As `pairs`; this call then does not count as the last one.
        RuntimeError
            Another thread queries or modifies the index: this call modifies it, too.

        Notes
        -----
        The work grows with what has changed; in an index with keys, and from the first call by spheres on, it is that
        of `pairs`.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]])
        >>> index.changes().enter
        array([[0, 1]], dtype=int32)
        >>> index.move([0], [[7, 7, 8, 8]])
        >>> changes = index.changes()
        >>> changes.enter, changes.exit
        (array([[0, 2]], dtype=int32), array([[0, 1]], dtype=int32))
        """
        self._require("changes")
        search = self._search("changes", None, options, ChangeKeywords)
        began = perf_counter()
        with self._guard.changing:
            if self._watch is None:
                self._watch = PairWatch(search.touching)
            if search.by_spheres or self._store.batch is not None or self._watch.compares_pairs:
                current = self._at_once(pairs, search, sort=True)
                current = self._with_touching_spheres(current) if search.by_spheres else current
                changes = self._watch.changes_of_pairs(current, self._arranged, self._builds, self._store)
            else:
                core, own_filter = self._arranged(), self._with_layers(search.filter)
                given = own_filter, search.touching, search.workers
                changes = self._watch.changes(core, self._builds, self._store, *given)
        self._seconds["query"] = perf_counter() - began
        return changes

    def _search(
        self,
        function: str,
        other: BoxIndex | Boxes | None,
        keywords: Mapping[str, Any],
        known: type = IndexPairKeywords,
    ) -> PairSearch:
        """Check the options that a search for pairs was given by keyword."""
        if not keywords and other is None:
            return _EVERY_PAIR if self._threads == 1 else _EVERY_PAIR._replace(workers=self._threads)
        require_known(function, keywords, known)
        given: dict[str, Any] = {**PAIR_DEFAULTS, **keywords}
        batch, workers = given.get("batch"), keywords.get("workers")
        if batch is not None and (other is None or isinstance(other, BoxIndex)):
            whose = "this index" if other is None else "other, an index,"
            raise ValueError(f"batch: the boxes of {whose} have keys already; leave it out")
        filters = {name: value for name, value in keywords.items() if name in PairFilterKeywords.__annotations__}
        return PairSearch(
            other,
            PairFilter(**filters) if filters else NO_FILTER,
            as_flag(given["touching"], "touching"),
            as_real(given["margin"], "margin"),
            self._threads if workers is None else worker_count(workers),
            batch,
            self._are_spheres(given.get("by"), other),
        )

    def _is_plain(self, search: PairSearch) -> bool:
        """Whether the arrangement can find these pairs."""
        return search.other is None and search.margin == 0.0 and self._store.batch is None

    def _with_touching_spheres(self, found: NDArray[np.int32]) -> NDArray[np.int32]:
        """Keep the pairs whose spheres touch. For the inside of a query."""
        balls = self._store.balls
        return found if balls is None else found[balls.touch(found, self._store.corners)]

    def _pairs(self, search: PairSearch, sort: bool, max_pairs: int | None) -> NDArray[np.int32]:
        """Find pairs in the first way of these that can. For the inside of a query."""
        if not self._is_plain(search):
            joined: NDArray[np.int32] = self._at_once(pairs, search, sort=sort, max_pairs=max_pairs)
            return joined
        try:
            near = None if self._pair_way == "tree" else self._pairs_of_before(search, sort, max_pairs)
            if near is not None:
                return near
            found = self._pairs_of_now(search, sort, max_pairs)
            if self._coherent is not None:
                self._coherent.note(len(found))
        except _native.TooManyPairs:
            raise TooManyPairsError(f"there are more than max_pairs={max_pairs} pairs") from None
        return found

    def _pairs_of_before(self, search: PairSearch, sort: bool, max_pairs: int | None) -> NDArray[np.int32] | None:
        """Find the pairs among the near pairs of an earlier search, if boxes have moved little since; else None."""
        store, self._served = self._store, None
        if store.living < thresholds.FEWEST_KEPT or self._periods is not None or not search.filter.is_empty:
            return None
        if self._coherent is None:
            self._coherent = _native.CoherentPairs()
        native_filter = self._with_layers(search.filter).native(store.slots)
        method = getattr(_native.Method, self.method, _native.Method.auto)
        living, limit = None if store.living == store.slots else store.numbers, pair_limit(max_pairs)
        options: Any = (search.touching, native_filter, search.workers, sort, limit)
        found: Any = self._coherent.pairs(method, *store.views, living, *options)
        near: NDArray[np.int32] | None = found
        self._served = None if near is None else (self._coherent.tests, len(near))
        return near

    def _pairs_of_step(self, allowed: _native.PairFilter | None, workers: int) -> NDArray[np.int32] | None:
        """Find the pairs that a filter of the core allows, for a world; None where they are best searched at once."""
        search = _EVERY_PAIR._replace(filter=NO_FILTER if allowed is None else ReadyFilter(allowed), workers=workers)
        with self._guard.reading:
            return None if self._searches_at_once else self._pairs_of_now(search, False, None)

    @property
    def _searches_at_once(self) -> bool:
        """Whether pairs are found without the arrangement, which would have to be built for that."""
        is_idle = self._is_stale and not self._is_asked and len(self) >= thresholds.FEWEST_KEPT
        return self._pair_way == "once" or (is_idle and self._pair_way == "any")

    def _pairs_of_now(self, search: PairSearch, sort: bool, max_pairs: int | None) -> NDArray[np.int32]:
        if self._searches_at_once:
            once: NDArray[np.int32] = self._at_once(pairs, search, sort=sort, max_pairs=max_pairs)
            return once
        is_asked = self._is_asked
        core = self._arranged("pairs")
        self._is_asked = is_asked
        native_filter = self._with_layers(search.filter).native(self._store.slots)
        given = search.touching, native_filter, search.workers, sort, pair_limit(max_pairs)
        found: NDArray[np.int32] = core.pairs(*self._store.views, *given)
        return found

    def _with_layers(self, pair_filter: PairFilter) -> PairFilter:
        """Fill in the layers, masks and keys that the boxes were given."""
        layer, mask = self._store.bits
        if self._store.keys is not None:
            pair_filter = replace(pair_filter, batch=self._store.keys)
        if layer is None and mask is None:
            return pair_filter
        layer = layer if pair_filter.layer is None else pair_filter.layer
        return replace(pair_filter, layer=layer, mask=mask if pair_filter.mask is None else pair_filter.mask)

    def _at_once(self, function: Callable[..., Any], search: PairSearch, **more: Any) -> Any:
        """Search without the arrangement; or look up few boxes in the tree of many."""
        other, options = search.other, {"method": self.method, "period": self._periods, **search.options, **more}
        if isinstance(other, BoxIndex) and not _are_same(self._periods, other._periods):
            raise ValueError(f"the two indexes have different periods: {self._periods} and {other._periods}")
        if other is None:
            return find_at_once(function, set_of(self._store), None, search.filter, **options)
        if not isinstance(other, BoxIndex):
            rows, batch = keys_by_shape(other, search.batch)
            lower, upper = as_corners(rows, name="other", empty_dim=self.dim)
            corners = lower.copy(), upper.copy()  # as they are checked
            count = len(lower)
            keys = None if batch is None else as_attribute("batch", batch, count, np.int64)
            return self._with_set(function, BoxSet(corners, None, count, None, None, keys), None, search, options)
        with other._guard.reading:
            return self._with_set(function, set_of(other._store), other, search, options)

    def _with_set(
        self,
        function: Callable[..., Any],
        second: BoxSet,
        other: BoxIndex | None,
        search: PairSearch,
        options: dict[str, Any],
    ) -> Any:
        plain = search.touching and search.margin == 0.0 and options.get("max_pairs") is None
        has_keys = second.batch is not None or self._store.batch is not None
        if function is pairs and plain and search.filter.is_empty and not has_keys and self._periods is None:
            sort, workers = options["sort"], search.workers
            if self._is_tree_of_many_more(second):
                return _sorted(self._looked_up(second, workers), sort)
            first = set_of(self._store)
            if other is not None and other._is_tree_of_many_more(first):
                return _sorted(other._looked_up(first, workers)[::-1], sort)
        return find_at_once(function, set_of(self._store), second, search.filter, **options)

    def _is_tree_of_many_more(self, others: BoxSet) -> bool:
        lower, upper = others.corners
        if len(lower) * thresholds.BOXES_FOR_EACH_LOOKED_UP > len(self):
            return False
        if self._is_stale or not isinstance(self._arrangement, _native.BlockIndex):
            return False
        return lower.shape[1] == self.dim and _native.first_invalid(lower, upper) < 0

    def _looked_up(self, others: BoxSet, workers: int) -> NDArray[np.int32]:
        """Return the pairs with others, shape (2, m): rows of this index, then rows of the others."""
        lower, upper = others.corners
        options = QueryOptions(None, None, *others.bits())
        rows, offsets = self._answer(of_boxes(lower, upper), options, workers)
        numbers = np.arange(len(lower), dtype=np.int32) if others.rows is None else others.rows
        return np.stack([rows, np.repeat(numbers, np.diff(offsets))])

    # Inspection ------------------------------------------------------------------------------------------------------

    def stats(self) -> IndexStats:
        """Return numbers that describe the index, and the seconds of the last build, update and query.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.BVH([[0, 0, 1, 1], [1, 1, 2, 2]]).stats()["rows"]
        2
        """
        with self._guard.reading:
            values = self._core_stats()
            if self._served is not None and "tests" in values:
                values["tests"], values["pairs"] = self._served
            tests, most = values.get("tests"), values.get("brute_force_tests")
            if tests is not None and most is not None:
                values["tests_saved"] = most - tests
            values["bytes"] = self._nbytes()
            values.update({f"seconds_of_{name}": seconds for name, seconds in self._seconds.items()})
        return IndexStats({"method": self.method, **{name: values[name] for name in values if name != "method"}})

    def outline(self) -> Outline:
        """Return the cells or nodes of the index, to be drawn: see `Outline`.

        Raises UnsupportedQueryError if the method has no cells.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.BVH([[0, 0, 1, 1], [1, 1, 2, 2]]).outline().level
        array([0], dtype=int32)
        """
        self._require("outline")
        with self._guard.reading:
            return Outline(*self._arranged().outline())

    def validate(self) -> None:
        """Check the index, for tests; an AssertionError describes a fault of this library. O(n) or more."""
        with self._guard.reading:
            fault: Any = self._store.fault() or self._arranged().validate(*self._store.views, self._store.numbers)
        if fault:
            raise AssertionError(f"{self!r}: {fault}")

    @property
    def memory_bytes(self) -> int:
        """Bytes of the boxes and their arrangement."""
        with self._guard.reading:
            return self._nbytes()

    def _nbytes(self) -> int:
        arrangement: int = 0 if self._arrangement is None else self._arrangement.memory_bytes
        others = (self._forest, self._coherent)
        return self._store.nbytes + arrangement + sum(0 if one is None else one.memory_bytes for one in others)


def _are_same(periods: NDArray[np.float64] | None, others: NDArray[np.float64] | None) -> bool:
    return periods is others or (periods is not None and others is not None and bool((periods == others).all()))


def _sorted(columns: NDArray[np.int32], sort: bool) -> NDArray[np.int32]:
    return (columns[:, np.lexsort(columns[::-1])] if sort else columns).T
