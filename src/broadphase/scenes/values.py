"""The values of a scene file: checked, or refused with the file, the table and the key named."""

from __future__ import annotations

import math
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import FileFormatError, quoted, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from numpy.typing import NDArray

    from broadphase.testing.draws import Draws

__all__ = ["REQUIRED", "Spread", "Table", "grid", "number_spread", "point", "vector_spread"]


REQUIRED: Any = object()
"""The default of a key that must be there."""


class Table:
    """The keys and values of a table: read each key that it may have, then call `finish`.

    Errors name the file, `source`, and the table, such as ``[world]``.

    >>> world = Table({"dim": 2, "stops": 5}, "crowd.toml", "[world]")
    >>> world.integer("dim", least=2), world.integer("steps", 600)
    (2, 600)
    >>> world.finish()
    Traceback (most recent call last):
    broadphase.errors.FileFormatError: crowd.toml, [world]: unknown key 'stops' (did you mean 'steps'?)
    """

    def __init__(self, values: Any, source: str, name: str) -> None:
        self.source = source
        self.name = name
        self._values: dict[str, Any] = {}
        self._known: list[str] = []
        if not isinstance(values, dict):
            raise FileFormatError(f"{source}, {name}: must be a table, not {_type_name(values)}")
        self._values = values

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def wrong(self, key: str, problem: str) -> FileFormatError:
        """Make the error for the value of a key."""
        return FileFormatError(f"{self.source}, {self.name}, {key}: {problem}")

    def unknown(self, key: str, value: str, choices: Iterable[str]) -> FileFormatError:
        """Make the error for a name that does not exist; it suggests the nearest."""
        return FileFormatError(f"{self.source}, {self.name}: {unknown_name(key, value, choices)}")

    def take(self, key: str, default: Any = REQUIRED) -> Any:
        """Return the value of a key, unchecked, or the default."""
        self._known.append(key)
        if key in self._values:
            if self._values[key] is None:
                raise self.wrong(key, "must not be null: omit it")
            return self._values[key]
        if default is REQUIRED:
            others = [other for other in self._values if other not in self._known]
            similar = get_close_matches(key, others, n=1, cutoff=0.75)
            raise self.wrong(key, f"is missing (there is {quoted(similar[0])})" if similar else "is missing")
        return default

    def finish(self) -> None:
        """Raise an error if there are keys that were not read."""
        for key in self._values:
            if key not in self._known:
                raise FileFormatError(f"{self.source}, {self.name}: {unknown_name('key', key, self._known)}")

    def integer(self, key: str, default: Any = REQUIRED, *, least: int = 0, most: int = 2**31 - 1) -> int:
        """Return an integer from `least` to `most`."""
        wanted = f"an integer from {least}{'' if most == 2**31 - 1 else f' to {most}'}"
        value: int = self._checked(key, default, wanted, lambda one: type(one) is int and least <= one <= most)
        return value

    def number(self, key: str, default: Any = REQUIRED, *, least: float = -math.inf) -> float:
        """Give a finite number from `least` on."""
        wanted = "a number" if least == -math.inf else f"a number from {least:g} on"
        value = self._checked(key, default, wanted, lambda one: is_number(one) and one >= least)
        return value if value is default else float(value)

    def boolean(self, key: str, default: Any = REQUIRED) -> bool:
        """Return true or false."""
        value: bool = self._checked(key, default, "true or false", lambda one: isinstance(one, bool))
        return value

    def _checked(self, key: str, default: Any, wanted: str, is_right: Callable[[Any], bool]) -> Any:
        value = self.take(key, default)
        if value is not default and not is_right(value):
            raise self.wrong(key, f"must be {wanted}{_but_not(value)}")
        return value

    def string(self, key: str, default: Any = REQUIRED, *, choices: Collection[str] | None = None) -> str:
        """Return a string that is not empty; with `choices`, one of them."""
        value: str = self._checked(key, default, "a string", lambda one: isinstance(one, str) and one != "")
        if value is not default and choices is not None and value not in choices:
            raise self.unknown(key, value, choices)
        return value

    def strings(self, key: str, default: Any = REQUIRED, *, choices: Collection[str] | None = None) -> tuple[str, ...]:
        """Return one string or several, as a tuple."""
        value = self.take(key, default)
        if value is default:
            return value  # type: ignore[no-any-return]
        strings = value if isinstance(value, list) else [value]
        for text in strings:
            if not isinstance(text, str) or not text:
                raise self.wrong(key, f"must be a string or a list of strings{_but_not(text)}")
            if choices is not None and text not in choices:
                raise self.unknown(key, text, choices)
        return tuple(strings)

    def table(self, key: str, default: Any = REQUIRED) -> Table:
        """Return a table within this one."""
        return Table(self.take(key, default), self.source, f"{self.name}, {key}")

    def tables(self, key: str) -> list[Table]:
        """Return a list of tables; empty if the key is missing."""
        value = self.take(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, f"must be a list of tables: write [[{key}]]{_but_not(value)}")
        return [Table(one, self.source, f"[[{key}]] {number}") for number, one in enumerate(value, 1)]


