"""A scene on its way: steps the world, and applies the rules."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from broadphase.scenes.rules import Emit, Remove

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import broadphase as bp
    from broadphase.scenes.scene import Scene

__all__ = ["Run"]


class Run:
    """A world that is stepped by the rules of its scene.

    Before each step, those actors are removed that touched in the one before what they must not, and others are made
    that are due. So after a step, whoever is in its frame is still there.

    Parameters
    ----------
    scene : Scene
        What is run.

    Attributes
    ----------
    scene : Scene
    world : World
        Look at it, and change it, as you like.
    steps, made, removed : int
        Number of steps so far, and of actors that the rules made and removed.
    seconds : float
        What the last step of the world took, without the rules.
    layer_bits : dict of str to int
        The bit of each layer of the scene.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.world: bp.World = scene.build()
        self.steps = self.made = self.removed = 0
        self.layer_bits = {name: self.world.layer(name, priority=rank) for name, rank in scene.layers.items()}
        groups = {group.name: group for group in scene.groups}
        self._sources = [
            (rule, groups[rule.group], scene.draws(rule)) for rule in scene.rules if isinstance(rule, Emit)
        ]
        self._removals = [rule for rule in scene.rules if isinstance(rule, Remove)]
        self._doomed: NDArray[np.int64] | None = None
        self.seconds = 0.0
        self._numbers = {group.name: group.count for group in scene.groups}  # made so far: where a list goes on

    def step(self) -> bp.Frame:
        """Apply the rules, and do one step.

        Returns
        -------
        Frame
            What happened in it.
        """
        if self._doomed is not None:
            self._remove(self._doomed)
        for rule, group, draws in self._sources:
            if rule.is_due(self.steps):
                group.add_to(self.world, draws, rule.count, self._numbers[group.name])
                self._numbers[group.name] += rule.count
                self.made += rule.count
        begin = perf_counter()
        frame = self.world.step(self.scene.dt, budget=self.scene.budget)
        self.seconds = perf_counter() - begin
        self.steps += 1
        if self._removals:
            layers: NDArray[np.uint64] = self.world.layers
            found = [rule.rows(frame.enter, layers, self.layer_bits) for rule in self._removals]
            self._doomed = self.world.handles(np.unique(np.concatenate(found)))
        return frame

    def _remove(self, handles: NDArray[np.int64]) -> None:
        """Remove whom the handles name, unless somebody else has done so."""
        rows = handles & 0xFFFF_FFFF
        alive = self.world.alive[rows]
        rows = rows[alive][self.world.handles(rows[alive]) == handles[alive]]
        if len(rows):
            self.world.remove(rows)
            self.removed += len(rows)
