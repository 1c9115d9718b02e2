"""How the world moves on: what has a velocity, what reaches a border, what meets across one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.filters import PairFilter
from broadphase.narrow.row_pairs import overlap_mask
from broadphase.world.borders import bounce, gone, wrap
from broadphase.world.columns import DYNAMIC, STATIC
from broadphase.world.memory import NO_PAIRS, keys_of
from broadphase.world.motion import integrate
from broadphase.world.periodic import seam_pairs
from broadphase.world.world_ways import Trace, WorldWays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pairs = NDArray[np.int32]

__all__ = ["WorldMotion"]


class WorldMotion(WorldWays):
    """Motion of the world; see `broadphase.World` for the whole."""

    def _poses(self, dt: float) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Keep a copy of the poses that a step writes to, in case it fails."""
        columns, slots = self._columns, self.slots
        written = []
        if dt != 0.0 or self._border in ("bounce", "wrap"):
            written.append(columns.positions[:slots])
        if self._border == "bounce":
            written.append(columns.velocities[:slots])
        if dt != 0.0 and columns.rotations is not None and columns.spins is not None:
            written.append(columns.rotations[:slots])
        if columns.fast is not None:  # ways begin where things were seen last
            written.append(columns.seen_positions[:slots])
            if columns.seen_rotations is not None:
                written.append(columns.seen_rotations[:slots])
        return [(column, column.copy()) for column in written]

    def _put_back(self, before: list[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> None:
        """Let things be where they were before a step that has failed."""
        for column, kept in before:
            np.copyto(column, kept)
        if self._columns.fast is not None:
            self._columns.place_where_seen(self.rows)

    def _go_on(self, dt: float) -> Trace | None:
        """Move what moves by itself; in a periodic world, what leaves comes in at the other side."""
        columns, slots = self._columns, self.slots
        if not slots:
            return None
        moves, trace = self._moves(), self._new_trace()
        if dt != 0.0:
            integrate(
                columns.positions[:slots],
                columns.velocities[:slots],
                None if columns.rotations is None else columns.rotations[:slots],
                None if columns.spins is None else columns.spins[:slots],
                moves,
                dt,
            )
        if trace is not None:
            trace.after = columns.positions[:slots].copy()
            # A thing may come round to where it was.
            rows = np.flatnonzero(trace.is_fast & moves.view(np.bool_))
            columns.changed[rows] |= (trace.after[rows] != trace.before[rows]).any(axis=1)
        if self._border == "wrap" and self._bounds is not None:
            wrap(columns.positions[:slots], self._bounds, moves & self._is_dynamic())
        return trace

    def _keep_within(self, trace: Trace | None) -> None:
        """Let dynamic things that have moved bounce, or take out those that have left.

        A thing that is not looked at in every step bounces when it is: from wherever it has come to be by then. A fast
        thing is taken out when none of its way has been in the world: before, it may have met something there.
        """
        columns, slots = self._columns, self.slots
        if self._bounds is None or self._border not in ("bounce", "remove"):
            return
        moved = self._moves() & columns.changed[:slots] & self._is_dynamic()
        corners = columns.rows.corners[:slots]
        if self._border == "remove":
            if trace is not None:
                moved |= self._moves() & self._is_dynamic() & trace.is_fast.view(np.uint8)
            rows = gone(corners, self._bounds, moved)
            if trace is not None and len(rows):
                back = trace.is_fast[rows, np.newaxis] * (trace.before - trace.after)[rows]
                ways = corners[rows]
                ways[:, 0] += np.minimum(back, 0.0)
                ways[:, 1] += np.maximum(back, 0.0)
                rows = rows[gone(ways, self._bounds, np.ones(len(rows), np.uint8))]
            if len(rows):
                handles = columns.rows.handles(rows)
                self._remove(rows)
                self._gone = np.concatenate([self._gone, handles])
                if self._actors:
                    self._actors.forget(handles)
            return

        def relative_boxes(rows: NDArray[np.int32]) -> NDArray[np.float64]:
            boxes: Any = columns.shapes.relative_boxes(rows, columns.rotations)
            found: NDArray[np.float64] = boxes
            return found

        rows = bounce(
            columns.positions[:slots], columns.velocities[:slots], corners, relative_boxes, self._bounds, moved
        )
        if len(rows):
            columns.place(rows)
            if trace is not None:
                trace.bounced = rows

    def _is_dynamic(self) -> NDArray[np.uint8]:
        flags: NDArray[np.uint8] = (self._columns.kinds[: self.slots] == DYNAMIC).view(np.uint8)
        return flags

    def _touching_across(self, filters: dict[str, Any]) -> Pairs:
        """Find pairs that touch across a border of a periodic world, but not where they are.

        Parameters
        ----------
        filters : dict
            Of pairs of rows, by the names that `broadphase.pairs` has.

        Returns
        -------
        ndarray, shape (m, 2), int32
            Each pair once, in lexicographic order: those of which a row has changed, or that wait to be tested.

        Raises
        ------
        ValueError
            A shape that is wider than the world, by its row.
        """
        if self._border != "wrap" or self._bounds is None:
            return NO_PAIRS
        columns, slots = self._columns, self.slots
        is_static, changed = columns.kinds[:slots] == STATIC, columns.changed[:slots].view(np.bool_)
        pair_filter = PairFilter(**filters).native(slots)
        again = self._memory.again

        def allows(first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.bool_]:
            allowed: NDArray[np.bool_] = changed[first] | changed[second]
            if len(again):
                allowed |= np.isin(keys_of(np.stack([first, second], axis=1)), keys_of(again))
            allowed &= ~(is_static[first] & is_static[second])
            if pair_filter is not None:
                passed: Any = pair_filter.allows(first, second)
                allowed &= passed.view(np.bool_)
            return allowed

        corners, alive = columns.rows.corners[:slots], columns.rows.alive[:slots].view(np.uint8)
        pairs, offsets = seam_pairs(corners, self._bounds, alive, allows)
        if not len(pairs):
            return pairs
        shapes = self.shapes
        first, second = np.ascontiguousarray(pairs.T)
        touch = overlap_mask(shapes, shapes, first, second, offsets)
        boxes_meet = (corners[first, 0] <= corners[second, 1]) & (corners[second, 0] <= corners[first, 1])
        touch &= ~(boxes_meet.all(axis=1) & overlap_mask(shapes, shapes, first, second))
        pairs = pairs[touch]
        keys = keys_of(pairs)
        found: Pairs = pairs[np.append(True, keys[1:] != keys[:-1])] if len(pairs) else pairs
        return found
