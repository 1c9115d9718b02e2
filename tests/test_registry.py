"""The registry of methods: every row is complete and tells the truth."""

import inspect
import re
import typing
from pathlib import Path

import pytest

import broadphase as bp
from broadphase.index.registry import METHODS, Method
from broadphase.searches import MethodName
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
def test_every_method_takes_all_dimensions_and_dtypes(method):
    for dimension in (1, 2, 3, 4):
        for dtype in ("float32", "float64"):
            boxes = scene("uniform", 300, 1, dtype, dimension)
            assert bp.count_pairs(boxes, method=method.name) == oracle.count_pairs(boxes)


def test_names_are_unique_and_the_public_table_is_the_registry():
    names = [method.name for method in METHODS]
    assert len(set(names)) == len(names)
    assert {"brute_force", "sweep_and_prune", "grid"} <= set(names)
    assert bp.METHODS is METHODS


def test_names_that_method_takes_are_those_of_the_registry():
    assert set(typing.get_args(MethodName)) == {"auto", *(method.name for method in METHODS)}


@pytest.mark.parametrize("function", [bp.pairs, bp.count_pairs, bp.iter_pairs])
def test_unknown_method_raises_and_suggests_the_nearest(function):
    with pytest.raises(ValueError, match=r"unknown method 'octre' \(did you mean 'octree'\?\)"):
        function([[0, 0, 1, 1]], method="octre")
    with pytest.raises(ValueError, match="unknown method 7: must be 'auto', 'brute_force', "):
        function([[0, 0, 1, 1]], method=7)


def test_capabilities_are_documented_and_the_index_class_exists():
    words = set(re.findall(r'"(\w+)"``', inspect.getdoc(Method)))
    for method in METHODS:
        assert method.capabilities <= words
        assert getattr(bp, method.index_class).method == method.name


def test_auto_is_taken_unless_a_method_is_named():
    for function in (bp.pairs, bp.count_pairs, bp.iter_pairs):
        assert inspect.signature(function).parameters["method"].default == "auto"


@each_method
def test_every_method_has_its_folder_in_the_core(method):
    folders = [folder.name for folder in (ROOT / "core").iterdir()]
    assert method.name in folders or method.name.partition("_")[0] in folders
