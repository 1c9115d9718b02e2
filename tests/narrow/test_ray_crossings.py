"""Every crossing of rays with surfaces: meshes face by face, convex shapes where rays enter and leave."""

from fractions import Fraction

import numpy as np
import pytest

import broadphase as bp
from shape_cases import EVERY_KIND, KINDS, rotations
from solid_scenes import CUBE, CUBE_FACES, rough_sphere


def crossings_of_triangles(corners, origin, direction):
    """Faces and distances where a ray crosses triangles, by the test of Möller and Trumbore."""
    p, u, v = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(direction, v)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 1 / (u * across).sum(axis=1)
        from_corner = origin - p
        a = (from_corner * across).sum(axis=1) * scale
        turned = np.cross(from_corner, u)
        b, t = (turned @ direction) * scale, (turned * v).sum(axis=1) * scale
    faces = np.flatnonzero((a >= 0) & (b >= 0) & (a + b <= 1) & (t >= 0))
    order = faces[np.argsort(t[faces], kind="stable")]
    return order, t[order]


def exact_crossings(corners, origin, direction):
    """The same in fractions, for a ray beside the given one by next to nothing: along one axis, and less along another.

    The axes are the two that follow the one along which the ray is fastest.
    """
    fastest = int(np.argmax(np.abs(direction)))
    way, begin = [Fraction(x) for x in direction], [Fraction(x) for x in origin]
    slopes = [w / way[fastest] for w in way]
    tiny = Fraction(1, 2**80)
    beside = {(fastest + 1) % 3: tiny, (fastest + 2) % 3: tiny**2}
    found = []
    for face, triangle in enumerate(corners):
        seen = []
        for corner in triangle:
            at = [Fraction(x) - y for x, y in zip(corner, begin, strict=True)]
            flat = [at[axis] - slopes[axis] * at[fastest] - beside[axis] for axis in beside]
            seen.append(flat)
        sides = [p[0] * q[1] - p[1] * q[0] for p, q in zip(seen, seen[1:] + seen[:1], strict=True)]
        if not (all(side > 0 for side in sides) or all(side < 0 for side in sides)):
            continue
        # Of the given ray: where it is in the plane of the triangle.
        p, q, r = ([Fraction(x) for x in corner] for corner in triangle)
        u, v = ([y - x for x, y in zip(p, end, strict=True)] for end in (q, r))
        normal = [u[k - 2] * v[k - 1] - u[k - 1] * v[k - 2] for k in range(3)]
        height = sum(n * (x - y) for n, x, y in zip(normal, p, begin, strict=True))
        time = height / sum(n * w for n, w in zip(normal, way, strict=True))
        if time >= 0:
            found.append((time, face))
    return [(face, float(time)) for time, face in sorted(found)]


def lattice_ball(rng, size=2):
    """A closed mesh with its vertices on a lattice, and many faces along the axes and in one plane."""
    taken = rng.random((size,) * 3) < 0.6
    quads = []
    for cell in np.argwhere(taken):
        for axis in range(3):
            for side in (0, 1):
                beside = cell.copy()
                beside[axis] += 2 * side - 1
                if (beside >= 0).all() and (beside < size).all() and taken[tuple(beside)]:
                    continue
                corner = cell.copy()
                corner[axis] += side
                x, y = np.eye(3, dtype=int)[(axis + 1) % 3], np.eye(3, dtype=int)[(axis + 2) % 3]
                quad = [corner, corner + x, corner + x + y, corner + y]
                quads.append(quad if side else quad[::-1])
    if not quads:
        return None
    vertices = np.array(quads, float).reshape(-1, 3)
    first = 4 * np.arange(len(quads))[:, None]
    return vertices, np.concatenate([first + np.array(of) for of in ((0, 1, 2), (0, 2, 3))])


