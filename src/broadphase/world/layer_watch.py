"""Which pairs the handlers of two layers are told of, found for all pairs at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from broadphase.world.memory import keys_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.world.records import Event

    Handler: TypeAlias = Callable[[Event], object]
    Pairs: TypeAlias = NDArray[np.int32]
    Chosen: TypeAlias = tuple[NDArray[np.intp], NDArray[np.bool_]]

__all__ = ["LayerWatch", "Registration"]


class Registration:
    """A function that wants to be called.

    Attributes
    ----------
    kind : {"enter", "stay", "exit"}
        At what.
    function : callable
        The handler.
    number : int
        Handlers of the same pair are called in this order.
    active : bool
        False after `World.off`.
    """

    __slots__ = ("active", "function", "kind", "number")

    def __init__(self, kind: str, function: Handler, number: int) -> None:
        self.kind, self.function, self.number, self.active = kind, function, number, True


class LayerWatch:
    """The handlers of one pair of layers.

    A pair is matched when it enters. What is wanted besides enters, the open pairs, is remembered from then on: so ends
    are told of just those pairs whose beginning was, whatever becomes of their rows and layers in between.

    Parameters
    ----------
    first, second : int
        Bits; the row that matches `first` is named first.
    """

    def __init__(self, first: int, second: int) -> None:
        self._first, self._second = np.uint64(first), np.uint64(second)
        self.registrations: list[Registration] = []
        self._keys: NDArray[np.int64] | None = None  # of open pairs, ascending; None: nobody asks
        self._is_swapped = np.zeros(0, np.bool_)

    def of_kind(self, kind: str) -> list[Registration]:
        """List the handlers of one kind."""
        return [registration for registration in self.registrations if registration.kind == kind]

    def add(self, registration: Registration, layers: NDArray[np.uint64], touching: Pairs) -> None:
        """Add a handler; one of stays or exits hears of the pairs that touch already."""
        if registration.kind != "enter" and self._keys is None:
            places, swapped = self._match(layers, touching)
            self._keys, self._is_swapped = keys_of(touching)[places], swapped
        self.registrations.append(registration)

    def forget_inactive(self) -> None:
        """Drop the handlers that are no longer active."""
        self.registrations = [registration for registration in self.registrations if registration.active]
        if all(registration.kind == "enter" for registration in self.registrations):
            self._keys, self._is_swapped = None, np.zeros(0, np.bool_)

    def choose(self, layers: NDArray[np.uint64], pairs_of: Callable[[str], Pairs]) -> dict[str, Chosen]:
        """Find the places of the pairs that match in the sorted arrays of a frame, and which are to be swapped.

        To be called once for each frame, with what gives its pairs of a kind.
        """
        chosen: dict[str, Chosen] = {}
        enters = pairs_of("enter")
        if self._keys is not None and len(self._keys):
            ended = keys_of(pairs_of("exit"))
            places = np.flatnonzero(_are_in(ended, self._keys))
            found = np.searchsorted(self._keys, ended[places])
            chosen["exit"] = places, self._is_swapped[found]
            if len(found):
                self._keys, self._is_swapped = np.delete(self._keys, found), np.delete(self._is_swapped, found)
            if self.of_kind("stay"):
                lasting = keys_of(pairs_of("stay"))
                open_still = _are_in(self._keys, lasting)  # what a step has put off is in neither list
                chosen["stay"] = np.searchsorted(lasting, self._keys[open_still]), self._is_swapped[open_still]
        if len(enters):
            places, swapped = chosen["enter"] = self._match(layers, enters)
            if self._keys is not None and len(places):
                keys = np.concatenate([self._keys, keys_of(enters)[places]])
                order = np.argsort(keys, kind="stable")
                self._keys, self._is_swapped = keys[order], np.concatenate([self._is_swapped, swapped])[order]
        return chosen

    def _match(self, layers: NDArray[np.uint64], pairs: Pairs) -> Chosen:
        one, other = layers[pairs[:, 0]], layers[pairs[:, 1]]
        forth = ((one & self._first) != 0) & ((other & self._second) != 0)
        back = ((other & self._first) != 0) & ((one & self._second) != 0)
        places = np.flatnonzero(forth | back)
        return places, ~forth[places]


def _are_in(values: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which values are among sorted ones."""
    if not len(among):
        return np.zeros(len(values), np.bool_)
    places = np.minimum(np.searchsorted(among, values), len(among) - 1)
    answer: NDArray[np.bool_] = among[places] == values
    return answer
