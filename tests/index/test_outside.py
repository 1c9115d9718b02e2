"""What is not wholly in the world of an octree or a linear tree: found all the same, dropped, or refused."""

import pickle

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, oracle

LIMITS = [[0.0, 0.0], [10.0, 10.0]]
CLASSES = pytest.mark.parametrize("name", ["Octree", "LinearTree"])


def make(name, boxes, outside, limits=LIMITS, **options):
    return getattr(bp, name)(boxes, bounds=limits, outside=outside, **options)


def method(name, outside):
    return getattr(bp, name).options(bounds=LIMITS, outside=outside)


def are_outside(boxes):
    return ((boxes[:, 0] < LIMITS[0]) | (boxes[:, 1] > LIMITS[1])).any(axis=1)


def random_boxes(seed, count, dtype=np.float64):
    rng = np.random.default_rng(seed)
    lower = rng.integers(-4, 22, (count, 2)) / 2
    return np.stack([lower, lower + rng.integers(0, 5, (count, 2)) / 2], axis=1).astype(dtype)


# Indexes -------------------------------------------------------------------------------------------------------------


@CLASSES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dropped_boxes_are_reported_and_gone(name, dtype):
    boxes = random_boxes(1, 120, dtype)
    tree, alive = make(name, boxes, "drop"), ~are_outside(boxes)
    assert 20 < alive.sum() < 100
    assert tree.dropped.tolist() == np.flatnonzero(~alive).tolist()
    for step in range(6):
        if step % 2:
            new = random_boxes(step + 2, 15, dtype)
            rows = tree.insert(new)
            most = rows.max() + 1
            boxes = np.concatenate([boxes, np.zeros((max(0, most - len(boxes)), 2, 2), dtype)])
            alive = np.concatenate([alive, np.zeros(max(0, most - len(alive)), bool)])
        else:
            rows, new = tree.rows[::2].copy(), random_boxes(step + 2, len(tree.rows[::2]), dtype)
            tree.move(rows, new)
        boxes[rows], alive[rows] = new, ~are_outside(new)
        assert sorted(tree.dropped.tolist()) == sorted(rows[are_outside(new)].tolist())
        assert tree.rows.tolist() == np.flatnonzero(alive).tolist()
        expected = oracle.pairs(boxes[alive])
        assert_same_pairs(tree.pairs(), tree.rows[expected])
        assert tree.query([[-99, -99, 99, 99]])[0].tolist() == tree.rows.tolist()
        tree.validate()
    assert pickle.loads(pickle.dumps(tree)).insert([[20, 20, 21, 21]]).tolist() != []


@CLASSES
def test_raising_names_the_box_and_changes_nothing(name):
    tree = make(name, [[1, 1, 2, 2], [5, 5, 6, 6], [0, 0, 10, 10]], "raise")
    tree.remove(0)
    before = tree.boxes_of()
    for change in (
        lambda: tree.insert([[1, 1, 2, 2], [7, 7, 11, 9]]),
        lambda: tree.move([1], [[1, 1, 2, 2]]) or tree.move([1, 2], [[-1, 5, 6, 6], [1, 1, 2, 2]]),
        lambda: tree.update([[-1, 5, 6, 6], [1, 1, 2, 2]]),
    ):
        with pytest.raises(ValueError, match="row 1 is not inside the world"):
            change()
        tree.move([1], [[5, 5, 6, 6]])
        assert (tree.boxes_of() == before).all()
    with pytest.raises(ValueError, match="row 1 is not inside the world"):
        make(name, [[1, 1, 2, 2], [1, 1, 2, 12]], "raise")


@CLASSES
def test_growing_finds_all(name):
    boxes = random_boxes(3, 100)
    tree = make(name, boxes, "grow")
    assert_same_pairs(tree.pairs(), oracle.pairs(boxes))
    assert tree.dropped.tolist() == []


