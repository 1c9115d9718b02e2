"""Parts of the program: lists of tasks, each run in a process of its own until its time is over.

A fault of a kernel ends all work of a process on its device, and one that hangs never ends. So neither takes away more
than the part that it happens in. What a task has found is a line of JSON in a file, written when the task ends.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.testing import assert_same_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Modules of parts in the order in which they run, and their shares of the time. What one leaves, the next ones have.
PARTS = {
    "compiling": 0.10,
    "exactness": 0.24,
    "libraries": 0.20,
    "times": 0.32,
    "scenes": 0.08,
    "stages": 0.06,
}
SHOWN = 5  # failures of a task that are written down
_MARGIN = 0.12  # share of the time of a part that its last task may take beyond the end


class Skip(Exception):  # noqa: N818
    """A task cannot run here; says why."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a part runs, and how much it does.

    Attributes
    ----------
    device : str
        Name of a device of Warp.
    quick : bool
        Small sizes, for a run without a card.
    """

    device: str
    quick: bool

    @property
    def is_cuda(self) -> bool:
        """Whether it is a card."""
        return self.device.startswith("cuda")

    def require_cuda(self) -> None:
        """Skip the task where there is no card."""
        if not self.is_cuda:
            raise Skip("only on a CUDA device")


@dataclass(slots=True)
class Record:
    """What a task has found.

    Attributes
    ----------
    task : str
        Its name.
    seconds : float
        Of the whole task.
    compared : int
        Results that were compared with right ones.
    failures : list of str
        The first differences and errors; `failure_count` is how many there were.
    rows : dict of str to list of dict
        Lines of tables, by their titles.
    skipped : str
        Why it did not run.
    facts : dict of str to str
        About the device and the versions.
    """

    task: str
    seconds: float = 0.0
    compared: int = 0
    failures: list[str] = field(default_factory=list)
    failure_count: int = 0
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    skipped: str = ""
    facts: dict[str, str] = field(default_factory=dict)

    def row(self, table: str, **cells: Any) -> None:
        """Add a line to a table."""
        self.rows.setdefault(table, []).append(cells)

    def fail(self, label: str, fault: str) -> None:
        """Write down a difference or an error."""
        self.failure_count += 1
        if len(self.failures) < SHOWN:
            self.failures.append(f"{label}: {fault}")

    @contextmanager
    def case(self, label: str) -> Iterator[None]:
        """Write down what goes wrong inside a `with` block, and go on behind it."""
        try:
            yield
        except Skip:
            raise
        except Exception as error:
            lines = str(error).splitlines() or [""]
            self.fail(label, lines[0] if isinstance(error, AssertionError) else f"{type(error).__name__}: {lines[0]}")

    def same_pairs(self, found: Any, expected: Any, label: str) -> None:
        """Compare two sets of pairs."""
        self.compared += 1
        with self.case(label):
            if not np.array_equal(_packed(found), _packed(expected)):
                assert_same_pairs(found, expected)

    def equal(self, found: Any, expected: Any, label: str) -> None:
        """Compare two arrays or numbers, bit by bit; NaN equals NaN."""
        self.compared += 1
        found, expected = np.asarray(found), np.asarray(expected)
        if found.shape != expected.shape:
            self.fail(label, f"shape {found.shape}, and {expected.shape} is right")
        elif not np.array_equal(found, expected, equal_nan=found.dtype.kind == expected.dtype.kind == "f"):
            with np.errstate(invalid="ignore"):
                wrong = np.flatnonzero((found != expected).reshape(-1))
            first = int(wrong[0]) if len(wrong) else 0
            values = f"{found.reshape(-1)[first]}, and {expected.reshape(-1)[first]} is right"
            self.fail(label, f"{len(wrong)} of {found.size} differ, the first at {first}: {values}")


def _packed(pairs: Any) -> NDArray[np.int64]:
    """Return each pair as one integer, in order."""
    rows = np.asarray(pairs).astype(np.int64).reshape(-1, 2)
    keys: NDArray[np.int64] = (rows[:, 0] << 32) | rows[:, 1]
    if (keys[1:] < keys[:-1]).any():
        keys.sort()
    return keys


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a part: ``run(record)`` writes down what it finds."""

    name: str
    run: Callable[[Record], None]


