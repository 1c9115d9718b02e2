"""Take NVIDIA Warp to a machine that has a card but no network, in parts, over several transfers.

Where there is a network, `pack` takes a wheel of Warp, leaves out what a card does not need, compresses the rest to
half of the wheel, and divides it into numbered parts, beside a list of checksums. On the machine with the card,
`unpack` says which parts are missing, and, once all are there, puts them together in a folder for ``PYTHONPATH``.
Other wheels in the folder of the parts, such as that of broadphase, are unpacked there too:

    python3.12 -m pip wheel --no-deps -w build/carried .            # broadphase, for the Python that is there
    python -m benchmarks.gpu.carry pack build/carried               # Warp: some minutes; two parts of at most 40 MB
    ...                                                             # transfer the files of this folder, or one by one
    python -m benchmarks.gpu.carry unpack build/carried build/site  # there, in the folder of the repository
    PYTHONPATH=build/site python -m benchmarks.gpu --device         # there

What is left out: Warp's compiler for the CPU (so that its device "cpu" can run nothing there), tests, examples, finite
elements and rendering. Only Python's standard library is used; `unpack` needs nothing else there.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import lzma
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

__all__ = ["main", "pack", "unpack"]

#: What a wheel of Warp has and a card does not need.
LEFT_OUT = re.compile(
    r"warp/(tests|examples|fem|render|_src/fem|_src/render)/"
    r"|warp/bin/.*warp-clang\.[a-z]+$"
    r"|.*\.pyi$"
)
#: The platform of the wheel that is downloaded by default.
PLATFORM = "manylinux_2_28_x86_64"

LIST = "SHA256SUMS"  # in the form of the program sha256sum
UNPACKED = "unpacked.sha256"
_BLOCK = 64 << 20  # bytes that are compressed as one, so that all cores have work
# Two thirds of Warp's library is machine code: the filter for x86 makes that 8 % smaller.
_FILTERS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": _BLOCK}]


def pack(folder: Path, wheel: Path | None = None, part_size: int = 40_000_000, *, platform: str = PLATFORM) -> int:
    """Divide a wheel of Warp into parts.

    Parameters
    ----------
    folder : Path
        Where the parts go; parts that are there already are replaced.
    wheel : Path, optional
        The wheel. Default: the newest one, downloaded by pip.
    part_size : int
        Most bytes of a part.
    platform : str
        For which system to download it.

    Returns
    -------
    int
        Number of parts.

    Raises
    ------
    CalledProcessError
        pip has failed.
    OSError, zipfile.BadZipFile
        The wheel cannot be read, or the parts not be written.
    """
    if part_size < 1:
        raise ValueError(f"a part of {part_size} bytes is none")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        if wheel is None:
            wheel = _downloaded(Path(temporary), platform)
        raw, names = _slim(wheel)
        print(f"{wheel.name}: {len(names)} files, {len(raw) / 1e6:,.1f} MB; compressing", flush=True)
        blocks = [raw[start : start + _BLOCK] for start in range(0, len(raw), _BLOCK)]
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:  # the compressor runs without Python's lock
            packed = b"".join(pool.map(_compressed, blocks))
    stem = "-".join(wheel.name.split("-")[:2])  # name and version
    for old in folder.glob("*.part-*-of-*"):
        old.unlink()
    starts = range(0, len(packed), part_size)
    lines = []
    for number, start in enumerate(starts, 1):
        part = packed[start : start + part_size]
        name = f"{stem}.part-{number}-of-{len(starts)}"
        (folder / name).write_bytes(part)
        lines.append(f"{hashlib.sha256(part).hexdigest()}  {name}\n")
        print(f"  {name}: {len(part) / 1e6:,.1f} MB", flush=True)
    (folder / LIST).write_text("".join(lines))
    print(f"{len(packed) / 1e6:,.1f} MB in {len(starts)} parts, and {LIST}, in {folder}")
    return len(starts)


def _downloaded(folder: Path, platform: str) -> Path:
    options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--platform", platform]
    command = [sys.executable, "-m", "pip", "download", "--quiet", *options, "-d", str(folder), "warp-lang"]
    print("downloading warp-lang by pip", flush=True)
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def _slim(wheel: Path) -> tuple[bytes, list[str]]:
    """Return the files of a wheel that are needed, as a tar archive, and their names."""
    buffer, names = io.BytesIO(), []
    with zipfile.ZipFile(wheel) as source, tarfile.open(fileobj=buffer, mode="w") as target:
        for entry in source.infolist():
            if entry.is_dir() or LEFT_OUT.match(entry.filename):
                continue
            names.append(entry.filename)
            member = tarfile.TarInfo(entry.filename)
            member.size = entry.file_size
            with source.open(entry) as content:
                target.addfile(member, content)
    return buffer.getvalue(), names


def _compressed(block: bytes) -> bytes:
    return lzma.compress(block, format=lzma.FORMAT_XZ, filters=_FILTERS)


class _Joined(io.RawIOBase):
    """Files, one after the other, as one that is read from front to end."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._chunks = self._read(paths)
        self._rest = memoryview(b"")

    @staticmethod
    def _read(paths: Sequence[Path]) -> Iterator[bytes]:
        for path in paths:
            with path.open("rb") as file:
                while chunk := file.read(1 << 20):
                    yield chunk

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        if not self._rest:
            self._rest = memoryview(next(self._chunks, b""))
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def unpack(folder: Path, target: Path) -> list[str]:
    """Put together what `pack` has divided, if all of it is there; and unpack the wheels beside it.

    Parameters
    ----------
    folder : Path
        Where the parts are, as many as have arrived.
    target : Path
        A folder for ``PYTHONPATH``.

    Returns
    -------
    list of str
        What is missing or damaged; empty if all was unpacked.

    Raises
    ------
    FileNotFoundError
        The list of the checksums is missing.
    """
    target.mkdir(parents=True, exist_ok=True)
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as source:
            source.extractall(target)
        print(f"{wheel.name}: unpacked", flush=True)
    table = (folder / LIST).read_text()
    faults, paths = [], []
    for line in table.splitlines():
        digest, name = line.split("  ")
        path = folder / name
        paths.append(path)
        if not path.exists():
            faults.append(f"{name} is missing")
        elif _digest(path) != digest:
            faults.append(f"{name} is damaged ({path.stat().st_size:,} bytes): transfer it again")
    stamp = target / UNPACKED
    if stamp.exists() and stamp.read_text() == table:
        print(f"Warp is in {target} already")
        return []
    if not faults:
        joined = io.BufferedReader(_Joined(paths), 1 << 20)
        with lzma.open(joined) as raw, tarfile.open(fileobj=raw, mode="r|") as source:
            source.extractall(target, filter="data")
        stamp.write_text(table)
        print(f"{len(paths)} parts: unpacked in {target}; PYTHONPATH={target} imports warp")
    return faults


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def as_bytes(text: str) -> int:
    """Read a size such as ``"40MB"``.

    Examples
    --------
    >>> from benchmarks.gpu.carry import as_bytes
    >>> as_bytes("40MB"), as_bytes("1.5 kB"), as_bytes("700")
    (40000000, 1500, 700)
    """
    found = re.fullmatch(r"([0-9.]+)\s*(k|M|G)?B?", text.strip())
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no size, such as 40MB")
    return int(float(found[1]) * {None: 1, "k": 1e3, "M": 1e6, "G": 1e9}[found[2]])


