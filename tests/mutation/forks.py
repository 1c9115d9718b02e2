"""A plugin of pytest: the tests run once for each mutant, in forks of the process that has collected them."""

import ctypes
import itertools
import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

import broadphase
from mutation.places import SUBJECTS

# A test may not end: it has this many times the seconds that the longest needs, and some for a busy machine.
PATIENCE, GRACE = 5, 60

# The share of all tests that may fail in a fork with the unchanged core.
MOST_LEFT_OUT = 0.01

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
    parser.addoption("--only", type=int, action="append", help="try this mutant, whatever is known of it")
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
    tests = _known(session, folder)
    items = sorted(
        (item for item in session.items if (tests[item.nodeid]["seconds"] or longest + 1) <= longest),
        key=lambda item: tests[item.nodeid]["seconds"],
    )
    kills = Counter(result["killed_by"] for result in tried)
    waiting = [number for number in range(1, len(mutants) + 1) if number not in done]
    waiting = session.config.getoption("--only") or waiting
    random.Random(0).shuffle(waiting)  # so that a part of them is a sample
    running: dict[int, tuple[int, float]] = {}
    limit = PATIENCE * longest + GRACE
    while waiting or running:
        while waiting and len(running) < session.config.getoption("--jobs"):
            number = waiting.pop(0)
            reaching = [item for item in items if number in tests[item.nodeid]["reached"]]
            order = _in_order(reaching, mutants[number - 1]["file"], kills)
            running[_fork(order, number, folder / f"mutant-{number}.txt")] = (number, time.monotonic())
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            number, begin = running.pop(pid)
            code = os.waitstatus_to_exitcode(status)
            last = folder / f"mutant-{number}.txt"
            result = {"mutant": number, "killed_by": last.read_text() if code else None, "exit": code,
                      "tests": sum(number in tests[item.nodeid]["reached"] for item in items),
                      "seconds": round(time.monotonic() - begin, 1), "longest": longest,
                      **mutants[number - 1]}  # fmt: skip
            last.unlink(missing_ok=True)
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


def _known(session: pytest.Session, folder: Path) -> dict[str, dict[str, Any]]:
    """Return, of each test, the seconds of a processor with the unchanged core, and the mutants that it reaches.

    These are found once for a build, by as many forks as may run at once, each with every so many a file. A test that
    fails in a fork, as where a library warns there, is left out: its seconds are none.
    """
    known = folder / "tests.json"
    tests = json.loads(known.read_text()) if known.exists() else {}
    others = [item for item in session.items if item.nodeid not in tests]
    if not others:
        return tests
    jobs = session.config.getoption("--jobs")
    files = sorted({item.path for item in others})
    parts = [folder / f"part-{job}.txt" for job in range(jobs)]
    for job, part in enumerate(parts):
        _fork([item for item in others if item.path in files[job::jobs]], 0, part)
    codes = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in parts]
    if any(codes):
        said = "\n".join(part.read_text() for part in parts)
        raise pytest.UsageError(f"the unchanged core ends one of the last tests: {said}")
    tests |= {name: facts for part in parts for name, facts in json.loads(part.read_text()).items()}
    left_out = [name for name, facts in tests.items() if facts["seconds"] is None]
    print(*left_out, f"{len(left_out)} of {len(tests)} tests fail in forks, and are left out", sep="\n", flush=True)
    if len(left_out) > MOST_LEFT_OUT * len(tests):
        raise pytest.UsageError("the unchanged core fails too many tests")
    known.write_text(json.dumps(tests))
    return tests


def _in_order(items: list[pytest.Item], file: str, kills: Counter[str | None]) -> list[pytest.Item]:
    """Return the tests with those in front that have killed most, and then those of the mutant's subject.

    Within these the order stays: the shortest tests come first.
    """
    subject = next(name for name, (folders, _) in SUBJECTS.items() if file.split("/")[0] in folders)
    return sorted(
        items, key=lambda item: (-kills[item.nodeid], not any(word in item.path.name for word in FIRST[subject]))
    )


def _fork(items: list[pytest.Item], number: int, last: Path) -> int:
    """Run the tests with one mutant on, in a child whose exit code is 1 after the first that fails.

    The file has the name of the test that runs; in the end, with the unchanged core, what is to be known of all.
    """
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
    count = len(json.loads((last.parent / "mutants.json").read_text()))
    marks = (ctypes.c_ubyte * (count + 1)).in_dll(module, "broadphase_reached")
    tests = {}
    for item, following in itertools.zip_longest(items, items[1:]):
        last.write_text(item.nodeid)  # while it runs, so that a crash has a name
        ctypes.memset(marks, 0, count + 1)
        begin = time.process_time()
        failed = any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))
        if failed and number:
            os._exit(1)
        reached = [place for place in range(1, count + 1) if marks[place]]
        tests[item.nodeid] = {"seconds": None if failed else time.process_time() - begin, "reached": reached}
    if not number:
        last.write_text(json.dumps(tests))
    os._exit(0)
