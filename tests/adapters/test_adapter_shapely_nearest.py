"""The nearest geometries: pairs, their order and distances are those of shapely to the last bit; k of all distances."""

import threading

import numpy as np
import pytest

shapely = pytest.importorskip("shapely", reason="shapely is not installed")

from broadphase.adapters import shapely as ours  # noqa: E402 (the library is there)
from test_adapter_shapely import answer_all, feature, things  # noqa: E402

KIND_COUNT = 8
OPTIONS = (
    {},
    {"all_matches": False},
    {"exclusive": True},
    {"max_distance": 1.5},
    {"max_distance": 0.4, "exclusive": True, "all_matches": False},
)


@pytest.fixture(autouse=True)
def small_arrays_are_ours_too(monkeypatch):
    answer_all(monkeypatch)


def assert_alike(geometries, inputs, capacity=10, scale=1.0, options=OPTIONS):
    """All answers are those of shapely, and no tree of shapely gave them."""
    found, expected = (kind.STRtree(geometries, capacity) for kind in (ours, shapely))
    for given in options:
        given = {**given}
        if "max_distance" in given:
            given["max_distance"] *= scale
        pairs, distances = found.query_nearest(inputs, return_distance=True, **given)
        expected_pairs, expected_distances = expected.query_nearest(inputs, return_distance=True, **given)
        np.testing.assert_array_equal(pairs, expected_pairs)
        np.testing.assert_array_equal(distances, expected_distances)
        np.testing.assert_array_equal(found.query_nearest(inputs, **given), expected_pairs)
    there = inputs[~(shapely.is_missing(inputs) | shapely.is_empty(inputs))]
    if len(there) and len(found):
        np.testing.assert_array_equal(found.nearest(there), expected.nearest(there))
    assert "_tree" not in vars(found)


def some_nearest(geometries, inputs, k, most=np.inf, all_matches=True, exclusive=False):
    """The k nearest by a table of all distances: rows of (input, number, distance)."""
    rows = []
    for row, one in enumerate(inputs):
        near = []
        for number, other in enumerate(geometries):
            if one is None or other is None or one.is_empty or other.is_empty or (exclusive and one.equals(other)):
                continue
            distance = one.distance(other)
            if distance <= most:
                near.append((distance, number))
        near.sort()
        last = near[k - 1][0] if len(near) > k else np.inf
        for place, (distance, number) in enumerate(near):
            if place < k or (all_matches and distance <= last):
                rows.append((row, number, distance))
    return rows


@pytest.mark.parametrize("scale", [1, 1 / 3, 1e-3, 1e100])
@pytest.mark.parametrize("kind", [*range(KIND_COUNT), None])
@pytest.mark.parametrize("other", [0, 2, 7, None])
def test_nearest_features_on_a_lattice_equal_those_of_shapely(kind, other, scale):
    random = np.random.default_rng([9 if kind is None else kind, 9 if other is None else other])
    for side in (3, 6, 15, 60):
        geometries, inputs = (np.array([feature(random, side, scale, one) for _ in range(40)]) for one in (kind, other))
        inputs[:5] = geometries[:5]
        geometries[7] = inputs[8] = None
        inputs[9] = shapely.LineString()
        assert_alike(geometries, inputs, int(random.integers(2, 12)), scale)


@pytest.mark.parametrize("far", [0.0, 1e6, -1e9, 1e15])
def test_nearest_features_off_a_lattice_equal_those_of_shapely(far):
    random = np.random.default_rng(2)

    def moved(count):
        made = [feature(random, 12, 0.37) for _ in range(count)]
        return np.array([shapely.transform(one, lambda at: at + random.random() + far) for one in made])

    for count in (1, 2, 3, 9, 10, 11, 150):
        assert_alike(moved(count), moved(count))


def test_nearest_things_with_holes_and_none_equal_those_of_shapely():
    random = np.random.default_rng(3)
    assert_alike(things(random, 300), things(random, 300))


def test_nearest_rectangles_equal_those_of_shapely():
    random = np.random.default_rng(4)
    for scale in (1.0, 0.1, 1e5):
        corners = random.random((2, 300, 2)) * scale * 20
        sizes = random.random((2, 300, 2)) * scale
        geometries, inputs = (shapely.box(*low.T, *(low + size).T) for low, size in zip(corners, sizes, strict=True))
        assert_alike(geometries, inputs, scale=scale)


def wave(count, turns=40.0, shift=0.0):
    """A ring of many vertices."""
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
    radius = 1 + 0.1 * np.sin(turns * angle + shift)
    return shapely.Polygon(np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1))


