"""Which pairs touch: what a world remembers from one step to the next, and what a step changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from broadphase import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.change import Change
    from broadphase.world.columns import Placement

    Pairs: TypeAlias = NDArray[np.int32]
    Flags: TypeAlias = NDArray[np.uint8]

__all__ = ["NO_PAIRS", "Advance", "TouchMemory", "Waiting", "are_among", "boxes_meet", "joined", "keys_of", "pairs_of"]

NO_PAIRS = np.empty((2, 0), np.int32).T
NO_PAIRS.flags.writeable = False
# How much longer a step takes after its tests for each pair that has to be tested, until a step has shown it.
_SECONDS_A_PAIR = 4e-8


class Advance(NamedTuple):
    """Which pairs touch after a step, and what that changes; all in lexicographic order.

    Attributes
    ----------
    touching : ndarray, shape (m, 2), int32
        All pairs.
    starts : ndarray, shape (slots + 1,), uint32
        Where the pairs of each first row begin.
    enter, exit : ndarray, shape (k, 2), int32
        Pairs that touch and did not before; pairs that touched and do not any more.
    enter_at : ndarray, shape (k,), int64
        Places of `enter` in `touching`.
    """

    touching: Pairs
    starts: NDArray[np.uint32]
    enter: Pairs
    exit: Pairs
    enter_at: NDArray[np.int64]


class Waiting(NamedTuple):
    """Pairs that have not been tested since they may have changed.

    Attributes
    ----------
    pairs : ndarray, shape (k, 2), int32
        In lexicographic order.
    since : ndarray, shape (k,), int64
        The step that first left each.
    dropped : ndarray, shape (k,), uint8
        Whether it is tested only when one of its rows changes, or by a step without a budget.
    """

    pairs: Pairs
    since: NDArray[np.int64]
    dropped: Flags

    @classmethod
    def none(cls) -> Waiting:
        """Give no pairs."""
        return cls(NO_PAIRS, np.empty(0, np.int64), np.empty(0, np.uint8))

    def with_others(self, pairs: Pairs, number: int) -> Waiting:
        """Give these and others that are not among them, and that step `number` leaves."""
        if not len(pairs):
            return self
        count = len(pairs)
        every = np.concatenate([self.pairs, pairs])
        order = np.argsort(keys_of(every))
        return Waiting(
            np.take(every.T, order, axis=1).T,
            np.concatenate([self.since, np.full(count, number, np.int64)])[order],
            np.concatenate([self.dropped, np.zeros(count, np.uint8)])[order],
        )

    def columns(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], Flags]:
        """Give first rows, second rows, and the others, as the core takes them."""
        return self.pairs[:, 0], self.pairs[:, 1], self.since, self.dropped


class TouchMemory:
    """The pairs that touched at the last step.

    Attributes
    ----------
    touching : ndarray, shape (m, 2), int32
        Those pairs, in lexicographic order.
    starts : ndarray, shape (rows + 1,), uint32
        Where the pairs of each first row begin; rows beyond have none.
    waiting : Waiting
        Pairs to be tested at the next step whether or not their rows change.
    generations : ndarray, shape (slots,), int64, or None
        Those of the rows at the last step. None: as they are, because nothing was removed since.
    tests_ended : float
        When the last step with a budget ended its tests, by `perf_counter`.
    seconds_a_test : float
        What a test took there, of those that can be put off.
    """

    def __init__(self) -> None:
        self.touching: Pairs = NO_PAIRS
        self.starts = np.zeros(1, np.uint32)
        self.waiting = Waiting.none()
        self.generations: NDArray[np.int64] | None = None
        self.tests_ended, self.seconds_a_test = 0.0, np.inf
        # Of the last step with a budget: pairs that could be put off, and seconds after its tests.
        self._known_pairs, self._pairs, self._known_seconds = 0, 0, 0.0

    def seconds_to_come(self, pairs: int) -> float:
        """Estimate how long a step with so many pairs takes after its tests, by what the last one took."""
        self._pairs = pairs
        return self._known_seconds + _SECONDS_A_PAIR * max(0, pairs - self._known_pairs)

    def note_end(self, now: float) -> None:
        """Note when a step with a budget ended."""
        self._known_pairs, self._known_seconds = self._pairs, now - self.tests_ended

    def note_removal(self, change: Change, generations: NDArray[np.int64]) -> None:
        """Remember the generations of rows, some of which are about to be removed."""
        if self.generations is None:
            change.assign(self, generations=generations.copy())

    def handles_then(self, pairs: Pairs, generations: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the handles that pairs of rows had at the last step."""
        then = generations if self.generations is None else self.generations
        by_side = np.ascontiguousarray(pairs.T)
        handles: NDArray[np.int64] = ((then[by_side] << 32) | by_side).T
        return handles

    def advance(self, found: Pairs, changed: Flags | None, renewed: Flags | None, slots: int, workers: int) -> Advance:
        """Compare the pairs that touch, of all that had to be tested, with those that touched before.

        Parameters
        ----------
        found : ndarray, shape (m, 2), int32
            In any order; a pair may be there twice.
        changed, renewed : ndarray, shape (slots or more,), uint8, or None
            Rows all whose pairs were tested, None for all; rows that were removed since the last step, None for none.
        slots : int
            Every row is below this.
        workers : int
            Threads.
        """
        last, again = self.touching, self.waiting.pairs
        step: Any = _native.next_touching(
            last[:, 0], last[:, 1], self.starts, found[:, 0], found[:, 1], again[:, 0], again[:, 1], changed, renewed,
            slots, workers,
        )  # fmt: skip
        return self._advance(*step)

    def advance_kept(
        self,
        placement: Placement,
        pairs: Pairs,
        hits: Flags,
        next_hits: Flags,
        period: NDArray[np.float64] | None,
        slots: int,
        workers: int,
    ) -> Advance:
        """Test pairs, and compare them with what is known of them; no others can have begun or stopped touching.

        Parameters
        ----------
        placement : Placement
            Where the shapes are; none is a hull, a mesh or a custom shape.
        pairs : ndarray, shape (m, 2), int32
            In any order; a pair may be there twice.
        hits, next_hits : ndarray, shape (m,), uint8
            Which of them touched; where to write which of them touch.
        period : ndarray, shape (d,), or None
            The sizes of a periodic world, where pairs may touch in another image.
        slots : int
            Every row is below this.
        workers : int
            Threads.
        """
        last = self.touching
        step: Any = _native.next_touching_of_kept(
            placement.store, pairs[:, 0], pairs[:, 1], hits, next_hits, placement.boxes, period, last[:, 0], last[:, 1],
            self.starts, slots, workers,
        )  # fmt: skip
        return self._advance(*step)

    def _advance(
        self, touching: Pairs | None, starts: NDArray[np.uint32], enter: Pairs, left: Pairs, enter_at: NDArray[np.int64]
    ) -> Advance:
        if touching is None:
            touching, starts = self.touching, self.starts
        else:
            touching.flags.writeable = False  # frames show it to the user
        return Advance(touching, starts, enter, left, enter_at)


