"""What two published worlds could do, this one can: a game's octree with records, and a game world of actors."""

import time

import numpy as np
import pytest

import broadphase as bp


class Rectangle(bp.Actor):
    """A rectangle of the tutorial: keeps itself in the world, counts hits, draws itself."""

    hits = 0

    def update(self, info):
        self.position += self.velocity
        for axis in range(2):
            if not 5 <= self.position[axis] <= 495:
                self.velocity[axis] *= -1
                self.position[axis] = np.clip(self.position[axis], 5, 495)

    def on_enter(self, other):
        self.hits += 1

    def on_stay(self, other):
        self.hits += 1

    def render(self, context):
        context.append((self.row, self.hits > 0))


def rectangles(rng, count, actor=bp.Actor, method="auto", **options):
    world = bp.World(dim=2, method=method, **options)
    positions, velocities = rng.uniform(5, 495, (count, 2)), rng.uniform(-5, 5, (count, 2))
    for place, pace in zip(positions, velocities, strict=True):
        world.add(bp.Rectangle(10, 10), position=place, velocity=pace, actor=actor)
    return world


def brute_force_pairs(positions, size=10):
    """Give the pairs of rectangles that touch, tried one by one."""
    near = (np.abs(positions[:, None] - positions) <= size).all(axis=2)
    return np.argwhere(np.triu(near, 1)).tolist()


def test_o3_world_actor_collider_with_update_hit_and_render():
    world = rectangles(np.random.default_rng(1), 60, Rectangle)
    hits = np.zeros(60, int)
    for number in range(1, 40):
        frame = world.step()  # the actors move themselves
        assert frame.number == number
        assert frame.pairs.tolist() == brute_force_pairs(world.positions)
        np.add.at(hits, frame.pairs.ravel(), 1)
    assert [world.actor(row).hits for row in range(60)] == hits.tolist()
    page = []
    assert world.render(page) == 60
    assert page == [(row, bool(hits[row])) for row in range(60)]
    assert ((world.positions >= 5) & (world.positions <= 495)).all()


def test_o3_collider_lies_relative_to_its_actor():
    world = bp.World(dim=2)
    arm = world.add(bp.Circle(1, offset=(5, 0)), position=(0, 0))
    target = world.add(bp.Circle(1), position=(0, 6))
    assert world.step().enter.tolist() == []
    arm.rotation = np.pi / 2
    assert world.step().enter.tolist() == [[0, 1]]
    assert arm.touched() == [target]


@pytest.mark.parametrize("first", ["circle", "rectangle", "polygon"])
@pytest.mark.parametrize("second", ["circle", "rectangle", "polygon"])
def test_o3_detector_dispatches_on_the_pair_of_colliders(first, second):
    shapes = {
        "circle": bp.Circle(1),
        "rectangle": bp.Rectangle(2, 2),
        "polygon": bp.ConvexPolygon([[-1, -1], [1, -1], [1, 1], [-1, 1]]),
    }
    world = bp.World(dim=2)
    world.add(shapes[first], position=(0, 0))
    world.add(shapes[second], position=(1.9, 1.9))
    # Only two corners meet there.
    assert len(world.step().enter) == ("circle" not in (first, second))


@pytest.mark.parametrize("method", ["linear_tree", "grid", "brute_force"])
def test_o3_actors_outside_the_world_are_found_all_the_same(method):
    world = bp.World(dim=2, method=method)
    world.add_many(bp.Rectangle(10, 10), [[0, 0], [1e6, 1e6], [1e6 + 5, 1e6], [-1e7, 3]])
    assert world.step().enter.tolist() == [[1, 2]]


def test_o3_time_of_an_update_can_be_shown():
    world = rectangles(np.random.default_rng(2), 50)
    began = time.perf_counter()
    stats = world.step(1.0).stats
    taken = time.perf_counter() - began
    parts = [value for name, value in stats.items() if name.startswith("seconds_of")]
    assert len(parts) >= 3
    assert 0 < sum(parts) <= taken


class Player(bp.Actor):
    """Keeps the records that it is told of."""

    def __init__(self):
        self.told = []


def test_o1_intersection_record_has_all_the_article_asks_for():
    world = bp.World(dim=3, method="octree")
    player = world.add(bp.Sphere(1), position=(0, 0, 0), layer="player", actor=Player)
    wall = world.add(bp.Box(1, 9, 9), position=(1.25, 0, 0), body_type="static", layer="wall")
    both = []
    # The handler of each of the two is called with it.
    world.on_enter(player)(lambda record: both.append(record))
    world.on_enter(wall)(lambda record: both.append(record))
    world.step()
    record, other_way = both
    assert (record.actor, record.other) == (player, wall) == (other_way.other, other_way.actor)
    assert record == other_way
    assert hash(record) == hash(other_way)
    np.testing.assert_allclose(record.contact.normal, [1, 0, 0])
    np.testing.assert_allclose(other_way.contact.normal, [-1, 0, 0])
    assert record.contact.depth == other_way.contact.depth == pytest.approx(0.25)
    np.testing.assert_allclose(record.contact.position, [0.875, 0, 0])
    level, number = record.cell
    outline = world.outline()
    assert outline.level[number] == level
    # A cell of the tree that holds the smaller of the two.
    assert (outline.lower[number] <= [-1, -1, -1]).all()
    assert (outline.upper[number] >= [1, 1, 1]).all()


