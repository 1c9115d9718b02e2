"""The adapter of shapely: its own tests pass with our tree in place of its, and joins are those of geopandas."""

import pickle
import subprocess
import sys
import threading
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("shapely", reason="shapely is not installed")
import shapely

import broadphase as bp
from broadphase.adapters import shapely as ours

# Its arrays are short: they are a test of ours only if we answer those too. That run reaches each line that is reached
# where few are left to shapely, but for trees that are shapely's from the beginning: every second one is.
PLUGIN = """
import shapely.tests.test_strtree as tests
import broadphase.adapters.shapely as ours
from itertools import cycle

ours._FEW = ours._FIRST_SHARE = 0
numbers, make = cycle((0, ours._MANY)), ours.STRtree.__init__

def made(self, *arguments, **options):
    ours._MANY = next(numbers)
    make(self, *arguments, **options)
    ours._MANY = 0

ours.STRtree.__init__ = made
tests.STRtree = ours.STRtree
"""
PREDICATES = ("intersects", "within", "contains", "overlaps", "crosses", "touches", "covers", "covered_by")


def answer_all(monkeypatch):
    for name, value in (("_FEW", 64), ("_MANY", 1), ("_FIRST_SHARE", 0), ("_SAMPLE", 1)):
        monkeypatch.setattr(ours, name, value)


@pytest.fixture(autouse=True)
def small_arrays_are_ours_too(monkeypatch):
    answer_all(monkeypatch)


KINDS = (shapely, ours)


def thing(random, size, side):
    """One geometry, on a lattice as often as not; None or empty too."""
    center = random.uniform(0, side, 2)
    if random.random() < 0.5:
        center = center.round()
    corner = center + size * random.integers(1, 4, 2) / 2
    made = (
        None,
        shapely.Polygon(),
        shapely.Point(center),
        shapely.LineString([center, corner]),
        shapely.box(*center, *corner),
        shapely.Point(center).buffer(size, quad_segs=3),
        shapely.box(*(center - size), *corner).difference(shapely.box(*center, *corner)),
    )
    return made[random.integers(0, len(made))]


def things(random, count, size=1.0, side=20.0):
    return np.array([thing(random, size, side) for _ in range(count)], object)


def feature(random, side, scale, kind=None):
    """One geometry on a coarse lattice: many touch, share edges, cross themselves, repeat points, and are invalid."""

    def lattice(count):
        return random.integers(0, side, (count, 2)) * scale

    def polygon():
        holes = [lattice(random.integers(3, 5)) for _ in range(random.choice((0, 0, 1, 2)))]
        return shapely.Polygon(lattice(random.integers(3, 7)), holes)

    kind = random.integers(0, 8) if kind is None else kind
    if kind == 0:
        return shapely.Point(*lattice(1))
    if kind == 1:
        return shapely.MultiPoint(lattice(random.integers(1, 4)))
    if kind == 2:
        return shapely.LineString(lattice(random.integers(2, 6)))
    if kind == 3:
        return shapely.MultiLineString([lattice(random.integers(2, 5)) for _ in range(random.integers(1, 4))])
    if kind == 4:
        return shapely.MultiPolygon([polygon() for _ in range(random.integers(1, 4))])
    if kind == 5:
        return shapely.box(*np.sort(lattice(2), axis=0).ravel())
    if kind == 6:
        x, y, width, height = random.integers(3, 7, 4)
        ring = shapely.box(x - 3, y - 3, x - 3 + width, y - 3 + height)
        return shapely.transform(ring.difference(shapely.box(x - 2, y - 2, x - 1, y - 1)), lambda at: at * scale)
    return polygon()


def test_tests_of_shapely_pass_with_ours_in_place(tmp_path):
    (tmp_path / "ours_in_place.py").write_text(PLUGIN)
    script = "import sys, pytest; sys.path.insert(0, sys.argv.pop(1)); sys.exit(pytest.main())"
    options = ["-q", "-p", "ours_in_place", "-p", "no:cacheprovider", "--pyargs"]
    result = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), *options, "-k", "not threaded", "shapely.tests.test_strtree"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout
    assert " passed" in result.stdout


@pytest.mark.parametrize("predicate", [None, *PREDICATES, "contains_properly"])
def test_private_tree_of_the_tree_of_shapely_takes_arrays_and_numbers_of_predicates(predicate):
    geometries = shapely.box(*np.random.default_rng(0).integers(0, 9, (2, 30)), 9, 9)
    tree = shapely.STRtree(geometries)
    found = tree._tree.query(geometries, ours._NUMBERS[predicate])
    np.testing.assert_array_equal(found, tree.query(geometries, predicate))


@pytest.mark.parametrize("predicate", [None, *PREDICATES, "contains_properly"])
def test_query_of_arrays_gives_the_pairs_of_shapely_in_its_order(predicate):
    random = np.random.default_rng(5)
    geometries, inputs = things(random, 300), things(random, 200, size=3.0)
    expected, found = shapely.STRtree(geometries), ours.STRtree(geometries)
    assert len(found) == len(expected)
    for asked in (inputs, geometries, geometries[::-1], inputs.tolist()):
        np.testing.assert_array_equal(found.query(asked, predicate), expected.query(asked, predicate))
    assert found.query(inputs, predicate).dtype == np.int64


