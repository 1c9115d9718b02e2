"""Comparisons: who takes part, what is timed, and what the tables, the JSON and the plot make of it."""

import itertools
import json
import os
import time
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.measuring import median_times, one_core
from benchmarks.pairs import (
    Foresight,
    as_json,
    compare,
    comparison_tables,
    contestants,
    from_json,
    measure_work,
    show_choices,
    show_comparison,
)
from benchmarks.peers import PEERS, Peer
from benchmarks.plots import plot_comparison, spread
from benchmarks.tables import duration, factor

import broadphase as bp

NUMPY = ["numpy_sweep", "numpy_brute"]


@pytest.fixture(scope="module")
def comparison():
    return compare(["rects", "uniform"], [100, 300], contestants(["auto", "grid"], NUMPY), budget=0.3)


def test_compare_runs_all_and_finds_them_exact(comparison):
    assert len(comparison.outcomes) == 2 * 2 * 4
    assert {outcome.verdict for outcome in comparison.outcomes} == {"exact"}
    assert all(outcome.milliseconds > 0 and outcome.runs > 0 for outcome in comparison.outcomes)
    assert set(comparison.argsort_milliseconds) == {100, 300}
    assert comparison.wrong == []


def test_compare_reports_progress():
    told = []
    compare(
        ["rects"],
        [50],
        contestants(["auto"], []),
        budget=0.05,
        progress=lambda done, what: told.append((done, what)),
    )
    assert told[0] == (0.0, "rects, 50 boxes: broadphase")
    assert told[-1] == (1.0, "done")


def test_compare_wrong_answer_is_not_timed(monkeypatch):
    liar = Peer("liar", "Liar", "numpy", lambda boxes: bp.pairs(boxes)[1:], (2,))
    breaker = Peer("breaker", "Breaker", "numpy", lambda boxes: 1 / 0, (2,))
    monkeypatch.setattr("benchmarks.peers.PEERS", (*PEERS, liar, breaker))
    comparison = compare(["rects"], [200], contestants(peers=["liar", "breaker"]), budget=0.05)
    lied, broke = comparison.outcomes[1:]
    assert (lied.verdict, lied.milliseconds) == ("wrong: 1 missing", None)
    assert (broke.verdict, broke.milliseconds) == ("failed: ZeroDivisionError", None)
    assert comparison.wrong == [lied]


