"""Queries of periodic worlds, from a thousandth of a period to 10^300 periods wide and far, against whole numbers."""

import numpy as np
import pytest

import broadphase as bp
from broadphase import thresholds
from broadphase.world import queries
from index_cases import generator
from oracles.exact import whole

WORLDS = {1: ([0.0, 0.0], [10.0, 10.0]), 2: ([-3.0, 1.0, 0.0], [5.0, 7.0, 9.0])}
UNIT = whole(1.0)


def some_numbers(rng, shape, most):
    """Whole quarters up to some, and larger numbers of any magnitude up to `most`."""
    small = rng.integers(0, 60, shape) / 4
    large = np.floor(10.0 ** rng.uniform(1, np.log10(most), shape) * 4) / 4
    return np.where(rng.random(shape) < 0.6, small, large)


def periodic_world(rng, number):
    bounds = WORLDS[number]
    lower, upper = np.array(bounds)
    world = bp.World(dim=len(lower), boundary="wrap", bounds=bounds)
    for _ in range(12):
        size = rng.integers(0, 9, len(lower)) / 4
        position = lower + rng.integers(0, ((upper - lower) * 4).astype(int)) / 4
        world.add(bp.AABB(size), position=position, layer=str(rng.choice(["even", "odd"])))
    world.remove(rng.choice(12, 3, replace=False))
    for away in (1, -30, 10**6):  # not subject to the boundary: whole periods away
        size = rng.integers(0, 9, len(lower)) / 4
        position = lower + rng.integers(0, ((upper - lower) * 4).astype(int)) / 4 + away * (upper - lower)
        world.add(bp.AABB(size), position=position, layer="even", body_type="kinematic")
    world.refresh()
    return world


def gap(period, low, high, other_low, other_high):
    """The least distance along an axis between an interval and the images of another."""
    if high - low >= period:
        return 0
    shift = (low - other_high) // period * period
    return min(
        max(other_low + way - high, low - other_high - way, 0) for way in (shift, shift + period, shift + 2 * period)
    )


def gaps_of(world, number, lower, upper):
    """The least distance of each region from each body, along each axis: lists by region, row and axis."""
    period = [high - low for low, high in zip(*map(whole, WORLDS[number]), strict=True)]
    bodies = {
        row: (whole(box[0]), whole(box[1]))
        for row, box in zip(world.rows.tolist(), world.boxes[world.rows], strict=True)
    }
    return [
        {
            row: [gap(*sides) for sides in zip(period, whole(low), whole(high), *body, strict=True)]
            for row, body in bodies.items()
        }
        for low, high in zip(lower, upper, strict=True)
    ]


def check_periodic(number, seed, count):
    """Compare every query of regions; give how many bodies were compared."""
    rng = generator("periodic queries", number, seed)
    world = periodic_world(rng, number)
    dim = world.dim
    points = some_numbers(rng, (count, dim), 1e300) * rng.choice([-1, 1], (count, dim))
    half = np.where(
        rng.random((count, dim)) < 0.3, 0.25 * rng.integers(0, 5, (count, dim)), some_numbers(rng, (count, dim), 1e300)
    )
    expected = [
        sorted(row for row, gaps in bodies.items() if not any(gaps))
        for bodies in gaps_of(world, number, points, points)
    ]
    assert [rows.tolist() for rows in world.query_points(points)] == expected

    corners = np.stack([points, points + 2 * half], axis=1)
    expected = [
        sorted(row for row, gaps in bodies.items() if not any(gaps))
        for bodies in gaps_of(world, number, *corners.swapaxes(0, 1))
    ]
    assert [rows.tolist() for rows in world.query(corners)] == expected, (points, half)

    radii = half.max(axis=1)
    away = gaps_of(world, number, points, points)
    expected = [
        sorted(row for row, gaps in bodies.items() if sum(x * x for x in gaps) <= whole(radius) ** 2)
        for bodies, radius in zip(away, radii.tolist(), strict=True)
    ]
    assert [rows.tolist() for rows in world.query_ball(points, radii)] == expected, (points, radii)

    # A box as wide as a period along some axes only reaches through any number of images.
    small = np.minimum(half, 40.0)
    turns = np.zeros(count) if dim == 2 else np.array([[1.0, 0, 0, 0]] * count)
    centers = np.where(np.abs(points) < 1e15, points, 0.0)
    expected = [
        sorted(row for row, gaps in bodies.items() if not any(gaps))
        for bodies in gaps_of(world, number, centers - small, centers + small)
    ]
    assert [rows.tolist() for rows in world.query_obb(centers, small, turns)] == expected, (centers, small)
    whole_world = world.query_obb(points, np.full((count, dim), 1e300), turns)
    assert all(rows.tolist() == world.rows.tolist() for rows in whole_world)

    found = world.nearest(points, 4)
    for k, bodies in enumerate(away):
        order = sorted((sum(x * x for x in gaps), row) for row, gaps in bodies.items())[:4]
        assert found.rows[k].tolist() == [row for _, row in order], (points[k], order)
        np.testing.assert_allclose(found.distances[k], [float(np.sqrt(square / UNIT**2)) for square, _ in order])
    return 6 * count * len(world.rows)


