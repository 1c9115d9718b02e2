"""Clearances and clashes of solids, against other libraries and against exact arithmetic on small cases."""

from fractions import Fraction

import numpy as np
import pytest

import broadphase as bp
from solid_scenes import CUBE, CUBE_FACES, quaternions, rough_sphere

TRIANGLE = ([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])


def cube(size=1.0, at=(0, 0, 0), faces=CUBE_FACES):
    """Vertices and faces of a cube around a point."""
    return bp.Mesh(np.asarray(CUBE, float) * size / np.ptp(CUBE) + np.asarray(at, float), faces)


def placed(parts):
    return bp.Shapes(parts, np.zeros((len(parts), 3)))


def where(mesh, points):
    """0 outside, 1 on the surface, 2 inside; what is outside is not within 1e-9 of the surface."""
    found = bp.clearances(placed([mesh]), bp.Shapes(bp.Point(), np.asarray(points, float)), max_distance=1e-9)
    answers = np.zeros(len(points), int)
    answers[found.pairs[:, 1]] = 1 + found.inside
    return answers


def exactly_where(mesh, point):
    """The same, in integers of any length, by the crossings of a ray in general position; for numbers of halves."""

    def determinant(a, b, c):
        return (
            a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])
        )

    corners = ((mesh.vertices - point) * 2).astype(int).tolist()
    for along in np.random.default_rng(0).integers(-10_000, 10_000, (50, 3)).tolist():
        crossings = 0
        for a, b, c in ((corners[k] for k in face) for face in mesh.faces.tolist()):
            u, v = [q - p for p, q in zip(a, b, strict=True)], [q - p for p, q in zip(a, c, strict=True)]
            area, back = determinant(u, v, along), [-x for x in a]
            if area == 0:
                break
            # a + beta * u + gamma * v = t * along, all three times the area
            beta, gamma, t = determinant(back, v, along), determinant(u, back, along), -determinant(u, v, back)
            if area < 0:
                area, beta, gamma, t = -area, -beta, -gamma, -t
            if beta < 0 or gamma < 0 or beta + gamma > area:
                continue
            if t == 0:
                return 1
            if t > 0 and (beta == 0 or gamma == 0 or beta + gamma == area):
                break
            crossings += t > 0
        else:
            return 2 * (crossings % 2)
    raise AssertionError("no ray in general position")


@pytest.mark.parametrize("seed", range(3))
def test_points_of_a_lattice_in_a_mesh_are_where_exact_arithmetic_says(seed):
    rng = np.random.default_rng(seed)
    vertices, faces = rough_sphere(rng, rounds=1)
    lattice = np.round(vertices * 3)  # folds faces onto one another, and makes some degenerate
    keep = [len({tuple(lattice[k]) for k in face}) == 3 for face in faces]
    mesh = bp.Mesh(lattice, faces)
    assert mesh.is_watertight
    points = rng.integers(-5, 6, (100, 3)) / rng.choice([1.0, 2.0], (100, 1))
    points[:20] = lattice[rng.integers(0, len(lattice), 20)]
    flat = np.cross(*(lattice[faces[:, k]] - lattice[faces[:, 0]] for k in (1, 2)))
    exact = bp.Mesh(lattice, faces[np.array(keep) & (flat != 0).any(axis=1)])  # the oracle knows no degenerate ones
    wanted = [exactly_where(exact, point) for point in points]
    assert where(mesh, points).tolist() == wanted
    assert {0, 1, 2} == set(wanted)


@pytest.mark.parametrize("origin", [0.0, 1e6])
def test_points_are_inside_where_trimesh_says(origin):
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("rtree")
    rng = np.random.default_rng(5)
    vertices, faces = rough_sphere(rng, rounds=2)
    points = rng.uniform(-1.5, 1.5, (400, 3)) + origin
    wanted = trimesh.Trimesh(vertices + origin, faces, process=False).contains(points)
    found = where(bp.Mesh(vertices + origin, faces), points)
    assert (found == 2).tolist() == wanted.tolist()
    assert 20 < wanted.sum() < 380


