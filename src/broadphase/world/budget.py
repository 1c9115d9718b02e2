"""How much a step may do: whose turn it is to be tested, and what waits for the next step."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.arguments import as_real, as_whole
from broadphase.errors import unknown_name
from broadphase.narrow.row_pairs import overlap_mask
from broadphase.world.touching import NO_PAIRS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.world.columns import Columns

    Pairs: TypeAlias = NDArray[np.int32]
    Flags: TypeAlias = NDArray[np.uint8]
    Waiting: TypeAlias = tuple[Pairs, NDArray[np.int64], Flags]  # pairs, the step that left each, whether dropped
    OnLimit: TypeAlias = Literal["defer", "drop"]

__all__ = ["Budget", "Pace", "overlapping_pairs", "spend"]

# A pair that has waited for so many steps is starving, and an eighth of each step goes to those: so the last one is
# tested some steps later, whatever comes before it, and pairs of high priority have seven eighths.
_PATIENCE = 16
_SHARE = 8
# Where tests should take less than this share of the time that is left, priorities do not matter, and tests are made
# for half of the time in the order in which pairs were found.
_AMPLE = 0.25
_ON_LIMIT = ("defer", "drop")
# How much longer a step takes after its tests for each pair that has to be tested, until a step has shown it.
_SECONDS_A_PAIR = 4e-8
_NONE_WAIT = NO_PAIRS, np.empty(0, np.int64), np.empty(0, np.uint8)


class Budget(NamedTuple):
    """What a step may spend on testing pairs of shapes; whichever is used up first.

    Attributes
    ----------
    seconds : float
        From the beginning of the step to its end. Only tests can be cut short, and only those that take longer than
        putting them off: two balls or parallel boxes are always tested. A few are made in any case, so that every pair
        is tested at some time; `Frame.stats` says how much was uncut. Default: no limit.
    tests : int, optional
        Pairs of shapes. Default: None, no limit.
    on_limit : {"defer", "drop"}
        What becomes of pairs without a turn. Until they are tested they count as what they were.

        - "defer": they wait, and have their turn in a later step (`Frame.deferred`);
        - "drop": they are tested when one of the two bodies has changed, or by a step without a budget
          (`Frame.dropped`).

    Notes
    -----
    Pairs are tested strictly by priority (`World.layer`), and within a priority those first that have waited longest.
    So that nothing starves: pairs that have waited for more than 16 steps share an eighth of the tests, or of the time
    for them, whatever their priority, and all others have the rest.

    Examples
    --------
    >>> import broadphase as bp
    >>> world = bp.World(dim=2)
    >>> rows = world.add_many(bp.Circle(1), [[0, 0], [1, 0], [2, 0]])
    >>> frame = world.step(budget=bp.Budget(tests=2))
    >>> frame.touching, frame.deferred
    (array([[0, 1],
           [0, 2]], dtype=int32), array([[1, 2]], dtype=int32))
    >>> world.step().enter
    array([[1, 2]], dtype=int32)
    """

    seconds: float = np.inf
    tests: int | None = None
    on_limit: OnLimit = "defer"

    @classmethod
    def of(cls, budget: Budget | float | None) -> Budget | None:
        """Take a budget as callers give it: a `Budget`, seconds, or None for no limit."""
        if budget is None:
            return None
        given = budget if isinstance(budget, cls) else cls(budget)  # type: ignore[arg-type]
        seconds, tests = as_real(given.seconds, "budget: seconds"), given.tests
        if not seconds > 0:
            raise ValueError(f"a budget must have more than {seconds} seconds")
        if given.on_limit not in _ON_LIMIT:
            raise ValueError(f"budget: {unknown_name('on_limit', given.on_limit, _ON_LIMIT)}")
        return cls(seconds, None if tests is None else as_whole(tests, "budget: tests", 1), given.on_limit)


class Pace:
    """How long the parts of a step take, by the last step with a budget.

    `tests_ended` is when it ended its tests, by `perf_counter`; `seconds_a_test` what one took that can be put off.
    """

    def __init__(self) -> None:
        self.tests_ended, self.seconds_a_test = 0.0, np.inf
        # Pairs that could be put off, and seconds after the tests.
        self._known_pairs, self._pairs, self._known_seconds = 0, 0, 0.0

    def seconds_to_come(self, pairs: int) -> float:
        """Estimate how long a step with so many pairs takes after its tests."""
        self._pairs = pairs
        return self._known_seconds + _SECONDS_A_PAIR * max(0, pairs - self._known_pairs)

    def note_end(self, now: float) -> None:
        """Note when a step with a budget ended."""
        self._known_pairs, self._known_seconds = self._pairs, now - self.tests_ended


def spend(
    columns: Columns,
    core: _native.World,
    pace: Pace,
    pairs: Pairs,
    is_tight: bool,
    renewed: Flags,
    budget: Budget,
    until: float,
    workers: int,
) -> tuple[Pairs, Waiting, Pairs, int, float]:
    """Test candidates in their turn until the budget is used up, or until a time by `perf_counter`.

    Reads the shapes of the spare placement. `is_tight`: the boxes of the pairs are known to overlap; `renewed`: rows
    that were removed since the last step. Gives the pairs that touch, with those that had no turn and touched before,
    in any order; all pairs that have not been tested since they may have changed; those of them that this step left, in
    lexicographic order; how many were tested; and the seconds of the tests that can be cut short.
    """
    number, last, changed = core.number + 1, core.touching, columns.next_changed
    waiting = core.waiting
    quick, slots, layers = NO_PAIRS, columns.slots, columns.layers
    weights: Any = _native.test_weights(columns.spare.store, columns.rows.alive[:slots].view(np.uint8))
    is_cut = budget.tests is not None and budget.tests < len(pairs) + len(waiting[0])
    if not is_cut:
        slow_count = np.count_nonzero(weights)
        if not slow_count:
            quick, pairs = pairs, NO_PAIRS
        elif slow_count < columns.rows.living:
            parted: Any = _native.parted_pairs(pairs[:, 0], pairs[:, 1], weights)
            quick, pairs = parted
    found = _quickly_tested(columns, quick, workers, is_tight) if len(quick) else []
    tests, seconds = len(quick), 0.0
    until -= pace.seconds_to_come(len(pairs) + len(waiting[0]))
    # In the order in which they were found tests are quicker, because neighbours are tested together.
    is_sorted = is_cut or len(waiting[0]) > 0
    is_plain = is_tight and not is_sorted
    now = perf_counter()
    if is_plain and layers.has_priorities and pace.seconds_a_test * len(pairs) < _AMPLE * (until - now):
        queue = _Queue.of(columns, weights, workers, pairs, number)
        queue.test_in_turn(budget, now + (until - now) / 2, number)
        found, tests, seconds = [*found, *queue.found], tests + queue.tests, queue.seconds
        pairs = queue.rest()
    if not len(pairs) and not len(waiting[0]):
        pace.tests_ended = perf_counter()
        return _joined(found), _NONE_WAIT, NO_PAIRS, tests, seconds
    if is_plain and not layers.has_priorities:
        queue = _Queue.of(columns, weights, workers, pairs, number)
    else:
        turns: Any = _native.turns(
            columns.dim, pairs[:, 0], pairs[:, 1], is_tight, waiting[0][:, 0], waiting[0][:, 1], waiting[1], waiting[2],
            columns.spare.boxes, changed, renewed, slots,
            layers.ranks() if layers.has_priorities else None, columns.rows.bits[0], number, is_sorted,
        )  # fmt: skip
        queue = _Queue(columns, weights, workers, *turns)
    queue.test_in_turn(budget, until, number)
    pace.tests_ended = perf_counter()
    if queue.tests:
        pace.seconds_a_test = queue.seconds / queue.tests
    touched, waiting, left = queue.left(last, renewed, is_sorted, is_dropped=budget.on_limit == "drop")
    return _joined([*found, *queue.found, touched]), waiting, left, tests + queue.tests, seconds + queue.seconds


class _Queue:
    """The pairs of a step, and the order of their turns: which of them touch, how many were tested, and how long."""

    def __init__(
        self,
        columns: Columns,
        weights: Flags,
        workers: int,
        pairs: Pairs,
        since: NDArray[np.int64],
        is_idle: Flags,
        order: NDArray[np.int32],
        ends: NDArray[np.uint64],
        oldest: int,
    ) -> None:
        self._columns, self._weights, self._workers = columns, weights, workers
        self._pairs, self._since, self._is_idle = pairs, since, is_idle
        self._order, self._ends, self._oldest = order, ends.tolist(), oldest
        self._is_tested = np.zeros(len(pairs), np.uint8)
        self.found: list[Pairs] = []
        self.tests, self.seconds = 0, 0.0

    @classmethod
    def of(cls, columns: Columns, weights: Flags, workers: int, pairs: Pairs, number: int) -> _Queue:
        """Make a queue of pairs that have just been found, in their order."""
        count = len(pairs)
        order = np.arange(count, dtype=np.int32)
        since, is_idle = np.full(count, number, np.int64), np.zeros(count, np.uint8)
        return cls(columns, weights, workers, pairs, since, is_idle, order, np.array([count], np.uint64), number)

    def rest(self) -> Pairs:
        """Give the pairs that had no turn."""
        if self.tests == len(self._pairs):
            return NO_PAIRS
        return np.take(self._pairs.T, np.flatnonzero(self._is_tested == 0), axis=1).T

    def test_in_turn(self, budget: Budget, until: float, number: int) -> None:
        """Test pairs until the budget is used up; a few in any case."""
        order, patient = self._order, number - _PATIENCE
        most = len(order) if budget.tests is None else min(budget.tests, len(order))
        if self._oldest >= patient:
            self._test(order, self._ends, most, until)
            return
        # For those that have waited too long a share of the tests, which eight steps make whole, and of the time.
        share = most * (number + 1) // _SHARE - most * number // _SHARE if most < len(order) else 0
        now = perf_counter()
        done = self._test(order, self._ends, most - share, now + (until - now) * (1 - 1 / _SHARE))
        order = order[done:][self._is_tested[order[done:]] == 0]
        since = self._since[order]
        starving = np.flatnonzero(since < patient)
        starving = starving[np.argsort(since[starving], kind="stable")]
        self._test(order[starving], [len(starving)], most - self.tests, until)
        if self.tests < most and perf_counter() < until:
            order = self._order[self._is_tested[self._order] == 0]
            self._test(order, [len(order)], most - self.tests, until)

    def left(self, last: Pairs, renewed: Flags, is_sorted: bool, *, is_dropped: bool) -> tuple[Pairs, Waiting, Pairs]:
        """Give what had no turn: the pairs that touched before, all that waits, and what this step leaves of it."""
        if self.tests == len(self._pairs):
            return NO_PAIRS, _NONE_WAIT, NO_PAIRS
        left: Any = _native.left_pairs(
            self._pairs[:, 0], self._pairs[:, 1], self._since, self._is_idle, self._is_tested, last[:, 0], last[:, 1],
            renewed, self._columns.slots, is_sorted,
        )  # fmt: skip
        pairs, since, idle, touched = left
        fresh = np.take(pairs.T, np.flatnonzero(idle == 0), axis=1).T if idle.any() else pairs
        return touched, (pairs, since, np.ones(len(pairs), np.uint8) if is_dropped else idle), fresh

    def _test(self, order: NDArray[np.int32], ends: list[int], most: int, until: float) -> int:
        """Test pairs in an order until a time; give how far it came, less those that are left by `_test_unknown`."""
        columns, began, done = self._columns, perf_counter(), 0
        without_turn = 0
        # Hulls and meshes are tested behind the others: one priority at a time, so that it is not behind lower ones.
        for end in ends if columns.geometries else [len(order)]:
            portion = order[done : min(end, most)]
            if not len(portion):
                continue
            seconds = until - perf_counter()
            in_time: Any = _native.shape_touching_in_time(
                columns.spare.store,
                self._pairs[:, 0],
                self._pairs[:, 1],
                portion,
                self._weights,
                seconds,
                self._workers,
            )
            tested, touching, unknown = in_time  # the places of pairs with a hull, a mesh or a custom shape
            self.found.append(touching)
            self._is_tested[portion[:tested]] = 1
            done += tested
            if len(unknown):
                late = self._test_unknown(unknown, until)
                self._is_tested[late] = 0
                without_turn += len(late)
            if tested < len(portion) or perf_counter() >= until:
                break
        self.tests += done - without_turn
        self.seconds += perf_counter() - began
        return 0 if without_turn else done

    def _test_unknown(self, places: NDArray[np.int32], until: float) -> NDArray[np.int32]:
        """Test pairs with a hull or a mesh; give those without a turn."""
        done, count = 0, 1
        while done < len(places):
            before, some = perf_counter(), places[done : done + count]
            pairs = np.take(self._pairs.T, some, axis=1).T
            self.found.append(overlapping_pairs(self._columns, pairs))
            done, now = done + len(some), perf_counter()
            if now >= until:
                break
            # Half of what fits, if they go on as they did: they differ.
            count = max(1, int(min(4 * count, 0.5 * (until - now) / max(now - before, 1e-9) * count)))
        return places[done:]


def overlapping_pairs(columns: Columns, pairs: Pairs) -> Pairs:
    """Give the pairs that touch in the spare placement, of any shapes whose boxes do."""
    shapes = columns.shapes_of(columns.spare)
    found: Pairs = pairs[overlap_mask(shapes, shapes, pairs[:, 0], pairs[:, 1], boxes_overlap=True)]
    return found


def _quickly_tested(columns: Columns, pairs: Pairs, workers: int, is_tight: bool) -> list[Pairs]:
    """Give the pairs that touch, in parts: of tests that cannot be put off, and of hulls, meshes and custom shapes."""
    boxes = None if is_tight else columns.spare.boxes
    answers: Any = _native.shape_touching(columns.spare.store, pairs[:, 0], pairs[:, 1], boxes, workers)
    touching, unknown = answers
    return [touching, overlapping_pairs(columns, unknown)] if len(unknown) else [touching]


def _joined(parts: list[Pairs]) -> Pairs:
    parts = [part for part in parts if len(part)]
    return np.concatenate(parts) if len(parts) > 1 else parts[0] if parts else NO_PAIRS
