"""The code of the README runs and prints what it shows; its tables show the measured figures."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text("utf-8")


def test_readme_code_prints_what_it_says():
    blocks = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    assert blocks
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README.md", "README.md", 0)
    runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
    report = []
    runner.run(examples, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


def test_readme_shows_the_code_within_eight_lines():
    first = re.search(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)[1]
    assert sum(line.startswith(">>>") for line in first.splitlines()) <= 8


def test_readme_pictures_and_commands_exist():
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", TEXT):
        assert (ROOT / picture).exists(), picture
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"`make ([a-z-]+)`", TEXT):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), f"make {target}"


def test_readme_names_only_commands_that_exist():
    pytest.importorskip("typer")
    from broadphase.cli.app import app

    known = {command.callback.__name__ for command in app.registered_commands}
    for block in re.findall(r"```bash\n(.*?)```", TEXT, flags=re.DOTALL):
        assert set(re.findall(r"^broadphase (\w+)", block, flags=re.MULTILINE)) <= known


def test_tables_show_the_measured_figures():
    readme_table = pytest.importorskip("benchmarks.readme_table")
    for page, text in readme_table.pages().items():
        assert page.read_text("utf-8") == text, f"{page.name}: run `python -m benchmarks.readme_table`"
