"""`join`: its options, and the table that it makes of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

from broadphase import _native
from broadphase.arguments import as_real, as_whole
from broadphase.errors import TooManyPairsError, quoted, unknown_name
from broadphase.floats import MAX_DIMENSION
from broadphase.joins.nearest_intervals import Wanted
from broadphase.joins.periodic import PeriodicSearch, periods_along
from broadphase.joins.search import Search, Share
from broadphase.searches import pair_limit
from broadphase.tables.lengths import Length, as_lengths, length_of, lengths_of
from broadphase.tables.libraries import Table, known, opened, require_one_library
from broadphase.tables.meeting import CLOSED, Closed, Rule
from broadphase.tables.options import added_column, column_names, require_distinct, require_ends
from broadphase.workers import worker_count

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from broadphase.joins.search import Ends

__all__ = ["join"]

#: A column: its name in both tables, or in the left and in the right one.
ColumnName: TypeAlias = str | tuple[str, str]
#: Along an axis: a number, or a span of time.
OneLength: TypeAlias = "float | dt.timedelta | np.timedelta64"
AnyTable = TypeVar("AnyTable")

HOW = ("inner", "left", "semi", "anti", "nearest")
MISSING = ("drop", "unbounded")
TIES = ("first", "all")
SIDES = ("both", "backward", "forward")
_FOR_ALL_PAIRS = "; for all pairs of rows of one table, pass it as left and as right"
OF: tuple[Literal["left", "right", "both"], ...] = ("left", "right", "both")


def join(
    left: AnyTable,
    right: Any = None,
    *,
    lower: ColumnName | list[ColumnName] | None = None,
    upper: ColumnName | list[ColumnName] | None = None,
    k: int = 1,
    ties: Literal["first", "all"] = "first",
    max_distance: OneLength = np.inf,
    direction: Literal["both", "backward", "forward"] = "both",
    by: ColumnName | list[ColumnName] | None = None,
    how: Literal["inner", "left", "semi", "anti", "nearest"] = "inner",
    workers: int = 1,
    closed: Closed = "both",
    missing: Literal["drop", "unbounded"] = "drop",
    margin: OneLength | list[OneLength] = 0.0,
    min_overlap: OneLength | list[OneLength] | tuple[Literal["left", "right", "both"], float] | None = None,
    period: OneLength | Sequence[OneLength | None] | None = None,
    keep: list[str] | tuple[list[str] | None, list[str] | None] | None = None,
    suffixes: tuple[str, str] = ("", "_right"),
    count: bool | str = False,
    distance: bool | str = False,
    max_pairs: int | None = None,
) -> AnyTable:
    """Join the rows of two tables whose intervals, or boxes, overlap or are nearest.

    Intervals are closed: those that only touch overlap (see `closed`).

    Parameters
    ----------
    left, right : DataFrame, Table or relation
        Two tables of pandas, polars, PyArrow or DuckDB; a polars LazyFrame is collected. Without `right`, every pair of
        rows of `left` that overlap, once; for "semi" and "anti", the other rows of `left`.
    lower, upper : str, tuple of two str, or list of these
        The columns in which a row begins and ends: a list has one for each axis, 1 to 4, and a tuple the name in `left`
        and the name in `right`. They hold numbers, dates, datetimes, durations or times of day, and are compared
        exactly.
    by : str, tuple of two str, or list of these, optional
        Key columns, named in the same way: rows overlap only if their keys are equal. Text, categories of text,
        numbers, dates or times; text equals a category of that name.
    how : {"inner", "left", "semi", "anti", "nearest"}
        "inner": rows that overlap. "left": also the rows of `left` without a partner, once, with nulls on the right.
        "semi", "anti": the rows of `left` that overlap some row, or none; each once, with the columns of `left` alone.
        "nearest": each row of `left` with the nearest rows of `right`, or with nulls if there are none.
    closed : {"both", "left", "right", "neither"}
        Which ends belong to a row, along every axis. A row without length, such as one whose `lower` and `upper` are
        the same column, is a point, whatever `closed` is; two rows overlap if they have a point in common. With "left",
        the usual rule for times and genomes, the point 10 is in [10, 20) and not in [0, 10). Does not change distances.
    missing : {"drop", "unbounded"}
        What a null in `lower` or `upper` means. "drop": the row overlaps nothing. "unbounded": the row has no beginning
        or no end. A null in a single column that is both drops the row in either case.
    margin : number, timedelta, or list of these
        Rows also overlap if a point of one is at most this far from a point of the other, along each axis; a list has
        one for each axis.
    min_overlap : number, timedelta, list of these, or tuple of str and float, optional
        Rows overlap only if they share this length along each axis. ``("left", 0.5)``: only if half of the row of
        `left` or more is in the row of `right`; ``("right", 0.5)``, the other way round; ``("both", 0.5)``, both ways.
        Along several axes, that part of the area or volume; of a row without length, all of it.
    period : number, timedelta, or list of these or None, optional
        How far it is until an axis repeats, such as a day for times of day, 168 for hours of the week, or ``(360,
        None)`` for longitudes and latitudes in degrees: for all axes, or one for each, None along those that do not.
        Rows overlap if they do when one of them is moved by whole periods. A row may begin in one period and end in a
        later one; one that ends less than a period before it begins goes on into the next: 22:00 to 06:00. Not with
        "nearest", `margin` and `min_overlap`.
    k : int
        With ``how="nearest"``: how many rows of `right` for each row of `left`.
    ties : {"first", "all"}
        "all": also all rows that are as near as the last of these `k`.
    max_distance : number or timedelta
        No row farther away is near.
    direction : {"both", "backward", "forward"}
        Along one axis. "backward": only rows that overlap the row of `left`, or end before it begins; "forward": or
        begin after it ends. As in ``pandas.merge_asof``, where all rows are points.
    distance : bool or str
        Add the distance of the two rows, 0 where they overlap or touch, in a column "distance", or of this name. Of
        boxes, that of their nearest points.
    keep : list of str, or tuple of two lists, optional
        The columns of the result: of both tables, or those of `left` and those of `right` (None: all). Default: all.
    suffixes : (str, str)
        What is added to the names of other columns that both tables have.
    count : bool or str
        True: return `left` with how many rows overlap each of its rows, in a column "count", or of this name.
    workers, max_pairs
        As in `pairs`. Along one axis, "semi", "anti", "nearest" and `count` need one pass over sorted rows, and take
        one thread.

    Returns
    -------
    DataFrame, Table or relation
        A table of the library of `left`: its columns, then those of `right` but for keys of the same name. In the order
        of the rows of `left`, then of `right`, or from the nearest on. pandas: with a new index, or with that of `left`
        where the result has no columns of `right`; columns of integers and of bool are nullable where rows have no
        partner. polars: a LazyFrame where `left` is one, though nothing of it is still to be done. DuckDB: a relation
        of the connection of `left`.

    Raises
    ------
    InvalidBoxError
        NaN that is a number (not in pandas, where it is no value), or a row that ends before it begins; names the row,
        counted from 0.
    ValueError
        No such column; columns of one name in the result; time zones that differ; a negative length; an integer that
        the common dtype of a corner cannot hold, names the row; Arrow data whose offsets, indices or lengths are
        damaged, names the column.
    TypeError
        No table, or tables of two libraries; columns that cannot be compared, such as lists and geometries; a number
        for a length of time, or the reverse.
    TooManyPairsError
        More than `max_pairs` rows.

    See Also
    --------
    pairs : Row numbers, of boxes in arrays.

    Notes
    -----
    As in SQL, null equals nothing: a row without a key overlaps nothing. Of several rows that are as near, the one that
    begins first is the nearest, and of those the first; along several axes, the first. Where rows that touch do not
    overlap, those that overlap are nearer.

    Numbers are read where they lie. Integers of both tables are compared as int32 or int64; with floating-point numbers
    among them, as float64, if they are not beyond 2**53. Datetimes are compared in the finer of their units. Along
    several axes, float64 has to hold the integers of an axis, or ranks are compared in their place; distances are
    float64, of numbers alone. Margins and shared lengths are added exactly; a part of a row is a quotient of float64.

    O(n log n) time at most, O(n) for most data, and the result's. Along one axis, "semi", "anti" and `count` take O(n),
    however many rows overlap, unless `min_overlap` is a part; with `period`, `count` and the rows of one table take the
    time of the pairs.

    Examples
    --------
    >>> import polars as pl
    >>> import broadphase as bp
    >>> genes = pl.DataFrame({"chrom": ["1", "1", "2"], "start": [10, 50, 10], "end": [40, 90, 20]})
    >>> genes = genes.with_columns(gene=pl.Series(["a", "b", "c"]))
    >>> reads = pl.DataFrame({"chrom": ["1", "1", "2"], "start": [0, 30, 20], "end": [10, 60, 30]})
    >>> on = {"lower": "start", "upper": "end", "by": "chrom", "closed": "left"}
    >>> bp.join(genes, reads, **on).select("gene", "start_right").rows()
    [('a', 30), ('b', 30)]
    >>> bp.join(genes, reads, **on, how="anti")["gene"].to_list()
    ['c']
    >>> bp.join(genes, reads, **on, min_overlap=10, count=True)["count"].to_list()
    [1, 1, 0]
    >>> bp.join(genes, reads, **on, how="nearest", k=2, distance=True).select("gene", "start_right", "distance").rows()
    [('a', 30, 0), ('a', 0, 0), ('b', 30, 0), ('b', 0, 40), ('c', 20, 0)]
    """
    if how not in HOW:
        raise ValueError(unknown_name("how", how, HOW))
    left_table = opened(left, "left")
    tables = (left_table, left_table if right is None else opened(right, "right"))
    require_one_library(tables)
    is_one = right is None
    require_ends(lower, upper, left_table)
    for option, value, known_ones in (
        ("closed", closed, CLOSED), ("missing", missing, MISSING), ("ties", ties, TIES), ("direction", direction, SIDES)
    ):  # fmt: skip
        if not isinstance(value, str) or value not in known_ones:
            raise ValueError(unknown_name(option, value, known_ones))
    counted, measured = added_column(count, "count"), added_column(distance, "distance")
    if counted is not None and how != "inner":
        raise ValueError(f"count has one row for each row of left anyway; leave how={how!r} out")
    if is_one and how in ("left", "nearest"):
        raise ValueError(f"how={how!r} needs right, which may be left itself")
    k, threads = as_whole(k, "k", 1), worker_count(workers)
    of_nearest = {
        "distance": measured is not None, "k": k != 1, "ties": ties != "first",
        "max_distance": not _is(max_distance, np.inf), "direction": direction != "both",
    }  # fmt: skip
    of_overlap = {"margin": not _is(margin, 0), "min_overlap": min_overlap is not None}
    given = [name for name, is_given in (of_overlap if how == "nearest" else of_nearest).items() if is_given]
    if given and how != "nearest":
        raise ValueError(f'{given[0]} is for how="nearest"')
    if given:
        raise ValueError(f'{given[0]} is not for how="nearest", which takes max_distance')
    if all(of_overlap.values()):
        raise ValueError("margin is for rows that are apart, and min_overlap for rows that overlap: give one of them")
    ends = _axes(lower, upper, tables)
    keys: Any = [] if by is None else column_names(by, "by", tables, _FOR_ALL_PAIRS)
    search = Search.of(tables, ends, keys, is_one, missing)
    search = _ruled(search, closed, margin, min_overlap)
    periods = [] if period is None else periods_along(period, search.axes)
    is_plain = all(one is None for one in periods)
    if not is_plain and (how == "nearest" or any(of_overlap.values())):
        what = 'how="nearest"' if how == "nearest" else next(name for name, is_given in of_overlap.items() if is_given)
        raise ValueError(f"{what} is not for period")
    overlapping = search if is_plain else PeriodicSearch.of(search, periods)
    is_left_only = counted is not None or how in ("semi", "anti")
    columns = _columns(tables, keys, keep, suffixes, counted or measured, is_left_only)
    if is_left_only:
        if counted is not None:
            counts = left_table.made(overlapping.counts(threads), None)
            counted_rows: AnyTable = left_table.table(
                _taken(left_table, columns[0], None) | {counted: counts}, slice(None)
            )
            return counted_rows
        rows = np.flatnonzero(overlapping.have_partners(threads) == (how == "semi")).astype(np.int32)
        some_rows: AnyTable = left_table.table(_taken(left_table, columns[0], rows), rows)
        return some_rows
    has_missing, more = how == "left", {}
    first: NDArray[np.int32] | None = None  # all rows
    try:
        if how == "nearest":
            wanted = Wanted(k, ties == "all", _one_length(max_distance, search), direction)
            first, second, gaps = search.nearest(wanted, threads, pair_limit(max_pairs))
            gone = second < 0
            has_missing = bool(gone.any())
            if measured is not None:
                distances = gaps if len(search.axes) > 1 else as_lengths(search.axes[0], gaps, "left", first)
                more[measured] = left_table.made(distances, gone if has_missing else None)
        else:
            found = overlapping.pairs(threads, pair_limit(max_pairs))
            first, second = found[:, 0], found[:, 1]
            if how == "left":
                first, second = _with_the_others(first, second, left_table.height)
    except (_native.TooManyPairs, TooManyPairsError):
        raise TooManyPairsError(f"there are more than max_pairs={max_pairs} pairs") from None
    made = _taken(left_table, columns[0], first, workers=threads)
    made |= _taken(tables[1], columns[1], second, has_missing, threads)
    joined: AnyTable = left_table.table(made | more)
    return joined


def _with_the_others(
    first: NDArray[np.int32], second: NDArray[np.int32], height: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return pairs, and once each row of the left table that is in none of them, with -1."""
    alone = np.flatnonzero(np.bincount(first, minlength=height) == 0).astype(np.int32)
    first = np.concatenate((first, alone))
    order = np.argsort(first, kind="stable")
    return first[order], np.concatenate((second, np.full(len(alone), -1, np.int32)))[order]


