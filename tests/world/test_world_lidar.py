"""Lidars of bodies: against formulas in plain NumPy, and against single rays, bit for bit."""

import math

import numpy as np
import pytest

import broadphase as bp
import shape_cases
from broadphase.errors import UnknownRowError, UnsupportedQueryError
from broadphase.testing import simd_level, simd_levels
from cases import METHOD_NAMES, run_script
from world_query_cases import Draws


def circles(centers, radii, looking, directions, keys):
    """Give distances and rows by the formula of circles and balls, (n, b), without the bodies that look."""
    origins = centers[looking]
    distances = np.full(directions.shape[:2], np.inf)
    rows = np.full(distances.shape, -1)
    for row, (center, radius) in enumerate(zip(centers, radii, strict=True)):
        to = center - origins
        ahead = (to[:, np.newaxis] * directions).sum(axis=2)
        aside = (to * to).sum(axis=1)[:, np.newaxis] - ahead * ahead
        with np.errstate(invalid="ignore"):
            enter = ahead - np.sqrt(radius * radius - aside)
        inside = ((to * to).sum(axis=1) <= radius * radius)[:, np.newaxis]
        enter = np.where(inside, 0.0, np.where(enter >= 0, enter, np.inf))
        enter[(keys[looking] != keys[row]) | (looking == row)] = np.inf
        nearer = enter < distances
        distances[nearer], rows[nearer] = enter[nearer], row
    return distances, rows


def turned(world, rows, fans):
    """Give directions of fans of bodies as the core has them, (n, b, d): rotated by the rotation of each body."""
    count, d = len(rows), world.dim
    if d == 2:
        angles = np.broadcast_to(fans, (count, np.shape(fans)[-1]))
        ways = np.array([[(math.cos(angle), math.sin(angle)) for angle in fan] for fan in angles.tolist()])
        cosine, sine = (np.array([f(turn) for turn in world.rotations[rows].tolist()]) for f in (math.cos, math.sin))
        quarter = np.minimum(np.abs(cosine), np.abs(sine)) <= 1e-12  # quarter turns are exact
        cosine, sine = (np.where(quarter, np.rint(values), values) for values in (cosine, sine))
        x, y = np.moveaxis(ways.reshape(count, -1, 2), 2, 0)
        cosine, sine = cosine[:, np.newaxis], sine[:, np.newaxis]
        return np.stack([cosine * x + -sine * y, sine * x + cosine * y], axis=2)
    w, x, y, z = world.rotations[rows].T[:, :, np.newaxis]
    two = 2.0 / (w * w + x * x + y * y + z * z)
    matrix = np.array([
        [1.0 - two * (y * y + z * z), two * (x * y - w * z), two * (x * z + w * y)],
        [two * (x * y + w * z), 1.0 - two * (x * x + z * z), two * (y * z - w * x)],
        [two * (x * z - w * y), two * (y * z + w * x), 1.0 - two * (x * x + y * y)],
    ])  # fmt: skip
    whole = (np.abs(matrix - np.rint(matrix)) <= 2.0**-50).all(axis=(0, 1))
    matrix = np.where(whole, np.rint(matrix), matrix)
    a, b, c = np.moveaxis(np.broadcast_to(fans, (count, *np.shape(fans)[-2:])), 2, 0)
    return np.stack([(row[0] * a + row[1] * b) + row[2] * c for row in matrix], axis=2)