@dataclass(slots=True)
class Report:
    """What a part has found, and what it had no time for."""

    part: str
    records: list[Record] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    ended: str = ""
    seconds: float = 0.0

    @property
    def has_failed(self) -> bool:
        """Whether a result was wrong, or something broke."""
        return bool(self.ended) or any(record.failure_count for record in self.records)


def run_here(part: str, setting: Setting, seconds: float, into: Path, only: Sequence[str] = ()) -> None:
    """Run a part in this process, and write what it finds to a file."""
    end = time.monotonic() + seconds
    with into.open("a") as file:

        def tell(**line: Any) -> None:
            file.write(json.dumps(line, default=_as_plain) + "\n")
            file.flush()

        tasks: list[Task] = []
        try:
            tasks = import_module(f"benchmarks.gpu.{part}").tasks(setting)
        except Exception as error:  # such as: there is no such device
            broken = Record("the part")
            broken.fail(part, f"{type(error).__name__}: {error}")
            tell(record=asdict(broken))
        tasks = [task for task in tasks if not only or any(word in task.name for word in only)]
        tell(plan=[task.name for task in tasks])
        for task in tasks:
            if time.monotonic() > end:
                break
            tell(begin=task.name)
            record, start = Record(task.name), time.monotonic()
            try:
                task.run(record)
            except Skip as reason:
                record.skipped = str(reason)
            except Exception as error:
                lines = traceback.format_exc().splitlines()
                where = next((line.strip() for line in reversed(lines) if line.startswith("  File ")), "")
                record.fail("the task", f"{type(error).__name__}: {error} ({where})")
            record.seconds = time.monotonic() - start
            tell(record=asdict(record))


def _as_plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not for JSON")


def run_apart(
    part: str,
    setting: Setting,
    seconds: float,
    *,
    only: Sequence[str] = (),
    told: Callable[[Record], None] = lambda record: None,
) -> Report:
    """Run a part in a process of its own, and end it where it takes longer.

    Parameters
    ----------
    part : str
        One of `PARTS`.
    setting : Setting
        Where.
    seconds : float
        For all of it; no task begins when nearly all are over.
    only : sequence of str
        Only tasks that have one of these words in their name.
    told : callable
        Called with each record as soon as it is there.
    """
    report, start = Report(part), time.monotonic()
    plan: list[str] = []
    begun = text = ""
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder) / "records"
        into.touch()
        command = [sys.executable, "-m", "benchmarks.gpu", "--part", part, "--into", str(into)]
        command += ["--device", setting.device, "--seconds", str(seconds * (1 - _MARGIN))]
        command += ["--quick"] * setting.quick + ["--only", *only] * bool(only)
        with subprocess.Popen(command) as process, into.open() as lines:
            is_over = False
            while not is_over:
                is_over = process.poll() is not None
                if not is_over and time.monotonic() - start > seconds:
                    process.kill()
                    report.ended = f"ended after {seconds:.0f} s"
                    is_over = True
                    process.wait()
                text += lines.read()
                *whole, text = text.split("\n")
                for line in whole:
                    found = json.loads(line)
                    plan = found.get("plan", plan)
                    begun = found.get("begin", begun)
                    if "record" in found:
                        report.records.append(Record(**found["record"]))
                        told(report.records[-1])
                        begun = ""
                time.sleep(0.05)
        if not report.ended and process.returncode:
            report.ended = f"exit status {process.returncode}"
        if report.ended and begun:
            report.ended += f", in: {begun}"
    done = {record.task for record in report.records}
    report.not_run = [name for name in plan if name not in done and name != begun]
    report.seconds = time.monotonic() - start
    return report
