"""What the core asks of Python during a step.

The step itself is one call of the core (`core/world/step.hpp`): it computes everything beside what anybody sees, and
then writes all of it at once. A step that fails, or that Ctrl-C interrupts, has changed nothing, so there is nothing to
undo.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, NoReturn, TypeAlias

import numpy as np

from broadphase.change import Change
from broadphase.narrow.row_pairs import impacts, overlap_mask
from broadphase.world.budget import Budget, Pace, overlapping_pairs, spend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase import _native
    from broadphase.world.actor import Actors
    from broadphase.world.budget import Waiting
    from broadphase.world.columns import Columns
    from broadphase.world.queries import Scene

    Floats: TypeAlias = NDArray[np.float64]
    Pairs: TypeAlias = NDArray[np.int32]
    Rows: TypeAlias = NDArray[np.int32]
    Flags: TypeAlias = NDArray[np.uint8]

__all__ = ["Answers"]

# Why a row is refused, as the core numbers it.
_MOTION, _PLACE, _WIDTH, _OUTSIDE = range(4)


class Answers:
    """What a step asks of those who know more than the core; `pace` is how long steps with a budget take."""

    def __init__(self, columns: Columns, scene: Scene, core: _native.World, actors: Actors) -> None:
        self._columns, self._scene, self._core, self._actors = columns, scene, core, actors
        self._budget, self._until = Budget(), 0.0
        self.pace = Pace()

    def begin(self, budget: Budget) -> None:
        """Begin a step with a budget."""
        self._budget, self._until = budget, perf_counter() + budget.seconds

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

    def by_given_method(self, still: Flags | None) -> Pairs:
        """Find the pairs by the index that the user chose; none of two rows that are flagged."""
        return self._scene.broad.pairs(None if still is None else still.view(np.bool_))

    def touching(self, pairs: Pairs) -> Pairs:
        """Give the pairs that touch of some with a hull, a mesh or a custom shape."""
        return overlapping_pairs(self._columns, pairs)

    def touching_images(self, pairs: Pairs, offsets: Floats) -> Pairs:
        """Give those that touch where the second is moved by its offset, but not where they are."""
        shapes = self._columns.shapes_of(self._columns.spare)
        first, second = np.ascontiguousarray(pairs.T)
        touch = overlap_mask(shapes, shapes, first, second, offsets) & ~overlap_mask(shapes, shapes, first, second)
        found: Pairs = pairs[touch]
        return found

    def spend(self, pairs: Pairs, is_tight: bool, renewed: Flags) -> tuple[Pairs, Waiting, Pairs, int, float]:
        """Test pairs in their turn until the budget is used up."""
        columns, threads = self._columns, self._scene.broad.threads
        return spend(columns, self._core, self.pace, pairs, is_tight, renewed, self._budget, self._until, threads)

    def refuse_way(self, row: int, most: int, begin: list[float], motion: list[float]) -> NoReturn:
        """Raise ValueError: a row with ccd crosses the world too often."""
        raise ValueError(
            f"row {row} has ccd=True and crosses the world more than {most} times in one step: from {begin} by {motion}"
        )

    def meet(self, first: Rows, second: Rows, motions: Floats, offsets: Floats) -> tuple[Floats, Floats]:
        """Give when pairs with a hull, a mesh or a custom shape touch on their ways, and the normals."""
        shapes = self._columns.shapes_of(self._columns.spare)
        return impacts(shapes, shapes, first, second, motions, offsets)

    def changes(self, removed: Rows, handles: NDArray[np.int64]) -> Change:
        """Give what else is to be written with the step: rows that leave, and what shows the shapes."""
        columns, change = self._columns, Change()
        if len(removed):
            columns.remove(change, removed)
            self._scene.broad.note(change, removed, is_new=False)
            self._actors.forget(change, handles)
        columns.show(change, columns.spare)
        return change
