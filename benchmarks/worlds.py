"""Compare whole steps of `broadphase.World` with those of other libraries: same scenes, checked pairs, timed steps.

python -m benchmarks worlds             # a minute and a half; writes results/worlds.json
python -m benchmarks.readme_table       # then puts the figures into README.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measuring import argsort_call, describe_machine, median_times, one_core, timed, version_of
from benchmarks.tables import duration, factor, show_table
from benchmarks.world_peers import WORLD_PEERS, RebuiltWorld, RunningWorld, WorldPeer
from benchmarks.world_scenes import WORLD_SCENES, WorldScene, world_scene

if TYPE_CHECKING:
    from numpy.typing import NDArray


WARM_STEPS = 8  # by then every world has the buffers and trees that it is going to use
# Positions add up differently, in float32 with some: this share of the pairs may touch for one and not for another.
TOLERANCE = 2e-3


@dataclass(frozen=True, slots=True)
class WorldOutcome:
    """How one library did in one scene.

    Attributes
    ----------
    scene, contestant, title : str
        The scene, and the library.
    count : int
        Bodies in the scene.
    milliseconds : float or None
        Median time of a step; None when it did not run, or what touched was wrong.
    quickest : float or None
        Least time of a step.
    steps : int
        Timed steps.
    verdict : str
        ``"exact"``, how many pairs differ, ``"wrong: ..."``, or why it did not run.
    remark : str
        What to know when reading its time.
    """

    scene: str
    contestant: str
    title: str
    count: int
    milliseconds: float | None = None
    quickest: float | None = None
    steps: int = 0
    verdict: str = ""
    remark: str = ""


@dataclass(slots=True)
class WorldComparison:
    """All outcomes of one run; `machine`, `versions` and `not_installed` as in `Comparison`."""

    machine: dict[str, str]
    versions: dict[str, str] = field(default_factory=dict)
    argsort_milliseconds: float = 0.0
    outcomes: list[WorldOutcome] = field(default_factory=list)
    not_installed: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> list[WorldOutcome]:
        """Outcomes that are wrong."""
        return [outcome for outcome in self.outcomes if outcome.verdict.startswith("wrong")]

    def of(self, scene: str) -> list[WorldOutcome]:
        """Outcomes of one scene."""
        return [outcome for outcome in self.outcomes if outcome.scene == scene]


class Stepped:
    """A world that counts its steps."""

    def __init__(self, world: RunningWorld) -> None:
        self.world, self.steps = world, 0

    def __call__(self) -> None:
        """Step the world."""
        self.steps += 1
        self.world.step()


def compare_worlds(
    scenes: Iterable[str] | None = None,
    *,
    peers: Iterable[str] | None = None,
    share: float = 1.0,
    budget: float = 60.0,
    progress: Callable[[float, str], None] | None = None,
) -> WorldComparison:
    """Compare whole steps of `broadphase.World` with those of other libraries, on one thread.

    A step moves what moves, and finds what touches, or enter and exit events, in the form of the library.
    What touches in the end is compared with what `broadphase.pairs` and NumPy find, which peers confirm.

    Parameters
    ----------
    scenes : iterable of str, optional
        Names in `WORLD_SCENES`; by default all.
    peers : iterable of str, optional
        Names in `WORLD_PEERS`; by default all that are installed.
    share : float
        Share of the bodies of each scene.
    budget : float
        Seconds for the timed steps, roughly.
    progress : callable, optional
        ``progress(done, what)`` is called on the way, `done` from 0 to 1.

    Returns
    -------
    comparison : WorldComparison
        With one outcome for each scene and library.

    Raises
    ------
    ValueError
        No scene, or no peer, has that name.
    """
    chosen = [world_scene(name, share) for name in (WORLD_SCENES if scenes is None else scenes)]
    wanted = None if peers is None else set(peers)
    if unknown := (wanted or set()) - {row.name for row in WORLD_PEERS}:
        raise ValueError(f"no peer is named {unknown.pop()!r}; there are {', '.join(r.name for r in WORLD_PEERS)}")
    comparison = WorldComparison(describe_machine())
    with one_core():
        for number, scene in enumerate(chosen):
            if progress:
                progress(number / len(chosen), scene.title)
            rows = [row for row in WORLD_PEERS if scene.name in row.scenes and (wanted is None or row.name in wanted)]
            _compare_in(scene, rows, budget / len(chosen), comparison)
        timing = median_times({"argsort": argsort_call(100_000)}, budget=0.5)
        comparison.argsort_milliseconds = timing["argsort"].milliseconds
    return comparison


def _compare_in(scene: WorldScene, rows: list[WorldPeer], budget: float, comparison: WorldComparison) -> None:
    running: dict[str, Stepped] = {}
    first: dict[str, float] = {}
    for row in rows:
        installed = version_of(row.distribution)
        if installed is None:
            if row.distribution not in comparison.not_installed:
                comparison.not_installed.append(row.distribution)
            continue
        comparison.versions[row.distribution] = installed
        running[row.name] = Stepped(row.make(scene))
        for _ in range(WARM_STEPS):
            first[row.name], _none = timed(running[row.name])
    timings = median_times(running, budget=budget, most=400, first=first)
    for row in rows:
        if row.name not in running:
            continue
        verdict = _verdict(scene, running[row.name], row.lag)
        outcome = WorldOutcome(scene.name, row.name, row.title, scene.count, verdict=verdict, remark=row.remark)
        if not verdict.startswith("wrong"):
            took = timings[row.name]
            outcome = replace(outcome, milliseconds=took.milliseconds, quickest=took.quickest, steps=took.runs)
        comparison.outcomes.append(outcome)


def _verdict(scene: WorldScene, stepped: Stepped, lag: int) -> str:
    rebuilt = RebuiltWorld(scene)
    rebuilt.number = stepped.steps - lag - 1
    rebuilt.step()
    right: NDArray[np.int64] = rebuilt.touching()
    different = len(np.setxor1d(stepped.world.touching(), right, assume_unique=True))
    if not different:
        return "exact"
    text = f"{different:,} of {len(right):,} pairs differ"
    return text if different <= max(TOLERANCE * len(right), 2) else f"wrong: {text}"


def worlds_as_json(comparison: WorldComparison) -> dict[str, Any]:
    """Return a comparison of worlds as plain dictionaries and lists, ready for `json.dump`."""
    return asdict(comparison)


def worlds_from_json(values: dict[str, Any]) -> WorldComparison:
    """Return the comparison that `worlds_as_json` was made of."""
    return WorldComparison(
        values["machine"],
        values["versions"],
        values["argsort_milliseconds"],
        [WorldOutcome(**outcome) for outcome in values["outcomes"]],
        values["not_installed"],
    )


def own_step(outcomes: list[WorldOutcome]) -> WorldOutcome | None:
    """Return the outcome of `broadphase.World`."""
    return next((o for o in outcomes if o.contestant == "broadphase" and o.milliseconds is not None), None)


def scene_title(outcome: WorldOutcome) -> str:
    """Return the title of a scene, with its number of bodies."""
    usual = world_scene(outcome.scene)
    return usual.title.replace(f"{usual.count:,}", f"{outcome.count:,}")


def show_worlds(comparison: WorldComparison) -> None:
    """Print one table for each scene, and the machine."""
    sort = comparison.argsort_milliseconds
    for name in dict.fromkeys(outcome.scene for outcome in comparison.outcomes):
        outcomes = comparison.of(name)
        ours, rows = own_step(outcomes), []
        for outcome in outcomes:
            took = outcome.milliseconds
            times = factor(took / ours.milliseconds) if took and ours and ours.milliseconds else ""
            in_sorts = f"{took / sort:.2f}" if took and sort else ""
            notes = "; ".join(note for note in (outcome.verdict, outcome.remark) if note)
            row = [
                outcome.title,
                duration(took),
                duration(outcome.quickest),
                in_sorts,
                str(outcome.steps),
                times,
                notes,
            ]
            rows.append(row)
        columns = ["", "median step", "least", "sorts", "steps", "times ours", "contacts"]
        show_table(columns, rows, scene_title(outcomes[0]), strong=0)
    machine = comparison.machine
    print(
        f"{machine['processor']}, {machine['instruction sets']}; Python {machine['python']}, NumPy {machine['numpy']}, "
        f"broadphase {machine['broadphase']}. One thread; a sort: np.argsort of 100,000 float32, {sort:.2f} ms."
    )
    if comparison.not_installed:
        print(f"Not installed: {', '.join(comparison.not_installed)}. To compare: pip install --group bench")
    for outcome in comparison.wrong:
        print(f"{outcome.title}, {outcome.scene}: {outcome.verdict}", file=sys.stderr)