def check_beside_rays(world, rows, fans, limit=np.inf, **options):
    """Compare with one ray for each beam, in the frame of the bodies."""
    scan = world.lidar(rows, fans, max_distance=limit, **options)
    ways = turned(world, rows, fans)
    count, beams = ways.shape[:2]
    own = np.repeat(rows, beams)[:, np.newaxis]
    if "ignore" in options:
        own = np.column_stack([own, np.repeat(options["ignore"], beams, axis=0)])
    batch = world.batches[rows].repeat(beams)
    rays = {
        name: np.repeat(values, beams) if isinstance(values, np.ndarray) else values
        for name, values in options.items()
        if name in ("layer", "mask")
    }
    hits = world.raycast(
        world.positions[rows].repeat(beams, axis=0),
        ways.reshape(-1, world.dim),
        np.broadcast_to(limit, count).repeat(beams),
        ignore=own,
        batch=batch,
        **rays,
    )
    assert scan.rows.tolist() == hits.rows.reshape(count, beams).tolist()
    assert scan.distances.tolist() == hits.distances.reshape(count, beams).tolist()
    return scan


def all_shapes(d, seed, lattice=False, **options):
    """Make a world of all types of shapes, some of them in the same places, with holes in its rows."""
    draws = Draws(seed, d, lattice)
    world = bp.World(dim=d, **options)
    for name in shape_cases.BOUNDED[d]:  # few beams leave a half space
        shapes = [shape_cases.shape_of(name, shape_cases.Numbers(draws.rng, d)) for _ in range(6)]
        for shape, place, turn in zip(shapes, draws.places(6), draws.turns(6), strict=True):
            layer = str(draws.rng.choice(["ball", "wall"]))
            world.add(shape, position=place, rotation=turn, layer=layer, batch=int(draws.rng.integers(0, 2)))
    world.remove(draws.rng.choice(world.rows, 5, replace=False))
    return world, draws


def fans_of(draws, *shape):
    if draws.d == 2:
        return draws.rng.uniform(-7, 7, shape)
    fans = draws.rng.normal(size=(*shape, 3))
    return fans / np.linalg.norm(fans, axis=-1, keepdims=True)


@pytest.mark.parametrize("level", simd_levels())
@pytest.mark.parametrize(("d", "count"), [(2, 30), (2, 1700), (3, 30), (3, 1700)])
def test_discs_and_balls_are_hit_where_the_formula_says(d, count, level):
    with simd_level(level):
        check_beside_the_formula(d, count)


