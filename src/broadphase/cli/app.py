"""The command line: its commands, its exit codes, and how errors are reported."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from typing import Annotated, Any

import typer

import broadphase as bp
from broadphase.cli.boxes import count, explain, info, pairs
from broadphase.cli.screen import say
from broadphase.cli.worlds import demo
from broadphase.cli.worlds import run as run_scene

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

# What files, options and the system can cause. Any other exception is a bug, and is shown with its traceback.
_EXPECTED = (
    bp.FileFormatError,
    bp.InvalidBoxError,
    bp.MissingExtraError,
    bp.TooManyPairsError,
    bp.UnsupportedQueryError,
    MemoryError,
    OSError,
)
_BUG = 3  # exit code


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"broadphase {bp.__version__}")
        raise typer.Exit


@app.callback()
def _options_of_all(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of any error. Allowed anywhere.")] = False,
) -> None:
    """Find all overlapping pairs of boxes, and run worlds of moving bodies.

    Boxes are read from .npy, .npz, .csv, .parquet, GeoJSON and mesh files, or from a bundled data set (us_counties).

    For example:

    - `broadphase pairs us_counties`

    - `broadphase info rooms.csv`

    - `broadphase run machine_gun`
    """


def run(arguments: list[str]) -> int:
    """Run one command; see `broadphase.cli.main`.

    Errors of the input become one line on stderr, unless ``--debug`` is among the arguments.
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
    except _EXPECTED as error:
        if is_debugging:
            raise
        say(f"error: {_in_one_line(error)}")
        return 1
    except Exception:
        if is_debugging:
            raise
        traceback.print_exc()
        say("error: this is a bug in broadphase: please report it with the traceback above")
        return _BUG
    finally:
        _flush()
    return 0


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the pipe, such as head, has closed it; Python would complain at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_one_line(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return f"out of memory{f' ({error})' if str(error) else ''}; broadphase count does not store the pairs"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    say(f"warning: {message}")
