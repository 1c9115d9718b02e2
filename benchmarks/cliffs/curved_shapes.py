"""Cylinders, cones and ellipsoids, pair by pair, beside python-fcl and MuJoCo: overlaps, distances, contacts.

The depths of FCL's contacts are not those of the shortest way out: of these scenes up to 0.5 deeper, in sizes of the
shapes. Its distances are off by up to 6e-4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import load, median_times
from benchmarks.rows import Row, ratio

_COUNT = 300
_RADIUS, _HALF, _RADII = 0.4, 0.6, (0.3, 0.5, 0.8)


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows of each kind: all pairs whose boxes come near each other, and those that meet."""
    rng = np.random.default_rng(0)
    fcl, mujoco = load("fcl", "python-fcl"), load("mujoco")
    ends = (0.0, 0.0, -_HALF), (0.0, 0.0, _HALF)
    kinds = {
        "cylinders": (bp.Cylinder(*ends, _RADIUS), fcl.Cylinder(_RADIUS, 2 * _HALF), f"cylinder {_RADIUS} {_HALF}"),
        "cones": (bp.Cone(*ends, _RADIUS), fcl.Cone(_RADIUS, 2 * _HALF), None),  # MuJoCo has no cones
        "ellipsoids": (bp.Ellipsoid(_RADII), fcl.Ellipsoid(*_RADII), "ellipsoid " + " ".join(map(str, _RADII))),
    }
    for kind, (shape, other, geom) in kinds.items():
        places, turns = rng.uniform(0, 8, (_COUNT, 3)), rng.normal(size=(_COUNT, 4))
        turns /= np.linalg.norm(turns, axis=1, keepdims=True)
        shapes = bp.Shapes(shape, places, turns)
        near = bp.pairs(shapes.boxes, margin=0.5, sort=True)
        meeting = bp.overlaps(shapes, pairs=near)
        objects = [fcl.CollisionObject(other, fcl.Transform(*pose)) for pose in zip(turns, places, strict=True)]
        ours: dict[str, Callable[[], Any]] = {
            "overlaps": partial(bp.overlaps, shapes, pairs=near),
            "distance": partial(bp.distance, shapes, pairs=near),
            "contacts": partial(bp.contacts, shapes, pairs=meeting),
        }
        theirs: dict[str, Callable[[], Any]] = {
            "overlaps": partial(_fcl_overlaps, fcl, objects, near.tolist(), False),
            "distance": partial(_fcl_distances, fcl, objects, near.tolist()),
            "contacts": partial(_fcl_overlaps, fcl, objects, meeting.tolist(), True),
        }
        for name, call in ours.items():
            what = f"{name}, {len(meeting if name == 'contacts' else near):,} pairs of {kind}, of {{}}'s time"
            calls = {"ours": call, "fcl": theirs[name]}
            if name == "distance" and geom:
                calls["mujoco"] = partial(
                    _mujoco_distances, mujoco, _mujoco_scene(mujoco, geom, places, turns), near.tolist()
                )
            found = median_times(calls, budget=2 * pace)
            yield ratio(what.format("python-fcl"), found["ours"], found["fcl"], 3.0 if name == "contacts" else 1.0)
            if "mujoco" in found:
                yield ratio(what.format("MuJoCo"), found["ours"], found["mujoco"], 1.0)


def _fcl_overlaps(fcl: Any, objects: list[Any], pairs: list[list[int]], contact: bool) -> list[int]:
    wanted = fcl.CollisionRequest(num_max_contacts=4, enable_contact=contact)
    return [fcl.collide(objects[i], objects[j], wanted, fcl.CollisionResult()) for i, j in pairs]


def _fcl_distances(fcl: Any, objects: list[Any], pairs: list[list[int]]) -> list[float]:
    wanted = fcl.DistanceRequest(enable_signed_distance=True)
    return [fcl.distance(objects[i], objects[j], wanted, fcl.DistanceResult()) for i, j in pairs]


def _mujoco_scene(mujoco: Any, geom: str, places: Any, turns: Any) -> tuple[Any, Any]:
    """Return a model and its data, a geom for each shape, in place."""
    kind, *size = geom.split()
    lines = [
        f'<geom type="{kind}" size="{" ".join(size)}" pos="{_words(place)}" quat="{_words(turn)}"/>'
        for place, turn in zip(places, turns, strict=True)
    ]
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{''.join(lines)}</worldbody></mujoco>")
    found = mujoco.MjData(model)
    mujoco.mj_kinematics(model, found)
    return model, found


def _mujoco_distances(mujoco: Any, scene: tuple[Any, Any], pairs: list[list[int]]) -> list[float]:
    return [mujoco.mj_geomDistance(*scene, i, j, 10.0, None) for i, j in pairs]


def _words(numbers: Any) -> str:
    return " ".join(map(repr, map(float, numbers)))
