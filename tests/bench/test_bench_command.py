"""The command ``python -m benchmarks``: what it prints and writes."""

import json

import pytest
from benchmarks.__main__ import main
from benchmarks.peers import PEERS, Peer

import broadphase as bp

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries


@pytest.fixture
def files(tmp_path):
    return ["--json", str(tmp_path / "a.json"), "--plot", str(tmp_path / "a.svg"), "--budget", "0.1"]


def outcomes(folder):
    return json.loads((folder / "a.json").read_text())["outcomes"]


def test_pairs_prints_a_table_and_writes_its_figures(files, tmp_path, capsys):
    assert main(["pairs", "--scene", "rects", "--size", "100", "--peer", "numpy_sweep", "--work", *files]) == 0
    printed = capsys.readouterr().out
    assert "NumPy sort and sweep" in printed
    assert "exact" in printed
    assert [outcome["contestant"] for outcome in outcomes(tmp_path)] == ["auto", "numpy_sweep"]
    assert "boxes compared" in (tmp_path / "a.svg").read_text()


def test_pairs_without_peers_compares_the_methods(files, tmp_path):
    assert main(["pairs", "--scene", "rects", "--size", "100", "--method", "bvh", "grid", "--no-peers", *files]) == 0
    assert [outcome["contestant"] for outcome in outcomes(tmp_path)] == ["bvh", "grid"]


def test_pairs_wrong_answer_exits_with_1(files, monkeypatch, capsys):
    liar = Peer("shapely", "Liar", "numpy", lambda boxes: bp.pairs(boxes)[1:], (2,))
    monkeypatch.setattr("benchmarks.peers.PEERS", (liar, *PEERS))
    assert main(["pairs", "--scene", "rects", "--size", "100", "--peer", "shapely", *files]) == 1
    assert "wrong: 1 missing" in capsys.readouterr().out


def test_queries_prints_a_table_and_writes_its_figures(files, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.queries.QUERY_PEERS", ())  # every library takes a second to import
    assert main(["queries", "--task", "boxes_2d", "--boxes", "50", *files]) == 0
    assert "broadphase Index" in capsys.readouterr().out
    assert {outcome["task"] for outcome in outcomes(tmp_path)} == {"boxes_2d"}
    assert (tmp_path / "a.svg").exists()


def test_worlds_prints_a_table_and_writes_its_figures(tmp_path, monkeypatch, capsys):
    from benchmarks.world_peers import WORLD_PEERS

    monkeypatch.setattr("benchmarks.worlds.WORLD_PEERS", WORLD_PEERS[:2])
    figures = ["--json", str(tmp_path / "a.json"), "--budget", "0.1"]
    assert main(["worlds", "--scenes", "discs", "--share", "0.01", *figures]) == 0
    assert "100 discs" in capsys.readouterr().out
    assert {outcome["scene"] for outcome in outcomes(tmp_path)} == {"discs"}


def test_list_names_what_can_be_chosen(capsys):
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("lognormal", "fastquadtree", "nearest_8"))


@pytest.mark.parametrize(("option", "value"), [("--scene", "nowhere"), ("--method", "magic"), ("--peer", "nobody")])
def test_pairs_bad_option_exits_with_2(option, value, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["pairs", option, value])
    assert stop.value.code == 2
    assert f"invalid choice: '{value}'" in capsys.readouterr().err
