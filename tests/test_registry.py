"""The registries of methods and of queries: every row is complete and tells the truth."""

import ast
import inspect
import re
import typing
from pathlib import Path

import numpy as np
import pytest
from benchmarks.pairs import method_names

import broadphase as bp
from broadphase.index.queries import QUERIES, Queries
from broadphase.methods import METHODS, Method, MethodName
from broadphase.testing import oracle
from broadphase.world.queries import ANSWERS
from cases import scene
from oracles import queries as query_oracle
from query_cases import AWKWARD, arguments_of

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


# Every place of a method: see "To add a method" in ARCHITECTURE.md --------------------------------------------------


def read(path):
    file = ROOT / path
    return file.read_text("utf-8") if file.is_file() else ""


def rows_of_the_core():
    """The class of each method, by name."""
    return dict(re.findall(r"^  each\((\w+), (\w+), [\d.]+\)", read("core/choose/methods.hpp"), flags=re.MULTILINE))


def included_methods():
    """The class templates of the headers that the list of the core includes."""
    headers = re.findall(r'^#include "(.*)"', read("core/choose/methods.hpp"), flags=re.MULTILINE)
    return {name for header in headers for name in re.findall(r"^class (\w+) \{", read(f"core/{header}"), re.MULTILINE)}


def named_anywhere():
    """Every name that one of the places has."""
    compiled = [path for path in ROOT.glob("core/bindings/*.cpp") if "BROADPHASE_COMPILED(" in path.read_text("utf-8")]
    return sorted(
        {method.name for method in METHODS}
        | {*rows_of_the_core()}
        | {*typing.get_args(MethodName)} - {"auto"}
        | {path.stem for path in compiled} - {"batches"}
        | {path.stem for path in ROOT.glob("docs/methods/*.md")}
        | {
            path.stem
            for path in ROOT.glob("src/broadphase/index/*.py")
            if f'method = "{path.stem}"' in path.read_text()
        }
    )


def missing_places(name):
    row = next((method for method in METHODS if method.name == name), None)
    cxx = rows_of_the_core().get(name, "")
    index = getattr(bp, row.index_class, None) if row else None
    places = {
        "a row in src/broadphase/methods.py": row is not None,
        "a value of MethodName in src/broadphase/methods.py": name in typing.get_args(MethodName),
        "a row in core/choose/methods.hpp": cxx != "",
        "the header of its class among the includes of core/choose/methods.hpp": cxx in included_methods(),
        f"core/bindings/{name}.cpp with BROADPHASE_COMPILED({cxx})": f"BROADPHASE_COMPILED({cxx});"
        in read(f"core/bindings/{name}.cpp"),
        f"core/bindings/{name}.cpp with void bind_{name}": f"void bind_{name}(" in read(f"core/bindings/{name}.cpp"),
        f"docs/methods/{name}.md": (ROOT / f"docs/methods/{name}.md").is_file(),
        "a line of the table in docs/indexes.md": f"](methods/{name}.md)" in read("docs/indexes.md"),
        "its index class, public in src/broadphase/__init__.py": index is not None,
        f'method = "{name}" of its index class': getattr(index, "method", None) == name,
    }
    return [place for place, is_there in places.items() if not is_there]


@pytest.mark.parametrize("name", named_anywhere())
def test_a_method_that_has_one_place_has_them_all(name):
    assert missing_places(name) == []


def test_methods_are_in_one_order_in_both_registries():
    assert [*rows_of_the_core()] == [method.name for method in METHODS]
    assert [*typing.get_args(MethodName)] == ["auto", *rows_of_the_core()]


def lists_by_hand(text, names):
    """The lines of lists, sets and dicts that name most of the methods, or of their index classes."""
    for node in ast.walk(ast.parse(text)):
        items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        found = {item.value if isinstance(item, ast.Constant) else getattr(item, "attr", None) for item in items}
        if any(len(found & few) > 4 for few in names):
            yield node.lineno


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks"])
def test_lists_of_methods_are_made_from_the_registry(folder):
    names = ({method.name for method in METHODS}, {method.index_class for method in METHODS})
    wrong = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        if path.name not in ("methods.py", "__init__.py"):
            wrong += [f"{path.relative_to(ROOT)}:{line}" for line in lists_by_hand(path.read_text("utf-8"), names)]
    assert wrong == []


