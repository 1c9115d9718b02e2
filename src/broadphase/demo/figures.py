"""The figures of a simulation: what is always on the screen."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Figures"]


@dataclass(frozen=True)
class Figures:
    """What is on the screen.

    Attributes
    ----------
    method : str
        What was chosen: "auto" or a name.
    used : str
        The method that does the work.
    why : str
        Why this one.
    reason : str
        What the world says about its last step.
    count : int
        Things in the world.
    depth, parts, parts_name
        See `Examination`.
    broad_ms, narrow_ms, step_ms : float
        Of the last step, in milliseconds.
    tests : int
        Tests of two boxes.
    brute_force_tests : int
        How many testing all against all takes.
    pairs : int
        Pairs that the broad phase left to the exact test.
    hits : int
        Pairs that touch.
    enters, exits : int
        Events of the last step.
    fps : float
        Steps a second.
    drawn, culled : int
        Things that the camera sees, and others; 0 and 0 where that is not asked.
    details : tuple of int
        How many of those that are drawn are drawn in full, in less and in the least detail.
    cells_idle, cells_freed : int
        Empty cells of an octree that live on, and those that it has given back so far; 0 and 0 for other methods.
    """

    method: str
    used: str
    why: str
    reason: str
    count: int
    depth: int
    parts: int
    parts_name: str
    broad_ms: float
    narrow_ms: float
    step_ms: float
    tests: int
    brute_force_tests: int
    pairs: int
    hits: int
    enters: int
    exits: int
    fps: float
    drawn: int
    culled: int
    details: tuple[int, ...]
    cells_idle: int
    cells_freed: int
