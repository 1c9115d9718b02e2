"""The house is in order: one version, one door to the core, documented names, pins that agree."""

import ast
import graphlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import pkgutil
import pydoc
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import broadphase as bp
from broadphase.shapes.registry import TYPES
from cases import run_script

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SOURCES = sorted(
    path
    for folder in ("src", "core", "tests", "benchmarks", "examples")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".hpp", ".cpp"}
)
MODULES = ["broadphase", *(found.name for found in pkgutil.walk_packages(bp.__path__, "broadphase."))]
PUBLIC_MODULES = [name for name in MODULES if not any(part.startswith("_") for part in name.split("."))]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_version_in_every_place_is_that_of_the_package():
    assert f"\nversion: {bp.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\n## [{bp.__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "version" in PYPROJECT["project"]["dynamic"]
    if importlib.util.find_spec("broadphase").submodule_search_locations[0] != str(ROOT / "src/broadphase"):
        assert importlib.metadata.version("broadphase") == bp.__version__


def test_stub_of_the_core_is_the_generated_one(tmp_path):
    pytest.importorskip("nanobind", reason="writes the stub; part of the dependency group `build`")
    pinned = next(line for line in PYPROJECT["dependency-groups"]["build"] if line.startswith("nanobind=="))
    if pinned != "nanobind==" + importlib.metadata.version("nanobind"):
        pytest.skip(f"the stub is compared with what {pinned} writes")
    core = Path(importlib.import_module("broadphase._core").__file__)
    stub = tmp_path / "_core.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "_core", "-i", str(core.parent), "-o", str(stub)]
    subprocess.run(command, check=True)
    committed = (ROOT / "src/broadphase/_core.pyi").read_text("utf-8")
    assert committed == stub.read_text("utf-8"), "src/broadphase/_core.pyi: run `make stub`"


def test_source_files_are_finished_and_named_after_a_topic():
    unfinished = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    assert not [relative(path) for path in SOURCES if unfinished.search(path.read_text("utf-8"))]
    assert not [relative(path) for path in SOURCES if path.stem in {"utils", "common", "helpers", "misc", "manager"}]


