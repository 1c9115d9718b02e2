"""Tables for the terminal, plain in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import broadphase as bp
from broadphase.bench.peers import PEERS, installed_version
from broadphase.testing import SCENES

if TYPE_CHECKING:
    from broadphase.bench.compare import Comparison, Outcome

__all__ = [
    "comparison_tables",
    "duration",
    "factor",
    "grouped",
    "plain_table",
    "show_choices",
    "show_comparison",
    "show_table",
]


def duration(milliseconds: float | None) -> str:
    """Write a time with the unit that suits it.

    Examples
    --------
    >>> from broadphase.bench.table import duration
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
    return f"{ratio:.2f}" if ratio < 1 else f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:.0f}"


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", *, left: int = 1) -> str:
    """Lay out a table as text: the first `left` columns to the left, the others to the right.

    Examples
    --------
    >>> from broadphase.bench.table import plain_table
    >>> print(plain_table(["who", "ms"], [["one", "1.5"], ["another", "22.5"]]))
    who        ms
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


def comparison_tables(comparison: Comparison) -> list[tuple[str, list[str], list[list[str]]]]:
    """Give title, columns and rows of one table for each scene: who, time at each size, multiple of T, answer."""
    tables = []
    for scene in dict.fromkeys(outcome.scene for outcome in comparison.outcomes):
        here = [outcome for outcome in comparison.outcomes if outcome.scene == scene]
        sizes = sorted({outcome.box_count for outcome in here})
        largest = max(sizes)
        pairs = next((o.pair_count for o in here if o.box_count == largest and o.verdict == "exact"), None)
        title = f"{scene}: {grouped(largest)} boxes have {grouped(pairs)} overlapping pairs"
        columns = ["", *(f"n = {grouped(n)}" for n in sizes), "in T", "times broadphase", "answer"]
        names = list(dict.fromkeys((outcome.contestant, outcome.title) for outcome in here))
        best = first_times(here)
        rows = [row_of(name, title, here, sizes, best) for name, title in names]
        rows = sorted(rows, key=lambda row: all(cell in ("-", "") for cell in row[1 : 1 + len(sizes)]))
        rows.append(argsort_row(comparison, sizes))
        tables.append((title, columns, rows))
    return tables


def first_times(outcomes: list[Outcome]) -> dict[int, float]:
    """Give the time of the first contestant at each size, to which the others are compared."""
    first = outcomes[0].contestant
    return {o.box_count: o.milliseconds for o in outcomes if o.contestant == first and o.milliseconds}


def row_of(name: str, title: str, here: list[Outcome], sizes: list[int], best: dict[int, float]) -> list[str]:
    """Give the cells of one contestant; `in T` and the ratio are those of the largest size."""
    mine = {outcome.box_count: outcome for outcome in here if outcome.contestant == name}
    cells = [duration(mine[n].milliseconds) if n in mine else "" for n in sizes]
    multiple = ratio = ""
    last = mine.get(sizes[-1])
    if last and last.milliseconds is not None and last.multiple is not None:
        multiple = factor(last.multiple)
        ratio = factor(last.milliseconds / best[sizes[-1]]) if sizes[-1] in best else ""
    notes = [mine[n].verdict for n in sizes if n in mine and mine[n].verdict != "exact"]
    return [title, *cells, multiple, ratio, notes[-1] if notes else "exact"]


def argsort_row(comparison: Comparison, sizes: list[int]) -> list[str]:
    """Give the row of the yardstick."""
    times = [duration(comparison.argsort_milliseconds.get(n)) for n in sizes]
    return ["T: np.argsort of n float32", *times, "1.0", "", ""]


def show_comparison(comparison: Comparison) -> None:
    """Print one table for each scene, the machine, and which peers are not installed."""
    for title, columns, rows in comparison_tables(comparison):
        show_table(columns, rows, title, strong=0)
    machine = comparison.machine
    print(
        f"{machine['processor']}, {machine['instruction sets']}; Python {machine['python']}, NumPy {machine['numpy']}, "
        f"broadphase {machine['broadphase']}. Medians; every answer checked."
    )
    if comparison.not_installed:
        print(f"Not installed: {', '.join(comparison.not_installed)}. To compare: pip install 'broadphase[bench]'")
    for outcome in comparison.wrong:
        print(
            f"{outcome.title} on {outcome.scene}, {grouped(outcome.box_count)} boxes: {outcome.verdict}",
            file=sys.stderr,
        )


def show_choices() -> None:
    """Print the scenes, methods and peers that there are."""
    scenes = [[scene.name, f"{scene.dimension}D", scene.summary] for scene in SCENES.values()]
    show_table(["scene", "", "what it is like"], scenes, left=3)
    methods = [["auto", "looks at the boxes and takes the quickest"], *([row.name, row.summary] for row in bp.METHODS)]
    show_table(["method", "when it is the right one"], methods, left=2)
    peers = [[row.name, row.title, installed_version(row) or "not installed", row.remark] for row in PEERS]
    show_table(["peer", "library", "version", "remark"], peers, left=4)
