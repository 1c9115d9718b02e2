"""Worlds of separate scenes: steps and queries give what a world of each scene would."""

import numpy as np
import pytest

import broadphase as bp
from cases import METHOD_NAMES
from periodic_worlds import periodic_pairs

SCENES = np.array([-(2**63), -3, 0, 5, 2**40])


def worlds_of(rng, dim, count, method="auto", fast=0.0, **options):
    """Make a world of all scenes in one place, its keys, and a world of each, with its rows."""
    kind, keys = bp.Circle if dim == 2 else bp.Sphere, rng.permutation(np.repeat(SCENES, count))
    n = len(keys)
    radii, positions, velocities = rng.random(n) * 0.4 + 0.1, rng.random((n, dim)) * 4, rng.normal(size=(n, dim))
    ccd = rng.random(n) < fast
    velocities[ccd] *= 30
    together = bp.World(dim=dim, method=method, **options)
    together.add_many(kind(radii), positions, velocities=velocities, batch=keys, ccd=ccd)
    alone = {}
    for key in SCENES:
        rows = np.flatnonzero(keys == key)
        world = bp.World(dim=dim, **options)
        world.add_many(kind(radii[rows]), positions[rows], velocities=velocities[rows], ccd=ccd[rows])
        alone[key] = world, rows
    return together, keys, alone


def same(found, parts):
    expected = np.concatenate([rows[pairs] for rows, pairs in parts] or [np.empty((0, 2), np.int32)])
    expected = expected[np.lexsort(expected.T[::-1])]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", METHOD_NAMES)
@pytest.mark.parametrize("dim", [2, 3])
def test_steps_of_scenes_in_one_world_equal_those_of_a_world_each(dim, method):
    rng = np.random.default_rng(dim)
    together, keys, alone = worlds_of(rng, dim, 25, method)
    np.testing.assert_array_equal(together.batches, keys)
    for _ in range(4):
        frame = together.step(dt=0.1)
        frames = {key: world.step(dt=0.1) for key, (world, _) in alone.items()}
        for name in ("enter", "exit", "pairs"):
            same(getattr(frame, name), [(alone[key][1], getattr(frames[key], name)) for key in alone])
    together.validate()


@pytest.mark.parametrize(
    "options",
    [
        {"bounds": [(0, 0), (4, 4)], "boundary": "wrap"},
        {"bounds": [(0, 0), (4, 4)], "boundary": "bounce"},
        {"touching": False},
    ],
)
def test_scenes_with_bounds_equal_those_of_a_world_each(options):
    rng = np.random.default_rng(7)
    together, _, alone = worlds_of(rng, 2, 15, **options)
    for _ in range(4):
        frame = together.step(dt=0.2)
        frames = {key: world.step(dt=0.2) for key, (world, _) in alone.items()}
        same(frame.pairs, [(alone[key][1], frames[key].pairs) for key in alone])
    points = rng.random((40, 2)) * 4
    asked = rng.choice(SCENES, 40)
    found, near = together.query_points(points, batch=asked), together.nearest(points, 2, batch=asked)
    for query, key in enumerate(asked):
        world, rows = alone[key]
        np.testing.assert_array_equal(found[query], rows[world.query_points(points[query : query + 1])[0]])
        np.testing.assert_array_equal(near.rows[query], rows[world.nearest(points[query : query + 1], 2).rows[0]])


def test_few_moving_bodies_meet_those_of_their_scene():
    rng = np.random.default_rng(8)
    together, _, alone = worlds_of(rng, 2, 300)
    still = rng.random(len(together)) > 0.01
    together.velocities[still] = 0
    for world, rows in alone.values():
        world.velocities[still[rows]] = 0
    reasons = set()
    for _ in range(8):
        frame = together.step(dt=0.05)
        frames = {key: world.step(dt=0.05) for key, (world, _) in alone.items()}
        same(frame.pairs, [(alone[key][1], frames[key].pairs) for key in alone])
        reasons.add(frame.stats["reason"].split(":")[-1])
    assert any("queries of a tree" in reason for reason in reasons)
    together.validate()


