"""What overlaps in `bp.join`: ends, margins and least overlaps; and the rows with a partner, or without."""

import datetime as dt
import math
from fractions import Fraction

import numpy as np
import pytest

import broadphase as bp
from broadphase.errors import InvalidBoxError
from test_join import CLOSED, LIBRARIES, columns_of, make, plain_join, random_rows, rows_of

ENDS = {"lower": "a", "upper": "b"}
START = dt.datetime(2026, 3, 1)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("axes", [1, 2])
def test_an_event_belongs_to_the_sessions_whose_ends_are_closed(library, axes):
    sessions = make(library, {"a": [0, 10], "b": [10, 20], "s": ["first", "second"]})
    events = make(library, {"t": [0, 5, 10, 20]})
    expected = {
        "both": [(0, "first"), (5, "first"), (10, "first"), (10, "second"), (20, "second")],
        "left": [(0, "first"), (5, "first"), (10, "second")],
        "right": [(5, "first"), (10, "first"), (20, "second")],
        "neither": [(5, "first")],
    }
    for closed, rows in expected.items():
        joined = bp.join(
            events, sessions, lower=[("t", "a")] * axes, upper=[("t", "b")] * axes, closed=closed, keep=["t", "s"]
        )
        assert rows_of(joined) == rows, closed


