"""`bp.join` with ``how="nearest"`` against all distances by NumPy, `pandas.merge_asof` and `bioframe.closest`."""

import datetime as dt
import math

import numpy as np
import pytest

import broadphase as bp
from broadphase.errors import InvalidBoxError, TooManyPairsError
from test_join import LIBRARIES, make, rows_of


def boxes_of(rng, n, axes, layout, dtype=np.int64):
    """Return lower and upper corners: scattered, as points, in a few places, or all the same."""
    places = {"scattered": 400, "points": 60, "lattice": 5, "equal": 1}[layout]
    lower = rng.integers(0, places, (n, axes))
    sizes = {"scattered": 30, "points": 1, "lattice": 3, "equal": 1}[layout]
    upper = lower + rng.integers(0, sizes, (n, axes))
    if dtype == np.float64 and layout == "scattered":
        lower, upper = lower + rng.random((n, axes)), upper + 1 + rng.random((n, axes))
    return lower.astype(dtype), upper.astype(dtype)


def table_of(library, corners, keys):
    axes = corners[0].shape[1]
    return make(
        library,
        {f"lo{k}": corners[0][:, k].tolist() for k in range(axes)}
        | {f"hi{k}": corners[1][:, k].tolist() for k in range(axes)}
        | {"key": keys.tolist(), "row": list(range(len(keys)))},
    )


def all_distances(left, right):
    """Return the distance of each left box from each right one."""
    gaps = np.maximum(left[0][:, None] - right[1], right[0] - left[1][:, None]).clip(0)
    return gaps[..., 0] if gaps.shape[2] == 1 else np.sqrt((gaps.astype(float) ** 2).sum(axis=2))


def all_overlaps(left, right, closed):
    """Return whether each left box has a point in common with each right one: by halves, of whole numbers."""
    if closed == "both":
        return all_distances(left, right) == 0
    ends = []
    for lower, upper in (left, right):
        is_point = lower == upper
        ends.append(np.where(is_point, 2 * lower, 2 * lower + (closed != "left")))
        ends.append(np.where(is_point, 2 * upper, 2 * upper - (closed != "right")))
    return ((ends[0][:, None] <= ends[3]) & (ends[2] <= ends[1][:, None])).all(axis=2)


def plain_nearest(left, right, keys, k, ties, most, direction, closed):
    """Return (row of left, row of right or None, distance or None), by sorting all distances."""
    distances, touches = all_distances(left, right), ~all_overlaps(left, right, closed)
    is_allowed = keys[0][:, None] == keys[1]
    if direction == "backward":
        is_allowed &= right[0][:, 0] <= left[1][:, :1]
    if direction == "forward":
        is_allowed &= right[1][:, 0] >= left[0][:, :1]
    result = []
    begins = right[0][:, 0] if right[0].shape[1] == 1 else np.zeros(len(right[0]))
    for i, row in enumerate(distances):
        near = np.flatnonzero(is_allowed[i] & (row <= most))
        near = near[np.lexsort((near, begins[near], touches[i, near], row[near]))]
        count = k
        while ties == "all" and 0 < count < len(near) and row[near[count]] == row[near[k - 1]]:
            count += 1
        result += [(i, int(j), row[j]) for j in near[:count]] or [(i, None, None)]
    return result


def check_nearest(library, left, right, keys, **options):
    axes = left[0].shape[1]
    ends = {"lower": [f"lo{k}" for k in range(axes)], "upper": [f"hi{k}" for k in range(axes)]}
    tables = [table_of(library, *one) for one in ((left, keys[0]), (right, keys[1]))]
    given = {"k": 1, "ties": "first", "direction": "both"} | options
    found = rows_of(bp.join(*tables, **ends, by="key", how="nearest", distance=True, keep=(["row"], ["row"]), **given))
    most = given.get("max_distance", math.inf)
    expected = plain_nearest(
        left, right, keys, given["k"], given["ties"], most, given["direction"], given.get("closed", "both")
    )
    assert [row[:2] for row in found] == [row[:2] for row in expected], options
    for one, two in zip(found, expected, strict=True):
        assert one[2] == two[2] or math.isclose(one[2], two[2], rel_tol=1e-15), options


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
@pytest.mark.parametrize("layout", ["scattered", "points", "lattice", "equal"])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_nearest_rows_are_those_of_all_distances(axes, layout, dtype):
    rng = np.random.default_rng([axes, len(layout)])
    for k, ties, most in [(1, "first", None), (1, "all", None), (3, "first", 40), (3, "all", None), (500, "all", 8)]:
        for n, m in [(1, 1), (2, 1), (1, 2), (70, 50)]:
            left, right = (boxes_of(rng, size, axes, layout, dtype) for size in (n, m))
            keys = [rng.integers(0, 3, size) for size in (n, m)]
            options = {"k": k, "ties": ties} | ({} if most is None else {"max_distance": most})
            for direction in ("both", "backward", "forward") if axes == 1 else ("both",):
                check_nearest("pyarrow", left, right, keys, **options, direction=direction)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("layout", ["scattered", "lattice", "equal"])
