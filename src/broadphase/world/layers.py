"""Layers by name: which bit each name stands for, and which layers have priority."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from broadphase.arguments import as_array, as_whole
from broadphase.errors import quoted, unknown_name
from broadphase.filters import ALL_BITS, as_attribute

if TYPE_CHECKING:
    from collections.abc import Iterator, Set as AbstractSet

    from numpy.typing import NDArray

    LayerNames: TypeAlias = str | int | AbstractSet[str]

__all__ = ["Layers"]

_MOST_LAYERS = 64
_DEFAULT = "default"


class Layers:
    """The names of a world's layers: each is one of 64 bits, in the order in which they were declared.

    Bit 0 is "default", the layer of bodies that are given none: a mask that names other layers leaves them out.

    >>> layers = Layers()
    >>> layers.add("ball"), layers.add("wall"), layers.bits({"ball", "wall"}), layers.names
    (2, 4, 6, ('default', 'ball', 'wall'))
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {_DEFAULT: 0}
        self._priorities: list[int] = [0]

    @property
    def names(self) -> tuple[str, ...]:
        """All names; a name's place is the number of its bit."""
        return tuple(self._numbers)

    @property
    def has_priorities(self) -> bool:
        """Whether any layer has a priority other than 0."""
        return any(self._priorities)

    def add(self, name: str, priority: int | None = None) -> int:
        """Declare a layer, unless there is one of this name, as `World.layer` does, and give its bit."""
        if not isinstance(name, str):
            raise TypeError(f"the name of a layer must be a str, not {quoted(name)}")
        if name in ("", "all"):
            raise ValueError(f"{name!r} cannot be the name of a layer")
        if priority is not None:
            priority = as_whole(priority, f"the priority of layer {name!r}", -(2**63), 2**63 - 1)
        if name not in self._numbers:
            if len(self._numbers) == _MOST_LAYERS:
                raise ValueError(f"no bit is left for layer {quoted(name)}: all {_MOST_LAYERS} have names")
            self._numbers[name] = len(self._numbers)
            self._priorities.append(0)
        number = self._numbers[name]
        if priority is not None:
            self._priorities[number] = priority
        return 1 << number

    def with_names(self, value: Any) -> Layers:
        """Give layers in which all names of `value` are declared: these, or a copy if one is not declared here."""
        unknown = [name for name in _names_in(value) if name != "all" and name not in self._numbers]
        if not unknown:
            return self
        more = self.copy()
        for name in unknown:
            more.add(name)
        return more

    def bits(self, value: Any, what: str = "layer") -> int:
        """Turn a name, a set of names, "all" or an integer, of which -1 is all bits, into bits.

        Raises ValueError for a name that is not declared, and for an integer of more than 64 bits; `what` is the
        argument.
        """
        if isinstance(value, str):
            if value == "all":
                return ALL_BITS
            if value not in self._numbers:
                prefix = "" if what == "layer" else f"{what}: "
                hint = "; World.layer declares layers, and so does layer= in add"
                raise ValueError(f"{prefix}{unknown_name('layer', value, self.names)}{hint}")
            return 1 << self._numbers[value]
        if isinstance(value, set | frozenset):
            joined = 0
            for part in value:
                joined |= self.bits(part, what)
            return joined
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            number = int(value)
            if not -(1 << 63) <= number <= ALL_BITS:
                raise ValueError(f"{what}: {quoted(number)} does not fit in 64 bits")
            return number & ALL_BITS
        raise TypeError(f"{what} must be a layer's name, a set of names or an integer, not {quoted(value)}")

    def known_bits(self, value: Any, default: int) -> int | None:
        """Turn a name, a set of names or an int into bits, and None into a default; None for anything else.

        >>> layers = Layers()
        >>> [layers.known_bits(one, 7) for one in ("default", {"default"}, "all", 5, None, "ball", -1, 2.0)]
        [1, 1, 18446744073709551615, 5, 7, None, None, None]
        """
        if value is None:
            return default
        if type(value) is str:
            number = self._numbers.get(value)
            return (ALL_BITS if value == "all" else None) if number is None else 1 << number
        if type(value) is set or type(value) is frozenset:
            joined = 0
            for part in value:
                if (bits := self.known_bits(part, -1)) is None or part is None:
                    return None
                joined |= bits
            return joined
        return value if type(value) is int and 0 <= value <= ALL_BITS else None

    def bits_of_rows(self, value: Any, count: int, what: str) -> NDArray[np.uint64]:
        """Give the bits of rows, given for all or for each; None is "default" for layers, and all bits for masks."""
        if value is None:
            return np.full(count, ALL_BITS if what == "mask" else 1, np.uint64)
        return self._array(value, count, what)

    def bits_of_queries(self, value: Any, count: int, what: str) -> NDArray[np.uint64]:
        """Give the bits of `count` queries, as `bits_of_rows`, but None is all bits."""
        return self._array("all" if value is None else value, count, what)

    def ranks(self) -> NDArray[np.uint8]:
        """Give the ranks of priorities, 0 the lowest.

        Of each of 64 bits, 255 for one without a name; of rows in no layer with a name; and how many ranks there are.

        >>> layers = Layers()
        >>> layers.add("player", priority=9), layers.add("smoke", priority=-2)
        (2, 4)
        >>> ranks = layers.ranks()
        >>> ranks[:4], ranks[64:]
        (array([  1,   2,   0, 255], dtype=uint8), array([1, 3], dtype=uint8))
        """
        priorities = sorted({0, *self._priorities})
        ranks = np.full(66, 255, np.uint8)
        ranks[: len(self._priorities)] = [priorities.index(priority) for priority in self._priorities]
        ranks[64:] = priorities.index(0), len(priorities)
        return ranks

    def describe(self, bits: int) -> str | frozenset[str] | int:
        """Say what bits stand for: "all", a name, a set of names, or the integer itself where a bit has no name.

        >>> layers = Layers()
        >>> [layers.describe(bits) for bits in (1, 2, layers.bits("all"))]
        ['default', 2, 'all']
        """
        if bits == ALL_BITS:
            return "all"
        named = [name for number, name in enumerate(self._numbers) if bits >> number & 1]
        if not bits or bits >> len(self._numbers):
            return bits
        return named[0] if len(named) == 1 else frozenset(named)

    def state(self) -> dict[str, list[Any]]:
        """Give names and priorities, to be stored and made from again."""
        return {"names": list(self._numbers), "priorities": list(self._priorities)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Make the layers that `state` describes; a state that no layers have raises ValueError."""
        layers = cls()
        try:
            for name, priority in zip(state["names"], state["priorities"], strict=True):
                layers.add(name, priority)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"layers: {error}") from None
        if layers.state() != state:
            raise ValueError("layers: no different names and their priorities, 'default' first")
        return layers

    def copy(self) -> Layers:
        """Give layers with the same names and priorities."""
        more = Layers()
        more._numbers, more._priorities = dict(self._numbers), list(self._priorities)
        return more

    def _array(self, value: Any, count: int, what: str) -> NDArray[np.uint64]:
        if isinstance(value, str | set | frozenset) or as_array(value, what).ndim == 0:
            # Through Python's integers, because of bits past int64.
            return np.full(count, np.uint64(self.bits(_plain(value), what)), np.uint64)
        if _is_of_names(value):
            if len(value) != count:
                hint = "several layers of one row are a set of names"
                raise ValueError(f"{what}: {len(value)} names for {count} rows; {hint}")
            return np.array([self.bits(_plain(part), what) for part in value], np.uint64)
        array: NDArray[np.uint64] = as_attribute(what, value, count, np.uint64)
        return array.copy()


def _names_in(value: Any) -> Iterator[str]:
    """Give the names in what a user wrote as `layer`, each once, those of a set in alphabetic order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, set | frozenset):
        yield from sorted(part for part in value if isinstance(part, str))
    elif as_array(value, "layer").ndim and _is_of_names(value):
        for part in value:
            yield from _names_in(_plain(part))


def _plain(value: Any) -> Any:
    is_number = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim)
    return value.item() if is_number else value


def _is_of_names(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "UO"
    return any(isinstance(part, str | set | frozenset) for part in value)