def test_nearest_of_outlines_with_many_vertices_equal_those_of_shapely():
    random = np.random.default_rng(5)
    outlines = np.array(
        [shapely.transform(wave(count), lambda at: at + random.uniform(-4, 4, 2)) for count in (33, 64, 65, 500, 900)]
    )
    lines = shapely.boundary(outlines)
    halves = np.array([shapely.MultiPolygon([outlines[0], outlines[4]]), shapely.MultiLineString(list(lines[:3]))])
    points = shapely.points(random.uniform(-6, 6, (80, 2)))
    clouds = np.array([shapely.MultiPoint(random.uniform(-6, 6, (count, 2))) for count in (3, 40, 400)])
    everything = np.concatenate((outlines, lines, halves, points, clouds))
    assert_alike(everything, everything)
    assert_alike(outlines[:1], points)


def test_nearest_of_the_same_geometry_again_and_again_are_all_of_them():
    one = wave(50)
    same = np.array([one] * 40)
    at_one_place = np.array([shapely.Point(2, 3), shapely.MultiPoint([(2, 3)]), shapely.Point(2, 3)] * 8)
    queries = np.array([shapely.Point(5, 5), one, shapely.Point(2, 3), shapely.box(1, 1, 2, 2)])
    for geometries in (same, at_one_place):
        assert_alike(geometries, queries)
    assert_alike(at_one_place, at_one_place)
    assert len(ours.STRtree(same).query_nearest(queries)[0]) == 160


def test_nearest_ignores_height_and_asks_geos_for_collections_and_points_as_lines():
    random = np.random.default_rng(6)
    raised = shapely.points(random.integers(0, 9, (60, 3)).astype(float))
    odd = np.array(
        [
            shapely.GeometryCollection([shapely.Point(*random.random(2) * 9), shapely.box(x, 1, x + 1, 2)])
            for x in range(8)
        ]
        + [shapely.LineString([(x, x), (x, x)]) for x in range(8)]
        + [shapely.MultiPoint([(x, 1), (2, x)]) for x in range(4)]
    )
    assert_alike(raised, np.concatenate((odd, raised)))
    assert_alike(odd, np.concatenate((odd, raised)))


def test_nearest_with_a_distance_at_the_border_is_as_in_shapely():
    """Boxes are compared first: rounding leaves out what is as far as the distance."""
    random = np.random.default_rng(7)
    geometries = shapely.points(random.random((200, 2)))
    inputs = shapely.points(random.random((200, 2)))
    inputs[:100] = shapely.transform(inputs[:100], lambda at: np.stack((at[:, 0], np.zeros(len(at))), axis=1))
    geometries[:150] = shapely.transform(geometries[:150], lambda at: np.stack((at[:, 0], np.zeros(len(at))), axis=1))
    found, expected = ours.STRtree(geometries), shapely.STRtree(geometries)
    distances = expected.query_nearest(inputs, return_distance=True)[1]
    for most in (*distances[:60], *np.nextafter(distances[:30], 0)):
        for one, other in zip(
            found.query_nearest(inputs, most, True), expected.query_nearest(inputs, most, True), strict=True
        ):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("wrong", [{"max_distance": 0}, {"max_distance": -1}, {"max_distance": [1]}, {"exclusive": 2}])
def test_wrong_options_raise_as_in_shapely(wrong):
    points = shapely.points(np.arange(8.0), np.arange(8.0))
    with pytest.raises(ValueError, match=next(iter(wrong))) as expected:
        shapely.STRtree(points).query_nearest(points, **wrong)
    for more in ({}, {"k": 2}):
        with pytest.raises(ValueError, match=next(iter(wrong))) as found:
            ours.STRtree(points).query_nearest(points, **wrong, **more)
        assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("most", [np.inf, np.nan, np.float32(2.5), 3])
def test_unusual_distances_are_taken_as_in_shapely(most):
    random = np.random.default_rng(8)
    points, inputs = (shapely.points(random.integers(0, 30, (n, 2)).astype(float)) for n in (60, 50))
    expected = shapely.STRtree(points).query_nearest(inputs, most)
    np.testing.assert_array_equal(ours.STRtree(points).query_nearest(inputs, most), expected)


def test_missing_inputs_and_none_at_all_are_as_in_shapely():
    points = shapely.points(np.arange(8.0), np.arange(8.0))
    with pytest.raises(ValueError, match="empty geometry or missing"):
        ours.STRtree(points).nearest([*points, None])
    with pytest.raises(TypeError):
        ours.STRtree(points).query_nearest(["no geometry"] * 9)
    for tree in (np.empty(0, object), np.array([None, shapely.Point()])):
        assert ours.STRtree(tree).nearest(points) is None
        assert ours.STRtree(tree).query_nearest(points).shape == (2, 0)
    assert ours.STRtree(points).query_nearest(np.empty(0, object)).shape == (2, 0)
    assert ours.STRtree(points).query_nearest(points[3]).tolist() == [3]
    assert ours.STRtree(points).nearest(points[3]) == 3


