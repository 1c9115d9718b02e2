"""Locks of folders that fill with results: one run at a time writes to a folder."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
import uuid
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LOCK", "FileLock", "TextLock"]

LOCK = "_lock"
_BEAT = 5.0  # seconds between two signs of life
_PATIENCE = 20.0  # seconds without one after which a run has ended: some beats may be late
_BUSY = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}
_WITHOUT_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, getattr(errno, "ENOTSUP", errno.ENOSYS)}

_guard = threading.Lock()
_held: set[tuple[int, int, int]] = set()  # by this process: its number, and the device and the number of the folder

if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(descriptor: int) -> None:
        # Of POSIX: network file systems have it, and children by fork do not inherit it.
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _refusal(folder: object) -> FileExistsError:
    return FileExistsError(f"{folder}: another run is writing to it; wait for its end, or use another folder")


class FileLock:
    """A lock of a folder by the operating system, on a file within: it ends with the process, however that ends.

    The file by itself means nothing: one that a killed process has left can be locked. A lock of POSIX belongs to a
    process, and is lost where that closes the file once more; so threads are kept apart by `_held`.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK
        with _guard:
            about = folder.stat()
            self._key = os.getpid(), about.st_dev, about.st_ino
            if self._key in _held:
                raise _refusal(folder)
            while not self._opened(folder):
                pass
            _held.add(self._key)

    def _opened(self, folder: Path) -> bool:
        """Lock the file; False if its last holder has deleted it in between."""
        self._stream = self._path.open("ab")
        try:
            _take(self._stream.fileno())
        except OSError as error:
            if error.errno in _WITHOUT_LOCKS:
                warnings.warn(
                    f"{folder}: its file system has no locks ({error}); let no other run write to it", stacklevel=2
                )
                return True
            self._stream.close()
            if error.errno in _BUSY:
                raise _refusal(folder) from None
            raise
        try:
            found = os.path.samestat(os.fstat(self._stream.fileno()), self._path.stat())
        except FileNotFoundError:
            found = False
        if not found:
            self._stream.close()
        return found

    def check(self) -> None:
        """Do nothing: nobody can take the lock."""

    def release(self) -> None:
        """Delete the file, and unlock it; twice has no effect."""
        with _guard:
            if self._stream.closed or self._key[0] != os.getpid():
                return
            if sys.platform != "win32":  # where an open file cannot be deleted
                self._path.unlink(missing_ok=True)
            self._stream.close()
            with suppress(OSError):  # another run has opened it, on Windows
                if sys.platform == "win32":
                    self._path.unlink(missing_ok=True)
            _held.discard(self._key)


class TextFile(Protocol):
    """A small file that is read and written as a whole, such as an object of a store."""

    def read(self, name: str) -> str | None:
        """Return the text; None if there is no such file."""

    def overwrite(self, name: str, text: str) -> None:
        """Write the text at once, whatever was there."""

    def delete(self, name: str) -> None:
        """Delete the file, if there is one."""


class TextLock:
    """A lock of a place that has none, such as an object store: a text that its holder changes every few seconds.

    One that does not change any more was left by a run that was killed. Two runs that begin at the same moment may both
    find the place free: the one whose text is overwritten ends with an error at the next tile.
    """

    def __init__(self, place: TextFile) -> None:
        self._place = place
        self._token = uuid.uuid4().hex
        self._is_lost = False
        before = place.read(LOCK)
        if before is not None:
            time.sleep(_PATIENCE)
            if place.read(LOCK) not in (before, None):
                raise _refusal(place)
        place.overwrite(LOCK, f"{self._token} 0")
        if not self._is_ours():
            raise _refusal(place)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="broadphase lock", daemon=True)
        self._thread.start()

    def _is_ours(self) -> bool:
        return (self._place.read(LOCK) or "").startswith(self._token)

    def _beat(self) -> None:
        count = 0
        while not self._end.wait(_BEAT):
            count += 1
            with suppress(OSError):  # the network may come back before the patience of others ends
                if not self._is_ours():
                    self._is_lost = True
                    return
                self._place.overwrite(LOCK, f"{self._token} {count}")

    def check(self) -> None:
        """Raise FileExistsError if another run has taken the lock."""
        if self._is_lost:
            raise _refusal(self._place)

    def release(self) -> None:
        """Delete the text; twice has no effect."""
        if self._end.is_set():
            return
        self._end.set()
        self._thread.join()
        if not self._is_lost and self._is_ours():
            self._place.delete(LOCK)
