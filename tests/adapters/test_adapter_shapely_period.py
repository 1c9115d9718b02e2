"""Joins of frames in a plane that repeats, judged by loops over all images of all geometries."""

from itertools import product

import numpy as np
import pytest

pytest.importorskip("shapely", reason="shapely is not installed")
pytest.importorskip("geopandas", reason="geopandas is not installed")
import shapely
from geopandas import GeoDataFrame, sjoin, sjoin_nearest
from geopandas.testing import assert_geodataframe_equal

from broadphase import data
from broadphase.adapters import shapely as ours

PREDICATES = (
    *("intersects", "within", "contains", "overlaps", "crosses", "touches"),
    *("covers", "covered_by", "contains_properly"),
)


@pytest.fixture(params=[True, False], ids=["by the core", "by shapely"], autouse=True)
def small_arrays_are_ours_too(request, monkeypatch):
    if request.param:
        for name, value in (("_FEW", 16), ("_MANY", 1), ("_FIRST_SHARE", 0), ("_SAMPLE", 1)):
            monkeypatch.setattr(ours, name, value)


def images(geometry, period, steps):
    """A geometry moved by every multiple, in a plain loop."""
    choices = [[0] if length is None else range(-steps, steps + 1) for length in period]
    for factors in product(*choices):
        step = [0 if length is None else factor * length for factor, length in zip(factors, period, strict=True)]
        yield shapely.transform(geometry, lambda at, step=step: at + step)


def meeting(left, right, period, predicate, *given, steps=3):
    """Pairs of which some image of the left one meets the right one."""
    found = set()
    for row, one in enumerate(left):
        if one is None or one.is_empty:
            continue
        for image in images(one, period, steps):
            found |= {(row, int(other)) for other in np.flatnonzero(getattr(shapely, predicate)(image, right, *given))}
    return found


def nearest(left, right, period, most=np.inf, steps=3):
    """By left row, the least distance of an image, and the right rows that are as near."""
    found = {}
    for row, one in enumerate(left):
        if one is None or one.is_empty:
            continue
        apart = np.array([shapely.distance(image, right) for image in images(one, period, steps)], float)
        apart = np.where(np.isnan(apart), np.inf, apart).min(axis=0)
        if (least := apart.min()) <= most and least < np.inf:
            found |= {(row, int(other)): least for other in np.flatnonzero(apart == least)}
    return found


def scene(random, count, period, size, start):
    """Geometries of every kind in a period, on a lattice as often as not; some split at its ends."""
    made = []
    width, height = (40 if length is None else length for length in period)
    for _ in range(count):
        at = start + random.random(2) * (width, height)
        if random.random() < 0.5:
            at = at.round()
        far = at + size * random.integers(1, 4, 2) / 2
        kind = random.integers(0, 8)
        if kind == 0:
            made.append(None if random.random() < 0.5 else shapely.Polygon())
        elif kind in (1, 2):
            made.append(shapely.Point(at))
        elif kind == 3:
            made.append(shapely.LineString([at, far, (at[0], far[1])]))
        elif kind == 4:
            made.append(shapely.Point(at).buffer(size, quad_segs=3))
        elif kind == 5:  # both ends of the period
            low, high = (
                shapely.box(start, at[1], start + size, far[1]),
                shapely.box(start + width - 1, *at[1:], start + width, far[1]),
            )
            made.append(shapely.MultiPolygon([low, high]))
        elif kind == 6:
            made.append(
                shapely.GeometryCollection(
                    [
                        shapely.Point(start, at[1]),
                        shapely.LineString([(start + width - size, at[1]), (start + width, far[1])]),
                    ]
                )
            )
        else:
            made.append(shapely.box(*at, *far))
    return np.array(made, object)


def frame(geometries, **columns):
    return GeoDataFrame({"row": np.arange(len(geometries)), **columns}, geometry=geometries)


def rows_of(joined):
    return list(zip(joined["row_left"].tolist(), joined["row_right"].tolist(), strict=True))


