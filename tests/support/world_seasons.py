"""A world whose bodies are removed and added in every frame, and whose memory must not grow."""

from typing import Any

import broadphase as bp
import shape_cases
from index_cases import generator


class Season:
    """Bodies that move, of which some are replaced in every frame; shapes, filters and sleep change now and then."""

    BODIES = 80

    def __init__(self, method: str, dimension: int) -> None:
        self.rng = generator("season", method, dimension)
        self.dimension = dimension
        self.world = bp.World(dimension, method=method, bounds=[[-8] * dimension, [8] * dimension], boundary="bounce")
        self.world.layer("bonus", priority=2)
        self.frame: Any = None
        self.begun = self.ended = self.calls = 0
        self.shapes = shape_cases.one_of_each(
            dimension, shape_cases.Numbers(self.rng, dimension), shape_cases.PARTS[dimension]
        )
        self.add(self.BODIES)
        self.world.on_enter("bonus")(self.hear)

    def hear(self, event: Any) -> None:
        self.calls += event.actor is not None

    def add(self, count: int) -> None:
        rng, d = self.rng, self.dimension
        shapes = [self.shapes[number] for number in rng.integers(len(self.shapes), size=count)]
        self.world.add_many(
            shapes, rng.uniform(-7, 7, (count, d)), velocities=rng.uniform(-3, 3, (count, d)),
            layer=["bonus" if number < 0.2 else "default" for number in rng.random(count)],
            update_interval=rng.choice([1, 1, 2], count), sensor=rng.random(count) < 0.1,
        )  # fmt: skip

    def live(self, number: int) -> None:
        """Change a few bodies, and step."""
        world, rng = self.world, self.rng
        rows = rng.permutation(world.rows.copy())[:6]
        world.remove(rows[:3])
        self.add(self.BODIES - len(world))
        what = number % 6
        if what == 0:
            world.set_shapes(rows[3:], self.shapes[int(rng.integers(len(self.shapes)))])
        elif what == 1:
            world.ignore([rows[3:5]])
        elif what == 2:
            (world.sleep if number % 4 else world.wake)(rows[3:])
        elif what == 3:
            world.query([[[-1] * self.dimension, [1] * self.dimension]])
        elif what == 4:
            world.set_filters(rows[3:], group=int(rng.integers(-1, 2)))
        self.frame = world.step(1 / 60, budget=bp.Budget(tests=400) if number % 5 == 0 else None)
        self.begun += len(self.frame.enter)
        self.ended += len(self.frame.exit)
        if number % 10 == 0:
            assert len(self.frame.contacts.pairs) <= len(self.frame.pairs)
        assert self.begun - self.ended == len(self.frame.pairs)

    def weight(self) -> int:
        """Give the bytes that the world holds between frames."""
        return int(self.world.stats()["bytes"])


def heaviest(season: Season, frames: range) -> int:
    """Run some frames, and give the greatest weight on the way."""
    weights = []
    for number in frames:
        season.live(number)
        if number % 10 == 0:
            weights.append(season.weight())
    return max(weights)
