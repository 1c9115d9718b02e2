"""Build the mutants, try the tests on each, and tell which ones no test notices: `make mutants`."""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from mutation.building import SANITIZED, build, core_tests, is_built

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "mutants"
RESULTS, CORE_TESTS = FOLDER / "results.jsonl", FOLDER / "core_tests.json"

# What came out, and why what lived may live: the reasons are written by hand.
RECORD = Path(__file__).with_name("tried.json")

# Tests of what has no core of its own: files, pages, commands, benchmarks. And of what a fork of pytest has not:
# windows, signals, other processes. Drop-ins for other libraries reach parts of the core that nothing else does.
LEFT_OUT = ("adapters", "adapter_arcade", "adapter_pygame", "bench", "browser", "cli", "data", "demo", "docs",
            "examples", "exit", "fork", "house", "interrupt", "io_", "memory", "plotting", "public_calls", "readme",
            "recording", "replay", "scale", "scene", "soak", "typing")  # fmt: skip


def main() -> None:
    """Build where there is no build, try what has not been tried, print what lived, and record it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--longest", type=float, default=2, help="leave out tests that take more seconds than this")
    parser.add_argument("--only", type=int, nargs="+", default=[], help="numbers of mutants to try, tried or not")
    parser.add_argument("--record", action="store_true", help="only print and record what has been tried")
    parser.add_argument("tests", nargs="*", help="files of tests, by default all that reach the core")
    options = parser.parse_args()
    if not options.record:
        if not is_built(ROOT, FOLDER, options.seed):
            build(ROOT, FOLDER, options.seed)
        files = options.tests or [
            str(path)
            for path in sorted((ROOT / "tests").rglob("test_*.py"))
            if not any(word in path.name for word in LEFT_OUT)
        ]
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:xdist", "-p", "no:cacheprovider",
             "-p", "mutation.forks", f"--mutants={FOLDER}", f"--jobs={options.jobs}", f"--longest={options.longest}",
             *(f"--only={number}" for number in options.only), *files],
            check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": f"{FOLDER / 'package'}:{ROOT / 'tests'}:{ROOT}"},
        )  # fmt: skip
        try_core_tests()
    record()


def tried() -> dict[int, dict[str, Any]]:
    """Return what came out last for each mutant."""
    return {result["mutant"]: result for result in map(json.loads, RESULTS.read_text().splitlines())}


def try_core_tests() -> None:
    """Try the tests of the core, under sanitizers, on what lived, and append what they kill."""
    known = json.loads(CORE_TESTS.read_text()) if CORE_TESTS.exists() else {}
    for name in core_tests(ROOT):
        if name in known:
            continue
        marks, begin = FOLDER / "reached", time.monotonic()
        if not passes(name, {"BROADPHASE_MARKS": str(marks)}, limit=None):
            raise RuntimeError(f"the unchanged core fails {name}")
        reached = [place for place, mark in enumerate(marks.read_bytes()) if mark]
        known[name] = {"seconds": time.monotonic() - begin, "reached": reached}
        CORE_TESTS.write_text(json.dumps(known))
    for number, result in tried().items():
        if result["killed_by"] or "core_tests" in result:
            continue
        reaching = sorted((facts["seconds"], name) for name, facts in known.items() if number in facts["reached"])
        killer = next(
            (f"core/tests/{name}.cpp" for seconds, name in reaching
             if not passes(name, {"BROADPHASE_MUTANT": str(number)}, limit=60 + 10 * seconds)),
            None,
        )  # fmt: skip
        with RESULTS.open("a") as file:
            file.write(json.dumps({**result, "killed_by": killer, "core_tests": len(reaching)}) + "\n")


def passes(name: str, environment: dict[str, str], limit: float | None) -> bool:
    """Return whether a test of the core ends in so many seconds, and well."""
    program = FOLDER / SANITIZED / "core" / "tests" / name
    try:
        ended = subprocess.run(
            [program], env={**os.environ, **environment}, timeout=limit, capture_output=True, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0


def record() -> None:
    """Print and record the mutants that lived, and how many were killed."""
    known = json.loads(RECORD.read_text())["lived"] if RECORD.exists() else []
    reasons = {(one["file"], one["change"]): one["reason"] for one in known}
    made, killed = Counter[str](), Counter[str]()
    lived = []
    for _, result in sorted(tried().items()):
        folder = result["file"].split("/")[0]
        made[folder] += 1
        if result["killed_by"]:
            killed[folder] += 1
            continue
        text = (ROOT / "core" / result["file"]).read_text()
        old = text[result["start"] : result["end"]]
        if len(old) < 4:  # a number alone: its line
            old = text.splitlines()[result["line"] - 1]
        change = f"{' '.join(old.split())}: {result['kind']}"
        reason = reasons.get((result["file"], change), "")
        lived.append({"file": result["file"], "change": change, "reason": reason})
        print(f"{result['mutant']} core/{result['file']}:{result['line']}: {change}: {reason}")
    table = {folder: {"tried": made[folder], "killed": killed[folder]} for folder in sorted(made)}
    lines = [f"    {json.dumps(folder)}: {json.dumps(counts)}" for folder, counts in table.items()]
    told = [f"    {json.dumps(one, ensure_ascii=False)}" for one in lived]
    RECORD.write_text(
        '{\n  "folders": {\n' + ",\n".join(lines) + '\n  },\n  "lived": [\n' + ",\n".join(told) + "\n  ]\n}\n"
    )
    print(*(f"{folder:12} {killed[folder]:4} of {made[folder]:4} killed" for folder in sorted(made)), sep="\n")
    print(f"{killed.total()} of {made.total()} mutants killed")


if __name__ == "__main__":
    main()
