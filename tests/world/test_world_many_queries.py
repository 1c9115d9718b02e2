"""So many queries that they are answered together, or through a copy of the tree: beside plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import broadphase as bp
from oracles import queries as oracle

# The options of a world, and how far apart two halves of it are: floats cannot tell the boxes of the last apart.
WORLDS = {
    "auto": ({}, 0.0),
    "margin": ({"margin": 0.5}, 0.0),
    "octree": ({"method": "octree", "margin": 0.5}, 0.0),
    "linear_tree": ({"method": "linear_tree", "margin": 0.5}, 0.0),
    "two places": ({"margin": 0.5}, 1e9),
}
BODIES = 400
COUNT = 700  # queries: more than are walked one by one, and than there are bodies
ROUGHLY = 1e-5  # of coordinates in the far place, which are rounded to 1e-7


def world_of(dim, name, rng):
    """Make a world of moving boxes, in its first rows, and balls."""
    options, apart = WORLDS[name]
    world = bp.World(dim, **options)
    ball = bp.Circle if dim == 2 else bp.Sphere
    half = BODIES // 2
    places, speeds = rng.uniform(0, 20, (BODIES, dim)), rng.normal(size=(BODIES, dim))
    places[::2] += apart
    world.add_many(bp.AABB(*rng.uniform(0.2, 1, (dim, half))), places[:half], velocities=speeds[:half])
    radii = rng.uniform(0.1, 0.5, half)
    world.add_many(ball(radii), places[half:], velocities=speeds[half:])
    return world, radii


def places_of(dim, name, rng):
    """Draw points in the places where the bodies are."""
    points = rng.uniform(-2, 22, (COUNT, dim))
    points[::2] += WORLDS[name][1]
    return points


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("dim", [2, 3])
def test_many_nearest_are_those_of_all_distances(dim, name):
    rng = np.random.default_rng(dim)
    world, radii = world_of(dim, name, rng)
    half = BODIES // 2
    for step in (0.0, 0.01, 0.5):  # bodies stay in their boxes of the tree, and leave them
        world.step(step)
        points = places_of(dim, name, rng)
        points[:20] = world.positions[:20]
        boxes, centers = world.boxes[:half], world.positions[half:]
        gaps = np.maximum(0, np.maximum(boxes[:, 0] - points[:, np.newaxis], points[:, np.newaxis] - boxes[:, 1]))
        away = np.empty((COUNT, BODIES))
        away[:, :half] = np.linalg.norm(gaps, axis=2)
        away[:, half:] = np.maximum(0, np.linalg.norm(points[:, np.newaxis] - centers, axis=2) - radii)
        for k, limit in ((1, np.inf), (4, np.inf), (7, 1.0)):
            rows, distances = world.nearest(points, k, limit)
            expected = np.sort(np.where(away <= limit, away, np.inf), axis=1)[:, :k]
            np.testing.assert_array_equal(rows >= 0, np.isfinite(expected))
            np.testing.assert_allclose(distances, expected, atol=ROUGHLY)
            named = np.where(rows < 0, np.inf, np.take_along_axis(away, rows.clip(0), axis=1))
            np.testing.assert_allclose(named, distances, atol=ROUGHLY)


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("dim", [2, 3])
def test_many_rays_hit_the_boxes_that_the_oracle_says(dim, name):
    rng = np.random.default_rng(10 + dim)
    world, _ = world_of(dim, name, rng)
    world.remove(world.rows[BODIES // 2 :])  # the balls
    for step in (0.0, 0.01, 0.5):
        world.step(step)
        origins, along, limits = places_of(dim, name, rng), rng.normal(size=(COUNT, dim)), rng.uniform(0, 20, COUNT)
        rows, distances = world.raycast(origins, along, limits)
        expected, away = oracle.raycast(world.boxes[: BODIES // 2], origins, along, limits)
        np.testing.assert_array_equal(rows, expected)
        np.testing.assert_allclose(distances, away, atol=ROUGHLY)
        np.testing.assert_array_equal(world.raycast_any(origins, along, limits), expected >= 0)
        every = world.raycast_all(origins, along, limits)
        assert [hits[0].tolist()[:1] for hits in every] == [[row] if row >= 0 else [] for row in expected.tolist()]


@pytest.mark.parametrize("is_lattice", [False, True], ids=["random", "lattice"])
@pytest.mark.parametrize("bodies", [1, 30, 64, 65, 300])
@pytest.mark.parametrize("dim", [2, 3])
def test_many_nearest_of_batches_are_those_of_all_distances(dim, bodies, is_lattice):
    rng = np.random.default_rng(bodies)
    batches = max(3, 1200 // bodies)
    batch = rng.permutation(np.repeat(np.arange(batches), bodies))
    count = len(batch)
    places = rng.integers(0, 9, (count, dim)).astype(float) if is_lattice else rng.uniform(0, 9, (count, dim))
    radii = np.full(count, 0.25) if is_lattice else rng.uniform(0.1, 0.5, count)
    world = bp.World(dim)
    world.add_many((bp.Circle if dim == 2 else bp.Sphere)(radii), places, batch=batch)
    world.set_filters(world.rows[::3], layer="rare")
    is_rare = np.arange(count) % 3 == 0
    own = np.arange(count)
    for k, limit, options in ((1, np.inf, {}), (8, np.inf, {}), (20, 2.0, {}), (3, np.inf, {"mask": "rare"})):
        rows, distances = world.nearest(rows=world.rows, k=k, max_distance=limit, batch=batch, **options)
        for key in range(batches):
            here = own[batch == key]
            seen = here[is_rare[here]] if options else here
            away = np.zeros((len(here), len(seen)))
            for axis in range(dim):
                away += (places[here, axis][:, np.newaxis] - places[seen, axis]) ** 2
            away = np.maximum(0.0, np.sqrt(away) - radii[seen])
            away[(here[:, np.newaxis] == seen) | (away > limit)] = np.inf
            order = np.argsort(away, axis=1, kind="stable")[:, :k]
            expected = np.take_along_axis(away, order, axis=1)
            columns = expected.shape[1]
            np.testing.assert_array_equal(distances[here, :columns], expected)
            np.testing.assert_array_equal(rows[here, :columns], np.where(expected < np.inf, seen[order], -1))
            assert (rows[here, columns:] == -1).all()


@pytest.mark.parametrize("boxes", [30, 300])
@pytest.mark.parametrize("dim", [2, 3])
def test_many_nearest_of_an_index_with_keys_are_those_of_the_oracle(dim, boxes):
    rng = np.random.default_rng(boxes)
    lower = rng.integers(0, 9, (5, boxes, dim)).astype(float)
    scenes = np.stack([lower, lower + rng.integers(0, 2, (5, boxes, dim))], axis=2)
    index = bp.BVH(scenes)
    keys = rng.integers(-1, 6, COUNT)  # of the first and the last there are no boxes
    points = rng.integers(0, 18, (COUNT, dim)) / 2
    rows, distances = index.nearest(points, 4, batch=keys)
    for key in range(-1, 6):
        if not 0 <= key < 5:
            assert (rows[keys == key] == -1).all()
            continue
        expected, away = oracle.nearest(scenes[key], points[keys == key], 4)
        np.testing.assert_array_equal(rows[keys == key], expected + boxes * key)
        np.testing.assert_array_equal(distances[keys == key], away)
