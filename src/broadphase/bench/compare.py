"""Run methods and peers over standard scenes, check every answer, and time those that are right."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase.bench.answers import Reference
from broadphase.bench.machine import describe_machine
from broadphase.bench.peers import PEERS, Peer, installed_version, peer, unsuited
from broadphase.bench.timing import argsort_call, median_times, one_core, timed
from broadphase.testing import SCENES, make_scene

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["Comparison", "Contestant", "Outcome", "compare", "contestants", "known_scenes", "method_names"]

LADDER = 10  # a contestant is tried on a tenth and a hundredth of the boxes first, to foresee how long it would take
MOST_PER_CALL = 0.25  # seconds that the samples of one contestant may take in one scene: more hardly moves a median


@dataclass(frozen=True, slots=True)
class Contestant:
    """One who takes part: a method of broadphase, or a peer."""

    name: str
    title: str
    find: Callable[[NDArray[Any]], Any]
    peer: Peer | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one contestant did on one scene.

    Attributes
    ----------
    scene, box_count, contestant, title
        Who, and on what.
    pair_count : int or None
        Pairs it gave; None when it did not run.
    milliseconds : float or None
        Median time of a call; None when it did not run, or its answer was wrong.
    multiple : float or None
        That time in units of T, ``np.argsort`` of as many float32.
    runs : int
        Timed runs.
    verdict : str
        ``"exact"``, ``"2 extra pairs"``, ``"wrong: 3 missing"``, or why it did not run.
    """

    scene: str
    box_count: int
    contestant: str
    title: str
    pair_count: int | None = None
    milliseconds: float | None = None
    multiple: float | None = None
    runs: int = 0
    verdict: str = ""


@dataclass(slots=True)
class Comparison:
    """All outcomes of one run.

    Attributes
    ----------
    machine : dict of str to str
        What it ran on.
    versions : dict of str to str
        Version of each other library that took part.
    outcomes : list of Outcome
        One for each scene, size and contestant.
    argsort_milliseconds : dict of int to float
        T for each size.
    not_installed : list of str
        Libraries that might have taken part.
    """

    machine: dict[str, str]
    versions: dict[str, str] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    argsort_milliseconds: dict[int, float] = field(default_factory=dict)
    not_installed: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> list[Outcome]:
        """Outcomes with a wrong answer."""
        return [outcome for outcome in self.outcomes if outcome.verdict.startswith("wrong")]


def method_names() -> tuple[str, ...]:
    """Give every value of ``method=``."""
    return ("auto", *(row.name for row in bp.METHODS))


def contestants(
    methods: Iterable[str] = ("auto",), peers: Iterable[str] | None = None, *, workers: int = 1
) -> list[Contestant]:
    """List who takes part: methods of broadphase by name, then peers by name (None: every one installed)."""
    known = method_names()
    chosen = []
    for name in methods:
        if name not in known:
            raise ValueError(f"no method is named {name!r}; the methods are {', '.join(known)}")
        find = partial(bp.pairs, method=name, workers=workers)
        chosen.append(Contestant(name, "broadphase" if name == "auto" else f"broadphase {name}", find))
    rows = [row for row in PEERS if installed_version(row)] if peers is None else [peer(name) for name in peers]
    return chosen + [Contestant(row.name, row.title, row.find, row) for row in rows]


def known_scenes(names: Iterable[str]) -> list[str]:
    """Give the names as a list when every one is a standard scene; a `ValueError` names the first that is not."""
    chosen = list(names)
    for name in chosen:
        if name not in SCENES:
            raise ValueError(f"no scene is named {name!r}; the scenes are {', '.join(sorted(SCENES))}")
    return chosen


def compare(
    scenes: Iterable[str] = ("rects", "uniform"),
    sizes: Iterable[int] = (1_000, 10_000, 100_000),
    people: Sequence[Contestant] | None = None,
    *,
    budget: float = 45.0,
    slowest: float = 6.0,
    one_thread: bool = True,
    dtype: DTypeLike = np.float32,
    seed: int = 7,
    progress: Callable[[float, str], None] | None = None,
) -> Comparison:
    """Compare methods and peers on standard scenes.

    Every answer is compared with the reference pair by pair before its time counts: up to some thousand boxes that is
    the plain oracle of `broadphase.testing`, above it the method ``"grid"``, which each of the others then confirms.

    Parameters
    ----------
    scenes : iterable of str
        Names in `broadphase.testing.SCENES`.
    sizes : iterable of int
        Box counts.
    people : sequence of Contestant, optional
        Who takes part, from `contestants`; by default "auto" and every peer that is installed.
    budget : float
        Seconds for everything, kept roughly.
    slowest : float
        A contestant that would take more seconds than this for one call is left out of that scene.
    one_thread : bool
        Keep everybody on one core, where the system can: some libraries start threads unasked.
    dtype : float32 or float64
        Type of the boxes.
    seed : int
        Seed of the scenes.
    progress : callable, optional
        ``progress(done, what)`` is called on the way, `done` from 0 to 1.

    Returns
    -------
    comparison : Comparison
        With one outcome for each scene, size and contestant.

    Raises
    ------
    ValueError
        No scene has that name.
    """
    names = known_scenes(scenes)
    rounds = [(scene, n) for n in sorted(set(sizes)) for scene in names]
    people = contestants() if people is None else people
    versions = {one.peer.distribution: installed_version(one.peer) or "" for one in people if one.peer}
    absent = [row.title for row in PEERS if not installed_version(row)]
    report = Comparison(describe_machine(), versions, not_installed=absent)
    deadline, foreseen = time.monotonic() + budget, Foresight()
    with one_core(one_thread):
        for one in people:
            wake(one)
        for number, (scene, n) in enumerate(rounds):
            say = partial(progress, number / len(rounds)) if progress else lambda _: None
            remaining = max(0.0, deadline - time.monotonic()) / (len(rounds) - number)
            boxes = make_scene(scene, n, seed=seed, dtype=dtype)
            contest = Contest(scene, boxes, partial(make_scene, scene, seed=seed, dtype=dtype), foreseen, say)
            report.outcomes += contest.run(people, remaining, slowest)
            report.argsort_milliseconds[n] = contest.argsort_milliseconds
    if progress:
        progress(1.0, "done")
    return report


