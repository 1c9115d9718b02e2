"""Tables for the terminal, plain in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


def duration(milliseconds: float | None) -> str:
    """Write a time with the unit that suits it.

    Examples
    --------
    >>> from benchmarks.tables import duration
    >>> [duration(value) for value in (0.0213, 1.5, 23.456, 1234.0, None)]
    ['21.3 µs', '1.50 ms', '23.5 ms', '1.23 s', '-']
    """
    if milliseconds is None:
        return "-"
    for unit, scale in (("µs", 1e3), ("ms", 1.0), ("s", 1e-3)):
        value = milliseconds * scale
        if value < 999.5 or unit == "s":
            return f"{value:#.3g}".rstrip(".") + f" {unit}"
    raise AssertionError


def grouped(count: int | None) -> str:
    """Write a count with its thousands apart: ``"1,976,305"``."""
    return "-" if count is None else f"{count:,}"


def factor(ratio: float) -> str:
    """Write how many times slower something is, with two digits: ``"0.75"``, ``"4.3"``, ``"86"``, ``"513"``."""
    return f"{ratio:.2f}" if ratio < 1 else f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:,.0f}"


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", *, left: int = 1) -> str:
    """Lay out a table as text: the first `left` columns to the left, the others to the right.

    Examples
    --------
    >>> from benchmarks.tables import plain_table
    >>> print(plain_table(["name", "ms"], [["one", "1.5"], ["another", "22.5"]]))
    name       ms
    -------  ----
    one       1.5
    another  22.5
    """
    cells = [list(columns), *(list(row) for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(columns))]

    def line(row: Sequence[str]) -> str:
        sized = enumerate(zip(row, widths, strict=True))
        return "  ".join(cell.ljust(width) if k < left else cell.rjust(width) for k, (cell, width) in sized).rstrip()

    lines = [line(columns), line(["-" * width for width in widths]), *(line(row) for row in cells[1:])]
    return "\n".join([title, "", *lines] if title else lines)


def show_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", *, strong: int = -1, left: int = 1
) -> None:
    """Print a table: by rich on a terminal where it is installed, as plain text elsewhere.

    Parameters
    ----------
    columns, rows : sequence of str, sequence of sequence of str
        Heads and cells.
    title : str
        Line above the table.
    strong : int
        Number of a row to set off, such as our own.
    left : int
        How many of the first columns hold words, which go to the left; the others go to the right.
    """
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.table import Table
        except ImportError:
            pass
        else:
            table = Table(title=title or None, title_justify="left", title_style="bold")
            for number, column in enumerate(columns):
                table.add_column(column, justify="left" if number < left else "right", no_wrap=number == 0)
            for number, row in enumerate(rows):
                table.add_row(*row, style="bold green" if number == strong else None)
            Console().print(table)
            return
    print(plain_table(columns, rows, title, left=left))
    print()
