"""Sets of intervals, in an array or a table: merge, cluster, coverage, subtract, complement and split.

Arrays have the shape (n, 2), a lower and an upper end in each row. Tables are those of `broadphase.join`: `lower` and
`upper` name the columns with the ends, and `by` those with keys, such as chromosomes or rooms. Each key has its own set
of intervals.

Lengths do not depend on whether ends belong to an interval: [0, 5) and [5, 9) leave no gap, nor do [0, 5] and [5, 9].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.errors import InvalidBoxError
from broadphase.tables.corners import Axis, alike, axis_of, finest, require_intervals
from broadphase.tables.keys import NO_KEY, keys_of_rows
from broadphase.tables.lengths import as_lengths, length_of
from broadphase.tables.libraries import Column, Table, if_any, opened, require_one_library
from broadphase.tables.options import added_column, column_names, require_distinct, require_ends
from broadphase.workers import worker_count

if TYPE_CHECKING:
    import datetime as dt

    from numpy.typing import NDArray

    Keys = NDArray[np.uint32] | None

__all__ = ["Pieces", "cluster", "complement", "coverage", "merge", "split", "subtract"]

#: A column: its name in both tables, or in the first and in the second one.
ColumnName: TypeAlias = "str | tuple[str, str]"
#: A number, or a span of time.
Length: TypeAlias = "float | dt.timedelta | np.timedelta64"

_COARSE = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}  # units of NumPy, and one of tables that holds them


class Pieces(NamedTuple):
    """Parts of intervals, in the order of the rows that they are of.

    Attributes
    ----------
    intervals : ndarray, shape (m, 2)
    rows : ndarray, shape (m,), int32
        The row that each is of.
    """

    intervals: NDArray[Any]
    rows: NDArray[np.int32]


def merge(
    intervals: Any,
    *,
    lower: str | None = None,
    upper: str | None = None,
    by: str | list[str] | None = None,
    gap: Length | None = 0,
    count: bool | str = False,
    workers: int = 1,
) -> Any:
    """Unite intervals that overlap or touch, or are at most a gap apart.

    Parameters
    ----------
    intervals : array_like, shape (n, 2), or table
        Numbers, or datetimes or durations of NumPy; or a table, see `broadphase.join`.
    lower, upper : str
        Of a table: the columns in which a row begins and ends.
    by : str or list of str, optional
        Of a table: key columns. Only rows of equal keys are united.
    gap : number, timedelta or None
        Intervals at most this far apart are united, too. None: only those that have more than a point in common.
    count : bool or str
        Of a table: add how many rows were united, in a column "count", or of this name.
    workers : int
        As in `broadphase.pairs`.

    Returns
    -------
    ndarray, shape (m, 2), or table
        Intervals apart from each other, ascending; a table of the library of the given one with the columns of `by`,
        `lower` and `upper`, the keys in the order in which they come first.

    Raises
    ------
    InvalidBoxError
        A row that ends before it begins, or an end that is not a number, names the row, counted from 0.
    ValueError
        No such column; an array of another shape; a negative gap.
    TypeError
        Neither an array of numbers nor a table; a number where a span of time is needed, or the reverse.

    See Also
    --------
    cluster : Which rows are united.

    Notes
    -----
    As in SQL, a row of a table without a key, or with null as an end, is in no set. O(n log n) time at most, O(n) for
    most data.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.intervals.merge([[8, 9], [0, 2], [1, 5], [5, 6]]).tolist()
    [[0, 6], [8, 9]]
    >>> import polars as pl
    >>> calls = pl.DataFrame({"line": ["a", "b", "a"], "start": [0, 3, 4], "end": [5, 6, 9]})
    >>> bp.intervals.merge(calls, lower="start", upper="end", by="line", count=True).rows()
    [('a', 0, 9, 2), ('b', 3, 6, 1)]
    """
    sets = _Sets.of([("intervals", intervals)], lower, upper, by)
    found, rows, counts = sets.ask(_native.merged_intervals, _gap(gap, sets.axis), worker_count(workers))
    counted = added_column(count, "count")
    if counted is None:
        return sets.made(found, sets.keys_at(rows))
    if sets.table is None:
        raise TypeError("count is for tables: of an array, see numpy.bincount(broadphase.intervals.cluster(...))")
    return sets.made(found, sets.keys_at(rows) | {counted: sets.table.made(counts, None)})


def cluster(
    intervals: Any,
    *,
    lower: str | None = None,
    upper: str | None = None,
    by: str | list[str] | None = None,
    gap: Length | None = 0,
    name: str = "cluster",
    workers: int = 1,
) -> Any:
    """Give the rows that `merge` unites one number.

    Parameters
    ----------
    intervals, lower, upper, by, gap, workers
        As in `merge`.
    name : str
        Of a table: what the new column is called.

    Returns
    -------
    ndarray, shape (n,), int64, or table
        For each row, the row of the result of `merge` in which it lies; a table has it as one more column, with null
        for rows that are in no set.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        As `merge`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.intervals.cluster([[8, 9], [0, 2], [1, 5], [5, 6]]).tolist()
    [1, 0, 0, 0]
    >>> bp.intervals.cluster([[0, 2], [3, 5], [9, 9]], gap=1).tolist()
    [0, 0, 1]
    """
    sets = _Sets.of([("intervals", intervals)], lower, upper, by)
    numbers = sets.ask(_native.number_clusters, _gap(gap, sets.axis), worker_count(workers))
    return numbers if sets.table is None else sets.with_column(name, numbers, sets.skipped(0))


def coverage(
    intervals: Any,
    others: Any,
    *,
    lower: ColumnName | None = None,
    upper: ColumnName | None = None,
    by: ColumnName | list[ColumnName] | None = None,
    name: str = "coverage",
    workers: int = 1,
) -> Any:
    """Measure how much of each interval is covered by others, all together.

    What several of them cover counts once.

    Parameters
    ----------
    intervals, others : array_like, shape (n, 2), or table
        Two arrays, or two tables of one library.
    lower, upper, by, workers
        As in `merge`; a tuple has the name of a column in `intervals` and its name in `others`.
    name : str
        Of tables: what the new column is called.

    Returns
    -------
    ndarray, shape (n,), or table
        Lengths: int64 of integers, float64 of other numbers, durations of times; `intervals` with one more column,
        with null for rows without an end or a key.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        As `merge`.

    See Also
    --------
    broadphase.join : With ``count=True``, how many rows overlap each row.

    Notes
    -----
    O(n log n) time at most, however much overlaps. Lengths of floating-point numbers are exact but for the rounding of
    each, and of their sum.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.intervals.coverage([[0, 10], [20, 30]], [[2, 5], [4, 6], [8, 21]]).tolist()
    [6, 1]
    """
    sets = _Sets.of([("intervals", intervals), ("others", others)], lower, upper, by)
    lengths = as_lengths(sets.axis, sets.ask(_native.covered_lengths, worker_count(workers)), "intervals")
    return lengths if sets.table is None else sets.with_column(name, lengths, sets.skipped(0))


def subtract(
    intervals: Any,
    others: Any,
    *,
    lower: ColumnName | None = None,
    upper: ColumnName | None = None,
    by: ColumnName | list[ColumnName] | None = None,
    workers: int = 1,
) -> Any:
    """Cut from each interval what others cover.

    Parameters
    ----------
    intervals, others, lower, upper, by, workers
        As in `coverage`.

    Returns
    -------
    Pieces, or table
        What is left of each row, in order: none of a row that is covered, several of one that others divide. A table
        has all columns of `intervals`, those of `lower` and `upper` with the ends of the piece.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        As `merge`.

    Notes
    -----
    Pieces without length are left out. An interval without length stays if no other one begins at its place or before,
    and ends behind it. Others without length take nothing away. A row of a table without an end or a key stays as it
    is.

    Examples
    --------
    >>> import broadphase as bp
    >>> pieces, rows = bp.intervals.subtract([[0, 10], [20, 30]], [[2, 5], [8, 21]])
    >>> pieces.tolist(), rows.tolist()
    ([[0, 2], [5, 8], [21, 30]], [0, 0, 1])
    """
    sets = _Sets.of([("intervals", intervals), ("others", others)], lower, upper, by)
    return sets.pieces(False, worker_count(workers))


def complement(
    intervals: Any,
    within: Any = None,
    *,
    lower: ColumnName | None = None,
    upper: ColumnName | None = None,
    by: ColumnName | list[ColumnName] | None = None,
    workers: int = 1,
) -> Any:
    """Find the gaps between intervals: what none of them covers.

    Parameters
    ----------
    intervals : array_like, shape (n, 2), or table
        See `merge`.
    within : array_like, shape (2,) or (m, 2), or table, optional
        Where gaps are looked for, such as the lengths of chromosomes, or opening hours. Default: from the first
        interval of each key to the last one.
    lower, upper, by, workers
        As in `coverage`; a tuple has the name of a column in `intervals` and its name in `within`.

    Returns
    -------
    ndarray, shape (k, 2), or table
        The gaps, ascending, with the columns of `by`, `lower` and `upper`; with `within`, in the order of its rows and
        with all of its columns.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        As `merge`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.intervals.complement([[2, 5], [4, 6], [8, 9]]).tolist()
    [[6, 8]]
    >>> bp.intervals.complement([[2, 5], [4, 6], [8, 9]], within=(0, 10)).tolist()
    [[0, 2], [6, 8], [9, 10]]
    """
    if within is not None:
        if not _is_table(within) and np.ndim(within) == 1:
            within = np.asarray(within)[None]
        given = [("within", within), ("intervals", intervals)]
        sets = _Sets.of(given, _swapped(lower), _swapped(upper), _swapped(by))
        left = sets.pieces(False, worker_count(workers))
        return left.intervals if isinstance(left, Pieces) else left
    sets = _Sets.of([("intervals", intervals)], lower, upper, by)
    found, rows, _ = sets.ask(_native.merged_intervals, _gap(0, sets.axis), worker_count(workers))
    between, before, behind = np.column_stack((found[:-1, 1], found[1:, 0])), rows[:-1], rows[1:]
    keys = sets.keys[0]
    if keys is not None:
        is_one_key = keys[before] == keys[behind]
        between, behind = between[is_one_key], behind[is_one_key]
    return sets.made(between, sets.keys_at(behind))


def split(
    intervals: Any,
    points: Any,
    *,
    lower: str | None = None,
    upper: str | None = None,
    at: str | None = None,
    by: ColumnName | list[ColumnName] | None = None,
    workers: int = 1,
) -> Any:
    """Cut intervals at points, such as hours, or the places where an enzyme cuts.

    Parameters
    ----------
    intervals : array_like, shape (n, 2), or table
        See `merge`.
    points : array_like, shape (m,), or table
        In any order.
    lower, upper, by, workers
        As in `coverage`, of `intervals`.
    at : str
        Of tables: the column of `points` with the places.

    Returns
    -------
    Pieces, or table
        As of `subtract`. Only points within an interval cut it, not its ends.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        As `merge`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.intervals.split([[0, 10], [20, 30]], [5, 7, 20]).intervals.tolist()
    [[0, 5], [5, 7], [7, 10], [20, 30]]
    """
    if not _is_table(points):
        points = np.asarray(points)
        if points.ndim != 1:
            raise ValueError(f"points must have the shape (m,), not {points.shape}")
        points = np.stack((points, points), axis=1)
    elif at is None:
        raise TypeError("give at, the column of points with the places")
    ends = [None if end is None else (end, at) for end in (lower, upper)]
    sets = _Sets.of([("intervals", intervals), ("points", points)], ends[0], ends[1], by)
    return sets.pieces(True, worker_count(workers))


@dataclass(frozen=True)
class _Sets:
    """One set of intervals or two, each an array or a table, read as columns of one dtype.

    Rows without a key or an end have the key NO_KEY. Of arrays, `tables` is empty, and `array` the first of them.
    """

    axis: Axis
    keys: list[Keys]
    key_count: int
    ends: list[tuple[str, str]]  # of each set, what its columns of ends are called
    titles: list[str]
    tables: list[Table]
    by: list[str]  # of the first table
    array: NDArray[Any] | None = None

    @classmethod
    def of(cls, given: list[tuple[str, Any]], lower: Any, upper: Any, by: Any) -> _Sets:
        titles = [title for title, _ in given]
        are_tables = [_is_table(one) for _, one in given]
        if all(are_tables):
            return cls._of_tables([opened(one, title) for title, one in given], lower, upper, by)
        if any(are_tables):
            raise TypeError(f"{' and '.join(titles)} must both be tables, or both arrays")
        option = next((name for name, x in (("lower", lower), ("upper", upper), ("by", by)) if x is not None), None)
        if option is not None:
            raise TypeError(f"{option} names a column of a table, and {titles[0]} is an array")
        return cls._of_arrays([np.asarray(one) for _, one in given], titles)

    @classmethod
    def _of_tables(cls, tables: list[Table], lower: Any, upper: Any, by: Any) -> _Sets:
        require_one_library(tables)
        require_ends(lower, upper, tables[0])
        begins, ends = (_one_column(one, option, tables) for option, one in (("lower", lower), ("upper", upper)))
        axis = axis_of(tables, begins, ends, False)
        names = [] if by is None else column_names(by, "by", tables)
        keys, key_count = keys_of_rows(tables, names, [axis])
        titles = [table.title for table in tables]
        pairs = list(zip(begins, ends, strict=True))
        return cls(axis, keys, key_count, pairs, titles, tables, [name[0] for name in names])

    @classmethod
    def _of_arrays(cls, arrays: list[NDArray[Any]], titles: list[str]) -> _Sets:
        columns, names = [], []
        for array, title in zip(arrays, titles, strict=True):
            array = np.zeros((0, 2)) if array.size == 0 and array.ndim < 2 else array
            if array.ndim != 2 or array.shape[1] != 2:
                raise ValueError(f"{title} must have the shape (n, 2), not {array.shape}")
            whole = _as_column(array, title)
            for end, name in enumerate(("lower", "upper")):
                columns.append(Column(whole.values[:, end], None, whole.family, whole.unit))
                names.append(f"{title}, {name}")
        values = alike(columns, names, "give all ends as int64")
        axis = Axis(values, [None] * len(values), columns[0].family, finest(columns), names[0])
        return cls(axis, [None] * len(arrays), 1, [("lower", "upper")] * len(arrays), titles, [], [], arrays[0])

    @property
    def table(self) -> Table | None:
        """The first table."""
        return self.tables[0] if self.tables else None

    def ask(self, ask: Any, *arguments: Any) -> Any:
        """Return what a function of the core does, or raise InvalidBoxError for the first invalid row."""
        values = self.axis.values
        columns = [(values[2 * k], values[2 * k + 1], keys) for k, keys in enumerate(self.keys)]
        try:
            return ask(*columns, self.key_count, *arguments)
        except _native.InvalidBoxes:
            for k in range(len(self.keys)):
                require_intervals(values[2 * k], values[2 * k + 1], self.skipped(k), self.titles[k], self.ends[k])
            raise

    def skipped(self, k: int) -> NDArray[np.bool_] | None:
        """Return which rows are in no set."""
        keys = self.keys[k]
        return None if keys is None else keys == NO_KEY

    def keys_at(self, rows: NDArray[np.int32]) -> dict[str, Any]:
        """Return the columns of keys at some rows of the first table."""
        return self.tables[0].rows(self.by, rows, False) if self.tables else {}

    def made(self, found: NDArray[Any], columns: dict[str, Any]) -> Any:
        """Return intervals as the first set was given: an array, or a table with other columns before and behind."""
        if self.array is not None:
            return self._as_given(found)
        (lower, upper), table = self.ends[0], self.tables[0]
        if lower == upper:
            raise ValueError(f"lower and upper must be two columns, not {lower!r} twice: the result has intervals")
        ends = self._columns(found, None)
        before = {name: columns.pop(name) for name in self.by}
        require_distinct([*before, *ends, *columns], table)
        return table.table(before | ends | columns)

    def with_column(self, name: str, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        """Return the first table with one more column."""
        table = self.tables[0]
        require_distinct([*table.names, name], table)
        gone = None if missing is None else if_any(missing)
        return table.table(table.rows(table.names, None, False) | {name: table.made(values, gone)}, slice(None))

    def pieces(self, cuts: bool, workers: int) -> Any:
        """Return what the second set leaves of the first: pieces of an array, or rows of a table."""
        found, rows = self.ask(_native.pieces_of_intervals, cuts, workers)
        if self.array is not None:
            return Pieces(self._as_given(found), rows)
        table = self.tables[0]
        others = [name for name in table.names if name not in self.ends[0]]
        columns = table.rows(others, rows, False) | self._columns(found, rows)
        return table.table({name: columns[name] for name in table.names})

    def _as_given(self, found: NDArray[Any]) -> NDArray[Any]:
        """Return intervals in the dtype of the first array, or in one that holds the ends of both."""
        given = self.array
        assert given is not None
        if self.axis.family != "number":
            return found.view(f"{'M' if self.axis.family == 'datetime' else 'm'}8[{self.axis.unit}]")
        return found.astype(given.dtype, copy=False) if given.dtype.kind in "iu" and found.dtype.kind == "i" else found

    def _columns(self, found: NDArray[Any], rows: NDArray[np.int32] | None) -> dict[str, Any]:
        """Return ends as columns of the first table: of `rows`, or of rows that have both."""
        columns = {}
        for end, name in enumerate(self.ends[0]):
            gone = self.axis.missing[end]
            missing = None if rows is None or gone is None else if_any(gone[rows])
            columns[name] = self._like(name, np.ascontiguousarray(found[:, end]), missing)
        return columns

    def _like(self, name: str, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        """Return numbers of the axis as a column of the type of one of its columns that holds them all."""
        table, axis = self.tables[0], self.axis
        own = table.column(name)
        assert own is not None
        if axis.family == "number":
            fits = own.values.dtype == values.dtype or (own.values.dtype.kind in "iu" and values.dtype.kind == "i")
            return table.like(name, values, missing) if fits else table.made(values, missing)
        if own.unit == axis.unit:
            return table.like(name, values, missing)
        for other, ends in zip(self.tables, self.ends, strict=True):
            for one in ends:
                column = other.column(one)
                if column is not None and column.unit == axis.unit and column.family == axis.family:
                    return other.like(one, values, missing)
        return table.made(values, missing)  # no end has a type: there are only nulls


def _one_column(given: Any, option: str, tables: list[Table]) -> tuple[str, ...]:
    """Return what a column is called in each table."""
    names = column_names(given, option, tables)
    if len(names) != 1:
        raise ValueError(f"{option} must be one column, not {len(names)}: intervals have one axis")
    return names[0]


def _is_table(given: Any) -> bool:
    return (
        hasattr(type(given), "columns") or hasattr(given, "__arrow_c_stream__") or hasattr(type(given), "column_names")
    )


def _as_column(array: NDArray[Any], title: str) -> Column:
    """Return an array as numbers, with what they stand for."""
    if array.dtype.kind in "iuf":
        return Column(array)
    if array.dtype.kind not in "mM":
        raise TypeError(f"{title} must be an array of numbers, datetimes or durations, not {array.dtype}, or a table")
    unit = np.datetime_data(array.dtype)[0]
    unit = _COARSE.get(unit, unit)
    if unit not in ("D", "s", "ms", "us", "ns"):
        raise TypeError(f"{title} is in units of {unit}: convert it to ns")
    plain = array.astype(f"{array.dtype.kind}8[{unit}]")
    gone = np.isnat(plain)
    if gone.any():
        row, end = np.argwhere(gone)[0].tolist()
        raise InvalidBoxError(f"{title}: row {row}: {('lower', 'upper')[end]!r} is NaT", row)
    return Column(plain.view(np.int64), None, "datetime" if array.dtype.kind == "M" else "duration", unit)


def _gap(gap: Any, axis: Axis) -> float | int | None:
    """Return a gap as the core takes it: of whole numbers as one, rounded down."""
    if gap is None:
        return None
    length = length_of(gap, "gap", axis)
    if axis.values[0].dtype.kind == "f":
        return float(length)
    return int(min(length, 2**64 - 1))


def _swapped(names: Any) -> Any:
    """Return columns of two tables for the tables the other way round."""
    if isinstance(names, list):
        return [_swapped(name) for name in names]
    return names[::-1] if isinstance(names, tuple) else names
