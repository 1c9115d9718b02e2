"""`bp.join`: the rows of two tables that overlap, against plain loops, in every library of tables."""

import datetime as dt
import math

import numpy as np
import pytest

import broadphase as bp
from broadphase.errors import InvalidBoxError, TooManyPairsError

LIBRARIES = ["pandas", "polars", "pyarrow", "duckdb"]


def table_of(library, columns):
    """Return columns, lists with None for no value, as a table of a library."""
    module = pytest.importorskip(library)
    if library == "duckdb":
        pyarrow = pytest.importorskip("pyarrow")
        return module.connect().from_arrow(pyarrow.table(columns))
    return {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}[library], module, columns


def make(library, columns):
    made = table_of(library, columns)
    if not isinstance(made, tuple):
        return made
    name, module, given = made
    return getattr(module, name)(given)


def rows_of(table):
    """Return the rows of a table of any library as tuples, with None for no value."""
    if hasattr(table, "fetchall"):
        return table.fetchall()
    if hasattr(table, "collect"):
        table = table.collect()
    if hasattr(table, "rows"):
        return table.rows()
    if hasattr(table, "to_pylist"):
        return [tuple(row.values()) for row in table.to_pylist()]
    return [
        tuple(None if type(value).__name__ in ("NoneType", "NAType") or value != value else value for value in row)
        for row in table.itertuples(index=False)
    ]


CLOSED = ["both", "left", "right", "neither"]


def points_of(low, high, closed):
    """Return the half units that an interval of whole numbers has: one of them lies between any two numbers."""
    if low == high:
        return {2 * low}
    return set(range(2 * low + (closed not in ("both", "left")), 2 * high + (closed in ("both", "right"))))


def overlap(a, b, closed):
    """Say whether two rows (lower corners, upper corners) have a point in common."""
    return all(points_of(la, ua, closed) & points_of(lb, ub, closed) for la, ua, lb, ub in zip(*a, *b, strict=True))


def plain_join(left, right, closed="both", with_keys=True):
    """Return the rows (row of left, row of right) of two lists of (key, lower corners, upper corners)."""
    return [
        (i, j)
        for i, (key, *a) in enumerate(left)
        for j, (other, *b) in enumerate(right)
        if (not with_keys or (key is not None and key == other))
        and None not in (*a[0], *a[1], *b[0], *b[1])
        and overlap(a, b, closed)
    ]


def random_rows(rng, n, axes=1, keys=("chr1", "chr2", "chromosome with a long name", None)):
    lower = rng.integers(0, 40, (n, axes))
    upper = lower + rng.integers(0, 6, (n, axes))
    return [
        (keys[rng.integers(len(keys))], [int(x) for x in low], [int(x) for x in high])
        for low, high in zip(lower, upper, strict=True)
    ]


def columns_of(rows, axes=1):
    return {
        "chrom": [key for key, _, _ in rows],
        **{f"start{k}": [low[k] for _, low, _ in rows] for k in range(axes)},
        **{f"end{k}": [high[k] for _, _, high in rows] for k in range(axes)},
        "row": list(range(len(rows))),
    }


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("closed", CLOSED)
def test_join_equals_plain_loops_in_every_library(library, axes, closed):
    rng = np.random.default_rng(axes)
    for n, m in [(0, 0), (0, 3), (1, 0), (1, 1), (2, 3), (90, 60)]:
        left, right = random_rows(rng, n, axes), random_rows(rng, m, axes)
        if not n or not m:  # a column of no values has no type
            left, right = random_rows(rng, 5, axes), random_rows(rng, 5, axes)
        tables = [make(library, columns_of(x, axes)) for x in (left, right)]
        lower, upper = [f"start{k}" for k in range(axes)], [f"end{k}" for k in range(axes)]
        for by in (None, "chrom"):
            joined = bp.join(*tables, lower=lower, upper=upper, by=by, closed=closed, keep=["row"], suffixes=("", "_b"))
            assert rows_of(joined) == plain_join(left, right, closed, by is not None), (n, m, by)
            assert type(joined) is type(tables[0])


