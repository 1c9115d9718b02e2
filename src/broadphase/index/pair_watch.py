"""The pairs of an index at the last call of `changes`, and how they differ from the current ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.arguments import as_array
from broadphase.change import Change
from broadphase.filters import NO_FILTER, PairFilter, as_attribute
from broadphase.index.results import Changes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.index.store import BoxStore

    Keys = NDArray[np.int64]

__all__ = ["PairWatch"]

_DTYPES: dict[str, type[np.generic]] = {
    "layer": np.uint64,
    "mask": np.uint64,
    "group": np.int64,
    "static": np.uint8,
    "ignore_shared": np.int64,
    "batch": np.int64,
}


class PairWatch:
    """The pairs of an index at the last call.

    The core of a tree reports which overlaps began and which ended since its last report; it knows no filters. Those
    that began are filtered by the filter of this call, those that ended by that of the last call. Overlaps that last
    are examined only if the filter of a pair has changed.

    The core appends each report to a list. If an exception ends a call, its report stays there, nothing else changes,
    and the next call covers both.

    The core compares boxes of all batches, and no spheres. If boxes have keys, or spheres have decided once, all pairs
    are found again and compared with those of the last call.

    Pairs are compared as keys ``first << 32 | second``, ascending.
    """

    def __init__(self, touching: bool) -> None:
        self._touching = touching
        # The pairs of the last call, if they are compared.
        self._found: Keys | None = None
        self._filter = NO_FILTER
        self._removed: NDArray[np.bool_] = np.zeros(0, np.bool_)  # rows, since the last call
        self._slots = 0
        self._builds = 0
        # The overlaps at the last call, if the core is newer and does not know them.
        self._before: Keys | None = None
        # Reports of the core since the last call: two if a call was interrupted.
        self._reports: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []

    @property
    def compares_pairs(self) -> bool:
        """Whether the pairs of the last call are known, and not the overlaps of the core."""
        return self._found is not None

    def note_removal(self, change: Change, rows: NDArray[np.int32]) -> None:
        """Add to a change that the boxes of rows are removed; the rows may be used again."""
        removed = self._removed
        most = int(rows.max(initial=-1)) + 1
        if most > len(removed):
            removed = np.zeros(most * 3 // 2, np.bool_)
            removed[: len(self._removed)] = self._removed
            change.assign(self, _removed=removed)
        change.flag(removed, True, rows)

    def changes(
        self, core: Any, builds: int, store: BoxStore, pair_filter: PairFilter, touching: bool, workers: int
    ) -> Changes:
        """Return the changes since the last call, which this call becomes."""
        now = _own(pair_filter, store.slots)
        now.native(store.slots)  # raises before anything changes
        self._take_report(core, store, workers)
        then = self._filter
        found: tuple[NDArray[np.int32], NDArray[np.int32]]
        if now.is_empty and then.is_empty and touching == self._touching and self._is_reported(builds):
            found = self._reports[0]
        else:
            enter, exit_ = self._since_the_last_call(core, builds, store, workers)
            if touching == self._touching and self._is_that_of_the_last_call(now):
                enter, exit_ = _kept(enter, now, store.slots), _kept(exit_, then, self._slots)
            else:
                # What has ended by the `touching` of the last call may count by that of this one.
                lasting = np.setdiff1d(_overlaps(core, store, self._touching, None, workers), enter, assume_unique=True)
                last = _kept(np.union1d(lasting, exit_), then, self._slots)
                current = _overlaps(core, store, touching, now.native(store.slots), workers)
                stay = np.intersect1d(last, current, assume_unique=True)
                stay = stay[~self._renewed(stay)]
                enter = np.setdiff1d(current, stay, assume_unique=True)
                exit_ = np.setdiff1d(last, stay, assume_unique=True)
            found = _pairs(enter), _pairs(exit_)
        changes = Changes(*found)
        change = Change()
        change.clear(self._removed)
        change.assign(
            self, _touching=touching, _filter=now, _slots=store.slots, _builds=builds, _before=None, _reports=[]
        )
        change.commit()
        return changes

    def changes_of_pairs(
        self, current: NDArray[np.int32], core: Callable[[], Any], builds: int, store: BoxStore
    ) -> Changes:
        """Return the changes since the last call, which this call becomes, from all current pairs, sorted."""
        now, last = _keys(current), self._found
        if last is None:
            last = np.empty(0, np.int64)
            if self._builds > 0 or self._before is not None:  # the core compared at the last call
                before = self.without_core(core(), builds, store)._before
                last = last if before is None else _kept(before, self._filter, self._slots)
        stays, stayed = (_among(keys, others) & ~self._renewed(keys) for keys, others in ((now, last), (last, now)))
        changes = Changes(_pairs(now[~stays]), _pairs(last[~stayed]))
        change = Change()
        change.clear(self._removed)
        change.assign(self, _found=now, _reports=[])
        change.commit()
        return changes

    def without_core(self, core: Any, builds: int, store: BoxStore) -> PairWatch:
        """Return a copy for another core, such as that of an unpickled index."""
        twin = PairWatch(self._touching)
        twin._found = self._found
        twin._filter, twin._slots, twin._removed = self._filter, self._slots, self._removed.copy()
        if self._found is not None:
            return twin
        self._take_report(core, store, 1)
        enter, exit_ = self._since_the_last_call(core, builds, store, 1)
        lasting = np.setdiff1d(_overlaps(core, store, self._touching, None, 1), enter, assume_unique=True)
        twin._before = np.union1d(lasting, exit_)
        return twin

    def _take_report(self, core: Any, store: BoxStore, workers: int) -> None:
        """Let the core append its report to the list, which never has more than two."""
        if len(self._reports) > 1:
            self._reports[:] = [self._composed()]  # one instruction
        core.changes(*store.views, self._touching, workers, self._reports)

    def _composed(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return all reports as one; pairs that ended and began again are in both parts."""
        if len(self._reports) == 1:
            return self._reports[0]
        (enter, exit_), (later_enter, later_exit) = (tuple(map(_keys, report)) for report in self._reports)
        return (
            _pairs(np.union1d(later_enter, np.setdiff1d(enter, later_exit, assume_unique=True))),
            _pairs(np.union1d(exit_, np.setdiff1d(later_exit, enter, assume_unique=True))),
        )

    def _is_reported(self, builds: int) -> bool:
        """Whether the only report has all changes."""
        return len(self._reports) == 1 and self._before is None and (builds == self._builds or not self._removed.any())

    def _since_the_last_call(self, core: Any, builds: int, store: BoxStore, workers: int) -> tuple[Keys, Keys]:
        """Return the overlaps that began, and those that ended, since the last call."""
        enter, exit_ = map(_keys, self._composed())
        if self._before is not None:  # the core has reported all overlaps
            stay = np.intersect1d(self._before, enter, assume_unique=True)
            stay = stay[~self._renewed(stay)]
            exit_ = self._before
        else:
            if builds != self._builds and self._removed.any():
                # The core does not know of boxes that were removed before it was built and whose rows are used again.
                renewed = _overlaps(core, store, self._touching, None, workers)
                missed = np.setdiff1d(renewed[self._renewed(renewed)], enter, assume_unique=True)
                enter, exit_ = np.union1d(enter, missed), np.union1d(exit_, missed)
            # Ended in one report, and began again in a later one.
            stay = np.intersect1d(enter, exit_, assume_unique=True)
            stay = stay[~self._renewed(stay)]
        return np.setdiff1d(enter, stay, assume_unique=True), np.setdiff1d(exit_, stay, assume_unique=True)

    def _renewed(self, keys: Keys) -> NDArray[np.bool_]:
        removed = np.append(self._removed, False)
        last = len(self._removed)
        renewed: NDArray[np.bool_] = (
            removed[np.minimum(keys >> 32, last)] | removed[np.minimum(keys & 0xFFFF_FFFF, last)]
        )
        return renewed

    def _is_that_of_the_last_call(self, pair_filter: PairFilter) -> bool:
        given, last_given = pair_filter.given(), self._filter.given()
        if given.keys() != last_given.keys():
            return False
        for name, values in given.items():
            last = last_given[name]
            if name == "ignore_pairs" or last.shape[1:] != values.shape[1:]:
                if not np.array_equal(last, values):
                    return False
                continue
            stays = np.ones(len(last), np.bool_)
            removed = self._removed[: len(last)]
            stays[: len(removed)] &= ~removed
            if not np.array_equal(last[stays], values[: len(last)][stays]):
                return False
        return True


