"""A scene: everything that its file says, to be built, run and logged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import broadphase as bp
from broadphase.arguments import as_whole
from broadphase.scenes.rules import Emit, Remove
from broadphase.testing.draws import Draws

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.scenes.groups import Corners, Group

__all__ = ["EventLog", "Run", "Scene", "living_rows"]


class Run:
    """A world that is stepped under the rules of its scene.

    Before each step, the bodies that the rules removed in the previous one are deleted, and new ones are added. So all
    rows in the frame of the last step are still in the world.

    Parameters
    ----------
    scene : Scene
        The scene to run.

    Attributes
    ----------
    scene : Scene
    world : World
        May be changed between steps.
    steps, added, removed : int
        Number of steps so far, and of bodies that the rules added and removed.
    seconds : float
        Duration of the last step of the world, without the rules.
    layer_bits : dict of str to int
        The bit of each layer of the scene.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.world: bp.World = scene.build()
        self.steps = self.added = self.removed = 0
        self.layer_bits = {name: self.world.layer(name, priority=rank) for name, rank in scene.layers.items()}
        groups = {group.name: group for group in scene.groups}
        self._sources = [
            (rule, groups[rule.group], scene.draws(rule)) for rule in scene.rules if isinstance(rule, Emit)
        ]
        self._removals = [rule for rule in scene.rules if isinstance(rule, Remove)]
        self._doomed: NDArray[np.int64] | None = None
        self.seconds = 0.0
        self._numbers = {group.name: group.count for group in scene.groups}  # added so far: where a list continues

    def step(self) -> bp.world.Frame:
        """Apply the rules and do one step; return its frame."""
        if self._doomed is not None and len(rows := living_rows(self.world, self._doomed)):
            self.world.remove(rows)
            self.removed += len(rows)
        for rule, group, draws in self._sources:
            if rule.is_due(self.steps):
                group.add_to(self.world, draws, rule.count, self._numbers[group.name])
                self._numbers[group.name] += rule.count
                self.added += rule.count
        begin = perf_counter()
        frame = self.world.step(self.scene.dt, budget=self.scene.budget)
        self.seconds = perf_counter() - begin
        self.steps += 1
        if self._removals:
            layers: NDArray[np.uint64] = self.world.layers
            found = [rule.rows(frame.enter, layers, self.layer_bits) for rule in self._removals]
            self._doomed = self.world.handles(np.unique(np.concatenate(found)))
        return frame