@pytest.mark.parametrize("library", LIBRARIES)
def test_left_join_keeps_rows_without_a_partner_once(library):
    rng = np.random.default_rng(5)
    left, right = random_rows(rng, 80), random_rows(rng, 20)
    joined = bp.join(
        make(library, columns_of(left)), make(library, columns_of(right)),
        lower="start0", upper="end0", by="chrom", how="left", keep=["row"],
    )  # fmt: skip
    found = plain_join(left, right)
    partners = {i: [j for first, j in found if first == i] for i in range(len(left))}
    assert rows_of(joined) == [(i, j) for i in range(len(left)) for j in partners[i] or [None]]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("axes", [1, 2])
def test_counts_equal_plain_loops_and_keep_all_rows_of_left(library, closed, axes):
    rng = np.random.default_rng(7)
    left, right = random_rows(rng, 70, axes), random_rows(rng, 90, axes)
    options = {
        "lower": [f"start{k}" for k in range(axes)],
        "upper": [f"end{k}" for k in range(axes)],
        "by": "chrom",
        "closed": closed,
    }
    tables = [make(library, columns_of(x, axes)) for x in (left, right)]
    found = plain_join(left, right, closed)
    counted = bp.join(*tables, **options, count="hits", keep=["row"])
    assert rows_of(counted) == [(i, sum(first == i for first, _ in found)) for i in range(len(left))]
    # Of one table, a row does not count itself.
    found = [(i, j) for i, j in plain_join(left, left, closed) if i != j]
    counted = bp.join(tables[0], **options, count=True, keep=["row"])
    assert rows_of(counted) == [(i, sum(first == i for first, _ in found)) for i in range(len(left))]


@pytest.mark.parametrize("library", LIBRARIES)
def test_pairs_of_one_table_come_once(library):
    rows = random_rows(np.random.default_rng(3), 120)
    joined = bp.join(make(library, columns_of(rows)), lower="start0", upper="end0", by="chrom", keep=["row"])
    assert rows_of(joined) == [(i, j) for i, j in plain_join(rows, rows) if i < j]


@pytest.mark.parametrize("library", LIBRARIES)
def test_nearest_is_the_least_gap_then_the_first_begin_then_the_first_row(library):
    rng = np.random.default_rng(11)
    left = random_rows(rng, 150, keys=("a", "b", "c", "only left", None))
    right = random_rows(rng, 40, keys=("a", "b", "c", "only right", None))
    expected = []
    for i, (key, (low,), (high,)) in enumerate(left):
        ranked = sorted(
            (max(0, begin - high, low - end), begin, j)
            for j, (other, (begin,), (end,)) in enumerate(right)
            if key is not None and other == key
        )
        expected.append((i, ranked[0][2], ranked[0][0]) if ranked else (i, None, None))
    nearest = bp.join(
        make(library, columns_of(left)), make(library, columns_of(right)),
        lower="start0", upper="end0", by="chrom", how="nearest", distance="gap", keep=["row"],
    )  # fmt: skip
    assert rows_of(nearest) == expected


@pytest.mark.parametrize("library", LIBRARIES)
def test_all_columns_of_both_rows_come_along(library):
    rows = random_rows(np.random.default_rng(13), 40)
    table = make(library, columns_of(rows) | {"name": [f"row {i}" if i % 3 else None for i in range(40)]})
    for how in ("inner", "left", "nearest"):
        joined = rows_of(bp.join(table, table, lower="start0", upper="end0", by="chrom", how=how))
        assert len(joined) >= 40
        for chrom, *own, name, start, end, row, name_right in joined:
            i = own[2]
            assert (chrom, *own) == (rows[i][0], rows[i][1][0], rows[i][2][0], i)
            assert name == (f"row {i}" if i % 3 else None)
            if row is None:
                assert chrom is None or how != "inner"
                continue
            assert (chrom, start, end) == (rows[int(row)][0], rows[int(row)][1][0], rows[int(row)][2][0])
            assert name_right == (f"row {int(row)}" if row % 3 else None)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "name", ["*", "^.*$", "a.b", ".a", "a[0]", "quo\"ted'", "", "count", "joined", "rowid", "\u00e9\n"]
)
def test_columns_may_have_any_name(library, name):
    if library == "duckdb" and not name:
        pytest.skip("DuckDB has no such name")
    table = make(library, {name: [0, 5, 9], "hi": [1, 6, 9], "k": ["a", "b", "c"]})
    joined = bp.join(table, table, lower=name, upper="hi", by="k", how="left")
    assert rows_of(joined) == [(0, 1, "a", 0, 1), (5, 6, "b", 5, 6), (9, 9, "c", 9, 9)]
    joined = bp.join(table, table, lower="hi", upper="hi", by=name, keep=([name], []))
    assert rows_of(joined) == [(0,), (5,), (9,)]
    names = joined.column_names if library == "pyarrow" else list(joined.columns)
    assert names == [name]