def test_watertight_is_what_has_no_border_whichever_way_faces_are_turned():
    faces = np.array(CUBE_FACES)
    flipped = np.where(np.arange(len(faces))[:, np.newaxis] % 2, faces[:, ::-1], faces)
    soup = np.asarray(CUBE, float)[faces].reshape(-1, 3)
    closed = {
        "as it is": cube(),
        "flipped": cube(faces=flipped),
        "one face twice": cube(faces=np.concatenate([faces, faces[3:4, ::-1]])),
        "all faces twice": cube(faces=np.concatenate([faces, faces])),
        "a point and a line": cube(faces=np.concatenate([faces, [[0, 0, 0], [0, 1, 1]]])),
        "triangles of their own": bp.Mesh(soup, np.arange(len(soup)).reshape(-1, 3)),
    }
    for name, mesh in closed.items():
        assert mesh.is_watertight, name
        middle = mesh.vertices.mean(axis=0)
        assert where(mesh, [middle, middle + 9]).tolist() == [2, 0], name
    assert not cube(faces=faces[1:]).is_watertight
    assert not bp.Mesh(*TRIANGLE).is_watertight
    assert not bp.Mesh(np.zeros((3, 3)), [[0, 1, 2]]).is_watertight


def test_two_boxes_with_a_common_wall_are_closed_with_both_its_sides():
    one, two = cube(2.0), cube(2.0, at=(2, 0, 0))
    both = bp.Mesh(
        np.concatenate([one.vertices, two.vertices]), np.concatenate([one.faces, two.faces + len(one.vertices)])
    )
    assert both.is_watertight
    middle = (one.vertices.min(axis=0) + one.vertices.max(axis=0)) / 2
    points = middle + np.array([[0, 0.1, 0.2], [2, 0.1, 0.2], [4, 0, 0], [1, 0.1, 0.2]])
    assert where(both, points)[:3].tolist() == [2, 2, 0]


@pytest.mark.parametrize("seed", range(2))
def test_clearances_are_the_distances_of_fcl(seed):
    fcl = pytest.importorskip("fcl")
    rng = np.random.default_rng(seed)
    surfaces = [rough_sphere(rng, rounds=1) for _ in range(24)]
    places, turns = rng.uniform(0, 9, (24, 3)), quaternions(rng, 24)
    shapes = bp.Shapes([bp.Mesh(*surface) for surface in surfaces], places, turns)
    objects = []
    for (vertices, faces), place, turn in zip(surfaces, places, turns, strict=True):
        model = fcl.BVHModel()
        model.beginModel(len(vertices), len(faces))
        model.addSubModel(vertices, faces)
        model.endModel()
        objects.append(fcl.CollisionObject(model, fcl.Transform(turn / np.linalg.norm(turn), place)))
    wanted = {}
    for i in range(24):
        for j in range(i + 1, 24):
            gap = fcl.distance(objects[i], objects[j], fcl.DistanceRequest(), fcl.DistanceResult())
            if gap <= 1.5:
                wanted[i, j] = max(gap, 0.0)
    found = bp.clearances(shapes, max_distance=1.5, solid=False)
    assert [tuple(pair) for pair in found.pairs.tolist()] == sorted(wanted)
    assert np.allclose(found.gaps, [wanted[pair] for pair in sorted(wanted)], atol=1e-12)
    assert 5 < (found.gaps > 0).sum() < len(found.gaps) - 5
    between = np.linalg.norm(found.points[:, 1] - found.points[:, 0], axis=1)
    assert np.allclose(between, found.gaps, atol=1e-12)
    again = bp.Shapes([bp.Mesh(*surface) for surface in surfaces], places, turns)  # whose trees threads build
    threaded = bp.clearances(again, max_distance=1.5, solid=False, workers=3)
    assert all(np.array_equal(one, two) for one, two in zip(found, threaded, strict=True))
    inner = bp.distance(shapes, pairs=found.pairs, max_distance=0.5)
    every = bp.distance(shapes, pairs=found.pairs)
    assert np.array_equal(inner[every <= 0.5], every[every <= 0.5])
    assert np.isinf(inner[every > 0.5]).all()