@pytest.mark.parametrize("number", WORLDS)
def test_queries_of_periodic_worlds_of_any_size_and_distance_are_those_of_whole_numbers(number):
    for seed in range(6):
        check_periodic(number, seed, 8)


def test_regions_wider_than_a_periodic_world_find_the_allowed_rows_once():
    rng = generator("allowed rows")
    world = periodic_world(rng, 1)
    for width in (11.0, 1e14, 1e19, 1e30, 1e300, np.inf):
        box, ball = [[-width] * 2 + [width] * 2], min(width, 1e300)
        for layer, mask in ((None, None), ("even", "even"), ("even", "odd")):
            allowed = world.query([[0, 0, 10, 10]], layer=layer, mask=mask).rows.tolist()
            assert world.query(box, layer=layer, mask=mask).rows.tolist() == allowed
            assert world.query_ball([[3, 3]], ball, layer=layer, mask=mask).rows.tolist() == allowed


def test_boxes_at_infinity_meet_nothing_in_a_periodic_world():
    world = periodic_world(generator("infinity"), 1)
    assert len(world.query([[np.inf, 0, np.inf, 10], [0, -np.inf, 10, -np.inf]]).rows) == 0


def test_query_obb_through_too_many_images_is_refused_by_row():
    world = periodic_world(generator("too many images"), 1)
    with pytest.raises(
        ValueError, match=r"row 1 of the queries reaches across .* periods of the world; at most 1,000,000"
    ):
        world.query_obb([[0, 0], [0, 0]], [[1, 1], [1e9, 0.5]], [0.0, 0.3])


def counted_images(monkeypatch):
    """List how many images, or parts of them, each search among bodies looks at from now on, in the general way."""
    monkeypatch.setattr(bp.World, "_few", None)
    counts, inner = [], queries._images

    def images(*given):
        found = inner(*given)
        counts.append(len(found.boxes))
        return found

    monkeypatch.setattr(queries, "_images", images)
    return counts


def test_a_body_far_away_does_not_add_images_to_queries(monkeypatch):
    world = bp.World(dim=2, boundary="wrap", bounds=[[0, 0], [10, 10]])
    world.add_many(bp.Circle(0.1), generator("far body").uniform(0, 10, (200, 2)))
    world.refresh()
    counts = counted_images(monkeypatch)
    near = world.query_ball([[1e7 + 3, 3]], 0.5).rows.tolist()
    alone, counts[:] = counts[:], []
    far = world.add(bp.Circle(0.1), position=(1e7 + 3, -1e7 + 3.0), body_type="kinematic")
    world.refresh()
    assert world.query_ball([[3, 3]], 0.5).rows.tolist() == [*near, far.row]
    assert world.nearest([[3, 3]]).rows.tolist() == [[far.row]]
    assert 0 < sum(counts) <= 4 * sum(alone) + 8