def check_beside_the_formula(d, count):
    draws = Draws(3, d)
    size = count ** (1 / d) * 1.2
    places, radii = draws.rng.uniform(0, size, (count, d)), draws.rng.uniform(0.05, 0.6, count)
    keys = np.repeat([0, 1], [count // 3, count - count // 3])
    world = bp.World(dim=d)
    world.add_many((bp.Circle if d == 2 else bp.Sphere)(radii), places, batch=keys)
    rows, fan = draws.rng.permutation(count)[:40], fans_of(draws, 21)
    ways = np.stack([np.cos(fan), np.sin(fan)], axis=1) if d == 2 else fan
    wanted = np.broadcast_to(ways, (len(rows), *ways.shape))
    distances, found = circles(places, radii, rows, wanted, keys)
    for limit in (np.inf, 2.0):
        scan = world.lidar(rows, fan, max_distance=limit)
        within = distances <= limit
        assert scan.rows.tolist() == np.where(within, found, -1).tolist()
        np.testing.assert_allclose(scan.distances, np.where(within, distances, np.inf), rtol=1e-9, atol=1e-9)
        single = world.lidar(rows, fan, max_distance=limit, dtype=np.float32)
        assert single.distances.dtype == np.float32
        assert single.distances.tolist() == scan.distances.astype(np.float32).tolist()
    assert (found >= 0).mean() > 0.2


@pytest.mark.parametrize("d", [2, 3])
def test_walls_are_hit_where_the_formula_of_slabs_says(d):
    draws = Draws(4, d)
    places, sizes = draws.rng.uniform(0, 9, (60, d)), draws.rng.uniform(0.1, 3, (60, d))
    world = bp.World(dim=d)
    world.add_many(bp.AABB(sizes), places, body_type="static")
    robots = world.add_many((bp.Circle if d == 2 else bp.Sphere)(0.1), draws.rng.uniform(0, 9, (20, d)), layer="robot")
    fan = fans_of(draws, 33)
    ways = np.stack([np.cos(fan), np.sin(fan)], axis=1) if d == 2 else fan
    origins = world.positions[robots][:, np.newaxis, np.newaxis]
    low, high = ((places + half * sizes - origins) / ways[np.newaxis, :, np.newaxis] for half in (-0.5, 0.5))
    enter, leave = np.minimum(low, high).max(axis=3), np.maximum(low, high).min(axis=3)
    distances = np.where((enter <= leave) & (leave >= 0), np.maximum(enter, 0), np.inf).min(axis=2)
    scan = world.lidar(robots, fan, ignore=robots[np.newaxis])
    np.testing.assert_allclose(scan.distances, distances, rtol=1e-9, atol=1e-12)
    assert np.isfinite(distances).mean() > 0.5


@pytest.mark.parametrize("lattice", [False, True])
@pytest.mark.parametrize(("d", "seed"), [(d, seed) for d in (2, 3) for seed in range(3)])
def test_beams_are_single_rays_bit_for_bit(d, seed, lattice):
    world, draws = all_shapes(d, seed, lattice)
    rows = draws.rng.permutation(world.rows)
    world.move(rows[:4], draws.places(4))  # their shapes are placed by the query
    limits = draws.rng.uniform(0, 6, len(rows))
    check_beside_rays(world, rows, fans_of(draws, 19))
    scan = check_beside_rays(world, rows, fans_of(draws, len(rows), 9), limits)
    assert 0.1 < (scan.rows >= 0).mean() < 1
    masks = draws.rng.choice([1, 2, 3, 4], len(rows)).astype(np.uint64)
    check_beside_rays(
        world, rows, fans_of(draws, 5), mask=masks, layer="wall", ignore=draws.rng.choice(rows, (len(rows), 2))
    )
    if lattice:  # along the axes, through corners, and several beams of one direction
        fan = np.arange(8) * np.pi / 4 if d == 2 else np.round(fans_of(draws, 8) * 2)
        check_beside_rays(world, rows, np.concatenate([fan, fan[::-1]]))


@pytest.mark.parametrize("method", METHOD_NAMES)
@pytest.mark.parametrize("d", [2, 3])
def test_many_bodies_are_seen_alike_by_every_method_and_number_of_threads(d, method):
    draws = Draws(5, d)
    world = bp.World(dim=d, method=method)
    shape = bp.Circle if d == 2 else bp.Sphere
    world.add_many(shape(draws.rng.uniform(0.1, 0.5, 900)), draws.rng.uniform(0, 30, (900, d)))
    world.add(bp.Rectangle(80, 1) if d == 2 else bp.Box(80, 80, 1), position=[15.0] * (d - 1) + [-2.0])
    world.rotations[:] = draws.turns(len(world))
    world.step()
    rows, fan = world.rows[::7], fans_of(draws, 16)
    plain = bp.World.from_bytes(world.to_bytes())
    plain.method = "bvh"
    expected = check_beside_rays(plain, rows, fan)
    for workers in (1, 3):
        for found, value in zip(world.lidar(rows, fan, workers=workers), expected, strict=True):
            assert found.tolist() == value.tolist()
    check_beside_rays(plain, rows, fan, 4.0)


def test_body_sees_its_batch_whatever_its_size_and_not_itself():
    world = bp.World(dim=2)
    crowd = world.add_many(bp.Circle(0.2), np.random.default_rng(6).uniform(0, 40, (1500, 2)), batch=7)
    pair = world.add_many(bp.Circle(0.2), [[5, 5], [9, 5]], batch=-1)
    scan = world.lidar(pair, [0.0, np.pi])
    assert scan.rows.tolist() == [[pair[1], -1], [-1, pair[0]]]
    assert scan.distances[0, 0] == pytest.approx(3.8)
    both = world.lidar([*crowd[:50], *pair], np.linspace(0, 6, 30))
    assert not np.isin(both.rows[:50], pair).any()
    assert both.rows[50:].tolist() == world.lidar(pair, np.linspace(0, 6, 30)).rows.tolist()


def test_frame_of_the_body_is_rotated_and_that_of_the_world_is_not():
    world = bp.World(dim=2)
    rows = world.add_many(bp.Circle(0.5), [[0, 0], [0, 4], [6, 0]], rotations=[np.pi / 2, 0, 0])
    assert world.lidar(rows[0], [0.0, -np.pi / 2]).rows.tolist() == [1, 2]
    assert world.lidar(rows[0], [0.0, np.pi / 2], frame="world").rows.tolist() == [2, 1]
    assert world.lidar(rows[0], [0.0, -np.pi / 2]).distances.tolist() == [3.5, 5.5]
    space = bp.World(dim=3)
    quarter = [np.cos(np.pi / 4), 0, 0, np.sin(np.pi / 4)]
    rows = space.add_many(bp.Sphere(0.5), [[0, 0, 0], [0, 4, 0]], rotations=[quarter, [1, 0, 0, 0]])
    assert space.lidar(0, [[2.0, 0, 0], [0, 1, 0]]).distances.tolist() == [3.5, np.inf]
    assert space.lidar(0, [[2.0, 0, 0], [0, 1, 0]], frame="world").distances.tolist() == [np.inf, 3.5]


def test_one_row_gives_arrays_of_beams():
    world = bp.World(dim=2)
    rows = world.add_many(bp.Circle(1), [[0, 0], [4, 0]])
    for row in (0, np.int32(0), np.array(0)):
        scan = world.lidar(row, [0.0, 1.0, 2.0])
        assert [values.shape for values in scan] == [(3,), (3,)]
        assert scan.distances.tolist() == [3, np.inf, np.inf]
        assert scan.rows.tolist() == [1, -1, -1]
    for some, fan, shape in (
        ([], [0.0, 1.0], (0, 2)),
        (rows, [], (2, 0)),
        ([0], [[0.5]], (1, 1)),
        ([1, 1], [0.0], (2, 1)),
    ):
        scan = world.lidar(some, fan)
        assert [values.shape for values in scan] == [shape, shape]
    assert scan.rows.dtype == np.int32
    # As for all queries, what has one row is for all.
    assert world.lidar(0, [[0.0], [np.pi]]).rows.tolist() == [[1], [-1]]
    assert world.lidar([1], [np.pi], max_distance=[1, 2, 3]).rows.tolist() == [[-1], [-1], [0]]
    assert world.lidar(rows, [[0.0]]).rows.tolist() == [[1], [-1]]
    assert world.lidar(0, [0.0], ignore=[1, 0]).rows.tolist() == [-1]


def test_bodies_in_one_place_are_hit_at_once_and_the_lowest_counts():
    world = bp.World(dim=2)
    rows = world.add_many(bp.Circle(1), np.zeros((700, 2)))
    for count in (700, 300, 3):
        world.remove(world.rows[count:])
        scan = world.lidar(rows[:count][::-1], np.linspace(0, 6, 9))
        assert (scan.distances == 0).all()
        assert (scan.rows[:-1] == 0).all()
        assert (scan.rows[-1] == 1).all()


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1.0, 1e6, 1e15])
@pytest.mark.parametrize("d", [2, 3])
def test_worlds_of_any_size_with_huge_and_far_bodies(d, scale):
    draws = Draws(8, d)
    world = bp.World(dim=d)
    ball = bp.Circle if d == 2 else bp.Sphere
    world.add_many(ball(scale * draws.rng.uniform(0.1, 1, 600)), scale * draws.places(600, 20))
    world.add(ball(1000 * scale), position=[1010 * scale, *[0.0] * (d - 1)])
    world.add(ball(scale), position=[1e30, *[0.0] * (d - 1)])
    rows = draws.rng.permutation(world.rows)[:60]
    check_beside_rays(world, np.append(rows, world.rows[-2:]), fans_of(draws, 13))
    world.remove(world.rows[:500])
    check_beside_rays(world, world.rows, fans_of(draws, 13))


