"""Non-maximum suppression of scattered boxes, of clusters and of crowds, beside a plain greedy loop in C++."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np

import broadphase as bp
from benchmarks.measuring import argsort_call, median_times
from benchmarks.rows import Row, in_t, ratio

# What `torchvision.ops.nms` does on the CPU: each box that is kept is compared with all that follow it.
_GREEDY = """
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>
extern "C" std::int64_t greedy(const float* boxes, const float* scores, std::int64_t count, double threshold,
                               std::int64_t* rows) {
  std::vector<std::int64_t> order(count);
  std::vector<float> areas(count);
  std::vector<char> gone(count, 0);
  for (std::int64_t k = 0; k < count; ++k)
    areas[k] = (boxes[4 * k + 2] - boxes[4 * k]) * (boxes[4 * k + 3] - boxes[4 * k + 1]);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
  std::int64_t kept = 0;
  for (std::int64_t a = 0; a < count; ++a) {
    const std::int64_t i = order[a];
    if (gone[i]) continue;
    rows[kept++] = i;
    const float* p = boxes + 4 * i;
    for (std::int64_t b = a + 1; b < count; ++b) {
      const std::int64_t j = order[b];
      if (gone[j]) continue;
      const float* q = boxes + 4 * j;
      const float width = std::max(0.0f, std::min(p[2], q[2]) - std::max(p[0], q[0]));
      const float height = std::max(0.0f, std::min(p[3], q[3]) - std::max(p[1], q[1]));
      const float common = width * height;
      if (common / (areas[i] + areas[j] - common) > threshold) gone[j] = 1;
    }
  }
  return kept;
}
"""


def rows(pace: float) -> Iterator[Row]:
    """Measure the time of scattered boxes, that of few and of crowds beside the loop, and the memory of a crowd."""
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
    yield Row("nms of 33,000 boxes on one spot, beside the core's memory", peak, "bytes a box", 500.0)

    few = _drawn(random, "clusters", 10)
    found = median_times({"nms": lambda: [bp.nms(*few, 0.5) for _ in range(100)]}, budget=pace)
    yield Row("nms of 10 boxes", found["nms"].milliseconds * 10, "µs", 5.0)

    yield from image_rows(pace)
    yield from unsuppressed_rows(pace)
    yield from slab_rows(pace)
    try:
        greedy = plain_greedy()
    except ImportError:
        return
    scenes = (("clusters", 100), ("clusters", 1000), ("clusters", 5000), ("one spot", 1000), ("crowd", 20_000))
    for name, count in scenes:
        given = _drawn(random, name, count)
        for threshold in (0.5, 0.9):
            ours, loop = partial(bp.nms, *given, threshold), partial(greedy, *given, threshold)
            assert ours().tolist() == loop().tolist()
            found = median_times({"ours": ours, "loop": loop}, budget=pace)
            what = f"nms of {count:,} boxes, {name}, at {threshold}, of a greedy loop's time"
            yield ratio(what, found["ours"], found["loop"], 1.1)


def image_rows(pace: float) -> Iterator[Row]:
    """Compare images and classes at once with a plain greedy loop over each class, in NumPy."""
    random = np.random.default_rng(4)
    images, count, classes = 64, 1000, 80
    boxes = np.stack([_drawn(random, "clusters", count)[0] for _ in range(images)])
    scores = random.random((images, count, classes), np.float32) ** 40  # most classes are not seen

    def by_loop() -> list[list[int]]:
        found = []
        for own, of in zip(boxes[:2], scores[:2], strict=True):
            area = (own[:, 2] - own[:, 0]) * (own[:, 3] - own[:, 1])
            for label in range(classes):
                rest = np.flatnonzero(of[:, label] > np.float32(0.05))
                rest = rest[np.argsort(-of[rest, label], kind="stable")]
                while len(rest):
                    row, rest = rest[0], rest[1:]
                    found.append([label, int(row)])
                    sides = np.minimum(own[row, 2:], own[rest, 2:]) - np.maximum(own[row, :2], own[rest, :2])
                    common = np.maximum(sides, 0).prod(axis=1)
                    rest = rest[common / (area[row] + area[rest] - common) <= 0.5]
        return found

    ours = partial(bp.nms, boxes, scores, 0.5, score_threshold=0.05)
    given = ours()
    assert sorted(map(tuple, given[given[:, 0] < 2, 1:].tolist())) == sorted(map(tuple, by_loop()))
    found = median_times({"ours": ours, "two images": by_loop}, budget=3 * pace)
    what = f"nms of {images} images, {count:,} boxes, {classes} classes, of the time of a loop in NumPy"
    yield ratio(what, found["ours"], found["two images"], 0.1, 2 / images)


def unsuppressed_rows(pace: float) -> Iterator[Row]:
    """Compare equal and nearly equal boxes, of which none excludes another, with scattered ones."""
    random, count = np.random.default_rng(2), 20_000
    scores, scattered = random.random(count), 1400 * random.random((count, 2))
    scenes = {
        "scattered": (scattered, 0.5),
        "equal": (np.zeros((count, 2)), 1.0),
        "nearly equal": (scattered / 1400, 0.999),
    }
    calls = {
        name: partial(bp.nms, np.concatenate([low, low + 10], axis=1), scores, threshold)
        for name, (low, threshold) in scenes.items()
    }
    found = median_times(calls, budget=2 * pace)
    for name in ("equal", "nearly equal"):
        what = f"nms of {count:,} {name} boxes at {scenes[name][1]}, of the time of scattered ones"
        yield ratio(what, found[name], found["scattered"], 3.0)


def slab_rows(pace: float) -> Iterator[Row]:
    """Compare soft_nms of long thin boxes that cross with that of even ones, per box and pair."""
    random, count = np.random.default_rng(3), 20_000
    scores, middle, side = random.random(count), random.random((count, 2)), 0.25 * (8 / count) ** 0.5
    sizes = np.full((2, count, 2), side)
    sizes[1] *= np.where(random.integers(0, 2, (count, 1)) == np.arange(2), 4.0, 0.002)
    even, slabs = (np.concatenate([middle - size, middle + size], axis=1) for size in sizes)
    found = median_times(
        {"slabs": lambda: bp.soft_nms(slabs, scores), "even": lambda: bp.soft_nms(even, scores)}, budget=2 * pace
    )
    work = [count + bp.count_pairs(boxes) for boxes in (even, slabs)]
    what = f"soft_nms of {count:,} slabs, of the time of even boxes, per box and pair"
    yield ratio(what, found["slabs"], found["even"], 3.0, work[0] / work[1])


def _drawn(random: np.random.Generator, name: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw float32 boxes and scores, as a detector proposes them."""
    center, sides = random.random((count, 2)) * 300, random.uniform(20, 80, (count, 2))
    if name == "clusters":
        objects = random.integers(0, max(count // 20, 1), count)
        center = random.random((count, 2))[objects] * 800 + random.normal(0, 6, center.shape)
        sides = random.uniform(20, 150, sides.shape)[objects] * random.uniform(0.85, 1.15, sides.shape)
    elif name == "one spot":
        center, sides = center / 33, np.full_like(sides, 50.0)
    boxes = np.concatenate([center - sides / 2, center + sides / 2], axis=1).astype(np.float32)
    return boxes, random.random(count).astype(np.float32)


@cache
def plain_greedy() -> Callable[..., np.ndarray]:
    """Compile the loop.

    Returns
    -------
    callable
        Of float32 boxes, scores and a threshold; gives the rows that are kept.

    Raises
    ------
    ImportError
        There is no compiler.
    """
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        raise ImportError("the plain greedy loop needs a C++ compiler")
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "greedy.cpp", Path(folder) / "greedy.so"
        source.write_text(_GREEDY, encoding="utf-8")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        compiled = ctypes.CDLL(str(library)).greedy
    compiled.restype = ctypes.c_int64

    def greedy(boxes: np.ndarray, scores: np.ndarray, threshold: float) -> np.ndarray:
        kept = np.empty(len(boxes), np.int64)
        arrays = (array.ctypes.data_as(ctypes.c_void_p) for array in (boxes, scores))
        count = compiled(
            *arrays, ctypes.c_int64(len(boxes)), ctypes.c_double(threshold), kept.ctypes.data_as(ctypes.c_void_p)
        )
        return kept[:count]

    return greedy
