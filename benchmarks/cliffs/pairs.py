"""Pairs of scenes off the road: many scales, far and huge boxes, crowds, long boxes; and what threads gain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.climb import UNIFORM
from benchmarks.measuring import argsort_call, median_times
from benchmarks.rows import Row, in_t, ratio
from benchmarks.tables import grouped
from broadphase.testing import SCENES, make_scene

Call = Callable[[], Any]

ORDINARY = {("uniform", 10_000): 3.2, ("uniform", 100_000): 2.3, ("uniform", 1_000_000): 2.0, ("sticks", 100_000): 5.0}
CLUSTERS = 4.5  # T, clusters of mixed density

# Of "auto" and of the grid by name, per box and pair, against the uniform scene; float64, or float32 where it says so.
# Of scenes whose boxes meet along each axis, or whose sizes span so many decades that neither cells nor a sweep keep
# them apart; the worst that `make climb` found, of "auto".
HARDEST = 8.0
UNEVEN = {
    "log_distances": (4.0, 10.0),
    "nested_decades": (5.0, 10.0),
    "log_clusters": (4.0, 10.0),
    "log_axes": (4.0, 10.0),
    "dense_spot": (4.0, 10.0),
    "far_clusters": (4.0, 10.0),
    "far_share": (3.0, 3.0),
    "huge_share": (4.0, 10.0),
    "infinite": (4.0, 10.0),
    "woven": (4.0, 10.0),
    "frames": (HARDEST, None),
    "spread_1d": (4.0, 10.0),
    "huge_tiny": (HARDEST, None),
    "unlike_clusters": (4.0, None),
    "unlike_clusters_4d": (4.0, None),
}
FEW = 1, 30, 500, 5_000
FEW_TO_MANY = 0.35


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows of ordinary scenes, of uneven ones, and of two threads."""
    yield from ordinary_rows(pace)
    yield from uneven_rows(pace)
    yield from climbed_rows(pace)
    yield from tiny_rows(pace)
    yield from few_rows(pace)
    yield from chunk_rows(pace)
    yield from thread_rows(pace)


def ordinary_rows(pace: float) -> Iterator[Row]:
    """Compare scenes of the road with T at the same number of boxes."""
    for (name, n), target in ORDINARY.items():
        calls: dict[str, Call] = {"sort": argsort_call(n), "pairs": partial(bp.pairs, make_scene(name, n))}
        times = median_times(calls, budget=3 * pace)
        yield in_t(f"pairs of {name} {grouped(n)}", times["pairs"], times["sort"], target)
    calls = {"sort": argsort_call(100_000), "pairs": partial(bp.pairs, clusters_of_mixed_density(100_000))}
    times = median_times(calls, budget=3 * pace)
    yield in_t("pairs of clusters of mixed density 100,000", times["pairs"], times["sort"], CLUSTERS)


def clusters_of_mixed_density(n: int) -> np.ndarray:
    """Make cubes in 50 clusters whose widths differ by a thousand times, with sizes in proportion to the width."""
    rng = np.random.default_rng(11)
    chosen, widths = rng.integers(0, 50, n), 0.5 * 10.0 ** rng.uniform(-3, 0, 50)
    centers = 10.0 * rng.random((50, 3))[chosen] + widths[chosen, None] * rng.normal(size=(n, 3))
    halves = 0.75 * widths[chosen, None] * (200 / n) ** (1 / 3)
    return np.stack([centers - halves, centers + halves], axis=1).astype(np.float32)


def uneven_rows(pace: float) -> Iterator[Row]:
    """Compare scenes off the road with the uniform one, per box and pair."""
    for n in (20_000,) if pace < 1 else (20_000, 100_000):
        scenes = {name: make_scene(name, n, dtype=np.float64) for name in ("uniform", *UNEVEN)}
        works = {name: n + bp.count_pairs(boxes) for name, boxes in scenes.items()}
        calls = {(name, "auto"): partial(bp.pairs, boxes) for name, boxes in scenes.items()}
        calls |= {
            (name, "grid"): partial(bp.pairs, scenes[name], method="grid")
            for name, (_, target) in UNEVEN.items()
            if target is not None
        }
        times = median_times({" ".join(key): call for key, call in calls.items()}, budget=25 * pace)
        base = times["uniform auto"].milliseconds / works["uniform"]
        for name, targets in UNEVEN.items():
            for method, target in zip(("auto", "grid"), targets, strict=True):
                if target is None:
                    continue
                timing = times[f"{name} {method}"]
                value = timing.milliseconds / works[name] / base
                what = f"per box and pair, {method}: {name} {grouped(n)}"
                note = f"{grouped(works[name] - n)} pairs"
                yield Row(what, value, "× uniform", target, False, timing.milliseconds, None, note)


