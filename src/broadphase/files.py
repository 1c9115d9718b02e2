"""Write a file whole or not at all."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the name of a file to write; it replaces `path` if the block succeeds, and is deleted if it fails.

    After a crash or a power failure, `path` holds either its old content or all of the new: the new content is on the
    disk (fsync) before it gets its name.

    Parameters
    ----------
    path : path-like
        The file to create or replace.

    Yields
    ------
    Path
        In the same folder, under a name that no other process or thread uses.

    Raises
    ------
    OSError
        The file cannot be written. An older one is as it was.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "numbers.txt")
    >>> with replacing(path) as unfinished:
    ...     characters = unfinished.write_text("1 2 3")
    >>> path.read_text()
    '1 2 3'
    """
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        yield unfinished
        with unfinished.open("r+b") as stream:  # Windows syncs only what is open for writing
            os.fsync(stream.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
