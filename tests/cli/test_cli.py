"""The command, as its user meets it: output, errors and exit codes."""

import importlib
import json
import os
import subprocess
import sys
from importlib import metadata

import numpy as np
import pytest

import broadphase as bp
from broadphase import cli, data
from broadphase.testing import oracle

pytest.importorskip("typer")
pytest.importorskip("rich")

from broadphase.cli import screen

COMMANDS = ("pairs", "count", "explain", "info", "clash", "run", "demo")
ROOMS = "name,xmin,ymin,xmax,ymax\nhall,0,0,4,4\nkitchen,4,0,8,4\nattic,1,1,3,3\nshed,20,20,21,21\n"


@pytest.fixture
def rooms(tmp_path, monkeypatch):
    """Four rooms in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rooms.csv").write_text(ROOMS)
    return tmp_path / "rooms.csv"


@pytest.fixture
def run(capsys):
    def run_and_read(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run_and_read


def test_summary_shows_what_was_found(rooms, run):
    code, out, err = run("pairs", "rooms.csv")
    assert (code, err) == (0, "")
    for text in ("4 (table rows of rooms.csv; 2 axes)", "row 0 (hall): 2", "would test 6", "boxes without pairs  1"):
        assert text in out


def test_summary_of_a_bundled_set_has_its_pairs(run):
    code, out, _ = run("pairs", "us_counties")
    assert code == 0
    assert "10,465" in out
    assert "3,510" in out


def test_json_summary_is_complete(rooms, run):
    code, out, _ = run("pairs", "rooms.csv", "--json", "--method", "sweep_and_prune", "--no-touching", "--workers", 2)
    answer = json.loads(out)
    assert code == 0
    assert answer["pair_count"] == 1
    assert answer["brute_force_tests"] == 6
    assert (answer["method"], answer["chosen"], answer["workers"], answer["touching"]) == (
        "sweep_and_prune",
        False,
        2,
        False,
    )
    assert answer["sets"][0]["most_pairs"] == [
        {"row": 0, "pairs": 1, "name": "hall"},
        {"row": 2, "pairs": 1, "name": "attic"},
    ]
    assert set(answer["seconds"]) == {"read", "find", "summary"}


def test_method_that_auto_takes_is_named(rooms, run):
    answer = json.loads(run("pairs", "rooms.csv", "--json")[1])
    assert answer["chosen"]
    assert answer["method"] in {method.name for method in bp.METHODS}


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".parquet"])
def test_output_holds_the_pairs(rooms, run, suffix, tmp_path):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"pairs{suffix}"
    code, out, _ = run("pairs", "us_counties", "--output", path, "--sort")
    assert code == 0
    assert str(path) in out.replace("\n", "")
    expected = oracle.pairs(data.load("us_counties"))
    if suffix == ".parquet":
        table = pytest.importorskip("pyarrow.parquet").read_table(path)
        found = np.stack([table["first"], table["second"]], axis=1)
    elif suffix == ".csv":
        found = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int32)
    else:
        found = np.load(path) if suffix == ".npy" else np.load(path)["pairs"]
    np.testing.assert_array_equal(found, expected)


def test_output_to_csv_has_the_names(rooms, run):
    run("pairs", "rooms.csv", "-o", "pairs.csv", "--sort")
    assert (rooms.parent / "pairs.csv").read_text().splitlines() == [
        "first,second,first_name,second_name",
        '0,1,"hall","kitchen"',
        '0,2,"hall","attic"',
    ]


def test_two_files_give_pairs_between_them(rooms, run):
    np.save("pipes.npy", np.array([[2, 2, 2.5, 30], [100, 0, 101, 1]], np.float32))
    code, out, _ = run("pairs", "rooms.csv", "pipes.npy", "--json")
    answer = json.loads(out)
    assert (code, answer["pair_count"], answer["brute_force_tests"]) == (0, 2, 8)
    assert [one["without_pairs"] for one in answer["sets"]] == [2, 1]
    assert run("count", "rooms.csv", "pipes.npy")[1] == "2\n"
    assert "most pairs of pipes.npy" in run("pairs", "rooms.csv", "pipes.npy")[1]


def test_margin_adds_what_is_near(rooms, run):
    assert run("count", "rooms.csv")[1] == "2\n"
    assert run("count", "rooms.csv", "--margin", "1")[1] == "3\n"
    assert run("count", "rooms.csv", "--no-touching")[1] == "1\n"


@pytest.mark.parametrize("max_pairs", [[], ["--max-pairs", "10465"]])
def test_more_pairs_than_are_held_come_in_portions(run, tmp_path, monkeypatch, max_pairs):
    module = importlib.import_module("broadphase.cli.boxes")
    monkeypatch.setattr(module, "_HELD", 1000)
    monkeypatch.setattr(module, "_CHUNK", 300)
    code, out, _ = run("pairs", "us_counties", "--json", "-o", tmp_path / "pairs.npy", *max_pairs)
    answer = json.loads(out)
    assert code == 0
    assert answer["pair_count"] == 10465
    found = np.load(tmp_path / "pairs.npy")
    assert {tuple(pair) for pair in found.tolist()} == {
        tuple(pair) for pair in bp.pairs(data.load("us_counties")).tolist()
    }
    assert json.loads(run("pairs", "us_counties", "--json")[1])["sets"] == answer["sets"]
    code, out, err = run("pairs", "us_counties", "--max-pairs", "5000")
    assert (code, out) == (1, "")
    assert "there are 10,465 pairs, more than --max-pairs 5,000" in err


def test_max_pairs_stops_with_an_error(rooms, run):
    code, out, err = run("pairs", "rooms.csv", "--max-pairs", "1", "-o", "pairs.npy")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "max_pairs=1" in err
    assert not (rooms.parent / "pairs.npy").exists()


@pytest.mark.parametrize("command", ["pairs", "count", "explain"])
def test_invalid_row_is_an_error_that_names_file_and_row(rooms, run, command):
    rooms.write_text(ROOMS.replace("attic,1,1,3,3", "attic,1,1,,3"))
    code, out, err = run(command, "rooms.csv")
    assert (code, out) == (1, "")
    assert err == (
        "error: rooms.csv, row 2 (attic): upper[0] is NaN (an empty cell); use --invalid skip to skip such rows\n"
    )


def test_invalid_row_of_the_second_file_names_that_file(rooms, run):
    np.save("pipes.npy", np.array([[0, 0, 1, 1], [5, 0, 4, 1.0]]))
    code, _, err = run("count", "rooms.csv", "pipes.npy")
    assert code == 1
    assert "pipes.npy, row 1: lower[0] > upper[0] (5.0 > 4.0)" in err


@pytest.mark.parametrize("command", ["pairs", "count"])
def test_invalid_rows_can_be_skipped_with_a_warning(rooms, run, command):
    rooms.write_text(ROOMS.replace("attic,1,1,3,3", "attic,1,1,,3"))
    code, out, err = run(command, "rooms.csv", "--invalid", "skip", "--json")
    assert (code, json.loads(out)["pair_count"]) == (0, 1)
    assert err == ("warning: rooms.csv, row 2 (attic): upper[0] is NaN (an empty cell); skipped\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pairs", "nowhere"], "nowhere: no such file; the bundled data sets are us_counties"),
        (["pairs", "notes.txt"], "notes.txt: unknown file name ending"),
        (["pairs", "words.csv"], "words.csv, row 0 (line 2): column xmax is 'wide', not a number"),
        (["info", "words.csv"], "words.csv, row 0 (line 2)"),
        (["pairs", "rooms.csv", "line.npy"], "rooms.csv has 2 axes, line.npy has 1 axes"),
        (["pairs", "rooms.csv", "--names", "title"], "rooms.csv: unknown column 'title'"),
        (["pairs", "rooms.csv", "-o", "nowhere/pairs.npy"], "there is no such folder"),
        (["count", "."], ".: unknown file name ending"),
    ],
)
def test_data_error_is_one_line_and_exit_code_1(rooms, run, arguments, message):
    (rooms.parent / "notes.txt").write_text("hello")
    (rooms.parent / "words.csv").write_text("xmin,xmax\n1,wide\n")
    np.save("line.npy", np.zeros((3, 2)))
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["pairs"],
        ["pairs", "rooms.csv", "--method", "magic"],
        ["pairs", "rooms.csv", "--workers", "0"],
        ["pairs", "rooms.csv", "--margin", "-1"],
        ["pairs", "rooms.csv", "--margin", "nan"],
        ["pairs", "rooms.csv", "--max-pairs", "-1"],
        ["pairs", "rooms.csv", "--invalid", "maybe"],
        ["pairs", "rooms.csv", "--output", "pairs.txt"],
        ["pairs", "rooms.csv", "--no-such-option"],
        ["pairs", "a", "b", "c"],
        ["pairs", "us_counties", "--names", "county"],
        ["count", "us_counties", "--parts"],
        ["no_such_command"],
    ],
)
def test_wrong_usage_is_exit_code_2(rooms, run, arguments):
    code, out, err = run(*arguments)
    assert code == 2
    assert err
    assert not out


def test_debug_shows_the_traceback(rooms, run):
    for arguments in (["--debug", "count", "nowhere.csv"], ["count", "nowhere.csv", "--debug"]):
        with pytest.raises(FileNotFoundError, match="nowhere"):
            run(*arguments)


@pytest.mark.parametrize("error", [TypeError("internal"), ValueError("internal"), KeyError("internal")])
def test_internal_error_shows_its_traceback_and_is_exit_code_3(rooms, run, monkeypatch, error):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(bp, "count_pairs", fail)
    code, out, err = run("count", "rooms.csv")
    assert (code, out) == (3, "")
    assert err.startswith("Traceback (most recent call last):")
    assert err.endswith("\nerror: this is a bug in broadphase: please report it with the traceback above\n")
    with pytest.raises(type(error), match="internal"):
        run("count", "rooms.csv", "--debug")


@pytest.mark.parametrize("method", [method.name for method in bp.METHODS])
@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_every_method_counts_in_every_dimension(run, tmp_path, method, dim):
    np.save(tmp_path / "boxes.npy", np.stack([np.zeros((3, dim)), np.ones((3, dim))], axis=1))
    code, out, err = run("count", tmp_path / "boxes.npy", "--method", method)
    assert (code, out, err) == (0, "3\n", "")


def test_parts_give_more_boxes(rooms, run):
    islands = {"type": "MultiPoint", "coordinates": [[0, 0], [5, 5], [9, 9]]}
    (rooms.parent / "islands.geojson").write_text(json.dumps(islands))
    assert json.loads(run("info", "islands.geojson", "--json")[1])["box_count"] == 1
    assert json.loads(run("info", "islands.geojson", "--parts", "--json")[1])["box_count"] == 3


def test_info_describes_the_installation(run):
    code, out, _ = run("info")
    assert code == 0
    for text in (bp.__version__, np.__version__, "grid", "scalar", "us_counties (3,510 boxes)"):
        assert text in out
    facts = json.loads(run("info", "--json")[1])
    assert facts["broadphase"] == bp.__version__
    assert facts["methods"] == [method.name for method in bp.METHODS]
    if facts["extras"]:  # empty where the package is not installed
        assert f"typer {metadata.version('typer')}" in facts["extras"]["cli"]
        assert "pyarrow" in facts["extras"]["io"]


def test_info_of_a_file_with_bad_rows_counts_them(rooms, run):
    rooms.write_text(ROOMS + "pit,5,5,4,4\nsky,-inf,0,inf,1\nline,0,0,0,9\n")
    code, out, _ = run("info", "rooms.csv", "--json")
    facts = json.loads(out)
    assert code == 0
    assert (facts["box_count"], facts["invalid_rows"], facts["infinite_boxes"]) == (7, 1, 1)
    assert facts["boxes_of_zero_width"] == 1
    assert facts["lower"] == [None, 0]
    assert facts["first_invalid"] == "rooms.csv, row 4 (pit): lower[0] > upper[0] (5.0 > 4.0)"
    assert "row 4 (pit)" in run("info", "rooms.csv")[1]


def test_empty_file_of_boxes_is_no_error(rooms, run):
    rooms.write_text(ROOMS.splitlines()[0] + "\n")
    assert run("count", "rooms.csv")[:2] == (0, "0\n")
    assert run("info", "rooms.csv")[0] == 0
    code, out, _ = run("pairs", "rooms.csv", "--json", "-o", "pairs.npy")
    assert (code, json.loads(out)["pair_count"]) == (0, 0)
    assert np.load("pairs.npy").shape == (0, 2)


def test_explain_names_the_method(rooms, run):
    code, out, _ = run("explain", "rooms.csv")
    assert code == 0
    assert any(method.name in out for method in bp.METHODS)
    facts = json.loads(run("explain", "rooms.csv", "--json")[1])
    assert facts["method"] in {method.name for method in bp.METHODS}
    assert facts["box_count"] == 4


def test_progress_goes_to_stderr_and_only_when_asked_for(rooms, run):
    _, quiet_out, quiet_err = run("pairs", "rooms.csv", "--json")
    code, out, err = run("pairs", "rooms.csv", "--json", "--progress")
    assert code == 0
    assert quiet_err == ""
    assert "summarizing" in err
    assert json.loads(out)["sets"] == json.loads(quiet_out)["sets"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"broadphase {command}" in out.replace(f"Usage: broadphase {command}", "")


def test_version_is_that_of_the_package(run):
    assert run("--version")[:2] == (0, f"broadphase {bp.__version__}\n")


@pytest.mark.parametrize("library", ["typer", "rich"])
def test_without_the_extra_the_command_names_the_installation(library):
    code = f"import sys; sys.modules[{library!r}] = None; from broadphase.cli import main; sys.exit(main(['info']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f'error: the command needs {library}: pip install "broadphase[cli]"\n'


def test_missing_library_for_a_file_names_the_installation(rooms, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (rooms.parent / "rooms.parquet").write_bytes(b"PAR1")
    code, _, err = run("count", "rooms.parquet")
    assert code == 1
    assert err == 'error: reading .parquet files needs pyarrow: pip install "broadphase[io]"\n'


@pytest.mark.skipif(os.name == "nt", reason="pipes close otherwise there")
def test_closed_pipe_prints_no_error():
    command = f"{sys.executable} -m broadphase.cli info --json | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_missing_file_suggests_the_nearest_name(tmp_path, capsys):
    (tmp_path / "rooms.csv").write_text("xmin,xmax\n0,1\n", "utf-8")
    for name, nearest in (
        ("us_county", "did you mean the data set 'us_counties'?"),
        (str(tmp_path / "room.csv"), "rooms.csv'?"),
        (str(tmp_path / "walls.glb"), "the bundled data sets are us_counties"),
    ):
        assert cli.main(["pairs", name]) == 1
        assert nearest in capsys.readouterr().err


def test_layer_of_a_file_is_named_behind_a_mark(tmp_path, capsys):
    geopandas, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    pytest.importorskip("pyogrio")
    path = tmp_path / "map.gpkg"
    for layer, count in (("rooms", 3), ("halls", 2)):
        frame = geopandas.GeoDataFrame(geometry=[shapely.box(0, 0, 1, 1)] * count, crs=32633)
        frame.to_file(path, layer=layer)
    assert cli.main(["count", f"{path}#rooms"]) == 0
    assert capsys.readouterr().out == "3\n"
    assert cli.main(["count", str(path)]) == 1
    assert "FILE#" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("broadphase pa", {"pairs"}),
        ("broadphase pairs x --metho", {"--method"}),
        ("broadphase pairs x --method oct", {"octree"}),
        ("broadphase count us_", {"us_counties"}),
        ("broadphase run mach", {"machine_gun"}),
    ],
)
def test_shell_completes_commands_options_and_values(words, wanted, monkeypatch, capsys):
    monkeypatch.setenv("_BROADPHASE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert cli.main([]) == 0
    assert set(capsys.readouterr().out.split()) == wanted


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["us_counties"], "To find its pairs: broadphase pairs us_counties"),
        (["piars", "us_counties"], "Did you mean 'pairs'?"),
        (["pairs", "us_counties", "--max-pairs", "3"], "raise --max-pairs, or count them by broadphase count"),
        (["pairs", "us_counties", "--output", "/no such folder/pairs.csv"], "/no such folder: there is no such folder"),
        (["clash", "x.glb", "--exclude", "bolt"], "such as 'bolt*:nut*'"),
    ],
)
def test_error_says_what_to_do(arguments, advice, capsys):
    assert cli.main(arguments) in (1, 2)
    assert advice in capsys.readouterr().err


def test_progress_shows_totals_of_each_step_alone(capsys):
    assert cli.main(["pairs", "us_counties", "--progress"]) == 0
    lines = capsys.readouterr().err
    assert "10,465/10,465" in lines
    with screen.progress_bar(True) as step:
        step("reading", 0, 3)
        step("finding pairs of 7 boxes")
    shown = capsys.readouterr().err
    assert "finding pairs of 7 boxes" in shown
    assert "/3" not in shown.split("finding")[-1]  # the total of another step


def test_progress_of_a_search_keeps_its_text():
    shown = []
    tell = screen.counted(lambda *step: shown.append(step), "finding pairs of 7 boxes")
    tell("prepare", 0, 7)
    tell("find", 3, 7)
    assert shown == [("finding pairs of 7 boxes", 3, 7)]


def test_clash_of_a_missing_file_suggests_the_nearest(tmp_path, capsys):
    (tmp_path / "walls.glb").write_bytes(b"")
    assert cli.main(["clash", str(tmp_path / "wals.glb")]) == 1
    assert "walls.glb'?" in capsys.readouterr().err
