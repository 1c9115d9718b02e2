"""Open what a FILE argument names, and blame the right file and row."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase import data, io

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


def open_source(file: str, *, parts: bool = False, names: str | None = None) -> io.BoxFile:
    """Read a file of boxes; if there is none of that name, the bundled set of that name.

    Parameters
    ----------
    file : str
        The argument.
    parts, names
        As `parts` and `name_column` of `broadphase.io.read_boxes`.

    Returns
    -------
    BoxFile

    Raises
    ------
    FileNotFoundError
        Neither exists.
    """
    if Path(file).exists():
        return io.read_boxes(file, parts=parts, name_column=names)
    if file in data.NAMES:
        return io.BoxFile(data.load(file), file, "bundled box")
    raise FileNotFoundError(f"{file}: no such file, nor a bundled set (there are {', '.join(data.NAMES)})")


def open_sources(
    file: str, file2: str | None, *, parts: bool = False, names: str | None = None
) -> tuple[io.BoxFile, io.BoxFile | None]:
    """Read one file or two; see `open_source`."""
    first = open_source(file, parts=parts, names=names)
    second = None if file2 is None else open_source(file2, parts=parts, names=names)
    if second is not None and first.boxes.shape[2] != second.boxes.shape[2]:
        axes = [f"{one.source} has {one.boxes.shape[2]}" for one in (first, second)]
        raise ValueError(f"boxes of different dimensions: {axes[0]} axes, {axes[1]}")
    return first, second


@contextmanager
def blaming_rows(first: io.BoxFile, second: io.BoxFile | None) -> Iterator[None]:
    """Turn errors and warnings about invalid boxes into ones that name file and row."""
    files = [first] if second is None else [first, second]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bp.InvalidBoxWarning)
            yield
    except bp.InvalidBoxError as error:
        known = next(filter(None, map(complaint, files)), str(error))
        raise bp.InvalidBoxError(f"{known}; --invalid skip leaves such rows out", error.row) from error
    for file in files:
        text = complaint(file)
        if text is not None:
            warnings.warn(f"{text}; left out", bp.InvalidBoxWarning, stacklevel=3)


def valid_boxes(file: io.BoxFile) -> NDArray[Any]:
    """Return the boxes of a file without its invalid rows."""
    rows, _ = bp.boxes.find_invalid(file.boxes, limit=0)
    return np.delete(file.boxes, rows, axis=0) if len(rows) else file.boxes


def complaint(file: io.BoxFile) -> str | None:
    """Say what is wrong with the first bad row of a file, and how many there are; None if there is none."""
    rows, reasons = bp.boxes.find_invalid(file.boxes, limit=1)
    if not len(rows):
        return None
    row = int(rows[0])
    reason = reasons[0].removeprefix(f"row {row} ")
    cause = f" ({file.blank})" if "NaN" in reason and file.blank else ""
    more = f"; {len(rows):,} such rows in all" if len(rows) > 1 else ""
    return f"{file.describe(row)} {reason}{cause}{more}"