def exact_square(a, b):
    """The squared distance of two triangles, of whole numbers, degenerate or not: the least of all that may be it."""

    def minus(p, q):
        return [x - y for x, y in zip(p, q, strict=True)]

    def along(p, u, s):
        return [x + s * y for x, y in zip(p, u, strict=True)]

    def dot(u, v):
        return sum(x * y for x, y in zip(u, v, strict=True))

    def cross(u, v):
        return [u[k - 2] * v[k - 1] - u[k - 1] * v[k - 2] for k in range(3)]

    def square(p, q):
        return dot(minus(p, q), minus(p, q))

    squares = [square(p, q) for p in a for q in b]
    for one, two in ((a, b), (b, a)):
        p, u, v = one[0], minus(one[1], one[0]), minus(one[2], one[0])
        normal = cross(u, v)
        for k in range(3):
            end, edge = one[k], minus(one[k - 1], one[k])
            for q in two:  # a corner and an edge
                if any(edge) and 0 <= dot(minus(q, end), edge) <= dot(edge, edge):
                    squares.append(square(q, along(end, edge, Fraction(dot(minus(q, end), edge), dot(edge, edge)))))
            for j in range(3):  # two edges
                q, w = two[j], minus(two[j - 1], two[j])
                uu, ww, uw, r = dot(edge, edge), dot(w, w), dot(edge, w), minus(end, q)
                if (spread := uu * ww - uw * uw) == 0:
                    continue
                s = Fraction(uw * dot(w, r) - ww * dot(edge, r), spread)
                t = Fraction(uu * dot(w, r) - uw * dot(edge, r), spread)
                if 0 <= s <= 1 and 0 <= t <= 1:
                    squares.append(square(along(end, edge, s), along(q, w, t)))
        if not any(normal):
            continue
        nn = dot(normal, normal)

        def is_above(point, p=p, u=u, v=v, normal=normal, nn=nn):
            w = minus(point, p)
            beta, gamma = dot(cross(w, v), normal), dot(cross(u, w), normal)
            return beta >= 0 and gamma >= 0 and beta + gamma <= nn

        heights = [dot(minus(q, p), normal) for q in two]
        squares += [Fraction(h * h, nn) for q, h in zip(two, heights, strict=True) if is_above(q)]
        for k in range(3):  # an edge through the face
            if heights[k] * heights[k - 1] < 0:
                at = along(two[k], minus(two[k - 1], two[k]), Fraction(heights[k], heights[k] - heights[k - 1]))
                squares += [0] * is_above(at)
    return min(squares)


