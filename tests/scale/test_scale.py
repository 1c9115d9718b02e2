"""Pairs of boxes in files: the same as in memory, each once, whatever the memory, the files and the interruptions."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadphase as bp
from box_files import SCENES, changed_file, expected_pairs, pairs_in, scattered, table_of, write_files
from broadphase import scale
from broadphase.scale import local

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of a few hundred boxes on disk, and tiles that have to be divided again."""

    def sizes(memory: int, workers: int, rows: int, row_bytes: float) -> local.Sizes:
        return local.Sizes(piece_rows=500, tile_rows=200, chunk_pairs=100, in_memory=False)

    monkeypatch.setattr(local.Sizes, "of", sizes)


@pytest.mark.parametrize("name", SCENES)
def test_pairs_with_little_memory_are_those_of_the_oracle(name: str, tmp_path: Path, little_memory: None) -> None:
    boxes = SCENES[name]
    report = scale.pairs(write_files(tmp_path / "boxes", boxes), output=tmp_path / "pairs", workers=2)
    expected = expected_pairs(boxes)
    assert report.pair_count == len(expected)
    assert report.box_count == len(boxes)
    assert (pairs_in(tmp_path / "pairs") if expected else []) == expected
    assert not (tmp_path / "pairs" / "_scratch").exists()


@pytest.mark.parametrize("name", ["scattered", "giants"])
def test_pairs_of_two_sets_are_those_of_the_oracle(name: str, tmp_path: Path, little_memory: None) -> None:
    boxes, other = SCENES[name], SCENES["giants"][::2]
    files = write_files(tmp_path / "boxes", boxes), write_files(tmp_path / "other", other)
    scale.pairs(*files, output=tmp_path / "pairs", workers=2)
    assert pairs_in(tmp_path / "pairs") == expected_pairs(boxes, other)


@pytest.mark.parametrize("in_memory", [True, False])
def test_columns_of_two_sets_keep_a_type_each(in_memory: bool, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if not in_memory:
        request.getfixturevalue("little_memory")
    boxes, other = SCENES["scattered"], SCENES["giants"][::2]
    few, halves = np.arange(len(boxes)).astype(np.int8), np.arange(len(other)) + 0.5
    parquet.write_table(table_of(boxes, what=few), tmp_path / "a.parquet")
    texts = [f"b{row}" for row in range(len(other))]
    parquet.write_table(table_of(other, ids=texts, what=halves), tmp_path / "b.parquet")
    scale.pairs(tmp_path / "a.parquet", tmp_path / "b.parquet", output=tmp_path / "pairs", keep=["what"], workers=2)
    found = parquet.read_table(tmp_path / "pairs")
    assert found.schema.types == [pa.int64(), pa.large_string(), pa.int8(), pa.float64()]
    pairs = [(i, int(j[1:])) for i, j in zip(*(found.column(k).to_pylist() for k in range(2)), strict=True)]
    assert sorted(pairs) == expected_pairs(boxes, other)
    assert found.column(2).to_pylist() == [few[i] for i, _ in pairs]
    assert found.column(3).to_pylist() == [halves[j] for _, j in pairs]


def test_column_that_parquet_cannot_hold_is_named_before_anything_is_written(tmp_path: Path) -> None:
    table = table_of(scattered(5), odd=pa.array([{}] * 5, pa.struct([])))
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ValueError, match=r"keep: column odd holds struct<>, which Parquet has not"):
        scale.pairs(tmp_path / "a.arrow", output=tmp_path / "pairs", keep=["odd"])
    assert not (tmp_path / "pairs").exists()


def test_pairs_that_fit_into_memory_are_not_spilled(tmp_path: Path) -> None:
    boxes = SCENES["scattered"]
    stages = []
    report = scale.pairs(
        write_files(tmp_path / "boxes", boxes),
        output=tmp_path / "pairs",
        workers=2,
        progress=lambda stage, done, total: stages.append((stage, done, total)),
    )
    assert pairs_in(tmp_path / "pairs") == expected_pairs(boxes)
    assert stages[-1][0] == "join"
    assert all(done <= total for _, done, total in stages)
    assert ("assign", 2000, 2000) in stages
    text = str(report)
    assert f"{report.pair_count:,} pairs of 2,000 boxes" in text


