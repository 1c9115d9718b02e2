"""The actors of a world: made when asked for, and kept only where something would be lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import KeyedRef

import numpy as np

from broadphase.errors import UnknownRowError
from broadphase.world.actor import HIT, RENDER, SEPARATED, UPDATE, Actor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.world.world import World

__all__ = ["Actors"]


class Actors:
    """Finds the actor of a row, and the actors that have something to do."""

    def __init__(self, world: World) -> None:
        self._world = world
        # As a WeakValueDictionary, at half its cost.
        self._seen: dict[int, KeyedRef[int, Actor]] = {}
        self._held: dict[int, Actor] = {}
        # Of the removed, those of this step and of the last: their pairs are still to end.
        self._gone: dict[int, Actor] = {}
        self._gone_before: dict[int, Actor] = {}
        self._hooks = np.zeros(0, np.uint8)  # what the actor of each row overrides, as far as any has been attached
        self._counts = dict.fromkeys((UPDATE, HIT, SEPARATED, RENDER), 0)

    def __bool__(self) -> bool:
        """Whether any is held: whether removals are to be told."""
        return bool(self._held)

    def prepare(self, actor: type[Actor] | Actor) -> Actor:
        """Make an actor that is in no world yet, or check that one is in none."""
        if isinstance(actor, type) and issubclass(actor, Actor):
            actor = actor()
        if not isinstance(actor, Actor):
            raise TypeError(f"actor must be a class derived from Actor, or an object of one, not {actor!r}")
        if actor._world is not None:
            raise ValueError(f"{actor!r} belongs to a row already")
        return actor

    def attach(self, actor: Actor, row: int, data: Any = None) -> Actor:
        """Give a prepared actor its row."""
        actor._world = self._world
        actor._handle = self._handle(row)
        if data is not None:
            actor._data = data
        self._note(actor)
        hooks = type(actor)._hooks
        if hooks:
            self._reserve(row + 1)
            self._hooks[row] = hooks
            for hook in self._counts:
                self._counts[hook] += bool(hooks & hook)
        self.hold(actor)
        return actor

    def hold(self, actor: Actor) -> None:
        """Keep an actor that nobody could make again; let go of one that has nothing to keep any more."""
        if actor._data is not None or type(actor) is not Actor:
            self._held[actor._handle] = actor
        else:
            self._held.pop(actor._handle, None)

    def get(self, row: int) -> Actor:
        """Get the actor of a row that is in use."""
        return self.of_handle(self._handle(row))

    def of_handle(self, handle: int) -> Actor:
        """Get the actor of a handle, of what has been removed, too."""
        reference = self._seen.get(handle)  # whoever is held is seen
        actor = None if reference is None else reference()
        if actor is None:
            actor = Actor()
            actor._world, actor._handle = self._world, handle
            self._note(actor)
        return actor

    def kept(self, handle: int) -> Actor | None:
        """Get the actor of a handle if the world keeps it, or kept it until it was removed."""
        actor = self._held.get(handle)
        if actor is None and (self._gone or self._gone_before):
            actor = self._gone.get(handle)
            return self._gone_before.get(handle) if actor is None else actor
        return actor

    def data(self) -> dict[int, Any]:
        """Give what is kept with each row that has any."""
        return {handle & 0xFFFF_FFFF: actor._data for handle, actor in self._held.items() if actor._data is not None}

    def set_data(self, row: int, value: Any) -> None:
        """Keep something with a row, as `Actor.data`."""
        self.get(row).data = value

    def forget(self, handles: NDArray[np.int64]) -> None:
        """Let go of actors that have been removed; what is left to tell them, they hear at the next step."""
        if len(handles) > len(self._held):
            named = set(handles.tolist())
            gone = [handle for handle in self._held if handle in named]
        else:
            gone = [handle for handle in handles.tolist() if handle in self._held]
        for handle in gone:
            actor = self._held.pop(handle)
            self._gone[handle] = actor
            if hooks := type(actor)._hooks:
                self._hooks[handle & 0xFFFF_FFFF] = 0
                for hook in self._counts:
                    self._counts[hook] -= bool(hooks & hook)

    def let_go(self) -> None:
        """Drop those that were removed before the last step: their pairs have ended."""
        self._gone_before, self._gone = self._gone, {}

    def has(self, hook: int) -> bool:
        """Whether there is an actor that overrides a hook, or was, when its pairs still touched."""
        return self._counts[hook] > 0 or (hook == SEPARATED and bool(self._gone or self._gone_before))

    def with_hook(self, hook: int) -> list[Actor]:
        """List the actors that override a hook, in the order of rows."""
        if not self._counts[hook]:
            return []
        rows = np.flatnonzero(self._hooks & hook)
        return [self._held[self._handle(row)] for row in rows.tolist()]

    def overriding(self, rows: NDArray[np.int32], hook: int) -> NDArray[np.bool_]:
        """Tell which rows have actors that override a hook, in the shape of `rows`."""
        self._reserve(self._world.slots)
        answer: NDArray[np.bool_] = (self._hooks[rows] & hook) != 0
        return answer

    def left(self, handles: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which handles are of kept actors that have been removed, in the shape of `handles`."""
        gone = [*self._gone, *self._gone_before]
        if not gone:
            return np.zeros(handles.shape, np.bool_)
        return np.isin(handles, np.array(gone, np.int64))

    def as_rows(self, value: Any) -> Any:
        """Turn an actor, or a list of actors, into rows; anything else stays as it is.

        Raises
        ------
        UnknownRowError
            An actor that has been removed, or is of another world.
        """
        if isinstance(value, Actor):
            return np.array([self._own_row(value)], np.int32)
        if isinstance(value, list | tuple | set | frozenset) and any(isinstance(part, Actor) for part in value):
            return np.array([self._own_row(part) if isinstance(part, Actor) else part for part in value], np.int32)
        return value

    def _note(self, actor: Actor) -> None:
        self._seen[actor._handle] = KeyedRef(actor, self._overlook, actor._handle)

    def _overlook(self, reference: KeyedRef[int, Actor]) -> None:
        """Drop the reference to an actor that is no more, unless another is in its place."""
        if self._seen.get(reference.key) is reference:
            del self._seen[reference.key]

    def _own_row(self, actor: Actor) -> int:
        if actor._world is not None and actor._world is not self._world:
            raise UnknownRowError(f"{actor!r} is in another world")
        return actor.row

    def _handle(self, row: int) -> int:
        return int(self._world._columns.rows.generation[row]) << 32 | row

    def _reserve(self, slots: int) -> None:
        if slots > len(self._hooks):
            more = np.zeros(max(slots, len(self._hooks) * 3 // 2, 16) - len(self._hooks), np.uint8)
            self._hooks = np.concatenate([self._hooks, more])
