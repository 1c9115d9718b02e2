"""Write what happened in a world to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.files import replacing
from broadphase.io.tables import TABLE_WRITERS

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

__all__ = ["EVENT_COLUMNS", "EVENT_FORMATS", "write_events"]

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
"""The columns of a file of events, and their types as pyarrow calls them."""

_ROWS = 100_000  # rows written together: enough for a row group of a .parquet file to be worth its header


def write_events(path: str | os.PathLike[str], portions: Iterable[dict[str, Any]]) -> int:
    """Write events to a file.

    The file appears under its name when it is complete: an error on the way leaves an older file as it was.

    Parameters
    ----------
    path : path-like
        .csv or .parquet. The columns are those of `EVENT_COLUMNS`.
    portions : iterable of dict of str to array_like
        The events of a frame, say: one array for each column, all of a length. Memory for some of them is enough.

    Returns
    -------
    int
        How many events were written.

    Raises
    ------
    ValueError
        An unknown file name ending, or a portion with other columns.
    OSError
        The file cannot be written.
    MissingExtraError
        .parquet without pyarrow.

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
    path = Path(path)
    write = TABLE_WRITERS.get(path.suffix.lower())
    if write is None:
        raise ValueError(f"{path}: events are written to {' and '.join(EVENT_FORMATS)}")
    with replacing(path) as unfinished:
        return write(unfinished, _together(portions, path), EVENT_COLUMNS)


def _together(portions: Iterable[dict[str, Any]], path: Path) -> Iterator[dict[str, NDArray[Any]]]:
    """Put portions together until there are enough rows."""
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
        name: np.asarray(portion[name], object if kind == "string" else kind) for name, kind in EVENT_COLUMNS.items()
    }
    if len({column.shape for column in columns.values()}) != 1 or columns["frame"].ndim != 1:
        raise ValueError(f"{path}: the columns of events must be of one length")
    return columns
