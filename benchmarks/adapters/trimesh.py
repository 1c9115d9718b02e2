"""Meshes that collide: `broadphase.adapters.trimesh` beside trimesh with python-fcl; rays beside its Embree."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.adapters import faster
from benchmarks.measuring import load
from benchmarks.rows import Row
from broadphase.errors import MissingExtraError

# A manager of each library, which both have the same objects.
Managers = tuple[Any, Any]


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows; each takes some seconds times `pace`."""
    trimesh, _ = load("trimesh", "trimesh"), load("fcl", "python-fcl")
    modules = load("trimesh.collision", "trimesh"), load("broadphase.adapters.trimesh", "trimesh")
    rng = np.random.default_rng(0)
    create: Any = trimesh.creation
    box, ball, ring = create.box(), create.icosphere(2), create.torus(1.0, 0.3)
    small_ring = create.torus(1.0, 0.3, major_sections=16, minor_sections=8)
    two_boxes = trimesh.util.concatenate([create.box(), create.box().apply_translation([1.5, 0, 0])])

    def place(width: float) -> Any:
        matrix = trimesh.transformations.rotation_matrix(rng.random() * 6, rng.standard_normal(3))
        matrix[:3, 3] = rng.random(3) * width
        return matrix

    def managers(count: int, meshes: list[Any], width: float) -> Managers:
        both = modules[0].CollisionManager(), modules[1].CollisionManager()
        for number in range(count):
            matrix = place(width)
            for manager in both:
                manager.add_object(str(number), meshes[number % len(meshes)], matrix)
        return both

    def row(what: str, both: Managers, call: Callable[[Any], Any], least: float | None, seconds: float = 1.0) -> Row:
        return faster(what, lambda: call(both[0]), lambda: call(both[1]), least, seconds * pace)

    def moved(manager: Any, name: str, **options: Any) -> Any:
        """Put an object elsewhere and back, with a query after each."""
        for matrix in ends:
            manager.set_transform(name, matrix)
            manager.in_collision_internal(**options)

    def all_moved(manager: Any, **options: Any) -> Any:
        for number, matrix in enumerate(everywhere[next(turn) % 2]):
            manager.set_transform(str(number), matrix)
        return manager.in_collision_internal(**options)

    for count, kind, meshes, width in (
        (1000, "mixed", [box, ball, small_ring, two_boxes], 40.0),
        (1000, "boxes", [box], 16.0),
        (1000, "balls of 320 faces", [ball], 40.0),
        (200, "rings of 2048 faces", [ring], 23.0),
    ):
        both = managers(count, meshes, width)
        ends = place(width), place(width)
        everywhere = [[place(width) for _ in range(count)] for _ in range(2)]
        turn = iter(range(10**9))
        what = f"{count} {kind}"
        yield row(
            f"{what}, all moved, in_collision_internal", both, lambda one: all_moved(one, return_names=True), 5.0, 2
        )
        yield row(
            f"{what}, one moved, in_collision_internal", both, lambda one: moved(one, "7", return_names=True), 5.0
        )
        yield row(f"{what}, one moved, only whether", both, lambda one: moved(one, "7"), 1.0)
        if kind in ("mixed", "rings of 2048 faces"):
            yield row(f"{what}, contacts", both, lambda one: one.in_collision_internal(return_data=True), 1.0, 3)
        places = [place(width) for _ in range(10)]
        for name, options in (("in_collision_single", {"return_names": True}), ("min_distance_single", {})):
            yield row(f"{what}, {name}", both, each(name, meshes[0], places, **options), 1.0)
    for count in (1, 2, 10):
        both, ends = managers(count, [box], 3.0), (place(3.0), place(3.0))
        places = [place(3.0) for _ in range(10)]
        what = f"{count} box" + "es" * (count > 1)
        for name in ("in_collision_single", "min_distance_single"):
            yield row(f"{what}, {name}", both, each(name, box, places), 1.0)
        yield row(f"{what}, one moved, names", both, lambda one: moved(one, "0", return_names=True), 1.0)
        everywhere = [[place(3.0) for _ in range(count)] for _ in range(2)]
        yield row(f"{what}, all moved, names", both, lambda one: all_moved(one, return_names=True), 1.0)
    for count in (5, 300):
        one, other = managers(count, [box], 10.0), managers(count, [box], 10.0)
        pairs = (one[0], other[0]), (one[1], other[1])
        for name, options in (("in_collision_other", {}), ("in_collision_other", {"return_names": True}),
                              ("min_distance_other", {})):  # fmt: skip
            what = f"{count} boxes and {count}, {name}{', names' * bool(options)}"
            yield row(what, pairs, with_other(name, **options), 1.0)
    spread = [place(16.0) for _ in range(1000)]
    yield row(
        "1000 boxes to add, and names",
        modules,
        lambda module: added(module, box, spread).in_collision_internal(return_names=True),
        5.0,
    )
    yield row(
        "50 rings of 2048 faces to add, and names",
        modules,
        lambda module: added(module, ring, spread[:50]).in_collision_internal(return_names=True),
        5.0,
    )

    yield from ray_rows(pace)

    # Off the road
    both = managers(1000, [box], 0.1)
    yield row("1000 boxes in one place, whether", both, lambda one: moved(one, "7"), 1.0)
    yield row("1000 boxes in one place, distance", both, lambda one: one.min_distance_internal(), 1.0)
    both = managers(300, [box], 0.1)
    yield row("300 boxes in one place, names", both, lambda one: moved(one, "7", return_names=True), 1.0, 5)
    large = create.icosphere(6)
    large = trimesh.util.concatenate([large, large.copy().apply_translation([3, 0, 0])])  # 164,000 faces, not convex
    for what, matrix in (
        ("that touch", trimesh.transformations.translation_matrix([1.999, 0, 0])),
        ("upon each other", np.eye(4)),
    ):
        both = modules[0].CollisionManager(), modules[1].CollisionManager()
        for manager in both:
            manager.add_object("one", large)
            manager.add_object("two", large, matrix)
        ends = matrix, np.eye(4)
        yield row(f"2 meshes of 164,000 faces {what}, whether", both, lambda one: moved(one, "two"), 1.0)
        yield row(f"2 meshes of 164,000 faces {what}, distance", both, measured("two", matrix), 1.0)
        yield row(
            f"2 meshes of 164,000 faces {what}, contacts",
            both,
            lambda one: one.in_collision_internal(return_data=True),
            1.0,
        )
    both = managers(100, [box], 4.0)
    yield row(
        "164,000 faces among 100 boxes", both, lambda one: one.in_collision_single(large, None, return_names=True), 1.0
    )


