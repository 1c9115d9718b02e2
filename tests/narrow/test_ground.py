"""Height fields with half spaces, which look at all of their corners, and every crossing of rays with either."""

import numpy as np
import pytest

import broadphase as bp
from reaches import corners_of_ground
from shape_cases import quaternions


def field_of(rng, rows=5, columns=7, **placing):
    return bp.HeightField(rng.normal(size=(rows, columns)), (1.0, 0.5), -4.0, **placing)


def turned(points, quaternion):
    w, *v = np.asarray(quaternion) / np.linalg.norm(quaternion)
    across = np.cross(v, points)
    return points + 2 * (w * across + np.cross(v, across))


def solid_of(field):
    """A closed mesh around the ground: its surface, its walls down to the bottom, and that."""
    vertices, faces = np.asarray(field.vertices), np.asarray(field.faces)
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    known = {tuple(edge) for edge in edges.tolist()}
    border = np.array([(a, b) for a, b in known if (b, a) not in known])
    below = vertices * (1, 1, 0) + (0, 0, field.bottom)
    count = len(vertices)
    a, b = border.T
    walls = np.concatenate([np.stack([b, a, a + count], axis=1), np.stack([b, a + count, b + count], axis=1)])
    return bp.Mesh(np.concatenate([vertices, below]), np.concatenate([faces, walls, faces[:, ::-1] + count]))


@pytest.mark.parametrize("seed", range(8))
def test_a_field_is_as_far_from_a_half_space_as_its_lowest_corner(seed):
    rng = np.random.default_rng(seed)
    field, turn, at = field_of(rng), quaternions(rng), rng.normal(size=3) * 3
    normal = rng.normal(size=3)
    below = bp.HalfSpace(normal, rng.normal() * 4)
    ground, other = bp.Shapes(field, [at], [turn]), bp.Shapes(below, [[0, 0, 0]])
    heights = (turned(corners_of_ground(field), turn) + at) @ (normal / np.linalg.norm(normal)) - below.height
    assert bp.distance(ground, other)[0] == pytest.approx(heights.min(), abs=1e-12)
    assert bp.distance(other, ground)[0] == bp.distance(ground, other)[0]
    assert len(bp.overlaps(ground, other)) == (heights.min() <= 0) == len(bp.overlaps(other, ground))
    if heights.min() <= 0:
        hit = bp.contacts(other, ground)
        assert hit.depths[0] == pytest.approx(-heights.min(), abs=1e-12)
        assert hit.normals[0] == pytest.approx(normal / np.linalg.norm(normal), abs=1e-12)
    # Moved away along the normal and then back with twice the way, it touches in the middle.
    unit = normal / np.linalg.norm(normal)
    away = bp.Shapes(field, [at + unit * (1 - heights.min())], [turn])
    impact = bp.time_of_impact(away, other, motions=[unit * -2])
    assert impact.times[0] == pytest.approx(0.5, abs=1e-12)
    still = bp.time_of_impact(away, other, motions=[unit])
    assert still.times[0] == np.inf


def test_a_field_that_turns_touches_a_half_space_in_time():
    field = bp.HeightField(np.zeros((3, 3)), 1.0, -0.5)
    ground, wall = bp.Shapes(field, [[0, 0, 0]]), bp.Shapes(bp.HalfSpace((0, 0, 1), -0.8), [[0, 0, 0]])
    hit = bp.time_of_impact(ground, wall, motions=[[0, 0, 0]], angular_motions=[[0, np.pi / 2, 0]])
    # A corner at (1, -0.5) comes down to -0.8 when sin(a) + 0.5 cos(a) = 0.8.
    angle = np.arcsin(0.8 / np.hypot(1, 0.5)) - np.arctan2(0.5, 1)
    assert hit.times[0] == pytest.approx(angle / (np.pi / 2), abs=1e-6)


