"""What the methods spend besides time: how many boxes they compare, and the memory of their cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import broadphase as bp
from broadphase.testing import make_scene

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["Work", "measure_work"]

WITHOUT_ANY_SAVING = "brute_force"
MOST_SECONDS = 5.0  # a method that may take longer with so many boxes, by what it took with fewer, is left out


@dataclass(frozen=True, slots=True)
class Work:
    """What one method spent on one scene, to find all pairs.

    Attributes
    ----------
    scene, method, title : str
        What was done, and by whom.
    box_count, dimension : int
        On what.
    tests : int
        Comparisons of two boxes.
    brute_force_tests : int
        Those that comparing all against all takes.
    bytes_by_level : tuple of int
        Of the cells of each level; empty for a method that does not say.
    """

    scene: str
    method: str
    title: str
    box_count: int
    dimension: int
    tests: int
    brute_force_tests: int
    bytes_by_level: tuple[int, ...] = ()


def measure_work(
    scenes: Iterable[str], sizes: Sequence[int], *, dtype: DTypeLike = "float32", seed: int = 7
) -> list[Work]:
    """Find all pairs of standard scenes with every index, and note what its `stats` say.

    Parameters
    ----------
    scenes : iterable of str
        Names of standard scenes.
    sizes : sequence of int
        Numbers of boxes.
    dtype : data type
        float32 or float64.
    seed : int
        Of the scenes.

    Returns
    -------
    list of Work
        Scene by scene, size by size; the methods in the order of the registry, but for those that would take long.

    Examples
    --------
    >>> [work] = [work for work in measure_work(["rects"], [500]) if work.method == "bvh"]
    >>> work.brute_force_tests, work.tests < work.brute_force_tests / 5
    (124750, True)
    """
    found = []
    for scene in scenes:
        seconds: dict[str, float] = {}
        before = 1
        for size in sorted(sizes):
            boxes = make_scene(scene, size, seed=seed, dtype=dtype)
            dimension = boxes.shape[2]
            for row in bp.METHODS:
                if not row.index_class or row.name == WITHOUT_ANY_SAVING or dimension not in row.dimensions:
                    continue
                if seconds.get(row.name, 0.0) * (size / before) ** 2 > MOST_SECONDS:
                    continue
                begin = perf_counter()
                index: bp.BoxIndex = getattr(bp, row.index_class)(boxes)
                index.count_pairs()
                stats = index.stats()
                levels = tuple(stats.get("bytes_by_level", ()))
                counts = size, dimension, int(stats["tests"]), int(stats["brute_force_tests"])
                found.append(Work(scene, row.name, row.title, *counts, levels))
                seconds[row.name] = perf_counter() - begin
            before = size
    return found
