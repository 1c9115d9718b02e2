"""How fast things came to where they are, and what they met on their way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.filters import PairFilter
from broadphase.narrow import Impacts
from broadphase.world.columns import STATIC
from broadphase.world.editing import WorldEdits
from broadphase.world.fast import meetings
from broadphase.world.memory import NO_PAIRS, keys_of
from broadphase.world.ways import MOST_BENDS, Ways, bends_of, bent_ways, chosen, joined, straight_ways

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Pairs = NDArray[np.int32]

__all__ = ["Trace", "WorldWays"]


class Trace:
    """What is remembered during a step of how things got to where they are.

    Attributes
    ----------
    is_fast : ndarray, shape (slots,), bool
        The rows whose ways count.
    before : ndarray, shape (slots, d), float64
        Positions that the world had seen before the step.
    after : ndarray, shape (slots, d), float64
        Positions after it, if there were no borders.
    bounced : ndarray, shape (k,), int32
        Rows that were reflected.
    """

    __slots__ = ("after", "before", "bounced", "is_fast")

    def __init__(self, is_fast: NDArray[np.bool_], before: Floats) -> None:
        self.is_fast, self.before = is_fast, before
        self.after = before
        self.bounced = np.empty(0, np.int32)


class WorldWays(WorldEdits):
    """Continuous detection of the world; see `broadphase.World` for the whole."""

    def _new_trace(self) -> Trace | None:
        """Begin a trace, if anything is fast."""
        columns, slots = self._columns, self.slots
        if columns.fast is None:
            return None
        is_fast = columns.fast[:slots] & columns.rows.alive[:slots] & (columns.kinds[:slots] != STATIC)
        return Trace(is_fast, columns.seen_positions[:slots].copy()) if is_fast.any() else None

    def _met_on_the_way(self, trace: Trace | None, looked_at: NDArray[np.uint8], filters: dict[str, Any]) -> Impacts:
        """Find what touched a fast thing since the last step, and did not touch it then.

        Raises
        ------
        ValueError
            A fast row that crosses the borders too often.
        """
        columns, slots, d = self._columns, self.slots, self.dim
        if trace is None:
            return Impacts(NO_PAIRS, np.empty(0), np.empty((0, d)))
        # What is not looked at is where it was seen last; and what is seldom looked at only appears where it is seen.
        is_looked_at = looked_at.view(np.bool_)
        if columns.every is not None:
            is_looked_at = is_looked_at & (trace.is_fast | (columns.every[:slots] == 1))
        motions = trace.after - trace.before
        if not is_looked_at.all():
            motions[~is_looked_at] = 0.0
        ways = self._ways(trace, motions)
        pair_filter = PairFilter(**filters).native(slots)

        def allows(first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.bool_]:
            passed: Any = np.ones(len(first), np.bool_) if pair_filter is None else pair_filter.allows(first, second)
            allowed: NDArray[np.bool_] = passed.view(np.bool_)
            return allowed

        found = meetings(
            self.shapes,
            columns.seen_positions[:slots],
            motions,
            columns.rows.alive[:slots],
            trace.is_fast,
            ways,
            self._bounds if self._border == "wrap" else None,
            allows,
        )
        if not len(found.pairs):
            return found
        last = self._memory.touching
        last = last[trace.is_fast[last].any(axis=1)]
        fresh = (found.times > 0.0) | columns.renewed[found.pairs].any(axis=1)
        fresh |= ~np.isin(keys_of(found.pairs), keys_of(last))
        return Impacts(found.pairs[fresh], found.times[fresh], found.normals[fresh])

    def _ways(self, trace: Trace, motions: Floats) -> Ways:
        """Take apart the ways of fast things, and of those that came to a border.

        Where a way cannot be told, a thing goes straight from where it was to where it is: `motions` then say so.
        """
        columns, slots = self._columns, self.slots
        now, before = columns.seen_positions[:slots], trace.before
        bent, origin, period = np.empty(0, np.int32), np.empty((0, self.dim)), np.empty((0, self.dim))
        if self._bounds is not None and self._border == "wrap":
            bent = _out_of(self._bounds, before, trace.after)
            bent = bent[columns.rows.alive[bent]]
            origin = np.tile(self._bounds[0], (len(bent), 1))
            period = np.tile(self._bounds[1] - self._bounds[0], (len(bent), 1))
            crosses = bends_of(before[bent], motions[bent], origin, period) > 0
            bent, origin, period = bent[crosses], origin[crosses], period[crosses]
        elif self._bounds is not None and len(trace.bounced):
            bent = trace.bounced
            relative: Any = columns.shapes.relative_boxes(bent, columns.rotations)
            origin = self._bounds[0] - relative[:, 0]
            period = self._bounds[1] - relative[:, 1] - origin
            has_room = (period > 0).all(axis=1)
            motions[bent[~has_room]] = (now - before)[bent[~has_room]]
            bent, origin, period = bent[has_room], origin[has_room], period[has_room]
        if not len(bent):
            rows = np.flatnonzero(trace.is_fast).astype(np.int32)
            return straight_ways(rows, now[rows] - motions[rows], motions[rows])
        bends = bends_of(before[bent], motions[bent], origin, period)
        often = bends > MOST_BENDS
        if (often & trace.is_fast[bent]).any():
            row = bent[np.argmax(often & trace.is_fast[bent])]
            raise ValueError(
                f"row {row} is fast, and crosses the world more than {MOST_BENDS} times in one step: "
                f"from {before[row].tolist()} by {motions[row].tolist()}"
            )
        motions[bent[often]] = 0.0
        bent, origin, period = bent[~often], origin[~often], period[~often]
        ways = bent_ways(bent, before[bent], motions[bent], origin, period, self._border == "bounce")
        if self._border == "bounce":
            ways, lost = _that_arrive(ways, now, period)
            motions[lost] = (now - before)[lost]
        straight = trace.is_fast.copy()
        straight[ways.rows] = False
        rows = np.flatnonzero(straight).astype(np.int32)
        return joined([straight_ways(rows, now[rows] - motions[rows], motions[rows]), ways])

    def _not_in(self, some: Pairs, found: Pairs, trace: Trace | None) -> Pairs:
        """Give the pairs of fast things that are not among others."""
        if trace is None or not len(some):
            return NO_PAIRS
        others = found[trace.is_fast[found].any(axis=1)]
        kept: Pairs = some[~np.isin(keys_of(some), keys_of(others))]
        return kept


def _out_of(bounds: Floats, *places: Floats) -> NDArray[np.int32]:
    """Find rows of which one place is not within the half-open bounds."""
    out = np.zeros(len(places[0]), np.bool_)
    for table in places:
        # Column by column: NumPy is slow at rows of two or three numbers.
        for axis in range(table.shape[1]):
            out |= (table[:, axis] < bounds[0, axis]) | (table[:, axis] >= bounds[1, axis])
    return np.flatnonzero(out).astype(np.int32)


def _that_arrive(ways: Ways, now: Floats, period: Floats) -> tuple[Ways, NDArray[np.int32]]:
    """Keep the ways that end where things are, and give the rows of the others: these were put back to the border."""
    last = np.append(ways.rows[1:] != ways.rows[:-1], True)[: len(ways.rows)]
    rows, end = ways.rows[last], ways.begin[last] + ways.motion[last]
    reach = np.bincount(ways.rows, np.abs(ways.motion).max(axis=1, initial=0.0), len(now))[rows]
    off = np.abs(end - now[rows]).max(axis=1, initial=0.0) > 1e-9 * (period.max(axis=1, initial=0.0) + reach)
    lost = rows[off]
    kept = ~np.isin(ways.rows, lost)
    return chosen(ways, kept), lost
