"""Pairs of an index: among its boxes, with others, and those that came and went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.boxes.forms import as_corners
from broadphase.errors import TooManyPairsError
from broadphase.filters import make_filter
from broadphase.index.answers import Changes
from broadphase.index.one_shot import FILTERS, BoxSet, ask_at_once, set_of
from broadphase.index.pair_watch import PairWatch
from broadphase.index.region_questions import RegionQuestions
from broadphase.index.timed import Timed
from broadphase.pairs import count_pairs, pair_limit, pairs
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["PairQuestions"]

# Up to one box for so many of an index, looking each up in its tree is quicker than going through all.
_FEW = 16


class PairQuestions(RegionQuestions):
    """The questions about pairs; see `broadphase.BoxIndex` for the whole."""

    #: What `broadphase.pairs` is asked with where the core does not answer: margins, two sets.
    _one_shot_method: str | None = None
    # What `changes` remembers, once it has been called.
    _watch: PairWatch | None = None

    def pairs(
        self,
        other: Any = None,
        *,
        workers: int = 1,
        sort: bool = False,
        touching: bool = True,
        margin: float = 0.0,
        layer: Any = None,
        mask: Any = None,
        group: Any = None,
        static: Any = None,
        ignore_pairs: Any = None,
        ignore_shared: Any = None,
        max_pairs: int | None = None,
    ) -> NDArray[np.int32]:
        """Find every pair of overlapping boxes of the index, or of a box of the index and one of another set.

        Parameters
        ----------
        other : BoxIndex, or boxes as in `broadphase.pairs`, optional
            The other set: an index of any kind, or plain boxes.
        workers, sort, touching, margin, max_pairs
            As in `broadphase.pairs`.
        layer, mask, group, static, ignore_pairs, ignore_shared : optional
            As in `broadphase.pairs`, by row: arrays have `slots` entries, and those of rows that are not in use are not
            looked at. With `other`, tuples of two. Unset, `layer` and `mask` are those that the boxes were given.

        Returns
        -------
        ndarray, shape (m, 2), int32
            Rows, first < second, each pair once; with `other`, row here and row there. A new array.

        Raises
        ------
        ValueError, TypeError, TooManyPairsError
            As `broadphase.pairs`.
        RuntimeError
            Another thread changes the index.

        Notes
        -----
        With a margin, or with `other`, the work is that of the call `broadphase.pairs` on the boxes of the index; but a
        few boxes against a tree of many are looked up in it, if nothing but layers filters the pairs.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3], [9, 9, 9, 9]])
        >>> index.pairs()
        array([[0, 1]], dtype=int32)
        >>> index.pairs([[2, 2, 9, 9]], sort=True)
        array([[0, 0], [1, 0], [2, 0]], dtype=int32)
        """
        filters = (layer, mask, group, static, ignore_pairs, ignore_shared)
        with self._guard.reading, Timed(self._seconds, "query"):
            if other is None and margin == 0.0:
                found = self._pairs(filters, bool(touching), worker_count(workers), sort, max_pairs)
            else:
                options = {"workers": workers, "touching": touching, "margin": margin}
                found = self._at_once(pairs, other, filters, sort=sort, max_pairs=max_pairs, **options)
        return found

    def count_pairs(
        self,
        other: Any = None,
        *,
        workers: int = 1,
        touching: bool = True,
        margin: float = 0.0,
        layer: Any = None,
        mask: Any = None,
        group: Any = None,
        static: Any = None,
        ignore_pairs: Any = None,
        ignore_shared: Any = None,
    ) -> int:
        """Count the pairs that `pairs` finds, in memory that does not depend on their number.

        Parameters
        ----------
        other, workers, touching, margin, layer, mask, group, static, ignore_pairs, ignore_shared
            As in `pairs`.

        Returns
        -------
        int
            What ``len(index.pairs(...))`` would be.

        Raises
        ------
        ValueError, TypeError, RuntimeError
            As `pairs`.
        """
        filters = (layer, mask, group, static, ignore_pairs, ignore_shared)
        with self._guard.reading, Timed(self._seconds, "query"):
            if other is None and margin == 0.0:
                count = self._count_pairs(filters, bool(touching), worker_count(workers))
            else:
                count = self._at_once(count_pairs, other, filters, workers=workers, touching=touching, margin=margin)
        return count

    def changes(
        self,
        *,
        workers: int = 1,
        touching: bool = True,
        layer: Any = None,
        mask: Any = None,
        group: Any = None,
        static: Any = None,
        ignore_pairs: Any = None,
        ignore_shared: Any = None,
    ) -> Changes:
        """Find the pairs that began, and those that ended, since the last call.

        The first call reports all pairs as begun. A pair of which a box was removed has ended, also where another box
        took the row, and overlaps the same box: that pair has begun.

        Parameters
        ----------
        workers, touching, layer, mask, group, static, ignore_pairs, ignore_shared
            As in `pairs`. If they differ from those of the last call, so does what counts as a pair.

        Returns
        -------
        Changes
            ``began`` and ``ended``, each of shape (m, 2), in lexicographic order.

        Raises
        ------
        UnsupportedQueryError
            An index of a kind that does not have it.
        ValueError, TypeError
            As `pairs`; what counts as the last call is as before.
        RuntimeError
            Another thread asks or changes the index: what it remembers of the last call is a part of it.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]])
        >>> index.changes().began
        array([[0, 1]], dtype=int32)
        >>> index.update([[7, 7, 8, 8]], rows=[0])
        >>> began, ended = index.changes()
        >>> began, ended
        (array([[0, 2]], dtype=int32), array([[0, 1]], dtype=int32))
        """
        self._require("changes")
        filters = (layer, mask, group, static, ignore_pairs, ignore_shared)
        with self._guard.changing, Timed(self._seconds, "query"):
            if self._watch is None:
                self._watch = PairWatch(bool(touching))
            changes = self._watch.changes(
                self._arranged(),
                self._builds,
                self._rows,
                dict(zip(FILTERS, self._with_layers(filters), strict=True)),
                bool(touching),
                worker_count(workers),
            )
        return changes

    # For subclasses: the pairs without margin. `filters` are as the caller gave them, in the order of `make_filter`.
    def _pairs(
        self, filters: tuple[Any, ...], touching: bool, workers: int, sort: bool, max_pairs: int | None
    ) -> NDArray[np.int32]:
        core = self._arranged()
        pair_filter = make_filter((self._rows.slots,), *self._with_layers(filters))
        try:
            found: NDArray[np.int32] = core.pairs(
                *self._rows.views, touching, pair_filter, workers, bool(sort), pair_limit(max_pairs)
            )
        except _native.TooManyPairs:
            raise TooManyPairsError(f"there are more than max_pairs={max_pairs} pairs") from None
        return found

    def _count_pairs(self, filters: tuple[Any, ...], touching: bool, workers: int) -> int:
        core = self._arranged()
        pair_filter = make_filter((self._rows.slots,), *self._with_layers(filters))
        count: int = core.count(*self._rows.views, touching, pair_filter, workers)
        return count

    def __getstate__(self) -> dict[str, Any]:
        with self._guard.reading, self._arranging:
            state = super().__getstate__()
            if self._watch is not None:
                state["_watch"] = self._watch.without_core(self._arranged(), self._builds, self._rows)
            return state

    def _note_removed(self, rows: NDArray[np.int32]) -> None:
        if self._watch is not None:
            self._watch.note_removed(rows, self._rows.slots)

    def _with_layers(self, filters: tuple[Any, ...]) -> tuple[Any, ...]:
        layer, mask, *others = filters
        kept_layer, kept_mask = self._rows.bits
        return kept_layer if layer is None else layer, kept_mask if mask is None else mask, *others

    def _at_once(self, function: Callable[..., Any], other: Any, filters: tuple[Any, ...], **options: Any) -> Any:
        """Ask without the core, or with that of a tree if a few boxes are all that is asked about."""
        options["method"] = self._one_shot_method or self.method
        if other is None:
            return ask_at_once(function, set_of(self._rows), None, filters, **options)
        if not isinstance(other, PairQuestions):
            corners = as_corners(other, name="other", empty_dim=self.dimension)
            return self._with_set(function, BoxSet(corners, None, len(corners[0]), None, None), None, filters, options)
        with other._guard.reading:
            return self._with_set(function, set_of(other._rows), other, filters, options)

    def _with_set(
        self,
        function: Callable[..., Any],
        second: BoxSet,
        other: PairQuestions | None,
        filters: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        plain = options["touching"] and options["margin"] == 0.0 and options.get("max_pairs") is None
        if function is pairs and plain and all(part is None for part in filters):
            sort, workers = options["sort"], worker_count(options["workers"])
            if self._is_tree_of_many_more(second):
                return _sorted(self._looked_up(second, workers), sort)
            first = set_of(self._rows)
            if other is not None and other._is_tree_of_many_more(first):
                return _sorted(other._looked_up(first, workers)[::-1], sort)
        return ask_at_once(function, set_of(self._rows), second, filters, **options)

    def _is_tree_of_many_more(self, others: BoxSet) -> bool:
        lower, upper = others.corners
        if self._stale or not isinstance(self._arrangement, _native.BlockIndex) or len(lower) * _FEW > len(self):
            return False
        return lower.shape[1] == self.dimension and _native.first_invalid(lower, upper) < 0

    def _looked_up(self, others: BoxSet, workers: int) -> NDArray[np.int32]:
        """Give the rows here, and under them those of the others."""
        lower, upper = others.corners
        rows, offsets = self._query_boxes(lower, upper, self._query_filter(len(lower), *others.bits()), workers)
        numbers = np.arange(len(lower), dtype=np.int32) if others.rows is None else others.rows
        return np.stack([rows, np.repeat(numbers, np.diff(offsets))])


def _sorted(columns: NDArray[np.int32], sort: bool) -> NDArray[np.int32]:
    return (columns[:, np.lexsort(columns[::-1])] if sort else columns).T
