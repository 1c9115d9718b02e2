"""Which columns of a table hold the corners of boxes."""

from __future__ import annotations

_AXES = "xyzw"
_STYLES = (
    ("{}min", "{}max"),
    ("{}_min", "{}_max"),
    ("min{}", "max{}"),
    ("min_{}", "max_{}"),
    ("lower_{}", "upper_{}"),
    ("{}_lower", "{}_upper"),
    ("lo_{}", "hi_{}"),
    ("{}_lo", "{}_hi"),
    ("{}0", "{}1"),
    ("{}1", "{}2"),
)
_COMPASS = ("west", "south", "east", "north")
_NAMES = ("name", "label", "id")

WANTED = "xmin, ymin, xmax, ymax (or min_x, lower_x, lo_x ..., or x0 and x1, or west, south, east, north), x to w"


def find_box_columns(header: list[str]) -> list[int] | None:
    """Find the columns of lower corners, then of upper corners.

    Parameters
    ----------
    header : list of str
        Names of the columns. Capitals and outer blanks do not matter.

    Returns
    -------
    list of int, or None
        Places of 2 * d columns; None if no known naming is used.

    Raises
    ------
    ValueError
        A corner lacks its counterpart, or an axis is left out; names the missing column.

    Examples
    --------
    >>> find_box_columns(["id", "xmin", "xmax", "ymin", "ymax"])
    [1, 3, 2, 4]
    >>> find_box_columns(["a", "b"])
    >>> find_box_columns(["xmin", "xmax", "ymin"])
    Traceback (most recent call last):
    ValueError: there is a column ymin, but none called ymax
    """
    names = [name.strip().lower() for name in header]
    place = {name: column for column, name in reversed(list(enumerate(names)))}
    for lower_style, upper_style in _STYLES:
        lower = [lower_style.format(axis) for axis in _AXES]
        upper = [upper_style.format(axis) for axis in _AXES]
        if lower[0] in place and upper[0] in place:
            dimension = 1 + max(axis for axis in range(4) if lower[axis] in place or upper[axis] in place)
            for pair in zip(lower[:dimension], upper[:dimension], strict=True):
                missing = [name for name in pair if name not in place]
                if missing:
                    last = lower[dimension - 1], upper[dimension - 1]
                    there = next(name for name in (*pair, *last) if name in place)
                    raise ValueError(f"there is a column {there}, but none called {missing[0]}")
            return [place[name] for name in lower[:dimension] + upper[:dimension]]
    if all(name in place for name in _COMPASS):
        return [place[name] for name in _COMPASS]
    return None


def find_name_column(header: list[str], wanted: str | None) -> int | None:
    """Find the column that names the boxes.

    Parameters
    ----------
    header : list of str
        Names of the columns.
    wanted : str, optional
        The one asked for; unset, "name", "label" or "id", in this order.

    Returns
    -------
    int or None

    Raises
    ------
    ValueError
        The one asked for does not exist.

    Examples
    --------
    >>> find_name_column(["ID", "xmin", "Name"], None)
    2
    """
    if wanted is not None:
        if wanted in header:
            return header.index(wanted)
        raise ValueError(f"there is no column {wanted!r}; there are {', '.join(header)}")
    names = [name.strip().lower() for name in header]
    return next((names.index(name) for name in _NAMES if name in names), None)