@CLASSES
@pytest.mark.parametrize("outside", ["grow", "drop", "raise"])
def test_no_boxes_and_infinite_ones(name, outside):
    tree = make(name, np.empty((0, 2, 2)), outside)
    assert len(tree) == 0
    endless = [[-np.inf, 0, 1, 1]]
    if outside == "raise":
        with pytest.raises(ValueError, match="row 0 is not inside the world"):
            tree.insert(endless)
    else:
        tree.insert(endless)
        assert len(tree) == (outside == "grow")
    with pytest.raises(ValueError, match="NaN"):
        tree.insert([[np.nan, 0, 1, 1]])


def test_other_bounds_of_a_linear_tree_drop_or_refuse_what_is_outside_then():
    boxes = [[1, 1, 2, 2], [5, 5, 6, 6], [8, 8, 9, 9]]
    tree = make("LinearTree", boxes, "drop", batch=[0, 0, 1])
    assert tree.query([[0, 0, 9, 9]] * 3, batch=[0, 1, 2]).counts.tolist() == [2, 1, 0]  # builds a tree for each key
    tree.bounds = [[6, 6], [0, 0]]
    assert (tree.dropped.tolist(), tree.rows.tolist(), tree.outside_rows.tolist()) == ([2], [0, 1], [])
    assert tree.query([[0, 0, 9, 9]] * 3, batch=[0, 1, 2]).counts.tolist() == [2, 0, 0]
    assert tree.query([[0, 0, 9, 9]])[0].tolist() == [0, 1]
    tree.depth = 3
    assert tree.dropped.tolist() == [2]
    tree.validate()
    strict = make("LinearTree", boxes, "raise")
    with pytest.raises(ValueError, match="row 2 is not inside the world"):
        strict.bounds = [[0, 0], [6, 6]]
    assert strict.bounds.tolist() == LIMITS
    with pytest.raises(ValueError, match='outside="raise" needs bounds'):
        strict.bounds = None
    half = bp.LinearTree(boxes, bounds=[[-np.inf, 0], [np.inf, 6]], outside="drop")
    assert half.dropped.tolist() == [2]


def test_wrong_policies_are_refused():
    for name in ("Octree", "LinearTree"):
        with pytest.raises(ValueError, match="unknown outside 'clamp'"):
            make(name, [[0, 0, 1, 1]], "clamp")
        with pytest.raises(ValueError, match="unknown outside 3"):
            method(name, 3)
    with pytest.raises(ValueError, match='outside="drop" needs bounds'):
        bp.LinearTree([[0, 0, 1, 1]], outside="drop")


# Worlds --------------------------------------------------------------------------------------------------------------


def circles(method_of_world, count=60, **options):
    rng = np.random.default_rng(7)
    world = bp.World(dim=2, method=method_of_world, **options)
    world.add_many(bp.Circle(0.7), rng.uniform(-1, 11, (count, 2)), velocities=rng.normal(0, 4, (count, 2)))
    return world


def turn_back(world):
    """Let bodies that are far out come back."""
    away = world.positions - 5.0
    is_far = (np.abs(away) > 7) & (away * world.velocities > 0)
    world.velocities[is_far] *= -1


def touching_pairs(world, keys=None):
    """The pairs of circles inside that touch, by their distances."""
    inside = np.flatnonzero(~are_outside(world.boxes))
    first, second = (inside[k] for k in np.triu_indices(len(inside), 1))
    away = np.linalg.norm(world.positions[first] - world.positions[second], axis=1)
    assert (np.abs(away - 1.4) > 1e-9).all(), "no pair is in doubt"
    touch = away < 1.4
    if keys is not None:
        touch &= keys[first] == keys[second]
    return np.stack([first, second], axis=1)[touch].tolist()


