"""Arms among obstacles of which some are far away or copies, against the same arms among the others alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import broadphase as bp
from benchmarks.measuring import median_times
from benchmarks.robots import Scene
from benchmarks.rows import Row, ratio

MOST = 2.0  # × without


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows of copies, of one obstacle far away, and of as many far away as near, in all directions."""
    scene = Scene(1000, with_mesh=False)
    near, rng = bp.Shapes(bp.Box(scene.sizes), scene.centers, scene.turns), np.random.default_rng(1)
    many = rng.normal(size=scene.centers.shape) * 10.0 ** rng.uniform(1, 12, (len(scene.centers), 1))
    boxes = [scene.sizes, scene.centers, scene.turns]
    copies = bp.Shapes(bp.Box(np.tile(boxes[0], (16, 1))), *(np.tile(of, (16, 1)) for of in boxes[1:]))
    end = scene.q + 0.2
    calls = {
        "near": partial(scene.robot.first_contact, scene.q, end, bp.Obstacles(near)),
        "all": partial(scene.robot.first_contact, scene.q, end, bp.Obstacles(copies)),
    }
    times = median_times(calls, budget=2 * pace)
    yield ratio(
        "first_contact of an arm, 16 copies of each obstacle, of the time without", times["all"], times["near"], MOST
    )
    for what, far in (("one obstacle 10⁹ away", np.array([[1e9, 0.0, 0.0]])), ("half of the obstacles far away", many)):
        count = len(far)
        all_of_them = bp.Shapes(
            bp.Box(np.concatenate([scene.sizes, scene.sizes[:count]])),
            np.concatenate([scene.centers, far]),
            np.concatenate([scene.turns, scene.turns[:count]]),
        )
        for name in ("collides", "clearance"):
            call = getattr(scene.robot, name)
            calls = {
                "near": partial(call, scene.q, bp.Obstacles(near)),
                "all": partial(call, scene.q, bp.Obstacles(all_of_them)),
            }
            times = median_times(calls, budget=2 * pace)
            yield ratio(f"{name} of an arm, {what}, of the time without", times["all"], times["near"], MOST)
