"""Boxes in .parquet files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.boxes import as_numbers
from broadphase.io.box_file import BoxFile
from broadphase.io.columns import WANTED, find_box_columns, find_name_column
from broadphase.io.extras import import_extra

if TYPE_CHECKING:
    from pathlib import Path


def read_parquet(path: Path, *, name_column: str | None = None) -> BoxFile:
    """Read a table of boxes: one column for each corner coordinate, or a struct column of them such as ``bbox``.

    Parameters
    ----------
    path : Path
        The file.
    name_column : str, optional
        The column that names the boxes.

    Returns
    -------
    BoxFile
        float32 if all the columns are, otherwise float64. Null is NaN.

    Raises
    ------
    ValueError
        Not a Parquet file, no such columns, or a column that is not of numbers.
    MissingExtraError
        pyarrow is not installed.
    """
    pyarrow = import_extra("pyarrow", purpose="reading .parquet files")
    parquet = import_extra("pyarrow.parquet", purpose="reading .parquet files")
    with path.open("rb") as stream:
        try:
            file = parquet.ParquetFile(stream)
            schema = file.schema_arrow
            struct, columns, label = _find(pyarrow, schema, name_column)
            wanted = [struct] if struct else columns
            table = file.read(columns=wanted + ([label] if label else []))
            if struct:
                fields = table.select([struct]).flatten()
                corners = [fields.column(f"{struct}.{name}") for name in columns]
            else:
                corners = [table.column(name) for name in columns]
            arrays = [_as_numbers(pyarrow, name, column) for name, column in zip(columns, corners, strict=True)]
            names = None if label is None else table.column(label).cast("string").to_numpy().astype(object)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from error
        except OSError as error:
            raise ValueError(f"{path}: not a readable Parquet file ({error})") from error
    numbers = np.empty((table.num_rows, len(columns)), np.result_type(*arrays))
    for place, array in enumerate(arrays):
        numbers[:, place] = array
    boxes = numbers.reshape(len(numbers), 2, len(columns) // 2)
    return BoxFile(boxes, str(path), "table row", names, blank="an empty cell")


def _find(pyarrow: Any, schema: Any, name_column: str | None) -> tuple[str | None, list[str], str | None]:
    """Return the struct column or None, the names of the 2*d columns or fields, and the column of names or None."""
    label = find_name_column(schema.names, name_column)
    name = None if label is None else schema.names[label]
    places = find_box_columns(schema.names)
    if places is not None:
        return None, [schema.names[place] for place in places], name
    for field in schema:
        if pyarrow.types.is_struct(field.type):
            inner = [field.type.field(place).name for place in range(field.type.num_fields)]
            places = find_box_columns(inner)
            if places is not None:
                return field.name, [inner[place] for place in places], name
    raise ValueError(f"has the columns {', '.join(schema.names)}; wanted are {WANTED}, or a struct column of them")


def _as_numbers(pyarrow: Any, name: str, column: Any) -> Any:
    kinds = pyarrow.types
    if kinds.is_decimal(column.type):
        column = column.cast(pyarrow.float64())
    if not (kinds.is_floating(column.type) or kinds.is_integer(column.type)):
        raise ValueError(f"column {name} is of {column.type}, not of numbers")
    return as_numbers(column.to_numpy(), name=f"column {name}")