@pytest.mark.parametrize("length", [1e-200, 1e-3, 1e200])
def test_vectors_of_any_length_are_directions(length):
    world, draws = all_shapes(3, 9)
    fan = fans_of(draws, 11)
    scan = check_beside_rays(world, world.rows, fan * length)
    np.testing.assert_allclose(scan.distances, world.lidar(world.rows, fan).distances, rtol=1e-6, atol=1e-9)
    nothing = check_beside_rays(world, world.rows, np.zeros((2, 3)))  # what the body is inside of
    assert set(np.unique(nothing.distances)) <= {0.0, np.inf}


def test_beams_do_not_continue_on_the_other_side_of_a_world_that_wraps():
    world = bp.World(dim=2, bounds=[[0, 0], [10, 10]], boundary="wrap")
    rows = world.add_many(bp.Circle(1), [[1, 5], [8, 5]])
    assert world.lidar(rows, [0.0, np.pi]).rows.tolist() == [[1, -1], [-1, 0]]


def test_bodies_outside_a_tree_that_drops_them_are_not_seen():
    world = bp.World(dim=2, method=bp.Octree.options(bounds=[0, 0, 10, 10], outside="drop"))
    rows = world.add_many(bp.Circle(0.5), [[1, 5], [9.8, 5], [5, 1]])
    assert world.lidar(rows[0], [0.0]).rows.tolist() == [-1]
    world.move(rows[1], [[9, 5]])
    assert world.lidar(rows[0], [0.0]).rows.tolist() == [1]


