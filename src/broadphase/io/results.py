"""Pairs and events to files, at once or a portion at a time."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from broadphase.arguments import as_array, require_unmasked
from broadphase.files import path_of, replacing, require_ending
from broadphase.io.tables import TABLE_WRITERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    Portions = Iterable[NDArray[Any]]
    Names = tuple[NDArray[np.object_], NDArray[np.object_]] | None

__all__ = ["EVENT_COLUMNS", "EVENT_FORMATS", "PAIR_FORMATS", "write_events", "write_pairs"]


PAIR_FORMATS = (".npy", ".npz", ".csv", ".parquet")
"""The file name endings that `write_pairs` knows."""


def write_pairs(
    path: str | os.PathLike[str],
    pairs: ArrayLike | Iterable[NDArray[Any]],
    names: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
) -> int:
    """Write pairs to a file.

    The file is replaced only when the new one is complete: an error or Ctrl-C leaves an older file as it was.

    Parameters
    ----------
    path : path-like
        .npy: one (m, 2) int32 array; .npz: the same, called ``pairs``; .csv and .parquet: columns ``first`` and
        ``second``, and with `names` also ``first_name`` and ``second_name``. In .csv, an apostrophe is in front of a
        name that a spreadsheet would take for a formula, and control codes are written as escapes; .parquet has the
        names as they are.
    pairs : array_like, shape (m, 2), or iterator of such arrays
        The result of `broadphase.pairs` or `broadphase.iter_pairs`. Of an iterator, one portion is held in memory.
    names : array_like of str, shape (n,), or tuple of two, optional
        Name of each box; for pairs between two sets a tuple, for the first and for the second. Only for .csv and
        .parquet.

    Returns
    -------
    int
        Number of pairs written.

    Raises
    ------
    ValueError
        The file name ending is unknown, there are names for .npy or .npz, or the pairs have a wrong shape.
    OSError
        The file cannot be written.
    MissingExtraError
        .parquet without pyarrow.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "pairs.csv")
    >>> write_pairs(path, np.array([[0, 1]], dtype=np.int32), names=["red", "blue"])
    1
    >>> print(path.read_text(), end="")
    first,second,first_name,second_name
    0,1,"red","blue"
    """
    path = path_of(path)
    ending = require_ending(path, PAIR_FORMATS)
    if names is not None and ending not in TABLE_WRITERS:
        raise ValueError(f"{path}: only .csv and .parquet can hold names")
    both: Names = None
    if names is not None:
        first, second = names if isinstance(names, tuple) and len(names) == 2 else (names, names)
        require_unmasked(first, "names")
        require_unmasked(second, "names")
        both = np.asarray(first, dtype=object), np.asarray(second, dtype=object)
        if any(side.ndim != 1 or not all(map(_is_name, side.tolist())) for side in both):
            raise ValueError("names must be texts, shape (n,), or a tuple of two such")
    is_whole = isinstance(pairs, list | tuple) or hasattr(pairs, "__array__") or not isinstance(pairs, Iterable)
    portions: Any = [pairs] if is_whole else pairs
    with replacing(path) as unfinished:
        return _WRITERS[ending](unfinished, _pieces(portions, path), both)


def _is_name(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _pieces(portions: Iterable[Any], path: Path) -> Iterator[NDArray[Any]]:
    """Yield the pairs in small pieces: Ctrl-C waits until one is written."""
    for portion in portions:
        array = _check(portion, path)
        for begin in range(0, max(len(array), 1), _PAIRS):
            yield array[begin : begin + _PAIRS]


def _check(portion: Any, path: Path) -> NDArray[Any]:
    array = as_array(portion, f"{path}: pairs")
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{path}: pairs must have shape (m, 2), not {array.shape}")
    if array.dtype.kind not in "iu":
        raise ValueError(f"{path}: pairs must be integers, not {array.dtype}")
    if not np.can_cast(array.dtype, np.int32) and array.size:
        limits = np.iinfo(np.int32)
        bad = np.flatnonzero(((array < limits.min) | (array > limits.max)).any(axis=1))
        if bad.size:
            raise ValueError(f"{path}: pairs: row {bad[0]} has a row number beyond int32")
    return array.astype(np.int32, copy=False)


def _write_npy(path: Path, portions: Iterator[NDArray[Any]], names: Names) -> int:
    with path.open("wb") as stream:
        return _write_array(stream, portions)


def _write_npz(path: Path, portions: Iterator[NDArray[Any]], names: Names) -> int:
    # The array has no name of its own, so that a process that is killed leaves nothing of it.
    with path.open("wb") as stream, tempfile.TemporaryFile(dir=path.parent) as inner:
        count = _write_array(inner, portions)
        inner.seek(0)
        with (
            zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
            archive.open("pairs.npy", "w", force_zip64=True) as member,
        ):
            shutil.copyfileobj(inner, member, 1 << 20)
    return count


def _write_array(stream: IO[bytes], portions: Iterator[NDArray[Any]]) -> int:
    # The header is padded for any length, so it can be written again in place when the count is known.
    def header(count: int) -> None:
        fields = {"descr": "<i4", "fortran_order": False, "shape": (count, 2)}
        np.lib.format.write_array_header_1_0(stream, fields)

    count = 0
    header(0)
    begin = stream.tell()
    for portion in portions:
        stream.write(np.ascontiguousarray(portion, dtype="<i4").data)
        count += len(portion)
    stream.seek(0)
    header(count)
    if stream.tell() != begin:
        raise RuntimeError("this version of NumPy does not pad the header of .npy files")
    return count


def _write_table(write: Any, path: Path, portions: Iterator[NDArray[Any]], names: Names) -> int:
    types = {"first": "int32", "second": "int32"}
    if names is not None:
        types |= {"first_name": "string", "second_name": "string"}
    count: int = write(path, (_columns(portion, names) for portion in portions), types)
    return count


def _columns(portion: NDArray[Any], names: Names) -> dict[str, Any]:
    first, second = np.ascontiguousarray(portion[:, 0]), np.ascontiguousarray(portion[:, 1])
    columns = {"first": first, "second": second}
    if names is not None:
        for side, rows in zip(names, (first, second), strict=True):
            if rows.size and not 0 <= rows.min() <= rows.max() < len(side):
                raise ValueError(f"names has {len(side)} names, but pairs has rows {rows.min()} to {rows.max()}")
        columns["first_name"], columns["second_name"] = names[0][first], names[1][second]
    return columns


_WRITERS: dict[str, Callable[[Path, Iterator[NDArray[Any]], Names], int]] = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    **{ending: partial(_write_table, write) for ending, write in TABLE_WRITERS.items()},
}
_PAIRS = 1 << 19  # written together
EVENT_FORMATS = tuple(TABLE_WRITERS)
"""The file name endings that `write_events` knows."""
EVENT_COLUMNS = {
    "frame": "int64",
    "time": "float64",
    "event": "string",
    "first": "int32",
    "second": "int32",
    "first_handle": "int64",
    "second_handle": "int64",
    "first_layer": "string",
    "second_layer": "string",
}
"""The columns of a file of events, and the names of their types in pyarrow."""
_ROWS = 100_000  # rows written together: enough for a row group of a .parquet file to be worth its header


def write_events(path: str | os.PathLike[str], portions: Iterable[dict[str, Any]]) -> int:
    """Write events to a file, which is replaced only when the new one is complete.

    Parameters
    ----------
    path : path-like
        .csv or .parquet. The columns are those of `EVENT_COLUMNS`; of texts, see `write_pairs`.
    portions : iterable of dict of str to array_like
        For example one per frame: an array for each column, all of one length. Only a few portions are held in memory.

    Returns
    -------
    int
        Number of events written.

    Raises
    ------
    ValueError
        The file name ending is unknown, or a portion has other columns.
    OSError, MissingExtraError
        As `write_pairs`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "events.csv")
    >>> meeting = {"frame": [3], "time": [0.5], "event": ["enter"], "first": [0], "second": [7]}
    >>> meeting |= {"first_handle": [4294967296], "second_handle": [4294967303]}
    >>> write_events(path, [meeting | {"first_layer": ["ball"], "second_layer": ["wall"]}])
    1
    >>> print(path.read_text(), end="")
    frame,time,event,first,second,first_handle,second_handle,first_layer,second_layer
    3,0.5,"enter",0,7,4294967296,4294967303,"ball","wall"
    """
    path = path_of(path)
    write = TABLE_WRITERS[require_ending(path, EVENT_FORMATS)]
    with replacing(path) as unfinished:
        return write(unfinished, _together(portions, path), EVENT_COLUMNS)


def _together(portions: Iterable[dict[str, Any]], path: Path) -> Iterator[dict[str, NDArray[Any]]]:
    """Join portions until there are enough rows."""
    waiting: list[dict[str, NDArray[Any]]] = []
    count = 0
    for portion in portions:
        columns = _checked(portion, path)
        count += len(columns["frame"])
        waiting.append(columns)
        if count >= _ROWS:
            yield _joined(waiting)
            waiting, count = [], 0
    if count:
        yield _joined(waiting)


def _joined(portions: list[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    return {name: np.concatenate([portion[name] for portion in portions]) for name in EVENT_COLUMNS}


def _checked(portion: dict[str, Any], path: Path) -> dict[str, NDArray[Any]]:
    if set(portion) != set(EVENT_COLUMNS):
        raise ValueError(f"{path}: events must have the columns {', '.join(EVENT_COLUMNS)}")
    columns = {
        name: np.asarray(portion[name], object if dtype == "string" else dtype) for name, dtype in EVENT_COLUMNS.items()
    }
    if len({column.shape for column in columns.values()}) != 1 or columns["frame"].ndim != 1:
        raise ValueError(f"{path}: the columns of events must have one length")
    return columns
