"""What is read is never replaced by what is written, and what is not a file is never opened, whatever names it."""

import base64
import contextlib
import json
import os
import shutil
import sys

import numpy as np
import pytest

import broadphase as bp
from broadphase import cli, io, scale, scenes
from broadphase.errors import FileFormatError
from broadphase.files import refuse_inputs, require_file
from cases import run_script

BOXES = "xmin,ymin,xmax,ymax\n0,0,2,2\n1,1,3,3\n"
needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")


@pytest.fixture
def command(capsys):
    pytest.importorskip("typer")

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def spellings(folder, name):
    """Give other names of a file in the current folder."""
    os.symlink(name, folder / f"symbolic_{name}")
    os.link(folder / name, folder / f"hard_{name}")
    os.symlink(folder, folder / "again")
    return [
        name, f"./{name}", f"../{folder.name}/{name}", folder / name, f"symbolic_{name}", f"hard_{name}",
        f"again/{name}", f"again/again/symbolic_{name}",
    ]  # fmt: skip


@needs_links
def test_pairs_to_the_file_that_is_read_are_refused_by_every_spelling(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rooms.csv").write_text(BOXES)
    (tmp_path / "walls.csv").write_text(BOXES)
    names = spellings(tmp_path, "rooms.csv")
    before = content(tmp_path)
    for name in names:
        for files in (["rooms.csv"], ["walls.csv", "rooms.csv"], ["hard_rooms.csv"], ["walls.csv", names[-1]]):
            code, out, err = command("pairs", *files, "-o", name)
            assert (code, out, err.count("\n")) == (1, "", 1), (name, files)
            assert os.path.basename(name) in err
            assert "is read" in err
            assert content(tmp_path) == before


@needs_links
@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="files have no names by number")
def test_pairs_to_the_file_behind_an_open_descriptor_are_refused(command, tmp_path):
    path = tmp_path / "rooms.csv"
    path.write_text(BOXES)
    with path.open() as stream:
        (tmp_path / "out.csv").symlink_to(f"/dev/fd/{stream.fileno()}")
        code, _, err = command("pairs", path, "-o", tmp_path / "out.csv")
    assert (code, path.read_text()) == (1, BOXES), err


def test_pairs_to_another_file_or_to_nowhere_are_written(command, tmp_path):
    (tmp_path / "rooms.csv").write_text(BOXES)
    assert command("pairs", tmp_path / "rooms.csv", "-o", tmp_path / "pairs.csv")[0] == 0
    assert command("pairs", tmp_path / "rooms.csv", "-o", tmp_path / "pairs.csv")[0] == 0
    refuse_inputs(os.devnull, [os.devnull])


CUBE = [[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]
FACES = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4]]


def write_gltf(path, uri):
    """Write a mesh whose numbers are in another file, by this name."""
    numbers, corners = np.array(CUBE, np.float32).tobytes(), np.array(FACES, np.uint16).tobytes()
    views = [{"byteOffset": 0, "byteLength": len(numbers)}, {"byteOffset": len(numbers), "byteLength": len(corners)}]
    accessors = [
        {"componentType": 5126, "count": 8, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 1]},
        {"componentType": 5123, "count": 3 * len(FACES), "type": "SCALAR"},
    ]
    tree = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"name": "one", "mesh": 0}, {"name": "two", "mesh": 0, "translation": [0.5, 0, 0]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "buffers": [{"uri": uri, "byteLength": len(numbers) + len(corners)}],
        "bufferViews": [{"buffer": 0, **view} for view in views],
        "accessors": [{"bufferView": number, **one} for number, one in enumerate(accessors)],
    }
    path.write_text(json.dumps(tree))
    return numbers + corners


def write_obj(path, library):
    lines = [f"mtllib {library}", "usemtl red"]
    lines += [f"v {x} {y} {z}" for x, y, z in CUBE] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in FACES]
    path.write_text("\n".join(lines) + "\n")
    return b"newmtl red\nKd 1 0 0\n"


def test_clashes_to_a_file_of_parts_or_one_that_it_names_are_refused(command, tmp_path):
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "numbers.csv").write_bytes(write_gltf(tmp_path / "parts.gltf", "numbers.csv"))
    shutil.copy(tmp_path / "parts.gltf", tmp_path / "boxes.html")  # which no reader takes
    trimesh.creation.box().export(tmp_path / "box.stl")
    before = content(tmp_path)
    for file, output in (("parts.gltf", "numbers.csv"), ("boxes.html", "boxes.html")):
        code, _, err = command("clash", tmp_path / "box.stl", tmp_path / file, "-o", tmp_path / output)
        assert code == 1
        assert "is read" in err
        assert content(tmp_path) == before
    code, _, err = command("pairs", tmp_path / "parts.gltf", "-o", tmp_path / "numbers.csv")
    assert (code, content(tmp_path)) == (1, before), err
    assert command("clash", tmp_path / "parts.gltf", "-o", tmp_path / "new.csv")[0] in (0, 4)


