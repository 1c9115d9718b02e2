"""Write a file whole or not at all, and never one that is read; open only files that are files."""

from __future__ import annotations

import errno
import os
import stat
import threading
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broadphase.errors import FileFormatError, clipped, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "files_beside",
    "keeping_inputs",
    "naming",
    "path_of",
    "refuse_inputs",
    "replacing",
    "require_ending",
    "require_file",
    "require_unicode",
]

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


def require_ending(path: Path, endings: Iterable[str]) -> str:
    """Return the ending of a file name in small letters, or raise ValueError if it is none of those that are known.

    >>> require_ending(Path("pairs.CSV"), (".csv", ".parquet"))
    '.csv'
    """
    *others, last = endings = tuple(endings)
    ending = path.suffix.lower()
    if ending not in endings:
        known = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{path}: the file name must end in {known}")
    return ending


_read: ContextVar[dict[object, str] | None] = ContextVar("_read", default=None)


@contextmanager
def keeping_inputs() -> Iterator[None]:
    """Within the block, `replacing` refuses what `require_file` has let through: for programs that read, then write."""
    token = _read.set({})
    try:
        yield
    finally:
        _read.reset(token)


def require_file(path: str | os.PathLike[str], named_by: str | os.PathLike[str] | None = None) -> None:
    """Raise if `path` is there and is not a file: opening a named pipe would wait for ever, and a device never ends.

    Call it before a file is opened that the user names, or that the file `named_by` names. A missing path is
    reported by the call that opens it.

    >>> require_file(".")
    Traceback (most recent call last):
    broadphase.errors.FileFormatError: .: a folder, not a file
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # such as a name with a zero byte
        return
    if not stat.S_ISREG(mode):
        shown = clipped(os.fspath(path))
        what = next((text for is_kind, text in _KINDS if is_kind(mode)), "not a file")
        if named_by is not None:
            raise FileFormatError(f"{clipped(os.fspath(named_by))}: it names {shown}, which is {what}, not a file")
        advice = "; write what it gives to a file first" if stat.S_ISFIFO(mode) else ""
        raise FileFormatError(f"{shown}: {what}, not a file{advice}")
    inputs = _read.get()
    if inputs is not None:
        inputs.setdefault(_identity(path), os.fspath(path))


def require_unicode(path: str | os.PathLike[str], library: str) -> None:
    r"""Raise FileFormatError if the name of a file is not Unicode, where a library takes no other.

    >>> require_unicode("caf\udce9.gpkg", "GDAL")
    Traceback (most recent call last):
    broadphase.errors.FileFormatError: caf\udce9.gpkg: the name is not UTF-8, and GDAL takes no other: rename it
    """
    name = os.fspath(path)
    try:
        name.encode()
    except UnicodeEncodeError:
        text = f"{clipped(name)}: the name is not UTF-8, and {library} takes no other: rename it"
        raise FileFormatError(text) from None


_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def files_beside(trimesh: Any, path: str | os.PathLike[str]) -> Any:
    """Return what trimesh opens the files by that a mesh file names, such as materials; see `require_file`."""
    resolver = trimesh.resolvers.FilePathResolver(os.fspath(path))
    get = resolver.get

    def get_file(name: str) -> Any:
        for one in {name.strip(), name.strip().lstrip("/"), os.path.basename(name)}:  # where it looks
            require_file(os.path.join(resolver.parent, one), path)
        return get(name)

    resolver.get = get_file
    return resolver


def refuse_inputs(output: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise FileExistsError if the file to write is one that is read: by links and other spellings, too.

    >>> refuse_inputs("pairs.csv", ["boxes.csv"])
    """
    written = _identity(output)
    for path in inputs:
        if written is not None and written == _identity(path):
            raise _is_input(output, path)


def _is_input(output: str | os.PathLike[str], path: str | os.PathLike[str]) -> FileExistsError:
    name, same = clipped(os.fspath(output)), clipped(os.fspath(path))
    link = "" if name == same else f", the same file as {same}"
    return FileExistsError(f"{name} is read{link}: write to another file")


def _identity(path: str | os.PathLike[str]) -> object:
    """Return what two names of one file share; None where writing replaces nothing."""
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return None
    if stat.S_ISCHR(facts.st_mode):  # such as /dev/null, or a terminal
        return None
    return (facts.st_dev, facts.st_ino) if facts.st_ino else os.path.normcase(os.path.realpath(path))


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
    inputs = _read.get()
    if inputs and (same := inputs.get(_identity(path))) is not None:
        raise _is_input(path, same)
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
