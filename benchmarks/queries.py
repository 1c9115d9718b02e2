"""Compare the indexes with other libraries at queries: check every answer, and time those that are right.

python -m benchmarks queries            # two minutes; writes results/queries.json and results/queries.svg
python -m benchmarks.readme_table       # then puts the figures into README.md
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import describe_machine, one_core, timed, version_of
from benchmarks.pairs import sorted_keys
from benchmarks.query_peers import QUERY_PEERS, QueryPeer, changed, rebuilding, sorted_pair_keys
from benchmarks.settings import Frame, Setting
from benchmarks.tables import duration, factor, grouped, show_table
from broadphase.testing import make_scene
from broadphase.testing.draws import Draws, root

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.settings import Boxes

    Round = Callable[[int], Any]


NEAR = 1e-9  # distances in float64 that differ by less, as a part of the distance, are the same
NEAR_IN_FLOAT32 = 1e-4  # the same for libraries that work in float32, in a scene of size 1
FEW = 1e-3  # of the rays may differ in float32: they graze an edge, or enter two boxes at once


def judge_sets(setting: Setting, answer: Any, right: Any) -> str:
    """Compare two sets of pairs (query row, row); extra pairs are counted, but not an error."""
    del setting
    given, wanted = (ordered_keys(*hits) for hits in (answer, right))
    if np.array_equal(given, wanted):
        return "exact"
    distinct = np.unique(given)
    missing = len(np.setdiff1d(wanted, distinct, assume_unique=True))
    extra = len(np.setdiff1d(distinct, wanted, assume_unique=True))
    faults = {"missing": missing, "twice": len(given) - len(distinct), "extra": extra}
    if missing or faults["twice"]:
        return "wrong: " + ", ".join(f"{count:,} {what}" for what, count in faults.items() if count)
    return f"{extra:,} of {len(given):,} are extra"


def ordered_keys(query_rows: Any, rows: Any) -> NDArray[np.int64]:
    """Pack each pair into one integer, and sort them."""
    keys = (np.asarray(query_rows, np.int64) << 32) | np.asarray(rows, np.int64)
    keys.sort()
    return keys


def judge_nearest(setting: Setting, answer: Any, right: Any) -> str:
    """Compare rows and distances of the nearest, each of shape (q, k)."""
    del setting
    (rows, distances), (wanted, exact) = answer, right
    rows, wanted, distances, exact = (
        np.asarray(part).reshape(len(exact), -1) for part in (rows, wanted, distances, exact)
    )
    if not np.allclose(distances, exact, rtol=NEAR, atol=0.0):
        return "wrong: other distances"
    swapped = int((rows != wanted).sum())
    return f"{swapped:,} equally near ones in another order" if swapped else "exact"


def judge_first(setting: Setting, answer: Any, right: Any) -> str:
    """Compare the boxes that rays hit first; a box that a ray enters as early but for rounding is no fault."""
    rows, wanted = np.asarray(answer[0]), np.asarray(right[0])
    other = np.flatnonzero(rows != wanted)
    if not len(other):
        return "exact"
    origins, directions = (np.asarray(part, np.float64)[other] for part in setting.queries)
    entries = entry(setting.boxes, rows[other], origins, directions)
    near = np.isclose(entries, right[1][other], rtol=0.0, atol=NEAR_IN_FLOAT32)
    if len(other) > FEW * len(rows):
        return f"wrong: {len(other):,} of {len(rows):,} rays hit another box"
    grazing = int((~near).sum())
    return f"{len(other):,} of {len(rows):,} rays hit another box" + (
        f", {grazing:,} of them past an edge" if grazing else ""
    )


def entry(
    boxes: NDArray[Any], rows: NDArray[Any], origins: NDArray[Any], directions: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the distance at which each ray enters its box; infinite for a miss, or row -1."""
    found = boxes[np.maximum(rows, 0)].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        walls = (found - origins[:, None]) / directions[:, None]
    first, last = walls.min(axis=1).max(axis=1), walls.max(axis=1).min(axis=1)
    lengths = np.sqrt((directions**2).sum(axis=1))
    return np.where((rows >= 0) & (first <= last), np.maximum(first, 0.0) * lengths, np.inf)


