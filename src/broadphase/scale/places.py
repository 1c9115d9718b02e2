"""Where results go: a folder on this machine, or one on a file system of pyarrow. Every file there is whole."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broadphase.errors import clipped
from broadphase.files import naming, replacing, require_unicode
from broadphase.scale.addresses import file_system, is_address, secrets_of, without_secrets
from broadphase.scale.columns import arrow
from broadphase.scale.locks import FileLock, TextLock

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LocalPlace", "Place", "RemotePlace", "place_at"]

_UNFINISHED = "_part-"
_BETWEEN = 5.0  # seconds between two versions of a growing file, which is written whole each time


class LocalPlace:
    """A folder on this machine, which need not exist."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        require_unicode(folder, "pyarrow")
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise FileExistsError(f"{self.folder} is a file, not a folder")

    def __str__(self) -> str:
        return str(self.folder)

    def exists(self) -> bool:
        """Return whether there is such a folder."""
        return self.folder.is_dir()

    def lock(self) -> FileLock:
        """Make the folder if there is none, and keep other runs out of it: FileExistsError if one is in it."""
        while True:
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                return FileLock(self.folder)
            except FileNotFoundError:  # the other run has deleted the folder in between
                continue

    def remove(self) -> None:
        """Delete the folder, unless another run has begun in it."""
        with suppress(OSError):
            self.folder.rmdir()

    def names(self) -> list[str]:
        """Return what is in the folder."""
        return sorted(os.listdir(self.folder)) if self.folder.is_dir() else []

    def size(self, name: str) -> int | None:
        """Return the size of a file; None if there is none."""
        try:
            return (self.folder / name).stat().st_size
        except FileNotFoundError:
            return None

    def read(self, name: str) -> str | None:
        """Return the text of a file; None if there is none."""
        try:
            return (self.folder / name).read_text("utf-8")
        except FileNotFoundError:
            return None

    def write(self, name: str, text: str) -> None:
        """Write a file of text, which replaces an older one."""
        with replacing(self.folder / name) as unfinished:
            unfinished.write_text(text, "utf-8")

    def append(self, name: str, line: str) -> None:
        """Add a line to a file of text, behind one that was not written to its end."""
        with naming(self.folder / name), (self.folder / name).open("ab+") as stream:
            if size := stream.seek(0, os.SEEK_END):
                stream.seek(size - 1)
            is_within = size > 0 and stream.read(1) != b"\n"
            stream.write(b"\n" * is_within + line.encode() + b"\n")

    def flush(self) -> None:
        """Write the lines that `append` has not written yet."""

    def delete(self, name: str) -> None:
        """Delete a file, if there is one."""
        (self.folder / name).unlink(missing_ok=True)

    def delete_unfinished(self) -> None:
        """Delete what killed processes have not written to the end."""
        for path in self.folder.glob(".*.part"):
            path.unlink(missing_ok=True)

    @contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """Yield a path or a stream to write; the file gets its name if the block succeeds."""
        with replacing(self.folder / name) as unfinished:
            yield unfinished


class RemotePlace:
    """A folder on a file system of pyarrow; `address` has its keys and passwords.

    Files are written under another name, that readers of tables pass over, and moved when they are complete: streams of
    object stores may leave what was written up to an error.
    """

    def __init__(self, system: Any, folder: str, address: str) -> None:
        self._system = system
        self._folder = folder.rstrip("/")
        self._shown = without_secrets(address).rstrip("/")
        self._secrets = secrets_of(address)
        self._lines: dict[str, list[str]] = {}
        self._changed: set[str] = set()
        self._written = -_BETWEEN

    def __str__(self) -> str:
        return self._shown

    @contextmanager
    def _named(self, name: str = "") -> Iterator[None]:
        """Make errors name the place, without its secrets."""
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            message = without_secrets(str(error), self._secrets)
            raise OSError(f"{self._path(name, self._shown)}: {clipped(message)}") from None

    def _path(self, name: str, folder: str | None = None) -> str:
        folder = self._folder if folder is None else folder
        return f"{folder}/{name}" if name else folder

    def _info(self, name: str = "") -> Any:
        with self._named(name):
            return self._system.get_file_info(self._path(name))

    def exists(self) -> bool:
        """Return whether there is such a folder; of object stores, whether anything is in it."""
        info = self._info()
        if info.is_file:
            raise FileExistsError(f"{self} is a file, not a folder")
        return bool(info.type != arrow("fs").FileType.NotFound)

    def lock(self) -> TextLock:
        """Do as `LocalPlace.lock`, as far as that goes without locks."""
        with self._named():
            self._system.create_dir(self._folder, recursive=True)
        return TextLock(self)

    def remove(self) -> None:
        """Delete the folder, which is empty."""
        with self._named():
            self._system.delete_dir(self._folder)

    def names(self) -> list[str]:
        """Return what is in the folder."""
        fs = arrow("fs")
        with self._named():
            infos = self._system.get_file_info(fs.FileSelector(self._folder, allow_not_found=True))
        return sorted(info.base_name for info in infos)

    def size(self, name: str) -> int | None:
        """Return the size of a file; None if there is none."""
        info = self._info(name)
        return int(info.size) if info.is_file else None

    def read(self, name: str) -> str | None:
        """Return the text of a file; None if there is none."""
        if self.size(name) is None:
            return None
        with self._named(name), self._system.open_input_stream(self._path(name)) as stream:
            return bytes(stream.read()).decode("utf-8")

    def write(self, name: str, text: str) -> None:
        """Write a file of text, which replaces an older one."""
        with self.writing(name) as stream:
            stream.write(text.encode("utf-8"))

    def overwrite(self, name: str, text: str) -> None:
        """Write a file of text at once, whatever happens to it then."""
        with self._named(name), self._system.open_output_stream(self._path(name)) as stream:
            stream.write(text.encode("utf-8"))

    def append(self, name: str, line: str) -> None:
        """Add a line to a file of text; it may be written some seconds later."""
        if name not in self._lines:
            self._lines[name] = (self.read(name) or "").splitlines()
        self._lines[name].append(line)
        self._changed.add(name)
        if time.monotonic() - self._written > _BETWEEN:
            self.flush()

    def flush(self) -> None:
        """Write the lines that `append` has not written yet."""
        for name in sorted(self._changed):
            self.write(name, "".join(line + "\n" for line in self._lines[name]))
        self._changed.clear()
        self._written = time.monotonic()

    def delete(self, name: str) -> None:
        """Delete a file, if there is one."""
        self._lines.pop(name, None)
        self._changed.discard(name)
        if self.size(name) is not None:
            with self._named(name):
                self._system.delete_file(self._path(name))

    def delete_unfinished(self) -> None:
        """Delete what killed processes have not written to the end."""
        for name in self.names():
            if name.startswith(_UNFINISHED):
                self.delete(name)

    @contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """Yield a stream to write; the file gets its name if the block succeeds."""
        unfinished = f"{_UNFINISHED}{name}"
        with self._named(name):
            try:
                with self._system.open_output_stream(self._path(unfinished)) as stream:
                    yield stream
                self._system.move(self._path(unfinished), self._path(name))
            except BaseException:
                with suppress(OSError):
                    self._system.delete_file(self._path(unfinished))
                raise


Place = LocalPlace | RemotePlace


def place_at(output: str | os.PathLike[str]) -> Place:
    """Return the folder that a path or an address names."""
    name = os.fspath(output)
    if not is_address(name):
        return LocalPlace(name)
    system, folder = file_system(name)
    fs = arrow("fs")
    return LocalPlace(folder) if isinstance(system, fs.LocalFileSystem) else RemotePlace(system, folder, name)
