"""Queries of worlds with many exact copies of a few bodies: the lowest row that is allowed, as closed forms have it."""

from __future__ import annotations

import numpy as np
import pytest

import broadphase as bp

KINDS, COPIES, RADIUS, QUERIES = 12, 400, 0.1, 300


def world_of_copies(dim):
    """Make balls in twelve places, `COPIES` in each, in a mixed order; and give the places and the kind of each row."""
    rng = np.random.default_rng(3)
    places, kind = rng.random((KINDS, dim)), rng.permutation(np.repeat(np.arange(KINDS), COPIES))
    world = bp.World(dim)
    ball = bp.Circle(RADIUS) if dim == 2 else bp.Sphere(RADIUS)
    layers = np.where(rng.random(len(kind)) < 0.5, "odd", "even").tolist()
    world.add_many(ball, places[kind], layer=layers)
    world.step(0.0)
    return world, places, kind, np.array(layers)


def gaps(points, places):
    return np.maximum(np.linalg.norm(points[:, None] - places, axis=2) - RADIUS, 0.0)


def ray_times(points, ways, places):
    """Distances along rays at which each ball is entered, infinite for none."""
    unit = ways / np.linalg.norm(ways, axis=1, keepdims=True)
    apart = points[:, None] - places
    along, square = np.sum(apart * unit[:, None], axis=2), np.sum(apart**2, axis=2) - RADIUS**2
    root = along**2 - square
    times = np.where(root >= 0, -along - np.sqrt(np.maximum(root, 0)), np.inf)
    return np.where(square <= 0, 0.0, np.where(times >= 0, times, np.inf))


def first_rows(times, kind, allowed):
    """Give the lowest allowed row of those that come first, -1 for none; by place and row where several do at once."""
    found = []
    for each in times:
        of_row = np.where(allowed, each[kind], np.inf)
        row = int(np.argmin(of_row))
        found.append(row if np.isfinite(of_row[row]) else -1)
    return np.array(found)


def queries(dim, draw):
    rng = np.random.default_rng(draw)
    return rng.random((QUERIES, dim)), rng.normal(size=(QUERIES, dim))