def imported_modules(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
            names.add(node.value)  # import_module("...")
    return names


def test_compiled_module_is_imported_in_one_file_only():
    modules = {path: imported_modules(path) for path in (ROOT / "src").rglob("*.py")}
    doors = [path for path, names in modules.items() if any("_core" in name.split(".") for name in names)]
    assert [path.name for path in doors] == ["_native.py"]


def statements_outside_functions(body: list[ast.stmt], types: bool) -> Iterator[ast.stmt]:
    """What runs when a module is imported, and with `types` also what only type checkers read."""
    for node in body:
        if isinstance(node, ast.If):
            if types or ast.unparse(node.test) != "TYPE_CHECKING":
                yield from statements_outside_functions(node.body, types)
            yield from statements_outside_functions(node.orelse, types)
        elif isinstance(node, ast.Try):
            handlers = [statement for handler in node.handlers for statement in handler.body]
            yield from statements_outside_functions([*node.body, *handlers, *node.orelse, *node.finalbody], types)
        elif isinstance(node, ast.With | ast.ClassDef):
            yield from statements_outside_functions(node.body, types)
        else:
            yield node


def imports_between_files(files: dict[str, Path]) -> dict[str, set[str]]:
    """Give for each module those it imports outside functions; `from package import module` is one of the module.

    What a package imports for type checkers alone is what it loads on first use: nothing that it needs itself.
    """
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        is_package = path.name == "__init__.py"
        package = name.split(".") if is_package else name.split(".")[:-1]
        names = set()
        for node in statements_outside_functions(ast.parse(path.read_text("utf-8")).body, not is_package):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                above = package[: len(package) - node.level + 1] if node.level else []
                base = ".".join([*above, *([node.module] if node.module else [])])
                members = {f"{base}.{alias.name}" for alias in node.names}
                names |= members & files.keys()
                if members - files.keys():
                    names.add(base)
        graph[name] = (names & files.keys()) - {name}
    return graph


def modules_under(folder: Path) -> dict[str, Path]:
    parts = {path: path.relative_to(folder).with_suffix("").parts for path in folder.rglob("*.py")}
    return {".".join(part[:-1] if part[-1] == "__init__" else part): path for path, part in parts.items()}


def circle_in(graph: Mapping[str, Iterable[str]]) -> list[str]:
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def circle_of_imports(folder: Path) -> list[str]:
    return circle_in(imports_between_files(modules_under(folder)))


def test_files_of_the_package_import_each_other_in_no_circle():
    assert circle_of_imports(ROOT / "src") == []


def test_benchmarks_import_each_other_in_no_circle():
    files = {f"benchmarks.{name}": path for name, path in modules_under(ROOT / "benchmarks").items()}
    assert circle_in(imports_between_files(files)) == []


def test_circle_of_imports_is_found_through_packages_and_relative_imports(tmp_path):
    files = {
        "p/__init__.py": "from p.a import one\nif TYPE_CHECKING:\n    from p import d\n",
        "p/a.py": "from .q import b\n",
        "p/d.py": "if TYPE_CHECKING:\n    import p\n",
        "p/q/__init__.py": "",
        "p/q/b.py": "try:\n    from ..c import two\nexcept ImportError:\n    pass\n",
        "p/c.py": "def later():\n    import p.a\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert circle_of_imports(tmp_path) == []
    for later in ("import p.a\n", "if TYPE_CHECKING:\n    import p.a\n"):
        (tmp_path / "p/c.py").write_text(later)
        assert set(circle_of_imports(tmp_path)) == {"p.a", "p.q.b", "p.c"}


def test_classes_have_two_ancestors_of_ours_at_most():
    deep = []
    for name in MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue  # needs an extra
        for member in filter(inspect.isclass, vars(module).values()):
            ancestors = [one for one in member.__mro__[1:] if one.__module__.startswith("broadphase.")]
            if member.__module__ == name and len(ancestors) > 2:
                deep.append(f"{name}.{member.__name__}: {[one.__name__ for one in ancestors]}")
    assert not deep


# Those of the methods, by the list of the core.
METHOD_FOLDERS = sorted(
    set(re.findall(r'^#include "(\w+)/', (ROOT / "core/choose/methods.hpp").read_text("utf-8"), re.MULTILINE))
)
# The folders of core/, lowest first: a folder includes only those before it, that of a method also those of other
# methods, without circles. What lies in core/ itself, the table of kernels, is above all of them but the bindings, the
# page, the tests and the fuzz targets.
CORE_FOLDERS = (
    *("base", "boxes", "simd", "query", "tree", *METHOD_FOLDERS),
    *(
        "choose",
        "batches",
        "neighbors",
        "tiles",
        "periodic",
        "shapes",
        "narrow",
        "robots",
        "world",
        ".",
        "bindings",
        "web",
        "tests",
        "fuzz",
    ),
)


def core_includes(core: Path) -> dict[str, list[str]]:
    """What each file of the core includes from the core, as paths within it."""
    includes = {}
    for path in sorted([*core.rglob("*.hpp"), *core.rglob("*.cpp")]):
        named = re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text("utf-8"), re.MULTILINE)
        # As a compiler does: first beside the file, then in core/.
        beside = [(path.parent / name).relative_to(core).as_posix() for name in named]
        includes[path.relative_to(core).as_posix()] = [
            own if (core / own).exists() else name for own, name in zip(beside, named, strict=True)
        ]
    return includes


def upward_includes(core: Path) -> list[str]:
    def height(name: str) -> int:
        folder = Path(name).parts[0] if len(Path(name).parts) > 1 else "."
        return CORE_FOLDERS.index(METHOD_FOLDERS[0] if folder in METHOD_FOLDERS else folder)

    includes = core_includes(core)
    return [f"{path} includes {name}" for path in includes for name in includes[path] if height(name) > height(path)]


def test_core_folders_include_only_folders_below_them():
    folders = {path.parent.name for path in (ROOT / "core").glob("*/*.?pp")}
    assert folders == set(CORE_FOLDERS) - {"."}
    assert upward_includes(ROOT / "core") == []


def test_core_folders_of_methods_include_each_other_without_circles():
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for path, names in core_includes(ROOT / "core").items():
        folder, *_ = Path(path).parts
        used = {Path(name).parts[0] for name in names} & {*METHOD_FOLDERS} - {folder}
        if folder in METHOD_FOLDERS:
            sorter.add(folder, *used)
    sorter.prepare()  # raises CycleError, with the folders


def test_core_files_include_each_other_in_no_circle():
    assert circle_in(core_includes(ROOT / "core")) == []


def test_core_includes_upwards_and_in_a_circle_are_found(tmp_path):
    files = {
        "base/a.hpp": '#include "boxes/b.hpp"\n',
        "boxes/b.hpp": '#pragma once\n  #include "c.hpp"\n',
        "boxes/c.hpp": '#include "base/a.hpp"\n',
        "grid/d.hpp": '#include <vector>\n#include "boxes/b.hpp"\n',
        "kernels.cpp": '#include "grid/d.hpp"\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    assert upward_includes(tmp_path) == ["base/a.hpp includes boxes/b.hpp"]
    assert set(circle_in(core_includes(tmp_path))) == {"base/a.hpp", "boxes/b.hpp", "boxes/c.hpp"}


def compiled_flags(cmake: str) -> dict[str, set[str]]:
    """Return the instruction sets that the kernels of each level are compiled with, for compilers other than MSVC."""
    variables = dict(re.findall(r"set\((\w+) ((?:-m[\w=-]+\s*)+)\)", cmake))
    flags: dict[str, set[str]] = {}
    for level, options in re.findall(r"broadphase_kernel\((\w+) \w+ \w+([^)]*)\)", cmake):
        text = re.sub(r"\$\{(\w+)\}", lambda found: variables.get(found[1], ""), options)
        flags.setdefault(level, set()).update(re.findall(r"-m(?!prefer-vector-width)([\w.]+)", text))
    return flags


def asked_flags(levels: str) -> dict[str, set[str]]:
    """Return what `levels.cpp` asks the processor for, by level; a level that asks for another has its names too."""
    asked: dict[str, set[str]] = {}
    for level, condition in re.findall(r"\b(avx2|avx512) = (\w[^;]*(?:__builtin|has_)[^;]*);", levels):
        if "__builtin_cpu_supports" not in condition:
            continue  # MSVC: bits of registers
        names = set(re.findall(r"__builtin_cpu_supports\(\"(\w+)\"\)", condition))
        names |= set(re.findall(r"\bhas_(\w+)\(\)", condition))
        for other in re.findall(r"\b(avx2)\b(?!\")", condition):
            names |= asked[other]
        asked[level] = names
    return asked


def test_processor_is_asked_for_each_flag_that_kernels_are_compiled_with():
    compiled = compiled_flags((ROOT / "core/CMakeLists.txt").read_text("utf-8"))
    asked = asked_flags((ROOT / "core/simd/levels.cpp").read_text("utf-8"))
    assert {"avx2", "bmi", "bmi2", "popcnt", "lzcnt"} <= compiled["avx2"]
    assert {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"} <= compiled["avx512"]
    for level in ("avx2", "avx512"):
        assert compiled[level] <= asked[level], f"levels.cpp does not ask for {compiled[level] - asked[level]}"
    assert not any(flags for level, flags in compiled.items() if level not in asked)


def test_flag_that_is_compiled_and_not_asked_for_is_found():
    cmake = "set(avx2 -mavx2 -mfma)\nbroadphase_kernel(avx2 avx2 avx2 ${avx2})\nbroadphase_kernel(sse2 scalar scalar)"
    assert compiled_flags(cmake) == {"avx2": {"avx2", "fma"}, "sse2": set()}
    levels = (
        'avx2 = __builtin_cpu_supports("avx2") != 0 && has_lzcnt();\navx512 = avx2 && __builtin_cpu_supports("x") != 0;'
    )
    assert asked_flags(levels) == {"avx2": {"avx2", "lzcnt"}, "avx512": {"avx2", "lzcnt", "x"}}


def test_core_outside_the_bindings_never_sees_python():
    for path in SOURCES:
        if path.suffix != ".py" and "bindings" not in path.parts:
            text = path.read_text("utf-8")
            assert not re.search(r"#include\s*[<\"](Python\.h|nanobind)", text), relative(path)


def test_bindings_release_the_gil_by_their_own_class_only():
    # That of nanobind ends the program where the interpreter ends in between: see core/bindings/gil.hpp.
    for path in (ROOT / "core/bindings").glob("*.?pp"):
        assert not re.search(r"gil_scoped_|Py_BEGIN_ALLOW|PyGILState_", path.read_text("utf-8")), relative(path)


def test_import_of_the_package_brings_numpy_and_nothing_else():
    script = "import sys, numpy; before = set(sys.modules); import broadphase; print(*set(sys.modules) - before)"
    modules = run_script(script).split()
    brought = {name.partition(".")[0] for name in modules}
    assert not {f"broadphase.{part}" for part in ("cli", "index", "io", "narrow", "testing", "world")} & set(modules)
    assert brought - {"broadphase", "numpy"} <= set(sys.stdlib_module_names), "import broadphase is to stay quick"


def test_installed_package_holds_no_benchmark_and_no_oracle_of_our_tests():
    installed = Path(bp.__file__).parent
    names = {path.relative_to(installed).as_posix() for path in installed.rglob("*") if "__pycache__" not in path.parts}
    assert {name for name in names if "oracle" in name} == {"testing/oracle.py"}
    assert not {name for name in names if re.search(r"bench|peer|contest|(^|/)tests?(/|$)|test_", name)}


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="for free-threaded Python")
def test_import_on_free_threaded_python_leaves_the_gil_off():
    assert run_script("import sys, broadphase; print(sys._is_gil_enabled())").strip() == "False"


def public_members(module):
    for name in getattr(module, "__all__", ()):
        member = getattr(module, name)
        if inspect.isroutine(member) or inspect.isclass(member) or inspect.ismodule(member):
            yield f"{module.__name__}.{name}", member
        if inspect.isclass(member):
            for key, value in vars(member).items():
                if not key.startswith("_") and (inspect.isroutine(value) or isinstance(value, property)):
                    yield f"{module.__name__}.{name}.{key}", value


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_every_public_name_of_a_module_is_documented(name):
    try:
        module = importlib.import_module(name)
        members = list(public_members(module))
    except ImportError as error:
        pytest.skip(f"needs an extra: {error}")
    assert inspect.getdoc(module)
    for where, member in members:
        first_line = (inspect.getdoc(member) or "").partition("\n")[0]
        assert first_line.endswith((".", "?", ":")), f"{where}: {first_line!r}"


@pytest.mark.parametrize("name", [name for name in dir(bp) if inspect.isroutine(getattr(bp, name))])
def test_every_public_function_shows_an_example(name):
    assert ">>> " in inspect.getdoc(getattr(bp, name))


def test_pins_of_pre_commit_are_those_of_the_check_group():
    pins = re.findall(r'"([\w-]+==[\w.]+)"', (ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert pins
    assert set(pins) <= set(PYPROJECT["dependency-groups"]["check"])


def test_wheel_lists_what_of_others_is_compiled_into_it_with_the_licences():
    files = {path.as_posix().partition(".dist-info/")[2]: path for path in importlib.metadata.files("broadphase")}
    listed = json.loads(files["sboms/broadphase.cdx.json"].read_text())
    versions = {part["name"]: part["version"] for part in listed["components"]}
    assert f"nanobind=={versions['nanobind']}" in PYPROJECT["dependency-groups"]["build"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", versions["robin-map"])
    assert files["licenses/nanobind/LICENSE"].read_text().startswith("Copyright (c)")
    assert files["licenses/robin-map/LICENSE"].read_text().startswith("MIT License")


def test_dependencies_of_the_package_are_numpy_alone():
    assert [re.split(r"[<>=]", line)[0] for line in PYPROJECT["project"]["dependencies"]] == ["numpy"]


def test_dir_of_the_package_lists_public_names_only():
    names = set(dir(bp))
    submodules = set(bp._SUBMODULES)
    assert {"pairs", "World"} | submodules <= names
    shapes = {row.name for row in TYPES}
    assert shapes < names
    assert len(names - shapes - {"__version__"}) <= 58, "results live in the module of their subject"
    assert not [name for name in names if name.startswith("_") and name != "__version__"]
    modules = {name for name in names if inspect.ismodule(getattr(bp, name))}
    assert not modules - submodules


def test_help_on_the_package_fits_a_few_screens():
    text = pydoc.render_doc(bp, renderer=pydoc.plaintext)
    assert len(text) < 5000  # two screens of 50 lines; every class in full would be 500,000
    missing = [name for name in dir(bp) if inspect.isroutine(getattr(bp, name)) and f" {name}" not in text]
    assert not missing


def test_type_checkers_read_the_public_names_that_load_on_first_use():
    tree = ast.parse((ROOT / "src/broadphase/__init__.py").read_text("utf-8"))
    imports = [node for node in statements_outside_functions(tree.body, types=True) if isinstance(node, ast.ImportFrom)]
    named = [(node.module, name) for node in imports if node.module.startswith("broadphase") for name in node.names]
    assert sorted(name.asname for _, name in named) == sorted(set(dir(bp)) - {"__version__"})
    for module, name in named:
        found = getattr(importlib.import_module(module), name.name)
        assert getattr(bp, name.asname) is found, name.asname


def test_star_import_brings_every_public_name():
    script = (
        "import broadphase as bp; before = dir(bp); from broadphase import *; from broadphase import World as one; "
        "print(World is one, set(before) - {'__version__', *globals()})"
    )
    assert run_script(script).strip() == "True set()"


def test_world_knows_every_method_before_any_other_name_was_used():
    script = "import broadphase as bp; print(*(bp.World(dim=2, method=name).method for name in ('auto', 'octree')))"
    assert run_script(script).split() == ["auto", "octree"]


def test_submodules_load_on_first_use():
    script = "import sys, broadphase as bp; print('broadphase.io' in sys.modules, bp.io.read_boxes.__module__)"
    assert run_script(script).split() == ["False", "broadphase.io.boxes"]


def test_name_that_does_not_exist_lets_python_suggest_the_nearest():
    with pytest.raises(AttributeError, match="module 'broadphase' has no attribute 'Wrold'") as caught:
        bp.Wrold  # noqa: B018
    assert caught.value.name == "Wrold"  # from these two, and dir(), Python suggests World
    assert caught.value.obj is bp


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_import_of_a_dotted_name_gives_that_module(name):
    """No function stands where a package is looked for. (Two modules are for one function of their name.)"""
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"needs an extra: {error}")
    found = bp
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    assert found is module or (part in {"neighbors", "pairs"} and found is getattr(module, part))
