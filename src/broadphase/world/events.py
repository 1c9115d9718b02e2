"""Events: what handlers, hooks of actors and subscribers are called with, which of them, and in which order."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import chain, compress, count, repeat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from broadphase import _native
from broadphase.change import Change
from broadphase.errors import quoted
from broadphase.filters import ALL_BITS
from broadphase.world.actor import ENTER, EXIT, STAY, UPDATE, Actor
from broadphase.world.hits import cell_of
from broadphase.world.values import keys_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.narrow import Contacts
    from broadphase.world.actor import Actors, AnyWorld
    from broadphase.world.columns import Columns
    from broadphase.world.frame import Frame
    from broadphase.world.scene import Scene

    Handler: TypeAlias = Callable[["Event"], object]
    Subscriber: TypeAlias = Callable[[Frame], object]
    Pairs: TypeAlias = NDArray[np.int32]
    _Open: TypeAlias = tuple[NDArray[np.int64], NDArray[np.bool_]]
    Chosen: TypeAlias = tuple[NDArray[np.intp], NDArray[np.bool_]]
    # Which rows a handler is for: bits of layers, or a class of actors.
    Side: TypeAlias = int | type[Actor]
    # Says which of some rows match a side, in the shape of the rows; a bool for all of them.
    Match: TypeAlias = Callable[[Side, NDArray[np.int32]], NDArray[np.bool_] | bool]

__all__ = ["Contact", "Event", "EventBus", "EventKind", "Impact", "StepInfo"]

EventKind: TypeAlias = Literal["enter", "stay", "exit"]
Function = TypeVar("Function", bound="Callable[..., object]")

_KINDS: tuple[EventKind, ...] = ("exit", "enter", "stay")  # in the order in which they are delivered
_HOOKS: dict[EventKind, int] = {"exit": EXIT, "enter": ENTER, "stay": STAY}
_ROW = 0xFFFF_FFFF  # of a handle
_DEFAULT = 1  # the layer of rows that were given none
# The pairs of a body that a handler removes exit in the step after.
_STEPS_KEPT = 2


class StepInfo(NamedTuple):
    """The argument of an actor's `update`: the step that is about to begin.

    Attributes
    ----------
    dt : float
        Length of the step in seconds.
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
    world: AnyWorld


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
        return self._contacts.points[self._place, : self._contacts.counts[self._place]]

    @property
    def position(self) -> NDArray[np.float64]:
        """The deepest point, shape (d,)."""
        deepest: NDArray[np.float64] = self._contacts.points[self._place, 0]
        return deepest

    def flipped(self) -> Contact:
        """Give the same contact, seen from the other side."""
        return Contact(self._contacts, self._place, -self._sign)


class Impact(NamedTuple):
    """How a body marked as ccd met another on its way.

    Attributes
    ----------
    time : float
        As a fraction of the step: 0 at its beginning, 1 at its end.
    normal : ndarray, shape (d,), float64
        Unit vector from the event's actor to the other, at that time.
    """

    time: float
    normal: NDArray[np.float64]


class _FrameEvents:
    """What the events of one frame share: the frame, and where its contacts and impacts are found."""

    __slots__ = ("_keys", "actors", "frame", "scene")

    def __init__(self, actors: Actors, scene: Scene, frame: Frame) -> None:
        self.actors, self.scene, self.frame = actors, scene, frame
        self._keys: dict[str, NDArray[np.int64]] = {}

    def contact(self, first: int, second: int) -> Contact | None:
        """Get the contact of two rows, with its normal from the first to the second; None where none was made."""
        contacts = self.frame.contacts
        place = self._place_of(first, second, "contacts", contacts.pairs)
        return None if place is None else Contact(contacts, place, 1.0 if first < second else -1.0)

    def impact(self, first: int, second: int) -> Impact | None:
        """Get how two rows met, with the normal from the first to the second; None where neither is marked as ccd."""
        impacts = self.frame.impacts
        place = self._place_of(first, second, "impacts", impacts.pairs)
        if place is None:
            return None
        return Impact(float(impacts.times[place]), impacts.normals[place] * (1.0 if first < second else -1.0) + 0.0)

    def _place_of(self, first: int, second: int, name: str, pairs: Pairs) -> int | None:
        if name not in self._keys:
            self._keys[name] = keys_of(pairs)
        keys, key = self._keys[name], min(first, second) << 32 | max(first, second)
        place = int(np.searchsorted(keys, key))
        return None if place == len(keys) or keys[place] != key else place


