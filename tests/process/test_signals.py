"""Signals that end the command: whenever they come, it ends with their exit code, and nothing half written stays."""

import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest

pytest.importorskip("typer")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")

NAMES = ("SIGTERM", "SIGHUP", "SIGINT")
PROGRAM = "import sys; from broadphase_command import main; print('.', flush=True); sys.exit(main())"


@pytest.fixture(autouse=True)
def nothing_ignored():
    """Let no signal be ignored that children would ignore as well, such as SIGHUP below nohup."""
    numbers = [getattr(signal, name) for name in NAMES]
    ignored = [number for number in numbers if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def command_that_writes(folder):
    """Give a command that writes a table for some seconds, and the file that it replaces."""
    lower = np.random.default_rng(0).uniform(0, 10, (100_000, 2))
    np.savetxt(folder / "boxes.csv", np.hstack([lower, lower + 1]), "%.4f", ",", header="x0,y0,x1,y1", comments="")
    (folder / "out").mkdir()
    path = folder / "out" / "pairs.csv"
    return [sys.executable, "-c", PROGRAM, "pairs", str(folder / "boxes.csv"), "--output", str(path)], path


def end_at(moment, name, command, path):
    """Send a signal so many seconds after the start, and check how the command ends, and what it leaves."""
    number = getattr(signal, name)
    path.write_text("old")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        if number == signal.SIGINT:  # at which Python, while it starts, ends with an error of its own
            assert process.stdout.read(1) == b"."
        time.sleep(moment)
        process.send_signal(number)
        try:
            _, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    where = f"{name} after {moment:.3f} s"
    if process.returncode == 0:  # it was done before
        assert path.stat().st_size > 1000, where
    else:
        # Before Python handles them, and once nothing is left to delete, signals end the process themselves.
        assert process.returncode in (128 + number, -number), where
        assert path.read_text() == "old", where
        assert number == signal.SIGINT or err == b"", where
    assert [one.name for one in path.parent.iterdir()] == [path.name], where


@pytest.mark.parametrize("name", NAMES)
def test_signal_at_any_moment_ends_the_command_and_leaves_the_older_file(name, tmp_path):
    command, path = command_that_writes(tmp_path)
    for moment in np.linspace(0.05, 1.25, 7) + 0.01 * NAMES.index(name):
        end_at(moment, name, command, path)


SWALLOWED = {
    "in an import": """
try:
    signal.raise_signal(number)
except BaseException:
    pass
""",
    "in a finalizer": """
class Closed:
    def __del__(self):
        signal.raise_signal(number)
Closed()
""",
    "many times": """
for _ in range(3):
    try:
        signal.raise_signal(number)
        time.sleep(1)
    except BaseException:
        pass
""",
    "while another is handled": """
try:
    raise OSError
except OSError:
    try:
        signal.raise_signal(number)
    except BaseException:
        pass
""",
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", SWALLOWED)
def test_signal_that_is_swallowed_ends_the_command_later(how, name):
    program = f"""
import signal, sys, time
import broadphase.cli, broadphase as bp
number = signal.{name}

def swallow(*_, **options):
    try:
        exec({SWALLOWED[how]!r}, globals())
        time.sleep(30)
        print("gone on")
    finally:
        end = time.monotonic() + 0.3  # cleaning up, which nothing interrupts
        while time.monotonic() < end:
            pass
        print("cleaned up")

bp.count_pairs = swallow
sys.exit(broadphase.cli.main(["count", "us_counties"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + getattr(signal, name), "cleaned up\n", "")


def test_signal_that_is_ignored_from_the_start_stays_ignored():
    ignoring = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)  # as shells do with what runs in the background
    command = [sys.executable, "-c", PROGRAM, "run", "bouncing_rectangles", "--steps", "3000", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=ignoring) as process:
        for _ in range(10):
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert b'"stopped": false' in out
