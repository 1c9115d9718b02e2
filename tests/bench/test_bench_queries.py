"""Comparisons of queries: the same questions to indexes and installed libraries, and the same answers."""

import json
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.measuring import version_of
from benchmarks.plots import plot_queries
from benchmarks.queries import (
    FRAMES,
    TASKS,
    begin_own,
    best_other,
    capable,
    compare_queries,
    first_own,
    judge_changes,
    judge_first,
    judge_nearest,
    judge_sets,
    queries_as_json,
    queries_from_json,
    query_tables,
    ratio,
    right_answer,
    show_queries,
    show_query_choices,
    task_named,
    without_index,
)
from benchmarks.query_peers import QUERY_PEERS, QueryPeer

import broadphase as bp
from broadphase.testing import oracle
from oracles import queries as query_oracle

N = 300
SETTINGS = {task.name: task.make(N) for task in TASKS}
INSTALLED = [
    pytest.param(task, row, id=f"{task}-{row.name}")
    for row in QUERY_PEERS
    for task in row.tasks
    if version_of(row.distribution)
]
pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries


def lies_about(tasks, name="liar", begin=lambda setting: lambda _: (np.zeros(0, int), np.zeros(0, int))):
    return QueryPeer(name, name.title(), "numpy", tasks, begin)


def hits(rows, offsets):
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), rows


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_right_answer_is_that_of_the_oracle(task):
    setting = SETTINGS[task.name]
    right = right_answer(task, setting, 1)
    if task.name.startswith("boxes"):
        assert judge_sets(setting, right, hits(*query_oracle.query(setting.boxes, setting.queries[0]))) == "exact"
    elif task.name == "balls":
        assert judge_sets(setting, right, hits(*query_oracle.query_ball(setting.boxes, *setting.queries))) == "exact"
    elif task.name.startswith("nearest"):
        expected = query_oracle.nearest(setting.boxes, setting.queries[0], right[0].shape[1])
        assert judge_nearest(setting, right, expected) == "exact"
    elif task.name == "rays":
        assert judge_first(setting, right, query_oracle.raycast(setting.boxes, *setting.queries)) == "exact"
    elif task.name.endswith("move"):
        before, now = (oracle.pairs(setting.frames[number].scene) for number in (0, 1))
        if task.name == "all_move":
            assert judge_sets(setting, right, now.T) == "exact"
        else:
            now, before = (set(map(tuple, pairs.tolist())) for pairs in (now, before))
            assert judge_changes(setting, right, (sorted(now - before), sorted(before - now))) == "exact"


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_own_indexes_answer_every_round_right(task):
    setting = SETTINGS[task.name]
    assert capable(task)[0] == "Index"
    calls = {name: begin_own(name, task, setting) for name in capable(task)}
    calls.update((name, begin(setting)) for name, _, begin in without_index(task))
    for number in range(3):
        right = right_answer(task, setting, number)
        for name, call in calls.items():
            assert task.judge(setting, call(number), right) == "exact", (name, number)


@pytest.mark.parametrize(("name", "row"), INSTALLED)
def test_peer_answers_every_round_right(name, row):
    task, setting = task_named(name), SETTINGS[name]
    call = row.begin(setting)
    for number in range(3):
        verdict = task.judge(setting, call(number), right_answer(task, setting, number))
        assert not verdict.startswith("wrong"), verdict