class Event:
    """The argument of a handler: two bodies begin to touch, still touch, or no longer touch.

    Two events are equal if they are of the same kind, step and pair, whichever of the two is named first.

    Attributes
    ----------
    kind : {"enter", "stay", "exit"}
        Of the event.
    """

    __slots__ = ("_actor", "_contact", "_first", "_other", "_records", "_second", "kind")

    def __init__(self, kind: EventKind, first: int, second: int, records: _FrameEvents) -> None:
        self.kind, self._first, self._second, self._records = kind, first, second, records
        self._contact: Contact | None = None
        # Other actors are made when they are asked for; those that the world keeps may be dropped by then.
        self._actor = self._other = None
        if (actors := records.actors).keeps_some:
            self._actor, self._other = actors.kept(first), actors.kept(second)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[Any, ...]:
        actors = self._actor, self._other
        return _event_of, (self.kind, self._first, self._second, self.actor.world, self._records.frame, *actors)

    def __repr__(self) -> str:
        return f"<{self.kind} of {self.actor!r} and {self.other!r} in frame {self.number}>"

    @property
    def actor(self) -> Actor:
        """The body that matched the first layer, class or actor that the handler was registered with."""
        if self._actor is None:
            self._actor = self._records.actors.of_handle(self._first)
        return self._actor

    @property
    def other(self) -> Actor:
        """The other body."""
        if self._other is None:
            self._other = self._records.actors.of_handle(self._second)
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
        """Where they touch; None for sensors, custom shapes, pairs that only met on the way of a ccd body, and exits.

        Read it in the handler: contacts that were not read expire with the next step.
        """
        if self._contact is None and self.kind != "exit":
            self._contact = self._records.contact(self._first & _ROW, self._second & _ROW)
        return self._contact

    @property
    def impact(self) -> Impact | None:
        """How they met, where one of them is marked as ccd and met the other on its way in this step; or None."""
        return None if self.kind == "exit" else self._records.impact(self._first & _ROW, self._second & _ROW)

    @property
    def normal(self) -> NDArray[np.float64] | None:
        """Unit vector from the actor to the other, shape (d,): of the impact, or else of the contact, or None."""
        record = self.impact or self.contact
        return None if record is None else record.normal

    @property
    def cell(self) -> tuple[int, int] | None:
        """The cell of the index that the pair is found in, as level and number; None where there are no such cells.

        In an octree the number is a row of ``World.outline()``, in a linear tree it is a Morton number. It is the cell
        for where the two are now.
        """
        if not (self.actor.alive and self.other.alive):
            return None
        return cell_of(self._records.scene.index(), [self.actor.row, self.other.row])

    def flipped(self) -> Event:
        """Give the same event with the two exchanged."""
        event = Event(self.kind, self._second, self._first, self._records)
        if self._contact is not None:
            event._contact = self._contact.flipped()
        return event

    def _identity(self) -> tuple[object, ...]:
        return self.kind, self.number, id(self._records.actors), frozenset((self._first, self._second))


def _event_of(
    kind: EventKind, first: int, second: int, world: AnyWorld, frame: Frame, actor: Actor | None, other: Actor | None
) -> Event:
    """Make a copy of an event: of the world itself, or of the copy of the world that comes with it."""
    event = Event(kind, first, second, _FrameEvents(world._actors, world._scene, frame))
    event._actor, event._other = actor, other
    return event


