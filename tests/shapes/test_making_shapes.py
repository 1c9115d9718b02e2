"""Shapes are made alike from every form of their numbers, one by one and many at once, and refused alike."""

import pickle

import numpy as np
import pytest

import broadphase as bp

CORNERS = np.array([[x, y, z] for x in (-1.0, 2.0) for y in (0.0, 1.0) for z in (0.0, 3.0)])
FACES = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]])


def forms_of(array, dtypes):
    yield array.tolist()
    for dtype in dtypes:
        for form in (
            np.ascontiguousarray,
            np.asfortranarray,
            lambda x: np.repeat(x, 2, axis=0)[::2],
            lambda x: x[::-1][::-1],
        ):
            made = form(array.astype(dtype))
            made.flags.writeable = False
            yield made


def test_meshes_of_every_form_of_arrays_are_equal_and_own_their_arrays():
    expected = bp.Mesh(CORNERS, FACES)
    assert expected.bounds.tolist() == [[-1, 0, 0], [2, 1, 3]]
    for vertices in forms_of(CORNERS, ["f8", "f4", ">f8", "i8", "i2"]):
        assert bp.Mesh(vertices, FACES) == expected
    for faces in forms_of(FACES, ["i4", "i8", "u1", "u8", ">i4", "q"]):
        mesh = bp.Mesh(CORNERS, faces)
        assert mesh == expected
        assert mesh.faces.dtype == np.int32
        assert not mesh.faces.flags.writeable
        assert not np.may_share_memory(mesh.faces, faces)
    given = CORNERS.copy()
    mesh = bp.Mesh(given, FACES)
    given[:] = 9
    assert mesh == expected == pickle.loads(pickle.dumps(mesh))
    moved = mesh.placed([1, 2, 3], [0, 0, 0, 1])
    assert (
        moved == bp.Mesh(CORNERS, FACES, offset=[1, 2, 3], rotation=[0, 0, 0, 1]) == pickle.loads(pickle.dumps(moved))
    )


@pytest.mark.parametrize("row", [0, 3, 5])
def test_meshes_name_the_row_of_what_is_wrong(row):
    for number, said in ((np.nan, "not finite"), (-np.inf, "not finite"), (2e40, "beyond")):
        vertices = CORNERS.copy()
        vertices[row, 1] = number
        for kind in (bp.ConvexHull, lambda given: bp.Mesh(given, FACES)):
            for given in (vertices, vertices[::-1][::-1], vertices.tolist()):
                with pytest.raises(ValueError, match=rf"row {row} has .*{said}"):
                    kind(given)
    for number in (-1, 8, 2**40):
        faces = FACES.copy()
        faces[row, 2] = number
        for given in (faces, faces.tolist(), faces.astype(">i8")):
            with pytest.raises(ValueError, match=f"faces: row {row} uses vertex {number}, but there are 8"):
                bp.Mesh(CORNERS, given)
    with pytest.raises(ValueError, match=f"faces: row {row} uses vertex {2**64 - 1},"):
        bp.Mesh(CORNERS, np.where(np.arange(6)[:, np.newaxis] == row, np.uint64(2**64 - 1), FACES.astype(np.uint64)))
    for wrong in (FACES[0], FACES[:0], [], FACES[:, :2]):
        with pytest.raises(ValueError, match="faces must have shape"):
            bp.Mesh(CORNERS, wrong)
    for wrong in (FACES.astype(float), FACES > 0):
        with pytest.raises(TypeError, match="faces must be integers"):
            bp.Mesh(CORNERS, wrong)


def test_hulls_are_refused_where_the_singular_values_of_their_points_say():
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(2000):
        count, size = int(rng.integers(1, 9)), 2.0 ** rng.integers(-130, 130)
        points = rng.normal(size=(count, 3)) * 10.0 ** -rng.integers(0, 16, 3)
        points = (points @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + rng.integers(0, 3, 3)) * size
        scaled = np.ldexp(points, -int(np.frexp(np.abs(points).max())[1]))
        sizes = np.linalg.svd(scaled - scaled.mean(axis=0), compute_uv=False)
        if is_flat := len(sizes) < 3 or sizes[2] <= 1e-12 * max(sizes[0], 1e-3):
            with pytest.raises(ValueError, match="lie in one plane"):
                bp.ConvexHull(points)
        else:
            assert len(bp.ConvexHull(points).points) == count
        refused += is_flat
    assert 200 < refused < 1800


@pytest.mark.parametrize("dimension", [2, 3])
def test_many_offsets_and_rotations_are_those_of_each(dimension):
    rng = np.random.default_rng(dimension)
    offsets = rng.normal(size=(50, dimension)) * 2.0 ** rng.integers(-9, 9, (50, 1))
    turns = rng.normal(size=50) * 9 if dimension == 2 else rng.normal(size=(50, 4))
    turns[:5] = np.pi / 2 * np.arange(5) if dimension == 2 else np.eye(4)[np.arange(5) % 4] * 2.0**600
    ends = rng.normal(size=(2, 50, dimension))
    boxes = rng.uniform(0, 2, (50, dimension))
    for kind, numbers in (
        (bp.Segment, ends), (bp.Rectangle if dimension == 2 else bp.Box, boxes.T), (bp.HalfSpace, ends[:1])
    ):  # fmt: skip
        many = kind(*numbers, offset=offsets, rotation=turns)
        for row in range(50):
            one = kind(*(each[row] for each in numbers), offset=offsets[row], rotation=turns[row])
            assert one == many[row] == bp.Compound([one]).parts[0]
            assert one.records(dimension).tobytes() == many.records(dimension)[row].tobytes()
        shared = kind(*(each[:1] for each in numbers), offset=offsets, rotation=turns[0])
        assert len(shared) == 50
        assert shared[7] == kind(*(each[0] for each in numbers), offset=offsets[7], rotation=turns[0])
    corners = bp.Segment([0] * dimension, np.eye(dimension)[0], offset=offsets[0], rotation=turns[1]).records(dimension)
    exact = offsets[0] + (np.eye(dimension)[1] if dimension == 2 else np.eye(3)[0])
    assert corners[0, dimension:].tolist() == exact.tolist()  # a quarter turn in the plane, a half turn in space
