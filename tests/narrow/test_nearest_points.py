"""The nearest points of hulls: on both, as far apart as the gap, and no farther than a plane between them proves."""

import numpy as np
import pytest

import broadphase as bp

optimize = pytest.importorskip("scipy.optimize")


def rotation(rng):
    """Draw a rotation matrix."""
    matrix, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return matrix if np.linalg.det(matrix) > 0 else -matrix


def cloud(rng, kind):
    """Draw the corners of a convex body around the origin, about 1 in size."""
    if kind == "round":
        corners = rng.normal(size=(rng.integers(60, 200), 3))
        return corners / np.linalg.norm(corners, axis=1)[:, np.newaxis]
    if kind == "few":
        return rng.normal(size=(rng.integers(4, 9), 3))
    if kind == "box":
        return np.array([[x, y, z] for x in (-1, 1) for y in (-0.6, 0.6) for z in (-0.3, 0.3)], float)
    if kind == "prism":
        turn = 2 * np.pi * np.arange(24) / 24
        ring = np.column_stack([np.cos(turn), np.sin(turn)])
        return np.concatenate([np.column_stack([ring, np.full(24, height)]) for height in (-0.5, 0.5)])
    if kind == "needle":
        return rng.normal(size=(30, 3)) * [3, 0.01, 0.01]
    return rng.normal(size=(12, 3)) * [1, 1, 1e-6]  # a leaf


KINDS = ("round", "few", "box", "prism", "needle", "leaf")


def require_nearest(corners, radii, gap, points, size, known=None):
    """Check two points and their distance by the corners of both bodies, cores with a radius around them."""
    spare = 1e-11 * size
    between = points[1] - points[0]
    assert abs(np.linalg.norm(between) - gap) <= spare
    # No points of the two are nearer to each other than planes across a direction are: that from point to point, or one
    # that is known, because points that nearly touch tell it with few digits.
    normals = [between / np.linalg.norm(between)] + ([] if known is None else [known])
    lower = max((corners[1] @ normal).min() - (corners[0] @ normal).max() for normal in normals) - sum(radii)
    assert lower >= gap - spare - (1e-3 * gap if gap < 1e-5 else 0)
    for body, radius, point in zip(corners, radii, points, strict=True):
        onto = body - point
        # The convex combination of corners that is nearest to the point, the sum of shares weighted up.
        heavy = 1e3 * max(1.0, np.abs(onto).max())
        shares, _ = optimize.nnls(np.vstack([onto.T, np.full(len(body), heavy)]), np.r_[0, 0, 0, heavy])
        assert np.linalg.norm(shares @ onto) <= radius + 1e-9 * size


@pytest.mark.parametrize("gap", [1e-9, 1e-4, 0.3, 100.0])
@pytest.mark.parametrize("other_kind", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_nearest_points_of_hulls_are_proven_by_a_plane(kind, other_kind, gap):
    rng = np.random.default_rng([KINDS.index(kind), KINDS.index(other_kind), int(-np.log10(gap)) + 3])
    for case in range(4):
        first = cloud(rng, kind) @ rotation(rng).T
        # Turned at random, or as the other one: parallel faces and edges.
        second = cloud(rng, other_kind) @ (rotation(rng).T if case % 2 else np.eye(3))
        if case == 2:
            first = cloud(rng, kind)
        normal = rng.normal(size=3) if case < 2 else np.eye(3)[rng.integers(0, 3)]
        normal /= np.linalg.norm(normal)
        # Apart along the normal by the gap: the true distance is that or more.
        apart = (first @ normal).max() - (second @ normal).min() + gap
        second = second + apart * normal
        found = bp.clearances([bp.ConvexHull(first), bp.ConvexHull(second)], max_distance=200.0 + 10 * gap)
        assert found.gaps[0] >= gap - 1e-12 * (1 + gap)
        placed = bp.clearances([bp.ConvexHull(second), bp.ConvexHull(first)], max_distance=200.0 + 10 * gap)
        size = 8 + gap
        require_nearest([first, second], (0, 0), found.gaps[0], found.points[0], size, normal)
        assert placed.gaps[0] == pytest.approx(found.gaps[0], abs=1e-12 * size)
        require_nearest([second, first], (0, 0), placed.gaps[0], placed.points[0], size, -normal)


@pytest.mark.parametrize("kind", KINDS)
def test_nearest_points_of_a_hull_and_other_shapes_are_proven_by_a_plane(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    box = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    others = [
        (bp.Point(), np.zeros((1, 3)), 0.0),
        (bp.Sphere(0.5), np.zeros((1, 3)), 0.5),
        (bp.Capsule((-1, 0, 0), (1, 0, 0), 0.25), np.array([[-1.0, 0, 0], [1, 0, 0]]), 0.25),
        (bp.Segment((0, 0, 0), (0, 0, 2)), np.array([[0.0, 0, 0], [0, 0, 2]]), 0.0),
        (bp.Triangle(corners), corners, 0.0),
        (bp.Box(2, 2, 2), box, 0.0),
    ]
    for shape, core, radius in others:
        for _ in range(4):
            first, way = cloud(rng, kind), rng.normal(size=3)
            place = way / np.linalg.norm(way) * rng.uniform(12, 20)
            found = bp.clearances(bp.Shapes([bp.ConvexHull(first), shape], [[0, 0, 0], place]), max_distance=100.0)
            require_nearest([first, core + place], (0, radius), found.gaps[0], found.points[0], 30)