@CLASSES
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("workers", [1, 2])
def test_bodies_outside_take_no_part_until_they_come_back(name, keyed, workers):
    world = circles(method(name, "drop"), workers=workers)
    keys = None
    if keyed:
        keys, world = np.arange(60) % 2, bp.World(dim=2, method=method(name, "drop"))
        rng = np.random.default_rng(7)
        places, speeds = rng.uniform(-1, 11, (60, 2)), rng.normal(0, 4, (60, 2))
        world.add_many(bp.Circle(0.7), places, velocities=speeds, batch=keys)
    last, came_back, was_outside = [], 0, np.zeros(60, bool)
    for number in range(60):
        frame = world.step(0.05)
        now = touching_pairs(world, keys)
        assert frame.pairs.tolist() == now
        assert frame.enter.tolist() == [pair for pair in now if pair not in last]
        assert frame.exit.tolist() == [pair for pair in last if pair not in now]
        is_outside = are_outside(world.boxes)
        assert world.outside_rows.tolist() == np.flatnonzero(is_outside).tolist()
        came_back += int((was_outside & ~is_outside).sum())
        last, was_outside = now, is_outside
        turn_back(world)
        if number % 20 == 0:
            world.validate()
    assert came_back > 20
    assert len(world) == 60


@CLASSES
def test_queries_of_a_world_find_no_bodies_outside(name):
    world = circles(method(name, "drop"))
    world.add_many(bp.Circle(0.7), [[4, 4], [20, 20]], body_type="static")
    world.step(0.01)
    other = bp.World.from_bytes(world.to_bytes())
    assert other.method == world.method
    assert other.pairs.tolist() == world.pairs.tolist()
    other.method = "brute_force"
    gone = world.outside_rows
    assert len(gone) > 5
    other.remove(gone)
    rng = np.random.default_rng(1)
    points, ways = rng.uniform(-2, 12, (30, 2)), rng.normal(size=(30, 2))
    for ask in (
        lambda one: one.query(np.stack([points - 1, points + 1], axis=1)),
        lambda one: one.query([[-np.inf, -np.inf, np.inf, np.inf]]),
        lambda one: one.query_points(points),
        lambda one: one.query_ball(points, 2.0),
        lambda one: one.query_obb(points, 1.5, 0.3),
        lambda one: one.frustum(planes=[[[1, 0, 1], [0, 1, 1]]]),
        lambda one: one.raycast_all(points, ways),
        lambda one: one.query_shape(bp.Rectangle(3, 2), points),
    ):
        found, wanted = ask(world), ask(other)
        assert found.rows.tolist() == wanted.rows.tolist()
        assert found.offsets.tolist() == wanted.offsets.tolist()
    for ask in (
        lambda one: one.nearest(points, 80),
        lambda one: one.nearest(points, 3, 4.0),
        lambda one: one.raycast(points, ways),
        lambda one: one.shapecast(bp.Circle(0.5), points, 20 * ways),
    ):
        found, wanted = ask(world), ask(other)
        width = np.atleast_2d(wanted[0]).shape[-1] if wanted[0].ndim == 2 else None
        np.testing.assert_array_equal(found[0][..., :width], wanted[0])
        np.testing.assert_allclose(found[1][..., :width], wanted[1])
        assert not np.isin(found[0], gone).any()
    np.testing.assert_array_equal(world.raycast_any(points, ways), other.raycast_any(points, ways))
    assert world.query_points([(20, 20)]).rows.tolist() == []
    np.testing.assert_array_equal(world.query_points([(4, 4)]).rows, other.query_points([(4, 4)]).rows)


@CLASSES
def test_steps_cut_by_a_budget_leave_bodies_outside_out_too(name):
    world = circles(method(name, "drop"))
    for number in range(40):
        frame = world.step(0.05, budget=None if number % 4 == 3 else 1e-9)
        assert not np.isin(frame.pairs, world.outside_rows).any()
        if number % 4 == 3:
            assert frame.pairs.tolist() == touching_pairs(world)
        turn_back(world)


def test_followed_bodies_meet_nothing_that_is_outside():
    world = bp.World(dim=2, method=method("Octree", "drop"))
    world.add_many(bp.Circle(0.5), [[2, 5], [2, 8]], velocities=[[6, 0], [9, 0]], ccd=True)
    world.add_many(bp.Circle(0.5), [[5, 5], [12, 8]], body_type="static")
    frame = world.step(1.0)  # the second body leaves, on its way to the last one, which is outside
    assert frame.enter.tolist() == [[0, 2]]
    world.move([1], [[2, 8]])
    world.velocities[1] = 0
    assert world.step(1.0).pairs.tolist() == []


