"""Boxes in files: which there are, read a stretch at a time, and a sample of them."""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.arguments import undamaged
from broadphase.boxes import as_corners
from broadphase.errors import FileFormatError, InvalidBoxError, clipped, quoted
from broadphase.files import require_file, require_unicode
from broadphase.scale.addresses import file_system, is_address, without_secrets
from broadphase.scale.columns import BadRowError, BoxColumns, BoxSet, arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

__all__ = ["Part", "Source", "Stretch", "column_names", "open_source"]

_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc", ".npy": "npy"}
_BATCH = 1 << 16  # rows
_SAMPLED_PARTS = 32
_SAMPLED_ROWS = 1 << 16
_FIRST = 1 << 12  # rows that are read of each
_READ_AHEAD = 1 << 16  # bytes
_ARRAY_ROWS = 1 << 17
_COVERED = 0.5  # of the range that the statistics of a part tell


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one file that can be read by themselves: a row group, a whole file, or rows of an array (no fragment)."""

    path: str
    first_row: int
    rows: int
    schema: Any
    fragment: Any


@dataclass(frozen=True, eq=False)
class Stretch:
    """Rows that are read together, from one file or from several; `first_row` is counted over all files."""

    number: int
    first_row: int
    rows: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False)
class Piece:
    """Boxes that were read, and where: path, first row in the file, and number of rows, of one part after the other."""

    boxes: BoxSet
    places: list[tuple[str, int, int]]

    def describe(self, row: int) -> str:
        """Return the file of a box, and its row there."""
        return _place(self.places, row)

    def named(self, error: InvalidBoxError) -> InvalidBoxError:
        """Return the error with the file of the box."""
        _, _, reason = str(error).partition(": ")
        return InvalidBoxError(f"{self.describe(error.row)}: {reason}", error.row)


@dataclass(eq=False)
class Source:
    """The files of one set of boxes: all their parts, in order.

    `schema` is that of the columns, `dtype` that of the corners. `digest` is a fingerprint of the files: names, sizes
    and times.
    """

    parts: Sequence[Part]
    columns: BoxColumns
    schema: Any
    dtype: Any
    digest: str

    @cached_property
    def box_count(self) -> int:
        """Number of rows."""
        return sum(part.rows for part in self.parts)

    def stretches(self, rows: int) -> list[Stretch]:
        """Join parts up to a number of rows; a larger part is a stretch of its own."""
        found: list[Stretch] = []
        waiting: list[Part] = []
        first = count = 0
        part: Part | None
        for part in (*self.parts, None):
            if waiting and (part is None or count + part.rows > rows or part.schema != waiting[0].schema):
                found.append(Stretch(len(found), first, count, tuple(waiting)))
                first, count, waiting = first + count, 0, []
            if part is not None and part.rows:
                waiting.append(part)
                count += part.rows
        return found

    def read(self, stretch: Stretch, rows: int) -> Iterator[Piece]:
        """Read a stretch, in pieces of about so many rows; FileFormatError names the file and the row."""
        pa = arrow()
        first = stretch.first_row
        waiting: list[Any] = []
        places: list[tuple[str, int, int]] = []
        count = 0
        for part in stretch.parts:
            row = part.first_row
            for batch in self._batches(part, rows):
                waiting.append(batch)
                places.append((part.path, row, batch.num_rows))
                row += batch.num_rows
                count += batch.num_rows
                if count >= rows:
                    yield self._boxes(pa.Table.from_batches(waiting), first, places)
                    first, count, waiting, places = first + count, 0, [], []
            if row != part.first_row + part.rows:
                raise FileFormatError(f"{part.path}: it has changed while it was read")
        if waiting:
            yield self._boxes(pa.Table.from_batches(waiting), first, places)

    def _batches(self, part: Part, rows: int) -> Iterator[Any]:
        if part.fragment is None:
            yield _batch_of_array(part, self.columns)
            return
        with _naming(part.path):
            for batch in _scan(part, self.columns, rows):
                if not batch.num_rows:
                    continue
                try:
                    yield undamaged(batch, part.path, is_utf8=False)
                except ValueError as error:
                    raise FileFormatError(str(error)) from None

    def _boxes(self, table: Any, first_row: int, places: list[tuple[str, int, int]]) -> Piece:
        try:
            boxes = BoxSet.of(table.combine_chunks(), self.columns, dtype=self.dtype, first_row=first_row)
        except BadRowError as error:
            raise FileFormatError(f"{_place(places, error.row)}: {error.reason}") from None
        except ValueError as error:
            raise FileFormatError(f"{places[0][0]}: {error}") from None
        return Piece(boxes, places)

    @cached_property
    def row_bytes(self) -> float:
        """About how many bytes a box takes."""
        for stretch in self.stretches(1):
            for piece in self.read(stretch, _FIRST):
                return max(1.0, float(piece.boxes.to_batch().nbytes / len(piece.boxes)))
        return 1.0

    def sample(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Read some boxes from everywhere in the files; return their corners."""
        parts = [part for part in self.parts if part.rows]
        count = min(len(parts), _SAMPLED_PARTS)
        numbers: Any = _native.sample_rows(len(parts), count)
        chosen = [parts[k] for k in numbers]
        lowers, uppers = [], []
        most = max(1, _SAMPLED_ROWS // max(count, 1))
        for part in chosen:
            lower, upper = self._sample_of(part, most)
            valid = np.all(lower <= upper, axis=1)
            lowers.append(lower[valid])
            uppers.append(upper[valid])
        if not lowers:
            return np.empty((0, self.columns.dim)), np.empty((0, self.columns.dim))
        return np.concatenate(lowers), np.concatenate(uppers)

    def _sample_of(self, part: Part, most: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Read the beginning of a part, or all of it where the beginning tells little of the rest."""
        columns = replace(self.columns, id=None, keep=(), layer=None, mask=None, group=None, batch=None)
        found: list[BoxSet] = []
        count = 0
        for batch in self._batches_from_the_beginning(part, columns, min(part.rows, _FIRST)):
            found.append(BoxSet.of(batch, columns, dtype=self.dtype))
            count += len(found[-1])
            if count >= _FIRST and _covers(found[0], part, columns):
                break
        corners = np.concatenate([boxes.corners for boxes in found])
        sampled: Any = _native.sample_rows(len(corners), most)
        corners = corners[sampled]
        return corners[:, 0], corners[:, 1]

    def _batches_from_the_beginning(self, part: Part, columns: BoxColumns, rows: int) -> Iterator[Any]:
        groups = getattr(part.fragment, "row_groups", None)
        if not groups:
            yield from self._batches(part, _BATCH)
            return
        # A scan of a data set would read the whole row group for its first rows.
        parquet = arrow("parquet")
        path, system = part.fragment.path, part.fragment.filesystem
        with (
            _naming(part.path),
            parquet.ParquetFile(path, filesystem=system, pre_buffer=False, buffer_size=_READ_AHEAD) as file,
        ):
            yield from file.iter_batches(rows, [groups[0].id], columns.names, use_threads=False)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    try:
        yield
    except (arrow().ArrowException, OSError) as error:
        raise FileFormatError(f"{path}: {clipped(without_secrets(str(error)))}") from None


def _covers(boxes: BoxSet, part: Part, columns: BoxColumns) -> bool:
    """Return whether the first boxes of a row group span most of the range that its statistics give for all."""
    groups = getattr(part.fragment, "row_groups", None) or []
    for axis, name in enumerate(columns.lower):
        told = [group.statistics[name] for group in groups if name in (group.statistics or {})]
        if not told:
            continue
        wide = max(one["max"] for one in told) - min(one["min"] for one in told)
        if np.ptp(boxes.lower[:, axis]) < _COVERED * wide:
            return False
    return True


def _scan(part: Part, columns: BoxColumns, rows: int) -> Iterator[Any]:
    dataset = arrow("dataset")
    options = None
    if part.fragment.format.default_extname == "parquet":
        # A large row group is not held in whole.
        options = dataset.ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
    yield from part.fragment.to_batches(
        schema=part.schema,
        columns=list(columns.names),
        batch_size=min(rows, _BATCH),
        batch_readahead=0,
        fragment_readahead=0,
        use_threads=False,
        fragment_scan_options=options,
    )


def _batch_of_array(part: Part, columns: BoxColumns) -> Any:
    pa = arrow()
    array = np.load(part.path, mmap_mode="r", allow_pickle=False)
    lower, upper = as_corners(array[part.first_row : part.first_row + part.rows])
    values = [np.ascontiguousarray(corner[:, k]) for corner in (lower, upper) for k in range(columns.dim)]
    return pa.record_batch(values, names=[*columns.lower, *columns.upper])


def _place(places: list[tuple[str, int, int]], row: int) -> str:
    for path, first, count in places:
        if row < count:
            return f"{path}, row {first + row}"
        row -= count
    raise AssertionError("no such row")


def open_source(files: Any, columns: BoxColumns) -> Source:
    """Find the files of a set of boxes, and what is in them, without reading the boxes; `files` as of `engine.pairs`.

    Of .npy files, all numbers of a row are corners, and the ids are rows. Errors name the file.
    """
    names = [files] if isinstance(files, str | os.PathLike) else files
    if not isinstance(names, Sequence) or not all(isinstance(name, str | os.PathLike) for name in names):
        raise TypeError(f"files must be a path, or a sequence of paths, not {quoted(files)}")
    parts: list[Part] = []
    marks: list[str] = []
    schemas: list[tuple[str, Any]] = []
    for name in names:
        for path, system, size, time in _found(os.fspath(name)):
            marks.append(f"{path} {size} {time}")
            schemas.append((path, _open(path, system, columns, parts)))
    if not schemas:
        raise _no_files(files)
    first = schemas[0][1]
    for path, schema in schemas:
        for name in {*columns.names} - {*columns.lower, *columns.upper}:
            was, now = first.field(name).type, schema.field(name).type
            if was != now:
                raise FileFormatError(f"{path}: column {clipped(name)} holds {now}, and {was} in {schemas[0][0]}")
    is_float32 = all(columns.is_float32(schema) for _, schema in schemas)
    dtype = np.dtype(np.float32 if is_float32 else np.float64)
    digest = hashlib.sha256("\n".join(marks).encode()).hexdigest()[:16]
    return Source(parts, columns, first, dtype, digest)


def column_names(files: str) -> list[str]:
    """Return the names of the columns of the first file; of .npy files, those by which its corners are called."""
    path, system, _, _ = next(_found(files), ("", None, 0, 0))
    if not path:
        raise _no_files(files)
    if _format_of(path) != "npy":
        return list(_opened(path, system).schema.names)
    dim = _array_of(path, system)[1]
    return [f"{axis}{side}" for side in (0, 1) for axis in "xyzw"[:dim]]


def _no_files(files: Any) -> FileNotFoundError:
    return FileNotFoundError(f"there are no files of boxes in {quoted(without_secrets(str(files)))}")


def is_hidden(parts: Iterable[str]) -> bool:
    """Return whether the file of a path below a folder is passed over, as readers of tables do."""
    return any(part.startswith(("_", ".")) for part in parts)


def matching_paths(name: str) -> list[str]:
    """Return the files and folders of this machine that a name or a pattern stands for, sorted."""
    return sorted(glob.glob(name, recursive=True)) if glob.has_magic(name) else [os.path.normpath(name)]


def _found(name: str) -> Iterator[tuple[str, Any, int, int]]:
    """Yield path, file system (None: this machine's), size and time of each file that a name stands for, sorted."""
    if not is_address(name):
        for path in matching_paths(name):
            inside = _files_below(path) if os.path.isdir(path) else [path]
            for file in inside:
                if not os.path.exists(file):
                    raise FileNotFoundError(f"there is no file {quoted(file)}")
                require_file(file)
                require_unicode(file, "pyarrow")
                facts = os.stat(file)
                yield file, None, facts.st_size, facts.st_mtime_ns
        return
    fs = arrow("fs")
    address, _, query = name.partition("?")
    start = re.split(r"[*\[]", address, maxsplit=1)[0]
    plain = address if start == address else start.rpartition("/")[0]
    system, base = file_system(f"{plain}?{query}" if query else plain)
    pattern = None if plain == address else base + address[len(plain) :]
    try:
        kind = system.get_file_info(base)
        infos = [kind] if kind.is_file else system.get_file_info(fs.FileSelector(base, recursive=True))
    except (arrow().ArrowException, OSError) as error:
        raise FileNotFoundError(f"{without_secrets(name)}: {clipped(without_secrets(str(error)))}") from None
    for info in sorted(infos, key=lambda one: one.path):
        hidden = is_hidden(info.path[len(base) :].split("/"))
        if info.is_file and not hidden and (pattern is None or fnmatch.fnmatchcase(info.path, pattern)):
            yield info.path, system, info.size, info.mtime_ns or 0


def _files_below(folder: str) -> list[str]:
    files = (path for path in Path(folder).rglob("*") if path.suffix.lower() in _FORMATS and path.is_file())
    return sorted(str(path) for path in files if not is_hidden(path.relative_to(folder).parts))


def _format_of(path: str) -> str:
    ending = os.path.splitext(path)[1].lower()
    if ending not in _FORMATS:
        raise FileFormatError(f"{path}: not a .parquet, .arrow or .npy file")
    return _FORMATS[ending]


def _opened(path: str, system: Any) -> Any:
    """Open a file of Parquet or Arrow as a data set; folders such as ``year=2024`` above it are columns."""
    dataset = arrow("dataset")
    kind = dataset.ParquetFileFormat() if _format_of(path) == "parquet" else dataset.IpcFileFormat()
    partition = dataset.HivePartitioning.discover()
    with _naming(path):
        return dataset.dataset(
            [path], format=kind, filesystem=system, partitioning=partition, exclude_invalid_files=False
        )


def _open(path: str, system: Any, columns: BoxColumns, parts: list[Part]) -> Any:
    kind = _format_of(path)
    if kind == "npy":
        return _open_array(path, system, columns, parts)
    opened = _opened(path, system)
    columns.check(opened.schema, path)
    with _naming(path):
        schema = arrow().schema([opened.schema.field(name) for name in columns.names])
        row = 0
        for fragment in opened.get_fragments():
            for piece in fragment.split_by_row_group() if kind == "parquet" else [fragment]:
                # Of a row group, count_rows counts the whole file.
                rows = sum(group.num_rows for group in piece.row_groups) if kind == "parquet" else piece.count_rows()
                parts.append(Part(path, row, rows, schema, piece))
                row += rows
        return schema


def _array_of(path: str, system: Any) -> tuple[Any, int, Any]:
    """Map an array; return it, and the number of axes and the type of its boxes."""
    if system is not None:
        raise FileFormatError(f"{path}: .npy files are read from this machine only")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        lower, _ = as_corners(array[:0])
    except (ValueError, OSError, TypeError, IndexError) as error:
        raise FileFormatError(f"{path}: {error}") from None
    return array, lower.shape[1], lower.dtype


def _open_array(path: str, system: Any, columns: BoxColumns, parts: list[Part]) -> Any:
    pa = arrow()
    array, dim, dtype = _array_of(path, system)
    if columns.id is not None or columns.keep or columns.filters:
        raise FileFormatError(f"{path}: .npy files have no columns besides the corners; use id=None")
    if dim != columns.dim:
        raise FileFormatError(f"{path}: boxes of {dim} axes, and lower names {columns.dim}")
    number = pa.float32() if dtype == np.float32 else pa.float64()
    schema = pa.schema([(name, number) for name in (*columns.lower, *columns.upper)])
    for begin in range(0, len(array), _ARRAY_ROWS):
        parts.append(Part(path, begin, min(_ARRAY_ROWS, len(array) - begin), schema, None))
    return schema
