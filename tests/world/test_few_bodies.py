"""A few queries of a world, answered by one call of the core: the same as by the general way, whatever has changed."""

import contextlib

import numpy as np
import pytest

import broadphase as bp
import shape_cases
from broadphase.errors import UnknownRowError


@contextlib.contextmanager
def general_way():
    """Have worlds answer by the general way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bp.World, "_few", None)
        yield


def outcome(call):
    """Give what a call returns, or raises."""
    try:
        found = call()
    except Exception as error:
        return type(error), str(error)
    parts = (found.rows, found.offsets) if isinstance(found, bp.index.QueryResult) else (found,)
    return type(found), [(part.dtype, part.tolist()) for part in map(np.asarray, parts)]


def check(world, name, *given, **options):
    """Compare both ways; give whether the quick one has answered."""
    ask = lambda: getattr(world, name)(*given, **options)  # noqa: E731
    with general_way():
        expected = outcome(ask)
    assert outcome(ask) == expected, (name, given, options)
    few = world._few
    return few is not None and getattr(few, name)(*given, options) is not NotImplemented


def mixed_world(d, seed, names=None, **options):
    rng, count = np.random.default_rng([d, seed]), 8
    world = bp.World(dim=d, **options)
    for name in names or shape_cases.CLASSES[d]:
        kept = name in ("ConvexHull", "Mesh")
        numbers = shape_cases.Numbers(rng, d) if kept else shape_cases.Rows(rng, d, count)
        turns = rng.uniform(0, 6, count) if d == 2 else rng.normal(size=(count, 4))
        layer = rng.choice(["ball", "wall"], count).tolist()
        world.add_many(shape_cases.shape_of(name, numbers), rng.uniform(0, 9, (count, d)), rotations=turns, layer=layer)
    world.remove(rng.choice(world.rows, 5, replace=False))
    return world, rng


def queries_of(rng, d, count):
    """Give names and arguments of queries, one of each without an axis of queries where `count` is None."""
    shape = (d,) if count is None else (count, d)
    places = rng.uniform(0, 9, shape)
    sizes = rng.uniform(0, 4, shape)
    boxes = np.stack([places, places + sizes], axis=-2)
    return [
        ("query", boxes),
        ("query", boxes.tolist()),
        ("query", boxes.reshape(*shape[:-1], 2 * d).astype(np.float32)),
        ("query_points", places),
        ("query_ball", places, 1.5),
        ("query_ball", places.tolist(), sizes[..., 0] if count else 2),
    ]


@pytest.mark.parametrize("method", ["auto", "octree", "linear_tree", "brute_force"])
@pytest.mark.parametrize("d", [2, 3])
def test_a_few_queries_of_all_kinds_of_shapes_are_those_of_the_general_way(d, method):
    world, rng = mixed_world(d, 1, method=method)
    rows, actor = world.rows, world.actor(int(world.rows[3]))
    options = [
        {}, {"workers": 2}, {"mask": "wall"}, {"layer": "ball", "mask": 6}, {"mask": -1}, {"layer": 0},
        {"ignore": int(rows[2])}, {"ignore": actor}, {"ignore": actor.handle}, {"ignore": -1}, {"mask": None},
    ]  # fmt: skip
    world.query_points(np.zeros((1, d)))
    for count in (None, 1, 2, 9, 64):
        for name, *given in queries_of(rng, d, count):
            for some in options:
                assert check(world, name, *given, **some)
            if count is None:
                assert check(world, name, *given, ignore=[actor, int(rows[0]), int(rows[5])])


@pytest.mark.parametrize("d", [2, 3])
def test_queries_that_are_rare_are_left_to_the_general_way(d):
    world, _ = mixed_world(d, 2)
    other = bp.World(dim=d).add(bp.Point(), position=np.zeros(d))
    gone = world.actor(int(world.rows[0]))
    handle = gone.handle
    world.remove(gone)
    inside, away = np.zeros(d), np.full(d, 1e41)
    world.query_points([inside])
    cases = [
        ("query", [np.concatenate([-away, away])]),
        ("query", [np.concatenate([inside, inside - 1])]),
        ("query", [np.concatenate([inside - np.inf, inside])]),
        ("query", [(np.zeros((2, d)), np.ones((2, d)))]),
        ("query", [np.zeros((65, 2, d))]),
        ("query", [np.zeros((0, 2, d))]),
        ("query", [[[0]]]),
        ("query_points", [away]),
        ("query_points", [inside + np.nan]),
        ("query_ball", [inside, -1]),
        ("query_ball", [inside, 1e41]),
        ("query_ball", [[inside, inside], [1, 2, 3]]),
    ]
    options = [
        {"mask": "mud"}, {"mask": {"ball", "wall"}}, {"layer": 2**64}, {"ignore": other}, {"ignore": handle},
        {"ignore": 10**6}, {"ignore": list(range(1, 30))}, {"ignore": "1"}, {"by": "box"}, {"batch": 0},
        {"workers": 0}, {"unknown": 1},
    ]  # fmt: skip
    for name, given, some in [*((*case, {}) for case in cases), *(("query_points", [inside], one) for one in options)]:
        assert not check(world, name, *given, **some), (name, given, some)
    with pytest.raises(UnknownRowError):
        world.query_points(inside, ignore=handle)


@pytest.mark.parametrize("d", [2, 3])
def test_every_change_is_seen_by_the_next_query(d):
    world, rng = mixed_world(d, 3, names=shape_cases.EXACT[d])
    corner = np.concatenate([np.full(d, 2.0), np.full(d, 6.0)])
    balls = (bp.Circle if d == 2 else bp.Sphere)(0.5)

    def add():
        world.add(balls, position=np.full(d, 4.0), layer="new")

    def turn():
        world.velocities[:] = rng.normal(size=world.velocities.shape)
        world.step(0.5)

    def write_and_refresh():
        world.positions[:] = rng.uniform(0, 9, world.positions.shape)
        world.refresh()

    changes = [
        lambda: world.move(world.rows[::2], rng.uniform(0, 9, (len(world.rows[::2]), d))),
        add, turn, write_and_refresh,
        lambda: world.remove(world.query(corner)[:1]),
        lambda: world.set_filters(world.rows[::3], layer="wall", mask=0),
        lambda: world.set_filters(world.rows, mask=-1),
        lambda: setattr(world, "method", "octree"),
        lambda: setattr(world, "method", "auto"),
        lambda: world.layer("later"),
        lambda: setattr(world.actor(int(world.rows[0])), "shape", balls),
        lambda: world.step(0.1),
    ]  # fmt: skip
    answered = 0
    for change in changes * 2:
        change()
        for options in ({}, {"mask": "wall"}):
            found = world.query(corner, **options)  # builds what is needed
            again = world.query(corner, **options)
            with general_way():
                assert found.tolist() == again.tolist() == world.query(corner, **options).tolist()
        answered += check(world, "query", corner)
    assert answered == 2 * len(changes)


def test_bodies_outside_the_world_of_an_octree_are_left_out():
    world = bp.World(dim=2, method=bp.Octree.options(bounds=(0, 0, 8, 8), outside="drop"))
    world.add_many(bp.Circle(0.5), [[1, 1], [7.8, 1], [20, 1]])
    assert world.query((0, 0, 30, 30)).tolist() == [0]
    assert check(world, "query", (0, 0, 30, 30))


@pytest.mark.parametrize("method", ["grid", "sweep_and_prune"])
def test_indexes_without_a_tree_answer_by_the_general_way(method):
    world = bp.World(dim=2, method=method)
    world.add_many(bp.Circle(0.5), [[1, 1], [7.8, 1]])
    assert not check(world, "query", (0, 0, 2, 2))


def test_periodic_worlds_answer_by_the_general_way():
    world = bp.World(dim=2, boundary="wrap", bounds=[[0, 0], [8, 8]])
    world.add_many(bp.Circle(0.5), [[1, 1], [7.8, 1]])
    assert not check(world, "query_ball", (0, 1), 1)
    assert world.query_ball((0, 1), 1).tolist() == [0, 1]


def test_a_custom_shape_that_is_near_is_asked_by_the_general_way():
    class Dot(bp.CustomShape, dim=2, parameters=()):
        @staticmethod
        def bounds(values):
            return np.full(2, -0.5), np.full(2, 0.5)

        @staticmethod
        def overlaps(dots, others):
            return np.ones(len(dots), np.bool_)

    world = bp.World(dim=2)
    world.add_many(bp.Circle(0.5), [[1, 1], [7, 1]])
    world.add(Dot(), position=(1, 1))
    world.query((0, 0, 9, 9))
    assert not check(world, "query", (0, 0, 2, 2))
    assert world.query((0, 0, 2, 2)).tolist() == [0, 2]
    assert check(world, "query", (6, 0, 8, 2))


@pytest.mark.parametrize("d", [2, 3])
def test_an_empty_world_and_one_that_has_become_empty_have_nothing_to_find(d):
    world = bp.World(dim=d)
    for _ in range(2):
        for name, *given in queries_of(np.random.default_rng(1), d, None):
            check(world, name, *given)
            assert world.query(np.zeros(2 * d)).tolist() == []
        actor = world.add((bp.Circle if d == 2 else bp.Sphere)(1), position=np.zeros(d))
        assert world.query(np.zeros(2 * d)).tolist() == [0]
        world.remove(actor)
