"""Non-maximum suppression: boxes that overlap few others, and a crowd on one spot."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np

import broadphase as bp
from benchmarks.measuring import argsort_call, median_times
from benchmarks.rows import Row, in_t


def rows(pace: float) -> Iterator[Row]:
    """Measure the time of scattered boxes, and the memory of a crowd."""
    random = np.random.default_rng(1)
    low = random.random((100_000, 2)) * 3000
    boxes = np.concatenate([low, low + random.uniform(5, 30, low.shape)], axis=1)
    scores = random.random(len(boxes))
    calls = {"T": argsort_call(100_000), "nms": lambda: bp.nms(boxes, scores, 0.5)}
    found = median_times(calls, budget=3 * pace)
    yield in_t("nms of 10⁵ scattered boxes", found["nms"], found["T"], 20.0)

    low = 9 * random.random((33_000, 2))
    crowd, scores = np.concatenate([low, low + 50], axis=1), random.random(len(low))
    tracemalloc.start()
    bp.nms(crowd, scores, 0.5)
    peak = tracemalloc.get_traced_memory()[1] / len(crowd)
    tracemalloc.stop()
    yield Row("nms of 33,000 boxes on one spot, beside the core's pairs", peak, "bytes a box", 500.0)