def test_ignored_pairs_and_sleeping_and_masked_bodies():
    world = bp.World(dim=2)
    rows = world.add_many(bp.Circle(0.5), [[0, 0], [2, 0], [4, 0]])
    world.ignore([[0, 1]])
    world.sleep(rows[1])
    assert world.lidar(0, [0.0]).rows.tolist() == [1]
    assert world.lidar(0, [0.0], ignore=1).rows.tolist() == [2]
    assert world.lidar(0, [0.0], ignore=world.actor(1)).rows.tolist() == [2]
    world.set_filters(rows[1], mask=0)
    assert world.lidar(0, [0.0]).rows.tolist() == [2]


class Spot(bp.CustomShape, dim=2):
    @staticmethod
    def bounds(values):
        return (-1, -1), (1, 1)

    @staticmethod
    def overlaps(spots, others):
        return np.ones(len(spots), bool)


@pytest.mark.parametrize("count", [3, 900])
def test_custom_shape_is_refused_where_it_may_be_first(count):
    world = bp.World(dim=2)
    rows = world.add_many(bp.Circle(0.5), np.stack([np.arange(count) * 2.0, np.zeros(count)], axis=1))
    spot = world.add(Spot(), position=(-9, 0))
    assert world.lidar(rows, [0.0]).rows[:, 0].tolist() == [*rows[1:], -1]
    assert world.lidar(rows[:1], [np.pi], max_distance=7).rows.tolist() == [[-1]]
    with pytest.raises(UnsupportedQueryError, match=f"row {count} is a Spot, a custom shape, which offers no lidar"):
        world.lidar(rows, [0.0, np.pi])
    assert world.lidar(rows, [np.pi], ignore=spot.row).rows[:, 0].tolist() == [-1, *rows[:-1]]


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"rows": [0, 5]}, UnknownRowError, "row 5 does not exist"),
        ({"rows": 0.5}, TypeError, "rows must be integers"),
        ({"directions": [0.0, np.nan]}, ValueError, "directions: row 1 is not finite"),
        ({"directions": [[0.0, 1.0], [np.inf, 0.0]]}, ValueError, "directions: row 1 is not finite"),
        ({"directions": [[0.0, 1.0]] * 3}, ValueError, "rows has 2 rows and directions has 3"),
        ({"max_distance": [1.0] * 3}, ValueError, "rows has 2 rows and max_distance has 3"),
        ({"directions": 0.5}, ValueError, r"angles of shape \(b,\) or \(n, b\)"),
        ({"directions": [[[1.0, 0.0]]]}, ValueError, "angles of shape"),
        ({"max_distance": [1, -1]}, ValueError, "max_distance: row 1 has -1"),
        ({"frame": "boddy"}, ValueError, "unknown frame 'boddy'"),
        ({"dtype": np.int32}, TypeError, "dtype must be float64 or float32"),
        ({"mask": "moon"}, ValueError, "moon"),
        ({"layer": [1, 2, 3]}, ValueError, "layer"),
        ({"ignore": [[9]]}, UnknownRowError, "ignore: row 9"),
        ({"workers": 0}, ValueError, "workers"),
        ({"batch": 3}, TypeError, "batch"),
    ],
)
def test_wrong_arguments_are_named(options, error, text):
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [4, 0]])
    with pytest.raises(error, match=text):
        world.lidar(**{"rows": [0, 1], "directions": [0.0], **options})
    space = bp.World(dim=3)
    space.add(bp.Sphere(1), position=(0, 0, 0))
    with pytest.raises(ValueError, match=r"vectors of shape \(b, 3\) or \(n, b, 3\)"):
        space.lidar(0, [0.0, 1.0])


