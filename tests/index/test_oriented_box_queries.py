"""Oriented boxes against whole numbers: no contact is lost, and what is found beside them almost touches."""

from fractions import Fraction
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest

import broadphase as bp
from index_cases import CAPABILITIES, CLASSES, generator
from oracles import exact

CONVEX = [name for name in CLASSES if "convex" in CAPABILITIES[name]]
# The tolerance that the documentation promises, of the coordinates of the oriented box.
TOLERANCE = Fraction(5, 10**14)


def cube_rotations():
    """The 24 rotations of a cube: quaternions of whole numbers and matrices."""
    halves = [*permutations([1, 0, 0, 0])]
    quaternions = {q for q in product((-1, 0, 1), repeat=4) if sum(map(abs, q)) in (1, 2, 4)}
    matrices = {}
    for q in sorted(quaternions | set(halves)):
        matrix, factor = exact.rotation_of(q)
        matrices.setdefault(tuple(value // factor for row in matrix for value in row), q)
    assert len(matrices) == 24
    return [(np.array(q, float), np.array(matrix, float).reshape(3, 3)) for matrix, q in matrices.items()]


def forms_of(quaternion, matrix):
    """A rotation as it comes out of other programs: exact, of length 1, rounded, and in parts."""
    unit = quaternion / np.linalg.norm(quaternion)
    half_angle = np.arctan2(np.linalg.norm(quaternion[1:]), quaternion[0])
    axis = quaternion[1:] / (np.linalg.norm(quaternion[1:]) or 1.0)
    by_angle = np.append(np.cos(half_angle), np.sin(half_angle) * axis)
    noisy = np.where(matrix == 0, 2.0**-52, matrix * (1 - 2.0**-53))
    return [quaternion, -3 * quaternion, unit, by_angle, np.ldexp(unit, -700), matrix, noisy]


def lattice_boxes(rng, n, dimension):
    return np.sort(rng.integers(-5, 6, (n, 2, dimension)), axis=1).astype(float)


def expected_rows(centers, halves, matrices, boxes):
    """Row numbers by query: what overlaps or touches the boxes that quarter turns make of boxes."""
    reach = np.abs(np.einsum("qjk,qk->qj", matrices, halves))
    lower, upper = centers - reach, centers + reach
    hit = (lower[:, None] <= boxes[None, :, 1]).all(axis=2) & (boxes[None, :, 0] <= upper[:, None]).all(axis=2)
    return [np.flatnonzero(row).tolist() for row in hit]


def turns_in_space():
    """Every form of the quarter turns: quaternions and matrices, each with the exact matrices."""
    forms = [(form, matrix) for quaternion, matrix in cube_rotations() for form in forms_of(quaternion, matrix)]
    for dimensions in (1, 2):
        chosen = [(form, matrix) for form, matrix in forms if form.ndim == dimensions]
        yield tuple(np.array(part) for part in zip(*chosen, strict=True))


def turns_in_the_plane():
    """Angles of quarter turns as they are computed, and matrices, each with the exact matrices."""
    quarters = np.array([*range(-9, 10), 101, -1000, 1023])
    cosine, sine = (np.array(values)[quarters % 4] for values in ((1.0, 0, -1, 0), (0.0, 1, 0, -1)))
    matrices = np.stack([cosine, -sine, sine, cosine], axis=-1).reshape(-1, 2, 2)
    for angles in (quarters * (np.pi / 2), quarters * np.pi / 2, np.radians(90.0 * quarters)):
        yield angles, matrices
    yield matrices * (1 - 2.0**-53) + np.where(matrices == 0, 2.0**-52, 0), matrices


def turned_boxes(rng, matrices):
    """Centers and halves, three for each rotation, and the rotations as often."""
    dimension, count = matrices.shape[1], 3 * len(matrices)
    return rng.integers(-5, 6, (count, dimension)).astype(float), rng.integers(0, 4, (count, dimension)).astype(float)


@pytest.mark.parametrize("turns", [turns_in_the_plane, turns_in_space])
@pytest.mark.parametrize("name", CONVEX)
def test_query_obb_after_quarter_turns_finds_exactly_what_touches(name, turns):
    rng = generator("quarter turns", name)
    for rotations, matrices in turns():
        boxes = lattice_boxes(rng, 60, matrices.shape[1])
        for dtype in ("float32", "float64"):
            centers, halves = turned_boxes(rng, matrices)
            expected = expected_rows(centers, halves, np.repeat(matrices, 3, axis=0), boxes)
            found = getattr(bp, name)(boxes.astype(dtype)).query_obb(centers, halves, np.repeat(rotations, 3, axis=0))
            wrong = [k for k, rows in enumerate(found) if rows.tolist() != expected[k]]
            assert not wrong, (rotations[wrong[0] // 3], centers[wrong[0]], halves[wrong[0]])


@pytest.mark.parametrize("turns", [turns_in_the_plane, turns_in_space])
def test_world_query_obb_after_quarter_turns_finds_exactly_what_touches(turns):
    rng = generator("quarter turns in a world", turns.__name__)
    for rotations, matrices in turns():
        boxes = lattice_boxes(rng, 40, matrices.shape[1])
        world = bp.World(dim=matrices.shape[1])
        world.add_many(bp.AABB(boxes[:, 1] - boxes[:, 0]), boxes.mean(axis=1))
        centers, halves = turned_boxes(rng, matrices)
        expected = expected_rows(centers, halves, np.repeat(matrices, 3, axis=0), boxes)
        found = world.query_obb(centers, halves, np.repeat(rotations, 3, axis=0))
        wrong = [k for k, rows in enumerate(found) if rows.tolist() != expected[k]]
        assert not wrong, (rotations[wrong[0] // 3], centers[wrong[0]], halves[wrong[0]])


@pytest.mark.parametrize("turns", [turns_in_the_plane, turns_in_space])
def test_overlaps_of_boxes_after_quarter_turns_finds_exactly_what_touches(turns):
    rng = generator("quarter turns of shapes", turns.__name__)
    for rotations, matrices in turns():
        if rotations.ndim == 3:  # shapes take angles and quaternions
            continue
        dimension = matrices.shape[1]
        boxes = lattice_boxes(rng, 12, dimension)
        plain = bp.Shapes(bp.AABB(boxes[:, 1] - boxes[:, 0]), boxes.mean(axis=1))
        centers, halves = turned_boxes(rng, matrices)
        expected = expected_rows(centers, halves, np.repeat(matrices, 3, axis=0), boxes)
        solid = bp.Rectangle if dimension == 2 else bp.Box
        turned = bp.Shapes(solid(*(2 * halves.T)), centers, np.repeat(rotations, 3, axis=0))
        hit = np.zeros((len(centers), len(boxes)), bool)
        hit[tuple(bp.overlaps(turned, plain).T)] = True
        wrong = [k for k in range(len(centers)) if np.flatnonzero(hit[k]).tolist() != expected[k]]
        assert not wrong, (rotations[wrong[0] // 3], centers[wrong[0]], halves[wrong[0]])


@cache
def scene_of_any_rotation(seed, count):
    """Boxes, oriented boxes, the exact gaps between them, and which gaps are within the promised tolerance."""
    rng = generator("any rotation", seed)
    exponent = int(rng.choice([0, 0, 300, -300, 950, 1019, -1000, -1060]))
    shift = rng.choice([0, 0, 10**3, 10**9]) * rng.integers(-1, 2, 3) * (exponent <= 950)
    boxes = lattice_boxes(rng, 12, 3) + shift
    kind = rng.integers(3, size=count)
    quaternions = np.where(kind[:, None] == 0, rng.normal(size=(count, 4)), rng.integers(-2, 3, (count, 4)))
    quaternions = np.where(kind[:, None] == 2, quaternions + rng.normal(size=(count, 4)) * 1e-9, quaternions)
    quaternions[~quaternions.any(axis=1)] = [1, 0, 0, 0]
    centers = boxes[rng.integers(12, size=count), rng.integers(2, size=count)]
    halves = rng.integers(0, 4, (count, 3)).astype(float)
    least = Fraction(2) ** (-1068 - exponent)
    gaps, is_near = np.zeros((2, count, len(boxes)), bool)
    for k in range(count):
        center, half = centers[k].astype(int).tolist(), halves[k].astype(int).tolist()
        rotation = exact.rotation_of(quaternions[k])
        tolerance = (max(map(abs, center)) + sum(half)) * TOLERANCE + least
        for row, box in enumerate(boxes.astype(int).tolist()):
            gap = exact.separation(center, half, rotation, box)
            gaps[k, row], is_near[k, row] = gap > 0, gap <= tolerance * tolerance
    return (
        np.ldexp(boxes, exponent),
        np.ldexp(centers, exponent),
        np.ldexp(halves, exponent),
        quaternions,
        gaps,
        is_near,
    )


def check_obb(name, seed, count):
    """Compare oriented boxes of any rotation and scale with whole numbers; give how many boxes were compared."""
    boxes, centers, halves, quaternions, gaps, is_near = scene_of_any_rotation(seed, count)
    found = getattr(bp, name)(boxes).query_obb(centers, halves, quaternions)
    hit = np.zeros(gaps.shape, bool)
    hit[found.query_rows, found.rows] = True
    label = f"{name} seed={seed}, query and row"
    assert not (~hit & ~gaps).any(), f"{label} {np.argwhere(~hit & ~gaps).tolist()} missed"
    assert not (hit & ~is_near).any(), f"{label} {np.argwhere(hit & ~is_near).tolist()} found across a gap"
    return gaps.size


@pytest.mark.parametrize("name", CONVEX)
def test_query_obb_of_any_rotation_misses_nothing_and_finds_only_what_almost_touches(name):
    for seed in range(8):
        check_obb(name, seed, 6)