def _own(pair_filter: PairFilter, slots: int) -> PairFilter:
    """Copy the arrays of a filter, which the caller may change before the next call."""
    if pair_filter.is_empty:
        return NO_FILTER
    return PairFilter(**{name: _own_array(name, value, slots) for name, value in pair_filter.given().items()})


def _own_array(name: str, value: Any, slots: int) -> NDArray[Any]:
    if name == "ignore_pairs":
        return as_array(value, name).copy()
    values = as_attribute(name, value, slots, _DTYPES[name]).copy()
    return values.view(np.bool_) if name == "static" else values


def _overlaps(core: Any, store: BoxStore, touching: bool, native_filter: Any, workers: int) -> Keys:
    return _keys(core.pairs(*store.views, touching, native_filter, workers, True, 2**64 - 1))


def _kept(keys: Keys, pair_filter: PairFilter, slots: int) -> Keys:
    return keys if pair_filter.is_empty else _keys(pair_filter.passing(_pairs(keys), slots))


def _among(keys: Keys, others: Keys) -> NDArray[np.bool_]:
    """Return which keys are among others, both ascending."""
    if not len(others):
        return np.zeros(len(keys), np.bool_)
    found: NDArray[np.bool_] = others[np.minimum(np.searchsorted(others, keys), len(others) - 1)] == keys
    return found


def _keys(found: NDArray[np.int32]) -> Keys:
    return (found[:, 0].astype(np.int64) << 32) | found[:, 1]


def _pairs(keys: Keys) -> NDArray[np.int32]:
    return np.stack([keys >> 32, keys & 0xFFFF_FFFF]).astype(np.int32).T