PERIODS = [(24, None), (None, 20), (24, 20)]


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("predicate", PREDICATES)
def test_sjoin_with_a_period_finds_what_all_images_meet(period, predicate):
    random, total = np.random.default_rng([PERIODS.index(period), PREDICATES.index(predicate)]), 0
    for size, start in ((2.0, 0), (4.0, -12), (1.0, -30)):
        left, right = scene(random, 90, period, size, start), scene(random, 110, period, 2 * size, 0)
        expected = meeting(left, right, period, predicate)
        total += len(expected)
        found = rows_of(ours.sjoin(frame(left), frame(right), predicate=predicate, period=period))
        assert len(found) == len(set(found))
        assert set(found) == expected
    assert total


@pytest.mark.parametrize("period", PERIODS)
def test_sjoin_by_distance_with_a_period_finds_what_images_are_near(period):
    random = np.random.default_rng(7)
    left, right = scene(random, 60, period, 1.0, -3), scene(random, 70, period, 1.0, 0)
    for distance in (0.0, 1.0, 2.5, 30.0):
        found = rows_of(ours.sjoin(frame(left), frame(right), predicate="dwithin", distance=distance, period=period))
        assert len(found) == len(set(found))
        assert set(found) == meeting(left, right, period, "dwithin", distance)
    each = random.choice([0.5, 1.0, 9.0], len(left))
    found = rows_of(ours.sjoin(frame(left), frame(right), predicate="dwithin", distance=each, period=period))
    expected = {
        pair
        for length in set(each)
        for pair in meeting(left, right, period, "dwithin", length)
        if each[pair[0]] == length
    }
    assert set(found) == expected


@pytest.mark.parametrize("how", ["inner", "left", "right"])
@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("most", [None, 0.8])
def test_sjoin_nearest_with_a_period_is_that_of_all_images(how, period, most):
    random = np.random.default_rng(8)
    for points in (False, True):
        left, right = (scene(random, count, period, 1.0, start) for count, start in ((50, -5), (40, 0)))
        if points:
            left, right = (shapely.points(random.integers(0, 40, (count, 2)) / 2) for count in (150, 90))
        found = ours.sjoin_nearest(
            frame(left), frame(right), how=how, max_distance=most, distance_col="far", period=period
        )
        limit = np.inf if most is None else most
        if how == "right":
            expected = {(two, one): far for (one, two), far in nearest(right, left, period, limit).items()}
        else:
            expected = nearest(left, right, period, limit)
        found = found.dropna(subset=["row_left", "row_right"])
        pairs = [(int(one), int(two)) for one, two in rows_of(found)]
        assert len(pairs) == len(set(pairs))
        assert dict(zip(pairs, found["far"], strict=True)) == expected


@pytest.mark.parametrize("how", ["inner", "left", "right"])
@pytest.mark.parametrize("predicate", ["intersects", "within"])
def test_sjoin_with_a_period_has_the_values_of_geopandas_where_nothing_is_moved(how, predicate):
    random = np.random.default_rng(4)
    left, right = (frame(scene(random, count, (24, None), 2.0, 3), n=1.5) for count in (60, 70))
    left.index, left.attrs = random.permutation(60) * 2, {"source": "here"}
    found = ours.sjoin(left, right, how, predicate, period=(1000, None))
    near = ours.sjoin_nearest(left, right, how, distance_col="far", period=1000)
    assert not left.has_sindex
    assert not right.has_sindex
    expected = sjoin(left, right, how, predicate)
    order = ["row_left", "row_right"]
    assert found.columns.equals(expected.columns)
    assert_geodataframe_equal(found.sort_values(order), expected.sort_values(order))
    expected = sjoin_nearest(left, right, how, distance_col="far")
    assert_geodataframe_equal(near.sort_values(order), expected.sort_values(order))


def test_coordinates_near_the_antimeridian_move_without_rounding():
    random = np.random.default_rng(5)
    east = np.concatenate((random.uniform(128, 180, 100_000), [128, 180, np.nextafter(180, 0)]))
    for moved, at in ((east - 360, east), (360 - east, -east)):
        assert (abs(moved) - 360 + abs(at) == 0).all()
        assert ((moved + np.where(at > 0, 360, -360)) == at).all()
    points = frame(shapely.points(-east[:500], 0))
    same = frame(shapely.points(360 - east[:500], 0))
    found = ours.sjoin(points, same, predicate="within", period=(360, None))
    assert rows_of(found) == [(row, row) for row in range(500)]
    assert (ours.sjoin_nearest(points, same, distance_col="far", period=(360, None))["far"] == 0).all()