def test_plan_divides_the_boxes_of_files(tmp_path: Path) -> None:
    boxes = SCENES["scattered"]
    files = write_files(tmp_path / "boxes", boxes)
    whole = scale.plan(files)
    assert whole.tile_count == 1
    lower = boxes[:, 0].astype(float)
    plan = scale.Plan(3, np.array([float(np.median(lower[:, 0]))]), np.zeros(1, np.int32), np.arange(2, dtype=np.int32))
    report = scale.pairs(files, output=tmp_path / "pairs", plan=plan, workers=1)
    assert report.tiles == 2
    assert pairs_in(tmp_path / "pairs") == expected_pairs(boxes)


def test_every_format_gives_the_same_pairs(tmp_path: Path) -> None:
    boxes = scattered(900, 3, 0.2)
    expected = expected_pairs(boxes)
    (tmp_path / "year=1").mkdir()
    (tmp_path / "year=2").mkdir()
    parquet.write_table(table_of(boxes[:400]), tmp_path / "year=1" / "a.parquet")
    parquet.write_table(table_of(boxes[400:], 400), tmp_path / "year=2" / "a.parquet")
    np.save(tmp_path / "boxes.npy", boxes)
    with pa.OSFile(str(tmp_path / "boxes.arrow"), "wb") as stream:
        table = table_of(boxes)
        with pa.ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
    forms = {
        "folder": (str(tmp_path / "year=1") + "/..", {"keep": ["year"]}),
        "list": ([tmp_path / "year=1" / "a.parquet", tmp_path / "year=2" / "a.parquet"], {"id": None}),
        "uri": (f"file://{tmp_path}/year=*/*.parquet", {}),
        "npy": (tmp_path / "boxes.npy", {"id": None}),
        "arrow": (str(tmp_path / "boxes.arrow"), {}),
    }
    for name, (files, options) in forms.items():
        if name == "folder":
            (tmp_path / "boxes.npy").rename(tmp_path / "_boxes.npy")
            (tmp_path / "boxes.arrow").rename(tmp_path / "_boxes.arrow")
        output = tmp_path / f"_pairs {name}"
        scale.pairs(files, output=output, workers=1, **options)
        assert pairs_in(output) == expected, name
        if name == "folder":
            (tmp_path / "_boxes.npy").rename(tmp_path / "boxes.npy")
            (tmp_path / "_boxes.arrow").rename(tmp_path / "boxes.arrow")
            years = parquet.read_table(output)["first_year"].to_numpy()
            assert set(years.tolist()) == {1, 2}


def test_files_of_float32_and_float64_are_compared_as_float64(tmp_path: Path) -> None:
    near = np.array([[[0.0] * 3, [0.1] * 3], [[0.1] * 3, [1.0] * 3]])
    parquet.write_table(table_of(near[:1].astype(np.float32)), tmp_path / "a.parquet")
    parquet.write_table(table_of(near[1:], 1), tmp_path / "b.parquet")
    both = np.concatenate([near[:1].astype(np.float32).astype(np.float64), near[1:]])
    scale.pairs(tmp_path, output=tmp_path / "_pairs", workers=1)
    assert pairs_in(tmp_path / "_pairs") == expected_pairs(both)
    assert len(expected_pairs(both)) == 1  # the float32 nearest to 0.1 is above it


@pytest.mark.parametrize(
    ("row", "column", "value", "message"),
    [
        (123, "y0", math.nan, r"7\.parquet, row 123: lower\[1\] is NaN"),
        (0, "z1", None, r"7\.parquet, row 0: upper\[2\] is NaN"),
        (99, "x0", 9.0, r"7\.parquet, row 99: lower\[0\] > upper\[0\] \(9\.0 > "),
        (77, "id", None, r"7\.parquet, row 77: column id is empty"),
        (5, "id", 3, r"7\.parquet, row 5: id 3 is that of .*0\.parquet, row 3"),
    ],
)
def test_bad_rows_are_named_and_nothing_is_left_behind(
    row: int, column: str, value: Any, message: str, tmp_path: Path, little_memory: None
) -> None:
    folder = tmp_path / "boxes"
    files = write_files(folder, scattered(1600), 8)
    changed_file(folder, row, column, value)
    with pytest.raises(ValueError, match=message):
        scale.pairs(files, output=tmp_path / "pairs", workers=2)
    assert not (tmp_path / "pairs").exists()