@pytest.mark.filterwarnings("ignore:invalid value")  # shapely's own
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_coordinates_beyond_those_of_the_core_are_left_to_shapely(bad):
    random = np.random.default_rng(9)
    points, inputs = (shapely.points(random.random((60, 2))) for _ in range(2))
    boxes = shapely.box(*random.random((2, 40)), 2, 3)
    for geometries in (points, boxes):
        geometries[3] = shapely.LineString([(0, 0), (1, bad)])
        expected = shapely.STRtree(geometries).query_nearest(inputs, return_distance=True)
        for one, other in zip(ours.STRtree(geometries).query_nearest(inputs, None, True), expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("with_functions", [True, False])
@pytest.mark.parametrize("k", [1, 2, 5, 1000])
def test_some_nearest_are_those_of_all_distances(k, with_functions, monkeypatch):
    if not with_functions:
        monkeypatch.setattr(ours, "_GEOS", None)
    random = np.random.default_rng(10)
    for side in (4, 30):
        geometries, inputs = (np.array([feature(random, side, 0.1) for _ in range(n)]) for n in (50, 30))
        geometries[3] = inputs[4] = None
        inputs[:3] = geometries[:3]
        tree = ours.STRtree(geometries)
        for options in ({}, {"all_matches": False}, {"exclusive": True}, {"max_distance": 0.3}):
            given = {"most": options.get("max_distance", np.inf)} | {
                name: options[name] for name in ("all_matches", "exclusive") if name in options
            }
            expected = some_nearest(geometries, inputs, k, **given)
            pairs, distances = tree.query_nearest(inputs, return_distance=True, k=k, **options)
            assert list(zip(*pairs.tolist(), distances.tolist(), strict=True)) == expected
        one = tree.query_nearest(inputs[7], k=k)
        assert one.tolist() == [number for row, number, _ in some_nearest(geometries, inputs[7:8], k)]
    assert ours.STRtree([]).query_nearest(inputs, k=k).shape == (2, 0)


@pytest.mark.parametrize(("k", "error"), [(0, ValueError), (-1, ValueError), (1.5, ValueError), ("2", TypeError)])
def test_wrong_k_is_named(k, error):
    points = shapely.points(np.arange(8.0), np.arange(8.0))
    with pytest.raises(error, match=r"^k must be"):
        ours.STRtree(points).query_nearest(points, k=k)


def test_nearest_in_threads_are_the_same():
    random = np.random.default_rng(11)
    geometries, inputs = (np.array([feature(random, 40, 1.0) for _ in range(300)]) for _ in range(2))
    tree, expected = ours.STRtree(geometries), shapely.STRtree(geometries).query_nearest(inputs)
    found = []
    threads = [threading.Thread(target=lambda: found.append(tree.query_nearest(inputs))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for one in found:
        np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize("how", ["inner", "left", "right"])
def test_sjoin_nearest_of_some_is_that_of_all_distances(how):
    geopandas = pytest.importorskip("geopandas", reason="geopandas is not installed")
    random = np.random.default_rng(12)
    left, right = (
        geopandas.GeoDataFrame({name: range(n)}, geometry=[feature(random, 20, 1.0) for _ in range(n)])
        for name, n in (("l", 30), ("r", 40))
    )
    found = ours.sjoin_nearest(left, right, how, k=3, distance_col="far")
    asked, others = (right, left) if how == "right" else (left, right)
    expected = some_nearest(others.geometry, asked.geometry, 3)
    if how == "right":
        expected = [(other, row, far) for row, other, far in sorted(expected, key=lambda one: one[1])]
        assert sorted(zip(found["l"], found["r"], found["far"], strict=True)) == sorted(expected)
    else:
        assert list(zip(found["l"], found["r"], found["far"], strict=True)) == expected
    with pytest.raises(ValueError, match="k must be at least 1, not 0"):
        ours.sjoin_nearest(left, right, k=0)
    with pytest.raises(ValueError, match="k is not for period"):
        ours.sjoin_nearest(left, right, k=1, period=360)
    pairs = ["l", "r"]
    assert ours.sjoin_nearest(left, right, how)[pairs].equals(geopandas.sjoin_nearest(left, right, how)[pairs])