def check_exact(seed):
    """Clearances of small meshes of whole numbers: open, with degenerate, equal, flipped and coplanar faces."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(3):
        vertices = rng.integers(0, 4, (6, 3)) + rng.integers(-4, 5, 3)
        if rng.random() < 0.3:
            vertices[:, 2] = 0
        faces = rng.integers(0, 6, (4, 3))
        parts.append((vertices, np.concatenate([faces, faces[:1, ::-1], faces[1:2]])))
    shapes = placed([bp.Mesh(vertices.astype(float), faces) for vertices, faces in parts])
    found = bp.clearances(shapes, max_distance=100.0, solid=False)
    assert len(found.pairs) == 3
    for (i, j), gap, (p, q) in zip(found.pairs.tolist(), found.gaps.tolist(), found.points, strict=True):
        corners = [
            [[vertices[k].tolist() for k in face] for face in faces[:5]] for vertices, faces in (parts[i], parts[j])
        ]
        wanted = min(exact_square(a, b) for a in corners[0] for b in corners[1])
        assert (gap == 0) == (wanted == 0), (seed, i, j)
        assert gap == pytest.approx(float(wanted) ** 0.5, rel=1e-13), (seed, i, j)
        assert np.linalg.norm(q - p) == pytest.approx(gap, abs=1e-12), (seed, i, j)
        for row, point in ((i, p), (j, q)):
            off = bp.distance(shapes, bp.Shapes(bp.Point(), [point]), pairs=[[row, 0]])[0]
            assert off == pytest.approx(0, abs=1e-12), (seed, i, j)


@pytest.mark.parametrize("seed", range(8))
def test_clearances_of_hard_meshes_are_what_exact_arithmetic_says(seed):
    check_exact(seed)


def check_coal(seed, count=12):
    """Distances and nearest points of rough balls against coal's."""
    coal = pytest.importorskip("coal")
    rng = np.random.default_rng(seed)
    surfaces = [rough_sphere(rng, rounds=1) for _ in range(count)]
    places = rng.uniform(0, 8, (count, 3))
    shapes = bp.Shapes([bp.Mesh(*surface) for surface in surfaces], places)
    models = []
    for vertices, faces in surfaces:
        model = coal.BVHModelOBBRSS()
        model.beginModel(len(faces), len(vertices))
        model.addVertices(vertices)
        model.addTriangles(faces.astype(np.int32))
        model.endModel()
        models.append(model)
    found = bp.clearances(shapes, max_distance=50.0, solid=False)
    assert len(found.pairs) == count * (count - 1) // 2
    apart = 0
    for (i, j), gap, points in zip(found.pairs.tolist(), found.gaps, found.points, strict=True):
        result = coal.DistanceResult()
        poses = [coal.Transform3s(np.eye(3), places[row]) for row in (i, j)]
        coal.distance(models[i], poses[0], models[j], poses[1], coal.DistanceRequest(True), result)
        assert gap == pytest.approx(max(result.min_distance, 0.0), abs=1e-9), (seed, i, j)
        if gap > 0:
            apart += 1
            nearest = np.array([result.getNearestPoint1(), result.getNearestPoint2()])
            assert np.allclose(points, nearest, atol=1e-6), (seed, i, j)
    assert apart > count


@pytest.mark.parametrize("seed", range(2))
def test_distances_and_nearest_points_are_those_of_coal(seed):
    check_coal(seed)


def test_points_are_on_both_shapes():
    rng = np.random.default_rng(2)
    solids = [bp.Sphere(0.5), bp.Box(1, 0.5, 0.7), bp.Capsule((0, 0, 0), (1, 0, 0), 0.2), bp.ConvexHull(CUBE), cube()]
    shapes = bp.Shapes(solids * 4, rng.uniform(0, 6, (20, 3)), quaternions(rng, 20))
    found = bp.clearances(shapes, max_distance=2.0)
    apart = found.gaps > 1e-9
    assert apart.sum() > 30
    for side in (0, 1):
        points = bp.Shapes(bp.Point(), found.points[:, side])
        rows = np.stack([np.arange(len(points)), found.pairs[:, side]], axis=1)
        assert np.abs(bp.distance(points, shapes, pairs=rows)[apart]).max() < 1e-6
    between = np.linalg.norm(found.points[:, 1] - found.points[:, 0], axis=1)
    assert np.allclose(between[apart], found.gaps[apart], atol=1e-6)


def test_what_is_inside_has_no_gap_however_far_the_surface_is():
    parts = placed([cube(100.0), cube(1.0, at=(3, 4, 5)), bp.Sphere(1.0), cube(1.0, at=(70, 0, 0))])
    found = bp.clearances(parts, max_distance=1.0)
    assert found.pairs.tolist() == [[0, 1], [0, 2], [1, 2]] or found.pairs.tolist() == [[0, 1], [0, 2]]
    assert found.gaps[:2].tolist() == [0, 0]
    assert found.inside[:2].tolist() == [1, 1]
    turned = bp.clearances(placed([cube(1.0), cube(100.0)]), max_distance=1.0)
    assert turned.inside.tolist() == [-1]
    surfaces = bp.clearances(placed([cube(100.0), cube(1.0)]), max_distance=1.0, solid=False)
    assert len(surfaces.pairs) == 0
    opened = bp.clearances(placed([cube(100.0, faces=CUBE_FACES[1:]), cube(1.0)]), max_distance=1000.0)
    assert opened.are_solid.tolist() == [[False, True]]
    assert opened.gaps[0] > 40