def are_among(pairs: Pairs, others: Pairs, is_ordered: bool = False) -> NDArray[np.bool_]:
    """Say which of a few pairs are among many others, which may be in lexicographic order."""
    found: Any = _native.among(pairs[:, 0], pairs[:, 1], others[:, 0], others[:, 1], is_ordered)
    flags: NDArray[np.bool_] = found.view(np.bool_)
    return flags


def boxes_meet(boxes: NDArray[np.float64], pairs: Pairs, closed: bool = True) -> NDArray[np.bool_]:
    """Say which pairs of rows have boxes that overlap, or whose interiors do."""
    one, other = boxes[pairs[:, 0]], boxes[pairs[:, 1]]
    lower, upper = np.maximum(one[:, 0], other[:, 0]), np.minimum(one[:, 1], other[:, 1])
    below: Any = lower <= upper if closed else lower < upper
    meet: NDArray[np.bool_] = below.all(axis=1)
    return meet


def joined(pairs: Pairs, more: Pairs) -> Pairs:
    """Put pairs behind others, in columns, as the core takes them."""
    return np.concatenate([pairs.T, more.T], axis=1).T


def keys_of(pairs: Pairs) -> NDArray[np.int64]:
    """Give one number for each pair; the numbers have the lexicographic order of the pairs."""
    keys: NDArray[np.int64] = (pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1]
    return keys


def pairs_of(keys: NDArray[np.int64]) -> Pairs:
    """Undo `keys_of`."""
    return np.stack([keys >> 32, keys & 0xFFFF_FFFF]).astype(np.int32).T
