"""The command line: its commands, its exit codes, and how errors are shown."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated, Any

import typer

import broadphase as bp
from broadphase.cli.count import count
from broadphase.cli.demo import demo
from broadphase.cli.explain import explain
from broadphase.cli.info import info
from broadphase.cli.pairs import pairs
from broadphase.cli.run import run as run_scene
from broadphase.cli.screen import say

app = typer.Typer(
    name="broadphase",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (pairs, count, explain, info, demo):
    app.command()(command)
app.command("run")(run_scene)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"broadphase {bp.__version__}")
        raise typer.Exit


@app.callback()
def _options_of_all(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error. May stand anywhere.")] = False,
) -> None:
    """Find every overlapping pair among boxes.

    Boxes come from .npy, .npz, .csv, .parquet, GeoJSON and mesh files, or from a bundled set such as us_counties.

    For example:

    - `broadphase pairs us_counties`

    - `broadphase info rooms.csv`

    - `broadphase run machine_gun`
    """


def run(arguments: list[str]) -> int:
    """Run one command; see `broadphase.cli.main`.

    Errors of the data become one line on stderr, unless ``--debug`` stands anywhere among the arguments.
    """
    is_debugging = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", bp.InvalidBoxWarning)
            warnings.showwarning = _show_warning
            app(arguments, prog_name="broadphase")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except (ValueError, TypeError, OSError, ImportError, MemoryError, bp.TooManyPairsError) as error:
        if is_debugging:
            raise
        say(f"error: {_in_one_line(error)}")
        return 1
    finally:
        _flush()
    return 0


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe, such as head, had enough; Python would complain when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_one_line(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return f"out of memory{f' ({error})' if str(error) else ''}; broadphase count needs none for the pairs"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    say(f"warning: {message}")
