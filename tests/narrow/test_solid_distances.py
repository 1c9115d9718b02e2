"""Signed distances from closed meshes, which contain what is inside them."""

import numpy as np
import pytest

import broadphase as bp

CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
FACES = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6],
                  [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]])  # fmt: skip


def cube(scale=1.0, **where):
    return bp.Mesh(CUBE * scale, FACES, **where)


def to_cube(points):
    """The signed distance from the surface of the cube of half size 1."""
    beyond = np.abs(points) - 1
    return np.linalg.norm(np.maximum(beyond, 0), axis=1) + np.minimum(beyond.max(axis=1), 0)


def test_points_have_the_distance_of_the_surface_below_0_inside():
    points = np.random.default_rng(0).uniform(-2, 2, (2000, 3))
    places = bp.Shapes(bp.Point(), points)
    found = bp.distance(places, bp.Shapes(cube(), np.zeros((1, 3))), solid=True)
    assert np.allclose(found, to_cube(points), rtol=0, atol=1e-12)
    surface = bp.distance(places, bp.Shapes(cube(), np.zeros((1, 3))))
    assert np.allclose(surface, np.abs(to_cube(points)), rtol=0, atol=1e-12)
    swapped = bp.distance(bp.Shapes(cube(), np.zeros((1, 3))), places, solid=True)
    assert np.array_equal(swapped, found)
    two = bp.distance(places, bp.Shapes(cube(), np.zeros((1, 3))), solid=True, workers=2)
    assert np.array_equal(two, found)


def test_the_limit_leaves_out_what_is_far_away_only():
    points = np.random.default_rng(1).uniform(-3, 3, (500, 3))
    limit = 0.3
    found = bp.distance(bp.Shapes(bp.Point(), points), cube(), solid=True, max_distance=limit)
    true = to_cube(points)
    assert np.array_equal(np.isinf(found), true > limit)
    assert np.allclose(found[true <= limit], true[true <= limit], rtol=0, atol=1e-12)
    assert (found < -limit).any()


@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_a_cavity_is_outside_whatever_way_round_its_faces_are_and_in_whatever_order_points_come(radius):
    rng = np.random.default_rng(2)
    faces = np.concatenate([FACES, FACES + 8])
    flipped = rng.random(24) < 0.5
    faces[flipped] = faces[flipped][:, ::-1]
    mesh = bp.Shapes(bp.Mesh(np.concatenate([2 * CUBE, CUBE]), np.concatenate([faces, faces[:5]])), np.zeros((1, 3)))
    # On a lattice, rays and ways between points go through corners and along edges and faces.
    points = np.concatenate([rng.uniform(-3, 3, (1500, 3)), rng.integers(-5, 6, (500, 3)) / 2])
    true = np.maximum(2 * to_cube(points / 2), -to_cube(points))
    clear = np.abs(true) > radius + 1e-9
    places = bp.Shapes(bp.Sphere(radius) if radius else bp.Point(), points)
    found = bp.distance(places, mesh, solid=True)
    assert np.allclose(found[clear], (np.sign(true) * np.abs(true) - radius * np.sign(true))[clear], rtol=0, atol=1e-12)
    assert (found[~clear] <= 1e-9).all()
    order = rng.permutation(len(points))
    shuffled = bp.Shapes(bp.Sphere(radius) if radius else bp.Point(), points[order])
    assert np.array_equal(bp.distance(shuffled, mesh, solid=True, workers=3), found[order])
    rows = np.column_stack([np.arange(2000), np.zeros(2000, int)])
    alone = [bp.distance(places, mesh, pairs=rows[k : k + 1], solid=True)[0] for k in range(0, 2000, 7)]
    assert alone == found[::7].tolist()
    near = bp.distance(places, mesh, solid=True, max_distance=0.25)
    assert np.array_equal(near, np.where(found > 0.25, np.inf, found))


def test_points_beside_several_meshes_and_other_shapes_in_one_call():
    rng = np.random.default_rng(3)
    shapes = bp.Shapes(
        [cube(), bp.Point(), bp.Box(1, 1, 1), bp.Sphere(0.1), cube(2.0)] * 20, rng.uniform(-3, 3, (100, 3))
    )
    pairs = np.array([[i, j] for i in range(100) for j in range(100) if i != j])
    found = bp.distance(shapes, pairs=pairs, solid=True)
    back = bp.distance(shapes, pairs=pairs[:, ::-1], solid=True, workers=2)
    assert np.array_equal(found, back)
    kinds = pairs % 5
    for mesh, size in ((0, 1.0), (4, 2.0)):
        of = (kinds[:, 0] == 1) & (kinds[:, 1] == mesh)
        between = shapes.positions[pairs[of, 0]] - shapes.positions[pairs[of, 1]]
        assert np.allclose(found[of], size * to_cube(between / size), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("inner", "gap"),
    [
        (bp.Sphere(0.25), -0.75), (bp.Box(0.5, 0.5, 0.5, offset=(0.5, 0, 0)), -0.25), (cube(0.5), -0.5),
        (bp.Compound([bp.Point(), bp.Sphere(0.1, offset=(0, 0, 0.5))]), -0.4),
        (bp.ConvexHull(CUBE * 0.125), -0.875), (bp.Sphere(0.5, offset=(3, 0, 0)), 1.5),
        (bp.Point(offset=(1, 0, 0)), 0.0),
    ],
)  # fmt: skip
def test_any_shape_inside_has_minus_its_distance_from_the_surface(inner, gap):
    assert bp.distance(cube(), inner, solid=True) == pytest.approx(gap, abs=1e-12)
    assert bp.distance(inner, cube(), solid=True) == pytest.approx(gap, abs=1e-12)
    assert bp.distance(inner, cube()) == pytest.approx(abs(gap), abs=1e-12)


def test_shapes_that_are_solid_anyway_keep_their_distances():
    shapes = bp.Shapes([bp.Sphere(1), bp.Box(1, 1, 1), bp.Sphere(2)], [[0, 0, 0], [3, 0, 0], [0.5, 0, 0]])
    pairs = [[0, 1], [0, 2], [1, 2]]
    assert np.array_equal(bp.distance(shapes, pairs=pairs, solid=True), bp.distance(shapes, pairs=pairs))
    discs = bp.Shapes(bp.Circle([1, 2]), [[0, 0], [1, 0]])
    assert bp.distance(discs, pairs=[[0, 1]], solid=True) == bp.distance(discs, pairs=[[0, 1]])
    assert bp.distance(shapes, pairs=np.empty((0, 2), int), solid=True).shape == (0,)


def test_a_mesh_that_is_open_is_named():
    open_mesh = bp.Mesh(CUBE, FACES[1:])
    shapes = bp.Shapes([cube(), open_mesh], np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"solid: row 1 of shapes is a mesh that is not closed"):
        bp.distance(shapes, pairs=[[0, 0], [1, 0]], solid=True)
    with pytest.raises(ValueError, match=r"solid: row 0 of other is a mesh that is not closed"):
        bp.distance(bp.Point(), open_mesh, solid=True)
    assert bp.distance(shapes, bp.Shapes(bp.Point(), [[0, 0, 0]]), pairs=[[0, 0]], solid=True).tolist() == [-1.0]
    with pytest.raises(TypeError, match="solid"):
        bp.distance(bp.Point(), cube(), solid="yes")
