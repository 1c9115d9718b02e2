"""What ``progress=`` tells: stages in order, counts that grow to their totals, and errors that end the call."""

import re
import threading

import numpy as np
import pytest

import broadphase as bp
from broadphase import progress as subject
from broadphase.testing import make_scene

CUBES = bp.Shapes([bp.Box(2, 2, 2)] * 60, np.arange(60)[:, None] * np.array([1.0, 0, 0]))
MANY = make_scene("uniform", 60_000)


def slow_pairs(**options):
    """Search for several times as long as the core waits between two reports."""
    return bp.pairs(MANY, method="brute_force", **options)


def check(told, totals):
    """Each stage grows to its total, and the stages are in this order."""
    assert list(dict.fromkeys(stage for stage, _, _ in told)) == list(totals)
    for stage, total in totals.items():
        done = [one[1] for one in told if one[0] == stage]
        assert done == sorted(done)
        assert done[-1] == total
        assert {one[2] for one in told if one[0] == stage} == {total}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("call", [bp.pairs, bp.count_pairs])
def test_progress_of_pairs_grows_to_all_boxes_and_changes_nothing(call, workers):
    told, threads = [], set()

    def tell(*report):
        told.append(report)
        threads.add(threading.get_ident())

    found = call(MANY, method="brute_force", workers=workers, progress=tell)
    check(told, {"prepare": 60_000, "find": 60_000})
    assert len({done for stage, done, _ in told if stage == "find"}) > 2
    assert threads == {threading.get_ident()}
    assert np.array_equal(found, call(MANY, method="brute_force", workers=workers))


def test_progress_of_two_sets_counts_both():
    told = []
    bp.pairs(MANY[:10], MANY[:5], batch=([1] * 10, [1] * 5), progress=lambda *report: told.append(report))
    check(told, {"prepare": 15, "find": 15})


@pytest.mark.parametrize("stage", ["prepare", "find"])
def test_error_in_progress_ends_the_call_and_nobody_watches_afterwards(stage):
    told = []

    def tell(*report):
        told.append(report)
        if report[0] == stage and (stage == "prepare" or 0 < report[1] < report[2]):
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        slow_pairs(progress=tell)
    count = len(told)
    slow_pairs()
    assert len(told) == count


def test_search_within_progress_is_told_to_its_own_listener_only():
    outer, inner = [], []

    def tell(*report):
        outer.append(report)
        if report[0] == "find" and not inner:
            slow_pairs()
            bp.pairs(MANY[:100], progress=lambda *report: inner.append(report))

    slow_pairs(progress=tell)
    check(outer, {"prepare": len(MANY), "find": len(MANY)})
    check(inner, {"prepare": 100, "find": 100})


def test_progress_of_clashes_names_each_stage():
    told = []
    found = bp.clashes(CUBES, clearance=0.5, progress=lambda *report: told.append(report))
    assert found.counts() == bp.clashes(CUBES, clearance=0.5).counts()
    stages = {stage: total for stage, _, total in told}
    assert list(stages) == ["prepare", "measure", "compare", "depths"]
    check(told, stages)
    told.clear()
    bp.clearances(CUBES, max_distance=0.5, progress=lambda *report: told.append(report))
    assert {stage for stage, _, _ in told} == {"prepare", "measure"}


def test_progress_true_prints_totals_and_times_on_stderr(capsys):
    bp.pairs(MANY[:1000], progress=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(r"prepare: 1,000 of 1,000, in \S+ s\nfind: 1,000 of 1,000, in \S+ s\n", printed.err)
    bp.pairs(MANY[:1000], progress=False)
    assert capsys.readouterr().err == ""


def test_lines_of_progress_tell_the_time_that_is_left(capsys, monkeypatch):
    now = 0.0
    monkeypatch.setattr(subject.time, "monotonic", lambda: now)
    with subject.reporting(True) as told:
        for done in range(0, 101, 5):
            told("join", done, 100)
            now += 3.0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "join: 20 of 100, 20%, 48.0 s left"
    assert lines[-1] == "join: 100 of 100, in 1 min 0 s"
    assert len(lines) == 5  # at least 10 seconds apart


def test_progress_on_a_terminal_rewrites_its_line(capsys, monkeypatch):
    monkeypatch.setattr(subject.sys.stderr, "isatty", lambda: True, raising=False)
    now = 0.0
    monkeypatch.setattr(subject.time, "monotonic", lambda: now)
    with subject.reporting(True) as told:  # and ends before all is done
        told("find", 0, 4)
        now += 1.0
        told("find", 1, 4)
    assert capsys.readouterr().err == "\rfind: 1 of 4, 25%, 3.0 s left\x1b[K\n"


@pytest.mark.parametrize("wrong", [1, "yes", 0.5])
def test_progress_of_another_kind_raises(wrong):
    with pytest.raises(TypeError, match="progress must be True, False or a function of a stage"):
        bp.pairs(MANY[:10], progress=wrong)