def is_number(value: Any) -> bool:
    """Return True for a finite number; booleans are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _type_name(value: Any) -> str:
    names = {bool: "true or false", str: "a string", list: "a list", dict: "a table", type(None): "nothing"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")


def _but_not(value: Any) -> str:
    if isinstance(value, bool):
        return f", not {str(value).lower()}"
    return f", not {quoted(value)}" if isinstance(value, str | int | float) else f", not {_type_name(value)}"


_FORM = "{ from = ..., to = ... }"


@dataclass(frozen=True, slots=True)
class Spread:
    """A number, or a vector (`is_vector`), between two bounds, which may be equal.

    `skew` is the power of the random part: 1 is uniform; the larger, the more frequent are small values.
    """

    least: tuple[float, ...]
    most: tuple[float, ...]
    skew: int
    is_vector: bool

    @property
    def varies(self) -> bool:
        """Whether the values differ."""
        return self.least != self.most

    def draw(self, draws: Draws, count: int) -> NDArray[np.float64]:
        """Draw `count` numbers (count,), or vectors (count, d), each component independently.

        Equal values consume no random numbers.
        """
        size = len(self.least)
        least, most = np.array(self.least), np.array(self.most)
        values = np.tile(least, (count, 1))
        if self.varies:
            parts = even = draws.random((count, size))
            for _ in range(self.skew - 1):  # a product is rounded the same on all platforms, a power is not
                parts = parts * even
            values += (most - least) * parts
        return values if self.is_vector else values[:, 0]


def number_spread(table: Table, key: str, *, least: float | None = None) -> Spread | None:
    """Read a number from `least` on, or a range of numbers; None if the key is not there.

    >>> number_spread(Table({"radius": {"from": 1, "to": 5}}, "a.toml", "shape"), "radius")
    Spread(least=(1.0,), most=(5.0,), skew=1, is_vector=False)
    """
    return _read(table, key, None, least)


def vector_spread(table: Table, key: str, size: int) -> Spread | None:
    """Read a vector of `size` numbers, or a range: ``{from = [0, 0], to = [9, 9]}``, or one number for all axes."""
    return _read(table, key, size, None)


def point(table: Table, key: str, value: Any, size: int) -> tuple[float, ...]:
    """Read a point of `size` numbers."""
    if not isinstance(value, list) or len(value) != size or not all(map(is_number, value)):
        raise table.wrong(key, f"must be {size} numbers such as {list(range(size))}, not {quoted(value)}")
    return tuple(map(float, value))


def grid(table: Table, key: str) -> tuple[tuple[float, ...], ...]:
    """Read rows of numbers, all of one length."""
    rows = table.take(key)
    if not isinstance(rows, list) or not rows or not isinstance(rows[0], list):
        raise table.wrong(key, "must be a list of rows, each a list of numbers")
    return tuple(point(table, key, row, len(rows[0])) for row in rows)


def _read(table: Table, key: str, size: int | None, least: float | None) -> Spread | None:
    value = table.take(key, None)
    if value is None:
        return None
    if not isinstance(value, dict):
        both = _components(table, key, value, size)
        ends, skew = (both, both), 1
    else:
        inner = Table(value, table.source, f"{table.name}, {key}")
        ends = tuple(_components(inner, end, inner.take(end), size) for end in ("from", "to"))  # type: ignore[assignment]
        skew = inner.integer("skew", 1, least=1, most=16)
        inner.finish()
        if any(low > high for low, high in zip(*ends, strict=True)):
            raise inner.wrong("to", "is less than from")
    if least is not None and min(ends[0]) < least:
        raise table.wrong(key, f"must be at least {least:g}, not {min(ends[0]):g}")
    return Spread(ends[0], ends[1], skew, size is not None)


def _components(table: Table, key: str, value: Any, size: int | None) -> tuple[float, ...]:
    if is_number(value) and (size is None or key in ("from", "to")):
        return (float(value),) * (size or 1)
    if size is None:
        raise table.wrong(key, f"must be a number, or {_FORM}, not {quoted(value)}")
    if isinstance(value, list) and len(value) == size and all(map(is_number, value)):
        return tuple(map(float, value))
    raise table.wrong(key, f"must be {size} numbers, or {_FORM}, not {quoted(value)}")
