"""The command line: its commands, its exit codes, and how errors are reported."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import traceback
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

import broadphase as bp
from broadphase import data
from broadphase.cli.boxes import count, explain, info, pairs
from broadphase.cli.clashes import clash
from broadphase.cli.options import WithParts
from broadphase.cli.screen import say
from broadphase.cli.worlds import demo, run as run_scene
from broadphase.errors import clipped
from broadphase.files import keeping_inputs

if TYPE_CHECKING:
    from collections.abc import Iterator

app = typer.Typer(
    name="broadphase",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (pairs, count, explain, info, clash, demo):
    app.command(cls=None if command in (clash, demo) else WithParts)(command)
app.command("run")(run_scene)

# What files, options and the system can cause. Any other exception is a bug, and is shown with its traceback.
_EXPECTED = (
    bp.errors.FileFormatError,
    bp.errors.InvalidBoxError,
    bp.errors.MissingExtraError,
    bp.errors.TooManyPairsError,
    bp.errors.UnsupportedQueryError,
    MemoryError,
    OSError,
)
_BUG, _INTERRUPTED = 3, 130  # exit codes
_UsageError: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


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

    Boxes are read from .npy, .npz, .csv, .parquet, GeoJSON, GeoPackage, Shapefile, FlatGeobuf, IFC, STEP and mesh
    files, or from a bundled data set (us_counties).

    For example:

    - `broadphase pairs us_counties` finds the pairs of a bundled data set

    - `broadphase pairs rooms.csv --output overlaps.csv` writes the pairs of a file

    - `broadphase info rooms.csv` describes a file, and finds its invalid rows; `broadphase info engine.glb` lists parts

    - `broadphase clash walls.ifc pipes.glb --clearance 0.05` reports clashes of parts

    - `broadphase run machine_gun` runs a scene; `broadphase demo` shows one in the browser

    `broadphase COMMAND --help` lists the options of a command, with more examples.
    """


def run(arguments: list[str]) -> int:
    """Run one command; see `broadphase.cli.main`.

    Errors of the input become one line on stderr, unless ``--debug`` is among the arguments.
    """
    code = _run(arguments)
    return code if _flush(quiet=code != 0) else code or 1


def _run(arguments: list[str]) -> int:
    is_debugging = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    ending = _Ending()
    try:
        with warnings.catch_warnings(), ending.on_signals(), keeping_inputs():
            for category in (bp.errors.InvalidBoxWarning, bp.errors.PartialFileWarning):
                warnings.simplefilter("always", category)
            warnings.showwarning = lambda message, *where, **more: say(f"warning: {message}")
            code = app(arguments, prog_name="broadphase", standalone_mode=False)
            return ending.code or (code if isinstance(code, int) else 0)
    except SystemExit as stop:
        return ending.code or (stop.code if isinstance(stop.code, int) else int(stop.code is not None))
    except KeyboardInterrupt:
        return ending.code or _INTERRUPTED
    except Exception as error:
        if ending.code:  # a library takes what a signal raises for a failure of its own
            return ending.code
        if isinstance(error, _UsageError):
            return _show_usage_error(error)
        if isinstance(error, typer.Abort):
            say("error: the input has ended")
            return 1
        if is_debugging:
            raise
        if isinstance(error, _EXPECTED):
            say(f"error: {_in_one_line(error, arguments)}")
            return 1
        for line in traceback.format_exc().splitlines():
            say(line)
        say("error: this is a bug in broadphase: please report it with the traceback above")
        return _BUG


def _show_usage_error(error: Any) -> int:
    if type(error).__name__ != "NoArgsIsHelpError":  # which has printed the help
        context = getattr(error, "ctx", None)
        if context is not None:
            say(" ".join(context.get_usage().split()))
            say(f"Try '{context.command_path} --help' for help.")
        say(f"error: {error.format_message()}{_hint(error)}")
    return int(error.exit_code)


