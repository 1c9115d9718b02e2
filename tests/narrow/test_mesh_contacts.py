"""Meshes in the narrow phase: what their triangles are, one by one, as a compound of them says."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.narrow import row_pairs
from solid_scenes import CUBE, CUBE_FACES, any_solids, as_compound, every_pair, quaternions, rough_sphere


def scene(seed, count=12, spread=1.2, origin=0.0):
    """A mesh and the compound of its triangles, in the same places, and others around them."""
    rng = np.random.default_rng(seed)
    vertices, faces = rough_sphere(rng, rounds=1)
    places, turns = rng.normal(size=(3, 3)) * spread + origin, quaternions(rng, 3)
    mesh = bp.Shapes(bp.Mesh(vertices, faces, offset=(0.1, 0, 0)), places, turns)
    parts = [bp.Triangle(corners, offset=(0.1, 0, 0)) for corners in vertices[faces]]
    compound = bp.Shapes(bp.Compound(parts), places, turns)
    shapes = any_solids(rng, count)
    total = len(shapes)
    others = bp.Shapes(shapes, rng.normal(size=(total, 3)) * spread + origin, quaternions(rng, total))
    return mesh, compound, others


@pytest.mark.parametrize("origin", [0.0, 1000.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_mesh_is_the_compound_of_its_triangles(seed, origin):
    mesh, compound, others = scene(seed, origin=origin)
    pairs = every_pair(mesh, others)
    exact = 1e-12 * (1 + origin)
    wanted = bp.distance(compound, others, pairs=pairs)
    assert np.abs(bp.distance(mesh, others, pairs=pairs) - wanted).max() < exact
    assert np.abs(bp.distance(others, mesh, pairs=pairs[:, ::-1]) - wanted).max() < exact
    assert (wanted < -exact).sum() > 20 < (wanted > exact).sum()
    clear = np.abs(wanted) > exact
    for found in (
        bp.overlaps(mesh, others, pairs).tolist(),
        bp.overlaps(others, mesh, pairs[:, ::-1])[:, ::-1].tolist(),
        bp.overlaps(mesh, others).tolist(),
    ):
        hits = np.array([pair in found for pair in pairs.tolist()])
        assert (hits == (wanted <= 0))[clear].all()


@pytest.mark.parametrize("seed", range(3))
def test_contacts_of_a_mesh_are_those_of_its_deepest_triangle(seed):
    mesh, compound, others = scene(seed)
    found, wanted = bp.contacts(mesh, others), bp.contacts(compound, others)
    assert np.array_equal(found.pairs, wanted.pairs)
    assert len(found.pairs) > 15
    assert np.allclose(found.depths, wanted.depths, atol=1e-12)
    assert (found.depths >= 0).all()
    assert (found.counts >= 1).all()
    assert np.allclose(np.linalg.norm(found.normals, axis=1), 1)
    turned = bp.contacts(others, mesh, found.pairs[:, ::-1])
    assert np.allclose(turned.depths, found.depths, atol=1e-12)
    same = np.isclose((turned.normals * found.normals).sum(axis=1), -1, atol=1e-9)
    assert same.mean() > 0.95  # but where two triangles are equally deep
    for count, points in zip(found.counts, found.points, strict=True):
        assert np.isfinite(points[:count]).all()
        assert np.isnan(points[count:]).all()


@pytest.mark.parametrize("seed", range(3))
def test_rays_hit_a_mesh_where_they_hit_its_triangles(seed):
    mesh, compound, _ = scene(seed, spread=0.3)
    rng = np.random.default_rng(seed)
    origins, directions = rng.normal(size=(300, 3)) * 3, rng.normal(size=(300, 3))
    directions[:200] = -origins[:200] + rng.normal(size=(200, 3)) * 0.7
    directions[-5:] = 0
    rows = np.arange(300, dtype=np.int32) % 3
    times, normals = row_pairs.ray_hits(mesh, rows, origins, directions)
    wanted, wanted_normals = row_pairs.ray_hits(compound, rows, origins, directions)
    assert np.array_equal(np.isinf(times), np.isinf(wanted))
    hit = np.isfinite(times)
    assert 80 < hit.sum() < 300
    assert np.allclose(times[hit], wanted[hit], rtol=1e-12)
    assert np.allclose(normals[hit], wanted_normals[hit], atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_moving_things_hit_a_mesh_when_they_hit_its_triangles(seed):
    mesh, compound, others = scene(seed)
    pairs = every_pair(mesh, others).astype(np.int32)
    first, second = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    rng = np.random.default_rng(seed)
    motions = rng.normal(size=(len(pairs), 3)) * 3
    offsets = rng.normal(size=(len(pairs), 3))
    for moved in (None, offsets):
        times, normals = row_pairs.impacts(mesh, others, first, second, motions, moved)
        wanted, _ = row_pairs.impacts(compound, others, first, second, motions, moved)
        assert np.array_equal(np.isinf(times), np.isinf(wanted))
        hit = np.isfinite(wanted)
        assert 20 < hit.sum() < len(pairs)
        assert np.allclose(times[hit], wanted[hit], atol=1e-9)
        assert np.allclose(np.linalg.norm(normals[hit], axis=1), 1)
    back = row_pairs.impacts(others, mesh, second, first, -motions, None if moved is None else -moved)[0]
    assert np.array_equal(np.isinf(back), np.isinf(wanted))
    assert np.allclose(back[hit], wanted[hit], atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_two_meshes_are_compounds_to_each_other(seed):
    rng = np.random.default_rng(seed)
    vertices, faces = rough_sphere(rng, rounds=1)
    places, turns = rng.normal(size=(14, 3)) * 1.3, quaternions(rng, 14)
    meshes, compounds = (
        bp.Shapes(shape, places, turns) for shape in (bp.Mesh(vertices, faces), as_compound(vertices, faces))
    )
    found, wanted = bp.contacts(meshes), bp.contacts(compounds)
    assert np.array_equal(found.pairs, wanted.pairs)
    assert len(found.pairs) > 10
    assert np.allclose(found.depths, wanted.depths, atol=1e-12)
    assert np.array_equal(bp.overlaps(meshes, meshes), bp.overlaps(compounds, compounds))
    pairs = every_pair(meshes, meshes).astype(np.int32)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    motions = rng.normal(size=(len(pairs), 3)) * 2
    asked = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]), motions
    times, reference = (row_pairs.impacts(shapes, shapes, *asked)[0] for shapes in (meshes, compounds))
    assert np.array_equal(np.isinf(times), np.isinf(reference))
    hit = np.isfinite(reference)
    assert np.allclose(times[hit], reference[hit], atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_distance_of_two_meshes_is_that_of_their_nearest_triangles(seed):
    rng = np.random.default_rng(seed)
    vertices, faces = rough_sphere(rng, rounds=1)
    other, its_faces = rough_sphere(rng, rounds=2)
    places, turns = rng.normal(size=(2, 6, 3)) * 2, quaternions(rng, 6)
    first = bp.Shapes(bp.Mesh(vertices, faces), places[0], turns)
    second = bp.Shapes(bp.Mesh(other, its_faces), places[1], turns)
    first_parts = bp.Shapes(as_compound(vertices, faces), places[0], turns)
    second_parts = bp.Shapes(as_compound(other, its_faces), places[1], turns)
    pairs = every_pair(first, second)
    wanted = bp.distance(first_parts, second_parts, pairs=pairs)
    assert (wanted < 0).any()
    assert (wanted > 0.1).any()
    assert np.allclose(bp.distance(first, second, pairs=pairs), wanted, atol=1e-12)
    assert np.allclose(bp.distance(second, first, pairs=pairs[:, ::-1]), wanted, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_faces_that_overlap_are_the_triangles_that_do(seed):
    mesh, _, others = scene(seed)
    corners = mesh[0].vertices[mesh[0].faces]
    triangles = [
        bp.Shapes(bp.Triangle(corners, offset=(0.1, 0, 0)), mesh.positions[row], mesh.rotations[row])
        for row in range(3)
    ]
    rows = [[first, second] for first in range(3) for second in range(len(others))]
    found = bp.overlapping_faces(mesh, others, pairs=rows)
    wanted = [
        [place, face, -1]
        for place, (first, second) in enumerate(rows)
        for face in bp.overlaps(triangles[first], others, [[k, second] for k in range(len(corners))])[:, 0].tolist()
    ]
    assert len(wanted) > 10
    assert found.tolist() == wanted
    assert np.array_equal(
        np.unique(found[:, 0]), np.flatnonzero([len(bp.overlaps(mesh, others, [row])) for row in rows])
    )
    assert np.array_equal(bp.overlapping_faces(others, mesh, pairs=np.flip(rows, 1))[:, [0, 2, 1]], found)
    for first, second in ((0, 1), (1, 2)):
        both = bp.overlapping_faces(mesh, pairs=[[first, second]])
        asked = [[k, m] for k in range(len(corners)) for m in range(len(corners))]
        assert both[:, 1:].tolist() == bp.overlaps(triangles[first], triangles[second], asked).tolist()
        assert (both[:, 0] == 0).all()
        few = bp.overlapping_faces(mesh, pairs=[[first, second]] * 2, most=2)
        many = bp.overlapping_faces(mesh, pairs=[[first, second]], most=10**400)
        assert np.array_equal(many, both)
        assert np.bincount(few[:, 0]).tolist() == [min(2, len(both))] * 2 if len(both) else not len(few)


def test_faces_of_what_has_none_or_is_not_in_space():
    balls = bp.Shapes(bp.Sphere([1, 1, 1]), [[0, 0, 0], [1, 0, 0], [9, 0, 0]])
    assert bp.overlapping_faces(balls, pairs=[[0, 2], [1, 0]]).tolist() == [[1, -1, -1]]
    assert bp.overlapping_faces(balls, pairs=[]).shape == (0, 3)
    with pytest.raises(ValueError, match="shapes must be in space"):
        bp.overlapping_faces(bp.Shapes(bp.Circle(1), [[0, 0]]), pairs=[[0, 0]])
    with pytest.raises(ValueError, match="most must be at least 1"):
        bp.overlapping_faces(balls, pairs=[[0, 1]], most=0)


def test_a_mesh_is_its_surface_alone():
    mesh = bp.Shapes(bp.Mesh(CUBE, CUBE_FACES), [0, 0, 0])
    inside = bp.Shapes([bp.Sphere(0.5), bp.Sphere(1), bp.Point(), bp.Mesh(CUBE / 2, CUBE_FACES)], [[0, 0, 0]] * 4)
    assert bp.overlaps(mesh, inside).tolist() == [[0, 1]]
    # Where surfaces meet, here from inside, the depth of a convex mesh is that of the body.
    assert bp.distance(mesh, inside, pairs=[[0, 0], [0, 1], [0, 2]]).tolist() == [0.5, -2, 1]
    assert bp.raycast(mesh, [[0, 0, 0]], [[0, 2, 0]]).distances.tolist() == [1]


def test_meshes_that_touch_overlap():
    mesh = bp.Mesh(CUBE, CUBE_FACES)
    steps = np.array([[2.0, 0, 0], [2, 2, 0], [2, 2, 2], [2, 0.5, -1], [np.nextafter(2, 3), 0, 0]])
    shapes, others = bp.Shapes(mesh, [[0, 0, 0]]), bp.Shapes(mesh, steps)
    assert bp.overlaps(shapes, others)[:, 1].tolist() == [0, 1, 2, 3]
    found = bp.contacts(shapes, others)
    assert found.depths.tolist() == [0, 0, 0, 0]
    boxes = bp.Shapes(bp.Box(2, 2, 2), steps)
    assert bp.overlaps(shapes, boxes)[:, 1].tolist() == [0, 1, 2, 3]


def test_a_world_tells_of_meshes():
    world = bp.World(3)
    ground = np.array([[-9.0, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0]])
    world.add_many(bp.Mesh(ground, [[0, 1, 2], [0, 2, 3]]), [[0, 0, 0]], body_type="static")
    ball = world.add(bp.Sphere(0.5), position=(1, 2, 1), velocity=(0, 0, -1))
    assert len(world.step(0.25).enter) == 0
    frame = world.step(0.25)
    assert frame.enter.tolist() == [[0, 1]]
    found = frame.contacts
    assert found.depths.tolist() == [0]
    assert found.normals.tolist() == [[0, 0, 1]]
    assert ball.position.tolist() == [1, 2, 0.5]


def test_meshes_of_one_triangle_and_far_ones_are_as_their_triangles():
    rng = np.random.default_rng(0)
    corners = rng.normal(size=(40, 3, 3))
    meshes = [bp.Mesh(one, [[0, 1, 2]]) for one in corners] + [bp.Mesh(corners[0][[0, 0, 1]], [[0, 1, 2]])]
    triangles = [bp.Triangle(one) for one in corners] + [bp.Triangle(corners[0][[0, 0, 1]])]
    places = rng.normal(size=(41, 3)) * 10.0 ** rng.choice([-9, 0, 0, 9], (41, 1))
    shapes, reference = bp.Shapes(meshes, places), bp.Shapes(triangles, places)
    pairs = every_pair(shapes, shapes)
    wanted = bp.distance(reference, pairs=pairs)
    assert (wanted < 0).sum() > 20 < (wanted > 1e8).sum()
    assert np.allclose(bp.distance(shapes, pairs=pairs), wanted, rtol=1e-15, atol=1e-12)


def test_a_large_mesh_against_small_ones_inside_and_outside_is_as_near_as_its_triangles():
    rng = np.random.default_rng(1)
    vertices, faces = rough_sphere(rng, rounds=4)
    large = bp.Shapes(bp.Mesh(vertices * 20, faces), [[0, 0, 0]])
    small = bp.Shapes(bp.Mesh(CUBE * 0.1, CUBE_FACES), rng.normal(size=(12, 3)) * 12, quaternions(rng, 12))
    parts = bp.Shapes(as_compound(vertices * 20, faces), [[0, 0, 0]])
    pieces = bp.Shapes(as_compound(CUBE * 0.1, CUBE_FACES), small.positions, small.rotations)
    pairs = every_pair(large, small)
    wanted = bp.distance(parts, pieces, pairs=pairs)
    assert (np.linalg.norm(small.positions, axis=1) < 12).any()
    assert np.allclose(bp.distance(large, small, pairs=pairs), wanted, atol=1e-12)


@pytest.mark.parametrize("kind", ["capsules", "boxes", "hulls", "compounds"])
@pytest.mark.parametrize("origin", [0.0, 1e6])
def test_long_shapes_across_small_meshes_are_as_near_as_their_triangles(kind, origin):
    rng = np.random.default_rng(2)
    vertices, faces = rough_sphere(rng, rounds=2)
    places = rng.normal(size=(30, 3)) * 0.1 + origin
    turns = quaternions(rng, 30)
    meshes = bp.Shapes(bp.Mesh(vertices * 0.02, faces), places, turns)
    parts = bp.Shapes(as_compound(vertices * 0.02, faces), places, turns)
    limb = bp.Capsule((0, 0, -1), (0, 0, 1), 0.01)
    long = {"capsules": limb, "boxes": bp.Box(2, 0.02, 0.1), "hulls": bp.ConvexHull(CUBE * [0.05, 2, 0.02]),
            "compounds": bp.Compound([limb, bp.Box(0.1, 0.1, 2)])}[kind]  # fmt: skip
    others = bp.Shapes(long, rng.normal(size=(30, 3)) * 0.03 + origin, quaternions(rng, 30))
    pairs = every_pair(meshes, others)
    wanted, exact = bp.distance(parts, others, pairs=pairs), 1e-12 * (1 + origin)
    assert (wanted < 0).sum() > 10 < (wanted > 0).sum()
    assert np.abs(bp.distance(meshes, others, pairs=pairs) - wanted).max() < exact
    assert np.abs(bp.distance(others, meshes, pairs=pairs[:, ::-1]) - wanted).max() < exact
    hits = {tuple(pair) for pair in bp.overlaps(meshes, others, pairs).tolist()}
    clear = np.abs(wanted) > exact
    assert all(
        (tuple(pair) in hits) == (gap < 0) for pair, gap in zip(pairs[clear].tolist(), wanted[clear], strict=True)
    )