def test_clashes_written_by_the_library_to_a_file_of_parts_are_refused(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "numbers.bin").write_bytes(write_gltf(tmp_path / "parts.gltf", "numbers.bin"))
    os.link(tmp_path / "parts.gltf", tmp_path / "clashes.json")
    read = io.read_parts(tmp_path / "parts.gltf")
    meshes = [bp.Mesh(part.vertices, part.faces) for part in read.parts]
    found = bp.clashes(bp.Shapes(meshes, [part.position for part in read.parts]))
    with pytest.raises(FileExistsError, match="is read"):
        io.write_clashes(tmp_path / "clashes.json", found, [read])
    assert json.loads((tmp_path / "clashes.json").read_text())["nodes"]


SCENE = {"world": {"dim": 2, "steps": 3}, "group": [{"count": 2, "shape": {"type": "circle", "radius": 1},
         "place": {"in": [[0, 0], [5, 5]]}}]}  # fmt: skip


@needs_links
def test_run_does_not_replace_its_scene_nor_one_output_by_another(command, tmp_path):
    path = tmp_path / "scene.json"
    path.write_text(json.dumps(SCENE))
    for name in ("events.csv", "page.html", "run.rrd"):
        (tmp_path / name).symlink_to("scene.json")
    before = content(tmp_path)
    for option, name in (("--events", "events.csv"), ("--replay", "page.html"), ("--record", "run.rrd")):
        code, _, err = command("run", path, option, tmp_path / name)
        assert code == 1, err
        assert "is read" in err
        assert content(tmp_path) == before
    (tmp_path / "other.html").symlink_to("new.csv")
    code, _, err = command("run", path, "--events", tmp_path / "new.csv", "--replay", tmp_path / "other.html")
    assert (code, content(tmp_path)) == (2, before), err
    with pytest.raises(FileExistsError, match="is read"):
        bp.save_replay(str(path), path)
    assert content(tmp_path) == before
    bp.save_replay(str(path), tmp_path / "whole.html")


def test_scale_does_not_write_into_what_it_reads(command, tmp_path):
    pytest.importorskip("pyarrow")
    folder = tmp_path / "boxes"
    folder.mkdir()
    lower = np.random.default_rng(1).random((500, 2)).astype(np.float32) * 10
    np.save(folder / "a.npy", np.hstack([lower, lower + 1]))
    np.save(folder / "b.npy", np.hstack([lower, lower + 1]))
    (tmp_path / "empty").mkdir()
    options = {"id": None, "lower": ("x0", "y0"), "upper": ("x1", "y1")}
    before = content(tmp_path)
    again = tmp_path / "again"
    with contextlib.suppress(OSError):
        again.symlink_to(folder)
    for output in (folder, folder / "pairs", folder / "a" / "b", tmp_path, again / "pairs", tmp_path / "boxes" / ".."):
        for files in (folder, [folder / "a.npy", folder]):
            for resume in (True, False):
                with pytest.raises(FileExistsError, match=r"which is read|are read"):
                    scale.pairs(files, output=output, resume=resume, **options)
        with pytest.raises(FileExistsError, match=r"which is read|are read"):
            scale.pairs(tmp_path / "empty" / ".." / "boxes" / "a.npy", folder, output=output, **options)
        code, _, err = command("pairs", folder, "-o", f"{output}/")
        assert code == 1, err
        assert content(tmp_path) == before
    scale.pairs(folder, output=tmp_path / "first", **options)
    scale.pairs(folder, output=folder / "_hidden", **options)
    scale.pairs(str(folder / "*.npy"), output=folder / "pairs", **options)


def test_scale_does_not_clear_results_that_it_reads(tmp_path):
    pytest.importorskip("pyarrow")
    lower = np.random.default_rng(1).random((500, 2)) * 10
    np.save(tmp_path / "a.npy", np.hstack([lower, lower + 1]))
    options = {"id": None, "lower": ("x0", "y0"), "upper": ("x1", "y1")}
    scale.pairs(tmp_path / "a.npy", output=tmp_path / "out", **options)
    before = content(tmp_path)
    with pytest.raises(FileExistsError, match="which is read"):
        scale.pairs(tmp_path / "out", output=tmp_path / "out", resume=False, id=None, lower=["first"], upper=["second"])
    assert content(tmp_path) == before


