"""The scenes of the demo."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

import broadphase as bp
from broadphase import data, scenes
from broadphase.demo.meshes import Triangles, knot
from broadphase.demo.stage import Stage
from broadphase.errors import unknown_name
from broadphase.plotting.subject import Subject
from broadphase.scenes.values import Spread
from broadphase.testing.draws import Draws

if TYPE_CHECKING:
    from collections.abc import Callable

    from broadphase.scenes import Group

__all__ = ["SCENES", "DemoScene", "scene_named"]

FRAME = 1 / 60
SEED = 7
MOST = 200_000


@dataclass(frozen=True)
class DemoScene:
    """A scene of the demo."""

    name: str  # on the command line
    title: str  # on the page
    text: str  # what it shows, in a sentence or two
    make: Callable[[int, float, Triangles | None], Stage]  # called with a count, a factor on sizes, a mesh or None
    count: int
    counts: tuple[int, int] = (2, MOST)  # the smallest and the greatest that make sense
    camera: str = "still"  # or "orbit", "near" (an orbit within the world), "fly"
    method: str = "auto"  # that the demo opens it with
    culled: bool = False  # whether frustum culling and levels of detail are on at first
    lights_static: bool = False  # whether static bodies change their colour, too, when they touch others


def _of_file(path: str) -> Callable[[int, float, Triangles | None], Stage]:
    def make(count: int, size: float, mesh: Triangles | None) -> Stage:
        plan = scenes.load(path)
        moving = max(1, sum(group.count for group in plan.groups if group.body_type == "dynamic"))
        groups = tuple(
            _resized(group, size).scaled(count / moving) if group.body_type == "dynamic" else group
            for group in plan.groups
        )
        run = replace(plan, groups=groups).start()
        bounds = run.world.bounds if plan.bounds is not None else Subject(run.world).extent()
        return Stage(run.world, bounds, plan.dt, run=run)

    return make


def _resized(group: Group, size: float) -> Group:
    if size == 1.0:
        return group
    grown = tuple(
        (name, _times(value, size) if isinstance(value, Spread) and name != "rotation" else value)
        for name, value in group.shape.parameters
    )
    return replace(group, shape=replace(group.shape, parameters=grown))


def _times(spread: Spread, factor: float) -> Spread:
    return replace(
        spread, least=tuple(factor * one for one in spread.least), most=tuple(factor * one for one in spread.most)
    )


def _boxes(count: int, size: float, mesh: Triangles | None) -> Stage:
    """Cubes in a cube that grows with their number: at size 1, four in ten touch another one."""
    draws = Draws(SEED)
    side = float(np.cbrt(16.0 * count))
    world = bp.World(dim=3, bounds=[[0.0] * 3, [side] * 3], boundary="bounce")
    places = draws.between(0.5, max(0.5, side - 0.5), (count, 3))
    world.add_many(bp.Box(size, size, size), places, velocities=2 * draws.normal((count, 3)), layer="box")
    return Stage(world, world.bounds, FRAME)


def _clusters(count: int, size: float, mesh: Triangles | None) -> Stage:
    """Boxes of log-normal sizes in swarms, each of which moves and stays together."""
    draws = Draws(SEED)
    swarms, spread = 24, 0.8
    half = np.array([60.0, 30.0, 60.0])
    world = bp.World(dim=3, bounds=[-half, half], boundary="bounce")
    middles = draws.between(-1.0, 1.0, (swarms, 3)) * [50.0, 22.0, 50.0]
    widths, ways = draws.between(1.5, 5.0, (swarms, 1)), 3 * draws.normal((swarms, 3))
    room = half - 3 * widths  # for the middles: few bodies of a swarm reach the walls
    middles = np.clip(middles, -room, room)
    of = draws.integers(0, swarms, count)
    scales = np.clip(0.35 * np.exp(0.7 * draws.normal((count, 1))), 0.1, 4.0)
    sizes = size * scales * draws.between(0.5, 1.5, (count, 3))
    places = np.clip(middles[of] + widths[of] * draws.normal((count, 3)), [-58, -28, -58], [58, 28, 58])
    velocities = ways[of] + spread * draws.normal((count, 3))
    rows = world.add_many(bp.Box(*sizes.T), places, velocities=velocities, layer="box")
    # A spring to the middle of the swarm, whose motion keeps the width that the swarm begins with.
    pulls = (spread / widths[of]) ** 2

    def steer(dt: float) -> None:
        np.add(middles, ways * dt, out=middles)
        turned = np.where(np.abs(middles) > room, -np.sign(middles) * np.abs(ways), ways)
        world.velocities[rows] += (turned - ways)[of] - dt * pulls * (world.positions[rows] - middles[of])
        ways[:] = turned

    return Stage(world, world.bounds, FRAME, steer=steer)


def _counties(count: int, size: float, mesh: Triangles | None) -> Stage:
    """Storms that drift over the boxes of the counties, which are static."""
    draws = Draws(SEED)
    boxes = data.load("us_counties")
    low, high = np.array([-125.0, 24.0]), np.array([-66.0, 50.0])  # the contiguous states
    boxes = boxes[((boxes[:, 0] >= low) & (boxes[:, 1] <= high)).all(axis=1)]
    sizes, middles = boxes[:, 1] - boxes[:, 0], boxes.mean(axis=1)
    world = bp.World(dim=2, bounds=[low, high], boundary="bounce")
    world.add_many(bp.Rectangle(*sizes.T), middles, body_type="static", layer="county")
    world.add_many(
        bp.Circle(size * draws.between(0.2, 0.9, count)),
        low + 1 + draws.random((count, 2)) * (high - low - 2),
        velocities=1.5 * draws.normal((count, 2)),
        layer="storm",
    )
    return Stage(world, world.bounds, FRAME)


def _mesh(count: int, size: float, mesh: Triangles | None) -> Stage:
    """Balls that fly through the triangles of a mesh, which are static."""
    draws = Draws(SEED)
    vertices, faces = mesh if mesh is not None else knot()
    low, high = vertices.min(axis=0).astype(float), vertices.max(axis=0).astype(float)
    middle, reach = (low + high) / 2, max(float((high - low).max()), 1e-9)
    corners = vertices[faces].astype(float)
    room = np.array([middle - 0.6 * reach, middle + 0.6 * reach])
    world = bp.World(dim=3, bounds=room, boundary="bounce")
    world.add_many(bp.Triangle(corners), np.zeros((len(corners), 3)), body_type="static", layer="triangle")
    world.add_many(
        bp.Sphere(size * reach * draws.between(0.008, 0.03, count)),
        middle + draws.between(-0.55, 0.55, (count, 3)) * reach,
        velocities=0.12 * reach * draws.normal((count, 3)),
        layer="ball",
    )
    return Stage(world, room, FRAME, mesh=Triangles(vertices, faces))


SCENES: tuple[DemoScene, ...] = (
    DemoScene(
        "rectangles",
        "1000 rectangles",
        "Rectangles bounce in a square; those that touch turn vermilion.",
        _of_file("bouncing_rectangles"),
        1000,
        (2, 20_000),
    ),
    DemoScene(
        "spheres",
        "300 spheres in a cube",
        "Spheres bounce in a cube, while the camera orbits it.",
        _of_file("bouncing_spheres"),
        300,
        (2, 20_000),
        camera="orbit",
    ),
    DemoScene(
        "machine_gun",
        "Crowd and machine gun",
        "Bullets fly through a crowd, and the camera along with them. A frustum query in each frame finds the bodies to"
        " draw, and their levels of detail.",
        _of_file("machine_gun"),
        600,
        (10, 10_000),
        camera="fly",
        culled=True,
    ),
    DemoScene(
        "boxes_10k",
        "10 000 boxes",
        "Cubes bounce in a cube; four in ten touch another.",
        _boxes,
        10_000,
        camera="orbit",
    ),
    DemoScene(
        "boxes_100k",
        "100 000 boxes",
        "The same with ten times as many, drawn as points: browsers draw more slowly than the engine computes.",
        _boxes,
        100_000,
        camera="orbit",
    ),
    DemoScene(
        "clusters",
        "Clusters",
        "Boxes of many sizes in dense swarms with empty space between. Compare the methods and their cells.",
        _clusters,
        4000,
        (10, 50_000),
        camera="near",
        method="octree",
    ),
    DemoScene(
        "us_counties",
        "US counties",
        "Storms drift over the boxes of 3,232 counties. Counties are static: only the storms are tested in each step.",
        _counties,
        120,
        (1, 5000),
        lights_static=True,
    ),
    DemoScene(
        "mesh",
        "Triangles of a mesh",
        "Balls fly through a mesh; each triangle is a static body. The button on the right loads a mesh of your own.",
        _mesh,
        150,
        (1, 5000),
        camera="orbit",
    ),
)


def scene_named(name: str) -> DemoScene:
    """Find a scene by its name, or make one from a scene file; else ValueError or FileNotFoundError."""
    for scene in SCENES:
        if scene.name == name:
            return scene
    if not name.lower().endswith((".toml", ".json")):
        message = unknown_name("scene", name, [scene.name for scene in SCENES])
        raise ValueError(f"{message}; scene files end in .toml or .json")
    plan = scenes.load(name)
    count = sum(group.count for group in plan.groups if group.body_type == "dynamic")
    return DemoScene(name, plan.title, plan.title, _of_file(name), max(1, count), (1, MOST))
