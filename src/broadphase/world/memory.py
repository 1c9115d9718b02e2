"""What the world remembers from one step to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.world.columns import Columns

    Pairs = NDArray[np.int32]

__all__ = ["NO_PAIRS", "Advance", "Memory", "keys_of", "pairs_of"]

NO_PAIRS = np.empty((2, 0), np.int32).T
NO_PAIRS.flags.writeable = False


class Memory:
    """Which pairs touched at the last step.

    Attributes
    ----------
    touching : ndarray, shape (m, 2), int32
        Those pairs, in lexicographic order.
    starts : ndarray, shape (rows + 1,), uint32
        Where the pairs of each first row begin; of rows that are not there, there are none.
    again : ndarray, shape (k, 2), int32
        Pairs to be tested at the next step whether or not their rows change, in the order of their turns.
    generations : ndarray, shape (slots,), int64, or None
        Those of the rows at the last step; None: as they are now, because nothing was removed.
    """

    def __init__(self) -> None:
        self.touching: Pairs = NO_PAIRS
        self.starts = np.zeros(1, np.uint32)
        self.again: Pairs = NO_PAIRS
        self.generations: NDArray[np.int64] | None = None

    def note_removal(self, generations: NDArray[np.int64]) -> None:
        """Remember the generations of rows, some of which are about to be removed."""
        if self.generations is None:
            self.generations = generations.copy()

    def handles_then(self, pairs: Pairs, generations: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the handles that pairs of rows had at the last step."""
        then = generations if self.generations is None else self.generations
        handles: NDArray[np.int64] = (then[pairs] << 32) | pairs
        return handles

    def remembered(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Say which of some pairs touched at the last step."""
        return np.isin(keys_of(pairs), keys_of(self.touching))

    def advance(self, columns: Columns, found: Pairs, all_changed: bool) -> Advance:
        """Compare the pairs found to touch, among all those that had to be tested, with what touched before."""
        last, again = self.touching, self.again
        if len(again):
            again = pairs_of(np.sort(keys_of(again)))
        step: Any = _native.next_touching(
            last[:, 0], last[:, 1], self.starts, found[:, 0], found[:, 1], again[:, 0], again[:, 1],
            None if all_changed else columns.changed,
            None if self.generations is None else columns.renewed,
            columns.slots,
        )  # fmt: skip
        touching, starts, began, ended, began_at = step
        if touching is None:
            touching, starts = last, self.starts
        return Advance(touching, starts, began, ended, began_at)

    def keep(self, advance: Advance, again: Pairs) -> None:
        """Take this step for the last."""
        advance.touching.flags.writeable = False  # frames show it to the user
        self.touching, self.starts, self.again, self.generations = advance.touching, advance.starts, again, None


class Advance(NamedTuple):
    """What touches after a step, and what that changes; all pairs in lexicographic order.

    Attributes
    ----------
    touching : ndarray, shape (m, 2), int32
        All pairs.
    starts : ndarray, shape (slots + 1,), uint32
        Where the pairs of each first row begin.
    began, ended : ndarray, shape (k, 2), int32
        Pairs.
    began_at : ndarray, shape (k,), int64
        Where `began` are in `touching`.
    """

    touching: Pairs
    starts: NDArray[np.uint32]
    began: Pairs
    ended: Pairs
    began_at: NDArray[np.int64]


def keys_of(pairs: Pairs) -> NDArray[np.int64]:
    """One number a pair, in their lexicographic order."""
    keys: NDArray[np.int64] = (pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1]
    return keys


def pairs_of(keys: NDArray[np.int64]) -> Pairs:
    """Undo `keys_of`."""
    return np.stack([keys >> 32, keys & 0xFFFF_FFFF]).astype(np.int32).T