@pytest.mark.parametrize("name", ["few_move", "all_move"])
def test_moving_boxes_keep_their_sizes(name):
    setting = SETTINGS[name]
    edge = setting.boxes[0, 1, 0] - setting.boxes[0, 0, 0]
    assert len(setting.frames) == FRAMES
    for frame in setting.frames:
        assert (frame.scene[:, 1] - frame.scene[:, 0] == edge).all()
        assert np.array_equal(frame.scene[frame.rows], frame.boxes)
    assert setting.count == (N if name == "all_move" else N // 100)


def test_part_of_a_setting_has_fewer_queries():
    setting = SETTINGS["rays"]
    part = setting.part(0.01)
    assert (part.count, setting.count) == (N // 10, 10 * N)
    assert part.boxes is setting.boxes
    assert setting.part(1.0) is setting


def test_verdicts_name_every_kind_of_fault():
    setting = SETTINGS["boxes_2d"]
    right = right_answer(task_named("boxes_2d"), setting, 0)
    query_rows, rows = (np.asarray(part) for part in right)
    assert judge_sets(setting, (query_rows[::-1], rows[::-1]), right) == "exact"
    assert judge_sets(setting, (query_rows[1:], rows[1:]), right) == "wrong: 1 missing"
    doubled = np.append(query_rows, query_rows[0]), np.append(rows, rows[0])
    assert judge_sets(setting, doubled, right) == "wrong: 1 twice"
    assert "1 of" in judge_sets(setting, (np.append(query_rows, 0), np.append(rows, N)), right)
    index, distance = right_answer(task_named("nearest_8"), SETTINGS["nearest_8"], 0)
    assert judge_nearest(setting, (index, distance * 1.001), (index, distance)) == "wrong: other distances"
    assert "in another order" in judge_nearest(setting, (index[:, ::-1], distance), (index, distance))
    rays = SETTINGS["rays"]
    hits = right_answer(task_named("rays"), rays, 0)
    assert judge_first(rays, (np.full_like(hits[0], -1),), hits).startswith("wrong: ")
    one_missed = np.where(np.arange(len(hits[0])) == np.argmax(hits[0] >= 0), -1, hits[0])
    assert judge_first(rays, (one_missed,), hits).endswith("1 of them past an edge")
    assert judge_changes(setting, (rows[:0], rows[:0]), ([[0, 1]], rows[:0])) == "wrong: 0 enter pairs, not 1"


@pytest.fixture(scope="module")
def comparison():
    return compare_queries(["boxes_2d", "frustums", "few_move"], N, peers=["numpy", "scipy"], budget=0.1)


def test_compare_queries_times_all_that_are_right(comparison):
    tasks = [outcome.task for outcome in comparison.outcomes]
    assert list(dict.fromkeys(tasks)) == ["boxes_2d", "frustums", "few_move"]
    assert comparison.wrong == []
    assert all(outcome.milliseconds > 0 and outcome.rounds > 0 for outcome in comparison.outcomes)
    assert first_own(comparison.of("frustums")).contestant == "Index"
    assert best_other(comparison.of("frustums")).contestant == "numpy"


def test_compare_queries_wrong_or_failing_peer_is_not_timed(monkeypatch):
    breaker = lies_about(("frustums",), "breaker", lambda setting: lambda _: 1 / 0)
    monkeypatch.setattr("benchmarks.queries.QUERY_PEERS", (*QUERY_PEERS, lies_about(("frustums",)), breaker))
    told = []
    done = compare_queries(
        ["frustums"], 50, peers=["liar", "breaker"], budget=0.1, progress=lambda *step: told.append(step)
    )
    verdicts = {outcome.contestant: outcome for outcome in done.outcomes}
    assert verdicts["liar"].verdict.startswith("wrong: ")
    assert verdicts["breaker"].verdict == "failed: ZeroDivisionError"
    assert verdicts["liar"].milliseconds is verdicts["breaker"].milliseconds is None
    assert done.wrong == [verdicts["liar"]]
    assert told[-1] == (1.0, "done")


def test_compare_queries_too_slow_is_left_out():
    done = compare_queries(["frustums"], 50, peers=[], slowest=1e-9)
    assert all(outcome.verdict.startswith("would take") for outcome in done.outcomes)


def test_compare_queries_unknown_names_raise():
    with pytest.raises(ValueError, match=r"no kind of query is named 'taste'.*rays"):
        compare_queries(["taste"], 10)
    with pytest.raises(ValueError, match="no peer is named 'nobody'"):
        compare_queries(["rays"], 10, peers=["nobody"])


def test_query_tables_and_json_hold_the_outcomes(comparison, capsys):
    tables = query_tables(comparison)
    assert tables[0][0] == f"{N} rectangle queries of {N}"
    assert tables[0][2][0][0] == "broadphase Index"
    assert all(len(row) == len(columns) for _, columns, rows in tables for row in rows)
    assert queries_from_json(json.loads(json.dumps(queries_as_json(comparison)))) == comparison
    show_queries(comparison)
    show_query_choices()
    text = capsys.readouterr().out
    assert "NumPy, six planes" in text
    assert "embreex" in text or "Embree" in text


def test_ratio_compares_for_as_many_questions(comparison):
    ours = first_own(comparison.of("boxes_2d"))
    fewer = replace(ours, query_count=ours.query_count // 10)
    assert ratio(fewer, ours) == pytest.approx(10.0)


def test_plot_queries_writes_a_picture(comparison, tmp_path):
    pytest.importorskip("matplotlib")
    untimed = [replace(outcome, milliseconds=None) for outcome in comparison.of("frustums")]
    outcomes = [outcome for outcome in comparison.outcomes if outcome.task != "frustums"] + untimed
    plot_queries(replace(comparison, outcomes=outcomes), tmp_path / "queries.png")
    assert (tmp_path / "queries.png").stat().st_size > 5_000


def test_query_peers_and_tasks_go_together():
    assert {name for row in QUERY_PEERS for name in row.tasks} == {task.name for task in TASKS}
    assert len({(row.title, task) for row in QUERY_PEERS for task in row.tasks}) == len(
        [task for row in QUERY_PEERS for task in row.tasks]
    )
    words = set().union(*(task.needs for task in TASKS))
    assert words <= set().union(*(method.capabilities for method in bp.METHODS))
