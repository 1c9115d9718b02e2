"""Users' programs under `mypy --strict`: a correct one passes, and mistakes are found where they are."""

import subprocess
import sys
from pathlib import Path

import pytest

import program

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CORRECTIONS = {'"bouncy"': '"bounce"', '"octre"': '"octree"', '"statik"': '"static"', '"nonsense"': "[[0, 0, 1, 1]]"}


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """The numbers of the lines that the type checker rejects, by file; `corrected` is `mistakes` without them."""
    pytest.importorskip("mypy", reason="part of the dependency group `check`; `make types` runs these tests")
    text = (HERE / "mistakes.py").read_text("utf-8")
    for wrong, right in CORRECTIONS.items():
        text = text.replace(wrong, right)
    corrected = tmp_path_factory.mktemp("typing") / "corrected.py"
    corrected.write_text(text, "utf-8")
    files = [HERE / "program.py", HERE / "mistakes.py", corrected]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-pretty", "--no-error-summary", *map(str, files)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    lines = [line.partition(": error: ")[0] for line in done.stdout.splitlines() if ": error: " in line]
    return {
        path.stem: [int(line.rpartition(":")[2]) for line in lines if Path(line.rpartition(":")[0]).name == path.name]
        for path in files
    }


def test_program_passes_the_strict_type_checker(errors):
    assert errors["program"] == []


def test_mistakes_are_rejected_at_each_of_their_lines(errors):
    marked = [k for k, line in enumerate((HERE / "mistakes.py").read_text().splitlines(), 1) if "# mistake" in line]
    assert len(marked) == len(CORRECTIONS) == 4
    assert sorted(errors["mistakes"]) == marked


def test_corrected_mistakes_are_accepted(errors):
    assert errors["corrected"] == []


def test_program_runs(capsys):
    program.main()
    assert capsys.readouterr().out