@pytest.mark.parametrize("scale", [1.0, 0.1, 1 / 3, 2.0**-30, 1e100, 1e200, 2.0**-1070])
@pytest.mark.parametrize("side", [4, 12])
def test_intersects_of_lattice_features_is_that_of_shapely(scale, side):
    random = np.random.default_rng(side)
    geometries, inputs = (np.array([feature(random, side, scale) for _ in range(120)]) for _ in range(2))
    expected, found = shapely.STRtree(geometries), ours.STRtree(geometries)
    for asked in (inputs, geometries):
        np.testing.assert_array_equal(found.query(asked, "intersects"), expected.query(asked, "intersects"))


@pytest.mark.parametrize("predicate", [*PREDICATES[1:], "contains_properly"])
@pytest.mark.parametrize("side", [4, 12, None])
def test_relations_of_features_are_those_of_shapely(side, predicate):
    # Valid and invalid ones on a lattice, and in general position, where most are decided here.
    random = np.random.default_rng(side)
    many = [np.array([feature(random, side or 9, 1.0) for _ in range(100)]) for _ in range(2)]
    if side is None:
        angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
        rings = np.stack([np.cos(angles), np.sin(angles)], axis=1) * random.uniform(0.3, 2, (2, 100, 12, 1))
        rings += random.uniform(0, 9, (2, 100, 1, 2))
        many = [np.concatenate((some[::3], shapely.polygons(r))) for some, r in zip(many, rings, strict=True)]
        lines = shapely.linestrings(np.cumsum(random.normal(0, 1, (80, 5, 2)), axis=1) + 4)
        many[1] = np.concatenate((many[1], lines))
    for geometries, inputs in (many, many[::-1]):
        found = ours.STRtree(geometries).query(inputs, predicate)
        np.testing.assert_array_equal(found, shapely.STRtree(geometries).query(inputs, predicate))


@pytest.mark.parametrize("predicate", [*PREDICATES, "contains_properly"])
def test_relations_of_one_kind_with_another_are_those_of_shapely(predicate):
    # Many are answered by the dimensions alone, also of what has no length or no area.
    random = np.random.default_rng(8)
    spots = random.integers(0, 6, (70, 2))
    kinds = {
        "points": shapely.points(spots),
        "two points": shapely.multipoints(np.stack([spots, spots[::-1]], axis=1)),
        "lines": shapely.linestrings(random.integers(0, 6, (70, 3, 2))),
        "lines without length": shapely.linestrings(np.repeat(spots[:, np.newaxis], 2, axis=1)),
        "two without length": shapely.multilinestrings(
            [[(tuple(one), tuple(one)), (tuple(two), tuple(two))] for one, two in zip(spots, spots[::-1], strict=True)]
        ),
        "areas": shapely.polygons(random.integers(0, 6, (70, 4, 2))),
        "areas without area": shapely.polygons(np.repeat(spots[:, np.newaxis], 4, axis=1)),
        "collections": np.array([shapely.GeometryCollection([shapely.Point(*one)]) for one in spots]),
    }
    kinds["some of each"] = np.concatenate(list(kinds.values()))[::7]
    for asked in kinds.values():
        tree, other = ours.STRtree(asked), shapely.STRtree(asked)
        for what, inputs in kinds.items():
            with np.errstate(all="ignore"):
                assert np.array_equal(tree.query(inputs, predicate), other.query(inputs, predicate)), what


def test_intersects_of_large_features_is_that_of_shapely():
    random = np.random.default_rng(3)
    turn = np.linspace(0, 2 * np.pi, 700, endpoint=False)

    def star(radius):
        return shapely.Polygon(
            np.stack((np.cos(turn), np.sin(turn)), axis=1) * radius * random.uniform(0.8, 1, (700, 1))
        )

    cells = np.stack(np.meshgrid(np.arange(9), np.arange(9)), axis=-1).reshape(-1, 2) / 4.5 - 1
    comb = [(-1, -2), *((k / 150 - 1, 1 if k % 2 else -1) for k in range(301)), (1, -2)]
    large = np.array(
        [
            star(1),
            star(1).boundary,
            shapely.Polygon(star(1).exterior.coords, [star(0.5).exterior.coords]),
            shapely.Polygon(comb),
            shapely.Polygon(random.uniform(-1, 1, (300, 2))),
            shapely.multipoints(random.uniform(-1, 1, (400, 2))),
            shapely.multilinestrings(list(random.uniform(-1, 1, (200, 2, 2)))),
            shapely.multipolygons(shapely.box(*cells.T, *(cells + 0.1).T)),
            shapely.LineString(np.repeat(np.linspace(-1, 1, 100), 2).reshape(-1, 2)),
        ]
    )
    corners = random.uniform(-1.2, 1.1, (300, 2))
    small = np.concatenate(
        (
            shapely.points(corners),
            shapely.points(shapely.get_coordinates(large[:4])[::40]),
            shapely.box(*corners.T, *(corners + 0.03).T),
            shapely.linestrings(np.stack((corners, corners + random.normal(0, 0.1, (300, 2))), axis=1)),
            shapely.box(-3, -3, *(corners[:60] + 2).T),
            large,
        )
    )
    for geometries, inputs in ((large, small), (small, np.concatenate((large, small[:64]))), (small, small)):
        expected, found = shapely.STRtree(geometries), ours.STRtree(geometries)
        np.testing.assert_array_equal(found.query(inputs, "intersects"), expected.query(inputs, "intersects"))


