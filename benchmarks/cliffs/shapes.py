"""Rows of meshes, convex hulls and half spaces: many distinct meshes, hulls pair by pair, bodies above a ground."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import Timing, load, median_times
from benchmarks.robots import ball
from benchmarks.rows import Row, ratio
from broadphase.io import read_parts


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows of meshes, of solids, of hulls, of clearances and clashes, of turned boxes, and of half spaces."""
    yield from _mesh_rows(pace)
    yield from _solid_rows(pace)
    yield from _hull_rows(pace)
    yield from _part_rows(pace)
    yield from _turned_rows(pace)
    yield from _ifc_rows(pace)
    yield from _half_space_rows(pace)


def _mesh_rows(pace: float) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    for cuts in (2, 3):
        surfaces = [_rough_sphere(rng, cuts) for _ in range(200)]
        places, turns = rng.uniform(0, 12, (200, 3)), rng.normal(size=(200, 4))
        shapes = bp.Shapes([bp.Mesh(*surface) for surface in surfaces], places, turns)
        pairs = bp.pairs(shapes.boxes, margin=0.6, sort=True)[:747]
        what = f"distances, {len(pairs)} pairs of 200 distinct meshes of {len(surfaces[0][1])} faces"
        calls: dict[str, Callable[[], Any]] = {"ours": partial(bp.distance, shapes, pairs=pairs)}
        fcl = load("fcl", "python-fcl")
        objects = [_fcl_mesh(fcl, *one) for one in zip(surfaces, places, turns, strict=True)]
        calls["fcl"] = partial(_fcl_distances, fcl, objects, pairs.tolist())
        found = median_times(calls, budget=4 * pace)
        yield ratio(f"{what}, of python-fcl's time", found["ours"], found["fcl"], 0.5)
    for cuts in (2, 4):
        surfaces = [_rough_sphere(rng, cuts) for _ in range(500)]
        places, turns = rng.uniform(0, 30, (500, 3)), rng.normal(size=(500, 4))
        shapes = bp.Shapes([bp.Mesh(*surface) for surface in surfaces], places, turns)
        found = median_times({"again": partial(bp.overlaps, shapes)}, budget=2 * pace)
        what = f"overlaps of 500 distinct meshes of {len(surfaces[0][1])} faces, after the first call"
        yield _in(what, found["again"], 1.0, "ms", 5.0)


def _solid_rows(pace: float) -> Iterator[Row]:
    trimesh = load("trimesh")
    torus = trimesh.creation.torus(1.0, 0.4, major_sections=60, minor_sections=30)
    points = np.random.default_rng(0).uniform(-1.5, 1.5, (2000, 3)) * (1, 1, 0.4)
    places, mesh = bp.Shapes(bp.Point(), points), bp.Shapes(bp.Mesh(torus.vertices, torus.faces), [[0, 0, 0]])
    calls: dict[str, Callable[[], Any]] = {
        "ours": partial(bp.distance, places, mesh, solid=True),
        "trimesh": partial(trimesh.proximity.signed_distance, torus, points),
    }
    found = median_times(calls, budget=2 * pace, clock=time.thread_time)
    what = f"signed distances of 2,000 points from a solid torus of {len(torus.faces):,} triangles"
    yield ratio(f"{what}, of trimesh's time", found["ours"], found["trimesh"], 0.1)


def _hull_rows(pace: float) -> Iterator[Row]:
    rng = np.random.default_rng(1)
    cube = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    for points in (cube, _on_sphere(rng, 20), _on_sphere(rng, 60), _on_sphere(rng, 1000)):
        shapes = bp.Shapes(bp.ConvexHull(points), rng.uniform(0, 8, (150, 3)), rng.normal(size=(150, 4)))
        pairs = bp.pairs(shapes.boxes, sort=True)
        meeting = bp.overlaps(shapes, pairs=pairs)
        calls: dict[str, Callable[[], Any]] = {
            "overlaps": partial(bp.overlaps, shapes, pairs=pairs),
            "distance": partial(bp.distance, shapes, pairs=pairs),
            "contacts": partial(bp.contacts, shapes, pairs=meeting),
        }
        found = median_times(calls, budget=2 * pace)
        for name, count in (("overlaps", len(pairs)), ("distance", len(pairs)), ("contacts", len(meeting))):
            target = 5.0 if len(points) <= 20 else None
            what = f"{name}, one pair of hulls of {len(points)} corners"
            yield _in(what, found[name], 1000 / count, "us", target)
    yield from _deep_rows(rng, pace)


