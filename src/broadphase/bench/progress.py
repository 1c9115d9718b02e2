"""A progress bar on the error stream, only where somebody watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(wanted: bool | None = None) -> Iterator[Callable[[float, str], None] | None]:
    """Show a bar while a `with` block runs, where rich is installed.

    Parameters
    ----------
    wanted : bool, optional
        Unset: if the error stream is a terminal.

    Yields
    ------
    advance : callable or None
        ``advance(done, what)`` with `done` from 0 to 1; None when nobody watches.
    """
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        yield None
        return
    # Drawn by the caller, never by a thread of its own, which would disturb the times.
    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=1.0)

        def advance(done: float, what: str) -> None:
            bar.update(task, completed=done, description=what)
            bar.refresh()

        yield advance
