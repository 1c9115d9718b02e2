"""`join`: the rows of two tables whose intervals or boxes overlap, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

from broadphase import _native
from broadphase.arguments import as_flag
from broadphase.errors import TooManyPairsError, quoted, unknown_name
from broadphase.floats import MAX_DIMENSION
from broadphase.searches import pair_limit, pairs
from broadphase.tables.corners import Axis, as_floats, axis_of, require_intervals
from broadphase.tables.keys import NO_KEY, keys_of
from broadphase.tables.libraries import Table, known, opened
from broadphase.tables.names import listed
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["join"]

#: A column: its name in both tables, or in the left and in the right one.
ColumnName: TypeAlias = str | tuple[str, str]
AnyTable = TypeVar("AnyTable")

_WAYS = ("inner", "left", "nearest")
_SIDES = ("left", "right")


def join(
    left: AnyTable,
    right: Any = None,
    *,
    lower: ColumnName | list[ColumnName],
    upper: ColumnName | list[ColumnName],
    by: ColumnName | list[ColumnName] | None = None,
    how: Literal["inner", "left", "nearest"] = "inner",
    workers: int = 1,
    touching: bool = True,
    keep: list[str] | tuple[list[str] | None, list[str] | None] | None = None,
    suffixes: tuple[str, str] = ("", "_right"),
    count: bool | str = False,
    distance: bool | str = False,
    max_pairs: int | None = None,
) -> AnyTable:
    """Join the rows of two tables whose intervals, or boxes, overlap.

    Intervals are closed: those that only touch overlap (see `touching`).

    Parameters
    ----------
    left, right : DataFrame, Table or relation
        Two tables of pandas, polars, PyArrow or DuckDB; a polars LazyFrame is collected. Without `right`, every pair of
        rows of `left` that overlap, once.
    lower, upper : str, tuple of two str, or list of these
        The columns in which a row begins and ends: a list has one for each axis, 1 to 4, and a tuple the name in `left`
        and the name in `right`. They hold numbers, dates, datetimes, durations or times of day, and are compared
        exactly.
    by : str, tuple of two str, or list of these, optional
        Key columns, named in the same way: rows overlap only if their keys are equal. Text, categories of text,
        numbers, dates or times; text equals a category of that name.
    how : {"inner", "left", "nearest"}
        "inner": rows that overlap. "left": also the rows of `left` without a partner, once, with nulls on the right.
        "nearest": each row of `left` with the nearest row of `right`; along one axis.
    touching : bool
        False: half-open intervals, such as those of genomes: a row that ends where another begins does not overlap it,
        and a row without length overlaps nothing. Does not change which row is nearest.
    keep : list of str, or tuple of two lists, optional
        The columns of the result: of both tables, or those of `left` and those of `right` (None: all). Default: all.
    suffixes : (str, str)
        What is added to the names of other columns that both tables have.
    count : bool or str
        True: return `left` with how many rows overlap each of its rows, in a column "count", or of this name.
    distance : bool or str
        With ``how="nearest"``: add the gap between the two rows, 0 where they overlap, in a column "distance", or of
        this name.
    workers, max_pairs
        As in `pairs`.

    Returns
    -------
    DataFrame, Table or relation
        A table of the library of `left`: its columns, then those of `right` but for keys of the same name. In the order
        of the rows of `left`, then of `right`. pandas: with a new index, or with that of `left` where `count` is given;
        columns of integers and of bool are nullable where rows have no partner. polars: a LazyFrame where `left` is
        one, though nothing of it is still to be done. DuckDB: a relation of the connection of `left`.

    Raises
    ------
    InvalidBoxError
        NaN that is a number (not in pandas, where it is no value), or a row that ends before it begins; names the row,
        counted from 0.
    ValueError
        No such column; columns of one name in the result; time zones that differ; an integer that the common dtype of a
        corner cannot hold, names the row; Arrow data whose offsets, indices or lengths are damaged, names the column.
    TypeError
        No table, or tables of two libraries; columns that cannot be compared, such as lists and geometries.
    TooManyPairsError
        More than `max_pairs` rows.

    See Also
    --------
    pairs : Row numbers, of boxes in arrays.

    Notes
    -----
    As in SQL, null equals nothing: a row without a key or without a corner overlaps nothing. Of several rows that are
    as near, the one that begins first is the nearest, and of those the first.

    Numbers are read where they lie. Integers of both tables are compared as int32 or int64; with floating-point numbers
    among them, as float64, if they are not beyond 2**53. Datetimes are compared in the finer of their units. Along
    several axes, float64 has to hold the integers of an axis, or ranks are compared in their place. O(n log n) time at
    most, O(n) for most data, and the result's.

    Examples
    --------
    >>> import polars as pl
    >>> import broadphase as bp
    >>> genes = pl.DataFrame({"chrom": ["1", "1", "2"], "start": [10, 50, 10], "end": [40, 90, 20]})
    >>> genes = genes.with_columns(gene=pl.Series(["a", "b", "c"]))
    >>> reads = pl.DataFrame({"chrom": ["1", "1", "2"], "start": [0, 30, 20], "end": [10, 60, 30]})
    >>> hits = bp.join(genes, reads, lower="start", upper="end", by="chrom", touching=False)
    >>> hits.select("gene", "start_right").rows()
    [('a', 30), ('b', 30)]
    >>> bp.join(genes, reads, lower="start", upper="end", by="chrom", count=True)["count"].to_list()
    [2, 1, 1]
    """
    if how not in _WAYS:
        raise ValueError(unknown_name("how", how, _WAYS))
    left_table = opened(left, "left")
    tables = (left_table, left_table if right is None else opened(right, "right"))
    if tables[0].library != tables[1].library:
        raise TypeError(f"left is of {tables[0].library}, and right of {tables[1].library}: convert one of them")
    is_one = right is None
    touching = as_flag(touching, "touching")
    counted, measured = _column_name(count, "count"), _column_name(distance, "distance")
    if counted is not None and how != "inner":
        raise ValueError(f"count has one row for each row of left anyway; leave how={how!r} out")
    if measured is not None and how != "nearest":
        raise ValueError('distance is for how="nearest"')
    if is_one and how != "inner":
        raise ValueError(f"how={how!r} needs right, which may be left itself")
    ends = _axes(lower, upper, tables, is_one)
    keys = [] if by is None else _names(by, "by", tables, is_one)
    search = _search(tables, ends, keys, is_one)
    columns = _columns(tables, keys, keep, suffixes, counted or measured, counted is not None)
    first: NDArray[np.int32] | None = None  # all rows
    if counted is not None:
        made = _taken(left_table, columns[0], None) | {counted: left_table.made(search.counts(touching), None)}
        counted_rows: AnyTable = left_table.table(made, True)
        return counted_rows
    has_missing, more = how == "left", {}
    if how == "nearest":
        second, gaps = search.nearest()
        missing = second < 0
        has_missing = bool(missing.any())
        if measured is not None:
            more[measured] = left_table.made(_gaps(search.axes[0], gaps), missing if has_missing else None)
    else:
        try:
            found = search.pairs(touching, worker_count(workers), pair_limit(max_pairs))
        except (_native.TooManyPairs, TooManyPairsError):
            raise TooManyPairsError(f"there are more than max_pairs={max_pairs} pairs") from None
        first, second = found[:, 0], found[:, 1]
        if how == "left":
            alone = np.flatnonzero(np.bincount(first, minlength=left_table.height) == 0).astype(np.int32)
            first = np.concatenate((first, alone))
            order = np.argsort(first, kind="stable")
            first = first[order]
            second = np.concatenate((second, np.full(len(alone), -1, np.int32)))[order]
    made = _taken(left_table, columns[0], first) | _taken(tables[1], columns[1], second, has_missing)
    joined: AnyTable = left_table.table(made | more, False)
    return joined


@dataclass(frozen=True)
class _Search:
    """The intervals, or boxes, and keys of two tables: of one, twice."""

    axes: list[Axis]
    names: list[tuple[tuple[str, str], tuple[str, str]]]  # of each axis, the columns of lower and upper corners
    keys: list[NDArray[np.uint32] | None]
    key_count: int
    is_one: bool

    def pairs(self, touching: bool, workers: int, limit: int) -> NDArray[np.int32]:
        """Return rows of the left and the right table that overlap, in order."""
        if len(self.axes) > 1:
            return self._pairs_of_boxes(touching, workers, limit)
        first, second = self._columns()
        other = None if self.is_one else second
        rows: NDArray[np.int32] = self._checked(
            _native.interval_pairs, first, other, self.key_count, touching, None, workers, True, limit
        )
        return rows

    def counts(self, touching: bool) -> NDArray[np.int64]:
        """Return how many rows of the right table overlap each of the left one; itself is not counted."""
        if len(self.axes) > 1:
            found = self._pairs_of_boxes(touching, 1, pair_limit(None))
            counted = np.concatenate((found[:, 0], found[:, 1])) if self.is_one else found[:, 0]
            return np.bincount(counted, minlength=len(self.axes[0].values[0])).astype(np.int64)
        counts: NDArray[np.int64] = self._checked(
            _native.count_each_interval, *self._columns(), self.key_count, touching
        )
        return counts - (counts > 0) if self.is_one else counts

    def nearest(self) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Return the nearest row of the right table, -1 for none, and the gap."""
        if len(self.axes) > 1:
            raise ValueError(
                f'how="nearest" is for one axis, not {len(self.axes)}; for points, see bp.Index(boxes).nearest'
            )
        found: tuple[NDArray[np.int32], NDArray[Any]] = self._checked(
            _native.nearest_intervals, *self._columns(), self.key_count
        )
        return found

    def _columns(self) -> list[tuple[Any, Any, Any]]:
        values = self.axes[0].values
        return [(values[2 * side], values[2 * side + 1], self.keys[side]) for side in range(2)]

    def _checked(self, ask: Any, *arguments: Any) -> Any:
        try:
            return ask(*arguments)
        except _native.InvalidBoxes:
            self._require()
            raise

    def _require(self) -> None:
        """Raise InvalidBoxError for the first invalid row."""
        for side, title in enumerate(_SIDES):
            keys = self.keys[side]
            skipped = None if keys is None else keys == NO_KEY
            for axis, names in zip(self.axes, self.names, strict=True):
                lower, upper = axis.values[2 * side : 2 * side + 2]
                require_intervals(lower, upper, skipped, title, (names[0][side], names[1][side]))

    def _pairs_of_boxes(self, touching: bool, workers: int, limit: int) -> NDArray[np.int32]:
        self._require()
        floats = [as_floats(axis) for axis in self.axes]
        boxes: list[Any] = []
        rows: list[Any] = []
        keys: list[Any] = []
        for side in range(1 if self.is_one else 2):
            of_side = self.keys[side]
            there = None if of_side is None else np.flatnonzero(of_side != NO_KEY)
            corners = [np.stack([x[2 * side + end] for x in floats], axis=1) for end in range(2)]
            boxes.append(tuple(x if there is None else x[there] for x in corners))
            rows.append(there)
            keys.append(None if of_side is None or there is None else of_side[there].astype(np.int64))
        batch: Any = None
        if keys[0] is not None or keys[-1] is not None:
            filled = [
                np.zeros(len(one[0]), np.int64) if key is None else key for key, one in zip(keys, boxes, strict=True)
            ]
            batch = filled[0] if self.is_one else tuple(filled)
        found = pairs(
            boxes[0],
            None if self.is_one else boxes[1],
            touching=touching,
            batch=batch,
            workers=workers,
            sort=True,
            max_pairs=limit if limit < 2**63 else None,
        )
        of_pairs = [
            found[:, end] if rows[side] is None else rows[side][found[:, end]]
            for end, side in enumerate((0, 0) if self.is_one else (0, 1))
        ]
        return np.stack(of_pairs, axis=1).astype(np.int32, copy=False)