def test_fast_bodies_meet_those_of_their_scene_on_the_way():
    world = bp.World(dim=2)
    world.add_many(bp.Rectangle(0.1, 9), [[5, 0], [5, 0]], body_type="static", batch=[0, 1])
    world.add_many(bp.Circle(0.1), [[0, 0]], velocities=[[100, 0]], ccd=True, batch=1)
    np.testing.assert_array_equal(world.step(dt=1.0).enter, [[1, 2]])


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("boundary", ["none", "wrap", "bounce"])
def test_fast_bodies_of_scenes_in_one_world_meet_as_in_a_world_each(boundary, dim):
    assert meetings_of_scenes(np.random.default_rng(dim), dim, boundary, 30, 4) > 20


def meetings_of_scenes(rng, dim, boundary, count, steps):
    """Compare steps of scenes in one world with those of a world each; give how many bodies met on the way."""
    bounds = None if boundary == "none" else [[0.0] * dim, [6.0] * dim]
    together, _, alone = worlds_of(rng, dim, count, fast=0.1, bounds=bounds, boundary=boundary)
    met = 0
    for _ in range(steps):
        frame = together.step(dt=0.2)
        frames = {key: world.step(dt=0.2) for key, (world, _) in alone.items()}
        for name in ("enter", "exit", "pairs"):
            same(getattr(frame, name), [(alone[key][1], getattr(frames[key], name)) for key in alone])
        pairs = np.concatenate([alone[key][1][frames[key].impacts.pairs] for key in alone])
        order = np.lexsort(pairs.T[::-1])
        np.testing.assert_array_equal(frame.impacts.pairs, pairs[order])
        for name in ("times", "normals"):
            parts = np.concatenate([getattr(frames[key].impacts, name) for key in alone])
            np.testing.assert_allclose(getattr(frame.impacts, name), parts[order], atol=1e-12)
        met += len(pairs)
    together.validate()
    return met


def test_bodies_of_other_scenes_are_not_compared_across_seams():
    rng = np.random.default_rng(15)
    boxes = rng.random((600, 1, 2)) * 9 + [[-0.3, -0.3], [0.3, 0.3]]
    bounds, keys = np.array([[0.0, 0.0], [9.0, 9.0]]), rng.integers(-2, 2, 600)
    everybody = np.ones(600, np.uint8)
    expected = {}
    for rows, offsets in (
        periodic_pairs(boxes, bounds, everybody),
        periodic_pairs(boxes, bounds, everybody, keys=keys),
    ):
        within = keys[rows[:, 0]] == keys[rows[:, 1]]
        expected[len(expected)] = sorted(zip(rows[within].tolist(), offsets[within].tolist(), strict=True))
    assert within.all()
    assert expected[0] == expected[1]
    assert len(expected[0]) > 50