def test_points_of_several_axes_are_in_one_tile_each():
    pl = pytest.importorskip("polars")
    tiles = pl.DataFrame(
        {"x": [x for x in range(4) for _ in range(3)], "y": [y for _ in range(4) for y in range(3)]}
    ).with_columns(x1=pl.col("x") + 1, y1=pl.col("y") + 1)
    points = pl.DataFrame({"px": [0.0, 1, 1, 2, 3, 4, 0.5], "py": [0.0, 1, 0.5, 0, 2, 0, 3]})
    options = {"lower": [("px", "x"), ("py", "y")], "upper": [("px", "x1"), ("py", "y1")]}
    assert bp.join(points, tiles, **options, closed="left", count=True)["count"].to_list() == [1, 1, 1, 1, 1, 0, 0]
    assert bp.join(points, tiles, **options, closed="both", count=True)["count"].to_list() == [1, 4, 2, 2, 4, 1, 1]
    assert bp.join(points, tiles, **options, closed="neither", count=True)["count"].sum() == 0


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("closed", CLOSED)
def test_ends_next_to_each_other_are_told_apart(dtype, closed):
    pd = pytest.importorskip("pandas")
    if np.dtype(dtype).kind == "f":
        step = np.array([-math.inf, -1, -0.0, 0.0, 1, 1e30, math.inf], dtype)
        places = np.unique(np.concatenate([step, np.nextafter(step, dtype(0)), np.nextafter(step, dtype(math.inf))]))
    else:
        info = np.iinfo(dtype)
        places = np.array([info.min, info.min + 1, -1, 0, 1, info.max - 1, info.max], dtype)
    low, high = (x.ravel() for x in np.meshgrid(np.arange(len(places)), np.arange(len(places))))
    low, high = low[low <= high], high[low <= high]
    table = pd.DataFrame({"a": places[low], "b": places[high], "row": range(len(low))})
    ranked = [("key", [int(x)], [int(y)]) for x, y in zip(low, high, strict=True)]
    joined = bp.join(table, table, **ENDS, closed=closed, keep=["row"])
    assert rows_of(joined) == plain_join(ranked, ranked, closed)


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("how", ["semi", "anti"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_semi_and_anti_are_the_rows_with_a_partner_and_those_without(library, how, closed):
    rng = np.random.default_rng(4)
    for axes in (1, 2):
        left, right = random_rows(rng, 60, axes), random_rows(rng, 25, axes)
        tables = [make(library, columns_of(x, axes)) for x in (left, right)]
        options = {
            "lower": [f"start{k}" for k in range(axes)], "upper": [f"end{k}" for k in range(axes)],
            "by": "chrom", "closed": closed, "how": how,
        }  # fmt: skip
        own, others = columns_of(left, axes), [name for name in columns_of(left, axes) if name != "chrom"]
        with_partner = {i for i, _ in plain_join(left, right, closed)}
        kept = [i for i in range(len(left)) if (i in with_partner) == (how == "semi")]
        assert kept
        expected = [tuple(own[name][i] for name in own) for i in kept]
        assert rows_of(bp.join(*tables, **options)) == expected
        assert rows_of(bp.join(*tables, **options, keep=["row", *others[:1]])) == [(i, own[others[0]][i]) for i in kept]
        # Of one table, the rows that overlap another row.
        with_partner = {i for i, j in plain_join(left, left, closed) if i != j}
        kept = [i for i in range(len(left)) if (i in with_partner) == (how == "semi")]
        assert rows_of(bp.join(tables[0], **options, keep=["row"])) == [(i,) for i in kept]


def test_semi_and_anti_keep_the_index_of_pandas_and_lazy_frames():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    left = pd.DataFrame({"a": [0, 5, 9], "b": [1, 6, 9]}, index=["x", "y", "z"])
    right = pd.DataFrame({"a": [5], "b": [20]})
    assert list(bp.join(left, right, **ENDS, how="semi").index) == ["y", "z"]
    assert list(bp.join(left, right, **ENDS, how="anti").index) == ["x"]
    lazy = bp.join(pl.DataFrame({"a": [0], "b": [1]}).lazy(), pl.DataFrame({"a": [0], "b": [1]}), **ENDS, how="semi")
    assert isinstance(lazy, pl.LazyFrame)


@pytest.mark.parametrize("how", ["semi", "anti"])
@pytest.mark.parametrize("axes", [1, 3])
def test_semi_and_anti_of_tables_without_rows(how, axes):
    pl = pytest.importorskip("polars")
    some = pl.DataFrame({"a": [0, 5], "b": [1, 6]})
    options = {"lower": ["a"] * axes, "upper": ["b"] * axes, "how": how}
    assert bp.join(some[:0], some, **options).height == 0
    assert bp.join(some, some[:0], **options).rows() == (some.rows() if how == "anti" else [])
    assert bp.join(some[:1], **options).height == (how == "anti")


def test_a_million_rows_that_all_overlap_are_counted_without_their_pairs():
    pl = pytest.importorskip("polars")
    many = pl.DataFrame({"a": np.zeros(10**6, np.int64), "b": np.arange(10**6)})
    assert bp.join(many, many, **ENDS, how="semi").height == 10**6
    assert bp.join(many, many, **ENDS, how="anti", margin=5).height == 0
    assert bp.join(many, many, **ENDS, count=True, min_overlap=10)["count"].sum() == (10**6 - 10) ** 2


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("axes", [1, 2])
def test_rows_without_an_end_are_dropped_or_endless(library, axes):
    sessions = make(library, {"a": [0, 10, None, None], "b": [5, None, 3, None], "s": [0, 1, 2, 3]})
    events = make(library, {"t": [-9, 4, 10, 10**9, None], "e": [0, 1, 2, 3, 4]})
    options = {"lower": [("t", "a")] * axes, "upper": [("t", "b")] * axes, "keep": ["e", "s"]}
    assert rows_of(bp.join(events, sessions, **options)) == [(1, 0)]
    for closed in CLOSED:
        joined = bp.join(events, sessions, **options, missing="unbounded", closed=closed)
        at_begin = [(2, 1)] if closed in ("both", "left") else []
        assert rows_of(joined) == [(0, 2), (0, 3), (1, 0), (1, 3), *at_begin, (2, 3), (3, 1), (3, 3)]
    counted = bp.join(events, sessions, **options | {"keep": ["e"]}, missing="unbounded", count=True)
    assert rows_of(counted) == [(0, 2), (1, 2), (2, 2), (3, 2), (4, 0)]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "datetime64[ns]"])
