"""What the core asks of Python during a step.

The step itself is one call of the core (`core/world/step.hpp`): it computes everything beside what anybody sees, and
then writes all of it at once. A step that fails, or that Ctrl-C interrupts, has changed nothing, so there is nothing to
undo.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

import numpy as np

from broadphase import _native
from broadphase.change import Change
from broadphase.narrow.row_pairs import MOST_TURNS, impacts, overlap_mask, turning_impacts
from broadphase.world.budget import Budget
from broadphase.world.values import NO_PAIRS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.world.actor import Actors
    from broadphase.world.columns import Columns
    from broadphase.world.scene import Scene

    Floats: TypeAlias = NDArray[np.float64]
    Pairs: TypeAlias = NDArray[np.int32]
    Rows: TypeAlias = NDArray[np.int32]
    Flags: TypeAlias = NDArray[np.uint8]
    Waiting: TypeAlias = tuple[Pairs, NDArray[np.int64], Flags]  # pairs, the step that left each, whether dropped

__all__ = ["Answers"]

# A pair that has waited for so many steps is starving, and an eighth of each step goes to those: so the last one is
# tested some steps later, whatever comes before it, and pairs of high priority have seven eighths.
_PATIENCE = 16
_SHARE = 8
# How much longer a step takes after its tests for each pair that has to be tested, until a step has shown it.
_SECONDS_A_PAIR = 4e-8
_NONE_WAIT = NO_PAIRS, np.empty(0, np.int64), np.empty(0, np.uint8)
# Why a row is refused, as the core numbers it.
_MOTION, _PLACE, _WIDTH, _OUTSIDE, _TURN = range(5)


class Answers:
    """What a step asks of those who know more than the core."""

    def __init__(self, columns: Columns, scene: Scene, core: _native.World, actors: Actors) -> None:
        self._columns, self._scene, self._core, self._actors = columns, scene, core, actors
        self._budget, self._until = Budget(), 0.0
        self._tests_ended = 0.0  # by `perf_counter`
        # Of the last step with a budget: pairs that could be put off, and the seconds that it took after its tests.
        self._pairs_then, self._seconds_then = 0, 0.0
        self._pairs = 0  # of this step

    def begin(self, budget: Budget) -> None:
        """Begin a step with a budget."""
        self._budget, self._until = budget, perf_counter() + budget.seconds

    def end(self) -> None:
        """End a step with a budget."""
        self._pairs_then, self._seconds_then = self._pairs, perf_counter() - self._tests_ended

    def refuse(self, why: int, row: int, dt: float) -> NoReturn:
        """Raise ValueError: say what is wrong with a row."""
        columns, spare = self._columns, self._columns.spare
        if why == _WIDTH:
            bounds, box = columns.bounds, spare.boxes[row]
            widths, size = box[1] - box[0], None if bounds is None else bounds[1] - bounds[0]
            raise ValueError(f"row {row} is wider than the periodic world: {widths} of {size}")
        if why == _OUTSIDE:
            box, broad = spare.boxes[row].tolist(), self._scene.broad
            world = np.asarray(broad.world).tolist()
            raise ValueError(f"row {row} is not inside the world of the {broad.method}, {world}: its box is {box}")
        if why == _PLACE:
            columns.refuse(row, spare.positions[row], None if spare.rotations is None else spare.rotations[row])
        if why == _TURN:
            raise ValueError(f"row {row} has ccd=True and turns more than {MOST_TURNS} times in one step of {dt}")
        values = f"position {columns.positions[row].tolist()}, velocity {columns.velocities[row].tolist()}"
        if columns.rotations is not None and columns.angular_velocities is not None:
            values += f", rotation {columns.rotations[row].tolist()}"
            values += f", angular velocity {columns.angular_velocities[row].tolist()}"
        raise ValueError(f"row {row} cannot move for a time of {dt}: {values}; the result is not finite")

    def behind(self) -> Flags:
        """Give the rows whose boxes may have left those of the index."""
        return self._scene.broad.behind

    def near(self, corners: Floats, rows: Rows) -> tuple[Rows, NDArray[np.int64]]:
        """Give the rows near each of some boxes, for which these rows ask."""
        return self._scene.broad.near(corners, rows)

    def enlarge(self, corners: Floats, rows: Rows) -> None:
        """Give rows larger boxes in the index."""
        self._scene.broad.enlarge(corners, rows)

    def look_at_margins(self, pairs: Pairs, count: int) -> None:
        """Narrow the margins of the index if they make these pairs, found around some rows, too many."""
        self._scene.broad.narrow(self._columns.spare.boxes, count, pairs)

    def by_given_method(self, allowed: _native.PairFilter | None) -> Pairs | None:
        """Find the pairs by the index that the user chose; None where it would search at once, as the core does."""
        return self._scene.broad.pairs(allowed)

    def touching(self, pairs: Pairs) -> Pairs:
        """Give the pairs that touch of some with a hull, a mesh or a custom shape."""
        return _overlapping_pairs(self._columns, pairs)

    def touching_images(self, pairs: Pairs, offsets: Floats) -> Pairs:
        """Give those that touch where the second is moved by its offset, but not where they are."""
        shapes = self._columns.shapes_of(self._columns.spare)
        first, second = np.ascontiguousarray(pairs.T)
        touch = overlap_mask(shapes, shapes, first, second, offsets) & ~overlap_mask(shapes, shapes, first, second)
        return pairs[touch]

    def spend(self, pairs: Pairs, is_tight: bool, renewed: Flags) -> tuple[Pairs, Waiting, Pairs, int, float]:
        """Test candidates in their turn, where they are in the spare placement, until the budget is used up.

        `is_tight`: the boxes of the pairs are known to overlap; `renewed`: rows that were removed since the last step.
        Gives the pairs that touch, with those that had no turn and touched before, in any order; all pairs that have
        not been tested since they may have changed; those of them that this step left, in lexicographic order; how many
        were tested; and the seconds of the tests that can be cut short.
        """
        columns, core, budget, until = self._columns, self._core, self._budget, self._until
        workers, number = self._scene.broad.threads, core.number + 1
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
        self._pairs = len(pairs) + len(waiting[0])
        until -= self._seconds_then + _SECONDS_A_PAIR * max(0, self._pairs - self._pairs_then)
        # In the order in which they were found tests are quicker, because neighbours are tested together.
        is_sorted = is_cut or len(waiting[0]) > 0
        if not len(pairs) and not len(waiting[0]):
            self._tests_ended = perf_counter()
            return _joined(found), _NONE_WAIT, NO_PAIRS, len(quick), 0.0
        if is_tight and not is_sorted and not layers.has_priorities:
            count, order = len(pairs), np.arange(len(pairs), dtype=np.int32)
            tests = pairs, np.full(count, number, np.int64), np.zeros(count, np.uint8), order, np.array([count]), number
        else:
            tests = cast("Any", _native.test_queue)(
                columns.dim, pairs[:, 0], pairs[:, 1], is_tight, waiting[0][:, 0], waiting[0][:, 1], waiting[1],
                waiting[2], columns.spare.boxes, columns.next_changed, renewed, slots,
                layers.ranks() if layers.has_priorities else None, columns.rows.bits[0], number, is_sorted,
            )  # fmt: skip
        queue = _Queue(columns, weights, workers, *tests)
        queue.test_in_turn(budget, until, number)
        self._tests_ended = perf_counter()
        touched, waiting, left = queue.left(core.touching, renewed, is_sorted, is_dropped=budget.on_limit == "drop")
        return _joined([*found, *queue.found, touched]), waiting, left, len(quick) + queue.tests, queue.seconds

    def refuse_route(self, row: int, most: int, begin: list[float], motion: list[float]) -> NoReturn:
        """Raise ValueError: a row with ccd crosses the world too often."""
        raise ValueError(
            f"row {row} has ccd=True and crosses the world more than {most} times in one step: from {begin} by {motion}"
        )

    def meet(self, first: Rows, second: Rows, motions: Floats, offsets: Floats) -> tuple[Floats, Floats]:
        """Give when pairs with a hull, a mesh or a custom shape touch on their ways, and the normals."""
        shapes = self._columns.shapes_of(self._columns.spare)
        return impacts(shapes, shapes, first, second, motions, offsets)

    def meet_turning(self, first: Rows, second: Rows, motions: Floats) -> tuple[Floats, Floats]:
        """Do the same of pairs that turn meanwhile."""
        shapes = self._columns.shapes_of(self._columns.spare)
        return turning_impacts(shapes, shapes, first, second, motions, np.zeros(len(first)))

    def changes(self, removed: Rows, handles: NDArray[np.int64]) -> Change:
        """Give what else is to be written with the step: rows that leave, and what shows the shapes."""
        columns, change = self._columns, Change()
        if len(removed):
            columns.remove(change, removed)
            self._scene.broad.note(change, removed, is_new=False)
            self._actors.forget(change, handles)
        columns.show(change, columns.spare)
        return change


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
        ends: NDArray[Any],
        oldest: int,
    ) -> None:
        self._columns, self._weights, self._workers = columns, weights, workers
        self._pairs, self._since, self._is_idle = pairs, since, is_idle
        self._order, self._ends, self._oldest = order, ends.tolist(), oldest
        self._is_tested = np.zeros(len(pairs), np.uint8)
        self.found: list[Pairs] = []
        self.tests, self.seconds = 0, 0.0

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
            self.found.append(_overlapping_pairs(self._columns, pairs))
            done, now = done + len(some), perf_counter()
            if now >= until:
                break
            # Half of what fits, if they go on as they did: they differ.
            count = max(1, int(min(4 * count, 0.5 * (until - now) / max(now - before, 1e-9) * count)))
        return places[done:]


def _overlapping_pairs(columns: Columns, pairs: Pairs) -> Pairs:
    """Give the pairs that touch in the spare placement, of any shapes whose boxes do."""
    shapes = columns.shapes_of(columns.spare)
    return pairs[overlap_mask(shapes, shapes, pairs[:, 0], pairs[:, 1], boxes_overlap=True)]


def _quickly_tested(columns: Columns, pairs: Pairs, workers: int, is_tight: bool) -> list[Pairs]:
    """Give the pairs that touch, in parts: of tests that cannot be put off, and of hulls, meshes and custom shapes."""
    boxes = None if is_tight else columns.spare.boxes
    answers: Any = _native.shape_touching(columns.spare.store, pairs[:, 0], pairs[:, 1], boxes, workers)
    touching, unknown = answers
    return [touching, _overlapping_pairs(columns, unknown)] if len(unknown) else [touching]


def _joined(parts: list[Pairs]) -> Pairs:
    parts = [part for part in parts if len(part)]
    return np.concatenate(parts) if len(parts) > 1 else parts[0] if parts else NO_PAIRS