def judge_changes(setting: Setting, answer: Any, right: Any) -> str:
    """Compare the enter and exit pairs."""
    del setting
    faults = []
    for what, given, wanted in zip(("enter", "exit"), answer, right, strict=True):
        if not np.array_equal(sorted_keys(given), sorted_keys(wanted)):
            faults.append(f"{len(given):,} {what} pairs, not {len(wanted):,}")
    return "wrong: " + ", ".join(faults) if faults else "exact"


FRAMES = 12  # moving scenes are prepared for this many; more than a median needs
STEP = 2.0**-20  # of coordinates that move: sums of such numbers below 16 are exact in float32
EXTENT_OF_RAY_TARGETS = 0.25  # of the size in the scene `uniform`: half of the rays then cross the whole scene


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of query.

    Attributes
    ----------
    name : str
        Key on the command line.
    title : str
        What is done, in one line; ``{n}`` stands for the number of boxes and ``{q}`` for that of the queries.
    needs : frozenset of str
        What an index must be capable of, in the words of `broadphase.METHODS`.
    make : callable
        ``make(n)`` gives the `Setting` of `n` boxes.
    judge : callable
        ``judge(setting, answer, right)`` gives ``"exact"``, or what differs, or ``"wrong: ..."``.
    """

    name: str
    title: str
    needs: frozenset[str]
    make: Callable[[int], Setting]
    judge: Callable[[Setting, Any, Any], str]


def box_queries(scene: str) -> Callable[[int], Setting]:
    """Ask about as many boxes as there are, from the same scene with another seed."""
    return lambda n: Setting(make_scene(scene, n), (make_scene(scene, n, seed=8),))


def cloud(n: int, seed: int) -> NDArray[np.float64]:
    """Return points spread evenly over the unit cube."""
    return Draws(seed).random((n, 3))


def ball_queries(n: int) -> Setting:
    """Ask which points lie in balls of which each holds four, on average."""
    radius = float(root(4.0 / (n * (4.0 / 3.0) * np.pi), 3))
    points = cloud(n, 7)
    return Setting(np.stack([points, points], axis=1), (cloud(n, 8), np.full(n, radius)))


def point_queries(n: int) -> Setting:
    """Ask which points are nearest to as many others."""
    points = cloud(n, 7)
    return Setting(np.stack([points, points], axis=1), (cloud(n, 8),))


def ray_queries(n: int) -> Setting:
    """Cast ten rays for each box from around the scene into it, each towards a place of its own."""
    boxes = make_scene("uniform", n).astype(np.float64)
    middles, halves = boxes.mean(axis=1), (boxes[:, 1] - boxes[:, 0]) * EXTENT_OF_RAY_TARGETS / 2
    draws = Draws(9)
    outwards = draws.between(-1.0, 1.0, (10 * n, 3))
    outwards /= np.sqrt((outwards**2).sum(axis=1, keepdims=True))
    origins = 0.5 + 2.0 * outwards  # float32 throughout, as Embree has nothing else
    directions = (draws.random((10 * n, 3)) - origins).astype(np.float32)
    boxes = np.stack([middles - halves, middles + halves], axis=1).astype(np.float32)
    return Setting(boxes, (origins.astype(np.float32), directions))


def frustum_queries(n: int) -> Setting:
    """Look at the scene by up to a hundred cameras around it, each of which sees a part."""
    draws, planes, count = Draws(10), [], min(100, n // 100 + 1)
    for eye, target in zip(draws.between(-0.5, 1.5, (count, 3)), draws.random((count, 3)), strict=True):
        camera = bp.cameras.perspective(0.5, 1.5, 0.1, 0.8) @ bp.cameras.look_at(eye, target)
        rows = np.concatenate([camera[3] + camera[:3], camera[3] - camera[:3]])
        planes.append(rows / np.sqrt((rows[:, :3] ** 2).sum(axis=1, keepdims=True)))
    return Setting(make_scene("uniform", n), (np.array(planes),))


def on_lattice(n: int) -> Boxes:
    """Return the cubes of the scene `uniform` on multiples of `STEP`, so that their sizes stay exact when they move."""
    boxes = make_scene("uniform", n)
    lower, edge = np.rint(boxes[:, 0] / STEP), np.rint((boxes[0, 1, 0] - boxes[0, 0, 0]) / STEP)
    return (np.stack([lower, lower + edge], axis=1) * STEP).astype(np.float32)


def few_move(n: int) -> Setting:
    """Move one box in a hundred by up to half its size, others in each frame."""
    now, draws, frames = on_lattice(n), Draws(11), []
    first = now
    for _ in range(FRAMES):
        rows = np.sort(draws.permutation(n)[: max(1, n // 100)]).astype(np.int32)
        now = now.copy()
        now[rows] += steps_for(now[rows], 0.5, draws)[:, None]
        frames.append(Frame(rows, now[rows], now))
    return Setting(first, (), tuple(frames))


def all_move(n: int) -> Setting:
    """Move every box by up to a hundredth of its size, always the same way."""
    now, rows, frames = on_lattice(n), np.arange(n, dtype=np.int32), []
    first, steps = now, steps_for(now, 0.01, Draws(11))
    for _ in range(FRAMES):
        now = now + steps[:, None]
        frames.append(Frame(rows, now, now))
    return Setting(first, (), tuple(frames))


def steps_for(boxes: Boxes, share: float, draws: Draws) -> Boxes:
    """Return steps of up to `share` of the size of each box, in multiples of `STEP`."""
    sizes = boxes[:, 1] - boxes[:, 0]
    steps: Boxes = np.rint(draws.between(-share, share, sizes.shape) * sizes / STEP).astype(np.float32) * np.float32(
        STEP
    )
    return steps


QUERY, BALLS, NEAREST = (frozenset({word}) for word in ("query", "query_ball", "nearest"))
RAYS, FRUSTUMS = (frozenset({word}) for word in ("raycast", "convex"))
CHANGES, MOVES = frozenset({"changes"}), frozenset[str]()
TASKS: tuple[Task, ...] = (
    Task("boxes_2d", "{q} rectangle queries of {n}", QUERY, box_queries("rects"), judge_sets),
    Task("boxes_3d", "{q} cube queries of {n}", QUERY, box_queries("uniform"), judge_sets),
    Task("balls", "{q} ball queries of {n} points", BALLS, ball_queries, judge_sets),
    Task("nearest_1", "nearest of {n} points to {q}", NEAREST, point_queries, judge_nearest),
    Task("nearest_8", "8 nearest of {n} points to {q}", NEAREST, point_queries, judge_nearest),
    Task("rays", "{q} rays, first hit among {n} boxes", RAYS, ray_queries, judge_first),
    Task("frustums", "{q} frustum queries of {n} boxes", FRUSTUMS, frustum_queries, judge_sets),
    Task("few_move", "{q} of {n} boxes move: which pairs changed", CHANGES, few_move, judge_changes),
    Task("all_move", "all {n} boxes move by 1 %: all pairs", MOVES, all_move, judge_sets),
)


def task_named(name: str) -> Task:
    """Look up a kind of query; a `ValueError` lists the names."""
    for task in TASKS:
        if task.name == name:
            return task
    raise ValueError(f"no kind of query is named {name!r}; the kinds are {', '.join(task.name for task in TASKS)}")


def capable(task: Task) -> list[str]:
    """Return the index classes that support a kind of query, `Index` first."""
    return ["Index"] + [row.index_class for row in bp.METHODS if task.needs <= row.capabilities]


def begin_own(class_name: str, task: Task, setting: Setting) -> Round:
    """Return the call that does one round with an index: build and query, or update and query."""
    index_class = getattr(bp, class_name)
    if task.name in ("few_move", "all_move"):
        return follow(index_class(setting.boxes), task, setting)
    query = QUERIES[task.name]
    return lambda _: query(index_class(setting.boxes), *setting.queries)


def follow(index: Any, task: Task, setting: Setting) -> Round:
    """Keep an index through the frames."""
    if task.name == "few_move":
        index.changes()

        def few(number: int) -> Any:
            frame = setting.frames[number]
            index.move(frame.rows, frame.boxes)
            return index.changes()

        return few

    def every(number: int) -> Any:
        index.update(setting.frames[number].boxes)
        found = index.pairs()
        return found[:, 0], found[:, 1]

    return every


def without_index(task: Task) -> list[tuple[str, str, Callable[[Setting], Round]]]:
    """Return name, title and beginning of what broadphase does without an index that is kept, if it can."""
    if task.name.startswith("boxes"):
        return [("pairs", "broadphase.pairs(a, b)", lambda setting: lambda _: cross(setting))]
    if task.name == "all_move":
        return [("pairs", "broadphase.pairs, rebuilt", rebuilding(bp.pairs)[1])]
    if task.name == "few_move":
        return [
            ("pairs", "broadphase.pairs, rebuilt", rebuilding(bp.pairs)[0]),
            ("BVH_rebuilt", "broadphase BVH, rebuilt", rebuilding(lambda boxes: bp.BVH(boxes).pairs())[0]),
        ]
    return []


def cross(setting: Setting) -> Any:
    """Query boxes by joining two sets."""
    found = bp.pairs(setting.boxes, setting.queries[0])
    return found[:, 1], found[:, 0]


def right_answer(task: Task, setting: Setting, number: int) -> Any:
    """Return the answer that others are compared with: by the one-shot calls where they can, else by a BVH."""
    if task.name == "few_move":
        scenes = [setting.boxes, *(frame.scene for frame in setting.frames)][number : number + 2]
        return changed(*(sorted_pair_keys(*bp.pairs(scene, method="grid").T) for scene in scenes))
    if task.name == "all_move":
        return tuple(bp.pairs(setting.frames[number].scene, method="grid").T)
    if task.name.startswith("boxes"):
        return tuple(bp.pairs(setting.queries[0], setting.boxes, method="grid").T)
    return begin_own("BVH", task, setting)(number)


def hits(result: bp.index.QueryResult) -> Any:
    """Return a result as query rows and rows."""
    return result.query_rows, result.rows


QUERIES: dict[str, Callable[..., Any]] = {
    "boxes_2d": lambda index, boxes: hits(index.query(boxes)),
    "boxes_3d": lambda index, boxes: hits(index.query(boxes)),
    "balls": lambda index, centers, radii: hits(index.query_ball(centers, radii)),
    "nearest_1": lambda index, points: tuple(index.nearest(points)),
    "nearest_8": lambda index, points: tuple(index.nearest(points, 8)),
    "rays": lambda index, origins, directions: tuple(index.raycast(origins, directions)),
    "frustums": lambda index, planes: hits(index.frustum(planes=planes)),
}
SAMPLE = 10  # each is tried on a hundredth and on a tenth of the boxes first, to predict the time of all
MOST_ROUNDS = 9  # a median hardly gets better by more
LEAST_SHARE = 1 / 40  # share of the whole budget for the rounds of each, however long the preparation took


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """How one contestant did on one kind of query.

    Attributes
    ----------
    task, contestant, title : str
        The kind of query, and the library.
    box_count, query_count : int
        Number of boxes and of queries; for a moving scene, of boxes that moved in each frame.
    milliseconds : float or None
        Median time of a round; None when it did not run, or its answer was wrong.
    quickest : float or None
        Least time of a round.
    rounds : int
        Timed rounds.
    verdict : str
        ``"exact"``, what differs, ``"wrong: ..."``, or why it did not run.
    remark : str
        What to know when reading its time.
    """

    task: str
    contestant: str
    title: str
    box_count: int
    query_count: int
    milliseconds: float | None = None
    quickest: float | None = None
    rounds: int = 0
    verdict: str = ""
    remark: str = ""

    @property
    def ours(self) -> bool:
        """True for broadphase."""
        return self.title.startswith("broadphase")


@dataclass(slots=True)
class QueryComparison:
    """All outcomes of one run; `machine`, `versions` and `not_installed` as in `Comparison`."""

    machine: dict[str, str]
    versions: dict[str, str] = field(default_factory=dict)
    outcomes: list[QueryOutcome] = field(default_factory=list)
    not_installed: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> list[QueryOutcome]:
        """Outcomes with a wrong answer."""
        return [outcome for outcome in self.outcomes if outcome.verdict.startswith("wrong")]

    def of(self, task: str) -> list[QueryOutcome]:
        """Outcomes of one kind of query."""
        return [outcome for outcome in self.outcomes if outcome.task == task]


@dataclass(frozen=True, slots=True)
class Entrant:
    """An index or a library in one kind of query."""

    name: str
    title: str
    begin: Callable[[Setting], Callable[[int], Any]]
    peer: QueryPeer | None = None


def entrants(task: Task, peers: Iterable[str] | None) -> list[Entrant]:
    """List the indexes of broadphase, its one-shot call, and the peers (None: all that are installed)."""
    found = [Entrant(name, f"broadphase {name}", partial(begin_own, name, task)) for name in capable(task)]
    found += [Entrant(*row) for row in without_index(task)]
    wanted = None if peers is None else set(peers)
    for row in QUERY_PEERS:
        if task.name in row.tasks and version_of(row.distribution) and (wanted is None or row.name in wanted):
            found.append(Entrant(row.name, row.title, row.begin, row))
    return found


def compare_queries(
    tasks: Iterable[str] | None = None,
    box_count: int = 100_000,
    *,
    peers: Iterable[str] | None = None,
    budget: float = 90.0,
    slowest: float = 15.0,
    progress: Callable[[float, str], None] | None = None,
) -> QueryComparison:
    """Compare the indexes of broadphase with libraries that answer the same queries, on one thread.

    A round builds and queries; for boxes that move, it updates and queries. Every first answer is compared
    with that of `broadphase.pairs` where there is one, and else with that of a `broadphase.BVH`, so that every peer
    that is exact confirms it. Then all do one round after the other, in turn.

    Parameters
    ----------
    tasks : iterable of str, optional
        Names in `TASKS`; by default all.
    box_count : int
        Number of boxes.
    peers : iterable of str, optional
        Names in `QUERY_PEERS`; by default all that are installed.
    budget : float
        Seconds for the rounds, kept roughly; the preparations come on top.
    slowest : float
        Who would take more seconds than this for one round is left out.
    progress : callable, optional
        ``progress(done, what)`` is called on the way, `done` from 0 to 1.

    Returns
    -------
    comparison : QueryComparison
        With one outcome for each kind of query and contestant.

    Raises
    ------
    ValueError
        No kind of query, or no peer, has that name.
    """
    chosen = list(TASKS) if tasks is None else [task_named(name) for name in tasks]
    known = {row.name for row in QUERY_PEERS}
    if peers is not None:
        peers = list(peers)
        for name in peers:
            if name not in known:
                raise ValueError(f"no peer is named {name!r}; the peers are {', '.join(sorted(known))}")
    distributions = sorted({row.distribution for row in QUERY_PEERS if set(row.tasks) & {task.name for task in chosen}})
    versions = {name: version for name in distributions if (version := version_of(name))}
    absent = [name for name in distributions if name not in versions]
    report = QueryComparison(describe_machine(), versions, not_installed=absent)
    deadline = time.monotonic() + budget
    with one_core():
        for number, task in enumerate(chosen):
            say = partial(progress, number / len(chosen)) if progress else lambda _: None
            competing = entrants(task, peers)
            share = max(0.0, deadline - time.monotonic()) / (len(chosen) - number)
            share = max(share, LEAST_SHARE * budget * len(competing))
            report.outcomes += run_task(task, box_count, competing, share, slowest, say)
    if progress:
        progress(1.0, "done")
    return report


def run_task(
    task: Task, box_count: int, competing: list[Entrant], budget: float, slowest: float, say: Callable[[str], None]
) -> list[QueryOutcome]:
    """Check every first answer, then run rounds of those that are right in turn."""
    setting = task.make(box_count)
    smaller = [task.make(max(1, box_count // divisor)) for divisor in (SAMPLE * SAMPLE, SAMPLE)]
    right = right_answer(task, setting, 0)
    verdicts: dict[str, str] = {}
    samples: dict[str, list[float]] = {}
    rounds: dict[str, Callable[[int], Any]] = {}
    settings = {one.title: setting.part(one.peer.share) if one.peer else setting for one in competing}
    for one in competing:
        say(f"{task.title.format(n=box_count, q=setting.count)}: {one.title}")
        try:
            foreseen = foresee(*(timed(partial(one.begin(sample), 0))[0] for sample in smaller))  # wakes it, too
            if foreseen > slowest:
                verdicts[one.title] = f"would take {foreseen:.0f} s"
                continue
            call = one.begin(settings[one.title])
            seconds, answer = timed(partial(call, 0))
        except Exception as error:  # a peer that fails must not end the comparison
            if one.peer is None:
                raise
            verdicts[one.title] = f"failed: {type(error).__name__}"
            continue
        wanted = right if settings[one.title] is setting else right_answer(task, settings[one.title], 0)
        verdicts[one.title] = verdict = task.judge(settings[one.title], answer, wanted)
        if not verdict.startswith("wrong"):
            rounds[one.title], samples[one.title] = call, [seconds]
    take_turns(rounds, samples, budget)
    return [
        outcome_of(task, one, settings[one.title], verdicts[one.title], samples.get(one.title, [])) for one in competing
    ]


def foresee(before: float, last: float) -> float:
    """Extrapolate two times of a tenth as much, and of a hundredth, between linear and quadratic."""
    return last * min(max(last / before, SAMPLE), SAMPLE * SAMPLE)


def take_turns(rounds: dict[str, Callable[[int], Any]], samples: dict[str, list[float]], budget: float) -> None:
    """Let all do one round after the other while their shares of the budget last; those of a frame stay in step."""
    share = budget / max(1, len(rounds))
    spent = dict.fromkeys(rounds, 0.0)
    for number in range(1, min(MOST_ROUNDS + 1, FRAMES)):
        for title, call in rounds.items():
            if number == len(samples[title]) and spent[title] + samples[title][-1] <= share:
                seconds, _ = timed(partial(call, number))
                samples[title].append(seconds)
                spent[title] += seconds


def outcome_of(task: Task, one: Entrant, setting: Setting, verdict: str, samples: list[float]) -> QueryOutcome:
    """Sum up the rounds of one contestant; the first round warms up, where there are more."""
    counted = samples[1:] or samples
    return QueryOutcome(
        task.name,
        one.name,
        one.title,
        len(setting.boxes),
        setting.count,
        statistics.median(counted) * 1e3 if counted else None,
        min(counted) * 1e3 if counted else None,
        len(counted),
        verdict,
        one.peer.remark if one.peer else "",
    )


def first_own(outcomes: list[QueryOutcome]) -> QueryOutcome | None:
    """Return the outcome that stands for broadphase: `Index`, else the first one timed."""
    own = [outcome for outcome in outcomes if outcome.ours and outcome.milliseconds is not None]
    return min(own, key=lambda outcome: outcome.contestant != "Index", default=None)


def best_other(outcomes: list[QueryOutcome]) -> QueryOutcome | None:
    """Return the outcome of the quickest other library."""
    others = [outcome for outcome in outcomes if not outcome.ours and outcome.milliseconds is not None]
    return min(others, key=lambda outcome: per_query(outcome), default=None)


def per_query(outcome: QueryOutcome) -> float:
    """Return the milliseconds of one query, including the build."""
    return (outcome.milliseconds or 0.0) / outcome.query_count


def ratio(outcome: QueryOutcome, ours: QueryOutcome) -> float:
    """Return how many times longer one took than another, for the same number of queries."""
    return per_query(outcome) / per_query(ours)


def task_title(outcomes: list[QueryOutcome]) -> str:
    """Return the title of a kind of query, with the numbers."""
    first = max(outcomes, key=lambda outcome: outcome.query_count)
    return task_named(first.task).title.format(n=grouped(first.box_count), q=grouped(first.query_count))


def query_tables(comparison: QueryComparison) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return title, columns and rows of one table for each kind of query: name, time, ratio to ours, answer."""
    tables = []
    for name in dict.fromkeys(outcome.task for outcome in comparison.outcomes):
        outcomes = comparison.of(name)
        ours, most = first_own(outcomes), max(outcome.query_count for outcome in outcomes)
        rows = []
        for outcome in outcomes:
            notes = [outcome.verdict, outcome.remark]
            if outcome.query_count < most:
                notes.append(f"{grouped(outcome.query_count)} queries only")
            times = factor(ratio(outcome, ours)) if ours and outcome.milliseconds is not None else ""
            cells = [
                outcome.title,
                duration(outcome.milliseconds),
                duration(outcome.quickest),
                str(outcome.rounds),
                times,
            ]
            rows.append([*cells, "; ".join(note for note in notes if note)])
        name = ours.title if ours else "broadphase"
        tables.append((task_title(outcomes), ["", "median", "least", "rounds", f"times {name}", "answer"], rows))
    return tables


