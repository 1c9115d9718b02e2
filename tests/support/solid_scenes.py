"""Placed shapes in space for the tests of hulls and meshes: any kind, any place, any rotation."""

import numpy as np

import broadphase as bp
from shape_cases import EXACT, Numbers, shape_of

CUBE = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
CUBE_FACES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
     [1, 5, 7], [1, 7, 3]]
)  # fmt: skip


def quaternions(rng, count):
    return rng.normal(size=(count, 4))


def any_solids(rng, count):
    """`count` shapes of each type with corners, and compounds of them, in a list."""
    return [shape_of(name, Numbers(rng, 3)) for name in EXACT[3] for _ in range(count)]


def rough_sphere(rng, rounds=2):
    """A closed surface, not convex: an octahedron cut finer, its vertices moved in and out."""
    vertices = [(1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
    faces = [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (1, 0, 5), (2, 1, 5), (3, 2, 5), (0, 3, 5)]
    for _ in range(rounds):
        middles, cut = {}, []
        for face in faces:
            at = []
            for p, q in ((0, 1), (1, 2), (2, 0)):
                edge = tuple(sorted((face[p], face[q])))
                if edge not in middles:
                    middles[edge] = len(vertices)
                    vertices.append(tuple((np.array(vertices[edge[0]]) + vertices[edge[1]]) / 2))
                at.append(middles[edge])
            cut += [(face[0], at[0], at[2]), (at[0], face[1], at[1]), (at[2], at[1], face[2]), tuple(at)]
        faces = cut
    points = np.array(vertices, np.float64)
    points *= rng.uniform(0.6, 1.4, (len(points), 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    return points, np.array(faces)


def as_compound(vertices, faces):
    """The same surface as a compound of triangles, which the core knows: what a mesh is by definition."""
    return bp.Compound([bp.Triangle(corners) for corners in np.asarray(vertices)[np.asarray(faces)]])


def every_pair(first, second):
    return np.stack(np.meshgrid(np.arange(len(first)), np.arange(len(second)), indexing="ij"), axis=-1).reshape(-1, 2)
