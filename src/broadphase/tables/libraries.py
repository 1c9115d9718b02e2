"""Tables of pandas, polars, PyArrow and DuckDB: their columns as arrays, and tables made of their rows.

A table is known by the library of its type. pandas and polars are imported where a table of theirs was given.
"""

from __future__ import annotations

import re
import secrets
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.arguments import undamaged
from broadphase.errors import quoted, unknown_name
from broadphase.extras import has_library, import_extra
from broadphase.tables.arrow import filled, plain_type, whole
from broadphase.tables.names import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = [
    "FOR_GEOMETRIES", "Column", "Table", "advice_for", "either", "if_any", "known", "opened", "require_one_library",
    "without_nan",
]  # fmt: skip

Rows: TypeAlias = "NDArray[np.int32]"

#: The end of messages about a table of GeoPandas.
FOR_GEOMETRIES = (
    ": for geometries, use broadphase.adapters.shapely.sjoin(left, right); or join their boxes, of"
    " frame.join(frame.bounds), by lower=['minx', 'miny'] and upper=['maxx', 'maxy']"
)


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


class Table(ABC):
    """A table of some library; `title` is that of the argument, for messages."""

    library: str

    def __init__(self, title: str, names: Iterable[str], height: int) -> None:
        self.title, self.names, self.height = title, list(names), height
        self._whole: dict[str, Any] = {}

    @abstractmethod
    def column(self, name: str) -> Column | None:
        """Return a column as numbers; None if it holds none."""

    @abstractmethod
    def type_of(self, name: str) -> str:
        """Return what the library calls the type of a column."""

    @abstractmethod
    def names_of(self, name: str) -> Any:
        """Return a column of names for `number_names`: a capsule; an object array where there is no such; or None."""

    @abstractmethod
    def rows(self, names: Sequence[str], rows: Rows | None, has_missing: bool, workers: int = 1) -> dict[str, Any]:
        """Return columns of these rows (None: of all). With `has_missing`, row -1 has no values."""

    @abstractmethod
    def made(self, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        """Return a column of the library."""

    @abstractmethod
    def like(self, name: str, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        """Return a column of the type of another one, of numbers as its `Column.values` are."""

    @abstractmethod
    def table(self, columns: dict[str, Any], rows: Rows | slice | None = None) -> Any:
        """Return a table of columns; `rows` are those of this one that it has, None if they are other ones."""

    def folded(self, name: str) -> str:
        """Return what is equal for names that the library does not tell apart."""
        return name

    def at(self, name: str) -> str:
        """Return what messages call a column."""
        return f"{self.title}, column {quoted(name)}"

    def _checked(self, name: str) -> Any:
        """Return the data of a column that pyarrow holds; it is checked once."""
        if name not in self._whole:
            self._whole[name] = undamaged(self._arrow(name), self.at(name), is_utf8=False)
        return self._whole[name]

    def _arrow(self, name: str) -> Any:
        raise NotImplementedError


def opened(values: Any, name: str) -> Table:
    """Return a table of pandas, polars, PyArrow or DuckDB, or Arrow data of any other library, or raise TypeError."""
    library = type(values).__module__.partition(".")[0].lstrip("_")
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    table: Table
    if pandas is not None and isinstance(values, pandas.DataFrame):
        table = _Pandas(values, name, pandas)
    elif polars is not None and isinstance(values, polars.DataFrame | polars.LazyFrame):
        table = _Polars(values, name, polars)
    elif library == "duckdb" and hasattr(values, "fetch_arrow_table") and hasattr(values, "columns"):
        table = _DuckDB(values, name)
    elif hasattr(values, "__arrow_c_stream__") and library not in ("pandas", "geopandas"):
        pyarrow: Any = import_extra("pyarrow", purpose=f"{name}: reading Arrow data")
        if isinstance(values, pyarrow.RecordBatchReader):
            values = values.read_all()
        if isinstance(values, pyarrow.RecordBatch | pyarrow.ChunkedArray):  # the interface drops sizes of buffers
            undamaged(values, name, is_utf8=False)
        table = _Arrow(values if isinstance(values, pyarrow.Table) else pyarrow.table(values), name)
    else:
        advice = FOR_GEOMETRIES if library == "geopandas" else ""
        kind = type(values).__name__
        raise TypeError(f"{name} must be a table of pandas, polars, PyArrow or DuckDB, not {kind}{advice}")
    folded = [table.folded(one) for one in table.names]
    twice = [one for one in dict.fromkeys(table.names) if folded.count(table.folded(one)) > 1]
    if twice:
        raise ValueError(f"{name} has several columns of one name: {listed(map(str, twice))}")
    return table


def require_one_library(tables: Sequence[Table]) -> None:
    """Raise TypeError if tables, one or two, are of different libraries."""
    first, last = tables[0], tables[-1]
    if first.library != last.library:
        raise TypeError(f"{first.title} is of {first.library}, and {last.title} of {last.library}: convert one of them")


def known(table: Table, name: str, option: str) -> str:
    """Return a name that an option gives, if the table has such a column."""
    if name not in table.names:
        unknown = unknown_name("column", name, map(str, table.names))
        raise ValueError(f"{option}, {table.title}: {unknown}{advice_for(table)}")
    return name


def advice_for(table: Table) -> str:
    """Return the end of a message about columns: what to do with geometries, if the table has any."""
    return FOR_GEOMETRIES if any(table.type_of(one) == "geometry" for one in table.names) else ""


class _Pandas(Table):
    library = "pandas"

    def __init__(self, frame: Any, title: str, pandas: Any) -> None:
        if frame.columns.nlevels > 1:
            raise ValueError("columns with several levels have no single names; join them first")
        super().__init__(title, frame.columns, len(frame))
        self._frame, self._pandas = frame, pandas

    def column(self, name: str) -> Column | None:
        series, pandas = self._frame[name], self._pandas
        dtype = series.dtype
        if isinstance(dtype, pandas.ArrowDtype):
            column = _arrow_column(self._checked(name), self.at(name))
            return None if column is None else without_nan(column)
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
            return without_nan(Column(series.to_numpy())) if dtype.kind in "biuf" else None
        plain = getattr(dtype, "numpy_dtype", None)
        if plain is None or plain.kind not in "biuf":
            return None
        return without_nan(Column(series.to_numpy(dtype=plain, na_value=0), if_any(series.isna().to_numpy())))

    def type_of(self, name: str) -> str:
        return str(self._frame[name].dtype)

    def names_of(self, name: str) -> Any:
        series, pandas = self._frame[name], self._pandas
        dtype = series.dtype
        if isinstance(dtype, pandas.ArrowDtype):
            return _arrow_names(self._checked(name))
        kind = dtype.categories.dtype if isinstance(dtype, pandas.CategoricalDtype) else dtype
        if not pandas.api.types.is_string_dtype(kind):
            return None
        shares = hasattr(series, "__arrow_c_stream__") and has_library("pyarrow")
        if shares and not pandas.api.types.is_object_dtype(kind):
            return self._series(name).__arrow_c_stream__()
        texts = series.astype(object).to_numpy()
        return texts if pandas.api.types.infer_dtype(texts, skipna=True) in ("string", "bytes", "empty") else None

    def rows(self, names: Sequence[str], rows: Rows | None, has_missing: bool, workers: int = 1) -> dict[str, Any]:
        columns = {}
        for name in names:
            series = self._series(name)
            if rows is None:
                columns[name] = series.to_numpy() if isinstance(series.dtype, np.dtype) else series.array
            else:
                columns[name] = self._rows_of(series, name, rows, has_missing, workers)
        return columns

    def _rows_of(self, series: Any, name: str, rows: Rows, has_missing: bool, workers: int) -> Any:
        pandas, dtype = self._pandas, series.dtype
        if isinstance(dtype, pandas.ArrowDtype):
            return pandas.arrays.ArrowExtensionArray(
                _taken(self._checked(name), _places(rows, has_missing), self.at(name))
            )
        take = pandas.api.extensions.take
        inner = getattr(dtype, "subtype", dtype)  # of intervals and sparse values
        if has_missing and isinstance(inner, np.dtype) and inner.kind in "biu":  # pandas would round them to float64
            if isinstance(dtype, pandas.IntervalDtype):
                return take(series.astype(object).to_numpy(), rows, allow_fill=True)
            there = rows >= 0
            values = np.zeros(len(rows), inner.newbyteorder("="))
            values[there] = series.to_numpy()[rows[there]]
            return self.made(values, ~there)
        if isinstance(dtype, np.dtype):  # pandas takes rows in native byte order only
            values = series.to_numpy().astype(dtype.newbyteorder("="), copy=False)
            if has_missing or dtype.kind not in "biufmM" or dtype.itemsize > 8:
                return take(values, rows, allow_fill=has_missing)
            taken: Any = _native.rows_of_column(values.view(f"u{dtype.itemsize}"), rows, workers)
            return taken.view(values.dtype)
        return series.array.take(rows, allow_fill=has_missing)

    def made(self, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        if missing is None:
            return values
        if values.dtype.kind in "mM":
            return np.where(missing, np.array("NaT", values.dtype), values)
        if values.dtype.kind == "f":
            return np.where(missing, np.nan, values)
        kind = self._pandas.arrays.BooleanArray if values.dtype.kind == "b" else self._pandas.arrays.IntegerArray
        return kind(values, missing)

    def like(self, name: str, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        pandas, dtype = self._pandas, self._frame[name].dtype
        if isinstance(dtype, pandas.ArrowDtype):
            return pandas.arrays.ArrowExtensionArray(_like(dtype.pyarrow_dtype, values, missing))
        if isinstance(dtype, pandas.DatetimeTZDtype):
            utc = pandas.DatetimeIndex(self.made(values.view(f"M8[{dtype.unit}]"), missing)).tz_localize("UTC")
            return utc.tz_convert(dtype.tz).array
        if isinstance(dtype, np.dtype):
            plain = dtype.newbyteorder("=")
            return self.made(values.view(plain) if dtype.kind in "mM" else values.astype(plain, copy=False), missing)
        gone = np.zeros(len(values), np.bool_) if missing is None else missing
        return dtype.construct_array_type()(values.astype(dtype.numpy_dtype), gone)

    def table(self, columns: dict[str, Any], rows: Rows | slice | None = None) -> Any:
        index = None if rows is None else self._frame.index[rows]
        # Columns of some rows are new arrays: pandas would copy them once more, into one block.
        return self._pandas.DataFrame(columns, index=index, copy=isinstance(rows, slice))

    def _series(self, name: str) -> Any:
        """Return a column; of one that pyarrow holds, the data is checked."""
        series = self._frame[name]
        dtype = series.dtype
        if isinstance(dtype, self._pandas.ArrowDtype) or getattr(dtype, "storage", None) == "pyarrow":
            self._checked(name)
        return series

    def _arrow(self, name: str) -> Any:
        return self._frame[name].array.__arrow_array__()


class _Polars(Table):
    library = "polars"

    def __init__(self, frame: Any, title: str, polars: Any) -> None:
        self._is_lazy = isinstance(frame, polars.LazyFrame)
        self._frame, self._polars = frame.collect() if self._is_lazy else frame, polars
        super().__init__(title, self._frame.columns, self._frame.height)

    def column(self, name: str) -> Column | None:
        series, polars = self._frame[name], self._polars
        dtype = series.dtype
        if dtype == polars.Null:
            return _blank(len(series))
        if str(dtype) in ("Int128", "UInt128") or (dtype == polars.Decimal and dtype.scale == 0):
            try:
                series = series.cast(polars.Int64)
            except polars.exceptions.PolarsError:
                raise _beyond_int64(self.at(name), dtype) from None
            dtype = series.dtype
        families = {polars.Datetime: "datetime", polars.Date: "date", polars.Duration: "duration", polars.Time: "time"}
        family = families.get(dtype.base_type(), "number")
        if family == "number" and dtype != polars.Boolean and not (dtype.is_integer() or dtype.is_float()):
            return None
        unit = {"number": "", "date": "D", "time": "ns"}.get(family, getattr(dtype, "time_unit", ""))
        missing = series.is_null().to_numpy() if series.null_count() else None
        plain = series.to_physical()
        values = (plain if missing is None else plain.fill_null(0)).to_numpy()
        return Column(values, missing, family, unit, getattr(dtype, "time_zone", None))

    def type_of(self, name: str) -> str:
        return str(self._frame[name].dtype)

    def names_of(self, name: str) -> Any:
        series = self._frame[name]
        texts = (self._polars.String, self._polars.Categorical, self._polars.Enum, self._polars.Binary)
        return series.__arrow_c_stream__() if series.dtype.base_type() in texts else None

    def rows(self, names: Sequence[str], rows: Rows | None, has_missing: bool, workers: int = 1) -> dict[str, Any]:
        if not names:
            return {}
        frame = self._frame[list(names)]  # for `select`, a name such as "*" or "^a.*$" stands for several columns
        if rows is not None and has_missing:
            places = self.made(rows, rows < 0)
            frame = frame.select(self._polars.all().gather(places))
        elif rows is not None:
            frame = frame[rows]
        return dict(zip(names, frame.get_columns(), strict=True))

    def made(self, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        column = self._polars.Series(values)
        return column if missing is None else column.zip_with(self._polars.Series(~missing), column.clear(len(column)))

    def like(self, name: str, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        dtype = self._frame[name].dtype
        if dtype == self._polars.Date:
            values = values.astype(np.int32)
        return self.made(values, missing).cast(dtype)

    def table(self, columns: dict[str, Any], rows: Rows | slice | None = None) -> Any:
        frame = self._polars.DataFrame(columns)
        return frame.lazy() if self._is_lazy else frame


class _Arrow(Table):
    library = "pyarrow"

    def __init__(self, table: Any, title: str) -> None:
        super().__init__(title, table.column_names, table.num_rows)
        self._table = table

    def column(self, name: str) -> Column | None:
        return _arrow_column(self._checked(name), self.at(name))

    def type_of(self, name: str) -> str:
        return str(self._table.column(name).type)

    def names_of(self, name: str) -> Any:
        return _arrow_names(self._checked(name))

    def rows(self, names: Sequence[str], rows: Rows | None, has_missing: bool, workers: int = 1) -> dict[str, Any]:
        columns = {name: self._checked(name) for name in names}
        if rows is None:
            return columns
        places = _places(rows, has_missing)
        return {name: _taken(column, places, self.at(name)) for name, column in columns.items()}

    def made(self, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        return import_module("pyarrow").array(values, mask=missing)

    def like(self, name: str, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        return _like(plain_type(self._arrow(name).type), values, missing)

    def table(self, columns: dict[str, Any], rows: Rows | slice | None = None) -> Any:
        return import_module("pyarrow").table(columns)

    def _arrow(self, name: str) -> Any:
        return self._table.column(name)


class _DuckDB(_Arrow):
    library = "duckdb"

    def __init__(self, relation: Any, title: str) -> None:
        self._relation = relation
        self._types: dict[str, str] = dict(zip(relation.columns, map(str, relation.types), strict=True))
        if len(self._types) == len(relation.columns) and any(map(self._is_odd, self._types)):  # `opened` refuses others
            relation = relation.project(
                ", ".join(_cast(name, "VARCHAR") if self._is_odd(name) else _identifier(name) for name in self._types)
            )
        # fetch_arrow_table before DuckDB 1.4
        read = relation.to_arrow_table if hasattr(relation, "to_arrow_table") else relation.fetch_arrow_table
        super().__init__(read(), title)

    def column(self, name: str) -> Column | None:
        return None if self._is_odd(name) else super().column(name)

    def type_of(self, name: str) -> str:
        return self._types[name]

    def names_of(self, name: str) -> Any:
        return None if self._is_odd(name) else super().names_of(name)

    def rows(self, names: Sequence[str], rows: Rows | None, has_missing: bool, workers: int = 1) -> dict[str, Any]:
        variant = next((name for name in names if "VARIANT" in self._types[name]), None)
        if variant is not None:
            raise ValueError(f"{self.at(variant)} is a VARIANT, which Arrow does not have: cast it, or see keep")
        return {
            name: (column, self._types[name])
            for name, column in super().rows(names, rows, has_missing, workers).items()
        }

    def made(self, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        return super().made(values, missing), None

    def like(self, name: str, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        return super().like(name, values, missing), self._types[name]

    def table(self, columns: dict[str, Any], rows: Rows | slice | None = None) -> Any:
        made = self._relation_of(super().table({name: values for name, (values, _) in columns.items()}))
        types = [kind for _, kind in columns.values()]
        given = list(zip(made.columns, types, map(str, made.types), strict=True))
        if all(kind in (None, had) for _, kind, had in given):
            return made
        # Arrow has no ENUM, UUID or HUGEINT of DuckDB.
        return made.project(
            ", ".join(_identifier(name) if kind in (None, had) else _cast(name, kind) for name, kind, had in given)
        )

    def folded(self, name: str) -> str:
        return name.lower()

    def _is_odd(self, name: str) -> bool:
        """Return whether Arrow would have other values: bits as bytes, and times without their time zone."""
        return re.search(r"\b(BIT|TIME WITH TIME ZONE)\b", self._types[name]) is not None

    def _relation_of(self, joined: Any) -> Any:
        """Return a table as a relation of the connection of this one."""
        duckdb: Any = import_module("duckdb")
        connection = getattr(self._relation, "_con", None)
        if connection is not None:
            return duckdb.from_arrow(joined, connection=connection)
        # Before DuckDB 2.0, only SQL leads from a relation to its connection. A name in it is that of a table, or else
        # of a variable of Python, so it must be one that nobody has. The relation gets such a name, too, as a view.
        name = f"joined_{secrets.token_hex(16)}"
        variables = {"relation": self._relation, "view": f"{name}_view", "sql": f"SELECT * FROM {name}", name: joined}
        try:
            made = eval("relation.query(view, sql)", variables)
            self._relation.query(f"{name}_view", f"DROP VIEW {name}_view")
        except duckdb.Error as error:
            raise ValueError(
                "before DuckDB 2.0, join cannot make a relation where the database is read-only, or where the setting"
                " python_enable_replacements is off: pass left.fetch_arrow_table() and right.fetch_arrow_table()"
            ) from error
        return made

    def _checked(self, name: str) -> Any:
        return self._arrow(name)  # of DuckDB itself


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _cast(name: str, kind: str) -> str:
    return f"CAST({_identifier(name)} AS {kind}) AS {_identifier(name)}"


def if_any(missing: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """Return where values are missing, or None if nowhere."""
    return missing if missing.any() else None


def either(one: NDArray[np.bool_] | None, two: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Return where values of one of two columns are missing, or None if nowhere."""
    if one is None or two is None:
        return two if one is None else one
    return one | two


def without_nan(column: Column) -> Column:
    """Return a column in which NaN is no value."""
    if column.values.dtype.kind != "f":
        return column
    return replace(column, missing=either(column.missing, if_any(np.isnan(column.values))))


def _blank(count: int) -> Column:
    return Column(np.zeros(count, np.int8), np.ones(count, np.bool_), "null")


def _beyond_int64(title: str, kind: Any) -> ValueError:
    return ValueError(f"{title} has the type {kind}, and integers that int64 cannot hold; convert it to float64")


def _places(rows: Rows, has_missing: bool) -> Any:
    return import_module("pyarrow").array(rows, mask=rows < 0 if has_missing else None)


def _taken(column: Any, places: Any, title: str) -> Any:
    """Return rows of a column of pyarrow; a null place has none."""
    pyarrow: Any = import_module("pyarrow")
    kind = column.type
    column = whole(column)
    try:
        if str(kind) == "string_view":  # of views, pyarrow takes no rows
            return column.cast(pyarrow.large_string()).take(places).cast(kind)
        if str(kind) == "binary_view":
            return column.cast(pyarrow.large_binary()).take(places).cast(kind)
        return column.take(places)
    except pyarrow.ArrowException as error:
        raise ValueError(
            f"{title} has the type {kind}, of which pyarrow takes no rows: convert it, or see keep ({error})"
        ) from None


def _like(kind: Any, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
    """Return numbers as an array of a type of pyarrow, times as numbers of its unit."""
    pyarrow: Any = import_module("pyarrow")
    if not pyarrow.types.is_temporal(kind):
        return pyarrow.array(values, mask=missing).cast(kind)
    return pyarrow.array(values.astype(f"i{kind.bit_width // 8}"), mask=missing).view(kind)


def _arrow_names(column: Any) -> Any:
    """Return a column of pyarrow as `Table.names_of` does."""
    pyarrow: Any = import_module("pyarrow")
    kind = str(plain_type(column.type))
    if kind not in (
        "string",
        "large_string",
        "string_view",
        "binary",
        "large_binary",
        "binary_view",
    ):
        return None
    if not hasattr(column, "__arrow_c_stream__"):  # before pyarrow 17
        return np.array(column.to_pylist(), object)
    chunks = getattr(column, "chunks", [column])
    if str(column.type).endswith("_view") and any(one is None for chunk in chunks for one in chunk.buffers()[2:]):
        # Short texts that were cast to views: pyarrow 24 ends the process when it exports them.
        column = column.cast(pyarrow.large_string() if kind == "string_view" else pyarrow.large_binary())
    return column.__arrow_c_stream__()


def _arrow_column(data: Any, title: str) -> Column | None:
    pyarrow: Any = import_module("pyarrow")
    types = pyarrow.types
    data = whole(data)
    kind = data.type
    if types.is_null(kind):
        return _blank(len(data))
    if types.is_decimal(kind) and kind.scale == 0:  # such as HUGEINT of DuckDB
        try:
            data = data.cast(pyarrow.decimal128(38, 0)).cast(pyarrow.int64())
        except pyarrow.ArrowInvalid:
            raise _beyond_int64(title, kind) from None
        kind = data.type
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
    if family != "number":
        data = data.view(pyarrow.int32() if kind.bit_width == 32 else pyarrow.int64())
    return Column(*filled(data), family, unit, zone)
