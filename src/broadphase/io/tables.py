"""Tables: boxes from .csv, .tsv and .parquet files, and columns to them."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.boxes import as_boxes
from broadphase.errors import FileFormatError
from broadphase.extras import has_library, import_extra
from broadphase.io.box_file import BoxFile
from broadphase.io.features import geometry_column, read_geometries
from broadphase.tables.names import SIZES, WANTED, find_box_columns, find_name_column, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    Portions = Iterable[dict[str, NDArray[Any]]]

__all__ = ["TABLE_WRITERS", "spreadsheet_text", "write_csv", "write_parquet"]


_DELIMITERS = ",;\t"
_BLANKS = ("", "nan", "NaN", "NAN", "NA", "N/A", "null", "NULL", "None")
_BLOCK = 2**24  # bytes that pyarrow reads at a time: large enough for wide tables, small beside the result
_LARGEST_BLOCK = 2**30


class _Layout(NamedTuple):
    delimiter: str
    header_lines: int
    width: int
    names: list[str]
    corners: list[int]
    label: int | None


def read_csv(path: Path, *, name_column: str | None = None) -> BoxFile:
    """Read a table of boxes, with a header that names its columns or without one.

    Separated by commas, semicolons or tabs, in UTF-8. Without a header, a row is 2*d numbers, lower corner first. Empty
    cells are NaN; errors name row (counted from 0, as in the result), line and column.

    pyarrow reads the file, in parallel. Where it is not installed, or fails, the csv module reads it: about ten times
    slower, but its errors name the row and the column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            layout = _look_at_first_line(stream.readline(), name_column)
        table = _read_fast(path, layout) if has_library("pyarrow") else None
        corners, names = _read_plainly(path, layout) if table is None else table
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: not UTF-8 text (byte {error.start}: {error.reason})") from error
    except (ValueError, csv.Error) as error:
        text = str(error)
        raise FileFormatError(f"{path}, {text}" if text.startswith("row ") else f"{path}: {text}") from error
    boxes = corners.reshape(len(corners), 2, len(layout.corners) // 2)
    return BoxFile(boxes, str(path), "table row", names, blank="an empty cell")


def _look_at_first_line(line: str, name_column: str | None) -> _Layout:
    if not line.strip():
        raise ValueError("the first line is empty" if line else "the file is empty")
    delimiter = max(_DELIMITERS, key=line.count)
    try:
        cells = next(csv.reader([line.lstrip("#")], delimiter=delimiter))
    except csv.Error as error:
        raise ValueError(f"line 1: {error}") from None
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
        raise ValueError(f"needs columns {WANTED}; has {listed(cells)}{_advice(cells)}")
    return _Layout(delimiter, 1, len(cells), cells, corners, find_name_column(cells, name_column))


def _advice(names: list[str]) -> str:
    """Return the end of a message: what to do with a corner and a size."""
    known = {name.strip().lower() for name in names}
    if any({*sizes} <= known for sizes in SIZES):
        return "; bp.boxes.from_xywh makes boxes of a corner and a size"
    return ""


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
    parsing = arrow_csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=layout.width > len(layout.corners))
    converting = arrow_csv.ConvertOptions(
        column_types=types, include_columns=included, null_values=list(_BLANKS), strings_can_be_null=False
    )

    def read(block: int) -> Any:
        options = arrow_csv.ReadOptions(column_names=keys, skip_rows=layout.header_lines, block_size=block)
        with path.open("rb") as stream:  # pyarrow takes no names of files that are not UTF-8
            return arrow_csv.read_csv(stream, read_options=options, parse_options=parsing, convert_options=converting)

    try:
        table = read(_BLOCK)
    except pyarrow.ArrowException as error:
        size = path.stat().st_size
        if "straddl" not in str(error) or size > _LARGEST_BLOCK:  # a row that does not fit into a block
            return None
        try:
            table = read(size + 1)
        except pyarrow.ArrowException:
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
            column, cell = listed([layout.names[bad]]), listed([repr(cells[bad])])
            raise ValueError(f"row {row} (line {line}): column {column} is {cell}, not a number") from None
        if layout.label is not None:
            names.append(cells[layout.label])
    corners = np.array(rows, dtype=np.float64).reshape(len(rows), len(layout.corners))
    return corners, None if layout.label is None else np.array(names, dtype=object)


def _rows(path: Path, layout: _Layout) -> Iterator[tuple[int, list[str]]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, delimiter=layout.delimiter)
        for _ in range(layout.header_lines):
            next(reader)
        row = 0
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
                    row += 1
        except csv.Error as error:  # such as a cell that is longer than the module reads
            raise ValueError(
                f"row {row} (line {reader.line_num}): {error}; with pyarrow installed, more is read"
            ) from None


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


def read_parquet(path: Path, *, parts: bool = False, name_column: str | None = None) -> BoxFile:
    """Read a table of boxes: one column for each corner coordinate, or a struct column of them such as ``bbox``.

    Of a GeoParquet file without such columns, and with `parts`, the geometries are read. float32 if all the columns
    are, otherwise float64. Null is NaN.
    """
    pyarrow = import_extra("pyarrow", purpose="reading .parquet files")
    parquet = import_extra("pyarrow.parquet", purpose="reading .parquet files")
    with path.open("rb") as stream:
        try:
            file = parquet.ParquetFile(stream)
            schema = file.schema_arrow
            geometry, crs = geometry_column(schema) or (None, None)
            place = find_name_column(schema.names, name_column)
            label = None if place is None else schema.names[place]
            columns = None if geometry is not None and parts else _find(pyarrow, schema, needed=geometry is None)
            wanted = [str(geometry)] if columns is None else [columns[0]] if columns[0] else columns[1]
            needed = [*wanted, *([label] if label else [])]
            table = file.read(columns=needed)
            unread = [name for name in needed if name not in table.column_names]
            if unread:  # structs without fields: damage, as nothing can write them
                raise ValueError(f"column {listed(unread)} holds no values")
            names = None if label is None else table.column(label).cast("string").to_numpy().astype(object)
            if columns is None:
                return replace(read_geometries(table.column(geometry), path, names, parts=parts), crs=crs)
            boxes = as_boxes(table.select(wanted), name="the table")
        except FileFormatError:
            raise
        except (pyarrow.ArrowException, ValueError, TypeError) as error:
            raise FileFormatError(f"{path}: {error}") from error
        except OSError as error:
            raise FileFormatError(f"{path}: not a readable Parquet file ({error})") from error
    return BoxFile(boxes, str(path), "table row", names, blank="an empty cell", crs=crs)


