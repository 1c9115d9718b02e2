"""Tables of pandas, polars, PyArrow and DuckDB: their columns as arrays, and tables made of their rows.

A table is known by the library of its type. pandas and polars are imported where a table of theirs was given.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from broadphase.columns import listed
from broadphase.errors import quoted, unknown_name
from broadphase.extras import has_library, import_extra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Column", "Table", "if_any", "known", "opened", "text_type"]

Rows: TypeAlias = "NDArray[np.int32]"


@dataclass(frozen=True)
class Column:
    """Numbers of a column, as they are stored.

    `values` are whole or floating-point numbers, a view where the library allows it; `missing` is where there is no
    value, None if nowhere. `family` is "number", or what whole numbers stand for: "datetime", "date", "duration" or
    "time", in a `unit` of "D", "s", "ms", "us" or "ns"; "null" for a column of no type, which has no values. Datetimes
    with a time zone, `zone`, are numbers of UTC.
    """

    values: NDArray[Any]
    missing: NDArray[np.bool_] | None = None
    family: str = "number"
    unit: str = ""
    zone: str | None = None

    def __str__(self) -> str:
        if self.family in ("number", "null"):
            return str(self.values.dtype) if self.family == "number" else "null"
        zone = f", {self.zone}" if self.zone else ""
        return f"{self.family}[{self.unit}{zone}]"


class Table(Protocol):
    """A table of some library."""

    library: str
    names: list[str]
    height: int

    def column(self, name: str) -> Column | None:
        """Return a column as numbers; None if it holds none."""

    def names_of(self, name: str) -> Any:
        """Return a column of names for `number_names`: a capsule; an object array where there is no such; or None."""

    def rows(self, names: Sequence[str], rows: Rows | None, has_missing: bool) -> dict[str, Any]:
        """Return columns of these rows (None: of all). With `has_missing`, row -1 has no values."""

    def made(self, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        """Return a column of the library."""

    def table(self, columns: dict[str, Any], has_rows: bool) -> Any:
        """Return a table of columns. With `has_rows`, its rows are those of this one."""


def opened(values: Any, name: str) -> Table:
    """Return a table of pandas, polars, PyArrow or DuckDB, or Arrow data of any other library, or raise TypeError."""
    library = type(values).__module__.partition(".")[0].lstrip("_")
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    table: Table
    if pandas is not None and isinstance(values, pandas.DataFrame):
        table = _Pandas(values, pandas)
    elif polars is not None and isinstance(values, polars.DataFrame | polars.LazyFrame):
        table = _Polars(values, polars)
    elif library == "duckdb" and hasattr(values, "to_arrow_table"):
        table = _Arrow(values.to_arrow_table(), "duckdb", values)
    elif library == "duckdb" and hasattr(values, "fetch_arrow_table"):  # before DuckDB 1.4
        table = _Arrow(values.fetch_arrow_table(), "duckdb", values)
    elif hasattr(values, "__arrow_c_stream__"):
        pyarrow: Any = import_extra("pyarrow", purpose=f"{name}: reading Arrow data")
        table = _Arrow(values if isinstance(values, pyarrow.Table) else pyarrow.table(values), "pyarrow", None)
    else:
        raise TypeError(f"{name} must be a table of pandas, polars, PyArrow or DuckDB, not {type(values).__name__}")
    twice = [one for one in dict.fromkeys(table.names) if table.names.count(one) > 1]
    if twice:
        raise ValueError(f"{name} has several columns of one name: {listed(map(str, twice))}")
    return table


def known(table: Table, name: str, side: str) -> str:
    """Return a name if the table has such a column."""
    if name not in table.names:
        raise ValueError(f"{side}: {unknown_name('column', name, map(str, table.names))}")
    return name


class _Pandas:
    library = "pandas"

    def __init__(self, frame: Any, pandas: Any) -> None:
        if frame.columns.nlevels > 1:
            raise ValueError("columns with several levels have no single names; join them first")
        self._frame, self._pandas = frame, pandas
        self.names = list(frame.columns)
        self.height = len(frame)

    def column(self, name: str) -> Column | None:
        series, pandas = self._frame[name], self._pandas
        dtype = series.dtype
        if isinstance(dtype, pandas.ArrowDtype):
            return _arrow_column(import_module("pyarrow").chunked_array(series.array.__arrow_array__()))
        zone = None
        if isinstance(dtype, pandas.DatetimeTZDtype):
            zone = str(dtype.tz)
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
            dtype = series.dtype
        if isinstance(dtype, np.dtype) and dtype.kind in "mM":
            array = series.to_numpy()
            family = "datetime" if dtype.kind == "M" else "duration"
            return Column(array.view(np.int64), if_any(np.isnat(array)), family, np.datetime_data(dtype)[0], zone)
        if isinstance(dtype, np.dtype):
            if dtype.kind not in "biuf":
                return None
            array = series.to_numpy()
            return Column(array, if_any(np.isnan(array)) if dtype.kind == "f" else None)
        plain = getattr(dtype, "numpy_dtype", None)
        if plain is None or plain.kind not in "biuf":
            return None
        return Column(series.to_numpy(dtype=plain, na_value=0), if_any(series.isna().to_numpy()))

    def names_of(self, name: str) -> Any:
        series, pandas = self._frame[name], self._pandas
        dtype = series.dtype
        kind = dtype.categories.dtype if isinstance(dtype, pandas.CategoricalDtype) else dtype
        if not pandas.api.types.is_string_dtype(kind):
            return None
        shares = hasattr(series, "__arrow_c_stream__") and has_library("pyarrow")
        if shares and not pandas.api.types.is_object_dtype(kind):
            return series.__arrow_c_stream__()
        texts = series.astype(object).to_numpy()
        return texts if pandas.api.types.infer_dtype(texts, skipna=True) in ("string", "bytes", "empty") else None

    def rows(self, names: Sequence[str], rows: Rows | None, has_missing: bool) -> dict[str, Any]:
        take = self._pandas.api.extensions.take
        columns = {}
        for name in names:
            series = self._frame[name]
            is_plain = isinstance(series.dtype, np.dtype)
            values = series.to_numpy() if is_plain else series.array
            if rows is None:
                columns[name] = values
            elif is_plain:
                columns[name] = take(values, rows, allow_fill=has_missing)
            else:
                columns[name] = values.take(rows, allow_fill=has_missing)
        return columns

    def made(self, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        if missing is None:
            return values
        if values.dtype.kind == "m":
            return np.where(missing, np.timedelta64("NaT"), values)
        return np.where(missing, np.nan, values)

    def table(self, columns: dict[str, Any], has_rows: bool) -> Any:
        return self._pandas.DataFrame(columns, index=self._frame.index if has_rows else None)


class _Polars:
    library = "polars"

    def __init__(self, frame: Any, polars: Any) -> None:
        self._is_lazy = isinstance(frame, polars.LazyFrame)
        self._frame, self._polars = frame.collect() if self._is_lazy else frame, polars
        self.names = list(self._frame.columns)
        self.height = self._frame.height

    def column(self, name: str) -> Column | None:
        series, polars = self._frame[name], self._polars
        dtype = series.dtype
        if dtype == polars.Null:
            return _blank(len(series))
        families = {polars.Datetime: "datetime", polars.Date: "date", polars.Duration: "duration", polars.Time: "time"}
        family = families.get(dtype.base_type(), "number")
        if family == "number" and dtype != polars.Boolean and not (dtype.is_integer() or dtype.is_float()):
            return None
        unit = {"number": "", "date": "D", "time": "ns"}.get(family, getattr(dtype, "time_unit", ""))
        missing = series.is_null().to_numpy() if series.null_count() else None
        plain = series.to_physical()
        values = (plain if missing is None else plain.fill_null(0)).to_numpy()
        return Column(values, missing, family, unit, getattr(dtype, "time_zone", None))

    def names_of(self, name: str) -> Any:
        series = self._frame[name]
        texts = (self._polars.String, self._polars.Categorical, self._polars.Enum, self._polars.Binary)
        return series.__arrow_c_stream__() if series.dtype.base_type() in texts else None

    def rows(self, names: Sequence[str], rows: Rows | None, has_missing: bool) -> dict[str, Any]:
        if not names:
            return {}
        frame = self._frame.select(names)
        if rows is not None and has_missing:
            places = self.made(rows, rows < 0)
            frame = frame.select(self._polars.all().gather(places))
        elif rows is not None:
            frame = frame[rows]
        return dict(zip(names, frame.get_columns(), strict=True))

    def made(self, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        column = self._polars.Series(values)
        return column if missing is None else column.zip_with(self._polars.Series(~missing), column.clear(len(column)))

    def table(self, columns: dict[str, Any], has_rows: bool) -> Any:
        frame = self._polars.DataFrame([column.alias(name) for name, column in columns.items()])
        return frame.lazy() if self._is_lazy else frame


class _Arrow:
    def __init__(self, table: Any, library: str, relation: Any) -> None:
        self._table, self.library, self._relation = table, library, relation
        self.names = list(table.column_names)
        self.height = table.num_rows

    def column(self, name: str) -> Column | None:
        return _arrow_column(self._table.column(name))

    def names_of(self, name: str) -> Any:
        types = import_module("pyarrow").types
        column = self._table.column(name)
        kind = column.type.value_type if types.is_dictionary(column.type) else column.type
        known_kinds = ("is_string", "is_large_string", "is_string_view", "is_binary", "is_large_binary")
        is_text = any(getattr(types, test)(kind) for test in known_kinds if hasattr(types, test))
        if not is_text:
            return None
        if not hasattr(column, "__arrow_c_stream__"):  # before pyarrow 17
            return np.array(column.to_pylist(), object)
        return column.__arrow_c_stream__()

    def rows(self, names: Sequence[str], rows: Rows | None, has_missing: bool) -> dict[str, Any]:
        table = self._table.select(names)
        if rows is not None:
            pyarrow: Any = import_module("pyarrow")
            places = pyarrow.array(rows, mask=rows < 0 if has_missing else None)
            table = table.combine_chunks().take(places)
        return dict(zip(names, table.columns, strict=True))

    def made(self, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        return import_module("pyarrow").array(values, mask=missing)

    def table(self, columns: dict[str, Any], has_rows: bool) -> Any:
        joined = import_module("pyarrow").table(columns)
        if self._relation is None:
            return joined
        # DuckDB finds the table by the name of the variable: a relation of the same connection, which keeps it.
        return self._relation.query("left_of_join", "SELECT * FROM joined")


def if_any(missing: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """Return where values are missing, or None if nowhere."""
    return missing if missing.any() else None


def _blank(count: int) -> Column:
    return Column(np.zeros(count, np.int8), np.ones(count, np.bool_), "null")


def _arrow_column(data: Any) -> Column | None:
    pyarrow: Any = import_module("pyarrow")
    types = pyarrow.types
    data = data.combine_chunks() if data.num_chunks != 1 else data.chunk(0)
    if hasattr(data, "chunks"):  # without rows, of some versions
        data = pyarrow.concat_arrays(data.chunks) if data.num_chunks else pyarrow.array([], data.type)
    kind = data.type
    if types.is_null(kind):
        return _blank(len(data))
    family, unit, zone = "number", "", None
    if types.is_timestamp(kind):
        family, unit, zone = "datetime", kind.unit, kind.tz
    elif types.is_duration(kind):
        family, unit = "duration", kind.unit
    elif types.is_time(kind):
        family, unit = "time", kind.unit
    elif types.is_date(kind):
        family, unit = "date", "D" if types.is_date32(kind) else "ms"
    elif not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        return None
    missing = data.is_null().to_numpy(zero_copy_only=False) if data.null_count else None
    if family != "number":
        data = data.view(pyarrow.int32() if kind.bit_width == 32 else pyarrow.int64())
    if missing is not None:
        data = data.fill_null(False if types.is_boolean(kind) else 0)
    return Column(data.to_numpy(zero_copy_only=False), missing, family, unit, zone)


def text_type(column: Column | None) -> str:
    """Return what a column holds, for a message."""
    return "neither numbers nor times" if column is None else quoted(str(column))
