"""The code of the README runs and prints what it says; its figures are those that were measured."""

import doctest
import json
import re
import subprocess
import sys
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


def test_readme_speed_table_shows_the_measured_figures():
    results = ROOT / "benchmarks/results/pairs.json"
    if not results.exists():
        pytest.skip("nothing was measured")
    times = {
        (o["scene"], o["box_count"], o["contestant"]): o["milliseconds"]
        for o in json.loads(results.read_text("utf-8"))["outcomes"]
    }
    row = next(line for line in TEXT.splitlines() if line.startswith("| **broadphase** |"))
    cells = re.findall(r"\*\*([\d.]+) (µs|ms|s)\*\*", row)
    wanted = [("rects", 1000), ("rects", 100_000), ("uniform", 100_000), ("lognormal", 100_000)]
    scale = {"µs": 1e-3, "ms": 1.0, "s": 1e3}
    assert [float(value) * scale[unit] for value, unit in cells] == pytest.approx(
        [times[(*column, "auto")] for column in wanted], rel=0.01
    )


def test_readme_table_script_prints_help():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.readme_table", "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert "--check" in done.stdout
