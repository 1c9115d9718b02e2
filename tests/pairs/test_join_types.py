"""`bp.join` of columns of all types: they are compared and kept exactly, or refused by name."""

import datetime as dt
import uuid
from decimal import Decimal

import numpy as np
import pytest

import broadphase as bp

ENDS = {"lower": "lo", "upper": "hi"}
HUGE = 2**62 + 1
TIMES = [dt.datetime(2026, 1, 1 + k) for k in range(3)]


def frames(library, columns):
    """Yield a table for each column, with sound ends, the name of the type, and the column's name."""
    for name, column in columns.items():
        yield name, library({"lo": [0, 5, 9], "hi": [1, 6, 9], "x": column})


def columns_of_pandas(pd, pa):
    arrow = pd.arrays.ArrowExtensionArray
    numpy = [
        *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
        "float16",
        "float32",
        "float64",
    ]
    return {
        **{name: np.arange(3).astype(name) for name in (*numpy, "longdouble", "bool", "complex128")},
        **{name: np.array(TIMES, "M8[us]").astype(name) for name in ("M8[s]", "M8[ms]", "M8[ns]")},
        **{name: pd.array([0, 1, None], dtype=name) for name in ("Int8", "UInt64", "Float32", "boolean")},
        **{name: pd.array(["a", "b", None], dtype=name) for name in ("str", "string[python]", "string[pyarrow]")},
        **{name: np.arange(3).astype(name) for name in (">i8", ">u2", ">f4", "m8[ns]")},
        "text": np.array(["a", "b", None], object),
        "bytes": np.array([b"a", b"b", None], object),
        "whole": np.array([1, 2, None], object),
        "mixed": np.array([1, "b", None], object),
        "lists": pd.Series([[1], [2], None]),
        "dates": np.array([dt.date(2026, 1, 1)] * 3, object),
        "decimals": np.array([Decimal(1)] * 3, object),
        "none": np.array([None] * 3, object),
        "categories": pd.Categorical(["a", "b", None]),
        "categories of numbers": pd.Categorical([1, 2, None]),
        "intervals": pd.arrays.IntervalArray.from_breaks([0, 1, 2, 3]),
        "periods": pd.period_range("2026", periods=3, freq="M").array,
        "zone": pd.date_range("2026", periods=3, tz="Europe/Berlin"),
        "sparse": pd.arrays.SparseArray([0, 1, 2]),
        **{f"arrow {name}": arrow(column) for name, column in columns_of_pyarrow(pa).items() if "union" not in name},
    }


def columns_of_polars(pl):
    series = pl.Series
    return {
        **{str(kind): series([0, 1, 2], dtype=kind) for kind in [*pl.datatypes.group.INTEGER_DTYPES, pl.Float32]},
        "bool": series([True, False, None]),
        "decimal": series([Decimal("1.5"), Decimal(2), None]),
        "whole decimal": series([Decimal(1), Decimal(2), None], dtype=pl.Decimal(20, 0)),
        "text": series(["a", "b", None]),
        "categories": series(["a", "b", None], dtype=pl.Categorical),
        "enum": series(["a", "b", None], dtype=pl.Enum(["a", "b"])),
        "bytes": series([b"a", b"b", None]),
        "null": series([None] * 3),
        "list": series([[1], [2], None]),
        "array": series([[1, 2]] * 3, dtype=pl.Array(pl.Int8, 2)),
        "struct": series([{"a": 1}] * 3),
        "object": series([object()] * 3, dtype=pl.Object),
        "date": series([dt.date(2026, 1, 1)] * 3),
        "time": series([dt.time(1)] * 3),
        **{f"datetime {unit}": series(TIMES, dtype=pl.Datetime(unit, "UTC")) for unit in ("ms", "us", "ns")},
        **{f"duration {unit}": series([dt.timedelta(1)] * 3, dtype=pl.Duration(unit)) for unit in ("ms", "us", "ns")},
    }


