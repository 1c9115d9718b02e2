"""`bp.join` along axes that repeat, against plain loops over images in exact fractions."""

import datetime as dt
import math
from fractions import Fraction

import numpy as np
import pytest

import broadphase as bp
from broadphase.errors import InvalidBoxError, TooManyPairsError
from test_join import CLOSED, LIBRARIES, make, rows_of

ENDS = {"lower": "a", "upper": "b"}


def contains(interval, point, closed):
    lower, upper = interval
    if lower == upper:
        return point == lower
    at_begin, at_end = closed in ("both", "left"), closed in ("both", "right")
    return lower < point < upper or (at_begin and point == lower) or (at_end and point == upper)


def overlap(one, other, closed):
    """Whether two sets of points have one in common."""
    begin, end = max(one[0], other[0]), min(one[1], other[1])
    return begin < end or (begin == end and contains(one, begin, closed) and contains(other, begin, closed))


def plain_pairs(left, right, periods, closed):
    """Pairs of rows ``(key, [(lower, upper), ...])``; a key of None is no key, a period of None no period."""

    def meet(one, other, period):
        (a, b), (c, d) = ([Fraction(x) for x in interval] for interval in (one, other))
        if period is None:
            return overlap((a, b), (c, d), closed)
        period = Fraction(period)
        b, d = (upper + period if upper < lower else upper for lower, upper in ((a, b), (c, d)))
        steps = range(math.floor((c - b) / period) - 1, math.ceil((d - a) / period) + 2)
        return any(overlap((a + k * period, b + k * period), (c, d), closed) for k in steps)

    return [
        (i, j)
        for i, (key, one) in enumerate(left)
        for j, (other_key, other) in enumerate(right)
        if key == other_key is not None and all(map(meet, one, other, periods))
    ]


def columns_of(rows, whole):
    columns = {"key": [key for key, _ in rows], "row": list(range(len(rows)))}
    for axis in range(len(rows[0][1])):
        for end, name in enumerate(("a", "b")):
            columns[f"{name}{axis}"] = [int(x[axis][end]) if whole else float(x[axis][end]) for _, x in rows]
    return columns


def random_rows(rng, count, periods, numbers):
    rows = []
    for _ in range(count):
        intervals = []
        for period in periods:
            most = 30 if period is None else period
            if numbers == "whole":
                lower, size = (
                    int(rng.integers(-3 * most, 3 * most)),
                    int(rng.choice([0, 0, 1, 2, most - 1, most, most + 1, 5 * most])),
                )
            else:  # neighbors of multiples, tiny numbers, and tenths
                lower = rng.choice([0.0, -1e-20, 1e-300, 0.1, -0.3, most - 0.1, -most, most, 0.7 * most, -2.5 * most])
                lower = float(np.nextafter(lower, rng.choice([-np.inf, lower, np.inf])))
                size = rng.choice([0, 0, 0.1, 0.3 * most, most - 0.1, most, 1.5 * most])
            upper = lower + size
            if period is not None and 0 < size < period and rng.random() < 0.3 and upper - period < lower:
                upper = upper - period  # as 22:00 to 06:00
            intervals.append((lower, upper))
        rows.append((rng.choice(["x", "x", "y"]), intervals))
    return rows


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("numbers", ["whole", "floats"])
@pytest.mark.parametrize("periods", [(24,), (7, None), (None, 10), (5, 12), (3, None, 4)])
def test_rows_overlap_as_their_images_do(periods, numbers, closed):
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng([len(periods), numbers == "whole", CLOSED.index(closed)])
    axes = range(len(periods))
    on = {"lower": [f"a{axis}" for axis in axes], "upper": [f"b{axis}" for axis in axes], "by": "key", "closed": closed}
    on["period"] = periods if len(periods) > 1 else periods[0]
    for _ in range(3):
        left, right = random_rows(rng, 40, periods, numbers), random_rows(rng, 30, periods, numbers)
        tables = [pl.DataFrame(columns_of(rows, numbers == "whole")) for rows in (left, right)]
        expected = plain_pairs(left, right, periods, closed)
        assert expected
        joined = bp.join(*tables, **on, keep=["row"])
        assert joined.rows() == expected
        partners = {i for i, _ in expected}
        assert bp.join(*tables, **on, how="semi")["row"].to_list() == sorted(partners)
        assert bp.join(*tables, **on, how="anti")["row"].to_list() == sorted({*range(40)} - partners)
        counts = np.bincount([i for i, _ in expected], minlength=40)
        assert bp.join(*tables, **on, count=True)["count"].to_list() == counts.tolist()
        alone = [(i, None) for i in {*range(40)} - partners]
        assert bp.join(*tables, **on, how="left", keep=["row"]).rows() == sorted(expected + alone)
        own = [(i, j) for i, j in plain_pairs(left, left, periods, closed) if i < j]
        assert bp.join(tables[0], **on, keep=["row"]).rows() == own
        counts = np.bincount(np.array(own).ravel(), minlength=40)
        assert bp.join(tables[0], **on, count=True)["count"].to_list() == counts.tolist()
        assert bp.join(tables[0], **on, how="semi")["row"].to_list() == np.flatnonzero(counts).tolist()


