"""Files whose names are not UTF-8, and cells of any length: read, or an error that names the file and the row."""

import os
import shutil
import sys

import numpy as np
import pytest

import broadphase as bp
from broadphase import cli, io, scale
from broadphase.errors import FileFormatError
from broadphase.io import tables
from test_files_that_are_read import write_gltf

TABLE = "name,x0,y0,x1,y1\na,0,0,2,2\nb,1,1,3,3\n"
not_unicode = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are Unicode there")


def odd(name):
    return os.fsdecode(b"caf\xe9") + name


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    pytest.importorskip("typer")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@not_unicode
def test_tables_and_arrays_of_any_name_are_read_and_written(command, tmp_path):
    boxes = np.array([[0, 0, 2, 2], [1, 1, 3, 3.0]])
    (tmp_path / odd(".csv")).write_text(TABLE)
    with (tmp_path / odd(".npy")).open("wb") as stream:
        np.save(stream, boxes)
    names = [odd(".csv"), odd(".npy")]
    if tables.has_library("pyarrow"):
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        with (tmp_path / odd(".parquet")).open("wb") as stream:
            parquet.write_table(arrow.table(dict(zip(["x0", "y0", "x1", "y1"], boxes.T, strict=True))), stream)
        names.append(odd(".parquet"))
    for name in names:
        assert command("count", name) == (0, "1\n", "")
        for ending in {os.path.splitext(one)[1] for one in names}:
            code, out, err = command("pairs", name, "-o", odd(f"-pairs{ending}"), "--json")
            assert (code, err) == (0, "")
            assert os.path.exists(odd(f"-pairs{ending}"))
            assert out.isascii()


@not_unicode
def test_libraries_that_take_no_such_names_are_named(tmp_path):
    for ending, library in ((".gpkg", "GDAL"), (".shp", "GDAL"), (".ifc", "ifcopenshell")):
        pytest.importorskip({"GDAL": "pyogrio"}.get(library, library))
        path = tmp_path / odd(ending)
        path.write_bytes(b"SQLite format 3\0")
        with pytest.raises(FileFormatError, match=rf"caf\\udce9\{ending}: the name is not UTF-8, and {library}"):
            io.read_boxes(path)


@not_unicode
def test_scale_names_files_and_folders_that_pyarrow_does_not_take(tmp_path):
    pytest.importorskip("pyarrow")
    np.save(tmp_path / "a.npy", np.array([[0, 0, 2, 2.0]]))
    options = {"id": None, "lower": ["x0", "y0"], "upper": ["x1", "y1"]}
    with pytest.raises(FileFormatError, match="the name is not UTF-8"):
        scale.pairs(tmp_path / "a.npy", output=tmp_path / odd(""), **options)
    shutil.move(tmp_path / "a.npy", tmp_path / odd(".npy"))
    with pytest.raises(FileFormatError, match="the name is not UTF-8"):
        scale.pairs(tmp_path / odd(".npy"), output=tmp_path / "out", **options)
    assert os.listdir(tmp_path) == [odd(".npy")]


@not_unicode
@pytest.mark.parametrize("ending", [".csv", ".json", ".html"])
def test_clashes_of_files_of_any_name_are_written(ending, command, tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "numbers").write_bytes(write_gltf(tmp_path / odd(".gltf"), "numbers"))
    code, _, err = command("clash", odd(".gltf"), "-o", odd(ending))
    assert (code, err) in ((0, ""), (4, ""))
    assert r"caf\udce9.gltf" in (tmp_path / odd(ending)).read_text("utf-8")


@pytest.mark.parametrize("library", ["pyarrow", None])
def test_long_cells_are_read_or_the_row_is_named(library, tmp_path, monkeypatch):
    if library is not None:
        pytest.importorskip(library)
    else:
        monkeypatch.setattr(tables, "has_library", lambda name: False)
    path = tmp_path / "long.csv"
    long = "x" * (20_000_000 if library else 200_000)
    path.write_text(f"x0,y0,x1,y1,wkt\n0,0,2,2,b\n1,1,3,3,{long}\n")
    if library:
        assert bp.pairs(io.read_boxes(path).boxes).tolist() == [[0, 1]]
    else:
        with pytest.raises(FileFormatError, match=r"long.csv, row 1 \(line 3\): field larger than field limit"):
            io.read_boxes(path)
    path.write_text(f"x0,y0,x1,y1,{'x' * 200_000}\n0,0,2,2,b\n")
    with pytest.raises(FileFormatError, match=r"long.csv: line 1: field larger"):
        io.read_boxes(path)
