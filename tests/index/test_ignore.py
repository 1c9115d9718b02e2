"""Queries that leave rows out, against the same query of a copy without these rows."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.errors import UnknownRowError
from broadphase.testing import simd_level, simd_levels
from index_cases import CLASSES
from query_cases import arguments_of, some_of

INDEXES = [getattr(bp, name) for name in CLASSES]
MANY = 600  # from 512 on, queries are sorted, walk together and take turns


def boxes_at(random, count, dimension, dtype=np.float64):
    lower = (random.random((count, dimension)) * 6).round(1)
    return np.concatenate([lower, lower + random.random((count, dimension)).round(1) * 2], axis=1).astype(dtype)


def lists_to_ignore(random, rows, count, width):
    """Lists of rows, some of them -1, and a row twice now and then."""
    return random.choice(np.append(rows, [-1, -1]), (count, width))


def as_lists(result):
    if isinstance(result, np.ndarray):
        return [[hit] for hit in result.tolist()]
    if isinstance(result, bp.index.results.RayHitsAll):
        return [[*rows.tolist(), *distances.tolist()] for rows, distances in result]
    if isinstance(result, bp.index.results.QueryResult):
        return [rows.tolist() for rows in result]
    rows, values = result
    # A copy without rows may have fewer than are wanted: misses are left out.
    return [
        [pair for pair in zip(np.atleast_1d(row).tolist(), np.atleast_1d(value).tolist(), strict=True) if pair[0] >= 0]
        for row, value in zip(rows, values, strict=True)
    ]


def queries_of(random, count, dimension):
    """Every query that takes `count` places, as functions of what is asked."""
    boxes = boxes_at(random, count, dimension).reshape(count, 2, dimension)
    ways = random.normal(size=(count, dimension))
    points, shape = boxes[:, 0], bp.Circle(0.3) if dimension == 2 else bp.Sphere(0.3)

    def asking(name, given):
        return lambda who, at, **o: getattr(who, name)(**some_of(given, at), **o)

    asked = {name: asking(name, given) for name, given in arguments_of(boxes, ways).items()}
    return {
        **asked,
        "nearest of five": lambda who, at, **o: who.nearest(points[at], 5, 3.0, **o),
        "nearest of thirty": lambda who, at, **o: who.nearest(points[at], 30, **o),
        "shapecast": lambda who, at, **o: (
            who.shapecast(shape, points[at], ways[at], **o)
            if isinstance(who, bp.World)
            else asked["shapecast"](who, at, **o)
        ),
    }


def check(who, copies_without, random, count, dimension, ignored, **options):
    """Ask everything at once with `ignored`, (count, k), and query by query a copy that lacks the rows of one list."""
    numbers = np.arange(count)
    for name, ask in queries_of(random, count, dimension).items():
        try:
            found = as_lists(ask(who, numbers, ignore=ignored, **options))
        except bp.errors.UnsupportedQueryError:
            continue
        for at in numbers[:: max(1, count // 24)]:
            wanted = as_lists(ask(copies_without(ignored[at]), [at], **options))[0]
            assert found[at] == wanted, (name, at)


def index_without(index, rows):
    copy = type(index)(index.boxes_of(index.rows))
    assert np.array_equal(index.rows, np.arange(len(index)))
    gone = np.unique(rows[rows >= 0])
    copy.remove(gone)
    return copy


@pytest.mark.parametrize("kind", INDEXES)
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("width", [1, 3, 12])
def test_every_query_of_every_index(kind, dimension, width):
    random = np.random.default_rng(dimension * 100 + width)
    index = kind(boxes_at(random, 60, dimension))
    for count in (24, MANY):
        ignored = lists_to_ignore(random, index.rows, count, width)
        if dimension > 1:
            check(index, lambda rows: index_without(index, rows), random, count, dimension, ignored)
        else:
            points = random.random((count, 1)) * 8
            found = index.query(np.concatenate([points, points + 1], axis=1), ignore=ignored)
            everything = index.query(np.concatenate([points, points + 1], axis=1))
            for at in range(count):
                assert found[at].tolist() == [row for row in everything[at].tolist() if row not in ignored[at]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2, 9])
def test_many_nearest_and_rays_of_a_large_index(dtype, width):
    random = np.random.default_rng(width)
    index = bp.BVH(boxes_at(random, 3000, 3, dtype))
    ignored = lists_to_ignore(random, index.nearest(random.random((50, 3)) * 6).rows.ravel(), MANY, width)
    check(index, lambda rows: index_without(index, rows), random, MANY, 3, ignored)


def test_nearest_and_rays_on_each_simd_level():
    random = np.random.default_rng(5)
    index = bp.BVH(boxes_at(random, 500, 2))
    points, ways = random.random((MANY, 2)) * 6, random.normal(size=(MANY, 2))
    ignored = lists_to_ignore(random, index.rows, MANY, 4)
    hits, nearest = index.raycast_all(points, ways), index.nearest(points, 9)
    for level in simd_levels():
        with simd_level(level):
            first, found = index.raycast(points, ways, ignore=ignored), index.nearest(points, 5, ignore=ignored)
        for at in range(MANY):
            left = [row for row in hits[at][0].tolist() if row not in ignored[at]]
            assert first.rows[at] == (left[0] if left else -1), level
            assert found.rows[at].tolist() == [row for row in nearest.rows[at] if row not in ignored[at]][:5], level


def test_equal_boxes_of_which_each_query_ignores_the_first():
    index = bp.BVH(np.tile([0.0, 0, 1, 1], (200, 1)))
    points = np.zeros((MANY, 2))
    assert (index.nearest(points, 3, ignore=0).rows == [1, 2, 3]).all()
    assert (index.raycast(points, [1, 0], ignore=np.tile([0, 1], (MANY, 1))).rows == 2).all()
    everybody = np.arange(200)[np.newaxis]
    assert (index.nearest(points, 3, ignore=everybody).rows == -1).all()
    assert not index.raycast_any(points, [1, 0], ignore=everybody).any()
    assert len(index.query(np.tile([0.0, 0, 1, 1], (MANY, 1)), ignore=everybody).rows) == 0


def test_one_row_one_for_each_and_lists_mean_the_same():
    index = bp.Index([[0.0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]])
    asked = [[0.0, 0, 9, 9]] * 3
    assert [rows.tolist() for rows in index.query(asked, ignore=1)] == [[0, 2]] * 3
    assert [rows.tolist() for rows in index.query(asked, ignore=[0, 1, -1])] == [[1, 2], [0, 2], [0, 1, 2]]
    assert [rows.tolist() for rows in index.query(asked, ignore=[[0, 1]])] == [[2]] * 3
    assert [rows.tolist() for rows in index.query(asked, ignore=[[0, 1], [2, 2], [-1, 0]])] == [[2], [0, 1], [1, 2]]
    assert [rows.tolist() for rows in index.query(asked, ignore=np.empty((3, 0), int))] == [[0, 1, 2]] * 3
    assert len(index.query(np.empty((0, 4)), ignore=np.empty((0,), int))) == 0
    assert len(index.query(np.empty((0, 4)), ignore=[[0, 1]])) == 0


def test_handles_and_rows_may_be_mixed_and_stale_ones_are_errors():
    index = bp.BVH([[0.0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]])
    handles = index.handles([0, 1])
    assert index.query([[0.0, 0, 9, 9]], ignore=[[handles[0], 1]])[0].tolist() == [2]
    index.remove([1])
    with pytest.raises(UnknownRowError, match=f"ignore: handle {handles[1]} is stale: the box of row 1 was removed"):
        index.nearest([[0.0, 0]], ignore=handles[1])
    with pytest.raises(UnknownRowError, match="ignore: row 1 has been removed"):
        index.raycast([[0.0, 0]], [[1.0, 0]], ignore=1)
    index.insert([[4.0, 4, 5, 5]])
    with pytest.raises(UnknownRowError, match="stale"):
        index.query([[0.0, 0, 9, 9]], ignore=handles[1])
    assert index.query([[0.0, 0, 9, 9]], ignore=1)[0].tolist() == [0, 2]


@pytest.mark.parametrize(
    ("ignore", "error", "message"),
    [
        (7, UnknownRowError, "ignore: row 7 does not exist: there are 3 rows"),
        (-2, UnknownRowError, "ignore: row -2 does not exist"),
        (2**63, UnknownRowError, "ignore: row"),
        (0.5, TypeError, "ignore must hold rows or handles, which are integers, not float64"),
        ([True, False], TypeError, "not bool"),
        (["a", "b"], TypeError, "ignore"),
        ([0, 1, 2], ValueError, r"ignore has shape \(3,\); \(2,\), \(2, k\) or \(1, k\) is needed"),
        ([[0], [1], [2]], ValueError, r"ignore has shape \(3, 1\)"),
        ([[[0]]], ValueError, "ignore has shape"),
    ],
)
@pytest.mark.parametrize("ask", ["query", "nearest", "raycast"])
def test_bad_rows_to_ignore(ignore, error, message, ask):
    index = bp.Index([[0.0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]])
    given = {"query": ([[0.0, 0, 1, 1]] * 2,), "nearest": ([[0.0, 0]] * 2,), "raycast": ([[0.0, 0]] * 2, [1, 0])}
    with pytest.raises(error, match=message):
        getattr(index, ask)(*given[ask], ignore=ignore)


def test_layers_and_batches_together_with_rows_to_ignore():
    random = np.random.default_rng(3)
    boxes, layer, batch = boxes_at(random, 60, 2), random.integers(1, 4, 60), random.integers(0, 3, 60)
    index = bp.BVH(boxes, layer=layer, batch=batch)
    for count in (20, MANY):
        ignored = lists_to_ignore(random, index.rows, count, 3)
        mask, keys, points = random.integers(1, 4, count), random.integers(0, 3, count), random.random((count, 2)) * 6
        found = index.nearest(points, 60, mask=mask, batch=keys, ignore=ignored)
        everything = index.nearest(points, 60)
        for at in range(count):
            rows = everything.rows[at]
            kept = (layer[rows] & mask[at] != 0) & (batch[rows] == keys[at]) & ~np.isin(rows, ignored[at])
            assert found.rows[at][: kept.sum()].tolist() == rows[kept].tolist()
            assert (found.rows[at][kept.sum() :] == -1).all()


@pytest.mark.parametrize("removed", [False, True])
def test_a_periodic_cell(removed):
    random = np.random.default_rng(4)
    boxes = boxes_at(random, 50, 2)
    index = bp.Index(boxes, period=(7, None))
    if removed:
        index.remove([0, 17])
    for count in (10, MANY):
        ignored = lists_to_ignore(random, index.rows, count, 2)
        points, asked = random.random((count, 2)) * 20 - 5, boxes_at(random, count, 2)
        for ask in (
            lambda **o: as_lists(index.query(asked, **o)),  # noqa: B023
            lambda **o: as_lists(index.query_ball(points, 2.0, **o)),  # noqa: B023
        ):
            for rows, all_rows, out in zip(ask(ignore=ignored), ask(), ignored.tolist(), strict=True):
                assert rows == [row for row in all_rows if row not in out]
        found, everything = index.nearest(points, 4, ignore=ignored), index.nearest(points, 6)
        for rows, all_rows, out in zip(found.rows.tolist(), everything.rows.tolist(), ignored.tolist(), strict=True):
            assert rows == [row for row in all_rows if row not in out][:4]


def world_of(random, count, dimension, **options):
    world = bp.World(dim=dimension, **options)
    places = random.random((count, dimension)) * 6
    shapes = [bp.Circle(0.4), bp.Rectangle(1, 0.5)] if dimension == 2 else [bp.Sphere(0.4), bp.Box(1, 0.5, 0.7)]
    for place in places:
        world.add(shapes[int(random.integers(2))], position=place, layer=["red", "blue"][int(random.integers(2))])
    return world


def world_without(world, rows):
    copy = bp.World.from_bytes(world.to_bytes())
    copy.remove(np.unique(rows[rows >= 0]))
    return copy


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("width", [1, 3])
def test_every_query_of_a_world(dimension, width):
    random = np.random.default_rng(dimension + width)
    world = world_of(random, 40, dimension)
    ignored = lists_to_ignore(random, world.rows, 24, width)
    check(world, lambda rows: world_without(world, rows), random, 24, dimension, ignored)
    check(world, lambda rows: world_without(world, rows), random, 24, dimension, ignored, mask="red")
    found = world.query_shape(world.shapes[0], world.positions[:24], ignore=ignored)
    everything = world.query_shape(world.shapes[0], world.positions[:24])
    for at in range(24):
        assert found[at].tolist() == [row for row in everything[at].tolist() if row not in ignored[at]]


def test_a_world_that_wraps_with_bodies_far_away():
    random = np.random.default_rng(7)
    world = world_of(random, 30, 2, bounds=[[0, 0], [6, 6]], boundary="wrap")
    world.add(bp.Circle(0.5), position=(3 + 6 * 40, 3), boundary="none")
    world.add(bp.Circle(0.5), position=(-6 * 9 + 2, 5), boundary="none")
    ignored = lists_to_ignore(random, np.append(world.rows, [30, 31] * 6), 24, 3)
    check(world, lambda rows: world_without(world, rows), random, 24, 2, ignored)
    huge = world.query_ball([[3.0, 3]] * 2, 99.0, ignore=[[0, 30], [31, -1]])
    assert [sorted(set(range(32)) - set(rows.tolist())) for rows in huge] == [[0, 30], [31]]


def test_actors_rows_and_lists_of_them_for_one_ray():
    world = bp.World(dim=2)
    robot, wall, post = (world.add(bp.Circle(1), position=(x, 0)) for x in (0, 4, 8))
    assert world.raycast((0, 0), (1, 0)).actor == robot
    assert world.raycast((0, 0), (1, 0), ignore=robot).actor == wall
    assert world.raycast((0, 0), (1, 0), ignore=[robot, wall.row]).actor == post
    assert world.raycast((0, 0), (1, 0), ignore=[robot.handle, wall.row, post]) is None
    assert [hit.actor for hit in world.raycast_all((0, 0), (1, 0), ignore=robot)] == [wall, post]
    assert world.query_points([(0, 0)], ignore=robot).rows.tolist() == []
    assert world.raycast([[0.0, 0], [4, 0]], [1, 0], ignore=[robot, wall]).rows.tolist() == [1, 2]
    assert world.visible(planes=[[1, 0, 50]], ignore=wall).rows.tolist() == [0, 2]
    other = bp.World(dim=2).add(bp.Circle(1), position=(0, 0))
    with pytest.raises(ValueError, match="is of another world"):
        world.raycast((0, 0), (1, 0), ignore=other)
    robot.remove()
    with pytest.raises(UnknownRowError, match="ignore: handle"):
        world.raycast((0, 0), (1, 0), ignore=robot)


def test_nearest_to_the_rows_themselves():
    random = np.random.default_rng(9)
    index, world = bp.Index(boxes_at(random, 80, 2)), world_of(random, 80, 2)
    index.remove([3])
    world.remove([3])
    rows = random.permutation(index.rows)[:30]
    corners = index.boxes_of(rows).reshape(-1, 2, 2)
    for who, places in ((index, (corners[:, 0] + corners[:, 1]) / 2), (world, world.positions[rows])):
        for ignore in (None, 5, rows[::-1], lists_to_ignore(random, who.rows, 30, 2)):
            more = np.array(-1 if ignore is None else ignore)
            lists = np.column_stack([rows, np.tile(more, 30) if more.ndim == 0 else more])
            found, wanted = who.nearest(rows=rows, k=3, ignore=ignore), who.nearest(places, 3, ignore=lists)
            assert np.array_equal(found.rows, wanted.rows)
            assert np.array_equal(found.distances, wanted.distances)
        with_self = who.nearest(rows=rows, exclude_self=False)
        assert np.array_equal(with_self.rows, who.nearest(places).rows)
        assert (who.nearest(rows=rows).rows.ravel() != rows).all()
        with pytest.raises(UnknownRowError, match="row 3 has been removed"):
            who.nearest(rows=[3])
        with pytest.raises(TypeError, match="points or rows, not both"):
            who.nearest(places, rows=rows)
        with pytest.raises(TypeError, match="points, or rows"):
            who.nearest()
        with pytest.raises(ValueError, match="ignore has shape"):
            who.nearest(rows=rows, ignore=[1, 2])


def test_a_body_that_was_moved_is_where_it_was_moved_to():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [4, 0], [20, 0]])
    world.move([0], [[18.0, 0]])
    assert world.nearest(rows=[0]).rows.tolist() == [[2]]


def test_octree_with_spheres():
    random = np.random.default_rng(10)
    tree = bp.Octree.from_spheres(random.random((40, 2)) * 6, 0.5)
    points, ways = random.random((20, 2)) * 6, random.normal(size=(20, 2))
    ignored = lists_to_ignore(random, tree.rows, 20, 2)
    for ask in (
        lambda **o: tree.query_ball(points, 0.4, by="sphere", **o),
        lambda **o: tree.raycast_all(points, ways, by="sphere", **o),
    ):
        for rows, all_rows, out in zip(ask(ignore=ignored), ask(), ignored, strict=True):
            rows, all_rows = (part[0] if isinstance(part, tuple) else part for part in (rows, all_rows))
            assert rows.tolist() == [row for row in all_rows.tolist() if row not in out]
    firsts = tree.raycast(points, ways, by="sphere", ignore=ignored)
    assert not any(row in out for row, out in zip(firsts.rows, ignored, strict=True) if row >= 0)
    hits = tree.raycast_any(points, ways, by="sphere", ignore=ignored)
    assert np.array_equal(hits, firsts.rows >= 0)


def test_nearest_to_bodies_may_ignore_actors_too():
    world = bp.World(dim=2)
    bodies = [world.add(bp.Circle(1), position=(x, 0)) for x in (0, 3, 7, 12)]
    assert world.nearest(rows=[0, 1], ignore=bodies[2]).rows.tolist() == [[1], [0]]
    assert world.nearest(rows=[1, 2], ignore=[bodies[0], bodies[1]]).rows.tolist() == [[2], [3]]
    assert world.nearest(rows=[1, 2], ignore=bodies[1], exclude_self=False).rows.tolist() == [[0], [2]]


def test_nearest_spheres_to_rows_without_themselves():
    random = np.random.default_rng(11)
    tree = bp.Octree.from_spheres(random.random((50, 3)) * 6, 0.4, batch=np.arange(50) % 2)
    rows = np.array([4, 9, 30])
    centers = tree.boxes_of(rows).mean(axis=1)
    for options in ({}, {"batch": rows % 2}):
        found = tree.nearest(rows=rows, k=3, by="sphere", ignore=5, **options)
        wanted = tree.nearest(centers, 3, by="sphere", ignore=np.column_stack([rows, [5] * 3]), **options)
        assert np.array_equal(found.rows, wanted.rows)
        assert (found.rows != rows[:, np.newaxis]).all()