def test_columns_of_both_sides_are_named_and_chosen():
    pl = pytest.importorskip("polars")
    left = pl.DataFrame({"k": [1], "a": [0], "b": [5], "x": ["left"], "only": [1.5]})
    right = pl.DataFrame({"k": [1], "begin": [3], "end": [9], "x": ["right"]})
    options = {"lower": ("a", "begin"), "upper": ("b", "end"), "by": "k"}
    joined = bp.join(left, right, **options)
    assert joined.columns == ["k", "a", "b", "x", "only", "begin", "end", "x_right"]
    assert joined.row(0) == (1, 0, 5, "left", 1.5, 3, 9, "right")
    assert bp.join(left, right, **options, suffixes=("_1", "_2")).columns[3:] == ["x_1", "only", "begin", "end", "x_2"]
    assert bp.join(left, right, **options, keep=(["only"], ["k", "x"])).columns == ["only", "k", "x"]
    assert bp.join(left, right, **options, keep=([], None)).columns == ["k", "begin", "end", "x"]
    assert bp.join(left, right.rename({"k": "q"}), **options | {"by": ("k", "q")}).columns[5] == "q"
    with pytest.raises(ValueError, match=r"several columns of one name: x; see suffixes"):
        bp.join(left, right, **options, suffixes=("", ""))
    with pytest.raises(ValueError, match=r"unknown column 'onli' \(did you mean 'only'\?\)"):
        bp.join(left, right, **options, keep=["onli"])
    with pytest.raises(ValueError, match=r"lower, right: unknown column 'a'"):
        bp.join(left, right, lower="a", upper=("b", "end"))
    with pytest.raises(ValueError, match=r"several columns of one name: only"):
        bp.join(left, right, **options, count="only")


@pytest.mark.parametrize("library", LIBRARIES)
def test_int64_beyond_the_digits_of_float64_is_exact(library):
    base = 2**62
    left = {"a": [base, base + 3], "b": [base + 1, base + 3], "row": [0, 1]}
    right = {"a": [base + 2, base + 1], "b": [base + 2, base + 1], "row": [0, 1]}
    tables = [make(library, x) for x in (left, right)]
    assert rows_of(bp.join(*tables, lower="a", upper="b", keep=["row"])) == [(0, 1)]
    assert rows_of(bp.join(*tables, lower=["a", "a"], upper=["b", "b"], keep=["row"])) == [(0, 1)]
    nearest = bp.join(*tables, lower="a", upper="b", how="nearest", distance=True, keep=["row"])
    assert rows_of(nearest) == [(0, 1, 0), (1, 0, 1)]


def test_integers_that_a_common_dtype_cannot_hold_are_refused():
    pl = pytest.importorskip("polars")
    whole = pl.DataFrame({"a": [1, 2**53 + 1], "b": [2, 2**53 + 2]})
    floats = pl.DataFrame({"a": [1.5], "b": [3.0]})
    with pytest.raises(ValueError, match=r"left, column 'a': row 1 has the integer 9007199254740993"):
        bp.join(whole, floats, lower="a", upper="b")
    huge = pl.DataFrame({"a": [2**63 + 1], "b": [2**63 + 2]}, schema={"a": pl.UInt64, "b": pl.UInt64})
    with pytest.raises(ValueError, match=r"right, column 'a': row 0 has the integer 9223372036854775809"):
        bp.join(whole, huge, lower="a", upper="b")
    small = huge.with_columns(pl.all() - 2**63)
    assert bp.join(whole, small, lower="a", upper="b").rows() == [(1, 2, 1, 2)]


