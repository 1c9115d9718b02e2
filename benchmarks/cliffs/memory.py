"""What indexes with options need of memory, beside one without: each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.rows import Row

_COUNT = 1_000_000
_MEASURE = """
import sys
import numpy as np
import broadphase as bp

def kilobytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))

count, option = int(sys.argv[1]), sys.argv[2]
lower = np.random.default_rng(0).random((count, 2))
boxes = np.stack([lower, lower + 0.5 * (8 / count) ** 0.5], axis=1)
keys = np.arange(count)
options = {"none": {}, "batch": {"batch": keys}, "period": {"period": [1.0, 1.0]}}[option]
bp.Index(boxes[:1000]).query(boxes[:10])
before = kilobytes("VmRSS")
with open("/proc/self/clear_refs", "w") as references:
    references.write("5")  # the peak begins here
index = bp.Index(boxes, **options)
index.query(boxes[:100], **({"batch": keys[:100]} if option == "batch" else {}))
print(kilobytes("VmHWM") - before)
"""


def rows(pace: float) -> Iterator[Row]:
    """Yield the peaks of an index that has answered a query; none where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return
    count = _COUNT if pace >= 1 else _COUNT // 4
    plain = _peak(count, "none")
    for option, what in (("batch", "a batch of its own for each box"), ("period", "a periodic cell")):
        peak = _peak(count, option)
        note = f"{peak / 1024:.0f} MB, of {plain / 1024:.0f} MB"
        yield Row(f"memory of an index of {count:,} boxes with {what}", peak / plain, "×", 2.0, note=note)


def _peak(count: int, option: str) -> float:
    command = [sys.executable, "-c", _MEASURE, str(count), option]
    return float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