def slanted_scene(dimension, length, rng):
    """Give a periodic world of balls, and long thin shapes by their axes: begin, end and radius."""
    size = np.array([10.0, 7.0, 8.0][:dimension])
    world = bp.World(dimension, boundary="wrap", bounds=[[0.0] * dimension, size])
    radii = rng.uniform(0.02, 0.3, 60)
    centers = rng.uniform(0, 1, (60, dimension)) * size
    world.add_many((bp.Circle if dimension == 2 else bp.Sphere)(radii), centers)
    along = rng.normal(size=dimension)
    half = along / np.linalg.norm(along) * length / 2
    return world, size, centers, radii, half


def rows_along(begin, end, radius, centers, radii, size):
    """Find the balls that a capsule meets, by their distance from its axis, image by image."""
    found, along = [], end - begin
    reach = radius + radii.max()
    first = np.floor((np.minimum(begin, end) - reach - size) / size).astype(int)
    last = np.ceil((np.maximum(begin, end) + reach) / size).astype(int)
    worlds = np.stack(np.meshgrid(*map(np.arange, first, last + 1), indexing="ij"), -1).reshape(-1, len(size))
    for row, (center, own) in enumerate(zip(centers, radii, strict=True)):
        apart = center + worlds * size - begin
        time = np.clip(apart @ along / (along @ along), 0, 1)
        if (np.linalg.norm(apart - time[:, None] * along, axis=1) <= radius + own).any():
            found.append(row)
    return found


@pytest.mark.parametrize("dimension", [2, 3])
def test_long_slanted_shapes_in_periodic_worlds_meet_what_an_image_of_their_axis_meets(dimension):
    rng = generator(f"slanted {dimension}")
    some = 0
    for length in (20.0, 90.0, 250.0) if dimension == 2 else (40.0, 120.0):
        for radius in (0.01, 0.4):
            world, size, centers, radii, half = slanted_scene(dimension, length, rng)
            place = rng.uniform(-1, 2, dimension) * size
            capsule = bp.Capsule(-half, half, radius)
            found = world.query_shape(capsule, [place]).rows.tolist()
            assert found == rows_along(place - half, place + half, radius, centers, radii, size), (length, radius)
            some += 0 < len(found) < len(centers)
    assert some >= 2


def test_long_rotated_boxes_in_periodic_worlds_find_the_same_with_all_their_images(monkeypatch):
    rng = generator("rotated boxes")
    for _ in range(4):
        world, *_ = slanted_scene(2, 1.0, rng)
        centers, turns = rng.uniform(0, 10, (5, 2)), rng.uniform(-3, 3, 5)
        half_sizes = np.stack([rng.uniform(20, 120, 5), rng.exponential(0.5, 5)], axis=1)
        found = world.query_obb(centers, half_sizes, turns)
        with monkeypatch.context() as patch:
            patch.setattr(thresholds, "FEW_IMAGES", 1_000_000)
            every = world.query_obb(centers, half_sizes, turns)
        assert found.rows.tolist() == every.rows.tolist()
        assert found.offsets.tolist() == every.offsets.tolist()


def test_long_slanted_shapes_in_periodic_worlds_are_looked_at_along_their_way_only(monkeypatch):
    counts = counted_images(monkeypatch)
    world, *_ = slanted_scene(2, 1.0, generator("slanted work"))
    for length in (250.0, 1000.0, 4000.0, 16000.0):
        counts.clear()
        world.query_obb([[3, 3]], [[length, 0.05]], [0.7])
        # It goes through two periods in seven units of length; their bounding box has some 500,000 at the most.
        assert 0 < sum(counts) < 50 * length
    counts.clear()
    world.query_shape(bp.Capsule((-1e5, -1e5), (1e5, 1e5), 9.0), [[3, 3]])
    assert sum(counts) == 1  # it is everywhere