def _search(
    tables: Sequence[Table],
    ends: list[tuple[tuple[str, str], tuple[str, str]]],
    by: list[tuple[str, str]],
    is_one: bool,
) -> _Search:
    axes = [axis_of(tables, lower, upper) for lower, upper in ends]
    keys: list[NDArray[np.uint32] | None] = [None, None]
    key_count = 1
    if by:
        numbered, key_count = keys_of(tables, by)
        keys = list(numbered)
    for side in range(2):
        for axis in axes:
            missing = axis.missing[side]
            if missing is None:
                continue
            of_side = keys[side]
            marked = np.zeros(tables[side].height, np.uint32) if of_side is None else of_side
            marked[missing] = NO_KEY
            keys[side] = marked
    return _Search(axes, ends, keys, key_count, is_one)


def _axes(
    lower: Any, upper: Any, tables: Sequence[Table], is_one: bool
) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    begins, ends = _names(lower, "lower", tables, is_one), _names(upper, "upper", tables, is_one)
    if len(begins) != len(ends) or not 0 < len(begins) <= MAX_DIMENSION:
        raise ValueError(
            f"lower and upper must name as many columns, 1 to {MAX_DIMENSION}, not {len(begins)} and {len(ends)}"
        )
    return list(zip(begins, ends, strict=True))


