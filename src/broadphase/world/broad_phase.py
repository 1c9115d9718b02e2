"""Candidates: pairs of bodies whose boxes overlap, from a search for all pairs or from queries around what changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.arguments import as_real
from broadphase.errors import unknown_name
from broadphase.index.options import INDEX_CLASSES, IndexOptions
from broadphase.workers import worker_count
from broadphase.world.near_pairs import FEWEST_ROWS, MOST_PAIRS, NearPairs, pairs_of_images, reach_among, reach_of
from broadphase.world.touching import boxes_meet, joined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.change import Change
    from broadphase.filters import PairFilter
    from broadphase.index.batched import BatchedSearch
    from broadphase.index.box_index import BoxIndex
    from broadphase.world.columns import Columns

    _Pending: TypeAlias = tuple["_Pending | None", bool, NDArray[np.int32]]

__all__ = ["BroadPhase", "Candidates"]

# "auto" queries a tree about the rows that have changed if these are few: that takes 1-2 us for each of them, where
# finding all pairs takes 60-100 ns for every row. And not at once: the tree must be built first, which takes as long as
# two or three searches, and may be needed only once.
_FEW = 1 / 30
_STEPS_BEFORE_A_TREE = 3
_FEWEST_FOR_A_TREE = 1000
# How far the boxes in a tree reach beyond those of the shapes, in their extents, axis by axis, unless the user says: a
# body that moves by less need not be moved in the tree. As in Box2D: a tenth of a metre for bodies of about one metre.
# Not in their largest extents: a needle would have others near it by thousands.
_MARGIN = 0.1
# Where queries find so many boxes for each row, of which no more than such a share overlap without their margins, these
# become so much narrower.
_TOO_MANY, _TOO_FEW, _NARROWER = 32, 1 / 16, 1 / 8
# By so many rows it is seen beforehand whether there are too many near pairs.
_A_SAMPLE = 16
_NO_LIMIT = 2**64 - 1
_LARGEST_FLOAT = float(np.finfo(np.float64).max)
# An index that nobody uses while more rows than these, and than there are in the world, come and go is dropped.
_MOST_PENDING = 1000


class Candidates(NamedTuple):
    """Pairs of boxes that overlap, of which at least one is that of a changed row, and that pass the filters.

    Attributes
    ----------
    pairs : ndarray, shape (m, 2), int32
        First < second, each pair once.
    is_tight : bool
        Whether the boxes of the shapes overlap; otherwise those of the index do, which may be larger.
    reason : str
        Why they were found in this way.
    quiet_steps : int
        For how many steps few rows have changed.
    is_synchronized : bool
        Whether the boxes of the index hold the boxes of all rows.
    near : NearPairs
        Those to be kept for the next step.
    has_images : bool
        Whether pairs that may touch in another image of a periodic world are among these; if so, in one only.
    """

    pairs: NDArray[np.int32]
    is_tight: bool
    reason: str
    quiet_steps: int
    is_synchronized: bool
    near: NearPairs
    has_images: bool = False


class BroadPhase:
    """The boxes of a world in an index, brought up to date when it is used.

    The boxes of the index hold those of the shapes, but for rows that are marked as `behind`. A mark is removed only
    where the current placement has been compared with the index, so what a failed step did to the index does no harm.

    Parameters
    ----------
    columns : Columns
    method : str or IndexOptions
        A method of the registry, or "auto"; or an index class with settings.
    margin : float, optional
        By how much boxes in the index are larger than those of the shapes, in length units. Default: a tenth of their
        extents along each axis for "auto", 0 for others.
    workers : int
        Threads.
    """

    def __init__(self, columns: Columns, method: str | IndexOptions, margin: float | None, workers: int) -> None:
        if not isinstance(method, str | IndexOptions):
            raise ValueError(unknown_name("method", method, INDEX_CLASSES))
        self._options = IndexOptions.of(method)
        self._options.require_fit(columns.dim)
        if margin is not None:
            margin = as_real(margin, "margin")
            if not 0 <= margin <= _LARGEST_FLOAT:
                raise ValueError(f"margin must be finite and not negative, not {margin}")
        self.given, self.method, self.margin, self.workers = method, self._options.method, margin, workers
        self.threads = worker_count(workers)
        self._columns = columns
        self._share = 1.0  # of the margins that is used
        self._index: BoxIndex | None = None
        self._behind = np.zeros(0, np.uint8)
        self.quiet_steps = 0
        self.near = NearPairs()
        # Room for the hits of near pairs: those of `near` are in one, and a step writes to the other.
        self._hits = np.empty(0, np.uint8), np.empty(0, np.uint8)
        # What has come into the world and left it, and the index has not followed: (those before, is_new, rows).
        self._pending: _Pending | None = None
        self._pending_count = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the index and of the near pairs."""
        hits = self._hits[0].nbytes + self._hits[1].nbytes
        return hits + self.near.nbytes + (0 if self._index is None else self._index.memory_bytes)

    @property
    def index(self) -> BoxIndex | None:
        """The index as it is; None if it is to be built when it is needed."""
        return self._index

    @property
    def behind(self) -> NDArray[np.uint8]:
        """Rows whose boxes may have left those of the index."""
        return self._room()

    def room_for_hits(self, count: int) -> NDArray[np.uint8]:
        """Give a scratch array for one flag for each near pair."""
        one, other = self._hits
        if self.near.hits is not None and self.near.hits.base is one:
            one, other = other, one
        if len(one) < count:
            one = np.empty(count + count // 4, np.uint8)
        self._hits = one, other
        return one[:count]

    def note_insertion(self, change: Change, rows: NDArray[np.int32]) -> None:
        """Note that rows come into the world."""
        self._note(change, True, rows)

    def note_removal(self, change: Change, rows: NDArray[np.int32]) -> None:
        """Note that rows leave the world."""
        self._note(change, False, rows)

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
        self.near = self.near.dropped()
        if self._index is not None:
            self._room()[rows] = 1

    def up_to_date(self) -> BoxIndex:
        """Give the index; its boxes hold those of the shapes where the world sees them."""
        index = self._synchronized(self._columns.seen.boxes)
        self._behind[:] = 0
        return index

    def candidates(
        self,
        boxes: NDArray[np.float64],
        moved: NDArray[np.uint8],
        changed: NDArray[np.uint8],
        static: Any,
        count: int,
        growth: float | None,
        wrapped: NDArray[np.int32],
    ) -> Candidates:
        """Find the pairs for a step.

        Parameters
        ----------
        boxes : ndarray, shape (capacity, 2, d)
            Where the shapes are to be: those of the spare placement.
        moved, changed : ndarray, shape (capacity,), uint8
            Rows that have other boxes than those the world sees; rows whose pairs are searched for.
        static : ndarray of bool, shape (slots,), or None
            Static rows, of which no two make a pair; needed only where all rows have changed, or with `growth`.
        count : int
            How many rows have changed.
        growth : float or None
            By how much boxes reach beyond those that the world sees, if nothing else has changed, and more pairs than
            those of boxes that overlap may be given; None if not. In a periodic world, whole worlds apart.
        wrapped : ndarray, shape (k,), int32
            Rows that came in at the other side of the world.
        """
        columns = self._columns
        living, wanted = columns.rows.living, columns.filters()

        def still() -> NDArray[np.bool_] | None:
            """Flag rows of which no two make a pair."""
            flags: NDArray[np.bool_] | None = static if count == living else changed[: columns.slots] == 0
            return flags

        if self._index is not None:
            behind, slots = self._room(), columns.slots
            behind[:slots] |= moved[:slots]
        if self.method != "auto" and wanted.batch is not None:
            # Trees of the method's own for each batch would have to follow every change.
            pairs = self._all_pairs(boxes, replace(wanted, static=still()))
            return Candidates(pairs, True, "the method was given, for each batch", self.quiet_steps, False, self.near)
        if self.method != "auto":
            index, options = self._synchronized(boxes), replace(wanted, static=still()).given()
            found: NDArray[np.int32] = index.pairs(workers=self.workers, **options)
            return Candidates(found, False, "the method was given", self.quiet_steps, True, self.near)
        quiet_steps = self.quiet_steps
        if count > _FEW * living or living < _FEWEST_FOR_A_TREE:
            quiet_steps = 0
        elif quiet_steps < _STEPS_BEFORE_A_TREE:
            quiet_steps += 1
        near, has_few = self.near, quiet_steps == _STEPS_BEFORE_A_TREE
        is_kept = growth is not None and living >= FEWEST_ROWS and self.margin != 0.0
        if growth is None or not is_kept or 0 < quiet_steps < _STEPS_BEFORE_A_TREE:
            near = near.dropped()
        elif not has_few:
            near = near.for_all().after(growth, columns.flags_token)
            near = self._near_pairs(boxes, near, growth, wanted, static)
            if near.pairs is not None:
                reason = f"{count} of {living} changed: those near each other {near.uses} steps ago"
                has_images = columns.period_bounds is not None
                return Candidates(near.pairs, False, reason, quiet_steps, False, near, has_images)
        if not has_few:
            reason = f"{count} of {living} changed: search for all pairs"
            pairs = self._all_pairs(boxes, replace(wanted, static=still()))
            return Candidates(pairs, True, reason, quiet_steps, False, near)
        rows = np.flatnonzero(changed[: columns.slots].view(np.bool_)).astype(np.int32)
        if growth is not None and is_kept:
            near = near.for_few(rows, wrapped).after(growth, columns.flags_token)
            near, is_synchronized = self._near_pairs_of_few(boxes, near, rows, growth, wanted)
            if near.pairs is not None:
                reason = f"{count} of {living} changed: those near them {near.uses} steps ago"
                return Candidates(near.pairs, False, reason, quiet_steps, is_synchronized, near)
        reason = f"{count} of {living} changed: queries of a tree around these"
        pairs = self._around(boxes, rows, changed, wanted)
        self._narrowed(boxes, len(rows), pairs)
        return Candidates(pairs, False, reason, quiet_steps, True, near)

    def _narrowed(self, boxes: NDArray[np.float64], count: int, pairs: NDArray[np.int32]) -> bool:
        """Drop the index and narrow its margins if they make these pairs, found around some rows, too many."""
        if len(pairs) <= _TOO_MANY * count or self._share == 0.0 or self.margin == 0.0:
            return False
        some = pairs[:: len(pairs) // 1024 + 1]
        if np.count_nonzero(boxes_meet(boxes, some)) > _TOO_FEW * len(some):
            return False
        self._share *= _NARROWER if self._share > _NARROWER**4 else 0.0
        self._index = self._pending = None
        self._pending_count = 0
        return True

    def _near_pairs(
        self, boxes: NDArray[np.float64], near: NearPairs, growth: float, wanted: PairFilter, static: Any
    ) -> NearPairs:
        """Find the near pairs, if there are none and it is time to."""
        if near.pairs is not None or near.calm < near.patience:
            return near
        columns = self._columns
        reach, wanted = reach_of(columns, boxes, growth), replace(wanted, static=static)
        if not reach:
            return near.not_worth()
        try:
            pairs = self._all_pairs(boxes, wanted, reach, MOST_PAIRS * columns.rows.living)
        except _native.TooManyPairs:
            return near.not_worth()
        if columns.period_bounds is not None:
            images = pairs_of_images(columns, boxes, reach, wanted.native(columns.slots), self.threads)
            if images is None:
                return near.not_worth()
            pairs = joined(pairs, images)
        return near.found(pairs, reach, columns.flags_token)

    def _all_pairs(
        self, boxes: NDArray[np.float64], wanted: PairFilter, reach: float = 0.0, limit: int = _NO_LIMIT
    ) -> NDArray[np.int32]:
        # What `broadphase.pairs` does, less the checks: for a thousand boxes they take as long as finding the pairs.
        kept = self._columns.rows
        slots = kept.slots
        lower, upper, rows = boxes[:slots, 0], boxes[:slots, 1], None
        if kept.living != slots:
            rows = kept.numbers
            lower, upper, wanted = lower[rows], upper[rows], wanted.of_rows([rows], [slots])
        batches = None
        if wanted.batch is not None:
            batches = _native.BatchedRows((len(lower), np.ascontiguousarray(wanted.batch), 1), None)
            wanted = replace(wanted, batch=None)  # found by the search, and not filtered
        pair_filter = wanted.native(len(lower))
        given = (lower, upper, None, None, True, 2 * reach, pair_filter, batches, self.threads, False, limit)
        method = getattr(_native.Method, self.method, _native.Method.auto)
        pairs: Any = _native.pairs(method, *given)
        found: NDArray[np.int32] = pairs if rows is None else rows[pairs]
        return found

    def _near_pairs_of_few(
        self, boxes: NDArray[np.float64], near: NearPairs, rows: NDArray[np.int32], growth: float, wanted: PairFilter
    ) -> tuple[NearPairs, bool]:
        """Find the near pairs of rows that move, unless they are known or it is not time to; say if the index was used.

        Those of rows that begin to move are added.
        """
        if near.pairs is None:
            reach = reach_among(boxes[rows], growth) if near.calm >= near.patience else 0.0
            if not reach:
                return near if near.calm < near.patience else near.not_worth(), False
            index, some = self._synchronized(boxes), rows[:: len(rows) // _A_SAMPLE + 1]
            around = np.zeros(self._columns.slots, np.uint8)
            around[some] = 1
            if len(self._around(boxes, some, around, wanted, around, reach, True)) > MOST_PAIRS * len(some):
                return near.not_worth(), True
            index.update(_enlarged(boxes[rows], reach), rows)  # they leave these boxes when the reach is used up
            around[rows] = 1
            pairs = self._around(boxes, rows, around, wanted, around, reach, True)
            if len(pairs) > MOST_PAIRS * len(rows):
                return near.not_worth(), True
            return near.found(pairs, reach, self._columns.flags_token, around), True
        if not len(others := near.others(rows)):
            return near, False
        known: Any = near.around
        around, of = known.copy(), np.zeros_like(known)
        around[others] = of[others] = 1
        return near.with_others(self._around(boxes, others, of, wanted, around, near.left), around), True

    def _around(
        self,
        boxes: NDArray[np.float64],
        rows: NDArray[np.int32],
        flags: NDArray[np.uint8],
        wanted: PairFilter,
        enlarged: NDArray[np.uint8] | None = None,
        reach: float = 0.0,
        is_in_index: bool = False,
    ) -> NDArray[np.int32]:
        """Find the pairs of rows, which have flags; of boxes some of which are enlarged by a reach, also by flags.

        `is_in_index`: those of the index are enlarged.
        """
        slots, corners = self._columns.slots, boxes[rows]
        if enlarged is not None:
            corners = _enlarged(corners, reach if is_in_index else 2 * reach)
        index: BoxIndex | BatchedSearch = self._synchronized(boxes)
        if wanted.batch is not None:
            index = index._in_batches(wanted.batch[rows])
        near = index._near_boxes(corners[:, 0], corners[:, 1], self.workers)
        found: Any = _native.pairs_around(
            rows, near.rows, near.offsets, flags, wanted.native(slots), boxes, enlarged, reach
        )
        pairs: NDArray[np.int32] = found
        return pairs

    def _synchronized(self, boxes: NDArray[np.float64]) -> BoxIndex:
        """Give the index with boxes that hold these; the marks stay, as these boxes may come to nothing."""
        columns, slots = self._columns, self._columns.slots
        if self._pending is not None:
            self._follow(boxes)
        if self._index is None:
            batch = None if columns.batches is None else columns.batches[:slots]
            index = self._options.make(self._fat(boxes[:slots]), batch=batch)
            if columns.rows.living != slots:
                index.remove(np.flatnonzero(~columns.rows.alive[:slots]))
            self._room()[:] = 0
            if boxes is not columns.seen.boxes:
                self._behind[:slots] = 1
            self._pending, self._pending_count = None, 0
            self._index = index
            if self.method != "auto":
                return index
            some = columns.rows.numbers[:: columns.rows.living // _A_SAMPLE + 1]
            search = index if batch is None else index._in_batches(batch[some])
            near = search._near_boxes(boxes[some, 0], boxes[some, 1], 1)
            pairs = np.stack([some.repeat(np.diff(near.offsets)), near.rows], axis=1)
            return self._synchronized(boxes) if self._narrowed(boxes, len(some), pairs) else index
        kept = self._index._store.corners
        rows: Any = _native.left_boxes(boxes, kept, self._room(), columns.rows.alive, slots)
        if len(rows):
            self._index.update(self._fat(boxes[rows]), rows)
        return self._index

    def _follow(self, boxes: NDArray[np.float64]) -> None:
        """Let the index follow the rows that have come and left since; drop it if it cannot."""
        index, self._index = self._index, None  # whatever interrupts this, the index is built again
        try:
            for is_new, rows in self.pending():
                if index is None or not is_new:
                    if index is not None:
                        index.remove(rows)
                    continue
                corners = boxes[rows]
                corners[~self._columns.rows.alive[rows]] = 0.0  # removed again, and perhaps never placed
                self._room()[rows] = 1
                batches = self._columns.batches
                batch = None if batches is None else batches[rows]
                if not len(index) or not np.array_equal(index.insert(self._fat(corners), batch=batch), rows):
                    index = None
        except MemoryError:
            index = None
        self._pending, self._pending_count = None, 0
        self._index = index

    def _note(self, change: Change, is_new: bool, rows: NDArray[np.int32]) -> None:
        if self._index is None or not len(rows):
            return
        count = self._pending_count + len(rows)
        if count > max(_MOST_PENDING, self._columns.rows.living):  # nobody uses the index, it seems
            change.assign(self, _index=None, _pending=None, _pending_count=0)
        else:
            change.assign(self, _pending=(self._pending, is_new, rows), _pending_count=count)

    def _room(self) -> NDArray[np.uint8]:
        capacity = len(self._columns.positions)
        if len(self._behind) < capacity:
            self._behind = np.concatenate([self._behind, np.zeros(capacity - len(self._behind), np.uint8)])
        return self._behind

    def _fat(self, corners: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.margin is None:
            if self.method != "auto":
                return corners
            reach = self._share * _MARGIN * (corners[:, 1] - corners[:, 0])
        elif self.margin == 0.0:
            return corners
        else:
            reach = np.full((len(corners), 1), self._share * self.margin)
        return np.stack([corners[:, 0] - reach, corners[:, 1] + reach], axis=1)


def _enlarged(corners: NDArray[np.float64], reach: float) -> NDArray[np.float64]:
    """Enlarge boxes, rounded outward."""
    lower, upper = np.nextafter(corners[:, 0] - reach, -np.inf), np.nextafter(corners[:, 1] + reach, np.inf)
    return np.stack([lower, upper], axis=1)
