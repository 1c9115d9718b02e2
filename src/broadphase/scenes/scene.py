"""A scene: everything that its file says, to be built and run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import broadphase as bp
from broadphase.scenes.running import Run
from broadphase.testing.draws import Draws

if TYPE_CHECKING:
    from collections.abc import Callable

    from broadphase.scenes.group import Group
    from broadphase.scenes.placement import Corners
    from broadphase.scenes.rules import Emit, Remove

__all__ = ["Scene"]

_STREAMS = 1 << 20  # streams of random numbers for each seed: more than there are groups and rules


@dataclass(frozen=True, slots=True)
class Scene:
    """A world, groups of actors, and rules. Cannot be changed; `changed` gives another one.

    Attributes
    ----------
    name, title : str
        How it is called, and what it shows.
    dimension : int
        2 or 3.
    bounds : tuple of two tuples, or None
        Lower and upper corner of the world.
    border : str
        What happens there: ``none``, ``bounce``, ``wrap`` or ``remove``.
    method : str
        How pairs are found, see `broadphase.World`.
    dt : float
        Time from step to step.
    steps : int
        How many there are unless said otherwise.
    seed : int
        Of all that is random. Equal seeds give equal numbers on every machine, with every version of NumPy.
    budget : Budget, optional
        What a step may spend on testing shapes; unset, all that it takes.
    layers : dict of str to int
        All layers, in the order of their bits, and their priorities.
    groups : tuple of Group
    rules : tuple of Emit or Remove

    Examples
    --------
    >>> from broadphase import scenes
    >>> scene = scenes.load("bouncing_rectangles")
    >>> len(scene.build())
    1000
    """

    name: str
    title: str
    dimension: int
    bounds: Corners | None
    border: str
    method: str
    dt: float
    steps: int
    seed: int
    budget: bp.Budget | None
    layers: dict[str, int]
    groups: tuple[Group, ...]
    rules: tuple[Emit | Remove, ...]

    def changed(
        self,
        *,
        method: str | None = None,
        dt: float | None = None,
        steps: int | None = None,
        seed: int | None = None,
        factor: float = 1.0,
    ) -> Scene:
        """Give the same scene with another method, time step, number of steps, seed, or number of actors.

        Parameters
        ----------
        method, dt, steps, seed : optional
            Unset, as they are.
        factor : float
            So many times the actors that each group has at the start, rounded. The world is as large as before.

        Returns
        -------
        Scene
        """
        given = {"method": method, "dt": dt, "steps": steps, "seed": seed}
        groups = self.groups if factor == 1.0 else tuple(group.scaled(factor) for group in self.groups)
        return replace(self, groups=groups, **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]

    def draws(self, what: Group | Emit | Remove) -> Draws:
        """Give the random numbers of a group or a rule: a stream for each, so that they do not disturb each other."""
        number = [id(one) for one in (*self.groups, *self.rules)].index(id(what))
        return Draws(self.seed * _STREAMS + number)

    def build(self) -> bp.World:
        """Make the world as it is before the first step.

        Returns
        -------
        World
            One of your own; it knows nothing of the rules, see `start`.
        """
        world = bp.World(self.dimension, method=self.method, bounds=self.bounds, border=self.border)
        for layer, priority in self.layers.items():
            world.layer(layer, priority=priority)
        for group in self.groups:
            group.add_to(world, self.draws(group), group.count)
        return world

    def start(self) -> Run:
        """Build the world, and give what steps it by the rules.

        Returns
        -------
        Run
        """
        return Run(self)

    def run(self, steps: int | None = None, on_frame: Callable[[bp.Frame], Any] | None = None) -> Run:
        """Step through the scene.

        Parameters
        ----------
        steps : int, optional
            How many; unset, as many as the scene has.
        on_frame : callable, optional
            Called with the frame of every step.

        Returns
        -------
        Run
            As it is after the last step: `world`, and the sums of what happened.

        Examples
        --------
        >>> from broadphase import scenes
        >>> run = scenes.load("bouncing_spheres").run(3)
        >>> run.steps, len(run.world)
        (3, 300)
        """
        run = self.start()
        for _ in range(self.steps if steps is None else steps):
            frame = run.step()
            if on_frame is not None:
                on_frame(frame)
        return run
