"""The command ``broadphase``. Needs the extra ``cli``; without it, it says how to install it."""

from __future__ import annotations

import sys

__all__ = ["main"]

_LIBRARIES = ("rich", "typer")


def main(arguments: list[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : list of str, optional
        What follows ``broadphase`` on the command line; unset, that of this process.

    Returns
    -------
    int
        0 if all went well, 1 for an error in the data or in reaching them, 2 for a wrong command line.
    """
    try:
        from broadphase.cli.app import run
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in _LIBRARIES:
            raise
        print(f'error: the command needs {library}: pip install "broadphase[cli]"', file=sys.stderr)
        return 1
    return run(sys.argv[1:] if arguments is None else arguments)