def test_islands_on_both_sides_of_the_antimeridian_are_tested_with_what_is_near_their_parts(monkeypatch):
    boxes = data.load("us_counties")
    is_aleutian = (boxes[:, 0, 0] > 165) | ((boxes[:, 1, 0] < -169) & (boxes[:, 0, 1] > 50) & (boxes[:, 1, 1] < 55))
    polygons = shapely.box(*boxes[:, 0].T, *boxes[:, 1].T)
    islands = shapely.MultiPolygon(list(polygons[is_aleutian]))
    assert shapely.bounds(islands)[[0, 2]].round().tolist() == [-179, 180]
    towns = shapely.points(np.linspace(-160, 160, 9), 52)
    others = np.concatenate((polygons[~is_aleutian], [islands], towns))
    tested = []
    evaluate = ours._PeriodicTree._meet

    def counting(self, images, pairs, *given):
        tested.append(pairs.shape[1])
        return evaluate(self, images, pairs, *given)

    monkeypatch.setattr(ours._PeriodicTree, "_meet", counting)
    found = ours.sjoin(frame([islands]), frame(others), period=(360, None))
    assert rows_of(found) == [(0, int(np.count_nonzero(~is_aleutian)))]
    assert tested == [1]
    assert len(shapely.STRtree(others).query(islands)) > 9
    ship = frame([shapely.Point(-180.5, 51.9)])  # west of the antimeridian, beside an island at 179.7
    near = ours.sjoin_nearest(ship, frame(others), distance_col="far", period=(360, None))
    assert rows_of(near) == [(0, int(np.count_nonzero(~is_aleutian)))]
    assert near["far"].iloc[0] == shapely.distance(shapely.Point(179.5, 51.9), islands) < 1


def test_frames_that_are_empty_or_have_nothing_join_to_nothing():
    nothing = np.array([None, shapely.Polygon()], object)
    for left, right in (([], []), (nothing, [shapely.Point(0, 0)]), ([shapely.Point(0, 0)], nothing)):
        frames = frame(np.array(left, object)), frame(np.array(right, object))
        assert not len(ours.sjoin(*frames, period=360))
        assert not len(ours.sjoin(*frames, predicate="within", period=360))
        assert not len(ours.sjoin_nearest(*frames, period=360))


def test_wrong_periods_and_geometries_that_do_not_fit_are_named():
    points, wide = frame(shapely.points([[0, 0], [1, 1]])), frame([shapely.Point(5, 5), shapely.box(-200, 0, 200, 1)])
    for period, message in (
        (0, "period must be positive"),
        ((-360, None), "period must be positive"),
        (float("nan"), "period must be positive"),
        ((360, None, None), "period has 3 lengths, and boxes have 2 dimensions"),
    ):
        for call in (ours.sjoin, ours.sjoin_nearest):
            with pytest.raises(ValueError, match=message):
                call(points, points, period=period)
    with pytest.raises(TypeError, match="period"):
        ours.sjoin(points, points, period="year")
    wider = "geometry 1 is 400 wide along x, more than the period of 360"
    metres = frame(shapely.points([[0, 0], [1e6, 0]]))
    infinite = frame([shapely.LineString([(0, 0), (np.inf, 1)])])
    for call in (ours.sjoin, ours.sjoin_nearest):
        for one, message in (
            (wide, wider),
            (metres, "the geometries span 1e+06 along x, more than two periods of 360: is that their unit?"),
            (infinite, "geometry 0 has coordinates that are not finite"),
        ):
            for name, frames in (("left_df", (one, points)), ("right_df", (points, one))):
                with pytest.raises(ValueError, match=f"^{name}: {message}".replace("+", r"\+").replace("?", r"\?")):
                    call(*frames, period=(360, None))
    assert len(ours.sjoin(wide, points, period=(None, 360))) == 2
    with pytest.raises(ValueError, match="exclusive=True is not for period"):
        ours.sjoin_nearest(points, points, exclusive=True, period=360)
    with pytest.raises(ValueError, match="'right_df' should be GeoDataFrame"):
        ours.sjoin(points, [1], period=360)
    with pytest.raises(ValueError, match="'distance' parameter is required"):
        ours.sjoin(points, points, predicate="dwithin", period=360)
    assert_geodataframe_equal(ours.sjoin(points, points, period=(None, None)), sjoin(points, points))
