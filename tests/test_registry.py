"""The registry of methods: every row is complete and tells the truth."""

import inspect
import re
from pathlib import Path

import pytest

import broadphase as bp
from broadphase.index.registry import METHODS, Method
from broadphase.testing import oracle
from cases import scene

ROOT = Path(__file__).resolve().parents[1]
each_method = pytest.mark.parametrize("method", METHODS, ids=[method.name for method in METHODS])


@each_method
def test_every_method_names_its_paper(method):
    assert len(method.paper) > 20
    assert any(character.isdigit() for character in method.paper), "a paper has a year"
    assert method.doi.startswith(("10.", "https://"))


@each_method
def test_every_method_has_a_page_that_exists(method):
    page = ROOT / method.docs_page
    assert page.is_file()
    assert page.stem == method.name
    text = page.read_text()
    assert method.title.lower() in text.lower()
    assert method.doi in text


@each_method
def test_every_method_has_a_name_and_a_summary(method):
    assert method.name.islower()
    assert method.name.isidentifier()
    assert method.title
    assert "\n" not in method.summary
    assert method.summary.endswith(".")


@each_method
def test_every_method_takes_the_dimensions_and_dtypes_of_its_row(method):
    assert set(method.dimensions) <= {1, 2, 3, 4}
    assert set(method.dtypes) <= {"float32", "float64"}
    for dimension in method.dimensions:
        for dtype in method.dtypes:
            boxes = scene("uniform", 300, 1, dtype, dimension)
            assert bp.count_pairs(boxes, method=method.name) == oracle.count_pairs(boxes)


def test_names_are_unique_and_the_public_table_is_the_registry():
    names = [method.name for method in METHODS]
    assert len(set(names)) == len(names)
    assert {"brute_force", "sweep_and_prune", "grid"} <= set(names)
    assert bp.METHODS is METHODS


def test_names_that_method_takes_are_those_of_the_registry():
    with pytest.raises(ValueError, match="method must be one of") as caught:
        bp.pairs([[0, 0, 1, 1]], method="none")
    named = str(caught.value).removeprefix("method must be one of ").partition(", not")[0].split(", ")
    assert named == ["auto", *(method.name for method in METHODS)]


def test_capabilities_are_known_words_and_those_of_an_index_need_a_class():
    one_shot = {"pairs", "cross", "count", "stream"}
    words = set(re.findall(r'"(\w+)"``', inspect.getdoc(Method))) | one_shot
    for method in METHODS:
        assert method.capabilities <= words
        assert one_shot <= method.capabilities
        assert method.index_class or not {"update", "insert", "remove"} & method.capabilities
        if method.index_class:
            assert getattr(bp, method.index_class).method == method.name


def test_auto_is_taken_unless_a_method_is_named():
    for function in (bp.pairs, bp.count_pairs, bp.iter_pairs):
        assert inspect.signature(function).parameters["method"].default == "auto"


@each_method
def test_every_method_has_its_header_in_the_core(method):
    assert (ROOT / "core" / "include" / "broadphase" / f"{method.name}.hpp").is_file()
