"""Rows in the order of a grid, of space or of blocks, and copies behind each other, against the same rows shuffled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import median_times
from benchmarks.rows import Row, ratio
from benchmarks.tables import grouped
from broadphase import _native
from broadphase.testing import make_scene

Call = Callable[[], Any]
Array = np.ndarray[Any, Any]

MOST = 1.5  # × the same rows shuffled, in whatever order they are


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows of `pairs` in each order, and of other calls in the order of a grid."""
    for shape in ((1024, 512), (1024, 1023), (256, 256, 16)):
        yield from pair_rows(grid(*shape), "×".join(map(str, shape)), pace)
    yield from copy_rows(pace)
    yield from misled_rows(pace)
    yield from call_rows(grid(512, 512), "512×512", pace)


def grid(*lengths: int) -> Array:
    """Make cubes, one in each cell of a grid, anywhere in it: rows in C order, float64."""
    corners = np.stack(np.meshgrid(*map(np.arange, lengths), indexing="ij"), axis=-1).reshape(-1, len(lengths))
    centers = corners + np.random.default_rng(0).random(corners.shape)
    return np.stack([centers - 0.4, centers + 0.4], axis=1)


def orders(boxes: Array) -> dict[str, Array]:
    """Return the numbers of rows in each order, by its name."""
    cells = np.floor(boxes.mean(axis=1)).astype(np.int64)
    bits = np.arange(max(1, int(cells.max()).bit_length()))
    spread = (cells[:, :, None] >> bits & 1) << (bits * cells.shape[1])
    z = (spread.sum(axis=2) << np.arange(cells.shape[1])).sum(axis=1)
    return {
        "C": np.arange(len(boxes)),
        "Fortran": np.lexsort(cells.T),
        "Z": np.argsort(z, kind="stable"),
        "sorted by x": np.argsort(boxes[:, 0, 0], kind="stable"),
        "sorted by y": np.argsort(boxes[:, 0, 1], kind="stable"),
        "blocks": np.lexsort([*cells.T[::-1], *(cells.T[::-1] // 32)]),
        "reversed": np.arange(len(boxes))[::-1],
    }


def pair_rows(boxes: Array, name: str, pace: float) -> Iterator[Row]:
    """Compare `pairs` in each order with shuffled rows."""
    shuffled = boxes[np.random.default_rng(1).permutation(len(boxes))]
    calls: dict[str, Call] = {"shuffled": partial(bp.pairs, shuffled)}
    calls |= {order: partial(bp.pairs, boxes[numbers]) for order, numbers in orders(boxes).items()}
    times = median_times(calls, budget=12 * pace)
    for order in orders(boxes):
        yield ratio(f"pairs of a grid {name}, order {order}", times[order], times["shuffled"], MOST)


def copy_rows(pace: float) -> Iterator[Row]:
    """Compare copies of a set behind each other, each a little moved, with the same rows shuffled."""
    for scene, copies in (("tiles", 2), ("uniform", 2), ("uniform", 8)):
        one = make_scene(scene, 500_000 // copies, dtype=np.float64)
        size = np.median(one[:, 1] - one[:, 0])
        boxes = np.concatenate([one + 0.01 * size * k for k in range(copies)])
        shuffled = boxes[np.random.default_rng(1).permutation(len(boxes))]
        calls: dict[str, Call] = {"copies": partial(bp.pairs, boxes), "shuffled": partial(bp.pairs, shuffled)}
        times = median_times(calls, budget=5 * pace)
        what = f"pairs of {copies} copies of {scene}, {grouped(len(boxes))} in all"
        yield ratio(what, times["copies"], times["shuffled"], MOST)
        second = one[np.random.default_rng(1).permutation(len(one))]
        calls = {"beside": partial(bp.pairs, one, one), "shuffled": partial(bp.pairs, one, second)}
        times = median_times(calls, budget=5 * pace)
        what = f"pairs of {scene} {grouped(len(one))} and of its copy"
        yield ratio(what, times["beside"], times["shuffled"], MOST)


def misled_rows(pace: float) -> Iterator[Row]:
    """Compare boxes of which the first sample sees lines, or huge boxes, with the same rows shuffled."""
    rng, n = np.random.default_rng(0), 500_000
    sampled: Any = _native.planned_rows(n)
    lower = rng.random((n, 2))
    boxes = np.stack([lower, lower + 0.5 * (40 / n) ** 0.5], axis=1)
    for name in ("thin lines", "squares of half the scene"):
        misled = boxes.copy()
        misled[sampled] = boxes[sampled] - boxes[sampled, :1]
        misled[sampled] += rng.random((len(sampled), 1, 1)) / 2
        if name == "thin lines":
            misled[sampled, :, 1] = 0, 1
            misled[sampled, 1, 0] = misled[sampled, 0, 0] + 1e-9
        else:
            misled[sampled, 1] = misled[sampled, 0] + 0.5
        shuffled = misled[rng.permutation(n)]
        calls: dict[str, Call] = {
            "misled": partial(bp.count_pairs, misled),
            "shuffled": partial(bp.count_pairs, shuffled),
        }
        times = median_times(calls, budget=4 * pace)
        what = f"count_pairs of {grouped(n)} squares whose first sample sees {name}"
        yield ratio(what, times["misled"], times["shuffled"], 3.0)


def call_rows(boxes: Array, name: str, pace: float) -> Iterator[Row]:
    """Compare other calls on a grid in C order with shuffled rows."""
    rng = np.random.default_rng(1)
    numbers, scores = rng.permutation(len(boxes)), rng.random(len(boxes))
    period = np.floor(boxes.max(axis=(0, 1))) + 2.0
    for what, call in {
        "count_pairs": lambda of, _: bp.count_pairs(of),
        "nms": lambda of, with_scores: bp.nms(of, with_scores, 0.1),
        "pairs, period": lambda of, _: bp.pairs(of, period=period),
        "neighbors": lambda of, _: bp.neighbors(of.mean(axis=1), 0.8),
        "index and pairs": lambda of, _: bp.Index(of).pairs(),
        "index and query": lambda of, _: bp.Index(of).query(of),
        "first step of a world": _first_step,
    }.items():
        calls: dict[str, Call] = {
            "grid": partial(call, boxes, scores),
            "shuffled": partial(call, boxes[numbers], scores[numbers]),
        }
        times = median_times(calls, budget=4 * pace)
        yield ratio(f"{what} of a grid {name}, order C", times["grid"], times["shuffled"], MOST)


def _first_step(boxes: Array, _: Array) -> None:
    world = bp.World(dim=2)
    world.add_many(bp.Circle(0.4), boxes.mean(axis=1))
    world.step(0.0)