def test_long_lidar_stops_at_ctrl_c():
    script = """
import signal, threading, time
import numpy as np
import broadphase as bp

world = bp.World(dim=2)
rows = world.add_many(bp.Circle(1), np.zeros((20_000, 2)), batch=np.arange(20_000) // 500)
world.set_filters(rows, layer=2)
threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
start = time.monotonic()
try:
    for _ in range(100):
        world.lidar(rows, np.linspace(0, 6, 1000), mask=1)
except KeyboardInterrupt:
    print(time.monotonic() - start < 3)
print(world.lidar(0, [0.0], mask=1).rows)
"""
    assert run_script(script).split() == ["True", "[-1]"]


@pytest.mark.parametrize("scale", [2.0**-100, 2.0**-25, 2.0**40, 2.0**100])
@pytest.mark.parametrize("dim", [2, 3])
def test_lidar_of_a_scene_of_any_size_sees_the_same(dim, scale):
    rng = np.random.default_rng(8)
    places, radius, directions = rng.random((300, dim)), 0.02, rng.normal(size=(40, dim))
    ball, box = (bp.Circle, bp.Rectangle) if dim == 2 else (bp.Sphere, bp.Box)
    world = bp.World(dim)
    world.add_many(ball(radius * scale), places[:150] * scale)
    world.add_many(box(*[radius * scale] * dim), places[150:] * scale, rotations=rng.random(150) if dim == 2 else None)
    world.add(ball(1.0), position=[1e5] * dim)
    world.step(0.0)
    looking = np.arange(20)
    fan = np.arctan2(directions[:, 1], directions[:, 0]) if dim == 2 else directions
    found = world.lidar(looking, fan, max_distance=0.7 * scale, frame="world")
    ways = np.stack([np.cos(fan), np.sin(fan)], axis=1) if dim == 2 else directions
    origins, ways = np.repeat(places[looking] * scale, 40, axis=0), np.tile(ways, (20, 1))
    single = world.raycast(origins, ways, max_distance=0.7 * scale, ignore=np.repeat(looking, 40)[:, None])
    np.testing.assert_array_equal(found.rows.ravel(), single.rows)
    np.testing.assert_array_equal(found.distances.ravel(), single.distances)
