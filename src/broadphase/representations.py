"""How results look when they are printed, and in Jupyter: short, whatever their size."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["html_facts", "html_of_result", "short_repr", "shown"]

Kind = TypeVar("Kind")

_MOST_NUMBERS = 20  # of an array that is shown as it is
_MOST_ROWS = 5  # of the table in Jupyter
_FIELDS = ("rows", "offsets", "distances")  # of results that are no named tuples: lists of rows


def shown(kind: type[Kind]) -> type[Kind]:
    """Let results of a class be printed by `short_repr`, and shown in Jupyter by `html_of_result`."""
    kind.__repr__ = short_repr  # type: ignore[method-assign]
    kind._repr_html_ = html_of_result  # type: ignore[attr-defined]
    return kind


def short_repr(result: Any) -> str:
    """Return the ``repr`` of a result with named arrays: small ones as they are, of others type and shape."""
    return f"{type(result).__name__}({', '.join(f'{name}={_shown(value)}' for name, value in _fields_of(result))})"


def html_of_result(result: Any) -> str:
    """Return a result with named arrays as a table for Jupyter: its arrays, and their first rows."""
    fields = [(name, value) for name, value in _fields_of(result) if value is not None]
    if hasattr(result, "query_rows"):  # lists of rows, one for each query
        count = len(result)
        names = [name for name, _ in fields if name != "offsets"]
        begins = result.offsets[: min(count, _MOST_ROWS) + 1].tolist()
        lists = [[getattr(result, name)[low:high] for name in names] for low, high in pairwise(begins)]
        rows = [[str(query), *map(_cell, cells)] for query, cells in enumerate(lists)]
        header = ["query", *names]
        title = f"{type(result).__name__}: {len(result.rows):,} rows of {count:,} queries"
    else:
        arrays = [(name, value) for name, value in fields if isinstance(value, np.ndarray)]
        lengths = [len(value) for _, value in arrays]
        count = lengths[0] if lengths else 0
        arrays = [(name, value) for name, value in arrays if len(value) == count]
        header = [name for name, _ in arrays]
        rows = [[_cell(value[row]) for _, value in arrays] for row in range(min(count, _MOST_ROWS))]
        others = [f"{name}: {_shown(value)}" for name, value in fields if name not in header]
        size = [f"{type(result).__name__}: {count:,} rows"] if arrays else [type(result).__name__]
        title = "; ".join([*size, *others])
    if count > _MOST_ROWS:
        rows.append(["…"] * len(header))
    return _table(title, rows, header)


def html_facts(title: str, facts: Iterable[tuple[str, str]]) -> str:
    """Return names and values as a table for Jupyter."""
    return _table(title, [[name, value] for name, value in facts], [])


def _table(title: str, rows: list[list[str]], header: list[str]) -> str:
    lines = ["<table>", f"<caption style='text-align: left'>{escape(title)}</caption>"]
    if header:
        lines.append(f"<tr>{''.join(f'<th>{escape(name)}</th>' for name in header)}</tr>")
    lines += [f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows]
    return "\n".join([*lines, "</table>"])


def _fields_of(result: Any) -> list[tuple[str, Any]]:
    names = getattr(type(result), "_fields", _FIELDS)
    return [(name, getattr(result, name)) for name in names if hasattr(result, name)]


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > _MOST_NUMBERS:
        kind = "str" if value.dtype.kind == "U" else value.dtype
        return f"<{kind} of shape {value.shape}>"
    return repr(value)


def _cell(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, threshold=8, edgeitems=3, separator=", ").replace("\n", "")
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