def columns_of_pyarrow(pa):
    numbers = [pa.int8(), pa.int64(), pa.uint8(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(30, 0)]
    texts = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.binary(), pa.large_binary()]
    texts += [getattr(pa, name)() for name in ("string_view", "binary_view") if hasattr(pa, name)]
    lists = [pa.list_(pa.int8()), pa.large_list(pa.int8()), pa.list_(pa.int8(), 1)]
    times = [pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC")]
    return {
        **{str(kind): pa.array([0, 1, None], kind) for kind in numbers},
        **{str(kind): pa.array(["a", "b", None]).cast(kind) for kind in texts},
        **{str(kind): pa.array([[1], [2], None], kind) for kind in lists},
        **{str(kind): pa.array(TIMES, kind) for kind in times},
        **{str(kind): pa.array([dt.time(1)] * 3, kind) for kind in (pa.time32("s"), pa.time64("ns"))},
        **{str(kind): pa.array([dt.timedelta(1)] * 3, kind) for kind in (pa.duration("s"), pa.duration("ns"))},
        **{str(kind): pa.array([dt.date(2026, 1, 1)] * 3, kind) for kind in (pa.date32(), pa.date64())},
        "half": pa.array(np.arange(3).astype(np.float16)),
        "bool": pa.array([True, False, None]),
        "decimal": pa.array([Decimal("1.5"), Decimal(2), None]),
        "null": pa.nulls(3),
        "bytes of one size": pa.array([b"a", b"b", None], pa.binary(1)),
        "dictionary of numbers": pa.array([1, 2, None]).dictionary_encode(),
        "struct": pa.array([{"a": 1}] * 3),
        "map": pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int8())),
        "interval": pa.array([(1, 1, 1)] * 3, pa.month_day_nano_interval()),
        "runs": pa.RunEndEncodedArray.from_arrays([2, 3], [1, 2]),
        "union": pa.UnionArray.from_sparse(pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["x"] * 3)]),
        "uuid": pa.array([uuid.uuid4().bytes] * 3, pa.binary(16)),
    }


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.filterwarnings("ignore")  # of libraries, for types that they convert
def test_columns_of_every_type_are_joined_or_refused_by_name(library):
    module, pa = pytest.importorskip(library), pytest.importorskip("pyarrow")
    columns = {
        "pandas": lambda: columns_of_pandas(module, pa),
        "polars": lambda: columns_of_polars(module),
        "pyarrow": lambda: columns_of_pyarrow(module),
    }[library]()
    make = module.table if library == "pyarrow" else module.DataFrame
    joined = 0
    for name, table in frames(make, columns):
        own = {"lower": "x", "upper": "x"}
        for options in (
            own, {**ENDS, "by": "x"}, {**ENDS, "how": "left"}, {**ENDS, "how": "nearest"},
            {**own, "how": "nearest", "distance": True}, {"lower": ["x", "lo"], "upper": ["x", "hi"]},
        ):  # fmt: skip
            try:
                assert len(bp.join(table, table, **options)) >= 0
                joined += 1
                error = None
            except (TypeError, ValueError) as raised:
                error = raised
            assert type(error) in (type(None), TypeError, ValueError), (name, options, error)
            assert error is None or ", column 'x' has the type" in str(error), (name, options, error)
    assert joined > 2 * len(columns)


def test_integers_of_128_bits_are_joined_where_64_hold_them():
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"lo": [1, 2], "hi": [2, 3], "k": pl.Series([1, 2**62 + 1], dtype=pl.Int128)})
    assert bp.join(table, table, **ENDS, by="k", keep=["lo"]).rows() == [(1, 1), (2, 2)]
    wide = table.with_columns(k=pl.Series([1, 2**100], dtype=pl.Int128))
    with pytest.raises(ValueError, match=r"left, column 'k' has the type Int128, and integers that int64 cannot hold"):
        bp.join(wide, wide, **ENDS, by="k")


def test_views_of_text_are_keys_and_are_kept():
    pa = pytest.importorskip("pyarrow", minversion="17")
    names = ["a", "a text of more than twelve bytes", None]
    table = pa.table({"lo": [0, 0, 0], "hi": [1, 1, 1], "k": pa.array(names, pa.string_view())})
    joined = bp.join(table, table.set_column(2, "k", pa.array(names)), **ENDS, by="k", keep=["k"])
    assert joined.column("k").to_pylist() == names[:2]
    assert joined.column("k").type == pa.string_view()


@pytest.mark.parametrize("kind", ["string_view", "binary_view"])
def test_texts_that_were_cast_to_views_are_keys(kind):
    pa = pytest.importorskip("pyarrow", minversion="17")
    short = pa.array(["a", "b", None]).cast(getattr(pa, kind)())
    table = pa.table({"lo": [0, 0, 0], "hi": [1, 1, 1], "k": pa.chunked_array([short[:1], short[1:]])})
    assert len(bp.join(table, table, **ENDS, by="k")) == 2


def test_keys_of_unsigned_integers_may_be_hashes_of_64_bits():
    pl = pytest.importorskip("polars")
    hashes = pl.Series([2**64 - 1, 2**63, 5], dtype=pl.UInt64)
    table = pl.DataFrame({"lo": [0, 0, 0], "hi": [1, 1, 1], "k": hashes})
    assert bp.join(table, table, **ENDS, by="k", keep=["k"])["k"].to_list() == hashes.to_list()


@pytest.mark.parametrize("dtype", ["int64", "uint64", "Int64", "int64[pyarrow]"])
def test_integers_beyond_float64_stay_exact_where_rows_have_no_partner_in_pandas(dtype):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    left = pd.DataFrame({"lo": [HUGE, 0], "hi": [HUGE + 1, 0], "k": [0, 9]})
    right = pd.DataFrame({"lo": [HUGE + 4], "hi": [HUGE + 5], "k": [0], "x": pd.array([HUGE], dtype=dtype)})
    near = bp.join(left, right, **ENDS, by="k", how="nearest", distance=True)
    assert near["distance"].tolist()[0] == 3
    assert near["lo_right"].tolist()[0] == HUGE + 4
    assert near["x"].tolist()[0] == HUGE
    assert near[["distance", "lo_right", "x"]].isna().to_numpy().tolist() == [[False] * 3, [True] * 3]
    far = bp.join(left, right.assign(lo=-HUGE, hi=-HUGE + 3), **ENDS, by="k", how="nearest", distance="gap")
    assert far["gap"].tolist()[0] == 2 * HUGE - 3
    kept = bp.join(left, right.assign(lo=HUGE), **ENDS, by="k", how="left")
    assert kept["x"].tolist()[0] == HUGE
    assert kept["x"].isna().tolist() == [False, True]
    all_there = bp.join(left, right.assign(lo=HUGE), **ENDS, by="k")
    assert all_there["x"].dtype == right["x"].dtype


