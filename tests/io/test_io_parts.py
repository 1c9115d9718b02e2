"""What a part of a file is: each choice of each format, connected pieces, and what is said where there is no choice."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.io import read_boxes, read_parts
from broadphase.io.meshes import PARTS_OF
from broadphase.io.part_file import metres_of, unit_named
from broadphase.mesh_formats import PART_KINDS, MeshNode, split_into_pieces
from mesh_files import BOX, BOX_FACES, Gltf, obj_of_box, triangles_of

SQUARE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]


def pieces_by_search(vertices, faces):
    """The number of the piece of each face, in the order of first faces: by walking from triangle to triangle."""
    positions = [tuple(row) for row in (np.asarray(vertices) + 0.0).tolist()]
    found = [-1] * len(faces)
    for first in range(len(faces)):
        if found[first] >= 0:
            continue
        number, waiting = max(found) + 1, [first]
        found[first] = number
        while waiting:
            corners = {positions[row] for row in faces[waiting.pop()]}
            for other, face in enumerate(faces):
                if found[other] < 0 and corners & {positions[row] for row in face}:
                    found[other] = number
                    waiting.append(other)
    return found


def node_of(vertices, faces, name="part", parent=None):
    return MeshNode(name, np.asarray(vertices, float), np.asarray(faces, np.int64).reshape(-1, 3), np.eye(4), parent)


@pytest.mark.parametrize("seed", range(60))
def test_pieces_are_those_of_a_search(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 40))
    vertices = rng.integers(-1, 3, (count, 3)) * -1.0  # with -0.0, and many in the same place
    faces = rng.integers(0, count, (int(rng.integers(1, 25)), 3))
    expected = np.array(pieces_by_search(vertices, faces.tolist()))
    pieces, owners = split_into_pieces([node_of(vertices, faces)])
    assert len(pieces) == expected.max() + 1
    assert owners.tolist() == [0] * len(pieces)
    for number, piece in enumerate(pieces):
        assert piece.vertices[piece.faces].tolist() == vertices[faces[expected == number]].tolist()
        if len(pieces) > 1:
            assert set(np.ravel(piece.faces)) == set(range(len(piece.vertices)))  # no vertices but its own
            assert (piece.name, piece.parent) == (f"part ({number + 1})", "part")
    if len(pieces) == 1:
        assert pieces[0].name == "part"


@pytest.mark.parametrize("order", ["rows", "reversed", "shuffled"])
def test_long_strips_and_soups_are_one_piece_and_apart(order):
    count = 20_000
    rng = np.random.default_rng(0)
    faces = np.stack([np.arange(count - 2), np.arange(1, count - 1), np.arange(2, count)], axis=1)
    number = {"rows": np.arange(count), "reversed": np.arange(count)[::-1], "shuffled": rng.permutation(count)}[order]
    vertices = rng.random((count, 3))
    [one], _ = split_into_pieces([node_of(vertices, number[faces])])
    assert one.name == "part"
    soup = vertices[number[faces]].reshape(-1, 3)
    assert len(split_into_pieces([node_of(soup, np.arange(len(soup)).reshape(-1, 3))])[0]) == 1
    apart = rng.random((3000, 3))
    assert len(split_into_pieces([node_of(apart, np.arange(3000).reshape(-1, 3))])[0]) == 1000


def test_positions_of_one_key_are_told_apart(monkeypatch):
    """Where all positions have the same hash, the answer is the same."""
    from broadphase.mesh_formats import pieces

    rng = np.random.default_rng(3)
    vertices = rng.integers(0, 3, (60, 3)).astype(float)
    faces = rng.integers(0, 60, (30, 3))
    expected = split_into_pieces([node_of(vertices, faces)])[0]
    monkeypatch.setattr(pieces, "_MIX", np.uint64(0))
    found = split_into_pieces([node_of(vertices, faces)])[0]
    assert [one.faces.tolist() for one in found] == [one.faces.tolist() for one in expected]


def test_pieces_of_nodes_of_one_mesh_share_their_arrays_and_names_differ():
    both = np.concatenate([BOX, BOX + 5]), np.concatenate([BOX_FACES, BOX_FACES + 8])
    one = node_of(*both, "bolt")
    nodes = [one, one._replace(name="bolt (2)"), node_of(BOX, BOX_FACES, "bolt (1)", "group")]
    found, owners = split_into_pieces(nodes)
    assert owners.tolist() == [0, 0, 1, 1, 2]
    assert [node.name for node in found] == ["bolt (1)", "bolt (2)", "bolt (2) (1)", "bolt (2) (2)", "bolt (1) (2)"]
    assert [node.parent for node in found] == ["bolt", "bolt", "bolt (2)", "bolt (2)", "group"]
    assert found[0].vertices is found[2].vertices
    assert found[1].faces is found[3].faces


def test_unit_names_are_one_for_each_unit():
    for names in (
        ("mm", "millimeter", "millimeters", 0.001, "0.001 * meters"),
        ("in", "inches", 0.0254),
        ("m", "meter", 1),
    ):
        assert {unit_named(name) for name in names} == {names[0]}
    assert unit_named("parsec") == "parsec"
    assert metres_of(unit_named(0.3)) == 0.3
    with pytest.raises(ValueError, match="'parsec' is no unit"):
        metres_of("parsec")


# ---- each choice of each format ----


def of_materials(made):
    """A node of two materials and a primitive without one, and a copy of it; both of one mesh."""
    made.tree["materials"] = [{"name": "steel"}, {}]
    one, two, three = (
        made.primitive(BOX, BOX_FACES[:5], material=0),
        made.primitive(BOX, BOX_FACES[5:9], material=1),
        made.primitive(BOX, BOX_FACES[9:]),
    )
    four = made.primitive(BOX + 7, BOX_FACES, material=0)
    first = made.node(one, two, three, four, name="pump", mesh={"name": "casting"})
    made.node(name="pump", translation=[0, 0, 9])
    made.tree["nodes"][-1]["mesh"] = made.tree["nodes"][first]["mesh"]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ("object", [("pump", 24, None), ("pump (2)", 24, None)]),
        (
            "material",
            [
                ("steel", 17, "pump"), ("pump", 4, "pump"), ("pump (2)", 3, "pump"),
                ("steel (2)", 17, "pump (2)"), ("pump (3)", 4, "pump (2)"), ("pump (4)", 3, "pump (2)"),
            ],
        ),
        ("mesh", [("casting", 48, None)]),
        (
            "connected",
            [("pump (1)", 12, "pump"), ("pump (2)", 12, "pump"), ("pump (2) (1)", 12, "pump (2)"),
             ("pump (2) (2)", 12, "pump (2)")],
        ),
    ],
)  # fmt: skip
def test_parts_of_gltf(tmp_path, parts, expected):
    made = Gltf()
    of_materials(made)
    (tmp_path / "a.glb").write_bytes(made.as_glb())
    file = read_parts(tmp_path / "a.glb", parts=parts)
    found = [(part.name, len(part.faces)) for part in file.parts]
    assert found == [(name, count) for name, count, _ in expected]
    everything = np.concatenate([part.placed_vertices()[part.faces] for part in file.parts]).reshape(-1, 3)
    whole = np.concatenate([BOX, BOX + 7, np.add(BOX, [0, 0, 9]), np.add(BOX, [7, 7, 16])])
    assert {tuple(row) for row in everything.tolist()} == {tuple(row) for row in whole.tolist()}
    if parts != "material":
        assert [part.parent for part in file.parts] == [parent for _, _, parent in expected]
        return
    assert len({part.parent for part in file.parts}) == 2
    with_parent = [part.parent for part in file.parts]
    assert with_parent == [with_parent[0]] * 3 + [with_parent[3]] * 3


def test_mesh_is_a_part_with_all_its_places(tmp_path):
    made = Gltf()
    made.node(made.primitive(BOX, BOX_FACES), name="bolt 0", mesh={"name": "M8"})
    for place in (1, 2):
        made.node(name=f"bolt {place}", translation=[2 * place, 0, 0])
        made.tree["nodes"][-1]["mesh"] = 0
    (tmp_path / "a.glb").write_bytes(made.as_glb())
    nodes = read_parts(tmp_path / "a.glb").parts
    assert nodes[0].vertices is nodes[2].vertices
    [mesh] = read_parts(tmp_path / "a.glb", parts="mesh").parts
    assert (mesh.name, len(mesh.faces)) == ("M8", 36)
    assert read_boxes(tmp_path / "a.glb", parts="mesh").boxes.tolist() == [[[0, 0, 0], [5, 1, 1]]]


def test_connected_pieces_of_objects(tmp_path):
    lines = obj_of_box("bolts", (0, 0, 0), 1) + obj_of_box("", (3, 0, 0), 9)[3:] + obj_of_box("nut", (9, 0, 0), 17)
    (tmp_path / "a.obj").write_text(lines)
    parts = read_parts(tmp_path / "a.obj", parts="connected").parts
    assert [(part.name, part.parent) for part in parts] == [
        ("bolts (1)", "bolts"), ("bolts (2)", "bolts"), ("nut", None)
    ]  # fmt: skip
    assert {part.base_name for part in parts} == {"bolts", "nut"}
    for part, x in zip(parts, (0, 3, 9), strict=True):
        assert triangles_of(part.vertices, part.faces) == triangles_of(np.add(BOX, [x, 0, 0]), BOX_FACES)
    file = read_boxes(tmp_path / "a.obj", parts="connected")
    assert file.boxes[:, 0, 0].tolist() == [0, 3, 9]
    assert file.names.tolist() == [part.name for part in parts]
    assert len(read_boxes(tmp_path / "a.obj", parts=True).boxes) == 2
    assert len(read_boxes(tmp_path / "a.obj", parts="object").boxes) == 2


def test_single_object_gives_its_pieces_without_scipy(tmp_path, monkeypatch):
    import sys

    for library in ("scipy", "scipy.sparse", "trimesh"):
        monkeypatch.setitem(sys.modules, library, None)
    text = "solid two\n"
    for corners in np.concatenate([BOX[BOX_FACES], (BOX + 4)[BOX_FACES]]).tolist():
        rows = "".join("vertex {} {} {}\n".format(*corner) for corner in corners)
        text += f"facet normal 0 0 0\nouter loop\n{rows}endloop\nendfacet\n"
    (tmp_path / "a.stl").write_text(text + "endsolid\n")
    file = read_boxes(tmp_path / "a.stl", parts=True)
    assert file.boxes.tolist() == [[[0, 0, 0], [1, 1, 1]], [[4, 4, 4], [5, 5, 5]]]
    assert [part.name for part in read_parts(tmp_path / "a.stl", parts="connected").parts] == ["two (1)", "two (2)"]


def test_choice_that_a_format_does_not_have_names_what_it_has(tmp_path):
    for suffix, known in PARTS_OF.items():
        path = tmp_path / f"a{suffix}"
        path.write_bytes(b"")
        for kind in PART_KINDS:
            if kind in known:
                continue
            for read in (read_parts, read_boxes):
                with pytest.raises(
                    ValueError, match=rf"a\{suffix}: \{suffix} files have no parts='{kind}', only 'object'"
                ):
                    read(path, parts=kind)
    with pytest.raises(ValueError, match=r"a\.xyz: \.xyz files have no parts='group', only 'object', 'mesh' and 'conn"):
        read_parts(tmp_path / "a.xyz", parts="group")
    for wrong in ("groups", 3, None, ["group"]):
        with pytest.raises(ValueError, match="unknown parts"):
            read_parts(tmp_path / "a.obj", parts=wrong)
    (tmp_path / "a.csv").write_text("0,0,1,1\n")
    with pytest.raises(ValueError, match=r"a\.csv: csv files have one kind of parts"):
        read_boxes(tmp_path / "a.csv", parts="group")


def test_names_of_the_file_are_kept_besides_those_that_differ(tmp_path):
    made = Gltf()
    square = made.primitive(SQUARE, [[0, 1, 2]])
    made.node(square, name="bolt")
    made.node(square, name="bolt")
    made.node(square)
    made.node(name="nothing")
    made.tree["nodes"][-1]["mesh"] = made.add("meshes", primitives=[])
    (tmp_path / "a.gltf").write_bytes(made.as_gltf())
    file = read_parts(tmp_path / "a.gltf")
    assert [(part.name, part.given_name) for part in file.parts] == [
        ("bolt", "bolt"), ("bolt (2)", "bolt"), ("a", None)
    ]  # fmt: skip
    assert (file.part_type, file.empty) == ("node", ("nothing",))
    (tmp_path / "a.obj").write_text(obj_of_box("a", (0, 0, 0), 1) + "o hollow\ng x\no\nf 1 2 3\n")
    file = read_parts(tmp_path / "a.obj")
    assert [(part.name, part.given_name) for part in file.parts] == [("a", "a"), ("a (2)", None)]
    assert (file.part_type, file.empty) == ("object", ("hollow",))
    assert read_parts(tmp_path / "a.obj", parts="group").part_type == "group"
    (tmp_path / "a.stl").write_text(
        "solid one\nendsolid\nsolid\nfacet\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendsolid\n"
    )
    file = read_parts(tmp_path / "a.stl")
    assert [(part.name, part.given_name) for part in file.parts] == [("a", None)]
    assert (file.part_type, file.empty) == ("solid", ("one",))


def test_clashes_of_pieces_have_reports(tmp_path):
    lines = obj_of_box("bolts", (0, 0, 0), 1) + obj_of_box("", (0.5, 0.5, 0.5), 9)[3:]
    (tmp_path / "a.obj").write_text(lines)
    file = read_parts(tmp_path / "a.obj", parts="connected")
    assert bp.clashes(file.parts).kinds.tolist() == ["penetrates"]
    bp.io.write_clashes(tmp_path / "a.json", bp.clashes(file.parts), [file], group_by="parent")
    report = bp.io.describe_clashes(bp.clashes(file.parts), [file], group_by="name", baseline=tmp_path / "a.json")
    assert [(one["first"], one["second"], one["status"]) for one in report["groups"]] == [
        ("bolts", "bolts", "unchanged")
    ]
