"""One step: what moves is moved, and what touches is found. Nothing that anybody sees is changed.

`step` writes to the spare placement and to scratch arrays of the columns, and returns a `Change`, which one call of the
core writes all at once. A step that fails, or that Ctrl-C interrupts, has changed nothing, so there is nothing to undo.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.change import Change
from broadphase.world.boundary import bounce, outside
from broadphase.world.budget import Spent, spend
from broadphase.world.ccd import Trace, no_impacts
from broadphase.world.frame import Found
from broadphase.world.motion import advance
from broadphase.world.narrow_phase import (
    impacts_on_the_way,
    pairs_across_seams,
    touching_pairs,
)
from broadphase.world.near_pairs import FEWEST_ROWS, growth_of
from broadphase.world.touching import NO_PAIRS, Waiting, are_among, boxes_meet, joined, keys_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.world.broad_phase import BroadPhase, Candidates
    from broadphase.world.budget import Budget
    from broadphase.world.columns import Columns, Steadiness
    from broadphase.world.touching import Advance, TouchMemory

    Floats: TypeAlias = NDArray[np.float64]
    Pairs: TypeAlias = NDArray[np.int32]
    Rows: TypeAlias = NDArray[np.int32]
    Flags: TypeAlias = NDArray[np.uint8]

__all__ = ["look", "shared_threads", "step", "team_of"]

# Rows for which threads are worth starting: once, for all parts of the step.
_FEWEST_FOR_A_TEAM = 20_000
_NO_ROWS = np.empty(0, np.int32)
_NO_HANDLES = np.empty(0, np.int64)


class _Motion(NamedTuple):
    """Where rows are after the motion of a step, in scratch arrays.

    `shifted` and `rotated` are the rows whose position or rotation is not that of the columns, if these are few; None
    where they may be many.
    """

    positions: Floats
    rotations: Floats | None
    trace: Trace | None
    bounced: Rows
    velocities: Floats  # of `bounced`
    removed: Rows
    wrapped: Rows
    shifted: Rows | None
    rotated: Rows | None
    growth: float  # of boxes: see NearPairs
    is_of_few: bool  # only rows that can have moved were looked at
    steadiness: Steadiness | None


def shared_threads(columns: Columns, broad: BroadPhase) -> int:
    """Say how many threads all parts of a step share; 1 where the rows are too few."""
    return broad.threads if columns.slots >= _FEWEST_FOR_A_TEAM else 1


def team_of(threads: int) -> AbstractContextManager[None]:
    """Give threads that all calls of the core share, to be entered around them."""
    return _native.Team(threads) if threads > 1 else nullcontext()


def step(
    columns: Columns,
    broad: BroadPhase,
    memory: TouchMemory,
    number: int,
    time: float,
    dt: float,
    budget: Budget | None,
) -> tuple[Found, Change]:
    """Compute step `number` from `time` to ``time + dt``; give what it found, and what is to be written.

    Raises
    ------
    ValueError
        A row without a finite position, velocity or rotation, or a shape wider than a periodic world; names the row.
    """
    began = perf_counter()
    slots, rows, workers = columns.slots, columns.rows, broad.threads
    changed = columns.next_changed
    changed[:] = columns.changed
    only_moves = budget is None and slots >= FEWEST_ROWS and not len(memory.waiting.pairs)
    only_moves = only_moves and not changed.view(np.bool_).any()
    renewed = columns.renewed
    looked_at = columns.due(number)
    motion = _moved(columns, looked_at, changed, dt, workers)
    removed = motion.removed
    living, alive = rows.living, rows.alive[:slots]
    if len(removed):
        living -= len(removed)
        alive = alive.copy()
        alive[removed] = False
        renewed = renewed.copy()
        renewed[removed] = 1
        changed[removed] = 0
    moved = perf_counter()

    count = int(np.count_nonzero(changed[:slots]))
    growth = motion.growth if only_moves else None
    leaving = renewed if len(removed) else None
    candidates = _candidates(columns, broad, changed, count, growth, motion.wrapped, leaving)
    searched = perf_counter()

    spare = columns.spare
    known, hits = None, None
    if budget is None:
        spent, known, hits = _all_tested(columns, broad, memory, candidates, changed, renewed, workers)
    else:
        spent = spend(columns, memory, candidates, changed, renewed, budget, number, began, workers)
    found, waiting, left = spent.touching, spent.waiting, spent.left
    if not columns.closed and len(found):
        found = found[boxes_meet(spare.boxes, found, closed=False)]
    is_dropped = budget is not None and budget.on_limit == "drop"
    if candidates is not None and not candidates.has_images and columns.period_bounds is not None:
        across = pairs_across_seams(columns, spare, alive.view(np.uint8), changed, memory.waiting.pairs, workers)
        if len(across):
            if len(waiting.pairs):
                across = across[~np.isin(keys_of(across), keys_of(found))]
            found = joined(found, across)
    passed, impacts = NO_PAIRS, no_impacts(columns.dim)
    if motion.trace is not None:
        impacts = impacts_on_the_way(columns, spare, motion.trace, alive, looked_at, renewed, memory.touching, workers)
        if len(impacts.pairs):
            passed = impacts.pairs[~are_among(impacts.pairs, found, is_ordered=known is not None)]
    if len(passed):
        found, hits = joined(found, passed), None
    if known is not None and not len(passed):
        advance = known
    else:
        advance = memory.advance(
            found,
            None if count == living or known is not None else changed,
            None if memory.generations is None and not len(removed) else renewed,
            slots,
            workers,
        )
    exit_handles = memory.handles_then(advance.exit, rows.generation)
    if len(passed):  # what was met on the way may have been left for the next step as well
        waiting = waiting.with_others(passed[~np.isin(keys_of(passed), keys_of(waiting.pairs))], number)
    done = perf_counter()
    stats = {
        "method": broad.method,
        "reason": candidates.reason if candidates is not None else "nothing has changed",
        "bodies": living,
        "changed": count,
        "candidates": 0 if candidates is None else len(candidates.pairs),
        "tests": spent.tests,
        "brute_force_tests": living * (living - 1) // 2,
        "seconds_of_motion": moved - began,
        "seconds_of_broad_phase": searched - moved,
        "seconds_of_narrow_phase": done - searched,
        "seconds_uncut": -spent.seconds,
    }
    outcome = Found(
        number,
        time + dt,
        advance.touching,
        advance.enter,
        advance.exit,
        advance.enter_at,
        exit_handles,
        NO_PAIRS if is_dropped else left,
        left if is_dropped else NO_PAIRS,
        impacts,
        rows.handles(removed) if len(removed) else _NO_HANDLES,
        stats,
    )
    change = Change()
    change.clear(columns.changed)
    if memory.generations is not None:
        change.clear(columns.renewed)
    _write_moved(change, columns.positions[:slots], motion.positions[:slots], motion.shifted)
    if columns.rotations is not None and motion.rotations is not None:
        _write_moved(change, columns.rotations[:slots], motion.rotations[:slots], motion.rotated)
    if len(motion.bounced):
        change.write(columns.velocities, motion.velocities, motion.bounced)
    if len(removed):
        columns.remove(change, removed)
        broad.note_removal(change, removed)
    columns.swap_placements(change, number)
    if not motion.is_of_few and not len(removed):
        columns.note_steadiness(change, motion.steadiness)
    change.assign(memory, touching=advance.touching, starts=advance.starts, waiting=waiting, generations=None)
    if candidates is not None:
        if candidates.is_synchronized:
            change.clear(broad.behind)
        change.assign(broad, quiet_steps=candidates.quiet_steps, near=candidates.near.tested(hits))
    return outcome, change


def look(columns: Columns, workers: int) -> Change:
    """Place the shapes of all rows where the rows are; give what is to be written.

    Raises
    ------
    ValueError
        A row without a finite position or rotation; names the row.
    """
    changed = columns.next_changed
    changed[:] = columns.changed
    advance(columns, None, columns.living(), changed, 0.0, workers=workers)
    change = Change()
    change.write(columns.changed, changed)
    columns.swap_placements(change, 0)
    return change


def _moved(columns: Columns, looked_at: Flags, changed: Flags, dt: float, workers: int) -> _Motion:
    """Move what moves by itself, place shapes in the spare placement, and let the boundary act."""
    trace = _trace(columns)
    few = columns.steady_rows() if trace is None and columns.update_intervals is None else None
    steadiness = columns.steadiness() if few is None else None
    slots = columns.slots
    wraps, bounces = columns.kept_by("wrap"), columns.kept_by("bounce")
    positions, rotations, wrapped, shifted, rotated, growth = advance(
        columns, few, looked_at, changed, dt, wraps, workers
    )
    if trace is not None or columns.update_intervals is not None or shifted is None or rotated is None:
        steadiness = None
    shifted = _with_rows(shifted, wrapped)
    if trace is not None:
        trace.after, trace.wrapped = positions[:slots], wrapped
        trace.turn(wrapped, _unturned(columns, wrapped, dt))
        # A body may come round to where it was.
        rows = np.flatnonzero(trace.is_ccd & columns.moves().view(np.bool_)).astype(np.int32)
        changed[rows] |= (trace.after_of(rows) != trace.before[rows]).any(axis=1)
    bounced, velocities = _NO_ROWS, columns.velocities[:0]
    if bounces is not None and columns.bounds is not None:
        spare = columns.spare

        def relative_boxes(rows: Rows) -> Floats:
            boxes: Any = spare.store.relative_boxes(rows, rotations)
            found: Floats = boxes
            return found

        flags = bounces & changed[:slots]
        columns.stale[:slots] |= flags  # until the placements are swapped
        bounced, velocities = bounce(
            positions[:slots], columns.velocities, spare.boxes[:slots], relative_boxes, columns.bounds, flags
        )
        if len(bounced):
            shifted = _with_rows(shifted, bounced)
            spare.place(bounced, positions, rotations)
            changed[bounced] = columns.moved[bounced] = 1
            if trace is not None:
                trace.bounced = bounced
                trace.turn(bounced, _unturned(columns, bounced, dt))
    removed = _removed(columns, changed, trace)
    if trace is not None:
        trace.is_ccd[removed] = False  # none of its way was in the world, so it meets nothing there
    growth = growth_of(columns, growth, bounced)
    return _Motion(
        positions, rotations, trace, bounced, velocities, removed, wrapped, shifted, rotated, growth, few is not None,
        steadiness,
    )  # fmt: skip


def _trace(columns: Columns) -> Trace | None:
    """Begin to follow the rows that are marked as ccd, if there are any."""
    if columns.ccd is None:
        return None
    slots = columns.slots
    is_ccd = columns.ccd[:slots] & columns.rows.alive[:slots]
    if len(static := columns.static()):
        is_ccd &= static == 0
    if not is_ccd.any():
        return None
    before = columns.seen.positions[:slots]
    if columns.has_displaced:  # what was put elsewhere touches nothing on the way there
        before, rows = before.copy(), columns.displaced_rows()
        before[rows] = columns.positions[rows]
    return Trace(is_ccd, before, before)


def _unturned(columns: Columns, rows: Rows, dt: float) -> Floats:
    """Give where rows would be after a motion if there were no boundary."""
    positions = columns.positions[rows]
    if dt != 0:
        moves = columns.moves()[rows].view(np.bool_)
        positions[moves] += columns.velocities[rows[moves]] * dt
    return positions


def _removed(columns: Columns, changed: Flags, trace: Trace | None) -> Rows:
    """Find the rows that have left the world and are to be removed.

    A followed body is removed when none of its way was in the world: before that, it may have met something there.
    """
    leaves = columns.kept_by("remove")
    if leaves is None or columns.bounds is None:
        return _NO_ROWS
    slots = columns.slots
    corners = columns.spare.boxes[:slots]
    looked_at = leaves & changed[:slots]
    if trace is not None:
        looked_at |= leaves & trace.is_ccd.view(np.uint8)
    rows = outside(corners, columns.bounds, looked_at)
    if trace is not None and len(rows):
        back = trace.is_ccd[rows, np.newaxis] * (trace.before[rows] - trace.after_of(rows))
        ways = corners[rows]
        ways[:, 0] += np.minimum(back, 0.0)
        ways[:, 1] += np.maximum(back, 0.0)
        rows = rows[outside(ways, columns.bounds, np.ones(len(rows), np.uint8))]
    return rows


def _candidates(
    columns: Columns,
    broad: BroadPhase,
    changed: Flags,
    count: int,
    growth: float | None,
    wrapped: Rows,
    renewed: Flags | None,
) -> Candidates | None:
    """Find the pairs to be tested; None if nothing has changed. `renewed` has the rows that are being removed."""
    if not count:
        return None
    slots, static = columns.slots, columns.static()
    flags = changed[:slots]
    has_changed_all = count == columns.rows.living
    all_static = static.view(np.bool_) if len(static) else None
    found = broad.candidates(columns.spare.boxes, columns.moved, changed, all_static, count, growth, wrapped)
    pairs = found.pairs
    if not has_changed_all and len(static) and (static & flags).any():
        pairs = pairs[(static[pairs[:, 0]] & static[pairs[:, 1]]) == 0]
    if renewed is not None:
        leaving = renewed[:slots] > columns.renewed[:slots]
        pairs = pairs[~(leaving[pairs[:, 0]] | leaving[pairs[:, 1]])]
    return found if pairs is found.pairs else found._replace(pairs=pairs)


def _all_tested(
    columns: Columns,
    broad: BroadPhase,
    memory: TouchMemory,
    candidates: Candidates | None,
    changed: Flags,
    renewed: Flags,
    workers: int,
) -> tuple[Spent, Advance | None, Flags | None]:
    """Test all candidates, and all pairs that wait.

    Where what began and what ended is known at once, `Spent` has all pairs that touch, in order. Last, which of the
    near pairs touch, if that is known.
    """
    pairs = NO_PAIRS if candidates is None else candidates.pairs
    waiting = memory.waiting.pairs
    if len(waiting):
        # Those of which a row has changed are among the candidates.
        waiting = waiting[~(_any_flag(changed, waiting) | _any_flag(renewed, waiting))]
        waiting = waiting[boxes_meet(columns.spare.boxes, waiting)]
        pairs = joined(pairs, waiting)
    began = perf_counter()
    found, known, hits, spare = NO_PAIRS, None, None, columns.spare
    if candidates is not None and pairs is candidates.near.pairs and _are_all(columns, candidates):
        near, hits = candidates.near, broad.room_for_hits(len(pairs))
        if near.hits is not None:
            known = memory.advance_kept(spare, pairs, near.hits, hits, columns.period, columns.slots, workers)
            found = known.touching
    if len(pairs) and known is None:
        is_tight = candidates is None or candidates.is_tight
        has_images = candidates is not None and candidates.has_images
        found = touching_pairs(columns, spare, pairs, workers, is_tight, has_images, hits)
    return Spent(found, Waiting.none(), NO_PAIRS, len(pairs), perf_counter() - began), known, hits


def _are_all(columns: Columns, candidates: Candidates) -> bool:
    """Say whether the core alone decides which candidates touch, and no other pairs of their rows do."""
    is_open = columns.period_bounds is None or candidates.has_images
    return is_open and columns.closed and not columns.geometries


def _with_rows(some: Rows | None, more: Rows) -> Rows | None:
    return some if some is None or not len(more) else np.union1d(some, more)


def _write_moved(change: Change, to: Floats, moved: Floats, rows: Rows | None) -> None:
    """Write where bodies have moved; copying a few rows costs less than copying all."""
    if rows is None:
        change.write(to, moved)
    elif len(rows):
        change.write(to, moved[rows], rows)


def _any_flag(flags: Flags, pairs: Pairs) -> NDArray[np.bool_]:
    marked = flags.view(np.bool_)
    found: NDArray[np.bool_] = marked[pairs[:, 0]] | marked[pairs[:, 1]]
    return found