@pytest.mark.parametrize("dtype", ["Int8", "UInt8", "Int16", "UInt32", "Int32", "Float32", "Float64"])
def test_dtypes_of_corners_are_joined_as_they_are(dtype):
    pl = pytest.importorskip("polars")
    rows = random_rows(np.random.default_rng(1), 60)
    left = pl.DataFrame(columns_of(rows)).with_columns(pl.col("start0", "end0").cast(getattr(pl, dtype)))
    right = pl.DataFrame(columns_of(rows))
    joined = bp.join(left, right, lower="start0", upper="end0", by="chrom", keep=["row"])
    assert joined.rows() == plain_join(rows, rows)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_times_are_compared_in_their_own_units(library):
    def at(*minutes):
        return [
            None if m is None else dt.datetime(2026, 3, 1, tzinfo=dt.UTC) + dt.timedelta(minutes=m) for m in minutes
        ]

    left = make(library, {"a": at(0, 60, None), "b": at(30, 90, 5), "row": [0, 1, 2]})
    right = make(library, {"a": at(30, 200), "b": at(50, 210), "row": [0, 1]})
    joined = bp.join(left, right, lower="a", upper="b", keep=["row"])
    assert rows_of(joined) == [(0, 0)]
    assert rows_of(bp.join(left, right, lower="a", upper="b", closed="left", keep=["row"])) == []
    nearest = bp.join(left, right, lower="a", upper="b", how="nearest", distance="gap", keep=["row"])
    assert [row[:2] for row in rows_of(nearest)] == [(0, 0), (1, 0), (2, None)]
    gaps = [row[2] for row in rows_of(nearest)]
    assert gaps[1] == dt.timedelta(minutes=10)
    assert gaps[2] is None or str(gaps[2]) == "NaT"


def test_units_of_times_are_made_one_and_zones_must_agree():
    pl = pytest.importorskip("polars")
    first = pl.DataFrame({"a": [dt.datetime(2026, 1, 1)], "b": [dt.datetime(2026, 1, 2)]})
    second = first.with_columns(pl.all().dt.cast_time_unit("ns"))
    assert bp.join(first, second.with_columns(pl.all() + pl.duration(days=1)), lower="a", upper="b").height == 1
    assert bp.join(first, second, lower="a", upper="b", closed="neither", by="a").height == 1
    with pytest.raises(ValueError, match=r"left, column 'a' is datetime\[us\], and right.* is datetime\[us, UTC\]"):
        bp.join(first, first.with_columns(pl.all().dt.replace_time_zone("UTC")), lower="a", upper="b")
    with pytest.raises(TypeError, match=r"is datetime\[us\], and right, column 'a' is date\[D\]"):
        bp.join(first, first.with_columns(pl.all().cast(pl.Date)), lower="a", upper="b")
    far = first.with_columns(b=pl.datetime(4000, 1, 1))
    with pytest.raises(ValueError, match=r"row 0 is a time that ns in 64 bits cannot hold"):
        bp.join(second, far, lower="a", upper="b")
    days = first.with_columns(pl.all().cast(pl.Date))
    later = days.with_columns(pl.all().dt.offset_by("5d"))
    nearest = bp.join(days, later, lower="a", upper="b", how="nearest", distance=True)
    assert nearest["distance"].to_list() == [dt.timedelta(days=4)]
    spans = pl.DataFrame({"a": [dt.timedelta(1)], "b": [dt.timedelta(2)]})
    assert bp.join(spans, spans, lower="a", upper="b").height == 1