@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("axes", [1, 2])
def test_endless_rows_reach_the_last_number(dtype, closed, axes):
    pl = pytest.importorskip("polars")
    if dtype == "datetime64[ns]":
        kind, most = pl.Datetime("ns"), 2**63 - 1
    else:
        kind = getattr(pl, dtype.capitalize())
        most = math.inf if dtype.startswith("float") else int(np.iinfo(dtype).max)
    least = -most if dtype.startswith("float") else -most - 1
    ends = pl.DataFrame({"t": pl.Series([least, 0, most]).cast(kind)})
    rows = pl.DataFrame({"a": pl.Series([None, 0, None, 0]).cast(kind), "b": pl.Series([0, None, None, 1]).cast(kind)})
    options = {"lower": [("t", "a")] * axes, "upper": [("t", "b")] * axes, "missing": "unbounded"}
    has_zero = {"both": [1, 1, 1, 1], "left": [0, 1, 1, 1], "right": [1, 0, 1, 0], "neither": [0, 0, 1, 0]}[closed]
    joined = bp.join(rows, ends, lower=[("a", "t")] * axes, upper=[("b", "t")] * axes, missing="unbounded",
                     closed=closed, count=True)  # fmt: skip
    assert joined["count"].to_list() == [1 + has_zero[0], 1 + has_zero[1], 2 + has_zero[2], has_zero[3]]
    assert bp.join(ends, rows, **options, closed=closed).height == joined["count"].sum()


def test_a_number_beyond_the_missing_end_is_refused():
    pl = pytest.importorskip("polars")
    bad = pl.DataFrame({"a": [0, 5, None], "b": [None, 4, 3]})
    with pytest.raises(InvalidBoxError, match=r"left: row 1: 'a' > 'b' \(5 > 4\)"):
        bp.join(bad, **ENDS, missing="unbounded", closed="left")
    assert bp.join(bad[[0, 2]], **ENDS, missing="unbounded").height == 1


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("kind", ["whole", "floats", "small floats", "mixed"])
@pytest.mark.parametrize("margin", [0, 0.1, 1, 2.5, 3])
def test_margins_are_added_exactly(closed, kind, margin):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(6)
    tables = []
    for side in range(2):
        low = rng.integers(0, 60, 90) if kind == "whole" else rng.integers(0, 300, 90) / 10
        size = rng.integers(0, 4, 90) if kind == "whole" else rng.choice([0, 0.1, 0.3, 1], 90)
        dtype = {"whole": np.int64, "small floats": np.float32, "mixed": (np.float32, np.float64)[side]}.get(kind)
        low, high = (np.asarray(x, dtype or np.float64) for x in (low, low + size))
        tables.append(pd.DataFrame({"a": low, "b": high, "row": range(90)}))
    expected = [
        (i, j)
        for i, (a, b, _) in enumerate(tables[0].itertuples(index=False))
        for j, (c, d, _) in enumerate(tables[1].itertuples(index=False))
        if within(a, b, c, d, closed, margin) and within(c, d, a, b, closed, margin)
    ]
    joined = bp.join(*tables, **ENDS, closed=closed, margin=margin, keep=["row"])
    assert rows_of(joined) == expected
    both = bp.join(*tables, lower=["a", "a"], upper=["b", "b"], closed=closed, margin=[margin, 1000], keep=["row"])
    assert rows_of(both) == expected


def within(a, b, c, d, closed, margin):
    """Say whether [a, b] has points at most a margin above some of [c, d]."""
    gap = Fraction(a) - Fraction(d)
    is_reached = (closed in ("both", "left") or a == b) and (closed in ("both", "right") or c == d)
    return gap <= Fraction(margin) if is_reached else gap < Fraction(margin)


