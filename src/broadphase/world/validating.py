"""Whether everything in a world is where it must be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.narrow.row_pairs import overlap_mask
from broadphase.pairs import pairs
from broadphase.world.columns import STATIC
from broadphase.world.kinds import KINDS
from broadphase.world.memory import keys_of
from broadphase.world.stepping import WorldSteps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pairs = NDArray[np.int32]

__all__ = ["WorldChecks"]


class WorldChecks(WorldSteps):
    """A look at everything that must hold between calls; see `broadphase.World` for the whole."""

    def validate(self) -> None:
        """Check that everything is where it must be. For tests: it takes time.

        Raises
        ------
        AssertionError
            Something is wrong, and that is a fault of this library. Says what.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> rows = world.add_many(bp.Circle(1), [[0, 0], [1, 0]])
        >>> world.validate()
        """
        with self._guard.reading:
            for fault in self._faults():
                raise AssertionError(f"{self!r}: {fault}")
        if self._broad_phase._index is not None:
            self._broad_phase._index.validate()

    def _faults(self) -> Iterator[str]:
        yield from filter(None, [self._columns.rows.fault()])
        yield from self._column_faults()
        yield from self._placement_faults()
        yield from self._index_faults()
        yield from self._memory_faults()

    def _column_faults(self) -> Iterator[str]:
        columns, slots = self._columns, self.slots
        capacity = len(columns.rows.corners)
        for name, column in vars(columns).items():
            if isinstance(column, np.ndarray) and len(column) != capacity:
                yield f"the array of {name} holds {len(column)} rows, not {capacity}"
        if (columns.rotations is None) != (columns.seen_rotations is None):
            yield "rotations are kept without those seen last, or the other way about"
        if columns.spins is not None and columns.rotations is None:
            yield "there are spins and no rotations"
        if (columns.kinds[:slots] >= len(KINDS)).any() or (self.every < 1).any():
            yield "a kind, or how often a row is looked at, is out of range"
        dead = ~columns.rows.alive
        if columns.changed[dead].any():
            yield f"row {np.argmax(dead & (columns.changed != 0))} is gone, and has changed"
        if columns.renewed[dead & (columns.rows.generation <= 1)].any():
            yield "a row is said to have been removed, and was not"
        ignored = self._ignored.pairs
        if ignored is not None and not (_is_ordered(ignored, slots) and columns.rows.alive[ignored].all()):
            yield "the ignored pairs are out of order, or of rows that are gone"

    def _placement_faults(self) -> Iterator[str]:
        """Compare all shapes with shapes placed anew where they were seen last."""
        columns, rows = self._columns, self.rows
        kept: Any = columns.shapes
        again: Any = _native.ShapeStore(columns.dimension)
        again.set(rows, *kept.records(rows))
        positions = columns.seen_positions.copy()
        rotations = None if columns.seen_rotations is None else columns.seen_rotations.copy()
        boxes = columns.rows.corners.copy()
        if not np.isfinite(positions[rows]).all() or (rotations is not None and not np.isfinite(rotations[rows]).all()):
            yield "a row was seen where nothing can be"
        again.place(
            rows, positions, rotations, positions.copy(), None if rotations is None else rotations.copy(), boxes
        )
        for row in rows.tolist():
            if boxes[row].tobytes() != columns.rows.corners[row].tobytes():
                yield f"row {row} has the box {columns.rows.corners[row].tolist()}, not {boxes[row].tolist()}"
            if not np.array_equal(again.placed(row), kept.placed(row)):
                yield f"the shape of row {row} is not where it was seen last"

    def _index_faults(self) -> Iterator[str]:
        columns, index = self._columns, self._broad_phase._index
        if index is None:
            return
        if not np.array_equal(index.rows, self.rows):
            yield "the index has other rows"
            return
        rows = self.rows[columns.behind[self.rows] == 0]
        boxes, within = columns.rows.corners[rows], index.boxes_of(rows)
        out = ~((within[:, 0] <= boxes[:, 0]) & (boxes[:, 1] <= within[:, 1])).all(axis=1)
        if out.any():
            yield f"row {rows[np.argmax(out)]} is out of its box in the index"

    def _memory_faults(self) -> Iterator[str]:
        columns, memory, slots = self._columns, self._memory, self.slots
        for name, known in (("touching", memory.touching), ("again", memory.again)):
            if not _is_ordered(known if name == "touching" else known[np.argsort(keys_of(known))], slots):
                yield f"the pairs of memory.{name} are out of order, or of no rows"
        if memory.generations is None and columns.renewed[:slots].any():
            yield "rows were removed, and the handles they had are not remembered"
        touching = self.touching
        if not columns.rows.alive[touching].all():
            yield "a pair touches of which one is gone"
        # Pairs that have not changed since the last step, and had their turn then, are as a look at all of them says.
        if self._border == "wrap" or self.fast.any():
            return  # they may touch across the border, or have touched on their way
        known = touching[self._is_settled(touching)]
        found = self._found_now()
        found = found[self._is_settled(found)]
        wrong = np.setxor1d(keys_of(known), keys_of(found))
        if len(wrong):
            said = "does not touch" if np.isin(wrong[0], keys_of(found)) else "touches"
            yield f"pair ({wrong[0] >> 32}, {wrong[0] & 0xFFFF_FFFF}) {said}, by memory.touching"

    def _is_settled(self, some: Pairs) -> NDArray[np.bool_]:
        changed = self._columns.changed.view(np.bool_)
        waits = np.isin(keys_of(some), keys_of(self._memory.again))
        settled: NDArray[np.bool_] = ~(changed[some[:, 0]] | changed[some[:, 1]] | waits)
        return settled

    def _found_now(self) -> Pairs:
        """All pairs that touch and may, in lexicographic order: the long way, from nothing."""
        columns, rows = self._columns, self.rows
        filters: dict[str, Any] = {**self._filters(), "static": columns.kinds[: self.slots] == STATIC}
        ignored = filters.pop("ignore_pairs")
        filters = {name: None if value is None else value[rows] for name, value in filters.items()}
        filters["ignore_pairs"] = None if ignored is None else np.searchsorted(rows, ignored)
        found = rows[pairs(columns.rows.corners[rows], sort=True, **filters)]
        shapes = self.shapes
        touching: Pairs = found[overlap_mask(shapes, shapes, *np.ascontiguousarray(found.T))]
        return touching


def _is_ordered(pairs: Pairs, slots: int) -> bool:
    keys = keys_of(pairs)
    ordered = bool((keys[1:] > keys[:-1]).all() and (pairs[:, 0] < pairs[:, 1]).all() and (pairs >= 0).all())
    return ordered and bool((pairs < slots).all())
