"""The command ``broadphase``. Needs the extra ``cli``; without it, the command prints how to install it."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["main"]

_LIBRARIES = ("rich", "typer")
_STDERR = 2  # where nobody can be told


def main(arguments: list[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : list of str, optional
        The arguments after ``broadphase``. Default: those of this process.

    Returns
    -------
    int
        0: success. 1: an error in the data or in reading or writing them. 2: wrong usage. 3: a bug in broadphase.
        4: there are hard clashes (`broadphase clash`).
        130: ended by Ctrl-C. 143 and 129: ended by SIGTERM and SIGHUP; unfinished files are deleted before.
    """
    _prepare_streams()
    try:
        from broadphase.cli.app import run
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in _LIBRARIES:
            raise
        print(f'error: the command needs {library}: pip install "broadphase[cli]"', file=sys.stderr)
        return 1
    return run(sys.argv[1:] if arguments is None else arguments)


def _prepare_streams() -> None:
    """Make streams that are closed, as by ``>&-``, or whose reader ends, such as head, as if nobody listened.

    What the encoding of a terminal lacks is written as an escape.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # or a file of ours would get its number
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif mode == "w" and stream is getattr(sys, f"__{name}__"):
            stream.reconfigure(errors="backslashreplace")
            if not stream.isatty():
                setattr(sys, name, _Pipe.instead_of(stream))


class _Pipe(io.FileIO):
    """A stream whose writes are lost, without an error, once its reader has ended; on stderr, on a full disk too."""

    @classmethod
    def instead_of(cls, stream: io.TextIOWrapper) -> io.TextIOWrapper:
        stream.flush()
        return io.TextIOWrapper(
            io.BufferedWriter(cls(stream.fileno(), "wb", closefd=False)),
            encoding=stream.encoding,
            errors=stream.errors,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )

    def write(self, data: Buffer) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if not isinstance(error, BrokenPipeError) and self.fileno() != _STDERR:
                raise
            return memoryview(data).nbytes
