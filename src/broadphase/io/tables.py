"""Write tables a portion at a time: .csv and .parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broadphase.io.extras import has_library, import_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    Portions = Iterable[dict[str, NDArray[Any]]]

__all__ = ["TABLE_WRITERS", "write_csv", "write_parquet"]


def write_csv(path: Path, portions: Portions, types: dict[str, str]) -> int:
    """Write a .csv file: a header, then a line for each row; texts are quoted.

    Parameters
    ----------
    path : Path
        The file.
    portions : iterable of dict of str to ndarray
        Columns of equal length, in the order of `types`.
    types : dict of str to str
        Name of each column, and its type as pyarrow calls it: ``int32``, ``float64``, ``string``.

    Returns
    -------
    int
        Number of rows.
    """
    count = 0
    write = _csv_with_pyarrow if has_library("pyarrow") else _csv_plainly
    with path.open("wb") as stream:
        stream.write(f"{','.join(types)}\n".encode())
        for columns in portions:
            write(stream, columns)
            count += len(next(iter(columns.values())))
    return count


def write_parquet(path: Path, portions: Portions, types: dict[str, str]) -> int:
    """Write a .parquet file, a row group for each portion; see `write_csv`."""
    pyarrow = import_extra("pyarrow", purpose="writing .parquet files")
    parquet = import_extra("pyarrow.parquet", purpose="writing .parquet files")
    schema = pyarrow.schema([(name, getattr(pyarrow, kind)()) for name, kind in types.items()])
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
"""What writes a table, by the ending of the file name."""


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
