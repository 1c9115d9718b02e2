"""Numbers of a scene that are the same for all of a group, or drawn for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.scenes.table import Table, is_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.testing.draws import Draws

__all__ = ["Spread", "number_spread", "point", "vector_spread"]

_FORM = "{ from = ..., to = ... }"


@dataclass(frozen=True, slots=True)
class Spread:
    """A number or a vector, between two that may be equal.

    Attributes
    ----------
    least, most : tuple of float
        Of each component; one component for a number.
    skew : int
        Power of the random part: 1 is even, above it smaller ones are more frequent.
    is_vector : bool
        Whether `draw` gives rows.
    """

    least: tuple[float, ...]
    most: tuple[float, ...]
    skew: int
    is_vector: bool

    @property
    def varies(self) -> bool:
        """Whether there is anything to be drawn."""
        return self.least != self.most

    def draw(self, draws: Draws, count: int) -> NDArray[np.float64]:
        """Draw `count` numbers (count,), or vectors (count, d), each component for itself.

        What is the same for all takes no random numbers.
        """
        size = len(self.least)
        least, most = np.array(self.least), np.array(self.most)
        values = np.tile(least, (count, 1))
        if self.varies:
            parts = even = draws.random((count, size))
            for _ in range(self.skew - 1):  # a product is rounded in one way everywhere, a power is not
                parts = parts * even
            values += (most - least) * parts
        return values if self.is_vector else values[:, 0]


def number_spread(table: Table, key: str, default: Any = None, *, least: float | None = None) -> Spread | None:
    """Read a number, or a range of numbers.

    Parameters
    ----------
    table, key
        Where it stands.
    default : optional
        As the file would have it; None gives None.
    least : float, optional
        The least that is possible.

    Returns
    -------
    Spread or None

    Raises
    ------
    ValueError
        It is neither; names the key.

    Examples
    --------
    >>> number_spread(Table({"radius": {"from": 1, "to": 5}}, "a.toml", "shape"), "radius")
    Spread(least=(1.0,), most=(5.0,), skew=1, is_vector=False)
    """
    return _read(table, key, default, None, least)


def vector_spread(table: Table, key: str, size: int, default: Any = None) -> Spread | None:
    """Read a vector of so many numbers, or a range: ``{from = [0, 0], to = [9, 9]}``, or one number for all axes.

    See `number_spread`.
    """
    return _read(table, key, default, size, None)


def point(table: Table, key: str, value: Any, size: int) -> tuple[float, ...]:
    """Read a point, of so many numbers."""
    if not isinstance(value, list) or len(value) != size or not all(map(is_number, value)):
        raise table.wrong(key, f"must be {size} numbers such as {list(range(size))}, not {value!r}")
    return tuple(map(float, value))


def _read(table: Table, key: str, default: Any, size: int | None, least: float | None) -> Spread | None:
    value = table.take(key, default)
    if value is None:
        return None
    if not isinstance(value, dict):
        both = _components(table, key, value, size)
        ends, skew = (both, both), 1
    else:
        inner = Table(value, table.source, f"{table.name}, {key}")
        ends = tuple(_components(inner, end, inner.take(end), size) for end in ("from", "to"))  # type: ignore[assignment]
        skew = inner.whole("skew", 1, least=1, most=16)
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
        raise table.wrong(key, f"must be a number, or {_FORM}, not {value!r}")
    if isinstance(value, list) and len(value) == size and all(map(is_number, value)):
        return tuple(map(float, value))
    raise table.wrong(key, f"must be {size} numbers, or {_FORM}, not {value!r}")