def test_o1_ray_record_has_position_normal_ray_distance_and_cell():
    world = bp.World(dim=3, method="octree")
    target = world.add(bp.Sphere(2), position=(10, 0, 0))
    (record,) = world.raycast_all((0, 0, 0), (3, 0, 0))
    assert record.actor == target
    assert record.distance == 8
    np.testing.assert_allclose(record.position, [8, 0, 0])
    np.testing.assert_allclose(record.normal, [-1, 0, 0])
    np.testing.assert_allclose(record.direction, [3, 0, 0])
    assert record.cell is not None


def test_o1_statistics_say_how_many_tests_were_spared():
    world = bp.World(dim=2)
    rng = np.random.default_rng(4)
    world.add_many(bp.Circle(np.full(200, 1.0)), rng.uniform(0, 100, (200, 2)))
    frame = world.step()
    assert frame.stats["brute_force_tests"] == 199 * 200 // 2
    assert len(frame.enter) <= frame.stats["tests"] < frame.stats["brute_force_tests"] / 20


def test_o1_static_pairs_are_never_tested_and_static_meets_moving():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [0.5, 0]], body_type="static")
    world.add(bp.Circle(1), position=(0.2, 0))
    assert world.step().enter.tolist() == [[0, 2], [1, 2]]


def test_o1_dead_objects_are_gone_at_the_next_update():
    world = bp.World(dim=3, method="octree")
    rows = world.add_many(bp.Sphere(1), np.zeros((3, 3)))
    world.step()
    world.actor(1).remove()
    frame = world.step()
    assert frame.exit.tolist() == [[0, 1], [1, 2]]
    assert world.rows.tolist() == [rows[0], rows[2]]


def test_o1_queries_with_a_type_filter():
    world = bp.World(dim=3)
    world.add(bp.Sphere(1), position=(0, 0, -5), layer="tank")
    world.add(bp.Sphere(1), position=(1, 0, -8), layer="tree")
    world.add(bp.Sphere(1), position=(0, 0, 20), layer="tank")
    camera = bp.cameras.perspective(1.0, 1.0, 0.1, 100) @ bp.cameras.look_at([0, 0, 0], [0, 0, -1])
    selection = bp.cameras.selection_matrix(camera, [-0.1, -0.1, 0.1, 0.1])
    assert world.frustum(camera).tolist() == [0, 1]
    assert world.frustum(camera, mask="tree").tolist() == [1]
    assert world.frustum(selection, mask="tank").tolist() == [0]
    assert world.raycast_all([[0, 0, 0]], [[0.05, 0, -1]], mask={"tank", "tree"}).rows.tolist() == [0, 1]
    assert world.query([[-9, -9, -9, 9, 9, 9]], mask="tank").rows.tolist() == [0]
    assert world.query_ball([[0, 0, 0]], 4, mask="tank").rows.tolist() == [0]


def test_o1_culled_rendering_draws_only_what_is_seen_in_less_detail_far_away():
    drawn = []

    class Tree(bp.Actor):
        def render(self, levels):
            drawn.append((self.row, levels[self.row]))

    world = bp.World(dim=3)
    for distance in (10, 60, 150, 300, -20):
        world.add(bp.Sphere(1), position=(0, 0, -distance), actor=Tree)
    camera = bp.cameras.perspective(1.0, 1.0, 0.1, 1000) @ bp.cameras.look_at([0, 0, 0], [0, 0, -1])
    seen = world.visible(camera, lod=(50, 200))
    assert world.render(dict(zip(seen.rows.tolist(), seen.levels.tolist(), strict=True)), seen) == 4
    assert drawn == [(0, 0), (1, 1), (2, 1), (3, 2)]
    assert (len(seen.rows), seen.culled) == (4, 1)


def test_o1_priorities_come_first_and_the_rest_is_deferred():
    world = bp.World(dim=2)
    world.layer("dust", priority=-1)
    world.layer("player", priority=10)
    rng = np.random.default_rng(5)
    world.add_many(bp.Circle(np.full(60, 1.0)), rng.uniform(0, 12, (60, 2)), layer="dust")
    player = world.add(bp.Circle(3), position=(6, 6), layer="player")
    met = []
    world.on_enter("player")(lambda event: met.append(event.other.row))
    frame = world.step(budget=bp.Budget(tests=60))
    assert len(frame.deferred)
    everything = {row for row in world.query_shape(bp.Circle(3), (6, 6)).tolist() if row != player.row}
    assert set(met) == everything
    total = set(map(tuple, frame.enter.tolist()))
    for _ in range(200):
        frame = world.step(budget=bp.Budget(tests=60))
        total |= set(map(tuple, frame.enter.tolist()))
        if not len(frame.deferred):
            break
    near = np.linalg.norm(world.positions[:, None] - world.positions, axis=2)
    radii = np.array([1.0] * 60 + [3.0])
    assert total == set(map(tuple, np.argwhere(np.triu(near <= radii[:, None] + radii, 1)).tolist()))