def test_crossings_of_meshes_are_those_of_their_triangles():
    rng = np.random.default_rng(0)
    total = 0
    for seed in range(6):
        vertices, faces = rough_sphere(rng, rounds=seed % 3 + 1)
        vertices = vertices * 10.0 ** rng.uniform(-6, 6)
        shape = bp.Shapes(bp.Mesh(vertices, faces), rng.normal(size=(1, 3)), rotations(rng, 3, 1))
        size = np.abs(vertices).max()
        origins = shape.positions + rng.normal(size=(60, 3)) * size * rng.choice([0.3, 1, 3, 1000], (60, 1))
        directions = shape.positions + rng.normal(size=(60, 3)) * size * 0.5 - origins
        found = bp.raycast(shape, origins, directions, every=True)
        turn = shape.rotations[0] / np.linalg.norm(shape.rotations[0])
        w, x, y, z = turn
        matrix = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        corners = (vertices @ matrix.T + shape.positions)[faces]
        for ray in range(60):
            unit = directions[ray] / np.linalg.norm(directions[ray])
            wanted, times = crossings_of_triangles(corners, origins[ray], unit)
            mine = slice(found.offsets[ray], found.offsets[ray + 1])
            assert found.faces[mine].tolist() == wanted.tolist()
            assert np.allclose(found.distances[mine], times, rtol=1e-9, atol=1e-9 * size)
            normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[wanted]
            normals /= np.linalg.norm(normals, axis=1, keepdims=True)
            assert np.allclose(found.normals[mine], normals, atol=1e-6)
            total += len(wanted)
        assert (found.rows == 0).all()
    assert total > 400


def test_rays_through_edges_and_vertices_cross_as_rays_beside_them():
    rng = np.random.default_rng(1)
    hit = 0
    for _ in range(120):
        made = lattice_ball(rng)
        if made is None:
            continue
        vertices, faces = made
        mesh = bp.Mesh(vertices, faces)
        origins = rng.integers(-2, 9, (20, 3)) / 2.0
        directions = rng.choice([-4.0, -2, -1, 0, 1, 2, 4], (20, 3))
        directions[np.arange(20), rng.integers(0, 3, 20)] = rng.choice([-4.0, 4], 20)
        found = bp.raycast(mesh, origins, directions, every=True)
        for ray in range(20):
            wanted = exact_crossings(vertices[faces].tolist(), origins[ray].tolist(), directions[ray].tolist())
            length = np.linalg.norm(directions[ray])
            mine = slice(found.offsets[ray], found.offsets[ray + 1])
            # At one distance, the lower face comes first, and distances are rounded.
            times = np.array([time * length for _, time in wanted])
            assert sorted(found.faces[mine].tolist()) == sorted(face for face, _ in wanted)
            assert np.allclose(found.distances[mine], times, atol=1e-12)
            hit += len(wanted) > 0
    assert hit > 250


@pytest.mark.parametrize("seed", range(4))
def test_closed_meshes_are_crossed_an_even_number_of_times_from_outside(seed):
    rng = np.random.default_rng(seed)
    vertices, faces = rough_sphere(rng, rounds=2)
    if seed % 2:
        vertices = np.round(vertices * 4) / 4  # many degenerate faces
    shape = bp.Shapes(bp.Mesh(vertices, faces), rng.normal(size=(1, 3)) * 100, rotations(rng, 3, 1))
    # Rays through the vertices, the middles of edges, and the middle of the mesh.
    origins = shape.positions + rng.normal(size=(3000, 3)) * 0.1 + 9.0 * rng.choice([-1, 1], (3000, 1))
    w, x, y, z = shape.rotations[0] / np.linalg.norm(shape.rotations[0])
    across = np.array([x, y, z])
    placed = vertices + 2 * np.cross(across, np.cross(across, vertices) + w * vertices) + shape.positions
    targets = placed[faces[rng.integers(0, len(faces), 3000), 0]]
    ends = placed[faces[rng.integers(0, len(faces), 3000)][:, :2]].mean(axis=1)
    for goals in (targets, ends, np.broadcast_to(shape.positions, targets.shape)):
        found = bp.raycast(shape, origins, goals - origins, every=True)
        assert not (found.counts % 2).any()
        assert (found.counts > 0).mean() > 0.5


def test_a_cube_is_crossed_twice_wherever_a_ray_goes():
    mesh = bp.Mesh(CUBE, CUBE_FACES)
    for y in (-1, -0.5, 0, 0.5, 1):
        for z in (-1, -0.5, 0, 0.5, 1):
            found = bp.raycast(mesh, (-3, y, z), (1, 0, 0), every=True)
            distances = found.distances.tolist()
            assert distances in ([2, 4], []) if 1 in (abs(y), abs(z)) else distances == [2, 4]
            backwards = bp.raycast(mesh, (3, y, z), (-1, 0, 0), every=True)
            assert backwards.distances.tolist() == distances
    inside = bp.raycast(mesh, (0, 0, 0), [[1, 0, 0], [0, 0, -2], [1, 1, 1]], every=True)
    assert inside.counts.tolist() == [1, 1, 1]
    assert inside.distances[:2].tolist() == [1, 1]


