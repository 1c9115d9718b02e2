"""Compare all methods with other libraries at finding all pairs: check every answer, and time those that are right.

python -m benchmarks pairs              # a minute and a half; writes results/pairs.json and results/speed.svg
python -m benchmarks.readme_table       # then puts the figures into README.md
python docs/images/draw_overview.py     # and draws them in its picture
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import argsort_call, describe_machine, median_times, one_core, timed
from benchmarks.peers import PEERS, Peer, installed_version, peer, unsuited
from benchmarks.tables import duration, factor, grouped, show_table
from broadphase.testing import SCENES, make_scene, oracle

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from broadphase.methods import MethodName


LARGEST_FOR_ORACLE = 5_000  # the oracle tests every pair: a third of a second here, and growing as the square


class Reference:
    """The pairs of a scene, computed on first use.

    Up to `LARGEST_FOR_ORACLE` boxes they come from the oracle of `broadphase.testing`; above it from
    `broadphase.pairs` with ``method="grid"``, so that every other method and every exact peer is a second witness.
    """

    def __init__(self, boxes: NDArray[Any]) -> None:
        self.boxes = boxes
        self._keys: dict[bool, NDArray[np.int64]] = {}

    def keys(self, touching: bool) -> NDArray[np.int64]:
        """Return the right pairs as sorted integers, one for each pair."""
        if touching not in self._keys:
            if len(self.boxes) <= LARGEST_FOR_ORACLE:
                pairs = oracle.pairs(self.boxes, touching=touching)
            else:
                pairs = bp.pairs(self.boxes, method="grid", touching=touching)
            self._keys[touching] = np.unique(sorted_keys(pairs))  # repeated pairs count as errors of the method
        return self._keys[touching]

    def judge(self, answer: Any, *, touching: bool = True) -> str:
        """Compare an answer with the right one, pair by pair.

        Parameters
        ----------
        answer : array_like, shape (m, 2)
            Row numbers, each pair in either order.
        touching : bool
            Whether boxes that only touch are pairs.

        Returns
        -------
        verdict : str
            ``"exact"``, ``"2 extra pairs"``, or ``"wrong: ..."`` when a pair is missing or there twice.

        Examples
        --------
        >>> import numpy as np
        >>> from benchmarks.pairs import Reference
        >>> reference = Reference(np.array([[[0.0], [2.0]], [[1.0], [3.0]], [[9.0], [9.5]]]))
        >>> reference.judge([[0, 1]]), reference.judge([[1, 0], [0, 2]]), reference.judge(np.empty((0, 2)))
        ('exact', '1 extra pair', 'wrong: 1 missing')
        """
        right, given = self.keys(touching), sorted_keys(answer)
        if np.array_equal(right, given):
            return "exact"
        distinct = np.unique(given)
        repeated, given = len(given) - len(distinct), distinct
        missing = len(np.setdiff1d(right, given, assume_unique=True))
        extra = len(np.setdiff1d(given, right, assume_unique=True))
        if missing or repeated:
            faults = {"missing": missing, "twice": repeated, "extra": extra}
            return "wrong: " + ", ".join(f"{count} {what}" for what, count in faults.items() if count)
        return f"{extra} extra pair{'s' if extra > 1 else ''}"


def sorted_keys(pairs: Any) -> NDArray[np.int64]:
    """Pack each pair, smaller row first, into one integer, and sort them."""
    rows = np.asarray(pairs).astype(np.int64).reshape(-1, 2)
    keys = (rows.min(axis=1) << 32) | rows.max(axis=1) if len(rows) else np.empty(0, np.int64)
    keys.sort()
    return keys


LADDER = 10  # a contestant is tried on a tenth and a hundredth of the boxes first, to foresee how long it would take
MOST_PER_CALL = 0.25  # seconds that the samples of one contestant may take in one scene: more hardly moves a median


@dataclass(frozen=True, slots=True)
class Contestant:
    """A method of broadphase, or another library."""

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


def method_names() -> tuple[MethodName, ...]:
    """Return every value of ``method=``."""
    return ("auto", *(row.name for row in bp.METHODS))


def contestants(
    methods: Iterable[str] = ("auto",), peers: Iterable[str] | None = None, *, workers: int = 1
) -> list[Contestant]:
    """List methods of broadphase by name, then peers by name (None: all installed ones)."""
    known: dict[str, MethodName] = {name: name for name in method_names()}
    chosen = []
    for name in methods:
        if name not in known:
            raise ValueError(f"no method is named {name!r}; the methods are {', '.join(known)}")
        find = partial(bp.pairs, method=known[name], workers=workers)
        chosen.append(Contestant(name, "broadphase" if name == "auto" else f"broadphase {name}", find))
    rows = [row for row in PEERS if installed_version(row)] if peers is None else [peer(name) for name in peers]
    return chosen + [Contestant(row.name, row.title, row.find, row) for row in rows]


def known_scenes(names: Iterable[str]) -> list[str]:
    """Return the names as a list when every one is a standard scene; a `ValueError` names the first that is not."""
    chosen = list(names)
    for name in chosen:
        if name not in SCENES:
            raise ValueError(f"no scene is named {name!r}; the scenes are {', '.join(sorted(SCENES))}")
    return chosen


def compare(
    scenes: Iterable[str] = ("rects", "uniform"),
    sizes: Iterable[int] = (1_000, 10_000, 100_000),
    competing: Sequence[Contestant] | None = None,
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
    competing : sequence of Contestant, optional
        From `contestants`; by default "auto" and every peer that is installed.
    budget : float
        Total seconds, approximately.
    slowest : float
        A contestant that would take more seconds than this for one call is left out of that scene.
    one_thread : bool
        Keep all on one core, if the system can: some libraries start threads by themselves.
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
    competing = contestants() if competing is None else competing
    versions = {one.peer.distribution: installed_version(one.peer) or "" for one in competing if one.peer}
    absent = [row.title for row in PEERS if not installed_version(row)]
    report = Comparison(describe_machine(), versions, not_installed=absent)
    deadline, foreseen = time.monotonic() + budget, Foresight()
    with one_core(one_thread):
        for one in competing:
            wake(one)
        for number, (scene, n) in enumerate(rounds):
            say = partial(progress, number / len(rounds)) if progress else lambda _: None
            remaining = max(0.0, deadline - time.monotonic()) / (len(rounds) - number)
            boxes = make_scene(scene, n, seed=seed, dtype=dtype)
            contest = Contest(scene, boxes, partial(make_scene, scene, seed=seed, dtype=dtype), foreseen, say)
            report.outcomes += contest.run(competing, remaining, slowest)
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
    """Predict the time of a large run from smaller ones."""

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

    def run(self, competing: Sequence[Contestant], budget: float, slowest: float) -> list[Outcome]:
        """Check every answer, then time those that are right."""
        reference, outcomes, right, first = Reference(self.boxes), {}, {}, {}
        start, n = time.monotonic(), len(self.boxes)
        for one in competing:
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
            for one in competing
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


BASELINE = "brute_force"
MOST_SECONDS = 5.0  # a method that may take longer with so many boxes, by what it took with fewer, is left out


@dataclass(frozen=True, slots=True)
class Work:
    """What one method spent on one scene, to find all pairs.

    Attributes
    ----------
    scene, method, title : str
        What was done, and with what.
    box_count, dimension : int
        On what.
    tests : int
        Comparisons of two boxes.
    brute_force_tests : int
        Those that comparing all against all takes.
    bytes_by_level : tuple of int
        Of the cells of each level; empty for a method that does not say.
    """

    scene: str
    method: str
    title: str
    box_count: int
    dimension: int
    tests: int
    brute_force_tests: int
    bytes_by_level: tuple[int, ...] = ()


def measure_work(
    scenes: Iterable[str], sizes: Sequence[int], *, dtype: DTypeLike = "float32", seed: int = 7
) -> list[Work]:
    """Find all pairs of standard scenes with every index, and note what its `stats` say.

    Parameters
    ----------
    scenes : iterable of str
        Names of standard scenes.
    sizes : sequence of int
        Numbers of boxes.
    dtype : data type
        float32 or float64.
    seed : int
        Of the scenes.

    Returns
    -------
    list of Work
        Scene by scene, size by size; the methods in the order of the registry, but for those that would take long.

    Examples
    --------
    >>> [work] = [work for work in measure_work(["rects"], [500]) if work.method == "bvh"]
    >>> work.brute_force_tests, work.tests < work.brute_force_tests / 5
    (124750, True)
    """
    found = []
    for scene in scenes:
        seconds: dict[str, float] = {}
        before = 1
        for size in sorted(sizes):
            boxes = make_scene(scene, size, seed=seed, dtype=dtype)
            dimension = boxes.shape[2]
            for row in bp.METHODS:
                if row.name == BASELINE:
                    continue
                if seconds.get(row.name, 0.0) * (size / before) ** 2 > MOST_SECONDS:
                    continue
                begin = perf_counter()
                index: bp.index.BoxIndex = getattr(bp, row.index_class)(boxes)
                index.count_pairs()
                stats = index.stats()
                levels = tuple(stats.get("bytes_by_level", ()))
                counts = size, dimension, int(stats["tests"]), int(stats["brute_force_tests"])
                found.append(Work(scene, row.name, row.title, *counts, levels))
                seconds[row.name] = perf_counter() - begin
            before = size
    return found


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain dictionaries and lists, ready for `json.dump`."""
    return {
        "machine": comparison.machine,
        "versions": comparison.versions,
        "argsort_milliseconds": {str(n): value for n, value in comparison.argsort_milliseconds.items()},
        "not_installed": comparison.not_installed,
        "outcomes": [asdict(outcome) for outcome in comparison.outcomes],
    }


