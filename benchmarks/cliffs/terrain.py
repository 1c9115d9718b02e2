"""Height fields beside meshes of the same triangles: making them, rays, overlaps, contacts, casts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import load, median_times
from benchmarks.rows import Row, ratio

_SIDE = 500


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows of smooth hills, then those of rough ground."""
    rng = np.random.default_rng(0)
    x, y = np.meshgrid(np.linspace(0, 40, _SIDE), np.linspace(0, 40, _SIDE))
    for name, heights in (
        ("hills", 2 * np.sin(x / 3) * np.cos(y / 4)),
        ("rough ground", rng.normal(size=(_SIDE, _SIDE)) * 0.2),
    ):
        yield from _field_rows(rng, name, heights, pace)


def _field_rows(rng: np.random.Generator, name: str, heights: Any, pace: float) -> Iterator[Row]:
    cell = 40 / (_SIDE - 1)
    field = bp.HeightField(heights, cell)
    vertices, faces = field.vertices, field.faces
    calls: dict[str, Callable[[], Any]] = {
        "ours": lambda: bp.Shapes(bp.HeightField(heights, cell), [[0, 0, 0]]),
        "mesh": lambda: bp.Mesh(vertices, faces).prepared,
    }
    found = median_times(calls, budget=2 * pace, clock=time.thread_time)
    what = f"{name} of {_SIDE} x {_SIDE} heights"
    yield ratio(f"made: {what}", found["ours"], found["mesh"], 0.05, note="to a mesh of it")

    ground, surface = bp.Shapes(field, [[0, 0, 0]]), bp.Shapes(bp.Mesh(vertices, faces), [[0, 0, 0]])
    places = rng.uniform(-20, 20, (2000, 2))
    tops = heights[tuple(np.clip((places[:, ::-1] / cell + (_SIDE - 1) / 2).astype(int), 0, _SIDE - 1).T)]
    balls = bp.Shapes(bp.Sphere(0.3), np.column_stack([places, tops + rng.uniform(-0.2, 1.0, 2000)]))
    pairs = np.column_stack([np.arange(2000), np.zeros(2000, int)])
    touching = bp.overlaps(balls, surface, pairs)
    origins = np.column_stack([rng.uniform(-20, 20, (5000, 2)), np.full(5000, 6.0)])
    ways = rng.normal(size=(5000, 3)) * (1, 1, 0.3) - (0, 0, 0.4)
    queries: dict[str, tuple[Callable[[bp.Shapes], Any], float]] = {
        "rays": (partial(bp.raycast, origins=origins, directions=ways), 0.5),
        "overlaps of balls": (lambda of: bp.overlaps(balls, of, pairs), 1.0),
        "distances of balls above": (lambda of: bp.distance(_above(balls), of, pairs=pairs), 1.0),
        "contacts of balls that touch": (lambda of: bp.contacts(balls, of, touching), 5.0),
        "casts of balls": (lambda of: bp.time_of_impact(_above(balls), of, pairs=pairs, motions=(0, 0, -6)), 1.5),
    }
    for query, (call, target) in queries.items():
        both = {"ours": partial(call, ground), "mesh": partial(call, surface)}
        found = median_times(both, budget=pace, clock=time.thread_time)
        yield ratio(f"{query} on {what}", found["ours"], found["mesh"], target, note="to a mesh of it")
    trimesh = load("trimesh")
    rays = trimesh.Trimesh(vertices, faces, process=False).ray
    if "pyembree" in type(rays).__module__:
        both = {
            "ours": partial(bp.raycast, ground, origins, ways),
            "embree": partial(rays.intersects_first, origins, ways),
        }
        found = median_times(both, budget=pace, clock=time.thread_time)
        yield ratio(
            f"rays on {what}", found["ours"], found["embree"], 2.5, note="to Embree, which gives the face alone"
        )


def _above(balls: bp.Shapes) -> bp.Shapes:
    return bp.Shapes(bp.Sphere(0.3), np.add(balls.positions, (0, 0, 1)))