@pytest.mark.parametrize("closed", CLOSED)
def test_margins_beyond_all_numbers_reach_everything(closed):
    pl = pytest.importorskip("polars")
    ends = pl.DataFrame({"a": [-(2**63), -1, 2**63 - 2], "b": [-(2**63) + 1, 0, 2**63 - 1]})
    counts = {2**62: [1, 1, 1], 2**63: [2, 3, 2], 2**64: [3, 3, 3], 10**30: [3, 3, 3]}
    for margin, expected in counts.items():
        assert bp.join(ends, ends, **ENDS, closed=closed, margin=margin, count=True)["count"].to_list() == expected
    floats = pl.DataFrame({"a": [-1.7e308, 0.0, 1.5e308], "b": [-1.6e308, 1.0, 1.7e308]})
    for margin, expected in {1e308: [1, 1, 1], 1.65e308: [2, 3, 2]}.items():
        assert bp.join(floats, floats, **ENDS, closed=closed, margin=margin, count=True)["count"].to_list() == expected


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "duckdb"])
def test_margins_of_times_are_spans(library):
    first = make(library, {"a": [START], "b": [START + dt.timedelta(hours=1)]})
    second = make(library, {"a": [START + dt.timedelta(hours=3)], "b": [START + dt.timedelta(hours=4)]})
    for margin, count in [(dt.timedelta(hours=2), 1), (np.timedelta64(119, "m"), 0), (np.timedelta64(1, "W"), 1)]:
        assert len(rows_of(bp.join(first, second, **ENDS, margin=margin))) == count
        assert len(rows_of(bp.join(first, second, **ENDS, margin=margin, closed="left"))) == (
            margin > dt.timedelta(hours=2)
        )
    shared = dt.timedelta(minutes=30)
    late = make(library, {"a": [START + shared], "b": [START + 3 * shared]})
    assert len(rows_of(bp.join(first, late, **ENDS, min_overlap=shared))) == 1
    assert len(rows_of(bp.join(first, late, **ENDS, min_overlap=shared + dt.timedelta(microseconds=1)))) == 0


def test_margins_finer_than_the_unit_of_a_column_are_exact():
    pl = pytest.importorskip("polars")
    days = pl.DataFrame({"d": [dt.date(2026, 1, 1), dt.date(2026, 1, 2), dt.date(2026, 1, 4)]})
    options = {"lower": "d", "upper": "d", "count": True}
    for hours, counts in [(23, [1, 1, 1]), (24, [2, 2, 1]), (47, [2, 2, 1]), (48, [2, 3, 2])]:
        joined = bp.join(days, days, **options, margin=dt.timedelta(hours=hours))
        assert joined["count"].to_list() == counts, hours


@pytest.mark.parametrize("closed", CLOSED)
def test_rows_share_a_length_or_more(closed):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(12)
    for whole in (True, False):
        low, size = rng.integers(0, 60, 120), rng.integers(0, 12, 120)
        table = pd.DataFrame({"a": low, "b": low + size, "row": range(120)})
        if not whole:
            table = table.assign(a=table.a / 10, b=table.b / 10)
        rows = list(zip(*(map(Fraction, map(float, table[x])) for x in "ab"), strict=True))
        for shared in (0.1, 0.3, 1, 2.5, 4):
            expected = [
                (i, j)
                for i, (a, b) in enumerate(rows)
                for j, (c, d) in enumerate(rows)
                if min(b, d) - max(a, c) >= Fraction(shared)
            ]
            for options in (ENDS, {"lower": ["a", "a"], "upper": ["b", "b"]}):
                joined = bp.join(table, table, **options, closed=closed, min_overlap=shared, keep=["row"])
                assert rows_of(joined) == expected
            counted = bp.join(table, **ENDS, closed=closed, min_overlap=shared, count=True)["count"]
            assert counted.sum() == sum(i != j for i, j in expected)


def test_rows_share_a_part_of_one_or_of_both():
    pl = pytest.importorskip("polars")
    left = pl.DataFrame({"a": [0, 0, 10, 50], "b": [10, 100, 10, 51]})
    right = pl.DataFrame({"a": [3, 50], "b": [13, 60]})
    options = {**ENDS, "keep": ([], ["a"])}
    found = {
        ("left", 0.7): [(3,), (3,), (50,)], ("left", 0.71): [(3,), (50,)], ("right", 0.7): [(3,), (3,), (50,)],
        ("right", 1.0): [(3,), (50,)], ("both", 0.1): [(3,), (3,), (50,), (50,)], ("both", 0.2): [(3,)],
    }  # fmt: skip
    for share, rows in found.items():
        assert bp.join(left, right, **options, min_overlap=share).rows() == rows, share
    assert bp.join(left, right, **ENDS, min_overlap=("left", 0.7), count=True)["count"].to_list() == [1, 0, 1, 1]
    assert bp.join(left, right, **ENDS, min_overlap=("left", 0.7), how="anti").rows() == [(0, 100)]
    assert bp.join(left, right, **options, min_overlap=("left", 0.7), how="left").rows() == [(3,), (None,), (3,), (50,)]
    # Of one table: row 0 lies in row 1, but not the other way round.
    assert bp.join(left, **ENDS, min_overlap=("left", 1), count=True)["count"].to_list() == [1, 0, 2, 1]
    with pytest.raises(bp.errors.TooManyPairsError):
        bp.join(left, right, **ENDS, min_overlap=("left", 0.7), max_pairs=2)