def _find(pyarrow: Any, schema: Any, *, needed: bool) -> tuple[str | None, list[str]] | None:
    """Return the struct column or None, and the names of the 2*d columns or fields; None if there are none.

    Raises ValueError if there are several, or if there are none that are `needed`.
    """
    places = find_box_columns(schema.names)
    structs = []
    for field in schema:
        if pyarrow.types.is_struct(field.type):
            inner = [field.type.field(place).name for place in range(field.type.num_fields)]
            corners = find_box_columns(inner)
            if corners is not None:
                structs.append((field.name, [inner[place] for place in corners]))
    if len(structs) + (places is not None) > 1:
        own = [] if places is None else [schema.names[place] for place in places]
        raise ValueError(f"has several boxes: columns {listed([*own, *(struct[0] for struct in structs)])}")
    if places is not None:
        return None, [schema.names[place] for place in places]
    if structs:
        return structs[0]
    if needed:
        known = f"{listed(schema.names)}{_advice(schema.names)}"
        raise ValueError(f"needs columns {WANTED}, or a struct column of them; has {known}")
    return None


def write_csv(path: Path, portions: Portions, types: dict[str, str]) -> int:
    """Write a .csv file: a header, then a line for each row; texts are quoted, and fit for spreadsheets.

    `portions` are columns of equal length, in the order of `types`, which has the type of each column in pyarrow:
    ``int32``, ``float64``, ``string``. Returns the number of rows.
    """
    count = 0
    write = _csv_with_pyarrow if has_library("pyarrow") else _csv_plainly
    with path.open("wb") as stream:
        stream.write(f"{','.join(types)}\n".encode())
        known: dict[Any, Any] = {}  # few texts, in many rows
        for columns in portions:
            write(
                stream,
                {name: _fit(column, known) if types[name] == "string" else column for name, column in columns.items()},
            )
            count += len(next(iter(columns.values())))
    return count


# What terminals and editors act on: control codes, marks of direction, line ends; and halves of characters.
_ACTED_ON = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# What begins one, also of full width; also behind a semicolon, which separates cells in some countries.
_FORMULA = re.compile(r"((?:^|;)[\s\"]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def spreadsheet_text(text: str) -> str:
    r"""Make a text from outside, such as the name of a part, fit for a cell: no formula, and no control codes.

    A text that a spreadsheet would take for a formula gets an apostrophe in front, as OWASP advises; a number stays as
    it is. Control codes are written as in Python.

    >>> spreadsheet_text("=1+1"), spreadsheet_text("-1.5"), spreadsheet_text("\tred \x1b[31m")
    ("'=1+1", '-1.5', '\\tred \\x1b[31m')
    """
    shown = _ACTED_ON.sub(lambda one: repr(one[0])[1:-1], text)
    return shown if _NUMBER.fullmatch(shown) else _FORMULA.sub(r"\1'", shown)


def _fit(column: NDArray[Any], known: dict[Any, Any]) -> NDArray[Any]:
    """Return a column of texts as `spreadsheet_text`; numbers and None stay."""
    for text in {*column.tolist()} - known.keys():
        known[text] = spreadsheet_text(text) if isinstance(text, str) else text
    return np.array([known[text] for text in column.tolist()], object)


def write_parquet(path: Path, portions: Portions, types: dict[str, str]) -> int:
    """Write a .parquet file, a row group for each portion; see `write_csv`."""
    pyarrow = import_extra("pyarrow", purpose="writing .parquet files")
    parquet = import_extra("pyarrow.parquet", purpose="writing .parquet files")
    schema = pyarrow.schema([(name, getattr(pyarrow, dtype)()) for name, dtype in types.items()])
    count = 0
    with path.open("wb") as stream, parquet.ParquetWriter(stream, schema) as writer:
        for columns in portions:
            writer.write_table(pyarrow.table(columns, schema=schema))
            count += len(next(iter(columns.values())))
    return count


TABLE_WRITERS: dict[str, Callable[[Path, Portions, dict[str, str]], int]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
}
"""The function that writes a table, by file name ending."""


def _csv_with_pyarrow(stream: Any, columns: dict[str, Any]) -> None:
    arrow_csv = import_extra("pyarrow.csv", purpose="writing .csv files")
    table = import_extra("pyarrow", purpose="writing .csv files").table(columns)
    arrow_csv.write_csv(table, stream, arrow_csv.WriteOptions(include_header=False))


def _csv_plainly(stream: Any, columns: dict[str, Any]) -> None:
    cells = [[_quoted(cell) for cell in column.tolist()] for column in columns.values()]
    stream.writelines(f"{','.join(row)}\n".encode() for row in zip(*cells, strict=True))


def _quoted(cell: float | str | None) -> str:
    if isinstance(cell, int | float):
        return repr(cell)
    return "" if cell is None else '"' + str(cell).replace('"', '""') + '"'