@pytest.mark.parametrize(
    ("lower", "message"), [(math.nan, "lower[0] is NaN"), (99.0, "lower[0] > upper[0] (99.0 > 1.0)")]
)
def test_bad_row_far_into_a_file_of_many_is_named(lower: float, message: str, tmp_path: Path) -> None:
    boxes = np.zeros((8 * 13_000, 2, 3), np.float32)
    boxes[:, 1] = 1
    boxes[:, :, 0] += np.arange(len(boxes))[:, None]
    boxes[7 * 13_000 + 12_345, :, 0] = lower, 1
    files = write_files(tmp_path / "boxes", boxes, 8)
    with pytest.raises(bp.errors.InvalidBoxError) as error:
        scale.pairs(files, output=tmp_path / "pairs", workers=2)
    assert str(error.value) == f"{tmp_path / 'boxes' / '7.parquet'}, row 12345: {message}"
    assert not (tmp_path / "pairs").exists()


def test_texts_that_occur_twice_are_named(tmp_path: Path, little_memory: None) -> None:
    boxes = scattered(1000)
    ids = [f"b{row % 997}" for row in range(1000)]
    parquet.write_table(table_of(boxes, ids=ids), tmp_path / "a.parquet")
    with pytest.raises(
        bp.errors.FileFormatError,
        match=r"a\.parquet, row 99(7|8|9): id 'b[012]' is that of .*a\.parquet, row [012], too",
    ):
        scale.pairs(tmp_path / "a.parquet", output=tmp_path / "pairs", workers=1)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    files = write_files(tmp_path / "boxes", scattered(500))
    whole = (tmp_path / "boxes" / "2.parquet").read_bytes()
    (tmp_path / "boxes" / "2.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(bp.errors.FileFormatError, match=r"2\.parquet"):
        scale.pairs(files, output=tmp_path / "pairs")
    (tmp_path / "boxes" / "2.parquet").write_bytes(whole[:500] + bytes(800) + whole[1300:])
    with pytest.raises(bp.errors.FileFormatError, match=r"2\.parquet"):
        scale.pairs(files, output=tmp_path / "pairs")
    parquet.write_table(table_of(scattered(5)).drop_columns("y1"), tmp_path / "boxes" / "2.parquet")
    with pytest.raises(bp.errors.FileFormatError, match=r"2\.parquet: .*column.*'y1'"):
        scale.pairs(files, output=tmp_path / "pairs")
    with pytest.raises(FileNotFoundError, match="no files"):
        scale.pairs(str(tmp_path / "none" / "*.parquet"), output=tmp_path / "pairs")
    assert not (tmp_path / "pairs").exists()


def test_output_of_others_is_not_touched(tmp_path: Path) -> None:
    files = write_files(tmp_path / "boxes", scattered(100))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="holds other files"):
        scale.pairs(files, output=tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_changed_input_is_refused_unless_started_again(tmp_path: Path) -> None:
    files = write_files(tmp_path / "boxes", scattered(300, size=0.5))
    scale.pairs(files, output=tmp_path / "pairs")
    with pytest.raises(FileExistsError, match="results of other options"):
        scale.pairs(files, output=tmp_path / "pairs", touching=False)
    boxes = scattered(200, 4, 0.5)
    parquet.write_table(table_of(boxes), tmp_path / "boxes" / "0.parquet")
    for k in (1, 2, 3):
        (tmp_path / "boxes" / f"{k}.parquet").unlink()
    with pytest.raises(FileExistsError, match="results of other input"):
        scale.pairs(files, output=tmp_path / "pairs")
    scale.pairs(files, output=tmp_path / "pairs", resume=False)
    assert pairs_in(tmp_path / "pairs") == expected_pairs(boxes)


@pytest.mark.parametrize("stage", ["assign", "join"])
def test_interrupted_run_goes_on_where_it_stopped(stage: str, tmp_path: Path, little_memory: None) -> None:
    boxes = SCENES["giants"]
    files = write_files(tmp_path / "boxes", boxes)
    output = tmp_path / "pairs"

    def interrupt(now: str, done: int, total: int) -> None:
        if now == stage and done > total / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scale.pairs(files, output=output, workers=2, progress=interrupt)
    finished = output / "_finished.jsonl"
    lines = [json.loads(line) for line in finished.read_text().splitlines()] if finished.exists() else []
    written = {line["file"]: (output / line["file"]).stat().st_mtime_ns for line in lines if line["file"]}
    assert bool(written) == (stage == "join")
    assert set(pairs_in(output) if written else []) <= set(expected_pairs(boxes))
    report = scale.pairs(files, output=output, workers=2)
    assert pairs_in(output) == expected_pairs(boxes)
    assert report.resumed_tiles == len(lines)
    assert written.items() <= {path.name: path.stat().st_mtime_ns for path in output.glob("*.parquet")}.items()
    again = scale.pairs(files, output=output, workers=2)
    assert again.pair_count == report.pair_count
    assert again.resumed_tiles == again.tiles


def test_line_of_a_finished_tile_that_was_cut_off_is_passed_over(tmp_path: Path, little_memory: None) -> None:
    boxes = SCENES["giants"]
    files, finished = write_files(tmp_path / "boxes", boxes), tmp_path / "pairs" / "_finished.jsonl"

    def interrupt(now: str, done: int, total: int) -> None:
        if now == "join" and done > total / 3:
            raise KeyboardInterrupt

    for _ in range(3):  # the next run goes on behind half a line
        with pytest.raises(KeyboardInterrupt):
            scale.pairs(files, output=tmp_path / "pairs", workers=1, progress=interrupt)
        finished.write_text(finished.read_text()[:-20])
    scale.pairs(files, output=tmp_path / "pairs", workers=1)
    assert pairs_in(tmp_path / "pairs") == expected_pairs(boxes)


def test_missing_file_of_a_finished_run_is_made_again(tmp_path: Path, little_memory: None) -> None:
    boxes = SCENES["scattered"]
    files = write_files(tmp_path / "boxes", boxes)
    scale.pairs(files, output=tmp_path / "pairs")
    sorted((tmp_path / "pairs").glob("*.parquet"))[0].unlink()
    scale.pairs(files, output=tmp_path / "pairs")
    assert pairs_in(tmp_path / "pairs") == expected_pairs(boxes)


KILLED = """
import sys
from broadphase import scale
news = lambda *now: print(*now, flush=True)
scale.pairs(sys.argv[1], output=sys.argv[2], workers=2, memory=20_000_000, progress=news)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL does not exist on Windows")
def test_killed_process_leaves_whole_files_and_is_resumed(tmp_path: Path) -> None:
    boxes = scattered(40_000, size=0.05)
    files = write_files(tmp_path / "boxes", boxes)
    command = [sys.executable, "-c", KILLED, files, str(tmp_path / "pairs")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("join") and not line.startswith("join 0 "):
                break
        os.kill(process.pid, signal.SIGKILL)
    for path in (tmp_path / "pairs").glob("*.parquet"):
        parquet.read_table(path)
    report = scale.pairs(files, output=tmp_path / "pairs", memory=20_000_000)
    found = parquet.read_table(tmp_path / "pairs")
    expected = bp.pairs(boxes, sort=True)
    keys = np.sort(found["first"].to_numpy() * len(boxes) + found["second"].to_numpy())
    assert np.array_equal(keys, expected[:, 0].astype(np.int64) * len(boxes) + expected[:, 1])
    assert report.resumed_tiles >= 1


def test_interrupted_runs_leave_nothing_unfinished_beside_the_results(tmp_path: Path, little_memory: None) -> None:
    files = write_files(tmp_path / "boxes", SCENES["scattered"])

    def interrupt(now: str, done: int, total: int) -> None:
        if now == "join" and done > total / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scale.pairs(files, output=tmp_path / "pairs", progress=interrupt)
    (tmp_path / "pairs" / ".pairs-000001.parquet.77-88.part").write_text("left by a process that was killed")
    scale.pairs(files, output=tmp_path / "pairs")
    left = {path.name for path in (tmp_path / "pairs").iterdir() if path.suffix != ".parquet"}
    assert left == {"_manifest.json", "_plan.json", "_finished.jsonl", "_report.json"}


@pytest.mark.parametrize("ascending", [True, False])
def test_ids_are_checked_once_and_not_again_by_runs_that_go_on(
    ascending: bool, tmp_path: Path, little_memory: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    boxes = SCENES["scattered"]
    ids = np.arange(len(boxes)) if ascending else np.random.default_rng(5).permutation(len(boxes))
    parquet.write_table(table_of(boxes, ids=ids), tmp_path / "a.parquet", row_group_size=300)
    checks = []
    monkeypatch.setattr(local, "check_ids", lambda *arguments: checks.append(arguments))

    def interrupt(now: str, done: int, total: int) -> None:
        if now == "join" and done > total / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scale.pairs(tmp_path / "a.parquet", output=tmp_path / "pairs", progress=interrupt)
    scale.pairs(tmp_path / "a.parquet", output=tmp_path / "pairs")
    assert len(checks) == (0 if ascending else 1)


def test_ids_that_occur_twice_are_found_by_a_run_that_goes_on(tmp_path: Path, little_memory: None) -> None:
    ids = np.arange(2000)
    ids[1700] = 100
    parquet.write_table(table_of(SCENES["scattered"], ids=ids), tmp_path / "a.parquet", row_group_size=300)

    def interrupt(now: str, done: int, total: int) -> None:
        if now == "assign" and done > total / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scale.pairs(tmp_path / "a.parquet", output=tmp_path / "pairs", workers=1, progress=interrupt)
    with pytest.raises(bp.errors.FileFormatError, match=r"row 1700: id 100 is that of .*row 100, too"):
        scale.pairs(tmp_path / "a.parquet", output=tmp_path / "pairs", workers=1)


FULL = """
import resource, signal, sys
from broadphase import scale
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    scale.pairs(sys.argv[1], output=sys.argv[2], workers=1, memory=20_000_000)
except OSError as error:
    print("OSError", error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits on file sizes do not exist on Windows")
def test_full_disk_leaves_nothing_unfinished(tmp_path: Path) -> None:
    files = write_files(tmp_path / "boxes", scattered(3000, size=0.2))
    done = subprocess.run(
        [sys.executable, "-c", FULL, files, str(tmp_path / "pairs"), "20000"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("OSError"), done.stderr
    assert str(tmp_path / "pairs") in done.stdout
    left = {path.name for path in (tmp_path / "pairs").rglob("*")} if (tmp_path / "pairs").exists() else set()
    assert {name for name in left if not name.endswith(".parquet")} <= {
        "_manifest.json",
        "_plan.json",
        "_finished.jsonl",
    }
    for path in (tmp_path / "pairs").glob("*.parquet"):
        parquet.read_table(path)
    scale.pairs(files, output=tmp_path / "pairs", workers=1, memory=20_000_000)
    assert pairs_in(tmp_path / "pairs") == expected_pairs(scattered(3000, size=0.2))


def test_secrets_of_addresses_are_in_no_message(tmp_path: Path) -> None:
    with pytest.raises((FileNotFoundError, bp.errors.FileFormatError)) as error:
        scale.pairs("nosuch://key:s3cret@host/boxes/*.parquet?token=s3cret", output=tmp_path / "pairs")
    assert "s3cret" not in str(error.value)
    assert "host/boxes" in str(error.value)


@pytest.mark.parametrize("memory", ["2", "big", True, -1, "10 XB", None])
def test_memory_that_is_no_size_is_refused(memory: Any, tmp_path: Path) -> None:
    files = write_files(tmp_path / "boxes", scattered(10))
    with pytest.raises(ValueError, match="memory must be"):
        scale.pairs(files, output=tmp_path / "pairs", memory=memory)
    assert not (tmp_path / "pairs").exists()


def test_manifest_says_nothing_but_what_the_pairs_depend_on(tmp_path: Path) -> None:
    files = write_files(tmp_path / "boxes", scattered(10))
    scale.pairs(files, output=tmp_path / "pairs")
    facts = json.loads((tmp_path / "pairs" / "_manifest.json").read_text())
    assert set(facts) == {"kind", "input", "options"}
    assert str(tmp_path) not in json.dumps(facts)


@pytest.mark.parametrize("name", ["lower", "upper", "keep"])
@pytest.mark.parametrize("names", ["xyz", 5, [1, 2]])
def test_names_of_columns_that_are_no_sequence_of_texts_are_refused(name: str, names: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=f"{name} must be a sequence of names of columns"):
        scale.pairs(write_files(tmp_path / "boxes", scattered(10)), output=tmp_path / "pairs", **{name: names})


@pytest.mark.parametrize("files", [5, ["a.parquet", 5], None])
def test_files_that_are_no_paths_are_refused(files: Any, tmp_path: Path) -> None:
    boxes = write_files(tmp_path / "boxes", scattered(10))
    with pytest.raises(TypeError, match="files must be a path, or a sequence of paths"):
        scale.pairs(files, boxes, output=tmp_path / "pairs")


def test_ray_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write_files(tmp_path / "boxes", scattered(10))
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(bp.errors.MissingExtraError, match=r'engine="ray" needs ray: pip install "broadphase\[ray\]"'):
        scale.pairs(files, output=tmp_path / "pairs", engine="ray")
    assert not (tmp_path / "pairs").exists()