def from_json(values: dict[str, Any]) -> Comparison:
    """Return the comparison that `as_json` was made of."""
    return Comparison(
        values["machine"],
        values["versions"],
        [Outcome(**outcome) for outcome in values["outcomes"]],
        {int(n): value for n, value in values["argsort_milliseconds"].items()},
        values["not_installed"],
    )


def comparison_tables(comparison: Comparison) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return title, columns and rows of one table for each scene: name, time at each size, multiple of T, answer."""
    tables = []
    for scene in dict.fromkeys(outcome.scene for outcome in comparison.outcomes):
        here = [outcome for outcome in comparison.outcomes if outcome.scene == scene]
        sizes = sorted({outcome.box_count for outcome in here})
        largest = max(sizes)
        pairs = next((o.pair_count for o in here if o.box_count == largest and o.verdict == "exact"), None)
        title = f"{scene}: {grouped(largest)} boxes have {grouped(pairs)} overlapping pairs"
        columns = ["", *(f"n = {grouped(n)}" for n in sizes), "in T", "times broadphase", "answer"]
        names = list(dict.fromkeys((outcome.contestant, outcome.title) for outcome in here))
        best = first_times(here)
        rows = [row_of(name, title, here, sizes, best) for name, title in names]
        rows = sorted(rows, key=lambda row: all(cell in ("-", "") for cell in row[1 : 1 + len(sizes)]))
        rows.append(argsort_row(comparison, sizes))
        tables.append((title, columns, rows))
    return tables


def first_times(outcomes: list[Outcome]) -> dict[int, float]:
    """Return the time of the first contestant at each size, to which the others are compared."""
    first = outcomes[0].contestant
    return {o.box_count: o.milliseconds for o in outcomes if o.contestant == first and o.milliseconds}


def row_of(name: str, title: str, here: list[Outcome], sizes: list[int], best: dict[int, float]) -> list[str]:
    """Return the cells of one contestant; `in T` and the ratio are those of the largest size."""
    mine = {outcome.box_count: outcome for outcome in here if outcome.contestant == name}
    cells = [duration(mine[n].milliseconds) if n in mine else "" for n in sizes]
    multiple = ratio = ""
    last = mine.get(sizes[-1])
    if last and last.milliseconds is not None and last.multiple is not None:
        multiple = factor(last.multiple)
        ratio = factor(last.milliseconds / best[sizes[-1]]) if sizes[-1] in best else ""
    notes = [mine[n].verdict for n in sizes if n in mine and mine[n].verdict != "exact"]
    return [title, *cells, multiple, ratio, notes[-1] if notes else "exact"]


def argsort_row(comparison: Comparison, sizes: list[int]) -> list[str]:
    """Return the row of the yardstick."""
    times = [duration(comparison.argsort_milliseconds.get(n)) for n in sizes]
    return ["T: np.argsort of n float32", *times, "1.0", "", ""]


def show_comparison(comparison: Comparison) -> None:
    """Print one table for each scene, the machine, and which peers are not installed."""
    for title, columns, rows in comparison_tables(comparison):
        show_table(columns, rows, title, strong=0)
    machine = comparison.machine
    print(
        f"{machine['processor']}, {machine['instruction sets']}; Python {machine['python']}, NumPy {machine['numpy']}, "
        f"broadphase {machine['broadphase']}. Medians; every answer checked."
    )
    if comparison.not_installed:
        print(f"Not installed: {', '.join(comparison.not_installed)}. To compare: pip install --group bench")
    for outcome in comparison.wrong:
        print(
            f"{outcome.title} on {outcome.scene}, {grouped(outcome.box_count)} boxes: {outcome.verdict}",
            file=sys.stderr,
        )


def show_choices() -> None:
    """Print the scenes, methods and peers that there are."""
    scenes = [[scene.name, f"{scene.dim}D", scene.summary] for scene in SCENES.values()]
    show_table(["scene", "", "what it is like"], scenes, left=3)
    methods = [["auto", "looks at the boxes and takes the quickest"], *([row.name, row.summary] for row in bp.METHODS)]
    show_table(["method", "when it is the right one"], methods, left=2)
    peers = [[row.name, row.title, installed_version(row) or "not installed", row.remark] for row in PEERS]
    show_table(["peer", "library", "version", "remark"], peers, left=4)
