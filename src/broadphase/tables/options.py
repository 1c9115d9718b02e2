"""Options of functions of tables that name columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broadphase.arguments import as_flag
from broadphase.errors import quoted
from broadphase.tables.libraries import advice_for, known
from broadphase.tables.names import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from broadphase.tables.libraries import Table

__all__ = ["added_column", "column_names", "require_distinct", "require_ends"]


def column_names(given: Any, option: str, tables: Sequence[Table], advice: str = "") -> list[tuple[str, ...]]:
    """Return the columns that an option gives, each as its name in each table.

    Of one table alone, or the same one twice, a tuple with two names is refused; the message ends with `advice`.
    """
    names = []
    for column in given if isinstance(given, list) else [given]:
        if isinstance(column, tuple) and len(column) != 2:
            raise ValueError(
                f"{option}: a tuple has the names of a column in two tables, not {len(column)} names; for several"
                " columns, give a list"
            )
        first, second = column if isinstance(column, tuple) else (column, column)
        if tables[0] is tables[-1] and first != second:
            raise ValueError(f"{option}: {quoted(column)} has names in two tables, and there is one{advice}")
        names.append(tuple(known(table, name, option) for table, name in zip(tables, (first, second), strict=False)))
    return names


def added_column(given: Any, default: str) -> str | None:
    """Return the name of a column that an option adds; None if it does not."""
    if isinstance(given, str):
        return given
    return default if as_flag(given, default) else None


def require_distinct(names: Iterable[str], table: Table, advice: str = "") -> None:
    """Raise ValueError if a result of the library of a table would have two columns of one name."""
    all_names = list(names)
    folded = [table.folded(name) for name in all_names]
    twice = [name for name in dict.fromkeys(all_names) if folded.count(table.folded(name)) > 1]
    if twice:
        raise ValueError(f"the result has several columns of one name: {listed(map(str, twice))}{advice}")


def require_ends(lower: Any, upper: Any, table: Table) -> None:
    """Raise TypeError if an option that names the ends of rows is not given; for geometries it says what to do."""
    if lower is None or upper is None:
        raise TypeError(f"give lower and upper, the columns in which a row begins and ends{advice_for(table)}")
