"""Every public scene: the time of all its pairs, for each box and pair, and how many nodes the walks look at."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from benchmarks.gpu.devices import Clock, put, require, warp
from benchmarks.gpu.parts import Record, Setting, Task
from broadphase import gpu
from broadphase.testing import SCENES, Scene, make_scene

if TYPE_CHECKING:
    from numpy.typing import NDArray

TABLE = "Every scene, beside uniform"
MUST = 6.0  # times as long as uniform, for each box and pair


def on_device() -> dict[str, Scene]:
    """Return the public scenes of boxes with two or three axes, as a device takes them."""
    return {name: scene for name, scene in SCENES.items() if scene.dim in (2, 3)}


def tasks(setting: Setting) -> list[Task]:
    """Return the tasks."""
    require(setting.device)
    many, few = (1000, 300) if setting.quick else (100_000, 10_000)
    # Where pairs grow as the square of the boxes, fewer of them are compared with as many of uniform.
    base = {n: Base(n, setting) for n in (many, few)}
    return [
        Task(f"scene {name}", partial(measure, name, base[few if scene.quadratic else many], setting=setting))
        for name, scene in on_device().items()
    ]


class Base:
    """What uniform boxes take, measured when it is first asked for."""

    def __init__(self, n: int, setting: Setting) -> None:
        self.n, self._setting = n, setting
        self._found: tuple[float, float] | None = None
        self._clock: Clock | None = None

    @property
    def clock(self) -> Clock:
        """What takes the times."""
        if self._clock is None:
            self._clock = Clock(self._setting)
        return self._clock

    def cost(self) -> tuple[float, float]:
        """Return nanoseconds and nodes for each box and pair of uniform boxes."""
        if self._found is None:
            boxes = make_scene("uniform", self.n)
            milliseconds, pairs, visits = self.run(boxes)
            work = self.n + pairs
            self._found = milliseconds * 1e6 / work, float(visits.sum()) / work
        return self._found

    def run(self, boxes: NDArray[Any]) -> tuple[float, int, NDArray[Any]]:
        """Return the milliseconds of all pairs, their number, and the nodes that each walk looks at."""
        given = put(boxes, "warp", self._setting)
        pairs = len(gpu.pairs(given))
        budget = 0.01 if self._setting.quick else 0.1
        timing = self.clock.times({"": partial(gpu.pairs, given)}, budget, most=15)[""]
        return timing.milliseconds, pairs, visits_of(given)


def measure(name: str, base: Base, record: Record, setting: Setting) -> None:
    """One scene."""
    boxes = make_scene(name, base.n)
    milliseconds, pairs, visits = base.run(boxes)
    record.equal(pairs, bp.count_pairs(boxes, workers=-1), f"{name}, count")
    nanoseconds, nodes = base.cost()
    work = base.n + pairs
    times = milliseconds * 1e6 / work / nanoseconds
    is_met = times <= MUST or setting.quick
    record.row(
        TABLE,
        scene=name,
        boxes=base.n,
        pairs=pairs,
        ms=milliseconds,
        **{
            "ns a box and pair": milliseconds * 1e6 / work,
            "× uniform": times,
            "nodes a walk": float(visits.mean()),
            "most": int(visits.max(initial=0)),
            "× uniform nodes a box and pair": float(visits.sum()) / work / nodes,
            "must": "" if is_met or SCENES[name].quadratic else f"≤ {MUST:g} ×: MISSED",
        },
    )


def visits_of(given: Any) -> NDArray[np.int32]:
    """Build the tree of boxes on a device, and count the nodes that the walk of each leaf looks at."""
    from benchmarks.gpu.kernels import count_visits
    from broadphase.gpu.boxes import Keys, boxes_on
    from broadphase.gpu.loading import load
    from broadphase.gpu.tree import build

    wp = warp()
    boxes = boxes_on(given, "boxes")
    with boxes.place.running() as scratch:
        load(boxes.device, boxes.tree_kernels.module)
        counters = scratch.array("scenes.counters", 3, wp.int64)
        tree = build(boxes, 0.0, Keys(), scratch, "tree", counters=counters, checked=0)
        visits = wp.empty(tree.count, dtype=wp.int32, device=boxes.device)
        wp.launch(count_visits, tree.count, inputs=[tree.nodes, tree.count, visits], device=boxes.device)
        return np.asarray(visits.numpy())