def _is(given: Any, number: float) -> bool:
    """Return whether an option is a number, its default."""
    return isinstance(given, int | float) and not isinstance(given, bool) and given == number


def _ruled(search: Search, closed: Closed, margin: Any, min_overlap: Any) -> Search:
    """Return a search in which rows overlap as the options say."""
    if closed == "both" and min_overlap is None and _is(margin, 0):
        return search
    rule, share = Rule.plain(len(search.axes), closed), None
    if not _is(margin, 0):
        rule = replace(rule, margins=lengths_of(margin, "margin", search.axes))
    if isinstance(min_overlap, tuple):
        share = _share(min_overlap)
    elif min_overlap is not None:
        rule = replace(rule, shared=lengths_of(min_overlap, "min_overlap", search.axes))
    return replace(search, rule=rule, share=share)


def _share(given: tuple[Any, ...]) -> Share:
    of = next((one for one in OF if len(given) == 2 and isinstance(given[0], str) and given[0] == one), None)
    if of is None:
        raise ValueError(
            f'min_overlap must be a length, a list of one for each axis, or a fraction, such as ("left", 0.5), of'
            f" {', '.join(OF[:-1])} or {OF[-1]}, not {quoted(given)}"
        )
    fraction = as_real(given[1], "the fraction of min_overlap")
    if not 0 < fraction <= 1:
        raise ValueError(f"the fraction of min_overlap must be above 0, and 1 at most, not {given[1]}")
    return Share(of, fraction)


def _one_length(given: Any, search: Search) -> Length:
    if isinstance(given, list | tuple):
        raise TypeError(f"max_distance must be one length, not {quoted(given)}")
    return length_of(given, "max_distance", search.axes[0])


def _axes(lower: Any, upper: Any, tables: Sequence[Table]) -> Ends:
    begins: Any
    ends: Any
    begins, ends = (
        column_names(x, option, tables, _FOR_ALL_PAIRS) for option, x in (("lower", lower), ("upper", upper))
    )
    if len(begins) != len(ends) or not 0 < len(begins) <= MAX_DIMENSION:
        raise ValueError(
            f"lower and upper must name as many columns, 1 to {MAX_DIMENSION}, not {len(begins)} and {len(ends)}"
        )
    return list(zip(begins, ends, strict=True))


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
    require_distinct(all_names, tables[0], "; see suffixes and keep")
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


def _taken(
    table: Table, columns: dict[str, str], rows: Any, has_missing: bool = False, workers: int = 1
) -> dict[str, Any]:
    return dict(zip(columns.values(), table.rows(list(columns), rows, has_missing, workers).values(), strict=True))