@dataclass(slots=True, eq=False)
class _Registration:
    """A handler and when it is called; handlers of the same pair are called in the order of their numbers."""

    kind: EventKind
    function: Handler
    number: int
    active: bool = field(default=True, kw_only=True)  # False after `World.remove_handler`


class _PairWatch:
    """The handlers of one pair of layers or classes of actors; the row that matches the first is named first.

    A pair is matched when it enters. The open pairs are remembered from then on, if there are handlers of stays or
    exits: so exits are delivered of just those pairs whose enters were, whatever becomes of their rows and layers.
    """

    def __init__(self, first: Side, second: Side) -> None:
        self._first, self._second = first, second
        self.registrations: list[_Registration] = []
        # Keys of open pairs, ascending, and which of them are swapped: for handlers of stays and exits.
        self.open: _Open | None = None

    def add(self, registration: _Registration, match: Match, touching: Pairs) -> None:
        """Add a handler; one of stays or exits is called for the pairs that touch already, too."""
        if registration.kind != "enter" and self._kinds() <= {"enter"}:
            places, swapped = self._match(match, touching)
            self.open = keys_of(touching)[places], swapped
        self.registrations.append(registration)

    def _kinds(self) -> set[EventKind]:
        return {registration.kind for registration in self.registrations}

    def choose(
        self, match: Match, pairs_of: Callable[[EventKind], Pairs]
    ) -> tuple[dict[EventKind, Chosen], _Open | None]:
        """Find the pairs of a frame that match: their places in its sorted arrays, and which are to be swapped.

        Also gives the pairs that are open after the frame. Changes nothing.
        """
        chosen: dict[EventKind, Chosen] = {}
        enters, kinds = pairs_of("enter"), self._kinds()
        keys, swaps = (None, np.zeros(0, np.bool_)) if self.open is None or kinds == {"enter"} else self.open
        if keys is not None and len(keys):
            left = keys_of(pairs_of("exit"))
            places = np.flatnonzero(_are_in(left, keys))
            found = np.searchsorted(keys, left[places])
            chosen["exit"] = places, swaps[found]
            if len(found):
                keys, swaps = np.delete(keys, found), np.delete(swaps, found)
            if "stay" in kinds:
                lasting = keys_of(pairs_of("stay"))
                still_open = _are_in(keys, lasting)  # a pair that a budget has deferred is in neither list
                chosen["stay"] = np.searchsorted(lasting, keys[still_open]), swaps[still_open]
        if len(enters):
            places, swapped = chosen["enter"] = self._match(match, enters)
            if keys is not None and len(places):
                keys = np.concatenate([keys, keys_of(enters)[places]])
                order = np.argsort(keys, kind="stable")
                keys, swaps = keys[order], np.concatenate([swaps, swapped])[order]
        return chosen, None if keys is None else (keys, swaps)

    def _match(self, match: Match, pairs: Pairs) -> Chosen:
        first, second = match(self._first, pairs), match(self._second, pairs)
        if isinstance(first, bool) and isinstance(second, bool):
            places = np.arange(len(pairs) if first and second else 0)
            return places, np.zeros(len(places), np.bool_)
        first, second = (np.broadcast_to(one, pairs.shape) for one in (first, second))
        forth, back = first[:, 0] & second[:, 1], first[:, 1] & second[:, 0]
        places = np.flatnonzero(forth | back)
        return places, ~forth[places]


@dataclass(slots=True, eq=False)
class _ActorRegistration(_Registration):
    """A handler that was registered for one actor."""

    handle: int | None  # of the other body; None for any
    side: Side | None
    is_first: bool  # whether the actor is named first in the event
    # Where there is a side: the others that matched when they entered, whatever becomes of their layers.
    open: set[int]

    def takes(self, kind: EventKind, other: int, match: Match, opened: set[int]) -> bool:
        """Say whether the handler is called for an event; bring up to date a copy of what is open."""
        if self.handle is not None and self.handle != other:
            return False
        if self.side is not None:
            if kind == "enter":
                if not np.all(match(self.side, np.array([other & _ROW], np.int32))):
                    return False
                if self.kind != "enter":
                    opened.add(other)
            elif other not in opened:
                return False
            elif kind == "exit":
                opened.discard(other)
        return kind == self.kind