def test_lists_of_methods_in_the_core_are_made_from_its_list():
    names = rows_of_the_core()
    wrong = []
    for path in sorted([*ROOT.glob("core/*/*.?pp"), *ROOT.glob("core/*/CMakeLists.txt")]):
        text = path.read_text("utf-8")
        if path.name != "methods.hpp" or path.parent.name != "choose":
            enumerators = {*re.findall(r"MethodName::(\w+)", text)} & {*names}
            sources = {*re.findall(r"^ *(\w+)\.cpp", text, re.MULTILINE)} & {*names}
            compiled = {*re.findall(r"(?:BROADPHASE_COMPILED\(|calls_of<)(\w+)", text)} & {*names.values()}
            if max(map(len, (enumerators, sources, compiled))) > 4:
                wrong.append(path.relative_to(ROOT).as_posix())
    assert wrong == []
    # What tries every method, and does so by the list: tests, fuzz targets, the benchmark.
    assert "BROADPHASE_METHODS" in read("core/tests/methods.hpp")
    for reader in ("core/fuzz/boxes.cpp", "core/tests/test_every_method.cpp", "core/tests/test_out_of_memory.cpp"):
        assert "kMethods" in read(reader), reader
    assert [*typing.get_args(MethodName)] == [*method_names()]


# Every place of a query: see "To add a query" in ARCHITECTURE.md ----------------------------------------------------


def table_of_queries():
    """The lines of docs/indexes.md that begin with a query, by its name."""
    lines = re.findall(r"^\| (`\w+\(.*)$", read("docs/indexes.md"), flags=re.MULTILINE)
    return {name: line for line in lines for name in re.findall(r"`(\w+)\(", line.partition(" | ")[0])}


def functions_of_queries():
    return set(re.findall(r"^def (\w+)\(\s*self: Queries", read("src/broadphase/index/queries.py"), flags=re.MULTILINE))


def missing_places_of_query(name):
    row = next((query for query in QUERIES if query.name == name), None)
    result = "an array" if row and row.result is np.ndarray else f"`bp.index.{row.result.__name__}`" if row else ""
    given = arguments_of(np.ones((1, 2, 2)), np.ones((1, 2)))
    places = {
        "a row in QUERIES, src/broadphase/index/queries.py": row is not None,
        "a function in src/broadphase/index/queries.py": name in functions_of_queries(),
        "a method of Queries or BoxIndex": hasattr(bp.index.BoxIndex, name),
        "an example in its docstring": ">>> " in (inspect.getdoc(getattr(bp.index.BoxIndex, name, None)) or ""),
        "its capability in src/broadphase/methods.py": row and any(row.capability in m.capabilities for m in METHODS),
        "an answer in ANSWERS, src/broadphase/world/queries.py": row and row.in_worlds == (name in ANSWERS),
        f"a line with {result} in the table of docs/indexes.md": result in table_of_queries().get(name, ""),
        "a function in tests/oracles/queries.py": hasattr(query_oracle, name),
        "arguments in arguments_of, tests/support/query_cases.py": name in given,
        "arguments in AWKWARD, tests/support/query_cases.py": name in AWKWARD,
    }
    return [place for place, is_there in places.items() if not is_there]


@pytest.mark.parametrize(
    "name",
    sorted(
        {query.name for query in QUERIES}
        | functions_of_queries()
        | {*ANSWERS}
        | {name.removesuffix("_planes") for name in AWKWARD}
        | {*arguments_of(np.ones((1, 2, 2)), np.ones((1, 2)))}
        | {name for name in table_of_queries() if hasattr(Queries, name)}
    ),
)
def test_a_query_that_has_one_place_has_them_all(name):
    assert missing_places_of_query(name) == []


def test_queries_of_worlds_are_those_of_the_registry():
    of_worlds = {name for name, answer in vars(Queries).items() if inspect.isfunction(answer) and name[0] != "_"}
    assert of_worlds == {query.name for query in QUERIES if query.in_worlds} == {*ANSWERS}
    assert issubclass(bp.World, Queries)
    assert issubclass(bp.index.BoxIndex, Queries)


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks"])
def test_lists_of_queries_are_made_from_the_registry(folder):
    names = ({query.name for query in QUERIES},)
    rows = {"src/broadphase/world/queries.py", "tests/support/query_cases.py"}
    wrong = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        if path.relative_to(ROOT).as_posix() not in rows and "gpu" not in path.parts:
            wrong += [f"{path.relative_to(ROOT)}:{line}" for line in lists_by_hand(path.read_text("utf-8"), names)]
    assert wrong == []
