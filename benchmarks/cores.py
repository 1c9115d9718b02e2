"""Measure which share of each call one thread does alone, and what 1, 2, 4 ... threads take.

With two threads, the CPU time of the calling thread less that of the other, over both, is what the caller did while the
other had nothing to do. What 16 threads can gain at most follows by Amdahl's law. Where other programs keep both cores
busy, the second thread comes late and the caller does its work: of several runs, the lower quartile counts.

    python -m benchmarks.cores                    # three minutes on two cores
    python -m benchmarks.cores --only world nms   # calls with one of these words in their name
    python -m benchmarks.cores --quick            # a fifth of the boxes
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import describe_machine, load, timed
from benchmarks.rows import Row
from benchmarks.tables import duration, grouped, show_table
from broadphase.testing import make_scene

CORES = 16  # for the gain at best
RUNS = 11

Work = Callable[[int], Any]  # of a number of workers


@dataclass(frozen=True, slots=True)
class Case:
    """A call, by name, what makes it from a share of its usual size, and how much of it may stay on one thread."""

    name: str
    make: Callable[[float], Work]
    share: float


def _boxes(count: int, part: float, **options: Any) -> Any:
    return make_scene("uniform", int(count * part), **options)


def _pairs(count: int = 1_000_000, **options: Any) -> Callable[[float], Work]:
    def make(part: float) -> Work:
        boxes = _boxes(count, part)
        return lambda workers: bp.pairs(boxes, workers=workers, **options)

    return make


def _periodic(part: float) -> Work:
    boxes = _boxes(1_000_000, part)
    period = np.asarray(boxes).reshape(len(boxes), 2, -1)[:, 1].max(axis=0) * 1.01
    return lambda workers: bp.pairs(boxes, period=period, workers=workers)


def _intervals(part: float) -> Work:
    rng = np.random.default_rng(1)
    begins = rng.uniform(0, 1_000_000 * part, int(1_000_000 * part))
    intervals = np.stack([begins, begins + 2], axis=1)[:, :, np.newaxis]
    return lambda workers: bp.pairs(intervals, workers=workers)


def _batches(part: float) -> Work:
    count = int(1_000_000 * part)
    boxes, keys = _boxes(1_000_000, part), np.arange(count) // 1000
    return lambda workers: bp.pairs(boxes, batch=keys, workers=workers)


def _made(kind: type[Any]) -> Callable[[float], Work]:
    def make(part: float) -> Work:
        boxes = _boxes(1_000_000, part)
        one = np.asarray(boxes[:1])
        return lambda workers: kind(boxes, workers=workers).query(one)  # some are built at the first query

    return make


def _asked(query: str, k: int | None = None) -> Callable[[float], Work]:
    """Make a query of 200,000 places or boxes, which is asked once before, so that all it needs is built."""

    def make(part: float) -> Work:
        boxes = np.asarray(_boxes(1_000_000, part)).reshape(-1, 2, 3)
        index = bp.BVH(boxes)
        some = boxes[::5]
        given: tuple[Any, ...] = (some,)
        if query == "query_ball":
            given = (some.mean(axis=1), float(np.median(some[:, 1] - some[:, 0])))
        elif query == "nearest":
            given = (some.mean(axis=1), k)
        elif query == "raycast":
            given = (some.mean(axis=1), np.random.default_rng(2).normal(size=(len(some), 3)))
        ask = getattr(index, query)
        ask(*given)
        return lambda workers: ask(*given, workers=workers)

    return make


def _neighbors(*, periodic: bool) -> Callable[[float], Work]:
    def make(part: float) -> Work:
        count = int(300_000 * part)
        side = (count / 10) ** (1 / 3)
        points = np.random.default_rng(3).uniform(0, side, (count, 3))
        cell = np.eye(3) * side if periodic else None
        return lambda workers: bp.neighbors(points, 1.0, cell=cell, workers=workers)

    return make


def _step(part: float) -> Work:
    count = int(150_000 * part)
    rng = np.random.default_rng(4)
    side = count ** (1 / 3) * 2
    worlds: dict[int, bp.World] = {}

    def work(workers: int) -> Any:
        if workers not in worlds:
            worlds[workers] = world = bp.World(dim=3, workers=workers)
            velocities = rng.normal(0, 0.5, (count, 3))
            world.add_many(bp.Sphere(0.6), rng.uniform(0, side, (count, 3)), velocities=velocities)
        return worlds[workers].step(0.01)

    return work


def _nms(part: float) -> Work:
    count = int(60_000 * part)
    rng = np.random.default_rng(5)
    lower = rng.uniform(0, 2000, (count, 2))
    boxes = np.concatenate([lower, lower + rng.uniform(10, 60, (count, 2))], axis=1).astype(np.float32)
    scores = rng.random(count)
    return lambda workers: bp.nms(boxes, scores, 0.5, workers=workers)


def _few_many(part: float) -> Work:
    many, few = _boxes(1_000_000, part), _boxes(5_000, 1.0)
    return lambda workers: bp.pairs(few, many, workers=workers)


def _joined(part: float) -> Work:
    rng = np.random.default_rng(6)
    count = int(1_000_000 * part)
    begins = rng.uniform(0, count, (2, count))
    left, right = ({"begin": column, "end": column + 1} for column in begins)
    pandas = load("pandas")
    tables = pandas.DataFrame(left), pandas.DataFrame(right)
    return lambda workers: bp.join(*tables, lower="begin", upper="end", workers=workers)


def _sets(function: str) -> Callable[[float], Work]:
    def make(part: float) -> Work:
        rng = np.random.default_rng(7)
        count = int(1_000_000 * part)
        sets = [
            begin + np.stack((np.zeros(count), rng.uniform(0, 2, count)), 1)
            for begin in (rng.uniform(0, 2 * count, (count, 1)) for _ in range(2))
        ]
        call = getattr(bp.intervals, function)
        given = sets[:1] if function in ("merge", "cluster") else sets
        return lambda workers: call(*given, workers=workers)

    return make


CASES = (
    Case("pairs", _pairs(), 0.03),
    Case("pairs, grid", _pairs(method="grid"), 0.03),
    Case("pairs, sweep_and_prune", _pairs(300_000, method="sweep_and_prune"), 0.05),
    Case("pairs, bvh", _pairs(method="bvh"), 0.05),
    Case("pairs, octree", _pairs(300_000, method="octree"), 0.05),
    Case("pairs, linear_tree", _pairs(300_000, method="linear_tree"), 0.05),
    Case("pairs of intervals", _intervals, 0.05),
    Case("pairs, sort=True", _pairs(sort=True), 0.05),
    Case("pairs, period=", _periodic, 0.05),
    Case("pairs, batch=, 1,000 each", _batches, 0.11),
    Case("pairs of 5,000 and many", _few_many, 0.05),
    Case("join of intervals", _joined, 0.05),
    Case("intervals.merge", _sets("merge"), 0.10),
    Case("intervals.cluster", _sets("cluster"), 0.10),
    Case("intervals.coverage", _sets("coverage"), 0.10),
    Case("intervals.subtract", _sets("subtract"), 0.10),
    Case("BVH made", _made(bp.BVH), 0.06),
    Case("Index made", _made(bp.Index), 0.06),
    Case("Octree made", _made(bp.Octree), 0.06),
    Case("LinearTree made", _made(bp.LinearTree), 0.06),
    Case("Grid made", _made(bp.Grid), 0.06),
    Case("SweepAndPrune made", _made(bp.SweepAndPrune), 0.06),
    Case("BVH.query", _asked("query"), 0.05),
    Case("BVH.query_ball", _asked("query_ball"), 0.05),
    Case("BVH.nearest, k=8", _asked("nearest", k=8), 0.05),
    Case("BVH.raycast", _asked("raycast"), 0.05),
    Case("neighbors, 40 each", _neighbors(periodic=False), 0.06),
    Case("neighbors, periodic, 40 each", _neighbors(periodic=True), 0.06),
    Case("World.step, 150,000 balls", _step, 0.08),
    Case("nms, one class", _nms, 0.20),
)


def serial_share(work: Work, runs: int = RUNS) -> float:
    """Return which share of the CPU time of a call is that of one thread alone: the lower quartile of runs."""
    work(2)
    shares = []
    for _ in range(runs):
        here, all_threads = time.thread_time(), time.process_time()
        work(2)
        here, all_threads = time.thread_time() - here, time.process_time() - all_threads
        shares.append(max(0.0, 2 * here - all_threads) / max(all_threads, 1e-9))
    return statistics.quantiles(shares, n=4)[0]


def best_gain(share: float) -> float:
    """Return how many times as fast `CORES` threads can be as one."""
    return 1 / (share + (1 - share) / CORES)


def rows(pace: float) -> Iterator[Row]:
    """Measure each call, at a size and a number of runs by `pace`."""
    for case in CASES:
        share = serial_share(case.make(min(1.0, max(0.2, pace))), max(3, round(RUNS * pace)))
        note = f"{CORES} cores gain at most {best_gain(share):.1f}"
        yield Row(f"on one thread of two: {case.name}", 100 * share, "%", 100 * case.share, note=note)


def _line(case: Case, part: float, numbers: Sequence[int]) -> list[str]:
    """Return the cells of a call: its share, and its times with so many threads each."""
    work = case.make(part)
    share = serial_share(work)
    times = {count: min(timed(partial(work, count))[0] for _ in range(RUNS)) for count in numbers}
    gains = [f"{times[1] / times[count]:.2f} ×" for count in numbers[1:]]
    verdict = "met" if share <= case.share else "MISSED"
    limit = f"≤ {100 * case.share:g} %"
    return [
        case.name,
        f"{100 * share:.1f} %",
        limit,
        verdict,
        f"{best_gain(share):.1f} ×",
        duration(times[1] * 1e3),
        *gains,
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a fifth of the boxes")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="calls with one of these in their name")
    chosen = parser.parse_args(arguments)
    cores = os.cpu_count() or 1
    numbers = sorted({1 << power for power in range(cores.bit_length())} | {cores})
    cases = [case for case in CASES if not chosen.only or any(word in case.name for word in chosen.only)]
    lines = [_line(case, 0.2 if chosen.quick else 1.0, numbers) for case in cases]
    columns = ["call", "on one thread", "target", "", f"{CORES} cores gain", "one thread"]
    machine = describe_machine()
    show_table([*columns, *(f"{grouped(n)} threads" for n in numbers[1:])], lines, f"Cores: {machine['processor']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
