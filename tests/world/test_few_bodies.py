"""A few queries of a world, answered by one call of the core: the same as by the general way, whatever has changed."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

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
    parts = tuple(found) if isinstance(found, tuple) else parts
    return type(found), [(part.dtype, part.tolist()) for part in map(np.asarray, parts)]


def check(world, name, *given, **options):
    """Compare both ways; give whether the quick one has answered."""
    ask = lambda: getattr(world, name)(*given, **options)  # noqa: E731
    with general_way():
        expected = outcome(ask)
    assert outcome(ask) == expected, (name, given, options)
    few = world._few
    if few is None:
        return False
    arguments = {"query_shape": [None] * 3, "shapecast": [None] * 4, "nearest": [None, 1, np.inf, None, True]}
    every = [*given, *arguments.get(name, [])[len(given) :]]
    if name == "frustum":
        every = [options.get("matrix"), options.get("planes"), options.get("depth", "minus_one_to_one")]
    options = {key: value for key, value in options.items() if key not in ("matrix", "planes", "depth")}
    return getattr(few, name)(*every, options) is not NotImplemented


def mixed_world(d, seed, names=None, **options):
    rng, count = np.random.default_rng([d, seed]), 8
    world = bp.World(dim=d, **options)
    every = shape_cases.BOUNDED if options.get("boundary") == "wrap" else shape_cases.CLASSES
    for name in names or every[d]:
        kept = name in shape_cases.KEPT
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
        ("nearest", places, 3),
    ]


def queries_of_shapes(rng, d, count, names=shape_cases.CLASSES):
    """Give names, arguments and options of queries of other forms than boxes and balls, as `queries_of`."""
    shape = () if count is None else (count,)
    places, sizes, ways = (rng.uniform(low, 9, (*shape, d)) for low in (0, 0.1, -9))
    turns = rng.uniform(-9, 9, shape) if d == 2 else rng.normal(size=(*shape, 4))
    planes = rng.normal(size=(*shape, 5, d + 1))
    planes[..., d] += 9 * np.abs(planes[..., :d]).sum(axis=-1)
    matrix = np.broadcast_to(np.eye(d + 1), (*shape, d + 1, d + 1)).copy()
    matrix[..., :d, :d] *= rng.uniform(0.1, 0.4, (*shape, 1, 1))
    matrix[..., :d, d] = -1
    ball = (bp.Circle if d == 2 else bp.Sphere)(1.5)
    row = bp.Box([2], [1], [1]) if d == 3 else bp.Rectangle([2], [1])  # with an axis of rows
    for depth in ("zero_to_one", "minus_one_to_one"):
        yield "frustum", (), {"matrix": matrix, "depth": depth}
    yield "frustum", (), {"planes": planes}
    for some in (turns, 0 * turns + ([2.0, 0, 0, 0] if d == 3 else 0.0)):
        if count is None and d == 2:
            some = float(some)
        yield "query_obb", (places, sizes, some), {}
        yield "query_obb", (places.tolist(), 1.5, some), {}
        yield "query_obb", (places, sizes.reshape(-1, d)[0], some), {}
        for name in names[d]:
            numbers = shape_cases.Numbers(rng, d)
            one = shape_cases.shape_of(name, numbers)
            yield "query_shape", (one, places, some), {}
            yield "shapecast", (one, places, ways, some), {}
    for one in (ball, row):
        yield "query_shape", (one, places), {}
        yield "shapecast", (one, places, ways), {}
        yield "shapecast", (one, places, ways.reshape(-1, d)[0]), {}


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
        for number, (name, given, own) in enumerate(queries_of_shapes(rng, d, count)):
            assert check(world, name, *given, **own, **options[number % len(options)]), (name, given)


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


@pytest.mark.parametrize("d", [2, 3])
def test_periodic_worlds_answer_as_by_the_general_way(d):
    world, rng = mixed_world(d, 5, boundary="wrap", bounds=[[1.0] * d, [13.0] * d])
    world.refresh()
    world.query_points(np.ones((1, d)))
    answered = []  # some have many images
    for count in (None, 3):
        for far in (0, 0, 12 * 10**6):
            for name, *given in queries_of(rng, d, count):
                places = (np.asarray(given[0]).reshape(-1, d) + far).reshape(np.shape(given[0]))
                assert check(world, name, places, *given[1:], ignore=int(world.rows[1]))
                world.step(0.01)
            for name, given, own in queries_of_shapes(rng, d, count, shape_cases.BOUNDED):
                moved = [*given]
                if name in ("query_obb", "query_shape"):
                    at = 0 if name == "query_obb" else 1
                    moved[at] = np.add(moved[at], far)
                answered.append(check(world, name, *moved, **own))
    assert np.mean(answered) > 0.9


def test_periodic_queries_that_are_rare_are_left_to_the_general_way():
    world = bp.World(dim=2, boundary="wrap", bounds=[[0, 0], [8, 8]])
    world.add_many(bp.Circle(0.5), [[1, 1], [7.8, 1]])
    world.query_ball((0, 1), 1)
    assert world.query_ball((0, 1), 1).tolist() == [0, 1]
    assert check(world, "query_ball", (0, 1), 3)
    assert not check(world, "query_ball", (0, 1), 30)  # too many images
    assert check(world, "query", (-50, 0, 90, 1))


@pytest.mark.parametrize("d", [2, 3])
def test_bodies_far_away_from_a_periodic_world_are_found_at_their_images_in_it(d):
    world, rng = mixed_world(d, 10, boundary="wrap", bounds=[[1.0] * d, [13.0] * d])
    corner = np.full(d, 1200.0)
    far = [
        world.add((bp.Circle if d == 2 else bp.Sphere)(0.5), position=corner + 3, body_type="static", layer="wall"),
        world.add(
            bp.Rectangle(2, 1) if d == 2 else bp.Box(2, 1, 1), position=-corner, body_type="kinematic", layer="ball"
        ),
    ]
    world.refresh()
    world.query_points(np.ones((1, d)))
    found = 0
    for count in (None, 2, 9):
        for name, *given in queries_of(rng, d, count):
            for options in ({}, {"mask": "wall"}, {"ignore": far[0]}):
                assert check(world, name, *given, **options)
            if name == "query_ball":
                rows = np.unique(getattr(world.query_ball(given[0], 9), "rows", world.query_ball(given[0], 9)))
                found += np.isin([one.row for one in far], rows).sum()
        for name, given, own in queries_of_shapes(rng, d, count, shape_cases.BOUNDED):
            check(world, name, *given, **own)
        world.step(0.01)
        world.query_points(np.ones((1, d)))
    assert found > 3
    assert check(world, "query_ball", corner + 3 - 12 * 90, 0.1)
    assert far[0].row in world.query_ball(corner + 3 - 12 * 90, 0.1)
    world.remove(far[0])
    world.remove(far[1])
    world.query_points(np.ones((1, d)))
    assert check(world, "nearest", corner + 3, 4)


@pytest.mark.parametrize("d", [2, 3])
def test_other_forms_of_shapes_and_rotations_are_left_to_the_general_way(d):
    world, rng = mixed_world(d, 6)
    place, turn = np.full(d, 4.0), 0.5 if d == 2 else [1, 2, 3, 4]
    world.query_points([place])
    ball = bp.Circle if d == 2 else bp.Sphere
    cases = [
        ("query_obb", place, 1, np.eye(d)),
        ("query_obb", place, [[1, 2]], turn) if d == 3 else ("query_obb", place, [1, 2, 3], turn),
        ("query_obb", place, -1, turn),
        ("query_obb", place, 1e40, turn),
        ("query_obb", place, 1, np.nan if d == 2 else [0, 0, 0, 0]),
        ("query_obb", place, 1, "1"),
        ("query_shape", ball([1, 2]), [place, place]),
        ("query_shape", (bp.Sphere if d == 2 else bp.Circle)(1), place),
        ("query_shape", [ball(1)], place),
        ("query_shape", "ball", place),
        ("query_shape", ball(1), place, np.eye(d)),
        ("query_shape", bp.Point(), place),
        ("query_shape", ball(1), np.full(d, 1e41)),
        ("query_shape", ball(1), [place] * 3, np.broadcast_to(turn, (2,) if d == 2 else (2, 4))),
        ("query_shape", ball(1), [place], [0.5, 1] if d == 2 else [[1, 2, 3, 4]] * 2),
        ("shapecast", ball(1), [place], place, [0.5, 1] if d == 2 else [[1, 2, 3, 4]] * 2),
        ("shapecast", ball(1), place, [place], [0.5, 1] if d == 2 else [[1, 2, 3, 4]] * 2),
        ("shapecast", ball(1), place, place * np.inf),
        ("shapecast", ball(1), [place] * 3, [place] * 2),
    ]
    for name, *given in cases:
        assert not check(world, name, *given), (name, given)
    many = [0.5, 1] if d == 2 else [[1, 2, 3, 4]] * 2
    assert check(world, "query_shape", ball(1), place, many)
    assert check(world, "shapecast", ball(1), place, place, many)
    assert check(world, "shapecast", ball(1), [place], [place] * 2, many)
    for own in ({}, {"planes": np.eye(d + 1)[:1], "matrix": np.eye(d + 1)}, {"matrix": np.zeros((d + 1, d + 1))},
                {"planes": rng.normal(size=(9, d + 1))}, {"planes": np.full((4, d + 1), np.nan)},
                {"matrix": np.eye(d + 1), "depth": "deep"}, {"planes": [1.0] * (d + 1)}):  # fmt: skip
        assert not check(world, "frustum", **own), own


@pytest.mark.parametrize(
    "options", [{}, {"boundary": "wrap"}, {"method": "bvh"}, {"margin": 0.0}, {"method": "octree"}]
)
def test_the_index_follows_steps_as_by_the_general_way(options):
    bounds = [[0, 0], [20, 20]]
    worlds = [bp.World(dim=2, bounds=bounds, **options) for _ in range(2)]
    rng = np.random.default_rng(7)
    given = rng.uniform(0, 20, (300, 2)), rng.normal(size=(300, 2)) * (rng.random(300) < 0.4)[:, np.newaxis]
    for world in worlds:
        world.add_many(bp.Circle(0.3), given[0], velocities=given[1])
    first, second = worlds
    kept = set()
    for step in range(40):
        for world in worlds:
            world.step(1 / 30 if step % 5 else 0.0)
            if step == 20:
                world.remove(world.rows[7])
            if step == 30:
                world.add(bp.Circle(1), position=(5, 5))
        quick = [first.query((4, 4, 9, 9)), first.nearest((5, 5), 4).rows, first.query_ball((19, 19), 4)]
        with general_way():
            slow = [second.query((4, 4, 9, 9)), second.nearest((5, 5), 4).rows, second.query_ball((19, 19), 4)]
        assert [found.tolist() for found in quick] == [found.tolist() for found in slow]
        kept.add(id(first._scene._few))
        first.validate()
    if options.get("method") != "octree":
        assert len(kept) <= 4


@pytest.mark.parametrize("boundary", ["bounce", "wrap"])
def test_the_first_queries_after_a_step_may_come_from_many_threads(boundary):
    world = bp.World(dim=2, bounds=[[0, 0], [20, 20]], boundary=boundary)
    rng = np.random.default_rng(9)
    world.add_many(bp.Circle(0.3), rng.uniform(0, 20, (500, 2)), velocities=rng.normal(size=(500, 2)))
    ask = lambda _=0: [world.query((-3, 2, 9, 9)).tolist(), world.nearest((19, 5), 3).rows.tolist()]  # noqa: E731
    with ThreadPoolExecutor(4) as pool:
        for _ in range(30):
            world.step(1 / 30)
            found = list(pool.map(ask, range(8)))
            with general_way():
                assert found == [ask()] * 8
    world.validate()


def test_an_index_that_cannot_follow_leaves_that_to_the_general_way():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(0.3), np.random.default_rng(8).uniform(0, 9, (300, 2)))
    world.query((0, 0, 9, 9))
    for change in (lambda: world.positions.__iadd__(5.0), lambda: world.positions.__isub__(3.0)):  # all of them
        change()
        world.step()
        with general_way():
            expected = world.query((0, 0, 9, 9)).tolist()
        assert world.query((0, 0, 9, 9)).tolist() == expected
        world.validate()


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
