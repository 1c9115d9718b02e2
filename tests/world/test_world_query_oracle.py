"""Queries to worlds against plain NumPy: what overlaps, what is nearest, what a ray hits."""

from itertools import pairwise

import numpy as np
import pytest

import broadphase as bp
from oracles.shapes import Part, parts_of, shape_distance, shapes_touch
from world_query_cases import make_world

CASES = [(dim, seed) for dim in (2, 3) for seed in range(2)]
COUNT = 8


def placed_bodies(world):
    """Give the parts of every body, by row."""
    return {
        row: parts_of(world.actor(row).shape, world.positions[row].copy(), np.array(world.rotations[row]))
        for row in world.rows.tolist()
    }


def check_overlaps(result, bodies, regions):
    """Compare the rows of each query with the bodies that touch its region."""
    for (begin, end), region in zip(pairwise(result.offsets), regions, strict=True):
        assert result.rows[begin:end].tolist() == [row for row, parts in bodies.items() if shapes_touch(parts, region)]


@pytest.mark.parametrize(("dim", "seed"), CASES)
def test_regions_overlap_the_bodies_that_the_oracle_says(dim, seed):
    world, draws = make_world(dim, seed)
    bodies = placed_bodies(world)
    points, turns = draws.places(COUNT), draws.turns(COUNT)
    radii, half = draws.numbers(0, 2, COUNT), draws.numbers(0.1, 1, COUNT, dim)
    stick = bp.Capsule([0.0] * dim, [2.0] * dim, 0.25)
    dots = [[Part(point[np.newaxis], 0.0)] for point in points]
    check_overlaps(world.query_points(points), bodies, dots)
    balls = [[Part(point[np.newaxis], radius)] for point, radius in zip(points, radii, strict=True)]
    check_overlaps(world.query_ball(points, radii), bodies, balls)
    solid = bp.Rectangle if dim == 2 else bp.Box
    boxes = [parts_of(solid(*(2 * half[k])), points[k], turns[k]) for k in range(COUNT)]
    check_overlaps(world.query_obb(points, half, turns), bodies, boxes)
    sticks = [parts_of(stick, points[k], turns[k]) for k in range(COUNT)]
    check_overlaps(world.query_shape(stick, points, turns), bodies, sticks)


@pytest.mark.parametrize(("dim", "seed"), CASES)
def test_nearest_bodies_are_those_of_the_oracle(dim, seed):
    world, draws = make_world(dim, seed)
    bodies = placed_bodies(world)
    points = draws.places(COUNT, 3)
    rows, distances = world.nearest(points, 3)
    for k, point in enumerate(points):
        away = {row: max(0.0, shape_distance(parts, [Part(point[np.newaxis], 0.0)])) for row, parts in bodies.items()}
        np.testing.assert_allclose(distances[k], sorted(away.values())[:3], atol=1e-9)
        np.testing.assert_allclose(distances[k], [away[row] for row in rows[k].tolist()], atol=1e-9)


@pytest.mark.parametrize(("dim", "seed"), CASES)
def test_rays_stop_where_the_oracle_finds_the_first_body(dim, seed):
    world, draws = make_world(dim, seed)
    bodies = placed_bodies(world)
    origins = draws.places(COUNT, 2)
    directions = draws.places(COUNT) - origins
    lengths = np.linalg.norm(directions, axis=1)
    rows, distances = world.raycast(origins, directions)[:2]
    hits = 0
    for k in range(COUNT):
        along = directions[k] / lengths[k]
        far = distances[k] if rows[k] >= 0 else lengths[k]
        # Up to the hit, the ray is a segment that goes deep into no body; at the hit, it touches one.
        way = [Part(np.stack([origins[k], origins[k] + far * along]), 0.0)]
        end = [Part((origins[k] + far * along)[np.newaxis], 0.0)]
        if far > 0:
            assert all(shape_distance(parts, way) > -1e-7 for parts in bodies.values() if shapes_touch(parts, way))
        if rows[k] >= 0:
            hits += 1
            assert shape_distance(bodies[int(rows[k])], end) < 1e-7
    assert hits > COUNT // 4


@pytest.mark.parametrize(("dim", "seed"), CASES)
def test_first_hits_are_the_first_of_all_hits_with_filters(dim, seed):
    world, draws = make_world(dim, seed)
    world.set_filters(world.rows[::3], layer="rare")
    origins = draws.places(5 * COUNT, 2)
    directions = draws.places(5 * COUNT) - origins
    limits = draws.numbers(0, 6, 5 * COUNT)
    for options in ({}, {"mask": "rare"}, {"ignore": world.rows[np.newaxis, 1::4]}):
        first = world.raycast(origins, directions, limits, **options)
        every = world.raycast_all(origins, directions, limits, **options)
        expected = [every[k][0][0] if len(every[k][0]) else -1 for k in range(5 * COUNT)]
        assert first.rows.tolist() == expected
        assert [bool(hit) for hit in world.raycast_any(origins, directions, limits, **options)] == [
            row >= 0 for row in expected
        ]
        for k in range(5 * COUNT):
            hit = world.raycast(origins[k], directions[k], limits[k], **options)
            assert (-1 if hit is None else hit.actor.row) == expected[k]
