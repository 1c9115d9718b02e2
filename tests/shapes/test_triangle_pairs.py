"""Triangles of meshes that intersect: exactly those, by an oracle in whole numbers."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs
from oracles.triangles import interiors_meet_exactly, meet_exactly
from triangle_scenes import KINDS, as_mesh


def pairs_by_oracle(first, second, touching=True):
    meet = meet_exactly if touching else interiors_meet_exactly
    return [(i, j) for i, a in enumerate(first) for j, b in enumerate(second) if meet(a, b)]


def check_against_oracle(kind, seed, count):
    rng = np.random.default_rng(seed)
    first, second = KINDS[kind](rng, count), KINDS[kind](rng, count)
    for touching in (True, False):
        found = bp.triangle_pairs(as_mesh(first), as_mesh(second), touching=touching)
        wanted = np.array(pairs_by_oracle(first, second, touching), np.int32).reshape(-1, 2)
        assert_same_pairs(found, wanted, label=f"{kind}, seed {seed}, touching={touching}")


def as_set(pairs):
    return set(map(tuple, np.asarray(pairs).tolist()))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "any exponents"])
def test_triangles_equal_the_oracle(kind, seed):
    check_against_oracle(kind, seed, 25)


def test_triangles_of_any_exponents_equal_the_oracle():
    check_against_oracle("any exponents", 1, 15)


@pytest.mark.parametrize("exponent", [-1050, -900, -340, -100, 200, 340, 1000, 1021])
def test_powers_of_two_change_nothing(exponent):
    rng = np.random.default_rng(abs(exponent))
    first, second = rng.integers(0, 4, (2, 60, 3, 3)).astype(np.float64)
    wanted = bp.triangle_pairs(as_mesh(first), as_mesh(second))
    scaled = bp.triangle_pairs(as_mesh(np.ldexp(first, exponent)), as_mesh(np.ldexp(second, exponent)))
    assert as_set(scaled) == as_set(wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_order_of_corners_and_of_meshes_changes_nothing(kind):
    rng = np.random.default_rng(7)
    first, second = KINDS[kind](rng, 40), KINDS[kind](rng, 40)
    for touching in (True, False):
        wanted = as_set(bp.triangle_pairs(as_mesh(first), as_mesh(second), touching=touching))
        for order in permutations(range(3)):
            turned = bp.triangle_pairs(as_mesh(first[:, order]), as_mesh(second), touching=touching)
            assert as_set(turned) == wanted
            swapped = bp.triangle_pairs(as_mesh(second), as_mesh(first[:, order]), touching=touching)
            assert {(i, j) for j, i in as_set(swapped)} == wanted


@pytest.mark.parametrize("axes", list(permutations(range(3))))
def test_order_of_axes_changes_nothing(axes):
    rng = np.random.default_rng(8)
    first, second = rng.integers(0, 3, (2, 60, 3, 3)).astype(np.float64)
    wanted = bp.triangle_pairs(as_mesh(first), as_mesh(second))
    found = bp.triangle_pairs(as_mesh(-first[..., axes]), as_mesh(-second[..., axes]))
    assert as_set(found) == as_set(wanted)


def side_in_floats(a, b, c, d):
    (ux, uy, uz), (vx, vy, vz), (wx, wy, wz) = b - a, c - a, d - a
    return np.sign(wx * (uy * vz - uz * vy) + wy * (uz * vx - ux * vz) + wz * (ux * vy - uy * vx))


def meet_in_floats(a, b):
    def crossed(edge, triangle):
        ends = {side_in_floats(*triangle, end) for end in edge}
        around = {side_in_floats(*edge, triangle[k], triangle[(k + 1) % 3]) for k in range(3)}
        return ends not in ({1}, {-1}, {0}) and not around >= {1, -1}

    edges = [(0, 1), (1, 2), (2, 0)]
    return any(crossed(x[list(edge)], y) for x, y in ((a, b), (b, a)) for edge in edges)


def test_signs_in_floats_alone_would_be_wrong():
    rng = np.random.default_rng(3)
    wrong = {"floats": 0, "exact signs": 0}
    for _ in range(4000):
        # Two that share an edge, or seem to, and are not in one plane.
        a, b = KINDS["thirds"](rng, 2)
        if not np.linalg.norm(np.cross(a[1] - a[0], a[2] - a[0])) > 0.1 < np.linalg.norm(np.cross(b[1], b[2])):
            continue
        b[0] = a[0] * 0.25 + a[1] * 0.75
        wanted = meet_exactly(a, b)
        wrong["floats"] += meet_in_floats(a, b) != wanted
        wrong["exact signs"] += (len(bp.triangle_pairs(as_mesh(a[None]), as_mesh(b[None]))) == 1) != wanted
    assert wrong["exact signs"] == 0
    assert wrong["floats"] > 100


@pytest.mark.parametrize("height", [0.0, 1.0, -3e5, 1e300, 5e-324])
def test_a_tip_one_ulp_off_a_face_is_told_from_one_on_it(height):
    face = np.array([[[-1.0, -2, height], [3, -1, height], [0, 4, height]]])
    above, below = np.nextafter(height, np.inf), np.nextafter(height, -np.inf)
    spikes = np.array([[[0.3, 0.1, tip], [0.2, 0.5, 1e308], [0.7, 0.1, 1e308]] for tip in (below, height, above)])
    assert as_set(bp.triangle_pairs(as_mesh(face), as_mesh(spikes))) == {(0, 0), (0, 1)}
    assert as_set(bp.triangle_pairs(as_mesh(face), as_mesh(spikes), touching=False)) == {(0, 0)}


def test_a_corner_one_ulp_off_an_edge_in_one_plane_is_told_from_one_on_it():
    # Of the edge from nearly 0, differences are rounded: the sign is that of a sum over the coordinates themselves.
    face = np.array([[[2.0**-60, 2.0**-60, 0.25], [1, 1, 0.25], [1, 0, 0.25]]])
    tips = (np.nextafter(0.5, 0), 0.5, np.nextafter(0.5, 1))
    others = np.array([[[0.5, tip, 0.25], [0, 1, 0.25], [0.2, 2, 0.25]] for tip in tips])
    assert as_set(bp.triangle_pairs(as_mesh(face), as_mesh(others))) == {(0, 0), (0, 1)}
    assert as_set(bp.triangle_pairs(as_mesh(face), as_mesh(others), touching=False)) == {(0, 0)}


def sphere(subdivisions=3, radius=1.0, center=(0, 0, 0)):
    """An octahedron, its faces cut in four again and again."""
    vertices = [(1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
    faces = [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (1, 0, 5), (2, 1, 5), (3, 2, 5), (0, 3, 5)]
    for _ in range(subdivisions):
        middles = {}

        def middle(p, q, middles=middles):
            key = (min(p, q), max(p, q))
            if key not in middles:
                middles[key] = len(vertices)
                vertices.append(tuple(np.add(vertices[p], vertices[q]) / 2))
            return middles[key]

        cut = []
        for p, q, r in faces:
            pq, qr, rp = middle(p, q), middle(q, r), middle(r, p)
            cut += [(p, pq, rp), (pq, q, qr), (rp, qr, r), (pq, qr, rp)]
        faces = cut
    points = np.array(vertices, np.float64)
    return points / np.linalg.norm(points, axis=1, keepdims=True) * radius + center, np.array(faces)


def test_a_closed_surface_does_not_meet_itself():
    vertices, faces = sphere()
    assert bp.triangle_pairs((vertices, faces)).shape == (0, 2)
    neighbours = bp.triangle_pairs((vertices, faces), ignore_shared=False)
    shared = [(i, j) for i in range(len(faces)) for j in range(i + 1, len(faces)) if set(faces[i]) & set(faces[j])]
    assert as_set(neighbours) == set(shared)
    assert len(bp.triangle_pairs((vertices, faces), ignore_shared=False, touching=False)) == 0


def test_a_surface_with_a_dent_through_its_other_side_meets_itself():
    vertices, faces = sphere()
    top = int(np.argmax(vertices[:, 2]))
    vertices[top, 2] = -1.5
    found = bp.triangle_pairs((vertices, faces))
    assert len(found)
    assert (found[:, 0] < found[:, 1]).all()
    assert all(top in set(faces[i]) | set(faces[j]) for i, j in found)


def test_surfaces_one_inside_the_other_do_not_meet():
    assert len(bp.triangle_pairs(sphere(), sphere(radius=0.5))) == 0
    assert len(bp.triangle_pairs(sphere(), sphere(radius=0.5, center=(0.6, 0, 0)))) > 0


def test_two_meshes_ignore_no_common_numbers():
    mesh = [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]
    assert bp.triangle_pairs(mesh, mesh).tolist() == [[0, 0]]


def test_workers_change_nothing():
    first, second = sphere(4), sphere(4, center=(0.1, 0.2, 0.3))
    wanted = bp.triangle_pairs(first, second)
    assert len(wanted) > 100
    for workers in (2, 3, -1):
        assert np.array_equal(bp.triangle_pairs(first, second, workers=workers), wanted)


def test_every_form_of_a_mesh_gives_the_same():
    (vertices, faces), other = sphere(2), sphere(2, center=(0.5, 0, 0))
    wanted = bp.triangle_pairs((vertices, faces), other).tolist()
    for mesh in (
        SimpleNamespace(vertices=vertices, faces=faces),
        bp.Mesh(vertices, faces),
        (vertices[::-1], len(vertices) - 1 - faces.astype(np.uint8)),
        (np.asfortranarray(vertices), np.asfortranarray(faces)),
    ):
        assert bp.triangle_pairs(mesh, other).tolist() == wanted
    narrow = vertices.astype(np.float32)
    found = bp.triangle_pairs((narrow, faces), other)
    assert as_set(found) == as_set(bp.triangle_pairs((narrow.astype(np.float64), faces), other))


def test_meshes_of_nothing_have_no_pairs():
    nothing = np.empty((0, 3)), np.empty((0, 3), int)
    for answer in (bp.triangle_pairs(nothing), bp.triangle_pairs(sphere(0), nothing), bp.triangle_pairs(([], []))):
        assert answer.shape == (0, 2)
        assert answer.dtype == np.int32


@pytest.mark.parametrize(
    ("mesh", "error", "message"),
    [
        (([[0, 0, 0]], [[0, 0, 1]]), ValueError, "mesh: faces: row 0 uses vertex 1"),
        (([[0, 0, 0]], [[0, 0, -1]]), ValueError, "mesh: faces: row 0 uses vertex -1"),
        (([[0, 0]], [[0, 0, 0]]), ValueError, r"mesh: vertices must have shape \(n, 3\)"),
        (([[0, 0, 0]], [[0, 0]]), ValueError, r"mesh: faces must have shape \(n, 3\)"),
        (
            ([[0, 0, 0], [0, np.nan, 0]], [[0, 0, 0], [0, 0, 1]]),
            bp.errors.InvalidBoxError,
            "row 1 uses vertex 1, .* NaN",
        ),
        (
            ([[0, 0, 0], [0, np.inf, 0]], [[0, 0, 0], [0, 0, 1]]),
            bp.errors.InvalidBoxError,
            "row 1 has an infinite vertex",
        ),
        (([[0, 0, 0]], [[0.0, 0, 0]]), TypeError, "mesh: faces must be integers"),
        (7, TypeError, "mesh must be a tuple"),
    ],
)
def test_what_is_no_mesh_is_refused(mesh, error, message):
    with pytest.raises(error, match=message):
        bp.triangle_pairs(mesh)
