"""Scenes off the road, where methods fall: each subject is a module with `rows(pace)`, which yields `Row` by `Row`.

A bound is a ratio to the same work on an ordinary scene, to another library, or to T, timed in turns in the same
process. Each subject has a process of its own: a library may become faster or slower in one that has run for long, and
rows must not depend on what was measured before. `pace` scales the seconds spent: 1 for a full report, 0.2 for a quick
one.
"""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib import import_module

from benchmarks.rows import Row

_MEASURE = "import sys; from benchmarks import cliffs; cliffs.print_rows(sys.argv[1], float(sys.argv[2]))"


def rows(pace: float, subjects: Sequence[str] | None = None) -> Iterator[Row]:
    """Measure the subjects named, or all of them.

    Raises
    ------
    ModuleNotFoundError
        There is no such subject.
    CalledProcessError
        One of them has failed.
    """
    known = sorted(module.name for module in pkgutil.iter_modules(__path__))
    for name in subjects or known:
        if name not in known:
            raise ModuleNotFoundError(f"there is no subject {name!r}; they are {', '.join(known)}")
        command = [sys.executable, "-c", _MEASURE, name, str(pace)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                yield Row(**json.loads(line))
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)


def print_rows(name: str, pace: float) -> None:
    """Measure one subject in this process, and print each row as JSON."""
    for row in import_module(f"{__name__}.{name}").rows(pace):
        print(json.dumps(asdict(row)), flush=True)