@CLASSES
def test_step_refuses_a_body_that_leaves_and_goes_on_when_it_is_back(name):
    world = bp.World(dim=2, method=method(name, "raise"))
    world.add_many(bp.Circle(1), [[5, 5], [8, 5]], velocities=[[0, 0], [2, 0]])
    world.remove(0)
    world.add(bp.Circle(1), position=(6.5, 5))
    assert world.step(0.1).enter.tolist() == [[0, 1]]
    before = world.positions.copy()
    named = {"Octree": "octree", "LinearTree": "linear_tree"}[name]
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"row 1 is not inside the world of the {named}, .*: its box is"):
            world.step(1.0)
        assert (world.positions == before).all()
        assert world.number == 1
        assert world.pairs.tolist() == [[0, 1]]
    world.validate()
    world.velocities[1] = [-2, 0]
    assert world.step(0.5).exit.tolist() == []
    world.move([1], [[30, 30]])
    assert world.outside_rows.tolist() == [1]
    with pytest.raises(ValueError, match="row 1 is not inside"):
        world.step()
    world.move([1], [[2, 2]])
    assert world.step().exit.tolist() == [[0, 1]]


@CLASSES
def test_a_world_that_grows_has_the_events_of_any_other(name):
    world, other = circles(method(name, "grow")), circles("brute_force")
    for _ in range(30):
        frame, expected = world.step(0.05), other.step(0.05)
        np.testing.assert_array_equal(frame.enter, expected.enter)
        np.testing.assert_array_equal(frame.exit, expected.exit)
        assert world.outside_rows.tolist() == np.flatnonzero(are_outside(world.boxes)).tolist()
        assert other.outside_rows.tolist() == []
        for one in (world, other):
            turn_back(one)


def test_bodies_that_the_boundary_removes_are_not_refused():
    world = bp.World(dim=2, method=method("Octree", "raise"), bounds=LIMITS, boundary="remove")
    world.add(bp.Circle(1), position=(5, 5), velocity=(40, 0))
    assert world.step(1.0).removed.tolist() == [0]


def test_another_method_lets_bodies_come_and_go_in_the_next_step():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[10, 5], [9, 5]], body_type="kinematic")
    assert world.step().enter.tolist() == [[0, 1]]
    world.method = method("Octree", "drop")
    assert world.step().exit.tolist() == [[0, 1]]
    world.validate()
    world.method = "auto"
    assert world.step().enter.tolist() == [[0, 1]]


def test_worlds_need_to_know_where_the_octree_ends():
    with pytest.raises(ValueError, match=r'outside="drop" needs the bounds= of the octree'):
        bp.World(dim=2, method=bp.Octree.options(outside="drop"))
    with pytest.raises(ValueError, match='outside="raise" is not for boundary="wrap"'):
        bp.World(dim=2, method=method("LinearTree", "raise"), bounds=LIMITS, boundary="wrap")
    world = bp.World(dim=2)
    with pytest.raises(ValueError, match="needs the bounds="):
        world.method = bp.Octree.options(outside="raise")
    assert world.method == "auto"


def test_scene_files_say_where_a_policy_does_not_fit(tmp_path):
    path = tmp_path / "scene.toml"
    scene = '[world]\ndim = 2\nmethod = { name = "octree", outside = "drop"%s }\n'
    path.write_text(scene % "")
    with pytest.raises(ValueError, match=r"scene\.toml.*method.*needs the bounds= of the octree"):
        bp.scenes.load(path)
    path.write_text(scene % ", bounds = [0, 0, 9, 9]")
    assert bp.scenes.load(path).method == bp.Octree.options(bounds=[0, 0, 9, 9], outside="drop")


def test_policies_are_read_from_descriptions():
    options = method("LinearTree", "drop")
    assert bp.index.IndexOptions.of(options.describe()) == options
    assert repr(options).endswith("outside='drop')")
    assert bp.Octree.options(outside="grow") == bp.Octree.options()