def test_keys_of_different_types_of_text_are_equal_by_name():
    pl, pd, pa = (pytest.importorskip(name) for name in ("polars", "pandas", "pyarrow"))
    names = ["b", "a", None, "c", "a"]
    n = len(names)
    expected = [(i, j) for i in range(n) for j in range(n) if names[i] is not None and names[i] == names[j]]
    forms = {
        "polars": [pl.String, pl.Categorical, pl.Enum(["c", "x", "a", "b"]), pl.Enum(["a", "b", "c"])],
        "pandas": ["str", "object", "category", "string", pd.CategoricalDtype(["c", "x", "a", "b"])],
        "pyarrow": [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())],
    }
    ends = {"a": [0] * n, "b": [1] * n, "row": list(range(n))}
    for library, dtypes in forms.items():
        tables = []
        for dtype in dtypes:
            if library == "polars":
                tables.append(pl.DataFrame({**ends, "k": pl.Series(names, dtype=dtype, strict=False)}))
            elif library == "pandas":
                tables.append(pd.DataFrame({**ends, "k": pd.Series(names, dtype="object").astype(dtype)}))
            else:
                tables.append(pa.table({**ends, "k": pa.array(names, pa.string()).cast(dtype)}))
        for first in tables:
            for second in tables:
                joined = bp.join(first, second, lower="a", upper="b", by="k", keep=["row"])
                assert rows_of(joined) == expected, (library, first, second)


@pytest.mark.parametrize("library", LIBRARIES)
def test_names_of_all_lengths_are_told_apart(library):
    rng = np.random.default_rng(17)
    names = ["".join(rng.choice(["a", "b", "\u00e9"], size)) for size in rng.integers(0, 14, 400)]
    names += ["chr1", "chr10", "chr11", "chr1", "a" * 8, "a" * 9, "a" * 12, "a" * 13, "", "ab", "ba"]
    rows = [(name, [0], [0]) for name in names]
    table = make(library, columns_of(rows))
    joined = bp.join(table, table, lower="start0", upper="end0", by="chrom", keep=["row"])
    assert rows_of(joined) == [(i, j) for i, a in enumerate(names) for j, b in enumerate(names) if a == b]


def test_numeric_and_several_keys():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    for dtype in ("int64", "int8", "uint64", "float64", "bool"):
        keys = [rng.integers(0, 3, 50).astype(dtype) for _ in range(2)]
        if dtype == "int64":
            keys = [x * 10**15 - 7 for x in keys]
        if dtype == "float64":
            keys[0][:5] = math.nan
            keys[1][:5] = math.nan
        other = [rng.integers(0, 2, 50) for _ in range(2)]
        tables = [
            pd.DataFrame({"k": k, "s": np.array(["+", "-"])[s], "a": 0, "b": 1, "row": range(50)})
            for k, s in zip(keys, other, strict=True)
        ]
        joined = bp.join(*tables, lower="a", upper="b", by=["k", "s"], keep=["row"])
        equal = (keys[0][:, None] == keys[1]) & (other[0][:, None] == other[1])
        assert np.array_equal(joined.to_numpy(), np.argwhere(equal)), dtype
    with pytest.raises(TypeError, match=r"left, column 'k' is bool, and right, column 's' is (str|object): convert"):
        bp.join(*tables, lower="a", upper="b", by=("k", "s"))
    lists = pd.DataFrame({"k": [[1], [2]], "a": 0, "b": 1})
    with pytest.raises(TypeError, match=r"left, column 'k' has the type object, and keys are text, categories of"):
        bp.join(lists, lower="a", upper="b", by="k")


@pytest.mark.parametrize("library", LIBRARIES)
def test_rows_without_a_corner_or_a_key_overlap_nothing(library):
    left = make(library, {"a": [0, None, 0, 0], "b": [9, 9, None, 9], "k": ["x", "x", "x", None], "row": [0, 1, 2, 3]})
    right = make(library, {"a": [1, 1], "b": [2, 2], "k": ["x", None], "row": [0, 1]})
    options = {"lower": "a", "upper": "b", "by": "k", "keep": ["row"]}
    assert rows_of(bp.join(left, right, **options)) == [(0, 0)]
    assert rows_of(bp.join(left, right, **options, how="left")) == [(0, 0), (1, None), (2, None), (3, None)]
    assert rows_of(bp.join(left, right, **options, how="nearest")) == [(0, 0), (1, None), (2, None), (3, None)]
    assert rows_of(bp.join(left, right, **options, count=True)) == [(0, 1), (1, 0), (2, 0), (3, 0)]
    both = {**options, "lower": ["a", "a"], "upper": ["b", "b"]}
    assert rows_of(bp.join(left, right, **both)) == [(0, 0)]


