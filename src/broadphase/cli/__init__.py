"""The command ``broadphase``. Needs the extra ``cli``; without it, the command prints how to install it."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]

_LIBRARIES = ("rich", "typer")


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
    _fill_closed_streams()
    try:
        from broadphase.cli.app import run
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in _LIBRARIES:
            raise
        print(f'error: the command needs {library}: pip install "broadphase[cli]"', file=sys.stderr)
        return 1
    return run(sys.argv[1:] if arguments is None else arguments)


def _fill_closed_streams() -> None:
    """Open what the caller has closed, as by ``>&-``, so that no file of ours gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
