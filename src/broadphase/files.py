"""Write a file whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from broadphase.errors import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["naming", "path_of", "replacing"]

# Of disks that are full or read-only: the system may say no name with them.
_NAMELESS = (errno.ENOSPC, errno.EFBIG, errno.EROFS, getattr(errno, "EDQUOT", errno.ENOSPC))


def path_of(path: str | os.PathLike[str]) -> Path:
    """Convert the argument `path`, or raise TypeError if it is neither text nor a path.

    >>> path_of("a/b.csv").name
    'b.csv'
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a str or a path, not {quoted(path)}")
    return Path(path)


@contextmanager
def naming(path: str | os.PathLike[str], unfinished: Path | None = None) -> Iterator[None]:
    """Let an OSError of the block name the file that it writes: on a full disk, the system names none.

    `unfinished` is the name of the file until it is complete, which means nothing to the user.

    >>> with naming("pairs.csv"):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'pairs.csv'
    """
    try:
        yield
    except OSError as error:
        is_nameless = error.filename is None and error.errno in _NAMELESS
        if is_nameless or (unfinished is not None and str(error.filename) == str(unfinished)):
            error.filename = os.fspath(path)
        raise


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the name of a file to write; it replaces `path` if the block succeeds, and is deleted if it fails.

    After a crash or a power failure, `path` holds either its old content or all of the new: the new content is on the
    disk (fsync) before it gets its name. If the process is killed, an unfinished file ``.<name>.<numbers>.part`` may
    stay beside it; the command deletes it on SIGTERM, SIGHUP and Ctrl-C.

    A symbolic link stays, and the file that it points to is replaced, with its permissions. What is not a file, such as
    ``/dev/stdout`` or a named pipe, is written as it is: then `path` itself is yielded. An OSError names the file.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "numbers.txt")
    >>> with replacing(path) as unfinished:
    ...     characters = unfinished.write_text("1 2 3")
    >>> path.read_text()
    '1 2 3'
    """
    given, path = path, Path(os.path.realpath(path))
    older = path.stat() if path.exists() else None
    if older is not None and not stat.S_ISREG(older.st_mode):
        with naming(given):
            yield path
        return
    if not path.parent.is_dir():  # rather than by the name of the unfinished file
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))
    unfinished = path.with_name(f".{path.name[:100]}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        with naming(given, unfinished):
            yield unfinished
            with unfinished.open("r+b") as stream:  # Windows syncs only what is open for writing
                os.fsync(stream.fileno())
            if older is not None:
                unfinished.chmod(stat.S_IMODE(older.st_mode))
            unfinished.replace(path)
    except BaseException:
        with suppress(OSError):  # a read-only disk refuses even that, by a name that says nothing
            unfinished.unlink()
        raise