@pytest.mark.parametrize("closed", ["left", "right", "neither"])
def test_rows_that_overlap_come_before_those_that_touch(axes, layout, closed):
    rng = np.random.default_rng(axes)
    for k, ties in [(1, "first"), (1, "all"), (2, "first"), (4, "first"), (2, "all"), (200, "first")]:
        left, right = (boxes_of(rng, n, axes, layout) for n in (70, 50))
        keys = [rng.integers(0, 3, n) for n in (70, 50)]
        for direction in ("both", "backward") if axes == 1 else ("both",):
            check_nearest("pyarrow", left, right, keys, k=k, ties=ties, closed=closed, direction=direction)


@pytest.mark.parametrize("closed", ["both", "left", "neither"])
@pytest.mark.parametrize("layout", ["lattice", "equal"])
def test_the_first_of_many_boxes_that_overlap_are_found(layout, closed):
    rng = np.random.default_rng(2)
    left, right = (boxes_of(rng, n, 2, layout) for n in (120, 1500))
    for sides in (1, 3):  # keys with many boxes, and with few
        keys = [rng.integers(0, sides, n) for n in (120, 1500)]
        keys[1][rng.random(1500) < 0.5] = 0
        for k, ties in [(1, "first"), (3, "first"), (400, "first"), (2, "all")]:
            check_nearest("pyarrow", left, right, keys, k=k, ties=ties, closed=closed)


@pytest.mark.parametrize("axes", [1, 2])
def test_an_event_is_nearest_to_the_session_that_it_belongs_to(axes):
    pl = pytest.importorskip("polars")
    sessions = pl.DataFrame({"a": [0.0, 10.0], "b": [10.0, 20.0], "s": ["first", "second"]})
    events = pl.DataFrame({"t": [-1.0, 0.0, 10.0, 20.0]})
    options = {"lower": [("t", "a")] * axes, "upper": [("t", "b")] * axes, "how": "nearest", "keep": ([], ["s"])}
    expected = {
        "both": ["first", "first", "first", "second"], "left": ["first", "first", "second", "second"],
        "right": ["first", "first", "first", "second"], "neither": ["first", "first", "first", "second"],
    }  # fmt: skip
    for closed, names in expected.items():
        assert bp.join(events, sessions, **options, closed=closed)["s"].to_list() == names, closed


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("axes", [1, 2])
def test_nearest_rows_come_from_every_library(library, axes):
    rng = np.random.default_rng(3)
    left, right = (boxes_of(rng, 30, axes, "lattice") for _ in range(2))
    keys = [rng.integers(0, 2, 30), rng.integers(1, 3, 30)]
    for k, ties in [(1, "first"), (2, "all")]:
        check_nearest(library, left, right, keys, k=k, ties=ties)


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("k", [1, 2])
def test_nearest_of_tables_without_rows(axes, k):
    pl = pytest.importorskip("polars")
    some = pl.DataFrame({"a": [0, 5], "b": [1, 6]})
    options = {"lower": ["a"] * axes, "upper": ["b"] * axes, "how": "nearest", "k": k, "distance": True}
    assert bp.join(some[:0], some, **options).height == 0
    for left in (some[:0], some):
        joined = bp.join(left, some[:0], **options)
        assert joined.rows() == [(*row, None, None, None) for row in left.rows()]


def test_distances_are_exact_for_int64_of_any_size():
    pl = pytest.importorskip("polars")
    most = 2**63 - 1
    left = pl.DataFrame({"a": [2**62 + 5, -5], "b": [2**62 + 7, most]})
    right = pl.DataFrame({"a": [2**62, 2**62 + 10, 3], "b": [2**62 + 1, 2**62 + 20, 9]})
    options = {"lower": "a", "upper": "b", "how": "nearest", "distance": True, "keep": ([], ["a"])}
    assert bp.join(left, right, **options).rows() == [(2**62 + 10, 3), (3, 0)]
    assert bp.join(left[:1], right, **options, k=3).rows() == [(2**62 + 10, 3), (2**62, 4), (3, 2**62 - 4)]
    assert bp.join(left[:1], right, **options, k=3, max_distance=4).rows() == [(2**62 + 10, 3), (2**62, 4)]
    assert bp.join(left[:1], right, **options, k=3, max_distance=3.5).rows() == [(2**62 + 10, 3)]
    assert bp.join(left[:1], right, **options, direction="backward").rows() == [(2**62, 4)]
    far = pl.DataFrame({"a": [-(2**63)], "b": [-(2**63)]})
    for k in (1, 2):
        with pytest.raises(ValueError, match=r"left: row 0: int64 cannot hold the length 13835058055282163717"):
            bp.join(left[:1], far, **options, k=k)
    with pytest.raises(
        ValueError, match=r"left, column 'a': along several axes, distances are of numbers up to 2\*\*5"
    ):
        bp.join(left, right, **options | {"lower": ["a", "a"], "upper": ["b", "b"]})


