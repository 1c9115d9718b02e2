"""Rays and nearest bodies in worlds, one at a time and many, after every change, against every row tried."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import broadphase as bp
from broadphase.narrow.row_pairs import separations
from world_query_cases import ball, check_nearest, check_rays, make_world

METHODS = ["auto", "bvh", "octree", "linear_tree", "brute_force"]
MANY = 600  # from 512 on, rays take turns


def rays_through(draws, count):
    """Origins, directions and lengths; some directions are zero, and some of extreme length."""
    origins = draws.places(count, 2)
    directions = draws.places(count) - origins
    directions *= np.ldexp(1.0, draws.rng.choice([-400, -30, 0, 0, 0, 30, 400], (count, 1)))
    directions[:: count // 7] = 0
    return origins, directions, np.where(draws.rng.random(count) < 0.3, draws.numbers(0, 5, count), np.inf)


def check_one_by_one(world, draws, **options):
    """Compare single queries with the same ones in arrays, which take the general way."""
    count = 80
    origins, directions, limits = rays_through(draws, count)
    first, every = world.raycast(origins, directions, limits), world.raycast_all(origins, directions, limits)
    some = world.raycast_any(origins, directions, limits)
    for k in range(0, count, 9):
        ray = origins[k], directions[k], limits[k]
        hit, hits = world.raycast(*ray, **options), world.raycast_all(*ray, **options)
        assert (-1 if hit is None else hit.actor.row) == first.rows[k]
        assert (np.inf if hit is None else hit.distance) == first.distances[k]
        assert [one.actor.row for one in hits] == every[k][0].tolist()
        assert [one.distance for one in hits] == every[k][1].tolist()
        assert world.raycast_any(*ray, **options) == some[k]
    points = draws.places(count, 3)
    nearest = world.nearest(points, 3, 4.0)
    for k in range(0, count, 9):
        one = world.nearest(points[k], 3, 4.0, **options)
        assert one.rows.tolist() == nearest.rows[k].tolist()
        assert one.distances.tolist() == nearest.distances[k].tolist()
    rows = world.rows
    own = world.nearest(rows=rows, k=2)
    for k in range(0, len(rows), 13):
        assert world.nearest(rows=int(rows[k]), k=2).rows.tolist() == own.rows[k].tolist()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dim", [2, 3])
def test_single_queries_notice_every_change_of_the_world(dim, method):
    world, draws = make_world(dim, 5, method=method)
    flat = ball(dim, 0.4)

    def change(name):
        rows = world.rows
        some = rows[:: len(rows) // 5]
        if name == "add":
            world.add_many(flat, draws.places(7))
        elif name == "add one":
            world.add(flat, position=draws.places(1)[0])
        elif name == "remove":
            world.remove(some)
        elif name == "move":
            world.move(some, positions=draws.places(len(some)))
        elif name == "write":
            world.positions[some] = draws.places(len(some))
        elif name == "refresh":
            world.refresh()
        elif name == "step":
            world.velocities[some] = draws.places(len(some))
            world.step(0.1)
        elif name == "shapes":
            world.set_shapes(some, flat)
        elif name == "filters":
            world.set_filters(some, layer="mud", mask="all")
        elif name == "sleep":
            world.sleep(some)
        elif name == "method":
            world.method = "bvh" if world.method == "auto" else "auto"

    names = ["add", "add one", "remove", "move", "write", "refresh", "step", "shapes", "filters", "sleep", "method"]
    for name in [*names, *draws.rng.permutation(names)]:
        change(str(name))
        check_one_by_one(world, draws)
        check_rays(world, *rays_through(draws, 70))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("dim", "lattice"), [(2, False), (2, True), (3, False), (3, True)])
def test_many_rays_hit_what_every_row_tried_says(dim, lattice, method):
    world, draws = make_world(dim, 6, lattice, method=method)
    assert check_rays(world, *rays_through(draws, MANY)) > MANY // 3
    check_nearest(world, draws.places(MANY, 3), 4, np.full(MANY, 3.0), {}, world.rows)


@pytest.mark.parametrize("options", [{"mask": "wall"}, {"layer": "mud"}, {"ignore": 3}, {"ignore": [[-1, 3]]}])
def test_options_of_single_queries_are_those_of_many(options):
    world, draws = make_world(2, 7)
    world.set_filters(world.rows[::4], mask="ball")
    origins, directions, limits = rays_through(draws, MANY)
    many, points = world.raycast(origins, directions, limits, **options), draws.places(MANY)
    nearest = world.nearest(points, 2, **options)
    each = world.raycast_all(origins, directions, limits, **options)
    assert [rows[0] if len(rows) else -1 for rows, _ in each] == many.rows.tolist()
    if isinstance(options.get("ignore"), list):
        options = {"ignore": options["ignore"][0]}
    for k in range(0, MANY, 29):
        hit = world.raycast(origins[k], directions[k], limits[k], **options)
        assert (-1 if hit is None else hit.actor.row) == many.rows[k]
        assert world.nearest(points[k], 2, **options).rows.tolist() == nearest.rows[k].tolist()


def test_batches_are_worlds_of_their_own():
    rng = np.random.default_rng(3)
    world, batch = bp.World(dim=2), np.repeat(np.arange(40), 15)
    places = rng.uniform(0, 9, (600, 2))
    world.add_many(bp.Circle(rng.uniform(0.1, 0.6, 600)), places, batch=batch)
    origins, directions = rng.uniform(0, 9, (MANY, 2)), rng.normal(size=(MANY, 2))
    keys = rng.integers(-1, 41, MANY)  # two of no body
    found = world.raycast(origins, directions, batch=keys)
    nearest = world.nearest(origins, 3, batch=keys)
    assert (found.rows[(keys < 0) | (keys > 39)] == -1).all()
    assert (nearest.rows[(keys < 0) | (keys > 39)] == -1).all()
    for key in range(40):
        alone = bp.World(dim=2)
        alone.add_many([world.shapes[row] for row in np.flatnonzero(batch == key)], places[batch == key])
        some = keys == key
        wanted = alone.raycast(origins[some], directions[some])
        assert found.distances[some].tolist() == wanted.distances.tolist()
        assert (found.rows[some] - 15 * key)[wanted.rows >= 0].tolist() == wanted.rows[wanted.rows >= 0].tolist()
        assert nearest.distances[some].tolist() == alone.nearest(origins[some], 3).distances.tolist()
    one = world.raycast(origins[0], directions[0], batch=int(keys[0]))
    assert (-1 if one is None else one.actor.row) == found.rows[0]


@pytest.mark.parametrize("workers", [2, 5])
def test_threads_do_not_change_the_answers(workers):
    world, draws = make_world(3, 8)
    rays, points = rays_through(draws, 5000), draws.places(5000, 2)
    for ask in (
        lambda **more: world.raycast(*rays, **more),
        lambda **more: world.raycast_all(*rays, **more),
        lambda **more: (world.raycast_any(*rays, **more),),
        lambda **more: world.nearest(points, 5, **more),
    ):
        for one, same in zip(ask(), ask(workers=workers), strict=True):
            np.testing.assert_array_equal(one, same)


def test_any_number_of_threads_may_ask_one_at_a_time():
    world, draws = make_world(2, 9)
    origins, directions, _ = rays_through(draws, 40)
    wanted = world.raycast(origins, directions).rows.tolist()

    def ask(k):
        hit = world.raycast(origins[k], directions[k])
        return -1 if hit is None else hit.actor.row

    for _ in range(5):
        world.move(world.rows[:3], positions=world.positions[world.rows[:3]])
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(ask, range(40))) == wanted


class Blob(bp.CustomShape, dim=2):
    """A square of the user's own, whose class tells nothing that rays need."""

    @staticmethod
    def bounds(values):
        return (-1, -1), (1, 1)

    @staticmethod
    def overlaps(blobs, others):
        return NotImplemented


