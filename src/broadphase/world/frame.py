"""What a step found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.narrow import Impacts
from broadphase.narrow.row_pairs import contacts_of
from broadphase.world.memory import NO_PAIRS
from broadphase.world.periodic import where_touching

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from broadphase.narrow import Contacts
    from broadphase.shapes import Shapes
    from broadphase.world.memory import Advance

    Pairs = NDArray[np.int32]

__all__ = ["Frame"]


class Frame:
    """What one step of a world found: events as arrays of pairs of rows.

    Pairs are in lexicographic order, first < second, each once, as (m, 2) arrays of int32. They remain as they are
    whatever becomes of the world; `contacts` must be asked for before the next step.

    Attributes
    ----------
    number : int
        Of the step, from 1.
    time : float
        Of the world, after the step.
    enter : ndarray, shape (m, 2), int32
        Pairs that touch, and did not after the step before.
    exit : ndarray, shape (m, 2), int32
        Pairs that touched after the step before, and do not, or of which one was removed.
    exit_handles : ndarray, shape (m, 2), int64
        Handles that the rows of `exit` had. Those of removed rows are stale.
    touching : ndarray, shape (m, 2), int32
        Pairs that touch: `enter` and `stay`.
    deferred : ndarray, shape (m, 2), int32
        Pairs that were left for the next step, because the budget was used up. They count as what they were.
    impacts : Impacts
        Where things that are marked as fast met others on their way.
    removed : ndarray, shape (k,), int32
        Rows that left the world, and were removed; `removed_handles` are the handles that they had.
    stats : dict
        What the step was: method, reason, changed rows, candidates, tests, and seconds of its parts.

    Examples
    --------
    >>> import broadphase as bp
    >>> world = bp.World(dim=2)
    >>> rows = world.add_many(bp.Circle(1), [[0, 0], [1.5, 0], [9, 9]], velocities=[[0, 0], [1, 0], [0, 0]])
    >>> frame = world.step()
    >>> frame.enter
    array([[0, 1]], dtype=int32)
    >>> frame.contacts.depths
    array([0.5])
    >>> frame = world.step(dt=1.0)
    >>> frame.exit
    array([[0, 1]], dtype=int32)
    """

    __slots__ = (
        "__weakref__",
        "_bounds",
        "_contacts",
        "_enter_at",
        "_sensors",
        "_shapes",
        "deferred",
        "enter",
        "exit",
        "exit_handles",
        "impacts",
        "number",
        "removed",
        "removed_handles",
        "stats",
        "time",
        "touching",
    )

    def __init__(
        self,
        number: int,
        time: float,
        advance: Advance,
        exit_handles: NDArray[np.int64],
        stats: dict[str, Any],
    ) -> None:
        self.number, self.time = number, time
        self.touching, self.enter, self.exit = advance.touching, advance.began, advance.ended
        self._enter_at = advance.began_at
        self.exit_handles = exit_handles
        self.stats: Mapping[str, Any] = stats
        self.deferred: Pairs = NO_PAIRS
        self.removed = np.empty(0, np.int32)
        self.removed_handles = np.empty(0, np.int64)
        dimension = 2
        self.impacts = Impacts(NO_PAIRS, np.empty(0), np.empty((0, dimension)))
        self._contacts: Contacts | None = None
        self._shapes: Shapes | None = None
        self._sensors: NDArray[np.bool_] | None = None
        # Of a periodic world.
        self._bounds: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        return (
            f"<Frame {self.number}: {len(self.touching)} pairs touch, {len(self.enter)} entered, {len(self.exit)} left>"
        )

    @property
    def stay(self) -> Pairs:
        """Pairs that touch, and did after the step before, shape (m, 2), int32."""
        return np.delete(self.touching.T, self._enter_at, axis=1).T

    @property
    def contacts(self) -> Contacts:
        """Where the pairs touch, but for those of sensors, and those that only met on the way of something fast.

        Raises
        ------
        RuntimeError
            The world has been stepped since, and they had not been asked for.
        """
        if self._contacts is None:
            if self._shapes is None:
                raise RuntimeError(f"the contacts of frame {self.number} were not asked for before the next step")
            self._contacts = self._made_contacts(self._shapes)
        return self._contacts

    def _made_contacts(self, shapes: Shapes) -> Contacts:
        pairs = self.touching
        kept = np.ones(len(pairs), np.bool_)
        if self._sensors is not None:
            kept &= ~(self._sensors[pairs[:, 0]] | self._sensors[pairs[:, 1]])
        pairs, offsets = where_touching(shapes, pairs[kept], self._bounds)
        return contacts_of(shapes, shapes, pairs[:, 0], pairs[:, 1], offsets)

    def _settle(self) -> None:
        """Find the contacts while the shapes are where they were."""
        if self._shapes is not None and self._contacts is None:
            self._contacts = self._made_contacts(self._shapes)

    def _leave(self) -> None:
        """Let go of the world, which is about to move on."""
        self._shapes = None