def _deep_rows(rng: np.random.Generator, pace: float) -> Iterator[Row]:
    """Overlaps and contacts of pairs of hulls with nearly the same middle, beside those of the same hulls anywhere."""
    hull, turns = bp.ConvexHull(ball(1)[0]), rng.normal(size=(150, 4))
    scenes = {
        "anywhere": bp.Shapes(hull, rng.uniform(0, 8, (150, 3)), turns),
        "equal, in one place": bp.Shapes(hull, np.zeros((150, 3))),
        "turned, in one place": bp.Shapes(hull, np.zeros((150, 3)), turns),
        "shifted by 1e-9": bp.Shapes(hull, np.arange(150)[:, np.newaxis] * np.full(3, 1e-9)),
    }
    for name, call in (("overlaps", bp.overlaps), ("contacts", bp.contacts)):
        calls: dict[str, Callable[[], Any]] = {}
        counts = {}
        for what, shapes in scenes.items():
            pairs = bp.pairs(shapes.boxes, sort=True)
            pairs = pairs if name == "overlaps" else bp.overlaps(shapes, pairs=pairs)
            pairs = pairs[:: max(1, len(pairs) // 500)]
            calls[what], counts[what] = partial(call, shapes, pairs=pairs), len(pairs)
        found = median_times(calls, budget=pace, clock=time.thread_time)
        plain = found["anywhere"].milliseconds / counts["anywhere"]
        for what in list(scenes)[1:]:
            each = found[what].milliseconds / counts[what]
            label = f"{name}, one pair of hulls of 18 corners, {what}"
            yield Row(label, each / plain, "×", 3.0, milliseconds=found[what].milliseconds, note="to anywhere")


def _turned_rows(pace: float) -> Iterator[Row]:
    """Contacts of boxes that are turned by quarters, beside those of the same boxes turned in any way."""
    rng = np.random.default_rng(4)
    places, sizes = rng.random((2000, 3)) * 12, rng.uniform(0.5, 1.5, (2000, 3))
    turns = {"quarters": np.tile([1.0, 0, 0, 1.0], (2000, 1)), "any": rng.normal(size=(2000, 4))}
    scenes = {name: bp.Shapes(bp.Box(sizes), places, turn) for name, turn in turns.items()}
    pairs = {name: bp.overlaps(shapes) for name, shapes in scenes.items()}
    for name, call in (("overlaps", bp.overlaps), ("contacts", bp.contacts), ("distance", bp.distance)):
        calls = {what: partial(call, scenes[what], pairs=pairs[what]) for what in scenes}
        found = median_times(calls, budget=pace, clock=time.thread_time)
        each = {what: found[what].milliseconds / len(pairs[what]) for what in scenes}
        label = f"{name}, one pair of boxes turned by a quarter"
        each_ratio = each["quarters"] / each["any"]
        taken = found["quarters"].milliseconds
        yield Row(label, each_ratio, "×", 1.0, milliseconds=taken, note="to any turn")


def _half_space_rows(pace: float) -> Iterator[Row]:
    """Overlaps of 10,000 boxes with a half space, beside python-fcl, and steps of worlds with a ground and without.

    A distance from a half space ends python-fcl 0.7.
    """
    rng, count = np.random.default_rng(6), 10_000
    places, turns, normal = rng.uniform(-5, 5, (count, 3)), rng.normal(size=(count, 4)), np.array([1, 2, 2]) / 3
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    boxes, slope = bp.Shapes(bp.Box(1, 1, 1), places, turns), bp.Shapes(bp.HalfSpace(normal), [(0, 0, 0)])
    pairs = np.stack([np.arange(count), np.zeros(count, np.int64)], axis=1)
    fcl = load("fcl", "python-fcl")
    ground = fcl.CollisionObject(fcl.Halfspace(normal, 0.0))
    solids = zip(turns, places, strict=True)
    objects = [fcl.CollisionObject(fcl.Box(1, 1, 1), fcl.Transform(*one)) for one in solids]
    calls: dict[str, Callable[[], Any]] = {
        "ours": partial(bp.overlaps, boxes, slope, pairs=pairs),
        "fcl": lambda: [fcl.collide(one, ground, fcl.CollisionRequest(), fcl.CollisionResult()) for one in objects],
    }
    found = median_times(calls, budget=2 * pace)
    what = f"overlaps of {count:,} boxes with a half space, of python-fcl's time"
    yield ratio(what, found["ours"], found["fcl"], 1.0)
    for name, normals in {"a ground": [(0, 0, 1)], "a slope": [(1, 2, 3)]}.items():
        worlds = {}
        for what, bodies in {"without": [], "with": normals}.items():
            draws = np.random.default_rng(0)
            worlds[what] = bp.World(dim=3)
            side = 1.6 * count ** (1 / 3)
            at, speeds = draws.uniform(0, side, (count, 3)), draws.normal(size=(count, 3))
            worlds[what].add_many(bp.Sphere(0.5), at, velocities=speeds)
            for body in bodies:
                worlds[what].add(bp.HalfSpace(body), position=(0, 0, 0), body_type="static")
        found = median_times({what: partial(world.step, 0.002) for what, world in worlds.items()}, budget=pace)
        yield ratio(f"a step of {count:,} balls and {name}, of that without", found["with"], found["without"], 3.0)


def _part_rows(pace: float) -> Iterator[Row]:
    """Clearances of 500 parts, and clashes of 10^4 parts of 1,000 triangles; of fewer in a quick run."""
    rng = np.random.default_rng(2)
    fcl = load("fcl", "python-fcl")
    surfaces = [_part(rng, 796, 30.0) for _ in range(500)]
    triangles = sum(len(faces) for _, faces in surfaces)
    meshes = [bp.Mesh(*surface) for surface in surfaces]
    begin = time.perf_counter()
    for mesh in meshes:
        assert mesh.prepared
    trees = time.perf_counter() - begin
    parts = bp.Shapes(meshes, np.zeros((500, 3)))
    begin = time.perf_counter()
    objects = [_fcl_mesh(fcl, surface, np.zeros(3), np.eye(4)[0]) for surface in surfaces]
    fcl_trees = time.perf_counter() - begin
    what = f"trees of 500 distinct meshes, {triangles:,} triangles, of python-fcl's time"
    yield Row(what, trees / fcl_trees, "×", 0.5, milliseconds=trees * 1e3)
    pairs = bp.pairs(parts.boxes, margin=0.5, sort=True)
    found = median_times(
        {
            "ours": partial(bp.clearances, parts, max_distance=0.5),
            "fcl": partial(_fcl_distances, fcl, objects, pairs.tolist()),
            "moved": partial(bp.clearances, bp.Shapes(meshes[0], [0.1, 0.2, 0.3]), parts, max_distance=0.5),
        },
        budget=3 * pace,
    )
    what = f"clearances of 500 parts, {len(pairs)} candidates, of python-fcl's time for their distances"
    yield ratio(what, found["ours"], found["fcl"], 1.0)
    yield _in("clearances of one moved part of 500", found["moved"], 1.0, "ms", 2.0)

    equal = bp.Shapes(meshes[0], np.zeros((60, 3)))
    found = median_times({"equal": partial(bp.clashes, equal)}, budget=pace)
    yield _in("clashes of 60 equal parts in one place, a pair", found["equal"], 1 / 1770, "ms", 0.1)
    yield from _clash_rows(pace)

    count = 10_000 if pace >= 1 else 1_000
    parts = bp.Shapes([bp.Mesh(*_part(rng, 1_000, 5 * count ** (1 / 3))) for _ in range(count)], np.zeros((count, 3)))
    begin = time.perf_counter()
    clashes = bp.clashes(parts, clearance=0.5)
    seconds = time.perf_counter() - begin
    what = f"all clashes of {count:,} parts of 1,000 triangles, {len(clashes.pairs):,} of them, with building trees"
    yield Row(what, seconds, "s", count / 1000, milliseconds=seconds * 1e3)


def _clash_rows(pace: float) -> Iterator[Row]:
    """Clashes to clearances of the same simple parts, and to contacts of the same meshes: nested, shifted, anywhere."""
    rng = np.random.default_rng(3)
    places = rng.random((2000, 3)) * 20
    for name, shape in (("balls", bp.Sphere(0.5)), ("boxes", bp.Box(0.8, 0.8, 0.8))):
        parts = bp.Shapes(shape, places)
        for tolerance, note in ((0.01, ""), (1.0, ", a tolerance larger than they are")):
            calls: dict[str, Callable[[], Any]] = {
                "clashes": partial(bp.clashes, parts, clearance=0.2, tolerance=tolerance),
                "clearances": partial(bp.clearances, parts, max_distance=max(0.2, tolerance)),
            }
            found = median_times(calls, budget=pace, clock=time.thread_time)
            yield ratio(
                f"clashes of 2,000 {name}{note}", found["clashes"], found["clearances"], 3.0, note="to clearances"
            )
    vertices, faces = _rough_sphere(rng, 3)
    mesh = bp.Mesh(vertices, faces)
    nested = [bp.Mesh(_rough_sphere(rng, 3)[0] * (0.5 + 0.02 * k), faces) for k in range(24)]
    for what, parts in (
        ("meshes anywhere", bp.Shapes(mesh, rng.random((60, 3)) * 6)),
        ("meshes that nest", bp.Shapes(nested, np.zeros((24, 3)))),
        ("one mesh, shifted by 1e-9", bp.Shapes(mesh, np.arange(24)[:, np.newaxis] * np.full(3, 1e-9))),
    ):
        found = median_times(
            {"clashes": partial(bp.clashes, parts), "contacts": partial(bp.contacts, parts)},
            budget=pace,
            clock=time.thread_time,
        )
        yield ratio(f"clashes of {what}", found["clashes"], found["contacts"], 3.0, note="to contacts")


def _ifc_rows(pace: float) -> Iterator[Row]:
    """Clashes of the walls of an IFC file, of the time of IfcOpenShell's tree of triangles for the same elements."""
    geom = load("ifcopenshell.geom", "ifcopenshell")
    count = 400 if pace >= 1 else 100
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "walls.ifc")
        _write_walls(path, count)
        parts = read_parts(path).parts
        model = load("ifcopenshell").open(str(path))
    iterator = geom.iterator(geom.settings(), model, 1)
    elements = []
    is_there = iterator.initialize()
    while is_there:
        elements.append(iterator.get())
        is_there = iterator.next()
    walls = model.by_type("IfcWall")

    def tree_of_all() -> Any:
        tree = geom.tree(backend="opencascade.trianglebvh")
        for element in elements:
            tree.add_element(element)
        return tree

    tree = tree_of_all()
    meshes = [bp.Mesh(part.vertices, part.faces) for part in parts]
    shapes = bp.Shapes(meshes, [part.position for part in parts], [part.rotation for part in parts])
    calls: dict[str, Callable[[], Any]] = {
        "parts": partial(bp.clashes, parts, tolerance=0.001),
        "tree": lambda: tree_of_all().clash_intersection_many(walls, walls, 0.001, True),
        "shapes": partial(bp.clashes, shapes, tolerance=0.001),
        "clash": partial(tree.clash_intersection_many, walls, walls, 0.001, True),
    }
    found = median_times(calls, budget=4 * pace, clock=time.thread_time)
    what = f"clashes of {count} walls of an IFC file"
    yield ratio(f"{what}, with making meshes, of IfcOpenShell's time", found["parts"], found["tree"], 3.0)
    yield ratio(f"{what}, of IfcOpenShell's time", found["shapes"], found["clash"], 1.5)


def _write_walls(path: Path, count: int) -> None:
    """Write walls of any size and direction in a cube, about one clash for each."""
    run = load("ifcopenshell.api", "ifcopenshell").run
    rng = np.random.default_rng(4)
    model = run("project.create_file")
    run("root.create_entity", model, ifc_class="IfcProject", name="walls")
    run("unit.assign_unit", model)
    root = run("context.add_context", model, context_type="Model")
    body = run(
        "context.add_context", model, context_type="Model", context_identifier="Body", target_view="MODEL_VIEW",
        parent=root,
    )  # fmt: skip
    for number in range(count):
        wall = run("root.create_entity", model, ifc_class="IfcWall", name=f"wall {number}")
        length, thickness, height = rng.uniform(0.3, 2.0, 3).tolist()
        form = run(
            "geometry.add_wall_representation", model, context=body, length=length, height=height, thickness=thickness
        )
        run("geometry.assign_representation", model, product=wall, representation=form)
        angle = rng.uniform(0, np.pi)
        matrix = np.eye(4)
        matrix[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        matrix[:3, 3] = rng.uniform(0, (6 * count) ** (1 / 3), 3)
        run("geometry.edit_object_placement", model, product=wall, matrix=matrix)
    model.write(str(path))


def _part(rng: np.random.Generator, triangles: int, room: float) -> tuple[Any, Any]:
    """Make a rough ball of about so many triangles, stretched, somewhere in a cube."""
    rings = int(np.sqrt(triangles / 4))
    around = triangles // (2 * rings)
    ring, place = np.mgrid[1 : rings + 1, :around].reshape(2, -1)
    latitude, longitude = np.pi * ring / (rings + 1), 2 * np.pi * place / around
    side = np.sin(latitude)
    points = np.stack([side * np.cos(longitude), side * np.sin(longitude), np.cos(latitude)], axis=1)
    points = np.concatenate([points, [[0.0, 0, 1], [0, 0, -1]]]) * rng.uniform(0.8, 1.1, (rings * around + 2, 1))
    at = np.arange(rings * around).reshape(rings, around)
    beside = np.roll(at, -1, axis=1)
    top, bottom = np.full(around, rings * around), np.full(around, rings * around + 1)
    bands = [
        np.stack([at[:-1], at[1:], beside[1:]], axis=-1).reshape(-1, 3),
        np.stack([at[:-1], beside[1:], beside[:-1]], axis=-1).reshape(-1, 3),
        np.stack([top, at[0], beside[0]], axis=-1),
        np.stack([bottom, beside[-1], at[-1]], axis=-1),
    ]
    return points * rng.uniform(0.5, 2, 3) + rng.uniform(0, room, 3), np.concatenate(bands)


def _in(what: str, timing: Timing, scale: float, unit: str, target: float | None) -> Row:
    return Row(what, timing.milliseconds * scale, unit, target, milliseconds=timing.milliseconds)


def _on_sphere(rng: np.random.Generator, count: int) -> Any:
    points = rng.normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def _rough_sphere(rng: np.random.Generator, cuts: int) -> tuple[Any, Any]:
    """Cut each face of an octahedron into four as often as told, and move its vertices in and out."""
    points = np.array([(1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)], np.float64)
    faces = np.array([(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (1, 0, 5), (2, 1, 5), (3, 2, 5), (0, 3, 5)])
    for _ in range(cuts):
        edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
        unique, numbers = np.unique(edges, axis=0, return_inverse=True)
        a, b, c = faces.T
        p, q, r = len(points) + numbers.reshape(-1, 3).T
        points = np.concatenate([points, points[unique].mean(axis=1)])
        faces = np.concatenate([np.stack(corners, axis=1) for corners in ((a, p, r), (p, b, q), (r, q, c), (p, q, r))])
    points *= rng.uniform(0.6, 1.4, (len(points), 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    return points, faces


def _fcl_mesh(fcl: Any, surface: tuple[Any, Any], place: Any, turn: Any) -> Any:
    model = fcl.BVHModel()
    model.beginModel(len(surface[0]), len(surface[1]))
    model.addSubModel(*surface)
    model.endModel()
    return fcl.CollisionObject(model, fcl.Transform(turn / np.linalg.norm(turn), place))


def _fcl_distances(fcl: Any, objects: list[Any], pairs: list[list[int]]) -> list[float]:
    return [fcl.distance(objects[i], objects[j], fcl.DistanceRequest(), fcl.DistanceResult()) for i, j in pairs]
