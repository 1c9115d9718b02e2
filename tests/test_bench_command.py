"""The command ``broadphase bench``."""

import json

import pytest

typer = pytest.importorskip("typer")
testing = pytest.importorskip("typer.testing")

SMALL = ["--scene", "rects", "--size", "100", "--peer", "numpy_sweep", "--budget", "0.1"]


@pytest.fixture(scope="module")
def run():
    from broadphase.cli.bench import bench

    application = typer.Typer()
    application.command()(bench)
    return lambda *arguments: testing.CliRunner().invoke(application, arguments)


def test_bench_prints_a_table(run):
    result = run(*SMALL)
    assert result.exit_code == 0, result.output
    assert "NumPy sort and sweep" in result.output
    assert "exact" in result.output


def test_bench_json_to_screen_is_json_alone(run):
    result = run(*SMALL, "--json", "-")
    assert {outcome["contestant"] for outcome in json.loads(result.stdout)["outcomes"]} == {"auto", "numpy_sweep"}


def test_bench_writes_json_and_plot(run, tmp_path):
    pytest.importorskip("matplotlib")
    result = run(*SMALL, "--no-peers", "--json", str(tmp_path / "a.json"), "--plot", str(tmp_path / "a.svg"))
    assert result.exit_code == 0, result.output
    assert [o["contestant"] for o in json.loads((tmp_path / "a.json").read_text())["outcomes"]] == ["auto"]
    assert (tmp_path / "a.svg").exists()


def test_bench_list_names_the_choices(run):
    result = run("--list")
    assert result.exit_code == 0
    assert "fastquadtree" in result.output


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--scene", "nowhere", "no scene is named 'nowhere'"),
        ("--method", "magic", "no method is named 'magic'"),
        ("--peer", "nobody", "no peer is named 'nobody'"),
        ("--dtype", "float16", "neither float32 nor float64"),
    ],
)
def test_bench_bad_option_exits_with_2(run, option, value, message):
    result = run(option, value)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_bench_wrong_answer_exits_with_1(run, monkeypatch):
    import broadphase as bp
    from broadphase.bench.peers import PEERS, Peer

    liar = Peer("liar", "Liar", "numpy", lambda boxes: bp.pairs(boxes)[1:], (2,))
    monkeypatch.setattr("broadphase.bench.peers.PEERS", (*PEERS, liar))
    result = run("--scene", "rects", "--size", "100", "--peer", "liar", "--budget", "0.1")
    assert result.exit_code == 1
    assert "wrong: 1 missing" in result.output
