"""Names of columns: which of them hold the corners of boxes, and which their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broadphase.errors import clipped, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["SIZES", "WANTED", "find_box_columns", "find_name_column", "listed"]

_STYLES = (
    ("{}min", "{}max"),
    ("{}_min", "{}_max"),
    ("min{}", "max{}"),
    ("min_{}", "max_{}"),
    ("lower_{}", "upper_{}"),
    ("{}_lower", "{}_upper"),
    ("lo_{}", "hi_{}"),
    ("{}_lo", "{}_hi"),
)
_NUMBERED = (("{}0", "{}1"), ("{}1", "{}2"))
_COMPASS = ("west", "south", "east", "north")
_NAMES = ("name", "label", "id")
_MANY_NAMES, _LONG_NAME = 20, 40
# What rectangles are called by in other libraries: a corner and a size.
SIZES = (("x", "y", "width", "height"), ("x", "y", "w", "h"), ("left", "top", "width", "height"))
WANTED = "xmin, ymin, xmax, ymax (or min_x, lower_x, lo_x ..., or x0 and x1, or west, south, east, north), x to w"


def find_box_columns(header: list[str]) -> list[int] | None:
    """Find the columns of lower corners, then of upper corners; None if the names follow no known pattern.

    Capitals and outer blanks do not matter. A column that is missing, there twice, or named in another way than the
    others raises ValueError, which names it.

    >>> find_box_columns(["id", "xmin", "xmax", "ymin", "ymax"])
    [1, 3, 2, 4]
    >>> find_box_columns(["xmin", "xmax", "ymin"])
    Traceback (most recent call last):
    ValueError: there is a column ymin, but no column ymax
    """
    names = [name.strip().lower() for name in header]
    place = {name: column for column, name in reversed(list(enumerate(names)))}
    styles = [[(low.format(axis), high.format(axis)) for axis in "xyzw"] for low, high in (*_STYLES, *_NUMBERED)]
    pairs = next((pairs for pairs in styles if pairs[0][0] in place and pairs[0][1] in place), None)
    if pairs is None:
        if not all(name in place for name in _COMPASS):
            return None
        pairs = [(_COMPASS[0], _COMPASS[2]), (_COMPASS[1], _COMPASS[3])]
    dimension = 1 + max(axis for axis, pair in enumerate(pairs) if pair[0] in place or pair[1] in place)
    for pair in pairs[:dimension]:
        missing = [name for name in pair if name not in place]
        if missing:
            there = next(name for name in (*pair, *pairs[dimension - 1]) if name in place)
            raise ValueError(f"there is a column {there}, but no column {missing[0]}")
    used = [pair[side] for side in (0, 1) for pair in pairs[:dimension]]
    for name in used:
        _require_one(name, names, header)
    # A number is at the end of other names, too: only two of them are corners.
    others: list[tuple[str, ...]]
    others = [pair for pairs in styles[: len(_STYLES)] for pair in pairs if pair[0] in place or pair[1] in place]
    others += [pair for pairs in styles[len(_STYLES) :] for pair in pairs if pair[0] in place and pair[1] in place]
    if all(name in place for name in _COMPASS):
        others.append(_COMPASS)
    more = [header[place[name]] for pair in others for name in pair if name in place and name not in used]
    if more:
        mine = listed(header[place[name]] for name in used)
        raise ValueError(f"the corners have two names: columns {mine}, and {listed(dict.fromkeys(more))}")
    return [place[name] for name in used]


def listed(names: Iterable[str]) -> str:
    """Join names for a message, which says how many more there are, and no name in full that is long.

    >>> listed(["x", "y"]), listed(map(str, range(1000)))[-12:]
    ('x, y', 'and 980 more')
    """
    texts = [clipped(name, _LONG_NAME) for name in names]
    if len(texts) > _MANY_NAMES:
        texts[_MANY_NAMES:] = [f"and {len(texts) - _MANY_NAMES} more"]
    return ", ".join(texts)


def find_name_column(header: list[str], wanted: str | None) -> int | None:
    """Find the column that names the boxes: `wanted`, or else "name", "label" or "id", in this order, or None.

    A column `wanted` that is missing, or several of the name, raise ValueError.

    >>> find_name_column(["ID", "xmin", "Name"], None)
    2
    """
    if wanted is not None:
        if header.count(wanted) > 1:
            raise ValueError(f"several columns are {wanted!r}")
        if wanted in header:
            return header.index(wanted)
        raise ValueError(unknown_name("column", wanted, header))
    names = [name.strip().lower() for name in header]
    found = next((name for name in _NAMES if name in names), None)
    if found is None:
        return None
    _require_one(found, names, header, "; use name_column to choose one")
    return names.index(found)


def _require_one(name: str, names: list[str], header: list[str], advice: str = "") -> None:
    if names.count(name) > 1:
        twice = [repr(given) for given, one in zip(header, names, strict=True) if one == name]
        raise ValueError(f"several columns are {name}: {listed(twice)}{advice}")
