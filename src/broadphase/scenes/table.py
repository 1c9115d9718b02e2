"""One table of a scene file: gives its values checked, and says of what is wrong where it stands."""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["REQUIRED", "Table", "did_you_mean"]

REQUIRED: Any = object()
"""The default of a key that must be there."""


class Table:
    """The keys and values of a table. Ask for each key that there may be, then `finish`.

    Parameters
    ----------
    values : object
        What the file has; must be a dict.
    source : str
        Name of the file, for messages.
    name : str
        What the table is called in the file, such as ``[world]``; for messages.

    Raises
    ------
    ValueError
        `values` is no dict.

    Examples
    --------
    >>> world = Table({"dim": 2, "stops": 5}, "crowd.toml", "[world]")
    >>> world.whole("dim", least=2), world.whole("steps", 600)
    (2, 600)
    >>> world.finish()
    Traceback (most recent call last):
    ValueError: crowd.toml, [world], stops: there is no such key; did you mean steps?
    """

    def __init__(self, values: Any, source: str, name: str) -> None:
        self.source = source
        self.name = name
        self._values: dict[str, Any] = {}
        self._asked: list[str] = []
        if not isinstance(values, dict):
            raise ValueError(f"{source}, {name}: must be a table, not {_kind(values)}")
        self._values = values

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def wrong(self, key: str, problem: str) -> ValueError:
        """Make the error that says what is wrong with a key."""
        return ValueError(f"{self.source}, {self.name}, {key}: {problem}")

    def take(self, key: str, default: Any = REQUIRED) -> Any:
        """Give the value of a key as it stands, or the default."""
        self._asked.append(key)
        if key in self._values:
            if self._values[key] is None:
                raise self.wrong(key, "must not be null: leave it out")
            return self._values[key]
        if default is REQUIRED:
            others = [other for other in self._values if other not in self._asked]
            similar = get_close_matches(key, others, n=1, cutoff=0.75)
            raise self.wrong(key, f"is missing; there is {similar[0]}" if similar else "is missing")
        return default

    def finish(self) -> None:
        """Refuse keys that nobody has asked for."""
        for key in self._values:
            if key not in self._asked:
                raise self.wrong(key, f"there is no such key; {did_you_mean(key, self._asked)}")

    def whole(self, key: str, default: Any = REQUIRED, *, least: int = 0, most: int = 2**31 - 1) -> int:
        """Give a whole number from `least` to `most`."""
        value = self.take(key, default)
        if value is not default and (type(value) is not int or not least <= value <= most):
            up_to = "" if most == 2**31 - 1 else f" to {most}"
            raise self.wrong(key, f"must be a whole number from {least}{up_to}{_rather(value)}")
        return value  # type: ignore[no-any-return]

    def number(self, key: str, default: Any = REQUIRED, *, least: float = -math.inf) -> float:
        """Give a finite number from `least` on."""
        value = self.take(key, default)
        if value is not default and (not is_number(value) or value < least):
            wanted = "a number" if least == -math.inf else f"a number from {least:g} on"
            raise self.wrong(key, f"must be {wanted}{_rather(value)}")
        return value if value is default else float(value)

    def truth(self, key: str, default: Any = REQUIRED) -> bool:
        """Give true or false."""
        value = self.take(key, default)
        if value is not default and not isinstance(value, bool):
            raise self.wrong(key, f"must be true or false{_rather(value)}")
        return value  # type: ignore[no-any-return]

    def text(self, key: str, default: Any = REQUIRED, *, choices: Collection[str] = ()) -> str:
        """Give a text that is not empty; with `choices`, one of them."""
        value = self.take(key, default)
        if value is default:
            return value  # type: ignore[no-any-return]
        if not isinstance(value, str) or not value:
            raise self.wrong(key, f"must be a text{_rather(value)}")
        if choices and value not in choices:
            raise self.wrong(key, f"{value!r} is none of {', '.join(choices)}; {did_you_mean(value, choices)}")
        return value

    def texts(self, key: str, default: Any = REQUIRED, *, choices: Collection[str] = ()) -> tuple[str, ...]:
        """Give one text or several, as a tuple."""
        value = self.take(key, default)
        if value is default:
            return value  # type: ignore[no-any-return]
        texts = value if isinstance(value, list) else [value]
        for text in texts:
            if not isinstance(text, str) or not text:
                raise self.wrong(key, f"must be a text or a list of texts{_rather(text)}")
            if choices and text not in choices:
                raise self.wrong(key, f"{text!r} is none of {', '.join(choices)}; {did_you_mean(text, choices)}")
        return tuple(texts)

    def table(self, key: str, default: Any = REQUIRED) -> Table:
        """Give a table within this one."""
        return Table(self.take(key, default), self.source, f"{self.name}, {key}")

    def tables(self, key: str) -> list[Table]:
        """Give a list of tables, which may be missing."""
        value = self.take(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, f"must be a list of tables: write [[{key}]]{_rather(value)}")
        return [Table(one, self.source, f"[[{key}]] {number}") for number, one in enumerate(value, 1)]


def is_number(value: Any) -> bool:
    """Say whether a value of a file is a finite number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Name the known word that is meant, or else all of them.

    Examples
    --------
    >>> did_you_mean("bounse", ["none", "bounce"]), did_you_mean("x", ["none", "bounce"])
    ('did you mean bounce?', 'there are bounce, none')
    """
    words = sorted(set(known))
    similar = get_close_matches(word, words, n=1)
    return f"did you mean {similar[0]}?" if similar else f"there are {', '.join(words)}"


def _kind(value: Any) -> str:
    names = {bool: "true or false", str: "a text", list: "a list", dict: "a table", type(None): "nothing"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")


def _rather(value: Any) -> str:
    if isinstance(value, bool):
        return f", not {str(value).lower()}"
    return f", not {value!r}" if isinstance(value, str | int | float) else f", not {_kind(value)}"
