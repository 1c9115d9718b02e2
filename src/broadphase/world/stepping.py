"""One step: what moves is moved, and what touches is found."""

from __future__ import annotations

import math
import weakref
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from broadphase import _native
from broadphase.filters import PairFilter
from broadphase.narrow.row_pairs import overlap_mask
from broadphase.world.budgets import Budget, in_turn, spend
from broadphase.world.columns import STATIC
from broadphase.world.frame import Frame
from broadphase.world.memory import NO_PAIRS, keys_of, pairs_of
from broadphase.world.world_motion import WorldMotion

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from broadphase.recording import Recording
    from broadphase.world.world import World

    Pairs = NDArray[np.int32]

__all__ = ["WorldSteps"]


class WorldSteps(WorldMotion):
    """Steps of the world; see `broadphase.World` for the whole."""

    _recording: Recording | None

    def step(self, dt: float = 0.0, *, budget: Any = None) -> Frame:
        """Move what moves by itself, find what touches, and tell those who asked.

        Parameters
        ----------
        dt : float
            Seconds: how far things move along their velocities, and turn with their spins. 0: they stay where they
            are, or where you have put them.
        budget : Budget or float, optional
            A float is in milliseconds. What cannot be tested within it waits, and has the first turn in the next step.

        Returns
        -------
        Frame
            The events, as arrays.

        Raises
        ------
        ValueError
            A row that is nowhere (NaN, infinite, or turned by a quaternion of no length), by number; nothing has been
            moved, and no event is lost.
        RuntimeError
            Called by a handler, or while another thread asks the world.

        Notes
        -----
        First, hooks `update`; then the step; last, handlers and hooks `hit`. An exception of theirs goes to the caller
        when the step is done; the events that had not been told by then are told at the beginning of the next.

        Things that have not changed since the last step cost next to nothing, and pairs of them nothing at all.
        """
        if not math.isfinite(dt):
            raise ValueError(f"dt must be finite, not {dt}")
        limit = Budget.of(budget)
        self._handlers.before_step(dt)
        with self._guard.changing:
            began = perf_counter()
            self._leave_last_frame()
            self._place_displaced()
            before = self._poses(float(dt))
            try:
                frame = self._advance(float(dt), limit, began)
            except BaseException:
                self._put_back(before)
                raise
        try:
            self._handlers.dispatch(frame)
        finally:
            if self._recording is not None:
                self._recording.log(frame)
        return frame

    def record(self, path: str | Path) -> Recording:
        """Write every step from now on into a file for the viewer of Rerun: shapes, contacts, events and figures.

        Parameters
        ----------
        path : str or Path
            Of an .rrd file; ``rerun run.rrd`` shows it.

        Returns
        -------
        Recording
            A context manager; or call its ``close()``.

        Raises
        ------
        MissingExtraError
            Rerun is not installed: ``pip install 'broadphase[record]'``.
        RuntimeError
            The world is being recorded already.

        Notes
        -----
        A frame is written after handlers and hooks have been called. While nothing is recorded, steps cost what they
        cost without this. A copy of a world that is recorded is not.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> with world.record("run.rrd"):  # doctest: +SKIP
        ...     for _ in range(100):
        ...         frame = world.step(dt=1 / 60)
        """
        from broadphase.recording import Recording

        if self._recording is not None:
            raise RuntimeError(f"the world is being recorded already: {self._recording!r}")
        self._recording = Recording(cast("World", self), path, self._end_recording)
        return self._recording

    def _end_recording(self) -> None:
        self._recording = None

    def refresh(self) -> None:
        """Look where things are now, so that questions are answered for that. No events are found.

        What is fast is followed from where it was last seen, that is, from here on.

        Raises
        ------
        ValueError
            A row that is nowhere, by number.
        """
        with self._guard.changing:
            self._settle()
            self._place_displaced()
            self._columns.notice(self._moves())

    def _advance(self, dt: float, budget: Budget | None, began: float) -> Frame:
        columns = self._columns
        trace = self._go_on(dt)
        looked_at = self._looked_at()
        columns.notice(looked_at)
        self._keep_within(trace)
        moved = perf_counter()
        slots = columns.slots
        changed = int(np.count_nonzero(columns.changed[:slots]))
        candidates = self._candidates(changed) if changed else NO_PAIRS
        searched = perf_counter()
        found, deferred, tests = self._tested(candidates, budget, began)
        across = self._touching_across(self._filters()) if changed else NO_PAIRS
        if len(across):
            if len(deferred):
                across = across[~np.isin(keys_of(across), keys_of(found))]
            found = np.concatenate([found, across])
        impacts = self._met_on_the_way(trace, looked_at, self._filters())
        passed = self._not_in(impacts.pairs, found, trace)
        if len(passed):
            found = np.concatenate([found, passed])
        memory = self._memory
        advance = memory.advance(columns, found, changed == len(self))
        exit_handles = memory.handles_then(advance.ended, columns.rows.generation)
        done = perf_counter()
        stats = {
            "method": self._broad_phase.method,
            "reason": self._broad_phase.reason if changed else "nothing has changed",
            "things": len(self),
            "changed": changed,
            "candidates": len(candidates),
            "tests": tests,
            "brute_force_tests": len(self) * (len(self) - 1) // 2,
            "seconds_of_motion": moved - began,
            "seconds_of_broad_phase": searched - moved,
            "seconds_of_narrow_phase": done - searched,
        }
        frame = Frame(self._number + 1, self._time + dt, advance, exit_handles, stats)
        frame.deferred = pairs_of(np.sort(keys_of(deferred))) if len(deferred) else NO_PAIRS
        frame.impacts = impacts
        if len(self._gone):
            frame.removed_handles = self._gone
            frame.removed = (self._gone & 0xFFFF_FFFF).astype(np.int32)
        none_gone = np.empty(0, np.int64)
        frame._shapes, frame._sensors = self.shapes, columns.sensors
        frame._bounds = self._bounds if self._border == "wrap" else None
        if len(deferred):  # what was met on the way may have been left for the next step as well
            passed = passed[~np.isin(keys_of(passed), keys_of(deferred))]
        again = np.concatenate([deferred, passed]) if len(deferred) or len(passed) else NO_PAIRS
        last_frame = weakref.ref(frame)
        # Up to here anything may fail, and the step has not been. From here on nothing does.
        memory.keep(advance, again)
        columns.changed[:slots] = 0
        columns.renewed[:slots] = 0
        self._number, self._time, self._gone, self._last_frame = frame.number, frame.time, none_gone, last_frame
        return frame

    def _leave_last_frame(self) -> None:
        if (frame := self.frame) is not None:
            frame._leave()

    def _looked_at(self) -> NDArray[np.uint8]:
        """Flag the rows, by slot, that this step looks at."""
        moves, every = self._moves(), self._columns.every
        if every is None:
            return moves
        slots = self._columns.slots
        due: NDArray[np.bool_] = (self._number + 1 + np.arange(slots)) % every[:slots] == 0
        if self._columns.fast is not None:
            due |= self._columns.fast[:slots]
        return moves & due.view(np.uint8)

    def _candidates(self, changed: int) -> Pairs:
        columns, slots = self._columns, self._columns.slots
        filters = self._filters()
        is_static = columns.kinds[:slots] == STATIC
        flags = columns.changed[:slots]
        if changed < len(self):
            filters["static"] = flags == 0
        elif is_static.any():
            filters["static"] = is_static
        found = self._broad_phase.candidates(filters, changed)
        if changed < len(self) and (is_static & flags.view(np.bool_)).any():
            found = found[~(is_static[found[:, 0]] & is_static[found[:, 1]])]
        return found

    def _filters(self) -> dict[str, Any]:
        columns = self._columns
        layer, mask = columns.rows.bits
        group = None if columns.groups is None else columns.groups[: columns.slots]
        return {"layer": layer, "mask": mask, "group": group, "ignore_pairs": self._ignored.pairs}

    def _tested(self, candidates: Pairs, budget: Budget | None, began: float) -> tuple[Pairs, Pairs, int]:
        """Give the pairs that touch, those that were left for the next step, and the number of tests."""
        memory = self._memory
        if budget is None:
            waited = self._waiting()
            if len(waited):
                # Those of which a row has changed are among the candidates.
                changed = self._columns.changed.view(np.bool_)
                waited = waited[~(changed[waited[:, 0]] | changed[waited[:, 1]])]
                candidates = np.concatenate([candidates, waited])
            return self._touching_of(candidates, self._broad_phase.is_tight), NO_PAIRS, len(candidates)
        queue = self._queue(candidates)
        found, rest = spend(budget, began, queue, self._touching_of)
        # What has no turn is what it was.
        was = rest[memory.remembered(rest) & ~self._is_renewed(rest)]
        return np.concatenate([*found, was]), rest, len(queue) - len(rest)

    def _queue(self, candidates: Pairs) -> Pairs:
        """Put pairs that waited before the candidates, and these in the order of their priorities."""
        waited = self._waiting()
        # The boxes in the index may be larger: without this, what has its turn would depend on them.
        candidates = candidates[self._boxes_meet(candidates)]
        if len(waited):
            candidates = candidates[~np.isin(keys_of(candidates), keys_of(waited))]
        priorities = self._layers.priorities_of(self.layers) if self._layers.has_priorities else None
        return np.concatenate([waited, in_turn(candidates, priorities)])

    def _waiting(self) -> Pairs:
        """Give the pairs that were left to be tested in this step, and may touch still."""
        waited = self._memory.again
        if not len(waited):
            return waited
        waited = waited[~self._is_renewed(waited)]
        waited = waited[self._boxes_meet(waited)]
        pair_filter = PairFilter(**self._filters()).native(self._columns.slots)
        if pair_filter is not None:
            allowed: Any = pair_filter.allows(*np.ascontiguousarray(waited.T))
            waited = waited[allowed.view(np.bool_)]
        return waited

    def _touching_of(self, pairs: Pairs, boxes_meet: bool = True) -> Pairs:
        answers: Any = _native.shape_touching(self._columns.shapes, pairs[:, 0], pairs[:, 1], boxes_meet)
        touching, unknown = answers
        if len(unknown):
            shapes = self.shapes
            more = unknown[overlap_mask(shapes, shapes, unknown[:, 0], unknown[:, 1])]
            touching = np.concatenate([touching, more])
        found: Pairs = touching
        return found

    def _boxes_meet(self, pairs: Pairs) -> NDArray[np.bool_]:
        corners, (first, second) = self._columns.rows.corners, pairs.T
        meet: NDArray[np.bool_] = (corners[first, 0] <= corners[second, 1]).all(axis=1)
        meet &= (corners[second, 0] <= corners[first, 1]).all(axis=1)
        return meet

    def _is_renewed(self, pairs: Pairs) -> NDArray[np.bool_]:
        renewed = self._columns.renewed.view(np.bool_)
        flags: NDArray[np.bool_] = renewed[pairs[:, 0]] | renewed[pairs[:, 1]]
        return flags
