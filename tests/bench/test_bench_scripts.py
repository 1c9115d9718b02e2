"""The scripts of `make bench`: their rows, not their measurements."""

import contextlib
import os
import re
from dataclasses import replace

import numpy as np
import pytest
from benchmarks import adapters as measured_adapters, auto_regret, cliffs, climb, doors, readme_table, robots, targets
from benchmarks.adapters.__main__ import COLUMNS, cells
from benchmarks.pairs import Comparison, Outcome
from benchmarks.search_cliffs import __main__ as search_cliffs, costs, subjects
from benchmarks.search_cliffs.cases import Case

import broadphase as bp
from broadphase import adapters


@pytest.mark.parametrize(
    ("measured", "target", "at_least", "met"),
    [(2.5, 2.5, False, True), (2.504, 2.5, False, True), (2.51, 2.5, False, False), (1.69, 1.7, True, False),
     (1.7, 1.7, True, True), (9.0, None, False, None)],
)  # fmt: skip
def test_target_row_judges_what_it_shows(measured, target, at_least, met):
    row = targets.Row("what", measured, "T", target, at_least)
    assert row.met is met
    assert len(row.cells()) == 8


def test_drop_ins_are_all_measured_and_their_rows_name_the_must():
    assert list(measured_adapters.LIBRARIES) == list(adapters.ADAPTERS)
    row = targets.Row("10 x 10", 9.996, "× faster", 10.0, True, 1.5, 14.994)
    assert dict(zip(COLUMNS, cells("pygame", row), strict=True)) == {
        "adapter": "pygame", "scene": "10 x 10", "library": "15.0 ms", "ours": "1.50 ms", "ratio": "10.0 ×",
        "must": "≥ 10 ×", "": "met",
    }  # fmt: skip


@pytest.mark.parametrize("with_mesh", [False, True])
def test_robots_answer_as_the_libraries_that_they_are_compared_with(with_mesh):
    pytest.importorskip("fcl")
    pytest.importorskip("mujoco")
    scene = robots.Scene(60, with_mesh=with_mesh)
    fcl, names = robots.Fcl(scene, 60), [link.name for link in scene.robot.links]
    assert 0 < scene.ours().sum() < 60
    assert robots.compared(scene, fcl.collides(), "fcl") == []
    assert robots.compared(scene, ~scene.ours(), "wrong")[0].startswith("wrong: ")
    loose = bp.Articulated(scene.robot.links, allowed=[(a, b) for a in names for b in names])
    np.testing.assert_allclose(loose.clearance(scene.q, scene.obstacles), fcl.clearance(), atol=1e-4)
    if not with_mesh:
        assert robots.compared(scene, robots.MuJoCo(scene, 60).collides(), "mujoco") == []


def test_target_scenes_are_right():
    assert targets.is_right("uniform_4d")
    assert targets.is_right("half_identical")


def test_auto_regret_is_against_the_best_other():
    row = auto_regret.Row("rects", 100, "grid", {"auto": 1.5, "grid": 1.4, "brute_force": 1.0})
    assert row.best == "brute_force"
    assert row.regret == 1.5


def test_readme_table_marks_missing_times():
    ours = {c: Outcome(*c, "auto", "broadphase", 1, 2.0, 1.0, 3, "exact") for c in readme_table.COLUMNS}
    theirs = [
        Outcome("rects", 1_000, "shapely", "Shapely STRtree", 1, 8.0, 4.0, 3, "exact"),
        Outcome("uniform", 100_000, "shapely", "Shapely STRtree", verdict="no 3D"),
        Outcome("rects", 100_000, "shapely", "Shapely STRtree", verdict="would take 18 s"),
    ]
    machine = {"processor": "thing", "python": "3", "numpy": "2"}
    text = readme_table.table(Comparison(machine, {"shapely": "2.2", "other": "1"}, [*ours.values(), *theirs]))
    assert "| **broadphase** | **2.00 ms** | **2.00 ms** | **2.00 ms** | **2.00 ms** |" in text
    assert "| Shapely STRtree | 8.00 ms (4.0×) | about 18 s | – | – |" in text
    assert "NumPy 2); shapely 2.2. –: not supported" in text


def test_climb_makes_the_same_valid_scene_again():
    rng = np.random.default_rng(2)
    for _ in range(60):
        case = climb.random_case(rng, range(1, 5), bool(rng.random() < 0.5)).changed(rng, range(1, 5))
        assert repr(case) != climb.described(case)
        for n in (0, 1, 50):
            boxes = case.recipe.boxes(n, 1, case.dtype)
            assert boxes.shape == (n, 2, case.recipe.dim)
            assert boxes.dtype == case.dtype
            assert np.isfinite(boxes).all()
            assert (boxes[:, 0] <= boxes[:, 1]).all()
            np.testing.assert_array_equal(case.recipe.boxes(n, 1, case.dtype), boxes)