@pytest.mark.parametrize("count", [1, MANY])
def test_custom_shapes_are_refused_only_where_they_decide(count):
    world = bp.World(dim=2)
    world.add(bp.Circle(1), position=(5, 0))
    custom = world.add(Blob(), position=(10, 0))
    origins, along = np.zeros((count, 2)), np.tile([1.0, 0.0], (count, 1))
    assert world.raycast(origins, along).rows.tolist() == [0] * count
    assert world.raycast_any(origins, along).all()
    assert world.nearest(origins).rows.tolist() == [[0]] * count
    for ask in (
        lambda: world.raycast(origins, along, ignore=0),
        lambda: world.raycast_all(origins, along),
        lambda: world.nearest(origins, 2),
        lambda: world.raycast_any(origins, along, ignore=0),
    ):
        with pytest.raises(bp.errors.UnsupportedQueryError, match=f"row {custom.row} is a Blob"):
            ask()


def test_worlds_that_wrap_find_the_nearest_image_and_end_rays_at_their_bounds():
    rng = np.random.default_rng(4)
    bounds = np.array([[0.0, 0.0], [10.0, 6.0]])
    world = bp.World(dim=2, bounds=bounds, boundary="wrap")
    world.add_many(bp.Circle(rng.uniform(0.1, 0.5, 60)), rng.uniform(0, 1, (60, 2)) * bounds[1])
    world.add_many(bp.Circle(0.2), [[95.0, 3.0], [-42.0, 61.0]], boundary="none")  # many periods away
    points = rng.uniform(-3, 13, (MANY, 2))
    shifts = np.array([[x, y] for x in range(-12, 13) for y in range(-12, 13)]) * bounds[1]
    dots = bp.Shapes(bp.Circle(0.0), points)
    least = np.full((MANY, 62), np.inf)
    queries, rows = np.repeat(np.arange(MANY, dtype=np.int32), 62), np.tile(np.arange(62, dtype=np.int32), MANY)
    for shift in shifts:
        moved = np.tile(shift, (len(rows), 1))
        gaps = separations(world.shapes, dots, rows, queries, moved)[0].reshape(MANY, 62)
        least = np.minimum(least, np.maximum(gaps, 0))
    for k, limit in ((1, np.inf), (7, np.inf), (7, 0.9), (62, np.inf)):
        found = world.nearest(points, k, limit)
        wanted = np.sort(np.where(least <= limit, least, np.inf), axis=1)[:, :k]
        np.testing.assert_allclose(found.distances, wanted, atol=1e-12)
        assert all(len(set(one[one >= 0])) == (one >= 0).sum() for one in found.rows)
    assert world.nearest(points[0], 7).rows.tolist() == world.nearest(points, 7).rows[0].tolist()
    edge = world.raycast_all((5, 3), (1, 0))
    assert [hit.actor.row for hit in edge][-1] == 60  # where it is, beyond the bounds


