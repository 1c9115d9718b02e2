"""What a step found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.narrow.custom import are_custom
from broadphase.narrow.row_pairs import contacts_of
from broadphase.representations import html_facts
from broadphase.world.boundary import where_touching

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from broadphase.narrow import Contacts, Impacts
    from broadphase.world.columns import Columns

    Pairs = NDArray[np.int32]

__all__ = ["Found", "Frame"]


class Found(NamedTuple):
    """What a step found: the content of a `Frame`, see there; `enter_at` are the places of `enter` in `touching`."""

    number: int
    time: float
    touching: Pairs
    enter: Pairs
    exit: Pairs
    enter_at: NDArray[np.int64]
    exit_handles: NDArray[np.int64]
    deferred: Pairs
    dropped: Pairs
    impacts: Impacts
    removed_handles: NDArray[np.int64]
    stats: dict[str, Any]


class Frame:
    """What one step of a world found: events as arrays of pairs of rows.

    Pairs are in lexicographic order, first < second, each once, as (m, 2) arrays of int32. They do not change,
    whatever becomes of the world; `contacts` must be read before the next step.

    Attributes
    ----------
    number : int
        Of the step, from 1.
    time : float
        Of the world, after the step.
    enter : ndarray, shape (m, 2), int32
        Pairs that touch and did not after the step before.
    exit : ndarray, shape (m, 2), int32
        Pairs that touched after the step before and do not now, or of which one was removed.
    exit_handles : ndarray, shape (m, 2), int64
        Handles that the rows of `exit` had. Those of removed rows are stale.
    touching : ndarray, shape (m, 2), int32
        Pairs that touch: `enter` and `stay`.
    deferred : ndarray, shape (m, 2), int32
        Pairs that were left for a later step because the budget was used up. They count as what they were.
    dropped : ndarray, shape (m, 2), int32
        Pairs that were not tested because the budget was used up, and do not wait: see `Budget.on_limit`.
    impacts : Impacts
        Where bodies that are marked as ccd met others on their way.
    removed_handles : ndarray, shape (k,), int64
        Handles of the rows that the boundary removed.
    stats : dict
        About the step: method, reason, changed rows, candidates, tests, seconds of its parts, ``seconds`` of all of it
        until events are delivered, and ``seconds_uncut``, what of these no budget can cut short.

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
        "_columns",
        "_contacts",
        "_enter_at",
        "deferred",
        "dropped",
        "enter",
        "exit",
        "exit_handles",
        "impacts",
        "number",
        "removed_handles",
        "stats",
        "time",
        "touching",
    )

    def __init__(self, found: Found, columns: Columns) -> None:
        (
            self.number, self.time, self.touching, self.enter, self.exit, self._enter_at, self.exit_handles,
            self.deferred, self.dropped, self.impacts, self.removed_handles, stats,
        ) = found  # fmt: skip
        self.stats: Mapping[str, Any] = stats
        self._columns = columns
        self._contacts: Contacts | None = None

    def __repr__(self) -> str:
        return (
            f"<Frame {self.number}: {len(self.touching)} pairs touch, {len(self.enter)} enter, {len(self.exit)} exit>"
        )

    def _repr_html_(self) -> str:
        facts = {
            "time": f"{self.time:g}",
            "pairs that touch": f"{len(self.touching):,}",
            "enter": f"{len(self.enter):,}",
            "exit": f"{len(self.exit):,}",
            **{name.replace("_", " "): str(value) for name, value in self.stats.items()},
        }
        return html_facts(f"Frame {self.number}", facts.items())

    @property
    def stay(self) -> Pairs:
        """Pairs that touch and did after the step before, shape (m, 2), int32."""
        return np.delete(self.touching.T, self._enter_at, axis=1).T

    @property
    def removed(self) -> NDArray[np.int32]:
        """Rows that the boundary removed, shape (k,), int32."""
        return (self.removed_handles & 0xFFFF_FFFF).astype(np.int32)

    @property
    def contacts(self) -> Contacts:
        """Where the pairs touch, but for those of sensors and custom shapes, and those met on the way of a ccd body.

        Computed when first read.

        Raises
        ------
        RuntimeError
            The world has been stepped since, or shapes have been changed while nobody held this frame.
        """
        if self._contacts is None:
            if self._columns.contacts_of != self.number:
                raise RuntimeError(f"contacts of frame {self.number} have expired: read them before the next step")
            self._contacts = self._made_contacts()
        return self._contacts

    def _made_contacts(self) -> Contacts:
        columns, pairs = self._columns, self.touching
        shapes = columns.view
        kept = np.ones(len(pairs), np.bool_)
        if columns.sensors is not None:
            kept &= ~(columns.sensors[pairs[:, 0]] | columns.sensors[pairs[:, 1]])
        for side in (0, 1):
            kept &= ~are_custom(shapes, np.ascontiguousarray(pairs[:, side]))
        pairs, offsets = where_touching(shapes, pairs[kept], columns.period_bounds)
        return contacts_of(shapes, shapes, pairs[:, 0], pairs[:, 1], offsets)
