"""What is known of one touch, or of one hit of a ray."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from broadphase.index.linear_tree import LinearTree
from broadphase.index.octree import Octree
from broadphase.world.memory import keys_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.narrow import Contacts
    from broadphase.world.actor import Actor
    from broadphase.world.frame import Frame
    from broadphase.world.state import WorldState
    from broadphase.world.world import World

__all__ = ["Contact", "Event", "FrameRecords", "Hit", "Impact", "StepInfo", "cell_of"]

_ROW = 0xFFFF_FFFF  # of a handle


class StepInfo(NamedTuple):
    """What an actor's `update` is told of the step that is about to begin.

    Attributes
    ----------
    dt : float
        How long the step is.
    time : float
        The world's time before it.
    number : int
        The number that its frame will have.
    world : World
        The world that is stepped.
    """

    dt: float
    time: float
    number: int
    world: World


class Contact:
    """Where two shapes touch."""

    __slots__ = ("_contacts", "_place", "_sign")

    def __init__(self, contacts: Contacts, place: int, sign: float) -> None:
        self._contacts, self._place, self._sign = contacts, place, sign

    def __repr__(self) -> str:
        return f"Contact(normal={self.normal.tolist()}, depth={self.depth}, points={self.points.tolist()})"

    @property
    def normal(self) -> NDArray[np.float64]:
        """Unit vector from the event's actor to the other, shape (d,)."""
        normal: NDArray[np.float64] = self._contacts.normals[self._place] * self._sign + 0.0  # no -0.0
        return normal

    @property
    def depth(self) -> float:
        """How far to move one of them along the normal until they only touch."""
        return float(self._contacts.depths[self._place])

    @property
    def points(self) -> NDArray[np.float64]:
        """Points midway between the surfaces, the deepest first, shape (k, d): at most 2 in the plane, 4 in space."""
        points: NDArray[np.float64] = self._contacts.points[self._place, : self._contacts.counts[self._place]]
        return points

    @property
    def position(self) -> NDArray[np.float64]:
        """The deepest point, shape (d,)."""
        deepest: NDArray[np.float64] = self._contacts.points[self._place, 0]
        return deepest

    def flipped(self) -> Contact:
        """Give the same contact, seen from the other side."""
        return Contact(self._contacts, self._place, -self._sign)


class Impact(NamedTuple):
    """How something fast met another on its way.

    Attributes
    ----------
    time : float
        The share of the step that had passed: 0 at its beginning, 1 at its end.
    normal : ndarray, shape (d,), float64
        Unit vector from the event's actor to the other, then.
    """

    time: float
    normal: NDArray[np.float64]


class FrameRecords:
    """What the events of one frame have in common, and the contacts of its pairs when one is asked for."""

    __slots__ = ("_impact_keys", "_keys", "frame", "world")

    def __init__(self, world: World, frame: Frame) -> None:
        self.world, self.frame = world, frame
        self._keys: NDArray[np.int64] | None = None
        self._impact_keys: NDArray[np.int64] | None = None

    def contact(self, first: int, second: int) -> Contact | None:
        """Get the contact of two rows, with its normal from the first to the second; None where none was made."""
        contacts = self.frame.contacts
        if self._keys is None:
            self._keys = keys_of(contacts.pairs)
        place = _place_of(first, second, self._keys)
        return None if place is None else Contact(contacts, place, 1.0 if first < second else -1.0)

    def impact(self, first: int, second: int) -> Impact | None:
        """Get how two rows met, with the normal from the first to the second; None where neither is fast."""
        impacts = self.frame.impacts
        if self._impact_keys is None:
            self._impact_keys = keys_of(impacts.pairs)
        place = _place_of(first, second, self._impact_keys)
        if place is None:
            return None
        return Impact(float(impacts.times[place]), impacts.normals[place] * (1.0 if first < second else -1.0) + 0.0)