def show_queries(comparison: QueryComparison) -> None:
    """Print one table for each kind of query, the machine, and which peers are not installed."""
    for title, columns, rows in query_tables(comparison):
        show_table(columns, rows, title, strong=0)
    machine = comparison.machine
    print(
        f"{machine['processor']}, {machine['instruction sets']}; Python {machine['python']}, NumPy {machine['numpy']}, "
        f"broadphase {machine['broadphase']}. One thread; building included, but for boxes that move."
    )
    if comparison.not_installed:
        print(f"Not installed: {', '.join(comparison.not_installed)}. To compare: pip install --group bench")
    for outcome in comparison.wrong:
        print(f"{outcome.title}, {outcome.task}: {outcome.verdict}", file=sys.stderr)


def show_query_choices() -> None:
    """Print the kinds of query, and the libraries that answer them."""
    tasks = [[task.name, task.title.format(n="n", q="q")] for task in TASKS]
    show_table(["query", "what is done"], tasks, left=2)
    peers = [
        [row.name, row.title, ", ".join(row.tasks), version_of(row.distribution) or "not installed", row.remark]
        for row in QUERY_PEERS
    ]
    show_table(["peer", "library", "queries", "version", "remark"], peers, left=5)


def queries_as_json(comparison: QueryComparison) -> dict[str, Any]:
    """Return a comparison of queries as plain dictionaries and lists, ready for `json.dump`."""
    return asdict(comparison)


def queries_from_json(values: dict[str, Any]) -> QueryComparison:
    """Return the comparison that `queries_as_json` was made of."""
    return QueryComparison(
        values["machine"],
        values["versions"],
        [QueryOutcome(**outcome) for outcome in values["outcomes"]],
        values["not_installed"],
    )
