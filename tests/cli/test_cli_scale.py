"""The command from files to files: what it takes for it, what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from broadphase import cli, scale
from broadphase.testing import oracle

pytest.importorskip("typer")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")


def boxes_of(count: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    lower = rng.random((count, 2))
    return np.stack([lower, lower + 0.1 * rng.random((count, 2))], axis=1)


BOXES = boxes_of(300)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files of boxes in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boxes").mkdir()
    for k in range(2):
        part = BOXES[k * 150 : (k + 1) * 150]
        corners = {f"{axis}{side}": part[:, side, place] for side in (0, 1) for place, axis in enumerate("xy")}
        names = {"id": np.arange(150) + 150 * k, "name": [f"box {row}" for row in range(150)]}
        kinds = {"kind": np.arange(150) % 3 + 1}
        parquet.write_table(pa.table(names | corners | kinds), tmp_path / "boxes" / f"{k}.parquet")
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def run_and_read(*arguments: object) -> tuple[int, str, str]:
        code = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run_and_read


def pairs_in(folder: str, *names: str) -> list[tuple[Any, ...]]:
    table = parquet.read_table(folder)
    return sorted(zip(*(table[name].to_pylist() for name in ("first", "second", *names)), strict=True))


EXPECTED = sorted(map(tuple, np.asarray(oracle.pairs(BOXES)).tolist()))


@pytest.mark.parametrize("options", [["--output", "pairs/"], ["-o", "pairs", "--memory", "500MB"]])
def test_pairs_to_a_folder_go_from_files_to_files(files: Path, run: Any, options: list[str]) -> None:
    code, out, err = run("pairs", "boxes/*.parquet", *options)
    assert (code, err) == (0, "")
    assert "300 (boxes/*.parquet)" in out
    assert f"{len(EXPECTED):,}" in out
    assert pairs_in("pairs") == EXPECTED


def test_json_is_the_report(files: Path, run: Any) -> None:
    code, out, _ = run("pairs", "boxes", "--output", "pairs/", "--json")
    answer = json.loads(out)
    assert code == 0
    assert (answer["pair_count"], answer["box_count"], answer["output"]) == (len(EXPECTED), 300, "pairs/")
    assert set(answer["seconds_by_stage"]) == {"plan", "assign", "join"}


def test_columns_and_filters_are_those_named(files: Path, run: Any) -> None:
    arguments = ("--lower", "x0,y0", "--upper", "x1, y1", "--id", "id", "--keep", "name,kind", "--batch", "kind")
    code, _, err = run("pairs", "boxes/", "-o", "pairs/", *arguments, "--margin", 0.05, "--no-touching")
    assert (code, err) == (0, "")
    found = pairs_in("pairs", "first_name", "first_kind", "second_kind")
    near = sorted(map(tuple, np.asarray(oracle.pairs(BOXES, margin=0.05, touching=False)).tolist()))
    kinds = np.arange(300) % 150 % 3 + 1
    assert [one[:2] for one in found] == [pair for pair in near if kinds[pair[0]] == kinds[pair[1]]]
    assert all(one[2] == f"box {one[0] % 150}" and one[3] == one[4] == kinds[one[0]] for one in found)


def test_boxes_without_names_have_rows(files: Path, run: Any) -> None:
    np.save("boxes.npy", BOXES)
    assert run("pairs", "boxes.npy", "boxes/*.parquet", "-o", "pairs/", "--lower", "x0,y0", "--upper", "x1,y1")[0] == 0
    assert pairs_in("pairs") == sorted(map(tuple, np.asarray(oracle.pairs(BOXES, BOXES)).tolist()))


def test_plan_of_a_file_is_used(files: Path, run: Any) -> None:
    plan = scale.Plan(2, np.array([0.5]), np.zeros(1, np.int32), np.arange(2, dtype=np.int32))
    Path("plan.json").write_text(plan.to_json())
    code, out, _ = run("pairs", "boxes/", "-o", "pairs/", "--plan", "plan.json", "--json")
    assert (code, json.loads(out)["tiles"]) == (0, 2)
    assert pairs_in("pairs") == EXPECTED
    Path("plan.json").write_text("{}")
    code, _, err = run("pairs", "boxes/", "-o", "other/", "--plan", "plan.json")
    assert (code, err.count("\n")) == (1, 1)
    assert "plan.json: not a plan of tiles" in err


def test_progress_shows_each_stage_with_its_rate(files: Path, run: Any) -> None:
    code, out, err = run("pairs", "boxes/", "-o", "pairs/", "--progress")
    lines = err.splitlines()
    assert code == 0
    assert [line.split()[0] for line in lines] == ["plan", "assign", "join"]
    assert "300/300 rows" in lines[1]
    assert all("/s" in line for line in lines)
    assert all(f"{stage} " in out and "boxes/s" in out for stage in ("plan", "assign", "join"))


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_engine_is_that_named(engine: str, files: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = scale.pairs, []

    def pairs(*sets: Any, **options: Any) -> scale.Report:
        asked.append((options.pop("engine"), options.pop("address")))
        return real(*sets, **options)

    monkeypatch.setattr(scale, "pairs", pairs)
    code, _, _ = run("pairs", "boxes/", "-o", "pairs/", "--engine", engine, "--address", "auto")
    assert (code, asked) == (0, [(engine, "auto")])
    assert pairs_in("pairs") == EXPECTED


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["boxes/*.parquet"], "needs a folder for the pairs, such as --output pairs/"),
        (["boxes"], "needs a folder for the pairs"),
        (["s3://key:secret@bucket/boxes"], "needs a folder for the pairs"),
        (["boxes/", "--memory", "1GB"], "name a folder for the pairs, such as --output pairs/"),
        (["boxes/", "--memory", "1GB", "-o", "pairs.parquet"], "such as --output pairs/"),
        (["boxes/", "--memory", "much", "-o", "pairs/"], "memory must be a number of bytes"),
        (["boxes/", "-o", "pairs/", "--sort", "--method", "grid"], "'--sort' / '--method': not from files to files"),
        (["boxes/0.parquet", "--id", "id"], "'--id': only where --output is a folder"),
        (["boxes/0.parquet", "-o", "pairs.txt"], "must end in .npy, .npz, .csv or .parquet; that of a folder in /"),
        (["boxes/", "-o", "pairs/", "--lower", "x0,y0"], "--lower and --upper are given together"),
        (["boxes/", "-o", "pairs/", "--lower", "x0,x0", "--upper", "x1,y1"], "a column is named twice"),
        (["boxes/", "-o", "pairs/", "--engine", "abacus"], "'abacus' is not one of"),
        (["boxes/", "-o", "pairs/", "--workers", "0"], "must be at least 1, or -1"),
    ],
)
def test_wrong_usage_says_what_to_do(files: Path, run: Any, arguments: list[str], message: str) -> None:
    code, out, err = run("pairs", *arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert "secret" not in err
    assert not Path("pairs").exists()


def test_data_errors_are_one_line_with_file_and_row(files: Path, run: Any) -> None:
    table = parquet.read_table("boxes/1.parquet")
    values = table["y1"].to_numpy().copy()
    values[77] = np.nan
    parquet.write_table(table.set_column(5, "y1", pa.array(values)), "boxes/1.parquet")
    assert run("pairs", "boxes/*.parquet", "-o", "pairs/") == (
        1,
        "",
        f"error: {Path('boxes', '1.parquet')}, row 77: upper[1] is NaN\n",
    )
    parquet.write_table(table.drop_columns("y1"), "boxes/0.parquet")
    code, _, err = run("pairs", "boxes/*.parquet", "-o", "pairs/")
    assert (code, err.count("\n")) == (1, 1)
    assert "there is a column y0, but no column y1; name the columns by --lower and --upper" in err
    code, _, err = run("pairs", "nothing/*.parquet", "-o", "pairs/")
    assert (code, err) == (1, "error: there are no files of boxes in 'nothing/*.parquet'\n")
    assert not Path("pairs").exists()


def test_results_of_other_options_are_kept_unless_started_again(files: Path, run: Any) -> None:
    assert run("pairs", "boxes/", "-o", "pairs/")[0] == 0
    code, _, err = run("pairs", "boxes/", "-o", "pairs/", "--margin", 0.5)
    assert (code, err) == (
        1,
        "error: pairs holds results of other options: margin was 0.0, and is 0.5; use another folder, or replace them "
        "by resume=False (--no-resume)\n",
    )
    assert pairs_in("pairs") == EXPECTED
    assert run("pairs", "boxes/", "-o", "pairs/", "--margin", 0.5, "--no-resume")[0] == 0
    assert len(pairs_in("pairs")) > len(EXPECTED)


@pytest.mark.parametrize("where", ["boxes", "pairs"])
def test_secrets_of_addresses_are_not_printed(files: Path, run: Any, where: str) -> None:
    address = "nosuch://s3cretkey:s3cret/word@host/{}?token=s3cret"
    arguments = [address.format(one) if one == where else one for one in ("boxes", "pairs")]
    for more in ([], ["--json"], ["--progress"]):
        code, out, err = run("pairs", arguments[0], "--output", arguments[1], "--memory", "1GB", *more)
        assert code == 1
        assert f"nosuch://host/{where}" in err
        assert "s3cret" not in out + err


SLOW = """
import sys, time
from broadphase import cli
from broadphase.scale import local
real = local.Spill.add
def add(self, number, pieces):
    if number == 0:
        print("assigning", flush=True)
        time.sleep(0.5)
    return real(self, number, pieces)