def check(world, places, kind, allowed, draw, **options):
    dim = world.dim
    points, ways = queries(dim, draw)
    times = ray_times(points, ways, places)
    rows = first_rows(times, kind, allowed)
    hits = world.raycast(points, ways, **options)
    np.testing.assert_array_equal(hits.rows, rows)
    np.testing.assert_allclose(hits.distances, np.min(times[:, np.unique(kind[allowed])], axis=1), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(world.raycast_any(points, ways, **options), rows >= 0)

    every = world.raycast_all(points[:20], ways[:20], **options)
    for query in range(20):
        hit = np.where(allowed, times[query][kind], np.inf)
        order = np.lexsort((np.arange(len(kind)), hit))[: int(np.isfinite(hit).sum())]
        np.testing.assert_array_equal(every.rows[every.offsets[query] : every.offsets[query + 1]], order)

    distances = gaps(points, places)
    for k in (1, 5, COPIES + 7):
        found = world.nearest(points[:60], k, **options)
        for query in range(60):
            far = np.where(allowed, distances[query][kind], np.inf)
            order = np.lexsort((np.arange(len(kind)), far))[:k]
            np.testing.assert_array_equal(found.rows[query], order)
            np.testing.assert_allclose(found.distances[query], far[order], atol=1e-9)

    small = bp.Circle(1e-9) if dim == 2 else bp.Sphere(1e-9)
    casts = world.shapecast(small, points, ways / np.linalg.norm(ways, axis=1, keepdims=True), **options)
    near = np.where(times < 1, times, np.inf)
    np.testing.assert_array_equal(casts.rows, first_rows(near, kind, allowed))
    for query in range(3):  # one at a time
        one = world.raycast(points[query], ways[query], **options)
        assert (-1 if one is None else one.actor.row) == rows[query]
        few, alone = world.nearest(points[query : query + 2], 5, **options), world.nearest(points[query], 5, **options)
        np.testing.assert_array_equal(alone.rows, few.rows[0])


@pytest.mark.parametrize("dim", [2, 3])
def test_queries_of_copies_find_the_lowest_rows(dim):
    world, places, kind, _ = world_of_copies(dim)
    everything = np.ones(len(kind), bool)
    before = world._scene.index()._arranged("queries").memory_bytes
    for draw in range(3):
        check(world, places, kind, everything, draw)
    # The tree of those that differ is there: what was checked is about it.
    assert world._scene.index()._arranged("queries").memory_bytes > before


@pytest.mark.parametrize("dim", [2, 3])
def test_queries_of_copies_find_the_lowest_rows_that_a_mask_and_ignored_rows_leave(dim):
    world, places, kind, layers = world_of_copies(dim)
    for draw in range(3):
        check(world, places, kind, layers == "odd", draw, mask="odd")
        ignored = np.sort(np.unique(kind, return_index=True)[1])
        check(world, places, kind, ~np.isin(np.arange(len(kind)), ignored), draw, ignore=ignored[None])


def test_queries_of_copies_after_changes_find_what_is_there():
    world, places, kind, _ = world_of_copies(3)
    everything = np.ones(len(kind), bool)
    check(world, places, kind, everything, 0)
    check(world, places, kind, everything, 1)
    world.move(np.arange(len(kind), dtype=np.int32), places[(kind + 1) % KINDS])
    check(world, places, (kind + 1) % KINDS, everything, 2)
    moved = (kind + 1) % KINDS
    world.move(np.flatnonzero(moved == 0).astype(np.int32), np.full((COPIES, 3), 40.0) + np.arange(COPIES)[:, None])
    check(world, places, moved, moved != 0, 3)
    check(world, places, moved, moved != 0, 4)


def test_nearest_of_copies_in_a_periodic_world_is_across_its_border():
    rng = np.random.default_rng(5)
    places, kind = rng.random((KINDS, 2)), np.arange(KINDS * COPIES) % KINDS
    world = bp.World(2, bounds=[[0, 0], [1, 1]], boundary="wrap")
    world.add_many(bp.Circle(1e-3), places[kind])
    world.step(0.0)
    for draw in range(3):
        points, _ = queries(2, draw)
        apart = points[:, None] - places
        apart -= np.round(apart)
        far = np.maximum(np.linalg.norm(apart, axis=2) - 1e-3, 0)
        for k in (1, 3):
            found = world.nearest(points, k)
            nearest = np.argmin(far, axis=1)
            np.testing.assert_array_equal(found.rows, nearest[:, None] + KINDS * np.arange(k))
            np.testing.assert_allclose(found.distances[:, 0], far.min(axis=1), atol=1e-9)


def test_lidar_of_copies_sees_the_lowest_rows():
    world, places, kind, _ = world_of_copies(2)
    own = world.add_many(bp.Circle(1e-3), np.random.default_rng(9).random((40, 2)), layer="looker")
    world.step(0.0)
    angles = np.linspace(0, 6, 50)
    ways = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for _ in range(4):
        found = world.lidar(own, angles, max_distance=2.0, frame="world", mask={"odd", "even"})
        for at, row in enumerate(own):
            times = ray_times(np.repeat(world.positions[row][None], 50, axis=0), ways, places)
            np.testing.assert_array_equal(found.rows[at], first_rows(times, kind, np.ones(len(kind), bool)))


def test_copies_of_other_shapes_are_told_apart_by_rotation_and_size():
    rng = np.random.default_rng(6)
    places, turns = rng.random((6, 2)) * 4, rng.uniform(0, 3, 6)
    kind = np.arange(6 * 300) % 6
    many, one = bp.World(2), bp.World(2)
    for world, rows in ((many, kind), (one, np.arange(6))):
        world.add_many(bp.Rectangle(0.5, 0.2), places[rows], rotations=turns[rows])
        world.add_many(bp.Rectangle(0.5, 0.2), places[rows], rotations=-turns[rows])
        world.step(0.0)
    points, ways = queries(2, 7)
    points *= 4
    of_row = np.r_[kind, kind + 6]
    lowest = np.array([np.flatnonzero(of_row == k)[0] for k in range(12)] + [-1])
    for _ in range(3):
        hits, plain = many.raycast(points, ways), one.raycast(points, ways)
        np.testing.assert_array_equal(hits.rows, lowest[plain.rows])
        np.testing.assert_array_equal(hits.distances, plain.distances)
        np.testing.assert_array_equal(many.nearest(points, 1).rows, lowest[one.nearest(points, 1).rows])


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("share", [0.2, 0.002, 0.0])
def test_few_of_many_copies_match_after_all_have_been_asked_for(dim, share):
    world, places, kind, _ = world_of_copies(dim)
    rare = np.random.default_rng(8).random(len(kind)) < share
    if share:
        rare[kind == 3] = [False] * (COPIES - 1) + [True]
    for row in np.flatnonzero(rare):
        world.set_filters([row], layer="rare")
    for draw in range(3):
        world.raycast(*queries(dim, draw))
        world.nearest(queries(dim, draw)[0], 2)
    points, ways = queries(dim, 5)
    distances, times = gaps(points, places), ray_times(points, ways, places)
    for _ in range(3):
        hits = world.raycast(points, ways, mask="rare" if share else 0)
        np.testing.assert_array_equal(hits.rows, first_rows(times, kind, rare))
        found = world.nearest(points, 4, mask="rare" if share else 0)
        for query in range(QUERIES):
            far = np.where(rare, distances[query][kind], np.inf)
            order = np.lexsort((np.arange(len(kind)), far))[:4]
            order[~np.isfinite(far[order])] = -1
            np.testing.assert_array_equal(found.rows[query], order)


@pytest.mark.parametrize("dim", [2, 3])
def test_queries_of_copies_in_batches_find_the_lowest_rows_of_each(dim):
    rng = np.random.default_rng(10)
    places, kind = rng.random((KINDS, dim)), rng.permutation(np.repeat(np.arange(KINDS), 2 * COPIES))
    keys = rng.choice([4, -9], len(kind))
    world = bp.World(dim)
    ball = bp.Circle(RADIUS) if dim == 2 else bp.Sphere(RADIUS)
    layers = np.where(rng.random(len(kind)) < 0.5, "odd", "even")
    world.add_many(ball, places[kind], batch=keys, layer=layers.tolist())
    before = world._scene.index()._trees(1).memory_bytes
    for key in (4, -9):
        check(world, places, kind, keys == key, key % 7, batch=key)
    assert world._scene.index()._trees(1).memory_bytes > before  # trees of bodies that differ
    odd = (keys == 4) & (layers == "odd")
    points, ways = queries(dim, 5)
    for _ in range(3):
        hits = world.raycast(points, ways, batch=4, mask="odd")
        np.testing.assert_array_equal(hits.rows, first_rows(ray_times(points, ways, places), kind, odd))
    kind = (kind + 1) % KINDS
    world.move(np.arange(len(kind), dtype=np.int32), places[kind])
    for key in (4, -9):
        check(world, places, kind, keys == key, key % 7, batch=key)