@dataclass(slots=True, eq=False)
class _ActorWatch:
    """The handlers of one actor, which is kept for them."""

    actor: Actor
    steps_removed: int = 0
    registrations: list[_ActorRegistration] = field(default_factory=list)


class EventBus:
    """The handlers, hooks and subscribers of a world, and the calls that are still to be made.

    All calls of a step are decided before the first one is made: a list of pairs of handles. So handlers may change the
    world at will, and if one raises, the rest of the list is still there.
    """

    def __init__(self, world: AnyWorld, columns: Columns, scene: Scene, actors: Actors) -> None:
        self._world, self._columns, self._scene, self._actors = world, columns, scene, actors
        # Number of the last step of which the calls have been decided: not that of the world where the step was
        # interrupted when it had been committed.
        self.delivered = 0
        self._subscribers: list[Subscriber] = []
        self._shown: deque[tuple[Subscriber, Frame]] = deque()  # subscribers that are still to be called
        self._by_pair: dict[tuple[Side, Side], _PairWatch] = {}
        self._by_actor: dict[int, _ActorWatch] = {}
        self._queue: deque[tuple[Any, EventKind, int, int, _FrameEvents]] = deque()
        self._numbers = count(1)  # of registrations
        # Held while handlers, hooks and subscribers are called.
        self._calling = _native.Guard("events")

    def register(self, kind: EventKind, first: Any, second: Any) -> Any:
        """Make the decorator that registers a handler; or register `first`, if it is one.

        An unknown name of a layer raises here.
        """
        if callable(first) and second is None and not isinstance(first, Actor | type):
            return self.register(kind, None, None)(first)
        for name in (first, second):
            if isinstance(name, Actor):
                self._actors.as_rows(name)
        if isinstance(first, Actor) or isinstance(second, Actor):
            return self._registering_actor(kind, first, second)
        sides = (("first", first), ("second", second))
        one, other = (ALL_BITS if given is None else self._side(given, name) for name, given in sides)

        def register(function: Function) -> Function:
            registration = _Registration(kind, _checked(function), next(self._numbers))
            watch = self._by_pair.setdefault((one, other), _PairWatch(one, other))
            watch.add(registration, self._match, self._world.pairs)
            return function

        return register

    def _side(self, given: Any, name: str) -> Side:
        """Turn names of layers into bits; a class of actors stays as it is."""
        if isinstance(given, type) and issubclass(given, Actor):
            return given
        if isinstance(given, str | set | frozenset | int | np.integer) and not isinstance(given, bool):
            return self._columns.layers.bits(given)
        raise TypeError(
            f"{name} must be a layer (a name, a set of names or an integer), an actor or a class derived from Actor"
            f"{', or the function alone' if name == 'first' else ''}, not {quoted(given)}"
        )

    def _match(self, side: Side, rows: NDArray[np.int32]) -> NDArray[np.bool_] | bool:
        """Say which rows match, in the shape of the rows; a bool for all of them."""
        if isinstance(side, type):
            return self._actors.are(rows, side)
        layers = self._columns.rows.bits[0]
        if layers is None:  # all rows are in the first one
            return bool(side & _DEFAULT)
        matched: NDArray[np.bool_] = (layers[rows] & np.uint64(side)) != 0
        return matched

    def subscribe(self, function: Function) -> Function:
        """Have a function called with the frame of each step, after handlers and hooks."""
        self._subscribers.append(_checked(function))
        return function

    def remove(self, is_removed: Callable[[Callable[..., object]], bool]) -> int:
        """Remove all registrations of some handlers and subscribers; say how many there were."""
        kept, change = [function for function in self._subscribers if not is_removed(function)], Change()
        removed = len(self._subscribers) - len(kept)
        shown = deque(call for call in self._shown if not is_removed(call[0]))
        change.assign(self, _subscribers=kept, _shown=shown)
        tables: Any = self._by_pair, self._by_actor
        for registration in chain.from_iterable(watch.registrations for table in tables for watch in table.values()):
            if registration.active and is_removed(registration.function):
                change.set_slot(registration, "active", False)
                removed += 1
        change.commit()
        # Those that are not called any more are dropped.
        for table in tables:
            for key, watch in list(table.items()):
                watch.registrations = [registration for registration in watch.registrations if registration.active]
                if not watch.registrations:
                    del table[key]
        return removed

    def before_step(self, dt: float) -> None:
        """Make the calls that an exception has left over, and let actors update themselves."""
        if self._calling.is_changing:
            raise RuntimeError("a handler cannot call step(): the events of the last step are still being delivered")
        if self.delivered != self._world.number and (frame := self._world.frame) is not None:
            self.dispatch(frame)
        elif self._queue or self._shown:
            self._deliver()
        if self._actors.has(UPDATE):
            info = StepInfo(dt, self._world.time, self._world.number + 1, self._world)
            with self._calling.changing:
                for actor in self._actors.with_hook(UPDATE):
                    if actor.alive:
                        actor.update(info)

    def dispatch(self, frame: Frame) -> None:
        """Call hooks, handlers and subscribers for the events of a frame.

        Every subscriber is called, whatever handlers or others raise; the first exception is raised, and the others are
        notes on it.
        """
        actors, calls, change = self._actors, {}, Change()
        if self._by_pair or self._by_actor or any(actors.has(hook) for hook in (ENTER, STAY, EXIT)):
            calls["_queue"] = deque(self._calls(frame, change))
        if self._subscribers:
            calls["_shown"] = deque((subscriber, frame) for subscriber in self._subscribers)
        if not calls:
            self.delivered = frame.number
            self._settle()
            return
        change.assign(self, delivered=frame.number, **calls)
        change.commit()
        self._deliver()

    def _deliver(self) -> None:
        """Make the calls that are waiting."""
        with self._calling.changing:
            error: BaseException | None = None
            try:
                self._call_handlers()
            except BaseException as raised:
                if not self._shown:
                    raise
                error = raised
            while self._shown:
                subscriber, frame = self._shown[0]
                try:
                    _native.deliver(self._shown, subscriber, frame)
                except BaseException as raised:
                    if error is None:
                        error = raised
                    else:
                        error.add_note(f"then a subscriber of on_step raised {type(raised).__name__}: {raised}")
            if error is not None:
                raise error

    def _call_handlers(self) -> None:
        actors, queue = self._actors, self._queue
        while queue:
            target, kind, first, second, records = queue[0]
            if isinstance(target, _Registration):
                if target.active:
                    _native.deliver(queue, target.function, Event(kind, first, second, records))
                else:
                    queue.popleft()
                continue
            actor = actors.kept(first)
            if actor is None:
                queue.popleft()
                continue
            other = actors.of_handle(second)
            if kind == "exit" or (actor.alive and other.alive):
                _native.deliver(queue, getattr(actor, f"on_{kind}"), other)
            else:
                queue.popleft()
        self._settle()

    def _calls(self, frame: Frame, change: Change) -> Any:
        """Decide which calls are made for a frame, and add to a change which pairs are open afterwards."""
        calls = _Calls(frame, self._columns.rows.generation, has_impacts=self._columns.ccd is not None)
        for watch in self._by_pair.values():
            chosen, pairs = watch.choose(self._match, calls.pairs)
            change.assign(watch, open=pairs)
            for kind, (places, is_swapped) in chosen.items():
                for registration in watch.registrations:
                    if registration.kind == kind:
                        calls.add(kind, places, registration, registration.number, is_swapped)
        self._choose_hooks(calls)
        self._choose_by_actor(calls, change)
        return calls.in_order(_FrameEvents(self._actors, self._scene, frame))

    def _choose_hooks(self, calls: _Calls) -> None:
        actors = self._actors
        for kind, hook in _HOOKS.items():
            if not actors.has(hook) or not len(pairs := calls.pairs(kind)):
                continue
            concerned = actors.overriding(pairs, hook)
            if kind == "exit":
                handles = calls.handles(kind)
                concerned = actors.waiting(handles) | concerned
                # A row may be in use again, by one that overrides what the removed one did not.
                for place, side in np.argwhere(concerned).tolist():
                    actor = actors.kept(int(handles[place, side]))
                    concerned[place, side] = actor is not None and bool(actor._hooks & EXIT)
            for side in range(2):
                places = np.flatnonzero(concerned[:, side])
                calls.add(kind, places, hook, side - 2, np.full(len(places), side == 1))

    def _choose_by_actor(self, calls: _Calls, change: Change) -> None:
        if not self._by_actor:
            return
        watched = np.array(list(self._by_actor), np.int64)
        opened = {one: set(one.open) for watch in self._by_actor.values() for one in watch.registrations}
        wants_stays = any(one.kind == "stay" for watch in self._by_actor.values() for one in watch.registrations)
        for kind in _KINDS:
            if (kind == "stay" and not wants_stays) or not len(calls.pairs(kind)):
                continue
            handles = calls.handles(kind)
            for place, side in np.argwhere(np.isin(handles, watched)).tolist():
                other = int(handles[place, 1 - side])
                for one in self._by_actor[int(handles[place, side])].registrations:
                    if one.takes(kind, other, self._match, opened[one]):
                        is_swapped = (side == 1) == one.is_first
                        calls.add(kind, np.array([place]), one, one.number, np.array([is_swapped]))
        for one, others in opened.items():
            change.set_slot(one, "open", others)

    def _registering_actor(self, kind: EventKind, first: Any, second: Any) -> Callable[[Function], Function]:
        is_first = isinstance(first, Actor)
        actor, other = (first, second) if is_first else (second, first)
        handle = other.handle if isinstance(other, Actor) else None
        name = "second" if is_first else "first"
        wanted = None if other is None or handle is not None else self._side(other, name)

        def register(function: Function) -> Function:
            open_now: set[int] = set()
            if wanted is not None and kind != "enter":
                partners = [one.handle for one in actor.touched()]
                rows = np.array(partners, np.int64) & _ROW
                is_open = np.broadcast_to(self._match(wanted, rows.astype(np.int32)), len(partners))
                open_now.update(compress(partners, is_open))
            number = next(self._numbers)
            registration = _ActorRegistration(kind, _checked(function), number, handle, wanted, is_first, open_now)
            self._by_actor.setdefault(actor.handle, _ActorWatch(actor)).registrations.append(registration)
            return function

        return register

    def _settle(self) -> None:
        """Drop what was kept for the events that have been delivered."""
        self._actors.let_go()
        for handle, watch in list(self._by_actor.items()):
            if not watch.actor.alive:
                watch.steps_removed += 1
                if watch.steps_removed > _STEPS_KEPT:
                    del self._by_actor[handle]