def test_flat_ground_lies_on_a_half_space_with_its_four_corners():
    field = bp.HeightField(np.zeros((4, 6)), 0.5, -1.0)
    hit = bp.contacts(bp.Shapes(bp.HalfSpace((0, 0, 1), -0.9), [[0, 0, 0]]), bp.Shapes(field, [[0, 0, 0]]))
    points = hit.points[0, : hit.counts[0]]
    assert sorted(map(tuple, points.round(9).tolist())) == [(x, y, -0.95) for x in (-1.25, 1.25) for y in (-0.75, 0.75)]


@pytest.mark.parametrize("seed", range(6))
def test_rays_cross_ground_where_they_cross_the_mesh_around_it(seed):
    rng = np.random.default_rng([7, seed])
    field = field_of(rng)
    turn, at = ([1, 0, 0, 0], [0, 0, 0]) if seed % 2 else (quaternions(rng), rng.normal(size=3))
    ground, mesh = bp.Shapes(field, [at], [turn]), bp.Shapes(solid_of(field), [at], [turn])
    origins, directions = rng.normal(size=(400, 3)) * 4, rng.normal(size=(400, 3))
    origins[:100] = rng.uniform(-1, 1, (100, 3)) * (1, 0.7, 2)  # often inside
    for limit in (np.inf, 3.0):
        found = bp.raycast(ground, origins, directions, limit, every=True)
        wanted = bp.raycast(mesh, origins, directions, limit, every=True)
        assert len(wanted) > 200
        assert found.offsets.tolist() == wanted.offsets.tolist()
        assert found.distances == pytest.approx(wanted.distances, abs=1e-9)
        assert found.normals == pytest.approx(wanted.normals, abs=1e-9)
        assert (found.faces == -1).all()


def test_rays_along_grid_lines_and_through_grid_points_cross_in_turns():
    rng = np.random.default_rng(3)
    field = bp.HeightField(rng.integers(-1, 2, (6, 6)).astype(float), 1.0, -3.0)
    ground = bp.Shapes(field, [[0, 0, 0]])
    places = np.arange(-3.0, 3.5, 0.5)
    for origin, way in [((x, y, 9.0), (0, 0, -1)) for x in places for y in places] + [
        ((-9.0, y, z), (1, s, 0)) for y in places for z in (-3.0, -1.0, -0.5, 0.0, 0.5, 1.0) for s in (0, 1)
    ]:
        crossed = bp.raycast(ground, [origin], [way], every=True)
        assert len(crossed.distances) % 2 == 0
        entering = crossed.normals @ np.asarray(way, float)
        assert (entering[::2] <= 0).all()
        assert (entering[1::2] >= 0).all()
        assert (np.diff(crossed.distances) >= 0).all()


@pytest.mark.parametrize("d", [2, 3])
def test_a_ray_crosses_the_boundary_of_a_half_space_once(d):
    rng = np.random.default_rng(d)
    normal = rng.normal(size=d)
    below = bp.Shapes(bp.HalfSpace(normal, 0.5), np.zeros((1, d)))
    unit = normal / np.linalg.norm(normal)
    origins, directions = rng.normal(size=(60, d)), rng.normal(size=(60, d))
    directions[0] = 0
    found = bp.raycast(below, origins, directions, every=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        times = (0.5 - origins @ unit) / ((directions / np.linalg.norm(directions, axis=1, keepdims=True)) @ unit)
    crossed = times >= 0
    assert found.counts.tolist() == crossed.astype(int).tolist()
    assert found.distances == pytest.approx(times[crossed], rel=1e-9)
    assert found.normals == pytest.approx(np.tile(unit, (crossed.sum(), 1)), abs=1e-12)
    flat = bp.Shapes(bp.HalfSpace(np.eye(d)[0], 0.5), np.zeros((1, d)))
    assert not len(bp.raycast(flat, np.zeros((1, d)), [np.eye(d)[1]], every=True).distances)