def ray_rows(pace: float) -> Iterator[Row]:
    """Yield all crossings of rays with one mesh, beside those of trimesh with Embree (embreex), where that is there."""
    try:
        load("embreex", "embreex")
        embree = load("trimesh.ray.ray_pyembree", "trimesh")
    except MissingExtraError:
        return
    create: Any = load("trimesh", "trimesh").creation
    rng = np.random.default_rng(1)
    origins = rng.standard_normal((20_000, 3))
    origins *= 3 / np.linalg.norm(origins, axis=1, keepdims=True)
    directions = rng.uniform(-1, 1, origins.shape) - origins
    for sections in (50, 200, 500):
        mesh = create.torus(1.0, 0.4, major_sections=sections, minor_sections=sections)
        theirs, ours = embree.RayMeshIntersector(mesh), bp.Mesh(mesh.vertices, mesh.faces)
        yield faster(
            f"20,000 rays through a ring of {len(mesh.faces):,} faces, every crossing",
            functools.partial(theirs.intersects_location, origins, directions, multiple_hits=True),
            functools.partial(bp.raycast, ours, origins, directions, every=True),
            0.5,
            pace,
        )


def added(module: Any, mesh: Any, matrices: list[Any]) -> Any:
    """Make a manager of one mesh in several places."""
    manager = module.CollisionManager()
    for number, matrix in enumerate(matrices):
        manager.add_object(str(number), mesh, matrix)
    return manager


def each(name: str, mesh: Any, matrices: list[Any], **options: Any) -> Callable[[Any], Any]:
    """Make a call that asks about a mesh in several places."""
    return lambda manager: [getattr(manager, name)(mesh, matrix, **options) for matrix in matrices]


def with_other(name: str, **options: Any) -> Callable[[Any], Any]:
    """Make a call that asks one of two managers about the other."""
    return lambda pair: getattr(pair[0], name)(pair[1], **options)


def measured(name: str, matrix: Any) -> Callable[[Any], Any]:
    """Make a call that puts an object elsewhere and measures the distance."""

    def call(manager: Any) -> Any:
        manager.set_transform(name, matrix)
        return manager.min_distance_internal(return_data=True)

    return call