def turns(a, b, c):
    (ax, ay), (bx, by), (cx, cy) = a, b, c
    side = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    return (side > 0) - (side < 0)


def cross(a, b, c, d):
    """Whether two segments meet, in fractions."""
    if any(max(a[k], b[k]) < min(c[k], d[k]) or max(c[k], d[k]) < min(a[k], b[k]) for k in (0, 1)):
        return False
    return turns(a, b, c) * turns(a, b, d) <= 0 and turns(c, d, a) * turns(c, d, b) <= 0


def encloses(ring, point):
    above = [(a, b) for a, b in pairwise(ring) if (a[1] > point[1]) != (b[1] > point[1])]
    return sum((turns(a, b, point) > 0) == (b[1] > a[1]) for a, b in above) % 2 == 1


@pytest.mark.parametrize("scale", [1.0, 1 / 3])
def test_intersects_of_rings_and_lines_is_that_of_fractions(scale, monkeypatch):
    random = np.random.default_rng(11)
    paths = [random.integers(0, 7, (random.integers(2, 6), 2)) * scale for _ in range(45)]
    paths = [path for path in paths if (path != path[0]).any()]
    is_area = [len(path) > 2 for path in paths]
    geometries = [
        shapely.Polygon(path) if area else shapely.LineString(path) for path, area in zip(paths, is_area, strict=True)
    ]
    points = [[tuple(map(Fraction, at)) for at in shapely.get_coordinates(one).tolist()] for one in geometries]

    def meet(one, other):
        if any(cross(a, b, c, d) for a, b in pairwise(points[one]) for c, d in pairwise(points[other])):
            return True
        inside = ((one, other), (other, one))
        return any(is_area[outer] and encloses(points[outer], points[inner][0]) for outer, inner in inside)

    expected = {(i, j) for i in range(len(paths)) for j in range(len(paths)) if meet(i, j)}
    if scale == 1:
        monkeypatch.setattr(ours.STRtree, "_meeting", None)  # nothing is left to GEOS
    monkeypatch.setattr(ours, "_FEW", 1)
    monkeypatch.setattr(ours, "_MANY", 1)
    found = ours.STRtree(geometries).query(np.array(geometries), "intersects")
    assert set(map(tuple, found.T.tolist())) == expected


@pytest.mark.parametrize("predicate", [*PREDICATES, "contains_properly"])
@pytest.mark.parametrize("scale", [1.0, 1 / 3])
def test_points_in_areas_are_those_of_shapely(predicate, scale):
    # On edges, on vertices, in holes and in what crosses itself: most points are on the same lattice as the areas.
    random = np.random.default_rng(17)
    for side in (4, 9):
        some = [feature(random, side, scale) for _ in range(260)]
        areas = np.array([one for one in some if one.geom_type.endswith("Polygon")], object)
        points = shapely.points(random.integers(0, 2 * side, (160, 2)) * (scale / 2))
        points[::50] = None
        points[7::50] = shapely.MultiPoint(random.integers(0, side, (3, 2)) * scale)
        points[9::50] = shapely.LineString([(scale, scale)] * 2)  # a box without extent that is no point
        mixed = np.concatenate((points, areas[::3]))
        for inputs, tree in ((points, areas), (areas, points), (mixed, areas), (areas, mixed)):
            found = ours.STRtree(tree).query(inputs, predicate)
            assert np.array_equal(found, shapely.STRtree(tree).query(inputs, predicate))


@pytest.mark.parametrize("count", [0, 5, 600, 2500])
def test_few_and_many_are_found_by_whichever_is_quicker_as_shapely_finds_them(count, monkeypatch):
    monkeypatch.undo()
    random = np.random.default_rng(count)

    def scattered():  # in one place, shapely takes half a minute
        at = random.integers(0, 8, 2) * 30
        return shapely.transform(feature(random, 60, 1.0), lambda corners: corners + at)

    geometries = np.array([scattered() for _ in range(count)] or [None], object)
    tree, expected = ours.STRtree(geometries), shapely.STRtree(geometries)
    for many in (3, 800, 1100):
        inputs = np.array([scattered() for _ in range(many)])
        for predicate in (None, "intersects", "touches", "covers"):
            assert np.array_equal(tree.query(inputs, predicate), expected.query(inputs, predicate))


def test_points_in_large_areas_are_those_of_shapely():
    # Enough points for slabs, some on the outline and many beside it.
    random = np.random.default_rng(18)
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    outline = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (1 + 0.2 * np.sin(40 * angle))[:, np.newaxis]
    areas = np.array(
        [shapely.Polygon(outline), shapely.Polygon(2 * outline, [outline[::7]]), shapely.Polygon(outline - 1)]
    )
    points = shapely.points(np.concatenate((random.uniform(-2, 2, (900, 2)), outline, outline[::7] * (1 + 1e-15))))
    for predicate in ("within", "covered_by", "touches"):
        expected = shapely.STRtree(areas).query(points, predicate)
        assert np.array_equal(ours.STRtree(areas).query(points, predicate), expected), predicate
    for predicate in ("contains", "covers", "touches"):
        expected = shapely.STRtree(points).query(np.tile(areas, 22), predicate)
        assert np.array_equal(ours.STRtree(points).query(np.tile(areas, 22), predicate), expected), predicate