local.Spill.add = add
local.Sizes.of = lambda *sizes: local.Sizes(piece_rows=150, tile_rows=200, chunk_pairs=100, in_memory=False)
sys.exit(cli.main(["pairs", "boxes/*.parquet", "--output", "pairs/", "--workers", "2"]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals between processes do not exist on Windows")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_command_says_how_it_goes_on(files: Path, run: Any, number: int, code: int) -> None:
    command = [sys.executable, "-c", SLOW]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "assigning\n"
        os.kill(process.pid, number)
        out, err = process.communicate()
    assert (process.returncode, out) == (code, "")
    assert err == "interrupted: assign was 0% done; the same command goes on from there\n"
    assert Path("pairs", "_manifest.json").exists()
    assert run("pairs", "boxes/*.parquet", "--output", "pairs/")[0] == 0
    assert pairs_in("pairs") == EXPECTED


def test_pattern_that_the_shell_has_written_out_is_told_to_be_quoted(files: Path, run: Any) -> None:
    code, _, err = run("pairs", "boxes/0.parquet", "boxes/1.parquet", "boxes/0.parquet", "-o", "pairs/")
    assert code == 2
    assert "one pattern in quotes, such as 'boxes/*.parquet'" in err


def test_bundled_data_set_from_files_to_files_is_refused_as_no_file(files: Path, run: Any) -> None:
    code, _, err = run("pairs", "us_counties", "--memory", "200MB", "-o", "pairs/")
    assert code == 2
    assert "us_counties is a bundled data set, not a file: leave out --memory" in err


def test_rate_of_a_finished_stage_stays_while_others_go_on() -> None:
    from rich.progress import Progress

    from broadphase.cli import screen

    now = 0.0
    progress = Progress(get_time=lambda: now)
    task = progress.add_task("plan", total=100, first=0)
    now = 2.0
    progress.update(task, completed=100)
    now = 50.0
    assert screen._RateColumn().render(progress.tasks[0]).plain == "100/100 rows, 50/s"