@pytest.mark.parametrize("library", LIBRARIES)
def test_night_shifts_go_on_into_the_next_day(library):
    at = dt.time
    tables = [
        make("pyarrow" if library == "pandas" else library, columns)
        for columns in (
            {"who": ["Ann", "Bo"], "a": [at(22), at(6)], "b": [at(6), at(14)]},
            {"t": [at(23, 30), at(0), at(6), at(14)]},
        )
    ]
    if library == "pandas":  # which has no column of times of its own
        pd = pytest.importorskip("pandas")
        tables = [table.to_pandas(types_mapper=pd.ArrowDtype) for table in tables]
    shifts, calls = tables
    on = {"lower": ("t", "a"), "upper": ("t", "b"), "keep": ["t", "who"], "period": dt.timedelta(days=1)}
    found = rows_of(bp.join(calls, shifts, **on, closed="left"))
    assert [who for _, who in found] == ["Ann", "Ann", "Bo"]
    assert [who for _, who in rows_of(bp.join(calls, shifts, **on))] == ["Ann", "Ann", "Ann", "Bo", "Bo"]
    assert rows_of(bp.join(calls, shifts, **on, closed="left", how="left"))[-1][1] is None


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_datetimes_repeat_by_week_in_any_unit(unit):
    pd = pytest.importorskip("pandas")
    start = pd.Timestamp("2026-03-02")  # a Monday
    days = pd.to_timedelta([0, 9, 20, 700], "D")
    visits = pd.DataFrame({"t": (start + days + pd.Timedelta(hours=10)).as_unit(unit)})
    opening = pd.DataFrame({"a": [start + pd.Timedelta(hours=9)], "b": [start + pd.Timedelta(hours=17)], "n": 1})
    joined = bp.join(visits, opening, lower=("t", "a"), upper=("t", "b"), period=dt.timedelta(weeks=1), how="left")
    assert joined["n"].fillna(0).tolist() == [1, 0, 0, 1]


def test_a_period_may_be_part_of_the_unit():
    pl = pytest.importorskip("polars")
    days = pl.DataFrame({"a": [dt.date(2026, 3, day) for day in (4, 5, 6)]})
    start = pl.DataFrame({"a": [dt.date(2026, 3, 2)]})
    for hours, found in ((12, [4, 5, 6]), (16, [4, 6]), (36, [5])):  # 2, 3 and 4 days later
        joined = bp.join(days, start, lower="a", upper="a", period=dt.timedelta(hours=hours), how="semi")
        assert [day.day for day in joined["a"]] == found
    pd = pytest.importorskip("pandas")
    moments = pd.DataFrame({"a": pd.to_datetime(["2026-03-01 00:00", None, "2026-03-02 12:00"]).as_unit("s")})
    found = bp.join(moments, lower="a", upper="a", period=dt.timedelta(milliseconds=1500), keep=["a"])
    assert found["a"].tolist() == [moments["a"][0]]
    numbers = pl.DataFrame({"a": [0, 1, 5, 10, 25]})
    for period, found in ((2.5, [0, 5, 10, 25]), (0.1, [0])):  # 0.1 is a little more than a tenth
        one = pl.DataFrame({"a": [0]})
        assert bp.join(numbers, one, lower="a", upper="a", period=period, how="semi")["a"].to_list() == found