@pytest.mark.parametrize("direction", ["backward", "forward", "both"])
@pytest.mark.parametrize("kind", ["int64", "float64", "datetime64[ns]", "datetime64[s]"])
def test_points_are_matched_as_by_merge_asof(direction, kind):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(8)
    left, right = (
        pd.DataFrame({"t": rng.integers(0, 300, n).astype(kind), "g": rng.integers(0, 3, n), "row": range(n)})
        for n in (80, 60)
    )
    right = right.drop_duplicates(["t", "g"])  # of which merge_asof takes the last
    asof = pd.merge_asof(
        left.sort_values("t"), right.sort_values("t").assign(at=lambda x: x.t), on="t", by="g",
        direction={"both": "nearest"}.get(direction, direction), suffixes=("", "_right"),
    ).sort_values("row")  # fmt: skip
    ours = bp.join(left, right, lower="t", upper="t", by="g", how="nearest", direction=direction)
    if direction == "both":  # merge_asof takes either of two at the same distance
        ours = ours.assign(at=ours["t_right"])
        assert ((ours["at"] - ours["t"]).abs().tolist() == (asof["at"] - asof["t"]).abs()).all()
    else:
        assert ours["row_right"].astype("float64").fillna(-1).tolist() == asof["row_right"].fillna(-1).tolist()
        assert ours["row_right"].isna().any()


@pytest.mark.parametrize("k", [1, 3])
def test_distances_are_those_of_bioframe(k):
    pd, bioframe = pytest.importorskip("pandas"), pytest.importorskip("bioframe")
    rng = np.random.default_rng(9)
    left, right = (
        pd.DataFrame({"chrom": rng.choice(["chr1", "chr2"], n), "start": start, "end": start + rng.integers(1, 20, n)})
        for n, start in ((150, rng.integers(0, 5000, 150)), (100, rng.integers(0, 5000, 100)))
    )
    theirs = bioframe.closest(left, right, k=k).groupby(["chrom", "start", "end"])["distance"].apply(sorted)
    ours = bp.join(
        left, right, lower="start", upper="end", by="chrom", how="nearest", k=k, distance=True, closed="left"
    )
    ours = ours.groupby(["chrom", "start", "end"])["distance"].apply(sorted)
    assert len(theirs) == len(ours)
    assert [list(map(int, x)) for x in theirs] == [list(map(int, x)) for x in ours]