def test_rows_that_are_no_intervals_are_named():
    pl = pytest.importorskip("polars")
    good = pl.DataFrame({"a": [0.0, 1.0], "b": [1.0, 2.0]})
    for how in ("inner", "left", "nearest"):
        with pytest.raises(InvalidBoxError, match=r"right: row 1: 'a' > 'b' \(1.0 > 0.5\)") as caught:
            bp.join(good, good.with_columns(b=pl.Series([1.0, 0.5])), lower="a", upper="b", how=how)
        assert caught.value.row == 1
    with pytest.raises(InvalidBoxError, match=r"left: row 0: 'b' is NaN"):
        bp.join(good.with_columns(b=pl.Series([math.nan, 2.0])), good, lower="a", upper="b")
    with pytest.raises(InvalidBoxError, match=r"left: row 1: 'a' > 'b'"):
        bp.join(good.with_columns(b=pl.Series([1.0, 0.5])), lower=["b", "a"], upper=["b", "b"])
    whole = pl.DataFrame({"a": [3, None], "b": [None, 1]})
    assert bp.join(whole, lower="a", upper="b").height == 0


def test_pandas_has_a_new_index_or_that_of_left():
    pd = pytest.importorskip("pandas")
    left = pd.DataFrame({"a": [0, 5], "b": [1, 6], "x": [1, 2]}, index=["first", "second"])
    right = pd.DataFrame({"a": [5], "b": [5], "y": pd.array([7], "Int64")}, index=[40])
    joined = bp.join(left, right, lower="a", upper="b", keep=["x", "y"])
    assert list(joined.index) == [0]
    assert joined["y"].dtype == "Int64"
    kept = bp.join(left, right, lower="a", upper="b", how="left", keep=["x", "y"])
    assert kept["y"].isna().tolist() == [True, False]
    assert list(bp.join(left, right, lower="a", upper="b", count=True).index) == ["first", "second"]
    with pytest.raises(ValueError, match="several levels"):
        bp.join(pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 0), ("a", 1)])), lower="a", upper="b")
    with pytest.raises(ValueError, match="left has several columns of one name: a"):
        bp.join(pd.DataFrame([[1, 2]], columns=["a", "a"]), lower="a", upper="a")


def test_columns_of_pandas_keep_their_values_and_dtypes_on_any_number_of_threads():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(11)
    count = 40_000
    begins = rng.uniform(0, count, (2, count))
    whole = rng.integers(-100, 100, count)
    kinds = ["i1", "u2", "i4", "u8", "f2", "f4", "f8", "?", "M8[ns]", "m8[s]", "c8", "c16"]
    columns = {kind: whole.astype(kind) for kind in kinds} | {"objects": whole.astype(str).astype(object)}
    left = pd.DataFrame({"begin": begins[0], "end": begins[0] + 1, **columns}, copy=False)
    left["of every second"] = np.repeat(whole, 2)[::2]
    right = pd.DataFrame({"begin": begins[1], "end": begins[1] + 1, "number": whole.astype(">i4")}, copy=False)
    boxes = [np.stack((begin, begin + 1), axis=1)[:, :, np.newaxis] for begin in begins]
    first, second = bp.pairs(*boxes, sort=True).T
    for workers in (1, 2, 5):
        joined = bp.join(left, right, lower="begin", upper="end", workers=workers)
        for name in left:
            assert joined[name].dtype == left[name].dtype
            assert np.array_equal(joined[name].to_numpy(), left[name].to_numpy()[first])
        assert np.array_equal(joined["number"], right["number"].to_numpy()[second])


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize(
    "options",
    [
        *({"how": "semi", **rule} for rule in ({}, {"closed": "left"}, {"period": 300})),
        *({"count": True, **rule} for rule in ({}, {"min_overlap": ("left", 0.5)}, {"period": 300})),
        {"how": "anti", "min_overlap": 1},
        {"how": "nearest"},
        {"how": "nearest", "k": 2, "closed": "left"},
    ],
    ids=str,
)
def test_workers_are_checked_and_change_no_answer(options, axes):
    pl = pytest.importorskip("polars")
    rng, count = np.random.default_rng(axes), 600
    tables = []
    for _ in range(2):
        lower = rng.integers(0, 300, (2, count))
        upper = lower + rng.integers(0, 3, (2, count))
        tables.append(pl.DataFrame({"a": lower[0], "b": upper[0], "c": lower[1], "d": upper[1]}))
    on = {"lower": ["a", "c"][:axes], "upper": ["b", "d"][:axes], **options}
    expected = bp.join(*tables, **on)
    for workers in (2, 5):
        assert bp.join(*tables, **on, workers=workers).equals(expected)
    with pytest.raises(ValueError, match="workers"):
        bp.join(*tables, **on, workers=0)


