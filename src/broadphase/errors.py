"""The errors and warnings of broadphase."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "FileFormatError", "InvalidBoxError", "InvalidBoxWarning", "MissingExtraError", "PartialFileWarning",
    "TooManyPairsError", "UnknownRowError", "UnsupportedQueryError",
]  # fmt: skip

_MOST = 200  # characters
_MOST_NAMES = 40


class FileFormatError(ValueError):
    """A file does not hold what it should; the message names the file, and the row, line or key."""


class InvalidBoxError(ValueError):
    """A box has NaN in a corner, or a lower corner above its upper one.

    Attributes
    ----------
    row : int
        Number of the first bad row.
    """

    def __init__(self, message: str, row: int = -1) -> None:
        super().__init__(message)
        self.row = row

    def __reduce__(self) -> tuple[type[InvalidBoxError], tuple[str, int]]:
        return type(self), (str(self), self.row)


class InvalidBoxWarning(UserWarning):
    """Invalid boxes were skipped, because of ``invalid="skip"``."""


class PartialFileWarning(UserWarning):
    """Geometry of a file was not read, such as its lines; the message names the file, and what was left out."""


class TooManyPairsError(RuntimeError):
    """More pairs were found than ``max_pairs`` allows."""


class UnknownRowError(KeyError):
    """A row or handle that the index does not have, or that was removed."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""  # KeyError would show the message in quotes


class UnsupportedQueryError(NotImplementedError):
    """A query that this method does not support; the message names the methods that do."""


class MissingExtraError(ImportError):
    """An optional library is not installed; the message names the ``pip install`` that brings it."""


def clipped(text: object, most: int = _MOST) -> str:
    r"""Make text from outside, such as a name in a file, fit for a message: one short line without control codes.

    Of a long text, the first and the last of `most` characters are kept. What a terminal would act on, such as escape
    codes and line ends, is written as in Python. What is not a text is given by its ``repr``.

    >>> print(clipped("red \x1b[31m"), clipped("ab" * 1_000_000, 10))
    red \x1b[31m ababa… (2,000,000 characters) …babab
    """
    whole = text if isinstance(text, str) else _represented(text)
    if len(whole) > most:
        half = most // 2
        whole = f"{whole[:half]}… ({len(whole):,} characters) …{whole[len(whole) - half :]}"
    if whole.isprintable():
        return whole
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in whole)


def quoted(value: object) -> str:
    """Make a value that was given fit for a message: its ``repr``, `clipped`.

    >>> print(quoted("hall"), quoted([1, 2]), quoted("ab" * 1_000_000)[-9:])
    'hall' [1, 2] abababab'
    """
    return clipped(_represented(value))


def _represented(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # such as int of more than 4300 digits
        return f"<a value of type {type(value).__name__}>"


def unknown_name(what: str, name: object, known: Iterable[str]) -> str:
    """Make the message for an unknown name of a method, a layer or another `what`; suggest the nearest known one.

    >>> unknown_name("method", "octre", ["grid", "octree"])
    "unknown method 'octre' (did you mean 'octree'?)"
    >>> unknown_name("depth", 3, ["zero_to_one", "minus_one_to_one"])
    "unknown depth 3: must be 'minus_one_to_one' or 'zero_to_one'"
    """
    from difflib import get_close_matches  # here, because it takes a millisecond to import

    names = sorted(set(known))
    given = quoted(name)
    is_short = isinstance(name, str) and len(name) <= _MOST  # comparing takes the square of the length
    nearest = get_close_matches(str(name), names, n=1) if is_short else []
    if nearest:
        return f"unknown {what} {given} (did you mean {quoted(nearest[0])}?)"
    shown = [quoted(one) for one in names[:_MOST_NAMES]]
    if not shown:
        return f"unknown {what} {given}: there are none yet"
    if len(names) > len(shown):
        return f"unknown {what} {given}: must be one of {len(names):,}, such as {', '.join(shown)}"
    listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
    return f"unknown {what} {given}: must be {listed}"
