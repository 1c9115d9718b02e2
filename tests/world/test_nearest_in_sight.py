"""The nearest rows of indexes and worlds that a point sees, against all distances and angles."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.errors import UnsupportedQueryError
from broadphase.index.options import INDEX_CLASSES
from broadphase.testing import simd_level, simd_levels


def scene(seed):
    rng = np.random.default_rng(seed)
    dimension, count = 2 + seed % 2, int(rng.integers(1, 120))
    points = rng.uniform(0, 10, (count, dimension))
    headings = rng.normal(size=points.shape) * rng.choice([1e-9, 1.0, 1e9])
    return rng, points, headings, rng.uniform(0, np.pi, count)


def allowed(points, headings, angles, edge=None):
    """Distances of all rows from all points, and which of them each sees, itself not."""
    vectors = points[None] - points[:, None]
    if edge is not None:
        vectors -= np.round(vectors / edge) * edge
    distances = np.linalg.norm(vectors, axis=2)
    along = (vectors * (headings / np.linalg.norm(headings, axis=1, keepdims=True))[:, None]).sum(axis=2)
    with np.errstate(invalid="ignore"):
        seen = np.arccos(np.clip(along / distances, -1, 1)) <= angles[:, None]
    np.fill_diagonal(seen, False)
    return distances, seen


def nearest_of(distances, seen, k):
    return [
        [int(row) for row in sorted(np.flatnonzero(mine), key=lambda row: near[row])[:k]]
        for near, mine in zip(distances, seen, strict=True)
    ]


def listed(found):
    return [[row for row in rows if row >= 0] for rows in found.rows.tolist()]


@pytest.mark.parametrize("seed", range(12))
def test_world_nearest_in_sight_as_all_distances_and_angles(seed):
    rng, points, headings, angles = scene(seed)
    dimension, wraps = points.shape[1], seed % 3 == 0
    sides = {"bounds": ([0] * dimension, [10] * dimension), "boundary": "wrap"} if wraps else {}
    world = bp.World(dim=dimension, **sides)
    world.add_many(bp.Circle(0.1) if dimension == 2 else bp.Sphere(0.1), points)
    distances, seen = allowed(points, headings, angles, 10 if wraps else None)
    limit = rng.choice([np.inf, 3.0])
    seen &= distances - 0.1 <= limit
    rows = np.arange(len(points))
    for k in (1, 5):
        for workers in (1, 2):
            found = world.nearest(rows=rows, k=k, headings=headings, angle=angles, max_distance=limit, workers=workers)
            assert listed(found) == nearest_of(distances, seen, k)
    one = world.nearest(points[0], k=3, headings=headings[0], angle=float(angles[0]), ignore=0, max_distance=limit)
    assert one.rows[one.rows >= 0].tolist() == nearest_of(distances, seen, 3)[0]


@pytest.mark.parametrize("make", [bp.Index, *INDEX_CLASSES.values()])
def test_index_nearest_in_sight_as_all_distances_and_angles(make):
    for seed in range(6):
        rng, points, headings, angles = scene(seed)
        boxes = np.concatenate([points - 0.05, points + 0.05], axis=1)
        layers, keys = rng.integers(1, 4, len(points)), rng.integers(0, 2, len(points))
        index = make(boxes, layer=layers, batch=keys)
        if "nearest" not in type(index)._capabilities:
            continue
        _, seen = allowed(points, headings, angles)
        gaps = np.linalg.norm(np.maximum(np.abs(points[None] - points[:, None]) - 0.05, 0), axis=2)
        rows = np.arange(len(points))
        sight = {"headings": headings, "angle": angles}
        found = index.nearest(rows=rows, k=4, **sight)
        assert listed(found) == nearest_of(gaps, seen, 4)
        alike = keys[:, None] == keys[None]
        assert listed(index.nearest(rows=rows, k=4, batch=keys, **sight)) == nearest_of(gaps, seen & alike, 4)
        of_layer = (layers & 1) > 0
        assert listed(index.nearest(rows=rows, k=4, mask=1, **sight)) == nearest_of(gaps, seen & of_layer, 4)
        for level in simd_levels():
            with simd_level(level):
                assert listed(index.nearest(rows=rows, k=4, **sight)) == listed(found)


def test_many_copies_of_a_row_and_one_heading_for_all():
    points = np.repeat([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]], [1, 40, 40], axis=0)
    index = bp.Index(np.concatenate([points, points], axis=1))
    found = index.nearest([[0, 0], [0, 0]], k=60, headings=[1, 0], angle=0.5)
    assert listed(found) == [list(range(41))] * 2  # at the same place, it is seen
    assert index.nearest([0.5, 0], k=2, headings=[0, 0], angle=0.5).rows.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"headings": [1, 0]}, "headings= and angle= belong together"),
        ({"angle": 1}, "headings= and angle= belong together"),
        ({"headings": [[1, 0]] * 2, "angle": 1}, r"headings must have shape \(1, 2\), as points, not \(2, 2\)"),
        ({"headings": [1, np.nan], "angle": 1}, "headings: row 0 has NaN"),
        ({"headings": [1, 0], "angle": -1}, "angle is -1.0, and must be from 0 to pi radians"),
    ],
)
def test_bad_sight_is_named(options, text):
    index = bp.Index([[0, 0, 1, 1]])
    with pytest.raises((ValueError, TypeError), match=text):
        index.nearest([3, 3], **options)
    with pytest.raises(ValueError, match="headings are for 2 or 3 dimensions, not 1"):
        bp.Index([[0, 1]]).nearest([3], headings=[1], angle=1)
    with pytest.raises(UnsupportedQueryError, match="in a periodic cell"):
        bp.Index([[0, 0, 1, 1]], period=9).nearest([3, 3], headings=[1, 0], angle=1)