def _hint(error: Any) -> str:
    """Return what to do, where a file stands in the place of a command, or there are too many files."""
    found = re.match(r"No such command '(.*)'\.", error.format_message())
    if found and (os.path.exists(found[1]) or found[1] in data.NAMES):
        return f" To find its pairs: broadphase pairs {clipped(found[1])}"
    if error.format_message().startswith("Got unexpected extra argument"):
        context = getattr(error, "ctx", None)
        if context is not None and context.command.name == "pairs":  # the shell has written out a pattern
            return "; many files are one pattern in quotes, such as 'boxes/*.parquet', with --output pairs/"
    return ""


class _Ending:
    """How SIGTERM, SIGHUP and Ctrl-C end the command: by an exception, so that unfinished files are deleted.

    What a signal raises can get lost: in a library while it is imported, in a ``__del__``, in C code that takes any
    exception for a missing attribute. So it is raised again, until it is on its way out.
    """

    _AGAIN = 0.05  # seconds between two looks at what has become of the exception

    def __init__(self) -> None:
        self.code = 0  # the exit code of a command that a signal has ended
        self._raised: BaseException | None = None
        self._report = sys.unraisablehook

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Handle signals within the block, except those that something else handles or ignores, such as nohup."""
        if threading.current_thread() is not threading.main_thread():
            yield  # Python has signals in the main thread only
            return
        names = ("SIGTERM", "SIGHUP", "SIGINT")
        before = {
            number: signal.getsignal(number) for number in (getattr(signal, one, None) for one in names) if number
        }
        before = {number: handler for number, handler in before.items() if _is_of_python(handler)}
        timer = getattr(signal, "SIGALRM", None)  # Windows has neither this nor the other two
        if timer is not None and signal.getsignal(timer) is signal.SIG_DFL:
            before[timer] = signal.SIG_DFL
            signal.signal(timer, self._look)
        for number in before:
            if number != timer:
                signal.signal(number, self._end)
        self._report, sys.unraisablehook = sys.unraisablehook, self._report_others
        try:
            yield
        finally:
            sys.unraisablehook = self._report
            if timer in before:
                signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, number: int, _: object) -> None:
        is_first = not self.code
        self.code = self.code or 128 + number
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, self._AGAIN, self._AGAIN)
        # A second signal does not interrupt the cleaning up; a second Ctrl-C does: somebody waits for it.
        if is_first or number == signal.SIGINT:
            self._raise()

    def _report_others(self, lost: Any) -> None:
        """Say nothing of what is lost, and raised again: Python would print where."""
        if self._raised is None or lost.exc_value is not self._raised:
            self._report(lost)

    def _look(self, *_: object) -> None:
        """Raise again what was raised, unless it is being handled, as such or as the cause of another exception."""
        handled = sys.exception()
        while handled is not None and handled is not self._raised:
            handled = handled.__context__
        if handled is None:
            self._raise()

    def _raise(self) -> None:
        if self._raised is None:
            self._raised = KeyboardInterrupt() if self.code == _INTERRUPTED else SystemExit(self.code)
        raise self._raised  # the same one each time, so that it is known again


def _is_of_python(handler: Any) -> bool:
    """Return whether a signal is handled as Python begins, or as `broadphase_command` does."""
    is_default = handler is signal.SIG_DFL or handler is signal.default_int_handler
    return is_default or getattr(handler, "__module__", None) == "broadphase_command"


def _flush(quiet: bool) -> bool:
    """Write what is left to stdout; return whether that was possible. Quiet: an error has been reported already."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python would complain at exit
        if not quiet:
            say(f"error: output: {error.strerror}")
        return False
    return True


def _in_one_line(error: BaseException, arguments: list[str]) -> str:
    if isinstance(error, MemoryError):
        what = " ".join(str(error).split())
        advice = "; broadphase count does not store the pairs" if "pairs" in arguments else ""
        return f"out of memory{f' ({what})' if what else ''}{advice}"
    if isinstance(error, bp.errors.TooManyPairsError):
        return f"{error}; raise --max-pairs, or count them by broadphase count"
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{clipped(str(error.filename or 'output'))}: {error.strerror}"
    return " ".join(str(error).split())
