"""Measure what the numbers are worth by which the library chooses between several ways: `make tune`.

python -m benchmarks.tune               # about six minutes
python -m benchmarks.tune --quick       # a third of the scenes

First the numbers by which "auto" chooses a method (`core/choose/costs.hpp`). Every method is timed once on each scene;
then each number is changed, and what "auto" would have chosen is looked up. `new` is the value, of a few around the old
one, with which all scenes together take least, and `gain` how much less that is. `worth` is how many times as long the
scene beside it takes if "auto" does not know the number at all. Then those of `broadphase.thresholds`, on scenes of
their own: `worth` is how many times as long they take together if one way is always taken, the better one.

A number that is worth less than 1.1 on every scene can go.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import median_times, timed
from benchmarks.tables import factor, show_table
from broadphase import _native, thresholds
from broadphase.testing import SCENES, make_scene

SIZES = (30, 100, 200, 300, 500, 1_000, 3_000, 10_000, 100_000)
MOST_QUADRATIC = 3_000  # boxes in a scene whose pairs grow as the square
HOPELESS = 4.0  # a method that is so many times slower than the best so far, on a tenth of the boxes, is taken to be so
FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0)
WORTH = 1.1


@dataclass(frozen=True, slots=True)
class Case:
    """A scene, and what each method took on it, in milliseconds."""

    name: str
    boxes: Any
    milliseconds: dict[str, float]

    def auto(self) -> float:
        """Milliseconds of what "auto" chooses for now."""
        return self.milliseconds[bp.explain(self.boxes).method]


@dataclass(frozen=True, slots=True)
class Row:
    """A number that chooses: its value, a better one and what that gains, and the scene on which it is worth most."""

    name: str
    old: float
    new: float
    gain: float
    worth: float
    scene: str


def cases(scenes: list[str], sizes: tuple[int, ...], budget: float) -> Iterator[Case]:
    """Time the methods that "auto" may choose on each scene."""
    methods: list[Any] = [row.name for row in bp.METHODS]
    for name in scenes:
        for n in sizes:
            if n > MOST_QUADRATIC and SCENES[name].quadratic:
                continue
            for dtype in ("float32", "float64"):
                boxes, few = (make_scene(name, count).astype(dtype) for count in (n, max(30, n // 10)))
                trial = {
                    method: min(timed(partial(bp.pairs, few, method=method))[0] for _ in range(2)) for method in methods
                }
                least = min(trial.values())
                hopeful = [method for method in methods if n < MOST_QUADRATIC or trial[method] <= HOPELESS * least]
                calls: dict[str, Callable[[], Any]] = {one: partial(bp.pairs, boxes, method=one) for one in hopeful}
                times = {one: timing.quickest for one, timing in median_times(calls, budget=budget, least=3).items()}
                slow = HOPELESS * min(times.values())
                yield Case(f"{name} {n:,} {dtype}", boxes, {one: times.get(one, slow) for one in methods})


@contextmanager
def set_to(owner: Any, name: str, value: float) -> Iterator[None]:
    """Set a number, for a while."""
    old = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, old)


def costs_of_auto(measured: list[Case]) -> Iterator[Row]:
    """Change each number by which "auto" chooses."""
    native: Any = _native
    costs = native.auto_costs
    before = [case.auto() for case in measured]
    for name, without in native.without_auto_costs.items():
        old, gains = getattr(costs, name), {}
        for by in FACTORS:
            with set_to(costs, name, old * by):
                now = [case.auto() for case in measured]
            gains[old * by] = math.exp(np.mean([math.log(a / b) for a, b in zip(before, now, strict=True)]))
        with set_to(costs, name, without):
            now = [case.auto() for case in measured]
        new = max(gains, key=lambda value: (gains[value], value == old))
        worth, scene = max((b / a, case.name) for a, b, case in zip(before, now, measured, strict=True))
        yield Row(name, old, new, gains[new], worth, scene)


def thresholds_of_indexes(budget: float) -> Iterator[Row]:
    """Change each number of `broadphase.thresholds` that has scenes here; all values take turns."""
    for name, (make, what) in SCENES_OF_THRESHOLDS.items():
        old = getattr(thresholds, name)
        values = [type(old)(value) for value in (0, *(old * by for by in FACTORS), 1e9)]

        def call(scene: Callable[[], Any], value: float, name: str = name) -> None:
            with set_to(thresholds, name, value):
                scene()

        scenes = make()
        calls = {f"{scene} {value}": partial(call, scenes[scene], value) for scene in scenes for value in values}
        least = {
            key: timing.quickest for key, timing in median_times(calls, budget=len(calls) * budget, least=5).items()
        }
        together = {
            value: math.exp(np.mean([math.log(least[f"{scene} {value}"]) for scene in scenes])) for value in values
        }
        new = min(values[1:-1], key=together.__getitem__)
        always = min(together[values[0]], together[values[-1]])
        yield Row(name, old, new, together[old] / together[new], always / together[old], what)


Calls = dict[str, Callable[[], Any]]


def _queried(kind: Any, shares: tuple[float, ...], *, stale: bool = False) -> Calls:
    boxes = make_scene("uniform", 20_000)
    index = kind(boxes)
    for _ in range(10):  # builds the tree, or the cells
        index.query(boxes[:5])

    def call(asked: Any) -> Any:
        return (kind(boxes) if stale else index).query(asked)

    return {str(share): partial(call, boxes[: int(share * len(boxes))] + np.float32(1e-4)) for share in shares}


def _enlarged() -> Calls:
    boxes = make_scene("clusters", 100_000)

    def call(by: float) -> Any:
        return bp.Index(boxes).query((boxes[:, 0] - np.float32(by), boxes[:, 1] + np.float32(by)))

    return {str(by): partial(call, by) for by in (0.01, 0.02, 0.04)}


def _looked_up() -> Calls:
    boxes = make_scene("uniform", 100_000)
    index = bp.BVH(boxes)
    return {str(n): partial(index.pairs, boxes[:n] + np.float32(1e-3)) for n in (100, 1_000, 50_000)}


def _kept() -> Calls:
    def call(index: Any, boxes: Any, by: Any) -> None:
        for k in range(20):
            index.update(boxes + by * (k % 3))
            index.pairs()

    calls: Calls = {}
    for n in (30, 100, 1_000):
        boxes = make_scene("uniform", n)
        calls[str(n)] = partial(call, bp.Index(boxes), boxes, (boxes[:, 1] - boxes[:, 0]).mean() * np.float32(1e-3))
    return calls


def _suppressed() -> Calls:
    calls: Calls = {}
    for n, scene in ((300, "uniform"), (20_000, "uniform"), (2_000, "clusters")):
        boxes = np.ascontiguousarray(make_scene(scene, n)[:, :, :2])
        scores = np.random.default_rng(1).random(n)
        calls[f"{scene} {n}"] = partial(bp.nms, boxes, scores, 0.5)
    return calls


def _moved() -> Calls:
    world = bp.World(2)
    world.add_many(bp.Circle(1), np.zeros((1_000, 2)))

    def call(rows: Any) -> None:
        for _ in range(100):
            world.move(rows, np.ones((len(rows), 2)))

    return {str(n): partial(call, np.arange(n)) for n in (1, 3, 1_000)}


def _with_margins(*scenes: tuple[float | None, float, float]) -> Calls:
    def call(margin: float | None, radius: float, radius_of_some: float) -> None:
        random = np.random.default_rng(1)
        world = bp.World(2, margin=margin)
        world.add_many(bp.Circle(radius), random.random((20_000, 2)) * 100)
        world.add_many(bp.Circle(radius_of_some), random.random((20, 2)) * 100, velocities=random.normal(size=(20, 2)))
        for _ in range(30):
            world.step(0.02)

    return {str(scene): partial(call, *scene) for scene in scenes}


def _come_and_go() -> Calls:
    def call(count: int, others: int, at_once: int) -> None:
        random, circle = np.random.default_rng(1), bp.Circle(0.3)
        world = bp.World(2)
        world.add_many(circle, random.random((count, 2)) * count**0.5 * 2)
        for _ in range(10):
            for _ in range(0, others, at_once):
                rows = world.add_many(circle, random.random((at_once, 2)))
                if at_once > 1:
                    world.query([[0, 0, 1, 1]])
                world.remove(rows)
            world.query([[0, 0, 1, 1]])

    return {"at once": partial(call, 400, 500, 500), "one by one": partial(call, 100, 3_000, 1)}


def _periodic() -> Calls:
    calls: Calls = {}
    for count, lengths in ((100, (50, 100)), (10_000, (100, 300))):
        random = np.random.default_rng(1)
        world = bp.World(2, bounds=[[0, 0], [10, 10]], boundary="wrap")
        world.add_many(bp.Circle(0.1), random.random((count, 2)) * 10)
        poses = random.random((4, 2)) * 10, random.random(4) * 6
        for length in lengths:
            capsule = bp.Capsule((-length / 2, 0), (length / 2, 0), 0.05)
            calls[f"capsule {length}, {count} bodies"] = partial(world.query_shape, capsule, *poses)
    return {**calls, "rectangle": partial(world.query_shape, bp.Rectangle(300, 8), *poses)}


SCENES_OF_THRESHOLDS: dict[str, tuple[Callable[[], Calls], str]] = {
    "JOINED_SHARE": (partial(_queried, bp.Index, (0.01, 1.0)), "Index.query, 20 000 boxes, a hundredth of them or all"),
    "JOINED_SHARE_WITHOUT_TREE": (
        partial(_queried, bp.Index, (0.005, 0.2, 1.0), stale=True),
        "Index.query, the first, 20 000 boxes",
    ),
    "TOO_MANY_JOINED": (_enlarged, "Index.query, the first, 100 000 boxes in clusters that find 10 to 100 each"),
    "BOXES_FOR_EACH_LOOKED_UP": (_looked_up, "BVH.pairs, 100 000 boxes and 100 to 50 000 others"),
    "BOXES_FOR_EACH_OF_FEW": (partial(_queried, bp.Grid, (0.001, 1.0)), "Grid.query, 20 000 boxes, few of them or all"),
    "FEWEST_KEPT": (_kept, "Index.pairs, 30 to 1,000 boxes that move a little"),
    "FEWEST_WITH_PAIRS": (_suppressed, "nms, 300 to 20 000 boxes"),
    "MOST_PAIRS_EACH": (_suppressed, "nms, 300 to 20 000 boxes"),
    "FEW_NUMBERS": (_moved, "World.move, 1 to 1,000 bodies"),
    "MOST_NEAR_EACH": (
        partial(_with_margins, (5.0, 0.05, 0.1), (20.0, 0.05, 0.1)),
        "World.step, 20 000 bodies with wide margins",
    ),
    "FEWEST_OVERLAPPING": (
        partial(_with_margins, (20.0, 0.3, 0.3), (None, 0.05, 5.0)),
        "World.step, 20 000 bodies with wide margins, or some large ones",
    ),
    "MOST_PENDING": (_come_and_go, "World.query, when bodies have come and gone"),
    "FEW_IMAGES": (_periodic, "World.query_shape, periodic, many periods long"),
    "WORTH_HALVING": (_periodic, "World.query_shape, periodic, many periods long"),
}


def main() -> int:
    """Measure and print; the exit code is 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a third of the scenes, and shorter runs")
    parser.add_argument("--scenes", nargs="+", choices=list(SCENES), help="these scenes (all)")
    chosen = parser.parse_args()
    budget = 0.02 if chosen.quick else 0.1
    scenes = chosen.scenes or list(SCENES)[:: 3 if chosen.quick else 1]
    rows = [*costs_of_auto(list(cases(scenes, SIZES, budget))), *thresholds_of_indexes(budget)]
    cells = [[row.name, f"{row.old:g}", f"{row.new:g}", factor(row.gain), factor(row.worth), row.scene] for row in rows]
    show_table(["number", "old", "new", "gain", "worth", "scene"], cells, "Numbers that choose between several ways")
    print(f"{sum(row.worth < WORTH for row in rows)} of {len(rows)} numbers are worth less than {WORTH} on every scene")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
