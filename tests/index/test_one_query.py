"""One query in, one result out; arrays in, arrays out: for every query of the registry, of indexes and of worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import broadphase as bp
from broadphase.index.queries import QUERIES
from broadphase.index.results import Nearest, QueryResult, RayHits, RayHitsAll, ShapecastHits
from cases import lattice
from index_cases import CLASSES
from query_cases import arguments_of, some_of

NAMES = [row.name for row in QUERIES]
NESTED = {"rotations", "planes"}  # whose items have two axes


def entry(result: Any, query: int) -> Any:
    """The result of one of many queries, in the form of a single one."""
    if isinstance(result, QueryResult | RayHitsAll):
        return result[query]
    if isinstance(result, Nearest):
        return Nearest(result.rows[query], result.distances[query])
    if isinstance(result, RayHits | ShapecastHits):
        return type(result)(int(result[0][query]), float(result[1][query]))
    return bool(result[query])


def assert_same(found: Any, wanted: Any, where: Any) -> None:
    assert type(found) is type(wanted), where
    if isinstance(found, tuple):
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other, where)
    elif isinstance(found, np.ndarray):
        assert found.dtype == wanted.dtype, where
        assert found.shape == wanted.shape, where
        assert np.array_equal(found, wanted), where
    else:
        assert found == wanted, where


def forms_of(given: dict[str, Any]) -> list[dict[str, Any]]:
    """The arguments of one query as arrays, as lists, and as tuples; a box also as corners and as numbers in a row."""
    as_lists = {name: value.tolist() for name, value in given.items()}
    as_tuples = {name: tuple(value) if isinstance(value, list) else value for name, value in as_lists.items()}
    forms = [given, as_lists, as_tuples]
    if "boxes" in given:
        box = given["boxes"]
        for form in (box.ravel(), box.ravel().tolist(), tuple(box.ravel().tolist()), tuple(box), tuple(box.tolist())):
            forms.append({**given, "boxes": form})
    return forms


@pytest.fixture(scope="module")
def worlds() -> dict[tuple[int, str], Any]:
    rng, made = np.random.default_rng(1), {}
    for dim in (2, 3):
        for boundary, bounds in (("none", None), ("wrap", [[-9.0] * dim, [9.0] * dim])):
            shape: Any = bp.Circle(0.8) if dim == 2 else bp.Sphere(0.8)
            made[dim, boundary] = world = bp.World(dim, bounds=bounds, boundary=boundary)
            world.add_many(shape, rng.uniform(-5, 5, (40, dim)))
    return made


def indexes(rng: np.random.Generator, dim: int) -> list[Any]:
    boxes = lattice(rng, 50, dim, "float64", 5)
    made = [getattr(bp, name)(boxes) for name in CLASSES]
    return [*made, bp.Index(boxes, period=[11.0, *[None] * (dim - 1)]), bp.BVH(boxes, batch=rng.integers(0, 2, 50))]


def has(index: Any, name: str) -> bool:
    row = next(row for row in QUERIES if row.name == name)
    try:
        index._require(row.capability)
    except bp.errors.UnsupportedQueryError:
        return False
    return True


@pytest.mark.parametrize("name", NAMES)
def test_one_query_of_an_index_has_the_result_of_many_without_their_axis(name: str) -> None:
    rng = np.random.default_rng(NAMES.index(name))
    for dim in (1, 2, 3, 4):
        given = arguments_of(lattice(rng, 12, dim, "float64", 5), rng.integers(-3, 4, (12, dim)).astype(float), 2.0)
        if name not in given:
            continue
        for index in indexes(rng, dim):
            if not has(index, name):
                continue
            many = getattr(index, name)(**given[name])
            for query in range(12):
                for form in forms_of(some_of(given[name], query)):
                    where = name, index, form
                    assert_same(getattr(index, name)(**form), entry(many, query), where)
                    options = {"layer": 1, "mask": 3, "ignore": [0, 7], "workers": 2}
                    some = getattr(index, name)(**given[name], **{**options, "ignore": [[0, 7]]})
                    assert_same(getattr(index, name)(**form, **options), entry(some, query), where)


@pytest.mark.parametrize("name", [row.name for row in QUERIES if row.in_worlds])
def test_one_query_of_a_world_has_the_result_of_many_without_their_axis(name: str, worlds: Any) -> None:
    rng = np.random.default_rng(NAMES.index(name))
    for (dim, boundary), world in worlds.items():
        boxes = lattice(rng, 6, dim, "float64", 5)
        given = arguments_of(boxes, rng.integers(-3, 4, (6, dim)).astype(float), 4.0)[name]
        many = getattr(world, name)(**given)
        for query in range(6):
            for form in forms_of(some_of(given, query)):
                found, wanted = getattr(world, name)(**form), entry(many, query)
                if name == "raycast":
                    found = (-1, np.inf) if found is None else (found.actor.row, found.distance)
                    wanted = tuple(wanted)
                elif name == "raycast_all":
                    found = [(hit.actor.row, hit.distance) for hit in found]
                    wanted = list(zip(*(part.tolist() for part in wanted), strict=True))
                assert_same(found, wanted, (name, boundary, form))


@pytest.mark.parametrize("dim", [2, 3])
def test_one_shape_in_a_world_has_the_result_of_many_without_their_axis(dim: int, worlds: Any) -> None:
    rng, world = np.random.default_rng(dim), worlds[dim, "none"]
    shape: Any = bp.Rectangle(3, 1) if dim == 2 else bp.Box(3, 1, 1)
    places, ways = rng.uniform(-6, 6, (9, dim)), rng.normal(size=(9, dim)) * 5
    turns: Any = rng.uniform(0, 6, 9) if dim == 2 else rng.normal(size=(9, 4))
    overlapping, cast = world.query_shape(shape, places, turns), world.shapecast(shape, places, ways, turns)
    for k in range(9):
        for place, way in ((places[k], ways[k]), (places[k].tolist(), tuple(ways[k]))):
            assert_same(world.query_shape(shape, place, turns[k]), overlapping[k], k)
            assert_same(world.shapecast(shape, place, way, turns[k]), entry(cast, k), k)
    for one in (places[0], places[:1]):
        fan = world.shapecast(shape, one, ways)
        assert_same(fan, world.shapecast(shape, np.repeat(places[:1], 9, axis=0), ways), "fan")
    assert isinstance(world.query_shape(type(shape)(*[[3.0]] * dim), places[0]), QueryResult)  # a list of one


@pytest.mark.parametrize("kind", [bp.BVH, bp.Grid])
def test_arguments_of_one_row_are_for_all_queries(kind: Any) -> None:
    rng = np.random.default_rng(4)
    for count in (3, 20):
        index, points = kind(lattice(rng, 60, 2, "float64", 5)), rng.uniform(-5, 5, (count, 2))
        center, lengths = np.array([0.5, 0.5]), rng.uniform(0, 4, count)
        alike = np.repeat(center[np.newaxis], count, axis=0)
        for one in (center, center[np.newaxis], center.tolist()):
            for name in ("raycast", "raycast_all", "raycast_any"):
                if has(index, name):
                    ask = getattr(index, name)
                    assert np.array_equal(np.asarray(ask(one, points)[0]), np.asarray(ask(alike, points)[0]))
                    assert np.array_equal(np.asarray(ask(points, one)[0]), np.asarray(ask(points, alike)[0]))
                    assert len(ask(one, center, lengths)) == (2 if name == "raycast" else count)
            assert index.query_ball(one, lengths).rows.tolist() == index.query_ball(alike, lengths).rows.tolist()
            if has(index, "nearest"):
                found, wanted = index.nearest(one, 3, lengths), index.nearest(alike, 3, lengths)
                assert_same(found, wanted, one)
            if has(index, "query_obb"):
                found, wanted = index.query_obb(one, 2.0, lengths), index.query_obb(alike, 2.0, lengths)
                assert found.rows.tolist() == wanted.rows.tolist()
    with pytest.raises(ValueError, match="centers has 3 rows and radii has 2"):
        index.query_ball(np.zeros((3, 2)), [1, 2])


def test_one_row_asks_for_its_own_nearest() -> None:
    for index in indexes(np.random.default_rng(5), 2):
        if not has(index, "nearest"):
            continue
        for options in ({}, {"ignore": 4}, {"exclude_self": False}, {"max_distance": 2.0}):
            many = index.nearest(k=3, rows=[7, 9], **options)
            for row in (7, np.int32(7), np.array(7)):
                for _ in range(2):
                    assert_same(index.nearest(k=3, rows=row, **options), entry(many, 0), (index, options))


def test_numbers_in_a_row_are_one_point_whatever_the_dimension() -> None:
    line = bp.BVH([[0, 2], [1, 3], [8, 9]])
    assert line.query((1, 2)).tolist() == [0, 1]
    assert line.query([[1, 2]])[0].tolist() == [0, 1]
    assert line.query([[1], [2]]).tolist() == [0, 1]
    assert [rows.tolist() for rows in line.query([[1, 2], [8, 8]])] == [[0, 1], [2]]
    assert line.query_points([1]).tolist() == [0, 1]
    assert line.query_points([[1], [8]]).counts.tolist() == [2, 1]
    for index, point in ((line, [1, 8]), (line, 1.0), (bp.BVH([[0, 0, 1, 1]]), [1, 2, 3]), (line, [[[1]]])):
        for _ in range(2):
            with pytest.raises(ValueError, match=r"points (have|must have shape)"):
                index.query_points(point)
    assert len(line.query_points([])) == 0
    assert len(line.query([])) == 0


def test_a_box_of_another_dimension_is_refused_as_many_are() -> None:
    index = bp.BVH([[0, 0, 1, 1]])
    for _ in range(2):
        with pytest.raises(ValueError, match="boxes have 3 dimensions; 2 are needed"):
            index.query((0, 0, 0, 1, 1, 1))
        with pytest.raises(ValueError, match="boxes has shape"):
            index.query((0, 0, 1))
        with pytest.raises(bp.errors.InvalidBoxError, match=r"boxes: row 0: lower\[0\] > upper\[0\]"):
            index.query((2, 0, 1, 1))
        assert index.query((0, 0, 1, 1)).tolist() == [0]


def test_one_geometry_is_one_query() -> None:
    shapely = pytest.importorskip("shapely")
    index = bp.BVH([[0, 0, 1, 1]])
    assert index.query(shapely.Point(1, 1).buffer(3)).tolist() == [0]
    assert index.query([shapely.box(5, 5, 6, 6)]).counts.tolist() == [0]


def test_a_single_result_is_shown_with_its_numbers() -> None:
    index = bp.BVH([[2, 0, 3, 1]])
    hit = index.raycast((0, 0.5), (1, 0))
    assert repr(hit) == "RayHits(rows=0, distances=2.0)"
    assert repr(index.shapecast((0, 0, 1, 1), (0, 9))) == "ShapecastHits(rows=-1, times=inf)"
    assert "rows: 0; distances: 2.0" in hit._repr_html_()
    row, distance = hit
    assert (row, distance) == (0, 2.0)
