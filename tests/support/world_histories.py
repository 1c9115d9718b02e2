"""Random histories of worlds, beside a plain account of what each must say."""

import heapq
from typing import Any

import numpy as np
import pytest

import broadphase as bp
import shape_cases
from broadphase import _native
from index_cases import generator
from oracles.shapes import Part, parts_of, shapes_touch
from oracles.worlds import ALL_BITS, BODY_TYPES, Body, PlainWorld

METHODS = ("auto", *(method.name for method in bp.METHODS))
EVENTS = ("enter", "stay", "exit", "exit_handles", "pairs")


def small_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let "auto" take its tree in worlds of a few bodies, and leave it again; let all methods keep near pairs."""
    limits = _native.step_limits
    monkeypatch.setattr(limits, "rows_for_a_tree", 4)
    monkeypatch.setattr(limits, "rows_for_near_pairs", 4)
    monkeypatch.setattr(limits, "steps_before_a_tree", 1)
    monkeypatch.setattr(limits, "few", 0.7)


class RoundedBoxes:
    """Balls, boxes and points on a lattice, where they often touch just so; or anywhere."""

    overlap = None
    turns = False

    def __init__(self, rng: np.random.Generator, dimension: int) -> None:
        self.rng, self.dimension = rng, dimension
        self.on_lattice = bool(rng.random() < 0.6)
        self.reach = float(rng.choice([3, 6, 12]))

    def place(self) -> np.ndarray:
        if self.on_lattice:
            return self.rng.integers(-self.reach, self.reach + 1, self.dimension) / 2
        return self.rng.uniform(-self.reach, self.reach, self.dimension) / 2

    def size(self, shape: tuple[int, ...] = ()) -> Any:
        return self.rng.integers(0, 4, shape) / 2 if self.on_lattice else self.rng.uniform(0, 1.5, shape)

    def rotation(self) -> Any:
        return 0.0 if self.dimension == 2 else np.array([1.0, 0, 0, 0])

    def shape(self) -> tuple[Any, dict[str, Any]]:
        """Give a shape, and what the oracle calls it."""
        kind = self.rng.integers(3)
        if kind == 0:
            radius = float(self.size())
            return (bp.Circle if self.dimension == 2 else bp.Sphere)(radius), {"radius": radius, "half": 0.0}
        if kind == 1:
            sizes = self.size((self.dimension,))
            return (bp.Rectangle if self.dimension == 2 else bp.Box)(*sizes), {"radius": 0.0, "half": sizes / 2}
        return bp.Point(), {"radius": 0.0, "half": 0.0}


class AnyShapes(RoundedBoxes):
    """Shapes of all kinds, turned."""

    turns = True

    def __init__(self, rng: np.random.Generator, dimension: int) -> None:
        super().__init__(rng, dimension)
        # What was computed for a shape and its pose, or for two of them: steps often repeat them.
        self.placed: dict[Any, tuple[list[Part], np.ndarray]] = {}
        self.touch: dict[Any, bool] = {}
        self.shapes: list[Any] = []  # kept alive, so that an id stays that of one shape

    def overlap(self, first: list[Body], second: list[Body]) -> np.ndarray:
        """Tell which pairs touch, by plain NumPy."""
        bodies = {id(body): body for body in (*first, *second)}
        keys = {number: self.place_once(body) for number, body in bodies.items()}
        if not keys:
            return np.zeros(0, bool)
        bounds = [np.array([self.placed[keys[id(body)]][1] for body in side]) for side in (first, second)]
        found = (bounds[0][:, 0] <= bounds[1][:, 1]).all(axis=1) & (bounds[1][:, 0] <= bounds[0][:, 1]).all(axis=1)
        for k in np.flatnonzero(found):
            pair = keys[id(first[k])], keys[id(second[k])]
            if pair not in self.touch:
                self.touch[pair] = shapes_touch(*(self.placed[key][0] for key in pair))
            found[k] = self.touch[pair]
        return found

    def place_once(self, body: Body) -> Any:
        """Give the key of a shape in its pose, of which `placed` has the parts and a box around them."""
        key = id(body.shape), body.seen[0].tobytes(), body.seen[1].tobytes()
        if key not in self.placed:
            parts = parts_of(body.shape, *body.seen)
            lower = np.min([part.points.min(axis=0) - part.radius for part in parts], axis=0)
            upper = np.max([part.points.max(axis=0) + part.radius for part in parts], axis=0)
            self.placed[key] = parts, np.stack([lower - 1e-9, upper + 1e-9])
        return key

    def rotation(self) -> Any:
        if self.dimension == 2:
            return float(self.rng.choice([0.0, np.pi / 2, self.rng.uniform(-4, 4)]))
        return self.rng.normal(size=4)

    def shape(self) -> tuple[Any, dict[str, Any]]:
        name = self.rng.choice(shape_cases.EXACT[self.dimension])
        shape = shape_cases.shape_of(name, shape_cases.Numbers(self.rng, self.dimension))
        self.shapes.append(shape)
        return shape, {"shape": shape}


class History:
    """Worlds that live through the same, and the plain one that says what they must tell."""

    def __init__(self, seed: int, dimension: int, worlds: list[dict[str, Any]], kind: type = RoundedBoxes) -> None:
        self.rng = rng = generator("world history", seed, dimension, kind.__name__)
        self.label = f"seed={seed} d={dimension} {kind.__name__}"
        self.dimension = dimension
        self.make = kind(rng, dimension)
        self.options = worlds
        self.worlds = [bp.World(dim=dimension, **options) for options in worlds]
        self.plain = PlainWorld(self.make.overlap)
        self.log: list[str] = []
        self.free: list[int] = []
        self.generation: dict[int, int] = {}
        self.stale: list[int] = []
        self.few = bool(rng.random() < 0.5)  # a small part changes from step to step

    def where(self) -> str:
        return f"{self.label} after {self.log[-12:]}"

    def each(self, call: Any) -> list[Any]:
        return [call(world) for world in self.worlds]

    def some_rows(self, share: float | None = None) -> list[int]:
        rows = sorted(self.plain.bodies)
        part = (self.rng.choice([0.1, 0.5, 1.0]) if not self.few else 0.1) if share is None else share
        return sorted(self.rng.permutation(rows)[: int(np.ceil(part * len(rows)))].tolist())

    def change(self) -> None:
        changes = {
            self.add: 2, self.remove: 1.5, self.write: 5, self.move: 2, self.set_velocities: 2, self.set_shapes: 1,
            self.set_filters: 1, self.ignore: 1, self.unignore: 1, self.sleep: 1, self.wake: 1, self.refresh: 1,
            self.ask: 1, self.switch: 0.5, self.store: 0.5,
        }  # fmt: skip
        weights = np.array(list(changes.values()))
        change = list(changes)[self.rng.choice(len(changes), p=weights / weights.sum())]
        self.log.append(change.__name__)
        change()

    # What happens to them ------------------------------------------------------------------------------------------

    def take_row(self) -> int:
        row = heapq.heappop(self.free) if self.free else len(self.generation)
        self.generation[row] = self.generation.get(row, 0) + 1
        return row

    def add(self, count: int | None = None) -> None:
        rng = self.rng
        count = int(rng.choice([0, 1, 2, 8])) if count is None else count
        shapes, halves = zip(*(self.make.shape() for _ in range(count)), strict=True) if count else ((), ())
        places = np.array([self.make.place() for _ in range(count)]).reshape(count, self.dimension)
        paces = rng.choice([0.0, 0.0, 0.5, -1.0], (count, self.dimension))
        kinds = rng.choice(BODY_TYPES, count, p=[0.6, 0.25, 0.15])
        turns = np.array([self.make.rotation() for _ in range(count)])
        every = rng.choice([1, 1, 1, 2, 3], count)
        filtered = rng.random() < 0.3
        layers = rng.integers(1, 32, count).astype(np.uint64) if filtered else np.ones(count, np.uint64)
        masks = rng.integers(0, 32, count).astype(np.uint64) if filtered else np.full(count, ALL_BITS, np.uint64)
        groups = rng.integers(-2, 3, count) if rng.random() < 0.3 else np.zeros(count, np.int64)
        options: dict[str, Any] = {
            "velocities": paces,
            "body_type": kinds.tolist(),
            "update_interval": every,
            "group": groups,
        }
        if filtered:
            options |= {"layer": layers, "mask": masks}
        if self.make.turns:
            options["rotations"] = turns
        given = self.each(lambda world: world.add_many(list(shapes), places, **options).tolist())
        rows = [self.take_row() for _ in range(count)]
        assert all(one == rows for one in given), self.where()
        for k, row in enumerate(rows):
            self.plain.bodies[row] = Body(
                handle=self.generation[row] << 32 | row, position=places[k], rotation=turns[k], velocity=paces[k],
                body_type=str(kinds[k]), layer=int(layers[k]), mask=int(masks[k]), group=int(groups[k]),
                update_interval=int(every[k]), **halves[k],
            )  # fmt: skip

    def remove(self) -> None:
        rows = self.some_rows()[:8]
        self.stale += [self.plain.bodies[row].handle for row in rows]
        self.each(lambda world: world.remove(rows))
        for row in rows:
            self.plain.remove(row)
            heapq.heappush(self.free, row)

    def new_places(self, rows: list[int]) -> np.ndarray:
        if self.rng.random() < 0.5:
            return np.array([self.make.place() for _ in rows]).reshape(-1, self.dimension)
        old = np.array([self.plain.bodies[row].position for row in rows]).reshape(-1, self.dimension)
        return old + self.rng.choice([0.0, 0.25, -0.25], old.shape)

    def new_turns(self, rows: list[int]) -> Any:
        if not (self.make.turns and self.rng.random() < 0.5):
            return None
        return np.array([self.make.rotation() for _ in rows]).reshape(len(rows), *np.shape(self.make.rotation()))

    def write(self) -> None:
        """Write to the arrays, as a user does."""
        rows = self.some_rows()
        places, turns = self.new_places(rows), self.new_turns(rows)
        for world in self.worlds:
            world.positions[rows] = places
            if turns is not None:
                world.rotations[rows] = turns
        self.take_poses(rows, places, turns, is_put=False)

    def move(self) -> None:
        rows = self.some_rows()
        places, turns = self.new_places(rows), self.new_turns(rows)
        options = {} if turns is None else {"rotations": turns}
        self.each(lambda world: world.move(rows, places, **options))
        self.take_poses(rows, places, turns, is_put=True)

    def take_poses(self, rows: list[int], places: np.ndarray, turns: Any, is_put: bool) -> None:
        for k, row in enumerate(rows):
            body = self.plain.bodies[row]
            body.position, body.is_put = places[k], body.is_put or is_put
            if turns is not None:
                body.rotation = turns[k]

    def set_velocities(self) -> None:
        rows = self.some_rows()
        paces = self.rng.choice([0.0, 0.25, -0.5], (len(rows), self.dimension))
        if self.rng.random() < 0.5:
            self.each(lambda world: world.move(rows, velocities=paces))
        else:
            for world in self.worlds:
                world.velocities[rows] = paces
        for row, pace in zip(rows, paces, strict=True):
            self.plain.bodies[row].velocity = pace

    def set_shapes(self) -> None:
        rows = self.some_rows()
        made = [self.make.shape() for _ in rows]
        self.each(lambda world: world.set_shapes(rows, [shape for shape, _ in made]))
        for row, (_, known) in zip(rows, made, strict=True):
            body = self.plain.bodies[row]
            vars(body).update(known)
            # It is seen as what it is at once, and where it was seen last.
            body.core = np.stack([body.seen[0] - body.half, body.seen[0] + body.half])

    def set_filters(self) -> None:
        rows = self.some_rows()
        for name, low, high in (("layer", 1, 32), ("mask", 0, 32), ("group", -2, 3)):
            if self.rng.random() < 0.5:
                values = self.rng.integers(low, high, len(rows))
                given = values if name == "group" else values.astype(np.uint64)
                self.each(lambda world, name=name, given=given: world.set_filters(rows, **{name: given}))
                for row, value in zip(rows, values.tolist(), strict=True):
                    setattr(self.plain.bodies[row], name, value)

    def some_pairs(self) -> np.ndarray:
        rows = sorted(self.plain.bodies)
        if len(rows) < 2:
            return np.empty((0, 2), np.int64)
        pairs = [self.rng.choice(rows, 2, replace=False) for _ in range(6)]
        standing = sorted((a & 0xFFFF_FFFF, b & 0xFFFF_FFFF) for a, b in self.plain.book.standing)
        alive = [pair for pair in standing if pair[0] in self.plain.bodies and pair[1] in self.plain.bodies]
        return np.array(pairs + alive[:3])

    def ignore(self) -> None:
        pairs = self.some_pairs()
        self.each(lambda world: world.ignore(pairs))
        self.plain.ignored |= {(min(pair), max(pair)) for pair in pairs.tolist()}

    def unignore(self) -> None:
        pairs = [*self.some_pairs().tolist(), *sorted(self.plain.ignored)[:3]]
        self.each(lambda world: world.unignore(pairs))
        self.plain.ignored -= {(min(pair), max(pair)) for pair in pairs}

    def sleep(self) -> None:
        self.set_asleep(self.some_rows(), True)

    def wake(self) -> None:
        self.set_asleep(self.some_rows(1.0), False)

    def set_asleep(self, rows: list[int], asleep: bool) -> None:
        self.each(lambda world: world.sleep(rows) if asleep else world.wake(rows))
        for row in rows:
            self.plain.bodies[row].asleep = asleep

    def refresh(self) -> None:
        self.each(lambda world: world.refresh())
        self.plain.refresh()

    def ask(self) -> None:
        """Query the index: it has all bodies, and those that were put elsewhere have been seen there then."""
        everywhere = [[-np.inf] * self.dimension + [np.inf] * self.dimension]
        for world in self.worlds:
            expected = sorted(row for row, body in self.plain.bodies.items() if body.layer and body.mask)
            assert world.query(everywhere).rows.tolist() == expected, self.where()
        for body in self.plain.bodies.values():
            if body.is_put:
                body.look()

    def switch(self) -> None:
        """Find pairs by another method from now on."""
        for world in self.worlds:
            world.method = str(self.rng.choice(METHODS))

    def store(self) -> None:
        """Go on with what was read back from bytes: it must make no difference."""
        self.worlds = [bp.World.from_bytes(world.to_bytes()) for world in self.worlds]

    # What they must say --------------------------------------------------------------------------------------------

    def step(self, budget: Any = None) -> list[Any]:
        dt = float(self.rng.choice([0.0, 0.0, 0.5, 1.0]))
        self.log.append(f"step({dt})")
        frames = self.each(lambda world: world.step(dt, budget=budget))
        events = self.plain.step(dt)
        for world, frame, options in zip(self.worlds, frames, self.options, strict=True):
            where = f"{options}: {self.where()}"
            for name, expected in events._asdict().items():
                actual = getattr(frame, name)
                assert actual.dtype == expected.dtype, f"{name}, {where}"
                if not np.array_equal(actual, expected):
                    extra, missing = (set(map(tuple, a.tolist())) for a in (actual, expected))
                    raise AssertionError(f"{name}, extra {extra - missing}, missing {missing - extra}, {where}")
            assert np.array_equal(frame.pairs, world.pairs), where
            rows = sorted(self.plain.bodies)
            assert world.rows.tolist() == rows, where
            if rows:
                positions = np.array([self.plain.bodies[row].position for row in rows])
                assert np.array_equal(world.positions[rows], positions), where
        for other in frames[1:]:
            for name in EVENTS:
                assert getattr(other, name).tobytes() == getattr(frames[0], name).tobytes(), self.where()
        return frames

    def check(self) -> None:
        for world in self.worlds:
            try:
                world.validate()
            except AssertionError as error:
                raise AssertionError(f"{self.where()}: {error}") from None
            handles = [body.handle for _, body in sorted(self.plain.bodies.items())]
            assert world.handles().tolist() == handles, self.where()
            assert world.rows_of(handles).tolist() == sorted(self.plain.bodies), self.where()
            for handle in self.stale[-20:]:
                with pytest.raises(KeyError):
                    world.rows_of([handle])

    def run(self, frames: int, first: int = 25) -> None:
        """Live through some frames, with a few changes before each."""
        self.add(first)
        for _ in range(frames):
            for _ in range(int(self.rng.integers(0, 4))):
                self.change()
            self.step()
            if self.rng.random() < 0.3:
                self.check()
        self.check()

    def end(self) -> None:
        """Remove everything: what has begun must end."""
        rows = sorted(self.plain.bodies)
        self.each(lambda world: world.remove(rows))
        for row in rows:
            self.plain.remove(row)
        for frame in self.step():
            assert len(frame.pairs) == len(frame.enter) == 0
        assert not self.plain.book.standing
        self.check()