def test_distances_of_times_are_durations_and_so_are_limits():
    pl = pytest.importorskip("polars")
    start = dt.datetime(2026, 1, 1)
    left = pl.DataFrame({"t": [start, start + dt.timedelta(hours=5), None]})
    right = pl.DataFrame({"u": [start + dt.timedelta(minutes=x) for x in (-30, 40, 400)]})
    options = {"lower": ("t", "u"), "upper": ("t", "u"), "how": "nearest", "distance": "gap", "keep": ([], [])}
    minutes = [None if x is None else x // dt.timedelta(minutes=1) for x in bp.join(left, right, **options)["gap"]]
    assert minutes == [30, 100, None]
    for most in (dt.timedelta(minutes=35), np.timedelta64(35, "m")):
        assert bp.join(left, right, **options, max_distance=most)["gap"].null_count() == 2
        assert bp.join(left, right, **options, k=2, max_distance=most)["gap"].null_count() == 2
    with pytest.raises(
        TypeError, match=r"max_distance: left, column 't' holds times \(datetime\): give a timedelta, not"
    ):
        bp.join(left, right, **options, max_distance=5)
    two = {"lower": [("t", "u")] * 2, "upper": [("t", "u")] * 2}
    with pytest.raises(
        TypeError, match=r"left, column 't' holds times \(datetime\): along several axes, distances are"
    ):
        bp.join(left, right, **options | two)


@pytest.mark.parametrize("axes", [1, 2])
def test_rows_without_end_are_near_all_that_follows(axes):
    pl = pytest.importorskip("polars")
    left = pl.DataFrame({"a": [0, 100, -50], "b": [1, 101, -40]})
    right = pl.DataFrame({"a": [10, None, 60], "b": [None, -30, 70]}, schema={"a": pl.Int64, "b": pl.Int64})
    options = {"lower": ["a"] * axes, "upper": ["b"] * axes, "how": "nearest", "distance": True, "keep": ([], ["b"])}
    scale = math.sqrt(axes)
    joined = bp.join(left, right, **options, missing="unbounded")
    assert [row[0] for row in joined.rows()] == [None, None, -30]
    assert joined["distance"].to_list() == pytest.approx([9 * scale, 0, 0])
    assert bp.join(left, right, **options).rows() == [
        (70, pytest.approx(59 * scale)), (70, pytest.approx(30 * scale)), (70, pytest.approx(100 * scale)),
    ]  # fmt: skip


def test_huge_and_infinite_boxes_have_distances():
    pl = pytest.importorskip("polars")
    big = 1.5e308
    left = pl.DataFrame({"a": [-big, math.inf, -math.inf], "b": [-big, math.inf, math.inf]})
    right = pl.DataFrame({"a": [0.0, big], "b": [1.0, big]})
    options = {"lower": ["a", "a"], "upper": ["b", "b"], "how": "nearest", "distance": True, "keep": ([], ["a"])}
    assert bp.join(left, right, **options).rows() == [(0.0, math.inf), (0.0, math.inf), (0.0, 0.0)]
    assert bp.join(left, right, **options, max_distance=1e300).rows() == [(None, None), (None, None), (0.0, 0.0)]


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("axes", [1, 2])
def test_invalid_rows_and_too_many_rows_are_named(k, axes):
    pl = pytest.importorskip("polars")
    good = pl.DataFrame({"a": [0.0, 1.0], "b": [1.0, 2.0]})
    options = {"lower": ["a"] * axes, "upper": ["b"] * axes, "how": "nearest"}
    for bad, message in ((0.5, r"right: row 1: 'a' > 'b' \(1.0 > 0.5\)"), (math.nan, "right: row 1: 'b' is NaN")):
        with pytest.raises(InvalidBoxError, match=message) as caught:
            bp.join(good, good.with_columns(b=pl.Series([1.0, bad])), **options, k=k)
        assert caught.value.row == 1
    assert bp.join(good, good, **options, k=2, max_pairs=4).height == 4
    with pytest.raises(TooManyPairsError, match="more than max_pairs=3"):
        bp.join(good, good, **options, k=2, max_pairs=3)


def test_options_of_nearest_rows_are_checked():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [0, 1], "b": [1, 2]})
    ends = {"lower": "a", "upper": "b"}
    with pytest.raises(ValueError, match="k must be at least 1, not 0"):
        bp.join(frame, frame, **ends, how="nearest", k=0)
    with pytest.raises(TypeError, match=r"k must be a whole number, not '2'"):
        bp.join(frame, frame, **ends, how="nearest", k="2")
    with pytest.raises(ValueError, match="max_distance must be at least 0, not -1"):
        bp.join(frame, frame, **ends, how="nearest", max_distance=-1)
    with pytest.raises(TypeError, match=r"max_distance: left, column 'a' holds numbers: give a number, not"):
        bp.join(frame, frame, **ends, how="nearest", max_distance=dt.timedelta(1))
    with pytest.raises(TypeError, match="max_distance must be one length"):
        bp.join(frame, frame, **ends, how="nearest", max_distance=[1])
    with pytest.raises(ValueError, match=r"unknown ties 'last'; known: first, all|unknown ties 'last'"):
        bp.join(frame, frame, **ends, how="nearest", ties="last")
    with pytest.raises(ValueError, match="unknown direction 'forwards'"):
        bp.join(frame, frame, **ends, how="nearest", direction="forwards")
    with pytest.raises(ValueError, match="direction='forward' is for one axis, not 2"):
        bp.join(frame, frame, lower=["a", "a"], upper=["b", "b"], how="nearest", direction="forward")
    for option in ({"k": 2}, {"ties": "all"}, {"max_distance": 3}, {"direction": "forward"}, {"distance": True}):
        with pytest.raises(ValueError, match=f'{next(iter(option))} is for how="nearest"'):
            bp.join(frame, frame, **ends, **option)
    for option in ({"margin": 2}, {"min_overlap": 1}):
        with pytest.raises(
            ValueError, match=f'{next(iter(option))} is not for how="nearest", which takes max_distance'
        ):
            bp.join(frame, frame, **ends, **option, how="nearest")