def test_other_columns_of_pandas_stay_exact_where_rows_have_no_partner():
    pd = pytest.importorskip("pandas")
    left = pd.DataFrame({"lo": [0, 5], "hi": [1, 6]})
    right = pd.DataFrame(
        {"lo": [1], "hi": [2], "flag": [True], "time": pd.to_datetime(["2026-01-01T00:00:00.000000001"])}
    )
    right["span"] = pd.arrays.IntervalArray.from_breaks([HUGE, HUGE + 1])
    right["few"] = pd.arrays.SparseArray([HUGE])
    joined = bp.join(left, right, **ENDS, how="left")
    assert joined["flag"].tolist() == [True, pd.NA]
    assert joined["time"].tolist() == [right["time"][0], pd.NaT]
    assert joined["span"][0] == pd.Interval(HUGE, HUGE + 1)
    assert joined["few"].tolist() == [HUGE, pd.NA]
    assert joined[["flag", "time", "span", "few"]].isna().to_numpy().tolist() == [[False] * 4, [True] * 4]
    empty = bp.join(left, right[:0], **ENDS, how="left")
    assert len(empty) == 2
    assert empty[["flag", "time", "span", "few"]].isna().to_numpy().all()


@pytest.mark.parametrize("dtype", [">i8", ">u4", ">f8", ">f4"])
def test_columns_of_pandas_in_the_other_byte_order_are_kept(dtype):
    pd = pytest.importorskip("pandas")
    left = pd.DataFrame({"lo": np.array([0, 5], dtype), "hi": np.array([1, 6], dtype)})
    right = pd.DataFrame({"lo": np.array([1], dtype), "hi": np.array([2], dtype)})
    joined = bp.join(left, right, **ENDS, how="left")
    assert joined["lo"].tolist() == [0, 5]
    assert joined["lo_right"].tolist()[0] == 1
    assert joined["lo_right"].isna().tolist() == [False, True]


def test_numbers_of_more_digits_than_float64_are_refused():
    pd = pytest.importorskip("pandas")
    if np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("long double is float64 here")
    third = pd.DataFrame({"lo": np.array([1, 0.5], np.longdouble), "hi": np.array([2, 1], np.longdouble)})
    assert len(bp.join(third, third, **ENDS)) == 4
    third.loc[1, "lo"] = np.longdouble(1) / 3
    with pytest.raises(ValueError, match=r"left, column 'lo': row 1 has the number 0.3333.*, which float64"):
        bp.join(third, third, **ENDS)


def test_nan_is_no_value_in_every_column_of_pandas():
    pd = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    for column in (
        np.array([0, np.nan]), pd.array([0, np.nan], "Float64"), pd.arrays.ArrowExtensionArray(pa.array([0, np.nan])),
    ):  # fmt: skip
        table = pd.DataFrame({"lo": column, "hi": [1.0, 1.0]})
        assert len(bp.join(table, table, **ENDS)) == 1, column


def test_geometries_get_advice():
    geopandas, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    frame = geopandas.GeoDataFrame({"name": ["a"]}, geometry=[shapely.box(0, 0, 1, 1)])
    advice = r": for geometries, use broadphase.adapters.shapely.sjoin\(left, right\); or join their boxes, of"
    with pytest.raises(TypeError, match=rf"left, column 'geometry' has the type geometry, .*{advice}"):
        bp.join(frame, frame, lower="geometry", upper="geometry")
    with pytest.raises(ValueError, match=rf"lower, left: unknown column 'minx'.*{advice}"):
        bp.join(frame, frame, lower=["minx", "miny"], upper=["maxx", "maxy"])
    with pytest.raises(TypeError, match=rf"give lower and upper, the columns in which a row begins and ends{advice}"):
        bp.join(frame, frame)
    with pytest.raises(TypeError, match=rf"left must be a table of .*, not GeoSeries{advice}"):
        bp.join(frame.geometry, frame.geometry)
    boxes = frame.join(frame.bounds)
    assert len(bp.join(boxes, boxes, lower=["minx", "miny"], upper=["maxx", "maxy"])) == 1


def test_names_of_two_tables_need_two_tables():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [0, 1], "b": [1, 2], "c": [0, 0]})
    with pytest.raises(ValueError, match=r"lower: \('a', 'c'\) has names in two tables, and there is one; for"):
        bp.join(frame, lower=("a", "c"), upper="b")
    assert bp.join(frame, lower=("a", "a"), upper="b").height == 1