@pytest.mark.parametrize("most", [1, 7, 200])
def test_parts_are_compared_a_few_pairs_at_a_time(most, monkeypatch):
    from broadphase.joins import search

    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(14)
    tables = [
        pl.DataFrame({"a": low, "b": low + rng.integers(0, 9, 80), "k": rng.integers(0, 2, 80), "row": np.arange(80)})
        for low in rng.integers(0, 40, (2, 80))
    ]
    options = {**ENDS, "by": "k", "min_overlap": ("left", 0.4), "closed": "left"}

    def answers():
        yield bp.join(*tables, **options, keep=["row"]).rows()
        yield bp.join(tables[0], **options, keep=["row"]).rows()
        yield bp.join(*tables, **options, count=True)["count"].to_list()
        yield bp.join(tables[0], **options, count=True)["count"].to_list()
        yield bp.join(*tables, **options | {"by": None}, how="anti").rows()

    expected = list(answers())
    assert all(map(len, expected[:4]))
    monkeypatch.setattr(search, "_MOST_PAIRS", most)
    assert list(answers()) == expected
    with pytest.raises(bp.errors.TooManyPairsError):
        bp.join(*tables, **options, max_pairs=len(expected[0]) - 1)


def test_parts_are_decimal_fractions_of_whole_lengths():
    pl = pytest.importorskip("polars")
    for length, percent in [(100, 7), (10, 70), (1000, 29), (100, 57)]:
        left = pl.DataFrame({"a": [0], "b": [length]})
        right = left.with_columns(b=pl.lit(length * percent // 100))
        assert bp.join(left, right, **ENDS, min_overlap=("left", percent / 100)).height == 1
        assert (
            bp.join(left, right.with_columns(pl.col("b") - 1), **ENDS, min_overlap=("left", percent / 100)).height == 0
        )


def test_parts_of_boxes_are_those_of_the_area():
    pl = pytest.importorskip("polars")
    one = pl.DataFrame({"x": [0.0], "y": [0.0], "x1": [4.0], "y1": [2.0]})
    other = pl.DataFrame({"x": [1.0], "y": [1.0], "x1": [9.0], "y1": [9.0]})
    options = {"lower": ["x", "y"], "upper": ["x1", "y1"]}
    assert bp.join(one, other, **options, min_overlap=("left", 0.375)).height == 1
    assert bp.join(one, other, **options, min_overlap=("left", 0.376)).height == 0
    line = one.with_columns(y1=pl.lit(0.0), y=pl.lit(0.0))
    assert bp.join(line, one.with_columns(x1=pl.lit(2.0)), **options, min_overlap=("left", 0.5)).height == 1
    assert bp.join(line, one.with_columns(x1=pl.lit(2.0)), **options, min_overlap=("left", 0.51)).height == 0
    assert bp.join(one, other, **options, min_overlap=[3, 1]).height == 1
    assert bp.join(one, other, **options, min_overlap=[3, 1.1]).height == 0


def test_parts_of_endless_rows():
    pl = pytest.importorskip("polars")
    left = pl.DataFrame({"a": [0, 0, None], "b": [None, 10, None]}, schema={"a": pl.Int64, "b": pl.Int64})
    right = pl.DataFrame({"a": [5, None], "b": [None, 8]})
    options = {**ENDS, "missing": "unbounded", "keep": ([], ["a", "b"])}
    assert bp.join(left, right, **options, min_overlap=("left", 0.5)).rows() == [
        (5, None), (5, None), (None, 8), (5, None), (None, 8),
    ]  # fmt: skip
    assert bp.join(left, right, **options, min_overlap=10**6).rows() == [(5, None), (5, None), (None, 8)]


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize(
    "options",
    [{"closed": x} for x in CLOSED] + [{"margin": 1}, {"min_overlap": 1}, {"min_overlap": ("left", 0.5)}],
    ids=str,
)
def test_rows_that_are_no_intervals_are_named_whatever_the_rule(axes, options):
    pl = pytest.importorskip("polars")
    good = pl.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, 2.0, 2.0]})
    for b, message in [(0.5, r"right: row 1: 'a' > 'b' \(1.0 > 0.5\)"), (math.nan, "right: row 1: 'b' is NaN")]:
        bad = good.with_columns(b=pl.Series([1.0, b, 2.0]))
        for how in ("inner", "left", "semi", "anti"):
            with pytest.raises(InvalidBoxError, match=message) as caught:
                bp.join(good, bad, lower=["a"] * axes, upper=["b"] * axes, how=how, **options)
            assert caught.value.row == 1