CONVEX = [case for case in EVERY_KIND if case[1] not in ("mesh", "Mesh", "HeightField", "HalfSpace")]


@pytest.mark.parametrize(("dimension", "name"), CONVEX)
def test_convex_shapes_are_crossed_where_rays_enter_and_leave(dimension, name):
    rng = np.random.default_rng(7)
    count = 40
    shapes = bp.Shapes([KINDS[dimension][name](rng) for _ in range(count)], rng.normal(size=(count, dimension)))
    boxes = shapes.boxes.reshape(count, 2, dimension)
    targets = rng.uniform(boxes[:, 0], boxes[:, 1])
    origins = targets + rng.normal(size=(count, dimension)) * 3
    found = bp.raycast(shapes, origins, targets - origins, every=True)
    first = bp.raycast(shapes, origins, targets - origins)
    assert ((found.counts > 0) == (first.rows >= 0)).all()
    assert np.array_equal(found.rows, found.query_rows)
    assert (np.diff(found.distances)[np.diff(found.rows) == 0] >= 0).all()
    assert (found.faces == -1).all()
    units = (targets - origins) / np.linalg.norm(targets - origins, axis=1, keepdims=True)
    at = origins[found.rows] + units[found.rows] * found.distances[:, None]
    places = bp.Shapes(bp.Point(), at) if len(at) else None
    if name == "Compound" or places is None:
        return
    assert np.abs(bp.distance(places, shapes, pairs=np.stack([np.arange(len(at)), found.rows], axis=1))).max() < 1e-9
    for ray in range(count):
        mine = slice(found.offsets[ray], found.offsets[ray + 1])
        if found.counts[ray] == 0:
            continue
        distances, slopes = found.distances[mine], found.normals[mine] @ units[ray]
        if first.distances[ray] > 0:
            assert distances[0] == first.distances[ray]
            assert np.array_equal(found.normals[mine][0], first.normals[ray])
            assert slopes[0] <= 1e-9
        if len(distances) == 2 or first.distances[ray] == 0:
            assert slopes[-1] >= -1e-9
        assert len(distances) <= 2


def test_round_and_flat_shapes_in_round_numbers():
    ball = bp.raycast(bp.Sphere(1), [[-4, 0, 0], [0, 0, 0], [-4, 1, 0], [-4, 2, 0]], [1, 0, 0], every=True)
    assert ball.distances.tolist() == [3, 5, 1, 4, 4]
    assert ball.counts.tolist() == [2, 1, 2, 0]
    assert ball.normals[:3].tolist() == [[-1, 0, 0], [1, 0, 0], [1, 0, 0]]
    hull = bp.raycast(bp.ConvexHull(CUBE), (-4, 0, 0.5), (2, 0, 0), every=True)
    assert hull.distances.tolist() == [3, 5]
    assert hull.normals.tolist() == [[-1, 0, 0], [1, 0, 0]]
    triangle = bp.Triangle([[0, -1, -1], [0, 1, -1], [0, 0, 1]])
    assert bp.raycast(triangle, (-4, 0, 0), (1, 0, 0), every=True).distances.tolist() == [4]
    assert bp.raycast(bp.Point(), (-4, 0), (1, 0), every=True).distances.tolist() == [4]
    assert bp.raycast(bp.Triangle([[-1, -1], [1, -1], [0, 1]]), (-4, -1 / 2), (1, 0), every=True).counts.tolist() == [2]
    compound = bp.Compound([bp.Sphere(1), bp.Sphere(1, offset=(1, 0, 0))])
    assert bp.raycast(compound, (-4, 0, 0), (1, 0, 0), every=True).distances.tolist() == [3, 4, 5, 6]
    far = bp.raycast(bp.Shapes(bp.Box(2, 2, 2), [[1e9, 0, 0]]), (0, 0, 0), (1, 0, 0), every=True)
    assert far.distances.tolist() == [1e9 - 1, 1e9 + 1]


