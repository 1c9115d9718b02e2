"""The boxes of a world in an index: for queries, and for steps that ask it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from broadphase import _native, thresholds
from broadphase.arguments import as_real
from broadphase.errors import unknown_name
from broadphase.index.options import INDEX_CLASSES, IndexOptions
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.change import Change
    from broadphase.index.box_index import BoxIndex
    from broadphase.world.columns import Columns

    _Pending: TypeAlias = tuple["_Pending | None", bool, NDArray[np.int32]]

__all__ = ["BroadPhase"]

# How far the boxes in a tree reach beyond those of the shapes, in their extents, axis by axis, unless the user says: a
# body that moves by less need not be moved in the tree. As in Box2D: a tenth of a metre for bodies of about one metre.
# Not in their largest extents: a needle would have others near it by thousands.
_MARGIN = 0.1
# How much narrower margins become where they make queries find too many boxes; seen beforehand by so many rows.
_NARROWER, _A_SAMPLE = 1 / 8, 16
_LARGEST_FLOAT = float(np.finfo(np.float64).max)


class BroadPhase:
    """The boxes of a world in an index, brought up to date when it is used.

    The boxes of the index hold those of the shapes, but for rows that are marked as `behind`. A mark is removed only
    where the current placement has been compared with the index, so what a failed step did to the index does no harm.

    `method`, `margin` and `workers` are as `World` takes them. A margin of None is a tenth of the extents of each box
    along each axis for "auto", 0 for other methods.
    """

    def __init__(
        self,
        columns: Columns,
        core: _native.World,
        method: str | type[BoxIndex] | IndexOptions,
        margin: float | None,
        workers: int,
    ) -> None:
        if not isinstance(method, str | type | IndexOptions):
            raise ValueError(unknown_name("method", method, INDEX_CLASSES))
        options = IndexOptions.of(method)
        options.require_fit(columns.dim)
        settings = options.index_class._all_settings(**dict(options.settings))
        # The index holds all bodies; steps and queries leave out, or refuse, those outside its world.
        self.outside: str = settings.pop("outside", "grow")
        self.world = options.index_class._bounds_of(settings)
        if self.outside != "grow" and (self.world is None or columns.period_bounds is not None):
            wrong = "needs the bounds= of the octree" if self.world is None else 'is not for boundary="wrap"'
            raise ValueError(f'outside="{self.outside}" {wrong}')
        self._options = IndexOptions(options.index_class, tuple(one for one in options.settings if one[0] != "outside"))
        if margin is not None:
            margin = as_real(margin, "margin")
            if not 0 <= margin <= _LARGEST_FLOAT:
                raise ValueError(f"margin must be finite and not negative, not {margin}")
        self.given = method if isinstance(method, str) else options
        self.method, self.margin, self.workers = options.method, margin, workers
        self.threads = worker_count(workers)
        self.has_tree = "nearest" in options.index_class._capabilities
        self.has_cells = self.method in ("octree", "linear_tree")  # to be named by hits
        self._columns, self._core = columns, core
        self._use_margins(1.0)
        self.index: BoxIndex | None = None  # None: it is built when it is needed
        self._behind = np.zeros(0, np.uint8)
        # What has come into the world and left it, and the index has not followed: (those before, is_new, rows).
        self._pending: _Pending | None = None
        self._pending_count = 0
        native = getattr(_native.Method, self.method, _native.Method.auto)
        limits = None if self.outside == "grow" or self.world is None else self.world.ravel()
        # A tree that tunes itself by what its searches find is searched in every step.
        keeps_nothing = margin == 0.0 or settings.get("tuning") == "origin"
        self.search = _native.StepSearch(
            self.method, native, keeps_nothing, self.threads, limits, self.outside == "raise"
        )

    def is_dropped(self, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Say which rows are left out because they are outside the world of the method."""
        if self.outside != "drop" or self.world is None:
            return np.zeros(len(rows), np.bool_)
        boxes = self._columns.seen.boxes[rows]
        dropped: NDArray[np.bool_] = ((boxes[:, 0] < self.world[0]) | (boxes[:, 1] > self.world[1])).any(axis=1)
        return dropped

    @property
    def nbytes(self) -> int:
        """Bytes of the index."""
        return 0 if self.index is None else self.index.memory_bytes

    @property
    def behind(self) -> NDArray[np.uint8]:
        """Rows whose boxes may have left those of the index, (capacity,)."""
        capacity = len(self._columns.positions)
        if len(self._behind) < capacity:
            self._behind = np.concatenate([self._behind, np.zeros(capacity - len(self._behind), np.uint8)])
        return self._behind

    def pending(self) -> list[tuple[bool, NDArray[np.int32]]]:
        """List what the index has not followed yet: rows that came, or left, in order; neighbours of a kind joined."""
        ways: list[tuple[bool, list[NDArray[np.int32]]]] = []
        entry = self._pending
        while entry is not None:
            entry, is_new, rows = entry
            if not ways or ways[-1][0] != is_new:
                ways.append((is_new, []))
            ways[-1][1].append(rows)
        return [(is_new, np.concatenate(parts[::-1])) for is_new, parts in reversed(ways)]

    def mark(self, rows: Any) -> None:
        """Note that boxes of rows, or of a mask of rows, have changed."""
        self._core.forget_near()
        if self.index is not None:
            self.behind[rows] = 1

    def up_to_date(self) -> BoxIndex:
        """Give the index; its boxes hold those of the shapes where the world sees them."""
        index = self._synchronized(self._columns.seen.boxes)
        self._behind[:] = 0
        return index

    def near(self, corners: NDArray[np.float64], rows: NDArray[np.int32]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Give the rows near each of some boxes, for these rows, by the index with the boxes of the spare placement."""
        index, batches = self._synchronized(self._columns.spare.boxes), self._columns.batches
        batch = None if batches is None else batches[rows]
        near = index._near_boxes(corners[:, 0], corners[:, 1], self.workers, batch)
        return near.rows, near.offsets

    def enlarge(self, corners: NDArray[np.float64], rows: NDArray[np.int32]) -> None:
        """Give rows larger boxes in the index."""
        self._synchronized(self._columns.spare.boxes).move(rows, corners)

    def pairs(self, allowed: _native.PairFilter | None) -> NDArray[np.int32] | None:
        """Find the pairs of the spare placement by the method that was given; None for the core to search at once."""
        return self._synchronized(self._columns.spare.boxes)._pairs_of_step(allowed, self.threads)

    def narrow(self, boxes: NDArray[np.float64], count: int, pairs: NDArray[np.int32]) -> bool:
        """Drop the index and narrow its margins if they make these pairs, found around some rows, too many."""
        if len(pairs) <= thresholds.MOST_NEAR_EACH * count or self._share == 0.0 or self.margin == 0.0:
            return False
        sampled: Any = _native.sample_rows(len(pairs), 1024)
        some = pairs[sampled]
        one, other = boxes[some[:, 0]], boxes[some[:, 1]]
        meet = (np.maximum(one[:, 0], other[:, 0]) <= np.minimum(one[:, 1], other[:, 1])).all(axis=1)
        if np.count_nonzero(meet) > thresholds.FEWEST_OVERLAPPING * len(some):
            return False
        self._use_margins(self._share * _NARROWER if self._share > _NARROWER**4 else 0.0)
        self.index = self._pending = None
        self._pending_count = 0
        return True

    def _synchronized(self, boxes: NDArray[np.float64]) -> BoxIndex:
        """Give the index with boxes that hold these; the marks stay, as these boxes may come to nothing."""
        columns, slots = self._columns, self._columns.slots
        if self._pending is not None:
            self._follow(boxes)
        if self.index is None:
            batch = None if columns.batches is None else columns.batches[:slots]
            index = self._options.make(self._fat(boxes[:slots]), batch=batch)
            if columns.rows.living != slots:
                index.remove(np.flatnonzero(~columns.rows.alive[:slots]))
            self.behind[:] = 0
            if boxes is not columns.seen.boxes:
                self._behind[:slots] = 1
            self._pending, self._pending_count = None, 0
            self.index = index
            if self.method != "auto":
                return index
            sampled: Any = _native.sample_rows(columns.rows.living, _A_SAMPLE)
            some = columns.rows.numbers[sampled]
            near = index._near_boxes(boxes[some, 0], boxes[some, 1], 1, None if batch is None else batch[some])
            pairs = np.stack([some.repeat(np.diff(near.offsets)), near.rows], axis=1)
            return self._synchronized(boxes) if self.narrow(boxes, len(some), pairs) else index
        kept = self.index._store.corners
        rows: Any = _native.left_boxes(boxes, kept, self.behind, columns.rows.alive, slots)
        if len(rows):
            self.index._follow(rows, self._fat(boxes, rows))
        return self.index

    def _follow(self, boxes: NDArray[np.float64]) -> None:
        """Let the index follow the rows that have come and left since; drop it if it cannot."""
        index, self.index = self.index, None  # whatever interrupts this, the index is built again
        try:
            for is_new, rows in self.pending():
                if index is None or not is_new:
                    if index is not None:
                        index.remove(rows)
                    continue
                corners = boxes[rows]
                corners[~self._columns.rows.alive[rows]] = 0.0  # removed again, and perhaps never placed
                self.behind[rows] = 1
                batches = self._columns.batches
                batch = None if batches is None else batches[rows]
                if not len(index) or not np.array_equal(index.insert(self._fat(corners), batch=batch), rows):
                    index = None
        except MemoryError:
            index = None
        self._pending, self._pending_count = None, 0
        self.index = index

    def followed(self) -> BroadPhase | Literal[False] | None:
        """Give what notes one more row: this, None where there is no index, False where `note` would drop it."""
        if self.index is None:
            return None
        return self._pending_count < max(thresholds.MOST_PENDING, self._columns.rows.living) and self

    def note(self, change: Change, rows: NDArray[np.int32], *, is_new: bool) -> None:
        """Note that rows come into the world, or leave it."""
        if self.index is None or not len(rows):
            return
        count = self._pending_count + len(rows)
        if count > max(thresholds.MOST_PENDING, self._columns.rows.living):  # nobody uses the index, it seems
            change.assign(self, index=None, _pending=None, _pending_count=0)
        else:
            change.assign(self, _pending=(self._pending, is_new, rows), _pending_count=count)

    def _use_margins(self, share: float) -> None:
        """Use a share of the margins."""
        self._share = share
        # How far the boxes of the index reach beyond those of the shapes: a share of their extents, and a length.
        is_chosen = self.margin is None and self.method == "auto"
        self.reach = share * _MARGIN if is_chosen else 0.0, share * (self.margin or 0.0)

    def _fat(self, boxes: NDArray[np.float64], rows: NDArray[np.int32] | None = None) -> NDArray[np.float64]:
        """Give the boxes of some rows, or of all, with their margins: in memory that the core uses again."""
        fat: Any = _native.enlarged_boxes(boxes, rows, *self.reach)
        return cast("NDArray[np.float64]", fat)
