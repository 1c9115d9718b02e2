"""The command `broadphase run`: what it shows, what it writes, and that Ctrl-C keeps it."""

import csv
import json
import signal

import pytest

from broadphase import cli, scenes

pytest.importorskip("typer")
pytest.importorskip("rich")

BALLS = """
title = "Two balls and a wall"
[world]
dim = 2
dt = 0.5
steps = 12

[[group]]
name = "balls"
shape = { type = "circle", radius = 1 }
place = { how = "list", at = [[0, 0], [30, 0]] }
velocity = [2, 0]

[[group]]
name = "wall"
body_type = "static"
shape = { type = "rectangle", width = 1, height = 10 }
place = { how = "list", at = [[5, 0]] }
"""


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """A scene in the current folder: a ball goes through a wall from step 4 to step 6."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "balls.toml").write_text(BALLS)
    return tmp_path / "balls.toml"


@pytest.fixture
def run(capsys):
    def run_and_read(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run_and_read


def test_settings_of_the_method_are_set_one_by_one(scene, run):
    tight = ("--method", "octree", "--set", "leaf_capacity=1", "--set", "looseness=1")
    code, out, err = run("run", "balls.toml", *tight, "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["method"] == "Octree.options(leaf_capacity=1, looseness=1.0)"
    assert answer["quickest"] == "octree"
    assert (answer["enters"], answer["exits"]) == (1, 1)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("leaf_capacity=0", "leaf_capacity must be from 1"),
        ("leafs=1", "unknown setting 'leafs'"),
        ("leaf_capacity", "settings are written name=value"),
        ("bounds=[0, 0, 0, 1, 1, 1]", "bounds must be two corners of 2 numbers, not of 3"),
    ],
)
def test_settings_that_are_wrong_are_an_error_of_usage(scene, run, setting, message):
    code, _, err = run("run", "balls.toml", "--method", "octree", "--set", setting)
    assert code == 2
    assert message in err
    assert "--set" in err


def test_run_prints_a_summary(scene, run):
    code, out, err = run("run", "balls.toml")
    assert (code, err) == (0, "")
    for text in ("Two balls and a wall", "12", "3 (2 axes)", "median", "99th percentile", "1, 1", "auto"):
        assert text in out
    assert "by rules" not in out


def test_run_json_has_all_figures(scene, run):
    code, out, _ = run("run", "balls.toml", "--json", "--method", "bvh", "--steps", 6)
    answer = json.loads(out)
    assert code == 0
    assert (answer["steps"], answer["stopped"], answer["bodies"]) == (6, False, 3)
    assert (answer["enters"], answer["exits"], answer["method"], answer["events"]) == (1, 0, "bvh", None)
    assert 0 < answer["step_ms"]["median"] <= answer["step_ms"]["p99"]
    assert answer["quickest"] == "bvh"


def test_run_of_zero_steps_succeeds(scene, run):
    answer = json.loads(run("run", "balls.toml", "--json", "--steps", 0)[1])
    assert (answer["steps"], answer["step_ms"]["median"]) == (0, None)
    assert run("run", "balls.toml", "--steps", 0)[0] == 0


def test_events_are_written_as_csv(scene, run):
    code, out, _ = run("run", "balls.toml", "--events", "events.csv")
    assert code == 0
    assert "2 events to events.csv" in out
    with open("events.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["frame"], row["time"], row["event"], row["first"], row["second"]) for row in rows] == [
        ("4", rows[0]["time"], "enter", "0", "2"),
        ("7", rows[1]["time"], "exit", "0", "2"),
    ]
    assert [float(row["time"]) for row in rows] == [2.0, 3.5]
    assert {(row["first_layer"], row["second_layer"]) for row in rows} == {("balls", "wall")}
    assert {int(row["first_handle"]) & 0xFFFF_FFFF for row in rows} == {0}


def test_stay_option_writes_stay_events(scene, run):
    run("run", "balls.toml", "--events", "events.csv", "--stay")
    with open("events.csv", newline="") as stream:
        events = [(int(row["frame"]), row["event"]) for row in csv.DictReader(stream)]
    assert events == [(4, "enter"), (5, "stay"), (6, "stay"), (7, "exit")]


def test_events_are_written_as_parquet_and_balance(scene, run):
    parquet = pytest.importorskip("pyarrow.parquet")
    answer = json.loads(run("run", "machine_gun", "--steps", 60, "--events", "hits.parquet", "--json")[1])
    table = parquet.read_table("hits.parquet").to_pydict()
    kinds = table["event"]
    assert (kinds.count("enter"), kinds.count("exit")) == (answer["enters"], answer["exits"])
    assert answer["events"] == {"file": "hits.parquet", "count": len(kinds)}
    assert answer["added"] == 120
    open_pairs = set()
    for kind, *pair in zip(kinds, table["first_handle"], table["second_handle"], strict=True):
        if kind == "enter":
            assert tuple(pair) not in open_pairs
            open_pairs.add(tuple(pair))
        else:
            open_pairs.remove(tuple(pair))
    assert "by rules" in run("run", "machine_gun", "--steps", 5)[1]


def test_options_override_the_scene(scene, run):
    answer = json.loads(run("run", "bouncing_spheres", "--steps", 2, "--count-scale", 0.1, "--json")[1])
    assert answer["bodies"] == 30
    run("run", "balls.toml", "--dt", 1, "--events", "a.csv")
    with open("a.csv", newline="") as stream:
        assert [(int(row["frame"]), float(row["time"])) for row in csv.DictReader(stream)] == [(2, 2.0), (4, 4.0)]
    first = json.loads(run("run", "bouncing_rectangles", "--steps", 1, "--json")[1])
    second = json.loads(run("run", "bouncing_rectangles", "--steps", 1, "--json", "--seed", 8)[1])
    assert first["enters"] != second["enters"]


def test_quiet_shows_nothing(scene, run):
    assert run("run", "balls.toml", "--quiet") == (0, "", "")


def test_progress_goes_to_stderr(scene, run):
    code, out, err = run("run", "balls.toml", "--progress", "--json")
    assert code == 0
    assert "running" in err
    json.loads(out)


def test_list_names_the_bundled_scenes(run):
    code, out, _ = run("run", "--list")
    assert code == 0
    for name in scenes.NAMES:
        assert name in out
        assert scenes.load(name).title in out


def test_help_has_examples(run):
    code, out, _ = run("run", "--help")
    assert code == 0
    assert "broadphase run bouncing_rectangles" in out
    assert "--events" in out


@pytest.fixture
def interrupted(monkeypatch):
    """Press Ctrl-C in the fifth step."""
    step = scenes.Run.step

    def step_and_press(self):
        if self.steps == 4:
            signal.raise_signal(signal.SIGINT)
        return step(self)

    monkeypatch.setattr(scenes.Run, "step", step_and_press)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_ctrl_c_ends_the_run_and_keeps_what_was_written(scene, run, interrupted, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    before = signal.getsignal(signal.SIGINT)
    code, out, _ = run("run", "balls.toml", "--events", f"events{suffix}", "--json")
    answer = json.loads(out)
    assert code == 0
    assert (answer["steps"], answer["stopped"], answer["events"]["count"]) == (5, True, 1)
    assert sorted(path.name for path in scene.parent.iterdir()) == ["balls.toml", f"events{suffix}"]
    assert signal.getsignal(signal.SIGINT) is before
    assert "5 (stopped)" in run("run", "balls.toml")[1]


def test_second_ctrl_c_stops_at_once(scene, run, monkeypatch):
    def press_twice(self):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(scenes.Run, "step", press_twice)
    code = run("run", "balls.toml", "--events", "events.csv")[0]
    assert code != 0
    assert [path.name for path in scene.parent.iterdir()] == ["balls.toml"]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["run"], 2, "--list"),
        (["run", "no_such"], 1, "unknown scene 'no_such'"),
        (["run", "none.toml"], 1, "none.toml: No such file"),
        (["run", "bad.toml"], 1, "bad.toml, [world], dim: is missing"),
        (["run", "balls.toml", "--method", "magic"], 2, "magic"),
        (["run", "balls.toml", "--events", "a.npy"], 2, "must end in .csv or"),
        (["run", "balls.toml", "--dt", "nan"], 2, "finite"),
        (["run", "balls.toml", "--dt", "1e308"], 1, "error: balls, step "),
        (["run", "balls.toml", "--count-scale", "inf"], 2, "--count-scale"),
        (["run", "balls.toml", "--steps", "-1"], 2, "--steps"),
        (["run", "balls.toml", "--events", "none/a.csv"], 1, "there is no such folder"),
    ],
)
def test_errors_name_what_is_wrong(scene, run, arguments, code, text):
    (scene.parent / "bad.toml").write_text("[world]\n")
    found, out, err = run(*arguments)
    assert found == code
    assert out == ""
    assert text in " ".join(err.split())


def test_replay_is_a_page_of_all_steps(scene, run):
    code, out, _ = run("run", "balls.toml", "--replay", "run.html")
    assert code == 0
    assert "run.html" in out
    page = (scene.parent / "run.html").read_text("utf-8")
    assert "<title>Two balls and a wall</title>" in page
    assert '"frames":12' in page


def test_record_writes_for_rerun_or_names_what_is_missing(scene, run):
    code, _, err = run("run", "balls.toml", "--record", "run.rrd", "--quiet")
    if code:
        assert "broadphase[record]" in err
    else:
        assert (scene.parent / "run.rrd").read_bytes().startswith(b"RRF")


@pytest.mark.parametrize("option", ["--replay", "--record"])
def test_other_endings_are_refused_before_the_run(scene, run, option):
    code, _, err = run("run", "balls.toml", option, "run.txt")
    assert code == 2
    assert "the file name must end in" in " ".join(err.split())
