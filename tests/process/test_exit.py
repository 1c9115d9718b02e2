"""The interpreter ends, be it while daemon threads are inside calls: no crash, no message, nothing left."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import ending
import exiting
import spawned

PROGRAM = Path(exiting.__file__)


def end_inside(workers: int, *calls: str) -> tuple[int, str]:
    """Run a program that ends while one daemon thread for each call is inside it: exit status and errors."""
    command = [sys.executable, str(PROGRAM), str(workers), *calls]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TMPDIR": folder}
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert ended.stdout == "ready\n", ended.stderr
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("workers", [1, 2])
def test_exit_with_a_daemon_thread_in_each_call_is_quiet(workers):
    assert end_inside(workers, *exiting.CALLS) == (0, "")


def test_exit_while_a_pool_and_atexit_call_beside_daemon_threads_is_quiet():
    late = ("pairs grid", "index nearest", "step", "neighbors", "clashes", "progress", "first queries at once")
    assert end_inside(2, "scale", "index query", "step", *(f"+{name}" for name in late)) == (0, "")


@pytest.mark.parametrize("leak", [False, True])
def test_objects_of_the_core_that_are_in_use_at_the_end_are_all_given_back(leak):
    command = [sys.executable, ending.__file__, *(["leak"] if leak else [])]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert ended.stdout == "True\n"
    assert ("leaked 1 instances" in ended.stderr) == leak
    assert leak or ended.stderr == ""


@pytest.mark.parametrize("method", sorted(multiprocessing.get_all_start_methods()))
def test_processes_give_the_answers_and_errors_of_their_parent(method):
    command = [sys.executable, "-W", "ignore::DeprecationWarning", spawned.__file__, method]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
