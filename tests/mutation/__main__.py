"""Build the mutants, try the tests on each, and tell which ones no test notices: `make mutants`."""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from mutation.building import build

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "mutants"

# Tests of what has no core of its own: files, pages, commands, benchmarks. And of what a fork of pytest has not.
LEFT_OUT = ("adapters", "adapter_arcade", "adapter_ase", "adapter_mesa", "adapter_pygame", "adapter_rtree",
            "adapter_scipy", "adapter_shapely", "bench", "browser", "cli", "data", "demo", "docs", "examples", "exit",
            "fork", "house", "interrupt", "io_", "memory", "plotting", "public_calls", "readme", "recording", "replay",
            "scale", "scene", "soak", "typing")  # fmt: skip


def main() -> None:
    """Build where there is no build, try what has not been tried, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--longest", type=float, default=2, help="leave out tests that take more seconds than this")
    parser.add_argument("tests", nargs="*", help="files of tests, by default all that reach the core")
    options = parser.parse_args()
    if not (FOLDER / "mutants.json").exists():
        build(ROOT, FOLDER, options.seed)
    files = options.tests or [
        str(path)
        for path in sorted((ROOT / "tests").glob("test_*.py"))
        if not any(word in path.name for word in LEFT_OUT)
    ]
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:xdist", "-p", "no:cacheprovider",
         "-p", "mutation.forks", f"--mutants={FOLDER}", f"--jobs={options.jobs}", f"--longest={options.longest}",
         *files],
        check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": f"{FOLDER / 'package'}:{ROOT / 'tests'}:{ROOT}"},
    )  # fmt: skip
    tell()


def tell() -> None:
    """Print the mutants that lived, and the share of those killed."""
    results = [json.loads(line) for line in (FOLDER / "results.jsonl").read_text().splitlines()]
    latest = {result["mutant"]: result for result in results}
    for result in latest.values():
        if not result["killed_by"]:
            old = (ROOT / "core" / result["file"]).read_text()[result["start"] : result["end"]]
            place = f"core/{result['file']}:{result['line']}"
            print(f"{result['mutant']} {place}: {result['kind']}: {old} ({result['tests']} tests get there)")
    killed = Counter(result["file"].split("/")[0] for result in latest.values() if result["killed_by"])
    made = Counter(result["file"].split("/")[0] for result in latest.values())
    for folder, count in sorted(made.items()):
        print(f"{folder:12} {killed[folder]:4} of {count:4} killed")
    print(f"{sum(killed.values())} of {len(latest)} mutants killed")


if __name__ == "__main__":
    main()
