"""`broadphase.intervals` of arrays and tables, against plain loops of Python."""

import datetime as dt
import math

import numpy as np
import pytest

import broadphase as bp
from broadphase.errors import InvalidBoxError

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

LAYOUTS = ("spread", "crowded", "one place", "one holds all", "points", "two far ends")
DTYPES = (np.int32, np.int64, np.float32, np.float64, np.uint8, np.int16)
LIBRARIES = ("pandas", "pandas, by pyarrow", "polars", "polars, lazy", "pyarrow", "duckdb")


def random_intervals(rng, layout, count, dtype=np.int64):
    most = 200 if np.dtype(dtype).itemsize == 1 else 5 * count + 5
    lower = rng.integers(0, most // (8 if layout == "crowded" else 1), count)
    size = rng.integers(0, 1 if layout == "points" else 6, count)
    if layout == "one place":
        lower[:] = most // 2
    if count and layout == "one holds all":
        lower[count // 2], size[count // 2] = 0, most
    if count > 1 and layout == "two far ends":
        lower[0], lower[-1] = 0, most
    return np.stack((lower, lower + size), axis=1).astype(dtype)


def united(intervals, gap):
    """Return the clusters as [lower, upper, rows]."""
    clusters = []
    for row in sorted(range(len(intervals)), key=lambda row: (intervals[row][0], row)):
        lower, upper = intervals[row]
        if clusters and (lower < clusters[-1][1] if gap is None else lower - clusters[-1][1] <= gap):
            clusters[-1][1] = max(clusters[-1][1], upper)
            clusters[-1][2].append(row)
        else:
            clusters.append([lower, upper, [row]])
    return clusters


def left_of(interval, others, points=()):
    """Return the pieces of an interval of whole numbers, place by place."""
    lower, upper = interval
    is_covered = [any(a <= place < b for a, b in others) for place in range(lower, upper + 1)]
    if lower == upper:
        return [] if is_covered[0] else [[lower, upper]]
    pieces = []
    for place in range(lower, upper):
        if is_covered[place - lower]:
            continue
        if not pieces or pieces[-1][1] != place or place in points:
            pieces.append([place, place])
        pieces[-1][1] = place + 1
    return pieces


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_agree_with_plain_loops(layout, dtype):
    rng = np.random.default_rng([LAYOUTS.index(layout), DTYPES.index(dtype)])
    for count in (0, 1, 2, 3, 10, 40, 40, 40, 40):
        intervals, others = (random_intervals(rng, layout, n, dtype) for n in (count, rng.integers(0, count + 2)))
        rows, other_rows = intervals.tolist(), others.tolist()
        workers = int(rng.integers(1, 4))
        for gap in (None, 0, 2, 2.5):
            expected = united(rows, gap)
            merged = bp.intervals.merge(intervals, gap=gap, workers=workers)
            assert merged.dtype == dtype
            assert merged.tolist() == [one[:2] for one in expected]
            numbers = bp.intervals.cluster(intervals, gap=gap, workers=workers)
            assert numbers.tolist() == [
                next(k for k, one in enumerate(expected) if row in one[2]) for row in range(count)
            ]
        gaps = [[a[1], b[0]] for a, b in zip(united(rows, 0), united(rows, 0)[1:], strict=False)]
        assert bp.intervals.complement(intervals, workers=workers).tolist() == gaps

        whole = [[int(a), int(b)] for a, b in rows]
        other_whole = [[int(a), int(b)] for a, b in other_rows]
        covered = bp.intervals.coverage(intervals, others, workers=workers)
        assert covered.dtype == (np.float64 if np.dtype(dtype).kind == "f" else np.int64)
        assert covered.tolist() == [
            sum(any(a <= place < b for a, b in other_whole) for place in range(*one)) for one in whole
        ]
        pieces = bp.intervals.subtract(intervals, others, workers=workers)
        expected = [left_of(one, other_whole) for one in whole]
        assert pieces.intervals.dtype == dtype
        assert pieces.intervals.tolist() == [piece for of_row in expected for piece in of_row]
        assert pieces.rows.tolist() == [row for row, of_row in enumerate(expected) for _ in of_row]
        points = others[:, 0]
        pieces = bp.intervals.split(intervals, points, workers=workers)
        expected = [left_of(one, [], points.tolist()) for one in whole]
        assert pieces.intervals.tolist() == [piece for of_row in expected for piece in of_row]
        assert pieces.rows.tolist() == [row for row, of_row in enumerate(expected) for _ in of_row]
        within = random_intervals(rng, layout, 2, dtype)
        expected = [piece for one in within.tolist() for piece in left_of([int(x) for x in one], whole)]
        assert bp.intervals.complement(intervals, within).tolist() == expected


@pytest.mark.parametrize("layout", LAYOUTS)
def test_many_intervals_are_the_same_for_any_number_of_workers(layout):
    rng = np.random.default_rng(LAYOUTS.index(layout))
    intervals, others = random_intervals(rng, layout, 100_000), random_intervals(rng, layout, 70_000)
    expected = united(intervals.tolist(), 1)
    numbers = np.empty(len(intervals), np.int64)
    for number, (_, _, rows) in enumerate(expected):
        numbers[rows] = number
    alone = None
    for workers in (1, 2, 5):
        assert bp.intervals.merge(intervals, gap=1, workers=workers).tolist() == [one[:2] for one in expected]
        assert np.array_equal(bp.intervals.cluster(intervals, gap=1, workers=workers), numbers)
        found = (
            bp.intervals.coverage(intervals, others, workers=workers),
            *bp.intervals.subtract(intervals, others, workers=workers),
            *bp.intervals.split(intervals, others[:, 0], workers=workers),
        )
        alone = alone or found
        assert all(np.array_equal(one, two) for one, two in zip(alone, found, strict=True))
    # What is covered, and what is left, is all there is.
    lengths = intervals[:, 1] - intervals[:, 0]
    left = np.bincount(alone[2], np.diff(alone[1], axis=1)[:, 0], len(intervals))
    assert np.array_equal(alone[0] + left, lengths)


def test_lengths_of_far_numbers_are_exact():
    small = 2.0**-40
    others = [[-math.inf, -1e300], [-1e15, 0.0], *([k + 0.5, k + 0.5 + small] for k in range(1000)), [5e3, math.inf]]
    found = bp.intervals.coverage([[-math.inf, math.inf], [0.0, 4e3], [0.0, 6e3], [4e3, 4.5e3]], others)
    assert found.tolist() == [math.inf, 1000 * small, 1000 * small + 1000, 0.0]
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    ends = np.array([[least, least], [most, most]])
    assert len(bp.intervals.merge(ends, gap=2**64 - 2)) == 2
    assert len(bp.intervals.merge(ends, gap=2**64 - 1)) == 1
    assert len(bp.intervals.merge(ends, gap=math.inf)) == 1
    assert bp.intervals.complement(ends).tolist() == [[least, most]]


def test_times_of_arrays():
    days = np.array([["2026-01-01", "2026-01-03"], ["2026-01-05", "2026-01-06"]], "M8[D]")
    assert bp.intervals.merge(days, gap=dt.timedelta(days=1)).tolist() == days.tolist()
    assert bp.intervals.merge(days, gap=np.timedelta64(48, "h")).tolist() == [[days[0, 0].item(), days[1, 1].item()]]
    noon = np.array([["2026-01-02T12:00", "2026-01-02T13:00"]], "M8[m]")
    assert bp.intervals.coverage(days, noon).tolist() == [dt.timedelta(hours=1), dt.timedelta(0)]
    pieces = bp.intervals.subtract(days, noon)
    assert pieces.intervals.dtype == "M8[s]"
    assert pieces.intervals[0].astype(str).tolist() == ["2026-01-01T00:00:00", "2026-01-02T12:00:00"]
    spans = np.array([[1, 5], [4, 9]], "m8[s]")
    assert bp.intervals.merge(spans).tolist() == [[dt.timedelta(seconds=1), dt.timedelta(seconds=9)]]


def table_of(library, columns):
    arrow = pa.table(columns)
    if library == "pandas":
        return arrow.to_pandas()
    if library == "pandas, by pyarrow":
        return arrow.to_pandas(types_mapper=pd.ArrowDtype)
    if library.startswith("polars"):
        frame = pl.from_arrow(arrow)
        return frame.lazy() if library.endswith("lazy") else frame
    if library == "duckdb":
        return pytest.importorskip("duckdb").from_arrow(arrow)
    return arrow


def rows_of(table):
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    if isinstance(table, pd.DataFrame):
        return [
            {name: None if pd.isna(x) else x.item() if hasattr(x, "item") else x for name, x in row.items()}
            for row in table.to_dict("records")
        ]
    if isinstance(table, pl.DataFrame):
        return table.to_dicts()
    return (table if isinstance(table, pa.Table) else table.to_arrow_table()).to_pylist()


@pytest.mark.parametrize("library", LIBRARIES)
def test_tables_have_a_set_for_each_key(library):
    calls = {
        "line": ["b", "a", "b", None, "a", "b"],
        "floor": [1, 1, 1, 1, 1, 2],
        "start": [5, 0, 7, 0, 4, None],
        "end": [8, 5, 9, 3, 6, 9],
        "note": list("uvwxyz"),
    }
    calls = {name: pa.array(values) for name, values in calls.items()}
    breaks = {"line": ["a", "b", "b"], "storey": [1, 1, 1], "from": [1, 6, 8], "to": [2, 7, 9]}
    left, right = table_of(library, calls), table_of(library, {name: pa.array(x) for name, x in breaks.items()})
    ends = {"lower": "start", "upper": "end"}
    by = ["line", "floor"]
    merged = bp.intervals.merge(left, **ends, by=by, count="rows")
    assert type(merged) is type(left)
    assert rows_of(merged) == [
        {"line": "b", "floor": 1, "start": 5, "end": 9, "rows": 2},
        {"line": "a", "floor": 1, "start": 0, "end": 6, "rows": 2},
    ]
    numbered = rows_of(bp.intervals.cluster(left, **ends, by=by))
    assert [row["cluster"] for row in numbered] == [0, 1, 0, None, 1, None]
    assert [row["note"] for row in numbered] == list("uvwxyz")
    both = {"lower": ("start", "from"), "upper": ("end", "to"), "by": ["line", ("floor", "storey")]}
    covered = rows_of(bp.intervals.coverage(left, right, **both, name="pause"))
    assert [row["pause"] for row in covered] == [1, 1, 1, None, 0, None]
    cut = rows_of(bp.intervals.subtract(left, right, **both))
    assert [list(row) for row in cut] == [list(calls)] * len(cut)
    assert [(row["note"], row["start"], row["end"]) for row in cut] == [
        ("u", 5, 6), ("u", 7, 8), ("v", 0, 1), ("v", 2, 5), ("w", 7, 8), ("x", 0, 3), ("y", 4, 6), ("z", None, 9)
    ]  # fmt: skip
    at = rows_of(bp.intervals.split(left, right, **ends, at="from", by=both["by"]))
    assert [(row["note"], row["start"], row["end"]) for row in at] == [
        ("u", 5, 6), ("u", 6, 8), ("v", 0, 1), ("v", 1, 5), ("w", 7, 8), ("w", 8, 9), ("x", 0, 3), ("y", 4, 6),
        ("z", None, 9)
    ]  # fmt: skip
    gaps = rows_of(bp.intervals.complement(right, lower="from", upper="to", by="line"))
    assert gaps == [{"line": "b", "from": 7, "to": 8}]
    hours = {"line": ["a", "b", "c"], "floor": [1, 1, 1], "start": [0, 0, 0], "end": [10, 10, 10]}
    within = table_of(library, {name: pa.array(x) for name, x in hours.items()})
    free = rows_of(bp.intervals.complement(left, within, **ends, by=by))
    assert [tuple(row.values()) for row in free] == [
        ("a", 1, 6, 10), ("b", 1, 0, 5), ("b", 1, 9, 10), ("c", 1, 0, 10)
    ]  # fmt: skip


TYPES = {
    "int16": pa.int16(), "uint32": pa.uint32(), "float": pa.float32(), "double": pa.float64(), "date": pa.date32(),
    "milliseconds": pa.timestamp("ms"), "zone": pa.timestamp("us", "Europe/Paris"), "span": pa.duration("us"),
    "time": pa.time64("us"),
}  # fmt: skip


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kind", TYPES)
def test_ends_keep_their_type(library, kind):
    if (library, kind) in (("pandas", "date"), ("pandas", "time"), ("duckdb", "span")):
        pytest.skip("not a column of numbers there")

    def column(values):
        if kind in ("int16", "uint32", "float", "double"):
            return pa.array(values, TYPES[kind])
        return pa.array(values, pa.int32() if kind == "date" else pa.int64()).view(TYPES[kind])

    left = table_of(library, {"start": column([0, 20]), "end": column([10, 30])})
    right = table_of(library, {"start": column([2, 4]), "end": column([6, 22])})
    ends = {"lower": "start", "upper": "end"}
    found = bp.intervals.subtract(left, right, **ends)
    expected = table_of(library, {"start": column([0, 22]), "end": column([2, 30])})
    merged = bp.intervals.merge(right, **ends)
    for one, two in ((found, expected), (merged, table_of(library, {"start": column([2]), "end": column([22])}))):
        assert rows_of(one) == rows_of(two)
        if isinstance(one, pd.DataFrame):
            pd.testing.assert_frame_equal(one, two)
        elif isinstance(one, pl.LazyFrame):
            assert one.collect_schema() == two.collect_schema()
        elif isinstance(one, pl.DataFrame | pa.Table):
            assert one.schema == two.schema
        else:
            assert one.types == two.types


def test_finer_units_and_fractions_of_the_others_are_kept():
    days = pl.DataFrame({"start": [dt.datetime(2026, 1, 1)], "end": [dt.datetime(2026, 1, 2)]}).cast(pl.Datetime("ms"))
    midnight = 1767225600000000000
    fine = pl.DataFrame({"start": [midnight + 1], "end": [midnight + 2]}).cast(pl.Datetime("ns"))
    found = bp.intervals.subtract(days, fine, lower="start", upper="end")
    assert found.schema == fine.schema
    assert found["start"].dt.timestamp("ns").to_list() == [midnight, midnight + 2]
    whole, real = (pl.DataFrame({"start": [a], "end": [b]}) for a, b in ((0, 3), (0.5, 1.5)))
    assert bp.intervals.subtract(whole, real, lower="start", upper="end").rows() == [(0.0, 0.5), (1.5, 3.0)]


def test_rows_without_a_key_keep_any_numbers():
    for far in (2**40, -(2**62), math.nan, math.inf):
        left = pl.DataFrame({"start": [0, far], "end": [9, far], "key": ["a", None]}, strict=False)
        right = pl.DataFrame({"start": [2], "end": [3], "key": ["a"]}).cast({"start": left.schema["start"]})
        found = bp.intervals.subtract(left, right, lower="start", upper="end", by="key")
        assert found.rows()[:2] == [(0, 2, "a"), (3, 9, "a")]
        assert str(found.rows()[2]) == str((left["start"][1], left["end"][1], None))


def test_bad_input_is_named():
    table = pl.DataFrame({"start": [0, 5], "end": [3, 4], "key": ["a", None]})
    ends = {"lower": "start", "upper": "end"}
    for call, error, message in (
        (lambda: bp.intervals.merge([[1, 0]]), InvalidBoxError, "intervals: row 0: 'lower' > 'upper'"),
        (lambda: bp.intervals.merge([[0, 1], [math.nan, 0]]), InvalidBoxError, "intervals: row 1: 'lower' is NaN"),
        (lambda: bp.intervals.coverage([[0, 1]], [[3, 2]]), InvalidBoxError, "others: row 0"),
        (lambda: bp.intervals.merge([0, 1, 2]), ValueError, r"intervals must have the shape \(n, 2\)"),
        (lambda: bp.intervals.merge([["a", "b"]]), TypeError, "intervals must be an array of numbers"),
        (lambda: bp.intervals.merge([[0, 1]], gap=-1), ValueError, "gap must be at least 0"),
        (lambda: bp.intervals.merge([[0, 1]], gap=dt.timedelta(1)), TypeError, "gap: .*give a number"),
        (lambda: bp.intervals.merge([[0, 1]], count=True), TypeError, "count is for tables"),
        (lambda: bp.intervals.merge([[0, 1]], by="key"), TypeError, "by names a column of a table"),
        (lambda: bp.intervals.merge(np.array([[0, "NaT"]], "M8[D]")), InvalidBoxError, "row 0: 'upper' is NaT"),
        (lambda: bp.intervals.merge(table, **ends), InvalidBoxError, "intervals: row 1: 'start' > 'end'"),
        (lambda: bp.intervals.merge(table, lower="start", upper="ende"), ValueError, "'ende'"),
        (lambda: bp.intervals.merge(table), TypeError, "give lower and upper"),
        (lambda: bp.intervals.merge(table, lower="start", upper="start"), ValueError, "must be two columns"),
        (lambda: bp.intervals.merge(table[:1], **ends, count="end"), ValueError, "'?end'?"),
        (lambda: bp.intervals.cluster(table[:1], **ends, name="key"), ValueError, "key"),
        (lambda: bp.intervals.coverage(table, [[0, 1]], **ends), TypeError, "must both be tables"),
        (lambda: bp.intervals.split([[0, 1]], [[0, 1]]), ValueError, "points must have the shape"),
        (lambda: bp.intervals.split(table, table, **ends), TypeError, "give at"),
        (lambda: bp.intervals.merge([[0, 1]], workers=0), ValueError, "workers"),
    ):
        with pytest.raises(error, match=message):
            call()
    # A row without a key is in no set: whatever its ends are, they are not looked at.
    assert bp.intervals.merge(table, **ends, by="key").rows() == [("a", 0, 3)]