def lattice_areas(random, side):
    """Areas among lattice points: discs, cells side by side, with holes, of several parts, invalid; None and empty."""
    x, y = random.integers(0, side, (2, 40))
    size = random.integers(1, 5, 40)
    rings = shapely.box(x, y, x + 2 * size, y + 2 * size)
    holed = shapely.difference(rings[:12], shapely.box(x + 1, y + 1, x + size, y + size)[:12])
    discs = shapely.buffer(shapely.points(x, y), size, quad_segs=random.integers(1, 30))
    parts = [shapely.MultiPolygon([one, shapely.transform(one, lambda at: at + 9)]) for one in holed[:4]]
    crossed = [shapely.Polygon(random.integers(0, side, (7, 2))) for _ in range(9)]
    high = shapely.force_3d(discs[:5], 7.0)
    return np.concatenate((rings, holed, discs, parts, crossed, high, [None, shapely.Polygon()])).astype(object)


@pytest.mark.parametrize("scale", [1.0, 1 / 3, 2.0**-1070])
@pytest.mark.parametrize("side", [6, 30])
def test_lattice_points_in_areas_are_those_of_shapely(side, scale):
    # Many points are on boundaries and vertices, and many in one area.
    random = np.random.default_rng(side)
    areas = shapely.transform(lattice_areas(random, side), lambda at: at * scale)
    spots = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2).repeat(4, axis=0) * scale
    points = np.append(shapely.points(spots), [None, shapely.Point(), shapely.Point(scale, scale, 5)]).astype(object)
    points = random.permutation(points)
    for predicate in ("intersects", "within", "covered_by", "touches"):
        expected = shapely.STRtree(areas).query(points, predicate)
        assert np.array_equal(ours.STRtree(areas).query(points, predicate), expected), predicate
    for predicate in ("intersects", "contains", "covers", "touches", "contains_properly"):
        expected = shapely.STRtree(points).query(areas, predicate)
        assert np.array_equal(ours.STRtree(points).query(areas, predicate), expected), predicate


@pytest.mark.parametrize("is_lattice", [True, False])
@pytest.mark.parametrize(
    "predicate", ["intersects", "crosses", "touches", "within", "covered_by", "contains", "covers"]
)
def test_many_lines_and_areas_are_those_of_shapely(predicate, is_lattice):
    # Some have many lines: inside, outside in the box, along the boundary, through vertices and holes.
    random = np.random.default_rng(25)
    areas = lattice_areas(random, 12)
    paths = random.integers(0, 14, (300, 1, 2)) + np.cumsum(random.integers(-2, 3, (300, 3, 2)), axis=1)
    paths = paths if is_lattice else paths * 0.7 + random.random((300, 3, 2))
    long = shapely.linestrings(np.repeat(paths[:20], 20, axis=1) + random.normal(0, 0.1, (20, 60, 2)))
    lines = np.concatenate(
        (shapely.linestrings(paths), shapely.multilinestrings(paths[:30].reshape(15, 2, 3, 2)), long)
    )
    for inputs, geometries in ((lines, areas), (areas, lines)):
        with np.errstate(all="ignore"):
            expected = shapely.STRtree(geometries).query(inputs, predicate)
        assert np.array_equal(ours.STRtree(geometries).query(inputs, predicate), expected)


@pytest.mark.parametrize("predicate", [*PREDICATES[1:], "contains_properly"])
def test_lines_that_cross_areas_with_a_hole_of_no_area_are_those_of_shapely(predicate):
    # GEOS finds that such areas cover and contain lines that leave them.
    areas = [
        "POLYGON ((59.25 8.5, 59.75 9.5, 60.25 9, 59.25 8.5), (59.75 9, 59.75 8.75, 59.75 9, 59.75 9))",
        "POLYGON ((74 76.75, 75.5 79, 76.25 77.75, 74 76.75), (75 77.5, 75 77.75, 75 77.75, 75 77.5))",
        "POLYGON ((26.875 2.125, 26.25 4, 27.875 3.25, 26.875 2.125),"
        "(27.375 3.25, 27.375 3.125, 27.375 3.25, 27.375 3.25))",
    ]
    lines = [
        "LINESTRING (59.75 9.5, 59.5 8.75, 60 9)",
        "LINESTRING (75.25 77.75, 74.5 77.5, 74 76.75)",
        "LINESTRING (26.5 3.25, 27.25 3.25, 27.75 3.125, 27.125 3, 27.125 3, 27.375 3.125)",
    ]
    areas, lines = (np.tile(shapely.from_wkt(some), 30) for some in (areas, lines))
    for inputs, geometries in ((areas, lines), (lines, areas)):
        expected = shapely.STRtree(geometries).query(inputs, predicate)
        assert np.array_equal(ours.STRtree(geometries).query(inputs, predicate), expected)


@pytest.mark.parametrize("spread", [1.0, 1e-9, 1e-15])
def test_unevenly_spread_points_in_areas_are_those_of_shapely(spread):
    # Most are near one place, so that as floats they are equal; and one is far.
    random = np.random.default_rng(21)
    at = 1.0 + random.normal(0, spread, (500, 2))
    points = shapely.points(np.concatenate((at, at[:, ::-1] * 3, [(-1e9, 1e300)])))
    areas = shapely.buffer(shapely.points(np.concatenate((at[::9], at[::9] * 3))), 2 * spread)
    for inputs, geometries, predicate in ((points, areas, "within"), (areas, points, "contains")):
        found = ours.STRtree(geometries).query(inputs, predicate)
        assert np.array_equal(found, shapely.STRtree(geometries).query(inputs, predicate))
        assert found.size


