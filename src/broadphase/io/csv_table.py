"""Boxes in .csv and .tsv files."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.io.box_file import BoxFile
from broadphase.io.columns import WANTED, find_box_columns, find_name_column
from broadphase.io.extras import has_library, import_extra

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_DELIMITERS = ",;\t"
_BLANKS = ("", "nan", "NaN", "NAN", "NA", "N/A", "null", "NULL", "None")
_BLOCK = 2**24  # bytes that pyarrow reads at a time: large enough for wide tables, small beside the result


class _Layout(NamedTuple):
    delimiter: str
    header_lines: int
    width: int
    names: list[str]
    corners: list[int]
    label: int | None


def read_csv(path: Path, *, name_column: str | None = None) -> BoxFile:
    """Read a table of boxes, with a header that names its columns or without one.

    Separated by commas, semicolons or tabs, in UTF-8. Without a header, a row is 2*d numbers, lower corner first.

    Parameters
    ----------
    path : Path
        The file.
    name_column : str, optional
        The column that names the boxes.

    Returns
    -------
    BoxFile
        float64. Empty cells are NaN.

    Raises
    ------
    ValueError
        No such columns; a cell that is no number: names its row (counted from 0, as in the result), line and column.

    Notes
    -----
    pyarrow reads the file, in parallel. Where it is not installed, or stumbles, the csv module reads it: that is some
    ten times slower, but tells exactly what is wrong.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            layout = _look_at_first_line(stream.readline(), name_column)
        table = _read_fast(path, layout) if has_library("pyarrow") else None
        corners, names = _read_plainly(path, layout) if table is None else table
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text (byte {error.start}: {error.reason})") from error
    except (ValueError, csv.Error) as error:
        text = str(error)
        raise ValueError(f"{path}, {text}" if text.startswith("row ") else f"{path}: {text}") from error
    boxes = corners.reshape(len(corners), 2, len(layout.corners) // 2)
    return BoxFile(boxes, str(path), "table row", names, blank="an empty cell")


def _look_at_first_line(line: str, name_column: str | None) -> _Layout:
    if not line.strip():
        raise ValueError("the first line is empty" if line else "the file is empty")
    delimiter = max(_DELIMITERS, key=line.count)
    cells = next(csv.reader([line.lstrip("#")], delimiter=delimiter))
    cells = [cell.strip() for cell in cells]
    if any(cells) and all(_is_number(cell) for cell in cells):
        if len(cells) not in (2, 4, 6, 8):
            raise ValueError(f"{len(cells)} numbers in a row; without a header, a box is 2, 4, 6 or 8")
        if name_column is not None:
            raise ValueError(f"there is no column {name_column!r}: the file has no header")
        names = [f"number {column}" for column in range(len(cells))]
        return _Layout(delimiter, 0, len(cells), names, list(range(len(cells))), None)
    corners = find_box_columns(cells)
    if corners is None:
        raise ValueError(f"has the columns {', '.join(cells)}; wanted are {WANTED}")
    return _Layout(delimiter, 1, len(cells), cells, corners, find_name_column(cells, name_column))


def _read_fast(path: Path, layout: _Layout) -> tuple[Any, Any] | None:
    """Read with pyarrow; None if it finds anything wrong."""
    pyarrow = import_extra("pyarrow", purpose="reading .csv files")
    arrow_csv = import_extra("pyarrow.csv", purpose="reading .csv files")
    keys = [str(column) for column in range(layout.width)]
    types = {keys[column]: pyarrow.float64() for column in layout.corners}
    included = [keys[column] for column in layout.corners]
    if layout.label is not None:
        types[keys[layout.label]] = pyarrow.string()
        included.append(keys[layout.label])
    try:
        table = arrow_csv.read_csv(
            str(path),
            read_options=arrow_csv.ReadOptions(column_names=keys, skip_rows=layout.header_lines, block_size=_BLOCK),
            parse_options=arrow_csv.ParseOptions(
                delimiter=layout.delimiter, newlines_in_values=layout.width > len(layout.corners)
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types, include_columns=included, null_values=list(_BLANKS), strings_can_be_null=False
            ),
        )
    except pyarrow.ArrowInvalid:
        return None
    corners = np.empty((table.num_rows, len(layout.corners)))
    for place in range(len(layout.corners)):
        corners[:, place] = table.column(place).to_numpy()
    if layout.label is None:
        return corners, None
    return corners, table.column(len(layout.corners)).to_numpy(zero_copy_only=False).astype(object)


def _read_plainly(path: Path, layout: _Layout) -> tuple[Any, Any]:
    rows: list[list[float]] = []
    names: list[str] = []
    for row, (line, cells) in enumerate(_rows(path, layout)):
        if len(cells) != layout.width:
            raise ValueError(f"row {row} (line {line}) has {len(cells)} columns, not {layout.width}")
        try:
            rows.append([_to_number(cells[column]) for column in layout.corners])
        except ValueError:
            bad = next(column for column in layout.corners if not _is_number(cells[column]))
            raise ValueError(
                f"row {row} (line {line}): column {layout.names[bad]} is {cells[bad]!r}, not a number"
            ) from None
        if layout.label is not None:
            names.append(cells[layout.label])
    corners = np.array(rows, dtype=np.float64).reshape(len(rows), len(layout.corners))
    return corners, None if layout.label is None else np.array(names, dtype=object)


def _rows(path: Path, layout: _Layout) -> Iterator[tuple[int, list[str]]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, delimiter=layout.delimiter)
        for _ in range(layout.header_lines):
            next(reader)
        for cells in reader:
            if cells:
                yield reader.line_num, cells


def _to_number(cell: str) -> float:
    cell = cell.strip()
    if "_" in cell:  # Python would read 1_000 as a number; no other reader of tables does
        raise ValueError(cell)
    return math.nan if cell in _BLANKS else float(cell)


def _is_number(cell: str) -> bool:
    try:
        _to_number(cell)
    except ValueError:
        return False
    return True
