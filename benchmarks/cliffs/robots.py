"""Arms among obstacles of which some are far away or copies, or that are meshes, against the same arms without."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import broadphase as bp
from benchmarks.measuring import median_times
from benchmarks.robots import Scene, ball
from benchmarks.rows import Row, ratio

MOST = 2.0  # × without


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows of copies, of meshes, and of one obstacle or as many far away as near, in all directions."""
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
    points, faces = ball(2)
    for size in (0.01, 0.1):
        calls = {
            name: partial(scene.robot.first_contact, scene.q, end, bp.Obstacles(bp.Shapes(shape, scene.centers)))
            for name, shape in (("hulls", bp.ConvexHull(points * size)), ("meshes", bp.Mesh(points * size, faces)))
        }
        times = median_times(calls, budget=2 * pace)
        what = f"first_contact of an arm among meshes of radius {size}, of the time among their hulls"
        yield ratio(what, times["meshes"], times["hulls"], 3.0)
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
