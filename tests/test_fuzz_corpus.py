"""Bytes that fuzzers have found to reach much of the code, read once more: a sound result, or an error of ours."""

import importlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "fuzz"))
readers = importlib.import_module("readers")
fuzzing = importlib.import_module("run")
NEEDS = {
    "parquet": "pyarrow", "fgb": "pyogrio", "shp": "pyogrio", "gpkg": "pyogrio", "message": "viser",
    "ply": "trimesh",
}  # fmt: skip
INPUTS = list(fuzzing.reader_inputs())


@pytest.mark.parametrize("name", sorted({name for name, _ in INPUTS}))
def test_reader_of_bytes_from_its_corpus_gives_a_sound_result_or_an_error_of_ours(name, tmp_path):
    needed = NEEDS.get(name.removeprefix("upload_"))
    if needed is not None:
        pytest.importorskip(needed)
    if name.startswith("upload_"):
        pytest.importorskip("viser")
    for target, content in INPUTS:
        if target == name:
            readers.replay(name, content, tmp_path)


def test_corpora_are_small():
    assert all(path.stat().st_size <= fuzzing.MOST_KEPT for path in fuzzing.CORE.glob("*.bin"))
    assert sum(path.stat().st_size for path in (*fuzzing.CORE.glob("*.bin"), fuzzing.READERS)) < 200_000


def test_corpora_are_read_where_there_is_no_module_resource(monkeypatch):  # Windows
    monkeypatch.setitem(sys.modules, "resource", None)
    importlib.reload(fuzzing)
