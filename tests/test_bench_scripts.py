"""The scripts of `make bench`: what their rows say, not what they measure."""

import importlib.util
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def script(request, monkeypatch):
    name = request.param
    specification = importlib.util.spec_from_file_location(f"benchmark_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, specification.name, module)  # where a dataclass looks for its own module
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("script", ["targets"], indirect=True)
@pytest.mark.parametrize(
    ("measured", "target", "at_least", "met"),
    [(2.5, 2.5, False, True), (2.504, 2.5, False, True), (2.51, 2.5, False, False), (1.69, 1.7, True, False),
     (1.7, 1.7, True, True), (9.0, None, False, None)],
)  # fmt: skip
def test_target_row_judges_what_it_shows(script, measured, target, at_least, met):
    row = script.Row("what", measured, "T", target, at_least)
    assert row.met is met
    assert len(row.cells()) == 8


@pytest.mark.parametrize("script", ["targets"], indirect=True)
def test_target_scenes_are_right(script):
    assert script.is_right("uniform_4d")
    assert script.is_right("half_identical")


@pytest.mark.parametrize("script", ["auto_regret"], indirect=True)
def test_auto_regret_is_against_the_best_other(script):
    row = script.Row("rects", 100, "grid", {"auto": 1.5, "grid": 1.4, "brute_force": 1.0})
    assert row.best == "brute_force"
    assert row.regret == 1.5


@pytest.mark.parametrize("script", ["readme_table"], indirect=True)
def test_readme_table_tells_what_is_missing(script):
    from broadphase.bench import Comparison, Outcome

    ours = {c: Outcome(*c, "auto", "broadphase", 1, 2.0, 1.0, 3, "exact") for c in script.COLUMNS}
    theirs = [
        Outcome("rects", 1_000, "shapely", "Shapely STRtree", 1, 8.0, 4.0, 3, "exact"),
        Outcome("uniform", 100_000, "shapely", "Shapely STRtree", verdict="no 3D"),
        Outcome("rects", 100_000, "shapely", "Shapely STRtree", verdict="would take 18 s"),
    ]
    machine = {"processor": "thing", "python": "3", "numpy": "2"}
    text = script.table(Comparison(machine, {"shapely": "2.2", "other": "1"}, [*ours.values(), *theirs]))
    assert "| **broadphase** | **2.00 ms** | **2.00 ms** | **2.00 ms** | **2.00 ms** |" in text
    assert "| Shapely STRtree | 8.00 ms (4.0×) | about 18 s | – | – |" in text
    assert "NumPy 2, shapely 2.2. Medians" in text