def test_a_mesh_with_one_of_two_pieces_inside_another_overlaps_it():
    inner, outer = cube(1.0), cube(1.0, at=(50, 0, 0))
    two = bp.Mesh(
        np.concatenate([inner.vertices, outer.vertices]),
        np.concatenate([inner.faces, outer.faces + len(inner.vertices)]),
    )
    found = bp.clashes(placed([cube(10.0), two]))
    assert found.kinds.tolist() == ["penetrates"]
    assert found.inside.tolist() == [0]
    assert found.depths_by.tolist() == ["vertices"]


def test_clashes_of_cubes_are_what_their_sides_say():
    at = [(0, 0, 0), (2, 0, 0), (3, 0, 0), (3, 0, 2.05), (0, 0, 0), (3, 0, 40), (3, 0, 40)]
    sizes = [2, 2, 2, 2, 2, 9, 1]
    shuffled = np.roll(np.array(CUBE_FACES)[::-1], 1, axis=1)
    parts = [cube(size, place) for size, place in zip(sizes, at, strict=True)]
    parts[4] = bp.Mesh(parts[0].vertices[::-1], len(parts[0].vertices) - 1 - shuffled)
    found = bp.clashes(placed(parts), clearance=0.1, tolerance=0.01)
    kinds = {tuple(pair): kind for pair, kind in zip(found.pairs.tolist(), found.kinds.tolist(), strict=True)}
    assert kinds == {
        (0, 1): "touches", (0, 4): "duplicate", (1, 2): "penetrates", (1, 4): "touches", (2, 3): "near",
        (1, 3): "near", (5, 6): "contains",
    }  # fmt: skip
    rows = [tuple(pair) for pair in found.pairs.tolist()]
    assert np.allclose(found.gaps[[rows.index((2, 3)), rows.index((1, 3))]], 0.05)
    assert found.counts() == {"duplicate": 1, "penetrates": 1, "contains": 1, "touches": 2, "near": 2}


def with_a_piece_far_away(mesh):
    """A mesh that is not convex, because it has two pieces."""
    faces = np.concatenate([mesh.faces, mesh.faces + len(mesh.vertices)])
    return bp.Mesh(np.concatenate([mesh.vertices, mesh.vertices + np.array([0, 0, 50])]), faces)


