"""Queries of a world that may find few of its bodies, by layers and masks: at once, one by one, from step to step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import broadphase as bp

COUNT, QUERIES = 600, 80
Floats = NDArray[np.float64]


def make_world(dim: int, share: float, random: np.random.Generator, **options: Any) -> tuple[bp.World, NDArray[Any]]:
    """Make a world of balls, of which a share is in the layer "rare"; return it with their radii."""
    world = bp.World(dim, **options)
    radii = 0.002 + 0.01 * random.random(COUNT)
    world.layer("rare")
    layers = np.where(random.random(COUNT) < share, 2, 1).astype(np.uint64)
    ball = bp.Circle if dim == 2 else bp.Sphere
    world.add_many(ball(radii), random.random((COUNT, dim)), layer=layers, velocities=random.normal(size=(COUNT, dim)))
    return world, radii


def nearest_of(places: Floats, radii: Floats, points: Floats, rows: NDArray[Any]) -> tuple[NDArray[Any], Floats]:
    """Return the nearest of some rows to each point."""
    if not len(rows):
        return np.full(len(points), -1), np.full(len(points), np.inf)
    away = np.maximum(np.linalg.norm(points[:, None] - places[rows], axis=2) - radii[rows], 0.0)
    best = away.argmin(axis=1)
    return rows[best], away[np.arange(len(points)), best]


def hits_of(
    places: Floats, radii: Floats, points: Floats, ways: Floats, rows: NDArray[Any]
) -> tuple[NDArray[Any], Floats]:
    """Return the first of some rows that each ray hits."""
    if not len(rows):
        return np.full(len(points), -1), np.full(len(points), np.inf)
    along = ways / np.linalg.norm(ways, axis=1, keepdims=True)
    apart = places[rows] - points[:, None]
    middle = (apart * along[:, None]).sum(axis=2)
    inner, chord = (apart**2).sum(axis=2) - radii[rows] ** 2, middle**2
    with np.errstate(invalid="ignore"):
        entry = np.where(inner <= 0, 0.0, middle - np.sqrt(chord - inner))
    entry[(inner > 0) & ((chord < inner) | (middle < 0))] = np.inf
    best = entry.argmin(axis=1)
    distance = entry[np.arange(len(points)), best]
    return np.where(distance < np.inf, rows[best], -1), distance


def check(world: bp.World, radii: Floats, random: np.random.Generator, label: str) -> None:
    """Compare queries by the layer "rare" with plain NumPy."""
    points, ways = random.random((QUERIES, world.dim)), random.normal(size=(QUERIES, world.dim))
    places, every = np.array(world.positions), np.array(world.rows)
    rare = every[np.array(world.layers)[every] & np.uint64(2) != 0]
    sizes = 0.1 * random.random(QUERIES)
    for one_by_one in (False, True):
        found = nearest_of(places, radii, points, rare)
        hit = hits_of(places, radii, points, ways, rare)
        reach = np.linalg.norm(points[:, None] - places[rare], axis=2) <= radii[rare] + sizes[:, None]
        if not one_by_one:
            for _ in range(2):
                rows, distances = world.nearest(points, 1, mask="rare")
                assert np.array_equal(rows[:, 0], found[0]), label
                np.testing.assert_allclose(distances[:, 0], found[1], atol=1e-12, err_msg=label)
                rows, distances = world.raycast(points, ways, mask="rare")
                assert np.array_equal(rows, hit[0]), label
                np.testing.assert_allclose(distances, hit[1], atol=1e-9, err_msg=label)
                assert np.array_equal(world.raycast_any(points, ways, mask="rare"), hit[0] >= 0), label
                around = world.query_ball(points, sizes, mask="rare")
                assert np.array_equal(around.rows, rare[np.nonzero(reach)[1]]), label
            continue
        for k in range(0, QUERIES, 5):
            rows, distances = world.nearest(points[k], 1, mask="rare")
            assert rows[0] == found[0][k], label
            assert world.raycast_any(points[k], ways[k], mask="rare") == (hit[0][k] >= 0), label
            first = world.raycast(points[k], ways[k], mask="rare")
            assert (-1 if first is None else first.actor.row) == hit[0][k], label
            assert np.array_equal(world.query_ball(points[k], sizes[k], mask="rare"), rare[reach[k]]), label


@pytest.mark.parametrize("share", [0.0, 0.002, 0.03, 0.4, 0.9, 1.0])
@pytest.mark.parametrize("dim", [2, 3])
def test_world_queries_by_layers_find_the_bodies_that_match(dim: int, share: float) -> None:
    random = np.random.default_rng([dim, int(1000 * share)])
    world, radii = make_world(dim, share, random)
    check(world, radii, random, f"{dim} axes, {share}")


@pytest.mark.parametrize("method", ["auto", "bvh", "octree", "linear_tree"])
def test_world_queries_by_layers_follow_steps_and_changes(method: str) -> None:
    random = np.random.default_rng(5)
    world, radii = make_world(2, 0.01, random, method=method)
    for turn in range(3):
        check(world, radii, random, f"{method}, step {turn}")
        world.step(0.01)
    rare = np.flatnonzero(np.array(world.layers) == 2)
    world.set_filters(rare[:2], layer="default")
    world.set_filters([0, 1, 2], layer="rare")
    check(world, radii, random, f"{method}, other layers")
    world.move(rare[2:4], positions=random.random((2, 2)))
    check(world, radii, random, f"{method}, moved")
    world.remove(rare[4:5])
    check(world, radii, random, f"{method}, removed")


def test_world_queries_by_layers_of_a_periodic_world_find_images() -> None:
    random = np.random.default_rng(6)
    world, radii = make_world(2, 0.01, random, bounds=[[0, 0], [1, 1]], boundary="wrap")
    points = random.random((QUERIES, 2))
    places, rare = np.array(world.positions), np.flatnonzero(np.array(world.layers) == 2)
    gaps = np.abs(points[:, None] - places[rare])
    away = np.maximum(np.linalg.norm(np.minimum(gaps, 1 - gaps), axis=2) - radii[rare], 0.0)
    for _ in range(2):
        rows, distances = world.nearest(points, 1, mask="rare")
        assert np.array_equal(rows[:, 0], rare[away.argmin(axis=1)])
        np.testing.assert_allclose(distances[:, 0], away.min(axis=1), atol=1e-12)
