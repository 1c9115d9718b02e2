"""Layers by name: which bit each name stands for, and how urgent it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from broadphase.filters import as_attribute

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["ALL_BITS", "Layers"]

ALL_BITS = 0xFFFF_FFFF_FFFF_FFFF
_MOST_LAYERS = 64
_DEFAULT = "default"


class Layers:
    """The names of a world's layers: each is one of 64 bits, in order of first use.

    Bit 0 is "default", the layer of what is given none: so a mask that names other layers leaves it out.

    Examples
    --------
    >>> layers = Layers()
    >>> layers.add("ball"), layers.bits({"ball", "wall"}), layers.names
    (2, 6, ('default', 'ball', 'wall'))
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
        """Whether any layer is more urgent than another."""
        return any(self._priorities)

    def add(self, name: str, priority: int | None = None) -> int:
        """Get the bit of a layer, which is made if there is none of that name.

        Parameters
        ----------
        name : str
            Not "all", which stands for every bit.
        priority : int, optional
            How urgent its rows are where a step has a budget: high first. Unset: as it is, and 0 at first.

        Returns
        -------
        int
            The bit: a power of two.

        Raises
        ------
        ValueError
            All 64 bits have names, or the name is none.
        """
        if not isinstance(name, str):
            raise TypeError(f"a layer's name is a str, not {type(name).__name__}")
        if name in ("", "all"):
            raise ValueError(f"{name!r} cannot be the name of a layer")
        if name not in self._numbers:
            if len(self._numbers) == _MOST_LAYERS:
                raise ValueError(f"no bit is left for layer {name!r}: all {_MOST_LAYERS} have names")
            self._numbers[name] = len(self._numbers)
            self._priorities.append(0)
        number = self._numbers[name]
        if priority is not None:
            self._priorities[number] = int(priority)
        return 1 << number

    def bits(self, value: Any, what: str = "layer", *, known: bool = False) -> int:
        """Turn a name, a set of names, "all" or an integer into bits.

        Parameters
        ----------
        value : str, set, frozenset, int
            What the caller wrote. Bits are bits: -1 is all of them.
        what : str
            Its name, for messages.
        known : bool
            Whether names must exist already: in questions, where one that does not is a slip of the pen.

        Returns
        -------
        int
            From 0 to 2**64 - 1.

        Raises
        ------
        ValueError
            A name that is unknown, or too many names, or an integer of more than 64 bits.
        TypeError
            Anything else.
        """
        if isinstance(value, str):
            if value == "all":
                return ALL_BITS
            if known and value not in self._numbers:
                raise ValueError(f"{what}: no layer is called {value!r}; there are {', '.join(map(repr, self.names))}")
            return self.add(value)
        if isinstance(value, set | frozenset):
            joined = 0
            for part in sorted(value, key=str):  # the same bits for the same names, whatever the order of a set
                joined |= self.bits(part, what, known=known)
            return joined
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            number = int(value)
            if not -(1 << 63) <= number <= ALL_BITS:
                raise ValueError(f"{what}: {number} does not fit in 64 bits")
            return number & ALL_BITS
        raise TypeError(f"{what} must be a layer's name, a set of names or an integer, not {type(value).__name__}")

    def bits_of_rows(self, value: Any, count: int, what: str) -> NDArray[np.uint64]:
        """Give the bits of `count` rows; names that are unknown are made.

        Parameters
        ----------
        value : str, set, int, None, or array_like of shape (count,)
            For all rows, or for each one. None: "default" for layers, all bits for masks.
        count : int
            How many rows.
        what : {"layer", "mask"}
            Which of the two it is.

        Returns
        -------
        ndarray, shape (count,), uint64
            A new array.
        """
        if value is None:
            return np.full(count, ALL_BITS if what == "mask" else 1, np.uint64)
        return self._array(value, count, what, known=False)

    def bits_of_questions(self, value: Any, count: int, what: str) -> NDArray[np.uint64]:
        """Give the bits of `count` questions, as `bits_of_rows`, but names must be known, and None is all bits."""
        return self._array("all" if value is None else value, count, what, known=True)

    def priorities_of(self, bits: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Give the priority of rows: that of the most urgent of their layers, 0 for those in no layer with a name.

        Examples
        --------
        >>> layers = Layers()
        >>> layers.add("player", priority=9)
        2
        >>> layers.priorities_of(np.array([1, 2, 3, 64], np.uint64))
        array([0, 9, 9, 0])
        """
        if not self.has_priorities:
            return np.zeros(len(bits), np.int64)
        lowest = np.iinfo(np.int64).min
        result = np.full(len(bits), lowest, np.int64)
        for number, priority in enumerate(self._priorities):
            inside = (bits & np.uint64(1 << number)) != 0
            np.maximum(result, priority, out=result, where=inside)
        result[result == lowest] = 0
        return result

    def describe(self, bits: int) -> str | frozenset[str] | int:
        """Say what bits stand for: "all", a name, a set of names, or the integer itself where a bit has no name.

        Examples
        --------
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
        """Make the layers that `state` describes.

        Raises
        ------
        ValueError
            A state that no layers have.
        """
        layers = cls()
        names, priorities = state.get("names"), state.get("priorities")
        if not isinstance(names, list) or not isinstance(priorities, list) or names[:1] != [_DEFAULT]:
            raise ValueError("layers: no names and priorities, or not 'default' first")
        if len(set(map(str, names))) != len(names) or len(names) != len(priorities):
            raise ValueError(f"layers: {len(names)} different names are needed for {len(priorities)} priorities")
        for name, priority in zip(names, priorities, strict=True):
            if not isinstance(name, str) or not isinstance(priority, int):
                raise ValueError(f"layers: {name!r} with priority {priority!r}")
            layers.add(name, priority)
        return layers

    def _array(self, value: Any, count: int, what: str, *, known: bool) -> NDArray[np.uint64]:
        if isinstance(value, str | set | frozenset) or np.ndim(value) == 0:
            # Through Python's integers, because of bits past int64.
            return np.full(count, np.uint64(self.bits(_plain(value), what, known=known)), np.uint64)
        if _is_of_names(value):
            parts = _one_each(value, count, what)
            return np.array([self.bits(_plain(part), what, known=known) for part in parts], np.uint64)
        array: NDArray[np.uint64] = as_attribute(what, value, count, np.uint64)
        return array.copy()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray | np.generic) else value


def _is_of_names(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "UO"
    return any(isinstance(part, str | set | frozenset) for part in value)


def _one_each(value: Any, count: int, what: str) -> Iterable[Any]:
    if len(value) != count:
        raise ValueError(f"{what}: {len(value)} names for {count} rows; several layers of one row are a set of names")
    parts: Iterable[Any] = value
    return parts
