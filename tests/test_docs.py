"""The code of the documentation runs and prints what it shows, and its links exist. README: test_readme.py."""

import ast
import codeop
import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

import broadphase as bp
from broadphase import adapters

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs"
DOCS = sorted(path for path in FOLDER.rglob("*.md") if path.parent.name not in ("project", "recipes", "generated"))
PAGES = sorted([*ROOT.glob("*.md"), *DOCS])
INDEX = FOLDER / "index.md"
ROOMS = "name,xmin,ymin,xmax,ymax\nhall,0,0,4,3\nstair,3,2,5,6\n"  # the file that pages use


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", DOCS, ids=relative)
def test_code_of_a_page_prints_what_the_page_says(path, tmp_path, monkeypatch):
    if path.parent.name == "adapters":
        pytest.importorskip(path.stem, reason="the page is about a library that is not installed")
    if path.name == "gpu.md":
        pytest.importorskip("warp", reason="NVIDIA Warp is not installed")
    if path.name == "clashes.md":
        pytest.importorskip("manifold3d", reason="manifold3d is not installed")
    if path.name in ("intervals.md", "joins.md"):
        pytest.importorskip("polars", reason="polars is not installed")
    monkeypatch.chdir(tmp_path)
    Path("rooms.csv").write_text(ROOMS)
    text = path.read_text("utf-8")
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS, verbose=False)
    names = {}  # the blocks of a page continue each other
    for block in re.finditer(r"```python\n(.*?)```", text, flags=re.DOTALL):
        line = text.count("\n", 0, block.start(1))
        if ">>> " in block[1]:
            example = doctest.DocTestParser().get_doctest(block[1], names, relative(path), relative(path), line)
            runner.run(example, out=report.append, clear_globs=False)
            names = example.globs
        else:
            exec(compile("\n" * line + block[1], str(path), "exec"), names)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_links_of_a_page_exist(path):
    text = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:|mailto:", target):
            continue
        place, _, heading = target.partition("#")
        page = path.parent / place if place else path
        assert page.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), flags=re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", line).strip().lower().replace(" ", "-") for line in headings}
            assert heading in anchors, target


@pytest.mark.parametrize("path", [ROOT / "README.md", FOLDER / "start.md"], ids=relative)
def test_code_for_newcomers_can_be_pasted_into_a_console(path):
    for block in re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), flags=re.DOTALL):
        open_lines = []
        for line in re.findall(r"^(?:>>>|\.\.\.)(?: (.*))?$", block, flags=re.MULTILINE):
            open_lines.append(line)
            if codeop.compile_command("\n".join(open_lines)) is not None:
                open_lines = []
        assert not open_lines, "\n".join(open_lines)


@pytest.mark.parametrize("path", [FOLDER / "coming_from.md", FOLDER / "functions.md"], ids=relative)
def test_calls_in_tables_have_options_that_exist(path):
    owners = {"bp": bp, "index": bp.Index, "world": bp.World}

    def meant(node):
        if isinstance(node, ast.Call):  # an object of a class
            return meant(node.func)
        if isinstance(node, ast.Attribute):
            owner = meant(node.value)
            return None if owner is None else getattr(owner, node.attr, None)
        return owners.get(node.id) if isinstance(node, ast.Name) else None

    seen = 0
    rows = "\n".join(re.findall(r"^\|.*$", path.read_text("utf-8"), flags=re.MULTILINE))
    for text in re.findall(r"`([^`]+)`", rows):
        try:
            tree = ast.parse(text)
        except SyntaxError:  # the start of a call, or a shell command
            continue
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            function = meant(call.func)
            if function is None:
                continue
            known = inspect.signature(function).parameters
            seen += 1
            assert {word.arg for word in call.keywords} <= {*known}, text
    assert seen > 10


def test_pages_are_all_linked_from_the_index():
    index = INDEX.read_text("utf-8") + (FOLDER / "indexes.md").read_text("utf-8")  # which links the methods
    pages = [path.relative_to(INDEX.parent).as_posix() for path in DOCS if path != INDEX]
    assert not [page for page in pages if f"({page})" not in index]


def test_public_names_are_all_documented():
    text = "\n".join(path.read_text("utf-8") for path in PAGES)
    assert not [name for name in set(dir(bp)) - {"__version__"} if not re.search(rf"\b{re.escape(name)}\b", text)]


def test_reference_lists_every_public_name():
    text = "\n".join(path.read_text("utf-8") for path in sorted((FOLDER / "api").glob("*.rst")))
    listed = set(re.findall(r"^   ([\w.]+)$", text, flags=re.MULTILINE))
    modules = {name for name in dir(bp) if type(getattr(bp, name)).__name__ == "module"}
    names = set(dir(bp)) - modules - {"METHODS", "__version__"}
    assert not names - listed - {method.index_class for method in bp.METHODS}  # those are listed by docs/conf.py
    for module in modules:
        public = [name for name in getattr(bp, module).__all__ if callable(getattr(getattr(bp, module), name))]
        assert not {f"{module}.{name}" for name in public if name not in names} - listed


def test_adapters_are_all_in_the_reference_and_have_a_page_with_a_recipe():
    text = (FOLDER / "api/adapters.rst").read_text("utf-8")
    assert re.findall(r"^   adapters\.(\w+)$", text, flags=re.MULTILINE) == [*adapters.__all__, *adapters.ADAPTERS]
    pages = {path.stem: path.read_text("utf-8") for path in sorted((FOLDER / "adapters").glob("*.md"))}
    assert list(pages) == list(adapters.ADAPTERS)
    assert not [name for name, page in pages.items() if "\n## A recipe\n" not in page]


@pytest.mark.parametrize("name", adapters.ADAPTERS)
def test_names_of_an_adapter_have_docstrings_which_the_reference_is_made_of(name):
    pytest.importorskip(name, reason="the adapter is of a library that is not installed")
    module = importlib.import_module(f"broadphase.adapters.{name}")
    assert module.__all__
    assert not [public for public in module.__all__ if not getattr(module, public).__doc__]