def test_points_in_areas_need_no_tree_of_shapely():
    random = np.random.default_rng(22)
    points, areas = (
        shapely.points(random.random((4000, 2))),
        shapely.buffer(shapely.points(random.random((300, 2))), 0.1),
    )
    for inputs, geometries, predicate in ((points, areas, "within"), (areas, points, "contains")):
        tree = ours.STRtree(geometries)
        tree.query(inputs, predicate)
        assert "_tree" not in vars(tree)


def test_contains_properly_of_neighbors_needs_no_geos(monkeypatch):
    # Each shares its edges with others; some are in the box of another, or inside.
    x, y = (at.ravel() for at in np.meshgrid(np.arange(12), np.arange(12)))
    cells = shapely.segmentize(shapely.box(x, y, x + 1, y + 1), 0.2)
    bows = shapely.polygons(np.stack([(x, y), (x + 2, y), (x + 1, y + 0.5), (x + 2, y + 2), (x, y)], axis=1).T)
    geometries = np.concatenate((cells, shapely.buffer(cells, -0.3), shapely.transform(bows, lambda at: at + 20)))
    expected = shapely.STRtree(geometries).query(geometries, "contains_properly")
    monkeypatch.setattr(ours.STRtree, "_meeting", None)
    assert np.array_equal(ours.STRtree(geometries).query(geometries, "contains_properly"), expected)
    assert expected.size


@pytest.mark.parametrize("count", [1, 2, 9, 10, 11, 99, 100, 101, 1000, 1234])
@pytest.mark.parametrize("capacity", [2, 10, 37])
def test_order_without_equal_centers_needs_no_tree_of_shapely(count, capacity):
    corners = np.random.default_rng(count).random((count, 2))
    geometries = shapely.box(*corners.T, *(corners + 0.3).T)
    inputs = np.resize(geometries[::2], 4096)
    found = ours.STRtree(geometries, capacity)
    expected = shapely.STRtree(geometries, capacity)
    np.testing.assert_array_equal(found.query(inputs), expected.query(inputs))
    assert "_tree" not in vars(found)


@pytest.mark.parametrize("far", [1e6, -1e14, 1e300, 1.7e308])
def test_order_around_one_far_geometry_is_that_of_shapely(far):
    corners = np.random.default_rng(0).random((500, 2))
    corners[7] = far
    geometries = shapely.box(*corners.T, *(corners + 0.3).T)
    found, expected = ours.STRtree(geometries), shapely.STRtree(geometries)
    np.testing.assert_array_equal(found.query(geometries), expected.query(geometries))


def test_dwithin_equals_that_of_shapely():
    random = np.random.default_rng(6)
    geometries, inputs = things(random, 300), things(random, 200)
    expected, found = shapely.STRtree(geometries), ours.STRtree(geometries)
    for distance in (0, 1, 2.5, 1e308, random.uniform(0, 3, 200), -1, np.nan):
        np.testing.assert_array_equal(
            found.query(inputs, "dwithin", distance), expected.query(inputs, "dwithin", distance)
        )
    for wrong in (None, [1.0, 2.0], [[1.0] * 200]):
        with pytest.raises(ValueError, match=r"[Dd]istance"):
            found.query(inputs, "dwithin", wrong)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("scale", [1.0, 1 / 3, 1e-3])
def test_dwithin_of_lattice_features_is_that_of_shapely(scale):
    # Many are as far apart as is asked for, or touch.
    random = np.random.default_rng(9)
    for side in (4, 8, 20):
        geometries, inputs = (np.array([feature(random, side, scale) for _ in range(150)]) for _ in range(2))
        found, expected = ours.STRtree(geometries), shapely.STRtree(geometries)
        for distance in (0, 1, 2, 5, 2**0.5, random.integers(0, 5, 150)):
            reach = np.multiply(distance, scale)
            pairs = found.query(inputs, "dwithin", reach)
            np.testing.assert_array_equal(pairs, expected.query(inputs, "dwithin", reach))


def test_dwithin_of_large_features_is_that_of_shapely():
    random = np.random.default_rng(10)
    turn = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    outline = np.stack([np.cos(turn), np.sin(turn)], axis=1) * (1 + 0.3 * np.sin(9 * turn))[:, np.newaxis]
    large = shapely.polygons(outline * random.uniform(0.5, 3, (80, 1, 1)) + random.uniform(0, 20, (80, 1, 2)))
    lines = shapely.linestrings(
        random.uniform(0, 20, (80, 1, 2)) + np.cumsum(random.normal(0, 0.1, (80, 60, 2)), axis=1)
    )
    points = shapely.points(random.uniform(0, 20, (80, 2)))
    everything = np.concatenate([large, lines, points, shapely.boundary(large)])
    for inputs in (large, lines, points):
        for tree in (everything, points):
            pairs = ours.STRtree(tree).query(inputs, "dwithin", 0.4)
            np.testing.assert_array_equal(pairs, shapely.STRtree(tree).query(inputs, "dwithin", 0.4))