def test_limits_are_closed_and_nothing_is_crossed_without_a_direction():
    mesh, ball = bp.Mesh(CUBE, CUBE_FACES), bp.Sphere(1)
    for shape in (mesh, ball, bp.ConvexHull(CUBE), bp.Box(2, 2, 2)):
        counts = [
            bp.raycast(shape, (-4, 0.0, 0.0), (1, 0, 0), far, every=True).counts[0] for far in (2.9, 3, 4.9, 5, 9)
        ]
        assert counts == [0, 1, 1, 2, 2]
        assert bp.raycast(shape, (0, 0, 0), (0, 0, 0), every=True).counts.tolist() == [0]
        assert bp.raycast(shape, (0, 0, 0), (1, 0, 0), [0.5, 2], every=True).counts.tolist() == [0, 1]
        nothing = bp.raycast(bp.Shapes(shape, [[0, 0, 0]] * 2), np.empty((0, 3)), (1, 0, 0), rows=[], every=True)
        assert len(nothing) == 0
        assert nothing.normals.shape == (0, 3)


def test_rows_single_shapes_and_workers_do_not_change_the_answer():
    rng = np.random.default_rng(5)
    vertices, faces = rough_sphere(rng, rounds=2)
    mixed = [bp.Mesh(vertices, faces), bp.Sphere(1), bp.ConvexHull(vertices), bp.Box(1, 1, 1)]
    shapes = bp.Shapes(mixed, rng.normal(size=(4, 3)), rotations(rng, 3, 4))
    rows = rng.integers(0, 4, 2000)
    origins = shapes.positions[rows] + rng.normal(size=(2000, 3)) * 2
    directions = shapes.positions[rows] + rng.normal(size=(2000, 3)) * 0.3 - origins
    together = bp.raycast(shapes, origins, directions, rows=rows, every=True)
    threaded = bp.raycast(shapes, origins, directions, rows=rows, every=True, workers=3)
    for name in ("rows", "offsets", "distances", "normals", "faces"):
        assert np.array_equal(getattr(together, name), getattr(threaded, name))
    firsts = bp.raycast(shapes, origins, directions, rows=rows)
    others = bp.raycast(shapes, origins, directions, rows=rows, workers=2)
    assert all(map(np.array_equal, firsts[:2], others[:2]))
    for row in range(4):
        mine = np.flatnonzero(rows == row)
        one = bp.Shapes(mixed[row], shapes.positions[[row]], shapes.rotations[[row]])
        alone = bp.raycast(one, origins[mine], directions[mine], every=True)
        assert np.array_equal(alone.counts, together.counts[mine])
        assert np.array_equal(alone.distances, np.concatenate([together[ray][1] for ray in mine]))


def test_first_hits_of_meshes_are_the_nearest_of_their_triangles():
    rng = np.random.default_rng(6)
    vertices, faces = rough_sphere(rng, rounds=2)
    triangles = [bp.Triangle(corners) for corners in vertices[faces]]
    place, turn = rng.normal(size=(1, 3)), rotations(rng, 3, 1)
    mesh, compound = bp.Shapes(bp.Mesh(vertices, faces), place, turn), bp.Shapes(bp.Compound(triangles), place, turn)
    origins = rng.normal(size=(300, 3)) * rng.choice([0.1, 3, 1e6], (300, 1))
    directions = place + rng.normal(size=(300, 3)) - origins
    directions[:20] = 0
    found, wanted = bp.raycast(mesh, origins, directions), bp.raycast(compound, origins, directions)
    assert np.array_equal(found.rows, wanted.rows)
    assert np.allclose(found.distances, wanted.distances, rtol=1e-12, atol=1e-12)
    assert 100 < (found.rows >= 0).sum() < 290


def test_custom_shapes_are_refused_and_bad_arguments_are_named():
    with pytest.raises(TypeError, match="every"):
        bp.raycast(bp.Sphere(1), (0, 0, 0), (1, 0, 0), every=2)
    with pytest.raises(ValueError, match="directions: row 1"):
        bp.raycast(bp.Sphere(1), (0, 0, 0), [[1, 0, 0], [np.nan, 0, 0]], every=True)
    with pytest.raises(ValueError, match="directions must have shape"):
        bp.raycast(bp.Sphere(1), np.zeros((3, 3)), np.ones((2, 3)), every=True)
