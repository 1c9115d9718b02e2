"""Ask indexes and peers the same questions, check every answer, and time those that are right."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from broadphase.bench.machine import describe_machine
from broadphase.bench.peers import version_of
from broadphase.bench.query_own import begin_own, capable, right_answer, without_index
from broadphase.bench.query_peers import QUERY_PEERS, QueryPeer
from broadphase.bench.query_tasks import FRAMES, TASKS, Setting, Task, task_named
from broadphase.bench.timing import one_core, timed

__all__ = ["QueryComparison", "QueryOutcome", "compare_queries"]

SAMPLE = 10  # everybody is tried on a hundredth and on a tenth of the boxes first, to foresee how long all would take
MOST_ROUNDS = 9  # a median hardly gets better by more
LEAST_SHARE = 1 / 40  # of the whole budget that everybody may spend on rounds, however long the preparations took


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """How one contestant did on one kind of question.

    Attributes
    ----------
    task, contestant, title : str
        What was asked, and whom.
    box_count, question_count : int
        Of how many boxes, and how many questions; of a moving scene, how many boxes moved in each frame.
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
    question_count: int
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
        """Outcomes of one kind of question."""
        return [outcome for outcome in self.outcomes if outcome.task == task]


@dataclass(frozen=True, slots=True)
class Entrant:
    """One who takes part in one kind of question."""

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
    """Compare the indexes of broadphase with the libraries that answer the same questions, on one thread.

    A round builds and asks; for boxes that move, it takes over one frame and asks. Everybody's first answer is compared
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
        With one outcome for each kind of question and contestant.

    Raises
    ------
    ValueError
        No kind of question, or no peer, has that name.
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
            people = entrants(task, peers)
            share = max(0.0, deadline - time.monotonic()) / (len(chosen) - number)
            share = max(share, LEAST_SHARE * budget * len(people))
            report.outcomes += run_task(task, box_count, people, share, slowest, say)
    if progress:
        progress(1.0, "done")
    return report


def run_task(
    task: Task, box_count: int, people: list[Entrant], budget: float, slowest: float, say: Callable[[str], None]
) -> list[QueryOutcome]:
    """Check everybody's first answer, then let those that are right do rounds in turn."""
    setting = task.make(box_count)
    smaller = [task.make(max(1, box_count // divisor)) for divisor in (SAMPLE * SAMPLE, SAMPLE)]
    right = right_answer(task, setting, 0)
    verdicts: dict[str, str] = {}
    samples: dict[str, list[float]] = {}
    rounds: dict[str, Callable[[int], Any]] = {}
    settings = {one.title: setting.part(one.peer.share) if one.peer else setting for one in people}
    for one in people:
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
        outcome_of(task, one, settings[one.title], verdicts[one.title], samples.get(one.title, [])) for one in people
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