def living_rows(world: bp.World, handles: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the rows of those of some handles whose bodies still exist."""
    rows, used = (handles & 0xFFFF_FFFF).astype(np.int32), world.rows
    is_used = np.searchsorted(used, rows, "left") < np.searchsorted(used, rows, "right")
    rows, handles = rows[is_used], handles[is_used]
    kept: NDArray[np.int32] = rows[world.handles(rows) == handles]
    return kept


class EventLog:
    """Turns frames of a run into columns for `broadphase.io.write_events`.

    Call `columns` with every frame of the run, from the first, before the next step.

    Parameters
    ----------
    run : Run
        The run, before its first step.
    stay : bool
        Whether stay events are included.

    Examples
    --------
    >>> from broadphase import scenes
    >>> run = scenes.load("bouncing_spheres").start()
    >>> log = EventLog(run)
    >>> columns = log.columns(run.step())
    >>> sorted(set(columns["event"])), set(columns["first_layer"])
    (['enter'], {'spheres'})
    """

    def __init__(self, run: Run, *, stay: bool = False) -> None:
        self._world = run.world
        self._event_names = ("enter", "stay", "exit") if stay else ("enter", "exit")
        self._layers = {bit: name for name, bit in run.layer_bits.items()}
        self._before: NDArray[np.uint64] = self._world.layers.copy()

    def columns(self, frame: bp.world.Frame) -> dict[str, NDArray[Any]]:
        """Return the events of a frame: enter, then stay if included, then exit; each sorted by rows.

        Columns are those of `broadphase.io.EVENT_COLUMNS`. The bodies of an exit event may have been removed and their
        rows reused: handles and layers are those they had.
        """
        now = self._world.layers
        parts = []
        for event in self._event_names:
            pairs: NDArray[np.int32] = getattr(frame, event)
            if event == "exit":
                handles, layers = frame.exit_handles, self._before[pairs]
            else:
                handles, layers = self._world.handles(pairs.ravel()).reshape(-1, 2), now[pairs]
            parts.append((event, pairs, handles, self._layer_names(layers)))
        self._before = now.copy()
        count = sum(len(pairs) for _, pairs, _, _ in parts)
        pairs, handles, names = (np.concatenate([part[column] for part in parts]) for column in (1, 2, 3))
        return {
            "frame": np.full(count, frame.number, np.int64),
            "time": np.full(count, frame.time),
            "event": np.repeat(np.array(self._event_names, object), [len(pairs) for _, pairs, _, _ in parts]),
            "first": pairs[:, 0],
            "second": pairs[:, 1],
            "first_handle": handles[:, 0],
            "second_handle": handles[:, 1],
            "first_layer": names[:, 0],
            "second_layer": names[:, 1],
        }

    def _layer_names(self, bits: NDArray[np.uint64]) -> NDArray[np.object_]:
        """Return the names of layers; None for a row in several layers, or in none of the scene."""
        names = np.full(bits.shape, None, object)
        for bit, name in self._layers.items():
            names[bits == np.uint64(bit)] = name
        return names


_STREAMS = 1 << 20  # streams of random numbers for each seed: more than a scene has groups and rules


@dataclass(frozen=True, slots=True)
class Scene:
    """A world, groups of bodies, and rules. Immutable; `changed` returns a modified copy.

    Attributes
    ----------
    name, title : str
        Its name, and one line about it.
    dim : int
        2 or 3.
    bounds : tuple of two tuples, or None
        Lower and upper corner of the world.
    boundary : str
        What happens there: ``none``, ``bounce``, ``wrap`` or ``remove``.
    method : str or IndexOptions
        Method of the broad phase, see `broadphase.World`.
    dt : float
        Time step.
    steps : int
        Default number of steps.
    seed : int
        Seed of all random numbers. Equal seeds give equal numbers on every machine, with every version of NumPy.
    budget : Budget, optional
        Limit of the narrow phase of a step. Default: None, no limit.
    layers : dict of str to int
        Priority of each layer, in the order of their bits.
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
    dim: int
    bounds: Corners | None
    boundary: str
    method: str | bp.index.IndexOptions
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
        method: str | bp.index.IndexOptions | None = None,
        dt: float | None = None,
        steps: int | None = None,
        seed: int | None = None,
        factor: float = 1.0,
    ) -> Scene:
        """Return the same scene with another method, time step, number of steps, seed, or number of bodies.

        Parameters
        ----------
        method, dt, steps, seed : optional
            Default: unchanged.
        factor : float
            Factor of the number of bodies of each group at the start, rounded. The size of the world stays.
        """
        if steps is not None:
            steps = as_whole(steps, "steps", 0)
        if seed is not None:
            seed = as_whole(seed, "seed", 0)
        given = {"method": method, "dt": dt, "steps": steps, "seed": seed}
        groups = self.groups if factor == 1.0 else tuple(group.scaled(factor) for group in self.groups)
        return replace(self, groups=groups, **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]

    def draws(self, what: Group | Emit | Remove) -> Draws:
        """Return the random numbers of a group or a rule: each has its own stream."""
        number = [id(one) for one in (*self.groups, *self.rules)].index(id(what))
        return Draws(self.seed * _STREAMS + number)

    def build(self) -> bp.World:
        """Build the world in its state before the first step, without the rules; see `start`."""
        method, boundary = cast("Any", self.method), cast("Any", self.boundary)
        world = bp.World(self.dim, method=method, bounds=self.bounds, boundary=boundary)
        for layer, priority in self.layers.items():
            world.layer(layer, priority=priority)
        for group in self.groups:
            group.add_to(world, self.draws(group), group.count)
        return world

    def start(self) -> Run:
        """Build the world, and return a run that steps it under the rules."""
        return Run(self)

    def run(self, steps: int | None = None, on_frame: Callable[[bp.world.Frame], Any] | None = None) -> Run:
        """Run the scene, and return its state after the last step: the world, and the totals.

        Parameters
        ----------
        steps : int, optional
            Number of steps. Default: that of the scene.
        on_frame : callable, optional
            Called with the frame of every step.

        Examples
        --------
        >>> from broadphase import scenes
        >>> run = scenes.load("bouncing_spheres").run(3)
        >>> run.steps, len(run.world)
        (3, 300)
        """
        run = self.start()
        for _ in range(self.steps if steps is None else as_whole(steps, "steps", 0)):
            frame = run.step()
            if on_frame is not None:
                on_frame(frame)
        return run
