"""A race: the scene of the page once more, beside it, by brute force."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.demo.panel import chosen_of
from broadphase.demo.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FIRST", "Race", "lane"]

FIRST = 300  # bodies at the start: with fewer, "auto" chooses brute force, too
_SECONDS = 2.0  # with the same number of bodies: a second to settle, and one to take medians of
_GROWTH = 1.3  # of the number of bodies after that
_SLOW = 1000 / 60  # milliseconds


class Race:
    """A rival for a simulation: the same scene with as many bodies, by brute force, stepped in a thread of its own."""

    def __init__(self, simulation: Simulation, clock: Callable[[], float] = perf_counter) -> None:
        self._simulation, self._clock, self._began = simulation, clock, clock()
        self.rival = Simulation(  # to be read while `is_idle`
            simulation.scene,
            method="brute_force",
            count=simulation.count,
            size=simulation.size,
            speed=simulation.speed,
            mesh=simulation.stage.mesh,
        )
        self.verdict = ""  # who fell below 60 steps a second
        self._pool = ThreadPoolExecutor(1, "broadphase-demo-race")
        self._step: Future[Any] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether the rival does not step."""
        return self._step is None or self._step.done()

    def go_on(self) -> None:
        """Let the rival step, as soon as it has done the step before."""
        if not self.is_idle:
            return
        if self._step is not None:
            self._step.result()
        self.rival.paused, self.rival.speed = self._simulation.paused, self._simulation.speed
        self._step = self._pool.submit(self.rival.tick)

    def next_count(self) -> int | None:
        """Return with how many bodies to begin again, or None: it is not time yet, or somebody is too slow."""
        simulation = self._simulation
        if self.verdict or simulation.paused or not self.is_idle or self._clock() - self._began < _SECONDS:
            return None
        times = {one: one.figures().update_ms for one in (self.rival, simulation)}
        if not all(times.values()):
            return None  # the first step is not done yet
        slower = max(times, key=lambda one: times[one])
        if times[slower] > _SLOW:
            faster = simulation if slower is self.rival else self.rival
            self.verdict = (
                f"With {simulation.count:,} bodies {slower.figures().used} takes {times[slower]:.0f} ms for a step: it"
                f" falls below 60 a second. {faster.figures().used} takes {times[faster]:.2f} ms."
            )
            return None
        count = min(int(np.ceil(_GROWTH * simulation.count)), simulation.scene.counts[1])
        if count == simulation.count:
            self.verdict = f"Both do {count:,} bodies 60 times a second, and the scene has no more."
            return None
        return count

    def stop(self) -> None:
        """End the thread."""
        self._pool.shutdown()


def lane(simulation: Simulation) -> str:
    """Describe one side of a race: its method, the milliseconds of a step, and its clock."""
    figures = simulation.figures()
    seconds = 0 if simulation.frame is None else simulation.frame.number / 60
    return f"{chosen_of(figures)} · {figures.update_ms:.1f} ms · clock {seconds:.1f} s"