def test_compare_too_slow_is_left_out(monkeypatch):
    def slow(boxes):
        time.sleep(len(boxes) * 2e-5)
        return bp.pairs(boxes)

    monkeypatch.setattr("benchmarks.peers.PEERS", (*PEERS, Peer("slow", "Slow", "numpy", slow, (2,))))
    comparison = compare(["rects"], [600, 50_000], contestants(peers=["slow"]), budget=0.2, slowest=0.5)
    verdicts = {outcome.box_count: outcome.verdict for outcome in comparison.outcomes if outcome.contestant == "slow"}
    assert verdicts[600] == "exact"
    assert verdicts[50_000].startswith("would take")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compare(["nowhere"]), "no scene is named 'nowhere'"),
        (lambda: contestants(["magic"]), "no method is named 'magic'"),
        (lambda: contestants(peers=["nobody"]), "no peer is named 'nobody'"),
    ],
)
def test_unknown_name_raises(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_foresight_extrapolates_between_linear_and_quadratic():
    foresight = Foresight()
    assert foresight.seconds("a", "b", 1000) == 0.0
    foresight.note("a", "b", 1000, 0.01)
    assert foresight.seconds("a", "b", 8000) == pytest.approx(0.01 * 8 ** (5 / 3))
    foresight.note("a", "b", 2000, 0.02)
    assert foresight.seconds("a", "b", 20_000) == pytest.approx(0.2)
    foresight.note("a", "b", 4000, 2.0)
    assert foresight.seconds("a", "b", 40_000) == pytest.approx(200.0)


def test_median_times_interleaves_and_counts_runs():
    order = []
    calls = {name: lambda name=name: (order.append(name), time.sleep(0.006)) for name in "ab"}
    timings = median_times(calls, budget=0.08, least=3, most=5)
    assert all(3 <= timing.runs <= 5 for timing in timings.values())
    assert order[:2] == ["a", "b"]
    assert all(first != second for first, second in itertools.pairwise(order[2:8]))
    assert all(5 <= timing.quickest <= timing.milliseconds for timing in timings.values())


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot pin threads")
def test_one_core_pins_and_restores():
    before = os.sched_getaffinity(0)
    with one_core():
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before


def test_comparison_tables_show_times_and_skips(comparison):
    (title, columns, rows), _ = comparison_tables(comparison)
    assert title.startswith("rects: 300 boxes have ")
    assert columns[1:3] == ["n = 100", "n = 300"]
    assert [row[0] for row in rows] == [
        "broadphase", "broadphase grid", "NumPy sort and sweep", "NumPy brute force", "T: np.argsort of n float32",
    ]  # fmt: skip
    assert rows[0][4:] == ["1.0", "exact"]
    assert all(len(row) == len(columns) for row in rows)


def test_as_json_survives_a_round_trip(comparison):
    told = json.loads(json.dumps(as_json(comparison)))
    assert from_json(told) == comparison
    assert told["outcomes"][0]["scene"] == "rects"
    assert told["machine"]["numpy"] == np.__version__
    assert set(told["argsort_milliseconds"]) == {"100", "300"}


def test_show_comparison_in_a_pipe_is_plain(comparison, capsys):
    show_comparison(comparison)
    text = capsys.readouterr().out
    assert "NumPy brute force" in text
    assert "\x1b" not in text


def test_show_choices_lists_scenes_methods_and_peers(capsys):
    show_choices()
    text = capsys.readouterr().out
    assert all(word in text for word in ("lognormal", "sweep_and_prune", "ipctk_lbvh"))


@pytest.mark.parametrize("ending", ["svg", "png"])
@pytest.mark.filterwarnings("ignore")
def test_plot_comparison_writes_a_picture(comparison, tmp_path, ending):
    pytest.importorskip("matplotlib")
    early = [o for o in comparison.outcomes if (o.contestant, o.box_count) != ("numpy_brute", 300)]
    path = tmp_path / f"speed.{ending}"
    plot_comparison(replace(comparison, outcomes=early), path)
    assert path.stat().st_size > 5_000
    if ending == "svg":
        assert path.read_text().startswith("<?xml")


def test_work_counts_the_tests_of_every_index():
    works = measure_work(["rects", "uniform"], [200, 50])
    methods = {row.name for row in bp.METHODS if row.index_class and row.name != "brute_force"}
    assert {work.method for work in works} == methods
    assert [work.box_count for work in works if work.method == "bvh"] == [50, 200, 50, 200]
    for work in works:
        assert work.brute_force_tests == work.box_count * (work.box_count - 1) // 2
        assert work.tests > 0
        assert bool(work.bytes_by_level) == (work.method == "linear_tree")


def test_work_leaves_out_what_would_take_long(monkeypatch):
    monkeypatch.setattr("benchmarks.pairs.MOST_SECONDS", 0.0)
    assert {work.box_count for work in measure_work(["rects"], [50, 200])} == {50}


def test_plot_comparison_with_work_has_three_rows(comparison, tmp_path, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure")
    saved = []
    monkeypatch.setattr(figure.Figure, "savefig", lambda self, *_, **__: saved.append(self))
    scenes = list(dict.fromkeys(outcome.scene for outcome in comparison.outcomes))
    plot_comparison(comparison, tmp_path / "speed.png", measure_work(scenes, [100, 300]))
    titles = [panel.get_title(loc="left") for panel in saved[0].axes]
    assert len(titles) == 3 * len(scenes)
    for scene in scenes:
        assert f"{scene}: boxes compared" in titles
        assert f"{scene}: memory by level" in titles


def test_spread_keeps_order_gap_and_bounds():
    rng = np.random.default_rng(3)
    for count in (1, 2, 5, 12):
        wished = np.sort(rng.random(count))
        placed = spread(wished, 0.06)
        assert (np.diff(placed) >= 0.06 - 1e-9).all()
        assert placed.min() >= 0
        assert placed.max() <= 1 + 1e-9
    assert spread(np.array([]), 0.1).shape == (0,)


def test_duration_and_factor_keep_three_and_two_digits():
    assert [duration(value) for value in (0.0004, 0.99949, 0.9996, 12345.6)] == [
        "0.400 µs",
        "999 µs",
        "1.00 ms",
        "12.3 s",
    ]
    assert [factor(value) for value in (0.5, 1.04, 9.94, 9.96, 512.6)] == ["0.50", "1.0", "9.9", "10", "513"]