def main(arguments: Sequence[str] | None = None) -> int:
    """Pack or unpack."""
    shape = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(prog="python -m benchmarks.gpu.carry", description=__doc__, formatter_class=shape)
    commands = top.add_subparsers(required=True, metavar="COMMAND", dest="command")
    one = commands.add_parser("pack", help="divide a wheel of Warp into parts")
    one.add_argument("folder", type=Path, help="for the parts")
    one.add_argument("--wheel", type=Path, help="the wheel; by default pip downloads it")
    one.add_argument("--part-size", type=as_bytes, default=as_bytes("40MB"), help="most bytes of a part (40MB)")
    one.add_argument("--platform", default=PLATFORM, help=f"of the wheel that is downloaded ({PLATFORM})")
    one = commands.add_parser("unpack", help="put the parts together")
    one.add_argument("folder", type=Path, help="with the parts, and other wheels")
    one.add_argument("target", type=Path, help="a folder for PYTHONPATH")
    chosen = top.parse_args(arguments)
    if chosen.command == "pack":
        pack(chosen.folder, chosen.wheel, chosen.part_size, platform=chosen.platform)
        return 0
    try:
        faults = unpack(chosen.folder, chosen.target)
    except FileNotFoundError as error:
        faults = [f"{error.filename} is missing"]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
