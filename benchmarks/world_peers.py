"""Other libraries that step a world of moving bodies: each makes its own world of a scene, and steps it.

``step()`` ends when the pairs that touch are known, or those that enter and exit, in whatever form the library has;
``touching()`` then returns the pairs as sorted integers, ``first << 32 | second``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import broadphase as bp
from benchmarks.measuring import load
from benchmarks.query_peers import keys_of, sorted_pair_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from benchmarks.world_scenes import WorldScene


class RunningWorld(Protocol):
    """A scene in some library."""

    def step(self) -> None:
        """Move on by one step."""

    def touching(self) -> NDArray[np.int64]:
        """Return the pairs that touch."""


@dataclass(frozen=True, slots=True)
class WorldPeer:
    """A library, and for which scenes it is made."""

    name: str
    title: str
    distribution: str
    make: Callable[[WorldScene], RunningWorld]
    scenes: tuple[str, ...]
    remark: str = ""
    lag: int = 0  # steps by which its answer is behind: 1 if it tests first and then moves


class OwnWorld:
    """The whole step of `broadphase.World`, with events."""

    def __init__(self, scene: WorldScene) -> None:
        self.world = bp.World(dim=scene.dimension)
        types = np.where(np.arange(scene.count) < scene.moving, "dynamic", "static")
        self.world.add_many(scene.shape_of_bodies(), scene.positions, velocities=scene.velocities, body_type=types)
        self.frame: Any = None

    def step(self) -> None:
        """Integrate, find contacts, enter and exit events."""
        self.frame = self.world.step(dt=1.0)

    def touching(self) -> NDArray[np.int64]:
        """Return the pairs of the last frame."""
        return keys_of(self.frame.pairs)


class PymunkWorld:
    """Sensors in a space of pymunk, with callbacks for what begins and separates."""

    def __init__(self, scene: WorldScene) -> None:
        pymunk = load("pymunk")
        self.space = pymunk.Space()
        self.pairs: set[tuple[int, int]] = set()
        half = scene.size / 2
        for row, (position, velocity) in enumerate(zip(scene.positions, scene.velocities, strict=True)):
            body = pymunk.Body(1.0, 1.0)
            body.position, body.velocity = tuple(position), tuple(velocity)
            if scene.shape == "rectangle":
                shape = pymunk.Poly(body, [(-half, -half), (half, -half), (half, half), (-half, half)])
            else:
                shape = pymunk.Circle(body, half)
            shape.sensor, shape.collision_type, shape.row = True, 1, row
            self.space.add(body, shape)
        if hasattr(self.space, "on_collision"):
            self.space.on_collision(1, 1, begin=self._begin, separate=self._separate)
        else:  # before version 7, which arcade does not take
            handler = self.space.add_collision_handler(1, 1)
            handler.begin, handler.separate = self._begin, self._separate

    def _begin(self, arbiter: Any, _: Any, __: Any) -> bool:
        first, second = arbiter.shapes
        self.pairs.add((first.row, second.row))
        return True

    def _separate(self, arbiter: Any, _: Any, __: Any) -> None:
        first, second = arbiter.shapes
        self.pairs.discard((first.row, second.row))
        self.pairs.discard((second.row, first.row))

    def step(self) -> None:
        """Let the space move on."""
        self.space.step(1.0)

    def touching(self) -> NDArray[np.int64]:
        """Return the pairs that touch."""
        pairs = np.array(list(self.pairs), np.int64).reshape(-1, 2)
        return sorted_pair_keys(pairs[:, 0], pairs[:, 1])


class FclWorld:
    """Balls in a manager of FCL, tested pair by pair in its callback, which names them only by where they are."""

    def __init__(self, scene: WorldScene) -> None:
        self.fcl = load("fcl", "python-fcl")
        ball, upright = self.fcl.Sphere(scene.size / 2), np.eye(3)
        self.positions, self.velocities = _in_space(scene.positions), _in_space(scene.velocities)
        self.objects = [self.fcl.CollisionObject(ball, self.fcl.Transform(upright, at)) for at in self.positions]
        self.moving = [self.objects[row] for row in range(scene.moving)]
        self.manager, self.still = (self.fcl.DynamicAABBTreeCollisionManager() for _ in range(2))
        self.manager.registerObjects(self.moving)
        self.still.registerObjects(self.objects[scene.moving :])
        self.manager.setup()
        self.still.setup()
        self.found: list[tuple[bytes, bytes]] = []
        self.request = self.fcl.CollisionRequest()

    def _note(self, first: Any, second: Any, _: Any) -> bool:
        if self.fcl.collide(first, second, self.request, self.fcl.CollisionResult()):
            self.found.append((first.getTranslation().tobytes(), second.getTranslation().tobytes()))
        return False

    def step(self) -> None:
        """Move what moves, update the manager, and collide all."""
        self.positions += self.velocities
        for item, position in zip(self.moving, self.positions, strict=False):
            item.setTranslation(position)
        self.manager.update(self.moving)
        self.found = []
        self.manager.collide(None, self._note)
        if len(self.moving) < len(self.objects):
            self.manager.collide(self.still, None, self._note)

    def touching(self) -> NDArray[np.int64]:
        """Return what was noted."""
        rows = {position.tobytes(): row for row, position in enumerate(self.positions)}
        pairs = np.array([(rows[a], rows[b]) for a, b in self.found], np.int64).reshape(-1, 2)
        return sorted_pair_keys(pairs[:, 0], pairs[:, 1])


class RapierWorld:
    """Sensors on moving bodies in a world of Rapier, which works in float32, and collects events."""

    def __init__(self, scene: WorldScene) -> None:
        rapier = load("rapier3d")
        self.world = rapier.PhysicsWorld()
        self.world.integration_parameters.dt = 1.0
        self.world.set_num_threads(1)
        self.world.auto_update_query = False
        self.collector = self.world.event_handler = rapier.ChannelEventCollector()
        self.events: Any = []
        kinds = rapier.ActiveCollisionTypes.KINEMATIC_KINEMATIC | rapier.ActiveCollisionTypes.KINEMATIC_FIXED
        positions, velocities = _in_space(scene.positions), _in_space(scene.velocities)
        for row in range(scene.count):
            kind = rapier.RigidBody.kinematic_velocity_based if row < scene.moving else rapier.RigidBody.fixed
            body = kind(translation=tuple(positions[row]), linvel=tuple(velocities[row]))
            collider = rapier.Collider.ball(
                scene.size / 2,
                sensor=True,
                active_events=rapier.ActiveEvents.COLLISION_EVENTS,
                active_collision_types=kinds,
            )
            self.world.add_body(body, colliders=[collider])

    def step(self) -> None:
        """Let the world move on, and take its events."""
        self.world.step()
        self.events = self.collector.drain_collision_events()

    def touching(self) -> NDArray[np.int64]:
        """Return the pairs that intersect; bodies were added in the order of rows."""
        pairs = [(a.index, b.index) for a, b, touch in self.world.narrow_phase.intersection_pairs() if touch]
        rows = np.array(pairs, np.int64).reshape(-1, 2)
        return sorted_pair_keys(rows[:, 0], rows[:, 1])


class PygameWorld:
    """Sprites of pygame-ce, one group against itself."""

    def __init__(self, scene: WorldScene) -> None:
        pygame = load("pygame", "pygame-ce")
        self.pygame, self.scene, self.number = pygame, scene, 0
        self.group = pygame.sprite.Group()
        self.sprites = []
        for row, corner in enumerate(scene.positions - scene.size / 2):
            sprite = pygame.sprite.Sprite(self.group)
            sprite.rect, sprite.row = pygame.FRect(*corner, scene.size, scene.size), row
            self.sprites.append(sprite)
        self.found: Any = {}

    def step(self) -> None:
        """Move the sprites, and collide the group with itself."""
        self.number += 1
        corners = self.scene.at(self.number) - self.scene.size / 2
        for sprite, corner in zip(self.sprites, corners.tolist(), strict=True):
            sprite.rect.topleft = corner
        self.found = self.pygame.sprite.groupcollide(self.group, self.group, False, False)

    def touching(self) -> NDArray[np.int64]:
        """Return all pairs of different sprites."""
        return _keys_of_lists((sprite.row, [other.row for other in others]) for sprite, others in self.found.items())


class PygameLoop:
    """Rects of pygame-ce, each looked up among all by one call: what a game does that does not use groups."""

    def __init__(self, scene: WorldScene) -> None:
        pygame = load("pygame", "pygame-ce")
        self.scene, self.number = scene, 0
        corners = scene.positions - scene.size / 2
        self.rects = [pygame.FRect(*corner, scene.size, scene.size) for corner in corners]
        self.found: list[tuple[int, list[int]]] = []

    def step(self) -> None:
        """Move the rects, and look each up in the list."""
        self.number += 1
        corners = self.scene.at(self.number) - self.scene.size / 2
        for rect, corner in zip(self.rects, corners.tolist(), strict=True):
            rect.topleft = corner
        self.found = [(row, rect.collidelistall(self.rects)) for row, rect in enumerate(self.rects)]

    def touching(self) -> NDArray[np.int64]:
        """Return all pairs of different rects."""
        return _keys_of_lists(self.found)


class ArcadeWorld:
    """Sprites of arcade, each against a list with a spatial hash."""

    def __init__(self, scene: WorldScene) -> None:
        os.environ.setdefault("ARCADE_HEADLESS", "True")  # no window is needed to collide
        arcade = load("arcade")
        self.arcade, self.scene, self.number = arcade, scene, 0
        texture = arcade.Texture.create_empty("square", (int(scene.size), int(scene.size)))
        self.sprites = arcade.SpriteList(use_spatial_hash=True, lazy=True)
        for row, position in enumerate(scene.positions.tolist()):
            sprite = arcade.Sprite(texture)
            sprite.position, sprite.row = position, row
            self.sprites.append(sprite)
        self.found: list[tuple[int, list[Any]]] = []

    def step(self) -> None:
        """Move the sprites, and look each up in the list."""
        self.number += 1
        for sprite, position in zip(self.sprites, self.scene.at(self.number).tolist(), strict=True):
            sprite.position = position
        collide = self.arcade.check_for_collision_with_list
        self.found = [(sprite.row, collide(sprite, self.sprites)) for sprite in self.sprites]

    def touching(self) -> NDArray[np.int64]:
        """Return all pairs of different sprites."""
        return _keys_of_lists((row, [other.row for other in others]) for row, others in self.found)


class RebuiltWorld:
    """All pairs of boxes by `broadphase.pairs`, the shapes by NumPy, and sets of pairs: without a world."""

    def __init__(self, scene: WorldScene) -> None:
        self.scene, self.number = scene, 0
        self.keys = np.empty(0, np.int64)

    def step(self) -> None:
        """Make the boxes, find the pairs, test them, and compare with those before."""
        self.number += 1
        positions, half = self.scene.at(self.number), self.scene.size / 2
        pairs = bp.pairs((positions - half, positions + half))
        if self.scene.shape != "rectangle":
            apart = positions[pairs[:, 0]] - positions[pairs[:, 1]]
            pairs = pairs[np.einsum("ij,ij->i", apart, apart) <= self.scene.size**2]
        pairs = pairs[pairs[:, 0] < self.scene.moving]
        keys = keys_of(pairs)
        self.events = (
            np.setdiff1d(keys, self.keys, assume_unique=True),
            np.setdiff1d(self.keys, keys, assume_unique=True),
        )
        self.keys = keys

    def touching(self) -> NDArray[np.int64]:
        """Return the pairs of the last step."""
        return self.keys


def _in_space(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.pad(vectors, ((0, 0), (0, 3 - vectors.shape[1])))


def _keys_of_lists(partners: Iterable[tuple[int, list[int]]]) -> NDArray[np.int64]:
    pairs = [(row, other) for row, others in partners for other in others]
    rows = np.array(pairs, np.int64).reshape(-1, 2)
    return sorted_pair_keys(rows[:, 0], rows[:, 1])


WORLD_PEERS: tuple[WorldPeer, ...] = (
    WorldPeer("broadphase", "broadphase", "numpy", OwnWorld, ("rectangles", "discs", "balls", "few")),
    WorldPeer("rebuilt", "bp.pairs and NumPy", "numpy", RebuiltWorld, ("rectangles", "discs", "balls", "few")),
    WorldPeer("pymunk", "pymunk", "pymunk", PymunkWorld, ("rectangles", "discs"), "sensors, events by callbacks"),
    WorldPeer("rapier", "Rapier", "rapier3d", RapierWorld, ("discs", "balls", "few"), "float32; events", lag=1),
    WorldPeer("fcl", "python-fcl", "python-fcl", FclWorld, ("discs", "balls", "few"), "pairs, no events"),
    WorldPeer("pygame", "pygame-ce groupcollide", "pygame-ce", PygameWorld, ("rectangles",), "pairs, no events"),
    WorldPeer("pygame_loop", "pygame-ce collidelistall", "pygame-ce", PygameLoop, ("rectangles",), "pairs, no events"),
    WorldPeer("arcade", "arcade, spatial hash", "arcade", ArcadeWorld, ("rectangles",), "pairs, no events"),
)