def test_columns_without_a_type_take_any_length():
    pl = pytest.importorskip("polars")
    nothing = pl.DataFrame({"a": [None, None], "b": [None, None]})
    for margin in (1, dt.timedelta(1)):
        assert bp.join(nothing, nothing, **ENDS, margin=margin).height == 0
        assert bp.join(nothing, nothing, **ENDS, margin=margin, missing="unbounded").height == 4


def test_options_that_are_wrong_are_named():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [0, 1], "b": [1, 2], "t": [START] * 2})
    for option, value, message in [
        ("closed", "open", "unknown closed 'open'"), ("closed", True, "unknown closed True"),
        ("missing", "keep", "unknown missing 'keep'"),
        ("margin", -1, "margin must be at least 0, not -1"), ("margin", math.nan, "margin must be at least 0, not nan"),
        ("margin", math.inf, "margin must be finite, not inf"),
        ("margin", [1, 2], "margin has 2 lengths, and there are 1"),
        ("min_overlap", -0.5, "min_overlap must be at least 0"),
        ("min_overlap", ("left", 0), "the fraction of min_overlap must be above 0, and 1 at most, not 0"),
        ("min_overlap", ("left", 1.5), "must be above 0, and 1 at most, not 1.5"),
        ("min_overlap", ("middle", 0.5), r"min_overlap must be a length, .* \(\"left\", 0.5\), of left, right or"),
        ("min_overlap", (0.5,), "min_overlap must be a length"),
        ("margin", np.timedelta64(1, "Y"), "margin must be a span of weeks, days, hours or less"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            bp.join(frame, frame, **ENDS, **{option: value})
    for option, value, message in [
        ("margin", "1", "margin must be a number, not '1'"), ("margin", True, "margin must be a number, not True"),
        ("margin", (1, 2), r"margin must be a number, not \(1, 2\)"),
        ("margin", dt.timedelta(1), r"margin: left, column 'a' holds numbers: give a number, not"),
        ("min_overlap", ("left", "x"), "the fraction of min_overlap must be a"),
    ]:  # fmt: skip
        with pytest.raises(TypeError, match=message):
            bp.join(frame, frame, **ENDS, **{option: value})
    with pytest.raises(TypeError, match=r"margin: left, column 't' holds times \(datetime\): give a timedelta, not 5"):
        bp.join(frame, frame, lower="t", upper="t", margin=5)
    with pytest.raises(ValueError, match="give one of them"):
        bp.join(frame, frame, **ENDS, margin=1, min_overlap=1)
    with pytest.raises(ValueError, match="leave how='semi' out"):
        bp.join(frame, frame, **ENDS, how="semi", count=True)
    with pytest.raises(TypeError, match="give lower and upper, the columns in which a row begins and ends"):
        bp.join(frame, frame, lower="a")