@needs_pipes
def test_pipes_devices_and_folders_are_not_opened_as_files(tmp_path):
    for name in ("a.csv", "a.npy", "a.npz", "a.json", "a.geojsonl", "a.parquet", "a.glb", "a.ifc", "a.gpkg", "a.shp"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(FileFormatError, match="a pipe, not a file"):
            io.read_boxes(tmp_path / name)
    for name in ("a.glb", "a.ifc"):
        with pytest.raises(FileFormatError, match="a pipe, not a file"):
            io.read_parts(tmp_path / name)
    with pytest.raises(FileFormatError, match="a pipe, not a file"):
        scenes.load(tmp_path / "a.json")
    with pytest.raises(FileFormatError, match="a device"):
        io.read_boxes("/dev/zero", format="csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileFormatError, match="a folder"):
        io.read_boxes(tmp_path / "folder.csv")
    require_file(tmp_path / "missing")
    require_file("zero\0byte")


@needs_pipes
def test_scale_does_not_open_pipes(tmp_path):
    pytest.importorskip("pyarrow")
    for name in ("a.npy", "a.parquet", "a.arrow"):
        os.mkfifo(tmp_path / name)
        for files in (tmp_path / name, str(tmp_path / "*")):
            with pytest.raises(FileFormatError, match="a pipe"):
                scale.pairs(files, output=tmp_path / "out", id=None, lower=["x"], upper=["X"])


URDF = '<robot name="r"><link name="a"><collision><geometry><mesh filename="{}"/></geometry></collision></link></robot>'
MJCF = (
    '<mujoco><compiler meshdir="{0}"/><asset><mesh name="m" file="{1}"/></asset>'
    '<worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>'
)
NAMED = """
import os, sys, pathlib
sys.path[:0] = {path}
from broadphase.errors import FileFormatError
import test_files_that_are_read as here, broadphase as bp
from broadphase import io
folder, what = pathlib.Path({folder!r}), {what!r}
os.chdir(folder)
if what == "gltf":
    here.write_gltf(folder / "a.gltf", "special"); call = lambda: io.read_parts("a.gltf")
elif what == "boxes of gltf":
    here.write_gltf(folder / "a.gltf", "special"); call = lambda: io.read_boxes("a.gltf")
elif what == "obj":
    here.write_obj(folder / "a.obj", "special"); call = lambda: io.read_parts("a.obj")
elif what == "shp":
    import shapely, geopandas
    geopandas.GeoSeries([shapely.box(0, 0, 1, 1)]).to_file("a.shp")
    os.unlink("a.dbf"); os.rename("special", "a.dbf"); call = lambda: io.read_boxes("a.shp")
elif what == "urdf":
    (folder / "a.urdf").write_text(here.URDF.format("special")); call = lambda: bp.Articulated.from_urdf("a.urdf")
elif what == "urdf obj":
    here.write_obj(folder / "a.obj", "special")
    (folder / "a.urdf").write_text(here.URDF.format("a.obj")); call = lambda: bp.Articulated.from_urdf("a.urdf")
elif what == "mjcf":
    os.mkdir("below"); os.rename("special", "below/special.stl")
    (folder / "a.xml").write_text(here.MJCF.format("below", "special.stl"))
    call = lambda: bp.Articulated.from_mjcf("a.xml")
elif what == "mjcf include":
    (folder / "a.xml").write_text('<mujoco><include file="special"/></mujoco>')
    call = lambda: bp.Articulated.from_mjcf("a.xml")
try:
    call()
    print("read")
except (FileFormatError, FileNotFoundError) as error:
    print(error)
"""


@needs_pipes
@pytest.mark.parametrize(
    ("what", "library"),
    [("gltf", "trimesh"), ("boxes of gltf", "trimesh"), ("obj", "trimesh"), ("shp", "geopandas"), ("urdf", "yourdfpy"),
     ("urdf obj", "yourdfpy"), ("mjcf", "mujoco"), ("mjcf include", "mujoco")],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_pipe_or_device_that_a_file_names_is_not_opened(what, library, kind, tmp_path):
    pytest.importorskip(library)
    if kind == "pipe":
        os.mkfifo(tmp_path / "special")
    else:
        (tmp_path / "special").symlink_to("/dev/zero")
    said = run_script(NAMED.format(path=sys.path, folder=str(tmp_path), what=what), timeout=60)
    assert said != "read\n" or what.endswith("obj"), said  # the materials of a mesh may be missing


def test_data_within_a_gltf_file_are_no_names_of_files(tmp_path):
    pytest.importorskip("trimesh")
    numbers = write_gltf(tmp_path / "a.gltf", "")
    uri = "data:application/octet-stream;base64," + base64.b64encode(numbers).decode()
    write_gltf(tmp_path / "a.gltf", uri)
    assert len(io.read_parts(tmp_path / "a.gltf").parts) == 2
