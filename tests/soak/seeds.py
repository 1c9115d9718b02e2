"""How far each long test has come: a part of its seeds at each run, recorded in `reached.json`; run it for the table.

A line is a test: how many seeds were reached of how many, in how many seconds, with how many candidate pairs compared,
at which commit, and which seed failed. Without its line a test starts over. Tests without seeds run whole, once.
"""

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).with_name("reached.json")
SECONDS = float(os.environ.get("BROADPHASE_SOAK_SECONDS", "60"))  # of each test; whole tests take what they take
DONE = "reached in full; without its line in reached.json it starts over"


def rows() -> dict[str, dict[str, Any]]:
    """Read what is recorded, by test."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Let no other process write meanwhile."""
    try:
        import fcntl
    except ImportError:  # Windows: one process only
        yield
        return
    folder = os.open(FILE.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


class Run:
    """One run of one test."""

    def __init__(self, test: str, commit: str) -> None:
        self.test, self.commit = test, commit
        self.row = rows().get(test, {})
        self.reached, self.of = self.row.get("reached", 0), self.row.get("of", 1)
        self.seed: int | None = None
        self.candidates, self.of_seed, self.written = 0, 0, time.monotonic()

    def write(self, **more: int) -> None:
        """Add what was done since the last time; what another process has reached is kept."""
        now = time.monotonic()
        with locked():
            every = rows()
            row = every.get(self.test, {})
            seconds = round(row.get("seconds", 0) + now - self.written, 1)
            candidates = row.get("candidates", 0) + self.candidates
            every[self.test] = {"reached": max(self.reached, row.get("reached", 0)), "of": self.of, "seconds": seconds}
            every[self.test] |= {"candidates": candidates} if candidates else {}
            every[self.test] |= {"commit": self.commit, "date": f"{datetime.now(UTC):%Y-%m-%d}", **more}
            lines = [f"{json.dumps(name)}: {json.dumps(every[name])}" for name in sorted(every)]
            new = FILE.with_suffix(".part")
            new.write_text("{\n" + ",\n".join(lines) + "\n}\n")
            os.replace(new, FILE)
        self.candidates, self.written = 0, now

    def seeds(self, full: int, first: int, least: int) -> Iterator[int]:
        end = time.monotonic() + SECONDS
        begin, self.of = self.reached, full
        while self.reached < full:
            self.seed, self.of_seed = first + self.reached, 0
            yield self.seed
            self.seed, self.reached = None, self.reached + 1
            self.candidates += self.of_seed
            now = time.monotonic()
            if now - self.written > 10:
                self.write()
            if now > end and self.reached - begin >= least <= full - self.reached:
                return


run: Run


def seeds(full: int, first: int = 0, least: int = 1) -> Iterator[int]:
    """Give the seeds from where this test stopped, until its time is over: never fewer than `least` at a time."""
    run.of = full
    if run.reached >= full:
        pytest.skip(DONE)
    return run.seeds(full, first, least)


def compared(n: int, m: int | None = None, times: int = 1) -> None:
    """Count the candidate pairs of so many comparisons with the oracle: of `n` boxes, or of `n` and `m`."""
    run.of_seed += times * (n * (n - 1) // 2 if m is None else n * m)


@contextlib.contextmanager
def recorded(test: str, commit: str) -> Iterator[None]:
    """Record what a test reaches, however it ends; a seed that fails is named and not counted."""
    global run
    run = Run(test, commit)
    if run.of == run.reached == 1:
        pytest.skip(DONE)
    try:
        yield
    except pytest.skip.Exception:
        raise
    except BaseException as error:
        if isinstance(error, Exception | pytest.fail.Exception) and run.seed is not None:
            error.add_note(f"seed {run.seed} of {test}")
            run.write(failed=run.seed)
        elif run.of > 1:
            run.write()
        raise
    if run.of == 1:
        run.reached = 1
    run.write()


def head() -> str:
    """Name the commit."""
    command = ["git", "-C", str(FILE.parent), "rev-parse", "--short", "HEAD"]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return ""


def table() -> str:
    """Show what is recorded: the parameters of a test in one line."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for name, row in rows().items():
        groups.setdefault(name.partition("[")[0].removeprefix("test_soak_").replace("::test_", ": "), []).append(row)
    lines = [f"{'done':>9} {'reached':>11} {'of':>11} {'seconds':>8}  {'candidates':>10}  test"]
    for name, group in [*groups.items(), ("in all", list(rows().values()))]:
        reached, of, seconds, candidates = (
            sum(row.get(key, 0) for row in group) for key in ("reached", "of", "seconds", "candidates")
        )
        done = f"{sum(row['reached'] >= row['of'] for row in group)}/{len(group)}"
        failed = [f" seed {row['failed']} failed" for row in group if "failed" in row and name != "in all"]
        shown = f"{candidates:.2e}" if candidates else ""
        lines.append(f"{done:>9} {reached:>11,} {of:>11,} {seconds:>8,.0f}  {shown:>10}  {name}{''.join(failed)}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