def test_bodies_outside_a_tree_that_drops_them_are_not_seen():
    options = bp.Octree.options(bounds=[0, 0, 8, 8], outside="drop")
    world = bp.World(dim=2, method=options)
    world.add_many(bp.Circle(1), [[4, 4], [7.5, 4]])
    assert world.raycast((0, 4), (1, 0)).actor.row == 0
    assert world.raycast((5.5, 4), (1, 0)) is None
    assert world.nearest((7.5, 4), 2).rows.tolist() == [0, -1]
    assert not world.raycast_any(np.full((MANY, 2), [5.5, 4.0]), [1, 0]).any()
    world.move([1], positions=[[6, 4]])
    assert world.raycast((5.2, 4), (1, 0)).actor.row == 1


@pytest.mark.parametrize("dim", [2, 3])
def test_rays_and_nearest_in_crowds_take_the_lowest_of_equal_rows(dim):
    world = bp.World(dim=dim)
    world.add_many(ball(dim, 1.0), np.zeros((300, dim)))
    world.add_many(ball(dim, 1.0), np.tile([1e6] + [0.0] * (dim - 1), (300, 1)))
    ahead = np.eye(dim)[0]
    for count in (3, MANY):
        found = world.raycast(np.tile(-5 * ahead, (count, 1)), ahead)
        assert found.rows.tolist() == [0] * count
        assert found.distances.tolist() == [4.0] * count
        assert world.raycast(np.tile(5 * ahead, (count, 1)), ahead).rows.tolist() == [300] * count
        assert world.nearest(np.tile(3 * ahead, (count, 1)), 4).rows.tolist() == [[0, 1, 2, 3]] * count
    assert world.raycast(-5 * ahead, ahead).actor.row == 0
    assert world.nearest(3 * ahead, 4).rows.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_tiny_worlds_answer(count):
    world = bp.World(dim=3)
    world.add_many(bp.Sphere(1), [[4.0 * (k + 1), 0, 0] for k in range(count)] if count else np.empty((0, 3)))
    hit, near = world.raycast((0, 0, 0), (1, 0, 0)), world.nearest((0, 0, 0), 3)
    assert (hit is None) == (count == 0)
    assert near.rows.tolist() == [*range(count), -1, -1, -1][:3]
    assert world.raycast(np.zeros((MANY, 3)), [1, 0, 0]).rows.tolist() == [0 if count else -1] * MANY
    assert world.raycast_all((0, 0, 0), (1, 0, 0)) == world.raycast_all((0, 0, 0), (1, 0, 0))
    assert len(world.raycast_all((0, 0, 0), (1, 0, 0))) == count


