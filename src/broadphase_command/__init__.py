"""The program ``broadphase``: it starts the command of the same name, and ends without a traceback on Ctrl-C.

It is a package of its own, because importing anything of `broadphase` imports NumPy, which takes long enough to press
Ctrl-C. Importing it changes what Ctrl-C does.
"""

import atexit
import os
import signal
import sys

__all__ = ["main"]

_INTERRUPTED = 130  # the exit code of a program that Ctrl-C has ended, as shells report it


def _leave(*_: object) -> None:
    os._exit(_INTERRUPTED)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored, as in the background of a script
    # Nothing needs to be cleaned up before the command runs; what it runs handles Ctrl-C in another way meanwhile.
    signal.signal(signal.SIGINT, _leave)
    # The last of what is called at exit: afterwards Python takes back its handlers, and Ctrl-C would kill what is done.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def main() -> int:
    """Run the command with the arguments of this process; see `broadphase.cli.main`."""
    from broadphase.cli import main as run

    try:
        return run()
    finally:
        sys.stdout.flush()