def _names(given: Any, what: str, tables: Sequence[Table], is_one: bool) -> list[tuple[str, str]]:
    """Return columns as names in the left and in the right table."""
    columns = given if isinstance(given, list) else [given]
    names = []
    for column in columns:
        if isinstance(column, tuple) and len(column) != 2:
            raise ValueError(
                f"{what}: a tuple has the name in left and the name in right, not {len(column)} names; for axes, or"
                " several keys, give a list"
            )
        left, right = column if isinstance(column, tuple) else (column, column)
        if is_one and left != right:
            raise ValueError(
                f"{what}: {quoted(column)} has a name in left and one in right, and there is no right; for all pairs of"
                " rows of one table, pass it as left and as right"
            )
        names.append((known(tables[0], left, what), known(tables[1], right, what)))
    return names


def _column_name(given: Any, default: str) -> str | None:
    if isinstance(given, str):
        return given
    return default if as_flag(given, default) else None


def _columns(
    tables: Sequence[Table],
    by: list[tuple[str, str]],
    keep: Any,
    suffixes: tuple[str, str],
    added: str | None,
    is_left_only: bool,
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the columns that are taken of each table, and what they are called in the result."""
    left, right = _kept(tables, keep)
    if not isinstance(suffixes, tuple) or len(suffixes) != 2 or not all(isinstance(x, str) for x in suffixes):
        raise ValueError(f"suffixes must be a tuple of two str, not {quoted(suffixes)}")
    if is_left_only:
        right = []
    # A key of one name has the same values in both tables; where that of left is not kept, that of right is.
    shared = {one for one, two in by if one == two and one in left}
    right = [name for name in right if name not in shared]
    folded = tables[0].folded
    both = {*map(folded, left)} & {*map(folded, right)}
    named = tuple(
        {name: f"{name}{suffix}" if folded(name) in both else name for name in names}
        for names, suffix in zip((left, right), suffixes, strict=True)
    )
    all_names = [*named[0].values(), *named[1].values(), *([] if added is None else [added])]
    all_folded = [folded(name) for name in all_names]
    twice = [name for name in dict.fromkeys(all_names) if all_folded.count(folded(name)) > 1]
    if twice:
        raise ValueError(
            f"the result has several columns of one name: {listed(map(str, twice))}; see suffixes and keep"
        )
    return named[0], named[1]


def _kept(tables: Sequence[Table], keep: Any) -> tuple[list[str], list[str]]:
    if keep is None:
        return tables[0].names, tables[1].names
    if isinstance(keep, tuple):
        if len(keep) != 2:
            raise ValueError("keep: a tuple has the columns of left and those of right; else give a list")
        left, right = (
            list(table.names if names is None else [known(table, name, "keep") for name in names])
            for table, names in zip(tables, keep, strict=True)
        )
        return left, right
    if isinstance(keep, str):
        raise TypeError(f"keep must be a list of names, such as [{keep!r}]")
    names = list(keep)
    for name in names:
        if name not in tables[0].names and name not in tables[1].names:
            raise ValueError(f"keep: {unknown_name('column', name, map(str, [*tables[0].names, *tables[1].names]))}")
    return [x for x in names if x in tables[0].names], [x for x in names if x in tables[1].names]


def _taken(table: Table, columns: dict[str, str], rows: Any, has_missing: bool = False) -> dict[str, Any]:
    return dict(zip(columns.values(), table.rows(list(columns), rows, has_missing).values(), strict=True))


def _gaps(axis: Axis, gaps: NDArray[Any]) -> NDArray[Any]:
    """Return distances as numbers, or durations."""
    if gaps.dtype.kind == "f":
        return gaps
    if len(gaps) and gaps.max() > np.iinfo(np.int64).max:
        row = int(np.argmax(gaps))
        raise ValueError(f"left: row {row} is {gaps[row]} from the nearest, which int64 cannot hold")
    whole = gaps.astype(np.int64)
    if axis.family in ("number", "null"):
        return whole
    if axis.unit == "D":  # which not all libraries have durations of
        return (whole * 86_400_000).view("m8[ms]")
    return whole.view(f"m8[{axis.unit}]")