def test_climb_keeps_the_worst_of_each_ascent(monkeypatch):
    monkeypatch.setattr(climb, "cost_of", lambda case, *rest: case.recipe.place_spread)
    tops = climb.climb(10, 0.2, 3, "auto")
    assert max(tops.values()) > 5.0
    assert all(cost == case.recipe.place_spread for case, cost in tops.items())


@pytest.mark.parametrize("subject", climb.SUBJECTS)
def test_climb_measures_every_subject(subject):
    case = climb.random_case(np.random.default_rng(5), range(2, 4), subject == "world")
    assert climb.cost_of(case, 300, subject) > 0
    assert climb.growth_of(case, 100, subject) > -9


SMALL = """
import os
from benchmarks.rows import Row
def rows(pace):
    yield Row("pace", pace, "x", 1.0, True, note=str(os.getpid()))
    yield Row("two", 2.0, "")
"""


def test_rows_of_a_cliff_come_from_a_process_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "small.py").write_text(SMALL)
    monkeypatch.setattr(cliffs, "__path__", [*cliffs.__path__, str(tmp_path)])
    begin = f"from benchmarks import cliffs; cliffs.__path__.append({str(tmp_path)!r}); "
    monkeypatch.setattr(cliffs, "_MEASURE", begin + cliffs._MEASURE)
    first, second = cliffs.rows(0.5, ["small"])
    assert (first.measured, first.met, second) == (0.5, False, targets.Row("two", 2.0, ""))
    assert int(first.note) != os.getpid()
    with pytest.raises(ModuleNotFoundError, match="no subject 'large'; they are batches, "):
        list(cliffs.rows(0.5, ["large"]))


@pytest.mark.parametrize("door", doors.DOORS)
def test_doors_draw_scenes_that_both_answer_alike(door):
    for seed in range(6):
        try:
            scene = doors.DOORS[door](np.random.default_rng(seed), 2.0)
        except ImportError as error:
            pytest.skip(str(error))
        assert scene.are_alike(scene.ours(), scene.theirs()), scene.what


def test_doors_report_the_worst_scene_and_what_differs(monkeypatch, capsys):
    def drawn(answer, pause):
        def draw(rng, most):
            return doors.Scene("one", lambda: sum(range(pause)), lambda: answer, lambda a, b: answer is not None)

        return draw

    monkeypatch.setattr(doors, "DOORS", {"slow": drawn(1, 20_000), "wrong": drawn(None, 1)})
    monkeypatch.setattr("sys.argv", ["doors", "--seed", "3"])
    assert doors.main() == 1
    report = capsys.readouterr()
    assert "wrong, seed 3: another answer: one" in report.err
    assert re.search(r"slow +1 +1 +1 +0\.0", report.out)
    assert "1 scenes, 1 with another answer" in report.out


@pytest.mark.parametrize("name", subjects.SUBJECTS)
def test_search_for_cliffs_runs_the_plain_case_of_every_subject_and_each_feature(name):
    one = subjects.SUBJECTS[name]
    plain = Case(name, 2, 60, one.dims[0], kind=one.kinds[0])
    assert subjects.work_of(plain).given > 0
    assert costs.found_by(subjects.work_of(plain)) >= 0
    for number, feature in enumerate(one.features):
        value = subjects.FEATURES[feature][number % len(subjects.FEATURES[feature])]
        with contextlib.suppress(*costs.REFUSED):
            subjects.work_of(replace(plain, features={feature: value})).call()


def test_search_for_cliffs_draws_the_same_case_by_its_seed():
    assert {subjects.drawn(seed).subject for seed in range(2000)} == set(subjects.SUBJECTS)
    assert subjects.drawn(7) == subjects.drawn(7) != subjects.drawn(8)


@pytest.mark.parametrize("scene", subjects.SCENES)
def test_search_for_cliffs_makes_valid_boxes(scene):
    for seed in range(4):
        boxes = subjects.boxes_of(Case("pairs", seed, 300, 2 + seed % 2, features={"scene": scene}))
        assert (boxes[:, 0] <= boxes[:, 1]).all()
        assert 0 < len(boxes) <= 300


def test_search_for_cliffs_names_the_cause_and_the_seed(monkeypatch, capsys):
    def made(case):
        pause = 200_000 if case.features.get("scene") == "line" else 1000
        return subjects.Work(lambda: sum(range(pause)) * 0, 100)

    drawn = Case("slow", 7, 1000, 2, features={"scene": "line", "order": "ascending"})
    monkeypatch.setitem(subjects.SUBJECTS, "slow", subjects.Subject(made, ()))
    monkeypatch.setattr(search_cliffs, "drawn", lambda seed: replace(drawn, seed=seed))
    monkeypatch.setattr("sys.argv", ["search_cliffs", "--seed", "7"])
    assert search_cliffs.main() == 0
    report = capsys.readouterr().out
    assert re.search(r"\nscene=line +slow +1,000 2-d +1 .* 7\n", report)
    assert "1 cases, 1 cliffs" in report