class _Calls:
    """The calls of one frame, collected by handler and put in the order of events.

    That is by kind, then by time, then by rows. The time is that of the impact, or the end of the step without one.
    """

    def __init__(self, frame: Frame, generations: NDArray[np.int64], *, has_impacts: bool) -> None:
        self._frame, self._has_impacts = frame, has_impacts
        self._pairs: dict[EventKind, Pairs] = {}
        self._handles: dict[EventKind, NDArray[np.int64]] = {}
        self._generations = generations
        self._parts: list[tuple[EventKind, NDArray[np.intp], Any, int, NDArray[np.bool_]]] = []

    def pairs(self, kind: EventKind) -> Pairs:
        """Give the pairs of a kind, shape (m, 2)."""
        if kind not in self._pairs:
            self._pairs[kind] = getattr(self._frame, kind)  # those that stay are computed when first read
        return self._pairs[kind]

    def handles(self, kind: EventKind) -> NDArray[np.int64]:
        """Give the handles of all pairs of a kind, shape (m, 2)."""
        if kind == "exit":
            return self._frame.exit_handles
        if kind not in self._handles:
            pairs = self.pairs(kind)
            self._handles[kind] = self._generations[pairs] << 32 | pairs
        return self._handles[kind]

    def add(
        self, kind: EventKind, places: NDArray[np.intp], target: Any, rank: int, is_swapped: NDArray[np.bool_]
    ) -> None:
        """Have a target called for some pairs of a kind; of the targets of one pair, those of low rank first."""
        if len(places):
            self._parts.append((kind, places, target, rank, is_swapped))

    def in_order(self, records: _FrameEvents) -> Any:
        """Give target, kind, handles and records of each call."""
        if not self._parts:
            return ()
        times = self._times_of_impacts()
        if len(self._parts) == 1:
            kind, places, target, _, is_swapped = self._parts[0]
            if kind in times:
                order = np.argsort(times[kind][places], kind="stable")
                places, is_swapped = places[order], is_swapped[order]
            first, second = _in_turn(self.handles(kind)[places], is_swapped)
            return zip(repeat(target), repeat(kind), first, second, repeat(records))
        parts = [
            np.stack(np.broadcast_arrays(_KINDS.index(kind), places, rank, number))
            for number, (kind, places, _, rank, _) in enumerate(self._parts)
        ]
        stage, place, rank, part = np.concatenate(parts, axis=1)
        is_swapped = np.concatenate([one[4] for one in self._parts])
        time = np.ones(len(place))
        for kind, of_pairs in times.items():
            here = stage == _KINDS.index(kind)
            time[here] = of_pairs[place[here]]
        order = np.lexsort((rank, place, time, stage))
        stage, place, part, is_swapped = stage[order], place[order], part[order], is_swapped[order]
        handles = np.empty((len(order), 2), np.int64)
        for number, kind in enumerate(_KINDS):
            here = stage == number
            if here.any():
                handles[here] = self.handles(kind)[place[here]]
        first, second = _in_turn(handles, is_swapped)
        targets = [self._parts[number][2] for number in part.tolist()]
        return zip(targets, [_KINDS[number] for number in stage.tolist()], first, second, repeat(records))

    def _times_of_impacts(self) -> dict[EventKind, NDArray[np.float64]]:
        """Give when the pairs of a kind met, as fractions of the step; only of kinds with pairs that had an impact."""
        times: dict[EventKind, NDArray[np.float64]] = {}
        impacts = self._frame.impacts if self._has_impacts else None
        if impacts is None or not len(impacts.pairs):
            return times
        keys = keys_of(impacts.pairs)
        for kind in {kind for kind, *_ in self._parts} - {"exit"}:
            pairs = keys_of(self.pairs(kind))
            met = _are_in(pairs, keys)
            if met.any():
                times[kind] = np.ones(len(pairs))
                times[kind][met] = impacts.times[np.searchsorted(keys, pairs[met])]
        return times


def _in_turn(handles: NDArray[np.int64], is_swapped: NDArray[np.bool_]) -> tuple[list[int], list[int]]:
    """Give the handles that are named first, and second."""
    if is_swapped.any():
        handles = np.where(is_swapped[:, np.newaxis], handles[:, ::-1], handles)
    return handles[:, 0].tolist(), handles[:, 1].tolist()


def _checked(function: Function) -> Function:
    if not callable(function):
        raise TypeError(f"a handler must be callable, not {quoted(function)}")
    if isinstance(function, type):
        raise TypeError(f"a handler must be a function, not the class {quoted(function)}")
    return function


def _are_in(values: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which values are among sorted ones."""
    if not len(among):
        return np.zeros(len(values), np.bool_)
    places = np.minimum(np.searchsorted(among, values), len(among) - 1)
    answer: NDArray[np.bool_] = among[places] == values
    return answer
