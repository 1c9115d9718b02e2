"""A plugin of pytest: the tests run once for each mutant, in forks of the process that has collected them."""

import ctypes
import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

import broadphase
from mutation.places import SUBJECTS

# A test may not end: it has this many times the seconds that the longest needs, and some for a busy machine.
PATIENCE, GRACE = 5, 60

# Parts of the names of the files that are run first for a subject: the sooner a test fails, the sooner the next mutant.
FIRST = {
    "grid": ["grid", "pairs", "many_queries", "neighbors"],
    "sweep": ["sweep", "pairs"],
    "trees": ["bvh", "octree", "linear_tree", "tree", "quer", "nearest", "index"],
    "narrow": ["narrow", "contacts", "shape", "clear", "triangle", "overlap"],
    "touching": ["world", "touching", "motion", "ccd", "periodic"],
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mutants", help="the folder of the build, with mutants.json")
    parser.addoption("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at once")
    parser.addoption("--longest", type=float, default=2, help="leave out tests that take more seconds than this")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try each mutant that has not been killed by these tests, and append its result to `results.jsonl`."""
    folder = Path(session.config.getoption("--mutants"))
    mutants = json.loads((folder / "mutants.json").read_text())
    results = folder / "results.jsonl"
    longest = session.config.getoption("--longest")
    tried = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    done = {result["mutant"] for result in tried if result["killed_by"] or result["longest"] >= longest}
    seconds = _seconds_of(session.items, folder)
    items = sorted(
        (item for item in session.items if seconds[item.nodeid] <= longest), key=lambda item: seconds[item.nodeid]
    )
    kills = Counter(result["killed_by"] for result in tried)
    waiting = [number for number in range(1, len(mutants) + 1) if number not in done]
    random.Random(0).shuffle(waiting)  # so that a part of them is a sample
    running: dict[int, tuple[int, float]] = {}
    limit = PATIENCE * longest + GRACE
    while waiting or running:
        while waiting and len(running) < session.config.getoption("--jobs"):
            number = waiting.pop(0)
            order = _in_order(items, mutants[number - 1]["file"], kills)
            running[_fork(order, number, folder)] = (number, time.monotonic())
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            number, begin = running.pop(pid)
            code = os.waitstatus_to_exitcode(status)
            last = folder / f"mutant-{number}.txt"
            result = {"mutant": number, "killed_by": last.read_text() if code else None, "exit": code,
                      "seconds": round(time.monotonic() - begin, 1), "longest": longest,
                      **mutants[number - 1]}  # fmt: skip
            last.unlink()
            kills[result["killed_by"]] += 1
            with results.open("a") as file:
                file.write(json.dumps(result) + "\n")
            continue
        for pid, (number, _) in running.items():
            last = folder / f"mutant-{number}.txt"
            changed = last.stat().st_mtime if last.exists() else time.time()
            if time.time() - changed > limit:
                os.killpg(pid, signal.SIGKILL)
        time.sleep(0.01)
    return True


def _seconds_of(items: list[pytest.Item], folder: Path) -> dict[str, float]:
    """Return how long each test takes with the unchanged core, which must pass all: once for a build."""
    known = folder / "seconds.json"
    seconds = json.loads(known.read_text()) if known.exists() else {}
    if all(item.nodeid in seconds for item in items):
        return seconds
    if os.waitstatus_to_exitcode(os.waitpid(_fork(items, 0, folder), 0)[1]):
        raise pytest.UsageError(f"the unchanged core fails {(folder / 'mutant-0.txt').read_text()}")
    return json.loads(known.read_text())


def _in_order(items: list[pytest.Item], file: str, kills: Counter[str | None]) -> list[pytest.Item]:
    """Return the tests with those in front that have killed most, and then those of the mutant's subject.

    Within these the order stays: the shortest tests come first.
    """
    subject = next(name for name, (folders, _) in SUBJECTS.items() if file.split("/")[0] in folders)
    return sorted(
        items, key=lambda item: (-kills[item.nodeid], not any(word in item.path.name for word in FIRST[subject]))
    )


def _fork(items: list[pytest.Item], number: int, folder: Path) -> int:
    """Run the tests with one mutant on, in a child whose exit code is 1 after the first that fails."""
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    os.environ["BROADPHASE_MUTANT"] = str(number)  # for processes that tests start
    module = ctypes.CDLL(str(next(Path(broadphase.__file__).parent.glob("_core*.so"))))
    ctypes.c_int.in_dll(module, "broadphase_mutant").value = number
    seconds = {}
    last = folder / f"mutant-{number}.txt"
    for item, following in zip(items, [*items[1:], None], strict=True):
        last.write_text(item.nodeid)  # while it runs, so that a crash has a name
        begin = time.monotonic()
        for report in runtestprotocol(item, log=False, nextitem=following):
            if report.failed:
                if not number:
                    last.write_text(f"{item.nodeid}\n{report.longreprtext}")
                os._exit(1)
        seconds[item.nodeid] = time.monotonic() - begin
    if not number:
        (folder / "seconds.json").write_text(json.dumps(seconds))
    os._exit(0)
