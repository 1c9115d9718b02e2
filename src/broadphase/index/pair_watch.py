"""What `changes` remembers from one call to the next, and what it makes of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.filters import as_attribute, make_filter
from broadphase.index.answers import Changes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.index.rows import Rows

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
        self._filters: dict[str, Any] = {}
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
        self, core: Any, builds: int, rows: Rows, filters: dict[str, Any], touching: bool, workers: int
    ) -> Changes:
        """Say what began and ended since the last call, and take this one for the last."""
        filters = {name: _own(name, value, rows.slots) for name, value in filters.items() if value is not None}
        now = make_filter((rows.slots,), **filters)
        if not (filters or self._filters or touching != self._touching or self._untold or self._before is not None):
            told = self._tell(core, builds, rows, workers)
            self._removed[:] = False
            return Changes(*told)
        then = make_filter((self._slots,), **self._filters)
        began, ended = self._untold = self._compose(*map(_keys, self._tell(core, builds, rows, workers)))
        if touching == self._touching and self._are_those_of_the_last_call(filters):
            changes = _kept(began, now), _kept(ended, then)
        else:
            lasting = np.setdiff1d(_overlaps(core, rows, self._touching, None, workers), began, assume_unique=True)
            last, current = _kept(lasting, then), _overlaps(core, rows, touching, now, workers)
            stay = np.intersect1d(last, current, assume_unique=True)
            changes = (
                np.setdiff1d(current, stay, assume_unique=True),
                np.union1d(_kept(ended, then), np.setdiff1d(last, stay, assume_unique=True)),
            )
        self._touching, self._filters, self._slots, self._untold = touching, filters, rows.slots, None
        self._removed[:] = False
        return Changes(*map(_pairs, changes))

    def without_core(self, core: Any, builds: int, rows: Rows) -> PairWatch:
        """Make a copy that goes on with a core that knows nothing, such as that of a pickled index."""
        twin = PairWatch(self._touching)
        twin._filters, twin._slots = self._filters, self._slots
        twin._removed, twin._before = self._removed.copy(), self._before
        if self._before is None:
            began, ended = self._untold = self._compose(*map(_keys, self._tell(core, builds, rows, 1)))
            lasting = np.setdiff1d(_overlaps(core, rows, self._touching, None, 1), began, assume_unique=True)
            twin._before = np.union1d(lasting, ended)
        return twin

    def _tell(self, core: Any, builds: int, rows: Rows, workers: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Ask the core for what overlaps and did not, and the other way round, since it was asked last."""
        renewed: Keys | None = None
        if builds != self._builds and self._removed.any():
            # Of boxes that went before it was built, the core only saw those whose rows no others took.
            renewed = _overlaps(core, rows, self._touching, None, workers)
            renewed = renewed[self._renewed(renewed)]
        began: NDArray[np.int32]
        ended: NDArray[np.int32]
        began, ended = core.changes(*rows.views, self._touching, workers)
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

    def _are_those_of_the_last_call(self, filters: dict[str, Any]) -> bool:
        if filters.keys() != self._filters.keys():
            return False
        for name, values in filters.items():
            last = self._filters[name]
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


def _own(name: str, value: Any, slots: int) -> NDArray[Any]:
    """Copy a filter, which its owner may change before the next call."""
    if name == "ignore_pairs":
        return np.array(value)
    values = as_attribute(name, value, slots, _DTYPES[name]).copy()
    return values.view(np.bool_) if name == "static" else values


def _overlaps(core: Any, rows: Rows, touching: bool, pair_filter: Any, workers: int) -> Keys:
    return _keys(core.pairs(*rows.views, touching, pair_filter, workers, True, 2**64 - 1))


def _kept(keys: Keys, pair_filter: Any) -> Keys:
    if pair_filter is None:
        return keys
    first, second = _pairs(keys).T
    allowed: NDArray[np.bool_] = pair_filter.allows(first, second).view(np.bool_)
    return keys[allowed]


def _keys(found: NDArray[np.int32]) -> Keys:
    keys: Keys = (found[:, 0].astype(np.int64) << 32) | found[:, 1]
    return keys


def _pairs(keys: Keys) -> NDArray[np.int32]:
    return np.stack([keys >> 32, keys & 0xFFFF_FFFF]).astype(np.int32).T
