"""The long tests: each goes on where it stopped, and does not count a seed that fails."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).with_name("soak")
TESTS = """
import os
from pathlib import Path
from seeds import compared, seeds

def test_many():
    for seed in seeds(10, 100, least=3):
        with open("seen", "a") as file:
            print(seed, file=file)
        compared(4, times=2)
        assert str(seed) != os.environ.get("BAD"), seed
        if str(seed) == os.environ.get("STOP"):
            raise KeyboardInterrupt

def test_whole():
    with open("seen", "a") as file:
        print("whole", file=file)
"""


def test_seeds_go_on_where_they_stopped_and_one_that_fails_is_not_counted(tmp_path):
    if not SOAK.is_dir():
        pytest.skip("the long tests are not here")
    for name in ("conftest.py", "seeds.py"):
        shutil.copy(SOAK / name, tmp_path)
    (tmp_path / "test_soak_small.py").write_text(TESTS)

    def run(seconds, **environment):
        (tmp_path / "seen").write_text("")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "."],
            cwd=tmp_path,
            env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "BROADPHASE_SOAK_SECONDS": seconds} | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        row = json.loads((tmp_path / "reached.json").read_text())["test_soak_small::test_many"]
        assert row["candidates"] == 12 * row["reached"]
        return (tmp_path / "seen").read_text().split(), row, done

    seen, row, _ = run("0")
    assert (seen, row["reached"], row["of"]) == (["100", "101", "102", "whole"], 3, 10)
    seen, row, done = run("60", BAD="105")
    assert (seen, row["reached"], row["failed"]) == (["103", "104", "105"], 5, 105)
    assert "seed 105 of test_soak_small::test_many" in done.stdout
    assert "seed 105 failed" in done.stdout
    seen, row, _ = run("60", STOP="106")
    assert (seen, row["reached"], "failed" in row) == (["105", "106"], 6, False)
    seen, row, _ = run("0")  # what is left is less than a part
    assert (seen, row["reached"]) == (["106", "107", "108", "109"], 10)
    seen, row, done = run("0")
    assert (seen, row["reached"], done.returncode) == ([], 10, 0)
    assert "2 skipped" in done.stdout
