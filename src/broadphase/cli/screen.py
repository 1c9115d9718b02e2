"""What the command prints: tables, JSON and progress; and how Ctrl-C ends a loop."""

from __future__ import annotations

import json
import re
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from broadphase.errors import clipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from rich.progress import Task

    Step = Callable[..., None]


_MOST_LINE, _MOST_CELL = 2000, 10_000  # characters


def say(line: str) -> None:
    """Print one line on stderr, clipped and without control codes."""
    print(clipped(line, _MOST_LINE), file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a value as JSON; NaN and infinities become null, and what a terminal would act on or lacks is escaped."""
    is_unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(_without_specials(value), indent=2, ensure_ascii=not is_unicode)
    print(re.sub(r"[^\n -~]", lambda one: one[0] if one[0].isprintable() else json.dumps(one[0])[1:-1], text))


def _without_specials(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_specials(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_specials(item) for item in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value


def print_facts(title: str, facts: list[tuple[str, str]]) -> None:
    """Print a table of two columns: names and values, without control codes."""
    table = Table(title=clipped(title), title_justify="left", show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for fact in facts:
        table.add_row(*("\n".join(clipped(line, _MOST_CELL) for line in cell.split("\n")) for cell in fact))
    print_table(table)


def print_table(table: Table) -> None:
    """Print a table on stdout; 200 columns wide if stdout is not a terminal."""
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=200)
    console.print(table)


def duration(seconds: float) -> str:
    """Format a time with three digits, in seconds or milliseconds.

    >>> duration(0.00123), duration(2.5), duration(0.0425)
    ('1.23 ms', '2.50 s', '42.5 ms')
    """
    value, unit = (seconds, "s") if seconds >= 1 else (seconds * 1e3, "ms")
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {unit}"


@contextmanager
def progress_bar(wanted: bool | None) -> Iterator[Step]:
    """Show progress on stderr, by default if that is a terminal; yields ``step(text, done, total)``."""
    console = Console(stderr=True)
    if wanted is None:
        wanted = console.is_terminal
    if not wanted:
        yield lambda text, done=0, total=None: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        _CountColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=console, transient=console.is_terminal) as progress:
        task = progress.add_task("", total=None)
        (shown,) = progress.tasks

        def step(text: str, done: int = 0, total: int | None = None) -> None:
            if shown.description != text:
                progress.reset(task)  # the time left is that of this step
            shown.total = total  # which `update` does not take away
            progress.update(task, description=text, completed=done)

        yield step


def counted(step: Step, text: str) -> Step:
    """Return what ``progress=`` takes: it shows what is done of a stage that can be counted, with one text for all."""

    def show(stage: str, done: int, total: int) -> None:
        if stage != "prepare":
            step(text, done, total)

    return show


class _CountColumn(ProgressColumn):
    """How many are done, of how many; nothing where that is not known."""

    def render(self, task: Task) -> Text:
        return Text("" if task.total is None else f"{task.completed:,.0f}/{task.total:,.0f}", no_wrap=True)


class _RateColumn(ProgressColumn):
    """Rows of a stage, those that are done, and how many a second."""

    def render(self, task: Task) -> Text:
        done = task.completed - task.fields["first"]
        seconds = task.finished_time if task.finished else task.elapsed
        rate = f", {done / seconds:,.0f}/s" if seconds and done > 0 else ""
        return Text(f"{task.completed:,.0f}/{task.total or 0:,.0f} rows{rate}", no_wrap=True)


@contextmanager
def stage_bars(wanted: bool | None) -> Iterator[Step]:
    """Show one stage after the other on stderr, each in a line that stays; yields ``step(stage, done, total)``."""
    console = Console(stderr=True)
    if not (console.is_terminal if wanted is None else wanted):
        yield lambda stage, done, total: None
        return
    columns = (
        SpinnerColumn(finished_text=" "),
        TextColumn("{task.description:<6}"),
        BarColumn(bar_width=10),
        _RateColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=console) as progress:
        tasks: dict[str, Any] = {}

        def step(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                # What an earlier run has done is not counted in the rate.
                tasks[stage] = progress.add_task(stage, total=total, completed=done, first=done)
            progress.update(tasks[stage], completed=done, total=total)

        yield step


@contextmanager
def stop_requested() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C set a flag, so that a loop can end cleanly; yields a function that returns the flag.

    A second Ctrl-C raises KeyboardInterrupt as usual. Does nothing outside of the main thread, which alone has signals,
    and where Ctrl-C is ignored, as in the background of a script.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before in (signal.SIG_IGN, None):
        yield lambda: False
        return
    requested = False

    def request(number: int, frame: FrameType | None) -> None:
        nonlocal requested
        requested = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, request)
    try:
        yield lambda: requested
    finally:
        signal.signal(signal.SIGINT, before)
