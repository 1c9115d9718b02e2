"""The package and every command give the same anywhere: locales, time zones, no home, one core, no large pages."""

import os
import re
import shutil
import subprocess
import sys

import pytest

import odd_places

for library in ("pyarrow", "typer"):
    pytest.importorskip(library)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="places are set up by means of Linux")

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "Pacific/Kiritimati", "HOME": None}
# In Turkish, the lower case of I is not i; in German, numbers have commas.
TURKISH = {"LC_ALL": "tr_TR.ISO-8859-9", "PYTHONUTF8": "0", "HOME": "/sys"}
GERMAN = {"LC_ALL": "de_DE.UTF-8", "TZ": "America/St_Johns"}


def what_comes_of_it(folder, variables, *options):
    """Run the program in the current folder /sys, where not even root can write; give digests and exit codes."""
    folder.mkdir()
    path = os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))
    environment = {**os.environ, "PYTHONPATH": path, "LC_ALL": "C.UTF-8", **variables}
    done = subprocess.run(
        [sys.executable, odd_places.__file__, str(folder), *options], cwd="/sys", capture_output=True, check=False,
        env={name: value for name, value in environment.items() if value is not None},
    )  # fmt: skip
    errors = done.stderr.decode(errors="replace")
    assert done.returncode == 0, errors
    assert "Traceback" not in errors, errors
    return re.findall(rb"(?m)^(?:\S+ [0-9a-f]{16} \d+|exit code \d+)$", done.stdout)


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    found = what_comes_of_it(tmp_path_factory.mktemp("usual") / "out", {})
    assert [line for line in found if line.startswith(b"exit")] == [b"exit code 0"] * 13 + [b"exit code 1"]
    assert len(found) == 17 + 14
    return found


def test_ascii_far_east_without_a_home_changes_nothing(usual, tmp_path):
    assert what_comes_of_it(tmp_path / "out", ASCII) == usual


@pytest.mark.parametrize(("variables", "options"), [(TURKISH, ()), (GERMAN, ("--one-core", "--no-large-pages"))])
def test_locale_and_small_machine_change_nothing(usual, tmp_path, variables, options):
    name, _, encoding = variables["LC_ALL"].partition(".")
    if shutil.which("localedef") is None:
        pytest.skip("locales cannot be compiled here")
    command = ["localedef", "-i", name, "-f", encoding, str(tmp_path / variables["LC_ALL"])]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip(f"the sources of {name} are not here")
    assert what_comes_of_it(tmp_path / "out", variables | {"LOCPATH": str(tmp_path)}, *options) == usual
