"""A robot's arm in thousands of configurations, beside python-fcl and MuJoCo, on the same geometry and one thread.

    python -m benchmarks.robots             # two minutes
    python -m benchmarks.robots --quick     # half a minute

All answers are compared. FCL gets the poses of the links as arrays, which are not in its time; MuJoCo's time is that of
``mj_collision`` alone, and ours includes the kinematics. The exit code is 1 when an answer was wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import broadphase as bp
from benchmarks.measuring import Timing, describe_machine, footnote, load, median_times, one_core
from benchmarks.rows import Row
from benchmarks.tables import duration, show_table

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

COLUMNS = ("what", "configurations", "library", "its time for each", "ours", "ratio", "must", "")
# Name of each link, its axis, how far up its parent it is, its length, and its radius; the last is a box.
ARM = (
    ("shoulder", (0, 0, 1), 0.1, 0.3, 0.07),
    ("upper", (0, 1, 0), 0.35, 0.4, 0.06),
    ("lower", (0, 1, 0), 0.45, 0.35, 0.05),
    ("forearm", (0, 0, 1), 0.4, 0.15, 0.05),
    ("wrist", (0, 1, 0), 0.2, 0.1, 0.045),
    ("hand", (0, 0, 1), 0.12, 0.16, 0.03),
)
BOXES = 500
HAND = np.array([0.12, 0.06, 0.16])
CLEAR = 0.35  # around the base: no box begins there


class Scene:
    """An arm of six links among boxes, and one more obstacle: a hull, or a mesh as it is."""

    def __init__(self, count: int, *, with_mesh: bool, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        links, parent = [], None
        for name, axis, up, long, radius in ARM:
            shape = bp.Box(*HAND, offset=(0, 0, up)) if name == "hand" else bp.Capsule((0, 0, 0), (0, 0, long), radius)
            links.append(bp.Link(name, shape, parent, "revolute", axis, (0, 0, up), limits=(-2.8, 2.8)))
            parent = name
        self.robot = bp.Articulated(links)
        centers = random.uniform(-1.6, 1.6, (4 * BOXES, 3))
        self.centers = centers[np.hypot(centers[:, 0], centers[:, 1]) > CLEAR][:BOXES]
        self.sizes = random.uniform(0.03, 0.16, (BOXES, 3))
        turns = random.normal(size=(BOXES, 4))
        self.turns = turns / np.linalg.norm(turns, axis=1, keepdims=True)
        self.vertices, self.faces = ball(3 if with_mesh else 1)
        if with_mesh:  # dents: no convex surface
            self.vertices = self.vertices * (1 + 0.3 * np.sin(9 * self.vertices).prod(axis=1))[:, np.newaxis]
        self.vertices = self.vertices * 0.25 + (0.7, 0.2, 0.4)
        self.with_mesh = with_mesh
        other = bp.Mesh(self.vertices, self.faces) if with_mesh else bp.ConvexHull(self.vertices)
        self.placed = bp.Shapes(
            [bp.Box(self.sizes), other], np.vstack([self.centers, np.zeros(3)]), np.vstack([self.turns, np.eye(4)[0]])
        )
        self.obstacles = bp.Obstacles(self.placed)
        low, high = self.robot.limits.T
        self.q = random.uniform(low, high, (count, len(ARM)))

    def ours(self) -> Bools:
        """Return which configurations collide."""
        found: Bools = self.robot.collides(self.q, self.obstacles)
        return found

    def on_the_brink(self, rows: NDArray[np.intp]) -> Bools:
        """Return which configurations are so near to touching that the iterations of others may end on either side."""
        near, found = 1e-5, np.zeros(len(rows), np.bool_)
        count = len(self.placed)
        for place, q in enumerate(self.q[rows]):
            placed = self.robot.placed(q)
            every = np.stack(np.divmod(np.arange(len(placed) * count), count), axis=1)
            distances = bp.distance(placed, self.placed, pairs=every, max_distance=near)
            found[place] = (
                min(np.abs(distances).min(), np.abs(bp.distance(placed, pairs=self.robot.pairs)).min()) < near
            )
        return found


def ball(rounds: int) -> tuple[Floats, NDArray[np.int32]]:
    """Give vertices and faces of a ball of radius 1: an octahedron, each face divided into four, round after round."""
    points = np.vstack([np.eye(3), -np.eye(3)])
    faces = np.array([[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]])
    for _ in range(rounds):
        corners = points[faces]
        middles = [corners[:, k] + corners[:, (k + 1) % 3] for k in range(3)]
        ab, bc, ca = (middle / np.linalg.norm(middle, axis=1, keepdims=True) for middle in middles)
        a, b, c = (corners[:, k] for k in range(3))
        triangles = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        every = np.concatenate([np.stack(triangle, axis=1) for triangle in triangles]).reshape(-1, 3)
        points, places = np.unique(every.round(12), axis=0, return_inverse=True)
        faces = places.reshape(-1, 3)
    return points, faces.astype(np.int32)


def matrices_of(quaternions: Floats) -> Floats:
    """Give the matrices of unit quaternions."""
    w, x, y, z = np.moveaxis(quaternions, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


class Fcl:
    """The scene in python-fcl: a manager of the links and one of the obstacles."""

    def __init__(self, scene: Scene, count: int) -> None:
        self.fcl, self.scene = load("fcl", "python-fcl"), scene
        fcl = self.fcl
        middles = np.array([[0, 0, up if name == "hand" else long / 2] for name, _, up, long, _ in ARM])
        self.links = [
            fcl.CollisionObject(fcl.Box(*HAND) if name == "hand" else fcl.Capsule(radius, long))
            for name, _, _, long, radius in ARM
        ]
        self.static = [
            fcl.CollisionObject(fcl.Box(*size), fcl.Transform(turn, center))
            for size, turn, center in zip(scene.sizes, matrices_of(scene.turns), scene.centers, strict=True)
        ]
        self.static.append(fcl.CollisionObject(self._other()))
        self.manager, self.moving = (fcl.DynamicAABBTreeCollisionManager() for _ in range(2))
        for manager, objects in ((self.manager, self.static), (self.moving, self.links)):
            manager.registerObjects(objects)
            manager.setup()
        positions, rotations = scene.robot.poses(scene.q[:count])
        turns = matrices_of(rotations)
        at = positions + (turns @ middles[:, :, np.newaxis])[..., 0]
        self.poses = [list(zip(*one, strict=True)) for one in zip(turns, at, strict=True)]

    def _other(self) -> Any:
        vertices, faces = self.scene.vertices, self.scene.faces
        if not self.scene.with_mesh:
            return self.fcl.Convex(vertices, len(faces), np.column_stack([np.full(len(faces), 3), faces]).ravel())
        surface = self.fcl.BVHModel()
        surface.beginModel(len(vertices), len(faces))
        surface.addSubModel(vertices, faces)
        surface.endModel()
        return surface

    def collides(self) -> Bools:
        """Return which configurations collide."""
        fcl, found = self.fcl, np.zeros(len(self.poses), np.bool_)
        pairs = [(self.links[i], self.links[j]) for i, j in self.scene.robot.pairs]
        for row, poses in enumerate(self.poses):
            for link, pose in zip(self.links, poses, strict=True):
                link.setTransform(fcl.Transform(*pose))
            self.moving.update()
            data = fcl.CollisionData()
            self.moving.collide(self.manager, data, fcl.defaultCollisionCallback)
            found[row] = data.result.is_collision or any(
                fcl.collide(*pair, fcl.CollisionRequest(), fcl.CollisionResult()) for pair in pairs
            )
        return found

    def clearance(self) -> Floats:
        """Return the least distances from obstacles."""
        fcl, found = self.fcl, np.zeros(len(self.poses))
        for row, poses in enumerate(self.poses):
            for link, pose in zip(self.links, poses, strict=True):
                link.setTransform(fcl.Transform(*pose))
            self.moving.update()
            data = fcl.DistanceData()
            self.moving.distance(self.manager, data, fcl.defaultDistanceCallback)
            found[row] = max(0.0, data.result.min_distance)
        return found


class MuJoCo:
    """The scene in MuJoCo: obstacles are geometries of the world."""

    def __init__(self, scene: Scene, count: int) -> None:
        self.mujoco, self.q = load("mujoco"), scene.q[:count]
        text = "".join(
            f'<geom type="box" pos="{numbers(center)}" size="{numbers(size / 2)}" quat="{numbers(turn)}"/>'
            for center, size, turn in zip(scene.centers, scene.sizes, scene.turns, strict=True)
        )
        for name, axis, up, long, radius in ARM:
            text += f'<body name="{name}" pos="0 0 {up}"><joint axis="{numbers(axis)}"/>'
            if name == "hand":
                text += f'<geom type="box" size="{numbers(HAND / 2)}" pos="0 0 {up}"/>'
            else:
                text += f'<geom type="capsule" size="{radius}" fromto="0 0 0 0 0 {long}"/>'
        self.model = self.mujoco.MjModel.from_xml_string(
            f'<mujoco><asset><mesh name="other" vertex="{numbers(scene.vertices)}"/></asset><worldbody>'
            f'<geom type="mesh" mesh="other"/>{text}{"</body>" * len(ARM)}</worldbody></mujoco>'
        )
        self.data = self.mujoco.MjData(self.model)

    def kinematics(self) -> None:
        """Only place everything."""
        qpos, place = self.data.qpos, self.mujoco.mj_kinematics
        for q in self.q:
            qpos[:] = q
            place(self.model, self.data)

    def collides(self) -> Bools:
        """Return which configurations collide."""
        found = np.zeros(len(self.q), np.bool_)
        qpos, place, collide = self.data.qpos, self.mujoco.mj_kinematics, self.mujoco.mj_collision
        for row, q in enumerate(self.q):
            qpos[:] = q
            place(self.model, self.data)
            collide(self.model, self.data)
            found[row] = self.data.ncon > 0
        return found


def numbers(values: Any) -> str:
    """Write numbers as MJCF has them."""
    return " ".join(repr(float(value)) for value in np.ravel(values))


def compared(scene: Scene, theirs: Bools, what: str) -> list[str]:
    """Return a line if answers differ that are not on the brink."""
    differ = np.flatnonzero(scene.ours()[: len(theirs)] != theirs)
    wrong = differ[~scene.on_the_brink(differ)]
    return [f"{what}: {len(wrong)} of {len(theirs)} answers differ, the first at {wrong[0]}"] if len(wrong) else []


def row_of(what: str, theirs: float, ours: Timing, count: int, must: float | None) -> Row:
    """Make a row of milliseconds for all configurations of the other library, and ours."""
    return Row(what, theirs / ours.milliseconds, "×", must, True, ours.milliseconds / count, theirs / count)


def measure(count: int, budget: float) -> tuple[list[tuple[str, int, str, Row]], list[str]]:
    """Measure everything; return rows with the number of configurations and the library, and what was wrong."""
    rows: list[tuple[str, int, str, Row]] = []
    wrong: list[str] = []
    for with_mesh, name in ((False, "500 boxes and a hull"), (True, "500 boxes and a mesh of 512 triangles")):
        scene = Scene(count, with_mesh=with_mesh)
        few = max(50, count // 10)
        fcl = Fcl(scene, few)
        calls: dict[str, Callable[[], Any]] = {"ours": scene.ours, "python-fcl": fcl.collides}
        wrong += compared(scene, fcl.collides(), f"python-fcl, {name}")
        if not with_mesh:  # its meshes are hulls
            mujoco = MuJoCo(scene, few)
            wrong += compared(scene, mujoco.collides(), f"mujoco, {name}")
            calls |= {"mujoco": mujoco.collides, "kinematics": mujoco.kinematics}
        times = median_times(calls, budget=budget)
        share, ours = count / few, times["ours"]
        what = f"collides, {name}"
        rows.append(
            (what, count, "python-fcl", row_of(what, times["python-fcl"].milliseconds * share, ours, count, 20))
        )
        if not with_mesh:
            alone = (times["mujoco"].milliseconds - times["kinematics"].milliseconds) * share
            rows.append((what, count, "mujoco, mj_collision", row_of(what, alone, ours, count, 3)))
            whole = times["mujoco"].milliseconds * share
            rows.append((what, count, "mujoco, with mj_kinematics", row_of(what, whole, ours, count, None)))
        rows += clearances(scene, fcl, name, budget, wrong)
    return rows, wrong


def clearances(scene: Scene, fcl: Fcl, name: str, budget: float, wrong: list[str]) -> list[tuple[str, int, str, Row]]:
    """Measure the least distances from obstacles of a tenth of the configurations."""
    free = bp.Articulated(
        scene.robot.links, allowed=[(a.name, b.name) for a in scene.robot.links for b in scene.robot.links]
    )
    fcl.poses, q = fcl.poses[:200], scene.q[: len(fcl.poses[:200])]
    ours, theirs = free.clearance(q, scene.obstacles), fcl.clearance()
    # FCL ends its iterations at a tolerance of 1e-6 of the distance.
    if (np.abs(ours - theirs) > 1e-4).any():
        wrong.append(f"python-fcl, clearance, {name}: differs by {np.abs(ours - theirs).max():.2g}")
    times = median_times(
        {"ours": lambda: free.clearance(q, scene.obstacles), "python-fcl": fcl.clearance}, budget=budget / 2
    )
    what = f"clearance, {name}"
    return [(what, len(q), "python-fcl", row_of(what, times["python-fcl"].milliseconds, times["ours"], len(q), None))]


def ours_alone(count: int, budget: float) -> list[str]:
    """Return lines about calls that the others do not have."""
    scene = Scene(count, with_mesh=False)
    robot, q, obstacles = scene.robot, scene.q, scene.obstacles
    few = slice(0, max(50, count // 10))
    ends = q[few] + np.random.default_rng(1).uniform(-0.2, 0.2, q[few].shape)
    shares = np.linspace(0, 1, 20)[:, np.newaxis, np.newaxis]
    samples = (q[few] + shares * (ends - q[few])).reshape(-1, q.shape[1])
    calls: dict[str, Callable[[], Any]] = {
        "poses": lambda: robot.poses(q),
        "collides, only the robot itself": lambda: robot.collides(q),
        "collides": lambda: robot.collides(q, obstacles),
        "collides, padding of 0.02": lambda: robot.collides(q, obstacles, padding=0.02),
        "clearance up to 0.05": lambda: robot.clearance(q, obstacles, max_distance=0.05),
        "collides, a call for each": lambda: [robot.collides(row, obstacles) for row in q[few]],
        "collides, 20 samples of ways of up to 0.2 rad": lambda: robot.collides(samples, obstacles),
        "edges_collide, ways of up to 0.2 rad": lambda: robot.edges_collide(q[few], ends, obstacles),
        "first_contact, ways of up to 0.2 rad": lambda: robot.first_contact(q[few], ends, obstacles),
    }
    counts = {name: few.stop if "each" in name or "ways" in name else count for name in calls}
    times = median_times(calls, budget=budget)
    return [f"{name}: {duration(times[name].milliseconds / counts[name])}" for name in calls]


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.robots", description="A robot's arm among boxes.")
    parser.add_argument("--quick", action="store_true", help="a quarter of the time")
    parser.add_argument("--count", type=int, default=10_000, help="configurations (10000)")
    chosen = parser.parse_args()
    budget = 8.0 if chosen.quick else 30.0
    with one_core():
        rows, wrong = measure(chosen.count, budget)
        alone = ours_alone(chosen.count, budget / 3)
    show_table(COLUMNS, [cells(*row) for row in rows], "Robots", left=1)
    print("for each configuration, ours alone: " + "; ".join(alone))
    versions = ", ".join(f"{name} {version(name)}" for name in ("python-fcl", "mujoco"))
    print(f"{footnote(describe_machine())}; {versions}")
    for line in wrong:
        print(f"WRONG: {line}", file=sys.stderr)
    return 1 if wrong else 0


def cells(what: str, count: int, library: str, row: Row) -> list[str]:
    """Return the cells of a row."""
    must = "" if row.target is None else f"≥ {row.target:g} ×"
    met = {None: "", True: "met", False: "MISSED"}[row.met]
    times = duration(row.yardstick), duration(row.milliseconds)
    return [what, f"{count:,}", library, *times, f"{row.measured:.3g} ×", must, met]


if __name__ == "__main__":
    sys.exit(main())
