"""Who is called when things begin to touch, go on touching and part."""

from __future__ import annotations

from collections import deque
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.world.actor import HIT, SEPARATED, UPDATE, Actor
from broadphase.world.actor_watch import ActorRegistration, ActorWatch
from broadphase.world.layer_watch import LayerWatch, Registration
from broadphase.world.layers import ALL_BITS
from broadphase.world.records import Event, FrameRecords, StepInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.world.frame import Frame
    from broadphase.world.layer_watch import Handler, Pairs
    from broadphase.world.world import World

__all__ = ["Handlers"]

_KINDS = ("exit", "enter", "stay")  # in the order in which they are told
# What a handler removes parts from others only in the step after.
_STEPS_KEPT = 2


class Handlers:
    """The handlers of a world, and what they are still to be told.

    Whatever is to be called in a step is decided before the first call: a list of pairs of handles. So handlers may
    change the world at will, and if one raises, the rest of the list is still there.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._by_layers: dict[tuple[int, int], LayerWatch] = {}
        self._by_actor: dict[int, ActorWatch] = {}
        self._queue: deque[tuple[Any, str, int, int, FrameRecords]] = deque()
        self._number = 0
        self._is_calling = False
        # Of the last step, if a handler raised: who called `step` has not got it.
        self._frame: Frame | None = None

    def registering(self, kind: str, first: Any, second: Any) -> Callable[[Handler], Handler]:
        """Make the decorator that registers a handler."""
        for name in (first, second):
            if isinstance(name, Actor):
                self._world._actors.as_rows(name)
        if isinstance(first, Actor) or isinstance(second, Actor):
            return self._registering_actor(kind, first, second)
        layers = self._world._layers
        key = tuple(ALL_BITS if name is None else layers.bits(name) for name in (first, second))

        def register(function: Handler) -> Handler:
            registration = Registration(kind, _checked(function), self._next_number())
            watch = self._by_layers.setdefault((key[0], key[1]), LayerWatch(key[0], key[1]))
            watch.add(registration, self._world.layers, self._world.touching)
            return function

        return register

    def off(self, function: Handler) -> int:
        """End all registrations of a handler; say how many there were."""
        count = 0
        watches: list[LayerWatch | ActorWatch] = [*self._by_layers.values(), *self._by_actor.values()]
        for watch in watches:
            for registration in watch.registrations:
                if registration.function == function:
                    registration.active = False
                    count += 1
        for key, by_layers in list(self._by_layers.items()):
            by_layers.forget_inactive()
            if not by_layers.registrations:
                del self._by_layers[key]
        for handle, by_actor in list(self._by_actor.items()):
            by_actor.registrations = [registration for registration in by_actor.registrations if registration.active]
            if not by_actor.registrations:
                del self._by_actor[handle]
        return count

    def before_step(self, dt: float) -> None:
        """Deliver what an exception has left over, and let actors update themselves."""
        if self._is_calling:
            raise RuntimeError("step() was called by a handler: the events of the last step are still being handed out")
        if self._queue:
            self._deliver()
        self._frame = None
        world = self._world
        if world._actors.has(UPDATE):
            info = StepInfo(dt, world.time, world.frame_number + 1, world)
            self._is_calling = True
            try:
                for actor in world._actors.with_hook(UPDATE):
                    if actor.alive:
                        actor.update(info)
            finally:
                self._is_calling = False

    def dispatch(self, frame: Frame) -> None:
        """Call hooks and handlers for the events of a frame."""
        actors = self._world._actors
        if self._by_layers or self._by_actor or actors.has(HIT) or actors.has(SEPARATED):
            self._queue.extend(self._calls(frame))
        self._frame = frame
        self._deliver()
        self._frame = None

    def _deliver(self) -> None:
        actors, queue = self._world._actors, self._queue
        self._is_calling = True
        try:
            while queue:
                target, kind, first, second, records = queue.popleft()
                if isinstance(target, Registration):
                    if target.active:
                        target.function(Event(kind, first, second, records))
                    continue
                actor = actors.kept(first)
                if actor is None:
                    continue
                other = actors.of_handle(second)
                if target == SEPARATED:
                    actor.separated(other)
                elif actor.alive and other.alive:
                    actor.hit(other)
        finally:
            self._is_calling = False
        self._forget_removed()
        actors.let_go()

    def _calls(self, frame: Frame) -> Any:
        calls = _Calls(frame, self._world.generations)
        layers = self._world.layers
        for watch in self._by_layers.values():
            chosen = watch.choose(layers, calls.pairs)
            for kind, (places, is_swapped) in chosen.items():
                for registration in watch.of_kind(kind):
                    calls.add(kind, places, registration, registration.number, is_swapped)
        self._choose_hooks(calls)
        self._choose_by_actor(calls)
        return calls.in_order(FrameRecords(self._world, frame))

    def _choose_hooks(self, calls: _Calls) -> None:
        actors = self._world._actors
        for kind, hook in (("exit", SEPARATED), ("enter", HIT), ("stay", HIT)):
            if not actors.has(hook) or not len(pairs := calls.pairs(kind)):
                continue
            concerned = actors.overriding(pairs, hook)
            if hook == SEPARATED:
                handles = calls.handles(kind)
                concerned = actors.left(handles) | concerned
                # A row may be in use again, by one that overrides what the removed one did not.
                for place, side in np.argwhere(concerned).tolist():
                    actor = actors.kept(int(handles[place, side]))
                    concerned[place, side] = actor is not None and bool(actor._hooks & SEPARATED)
            for side in range(2):
                places = np.flatnonzero(concerned[:, side])
                calls.add(kind, places, hook, side - 2, np.full(len(places), side == 1))

    def _choose_by_actor(self, calls: _Calls) -> None:
        if not self._by_actor:
            return
        watched = np.array(list(self._by_actor), np.int64)
        layers = self._world.layers
        wants_stays = any(one.kind == "stay" for watch in self._by_actor.values() for one in watch.registrations)
        for kind in _KINDS:
            if (kind == "stay" and not wants_stays) or not len(calls.pairs(kind)):
                continue
            handles = calls.handles(kind)
            for place, side in np.argwhere(np.isin(handles, watched)).tolist():
                other = int(handles[place, 1 - side])
                layer = int(layers[other & 0xFFFF_FFFF])
                for registration in self._by_actor[int(handles[place, side])].choose(kind, other, layer):
                    is_swapped = (side == 1) == registration.is_first
                    calls.add(kind, np.array([place]), registration, registration.number, np.array([is_swapped]))

    def _registering_actor(self, kind: str, first: Any, second: Any) -> Callable[[Handler], Handler]:
        is_first = isinstance(first, Actor)
        actor, other = (first, second) if is_first else (second, first)
        handle = other.handle if isinstance(other, Actor) else None
        bits = None if other is None or handle is not None else self._world._layers.bits(other)

        def register(function: Handler) -> Handler:
            registration = ActorRegistration(kind, _checked(function), self._next_number(), handle, bits, is_first)
            if bits is not None and kind != "enter":
                partners = actor.touching()
                registration.open.update(one.handle for one in partners if bits & int(self._world.layers[one.row]))
            watch = self._by_actor.setdefault(actor.handle, ActorWatch(actor))
            watch.registrations.append(registration)
            return function

        return register

    def _forget_removed(self) -> None:
        for handle, watch in list(self._by_actor.items()):
            if not watch.actor.alive:
                watch.steps_gone += 1
                if watch.steps_gone > _STEPS_KEPT:
                    del self._by_actor[handle]

    def _next_number(self) -> int:
        self._number += 1
        return self._number


class _Calls:
    """Calls to be made, collected by handler and put in the order of events."""

    def __init__(self, frame: Frame, generations: NDArray[np.int64]) -> None:
        self._frame = frame
        self._pairs: dict[str, Pairs] = {}
        self._handles = {"exit": frame.exit_handles}
        self._generations = generations
        self._targets: list[Any] = []
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.bool_]]] = []

    def pairs(self, kind: str) -> Pairs:
        """Give the pairs of a kind, shape (m, 2)."""
        if kind not in self._pairs:
            self._pairs[kind] = getattr(self._frame, kind)  # those that stay are put together only when asked for
        return self._pairs[kind]

    def handles(self, kind: str) -> NDArray[np.int64]:
        """Give the handles of all pairs of a kind, shape (m, 2)."""
        if kind not in self._handles:
            pairs = self.pairs(kind)
            self._handles[kind] = self._generations[pairs] << 32 | pairs
        return self._handles[kind]

    def add(self, kind: str, places: NDArray[np.intp], target: Any, rank: int, is_swapped: NDArray[np.bool_]) -> None:
        """Have a target called for some pairs of a kind; of the targets of one pair, those of low rank first."""
        if len(places):
            part = np.empty((4, len(places)), np.int64)
            part[0], part[1], part[2], part[3] = _KINDS.index(kind), places, rank, len(self._targets)
            self._targets.append(target)
            self._parts.append((part, is_swapped))

    def in_order(self, records: FrameRecords) -> Any:
        """Give target, kind, handles and records of each call."""
        if not self._parts:
            return ()
        stage, place, rank, target = np.concatenate([part for part, _ in self._parts], axis=1)
        is_swapped = np.concatenate([swapped for _, swapped in self._parts])
        order = np.lexsort((rank, place, stage))
        stage, place, target, is_swapped = stage[order], place[order], target[order], is_swapped[order]
        handles = np.empty((len(order), 2), np.int64)
        for number, kind in enumerate(_KINDS):
            here = stage == number
            if here.any():
                handles[here] = self.handles(kind)[place[here]]
        first, second = (np.where(is_swapped, handles[:, side], handles[:, 1 - side]).tolist() for side in (1, 0))
        targets = [self._targets[number] for number in target.tolist()]
        return zip(targets, [_KINDS[number] for number in stage.tolist()], first, second, repeat(records))


def _checked(function: Handler) -> Handler:
    if not callable(function):
        raise TypeError(f"a handler must be callable, not {function!r}")
    return function
