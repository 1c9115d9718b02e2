"""Which events the handlers of single actors are told of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broadphase.world.layer_watch import Registration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broadphase.world.actor import Actor
    from broadphase.world.layer_watch import Handler

__all__ = ["ActorRegistration", "ActorWatch"]


class ActorRegistration(Registration):
    """A function that wants to be called about one actor.

    Attributes
    ----------
    handle : int or None
        The other that it must touch; None for any.
    bits : int or None
        The layers that the other must be in; None for any.
    is_first : bool
        Whether the actor is named first in the event.
    open : set of int
        Where there are bits, the others that matched when they entered: whatever becomes of their layers.
    """

    __slots__ = ("bits", "handle", "is_first", "open")

    def __init__(
        self, kind: str, function: Handler, number: int, handle: int | None, bits: int | None, is_first: bool
    ) -> None:
        super().__init__(kind, function, number)
        self.handle, self.bits, self.is_first = handle, bits, is_first
        self.open: set[int] = set()

    def takes(self, kind: str, other: int, layer: int) -> bool:
        """Say whether an event is wanted, and remember what is to be told of later."""
        if self.handle is not None and self.handle != other:
            return False
        if self.bits is not None:
            if kind == "enter":
                if not self.bits & layer:
                    return False
                if self.kind != "enter":
                    self.open.add(other)
            elif other not in self.open:
                return False
            elif kind == "exit":
                self.open.discard(other)
        return kind == self.kind


class ActorWatch:
    """The handlers of one actor, which is kept for them."""

    __slots__ = ("actor", "registrations", "steps_gone")

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        self.registrations: list[ActorRegistration] = []
        self.steps_gone = 0

    def choose(self, kind: str, other: int, layer: int) -> Iterator[ActorRegistration]:
        """Give the handlers that want an event with this other."""
        for registration in self.registrations:
            if registration.takes(kind, other, layer):
                yield registration