class Event:
    """One touch that began, went on or ended, as a handler is told of it.

    Two events are equal if they are of the same touch at the same step, whichever of the two is named first.

    Attributes
    ----------
    kind : {"enter", "stay", "exit"}
        What happened.
    """

    __slots__ = ("_actor", "_contact", "_first", "_other", "_records", "_second", "kind")

    def __init__(self, kind: str, first: int, second: int, records: FrameRecords) -> None:
        self.kind, self._first, self._second, self._records = kind, first, second, records
        self._contact: Contact | None = None
        # Actors are made when they are asked for; those that the world keeps are kept here, too.
        actors = records.world._actors
        self._actor = actors.kept(first)
        self._other = actors.kept(second)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return f"<{self.kind} of {self.actor!r} and {self.other!r} in frame {self.number}>"

    @property
    def actor(self) -> Actor:
        """The one that matched the first name that the handler was registered with."""
        if self._actor is None:
            self._actor = self._records.world._actors.of_handle(self._first)
        return self._actor

    @property
    def other(self) -> Actor:
        """The other one."""
        if self._other is None:
            self._other = self._records.world._actors.of_handle(self._second)
        return self._other

    @property
    def number(self) -> int:
        """Number of the frame."""
        return self._records.frame.number

    @property
    def time(self) -> float:
        """The world's time after the step."""
        return self._records.frame.time

    @property
    def contact(self) -> Contact | None:
        """Where they touch; None where a sensor is one of the two, where they only met on the way, and at the end.

        To be asked in the handler: with the next step, contacts that nobody asked for are gone.
        """
        if self._contact is None and self.kind != "exit":
            self._contact = self._records.contact(self._first & _ROW, self._second & _ROW)
        return self._contact

    @property
    def impact(self) -> Impact | None:
        """How they met, where one of them is fast and met the other on its way in this step; otherwise None."""
        return None if self.kind == "exit" else self._records.impact(self._first & _ROW, self._second & _ROW)

    @property
    def normal(self) -> NDArray[np.float64] | None:
        """Unit vector from the actor to the other, shape (d,): of the impact, or else of the contact, or None."""
        record = self.impact or self.contact
        return None if record is None else record.normal

    @property
    def cell(self) -> tuple[int, int] | None:
        """The cell of the index that the pair is found in, as level and number; None where there are no such cells.

        In an octree the number is a row of ``world.index.outline()``, in a linear tree it is a Morton number. It is the
        cell for where the two are now.
        """
        if not (self.actor.alive and self.other.alive):
            return None
        return cell_of(self._records.world, [self.actor.row, self.other.row])

    def flipped(self) -> Event:
        """Give the same event with the two the other way round."""
        event = Event(self.kind, self._second, self._first, self._records)
        if self._contact is not None:
            event._contact = self._contact.flipped()
        return event

    def _identity(self) -> tuple[object, ...]:
        return self.kind, self.number, id(self._records.world), frozenset((self._first, self._second))


class Hit:
    """Where a ray meets an actor.

    Attributes
    ----------
    actor : Actor
        What is hit.
    distance : float
        From the origin; 0 where the ray begins in it.
    position : ndarray, shape (d,)
        The point that is hit.
    normal : ndarray, shape (d,)
        Unit vector out of the surface there; zero where the ray begins in the shape.
    origin, direction : ndarray, shape (d,)
        The ray.
    cell : (int, int) or None
        As `Event.cell`.
    """

    __slots__ = ("actor", "cell", "direction", "distance", "normal", "origin", "position")

    def __init__(
        self,
        actor: Actor,
        distance: float,
        position: NDArray[np.float64],
        normal: NDArray[np.float64],
        ray: tuple[NDArray[np.float64], NDArray[np.float64]],
        cell: tuple[int, int] | None,
    ) -> None:
        self.actor, self.distance, self.position, self.normal = actor, distance, position, normal
        self.origin, self.direction = ray
        self.cell = cell

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hit):
            return NotImplemented
        return self.actor == other.actor and self._numbers() == other._numbers()

    def __hash__(self) -> int:
        return hash((self.actor, *self._numbers()))

    def __repr__(self) -> str:
        return f"Hit(actor={self.actor!r}, distance={self.distance}, position={self.position.tolist()})"

    def _numbers(self) -> tuple[tuple[float, ...], ...]:
        vectors = (self.position, self.normal, self.origin, self.direction)
        return tuple(tuple(vector.tolist()) for vector in vectors)


def _place_of(first: int, second: int, keys: NDArray[np.int64]) -> int | None:
    """Find a pair among sorted ones."""
    key = min(first, second) << 32 | max(first, second)
    place = int(np.searchsorted(keys, key))
    return None if place == len(keys) or keys[place] != key else place


def cell_of(world: WorldState, rows: list[int]) -> tuple[int, int] | None:
    """Find the cell of the index that a row is in, or that a pair of rows is found in: the deeper of their two.

    As level and number, an octree's number being the row of `outline`; None where the index keeps no account of cells.
    """
    index = world.index
    if isinstance(index, Octree):
        numbers, levels = index.cells_of_rows(np.array(rows, np.int32))
        cells = numbers.astype(np.uint64)
    elif isinstance(index, LinearTree):
        levels, cells = index.cells_of(index.boxes_of(rows))
    else:
        return None
    deepest = int(np.argmax(levels))
    return int(levels[deepest]), int(cells[deepest])
