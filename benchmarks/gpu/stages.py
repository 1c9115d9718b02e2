"""The stages of `pairs`: how long each takes, and which share of the device's bandwidth it reaches.

The bytes of a stage are the fewest that it must move: what it reads and writes, each once. A stage that reaches a small
share of the bandwidth is held up by something else: the wait for memory, work that is uneven, or arithmetic.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import ceil
from typing import Any

from benchmarks.gpu.devices import Clock, put, require, taken, warp
from benchmarks.gpu.parts import Record, Setting, Task
from broadphase import gpu
from broadphase.gpu.arrays import Scratch
from broadphase.testing import make_scene

TABLE = "Stages of pairs"

#: The stage of each kernel, by its name.
STAGES = {
    "frame_of_samples": "frame",
    "widths_of_samples": "frame",
    "codes_of_boxes": "codes",
    "levels_of_gaps": "levels",
    "nodes_from_leaves": "nodes",
    "pairs_in_tree": "walk",
    "unpack_keys": "write",
    "pad_keys": "write",
}


def tasks(setting: Setting) -> list[Task]:
    """Return the tasks."""
    require(setting.device)
    n = 3000 if setting.quick else 1_000_000
    made = [(f"{name}, {dtype}", name, n, dtype, sort) for name, dtype, sort in (
        ("uniform", "float32", False), ("uniform", "float32", True), ("uniform", "float64", False),
        ("lognormal", "float32", False), ("clusters", "float32", False))]  # fmt: skip
    return [
        Task(f"stages of {title}{', sorted' * sort}", partial(measure, name, count, dtype, sort, setting=setting))
        for title, name, count, dtype, sort in made
    ]


def least_bytes(stage: str, n: int, m: int, size: int, bits: int) -> int | None:
    """Return the fewest bytes that a stage moves.

    Parameters
    ----------
    stage : str
        Its name.
    n, m : int
        Numbers of boxes and pairs.
    size : int
        Bytes of a corner: 12 or 24.
    bits : int
        By how many bits the sort orders.

    Notes
    -----
    frame: some hundred samples; nothing. codes: both corners; a code of 8 bytes, the row and the end of a gap of 4
    each. sort: one reading of the codes to count their digits, then one reading and one writing of code and row for
    each digit of 8 bits. levels: the codes, and one byte for each gap. nodes: the row, both corners, a level and an end
    for each leaf, read and written, and a node of 32 bytes, of doubles 64, for each leaf and each inner node: written,
    and one of two read by what has the other. walk: all nodes once, and 8 bytes a pair. sort of pairs: keys of 8 bytes
    with rows of 4, as before. write: 8 bytes a pair, read and written.
    """
    node = 32 if size == 12 else 64
    digits = ceil(bits / 8)
    return {
        "codes": n * (2 * size + 8 + 4 + 4),
        "sort": n * 8 + digits * 2 * n * 12,
        "levels": n * (8 + 1),
        "nodes": n * (4 + 2 * size + 1 + 8 + 3 * node),
        "walk": n * 2 * node + 8 * m,
        "sort of pairs": m * 8 + digits * 2 * m * 12,
        "write": 16 * m,
    }.get(stage)


class Marks:
    """Marks on the caller's stream around each stage of a call."""

    def __init__(self, setting: Setting) -> None:
        self._wp, self._is_cuda = warp(), setting.is_cuda
        self._device = require(setting.device)
        self._marks: list[tuple[str, Any, Any]] = []
        self.bits: dict[str, int] = {}
        self._has_walked = False

    def _mark(self) -> Any:
        if not self._is_cuda:
            return time.perf_counter()
        event = self._wp.Event(self._device, enable_timing=True)
        self._wp.record_event(event)
        return event

    @contextmanager
    def _around(self, stage: str) -> Iterator[None]:
        begin = self._mark()
        yield
        self._marks.append((stage, begin, self._mark()))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Mark every launch, sort and copy of `broadphase.gpu` inside a `with` block."""
        wp, marks = self._wp, self
        launch, sort, copy = Scratch.launch, wp.utils.radix_sort_pairs, wp.copy

        def launched(scratch: Scratch, name: str, kernel: Any, size: int, inputs: list[Any]) -> None:
            stage = STAGES.get(kernel.key.rpartition("__")[2], "other")
            with marks._around(stage):
                launch(scratch, name, kernel, size, inputs)
            marks._has_walked |= stage == "walk"

        def sorted_(keys: Any, values: Any, count: int, *bits: int) -> None:
            stage = "sort of pairs" if marks._has_walked else "sort"
            marks.bits[stage] = bits[1] - bits[0] if len(bits) == 2 else 64
            with marks._around(stage):
                sort(keys, values, count, *bits)

        def copied(*arguments: Any, **chosen: Any) -> Any:
            with marks._around("write" if marks._has_walked else "other"):
                return copy(*arguments, **chosen)

        watched: Any = Scratch
        watched.launch, wp.utils.radix_sort_pairs, wp.copy = launched, sorted_, copied
        try:
            yield
        finally:
            watched.launch, wp.utils.radix_sort_pairs, wp.copy = launch, sort, copy

    def run(self, call: Callable[[], Any]) -> dict[str, float]:
        """Run a call, and return the milliseconds of each stage, and from the first mark to the last."""
        self._marks.clear()
        self._has_walked = False
        wp = self._wp
        if self._is_cuda:
            wp.synchronize_device(self._device)
        with self.watching():
            result = call()
        if self._is_cuda:
            wp.synchronize_device(self._device)
        del result

        def between(begin: Any, end: Any) -> float:
            return float(wp.get_event_elapsed_time(begin, end)) if self._is_cuda else (end - begin) * 1e3

        found: dict[str, float] = {}
        for stage, begin, end in self._marks:
            found[stage] = found.get(stage, 0.0) + between(begin, end)
        found["all"] = between(self._marks[0][1], self._marks[-1][2])
        return found


def measure(name: str, n: int, dtype: str, sort: bool, record: Record, setting: Setting) -> None:
    """One scene."""
    wp = warp()
    boxes = make_scene(name, n, dtype=dtype)
    given = put(boxes, "warp", setting)
    call = partial(gpu.pairs, given, sort=sort)
    pairs = len(taken(call()))
    clock = Clock(setting)
    bandwidth = clock.bandwidth((1 << 22) if setting.quick else (1 << 30))
    marks = Marks(setting)
    with wp.ScopedDevice(setting.device):
        runs = [marks.run(call) for _ in range(3 if setting.quick else 30)][1:]
        alone = clock.times({"": call}, 0.02 if setting.quick else 0.5)[""].milliseconds
    work = f"{n:,} boxes, {name}, {dtype}{', sorted' * sort}, {pairs:,} pairs"
    stages = dict.fromkeys(stage for run in runs for stage in run)
    for stage in [*(one for one in stages if one != "all"), "all"]:
        milliseconds = statistics.median(run.get(stage, 0.0) for run in runs)
        moved = least_bytes(stage, n, pairs, boxes.itemsize * 3, marks.bits.get(stage, 64))
        share = None
        if moved is not None and milliseconds:
            share = moved / (milliseconds * 1e-3) / bandwidth
        record.row(TABLE, work=work, stage=stage, ms=milliseconds, MB=None if moved is None else moved / 1e6,
                   **{"of the bandwidth": share})  # fmt: skip
    record.row(TABLE, work=work, stage="a call by itself", ms=alone)
    record.row(TABLE, work=work, stage=f"copying: {bandwidth / 1e9:,.0f} GB/s, read and written")
