"""What the world remembers from one step to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from broadphase import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.world.columns import Columns

    Pairs = NDArray[np.int32]

__all__ = ["NO_PAIRS", "Memory", "keys_of", "pairs_of"]

NO_PAIRS = np.empty((2, 0), np.int32).T
NO_PAIRS.flags.writeable = False


class Memory:
    """Which pairs touched at the last step.

    Attributes
    ----------
    touching : ndarray, shape (m, 2), int32
        Those pairs, in lexicographic order.
    again : ndarray, shape (k, 2), int32
        Pairs to be tested at the next step whether or not their rows change, in lexicographic order.
    generations : ndarray, shape (slots,), int64, or None
        Those of the rows at the last step; None: as they are now, because nothing was removed.
    """

    def __init__(self) -> None:
        self.touching: Pairs = NO_PAIRS
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

    def advance(
        self, columns: Columns, found: Pairs, all_changed: bool
    ) -> tuple[Pairs, NDArray[np.bool_], Pairs, Pairs]:
        """Take the pairs found to touch, among all those that had to be tested; say what that changes.

        Returns
        -------
        touching, is_new, began, ended
            Pairs in lexicographic order, flags of the first of them.
        """
        last, again = self.touching, self.again
        touching, is_new, began, ended = _native.next_touching(
            last[:, 0], last[:, 1], found[:, 0], found[:, 1], again[:, 0], again[:, 1],
            None if all_changed else columns.changed,
            None if self.generations is None else columns.renewed,
            columns.slots,
        )  # fmt: skip
        return touching, is_new.view(np.bool_), began, ended


def keys_of(pairs: Pairs) -> NDArray[np.int64]:
    """One number a pair, in their lexicographic order."""
    keys: NDArray[np.int64] = (pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1]
    return keys


def pairs_of(keys: NDArray[np.int64]) -> Pairs:
    """Undo `keys_of`."""
    return np.stack([keys >> 32, keys & 0xFFFF_FFFF]).astype(np.int32).T