def climbed_rows(pace: float) -> Iterator[Row]:
    """Compare the worst scenes of the climb with the uniform one of as many axes, per box and pair; float64."""
    n = 20_000
    worst = [name for name in SCENES if name.startswith("worst_")]
    scenes = {name: make_scene(name, n, dtype=np.float64) for name in (*UNIFORM.values(), *worst)}
    works = {name: n + bp.count_pairs(boxes) for name, boxes in scenes.items()}
    times = median_times({name: partial(bp.pairs, boxes) for name, boxes in scenes.items()}, budget=5 * pace)
    for name in worst:
        base = UNIFORM[SCENES[name].dim]
        value = times[name].milliseconds / works[name] * works[base] / times[base].milliseconds
        note = f"{grouped(works[name] - n)} pairs"
        yield Row(
            f"per box and pair, auto: {name} {grouped(n)}",
            value,
            f"× {base}",
            HARDEST,
            False,
            times[name].milliseconds,
            None,
            note,
        )


def tiny_rows(pace: float) -> Iterator[Row]:
    """Compare boxes near the smallest number of their type with the same boxes in the unit cube."""
    for dim in (2, 3, 4):
        for dtype, scale in (("float64", 1e-305), ("float64", 1e-310), ("float32", 1e-37)):
            plain = make_scene("uniform" if dim == 3 else f"uniform_{dim}d", 100_000, dtype=dtype)
            tiny = (plain / plain.max() * np.float64(scale)).astype(dtype)
            calls: dict[str, Call] = {"tiny": partial(bp.pairs, tiny), "plain": partial(bp.pairs, plain)}
            times = median_times(calls, budget=pace)
            yield ratio(f"pairs of 100,000 boxes of {scale:g} in {dim}D, {dtype}", times["tiny"], times["plain"], 3.0)


def few_rows(pace: float) -> Iterator[Row]:
    """Compare pairs of a few boxes and many, whichever comes first, with those of the many."""
    n = 1_000_000 if pace >= 1 else 200_000
    for dim, dtype in product((2, 3), ("float32", "float64")):
        name = "uniform" if dim == 3 else "uniform_2d"
        many, others = (make_scene(name, n, seed=seed, dtype=dtype) for seed in (0, 1))
        calls: dict[str, Call] = {"many": partial(bp.pairs, many)}
        for k in FEW:
            calls[f"{k}, many"] = partial(bp.pairs, others[:: n // k][:k], many)
            calls[f"many, {k}"] = partial(bp.pairs, many, others[:: n // k][:k])
        times = median_times(calls, budget=5 * pace)
        for k in FEW:
            slower = max(times[f"{k}, many"], times[f"many, {k}"], key=lambda timing: timing.milliseconds)
            what = f"pairs of {grouped(k)} and {grouped(n)} boxes / pairs of the latter, {dim}D, {dtype}"
            yield ratio(what, slower, times["many"], FEW_TO_MANY)


def chunk_rows(pace: float) -> Iterator[Row]:
    """Compare chunks of one pair, and of all, with a loop over the pairs, and with all of them.

    A chunk of one pair is an array that NumPy makes, as is each row that a loop over an array gives: the least that
    an array costs in Python, several times the search for a pair.
    """
    boxes = make_scene("uniform", 50_000)
    calls: dict[str, Call] = {
        "by one": lambda: sum(len(chunk) for chunk in bp.iter_pairs(boxes, chunk=1)),
        "loop": lambda: sum(len(chunk) for chunk in bp.pairs(boxes)[:, np.newaxis]),
        "rows": lambda: sum(len(pair) for pair in bp.pairs(boxes)),
        "by many": lambda: sum(len(chunk) for chunk in bp.iter_pairs(boxes)),
        "all": partial(bp.pairs, boxes),
    }
    times = median_times(calls, budget=3 * pace)
    yield ratio("iter_pairs(chunk=1) / a loop over the rows of pairs", times["by one"], times["loop"], 1.5)
    yield ratio("iter_pairs(chunk=1) / a bare loop over pairs", times["by one"], times["rows"], 1.5)
    yield ratio("iter_pairs / pairs", times["by many"], times["all"], 3.0)


def thread_rows(pace: float) -> Iterator[Row]:
    """Compare two threads with one."""
    n = 10_000_000 if pace >= 1 else 2_000_000
    boxes = make_scene("uniform", n)
    calls = {"one": partial(bp.pairs, boxes), "two": partial(bp.pairs, boxes, workers=2)}
    times = median_times(calls, budget=15 * pace)
    one, two = times["one"].milliseconds, times["two"].milliseconds
    yield Row(f"pairs(workers=2), uniform {grouped(n)}", one / two, "×", 1.6, True, two, one)