def test_depth_of_a_mesh_is_that_of_its_deepest_vertex():
    spike = bp.Mesh([[0.0, 0, 0.3], [1, 0, 5], [0, 1, 5], [-1, -1, 5]], [[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])
    spike = with_a_piece_far_away(spike)
    box = cube(2.0, at=-np.asarray(CUBE, float).mean(axis=0) * 2 / np.ptp(CUBE))
    found = bp.clashes(placed([box, spike]))
    assert found.kinds.tolist() == ["penetrates"]
    assert found.depths_by.tolist() == ["vertices"]
    assert np.allclose(found.depths, 0.7)


def test_meshes_with_faces_in_one_plane_are_as_deep_as_the_middles_of_triangles():
    for first, by in ((with_a_piece_far_away(cube(6.0)), "faces"), (cube(6.0), "shapes")):
        found = bp.clashes(placed([first, cube(6.0, at=(5, 0, 0))]), tolerance=1e-9)
        assert found.kinds.tolist() == ["penetrates"]
        assert found.depths_by.tolist() == [by]
        assert np.allclose(found.depths, 1.0)


def test_filters_leave_pairs_out():
    parts = placed([cube(2.0, at=(x, 0, 0)) for x in (0, 1, 2)])
    assert len(bp.clashes(parts).pairs) == 3
    assert bp.clashes(parts, parent=[4, 4, -1]).pairs.tolist() == [[0, 2], [1, 2]]
    assert len(bp.clashes(parts, parent=[-1, -1, -1]).pairs) == 3
    assert len(bp.clashes(parts, parent=[-1, -2, -3]).pairs) == 3  # only -1 is none
    assert bp.clashes(parts, parent=[2**62, -3, 2**62]).pairs.tolist() == [[0, 1], [1, 2]]
    assert bp.clashes(parts, ignore_pairs=[[0, 1]]).pairs.tolist() == [[0, 2], [1, 2]]
    assert bp.clashes(parts, layer=[1, 2, 4], mask=[2, 1, 0]).pairs.tolist() == [[0, 1]]
    assert bp.clashes(parts, group=[-1, -1, 0]).pairs.tolist() == [[0, 2], [1, 2]]
    two = bp.clearances(parts, parts, max_distance=0.0, parent=([1, 2, 3], [1, -1, 3]))
    assert two.pairs.tolist() == [[0, 1], [0, 2], [1, 0], [1, 1], [1, 2], [2, 0], [2, 1]]


def test_anything_with_vertices_and_faces_is_a_part():
    class Model:
        vertices, faces = np.asarray(CUBE, float), np.asarray(CUBE_FACES)

    found = bp.clearances([Model(), bp.Sphere(0.1, offset=(90, 0, 0))], max_distance=200.0)
    assert found.pairs.tolist() == [[0, 1]]
    assert bp.Mesh.from_trimesh(Model(), offset=(1, 0, 0)).offset.tolist() == [1, 0, 0]
    with pytest.raises(TypeError, match="vertices and faces"):
        bp.Mesh.from_trimesh(object())


def test_degenerate_triangles_have_clearances():
    line = bp.Mesh([[0.0, 0, 0], [2, 0, 0], [1, 0, 0]], [[0, 1, 2]])
    point = bp.Mesh([[1.0, 3, 0]] * 3, [[0, 1, 2]])
    found = bp.clearances(placed([line, point, cube(1.0, at=(-50, 0, 0))]), max_distance=10.0)
    assert found.pairs.tolist() == [[0, 1]]
    assert found.gaps.tolist() == [3.0]
    assert found.points.tolist() == [[[1, 0, 0], [1, 3, 0]]]
    assert not found.are_solid.any()


@pytest.mark.parametrize("count", [0, 1])
def test_few_parts_have_no_pairs(count):
    found = bp.clashes(bp.Shapes(cube(), np.zeros((count, 3))))
    assert found.pairs.shape == (0, 2)
    assert found.points.shape == (0, 2, 3)
    assert len(found.kinds) == len(found.depths) == 0


def test_wrong_arguments_are_named():
    parts = placed([cube()])
    for options, message in (
        ({"max_distance": -1.0}, "max_distance must be finite"),
        ({"max_distance": np.nan}, "max_distance must be finite"),
        ({"parent": [1, 2]}, r"parent has shape \(2,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            bp.clearances(parts, **options)
    with pytest.raises(ValueError, match="in space"):
        bp.clearances(bp.Shapes(bp.Circle(1), [[0, 0]]))
    with pytest.raises(TypeError, match="Shapes or a list"):
        bp.clashes(5)
    with pytest.raises(TypeError, match="other: 5, at 1, is no shape"):
        bp.clashes(parts, [cube(), 5])
    with pytest.raises(ValueError, match="max_distance must be at least 0"):
        bp.distance(parts, pairs=[[0, 0]], max_distance=-1)


def test_duplicates_are_equal_parts_however_they_are_described():
    rng = np.random.default_rng(3)
    vertices, faces = rough_sphere(rng, rounds=1)
    turn = np.array([[0.6, -0.8, 0], [0.8, 0.6, 0], [0, 0, 1]])
    quaternion = np.array([np.cos(np.arcsin(0.8) / 2), 0, 0, np.sin(np.arcsin(0.8) / 2)])
    order = rng.permutation(len(faces))
    parts = [
        bp.Mesh(vertices, faces, offset=(5, 1, 2), rotation=quaternion),
        bp.Mesh(vertices @ turn.T + (5, 1, 2), faces),
        bp.Mesh((vertices @ turn.T + (5, 1, 2))[::-1], len(vertices) - 1 - faces[order][:, ::-1]),
        bp.Mesh(vertices * [1, 1, -1] @ turn.T + (5, 1, 2), faces),
    ]
    found = bp.clashes(placed(parts), tolerance=1e-9)
    assert found.pairs[found.kinds == "duplicate"].tolist() == [[0, 1], [0, 2], [1, 2]]
    assert found.kinds[found.kinds != "duplicate"].tolist() == ["penetrates"] * 3
    balls = bp.Shapes([bp.Sphere(1), bp.Sphere(1), bp.Sphere(1.5), bp.ConvexHull(CUBE), bp.ConvexHull(CUBE)], [0, 0, 0])
    found = bp.clashes(balls)
    assert found.pairs[found.kinds == "duplicate"].tolist() == [[0, 1], [3, 4]]


def test_equal_parts_in_one_place_are_all_duplicates():
    mesh = bp.Mesh(*rough_sphere(np.random.default_rng(4), rounds=2))
    found = bp.clashes(bp.Shapes(mesh, np.zeros((30, 3))))
    assert found.counts() == {"duplicate": 435, "penetrates": 0, "contains": 0, "touches": 0, "near": 0}
    assert not found.gaps.any()


@pytest.mark.parametrize("tolerance", [0.0, 1e-9, 0.02, 0.5, 3.0])
def test_duplicates_of_any_parts_are_those_of_plain_numpy(tolerance):
    rng = np.random.default_rng(int(tolerance * 100))
    vertices, faces = rough_sphere(rng, rounds=1)
    order = rng.permutation(len(faces))
    corners = rng.normal(size=(9, 3)) / 3
    others = corners + rng.choice([0.0, 1e-10], (9, 3))
    kinds = [
        bp.Sphere(0.5), bp.Sphere(0.501), bp.AABB((0.8, 0.8, 0.8)), bp.Box(0.8, 0.8, 0.8),
        bp.Capsule((-1, 0, 0), (1, 0, 0), 0.3), bp.ConvexHull(corners), bp.ConvexHull(others),
        bp.Mesh(vertices, faces), bp.Mesh(vertices, faces[order][:, ::-1]), bp.Mesh(vertices + 1e-3, faces),
        bp.Mesh(vertices[::-1], len(vertices) - 1 - faces), bp.Mesh(vertices, faces[1:]),
        bp.Compound([bp.Sphere(0.2, offset=(0.1, 0, 0)), bp.Sphere(0.3)]),
    ]  # fmt: skip
    which = rng.integers(0, len(kinds), 90)
    places = rng.normal(size=(5, 3))[rng.integers(0, 5, 90)] + rng.normal(size=(90, 3)) * rng.choice(
        [0.0, 1e-11, 1e-4, 0.3], (90, 1)
    )
    found = bp.clashes(bp.Shapes([kinds[k] for k in which], places), tolerance=tolerance)
    wanted = [
        bool(apart == 0 or apart <= tolerance)
        and inside == 0
        and are_duplicates(*pair, kinds, which, places, tolerance)
        for pair, apart, inside in zip(found.pairs.tolist(), found.gaps, found.inside, strict=True)
    ]
    assert (found.kinds == "duplicate").tolist() == wanted
    assert 0 < sum(wanted) < len(wanted)


def are_duplicates(row, other, kinds, which, places, tolerance):
    """Whether two shapes that are not rotated are equal: the same numbers, or triangles with the same middles."""
    one, two = kinds[which[row]], kinds[which[other]]
    if type(one) is not type(two):
        return False
    shift = np.abs(places[other] - places[row]).max()
    slack = tolerance + 1e-12 * np.abs(places).max()
    if isinstance(one, bp.Mesh):
        if len(one.faces) != len(two.faces):
            return False
        first, second = one.vertices + places[row], two.vertices + places[other]
        means = [mesh[kind.faces].mean(axis=(0, 1)) for mesh, kind in ((first, one), (second, two))]
        if np.abs(means[0] - means[1]).max() > tolerance + 1e-9 * np.abs(first).max():
            return False
        if np.array_equal(one.faces, two.faces) and np.abs(first - second).max() <= slack:
            return True
        middles = first[one.faces].mean(axis=1)[:, None], second[two.faces].mean(axis=1)
        near = np.linalg.norm(middles[0] - middles[1], axis=2) <= slack
        return bool(near.any(axis=0).all() and near.any(axis=1).all())
    if isinstance(one, bp.Sphere):
        return bool(max(shift, abs(one.radius - two.radius)) <= slack)
    return one == two and bool(shift <= slack)


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("spread", [0.02, 0.5, 1.5])
def test_depth_of_meshes_is_that_of_the_deepest_vertex_of_all(rounds, spread):
    rng = np.random.default_rng(rounds)
    meshes = [bp.Mesh(*rough_sphere(rng, rounds=rounds), offset=rng.normal(size=3) * spread) for _ in range(6)]
    found = bp.clashes(placed(meshes))
    compared = 0
    for (i, j), depth, by in zip(found.pairs.tolist(), found.depths, found.depths_by, strict=True):
        corners = [mesh.vertices + mesh.offset for mesh in (meshes[i], meshes[j])]
        triangles = [mesh[kind.faces] for mesh, kind in zip(corners, (meshes[i], meshes[j]), strict=True)]
        deepest = max(deepest_point(corners[0], triangles[1]), deepest_point(corners[1], triangles[0]))
        if by == "vertices":
            compared += 1
            assert depth == pytest.approx(deepest, rel=1e-12)
        else:
            assert deepest == 0
    assert compared > 1


def deepest_point(points, triangles):
    """How deep the deepest of some points is in a closed surface, by the sum of solid angles and by all triangles."""
    deepest = 0.0
    for point in points:
        a, b, c = np.moveaxis(triangles - point, 1, 0)
        lengths = [np.linalg.norm(x, axis=1) for x in (a, b, c)]
        scale = lengths[0] * lengths[1] * lengths[2]
        for x, y, length in ((a, b, lengths[2]), (b, c, lengths[0]), (c, a, lengths[1])):
            scale = scale + np.einsum("ij,ij->i", x, y) * length
        angles = 2 * np.arctan2(np.einsum("ij,ij->i", a, np.cross(b, c)), scale)
        if abs(angles.sum()) > 6:  # of a whole sphere: 4 pi
            deepest = max(deepest, np.min(distances_to_triangles(a, b, c)))
    return deepest


def distances_to_triangles(a, b, c):
    """Distances of the origin to triangles: to their planes where it is above them, and to their edges."""
    normals = np.cross(b - a, c - a)
    heights = np.abs(np.einsum("ij,ij->i", normals, a)) / np.linalg.norm(normals, axis=1)
    is_above = np.ones(len(a), bool)
    distances = np.full(len(a), np.inf)
    for p, q in ((a, b), (b, c), (c, a)):
        edge = q - p
        is_above &= np.einsum("ij,ij->i", np.cross(edge, -p), normals) >= 0
        along = np.clip(np.einsum("ij,ij->i", -p, edge) / np.einsum("ij,ij->i", edge, edge), 0, 1)
        distances = np.minimum(distances, np.linalg.norm(p + edge * along[:, None], axis=1))
    return np.where(is_above, np.minimum(heights, distances), distances)


def test_prepare_names_what_is_no_mesh():
    mesh = bp.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    with pytest.raises(TypeError, match="meshes: number 1 is 3, not a Mesh"):
        bp.Mesh.prepare([mesh, 3])