@pytest.mark.parametrize("dim", [2, 3])
def test_distances_of_balls_and_boxes_are_those_of_the_narrow_phase_to_the_last_bit(dim):
    rng = np.random.default_rng([dim, 1])
    for scale in (1e-170, 1e-9, 1.0, 3e7, 1e39):
        world = bp.World(dim=dim)
        places = rng.uniform(-4, 4, (80, dim)) * scale
        world.add_many(ball(dim, rng.uniform(0, 1, 40) * scale), places[:40])
        world.add_many(bp.AABB(rng.uniform(0, 2, (40, dim)) * scale), places[40:])
        points = np.concatenate([rng.uniform(-6, 6, (40, dim)) * scale, places[::7], world.boxes[40::5, 0]])
        check_nearest(world, points, 80, np.full(len(points), np.inf), {}, world.rows)


def test_hits_make_their_arrays_when_they_are_looked_at():
    world = bp.World(dim=2)
    world.add(bp.Circle(1), position=(4, 0))
    hit = world.raycast((0, 0.6), (2, 0))
    assert hit.position is hit.position
    assert hit.normal is hit.normal
    assert hit.position.tolist() == [hit.distance, 0.6]
    assert (hit.origin.tolist(), hit.direction.tolist()) == ([0.0, 0.6], [2.0, 0.0])
    hit.position[0] = 7
    assert hit.position[0] == 7
    row = hit.actor.row
    world.remove(row)
    assert not hit.actor.alive


def test_world_that_was_queried_is_dropped_like_any_other():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), np.arange(20.0).reshape(10, 2))
    for _ in range(3):
        world.raycast((0, 0), (1, 0)), world.nearest((0, 0))
    reference = weakref.ref(world)
    del world
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("scene", ["spread", "one huge", "one far", "one place", "many sizes"])
def test_nearest_of_many_points_are_those_of_every_row_tried(dim, scene):
    rng = np.random.default_rng([dim, len(scene)])
    places, radii = rng.uniform(0, 20, (150, dim)), rng.uniform(0.1, 0.5, 150)
    if scene == "one huge":
        radii[7] = 300.0
    elif scene == "one far":
        places[7] = 1e12
    elif scene == "one place":
        places[:] = 3.0
    elif scene == "many sizes":
        radii *= 10.0 ** rng.uniform(-6, 1, 150)
    world = bp.World(dim=dim)
    world.add_many(ball(dim, radii[:75]), places[:75])
    world.add_many(bp.AABB(2 * rng.uniform(0, 1, (75, dim)) * radii[75:, np.newaxis]), places[75:])
    points = np.concatenate([rng.uniform(-5, 25, (MANY, dim)), np.full((20, dim), 1e9)])
    for k, limit in ((1, np.inf), (4, 6.0), (13, np.inf), (60, np.inf)):
        check_nearest(world, points, k, np.full(len(points), limit), {}, world.rows)
    rest = world.rows[world.rows % 3 != 0]
    check_nearest(world, points, 3, np.full(len(points), np.inf), {"ignore": [world.rows[::3].tolist()]}, rest)
    check_nearest(world, points, 3, np.full(len(points), np.inf), {"ignore": [[0, 5]]}, np.delete(world.rows, [0, 5]))


@pytest.mark.parametrize("count", [40, 600])
def test_queries_from_inside_many_bodies_find_the_lowest_rows(count):
    rng = np.random.default_rng(14)
    places, radii = rng.random((3000, 3)), rng.uniform(0.05, 0.3, 3000)
    world = bp.World(3)
    world.add_many(bp.Sphere(radii), places)
    points, ways = rng.random((count, 3)), rng.normal(size=(count, 3))
    holds = np.linalg.norm(points[:, None] - places, axis=2) <= radii
    assert holds.sum(axis=1).min() > 3
    hits, near = world.raycast(points, ways), world.nearest(points, 3)
    np.testing.assert_array_equal(hits.rows, holds.argmax(axis=1))
    assert not hits.distances.any()
    for query in range(count):
        np.testing.assert_array_equal(near.rows[query], np.flatnonzero(holds[query])[:3])