def test_geometries_off_the_road_are_found_as_shapely_finds_them():
    bow_tie = shapely.Polygon([(0, 0), (2, 2), (2, 0), (0, 2)])
    square = shapely.box(0, 0, 1, 1)
    cases = [
        [None] * 70,
        [shapely.Point()] * 70,
        [bow_tie] * 70,
        [bow_tie, shapely.Polygon([(0, 0), (2, 0), (1, 0)]), shapely.MultiPolygon([square, square])] * 24,
        [square, shapely.MultiPolygon([square, shapely.box(5, 5, 6, 6)]), shapely.box(0, 0, 2, 2)] * 24,
        [shapely.GeometryCollection([square, shapely.Point(1, 1)]), shapely.LineString([(1, 1), (1, 1)])] * 40,
        [shapely.Point(3, 3)] * 70,
        [shapely.Point(1e300, -1e300), shapely.box(0, 0, 1e-300, 1e-300)] * 40,
        [shapely.Point(np.inf, 0), shapely.box(0, 0, 1, 1)] * 40,
        [shapely.Point(np.nan, 0), shapely.box(0, 0, 1, 1)] * 40,
        [shapely.Point(1, 1, 5), shapely.LineString([(0, 0, 1), (2, 2, 9)])] * 40,
    ]
    for case in cases:
        expected, found = shapely.STRtree(case), ours.STRtree(case)
        assert len(found) == len(expected)
        for predicate in (None, "intersects", "touches", "overlaps", "covers", "within", "contains_properly"):
            np.testing.assert_array_equal(found.query(case, predicate), expected.query(case, predicate))


def test_point_in_a_polygon_and_in_the_hole_of_another_is_found_as_shapely_finds_it():
    # The hole lies outside of its own shell, though in its box: by all rings together the point would be outside.
    with_hole = shapely.Polygon([(3, 0), (3, 3), (0, 3), (2, 2)], [[(0.4, 0.4), (0.6, 0.4), (0.6, 0.6), (0.4, 0.6)]])
    areas = [shapely.MultiPolygon([shapely.box(0, 0, 1, 1), with_hole])] * 200
    points = [shapely.Point(0.5, 0.5)] * 50
    for others, asked in ((areas, points), (points, areas)):
        expected = shapely.STRtree(others).query(asked, predicate="intersects")
        assert np.array_equal(ours.STRtree(others).query(asked, predicate="intersects"), expected)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_bounds_of_odd_geometries_are_those_of_shapely():
    wkt = ("POINT EMPTY", "MULTIPOINT (EMPTY, (1 2))", "MULTIPOINT (EMPTY)", "POLYGON ((0 0, 1 0, 1 1, 0 0), EMPTY)")
    odd = [
        *shapely.from_wkt(wkt),
        None,
        shapely.GeometryCollection([shapely.Point(), shapely.Point(1, 2)]),
        shapely.Point(1, 2, 3),
        *(shapely.LineString([(0, 1), (at, 3), (4, at)]) for at in (2, np.nan, np.inf, -np.inf)),
        shapely.LineString([(np.nan, np.nan)] * 2),
    ]
    geometries = np.array(odd, object)
    for case in (geometries, geometries[::2], geometries[:0]):
        np.testing.assert_array_equal(ours._bounded(case)[0], shapely.bounds(case))


@pytest.mark.skipif(sys.platform == "win32", reason="symbols of other libraries are not found there")
def test_functions_of_geos_are_found():
    assert ours._GEOS is not None


def test_without_functions_of_geos_shapely_answers(monkeypatch):
    monkeypatch.setattr(ours, "_GEOS", None)
    random = np.random.default_rng(12)
    geometries, inputs = things(random, 200), things(random, 100)
    for asked in (geometries, inputs):
        for predicate in (None, "intersects", "within"):
            expected = shapely.STRtree(geometries).query(asked, predicate)
            np.testing.assert_array_equal(ours.STRtree(geometries).query(asked, predicate), expected)


