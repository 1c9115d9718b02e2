"""Parts of .obj files: each object is one, whatever its materials, and nothing is left out without a word."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.io import read_boxes, read_parts
from mesh_files import BOX, BOX_FACES, names_in_runs, obj_of_box, triangles_of

CORNERS = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"


def read(tmp_path, text, **options):
    path = tmp_path / "file.obj"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_parts(path, **options).parts


def test_each_object_is_a_part_so_that_their_clashes_are_found(tmp_path):
    text = "usemtl steel\n" + "".join(obj_of_box(f"part{k}", (0.75 * k, 0, 0), 8 * k + 1) for k in range(5))
    parts = read(tmp_path, text)
    assert [part.name for part in parts] == [f"part{k}" for k in range(5)]
    for number, part in enumerate(parts):
        np.testing.assert_array_equal(part.vertices, np.add(BOX, [0.75 * number, 0, 0]))
        np.testing.assert_array_equal(part.faces, BOX_FACES)
    found = bp.clashes(parts)
    assert found.pairs.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert set(found.kinds) == {"penetrates"}
    file = read_boxes(tmp_path / "file.obj", parts=True)
    assert file.boxes[:, 0, 0].tolist() == [0, 0.75, 1.5, 2.25, 3]
    assert file.names.tolist() == [part.name for part in parts]


def test_object_of_several_materials_and_groups_is_one_closed_part(tmp_path):
    lines = obj_of_box("house", (0, 0, 0), 1).splitlines()
    text = "\n".join([*lines[:11], "usemtl glass", *lines[11:15], "g roof", "usemtl clay", *lines[15:], ""])
    text += obj_of_box("cat", (0.25, 0.25, 0.25), 9, size=0.5)
    house, cat = read(tmp_path, text)
    assert triangles_of(house.vertices, house.faces) == triangles_of(BOX, BOX_FACES)
    assert bp.Mesh(house.vertices, house.faces).is_watertight
    assert bp.clashes([house, cat]).kinds.tolist() == ["contains"]


GROUPS = CORNERS + (
    "f 1 2 3\ng left\nusemtl red\nf 1 2 3\no a\ng left\nf 2 3 4\ng right top\nusemtl blue\nf 1 2 3\ng left\n"
    "usemtl red\nf 3 4 1\no a\nf 1 2 4\n"
)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ("object", [("file", 2, None), ("a", 3, None), ("a (2)", 1, None)]),
        (
            "group",
            [
                ("file", 1, None),
                ("left", 1, None),
                ("left (2)", 2, "a"),
                ("right top", 1, "a"),
                ("left (3)", 1, "a (2)"),
            ],
        ),
        (
            "material",
            [("file", 1, None), ("red", 1, None), ("red (2)", 2, "a"), ("blue", 1, "a"), ("red (3)", 1, "a (2)")],
        ),
    ],
)
def test_parts_are_objects_groups_or_materials_in_the_order_of_the_file(tmp_path, parts, expected):
    found = read(tmp_path, GROUPS, parts=parts)
    assert [(part.name, len(part.faces), part.parent) for part in found] == expected


def test_parts_of_an_unknown_kind_or_of_other_formats_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"unknown parts 'groups' .*did you mean 'group'"):
        read(tmp_path, GROUPS, parts="groups")
    (tmp_path / "a.stl").write_text("solid a\nendsolid\n")
    with pytest.raises(ValueError, match=r"a\.stl: \.stl files have no parts='group', only 'object' and 'connected'"):
        read_parts(tmp_path / "a.stl", parts="group")


def test_names_are_the_same_in_every_run(tmp_path):
    text = CORNERS + "".join(f"o {'ab'[k % 2]}\nusemtl m{k % 3}\nf 1 2 3\nf 2 3 4\n" for k in range(6))
    (tmp_path / "file.obj").write_text(text)
    assert names_in_runs(tmp_path / "file.obj") == {"['a', 'b', 'a (2)', 'b (2)', 'a (3)', 'b (3)']"}


def test_forms_of_faces_and_vertices_are_read(tmp_path):
    text = (
        "# made by hand\nmtllib none.mtl\nv 0 0 0 1.0\r\nv 1 0 0 0.5 0.5 0.5\nv 1 1 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\n"
        "o of all kinds \ns off\nf 1/1/1 2//1 3/1\nf -4 -3 \\\n -1\nv 9 9 9\nf 1 2 3 4\n"
    )
    [part] = read(tmp_path, text)
    assert part.name == "of all kinds"
    assert triangles_of(part.vertices, part.faces) == triangles_of(
        [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 1, 3], [0, 1, 2], [0, 2, 3]]
    )
    assert len(part.vertices) == 4  # the one that no face has is not one of the part


def test_material_files_are_not_opened(tmp_path):
    (tmp_path / "file.mtl").mkdir()
    assert len(read(tmp_path, "mtllib file.mtl\nmtllib /dev/zero\n" + CORNERS + "f 1 2 3\n")) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("v 1 2", r"line 5: v 1 2: a vertex needs three numbers"),
        ("v 1 2 x", r"line 5: v 1 2 x: a vertex needs three numbers"),
        ("f 1 2 x", r"line 5: f 1 2 x: a face needs row numbers of vertices, from 1 on"),
        ("f 1 2 0", r"line 5: f 1 2 0: a face needs row numbers"),
        ("f 1 2 -5", r"line 5: f 1 2 -5: a face needs row numbers"),
        ("f 1 2 99999999999999999999", r"line 5: f 1 2 9+: a face needs row numbers"),
        ("o a\nf 1 2 5", r"object a: a face has vertex 5, which does not exist: there are 4"),
        ("f 1 2 5", r"an object without a name: a face has vertex 5, which does not exist: there are 4"),
    ],
)
def test_damaged_line_is_named(tmp_path, line, message):
    with pytest.raises(bp.errors.FileFormatError, match=rf"file\.obj: {message}"):
        read(tmp_path, f"{CORNERS}{line}\nf 1 2 3\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("l 1 2\nl 2 3", r"lines \(line 6 and 1 more\)"),
        ("p 1", r"points \(line 6\)"),
        ("curv 0 1 1 2", r"curves \(line 6\)"),
        ("surf 0 1 0 1 1 2 3 4", r"surfaces \(line 6\)"),
        ("call other.obj", r"other files \(line 6\)"),
        ("f 1 2", r"faces of less than three corners \(line 6\)"),
        ("face 1 2 3", r"unknown statements \(line 6, face\)"),
    ],
)
def test_what_is_not_read_is_named_by_a_warning(tmp_path, line, message):
    with pytest.warns(bp.errors.PartialFileWarning, match=rf"file\.obj: not read: {message}$"):
        assert len(read(tmp_path, f"{CORNERS}f 1 2 3\n{line}\n")) == 1


def test_names_that_are_not_utf_8_are_read(tmp_path):
    assert read(tmp_path, CORNERS.encode() + b"o T\xfcr\nf 1 2 3\n")[0].name == "Tür"
    assert read(tmp_path, CORNERS + "o Tür\nf 1 2 3\n")[0].name == "Tür"