def test_rows_without_an_end_or_at_infinity_are_everywhere():
    pl = pytest.importorskip("polars")
    left = pl.DataFrame({"a": [3, 5, None], "b": [None, 6, None], "row": [0, 1, 2]})
    right = pl.DataFrame({"a": [1, 5], "b": [2, 5], "n": [0, 1]})
    on = {**ENDS, "period": 10, "keep": ["row", "n"]}
    assert bp.join(left, right, **on).rows() == [(1, 1)]
    for closed in CLOSED:
        found = bp.join(left, right, **on, missing="unbounded", closed=closed).rows()
        assert found == [(0, 0), (0, 1), *([(1, 1)] if closed in ("both", "left") else []), (2, 0), (2, 1)]
    floats = pl.DataFrame({"a": [-math.inf, 5.0], "b": [1.0, 5.0], "row": [0, 1]})
    assert bp.join(floats, right, **on).rows() == [(0, 0), (0, 1), (1, 1)]
    with pytest.raises(InvalidBoxError, match="right: row 1 is at inf, which is nowhere in a period"):
        bp.join(right, pl.DataFrame({"a": [0.0, math.inf], "b": [1.0, math.inf]}), **ENDS, period=10)


def test_tables_without_rows_and_limits():
    pl = pytest.importorskip("polars")
    some = pl.DataFrame({"a": [0, 9], "b": [1, 12]})
    for one, other in ((some[:0], some), (some, some[:0]), (some[:0], None)):
        assert bp.join(one, other, **ENDS, period=10).height == 0
    assert bp.join(some, some, **ENDS, period=10, max_pairs=4).height == 4
    with pytest.raises(TooManyPairsError, match="max_pairs=3"):
        bp.join(some, some, **ENDS, period=10, max_pairs=3)


def test_wrong_periods_and_rows_are_named():
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"a": [0, 30], "b": [1, 3], "x": [0.5, 1.0], "t": [dt.time(1), dt.time(2)]})
    on = {"lower": "a", "upper": "a"}
    for period, error, message in (
        (0, ValueError, "period must be above 0, or None along an axis that does not repeat, not 0"),
        (-24, ValueError, "period must be at least 0, not -24"),
        (math.nan, ValueError, "period must be at least 0, not nan"),
        ("day", TypeError, "period must be a number, not 'day'"),
        ((24, None), ValueError, "period has 2 lengths, and there are 1 axes"),
        (dt.timedelta(days=1), TypeError, "period: left, column 'a' holds numbers: give a number"),
    ):
        with pytest.raises(error, match=message):
            bp.join(table, table, **on, period=period)
    with pytest.raises(TypeError, match="period: left, column 't' holds times"):
        bp.join(table, table, lower="t", upper="t", period=24)
    for options, what in (
        ({"how": "nearest"}, 'how="nearest"'),
        ({"margin": 1}, "margin"),
        ({"min_overlap": 1}, "min_overlap"),
    ):
        with pytest.raises(ValueError, match=f"^{what} is not for period"):
            bp.join(table, table, **on, **options, period=24)
        plain = bp.join(table, table, **on, **options)
        assert bp.join(table, table, **on, **options, period=[None]).equals(plain)
    for period in (24, 27):  # 27 before: not less than a period
        with pytest.raises(InvalidBoxError, match="left: row 1: 'a' > 'b' \\(30 > 3\\)"):
            bp.join(table, table, **ENDS, period=period)
    assert bp.join(table, table, **ENDS, period=28).height == 2  # [30, 31] and [0, 1]
    with pytest.raises(InvalidBoxError, match="left: row 0: 'a' is NaN"):
        bp.join(pl.DataFrame({"a": [math.nan]}), lower="a", upper="a", period=1)
    far = pl.DataFrame({"a": [0.0, 1e20], "h": [0, 2**60]})
    with pytest.raises(ValueError, match="left: row 1 is at 1e\\+20, more than 2\\*\\*50 periods from 0"):
        bp.join(far, **on, period=1)
    with pytest.raises(ValueError, match="'h' holds integers beyond 2\\*\\*53: give a whole number, below 2\\*\\*61"):
        bp.join(far, lower="h", upper="h", period=0.3)
    with pytest.raises(ValueError, match="float64 cannot hold 9007199254740993 exactly"):
        bp.join(far, **on, period=2**53 + 1)
    assert bp.join(far, lower="h", upper="h", period=2**10).height == 1