def wake(one: Contestant) -> None:
    """Let a contestant import what it needs, so that no time holds an import."""
    dimension = one.peer.dimensions[0] if one.peer else 2
    # A peer that fails on this scene will fail where it counts, and be reported there.
    with contextlib.suppress(Exception):
        one.find(make_scene(f"uniform_{dimension}d", 20) if dimension != 3 else make_scene("uniform", 20))


class Foresight:
    """Foretell from smaller runs how long a larger one would take."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], dict[int, float]] = {}

    def note(self, scene: str, name: str, n: int, seconds: float) -> None:
        """Keep a time that was taken."""
        self.seen.setdefault((scene, name), {})[n] = seconds

    def seconds(self, scene: str, name: str, n: int) -> float:
        """Extrapolate along the last two times on log-log paper, between linear and quadratic; 0 if none is known."""
        known = sorted((count, time) for count, time in self.seen.get((scene, name), {}).items() if count <= n)
        if not known:
            return 0.0
        (count, last), slope = known[-1], 5 / 3
        if len(known) > 1:
            fewer, before = known[-2]
            slope = min(2.0, max(1.0, math.log(last / before) / math.log(count / fewer)))
        return float(last * (n / count) ** slope)


@dataclass(slots=True)
class Contest:
    """All contestants on one scene of one size."""

    scene: str
    boxes: NDArray[Any]
    smaller: Callable[[int], NDArray[Any]]
    foreseen: Foresight
    say: Callable[[str], None]
    argsort_milliseconds: float = 0.0

    def run(self, people: Sequence[Contestant], budget: float, slowest: float) -> list[Outcome]:
        """Check everybody's answer, then time those that are right."""
        reference, outcomes, right, first = Reference(self.boxes), {}, {}, {}
        start, n = time.monotonic(), len(self.boxes)
        for one in people:
            self.say(f"{self.scene}, {n:,} boxes: {one.title}")
            reason = self.reason_to_skip(one, slowest)
            if reason:
                outcomes[one.name] = Outcome(self.scene, n, one.name, one.title, verdict=reason)
                continue
            try:
                seconds, answer = timed(partial(one.find, self.boxes))
            except Exception as error:  # a peer that fails on a scene must not end the comparison
                if one.peer is None:
                    raise
                text = f"failed: {type(error).__name__}"
                outcomes[one.name] = Outcome(self.scene, n, one.name, one.title, verdict=text)
                continue
            self.foreseen.note(self.scene, one.name, n, seconds)
            verdict = reference.judge(answer, touching=one.peer is None or one.peer.touching)
            outcomes[one.name] = Outcome(self.scene, n, one.name, one.title, len(answer), verdict=verdict)
            if not verdict.startswith("wrong"):
                right[one.name], first[one.name] = partial(one.find, self.boxes), seconds
        left = max(0.0, budget - (time.monotonic() - start))
        budget = min(left, MOST_PER_CALL * (len(right) + 1))
        timings = median_times({"argsort": argsort_call(n), **right}, budget=budget, first=first)
        self.argsort_milliseconds = unit = timings["argsort"].milliseconds
        return [
            replace_times(outcomes[one.name], timings[one.name].milliseconds, unit, timings[one.name].runs)
            if one.name in timings
            else outcomes[one.name]
            for one in people
        ]

    def reason_to_skip(self, one: Contestant, slowest: float) -> str:
        """Say why a contestant does not run here: it cannot, or it would take too long."""
        n = len(self.boxes)
        if one.peer is not None and (reason := unsuited(one.peer, self.boxes)):
            return reason
        for divisor in (LADDER * LADDER, LADDER):
            fewer = n // divisor
            if fewer < 500 or self.foreseen.seconds(self.scene, one.name, n) > slowest:
                continue
            if not any(count >= fewer for count in self.foreseen.seen.get((self.scene, one.name), {})):
                try:
                    seconds, _ = timed(partial(one.find, self.smaller(fewer)))
                except Exception as error:
                    return f"failed: {type(error).__name__}"
                self.foreseen.note(self.scene, one.name, fewer, seconds)
        foreseen = self.foreseen.seconds(self.scene, one.name, n)
        return f"would take {foreseen:.0f} s" if foreseen > slowest else ""


def replace_times(outcome: Outcome, milliseconds: float, unit: float, runs: int) -> Outcome:
    """Add the times to an outcome."""
    return Outcome(
        outcome.scene,
        outcome.box_count,
        outcome.contestant,
        outcome.title,
        outcome.pair_count,
        milliseconds,
        milliseconds / unit,
        runs,
        outcome.verdict,
    )
