"""What a step found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.narrow import Impacts
from broadphase.narrow.custom import are_custom
from broadphase.narrow.row_pairs import contacts_of
from broadphase.representations import html_facts
from broadphase.world.boundary import where_touching
from broadphase.world.values import NO_PAIRS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from broadphase import _native
    from broadphase.narrow import Contacts
    from broadphase.world.columns import Columns

    Pairs = NDArray[np.int32]

__all__ = ["Frame"]


class _Stored(NamedTuple):
    """What a step found, in a copy of its frame; the names are those of the core."""

    number: int
    time: float
    touching: Pairs
    enter: Pairs
    exit: Pairs
    left: Pairs
    is_dropped: bool
    enter_at: NDArray[np.int64]
    exit_handles: NDArray[np.int64]
    removed_handles: NDArray[np.int64]
    impacts: tuple[Any, Any, Any]
    stats: dict[str, Any]


class Frame:
    """What one step of a world found: events as arrays of pairs of rows.

    Pairs are in lexicographic order, first < second, each once. They do not change, whatever becomes of the world.
    Arrays are made when they are looked at; `contacts` must be read before the next step. A frame can be copied and
    pickled: the copy belongs to no world, and has the contacts unless they have expired.

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

    __slots__ = ("__weakref__", "_columns", "_contacts", "_found", "_impacts", "_stats")

    def __init__(self, found: _native.StepFound | _Stored, columns: Columns | None) -> None:
        self._found, self._columns = found, columns
        self._contacts: Contacts | None = None
        self._impacts: Impacts | None = None
        self._stats: Mapping[str, Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        found = _Stored(*(getattr(self._found, name) for name in _Stored._fields))
        return _stored_frame, (found, self.contacts if self._has_contacts() else None)

    def __repr__(self) -> str:
        return f"<Frame {self.number}: {len(self.pairs)} pairs touch, {len(self.enter)} enter, {len(self.exit)} exit>"

    def _repr_html_(self) -> str:
        facts = {
            "time": f"{self.time:g}",
            "pairs that touch": f"{len(self.pairs):,}",
            "enter": f"{len(self.enter):,}",
            "exit": f"{len(self.exit):,}",
            **{name.replace("_", " "): str(value) for name, value in self.stats.items()},
        }
        return html_facts(f"Frame {self.number}", facts.items())

    @property
    def number(self) -> int:
        """Number of the step, from 1."""
        return self._found.number

    @property
    def time(self) -> float:
        """The world's time after the step."""
        return self._found.time

    @property
    def enter(self) -> Pairs:
        """Pairs that touch and did not after the step before, shape (m, 2), int32."""
        return self._found.enter

    @property
    def exit(self) -> Pairs:
        """Pairs that touched after the step before and do not now, or of which one was removed, shape (m, 2), int32."""
        return self._found.exit

    @property
    def exit_handles(self) -> NDArray[np.int64]:
        """Handles that the rows of `exit` had, shape (m, 2), int64. Those of removed rows are stale."""
        return self._found.exit_handles

    @property
    def pairs(self) -> Pairs:
        """Pairs that touch, `enter` and `stay`: shape (m, 2), int32. Read-only."""
        return self._found.touching

    @property
    def deferred(self) -> Pairs:
        """Pairs that were left for a later step because the budget was used up, shape (m, 2), int32.

        They count as what they were.
        """
        return NO_PAIRS if self._found.is_dropped else self._found.left

    @property
    def dropped(self) -> Pairs:
        """Pairs that were not tested because the budget was used up, and do not wait, shape (m, 2), int32.

        See `Budget.on_limit`.
        """
        return self._found.left if self._found.is_dropped else NO_PAIRS

    @property
    def impacts(self) -> Impacts:
        """Where bodies that are marked as ccd met others on their way: times, and normals at these times."""
        if self._impacts is None:
            self._impacts = Impacts(*self._found.impacts)
        return self._impacts

    @property
    def removed_handles(self) -> NDArray[np.int64]:
        """Handles of the rows that the boundary removed, shape (k,), int64."""
        return self._found.removed_handles

    @property
    def stats(self) -> Mapping[str, Any]:
        """About the step: method, reason, changed rows, candidates, tests, seconds of its parts.

        ``looked_at`` is how many rows were looked at, ``seconds`` the time of all of it until events are delivered, and
        ``seconds_uncut`` what of this no budget can cut short.
        """
        if self._stats is None:
            self._stats = self._found.stats
        return self._stats

    @property
    def stay(self) -> Pairs:
        """Pairs that touch and did after the step before, shape (m, 2), int32."""
        return np.delete(self.pairs.T, self._found.enter_at, axis=1).T

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
            if self._columns is None or not self._has_contacts():
                raise RuntimeError(f"contacts of frame {self.number} have expired: read them before the next step")
            columns, pairs = self._columns, self.pairs
            shapes = columns.view
            kept = np.ones(len(pairs), np.bool_)
            if columns.sensors is not None:
                kept &= ~(columns.sensors[pairs[:, 0]] | columns.sensors[pairs[:, 1]])
            for side in (0, 1):
                kept &= ~are_custom(shapes, np.ascontiguousarray(pairs[:, side]))
            pairs, offsets = where_touching(shapes, pairs[kept], columns.period_bounds)
            self._contacts = contacts_of(shapes, shapes, pairs[:, 0], pairs[:, 1], offsets)
        return self._contacts

    def _has_contacts(self) -> bool:
        is_last = self._columns is not None and self._columns.contacts_of == self.number
        return self._contacts is not None or is_last


def _stored_frame(found: _Stored, contacts: Contacts | None) -> Frame:
    found.touching.flags.writeable = False
    frame = Frame(found, None)
    frame._contacts = contacts
    return frame
