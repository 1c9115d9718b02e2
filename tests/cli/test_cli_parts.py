"""What `broadphase info` says of a file of parts, and `--parts` of every command that reads them."""

import json

import pytest

from broadphase import cli
from broadphase.cli.options import BOX_PARTS
from broadphase.mesh_formats import PART_KINDS
from mesh_files import BOX, BOX_FACES, Gltf, obj_of_box

pytest.importorskip("typer")


@pytest.fixture
def run(capsys):
    def run_and_read(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run_and_read


@pytest.fixture
def engine(tmp_path):
    """An object of two groups apart, an object without faces, an open one, and two of one name."""
    lines = obj_of_box("block", (0, 0, 0), 1).replace("o block", "o block\ng left")
    lines += "g right\n" + obj_of_box("", (2, 0, 0), 9)[3:] + "o hollow\n"
    lines += "\n".join(obj_of_box("lid", (4, 0, 0), 17).splitlines()[:-1]) + "\n"
    lines += obj_of_box("lid", (6, 0, 0), 25) + "o\n" + obj_of_box("", (8, 0, 0), 33)[3:]
    path = tmp_path / "engine.obj"
    path.write_text(lines)
    return path


def test_info_lists_the_parts_and_what_users_trip_over(engine, run):
    code, out, err = run("info", engine)
    assert code == 0
    assert "4: objects" in " ".join(out.split())
    assert "not named" in out
    rows = [line.split() for line in out.splitlines()]
    assert ["block", "24", "yes", "0,", "0,", "0", "3,", "1,", "1"] in rows
    assert ["lid", "11", "no", "4,", "0,", "0", "5,", "1,", "1"] in rows
    warnings = [line.partition("engine.obj: ")[2] for line in err.splitlines()]
    assert warnings == [
        "1 of 4 parts without a name in the file, called engine",
        "the same name for several parts, which get numbers: lid (2 times)",
        "1 of 4 parts not closed, so that nothing can be inside: lid",
        "without triangles, and no parts: hollow",
    ]


def test_info_gives_the_same_as_json_for_each_choice(engine, run):
    facts = json.loads(run("info", engine, "--json")[1])
    assert (facts["part_type"], facts["part_count"], facts["unit"]) == ("object", 4, None)
    assert (facts["row_type"], facts["box_count"]) == ("triangle", 24 + 11 + 12 + 12)
    assert facts["parts"][0] == {
        "name": "block", "parent": None, "type": None, "triangles": 24, "closed": True, "lower": [0, 0, 0],
        "upper": [3, 1, 1],
    }  # fmt: skip
    assert len(facts["warnings"]) == 4
    for kind, word, count in (
        ("group", "group", 5),
        ("connected", "connected piece of an object", 5),
        ("material", "material", 4),
    ):
        facts = json.loads(run("info", engine, "--parts", kind, "--json")[1])
        assert (facts["part_type"], facts["part_count"], facts["box_count"]) == (word, count, count)
    assert json.loads(run("info", engine, "--parts", "--json")[1])["box_count"] == 4
    code, _, err = run("info", engine, "--parts", "mesh")
    assert (code, "engine.obj: .obj files have no parts='mesh', only 'object', 'group'" in err) == (2, True)
    assert run("info", engine, "--names", "x")[0] == 2


def test_info_of_many_parts_shows_the_first(tmp_path, run):
    made = Gltf()
    for number in range(100):
        made.node(made.primitive(BOX, BOX_FACES), name=f"bolt {number}", translation=[2 * number, 0, 0])
    (tmp_path / "a.glb").write_bytes(made.as_glb())
    code, out, err = run("info", tmp_path / "a.glb")
    assert (code, err) == (0, "")
    assert "and 80 more; --json lists all" in out
    assert "bolt 19" in out
    assert "bolt 20" not in out
    assert "lower (m)" in out
    assert len(json.loads(run("info", tmp_path / "a.glb", "--json")[1])["parts"]) == 100


def test_parts_take_a_kind_or_none_in_commands_on_boxes(engine, run, tmp_path):
    other = tmp_path / "other.obj"
    other.write_text(obj_of_box("x", (0.5, 0, 0), 1))
    for arguments, count in (
        ((engine, "--parts"), 4),
        ((engine, "--parts", "auto"), 4),
        (("--parts", "group", engine), 5),
        ((engine, "--parts=connected"), 5),
    ):
        assert json.loads(run("count", *arguments, "--json")[1])["box_counts"] == [count]
    code, out, _ = run("count", "--parts", engine, other)
    assert (code, out.strip()) == (0, "1")
    for command in ("pairs", "explain"):
        assert run(command, engine, "--parts", "connected")[0] == 0
        code, _, err = run(command, engine, "--parts=grup")
        assert (code, "unknown parts 'grup' (did you mean 'group'?)" in err) == (2, True)
    (tmp_path / "a.csv").write_text("0,0,1,1\n")
    code, _, err = run("count", tmp_path / "a.csv", "--parts", "group")
    assert (code, "a.csv is not a file of meshes" in err) == (2, True)
    assert ("auto", *PART_KINDS) == BOX_PARTS


def test_clash_takes_a_kind_of_parts(engine, run):
    code, out, _ = run("clash", engine, "--parts", "connected", "--clearance", "1.5", "--json")
    answer = json.loads(out)
    assert (code, answer["parts"], answer["part_types"]) == (0, 5, ["connected piece of an object"])
    assert answer["counts"]["near"] == 4
    code, _, err = run("clash", engine, "--parts", "pieces")
    assert (code, "--parts" in err, "unknown parts 'pieces'" in err) == (2, True, True)
    code, _, err = run("clash", engine, "--parts", "mesh")
    assert (code, "engine.obj: .obj files have no parts='mesh'" in err) == (2, True)


def test_files_of_very_different_sizes_are_a_doubt_about_units(tmp_path, run):
    made = Gltf()
    made.node(made.primitive(BOX, BOX_FACES), name="pipe")
    (tmp_path / "pipe.glb").write_bytes(made.as_glb())
    (tmp_path / "wall.obj").write_text(obj_of_box("wall", (0, 0, 0), 1, size=1000.0))
    _, _, err = run("clash", tmp_path / "pipe.glb", tmp_path / "wall.obj")
    assert "wall.obj is 1,000 times as large as" in err
    assert "wall.obj names no unit and" in err
    assert "pipe.glb is in m; are both in the same unit?" in err
    (tmp_path / "wall.obj").write_text(obj_of_box("wall", (0, 0, 0), 1, size=10.0))
    assert run("clash", tmp_path / "pipe.glb", tmp_path / "wall.obj")[2] == ""
