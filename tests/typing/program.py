"""A user's program that passes `mypy --strict`: what the calls return is known, and no result needs a cast."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import broadphase as bp


class Ball(bp.Actor):
    """Counts what it hits, and leaves after three."""

    hits: int = 0

    def on_enter(self, other: bp.Actor) -> None:
        self.hits += 1
        if self.hits == 3:
            self.remove()

    def push(self, speed: float) -> None:
        self.velocity = np.array([speed, 0.0])


def find_pairs(boxes: NDArray[np.float64]) -> int:
    found = bp.pairs(boxes, method="grid", workers=2, sort=True, touching=False)
    assert_type(found, NDArray[np.int32])
    assert_type(bp.count_pairs([[0, 0, 2, 2], [1, 1, 3, 3]]), int)
    return sum(len(chunk) for chunk in bp.iter_pairs(boxes, chunk=100))


def plan(cloud: NDArray[np.float64], with_pairs: bool) -> list[list[str | None]]:
    robot = bp.Articulated([bp.Link("cart", bp.Sphere(1.0), joint="prismatic")])
    scene = bp.Obstacles([bp.Box(1.0, 1.0, 1.0)], points=cloud, radius=0.02)
    scene.update(positions=[0.0, 0.0, 9.0], rows=[0])
    held = robot.attach("cart", bp.Box(1.0, 1.0, 1.0), (0.0, 0.0, 1.5), name="box", touch_links=["cart", None])
    assert_type(held.detach("box"), bp.Articulated)
    assert_type(held.attached, tuple[str, ...])
    robot.collides([[0.0]], scene, pairs=with_pairs)
    near = held.clearance([[0.0]], scene, points=True)
    assert_type(near, bp.robots.NearestParts)
    assert_type(near.points, NDArray[np.float64])
    found = held.collides([[0.0]], scene, pairs=True)
    assert_type(found, bp.robots.Collisions)
    assert_type(found.rows, NDArray[np.int32])
    links: list[list[str | None]] = found.links.tolist()
    return links


def query_boxes(boxes: NDArray[np.float64]) -> float:
    index = bp.Index(boxes)
    rows = index.insert(boxes[:2] + 10.0)
    assert_type(rows, NDArray[np.int32])
    result = index.query_points([[0.5, 0.5], [3.0, 3.0]])
    assert_type(result.rows, NDArray[np.int32])
    assert_type(result[0], NDArray[np.int32])
    assert_type(result.query_rows, NDArray[np.int32])
    nearest = index.nearest([[9.0, 9.0]], k=2)
    hits = index.raycast([[-1.0, 0.5]], [[1.0, 0.0]])
    assert_type(nearest.rows, NDArray[np.int32])
    assert_type(hits.rows, NDArray[np.int32])
    assert_type(index.query((0, 0, 1, 1)), NDArray[np.int32])
    assert_type(index.query(((0, 0), (1, 1))), NDArray[np.int32])
    assert_type(index.query([[0, 0, 1, 1]]), bp.index.QueryResult)
    assert_type(index.query_points([0.5, 0.5]), NDArray[np.int32])
    assert_type(index.query_ball((0, 0), 2), NDArray[np.int32])
    hit = index.raycast((-1, 0.5), (1, 0))
    assert_type(hit, bp.index.RayHits[int, float])
    assert_type(hit.distances, float)
    assert_type(index.raycast_any((-1, 0.5), (1, 0), 3), bool)
    assert_type(index.raycast_any([[-1, 0.5]], [[1, 0]]), NDArray[np.bool_])
    assert_type(index.raycast_all((-1, 0.5), (1, 0)), tuple[NDArray[np.int32], NDArray[np.float64]])
    assert_type(index.shapecast((0, 0, 1, 1), (1, 0)).times, float)
    index.move(rows, boxes[:2])
    changes = index.changes()
    assert_type(changes.enter, NDArray[np.int32])
    return float(nearest.distances.min() + hits.distances.min() + len(changes.exit))


def measure_two_shapes(shapes: bp.Shapes) -> float:
    assert_type(bp.overlaps(shapes), NDArray[np.int32])
    assert_type(bp.distance(shapes, pairs=[[0, 1]]), NDArray[np.float64])
    gap: float = bp.distance(bp.Circle(1), bp.Circle(1, offset=(3, 0)))
    touching: bool = bp.overlaps(bp.Circle(1), bp.Shapes(bp.Circle(1), (3, 0)))
    return 0.0 if touching else gap


def measure_shapes() -> float:
    positions = np.array([[0.0, 0.0], [1.5, 0.0]])
    shapes = bp.Shapes([bp.Circle(1.0), bp.Rectangle(2.0, 1.0)], positions, rotations=[0.0, 0.5])
    found = bp.contacts(shapes)
    assert_type(found.pairs, NDArray[np.int32])
    assert_type(found.depths, NDArray[np.float64])
    return float(found.depths.sum())


def play(steps: int) -> list[str]:
    world = bp.World(dim=2, bounds=[[0, 0], [20, 20]], boundary="bounce", method="octree")
    ball = world.add(bp.Circle(0.5), position=(2, 5), velocity=(4, 0), layer="ball", actor=Ball, body_type="kinematic")
    assert_type(ball, Ball)
    ball.push(6.0)
    balls = [world.add(bp.Circle(0.5), position=(x, 9), layer="ball", actor=Ball) for x in (4, 8, 12)]
    assert_type(balls, list[Ball])
    wall = world.add(bp.Rectangle(1, 20), position=(10, 10), layer="wall", body_type="static", boundary="none")
    assert_type(wall, bp.Actor)
    told: list[str] = []

    @world.on_enter("ball", "wall")
    def note(event: bp.world.Event) -> str:
        told.append(f"{event.actor} meets {event.other}")
        return told[-1]

    @world.on_exit("ball", "wall")
    def note_exit(event: bp.world.Event) -> None:
        told.append(note(event=event))  # by its name: the decorator keeps the type of the function

    @world.on_enter(Ball, "wall")
    def note_ball(event: bp.world.Event) -> None:
        told.append(note(event=event))

    @world.on_stay(Ball)
    def note_stay(event: bp.world.Event) -> str:
        return note(event=event)

    @world.on_enter
    def note_all(event: bp.world.Event) -> str:
        return note(event=event)

    assert_type(note_stay(bp.world.Event.__new__(bp.world.Event)) if steps < 0 else "", str)
    assert_type(note_all(bp.world.Event.__new__(bp.world.Event)) if steps < 0 else "", str)

    @world.on_step
    def count(frame: bp.world.Frame) -> None:
        told.append(str(frame.number))

    for _ in range(steps):
        frame = world.step(1 / 60, budget=0.004)
        assert_type(frame, bp.world.Frame)
        assert_type(frame.enter, NDArray[np.int32])
        assert_type(frame.contacts.normals, NDArray[np.float64])
    world.step(1 / 60, budget=bp.Budget(seconds=0.002, tests=1000))
    for row in world.query_points([(10, 10)], layer="wall").rows.tolist():
        assert_type(world.actor(row), bp.Actor)
    hit = world.raycast((0, 5), (1, 0))
    if hit is not None:
        told.append(f"{hit.actor} at {hit.distance}")
    coins = world.add_many(bp.Circle(0.1), [[3, 3], [4, 4]], layer="coin", actor=Ball)
    assert_type(coins, NDArray[np.int32])
    assert_type(world.rows_in_layer({"coin", "ball"}), NDArray[np.int32])
    world.method = bp.Octree
    world.remove_handler(note)
    assert_type(world.clear_handlers(), int)
    return told


def main() -> None:
    boxes = np.array([[[0, 0], [2, 2]], [[1, 1], [3, 3]], [[9, 9], [9, 9]]], dtype=np.float64)
    print(find_pairs(boxes), query_boxes(boxes), measure_shapes(), len(play(30)))


if __name__ == "__main__":
    main()