def test_nearest_boxes_are_searched_on_as_many_threads_as_wanted(monkeypatch):
    pl = pytest.importorskip("polars")
    wanted = []

    def tree(*boxes, **options):
        wanted.append(options["workers"])
        return bp.BVH(*boxes, **options)

    monkeypatch.setattr("broadphase.joins.nearest_boxes.BVH", tree)
    table = pl.DataFrame({"a": [0.0, 5.0], "b": [1.0, 6.0]})
    bp.join(table, table, lower=["a", "a"], upper=["b", "b"], how="nearest", workers=3)
    assert wanted == [3]


def test_lazy_frames_and_relations_stay_what_they_are():
    pl, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    frame = pl.DataFrame({"a": [0, 1], "b": [1, 2]})
    joined = bp.join(frame.lazy(), lower="a", upper="b")
    assert isinstance(joined, pl.LazyFrame)
    assert joined.collect().rows() == [(0, 1, 1, 2)]
    with duckdb.connect() as connection:
        relation = connection.sql("SELECT range AS a, range + 1 AS b FROM range(3)")
        hits = bp.join(relation, lower="a", upper="b")
        assert hits.aggregate("count(*), sum(a_right)").fetchall() == [(2, 3)]


def test_options_that_do_not_go_together_are_refused():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame = pl.DataFrame({"a": [0, 1], "b": [1, 2], "t": ["x", "y"]})
    ends = {"lower": "a", "upper": "b"}
    with pytest.raises(TypeError, match="left is of polars, and right of pyarrow"):
        bp.join(frame, pa.table({"a": [1], "b": [2]}), **ends)
    with pytest.raises(TypeError, match=r"left must be a table of pandas, polars, PyArrow or DuckDB, not list"):
        bp.join([1, 2], **ends)
    with pytest.raises(ValueError, match=r"unknown how 'outer'"):
        bp.join(frame, frame, **ends, how="outer")
    with pytest.raises(ValueError, match="how='left' needs right"):
        bp.join(frame, **ends, how="left")
    with pytest.raises(ValueError, match="distance is for"):
        bp.join(frame, frame, **ends, distance=True)
    with pytest.raises(ValueError, match="leave how='left' out"):
        bp.join(frame, frame, **ends, how="left", count=True)
    with pytest.raises(ValueError, match="as many columns, 1 to 4, not 2 and 1"):
        bp.join(frame, lower=["a", "a"], upper="b")
    with pytest.raises(ValueError, match="a tuple has the names of a column in two tables, not 3 names"):
        bp.join(frame, lower=("a", "a", "a"), upper="b")
    with pytest.raises(TypeError, match=r"left, column 't' has the type String, and corners are integers, floats"):
        bp.join(frame, lower="t", upper="t")
    with pytest.raises(TooManyPairsError, match="more than max_pairs=0"):
        bp.join(frame, **ends, max_pairs=0)
    assert bp.join(frame, **ends, max_pairs=1).height == 1
    with pytest.raises(ValueError, match="suffixes"):
        bp.join(frame, **ends, suffixes="_x")
    with pytest.raises(TypeError, match="keep must be a list"):
        bp.join(frame, **ends, keep="a")
