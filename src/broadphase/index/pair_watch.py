"""The pairs of an index at the last call of `changes`, and how they differ from those of now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.filters import NO_FILTER, PairFilter, as_attribute
from broadphase.index.results import Changes

if TYPE_CHECKING:
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
}


class PairWatch:
    """The pairs of an index as of the last call.

    The core of a tree knows by itself which overlaps came and went, and remembers what it told last. Filters are not
    its business: what began is filtered as asked for at this call, and what ended as it was at the last. Only if the
    filter of a pair has changed, pairs that lasted must be looked at.

    Pairs are kept as keys ``first << 32 | second``, ascending, where they must be compared.
    """

    def __init__(self, touching: bool) -> None:
        self._touching = touching
        self._filter = NO_FILTER
        self._removed: NDArray[np.bool_] = np.zeros(0, np.bool_)  # rows, since the last call
        self._slots = 0
        self._builds = 0
        # The overlaps at the last call, where the core does not know them: it was made after that.
        self._before: Keys | None = None
        # What the core has told since, but nobody was told.
        self._untold: tuple[Keys, Keys] | None = None

    def note_removed(self, rows: NDArray[np.int32], slots: int) -> None:
        """Remember that boxes have gone, whose rows others may take."""
        if slots > len(self._removed):
            removed = np.zeros(slots * 3 // 2, np.bool_)
            removed[: len(self._removed)] = self._removed
            self._removed = removed
        self._removed[rows] = True

    def changes(
        self, core: Any, builds: int, store: BoxStore, pair_filter: PairFilter, touching: bool, workers: int
    ) -> Changes:
        """Say what began and ended since the last call, and take this one for the last."""
        now = _own(pair_filter, store.slots)
        now.native(store.slots)  # raises here, before anything is done
        if not (
            not now.is_empty
            or not self._filter.is_empty
            or touching != self._touching
            or self._untold
            or self._before is not None
        ):
            told = self._tell(core, builds, store, workers)
            self._removed[:] = False
            return Changes(*told)
        then = self._filter
        began, ended = self._untold = self._compose(*map(_keys, self._tell(core, builds, store, workers)))
        if touching == self._touching and self._is_that_of_the_last_call(now):
            changes = _kept(began, now, store.slots), _kept(ended, then, self._slots)
        else:
            lasting = np.setdiff1d(_overlaps(core, store, self._touching, None, workers), began, assume_unique=True)
            last, current = (
                _kept(lasting, then, self._slots),
                _overlaps(core, store, touching, now.native(store.slots), workers),
            )
            stay = np.intersect1d(last, current, assume_unique=True)
            changes = (
                np.setdiff1d(current, stay, assume_unique=True),
                np.union1d(_kept(ended, then, self._slots), np.setdiff1d(last, stay, assume_unique=True)),
            )
        self._touching, self._filter, self._slots, self._untold = touching, now, store.slots, None
        self._removed[:] = False
        return Changes(*map(_pairs, changes))

    def without_core(self, core: Any, builds: int, store: BoxStore) -> PairWatch:
        """Make a copy that goes on with a core that knows nothing, such as that of a pickled index."""
        twin = PairWatch(self._touching)
        twin._filter, twin._slots = self._filter, self._slots
        twin._removed, twin._before = self._removed.copy(), self._before
        if self._before is None:
            began, ended = self._untold = self._compose(*map(_keys, self._tell(core, builds, store, 1)))
            lasting = np.setdiff1d(_overlaps(core, store, self._touching, None, 1), began, assume_unique=True)
            twin._before = np.union1d(lasting, ended)
        return twin

    def _tell(
        self, core: Any, builds: int, store: BoxStore, workers: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Ask the core for what overlaps and did not, and the other way round, since it was asked last."""
        renewed: Keys | None = None
        if builds != self._builds and self._removed.any():
            # Of boxes that went before it was built, the core only saw those whose rows no others took.
            renewed = _overlaps(core, store, self._touching, None, workers)
            renewed = renewed[self._renewed(renewed)]
        began: NDArray[np.int32]
        ended: NDArray[np.int32]
        began, ended = core.changes(*store.views, self._touching, workers)
        self._builds = builds
        if self._before is not None:
            now = _keys(began)
            stay = np.intersect1d(self._before, now, assume_unique=True)
            stay = stay[~self._renewed(stay)]
            began, ended = (_pairs(np.setdiff1d(part, stay, assume_unique=True)) for part in (now, self._before))
            self._before = None
        elif renewed is not None:
            missed = np.setdiff1d(renewed, _keys(began), assume_unique=True)
            began, ended = (_pairs(np.union1d(_keys(part), missed)) for part in (began, ended))
        return began, ended

    def _renewed(self, keys: Keys) -> NDArray[np.bool_]:
        removed = np.append(self._removed, False)
        last = len(self._removed)
        renewed: NDArray[np.bool_] = (
            removed[np.minimum(keys >> 32, last)] | removed[np.minimum(keys & 0xFFFF_FFFF, last)]
        )
        return renewed

    def _compose(self, began: Keys, ended: Keys) -> tuple[Keys, Keys]:
        if self._untold is None:
            return began, ended
        first_began, first_ended = self._untold
        return (
            np.union1d(began, np.setdiff1d(first_began, ended, assume_unique=True)),
            np.union1d(first_ended, np.setdiff1d(ended, first_began, assume_unique=True)),
        )

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
        return np.array(value)
    values = as_attribute(name, value, slots, _DTYPES[name]).copy()
    return values.view(np.bool_) if name == "static" else values


def _overlaps(core: Any, store: BoxStore, touching: bool, native_filter: Any, workers: int) -> Keys:
    return _keys(core.pairs(*store.views, touching, native_filter, workers, True, 2**64 - 1))


def _kept(keys: Keys, pair_filter: PairFilter, slots: int) -> Keys:
    return keys if pair_filter.is_empty else _keys(pair_filter.passing(_pairs(keys), slots))


def _keys(found: NDArray[np.int32]) -> Keys:
    keys: Keys = (found[:, 0].astype(np.int64) << 32) | found[:, 1]
    return keys


def _pairs(keys: Keys) -> NDArray[np.int32]:
    return np.stack([keys >> 32, keys & 0xFFFF_FFFF]).astype(np.int32).T