def test_nearest_ones_equal_those_of_shapely():
    random = np.random.default_rng(7)
    geometries, points = things(random, 200), shapely.points(random.uniform(0, 20, (80, 2)))
    expected, found = shapely.STRtree(geometries), ours.STRtree(geometries)
    np.testing.assert_array_equal(found.nearest(points), expected.nearest(points))
    options = {"max_distance": 0.5, "return_distance": True, "exclusive": True, "all_matches": False}
    for one, other in zip(
        found.query_nearest(points, **options), expected.query_nearest(points, **options), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("far", [0, 1e9])
@pytest.mark.parametrize("options", [{}, {"max_distance": 0.02}, {"all_matches": False}, {"exclusive": True}])
def test_nearest_points_equal_those_of_shapely(far, options):
    random = np.random.default_rng(12)
    own, asked = (far + random.random((n, 2)) for n in (900, 800))
    asked[:40] = own[:40]  # at a distance of 0
    own[100:200] = (own[100:200] * 16).round() / 16  # equally near to what is on a lattice too
    asked[100:200] = (asked[100:200] * 32).round() / 32
    points, inputs = shapely.points(own), shapely.points(asked)
    points[7] = inputs[3] = None
    inputs[4] = shapely.Point()
    for tree in (points, points[:1], points[:8], points[7:8]):
        expected, found = (kind.STRtree(tree).query_nearest(inputs, return_distance=True, **options) for kind in KINDS)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        pairs = ours.STRtree(tree).query_nearest(inputs, **options)
        np.testing.assert_array_equal(pairs, expected[0])


def test_nearest_points_ask_shapely_only_where_rounding_could_decide():
    random = np.random.default_rng(13)
    tree = ours.STRtree(shapely.points(random.random((2000, 2))))
    tree.query_nearest(shapely.points(random.random((3000, 2))))
    assert "_tree" not in vars(tree)


def test_tree_survives_pickling():
    geometries = things(np.random.default_rng(8), 100)
    tree = ours.STRtree(geometries, 3)
    copy = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(copy.query(geometries, "covers"), tree.query(geometries, "covers"))


def test_queries_leave_no_input_prepared_and_run_in_threads():
    geometries = things(np.random.default_rng(9), 400, size=3.0)
    tree, expected = ours.STRtree(geometries), shapely.STRtree(geometries).query(geometries, "intersects")
    found = []
    threads = [threading.Thread(target=lambda: found.append(tree.query(geometries, "intersects"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for one in found:
        np.testing.assert_array_equal(one, expected)
    assert not shapely.is_prepared(geometries).any()


def test_wrong_arguments_raise_as_in_shapely():
    with pytest.raises(TypeError):
        ours.STRtree(["no geometry"] * 70)
    with pytest.raises(TypeError, match="one dimensional"):
        ours.STRtree([[shapely.Point(0, 0)]])
    tree = ours.STRtree([shapely.Point(0, 0)] * 70)
    with pytest.raises(ValueError, match="disjoint"):
        tree.query(tree.geometries, "disjoint")
    with pytest.raises(TypeError):
        tree.query(["no geometry"] * 70)


@pytest.fixture(scope="module")
def frames():
    geopandas = pytest.importorskip("geopandas", reason="geopandas is not installed")
    random = np.random.default_rng(10)

    def frame(count, size, **columns):
        made = {"kind": random.integers(0, 3, count), "value": random.random(count), **columns}
        return geopandas.GeoDataFrame(made, geometry=things(random, count, size), index=random.permutation(count) * 2)

    left = frame(150, 2.0, name=[f"left {number}" for number in range(150)])
    return left, frame(130, 1.0)


@pytest.mark.parametrize("how", ["inner", "left", "right"])
@pytest.mark.parametrize("predicate", PREDICATES)
def test_sjoin_equals_that_of_geopandas(frames, how, predicate):
    from geopandas import sjoin
    from geopandas.testing import assert_geodataframe_equal

    left, right = (frame.copy() for frame in frames)
    for options in ({}, {"lsuffix": "a", "rsuffix": "b"}, {"on_attribute": "kind"}):
        expected = sjoin(*frames, how=how, predicate=predicate, **options)
        found = ours.sjoin(left, right, how=how, predicate=predicate, **options)
        assert_geodataframe_equal(found, expected)
    assert isinstance((left if predicate == "within" else right).sindex._tree, ours.STRtree)
    assert_geodataframe_equal(ours.sjoin(left, left, how, predicate), sjoin(frames[0], frames[0], how, predicate))


def test_sjoin_by_distance_equals_that_of_geopandas(frames):
    from geopandas import sjoin
    from geopandas.testing import assert_geodataframe_equal

    left, right = (frame.copy() for frame in frames)
    for distance in (0.7, np.linspace(0, 2, 150)):
        expected = sjoin(*frames, predicate="dwithin", distance=distance)
        assert len(expected)
        assert_geodataframe_equal(ours.sjoin(left, right, predicate="dwithin", distance=distance), expected)


@pytest.mark.parametrize("how", ["inner", "left", "right"])
def test_sjoin_nearest_equals_that_of_geopandas(frames, how):
    from geopandas import GeoDataFrame, sjoin_nearest
    from geopandas.testing import assert_geodataframe_equal

    random = np.random.default_rng(14)
    points = [GeoDataFrame({"n": range(300)}, geometry=shapely.points(random.random((300, 2)))) for _ in range(2)]
    for left, right in (frames, points):
        for options in ({}, {"max_distance": 0.05}, {"distance_col": "far"}, {"lsuffix": "a", "exclusive": True}):
            expected = sjoin_nearest(left, right, how=how, **options)
            found = ours.sjoin_nearest(left.copy(), right.copy(), how=how, **options)
            assert_geodataframe_equal(found, expected)
    assert_geodataframe_equal(ours.sjoin_nearest(left, right, how), sjoin_nearest(left, right, how))


def clipped(ring, edge):
    """The part of a convex ring left of a line through two points, in fractions."""
    kept = []
    for a, b in zip(ring, ring[1:] + ring[:1], strict=True):
        sides = [
            (edge[1][0] - edge[0][0]) * (p[1] - edge[0][1]) - (edge[1][1] - edge[0][1]) * (p[0] - edge[0][0])
            for p in (a, b)
        ]
        if sides[0] >= 0:
            kept.append(a)
        if sides[0] * sides[1] < 0:
            share = sides[0] / (sides[0] - sides[1])
            kept.append(tuple(p + share * (q - p) for p, q in zip(a, b, strict=True)))
    return kept


def area_of(ring):
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(ring, ring[1:] + ring[:1], strict=True)) / 2


@pytest.mark.parametrize("far", [0.0, 1e7])
def test_area_of_overlap_of_convex_polygons_is_that_of_fractions(far):
    from geopandas import GeoDataFrame

    random = np.random.default_rng(23)

    def polygon(number):
        turn = np.sort(random.random(random.integers(3, 9))) * 2 * np.pi
        at = np.stack((np.cos(turn), np.sin(turn)), axis=1) * random.choice((0.1, 1, 5), 2) + random.uniform(0, 3, 2)
        return shapely.convex_hull(shapely.multipoints((at * 8).round() / 8 if number % 2 else at + far))

    frames = [GeoDataFrame({"n": range(60)}, geometry=[polygon(k) for k in range(60)]) for _ in range(2)]
    frames = [frame[frame.geom_type == "Polygon"] for frame in frames]
    joined = ours.sjoin(*frames, area_col="common", lsuffix="a", rsuffix="b")
    assert joined["common"].gt(0).sum() > 100
    for _, row in joined.iterrows():
        one, other = (
            [
                tuple(map(Fraction, at))
                for at in shapely.get_coordinates(shapely.normalize(shape).reverse())[:-1].tolist()
            ]
            for shape in (row.geometry, frames[1].geometry.loc[row["index_b"]])
        )
        for edge in zip(other, other[1:] + other[:1], strict=True):
            one = clipped(one, edge)
        exact = float(area_of(one)) if one else 0.0
        # Half of them are rounded to multiples of 1/8, so that their coordinates have few digits.
        assert abs(row["common"] - exact) <= 1e-12 * exact + 1e-14


@pytest.mark.parametrize("how", ["inner", "left", "right"])
def test_area_of_overlap_is_that_of_shapely(frames, how):
    from geopandas import GeoDataFrame
    from geopandas.testing import assert_geodataframe_equal

    random = np.random.default_rng(24)
    lattice = [GeoDataFrame(geometry=lattice_areas(random, 20)[:96]) for _ in range(2)]
    for left, right in (frames, lattice):
        valid = [frame[frame.is_valid | frame.geometry.isna()] for frame in (left, right)]
        for options in ({}, {"predicate": "overlaps"}, {"predicate": "within"}):
            found = ours.sjoin(*valid, how=how, area_col="common", **options)
            expected = ours.sjoin(*valid, how=how, **options)
            rows = np.arange(len(valid[0])), np.arange(len(valid[1]))
            numbered = [frame.assign(**{name: row}) for frame, name, row in zip(valid, "pq", rows, strict=True)]
            pairs = ours.sjoin(*numbered, how=how, **options)[["p", "q"]].to_numpy(np.float64)
            both = ~np.isnan(pairs).any(axis=1)
            one, other = (frame.geometry.values[pairs[both, k].astype(int)] for k, frame in enumerate(valid))
            areas = found.pop("common").to_numpy()
            assert_geodataframe_equal(found, expected)
            np.testing.assert_array_equal(np.isnan(areas), ~both)
            np.testing.assert_allclose(
                areas[both], shapely.area(shapely.intersection(one, other)), rtol=1e-12, atol=1e-12
            )
            assert np.any(areas[both] > 0)


def test_area_of_overlap_of_what_the_core_does_not_read_is_that_of_shapely():
    from geopandas import GeoDataFrame

    square, bow_tie = shapely.box(0, 0, 2, 2), shapely.Polygon([(0, 0), (2, 2), (2, 0), (0, 2)])
    odd = [
        shapely.GeometryCollection([shapely.box(1, 1, 3, 3)]),
        shapely.LineString([(0, 0), (1, 1)]),
        shapely.Point(1, 1),
    ]
    odd.append(shapely.Polygon([(0, 0), (1, 0), (1, 0), (2, 0), (2, 2), (0, 0)]))  # valid, with a point repeated
    found = ours.sjoin(GeoDataFrame(geometry=odd), GeoDataFrame(geometry=[square]), area_col="common")
    assert found["common"].tolist() == [1.0, 0.0, 0.0, 2.0]
    with pytest.raises(shapely.errors.GEOSException, match="TopologyException"):
        shapely.intersection(bow_tie, shapely.box(0.5, 0, 3, 3))
    with pytest.raises(shapely.errors.GEOSException, match="TopologyException"):
        ours.sjoin(
            GeoDataFrame(geometry=[bow_tie]), GeoDataFrame(geometry=[shapely.box(0.5, 0, 3, 3)]), area_col="common"
        )


def test_area_of_overlap_in_a_periodic_plane_is_an_error(frames):
    with pytest.raises(ValueError, match="area_col is not for period"):
        ours.sjoin(*frames, area_col="common", period=360)


def test_area_of_overlap_without_functions_of_geos_is_that_of_shapely(frames, monkeypatch):
    valid = [frame[frame.is_valid] for frame in frames]
    expected = ours.sjoin(*valid, area_col="common")["common"]
    monkeypatch.setattr(ours, "_GEOS", None)
    np.testing.assert_allclose(ours.sjoin(*valid, area_col="common")["common"], expected, rtol=1e-12, atol=1e-12)


def test_sjoin_of_other_things_than_frames_raises_as_in_geopandas(frames):
    with pytest.raises(ValueError, match="'right_df' should be GeoDataFrame"):
        ours.sjoin(frames[0], [1])
    with pytest.raises(ValueError, match="expected to be in"):
        ours.sjoin(*(frame.copy() for frame in frames), how="outer")


def test_sjoin_without_geopandas_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "geopandas", None)
    with pytest.raises(bp.errors.MissingExtraError, match="pip install geopandas"):
        ours.sjoin(None, None)
