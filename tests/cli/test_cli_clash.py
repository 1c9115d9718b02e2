"""The command `broadphase clash`: parts from files, reports, filters and exit codes."""

import base64
import csv
import json
import re
import zipfile
import zlib

import numpy as np
import pytest

import broadphase as bp
from broadphase import cli, io
from mesh_files import BOX, BOX_FACES, Gltf, obj_of_box

pytest.importorskip("typer")
trimesh = pytest.importorskip("trimesh")


@pytest.fixture
def run(capsys):
    def run_and_read(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run_and_read


def moved(x, y=0.0, z=0.0):
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


@pytest.fixture
def engine(tmp_path):
    """A block, a bolt in it, a cover that touches it, a pipe near the cover, and a second cover in its place."""
    scene = trimesh.Scene()
    scene.graph.update("assembly", "world", matrix=moved(10))
    scene.add_geometry(trimesh.creation.box((2, 2, 2)), node_name="block", geom_name="box", parent_node_name="assembly")
    scene.add_geometry(
        trimesh.creation.box((0.5, 0.5, 3)), node_name="bolt", geom_name="bolt", parent_node_name="assembly"
    )
    for name in ("cover", "cover again"):
        scene.graph.update(name, "world", geometry="box", matrix=moved(12))
    scene.add_geometry(trimesh.creation.box((1, 1, 1)), node_name="pipe", geom_name="pipe", transform=moved(13.55))
    scene.add_geometry(
        trimesh.creation.box((0.1, 0.1, 0.1)), node_name="stone", geom_name="stone", transform=moved(12, 0.3)
    )
    path = tmp_path / "engine.glb"
    scene.export(path)
    return path


EXPECTED = {
    ("block", "bolt"): "penetrates", ("block", "cover"): "touches", ("block", "cover again"): "touches",
    ("cover", "cover again"): "duplicate", ("cover", "pipe"): "near", ("cover again", "pipe"): "near",
    ("cover", "stone"): "contains", ("cover again", "stone"): "contains",
}  # fmt: skip


def kinds_of(report):
    names = [part["name"] for part in report["parts"]]
    return {tuple(sorted(names[row] for row in clash["parts"])): clash["kind"] for clash in report["clashes"]}


def test_report_has_every_clash_by_name(engine, run, tmp_path):
    code, out, err = run("clash", engine, "--clearance", 0.1, "--tolerance", 1e-4, "-o", tmp_path / "report.json")
    assert (code, err) == (4, "")
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert kinds_of(report) == EXPECTED
    assert report["unit"] == "m"
    assert [clash["kind"] for clash in report["clashes"]][:2] == ["duplicate", "penetrates"]
    assert all(part["watertight"] for part in report["parts"])
    for text in ("penetrates", "cover again", "in m: clearance 0.1, tolerance 0.0001", "none: all are solid"):
        assert text in out
    code, _, _ = run("clash", engine, "--clearance", 0.1, "--tolerance", 1e-4, "-o", tmp_path / "report.csv")
    assert code == 4
    with (tmp_path / "report.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {tuple(sorted((row["first"], row["second"]))): row["kind"] for row in rows} == EXPECTED
    near = next(row for row in rows if row["kind"] == "near")
    assert abs(float(near["gap"]) - 0.05) < 1e-6
    assert {row["outer"] for row in rows if row["kind"] == "contains"} <= {"cover", "cover again"}


def test_filters_and_exit_codes(engine, run, tmp_path):
    base = ("clash", engine, "--json", "--tolerance", 1e-4)
    code, out, _ = run(*base, "--no-same-parent")
    assert (code, json.loads(out)["counts"]["penetrates"]) == (4, 0)
    code, out, _ = run(*base, "--exclude", "block:bolt", "--exclude", "cover*:cover*", "--exclude", "stone:cover*")
    assert (code, json.loads(out)["hard"]) == (0, 0)
    code, out, _ = run(*base, engine, "--between-files")
    answer = json.loads(out)
    assert code == 4
    assert answer["counts"]["duplicate"] == 6 + 2  # each part and itself, and the covers crosswise
    assert answer["parts"] == 12
    code, _, err = run("clash", engine, "--exclude", "bolt")
    assert code == 2
    assert "two patterns" in err
    assert run("clash", engine, "-o", "x.txt")[0] == 2
    assert run("clash", tmp_path / "none.glb")[0] == 1


def test_patterns_that_match_nothing_are_a_warning(engine, run):
    code, out, err = run("clash", engine, "--json", "--only", "block:bolt", "--exclude", "blot*:nut")
    assert (code, json.loads(out)["counts"]["penetrates"]) == (4, 1)
    assert sum(json.loads(out)["counts"].values()) == 1
    assert err.splitlines() == [f"warning: no part has a name that matches {name}" for name in ("blot*", "nut")]
    assert run("clash", engine, "--only", "bolt")[0] == 2


def test_groups_are_lines_of_the_table(engine, run, tmp_path):
    code, out, err = run("clash", engine, "--group-by", "parent", "-o", tmp_path / "groups.csv", "--tolerance", 1e-4)
    assert (code, err) == (4, "")
    line = next(line for line in out.splitlines() if "assembly" in line)
    assert line.split()[1:4] == ["penetrates", "assembly", "assembly"]
    with (tmp_path / "groups.csv").open(newline="", encoding="utf-8") as stream:
        rows = {(row["first"], row["second"]): row["clashes"] for row in csv.DictReader(stream)}
    assert rows["assembly", "assembly"] == "1"
    found = {}
    for size in (0.01, 1000):  # 1000: what is on either side of 0
        report = tmp_path / f"{size}.json"
        code, out, _ = run("clash", engine, "--group-by", "cell", "--cell-size", size, "--json", "-o", report)
        middles = [np.mean(clash["points"], axis=0) for clash in json.loads(report.read_text("utf-8"))["clashes"]]
        found[size] = json.loads(out)["groups"]
        assert (code, found[size]) == (4, len({tuple(np.floor(middle / size)) for middle in middles}))
    assert 1 < found[1000] < found[0.01]
    for wrong in (["cell"], ["name", "--cell-size", 1], ["cell", "--cell-size", 0], ["storey"]):
        assert run("clash", engine, "--group-by", *wrong)[0] == 2
    code, _, err = run("clash", engine, "--group-by", "type")
    assert (code, "only .ifc files have" in err) == (1, True)


def test_baseline_says_what_is_new_unchanged_and_gone(engine, run, tmp_path):
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    assert run("clash", engine, "--tolerance", 1e-4, "--exclude", "stone:*", "-o", before)[0] == 4
    options = ("clash", engine, "--tolerance", 1e-4, "--exclude", "block:bolt", "--baseline", before)
    code, out, err = run(*options, "--json", "-o", after)
    assert (code, err) == (4, "")
    counts = json.loads(before.read_text("utf-8"))["counts"]
    assert json.loads(out)["statuses"] == {"new": 2, "unchanged": sum(counts.values()) - 1, "gone": 1}
    assert [one["kind"] for one in json.loads(after.read_text("utf-8"))["gone"]] == ["penetrates"]
    _, out, _ = run(*options)
    assert {"new", "unchanged", "gone"} <= set(out.split())
    assert run(*options, "-o", before)[0] == 1
    assert run("clash", engine, "--baseline", engine)[0] == 1
    code, _, err = run("clash", tmp_path / "none.glb", "--baseline", tmp_path / "none.json")  # before files are read
    assert (code, "none.json" in err, "none.glb" in err) == (1, True, False)


def test_volumes_are_in_the_table_and_in_reports(engine, run, tmp_path):
    pytest.importorskip("manifold3d")
    code, out, err = run("clash", engine, "--volume", "--only", "block:bolt", "-o", tmp_path / "a.json")
    assert (code, err) == (4, "")
    assert "volume (m³)" in out
    assert "0.5" in out.split("block")[-1].split()
    (clash,) = json.loads((tmp_path / "a.json").read_text("utf-8"))["clashes"]
    assert abs(clash["volume"] - 0.5 * 0.5 * 2) < 1e-6
    run("clash", engine, "--volume", "--baseline", tmp_path / "a.json", "--exclude", "bolt:*", "-o", tmp_path / "b.csv")
    with (tmp_path / "b.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert (rows[-1]["status"], rows[-1]["volume"]) == ("gone", repr(clash["volume"]))
    assert "volume (" not in run("clash", engine)[1]


def test_bcf_is_one_of_the_reports(engine, run, tmp_path):
    path = tmp_path / "clashes.bcf"
    for options, version in (((), "2.1"), (("--bcf-version", "3.0"), "3.0")):
        code, _, err = run("clash", engine, "-o", path, *options, "--group-by", "name")
        assert (code, err) == (4, "")
        with zipfile.ZipFile(path) as archive:
            assert f'VersionId="{version}"'.encode() in archive.read("bcf.version")
            titles = [archive.read(name) for name in archive.namelist() if name.endswith("markup.bcf")]
        assert any("cover – cover again".encode() in text for text in titles)
    for wrong in (["-o", path, "--bcf-version", "2"], ["-o", tmp_path / "a.csv", "--bcf-version", "3.0"]):
        code, _, err = run("clash", engine, *wrong)
        assert (code, "--bcf-version" in err) == (2, True)
    assert run("clash", engine, "--bcf-version", "3.0")[0] == 2


def test_unit_is_that_of_the_files_that_say_one(engine, run, tmp_path):
    path = tmp_path / "one.obj"
    trimesh.creation.box((1, 1, 1)).export(path)
    code, out, _ = run("clash", engine, path, "--json")
    assert json.loads(out)["unit"] == "m"
    assert io.read_parts(path).unit is None
    assert code == 4


def test_parts_are_where_the_scene_places_them(engine):
    file = io.read_parts(engine)
    parts = {part.name: part for part in file.parts}
    assert list(parts["block"].position) == [10, 0, 0]
    assert parts["block"].parent == "assembly"
    assert parts["cover"].parent is None
    assert parts["cover"].vertices is parts["cover again"].vertices
    rng = np.random.default_rng(0)
    for pose in (trimesh.transformations.random_rotation_matrix(rng.random(3)), np.diag([1.0, 2, -3, 1])):
        turned = pose.copy()
        turned[:3, 3] = 1, 2, 3
        made = Gltf()
        made.node(made.primitive(BOX, BOX_FACES), matrix=turned.T.ravel().tolist())
        engine.with_name("turned.gltf").write_bytes(made.as_gltf())
        (part,) = io.read_parts(engine.with_name("turned.gltf")).parts
        shapes = bp.Shapes(bp.Mesh(part.vertices, part.faces), part.position, part.rotation)
        wanted = BOX @ turned[:3, :3].T + turned[:3, 3]
        points = bp.Shapes(bp.Point(), np.asarray(wanted))
        rows = np.stack([np.arange(len(points)), np.zeros(len(points), int)], axis=1)
        assert np.abs(bp.distance(points, shapes, pairs=rows)).max() < 1e-12
        assert np.allclose(part.placed_vertices(), wanted, atol=1e-12)


def test_file_of_one_part_is_a_warning_and_no_success(run, tmp_path):
    one, two = tmp_path / "one.obj", tmp_path / "two.obj"
    one.write_text(obj_of_box("a", (0, 0, 0), 1).replace("o a", "g a") + "g b\n" + obj_of_box("", (0.5, 0, 0), 9)[2:])
    two.write_text(obj_of_box("c", (9, 0, 0), 1))
    for file in (one, two):
        code, out, err = run("clash", file, "--json")
        assert (code, json.loads(out)["parts"]) == (2, 1)
        assert re.search(rf"warning: .*{file.name} has one part only, .*name another file .*--parts group", err)
    code, out, err = run("clash", one, two, "--json")
    assert (code, json.loads(out)["parts"], err) == (0, 2, "")
    code, out, err = run("clash", one, two, "--json", "--parts", "group", "--output", tmp_path / "report.json")
    assert (code, json.loads(out)["parts"], err) == (4, 3, "")
    assert [part["name"] for part in json.loads((tmp_path / "report.json").read_text())["parts"]] == ["a", "b", "c"]
    two.with_suffix(".stl").write_bytes(bytes(80) + b"\1\0\0\0" + bytes(50))
    assert run("clash", one, two.with_suffix(".stl"), "--parts", "group")[0] == 4
    code, _, err = run("clash", two.with_suffix(".stl"), "--parts", "group")
    assert (code, "--parts: " in err, "two.stl: .stl files have no parts='group', only 'object'" in err) == (
        2,
        True,
        True,
    )
    code, _, err = run("clash", two, "--between-files")
    assert (code, "needs at least two files" in err) == (2, True)


def test_what_is_not_read_is_a_warning_of_the_command(run, tmp_path):
    path = tmp_path / "wires.obj"
    path.write_text(obj_of_box("a", (0, 0, 0), 1) + "l 1 2\n" + obj_of_box("b", (0.5, 0, 0), 9))
    for command in ("clash", "pairs", "info"):
        _, _, err = run(command, path)
        assert re.fullmatch(r"warning: .*wires\.obj: not read: lines \(line 22\)\n", err)


def test_page_holds_what_it_shows(engine, run, tmp_path):
    hostile = tmp_path / "hostile.glb"
    scene = trimesh.Scene()
    for name in ("</script><b>one", "%DATA% two"):
        scene.add_geometry(trimesh.creation.box((1, 1, 1)), node_name=name, geom_name=name, transform=moved(0.5))
    scene.export(hostile)
    for path in (engine, hostile):
        assert run("clash", path, "--clearance", 0.1, "-o", tmp_path / "page.html")[0] == 4
        page = (tmp_path / "page.html").read_text("utf-8")
        text = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)[1]
        data = json.loads(text)
        run("clash", path, "--clearance", 0.1, "-o", tmp_path / "report.json")
        report = json.loads((tmp_path / "report.json").read_text("utf-8"))
        assert {key: data[key] for key in report} == report
        parts = {part.name: part for part in io.read_parts(path).parts}
        for row, mesh in data["meshes"].items():
            part = parts[data["parts"][int(row)]["name"]]
            vertices = np.frombuffer(zlib.decompress(base64.b64decode(mesh["vertices"])), "<f8").reshape(-1, 3)
            assert np.allclose(vertices, part.placed_vertices())
            faces = np.frombuffer(zlib.decompress(base64.b64decode(mesh["faces"])), "<u4").reshape(-1, 3)
            assert np.array_equal(faces, part.faces)
        assert page.count("</script>") == 2
        assert "http" not in page.replace("http-equiv", "")
