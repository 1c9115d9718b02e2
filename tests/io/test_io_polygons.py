"""Faces of more than three corners: their triangles cover the same area, once, and keep the mesh closed."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.io import read_parts

# A notched plate, from above; its first corner sees all others only across the notch.
NOTCHED = [(0, 0), (6, 0), (6, 4), (4, 4), (4, 1), (2, 1), (2, 4), (0, 4)]


def prism(outline, place=lambda rows: rows):
    """Return the vertices and polygons of a prism of height 1 above an outline, counter-clockwise."""
    n = len(outline)
    vertices = place(np.array([(x, y, z) for z in (0, 1) for x, y in outline], float))
    sides = [[k, (k + 1) % n, (k + 1) % n + n, k + n] for k in range(n)]
    return vertices, [list(range(n))[::-1], list(range(n, 2 * n)), *sides]


def obj_of(vertices, polygons):
    lines = ["v {!r} {!r} {!r}".format(*row) for row in vertices.tolist()]
    return "\n".join([*lines, *("f " + " ".join(str(one + 1) for one in polygon) for polygon in polygons), ""])


def off_of(vertices, polygons):
    lines = ["COFF # by hand", f"{len(vertices)} {len(polygons)} 0", ""]
    lines += ["{!r} {!r} {!r} 0.1 0.2 0.3 1".format(*row) for row in vertices.tolist()]
    return "\n".join([*lines, *(f"{len(one)} " + " ".join(map(str, one)) + " 255 0 0" for one in polygons), ""])


def read(tmp_path, text, suffix=".obj"):
    path = tmp_path / f"file{suffix}"
    path.write_text(text)
    [part] = read_parts(path).parts
    return part


def area_of(outline):
    x, y = np.array(outline, float).T
    return 0.5 * (x @ np.roll(y, -1) - y @ np.roll(x, -1))


def check_prism(part, outline):
    """Check the number of triangles, the volume, the surface, and that the mesh is closed."""
    count = len(outline)
    assert len(part.faces) == 2 * (count - 2) + 2 * count
    a, b, c = (part.vertices[part.faces[:, k]] for k in range(3))
    crosses = np.cross(b - a, c - a)
    area = area_of(outline)
    around = np.linalg.norm(np.array(outline, float) - np.roll(outline, -1, axis=0), axis=1).sum()
    np.testing.assert_allclose(0.5 * np.linalg.norm(crosses, axis=1).sum(), 2 * area + around)
    np.testing.assert_allclose((a * crosses).sum() / 6, area)
    assert bp.Mesh(part.vertices, part.faces).is_watertight


@pytest.mark.parametrize("write", [obj_of, off_of])
@pytest.mark.parametrize("first", range(8))
def test_concave_faces_are_cut_within_their_outline(tmp_path, first, write):
    outline = NOTCHED[first:] + NOTCHED[:first]
    part = read(tmp_path, write(*prism(outline)), ".obj" if write is obj_of else ".off")
    check_prism(part, outline)
    in_notch = bp.Shapes(bp.Box(0.5, 0.5, 0.5), [[3, 3, 0.5]])
    assert len(bp.overlaps(in_notch, bp.Shapes(bp.Mesh(part.vertices, part.faces), [[0, 0, 0]]))) == 0


@pytest.mark.parametrize("seed", range(40))
def test_random_outlines_are_cut_within_themselves(tmp_path, seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(4, 30))
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False) + 0.1 * rng.random(count) / count
    radii = rng.uniform(0.2, 2.0, count)
    outline = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    turn *= np.linalg.det(turn)
    part = read(tmp_path, obj_of(*prism(outline, lambda rows: rows @ turn.T)))
    check_prism(part, outline)


def test_polygon_with_a_hole_joined_by_a_cut_is_read(tmp_path):
    outline = [(0, 0), (9, 0), (9, 9), (0, 9), (0, 0), (3, 3), (3, 6), (6, 6), (6, 3), (3, 3)]
    vertices = np.array([(x, y, 0) for x, y in outline], float)
    part = read(tmp_path, obj_of(vertices, [list(range(10))]))
    a, b, c = (part.vertices[part.faces[:, k]] for k in range(3))
    crosses = np.cross(b - a, c - a)[:, 2]
    assert (crosses >= 0).all()
    assert crosses.sum() / 2 == 72


def test_faces_that_cross_themselves_or_are_flat_are_read(tmp_path):
    bow = np.array([(0, 0, 0), (2, 2, 0), (2, 0, 0), (0, 2, 0)], float)
    assert len(read(tmp_path, obj_of(bow, [[0, 1, 2, 3]])).faces) == 2
    line = np.array([(k * k, k * k, 0) for k in range(6)], float)
    assert len(read(tmp_path, obj_of(line, [list(range(6))])).faces) == 4


def test_face_made_to_take_long_is_refused(tmp_path):
    # A spiral band: of most corners, the triangle holds others.
    turns = np.linspace(0, 60 * np.pi, 4000)
    spiral = np.stack([turns * np.cos(turns), turns * np.sin(turns), 0 * turns], axis=1)
    outline = np.concatenate([spiral, spiral[::-1] * 1.001])
    with pytest.raises(
        bp.errors.FileFormatError, match=r"a face of 8,000 corners takes too long .*: triangulate the mesh"
    ):
        read(tmp_path, obj_of(outline, [list(range(len(outline)))]))


def test_concave_quadrangles_are_cut_from_the_corner_that_points_inwards(tmp_path):
    dart = np.array([(0, 0, 0), (4, 0, 0), (1, 1, 0), (0, 4, 0)], float)
    for first in range(4):
        order = [(k + first) % 4 for k in range(4)]
        part = read(tmp_path, obj_of(dart, [order]))
        a, b, c = (part.vertices[part.faces[:, k]] for k in range(3))
        crosses = np.cross(b - a, c - a)[:, 2]
        assert (crosses > 0).all()
        assert crosses.sum() == 8


def test_mixed_faces_of_off_are_read(tmp_path):
    text = "OFF 5 3 0\n0 0 0\n1 0 0\n1 1 0 # a corner\n\n0 1 0\n2 2 2\n5 0 1 4 2 3\n3 0 1 2\n4 0 1 2 3\n"
    part = read(tmp_path, text, ".off")
    assert part.name == "file"
    assert len(part.faces) == 6
    assert part.faces[3:].tolist() == [[0, 1, 2], [0, 1, 2], [0, 2, 3]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("OFF\n3 1\n0 0 0\n1 0 0\n", "vertex 2 is missing: the file declares 3"),
        ("OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", "face 1 is missing: the file declares 2"),
        ("OFF\n3 1 0\n0 0 0\n1 x 0\n0 1 0\n3 0 1 2\n", "line 4: 1 x 0: vertex 1 needs three numbers"),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n", "line 6: 3 0 1 3: face 0 needs its number of corners and rows"),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n4 0 1 2\n", "line 6: 4 0 1 2: face 0 needs its number"),
        ("OFF\n999999999999 1 0\n0 0 0\n", "vertex 1 is missing: the file declares 999,999,999,999"),
        ("OFF BINARY\n", "line 1: not an .off file as text"),
        ("4OFF\n3 1 0\n", "line 1: not an .off file as text"),
        ("", "line 1: not an .off file as text"),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n2 0 1\n", r"has no triangles; not read: faces of less .* \(line 6\)"),
    ],
)
def test_damaged_off_file_names_the_line(tmp_path, text, message):
    with pytest.raises(bp.errors.FileFormatError, match=rf"file\.off: {message}"):
        read(tmp_path, text, ".off")