@pytest.mark.parametrize("bounds", [None, [[0.0, 0.0], [9.0, 9.0]]])
def test_bodies_of_other_scenes_are_not_looked_at_on_the_way(bounds):
    rng, scenes = np.random.default_rng(14), 200
    world = bp.World(2, bounds=bounds, boundary="none" if bounds is None else "wrap")
    places, velocities = rng.random((scenes * 5, 2)) * 9, rng.normal(size=(scenes * 5, 2)) * 5
    numbers = np.arange(scenes * 5)
    world.add_many(bp.Circle(0.2), places, velocities=velocities, batch=numbers // 5, ccd=numbers % 10 == 0)
    stats = world.step(1.0).stats
    assert scenes // 2 <= stats["followed"] <= scenes // 2 * 5  # all are of the scenes with a followed body
    assert scenes // 2 < stats["route_pairs"] < 40 * scenes


def test_queries_with_keys_equal_those_of_a_world_each():
    rng = np.random.default_rng(9)
    together, _, alone = worlds_of(rng, 3, 25)
    asked = rng.choice(np.append(SCENES, 99), 30)
    points, ways = rng.random((30, 3)) * 4, rng.normal(size=(30, 3))
    boxes = np.stack([points, points + 0.5], axis=1)
    balls, rays = together.query_ball(points, 0.5, batch=asked), together.raycast(points, ways, batch=asked)
    found, every = together.query(boxes, batch=asked), together.raycast_all(points, ways, batch=asked)
    hits, near = together.raycast_any(points, ways, batch=asked), together.nearest(points, 2, batch=asked)
    shapes = together.query_shape(bp.Sphere(0.3), points, batch=asked)
    cast = together.shapecast(bp.Sphere(0.1), points, ways, batch=asked)
    for query, key in enumerate(asked):
        if key == 99:
            assert len(found[query]) == len(balls[query]) == len(shapes[query]) == len(every[query][0]) == 0
            assert rays.rows[query] == cast.rows[query] == near.rows[query][0] == -1
            assert not hits[query]
            continue
        world, rows = alone[key]
        one = slice(query, query + 1)
        np.testing.assert_array_equal(found[query], rows[world.query(boxes[one])[0]])
        np.testing.assert_array_equal(balls[query], rows[world.query_ball(points[one], 0.5)[0]])
        np.testing.assert_array_equal(shapes[query], rows[world.query_shape(bp.Sphere(0.3), points[one])[0]])
        np.testing.assert_array_equal(every[query][0], rows[world.raycast_all(points[one], ways[one])[0][0]])
        np.testing.assert_array_equal(near.rows[query], rows[world.nearest(points[one], 2).rows[0]])
        hit = world.raycast(points[one], ways[one])
        assert rays.distances[query] == hit.distances[0]
        assert hits[query] == (hit.rows[0] >= 0)
        assert hit.rows[0] < 0 or rays.rows[query] == rows[hit.rows[0]]
        touched = world.shapecast(bp.Sphere(0.1), points[one], ways[one])
        assert cast.times[query] == touched.times[0]
        single = together.raycast(points[query], ways[query], batch=key)
        assert (single is None) == (hit.rows[0] < 0)


def test_many_rays_in_batches_of_a_few_bodies_hit_no_bodies_of_others():
    rng, radius = np.random.default_rng(12), 0.2
    places, keys = rng.random((1000, 2)), rng.integers(0, 700, 1000)
    world = bp.World(2)
    world.add_many(bp.Circle(radius), places, batch=keys)
    points, asked, angles = rng.random((1000, 2)), rng.integers(0, 700, 1000), rng.random(1000) * 2 * np.pi
    ways = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    hits, hit = world.raycast(points, ways, batch=asked), world.raycast_any(points, ways, batch=asked)
    for query, key in enumerate(asked):
        own = np.flatnonzero(keys == key)
        apart = points[query] - places[own]
        along, square = apart @ ways[query], np.sum(apart**2, axis=1) - radius**2
        root = along**2 - square
        time = np.where(root >= 0, -along - np.sqrt(np.maximum(root, 0)), np.inf)
        time = np.where(square <= 0, 0.0, np.where(time >= 0, time, np.inf))
        first = own[np.argmin(time)] if len(own) and np.isfinite(time.min()) else -1
        assert hits.rows[query] == first
        assert hit[query] == (first >= 0)


def test_batches_outlast_snapshots_and_removals():
    rng = np.random.default_rng(10)
    world, keys, _ = worlds_of(rng, 2, 20)
    world.step(dt=0.1)
    twin = bp.World.from_bytes(world.to_bytes())
    np.testing.assert_array_equal(twin.batches, keys)
    np.testing.assert_array_equal(twin.step(dt=0.1).pairs, world.step(dt=0.1).pairs)
    gone = np.arange(0, 100, 3)
    world.remove(gone)
    assert world.add(bp.Circle(1), position=(0, 0), batch=5).row == 0
    assert world.add(bp.Circle(1), position=(0, 0)).row == 3
    assert (world.batches[0], world.batches[3]) == (5, 0)
    world.step()
    world.validate()
    with pytest.raises(TypeError, match="batch must be whole numbers"):
        world.add(bp.Circle(1), position=(0, 0), batch=0.5)
    with pytest.raises(ValueError, match="batch"):
        world.add_many(bp.Circle(1), [[0, 0], [1, 1]], batch=[1, 2, 3])
