"""Search for scenes on which `bp.pairs` falls: climb over what a scene is made of, towards the dearest box and pair.

A scene is a point in a space of a few numbers: axes, clusters, how far their widths and places spread over scales, how
unlike the sizes are, how unlike the axes. From random points, changes that make a box and a pair dearer are kept.
Costs are against the uniform scene of as many boxes, measured in turn with it. The dearest scenes are listed; one that
teaches something new belongs into `broadphase.testing.SCENES`.

    python -m benchmarks.climb                    # a minute
    python -m benchmarks.climb --seconds 600 --boxes 50000 --seed 3 --method grid
"""

from __future__ import annotations

import argparse
import time
from dataclasses import astuple, dataclass, fields, replace
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.tables import show_table
from broadphase.testing import make_scene

TOO_SLOW = 2.0  # seconds for one call: the climb from there ends
MOST_PAIRS = 30  # for each box; where there are more, they are most of the time


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a scene is made of. Spreads are powers of ten between the 5 % smallest and the 5 % largest."""

    dim: int
    clusters: int  # 1: none
    width_spread: float  # of the widths of clusters
    place_spread: float  # of the distances of clusters from the origin
    size_spread: float  # of the sizes of boxes in one cluster
    axis_spread: float  # of the sizes along the axes of one box, each box in an order of its own if `shuffled`
    shuffled: bool
    sizes_by_width: bool  # sizes in proportion to the width of the cluster
    overlaps: float  # wanted for each box, roughly

    def boxes(self, n: int, seed: int) -> np.ndarray:
        """Make the scene."""
        rng = np.random.default_rng(seed)
        chosen = rng.integers(0, self.clusters, n)
        widths = 10.0 ** (self.width_spread * rng.uniform(-0.5, 0.5, self.clusters))[chosen, None]
        places = rng.uniform(-1, 1, (self.clusters, self.dim)) * 3.0 * self.clusters ** (1 / self.dim)
        places *= 10.0 ** (self.place_spread * rng.uniform(-0.5, 0.5, (self.clusters, 1)))
        centers = places[chosen] + widths * rng.uniform(-0.5, 0.5, (n, self.dim))
        halves = np.exp(0.7 * self.size_spread * rng.normal(size=(n, 1))) * np.ones(self.dim)
        order = np.argsort(rng.random((n, self.dim)), axis=1) if self.shuffled else np.arange(self.dim)
        halves = halves * 10.0 ** (self.axis_spread * (order / max(1, self.dim - 1) - 0.5))
        halves *= widths if self.sizes_by_width else np.median(widths)
        # By the mean volume that two boxes meet in, in a cluster of the middle size.
        meeting = np.mean(np.prod(4 * halves / (widths if self.sizes_by_width else np.median(widths)), axis=1))
        halves *= (self.overlaps / (meeting * n / self.clusters)) ** (1 / self.dim)
        return np.stack([centers - halves, centers + halves], axis=1)

    def changed(self, rng: np.random.Generator) -> Recipe:
        """Return a neighbour: one number changed."""
        name = str(rng.choice([field.name for field in fields(self)]))
        return replace(self, **{name: getattr(random_recipe(rng), name)})


# The dearest that climbs found at 20,000 boxes, each of a kind: measured by the rows of `benchmarks.cliffs.pairs`.
DEAREST = (
    Recipe(1, 11, 0.0, 3.5, 0.7, 1.6, True, False, 0.1),
    Recipe(1, 6, 0.6, 6.2, 0.0, 3.8, True, False, 0.2),
    Recipe(2, 22, 5.0, 2.2, 2.9, 3.7, False, False, 0.1),
    Recipe(2, 117, 0.0, 4.5, 0.8, 1.9, False, False, 0.9),
    Recipe(3, 8, 2.5, 7.1, 1.1, 0.0, False, True, 0.1),
    Recipe(3, 92, 5.4, 4.0, 0.0, 0.0, False, True, 0.2),
    Recipe(3, 44, 5.8, 0.0, 0.3, 0.9, False, True, 0.3),
    Recipe(4, 364, 1.4, 5.3, 0.0, 2.4, False, True, 0.2),
    Recipe(4, 98, 5.0, 4.7, 2.1, 3.4, True, True, 0.4),
    Recipe(4, 63, 5.2, 5.2, 0.0, 0.0, False, True, 0.3),
)


def random_recipe(rng: np.random.Generator) -> Recipe:
    """Draw a point of the space."""
    return Recipe(
        dim=int(rng.integers(1, 5)),
        clusters=int(10 ** rng.uniform(0, 3.5)),
        width_spread=round(rng.choice([0.0, rng.uniform(0, 6)]), 1),
        place_spread=round(rng.choice([0.0, rng.uniform(0, 9)]), 1),
        size_spread=round(rng.choice([0.0, rng.uniform(0, 3)]), 1),
        axis_spread=round(rng.choice([0.0, rng.uniform(0, 4)]), 1),
        shuffled=bool(rng.random() < 0.5),
        sizes_by_width=bool(rng.random() < 0.5),
        overlaps=round(10 ** rng.uniform(-1, 1), 1),
    )


def seconds_of(boxes: Any, method: Any) -> tuple[float, int]:
    """Time some calls and return the quickest, with the number of pairs."""
    quickest, spent, pairs = np.inf, 0.0, 0
    for _ in range(5):
        start = time.perf_counter()
        pairs = len(bp.pairs(boxes, method=method, max_pairs=MOST_PAIRS * len(boxes)))
        taken = time.perf_counter() - start
        quickest, spent = min(quickest, taken), spent + taken
        if spent > TOO_SLOW:
            break
    return quickest, pairs


def cost_of(recipe: Recipe, n: int, method: Any) -> float:
    """Measure what a box and a pair cost, in those of the uniform scene; 0 where there are too many pairs."""
    boxes = recipe.boxes(n, 1)
    if not np.isfinite(boxes).all():
        return 0.0
    try:
        seconds, pairs = seconds_of(boxes, method)
    except bp.TooManyPairsError:
        return 0.0
    base, base_pairs = seconds_of(make_scene("uniform", n, dtype=np.float64), method)
    return (seconds / (n + pairs)) / (base / (n + base_pairs))


def climb(n: int, seconds: float, seed: int, method: Any) -> dict[Recipe, float]:
    """Climb from random points until the time is over; return the top of each climb."""
    rng = np.random.default_rng(seed)
    end = time.perf_counter() + seconds
    tops: dict[Recipe, float] = {}
    while time.perf_counter() < end:
        best = random_recipe(rng)
        cost = cost_of(best, n, method)
        since = 0
        while since < 12 and time.perf_counter() < end:
            other = best.changed(rng)
            dearer = cost_of(other, n, method)
            since += 1
            if dearer > 1.05 * cost:
                best, cost, since = other, dearer, 0
        tops[best] = cost
    return tops


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--boxes", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--method", default="auto")
    given = parser.parse_args()
    tops = climb(given.boxes, given.seconds, given.seed, given.method)
    worst = sorted(tops.items(), key=lambda item: -item[1])[:10]
    names = [field.name for field in fields(Recipe)]
    show_table(["× uniform", *names], [[f"{cost:.2f}", *map(str, astuple(recipe))] for recipe, cost in worst])


if __name__ == "__main__":
    main()
