"""Files that describe robots: errors that name the file."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from broadphase.errors import FileFormatError, UnsupportedQueryError, clipped, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["file_of", "naming_file"]


def file_of(source: Any) -> str | None:
    """Return the path of a file, which must exist, or None for what is no path."""
    if not isinstance(source, str | os.PathLike):
        return None
    path = os.fsdecode(source)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file {quoted(path)}")
    return path


@contextmanager
def naming_file(source: Any) -> Iterator[None]:
    """Let what is wrong with the content of a file be a FileFormatError that names the file.

    Errors pass unchanged if `source` is no path.

    >>> with naming_file("arm.urdf"):
    ...     raise ValueError("link 'hand' hangs on itself, over its parents")
    Traceback (most recent call last):
    broadphase.errors.FileFormatError: arm.urdf: link 'hand' hangs on itself, over its parents
    """
    try:
        yield
    except (ValueError, UnsupportedQueryError) as error:
        if not isinstance(source, str | os.PathLike):
            raise
        raise FileFormatError(f"{clipped(os.fsdecode(source))}: {error}") from error
