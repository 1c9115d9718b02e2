"""Depths of meshes that are the surface of a convex body: the shortest motion that separates the two bodies."""

import numpy as np
import pytest

import broadphase as bp
from shape_cases import rotations
from solid_scenes import CUBE, CUBE_FACES, rough_sphere


def placed(vertices, position, quaternion):
    w, *v = quaternion / np.linalg.norm(quaternion)
    return vertices + 2 * np.cross(v, np.cross(v, vertices) + w * vertices) + position


def depth_along_axes(bodies):
    """The least overlap of two convex bodies, each vertices and faces, along all axes that may separate them."""
    edges, axes = [], []
    for vertices, faces in bodies:
        corners = vertices[faces]
        sides = np.concatenate([corners[:, k] - corners[:, k - 1] for k in range(3)])
        edges.append(sides)
        axes.append(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    axes.append(np.cross(edges[0][:, None], edges[1][None]).reshape(-1, 3))
    axes = np.concatenate(axes)
    lengths = np.linalg.norm(axes, axis=1)
    axes = axes[lengths > 1e-9] / lengths[lengths > 1e-9, None]
    (low, high), (other_low, other_high) = (
        ((vertices @ axes.T).min(axis=0), (vertices @ axes.T).max(axis=0)) for vertices, _ in bodies
    )
    return min((high - other_low).min(), (other_high - low).min())


def convex_body(rng):
    """A box, an octahedron or a prism of random size, as triangles that go round counterclockwise."""
    kind = rng.integers(0, 3)
    if kind == 0:
        vertices, faces = CUBE, np.array(CUBE_FACES)
    elif kind == 1:
        vertices = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
        faces = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
    else:
        count = int(rng.integers(3, 9))
        angles = 2 * np.pi * np.arange(count) / count
        ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        vertices = np.concatenate([np.insert(ring, 2, z, axis=1) for z in (-1, 1)])
        k, after = np.arange(count), (np.arange(count) + 1) % count
        walls = [np.stack([k, after, after + count], axis=1), np.stack([k, after + count, k + count], axis=1)]
        ends = [[0, j + 1, j] for j in range(1, count - 1)] + [
            [count, count + j, count + j + 1] for j in range(1, count - 1)
        ]
        faces = np.concatenate([*walls, ends])
    vertices = vertices * rng.uniform(0.3, 1.5, 3)
    if rng.random() < 0.3:  # as from a file without shared vertices
        vertices, faces = vertices[faces].reshape(-1, 3), np.arange(3 * len(faces)).reshape(-1, 3)
    return vertices, faces


@pytest.mark.parametrize("seed", range(4))
def test_depths_of_convex_meshes_are_those_of_the_bodies(seed):
    rng = np.random.default_rng(seed)
    deep = 0
    for _ in range(60):
        bodies = [convex_body(rng) for _ in range(2)]
        shapes = bp.Shapes([bp.Mesh(*body) for body in bodies], rng.normal(size=(2, 3)) * 0.7, rotations(rng, 3, 2))
        here = [
            (placed(vertices, shapes.positions[k], shapes.rotations[k]), faces)
            for k, (vertices, faces) in enumerate(bodies)
        ]
        found = bp.distance(shapes, pairs=[[0, 1], [1, 0]])
        assert found[0] == found[1]
        if not len(bp.overlaps(shapes)):
            assert found[0] > 0
            continue
        wanted = depth_along_axes(here)
        assert -found[0] == pytest.approx(wanted, abs=1e-9)
        contact = bp.contacts(shapes)
        assert contact.depths[0] == pytest.approx(wanted, abs=1e-9)
        moved = bp.Shapes([bp.Mesh(*bodies[0]), bp.Mesh(*bodies[1])], shapes.positions, shapes.rotations)
        moved.move(shapes.positions[[1]] + contact.normals * (wanted + 1e-6), rows=[1])
        assert not len(bp.overlaps(moved))
        clash = bp.clashes(shapes, clearance=0, tolerance=0)
        assert clash.depths[0] == -found[0]
        assert bp.distance(shapes, pairs=[[0, 1]], solid=True)[0] == found[0]
        single = bp.distance(
            *(bp.Shapes(bp.Mesh(*bodies[k]), shapes.positions[k], shapes.rotations[k]) for k in (0, 1))
        )
        assert single == found[0]
        deep += wanted > 0.1
    assert deep > 15


def test_boxes_as_meshes_are_as_deep_as_boxes():
    mesh, box = bp.Mesh(CUBE * 5, CUBE_FACES), bp.Box(10, 10, 10)
    places = [[0, 0, 0], [2.0, 1, 0.5], [9, 9, 9], [0, 0, 10]]
    for at in places[1:]:
        for first in (mesh, box):
            for second in (mesh, box):
                pair = bp.Shapes([first, second], [[0, 0, 0], at])
                assert bp.distance(pair, pairs=[[0, 1]]).tolist() == [max(np.abs(at)) - 10]
    ball = bp.Shapes([mesh, bp.Sphere(1)], [[0, 0, 0], [5.5, 0, 0]])
    assert bp.distance(ball, pairs=[[0, 1]]).tolist() == [-0.5]
    inside = bp.Shapes([mesh, bp.Sphere(1)], [[0, 0, 0], [3, 0, 0]])
    assert bp.distance(inside, pairs=[[0, 1]]).tolist() == [1]  # the surfaces do not meet
    assert bp.distance(inside, pairs=[[0, 1]], solid=True).tolist() == [-1]


def test_other_meshes_are_as_deep_as_their_triangles():
    rng = np.random.default_rng(3)
    rough = rough_sphere(rng, rounds=1)
    notch = CUBE.copy()
    notch[0] *= 0.9  # still convex at some edges, not at all
    twice = np.concatenate([CUBE, CUBE + 5]), np.concatenate([CUBE_FACES, np.array(CUBE_FACES) + 8])
    open_box = CUBE, CUBE_FACES[:-1]
    turned = np.array(CUBE_FACES)
    turned[0] = turned[0, ::-1]
    for vertices, faces in (rough, twice, open_box, (CUBE, turned)):
        triangles = bp.Compound([bp.Triangle(corners) for corners in vertices[faces]])
        others = bp.Shapes(bp.Sphere(0.4), rng.normal(size=(40, 3)))
        found = bp.distance(bp.Mesh(vertices, faces), others)
        assert np.allclose(found, bp.distance(triangles, others), atol=1e-12)
        assert (found < 0).any()


def test_rooms_whose_faces_go_round_the_other_way_are_surfaces():
    room = bp.Mesh(CUBE, np.array(CUBE_FACES)[:, ::-1])
    ball = bp.Shapes([room, bp.Sphere(0.5)], [[0, 0, 0], [0.6, 0, 0]])
    found = bp.contacts(ball)
    assert found.depths == pytest.approx([0.1])
    assert found.normals == pytest.approx(np.array([[-1.0, 0, 0]]))
    assert bp.contacts(bp.Shapes([bp.Mesh(CUBE, CUBE_FACES), bp.Sphere(0.5)], ball.positions)).depths[0] > 0.8


def test_round_convex_meshes_are_as_deep_as_their_hulls():
    vertices, faces = rough_sphere(np.random.default_rng(0), rounds=3)
    vertices = vertices / np.linalg.norm(vertices, axis=1, keepdims=True)
    for at in ([0.3, 0.2, 0.1], [1.5, 0, 0.2], [1.9, 0.1, 0]):
        meshes = bp.Shapes(bp.Mesh(vertices, faces), [[0, 0, 0], at])
        hulls = bp.Shapes(bp.ConvexHull(vertices), [[0, 0, 0], at])
        assert bp.distance(meshes, pairs=[[0, 1]]) == pytest.approx(bp.distance(hulls, pairs=[[0, 1]]), abs=1e-12)
