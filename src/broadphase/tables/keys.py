"""Key columns as numbers: equal keys of both tables have the same one, and rows without a key have none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.errors import clipped
from broadphase.tables.corners import alike
from broadphase.tables.libraries import Column, Table, if_any, without_nan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from broadphase.tables.corners import Axis

__all__ = ["NO_KEY", "Keys", "keys_of", "keys_of_rows", "take_key"]

#: The number of rows that are in no pair.
NO_KEY = 2**32 - 1

#: The keys of each table, uint32, and how many numbers there are.
Keys = tuple["list[NDArray[np.uint32]]", int]


def keys_of(tables: Sequence[Table], names: Sequence[Sequence[str]]) -> Keys:
    """Assign numbers to the keys of tables; each of `names` has the column of a key in each of them.

    TypeError names columns of different kinds, such as text and numbers, or of neither.
    """
    keys, count = _numbers(tables, names[0])
    for more in names[1:]:
        others, other_count = _numbers(tables, more)
        wide = [
            np.where((one == NO_KEY) | (two == NO_KEY), -1, one.astype(np.int64) * other_count + two)
            for one, two in zip(keys, others, strict=True)
        ]
        keys, count = _small(wide, [if_any(x < 0) for x in wide])
    return keys, count


def keys_of_rows(
    tables: Sequence[Table], names: Sequence[Sequence[str]], axes: Sequence[Axis]
) -> tuple[list[NDArray[np.uint32] | None], int]:
    """Return the keys of rows, None for a table whose rows all have one, and how many numbers there are.

    Rows without a corner along one of the axes have none.
    """
    keys: list[NDArray[np.uint32] | None] = [None] * len(tables)
    count = 1
    if names:
        numbered, count = keys_of(tables, names)
        keys = list(numbered)
    for side, table in enumerate(tables):
        for axis in axes:
            for gone in axis.missing[2 * side : 2 * side + 2]:
                take_key(keys, side, gone, table.height)
    return keys, count


def take_key(keys: list[NDArray[np.uint32] | None], side: int, gone: NDArray[np.bool_] | None, height: int) -> None:
    """Take their keys from rows of a table, so that they are in no pair."""
    if gone is None:
        return
    of_side = keys[side]
    marked = np.zeros(height, np.uint32) if of_side is None else of_side
    marked[gone] = NO_KEY
    keys[side] = marked


def _numbers(tables: Sequence[Table], names: Sequence[str]) -> Keys:
    where = [table.at(name) for table, name in zip(tables, names, strict=True)]
    texts = [table.names_of(name) for table, name in zip(tables, names, strict=True)]
    if all(text is not None for text in texts):
        return _of_names(tables, names, texts, where)
    columns = [table.column(name) for table, name in zip(tables, names, strict=True)]
    if any(column is not None and column.family == "null" for column in columns):  # no row has a key
        return [np.full(table.height, NO_KEY, np.uint32) for table in tables], 1
    kinds = [clipped(table.type_of(name)) for table, name in zip(tables, names, strict=True)]
    for column, text, title, kind in zip(columns, texts, where, kinds, strict=True):
        if text is None and column is None:
            raise TypeError(
                f"{title} has the type {kind}, and keys are text, categories of text, numbers, dates or times;"
                " convert it"
            )
    numbers = [column for column in columns if column is not None]
    if len(numbers) < len(columns):
        raise TypeError(f"{where[0]} is {kinds[0]}, and {where[1]} is {kinds[1]}: convert one of them")
    # NaN equals nothing.
    plain = [
        Column(x.values.view(np.uint8), x.missing) if x.values.dtype.kind == "b" else without_nan(x) for x in numbers
    ]
    if all(x.family == "number" and x.values.dtype.kind == "u" for x in plain):
        values = [x.values.astype(np.uint64, copy=False) for x in plain]
    else:
        values = alike(plain, where, "convert both to one type")
    return _small(values, [column.missing for column in plain])


def _of_names(tables: Sequence[Table], names: Sequence[str], texts: list[Any], titles: list[str]) -> Keys:
    if not any(isinstance(text, np.ndarray) for text in texts):
        numbered: Any = _native.number_names(texts, titles)
        if numbered is not None:
            return list(numbered[0]), max(numbered[1], 1)
    # Objects of Python, where nothing shares memory.
    number_of: dict[Any, int] = {}
    keys = []
    for table, name, text in zip(tables, names, texts, strict=True):
        objects = text if isinstance(text, np.ndarray) else np.asarray(table.rows([name], None, False)[name], object)
        keys.append(
            np.fromiter(
                (number_of.setdefault(x, len(number_of)) if isinstance(x, str | bytes) else NO_KEY for x in objects),
                np.uint32,
                len(objects),
            )
        )
    return keys, max(len(number_of), 1)


def _small(values: list[NDArray[Any]], missing: list[NDArray[np.bool_] | None]) -> Keys:
    """Assign numbers to numeric keys: by their distance from the least one, where they lie close together."""
    values = [x.copy() for x in values]  # read several times, and another thread may write to columns
    there = [x if gone is None else x[~gone] for x, gone in zip(values, missing, strict=True)]
    there = [x for x in there if len(x)]
    if not there:
        return [np.full(len(x), NO_KEY, np.uint32) for x in values], 1
    rows = sum(len(x) for x in values)
    if values[0].dtype.kind in "iu":
        least, most = min(int(x.min()) for x in there), max(int(x.max()) for x in there)
        if most - least < max(1024, rows // 16):
            return [
                _marked((x - x.dtype.type(least)).astype(np.uint32), gone)
                for x, gone in zip(values, missing, strict=True)
            ], most - least + 1
    distinct, numbers = np.unique(np.concatenate(values), return_inverse=True)
    parts = np.split(numbers.astype(np.uint32), np.cumsum([len(x) for x in values])[:-1])
    return [_marked(x, gone) for x, gone in zip(parts, missing, strict=True)], len(distinct)


def _marked(keys: NDArray[np.uint32], missing: NDArray[np.bool_] | None) -> NDArray[np.uint32]:
    if missing is not None:
        keys[missing] = NO_KEY
    return keys
