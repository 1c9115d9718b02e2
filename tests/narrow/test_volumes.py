"""Interference volumes of solids, compared with those of half-spaces that SciPy intersects."""

import numpy as np
import pytest

import broadphase as bp

FACES = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
                  [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]])  # fmt: skip
CORNERS = np.array([[x, y, z] for x in (-1.0, 1) for y in (-1.0, 1) for z in (-1.0, 1)])


def cube(size=(1, 1, 1), faces=FACES, **options):
    return bp.Mesh(CORNERS * size, faces, **options)


def turned(quaternion, vectors):
    w, axis = quaternion[0], quaternion[1:]
    twice = 2 * np.cross(axis, vectors)
    return vectors + w * twice + np.cross(axis, twice)


def expected(sizes, places, turns):
    """The volume that two boxes have in common, by half-spaces: seen from the middle of a linear program."""
    spatial = pytest.importorskip("scipy.spatial")
    optimize = pytest.importorskip("scipy.optimize")
    planes = []
    for size, place, turn in zip(sizes, places, turns, strict=True):
        for axis in range(3):
            for sign in (-1.0, 1.0):
                normal = turned(turn, sign * np.eye(3)[axis])
                planes.append([*normal, -normal @ place - size[axis]])
    planes = np.array(planes)
    inwards = np.c_[planes[:, :3], np.ones(len(planes))]
    limits = [(None, None)] * 3 + [(0, None)]
    answer = optimize.linprog([0, 0, 0, -1], inwards, -planes[:, 3], bounds=limits)
    if answer.status != 0 or answer.x[3] < 1e-9:
        return 0.0
    return spatial.ConvexHull(spatial.HalfspaceIntersection(planes, answer.x[:3]).intersections).volume


@pytest.mark.parametrize("make", ["mesh", "box", "hull", "mixed"])
def test_volumes_are_those_of_half_spaces(make):
    pytest.importorskip("manifold3d")
    rng = np.random.default_rng(3)
    sizes = rng.random((12, 3)) + 0.2
    places = rng.random((12, 3)) * 2.5 + [1000, 0, 0]
    turns = rng.normal(size=(12, 4))
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    kinds = {"mesh": cube, "box": lambda size: bp.Box(*(2 * size)), "hull": lambda size: bp.ConvexHull(CORNERS * size)}
    names = [list(kinds)[row % 3] if make == "mixed" else make for row in range(12)]
    shapes = bp.Shapes([kinds[name](size) for name, size in zip(names, sizes, strict=True)], places, turns)
    found = bp.clashes(shapes, clearance=0.5, volume=True)
    wanted = [expected(sizes[pair], places[pair], turns[pair]) for pair in found.pairs]
    assert np.count_nonzero(wanted) > 5
    assert np.allclose(found.volumes, wanted, atol=1e-9)
    plain = bp.clashes(shapes, clearance=0.5)
    assert plain.volumes is None
    assert plain.kinds.tolist() == found.kinds.tolist()


def test_volumes_of_offsets_copies_and_holes():
    pytest.importorskip("manifold3d")
    apart = np.eye(4)[0]
    half = np.sqrt(0.5)
    bar = cube((3, 1, 1), offset=(2, 0, 0), rotation=[half, 0, 0, half])  # along the y axis, around x = 2
    shapes = bp.Shapes([bar, cube()], [[0, 0, 0], [2, 3.5, 0]], [apart, apart])
    assert np.allclose(bp.clashes(shapes, volume=True).volumes, 0.5 * 2 * 2)
    hollow = bp.Mesh(np.concatenate([CORNERS * 3, CORNERS * 2]), np.concatenate([FACES, FACES[:, ::-1] + 8]))
    found = bp.clashes(bp.Shapes([hollow, cube()], [[0, 0, 0], [2, 0, 0]]), volume=True)
    assert np.allclose(found.volumes, 2 * 2 * 1)
    inner = bp.clashes(bp.Shapes([cube((3, 3, 3)), cube(), cube()], np.zeros((3, 3))), volume=True)
    assert set(inner.kinds.tolist()) == {"contains", "duplicate"}
    assert np.allclose(inner.volumes, 8.0)


def test_volumes_of_soups_and_of_meshes_turned_inside_out():
    pytest.importorskip("manifold3d")
    soup = bp.Mesh(CORNERS[FACES].reshape(-1, 3), np.arange(36).reshape(-1, 3))
    inside_out = cube(faces=FACES[:, ::-1])
    for one in (soup, inside_out):
        found = bp.clashes(bp.Shapes([one, cube()], [[0, 0, 0], [1, 0, 0]]), volume=True)
        assert np.allclose(found.volumes, 4.0)


def test_what_has_no_known_volume_is_nan():
    pytest.importorskip("manifold3d")
    mixed = cube(faces=np.concatenate([FACES[:1, ::-1], FACES[1:]]))
    assert mixed.is_watertight
    twice = np.concatenate([CORNERS * 3, CORNERS * 2])  # the inner shell is a hole, and faces outwards
    nested = bp.Mesh(twice, np.concatenate([FACES, FACES + 8]))
    apart = bp.Mesh(np.concatenate([CORNERS, CORNERS + 9]), np.concatenate([FACES, FACES[:, ::-1] + 8]))
    for one in (mixed, cube(faces=FACES[1:]), bp.Sphere(1), nested, apart):
        found = bp.clashes(bp.Shapes([one, cube()], [[0, 0, 0], [1, 0.1, 0]]), volume=True)
        assert np.isnan(found.volumes).tolist() == [True]
    assert np.isnan(bp.clashes([cube(), cube()], volume=True, solid=False).volumes).all()
    none = bp.clashes(bp.Shapes([cube()] * 2, [[0, 0, 0], [9, 0, 0]]), volume=True)
    assert none.volumes.shape == (0,)


def test_volumes_of_several_shells():
    pytest.importorskip("manifold3d")
    corners = np.concatenate([CORNERS * 3, CORNERS * 2, CORNERS + np.array([9, 0, 0])])
    shells = [FACES, FACES[:, ::-1] + 8, FACES + 16]  # a hollow one, and another one beside it
    for orientation in (1, -1):
        nested = bp.Mesh(corners, np.concatenate(shells)[:, ::orientation])
        found = bp.clashes(bp.Shapes([nested, cube((20, 20, 0.5))], np.zeros((2, 3))), volume=True)
        assert np.allclose(found.volumes, (6**2 - 4**2 + 2**2) * 1.0)


def test_library_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "manifold3d", None)
    with pytest.raises(bp.errors.MissingExtraError, match=r'needs manifold3d: pip install "broadphase\[volume\]"'):
        bp.clashes([cube(), cube()], volume=True)
    assert len(bp.clashes([cube(), cube()]).pairs) == 1


def test_the_volume_in_a_height_field_is_what_is_below_its_surface():
    pytest.importorskip("manifold3d")
    x, y = np.meshgrid(np.arange(7.0), np.arange(5.0))
    slope = bp.HeightField(0.25 * x + 0.5 * y, bottom=-2.0)  # through (0, 0, 1.75)
    shapes = bp.Shapes([slope, bp.Box(1, 1, 1), bp.Box(1, 1, 20)], [[0, 0, 0], [0, 0, 1.75], [1, 1, 0]])
    found = bp.clashes(shapes, clearance=0.0, volume=True)
    volumes = dict(zip(map(tuple, found.pairs.tolist()), found.volumes.tolist(), strict=True))
    assert volumes[0, 1] == pytest.approx(0.5, abs=1e-9)
    assert volumes[0, 2] == pytest.approx(2 + 1.75 + 0.75, abs=1e-9)
